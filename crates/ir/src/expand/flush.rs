//! Flushing subnormal numbers to zero of the same sign.

use super::emit::Emit;
use crate::*;

/// The smallest normal number.
fn min_normal(elem: Elem) -> f64 {
    match elem {
        Elem::F16 => f64::from_bits((1023 - 14) << 52),
        Elem::F64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// An operand of an op on `elem` with ftz, given in a type that holds it exactly (or its own).
pub(super) fn operand(e: &mut Emit, v: Value, elem: Elem) -> Value {
    let wide = e.ty(v).elem;
    if e.flushed.contains(&v) {
        return v;
    }
    // A bf16 held as f32 is subnormal exactly where the f32 is.
    if wide == elem || (elem, wide) == (Elem::BF16, Elem::F32) {
        return e.op(Op::Ftz, &[v], e.ty(v));
    }
    let bound = e.num(e.ty(v), min_normal(elem));
    let mag = e.fabs(v);
    let tiny = e.fcmp(FCmp::Lt, mag, bound);
    let zero = e.zero_like(v);
    e.select(tiny, zero, v)
}

/// The result of an op with ftz, rounded already: **the** place that decides what is tiny. Tininess after rounding: what is
/// subnormal once rounded is flushed, what rounds up to the smallest normal number stays (measured for f16 fma).
pub(super) fn result(e: &mut Emit, v: Value) -> Value {
    let flushed = match e.ty(v).elem {
        Elem::F16 | Elem::BF16 => ftz16(e, v),
        _ => e.op(Op::Ftz, &[v], e.ty(v)),
    };
    e.flushed.insert(flushed);
    flushed
}

/// `Ftz` on f16 and bf16: no exponent bit set means subnormal or zero, and of that only the sign stays.
pub(super) fn ftz16(e: &mut Emit, v: Value) -> Value {
    let elem = e.ty(v).elem;
    let exponent = if elem == Elem::F16 { 0x7c00 } else { 0x7f80 };
    let bits = e.bits_of(v);
    let exponent = e.imm(IntBin::And, bits, exponent);
    let tiny = e.cmp_imm(IntCmp::Eq, exponent, 0);
    let sign = e.imm(IntBin::And, bits, 0x8000);
    let bits = e.select(tiny, sign, bits);
    e.float_of(bits, elem)
}
