//! Where lanes that a divergent branch has separated meet again, relative to the convergence rule (docs/convergence.md).
//!
//! This is the sync and temporal divergence of Rosemann, Moll and Hack (*An Abstract Interpretation for SPMD Divergence on Reducible Control
//! Flow Graphs*, POPL 2021), for all branches at once and over the cycles of the weak topological order, irreducible ones included.
//!
//! Within one iteration of a cycle the order of blocks is acyclic, a cycle inside it taken for one node. There every node has a *label*:
//! lanes under different labels may have been separated by a divergent branch since the iteration began, lanes under one label have not.
//! [`BASE`] is the label of all lanes that began the iteration.
//!
//! - Each edge of a divergent branch has a label of its own.
//! - A node that gets two labels other than [`BASE`] is a *join* and has a label of its own from there on.
//! - A node that post-dominates its immediate dominator in the iteration gets the label of that one back: all lanes have met again.
//! - Edges back to the header under two labels make it a join for the lanes of the next iteration.
//! - Where lanes take an edge back while others are still under way in the iteration, the header is *overtaken*: what an engine keeps once
//!   for all lanes, a parameter of the header that is uniform, would be overwritten before the others have done with it.
//! - An exit of a cycle under another label than an edge back is *temporally divergent*: some lanes leave while others go round. It gets a
//!   label of its own, and what lanes take along from the cycle differs ([`Control::reach`]).
//! - A cycle with several entries that is entered under two labels is *wild*: all of its blocks are joins, all of its exits temporally divergent.
//!
//! A label depends on blocks before it and on which branches diverge, so one pass in order computes all of them; the caller asks again for
//! blocks whose predecessors have changed.
//!
//! Edges that leave many cycles at once take time for each of them. Where all edges and values together leave too many
//! ([`leaves_too_many`]), nothing is computed and the worst is taken for granted: every block is masked and a join, every header overtaken, every cycle split.

use crate::Loop;
use crate::order::spans;
use crate::reach::Reach;
use hostwarp_ir::{Block, Function, immediate_dominators};

/// The label of lanes that have not been separated since the iteration began.
const BASE: u32 = 0;

/// An edge, by positions.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The labels of edges back to a header, other than [`BASE`].
#[derive(Clone, Copy, PartialEq, Default)]
enum Back {
    #[default]
    Base,
    One(u32),
    Several,
}

/// What is known of a cycle.
#[derive(Clone, Copy, PartialEq, Default)]
struct Cycle {
    /// Lanes that have been separated enter it in different places.
    wild: bool,
    back: Back,
    /// Some lanes may leave while others go round.
    split: bool,
}

