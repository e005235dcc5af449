//! `shl shr`
//!
//! Since PTX 1.0. The amount is a 32-bit number whatever is shifted.

use crate::{Cx, Form, Outcome, Profile, Room, since};
use hostwarp_ir::{Elem, IntBin, Type};

const LEFT: &[(&str, &str)] = &[(".type", ".b16 .b32 .b64")];
const RIGHT: &[(&str, &str)] = &[(".type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64")];

/// `shl`
pub const SHL: Room = Room {
    opcodes: &["shl"],
    title: "shift left, zeros come in",
    doc: "An amount of the width or more gives 0; the amount is unsigned and 32 bits wide for every type.",
    section: "9.7.8.8",
    forms: &[Form::new("shl.type  d:.type, a:.type, b:u32", LEFT, since(10, 10))],
    rule: None,
    meaning: |cx| shift(cx, IntBin::Shl),
    notes: &[CONSTANT_AMOUNTS],
};

/// `shr`
pub const SHR: Room = Room {
    opcodes: &["shr"],
    title: "shift right, zeros or copies of the sign come in",
    doc: "Signed types copy the sign, the others fill with zeros. An amount of the width or more leaves only what comes in; the amount is \
          unsigned and 32 bits wide for every type.",
    section: "9.7.8.9",
    forms: &[Form::new("shr.type  d:.type, a:.type, b:u32", RIGHT, since(10, 10))],
    rule: None,
    meaning: |cx| {
        let signed = cx.ty(".type").is_signed();
        shift(cx, if signed { IntBin::ShrS } else { IntBin::ShrU })
    },
    notes: &[CONSTANT_AMOUNTS],
};

const CONSTANT_AMOUNTS: &str = "ptxas 13.0 to 13.5 keep the low 16 bits of an amount that is a constant where 16 bits are shifted, so that `shl.b16 d, a, 65536` \
                                copies; an amount in a register is clamped first. So does the profile `sm_90`.";

fn shift(cx: &mut Cx<'_>, op: IntBin) -> Outcome {
    let (a, b) = (cx.src("a"), cx.src("b"));
    let elem = cx.ty(".type").elem();
    let amount = if elem == Elem::I16 {
        // Cut to 16 bits only after everything too large has become "too large".
        let b = match cx.constant("b").filter(|_| cx.profile == Profile::Sm90) {
            Some(amount) => cx.b.iconst(Type::I32, amount & 0xffff),
            None => b,
        };
        let clamped = cx.b.int_imm(IntBin::MinU, b, 16);
        cx.b.zext(clamped, elem)
    } else {
        cx.b.zext(b, elem)
    };
    let amount = cx.name(amount, "amount");
    let d = cx.b.int(op, a, amount);
    cx.set("d", d);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    /// 0x10000 must not become 0 on its way to 16 bits.
    #[test]
    fn large_amounts_clear_16_bits_too() {
        let amounts = vec![0, 1, 15, 16, 17, 0x1_0000, 0x1_0001, 0xffff_ffff];
        let values = vec![0x8001; amounts.len()];
        let ops = [reg(Ty::B16), reg(Ty::B16), reg(Ty::U32)];
        let left = evaluate(&shape("shl.b16", &ops), &[values.clone(), amounts.clone()]);
        assert_eq!(left, [[0x8001, 2, 0x8000, 0, 0, 0, 0, 0]]);
        let right = evaluate(&shape("shr.s16", &ops), &[values, amounts]);
        assert_eq!(right, [[0x8001, 0xc000, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff]]);
    }
}
