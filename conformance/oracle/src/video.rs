//! Scalar video: vadd vsub vabsdiff vmin vmax vshl vshr vset, and vmad.
//!
//! Stages as the manual has them: extract to 33 bits, operate to a signed 34-bit result, saturate,
//! then either a secondary operation or a merge. The destination type rules the clamp and how `c` is
//! extended, nothing else.

use crate::text::{Mods, Text};

/// The types of video instructions: is it `.s32`?
pub(crate) const TYPES: &[(&str, bool)] = &[("s32", true), ("u32", false)];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    pub fn take(mods: &mut Mods) -> Result<Cmp, String> {
        let table = [
            ("eq", Cmp::Eq),
            ("ne", Cmp::Ne),
            ("lt", Cmp::Lt),
            ("le", Cmp::Le),
            ("gt", Cmp::Gt),
            ("ge", Cmp::Ge),
        ];
        mods.required("the comparison", &table)
    }

    pub fn holds(self, a: i128, b: i128) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }
}

/// A byte or half-word of a 32-bit register.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    bits: u32,
    shift: u32,
}

impl Part {
    fn parse(selector: &str) -> Result<Part, String> {
        let (bits, count) = match selector.as_bytes().first() {
            Some(b'b') => (8, 4),
            Some(b'h') => (16, 2),
            _ => return Err(format!("`.{selector}` selects nothing")),
        };
        match selector[1..].parse::<u32>() {
            Ok(index) if index < count && selector.len() == 2 => Ok(Part { bits, shift: index * bits }),
            _ => Err(format!("`.{selector}` selects nothing")),
        }
    }
}

/// The value of a `bits`-wide field, extended by its sign or by zero.
fn extend(value: u128, bits: u32, signed: bool) -> i128 {
    let field = (value & ((1 << bits) - 1)) as i128;
    if signed && field >> (bits - 1) & 1 == 1 { field - (1 << bits) } else { field }
}

/// What survives in a register of `bits` bits, as a signed number.
fn wrap_signed(value: i128, bits: u32) -> i128 {
    extend(value as u128, bits, true)
}

/// `partSelectSignExtend`
fn select(register: u64, signed: bool, part: Option<Part>) -> i128 {
    let part = part.unwrap_or(Part { bits: 32, shift: 0 });
    extend((register as u32 >> part.shift).into(), part.bits, signed)
}

