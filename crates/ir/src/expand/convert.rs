//! Conversions between floats, between floats and integers, and to integral values.

use super::emit::Emit;
use super::{double, exact, round};
use crate::*;

/// `FCvt`.
pub(super) fn float_to_float(e: &mut Emit, v: Value, to: Elem, rounding: Round) -> Value {
    match (e.ty(v).elem, to) {
        (_, Elem::F64) => {
            let wide = round::to_f64(e, v);
            // The one NaN of the narrower formats, as f32 0x7fffffff, widened.
            let nan = e.bits(e.ty(wide), 0x7fff_ffff_e000_0000);
            let is_nan = e.is_nan(wide);
            e.select(is_nan, nan, wide)
        }
        (Elem::F64, _) => round::from_f64(e, v, to, rounding),
        (_, Elem::F32) => round::to_f32(e, v),
        _ => {
            let single = round::to_f32(e, v);
            round::from_f32(e, single, to, rounding)
        }
    }
}

/// `FRound`.
pub(super) fn round_to_integral(e: &mut Emit, v: Value, rounding: Round) -> Value {
    let elem = e.ty(v).elem;
    let wide = round::to_f32(e, v);
    let r = match rounding {
        Round::Away => half_away(e, wide),
        _ => e.op(Op::FRound(rounding), &[wide], e.ty(wide)),
    };
    match elem {
        Elem::F64 => double::with_nan(e, Op::FRound(rounding), r, &[v]),
        // No fraction is left above 2^p, so what is rounded lies below it, and integers up to there are exact.
        _ => round::narrow_exactly(e, r, elem),
    }
}

/// To the nearest integral value, halves away from zero, in f32 or f64. What is cut off is exact.
fn half_away(e: &mut Emit, v: Value) -> Value {
    let ty = e.ty(v);
    let cut = e.op(Op::FRound(Round::Zero), &[v], ty);
    let rest = e.fsub(v, cut);
    let (half, zero) = (e.num(ty, 0.5), e.num(ty, 0.0));
    let (one, minus_one) = (e.num(ty, 1.0), e.num(ty, -1.0));
    let mag = e.fabs(rest);
    let outward = e.fcmp(FCmp::Ge, mag, half);
    let negative = e.fcmp(FCmp::Lt, v, zero);
    let unit = e.select(negative, minus_one, one);
    let next = e.fadd(cut, unit);
    e.select(outward, next, cut)
}

/// `FToInt`: 8 and 16 bits by clamping once more.
pub(super) fn float_to_int(e: &mut Emit, v: Value, to: Elem, signed: bool) -> Value {
    let wide = round::to_f32(e, v);
    if matches!(to, Elem::I32 | Elem::I64) {
        return e.op(Op::FToInt { signed }, &[wide], e.ty(wide).with(to));
    }
    let i = e.op(Op::FToInt { signed }, &[wide], e.ty(wide).with(Elem::I32));
    let clamped = if signed {
        let max = to.mask() >> 1;
        let below = e.imm(IntBin::MinS, i, max);
        e.imm(IntBin::MaxS, below, !max)
    } else {
        e.imm(IntBin::MinU, i, to.mask())
    };
    e.trunc(clamped, to)
}

/// `IntToF`.
pub(super) fn int_to_float(e: &mut Emit, v: Value, to: Elem, signed: bool, rounding: Round) -> Value {
    let extended = match (e.ty(v).elem, signed) {
        (Elem::I8 | Elem::I16, true) => e.sext(v, Elem::I32),
        (Elem::I8 | Elem::I16, false) => e.zext(v, Elem::I32),
        _ => v,
    };
    let ty = e.ty(extended);
    let convert = |e: &mut Emit, v: Value, signed: bool, to: Elem| {
        e.op(Op::IntToF { signed, round: Round::Nearest }, &[v], ty.with(to))
    };
    if rounding == Round::Nearest && matches!(to, Elem::F32 | Elem::F64) {
        return convert(e, extended, signed, to);
    }
    if ty.elem == Elem::I32 {
        // 32 bits are exact in f64.
        let exact = convert(e, extended, signed, Elem::F64);
        return if to == Elem::F64 { exact } else { round::from_f64(e, exact, to, rounding) };
    }
    // high · 2^32 and low are exact in f64.
    let shift = if signed { IntBin::ShrS } else { IntBin::ShrU };
    let high = e.imm(shift, extended, 32);
    let (high, low) = (e.trunc(high, Elem::I32), e.trunc(extended, Elem::I32));
    let (high, low) = (convert(e, high, signed, Elem::F64), convert(e, low, false, Elem::F64));
    let scale = e.num(e.ty(high), 4_294_967_296.0);
    let high = e.fmul(high, scale);
    let (sum, missing) = exact::two_sum(e, high, low);
    if to == Elem::F64 {
        return double::step(e, sum, missing, rounding);
    }
    let odd = exact::round_to_odd(e, sum, missing);
    round::from_f64(e, odd, to, rounding)
}
