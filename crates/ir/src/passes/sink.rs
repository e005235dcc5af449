//! Sinking: a pure instruction goes down to the one block that needs it, out of loops above all. Only instructions with one argument: others might lengthen more
//! live ranges than they shorten.

use super::{Changed, Pass};
use crate::*;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "sink",
    about: "move instructions down to the block that needs them",
    run: |func, _| {
        sink(func);
        Changed::Values
    },
};

/// Moves a pure instruction down to the one block that needs its result, where the only way there is from this block, through others or
/// straight: what every iteration of a loop computes and only code behind the loop needs (the bits of a float, above all) is then made once. No such way
/// leads into a loop. Instructions with one argument only: others might make more values live longer than they make live shorter.
fn sink(func: &mut Function) {
    /// Blocks on the way, at most: long chains would be walked for every instruction.
    const FAR: usize = 64;
    const SEVERAL: u32 = u32::MAX;
    const NONE: u32 = u32::MAX - 1;
    let mut from = vec![NONE; func.blocks.len()];
    from[Block::ENTRY.index()] = SEVERAL;
    for (b, data) in func.blocks.iter().enumerate() {
        for t in data.term.targets() {
            let slot = &mut from[t.block.index()];
            *slot = if *slot == NONE { b as u32 } else { SEVERAL };
        }
    }
    let mut used_in = vec![NONE; func.types.len()];
    let mut note = |v: Value, b: usize| {
        let slot = &mut used_in[v.index()];
        *slot = if *slot == NONE || *slot == b as u32 { b as u32 } else { SEVERAL };
    };
    for (b, data) in func.blocks.iter().enumerate() {
        for v in data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)) {
            note(*v, b);
        }
        for v in data
            .term
            .uses()
            .into_iter()
            .chain(data.term.targets().iter().flat_map(|t| t.args.iter().copied()))
        {
            note(v, b);
        }
    }
    for b in 0..func.blocks.len() {
        let mut at = func.blocks[b].insts.len();
        while at > 0 {
            at -= 1;
            let i = &func.blocks[b].insts[at];
            let Some(to) = i.result.map(|r| used_in[r.index()]) else { continue };
            let above = |at: &u32| Some(from[*at as usize]).filter(|from| *from < NONE);
            let ways = std::iter::successors((to < NONE).then_some(to), above);
            let only_way = to as usize != b && ways.take(FAR).any(|at| at as usize == b);
            if only_way && i.op.is_pure() && i.args.len() == 1 && i.guard.is_none() {
                let arg = i.args[0];
                let inst = func.blocks[b].insts.remove(at);
                func.blocks[to as usize].insts.insert(0, inst);
                used_in[arg.index()] = SEVERAL;
            }
        }
    }
}