/// Lists of edges, one behind the other.
pub(crate) struct Lists {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From pairs of list and item; items of a list stay in order.
    pub(crate) fn new(lists: usize, pairs: impl Iterator<Item = (usize, u32)> + Clone) -> Lists {
        let mut first = vec![0u32; lists + 1];
        for (list, _) in pairs.clone() {
            first[list + 1] += 1;
        }
        for i in 0..lists {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut items = vec![0; first[lists] as usize];
        for (list, item) in pairs {
            items[next[list] as usize] = item;
            next[list] += 1;
        }
        Lists { first, items }
    }

    pub(crate) fn of(&self, list: usize) -> &[u32] {
        &self.items[self.first[list] as usize..self.first[list + 1] as usize]
    }
}

/// The graph of blocks and their labels. All numbers of blocks here are positions in the plan's order.
pub(crate) struct Control<'a> {
    /// Nothing is known: see the head of this file.
    worst: bool,
    loops: &'a [Loop],
    /// The innermost cycle around each block.
    loop_at: Vec<Option<usize>>,
    /// The cycle that a block is the header of.
    headed: Vec<Option<usize>>,
    /// By source, each in the order of the terminator's targets.
    pub(crate) edges: Vec<Edge>,
    first_edge: Vec<u32>,
    /// By target.
    sources: Lists,
    /// By cycle: edges into it, edges out of it, and edges from inside it to its header.
    entries: Lists,
    exits: Lists,
    backs: Lists,
    /// By node, blocks before cycles: the node whose label it gets back, if there is one.
    restores: Vec<Option<usize>>,
    /// By node: those that get its label back.
    restored: Lists,
    reach: Reach,
    /// Blocks whose terminator may separate lanes.
    divergent: Vec<bool>,
    /// By node.
    label: Vec<u32>,
    cycles: Vec<Cycle>,
    /// Lanes that have been separated may come to a block by different edges: those forward, and those back.
    joins: [Vec<bool>; 2],
    /// Headers of cycles that some lanes go back to before others have finished the iteration.
    overtaken: Vec<bool>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        func: &Function,
        order: &[Block],
        position: &[u32],
        loops: &'a [Loop],
        loop_of: &[Option<usize>],
        worst: bool,
    ) -> Control<'a> {
        let n = order.len();
        let mut edges = vec![];
        let mut first_edge = vec![0];
        for (from, b) in order.iter().enumerate() {
            let targets = func.block(*b).term.targets();
            edges.extend(targets.iter().map(|t| Edge { from, to: position[t.block.index()] as usize }));
            first_edge.push(edges.len() as u32);
        }
        let loop_at: Vec<Option<usize>> = order.iter().map(|b| loop_of[b.index()]).collect();
        let mut headed = vec![None; n];
        for (i, l) in loops.iter().enumerate() {
            headed[l.first as usize] = Some(i);
        }
        let (mut entries, mut exits, mut backs) = (vec![], vec![], vec![]);
        for (e, edge) in edges.iter().enumerate().filter(|_| !worst) {
            let left = around(loops, loop_at[edge.from]).take_while(|l| !loops[*l].contains(edge.to));
            exits.extend(left.map(|l| (l, e as u32)));
            let entered = around(loops, loop_at[edge.to]).take_while(|l| !loops[*l].contains(edge.from));
            entries.extend(entered.map(|l| (l, e as u32)));
            if let Some(l) = headed[edge.to].filter(|_| edge.to <= edge.from) {
                backs.push((l, e as u32));
            }
        }
        let lists = |pairs: &[(usize, u32)]| Lists::new(loops.len(), pairs.iter().copied());
        let exits = lists(&exits);
        let has_exit: Vec<bool> = (0..loops.len()).map(|l| !exits.of(l).is_empty()).collect();
        let restores = match worst {
            true => vec![None; n + loops.len()],
            false => restores(n, &edges, loops, &loop_at, &has_exit),
        };
        let pairs = restores.iter().enumerate().filter_map(|(node, from)| Some(((*from)?, node as u32)));
        let restored = Lists::new(n + loops.len(), pairs.filter(|(from, _)| *from < n + loops.len()));
        Control {
            worst,
            sources: Lists::new(n, edges.iter().enumerate().map(|(e, edge)| (edge.to, e as u32))),
            reach: Reach::new(n, &edges, loops, &loop_at, &exits),
            entries: lists(&entries),
            backs: lists(&backs),
            exits,
            restores,
            restored,
            loops,
            loop_at,
            headed,
            edges,
            first_edge,
            divergent: vec![false; n],
            label: vec![BASE; n + loops.len()],
            cycles: vec![Cycle::default(); loops.len()],
            joins: [vec![false; n], vec![false; n]],
            overtaken: vec![false; n],
        }
    }

    /// The edges that leave a block, by number.
    pub(crate) fn edges_from(&self, at: usize) -> std::ops::Range<usize> {
        self.first_edge[at] as usize..self.first_edge[at + 1] as usize
    }

    /// The edges that leave a cycle, by number.
    pub(crate) fn exits_of(&self, l: usize) -> &[u32] {
        self.exits.of(l)
    }

    pub(crate) fn is_divergent(&self, at: usize) -> bool {
        self.divergent[at]
    }

    pub(crate) fn set_divergent(&mut self, at: usize) {
        self.divergent[at] = true;
    }

    /// Whether lanes that have been separated may come to a block by different edges forward, or back.
    pub(crate) fn is_join(&self, at: usize, back: bool) -> bool {
        self.worst || self.joins[usize::from(back)][at]
    }

    /// Whether some lanes may go back to the header of a cycle before others have finished the iteration.
    pub(crate) fn is_overtaken(&self, at: usize) -> bool {
        self.worst || self.overtaken[at]
    }

    /// Blocks to relabel when the label of this one, or of the cycle it is the header of, has changed: where its lanes meet again, wherever the edges
    /// that lead there come from.
    pub(crate) fn restored_from(&self, at: usize) -> impl Iterator<Item = usize> {
        let n = self.loop_at.len();
        let nodes = [Some(at), self.headed[at].map(|l| n + l)].into_iter().flatten();
        let restored = nodes.flat_map(|node| self.restored.of(node));
        restored.map(move |node| match (*node as usize).checked_sub(n) {
            Some(l) => self.loops[l].first as usize,
            None => *node as usize,
        })
    }

    /// Whether some lanes may leave a cycle while others go round.
    pub(crate) fn is_split(&self, l: usize) -> bool {
        self.worst || self.cycles[l].split
    }

    /// Whether lanes that have left a cycle at different times may come to a block outside of it.
    pub(crate) fn comes_from(&mut self, l: usize, at: usize) -> bool {
        self.worst || self.reach.contains(l, at)
    }

    /// The cycle that a block is the header of.
    pub(crate) fn headed(&self, at: usize) -> Option<usize> {
        self.headed[at]
    }

    /// Whether separated lanes enter a cycle in different places.
    pub(crate) fn is_wild(&self, l: usize) -> bool {
        self.cycles[l].wild
    }

    /// The cycles around a block, innermost first.
    pub(crate) fn around(&self, at: usize) -> impl Iterator<Item = usize> + use<'a> {
        around(self.loops, self.loop_at[at])
    }

    /// By block, whether part of the lanes of a group may run it.
    pub(crate) fn masked(&self) -> Vec<bool> {
        let n = self.loop_at.len();
        if self.worst {
            return vec![true; n];
        }
        let mut inside = vec![false; self.loops.len()];
        // Outer before inner.
        for (i, l) in self.loops.iter().enumerate() {
            inside[i] = l.parent.is_some_and(|p| inside[p])
                || self.label[n + i] != BASE
                || self.cycles[i].split
                || self.cycles[i].wild;
        }
        (0..n).map(|at| self.loop_at[at].is_some_and(|l| inside[l]) || self.label[at] != BASE).collect()
    }

    /// A label that is used nowhere else: of a node, of the lanes that stay in a cycle others leave, and of an edge.
    fn label_of_node(&self, node: usize) -> u32 {
        1 + node as u32
    }

    fn label_of_rest(&self, l: usize) -> u32 {
        1 + (self.label.len() + l) as u32
    }

    fn label_of_edge(&self, e: usize) -> u32 {
        1 + (self.label.len() + self.loops.len() + e) as u32
    }

    /// Whether lanes leave a cycle by an edge under this label while others go round.
    fn is_scattered(&self, l: usize, label: u32) -> bool {
        let Cycle { wild, back, .. } = self.cycles[l];
        let others_go_round = match back {
            Back::Base => false,
            Back::One(round) => label != round,
            Back::Several => true,
        };
        wild || label != BASE && others_go_round
    }

    /// The label of an edge in a cycle around its source, or outside all: that of its source, as it is seen from there.
    fn edge_label(&self, e: usize, seen_from: Option<usize>) -> u32 {
        let from = self.edges[e].from;
        let mut label = if self.divergent[from] { self.label_of_edge(e) } else { self.label[from] };
        for l in self.around(from).take_while(|l| Some(*l) != seen_from) {
            let Cycle { back, split, .. } = self.cycles[l];
            if self.is_scattered(l, label) {
                label = self.label_of_edge(e);
            } else if label == BASE {
                label = match back {
                    _ if !split => self.label[self.loop_at.len() + l],
                    // Those that go round are under this label from the second iteration on.
                    Back::One(round) => round,
                    _ => self.label_of_rest(l),
                };
            }
        }
        label
    }

    /// The label that edges to a node in a cycle, or outside all, come with, and whether there are two. Those from outside the cycle come
    /// with the one of all lanes.
    fn merge(&self, edges: impl Iterator<Item = usize>, within: Option<usize>) -> (u32, bool) {
        let mut merged = BASE;
        for e in edges {
            let from = self.edges[e].from;
            let label = match within {
                Some(l) if !self.loops[l].contains(from) => {
                    if self.cycles[l].wild {
                        self.label_of_edge(e)
                    } else {
                        BASE
                    }
                }
                _ => self.edge_label(e, within),
            };
            if label != BASE && merged != BASE && label != merged {
                return (merged, true);
            }
            merged = merged.max(label);
        }
        (merged, false)
    }

    /// The label of a node that gets one or several.
    fn settle(&self, node: usize, (label, parted): (u32, bool)) -> u32 {
        match self.restores[node] {
            Some(from) => self.label.get(from).copied().unwrap_or(BASE),
            None if parted => self.label_of_node(node),
            None => label,
        }
    }

    /// Computes the label of a block, and that of the cycle it is the header of. Answers whether anything has changed: for its parameters,
    /// and for those behind it.
    pub(crate) fn relabel(&mut self, at: usize) -> (bool, bool) {
        if self.worst {
            return (false, false);
        }
        let joins = |c: &Self| [c.joins[0][at], c.joins[1][at]];
        let old = joins(self);
        let changed = self.compute_label(at);
        (old != joins(self), changed)
    }

    fn compute_label(&mut self, at: usize) -> bool {
        let n = self.loop_at.len();
        let Some(l) = self.headed[at] else {
            let within = self.loop_at[at];
            let label = if within.is_some_and(|l| self.cycles[l].wild) {
                self.joins[0][at] = true;
                self.label_of_node(at)
            } else {
                let forward = self.sources.of(at).iter().map(|e| *e as usize);
                let merged = self.merge(forward.filter(|e| self.edges[*e].from < at), within);
                self.joins[0][at] |= merged.1;
                self.settle(at, merged)
            };
            return std::mem::replace(&mut self.label[at], label) != label;
        };
        let Loop { parent, single_entry, .. } = self.loops[l];
        let entries = self.entries.of(l).iter().map(|e| *e as usize);
        let merged = self.merge(entries, parent);
        let wild = self.cycles[l].wild || merged.1 && !single_entry;
        self.joins[0][at] |= merged.1;
        self.joins[1][at] |= wild;
        let outer = match parent {
            Some(p) if self.cycles[p].wild => self.label_of_node(n + l),
            _ => self.settle(n + l, merged),
        };
        let inner = if wild { self.label_of_node(at) } else { BASE };
        let changed = (self.label[n + l], self.label[at], self.cycles[l].wild) != (outer, inner, wild);
        (self.label[n + l], self.label[at], self.cycles[l].wild) = (outer, inner, wild);
        changed
    }

    /// Looks at the edges out of a cycle and back to its header, once its blocks have their labels. Answers whether anything has changed.
    pub(crate) fn close(&mut self, l: usize) -> bool {
        if self.worst {
            return false;
        }
        let at = self.loops[l].first as usize;
        let old = (self.cycles[l], self.overtaken[at]);
        let mut back = Back::Base;
        for e in self.backs.of(l) {
            let label = self.edge_label(*e as usize, Some(l));
            back = match back {
                _ if label == BASE => back,
                Back::Base => Back::One(label),
                Back::One(other) if other != label => Back::Several,
                _ => back,
            };
        }
        let early = |e: &u32| {
            let inner = self.around(self.edges[*e as usize].from).take_while(|inner| *inner != l);
            inner.into_iter().any(|inner| self.cycles[inner].split)
        };
        self.overtaken[at] |= back == Back::Several || self.backs.of(l).iter().any(early);
        self.overtaken[at] |= self.cycles[l].wild;
        self.joins[1][at] |= back == Back::Several;
        self.cycles[l].back = back;
        for e in 0..self.exits.of(l).len() {
            let e = self.exits.of(l)[e] as usize;
            if self.is_scattered(l, self.edge_label(e, Some(l))) {
                self.cycles[l].split = true;
                self.reach.add(l, self.edges[e].to);
            }
        }
        self.cycles[l].split |= self.cycles[l].wild;
        (self.cycles[l], self.overtaken[at]) != old
    }
}

