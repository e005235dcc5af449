//! Formulas over an index: what a buffer holds before and after a launch, computed apart from the engines.
//!
//! Numbers are integers of any size or doubles; an integer that meets a double becomes one. Besides C's operators there are
//! the functions of [`call`], `sum(j, from, to, term)`, and `x[k]`: what the buffer `x` held before the launch.

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i128),
    Float(f64),
}

use Number::{Float, Int};

impl Number {
    pub fn float(self) -> f64 {
        match self {
            Int(v) => v as f64,
            Float(v) => v,
        }
    }

    pub fn int(self) -> Result<i128, String> {
        match self {
            Int(v) => Ok(v),
            Float(v) => Err(format!("{v} is no integer")),
        }
    }
}

/// What names mean while a formula is computed.
pub trait Names {
    /// A scalar argument.
    fn scalar(&self, name: &str) -> Option<Number>;
    /// An element of a buffer before the launch.
    fn element(&self, name: &str, index: i128) -> Result<Number, String>;
}

#[derive(Clone, Debug)]
pub enum Formula {
    Number(Number),
    Name(String),
    Element(String, Box<Formula>),
    Unary(char, Box<Formula>),
    Binary(&'static str, Box<Formula>, Box<Formula>),
    If(Box<[Formula; 3]>),
    Call(String, Vec<Formula>),
    Sum(String, Box<[Formula; 3]>),
}

/// Operators from the loosest to the tightest; two-character ones before their beginnings.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Reads formulas separated by commas.
pub fn parse(text: &str) -> Result<Vec<Formula>, String> {
    let mut p = Parser { rest: text.trim() };
    let mut out = vec![p.formula()?];
    while p.take(",") {
        out.push(p.formula()?);
    }
    match p.rest {
        "" => Ok(out),
        rest => Err(format!("`{text}`: cannot read `{rest}`")),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn take(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn need(&mut self, what: &str) -> Result<(), String> {
        if self.take(what) { Ok(()) } else { Err(format!("`{what}` is missing before `{}`", self.rest)) }
    }

    fn formula(&mut self) -> Result<Formula, String> {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.formula()?;
        self.need(":")?;
        Ok(Formula::If(Box::new([condition, yes, self.formula()?])))
    }

    fn level(&mut self, level: usize) -> Result<Formula, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        loop {
            // `|` is no beginning of `||`, nor `<` of `<<`: those belong to another level.
            let longer = |op: &str| {
                LEVELS
                    .iter()
                    .flat_map(|l| l.iter())
                    .any(|o| o.len() > op.len() && o.starts_with(op) && self.rest.starts_with(o))
            };
            let Some(op) = operators.iter().find(|op| self.rest.starts_with(**op) && !longer(op)) else {
                return Ok(left);
            };
            self.take(op);
            left = Formula::Binary(op, Box::new(left), Box::new(self.level(level + 1)?));
        }
    }

    fn unary(&mut self) -> Result<Formula, String> {
        for op in ['-', '~', '!'] {
            if self.take(&op.to_string()) {
                return Ok(Formula::Unary(op, Box::new(self.unary()?)));
            }
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Formula, String> {
        if self.take("(") {
            let inner = self.formula()?;
            self.need(")")?;
            return Ok(inner);
        }
        let end = |s: &str, keep: fn(char) -> bool| s.find(|c| !keep(c)).unwrap_or(s.len());
        let word = &self.rest[..end(self.rest, |c| c.is_ascii_alphanumeric() || c == '_' || c == '.')];
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            // `1e-3` holds a sign.
            let signed = word.ends_with(['e', 'E']) && !word.starts_with("0x");
            let length = match signed {
                true => word.len() + 1 + end(&self.rest[word.len() + 1..], |c| c.is_ascii_digit()),
                false => word.len(),
            };
            let word = &self.rest[..length];
            self.rest = self.rest[length..].trim_start();
            return number(word).map(Formula::Number).ok_or(format!("`{word}` is no number"));
        }
        if word.is_empty() {
            return Err(format!("a number or a name is missing before `{}`", self.rest));
        }
        self.rest = self.rest[word.len()..].trim_start();
        if self.take("[") {
            let index = self.formula()?;
            self.need("]")?;
            return Ok(Formula::Element(word.into(), Box::new(index)));
        }
        if !self.take("(") {
            return Ok(match word {
                "inf" => Formula::Number(Float(f64::INFINITY)),
                "nan" => Formula::Number(Float(f64::NAN)),
                _ => Formula::Name(word.into()),
            });
        }
        let mut arguments = vec![self.formula()?];
        while self.take(",") {
            arguments.push(self.formula()?);
        }
        self.need(")")?;
        if word != "sum" {
            return Ok(Formula::Call(word.into(), arguments));
        }
        match <[Formula; 4]>::try_from(arguments) {
            Ok([Formula::Name(name), from, to, term]) => Ok(Formula::Sum(name, Box::new([from, to, term]))),
            _ => Err("`sum` takes a name, two bounds and a term".into()),
        }
    }
}

fn number(word: &str) -> Option<Number> {
    if let Some(digits) = word.strip_prefix("0x") {
        return i128::from_str_radix(&digits.replace('_', ""), 16).ok().map(Int);
    }
    word.parse().map(Int).ok().or_else(|| word.parse().map(Float).ok())
}

impl Formula {
    /// Its value where `bound` names have the given values.
    pub fn value(&self, names: &dyn Names, bound: &[(&str, i128)]) -> Result<Number, String> {
        let at = |f: &Formula| f.value(names, bound);
        match self {
            Formula::Number(n) => Ok(*n),
            Formula::Name(name) => match bound.iter().rev().find(|(n, _)| n == name) {
                Some((_, v)) => Ok(Int(*v)),
                None => names.scalar(name).ok_or_else(|| format!("`{name}` is no scalar argument")),
            },
            Formula::Element(name, index) => names.element(name, at(index)?.int()?),
            Formula::Unary('-', f) => Ok(match at(f)? {
                Int(v) => Int(-v),
                Float(v) => Float(-v),
            }),
            Formula::Unary('~', f) => Ok(Int(!at(f)?.int()?)),
            Formula::Unary(_, f) => Ok(Int((at(f)?.float() == 0.0).into())),
            Formula::Binary("&&", a, b) => Ok(Int((at(a)?.float() != 0.0 && at(b)?.float() != 0.0).into())),
            Formula::Binary("||", a, b) => Ok(Int((at(a)?.float() != 0.0 || at(b)?.float() != 0.0).into())),
            Formula::Binary(op, a, b) => binary(op, at(a)?, at(b)?),
            Formula::If(parts) => {
                let [condition, yes, no] = &**parts;
                at(if at(condition)?.float() != 0.0 { yes } else { no })
            }
            Formula::Call(name, arguments) => {
                call(name, &arguments.iter().map(at).collect::<Result<Vec<_>, _>>()?)
            }
            Formula::Sum(name, parts) => {
                let [from, to, term] = &**parts;
                let mut sum = Int(0);
                for j in at(from)?.int()?..at(to)?.int()? {
                    let mut bound = bound.to_vec();
                    bound.push((name, j));
                    sum = binary("+", sum, term.value(names, &bound)?)?;
                }
                Ok(sum)
            }
        }
    }
}

fn binary(op: &str, a: Number, b: Number) -> Result<Number, String> {
    let truth = |t: bool| Ok(Int(t.into()));
    let (Int(x), Int(y)) = (a, b) else {
        let (x, y) = (a.float(), b.float());
        return match op {
            "+" => Ok(Float(x + y)),
            "-" => Ok(Float(x - y)),
            "*" => Ok(Float(x * y)),
            "/" => Ok(Float(x / y)),
            "==" => truth(x == y),
            "!=" => truth(x != y),
            "<" => truth(x < y),
            "<=" => truth(x <= y),
            ">" => truth(x > y),
            ">=" => truth(x >= y),
            _ => Err(format!("`{op}` takes integers")),
        };
    };
    let result = match op {
        "+" => x.checked_add(y),
        "-" => x.checked_sub(y),
        "*" => x.checked_mul(y),
        "/" => x.checked_div(y),
        "%" => x.checked_rem(y),
        "<<" => u32::try_from(y).ok().and_then(|y| x.checked_shl(y)),
        ">>" => u32::try_from(y).ok().and_then(|y| x.checked_shr(y)),
        "&" => Some(x & y),
        "|" => Some(x | y),
        "^" => Some(x ^ y),
        "==" => return truth(x == y),
        "!=" => return truth(x != y),
        "<" => return truth(x < y),
        "<=" => return truth(x <= y),
        ">" => return truth(x > y),
        ">=" => return truth(x >= y),
        _ => None,
    };
    result.map(Int).ok_or_else(|| format!("{x} {op} {y} has no value"))
}

/// `f16(x)` and the like are the bits of `x`, rounded once; `from_f16(b)` and the like the number of those bits.
fn call(name: &str, arguments: &[Number]) -> Result<Number, String> {
    let int =
        |n: usize| arguments.get(n).copied().ok_or("too few arguments".to_string()).and_then(Number::int);
    let float = |n: usize| arguments.get(n).map(|a| a.float()).ok_or("too few arguments".to_string());
    Ok(match name {
        "f16" => Int(narrow(float(0)?, 5, 10).into()),
        "bf16" => Int(narrow(float(0)?, 8, 7).into()),
        "f32" => Int(bits32(float(0)?).into()),
        "f64" => Int(float(0)?.to_bits().into()),
        "from_f16" => Float(widen(int(0)? as u64, 5, 10)),
        "from_bf16" => Float(widen(int(0)? as u64, 8, 7)),
        "from_f32" => Float(f32::from_bits(int(0)? as u32).into()),
        "from_f64" => Float(f64::from_bits(int(0)? as u64)),
        "u8" => Int((int(0)? as u8).into()),
        "u16" => Int((int(0)? as u16).into()),
        "u32" => Int((int(0)? as u32).into()),
        "u64" => Int((int(0)? as u64).into()),
        "s8" => Int((int(0)? as i8).into()),
        "s16" => Int((int(0)? as i16).into()),
        "s32" => Int((int(0)? as i32).into()),
        "s64" => Int((int(0)? as i64).into()),
        "abs" => match arguments {
            [Int(v)] => Int(v.abs()),
            _ => Float(float(0)?.abs()),
        },
        "floor" => Int(float(0)?.floor() as i128),
        "popc" => Int(int(0)?.count_ones().into()),
        "min" => Int(int(0)?.min(int(1)?)),
        "max" => Int(int(0)?.max(int(1)?)),
        _ => return Err(format!("there is no function `{name}`")),
    })
}

/// The bits of an f32; a NaN is the canonical one.
pub fn bits32(v: f64) -> u32 {
    if v.is_nan() { 0x7fff_ffff } else { (v as f32).to_bits() }
}

/// The bits of the nearest number with so many bits of exponent and mantissa, ties to even; a NaN is the canonical one.
fn narrow(v: f64, exponent: i32, mantissa: i32) -> u16 {
    let sign = u16::from(v.is_sign_negative()) << 15;
    if v.is_nan() {
        return 0x7fff;
    }
    let bias = (1 << (exponent - 1)) - 1;
    let infinity = ((1 << exponent) - 1) << mantissa;
    if v.is_infinite() {
        return sign | infinity;
    }
    let magnitude = v.abs();
    // Where the number's last place is: of a subnormal one, that of the least normal one.
    let scale = match magnitude {
        0.0 => 1 - bias,
        _ => ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias),
    };
    let units = (magnitude * 2f64.powi(mantissa - scale)).round_ties_even() as i32;
    // A carry out of the mantissa lands in the exponent, which is what it should do.
    sign | (((scale + bias - 1) << mantissa) + units).min(infinity.into()) as u16
}

fn widen(bits: u64, exponent: i32, mantissa: i32) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let field = (bits >> mantissa) as i32 & ((1 << exponent) - 1);
    let units = (bits & ((1 << mantissa) - 1)) as f64;
    let least = 2 - (1 << (exponent - 1)) - mantissa;
    match field {
        0 => sign * units * 2f64.powi(least),
        f if f == (1 << exponent) - 1 => {
            if units == 0.0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            }
        }
        f => sign * (units + f64::from(1 << mantissa)) * 2f64.powi(least + f - 1),
    }
}
