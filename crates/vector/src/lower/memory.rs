//! Accesses: how lanes reach memory, what is checked, and what happens where a check fails.

use super::Lower;
use crate::facts::{Lanes, is_effect};
use crate::ir::{Access, At, Form, Label, MOST_STRIDE, Op, Reg, Term, Ty};
use hostwarp_ir::{self as core, AtomicOp, Inst, IntBin, Mem, Order, Space, Type, Value};
use std::sync::Arc;

/// Rows of fewer lanes than this are gathered.
const SHORTEST_ROW: usize = 4;

/// More runs than this are gathered.
const MOST_RUNS: usize = 4;

/// Accesses that are further apart are checked by themselves.
const MOST_APART: u64 = 4096;

/// Addresses of more ops than this are not looked into.
const MOST_OPS_DEEP: u32 = 12;

impl Lower<'_> {
    pub(super) fn load(&mut self, index: usize, i: &Inst, mem: Mem) {
        let Some(r) = i.result else { return };
        if let Some(at) = self.parameter[r.index()] {
            let value = self.inst(Ty::narrow(self.ty(r)), Op::Param(at), vec![]);
            return self.define_narrow(r, value);
        }
        self.order(mem, true);
        let mut access = self.access(i.args[0], self.ty(r), mem);
        let narrow = matches!(access.at, At::Uniform(_));
        if narrow && i.guard.is_none() {
            let one = self.checked_load(index, i, access, true);
            self.define_narrow(r, one);
        } else if narrow {
            self.guarded_uniform_load(index, i, access, r);
        } else {
            access.mask = self.acting_with(i.guard);
            access.guarded = i.guard.is_some();
            let each = if let Some(base) = self.moved_base(i.args[0], &access) {
                self.load_segments(index, i, access, base)
            } else if self.is_likely_row(i.args[0], &access) {
                self.load_likely_row(index, i, access)
            } else {
                self.checked_load(index, i, access, false)
            };
            self.define_wide(r, each);
        }
        self.order(mem, false);
    }

    /// Whether lanes whose distances are not known may well lie in a row: where the address is computed from a lane's place alone, as a clamped one is, and
    /// not from what was loaded.
    fn is_likely_row(&self, address: Value, access: &Access) -> bool {
        let wide = self.ty(address) == Type::I64 && matches!(access.space, Space::Global | Space::Generic);
        wide && matches!(access.at, At::Lanes(_))
            && !access.volatile
            && self.is_computed(address, MOST_OPS_DEEP)
    }

    fn is_computed(&self, v: Value, depth: u32) -> bool {
        if self.remat[v.index()].is_some() || self.facts.is_narrow(v) {
            return true;
        }
        let Some((b, n)) = self.maker[v.index()] else { return false };
        depth > 0 && self.func.block(b).insts[n].args.iter().all(|a| self.is_computed(*a, depth - 1))
    }

    /// A load of a row if it turns out to be one, from lane 0's address on.
    fn load_likely_row(&mut self, index: usize, i: &Inst, access: Access) -> Reg {
        let At::Lanes(each) = access.at else { return self.checked_load(index, i, access, false) };
        let checked = self.check_for(index, i, &access, false).is_none();
        let (size, ty) = (i64::from(access.size()), Ty::wide(access.ty));
        let offsets: Arc<[i64]> = (0..i64::from(self.w)).map(|l| l * size).collect();
        let zero = self.constant(Type::I32, 0);
        let first = self.inst(Ty::narrow(Type::I64), Op::Extract, vec![each, zero]);
        let straight = self.inst(Ty::wide(Type::I64), Op::Spread(offsets.clone()), vec![first]);
        let mut same = self.compare(core::IntCmp::Eq, each, straight);
        if let Some(mask) = access.mask {
            let absent = self.not(mask);
            same = self.int(IntBin::Or, same, absent);
        }
        let all = self.all_lanes();
        let condition = self.is_same(same, all);
        let result = self.new_var(ty);
        let (row, any, done) = (self.new_label("row"), self.new_label("any"), self.new_label("done"));
        self.end_with(Term::Branch { condition, yes: row, no: any, likely: true });
        let mut as_row = Access { at: At::Spread { first, offsets, form: Form::Row }, ..access.clone() };
        as_row.window = self.window(i.args[0], as_row.extent().1, access.size(), access.space);
        for (label, access) in [(row, as_row), (any, access)] {
            self.start(label);
            let known = self.known.clone();
            let value = match checked {
                true => self.inst(ty, Op::Load(access.into()), vec![]),
                false => self.load_behind_check(index, access.clone(), access, false),
            };
            self.set(result, value);
            self.end_with(Term::Jump(done));
            self.known = known;
        }
        self.start(done);
        self.get(result)
    }

    /// A load of one place by those whose guard is on, if there are any; 0 for the others.
    fn guarded_uniform_load(&mut self, index: usize, i: &Inst, mut access: Access, r: Value) {
        let uniform = i.guard.is_some_and(|g| self.facts.is_uniform(g)) && self.facts.is_narrow(r);
        let ty = if uniform { Ty::narrow(self.ty(r)) } else { Ty::wide(self.ty(r)) };
        let result = self.new_var(ty);
        let zero = self.inst(ty, Op::Const(0), vec![]);
        self.set(result, zero);
        let mask = self.acting_with(i.guard);
        let condition = match (i.guard, mask) {
            (Some(g), _) if self.facts.is_uniform(g) => self.narrow(g),
            (_, Some(mask)) => self.is_any(mask),
            _ => self.constant(Type::I1, 1),
        };
        let (on, done) = (self.new_label("on"), self.new_label("done"));
        self.end_with(Term::Branch { condition, yes: on, no: done, likely: false });
        self.start(on);
        let known = self.known.clone();
        access.mask = mask;
        let one = self.checked_load(index, i, access, true);
        let value = match (uniform, mask) {
            (true, _) => one,
            (_, mask) => {
                let each = self.inst(ty, Op::Splat, vec![one]);
                match mask {
                    Some(mask) => self.inst(ty, Op::Core(core::Op::Select), vec![mask, each, zero]),
                    None => each,
                }
            }
        };
        self.set(result, value);
        self.end_with(Term::Jump(done));
        self.start(done);
        self.known = known;
        let value = self.get(result);
        match uniform {
            true => self.define_narrow(r, value),
            false => self.define_wide(r, value),
        }
    }

    /// A load behind its check; what a check that fails leads to depends on what the block has done.
    fn checked_load(&mut self, index: usize, i: &Inst, access: Access, narrow: bool) -> Reg {
        let ty = if narrow { Ty::narrow(access.ty) } else { Ty::wide(access.ty) };
        match self.check_for(index, i, &access, true) {
            None => self.inst(ty, Op::Load(access.into()), vec![]),
            Some(check) => self.load_behind_check(index, access, check, narrow),
        }
    }

    pub(super) fn load_behind_check(
        &mut self,
        index: usize,
        access: Access,
        check: Access,
        narrow: bool,
    ) -> Reg {
        let ty = if narrow { Ty::narrow(access.ty) } else { Ty::wide(access.ty) };
        if let Some(exit) = self.exit_of(&access) {
            self.push(Op::Check(check.into(), exit), vec![]);
            return self.inst(ty, Op::Load(access.into()), vec![]);
        }
        let result = self.new_var(ty);
        let (slow, done) = (self.new_label("slow"), self.new_label("done"));
        self.push(Op::Check(access.clone().into(), slow), vec![]);
        let value = self.inst(ty, Op::Load(access.clone().into()), vec![]);
        self.set(result, value);
        self.end_with(Term::Jump(done));
        self.start(slow);
        let site = self.site(index);
        let mut value =
            self.inst(Ty::wide(access.ty), Op::Ask { site, access: access.clone().into() }, vec![]);
        if narrow {
            // The lowest lane's is as good as any.
            let lanes = match access.mask {
                Some(mask) => mask,
                None => self.running(),
            };
            let first = self.first_of(lanes);
            value = self.inst(ty, Op::Extract, vec![value, first]);
        }
        self.set(result, value);
        self.end_with(Term::Jump(done));
        self.start(done);
        self.get(result)
    }

    /// Where to leave the block to if the check of an access fails: nowhere if it may well do so, with generic addresses in a kernel that has memory other than global.
    pub(super) fn exit_of(&self, access: &Access) -> Option<Label> {
        let others = self.func.info.local_bytes != 0 || self.func.info.shared_bytes != 0;
        self.exit.filter(|_| !(access.space == Space::Generic && others))
    }

    pub(super) fn store(&mut self, index: usize, i: &Inst, mem: Mem) {
        let value = i.args[1];
        self.order(mem, true);
        let mut access = self.access(i.args[0], self.ty(value), mem);
        access.mask = self.acting_with(i.guard);
        access.guarded = i.guard.is_some();
        if !matches!(access.at, At::Uniform(_)) {
            let each = self.wide(value);
            match self.moved_base(i.args[0], &access) {
                Some(base) => self.store_segments(index, i, access, base, each),
                None => self.checked_store(index, i, access, each, each),
            }
            return self.order(mem, false);
        }
        // All store to one place, if any does: the highest lane's stays.
        let each = self.wide(value);
        let lanes = match access.mask {
            Some(mask) => mask,
            None => self.started(),
        };
        let mut done = None;
        if i.guard.is_some() {
            let condition = self.is_any(lanes);
            let (on, over) = (self.new_label("on"), self.new_label("done"));
            self.end_with(Term::Branch { condition, yes: on, no: over, likely: false });
            self.start(on);
            done = Some((over, self.known.clone()));
        }
        let one = match self.facts.is_uniform(value) {
            true => self.narrow(value),
            false => {
                let last = self.inst(Ty::narrow(Type::I32), Op::Last, vec![lanes]);
                self.inst(Ty::narrow(self.ty(value)), Op::Extract, vec![each, last])
            }
        };
        self.checked_store(index, i, access, one, each);
        if let Some((over, known)) = done {
            self.end_with(Term::Jump(over));
            self.start(over);
            self.known = known;
        }
        self.order(mem, false);
    }

    fn checked_store(&mut self, index: usize, i: &Inst, access: Access, value: Reg, each: Reg) {
        if matches!(access.space, Space::Const | Space::Param) {
            // Nobody may: the engine says so.
            let site = self.site(index);
            return self.push(Op::Ask { site, access: access.into() }, vec![each]);
        }
        match self.check_for(index, i, &access, true) {
            Some(check) => self.store_behind_check(index, access, check, value, each),
            None => self.push(Op::Store(access.into()), vec![value]),
        }
    }

    pub(super) fn store_behind_check(
        &mut self,
        index: usize,
        access: Access,
        check: Access,
        value: Reg,
        each: Reg,
    ) {
        if let Some(exit) = self.exit_of(&access) {
            self.push(Op::Check(check.into(), exit), vec![]);
            return self.push(Op::Store(access.into()), vec![value]);
        }
        let (slow, done) = (self.new_label("slow"), self.new_label("done"));
        self.push(Op::Check(access.clone().into(), slow), vec![]);
        self.push(Op::Store(access.clone().into()), vec![value]);
        self.end_with(Term::Jump(done));
        self.start(slow);
        let site = self.site(index);
        self.push(Op::Ask { site, access: access.into() }, vec![each]);
        self.end_with(Term::Jump(done));
        self.start(done);
    }

    pub(super) fn atomic(&mut self, index: usize, i: &Inst, op: AtomicOp, mem: Mem) {
        let Some(r) = i.result else { return };
        self.order(mem, true);
        let address = self.wide(i.args[0]);
        let ty = self.ty(r);
        let window = self.window(i.args[0], ty.bytes() as u64, ty.bytes() as u32, mem.space);
        let mask = self.acting_with(i.guard);
        let access = Access {
            space: mem.space,
            ty,
            volatile: true,
            at: At::Lanes(address),
            mask,
            guarded: i.guard.is_some(),
            window,
            more: 0,
        };
        let mut args: Vec<Reg> = i.args[1..].iter().map(|a| self.wide(*a)).collect();
        let data: Vec<Reg> = args.iter().rev().copied().collect();
        // What is asked of the system is the engine's: nothing is at the address that could be checked.
        let simple = matches!(ty, Type::I32 | Type::I64)
            && matches!(mem.space, Space::Shared | Space::Global | Space::Generic)
            && !matches!(op, AtomicOp::System(_));
        if let (true, Some(last), Some(value)) = (simple, args.last_mut(), i.args.last())
            && (self.facts.is_uniform(*value) || self.is_constant(*value))
        {
            *last = self.narrow(*value);
        }
        let wanted = self.used[r.index()];
        let act = |l: &mut Self, op: Op, args: Vec<Reg>| match wanted {
            true => Some(l.inst(Ty::wide(ty), op, args)),
            false => {
                l.push(op, args);
                None
            }
        };
        let old = match self.exit_of(&access) {
            _ if !simple => {
                let site = self.site(index);
                Some(self.inst(Ty::wide(ty), Op::Ask { site, access: access.into() }, data))
            }
            Some(exit) => {
                self.push(Op::Check(access.clone().into(), exit), vec![]);
                act(self, Op::Atomic(op, access.into()), args)
            }
            None => {
                let result = wanted.then(|| self.new_var(Ty::wide(ty)));
                let (slow, done) = (self.new_label("slow"), self.new_label("done"));
                self.push(Op::Check(access.clone().into(), slow), vec![]);
                for (label, op, args) in [
                    (None, Op::Atomic(op, access.clone().into()), args),
                    (Some(slow), Op::Ask { site: self.site(index), access: access.into() }, data),
                ] {
                    if let Some(label) = label {
                        self.start(label);
                    }
                    let old = act(self, op, args);
                    if let (Some(result), Some(old)) = (result, old) {
                        self.set(result, old);
                    }
                    self.end_with(Term::Jump(done));
                }
                self.start(done);
                result.map(|result| self.get(result))
            }
        };
        if let Some(old) = old {
            self.define_wide(r, old);
        }
        self.order(mem, false);
    }

    fn site(&mut self, index: usize) -> u32 {
        self.k.sites.push((self.block, index));
        self.k.sites.len() as u32 - 1
    }

    fn order(&mut self, mem: Mem, before: bool) {
        if mem.order != Order::Weak {
            self.push(Op::Order { order: mem.order, before }, vec![]);
        }
    }

    /// The lanes that take part under a guard; none if all of the group do.
    fn acting_with(&mut self, guard: Option<Value>) -> Option<Reg> {
        let acting = self.acting();
        let Some(guard) = guard else { return acting };
        let on = self.wide(guard);
        Some(match acting {
            Some(acting) => self.int(IntBin::And, acting, on),
            None => on,
        })
    }

    /// What has to be checked before an access, unless that has been done. Accesses at constant distances from each other are checked all at once: those that follow
    /// in the block before it has an effect will be made, too.
    fn check_for(&mut self, index: usize, i: &Inst, access: &Access, widen: bool) -> Option<Access> {
        let range = self.unchecked(index, i, access, widen)?;
        Some(self.widened(i.args[0], access, range))
    }

    /// How far from an access the first and the last byte more are that are to be checked with it, unless all of it has been checked.
    pub(super) fn unchecked(
        &mut self,
        index: usize,
        i: &Inst,
        access: &Access,
        widen: bool,
    ) -> Option<(i64, u32)> {
        if self.is_proved(i.args[0], access) {
            return None;
        }
        let (base, at) = self.base(i.args[0]);
        let kind = access.size() << 3 | space_number(access.space);
        let is_covered = |guard: Option<Value>| {
            self.checked.get(&(base, kind, guard)).is_some_and(|(first, last)| (*first..=*last).contains(&at))
        };
        if is_covered(None) || is_covered(i.guard) {
            return None;
        }
        if self.exit_of(access).is_none() {
            // A check that comes back says nothing of what comes next.
            return Some((0, 0));
        }
        let (first, last) = if widen { self.neighbours(index, i, access, base, at) } else { (at, at) };
        self.checked.insert((base, kind, i.guard), (first, last));
        Some((first - at, (last - first) as u32))
    }

    /// The check of an access, from so many bytes behind (or before) it on, and of so many more.
    pub(super) fn widened(&mut self, address: Value, access: &Access, (first, more): (i64, u32)) -> Access {
        let mut check = access.clone();
        if (first, more) == (0, 0) {
            return check;
        }
        check.more = more;
        if first != 0 {
            let back = |l: &mut Self, r: Reg| {
                let ty = l.k.ty(r);
                let by = l.inst(ty, Op::Const(first as u64 & ty.of.elem.mask()), vec![]);
                l.int(IntBin::Add, r, by)
            };
            check.at = match check.at {
                At::Uniform(r) => At::Uniform(back(self, r)),
                At::Lanes(r) => At::Lanes(back(self, r)),
                At::Rows { each, offsets } => At::Rows { each: back(self, each), offsets },
                At::Spread { first, offsets, form } => At::Spread { first: back(self, first), offsets, form },
            };
        }
        check.window = self.window(address, check.extent().1, access.size(), access.space);
        check
    }

    /// The first and the last of the accesses that follow an access in its block, before the block has had an effect, at constant distances from it.
    fn neighbours(&self, index: usize, i: &Inst, access: &Access, base: Value, at: i64) -> (i64, i64) {
        let (mut first, mut last) = (at, at);
        let insts = &self.func.block(self.block).insts;
        for next in &insts[index..] {
            let (address, ty, mem) = match (&next.op, next.result) {
                (core::Op::Load(mem), Some(r)) => (next.args[0], self.ty(r), *mem),
                (core::Op::Store(mem), _) => (next.args[0], self.ty(next.args[1]), *mem),
                (op, _) if is_effect(op) => break,
                _ => continue,
            };
            let size = access.size();
            let (other, there) = self.base(address);
            let near = (there - at).unsigned_abs() <= MOST_APART && (there - at) % i64::from(size) == 0;
            let alike = ty.bytes() as u32 == size && mem.space == access.space && next.guard == i.guard;
            if other == base && near && alike {
                (first, last) = (first.min(there), last.max(there));
            }
            if is_effect(&next.op) {
                break;
            }
        }
        (first, last)
    }

    /// An address as another value plus a constant.
    fn base(&self, mut address: Value) -> (Value, i64) {
        let bits = self.ty(address).elem.bits();
        let mut sum = 0i64;
        while let Some((b, n)) = self.maker[address.index()] {
            let i = &self.func.block(b).insts[n];
            let constant = |v: &Value| match self.remat[v.index()] {
                Some(core::Op::Const(c)) => Some((c << (64 - bits)) as i64 >> (64 - bits)),
                _ => None,
            };
            if i.op != core::Op::Int(IntBin::Add) {
                break;
            }
            let (next, by) = match (constant(&i.args[0]), constant(&i.args[1])) {
                (_, Some(by)) => (i.args[0], by),
                (Some(by), _) => (i.args[1], by),
                _ => break,
            };
            (address, sum) = (next, sum.wrapping_add(by));
        }
        (address, sum)
    }

    /// Whether all that lanes access is in static shared memory, wherever they are.
    fn is_proved(&self, address: Value, access: &Access) -> bool {
        let (fact, size) = (self.facts.get(address), u64::from(access.size()));
        let (low, high) = match &fact.lanes {
            Lanes::Uniform => (0, 0),
            Lanes::Spread(offsets) => {
                offsets.iter().fold((0, 0), |(l, h), o| (o.min(&l).to_owned(), o.max(&h).to_owned()))
            }
            Lanes::Rows(_) | Lanes::Varying => return false,
        };
        let aligned = |offset: i64| offset % size as i64 == 0;
        let even = match &fact.lanes {
            Lanes::Spread(offsets) => offsets.iter().all(|o| aligned(*o)),
            _ => true,
        };
        let end = fact.most.checked_add(high as u64).and_then(|e| e.checked_add(size));
        access.space == Space::Shared
            && low >= 0
            && even
            && fact.align >= size.trailing_zeros()
            && end.is_some_and(|end| end <= u64::from(self.func.info.shared_bytes))
    }

    fn access(&mut self, address: Value, ty: Type, mem: Mem) -> Access {
        let size = ty.bytes() as i64;
        let wide_enough =
            self.ty(address) == Type::I64 || !matches!(mem.space, Space::Global | Space::Generic);
        // One address is another place in every lane, or may be.
        let local =
            mem.space == Space::Local || mem.space == Space::Generic && self.func.info.local_bytes != 0;
        let own = local && !self.plan.assume.is_one_thread();
        let at = match self.facts.get(address).lanes {
            Lanes::Uniform if !own => At::Uniform(self.narrow(address)),
            Lanes::Spread(_) if !own && wide_enough => {
                let offsets = self.facts.get(address).from_first().unwrap_or_default();
                let first = self.narrow(address);
                match offsets.iter().all(|o| *o == 0) {
                    true => At::Uniform(first),
                    // Of the others' alignment the first lane's says nothing.
                    false if offsets.iter().any(|o| o % size != 0) => At::Lanes(self.wide(address)),
                    false => At::Spread { first, form: form(&offsets, size), offsets: offsets.into() },
                }
            }
            Lanes::Rows(_) if !own && wide_enough && size <= 8 => {
                let offsets = self.facts.in_row(address).cloned().unwrap_or_default();
                let step = offsets.get(1).copied().unwrap_or_default();
                match offsets.iter().zip(0..).all(|(o, l)| *o == l * step) && (step == 0 || step == size) {
                    true => At::Rows { each: self.rows(address), offsets },
                    false => At::Lanes(self.wide(address)),
                }
            }
            _ => At::Lanes(self.wide(address)),
        };
        let volatile = mem.order != Order::Weak;
        let mut access =
            Access { space: mem.space, ty, volatile, at, mask: None, guarded: false, window: 0, more: 0 };
        access.window = self.window(address, access.extent().1, size as u32, mem.space);
        access
    }
}

