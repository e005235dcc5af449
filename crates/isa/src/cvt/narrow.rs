//! Conversions to and from floats of 8 bits and fewer, which come in pairs, and to tf32.

use crate::float::rounding;
use crate::{Cx, Ty};
use hostwarp_ir::{Elem, FBin, FCmp, IntBin, IntCmp, IntUn, Op, Round, Type, Value};

/// A format with a sign.
struct Format {
    /// Bits of the significand behind the point.
    fraction: u64,
    /// Of the exponent.
    bias: u64,
    /// The sign's place.
    sign: u64,
    /// The largest finite number.
    largest: u64,
    /// Infinity, if there is one.
    infinity: Option<u64>,
    /// NaN, if there is one; it is the largest of them.
    nan: Option<u64>,
}

const E4M3: Format = Format { fraction: 3, bias: 7, sign: 7, largest: 0x7e, infinity: None, nan: Some(0x7f) };
const E5M2: Format =
    Format { fraction: 2, bias: 15, sign: 7, largest: 0x7b, infinity: Some(0x7c), nan: Some(0x7f) };
const E2M3: Format = Format { fraction: 3, bias: 1, sign: 5, largest: 0x1f, infinity: None, nan: None };
const E3M2: Format = Format { fraction: 2, bias: 3, sign: 5, largest: 0x1f, infinity: None, nan: None };
const E2M1: Format = Format { fraction: 1, bias: 1, sign: 3, largest: 0x7, infinity: None, nan: None };

/// The format of a packed type; `None` for `.ue8m0x2`, which has powers of two only, and for `.s2f6x2`, which has no exponent.
fn format(ty: Ty) -> Option<&'static Format> {
    Some(match ty {
        Ty::E4m3x2 => &E4M3,
        Ty::E5m2x2 => &E5M2,
        Ty::E2m3x2 => &E2M3,
        Ty::E3m2x2 => &E3M2,
        Ty::E2m1x2 => &E2M1,
        _ => return None,
    })
}

/// Two numbers as a pair of narrow ones. They are two f32, `a` for the upper one, or the halves of `a`.
pub(super) fn pack(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let numbers = if from == Ty::F32 {
        ["b", "a"].map(|name| cx.arith(name, Ty::F32))
    } else {
        let a = cx.arith("a", from);
        [0, 1].map(|i| {
            let half = cx.b.extract(a, i);
            cx.b.inst(Op::FCvt(Round::Nearest), &[half], Type::F32)
        })
    };
    let [low, high] = [0, 1].map(|i| match format(to) {
        Some(format) => narrow(cx, format, numbers[i]),
        None if to == Ty::S2f6x2 => fixed_point(cx, numbers[i], i),
        None => power_of_two(cx, numbers[i]),
    });
    let high = cx.b.int_imm(IntBin::Shl, high, u64::from(to.bits()) / 2);
    let both = cx.b.or(high, low);
    cx.b.inst(Op::Trunc, &[both], to.container())
}

