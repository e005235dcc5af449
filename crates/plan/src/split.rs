//! Whether the lanes of a warp may run in parts, one part after the other from barrier to barrier.
//!
//! A warp's memory operations happen in the order of its instructions, over all its lanes. Run in parts, one part's later operations
//! come before another part's earlier ones. That is unobservable unless two of them may meet in one place and one of them writes there.
//! Which of two stores of different lanes stays is left open, as PTX leaves it.

use hostwarp_ir::{Block, Function, Mem, Op, Space, Term};

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Load,
    Store,
    Atomic,
}

/// A kind of access to memory that others see.
type Access = (Does, Space);

/// Whether two may meet in one place, and the order of them be seen.
fn meet(a: Access, b: Access) -> bool {
    let space = a.1 == b.1 || a.1 == Space::Generic || b.1 == Space::Generic;
    space && (a.0 != b.0 || a.0 == Does::Atomic)
}

/// Whether it is unobservable that the lanes of a warp run in parts: between two barriers no lane reads what another may write.
pub fn may_split_warps(func: &Function) -> bool {
    // There are few kinds, so each is looked at once, with all blocks that have it.
    let mut kinds: Vec<(Access, Vec<Block>)> = vec![];
    for (b, data) in func.blocks.iter().enumerate() {
        let block = Block(b as u32);
        let mut here: Vec<Access> = vec![];
        for i in &data.insts {
            let (does, mem): (Does, Mem) = match i.op {
                Op::Load(mem) => (Does::Load, mem),
                Op::Store(mem) => (Does::Store, mem),
                Op::Atomic(_, mem) => (Does::Atomic, mem),
                Op::LaneRead | Op::Mma(_) | Op::Ballot | Op::ActiveMask => return false,
                _ => continue,
            };
            let access = (does, mem.space);
            // Nobody writes these, or nobody else.
            if matches!(mem.space, Space::Const | Space::Param | Space::Local) {
                continue;
            }
            if here.iter().any(|before| meet(*before, access)) {
                return false;
            }
            if here.contains(&access) {
                continue;
            }
            here.push(access);
            match kinds.iter_mut().find(|(kind, _)| *kind == access) {
                Some((_, blocks)) => blocks.push(block),
                None => kinds.push((access, vec![block])),
            }
        }
        if matches!(data.term, Term::WarpSync { .. }) {
            return false;
        }
    }
    kinds.iter().all(|(first, blocks)| {
        // Once round a loop everything in the block comes after itself.
        let reached = before_a_barrier(func, blocks);
        let after = |blocks: &[Block]| blocks.iter().any(|b| reached[b.index()]);
        !kinds.iter().any(|(second, at)| meet(*first, *second) && after(at))
    })
}

/// Blocks that come after one of these on some way without a barrier.
fn before_a_barrier(func: &Function, from: &[Block]) -> Vec<bool> {
    let mut reached = vec![false; func.blocks.len()];
    let mut work = from.to_vec();
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
