//! A second computation of float arithmetic, in integers only, to check the oracle's software floats.
//!
//! A finite value is `mag * 2^exp`; product and sum are exact, or exact but for a last bit that stands
//! for everything below it and lies far under any rounding position.

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

pub const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

#[derive(Debug, Clone, Copy)]
pub struct Format {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    pub nan: u64,
}

pub const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, nan: 0x7fff };
pub const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, nan: 0x7fff };
pub const F64: Format = Format { exponent_bits: 11, fraction_bits: 52, nan: 0 };
pub const F32: Format = Format { exponent_bits: 8, fraction_bits: 23, nan: 0x7fff_ffff };

enum Value {
    Nan,
    Infinite { negative: bool },
    Finite(Finite),
}

#[derive(Clone, Copy)]
struct Finite {
    negative: bool,
    mag: u128,
    exp: i32,
}

impl Format {
    fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The exponent of the last place of a subnormal number.
    fn least_exp(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.fraction_bits as i32
    }

    fn decode(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & !self.sign();
        if magnitude > self.infinity() {
            return Value::Nan;
        }
        if magnitude == self.infinity() {
            return Value::Infinite { negative };
        }
        let fraction = u128::from(magnitude & ((1 << self.fraction_bits) - 1));
        let field = (magnitude >> self.fraction_bits) as i32;
        let (mag, exp) = if field == 0 {
            (fraction, self.least_exp())
        } else {
            (fraction | 1 << self.fraction_bits, self.least_exp() + field - 1)
        };
        Value::Finite(Finite { negative, mag, exp })
    }

    /// a * b + c, rounded once.
    pub fn fma(self, [a, b, c]: [u64; 3], rounding: Rounding, ftz: bool) -> u64 {
        let flush = |x: u64| if ftz && x & self.infinity() == 0 { x & self.sign() } else { x };
        let sum = match (self.decode(flush(a)), self.decode(flush(b)), self.decode(flush(c))) {
            (Value::Finite(a), Value::Finite(b), Value::Finite(c)) => {
                let product =
                    Finite { negative: a.negative ^ b.negative, mag: a.mag * b.mag, exp: a.exp + b.exp };
                add(product, c, rounding)
            }
            (Value::Nan, _, _) | (_, Value::Nan, _) | (_, _, Value::Nan) => return self.nan,
            (Value::Finite(_), Value::Finite(_), Value::Infinite { negative }) => {
                return self.infinity() | if negative { self.sign() } else { 0 };
            }
            (a, b, c) => {
                let negative = match (a, b) {
                    (Value::Finite(f), Value::Infinite { .. }) if f.mag == 0 => return self.nan,
                    (Value::Infinite { .. }, Value::Finite(f)) if f.mag == 0 => return self.nan,
                    (a, b) => a.negative() ^ b.negative(),
                };
                match c {
                    Value::Infinite { negative: other } if other != negative => return self.nan,
                    _ => return self.infinity() | if negative { self.sign() } else { 0 },
                }
            }
        };
        self.round(sum, rounding, ftz)
    }

    /// The value in another format; `None` for NaN.
    pub fn convert(self, to: Format, bits: u64, rounding: Rounding, ftz: bool) -> Option<u64> {
        match self.decode(bits) {
            Value::Nan => None,
            Value::Infinite { negative: false } => Some(to.infinity()),
            Value::Infinite { negative: true } => Some(to.infinity() | to.sign()),
            Value::Finite(value) => Some(to.round(value, rounding, ftz)),
        }
    }

    /// An integer in this format.
    pub fn of_integer(self, value: i128, rounding: Rounding) -> u64 {
        let value = Finite { negative: value < 0, mag: value.unsigned_abs(), exp: 0 };
        self.round(value, rounding, false)
    }

