//! From variables that are assigned many times to values: which blocks take a variable as a parameter, and what they are handed.
//!
//! A parameter is made only where different values meet and somebody needs the result (pruned SSA, in the sense of Cytron et al. 1991). One variable at a time, and only the
//! blocks it is alive in are looked at: a register that is used in two blocks costs two blocks, however many there are, and one that is alive everywhere costs each of them once.

use crate::analysis::immediate_dominators;
use crate::subst::Subst;
use crate::{Block, Function, Inst, Op, Value};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a variable holds in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Note {
    pub var: u32,
    pub block: u32,
    pub value: Value,
}

const NONE: u32 = u32::MAX;

/// Fills in what stands for variables. `reads` are values that stand for what a variable holds at the start of a block, `writes` what it holds at the end of one that
/// assigns it. Every block must be reachable, and the entry must have no predecessor.
pub(crate) fn fill_in(func: &mut Function, mut reads: Vec<Note>, mut writes: Vec<Note>) {
    reads.sort_unstable();
    writes.sort_unstable();
    let n = func.blocks.len();
    let mut state = State {
        graph: Graph::new(func),
        var: 0,
        live: vec![NONE; n],
        written: vec![(NONE, Value(0)); n],
        top: vec![(NONE, Value(0)); n],
        meets: vec![NONE; n],
        visited: vec![NONE; n],
        child: vec![(NONE, NONE); n],
        sibling: vec![NONE; n],
        joins: vec![vec![]; n],
        subst: Subst::new(func),
        zeros: vec![],
    };
    let mut writes = writes.as_slice();
    for reads in reads.chunk_by(|a, b| a.var == b.var) {
        let var = reads[0].var;
        writes = &writes[writes.partition_point(|w| w.var < var)..];
        let mine;
        (mine, writes) = writes.split_at(writes.partition_point(|w| w.var == var));
        state.variable(func, reads, mine);
    }
    let State { subst, mut zeros, .. } = state;
    let entry = &mut func.blocks[Block::ENTRY.index()].insts;
    zeros.append(entry);
    *entry = zeros;
    subst.apply(func);
}

struct Graph {
    /// The sources of each block, each once.
    sources: Vec<Vec<u32>>,
    dominator: Vec<u32>,
    /// How far a block is from the root of the tree of dominators.
    level: Vec<u32>,
    /// When a block comes and how far those go that it dominates, in a walk over that tree.
    span: Vec<(u32, u32)>,
}

impl Graph {
    fn new(func: &Function) -> Graph {
        let n = func.blocks.len();
        let mut sources: Vec<Vec<u32>> = vec![vec![]; n];
        for (b, data) in func.blocks.iter().enumerate() {
            for t in data.term.targets() {
                let list = &mut sources[t.block.index()];
                // Blocks come in ascending order: what is there twice is there at the end.
                if list.last() != Some(&(b as u32)) {
                    list.push(b as u32);
                }
            }
        }
        let successors = |b: usize, list: &mut Vec<usize>| {
            list.extend(func.blocks[b].term.targets().iter().map(|t| t.block.index()))
        };
        let dominator: Vec<u32> = immediate_dominators(n, 0, successors)
            .into_iter()
            .map(|d| d.map_or(NONE, |d| d as u32))
            .collect();
        let mut children = vec![vec![]; n];
        for (b, d) in dominator.iter().enumerate() {
            if let Some(list) = children.get_mut(*d as usize) {
                list.push(b);
            }
        }
        let (mut level, mut span) = (vec![0; n], vec![(0, 0); n]);
        let mut next = 0;
        let mut stack = vec![(0, 0)];
        while let Some((b, k)) = stack.pop() {
            if k == 0 {
                span[b].0 = next;
                next += 1;
            }
            match children[b].get(k) {
                Some(child) => {
                    level[*child] = level[b] + 1;
                    stack.extend([(b, k + 1), (*child, 0)]);
                }
                None => span[b].1 = next,
            }
        }
        Graph { sources, dominator, level, span }
    }

    fn dominates(&self, a: u32, b: u32) -> bool {
        let (from, to) = self.span[a as usize];
        (from..to).contains(&self.span[b as usize].0)
    }
}

/// What is known of one variable in each block. Entries that carry the number of another variable are old: nothing is cleared from one to the next.
struct State {
    graph: Graph,
    var: u32,
    /// It is needed at the start of the block.
    live: Vec<u32>,
    /// What the block leaves in it.
    written: Vec<(u32, Value)>,
    /// What it holds at the start of the block.
    top: Vec<(u32, Value)>,
    /// Different values meet there.
    meets: Vec<u32>,
    visited: Vec<u32>,
    /// The tree of dominators as far as the variable is alive: first child, next sibling.
    child: Vec<(u32, u32)>,
    sibling: Vec<u32>,
    /// Blocks it is needed in behind this one that this one does not dominate at once; emptied after each variable.
    joins: Vec<Vec<u32>>,
    subst: Subst,
    /// Of variables that are read before they are assigned.
    zeros: Vec<Inst>,
}

