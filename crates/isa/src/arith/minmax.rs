//! `min max`
//!
//! Since PTX 1.0; packed half-words and `.relu` since PTX 8.0, sm_90.

use super::add::FAMILIES;
use super::{integer_type, integers};
use crate::float::arith as float;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::IntBin;

const SETS: &[(&str, &str)] = &[(".type", ".u16 .u32 .u64 .s16 .s32 .s64")];
const PACKED: &[(&str, &str)] = &[(".type", ".u16x2 .s16x2")];
const BYTES: &[(&str, &str)] = &[(".type", ".u8x4 .s8x4")];
const RELU_BYTES: &[(&str, &str)] = &[(".type", ".s8x4")];
const RELU: &[(&str, &str)] = &[(".type", ".s32")];
const RELU_PACKED: &[(&str, &str)] = &[(".type", ".s16x2")];

/// `min`
pub const MIN: Room = Room {
    opcodes: &["min"],
    title: "the smaller one",
    doc: "`.relu` (signed integers) makes a negative result 0. `.u16x2` and `.s16x2` compare half-words one by one. Floats: −0 is smaller than +0; one NaN \
          operand gives the other, or NaN with `.NaN`; `.xorsign.abs` compares magnitudes and gives the result the exclusive or of both signs.",
    section: "9.7.1.12",
    forms: &[
        Form::new("min.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("min.relu.type  d:.type, a:.type, b:.type", RELU, since(80, 90)),
        Form::new("min.type  d:.type, a:.type!, b:.type!", PACKED, since(80, 90)),
        Form::new("min.relu.type  d:.type, a:.type!, b:.type!", RELU_PACKED, since(80, 90)),
        Form::new("min.type  d:.type, a:.type!, b:.type!", BYTES, since(92, 107)).only(FAMILIES),
        Form::new("min.relu.type  d:.type, a:.type!, b:.type!", RELU_BYTES, since(92, 107)).only(FAMILIES),
        float::MIN_F32,
        float::MIN_F64,
        float::MIN_F16,
        float::MIN_BF16,
        float::MIN_XORSIGN_F32,
        float::MIN_XORSIGN_F16,
        float::MIN_XORSIGN_BF16,
        float::MIN_F32_3,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntBin::MinS, IntBin::MinU, float::min),
    notes: &[],
};

/// `max`
pub const MAX: Room = Room {
    opcodes: &["max"],
    title: "the larger one",
    doc: "As `min`: `.relu` makes a negative result 0, packed half-words are compared one by one, +0 is larger than −0 and a NaN operand gives the \
          other one unless `.NaN` is there.",
    section: "9.7.1.13",
    forms: &[
        Form::new("max.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("max.relu.type  d:.type, a:.type, b:.type", RELU, since(80, 90)),
        Form::new("max.type  d:.type, a:.type!, b:.type!", PACKED, since(80, 90)),
        Form::new("max.relu.type  d:.type, a:.type!, b:.type!", RELU_PACKED, since(80, 90)),
        Form::new("max.type  d:.type, a:.type!, b:.type!", BYTES, since(92, 107)).only(FAMILIES),
        Form::new("max.relu.type  d:.type, a:.type!, b:.type!", RELU_BYTES, since(92, 107)).only(FAMILIES),
        float::MAX_F32,
        float::MAX_F64,
        float::MAX_F16,
        float::MAX_BF16,
        float::MAX_XORSIGN_F32,
        float::MAX_XORSIGN_F16,
        float::MAX_XORSIGN_BF16,
        float::MAX_F32_3,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntBin::MaxS, IntBin::MaxU, float::max),
    notes: &[],
};

fn integer(cx: &mut Cx<'_>, signed: IntBin, unsigned: IntBin, float: fn(&mut Cx<'_>) -> Outcome) -> Outcome {
    let Some(ty) = integer_type(cx) else { return float(cx) };
    let [a, b] = integers(cx, ["a", "b"], ty);
    let is_signed = super::signed(ty);
    let mut d = cx.b.int(if is_signed { signed } else { unsigned }, a, b);
    if cx.has(".relu") {
        d = cx.b.int_imm(IntBin::MaxS, d, 0);
    }
    cx.set("d", d);
    Ok(())
}
