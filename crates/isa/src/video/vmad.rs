//! `vmad`: multiply-accumulate of bytes, half-words and words.
//!
//! Since PTX 2.0, sm_20. Without `.sat` and scaling hardware does what the manual says; with them it departs ([`ERRATA`]).

use super::{PARTS, TYPES, clamp, part};
use crate::{Cx, Erratum, Form, Instr, Match, Outcome, Room, Spelling, Ty, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Value};

const SETS: &[(&str, &str)] = &[
    (".dtype", TYPES),
    (".atype", TYPES),
    (".btype", TYPES),
    (".scale", ".shr7 .shr15"),
    (".asel", PARTS),
    (".bsel", PARTS),
];

/// `vmad`
pub const ROOM: Room = Room {
    opcodes: &["vmad"],
    title: "multiply-accumulate of bytes, half-words and words, with negation, rounding and scaling",
    doc: "Computes a·b + c exactly on the selected parts. Negating one of `a` and `b` negates the product; alternatively `c` may be negated. \
          `.po` adds one. The result is signed if `a` or `b` is signed or anything is negated, otherwise unsigned; `.shr7` and `.shr15` shift it \
          right accordingly, `.sat` then clamps it to 32 bits. `dtype` does not matter.",
    section: "9.7.18.1.3",
    forms: &[
        Form::new(
            "vmad.dtype.atype.btype{.sat}{.scale}  d:x32, {-}a{.asel}:x32, {-}b{.bsel}:x32, {-}c:x32",
            SETS,
            since(20, 20),
        ),
        Form::new(
            "vmad.dtype.atype.btype.po{.sat}{.scale}  d:x32, a{.asel}:x32, b{.bsel}:x32, c:x32",
            SETS,
            since(20, 20),
        ),
        // Everything that leaves the product's sign alone passes ptxas in `.po` mode too.
        Form::new(
            "vmad.dtype.atype.btype.po{.sat}{.scale}  d:x32, {-}a{.asel}:x32, {-}b{.bsel}:x32, {-}c:x32",
            SETS,
            since(20, 20),
        )
        .undocumented(),
    ],
    rule: Some(negation_rule),
    meaning,
    notes: &[
        "ptxas rejects negating the product and `c` together (\"Operand negation limited to either (source A xor source B) or source C\"), \
         and `.po` with a negated product or `c`; `-a` with `-b` is no negation at all and passes, also with `.po`.",
    ],
};

fn negation_rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let neg = |name: &str| m.slot(name).and_then(|s| m.operands[s]).is_some_and(|i| instr.operands[i].neg);
    let product = neg("a") ^ neg("b");
    if product && neg("c") {
        return Err("either the product (one of `a` and `b`) or `c` can be negated, not both".into());
    }
    if m.has(".po") && (product || neg("c")) {
        return Err("`.po` cannot be combined with a negated operand".into());
    }
    Ok(())
}

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let (atype, btype) = (cx.ty(".atype"), cx.ty(".btype"));
    let (ta, tb) = (factor(cx, "a", atype), factor(cx, "b", btype));
    let negate_product = cx.neg("a") ^ cx.neg("b");
    let signed_final = atype.is_signed() || btype.is_signed() || negate_product || cx.neg("c");
    // Only the product of two full unsigned words can need more than 63 bits and a sign.
    let full_word = |cx: &Cx<'_>, n: &str, signed: bool| cx.selector(n).is_none() && !signed;
    let wide = full_word(cx, "a", atype.is_signed()) && full_word(cx, "b", btype.is_signed()) && signed_final;
    let wide = wide && !cx.departs(&WORDS_ARE_SIGNED);

    let product = cx.b.mul(ta, tb);
    let product = cx.name(product, "product");
    let low = if negate_product { cx.b.not(product) } else { product };
    let c = cx.src("c");
    let c = if cx.neg("c") { cx.b.not(c) } else { c };
    let c = cx.b.ext(c, Elem::I64, signed_final || cx.departs(&C_IS_SIGNED));
    let lsb = cx.has(".po") || negate_product || cx.neg("c");
    let c = if lsb { cx.b.int_imm(IntBin::Add, c, 1) } else { c };
    let c = cx.name(c, "c");
    let low = cx.b.add(low, c);
    let sum = cx.name(low, "sum");
    // Bits 127..64 of the sum, where they are not the sign of the low half.
    let high = wide.then(|| {
        let carry = cx.b.cmp(IntCmp::LtU, sum, c);
        let carry = cx.b.zext(carry, Elem::I64);
        let sign = cx.b.int_imm(IntBin::ShrS, c, 63);
        let high = cx.b.add(sign, carry);
        let high = if negate_product { cx.b.int_imm(IntBin::Add, high, u64::MAX) } else { high };
        cx.name(high, "sum_high")
    });
    let scale = match cx.get(".scale") {
        Some(".shr7") => 7,
        Some(_) => 15,
        None => 0,
    };
    let result = shift(cx, sum, high, scale, signed_final);
    let result = match cx.has(".sat") {
        true => saturate(cx, result, high.filter(|_| scale == 0), signed_final),
        false => result,
    };
    let d = cx.b.zext(result, Elem::I32);
    cx.set("d", d);
    Ok(())
}

