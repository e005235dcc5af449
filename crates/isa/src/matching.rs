//! Which form an instruction has, or why it has none.

use crate::form::{Class, Of, OperandSlot, Parsed, Since, is_member};
use crate::ty::{Kind, Ty};
use crate::{Entry, Room};

/// An operand as it stands in the text, names resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand<'a> {
    /// What it is.
    pub kind: OperandKind<'a>,
    /// Its selector or component, with the dot.
    pub selector: Option<&'a str>,
    /// Has a minus.
    pub neg: bool,
    /// Has an exclamation mark.
    pub not: bool,
    /// Something is added to it: a constant to a register, or an offset to a variable.
    pub sum: bool,
}

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub enum OperandKind<'a> {
    /// A register.
    Reg(Ty),
    /// A special register of this type.
    Special(Ty),
    /// An integer constant.
    Int,
    /// A float constant; its width if the text fixes it (`0f…` 32, `0d…` 64).
    Float(Option<u32>),
    /// `_`
    Sink,
    /// A vector of operands.
    Vector(Vec<Operand<'a>>),
    /// Two joined by `|`.
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// Something in brackets: the type of the register that it begins with, if it does.
    Address(Option<Ty>),
    /// Several things in brackets: `[map, {x, y}]`.
    Tuple(Vec<Operand<'a>>),
    /// A label.
    Label,
    /// The name of a variable or function (its address).
    Name,
    /// Something else (a call's argument list, …), described.
    Other(&'static str),
}

impl<'a> Operand<'a> {
    /// A plain operand.
    pub fn new(kind: OperandKind<'a>) -> Operand<'a> {
        Operand { kind, selector: None, neg: false, not: false, sum: false }
    }
}

/// An instruction as it stands in the text.
#[derive(Clone, Debug)]
pub struct Instr<'a> {
    /// The opcode.
    pub opcode: &'a str,
    /// Modifiers with their dots, in order.
    pub mods: &'a [&'a str],
    /// Operands in order.
    pub operands: &'a [Operand<'a>],
}

/// What the module says it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Env {
    /// `.version`, major × 10 + minor.
    pub ptx: u16,
    /// `.target sm_…`.
    pub sm: u16,
    /// The suffix of the target.
    pub features: Features,
}

impl Env {
    /// Everything allowed, what newer versions no longer have included.
    pub const NEWEST: Env = Env { ptx: u16::MAX, sm: u16::MAX, features: Features::All };

    /// A version (major × 10 + minor) and a target without a suffix.
    pub const fn new(ptx: u16, sm: u16) -> Env {
        Env { ptx, sm, features: Features::Base }
    }
}

/// What the suffix of a target adds to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Features {
    /// None: `sm_100`.
    Base,
    /// What its family has: `sm_100f`.
    Family,
    /// What it alone has: `sm_100a`.
    Arch,
    /// Everything.
    All,
}

impl Features {
    /// Whether the target `sm` with this suffix is one of `only`: `90a` is that target alone, `100f` the family from there on.
    pub fn has(self, sm: u16, only: &str) -> bool {
        let family = |sm: u16| sm / 10;
        only.is_empty()
            || self == Features::All
            || only.split_whitespace().any(|one| {
                let number: u16 = one[..one.len() - 1].parse().unwrap_or(0);
                match &one[one.len() - 1..] {
                    "a" => self == Features::Arch && sm == number,
                    _ => self != Features::Base && family(sm) == family(number) && sm >= number,
                }
            })
    }
}

/// Which form it is, and what stands in each place.
#[derive(Clone, Debug)]
pub struct Match {
    /// The room.
    pub room: &'static Room,
    /// The opcode, one of the room's.
    pub opcode: &'static str,
    /// The form.
    pub parsed: &'static Parsed,
    /// For each modifier place what stands there.
    pub mods: Vec<Option<&'static str>>,
    /// For each operand place the operand standing there: index into the instruction's operands. The second half of a pair
    /// has the same index as the first.
    pub operands: Vec<Option<usize>>,
    /// A repeated modifier (ptxas lets `.sat` and `.relu` pass): index into the instruction's modifiers.
    pub repeated: Option<usize>,
    /// ptxas takes an operand that no manual has: index into the instruction's operands. What it means there is not known.
    pub unclear: Option<usize>,
}

