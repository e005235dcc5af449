//! From an f64 (exact, or rounded to odd) to f16, bf16 or f32 with one rounding; and the exact ways back.

use super::emit::Emit;
use crate::*;

/// f16, bf16 or f32 to f32, exactly.
pub(super) fn to_f32(e: &mut Emit, v: Value) -> Value {
    match e.ty(v).elem {
        Elem::F16 => e.fcvt(v, Elem::F32),
        // A bf16 is the upper half of an f32.
        Elem::BF16 => {
            let bits = e.bits_of(v);
            let wide = e.zext(bits, Elem::I32);
            let high = e.imm(IntBin::Shl, wide, 16);
            e.float_of(high, Elem::F32)
        }
        _ => v,
    }
}

/// Any float to f64, exactly.
pub(super) fn to_f64(e: &mut Emit, v: Value) -> Value {
    let v = to_f32(e, v);
    if e.ty(v).elem == Elem::F64 { v } else { e.fcvt(v, Elem::F64) }
}

/// An f32 that is a number of the narrower format, into that format.
pub(super) fn narrow_exactly(e: &mut Emit, v: Value, to: Elem) -> Value {
    match to {
        Elem::F16 => e.fcvt(v, Elem::F16),
        Elem::BF16 => upper_half(e, v),
        _ => v,
    }
}

/// An f32 cut to bf16, toward zero. The canonical NaN stays one.
fn upper_half(e: &mut Emit, v: Value) -> Value {
    let bits = e.bits_of(v);
    let high = e.imm(IntBin::ShrU, bits, 16);
    let half = e.trunc(high, Elem::I16);
    e.float_of(half, Elem::BF16)
}

/// An f32 to f16 or bf16.
pub(super) fn from_f32(e: &mut Emit, v: Value, to: Elem, round: Round) -> Value {
    match (to, round) {
        (Elem::F32, _) => v,
        (Elem::F16, Round::Nearest) => e.fcvt(v, Elem::F16),
        (Elem::BF16, Round::Zero) => upper_half(e, v),
        (Elem::BF16, Round::Nearest) => {
            let bits = e.bits_of(v);
            nearest_upper_half(e, bits, v)
        }
        _ => {
            let wide = e.fcvt(v, Elem::F64);
            from_f64(e, wide, to, round)
        }
    }
}

/// An f64 to f16, bf16 or f32.
pub(super) fn from_f64(e: &mut Emit, x: Value, to: Elem, round: Round) -> Value {
    match round {
        Round::Nearest => nearest(e, x, to),
        Round::Away => {
            let r = nearest(e, x, to);
            ties_away(e, r, x)
        }
        Round::Zero | Round::Down | Round::Up => {
            let r = faithful(e, x, to);
            step(e, r, x, round)
        }
    }
}

/// Either neighbour of `x`, or `x` itself if it is a number of the format: rounding twice can do no worse than that.
fn faithful(e: &mut Emit, x: Value, to: Elem) -> Value {
    let r = e.fcvt(x, Elem::F32);
    narrow_exactly(e, r, to)
}

fn nearest(e: &mut Emit, x: Value, to: Elem) -> Value {
    match to {
        Elem::F32 => e.fcvt(x, Elem::F32),
        Elem::F16 => {
            let odd = cut_to_24_bits(e, x);
            let single = e.fcvt(odd, Elem::F32);
            e.fcvt(single, Elem::F16)
        }
        _ => {
            let bits = odd_single_bits(e, x);
            nearest_upper_half(e, bits, x)
        }
    }
}

/// `x` rounded to odd at 24 bits, still as f64: exact as an f32 down to 2^-126. What lies below is far below half of the
/// smallest f16, so it matters no more how it becomes an f32.
fn cut_to_24_bits(e: &mut Emit, x: Value) -> Value {
    const LOW: u64 = (1 << 29) - 1;
    let bits = e.bits_of(x);
    let low = e.imm(IntBin::And, bits, LOW);
    // Carries into bit 29, the last one kept, unless all low bits are 0. NaN stays NaN, infinity stays infinity.
    let sticky = e.imm(IntBin::Add, low, LOW);
    let marked = e.or(bits, sticky);
    let cut = e.imm(IntBin::And, marked, !LOW);
    e.float_of(cut, Elem::F64)
}

