//! `mul24 mad24`
//!
//! Since PTX 1.0.

use crate::matching::stand_first;
use crate::{Cx, Form, Room, since};
use hostwarp_ir::{Elem, IntBin, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".hi .lo"), (".type", ".u32 .s32")];
const SATURATED: &[(&str, &str)] = &[(".mode", ".hi"), (".type", ".s32")];

/// `mul24`
pub const MUL24: Room = Room {
    opcodes: &["mul24"],
    title: "the product of two 24-bit numbers",
    doc: "The low 24 bits of `a` and `b`, extended by the sign of the type; of the 48 bits of the product `.lo` gives the lower 32, `.hi` the upper 32.",
    section: "9.7.1.5",
    forms: &[Form::new("mul24.mode.type  d:.type, a:.type, b:.type", SETS, since(10, 10))],
    rule: Some(|_, instr| stand_first(instr, &[".hi", ".lo"])),
    meaning: |cx| {
        let d = product(cx);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `mad24`
pub const MAD24: Room = Room {
    opcodes: &["mad24"],
    title: "the product of two 24-bit numbers, plus c",
    doc: "As `mul24`; the sum wraps, or with `.hi.sat.s32` is clamped to the range of the type.",
    section: "9.7.1.6",
    forms: &[
        Form::new("mad24.mode.type  d:.type, a:.type, b:.type, c:.type", SETS, since(10, 10)),
        Form::new("mad24.mode.sat.type  d:.type, a:.type, b:.type, c:.type", SATURATED, since(10, 10)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".hi", ".lo"])),
    meaning: |cx| {
        let t = product(cx);
        let t = cx.name(t, "product");
        let c = cx.src("c");
        let d = cx.b.int(if cx.has(".sat") { IntBin::AddSatS } else { IntBin::Add }, t, c);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

fn product(cx: &mut Cx<'_>) -> Value {
    let signed = cx.ty(".type").is_signed();
    let [a, b] = ["a", "b"].map(|name| {
        let v = cx.src(name);
        let up = cx.b.int_imm(IntBin::Shl, v, 8);
        let low = cx.b.int_imm(if signed { IntBin::ShrS } else { IntBin::ShrU }, up, 8);
        cx.b.ext(low, Elem::I64, signed)
    });
    let mut t = cx.b.mul(a, b);
    if cx.has(".hi") {
        t = cx.b.int_imm(IntBin::ShrU, t, 16);
    }
    cx.b.zext(t, Elem::I32)
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    #[test]
    fn the_upper_byte_does_not_count() {
        let ab = [vec![0xff80_0000, 0x00ff_ffff], vec![0x1200_0002, 0xffff_ffff]];
        let of =
            |head: &'static str, ty: Ty| evaluate(&shape(head, &[reg(ty), reg(ty), reg(ty)]), &ab).remove(0);
        // −2^23 · 2 and −1 · −1, then 2^23 · 2 and (2^24 − 1)².
        assert_eq!(of("mul24.lo.s32", Ty::S32), [0xff00_0000, 1]);
        assert_eq!(of("mul24.hi.s32", Ty::S32), [0xffff_ff00, 0]);
        assert_eq!(of("mul24.lo.u32", Ty::U32), [0x0100_0000, 0xfe00_0001]);
        assert_eq!(of("mul24.hi.u32", Ty::U32), [0x100, 0xffff_fe00]);
    }
}
