//! Threading of guards: a branch on `a || b` to an exit becomes a branch on `a` and one on `b`, both to that exit; `a && b` with the exit on the other side
//! likewise (the inverse of the short-circuit that nvcc flattens to `or.pred`).
//!
//! Only comparisons are threaded, at most [`MOST`] of them, and only to a block that does nothing but exit: each branch by itself is then what
//! analyses know as the end of the data, a comparison of an affine value with a uniform one, where a mask of several is not.
//! Other disjunctions stay: evaluating both is cheaper than a divergent branch. It fires in 4 of 21 kernels at -O3: all that have a guard in two dimensions.

use super::{Changed, Pass};
use crate::analysis::Analyses;
use crate::*;
use rustc_hash::FxHashMap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "thread-guards",
    about: "branch to an exit on each comparison of a || b by itself",
    run: thread,
};

/// Comparisons in a guard.
const MOST: usize = 8;

fn thread(func: &mut Function, _: &mut Analyses) -> Changed {
    let mut made: FxHashMap<Value, (Op, Value, Value)> = FxHashMap::default();
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Op::Int(IntBin::Or | IntBin::And) | Op::Cmp(_) | Op::FCmp(_), [a, b], Some(r)) =
            (i.op, &i.args[..], i.result)
            && func.ty(r) == Type::I1
        {
            made.insert(r, (i.op, *a, *b));
        }
    }
    let is_exit = |func: &Function, t: &Target| {
        let data = func.block(t.block);
        data.insts.is_empty() && data.term == Term::Exit
    };
    let mut changed = Changed::Nothing;
    for b in 0..func.blocks.len() {
        let Term::Branch(c, yes, no) = &func.blocks[b].term else { continue };
        let (joined_by, exit, on, exits_if) = match (is_exit(func, yes), is_exit(func, no)) {
            (true, false) => (IntBin::Or, yes.clone(), no.clone(), true),
            (false, true) => (IntBin::And, no.clone(), yes.clone(), false),
            _ => continue,
        };
        let Some(leaves) = leaves(*c, joined_by, &made) else { continue };
        let line = func.blocks[b].term_line;
        let mut at = b;
        for (n, leaf) in leaves.iter().enumerate() {
            let next = if n + 1 == leaves.len() {
                on.clone()
            } else {
                let block = Block(func.blocks.len() as u32);
                func.blocks.push(BlockData {
                    params: vec![],
                    insts: vec![],
                    term: Term::Exit,
                    term_line: line,
                });
                Target::new(block)
            };
            let follows = next.block.index();
            func.blocks[at].term = match exits_if {
                true => Term::Branch(*leaf, exit.clone(), next),
                false => Term::Branch(*leaf, next, exit.clone()),
            };
            at = follows;
        }
        changed = Changed::Graph;
    }
    changed
}

/// The comparisons that a condition joins, from left to right; none if it is one alone, or joins anything else.
fn leaves(c: Value, joined_by: IntBin, made: &FxHashMap<Value, (Op, Value, Value)>) -> Option<Vec<Value>> {
    let (mut found, mut work) = (vec![], vec![c]);
    while let Some(v) = work.pop() {
        match made.get(&v)? {
            (Op::Int(op), a, b) if *op == joined_by => work.extend([*b, *a]),
            (Op::Cmp(_) | Op::FCmp(_), ..) => found.push(v),
            _ => return None,
        }
        if found.len() + work.len() > MOST {
            return None;
        }
    }
    (found.len() > 1).then_some(found)
}
