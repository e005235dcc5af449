//! `abs neg`
//!
//! Since PTX 1.0.

use super::integer_type;
use crate::float::arith as float;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::IntUn;

const BYTES: &[(&str, &str)] = &[(".type", ".s8x4")];
const SETS: &[(&str, &str)] = &[(".type", ".s16 .s32 .s64")];

/// `abs`
pub const ABS: Room = Room {
    opcodes: &["abs"],
    title: "|a|",
    doc: "The most negative integer is its own absolute value. Floats lose their sign.",
    section: "9.7.1.10",
    forms: &[
        Form::new("abs.type  d:.type, a:.type", SETS, since(10, 10)),
        float::ABS_F32,
        float::ABS_F64,
        float::ABS_F16,
        float::ABS_BF16,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntUn::Abs, float::abs),
    notes: &[],
};

/// `neg`
pub const NEG: Room = Room {
    opcodes: &["neg"],
    title: "−a",
    doc: "The most negative integer stays what it is. Floats flip their sign.",
    section: "9.7.1.11",
    forms: &[
        Form::new("neg.type  d:.type, a:.type", SETS, since(10, 10)),
        Form::new("neg.type  d:.type, a:.type!", BYTES, since(92, 107)).only(super::add::FAMILIES),
        float::NEG_F32,
        float::NEG_F64,
        float::NEG_F16,
        float::NEG_BF16,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntUn::Neg, float::neg),
    notes: &[],
};

fn integer(cx: &mut Cx<'_>, op: IntUn, float: fn(&mut Cx<'_>) -> Outcome) -> Outcome {
    let Some(ty) = integer_type(cx) else { return float(cx) };
    let a = cx.arith("a", ty);
    let d = cx.b.int_un(op, a);
    cx.set("d", d);
    Ok(())
}
