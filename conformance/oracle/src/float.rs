//! Floating-point values as raw bits, and the arithmetic that everything else is built from.
//!
//! Rounding is `rustc_apfloat`'s. What PTX adds (which NaN comes out, when a result counts as
//! subnormal for `.ftz`) is in the functions under "Choices", one rule each.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloatS, DoubleS, HalfS, IeeeFloat, Semantics, SingleS};
pub(crate) use rustc_apfloat::{Float, FloatConvert, Round};

use crate::text::{Mods, low_mask};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

/// A floating-point instruction type: elements of one format, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloatType {
    pub format: Format,
    pub lanes: u32,
}

/// Every floating-point type name that some instruction here has.
pub(crate) const FLOAT_TYPES: &[(&str, FloatType)] = &[
    ("f16", FloatType { format: Format::F16, lanes: 1 }),
    ("f16x2", FloatType { format: Format::F16, lanes: 2 }),
    ("bf16", FloatType { format: Format::Bf16, lanes: 1 }),
    ("bf16x2", FloatType { format: Format::Bf16, lanes: 2 }),
    ("f32", FloatType { format: Format::F32, lanes: 1 }),
    ("f32x2", FloatType { format: Format::F32, lanes: 2 }),
    ("f64", FloatType { format: Format::F64, lanes: 1 }),
];

impl FloatType {
    /// Does `f` to each element of up to three operands.
    pub fn map<const N: usize>(self, operands: [u64; N], f: impl Fn([u64; N]) -> u64) -> u64 {
        let width = self.format.width();
        let element = |i: u32| f(operands.map(|x| x >> (i * width) & low_mask(width))) << (i * width);
        (0..self.lanes).map(element).fold(0, |all, one| all | one)
    }
}

impl Format {
    pub fn width(self) -> u32 {
        1 + self.exponent_bits() + self.fraction_bits()
    }

    fn exponent_bits(self) -> u32 {
        match self {
            Format::F16 => 5,
            Format::Bf16 | Format::F32 => 8,
            Format::F64 => 11,
        }
    }

    pub fn fraction_bits(self) -> u32 {
        match self {
            Format::F16 => 10,
            Format::Bf16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
        }
    }

    pub fn sign_bit(self) -> u64 {
        1 << (self.width() - 1)
    }

    pub fn infinity(self) -> u64 {
        low_mask(self.exponent_bits()) << self.fraction_bits()
    }

    pub fn largest_finite(self) -> u64 {
        self.infinity() - 1
    }

    fn smallest_normal(self) -> u64 {
        1 << self.fraction_bits()
    }

    pub fn one(self) -> u64 {
        low_mask(self.exponent_bits() - 1) << self.fraction_bits()
    }

    pub fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    pub fn magnitude(self, bits: u64) -> u64 {
        bits & !self.sign_bit()
    }

    pub fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    fn is_subnormal(self, bits: u64) -> bool {
        (1..self.smallest_normal()).contains(&self.magnitude(bits))
    }

    /// A subnormal becomes zero of its sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }

    pub fn flush_if(self, ftz: bool, bits: u64) -> u64 {
        if ftz { self.flush(bits) } else { bits }
    }

    /// How two numbers compare, the zeros being equal; `None` when one is NaN.
    pub fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let key = |x: u64| {
            let magnitude = i128::from(self.magnitude(x));
            if self.is_negative(x) { -magnitude } else { magnitude }
        };
        Some(key(a).cmp(&key(b)))
    }

    /// `.sat`: NaN and everything below zero (-0 too) becomes +0, everything above one becomes one.
    pub fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || self.is_negative(bits) { 0 } else { bits.min(self.one()) }
    }

    /// `.relu`: negative results and -0 become +0, NaN the canonical one.
    pub fn relu(self, bits: u64) -> u64 {
        if self.is_nan(bits) {
            self.canonical_nan()
        } else if self.is_negative(bits) {
            0
        } else {
            bits
        }
    }
}

