//! What is tested: each form of an instruction as a case, a few lines of PTX that read the registers of their program and write others.

use crate::vectors::{Random, hash};
use crate::{control, memory};
use hostwarp_isa as isa;
use hostwarp_isa::{Instance, InstanceKind, InstanceOperand, Ty};
use std::fmt::Write;

/// One form: an instruction whose results are stored.
#[derive(Clone, Debug)]
pub struct Case {
    /// The instruction, its operands called as in the manual: `%d`, `%a`, `%b`, …; what it is tried on, where the text does not say
    /// it, as a comment. No two cases of an opcode have the same.
    pub text: String,
    /// What it is made of; `None` for what has no forms: calls and indexed branches.
    pub instance: Option<Instance>,
    /// The registers it reads and writes.
    pub registers: Vec<Register>,
    /// What it needs around it.
    pub setting: Setting,
    /// The PTX that reads and writes them.
    pub body: String,
}

impl Case {
    /// An instruction on its own: it reads and writes nothing but registers.
    fn plain(instance: Instance) -> Case {
        let text = instance.text();
        let body = format!("    {text};\n");
        let registers = registers(&instance);
        Case { text, instance: Some(instance), registers, setting: Setting::default(), body }
    }

    /// What `hostwarp eval` takes to show it, if it needs nothing around it.
    pub fn for_eval(&self) -> Option<String> {
        let lines: Vec<&str> = self.body.lines().map(str::trim).collect();
        (self.setting == Setting::default()).then(|| lines.join(" ").trim_end_matches(';').to_string())
    }
}

/// A register of a program: what cases have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register {
    /// Its name, without `%`.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Cases write it.
    pub dest: bool,
    /// A byte is a byte, not the low bits of a word.
    pub narrow: bool,
}

impl Register {
    /// One that cases read.
    pub fn source(name: impl Into<String>, ty: Ty) -> Register {
        Register { name: name.into(), ty, dest: false, narrow: false }
    }

    /// One that cases write.
    pub fn dest(name: impl Into<String>, ty: Ty) -> Register {
        Register { dest: true, ..Register::source(name, ty) }
    }
}

/// What a case needs around it. Only cases of one setting share a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Threads per CTA, where that makes a difference.
    pub block: Option<u32>,
    /// The lanes of a warp have to do with each other: see [`crate::vectors::lanes`].
    pub lanes: bool,
    /// Memory to work on: see [`memory`].
    pub memory: bool,
    /// Functions to call.
    pub functions: bool,
    /// Threads may end in it, so nothing can come behind.
    pub alone: bool,
    /// The assembler inside driver 580.159 (CUDA 13.0) crashes on it, so that it is not asked.
    pub crashes_driver: bool,
}

const VERSION: u16 = 88;
const TARGET: u16 = 90;

/// The opcodes that have cases, or could.
pub fn opcodes() -> Vec<&'static str> {
    isa::opcodes().into_iter().chain(control::WITHOUT_FORMS.iter().copied()).collect()
}

/// How many concrete instructions an opcode has, every selector counted.
pub fn legal_forms(opcode: &str) -> usize {
    let Some((entry, opcode)) = isa::find(opcode) else { return cases(opcode).len() };
    let count = |parsed: &'static isa::Parsed| {
        // Large selector sets are independent of everything else: each stands for "none" and its members.
        let large =
            parsed.operands.iter().filter_map(|o| o.selector.as_ref()).filter(|(m, _)| m.len() > SMALL);
        let factor: usize = large.clone().map(|(m, optional)| m.len() + usize::from(*optional)).product();
        let cap = if large.count() > 0 { 0 } else { usize::MAX };
        let plain = isa::instances(opcode, parsed, cap).len() * factor;
        if plain > 0 { plain } else { isa::mixed_instances(opcode, parsed, usize::MAX).len() }
    };
    entry.forms.iter().map(count).sum()
}

/// Selector sets larger than this are sampled.
const SMALL: usize = 15;
/// Of a form's combinations of modifiers at most so many are tried where operands are not plain registers: hints to caches make them
/// tens of thousands.
const LIMIT: usize = 384;

