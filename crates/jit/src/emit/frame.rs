//! The frame that engines hand to each other: a value's column holds one value per lane, whatever its shape.

use hostwarp_ir::{Block, Elem, Term, Type, Value};
use hostwarp_plan::Shape as Spread;
use std::mem::offset_of;

use super::{Emitter, Known, Reg, ops};
use crate::abi::Ctx;

impl Emitter<'_> {
    /// How a value lies in its column: an i1 takes a byte.
    fn column_type(&self, v: Value) -> Type {
        let ty = self.ty(v);
        if ty.elem == Elem::I1 { ty.with(Elem::I8) } else { ty }
    }

    /// The place of the group's first lane in a value's column. None for a value that has none.
    fn column(&mut self, v: Value) -> Option<Reg> {
        let slot = self.plan.frame.slot[v.index()]?;
        let lane = self.lane();
        let lanes = self.field("lanes", "i64", offset_of!(Ctx, lanes));
        let bytes = self.ty(v).bytes();
        let offset = self.once(&format!("column.{slot}.offset"), |_| format!("mul i64 {lanes}, {slot}"));
        let column =
            self.once(&format!("column.{slot}"), |_| format!("getelementptr i8, ptr %frame, i64 {offset}"));
        let within = self.per_group(&format!("lane.{bytes}"), |_| format!("mul i64 {lane}, {bytes}"));
        Some(self.t.inst(format_args!("getelementptr i8, ptr {column}, i64 {within}")))
    }

    /// The place of a row's first lane, given that of the group's.
    fn row_in_column(&mut self, at: &str, ty: Type, row: usize) -> Reg {
        let bytes = row * self.row() as usize * ty.bytes();
        match bytes {
            0 => at.to_owned(),
            _ => self.t.inst(format_args!("getelementptr i8, ptr {at}, i64 {bytes}")),
        }
    }

    /// Writes to the frame what a whole group needs at the start of a block, in brief: of what is the same in all lanes or evenly
    /// spaced only the value of lane 0, or of each row's first lane. Whoever wants to look at single lanes has to fill in the rest.
    pub(super) fn save_brief(&mut self, b: Block) {
        for v in self.not_in_frame(b) {
            self.store_brief(v);
        }
    }

    /// What a whole group needs at the start of a block and has not written to the frame yet.
    pub(super) fn not_in_frame(&self, b: Block) -> Vec<Value> {
        let (data, slots) = (self.func.block(b), &self.plan.frame.slot);
        // What is written early is there already, unless it is only written in this block, or the block has put something in its place.
        let is_there = |v: Value| {
            let replaced = |r: Value| slots[r.index()] == slots[v.index()];
            self.early[v.index()]
                && !data.params.contains(&v)
                && !data.insts.iter().filter_map(|i| i.result).any(replaced)
        };
        self.plan.live_in[b.index()].iter().copied().filter(|v| !is_there(*v)).collect()
    }

    /// Writes a value to the frame, in brief.
    pub(super) fn store_brief(&mut self, v: Value) {
        if self.spread(v) == Spread::Varying {
            return self.store_to_frame(v, None);
        }
        let Some(at) = self.column(v) else { return };
        let ty = self.column_type(v);
        let (from, to) = (self.one(self.ty(v)), self.one(ty));
        for (row, base) in self.bases(v).into_iter().enumerate() {
            let value = self.t.convert("zext", from, &base, to);
            let there = self.row_in_column(&at, ty, row);
            self.t.line(format_args!("store {to} {value}, ptr {there}, align 1"));
        }
    }

    /// Values that code which only knows lanes together writes to the frame where they are defined and not at the barriers they live
    /// across: it would write most of them again and again. Not so if the definition is in a loop that none of the barriers is in.
    pub(super) fn find_early(&self) -> Vec<bool> {
        let mut early = vec![false; self.func.types.len()];
        let mut home: Vec<Option<Block>> = self.maker.iter().map(|m| m.map(|(b, _)| b)).collect();
        for b in &self.plan.order {
            for p in &self.func.block(*b).params {
                home[p.index()] = Some(*b);
            }
        }
        for b in &self.plan.order {
            let term = &self.func.block(*b).term;
            let Term::Barrier { next, .. } = term else { continue };
            if !self.is_plain_barrier(term) || self.is_free_barrier(term) {
                continue;
            }
            for v in &self.plan.live_in[next.block.index()] {
                let around = home[v.index()].and_then(|h| self.plan.loop_of[h.index()]);
                let together = around.is_none_or(|l| self.plan.loops[l].blocks.contains(b));
                // A parameter of the block after the barrier is not defined before it.
                let handed = self.func.block(next.block).params.contains(v);
                early[v.index()] |= together && !handed && !self.wraps[v.index()];
            }
        }
        // Where else a barrier hands something over it must write it there.
        for b in &self.plan.order {
            if let Term::Barrier { next, .. } = &self.func.block(*b).term {
                for p in &self.func.block(next.block).params {
                    early[p.index()] = false;
                }
            }
        }
        early
    }

    /// Reads what [`Emitter::save_brief`] wrote.
    pub(super) fn load_brief(&mut self, v: Value) {
        if self.is_by_lane(v) {
            return;
        }
        let Some(at) = self.column(v) else { return };
        let (ty, own) = (self.column_type(v), self.ty(v));
        let mut known = Known::default();
        if self.spread(v) == Spread::Varying {
            let (from, to) = (self.all(ty), self.all(own));
            let loaded = self.t.inst(format_args!("load {from}, ptr {at}, align 1"));
            known.vector = Some(self.t.convert("trunc", from, &loaded, to));
        } else {
            let (from, to) = (self.one(ty), self.one(own));
            for row in 0..self.homes(v).len() {
                let there = self.row_in_column(&at, ty, row);
                let loaded = self.t.inst(format_args!("load {from}, ptr {there}, align 1"));
                known.bases.push(self.t.convert("trunc", from, &loaded, to));
            }
            known.even = self.wraps[v.index()].then(|| "true".into());
        }
        self.write(v, &known, None);
    }

    /// Writes a value to its column, for all lanes or those in `lanes`.
    pub(super) fn store_to_frame(&mut self, v: Value, lanes: Option<&str>) {
        let Some(at) = self.column(v) else { return };
        let (from, ty) = (self.all(self.ty(v)), self.column_type(v));
        let to = self.all(ty);
        let value = self.vector(v);
        let mut value = self.t.convert("zext", from, &value, to);
        if let Some(lanes) = lanes {
            // The frame belongs to this CTA, so reading and writing back what other lanes have there is harmless.
            let old = self.t.inst(format_args!("load {to}, ptr {at}, align 1"));
            value = ops::select(&mut self.t, ty, (lanes, Type::I1), &value, &old, self.w);
        }
        self.t.line(format_args!("store {to} {value}, ptr {at}, align 1"));
    }

    /// Writes to the frame what lanes need at the start of a block.
    pub(super) fn save(&mut self, b: Block, lanes: Option<&str>) {
        // The block's parameters have just been written: they are read back from where they live.
        for p in &self.func.block(b).params {
            self.known.remove(p);
        }
        for v in self.plan.live_in[b.index()].clone() {
            self.store_to_frame(v, lanes);
        }
    }

    /// Reads a value from its column for the lanes in `bits` (as many bits as lanes), of which `first` is the lowest.
    pub(super) fn load_from_frame(&mut self, v: Value, bits: &str, first: &str) {
        if self.is_by_lane(v) {
            return;
        }
        let Some(at) = self.column(v) else { return };
        let ty = self.column_type(v);
        let (one, all) = (self.one(ty), self.all(ty));
        let (final_one, final_all) = (self.one(self.ty(v)), self.all(self.ty(v)));
        let spread = self.spread(v);
        let mut known = Known::default();
        if spread == Spread::Varying || self.wraps[v.index()] {
            let loaded = self.t.inst(format_args!("load {all}, ptr {at}, align 1"));
            known.vector = Some(self.t.convert("trunc", all, &loaded, final_all));
        }
        if spread != Spread::Varying {
            // Only lanes that are there have put something into the frame.
            for row in 0..self.homes(v).len() as u32 {
                let first = match spread {
                    Spread::Affine { by_row: true, .. } => self.first_of_row(bits, row),
                    _ => first.to_owned(),
                };
                let offset = self.t.inst(format_args!("mul i64 {first}, {}", ty.bytes()));
                let there = self.t.inst(format_args!("getelementptr i8, ptr {at}, i64 {offset}"));
                let loaded = self.t.inst(format_args!("load {one}, ptr {there}, align 1"));
                let mut base = self.t.convert("trunc", one, &loaded, final_one);
                if let Spread::Affine { stride, .. } = spread {
                    base = self.step_back(one, &base, &first, stride);
                }
                known.bases.push(base);
            }
        }
        if let (Some(vector), Spread::Affine { stride, .. }) = (&known.vector, spread) {
            let straight = self.spread_out(ty, &known.bases, stride);
            let same = self.t.compare("icmp eq", all, &straight, vector);
            let w = self.w;
            let same = self.bits(&same);
            let absent = self.t.inst(format_args!("xor i{w} {bits}, -1"));
            let same = self.t.inst(format_args!("or i{w} {same}, {absent}"));
            known.even = Some(self.t.inst(format_args!("icmp eq i{w} {same}, -1")));
        }
        self.write(v, &known, None);
    }
}
