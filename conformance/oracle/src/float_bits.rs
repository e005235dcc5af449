//! sqrt with a rounding modifier, and what looks at bits only: copysign testp.

use crate::float::{FLOAT_TYPES, FloatType, Format, Round, root, take_rounding};
use crate::text::Text;

/// sqrt with a rounding modifier.
#[derive(Debug, Clone)]
pub(crate) struct FloatRoot {
    ty: FloatType,
    round: Round,
    ftz: bool,
}

impl FloatRoot {
    pub fn parse(text: &mut Text) -> Result<FloatRoot, String> {
        text.plain_operands(1)?;
        let ty = text.mods.required("the type", FLOAT_TYPES)?;
        if ty.lanes != 1 || !matches!(ty.format, Format::F32 | Format::F64) {
            return Err("sqrt has .f32 and .f64 only".into());
        }
        let round = take_rounding(&mut text.mods).ok_or("a rounding modifier is missing")?;
        let ftz = ty.format == Format::F32 && text.mods.take("ftz");
        Ok(FloatRoot { ty, round, ftz })
    }

    pub fn eval(&self, [a, ..]: [u64; 4]) -> u64 {
        let format = self.ty.format;
        let a = format.flush_if(self.ftz, a);
        if format.is_nan(a) {
            format.nan_result(&[a])
        } else if format.magnitude(a) == 0 {
            a
        } else if format.is_negative(a) {
            format.nan_result(&[])
        } else if a == format.infinity() {
            a
        } else {
            root(format, a, self.round)
        }
    }

    pub fn ty(&self) -> FloatType {
        self.ty
    }
}

/// copysign and testp: nothing is computed.
#[derive(Debug, Clone)]
pub(crate) enum FloatBits {
    /// b with the sign of a.
    CopySign(FloatType),
    Test(FloatType, Test),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl FloatBits {
    pub fn parse(text: &mut Text) -> Result<FloatBits, String> {
        let testp = text.opcode == "testp";
        text.plain_operands(if testp { 1 } else { 2 })?;
        let ty = text.mods.required("the type", FLOAT_TYPES)?;
        if ty.lanes != 1 || !matches!(ty.format, Format::F32 | Format::F64) {
            return Err("there are .f32 and .f64 only".into());
        }
        if !testp {
            return Ok(FloatBits::CopySign(ty));
        }
        let test = text.mods.required(
            "the test",
            &[
                ("finite", Test::Finite),
                ("infinite", Test::Infinite),
                ("number", Test::Number),
                ("notanumber", Test::NotANumber),
                ("normal", Test::Normal),
                ("subnormal", Test::Subnormal),
            ],
        )?;
        Ok(FloatBits::Test(ty, test))
    }

    pub fn eval(&self, [a, b, ..]: [u64; 4]) -> u64 {
        match self {
            FloatBits::CopySign(ty) => a & ty.format.sign_bit() | ty.format.magnitude(b),
            FloatBits::Test(ty, test) => {
                let format = ty.format;
                let (nan, infinite) = (format.is_nan(a), format.magnitude(a) == format.infinity());
                let subnormal = format.flush(a) != a;
                u64::from(match test {
                    Test::Finite => !nan && !infinite,
                    Test::Infinite => infinite,
                    Test::Number => !nan,
                    Test::NotANumber => nan,
                    // The manual calls zero normal.
                    Test::Normal => !nan && !infinite && !subnormal,
                    Test::Subnormal => subnormal,
                })
            }
        }
    }

    pub fn ty(&self) -> FloatType {
        match self {
            FloatBits::CopySign(ty) | FloatBits::Test(ty, _) => *ty,
        }
    }
}
