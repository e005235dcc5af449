//! `addc subc madc`, and the carry flag.
//!
//! `addc subc` since PTX 1.2; `madc` since PTX 3.0, sm_20. Numbers wider than a register are added word by word, the flag `CC.CF` carrying from one to
//! the next.
//!
//! The manual has a subtraction write its borrow. On every GPU it writes the carry of a + ~b + 1, which is the opposite: 1 where nothing was borrowed, and `subc`
//! subtracts 1 where the flag is 0. Additions and subtractions share the flag, and the division that nvcc makes for `__int128` asks with `addc` what `subc.cc` left;
//! so this is the meaning in every profile.

use super::mul::{MODES, product};
use crate::matching::stand_first;
use crate::{Cx, Form, Room, Since, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".lo .hi"), (".type", ".u32 .s32 .u64 .s64")];

/// ptxas takes them; what carry they add the manual does not say.
const HALF_WORDS: &[(&str, &str)] = &[(".mode", ".lo .hi"), (".half", ".u16 .s16")];

/// What the manual says otherwise.
pub(super) const NO_BORROW: &str = "A subtraction leaves 0 in the carry flag where it borrows and 1 where it does not, and `subc` subtracts 1 where the flag is 0. The manual has \
     the opposite; hardware and nvcc's division of 128 bits are as here. It can be seen where `addc` follows a subtraction or `subc` an addition.";

/// Carries out of 64 bits.
pub(super) const WIDE_CARRY: &[(&str, Since)] = &[(".cc.s64", since(43, 10)), (".cc.u64", since(43, 10))];

/// `addc`
pub const ADDC: Room = Room {
    opcodes: &["addc"],
    title: "a + b + carry",
    doc: "The carry is what the last instruction with `.cc` left; with `.cc` this one leaves its own.",
    section: "9.7.2.2",
    forms: &[
        Form::new("addc{.cc}.type  d:.type, a:.type, b:.type", SETS, since(12, 10)).needs(WIDE_CARRY),
        Form::new("addc.half  d:.half, a:.half, b:.half", HALF_WORDS, since(12, 10)).undocumented().later(),
    ],
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
    doc: "The borrow is what the last instruction with `.cc` left: 1 where the carry flag is 0. With `.cc` this one leaves its own in the same way.",
    section: "9.7.2.4",
    forms: &[
        Form::new("subc{.cc}.type  d:.type, a:.type, b:.type", SETS, since(12, 10)).needs(WIDE_CARRY),
        Form::new("subc.half  d:.half, a:.half, b:.half", HALF_WORDS, since(12, 10)).undocumented().later(),
    ],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let d = sub(cx, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &[NO_BORROW],
};

/// `madc`
pub const MADC: Room = Room {
    opcodes: &["madc"],
    title: "a · b + c + carry",
    doc: "The half of the product that `.lo` or `.hi` names, plus `c`, plus what the last instruction with `.cc` left; with `.cc` this one leaves its own carry.",
    section: "9.7.2.6",
    forms: &[
        Form::new("madc.mode{.cc}.type  d:.type, a:.type, b:.type, c:.type", SETS, since(30, 20))
            .needs(WIDE_CARRY),
        Form::new("madc.mode.half  d:.half, a:.half, b:.half, c:.half", HALF_WORDS, since(30, 20))
            .undocumented()
            .later(),
    ],
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

/// a − b, less 1 if the instruction takes the carry flag and that is 0; with `.cc` the flag is set where nothing is borrowed.
pub(super) fn sub(cx: &mut Cx<'_>, a: Value, b: Value) -> Value {
    let mut difference = cx.b.sub(a, b);
    let mut borrow = cx.b.cmp(IntCmp::LtU, a, b);
    if takes_carry(cx) {
        let flag = cx.carry();
        let flag = cx.b.not(flag);
        let one = word(cx, flag, a);
        let with = cx.b.int(IntBin::Sub, difference, one);
        let more = cx.b.cmp(IntCmp::LtU, difference, one);
        (difference, borrow) = (with, cx.b.or(borrow, more));
    }
    if cx.has(".cc") {
        let borrow = cx.name(borrow, "borrow");
        let flag = cx.b.not(borrow);
        cx.set_carry(flag);
    }
    difference
}

/// The flag as a number of the operands' width.
fn word(cx: &mut Cx<'_>, flag: Value, like: Value) -> Value {
    let elem = if cx.b.ty(like).bits() == 64 { Elem::I64 } else { Elem::I32 };
    cx.b.zext(flag, elem)
}
