//! setp, set, selp and slct.

use std::cmp::Ordering;

use crate::Input;
use crate::float::{FLOAT_TYPES, FloatType, Format};
use crate::integer::IntType;
use crate::text::{Kind, Text, low_mask};

/// Which outcomes of a comparison make it true.
#[derive(Debug, Clone, Copy)]
struct Relation {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Relation {
    fn holds(self, order: Option<Ordering>) -> bool {
        match order {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

/// Where a comparison is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Domain {
    /// Any type.
    All,
    /// Signed and unsigned integers and floats.
    Numbers,
    Unsigned,
    Floats,
}

/// name, (less, equal, greater, unordered), domain
const fn relation(outcomes: &[u8; 4]) -> Relation {
    Relation {
        less: outcomes[0] == b'<',
        equal: outcomes[1] == b'=',
        greater: outcomes[2] == b'>',
        unordered: outcomes[3] == b'?',
    }
}

const RELATIONS: &[(&str, (Relation, Domain))] = &[
    ("eq", (relation(b" =  "), Domain::All)),
    ("ne", (relation(b"< > "), Domain::All)),
    ("lt", (relation(b"<   "), Domain::Numbers)),
    ("le", (relation(b"<=  "), Domain::Numbers)),
    ("gt", (relation(b"  > "), Domain::Numbers)),
    ("ge", (relation(b" => "), Domain::Numbers)),
    ("lo", (relation(b"<   "), Domain::Unsigned)),
    ("ls", (relation(b"<=  "), Domain::Unsigned)),
    ("hi", (relation(b"  > "), Domain::Unsigned)),
    ("hs", (relation(b" => "), Domain::Unsigned)),
    ("equ", (relation(b" = ?"), Domain::Floats)),
    ("neu", (relation(b"< >?"), Domain::Floats)),
    ("ltu", (relation(b"<  ?"), Domain::Floats)),
    ("leu", (relation(b"<= ?"), Domain::Floats)),
    ("gtu", (relation(b"  >?"), Domain::Floats)),
    ("geu", (relation(b" =>?"), Domain::Floats)),
    ("num", (relation(b"<=> "), Domain::Floats)),
    ("nan", (relation(b"   ?"), Domain::Floats)),
];

#[derive(Debug, Clone, Copy)]
enum Combine {
    And,
    Or,
    Xor,
}

#[derive(Debug, Clone, Copy)]
enum Type {
    Int(IntType),
    Float(FloatType),
}

/// What setp and set have in common: a comparison, and perhaps a boolean operation.
#[derive(Debug, Clone)]
struct Comparison {
    relation: Relation,
    ty: Type,
    ftz: bool,
    /// The boolean operation with c, and whether c is complemented.
    combine: Option<(Combine, bool)>,
}

impl Comparison {
    /// Reads the modifiers that are left, and the sources.
    fn parse(text: &mut Text) -> Result<(Comparison, Vec<Input>), String> {
        let mods = &mut text.mods;
        let float = mods.choice(FLOAT_TYPES);
        let bit_size = mods.choice(&[("b16", "b16"), ("b32", "b32"), ("b64", "b64")]);
        let combine = mods.choice(&[("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)]);
        let (relation, domain) = mods.required("the comparison", RELATIONS)?;
        let f32_or_f16 = float.is_some_and(|ty| matches!(ty.format, Format::F16 | Format::F32));
        let ftz = f32_or_f16 && mods.take("ftz");
        let ty = match (float, bit_size) {
            (Some(ty), _) if ty.format == Format::F32 && ty.lanes == 2 => {
                return Err(format!("{} has no .f32x2", text.opcode));
            }
            (Some(ty), _) => Type::Float(ty),
            (None, Some(name)) => {
                Type::Int(IntType { bits: name[1..].parse().expect("a width"), signed: false, lanes: 1 })
            }
            (None, None) => Type::Int(IntType::take(text, &["u16", "u32", "u64", "s16", "s32", "s64"])?),
        };
        let allowed = match (domain, ty, bit_size) {
            (Domain::All, ..) => true,
            (Domain::Numbers, _, bits) => bits.is_none(),
            (Domain::Unsigned, Type::Int(ty), None) => !ty.signed,
            (Domain::Floats, Type::Float(_), _) => true,
            _ => false,
        };
        if !allowed {
            return Err("this type does not have that comparison".into());
        }

        text.count_sources(if combine.is_some() { 3..=3 } else { 2..=2 })?;
        let (compared, c) = text.sources.split_at(2);
        if compared.iter().chain(&text.dests).any(|o| o.negate || o.not || o.selector.is_some()) {
            return Err(format!("{} compares operands without sign or selector", text.opcode));
        }
        let mut inputs = match ty {
            Type::Int(ty) => text.int_inputs(&[ty.bits; 2])?,
            Type::Float(ty) => text.float_inputs(ty, 2)?,
        };
        let mut complement = false;
        if let [c] = c {
            if c.kind != Kind::Register || c.negate || c.selector.is_some() {
                return Err("c is a predicate".into());
            }
            complement = c.not;
            inputs.push(Input::Source);
        }
        let combine = combine.map(|combine| (combine, complement));
        Ok((Comparison { relation, ty, ftz, combine }, inputs))
    }

    /// Whether the comparison holds for each element, before `c` comes in.
    fn holds(&self, a: u64, b: u64) -> Vec<bool> {
        match self.ty {
            Type::Int(ty) => vec![self.relation.holds(Some(ty.value(a).cmp(&ty.value(b))))],
            Type::Float(ty) => {
                let width = ty.format.width();
                let lane = |i: u32| {
                    let element = |x: u64| ty.format.flush_if(self.ftz, x >> (i * width) & low_mask(width));
                    self.relation.holds(ty.format.compare(element(a), element(b)))
                };
                (0..ty.lanes).map(lane).collect()
            }
        }
    }

    fn combined(&self, t: bool, c: u64) -> bool {
        match self.combine {
            None => t,
            Some((combine, complement)) => {
                let c = (c & 1 == 1) ^ complement;
                match combine {
                    Combine::And => t & c,
                    Combine::Or => t | c,
                    Combine::Xor => t ^ c,
                }
            }
        }
    }
}

/// setp
#[derive(Debug, Clone)]
pub(crate) struct Setp {
    comparison: Comparison,
    two: bool,
}

impl Setp {
    pub fn parse(text: &mut Text) -> Result<(Setp, Vec<Input>), String> {
        let (comparison, inputs) = Comparison::parse(text)?;
        Ok((Setp { comparison, two: text.dests.len() == 2 }, inputs))
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> Vec<u64> {
        // The second destination of a packed comparison is its second element; without one (ptxas takes that, the manual
        // does not show it) the element is lost.
        let [first, second] = match self.comparison.holds(a, b)[..] {
            [low, high] => [low, high],
            ref one => [one[0], !one[0]],
        };
        let mut results = vec![u64::from(self.comparison.combined(first, c))];
        results.extend(self.two.then(|| u64::from(self.comparison.combined(second, c))));
        results
    }
}

/// set
#[derive(Debug, Clone)]
pub(crate) struct Set {
    comparison: Comparison,
    /// The bits of one true element, and their number.
    yes: u64,
    width: u32,
}

impl Set {
    pub fn parse(text: &mut Text) -> Result<(Set, Vec<Input>), String> {
        const INTEGERS: &[(&str, u32)] = &[("u16", 16), ("s16", 16), ("u32", 32), ("s32", 32)];
        // Both types may have the same name: the one that stands first is the destination's.
        let before = |name: &str| text.mods.position(name).unwrap_or(usize::MAX);
        let first =
            |names: &mut dyn Iterator<Item = &'static str>| names.map(before).min().unwrap_or(usize::MAX);
        let integer = first(&mut INTEGERS.iter().map(|(name, _)| *name));
        let float = first(&mut FLOAT_TYPES.iter().map(|(name, _)| *name));
        text.one_dest()?;
        let (whole, lanes, one) = if float < integer {
            let ty = text.mods.required("the destination's type", FLOAT_TYPES)?;
            (ty.format.width() * ty.lanes, Some(ty.lanes), Some(ty.format.one()))
        } else {
            (text.mods.required("the destination's type", INTEGERS)?, None, None)
        };
        let (comparison, inputs) = Comparison::parse(text)?;
        let elements = if let Type::Float(ty) = comparison.ty { ty.lanes } else { 1 };
        if lanes.is_some_and(|lanes| lanes != elements) || whole < 16 * elements {
            return Err("the types do not have as many elements".into());
        }
        let width = whole / elements;
        Ok((Set { comparison, yes: one.unwrap_or(low_mask(width)), width }, inputs))
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let elements = self.comparison.holds(a, b).into_iter().zip(0..);
        elements.fold(0, |d, (t, i)| {
            let element = if self.comparison.combined(t, c) { self.yes } else { 0 };
            d | element << (i * self.width)
        })
    }
}

/// slct
#[derive(Debug, Clone)]
pub(crate) struct Slct {
    width: u32,
    /// `c` is a float.
    float: bool,
    ftz: bool,
}

impl Slct {
    pub fn parse(text: &mut Text) -> Result<(Slct, Vec<Input>), String> {
        text.plain_operands(3)?;
        let widths = [
            ("b16", 16),
            ("b32", 32),
            ("b64", 64),
            ("u16", 16),
            ("u32", 32),
            ("u64", 64),
            ("s16", 16),
            ("s32", 32),
            ("s64", 64),
            ("f32", 32),
            ("f64", 64),
        ];
        let width = text.mods.required("the type", &widths)?;
        let float = text.mods.required("the type of c", &[("s32", false), ("f32", true)])?;
        let ftz = float && text.mods.take("ftz");
        if text.sources.iter().any(|o| o.kind != Kind::Register) {
            return Err("constants are not read here".into());
        }
        Ok((Slct { width, float, ftz }, vec![Input::Source; 3]))
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let at_least_zero = match self.float {
            true => {
                let order = Format::F32.compare(Format::F32.flush_if(self.ftz, c), 0);
                matches!(order, Some(Ordering::Equal | Ordering::Greater))
            }
            false => c >> 31 & 1 == 0,
        };
        (if at_least_zero { a } else { b }) & low_mask(self.width)
    }
}

/// selp
#[derive(Debug, Clone)]
pub(crate) struct Selp {
    width: u32,
    /// `!c`, which the manual does not show and ptxas takes.
    complement: bool,
}

impl Selp {
    pub fn parse(text: &mut Text) -> Result<(Selp, Vec<Input>), String> {
        text.count_sources(3..=3)?;
        let complement = std::mem::take(&mut text.sources[2].not);
        text.plain_operands(3)?;
        let (width, mut inputs);
        if let Some(ty) = text.mods.choice(FLOAT_TYPES) {
            if !matches!(ty.format, Format::F32 | Format::F64) || ty.lanes != 1 {
                return Err("selp has .f32 and .f64 only".into());
            }
            width = ty.format.width();
            inputs = text.float_inputs(ty, 2)?;
        } else {
            let names = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"];
            width = IntType::take(text, &names)?.bits;
            inputs = text.int_inputs(&[width; 2])?;
        }
        if text.sources[2].kind != Kind::Register {
            return Err("c is a predicate".into());
        }
        inputs.push(Input::Source);
        Ok((Selp { width, complement }, inputs))
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        (if (c & 1 == 1) ^ self.complement { a } else { b }) & low_mask(self.width)
    }
}
