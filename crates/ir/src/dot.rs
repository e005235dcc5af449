//! [`Op::Dot`](crate::Op::Dot): sums of products as a matrix unit adds them.
//!
//! Floats: the products are exact and form one block with the addend. All terms are aligned to the largest exponent, each is cut toward
//! zero 25 bits below it, and they are added exactly; the sum is cut toward zero (f32) or rounded to nearest even (f16). The
//! exponent of a product is the sum of its factors', so its significand is in [1, 4); a subnormal number has the smallest exponent of a
//! normal one; zeros have none. A sum of 0 is +0, also one that is cut to 0. A NaN, ∞ · 0 or ∞ − ∞ gives the canonical NaN, overflow gives ∞.
//!
//! Integers: exact; the sum is taken modulo 2³², or clamped once at the end.
//!
//! [`Dot::lanes`] is what both the reference evaluator and the interpreter run, for as many lanes at a time as they like.

/// Bits that are kept below the largest exponent of a block.
const BELOW: u32 = 25;

/// The type of a factor. Those narrower than 32 bits are packed, the first in the lowest bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Factor {
    F16,
    Bf16,
    /// In 32 bits, of which the lowest 13 are not looked at.
    Tf32,
    S8,
    U8,
    S4,
    U4,
}

impl Factor {
    /// Every one.
    pub const ALL: [Factor; 7] =
        [Factor::F16, Factor::Bf16, Factor::Tf32, Factor::S8, Factor::U8, Factor::S4, Factor::U4];

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Factor::F16 | Factor::Bf16 | Factor::Tf32)
    }

    /// Bits from one to the next.
    pub const fn bits(self) -> u32 {
        match self {
            Factor::Tf32 => 32,
            Factor::F16 | Factor::Bf16 => 16,
            Factor::S8 | Factor::U8 => 8,
            Factor::S4 | Factor::U4 => 4,
        }
    }
}

/// What the sum is, and so the addend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Sum {
    /// The bits of an f32 in `i32`.
    F32,
    /// The bits of an f16 in `i16`.
    F16,
    /// `i32` modulo 2³².
    Wrapping,
    /// `i32`, signed, clamped.
    Saturating,
}

impl Sum {
    /// Every one.
    pub const ALL: [Sum; 4] = [Sum::F32, Sum::F16, Sum::Wrapping, Sum::Saturating];
}

/// A sum of products: which factors, how many words of each, and what comes out. Factors of both sides are floats of one type, or integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dot {
    /// The factors of one side.
    pub a: Factor,
    /// The factors of the other side.
    pub b: Factor,
    /// Words of each side: 1 to [`Dot::MOST_WORDS`].
    pub words: u8,
    /// What comes out.
    pub sum: Sum,
}

/// How a float is laid out.
#[derive(Clone, Copy)]
struct Format {
    fraction: u32,
    exponent: u32,
    /// Bits below the fraction that do not count.
    below: u32,
}

impl Format {
    const F16: Format = Format { fraction: 10, exponent: 5, below: 0 };
    const BF16: Format = Format { fraction: 7, exponent: 8, below: 0 };
    const TF32: Format = Format { fraction: 10, exponent: 8, below: 13 };
    const F32: Format = Format { fraction: 23, exponent: 8, below: 0 };

    #[inline(always)]
    fn field(self, bits: u32) -> u32 {
        bits >> (self.below + self.fraction) & ((1 << self.exponent) - 1)
    }

    #[inline(always)]
    fn fraction(self, bits: u32) -> u32 {
        bits >> self.below & ((1 << self.fraction) - 1)
    }

    #[inline(always)]
    fn negative(self, bits: u32) -> u32 {
        bits >> (self.below + self.fraction + self.exponent) & 1
    }

    /// All ones: ∞ or NaN.
    #[inline(always)]
    fn is_special(self, bits: u32) -> bool {
        self.field(bits) == (1 << self.exponent) - 1
    }

    #[inline(always)]
    fn significand(self, bits: u32) -> u32 {
        self.fraction(bits) | u32::from(self.field(bits) != 0) << self.fraction
    }

