//! Rows that are found while running, for pointers of loops: a base that the loop does not change plus an offset that all lanes have in common.
//!
//! Where the base is made (and wherever code is entered) its lanes are looked at once: those that lie in a row with the lowest are the first segment, those of the
//! others that lie in a row with the lowest of them the second. In the loop an access of lanes that are all in a segment is two accesses to rows, each with a mask; of
//! others a gather. Lanes are in few rows where some of them began a loop over a row of data behind others, as behind the remainder that nvcc puts in front of an
//! unrolled loop (a product of a matrix and a vector with a warp for each row: 17 times C's time with gathers).
//!
//! A segment speaks for lanes that had the base when it was made; an access by others is a gather. So nothing is taken on trust.

use super::Lower;
use crate::ir::{Access, At, Form, Op, Reg, Term, Ty, Var};
use hostwarp_ir::{self as core, Block, Inst, IntBin, IntCmp, Space, Type, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// More pointers are gathered.
const MOST: usize = 16;

/// What is known of the lanes of a base, for elements of one size: lane 0's place in each segment, its lanes, and lanes that are in neither.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    size: i64,
    first: [Var; 2],
    lanes: [Var; 2],
    neither: Var,
}

/// Of all bases.
pub(super) type All = FxHashMap<Value, Segments>;

/// An address: a base, and what is added to it in all lanes.
pub(super) struct MovedBase {
    base: Value,
    by: Vec<Value>,
}