/// Choices: what the manual leaves open, as far as it has been recorded on hardware.
impl Format {
    /// The NaN of f16, bf16 and f32, whatever the inputs were. (f64 has payloads; this is the NaN of
    /// the one f64 case that the manual calls canonical.)
    pub fn canonical_nan(self) -> u64 {
        match self {
            Format::F16 | Format::Bf16 => 0x7fff,
            Format::F32 => 0x7fff_ffff,
            Format::F64 => 0x7fff_ffff_ffff_ffff,
        }
    }

    /// The result of arithmetic with NaN among its inputs, or of an invalid operation when none is.
    ///
    /// For f64 one of the NaNs is kept and made quiet: b before a, and c, where there is one, between
    /// them; a division keeps a before b ([`arith`] hands them over the other way round). Invalid operations give the negative
    /// default NaN.
    pub fn nan_result(self, inputs: &[u64]) -> u64 {
        let by_precedence = inputs.iter().skip(1).chain(inputs.first());
        match (self, by_precedence.copied().find(|x| self.is_nan(*x))) {
            (Format::F64, Some(nan)) => self.quiet(nan),
            (Format::F64, None) => 0xfff8_0000_0000_0000,
            _ => self.canonical_nan(),
        }
    }

    /// min and max when both operands are NaN: f64 gives b, made quiet, as the expansion of sm_90 does.
    pub fn nan_of_min_max(self, b: u64) -> u64 {
        if self == Format::F64 { self.quiet(b) } else { self.canonical_nan() }
    }

    /// neg and abs of a NaN: f64 makes it quiet, and not even its sign changes.
    pub fn nan_of_sign(self, a: u64) -> u64 {
        if self == Format::F64 { self.quiet(a) } else { self.canonical_nan() }
    }

    /// The NaN that a float-to-float cvt makes of a NaN of format `from`.
    pub fn nan_of_cvt(self, from: Format, a: u64, ftz: bool) -> u64 {
        match (from, self) {
            // A shift: even a signalling NaN stays what it is.
            (Format::Bf16, Format::F32) if !ftz => a << 16,
            // Flushing an f32 is arithmetic: its NaN is the canonical one, here widened.
            (Format::F32, Format::F64) if ftz => 0x7fff_ffff_e000_0000,
            // With payloads on one side, the sign and as much of the payload's top as fits survive.
            (Format::F64, _) | (_, Format::F64) => {
                let sign = if from.is_negative(a) { self.sign_bit() } else { 0 };
                let payload = (a & low_mask(from.fraction_bits())) << (64 - from.fraction_bits());
                self.quiet(sign | self.infinity() | payload >> (64 - self.fraction_bits()))
            }
            _ => self.canonical_nan(),
        }
    }

    /// Is a result subnormal for `.ftz`? Tininess is decided after rounding, as if the exponent had
    /// no lower bound: `unbounded` is the result so rounded, `bounded` the usual one. The two differ
    /// in a sliver just below the smallest normal number, which only the usual rounding reaches.
    fn is_tiny<S: Semantics, W: Semantics>(_bounded: IeeeFloat<S>, unbounded: IeeeFloat<W>) -> bool {
        unbounded.abs() < widen(IeeeFloat::<S>::smallest_normalized())
    }

    fn quiet(self, nan: u64) -> u64 {
        nan | 1 << (self.fraction_bits() - 1)
    }
}

/// Formats with the precision of f16, bf16 and f32 and a range in which none of their operations can
/// under- or overflow.
struct WideHalfS;
struct WideBFloatS;
struct WideSingleS;

impl Semantics for WideHalfS {
    const BITS: usize = 1 + 15 + 10;
    const EXP_BITS: usize = 15;
}

impl Semantics for WideBFloatS {
    const BITS: usize = 1 + 15 + 7;
    const EXP_BITS: usize = 15;
}

impl Semantics for WideSingleS {
    const BITS: usize = 1 + 15 + 23;
    const EXP_BITS: usize = 15;
}

/// An exact conversion to a format that holds every value of the first.
fn widen<S: Semantics, W: Semantics>(value: IeeeFloat<S>) -> IeeeFloat<W> {
    let mut loses_info = false;
    let wide = value.convert_r(Round::NearestTiesToEven, &mut loses_info).value;
    debug_assert!(!loses_info);
    wide
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
}