/// A factor, as its type says.
fn factor(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let signed_word = cx.selector(name).is_none() && cx.departs(&WORDS_ARE_SIGNED);
    part(cx, name, if signed_word { Ty::S32 } else { ty })
}

fn shift(cx: &mut Cx<'_>, low: Value, high: Option<Value>, scale: u64, signed: bool) -> Value {
    if scale == 0 {
        return low;
    }
    let scaled = match high {
        Some(high) => {
            let bottom = cx.b.int_imm(IntBin::ShrU, low, scale);
            let top = cx.b.int_imm(IntBin::Shl, high, 64 - scale);
            cx.b.or(bottom, top)
        }
        None => cx.b.int_imm(if signed { IntBin::ShrS } else { IntBin::ShrU }, low, scale),
    };
    cx.name(scaled, "scaled")
}

fn saturate(cx: &mut Cx<'_>, result: Value, high: Option<Value>, signed: bool) -> Value {
    let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let clamped = if cx.departs(&NEGATIVE_BECOMES_ZERO) {
        clamp(cx, result, 0, i64::from(u32::MAX))
    } else if !signed {
        cx.b.int_imm(IntBin::MinU, result, u64::from(u32::MAX))
    } else {
        let inside = clamp(cx, result, min, max);
        match high {
            None => inside,
            // Beyond 64 bits the sign of the high half decides.
            Some(high) => {
                let sign = cx.b.int_imm(IntBin::ShrS, result, 63);
                let fits = cx.b.cmp(IntCmp::Eq, high, sign);
                let negative = cx.b.cmp_imm(IntCmp::LtS, high, 0);
                let (low_end, high_end) =
                    (cx.b.const_like(result, min as u64), cx.b.const_like(result, max as u64));
                let end = cx.b.select(negative, low_end, high_end);
                cx.b.select(fits, inside, end)
            }
        }
    };
    cx.name(clamped, "clamped")
}

/// Where hardware departs.
pub const ERRATA: &[&Erratum] = &[&WORDS_ARE_SIGNED, &C_IS_SIGNED, &NEGATIVE_BECOMES_ZERO];

/// Bits above the low word matter.
fn cuts(s: &Spelling<'_>) -> bool {
    s.has(".sat") || s.m.get(".scale").is_some()
}

fn signed_final(s: &Spelling<'_>) -> bool {
    s.signed(".atype") || s.signed(".btype") || s.neg("a") ^ s.neg("b") || s.neg("c")
}

const WORDS_ARE_SIGNED: Erratum = Erratum {
    id: "V1",
    title: "full words are multiplied as signed numbers",
    text: "The manual multiplies .u32 operands without a selector as unsigned numbers. Hardware multiplies them as signed ones; with `.sat` or a \
           scale that can be seen.",
    opcodes: &["vmad"],
    applies: |s| {
        let word = |name: &str, ty: &str| s.selector(name).is_none() && !s.signed(ty);
        cuts(s) && (word("a", ".atype") || word("b", ".btype"))
    },
};

const C_IS_SIGNED: Erratum = Erratum {
    id: "V2",
    title: "c is always sign-extended",
    text: "The manual zero-extends `c` when the final result is unsigned. Hardware sign-extends it always. A scale then shifts the 64-bit sum \
           right as an unsigned number.",
    opcodes: &["vmad"],
    applies: |s| cuts(s) && !signed_final(s),
};

const NEGATIVE_BECOMES_ZERO: Erratum = Erratum {
    id: "V3",
    title: "saturating an unsigned result makes negative sums 0",
    text: "In the manual an unsigned result is never negative. On hardware it can be, by V1 and V2, and `.sat` makes it 0.",
    opcodes: &["vmad"],
    applies: |s| s.has(".sat") && s.m.get(".scale").is_none() && !signed_final(s),
};
