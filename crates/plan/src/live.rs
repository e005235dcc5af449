//! Liveness.

use crate::Shape;
use hostwarp_ir::{Block, Function, Value};

/// A set of values.
#[derive(Clone, PartialEq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub(crate) fn new(len: usize) -> Set {
        Set(vec![0; len.div_ceil(64)])
    }

    pub(crate) fn contains(&self, v: Value) -> bool {
        self.0[v.index() / 64] >> (v.index() % 64) & 1 != 0
    }

    pub(crate) fn insert(&mut self, v: Value) {
        self.0[v.index() / 64] |= 1 << (v.index() % 64);
    }

    pub(crate) fn remove(&mut self, v: Value) {
        self.0[v.index() / 64] &= !(1 << (v.index() % 64));
    }

    fn union(&mut self, other: &Set) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        self.0.iter().enumerate().flat_map(|(w, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                (bits != 0).then(|| {
                    let i = bits.trailing_zeros();
                    bits &= bits - 1;
                    Value(w as u32 * 64 + i)
                })
            })
        })
    }
}

/// What is alive at the start of each block (parameters included) and at its end.
pub(crate) struct Liveness {
    pub(crate) live_in: Vec<Set>,
    pub(crate) live_out: Vec<Set>,
}

impl Liveness {
    pub(crate) fn new(func: &Function, order: &[Block], remat: &[bool]) -> Liveness {
        let len = func.types.len();
        let empty = Set::new(len);
        let mut live_in = vec![empty.clone(); func.blocks.len()];
        let mut live_out = vec![empty; func.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for b in order.iter().rev() {
                let data = func.block(*b);
                let mut live = Set::new(len);
                for t in data.term.targets() {
                    let mut from = live_in[t.block.index()].clone();
                    for p in &func.block(t.block).params {
                        from.remove(*p);
                    }
                    live.union(&from);
                }
                live_out[b.index()] = live.clone();
                let need = |v: Value, live: &mut Set| {
                    if !remat[v.index()] {
                        live.insert(v);
                    }
                };
                for v in data.term.uses() {
                    need(v, &mut live);
                }
                for a in data.term.targets().iter().flat_map(|t| &t.args) {
                    need(*a, &mut live);
                }
                for i in data.insts.iter().rev() {
                    if let Some(r) = i.result {
                        live.remove(r);
                    }
                    for a in i.args.iter().chain(&i.guard) {
                        need(*a, &mut live);
                    }
                }
                for p in &data.params {
                    live.insert(*p);
                }
                if live != live_in[b.index()] {
                    live_in[b.index()] = live;
                    changed = true;
                }
            }
        }
        Liveness { live_in, live_out }
    }

    pub(crate) fn into_lists(self) -> Vec<Vec<Value>> {
        self.live_in.iter().map(|s| s.iter().collect()).collect()
    }

    /// The most words of varying values alive at one point.
    pub(crate) fn pressure(&self, func: &Function, order: &[Block], shape: &[Shape]) -> u32 {
        let words = |v: Value| match shape[v.index()] {
            Shape::Varying => func.ty(v).bytes().div_ceil(4) as u32,
            _ => 0,
        };
        let mut most = 0;
        for b in order {
            let data = func.block(*b);
            let mut live = self.live_out[b.index()].clone();
            let mut now: u32 = live.iter().map(words).sum();
            let mut add = |v: Value, live: &mut Set, now: &mut u32| {
                if !live.contains(v) {
                    live.insert(v);
                    *now += words(v);
                }
                most = most.max(*now);
            };
            for v in data.term.uses() {
                add(v, &mut live, &mut now);
            }
            for a in data.term.targets().iter().flat_map(|t| &t.args) {
                add(*a, &mut live, &mut now);
            }
            for i in data.insts.iter().rev() {
                if let Some(r) = i.result.filter(|r| live.contains(*r)) {
                    live.remove(r);
                    now -= words(r);
                }
                for a in i.args.iter().chain(&i.guard) {
                    add(*a, &mut live, &mut now);
                }
            }
        }
        most
    }
}