    #[inline(always)]
    fn exponent(self, bits: u32) -> i32 {
        self.field(bits).max(1) as i32 - ((1 << (self.exponent - 1)) - 1)
    }
}

/// Smaller than the exponent of any product.
const NO_EXPONENT: i32 = -1024;
const NAN: u32 = 0x7fff_ffff;
const NAN_16: u32 = 0x7fff;

impl Dot {
    /// The largest number of words of each side.
    pub const MOST_WORDS: usize = 8;

    /// Every valid one of so many words, for tests that must cover all.
    pub fn all(words: impl IntoIterator<Item = u8>) -> impl Iterator<Item = Dot> {
        words.into_iter().flat_map(|words| {
            let of = move |a, b| Sum::ALL.map(|sum| Dot { a, b, words, sum });
            let sides = Factor::ALL.into_iter().flat_map(|a| Factor::ALL.map(|b| (a, b)));
            sides.flat_map(move |(a, b)| of(a, b)).filter(|dot| dot.is_valid())
        })
    }

    /// Whether both sides go together, and with the sum.
    pub fn is_valid(self) -> bool {
        let words = 1..=Dot::MOST_WORDS;
        let fits = match self.sum {
            Sum::F32 => self.a.is_float() && self.a == self.b,
            Sum::F16 => self.a == Factor::F16 && self.a == self.b,
            Sum::Wrapping | Sum::Saturating => {
                !self.a.is_float() && !self.b.is_float() && self.a.bits() == self.b.bits()
            }
        };
        fits && words.contains(&usize::from(self.words))
    }

    /// The sums of many lanes: word `i` of each lane's factors in `a[i]` and `b[i]`, the addends in `c`.
    #[inline(always)]
    pub fn lanes<const N: usize>(self, a: &[[u32; N]], b: &[[u32; N]], c: [u32; N]) -> [u32; N] {
        match self.a {
            Factor::F16 if self.sum == Sum::F16 => floats::<N, true>(Format::F16, 2, a, b, c),
            Factor::F16 => floats::<N, false>(Format::F16, 2, a, b, c),
            Factor::Bf16 => floats::<N, false>(Format::BF16, 2, a, b, c),
            Factor::Tf32 => floats::<N, false>(Format::TF32, 1, a, b, c),
            Factor::S8 | Factor::U8 => self.integers::<N, 8>(a, b, c),
            Factor::S4 | Factor::U4 => self.integers::<N, 4>(a, b, c),
        }
    }

    /// As [`Dot::lanes`], where the factors are known to be integers of so many bits.
    #[inline(always)]
    pub fn integers<const N: usize, const BITS: u32>(
        self,
        a: &[[u32; N]],
        b: &[[u32; N]],
        c: [u32; N],
    ) -> [u32; N] {
        let signed = |factor: Factor| matches!(factor, Factor::S8 | Factor::S4);
        let (a_signed, b_signed) = (signed(self.a), signed(self.b));
        // 64 products of two bytes fit in 32 bits.
        let mut sums = [0i32; N];
        for (a, b) in a.iter().zip(b) {
            for place in 0..32 / BITS {
                for lane in 0..N {
                    let a = element::<BITS>(a[lane], place, a_signed);
                    let b = element::<BITS>(b[lane], place, b_signed);
                    sums[lane] = sums[lane].wrapping_add(a * b);
                }
            }
        }
        let mut result = c;
        for lane in 0..N {
            let (sum, addend) = (sums[lane], c[lane] as i32);
            let saturating = self.sum == Sum::Saturating;
            result[lane] =
                if saturating { sum.saturating_add(addend) } else { sum.wrapping_add(addend) } as u32;
        }
        result
    }
}

/// Element `place` of a word.
#[inline(always)]
fn element<const BITS: u32>(word: u32, place: u32, signed: bool) -> i32 {
    let top = word << (32 - BITS * (place + 1));
    if signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 }
}

