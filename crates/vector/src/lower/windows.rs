//! Which accesses remember together which part of an allocation they have found last.
//!
//! Those with one pointer at the root of their addresses: a parameter of the kernel, or else a value that was loaded. A window that accesses to several allocations share is
//! missed at every access (a saxpy over strides: 25 times as long).

use super::Lower;
use hostwarp_ir::{self as core, Block, Function, IntBin, Space, Special, Value};
use hostwarp_plan::Plan;
use rustc_hash::FxHashMap;

/// Addresses of more ops, or handed on by more blocks than this, are not looked into.
const MOST_DEEP: u32 = 16;

/// How likely a value is a pointer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likely {
    Not,
    Perhaps,
    Loaded,
    Parameter,
}

/// The windows of a kernel.
#[derive(Default)]
pub(super) struct Windows {
    of: FxHashMap<(u64, u32, Value), u32>,
    roots: FxHashMap<Value, (Likely, Value)>,
    /// What a block's parameter is handed when lanes come there first.
    handed: FxHashMap<Value, Value>,
}

impl Windows {
    pub(super) fn new(func: &Function, plan: &Plan) -> Windows {
        let mut handed = FxHashMap::default();
        for b in &plan.order {
            let targets = func.block(*b).term.targets();
            for t in targets.iter().filter(|t| !plan.is_back_edge(*b, t.block)) {
                for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                    handed.entry(*p).or_insert(*a);
                }
            }
        }
        Windows { handed, ..Windows::default() }
    }
}

impl Lower<'_> {
    /// Where the part of an allocation is remembered that accesses of this kind have found.
    pub(super) fn window(&mut self, address: Value, len: u64, align: u32, space: Space) -> u32 {
        if !matches!(space, Space::Global | Space::Generic) {
            return 0;
        }
        let root = self.root(address, MOST_DEEP).1;
        let next = self.k.windows.len() as u32;
        let window = *self.windows.of.entry((len, align, root)).or_insert(next);
        if window == next {
            self.k.windows.push((len, align));
        }
        window
    }

    /// The pointer that an address is counted from.
    fn root(&mut self, v: Value, depth: u32) -> (Likely, Value) {
        if let Some(root) = self.windows.roots.get(&v) {
            return *root;
        }
        // Whoever comes back here goes round a loop.
        self.windows.roots.insert(v, (Likely::Not, v));
        let root = self.find_root(v, depth);
        self.windows.roots.insert(v, root);
        root
    }

    fn find_root(&mut self, v: Value, depth: u32) -> (Likely, Value) {
        let leaf = |likely: Likely| (likely, v);
        if self.parameter[v.index()].is_some() {
            return leaf(Likely::Parameter);
        }
        match self.remat[v.index()] {
            Some(core::Op::Special(Special::GlobalsBase)) => return leaf(Likely::Parameter),
            Some(_) => return leaf(Likely::Not),
            None if depth == 0 => return leaf(Likely::Perhaps),
            None => {}
        }
        if let Some(from) = self.windows.handed.get(&v).copied() {
            return self.root(from, depth - 1);
        }
        let Some((b, n)): Option<(Block, usize)> = self.maker[v.index()] else { return leaf(Likely::Loaded) };
        let i = &self.func.block(b).insts[n];
        match i.op {
            core::Op::Int(IntBin::Add | IntBin::Sub) => {
                let [a, b] = [i.args[0], i.args[1]].map(|v| self.root(v, depth - 1));
                if b.0 > a.0 { b } else { a }
            }
            core::Op::Select => self.root(i.args[1], depth - 1),
            core::Op::Bitcast | core::Op::FromBits | core::Op::ToBits => self.root(i.args[0], depth - 1),
            // An index.
            _ => leaf(Likely::Perhaps),
        }
    }
}
