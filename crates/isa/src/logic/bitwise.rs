//! `and or xor not`
//!
//! Since PTX 1.0.

use crate::{Form, Room, since};
use hostwarp_ir::IntBin;

const SETS: &[(&str, &str)] = &[(".type", ".b16 .b32 .b64")];

/// `and or xor`
pub const BITWISE: Room = Room {
    opcodes: &["and", "or", "xor"],
    title: "bit by bit: both, either, exactly one",
    doc: "On predicates too, where ptxas lets each operand be complemented with `!`.",
    section: "9.7.8.1",
    forms: &[
        Form::new("and.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("and.pred  d:pred, {!}a:pred, {!}b:pred", SETS, since(10, 10)),
        Form::new("or.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("or.pred  d:pred, {!}a:pred, {!}b:pred", SETS, since(10, 10)),
        Form::new("xor.type  d:.type, a:.type, b:.type", SETS, since(10, 10)),
        Form::new("xor.pred  d:pred, {!}a:pred, {!}b:pred", SETS, since(10, 10)),
    ],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let op = match cx.m.opcode {
            "and" => IntBin::And,
            "or" => IntBin::Or,
            _ => IntBin::Xor,
        };
        let d = cx.b.int(op, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &["A complemented predicate operand (`!p`) is not in the manual's syntax; ptxas takes it."],
};

/// `not`
pub const NOT: Room = Room {
    opcodes: &["not"],
    title: "every bit flipped",
    doc: "On predicates too.",
    section: "9.7.8.4",
    forms: &[
        Form::new("not.type  d:.type, a:.type", SETS, since(10, 10)),
        Form::new("not.pred  d:pred, {!}a:pred", SETS, since(10, 10)),
    ],
    rule: None,
    meaning: |cx| {
        let a = cx.src("a");
        let d = cx.b.not(a);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};
