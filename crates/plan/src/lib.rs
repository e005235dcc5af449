//! What both engines must agree on about a kernel.
//!
//! A [`Plan`] is made once per primitive function and says:
//!
//! - in which [order](Plan::order) blocks are run, and which of the groups of lanes of a warp that can go on runs
//!   [next](Plan::runs_next): the convergence rule, docs/convergence.md;
//! - where lanes may [stop](Plan::suspends) and what they [need](Plan::live_in) to go on there;
//! - where each value lives in the [frame](Frame) that engines hand to each other;
//! - which values are uniform or affine over the lanes of a group ([`Shape`]), which branches may
//!   [split](Plan::divergent) a group, and which blocks may be run by [part](Plan::masked) of it.
//!
//! Shapes hold for lanes that are *converged*: an engine that lets lanes of one group run the same block at different times
//! (the interpreter, when one lane waits for another) must not rely on them.
#![forbid(unsafe_code)]

mod control;
#[cfg(test)]
mod convergence_test;
mod frame;
mod live;
mod order;
mod reach;
mod shape;
mod split;
#[cfg(test)]
mod tests;
mod text;
mod waits;

pub use frame::Frame;
pub use order::{Blocks, Loop};
pub use split::may_split_warps;

use hostwarp_ir::analysis::Liveness;
use hostwarp_ir::{Block, Function, Op, Special, Term, Value};

/// What the analysis may take for granted about launches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Assume {
    /// Consecutive lanes of a row have consecutive `tid.x` and equal `tid.y` and `tid.z`: the CTA is one-dimensional, or
    /// `ntid.x` is a multiple of the row's length and so no row goes round the corner.
    pub contiguous_x: bool,
    /// All threads of a CTA lie along x: a thread's number in the CTA is its `tid.x`.
    pub one_dimensional: bool,
    /// Lanes in a group. Up to 32 a group lies in one warp.
    pub group: u32,
    /// Rows of equal length that a group consists of: several if `ntid.x` is short, or no multiple of the group. `ntid.x` is a multiple of theirs.
    pub rows: u32,
    /// The size of the CTA, if a group is all of it.
    pub cta: Option<[u32; 3]>,
    /// Every group has all of its lanes: the threads of a CTA are a multiple of the group.
    pub whole: bool,
    /// The size of a CTA, if all have the same.
    pub block: Option<[u32; 3]>,
    /// The number of a thread in the grid, along any axis, is less than 2^31: a signed index is not negative.
    pub numbers_fit: bool,
    /// Values that are never needed at the same time may share a slot of the frame. Off for tracing.
    pub share_slots: bool,
}

impl Default for Assume {
    fn default() -> Self {
        Assume {
            contiguous_x: false,
            one_dimensional: false,
            group: 32,
            rows: 1,
            cta: None,
            whole: false,
            block: None,
            numbers_fit: false,
            share_slots: true,
        }
    }
}

/// Shorter ones are not worth a look of their own.
const SHORTEST_ROW: u32 = 4;

impl Assume {
    /// What holds for CTAs of this size in groups of `group` lanes.
    pub fn for_block(block: [u32; 3], group: u32) -> Assume {
        let threads = block.iter().try_fold(1, |all: u32, n| all.checked_mul(*n));
        let cta = threads.is_some_and(|threads| (1..=group).contains(&threads)).then_some(block);
        let whole = threads.is_some_and(|threads| group != 0 && threads.is_multiple_of(group));
        let one_dimensional = block[1] == 1 && block[2] == 1;
        let contiguous_x = one_dimensional || group != 0 && block[0].is_multiple_of(group);
        // Threads are counted along x first, and groups begin at multiples of their length: so does every such piece of one.
        let row = 1 << block[0].trailing_zeros().min(31);
        if !contiguous_x && row >= SHORTEST_ROW && row < group {
            let rows = group / row;
            return Assume {
                contiguous_x: true,
                group,
                rows,
                cta,
                whole,
                block: Some(block),
                ..Assume::default()
            };
        }
        Assume { contiguous_x, one_dimensional, group, cta, whole, block: Some(block), ..Assume::default() }
    }

    /// What holds besides for a grid of this size.
    pub fn for_grid(self, grid: [u32; 3]) -> Assume {
        let fits = |(block, grid): (&u32, &u32)| u64::from(*block) * u64::from(*grid) <= 1 << 31;
        let numbers_fit = self.block.is_some_and(|block| block.iter().zip(&grid).all(fits));
        Assume { numbers_fit, ..self }
    }

    /// What holds of narrower groups that a group consists of, if this holds of the group. Rows that do not fit are cut, too.
    pub fn in_groups_of(self, group: u32) -> Assume {
        if group >= self.group {
            return self;
        }
        Assume { group, rows: group / self.row().min(group), cta: None, ..self }
    }

    /// Whether a CTA is one thread: whatever it computes is the same in all lanes there are.
    pub fn is_one_thread(&self) -> bool {
        self.block == Some([1, 1, 1])
    }

