//! Random instructions from the forms of the instruction set.

use crate::program::{Bank, Inst, Operand, POLICY, Reg, What};
use crate::random::Random;
use hostwarp::compile::{self, Severity};
use hostwarp_isa as isa;
use hostwarp_isa::form::{Class, OperandSlot};
use hostwarp_isa::{Env, Instr, OperandKind, Parsed, Ty};
use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex};

/// What modules are for.
pub const ENV: Env = Env::new(88, 90);

/// A form of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpForm {
    /// The opcode.
    pub opcode: &'static str,
    /// The form.
    pub parsed: &'static Parsed,
}

/// What kind of statement a form makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// A result from registers, lane by lane.
    Lane,
    /// Among the lanes of a warp, who are named by a mask.
    Warp,
    /// A load or store.
    Access,
    /// An atomic operation.
    Atomic,
    /// No operand and no result: fences and pauses.
    Quiet,
}

/// The forms of a family, grouped by room: all rooms are equally likely, however many opcodes they have.
pub fn forms(family: Family) -> &'static [Vec<OpForm>] {
    static FORMS: LazyLock<BTreeMap<Family, Vec<Vec<OpForm>>>> = LazyLock::new(|| {
        let mut all: BTreeMap<Family, BTreeMap<&'static str, Vec<OpForm>>> = BTreeMap::new();
        for opcode in isa::opcodes() {
            let Some((entry, opcode)) = isa::find(opcode) else { continue };
            for parsed in &entry.forms {
                if let Some(family) = family_of(opcode, entry.room.section, parsed) {
                    let rooms = all.entry(family).or_default();
                    rooms.entry(entry.room.opcodes[0]).or_default().push(OpForm { opcode, parsed });
                }
            }
        }
        all.into_iter().map(|(f, rooms)| (f, rooms.into_values().collect())).collect()
    });
    FORMS.get(&family).map_or(&[], |v| v)
}

fn family_of(opcode: &str, section: &str, parsed: &Parsed) -> Option<Family> {
    let since = parsed.form.since;
    if since.ptx > ENV.ptx || since.sm > ENV.sm {
        return None;
    }
    let operands = &parsed.operands;
    let dest = operands.iter().any(|o| o.dest);
    if operands.iter().any(|o| o.name == "membermask") {
        return dest.then_some(Family::Warp);
    }
    let strange = |c: Class| {
        matches!(
            c,
            Class::Label | Class::Name | Class::List(..) | Class::Tuple | Class::Handle | Class::Operand
        )
    };
    if operands.iter().any(|o| strange(o.class)) {
        return None;
    }
    // What is completed later is asked for at an mbarrier, and what a whole warp does needs all of it: neither goes anywhere.
    let literal = |name: &str| parsed.mods.iter().any(|m| m.name == name && !m.optional);
    if literal(".async") || literal(".bulk") || dest && literal(".sync") {
        return None;
    }
    match opcode {
        "atom" | "red" => Some(Family::Atomic),
        "ld" | "ldu" | "st" => Some(Family::Access),
        "fence" | "membar" | "nanosleep" | "pmevent" => {
            operands.iter().all(|o| !o.address).then_some(Family::Quiet)
        }
        "activemask" => Some(Family::Warp),
        // A thread's stack is what is left of its memory, and a pointer to it what `stacksave` gave.
        "alloca" | "stacksave" | "stackrestore" => None,
        // Barriers and branches are statements of their own; hints have no result.
        _ if section.starts_with("9.7.12.") || section.starts_with("9.7.13.1") => None,
        _ => (dest && operands.iter().all(|o| !o.address)).then_some(Family::Lane),
    }
}

/// How many registers there are of each bank instructions work on.
pub fn count(bank: Bank) -> u8 {
    match bank {
        Bank::R => 6,
        Bank::P | Bank::L => 3,
        Bank::Q => 1,
        _ => 2,
    }
}