impl Match {
    /// What stands in the modifier place `name` (with its dot).
    pub fn get(&self, name: &str) -> Option<&'static str> {
        debug_assert!(
            self.room.knows(|p| p.mods.iter().any(|m| m.name == name)),
            "no form of {:?} has a place `{name}`",
            self.room
        );
        let i = self.parsed.mods.iter().position(|m| m.name == name)?;
        self.mods[i]
    }

    /// Whether the modifier (with its dot) is there.
    pub fn has(&self, modifier: &str) -> bool {
        debug_assert!(
            self.room.knows(|p| p.mods.iter().any(|m| m.members.contains(&modifier))),
            "no form of {:?} has a modifier `{modifier}`",
            self.room
        );
        self.mods.iter().flatten().any(|m| *m == modifier)
    }

    /// The type in the modifier place `name`.
    pub fn ty(&self, name: &str) -> Option<Ty> {
        self.get(name).and_then(Ty::parse)
    }

    /// The size of an address that the instruction names: what forms call `.size`.
    pub fn address_size(&self) -> Option<Ty> {
        let place = self.parsed.mods.iter().position(|m| m.name == ".size")?;
        self.mods[place].and_then(Ty::parse)
    }

    /// The index of the operand place called `name`.
    pub fn slot(&self, name: &str) -> Option<usize> {
        debug_assert!(
            self.room.knows(|p| p.operands.iter().any(|o| o.name == name)),
            "no form of {:?} has an operand `{name}`",
            self.room
        );
        self.parsed.operands.iter().position(|o| o.name == name)
    }

    /// The type an operand place has in this instruction.
    pub fn operand_ty(&self, slot: usize) -> Option<Ty> {
        let ty = |i: usize| self.mods[i].and_then(Ty::parse);
        match self.parsed.operands[slot].class {
            Class::Is(t) => Some(t),
            Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => ty(i),
            Class::Wide(i) => ty(i).and_then(Ty::doubled),
            Class::Video32 => Some(Ty::B32),
            Class::List(_, Of::Is(t)) => Some(t),
            Class::List(_, Of::Slot(i)) => Some(in_registers(self.parsed, self.mods[i])),
            Class::Label | Class::Name | Class::Tuple | Class::Handle | Class::Operand => None,
        }
    }
}

/// Why an instruction does not have a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// No room has this opcode. Near names.
    UnknownOpcode {
        #[allow(missing_docs)]
        near: Vec<&'static str>,
    },
    /// No form of this opcode has this modifier (index). Near names.
    UnknownModifier {
        #[allow(missing_docs)]
        index: usize,
        #[allow(missing_docs)]
        near: Vec<&'static str>,
    },
    /// Two modifiers (indices) that no form has together.
    Conflict {
        #[allow(missing_docs)]
        index: usize,
        #[allow(missing_docs)]
        with: usize,
    },
    /// A modifier (index) that does not go with this form, for the reason given by the form itself.
    NotHere {
        #[allow(missing_docs)]
        index: usize,
    },
    /// A modifier (index) given twice.
    Repeated {
        #[allow(missing_docs)]
        index: usize,
    },
    /// A modifier is missing: its place and what may stand there.
    Missing {
        #[allow(missing_docs)]
        name: &'static str,
        #[allow(missing_docs)]
        members: &'static [&'static str],
    },
    /// Too many or too few operands.
    OperandCount {
        #[allow(missing_docs)]
        least: usize,
        #[allow(missing_docs)]
        most: usize,
        #[allow(missing_docs)]
        got: usize,
    },
    /// An operand (index) that may not stand there.
    Operand {
        #[allow(missing_docs)]
        index: usize,
        /// What is wrong, a sentence part: "must be a register".
        why: String,
    },
    /// Something (index of a modifier, or the whole form) that the declared `.version` does not have yet.
    Version {
        #[allow(missing_docs)]
        index: Option<usize>,
        #[allow(missing_docs)]
        since: Since,
    },
    /// Something that the declared `.target` does not have.
    Target {
        #[allow(missing_docs)]
        index: Option<usize>,
        #[allow(missing_docs)]
        since: Since,
    },
    /// Something that only these targets have, each with its suffix.
    Only(&'static str),
    /// Something that newer versions no longer have for newer targets.
    Gone(Since),
    /// A rule of the instruction that its notation cannot say.
    Rule(String),
}

