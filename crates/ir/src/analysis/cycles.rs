//! Cycles and the order of blocks: a weak topological order, in irreducible graphs too.

use crate::{Block, Function};
use std::cmp::Reverse;

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
        let mut last_from = vec![usize::MAX; n];
        let successors: Vec<Vec<usize>> = (func.blocks.iter().enumerate())
            .map(|(from, b)| {
                let to = b.term.targets().into_iter().map(|t| t.block.index());
                to.filter(|t| std::mem::replace(&mut last_from[*t], from) != from).collect()
            })
            .collect();
        let Nesting { order: placed, around, mut headers } = nesting(&successors);
        let mut position = vec![u32::MAX; n];
        for (i, b) in placed.iter().enumerate() {
            position[*b] = i as u32;
        }
        // Blocks of the cycle that a block is the header of; of others 1.
        let mut len = vec![1usize; n];
        for b in placed.iter().rev() {
            if let Some(header) = around[*b] {
                len[header] += len[*b];
            }
        }
        // Outer before inner: a cycle around another has more blocks.
        headers.sort_unstable_by_key(|h| (Reverse(len[*h]), *h));
        let mut inner: Vec<Option<usize>> = vec![None; n];
        let mut cycles: Vec<Cycle> = vec![];
        for (i, h) in headers.into_iter().enumerate() {
            let parent = around[h].and_then(|outer| inner[outer]);
            inner[h] = Some(i);
            cycles.push(Cycle {
                header: Block(h as u32),
                first: position[h],
                last: position[h] + len[h] as u32 - 1,
                depth: parent.map_or(1, |p: usize| cycles[p].depth + 1),
                parent,
                single_entry: true,
            });
        }
        for b in &placed {
            if inner[*b].is_none() {
                inner[*b] = around[*b].and_then(|header| inner[header]);
            }
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

/// Blocks in order and the cycles they are in.
#[derive(PartialEq, Debug)]
struct Nesting {
    order: Vec<usize>,
    /// By block: the header of the innermost cycle around it, that it is the header of not counted.
    around: Vec<Option<usize>>,
    /// The blocks that cycles begin with.
    headers: Vec<usize>,
}

/// A weak topological order (Bourdoncle 1993): every cycle is contiguous and begins with the block it is entered by first, what is
/// behind it comes behind it, and so on inside it without that block. An edge that does not lead forward leads to the first block of a
/// cycle around its source, in irreducible graphs too.
///
/// Bourdoncle looks for the components of each cycle anew. But they are the same as those of one depth-first walk: the cycle of a block is what comes
/// back to it without leaving what was first seen from it. So one walk is enough, whose blocks are looked at from the last to the first, each
/// cycle merged into its header before others are looked for around it (Havlak 1997). Edges that lead neither up nor down in the tree of
/// the walk are taken up where the ways to their two ends part (Ramalingam 1999), which keeps it almost linear in irreducible graphs too.
fn nesting(successors: &[Vec<usize>]) -> Nesting {
    let n = successors.len();
    let Walk { seen, finished, parent, back, across } = Walk::new(successors);
    let mut sources: Vec<Vec<usize>> = parent.iter().map(|p| p.iter().copied().collect()).collect();
    let mut merged = Merged::new(n);
    let mut around = vec![None; n];
    let mut headers = vec![];
    // The block whose cycle a block was last found to be in.
    let mut found_for = vec![usize::MAX; n];
    let mut body = vec![];
    for header in seen.into_iter().rev() {
        for &(from, to) in &across[header] {
            let (from, to) = (merged.find(from), merged.find(to));
            sources[to].push(from);
        }
        if back[header].is_empty() {
            continue;
        }
        headers.push(header);
        found_for[header] = header;
        let mut next = 0;
        for from in &back[header] {
            let from = merged.find(*from);
            if std::mem::replace(&mut found_for[from], header) != header {
                body.push(from);
            }
        }
        while let Some(b) = body.get(next).copied() {
            next += 1;
            for from in &sources[b] {
                let from = merged.find(*from);
                if std::mem::replace(&mut found_for[from], header) != header {
                    body.push(from);
                }
            }
        }
        for b in body.drain(..) {
            around[b] = Some(header);
            merged.join(b, header);
        }
    }
    // Behind the header those of the cycle, what was finished last first.
    let mut inside: Vec<Vec<usize>> = vec![vec![]; n];
    let mut stack = vec![];
    for b in finished {
        match around[b] {
            Some(header) => inside[header].push(b),
            None => stack.push(b),
        }
    }
    let mut order = vec![];
    while let Some(b) = stack.pop() {
        order.push(b);
        stack.append(&mut inside[b]);
    }
    Nesting { order, around, headers }
}

/// A depth-first walk from the first node.
struct Walk {
    /// In the order they were first seen.
    seen: Vec<usize>,
    /// In the order that all behind them had been seen.
    finished: Vec<usize>,
    parent: Vec<Option<usize>>,
    /// By target: edges that lead up in the tree of the walk, or to their source.
    back: Vec<Vec<usize>>,
    /// All other edges but those of the tree, by the last node that the ways to both ends lead through.
    across: Vec<Vec<(usize, usize)>>,
}

impl Walk {
    fn new(successors: &[Vec<usize>]) -> Walk {
        let n = successors.len();
        let mut walk = Walk {
            seen: vec![],
            finished: vec![],
            parent: vec![None; n],
            back: vec![vec![]; n],
            across: vec![vec![]; n],
        };
        #[derive(Clone, Copy, PartialEq)]
        enum Is {
            New,
            Open,
            Finished,
        }
        let mut is = vec![Is::New; n];
        // Finished nodes, merged into the last one above them that is open.
        let mut open = Merged::new(n);
        let mut stack: Vec<(usize, usize)> = vec![];
        let mut next = (n > 0).then_some((0, None));
        loop {
            if let Some((b, from)) = next.take() {
                walk.seen.push(b);
                walk.parent[b] = from;
                is[b] = Is::Open;
                // Last ones first: they come last in the order.
                stack.push((b, successors[b].len()));
            }
            let Some((b, left)) = stack.last_mut() else { return walk };
            let b = *b;
            if *left == 0 {
                stack.pop();
                is[b] = Is::Finished;
                walk.finished.push(b);
                if let Some(above) = walk.parent[b] {
                    open.join(b, above);
                }
                continue;
            }
            *left -= 1;
            let to = successors[b][*left];
            match is[to] {
                Is::New => next = Some((to, Some(b))),
                Is::Open => walk.back[to].push(b),
                Is::Finished => walk.across[open.find(to)].push((b, to)),
            }
        }
    }
}

/// Nodes merged into others.
struct Merged(Vec<usize>);

impl Merged {
    fn new(n: usize) -> Merged {
        Merged((0..n).collect())
    }

    fn join(&mut self, node: usize, other: usize) {
        self.0[node] = other;
    }

    /// What a node has become part of; the ways there are made shorter.
    fn find(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition: the components of the graph, then those of each without its first block.
    fn by_definition(successors: &[Vec<usize>]) -> Nesting {
        let n = successors.len();
        let mut found = Nesting { order: vec![], around: vec![None; n], headers: vec![] };
        let mut seen = vec![false; n];
        reachable(successors, 0, &vec![true; n], &mut seen);
        components(successors, &[0], &seen, None, &mut found);
        found.headers.sort_unstable();
        found
    }

    fn reachable(successors: &[Vec<usize>], from: usize, inside: &[bool], seen: &mut [bool]) {
        if inside[from] && !std::mem::replace(&mut seen[from], true) {
            successors[from].iter().for_each(|t| reachable(successors, *t, inside, seen));
        }
    }

    fn finish(
        successors: &[Vec<usize>],
        b: usize,
        inside: &[bool],
        seen: &mut Vec<usize>,
        out: &mut Vec<usize>,
    ) {
        if inside[b] && !seen.contains(&b) {
            seen.push(b);
            successors[b].iter().rev().for_each(|t| finish(successors, *t, inside, seen, out));
            out.push(b);
        }
    }

    fn components(
        successors: &[Vec<usize>],
        roots: &[usize],
        inside: &[bool],
        header: Option<usize>,
        found: &mut Nesting,
    ) {
        let n = successors.len();
        let (mut seen, mut finished) = (vec![], vec![]);
        roots.iter().rev().for_each(|r| finish(successors, *r, inside, &mut seen, &mut finished));
        let reached: Vec<Vec<bool>> = (0..n)
            .map(|b| {
                let mut seen = vec![false; n];
                successors[b]
                    .iter()
                    .filter(|_| inside[b])
                    .for_each(|t| reachable(successors, *t, inside, &mut seen));
                seen
            })
            .collect();
        let together = |a: usize, b: usize| a == b || reached[a][b] && reached[b][a];
        let mut done = vec![false; n];
        // A component was finished when the first that was seen of it was: that one was finished last.
        for b in finished.into_iter().rev() {
            if std::mem::replace(&mut done[b], true) {
                continue;
            }
            found.order.push(b);
            found.around[b] = header;
            let mut rest: Vec<bool> = (0..n).map(|other| inside[other] && together(b, other)).collect();
            (0..n).filter(|other| rest[*other]).for_each(|other| done[other] = true);
            rest[b] = false;
            if reached[b][b] {
                found.headers.push(b);
                components(successors, &successors[b], &rest, Some(b), found);
            }
        }
    }

    #[test]
    fn cycles_are_the_components_of_what_is_left_without_headers() {
        let mut state = 11u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let mut deepest = 0;
        for round in 0..4000 {
            let n = 1 + round % 14;
            // Many back edges, few, and those that jump into the middle of cycles.
            let most = 2 + round % 3;
            let successors: Vec<Vec<usize>> = (0..n)
                .map(|b| {
                    let mut to: Vec<usize> = (0..random(most)).map(|_| random(n)).collect();
                    to.extend((b + 1 < n && random(4) > 0).then_some(b + 1));
                    let mut seen = vec![];
                    to.retain(|t| {
                        !seen.contains(t) && {
                            seen.push(*t);
                            true
                        }
                    });
                    to
                })
                .collect();
            let mut found = nesting(&successors);
            found.headers.sort_unstable();
            assert_eq!(found, by_definition(&successors), "{successors:?}");
            let depth = |b: usize| std::iter::successors(Some(b), |b| found.around[*b]).count();
            deepest = deepest.max((0..n).map(depth).max().unwrap_or(0));
        }
        assert!(deepest > 6, "{deepest}");
    }
}
