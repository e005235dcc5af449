//! Where values live in the frame of a CTA.

use hostwarp_ir::analysis::Liveness;
use hostwarp_ir::{Block, Elem, Function, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The canonical frame. The column of a value begins at byte `slot * lanes` of the frame, `lanes` being the CTA's lanes
/// rounded up to whole warps, and lane `l` is at `l * ty.bytes()` in it; an `i1` takes one byte, 0 or 1. Every column is
/// 64-byte aligned.
///
/// Values that are needed only inside the block that defines them have slots of their own, apart from those of values
/// that live from block to block: a lane that waits at the start of a block has nothing in such a slot, so it may be
/// overwritten in lanes that wait. Slots are only shared by values of one size: values that are never needed at the same
/// time, copies of a value under another type, and a parameter with what a loop hands to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The slot of each value; none for values that are [rematerialised](crate::Plan::remat) or never computed.
    pub slot: Vec<Option<u32>>,
    /// Values needed only inside the block that defines them.
    pub local: Vec<bool>,
    /// Bytes per lane.
    pub bytes: u32,
}

/// Slots are multiples of this, so that a column of one byte per lane is 64-byte aligned with 32 lanes.
const ALIGN: u32 = 2;

/// A value that is needed over more blocks than this does not take the slot of a parameter.
const MOST_BLOCKS: u32 = 16;

/// So many values at most are computed in the slot of one parameter: each is held against all others.
const MOST_IN_SLOT: usize = 16;

/// Gives out slots, each for values of one size only.
#[derive(Default)]
struct Pool {
    free: FxHashMap<u32, Vec<u32>>,
}

impl Pool {
    fn take(&mut self, size: u32, end: &mut u32) -> u32 {
        if let Some(slot) = self.free.get_mut(&size).and_then(Vec::pop) {
            return slot;
        }
        let slot = *end;
        *end += size.next_multiple_of(ALIGN);
        slot
    }

    fn give(&mut self, size: u32, slot: u32) {
        self.free.entry(size).or_default().push(slot);
    }
}

/// The value each value is a copy of: itself, unless an op only gives its argument's bits another type.
pub(crate) fn originals(func: &Function, order: &[Block], remat: &[bool]) -> Vec<Value> {
    let mut of: Vec<Value> = (0..func.types.len() as u32).map(Value).collect();
    // Definitions come before uses in the plan's order.
    for i in order.iter().flat_map(|b| &func.block(*b).insts) {
        let (Some(r), Some(a)) = (i.result, i.args.first()) else { continue };
        let copies = match i.op {
            Op::FromBits | Op::Bitcast => true,
            Op::ToBits => func.ty(r).elem == Elem::I64,
            _ => false,
        };
        if copies && !remat[a.index()] {
            of[r.index()] = of[a.index()];
        }
    }
    of
}

/// Lays out a frame.
struct Layout<'a> {
    func: &'a Function,
    order: &'a [Block],
    position: &'a [u32],
    live: &'a Liveness,
    remat: &'a [bool],
    /// Values that are copies of each other are one value here.
    original: Vec<Value>,
    /// The copies of each value that has any.
    copies: FxHashMap<Value, Vec<Value>>,
    /// From where to where in `order` a value is needed at block boundaries.
    range: Vec<Option<(u32, u32)>>,
    slot: Vec<Option<u32>>,
    local: Vec<bool>,
    end: u32,
}