/// Modifiers that ptxas lets pass twice.
const REPEATABLE: &[&str] =
    &[".sat", ".relu", ".NaN", ".uni", ".sync", ".cc", ".approx", ".shiftamt", ".satfinite"];

/// A rule: those of these modifiers that are there are part of the opcode (`mul.lo`, `cvta.to`), so they stand first and in this order.
pub(crate) fn stand_first(instr: &Instr<'_>, parts: &[&str]) -> Result<(), String> {
    let present = parts.iter().filter(|p| instr.mods.contains(p));
    match present.zip(instr.mods).find(|(part, m)| part != m) {
        None => Ok(()),
        Some((part, _)) => {
            Err(format!("`{part}` is part of the opcode and stands right behind `{}`", instr.opcode))
        }
    }
}

/// As [`whole_addresses`], of the first operand alone.
pub(crate) fn whole_first_address(instr: &Instr<'_>) -> Result<(), String> {
    whole_addresses(&Instr { operands: &instr.operands[..1.min(instr.operands.len())], ..*instr })
}

/// A rule: addresses in registers have 32 or 64 bits. Others can be read from narrower ones; what ptxas makes a function of cannot.
pub(crate) fn whole_addresses(instr: &Instr<'_>) -> Result<(), String> {
    match instr.operands.iter().find_map(|o| match o.kind {
        OperandKind::Address(Some(ty)) if ty.bits() < 32 => Some(ty),
        _ => None,
    }) {
        None => Ok(()),
        Some(ty) => Err(format!("an address has 32 or 64 bits here, not `{ty}`")),
    }
}

/// No form has as many modifiers. What is wrong with the first of them is enough to say, and each is held against all others.
const MOST_MODIFIERS: usize = 64;

