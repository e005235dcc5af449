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
    let mut loops = natural_loops(func, &successors);
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
    let placed = place(&successors, &loops, &inner, &parent);
    let mut position = vec![u32::MAX; n];
    for (i, b) in placed.iter().enumerate() {
        position[*b] = i as u32;
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

/// Reverse post-order where each loop is one node of the graph around it. On an irreducible graph the cycles that are no
/// natural loops come out in some depth-first order, which is correct.
fn place(
    successors: &[Vec<usize>],
    loops: &[(usize, Vec<bool>)],
    inner: &[Option<usize>],
    parent: &[Option<usize>],
) -> Vec<usize> {
    /// A node of the graph one level below a loop: a block of its own, or a whole loop inside.
    #[derive(Clone, Copy, PartialEq)]
    enum Node {
        Block(usize),
        Loop(usize),
    }
    // The node that holds block `b` in the graph of loop `level`; none if it is not inside.
    let node_of = |level: Option<usize>, b: usize| -> Option<Node> {
        let mut at = inner[b];
        if at == level {
            return Some(Node::Block(b));
        }
        while let Some(l) = at {
            if parent[l] == level {
                return Some(Node::Loop(l));
            }
            at = parent[l];
        }
        None
    };
    // The edges that leave a loop, found once per loop.
    let exits: Vec<Vec<usize>> = loops
        .iter()
        .map(|(_, member)| {
            let mut out = vec![];
            for b in (0..successors.len()).filter(|b| member[*b]) {
                for t in &successors[b] {
                    if !member[*t] && !out.contains(t) {
                        out.push(*t);
                    }
                }
            }
            out
        })
        .collect();
    let mut placed = vec![];
    let mut seen_block = vec![false; successors.len()];
    let mut seen_loop = vec![false; loops.len()];
    // What is still to be put out, last first: single nodes of some level.
    let mut pending: Vec<(Option<usize>, Node)> = vec![];
    let first = node_of(None, 0).unwrap_or(Node::Block(0));
    let expand =
        |level: Option<usize>, start: Node, seen_block: &mut Vec<bool>, seen_loop: &mut Vec<bool>| {
            let mut post = vec![];
            let mut stack: Vec<(Node, usize)> = vec![];
            let enter =
                |node: Node, stack: &mut Vec<(Node, usize)>, sb: &mut Vec<bool>, sl: &mut Vec<bool>| {
                    let seen = match node {
                        Node::Block(b) => &mut sb[b],
                        Node::Loop(l) => &mut sl[l],
                    };
                    if !std::mem::replace(seen, true) {
                        stack.push((node, 0));
                    }
                };
            enter(start, &mut stack, seen_block, seen_loop);
            while let Some((node, k)) = stack.pop() {
                let to: &[usize] = match node {
                    Node::Block(b) => &successors[b],
                    Node::Loop(l) => &exits[l],
                };
                // Last successor first, so that the first one comes first in reverse post-order.
                if k < to.len() {
                    stack.push((node, k + 1));
                    let t = to[to.len() - 1 - k];
                    if let Some(next) = node_of(level, t) {
                        enter(next, &mut stack, seen_block, seen_loop);
                    }
                } else {
                    post.push(node);
                }
            }
            post
        };
    // Post-order pushed as it is means that the stack gives reverse post-order.
    pending.extend(expand(None, first, &mut seen_block, &mut seen_loop).into_iter().map(|n| (None, n)));
    while let Some((_, node)) = pending.pop() {
        match node {
            Node::Block(b) => placed.push(b),
            Node::Loop(l) => {
                let level = Some(l);
                let start = Node::Block(loops[l].0);
                let inside = expand(level, start, &mut seen_block, &mut seen_loop);
                pending.extend(inside.into_iter().map(|n| (level, n)));
            }
        }
    }
    placed
}