impl Lower<'_> {
    /// Makes variables for all bases of addresses in loops that do not change them.
    pub(super) fn find_segments(&mut self) {
        let mut home: Vec<Option<Block>> = vec![None; self.func.types.len()];
        for b in &self.plan.order {
            let data = self.func.block(*b);
            for v in data.params.iter().copied().chain(data.insts.iter().filter_map(|i| i.result)) {
                home[v.index()] = Some(*b);
            }
        }
        let (func, plan) = (self.func, self.plan);
        for b in &plan.order {
            let Some(l) = plan.loop_of[b.index()] else { continue };
            for i in &func.block(*b).insts {
                let (ty, mem) = match (&i.op, i.result) {
                    (core::Op::Load(mem), Some(r)) => (self.ty(r), *mem),
                    (core::Op::Store(mem), _) => (self.ty(i.args[1]), *mem),
                    _ => continue,
                };
                let global =
                    mem.space == Space::Global || mem.space == Space::Generic && func.info.local_bytes == 0;
                let suits = global && mem.order == core::Order::Weak && matches!(ty.bytes(), 4 | 8);
                let Some(moved) = suits.then(|| self.split_address(*b, i.args[0])).flatten() else {
                    continue;
                };
                let outside = home[moved.base.index()].is_some_and(|home| {
                    let at = plan.position[home.index()];
                    !(plan.loops[l].first..=plan.loops[l].last).contains(&at)
                });
                if outside && self.segments.len() < MOST && !self.segments.contains_key(&moved.base) {
                    let narrow = |l: &mut Self| l.new_var(Ty::narrow(Type::I64));
                    let first = [narrow(self), narrow(self)];
                    let [a, b, neither] = [(); 3].map(|()| self.new_var(Ty::MASK));
                    let segments = Segments { size: ty.bytes() as i64, first, lanes: [a, b], neither };
                    self.segments.insert(moved.base, segments);
                }
            }
        }
    }

    /// A varying address as a base that the innermost loop around a block does not change and what all lanes add to it there.
    fn split_address(&self, block: Block, address: Value) -> Option<MovedBase> {
        let (mut base, mut by) = (address, vec![]);
        let around = &self.plan.loops[self.plan.loop_of[block.index()]?];
        let inside = |b: Block| (around.first..=around.last).contains(&self.plan.position[b.index()]);
        if self.ty(address) != Type::I64 || self.facts.extent(address) != crate::ir::Extent::Lanes {
            return None;
        }
        while let Some((b, n)) = self.maker[base.index()].filter(|(b, _)| inside(*b)) {
            let i = &self.func.block(b).insts[n];
            let same = |v: Value| self.facts.is_uniform(v) || self.is_constant(v);
            let (other, uniform) = match i.args[..] {
                [a, b] if i.op == core::Op::Int(IntBin::Add) && same(b) => (a, b),
                [a, b] if i.op == core::Op::Int(IntBin::Add) && same(a) => (b, a),
                _ => break,
            };
            by.push(uniform);
            base = other;
        }
        self.var[base.index()].is_some().then_some(MovedBase { base, by })
    }

    /// The base of an access that may be to few rows.
    pub(super) fn moved_base(&self, address: Value, access: &Access) -> Option<MovedBase> {
        if access.volatile || !matches!(access.at, At::Lanes(_)) || self.segments.is_empty() {
            return None;
        }
        let moved = self.split_address(self.block, address)?;
        let segments = self.segments.get(&moved.base)?;
        (segments.size == i64::from(access.size())).then_some(moved)
    }

    /// A value has just been computed: if it is a base, its lanes are looked at.
    pub(super) fn summarise(&mut self, v: Value) {
        if self.segments.contains_key(&v) {
            let lanes = self.acting();
            let all = std::mem::take(&mut self.segments);
            self.summarise_for(&all, v, lanes);
            self.segments = all;
        }
    }

    /// The same of all bases that are alive at the start of a block, where code is entered; parameters have their turn in the block.
    pub(super) fn summarise_all(&mut self, b: Block, lanes: Option<Reg>) {
        let all = std::mem::take(&mut self.segments);
        for v in &self.plan.live_in[b.index()] {
            if all.contains_key(v) && !self.func.block(b).params.contains(v) {
                let lanes = lanes.unwrap_or_else(|| self.active());
                self.summarise_for(&all, *v, Some(lanes));
            }
        }
        self.segments = all;
    }

    /// Sets the variables of a base, if it is one, for lanes that have it; for all if none are given.
    pub(super) fn summarise_for(&mut self, all: &All, v: Value, lanes: Option<Reg>) {
        let Some(segments) = all.get(&v) else { return };
        let each = self.wide(v);
        let mut rest = lanes.unwrap_or_else(|| self.all_lanes());
        let (offsets, w) = (self.row_of(segments.size), i64::from(self.w));
        let mut last = None;
        for (first, in_row) in segments.first.into_iter().zip(segments.lanes) {
            let lowest = self.first_of(rest);
            let there = self.inst(Ty::narrow(Type::I64), Op::Extract, vec![each, lowest]);
            let before = self.inst(Ty::wide(Type::I64), Op::Each(offsets.clone()), vec![]);
            let before = self.inst(Ty::narrow(Type::I64), Op::Extract, vec![before, lowest]);
            let origin = self.int(IntBin::Sub, there, before);
            let straight = self.inst(Ty::wide(Type::I64), Op::Spread(offsets.clone()), vec![origin]);
            let same = self.compare(IntCmp::Eq, each, straight);
            let mut lanes = self.int(IntBin::And, rest, same);
            if let Some(last) = last {
                // Behind those of the first: where lanes store to one place the highest stays.
                let numbers = self.inst(Ty::wide(Type::I32), Op::Each((0..w).collect()), vec![]);
                let last = self.inst(Ty::wide(Type::I32), Op::Splat, vec![last]);
                let behind = self.compare(IntCmp::LtU, last, numbers);
                lanes = self.int(IntBin::And, lanes, behind);
            }
            last = Some(self.inst(Ty::narrow(Type::I32), Op::Last, vec![lanes]));
            self.set(first, origin);
            self.set(in_row, lanes);
            let others = self.not(lanes);
            rest = self.int(IntBin::And, rest, others);
        }
        // Lanes that do not have it are in neither, too.
        let [a, b] = segments.lanes.map(|lanes| self.get(lanes));
        let either = self.int(IntBin::Or, a, b);
        let neither = self.not(either);
        self.set(segments.neither, neither);
    }

    fn row_of(&self, size: i64) -> Arc<[i64]> {
        (0..i64::from(self.w)).map(|lane| lane * size).collect()
    }

    /// What all lanes add to a base.
    fn moved_by(&mut self, moved: &MovedBase) -> Option<Reg> {
        let mut by: Option<Reg> = None;
        for v in &moved.by {
            let r = self.narrow(*v);
            by = Some(by.map_or(r, |by| self.int(IntBin::Add, by, r)));
        }
        by
    }

    /// The access with addresses that are computed where they are needed, if they are: nobody else needs them as a rule.
    fn anywhere(&mut self, access: &Access, moved: &MovedBase) -> Access {
        let mut each = self.wide(moved.base);
        if let Some(by) = self.moved_by(moved) {
            let by = self.inst(Ty::wide(Type::I64), Op::Splat, vec![by]);
            each = self.int(IntBin::Add, each, by);
        }
        Access { at: At::Lanes(each), ..access.clone() }
    }

    /// The two rows of an access.
    fn rows_of(&mut self, address: Value, access: &Access, moved: &MovedBase) -> [Access; 2] {
        let segments = self.segments[&moved.base];
        let (acting, by) = (access.mask, self.moved_by(moved));
        [0, 1].map(|n| {
            let (mut first, mut lanes) = (self.get(segments.first[n]), self.get(segments.lanes[n]));
            if let Some(by) = by {
                first = self.int(IntBin::Add, first, by);
            }
            if let Some(acting) = acting {
                lanes = self.int(IntBin::And, lanes, acting);
            }
            let at = At::Spread { first, offsets: self.row_of(segments.size), form: Form::Row };
            let mut row = Access { at, mask: Some(lanes), ..access.clone() };
            row.window = self.window(address, row.extent().1, access.size(), access.space);
            row
        })
    }

    /// Branches to code for two rows and code for a gather; answers with the labels.
    fn by_segments(&mut self, access: &Access, moved: &MovedBase) -> [crate::ir::Label; 3] {
        let mut others = self.get(self.segments[&moved.base].neither);
        if let Some(acting) = access.mask {
            others = self.int(IntBin::And, others, acting);
        }
        let none = self.no_lanes();
        let condition = self.is_same(others, none);
        let [rows, any, done] = ["rows", "any", "done"].map(|name| self.new_label(name));
        self.end_with(Term::Branch { condition, yes: rows, no: any, likely: false });
        [rows, any, done]
    }

    pub(super) fn load_segments(&mut self, index: usize, i: &Inst, access: Access, moved: MovedBase) -> Reg {
        let ty = Ty::wide(access.ty);
        let range = self.unchecked(index, i, &access, true);
        let result = self.new_var(ty);
        let [rows, any, done] = self.by_segments(&access, &moved);
        let load = |l: &mut Self, access: Access| match range {
            Some(range) => {
                let check = l.widened(i.args[0], &access, range);
                l.load_behind_check(index, access, check, false)
            }
            None => l.inst(ty, Op::Load(access.into()), vec![]),
        };
        self.side(rows, |l| {
            let rows = l.rows_of(i.args[0], &access, &moved);
            let first = rows[0].mask;
            let both: Vec<Reg> = rows.into_iter().map(|row| load(l, row)).collect();
            let args = first.into_iter().chain(both).collect();
            let joined = l.inst(ty, Op::Core(core::Op::Select), args);
            l.set(result, joined);
            l.end_with(Term::Jump(done));
        });
        self.side(any, |l| {
            let access = l.anywhere(&access, &moved);
            let value = load(l, access);
            l.set(result, value);
            l.end_with(Term::Jump(done));
        });
        self.start(done);
        self.get(result)
    }

    pub(super) fn store_segments(
        &mut self,
        index: usize,
        i: &Inst,
        access: Access,
        moved: MovedBase,
        value: Reg,
    ) {
        let range = self.unchecked(index, i, &access, true);
        let [rows, any, done] = self.by_segments(&access, &moved);
        let exit = self.exit_of(&access);
        self.side(rows, |l| {
            let rows = l.rows_of(i.args[0], &access, &moved);
            let checks = range.map(|range| rows.clone().map(|row| l.widened(i.args[0], &row, range)));
            // A check must not leave the block behind a store.
            if let (Some(checks), Some(exit)) = (&checks, exit) {
                checks.iter().for_each(|check| l.push(Op::Check(check.clone().into(), exit), vec![]));
            }
            for (n, row) in rows.into_iter().enumerate() {
                match &checks {
                    Some(checks) if exit.is_none() => {
                        l.store_behind_check(index, row, checks[n].clone(), value, value);
                    }
                    _ => l.push(Op::Store(row.into()), vec![value]),
                }
            }
            l.end_with(Term::Jump(done));
        });
        self.side(any, |l| {
            let access = l.anywhere(&access, &moved);
            match range.map(|range| l.widened(i.args[0], &access, range)) {
                Some(check) => l.store_behind_check(index, access, check, value, value),
                None => l.push(Op::Store(access.into()), vec![value]),
            }
            l.end_with(Term::Jump(done));
        });
        self.start(done);
    }
}