/// The range of a signed or unsigned number of `bits` bits, to clamp to.
pub(crate) fn clamp(value: i128, bits: u32, signed: bool) -> i128 {
    let (min, max) =
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    value.clamp(min, max)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Shl(ShiftMode),
    Shr(ShiftMode),
    Set(Cmp),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ShiftMode {
    Clamp,
    Wrap,
}

impl ShiftMode {
    fn take(mods: &mut Mods) -> Result<ShiftMode, String> {
        mods.required("the shift mode", &[("clamp", ShiftMode::Clamp), ("wrap", ShiftMode::Wrap)])
    }

    fn amount(self, b: i128) -> i128 {
        match self {
            ShiftMode::Clamp => b.min(32),
            ShiftMode::Wrap => b & 0x1f,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Secondary {
    Add,
    Min,
    Max,
}

/// A scalar video instruction other than vmad.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    op: Op,
    d_signed: bool,
    a_signed: bool,
    b_signed: bool,
    sat: bool,
    secondary: Option<Secondary>,
    dsel: Option<Part>,
    asel: Option<Part>,
    bsel: Option<Part>,
}

impl Scalar {
    pub fn parse(text: &mut Text) -> Result<Scalar, String> {
        let mods = &mut text.mods;
        let op = match text.opcode {
            "vadd" => Op::Add,
            "vsub" => Op::Sub,
            "vabsdiff" => Op::AbsDiff,
            "vmin" => Op::Min,
            "vmax" => Op::Max,
            "vshl" => Op::Shl(ShiftMode::take(mods)?),
            "vshr" => Op::Shr(ShiftMode::take(mods)?),
            _ => Op::Set(Cmp::take(mods)?),
        };
        // vset has no dtype: its result and c are unsigned.
        let is_set = matches!(op, Op::Set(_));
        let d_signed = !is_set && mods.required("dtype", TYPES)?;
        let a_signed = mods.required("atype", TYPES)?;
        let b_signed = mods.required("btype", TYPES)?;
        if matches!(op, Op::Shl(_) | Op::Shr(_)) && b_signed {
            return Err("the shift amount is .u32".into());
        }
        let sat = !is_set && mods.take_all("sat");
        let table = [("add", Secondary::Add), ("min", Secondary::Min), ("max", Secondary::Max)];
        let secondary = mods.choice(&table);

        let [dsel, asel, bsel] = selectors(text)?;
        if secondary.is_some() && dsel.is_some() {
            return Err("a secondary operation and a merge exclude each other".into());
        }
        // Without a use for c the assembler still lets it be written.
        let least = if secondary.is_some() || dsel.is_some() { 3 } else { 2 };
        text.count_sources(least..=3)?;
        if text.sources.iter().any(|s| s.negate || s.not) {
            return Err("only vmad can negate its operands".into());
        }
        Ok(Scalar { op, d_signed, a_signed, b_signed, sat, secondary, dsel, asel, bsel })
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u32 {
        let a = select(a, self.a_signed, self.asel);
        let b = select(b, self.b_signed, self.bsel);
        let result = match self.op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::AbsDiff => (a - b).abs(),
            Op::Min => a.min(b),
            Op::Max => a.max(b),
            Op::Shl(mode) => a << mode.amount(b),
            Op::Shr(mode) => a >> mode.amount(b),
            Op::Set(cmp) => cmp.holds(a, b).into(),
        };
        let mut result = wrap_signed(result, 34);
        if self.sat {
            result = clamp(result, self.dsel.map_or(32, |part| part.bits), self.d_signed);
        }
        let result = wrap_signed(result, 33);
        let c33 = extend((c as u32).into(), 32, self.d_signed);
        match (self.secondary, self.dsel) {
            (Some(Secondary::Add), _) => wrap_signed(result + c33, 33) as u32,
            (Some(Secondary::Min), _) => result.min(c33) as u32,
            (Some(Secondary::Max), _) => result.max(c33) as u32,
            (None, Some(part)) => {
                let mask = ((1 << part.bits) - 1) << part.shift;
                (result as u32) << part.shift & mask | c as u32 & !mask
            }
            (None, None) => result as u32,
        }
    }
}

/// The selectors of d, a and b; c never has one.
fn selectors(text: &Text) -> Result<[Option<Part>; 3], String> {
    let dest = text.one_dest()?;
    if text.sources.iter().skip(2).any(|c| c.selector.is_some()) {
        return Err("c has no selector".into());
    }
    let part = |selector: Option<&str>| selector.map(Part::parse).transpose();
    let source = |index: usize| text.sources.get(index).and_then(|s| s.selector);
    Ok([part(dest.selector)?, part(source(0))?, part(source(1))?])
}

/// vmad
#[derive(Debug, Clone)]
pub(crate) struct Mad {
    a_signed: bool,
    b_signed: bool,
    sat: bool,
    plus_one: bool,
    scale: Option<u32>,
    asel: Option<Part>,
    bsel: Option<Part>,
    negate_product: bool,
    negate_c: bool,
}

impl Mad {
    pub fn parse(text: &mut Text) -> Result<Mad, String> {
        let mods = &mut text.mods;
        // dtype is written but decides nothing: the operands' signs do.
        mods.required("dtype", TYPES)?;
        let a_signed = mods.required("atype", TYPES)?;
        let b_signed = mods.required("btype", TYPES)?;
        let sat = mods.take_all("sat");
        let plus_one = mods.take("po");
        let scale = mods.choice(&[("shr7", 7), ("shr15", 15)]);

        text.count_sources(3..=3)?;
        let [dsel, asel, bsel] = selectors(text)?;
        if dsel.is_some() {
            return Err("vmad has no destination selector".into());
        }
        if text.sources.iter().any(|s| s.not) {
            return Err("`!` is for predicates".into());
        }
        let negate_product = text.sources[0].negate ^ text.sources[1].negate;
        let negate_c = text.sources[2].negate;
        if negate_product && negate_c {
            return Err("either the product or c is negated, not both".into());
        }
        if plus_one && (negate_product || negate_c) {
            return Err(".po and a negation exclude each other".into());
        }
        Ok(Mad { a_signed, b_signed, sat, plus_one, scale, asel, bsel, negate_product, negate_c })
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u32 {
        let a = select(a, self.a_signed, self.asel);
        let b = select(b, self.b_signed, self.bsel);
        let signed_final = self.a_signed || self.b_signed || self.negate_product || self.negate_c;
        let mut product = a * b;
        let mut c = c as u32;
        let mut lsb = 0;
        if self.plus_one {
            lsb = 1;
        } else if self.negate_product {
            product = !product;
            lsb = 1;
        } else if self.negate_c {
            c = !c;
            lsb = 1;
        }
        let mut result = product + extend(c.into(), 32, signed_final) + lsb;
        if let Some(scale) = self.scale {
            // Scaling keeps 64 bits, read back by the sign of the final result.
            result = extend((result >> scale) as u128, 64, signed_final);
        }
        if self.sat {
            result = clamp(result, 32, signed_final);
        }
        result as u32
    }
}