/// The concrete instructions that are tested: every form, and where selectors or modifiers are too many, a seeded choice of them.
pub fn cases(opcode: &str) -> Vec<Case> {
    let mut out = control::cases(opcode);
    let Some((entry, opcode)) = isa::find(opcode) else { return out };
    let recorded = |p: &&isa::Parsed| !p.form.later && p.form.only.is_empty() && p.form.until.is_none();
    for parsed in entry.forms.iter().filter(recorded) {
        let known = |since: isa::Since| since.ptx <= VERSION && since.sm <= TARGET;
        let form = parsed.form;
        let exists = |i: &Instance| {
            known(form.since) && form.needs.iter().all(|(m, since)| known(*since) || !i.mods.contains(m))
        };
        let plain = plain_instances(opcode, parsed);
        if plain.iter().any(stands_alone) {
            let plain: Vec<Instance> = plain.into_iter().filter(|i| exists(i) && stands_alone(i)).collect();
            // Video operands come with selectors, which constants cannot have: there the registers say enough.
            if !entry.room.section.starts_with("9.7.18.") {
                let many = if plain.len() > 64 { 8 } else { 1 };
                let some = plain.iter().filter(|i| is_one_in(&i.text(), many));
                let seed = |i: &Instance| hash(i.text().bytes().map(u64::from)) >> 16;
                out.extend(
                    some.filter_map(|i| isa::with_constant(i, parsed, seed(i))).flat_map(in_registers),
                );
            }
            out.extend(plain.into_iter().flat_map(in_registers));
        } else {
            let mixed = isa::mixed_instances(opcode, parsed, LIMIT);
            out.extend(mixed.into_iter().filter(exists).flat_map(in_its_place));
        }
    }
    out
}

fn plain_instances(opcode: &'static str, parsed: &'static isa::Parsed) -> Vec<Instance> {
    let large: Vec<usize> = (0..parsed.operands.len())
        .filter(|o| parsed.operands[*o].selector.as_ref().is_some_and(|(m, _)| m.len() > SMALL))
        .collect();
    let mut out = vec![];
    for instance in isa::instances(opcode, parsed, if large.is_empty() { usize::MAX } else { 0 }) {
        if !large.is_empty() {
            let mut r = Random::new(hash(instance.text().bytes().map(u64::from)));
            let mut varied = instance.clone();
            for o in &large {
                if let Some((members, _)) = &parsed.operands[*o].selector {
                    varied.operands[*o].selector = Some(members[r.below(members.len())]);
                }
            }
            out.push(varied);
        }
        out.push(instance);
    }
    // ptxas cannot read this one spelling.
    out.retain(|i| i.operands.iter().all(|o| o.selector != Some(".b1024")));
    out
}

/// Whether the result of an instruction depends on its source operands and nothing else: not on other lanes, or on what an address
/// means.
fn stands_alone(i: &Instance) -> bool {
    let section = isa::find(i.opcode).map_or("", |(e, _)| e.room.section);
    let state = ["9.7.12.", "9.7.13.", "9.7.19."].iter().any(|s| section.starts_with(s));
    let lanes = i.operands.iter().any(|o| o.name == "membermask");
    let (dests, sources): (Vec<_>, Vec<_>) = i.operands.iter().partition(|o| o.dest);
    let values = !dests.is_empty() && !sources.is_empty();
    values && !state && !lanes && i.opcode != "isspacep"
}

/// The registers of an instruction on registers.
pub(crate) fn registers(instance: &Instance) -> Vec<Register> {
    let video = isa::find(instance.opcode).is_some_and(|(e, _)| e.room.section.starts_with("9.7.18."));
    let moves = matches!(instance.opcode, "mov" | "ld" | "ldu" | "st");
    // Video operands are words, whatever the forms call them: vectors are seeded by the types, so recordings depend on it. What moves data does
    // not care what bits stand for, and atomic operations do not care for the sign of a register.
    let ty = |ty: Ty| match ty.bits() {
        _ if video => Ty::B32,
        1 => ty,
        _ if !moves && (ty.is_float() || !matches!(instance.opcode, "atom" | "red")) => ty,
        8 => Ty::B8,
        16 => Ty::B16,
        32 => Ty::B32,
        64 => Ty::B64,
        _ => ty,
    };
    let mut out = vec![];
    for o in &instance.operands {
        let narrow = is_vector(o) && instance.opcode == "mov";
        let named = o.registers().into_iter();
        out.extend(named.map(|name| Register { name, ty: ty(o.ty), dest: o.dest, narrow }));
    }
    out
}

