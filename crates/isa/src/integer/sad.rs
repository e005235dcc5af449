//! `sad`
//!
//! Since PTX 1.0.

use crate::{Form, Room, since};
use hostwarp_ir::IntBin;

const SETS: &[(&str, &str)] = &[(".type", ".u16 .u32 .u64 .s16 .s32 .s64")];

/// `sad`
pub const ROOM: Room = Room {
    opcodes: &["sad"],
    title: "c + |a − b|",
    doc: "The difference is exact; the sum wraps.",
    section: "9.7.1.7",
    forms: &[Form::new("sad.type  d:.type, a:.type, b:.type, c:.type", SETS, since(10, 10))],
    rule: None,
    meaning: |cx| {
        let (a, b, c) = (cx.src("a"), cx.src("b"), cx.src("c"));
        let op = if cx.ty(".type").is_signed() { IntBin::AbsDiffS } else { IntBin::AbsDiffU };
        let difference = cx.b.int(op, a, b);
        let difference = cx.name(difference, "difference");
        let d = cx.b.add(c, difference);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};
