//! Comparisons with a bound, as at the end of the data: evenly spaced against uniform, for a branch. Two lanes tell about all.

use std::cmp::Ordering;

use hostwarp_ir::{Block, Inst, IntCmp, Op, Special, Target, Term, Value};
use hostwarp_plan::Shape as Spread;

use super::{Emitter, Known, Reg, Shape, Text};

impl Emitter<'_> {
    /// A comparison of something evenly spaced with something uniform that only the branch at the end of the block needs. It goes the
    /// same way in all lanes if it does in the first and the last; only where it does not, all lanes are looked at.
    pub(super) fn find_lazy_compare(&self, b: Block) -> Option<Value> {
        let data = self.func.block(b);
        let Term::Branch(c, ..) = &data.term else { return None };
        let (at, n) = self.maker[c.index()].filter(|(at, _)| *at == b)?;
        let inst = &self.func.block(at).insts[n];
        let ordered = matches!(inst.op, Op::Cmp(IntCmp::LtU | IntCmp::LeU | IntCmp::LtS | IntCmp::LeS));
        let [x, y] = inst.args[..] else { return None };
        // Not so steep that it could wrap twice.
        let even = |v: Value| match self.spread(v) {
            Spread::Affine { stride, may_wrap: false, by_row: false } if stride > 0 => {
                let whole = u128::from(stride.unsigned_abs()) * u128::from(self.row());
                whole < 1 << (self.ty(v).bits() - 1)
            }
            _ => false,
        };
        let uniform = |v: Value| self.spread(v) == Spread::Uniform;
        let scalar = self.ty(x).count == 1;
        let others = data.insts.iter().any(|i| i.args.contains(c) || i.guard == Some(*c));
        let handed = data.term.targets().iter().any(|t| t.args.contains(c));
        let even = scalar && (even(x) && uniform(y) || uniform(x) && even(y));
        let fits = ordered && even && !self.is_by_lane(*c) || self.parts[b.index()].is_some();
        (fits && !others && !handed && !self.crosses[c.index()]).then_some(*c)
    }

    /// The lanes of a [comparison](Emitter::find_lazy_compare) that goes one way in the first and another in the last.
    pub(super) fn compare_apart(&mut self, b: Block, c: Value) {
        let func = self.func;
        let Some((_, n)) = self.maker[c.index()] else { return };
        let inst = &func.block(b).insts[n];
        let Op::Cmp(op) = inst.op else { return };
        let (x, y) = (inst.args[0], inst.args[1]);
        if !self.counts_lanes(x, y) {
            // It cannot fail where it could be made for one lane.
            let _ = self.pure(inst);
            return;
        }
        // From lane to lane it is one more, so the difference says how many lanes are on this side.
        let (w, lanes, one) = (self.w, self.lanes(), self.one(self.ty(x)));
        let or_equal = matches!(op, IntCmp::LeU | IntCmp::LeS);
        let below = self.spread(y) == Spread::Uniform;
        let (first, bound) = if below { (x, y) } else { (y, x) };
        let (first, bound) = (self.scalar(first), self.scalar(bound));
        let mut count = self.t.binary("sub", one, &bound, &first);
        if or_equal == below {
            count = self.t.binary("add", one, &count, "1");
        }
        let count = self.fit_lanes(one, &count);
        let mut bits = self.t.inst(format_args!("shl i{w} -1, {count}"));
        if below {
            bits = self.t.inst(format_args!("xor i{w} {bits}, -1"));
        }
        let vector = self.t.inst(format_args!("bitcast i{w} {bits} to {lanes}"));
        self.known.insert(c, Known { vector: Some(vector), ..Known::default() });
    }

    /// The lanes in which something that goes up by one equals something uniform, or all the others: it can be one lane only, and a
    /// difference says which. Not for few lanes, which are as soon compared.
    pub(super) fn equals_in_one_lane(&mut self, inst: &Inst) -> Option<Reg> {
        let Op::Cmp(op @ (IntCmp::Eq | IntCmp::Ne)) = inst.op else { return None };
        let [x, y] = inst.args[..] else { return None };
        let (v, other) = if self.spread(x) == Spread::Uniform { (y, x) } else { (x, y) };
        let by_one = matches!(self.spread(v), Spread::Affine { stride: 1, may_wrap: false, by_row: false });
        let fits = by_one && self.spread(other) == Spread::Uniform && self.rows == 1;
        if !fits || self.ty(v).count != 1 || self.w < 64 {
            return None;
        }
        let (w, lanes, one) = (self.w, self.lanes(), self.one(self.ty(v)));
        let (first, other) = (self.scalar(v), self.scalar(other));
        let lane = self.t.binary("sub", one, &other, &first);
        let there = self.t.compare("icmp ult", one, &lane, &Text::constant(one, w.into()));
        let lane = self.fit_lanes(one, &lane);
        let bit = self.t.inst(format_args!("shl i{w} 1, {lane}"));
        let mut bits = self.t.inst(format_args!("select i1 {there}, i{w} {bit}, i{w} 0"));
        if op == IntCmp::Ne {
            bits = self.t.inst(format_args!("xor i{w} {bits}, -1"));
        }
        Some(self.t.inst(format_args!("bitcast i{w} {bits} to {lanes}")))
    }

    /// A number as one with a bit for each lane.
    fn fit_lanes(&mut self, one: Shape, number: &str) -> Reg {
        let (bits, w) = (one.elem.bits(), self.w);
        match bits.cmp(&w) {
            Ordering::Less => self.t.inst(format_args!("zext i{bits} {number} to i{w}")),
            Ordering::Equal => number.to_owned(),
            Ordering::Greater => self.t.inst(format_args!("trunc i{bits} {number} to i{w}")),
        }
    }

    /// Whether the lanes on each side of a [comparison](Emitter::find_lazy_compare) follow from a difference: it goes up by one, and that it
    /// does not wrap has been made sure of.
    fn counts_lanes(&self, x: Value, y: Value) -> bool {
        let v = if self.spread(x) == Spread::Uniform { y } else { x };
        let by_one = matches!(self.spread(v), Spread::Affine { stride: 1, .. });
        self.rows == 1 && by_one && (self.is_tid(v) || self.careful.is_some())
    }

    /// The number of a thread is far from where numbers end.
    fn is_tid(&self, v: Value) -> bool {
        matches!(self.remade[v.index()], Some(Op::Special(Special::Tid(_))))
    }

    /// Branches as the [comparison](Emitter::find_lazy_compare) goes in the first lane and the last, if it goes the same way, and to `apart` if
    /// not.
    pub(super) fn try_uniform_compare(&mut self, b: Block, c: Value, yes: &Target, no: &Target, apart: &str) {
        let func = self.func;
        let Some((_, n)) = self.maker[c.index()] else { return };
        let inst = &func.block(b).insts[n];
        let Op::Cmp(op) = inst.op else { return };
        let (x, y) = (inst.args[0], inst.args[1]);
        let one = self.one(self.ty(x));
        let (name, signed) = match op {
            IntCmp::LtU => ("icmp ult", false),
            IntCmp::LeU => ("icmp ule", false),
            IntCmp::LtS => ("icmp slt", true),
            _ => ("icmp sle", true),
        };
        let (first_x, first_y) = (self.scalar(x), self.scalar(y));
        let mut no_wrap = None;
        let mut last = |e: &mut Self, v: Value, first: &str| match e.spread(v) {
            Spread::Affine { stride, .. } => {
                let whole = stride.wrapping_mul(i64::from(e.row()) - 1) as u64 & one.elem.mask();
                let last = e.t.binary("add", one, first, &Text::constant(one, whole));
                if !e.is_tid(v) {
                    let order = if signed { "icmp sle" } else { "icmp ule" };
                    no_wrap = Some(e.t.compare(order, one, first, &last));
                }
                last
            }
            _ => first.to_owned(),
        };
        let (last_x, last_y) = (last(self, x, &first_x), last(self, y, &first_y));
        if let Some(no_wrap) = no_wrap {
            let even = self.t.fresh_label("even");
            let wrapped = self.careful.clone().filter(|_| self.counts_lanes(x, y));
            self.t.branch_likely(&no_wrap, &even, wrapped.as_deref().unwrap_or(apart));
            self.t.label(&even);
        }
        let at_first = self.t.compare(name, one, &first_x, &first_y);
        let at_last = self.t.compare(name, one, &last_x, &last_y);
        // Towards the last lane what is less gets more, or what it is compared with does.
        let (hardest, easiest) =
            if self.spread(x) == Spread::Uniform { (at_first, at_last) } else { (at_last, at_first) };
        let [then, not_all, otherwise] = ["then", "not.all", "else"].map(|label| self.t.fresh_label(label));
        self.t.branch(&hardest, &then, &not_all);
        self.t.label(&not_all);
        self.t.branch(&easiest, apart, &otherwise);
        for (label, to) in [(then, yes), (otherwise, no)] {
            self.in_branch(&label, |e| e.go_whole(b, to));
        }
    }
}