/// Cases of an instruction that reads and writes registers, the carry flag among them.
fn in_registers(instance: Instance) -> Vec<Case> {
    let reads_carry = matches!(instance.opcode, "addc" | "subc" | "madc");
    let sets_carry = instance.mods.contains(&".cc");
    let mut out = vec![];
    if !reads_carry {
        out.push(Case::plain(instance.clone()));
    }
    if reads_carry || sets_carry {
        let mut case = Case::plain(instance);
        let mut body = String::new();
        case.text += " // and the carry";
        if reads_carry {
            case.registers.push(Register::source("carry", Ty::Pred));
            // 1 + 0xffffffff carries, 0 + 0xffffffff does not.
            body += "    selp.u32 %t4, 1, 0, %carry;\n    add.cc.u32 %t4, %t4, 0xffffffff;\n";
        }
        body += &case.body;
        if sets_carry {
            case.registers.push(Register::dest("carries", Ty::B32));
            body += "    addc.u32 %carries, 0, 0;\n";
        }
        case.body = body;
        out.push(case);
    }
    out
}

/// Cases of an instruction that depends on more than registers.
fn in_its_place(instance: Instance) -> Vec<Case> {
    let special = instance.operands.iter().find_map(|o| match o.kind {
        InstanceKind::Special(name) => Some(name),
        _ => None,
    });
    match instance.opcode {
        _ if special.is_some_and(|name| !is_known(name)) => vec![],
        // ptxas loses the component of `%tid.y` where the destination is four bytes.
        _ if special.is_some() && instance.operands.iter().any(is_vector) => vec![],
        // Of `_` alone there is nothing to see.
        "match" if instance.operands.iter().all(|o| !o.dest || o.kind == InstanceKind::Sink) => vec![],
        "cvt" if !is_one_in(&instance.text(), 16) => vec![],
        "mov" | "lop3" | "cvt" => {
            let mut case = Case::plain(instance);
            case.setting.block = special.map(|_| 32);
            let guarded = is_one_in(&case.text, 4).then(|| guarded(&case));
            [Some(case), guarded].into_iter().flatten().collect()
        }
        "shfl" | "vote" | "match" | "activemask" | "redux" | "elect" => vec![among_lanes(instance)],
        _ => memory::cases(instance),
    }
}

pub(crate) fn is_vector(o: &InstanceOperand) -> bool {
    matches!(o.kind, InstanceKind::Vector { .. })
}

/// Special registers whose values are known: they follow from the launch.
fn is_known(name: &str) -> bool {
    ["%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid", "%lanemask_", "%nwarpid", "%dynamic_smem_size"]
        .iter()
        .any(|known| name.starts_with(known))
}

/// A seeded choice of cases.
pub(crate) fn is_one_in(text: &str, n: u64) -> bool {
    (hash(text.bytes().map(u64::from)) >> 32).is_multiple_of(n)
}

/// The case under a guard, its destinations 0 before.
fn guarded(case: &Case) -> Case {
    let mut case = case.clone();
    case.text = format!("@%guard {}", case.text);
    case.body = format!("{}    {};\n", zeroed(&case.registers), case.text);
    case.registers.push(Register::source("guard", Ty::Pred));
    case
}

/// PTX that sets destinations to 0.
pub(crate) fn zeroed(registers: &[Register]) -> String {
    let mut s = String::new();
    for r in registers.iter().filter(|r| r.dest) {
        let name = &r.name;
        let _ = match r.ty {
            Ty::Pred => writeln!(s, "    setp.ne.u32 %{name}, %t0, %t0;"),
            Ty::B128 => writeln!(s, "    mov.b64 %u0, 0;\n    mov.b128 %{name}, {{%u0, %u0}};"),
            Ty::F32 => writeln!(s, "    mov.f32 %{name}, 0f00000000;"),
            Ty::F64 => writeln!(s, "    mov.f64 %{name}, 0d0000000000000000;"),
            t if t.bits() == 8 && r.narrow => writeln!(s, "    cvt.u8.u32 %{name}, 0;"),
            t if t.bits() == 8 => writeln!(s, "    mov.b32 %{name}, 0;"),
            t => writeln!(s, "    mov.b{} %{name}, 0;", t.bits()),
        };
    }
    s
}

/// An instruction among the lanes of a warp: those that `%membermask` names execute it, in the others the destinations are 0.
fn among_lanes(instance: Instance) -> Case {
    let mut case = Case::plain(instance);
    case.setting = Setting { block: Some(32), lanes: true, ..Setting::default() };
    if !case.registers.iter().any(|r| r.name == "membermask") {
        case.registers.push(Register::source("membermask", Ty::B32));
    }
    let mut s = zeroed(&case.registers);
    let _ = write!(
        s,
        "    {{\n    .reg .pred %member;\n    shr.u32 %t6, %membermask, %lane;\n    and.b32 %t6, %t6, 1;\n    setp.ne.u32 %member, %t6, 0;\n    @%member {};\n    }}\n",
        case.text
    );
    case.body = s;
    case
}
