//! Whether the lanes of a warp may run in parts, one part after the other from barrier to barrier.
//!
//! A warp's memory operations happen in the order of its instructions, over all its lanes. Run in parts, one part's later operations
//! come before another part's earlier ones. That is unobservable unless two of them may meet in one place and one of them writes there.
//! Which of two stores of different lanes stays is left open, as PTX leaves it.

use hostwarp_ir::{Block, Function, Mem, Op, Space, Term};

/// More memory operations than this are not looked at.
const MOST: usize = 256;

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Load,
    Store,
    Atomic,
}

struct Access {
    block: Block,
    does: Does,
    space: Space,
}

/// Whether it is unobservable that the lanes of a warp run in parts: between two barriers no lane reads what another may write.
pub fn may_split_warps(func: &Function) -> bool {
    let mut accesses: Vec<Access> = vec![];
    for (b, data) in func.blocks.iter().enumerate() {
        for i in &data.insts {
            let (does, mem): (Does, Mem) = match i.op {
                Op::Load(mem) => (Does::Load, mem),
                Op::Store(mem) => (Does::Store, mem),
                Op::Atomic(_, mem) => (Does::Atomic, mem),
                Op::LaneRead | Op::Mma(_) | Op::Ballot | Op::ActiveMask => return false,
                _ => continue,
            };
            // Nobody writes these, or nobody else.
            if !matches!(mem.space, Space::Const | Space::Param | Space::Local) {
                accesses.push(Access { block: Block(b as u32), does, space: mem.space });
            }
        }
        if matches!(data.term, Term::WarpSync { .. }) {
            return false;
        }
    }
    if accesses.len() > MOST {
        return false;
    }
    let meet = |a: &Access, b: &Access| {
        let space = a.space == b.space || a.space == Space::Generic || b.space == Space::Generic;
        let seen = a.does != b.does || a.does == Does::Atomic;
        space && seen
    };
    accesses.iter().enumerate().all(|(n, first)| {
        // Once round a loop everything in the block comes after `first`, itself included.
        let reached = before_a_barrier(func, first.block);
        accesses.iter().enumerate().all(|(m, second)| {
            let after = reached[second.block.index()] || second.block == first.block && m > n;
            !after || !meet(first, second)
        })
    })
}

/// Blocks that come after a block on some way without a barrier.
fn before_a_barrier(func: &Function, from: Block) -> Vec<bool> {
    let mut reached = vec![false; func.blocks.len()];
    let mut work = vec![from];
    while let Some(b) = work.pop() {
        let term = &func.block(b).term;
        if matches!(term, Term::Barrier { .. }) {
            continue;
        }
        for t in term.targets() {
            if !std::mem::replace(&mut reached[t.block.index()], true) {
                work.push(t.block);
            }
        }
    }
    reached
}