    /// Whether each row has all of `ntid.x`, if there are several.
    pub fn is_row_all_of_x(&self) -> bool {
        self.block.is_some_and(|block| block[0] == self.row())
    }

    /// Lanes in a row.
    pub fn row(&self) -> u32 {
        self.group / self.rows.max(1)
    }
}

/// How a value differs between the converged lanes of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same in all lanes.
    Uniform,
    /// base + lane · stride modulo the width of the (scalar integer) type, lane counted within the row. The stride is
    /// sign-extended from the width. It is 0 only if rows have different bases: then the value, of whatever type, is the
    /// same in all lanes of a row.
    Affine {
        /// From lane to lane.
        stride: i64,
        /// True only if the narrower value it was extended from did not wrap within the group: to be checked when running
        /// (once, at the extension: first and last lane decide).
        may_wrap: bool,
        /// Rows may have different bases; else all have the same one.
        by_row: bool,
    },
    /// Anything.
    Varying,
}

/// How long a value that is the same for all lanes of a CTA stays the same. Such a value depends on launch and CTA index
/// alone, whatever way control takes, so it may be computed ahead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Invariance {
    /// The same for the whole launch.
    Launch,
    /// The same for all lanes of a CTA.
    Cta,
    /// Differs, or may.
    None,
}

/// The plan of a function. Vectors are indexed by block or value number.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was taken for granted.
    pub assume: Assume,
    /// The reachable blocks in the order they are run: reverse post-order with every cycle contiguous.
    pub order: Vec<Block>,
    /// The place of each block in `order`; `u32::MAX` for unreachable blocks.
    pub position: Vec<u32>,
    /// The edges (from, to) that do not lead forward in `order`.
    pub back_edges: Vec<(Block, Block)>,
    /// Cycles, outer before inner.
    pub loops: Vec<Loop>,
    /// The innermost loop around each block, as index into `loops`.
    pub loop_of: Vec<Option<usize>>,
    /// By position: that of the last block of the cycle that begins there, or itself.
    pub cycle_ends: Vec<u32>,
    /// Blocks at whose start a lane may wait: targets of back-edges, what follows a barrier or a warp synchronisation, and the entry.
    pub suspends: Vec<bool>,
    /// What a lane needs at the start of a block, its parameters included, in ascending order; values that can be
    /// [rematerialised](Plan::remat) not counted.
    pub live_in: Vec<Vec<Value>>,
    /// Constants and specials that only depend on launch, CTA and lane: never in a frame, rematerialised where needed.
    pub remat: Vec<bool>,
    /// Values that can be computed ahead for a launch or a CTA.
    pub invariance: Vec<Invariance>,
    /// How each value differs between lanes, wherever it is used.
    pub shape: Vec<Shape>,
    /// Values that control makes differ between lanes, whatever they are computed from: sync and temporal divergence.
    pub by_control: Vec<bool>,
    /// Blocks whose terminator may split the lanes of a group.
    pub divergent: Vec<bool>,
    /// Blocks that may be run by only part of the lanes of a group that entered the kernel together.
    pub masked: Vec<bool>,
    /// Where values live while lanes are suspended.
    pub frame: Frame,
    /// The most varying values alive at one point, counted in 32-bit words.
    pub pressure: u32,
}

impl Plan {
    /// Plans a function that [`hostwarp_ir::verify_primitive`] accepts.
    pub fn new(func: &Function, assume: Assume) -> Plan {
        let order::Order { order, position, back_edges, mut loops, loop_of } = order::order(func);
        let mut suspends = vec![false; func.blocks.len()];
        suspends[Block::ENTRY.index()] = true;
        for (_, to) in &back_edges {
            suspends[to.index()] = true;
        }
        for b in &order {
            if let Term::Barrier { next, .. } | Term::WarpSync { next, .. } = &func.block(*b).term {
                suspends[next.block.index()] = true;
            }
        }
        let mut cycle_ends: Vec<u32> = (0..order.len() as u32).collect();
        for l in &loops {
            cycle_ends[l.first as usize] = l.last;
        }
        let remat = remat(func);
        let invariance = invariance(func, &order);
        let live = Liveness::new(func, &order, &remat);
        let shape::Shapes { shape, divergent, masked, split, by_control } =
            shape::shapes(func, &order, &position, &loops, &loop_of, assume, &invariance, &[]);
        let polls = waits::polls(func, &position, &loops, &loop_of);
        let waits = waits::waits(&polls, &loops);
        for (n, l) in loops.iter_mut().enumerate() {
            (l.divergent_exit, l.waits, l.polls) = (split[n], waits[n], polls[n]);
        }
        let frame = Frame::new(func, &order, &position, &live, &remat, assume.share_slots);
        let pressure = live::pressure(&live, func, &order, &shape);
        Plan {
            assume,
            order,
            position,
            back_edges,
            cycle_ends,
            loops,
            loop_of,
            suspends,
            live_in: live.live_in,
            remat,
            invariance,
            shape,
            by_control,
            divergent,
            masked,
            frame,
            pressure,
        }
    }

