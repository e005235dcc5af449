//! f64 multiply-add and division in integers, for the roundings that have no instruction. Infinities and NaNs are left to the
//! instruction that rounds to nearest: no rounding happens there.

use super::emit::Emit;
use crate::*;

const SIGN: u64 = 1 << 63;
const FRACTION: u64 = (1 << 52) - 1;
const INFINITY: u64 = 0x7ff << 52;

/// A finite number: ± significand · 2^(exponent − 1075). All are i64.
struct Unpacked {
    bits: Value,
    /// The biased exponent; below 1 for subnormal numbers, which are normalised.
    exponent: Value,
    /// 53 bits, the highest one set; or 0.
    significand: Value,
    /// i1: infinity or NaN, so the rest means nothing.
    special: Value,
}

fn unpack(e: &mut Emit, v: Value) -> Unpacked {
    let bits = e.bits_of(v);
    let fraction = e.imm(IntBin::And, bits, FRACTION);
    let field = e.imm(IntBin::ShrU, bits, 52);
    let field = e.imm(IntBin::And, field, 0x7ff);
    let special = e.cmp_imm(IntCmp::Eq, field, 0x7ff);
    let subnormal = e.cmp_imm(IntCmp::Eq, field, 0);
    let clz = e.op(Op::IntUn(IntUn::Clz), &[fraction], e.ty(bits));
    let shift = e.imm(IntBin::Sub, clz, 11);
    let shifted = e.int(IntBin::Shl, fraction, shift);
    let one = e.bits(e.ty(bits), 1);
    let low_exponent = e.sub(one, shift);
    let hidden = e.imm(IntBin::Or, fraction, 1 << 52);
    Unpacked {
        bits,
        exponent: e.select(subnormal, low_exponent, field),
        significand: e.select(subnormal, shifted, hidden),
        special,
    }
}

/// Packs sign (the highest bit of `sign`), biased exponent and significand: 64 bits, the highest one set, the lowest one sticky (set
/// if anything lies below).
fn round_pack(e: &mut Emit, sign: Value, exponent: Value, significand: Value, round: Round) -> Value {
    let ty = e.ty(sign);
    let sign = e.imm(IntBin::And, sign, SIGN);
    // Below the normal range the significand moves right until the exponent fits.
    let one = e.bits(ty, 1);
    let deficit = e.sub(one, exponent);
    let deficit = e.imm(IntBin::MaxS, deficit, 0);
    let deficit = e.imm(IntBin::MinS, deficit, 64);
    let shifted = e.int(IntBin::ShrU, significand, deficit);
    let restored = e.int(IntBin::Shl, shifted, deficit);
    // Shifting by the full width gives 0 both ways, so "something was lost" holds there as well.
    let lost = e.cmp(IntCmp::Ne, restored, significand);
    let sticky = e.zext(lost, Elem::I64);
    let significand = e.or(shifted, sticky);
    let kept = e.imm(IntBin::ShrU, significand, 11);
    let rest = e.imm(IntBin::And, significand, 0x7ff);
    let inexact = e.cmp_imm(IntCmp::Ne, rest, 0);
    let negative = e.cmp_imm(IntCmp::Ne, sign, 0);
    let positive = e.not(negative);
    let increment = match round {
        Round::Nearest => {
            // The last kept bit turns a tie into more than half.
            let odd = e.imm(IntBin::And, kept, 1);
            let biased = e.add(rest, odd);
            let half = e.bits(ty, 0x400);
            e.cmp(IntCmp::LtU, half, biased)
        }
        Round::Away => {
            let half = e.bits(ty, 0x400);
            e.cmp(IntCmp::LeU, half, rest)
        }
        Round::Zero => e.bits(ty.with(Elem::I1), 0),
        Round::Down => e.and(inexact, negative),
        Round::Up => e.and(inexact, positive),
    };
    // The hidden bit adds 1 to the exponent field, hence one less here; a carry out of the fraction does the same.
    let field = e.imm(IntBin::MaxS, exponent, 1);
    let field = e.imm(IntBin::MinS, field, 0x7ff);
    let field = e.imm(IntBin::Sub, field, 1);
    let field = e.imm(IntBin::Shl, field, 52);
    let magnitude = e.add(field, kept);
    let increment = e.zext(increment, Elem::I64);
    let magnitude = e.add(magnitude, increment);
    // Too large: infinity or the largest number, as the rounding says.
    let limit = match round {
        Round::Nearest | Round::Away => e.bits(ty, INFINITY),
        Round::Zero => e.bits(ty, INFINITY - 1),
        Round::Down | Round::Up => {
            let (infinity, largest) = (e.bits(ty, INFINITY), e.bits(ty, INFINITY - 1));
            e.select(if round == Round::Down { negative } else { positive }, infinity, largest)
        }
    };
    let magnitude = e.int(IntBin::MinU, magnitude, limit);
    let bits = e.or(sign, magnitude);
    e.float_of(bits, Elem::F64)
}

