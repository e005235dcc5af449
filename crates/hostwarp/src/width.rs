//! How many lanes the jit puts into one group: as many as the registers hold of what is alive at once.

use crate::jit::Paths;
use crate::jit::target::Target;
use hostwarp_ir::{Function, Inst, Op, Term, Type};
use hostwarp_plan::{Assume, Loop, Plan, Shape, may_split_warps};

/// What the choice depends on.
pub(crate) struct Choice<'a> {
    pub(crate) func: &'a Function,
    /// For groups of a warp.
    pub(crate) plan: &'a Plan,
    pub(crate) block: [u32; 3],
    pub(crate) target: Option<&'a Target>,
    /// What the launch goes through comes from memory, not from a cache.
    pub(crate) far: bool,
}

impl Choice<'_> {
    /// Narrower than a warp only where that is unobservable.
    pub(crate) fn lanes(&self) -> u32 {
        let Choice { func, block, .. } = *self;
        if !self.is_even(32) && may_split_warps(func) {
            // Narrower groups do not go round the corner: accesses stay contiguous, `tid.y` stays uniform.
            return [16, 8].into_iter().find(|w| block[0].is_multiple_of(*w)).unwrap_or(32);
        }
        if self.suits_one_piece() {
            return self.threads();
        }
        // The narrowest registers are soon too few for a warp.
        let least = if self.registers().1 < 256 && may_split_warps(func) { 16 } else { 32 };
        let mut widths = [128, 64, 32, 16].into_iter().filter(|w| (least..=self.most()).contains(w));
        let fits = |w: u32| w <= 32 || self.threads().is_multiple_of(w) && self.is_even(w);
        widths.find(|w| fits(*w) && self.stays_in_registers(*w)).unwrap_or(least)
    }

    fn most(&self) -> u32 {
        // Lanes that leave a loop wait for the others: the fewer the better.
        if self.plan.loops.iter().any(|l| l.divergent_exit) {
            return 32;
        }
        // What a loop fetches is checked in every iteration, once for all lanes.
        let fetches = |l: &Loop| self.insts_of(l).any(|i| self.varies(i) && matches!(i.op, Op::Load(_)));
        let many = !self.takes_few() || self.waits() || self.plan.loops.iter().any(fetches);
        if self.is_plain() && many { 128 } else { 64 }
    }

    /// A CTA in one piece has nobody to wait for at its barriers, and where there is little to do it is done once, not twice.
    fn suits_one_piece(&self) -> bool {
        let Choice { func, plan, far, .. } = *self;
        let threads = self.threads();
        let (registers, bits) = self.registers();
        // A loop of one operation has nothing else to do while that takes its time: the more registers it goes over, the better.
        let work = |i: &&Inst| self.varies(i) && !matches!(i.op, Op::ToBits | Op::FromBits);
        let waits_for_itself = |l: &Loop| self.insts_of(l).filter(work).count() == 1;
        let pays = if self.waits() {
            true
        } else if plan.loops.is_empty() {
            !(self.takes_few() && far)
        } else {
            !self.takes_few() && plan.loops.iter().all(waits_for_itself)
        };
        pays && matches!(threads, 256 | 512)
            && self.is_even(threads)
            && plan.pressure <= registers * bits / (16 * threads)
            && self.is_plain()
            && self.insts().all(|i| self.packed(i).is_none())
            && Paths::likely(func, plan, threads) == Paths::Together
    }

    fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Whether groups of so many lanes lie along x.
    fn is_even(&self, w: u32) -> bool {
        Assume::for_block(self.block, w).contiguous_x
    }

    /// How many vector registers there are, and of how many bits.
    fn registers(&self) -> (u32, u32) {
        self.target.map_or((32, 512), |t| (t.vector_registers(), t.vector_bits))
    }

    /// What is alive should stay in registers: at 128 lanes, 32 of 512 bits hold three words of each and what is needed in between.
    fn stays_in_registers(&self, w: u32) -> bool {
        let (registers, bits) = self.registers();
        self.plan.pressure <= registers * 7 / 8 * bits / (32 * w)
    }

    /// Few registers of each stream, one after the other, come sooner than many where the CPU looks ahead by itself.
    fn takes_few(&self) -> bool {
        self.target.is_some_and(Target::streams_alone)
    }

    fn waits(&self) -> bool {
        self.func.blocks.iter().any(|b| matches!(b.term, Term::Barrier { .. }))
    }

    /// Atomics go lane by lane anyhow, and ops on packed floats need registers in between.
    fn is_plain(&self) -> bool {
        let packed_float = |i: &Inst| self.packed(i).is_some_and(|ty| ty.is_float());
        self.insts().all(|i| !matches!(i.op, Op::Atomic(..)) && !packed_float(i))
    }

    fn packed(&self, i: &Inst) -> Option<Type> {
        i.result.map(|r| self.func.ty(r)).filter(|ty| ty.count > 1)
    }

    fn varies(&self, i: &Inst) -> bool {
        i.result.is_some_and(|r| self.plan.shape[r.index()] == Shape::Varying)
    }

    fn insts(&self) -> impl Iterator<Item = &Inst> {
        self.func.blocks.iter().flat_map(|b| &b.insts)
    }

    fn insts_of(&self, l: &Loop) -> impl Iterator<Item = &Inst> {
        l.blocks.iter().flat_map(|b| &self.func.block(*b).insts)
    }
}
