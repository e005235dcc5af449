//! Test kernels from the forms of the instruction set.

use crate::vectors::{ALL, Random, hash, operands};
use hostwarp_isa as isa;
use hostwarp_isa::{Instance, Ty};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One form: an instruction whose result is stored.
#[derive(Clone, Debug)]
pub struct Case {
    /// The instruction, its operands called as in the manual: `%d`, `%a`, `%b`, …
    pub text: String,
    /// What it is made of.
    pub instance: Instance,
}

/// A register of a program: what cases have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register {
    /// Its name, without `%`.
    pub name: &'static str,
    /// Its type.
    pub ty: Ty,
    /// Cases write it.
    pub dest: bool,
}

/// A kernel that runs many cases on the same operands.
///
/// `kernel(.param .u64 in, .param .u64 out)`: thread i loads operand o from `in + 8·(o·ALL + i)` and stores the result of
/// case k to `out + 8·(k·ALL + i)`. Predicates are stored as 0 and 1; of two results the second is shifted up by 32.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its opcode.
    pub opcode: &'static str,
    /// The whole module.
    pub ptx: String,
    /// Operand vectors, `[operand][vector]`.
    pub inputs: Vec<Vec<u64>>,
    /// The registers cases use.
    pub registers: Vec<Register>,
    /// What it runs.
    pub cases: Vec<Case>,
}

impl Program {
    /// Bytes of a stored result.
    pub fn width(&self) -> u8 {
        let dests: Vec<Ty> = self.registers.iter().filter(|r| r.dest).map(|r| r.ty).collect();
        match dests[..] {
            [one] if one.bits() >= 16 => (one.bits() / 8) as u8,
            [_] => 4,
            _ => 8,
        }
    }

    /// The operands of one vector, for messages.
    pub fn operands(&self, vector: usize) -> Vec<(&'static str, u64)> {
        let sources = self.registers.iter().filter(|r| !r.dest);
        sources.zip(&self.inputs).map(|(r, i)| (r.name, i[vector])).collect()
    }
}

/// The name of the kernel in every [`Program`].
pub const KERNEL: &str = "conformance";
/// Threads per CTA; [`ALL`] threads in all.
pub const BLOCK: u32 = 32;
/// Cases in one program: enough to keep launches few, few enough to keep compile times flat.
const CASES: usize = 256;

const VERSION: u16 = 88;
const TARGET: u16 = 90;

/// Modules are for this version and target.
pub const HEADER: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// All programs of an opcode.
pub fn programs(opcode: &str) -> Vec<Program> {
    programs_of(cases(opcode))
}

/// Programs that run these cases of one opcode.
pub fn programs_of(cases: Vec<Case>) -> Vec<Program> {
    let mut groups: BTreeMap<Vec<Register>, Vec<Case>> = BTreeMap::new();
    for case in cases {
        groups.entry(registers(&case.instance)).or_default().push(case);
    }
    groups
        .into_iter()
        .flat_map(|(registers, cases)| {
            cases.chunks(CASES).map(|c| program(&registers, c.to_vec())).collect::<Vec<_>>()
        })
        .collect()
}

fn registers(instance: &Instance) -> Vec<Register> {
    let video = isa::find(instance.opcode).is_some_and(|(e, _)| e.room.section.starts_with("9.7.18."));
    // Video operands are words, whatever the forms call them: vectors are seeded by the types, so recordings depend on it.
    let ty = |ty: Ty| if video { Ty::B32 } else { ty };
    instance.operands.iter().map(|o| Register { name: o.name, ty: ty(o.ty), dest: o.dest }).collect()
}

/// How many concrete instructions on plain registers an opcode has, every selector counted.
pub fn legal_forms(opcode: &str) -> usize {
    let Some((entry, opcode)) = isa::find(opcode) else { return 0 };
    let count = |parsed: &'static isa::Parsed| {
        // Large selector sets are independent of everything else: each stands for "none" and its members.
        let large =
            parsed.operands.iter().filter_map(|o| o.selector.as_ref()).filter(|(m, _)| m.len() > SMALL);
        let factor: usize = large.clone().map(|(m, optional)| m.len() + usize::from(*optional)).product();
        let cap = if large.count() > 0 { 0 } else { usize::MAX };
        isa::instances(opcode, parsed, cap).len() * factor
    };
    entry.forms.iter().map(count).sum()
}

/// Selector sets larger than this are sampled.
const SMALL: usize = 15;