/// 128 bits.
#[derive(Clone, Copy)]
struct Wide {
    high: Value,
    low: Value,
}

/// Shifts right by 0 or more; what falls off the end leaves the lowest bit set.
fn shift_right_sticky(e: &mut Emit, v: Wide, amount: Value) -> Wide {
    let ty = e.ty(amount);
    let amount = e.imm(IntBin::MinU, amount, 128);
    let (c64, c128) = (e.bits(ty, 64), e.bits(ty, 128));
    // Shifts by 64 or more, and by "negative" amounts, give 0: each term is there only where it should be.
    let (under, over) = (e.sub(c64, amount), e.sub(amount, c64));
    let (down, crossing, all) = (
        e.int(IntBin::ShrU, v.low, amount),
        e.int(IntBin::Shl, v.high, under),
        e.int(IntBin::ShrU, v.high, over),
    );
    let low = e.or(down, crossing);
    let low = e.or(low, all);
    let high = e.int(IntBin::ShrU, v.high, amount);
    let lost_low = e.int(IntBin::Shl, v.low, under);
    let all_low = e.cmp(IntCmp::LeU, c64, amount);
    let lost_low = e.select(all_low, v.low, lost_low);
    let over_high = e.sub(c128, amount);
    let lost_high = e.int(IntBin::Shl, v.high, over_high);
    let lost = e.or(lost_low, lost_high);
    let lost = e.cmp_imm(IntCmp::Ne, lost, 0);
    let sticky = e.zext(lost, Elem::I64);
    Wide { high, low: e.or(low, sticky) }
}

fn negate_if(e: &mut Emit, cond: Value, v: Wide) -> Wide {
    let mask = e.sext(cond, Elem::I64);
    let (high, low) = (e.xor(v.high, mask), e.xor(v.low, mask));
    let one = e.zext(cond, Elem::I64);
    let low = e.add(low, one);
    // The carry leaves the low half exactly if it was 0 before the complement.
    let carry = e.cmp(IntCmp::LtU, low, one);
    let carry = e.zext(carry, Elem::I64);
    Wide { high: e.add(high, carry), low }
}

/// a·b + c with one rounding; `near` is the same rounded to nearest.
///
/// The product of two significands is exact in 128 bits. The smaller addend is shifted to the weight of the larger one; bits that
/// fall off become sticky, which is harmless: they fall off only from 74 or 22 places below the leading bit of the other, so
/// that no cancellation can bring them near the 53 bits kept.
pub(super) fn fma(e: &mut Emit, near: Value, [a, b, c]: [Value; 3], round: Round) -> Value {
    let (a, b, c) = (unpack(e, a), unpack(e, b), unpack(e, c));
    let ty = e.ty(a.bits);
    // Leading bits at 125 or 126 for the product and at 126 for c, so that a sum fits.
    let (x, y) = (e.imm(IntBin::Shl, a.significand, 10), e.imm(IntBin::Shl, b.significand, 11));
    let product = Wide { high: e.int(IntBin::MulHiU, x, y), low: e.int(IntBin::Mul, x, y) };
    let zero = e.bits(ty, 0);
    let addend = Wide { high: e.imm(IntBin::Shl, c.significand, 10), low: zero };
    // Weights of the lowest bits. A zero must not make the other one shift.
    let exponents = e.add(a.exponent, b.exponent);
    let product_weight = e.imm(IntBin::Sub, exponents, 2171);
    let product_zero = e.cmp_imm(IntCmp::Eq, product.high, 0);
    let lowest = e.bits(ty, -10_000i64 as u64);
    let product_weight = e.select(product_zero, lowest, product_weight);
    let addend_weight = e.imm(IntBin::Sub, c.exponent, 1149);
    let addend_zero = e.cmp_imm(IntCmp::Eq, c.significand, 0);
    let addend_weight = e.select(addend_zero, lowest, addend_weight);
    let weight = e.int(IntBin::MaxS, product_weight, addend_weight);
    let (product_shift, addend_shift) = (e.sub(weight, product_weight), e.sub(weight, addend_weight));
    let product = shift_right_sticky(e, product, product_shift);
    let addend = shift_right_sticky(e, addend, addend_shift);
    // Add magnitudes, or subtract and take the sign of the larger.
    let product_sign = e.xor(a.bits, b.bits);
    let signs = e.xor(product_sign, c.bits);
    let differ = e.cmp_imm(IntCmp::LtS, signs, 0);
    let addend = negate_if(e, differ, addend);
    let low = e.add(product.low, addend.low);
    let carry = e.cmp(IntCmp::LtU, low, addend.low);
    let carry = e.zext(carry, Elem::I64);
    let high = e.add(product.high, addend.high);
    let high = e.add(high, carry);
    let below_zero = e.cmp_imm(IntCmp::LtS, high, 0);
    let addend_won = e.and(differ, below_zero);
    let total = negate_if(e, addend_won, Wide { high, low });
    let sign = e.select(addend_won, c.bits, product_sign);
    // Normalise: leading bit to 127, then the upper half is the significand.
    let (high_zeros, low_zeros) =
        (e.op(Op::IntUn(IntUn::Clz), &[total.high], ty), e.op(Op::IntUn(IntUn::Clz), &[total.low], ty));
    let in_low = e.cmp_imm(IntCmp::Eq, total.high, 0);
    let low_zeros = e.imm(IntBin::Add, low_zeros, 64);
    let zeros = e.select(in_low, low_zeros, high_zeros);
    let c64 = e.bits(ty, 64);
    let (under, over) = (e.sub(c64, zeros), e.sub(zeros, c64));
    let (up, crossing, all) = (
        e.int(IntBin::Shl, total.high, zeros),
        e.int(IntBin::ShrU, total.low, under),
        e.int(IntBin::Shl, total.low, over),
    );
    let significand = e.or(up, crossing);
    let significand = e.or(significand, all);
    let below = e.int(IntBin::Shl, total.low, zeros);
    let inexact = e.cmp_imm(IntCmp::Ne, below, 0);
    let sticky = e.zext(inexact, Elem::I64);
    let significand = e.or(significand, sticky);
    let exponent = e.sub(weight, zeros);
    let exponent = e.imm(IntBin::Add, exponent, 1150);
    let r = round_pack(e, sign, exponent, significand, round);
    // An exact zero: of zeros with one sign it has that sign; else −0 rounding down, +0 otherwise.
    let nonzero = e.or(total.high, total.low);
    let is_zero = e.cmp_imm(IntCmp::Eq, nonzero, 0);
    let zero_sign = match round {
        Round::Down => e.or(product_sign, c.bits),
        _ => e.and(product_sign, c.bits),
    };
    let zero_sign = e.imm(IntBin::And, zero_sign, SIGN);
    let signed_zero = e.float_of(zero_sign, Elem::F64);
    let r = e.select(is_zero, signed_zero, r);
    let special = e.or(a.special, b.special);
    let special = e.or(special, c.special);
    e.select(special, near, r)
}

