//! Blocks that part of the lanes may run, but that have code for all lanes as well (full-mask clones).
//!
//! A guard such as `if (i < n)` diverges in a few groups of a launch only, those at the end of the data: its condition compares values whose distances between
//! lanes are known. What such branches lead to is lowered twice: without masks for when all lanes go the same way, and with masks for when they do not.
//! Branches on data have no clones behind them: there lanes diverge as a rule. Worth it: saxpy 3.1 to 1.6 times as long as C in the second-level cache.

use super::Lower;
use hostwarp_ir::{self as core, Block, Function, IntBin, IntUn, Term, Value};
use hostwarp_plan::Plan;

/// If there are more instructions than this in such blocks they are lowered once: register allocation takes many times as long for twice the code, and long
/// blocks take little time to see that they have masks (a sort of 424 instructions: the same speed, 6 times as long to compile).
const MOST_INSTS: usize = 256;

/// Conditions of more ops than this are not looked into.
const MOST_OPS_DEEP: u32 = 6;

/// Whether lanes may diverge at the end of a block, but only where they are few.
pub(super) fn is_likely_uniform(lower: &Lower<'_>, b: Block) -> bool {
    match &lower.func.block(b).term {
        Term::Branch(c, ..) => lower.plan.divergent[b.index()] && compares_places(lower, *c, MOST_OPS_DEEP),
        _ => false,
    }
}

fn compares_places(lower: &Lower<'_>, condition: Value, depth: u32) -> bool {
    if lower.facts.is_narrow(condition) {
        return true;
    }
    let Some((b, n)) = lower.maker[condition.index()] else { return false };
    let i = &lower.func.block(b).insts[n];
    match i.op {
        core::Op::Cmp(_) => i.args.iter().all(|a| lower.facts.is_narrow(*a) || lower.is_constant(*a)),
        core::Op::Int(IntBin::And | IntBin::Or | IntBin::Xor)
        | core::Op::IntUn(IntUn::Not)
        | core::Op::Select => depth > 0 && i.args.iter().all(|a| compares_places(lower, *a, depth - 1)),
        _ => false,
    }
}

/// By block, whether it is lowered for all lanes as well as for part of them.
pub(super) fn find(func: &Function, plan: &Plan, is_likely_uniform: &[bool]) -> Vec<bool> {
    let mut clone = vec![false; func.blocks.len()];
    let mut work: Vec<Block> = plan.order.iter().copied().filter(|b| !plan.masked[b.index()]).collect();
    while let Some(b) = work.pop() {
        if plan.divergent[b.index()] && !is_likely_uniform[b.index()] {
            continue;
        }
        for to in func.block(b).term.targets() {
            let to = to.block;
            if plan.masked[to.index()] && !std::mem::replace(&mut clone[to.index()], true) {
                work.push(to);
            }
        }
    }
    let cloned = func.blocks.iter().zip(&clone).filter(|(_, clone)| **clone);
    if cloned.map(|(data, _)| data.insts.len() + 1).sum::<usize>() > MOST_INSTS {
        clone.fill(false);
    }
    clone
}
