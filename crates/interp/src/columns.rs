//! Results and their shapes.

use crate::exec::Machine;
use crate::kernels::{CHUNK, MOST_ARGS, Operand, Selected};
use crate::lower::{Arg, BLEND, Base, Copy, Dst, Inst};
use crate::segments::Segment;
use crate::shape::{Affine, Column, Shape, Written};

impl Machine<'_, '_> {
    #[inline(always)]
    pub(crate) fn column(&self, at: Arg) -> &Column {
        &self.columns[at.place as usize]
    }

    /// The one value of an operand that is the same in all lanes, an integer of up to 64 bits.
    #[inline(always)]
    pub(crate) fn uniform(&self, at: Arg) -> Option<u64> {
        let column = self.column(at);
        match column.shape {
            Shape::Uniform => Some(self.regs.integer(at, self.base)),
            Shape::Known => Some(column.affine.base),
            Shape::Varying | Shape::Affine | Shape::InMemory | Shape::Sum => None,
        }
    }

    /// The operand, an integer of up to 64 bits, as base and strides.
    #[inline(always)]
    pub(crate) fn affine(&self, at: Arg) -> Option<Affine> {
        let column = self.column(at);
        match column.shape {
            Shape::Varying | Shape::InMemory | Shape::Sum => None,
            Shape::Uniform => Some(Affine::uniform(self.regs.integer(at, self.base))),
            Shape::Known => Some(Affine::uniform(column.affine.base)),
            Shape::Affine => Some(column.affine),
        }
    }

    /// Whether lanes that do not run have nothing in a place: it may be overwritten, and its shape is the running lanes' alone.
    #[inline(always)]
    pub(crate) fn is_free(&self, dst: &Dst) -> bool {
        dst.free || !self.others || self.needed[dst.at.place as usize / 64] >> (dst.at.place % 64) & 1 == 0
    }

    /// Writes out a column, so that it can be read lane by lane.
    #[inline]
    pub(crate) fn write_out(&mut self, at: Arg) {
        if self.columns[at.place as usize].written < Written::All {
            self.write_out_now(at);
        }
    }

    #[cold]
    fn write_out_now(&mut self, at: Arg) {
        match self.column(at).shape {
            Shape::Varying => {}
            Shape::InMemory => {
                let from = self.take_in_memory(at);
                let all = self.hull;
                self.read_in_memory(&from, at, &all);
                return self.wrote(Dst { at, free: true });
            }
            Shape::Sum => return self.add_products(),
            Shape::Affine => {
                let a = self.column(at).affine;
                let (mut lane, end) = (self.base * CHUNK, (self.base + self.warps) * CHUNK);
                let rows = a.rows(self.extents);
                while lane < end {
                    let n = (rows.len - lane % rows.len).min(end - lane);
                    self.regs.ramp(at, lane, n, a.at(lane, self.extents), rows.stride);
                    lane += n;
                }
            }
            Shape::Uniform | Shape::Known => {
                self.write_warp(at);
                self.regs.spread(at, self.base, self.warps);
            }
        }
        self.columns[at.place as usize].written = Written::All;
    }

    /// Writes out the first warp of a column that is the same in all lanes.
    #[inline(always)]
    pub(crate) fn write_warp(&mut self, at: Arg) {
        let column = &mut self.columns[at.place as usize];
        if column.written == Written::Nothing {
            column.written = Written::Warp;
            // Little-endian, so that what is narrower comes first.
            let value = column.affine.base.to_le();
            self.regs.splat(at, self.base, &value);
        }
    }

    /// Says what a result may overwrite, and makes its column one that some lanes of can be written.
    #[inline]
    pub(crate) fn open(&mut self, dst: Dst) -> Dst {
        let free = self.is_free(&dst);
        if !free {
            self.write_out(dst.at);
        }
        Dst { free, ..dst }
    }

