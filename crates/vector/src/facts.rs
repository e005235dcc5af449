//! What is known of values before they are computed: how they differ between the lanes of a group.
//!
//! A value is *uniform*, or it is an *origin* that all lanes share plus a constant for each lane (an affine value, `tid ^ 1`, a row and a column of a
//! two-dimensional block), or it is varying. Of uniform values and of origins the alignment is known, an upper bound, and perhaps the value.
//!
//! What is uniform, and where lanes that meet bring different values, is the plan's to say ([`Plan::shape`]); on top of that this is a forward analysis over pure
//! ops, with parameters of blocks as an optimistic fixed point. An extension of something that may wrap is taken for even where its block has had no effect
//! yet: code [checks](Facts::wraps) it there, and leaves the block where it is not so.

use hostwarp_ir::eval::eval_op;
use hostwarp_ir::{Axis, Block, Elem, Function, Inst, IntBin, IntUn, Op, Order, Special, Type, Value};
use hostwarp_plan::{Assume, Plan, Shape};
use std::sync::Arc;

use crate::ir::Extent;
use crate::speculate::Speculation;

/// Threads in a block are no more than this.
const MOST_THREADS: u64 = 1024;

/// How a value differs between lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// The same in all.
    Uniform,
    /// The origin plus a constant for each lane, modulo the width of the type.
    Spread(Arc<[i64]>),
    /// An origin for each row, its first lane's value, plus a constant for each lane of a row.
    Rows(Arc<[i64]>),
    /// Anything.
    Varying,
}

/// What is known of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// How it differs between lanes.
    pub lanes: Lanes,
    /// The value, or the origin, is a multiple of two to this power.
    pub align: u32,
    /// It is at most this.
    pub most: u64,
    /// It is this.
    pub value: Option<u64>,
}

impl Fact {
    fn varying() -> Fact {
        Fact { lanes: Lanes::Varying, align: 0, most: u64::MAX, value: None }
    }

    fn uniform(elem: Elem) -> Fact {
        Fact { lanes: Lanes::Uniform, align: 0, most: elem.mask(), value: None }
    }

    fn constant(bits: u64) -> Fact {
        Fact { lanes: Lanes::Uniform, align: bits.trailing_zeros(), most: bits, value: Some(bits) }
    }

    /// What each lane adds to the origin; nothing if it is uniform.
    fn offset(&self, lane: usize) -> i64 {
        match &self.lanes {
            Lanes::Spread(offsets) => offsets[lane],
            _ => 0,
        }
    }

    fn is_constant(&self) -> bool {
        self.value.is_some() && self.lanes == Lanes::Uniform
    }

    /// Whether lanes do not differ.
    fn is_same(&self) -> bool {
        match &self.lanes {
            Lanes::Uniform => true,
            Lanes::Spread(offsets) => offsets.iter().all(|o| *o == 0),
            Lanes::Rows(_) | Lanes::Varying => false,
        }
    }

    /// With what follows from the bound.
    fn bounded(self) -> Fact {
        match self.most {
            0 => Fact { value: Some(0), align: 64, ..self },
            _ => self,
        }
    }

    /// How far each lane is from lane 0, if that is known.
    pub fn from_first(&self) -> Option<Vec<i64>> {
        match &self.lanes {
            Lanes::Spread(offsets) => Some(offsets.iter().map(|o| o.wrapping_sub(offsets[0])).collect()),
            _ => None,
        }
    }

    /// The value of every lane, where all are known.
    pub fn values(&self, width: u32, elem: Elem) -> Option<Vec<u64>> {
        let origin = self.value?;
        (self.lanes != Lanes::Varying).then(|| {
            (0..width as usize).map(|l| origin.wrapping_add_signed(self.offset(l)) & elem.mask()).collect()
        })
    }

