//! `bar barrier`, and `bar.warp.sync`
//!
//! Since PTX 1.0; a barrier number other than 0 and thread counts since PTX 2.0, sm_20; `barrier` since PTX 6.0, sm_30.

use crate::matching::stand_first;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{BarrierKind, Target, Term};

const CLUSTER: &[(&str, &str)] = &[(".sem", ".release .relaxed")];
const REDUCE: &[(&str, &str)] = &[(".op", ".and .or")];

/// `bar barrier`
pub const ROOM: Room = Room {
    opcodes: &["bar", "barrier"],
    title: "wait for the other threads of the CTA, or of the warp",
    doc: "A CTA has 16 barriers. `.sync` waits until `b` threads have arrived, all of the CTA's that have not exited if `b` is not given; `.arrive` counts and goes on. \
          Memory accesses before a barrier are seen by all who waited behind it. `bar.warp.sync` waits for the lanes its mask names.",
    section: "9.7.13.1",
    forms: &[
        Form::new("bar{.cta}.sync  a:u32<0..15>{, b:u32<0../32>}", &[], since(10, 10))
            .needs(&[(".cta", since(78, 30))]),
        Form::new("bar{.cta}.arrive  a:u32<0..15>, b:u32<32../32>", &[], since(20, 20))
            .needs(&[(".cta", since(78, 30))]),
        Form::new("bar{.cta}.red.popc.u32  d:u32, a:u32<0..15>, {!}c:pred", REDUCE, since(20, 20)),
        Form::new(
            "bar{.cta}.red.popc.u32  d:u32, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(20, 20),
        ),
        Form::new("bar{.cta}.red.op.pred  p:pred, a:u32<0..15>, {!}c:pred", REDUCE, since(20, 20)),
        Form::new(
            "bar{.cta}.red.op.pred  p:pred, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(20, 20),
        ),
        Form::new("bar.warp.sync  membermask:u32", &[], since(60, 30)),
        Form::new("barrier{.cta}.sync{.aligned}  a:u32<0..15>{, b:u32<0../32>}", &[], since(60, 30)),
        Form::new("barrier{.cta}.arrive{.aligned}  a:u32<0..15>, b:u32<32../32>", &[], since(60, 30)),
        Form::new(
            "barrier{.cta}.red.popc{.aligned}.u32  d:u32, a:u32<0..15>, {!}c:pred",
            REDUCE,
            since(60, 30),
        ),
        Form::new(
            "barrier{.cta}.red.popc{.aligned}.u32  d:u32, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(60, 30),
        ),
        Form::new(
            "barrier{.cta}.red.op{.aligned}.pred  p:pred, a:u32<0..15>, {!}c:pred",
            REDUCE,
            since(60, 30),
        ),
        Form::new(
            "barrier{.cta}.red.op{.aligned}.pred  p:pred, a:u32<0..15>, b:u32<0../32>, {!}c:pred",
            REDUCE,
            since(60, 30),
        ),
        Form::new("barrier.cluster.arrive{.sem}{.aligned}", CLUSTER, since(78, 90)),
        Form::new("barrier.cluster.wait{.acquire}{.aligned}", CLUSTER, since(78, 90)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".cluster", ".warp", ".cta", ".arrive", ".red", ".wait"])),
    meaning,
    notes: &[
        "`.aligned` promises that all threads of the warp execute the same barrier instruction; nothing depends on the promise.",
    ],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".red") {
        return Err(format!("{} with `.red`", cx.m.opcode));
    }
    if cx.has(".cluster") {
        return Err("barriers of clusters".into());
    }
    let next = Target::new(cx.after());
    let behind = next.block;
    let term = if cx.has(".warp") {
        Term::WarpSync { mask: cx.src("membermask"), next }
    } else {
        let kind = if cx.has(".arrive") { BarrierKind::Arrive } else { BarrierKind::Sync };
        let count = if cx.given("b") { Some(cx.src("b")) } else { None };
        Term::Barrier { kind, id: cx.src("a"), count, next }
    };
    cx.end(behind, term);
    Ok(())
}