/// The concrete instructions that are tested: every form, and where selectors are too many, each combination of everything else
/// with a few seeded ones.
pub fn cases(opcode: &str) -> Vec<Case> {
    let Some((entry, opcode)) = isa::find(opcode) else { return vec![] };
    let mut out = vec![];
    for parsed in &entry.forms {
        let large: Vec<usize> = (0..parsed.operands.len())
            .filter(|o| parsed.operands[*o].selector.as_ref().is_some_and(|(m, _)| m.len() > SMALL))
            .collect();
        for instance in isa::instances(opcode, parsed, if large.is_empty() { usize::MAX } else { 0 }) {
            if !large.is_empty() {
                let mut r = Random::new(hash(instance.text().bytes().map(u64::from)));
                let mut varied = instance.clone();
                for o in &large {
                    if let Some((members, _)) = &parsed.operands[*o].selector {
                        varied.operands[*o].selector = Some(members[r.below(members.len())]);
                    }
                }
                out.push((parsed.form, varied));
            }
            out.push((parsed.form, instance));
        }
    }
    let known = |since: isa::Since| since.ptx <= VERSION && since.sm <= TARGET;
    out.retain(|(form, i)| {
        known(form.since) && form.needs.iter().all(|(m, since)| known(*since) || !i.mods.contains(m))
    });
    out.retain(|(_, i)| stands_alone(i));
    // ptxas cannot read this one spelling.
    out.retain(|(_, i)| i.operands.iter().all(|o| o.selector != Some(".b1024")));
    out.into_iter().map(|(_, instance)| Case { text: instance.text(), instance }).collect()
}

/// Whether the result of an instruction depends on its source operands and nothing else: not on other lanes, on what an address
/// means, or on the carry flag an earlier instruction left.
fn stands_alone(i: &Instance) -> bool {
    let section = isa::find(i.opcode).map_or("", |(e, _)| e.room.section);
    let state = ["9.7.12.", "9.7.13.", "9.7.19."].iter().any(|s| section.starts_with(s));
    let carry = matches!(i.opcode, "addc" | "subc" | "madc");
    let lanes = i.operands.iter().any(|o| o.name == "membermask");
    let (dests, sources): (Vec<_>, Vec<_>) = i.operands.iter().partition(|o| o.dest);
    let values = !dests.is_empty() && !sources.is_empty();
    values && !state && !carry && !lanes && i.opcode != "isspacep"
}

/// The register type an operand of this type is kept in.
fn register(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => ".f32",
        Ty::F64 => ".f64",
        Ty::Pred => ".pred",
        t if t.bits() <= 8 => ".b32",
        t if t.bits() == 16 => ".b16",
        t if t.bits() == 32 => ".b32",
        t if t.bits() == 64 => ".b64",
        _ => ".b128",
    }
}

fn program(registers: &[Register], cases: Vec<Case>) -> Program {
    let mut s = String::from(HEADER);
    let _ = writeln!(s, ".visible .entry {KERNEL}(.param .u64 in, .param .u64 out)\n{{");
    for r in registers {
        let _ = writeln!(s, "    .reg {} %{};", register(r.ty), r.name);
    }
    s += "    .reg .b32 %t<8>;\n    .reg .b64 %in, %out, %i;\n";
    s += "    mov.u32 %t0, %ctaid.x;\n    mov.u32 %t1, %ntid.x;\n    mov.u32 %t2, %tid.x;\n    mad.lo.u32 %t3, %t0, %t1, %t2;\n";
    s += "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n";
    s += "    mul.wide.u32 %i, %t3, 8;\n    add.u64 %in, %in, %i;\n    add.u64 %out, %out, %i;\n";
    for (o, r) in registers.iter().filter(|r| !r.dest).enumerate() {
        let (at, name) = (o * ALL * 8, r.name);
        let _ = match register(r.ty) {
            ".pred" => writeln!(s, "    ld.global.u32 %t4, [%in+{at}];\n    setp.ne.u32 %{name}, %t4, 0;"),
            t => writeln!(s, "    ld.global{t} %{name}, [%in+{at}];"),
        };
    }
    for (k, case) in cases.iter().enumerate() {
        let _ = writeln!(s, "    {};", case.text);
        for (n, r) in registers.iter().filter(|r| r.dest).enumerate() {
            let (at, name) = (k * ALL * 8 + n * 4, r.name);
            let _ = match register(r.ty) {
                ".pred" => {
                    writeln!(s, "    selp.u32 %t5, 1, 0, %{name};\n    st.global.u32 [%out+{at}], %t5;")
                }
                t => writeln!(s, "    st.global{t} [%out+{at}], %{name};"),
            };
        }
    }
    s += "    ret;\n}\n";
    let sources: Vec<Ty> = registers.iter().filter(|r| !r.dest).map(|r| r.ty).collect();
    let opcode = cases.first().map_or("", |c| c.instance.opcode);
    Program { opcode, ptx: s, inputs: operands(&sources), registers: registers.to_vec(), cases }
}