    /// What each lane of a row adds to the first, if that is the same in all rows of so many lanes.
    fn in_row(&self, row: usize) -> Option<Arc<[i64]>> {
        match &self.lanes {
            Lanes::Uniform => Some(vec![0; row].into()),
            Lanes::Rows(offsets) => Some(offsets.clone()),
            Lanes::Spread(offsets) => {
                let from_first = |lanes: &[i64]| lanes.iter().map(|o| o.wrapping_sub(lanes[0])).collect();
                let mut rows = offsets.chunks(row).map(from_first);
                let first: Arc<[i64]> = rows.next()?;
                rows.all(|other| other == first).then_some(first)
            }
            Lanes::Varying => None,
        }
    }

    /// Of scalars, by rows.
    fn rows(offsets: Arc<[i64]>) -> Fact {
        Fact { lanes: Lanes::Rows(offsets), ..Fact::varying() }
    }

    fn meet(&self, other: &Fact, row: Option<usize>) -> Fact {
        if self.lanes != other.lanes {
            let alike = row.and_then(|row| Some((self.in_row(row)?, other.in_row(row)?)));
            return match alike {
                Some((a, b)) if a == b => Fact::rows(a),
                _ => Fact::varying(),
            };
        }
        Fact {
            lanes: self.lanes.clone(),
            align: self.align.min(other.align),
            // Anything between would be met step by step.
            most: if self.most == other.most { self.most } else { u64::MAX },
            value: self.value.filter(|v| other.value == Some(*v)),
        }
    }
}

/// The facts of a kernel.
#[derive(Clone, Debug)]
pub struct Facts {
    /// By value.
    pub of: Vec<Fact>,
    /// Extensions that are even only if nothing wraps between the lanes, which has to be checked where they are.
    pub wraps: Vec<bool>,
    /// Lanes in a group.
    pub width: u32,
    /// Lanes in a row of it.
    pub row: u32,
}

struct Analysis<'a> {
    func: &'a Function,
    plan: &'a Plan,
    assume: Assume,
    speculation: Speculation,
    of: Vec<Option<Fact>>,
    wraps: Vec<bool>,
}

/// Whether lanes lie alike in every group: each place of a thread in its block is an origin and a constant for each lane.
pub(crate) fn is_regular(assume: Assume) -> bool {
    [Axis::X, Axis::Y, Axis::Z].into_iter().all(|a| place(Special::Tid(a), assume).is_some())
}

/// Where a thread is in a block of known size, if its lanes lie alike in every group.
fn place(s: Special, assume: Assume) -> Option<Fact> {
    let [x, y, z] = assume.block?.map(u64::from);
    let (w, threads) = (u64::from(assume.group), x * y * z);
    if threads == 0 || threads > MOST_THREADS {
        return None;
    }
    let of = |thread: u64| match s {
        // Lanes of a group that is not whole go on along x.
        Special::Tid(Axis::X) if y * z == 1 => thread,
        Special::Tid(Axis::X) => thread % x,
        Special::Tid(Axis::Y) => thread / x % y,
        Special::Tid(Axis::Z) => thread / x / y,
        Special::LaneId => thread % 32,
        _ => thread / 32,
    };
    let offsets: Arc<[i64]> = (0..w).map(|lane| of(lane) as i64).collect();
    let mut fact = Fact { lanes: Lanes::Spread(offsets.clone()), align: 64, most: 0, value: None };
    for first in (0..threads).step_by(w as usize) {
        let origin = of(first);
        fact.align = fact.align.min(origin.trailing_zeros());
        fact.most = fact.most.max(origin);
        let alike = |lane: u64| of(first + lane) as i64 == origin as i64 + offsets[lane as usize];
        if !(0..w.min(threads - first)).all(alike) {
            return None;
        }
    }
    fact.value = (fact.most == 0).then_some(0);
    Some(fact)
}

