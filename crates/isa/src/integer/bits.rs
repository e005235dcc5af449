//! `popc clz bfind brev`
//!
//! Since PTX 2.0, sm_20.

use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, IntUn, Value};

const SETS: &[(&str, &str)] = &[(".type", ".b32 .b64"), (".itype", ".u32 .u64 .s32 .s64")];

/// `popc`
pub const POPC: Room = Room {
    opcodes: &["popc"],
    title: "how many bits are 1",
    doc: "The result has 32 bits for both types.",
    section: "9.7.1.14",
    forms: &[Form::new("popc.type  d:u32, a:.type", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| count(cx, IntUn::Popc),
    notes: &[],
};

/// `clz`
pub const CLZ: Room = Room {
    opcodes: &["clz"],
    title: "how many zeros lead",
    doc: "All of them for 0: 32 or 64. The result has 32 bits for both types.",
    section: "9.7.1.15",
    forms: &[Form::new("clz.type  d:u32, a:.type", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| count(cx, IntUn::Clz),
    notes: &[],
};

/// `bfind`
pub const BFIND: Room = Room {
    opcodes: &["bfind"],
    title: "the position of the highest bit that is not sign",
    doc: "The highest 1; of a negative number the highest 0. All ones if there is none. `.shiftamt` gives how far it must be shifted left to be at the top.",
    section: "9.7.1.16",
    forms: &[Form::new("bfind{.shiftamt}.itype  d:u32, a:.itype", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| {
        let (ty, a) = (cx.ty(".itype"), cx.src("a"));
        let a = if ty.is_signed() {
            // Copies of the sign flip every bit of a negative number.
            let sign = cx.b.int_imm(IntBin::ShrS, a, u64::from(ty.bits()) - 1);
            cx.b.xor(a, sign)
        } else {
            a
        };
        let zeros = cx.b.int_un(IntUn::Clz, a);
        let zeros = cx.b.zext(zeros, Elem::I32);
        let zeros = cx.name(zeros, "zeros");
        let width = u64::from(ty.bits());
        let d = if cx.has(".shiftamt") {
            let none = cx.b.cmp_imm(IntCmp::Eq, zeros, width);
            let all_ones = cx.b.const_like(zeros, u64::MAX);
            cx.b.select(none, all_ones, zeros)
        } else {
            let top = cx.b.const_like(zeros, width - 1);
            cx.b.sub(top, zeros)
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `brev`
pub const BREV: Room = Room {
    opcodes: &["brev"],
    title: "the bits in reverse order",
    doc: "",
    section: "9.7.1.18",
    forms: &[Form::new("brev.type  d:.type, a:.type", SETS, since(20, 20))],
    rule: None,
    meaning: |cx| {
        let a = cx.src("a");
        let d = cx.b.int_un(IntUn::Brev, a);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

fn count(cx: &mut Cx<'_>, op: IntUn) -> Outcome {
    let a = cx.src("a");
    let n: Value = cx.b.int_un(op, a);
    let d = cx.b.zext(n, Elem::I32);
    cx.set("d", d);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    fn of(head: &'static str, ty: Ty, values: &[u64]) -> Vec<u64> {
        evaluate(&shape(head, &[reg(Ty::U32), reg(ty)]), &[values.to_vec()]).remove(0)
    }

    #[test]
    fn bfind_looks_below_the_sign() {
        const NONE: u64 = 0xffff_ffff;
        let words = [0, 1, 0x8000_0000, 0xffff_ffff, 0xffff_fffe, 0x7fff_ffff];
        assert_eq!(of("bfind.u32", Ty::U32, &words), [NONE, 0, 31, 31, 31, 30]);
        assert_eq!(of("bfind.s32", Ty::S32, &words), [NONE, 0, 30, NONE, 0, 30]);
        assert_eq!(of("bfind.shiftamt.u32", Ty::U32, &words), [NONE, 31, 0, 0, 0, 1]);
        assert_eq!(of("bfind.shiftamt.s64", Ty::S64, &[u64::MAX, 1, 1 << 62]), [NONE, 63, 1]);
    }

    #[test]
    fn counts_of_64_bits_have_32() {
        assert_eq!(of("popc.b64", Ty::B64, &[u64::MAX, 0, 1 << 63]), [64, 0, 1]);
        assert_eq!(of("clz.b64", Ty::B64, &[u64::MAX, 0, 1]), [0, 64, 63]);
    }
}
