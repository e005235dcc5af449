//! The GPU's unit for approximations, `MUFU` in its assembly, bit for bit: a table of parabolas and a squarer that leaves out what matters least.
//!
//! A function of the significand 1.s is looked at in segments, chosen by the upper bits of s; the lower bits are a place x in the segment. With the three
//! terms of the segment, all whole numbers, it is
//!
//! > constant ± slope·x ± square·x²
//!
//! weighed, with a fixed number added, and cut to the bits of the result. The published description of such a unit is S. Oberman and M. Siu,
//! "A High-Performance Area-Efficient Multifunction Interpolator" (2005). Tables, weights and what the squarer leaves out were worked out from the results of an H200
//! and give each of them: the results for all 2^32 operands of each instruction are compared (`conformance/src/exhaustive.rs`).
//!
//! Forms on 16 bits are the same, cut to the bits of their result.
//!
//! The unit knows no subnormal numbers: as operands they count as zero, as results they are zero.

mod ex2;
mod sine;
mod sqrt;
mod tanh;

pub(crate) use ex2::ex2;
pub(crate) use sine::{Wave, wave};
pub(crate) use sqrt::sqrt;
pub(crate) use tanh::tanh;

use crate::{Cx, Ty};
use hostwarp_ir::{Elem, FBin, FCmp, IntBin, IntCmp, Op, Round, Table, Type, Value};

const SMALLEST_NORMAL: u64 = 0x0080_0000;
const INFINITY: u64 = 0x7f80_0000;
/// In the upper word of an f64.
const INFINITY_64: u64 = 0x7ff0_0000;
const ONE: u64 = 0x3f80_0000;
const TWO_16: u64 = 0x4780_0000;
const TWO_MINUS_36: u64 = 0x2d80_0000;
const NAN: u64 = 0x7fff_ffff;
const SIGN: u64 = 1 << 31;

/// `MUFU.RCP`: 1 / operand.
pub(crate) fn rcp(cx: &mut Cx<'_>, operand: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, operand);
    // The upper 7 of 23 bits choose the segment; the other 16 are the upper ones of 17.
    let segment = field(cx, bits, 16, 127);
    let x = field(cx, bits, 0, 0xffff);
    let x = cx.b.int_imm(IntBin::Shl, x, 1);
    let significand = significand(cx, &RCP, segment, x);

    // The leading one of the significand, which is more than 2²³ and at most 2²⁴, counts in the exponent.
    let bias = cx.b.iconst(Type::I32, 252);
    let exponent_of_result = cx.b.sub(bias, exponent);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, exponent_of_result, 23);
    let result = cx.b.add(exponent_of_result, significand);
    let tiny = {
        let smallest = cx.b.iconst(Type::I32, SMALLEST_NORMAL);
        cx.b.cmp(IntCmp::LtS, result, smallest)
    };
    let result = choose(cx, tiny, 0, result);
    let zero = cx.b.cmp_imm(IntCmp::Eq, exponent, 0);
    let result = choose(cx, zero, INFINITY, result);
    let result = cx.b.or(result, sign);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = choose(cx, nan, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "reciprocal")
}

/// `MUFU.RSQ`: 1 / √operand.
pub(crate) fn rsqrt(cx: &mut Cx<'_>, operand: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, operand);
    // The lowest bit of the exponent, which is even for operands from 2 to 4, and the upper 6 of 23 bits choose the segment.
    let segment = field(cx, bits, 17, 127);
    let segment = cx.b.int_imm(IntBin::Xor, segment, 64);
    let x = field(cx, bits, 0, 0x1_ffff);
    let significand = significand(cx, &RSQRT, segment, x);
    // The parabola of the first segment begins a little below 1.
    let whole = field(cx, bits, 0, 0xff_ffff);
    let power_of_4 = cx.b.cmp_imm(IntCmp::Eq, whole, SMALLEST_NORMAL);
    let significand = choose(cx, power_of_4, 1 << 24, significand);

    // Half the operand's exponent, negative, and never subnormal.
    let half = cx.b.int_imm(IntBin::Add, exponent, 1);
    let half = cx.b.int_imm(IntBin::ShrU, half, 1);
    let bias = cx.b.iconst(Type::I32, 189);
    let exponent_of_result = cx.b.sub(bias, half);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, exponent_of_result, 23);
    let result = cx.b.add(exponent_of_result, significand);
    let infinite = cx.b.cmp_imm(IntCmp::Eq, bits, INFINITY);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = root_of_special(cx, Special { sign, exponent, infinite, nan, infinity: INFINITY }, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "reciprocal of the root")
}

