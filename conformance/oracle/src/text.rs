//! The oracle's own reading of one instruction: opcode, modifiers, operands. It knows shapes only;
//! each family takes the modifiers it understands and [`Mods::finish`] complains about the rest.

use crate::float::{FloatType, Format};
use crate::{Input, MAX_INPUTS};

/// One instruction cut into its parts.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub opcode: &'a str,
    pub mods: Mods<'a>,
    /// One destination, or two where the text has `p|q`.
    pub dests: Vec<Operand<'a>>,
    pub sources: Vec<Operand<'a>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Operand<'a> {
    /// `-` before a register.
    pub negate: bool,
    /// `!` before a predicate.
    pub not: bool,
    /// What follows the dot of a register, as in `r1.b0`.
    pub selector: Option<&'a str>,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Register,
    Integer(i128),
    /// The bits of a double: PTX reads every decimal float constant as one.
    Double(u64),
    /// The bits of `0fXXXXXXXX`.
    Single(u32),
}

impl<'a> Text<'a> {
    pub fn parse(text: &'a str) -> Result<Text<'a>, String> {
        let text = text.split("//").next().unwrap_or_default().trim();
        let text = text.strip_suffix(';').unwrap_or(text).trim();
        let (head, tail) = text.split_once(char::is_whitespace).ok_or("an instruction has operands")?;
        let mut words = head.split('.');
        let opcode = words.next().unwrap_or_default();
        let mods = Mods { left: words.collect() };
        let mut operands = tail.split(',').map(str::trim);
        let dests = operands
            .next()
            .unwrap_or_default()
            .split('|')
            .map(|dest| match Operand::parse(dest.trim())? {
                Operand { negate: false, not: false, kind: Kind::Register, selector } => {
                    Ok(Operand { negate: false, not: false, kind: Kind::Register, selector })
                }
                _ => Err(format!("`{dest}` cannot be a destination")),
            })
            .collect::<Result<Vec<_>, String>>()?;
        let sources = operands.map(Operand::parse).collect::<Result<Vec<_>, _>>()?;
        if dests.len() > 2 {
            return Err("more than two destinations".into());
        }
        if sources.len() > MAX_INPUTS {
            return Err(format!("{} source operands are too many", sources.len()));
        }
        Ok(Text { opcode, mods, dests, sources })
    }

    /// Exactly one destination.
    pub fn one_dest(&self) -> Result<&Operand<'a>, String> {
        match self.dests.as_slice() {
            [dest] => Ok(dest),
            _ => Err(format!("`{}` has one destination", self.opcode)),
        }
    }

    /// Exactly one destination and `count` sources, none of them with a sign or selector.
    pub fn plain_operands(&self, count: usize) -> Result<(), String> {
        self.count_sources(count..=count)?;
        let dest = self.one_dest()?;
        if std::iter::once(dest).chain(&self.sources).any(|o| o.negate || o.not || o.selector.is_some()) {
            return Err(format!("`{}` takes operands without sign or selector", self.opcode));
        }
        Ok(())
    }

    pub fn count_sources(&self, range: std::ops::RangeInclusive<usize>) -> Result<(), String> {
        if range.contains(&self.sources.len()) {
            Ok(())
        } else {
            Err(format!("`{}` does not take {} source operands", self.opcode, self.sources.len()))
        }
    }

    /// The inputs of an instruction whose operands are integers of these widths.
    pub fn int_inputs(&self, widths: &[u32]) -> Result<Vec<Input>, String> {
        self.sources
            .iter()
            .zip(widths)
            .map(|(operand, &width)| match operand.kind {
                Kind::Register => Ok(Input::Source),
                Kind::Integer(value) => Ok(Input::Immediate(value as u64 & low_mask(width))),
                Kind::Double(_) | Kind::Single(_) => Err("a float constant as an integer operand".into()),
            })
            .collect()
    }

    /// The inputs of an instruction whose first `count` operands are floats of this type.
    pub fn float_inputs(&self, ty: FloatType, count: usize) -> Result<Vec<Input>, String> {
        self.sources
            .iter()
            .take(count)
            .map(|operand| match operand.kind {
                Kind::Register => Ok(Input::Source),
                kind if ty.lanes == 1 => float_constant(kind, ty.format).map(Input::Immediate),
                _ => Err("a packed operand cannot be a constant".into()),
            })
            .collect()
    }
}

