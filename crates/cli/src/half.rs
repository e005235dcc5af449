//! f16 and bf16, to and from doubles.

/// A float format of 16 bits.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// Bits of the significand that are stored.
    stored: u32,
    /// What an exponent of 0 is stored as.
    bias: i32,
}

/// IEEE's half precision.
pub const F16: Half = Half { stored: 10, bias: 15 };
/// The upper half of an f32.
pub const BF16: Half = Half { stored: 7, bias: 127 };

impl Half {
    /// The nearest one, to even where two are; NaN as the hardware makes it.
    pub fn round(self, value: f64) -> u16 {
        let (bits, largest) = (value.to_bits(), (2 * self.bias as u64 + 1) << self.stored);
        let sign = ((bits >> 63) as u16) << 15;
        if value.is_nan() {
            return sign | 0x7fff;
        }
        let exponent = (bits >> 52 & 0x7ff) as i32 - 1023 + self.bias;
        let fraction = bits & ((1 << 52) - 1);
        let drop = 52 - self.stored;
        // What an exponent below the least one leaves of the significand is shifted out; a carry goes into the exponent.
        let rounded = match exponent {
            1.. => nearest((exponent as u64) << 52 | fraction, drop),
            _ => nearest(1 << 52 | fraction, (drop + 1).saturating_add(exponent.unsigned_abs())),
        };
        sign | rounded.min(largest) as u16
    }

    /// The value, which every double format holds.
    pub fn to_f64(self, bits: u16) -> f64 {
        let (magnitude, sign) = (bits & 0x7fff, if bits >> 15 == 0 { 1.0 } else { -1.0 });
        let exponent = i32::from(magnitude >> self.stored);
        let fraction = f64::from(magnitude & ((1 << self.stored) - 1));
        let (one, least) = (f64::from(1u16 << self.stored), 1 - self.bias - self.stored as i32);
        sign * match exponent {
            0 => fraction * 2f64.powi(least),
            e if e == 2 * self.bias + 1 && fraction == 0.0 => f64::INFINITY,
            e if e == 2 * self.bias + 1 => f64::NAN,
            e => (one + fraction) * 2f64.powi(least + e - 1),
        }
    }
}

/// Drops so many bits, to the nearest, to even where two are.
fn nearest(bits: u64, drop: u32) -> u64 {
    if drop > 54 {
        return 0;
    }
    let (kept, rest, half) = (bits >> drop, bits & ((1 << drop) - 1), 1 << (drop - 1));
    kept + u64::from(rest > half || rest == half && kept & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_and_what_lies_between_goes_to_the_nearer() {
        for (half, infinity) in [(F16, 0x7c00u16), (BF16, 0x7f80)] {
            for low in 0..infinity {
                let high = low + 1;
                let a = half.to_f64(low);
                // The place of the first number that is too large.
                let b = if high == infinity { 2f64.powi(half.bias + 1) } else { half.to_f64(high) };
                let middle = a + (b - a) / 2.0;
                assert!(a < middle && middle < b, "{low:#x}");
                let even = if low % 2 == 0 { low } else { high };
                for (value, want) in
                    [(a, low), (middle, even), (middle.next_down(), low), (middle.next_up(), high)]
                {
                    assert_eq!(half.round(value), want, "{value:e}");
                    assert_eq!(half.round(-value), want | 0x8000, "-{value:e}");
                }
            }
            assert_eq!(half.round(f64::INFINITY), infinity);
            assert_eq!(half.round(f64::MAX), infinity);
            assert_eq!(half.round(f64::MIN_POSITIVE), 0);
            assert_eq!(half.round(f64::NAN) & 0x7fff, 0x7fff);
            assert_eq!(half.to_f64(infinity), f64::INFINITY);
            assert!(half.to_f64(infinity + 1).is_nan());
        }
        assert_eq!((F16.to_f64(0x3c00), F16.to_f64(1)), (1.0, 2f64.powi(-24)));
        assert_eq!(
            (BF16.to_f64(0x3f80), BF16.to_f64(0xff7f)),
            (1.0, -f64::from(f32::from_bits(0x7f7f_0000)))
        );
    }
}