/// `MUFU.RCP64H`: 1 / operand, both the upper words of an f64. The unit looks at the upper 20 bits of the significand, and gives as many: those of
/// [`rcp`], the others cut off. Compared with an H200 for every significand, and over all exponents.
pub(crate) fn rcp64(cx: &mut Cx<'_>, high: Value) -> Value {
    let one = cx.b.iconst(Type::I32, 127);
    let Wide { sign, exponent, operand, nan } = wide(cx, high, one);
    let result = rcp(cx, operand);
    let result = upper(cx, result);
    let bias = cx.b.iconst(Type::I32, 1919);
    let exponent_of_result = cx.b.sub(bias, exponent);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, exponent_of_result, 20);
    let result = cx.b.add(exponent_of_result, result);
    let smallest = cx.b.iconst(Type::I32, 1 << 20);
    let tiny = cx.b.cmp(IntCmp::LtS, result, smallest);
    let result = choose(cx, tiny, 0, result);
    let zero = cx.b.cmp_imm(IntCmp::Eq, exponent, 0);
    let result = choose(cx, zero, INFINITY_64, result);
    let result = cx.b.or(result, sign);
    choose(cx, nan, NAN, result)
}

/// `MUFU.RSQ64H`: 1 / √operand, both the upper words of an f64, in the manner of [`rcp64`].
pub(crate) fn rsqrt64(cx: &mut Cx<'_>, high: Value) -> Value {
    // From 1 to 4, as half the exponent is taken out. It is even where its lowest bit as stored is set.
    let odd = field(cx, high, 20, 1);
    let odd = cx.b.int_imm(IntBin::Xor, odd, 1);
    let one_or_two = cx.b.int_imm(IntBin::Add, odd, 127);
    let Wide { sign, exponent, operand, nan } = wide(cx, high, one_or_two);
    let result = rsqrt(cx, operand);
    let result = upper(cx, result);
    let half = cx.b.int_imm(IntBin::Sub, exponent, 1023);
    let half = cx.b.sub(half, odd);
    let half = cx.b.int_imm(IntBin::ShrS, half, 1);
    let bias = cx.b.iconst(Type::I32, 896);
    let exponent_of_result = cx.b.sub(bias, half);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, exponent_of_result, 20);
    let result = cx.b.add(exponent_of_result, result);
    let infinite = cx.b.cmp_imm(IntCmp::Eq, exponent, 2047);
    root_of_special(cx, Special { sign, exponent, infinite, nan, infinity: INFINITY_64 }, result)
}

/// What is special about an operand, and the bits of infinity in its format.
struct Special {
    sign: Value,
    exponent: Value,
    infinite: Value,
    nan: Value,
    infinity: u64,
}

/// `result`, or what 1 / √operand is for an operand that is no positive number.
fn root_of_special(cx: &mut Cx<'_>, operand: Special, result: Value) -> Value {
    let result = choose(cx, operand.infinite, 0, result);
    let negative = cx.b.cmp_imm(IntCmp::Ne, operand.sign, 0);
    let result = choose(cx, negative, NAN, result);
    // Of zeros alone the sign counts.
    let infinity = cx.b.int_imm(IntBin::Or, operand.sign, operand.infinity);
    let zero = cx.b.cmp_imm(IntCmp::Eq, operand.exponent, 0);
    let result = cx.b.select(zero, infinity, result);
    choose(cx, operand.nan, NAN, result)
}

