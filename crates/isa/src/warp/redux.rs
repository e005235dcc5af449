//! `redux.sync match.sync elect.sync`
//!
//! `match` since PTX 6.0, sm_70; `redux` since PTX 7.0, sm_80; `elect` since PTX 8.0, sm_90. The lanes of a warp are asked bit by bit: a ballot for each bit of
//! the operand tells every lane what all the others have there.

use super::together;
use crate::{Cx, Form, Room, Ty, since};
use hostwarp_ir::{Elem, FCmp, IntBin, IntCmp, IntUn, Op, Special, Type, Value};

const REDUX: &[(&str, &str)] = &[
    (".op", ".add .min .max"),
    (".extreme", ".min .max"),
    (".type", ".u32 .s32"),
    (".bits", ".and .or .xor"),
    (".btype", ".b32"),
];
const MATCH: &[(&str, &str)] = &[(".type", ".b32 .b64")];

/// `redux`
pub const REDUX_SYNC: Room = Room {
    opcodes: &["redux"],
    title: "combine a register over the lanes of a warp",
    doc: "The lanes in `membermask` meet; each gets the sum (wrapping), minimum, maximum or bitwise combination of all their operands. Of f32 -0 is less than +0; NaNs do not \
          count unless all are, with `.NaN` one is enough, and the result is 0x7fffffff then; `.abs` takes absolute values.",
    section: "9.7.13.12",
    forms: &[
        Form::new("redux.sync.op.type  d:u32, a:u32, membermask:u32", REDUX, since(70, 80)),
        Form::new("redux.sync.bits.btype  d:u32, a:u32, membermask:u32", REDUX, since(70, 80)),
        Form::new("redux.sync.extreme{.abs}{.NaN}.f32  d:f32, a:f32, membermask:u32", REDUX, since(86, 100))
            .only("100f 101f 110f"),
    ],
    rule: None,
    meaning: |cx| {
        let (a, mask) = (cx.src("a"), cx.src("membermask"));
        if let Some(op) = cx.get(".extreme") {
            let d = together(cx, mask, &[Type::I32], |cx| {
                let members = members(cx, mask);
                vec![float_extreme(cx, a, members, op == ".max")]
            });
            cx.set("d", d[0]);
            return Ok(());
        }
        let op = cx.get(".op").or(cx.get(".bits")).unwrap_or_default();
        let signed = cx.m.ty(".type").is_some_and(Ty::is_signed);
        let d = together(cx, mask, &[Type::I32], |cx| {
            let members = members(cx, mask);
            vec![match op {
                ".min" | ".max" => extreme(cx, a, members, op == ".max", signed),
                _ => bit_by_bit(cx, a, members, op),
            }]
        });
        cx.set("d", d[0]);
        Ok(())
    },
    notes: &[],
};

/// `match`
pub const MATCH_SYNC: Room = Room {
    opcodes: &["match"],
    title: "which lanes of a warp hold the same",
    doc: "The lanes in `membermask` meet. `.any` gives each the mask of those that hold the same as itself; `.all` gives all of them if all hold the same, \
          otherwise 0, and `p` says which.",
    section: "9.7.13.10",
    forms: &[
        Form::new("match.any.sync.type  d:u32, a:.type, membermask:u32", MATCH, since(60, 70)),
        Form::new("match.all.sync.type  d:u32?{|p:pred}, a:.type, membermask:u32", MATCH, since(60, 70)),
    ],
    rule: None,
    meaning: |cx| {
        let (a, mask) = (cx.src("a"), cx.src("membermask"));
        let d = together(cx, mask, &[Type::I32, Type::I32], |cx| {
            let members = members(cx, mask);
            let mut same = members;
            for bit in 0..cx.b.ty(a).bits() {
                let (mine, ballot) = ask(cx, a, bit);
                let opposite = cx.b.not(ballot);
                let like_me = cx.b.select(mine, ballot, opposite);
                same = cx.b.and(same, like_me);
            }
            vec![same, members]
        });
        let (same, members) = (d[0], d[1]);
        let same = cx.name(same, "same");
        if cx.has(".any") {
            cx.set("d", same);
            return Ok(());
        }
        let all = cx.b.cmp(IntCmp::Eq, same, members);
        let zero = cx.b.iconst(Type::I32, 0);
        let d = cx.b.select(all, members, zero);
        cx.set("d", d);
        if cx.given("p") {
            cx.set("p", all);
        }
        Ok(())
    },
    notes: &[],
};

/// `elect`
pub const ELECT_SYNC: Room = Room {
    opcodes: &["elect"],
    title: "choose one lane of a warp",
    doc: "The lanes in `membermask` meet and choose the lowest of them: `d` is its number, `p` is true in it alone.",
    section: "9.7.13.14",
    forms: &[Form::new("elect.sync  d:u32?|p:pred, membermask:u32", &[], since(80, 90))],
    rule: None,
    meaning: |cx| {
        let mask = cx.src("membermask");
        let leader = together(cx, mask, &[Type::I32], |cx| {
            let members = members(cx, mask);
            // The zeros below the lowest one, counted.
            let below = cx.b.int_imm(IntBin::Sub, members, 1);
            let others = cx.b.not(members);
            let zeros = cx.b.and(below, others);
            vec![cx.b.int_un(IntUn::Popc, zeros)]
        })[0];
        let leader = cx.name(leader, "leader");
        let lane = cx.b.special(Special::LaneId);
        let p = cx.b.cmp(IntCmp::Eq, lane, leader);
        cx.set("d", leader);
        cx.set("p", p);
        Ok(())
    },
    notes: &[],
};

