//! `bar barrier`, and `bar.warp.sync`
//!
//! Since PTX 1.0; a barrier number other than 0 and thread counts since PTX 2.0, sm_20; `barrier` since PTX 6.0, sm_30.

use crate::matching::stand_first;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{
    AtomicOp, BarrierKind, CLUSTER_BARRIER, Elem, IntCmp, Mem, Op, Order, Scope, Space, SystemCall, Target,
    Term, Type, Value,
};

const CLUSTER: &[(&str, &str)] = &[(".sem", ".release .relaxed")];
const REDUCE: &[(&str, &str)] = &[(".op", ".and .or")];

/// `bar barrier`
pub const ROOM: Room = Room {
    opcodes: &["bar", "barrier"],
    title: "wait for the other threads of the CTA, or of the warp",
    doc: "A CTA has 16 barriers. `.sync` waits until `b` threads have arrived, all of the CTA's that have not exited if `b` is not given; `.arrive` counts and goes on. \
          Memory accesses before a barrier are seen by all who waited behind it. `.red` waits too, and then says for how many of those who did `c` holds, \
          or whether for all or any. `bar.warp.sync` waits for the lanes its mask names.",
    section: "9.7.13.1",
    forms: &[
        Form::new("bar{.cta}.sync  a:u32<0..15>{, b:u32<0../32>}", &[], since(10, 10))
            .needs(&[(".cta", since(78, 30))]),
        Form::new("bar{.cta}.arrive  a:u32<0..15>, b:u32<32../32>", &[], since(20, 20))
            .needs(&[(".cta", since(78, 30))]),
        Form::new("bar{.cta}.red.popc.u32  d:u32, a:u32<0..15>, {!}c:pred", REDUCE, since(20, 20))
            .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "bar{.cta}.red.popc.u32  d:u32, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(20, 20),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new("bar{.cta}.red.op.pred  p:pred, a:u32<0..15>, {!}c:pred", REDUCE, since(20, 20))
            .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "bar{.cta}.red.op.pred  p:pred, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(20, 20),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new("bar.warp.sync  membermask:u32", &[], since(60, 30)),
        Form::new("barrier{.cta}.sync{.aligned}  a:u32<0..15>{, b:u32<0../32>}", &[], since(60, 30))
            .needs(&[(".cta", since(78, 30))]),
        Form::new("barrier{.cta}.arrive{.aligned}  a:u32<0..15>, b:u32<32../32>", &[], since(60, 30))
            .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "barrier{.cta}.red.popc{.aligned}.u32  d:u32, a:u32<0..15>, {!}c:pred",
            REDUCE,
            since(60, 30),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "barrier{.cta}.red.popc{.aligned}.u32  d:u32, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(60, 30),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "barrier{.cta}.red.op{.aligned}.pred  p:pred, a:u32<0..15>, {!}c:pred",
            REDUCE,
            since(60, 30),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new(
            "barrier{.cta}.red.op{.aligned}.pred  p:pred, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(60, 30),
        )
        .needs(&[(".cta", since(78, 30))]),
        Form::new("barrier.cluster.arrive{.sem}{.aligned}", CLUSTER, since(78, 90))
            .needs(&[(".release", since(80, 90)), (".relaxed", since(80, 90))]),
        Form::new("barrier.cluster.wait{.acquire}{.aligned}", CLUSTER, since(78, 90))
            .needs(&[(".acquire", since(80, 90))]),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".cluster", ".warp", ".cta", ".arrive", ".red", ".wait"])),
    meaning,
    notes: &[
        "A cluster is one CTA: `.cluster.wait` waits until all threads have come to it, and `.cluster.arrive` before it does nothing.",
        "`.aligned` promises that all threads of the warp execute the same barrier instruction; nothing depends on the promise.",
    ],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".cluster") && cx.has(".arrive") {
        return Ok(());
    }
    cx.synchronises();
    wait(cx);
    if !cx.has(".arrive") {
        cx.resumes(cx.guard);
    }
    Ok(())
}

fn wait(cx: &mut Cx<'_>) {
    let next = Target::new(cx.after());
    let behind = next.block;
    if cx.has(".cluster") {
        let id = cx.b.iconst(Type::I32, CLUSTER_BARRIER.into());
        cx.end(behind, Term::Barrier { kind: BarrierKind::Sync, id, count: None, next });
        return;
    }
    if cx.has(".warp") {
        let mask = cx.src("membermask");
        crate::warp::in_own_mask(cx, mask);
        cx.end(behind, Term::WarpSync { mask, next });
        return;
    }
    // Whether all hold is whether none does not.
    let op = if cx.has(".red") { cx.get(".op").or(Some(".popc")) } else { None };
    if let Some(op) = op {
        let c = cx.src("c");
        let vote = if op == ".and" { cx.b.not(c) } else { c };
        let vote = cx.b.zext(vote, Elem::I64);
        system(cx, SystemCall::Vote, vote);
    }
    let kind = if cx.has(".arrive") { BarrierKind::Arrive } else { BarrierKind::Sync };
    let count = if cx.given("b") { Some(cx.src("b")) } else { None };
    let id = cx.src("a");
    cx.end(behind, Term::Barrier { kind, id, count, next });
    if let Some(op) = op {
        let nothing = cx.b.iconst(Type::I64, 0);
        let votes = system(cx, SystemCall::Votes, nothing);
        let votes = cx.b.zext(votes, Elem::I32);
        let zero = cx.b.iconst(Type::I32, 0);
        match op {
            ".popc" => cx.set("d", votes),
            ".and" => {
                let all = cx.b.cmp(IntCmp::Eq, votes, zero);
                cx.set("p", all);
            }
            _ => {
                let any = cx.b.cmp(IntCmp::Ne, votes, zero);
                cx.set("p", any);
            }
        }
    }
}

/// Asks for something that has no arguments in memory.
fn system(cx: &mut Cx<'_>, call: SystemCall, operand: Value) -> Value {
    let mem = Mem { space: Space::Global, order: Order::SeqCst, scope: Scope::Cta };
    let nowhere = cx.b.iconst(Type::I64, 0);
    cx.b.guarded(Op::Atomic(AtomicOp::System(call), mem), &[nowhere, operand], cx.guard, Type::I64)
}
