//! Flushing subnormal numbers to zero of the same sign.
//!
//! What counts as subnormal was recorded on an H200, for f32 mul and fma in every rounding and for f16 mul and fma: tininess is
//! decided after rounding, as if the exponent had no lower bound. A result that lies so close below the smallest normal number
//! that its full precision rounds up to it stays; where only the coarser steps of subnormal numbers would reach it, zero
//! comes out. (Tiny sums are exact, and no tiny quotient lies so close, so for those there is nothing to decide.)

use super::arith::Arith;
use super::emit::Emit;
use crate::*;

/// The smallest normal number.
fn min_normal(elem: Elem) -> f64 {
    match elem {
        Elem::F16 => 2f64.powi(-14),
        Elem::F64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Bits of the significand.
fn precision(elem: Elem) -> i32 {
    match elem {
        Elem::F16 => 11,
        Elem::BF16 => 8,
        Elem::F32 => 24,
        _ => 53,
    }
}

/// An operand of an op on `elem` with ftz, given in a type that holds it exactly (or its own).
pub(super) fn operand(e: &mut Emit, v: Value, elem: Elem) -> Value {
    let wide = e.ty(v).elem;
    // A bf16 held as f32 is subnormal exactly where the f32 is.
    if wide == elem || (elem, wide) == (Elem::BF16, Elem::F32) {
        return e.op(Op::Ftz, &[v], e.ty(v));
    }
    let bound = e.num(e.ty(v), min_normal(elem));
    let mag = e.fabs(v);
    let tiny = e.fcmp(FCmp::Lt, mag, bound);
    zero_where(e, tiny, v)
}

fn zero_where(e: &mut Emit, tiny: Value, v: Value) -> Value {
    let zero = e.zero_like(v);
    e.select(tiny, zero, v)
}

/// A result yet to be rounded to `elem`: exact, or rounded to odd with two bits or more to spare. **The** place that says what
/// is tiny, together with [`nearest_single`], which has no exact value at hand.
pub(super) fn unrounded(e: &mut Emit, x: Value, elem: Elem, round: Round) -> Value {
    let ty = e.ty(x);
    let (min, p) = (min_normal(elem), precision(elem));
    // Rounding to nearest, what lies above the middle between `min` and the number before it, were there one of full
    // precision, becomes `min`; the middle too. Rounding outward, all that lies above that number.
    let middle = min * (1.0 - 2f64.powi(-p - 1));
    let before = min * (1.0 - 2f64.powi(-p));
    let mag_below = |e: &mut Emit, bound: f64| {
        let (mag, bound) = (e.fabs(x), e.num(ty, bound));
        e.fcmp(FCmp::Lt, mag, bound)
    };
    let tiny = match round {
        Round::Nearest | Round::Away => mag_below(e, middle),
        Round::Zero => mag_below(e, min),
        Round::Down | Round::Up => {
            let (inward, outward) = if round == Round::Up { (-min, before) } else { (min, -before) };
            let (inward, outward) = (e.num(ty, inward), e.num(ty, outward));
            let (inner, outer) = if round == Round::Up { (FCmp::Gt, FCmp::Le) } else { (FCmp::Lt, FCmp::Ge) };
            let (inner, outer) = (e.fcmp(inner, x, inward), e.fcmp(outer, x, outward));
            e.and(inner, outer)
        }
    };
    zero_where(e, tiny, x)
}

/// `r` is the result of an op on flushed f32 operands, rounded to nearest. Scaled up by 2^64 the same op rounds at full precision
/// what would be subnormal, which is what decides. Where scaling overflows the result is not tiny: an operand of 2^64 or more
/// leaves no product, quotient or cancelled sum below 2^-109.
pub(super) fn nearest_single(e: &mut Emit, op: Arith, args: &[Value], r: Value) -> Value {
    let ty = e.ty(r);
    match op {
        // Tiny sums are exact, and roots of normal numbers are never tiny.
        Arith::Bin(FBin::Add | FBin::Sub) => e.op(Op::Ftz, &[r], ty),
        Arith::Sqrt => r,
        _ => {
            let scale = e.num(ty, 2f64.powi(64));
            let mut scaled = args.to_vec();
            scaled[0] = e.fmul(args[0], scale);
            if op == Arith::Fma {
                scaled[2] = e.fmul(args[2], scale);
            }
            let full = op.nearest(e, &scaled);
            let (mag, bound) = (e.fabs(full), e.num(ty, 2f64.powi(64 - 126)));
            let tiny = e.fcmp(FCmp::Lt, mag, bound);
            zero_where(e, tiny, r)
        }
    }
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