/// PTX float constants are doubles; an f32 operand takes them rounded to nearest.
fn float_constant(kind: Kind, format: Format) -> Result<u64, String> {
    match (kind, format) {
        (Kind::Single(bits), Format::F32) => Ok(bits.into()),
        (Kind::Single(bits), Format::F64) => Ok(f64::from(f32::from_bits(bits)).to_bits()),
        (Kind::Double(bits), Format::F32) => Ok((f64::from_bits(bits) as f32).to_bits().into()),
        (Kind::Double(bits), Format::F64) => Ok(bits),
        _ => Err("this operand cannot be that constant".into()),
    }
}

/// `width` ones.
pub(crate) fn low_mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl<'a> Operand<'a> {
    fn parse(text: &'a str) -> Result<Operand<'a>, String> {
        let (negate, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text),
        };
        let (not, rest) = match rest.strip_prefix('!') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, rest),
        };
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            // The sign belongs to the constant: `-1` is a number, not a negated operand.
            let kind = constant(rest, negate)?;
            return Ok(Operand { negate: false, not, selector: None, kind });
        }
        if rest == "WARP_SZ" {
            let kind = Kind::Integer(if negate { -32 } else { 32 });
            return Ok(Operand { negate: false, not, selector: None, kind });
        }
        let (name, selector) = match rest.split_once('.') {
            Some((name, selector)) => (name, Some(selector)),
            None => (rest, None),
        };
        let word = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
        if name.is_empty() || !name.chars().all(word) {
            return Err(format!("`{text}` is not an operand"));
        }
        Ok(Operand { negate, not, selector, kind: Kind::Register })
    }
}

fn constant(digits: &str, negate: bool) -> Result<Kind, String> {
    let bad = || format!("`{digits}` is not a constant");
    let lower = digits.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f") {
        let bits = u32::from_str_radix(hex, 16).map_err(|_| bad())?;
        return Ok(Kind::Single(if negate { bits ^ 1 << 31 } else { bits }));
    }
    if let Some(hex) = lower.strip_prefix("0d") {
        let bits = u64::from_str_radix(hex, 16).map_err(|_| bad())?;
        return Ok(Kind::Double(if negate { bits ^ 1 << 63 } else { bits }));
    }
    let hexadecimal = lower.starts_with("0x");
    if !hexadecimal && lower.contains(['.', 'e']) {
        let value: f64 = lower.parse().map_err(|_| bad())?;
        return Ok(Kind::Double(if negate { (-value).to_bits() } else { value.to_bits() }));
    }
    let number = lower.strip_suffix('u').unwrap_or(&lower);
    let value = if let Some(hex) = number.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if let Some(binary) = number.strip_prefix("0b") {
        u64::from_str_radix(binary, 2)
    } else if number.len() > 1 && number.starts_with('0') {
        u64::from_str_radix(&number[1..], 8)
    } else {
        number.parse()
    };
    let value = i128::from(value.map_err(|_| bad())?);
    Ok(Kind::Integer(if negate { -value } else { value }))
}

/// The modifiers that no one has taken yet, in the order written.
#[derive(Debug)]
pub(crate) struct Mods<'a> {
    left: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    /// Is one of these still there?
    pub fn has_any<T>(&self, table: &[(&str, T)]) -> bool {
        self.left.iter().any(|m| table.iter().any(|(name, _)| name == m))
    }

    /// Where `name` stands among those that are left.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.left.iter().position(|m| *m == name)
    }

    /// Takes `name` if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let found = self.left.iter().position(|m| *m == name);
        found.map(|at| self.left.remove(at)).is_some()
    }

    /// Takes `name` however often it is written: assemblers accept a repeated `.sat` or `.relu`.
    pub fn take_all(&mut self, name: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|m| *m != name);
        self.left.len() < before
    }

    /// Takes the first modifier that `table` knows.
    pub fn choice<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let (at, value) = self.left.iter().enumerate().find_map(|(at, m)| {
            let (_, value) = table.iter().find(|(name, _)| name == m)?;
            Some((at, *value))
        })?;
        self.left.remove(at);
        Some(value)
    }

    /// As [`Mods::choice`], where one has to be there.
    pub fn required<T: Copy>(&mut self, what: &str, table: &[(&str, T)]) -> Result<T, String> {
        self.choice(table).ok_or_else(|| {
            let names: Vec<_> = table.iter().map(|(name, _)| format!(".{name}")).collect();
            format!("{what} is missing: one of {}", names.join(" "))
        })
    }

    /// Complains about whatever is left.
    pub fn finish(&self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some(name) => Err(format!("`.{name}` is not understood or repeated")),
        }
    }
}
