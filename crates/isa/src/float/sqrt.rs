//! `sqrt`
//!
//! Since PTX 1.0; with a rounding modifier since 1.4 (f64, sm_13) and 2.0 (f32, sm_20).

use super::rounding;
use crate::{Form, Room, Since, Ty, since};
use hostwarp_ir::Op;

const SETS: &[(&str, &str)] = &[(".rnd", ".rn .rz .rm .rp")];

/// The assembler asks for the target only, not for the version.
const DIRECTED: &[(&str, Since)] = &[(".rz", since(14, 20)), (".rm", since(14, 20)), (".rp", since(14, 20))];

/// `sqrt`
pub const ROOM: Room = Room {
    opcodes: &["sqrt"],
    title: "the square root of a",
    doc: "With a rounding modifier exact up to that rounding. The root of a negative number is NaN, that of −0 is −0. `.ftz` makes a subnormal operand zero of the \
          same sign first; no root is subnormal.",
    section: "9.7.3.14",
    forms: &[
        Form::new("sqrt.approx{.ftz}.f32  d:f32, a:f32", SETS, since(14, 10)).later(),
        Form::new("sqrt.rnd{.ftz}.f32  d:f32, a:f32", SETS, since(14, 20)),
        Form::new("sqrt.rnd.f64  d:f64, a:f64", SETS, since(14, 13)).needs(DIRECTED),
    ],
    rule: None,
    meaning: |cx| {
        let ty = if cx.has(".f64") { Ty::F64 } else { Ty::F32 };
        let a = cx.arith("a", ty);
        let op = Op::Sqrt { round: rounding(cx.get(".rnd")), ftz: cx.has(".ftz") };
        let root = cx.b.inst(op, &[a], ty.arith());
        cx.set("d", root);
        Ok(())
    },
    notes: &[
        "A rounding modifier or `.approx` is required.",
        "The root of a negative f64 is the NaN 0xfff8000000000000; a NaN of f64 keeps its payload and is made quiet.",
    ],
};
