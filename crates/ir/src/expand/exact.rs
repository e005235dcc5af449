//! Exact values as one f64: the correctly rounded result where it is exact, else the result rounded to odd.
//!
//! A value rounded to odd at 53 bits rounds to any format of at most 51 bits, in any direction, as the exact value would
//! (Boldo and Melquiond, "Emulation of FMA and Correctly Rounded Sums", 2008): the odd last bit keeps it off every number and
//! every midpoint of that format. So sums, products, quotients and roots of f16, bf16 and f32 need f64 only. Neither overflow
//! nor underflow can happen: every operand is an f32, so products lie within 2^-298 … 2^256 and quotients within 2^±277.

use super::arith::Arith;
use super::emit::Emit;
use crate::*;

/// The sum rounded to nearest, and the rounding error, which is exact (Knuth's TwoSum). NaN error on infinities.
pub(super) fn two_sum(e: &mut Emit, a: Value, b: Value) -> (Value, Value) {
    let s = e.fadd(a, b);
    let b_part = e.fsub(s, a);
    let a_part = e.fsub(s, b_part);
    let b_err = e.fsub(b, b_part);
    let a_err = e.fsub(a, a_part);
    (s, e.fadd(a_err, b_err))
}

/// `s` is a nearest float (f32 or f64) of s + t, where t has the sign of what is missing (0 or NaN: nothing). Gives s + t rounded to odd:
/// toward zero, and the last bit set if inexact.
pub(super) fn round_to_odd(e: &mut Emit, s: Value, t: Value) -> Value {
    let (sb, tb) = (e.bits_of(s), e.bits_of(t));
    // −1 where t points toward zero: there the magnitude, which the bits below the sign count, is one too large.
    let signs = e.xor(sb, tb);
    let toward = e.imm(IntBin::ShrS, signs, u64::from(e.ty(sb).elem.bits()) - 1);
    let cut = e.add(sb, toward);
    let odd = e.imm(IntBin::Or, cut, 1);
    let zero = e.num(e.ty(t), 0.0);
    let inexact = e.fcmp(FCmp::Ne, t, zero);
    let bits = e.select(inexact, odd, sb);
    e.float_of(bits, e.ty(s).elem)
}

/// The exact sum of two f64 whose bits lie between 2^-1000 and 2^1000. An exact zero has the sign `round` gives it.
pub(super) fn sum(e: &mut Emit, a: Value, b: Value, round: Round) -> Value {
    let (s, t) = two_sum(e, a, b);
    let odd = round_to_odd(e, s, t);
    if round != Round::Down { odd } else { zero_sum_down(e, odd, a, b) }
}

/// Rounding down, x − x is −0: a zero sum is +0 only if both operands are.
pub(super) fn zero_sum_down(e: &mut Emit, s: Value, a: Value, b: Value) -> Value {
    let (ab, bb) = (e.bits_of(a), e.bits_of(b));
    let either = e.or(ab, bb);
    let sign = e.imm(IntBin::And, either, 1 << 63);
    let signed_zero = e.float_of(sign, Elem::F64);
    let zero = e.num(e.ty(s), 0.0);
    let is_zero = e.fcmp(FCmp::Eq, s, zero);
    e.select(is_zero, signed_zero, s)
}

/// The exact result of an operation on f64 operands that are f16, bf16 or f32 numbers. `round` only decides the sign of zero.
pub(super) fn arith(e: &mut Emit, op: Arith, args: &[Value], round: Round) -> Value {
    match (op, args) {
        (Arith::Bin(FBin::Add), &[a, b]) => sum(e, a, b, round),
        (Arith::Bin(FBin::Sub), &[a, b]) => {
            let minus_b = e.fneg(b);
            sum(e, a, minus_b, round)
        }
        // 24 + 24 bits fit in 53.
        (Arith::Bin(FBin::Mul), &[a, b]) => e.fmul(a, b),
        (Arith::Fma, &[a, b, c]) => {
            let p = e.fmul(a, b);
            sum(e, p, c, round)
        }
        // The remainder a − q·b of a rounded quotient is exact in one fma; the quotient lacks remainder / b. Where q is 0,
        // infinite or NaN for reasons other than rounding, the remainder is 0 or NaN.
        (Arith::Bin(FBin::Div), &[a, b]) => {
            let q = e.float(FBin::Div, a, b);
            let minus_q = e.fneg(q);
            let rest = e.fma(minus_q, b, a);
            let minus_rest = e.fneg(rest);
            let zero = e.num(e.ty(b), 0.0);
            let negative = e.fcmp(FCmp::Lt, b, zero);
            let missing = e.select(negative, minus_rest, rest);
            round_to_odd(e, q, missing)
        }
        // As for the quotient: a − q² is exact.
        (Arith::Sqrt, &[a]) => {
            let q = e.sqrt(a);
            let minus_q = e.fneg(q);
            let rest = e.fma(minus_q, q, a);
            round_to_odd(e, q, rest)
        }
        _ => unreachable!("the verifier counts arguments"),
    }
}