/// The upper word of an f64 taken apart.
struct Wide {
    sign: Value,
    exponent: Value,
    /// An f32 with the upper bits of the significand.
    operand: Value,
    nan: Value,
}

fn wide(cx: &mut Cx<'_>, high: Value, exponent_of_operand: Value) -> Wide {
    let sign = cx.b.int_imm(IntBin::And, high, SIGN);
    let exponent = field(cx, high, 20, 0x7ff);
    let significand = field(cx, high, 0, 0xf_ffff);
    let all_ones = cx.b.cmp_imm(IntCmp::Eq, exponent, 2047);
    let some = cx.b.cmp_imm(IntCmp::Ne, significand, 0);
    let nan = cx.b.int(IntBin::And, all_ones, some);
    let significand = cx.b.int_imm(IntBin::Shl, significand, 3);
    let operand = cx.b.int_imm(IntBin::Shl, exponent_of_operand, 23);
    let operand = cx.b.or(operand, significand);
    let operand = cx.b.from_bits(operand, Type::F32);
    Wide { sign, exponent, operand, nan }
}

/// Exponent and upper 20 bits of the significand of an f32.
fn upper(cx: &mut Cx<'_>, v: Value) -> Value {
    let bits = cx.b.to_bits(v, Type::I32);
    cx.b.int_imm(IntBin::ShrU, bits, 3)
}

/// The upper word of 64 bits.
pub(crate) fn high_word(cx: &mut Cx<'_>, bits: Value) -> Value {
    let high = cx.b.int_imm(IntBin::ShrU, bits, 32);
    cx.b.inst(Op::Trunc, &[high], Type::I32)
}

/// 64 bits with this upper word, the others 0.
pub(crate) fn with_high_word(cx: &mut Cx<'_>, high: Value) -> Value {
    let high = cx.b.zext(high, Elem::I64);
    cx.b.int_imm(IntBin::Shl, high, 32)
}

/// `MUFU.LG2`: log₂ of the operand.
///
/// The logarithm of the significand has 36 bits behind the point; the exponent is what stands before it. A negative sum loses its sign by changing every bit,
/// and 24 bits from the leading one on are kept.
pub(crate) fn lg2(cx: &mut Cx<'_>, operand: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, operand);
    let segment = field(cx, bits, 17, 63);
    let x = field(cx, bits, 0, 0x1_ffff);
    let fraction = interpolate(cx, &LG2, segment, x);
    // The parabola of the first segment begins a little above 0.
    let one = cx.b.cmp_imm(IntCmp::Eq, bits, ONE);
    let nothing = cx.b.iconst(Type::I64, 0);
    let fraction = cx.b.select(one, nothing, fraction);

    let whole = cx.b.int_imm(IntBin::Sub, exponent, 127);
    let whole = cx.b.sext(whole, Elem::I64);
    let whole = cx.b.int_imm(IntBin::Shl, whole, 36);
    let sum = cx.b.add(whole, fraction);
    let below = cx.b.int_imm(IntBin::ShrS, sum, 63);
    let magnitude = cx.b.xor(sum, below);
    let number = number(cx, magnitude, TWO_MINUS_36);
    let below = cx.b.inst(Op::Trunc, &[below], Type::I32);
    let minus = cx.b.int_imm(IntBin::And, below, SIGN);
    let result = cx.b.or(number, minus);

    let infinite = cx.b.cmp_imm(IntCmp::Eq, bits, INFINITY);
    let result = choose(cx, infinite, INFINITY, result);
    let negative = cx.b.cmp_imm(IntCmp::Ne, sign, 0);
    let result = choose(cx, negative, NAN, result);
    let zero = cx.b.cmp_imm(IntCmp::Eq, exponent, 0);
    let result = choose(cx, zero, INFINITY | SIGN, result);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = choose(cx, nan, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "logarithm")
}

