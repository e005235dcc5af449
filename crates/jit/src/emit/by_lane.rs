//! Values that are known when the code is written, though each lane has its own: they follow from a lane's place in its warp. So the lanes that a
//! shuffle reads from are a constant, and it becomes a permutation; and what asks which lanes are there is answered where all are.
//!
//! A group of whole warps begins with a warp's first lane, so such a value is the same in every group. It is written out where it is needed, and
//! kept nowhere but in the frame, where the interpreter looks for it.

use std::rc::Rc;

use hostwarp_ir::{Axis, Function, Inst, IntBin, Op, Special, Value, fold};
use hostwarp_plan::{Assume, Plan, Shape as Spread};

use super::{Emitter, Reg, Text};

/// What each lane of a group has.
pub(super) type Lanes = Rc<[u64]>;

/// Lanes of a warp.
const WARP: u32 = 32;

/// By value, what each lane has of it in every group.
pub(super) fn find(func: &Function, plan: &Plan, assume: Assume) -> Vec<Option<Lanes>> {
    let mut of = vec![None; func.types.len()];
    let group = assume.group;
    if !group.is_multiple_of(WARP) {
        return of;
    }
    let numbers = || (0..group).map(|lane| u64::from(lane % WARP));
    // Whether `tid.x` goes on with the number of a lane in its warp.
    let tid_follows = assume.contiguous_x && assume.row().is_multiple_of(WARP);
    let mut constant = vec![None; func.types.len()];
    let mut is_tid = vec![false; func.types.len()];
    for inst in plan.order.iter().flat_map(|b| &func.block(*b).insts) {
        let Some(r) = inst.result else { continue };
        let lanes: Option<Lanes> = match (inst.op, &inst.args[..]) {
            (Op::Const(bits), _) => {
                constant[r.index()] = Some(bits);
                None
            }
            (Op::Special(Special::LaneId), _) => Some(numbers().collect()),
            (Op::Special(Special::Tid(Axis::X)), _) => {
                is_tid[r.index()] = tid_follows;
                None
            }
            (Op::Int(op), [number, by]) if is_tid[number.index()] => {
                // The part of its number that says which lane of the warp it is, or part of that.
                let kept = match (op, constant[by.index()]) {
                    (IntBin::And, Some(mask)) => Some(mask),
                    (IntBin::RemU, Some(by)) if by.is_power_of_two() => Some(by - 1),
                    _ => None,
                };
                kept.filter(|mask| *mask < WARP.into()).map(|mask| numbers().map(|n| n & mask).collect())
            }
            _ => {
                let arg = |v: Value| match constant[v.index()] {
                    Some(bits) => Some(vec![bits; group as usize].into()),
                    None => of[v.index()].clone(),
                };
                evaluate(func, inst, arg)
            }
        };
        // What may have wrapped is looked at while running.
        let may_wrap = matches!(plan.shape[r.index()], Spread::Affine { may_wrap: true, .. });
        of[r.index()] = lanes.filter(|_| !may_wrap);
    }
    of
}

/// What an instruction makes of arguments that are known.
fn evaluate(func: &Function, inst: &Inst, arg: impl Fn(Value) -> Option<Lanes>) -> Option<Lanes> {
    let result = func.ty(inst.result?);
    let scalar = inst.args.iter().all(|a| func.ty(*a).count == 1) && result.count == 1;
    if inst.args.is_empty() || inst.guard.is_some() || !scalar {
        return None;
    }
    let args: Vec<Lanes> = inst.args.iter().map(|a| arg(*a)).collect::<Option<_>>()?;
    let ty = func.ty(inst.args[0]);
    let one = |lane: usize| {
        let here: Vec<u64> = args.iter().map(|a| a[lane]).collect();
        fold::evaluate(inst.op, ty, result, &here)
    };
    (0..args[0].len()).map(one).collect()
}

impl Emitter<'_> {
    /// What each lane has of a value, if that is known, in code for all lanes of a group.
    pub(super) fn in_each_lane(&self, v: Value) -> Option<Lanes> {
        if self.w != self.assume.group || self.ty(v).count != 1 {
            return None;
        }
        match self.constant(v) {
            Some(bits) => Some(vec![bits; self.w as usize].into()),
            None => self.by_lane[v.index()].clone().or_else(|| self.by_lane_here.get(&v).cloned()),
        }
    }

    /// Whether a value is written out wherever it is needed.
    pub(super) fn is_by_lane(&self, v: Value) -> bool {
        self.w == self.assume.group && self.by_lane[v.index()].is_some()
    }

    /// What an instruction comes to that only asks what is known. `None` if it does not.
    pub(super) fn known_result(&mut self, inst: &Inst, r: Value) -> Option<Reg> {
        if self.spread(r) != Spread::Varying {
            return None;
        }
        if let Some(lanes) = evaluate(self.func, inst, |v| self.in_each_lane(v)) {
            let text = Text::list(self.ty(r).elem, lanes.iter().copied());
            self.by_lane_here.insert(r, lanes);
            return Some(text);
        }
        if inst.op == Op::Select
            && let Some(lanes) = self.in_each_lane(inst.args[0])
            && lanes.iter().all(|c| *c == lanes[0])
        {
            return Some(self.vector(inst.args[if lanes[0] != 0 { 1 } else { 2 }]));
        }
        None
    }
}
