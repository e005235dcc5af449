//! The two editions of a kernel: which one it needs, and what the first takes for granted.

use std::collections::HashMap;

use hostwarp_ir::{Block, Function, Inst, Op, Special, Term, Value};
use hostwarp_plan::{Assume, Invariance, Plan, Shape as Spread};

use super::{is_seen, parts};

/// What compiled code can do by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Paths {
    /// Groups whose lanes are all there and go the same way. Anything else is left to the interpreter, which is slow: good only for
    /// kernels where that is rare.
    Together,
    /// Groups whose lanes are all there, and go different ways where the kernel has them do so. Anything else is left to the interpreter: good for
    /// kernels whose CTAs are whole groups.
    Parting,
    /// Whatever lanes do.
    All,
    /// Whatever lanes do, by way of the vector IR (`hostwarp_vector`). Where a check fails in a block that has had no effect yet the interpreter goes on.
    Vector,
}

impl Paths {
    /// What a kernel in blocks of `threads` threads will hardly ever need more than. Lanes stay together if they come apart only
    /// at the end of the data, or where part of them go round a block that the others run by pieces (`parts.rs`).
    pub fn likely(func: &Function, plan: &Plan, threads: u32) -> Paths {
        let (ends, parts) = (at_the_end(func, plan), parts::find(func, plan, &wraps_unseen(func, plan)));
        let stays = |b: &Block| {
            let b = b.index();
            !plan.divergent[b] || ends[b] || parts[b].is_some()
        };
        if !threads.is_multiple_of(plan.assume.group) {
            Paths::All
        } else if plan.order.iter().all(stays) {
            Paths::Together
        } else {
            Paths::Parting
        }
    }

    /// Whether a kernel goes by way of the vector IR unless something else is asked for: it is covered. Where converged lanes meet at barriers the other way
    /// is still faster: it takes a CTA in one piece, or many rows of a tile at once (a product of matrices in tiles: 9 times, a tree over shared memory: 4).
    pub fn by_vector(func: &Function, plan: &Plan, block: [u32; 3], lanes: u32) -> bool {
        let waits = func.blocks.iter().any(|b| matches!(b.term, Term::Barrier { .. }));
        !(waits && Paths::likely(func, plan, block.iter().product()) == Paths::Together)
            && hostwarp_vector::covers(func, plan, Assume::for_block(block, lanes)).is_ok()
    }

    /// By block, whether there is code for part of the lanes.
    pub(super) fn masked(self, func: &Function, plan: &Plan, parts: &[Option<parts::Part>]) -> Vec<bool> {
        let mut masked = vec![self == Paths::All; func.blocks.len()];
        if self != Paths::Parting {
            return masked;
        }
        // Where lanes that have parted get to.
        let parting = plan.order.iter().filter(|b| plan.divergent[b.index()] && parts[b.index()].is_none());
        let targets = |b: &Block| func.block(*b).term.targets().iter().map(|t| t.block).collect::<Vec<_>>();
        let mut work: Vec<Block> = parting.flat_map(targets).collect();
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut masked[b.index()], true) {
                work.extend(targets(&b));
            }
        }
        masked
    }
}

/// By block, whether lanes part at its end only at a comparison of a thread's number in the grid with something that is the same for the launch,
/// as at the end of the data.
pub(super) fn at_the_end(func: &Function, plan: &Plan) -> Vec<bool> {
    let mut made = vec![None; func.types.len()];
    let mut handed: HashMap<Value, Vec<Value>> = HashMap::new();
    for b in &func.blocks {
        for i in &b.insts {
            if let Some(r) = i.result {
                made[r.index()] = Some(i);
            }
        }
        for t in b.term.targets() {
            for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                handed.entry(*p).or_default().push(*a);
            }
        }
    }
    // Looks at no more than a few.
    let by_cta = |mut work: Vec<Value>| {
        for _ in 0..64 {
            let Some(v) = work.pop() else { return false };
            match made[v.index()] {
                Some(Inst { op: Op::Special(Special::Ctaid(_)), .. }) => return true,
                Some(i) if i.op.is_pure() => work.extend(&i.args),
                _ => work.extend(handed.get(&v).into_iter().flatten()),
            }
        }
        false
    };
    let fixed = |v: &Value| plan.invariance[v.index()] == Invariance::Launch;
    let even = |v: &Value| matches!(plan.shape[v.index()], Spread::Affine { .. });
    let ends = |b: Block| {
        let Term::Branch(c, ..) = &func.block(b).term else { return false };
        let Some(Inst { op: Op::Cmp(_), args, .. }) = made[c.index()] else { return false };
        let [x, y] = &args[..] else { return false };
        (fixed(x) && even(y) || even(x) && fixed(y)) && by_cta(vec![*x, *y])
    };
    (0..func.blocks.len()).map(|b| plan.divergent[b] && ends(Block(b as u32))).collect()
}

/// Whether an op is an extension whose result is evenly spaced only if nothing wraps.
pub(super) fn may_wrap_here(inst: &Inst, plan: &Plan) -> bool {
    let wraps = |r: Value| matches!(plan.shape[r.index()], Spread::Affine { may_wrap: true, .. });
    matches!(inst.op, Op::Zext | Op::Sext) && inst.result.is_some_and(wraps)
}

/// Values that may have wrapped unnoticed in code that hands over where something wraps: it cannot where the block has been seen to
/// do something.
pub(super) fn wraps_unseen(func: &Function, plan: &Plan) -> Vec<bool> {
    let mut wraps = vec![false; func.types.len()];
    for b in &plan.order {
        let mut seen = false;
        for inst in &func.block(*b).insts {
            if let Some(r) = inst.result.filter(|_| seen && may_wrap_here(inst, plan)) {
                wraps[r.index()] = true;
            }
            seen |= is_seen(&inst.op);
        }
    }
    let may = |v: Value| matches!(plan.shape[v.index()], Spread::Affine { may_wrap: true, .. });
    let mut changed = wraps.contains(&true);
    while std::mem::take(&mut changed) {
        for b in &plan.order {
            let data = func.block(*b);
            let made = data.insts.iter().filter_map(|i| i.result.map(|r| (r, &i.args[..])));
            let handed = data.term.targets();
            let handed =
                handed.iter().flat_map(|t| func.block(t.block).params.iter().copied().zip(t.args.chunks(1)));
            for (r, args) in made.chain(handed) {
                if !wraps[r.index()] && may(r) && args.iter().any(|a| wraps[a.index()]) {
                    wraps[r.index()] = true;
                    changed = true;
                }
            }
        }
    }
    wraps
}
