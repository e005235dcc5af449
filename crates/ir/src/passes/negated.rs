//! Branches on `not c` become branches on `c` with their targets swapped, so that whoever asks what a branch compares finds the comparison.

use super::{Changed, Pass};
use crate::*;
use rustc_hash::FxHashMap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "negated-branches",
    about: "branch on the condition itself, not on its negation",
    run: |func, _| {
        // The order of targets decides the order of blocks, and with that which block of an irreducible cycle is its header.
        if branch_on_the_condition_itself(func) { Changed::Graph } else { Changed::Nothing }
    },
};

/// A branch on `not c` (`@!p bra`) is one on `c` the other way round: who looks for what a branch compares finds it, whichever way it is written.
/// Answers whether there was any.
fn branch_on_the_condition_itself(func: &mut Function) -> bool {
    let mut negated: FxHashMap<Value, Value> = FxHashMap::default();
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Op::IntUn(IntUn::Not), Some(r)) = (i.op, i.result)
            && i.guard.is_none()
            && func.ty(r) == Type::I1
        {
            negated.insert(r, i.args[0]);
        }
    }
    let mut any = false;
    for b in &mut func.blocks {
        if let Term::Branch(c, yes, no) = &mut b.term {
            while let Some(of) = negated.get(c) {
                *c = *of;
                std::mem::swap(yes, no);
                any = true;
            }
        }
    }
    any
}
