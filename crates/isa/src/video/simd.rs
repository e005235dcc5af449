//! `vadd4 … vset4`, `vadd2 … vset2`: the same arithmetic on four bytes or two half-words at once.
//!
//! Since PTX 3.0, sm_30. Recorded on an H200: no departure from the manual in any form tried.

use super::scalar::compare;
use super::{TYPES, clamp};
use crate::{Cx, Form, Outcome, Room, Ty, since};
use hostwarp_ir::{Elem, IntBin, IntUn, Op, Type, Value};

const MASK4: &str = ".b0 .b1 .b10 .b2 .b20 .b21 .b210 .b3 .b30 .b31 .b310 .b32 .b320 .b321 .b3210";
const MASK2: &str = ".h0 .h1 .h10";
const CMP: &str = ".eq .ne .lt .le .gt .ge";

const SETS4: &[(&str, &str)] = &[
    (".dtype", TYPES),
    (".atype", TYPES),
    (".btype", TYPES),
    (".cmp", CMP),
    (".mask", MASK4),
    (".asel", "@bxyzw"),
    (".bsel", "@bxyzw"),
];

const SETS2: &[(&str, &str)] = &[
    (".dtype", TYPES),
    (".atype", TYPES),
    (".btype", TYPES),
    (".cmp", CMP),
    (".mask", MASK2),
    (".asel", "@hxy"),
    (".bsel", "@hxy"),
];

const DOC: &str = "Each element of `a` and `b` is any element of the two registers: selector digits name elements of `b:a`, the leftmost digit \
     the top element. Without a selector `a` stands for itself and `b` for itself. The elements are extended as `atype` and `btype` say and \
     computed exactly. Without `.add` the results (clamped by `.sat`) replace the elements of `c` that the mask on `d` names; with \
     `.add` the results under the mask are added to `c`.";

const OVERLONG_MASK: &str = "The manual's example `vmin4.s32.u32.u32.add r1.b00, …` is not accepted by ptxas (\"Incorrect video selector for \
     operand 0\"): a mask names each element once, highest first.";

/// `vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4`
pub const QUAD: Room = Room {
    opcodes: &["vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4"],
    title: "four bytes at once: add, subtract, average, absolute difference, minimum, maximum",
    doc: DOC,
    section: "9.7.18.2.3",
    forms: &[
        Form::new(
            "vop4.dtype.atype.btype{.sat}  d{.mask}:x32, a{.asel}:x32!, b{.bsel}:x32!, c:x32!",
            SETS4,
            since(30, 30),
        ),
        Form::new(
            "vop4.dtype.atype.btype.add  d{.mask}:x32, a{.asel}:x32!, b{.bsel}:x32!, c:x32!",
            SETS4,
            since(30, 30),
        ),
    ],
    rule: None,
    meaning: |cx| arithmetic(cx, Type::I8X4),
    notes: &[OVERLONG_MASK],
};

/// `vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2`
pub const DUAL: Room = Room {
    opcodes: &["vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2"],
    title: "two half-words at once: add, subtract, average, absolute difference, minimum, maximum",
    doc: DOC,
    section: "9.7.18.2.1",
    forms: &[
        Form::new(
            "vop2.dtype.atype.btype{.sat}  d{.mask}:x32, a{.asel}:x32!, b{.bsel}:x32!, c:x32!",
            SETS2,
            since(30, 30),
        ),
        Form::new(
            "vop2.dtype.atype.btype.add  d{.mask}:x32, a{.asel}:x32!, b{.bsel}:x32!, c:x32!",
            SETS2,
            since(30, 30),
        ),
    ],
    rule: None,
    meaning: |cx| arithmetic(cx, Type::I16X2),
    notes: &[],
};

/// `vset4`
pub const SET4: Room = Room {
    opcodes: &["vset4"],
    title: "compare four bytes at once",
    doc: DOC,
    section: "9.7.18.2.4",
    forms: &[
        Form::new(
            "vset4.atype.btype.cmp  d{.mask}:u32, a{.asel}:x32!, b{.bsel}:x32!, c:u32!",
            SETS4,
            since(30, 30),
        ),
        Form::new(
            "vset4.atype.btype.cmp.add  d{.mask}:u32, a{.asel}:x32!, b{.bsel}:x32!, c:u32!",
            SETS4,
            since(30, 30),
        ),
    ],
    rule: None,
    meaning: |cx| set(cx, Type::I8X4),
    notes: &[UNMASKED],
};

