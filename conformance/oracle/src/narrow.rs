//! cvt to and from floats of 8 bits and fewer and to tf32, and cvt.pack.
//!
//! A narrow format is the list of its numbers, read from its codes one by one; rounding is a search for the nearest.

use crate::float::{FloatType, Format, Round, convert};
use crate::text::{Text, low_mask};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Narrow8 {
    exponent: u32,
    fraction: u32,
    /// What the largest codes stand for.
    specials: Specials,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Specials {
    None,
    /// All ones is NaN.
    Nan,
    /// As IEEE has it.
    InfinityAndNan,
}

const FORMATS: &[(&str, Option<Narrow8>)] = &[
    ("e4m3x2", Some(Narrow8 { exponent: 4, fraction: 3, specials: Specials::Nan })),
    ("e5m2x2", Some(Narrow8 { exponent: 5, fraction: 2, specials: Specials::InfinityAndNan })),
    ("e2m3x2", Some(Narrow8 { exponent: 2, fraction: 3, specials: Specials::None })),
    ("e3m2x2", Some(Narrow8 { exponent: 3, fraction: 2, specials: Specials::None })),
    ("e2m1x2", Some(Narrow8 { exponent: 2, fraction: 1, specials: Specials::None })),
    ("ue8m0x2", None),
];

impl Narrow8 {
    /// Bits of a number beside its sign.
    fn bits(self) -> u32 {
        self.exponent + self.fraction
    }

    /// What a code without its sign stands for.
    fn value(self, code: u64) -> f64 {
        let (exponent, fraction) = (code >> self.fraction, code & low_mask(self.fraction));
        let top = exponent == low_mask(self.exponent);
        match self.specials {
            Specials::Nan if code == low_mask(self.bits()) => return f64::NAN,
            Specials::InfinityAndNan if top && fraction == 0 => return f64::INFINITY,
            Specials::InfinityAndNan if top => return f64::NAN,
            _ => {}
        }
        let bias = low_mask(self.exponent - 1) as i32;
        let part = fraction as f64 / f64::from(1 << self.fraction);
        match exponent {
            0 => part * 2f64.powi(1 - bias),
            e => (1.0 + part) * 2f64.powi(e as i32 - bias),
        }
    }

    /// The nearest finite number, the even code if two are as near.
    fn nearest(self, magnitude: f64) -> u64 {
        let codes = (0..1 << self.bits()).filter(|c| self.value(*c).is_finite());
        let distance = |code: u64| (self.value(code) - magnitude).abs();
        codes
            .reduce(|best, code| match distance(code).total_cmp(&distance(best)) {
                std::cmp::Ordering::Less => code,
                std::cmp::Ordering::Equal if code % 2 == 0 => code,
                _ => best,
            })
            .unwrap_or(0)
    }

    fn largest(self) -> u64 {
        self.nearest(FAR)
    }
}

/// Beyond all narrow numbers, and near enough for distances to be exact.
const FAR: f64 = 1e6;

/// The largest finite bf16, which is where infinity goes with `.satfinite`; no narrow number is as large.
const SATFINITE: f64 = 3.389_531_389_251_535_5e38;

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A pair in fixed point, from floats or to bfloats.
    ToFixed(FloatType),
    FromFixed,
    /// Two f32 to halves or bfloats, with so many random bits for each.
    Random(Format, u32),
    /// Two f32, or the halves of one operand, to a pair.
    To {
        format: Option<Narrow8>,
        from: FloatType,
    },
    From {
        format: Option<Narrow8>,
        to: Format,
    },
    Tf32,
    /// Bits of each, and whether they have a sign.
    Pack {
        bits: u32,
        signed: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Nearest,
    Away,
    Zero,
    Up,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Narrow {
    kind: Kind,
    round: Rounding,
    relu: bool,
    satfinite: bool,
    /// The last operand has two exponents.
    scaled: bool,
}

/// The power of two that a byte stands for.
fn power_of(code: u64) -> f64 {
    if code == 0xff { f64::NAN } else { 2f64.powi(code as i32 - 127) }
}

/// 1 where the part of the way from one number to the next and so many random bits make a whole; of that part as many bits count.
fn away(v: f64, (low, high): (f64, f64), (random, count): (u64, u32)) -> u64 {
    let part = (v - low) / (high - low) * 2f64.powi(count as i32);
    u64::from(part.floor() as u64 + random >= 1 << count)
}

/// Four f32 as narrow numbers of a type, `a` first: what `cvt.rs` makes of them, by the figures of the manual and what has been published of GPUs.
#[must_use]
pub fn randomly(name: &str, relu: bool, [a, b, e, f]: [u32; 4], rbits: u32) -> u32 {
    let pairs = format!("{}x2", name.trim_end_matches("x4"));
    let (_, format) = FORMATS.iter().find(|(n, _)| *n == pairs).expect("a narrow type");
    let format = format.expect("one with a sign");
    let bytes: [u8; 4] = rbits.to_le_bytes();
    let (of_b, of_f) = match format.bits() {
        3 => ([bytes[1], bytes[3]], [bytes[0], bytes[2]]),
        _ => ([bytes[2], bytes[3]], [bytes[0], bytes[1]]),
    };
    let [of_b, of_f] = [of_b, of_f].map(u16::from_le_bytes);
    let width = (format.bits() + 1).next_power_of_two();
    let numbers = [(a, of_b.reverse_bits()), (b, of_b), (e, of_f.reverse_bits()), (f, of_f)];
    numbers.into_iter().fold(0, |d, (number, random)| {
        let v = f32::from_bits(number);
        let largest = format.largest();
        let code = if v.is_nan() {
            if format.specials == Specials::None { largest } else { low_mask(format.bits()) }
        } else if relu && v.is_sign_negative() {
            0
        } else {
            let magnitude = f64::from(v).abs().min(format.value(largest));
            let low = (0..=largest).rev().find(|code| format.value(*code) <= magnitude).expect("0 is");
            let up = match low == largest {
                true => 0,
                false => away(magnitude, (format.value(low), format.value(low + 1)), (random.into(), 16)),
            };
            (low + up) | (u64::from(v.is_sign_negative()) << format.bits())
        };
        d << width | code as u32
    })
}

impl Narrow {
    pub fn knows(text: &Text) -> bool {
        text.mods.has_any(FORMATS)
            || text.mods.has_any(&[("tf32", ()), ("pack", ()), ("s2f6x2", ()), ("rs", ())])
    }

    pub fn parse(text: &mut Text) -> Result<(Narrow, Vec<crate::Input>), String> {
        if text.mods.take("pack") {
            return Narrow::parse_pack(text);
        }
        let single = FloatType { format: Format::F32, lanes: 1 };
        let halves = |format| FloatType { format, lanes: 2 };
        let wide = [("f32", single), ("f16x2", halves(Format::F16)), ("bf16x2", halves(Format::Bf16))];
        let first = wide.iter().filter_map(|(name, _)| text.mods.position(name)).min();
        let fixed_at = text.mods.position("s2f6x2");
        let narrow_at = FORMATS.iter().filter_map(|(name, _)| text.mods.position(name)).min();
        let format = text.mods.choice(FORMATS);
        let tf32 = text.mods.take("tf32");
        let fixed = text.mods.take("s2f6x2");
        let scaled = text.mods.take("scaled::n2::ue8m0");
        if text.mods.take("rs") {
            let (relu, satfinite) = (text.mods.take("relu"), text.mods.take("satfinite"));
            let to = match () {
                () if text.mods.take("bf16x2") => (Format::Bf16, 16),
                () if text.mods.take("f16x2") => (Format::F16, 13),
                () => return Err("of .rs only pairs are known; `randomly` has the others".into()),
            };
            if !text.mods.take("f32") {
                return Err(".rs is from f32".into());
            }
            text.plain_operands(3)?;
            let inputs = text.float_inputs(single, 2)?;
            let inputs = inputs.into_iter().chain([crate::Input::Source]).collect();
            return Ok((
                Narrow { kind: Kind::Random(to.0, to.1), round: Rounding::Zero, relu, satfinite, scaled },
                inputs,
            ));
        }
        let other = text.mods.required("the other type", &wide)?;
        let kind = match format {
            _ if tf32 => Kind::Tf32,
            _ if fixed && fixed_at < first => Kind::ToFixed(other),
            _ if fixed => Kind::FromFixed,
            Some(format) if narrow_at < first => Kind::To { format, from: other },
            Some(format) => Kind::From { format, to: other.format },
            None => return Err("no narrow type".into()),
        };
        let round = text.mods.required(
            "the rounding",
            &[
                ("rn", Rounding::Nearest),
                ("rna", Rounding::Away),
                ("rz", Rounding::Zero),
                ("rp", Rounding::Up),
            ],
        )?;
        let (relu, satfinite) = (text.mods.take("relu"), text.mods.take("satfinite"));
        let two = matches!(kind, Kind::To { from, .. } | Kind::ToFixed(from) if from == single);
        let numbers = if two { 2 } else { 1 };
        text.plain_operands(numbers + usize::from(scaled))?;
        let mut inputs = match kind {
            Kind::From { .. } | Kind::FromFixed => text.int_inputs(&[16])?,
            _ => text.float_inputs(other, numbers)?,
        };
        inputs.truncate(numbers);
        inputs.extend(scaled.then_some(crate::Input::Source));
        Ok((Narrow { kind, round, relu, satfinite, scaled }, inputs))
    }

    fn parse_pack(text: &mut Text) -> Result<(Narrow, Vec<crate::Input>), String> {
        let names = ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"];
        let table = names.map(|n| (n, (n[1..].parse::<u32>().expect("a width"), n.starts_with('s'))));
        let (bits, signed) = text.mods.required("the type", &table)?;
        let rest = text.mods.take("sat") && text.mods.take("s32") && (bits == 16 || text.mods.take("b32"));
        if !rest {
            return Err("cvt.pack needs .sat, .s32 and below 16 bits .b32".into());
        }
        text.plain_operands(if bits == 16 { 2 } else { 3 })?;
        let kind = Kind::Pack { bits, signed };
        Ok((
            Narrow { kind, round: Rounding::Zero, relu: false, satfinite: true, scaled: false },
            text.int_inputs(&[32; 3])?,
        ))
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        match self.kind {
            Kind::Pack { bits, signed } => {
                let (low, high) = if signed {
                    (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
                } else {
                    (0, (1 << bits) - 1)
                };
                let clamp = |v: u64| i64::from(v as u32 as i32).clamp(low, high) as u64 & low_mask(bits);
                (clamp(b) | clamp(a) << bits | if bits == 16 { 0 } else { c << (2 * bits) }) & low_mask(32)
            }
            Kind::Tf32 => self.tf32(a as u32).into(),
            Kind::Random(format, count) => {
                let part = |v: u64, bits: u64| self.random(v as u32, bits & low_mask(count), (format, count));
                part(a, c >> 16) << 16 | part(b, c)
            }
            Kind::ToFixed(from) => {
                let (high, low, scale) = match from.lanes {
                    1 => (a, b, c),
                    _ => (a >> 16, a & 0xffff, b),
                };
                let code = |v: u64, scale: u64| {
                    let v =
                        f64::from_bits(convert(from.format, Format::F64, v, Round::NearestTiesToEven, false));
                    let v = if self.scaled { v / power_of(scale & 0xff) } else { v };
                    let least = if self.relu { 0.0 } else { -2.0 };
                    // The positive maximum stands for NaN.
                    let v = if v.is_nan() { 2.0 } else { v.max(least) };
                    (v * 64.0).round_ties_even().min(127.0) as i64 as u64 & 0xff
                };
                code(high, scale >> 8) << 8 | code(low, scale)
            }
            Kind::FromFixed => {
                let wide = |code: u64, scale: u64| {
                    self.wide(f64::from(code as u8 as i8) / 64.0, scale, Format::Bf16)
                };
                wide(a >> 8, b >> 8) << 16 | wide(a, b)
            }
            Kind::To { format, from } => {
                let width = from.format.width();
                let (high, low) = if from.lanes == 1 { (a, b) } else { (a >> width, a & low_mask(width)) };
                let [high, low] = [high, low].map(|v| {
                    let v = convert(from.format, Format::F64, v, Round::NearestTiesToEven, false);
                    self.code(format, f64::from_bits(v))
                });
                let half = format.map_or(8, |f| (f.bits() + 1).next_power_of_two());
                high << half | low
            }
            Kind::From { format, to } => {
                let half = format.map_or(8, |f| (f.bits() + 1).next_power_of_two());
                let wide = |code: u64, scale: u64| {
                    let value = match format {
                        None => power_of(code),
                        Some(f) => {
                            let value = f.value(code & low_mask(f.bits()));
                            if code >> f.bits() & 1 == 1 { -value } else { value }
                        }
                    };
                    self.wide(value, scale, to)
                };
                wide(a >> half & low_mask(half), b >> 8) << 16 | wide(a & low_mask(half), b)
            }
        }
    }

    /// A number times its scale.
    fn wide(&self, value: f64, scale: u64, to: Format) -> u64 {
        let value = if self.scaled { value * power_of(scale & 0xff) } else { value };
        if value.is_nan() {
            return to.canonical_nan();
        }
        let value = if self.satfinite { value.clamp(-SATFINITE, SATFINITE) } else { value };
        let bits = convert(Format::F64, to, value.to_bits(), Round::NearestTiesToEven, false);
        if self.relu { to.relu(bits) } else { bits }
    }

    /// A half or bfloat next to an f32: the one away from zero if what is cut and the random bits make a whole.
    fn random(&self, a: u32, random: u64, (format, count): (Format, u32)) -> u64 {
        let v = f32::from_bits(a);
        if v.is_nan() {
            return format.canonical_nan();
        }
        if self.relu && v.is_sign_negative() {
            return 0;
        }
        let kept = convert(Format::F32, format, a.into(), Round::TowardZero, false);
        let value = |code: u64| {
            f64::from_bits(convert(format, Format::F64, code, Round::NearestTiesToEven, false)).abs()
        };
        let infinity = if format == Format::F16 { 0x7c00 } else { 0x7f80 };
        let magnitude = kept & 0x7fff;
        // What is beyond the largest number is as far behind it as the next one would be.
        let beyond =
            f64::from(v).abs() >= 2.0 * value(magnitude) - value(magnitude - u64::from(magnitude > 0));
        let rounded = match magnitude {
            _ if beyond && magnitude + 1 >= infinity => infinity,
            _ if magnitude == infinity => infinity,
            _ => {
                let low = value(magnitude);
                let high = if magnitude + 1 == infinity {
                    low + (low - value(magnitude - 1))
                } else {
                    value(magnitude + 1)
                };
                magnitude + away(f64::from(v).abs(), (low, high), (random, count))
            }
        };
        let rounded = rounded - u64::from(rounded == infinity && self.satfinite);
        rounded | kept & 0x8000
    }

    fn code(&self, format: Option<Narrow8>, v: f64) -> u64 {
        let Some(format) = format else { return self.power(v.abs()) };
        if v.is_nan() {
            return match format.specials {
                Specials::None => format.largest(),
                _ => low_mask(format.bits()),
            };
        }
        let code = format.nearest(v.abs().min(FAR));
        match v.is_sign_negative() {
            true if self.relu => 0,
            negative => u64::from(negative) << format.bits() | code,
        }
    }

    /// The power of two next to a magnitude.
    fn power(&self, v: f64) -> u64 {
        if v.is_nan() {
            return 0xff;
        }
        let up = self.round == Rounding::Up;
        let fits = |code: &u64| {
            let power = 2f64.powi(*code as i32 - 127);
            if up { power >= v } else { power <= v }
        };
        let code = if up { (0..0xff).find(fits) } else { (0..0xff).rev().find(fits).or(Some(0)) };
        match code {
            Some(code) if v.is_finite() => code,
            _ if self.satfinite => 0xfe,
            _ => 0xff,
        }
    }

    /// Choices: `.rna` treats NaN as the assembler's code does.
    fn tf32(&self, a: u32) -> u32 {
        let (sign, magnitude) = (a & 1 << 31, a & !(1 << 31));
        let infinity = 0x7f80_0000;
        let below = magnitude & !0x1fff;
        let dropped = magnitude & 0x1fff;
        let odd = below >> 13 & 1 == 1;
        let up = match self.round {
            Rounding::Nearest => dropped > 0x1000 || dropped == 0x1000 && odd,
            Rounding::Away => dropped >= 0x1000,
            _ => false,
        };
        if self.round == Rounding::Away {
            let rounded = if magnitude < infinity && up { below + 0x2000 } else { below };
            let finite = rounded < infinity || !self.satfinite;
            return sign | if finite { rounded } else { rounded - 0x2000 };
        }
        if magnitude > infinity {
            return 0x7fff_e000;
        }
        if self.relu && sign != 0 {
            return 0;
        }
        let rounded = if up { below + 0x2000 } else { below };
        sign | if self.satfinite { rounded.min(0x7f7f_e000) } else { rounded }
    }
}
