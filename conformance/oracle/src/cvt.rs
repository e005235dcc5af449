//! cvt among the integer types and f16, bf16, f32, f64, and from two f32 to f16x2 or bf16x2.

use crate::float::{
    FLOAT_TYPES, FloatType, Format, Round, convert, from_integer, round_to_integral, take_rounding,
    to_integer,
};
use crate::integer::IntType;
use crate::text::Text;

#[derive(Debug, Clone, Copy)]
enum Type {
    Int(IntType),
    Float(FloatType),
}

impl Type {
    fn take(text: &mut Text) -> Result<Type, String> {
        // The first type in the text is the destination's, whichever kind it is.
        let ints: Vec<_> = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
            .iter()
            .map(|name| {
                let bits = name[1..].parse().expect("a width");
                (*name, Type::Int(IntType { bits, signed: name.starts_with('s'), lanes: 1 }))
            })
            .collect();
        let floats = FLOAT_TYPES.iter().map(|(name, ty)| (*name, Type::Float(*ty)));
        let table: Vec<_> = ints.into_iter().chain(floats).collect();
        text.mods.required("a type", &table)
    }
}

#[derive(Debug, Clone, Copy)]
enum Conversion {
    Integers { from: IntType, to: IntType },
    ToFloat { from: IntType, to: Format, round: Round },
    ToInteger { from: Format, to: IntType, round: Round },
    Integral { format: Format, round: Round },
    Floats { from: Format, to: Format, round: Round },
}

/// cvt
#[derive(Debug, Clone)]
pub(crate) struct Cvt {
    conversion: Conversion,
    ftz: bool,
    sat: bool,
    relu: bool,
    satfinite: bool,
    /// Two operands go to the upper and the lower half of the destination.
    pack: bool,
}

impl Cvt {
    pub fn parse(text: &mut Text) -> Result<(Cvt, Vec<crate::Input>), String> {
        let to = Type::take(text)?;
        let from = Type::take(text)?;
        let mods = &mut text.mods;
        let to_integral = mods.choice(&[
            ("rni", Round::NearestTiesToEven),
            ("rzi", Round::TowardZero),
            ("rmi", Round::TowardNegative),
            ("rpi", Round::TowardPositive),
        ]);
        let round = take_rounding(mods);
        let mut pack = false;
        let conversion = match (from, to, to_integral, round) {
            (Type::Int(from), Type::Int(to), None, None) => Conversion::Integers { from, to },
            (Type::Int(from), Type::Float(FloatType { format, lanes: 1 }), None, Some(round)) => {
                Conversion::ToFloat { from, to: format, round }
            }
            (Type::Float(FloatType { format, lanes: 1 }), Type::Int(to), Some(round), None) => {
                Conversion::ToInteger { from: format, to, round }
            }
            (Type::Float(from), Type::Float(to), to_integral, round) => {
                pack = to.lanes == 2 && to.format.width() == 16 && from.format == Format::F32;
                if from.lanes != 1 || to.lanes != 1 && !pack {
                    return Err("no conversion of these packed types".into());
                }
                let (from, to) = (from.format, to.format);
                // Rounding is for where a value may not fit, and only there.
                let narrowing = from.width() > to.width() || from.width() == to.width() && from != to;
                match (to_integral, round) {
                    (Some(round), None) if from == to => Conversion::Integral { format: from, round },
                    (None, Some(round)) if narrowing => Conversion::Floats { from, to, round },
                    (None, None) if !narrowing => {
                        Conversion::Floats { from, to, round: Round::NearestTiesToEven }
                    }
                    _ => return Err("a rounding modifier is missing or out of place".into()),
                }
            }
            _ => return Err("a rounding modifier is missing or out of place".into()),
        };

        let float_to = match to {
            Type::Float(ty) => Some(ty.format),
            Type::Int(_) => None,
        };
        let involves_f32 =
            [from, to].iter().any(|ty| matches!(ty, Type::Float(ty) if ty.format == Format::F32));
        let ftz = involves_f32 && !pack && mods.take("ftz");
        let sat = !pack && float_to != Some(Format::Bf16) && mods.take_all("sat");
        let halved = matches!(conversion, Conversion::Floats { from: Format::F32, to, round }
            if to.width() == 16 && matches!(round, Round::NearestTiesToEven | Round::TowardZero));
        if pack && !halved {
            return Err("packing rounds by .rn or .rz".into());
        }
        let relu = halved && mods.take_all("relu");
        let satfinite = halved && mods.take("satfinite");
        if (sat || ftz) && (relu || satfinite) {
            return Err(".relu and .satfinite exclude .ftz and .sat".into());
        }
        text.plain_operands(if pack { 2 } else { 1 })?;
        let inputs = match from {
            Type::Int(ty) => text.int_inputs(&[ty.bits])?,
            Type::Float(ty) => text.float_inputs(ty, text.sources.len())?,
        };
        Ok((Cvt { conversion, ftz, sat, relu, satfinite, pack }, inputs))
    }

    pub fn eval(&self, [a, b, ..]: [u64; 4]) -> u64 {
        if self.pack { self.convert(a) << 16 | self.convert(b) } else { self.convert(a) }
    }

    fn convert(&self, a: u64) -> u64 {
        let (format, result) = match self.conversion {
            Conversion::Integers { from, to } => {
                let value = from.value(a);
                return to.cut(if self.sat { to.clamp(value) } else { value });
            }
            Conversion::ToInteger { from, to, round } => {
                let a = a & crate::text::low_mask(from.width());
                let a = from.flush_if(self.ftz && from == Format::F32, a);
                if from.is_nan(a) {
                    return nan_to_integer(from, to);
                }
                // Out of range is clamped with or without .sat.
                return to.cut(to_integer(from, a, round, to.bits, to.signed));
            }
            Conversion::ToFloat { from, to, round } => (to, from_integer(to, from.value(a), round)),
            Conversion::Integral { format, round } => {
                let a = a & crate::text::low_mask(format.width());
                (format, round_to_integral(format, format.flush_if(self.ftz, a), round))
            }
            Conversion::Floats { from, to, round } => {
                let a = a & crate::text::low_mask(from.width());
                let a = from.flush_if(self.ftz && flushes_input(from, to), a);
                (to, convert(from, to, a, round, self.ftz))
            }
        };
        if self.sat {
            format.saturate(result)
        } else if self.relu {
            format.relu(self.bound(format, result))
        } else {
            self.bound(format, result)
        }
    }

    /// `.satfinite`: an infinite result becomes the largest finite number of its sign.
    fn bound(&self, format: Format, result: u64) -> u64 {
        if self.satfinite && format.magnitude(result) == format.infinity() {
            result & format.sign_bit() | format.largest_finite()
        } else {
            result
        }
    }
}

/// Choices, as in [`crate::float`]: does `.ftz` flush the f32 input of a float-to-float conversion?
///
/// The code that assemblers emit for f16 is the same with and without `.ftz`, so there it does not:
/// `cvt.rp.ftz.f16.f32` of the smallest subnormal is 0x0001. For bf16, of the same size, it does.
fn flushes_input(from: Format, to: Format) -> bool {
    from == Format::F32 && to != Format::F16
}

/// NaN as an integer: zero, unless 64 bits are on either side; then the top bit alone.
fn nan_to_integer(from: Format, to: IntType) -> u64 {
    if from != Format::F64 && to.bits != 64 { 0 } else { 1 << (to.bits - 1) }
}