/// Whether others can tell that an op was run: then its block cannot be run again.
pub(crate) fn is_effect(op: &Op) -> bool {
    match op {
        Op::Load(mem) => mem.order != Order::Weak,
        op => op.has_effect(),
    }
}

impl Facts {
    /// Finds them, for groups of as many lanes as `assume` says.
    pub fn new(func: &Function, plan: &Plan, assume: Assume, speculation: Speculation) -> Facts {
        let len = func.types.len();
        let mut a =
            Analysis { func, plan, assume, speculation, of: vec![None; len], wraps: vec![false; len] };
        // Facts only go down, in few steps each; the bound is for what nobody thought of.
        for round in 0.. {
            let mut changed = false;
            for b in &plan.order {
                changed |= a.block(*b, round > 64);
            }
            if !changed {
                break;
            }
        }
        let mut of: Vec<Fact> = a.of.into_iter().map(|f| f.unwrap_or_else(Fact::varying)).collect();
        for (fact, ty) in of.iter_mut().zip(&func.types) {
            // One bit is no origin.
            if ty.elem == Elem::I1 && fact.lanes != Lanes::Uniform {
                *fact = Fact::varying();
            }
        }
        Facts { of, wraps: a.wraps, width: assume.group, row: assume.row() }
    }

    /// What is known of a value.
    pub fn get(&self, v: Value) -> &Fact {
        &self.of[v.index()]
    }

    /// How many of it are kept.
    pub fn extent(&self, v: Value) -> Extent {
        match self.get(v).lanes {
            Lanes::Uniform | Lanes::Spread(_) => Extent::Group,
            Lanes::Rows(_) => Extent::Rows,
            Lanes::Varying => Extent::Lanes,
        }
    }

    /// Whether it is kept once for the group.
    pub fn is_narrow(&self, v: Value) -> bool {
        self.extent(v) == Extent::Group
    }

    /// How far the lanes of a row are from its first, if it is kept once for each row.
    pub fn in_row(&self, v: Value) -> Option<&Arc<[i64]>> {
        match &self.get(v).lanes {
            Lanes::Rows(offsets) => Some(offsets),
            _ => None,
        }
    }

    /// Whether it is the same in all lanes.
    pub fn is_uniform(&self, v: Value) -> bool {
        self.get(v).lanes == Lanes::Uniform
    }

    /// How far lanes are from each other in a value that the frame has for each of them.
    pub(crate) fn distances(&self, v: Value) -> Option<Arc<[i64]>> {
        match &self.get(v).lanes {
            Lanes::Spread(offsets) if self.shape(v) == Shape::Varying => Some(offsets.clone()),
            Lanes::Rows(offsets) => Some(offsets.clone()),
            _ => None,
        }
    }

    /// The value as the engines' frame has it where only lane 0's is written.
    pub fn shape(&self, v: Value) -> Shape {
        match self.get(v).from_first() {
            _ if self.is_uniform(v) => Shape::Uniform,
            Some(offsets) => {
                let stride = offsets.get(1).copied().unwrap_or(0);
                let even =
                    (0i64..).zip(&offsets).all(|(l, o)| *o == stride.wrapping_mul(l % i64::from(self.row)));
                match even && stride != 0 {
                    true => Shape::Affine { stride, may_wrap: false, by_row: false },
                    false => Shape::Varying,
                }
            }
            None => Shape::Varying,
        }
    }
}

