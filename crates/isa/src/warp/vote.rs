//! `vote.sync`
//!
//! Since PTX 6.0, sm_30; without `.sync` since PTX 1.2, sm_12, gone where both PTX 6.4 and sm_70 are there.

use super::{among, members};
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{IntCmp, Op, Type, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".all .any .uni")];

/// `vote`
pub const ROOM: Room = Room {
    opcodes: &["vote"],
    title: "ask the lanes of a warp about a predicate",
    doc: "The lanes in `membermask` meet. `.all`: it is true in all of them; `.any`: in at least one; `.uni`: it is the same in all; `.ballot`: a bit for each lane, \
          0 for those that do not take part. Without `.sync` those take part that execute it together.",
    section: "9.7.13.9",
    forms: &[
        Form::new("vote.sync.mode.pred  d:pred, {!}a:pred, membermask:u32", SETS, since(60, 30)),
        Form::new("vote.sync.ballot.b32  d:b32, {!}a:pred, membermask:u32", SETS, since(60, 30)),
        Form::new("vote.mode.pred  d:pred, {!}a:pred", SETS, since(12, 12)).until(since(64, 70)),
        Form::new("vote.ballot.b32  d:b32, {!}a:pred", SETS, since(20, 20)).until(since(64, 70)),
    ],
    rule: None,
    meaning,
    notes: &[],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let (a, mask) = (cx.src("a"), members(cx));
    let ty = if cx.has(".ballot") { Type::I32 } else { Type::I1 };
    let d = among(cx, mask, &[ty], |cx, mask| {
        let yes = ballot(cx, a, mask);
        let yes = cx.name(yes, "yes");
        if cx.has(".ballot") {
            return vec![yes];
        }
        let not_a = cx.b.not(a);
        let no = ballot(cx, not_a, mask);
        let no = cx.name(no, "no");
        let none_against = cx.b.cmp_imm(IntCmp::Eq, no, 0);
        vec![match cx.get(".mode") {
            Some(".all") => none_against,
            Some(".any") => cx.b.cmp_imm(IntCmp::Ne, yes, 0),
            _ => {
                let none_for = cx.b.cmp_imm(IntCmp::Eq, yes, 0);
                cx.b.or(none_against, none_for)
            }
        }]
    });
    cx.set("d", d[0]);
    Ok(())
}

/// The lanes of `mask` in which `p` holds. Others may run beside them with a mask of their own.
fn ballot(cx: &mut Cx<'_>, p: Value, mask: Value) -> Value {
    let all = cx.b.inst(Op::Ballot, &[p], Type::I32);
    cx.b.and(all, mask)
}