/// How the terms of a function's parabolas are weighed. The slope counts once.
struct Function {
    table: Table,
    /// The constant term counts 2 to this times.
    constant: u64,
    /// How the slope counts.
    slope: IntBin,
    /// How the square's coefficient counts: 2 to this times, added or subtracted.
    square: (IntBin, u64),
    /// Added to the sum.
    added: u64,
    /// Bits of the sum that are cut off.
    cut: u64,
}

const RCP: Function = Function {
    table: Table::Rcp,
    constant: 14,
    slope: IntBin::Sub,
    square: (IntBin::Add, 1),
    added: 4046,
    cut: 16,
};
/// A negative number is added.
const RSQRT: Function = Function {
    table: Table::Rsqrt,
    constant: 14,
    slope: IntBin::Sub,
    square: (IntBin::Add, 2),
    added: u64::MAX,
    cut: 16,
};
const LG2: Function = Function {
    table: Table::Lg2,
    constant: 12,
    slope: IntBin::Add,
    square: (IntBin::Sub, 1),
    added: 837,
    cut: 2,
};

/// The parabola of the segment at the place x, which has 17 bits, in `i64`.
fn interpolate(cx: &mut Cx<'_>, function: &Function, segment: Value, x: Value) -> Value {
    let segment = cx.name(segment, "segment");
    let x = cx.name(x, "x");
    let entry = cx.b.inst(Op::Lookup(function.table), &[segment], Type::I64);
    let constant = field(cx, entry, 0, 0xfff_ffff);
    let constant = cx.name(constant, "constant");
    let slope = cx.b.int_imm(IntBin::ShrU, entry, 44);
    let slope = cx.name(slope, "slope");
    let square = field(cx, entry, 28, 0xffff);
    let square = cx.name(square, "square");

    let squared = squarer(cx, x);
    let squared = cx.name(squared, "x²");
    let [x, squared] = [x, squared].map(|v| cx.b.zext(v, Elem::I64));
    let sum = cx.b.int_imm(IntBin::Shl, constant, function.constant);
    let sum = cx.b.int_imm(IntBin::Add, sum, function.added);
    let linear = cx.b.mul(slope, x);
    let sum = cx.b.int(function.slope, sum, linear);
    let quadratic = cx.b.mul(square, squared);
    let (op, weight) = function.square;
    let quadratic = cx.b.int_imm(IntBin::Shl, quadratic, weight);
    let sum = cx.b.int(op, sum, quadratic);
    let result = cx.b.int_imm(IntBin::ShrU, sum, function.cut);
    cx.name(result, "interpolated")
}

/// A sum as a number, in bits: times the unit, an f32 that is a power of two, with 24 bits from its leading one on.
fn number(cx: &mut Cx<'_>, sum: Value, unit: u64) -> Value {
    let number = cx.b.inst(Op::IntToF { signed: false, round: Round::Zero }, &[sum], Type::F32);
    let unit = cx.b.fconst(Type::F32, unit);
    let number = cx.b.float(FBin::Mul, Round::Nearest, false, number, unit);
    cx.b.to_bits(number, Type::I32)
}

/// The halves of `ty` (one, or two that are packed) that a result of the unit is cut to.
pub(crate) fn cut(cx: &mut Cx<'_>, ty: Ty, f: impl Fn(&mut Cx<'_>, Value) -> Value) -> Value {
    let a = cx.arith("a", ty);
    let (elem, count) = (ty.elem(), ty.arith().count);
    let one = |cx: &mut Cx<'_>, i: u8| {
        let a = if count == 1 { a } else { cx.b.extract(a, i) };
        let wide = cx.b.inst(Op::FCvt(Round::Nearest), &[a], Type::F32);
        let d = f(cx, wide);
        let half = cx.b.inst(Op::FCvt(Round::Zero), &[d], Type::scalar(elem));
        if elem == Elem::F16 {
            // What is too large becomes infinite all the same.
            let limit = cx.b.fconst(Type::F32, TWO_16);
            let far = cx.b.fcmp(FCmp::Ge, d, limit);
            let infinity = cx.b.fconst(Type::F16, 0x7c00);
            cx.b.select(far, infinity, half)
        } else {
            half
        }
    };
    if count == 1 {
        return one(cx, 0);
    }
    let halves = [one(cx, 0), one(cx, 1)];
    cx.b.build(&halves)
}