    /// The plan for code that sees to it that all lanes of a group go the same way at the end of these blocks (by number), and goes on elsewhere where they do not.
    /// Frame, order and what lanes need are the same.
    pub fn taking_for_uniform(&self, func: &Function, branches: &[bool]) -> Plan {
        let mut plan = self.clone();
        let Plan { order, position, loops, loop_of, assume, invariance, .. } = self;
        let shape::Shapes { shape, divergent, masked, split, by_control } =
            shape::shapes(func, order, position, loops, loop_of, *assume, invariance, branches);
        for (l, split) in plan.loops.iter_mut().zip(split) {
            l.divergent_exit = split;
        }
        Plan { shape, divergent, masked, by_control, ..plan }
    }

    /// Whether lanes at a block may be there because others have not done something yet.
    pub fn polls(&self, at: Block) -> bool {
        let innermost = self.loop_of.get(at.index()).copied().flatten();
        std::iter::successors(innermost, |l| self.loops[*l].parent).any(|l| self.loops[l].polls)
    }

    /// Of the blocks that lanes of a warp are at, by position, the one that runs next (docs/convergence.md) after the one that ran last: one
    /// that is still to come in this iteration, in the innermost cycle that has one, else the header of that cycle. 0 if there is none.
    pub fn runs_next(&self, after: Option<u32>, positions: &[u32]) -> u32 {
        let lowest =
            |from: u32, to: u32| positions.iter().copied().filter(|at| (from..=to).contains(at)).min();
        if let Some(at) = after {
            let innermost = self.loop_of[self.order[at as usize].index()];
            for l in std::iter::successors(innermost, |l| self.loops[*l].parent) {
                let Loop { first, last, .. } = self.loops[l];
                if let Some(next) = lowest(at + 1, last).or_else(|| lowest(first, first)) {
                    return next;
                }
            }
            if let Some(next) = lowest(at + 1, u32::MAX) {
                return next;
            }
        }
        // Nobody knows what ran last: whoever is at the header of a cycle that others are in has gone round.
        let mut first = lowest(0, u32::MAX).unwrap_or(0);
        while let Some(inside) = lowest(first + 1, self.cycle_ends[first as usize]) {
            first = inside;
        }
        first
    }

    /// Whether going from `from` to `to` leads back.
    pub fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.position[to.index()] <= self.position[from.index()]
    }
}

/// Called for each step of the work; tests count them.
fn poll() {
    #[cfg(test)]
    tests::STEPS.with(|steps| steps.set(steps.get() + 1));
    hostwarp_system::poll();
}

fn remat(func: &Function) -> Vec<bool> {
    let mut remat = vec![false; func.types.len()];
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Op::Const(_) | Op::Special(_), Some(r)) = (i.op, i.result) {
            remat[r.index()] = i.op.is_pure();
        }
    }
    remat
}

/// Pure ops on constants, parameters and what the launch and the CTA say of themselves.
fn invariance(func: &Function, order: &[Block]) -> Vec<Invariance> {
    let mut of = vec![Invariance::None; func.types.len()];
    let mut constant = vec![None; func.types.len()];
    // Definitions dominate uses and `order` is a reverse post-order, so one pass sees every argument first.
    for b in order {
        for i in &func.block(*b).insts {
            let Some(r) = i.result else { continue };
            of[r.index()] = match i.op {
                Op::Const(bits) => {
                    constant[r.index()] = Some(bits);
                    Invariance::Launch
                }
                Op::Special(s) => match s {
                    Special::Ntid(_)
                    | Special::Nctaid(_)
                    | Special::NWarpId
                    | Special::SmId
                    | Special::NSmId
                    | Special::DynamicSharedSize
                    | Special::TotalSharedSize
                    | Special::GridId
                    | Special::GlobalsBase
                    | Special::GridWorkspace => Invariance::Launch,
                    Special::Ctaid(_) => Invariance::Cta,
                    Special::Tid(_) | Special::LaneId | Special::WarpId => Invariance::None,
                    Special::Clock | Special::Clock64 | Special::GlobalTimer => Invariance::None,
                },
                // Only where it cannot fault.
                Op::Load(m) if m.space == hostwarp_ir::Space::Param && i.guard.is_none() => {
                    let size = func.ty(r).bytes() as u64;
                    match constant[i.args[0].index()] {
                        Some(at)
                            if at % size == 0
                                && at.saturating_add(size) <= u64::from(func.info.param_bytes) =>
                        {
                            Invariance::Launch
                        }
                        _ => Invariance::None,
                    }
                }
                op if op.is_pure() => i.args.iter().map(|a| of[a.index()]).max().unwrap_or(Invariance::None),
                _ => Invariance::None,
            };
        }
    }
    of
}
