//! `rem`
//!
//! Since PTX 1.0.

use crate::{Form, Room, since};
use hostwarp_ir::IntBin;

const SETS: &[(&str, &str)] = &[(".type", ".u16 .u32 .u64 .s16 .s32 .s64")];

/// `rem`
pub const ROOM: Room = Room {
    opcodes: &["rem"],
    title: "the remainder of a / b",
    doc: "Has the sign of `a`. The remainder of a division by 0 is all ones, which the manual leaves open; that of the most negative number by −1 is 0.",
    section: "9.7.1.9",
    forms: &[Form::new("rem.type  d:.type, a:.type, b:.type", SETS, since(10, 10))],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        cx.no_zero_divisor(b);
        let op = if cx.ty(".type").is_signed() { IntBin::RemS } else { IntBin::RemU };
        let d = cx.b.int(op, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};
