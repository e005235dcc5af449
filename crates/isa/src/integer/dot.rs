//! `dp4a dp2a`
//!
//! Since PTX 5.0, sm_61.

use crate::matching::stand_first;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{Elem, Op, Type, Value};

const SETS: &[(&str, &str)] = &[(".atype", ".u32 .s32"), (".btype", ".u32 .s32"), (".mode", ".lo .hi")];

/// `dp4a`
pub const DP4A: Room = Room {
    opcodes: &["dp4a"],
    title: "c + the dot product of four bytes",
    doc: "The bytes of `a` and `b` are extended as their types say; the sum wraps.",
    section: "9.7.1.23",
    forms: &[Form::new("dp4a.atype.btype  d:u32, a:.atype, b:.btype, c:u32", SETS, since(50, 61))],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let [a, b] = [a, b].map(|v| cx.b.bitcast(v, Type::I8X4));
        // The product of two bytes always fits 16 bits, with the sign the two types give it.
        dot(cx, a, b, Elem::I16)
    },
    notes: &[],
};

/// `dp2a`
pub const DP2A: Room = Room {
    opcodes: &["dp2a"],
    title: "c + the dot product of two half-words and two bytes",
    doc: "The half-words of `a` with the lower (`.lo`) or upper (`.hi`) two bytes of `b`, extended as their types say; the sum wraps.",
    section: "9.7.1.24",
    forms: &[Form::new("dp2a.mode.atype.btype  d:u32, a:.atype, b:.btype, c:u32", SETS, since(50, 61))],
    rule: Some(|_, instr| stand_first(instr, &[".hi", ".lo"])),
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let a = cx.b.bitcast(a, Type::I16X2);
        let bytes = cx.b.bitcast(b, Type::I8X4);
        let first = if cx.has(".hi") { 2 } else { 0 };
        let pair = [first, first + 1].map(|i| cx.b.extract(bytes, i));
        let b = cx.b.build(&pair);
        dot(cx, a, b, Elem::I32)
    },
    notes: &[],
};

/// c + Σ aᵢ·bᵢ, the products in `elem`.
fn dot(cx: &mut Cx<'_>, a: Value, b: Value, elem: Elem) -> Outcome {
    let (ta, tb) = (cx.ty(".atype"), cx.ty(".btype"));
    let a = cx.b.ext(a, elem, ta.is_signed());
    let b = cx.b.ext(b, elem, tb.is_signed());
    let products = cx.b.mul(a, b);
    let products = cx.name(products, "products");
    let c = cx.src("c");
    let signed = ta.is_signed() || tb.is_signed();
    let d = cx.b.inst(Op::HSum { signed }, &[products, c], Type::I32);
    cx.set("d", d);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    fn of(head: &'static str, a: u32, b: u32, c: u32) -> u32 {
        let operands = [reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), reg(Ty::B32)];
        evaluate(&shape(head, &operands), &[a, b, c].map(|v| vec![v.into()]))[0][0] as u32
    }

    #[test]
    fn each_side_has_its_own_sign() {
        assert_eq!(of("dp4a.u32.u32", 0xffff_ffff, 0xffff_ffff, 1), 4 * 255 * 255 + 1);
        assert_eq!(of("dp4a.s32.u32", 0xffff_ffff, 0xffff_ffff, 0), (-4 * 255_i32) as u32);
        assert_eq!(of("dp4a.s32.s32", 0x8080_8080, 0x8080_8080, 0), 4 * 128 * 128);
        assert_eq!(of("dp2a.lo.u32.s32", 0xffff_ffff, 0x0102_ff80, 0), (65535 * (-1 - 128_i32)) as u32);
        assert_eq!(of("dp2a.hi.s32.u32", 0xffff_0002, 0xff01_0000, 5), (2 - 255 + 5_i32) as u32);
    }
}
