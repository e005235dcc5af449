//! Every concrete instruction a form allows: for exhaustive tests, the conformance generator and the counts in `hostwarp isa`.

use crate::form::{Class, Parsed};
use crate::matching::{Env, Instr, Match, Operand, OperandKind, resolve};
use crate::ty::Ty;

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
    /// The type of its place.
    pub ty: Ty,
    /// It is written to.
    pub dest: bool,
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
            text += &format!("{before}{sign}%{}{}", o.name, o.selector.unwrap_or(""));
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
/// whose operands are not plain registers (addresses, labels, vectors, constants) give none.
pub fn instances(opcode: &'static str, parsed: &'static Parsed, cap: usize) -> Vec<Instance> {
    let plain = |c: Class| {
        matches!(c, Class::Is(_) | Class::Slot(_) | Class::Wide(_) | Class::AtLeast(_) | Class::Video32)
    };
    if parsed.operands.iter().any(|o| o.address || o.constant || !plain(o.class)) {
        return vec![];
    }
    let mut out = vec![];
    // Each place is a digit of a mixed-radix number.
    let mod_choices: Vec<Vec<Option<&'static str>>> = parsed
        .mods
        .iter()
        .map(|m| {
            let none = m.optional.then_some(None);
            none.into_iter().chain(m.members.iter().copied().map(Some)).collect()
        })
        .collect();
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

/// The register type that fits an operand place best.
fn register_type(parsed: &Parsed, mods: &[Option<&'static str>], slot: usize) -> Option<Ty> {
    let ty = |i: usize| mods[i].and_then(Ty::parse);
    Some(match parsed.operands[slot].class {
        Class::Is(t) => t,
        Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => ty(i)?,
        Class::Wide(i) => ty(i)?.doubled()?,
        Class::Video32 => Ty::B32,
        Class::Label | Class::Name => return None,
    })
}

impl Instance {
    /// What stands where, if the instance is legal.
    pub fn matched(&self) -> Option<Match> {
        let register = |ty: Ty| match ty {
            Ty::BF16 => Ty::B16,
            Ty::F16x2 | Ty::BF16x2 | Ty::Tf32 => Ty::B32,
            t => t,
        };
        let mut operands: Vec<Operand<'_>> = vec![];
        for o in &self.operands {
            let operand = Operand {
                selector: o.selector,
                neg: o.neg,
                not: o.not,
                ..Operand::new(OperandKind::Reg(register(o.ty)))
            };
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
