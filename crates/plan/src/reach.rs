//! Where lanes may be that have left a cycle at different times.

use crate::Loop;
use crate::control::{Edge, Lists};
use crate::order::spans;
use hostwarp_ir::immediate_dominators;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The blocks that can be reached from exits of each cycle, found out only as far as somebody asks.
///
/// Each block of a cycle is reached from each other one, so an outermost cycle counts as one block, its first.
pub(crate) struct Reach {
    /// By block, the first of the outermost cycle around it, or itself.
    first: Vec<usize>,
    /// By such a block, those that are reached directly.
    to: Lists,
    /// The blocks that a block post-dominates have numbers in its span, each its first.
    post_span: Vec<(u32, u32)>,
    of: Vec<Reached>,
}

#[derive(Clone, Default)]
struct Reached {
    from: Vec<usize>,
    known: FxHashSet<usize>,
    seen: FxHashSet<usize>,
    pending: BinaryHeap<Reverse<usize>>,
    /// Blocks before this one have been looked at.
    limit: usize,
}

impl Reach {
    pub(crate) fn new(
        n: usize,
        edges: &[Edge],
        loops: &[Loop],
        loop_at: &[Option<usize>],
        exits: &Lists,
    ) -> Reach {
        let mut first: Vec<usize> = (0..n).collect();
        let mut pairs: Vec<(usize, u32)> = vec![];
        for (i, l) in loops.iter().enumerate().filter(|(_, l)| l.parent.is_none()) {
            first[l.first as usize..=l.last as usize].fill(l.first as usize);
            pairs.extend(exits.of(i).iter().map(|e| (l.first as usize, edges[*e as usize].to as u32)));
        }
        let plain = edges.iter().filter(|e| loop_at[e.from].is_none());
        pairs.extend(plain.map(|e| (e.from, e.to as u32)));
        Reach {
            post_span: spans(&post_dominators(n, edges)),
            to: Lists::new(n, pairs.into_iter().map(|(from, to)| (from, first[to as usize] as u32))),
            first,
            of: vec![Reached::default(); loops.len()],
        }
    }

    /// Lanes leave a cycle for a block, and others go round.
    pub(crate) fn add(&mut self, l: usize, exit: usize) {
        let reached = &mut self.of[l];
        if reached.known.insert(exit) {
            reached.from.push(exit);
            reached.pending.push(Reverse(self.first[exit]));
            self.explore(l);
        }
    }

    /// Whether lanes that have left the cycle at different times may come to a block.
    pub(crate) fn contains(&mut self, l: usize, at: usize) -> bool {
        // Often it is where everything comes together, however far away.
        let (first, end) = self.post_span[at];
        let reached = &mut self.of[l];
        if reached.from.iter().take(8).any(|from| (first..end).contains(&self.post_span[*from].0)) {
            return true;
        }
        let at = self.first[at];
        if reached.limit <= at && !reached.pending.is_empty() {
            reached.limit = at + 1;
            self.explore(l);
        }
        self.of[l].seen.contains(&at)
    }

    fn explore(&mut self, l: usize) {
        let Reached { seen, pending, limit, .. } = &mut self.of[l];
        while let Some(Reverse(at)) = pending.peek().copied().filter(|top| top.0 < *limit) {
            pending.pop();
            if seen.insert(at) {
                pending.extend(self.to.of(at).iter().map(|to| Reverse(*to as usize)));
            }
        }
    }
}

/// Immediate post-dominators, with one end added behind all blocks that have no successor. Blocks that never end have none.
fn post_dominators(n: usize, edges: &[Edge]) -> Vec<Option<usize>> {
    let mut ends = vec![true; n];
    for edge in edges {
        ends[edge.from] = false;
    }
    let last = (0..n).filter(|at| ends[*at]).map(|at| (n, at as u32));
    let back = edges.iter().map(|e| (e.to, e.from as u32));
    let sources = Lists::new(n + 1, last.chain(back));
    let mut tree =
        immediate_dominators(n + 1, n, |node, to| to.extend(sources.of(node).iter().map(|t| *t as usize)));
    tree.truncate(n);
    tree.into_iter().map(|d| d.filter(|d| *d != n)).collect()
}