/// The same where it is the significand of the result, in `i32`.
fn significand(cx: &mut Cx<'_>, function: &Function, segment: Value, x: Value) -> Value {
    let interpolated = interpolate(cx, function, segment, x);
    cx.b.inst(Op::Trunc, &[interpolated], Type::I32)
}

/// x² / 2¹⁹ of a number of 17 bits, a little short.
///
/// A squarer adds up the products of each two bits of x in columns, one for each bit of the result; of this one the columns below 2¹⁹ are not there. With h
/// the upper 8 bits of x, what remains is: of h², all but the square of its lowest bit, which leaves h²/2 cut to an integer; of h times the 9
/// bits below, for each bit i of these the bits of h from 9 − i on, which is h shifted right; of the square of the lower bits nothing.
fn squarer(cx: &mut Cx<'_>, x: Value) -> Value {
    let h = cx.b.int_imm(IntBin::ShrU, x, 9);
    let squared = cx.b.mul(h, h);
    let mut sum = cx.b.int_imm(IntBin::ShrU, squared, 1);
    for i in 2..9 {
        // The bit in every place, by way of the sign.
        let bit = cx.b.int_imm(IntBin::Shl, x, 31 - i);
        let bit = cx.b.int_imm(IntBin::ShrS, bit, 31);
        let product = cx.b.int_imm(IntBin::ShrU, h, 9 - i);
        let product = cx.b.int(IntBin::And, bit, product);
        sum = cx.b.add(sum, product);
    }
    sum
}

/// A number taken apart.
struct Parts {
    /// All of it.
    bits: Value,
    /// The sign, in its place.
    sign: Value,
    /// The exponent as it is stored; 0 for zeros and subnormal numbers.
    exponent: Value,
}

fn parts(cx: &mut Cx<'_>, operand: Value) -> Parts {
    let bits = cx.b.to_bits(operand, Type::I32);
    Parts { bits, sign: cx.b.int_imm(IntBin::And, bits, SIGN), exponent: field(cx, bits, 23, 0xff) }
}

/// Bits from `from` on, those in `mask`.
fn field(cx: &mut Cx<'_>, v: Value, from: u64, mask: u64) -> Value {
    let v = if from == 0 { v } else { cx.b.int_imm(IntBin::ShrU, v, from) };
    cx.b.int_imm(IntBin::And, v, mask)
}

/// A constant where the condition holds, the value elsewhere.
fn choose(cx: &mut Cx<'_>, condition: Value, constant: u64, otherwise: Value) -> Value {
    let constant = cx.b.iconst(Type::I32, constant);
    cx.b.select(condition, constant, otherwise)
}

/// What tests of instructions that use the unit need.
#[cfg(test)]
pub(crate) mod testing {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    /// What an instruction gives for each row of its operands.
    pub(crate) fn run(head: &'static str, operands: &[&[u32]]) -> Vec<u32> {
        let registers = vec![reg(Ty::F32); operands.len() + 1];
        let columns: Vec<Vec<u64>> =
            operands.iter().map(|column| column.iter().map(|&x| x.into()).collect()).collect();
        evaluate(&shape(head, &registers), &columns)[0].iter().map(|&x| x as u32).collect()
    }

    /// FNV-1a over the bytes of words, lowest first.
    pub(crate) fn hash(words: impl Iterator<Item = u32>) -> u64 {
        let bytes = words.flat_map(u32::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }

    /// How far a result is from the true value, in units of the last place the true value has.
    pub(crate) fn ulps(result: u32, exact: f64) -> f64 {
        let exponent = ((exact.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-126);
        (f64::from(f32::from_bits(result)) - exact).abs() / 2f64.powi(exponent - 23)
    }
}
