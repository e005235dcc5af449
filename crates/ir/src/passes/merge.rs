//! Merging of blocks: one that ends in a jump, and the block it jumps to if nobody else does.

use super::unreachable::prune_unreachable;
use super::{Changed, Pass};
use crate::subst::Subst;
use crate::*;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "merge-blocks",
    about: "join a block to its only successor",
    run: |func, _| {
        merge_chains(func);
        Changed::Graph
    },
};

/// Joins a block to its only successor if it is that block's only predecessor.
fn merge_chains(func: &mut Function) {
    let mut preds = vec![0; func.blocks.len()];
    preds[0] = 1;
    for b in &func.blocks {
        for t in b.term.targets() {
            preds[t.block.index()] += 1;
        }
    }
    let mut subst = Subst::new(func);
    for b in 0..func.blocks.len() {
        while let Term::Jump(t) = &func.blocks[b].term {
            let to = t.block.index();
            if to == b || to == 0 || preds[to] != 1 {
                break;
            }
            let args = t.args.clone();
            let next = std::mem::replace(
                &mut func.blocks[to],
                BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 },
            );
            for (p, a) in next.params.into_iter().zip(args) {
                subst.set(p, a);
            }
            preds[to] = usize::MAX; // empty and unreachable from here on
            func.blocks[b].insts.extend(next.insts);
            func.blocks[b].term = next.term;
            func.blocks[b].term_line = next.term_line;
        }
    }
    subst.apply(func);
    prune_unreachable(func);
}
