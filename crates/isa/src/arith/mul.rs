//! `mul mad`
//!
//! Since PTX 1.0. An integer product has twice the width; `.lo`, `.hi` and `.wide` say which part of it is kept.

use super::carry::WIDE_CARRY;
use super::{carry, integer_type, integers};
use crate::float::arith as float;
use crate::matching::stand_first;
use crate::{Cx, Form, Room, Ty, since};
use hostwarp_ir::{IntBin, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".lo .hi"), (".type", ".u16 .u32 .u64 .s16 .s32 .s64")];
const WIDE: &[(&str, &str)] = &[(".type", ".u16 .u32 .s16 .s32")];
/// Extended precision: 64 bits since PTX 4.3.
const CARRY: &[(&str, &str)] = &[(".mode", ".lo .hi"), (".type", ".u32 .s32 .u64 .s64")];
const SATURATED: &[(&str, &str)] = &[(".mode", ".hi"), (".type", ".s32")];

pub(super) const MODES: &[&str] = &[".lo", ".hi", ".wide"];

/// `mul`
pub const MUL: Room = Room {
    opcodes: &["mul"],
    title: "a · b",
    doc: "An integer product has twice the width of its operands: `.wide` keeps all of it, `.lo` and `.hi` its lower or upper half. Floats \
          are as in `add`.",
    section: "9.7.1.3",
    forms: &[
        Form::new("mul.mode.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("mul.wide.type  d:2.type, a:.type, b:.type", WIDE, since(10, 10)),
        float::MUL_F32,
        float::MUL_F64,
        float::MUL_F16,
        float::MUL_BF16,
        float::MUL_F32X2,
    ],
    rule: Some(|_, instr| stand_first(instr, MODES)),
    meaning: |cx| {
        let Some(ty) = integer_type(cx) else { return float::mul(cx) };
        let d = product(cx, ty);
        cx.set("d", d);
        Ok(())
    },
    notes: &["Integer multiplication needs one of `.lo .hi .wide`."],
};

/// `mad`
pub const MAD: Room = Room {
    opcodes: &["mad"],
    title: "a · b + c",
    doc: "The part of the product that `.lo`, `.hi` or `.wide` names, plus `c`, wrapping; `.hi.sat.s32` clamps the sum to the range of the type, \
          `.cc` leaves the carry for `madc`. \
          `mad.f32` and `mad.f64` are `fma`.",
    section: "9.7.1.4",
    forms: &[
        Form::new("mad.mode.type  d:.type, a:.type, b:.type, c:.type", SETS, since(10, 10)),
        Form::new("mad.wide.type  d:2.type, a:.type, b:.type, c:2.type", WIDE, since(10, 10)),
        Form::new("mad.mode.sat.type  d:.type, a:.type, b:.type, c:.type", SATURATED, since(10, 10)),
        Form::new("mad.mode.cc.type  d:.type, a:.type, b:.type, c:.type", CARRY, since(30, 20))
            .needs(WIDE_CARRY),
        float::MAD_F32,
        float::MAD_F32_OLD,
        float::MAD_F64,
    ],
    rule: Some(|_, instr| stand_first(instr, MODES)),
    meaning: |cx| {
        let Some(ty) = integer_type(cx) else { return float::mad(cx) };
        let t = product(cx, ty);
        let t = cx.name(t, "product");
        let c = cx.src("c");
        if cx.has(".cc") {
            let d = carry::add(cx, t, c);
            cx.set("d", d);
            return Ok(());
        }
        let op = if cx.has(".sat") { IntBin::AddSatS } else { IntBin::Add };
        let d = cx.b.int(op, t, c);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// The part of a · b that the mode names.
pub(super) fn product(cx: &mut Cx<'_>, ty: Ty) -> Value {
    let [a, b] = integers(cx, ["a", "b"], ty);
    match (cx.get(".mode"), ty.doubled()) {
        (None, Some(wide)) => {
            let [a, b] = [a, b].map(|v| cx.b.ext(v, wide.elem(), ty.is_signed()));
            cx.b.mul(a, b)
        }
        (Some(".hi"), _) if ty.is_signed() => cx.b.int(IntBin::MulHiS, a, b),
        (Some(".hi"), _) => cx.b.int(IntBin::MulHiU, a, b),
        _ => cx.b.mul(a, b),
    }
}