impl Frame {
    pub(crate) fn new(
        func: &Function,
        order: &[Block],
        position: &[u32],
        live: &Liveness,
        remat: &[bool],
        share: bool,
    ) -> Frame {
        let len = func.types.len();
        let mut layout = Layout {
            func,
            order,
            position,
            live,
            remat,
            original: if share {
                originals(func, order, remat)
            } else {
                (0..len as u32).map(Value).collect()
            },
            range: vec![None; len],
            slot: vec![None; len],
            local: vec![false; len],
            end: 0,
            copies: FxHashMap::default(),
        };
        for (v, o) in layout.original.iter().enumerate().filter(|(v, o)| *v != o.index()) {
            layout.copies.entry(*o).or_default().push(Value(v as u32));
        }
        for b in order {
            let at = position[b.index()];
            for v in live.live_in[b.index()].iter().chain(live.live_out[b.index()].iter()) {
                let r = layout.range[layout.original[v.index()].index()].get_or_insert((at, at));
                *r = (r.0.min(at), r.1.max(at));
            }
        }
        let joined = if share { layout.in_place() } else { vec![] };
        layout.between_blocks(share);
        for (arg, param) in joined {
            layout.slot[arg.index()] = layout.slot[param.index()];
        }
        layout.inside_blocks(share);
        for v in 0..len {
            let o = layout.original[v].index();
            (layout.slot[v], layout.local[v]) = (layout.slot[o], layout.local[o]);
        }
        Frame { slot: layout.slot, local: layout.local, bytes: layout.end }
    }
}

