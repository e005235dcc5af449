//! `div`
//!
//! Since PTX 1.0.

use super::integer_type;
use crate::matching::stand_first;
use crate::{Form, Room, Ty, since};
use hostwarp_ir::{FBin, IntBin};

const SETS: &[(&str, &str)] = &[(".type", ".u16 .u32 .u64 .s16 .s32 .s64")];
const FLOAT: &[(&str, &str)] = &[(".rnd", ".rn .rz .rm .rp"), (".fast", ".approx .full")];

/// `div`
pub const ROOM: Room = Room {
    opcodes: &["div"],
    title: "a / b",
    doc: "Integers are cut toward zero; division by 0 gives all ones, which the manual leaves open; the most negative number divided by −1 is itself. Floats with a \
          rounding modifier are exact up to that rounding. `.approx` and `.full` give the bits of an H200 in both profiles, at most 2 ulp from a / b; \
          `.approx` only where |b| is from 2^-126 (without `.ftz`: from 0) to 2^126: beyond, it gives 0, or NaN for infinite a.",
    section: "9.7.1.8",
    forms: &[
        Form::new("div.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("div.rnd{.ftz}.f32  d:f32, a:f32, b:f32", FLOAT, since(20, 20)),
        Form::new("div.rnd.f64  d:f64, a:f64, b:f64", FLOAT, since(10, 13)),
        Form::new("div.fast{.ftz}.f32  d:f32, a:f32, b:f32", FLOAT, since(10, 10)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".full"])),
    meaning: |cx| {
        let d = if let Some(ty) = integer_type(cx) {
            let (a, b) = (cx.src("a"), cx.src("b"));
            cx.no_zero_divisor(b);
            cx.b.int(if ty.is_signed() { IntBin::DivS } else { IntBin::DivU }, a, b)
        } else if let Some(fast) = cx.get(".fast") {
            crate::float::rcp::divide(cx, fast == ".full", cx.has(".ftz"))
        } else {
            let ty = if cx.has(".f64") { Ty::F64 } else { Ty::F32 };
            let (a, b) = (cx.arith("a", ty), cx.arith("b", ty));
            let round = crate::float::rounding(cx.get(".rnd"));
            cx.b.float(FBin::Div, round, cx.has(".ftz"), a, b)
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "`div.f32` and `div.f64` need a rounding modifier, `.approx` or `.full`.",
        "`.approx` and `.full` are a times the approximate reciprocal of b (see `rcp`), as ptxas does it: the manual gives only bounds of the error, \
         the bits are the GPU's.",
    ],
};
