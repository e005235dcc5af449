//! What a branch that splits lanes does to the blocks behind it.

use crate::Loop;
use crate::order::spans;
use hostwarp_ir::{Block, Function};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The graph of blocks, seen by position in the plan's order: all numbers here are positions.
pub(crate) struct Control<'a> {
    loops: &'a [Loop],
    pub(crate) successors: Vec<Vec<usize>>,
    /// The block all ways from a block lead through; none if there is no such block.
    post_dominator: Vec<Option<usize>>,
    /// The innermost loop around each block.
    loop_at: Vec<Option<usize>>,
    /// By loop: the blocks outside that are reached directly from inside.
    pub(crate) exits: Vec<Vec<usize>>,
    /// The outermost loop around each block.
    outermost: Vec<Option<usize>>,
    /// The last block from which a block can be reached, outermost loops taken for one block each.
    cycle_end: Vec<usize>,
    /// The blocks that a block post-dominates have numbers in its span, each its first.
    post_span: Vec<(u32, u32)>,
    /// Whether lanes at a block may come to a block that ends them.
    ends: Vec<bool>,
    /// Every cycle is a natural loop.
    reducible: bool,
    /// For [`influence`](Self::influence): the label of each block, [`NONE`] between calls, and which have one.
    label: Vec<usize>,
    labelled: Vec<usize>,
}

/// No label.
const NONE: usize = usize::MAX;

/// Where the lanes go that a branch splits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Influence {
    /// Blocks that lanes reach from different sides.
    pub(crate) joins: Vec<usize>,
    /// Blocks that may be run by some of the lanes only.
    pub(crate) region: Vec<usize>,
    /// The same holds for all blocks from here on that can be reached without passing the second.
    pub(crate) rest: Option<(usize, Option<usize>)>,
    /// Loops that some lanes leave while others go round, and the blocks behind them where those arrive.
    pub(crate) split_loops: Vec<(usize, Vec<usize>)>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        func: &Function,
        order: &[Block],
        position: &[u32],
        loops: &'a [Loop],
        loop_of: &[Option<usize>],
    ) -> Control<'a> {
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
        let exits = loops
            .iter()
            .map(|l| {
                let inside = l.first as usize..l.last as usize + 1;
                let mut to: Vec<usize> = successors[inside.clone()].concat();
                to.retain(|to| !inside.contains(to));
                to.sort_unstable();
                to.dedup();
                to
            })
            .collect();
        let mut outermost = vec![None; order.len()];
        for (i, l) in loops.iter().enumerate().filter(|(_, l)| l.parent.is_none()) {
            outermost[l.first as usize..=l.last as usize].fill(Some(i));
        }
        let cycle_end = cycle_ends(&successors, &outermost);
        let (post_dominator, ends) = post_dominators(&successors);
        Control {
            loops,
            post_span: spans(&post_dominator),
            post_dominator,
            ends,
            reducible: cycle_end.iter().enumerate().all(|(at, end)| at == *end),
            loop_at: order.iter().map(|b| loop_of[b.index()]).collect(),
            exits,
            outermost,
            cycle_end,
            label: vec![NONE; order.len()],
            labelled: vec![],
            successors,
        }
    }

    /// What happens when the lanes at the end of `branch` go different ways.
    ///
    /// Each way gets a label that is handed on from block to block. A block that gets two different ones is a join, and from
    /// there on its own label is handed on. Nothing is handed on past the post-dominator, where all have come together.
    pub(crate) fn influence(&mut self, branch: usize) -> Influence {
        let end = self.post_dominator[branch];
        let mut joins: BTreeSet<usize> = BTreeSet::new();
        if let [only] = self.successors[branch][..] {
            joins.insert(only); // the same block with different arguments
        }
        // Joins found on the way back to a loop's header were handed on under another label before: begin again, knowing them.
        let rest = loop {
            if let Some(rest) = self.hand_on(branch, end, &mut joins) {
                break rest;
            }
        };
        let label = |at: usize| Some(self.label[at]).filter(|l| *l != NONE);
        let mut split_loops = vec![];
        let mut around = self.loop_at[branch];
        while let Some(i) = around {
            let l = &self.loops[i];
            around = l.parent;
            // Lanes under the label that goes round leave together later.
            let Some(round) = label(l.first as usize) else { continue };
            let left = self.exits[i].iter().copied().filter(|to| label(*to).is_some_and(|l| l != round));
            let left: Vec<usize> = left.collect();
            if !left.is_empty() {
                split_loops.push((i, left));
            }
        }
        let region = self.labelled.iter().copied().filter(|at| Some(*at) != end).collect();
        let rest = rest.map(|from| (from, end));
        Influence { joins: joins.into_iter().collect(), region, rest, split_loops }
    }

    /// Hands labels on from block to block, up to the block it answers if all that follows gets the label of that one.
    /// Nothing if a join was found whose other label was handed on already.
    fn hand_on(
        &mut self,
        branch: usize,
        end: Option<usize>,
        joins: &mut BTreeSet<usize>,
    ) -> Option<Option<usize>> {
        for at in self.labelled.drain(..) {
            self.label[at] = NONE;
        }
        let mut work: BTreeSet<usize> = BTreeSet::new();
        for &s in &self.successors[branch] {
            self.label[s] = s;
            self.labelled.push(s);
            work.insert(s);
        }
        while let Some(at) = work.pop_first() {
            if Some(at) == end || at == branch {
                continue;
            }
            let mine = self.label[at];
            // One way left, and none back to a block with another label: only where the others wait can it meet them. Without this
            // a long row of branches that all leave for the end would take time with the square of its length.
            let alone = work.is_empty() || work.len() == 1 && work.first().copied() == end;
            if alone && self.reducible && self.loop_at[branch].is_none() && self.loop_at[at].is_none() {
                let met = end.filter(|end| self.ends[at] && ![NONE, mine].contains(&self.label[*end]));
                joins.extend(met);
                return Some(Some(at));
            }
            let mut again = false;
            for &to in &self.successors[at] {
                match self.label[to] {
                    NONE => {
                        self.label[to] = if joins.contains(&to) { to } else { mine };
                        self.labelled.push(to);
                        work.insert(to);
                    }
                    theirs if theirs != mine && theirs != to => {
                        self.label[to] = to;
                        joins.insert(to);
                        again |= to <= at;
                    }
                    theirs if theirs != mine => {
                        joins.insert(to);
                    }
                    _ => {}
                }
            }
            if again {
                return None;
            }
        }
        Some(None)
    }
}