impl Layout<'_> {
    fn size(&self, v: Value) -> u32 {
        self.func.ty(v).bytes() as u32
    }

    /// The last instruction of a block that uses a value, `usize::MAX` for the terminator.
    fn last_uses(&self, b: Block) -> FxHashMap<Value, usize> {
        let data = self.func.block(b);
        let mut last = FxHashMap::default();
        for (n, i) in data.insts.iter().enumerate() {
            for a in i.args.iter().chain(&i.guard) {
                last.insert(self.original[a.index()], n);
            }
        }
        for v in data.term.uses() {
            last.insert(self.original[v.index()], usize::MAX);
        }
        for a in data.term.targets().iter().flat_map(|t| &t.args) {
            last.insert(self.original[a.index()], usize::MAX);
        }
        last
    }

    /// Finds values that can be computed right where the parameter lives that they are handed to: those made when the
    /// parameter's old value is no longer needed, and never needed together with a later one. Saves a copy per iteration of a loop. Answers (value, parameter).
    fn in_place(&mut self) -> Vec<(Value, Value)> {
        let mut found: Vec<(Value, Value)> = vec![];
        let mut joined: FxHashSet<Value> = FxHashSet::default();
        // What has been found for a parameter, and the blocks it is made in.
        let mut in_slot: FxHashMap<Value, Vec<(Value, Block)>> = FxHashMap::default();
        for b in self.order {
            let data = self.func.block(*b);
            if data.term.targets().iter().all(|t| t.args.is_empty()) {
                continue;
            }
            let last = self.last_uses(*b);
            let made: FxHashMap<Value, usize> = data
                .insts
                .iter()
                .enumerate()
                .filter_map(|(n, i)| i.result.map(|r| (r, n)))
                .filter(|(r, _)| self.original[r.index()] == *r)
                .collect();
            let mut taken: FxHashSet<Value> = FxHashSet::default();
            for t in data.term.targets() {
                for (p, a) in self.func.block(t.block).params.iter().zip(&t.args) {
                    let a = self.original[a.index()];
                    let Some(at) = made.get(&a) else { continue };
                    let over = last.get(p).is_none_or(|last| last <= at)
                        && self.and_copies(*p).all(|v| !self.live.is_live_out(*b, v));
                    if over
                        && in_slot.get(p).is_none_or(|others| others.len() < MOST_IN_SLOT)
                        && self.are_apart(*b, a, *p)
                        && in_slot.get(p).into_iter().flatten().all(|(other, home)| {
                            self.are_apart(*b, a, *other)
                                && !self.is_alive(*home, a)
                                && !self.is_alive(*b, *other)
                        })
                        && !self.remat[a.index()]
                        && self.size(a) == self.size(*p)
                        && !taken.contains(p)
                        && joined.insert(a)
                    {
                        taken.insert(*p);
                        found.push((a, *p));
                        let here = self.position[b.index()];
                        let (from, to) = self.range[a.index()].unwrap_or((here, here));
                        if let Some(r) = &mut self.range[p.index()] {
                            *r = (r.0.min(here).min(from), r.1.max(here).max(to));
                        }
                        in_slot.entry(*p).or_default().push((a, *b));
                    }
                }
            }
        }
        for (a, _) in &found {
            self.range[a.index()] = None;
        }
        found
    }

    /// Whether two values, the first defined in a block where the second ends, are never needed at the same time. Says no where that
    /// would take long to find out.
    fn are_apart(&self, b: Block, first: Value, second: Value) -> bool {
        let Some((from, to)) = self.range[first.index()] else { return true };
        if to - from > MOST_BLOCKS {
            return false;
        }
        let others = self.order[from as usize..=to as usize].iter().filter(|other| **other != b);
        others.into_iter().all(|other| !(self.is_alive(*other, first) && self.is_alive(*other, second)))
    }

    /// Whether a value is needed at the start or the end of a block.
    fn is_alive(&self, b: Block, v: Value) -> bool {
        self.and_copies(v).any(|v| self.live.is_live_in(b, v) || self.live.is_live_out(b, v))
    }

    /// A value and its copies.
    fn and_copies(&self, v: Value) -> impl Iterator<Item = Value> {
        std::iter::once(v).chain(self.copies.get(&v).into_iter().flatten().copied())
    }

    /// Slots of values that live from block to block, by linear scan.
    fn between_blocks(&mut self, share: bool) {
        let mut starts: Vec<Value> =
            (0..self.range.len() as u32).map(Value).filter(|v| self.range[v.index()].is_some()).collect();
        starts.sort_by_key(|v| self.range[v.index()]);
        let mut pool = Pool::default();
        // The one that ends first on top: where it ends, its number in `starts`.
        let mut active: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
        for (n, v) in starts.iter().enumerate() {
            let Some((from, to)) = self.range[v.index()] else { continue };
            let mut over = vec![];
            while share && active.peek().is_some_and(|Reverse((last, _))| *last < from) {
                over.extend(active.pop().map(|Reverse((_, old))| old));
            }
            over.sort_unstable();
            for old in over.into_iter().map(|old| starts[old]) {
                if let Some(s) = self.slot[old.index()] {
                    pool.give(self.size(old), s);
                }
            }
            self.slot[v.index()] = Some(pool.take(self.size(*v), &mut self.end));
            active.push(Reverse((to, n)));
        }
    }

    /// Slots of values of one block: all blocks use the same ones.
    fn inside_blocks(&mut self, share: bool) {
        let mut pool = Pool::default();
        for b in self.order {
            let last_use = self.last_uses(*b);
            let mut taken: Vec<Value> = vec![];
            let mut given: FxHashSet<Value> = FxHashSet::default();
            for (n, i) in self.func.block(*b).insts.iter().enumerate() {
                // Arguments that end here make room for the result: ops read a lane's arguments before they write it. The last of them does
                // before others: a sum stays where it is.
                for a in i.guard.iter().chain(&i.args).map(|a| self.original[a.index()]) {
                    if let (true, true, Some(s)) =
                        (share && self.local[a.index()], last_use[&a] == n, self.slot[a.index()])
                        && given.insert(a)
                    {
                        pool.give(self.size(a), s);
                    }
                }
                let Some(r) = i.result else { continue };
                if self.remat[r.index()] || self.original[r.index()] != r || self.slot[r.index()].is_some() {
                    continue;
                }
                self.local[r.index()] = true;
                let s = pool.take(self.size(r), &mut self.end);
                self.slot[r.index()] = Some(s);
                if last_use.contains_key(&r) || !share {
                    taken.push(r);
                } else {
                    pool.give(self.size(r), s);
                }
            }
            if share {
                for v in taken.into_iter().filter(|v| !given.contains(v)) {
                    if let Some(s) = self.slot[v.index()] {
                        pool.give(self.size(v), s);
                    }
                }
            }
        }
    }
}