/// An f32 rounded to nearest even in a narrow format and bounded by its largest number, in the low bits of a word.
fn narrow(cx: &mut Cx<'_>, format: &Format, v: Value) -> Value {
    let &Format { fraction, bias, sign, largest, nan, .. } = format;
    let bits = cx.b.to_bits(v, Type::I32);
    let magnitude = cx.b.int_imm(IntBin::And, bits, 0x7fff_ffff);
    // Normal: half a unit of the last place, less one where that is even, and the rest is cut.
    let dropped = 23 - fraction;
    let odd = cx.b.int_imm(IntBin::ShrU, magnitude, dropped);
    let odd = cx.b.int_imm(IntBin::And, odd, 1);
    let up = cx.b.int_imm(IntBin::Add, magnitude, (1 << (dropped - 1)) - 1);
    let up = cx.b.add(up, odd);
    let cut = cx.b.int_imm(IntBin::ShrU, up, dropped);
    let normal = cx.b.int_imm(IntBin::Sub, cut, (127 - bias) << fraction);
    // Subnormal: next to a number whose last place is the format's smallest number, an addition rounds to that.
    let [smallest, large] = [128 - bias, 128 - bias + dropped].map(|exponent| exponent << 23);
    let positive = cx.b.from_bits(magnitude, Type::F32);
    let large_number = cx.b.fconst(Type::F32, large);
    let sum = cx.b.float(FBin::Add, Round::Nearest, false, positive, large_number);
    let sum = cx.b.to_bits(sum, Type::I32);
    let subnormal = cx.b.int_imm(IntBin::Sub, sum, large);
    let smallest = cx.b.iconst(Type::I32, smallest);
    let tiny = cx.b.cmp(IntCmp::LtU, magnitude, smallest);
    let code = cx.b.select(tiny, subnormal, normal);
    let code = cx.b.int_imm(IntBin::MinU, code, largest);
    let negative = cx.b.int_imm(IntBin::ShrU, bits, 31);
    let code = if cx.has(".relu") {
        let negative = cx.b.cmp_imm(IntCmp::Ne, negative, 0);
        let zero = cx.b.iconst(Type::I32, 0);
        cx.b.select(negative, zero, code)
    } else {
        let negative = cx.b.int_imm(IntBin::Shl, negative, sign);
        cx.b.or(code, negative)
    };
    let is_nan = cx.b.fcmp(FCmp::Nan, v, v);
    let nan = cx.b.iconst(Type::I32, nan.unwrap_or(largest));
    cx.b.select(is_nan, nan, code)
}

/// The exponent of an f32, whatever its sign, rounded toward zero or away from it; a NaN is 255, and so is without `.satfinite` what is too large.
fn power_of_two(cx: &mut Cx<'_>, v: Value) -> Value {
    let bits = cx.b.to_bits(v, Type::I32);
    let magnitude = cx.b.int_imm(IntBin::And, bits, 0x7fff_ffff);
    let up = if rounding(cx.get(".frnd3")) == Round::Up { 0x7f_ffff } else { 0 };
    let rounded = cx.b.int_imm(IntBin::Add, magnitude, up);
    let code = cx.b.int_imm(IntBin::ShrU, rounded, 23);
    // Of subnormal numbers those up to 2^-127 are rounded to it.
    let code = if up == 0 {
        code
    } else {
        let least = cx.b.iconst(Type::I32, 0x0040_0000);
        let least = cx.b.cmp(IntCmp::LeU, magnitude, least);
        let zero = cx.b.iconst(Type::I32, 0);
        cx.b.select(least, zero, code)
    };
    let code = if cx.has(".satfinite") { cx.b.int_imm(IntBin::MinU, code, 0xfe) } else { code };
    let is_nan = cx.b.fcmp(FCmp::Nan, v, v);
    let nan = cx.b.iconst(Type::I32, 0xff);
    cx.b.select(is_nan, nan, code)
}

/// A pair of narrow numbers as halves or bfloats, which hold all of them.
pub(super) fn unpack(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let a = cx.src("a");
    let a = cx.b.zext(a, Elem::I32);
    let width = u64::from(from.bits()) / 2;
    let halves = [0, 1].map(|i| {
        let code = cx.b.int_imm(IntBin::ShrU, a, i as u64 * width);
        let code = cx.b.int_imm(IntBin::And, code, (1 << width) - 1);
        let mut wide = match format(from) {
            Some(format) => widen(cx, format, code),
            None if from == Ty::S2f6x2 => from_fixed_point(cx, code),
            None => from_power_of_two(cx, code),
        };
        // Exact, or infinite: a few bits times a power of two.
        if let Some(scale) = scale(cx, i) {
            let scale = from_power_of_two(cx, scale);
            wide = cx.b.float(FBin::Mul, Round::Nearest, false, wide, scale);
        }
        cx.b.inst(Op::FCvt(Round::Nearest), &[wide], Type::scalar(to.elem()))
    });
    let both = cx.b.build(&halves);
    super::float::bounded(cx, both)
}

