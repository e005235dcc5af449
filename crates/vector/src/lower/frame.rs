//! What lanes need at the start of a block: to the frame and from it.

use super::Lower;
use super::saved::Set;
use crate::ir::{Label, Op, Place, Reg, Term, Ty};
use hostwarp_ir::{Block, IntBin, Type, Value};
use hostwarp_plan::Shape;
use rustc_hash::FxHashMap;

/// Values of more ops than this are read from the frame, not computed anew.
const MOST_OPS_DEEP: u32 = 6;

impl Lower<'_> {
    fn place(&self, v: Value) -> Option<Place> {
        Some(Place { slot: self.plan.frame.slot[v.index()]?, ty: self.ty(v) })
    }

    /// Writes what a group whose lanes are all in one place needs there: of what is uniform or affine only lane 0's. What is there already is not written again,
    /// parameters aside, which have just been set.
    pub(super) fn save_brief(&mut self, b: Block) {
        let mut saved = self.saved_at(self.block).clone();
        saved.remove_all(&self.func.block(b).params);
        self.save_unless(b, &saved);
    }

    /// As [`save_brief`](Self::save_brief), with what is there already.
    pub(super) fn save_unless(&mut self, b: Block, saved: &Set) {
        for v in self.plan.live_in[b.index()].clone() {
            let Some(place) = self.place(v).filter(|_| !saved.contains(v)) else { continue };
            let r = match self.k.shapes[v.index()] {
                Shape::Varying => self.wide(v),
                _ => self.narrow(v),
            };
            self.push(Op::FramePut(place), vec![r]);
        }
    }

    /// Writes what lanes need at the start of a block, for each of them.
    pub(super) fn save(&mut self, b: Block, lanes: Option<Reg>) {
        for v in self.plan.live_in[b.index()].clone() {
            self.put(v, lanes);
        }
    }

    fn put(&mut self, v: Value, lanes: Option<Reg>) {
        let Some(place) = self.place(v) else { return };
        let r = self.wide(v);
        self.push(Op::FramePut(place), [r].into_iter().chain(lanes).collect());
    }

    /// Reads what was written, or computes it anew.
    pub(super) fn restore(&mut self, b: Block) {
        let mut first = None;
        for v in self.plan.live_in[b.index()].clone() {
            let Some(var) = self.var[v.index()] else { continue };
            if self.is_cheap(v, MOST_OPS_DEEP) {
                let r = self.recompute(v);
                self.set(var, r);
                continue;
            }
            let Some(place) = self.place(v) else { continue };
            if !self.facts.is_narrow(v) {
                let mut r = self.inst(Ty::wide(place.ty), Op::FrameGet(place), vec![]);
                if let Some(offsets) = self.facts.in_row(v).cloned() {
                    let mut args = vec![r];
                    if !self.whole || self.k.partial[b.index()] {
                        args.push(self.active());
                    }
                    r = self.inst(Ty::rows(place.ty), Op::Origins(offsets), args);
                }
                self.set(var, r);
                continue;
            }
            let lane = *first.get_or_insert_with(|| {
                if self.whole && !self.k.partial[b.index()] {
                    return self.constant(Type::I32, 0);
                }
                let active = self.active();
                self.first_of(active)
            });
            let there = self.inst(Ty::narrow(place.ty), Op::FrameGet(place), vec![lane]);
            let r = self.step_back(v, there, lane);
            self.set(var, r);
        }
        self.known.clear();
        let here = (self.whole && !self.k.partial[b.index()]).then(|| self.all_lanes());
        self.summarise_all(b, here);
        self.known.clear();
    }

    /// Reads a value anew that is in the frame in brief.
    fn reread(&mut self, v: Value) {
        let Some(place) = self.place(v) else { return };
        let narrow = self.facts.is_narrow(v);
        let ty = if narrow { Ty::narrow(place.ty) } else { Ty::wide(place.ty) };
        let lane = narrow.then(|| self.constant(Type::I32, 0));
        let r = self.inst(ty, Op::FrameGet(place), lane.into_iter().collect());
        let known = self.known.entry(v).or_default();
        match narrow {
            true => known.narrow = Some(r),
            false => known.wide = Some(r),
        }
    }

    /// The blocks lanes may wait at in a scope: its own, and those behind it where all meet.
    fn waiting_in(&self, scope: Option<Block>) -> Vec<Block> {
        let mut blocks = vec![];
        for b in &self.plan.order {
            let inside = |b: Block| scope.is_none() || self.scope[b.index()] == scope;
            let masked = self.plan.masked[b.index()];
            let behind = || {
                let from = &self.sources[b.index()];
                from.iter()
                    .any(|f| inside(*f) && (self.plan.masked[f.index()] || self.plan.divergent[f.index()]))
            };
            if self.waiting[b.index()].is_some() && (masked && inside(*b) || !masked && behind()) {
                blocks.push(*b);
            }
        }
        blocks
    }

    /// Leaves the group with lanes at several blocks.
    pub(super) fn suspend(&mut self, scope: Option<Block>, label: Label) {
        self.start(label);
        self.known.clear();
        self.mask = None;
        let blocks = self.waiting_in(scope);
        let mut masks: FxHashMap<Block, Reg> = FxHashMap::default();
        let mut needed: Vec<(Value, Vec<Block>)> = vec![];
        let mut index: FxHashMap<Value, usize> = FxHashMap::default();
        for b in &blocks {
            if let Some(waiting) = self.waiting[b.index()] {
                let mask = self.get(waiting);
                masks.insert(*b, mask);
            }
            for v in &self.plan.live_in[b.index()] {
                let n = *index.entry(*v).or_insert_with(|| {
                    needed.push((*v, vec![]));
                    needed.len() - 1
                });
                needed[n].1.push(*b);
            }
        }
        // What is in the frame in brief is read before anything is written: it may share its slot with what other lanes need.
        for (v, at) in &needed {
            if !self.parks && at.iter().all(|b| self.saved_at(*b).contains(*v)) {
                self.reread(*v);
            }
        }
        let mut made: FxHashMap<Vec<Block>, Reg> = FxHashMap::default();
        for (v, at) in needed {
            let lanes = match made.get(&at) {
                Some(lanes) => *lanes,
                None => {
                    let mut lanes = masks[&at[0]];
                    for b in &at[1..] {
                        lanes = self.int(IntBin::Or, lanes, masks[b]);
                    }
                    made.insert(at, lanes);
                    lanes
                }
            };
            self.put(v, Some(lanes));
        }
        for b in blocks {
            self.push(Op::Park(b), vec![masks[&b]]);
        }
        self.end_with(Term::Leave { from: None });
    }
}
