//! The cost model that picks how many lanes a group has.
//!
//! A warp is the rule. Two are jammed where their lanes stay converged and what is alive at once still stays in registers: what is uniform, the checks and the
//! control flow are paid once for both. Less than a warp is taken, where that is unobservable, if it keeps a group in one row of the block: then accesses stay
//! contiguous that otherwise are not (a clamped stencil over two rows: 5 times as long; a matrix product in tiles of 16: 20 times). Of shorter rows a group has
//! several, as long as its lanes lie alike in every group.
//!
//! A whole CTA is taken where its lanes never diverge, it waits at barriers, and what is alive at once is little: nobody waits for anybody then, and what rows have in
//! common is done once (a matrix product in tiles of 16: 2.5 times C's time in groups of 64, 1.2 in one of 256). Where lanes diverge at all it does not pay: masks are as
//! wide as the group, and LLVM takes long (a scan in a tree: 3 times slower, 8 times as long to compile).

use crate::facts::is_regular;
use crate::lower::{MOST_LANES, covers};
use hostwarp_ir::{Function, Op, Term};
use hostwarp_plan::{Assume, Plan, may_split_warps};

/// The vector registers of a target: how many, and of how many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// How many.
    pub count: u32,
    /// Bits of each.
    pub bits: u32,
}

impl Registers {
    /// Whether what is alive at once stays in them, and an eighth for what is needed in between.
    fn hold(self, plan: &Plan, lanes: u32) -> bool {
        plan.pressure <= self.count * 7 / 8 * self.bits / (32 * lanes)
    }

    /// Whether at least half of it does.
    fn spill_little(self, plan: &Plan, lanes: u32) -> bool {
        plan.pressure <= self.count * self.bits / (16 * lanes)
    }
}

/// Lanes in a group of a kernel, for blocks of this size. The plan is for groups of a warp.
pub fn width(func: &Function, plan: &Plan, block: [u32; 3], registers: Registers) -> u32 {
    let assume = |w: u32| Assume::for_block(block, w);
    let regular = |w: &u32| is_regular(assume(*w));
    let in_a_row = |w: &u32| assume(*w).contiguous_x && assume(*w).rows == 1;
    let plain = !func.blocks.iter().flat_map(|b| &b.insts).any(|i| matches!(i.op, Op::Atomic(..)));
    let suits = |w: u32| assume(w).whole && plain && covers(func, plan, assume(w)).is_ok();
    let threads: u32 = block.iter().product();
    let meets = func.blocks.iter().any(|b| matches!(b.term, Term::Barrier { .. }));
    if meets
        && threads > 64
        && threads <= MOST_LANES
        && regular(&threads)
        && !plan.divergent.contains(&true)
        && registers.spill_little(plan, threads)
        && suits(threads)
    {
        return threads;
    }
    if !in_a_row(&32) && may_split_warps(func) {
        let narrower = [16, 8].into_iter().find(in_a_row);
        return narrower.or([32, 16, 8].into_iter().find(regular)).unwrap_or(32);
    }
    let jams = in_a_row(&64) && converges(func, plan) && registers.hold(plan, 64) && suits(64);
    if jams { 64 } else { 32 }
}

/// Whether no lane waits for others to leave a loop; at barriers they wait for each other anyhow.
fn converges(func: &Function, plan: &Plan) -> bool {
    let meets = func.blocks.iter().any(|b| matches!(b.term, Term::Barrier { .. }));
    !plan.loops.iter().any(|l| l.divergent_exit && !meets || l.waits)
}
