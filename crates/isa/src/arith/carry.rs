//! `addc subc madc`, and the carry flag.
//!
//! `addc subc` since PTX 1.2; `madc` since PTX 3.0, sm_20. Numbers wider than a register are added word by word, the flag `CC.CF` carrying from one to
//! the next.

use super::mul::{MODES, product};
use crate::matching::stand_first;
use crate::{Cx, Erratum, Form, Room, Since, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".lo .hi"), (".type", ".u32 .s32 .u64 .s64")];

/// Carries out of 64 bits.
pub(super) const WIDE_CARRY: &[(&str, Since)] = &[(".cc.s64", since(43, 10)), (".cc.u64", since(43, 10))];

/// Where hardware departs.
pub const ERRATA: &[&Erratum] = &[&NO_BORROW];

const NO_BORROW: Erratum = Erratum {
    id: "C1",
    title: "a subtraction leaves its borrow complemented",
    text: "The manual has `sub.cc` and `subc.cc` write the borrow into the carry flag, and `subc` subtract the flag. Hardware writes 1 for no borrow and 0 for a borrow, and \
           subtracts 1 where the flag is 0. It can be seen where additions and subtractions are mixed.",
    opcodes: &["sub", "subc"],
    applies: |s| s.has(".cc") || s.m.opcode == "subc",
};

/// `addc`
pub const ADDC: Room = Room {
    opcodes: &["addc"],
    title: "a + b + carry",
    doc: "The carry is what the last instruction with `.cc` left; with `.cc` this one leaves its own.",
    section: "9.7.2.2",
    forms: &[Form::new("addc{.cc}.type  d:.type, a:.type, b:.type", SETS, since(12, 10)).needs(WIDE_CARRY)],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let d = add(cx, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `subc`
pub const SUBC: Room = Room {
    opcodes: &["subc"],
    title: "a − (b + borrow)",
    doc: "The borrow is what the last instruction with `.cc` left; with `.cc` this one leaves its own.",
    section: "9.7.2.4",
    forms: &[Form::new("subc{.cc}.type  d:.type, a:.type, b:.type", SETS, since(12, 10)).needs(WIDE_CARRY)],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let d = sub(cx, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `madc`
pub const MADC: Room = Room {
    opcodes: &["madc"],
    title: "a · b + c + carry",
    doc: "The half of the product that `.lo` or `.hi` names, plus `c`, plus what the last instruction with `.cc` left; with `.cc` this one leaves its own carry.",
    section: "9.7.2.6",
    forms: &[Form::new("madc.mode{.cc}.type  d:.type, a:.type, b:.type, c:.type", SETS, since(30, 20))
        .needs(WIDE_CARRY)],
    rule: Some(|_, instr| stand_first(instr, MODES)),
    meaning: |cx| {
        let t = product(cx, cx.ty(".type"));
        let t = cx.name(t, "product");
        let c = cx.src("c");
        let d = add(cx, t, c);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// Whether the instruction adds what an earlier one left.
fn takes_carry(cx: &Cx<'_>) -> bool {
    matches!(cx.m.opcode, "addc" | "subc" | "madc")
}

/// a + b, and the carry flag if the instruction takes it; with `.cc` the flag is set.
pub(super) fn add(cx: &mut Cx<'_>, a: Value, b: Value) -> Value {
    let mut sum = cx.b.add(a, b);
    let mut carry = cx.b.cmp(IntCmp::LtU, sum, a);
    if takes_carry(cx) {
        let flag = cx.carry();
        let one = word(cx, flag, a);
        let with = cx.b.add(sum, one);
        let more = cx.b.cmp(IntCmp::LtU, with, sum);
        (sum, carry) = (with, cx.b.or(carry, more));
    }
    if cx.has(".cc") {
        let carry = cx.name(carry, "carry");
        cx.set_carry(carry);
    }
    sum
}

/// a − b, and the carry flag as a borrow if the instruction takes it; with `.cc` the flag is set.
pub(super) fn sub(cx: &mut Cx<'_>, a: Value, b: Value) -> Value {
    let mut difference = cx.b.sub(a, b);
    let mut borrow = cx.b.cmp(IntCmp::LtU, a, b);
    if takes_carry(cx) {
        let mut flag = cx.carry();
        if cx.departs(&NO_BORROW) {
            flag = cx.b.not(flag);
        }
        let one = word(cx, flag, a);
        let with = cx.b.int(IntBin::Sub, difference, one);
        let more = cx.b.cmp(IntCmp::LtU, difference, one);
        (difference, borrow) = (with, cx.b.or(borrow, more));
    }
    if cx.has(".cc") {
        let borrow = cx.name(borrow, "borrow");
        let flag = if cx.departs(&NO_BORROW) { cx.b.not(borrow) } else { borrow };
        cx.set_carry(flag);
    }
    difference
}

/// The flag as a number of the operands' width.
fn word(cx: &mut Cx<'_>, flag: Value, like: Value) -> Value {
    let elem = if cx.b.ty(like).bits() == 64 { Elem::I64 } else { Elem::I32 };
    cx.b.zext(flag, elem)
}
