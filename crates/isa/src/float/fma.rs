//! `fma`: fused multiply-add, half, single and double precision.
//!
//! f32 since PTX 2.0 (sm_20), f64 since 1.4 (sm_13), f16 since 4.2 (sm_53), bf16 and `.relu` since 7.0 (sm_80), `.oob` since 8.1
//! (sm_90), f32x2 and the mixed forms (16-bit factors, widened exactly) since 8.6 (sm_100). Recorded on an H200: no departure in any documented form.

use super::{relu, rounding, saturate};
use crate::{Cx, Erratum, Form, Outcome, Room, Ty, since};
use hostwarp_ir::{IntBin, IntCmp, Op, Round, Type, Value};

const SETS: &[(&str, &str)] = &[
    (".rnd", ".rn"),
    (".rnd4", ".rn .rz .rm .rp"),
    (".rnd3", ".rz .rm .rp"),
    (".htype", ".f16 .f16x2"),
    (".btype", ".bf16 .bf16x2"),
    (".type", ".f16 .f16x2 .bf16 .bf16x2"),
    (".abtype", ".f16 .bf16"),
];

/// `fma`
pub const ROOM: Room = Room {
    opcodes: &["fma"],
    title: "fused multiply-add: a·b + c, rounded once",
    doc: "`.ftz` flushes subnormal operands and results to zero of the same sign. `.sat` clamps to [0, 1], NaN becomes +0. `.relu` makes negative \
          results +0 and keeps NaN. `.oob` gives +0 where `a` or `b` is the out-of-bounds NaN 0x7ff7 (sign ignored), each half of a packed \
          register for itself.",
    section: "9.7.4.4",
    forms: &[
        Form::new("fma.rnd4{.ftz}{.sat}.f32  d:f32, a:f32, b:f32, c:f32", SETS, since(20, 20)),
        Form::new("fma.rnd4.f64  d:f64, a:f64, b:f64, c:f64", SETS, since(14, 13)),
        Form::new("fma.rnd4{.ftz}.f32x2  d:f32x2, a:f32x2!, b:f32x2!, c:f32x2!", SETS, since(86, 100)),
        Form::new("fma.rnd4{.sat}.f32.abtype  d:f32, a:.abtype!, b:.abtype!, c:f32", SETS, since(86, 100)),
        Form::new(
            "fma.rnd{.ftz}{.sat}.htype  d:.htype, a:.htype!, b:.htype!, c:.htype!",
            SETS,
            since(42, 53),
        ),
        Form::new("fma.rnd{.ftz}.relu.htype  d:.htype, a:.htype!, b:.htype!, c:.htype!", SETS, since(70, 80)),
        Form::new("fma.rnd{.relu}.btype  d:.btype, a:.btype!, b:.btype!, c:.btype!", SETS, since(70, 80)),
        Form::new("fma.rnd.oob{.relu}.type  d:.type, a:.type!, b:.type!, c:.type!", SETS, since(81, 90)),
        Form::new("fma.rnd.oob.sat.htype  d:.htype, a:.htype!, b:.htype!, c:.htype!", SETS, since(81, 90))
            .undocumented(),
        Form::new("fma.rnd3{.relu}.btype  d:.btype, a:.btype!, b:.btype!, c:.btype!", SETS, since(70, 80))
            .undocumented(),
    ],
    rule: None,
    meaning,
    notes: &[
        "NaN results are 0x7fff for f16 and bf16, 0x7fffffff for f32, whatever the NaN operands were.",
        "The rounding modifier is required: the manual's \"default is .rn\" is not accepted by ptxas for half precision.",
        "`.oob.sat` (f16, f16x2) is not in the manual; ptxas takes it: +0 where out of bounds, otherwise as `.sat`.",
        "bf16 with `.rz .rm .rp` is not in the manual; ptxas takes it. For bf16x2 it rounds to nearest all the same, and so do we for both; what \
         it makes of the scalar form is erratum F1.",
    ],
};

/// Where hardware departs.
pub const ERRATA: &[&Erratum] = &[&AS_F16];

const AS_F16: Erratum = Erratum {
    id: "F1",
    title: "scalar bf16 with a directed rounding is computed as f16",
    text: "The manual has no `.rz .rm .rp` for bf16; ptxas accepts them and emits code for f16: the operands are read as f16 and widened to f32, \
           the f32 fma rounds as asked, and its result is rounded to the nearest f16. `.relu` is dropped.",
    opcodes: &["fma"],
    applies: |s| s.m.ty(".btype") == Some(Ty::BF16) && s.m.get(".rnd3").is_some(),
};

/// Erratum F1.
fn as_f16(cx: &mut Cx<'_>) -> Outcome {
    let nearest = Op::FCvt(Round::Nearest);
    let [a, b, c] = ["a", "b", "c"].map(|n| {
        let half = super::operand(cx, n, Ty::F16);
        cx.b.inst(nearest, &[half], Type::F32)
    });
    let op = Op::Fma { round: rounding(cx.get(".rnd3")), ftz: false };
    let fused = cx.b.inst(op, &[a, b, c], Type::F32);
    let fused = cx.name(fused, "fused");
    let d = cx.b.inst(nearest, &[fused], Ty::F16.arith());
    cx.set("d", d);
    Ok(())
}

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.departs(&AS_F16) {
        return as_f16(cx);
    }
    let place = [".htype", ".btype", ".type"].into_iter().find(|p| cx.get(p).is_some());
    let ty = match place {
        Some(p) => cx.ty(p),
        None if cx.has(".f64") => Ty::F64,
        None if cx.has(".f32x2") => Ty::F32x2,
        None => Ty::F32,
    };
    let [a, b] = ["a", "b"].map(|n| match cx.m.ty(".abtype") {
        None => super::operand(cx, n, ty),
        Some(narrow) => {
            let half = super::operand(cx, n, narrow);
            cx.b.inst(Op::FCvt(Round::Nearest), &[half], ty.arith())
        }
    });
    let c = super::operand(cx, "c", ty);
    let op = Op::Fma { round: rounding(cx.get(".rnd4")), ftz: cx.has(".ftz") };
    let fused = cx.b.inst(op, &[a, b, c], ty.arith());
    let mut d = cx.name(fused, "fused");
    if cx.has(".sat") {
        d = saturate(cx, d);
    }
    if cx.has(".relu") {
        d = relu(cx, d);
    }
    if cx.has(".oob") {
        let (x, y) = (out_of_bounds(cx, "a", ty), out_of_bounds(cx, "b", ty));
        let either = cx.b.or(x, y);
        let zero = cx.b.fconst(ty.arith(), 0);
        d = cx.b.select(either, zero, d);
    }
    cx.set("d", d);
    Ok(())
}

/// Where an operand is the out-of-bounds NaN.
fn out_of_bounds(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let bits = cx.src(name);
    let halves = cx.b.bitcast(bits, ty.arith().to_int());
    let magnitude = cx.b.int_imm(IntBin::And, halves, 0x7fff);
    let oob = cx.b.cmp_imm(IntCmp::Eq, magnitude, 0x7ff7);
    cx.name(oob, &format!("oob_{name}"))
}
