//! `testp copysign`: what a float is, and whose sign it has. Neither computes, so NaNs pass as they are.
//!
//! Since PTX 2.0 (sm_20).

use crate::{Cx, Form, Room, Ty, since};
use hostwarp_ir::{IntBin, IntCmp, Value};

const SETS: &[(&str, &str)] =
    &[(".op", ".finite .infinite .number .notanumber .normal .subnormal"), (".type", ".f32 .f64")];

/// `testp`
pub const TESTP: Room = Room {
    opcodes: &["testp"],
    title: "whether a is finite, infinite, a number, NaN, normal or subnormal",
    doc: "`.number` is everything but NaN, `.finite` everything but NaN and infinity. Both zeros count as normal.",
    section: "9.7.3.1",
    forms: &[
        Form::new("testp.op.type  p:pred, a:.type", SETS, since(20, 20)),
        Form::new("testp.type  p:pred, a:.type", SETS, since(20, 20)).undocumented().later(),
    ],
    rule: None,
    meaning: |cx| {
        let ty = cx.ty(".type");
        let infinity = infinity(ty);
        let bits = cx.src("a");
        let magnitude = cx.b.int_imm(IntBin::And, bits, !sign(ty));
        let magnitude = cx.name(magnitude, "magnitude");
        let below = |cx: &mut Cx<'_>, bound: u64| cx.b.cmp_imm(IntCmp::LtU, magnitude, bound);
        let p = match cx.get(".op") {
            Some(".finite") => below(cx, infinity),
            Some(".infinite") => cx.b.cmp_imm(IntCmp::Eq, magnitude, infinity),
            Some(".number") => below(cx, infinity + 1),
            Some(".notanumber") => {
                let number = below(cx, infinity + 1);
                cx.b.not(number)
            }
            test => {
                let small = below(cx, smallest_normal(ty));
                let zero = cx.b.cmp_imm(IntCmp::Eq, magnitude, 0);
                let nonzero = cx.b.not(zero);
                let subnormal = cx.b.and(small, nonzero);
                if test == Some(".subnormal") {
                    subnormal
                } else {
                    neither(cx, magnitude, subnormal, infinity)
                }
            }
        };
        cx.set("p", p);
        Ok(())
    },
    notes: &[
        "`testp.normal` of ±0 is true: the manual says so.",
        "ptxas takes `testp` without a test, which is not in the manual, which says nothing of what that tests.",
    ],
};

/// Finite and not subnormal.
fn neither(cx: &mut Cx<'_>, magnitude: Value, subnormal: Value, infinity: u64) -> Value {
    let finite = cx.b.cmp_imm(IntCmp::LtU, magnitude, infinity);
    let other = cx.b.not(subnormal);
    cx.b.and(finite, other)
}

/// `copysign`
pub const COPYSIGN: Room = Room {
    opcodes: &["copysign"],
    title: "b with the sign of a",
    doc: "Bits are moved and nothing is computed: NaN has a sign here and keeps its payload.",
    section: "9.7.3.2",
    forms: &[Form::new("copysign.type  d:.type, a:.type, b:.type", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| {
        let sign = sign(cx.ty(".type"));
        let (a, b) = (cx.src("a"), cx.src("b"));
        let sign_of_a = cx.b.int_imm(IntBin::And, a, sign);
        let magnitude = cx.b.int_imm(IntBin::And, b, !sign);
        let d = cx.b.or(sign_of_a, magnitude);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

fn sign(ty: Ty) -> u64 {
    1 << (ty.bits() - 1)
}

fn infinity(ty: Ty) -> u64 {
    if ty == Ty::F64 { 0x7ff << 52 } else { 0xff << 23 }
}

fn smallest_normal(ty: Ty) -> u64 {
    if ty == Ty::F64 { 1 << 52 } else { 1 << 23 }
}
