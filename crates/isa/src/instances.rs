//! Every concrete instruction a form allows: for exhaustive tests, the conformance generator and the counts in `hostwarp isa`.

use crate::form::{Class, Parsed};
use crate::matching::{Env, Instr, Match, Operand, OperandKind, resolve};
use crate::special::{SpecialRegister, specials};
use crate::ty::{Kind, Ty};

/// One concrete instruction: modifiers chosen, operands decorated.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The opcode.
    pub opcode: &'static str,
    /// The chosen modifiers with their dots.
    pub mods: Vec<&'static str>,
    /// For each operand: place in the form, selector, minus, complement.
    pub operands: Vec<InstanceOperand>,
}

/// One operand of an [`Instance`].
#[derive(Clone, Debug)]
pub struct InstanceOperand {
    /// Its place in the form.
    pub slot: usize,
    /// Its name in the manual.
    pub name: &'static str,
    /// Its selector, with the dot.
    pub selector: Option<&'static str>,
    /// Has a minus.
    pub neg: bool,
    /// Has an exclamation mark.
    pub not: bool,
    /// The second of a pair `d|p`: joined to the operand before it.
    pub pair: bool,
    /// The type of its place; of a vector, of one element.
    pub ty: Ty,
    /// It is written to.
    pub dest: bool,
    /// What stands there.
    pub kind: InstanceKind,
}

/// What stands in an operand place of an [`Instance`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstanceKind {
    /// The register `%name`.
    Register,
    /// The registers `%name0`, `%name1`, … in braces; with `dropped`, `_` stands for the last.
    Vector {
        #[allow(missing_docs)]
        len: u8,
        #[allow(missing_docs)]
        dropped: bool,
    },
    /// A constant with these bits.
    Constant(u64),
    /// The special register of this name.
    Special(&'static str),
    /// The address in the register `%name`.
    Address,
    /// `_`
    Sink,
}

impl InstanceOperand {
    /// The names of the registers that stand there, without `%`.
    pub fn registers(&self) -> Vec<String> {
        match self.kind {
            InstanceKind::Register | InstanceKind::Address => vec![self.name.replace('-', "_")],
            InstanceKind::Vector { len, dropped } => {
                (0..len - u8::from(dropped)).map(|i| format!("{}{i}", self.name)).collect()
            }
            _ => vec![],
        }
    }

    fn text(&self) -> String {
        match self.kind {
            InstanceKind::Register => format!("%{}", self.registers().concat()),
            InstanceKind::Address => format!("[%{}]", self.name),
            InstanceKind::Vector { dropped, .. } => {
                let names: Vec<String> = self.registers().iter().map(|n| format!("%{n}")).collect();
                format!("{{{}{}}}", names.join(", "), if dropped { ", _" } else { "" })
            }
            InstanceKind::Constant(bits) => match self.ty {
                Ty::F32 => format!("0f{bits:08x}"),
                Ty::F64 => format!("0d{bits:016x}"),
                _ => format!("{bits:#x}"),
            },
            InstanceKind::Special(name) => name.into(),
            InstanceKind::Sink => "_".into(),
        }
    }
}

impl Instance {
    /// The instruction as text, the operands called `%name`: `vadd.u32.u32.u32 %d, %a.b0, %b`.
    pub fn text(&self) -> String {
        let mut text = format!("{}{}", self.opcode, self.mods.concat());
        for (i, o) in self.operands.iter().enumerate() {
            let before = match (i, o.pair) {
                (0, _) => " ",
                (_, true) => "|",
                _ => ", ",
            };
            let sign = match (o.neg, o.not) {
                (true, _) => "-",
                (_, true) => "!",
                _ => "",
            };
            text += &format!("{before}{sign}{}{}", o.text(), o.selector.unwrap_or(""));
        }
        text
    }
}

/// Sets up to this size are always taken whole.
const SMALL: usize = 15;

/// All of a small set; of a large one (4096 byte selectors) at most `cap`, spread evenly.
fn sample(members: &'static [&'static str], cap: usize) -> impl Iterator<Item = &'static str> {
    let count = if members.len() <= SMALL { members.len() } else { cap.min(members.len()) };
    let step = members.len().checked_div(count).unwrap_or(1);
    members.iter().step_by(step).take(count).copied()
}

