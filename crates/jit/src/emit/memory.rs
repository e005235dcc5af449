//! Memory ops: a fast path in line for what is common, behind a check, and the engine for everything else.
//!
//! The check is that of [`hostwarp_memory`]. Where it fails the engine does the op lane by lane, which either works (lanes in
//! several allocations, a generic address outside global memory) or makes the fault, exactly as the interpreter would.

use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Elem, Inst, Mem, Op, Order, Scope, Space, Type, Value};
use hostwarp_plan::Shape as Spread;

use super::check::Spots;
use super::{Emitter, Known, Reg, Shape, Text, Unsupported};
use crate::abi::{Callbacks, Ctx};

/// How the lanes of an op reach memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pattern {
    /// All the same address.
    One,
    /// The lanes of each row the same address.
    OnePerRow,
    /// Each the place after the one before; each row begins anew.
    Row,
    /// Anything.
    Any,
}

/// An access being written.
pub(super) struct Access {
    pub(super) index: usize,
    pub(super) address: Value,
    pub(super) space: Space,
    pub(super) ty: Type,
    pub(super) pattern: Pattern,
    /// Strongly ordered: must not be merged with others or removed.
    volatile: &'static str,
}

impl Access {
    pub(super) fn size(&self) -> u32 {
        self.ty.bytes() as u32
    }
}

pub(super) const I64: Shape = Shape { elem: Elem::I64, n: 1 };