    /// Says that a result has been written lane by lane.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, dst: Dst) {
        let column = &mut self.columns[dst.at.place as usize];
        (column.shape, column.written) = (Shape::Varying, Written::All);
    }

    #[inline(always)]
    fn wrote_uniform(&mut self, dst: Dst) {
        let column = &mut self.columns[dst.at.place as usize];
        (column.shape, column.written) = (Shape::Uniform, Written::Warp);
    }

    /// Runs a pure op.
    #[inline]
    pub(crate) fn pure(&mut self, inst: &Inst, selected: &Selected, dst: Dst) {
        let free = self.is_free(&dst);
        if free && self.without_lanes(inst, dst) {
            return;
        }
        if let (true, Some(by_rows)) = (free && !self.in_memory.is_empty(), selected.by_rows)
            && self.pure_by_rows(inst, by_rows, dst)
        {
            return;
        }
        // Most ops have no more than three.
        match inst.args.len() {
            0..=3 => self.pure_with::<3>(inst, selected, dst, free),
            4..=8 => self.pure_with::<8>(inst, selected, dst, free),
            _ => self.pure_with::<MOST_ARGS>(inst, selected, dst, free),
        }
    }

    /// Runs a pure op of up to `N` arguments by its kernel: for one warp where all of them are the same in all lanes.
    #[inline]
    fn pure_with<const N: usize>(&mut self, inst: &Inst, selected: &Selected, dst: Dst, free: bool) {
        let mut operands = [Operand::NONE; N];
        let uniform = free && inst.args.iter().all(|a| self.column(*a).is_uniform());
        for (operand, at) in operands.iter_mut().zip(&inst.args) {
            if uniform {
                self.write_warp(*at);
                *operand = self.regs.operand(*at, 0);
            } else if self.column(*at).is_uniform() && at.place != dst.at.place {
                self.write_warp(*at);
                *operand = Operand { step: 0, ..self.regs.operand(*at, self.base) };
            } else {
                // Also where the result overwrites the argument's first warp, which the others could not read there any more.
                self.write_out(*at);
                *operand = self.regs.operand(*at, 0);
            }
        }
        if uniform {
            self.regs.kernel(selected, dst.at, operands, self.base, 1);
            self.wrote_uniform(dst);
            return;
        }
        if !free {
            self.write_out(dst.at);
        }
        self.wrote(dst);
        if free && self.is_dense() {
            let all = self.hull;
            return self.regs.kernel(selected, dst.at, operands, all.first, all.warps());
        }
        for s in &self.segments {
            if s.full || free {
                self.regs.kernel(selected, dst.at, operands, s.first, s.warps());
                continue;
            }
            let made = Arg { base: Base::Scratch, offset: 0, ..dst.at };
            debug_assert!(u32::from(dst.at.bytes) <= BLEND);
            self.regs.kernel(selected, made, operands, s.first, s.warps());
            self.regs.blend(dst, made, s.first, self.run_masks(s));
        }
    }

    /// Runs an op on integers that are uniform or affine. Answers whether it could.
    #[inline]
    fn without_lanes(&mut self, inst: &Inst, dst: Dst) -> bool {
        let Some(op) = inst.affine else { return false };
        let a = inst.args[0];
        let b = inst.args.get(1).copied().unwrap_or(a);
        if let (Some(a), Some(b)) = (self.uniform(a), self.uniform(b)) {
            self.set_known(dst, op.eval_uniform(a, b));
            return true;
        }
        let (Some(a), Some(b)) = (self.affine(a), self.affine(b)) else { return false };
        let Some(made) = op.eval(&a, &b, self.extents) else { return false };
        self.columns[dst.at.place as usize] = Column::of(made);
        true
    }

    /// Gives a free place the same integer in all lanes.
    #[inline(always)]
    fn set_known(&mut self, dst: Dst, value: u64) {
        // Field by field: what is built first and copied then waits for itself in the CPU's store buffer.
        let column = &mut self.columns[dst.at.place as usize];
        column.shape = Shape::Known;
        column.written = Written::Nothing;
        column.affine.base = value;
    }

    /// Gives a free place the same value in all lanes.
    pub(crate) fn set_uniform<T: std::marker::Copy>(&mut self, dst: Dst, value: T) {
        self.regs.splat(dst.at, self.base, &value);
        self.wrote_uniform(dst);
    }

    /// Hands a value over to a block's parameter.
    pub(crate) fn hand_over(&mut self, c: &Copy) {
        let Column { shape, affine, .. } = *self.column(c.src);
        debug_assert!(
            !matches!(shape, Shape::InMemory | Shape::Sum),
            "only a pure op reads what is not there yet"
        );
        if shape != Shape::Varying && self.is_free(&c.dst) {
            match shape {
                Shape::Known => self.set_known(c.dst, affine.base),
                Shape::Affine => self.columns[c.dst.at.place as usize] = Column::of(affine),
                Shape::Uniform | Shape::Varying | Shape::InMemory | Shape::Sum => {
                    self.regs.copy(c.dst, c.src, self.base, 1);
                    self.wrote_uniform(c.dst);
                }
            }
            return;
        }
        self.write_out(c.src);
        let dst = self.open(c.dst);
        self.wrote(dst);
        if dst.free && self.is_dense() {
            let all = self.hull;
            return self.regs.copy(dst, c.src, all.first, all.warps());
        }
        for s in &self.segments {
            if s.full || dst.free {
                self.regs.copy(dst, c.src, s.first, s.warps());
            } else {
                self.regs.blend(dst, c.src, s.first, self.run_masks(s));
            }
        }
    }

    /// Writes out all that an instruction reads.
    pub(crate) fn write_out_args(&mut self, inst: &Inst) {
        for at in inst.args.iter().chain(&inst.guard) {
            self.write_out(*at);
        }
    }

    /// The lanes of a segment's warps, from its first on, that run, if they are neighbours: where only the last warp has fewer than 32.
    pub(crate) fn prefix(&self, segment: &Segment) -> Option<usize> {
        let (last, before) = self.run_masks(segment).split_last()?;
        let count = last.trailing_ones() as usize;
        let whole = before.iter().all(|m| *m == u32::MAX) && last.count_ones() as usize == count;
        whole.then_some(before.len() * CHUNK + count)
    }
}
