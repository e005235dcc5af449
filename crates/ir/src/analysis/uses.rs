//! Def-use chains: where each value is defined and where it is used.

use crate::{Block, Function, Value};

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// Nowhere: it is not part of the function any more.
    None,
    /// A parameter of the function.
    Argument,
    /// The n-th parameter of a block.
    Param(Block, u32),
    /// The n-th instruction of a block.
    Inst(Block, u32),
    /// The terminator of a block (a call).
    Term(Block),
}

/// Where a value is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// By the n-th instruction of a block, as argument or guard.
    Inst(Block, u32),
    /// By a block's terminator, to decide or to hand on.
    Term(Block),
}

/// Definitions and uses of all values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uses {
    definition: Vec<Definition>,
    /// The sites of each value begin there in `sites`.
    first: Vec<u32>,
    sites: Vec<Site>,
}

impl Uses {
    /// Of this function, in two sweeps over it.
    pub fn new(func: &Function) -> Uses {
        let mut definition = vec![Definition::None; func.types.len()];
        func.params.iter().for_each(|v| definition[v.index()] = Definition::Argument);
        let mut first = vec![0; func.types.len() + 1];
        for b in func.block_ids() {
            let data = func.block(b);
            for (n, p) in data.params.iter().enumerate() {
                definition[p.index()] = Definition::Param(b, n as u32);
            }
            for (n, i) in data.insts.iter().enumerate() {
                if let Some(r) = i.result {
                    definition[r.index()] = Definition::Inst(b, n as u32);
                }
            }
            data.term.results().iter().for_each(|r| definition[r.index()] = Definition::Term(b));
        }
        for_each_use(func, |v, _| first[v.index() + 1] += 1);
        for n in 1..first.len() {
            first[n] += first[n - 1];
        }
        let mut next = first.clone();
        let mut sites = vec![Site::Term(Block::ENTRY); first.last().map_or(0, |n| *n as usize)];
        for_each_use(func, |v, site| {
            sites[next[v.index()] as usize] = site;
            next[v.index()] += 1;
        });
        Uses { definition, first, sites }
    }

    /// Where a value comes from.
    pub fn definition(&self, v: Value) -> Definition {
        self.definition[v.index()]
    }

    /// Where a value is used, by block and place; twice in a row if twice by one.
    pub fn of(&self, v: Value) -> &[Site] {
        &self.sites[self.first[v.index()] as usize..self.first[v.index() + 1] as usize]
    }
}

fn for_each_use(func: &Function, mut f: impl FnMut(Value, Site)) {
    for b in func.block_ids() {
        let data = func.block(b);
        for (n, i) in data.insts.iter().enumerate() {
            i.args.iter().chain(&i.guard).for_each(|v| f(*v, Site::Inst(b, n as u32)));
        }
        data.term.uses().iter().for_each(|v| f(*v, Site::Term(b)));
        data.term.targets().iter().flat_map(|t| &t.args).for_each(|v| f(*v, Site::Term(b)));
    }
}
