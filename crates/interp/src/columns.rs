//! Results and their shapes.

use crate::exec::{Machine, Segment};
use crate::kernels::{CHUNK, Operand, Selected};
use crate::lower::{Arg, BLEND, Base, Copy, Dst, Inst};
use crate::shape::{Affine, Column, Made, Shape};

impl Machine<'_, '_> {
    /// The shape of an operand's column.
    #[inline(always)]
    pub(crate) fn shape(&self, at: Arg) -> Shape {
        self.columns[at.place as usize].shape
    }

    #[inline(always)]
    fn is_uniform(&self, at: Arg) -> bool {
        matches!(self.shape(at), Shape::Uniform)
    }

    /// The one value of an operand that is the same in all lanes.
    #[inline(always)]
    pub(crate) fn uniform<T: std::marker::Copy>(&self, at: Arg) -> Option<T> {
        self.is_uniform(at).then(|| self.regs.lane(at, self.base, 0))
    }

    /// The operand as base and strides, an integer of 64 (`wide`) or 32 bits.
    #[inline(always)]
    pub(crate) fn affine(&self, at: Arg, wide: bool) -> Option<Affine> {
        match self.shape(at) {
            Shape::Varying => None,
            Shape::Uniform if wide => Some(Affine::uniform(self.regs.lane(at, self.base, 0))),
            Shape::Uniform => Some(Affine::uniform(self.regs.lane::<u32>(at, self.base, 0).into())),
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
        if !self.columns[at.place as usize].written {
            self.write_out_now(at);
        }
    }

    #[cold]
    fn write_out_now(&mut self, at: Arg) {
        let bytes = at.step as usize / CHUNK;
        match self.shape(at) {
            Shape::Varying => {}
            Shape::Uniform => self.regs.spread(at, bytes, self.base, self.warps),
            Shape::Affine(a) => {
                let (mut lane, end) = (self.base * CHUNK, (self.base + self.warps) * CHUNK);
                let rows = a.rows(self.extents);
                while lane < end {
                    let n = (rows.len - lane % rows.len).min(end - lane);
                    self.regs.ramp(at, bytes, lane, n, a.at(lane, self.extents), rows.stride);
                    lane += n;
                }
            }
        }
        self.columns[at.place as usize].written = true;
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
            if !self.is_uniform(*at) || at.place == dst.at.place {
                self.write_out(*at);
                *operand = self.regs.operand(*at, 0);
            } else {
                *operand = Operand { step: 0, ..self.regs.operand(*at, self.base) };
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
            debug_assert!(dst.bytes <= BLEND);
            run(made);
            self.regs.blend(dst, made, s.first, self.run_masks(&s));
        }
    }

    /// Runs a pure op on columns that are the same in all lanes, or evenly spaced. Answers whether it could.
    #[inline]
    fn without_lanes(&mut self, inst: &Inst, selected: &Selected, dst: Dst) -> bool {
        if inst.args.iter().all(|a| self.is_uniform(*a)) {
            let mut operands = [Operand::NONE; 8];
            for (operand, at) in operands.iter_mut().zip(&inst.args) {
                *operand = self.regs.operand(*at, 0);
            }
            let n = inst.args.len().min(8);
            self.regs.kernel(selected, dst.at, &operands[..n], self.base, 1);
            self.columns[dst.at.place as usize] = Column::of(Shape::Uniform);
            return true;
        }
        let Some(op) = inst.affine else { return false };
        let Some(a) = self.affine(inst.args[0], op.wide()) else { return false };
        let b = match inst.args.get(1) {
            Some(b) => self.affine(*b, op.wide()),
            None => Some(Affine::uniform(0)),
        };
        let Some(made) = b.and_then(|b| op.eval(a, b, self.extents)) else { return false };
        match made {
            Made::Affine(a) if !a.is_uniform() => {
                self.columns[dst.at.place as usize] = Column::of(Shape::Affine(a));
            }
            Made::Affine(a) if op.result_wide() => self.set_uniform(dst, a.base),
            Made::Affine(a) => self.set_uniform(dst, a.base as u32),
            Made::Bit(b) => self.set_uniform(dst, u8::from(b)),
        }
        true
    }

    /// Gives a free place the same value in all lanes.
    pub(crate) fn set_uniform<T: std::marker::Copy>(&mut self, dst: Dst, value: T) {
        self.regs.write(Dst { free: true, ..dst }, self.base, u32::MAX, false, &[value; CHUNK]);
        self.columns[dst.at.place as usize] = Column::of(Shape::Uniform);
    }

    /// Hands a value over to a block's parameter.
    pub(crate) fn hand_over(&mut self, c: &Copy) {
        let free = self.is_free(&c.dst);
        let shape = self.shape(c.src);
        if free && shape != Shape::Varying {
            if shape == Shape::Uniform {
                self.regs.copy(c.dst, c.src, self.base, 1);
            }
            self.columns[c.dst.at.place as usize] = Column::of(shape);
            return;
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