    /// The value as an integer between `min` and `max`; `None` for NaN.
    pub fn integer(self, bits: u64, rounding: Rounding, (min, max): (i128, i128)) -> Option<i128> {
        let (negative, mag) = match self.decode(bits) {
            Value::Nan => return None,
            Value::Finite(value) if value.exp <= 60 => (value.negative, rounded(value, 0, rounding)),
            Value::Finite(Finite { negative, mag: 0, .. }) => (negative, 0),
            // Far more than 64 bits.
            Value::Finite(Finite { negative, .. }) | Value::Infinite { negative } => (negative, 1 << 100),
        };
        let value = if negative { -(mag as i128) } else { mag as i128 };
        Some(value.clamp(min, max))
    }

    fn round(self, value: Finite, rounding: Rounding, ftz: bool) -> u64 {
        let sign = if value.negative { self.sign() } else { 0 };
        if value.mag == 0 {
            return sign;
        }
        let precision = self.fraction_bits as i32 + 1;
        let length = 128 - value.mag.leading_zeros() as i32;
        let unbounded_exp = value.exp + length - precision;
        if ftz {
            // Tiny after rounding with the format's precision but no least exponent?
            let mag = rounded(value, unbounded_exp, rounding);
            let length = 128 - mag.leading_zeros() as i32;
            if unbounded_exp + length < self.least_exp() + precision {
                return sign;
            }
        }
        let exp = unbounded_exp.max(self.least_exp());
        let mag = rounded(value, exp, rounding) as u64;
        // A subnormal's field is 0; the hidden bit of a normal number, and a carry out of rounding,
        // add one to the field by themselves.
        let bits = ((exp - self.least_exp()) as u64) << self.fraction_bits;
        let bits = bits + mag;
        if bits >= self.infinity() {
            let away = match rounding {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Down => value.negative,
                Rounding::Up => !value.negative,
            };
            return sign | if away { self.infinity() } else { self.infinity() - 1 };
        }
        sign | bits
    }
}

impl Value {
    fn negative(&self) -> bool {
        match self {
            Value::Nan => false,
            Value::Infinite { negative } => *negative,
            Value::Finite(f) => f.negative,
        }
    }
}

fn add(a: Finite, b: Finite, rounding: Rounding) -> Finite {
    if a.mag == 0 && b.mag == 0 {
        let negative = if a.negative == b.negative { a.negative } else { rounding == Rounding::Down };
        return Finite { negative, mag: 0, exp: 0 };
    }
    if a.mag == 0 {
        return b;
    }
    if b.mag == 0 {
        return a;
    }
    let (high, low) = if a.exp >= b.exp { (a, b) } else { (b, a) };
    let room = high.mag.leading_zeros() as i32 - 2;
    let gap = high.exp - low.exp;
    let shift = gap.min(room);
    let high_mag = (high.mag << shift) as i128;
    // What falls below the last place is noted in it.
    let lost = (gap - shift).min(127);
    let low_mag = (low.mag >> lost | u128::from(low.mag & ((1 << lost) - 1) != 0)) as i128;
    let signed = |mag: i128, negative: bool| if negative { -mag } else { mag };
    let sum = signed(high_mag, high.negative) + signed(low_mag, low.negative);
    let negative = if sum == 0 { rounding == Rounding::Down } else { sum < 0 };
    Finite { negative, mag: sum.unsigned_abs(), exp: high.exp - shift }
}

/// The magnitude in units of 2^exp, rounded.
fn rounded(value: Finite, exp: i32, rounding: Rounding) -> u128 {
    let drop = exp - value.exp;
    if drop <= 0 {
        return value.mag << -drop;
    }
    let (kept, above_half, half, inexact) = if drop >= 128 {
        (0, false, false, value.mag != 0)
    } else {
        let rest = value.mag & ((1 << drop) - 1);
        let half = 1 << (drop - 1);
        (value.mag >> drop, rest > half, rest == half, rest != 0)
    };
    let up = match rounding {
        Rounding::Nearest => above_half || half && kept & 1 == 1,
        Rounding::Zero => false,
        Rounding::Down => inexact && value.negative,
        Rounding::Up => inexact && !value.negative,
    };
    kept + u128::from(up)
}

/// A small generator of random bits (splitmix64), so that failures repeat.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
