//! Conversions from integers.

use crate::float::{rounding, saturate};
use crate::{Cx, Ty};
use hostwarp_ir::{IntBin, Op, Value};

/// Whether `to` holds every value of `from`.
pub(super) fn holds(to: Ty, from: Ty) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
        _ => to.bits() >= from.bits(),
    }
}

fn highest(ty: Ty) -> u64 {
    u64::MAX >> (64 - ty.bits() + u32::from(ty.is_signed()))
}

/// The operand, in the width of its type: a special register comes in its own.
fn source(cx: &mut Cx<'_>, from: Ty) -> Value {
    let a = cx.src("a");
    cx.b.zext(a, from.elem())
}

/// An integer as another: cut or extended, clamped before with `.sat`.
pub(super) fn resize(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let mut a = source(cx, from);
    if cx.has(".sat") {
        let narrower = to.bits() < from.bits();
        let highest = highest(to);
        a = match (from.is_signed(), to.is_signed()) {
            (false, _) => cx.b.int_imm(IntBin::MinU, a, highest),
            (true, true) => {
                let low = cx.b.int_imm(IntBin::MaxS, a, !highest);
                cx.b.int_imm(IntBin::MinS, low, highest)
            }
            (true, false) => {
                let positive = cx.b.int_imm(IntBin::MaxS, a, 0);
                if narrower { cx.b.int_imm(IntBin::MinS, positive, highest) } else { positive }
            }
        };
        a = cx.name(a, "clamped");
    }
    cx.b.ext(a, to.elem(), from.is_signed())
}

/// An integer as a float.
pub(super) fn to_float(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let a = source(cx, from);
    let round = rounding(cx.get(".frnd"));
    let d = cx.b.inst(Op::IntToF { signed: from.is_signed(), round }, &[a], to.arith());
    if cx.has(".sat") { saturate(cx, d) } else { d }
}
