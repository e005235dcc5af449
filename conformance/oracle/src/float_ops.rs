//! Floating-point add sub mul fma mad div rcp min max neg abs.

use std::cmp::Ordering;

use crate::float::{Arith, FLOAT_TYPES, FloatType, Format, Round, arith, convert, take_rounding};
use crate::text::{Kind, Text, low_mask};

const F32: FloatType = FloatType { format: Format::F32, lanes: 1 };

/// The value, sign ignored, that marks an element as read from outside a tensor, for `.oob`.
const OUT_OF_BOUNDS_NAN: u64 = 0x7ff7;

/// add sub mul fma mad on floats.
#[derive(Debug, Clone)]
pub(crate) struct FloatArith {
    op: Arith,
    ty: FloatType,
    /// Of `add.f32.f16` and the like: the format of `a` (of `fma`, of `a` and `b`), which is widened first.
    narrow: Option<Format>,
    round: Round,
    ftz: bool,
    sat: bool,
    relu: bool,
    oob: bool,
}

impl FloatArith {
    pub fn parse(text: &mut Text) -> Result<FloatArith, String> {
        let op = match text.opcode {
            "add" => Arith::Add,
            "sub" => Arith::Sub,
            "mul" => Arith::Mul,
            _ => Arith::Fma,
        };
        let fused = op == Arith::Fma;
        text.plain_operands(if fused { 3 } else { 2 })?;
        let mods = &mut text.mods;
        let ty = mods.required("the type", FLOAT_TYPES)?;
        let half = matches!(ty.format, Format::F16 | Format::Bf16);
        let narrow = if ty == F32 && (matches!(op, Arith::Add | Arith::Sub) || text.opcode == "fma") {
            mods.choice(&[("f16", Format::F16), ("bf16", Format::Bf16)])
        } else {
            None
        };
        let narrow_count = if fused { 2 } else { 1 };
        if narrow.is_some() && text.sources[..narrow_count].iter().any(|s| s.kind != Kind::Register) {
            return Err("a 16-bit operand cannot be a constant".into());
        }
        if half && text.opcode == "mad" {
            return Err("mad has no 16-bit float type".into());
        }
        let round = match take_rounding(mods) {
            Some(Round::NearestTiesToEven) => Round::NearestTiesToEven,
            Some(_) if half => return Err("16-bit floats have .rn only".into()),
            Some(round) => round,
            None if text.opcode == "fma" || ty != F32 && fused => {
                return Err("a rounding modifier is missing".into());
            }
            None => Round::NearestTiesToEven,
        };
        let flushes = matches!(ty.format, Format::F16 | Format::F32) && narrow.is_none();
        let ftz = flushes && mods.take("ftz");
        let saturates = ty.format == Format::F16 || ty.format == Format::F32 && ty.lanes == 1;
        let sat = saturates && mods.take_all("sat");
        let relu = half && fused && mods.take_all("relu");
        let oob = half && fused && mods.take("oob");
        if relu && sat || oob && ftz {
            return Err(".relu excludes .sat, .oob excludes .ftz".into());
        }
        Ok(FloatArith { op, ty, narrow, round, ftz, sat, relu, oob })
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let format = self.ty.format;
        self.ty.map([a, b, c], |[a, b, c]| {
            let out_of_bounds = |x| format.magnitude(x) == OUT_OF_BOUNDS_NAN;
            if self.oob && (out_of_bounds(a) || out_of_bounds(b)) {
                return 0;
            }
            let widened = |x: u64| match self.narrow {
                None => x,
                Some(narrow) => {
                    convert(narrow, format, x & low_mask(narrow.width()), Round::NearestTiesToEven, false)
                }
            };
            let (a, b) = (widened(a), if self.op == Arith::Fma { widened(b) } else { b });
            let result = arith(format, self.op, [a, b, c], self.round, self.ftz);
            match (self.sat, self.relu) {
                (true, _) => format.saturate(result),
                (_, true) => format.relu(result),
                _ => result,
            }
        })
    }

    pub fn ty(&self) -> FloatType {
        self.ty
    }
}

/// min and max on floats.
#[derive(Debug, Clone)]
pub(crate) struct FloatMinMax {
    /// What `a` has to be to `b` to be chosen.
    chosen: Ordering,
    ty: FloatType,
    ftz: bool,
    nan: bool,
    abs: bool,
    xorsign: bool,
    three: bool,
}