fn space_number(space: Space) -> u32 {
    match space {
        Space::Global | Space::Generic => 0,
        Space::Shared => 1,
        Space::Local => 2,
        Space::Const => 3,
        Space::Param => 4,
    }
}

/// What known distances come to, for accesses of so many bytes.
fn form(offsets: &[i64], size: i64) -> Form {
    let w = offsets.len();
    if offsets.iter().enumerate().all(|(l, o)| *o == l as i64 * size) {
        return Form::Row;
    }
    let low = offsets.iter().copied().min().unwrap_or(0);
    let places: Option<Vec<u32>> = offsets
        .iter()
        .map(|o| (o - low).checked_rem(size).filter(|rest| *rest == 0).map(|_| ((o - low) / size) as u32))
        .collect();
    if let Some(places) = places {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        if sorted.iter().enumerate().all(|(l, p)| *p == l as u32) {
            return Form::Permuted(Arc::from(places));
        }
    }
    let strided = |s: &u32| offsets.iter().zip(0..).all(|(o, l)| *o == l * size * i64::from(*s));
    if let Some(stride) = (2..=MOST_STRIDE).find(strided) {
        return Form::Strided(stride);
    }
    // The longest power of two in which every piece is a row, or one place.
    let every = |len: usize, step: i64| {
        offsets.chunks(len).all(|piece| piece.windows(2).all(|p| p[1] - p[0] == step))
    };
    let mut len = w / 2;
    while len >= SHORTEST_ROW {
        if every(len, size) {
            return Form::Rows(len as u32);
        }
        if every(len, 0) && w / len > MOST_RUNS {
            return Form::Splats(len as u32);
        }
        len /= 2;
    }
    runs(offsets, size)
}

/// Runs of places, if they are few.
fn runs(offsets: &[i64], size: i64) -> Form {
    let mut places = offsets.to_vec();
    places.sort_unstable();
    places.dedup();
    let mut runs: Vec<(i64, u32)> = vec![];
    for at in places {
        match runs.last_mut() {
            Some((from, len)) if *from + i64::from(*len) * size == at => *len += 1,
            _ => runs.push((at, 1)),
        }
    }
    if runs.len() > MOST_RUNS {
        return Form::Gather;
    }
    let of = |o: &i64| {
        let run = runs.partition_point(|(from, _)| from <= o) - 1;
        let within = (o - runs[run].0) / size;
        (within < i64::from(runs[run].1) && (o - runs[run].0) % size == 0)
            .then_some((run as u32, within as u32))
    };
    match offsets.iter().map(of).collect() {
        Some(of) => Form::Runs { runs, of },
        // They overlap.
        None => Form::Gather,
    }
}
