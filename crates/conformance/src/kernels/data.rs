//! What buffers are filled with: any element can be had by its index alone.

use std::fmt;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random words of one element.
struct Random(u64);

impl Random {
    fn new(seed: u64, index: u64) -> Random {
        Random(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(mix(index.wrapping_add(1))))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Less than `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A format of floats: bits of the fraction and of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Float {
    fraction: u32,
    exponent: u32,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    text: String,
    /// Bytes of an element.
    pub size: usize,
    draw: Draw,
}

#[derive(Clone, Debug, PartialEq)]
enum Draw {
    /// Any bits: `b32`.
    Bits,
    /// From the first to the last: `s32(-5,5)`.
    Integers(i64, i64),
    /// Evenly between two values: `f32(-4,4)`.
    Between(Float, f64, f64),
    /// What functions of the math library are tried with: `f32.wide`.
    Wide(Float, Vec<u64>),
    /// What the second argument of `ldexp` is tried with: `s32.wide`.
    WideIntegers,
    /// Its own index: `index32`.
    Index,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn float(name: &str) -> Option<Float> {
    let (fraction, exponent) = match name {
        "f16" => (10, 5),
        "bf16" => (7, 8),
        "f32" => (23, 8),
        "f64" => (52, 11),
        _ => return None,
    };
    Some(Float { fraction, exponent })
}

impl Kind {
    /// From its text.
    pub fn parse(text: &str) -> Result<Kind, String> {
        let wrong = || format!("`{text}` is no kind of element");
        let (head, range) = match text.split_once('(') {
            Some((head, rest)) => {
                let (low, high) = rest.strip_suffix(')').and_then(|r| r.split_once(',')).ok_or_else(wrong)?;
                (head, Some((low, high)))
            }
            None => (text, None),
        };
        let (name, wide) = head.strip_suffix(".wide").map_or((head, false), |n| (n, true));
        let bits: u32 = name.trim_start_matches(|c: char| c.is_alphabetic()).parse().map_err(|_| wrong())?;
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(wrong());
        }
        let draw = match (letters, wide, range) {
            ("b", false, None) => Draw::Bits,
            ("index", false, None) => Draw::Index,
            ("s", true, None) => Draw::WideIntegers,
            ("u" | "s", false, Some((low, high))) => {
                Draw::Integers(low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?)
            }
            ("f" | "bf", true, None) => {
                let float = float(name).ok_or_else(wrong)?;
                Draw::Wide(float, float.edges())
            }
            ("f" | "bf", false, range) => {
                let (low, high) = range.unwrap_or(("-4", "4"));
                let (low, high) = (low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?);
                Draw::Between(float(name).ok_or_else(wrong)?, low, high)
            }
            _ => return Err(wrong()),
        };
        Ok(Kind { text: text.into(), size: bits as usize / 8, draw })
    }

    /// The bits of an element.
    pub fn element(&self, seed: u64, index: u64) -> u64 {
        let mut random = Random::new(seed, index);
        match &self.draw {
            Draw::Bits => random.next(),
            Draw::Index => index,
            Draw::Integers(low, high) => {
                let span = high.wrapping_sub(*low).wrapping_add(1) as u64;
                low.wrapping_add(random.below(span) as i64) as u64
            }
            Draw::Between(float, low, high) => {
                // 2^24 steps: every value is exact in f32, and rounded once for what is narrower.
                let part = random.below(1 << 24) as f64 / (1 << 24) as f64;
                float.bits(low + (high - low) * part)
            }
            Draw::Wide(float, edges) => float.wide(edges, &mut random, seed, index),
            Draw::WideIntegers => match random.below(8) {
                0 => random.next(),
                1 => random.pick(&[0, 1, -1, i64::from(i32::MAX), i64::from(i32::MIN), 2200, -2200]) as u64,
                2 | 3 => (random.below(4400) as i64 - 2200) as u64,
                _ => (random.below(320) as i64 - 160) as u64,
            },
        }
    }

    /// So many elements from the one at `from` on, as bytes.
    pub fn fill(&self, seed: u64, from: usize, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count * self.size);
        for i in from..from + count {
            bytes.extend(&self.element(seed, i as u64).to_le_bytes()[..self.size]);
        }
        bytes
    }
}

impl Float {
    fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// Of a value, cut off to this format. Below its normal values it is 0.
    fn bits(self, value: f64) -> u64 {
        let (bits, bias) = (value.to_bits(), (1i64 << (self.exponent - 1)) - 1);
        if self.fraction == 52 {
            return bits;
        }
        let exponent = (bits >> 52 & 0x7ff) as i64 - 1023 + bias;
        let sign = (bits >> 63) << (self.fraction + self.exponent);
        match exponent {
            ..1 => sign,
            _ if exponent >= (1 << self.exponent) - 1 => sign | self.infinity(),
            _ => sign | (exponent as u64) << self.fraction | (bits & ((1 << 52) - 1)) >> (52 - self.fraction),
        }
    }

    /// With an exponent (not biased) and anything for sign and fraction.
    fn with(self, random: &mut Random, exponent: i64) -> u64 {
        let bias = (1i64 << (self.exponent - 1)) - 1;
        let field = (exponent + bias).clamp(0, (1 << self.exponent) - 2) as u64;
        let any = random.next();
        any & (self.sign() | ((1 << self.fraction) - 1)) | field << self.fraction
    }

    /// What must be right at the edges.
    fn edges(self) -> Vec<u64> {
        let one = self.bits(1.0);
        let mut positive = vec![
            0,
            1,
            2,
            (1 << self.fraction) - 1,
            1 << self.fraction,
            (1 << self.fraction) + 1,
            self.infinity() - 1,
            self.infinity(),
            self.infinity() | 1,
            self.infinity() | 1 << (self.fraction - 1),
            self.infinity() | ((1 << self.fraction) - 1),
            one - 1,
            one,
            one + 1,
        ];
        let values =
            [0.5, 1.5, 2.0, 2.5, 3.0, 4.0, 0.25, 10.0, 100.0, 88.75, 127.0, 128.0, 150.0, 709.75, 1024.0];
        positive.extend(values.map(|v| self.bits(v)));
        let constants = {
            use std::f64::consts::*;
            [PI, FRAC_PI_2, FRAC_PI_4, E, LN_2, SQRT_2, TAU, 1.0 / 3.0]
        };
        positive.extend(constants.map(|v| self.bits(v)));
        positive.iter().flat_map(|p| [*p, p | self.sign()]).collect()
    }

    /// Edges with each other first, then a mixture: anything, halves, values around 1, magnitudes where functions are interesting, large ones for the reduction of angles, subnormals.
    fn wide(self, edges: &[u64], random: &mut Random, seed: u64, index: u64) -> u64 {
        let n = edges.len() as u64;
        // The argument's number is in the low bits of the seed: pairs of edges come in every combination.
        let which = if seed & 7 == 0 { index % n } else { index / n % n };
        if index < n * n {
            return if seed & 7 < 2 { edges[which as usize] } else { random.pick(edges) };
        }
        let largest = (1i64 << (self.exponent - 1)) - 1;
        match random.below(16) {
            0 | 1 => random.next(),
            2 => random.pick(edges),
            3 => self.bits((random.below(257) as f64 - 128.0) / 2.0),
            4 | 5 => {
                // Around 1, and around 1/2 to 2.
                let near = 2f64.powi(-(random.below(30) as i32));
                let value = 1.0 + near * (random.below(1 << 20) as f64 / (1 << 19) as f64 - 1.0);
                self.bits(if random.below(2) == 0 { value } else { -value })
            }
            6..=8 => {
                let exponent = random.below(16) as i64 - 11;
                self.with(random, exponent)
            }
            9 | 10 => {
                let exponent = random.below(5) as i64;
                self.with(random, exponent)
            }
            11 => {
                // As far as exp and its like go.
                let end = if self.exponent == 8 { 110.0 } else { 760.0 };
                self.bits(end * (random.next() as f64 / (1u64 << 63) as f64 - 1.0))
            }
            12 => {
                let exponent = 5 + random.below(largest as u64 - 5) as i64;
                self.with(random, exponent)
            }
            13 => {
                let exponent = -(random.below(largest as u64) as i64);
                self.with(random, exponent)
            }
            14 => random.next() & (self.sign() | ((1 << self.fraction) - 1)) >> random.below(8),
            _ => {
                let exponent = random.below(60) as i64 - 30;
                self.with(random, exponent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording is about these elements: they must never change.
    #[test]
    fn elements_are_what_they_were() {
        let sum = |kind: &str| {
            let bytes = Kind::parse(kind).unwrap().fill(1, 0, 5000);
            bytes.iter().fold(0u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
        };
        for (kind, want) in [
            ("b8", 0x02cb_5632_c5ae_1ace),
            ("b64", 0xd876_450f_080b_e791),
            ("s32(-5,5)", 0x49da_9ebd_c31b_21c0),
            ("u16(0,9)", 0x8879_c2f2_0225_fd42),
            ("f16", 0x2d3d_4d8e_d3b3_ae23),
            ("bf16(0,1)", 0x7591_e2d3_4c46_ab62),
            ("f32", 0x8f80_8e22_6a96_0a0f),
            ("f64(-1,1)", 0xd0a6_d089_15fc_b568),
            ("f32.wide", 0xa35c_a812_bb28_2b30),
            ("f64.wide", 0x0308_c528_2d9b_c800),
            ("s32.wide", 0xec64_f1eb_ea82_10f9),
            ("index32", 0xdaa7_1191_9964_b190),
        ] {
            assert_eq!(sum(kind), want, "{kind}");
        }
    }

    #[test]
    fn ranges_hold() {
        let kind = Kind::parse("s32(-5,5)").unwrap();
        let all: Vec<i32> = (0..1000).map(|i| kind.element(3, i) as i32).collect();
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&-5), Some(&5)));
        let kind = Kind::parse("f32(0,2)").unwrap();
        assert!((0..1000).all(|i| (0.0..2.0).contains(&f32::from_bits(kind.element(3, i) as u32))));
        assert!(
            Kind::parse("f24").is_err() && Kind::parse("s32(1)").is_err() && Kind::parse("f32.tall").is_err()
        );
    }
}
