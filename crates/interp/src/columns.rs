//! Results and their shapes.

use crate::exec::{Machine, Segment};
use crate::kernels::{CHUNK, Operand, Selected};
use crate::lower::{Arg, BLEND, Base, Copy, Dst, Inst};
use crate::shape::{Affine, Column, Shape, Written};

impl Machine<'_, '_> {
    /// The shape of an operand's column.
    #[inline(always)]
    pub(crate) fn shape(&self, at: Arg) -> Shape {
        self.columns[at.place as usize].shape
    }

    #[inline(always)]
    fn is_uniform(&self, at: Arg) -> bool {
        match self.shape(at) {
            Shape::Varying => false,
            Shape::Uniform => true,
            Shape::Affine(a) => a.is_uniform(),
        }
    }

    /// The one value of an operand that is the same in all lanes, an integer of up to 64 bits.
    #[inline(always)]
    pub(crate) fn uniform(&self, at: Arg) -> Option<u64> {
        self.affine(at).filter(Affine::is_uniform).map(|a| a.base)
    }

    /// The operand, an integer of up to 64 bits, as base and strides.
    #[inline(always)]
    pub(crate) fn affine(&self, at: Arg) -> Option<Affine> {
        match self.shape(at) {
            Shape::Varying => None,
            Shape::Uniform => Some(Affine::uniform(self.regs.integer(at, self.base))),
            Shape::Affine(a) => Some(a),
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
        match self.shape(at) {
            Shape::Varying => {}
            Shape::Affine(a) if !a.is_uniform() => {
                let (mut lane, end) = (self.base * CHUNK, (self.base + self.warps) * CHUNK);
                let rows = a.rows(self.extents);
                while lane < end {
                    let n = (rows.len - lane % rows.len).min(end - lane);
                    self.regs.ramp(at, lane, n, a.at(lane, self.extents), rows.stride);
                    lane += n;
                }
            }
            _ => {
                self.write_warp(at);
                self.regs.spread(at, self.base, self.warps);
            }
        }
        self.columns[at.place as usize].written = Written::All;
    }

    /// Writes out the first warp of a column that is the same in all lanes.
    #[inline(always)]
    fn write_warp(&mut self, at: Arg) {
        let column = &mut self.columns[at.place as usize];
        if let (Shape::Affine(a), Written::Nothing) = (column.shape, column.written) {
            column.written = Written::Warp;
            self.regs.splat(at, self.base, a.base);
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
        self.columns[dst.at.place as usize] = Column::VARYING;
    }

    /// Runs a pure op.
    #[inline]
    pub(crate) fn pure(&mut self, inst: &Inst, selected: &Selected, dst: Dst) {
        let free = self.is_free(&dst);
        if free && self.without_lanes(inst, selected, dst) {
            return;
        }
        let mut operands = [Operand::NONE; 8];
        let n = inst.args.len().min(8);
        for (operand, at) in operands.iter_mut().zip(&inst.args) {
            // Where the result overwrites the argument's first warp, the others cannot read it there.
            if self.is_uniform(*at) && at.place != dst.at.place {
                self.write_warp(*at);
                *operand = Operand { step: 0, ..self.regs.operand(*at, self.base) };
            } else {
                self.write_out(*at);
                *operand = self.regs.operand(*at, 0);
            }
        }
        if !free {
            self.write_out(dst.at);
        }
        self.columns[dst.at.place as usize] = Column::VARYING;
        for i in 0..self.segments.len() {
            let s = self.segments[i];
            let run = |to: Arg| self.regs.kernel(selected, to, &operands[..n], s.first, s.warps());
            if s.full || free {
                run(dst.at);
                continue;
            }
            let made = Arg { base: Base::Scratch, offset: 0, ..dst.at };
            debug_assert!(u32::from(dst.at.bytes) <= BLEND);
            run(made);
            self.regs.blend(dst, made, s.first, self.run_masks(&s));
        }
    }

    /// Runs a pure op on columns that are the same in all lanes, or evenly spaced. Answers whether it could.
    #[inline]
    fn without_lanes(&mut self, inst: &Inst, selected: &Selected, dst: Dst) -> bool {
        if let Some(op) = inst.affine {
            let Some(a) = self.affine(inst.args[0]) else { return false };
            let b = match inst.args.get(1) {
                Some(b) => self.affine(*b),
                None => Some(Affine::uniform(0)),
            };
            if let Some(made) = b.and_then(|b| op.eval(a, b, self.extents)) {
                self.columns[dst.at.place as usize] = Column::affine(made);
                return true;
            }
        }
        if !inst.args.iter().all(|a| self.is_uniform(*a)) {
            return false;
        }
        let mut operands = [Operand::NONE; 8];
        for (operand, at) in operands.iter_mut().zip(&inst.args) {
            self.write_warp(*at);
            *operand = self.regs.operand(*at, 0);
        }
        let n = inst.args.len().min(8);
        self.regs.kernel(selected, dst.at, &operands[..n], self.base, 1);
        self.columns[dst.at.place as usize] = Column::UNIFORM;
        true
    }

    /// Gives a free place the same value in all lanes.
    pub(crate) fn set_uniform<T: std::marker::Copy>(&mut self, dst: Dst, value: T) {
        self.regs.write(Dst { free: true, ..dst }, self.base, u32::MAX, false, &[value; CHUNK]);
        self.columns[dst.at.place as usize] = Column::UNIFORM;
    }

    /// Hands a value over to a block's parameter.
    pub(crate) fn hand_over(&mut self, c: &Copy) {
        match self.shape(c.src) {
            Shape::Uniform if self.is_free(&c.dst) => {
                self.regs.copy(c.dst, c.src, self.base, 1);
                self.columns[c.dst.at.place as usize] = Column::UNIFORM;
                return;
            }
            Shape::Affine(a) if self.is_free(&c.dst) => {
                self.columns[c.dst.at.place as usize] = Column::affine(a);
                return;
            }
            _ => {}
        }
        self.write_out(c.src);
        let dst = self.open(c.dst);
        for s in &self.segments {
            if s.full || dst.free {
                self.regs.copy(dst, c.src, s.first, s.warps());
            } else {
                self.regs.blend(dst, c.src, s.first, self.run_masks(s));
            }
        }
        self.wrote(dst);
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