impl Arith {
    fn apply<S: Semantics>(self, [a, b, c]: [IeeeFloat<S>; 3], round: Round) -> IeeeFloat<S> {
        match self {
            Arith::Add => a.add_r(b, round).value,
            Arith::Sub => a.sub_r(b, round).value,
            Arith::Mul => a.mul_r(b, round).value,
            Arith::Div => a.div_r(b, round).value,
            Arith::Fma => a.mul_add_r(b, c, round).value,
        }
    }
}

/// One operation on one element; `operands` beyond those the operation has are ignored.
pub(crate) fn arith(format: Format, op: Arith, operands: [u64; 3], round: Round, ftz: bool) -> u64 {
    let operands = operands.map(|x| format.flush_if(ftz, x));
    let used = if op == Arith::Fma { &operands[..] } else { &operands[..2] };
    if used.iter().any(|x| format.is_nan(*x)) {
        let [a, b, _] = operands;
        return if op == Arith::Div { format.nan_result(&[b, a]) } else { format.nan_result(used) };
    }
    let (bits, tiny) = match format {
        Format::F16 => compute::<HalfS, WideHalfS>(op, operands, round),
        Format::Bf16 => compute::<BFloatS, WideBFloatS>(op, operands, round),
        Format::F32 => compute::<SingleS, WideSingleS>(op, operands, round),
        // No f64 instruction has .ftz.
        Format::F64 => {
            let result = op.apply::<DoubleS>(operands.map(|x| IeeeFloat::from_bits(x.into())), round);
            (result.to_bits() as u64, false)
        }
    };
    if format.is_nan(bits) {
        format.nan_result(&[])
    } else if ftz && tiny {
        bits & format.sign_bit()
    } else {
        bits
    }
}

/// The result's bits and whether it is tiny.
fn compute<S: Semantics, W: Semantics>(op: Arith, operands: [u64; 3], round: Round) -> (u64, bool) {
    let narrow = operands.map(|x| IeeeFloat::<S>::from_bits(x.into()));
    let bounded = op.apply(narrow, round);
    let unbounded = op.apply::<W>(narrow.map(widen), round);
    (bounded.to_bits() as u64, Format::is_tiny(bounded, unbounded))
}

/// A value of one format in another, correctly rounded. NaN is [`Format::nan_of_cvt`]'s; with
/// `ftz` a result that is a tiny f32 becomes zero.
pub(crate) fn convert(from: Format, to: Format, bits: u64, round: Round, ftz: bool) -> u64 {
    if from.is_nan(bits) {
        return to.nan_of_cvt(from, bits, ftz);
    }
    match from {
        Format::F16 => convert_from::<HalfS>(to, bits, round, ftz),
        Format::Bf16 => convert_from::<BFloatS>(to, bits, round, ftz),
        Format::F32 => convert_from::<SingleS>(to, bits, round, ftz),
        Format::F64 => convert_from::<DoubleS>(to, bits, round, ftz),
    }
}

fn convert_from<S: Semantics>(to: Format, bits: u64, round: Round, ftz: bool) -> u64 {
    fn to_format<S: Semantics, T: Semantics>(value: IeeeFloat<S>, round: Round) -> IeeeFloat<T> {
        let mut loses_info = false;
        value.convert_r(round, &mut loses_info).value
    }
    let value = IeeeFloat::<S>::from_bits(bits.into());
    let (result, tiny) = match to {
        Format::F16 => (to_format::<S, HalfS>(value, round).to_bits(), false),
        Format::Bf16 => (to_format::<S, BFloatS>(value, round).to_bits(), false),
        Format::F64 => (to_format::<S, DoubleS>(value, round).to_bits(), false),
        Format::F32 => {
            let bounded = to_format::<S, SingleS>(value, round);
            let unbounded = to_format::<S, WideSingleS>(value, round);
            (bounded.to_bits(), Format::is_tiny(bounded, unbounded))
        }
    };
    let result = result as u64;
    if ftz && tiny { result & to.sign_bit() } else { result }
}

