//! Floating point.

pub(crate) mod approx;
pub(crate) mod arith;
pub mod ex2;
pub mod fma;
pub mod lg2;
pub mod rcp;
pub mod rsqrt;
pub mod sign;
pub mod sincos;
pub mod sqrt;
pub mod tanh;

use crate::{Cx, Room, Ty};
use hostwarp_ir::{FCmp, Round, Value};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    sign::TESTP,
    sign::COPYSIGN,
    fma::ROOM,
    rcp::ROOM,
    sqrt::ROOM,
    rsqrt::ROOM,
    lg2::ROOM,
    ex2::ROOM,
    sincos::SIN,
    sincos::COS,
    tanh::ROOM,
];

/// The rounding a modifier asks for.
pub(crate) fn rounding(modifier: Option<&str>) -> Round {
    match modifier {
        Some(".rz" | ".rzi") => Round::Zero,
        Some(".rm" | ".rmi") => Round::Down,
        Some(".rp" | ".rpi") => Round::Up,
        Some(".rna") => Round::Away,
        _ => Round::Nearest,
    }
}

/// `.sat`: clamp to [+0, 1]; NaN and −0 become +0, because neither is greater than 0.
pub(crate) fn saturate(cx: &mut Cx<'_>, v: Value) -> Value {
    let ty = cx.b.ty(v);
    let (zero, one) = (cx.b.fconst(ty, 0), cx.b.fconst(ty, one_bits(ty.elem)));
    let positive = cx.b.fcmp(FCmp::Gt, v, zero);
    let below = cx.b.fcmp(FCmp::Lt, v, one);
    let low = cx.b.select(below, v, one);
    let clamped = cx.b.select(positive, low, zero);
    cx.name(clamped, "clamped")
}

/// `.relu`: negative results and −0 become +0, NaN stays.
pub(crate) fn relu(cx: &mut Cx<'_>, v: Value) -> Value {
    let zero = cx.b.fconst(cx.b.ty(v), 0);
    let keep = cx.b.fcmp(FCmp::Gtu, v, zero);
    let kept = cx.b.select(keep, v, zero);
    cx.name(kept, "relu")
}

/// The bits of 1.0.
fn one_bits(elem: hostwarp_ir::Elem) -> u64 {
    use hostwarp_ir::Elem;
    match elem {
        Elem::F16 => 0x3c00,
        Elem::BF16 => 0x3f80,
        Elem::F32 => 0x3f80_0000,
        _ => 0x3ff0_0000_0000_0000,
    }
}

/// A source operand as the float type `ty`.
pub(crate) fn operand(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    cx.arith(name, ty)
}