impl Emitter<'_> {
    pub(super) fn access(&self, index: usize, inst: &Inst, mem: Mem, ty: Type) -> Access {
        let address = inst.args[0];
        let size = ty.bytes() as i64;
        let whole = self.mask.is_none() && inst.guard.is_none();
        let pattern = match self.spread(address) {
            // Every lane has its own local memory, so one address is many places.
            _ if mem.space == Space::Local => Pattern::Any,
            Spread::Uniform => Pattern::One,
            Spread::Affine { stride: 0, .. } => Pattern::OnePerRow,
            Spread::Affine { stride, .. } if stride == size && (whole || self.can_mask(ty)) => Pattern::Row,
            _ => Pattern::Any,
        };
        let volatile = if mem.order == Order::Weak { "" } else { "volatile " };
        Access { index, address, space: mem.space, ty, pattern, volatile }
    }

    /// Whether part of a row of these can be accessed at once.
    fn can_mask(&self, ty: Type) -> bool {
        self.cpu.avx512 || self.cpu.avx && matches!(ty.elem.bits(), 32 | 64)
    }

    /// Orders an access against others, where it asks for it.
    pub(super) fn order(&mut self, mem: Mem, before: bool) {
        let fence = match (mem.order, before) {
            (Order::SeqCst, true) => "seq_cst",
            (Order::Release | Order::AcqRel, true) => "release",
            (Order::Acquire | Order::AcqRel | Order::SeqCst, false) => "acquire",
            _ => return,
        };
        self.t.line(format_args!("fence {fence}"));
    }

    pub(super) fn fence(&mut self, scope: Scope) {
        // A CTA stays on one thread of the host: inside it only LLVM must keep the order.
        let of = if scope == Scope::Cta { "syncscope(\"singlethread\") " } else { "" };
        self.t.line(format_args!("fence {of}seq_cst"));
    }

    pub(super) fn load(&mut self, index: usize, inst: &Inst, mem: Mem) {
        let Some(r) = inst.result else { return };
        let access = self.access(index, inst, mem, self.ty(r));
        if self.load_parameter(inst, r, mem) {
            return;
        }
        if let Some(known) = self.read_back(index, access.ty).or_else(|| self.read_held(inst, mem)) {
            return self.define(r, known);
        }
        self.order(mem, true);
        if let spread @ Spread::Affine { .. } = self.spread(r) {
            let known = self.load_by_row(&access, r, spread);
            self.define(r, known);
            self.order(mem, false);
            return;
        }
        let uniform = self.spread(r) == Spread::Uniform;
        let shape = if uniform { self.one(access.ty) } else { self.all(access.ty) };
        let zero = Text::constant(shape, 0);
        let value = self.guarded(inst.guard, shape, &zero, |e, mask| {
            let value = e.load_lanes(&access, mask, uniform);
            match mask {
                // Lanes whose guard is off get 0; so do lanes that are not here, which is as good as anything.
                Some(mask) if !uniform && access.pattern == Pattern::One => {
                    super::ops::select(&mut e.t, access.ty, (mask, Type::I1), &value, "zeroinitializer", e.w)
                }
                _ => value,
            }
        });
        let known = if uniform {
            Known { bases: vec![value], ..Known::default() }
        } else {
            Known { vector: Some(value), ..Known::default() }
        };
        self.define(r, known);
        self.order(mem, false);
    }

    /// A load that gives all lanes of a row the same, without a guard.
    fn load_by_row(&mut self, access: &Access, r: Value, spread: Spread) -> Known {
        let mask = self.mask.clone();
        if mask.is_some() || access.pattern != Pattern::OnePerRow {
            let vector = self.load_lanes(access, mask.as_deref(), false);
            self.known.insert(r, Known { vector: Some(vector.clone()), ..Known::default() });
            let bases = self.bases_of(r, spread);
            return Known { bases, vector: Some(vector), ..Known::default() };
        }
        let (one, rows, row) = (self.one(access.ty), self.rows, self.row());
        let (fast, slow, done) = self.labels();
        let known = self.known.clone();
        let places = self.check_rows(access, access.size().into(), &fast, &slow);
        self.t.label(&fast);
        let (volatile, align) = (access.volatile, access.ty.elem.bytes());
        let bases = self.by_place(&places, |e, at| {
            e.t.inst(format_args!("load {volatile}{one}, ptr {at}, align {align}"))
        });
        if self.careful.is_some() {
            return Known { bases, ..Known::default() };
        }
        let after = self.t.current.clone();
        self.t.jump(&done);
        self.known = known.clone();
        self.t.label(&slow);
        let vector = self.load_by_engine(access, None, false);
        let asked: Vec<Reg> =
            (0..rows).map(|n| self.lane_of(access.ty, &vector, &(n * row).to_string())).collect();
        let slow_after = self.t.current.clone();
        self.t.jump(&done);
        self.known = known;
        self.t.label(&done);
        let joined = |(a, b): (&Reg, &Reg)| self.t.phi(one, [(a, &after), (b, &slow_after)]);
        Known { bases: bases.iter().zip(&asked).map(joined).collect(), ..Known::default() }
    }

    /// Does something for every row, once for those with the same place.
    pub(super) fn by_place(
        &mut self,
        places: &[Reg],
        mut make: impl FnMut(&mut Self, &str) -> Reg,
    ) -> Vec<Reg> {
        let mut made: Vec<(&str, Reg)> = vec![];
        for at in places {
            if !made.iter().any(|(place, _)| place == at) {
                let new = make(self, at);
                made.push((at, new));
            }
        }
        let of = |at: &Reg| made.iter().find(|(place, _)| place == at).map(|(_, new)| new.clone());
        places.iter().filter_map(of).collect()
    }

    /// How lanes reach memory, those in `mask` if there is one: rows of which part is missing are not looked at row by row.
    fn pattern(&self, access: &Access, mask: Option<&str>) -> Pattern {
        match access.pattern {
            Pattern::Row | Pattern::OnePerRow if mask.is_some() && self.rows > 1 => Pattern::Any,
            pattern => pattern,
        }
    }

    /// A parameter at a place that is certainly there.
    fn load_parameter(&mut self, inst: &Inst, r: Value, mem: Mem) -> bool {
        let ty = self.ty(r);
        let (size, end) = (ty.bytes() as u64, u64::from(self.func.info.param_bytes));
        let Some(at) =
            self.constant(inst.args[0]).filter(|_| mem.space == Space::Param && inst.guard.is_none())
        else {
            return false;
        };
        if at % size != 0 || at.saturating_add(size) > end {
            return false;
        }
        let one = self.one(ty);
        let param = self.field("param", "ptr", offset_of!(Ctx, param));
        let there =
            self.once(&format!("param.{at}.at"), |_| format!("getelementptr i8, ptr {param}, i64 {at}"));
        let name = format!("param.{at}.{}", one.suffix());
        let elem = ty.elem.bytes();
        let value =
            self.once(&name, |_| format!("load {one}, ptr {there}, align {elem}, !invariant.load !1"));
        self.define_scalar(r, value);
        true
    }

    pub(super) fn store(&mut self, index: usize, inst: &Inst, mem: Mem) {
        let value = inst.args[1];
        if self.is_left_out(index, value) || self.hold(index, inst, mem) {
            return;
        }
        let access = self.access(index, inst, mem, self.ty(value));
        self.order(mem, true);
        let nothing = Shape::new(Elem::I1, 1);
        self.guarded(inst.guard, nothing, "false", |e, mask| {
            e.store_lanes(&access, mask, value);
            "false".into()
        });
        self.order(mem, false);
    }

    /// Does an access for the lanes whose guard is on, if there are any; `otherwise` is the result if there are none. The mask
    /// handed on is none where all lanes of the group take part, and never empty.
    pub(super) fn guarded(
        &mut self,
        guard: Option<Value>,
        shape: Shape,
        otherwise: &str,
        access: impl FnOnce(&mut Self, Option<&str>) -> Reg,
    ) -> Reg {
        let mask = self.mask.clone();
        let Some(guard) = guard else { return access(self, mask.as_deref()) };
        let (lanes, w) = (self.lanes(), self.w);
        let (any, mask) = if self.spread(guard) == Spread::Uniform {
            (self.scalar(guard), mask)
        } else {
            let mut on = self.vector(guard);
            if let Some(mask) = mask {
                on = self.t.inst(format_args!("and {lanes} {on}, {mask}"));
            }
            let bits = self.bits(&on);
            (self.t.inst(format_args!("icmp ne i{w} {bits}, 0")), Some(on))
        };
        let (before, done) = (self.t.current.clone(), self.t.fresh_label("guard.done"));
        let on = self.t.fresh_label("guard.on");
        self.t.branch(&any, &on, &done);
        self.t.label(&on);
        let known = self.known.clone();
        let value = access(self, mask.as_deref());
        self.known = known; // what was made on the way is not known where the guard is off
        let after = self.t.current.clone();
        self.t.jump(&done);
        self.t.label(&done);
        self.t.phi(shape, [(otherwise, &before), (&value, &after)])
    }

    /// The loaded values: of the lanes in `mask` (0 in the others), or one for all.
    fn load_lanes(&mut self, access: &Access, mask: Option<&str>, uniform: bool) -> Reg {
        let (one, all) = (self.one(access.ty), self.all(access.ty));
        let (fast, slow, done) = self.labels();
        let shape = if uniform { one } else { all };
        if self.is_cold() {
            return self.load_by_engine(access, mask, uniform);
        }
        let known = self.known.clone();
        let value = match self.pattern(access, mask) {
            Pattern::One => {
                let at = self.check_rows(access, access.size().into(), &fast, &slow).swap_remove(0);
                self.t.label(&fast);
                let volatile = access.volatile;
                let align = access.ty.elem.bytes();
                let value = self.t.inst(format_args!("load {volatile}{one}, ptr {at}, align {align}"));
                if uniform { value } else { self.t.repeat(one, &value, self.w) }
            }
            Pattern::Row => {
                let places = self.check_row(access, mask, &fast, &slow);
                self.t.label(&fast);
                self.load_row(access, &places, mask)
            }
            Pattern::OnePerRow | Pattern::Any => {
                let spots = self.check_any(access, mask, &fast, &slow);
                self.t.label(&fast);
                self.gather(access, &spots, mask)
            }
        };
        if self.careful.is_some() {
            return value;
        }
        let after = self.t.current.clone();
        self.t.jump(&done);
        self.known = known;
        self.t.label(&slow);
        let known = self.known.clone();
        let slow_value = self.load_by_engine(access, mask, uniform);
        let slow_after = self.t.current.clone();
        self.t.jump(&done);
        self.known = known;
        self.t.label(&done);
        self.t.phi(shape, [(&value, &after), (&slow_value, &slow_after)])
    }

    /// The loaded values as the engine gets them.
    fn load_by_engine(&mut self, access: &Access, mask: Option<&str>, uniform: bool) -> Reg {
        let (one, all) = (self.one(access.ty), self.all(access.ty));
        self.ask_engine(access, mask);
        if !uniform {
            let loaded = self.t.inst(format_args!("load {all}, ptr %data, align 64"));
            return match mask {
                None => loaded,
                // The engine has written nothing for the others.
                Some(mask) => super::ops::select(
                    &mut self.t,
                    access.ty,
                    (mask, Type::I1),
                    &loaded,
                    "zeroinitializer",
                    self.w,
                ),
            };
        }
        // The lowest lane's is as good as any.
        let first = self.lowest(mask);
        let size = access.size();
        let offset = self.t.inst(format_args!("mul i64 {first}, {size}"));
        let there = self.t.inst(format_args!("getelementptr i8, ptr %data, i64 {offset}"));
        self.t.inst(format_args!("load {one}, ptr {there}, align 1"))
    }

    /// Whether the code being written is hardly ever run: the masked version of a block in which lanes do not come apart, for groups that
    /// are not whole and for accesses whose check failed. Such code is kept short: LLVM takes its time over every line.
    fn is_cold(&self) -> bool {
        self.mask.is_some() && !self.plan.masked[self.block.index()]
    }

    fn store_lanes(&mut self, access: &Access, mask: Option<&str>, value: Value) {
        let all = self.all(access.ty);
        let (fast, slow, done) = self.labels();
        let volatile = access.volatile;
        // Made before the paths part.
        let vector = self.vector(value);
        if self.is_cold() {
            self.t.line(format_args!("store {all} {vector}, ptr %data, align 64"));
            self.ask_engine(access, mask);
            return;
        }
        let known = self.known.clone();
        match self.pattern(access, mask) {
            Pattern::One => {
                let at = self.check_rows(access, access.size().into(), &fast, &slow).swap_remove(0);
                self.t.label(&fast);
                let one = self.one(access.ty);
                let scalar = if self.spread(value) == Spread::Uniform {
                    self.scalar(value)
                } else {
                    self.highest_value(access.ty, &vector, mask)
                };
                let align = access.ty.elem.bytes();
                self.t.line(format_args!("store {volatile}{one} {scalar}, ptr {at}, align {align}"));
            }
            Pattern::Row => {
                let places = self.check_row(access, mask, &fast, &slow);
                self.t.label(&fast);
                self.store_row(access, &places, mask, &vector);
            }
            Pattern::OnePerRow | Pattern::Any => {
                let spots = self.check_any(access, mask, &fast, &slow);
                self.t.label(&fast);
                self.scatter(access, &spots, mask, &vector);
            }
        }
        if self.careful.is_some() {
            return;
        }
        self.t.jump(&done);
        self.known = known.clone();
        self.t.label(&slow);
        self.t.line(format_args!("store {all} {vector}, ptr %data, align 64"));
        self.ask_engine(access, mask);
        self.t.jump(&done);
        self.known = known;
        self.t.label(&done);
    }

    /// Names for the way when the check holds, for the way when it fails, and for where both go on. The block run
    /// [again](Emitter::careful), if it can be, is the way when it fails, and then there is nothing to come back from.
    pub(super) fn labels(&mut self) -> (String, String, String) {
        let (fast, slow, done) =
            (self.t.fresh_label("fast"), self.t.fresh_label("slow"), self.t.fresh_label("done"));
        (fast, self.careful.clone().unwrap_or(slow), done)
    }

    /// The lowest lane of a mask.
    fn lowest(&mut self, mask: Option<&str>) -> Reg {
        match mask {
            None => "0".into(),
            Some(mask) => {
                let bits = self.bits(mask);
                self.count_zeros("cttz", &bits)
            }
        }
    }

    /// The value in the highest lane of a mask: the one that remains when all store to one place.
    fn highest_value(&mut self, ty: Type, vector: &str, mask: Option<&str>) -> Reg {
        let (one, all) = (self.one(ty), self.all(ty));
        let highest = match mask {
            None => (self.w - 1).to_string(),
            Some(mask) => {
                let bits = self.bits(mask);
                let above = self.count_zeros("ctlz", &bits);
                self.t.inst(format_args!("sub i64 {}, {above}", self.w - 1))
            }
        };
        self.t.line(format_args!("store {all} {vector}, ptr %data, align 64"));
        let offset = self.t.inst(format_args!("mul i64 {highest}, {}", ty.bytes()));
        let there = self.t.inst(format_args!("getelementptr i8, ptr %data, i64 {offset}"));
        self.t.inst(format_args!("load {one}, ptr {there}, align 1"))
    }

    /// The engine does the access, lane by lane, with values in `%data`; the kernel ends if it faults.
    pub(super) fn ask_engine(&mut self, access: &Access, mask: Option<&str>) {
        let site = self.sites.len();
        self.sites.push((self.block, access.index));
        let stride = match self.spread(access.address) {
            Spread::Uniform => Some(0),
            Spread::Affine { stride, .. } if !self.wraps[access.address.index()] => Some(stride),
            _ => None,
        };
        let (callback, addresses) = match stride {
            Some(stride) => {
                let first = self.wide_addresses_of_rows(access.address);
                for (n, address) in first.iter().enumerate() {
                    let at = self.t.inst(format_args!("getelementptr i64, ptr %addresses, i64 {n}"));
                    self.t.line(format_args!("store i64 {address}, ptr {at}, align 8"));
                }
                let callback = self.callback("memory.even", offset_of!(Callbacks, memory_even));
                (callback, format!("ptr %addresses, i32 {}, i64 {stride}", first.len()))
            }
            None => {
                let w = self.w;
                let addresses = self.wide_addresses(access.address);
                self.t.line(format_args!("store <{w} x i64> {addresses}, ptr %addresses, align 64"));
                (self.callback("memory", offset_of!(Callbacks, memory)), "ptr %addresses".to_owned())
            }
        };
        let lanes = self.handed_of(mask);
        let failed = self.t.inst(format_args!(
            "call i32 {callback}(ptr %ctx, i32 {site}, i32 %lane0, {lanes}, {addresses}, ptr %data, ptr %compare)"
        ));
        let fine = self.t.inst(format_args!("icmp eq i32 {failed}, 0"));
        let on = self.t.fresh_label("answered");
        self.t.branch_likely(&fine, &on, "fault");
        self.t.label(&on);
    }

    /// Addresses of all lanes as 64 bits.
    pub(super) fn wide_addresses(&mut self, address: Value) -> Reg {
        let from = self.all(self.ty(address));
        let vector = self.vector(address);
        self.t.convert("zext", from, &vector, from.with(Elem::I64))
    }

    /// The address all lanes have, or each row's first lane's, as 64 bits.
    pub(super) fn wide_addresses_of_rows(&mut self, address: Value) -> Vec<Reg> {
        let from = self.one(self.ty(address));
        let bases = self.bases(address);
        self.by_place(&bases, |e, base| e.t.convert("zext", from, base, I64))
    }

    /// A value as rows and gathers see it: one element per lane, several where it is wider than 64 bits.
    fn parts(&self, ty: Type) -> (Shape, u32) {
        let bits = ty.bits();
        let elem = Elem::int(bits.min(64)).unwrap_or(Elem::I64);
        (Shape::new(elem, self.w), (bits / 64).max(1))
    }

    /// Loads rows, or the lanes in `mask` of the only row.
    fn load_row(&mut self, access: &Access, places: &[Reg], mask: Option<&str>) -> Reg {
        let all = self.all(access.ty);
        let (volatile, align) = (access.volatile, access.ty.elem.bytes());
        let Some(mask) = mask else {
            let row = all.times(all.n / self.rows);
            if self.holds_here() && row.n * row.elem.bits() > 8 * 1024 {
                return self.load_in_order(row, &places[0]);
            }
            let step = self.step_of(access);
            let rows = self.by_place(places, |e, at| {
                if let Some(step) = &step {
                    e.ask_for_next_turn(at, step);
                }
                e.t.inst(format_args!("load {volatile}{row}, ptr {at}, align {align}"))
            });
            return match &rows[..] {
                [same] => self.t.repeat(row, same, self.rows),
                rows => self.t.concat(row, rows),
            };
        };
        let at = &places[0];
        let (part, count) = self.parts(access.ty);
        let row = part.times(part.n * count);
        let mask = self.spread_mask(mask, count);
        let (lanes, suffix) = (row.with(Elem::I1), row.suffix());
        self.t
            .declarations
            .insert(format!("declare {row} @llvm.masked.load.{suffix}.p0(ptr, i32, {lanes}, {row})"));
        let loaded = self.t.inst(format_args!(
            "call {row} @llvm.masked.load.{suffix}.p0(ptr {at}, i32 {align}, {lanes} {mask}, {row} zeroinitializer)"
        ));
        self.t.convert("bitcast", row, &loaded, all)
    }

    /// Stores rows, the later ones last.
    pub(super) fn store_rows(&mut self, ty: Type, volatile: &str, places: &[Reg], value: &str) {
        let (all, align) = (self.all(ty), ty.elem.bytes());
        let row = all.times(all.n / self.rows);
        // Of rows in one place the last stays.
        let first = self.rows - places.len() as u32;
        for (n, at) in (first..).zip(places) {
            let part = match self.rows {
                1 => value.to_owned(),
                _ => self.t.shuffle(all, value, "poison", n * row.n..(n + 1) * row.n),
            };
            self.t.line(format_args!("store {volatile}{row} {part}, ptr {at}, align {align}"));
        }
    }

    /// Stores rows, or the lanes in `mask` of the only row.
    fn store_row(&mut self, access: &Access, places: &[Reg], mask: Option<&str>, value: &str) {
        let all = self.all(access.ty);
        let (volatile, align) = (access.volatile, access.ty.elem.bytes());
        let Some(mask) = mask else { return self.store_rows(access.ty, volatile, places, value) };
        let at = &places[0];
        let (part, count) = self.parts(access.ty);
        let row = part.times(part.n * count);
        let value = self.t.convert("bitcast", all, value, row);
        let mask = self.spread_mask(mask, count);
        let (lanes, suffix) = (row.with(Elem::I1), row.suffix());
        self.t
            .declarations
            .insert(format!("declare void @llvm.masked.store.{suffix}.p0({row}, ptr, i32, {lanes})"));
        self.t.line(format_args!(
            "call void @llvm.masked.store.{suffix}.p0({row} {value}, ptr {at}, i32 {align}, {lanes} {mask})"
        ));
    }

    /// A mask with each lane's bit repeated.
    fn spread_mask(&mut self, mask: &str, count: u32) -> Reg {
        if count == 1 {
            return mask.to_owned();
        }
        let lanes = self.lanes();
        self.t.shuffle(lanes, mask, "poison", (0..self.w).flat_map(|l| (0..count).map(move |_| l)))
    }

    fn gather(&mut self, access: &Access, spots: &Spots, mask: Option<&str>) -> Reg {
        let Spots { base, offsets, index, safe } = spots;
        let all = self.all(access.ty);
        let (part, count) = self.parts(access.ty);
        let (index, lanes, w) = (*index, self.lanes(), self.w);
        if count > 1 {
            let bits = mask.map(|mask| self.bits(mask));
            let one = all.times(all.n / w);
            return super::wide::gather(&mut self.t, one, base, (offsets, index), bits.as_deref());
        }
        let mut loaded = vec![];
        for i in 0..count {
            let at = if i == 0 {
                offsets.clone()
            } else {
                self.t.binary("add", index, offsets, &Text::constant(index, u64::from(8 * i)))
            };
            let hardware = self.cpu.avx512 && part.elem.bits() >= 32;
            loaded.push(if hardware {
                let pointers = self.t.inst(format_args!("getelementptr i8, ptr {base}, {index} {at}"));
                let align = access.ty.elem.bytes();
                let on = mask.map_or_else(|| Text::constant(lanes, 1), str::to_owned);
                let suffix = part.suffix();
                self.t.declarations.insert(format!(
                    "declare {part} @llvm.masked.gather.{suffix}.v{w}p0(<{w} x ptr>, i32, {lanes}, {part})"
                ));
                self.t.inst(format_args!(
                    "call {part} @llvm.masked.gather.{suffix}.v{w}p0(<{w} x ptr> {pointers}, i32 {align}, {lanes} {on}, {part} zeroinitializer)"
                ))
            } else {
                let helper = self.gather_helper(part, index);
                let at = match mask {
                    None => at,
                    Some(mask) => {
                        let safe = self.t.repeat(index.times(1), safe, w);
                        self.t.select(lanes, mask, index, &at, &safe)
                    }
                };
                let value = self.t.inst(format_args!("call {part} {helper}(ptr {base}, {index} {at})"));
                match mask {
                    None => value,
                    Some(mask) => self.t.select(lanes, mask, part, &value, "zeroinitializer"),
                }
            });
        }
        let joined = super::ops::interleave(&mut self.t, part, &loaded);
        self.t.convert("bitcast", part.times(w * count), &joined, all)
    }

    /// A function that loads one element per lane, for CPUs that have no good instruction for it. Called, not in line: the text
    /// is long, and LLVM takes its time over it.
    fn gather_helper(&mut self, part: Shape, index: Shape) -> String {
        let name = format!("@gather.{}.{}", part.suffix(), index.suffix());
        let (w, one, offset) = (self.w, part.times(1), index.times(1));
        self.helpers.entry(name.clone()).or_insert_with(|| {
            let mut text =
                format!("define internal {part} {name}(ptr %base, {index} %offsets) noinline nounwind {{\n");
            let mut value = "poison".to_owned();
            for lane in 0..w {
                let _ = writeln!(text, "  %o{lane} = extractelement {index} %offsets, i64 {lane}");
                let _ = writeln!(text, "  %p{lane} = getelementptr i8, ptr %base, {offset} %o{lane}");
                let _ = writeln!(text, "  %x{lane} = load {one}, ptr %p{lane}, align 1");
                let _ =
                    writeln!(text, "  %v{lane} = insertelement {part} {value}, {one} %x{lane}, i64 {lane}");
                value = format!("%v{lane}");
            }
            let _ = writeln!(text, "  ret {part} {value}\n}}");
            text
        });
        name
    }

    fn scatter(&mut self, access: &Access, spots: &Spots, mask: Option<&str>, value: &str) {
        let Spots { base, offsets, index, .. } = spots;
        let all = self.all(access.ty);
        let (part, count) = self.parts(access.ty);
        let (index, lanes, w) = (*index, self.lanes(), self.w);
        let row = part.times(w * count);
        let value = self.t.convert("bitcast", all, value, row);
        for i in 0..count {
            let (at, value) = if count == 1 {
                (offsets.clone(), value.clone())
            } else {
                let at = self.t.binary("add", index, offsets, &Text::constant(index, u64::from(8 * i)));
                (at, self.t.shuffle(row, &value, "poison", (0..w).map(|l| l * count + i)))
            };
            let on = mask.map_or_else(|| Text::constant(lanes, 1), str::to_owned);
            // Where lanes meet in one place the highest stays, in hardware as in the loop.
            if self.cpu.avx512 && part.elem.bits() >= 32 {
                let pointers = self.t.inst(format_args!("getelementptr i8, ptr {base}, {index} {at}"));
                let align = access.ty.elem.bytes();
                let suffix = part.suffix();
                self.t.declarations.insert(format!(
                    "declare void @llvm.masked.scatter.{suffix}.v{w}p0({part}, <{w} x ptr>, i32, {lanes})"
                ));
                self.t.line(format_args!(
                    "call void @llvm.masked.scatter.{suffix}.v{w}p0({part} {value}, <{w} x ptr> {pointers}, i32 {align}, {lanes} {on})"
                ));
            } else {
                let helper = self.scatter_helper(part, index);
                let bits = self.bits(&on);
                self.t.line(format_args!(
                    "call void {helper}(ptr {base}, {index} {at}, {part} {value}, i{w} {bits})"
                ));
            }
        }
    }

    fn scatter_helper(&mut self, part: Shape, index: Shape) -> String {
        let name = format!("@scatter.{}.{}", part.suffix(), index.suffix());
        let (w, one, offset) = (self.w, part.times(1), index.times(1));
        self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        self.helpers.entry(name.clone()).or_insert_with(|| {
            let extend = super::lane_number(w);
            format!(
                "define internal void {name}(ptr %base, {index} %offsets, {part} %values, i{w} %bits) noinline nounwind {{
entry:
  %o = alloca {index}, align 64
  %v = alloca {part}, align 64
  store {index} %offsets, ptr %o, align 64
  store {part} %values, ptr %v, align 64
  %none = icmp eq i{w} %bits, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i{w} [%bits, %entry], [%rest, %loop]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %oa = getelementptr {offset}, ptr %o, i64 %lane
  %offset = load {offset}, ptr %oa, align 4
  %va = getelementptr {one}, ptr %v, i64 %lane
  %value = load {one}, ptr %va, align 1
  %p = getelementptr i8, ptr %base, {offset} %offset
  store {one} %value, ptr %p, align 1
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
  br i1 %end, label %done, label %loop
done:
  ret void
}}
"
            )
        });
        name
    }
}

/// Kept apart so that an op the emitter does not know is refused before any text is made.
pub(super) fn check(func: &hostwarp_ir::Function) -> Result<(), Unsupported> {
    for inst in func.blocks.iter().flat_map(|b| &b.insts) {
        let writes = matches!(inst.op, Op::Store(m) | Op::Atomic(_, m) if matches!(m.space, Space::Const | Space::Param));
        if writes {
            return Err(Unsupported("stores to constants or parameters".into()));
        }
    }
    Ok(())
}
