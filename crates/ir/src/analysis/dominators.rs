//! Immediate dominators, in time that grows little faster than the graph however it is shaped.

use crate::{Block, Function};

/// Immediate dominators; `None` for the entry and for unreachable blocks.
pub fn dominators(func: &Function) -> Vec<Option<Block>> {
    let successors = |b: usize, list: &mut Vec<usize>| {
        list.extend(func.blocks[b].term.targets().iter().map(|t| t.block.index()));
    };
    let tree = immediate_dominators(func.blocks.len(), 0, successors);
    tree.into_iter().map(|d| d.map(|d| Block(d as u32))).collect()
}

/// The dominator tree of a function's blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Dominators {
    parent: Vec<Option<Block>>,
    /// Numbers of a depth-first walk over the tree, which answer [`Dominators::dominates`] at once.
    enter: Vec<u32>,
    leave: Vec<u32>,
    preorder: Vec<Block>,
}

impl Dominators {
    /// Of this function.
    pub fn new(func: &Function) -> Dominators {
        let n = func.blocks.len();
        let parent = dominators(func);
        let mut children = vec![vec![]; n];
        for (b, parent) in parent.iter().enumerate() {
            if let Some(p) = parent {
                children[p.index()].push(b);
            }
        }
        let (mut enter, mut leave, mut clock) = (vec![u32::MAX; n], vec![0; n], 0);
        let mut preorder = vec![];
        let mut stack = vec![(0usize, false)];
        while let Some((b, done)) = stack.pop() {
            clock += 1;
            if done {
                leave[b] = clock;
            } else {
                enter[b] = clock;
                preorder.push(Block(b as u32));
                stack.push((b, true));
                stack.extend(children[b].iter().rev().map(|c| (*c, false)));
            }
        }
        Dominators { parent, enter, leave, preorder }
    }

    /// The immediate dominator; none for the entry and for blocks that cannot be reached.
    pub fn parent(&self, b: Block) -> Option<Block> {
        self.parent[b.index()]
    }

    /// The blocks that can be reached, each behind the one that dominates it immediately.
    pub fn preorder(&self) -> &[Block] {
        &self.preorder
    }

    /// Whether there is any way to a block.
    pub fn reached(&self, b: Block) -> bool {
        self.enter[b.index()] != u32::MAX
    }

    /// Whether every way to `b` leads through `a`, or they are the same.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (a.index(), b.index());
        self.enter[a] <= self.enter[b] && self.leave[b] <= self.leave[a]
    }
}

/// Immediate dominators in any graph of `n` nodes; `None` for the root and for what cannot be reached from it. `successors` appends those of a
/// node to a list.
///
/// Lengauer and Tarjan's algorithm (1979) with path compression: the simpler ones, which walk up the tree from both sides of every join, take
/// quadratic time for a row of branches to one place.
pub fn immediate_dominators(
    n: usize,
    root: usize,
    mut successors: impl FnMut(usize, &mut Vec<usize>),
) -> Vec<Option<usize>> {
    const NONE: usize = usize::MAX;
    // Nodes by the time they were first seen; what follows goes by that number.
    let mut seen: Vec<usize> = vec![];
    let mut number = vec![NONE; n];
    let mut parent: Vec<usize> = vec![];
    let mut edges: Vec<(usize, usize)> = vec![];
    let mut list = vec![];
    let mut stack = vec![(root, NONE)];
    while let Some((b, from)) = stack.pop() {
        if number[b] == NONE {
            number[b] = seen.len();
            parent.push(from);
            seen.push(b);
            list.clear();
            successors(b, &mut list);
            stack.extend(list.iter().rev().map(|t| (*t, number[b])));
        }
        if from != NONE {
            edges.push((from, number[b]));
        }
    }
    let count = seen.len();
    // The sources of each node, in one table.
    let mut first = vec![0; count + 1];
    for (_, to) in &edges {
        first[*to + 1] += 1;
    }
    for i in 0..count {
        first[i + 1] += first[i];
    }
    let mut sources = vec![0; edges.len()];
    let mut at = first.clone();
    for (from, to) in edges {
        sources[at[to]] = from;
        at[to] += 1;
    }
    let mut semi: Vec<usize> = (0..count).collect();
    let mut dominator = vec![NONE; count];
    let mut label: Vec<usize> = (0..count).collect();
    let mut ancestor = vec![NONE; count];
    // Nodes whose semidominator is this one, as lists through `next`.
    let mut bucket = vec![NONE; count];
    let mut next = vec![NONE; count];
    let mut path = vec![];
    // The node with the least semidominator on the way up, that way shortened.
    let mut eval = |v: usize, ancestor: &mut [usize], label: &mut [usize], semi: &[usize]| {
        if ancestor[v] == NONE {
            return v;
        }
        let mut u = v;
        while ancestor[ancestor[u]] != NONE {
            path.push(u);
            u = ancestor[u];
        }
        while let Some(w) = path.pop() {
            let above = ancestor[w];
            if semi[label[above]] < semi[label[w]] {
                label[w] = label[above];
            }
            ancestor[w] = ancestor[above];
        }
        label[v]
    };
    for w in (1..count).rev() {
        for &v in &sources[first[w]..first[w + 1]] {
            let u = eval(v, &mut ancestor, &mut label, &semi);
            semi[w] = semi[w].min(semi[u]);
        }
        next[w] = bucket[semi[w]];
        bucket[semi[w]] = w;
        let above = parent[w];
        ancestor[w] = above;
        let mut v = std::mem::replace(&mut bucket[above], NONE);
        while v != NONE {
            let u = eval(v, &mut ancestor, &mut label, &semi);
            dominator[v] = if semi[u] < semi[v] { u } else { above };
            v = next[v];
        }
    }
    let mut out = vec![None; n];
    for w in 1..count {
        if dominator[w] != semi[w] {
            dominator[w] = dominator[dominator[w]];
        }
        out[seen[w]] = Some(seen[dominator[w]]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What dominates by its definition: what cannot be reached without it.
    fn by_definition(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
        let n = successors.len();
        let reached = |without: usize| {
            let mut seen = vec![false; n];
            let mut work = if without == 0 { vec![] } else { vec![0] };
            while let Some(b) = work.pop() {
                if b != without && !std::mem::replace(&mut seen[b], true) {
                    work.extend(&successors[b]);
                }
            }
            seen
        };
        let all = reached(n);
        let without: Vec<Vec<bool>> = (0..n).map(reached).collect();
        let dominates = |a: usize, b: usize| a == b || !without[a][b];
        let strictly =
            |b: usize| -> Vec<usize> { (0..n).filter(|a| all[*a] && *a != b && dominates(*a, b)).collect() };
        (0..n)
            .map(|b| match b {
                0 => None,
                b if !all[b] => None,
                // The one that all others dominate.
                b => strictly(b).into_iter().find(|a| strictly(b).iter().all(|other| dominates(*other, *a))),
            })
            .collect()
    }

    #[test]
    fn dominators_are_what_cannot_be_gone_round() {
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..2000 {
            let n = 1 + round % 12;
            let successors: Vec<Vec<usize>> =
                (0..n).map(|_| (0..random(4)).map(|_| random(n)).collect()).collect();
            let found = immediate_dominators(n, 0, |b, list| list.extend(&successors[b]));
            assert_eq!(found, by_definition(&successors), "{successors:?}");
        }
    }
}