impl FloatMinMax {
    pub fn parse(text: &mut Text) -> Result<FloatMinMax, String> {
        let chosen = if text.opcode == "min" { Ordering::Less } else { Ordering::Greater };
        let mods = &mut text.mods;
        let ty = mods.required("the type", FLOAT_TYPES)?;
        if ty.format == Format::F32 && ty.lanes == 2 {
            return Err("min and max have no .f32x2".into());
        }
        let f64 = ty.format == Format::F64;
        let ftz = matches!(ty.format, Format::F16 | Format::F32) && mods.take("ftz");
        let nan = !f64 && mods.take("NaN");
        let xorsign = !f64 && mods.take("xorsign");
        let abs = !f64 && mods.take("abs");
        let three = ty.format == Format::F32 && text.sources.len() == 3;
        if three && xorsign || !three && abs != xorsign {
            return Err(".xorsign goes with .abs and with two operands".into());
        }
        text.plain_operands(if three { 3 } else { 2 })?;
        Ok(FloatMinMax { chosen, ty, ftz, nan, abs, xorsign, three })
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let format = self.ty.format;
        self.ty.map([a, b, c], |operands| {
            let operands = operands.map(|x| format.flush_if(self.ftz, x));
            let sign = (operands[0] ^ operands[1]) & format.sign_bit();
            let [a, b, c] = operands.map(|x| if self.abs { format.magnitude(x) } else { x });
            let mut result = self.choose(a, b);
            if self.three {
                result = self.choose(result, c);
            }
            if self.xorsign && !format.is_nan(result) {
                result = format.magnitude(result) | sign;
            }
            result
        })
    }

    fn choose(&self, a: u64, b: u64) -> u64 {
        let format = self.ty.format;
        match (format.is_nan(a), format.is_nan(b)) {
            (true, true) => format.nan_of_min_max(b),
            (true, false) | (false, true) if self.nan => format.canonical_nan(),
            (true, false) => b,
            (false, true) => a,
            (false, false) => {
                // -0 is below +0 here.
                let order = format.compare(a, b).expect("neither is NaN");
                let order = order.then(format.is_negative(b).cmp(&format.is_negative(a)));
                if order == self.chosen { a } else { b }
            }
        }
    }

    pub fn ty(&self) -> FloatType {
        self.ty
    }
}

/// neg and abs on floats.
#[derive(Debug, Clone)]
pub(crate) struct FloatSign {
    neg: bool,
    ty: FloatType,
    ftz: bool,
}

impl FloatSign {
    pub fn parse(text: &mut Text) -> Result<FloatSign, String> {
        text.plain_operands(1)?;
        let neg = text.opcode == "neg";
        let ty = text.mods.required("the type", FLOAT_TYPES)?;
        if ty.format == Format::F32 && ty.lanes == 2 {
            return Err("neg and abs have no .f32x2".into());
        }
        let ftz = matches!(ty.format, Format::F16 | Format::F32) && text.mods.take("ftz");
        Ok(FloatSign { neg, ty, ftz })
    }

    pub fn eval(&self, [a, ..]: [u64; 4]) -> u64 {
        let format = self.ty.format;
        self.ty.map([a], |[a]| {
            let a = format.flush_if(self.ftz, a);
            match (format.is_nan(a), self.neg) {
                (true, _) => format.nan_of_sign(a),
                (false, true) => a ^ format.sign_bit(),
                (false, false) => format.magnitude(a),
            }
        })
    }

    pub fn ty(&self) -> FloatType {
        self.ty
    }
}

/// div and rcp with a rounding modifier: IEEE 754's division. How `.approx` and `.full` round is the machine's.
#[derive(Debug, Clone)]
pub(crate) struct Quotient {
    /// 1 is divided by the operand.
    reciprocal: bool,
    ty: FloatType,
    round: Round,
    ftz: bool,
}

impl Quotient {
    pub fn parse(text: &mut Text) -> Result<Quotient, String> {
        let reciprocal = text.opcode == "rcp";
        text.plain_operands(if reciprocal { 1 } else { 2 })?;
        let ty = text.mods.required("the type", FLOAT_TYPES)?;
        if !matches!(ty.format, Format::F32 | Format::F64) || ty.lanes != 1 {
            return Err(format!("{} has .f32 and .f64 only", text.opcode));
        }
        let round = take_rounding(&mut text.mods).ok_or("not exact: the manual gives a bound, no bits")?;
        let ftz = ty.format == Format::F32 && text.mods.take("ftz");
        Ok(Quotient { reciprocal, ty, round, ftz })
    }

    pub fn eval(&self, [a, b, ..]: [u64; 4]) -> u64 {
        let format = self.ty.format;
        let [a, b] = if self.reciprocal { [format.one(), a] } else { [a, b] };
        arith(format, Arith::Div, [a, b, 0], self.round, self.ftz)
    }

    pub fn ty(&self) -> FloatType {
        self.ty
    }
}