/// All legal instances of a form for one opcode, in a fixed order; of large selector sets at most `cap`, besides none. Forms
/// whose operands are not plain registers (addresses, labels, vectors, constants) give none: [`mixed_instances`] has them.
pub fn instances(opcode: &'static str, parsed: &'static Parsed, cap: usize) -> Vec<Instance> {
    if !is_plain(parsed) {
        return vec![];
    }
    let mut out = vec![];
    let mod_choices = mod_choices(parsed);
    // Left out, or: sign and selector.
    type Choice = Option<(&'static str, Option<&'static str>)>;
    let operand_choices: Vec<Vec<Choice>> = parsed
        .operands
        .iter()
        .map(|o| {
            let selectors: Vec<Option<&'static str>> = match &o.selector {
                None => vec![None],
                Some((members, optional)) => {
                    optional.then_some(None).into_iter().chain(sample(members, cap).map(Some)).collect()
                }
            };
            let signs = [Some(""), o.neg.then_some("-"), o.not.then_some("!")];
            let given =
                signs.into_iter().flatten().flat_map(|n| selectors.iter().map(move |s| Some((n, *s))));
            o.optional.then_some(None).into_iter().chain(given).collect()
        })
        .collect();
    for mods in product(&mod_choices) {
        let mods: Vec<Option<&'static str>> = mods;
        let given: Vec<&'static str> = mods.iter().flatten().copied().collect();
        for choice in product(&operand_choices) {
            let operand = |slot: usize, sign: &str, selector| {
                let place = &parsed.operands[slot];
                Some(InstanceOperand {
                    slot,
                    name: place.name,
                    selector,
                    neg: sign == "-",
                    not: sign == "!",
                    pair: place.pair,
                    ty: register_type(parsed, &mods, slot)?,
                    dest: place.dest,
                    kind: InstanceKind::Register,
                })
            };
            let operands: Option<Vec<InstanceOperand>> = (choice.iter().enumerate())
                .filter_map(|(slot, c)| c.map(|(sign, selector)| operand(slot, sign, selector)))
                .collect();
            let Some(operands) = operands else { continue };
            let instance = Instance { opcode, mods: given.clone(), operands };
            if is_legal(&instance, parsed) {
                out.push(instance);
            }
        }
    }
    out
}

/// The instance with a constant as its last operand that may be one; `pick` chooses which constant. `None` if none may.
pub fn with_constant(instance: &Instance, parsed: &'static Parsed, pick: u64) -> Option<Instance> {
    let may = |o: &InstanceOperand| {
        let plain = o.selector.is_none() && !o.neg && !o.not && o.ty != Ty::Pred;
        !o.dest && plain && parsed.operands[o.slot].immediate
    };
    let mut with = instance.clone();
    let operand = with.operands.iter_mut().rfind(|o| may(o))?;
    let choice = match parsed.operands[operand.slot].class {
        // A place or a count, for which not every number is legal.
        Class::Is(_) => vec![7],
        _ => constants(operand.name, operand.ty),
    };
    operand.kind = InstanceKind::Constant(choice[pick as usize % choice.len()]);
    is_legal(&with, parsed).then_some(with)
}

/// Whether all operands are plain registers.
fn is_plain(parsed: &Parsed) -> bool {
    let plain = |c: Class| {
        matches!(c, Class::Is(_) | Class::Slot(_) | Class::Wide(_) | Class::AtLeast(_) | Class::Video32)
    };
    !parsed.operands.iter().any(|o| o.address || o.constant || !plain(o.class))
}

/// What may stand in each modifier place.
fn mod_choices(parsed: &Parsed) -> Vec<Vec<Option<&'static str>>> {
    (parsed.mods.iter())
        .map(|m| m.optional.then_some(None).into_iter().chain(m.members.iter().copied().map(Some)).collect())
        .collect()
}

