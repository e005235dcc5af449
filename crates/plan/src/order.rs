//! The order of blocks, and loops.

use hostwarp_ir::{Block, Function, dominators};

/// A natural loop: all blocks from which the header can be reached again without leaving through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The only block through which the loop is entered.
    pub header: Block,
    /// All blocks of the loop, inner loops included, in order; the header is the first.
    pub blocks: Vec<Block>,
    /// Position of the header.
    pub first: u32,
    /// Position of the last block: the loop takes `first..=last`.
    pub last: u32,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// The loop around it, as index into [`crate::Plan::loops`].
    pub parent: Option<usize>,
    /// Some lanes of a group may leave it while others go round.
    pub divergent_exit: bool,
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
    let placed = place(&successors);
    let mut position = vec![u32::MAX; n];
    for (i, b) in placed.iter().enumerate() {
        position[*b] = i as u32;
    }
    let mut loops = natural_loops(func, &successors);
    // In a cycle with several entries the order may have to tear a loop inside apart; then it is none to us.
    loops.retain(|(header, members)| {
        let first = position[*header] as usize;
        members.iter().all(|b| (first..first + members.len()).contains(&(position[*b] as usize)))
    });
    // Outer before inner: a loop around another has more blocks.
    loops.sort_by_key(|(header, members)| (std::cmp::Reverse(members.len()), *header));
    let mut inner: Vec<Option<usize>> = vec![None; n];
    let mut parent = vec![None; loops.len()];
    for (i, (header, members)) in loops.iter().enumerate() {
        parent[i] = inner[*header];
        for b in members {
            inner[*b] = Some(i);
        }
    }
    let mut back_edges = vec![];
    for &b in &placed {
        for &t in &successors[b] {
            if position[t] <= position[b] {
                back_edges.push((Block(b as u32), Block(t as u32)));
            }
        }
    }
    let mut described: Vec<Loop> = vec![];
    for (i, (header, members)) in loops.iter().enumerate() {
        let first = position[*header];
        let last = first + members.len() as u32 - 1;
        let blocks = placed[first as usize..=last as usize].iter().map(|b| Block(*b as u32)).collect();
        let depth = parent[i].map_or(1, |p: usize| described[p].depth + 1);
        described.push(Loop {
            header: Block(*header as u32),
            blocks,
            first,
            last,
            depth,
            parent: parent[i],
            divergent_exit: false,
        });
    }
    Order {
        order: placed.into_iter().map(|b| Block(b as u32)).collect(),
        position,
        back_edges,
        loops: described,
        loop_of: inner,
    }
}

/// Header and blocks of each natural loop; loops with one header are one loop.
fn natural_loops(func: &Function, successors: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
    let n = successors.len();
    let idom: Vec<Option<usize>> = dominators(func).iter().map(|d| d.map(Block::index)).collect();
    let reachable = |b: usize| b == 0 || idom[b].is_some();
    let span = spans(&idom);
    let dominates = |a: usize, b: usize| (span[a].0..span[a].1).contains(&span[b].0);
    let mut predecessors = vec![vec![]; n];
    for b in (0..n).filter(|b| reachable(*b)) {
        for t in &successors[b] {
            predecessors[*t].push(b);
        }
    }
    let mut loops: Vec<(usize, Vec<usize>)> = vec![];
    // The header of the loop a block was found to be in last.
    let mut found_in = vec![usize::MAX; n];
    for header in (0..n).filter(|b| reachable(*b)) {
        let mut work: Vec<usize> =
            predecessors[header].iter().copied().filter(|b| dominates(header, *b)).collect();
        if work.is_empty() {
            continue;
        }
        found_in[header] = header;
        let mut members = vec![header];
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut found_in[b], header) != header {
                members.push(b);
                work.extend(&predecessors[b]);
            }
        }
        loops.push((header, members));
    }
    loops
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

/// A weak topological order (Bourdoncle 1993): every cycle is contiguous and begins with the block it is entered by first, what is
/// behind it comes behind it, and so on inside it without that block. In reducible graphs cycles are natural loops.
fn place(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut placed = vec![];
    // Blocks still to be placed have the number of the part they are in.
    let mut part = vec![0usize; successors.len()];
    let mut parts = 0;
    let mut search = Search::new(successors);
    let mut pending: Vec<Vec<usize>> = search.components(&[0], &part, 0);
    // A component lists its blocks in the order they were first seen.
    while let Some(component) = pending.pop() {
        let head = component[0];
        placed.push(head);
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
