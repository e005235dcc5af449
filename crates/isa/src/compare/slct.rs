//! `slct`
//!
//! Since PTX 1.0.

use crate::{Form, Room, Ty, since};
use hostwarp_ir::{FCmp, IntCmp, Op};

const SETS: &[(&str, &str)] = &[(".dtype", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")];

/// `slct`
pub const ROOM: Room = Room {
    opcodes: &["slct"],
    title: "c ≥ 0 ? a : b",
    doc: "−0 counts as 0, NaN gives `b`. `.ftz` flushes `c` first.",
    section: "9.7.6.4",
    forms: &[
        Form::new("slct.dtype.s32  d:.dtype, a:.dtype, b:.dtype, c:s32", SETS, since(10, 10)),
        Form::new("slct{.ftz}.dtype.f32  d:.dtype, a:.dtype, b:.dtype, c:f32", SETS, since(10, 10)),
    ],
    rule: None,
    meaning: |cx| {
        let (a, b) = (cx.src("a"), cx.src("b"));
        let of_float = cx.m.slot("c").and_then(|s| cx.m.operand_ty(s)) == Some(Ty::F32);
        let at_least_zero = if of_float {
            let mut c = cx.arith("c", Ty::F32);
            if cx.has(".ftz") {
                c = cx.b.inst(Op::Ftz, &[c], Ty::F32.arith());
            }
            let zero = cx.b.fconst(Ty::F32.arith(), 0);
            cx.b.fcmp(FCmp::Ge, c, zero)
        } else {
            let c = cx.src("c");
            let zero = cx.b.const_like(c, 0);
            cx.b.cmp(IntCmp::LeS, zero, c)
        };
        let d = cx.b.select(at_least_zero, a, b);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{evaluate, reg, shape};

    #[test]
    fn zeros_and_nans() {
        let c = vec![0x8000_0000, 0x8000_0001, 0x7fc0_0000, 0x3f80_0000];
        let of = |head: &'static str| {
            let operands = [reg(Ty::U32), reg(Ty::U32), reg(Ty::U32), reg(Ty::B32)];
            evaluate(&shape(head, &operands), &[vec![1; 4], vec![2; 4], c.clone()]).remove(0)
        };
        assert_eq!(of("slct.u32.f32"), [1, 2, 2, 1]);
        assert_eq!(of("slct.ftz.u32.f32"), [1, 1, 2, 1]);
        assert_eq!(of("slct.u32.s32"), [2, 2, 1, 1]);
    }
}