/// Legal instances of a form whose operands are not all plain registers: vectors, constants, special registers, addresses, `_`. Of the
/// combinations of modifiers at most `limit`, spread evenly. Labels and names of variables give none.
pub fn mixed_instances(opcode: &'static str, parsed: &'static Parsed, limit: usize) -> Vec<Instance> {
    let named = |c: Class| {
        matches!(
            c,
            Class::Label | Class::Name | Class::List(..) | Class::Tuple | Class::Handle | Class::Operand
        )
    };
    if parsed.operands.iter().any(|o| named(o.class)) {
        return vec![];
    }
    let mut out = vec![];
    for mods in combinations(&mod_choices(parsed), limit) {
        let given: Vec<&'static str> = mods.iter().flatten().copied().collect();
        let choices: Vec<Vec<Option<InstanceOperand>>> =
            (0..parsed.operands.len()).map(|slot| mixed_operands(parsed, &mods, slot)).collect();
        for choice in product(&choices) {
            let operands = choice.into_iter().flatten().collect();
            let instance = Instance { opcode, mods: given.clone(), operands };
            if is_legal(&instance, parsed) {
                out.push(instance);
            }
        }
    }
    out
}

/// What to try in an operand place; `None` leaves it out.
fn mixed_operands(
    parsed: &Parsed,
    mods: &[Option<&'static str>],
    slot: usize,
) -> Vec<Option<InstanceOperand>> {
    let place = &parsed.operands[slot];
    let Some(ty) = register_type(parsed, mods, slot) else { return vec![] };
    let vec = parsed.mods.iter().position(|m| m.name == ".vec").and_then(|v| mods[v]);
    let integer = matches!(ty.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed);
    let mut kinds = vec![];
    match place.class {
        _ if place.address => kinds.push((InstanceKind::Address, Ty::B64)),
        _ if place.constant => {
            let small = |c: &u64| *c < 256;
            let constants = constants(place.name, ty).into_iter().filter(small);
            kinds.extend(constants.map(|c| (InstanceKind::Constant(c), ty)));
        }
        Class::Vector(_) => match vec.and_then(|v| v[2..].parse::<u8>().ok()) {
            Some(len) => {
                kinds.push((InstanceKind::Vector { len, dropped: false }, ty));
                kinds.extend(place.dest.then_some((InstanceKind::Vector { len, dropped: true }, ty)));
            }
            None => {
                kinds.push((InstanceKind::Register, ty));
                // Of a wider register, memory has the low bits.
                kinds.extend((integer && ty.bits() < 64).then_some((InstanceKind::Register, Ty::B64)));
            }
        },
        Class::Any(_) => {
            kinds.push((InstanceKind::Register, ty));
            for len in [2, 4] {
                let element = [Ty::B8, Ty::B16, Ty::B32, Ty::B64];
                if let Some(e) = element.into_iter().find(|e| e.bits() * u32::from(len) == ty.bits()) {
                    kinds.push((InstanceKind::Vector { len, dropped: false }, e));
                    kinds.extend(place.dest.then_some((InstanceKind::Vector { len, dropped: true }, e)));
                }
            }
            if !place.dest {
                kinds.extend(constants(place.name, ty).into_iter().map(|c| (InstanceKind::Constant(c), ty)));
                let fits = |s: &&SpecialRegister| s.ty.bits() == ty.bits() || s.has_halves();
                kinds.extend(specials().iter().filter(fits).map(|s| (InstanceKind::Special(s.name), s.ty)));
            }
        }
        _ => kinds.push((InstanceKind::Register, ty)),
    }
    if let Some(range) = place.range {
        // A barrier, or three warps.
        let usual = [3, 96].into_iter().find(|n| range.contains(*n));
        let one = (InstanceKind::Constant(u64::from(usual.unwrap_or(range.some(1)))), ty);
        if !kinds.contains(&one) {
            kinds.push(one);
        }
    }
    if place.sink {
        kinds.push((InstanceKind::Sink, ty));
    }
    let mut out: Vec<Option<InstanceOperand>> = vec![];
    out.extend(place.optional.then_some(None));
    for (kind, ty) in kinds {
        let operand = |not: bool| InstanceOperand {
            slot,
            name: place.name,
            selector: None,
            neg: false,
            not,
            pair: place.pair,
            ty,
            dest: place.dest,
            kind,
        };
        out.push(Some(operand(false)));
        out.extend((place.not && kind == InstanceKind::Register).then(|| Some(operand(true))));
    }
    out
}

/// Constants worth trying in an operand place: all tables of `lop3`, sizes that are lines of a cache, edges of the type.
fn constants(name: &str, ty: Ty) -> Vec<u64> {
    match (name, ty) {
        ("immLut", _) => (0..256).collect(),
        ("size", _) => vec![128],
        (_, Ty::Pred) => vec![0, 1],
        (_, Ty::F32) => vec![0, 0x3f80_0000, 0x8000_0001, 0xff80_0001],
        (_, Ty::F64) => vec![0, 0x3ff0_0000_0000_0000, 0x8000_0000_0000_0001, 0xfff0_0000_0000_0001],
        _ => {
            let mask = u64::MAX >> (64 - ty.bits().min(64));
            vec![0, 1, 7, mask, mask ^ mask >> 1]
        }
    }
}

/// The register type that fits an operand place best.
fn register_type(parsed: &Parsed, mods: &[Option<&'static str>], slot: usize) -> Option<Ty> {
    let ty = |i: usize| mods[i].and_then(Ty::parse);
    Some(match parsed.operands[slot].class {
        Class::Is(t) => t,
        Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => ty(i)?,
        Class::Wide(i) => ty(i)?.doubled()?,
        Class::Video32 => Ty::B32,
        Class::Label | Class::Name | Class::List(..) | Class::Tuple | Class::Handle | Class::Operand => {
            return None;
        }
    })
}

impl Instance {
    /// What stands where, if the instance is legal.
    pub fn matched(&self) -> Option<Match> {
        let mut operands: Vec<Operand<'_>> = vec![];
        for o in &self.operands {
            let reg = || OperandKind::Reg(o.ty.declared());
            let kind = match o.kind {
                InstanceKind::Register => reg(),
                InstanceKind::Vector { len, dropped } => {
                    let mut elements = vec![Operand::new(reg()); len.into()];
                    if let Some(last) = elements.last_mut().filter(|_| dropped) {
                        last.kind = OperandKind::Sink;
                    }
                    OperandKind::Vector(elements)
                }
                InstanceKind::Constant(_) if o.ty == Ty::F32 => OperandKind::Float(Some(32)),
                InstanceKind::Constant(_) if o.ty == Ty::F64 => OperandKind::Float(Some(64)),
                InstanceKind::Constant(_) => OperandKind::Int,
                InstanceKind::Special(_) => OperandKind::Special(o.ty),
                InstanceKind::Address => OperandKind::Address(Some(Ty::B64)),
                InstanceKind::Sink => OperandKind::Sink,
            };
            let operand = Operand { selector: o.selector, neg: o.neg, not: o.not, kind, sum: false };
            match operands.pop_if(|_| o.pair) {
                Some(first) => {
                    operands.push(Operand::new(OperandKind::Pair(Box::new(first), Box::new(operand))));
                }
                None => operands.push(operand),
            }
        }
        let instr = Instr { opcode: self.opcode, mods: &self.mods, operands: &operands };
        resolve(&instr, Env::NEWEST).ok()
    }
}

fn is_legal(i: &Instance, parsed: &'static Parsed) -> bool {
    // An operand left out before one that is given would move the others: such a choice does not say what it means.
    let in_place = |m: &Match| i.operands.iter().all(|o| m.operands[o.slot].is_some());
    i.matched().is_some_and(|m| std::ptr::eq(m.parsed, parsed) && in_place(&m))
}

/// The cartesian product, first factor slowest.
fn product<T: Clone>(choices: &[Vec<T>]) -> Vec<Vec<T>> {
    choices.iter().fold(vec![vec![]], |acc, c| {
        acc.iter()
            .flat_map(|head| c.iter().map(move |x| [head.as_slice(), std::slice::from_ref(x)].concat()))
            .collect()
    })
}

/// At most `limit` combinations, one from each list; all of them if they are not more.
pub(crate) fn combinations<T: Clone>(choices: &[Vec<T>], limit: usize) -> Vec<Vec<T>> {
    let total: u128 = choices.iter().map(|c| c.len() as u128).product();
    let take = total.min(limit as u128);
    // A step near the golden ratio of the total that shares no factor with it visits far-apart combinations, none twice.
    let mut step = (total * 618 / 1000).max(1);
    while gcd(step, total) > 1 {
        step += 1;
    }
    (0..take)
        .map(|k| {
            let mut at = k * step % total;
            let pick = |c: &Vec<T>| {
                let i = at % c.len() as u128;
                at /= c.len() as u128;
                c[i as usize].clone()
            };
            choices.iter().map(pick).collect()
        })
        .collect()
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