/// `vset2`
pub const SET2: Room = Room {
    opcodes: &["vset2"],
    title: "compare two half-words at once",
    doc: DOC,
    section: "9.7.18.2.2",
    forms: &[
        Form::new(
            "vset2.atype.btype.cmp  d{.mask}:u32, a{.asel}:x32!, b{.bsel}:x32!, c:u32!",
            SETS2,
            since(30, 30),
        ),
        Form::new(
            "vset2.atype.btype.cmp.add  d{.mask}:u32, a{.asel}:x32!, b{.bsel}:x32!, c:u32!",
            SETS2,
            since(30, 30),
        ),
    ],
    rule: None,
    meaning: |cx| set(cx, Type::I16X2),
    notes: &[UNMASKED],
};

const UNMASKED: &str = "Elements outside the mask come from `c`, as in the other SIMD video instructions; an H200 does the same.";

/// The elements an operand selects from `b:a`, e.g. `.b7610`; the leftmost digit is the top element.
fn select(cx: &mut Cx<'_>, name: &str, narrow: Type, default_first: u8) -> Value {
    let n = narrow.count as usize;
    let mut order = [0u8; 8];
    for (i, slot) in order.iter_mut().enumerate().take(n) {
        *slot = match cx.selector(name) {
            Some(sel) => sel.as_bytes()[1 + n - i] - b'0',
            None => default_first + i as u8,
        };
    }
    let (a, b) = (cx.src("a"), cx.src("b"));
    let (a, b) = (cx.b.bitcast(a, narrow), cx.b.bitcast(b, narrow));
    let identity = |first: u8| order[..n].iter().enumerate().all(|(i, o)| *o == first + i as u8);
    let picked = if identity(0) {
        a
    } else if identity(n as u8) {
        b
    } else {
        cx.b.inst(Op::Permute(order), &[a, b], narrow)
    };
    cx.name(picked, &format!("V{name}"))
}

/// For each element whether the mask on `d` names it.
fn mask(cx: &Cx<'_>, n: u8) -> Vec<bool> {
    match cx.selector("d") {
        None => vec![true; n as usize],
        Some(m) => (0..n).map(|i| m.as_bytes()[2..].contains(&(b'0' + i))).collect(),
    }
}

