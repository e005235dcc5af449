//! NaN propagation of f64 on a cold path.
//!
//! Which NaN an f64 op gives ([`core::Op::Propagate`]) takes ten ops, and matters nowhere as long as there is none. So results are taken as the CPU has them,
//! and looked at before anybody else sees one: where a lane that runs holds a NaN the group leaves the block, and the interpreter does it over. Arithmetic hands a NaN
//! on, so of a chain of operations only what comes out at its end is looked at: of a dot product the sum.
//!
//! Results wait from where they are computed to the first instruction that is no such arithmetic, at most to the end of the block. Behind an effect a block cannot
//! be done over, so there every result is made as it is, as in code that relies on nothing.

use super::{Known, Lower};
use crate::facts::is_effect;
use crate::ir::{Extent, Op, Reg, Ty};
use hostwarp_ir::{self as core, Elem, FCmp, IntBin, Value};
use rustc_hash::FxHashMap;

/// Results that may be NaNs, and those of them where another one is a NaN, too.
#[derive(Default)]
pub(super) struct Unsettled {
    ends: FxHashMap<Value, Reg>,
    covered: FxHashMap<Value, Reg>,
}

impl Unsettled {
    fn contains(&self, v: &Value) -> bool {
        self.ends.contains_key(v) || self.covered.contains_key(v)
    }
}

/// Arithmetic whose result is a NaN where an operand is.
fn hands_on(op: core::Op) -> bool {
    matches!(op, core::Op::Float { .. } | core::Op::Fma { .. } | core::Op::Sqrt { .. })
}

impl Lower<'_> {
    /// Takes a result as the CPU has it for now. False if it has to be made as it is.
    pub(super) fn take_as_is(&mut self, i: &core::Inst) -> bool {
        let (core::Op::Propagate, Some(r)) = (i.op, i.result) else { return false };
        let raw = i.args[0];
        let extent = self.facts.extent(r);
        if self.exit.is_none()
            || self.ty(r).count != 1
            || extent != self.facts.extent(raw)
            || extent == Extent::Rows
        {
            return false;
        }
        let (known, now) = match extent {
            Extent::Group => {
                let now = self.narrow(raw);
                (Known::narrow(now), now)
            }
            _ => {
                let now = self.wide(raw);
                (Known { wide: Some(now), ..Known::default() }, now)
            }
        };
        if let Some((b, n)) = self.maker[raw.index()].filter(|(b, _)| *b == self.block) {
            let made = &self.func.block(b).insts[n];
            for a in made.args.iter().filter(|_| hands_on(made.op)) {
                if let Some((a, reg)) = self.unsettled.ends.remove_entry(a) {
                    self.unsettled.covered.insert(a, reg);
                }
            }
        }
        self.define(r, known);
        self.unsettled.ends.insert(r, now);
        true
    }

    /// Settles what waits before an instruction that sees any of it, or has an effect.
    pub(super) fn settle_for(&mut self, i: &core::Inst) {
        let sees = i.args.iter().chain(&i.guard).any(|a| self.unsettled.contains(a));
        let is_arithmetic = hands_on(i.op) || i.op == core::Op::Propagate;
        if is_effect(&i.op) || sees && !is_arithmetic {
            self.settle();
        }
    }

    /// Leaves the block where a result that waits is a NaN.
    pub(super) fn settle(&mut self) {
        let ends = std::mem::take(&mut self.unsettled).ends;
        let Some(exit) = self.exit.filter(|_| !ends.is_empty()) else { return };
        let [group, lanes] = [Extent::Group, Extent::Lanes].map(|extent| {
            let mut ends: Vec<Reg> =
                ends.values().copied().filter(|r| self.k.ty(*r).extent == extent).collect();
            ends.sort();
            ends.dedup();
            ends.chunks(2).fold(None, |any, pair| {
                let ty = Ty { of: self.k.ty(pair[0]).of.with(Elem::I1), extent };
                let nan = Op::Core(core::Op::FCmp(FCmp::Nan));
                let nan = self.inst(ty, nan, vec![pair[0], pair[pair.len() - 1]]);
                Some(any.map_or(nan, |any| self.int(IntBin::Or, any, nan)))
            })
        });
        let lanes = lanes.map(|lanes| {
            let lanes = match self.acting() {
                Some(mask) => self.int(IntBin::And, lanes, mask),
                None => lanes,
            };
            self.is_any(lanes)
        });
        let any = match (group, lanes) {
            (Some(a), Some(b)) => self.int(IntBin::Or, a, b),
            (one, other) => one.or(other).expect("there is one that waits"),
        };
        let fine = self.not(any);
        self.push(Op::Test(exit), vec![fine]);
    }
}
