//! `prmt`
//!
//! Since PTX 2.0, sm_20.

use crate::{Cx, Form, Room, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Op, Type, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".f4e .b4e .rc8 .ecl .ecr .rc16")];

/// `prmt`
pub const ROOM: Room = Room {
    opcodes: &["prmt"],
    title: "pick four of eight bytes",
    doc: "`a` holds bytes 0 to 3, `b` bytes 4 to 7; each nibble of `c` picks one, its top bit meaning eight copies of the byte's sign instead. With a mode the \
          low two bits of `c` choose one of four fixed selections.",
    section: "9.7.9.7",
    forms: &[Form::new("prmt.b32{.mode}  d:b32, a:b32, b:b32, c:b32", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| {
        let d = match (cx.constant("c"), cx.get(".mode")) {
            (Some(c), mode) => {
                let control = mode.map_or(c, |m| selections(m)[(c & 3) as usize]);
                fixed(cx, control)
            }
            (None, None) => {
                let c = cx.src("c");
                picked(cx, c)
            }
            (None, Some(mode)) => {
                let c = cx.src("c");
                let which = cx.b.int_imm(IntBin::And, c, 3);
                let table = selections(mode);
                let mut control = cx.b.const_like(c, table[0]);
                for (i, selection) in table.into_iter().enumerate().skip(1) {
                    let this = cx.b.cmp_imm(IntCmp::Eq, which, i as u64);
                    let selection = cx.b.const_like(c, selection);
                    control = cx.b.select(this, selection, control);
                }
                let control = cx.name(control, "control");
                picked(cx, control)
            }
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// The selections of a mode for c = 0, 1, 2, 3, written as `c` without a mode would pick them.
fn selections(mode: &str) -> [u64; 4] {
    match mode {
        ".f4e" => [0x3210, 0x4321, 0x5432, 0x6543],
        ".b4e" => [0x5670, 0x6701, 0x7012, 0x0123],
        ".rc8" => [0x0000, 0x1111, 0x2222, 0x3333],
        ".ecl" => [0x3210, 0x3211, 0x3222, 0x3333],
        ".ecr" => [0x0000, 0x1110, 0x2210, 0x3210],
        _ => [0x1010, 0x3232, 0x1010, 0x3232],
    }
}

/// A selection that is known: one byte permutation, and a sign where it is asked for.
fn fixed(cx: &mut Cx<'_>, control: u64) -> Value {
    let (a, b) = (cx.src("a"), cx.src("b"));
    let [a, b] = [a, b].map(|v| cx.b.bitcast(v, Type::I8X4));
    let nibble = |i: usize| (control >> (4 * i) & 15) as u8;
    let mut picks = [0; 8];
    for (i, pick) in picks.iter_mut().enumerate().take(4) {
        *pick = nibble(i) & 7;
    }
    let mut bytes = cx.b.inst(Op::Permute(picks), &[a, b], Type::I8X4);
    if (0..4).any(|i| nibble(i) > 7) {
        let signs = cx.b.int_imm(IntBin::ShrS, bytes, 7);
        let parts: Vec<Value> = (0..4_u8)
            .map(|i| {
                let from = if nibble(i.into()) > 7 { signs } else { bytes };
                cx.b.extract(from, i)
            })
            .collect();
        bytes = cx.b.build(&parts);
    }
    cx.b.bitcast(bytes, Type::I32)
}

/// A selection known at run time only.
fn picked(cx: &mut Cx<'_>, control: Value) -> Value {
    let (a, b) = (cx.src("a"), cx.src("b"));
    let both = cx.b.build(&[a, b]);
    let both = cx.b.bitcast(both, Type::I64);
    let parts: Vec<Value> = (0..4)
        .map(|i| {
            let nibble = cx.b.int_imm(IntBin::ShrU, control, 4 * i);
            let index = cx.b.int_imm(IntBin::And, nibble, 7);
            let bits = cx.b.int_imm(IntBin::Shl, index, 3);
            let bits = cx.b.zext(bits, Elem::I64);
            let shifted = cx.b.int(IntBin::ShrU, both, bits);
            let byte = cx.b.zext(shifted, Elem::I8);
            let sign = cx.b.int_imm(IntBin::ShrS, byte, 7);
            let top = cx.b.int_imm(IntBin::And, nibble, 8);
            let wants_sign = cx.b.cmp_imm(IntCmp::Ne, top, 0);
            cx.b.select(wants_sign, sign, byte)
        })
        .collect();
    let bytes = cx.b.build(&parts);
    cx.b.bitcast(bytes, Type::I32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{evaluate, reg, shape};
    use crate::{Operand, OperandKind, Ty};

    /// The manual's table of selections for a register and for a constant alike.
    #[test]
    fn constants_and_registers_pick_alike() {
        let (a, b) = (0x8412_f356_u64, 0x7f80_01c3_u64);
        let byte = |i: u64| (b << 32 | a) >> (8 * i) & 0xff;
        for (head, mode) in [
            ("prmt.b32", None),
            ("prmt.b32.f4e", Some(".f4e")),
            ("prmt.b32.b4e", Some(".b4e")),
            ("prmt.b32.rc8", Some(".rc8")),
            ("prmt.b32.ecl", Some(".ecl")),
            ("prmt.b32.ecr", Some(".ecr")),
            ("prmt.b32.rc16", Some(".rc16")),
        ] {
            for c in [0, 1, 2, 3, 0x3210, 0x7654, 0xfedc, 0x8f29, 0x0123] {
                let control = mode.map_or(c, |m| selections(m)[c as usize & 3]);
                let want = (0..4).fold(0, |d, i| {
                    let nibble = control >> (4 * i) & 15;
                    let picked = byte(nibble & 7);
                    let picked = if nibble > 7 { if picked > 127 { 0xff } else { 0 } } else { picked };
                    d | picked << (8 * i)
                });
                let inputs = [vec![a], vec![b], vec![c]];
                let with =
                    |last: Operand<'static>| shape(head, &[reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), last]);
                assert_eq!(evaluate(&with(reg(Ty::B32)), &inputs), [[want]], "{head} {c:#x}");
                let mut constant = with(Operand::new(OperandKind::Int));
                constant.constant = c;
                assert_eq!(evaluate(&constant, &inputs), [[want]], "{head} {c:#x}, constant");
            }
        }
    }
}