/// An integer in a floating-point format, correctly rounded.
pub(crate) fn from_integer(to: Format, value: i128, round: Round) -> u64 {
    let bits = match to {
        Format::F16 => IeeeFloat::<HalfS>::from_i128_r(value, round).value.to_bits(),
        Format::Bf16 => IeeeFloat::<BFloatS>::from_i128_r(value, round).value.to_bits(),
        Format::F32 => IeeeFloat::<SingleS>::from_i128_r(value, round).value.to_bits(),
        Format::F64 => IeeeFloat::<DoubleS>::from_i128_r(value, round).value.to_bits(),
    };
    bits as u64
}

/// A number rounded to an integral value of the same format. The sign stays, also of a zero.
pub(crate) fn round_to_integral(format: Format, bits: u64, round: Round) -> u64 {
    fn rounded<S: Semantics>(bits: u64, round: Round) -> u64 {
        IeeeFloat::<S>::from_bits(bits.into()).round_to_integral(round).value.to_bits() as u64
    }
    match format {
        _ if format.is_nan(bits) => format.nan_of_cvt(format, bits, false),
        Format::F16 => rounded::<HalfS>(bits, round),
        Format::Bf16 => rounded::<BFloatS>(bits, round),
        Format::F32 => rounded::<SingleS>(bits, round),
        Format::F64 => rounded::<DoubleS>(bits, round),
    }
}

/// A number rounded to an integer and clamped to `width` bits; not for NaN.
pub(crate) fn to_integer(format: Format, bits: u64, round: Round, width: u32, signed: bool) -> i128 {
    fn rounded<S: Semantics>(bits: u64, round: Round, width: usize, signed: bool) -> i128 {
        let value = IeeeFloat::<S>::from_bits(bits.into());
        let mut is_exact = false;
        // apfloat clamps what does not fit, infinities included.
        if signed {
            value.to_i128_r(width, round, &mut is_exact).value
        } else {
            value.to_u128_r(width, round, &mut is_exact).value as i128
        }
    }
    let width = width as usize;
    match format {
        Format::F16 => rounded::<HalfS>(bits, round, width, signed),
        Format::Bf16 => rounded::<BFloatS>(bits, round, width, signed),
        Format::F32 => rounded::<SingleS>(bits, round, width, signed),
        Format::F64 => rounded::<DoubleS>(bits, round, width, signed),
    }
}

/// `fma.rn.f64`.
pub(crate) fn fma_f64(a: u64, b: u64, c: u64) -> u64 {
    arith(Format::F64, Arith::Fma, [a, b, c], Round::NearestTiesToEven, false)
}

/// The square root of a positive finite number, correctly rounded: the integer root of the significand with enough zeros behind it, and
/// a last bit that says whether anything is left.
pub(crate) fn root(format: Format, bits: u64, round: Round) -> u64 {
    let field = bits >> format.fraction_bits();
    let fraction = bits & low_mask(format.fraction_bits());
    let significand = if field == 0 { fraction } else { fraction | 1 << format.fraction_bits() };
    let bias = low_mask(format.exponent_bits() - 1) as i32;
    let exponent = field.max(1) as i32 - bias - format.fraction_bits() as i32;
    // As many bits as there is room for, which make 63 of the root, and the exponent even.
    let room = u128::from(significand).leading_zeros() as i32;
    let shift = room - (exponent - room).rem_euclid(2);
    let exponent = exponent - shift;
    let shifted = u128::from(significand) << shift;
    let (root, rest) = {
        let root = shifted.isqrt();
        (root, shifted - root * root)
    };
    let sticky = (root << 1 | u128::from(rest != 0)) as i128;
    fn rounded<S: Semantics>(value: i128, exponent: i32, round: Round) -> u64 {
        // No root is subnormal or infinite, so scaling is exact.
        IeeeFloat::<S>::from_i128_r(value, round).value.scalbn(exponent).to_bits() as u64
    }
    match format {
        Format::F32 => rounded::<SingleS>(sticky, exponent / 2 - 1, round),
        _ => rounded::<DoubleS>(sticky, exponent / 2 - 1, round),
    }
}

/// The floating-point rounding modifiers.
pub(crate) fn take_rounding(mods: &mut Mods) -> Option<Round> {
    mods.choice(&[
        ("rn", Round::NearestTiesToEven),
        ("rz", Round::TowardZero),
        ("rm", Round::TowardNegative),
        ("rp", Round::TowardPositive),
    ])
}
