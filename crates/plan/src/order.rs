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
    loops.retain(|(header, member)| {
        let first = position[*header] as usize;
        let count = member.iter().filter(|b| **b).count();
        placed.get(first..first + count).is_some_and(|blocks| blocks.iter().all(|b| member[*b]))
    });
    // Outer before inner: a loop around another has more blocks.
    loops.sort_by_key(|l| (std::cmp::Reverse(l.1.iter().filter(|b| **b).count()), l.0));
    let mut inner: Vec<Option<usize>> = vec![None; n];
    let mut parent = vec![None; loops.len()];
    for (i, (header, member)) in loops.iter().enumerate() {
        parent[i] = inner[*header];
        for b in 0..n {
            if member[b] {
                inner[b] = Some(i);
            }
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
    for (i, (header, member)) in loops.iter().enumerate() {
        let blocks: Vec<Block> = placed.iter().filter(|b| member[**b]).map(|b| Block(*b as u32)).collect();
        let first = position[*header];
        let last = blocks.last().map_or(first, |b| position[b.index()]);
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

/// Header and membership of each natural loop; loops with one header are one loop.
fn natural_loops(func: &Function, successors: &[Vec<usize>]) -> Vec<(usize, Vec<bool>)> {
    let n = successors.len();
    let idom = dominators(func);
    let reachable = |b: usize| b == 0 || idom[b].is_some();
    let mut depth = vec![u32::MAX; n];
    depth[0] = 0;
    for b in 0..n {
        // Walk up to a block of known depth, then number the way back.
        let mut way = vec![];
        let mut at = b;
        while depth[at] == u32::MAX {
            way.push(at);
            match idom[at] {
                Some(p) => at = p.index(),
                None => break,
            }
        }
        if depth[at] != u32::MAX {
            let mut d = depth[at];
            for w in way.into_iter().rev() {
                d += 1;
                depth[w] = d;
            }
        }
    }
    let dominates = |a: usize, b: usize| {
        let mut at = b;
        while depth[at] > depth[a] {
            match idom[at] {
                Some(p) => at = p.index(),
                None => return false,
            }
        }
        at == a
    };
    let mut predecessors = vec![vec![]; n];
    for b in (0..n).filter(|b| reachable(*b)) {
        for t in &successors[b] {
            predecessors[*t].push(b);
        }
    }
    let mut loops: Vec<(usize, Vec<bool>)> = vec![];
    for header in (0..n).filter(|b| reachable(*b)) {
        let latches: Vec<usize> =
            predecessors[header].iter().copied().filter(|b| dominates(header, *b)).collect();
        if latches.is_empty() {
            continue;
        }
        let mut member = vec![false; n];
        member[header] = true;
        let mut work = latches;
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut member[b], true) {
                work.extend(&predecessors[b]);
            }
        }
        loops.push((header, member));
    }
    loops
}

/// A weak topological order (Bourdoncle 1993): every cycle is contiguous and begins with the block it is entered by first, what is
/// behind it comes behind it, and so on inside it without that block. In reducible graphs cycles are natural loops.
fn place(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut placed = vec![];
    // Blocks still to be placed have the number of the part they are in.
    let mut part = vec![0usize; successors.len()];
    let mut parts = 0;
    let mut pending: Vec<Vec<usize>> = components(successors, &[0], &part, 0);
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
            pending.extend(components(successors, &successors[head], &part, parts));
        }
    }
    placed
}

/// The strongly connected components (Tarjan 1972) among the blocks of a part that can be reached from `roots`, last first; each
/// with the block that was seen first at its beginning.
fn components(successors: &[Vec<usize>], roots: &[usize], part: &[usize], of: usize) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = successors.len();
    let (mut number, mut low, mut done) = (vec![UNSEEN; n], vec![0; n], vec![false; n]);
    let (mut clock, mut open, mut found) = (0, vec![], vec![]);
    // First roots and successors last, so that they come first when the list is read from its end.
    for root in roots.iter().rev().filter(|r| part[**r] == of) {
        let mut stack = vec![(*root, 0)];
        while let Some((b, k)) = stack.pop() {
            if k == 0 {
                if number[b] != UNSEEN {
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
                if number[t] == UNSEEN {
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
                let component = open.split_off(first);
                for c in &component {
                    done[*c] = true;
                }
                found.push(component);
            }
        }
    }
    found
}
