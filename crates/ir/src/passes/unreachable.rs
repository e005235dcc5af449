//! Unreachable code elimination: blocks that no way from the entry leads to are removed, the others renumbered in their order. Branches on constants
//! are `fold`'s business.

use super::{Changed, Pass};
use crate::*;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "unreachable",
    about: "remove blocks that cannot be reached",
    run: |func, _| {
        prune_unreachable(func);
        Changed::Graph
    },
};

/// Removes blocks that cannot be reached and renumbers the rest, order kept. Answers the new numbers, if there are any.
pub(crate) fn prune_unreachable(func: &mut Function) -> Option<Vec<Option<Block>>> {
    let mut reached = vec![false; func.blocks.len()];
    let mut work = vec![Block::ENTRY];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b.index()], true) {
            work.extend(func.block(b).term.targets().iter().map(|t| t.block));
        }
    }
    if reached.iter().all(|r| *r) {
        return None;
    }
    let mut next = 0;
    let renumber = |reached: &bool| {
        next += u32::from(*reached);
        reached.then(|| Block(next - 1))
    };
    let number: Vec<Option<Block>> = reached.iter().map(renumber).collect();
    let mut i = 0;
    func.blocks.retain(|_| {
        i += 1;
        reached[i - 1]
    });
    for b in &mut func.blocks {
        for t in b.term.targets_mut() {
            // What a block that is reached goes to is reached.
            t.block = number[t.block.index()].unwrap_or(Block::ENTRY);
        }
    }
    Some(number)
}