/// So many cycles may be left in any function by its edges and values, and so many more by each of them on average. What compilers make leaves less than one.
const MOST_LEFT: usize = 1 << 16;
const MOST_LEFT_BY_EACH: usize = 4;

/// Whether the edges and the values of a function leave more cycles than would be looked at in little time: `n` cycles inside each other and `n`
/// ways out of all of them are `n`² to be looked at, and each of them for every other.
pub(crate) fn leaves_too_many(
    func: &Function,
    order: &[Block],
    position: &[u32],
    loops: &[Loop],
    loop_of: &[Option<usize>],
) -> bool {
    #[cfg(test)]
    if crate::tests::WORST.get() {
        return true;
    }
    if loops.iter().all(|l| (l.depth as usize) <= MOST_LEFT_BY_EACH) {
        return false;
    }
    let mut home: Vec<Option<usize>> = vec![None; func.types.len()];
    for b in order {
        let data = func.block(*b);
        let results = data.insts.iter().filter_map(|i| i.result).chain(data.params.iter().copied());
        results.for_each(|v| home[v.index()] = loop_of[b.index()]);
    }
    let mut left = MOST_LEFT;
    let mut leaves = |from: Option<usize>, at: u32| -> bool {
        left += MOST_LEFT_BY_EACH;
        for _ in around(loops, from).take_while(|l| !loops[*l].contains(at as usize)) {
            if left == 0 {
                return true;
            }
            left -= 1;
        }
        false
    };
    order.iter().any(|b| {
        let (data, at) = (func.block(*b), position[b.index()]);
        let targets = data.term.targets();
        // An edge enters as many cycles as it would leave in the other direction.
        targets.iter().any(|t| {
            leaves(loop_of[b.index()], position[t.block.index()]) || leaves(loop_of[t.block.index()], at)
        }) || targets
            .iter()
            .flat_map(|t| t.args.iter().map(|a| (a, position[t.block.index()])))
            .any(|(a, to)| leaves(home[a.index()], to))
            || data.term.uses().iter().any(|v| leaves(home[v.index()], at))
            || data
                .insts
                .iter()
                .flat_map(|i| i.args.iter().chain(&i.guard))
                .any(|v| leaves(home[v.index()], at))
    })
}

