//! Among the lanes of a warp: `shfl.sync vote.sync match.sync activemask redux.sync elect.sync`.

pub mod activemask;
pub mod redux;
pub mod shfl;
pub mod vote;

use crate::{Cx, Room};
use hostwarp_ir::{Target, Term, Type, Value};

/// The rooms of this family.
pub static ROOMS: &[Room] =
    &[shfl::ROOM, vote::ROOM, redux::MATCH_SYNC, activemask::ROOM, redux::REDUX_SYNC, redux::ELECT_SYNC];

/// Brings the lanes in `mask` together and runs `body` in them; the results are 0 where the guard does not hold. Lanes that do
/// not take part must not be seen by `body`, so here a guard is a branch.
pub(crate) fn together(
    cx: &mut Cx<'_>,
    mask: Value,
    types: &[Type],
    body: impl FnOnce(&mut Cx<'_>) -> Vec<Value>,
) -> Vec<Value> {
    let meet = |cx: &mut Cx<'_>| {
        let next = cx.b.new_block();
        cx.b.terminate(Term::WarpSync { mask, next: Target::new(next) });
        cx.b.switch_to(next);
        body(cx)
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
