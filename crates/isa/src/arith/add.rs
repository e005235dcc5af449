//! `add sub`
//!
//! Since PTX 1.0; the packed half-word forms of `add` since PTX 8.0, sm_90.

use super::carry::WIDE_CARRY;
use super::{carry, integer_type, integers, signed};
use crate::float::arith as float;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::IntBin;

const SETS: &[(&str, &str)] = &[(".type", ".u16 .u32 .u64 .s16 .s32 .s64")];
/// Extended precision: 64 bits since PTX 4.3.
const CARRY: &[(&str, &str)] = &[(".type", ".u32 .s32 .u64 .s64")];
const PACKED: &[(&str, &str)] = &[(".type", ".u16x2 .s16x2")];
const BYTES: &[(&str, &str)] = &[(".type", ".u8x4 .s8x4")];
const UNSIGNED: &[(&str, &str)] = &[(".type", ".u32")];
/// The targets with packed bytes and more of `.sat`.
pub(super) const FAMILIES: &str = "107f 120f";
const SATURATED: &[(&str, &str)] = &[(".type", ".s32")];

/// `add`
pub const ADD: Room = Room {
    opcodes: &["add"],
    title: "a + b",
    doc: "Integers wrap; `.sat` (`.s32`; of some targets `.u32` and packed types too) clamps to the range of the type instead, `.cc` leaves the carry for `addc`. `.u16x2` and `.s16x2` add two half-words each, `.u8x4` and `.s8x4` four bytes. Floats \
          round as the modifier says, to nearest even without one; `.ftz` flushes subnormal operands and results to zero of the same sign, \
          `.sat` clamps to [0, 1] with NaN becoming +0.",
    section: "9.7.1.1",
    forms: &[
        Form::new("add.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("add.sat.type  d:.type, a:.type, b:.type", SATURATED, since(10, 10)),
        Form::new("add.cc.type  d:.type, a:.type, b:.type", CARRY, since(12, 10)).needs(WIDE_CARRY),
        Form::new("add.type  d:.type, a:.type!, b:.type!", PACKED, since(80, 90)),
        Form::new("add.sat.type  d:.type, a:.type, b:.type", UNSIGNED, since(92, 107)).only(FAMILIES),
        Form::new("add.sat.type  d:.type, a:.type!, b:.type!", PACKED, since(92, 107)).only(FAMILIES),
        Form::new("add{.sat}.type  d:.type, a:.type!, b:.type!", BYTES, since(92, 107)).only(FAMILIES),
        float::ADD_F32,
        float::ADD_F64,
        float::ADD_F16,
        float::ADD_BF16,
        float::ADD_F32X2,
        float::ADD_MIXED,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntBin::Add, [IntBin::AddSatU, IntBin::AddSatS], float::add),
    notes: &["The packed half-word forms take registers only, no constants."],
};

/// `sub`
pub const SUB: Room = Room {
    opcodes: &["sub"],
    title: "a − b",
    doc: "Integers wrap; `.sat` (`.s32` and packed bytes) clamps to the range of the type instead, `.cc` leaves the borrow for `subc`. Floats are as in `add`.",
    section: "9.7.1.2",
    forms: &[
        Form::new("sub.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("sub.sat.type  d:.type, a:.type, b:.type", SATURATED, since(10, 10)),
        Form::new("sub.cc.type  d:.type, a:.type, b:.type", CARRY, since(12, 10)).needs(WIDE_CARRY),
        Form::new("sub{.sat}.type  d:.type, a:.type!, b:.type!", BYTES, since(92, 107)).only(FAMILIES),
        float::SUB_F32,
        float::SUB_F64,
        float::SUB_F16,
        float::SUB_BF16,
        float::SUB_F32X2,
        float::SUB_MIXED,
    ],
    rule: None,
    meaning: |cx| integer(cx, IntBin::Sub, [IntBin::SubSatU, IntBin::SubSatS], float::sub),
    notes: &[carry::NO_BORROW],
};

/// Wraps or saturates; a float form goes to its own meaning.
fn integer(
    cx: &mut Cx<'_>,
    wrapping: IntBin,
    saturating: [IntBin; 2],
    float: fn(&mut Cx<'_>) -> Outcome,
) -> Outcome {
    let Some(ty) = integer_type(cx) else { return float(cx) };
    let [a, b] = integers(cx, ["a", "b"], ty);
    if cx.has(".cc") {
        let d = if wrapping == IntBin::Add { carry::add(cx, a, b) } else { carry::sub(cx, a, b) };
        cx.set("d", d);
        return Ok(());
    }
    let op = if cx.has(".sat") { saturating[usize::from(signed(ty))] } else { wrapping };
    let d = cx.b.int(op, a, b);
    cx.set("d", d);
    Ok(())
}