/// Sums of products of floats, `per_word` in each word.
#[inline(always)]
fn floats<const N: usize, const HALF: bool>(
    format: Format,
    per_word: u32,
    a: &[[u32; N]],
    b: &[[u32; N]],
    c: [u32; N],
) -> [u32; N] {
    let of_addend = if HALF { Format::F16 } else { Format::F32 };
    let mut special = false;
    let mut largest = [NO_EXPONENT; N];
    let mut exponents = [[NO_EXPONENT; N]; 17];
    let mut terms = [[0u32; N]; 17];
    let mut negative = [[0u32; N]; 17];
    let mut n = 0;
    for (a, b) in a.iter().zip(b) {
        for place in 0..per_word {
            for lane in 0..N {
                let (a, b) = (a[lane] >> (16 * place), b[lane] >> (16 * place));
                special |= format.is_special(a) | format.is_special(b);
                let product = format.significand(a) * format.significand(b);
                let exponent = format.exponent(a) + format.exponent(b);
                let exponent = if product == 0 { NO_EXPONENT } else { exponent };
                terms[n][lane] = product << (BELOW - 2 * format.fraction);
                exponents[n][lane] = exponent;
                negative[n][lane] = format.negative(a) ^ format.negative(b);
                largest[lane] = largest[lane].max(exponent);
            }
            n += 1;
        }
    }
    for lane in 0..N {
        let c = c[lane];
        special |= of_addend.is_special(c);
        let significand = of_addend.significand(c);
        let exponent = if significand == 0 { NO_EXPONENT } else { of_addend.exponent(c) };
        terms[n][lane] = significand << (BELOW - of_addend.fraction);
        exponents[n][lane] = exponent;
        negative[n][lane] = of_addend.negative(c);
        largest[lane] = largest[lane].max(exponent);
    }
    // Of at most 16 products below 4 and an addend below 2: 32 bits hold the sum of either sign.
    let mut plus = [0u32; N];
    let mut minus = [0u32; N];
    for k in 0..=n {
        for lane in 0..N {
            let by = (largest[lane] - exponents[k][lane]) as u32;
            let term = if by < 32 { terms[k][lane] >> (by & 31) } else { 0 };
            let below_zero = negative[k][lane] != 0;
            plus[lane] += if below_zero { 0 } else { term };
            minus[lane] += if below_zero { term } else { 0 };
        }
    }
    let mut result = [0; N];
    for lane in 0..N {
        let sign = u32::from(minus[lane] > plus[lane]);
        let magnitude = plus[lane].abs_diff(minus[lane]);
        let unit = largest[lane] - BELOW as i32;
        result[lane] = if HALF { nearest_half(sign, magnitude, unit) } else { cut(sign, magnitude, unit) };
    }
    if special {
        for lane in 0..N {
            let factors = a.iter().zip(b).flat_map(|(a, b)| {
                (0..per_word).map(move |place| (a[lane] >> (16 * place), b[lane] >> (16 * place)))
            });
            if let Some(bits) = of_specials::<HALF>(format, factors, c[lane]) {
                result[lane] = bits;
            }
        }
    }
    result
}

/// `magnitude` · 2^`unit` as f32, cut toward zero.
#[inline(always)]
fn cut(sign: u32, magnitude: u32, unit: i32) -> u32 {
    if magnitude == 0 {
        return 0;
    }
    let top = 31 - magnitude.leading_zeros() as i32;
    let exponent = unit + top;
    // The significand with its leading one in bit 31.
    let significand = magnitude << (31 - top);
    let bits = if exponent > 127 {
        0x7f80_0000
    } else if exponent >= -126 {
        ((exponent + 126) as u32) * (1 << 23) + (significand >> 8)
    } else {
        let by = 8 + (-126 - exponent) as u32;
        if by < 32 { significand >> by } else { 0 }
    };
    // What is cut to nothing is +0.
    if bits == 0 { 0 } else { sign << 31 | bits }
}

