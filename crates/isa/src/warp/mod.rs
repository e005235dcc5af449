//! Among the lanes of a warp: `shfl.sync vote.sync match.sync activemask redux.sync elect.sync`.

pub mod activemask;
pub mod redux;
pub mod shfl;
pub mod vote;

use crate::{Cx, Room, Unspecified};
use hostwarp_ir::{IntBin, IntCmp, Op, Special, Target, Term, Type, Value};

/// The rooms of this family.
pub static ROOMS: &[Room] =
    &[shfl::ROOM, vote::ROOM, redux::MATCH_SYNC, activemask::ROOM, redux::REDUX_SYNC, redux::ELECT_SYNC];

/// The lanes that are to take part; nothing if they are those that happen to run together.
fn members(cx: &mut Cx<'_>) -> Option<Value> {
    cx.given("membermask").then(|| cx.src("membermask"))
}

/// A lane that meets others must be in its own mask.
pub(crate) fn in_own_mask(cx: &mut Cx<'_>, mask: Value) {
    if cx.strict {
        let lane = cx.b.special(Special::LaneId);
        let own = cx.b.int(IntBin::ShrU, mask, lane);
        let own = cx.b.int_imm(IntBin::And, own, 1);
        let absent = cx.b.cmp_imm(IntCmp::Eq, own, 0);
        cx.unspecified(Unspecified::NotInMask, absent, mask);
    }
}

/// As [`among`], all of `mask`.
pub(crate) fn together(
    cx: &mut Cx<'_>,
    mask: Value,
    types: &[Type],
    body: impl FnOnce(&mut Cx<'_>) -> Vec<Value>,
) -> Vec<Value> {
    among(cx, Some(mask), types, |cx, _| body(cx))
}

/// Brings the lanes in `mask` together (without one: takes those that are) and runs `body` in them, which is told who they are; the results are 0 where the
/// guard does not hold. Lanes that do not take part must not be seen by `body`, so here a guard is a branch.
fn among(
    cx: &mut Cx<'_>,
    mask: Option<Value>,
    types: &[Type],
    body: impl FnOnce(&mut Cx<'_>, Value) -> Vec<Value>,
) -> Vec<Value> {
    let meet = |cx: &mut Cx<'_>| {
        let Some(mask) = mask else {
            let running = cx.b.inst(Op::ActiveMask, &[], Type::I32);
            return body(cx, running);
        };
        in_own_mask(cx, mask);
        let next = cx.b.new_block();
        cx.b.terminate(Term::WarpSync { mask, next: Target::new(next) });
        cx.b.switch_to(next);
        body(cx, mask)
    };
    let Some(guard) = cx.guard else { return meet(cx) };
    let results: Vec<_> = types.iter().map(|t| cx.b.new_var(*t)).collect();
    for (var, ty) in results.iter().zip(types) {
        let zero = cx.b.iconst(*ty, 0);
        cx.b.set(*var, zero);
    }
    let (act, after) = (cx.b.new_block(), cx.b.new_block());
    cx.b.branch(guard, act, after);
    cx.b.switch_to(act);
    let values = meet(cx);
    for (var, v) in results.iter().zip(values) {
        cx.b.set(*var, v);
    }
    cx.b.jump(after);
    cx.b.switch_to(after);
    results.into_iter().map(|var| cx.b.get(var)).collect()
}
