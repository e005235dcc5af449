//! Where values live in the frame of a CTA.

use crate::live::Liveness;
use hostwarp_ir::{Block, Function, Value};
use std::collections::HashMap;

/// The canonical frame. The column of a value begins at byte `slot * lanes` of the frame, `lanes` being the CTA's lanes
/// rounded up to whole warps, and lane `l` is at `l * ty.bytes()` in it; an `i1` takes one byte, 0 or 1. Every column is
/// 64-byte aligned.
///
/// Values that are needed only inside the block that defines them have slots of their own, apart from those of values
/// that live from block to block: a lane that waits at the start of a block has nothing in such a slot, so it may be
/// overwritten in lanes that wait. Slots are only shared by values of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The slot of each value; none for values that are [made again](crate::Plan::remat) or never computed.
    pub slot: Vec<Option<u32>>,
    /// Values needed only inside the block that defines them.
    pub local: Vec<bool>,
    /// Bytes per lane.
    pub bytes: u32,
}

/// Slots are multiples of this, so that a column of one byte per lane is 64-byte aligned with 32 lanes.
const ALIGN: u32 = 2;

/// Gives out slots, each for values of one size only.
#[derive(Default)]
struct Pool {
    free: HashMap<u32, Vec<u32>>,
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
        let size = |v: Value| func.ty(v).bytes() as u32;
        let mut slot = vec![None; len];
        let mut end = 0;

        // From where to where in `order` a value is needed at block boundaries.
        let mut range: Vec<Option<(u32, u32)>> = vec![None; len];
        for b in order {
            let at = position[b.index()];
            for v in live.live_in[b.index()].iter().chain(live.live_out[b.index()].iter()) {
                let r = range[v.index()].get_or_insert((at, at));
                *r = (r.0.min(at), r.1.max(at));
            }
        }
        let mut starts: Vec<Value> =
            (0..len as u32).map(Value).filter(|v| range[v.index()].is_some()).collect();
        starts.sort_by_key(|v| range[v.index()]);
        let mut pool = Pool::default();
        let mut active: Vec<(u32, Value)> = vec![];
        for v in starts {
            let Some((from, to)) = range[v.index()] else { continue };
            if share {
                active.retain(|(last, old)| {
                    let keep = *last >= from;
                    if let (false, Some(s)) = (keep, slot[old.index()]) {
                        pool.give(size(*old), s);
                    }
                    keep
                });
            }
            slot[v.index()] = Some(pool.take(size(v), &mut end));
            active.push((to, v));
        }

        // Values of one block: all blocks use the same slots.
        let mut local = vec![false; len];
        let base = end;
        let mut furthest = end;
        let mut pool = Pool::default();
        for b in order {
            let data = func.block(*b);
            let mut last_use: HashMap<Value, usize> = HashMap::new();
            for (n, i) in data.insts.iter().enumerate() {
                for a in i.args.iter().chain(&i.guard) {
                    last_use.insert(*a, n);
                }
            }
            for v in data.term.uses() {
                last_use.insert(v, usize::MAX);
            }
            for a in data.term.targets().iter().flat_map(|t| &t.args) {
                last_use.insert(*a, usize::MAX);
            }
            let mut taken: Vec<Value> = vec![];
            for (n, i) in data.insts.iter().enumerate() {
                // Arguments that end here make room for the result: ops read a lane's arguments before they write it.
                let mut args: Vec<Value> = i.args.iter().chain(&i.guard).copied().collect();
                args.sort_unstable();
                args.dedup();
                for a in args {
                    if let (true, true, Some(s)) =
                        (share && local[a.index()], last_use[&a] == n, slot[a.index()])
                    {
                        pool.give(size(a), s);
                        taken.retain(|t| *t != a);
                    }
                }
                let Some(r) = i.result else { continue };
                if remat[r.index()] || range[r.index()].is_some() {
                    continue;
                }
                local[r.index()] = true;
                let s = pool.take(size(r), &mut end);
                slot[r.index()] = Some(s);
                if last_use.contains_key(&r) || !share {
                    taken.push(r);
                } else {
                    pool.give(size(r), s);
                }
            }
            if share {
                for v in taken {
                    if let Some(s) = slot[v.index()] {
                        pool.give(size(v), s);
                    }
                }
            }
            furthest = furthest.max(end);
        }
        debug_assert!(furthest >= base);
        Frame { slot, local, bytes: furthest }
    }
}
