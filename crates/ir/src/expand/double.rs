//! f64: which NaN, and directed roundings.

use super::arith::Arith;
use super::emit::Emit;
use super::{exact, soft};
use crate::*;
use smallvec::{SmallVec, smallvec};

/// An invalid operation gives this NaN.
const INVALID: u64 = 0xfff8_0000_0000_0000;
const QUIET: u64 = 1 << 51;

/// **The** rule which NaN an f64 op on these operands (bits) gives, if it gives one, as recorded on an H200: b before a, for
/// a·b + c b before c before a, for a / b a before b, made quiet; 0xfff8000000000000 if no operand is NaN.
pub fn nan64(op: Op, args: &[u64]) -> u64 {
    let first = precedence(op, args).into_iter().find(|a| f64::from_bits(*a).is_nan());
    first.unwrap_or(INVALID) | QUIET
}

/// The operands in the order in which a NaN among them wins. (A quotient differs because it is made of other instructions.)
fn precedence<T: Copy>(op: Op, args: &[T]) -> SmallVec<[T; 3]> {
    match (op, args) {
        (Op::Float { op: FBin::Div, .. }, _) => SmallVec::from_slice(args),
        (_, &[a, b, c]) => smallvec![b, c, a],
        (_, &[a, b]) => smallvec![b, a],
        _ => SmallVec::from_slice(args),
    }
}

/// `r`, the result of `op`, with the NaN [`nan64`] chooses where it is one.
pub(super) fn with_nan(e: &mut Emit, op: Op, r: Value, args: &[Value]) -> Value {
    let mut from: Vec<Value> = precedence(op, args).to_vec();
    from.retain(|a| !e.numbers.contains(a));
    if from.is_empty() {
        from.push(e.bits(e.ty(r), INVALID));
    }
    from.insert(0, r);
    e.op(Op::Propagate, &from, e.ty(r))
}

/// `FMin` and `FMax`.
pub(super) fn min_max(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let r = e.op(op, &[a, b], e.ty(a));
    with_nan(e, op, r, &[a, b])
}

/// Arithmetic on f64 with any rounding.
pub(super) fn arith(e: &mut Emit, op: Arith, args: &[Value], round: Round) -> Value {
    let near = op.nearest(e, args);
    let directed = !matches!(round, Round::Nearest | Round::Away);
    let r = match (op, args) {
        _ if round == Round::Nearest => near,
        (Arith::Bin(FBin::Add), &[a, b]) if directed => sum(e, near, a, b, round),
        (Arith::Bin(FBin::Sub), &[a, b]) if directed => {
            let minus_b = e.fneg(b);
            sum(e, near, a, minus_b, round)
        }
        (Arith::Bin(FBin::Add), &[a, b]) => {
            let one = e.num(e.ty(a), 1.0);
            soft::fma(e, near, [a, one, b], round)
        }
        (Arith::Bin(FBin::Sub), &[a, b]) => {
            let (one, minus_b) = (e.num(e.ty(a), 1.0), e.fneg(b));
            soft::fma(e, near, [a, one, minus_b], round)
        }
        (Arith::Bin(FBin::Mul), &[a, b]) => {
            // Plus a zero of the product's sign, which changes nothing, not even the sign of a zero.
            let (ab, bb) = (e.bits_of(a), e.bits_of(b));
            let signs = e.xor(ab, bb);
            let sign = e.imm(IntBin::And, signs, 1 << 63);
            let zero = e.float_of(sign, Elem::F64);
            soft::fma(e, near, [a, b, zero], round)
        }
        (Arith::Fma, &[a, b, c]) => soft::fma(e, near, [a, b, c], round),
        (Arith::Bin(FBin::Div), &[a, b]) if directed => soft::div(e, near, a, b, round),
        (Arith::Bin(FBin::Div), &[a, b]) => {
            // No quotient is the midpoint of two normal numbers: it would have more bits than its dividend can.
            let tied = soft::div(e, near, a, b, round);
            let (mag, smallest) = (e.fabs(near), e.num(e.ty(a), f64::MIN_POSITIVE));
            let subnormal = e.fcmp(FCmp::Lt, mag, smallest);
            e.select(subnormal, tied, near)
        }
        (Arith::Sqrt, &[a]) => sqrt(e, a, round),
        _ => unreachable!("the verifier counts arguments"),
    };
    with_nan(e, op.op(round), r, args)
}