fn arithmetic(cx: &mut Cx<'_>, narrow: Type) -> Outcome {
    let (at, bt, dt) = (cx.ty(".atype"), cx.ty(".btype"), cx.ty(".dtype"));
    let (va, vb) = (select(cx, "a", narrow, 0), select(cx, "b", narrow, narrow.count));
    let op = cx.m.opcode.trim_end_matches(['2', '4']);
    if let Some((t, signed)) = narrow_result(cx, op, va, vb, [at, bt, dt]) {
        let t = cx.name(t, "t");
        return finish(cx, t, signed);
    }
    let elem = if narrow == Type::I8X4 { Elem::I16 } else { Elem::I32 };
    let (a, b) = (cx.b.ext(va, elem, at.is_signed()), cx.b.ext(vb, elem, bt.is_signed()));
    let t = match op {
        "vadd" => cx.b.add(a, b),
        "vsub" => cx.b.sub(a, b),
        "vabsdiff" => {
            let difference = cx.b.sub(a, b);
            cx.b.int_un(IntUn::Abs, difference)
        }
        "vmin" => cx.b.int(IntBin::MinS, a, b),
        "vmax" => cx.b.int(IntBin::MaxS, a, b),
        _ => {
            // Halves away from zero: one more before the shift unless the sum is negative.
            let sum = cx.b.add(a, b);
            let sign = cx.b.int_imm(IntBin::ShrS, sum, u64::from(elem.bits() - 1));
            let one_more = cx.b.int_imm(IntBin::Add, sum, 1);
            let adjusted = cx.b.add(one_more, sign);
            cx.b.int_imm(IntBin::ShrS, adjusted, 1)
        }
    };
    let t = cx.name(t, "t");
    let t = if cx.has(".sat") {
        let bits = narrow.elem.bits();
        let (low, high) = if dt.is_signed() {
            (-(1i64 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        let clamped = clamp(cx, t, low, high);
        cx.name(clamped, "clamped")
    } else {
        t
    };
    finish(cx, t, true)
}

/// Where operand types agree, the element's own width is enough: that is one byte instruction instead of a widened sequence. Gives
/// the elements and whether they are signed; `None` where the exact result needs more bits.
fn narrow_result(
    cx: &mut Cx<'_>,
    op: &str,
    a: Value,
    b: Value,
    [at, bt, dt]: [Ty; 3],
) -> Option<(Value, bool)> {
    if at != bt {
        return None;
    }
    let signed = at.is_signed();
    let (sat, add) = (cx.has(".sat"), cx.has(".add"));
    let by_sign = |s: IntBin, u: IntBin| if signed { s } else { u };
    let (int, result_signed) = match op {
        // The low bits are all that is kept.
        "vadd" if !sat && !add => (IntBin::Add, signed),
        "vsub" if !sat && !add => (IntBin::Sub, signed),
        "vadd" if sat && dt == at => (by_sign(IntBin::AddSatS, IntBin::AddSatU), signed),
        "vsub" if sat && dt == at => (by_sign(IntBin::SubSatS, IntBin::SubSatU), signed),
        "vabsdiff" => (by_sign(IntBin::AbsDiffS, IntBin::AbsDiffU), false),
        "vmin" => (by_sign(IntBin::MinS, IntBin::MinU), signed),
        "vmax" => (by_sign(IntBin::MaxS, IntBin::MaxU), signed),
        _ => return None,
    };
    let t = cx.b.int(int, a, b);
    // A result of one sign clamped to the range of the other.
    let half = cx.b.ty(t).elem.mask() >> 1;
    let t = match (sat, result_signed, dt.is_signed()) {
        (true, false, true) => cx.b.int_imm(IntBin::MinU, t, half),
        (true, true, false) => cx.b.int_imm(IntBin::MaxS, t, 0),
        _ => t,
    };
    Some((t, result_signed))
}

fn set(cx: &mut Cx<'_>, narrow: Type) -> Outcome {
    let (at, bt) = (cx.ty(".atype"), cx.ty(".btype"));
    let (va, vb) = (select(cx, "a", narrow, 0), select(cx, "b", narrow, narrow.count));
    let elem = if narrow == Type::I8X4 { Elem::I16 } else { Elem::I32 };
    let (a, b) = (cx.b.ext(va, elem, at.is_signed()), cx.b.ext(vb, elem, bt.is_signed()));
    let holds = compare(cx, a, b);
    let t = cx.b.zext(holds, narrow.elem);
    let t = cx.name(t, "t");
    finish(cx, t, false)
}

/// Accumulate the elements under the mask, or merge them into `c`.
fn finish(cx: &mut Cx<'_>, t: Value, signed: bool) -> Outcome {
    let ty = cx.b.ty(t);
    let mask = mask(cx, ty.count);
    let all = mask.iter().all(|m| *m);
    let keep = |cx: &mut Cx<'_>| {
        let bits: Vec<Value> = mask.iter().map(|m| cx.b.iconst(Type::I1, u64::from(*m))).collect();
        cx.b.build(&bits)
    };
    let c = cx.src("c");
    let d = if cx.has(".add") {
        let t = if all {
            t
        } else {
            let (keep, zero) = (keep(cx), cx.b.const_like(t, 0));
            cx.b.select(keep, t, zero)
        };
        cx.b.inst(Op::HSum { signed }, &[t, c], Type::I32)
    } else {
        let narrow = if ty.count == 4 { Type::I8X4 } else { Type::I16X2 };
        let t = cx.b.zext(t, narrow.elem);
        let merged = if all {
            t
        } else {
            let (keep, c) = (keep(cx), cx.b.bitcast(c, narrow));
            cx.b.select(keep, t, c)
        };
        cx.b.bitcast(merged, Type::I32)
    };
    cx.set("d", d);
    Ok(())
}
