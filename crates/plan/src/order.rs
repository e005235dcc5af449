//! The order of blocks and cycles ([`hostwarp_ir::analysis::Cycles`]), with what a plan adds to a cycle.

use hostwarp_ir::analysis::Cycles;
use hostwarp_ir::{Block, Function};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A cycle: a strongly connected component of the blocks, or of those of a cycle around it without its header. In reducible code that is a natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that back-edges of the cycle lead to: an iteration begins there.
    pub header: Block,
    /// All blocks of the cycle, inner cycles included, in order; the header is the first.
    pub blocks: Blocks,
    /// Position of the header.
    pub first: u32,
    /// Position of the last block: the cycle takes `first..=last`.
    pub last: u32,
    /// 1 for an outermost cycle.
    pub depth: u32,
    /// The cycle around it, as index into [`crate::Plan::loops`].
    pub parent: Option<usize>,
    /// It is entered through its header only: a natural loop.
    pub single_entry: bool,
    /// Some lanes of a group may leave it while others go round.
    pub divergent_exit: bool,
    /// Lanes may go round because of what other threads do, in this cycle or in one inside it.
    pub waits: bool,
    /// They may in this cycle, whatever those inside it do.
    pub polls: bool,
}

impl Loop {
    /// Whether the block at this position is part of it.
    pub(crate) fn contains(&self, at: usize) -> bool {
        (self.first as usize..=self.last as usize).contains(&at)
    }
}

/// The blocks of a cycle: a part of the order, which all cycles share. A list of its own for each would hold every block as often as there are
/// cycles around it.
#[derive(Clone)]
pub struct Blocks {
    order: Arc<[Block]>,
    first: u32,
    last: u32,
}

impl Deref for Blocks {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        &self.order[self.first as usize..=self.last as usize]
    }
}

impl<'a> IntoIterator for &'a Blocks {
    type Item = &'a Block;
    type IntoIter = std::slice::Iter<'a, Block>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Blocks) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Blocks {}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

pub(crate) struct Order {
    pub(crate) order: Vec<Block>,
    pub(crate) position: Vec<u32>,
    pub(crate) back_edges: Vec<(Block, Block)>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) loop_of: Vec<Option<usize>>,
}

pub(crate) fn order(func: &Function) -> Order {
    let Cycles { order, position, back_edges, cycles, innermost } = Cycles::new(func);
    let all: Arc<[Block]> = order.as_slice().into();
    let loops = cycles.into_iter().map(|c| Loop {
        header: c.header,
        blocks: Blocks { order: all.clone(), first: c.first, last: c.last },
        first: c.first,
        last: c.last,
        depth: c.depth,
        parent: c.parent,
        single_entry: c.single_entry,
        divergent_exit: false,
        waits: false,
        polls: false,
    });
    Order { loops: loops.collect(), order, position, back_edges, loop_of: innermost }
}

/// Numbers the nodes of trees so that those under a node have the numbers from its own up to its second.
pub(crate) fn spans(parent: &[Option<usize>]) -> Vec<(u32, u32)> {
    let mut children = vec![vec![]; parent.len()];
    let mut stack = vec![];
    for (node, parent) in parent.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(node),
            None => stack.push((node, 0)),
        }
    }
    let mut span = vec![(u32::MAX, u32::MAX); parent.len()];
    let mut next = 0;
    while let Some((node, k)) = stack.pop() {
        if k == 0 {
            span[node].0 = next;
            next += 1;
        }
        match children[node].get(k) {
            Some(child) => stack.extend([(node, k + 1), (*child, 0)]),
            None => span[node].1 = next,
        }
    }
    span
}