/// Finds the form of an instruction. On failure: the nearest form and everything that keeps the instruction from it.
pub fn resolve(instr: &Instr<'_>, env: Env) -> Result<Match, (Option<&'static Parsed>, Vec<Misfit>)> {
    if let Some(first) = instr.mods.get(..MOST_MODIFIERS).filter(|first| first.len() < instr.mods.len()) {
        let too_many = |m: Match| (Some(m.parsed), vec![Misfit::Repeated { index: MOST_MODIFIERS }]);
        return Err(resolve(&Instr { mods: first, ..*instr }, env).map_or_else(|e| e, too_many));
    }
    let Some((entry, opcode)) = crate::find(instr.opcode) else {
        return Err((None, vec![Misfit::UnknownOpcode { near: crate::near_opcodes(instr.opcode) }]));
    };
    let mut best: Option<(u32, &'static Parsed, Vec<Misfit>)> = None;
    for parsed in &entry.forms {
        match try_form(entry, opcode, parsed, instr, env) {
            Ok(m) => return Ok(m),
            Err((cost, misfits)) => {
                if best.as_ref().is_none_or(|b| cost < b.0) {
                    best = Some((cost, parsed, misfits));
                }
            }
        }
    }
    let (_, parsed, misfits) = best.unwrap_or((0, &entry.forms[0], vec![]));
    Err((Some(parsed), misfits))
}

fn try_form(
    entry: &'static Entry,
    opcode: &'static str,
    parsed: &'static Parsed,
    instr: &Instr<'_>,
    env: Env,
) -> Result<Match, (u32, Vec<Misfit>)> {
    let mut misfits = vec![];
    let mut cost = 0;
    let mut blame = |c: u32, m: Misfit| {
        cost += c;
        misfits.push(m);
    };
    let mut mods: Vec<Option<&'static str>> = vec![None; parsed.mods.len()];
    let mut filled_by: Vec<Option<usize>> = vec![None; parsed.mods.len()];
    let mut repeated = None;
    let mut unclear = None;
    let mut strangers = vec![];
    // Modifiers may stand in any order, but types keep theirs: `cvt.rn.f32.f64` is not `cvt.rn.f64.f32`.
    let (mut next_type, mut next_layout) = (0, 0);
    for (i, m) in instr.mods.iter().enumerate() {
        let takes = |s: usize| parsed.mods[s].members.iter().find(|x| *x == m);
        let is_type = keeps_its_place(m);
        let is_layout = matches!(*m, ".row" | ".col");
        let free = |s: &usize| mods[*s].is_none() && takes(*s).is_some();
        let first = match (is_type, is_layout) {
            (true, _) => next_type,
            (_, true) => next_layout,
            _ => 0,
        };
        if let Some(s) = (first..mods.len()).find(free) {
            mods[s] = takes(s).copied();
            filled_by[s] = Some(i);
            if is_type {
                next_type = s + 1;
            } else if is_layout {
                next_layout = s + 1;
            }
        } else if (0..first).any(|s| free(&s)) {
            blame(10, Misfit::NotHere { index: i });
        } else if REPEATABLE.contains(m) && mods.iter().flatten().any(|x| x == m) {
            repeated = Some(i);
        } else if (0..mods.len()).any(|s| takes(s).is_some()) {
            blame(8, Misfit::Repeated { index: i });
        } else {
            strangers.push(i);
        }
    }
    for i in &strangers {
        blame(10, stranger(entry, instr, *i));
    }
    // A modifier that does not fit was most likely meant for the place that is empty: one fault, one message.
    let empty = parsed.mods.iter().enumerate().filter(|(s, slot)| mods[*s].is_none() && !slot.optional);
    let mut left_empty = 0;
    for (n, (_, slot)) in empty.enumerate() {
        if n < strangers.len() {
            left_empty += 1;
        } else {
            blame(9, Misfit::Missing { name: slot.name, members: slot.members });
        }
    }
    // Operands: places that are the second half of a pair ride on the one before.
    let places = || parsed.operands.iter().filter(|o| !o.pair);
    let most = places().count();
    let least = places().filter(|o| !o.optional).count();
    let got = instr.operands.len();
    let mut operands: Vec<Option<usize>> = vec![None; parsed.operands.len()];
    if got < least || got > most {
        blame(6, Misfit::OperandCount { least, most, got });
    } else {
        let mut next = 0;
        for (s, slot) in parsed.operands.iter().enumerate() {
            if slot.pair || next >= got {
                continue;
            }
            let index = next;
            next += 1;
            operands[s] = Some(index);
            let second = parsed.operands.get(s + 1).filter(|o| o.pair);
            let op = &instr.operands[index];
            let parts: Vec<(&OperandSlot, usize, &Operand<'_>)> = match (&op.kind, second) {
                (OperandKind::Pair(a, b), Some(two)) => {
                    operands[s + 1] = Some(index);
                    vec![(slot, s, a), (two, s + 1, b)]
                }
                (_, Some(two)) if !two.optional => {
                    blame(4, Misfit::Operand { index, why: "must be a pair joined by `|`".into() });
                    continue;
                }
                _ => vec![(slot, s, op)],
            };
            for (slot, _, op) in parts {
                match fits(slot, op, parsed, &mods) {
                    Err(_) if crate::lenient::passes(opcode, slot, op, parsed, &mods) => {
                        unclear = Some(index)
                    }
                    Err(why) => blame(4, Misfit::Operand { index, why }),
                    Ok(()) if crate::lenient::holds_predicates(opcode, op) => unclear = Some(index),
                    Ok(()) => {}
                }
            }
        }
    }
    cost += 9 * left_empty;
    if misfits.is_empty() {
        let form = parsed.form;
        let need = |misfits: &mut Vec<Misfit>, index: Option<usize>, since: Since| {
            if env.ptx < since.ptx {
                misfits.push(Misfit::Version { index, since });
            } else if env.sm < since.sm {
                misfits.push(Misfit::Target { index, since });
            }
        };
        if !form.sooner.is_some_and(|sooner| env.ptx >= sooner.ptx && env.sm >= sooner.sm) {
            need(&mut misfits, None, form.since);
        }
        for (m, since) in form.needs {
            if let Some(name) = m.strip_prefix('%') {
                let place = parsed.operands.iter().position(|o| o.name == name).and_then(|s| operands[s]);
                if place.is_some_and(|i| in_register(&instr.operands[i])) {
                    need(&mut misfits, None, *since);
                }
                continue;
            }
            if let Some(name) = m.strip_prefix('-') {
                let gone = env.ptx >= since.ptx && env.features != Features::All;
                if gone && !instr.mods.contains(&name) {
                    misfits.push(Misfit::Gone(*since));
                }
                continue;
            }
            if let Some(name) = m.strip_prefix('=') {
                if parsed.operands.iter().position(|o| o.name == name).is_some_and(|s| operands[s].is_some())
                {
                    need(&mut misfits, None, *since);
                }
                continue;
            }
            if let Some(i) = together(instr, m) {
                need(&mut misfits, Some(i), *since);
            }
        }
        for (_, only) in form.restricted.iter().filter(|(m, _)| together(instr, m).is_some()) {
            if misfits.is_empty() && !env.features.has(env.sm, only) {
                misfits.push(Misfit::Only(only));
            }
        }
        if misfits.is_empty() && !env.features.has(env.sm, form.only) {
            misfits.push(Misfit::Only(form.only));
        }
        cost += misfits.len() as u32;
        let gone =
            |until: &Since| env.ptx >= until.ptx && env.sm >= until.sm && env.features != Features::All;
        if let Some(until) = form.until.filter(gone) {
            // What has taken its place says more.
            cost += 100;
            misfits.push(Misfit::Gone(until));
        }
    }
    if misfits.is_empty() {
        let m = Match { room: entry.room, opcode, parsed, mods, operands, repeated, unclear };
        return match entry.room.rule {
            None => Ok(m),
            Some(rule) => match rule(&m, instr) {
                Ok(()) => Ok(m),
                Err(why) => Err((1, vec![Misfit::Rule(why)])),
            },
        };
    }
    Err((cost, misfits))
}

/// Where the last of these modifiers stands, if all are there: `.cc.s64` are two.
fn together(instr: &Instr<'_>, modifiers: &str) -> Option<usize> {
    let find = |part: &str| instr.mods.iter().position(|x| x.strip_prefix('.') == Some(part));
    let places: Option<Vec<usize>> = modifiers[1..].split('.').map(find).collect();
    places?.last().copied()
}

/// Whether the operand is a register, or a list that begins with one.
fn in_register(operand: &Operand<'_>) -> bool {
    match &operand.kind {
        OperandKind::Reg(_) => true,
        OperandKind::Address(base) => base.is_some(),
        OperandKind::Tuple(parts) => parts.first().is_some_and(in_register),
        _ => false,
    }
}

/// Why modifier `i` has no place in this form: no form knows it, or it does not go with another one that is there.
fn stranger(entry: &'static Entry, instr: &Instr<'_>, i: usize) -> Misfit {
    let known = |p: &Parsed, m: &str| p.mods.iter().any(|s| s.members.contains(&m));
    let m = instr.mods[i];
    let homes: Vec<&Parsed> = entry.forms.iter().filter(|p| known(p, m)).collect();
    if homes.is_empty() {
        let all = entry.forms.iter().flat_map(|p| &p.mods).flat_map(|s| s.members.iter().copied());
        return Misfit::UnknownModifier { index: i, near: crate::near(m, all) };
    }
    // A modifier present here that no form with `m` has.
    let other = instr.mods.iter().enumerate().position(|(j, o)| j != i && !homes.iter().any(|p| known(p, o)));
    match other {
        Some(with) if entry.forms.iter().any(|p| known(p, instr.mods[with])) => {
            Misfit::Conflict { index: i, with }
        }
        _ => Misfit::NotHere { index: i },
    }
}

/// Whether a modifier is one of the types, which keep their order.
fn keeps_its_place(m: &str) -> bool {
    const NARROW: &[&str] = &[
        ".u4",
        ".s4",
        ".u2",
        ".s2",
        ".b1",
        ".e4m3",
        ".e5m2",
        ".e3m2",
        ".e2m3",
        ".e2m1",
        ".ue8m0",
        ".ue4m3",
        ".b8x16",
        ".b6x16_p32",
        ".b4x16_p64",
    ];
    Ty::parse(m).is_some() || NARROW.contains(&m)
}

/// Whether an operand may stand in a place.
pub(crate) fn fits(
    slot: &OperandSlot,
    op: &Operand<'_>,
    parsed: &Parsed,
    mods: &[Option<&'static str>],
) -> Result<(), String> {
    if op.neg && !slot.neg {
        return Err("cannot be negated here".into());
    }
    if op.neg && op.kind == OperandKind::Reg(Ty::F16x2) {
        return Err("cannot be negated: its type is .f16x2".into());
    }
    let odd = |t: Ty| t.is_float() || t == Ty::Pred || t.bits() > 64;
    if op.sum && matches!(op.kind, OperandKind::Reg(t) if odd(t)) {
        return Err("cannot be a sum".into());
    }
    if op.not && !slot.not {
        return Err("cannot be complemented here".into());
    }
    if let OperandKind::Vector(elements) | OperandKind::Tuple(elements) = &op.kind {
        let list = matches!(op.kind, OperandKind::Tuple(_));
        let parts = elements.iter().filter(|e| !(list && matches!(e.kind, OperandKind::Vector(_))));
        parts.into_iter().try_for_each(bare)?;
    }
    match (&slot.selector, op.selector) {
        (None, Some(s)) => return Err(format!("takes no selector, found `{s}`")),
        (Some((members, _)), Some(s)) if !is_member(members, s) => {
            let shown = if members.len() > 8 {
                format!("{} … {}", members[0], members[members.len() - 1])
            } else {
                members.join(" ")
            };
            return Err(format!("has no selector `{s}` (one of {shown})"));
        }
        (Some((members, false)), None) => {
            return Err(format!("needs a selector (one of {})", members.join(" ")));
        }
        _ => {}
    }
    if slot.address {
        return match op.kind {
            OperandKind::Tuple(_) if slot.class == Class::Tuple => Ok(()),
            OperandKind::Tuple(_) => Err("must be one address, not several parts".into()),
            OperandKind::Address(_) if slot.class == Class::Tuple => {
                Err("must have several parts: `[a, b]`".into())
            }
            OperandKind::Address(_) => Ok(()),
            _ => Err("must be an address in brackets".into()),
        };
    }
    let ty = |i: usize| mods[i].and_then(Ty::parse);
    let want = match slot.class {
        Class::Any(_) => return Ok(()),
        Class::Tuple => return Err("must be an address in brackets".into()),
        Class::Handle => {
            return match op.kind {
                OperandKind::Reg(Ty::U64 | Ty::B64 | Ty::S64) | OperandKind::Name => Ok(()),
                _ => Err("must be a texture, sampler or surface, or a register of 64 bits".into()),
            };
        }
        Class::Operand => {
            use OperandKind as K;
            return match &op.kind {
                K::Reg(_) | K::Int | K::Float(_) | K::Vector(_) | K::Name => Ok(()),
                _ => Err("must be a register, a vector or a constant".into()),
            };
        }
        Class::List(count, of) => {
            let want = match of {
                Of::Is(t) => t,
                Of::Slot(i) => in_registers(parsed, mods[i]),
            };
            return list_fits(count, want, slot, op);
        }
        Class::Label => {
            return if op.kind == OperandKind::Label { Ok(()) } else { Err("must be a label".into()) };
        }
        Class::Name => {
            return if op.kind == OperandKind::Name {
                Ok(())
            } else {
                Err("must be the name of a variable".into())
            };
        }
        Class::Is(t) => Some(t),
        Class::Video32 => Some(Ty::B32),
        Class::Slot(i) | Class::AtLeast(i) => ty(i),
        Class::Wide(i) => ty(i).and_then(Ty::doubled),
        Class::Vector(i) => {
            let count = match parsed.mods.iter().position(|m| m.name == ".vec").and_then(|v| mods[v]) {
                Some(v) => v[2..].parse::<usize>().unwrap_or(1),
                None => 1,
            };
            let free = slot.loose && !mods.iter().flatten().any(|m| matches!(*m, ".v2" | ".v4"));
            return match (&op.kind, count) {
                (OperandKind::Int | OperandKind::Float(_) | OperandKind::Reg(_), _)
                    if slot.loose && !slot.dest =>
                {
                    at_least(ty(i), op, slot.immediate)
                }
                (OperandKind::Vector(es), n) if es.len() == n || free && matches!(es.len(), 2 | 4) => {
                    if slot.dest && es.iter().all(|e| e.kind == OperandKind::Sink) {
                        return Err("must have at least one register".into());
                    }
                    let bits = go_together(es)?;
                    es.iter().try_for_each(|e| match (&e.kind, ty(i)) {
                        (OperandKind::Sink, _) if slot.dest => Ok(()),
                        // One element declared as bits makes bits of all; integers take floats of their size.
                        (OperandKind::Reg(r), Some(t)) if bits && r.bits() >= t.bits() => Ok(()),
                        (OperandKind::Reg(r), Some(t)) if integer(*r) && r.bits() == t.bits() => Ok(()),
                        // `mov.v4.u32 v, %tid`
                        (OperandKind::Special(r), Some(t))
                            if !slot.dest
                                && parsed.form.syntax.starts_with("mov.")
                                && r.bits() == t.bits()
                                && !t.is_float() =>
                        {
                            Ok(())
                        }
                        _ => at_least(ty(i), e, slot.immediate),
                    })
                }
                (OperandKind::Vector(es), n) => Err(format!("must have {n} elements, found {}", es.len())),
                (_, 1) => at_least(ty(i), op, slot.immediate),
                (_, n) => Err(format!("must be a vector of {n} elements")),
            };
        }
    };
    let Some(want) = want else { return Ok(()) };
    if matches!(slot.class, Class::AtLeast(_)) {
        return at_least(Some(want), op, slot.immediate);
    }
    match &op.kind {
        OperandKind::Reg(_) | OperandKind::Special(_) if slot.constant => Err("must be a constant".into()),
        OperandKind::Reg(reg) => {
            let ok = match slot.class {
                Class::Video32 => matches!(reg, Ty::B32 | Ty::U32 | Ty::S32 | Ty::F16x2),
                Class::Is(_) => want.accepts(*reg),
                _ => want.accepts(*reg) || want.bits() == 32 && takes_halves(want, *reg),
            };
            if ok { Ok(()) } else { Err(format!("has type {reg}, but {want} is wanted")) }
        }
        OperandKind::Int | OperandKind::Float(_) if slot.immediate && op.selector.is_some() => {
            Err("is a constant and takes no selector".into())
        }
        OperandKind::Float(_) if slot.class == Class::Video32 => Err("cannot be a float".into()),
        OperandKind::Int | OperandKind::Float(_) if slot.immediate => constant(want, &op.kind),
        OperandKind::Int | OperandKind::Float(_) => Err("must be a register, not a constant".into()),
        OperandKind::Sink if slot.sink => Ok(()),
        OperandKind::Special(t) => {
            Err(format!("must be a plain register; copy the special register ({t}) with `mov` first"))
        }
        OperandKind::Sink => Err("cannot be `_` here".into()),
        OperandKind::Vector(_) => Err("cannot be a vector here".into()),
        OperandKind::Pair(..) => Err("cannot be a pair here".into()),
        OperandKind::Address(_) | OperandKind::Tuple(_) => Err("cannot be an address in brackets".into()),
        OperandKind::Label => Err("cannot be a label here".into()),
        OperandKind::Name => Err("cannot be the name of a variable here; take its address with `mov`".into()),
        OperandKind::Other(what) => Err(format!("cannot be {what} here")),
    }
}

/// What a register holds of values of a type: two halves or four bytes share one of 32 bits.
fn in_registers(parsed: &Parsed, modifier: Option<&'static str>) -> Ty {
    let opcode = parsed.form.syntax.split('.').next().unwrap_or_default();
    match modifier.and_then(Ty::parse) {
        Some(t @ (Ty::F32 | Ty::F64 | Ty::S32 | Ty::U32 | Ty::B64 | Ty::B128)) => t,
        Some(Ty::F16) if matches!(opcode, "mma" | "wmma") => Ty::F16x2,
        _ => Ty::B32,
    }
}

/// A vector of registers, of one too.
fn list_fits(count: u8, want: Ty, slot: &OperandSlot, op: &Operand<'_>) -> Result<(), String> {
    let elements = match &op.kind {
        OperandKind::Vector(elements) => elements.as_slice(),
        _ if count == 0 => return Err("must be a vector".into()),
        _ => return Err(format!("must be a vector of {count} elements")),
    };
    if count != 0 && elements.len() != usize::from(count) {
        return Err(format!("must have {count} elements, found {}", elements.len()));
    }
    if elements.iter().all(|e| e.kind == OperandKind::Sink) {
        return Err("must have a register, not only `_`".into());
    }
    // One element declared as bits makes bits of all.
    let bits = go_together(elements)?;
    elements.iter().try_for_each(|e| match &e.kind {
        OperandKind::Reg(r) if want.accepts(*r) || bits && r.bits() == want.bits() => Ok(()),
        OperandKind::Reg(r) => Err(format!("has an element of type {r}, but {want} is wanted")),
        OperandKind::Sink if slot.dest => Ok(()),
        OperandKind::Int | OperandKind::Float(_) if slot.immediate => constant(want, &e.kind),
        _ => Err(format!("must be a vector of registers of type {want}")),
    })
}

/// Elements of vectors are undecorated in every form, and nothing is nested in them.
fn bare(element: &Operand<'_>) -> Result<(), String> {
    let what = match (element, &element.kind) {
        (Operand { neg: true, .. }, _) => "that is negated",
        (Operand { not: true, .. }, _) => "that is complemented",
        (Operand { selector: Some(_), .. }, _) => "with a selector",
        (_, OperandKind::Vector(_)) => "that is a vector",
        (_, OperandKind::Pair(..)) => "that is a pair",
        (_, OperandKind::Address(_) | OperandKind::Tuple(_)) => "in brackets",
        _ => return Ok(()),
    };
    Err(format!("cannot have an element {what}"))
}

fn integer(ty: Ty) -> bool {
    matches!(ty.kind(), Kind::Unsigned | Kind::Signed)
}

/// Whether the registers in a vector go together, which is an error otherwise, and whether one of them is declared as bits.
pub(crate) fn go_together(elements: &[Operand<'_>]) -> Result<bool, String> {
    let types: Vec<Ty> = elements
        .iter()
        .filter_map(|e| match e.kind {
            OperandKind::Reg(r) => Some(r),
            _ => None,
        })
        .collect();
    let bits = |t: &Ty| t.kind() == Kind::Bits;
    if types.windows(2).any(|w| w[0].bits() != w[1].bits()) {
        return Err("must have elements that are all equally wide".into());
    }
    let declared: Vec<&Ty> = types.iter().filter(|t| !bits(t)).collect();
    if declared.windows(2).any(|w| w[0] != w[1] && !(integer(*w[0]) && integer(*w[1]))) {
        return Err("must have elements that are all integers or all of one float type".into());
    }
    Ok(types.iter().any(bits))
}

/// What ptxas takes beyond the manual's rule where a place has the type of the instruction: two halves in one register are an integer too.
fn takes_halves(want: Ty, reg: Ty) -> bool {
    reg == Ty::F16x2 && want.bits() <= 32 && (integer(want) || matches!(want, Ty::U16x2 | Ty::S16x2))
}

/// The relaxed rule of `ld`, `st` and `cvt`: a register at least as wide; wider floats only as bits.
fn at_least(want: Option<Ty>, op: &Operand<'_>, immediate: bool) -> Result<(), String> {
    let Some(want) = want else { return Ok(()) };
    match &op.kind {
        OperandKind::Reg(reg) if takes_halves(want, *reg) => Ok(()),
        OperandKind::Reg(reg) if *reg != Ty::Pred && reg.bits() >= want.bits() => {
            // Floats are never widened or narrowed on the way: a float type goes with its own size, or with bits.
            let float = want.is_float() || reg.is_float();
            let bits = want.kind() == Kind::Bits || reg.kind() == Kind::Bits;
            if reg.bits() != want.bits() && float && !bits {
                return Err(format!("has type {reg}, but {want} is wanted"));
            }
            if reg.bits() == want.bits() && !want.accepts(*reg) {
                return Err(format!("has type {reg}, but {want} is wanted"));
            }
            Ok(())
        }
        OperandKind::Reg(reg) => Err(format!("has type {reg}, too narrow for {want}")),
        OperandKind::Int | OperandKind::Float(_) if immediate => constant(want, &op.kind),
        _ => Err(format!("must be a register of type {want} or wider")),
    }
}

/// Integers go with integer types and bits; floats with `.f32` and `.f64`, converted if need be, and with bits of their own width (a
/// decimal one has 64).
fn constant(want: Ty, kind: &OperandKind<'_>) -> Result<(), String> {
    match (kind, want) {
        (OperandKind::Int, w) if w.is_float() && w.kind() != Kind::Packed => {
            Err(format!("is an integer constant, but {want} is wanted"))
        }
        (OperandKind::Int, _) => Ok(()),
        (OperandKind::Float(_), Ty::F32 | Ty::F64) => Ok(()),
        (OperandKind::Float(width), _) if want.kind() == Kind::Bits && width.unwrap_or(64) == want.bits() => {
            Ok(())
        }
        _ => Err(format!("cannot be this constant: {want} is wanted")),
    }
}