impl State {
    fn variable(&mut self, func: &mut Function, reads: &[Note], writes: &[Note]) {
        // One assignment before all that is read, as in code that was in this form before.
        if let [one] = writes
            && reads.iter().all(|r| r.block != one.block && self.graph.dominates(one.block, r.block))
        {
            for r in reads {
                self.subst.set(r.value, one.value);
            }
            return;
        }
        self.var = reads[0].var;
        for w in writes {
            self.written[w.block as usize] = (self.var, w.value);
        }
        let live = self.alive(reads);
        let from_start = self.live[0] == self.var;
        if from_start {
            let zero = func.new_value(func.ty(reads[0].value));
            self.subst.grow(func);
            self.zeros.push(Inst {
                op: Op::Const(0),
                args: SmallVec::new(),
                guard: None,
                result: Some(zero),
                line: 0,
            });
            if self.written[0].0 != self.var {
                self.written[0] = (self.var, zero);
            }
            self.top[0] = (self.var, zero);
        }
        let meets = self.meeting(&live, writes, from_start);
        for r in reads.iter().filter(|r| self.meets[r.block as usize] == self.var) {
            self.top[r.block as usize] = (self.var, r.value);
        }
        for &b in &meets {
            if self.top[b as usize].0 != self.var {
                let param = func.new_value(func.ty(reads[0].value));
                self.subst.grow(func);
                self.top[b as usize] = (self.var, param);
            }
            func.blocks[b as usize].params.push(self.top[b as usize].1);
        }
        for r in reads {
            let value = self.at_top(r.block);
            if value != r.value {
                self.subst.set(r.value, value);
            }
        }
        for &b in &meets {
            for i in 0..self.graph.sources[b as usize].len() {
                let from = self.graph.sources[b as usize][i];
                let value = match self.written[from as usize] {
                    (var, value) if var == self.var => value,
                    _ => self.at_top(from),
                };
                for t in func.blocks[from as usize].term.targets_mut() {
                    if t.block.0 == b {
                        t.args.push(value);
                    }
                }
            }
        }
    }

    /// The blocks it is needed at the start of.
    fn alive(&mut self, reads: &[Note]) -> Vec<u32> {
        let mut live = vec![];
        let mut work: Vec<u32> = reads.iter().map(|r| r.block).collect();
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut self.live[b as usize], self.var) == self.var {
                continue;
            }
            live.push(b);
            let written = |from: &&u32| self.written[**from as usize].0 == self.var;
            work.extend(self.graph.sources[b as usize].iter().filter(|from| !written(from)));
        }
        live
    }

    /// The blocks at whose start different values meet: the iterated dominance frontier of the assignments, as far as the variable is alive. By
    /// Sreedhar and Gao (1995): the deepest first, so that what is below a block is walked over once.
    fn meeting(&mut self, live: &[u32], writes: &[Note], from_start: bool) -> Vec<u32> {
        let var = self.var;
        let mut touched = vec![];
        for &b in live {
            let above = self.graph.dominator[b as usize];
            if let Some(child) = self.child.get_mut(above as usize) {
                self.sibling[b as usize] = if child.0 == var { child.1 } else { NONE };
                *child = (var, b);
            }
            for &from in &self.graph.sources[b as usize] {
                if from != above {
                    self.joins[from as usize].push(b);
                    touched.push(from);
                }
            }
        }
        let level = |b: u32| self.graph.level[b as usize];
        let mut roots: BinaryHeap<(u32, Reverse<u32>)> =
            writes.iter().map(|w| (level(w.block), Reverse(w.block))).collect();
        if from_start && writes.first().is_none_or(|w| w.block != 0) {
            roots.push((0, Reverse(0)));
        }
        let mut found = vec![];
        let mut work = vec![];
        while let Some((depth, Reverse(root))) = roots.pop() {
            work.push(root);
            self.visited[root as usize] = var;
            while let Some(b) = work.pop() {
                for &to in &self.joins[b as usize] {
                    if self.graph.level[to as usize] <= depth
                        && std::mem::replace(&mut self.meets[to as usize], var) != var
                    {
                        found.push(to);
                        if self.written[to as usize].0 != var {
                            roots.push((self.graph.level[to as usize], Reverse(to)));
                        }
                    }
                }
                let (of, mut next) = self.child[b as usize];
                while of == var && next != NONE {
                    if std::mem::replace(&mut self.visited[next as usize], var) != var {
                        work.push(next);
                    }
                    next = self.sibling[next as usize];
                }
            }
        }
        for b in touched {
            self.joins[b as usize].clear();
        }
        found.sort_unstable();
        found
    }

    /// What it holds at the start of a block it is alive in.
    fn at_top(&mut self, block: u32) -> Value {
        let mut way = vec![];
        let mut at = block;
        let value = loop {
            match self.top[at as usize] {
                (var, value) if var == self.var => break value,
                _ => way.push(at),
            }
            at = self.graph.dominator[at as usize];
            if let (var, value) = self.written[at as usize]
                && var == self.var
            {
                break value;
            }
        };
        for b in way {
            self.top[b as usize] = (self.var, value);
        }
        value
    }
}