/// A narrow number as f32.
fn widen(cx: &mut Cx<'_>, format: &Format, code: Value) -> Value {
    let &Format { fraction, bias, sign, infinity, nan, .. } = format;
    let magnitude = cx.b.int_imm(IntBin::And, code, (1 << sign) - 1);
    // With the exponents of f32 it is too small by the difference of the biases, subnormal or not.
    let bits = cx.b.int_imm(IntBin::Shl, magnitude, 23 - fraction);
    let small = cx.b.from_bits(bits, Type::F32);
    let factor = cx.b.fconst(Type::F32, (254 - bias) << 23);
    let number = cx.b.float(FBin::Mul, Round::Nearest, false, small, factor);
    let mut bits = cx.b.to_bits(number, Type::I32);
    if let Some(infinity) = infinity {
        let infinite = cx.b.cmp_imm(IntCmp::Eq, magnitude, infinity);
        let infinity = cx.b.iconst(Type::I32, 0x7f80_0000);
        bits = cx.b.select(infinite, infinity, bits);
    }
    let negative = cx.b.int_imm(IntBin::ShrU, code, sign);
    let negative = cx.b.int_imm(IntBin::Shl, negative, 31);
    bits = cx.b.or(bits, negative);
    if let Some(nan) = nan {
        let from = cx.b.iconst(Type::I32, infinity.map_or(nan, |infinity| infinity + 1));
        let is_nan = cx.b.cmp(IntCmp::LeU, from, magnitude);
        let nan = cx.b.iconst(Type::I32, 0x7fff_ffff);
        bits = cx.b.select(is_nan, nan, bits);
    }
    cx.b.from_bits(bits, Type::F32)
}

fn from_power_of_two(cx: &mut Cx<'_>, code: Value) -> Value {
    let power = cx.b.int_imm(IntBin::Shl, code, 23);
    let [zero, nan] = [0, 0xff].map(|c| cx.b.cmp_imm(IntCmp::Eq, code, c));
    // 2^-127 is subnormal.
    let [least, not_a_number] = [0x0040_0000, 0x7fff_ffff].map(|c| cx.b.iconst(Type::I32, c));
    let power = cx.b.select(zero, least, power);
    let power = cx.b.select(nan, not_a_number, power);
    cx.b.from_bits(power, Type::F32)
}

/// The exponent that the scale has for the lower or upper one of a pair, if there is a scale.
fn scale(cx: &mut Cx<'_>, i: usize) -> Option<Value> {
    cx.get(".scale")?;
    let scales = cx.src("scale-factor");
    let scales = cx.b.zext(scales, Elem::I32);
    let scale = cx.b.int_imm(IntBin::ShrU, scales, 8 * i as u64);
    Some(cx.b.int_imm(IntBin::And, scale, 0xff))
}

/// An f32 whose last place is 1: added to a number of up to 22 bits it rounds that to the nearest integer, which is in its low bits then.
const LAST_PLACE_ONE: u64 = 0x4b40_0000;