/// A cycle and those around it, innermost first.
fn around(loops: &[Loop], innermost: Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(innermost, |l| loops[*l].parent)
}

/// By node, blocks before cycles: its immediate dominator within an iteration, if the node post-dominates that one. A number beyond all nodes stands
/// for where the iteration begins.
fn restores(
    n: usize,
    edges: &[Edge],
    loops: &[Loop],
    loop_at: &[Option<usize>],
    has_exit: &[bool],
) -> Vec<Option<usize>> {
    // Blocks, cycles, where an iteration of each cycle (and of none) begins, where it ends, and one node in front of or behind all of those.
    let m = loops.len();
    let (begin, end, all) = (n + m, n + 2 * m + 1, n + 3 * m + 2);
    let context = |l: Option<usize>| l.unwrap_or(m);
    // All iterations side by side, in one graph.
    let mut graph: Vec<(usize, usize)> = (0..=m).map(|l| (all, begin + l)).collect();
    let mut behind: Vec<(usize, usize)> = (0..=m).map(|l| (end + l, all)).collect();
    let mut node_of_start = 0;
    for l in around(loops, loop_at[0]) {
        graph.push((begin + l, node_of_start));
        node_of_start = n + l;
    }
    graph.push((begin + m, node_of_start));
    let mut ends = vec![true; n];
    for edge in edges {
        ends[edge.from] = false;
        let mut node = edge.from;
        let mut l = loop_at[edge.from];
        while let Some(left) = l.filter(|l| !loops[*l].contains(edge.to)) {
            behind.push((node, end + left));
            node = n + left;
            l = loops[left].parent;
        }
        if edge.to <= edge.from {
            behind.push((node, end + context(l))); // to the header of that one
            continue;
        }
        let mut to = edge.to;
        for entered in around(loops, loop_at[edge.to]).take_while(|l| !loops[*l].contains(edge.from)) {
            graph.push((begin + entered, to));
            to = n + entered;
        }
        if node != to {
            graph.push((node, to));
        }
    }
    behind.extend((0..n).filter(|at| ends[*at]).map(|at| (at, end + m)));
    behind.extend((0..m).filter(|l| !has_exit[*l]).map(|l| (n + l, end + context(loops[l].parent))));
    let nodes = all + 1;
    let tree = |edges: &[(usize, usize)], reversed: bool| {
        let pairs = edges.iter().map(|&(a, b)| if reversed { (b, a as u32) } else { (a, b as u32) });
        let lists = Lists::new(nodes, pairs);
        immediate_dominators(nodes, all, |node, to| to.extend(lists.of(node).iter().map(|t| *t as usize)))
    };
    let dominator = tree(&graph, false);
    behind.extend(graph.iter().filter(|(from, _)| *from != all));
    let span = spans(&tree(&behind, true));
    (0..n + m)
        .map(|node| {
            let dominator = dominator[node].filter(|d| *d != all)?;
            (span[node].0..span[node].1).contains(&span[dominator].0).then_some(dominator)
        })
        .collect()
}
