//! Cycles and the order of blocks: a weak topological order, in irreducible graphs too.

use crate::{Block, Function};

/// A cycle: a strongly connected component of the blocks, or of those of a cycle around it without its header. In reducible code that is a natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The block that back-edges of the cycle lead to: an iteration begins there.
    pub header: Block,
    /// Position of the header.
    pub first: u32,
    /// Position of the last block: the cycle takes `first..=last` of [`Cycles::order`], inner cycles included.
    pub last: u32,
    /// 1 for an outermost cycle.
    pub depth: u32,
    /// The cycle around it, as index into [`Cycles::cycles`].
    pub parent: Option<usize>,
    /// It is entered through its header only: a natural loop.
    pub single_entry: bool,
}

impl Cycle {
    /// Whether the block at this position is part of it.
    pub fn contains(&self, at: u32) -> bool {
        (self.first..=self.last).contains(&at)
    }
}

/// The order of a function's blocks and its cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// The reachable blocks: reverse post-order with every cycle contiguous.
    pub order: Vec<Block>,
    /// The place of each block in `order`; `u32::MAX` for unreachable blocks.
    pub position: Vec<u32>,
    /// The edges (from, to) that do not lead forward in `order`.
    pub back_edges: Vec<(Block, Block)>,
    /// Outer before inner.
    pub cycles: Vec<Cycle>,
    /// The innermost cycle around each block, as index into `cycles`.
    pub innermost: Vec<Option<usize>>,
}

impl Cycles {
    /// Of this function.
    pub fn new(func: &Function) -> Cycles {
        let n = func.blocks.len();
        let successors: Vec<Vec<usize>> = func
            .blocks
            .iter()
            .map(|b| {
                let mut to: Vec<usize> = vec![];
                for t in b.term.targets() {
                    if !to.contains(&t.block.index()) {
                        to.push(t.block.index());
                    }
                }
                to
            })
            .collect();
        let Placed { order: placed, cycles: mut found } = place(&successors);
        let mut position = vec![u32::MAX; n];
        for (i, b) in placed.iter().enumerate() {
            position[*b] = i as u32;
        }
        // Outer before inner: a cycle around another has more blocks.
        found.sort_by_key(|(first, len)| (std::cmp::Reverse(*len), placed[*first]));
        let mut inner: Vec<Option<usize>> = vec![None; n];
        let mut cycles: Vec<Cycle> = vec![];
        for (i, (first, len)) in found.into_iter().enumerate() {
            let members = &placed[first..first + len];
            let parent = inner[members[0]];
            for b in members {
                inner[*b] = Some(i);
            }
            cycles.push(Cycle {
                header: Block(members[0] as u32),
                first: first as u32,
                last: (first + len - 1) as u32,
                depth: parent.map_or(1, |p: usize| cycles[p].depth + 1),
                parent,
                single_entry: true,
            });
        }
        let mut back_edges = vec![];
        for (at, &b) in placed.iter().enumerate() {
            for &t in &successors[b] {
                let to = position[t] as usize;
                if to <= at {
                    back_edges.push((Block(b as u32), Block(t as u32)));
                }
                let mut around = inner[t];
                while let Some(l) = around.filter(|c| !cycles[*c].contains(at as u32)) {
                    cycles[l].single_entry &= cycles[l].first as usize == to;
                    around = cycles[l].parent;
                }
            }
        }
        let order = placed.into_iter().map(|b| Block(b as u32)).collect();
        Cycles { order, position, back_edges, cycles, innermost: inner }
    }

    /// The innermost cycle around a block.
    pub fn around(&self, b: Block) -> Option<&Cycle> {
        self.innermost[b.index()].map(|c| &self.cycles[c])
    }

    /// In how many cycles each block is.
    pub fn depths(&self) -> Vec<u32> {
        self.innermost.iter().map(|c| c.map_or(0, |c| self.cycles[c].depth)).collect()
    }
}

/// Blocks in order, and where in it each cycle begins and how many blocks it has.
struct Placed {
    order: Vec<usize>,
    cycles: Vec<(usize, usize)>,
}

/// A weak topological order (Bourdoncle 1993): every cycle is contiguous and begins with the block it is entered by first, what is
/// behind it comes behind it, and so on inside it without that block. An edge that does not lead forward leads to the first block of a
/// cycle around its source, in irreducible graphs too.
fn place(successors: &[Vec<usize>]) -> Placed {
    let mut placed = Placed { order: vec![], cycles: vec![] };
    // Blocks still to be placed have the number of the part they are in.
    let mut part = vec![0usize; successors.len()];
    let mut parts = 0;
    let mut search = Search::new(successors);
    let mut pending: Vec<Vec<usize>> = search.components(&[0], &part, 0);
    // A component lists its blocks in the order they were first seen.
    while let Some(component) = pending.pop() {
        let head = component[0];
        if component.len() > 1 || successors[head].contains(&head) {
            placed.cycles.push((placed.order.len(), component.len()));
        }
        placed.order.push(head);
        part[head] = usize::MAX;
        if component.len() > 1 {
            parts += 1;
            for b in &component[1..] {
                part[*b] = parts;
            }
            pending.extend(search.components(&successors[head], &part, parts));
        }
    }
    placed
}

/// What finding components needs for each block, kept from one part to the next.
struct Search<'a> {
    successors: &'a [Vec<usize>],
    number: Vec<usize>,
    low: Vec<usize>,
    done: Vec<bool>,
}

impl Search<'_> {
    const UNSEEN: usize = usize::MAX;

    fn new(successors: &[Vec<usize>]) -> Search<'_> {
        let n = successors.len();
        Search { successors, number: vec![Search::UNSEEN; n], low: vec![0; n], done: vec![false; n] }
    }

    /// The strongly connected components (Tarjan 1972) among the blocks of a part that can be reached from `roots`, last first;
    /// each with the block that was seen first at its beginning.
    fn components(&mut self, roots: &[usize], part: &[usize], of: usize) -> Vec<Vec<usize>> {
        let Search { successors, number, low, done } = self;
        let (mut clock, mut open, mut found) = (0, vec![], vec![]);
        // First roots and successors last, so that they come first when the list is read from its end.
        for root in roots.iter().rev().filter(|r| part[**r] == of) {
            let mut stack = vec![(*root, 0)];
            while let Some((b, k)) = stack.pop() {
                if k == 0 {
                    if number[b] != Search::UNSEEN {
                        continue;
                    }
                    number[b] = clock;
                    low[b] = clock;
                    clock += 1;
                    open.push(b);
                }
                let to = &successors[b];
                if k < to.len() {
                    stack.push((b, k + 1));
                    let t = to[to.len() - 1 - k];
                    if part[t] != of {
                        continue;
                    }
                    if number[t] == Search::UNSEEN {
                        stack.push((t, 0));
                    } else if !done[t] {
                        low[b] = low[b].min(number[t]);
                    }
                    continue;
                }
                if let Some((parent, _)) = stack.last() {
                    low[*parent] = low[*parent].min(low[b]);
                }
                if low[b] == number[b] {
                    let first = open.iter().rposition(|o| *o == b).unwrap_or(0);
                    let component: Vec<usize> = open.split_off(first);
                    for c in &component {
                        done[*c] = true;
                    }
                    found.push(component);
                }
            }
        }
        // Every block that was seen is in a component by now.
        for b in found.iter().flatten() {
            number[*b] = Search::UNSEEN;
            done[*b] = false;
        }
        found
    }
}
