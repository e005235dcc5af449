//! `selp`
//!
//! Since PTX 1.0.

use crate::{Form, Room, since};

const SETS: &[(&str, &str)] = &[(".type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")];

/// `selp`
pub const ROOM: Room = Room {
    opcodes: &["selp"],
    title: "c ? a : b",
    doc: "`a` where the predicate `c` holds, otherwise `b`; the bits pass unchanged.",
    section: "9.7.6.3",
    forms: &[Form::new("selp.type  d:.type, a:.type, b:.type, {!}c:pred", SETS, since(10, 10))],
    rule: None,
    meaning: |cx| {
        let (a, b, c) = (cx.src("a"), cx.src("b"), cx.src("c"));
        let d = cx.b.select(c, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &["A complemented predicate (`!c`) is not in the manual's syntax; ptxas takes it."],
};