/// An f32, divided by the scale, in 64ths rounded to nearest even and bounded by a byte.
fn fixed_point(cx: &mut Cx<'_>, v: Value, i: usize) -> Value {
    let mut x = v;
    if let Some(scale) = scale(cx, i) {
        // The inverse of a power of two is one; that of NaN is NaN. What is lost below the smallest f32 is nothing in 64ths.
        let most = cx.b.iconst(Type::I32, 254);
        let inverse = cx.b.int(IntBin::Sub, most, scale);
        let inverse = cx.b.int_imm(IntBin::And, inverse, 0xff);
        let inverse = from_power_of_two(cx, inverse);
        x = cx.b.float(FBin::Mul, Round::Nearest, false, x, inverse);
    }
    let constant = |cx: &mut Cx<'_>, v: f32| cx.b.fconst(Type::F32, v.to_bits().into());
    let (sixty_four, most) = (constant(cx, 64.0), constant(cx, 127.0));
    let least = constant(cx, if cx.has(".relu") { 0.0 } else { -128.0 });
    x = cx.b.float(FBin::Mul, Round::Nearest, false, x, sixty_four);
    let is_nan = cx.b.fcmp(FCmp::Nan, x, x);
    x = cx.b.inst(Op::FMin { nan: false }, &[x, most], Type::F32);
    x = cx.b.inst(Op::FMax { nan: false }, &[x, least], Type::F32);
    let large = cx.b.fconst(Type::F32, LAST_PLACE_ONE);
    let sum = cx.b.float(FBin::Add, Round::Nearest, false, x, large);
    let code = cx.b.to_bits(sum, Type::I32);
    let code = cx.b.int_imm(IntBin::And, code, 0xff);
    let nan = cx.b.iconst(Type::I32, 0x7f);
    cx.b.select(is_nan, nan, code)
}

/// A byte of 64ths as f32.
fn from_fixed_point(cx: &mut Cx<'_>, code: Value) -> Value {
    let code = cx.b.int_imm(IntBin::Shl, code, 24);
    let code = cx.b.int_imm(IntBin::ShrS, code, 24);
    let bits = cx.b.int_imm(IntBin::Add, code, LAST_PLACE_ONE);
    let sum = cx.b.from_bits(bits, Type::F32);
    let large = cx.b.fconst(Type::F32, LAST_PLACE_ONE);
    let count = cx.b.float(FBin::Sub, Round::Nearest, false, sum, large);
    let part = cx.b.fconst(Type::F32, (1.0f32 / 64.0).to_bits().into());
    cx.b.float(FBin::Mul, Round::Nearest, false, count, part)
}

/// Halves and bfloats, as `.rs` makes them.
const F16: Format =
    Format { fraction: 10, bias: 15, sign: 15, largest: 0x7bff, infinity: Some(0x7c00), nan: Some(0x7fff) };
const BF16: Format =
    Format { fraction: 7, bias: 127, sign: 15, largest: 0x7f7f, infinity: Some(0x7f80), nan: Some(0x7fff) };

/// Two or four f32 as narrower numbers: random bits are added to those that are cut.
pub(super) fn random(cx: &mut Cx<'_>) -> Value {
    let rbits = cx.src("rbits");
    let low = cx.b.int_imm(IntBin::And, rbits, 0xffff);
    let high = cx.b.int_imm(IntBin::ShrU, rbits, 16);
    // Of a half that is longer the upper bits do not count.
    let pair = |format, count| (format, count, vec![low, high], vec!["b", "a"]);
    let (format, count, random, names) = match cx.get(".x8x4type") {
        _ if cx.has(".f16x2") => pair(&F16, 13),
        _ if cx.has(".bf16x2") => pair(&BF16, 16),
        Some(name) => {
            // The upper half is for `a` and `b`, the lower one for the others: for the first of both with its bits in reverse.
            let halves = [low, high].map(|half| [half, reversed(cx, half)]);
            let format = match name {
                ".e4m3x4" => &E4M3,
                ".e5m2x4" => &E5M2,
                ".e2m3x4" => &E2M3,
                _ => &E3M2,
            };
            (format, 16, halves.concat(), vec![])
        }
        None => {
            // Of numbers of 4 bits the upper bytes of both halves are for `a` and `b`.
            let halves = [0, 8].map(|at| {
                let lower = cx.b.int_imm(IntBin::ShrU, rbits, at);
                let lower = cx.b.int_imm(IntBin::And, lower, 0xff);
                let upper = cx.b.int_imm(IntBin::ShrU, rbits, at + 8);
                let upper = cx.b.int_imm(IntBin::And, upper, 0xff00);
                let half = cx.b.or(upper, lower);
                [half, reversed(cx, half)]
            });
            (&E2M1, 16, halves.concat(), vec![])
        }
    };
    let numbers: Vec<Value> = match names.is_empty() {
        true => cx.elements("a").into_iter().rev().collect(),
        false => names.into_iter().map(|name| cx.src(name)).collect(),
    };
    let width = if format.sign < 4 { 4 } else { (format.sign + 1).next_power_of_two() };
    let mut d = cx.b.iconst(Type::I32, 0);
    for (i, (number, random)) in numbers.into_iter().zip(random).enumerate() {
        let code = stochastic(cx, format, number, (random, count));
        let code = cx.b.int_imm(IntBin::Shl, code, width * i as u64);
        d = cx.b.or(d, code);
    }
    if width == 4 { cx.b.zext(d, Elem::I16) } else { d }
}