/// `magnitude` · 2^`unit` as f16, rounded to nearest even.
#[inline(always)]
fn nearest_half(sign: u32, magnitude: u32, unit: i32) -> u32 {
    if magnitude == 0 {
        return 0;
    }
    let top = 31 - magnitude.leading_zeros() as i32;
    let exponent = unit + top;
    // The last place that is kept, as an exponent; bits below it are rounded.
    let last = exponent.max(-14) - 10;
    let by = last - unit;
    let kept = if by <= 0 {
        u64::from(magnitude) << -by.max(-31)
    } else if by > 40 {
        0
    } else {
        let wide = u64::from(magnitude);
        let (kept, rest, half) = (wide >> by, wide & ((1 << by) - 1), 1u64 << (by - 1));
        kept + u64::from(rest > half || rest == half && kept & 1 == 1)
    };
    // The leading one counts in the exponent, and so does what rounding carries into it.
    let bits = (((last + 24) as u32) << 10) + kept as u32;
    sign << 15 | if exponent > 15 || bits >= 0x7c00 { 0x7c00 } else { bits }
}

/// The sum, if a NaN or an infinity is among the terms.
fn of_specials<const HALF: bool>(
    format: Format,
    factors: impl Iterator<Item = (u32, u32)>,
    c: u32,
) -> Option<u32> {
    let of_addend = if HALF { Format::F16 } else { Format::F32 };
    let (mut nan, mut infinite) = (false, [false; 2]);
    for (a, b) in factors {
        let specials = [a, b].map(|x| format.is_special(x));
        nan |= (specials[0] && format.fraction(a) != 0) || (specials[1] && format.fraction(b) != 0);
        nan |= (specials[0] && format.significand(b) == 0) || (specials[1] && format.significand(a) == 0);
        infinite[(format.negative(a) ^ format.negative(b)) as usize] |= specials[0] || specials[1];
    }
    if of_addend.is_special(c) {
        nan |= of_addend.fraction(c) != 0;
        infinite[of_addend.negative(c) as usize] = true;
    }
    let (infinity, sign, not_a_number) = if HALF { (0x7c00, 15, NAN_16) } else { (0x7f80_0000, 31, NAN) };
    match (nan, infinite) {
        (true, _) | (_, [true, true]) => Some(not_a_number),
        (_, [true, false]) => Some(infinity),
        (_, [false, true]) => Some(1 << sign | infinity),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f16(a: &[u32], b: &[u32], c: f32) -> f32 {
        let dot = Dot { a: Factor::F16, b: Factor::F16, words: a.len() as u8, sum: Sum::F32 };
        let words = |x: &[u32]| x.iter().map(|w| [*w]).collect::<Vec<_>>();
        f32::from_bits(dot.lanes(&words(a), &words(b), [c.to_bits()])[0])
    }

    #[test]
    fn terms_are_cut_25_bits_below_the_largest() {
        const ONE: u32 = 0x3c00;
        // 1 · 1 + 2⁻²⁴ is more than an f32 holds and cut, 1 · 1 − 2⁻²⁵ is not lost before it is cut.
        assert_eq!(f16(&[ONE], &[ONE], 2f32.powi(-24)), 1.0);
        assert_eq!(f16(&[ONE], &[ONE], -2f32.powi(-25)), 1.0 - 2f32.powi(-24));
        assert_eq!(f16(&[ONE], &[ONE], -2f32.powi(-26)), 1.0);
        // 2⁻²⁴ · 1 of the smallest f16 is kept.
        assert_eq!(f16(&[1], &[ONE], 0.0), 2f32.powi(-24));
    }

    #[test]
    fn what_is_cut_to_nothing_is_plus_zero() {
        let dot = Dot { a: Factor::Tf32, b: Factor::Tf32, words: 1, sum: Sum::F32 };
        let tiny = (-1e-30f32).to_bits();
        assert_eq!(dot.lanes(&[[tiny]], &[[1e-30f32.to_bits()]], [0]), [0]);
    }

    #[test]
    fn specials() {
        const INF: u32 = 0x7c00;
        const ONE: u32 = 0x3c00;
        const NAN_16: u32 = 0x7e00;
        assert!(f16(&[INF], &[0], 0.0).is_nan());
        assert!(f16(&[NAN_16], &[0], 0.0).is_nan());
        assert_eq!(f16(&[INF], &[ONE], 1.0), f32::INFINITY);
        assert!(f16(&[INF], &[ONE], f32::NEG_INFINITY).is_nan());
        assert_eq!(f16(&[0x8000], &[ONE], -0.0).to_bits(), 0);
    }
}