/// a / b with one rounding; `near` is the same rounded to nearest.
///
/// Both significands are divided as numbers in [1, 2), where the remainder is exact in one fma; its sign says which side of the
/// rounded quotient the exact one lies on. Quotient and that one bit then go where the exponents say. (Ties are seen only where
/// the result is subnormal: 53 bits and a sticky one tell nothing of the 54th.)
pub(super) fn div(e: &mut Emit, near: Value, a: Value, b: Value, round: Round) -> Value {
    let (a, b) = (unpack(e, a), unpack(e, b));
    let ty = e.ty(a.bits);
    let unit = |e: &mut Emit, u: &Unpacked| {
        let fraction = e.imm(IntBin::And, u.significand, FRACTION);
        let bits = e.imm(IntBin::Or, fraction, 1023 << 52);
        e.float_of(bits, Elem::F64)
    };
    let (x, y) = (unit(e, &a), unit(e, &b));
    let q = e.float(FBin::Div, x, y);
    let minus_q = e.fneg(q);
    let rest = e.fma(minus_q, y, x);
    let zero = e.num(e.ty(rest), 0.0);
    let beyond = e.fcmp(FCmp::Lt, rest, zero);
    let inexact = e.fcmp(FCmp::Ne, rest, zero);
    // q toward zero; its exponent field is 1022 or 1023.
    let bits = e.bits_of(q);
    let one_too_many = e.sext(beyond, Elem::I64);
    let bits = e.add(bits, one_too_many);
    let field = e.imm(IntBin::ShrU, bits, 52);
    let fraction = e.imm(IntBin::And, bits, FRACTION);
    let significand = e.imm(IntBin::Or, fraction, 1 << 52);
    let significand = e.imm(IntBin::Shl, significand, 11);
    let sticky = e.zext(inexact, Elem::I64);
    let significand = e.or(significand, sticky);
    let exponent = e.sub(a.exponent, b.exponent);
    let exponent = e.add(exponent, field);
    let sign = e.xor(a.bits, b.bits);
    let r = round_pack(e, sign, exponent, significand, round);
    // No rounding where a number is zero, infinite or NaN.
    let zero = e.bits(ty, 0);
    let (a_zero, b_zero) = (e.cmp(IntCmp::Eq, a.significand, zero), e.cmp(IntCmp::Eq, b.significand, zero));
    let special = e.or(a.special, b.special);
    let special = e.or(special, a_zero);
    let special = e.or(special, b_zero);
    e.select(special, near, r)
}
