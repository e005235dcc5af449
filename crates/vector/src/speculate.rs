//! Which branches the first of two versions of the code takes for uniform.
//!
//! A guard (`i < n`) or the trip count of a loop over the data in steps of the grid differs between the lanes of few groups of a launch, those at the end of the data.
//! Yet nothing behind such a branch is uniform or affine for a plan that must hold for all groups. So code for these kernels is made twice: a converged version, which looks at
//! each of these branches whether all lanes go the same way, and the general one, in which the group goes on where they do not (a side exit to compiled code). What both
//! versions have in common in the frame is left there in brief; behind the next barrier the group is in the first version again.
//!
//! Taken for uniform is what depends on a thread's place and on values that are uniform, but on nothing that lanes have loaded from different places: there lanes
//! diverge as a rule, and the first version would be left in every group. So they do where the condition is known for every lane.

use crate::facts::Facts;
use hostwarp_ir::{Block, Function, Op, Term, Value};
use hostwarp_plan::{Assume, Plan, Shape};

/// Whether code relies on what nearly always holds, and is left where it does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Speculation {
    /// Checks do not fail, 32-bit indices do not wrap, and lanes do not diverge at the end of the data. Where a check fails before its block has had an effect the
    /// interpreter goes on.
    On,
    /// Nothing is relied on (deoptimised): for kernels that have left the other code too often.
    Off,
}

/// If there are more instructions than this behind such branches code is made once: register allocation takes many times as long for twice the code, and long
/// blocks take little time to see that they have masks (a sort of 436 instructions: no faster, twice as long to compile).
const MOST_INSTS: usize = 300;

/// One in so many of them must be without a mask in the converged version alone.
const LEAST_GAIN: usize = 4;

/// The plan for the converged version, with its branches by block; none if the code is made once.
pub(crate) fn find(func: &Function, plan: &Plan, facts: &Facts, assume: Assume) -> Option<(Plan, Vec<bool>)> {
    let from_data = from_data(func, plan);
    let mut branches = vec![false; func.blocks.len()];
    for b in &plan.order {
        if let Term::Branch(c, ..) = &func.block(*b).term {
            branches[b.index()] = plan.divergent[b.index()]
                && !from_data[c.index()]
                && !splits_every_group(func, facts, *c, assume.group);
        }
    }
    loop {
        let behind = behind(func, plan, &branches);
        if behind == 0 || behind > MOST_INSTS {
            return None;
        }
        let converged = plan.taking_for_uniform(func, &branches);
        // Where part of the lanes run a block others may be anywhere.
        let apart = |b: &Block| branches[b.index()] && converged.masked[b.index()];
        let apart: Vec<Block> = plan.order.iter().copied().filter(apart).collect();
        if apart.is_empty() {
            let gains = |b: &&Block| plan.masked[b.index()] && !converged.masked[b.index()];
            let gained: usize = plan.order.iter().filter(gains).map(|b| func.block(*b).insts.len() + 1).sum();
            return (gained * LEAST_GAIN >= behind).then_some((converged, branches));
        }
        apart.iter().for_each(|b| branches[b.index()] = false);
    }
}

/// Instructions of all that comes behind the branches.
fn behind(func: &Function, plan: &Plan, branches: &[bool]) -> usize {
    let mut seen = vec![false; func.blocks.len()];
    let targets = |b: Block| func.block(b).term.targets().iter().map(|t| t.block).collect::<Vec<_>>();
    let mut work: Vec<Block> =
        plan.order.iter().filter(|b| branches[b.index()]).flat_map(|b| targets(*b)).collect();
    let mut insts = 0;
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut seen[b.index()], true) {
            insts += func.block(b).insts.len() + 1;
            work.extend(targets(b));
        }
    }
    insts
}

/// By value, whether it depends on what lanes have loaded, or been told by others, each for itself.
fn from_data(func: &Function, plan: &Plan) -> Vec<bool> {
    let mut from_data = vec![false; func.types.len()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        let mut set = |v: Value, from_data: &mut Vec<bool>| {
            changed |= !std::mem::replace(&mut from_data[v.index()], true);
        };
        for b in &plan.order {
            let data = func.block(*b);
            for i in &data.insts {
                let Some(r) = i.result else { continue };
                let own = !i.op.is_pure() || matches!(i.op, Op::LaneRead | Op::Mma(_));
                let handed = || i.guard.iter().chain(&i.args).any(|a| from_data[a.index()]);
                if plan.shape[r.index()] != Shape::Uniform && (own || handed()) {
                    set(r, &mut from_data);
                }
            }
            for t in data.term.targets() {
                for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                    if from_data[a.index()] {
                        set(*p, &mut from_data);
                    }
                }
            }
        }
    }
    from_data
}

/// Whether a condition compares what is known of every lane, and is true in some and false in others.
fn splits_every_group(func: &Function, facts: &Facts, condition: Value, lanes: u32) -> bool {
    let insts = func.blocks.iter().flat_map(|b| &b.insts);
    let Some(i) = insts.into_iter().find(|i| i.result == Some(condition)) else { return false };
    let Op::Cmp(_) = i.op else { return false };
    let types: Vec<_> = i.args.iter().map(|a| func.ty(*a)).collect();
    let known: Option<Vec<Vec<u64>>> =
        i.args.iter().zip(&types).map(|(a, ty)| facts.get(*a).values(lanes, ty.elem)).collect();
    let Some(known) = known.filter(|_| types.iter().all(|ty| ty.count == 1)) else { return false };
    let said = |lane: usize| {
        let args: Vec<[u64; 1]> = known.iter().map(|k| [k[lane]]).collect();
        let args: Vec<&[u64]> = args.iter().map(|a| a.as_slice()).collect();
        hostwarp_ir::eval::eval_op(i.op, &args, &types, func.ty(condition), 1).map(|r| r[0])
    };
    (1..lanes as usize).any(|lane| said(lane) != said(0))
}
