//! What is in the frame already: a forward analysis over blocks that must hold on every path (available stores).
//!
//! Code is entered with all in the frame that lanes need there, and at a barrier all of it is written. What is there stays in its slot: slots are shared only with
//! what is never needed at the same time. No block computes a value that is in its set: the first time lanes come there, on whatever way, nothing has computed it yet
//! (strict SSA). Only parameters of blocks change, on the way to them. So what lives across several barriers is written at the first of them, and whoever
//! leaves the code between them writes no more than what has changed. Of groups that may begin without their lane 0 what is uniform or affine does not count: what the
//! frame has of it in brief is lane 0's.

use hostwarp_ir::{Block, Function, Term, Value};
use hostwarp_plan::Plan;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Of more values times blocks than this nothing is known.
const MOST: usize = 1 << 26;

/// A set of the values that are saved anywhere.
#[derive(Clone, Default)]
pub(super) struct Set {
    bits: Vec<u64>,
    numbers: Arc<FxHashMap<Value, u32>>,
}

impl Set {
    pub(super) fn contains(&self, v: Value) -> bool {
        let bit = |n: &u32| self.bits[*n as usize / 64] >> (n % 64) & 1 == 1;
        !self.bits.is_empty() && self.numbers.get(&v).is_some_and(bit)
    }

    fn remove(&mut self, v: Value) {
        if let (false, Some(n)) = (self.bits.is_empty(), self.numbers.get(&v)) {
            self.bits[*n as usize / 64] &= !(1 << (n % 64));
        }
    }

    pub(super) fn remove_all(&mut self, values: &[Value]) {
        for v in values {
            self.remove(*v);
        }
    }

    fn insert(&mut self, v: Value) {
        if let Some(n) = self.numbers.get(&v) {
            self.bits[*n as usize / 64] |= 1 << (n % 64);
        }
    }

    /// Answers whether that changes anything.
    fn retain(&mut self, others: &Set) -> bool {
        let mut changed = false;
        for (bits, other) in self.bits.iter_mut().zip(&others.bits) {
            changed |= *bits & !other != 0;
            *bits &= other;
        }
        changed
    }
}

/// By block, what is in the frame where it begins. `starts` are the blocks that code can be entered at, each with whether groups may be there without their lane 0.
/// `waits` says whether a group waits at barriers at all: one that is all of its CTA goes on with what it has in variables.
pub(super) fn find(
    func: &Function,
    plan: &Plan,
    starts: &[(Block, bool)],
    waits: bool,
    is_narrow: impl Fn(Value) -> bool,
) -> Vec<Set> {
    let blocks = func.blocks.len();
    let is_barrier = |b: &Block| matches!(func.block(*b).term, Term::Barrier { .. });
    let mut numbers = FxHashMap::default();
    if plan.order.iter().any(is_barrier) {
        for v in starts.iter().flat_map(|(b, _)| &plan.live_in[b.index()]) {
            let next = numbers.len() as u32;
            numbers.entry(*v).or_insert(next);
        }
    }
    if numbers.is_empty() || numbers.len() * blocks > MOST {
        return vec![Set::default(); blocks];
    }
    let numbers = Arc::new(numbers);
    let of = |word: u64| Set { bits: vec![word; numbers.len().div_ceil(64)], numbers: numbers.clone() };
    let mut at: Vec<Set> = vec![of(u64::MAX); blocks];
    for (b, partial) in starts {
        let mut there = of(0);
        if *b != Block::ENTRY {
            let values = plan.live_in[b.index()].iter();
            values.filter(|v| !(*partial && is_narrow(**v))).for_each(|v| there.insert(*v));
        }
        at[b.index()] = there;
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for b in &plan.order {
            let data = func.block(*b);
            if waits && matches!(&data.term, Term::Barrier { kind: hostwarp_ir::BarrierKind::Sync, .. }) {
                // Who goes on behind it does so from a start.
                continue;
            }
            let end = at[b.index()].clone();
            for to in data.term.targets() {
                let mut end = end.clone();
                end.remove_all(&func.block(to.block).params);
                let here = plan.is_back_edge(*b, to.block);
                changed |= at[to.block.index()].retain(&end) && here;
            }
        }
    }
    at
}