/// The low 16 bits in reverse.
fn reversed(cx: &mut Cx<'_>, v: Value) -> Value {
    let v = cx.b.inst(Op::IntUn(IntUn::Brev), &[v], Type::I32);
    cx.b.int_imm(IntBin::ShrU, v, 16)
}

/// An f32 cut, in the low bits of a word; so many random bits, added to as many of the highest that are cut, may carry one away from zero.
fn stochastic(cx: &mut Cx<'_>, format: &Format, bits: Value, (random, count): (Value, u64)) -> Value {
    let &Format { fraction, bias, sign, largest, infinity, nan } = format;
    let random = cx.b.int_imm(IntBin::And, random, (1 << count) - 1);
    let magnitude = cx.b.int_imm(IntBin::And, bits, 0x7fff_ffff);
    let exponent = cx.b.int_imm(IntBin::ShrU, magnitude, 23);
    let exponent = cx.b.int_imm(IntBin::MaxU, exponent, 1);
    let significand = cx.b.int_imm(IntBin::And, magnitude, 0x7f_ffff);
    let normal = cx.b.int_imm(IntBin::And, magnitude, 0x7f80_0000);
    let normal = cx.b.cmp_imm(IntCmp::Ne, normal, 0);
    let whole = cx.b.int_imm(IntBin::Or, significand, 1 << 23);
    let significand = cx.b.select(normal, whole, significand);
    // Below the smallest normal number one bit more is cut for each exponent.
    let least = cx.b.iconst(Type::I32, 128 - bias);
    let below = cx.b.int(IntBin::Sub, least, exponent);
    let below = cx.b.int_imm(IntBin::MaxS, below, 0);
    let above = cx.b.int(IntBin::Sub, exponent, least);
    let above = cx.b.int_imm(IntBin::MaxS, above, 0);
    let unseen = cx.b.int_imm(IntBin::Add, below, 23 - fraction - count);
    let unseen = cx.b.int_imm(IntBin::MinU, unseen, 31);
    let seen = cx.b.int(IntBin::ShrU, significand, unseen);
    let sum = cx.b.add(seen, random);
    let units = cx.b.int_imm(IntBin::ShrU, sum, count);
    let above = cx.b.int_imm(IntBin::Shl, above, fraction);
    let code = cx.b.add(units, above);
    let most = if cx.has(".satfinite") { largest } else { infinity.unwrap_or(largest) };
    let code = cx.b.int_imm(IntBin::MinU, code, most);
    let negative = cx.b.int_imm(IntBin::ShrU, bits, 31);
    let code = if cx.has(".relu") {
        let negative = cx.b.cmp_imm(IntCmp::Ne, negative, 0);
        let zero = cx.b.iconst(Type::I32, 0);
        cx.b.select(negative, zero, code)
    } else {
        let negative = cx.b.int_imm(IntBin::Shl, negative, sign);
        cx.b.or(code, negative)
    };
    let infinite = cx.b.iconst(Type::I32, 0x7f80_0000);
    let is_nan = cx.b.cmp(IntCmp::LtU, infinite, magnitude);
    let nan = cx.b.iconst(Type::I32, nan.unwrap_or(largest));
    cx.b.select(is_nan, nan, code)
}