/// The bits of `x` rounded to odd as an f32, subnormals included (a bf16 has the exponents of an f32, so there double rounding
/// would show). NaN: whatever.
fn odd_single_bits(e: &mut Emit, x: Value) -> Value {
    let r = e.fcvt(x, Elem::F32);
    let back = e.fcvt(r, Elem::F64);
    let bits = e.bits_of(r);
    let (mag, mag_x) = (e.fabs(back), e.fabs(x));
    let beyond = e.fcmp(FCmp::Gt, mag, mag_x);
    let one_too_many = e.sext(beyond, Elem::I32);
    let cut = e.add(bits, one_too_many);
    let inexact = e.fcmp(FCmp::Ne, back, x);
    let sticky = e.zext(inexact, Elem::I32);
    e.or(cut, sticky)
}

/// The upper half of f32 bits, rounded to nearest even, as bf16; NaN where `nan` is. The carry runs through the exponent into
/// infinity just as it should.
fn nearest_upper_half(e: &mut Emit, bits: Value, nan: Value) -> Value {
    let high = e.imm(IntBin::ShrU, bits, 16);
    let even = e.imm(IntBin::And, high, 1);
    let half = e.imm(IntBin::Add, bits, 0x7fff);
    let sum = e.add(half, even);
    let rounded = e.imm(IntBin::ShrU, sum, 16);
    let rounded = e.trunc(rounded, Elem::I16);
    let is_nan = e.is_nan(nan);
    let canonical = e.bits(e.ty(rounded), 0x7fff);
    let bits = e.select(is_nan, canonical, rounded);
    e.float_of(bits, Elem::BF16)
}

/// `r` is a neighbour of `x`, or `x`, with its sign; gives the one `round` asks for. Bits of a float count its magnitude, so
/// that one more or less is the next float, from zero to the largest finite number to infinity.
fn step(e: &mut Emit, r: Value, x: Value, round: Round) -> Value {
    let back = to_f64(e, r);
    let bits = e.bits_of(r);
    let (wrong, outward) = match round {
        Round::Zero => {
            let (mag, mag_x) = (e.fabs(back), e.fabs(x));
            (e.fcmp(FCmp::Gt, mag, mag_x), e.bits(e.ty(bits), 1))
        }
        _ => {
            // +1 or −1: up in bits is up in value only for positive numbers.
            let sign = e.imm(IntBin::ShrS, bits, u64::from(e.ty(bits).elem.bits()) - 1);
            let unit = e.imm(IntBin::Or, sign, 1);
            (e.fcmp(if round == Round::Up { FCmp::Lt } else { FCmp::Gt }, back, x), unit)
        }
    };
    let stepped = if round == Round::Up { e.add(bits, outward) } else { e.sub(bits, outward) };
    let bits = e.select(wrong, stepped, bits);
    e.float_of(bits, e.ty(r).elem)
}

/// `r` is `x` rounded to nearest, ties to even. A tie that went to the smaller number goes to the next one: both differences
/// are exact, so they are equal only in the middle. (Past the largest number ties go to infinity either way.)
fn ties_away(e: &mut Emit, r: Value, x: Value) -> Value {
    let elem = e.ty(r).elem;
    let bits = e.bits_of(r);
    let outer_bits = e.imm(IntBin::Add, bits, 1);
    let outer = e.float_of(outer_bits, elem);
    let (inner64, outer64) = (to_f64(e, r), to_f64(e, outer));
    let (below, above) = (e.fsub(x, inner64), e.fsub(outer64, x));
    let tie = e.fcmp(FCmp::Eq, below, above);
    let bits = e.select(tie, outer_bits, bits);
    e.float_of(bits, elem)
}