/// The blocks that can be reached from some blocks, found out only as far as somebody asks.
///
/// Each block of a natural loop is reached from each other one, so an outermost loop counts as one block, its first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    from: Vec<usize>,
    seen: FxHashSet<usize>,
    pending: BinaryHeap<Reverse<usize>>,
    /// Blocks before this one have been looked at.
    limit: usize,
}

impl Reach {
    /// What can be reached from `from` is part of it too.
    pub(crate) fn add(&mut self, control: &Control<'_>, from: usize) {
        if !self.from.contains(&from) {
            self.from.push(from);
            self.pending.push(Reverse(control.outermost_first(from)));
            self.explore(control);
        }
    }

    pub(crate) fn contains(&mut self, control: &Control<'_>, at: usize) -> bool {
        // Often it is where everything comes together, however far away.
        let (first, end) = control.post_span[at];
        if self.from.iter().take(8).any(|from| (first..end).contains(&control.post_span[*from].0)) {
            return true;
        }
        let at = control.outermost_first(at);
        if self.limit <= control.cycle_end[at] && !self.pending.is_empty() {
            self.limit = control.cycle_end[at] + 1;
            self.explore(control);
        }
        self.seen.contains(&at)
    }

    fn explore(&mut self, control: &Control<'_>) {
        while let Some(Reverse(at)) = self.pending.peek().copied().filter(|top| top.0 < self.limit) {
            self.pending.pop();
            if self.seen.insert(at) {
                let to = match control.outermost[at] {
                    Some(l) => &control.exits[l],
                    None => &control.successors[at],
                };
                self.pending.extend(to.iter().map(|to| Reverse(control.outermost_first(*to))));
            }
        }
    }
}

impl Control<'_> {
    fn outermost_first(&self, at: usize) -> usize {
        self.outermost[at].map_or(at, |l| self.loops[l].first as usize)
    }
}

/// The last block of the cycle around each block that is no natural loop; the block itself if there is none.
fn cycle_ends(successors: &[Vec<usize>], outermost: &[Option<usize>]) -> Vec<usize> {
    // The furthest edge back to each block, those within an outermost loop left out.
    let mut furthest: Vec<usize> = (0..successors.len()).collect();
    for (from, to) in
        successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
    {
        if to <= from && (outermost[to].is_none() || outermost[to] != outermost[from]) {
            furthest[to] = furthest[to].max(from);
        }
    }
    // Cycles that overlap are one.
    let mut ends = furthest.clone();
    let mut at = 0;
    while at < ends.len() {
        let (first, mut end) = (at, ends[at]);
        while at <= end {
            end = end.max(furthest[at]);
            at += 1;
        }
        ends[first..at].fill(end);
    }
    ends
}

/// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy on the reversed graph, with one end added behind all
/// blocks that have no successor. Blocks that never end have none; which do end comes second.
fn post_dominators(successors: &[Vec<usize>]) -> (Vec<Option<usize>>, Vec<bool>) {
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
    seen.truncate(n);
    (dominator.into_iter().map(|d| d.filter(|d| *d != n)).collect(), seen)
}