const TF32: u64 = 0xffff_e000;

/// An f32 with 10 bits of its significand, the others 0.
pub(super) fn tf32(cx: &mut Cx<'_>) -> Value {
    let bits = cx.src("a");
    let a = cx.arith("a", Ty::F32);
    if cx.has(".rna") {
        return tf32_away(cx, bits);
    }
    let rounded = if rounding(cx.get(".frnd2")) == Round::Zero {
        bits
    } else {
        let odd = cx.b.int_imm(IntBin::ShrU, bits, 13);
        let odd = cx.b.int_imm(IntBin::And, odd, 1);
        let up = cx.b.int_imm(IntBin::Add, bits, 0xfff);
        cx.b.add(up, odd)
    };
    let mut d = cx.b.int_imm(IntBin::And, rounded, TF32);
    let sign = cx.b.int_imm(IntBin::And, bits, 1 << 31);
    if cx.has(".satfinite") {
        let magnitude = cx.b.int_imm(IntBin::And, d, 0x7fff_ffff);
        let bounded = cx.b.int_imm(IntBin::MinU, magnitude, 0x7f7f_e000);
        d = cx.b.or(bounded, sign);
    }
    if cx.has(".relu") {
        let negative = cx.b.cmp_imm(IntCmp::Ne, sign, 0);
        let zero = cx.b.iconst(Type::I32, 0);
        d = cx.b.select(negative, zero, d);
    }
    let is_nan = cx.b.fcmp(FCmp::Nan, a, a);
    let nan = cx.b.iconst(Type::I32, 0x7fff_e000);
    cx.b.select(is_nan, nan, d)
}

/// `.rna`, in the steps of ptxas: half a unit is added to what is finite, the low bits are cut, and with `.satfinite` one unit is taken from what is not finite then.
fn tf32_away(cx: &mut Cx<'_>, bits: Value) -> Value {
    let finite = |cx: &mut Cx<'_>, v: Value| {
        let magnitude = cx.b.int_imm(IntBin::And, v, 0x7fff_ffff);
        let infinity = cx.b.iconst(Type::I32, 0x7f80_0000);
        cx.b.cmp(IntCmp::LtU, magnitude, infinity)
    };
    let is_finite = finite(cx, bits);
    let up = cx.b.int_imm(IntBin::Add, bits, 0x1000);
    let rounded = cx.b.select(is_finite, up, bits);
    let d = cx.b.int_imm(IntBin::And, rounded, TF32);
    if !cx.has(".satfinite") {
        return d;
    }
    let is_finite = finite(cx, d);
    let below = cx.b.int_imm(IntBin::Sub, d, 0x2000);
    cx.b.select(is_finite, d, below)
}

/// `cvt.pack`: two words clamped to fewer bits, `a` above `b`, and `c` above both.
pub(super) fn pack_integers(cx: &mut Cx<'_>) -> Value {
    let ty = cx.get(".convert").or(cx.get(".convert8")).unwrap_or(".s16");
    let (signed, bits) = (ty.starts_with(".s"), ty[2..].parse::<u64>().unwrap_or(16));
    let (low, high) = if signed { (!0 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let [a, b] = ["a", "b"].map(|name| {
        let v = cx.src(name);
        let v = cx.b.int_imm(IntBin::MaxS, v, low & 0xffff_ffff);
        let v = cx.b.int_imm(IntBin::MinS, v, high);
        cx.b.int_imm(IntBin::And, v, (1 << bits) - 1)
    });
    let a = cx.b.int_imm(IntBin::Shl, a, bits);
    let d = cx.b.or(a, b);
    if !cx.given("c") {
        return d;
    }
    let c = cx.src("c");
    let c = cx.b.int_imm(IntBin::Shl, c, 2 * bits);
    cx.b.or(c, d)
}