/// `s` is a nearest f64 of s + t, where t has the sign of what is missing (0 or NaN: nothing). Gives the one `round` asks for. The
/// bits of a float count its magnitude, so that one more or less is the next float.
pub(super) fn step(e: &mut Emit, s: Value, t: Value, round: Round) -> Value {
    let bits = e.bits_of(s);
    let zero = e.num(e.ty(s), 0.0);
    let sign = e.imm(IntBin::ShrS, bits, 63);
    let outward = e.imm(IntBin::Or, sign, 1);
    let (wrong, stepped) = match round {
        Round::Nearest => return s,
        Round::Up => (e.fcmp(FCmp::Gt, t, zero), e.add(bits, outward)),
        Round::Down => (e.fcmp(FCmp::Lt, t, zero), e.sub(bits, outward)),
        Round::Zero => {
            // t points toward zero where it is not 0 and its sign differs.
            let tb = e.bits_of(t);
            let differ = e.xor(bits, tb);
            let differ = e.cmp_imm(IntCmp::LtS, differ, 0);
            let inexact = e.fcmp(FCmp::Ne, t, zero);
            (e.and(differ, inexact), e.imm(IntBin::Sub, bits, 1))
        }
        Round::Away => {
            // A tie that went inward is missing exactly half a step outward.
            let next = e.imm(IntBin::Add, bits, 1);
            let outer = e.float_of(next, Elem::F64);
            let (ulp, twice) = (e.fsub(outer, s), e.fadd(t, t));
            (e.fcmp(FCmp::Eq, ulp, twice), next)
        }
    };
    let bits = e.select(wrong, stepped, bits);
    e.float_of(bits, Elem::F64)
}

/// a + b, directed, from the nearest sum. With the larger operand first two subtractions give the error exactly (Dekker's
/// FastTwoSum); they cannot overflow unless the sum does, and then the error is an infinity pointing back.
fn sum(e: &mut Emit, s: Value, a: Value, b: Value, round: Round) -> Value {
    let (mag_a, mag_b) = (e.fabs(a), e.fabs(b));
    let a_larger = e.fcmp(FCmp::Ge, mag_a, mag_b);
    let (large, small) = (e.select(a_larger, a, b), e.select(a_larger, b, a));
    let small_part = e.fsub(s, large);
    let missing = e.fsub(small, small_part);
    let r = step(e, s, missing, round);
    if round == Round::Down { exact::zero_sum_down(e, r, a, b) } else { r }
}

/// √a, directed: a − q² is exact once a is large enough that its last bit does not underflow, and the root of even the smallest a
/// is far from subnormal, so undoing the scaling is exact. Ties cannot happen: a midpoint squared has too many bits.
fn sqrt(e: &mut Emit, a: Value, round: Round) -> Value {
    let ty = e.ty(a);
    let (small, up) = (e.num(ty, 2f64.powi(-500)), e.num(ty, 2f64.powi(200)));
    let (down, one) = (e.num(ty, 2f64.powi(-100)), e.num(ty, 1.0));
    let is_small = e.fcmp(FCmp::Lt, a, small);
    let scaled = e.fmul(a, up);
    let x = e.select(is_small, scaled, a);
    let q = e.sqrt(x);
    let minus_q = e.fneg(q);
    let missing = e.fma(minus_q, q, x);
    let r = if round == Round::Away { q } else { step(e, q, missing, round) };
    let back = e.select(is_small, down, one);
    e.fmul(r, back)
}