impl Analysis<'_> {
    fn block(&mut self, b: Block, give_up: bool) -> bool {
        let (func, mut changed) = (self.func, false);
        let data = func.block(b);
        for i in &data.insts {
            let Some(r) = i.result else { continue };
            let new = self.result(b, i, r);
            changed |= self.lower_to(r, new, give_up);
        }
        for t in data.term.targets() {
            for (p, arg) in func.block(t.block).params.iter().zip(&t.args) {
                let Some(mut new) = self.of[arg.index()].clone() else { continue };
                if self.plan.by_control[p.index()] {
                    new = Fact::varying();
                }
                let new = self.of[p.index()].as_ref().map_or(new.clone(), |old| old.meet(&new, self.row()));
                let new = self.at_least_planned(*p, new);
                changed |= self.lower_to(*p, Some(new), give_up);
            }
        }
        changed
    }

    fn lower_to(&mut self, v: Value, new: Option<Fact>, give_up: bool) -> bool {
        let old = &self.of[v.index()];
        if new == *old || new.is_none() {
            return false;
        }
        // From known to known only downwards.
        let mut new = match (old, new) {
            (Some(old), Some(new)) => {
                let met = old.meet(&new, self.row());
                self.at_least_planned(v, met)
            }
            (_, new) => new.unwrap_or_else(Fact::varying),
        };
        if give_up {
            (new.align, new.most, new.value) = (0, u64::MAX, None);
        }
        let changed = self.of[v.index()].as_ref() != Some(&new);
        self.of[v.index()] = Some(new);
        changed
    }

    /// What the plan says holds, too.
    fn at_least_planned(&self, v: Value, fact: Fact) -> Fact {
        let elem = self.func.ty(v).elem;
        match self.plan.shape[v.index()] {
            Shape::Uniform if fact.lanes != Lanes::Uniform => Fact::uniform(elem),
            Shape::Affine { stride, may_wrap: false, by_row: false } if fact.lanes == Lanes::Varying => {
                let row = i64::from(self.assume.row());
                let lanes = (0..i64::from(self.assume.group)).map(|l| l % row * stride).collect();
                Fact { lanes: Lanes::Spread(lanes), align: 0, most: u64::MAX, value: None }
            }
            _ => fact,
        }
    }

    fn result(&mut self, b: Block, i: &Inst, r: Value) -> Option<Fact> {
        let ty = self.func.ty(r);
        if let Op::Const(bits) = i.op {
            return Some(if ty.count == 1 { Fact::constant(bits) } else { Fact::uniform(Elem::I64) });
        }
        let args: Option<Vec<Fact>> = i.args.iter().map(|a| self.of[a.index()].clone()).collect();
        let args = args?;
        let mut fact = match i.op {
            Op::Special(s) => self.special(s, ty.elem),
            Op::ActiveMask if self.all_run(b) => Fact::constant(u64::from(u32::MAX)),
            _ if ty.count != 1 || ty.is_float() => Fact::varying(),
            // Of conditions, where they are known in every lane: for what is selected by them.
            _ if ty.elem == Elem::I1 => {
                let fact = self.pure(i, ty, &args).filter(|f| f.value.is_some());
                fact.unwrap_or_else(Fact::varying)
            }
            Op::Zext | Op::Sext => self.extend(b, i, r, &args[0]),
            _ => self.pure(i, ty, &args).unwrap_or_else(Fact::varying),
        };
        let elem = if ty.count == 1 { ty.elem } else { Elem::I64 };
        if self.plan.shape[r.index()] == Shape::Uniform && fact.lanes != Lanes::Uniform {
            // Where lanes differ by nothing the origin says it all.
            fact = if fact.is_same() { Fact { lanes: Lanes::Uniform, ..fact } } else { Fact::uniform(elem) };
        }
        if fact.lanes == Lanes::Uniform && self.plan.shape[r.index()] != Shape::Uniform {
            // Whether it is uniform is the plan's to say.
            let zeros = vec![0; self.assume.group as usize].into();
            fact.lanes = if i.op.is_pure() { Lanes::Spread(zeros) } else { Lanes::Varying };
        }
        if self.plan.by_control[r.index()] {
            fact = Fact::varying();
        }
        Some(self.at_least_planned(r, fact))
    }

    /// Whether a warp that runs a block has all of its lanes there.
    fn all_run(&self, b: Block) -> bool {
        self.assume.group == 32 && self.assume.whole && !self.plan.masked[b.index()]
    }

    fn special(&self, s: Special, elem: Elem) -> Fact {
        if let Special::Tid(_) | Special::LaneId | Special::WarpId = s
            && let Some(fact) = place(s, self.assume)
        {
            return fact;
        }
        let w = self.assume.group;
        let number = || -> Arc<[i64]> { (0..i64::from(w)).collect() };
        let log = w.trailing_zeros();
        match s {
            Special::Tid(Axis::X) if self.assume.contiguous_x && self.assume.rows == 1 => {
                // Groups begin at multiples of their width.
                let most = self.assume.block.map_or(1023, |b| u64::from(b[0].max(1) - 1)) >> log << log;
                Fact { lanes: Lanes::Spread(number()), align: log, most, value: None }
            }
            Special::LaneId if w == 32 => {
                Fact { lanes: Lanes::Spread(number()), align: 64, most: 0, value: Some(0) }
            }
            Special::LaneId if w < 32 => {
                Fact { lanes: Lanes::Spread(number()), align: log, most: 31, value: None }
            }
            Special::Tid(axis) if let (Some(row), true) = (self.row(), self.assume.contiguous_x) => {
                Fact::rows((0..row as i64).map(|lane| if axis == Axis::X { lane } else { 0 }).collect())
            }
            Special::Tid(_) | Special::LaneId => Fact::varying(),
            Special::Ntid(a) => match self.assume.block {
                Some([x, y, z]) => Fact::constant(u64::from(match a {
                    Axis::X => x,
                    Axis::Y => y,
                    Axis::Z => z,
                })),
                None => Fact { most: 1024, ..Fact::uniform(elem) },
            },
            Special::Ctaid(axis)
                if let (true, Some(block)) = (self.assume.numbers_fit, self.assume.block) =>
            {
                let threads = u64::from(block[axis as usize].max(1));
                Fact { most: (1 << 31) / threads - 1, ..Fact::uniform(elem) }
            }
            Special::Ctaid(_) | Special::Nctaid(_) => Fact { most: i32::MAX as u64, ..Fact::uniform(elem) },
            Special::WarpId | Special::NWarpId => Fact { most: 32, ..Fact::uniform(elem) },
            _ => Fact::uniform(elem),
        }
    }

    fn extend(&mut self, b: Block, i: &Inst, r: Value, arg: &Fact) -> Fact {
        let from = self.func.ty(i.args[0]);
        self.wraps[r.index()] = false;
        if from.elem == Elem::I1 {
            return Fact::varying();
        }
        let positive = from.elem.mask() >> 1;
        let offsets = match &arg.lanes {
            Lanes::Varying => return Fact::varying(),
            Lanes::Uniform if arg.most <= positive || i.op == Op::Zext => return arg.clone(),
            Lanes::Uniform => return Fact { most: u64::MAX, value: None, ..arg.clone() },
            Lanes::Rows(offsets) if offsets.iter().all(|o| *o == 0) => return arg.clone(),
            Lanes::Spread(offsets) | Lanes::Rows(offsets) => offsets,
        };
        let (low, high) = offsets.iter().fold((0, 0), |(l, h): (i64, i64), o| (l.min(*o), h.max(*o)));
        let fits = low >= 0 && arg.most.checked_add(high as u64).is_some_and(|m| m <= positive);
        if fits {
            return arg.clone();
        }
        if self.speculation == Speculation::Off {
            return Fact::varying();
        }
        let first_effect = self.func.block(b).insts.iter().position(|i| is_effect(&i.op));
        let here = self.func.block(b).insts.iter().position(|other| other.result == i.result);
        if first_effect.is_some_and(|first| here.is_none_or(|here| here > first)) {
            return Fact::varying();
        }
        self.wraps[r.index()] = true;
        // The origin of what did not wrap may still be negative.
        let known = i.op == Op::Zext && low >= 0;
        Fact {
            most: if known { arg.most } else { u64::MAX },
            value: None,
            align: 0,
            lanes: arg.lanes.clone(),
        }
    }

    /// Lanes in a row, if there are several rows.
    fn row(&self) -> Option<usize> {
        (self.assume.rows > 1).then(|| self.assume.row() as usize)
    }

    fn pure(&self, i: &Inst, ty: Type, args: &[Fact]) -> Option<Fact> {
        if !i.op.is_pure() || args.is_empty() || args.iter().any(|a| a.lanes == Lanes::Varying) {
            return None;
        }
        let rows = args.iter().any(|a| matches!(a.lanes, Lanes::Rows(_)));
        let in_group = if rows { None } else { self.in_group(i, ty, args).or_else(|| self.same(ty, args)) };
        in_group.map(Fact::bounded).or_else(|| self.in_rows(i, ty, args))
    }

    /// Of what does not differ between lanes, though the plan does not know.
    fn same(&self, ty: Type, args: &[Fact]) -> Option<Fact> {
        let same = args.iter().all(Fact::is_same) && args.iter().any(|a| a.lanes != Lanes::Uniform);
        let zeros = || Lanes::Spread(vec![0; self.assume.group as usize].into());
        (same && ty.elem != Elem::I1).then(|| Fact { lanes: zeros(), ..Fact::varying() })
    }

    /// How lanes of a row differ, where rows may differ by anything.
    fn in_rows(&self, i: &Inst, ty: Type, args: &[Fact]) -> Option<Fact> {
        let row = self.row()?;
        if i.args.iter().any(|a| self.func.ty(*a).count != 1) {
            return None;
        }
        let each: Vec<Arc<[i64]>> = args.iter().map(|a| a.in_row(row)).collect::<Option<_>>()?;
        if each.iter().all(|offsets| offsets.iter().all(|o| *o == 0)) {
            return Some(Fact::rows(vec![0; row].into()));
        }
        let unused = 64 - ty.elem.bits();
        let make =
            |f: &dyn Fn(usize) -> i64| Some(Fact::rows((0..row).map(|l| f(l) << unused >> unused).collect()));
        let constant = |n: usize| args[n].value.filter(|_| args[n].lanes == Lanes::Uniform);
        match i.op {
            Op::Int(IntBin::Add) => make(&|l| each[0][l].wrapping_add(each[1][l])),
            Op::Int(IntBin::Sub) => make(&|l| each[0][l].wrapping_sub(each[1][l])),
            Op::Int(IntBin::Mul) => match (constant(0), constant(1)) {
                (_, Some(by)) => make(&|l| each[0][l].wrapping_mul(by as i64)),
                (Some(by), _) => make(&|l| each[1][l].wrapping_mul(by as i64)),
                _ => None,
            },
            Op::Int(IntBin::Shl) => {
                let by = constant(1).filter(|by| *by < u64::from(ty.elem.bits()))?;
                make(&|l| each[0][l] << by)
            }
            Op::IntUn(IntUn::Neg) => make(&|l| each[0][l].wrapping_neg()),
            Op::Trunc => make(&|l| each[0][l]),
            _ => None,
        }
    }

    fn in_group(&self, i: &Inst, ty: Type, args: &[Fact]) -> Option<Fact> {
        let (w, elem) = (self.assume.group as usize, ty.elem);
        let spread = args.iter().any(|a| matches!(a.lanes, Lanes::Spread(_)));
        let types: Vec<Type> = i.args.iter().map(|a| self.func.ty(*a)).collect();
        let scalars = types.iter().all(|t| t.count == 1);
        let unused = 64 - elem.bits();
        // All known: so is the result, lane by lane.
        let known: Option<Vec<u64>> = args.iter().map(|a| a.value).collect();
        if let (Some(_), true) = (&known, scalars) {
            let mut lanes = vec![];
            for l in 0..if spread { w } else { 1 } {
                let of = |(a, t): (&Fact, &Type)| {
                    [a.value.unwrap_or(0).wrapping_add_signed(a.offset(l)) & t.elem.mask()]
                };
                let each: Vec<[u64; 1]> = args.iter().zip(&types).map(of).collect();
                let each: Vec<&[u64]> = each.iter().map(|e| e.as_slice()).collect();
                lanes.push(eval_op(i.op, &each, &types, ty, 1)?[0]);
            }
            if !spread {
                return Some(Fact::constant(lanes[0]));
            }
            let offsets: Arc<[i64]> = lanes.iter().map(|v| (*v << unused) as i64 >> unused).collect();
            return Some(Fact { lanes: Lanes::Spread(offsets), align: 64, most: 0, value: Some(0) });
        }
        // As a signed number of the type: whatever is added modulo its width.
        let make = |f: &dyn Fn(usize) -> i64| -> Lanes {
            match spread {
                true => Lanes::Spread((0..w).map(|l| f(l) << unused >> unused).collect()),
                false => Lanes::Uniform,
            }
        };
        let bound = |most: Option<u64>| most.filter(|m| *m <= elem.mask()).unwrap_or(u64::MAX);
        let (a, b) = (args.first()?, args.get(1));
        // Offsets of a value whose low bits are those of its offset alone: the origin is a multiple of a power of two that they stay below.
        let low_bits = |f: &Fact| {
            let most =
                (0..w).map(|l| f.offset(l)).fold(0, |m: i64, o| if o < 0 { i64::MAX } else { m.max(o) });
            (most as u64) < 1 << f.align.min(elem.bits()).min(62)
        };
        Some(match (i.op, b) {
            (Op::Int(IntBin::Add), Some(b)) => Fact {
                lanes: make(&|l| a.offset(l).wrapping_add(b.offset(l))),
                align: a.align.min(b.align),
                most: bound(a.most.checked_add(b.most)),
                value: None,
            },
            (Op::Int(IntBin::Sub), Some(b)) => Fact {
                lanes: make(&|l| a.offset(l).wrapping_sub(b.offset(l))),
                align: a.align.min(b.align),
                most: u64::MAX,
                value: None,
            },
            (Op::Int(op @ (IntBin::Mul | IntBin::Shl)), Some(b)) => {
                let (x, factor) = match (op, a.value, b.value) {
                    (IntBin::Mul, _, Some(f)) if b.lanes == Lanes::Uniform => (a, f),
                    (IntBin::Mul, Some(f), _) if a.lanes == Lanes::Uniform => (b, f),
                    (IntBin::Shl, _, Some(by)) if b.lanes == Lanes::Uniform => {
                        (a, if by < u64::from(elem.bits()) { 1 << by } else { 0 })
                    }
                    _ if !spread && op == IntBin::Mul => {
                        let align = a.align.saturating_add(b.align).min(64);
                        return Some(Fact {
                            align,
                            most: bound(a.most.checked_mul(b.most)),
                            ..Fact::uniform(elem)
                        });
                    }
                    _ => return None,
                };
                let signed = (factor << (64 - elem.bits())) as i64 >> (64 - elem.bits());
                Fact {
                    lanes: make(&|l| x.offset(l).wrapping_mul(signed)),
                    align: x.align.saturating_add(factor.trailing_zeros()).min(64),
                    most: bound(x.most.checked_mul(factor)),
                    value: None,
                }
            }
            (Op::Int(IntBin::And), Some(b)) if !spread || [a, b].iter().any(|f| f.is_constant()) => {
                let (x, mask) = match (a.value, b.value) {
                    (_, Some(m)) if b.lanes == Lanes::Uniform => (a, m),
                    (Some(m), _) if a.lanes == Lanes::Uniform => (b, m),
                    _ => return None,
                };
                if !low_bits(x) {
                    return None;
                }
                let origin_is_gone = x.align >= 64 - mask.leading_zeros();
                Fact {
                    lanes: make(&|l| x.offset(l) & mask as i64),
                    align: if origin_is_gone { 64 } else { x.align.max(mask.trailing_zeros()) },
                    most: if origin_is_gone { 0 } else { x.most.min(mask) },
                    value: origin_is_gone.then_some(0),
                }
            }
            (Op::Int(op @ (IntBin::And | IntBin::Xor | IntBin::Or)), Some(b)) if spread => {
                // The bits below the alignment of both change the lanes' constants, those above it the origin.
                let known = |f: &Fact| f.value.filter(|_| f.is_constant());
                let aligned = |f: &Fact| known(f).map_or(f.align, |_| u32::MAX);
                let align = aligned(a).min(aligned(b)).min(62);
                let low = (1u64 << align) - 1;
                let fits =
                    |f: &Fact| known(f).is_some() || (0..w).all(|l| (0..=low as i64).contains(&f.offset(l)));
                if !fits(a) || !fits(b) {
                    return None;
                }
                let lane = |f: &Fact, l: usize| known(f).map_or(f.offset(l), |v| (v & low) as i64);
                let origin = |f: &Fact| known(f).unwrap_or(f.most) & !low;
                let (x, y) = (origin(a), origin(b));
                Fact {
                    lanes: make(&|l| match op {
                        IntBin::And => lane(a, l) & lane(b, l),
                        IntBin::Xor => lane(a, l) ^ lane(b, l),
                        _ => lane(a, l) | lane(b, l),
                    }),
                    align,
                    most: match op {
                        IntBin::And => x.min(y),
                        _ => (u64::MAX >> x.max(y).leading_zeros().min(63)) & !low,
                    },
                    value: None,
                }
            }
            (Op::Int(op @ (IntBin::ShrU | IntBin::ShrS)), Some(b)) => {
                let by = b.value.filter(|by| b.lanes == Lanes::Uniform && *by < u64::from(elem.bits()))?;
                // What lanes add to the origin carries into no other bit of it.
                if spread && !low_bits(a) {
                    return None;
                }
                let most = if a.most > elem.mask() { elem.mask() } else { a.most };
                let positive = op == IntBin::ShrU || most <= elem.mask() >> 1;
                Fact {
                    lanes: make(&|l| a.offset(l) >> by),
                    align: a.align.saturating_sub(by as u32),
                    most: if positive { most >> by } else { u64::MAX },
                    value: None,
                }
            }
            (Op::Int(op @ (IntBin::MinU | IntBin::MinS | IntBin::MaxU | IntBin::MaxS)), Some(b)) => {
                let (x, bound) = match (a.value, b.value) {
                    (_, Some(_)) if b.lanes == Lanes::Uniform => (a, b),
                    (Some(_), _) if a.lanes == Lanes::Uniform => (b, a),
                    _ => return None,
                };
                // Only of numbers that are not negative either way.
                let offsets = (0..w).map(|l| x.offset(l));
                let (low, high) = offsets.fold((0, 0), |(l, h): (i64, i64), o| (l.min(o), h.max(o)));
                let most = x.most.checked_add(high as u64).filter(|m| low >= 0 && *m <= elem.mask() >> 1)?;
                if bound.value.is_none_or(|c| c < most || c > elem.mask() >> 1) {
                    return None;
                }
                match op {
                    IntBin::MinU | IntBin::MinS => x.clone(),
                    _ => bound.clone(),
                }
            }
            (Op::IntUn(IntUn::Neg), _) => Fact {
                lanes: make(&|l| a.offset(l).wrapping_neg()),
                align: a.align,
                most: u64::MAX,
                value: None,
            },
            (Op::Trunc, _) => {
                Fact { lanes: make(&|l| a.offset(l)), align: a.align, most: bound(Some(a.most)), value: None }
            }
            _ => return None,
        })
    }
}
