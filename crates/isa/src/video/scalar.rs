//! `vadd vsub vabsdiff vmin vmax vshl vshr vset`: scalar video instructions.
//!
//! Since PTX 2.0, sm_20. No GPU after Kepler has them in hardware: ptxas expands them, and some expansions differ from the
//! manual ([`ERRATA`]). Everything they do differently happens behind the exact result: in `.sat` and in `.min` and `.max`.

use super::{PARTS, TYPES, clamp, part, sext_from};
use crate::{Cx, Erratum, Form, Outcome, Room, Spelling, Ty, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, IntUn, Type, Value};

const SETS: &[(&str, &str)] = &[
    (".dtype", TYPES),
    (".atype", TYPES),
    (".btype", TYPES),
    (".op2", ".add .min .max"),
    (".mode", ".clamp .wrap"),
    (".cmp", ".eq .ne .lt .le .gt .ge"),
    (".dsel", PARTS),
    (".asel", PARTS),
    (".bsel", PARTS),
];

const IGNORED_C: &str = "ptxas also takes a fourth operand without `.op2` or a destination selector, and ignores it; so do we, with a warning.";

/// `vadd vsub vabsdiff vmin vmax`
pub const ARITHMETIC: Room = Room {
    opcodes: &["vadd", "vsub", "vabsdiff", "vmin", "vmax"],
    title: "add, subtract, absolute difference, minimum, maximum of bytes, half-words and words",
    doc: "Selects a byte, half-word or word from `a` and `b`, extends it as `atype` and `btype` say, and computes exactly. `.sat` clamps \
          to the range of the destination: 8, 16 or 32 bits by the selector of `d`, signed by `dtype`. Then either a second operation \
          combines the result with `c`, or the selector of `d` merges it into `c`.",
    section: "9.7.18.1.1",
    forms: &[
        Form::new("vop.dtype.atype.btype{.sat}  d:x32, a{.asel}:x32, b{.bsel}:x32", SETS, since(20, 20)),
        Form::new(
            "vop.dtype.atype.btype{.sat}.op2  d:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        ),
        Form::new(
            "vop.dtype.atype.btype{.sat}  d.dsel:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        ),
        Form::new(
            "vop.dtype.atype.btype{.sat}  d:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        )
        .undocumented(),
    ],
    rule: None,
    meaning: |cx| {
        let (ta, tb) = (part(cx, "a", cx.ty(".atype")), part(cx, "b", cx.ty(".btype")));
        let tmp = match cx.m.opcode {
            "vadd" => cx.b.add(ta, tb),
            "vsub" => cx.b.sub(ta, tb),
            "vmin" => cx.b.int(IntBin::MinS, ta, tb),
            "vmax" => cx.b.int(IntBin::MaxS, ta, tb),
            _ => {
                let difference = cx.b.sub(ta, tb);
                cx.b.int_un(IntUn::Abs, difference)
            }
        };
        finish(cx, tmp)
    },
    notes: &[IGNORED_C],
};

/// `vshl vshr`
pub const SHIFT: Room = Room {
    opcodes: &["vshl", "vshr"],
    title: "shift a byte, half-word or word",
    doc: "Shifts the selected part of `a` by the selected part of `b`, which is always unsigned: more than 32 counts as 32 with `.clamp`, \
          only the low five bits count with `.wrap`. `.sat`, the second operation and merging are as in `vadd`.",
    section: "9.7.18.1.2",
    forms: &[
        Form::new("vop.dtype.atype.u32{.sat}.mode  d:x32, a{.asel}:x32, b{.bsel}:x32", SETS, since(20, 20)),
        Form::new(
            "vop.dtype.atype.u32{.sat}.mode.op2  d:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        ),
        Form::new(
            "vop.dtype.atype.u32{.sat}.mode  d.dsel:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        ),
        Form::new(
            "vop.dtype.atype.u32{.sat}.mode  d:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        )
        .undocumented(),
    ],
    rule: None,
    meaning: |cx| {
        let (ta, tb) = (part(cx, "a", cx.ty(".atype")), part(cx, "b", Ty::U32));
        let amount = match cx.get(".mode") {
            Some(".clamp") => cx.b.int_imm(IntBin::MinU, tb, 32),
            _ => cx.b.int_imm(IntBin::And, tb, 31),
        };
        let amount = cx.name(amount, "amount");
        let op = if cx.m.opcode == "vshl" { IntBin::Shl } else { IntBin::ShrS };
        let tmp = cx.b.int(op, ta, amount);
        finish(cx, tmp)
    },
    notes: &[
        "The result is a signed 34-bit number before clamping, so what `vshl` shifts beyond bit 33 is lost before `.sat` sees it.",
        IGNORED_C,
    ],
};

/// `vset`
pub const SET: Room = Room {
    opcodes: &["vset"],
    title: "compare bytes, half-words or words: 1 or 0",
    doc: "Compares the selected parts of `a` and `b` as the exact numbers they stand for, whatever their signs. Result and `c` are unsigned. \
          The second operation and merging are as in `vadd`.",
    section: "9.7.18.1.4",
    forms: &[
        Form::new("vset.atype.btype.cmp  d:u32, a{.asel}:x32, b{.bsel}:x32", SETS, since(20, 20)),
        Form::new("vset.atype.btype.cmp.op2  d:u32, a{.asel}:x32, b{.bsel}:x32, c:u32", SETS, since(20, 20)),
        Form::new("vset.atype.btype.cmp  d.dsel:u32, a{.asel}:x32, b{.bsel}:x32, c:u32", SETS, since(20, 20)),
        Form::new("vset.atype.btype.cmp  d:u32, a{.asel}:x32, b{.bsel}:x32, c:u32", SETS, since(20, 20))
            .undocumented(),
    ],
    rule: None,
    meaning: |cx| {
        let (ta, tb) = (part(cx, "a", cx.ty(".atype")), part(cx, "b", cx.ty(".btype")));
        let holds = compare(cx, ta, tb);
        let tmp = cx.b.zext(holds, Elem::I64);
        finish(cx, tmp)
    },
    notes: &[IGNORED_C],
};

/// The comparison in the `.cmp` place, of signed numbers.
pub(super) fn compare(cx: &mut Cx<'_>, a: Value, b: Value) -> Value {
    let (op, a, b) = match cx.get(".cmp").unwrap_or_default() {
        ".eq" => (IntCmp::Eq, a, b),
        ".ne" => (IntCmp::Ne, a, b),
        ".lt" => (IntCmp::LtS, a, b),
        ".le" => (IntCmp::LeS, a, b),
        ".gt" => (IntCmp::LtS, b, a),
        _ => (IntCmp::LeS, b, a),
    };
    cx.b.cmp(op, a, b)
}

/// What all scalar video instructions do with their exact result: saturate, then a second operation or a merge.
fn finish(cx: &mut Cx<'_>, tmp: Value) -> Outcome {
    let tmp = cx.name(tmp, "tmp");
    let saturates = cx.m.opcode != "vset" && cx.has(".sat");
    let tmp = if saturates { saturate(cx, tmp) } else { hand_on(cx, tmp) };
    let dsel = cx.selector("d").map(str::to_string);
    let d = if let Some(op2) = cx.get(".op2") {
        let both = second(cx, op2, tmp);
        let both = cx.name(both, &op2[1..]);
        cx.b.zext(both, Elem::I32)
    } else if let Some(dsel) = dsel {
        merge(cx, tmp, &dsel)
    } else {
        cx.b.zext(tmp, Elem::I32)
    };
    cx.set("d", d);
    Ok(())
}

/// Whether `dtype` is signed; `vset` has none, its result is unsigned.
fn signed(cx: &Cx<'_>) -> bool {
    cx.m.opcode != "vset" && cx.ty(".dtype").is_signed()
}

/// An unsaturated result on its way to the second operation: 33 bits.
fn hand_on(cx: &mut Cx<'_>, tmp: Value) -> Value {
    if cx.departs(&SUM_OF_32_BITS) {
        sext_from(cx, tmp, 32)
    } else if cx.departs(&ALL_BITS) {
        tmp
    } else {
        sext_from(cx, tmp, 33)
    }
}

/// The manual's `optSaturate`: the 34-bit result clamped to the range of the destination.
fn saturate(cx: &mut Cx<'_>, tmp: Value) -> Value {
    // Only a left shift can leave the 34 bits.
    let tmp = if cx.m.opcode == "vshl" { sext_from(cx, tmp, 34) } else { tmp };
    let clamped = if cx.departs(&SHIFT_SATURATES_TO_32_BITS) {
        let (low, high) = range(32, signed(cx));
        let clamped = clamp(cx, tmp, low, high);
        sext_from(cx, clamped, 32)
    } else if cx.departs(&NEGATIVE_BECOMES_MAXIMUM) {
        let (_, high) = range(destination_bits(cx), signed(cx));
        cx.b.int_imm(IntBin::MinU, tmp, high as u64)
    } else if cx.departs(&NO_UPPER_CLAMP) {
        let positive = cx.b.int_imm(IntBin::MaxS, tmp, 0);
        if cx.m.opcode == "vabsdiff" { positive } else { sext_from(cx, positive, 32) }
    } else {
        let (low, high) = range(destination_bits(cx), signed(cx));
        clamp(cx, tmp, low, high)
    };
    cx.name(clamped, "clamped")
}

/// The bits `.sat` clamps to.
fn destination_bits(cx: &Cx<'_>) -> u32 {
    match cx.selector("d") {
        None => 32,
        Some(s) if s.starts_with(".h") => 16,
        Some(_) => 8,
    }
}

fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// The second operation, with `c` extended as `dtype` says.
fn second(cx: &mut Cx<'_>, op2: &str, tmp: Value) -> Value {
    let signed = signed(cx) || cx.departs(&SET_COMPARES_BY_ATYPE);
    let c = cx.src("c");
    let c = cx.b.ext(c, Elem::I64, signed);
    let unsigned = cx.departs(&UNSIGNED_COMPARISON);
    let op = match op2 {
        ".add" => IntBin::Add,
        ".min" if unsigned => IntBin::MinU,
        ".max" if unsigned => IntBin::MaxU,
        ".min" => IntBin::MinS,
        _ => IntBin::MaxS,
    };
    cx.b.int(op, tmp, c)
}

/// The manual's `optMerge`: the low bits of the result replace one part of `c`.
fn merge(cx: &mut Cx<'_>, tmp: Value, dsel: &str) -> Value {
    let index = dsel.as_bytes()[2] - b'0';
    let ty = if dsel.starts_with(".b") { Type::I8X4 } else { Type::I16X2 };
    let c = cx.src("c");
    let parts = cx.b.bitcast(c, ty);
    let piece = cx.b.zext(tmp, ty.elem);
    let elems: Vec<Value> =
        (0..ty.count).map(|i| if i == index { piece } else { cx.b.extract(parts, i) }).collect();
    let merged = cx.b.build(&elems);
    let d = cx.b.bitcast(merged, Type::I32);
    cx.name(d, "merged")
}

/// Where hardware departs.
pub const ERRATA: &[&Erratum] = &[
    &SET_COMPARES_BY_ATYPE,
    &SUM_OF_32_BITS,
    &SHIFT_SATURATES_TO_32_BITS,
    &NEGATIVE_BECOMES_MAXIMUM,
    &NO_UPPER_CLAMP,
    &UNSIGNED_COMPARISON,
    &ALL_BITS,
];

fn compares(s: &Spelling<'_>) -> bool {
    s.has(".min") || s.has(".max")
}

const SET_COMPARES_BY_ATYPE: Erratum = Erratum {
    id: "R1",
    title: "the second operation of vset compares as atype says",
    text: "The manual: the result of `vset` and `c` are unsigned. With `atype` .s32, hardware compares them as signed numbers in `.min` and `.max`.",
    opcodes: &["vset"],
    applies: |s| compares(s) && s.signed(".atype"),
};

const SUM_OF_32_BITS: Erratum = Erratum {
    id: "R2",
    title: "an unsaturated sum is cut to 32 bits before it is compared",
    text: "The manual compares a 33-bit result with `c` in `.min` and `.max`. Hardware keeps the low 32 bits of an unsaturated sum or difference \
           and sign-extends them first.",
    opcodes: &["vadd", "vsub"],
    applies: |s| compares(s) && !s.has(".sat"),
};

const SHIFT_SATURATES_TO_32_BITS: Erratum = Erratum {
    id: "R3",
    title: "saturated shifts clamp to 32 bits whatever the destination",
    text: "The manual clamps to the range of the destination: 8 or 16 bits with a selector on `d`. Hardware clamps to 32 bits always, so a merge \
           takes the low bits of a number that is too large; and what it compares in `.min` and `.max` is the clamped word sign-extended.",
    opcodes: &["vshl", "vshr"],
    applies: |s| s.has(".sat") && (s.selector("d").is_some() || compares(s)),
};

const NEGATIVE_BECOMES_MAXIMUM: Erratum = Erratum {
    id: "R4",
    title: "saturating into a byte or half-word makes negative results the maximum",
    text: "The manual clamps to both ends of the destination's range. Hardware takes the unsigned minimum with the upper end only, so a negative \
           result becomes the largest value instead of the smallest (or of itself, where it fits).",
    opcodes: &["vadd", "vsub", "vabsdiff", "vmin", "vmax"],
    applies: |s| s.has(".sat") && s.selector("d").is_some(),
};

const NO_UPPER_CLAMP: Erratum = Erratum {
    id: "R5",
    title: "saturating to u32 has no upper clamp",
    text: "The manual clamps to 0 … 2^32 - 1. Hardware makes negative results 0, but of 2^32 and more it keeps the low word; of `vadd` and `vsub` \
           that word is sign-extended on its way to the second operation.",
    opcodes: &["vadd", "vsub", "vabsdiff"],
    applies: |s| s.has(".sat") && s.selector("d").is_none() && !s.signed(".dtype"),
};

const UNSIGNED_COMPARISON: Erratum = Erratum {
    id: "R6",
    title: "with dtype u32 the second operation compares 64 bits as unsigned numbers",
    text: "The manual compares the signed 33-bit result with `c`. Hardware compares the sign-extended result with the zero-extended `c` as unsigned \
           64-bit numbers, so a negative result is greater than any `c`.",
    opcodes: &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr"],
    applies: |s| compares(s) && !s.signed(".dtype"),
};

const ALL_BITS: Erratum = Erratum {
    id: "R7",
    title: "an unsaturated shift or absolute difference is compared with all its bits",
    text: "The manual compares a 33-bit result with `c` in `.min` and `.max`. Hardware compares the whole 64-bit result.",
    opcodes: &["vabsdiff", "vshl"],
    applies: |s| compares(s) && !s.has(".sat"),
};
