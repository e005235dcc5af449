//! `clusterlaunchcontrol`
//!
//! Since PTX 8.6, sm_100.

use crate::copy::complete_tx_in;
use crate::later::BLACKWELL;
use crate::matching::stand_first;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Mem, Op, Order, Scope, Type};

const SETS: &[(&str, &str)] =
    &[(".ss", ".shared::cta"), (".first", ".get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z")];

/// Bytes of a response. Its first word has the lowest bit set if a cluster was cancelled; the others hold `%ctaid` of its first CTA then.
const RESPONSE: u64 = 16;

/// `clusterlaunchcontrol`
pub const ROOM: Room = Room {
    opcodes: &["clusterlaunchcontrol"],
    title: "take over a cluster that has not been launched yet",
    doc: "`.try_cancel` asks for one and has the answer, 16 bytes, written to shared memory and the mbarrier told of them; `.query_cancel` reads the answer. Which clusters have been \
          launched already is the machine's affair: here all have, so the answer is always no, and each CTA does its own part of the grid.",
    section: "9.7.14.18",
    forms: &[
        Form::new(
            "clusterlaunchcontrol.try_cancel.async{.ss}.mbarrier::complete_tx::bytes.b128  [a]:b64, [mbar]:b64",
            SETS,
            since(86, 100),
        ),
        Form::new(
            "clusterlaunchcontrol.try_cancel.async{.ss}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128  [a]:b64, [mbar]:b64",
            SETS,
            since(86, 100),
        )
        .only(BLACKWELL),
        Form::new(
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128  p:pred, a:b128",
            SETS,
            since(86, 100),
        ),
        Form::new(
            "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128  d:4*b32, a:b128",
            SETS,
            since(86, 100),
        ),
        Form::new("clusterlaunchcontrol.query_cancel.first.b32.b128  d:b32, a:b128", SETS, since(86, 100)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".try_cancel", ".async", ".query_cancel"])),
    meaning: |cx| if cx.has(".try_cancel") { try_cancel(cx) } else { query(cx) },
    notes: &["The fourth element of `.v4`, and the coordinates where nothing was cancelled, are 0."],
};

fn try_cancel(cx: &mut Cx<'_>) -> Outcome {
    let (guard, space) = (cx.guard, cx.m.space());
    let address = cx.src("a");
    let zero = cx.b.iconst(Type::I64, 0);
    let response = cx.b.build(&[zero, zero]);
    let mem = Mem { space, order: Order::Weak, scope: Scope::Cta };
    cx.b.effect(Op::Store(mem), &[address, response], guard);
    let bytes = cx.b.iconst(Type::I32, RESPONSE);
    complete_tx_in(cx, space, address, bytes, guard);
    Ok(())
}

fn query(cx: &mut Cx<'_>) -> Outcome {
    let a = cx.src("a");
    let halves = [cx.b.extract(a, 0), cx.b.extract(a, 1)];
    let words: Vec<_> = (0..4)
        .map(|i| {
            let word = cx.b.int_imm(IntBin::ShrU, halves[i / 2], 32 * (i as u64 % 2));
            cx.b.zext(word, Elem::I32)
        })
        .collect();
    if cx.has(".is_canceled") {
        let cancelled = cx.b.int_imm(IntBin::And, words[0], 1);
        let p = cx.b.cmp_imm(IntCmp::Ne, cancelled, 0);
        cx.set("p", p);
        return Ok(());
    }
    match cx.get(".first") {
        Some(first) => cx.set(
            "d",
            words[if first.ends_with('x') {
                1
            } else if first.ends_with('y') {
                2
            } else {
                3
            }],
        ),
        None => {
            let none = cx.b.iconst(Type::I32, 0);
            cx.set_elements("d", vec![words[1], words[2], words[3], none]);
        }
    }
    Ok(())
}
