//! The order of blocks, and cycles.

use hostwarp_ir::{Block, Function};

/// A cycle: a strongly connected component of the blocks, or of those of a cycle around it without its header. In reducible code that is a natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that back-edges of the cycle lead to: an iteration begins there.
    pub header: Block,
    /// All blocks of the cycle, inner cycles included, in order; the header is the first.
    pub blocks: Vec<Block>,
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
    /// Lanes may go round because of what other threads do.
    pub waits: bool,
}

impl Loop {
    /// Whether the block at this position is part of it.
    pub(crate) fn contains(&self, at: usize) -> bool {
        (self.first as usize..=self.last as usize).contains(&at)
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
    let Placed { order: placed, mut cycles } = place(&successors);
    let mut position = vec![u32::MAX; n];
    for (i, b) in placed.iter().enumerate() {
        position[*b] = i as u32;
    }
    // Outer before inner: a cycle around another has more blocks.
    cycles.sort_by_key(|(first, len)| (std::cmp::Reverse(*len), placed[*first]));
    let mut inner: Vec<Option<usize>> = vec![None; n];
    let mut loops: Vec<Loop> = vec![];
    for (i, (first, len)) in cycles.into_iter().enumerate() {
        let members = &placed[first..first + len];
        let parent = inner[members[0]];
        for b in members {
            inner[*b] = Some(i);
        }
        loops.push(Loop {
            header: Block(members[0] as u32),
            blocks: members.iter().map(|b| Block(*b as u32)).collect(),
            first: first as u32,
            last: (first + len - 1) as u32,
            depth: parent.map_or(1, |p: usize| loops[p].depth + 1),
            parent,
            single_entry: true,
            divergent_exit: false,
            waits: false,
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
            while let Some(l) = around.filter(|l| !loops[*l].contains(at)) {
                loops[l].single_entry &= loops[l].first as usize == to;
                around = loops[l].parent;
            }
        }
    }
    let order = placed.into_iter().map(|b| Block(b as u32)).collect();
    Order { order, position, back_edges, loops, loop_of: inner }
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
