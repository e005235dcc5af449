//! What a branch that splits lanes does to the blocks behind it.

use crate::Loop;
use hostwarp_ir::{Block, Function};
use std::collections::BTreeSet;

/// The graph of blocks, seen by position in the plan's order: all numbers here are positions.
pub(crate) struct Control<'a> {
    loops: &'a [Loop],
    pub(crate) successors: Vec<Vec<usize>>,
    /// The block all ways from a block lead through; none if there is no such block.
    post_dominator: Vec<Option<usize>>,
}

/// Where the lanes go that a branch splits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Influence {
    /// Blocks that lanes reach from different sides.
    pub(crate) joins: Vec<usize>,
    /// Blocks that may be run by some of the lanes only.
    pub(crate) region: Vec<usize>,
    /// Loops that some lanes leave while others go round, and the blocks behind them where those arrive.
    pub(crate) split_loops: Vec<(usize, Vec<usize>)>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(func: &Function, order: &[Block], position: &[u32], loops: &'a [Loop]) -> Control<'a> {
        let successors: Vec<Vec<usize>> = order
            .iter()
            .map(|b| {
                let mut to: Vec<usize> = func
                    .block(*b)
                    .term
                    .targets()
                    .iter()
                    .map(|t| position[t.block.index()] as usize)
                    .collect();
                to.sort_unstable();
                to.dedup();
                to
            })
            .collect();
        let post_dominator = post_dominators(&successors);
        Control { loops, successors, post_dominator }
    }

    /// The blocks that can be reached from a block, itself included.
    pub(crate) fn reachable(&self, from: usize) -> Vec<bool> {
        let mut seen = vec![false; self.successors.len()];
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                work.extend(&self.successors[at]);
            }
        }
        seen
    }

    /// What happens when the lanes at the end of `branch` go different ways.
    ///
    /// Each way gets a label that is handed on from block to block. A block that gets two different ones is a join, and from
    /// there on its own label is handed on. Nothing is handed on past the post-dominator, where all have come together.
    pub(crate) fn influence(&self, branch: usize) -> Influence {
        let end = self.post_dominator[branch];
        let mut joins: BTreeSet<usize> = BTreeSet::new();
        // Joins found on the way back to a loop's header were handed on under another label before: begin again, knowing them.
        loop {
            let mut again = false;
            let mut label: Vec<Option<usize>> = vec![None; self.successors.len()];
            let mut work: BTreeSet<usize> = BTreeSet::new();
            for s in &self.successors[branch] {
                label[*s] = Some(*s);
                work.insert(*s);
            }
            if let [only] = self.successors[branch][..] {
                joins.insert(only); // the same block with different arguments
            }
            while let Some(at) = work.pop_first() {
                if Some(at) == end || at == branch {
                    continue;
                }
                let Some(mine) = label[at] else { continue };
                for &to in &self.successors[at] {
                    match label[to] {
                        None => {
                            label[to] = Some(if joins.contains(&to) { to } else { mine });
                            work.insert(to);
                        }
                        Some(theirs) if theirs != mine && theirs != to => {
                            label[to] = Some(to);
                            joins.insert(to);
                            if to <= at {
                                again = true;
                            }
                        }
                        Some(theirs) if theirs != mine => {
                            joins.insert(to);
                        }
                        Some(_) => {}
                    }
                }
                if again {
                    break;
                }
            }
            if again {
                continue;
            }
            let reached = |at: usize| label[at].is_some();
            let mut split_loops = vec![];
            for (i, l) in self.loops.iter().enumerate() {
                let inside = |at: usize| (l.first as usize..=l.last as usize).contains(&at);
                if !inside(branch) || !reached(l.first as usize) {
                    continue;
                }
                // Lanes under the label that goes round leave together later.
                let round = label[l.first as usize];
                let edges = (0..label.len()).filter(|at| inside(*at)).flat_map(|at| &self.successors[at]);
                let mut left: Vec<usize> =
                    edges.copied().filter(|to| !inside(*to) && reached(*to) && label[*to] != round).collect();
                left.sort_unstable();
                left.dedup();
                if !left.is_empty() {
                    split_loops.push((i, left));
                }
            }
            let region = (0..label.len()).filter(|at| reached(*at) && Some(*at) != end).collect();
            return Influence { joins: joins.into_iter().collect(), region, split_loops };
        }
    }
}

/// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph, with one end added behind all
/// blocks that have no successor. Blocks that never end have none.
fn post_dominators(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let n = successors.len();
    let mut predecessors = vec![vec![]; n];
    for (b, to) in successors.iter().enumerate() {
        for t in to {
            predecessors[*t].push(b);
        }
    }
    // Depth-first from the end, against the edges; node `n` is the end.
    let ends: Vec<usize> = (0..n).filter(|b| successors[*b].is_empty()).collect();
    let mut number = vec![usize::MAX; n + 1];
    let mut post = vec![];
    let mut seen = vec![false; n + 1];
    let mut stack = vec![(n, 0)];
    seen[n] = true;
    while let Some((b, k)) = stack.pop() {
        let to = if b == n { &ends } else { &predecessors[b] };
        if let Some(&t) = to.get(k) {
            stack.push((b, k + 1));
            if !std::mem::replace(&mut seen[t], true) {
                stack.push((t, 0));
            }
        } else {
            number[b] = post.len();
            post.push(b);
        }
    }
    let mut dominator: Vec<Option<usize>> = vec![None; n + 1];
    dominator[n] = Some(n);
    let mut changed = true;
    while changed {
        changed = false;
        for &b in post.iter().rev().filter(|b| **b != n) {
            let mut new: Option<usize> = None;
            let end = [n];
            let to: &[usize] = if successors[b].is_empty() { &end } else { &successors[b] };
            for &t in to {
                if dominator[t].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => t,
                    Some(mut a) => {
                        let mut c = t;
                        while a != c {
                            while number[a] < number[c] {
                                a = dominator[a].unwrap_or(n);
                            }
                            while number[c] < number[a] {
                                c = dominator[c].unwrap_or(n);
                            }
                        }
                        a
                    }
                });
            }
            if new.is_some() && dominator[b] != new {
                dominator[b] = new;
                changed = true;
            }
        }
    }
    dominator.truncate(n);
    dominator.into_iter().map(|d| d.filter(|d| *d != n)).collect()
}
