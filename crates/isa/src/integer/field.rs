//! `bfe bfi szext bmsk`: bit fields.
//!
//! `bfe bfi` since PTX 2.0, sm_20; `szext bmsk` since PTX 7.6, sm_70.

use crate::{Cx, Erratum, Form, Room, Ty, since};
use hostwarp_ir::{IntBin, Value};

const SETS: &[(&str, &str)] = &[
    (".type", ".u32 .u64 .s32 .s64"),
    (".btype", ".b32 .b64"),
    (".wtype", ".u32 .s32"),
    (".mode", ".clamp .wrap"),
];

/// Where hardware departs.
pub const ERRATA: &[&Erratum] = &[&WHOLE_PLACES];

const WHOLE_PLACES: Erratum = Erratum {
    id: "B1",
    title: "64-bit fields count all bits of position and length",
    text: "The manual takes the low 8 bits of position and length for both widths. So does hardware for 32 bits; its 64-bit forms take all 32 bits.",
    opcodes: &["bfe", "bfi"],
    applies: |s| {
        let place = if s.m.opcode == "bfi" { ".btype" } else { ".type" };
        s.m.ty(place).is_some_and(|t| t.bits() == 64)
    },
};

/// `bfe`
pub const BFE: Room = Room {
    opcodes: &["bfe"],
    title: "take out a bit field",
    doc: "`c` bits of `a` from position `b` on, extended with zeros or, if signed, with the highest bit of the field; where the field leaves `a`, with the sign of \
          `a`. An empty field is 0.",
    section: "9.7.1.19",
    forms: &[Form::new("bfe.type  d:.type, a:.type, b:u32<0..255>, c:u32<0..255>", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| {
        let (ty, a) = (cx.ty(".type"), cx.src("a"));
        let (pos, len) = (place(cx, "b", ty), place(cx, "c", ty));
        let op = if ty.is_signed() { IntBin::ShrS } else { IntBin::ShrU };
        let from_pos = cx.b.int(op, a, pos);
        let from_pos = cx.name(from_pos, "from_pos");
        let d = low_bits(cx, from_pos, len, op);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `bfi`
pub const BFI: Room = Room {
    opcodes: &["bfi"],
    title: "put in a bit field",
    doc: "`b` with `d` bits from position `c` on replaced by the low bits of `a`; what would leave it is dropped.",
    section: "9.7.1.20",
    forms: &[Form::new(
        "bfi.btype  f:.btype, a:.btype, b:.btype, c:u32<0..255>, d:u32<0..255>",
        SETS,
        since(20, 20),
    )],
    rule: None,
    meaning: |cx| {
        let (ty, a, b) = (cx.ty(".btype"), cx.src("a"), cx.src("b"));
        let (pos, len) = (place(cx, "c", ty), place(cx, "d", ty));
        let field = ones(cx, len);
        let mask = cx.b.int(IntBin::Shl, field, pos);
        let mask = cx.name(mask, "mask");
        let moved = cx.b.int(IntBin::Shl, a, pos);
        let inside = cx.b.and(moved, mask);
        let others = cx.b.not(mask);
        let outside = cx.b.and(b, others);
        let f = cx.b.or(inside, outside);
        cx.set("f", f);
        Ok(())
    },
    notes: &[],
};

/// `szext`
pub const SZEXT: Room = Room {
    opcodes: &["szext"],
    title: "extend the low bits",
    doc: "The low `b` bits of `a`, extended with zeros or with the highest of them; 0 if `b` is 0. More than 32 counts as 32 with `.clamp`, only the low five bits \
          count with `.wrap`.",
    section: "9.7.1.21",
    forms: &[Form::new("szext.mode.wtype  d:.wtype, a:.wtype, b:u32", SETS, since(76, 70))],
    rule: None,
    meaning: |cx| {
        let (a, n) = (cx.src("a"), bounded(cx, "b"));
        let op = if cx.ty(".wtype").is_signed() { IntBin::ShrS } else { IntBin::ShrU };
        let d = low_bits(cx, a, n, op);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `bmsk`
pub const BMSK: Room = Room {
    opcodes: &["bmsk"],
    title: "a mask of bits",
    doc: "`b` ones from position `a` on. More than 32 counts as 32 with `.clamp`, only the low five bits count with `.wrap`.",
    section: "9.7.1.22",
    forms: &[Form::new("bmsk.mode.b32  d:u32, a:u32, b:u32", SETS, since(76, 70))],
    rule: None,
    meaning: |cx| {
        let (pos, len) = (bounded(cx, "a"), bounded(cx, "b"));
        let field = ones(cx, len);
        let d = cx.b.int(IntBin::Shl, field, pos);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// A position or length, as wide as what it is used on.
fn place(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let v = cx.src(name);
    let v = if cx.departs(&WHOLE_PLACES) { v } else { cx.b.int_imm(IntBin::And, v, 0xff) };
    cx.b.zext(v, ty.elem())
}

/// A position or length as `.mode` bounds it.
fn bounded(cx: &mut Cx<'_>, name: &str) -> Value {
    let v = cx.src(name);
    if cx.has(".clamp") { cx.b.int_imm(IntBin::MinU, v, 32) } else { cx.b.int_imm(IntBin::And, v, 31) }
}

/// `n` ones at the bottom: shifting by the width or more gives 0, and 0 − 1 is all ones.
fn ones(cx: &mut Cx<'_>, n: Value) -> Value {
    let one = cx.b.const_like(n, 1);
    let above = cx.b.int(IntBin::Shl, one, n);
    cx.b.int_imm(IntBin::Sub, above, 1)
}

/// The low `n` bits, extended by shifting them up and back with `op`.
fn low_bits(cx: &mut Cx<'_>, v: Value, n: Value, op: IntBin) -> Value {
    let width = cx.b.const_like(v, u64::from(cx.b.ty(v).bits()));
    let spare = cx.b.int(IntBin::SubSatU, width, n);
    let spare = cx.name(spare, "spare");
    let up = cx.b.int(IntBin::Shl, v, spare);
    cx.b.int(op, up, spare)
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    /// The manual's loop over the bits.
    fn bfe(a: u64, pos: u64, len: u64, width: u64, signed: bool) -> u64 {
        let (pos, len) = (pos & 0xff, len & 0xff);
        let sign = if !signed || len == 0 { 0 } else { a >> (pos + len - 1).min(width - 1) & 1 };
        (0..width).fold(0, |d, i| {
            let bit = if i < len && pos + i < width { a >> (pos + i) & 1 } else { sign };
            d | bit << i
        })
    }

    fn bfi(a: u64, b: u64, pos: u64, len: u64, width: u64) -> u64 {
        let (pos, len) = (pos & 0xff, len & 0xff);
        (0..len)
            .take_while(|i| pos + i < width)
            .fold(b, |f, i| f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i))
    }

    #[test]
    fn fields_are_those_of_the_manual() {
        let numbers = [0, 1, 2, 7, 8, 15, 31, 32, 33, 63, 64, 65, 255, 256, 257, 0xffff_ffff];
        let (mut pos, mut len) = (vec![], vec![]);
        for p in numbers {
            for l in numbers {
                pos.push(p);
                len.push(l);
            }
        }
        for (head, ty, a) in [
            ("bfe.u32", Ty::U32, 0x8765_4321_u64),
            ("bfe.s32", Ty::S32, 0x8765_4321),
            ("bfe.s32", Ty::S32, 0x7654_3218),
            ("bfe.u64", Ty::U64, 0xfedc_ba98_7654_3210),
            ("bfe.s64", Ty::S64, 0xfedc_ba98_7654_3210),
        ] {
            let all = [vec![a; pos.len()], pos.clone(), len.clone()];
            let got = evaluate(&shape(head, &[reg(ty), reg(ty), reg(Ty::U32), reg(Ty::U32)]), &all).remove(0);
            for i in 0..pos.len() {
                let want = bfe(a, pos[i], len[i], ty.bits().into(), ty.is_signed());
                assert_eq!(got[i], want, "{head} {a:#x} {} {}", pos[i], len[i]);
            }
        }
        for (head, ty, a, b) in [
            ("bfi.b32", Ty::B32, 0x8765_4321_u64, 0x0f0f_0f0f_u64),
            ("bfi.b64", Ty::B64, 0xfedc_ba98_7654_3210, 0x5555_aaaa_5555_aaaa),
        ] {
            let all = [vec![a; pos.len()], vec![b; pos.len()], pos.clone(), len.clone()];
            let operands = [reg(ty), reg(ty), reg(ty), reg(Ty::U32), reg(Ty::U32)];
            let got = evaluate(&shape(head, &operands), &all).remove(0);
            for i in 0..pos.len() {
                let want = bfi(a, b, pos[i], len[i], ty.bits().into());
                assert_eq!(got[i], want, "{head} {a:#x} {b:#x} {} {}", pos[i], len[i]);
            }
        }
    }

    #[test]
    fn modes_bound_what_is_too_large() {
        let n = vec![0, 1, 31, 32, 33, 0xffff_ffff];
        let of = |head: &'static str, a: u64| {
            let operands = [reg(Ty::B32), reg(Ty::B32), reg(Ty::B32)];
            evaluate(&shape(head, &operands), &[vec![a; n.len()], n.clone()]).remove(0)
        };
        assert_eq!(of("bmsk.clamp.b32", 4), [0, 0x10, 0xffff_fff0, 0xffff_fff0, 0xffff_fff0, 0xffff_fff0]);
        assert_eq!(of("bmsk.wrap.b32", 36), [0, 0x10, 0xffff_fff0, 0, 0x10, 0xffff_fff0]);
        assert_eq!(of("szext.wrap.s32", 3), [0, 0xffff_ffff, 3, 0, 0xffff_ffff, 3]);
        assert_eq!(
            of("szext.clamp.u32", 0xffff_ffff),
            [0, 1, 0x7fff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff]
        );
    }
}