/// The lanes of `mask` that are here.
fn members(cx: &mut Cx<'_>, mask: Value) -> Value {
    let here = cx.b.inst(Op::ActiveMask, &[], Type::I32);
    let members = cx.b.and(here, mask);
    cx.name(members, "members")
}

/// One bit of `a`: whether it is set here, and the lanes in which it is.
fn ask(cx: &mut Cx<'_>, a: Value, bit: u32) -> (Value, Value) {
    let one = cx.b.int_imm(IntBin::And, a, 1 << bit);
    let mine = cx.b.cmp_imm(IntCmp::Ne, one, 0);
    (mine, cx.b.inst(Op::Ballot, &[mine], Type::I32))
}

/// Sum and bitwise combinations: the result's bits follow from how many members have a bit set.
fn bit_by_bit(cx: &mut Cx<'_>, a: Value, members: Value, op: &str) -> Value {
    let mut d = cx.b.iconst(Type::I32, 0);
    for bit in 0..32 {
        let (_, ballot) = ask(cx, a, bit);
        let set = cx.b.and(ballot, members);
        let part = match op {
            ".and" | ".or" => {
                let holds = match op {
                    ".and" => cx.b.cmp(IntCmp::Eq, set, members),
                    _ => cx.b.cmp_imm(IntCmp::Ne, set, 0),
                };
                cx.b.zext(holds, Elem::I32)
            }
            _ => {
                let count = cx.b.int_un(IntUn::Popc, set);
                if op == ".xor" { cx.b.int_imm(IntBin::And, count, 1) } else { count }
            }
        };
        let part = cx.b.int_imm(IntBin::Shl, part, bit.into());
        d = cx.b.add(d, part);
    }
    d
}

/// Minimum and maximum of f32, as those of keys that are ordered as the numbers are: -0 before +0, and NaN below or above all.
fn float_extreme(cx: &mut Cx<'_>, a: Value, members: Value, max: bool) -> Value {
    let a = if cx.has(".abs") { cx.b.int_imm(IntBin::And, a, 0x7fff_ffff) } else { a };
    let sign = cx.b.int_imm(IntBin::ShrS, a, 31);
    let turned = cx.b.int_imm(IntBin::Or, sign, 1 << 31);
    let ascending = cx.b.int(IntBin::Xor, a, turned);
    let flip = if max { 0 } else { u64::from(u32::MAX) };
    let key = cx.b.int_imm(IntBin::Xor, ascending, flip);
    let number = cx.b.from_bits(a, Type::F32);
    let is_nan = cx.b.fcmp(FCmp::Nan, number, number);
    let of_nan = cx.b.iconst(Type::I32, if cx.has(".NaN") { u64::from(u32::MAX) } else { 0 });
    let key = cx.b.select(is_nan, of_nan, key);
    let key = cx.name(key, "key");
    let best = extreme(cx, key, members, true, false);
    // No number has the key of NaN.
    let is_nan = cx.b.cmp(IntCmp::Eq, best, of_nan);
    let ascending = cx.b.int_imm(IntBin::Xor, best, flip);
    let sign = cx.b.int_imm(IntBin::ShrS, ascending, 31);
    let negative = cx.b.not(sign);
    let turned = cx.b.int_imm(IntBin::Or, negative, 1 << 31);
    let bits = cx.b.int(IntBin::Xor, ascending, turned);
    let nan = cx.b.iconst(Type::I32, 0x7fff_ffff);
    cx.b.select(is_nan, nan, bits)
}

/// Minimum and maximum: from the top bit down, those that have the better bit stay in the running.
fn extreme(cx: &mut Cx<'_>, a: Value, members: Value, max: bool, signed: bool) -> Value {
    // The maximum of keys: numbers for a maximum, complements for a minimum, the sign turned round so that it counts like any bit.
    let flip = if max { 0 } else { u64::from(u32::MAX) } ^ if signed { 1 << 31 } else { 0 };
    let key = cx.b.int_imm(IntBin::Xor, a, flip);
    let mut running = members;
    let mut best = cx.b.iconst(Type::I32, 0);
    for bit in (0..32).rev() {
        let (_, ballot) = ask(cx, key, bit);
        let with = cx.b.and(ballot, running);
        let some = cx.b.cmp_imm(IntCmp::Ne, with, 0);
        running = cx.b.select(some, with, running);
        let better = cx.b.int_imm(IntBin::Or, best, 1 << bit);
        best = cx.b.select(some, better, best);
    }
    cx.b.int_imm(IntBin::Xor, best, flip)
}