/// Makes instructions.
#[derive(Debug)]
pub struct Maker<'a> {
    /// Where choices come from.
    pub r: &'a mut Random,
    /// The lanes that are here together, where that is known.
    pub mask: Option<Reg>,
}

impl Maker<'_> {
    /// Some register of the bank.
    pub fn reg(&mut self, bank: Bank) -> Reg {
        Reg(bank, self.r.below(count(bank).into()) as u8)
    }

    /// A register that a value of this type fits.
    pub fn typed(&mut self, ty: Ty) -> Reg {
        let bank = match ty {
            Ty::Pred => Bank::P,
            Ty::F32 if self.r.percent(70) => Bank::F,
            Ty::F64 if self.r.percent(70) => Bank::D,
            Ty::B32 if self.r.percent(10) => Bank::F,
            Ty::B64 if self.r.percent(10) => Bank::D,
            t => match t.bits() {
                8 | 16 => Bank::H,
                32 => Bank::R,
                64 => Bank::L,
                _ => Bank::Q,
            },
        };
        self.reg(bank)
    }

    /// A register at least as wide as the type.
    fn wider(&mut self, ty: Ty) -> Reg {
        let bank = match ty.bits() {
            _ if ty.is_float() => return self.typed(ty),
            8 => *self.r.pick(&[Bank::H, Bank::R, Bank::R, Bank::L]),
            16 => *self.r.pick(&[Bank::H, Bank::H, Bank::R]),
            32 => *self.r.pick(&[Bank::R, Bank::R, Bank::R, Bank::L]),
            _ => return self.typed(ty),
        };
        self.reg(bank)
    }

    /// A cache policy that `createpolicy` gives: another one is an illegal instruction on a GPU.
    fn policy(&mut self) -> What {
        if self.r.percent(50) {
            return What::Reg(POLICY);
        }
        let primary = *self.r.pick(&[0x10, 0x12, 0x14, 0x16_u64]);
        let sixteenths = self.r.below(16) as u64;
        What::Constant((primary << 56 | sixteenths << 52).to_string(), false)
    }

    /// An instruction of one of these forms; none if the forms are too picky.
    pub fn any_of(&mut self, rooms: &[Vec<OpForm>]) -> Option<Inst> {
        (0..8).find_map(|_| {
            let room = self.r.below(rooms.len());
            let form = rooms.get(room).map(|forms| *self.r.pick(forms))?;
            self.of(form, None)
        })
    }

    /// An instruction of this form. `address` stands in brackets.
    pub fn of(&mut self, form: OpForm, address: Option<&What>) -> Option<Inst> {
        (0..12).find_map(|_| {
            let mods = self.mods(form.parsed);
            self.with_mods(form, &mods, address)
        })
    }

    /// Modifiers for each place of a form; whether they go together is not known yet.
    pub fn mods(&mut self, parsed: &'static Parsed) -> Vec<Option<&'static str>> {
        (parsed.mods.iter())
            .map(|m| {
                let spaces = matches!(m.name, ".space" | ".ss");
                if m.optional && !self.r.percent(if spaces { 75 } else { 35 }) {
                    return None;
                }
                let member = *self.r.pick(m.members);
                // Shared memory goes by three names, all others by one.
                let again = spaces && member.starts_with(".shared::");
                Some(if again { *self.r.pick(m.members) } else { member })
            })
            .collect()
    }

    /// An instruction of this form with these modifiers.
    pub fn with_mods(
        &mut self,
        form: OpForm,
        mods: &[Option<&'static str>],
        address: Option<&What>,
    ) -> Option<Inst> {
        let mut operands = vec![];
        for slot in &form.parsed.operands {
            if slot.optional && self.r.percent(50) {
                if slot.pair {
                    continue;
                }
                break;
            }
            operands.push(self.operand(form.parsed, mods, slot, address)?);
        }
        let given: Vec<&'static str> = mods.iter().flatten().copied().collect();
        let head = format!("{}{}", form.opcode, given.concat());
        let inst = Inst { guard: None, head, operands, form: Some(form.parsed.form.syntax) };
        // Which of two results a register holds in the end is not said.
        let mut written = inst.writes();
        written.sort_unstable();
        if written.windows(2).any(|w| w[0] == w[1]) {
            return None;
        }
        let legal = {
            let operands = isa_operands(&inst.operands);
            let instr = Instr { opcode: form.opcode, mods: &given, operands: &operands };
            isa::resolve(&instr, ENV).is_ok_and(|m| std::ptr::eq(m.parsed, form.parsed))
        };
        (legal && is_supported(&inst)).then_some(inst)
    }

    fn operand(
        &mut self,
        parsed: &'static Parsed,
        mods: &[Option<&'static str>],
        slot: &'static OperandSlot,
        address: Option<&What>,
    ) -> Option<Operand> {
        let what = self.what(parsed, mods, slot, address)?;
        let register = matches!(what, What::Reg(_));
        let selector = match &slot.selector {
            Some((members, optional)) if register && (!optional || self.r.percent(50)) => {
                Some(*self.r.pick(members))
            }
            _ => None,
        };
        Some(Operand {
            what,
            dest: slot.dest,
            pair: slot.pair,
            neg: slot.neg && register && self.r.percent(30),
            not: slot.not && register && self.r.percent(30),
            selector,
        })
    }

    fn what(
        &mut self,
        parsed: &'static Parsed,
        mods: &[Option<&'static str>],
        slot: &'static OperandSlot,
        address: Option<&What>,
    ) -> Option<What> {
        if slot.address {
            return address.cloned();
        }
        if slot.name == "membermask" {
            return self.mask.map(What::Reg);
        }
        let ty = |i: usize| mods[i].and_then(Ty::parse);
        let ty = match slot.class {
            Class::Is(t) => t,
            Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => ty(i)?,
            Class::Wide(i) => ty(i)?.doubled()?,
            Class::Video32 => Ty::B32,
            Class::Label | Class::Name | Class::List(..) | Class::Tuple | Class::Handle | Class::Operand => {
                return None;
            }
        };
        if let Some(range) = slot.range {
            return Some(What::Constant(range.text(self.r.below(1 << 16) as u32), false));
        }
        if slot.name == "cache-policy" {
            return Some(self.policy());
        }
        if slot.constant {
            return Some(What::Constant((self.r.bits() & 255).to_string(), false));
        }
        if slot.sink && self.r.percent(10) {
            return Some(What::Sink);
        }
        // The state of an mbarrier is opaque, and the driver's assembler ends the process over a constant.
        if slot.immediate && !slot.dest && slot.name != "state" && self.r.percent(18) {
            let float = matches!(ty, Ty::F32 | Ty::F64);
            return Some(What::Constant(self.r.constant(ty), float));
        }
        let count = (parsed.mods.iter().position(|m| m.name == ".vec"))
            .and_then(|v| mods[v])
            .and_then(|v| v[2..].parse::<usize>().ok());
        Some(match (slot.class, count) {
            (Class::Vector(_), Some(n)) => {
                let first = self.wider(ty);
                // Elements are equally wide, and no register is written twice.
                let registers = crate::instruction::count(first.0);
                if usize::from(registers) < n {
                    return None;
                }
                let from = self.r.below(registers.into()) as u8;
                let element = |i: usize| What::Reg(Reg(first.0, (from + i as u8) % registers));
                What::Vector((0..n).map(element).collect())
            }
            (Class::Vector(_) | Class::AtLeast(_), _) => What::Reg(self.wider(ty)),
            (Class::Any(_), _) if ty.kind() == isa::Kind::Bits && ty.bits() >= 32 && self.r.percent(30) => {
                let n = *self.r.pick(&[2, 4]);
                let bank = match ty.bits() / n {
                    16 => Bank::H,
                    32 => Bank::R,
                    64 => Bank::L,
                    _ => return None,
                };
                let from = self.r.below(crate::instruction::count(bank).into()) as u8;
                let element = |i| What::Reg(Reg(bank, (from + i as u8) % crate::instruction::count(bank)));
                What::Vector((0..n).map(element).collect())
            }
            _ => What::Reg(self.typed(ty)),
        })
    }
}

/// The operands as `isa` wants them.
fn isa_operands(operands: &[Operand]) -> Vec<isa::Operand<'static>> {
    fn kind(what: &What) -> OperandKind<'static> {
        match what {
            What::Reg(r) => OperandKind::Reg(r.0.ty()),
            What::Constant(_, false) => OperandKind::Int,
            What::Constant(text, true) => {
                OperandKind::Float(Some(if text.starts_with("0f") { 32 } else { 64 }))
            }
            What::Sink => OperandKind::Sink,
            What::Vector(es) => OperandKind::Vector(es.iter().map(|e| isa::Operand::new(kind(e))).collect()),
            What::Address(..) => OperandKind::Address(Some(Ty::B64)),
            What::Named(..) => OperandKind::Address(None),
            What::Special(_) => OperandKind::Special(Ty::U32),
            What::Name(_) => OperandKind::Name,
        }
    }
    let mut out: Vec<isa::Operand<'static>> = vec![];
    for o in operands {
        let operand =
            isa::Operand { selector: o.selector, neg: o.neg, not: o.not, ..isa::Operand::new(kind(&o.what)) };
        match out.pop_if(|_| o.pair) {
            Some(first) => out.push(isa::Operand::new(OperandKind::Pair(Box::new(first), Box::new(operand)))),
            None => out.push(operand),
        }
    }
    out
}

/// Whether Hostwarp does this instruction: some forms are known and not done yet.
fn is_supported(inst: &Inst) -> bool {
    static KNOWN: LazyLock<Mutex<HashMap<String, bool>>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    // The answer must not depend on what was asked before, or a seed would not always give the same kernel.
    let key = format!("{}{}", inst.head, inst.operands.iter().map(kind).collect::<String>());
    if let Some(yes) = known().get(&key) {
        return *yes;
    }
    let mut text = String::from(".version 8.8\n.target sm_90\n.address_size 64\n.const .b8 table[256];\n");
    text += ".entry e(.param .align 16 .b8 bag[32])\n{\n";
    for bank in Bank::GENERAL.into_iter().chain([Bank::M, Bank::A, Bank::T, Bank::B]) {
        let first = Reg(bank, 0).to_string();
        text += &format!(".reg {} {}<256>;\n", bank.ty(), first.trim_end_matches('0'));
    }
    text += ".shared .align 16 .b8 slots[64];\n.shared .b64 cells[8];\n.local .align 16 .b8 mine[64];\n";
    text += &format!("{inst}\n}}\n");
    let out = compile::compile(&hostwarp::syntax::parse(text.as_bytes()), &compile::Options::default());
    let fine = |s: Severity| !matches!(s, Severity::Error | Severity::Unsupported);
    let yes = out.diagnostics.iter().all(|d| fine(d.severity));
    known().insert(key, yes);
    yes
}

/// What kind of operand stands there, as far as it can matter.
fn kind(o: &Operand) -> String {
    let what = match &o.what {
        What::Reg(r) | What::Address(r, _) => format!("{:?}", r.0),
        What::Constant(_, float) => format!("{float}"),
        What::Sink => "_".into(),
        What::Vector(es) => format!("{}{:?}", es.len(), es.first().map(std::mem::discriminant)),
        What::Named(name, _) | What::Special(name) | What::Name(name) => (*name).into(),
    };
    format!(" {what}{}{}{}", o.neg, o.not, o.selector.is_some())
}
