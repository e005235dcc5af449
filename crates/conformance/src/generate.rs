//! Test kernels from the forms of the instruction set.

use crate::vectors::{ALL, Random, hash, operands};
use hostwarp::isa::{self, Instance, Ty};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One form: an instruction whose result is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The instruction, destination `%d`, sources `%a`, `%b`, …
    pub text: String,
    /// The types of destination and sources.
    pub types: Vec<Ty>,
}

/// A kernel that runs many cases on the same operands.
///
/// `kernel(.param .u64 in, .param .u64 out)`: thread i loads operand o from `in + 8·(o·ALL + i)` and stores the result of
/// case k to `out + 8·(k·ALL + i)`.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its opcode.
    pub opcode: &'static str,
    /// The whole module.
    pub ptx: String,
    /// Operand vectors, `[operand][vector]`.
    pub inputs: Vec<Vec<u64>>,
    /// What it runs.
    pub cases: Vec<Case>,
}

/// The name of the kernel in every [`Program`].
pub const KERNEL: &str = "conformance";
/// Threads per CTA; [`ALL`] threads in all.
pub const BLOCK: u32 = 32;
/// Cases in one program: enough to keep launches few, few enough to keep compile times flat.
const CASES: usize = 256;

/// Modules are for this version and target.
pub const HEADER: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// All programs of an opcode.
pub fn programs(opcode: &str) -> Vec<Program> {
    let Some((_, opcode)) = isa::find(opcode) else { return vec![] };
    let mut by_types: BTreeMap<Vec<Ty>, Vec<Case>> = BTreeMap::new();
    for instance in cases(opcode) {
        let types: Vec<Ty> = instance.operands.iter().map(|o| o.ty).collect();
        let case = Case { text: instance.text(), types: types.clone() };
        by_types.entry(types).or_default().push(case);
    }
    by_types
        .into_iter()
        .flat_map(|(types, cases)| {
            cases.chunks(CASES).map(|c| program(opcode, &types, c.to_vec())).collect::<Vec<_>>()
        })
        .collect()
}

/// The concrete instructions that are tested: every form, and where selectors are too many, each combination of everything else
/// with a few seeded ones.
fn cases(opcode: &'static str) -> Vec<Instance> {
    let Some((entry, _)) = isa::find(opcode) else { return vec![] };
    let mut out = vec![];
    for parsed in &entry.forms {
        let large: Vec<usize> = (0..parsed.operands.len())
            .filter(|o| parsed.operands[*o].selector.as_ref().is_some_and(|(m, _)| m.len() > 15))
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
                out.push(varied);
            }
            out.push(instance);
        }
    }
    // ptxas cannot read this one spelling.
    out.retain(|i| i.operands.iter().all(|o| o.selector != Some(".b1024")));
    out
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

fn program(opcode: &'static str, types: &[Ty], cases: Vec<Case>) -> Program {
    let mut s = String::from(HEADER);
    let _ = writeln!(s, ".visible .entry {KERNEL}(.param .u64 in, .param .u64 out)\n{{");
    let names = ["d", "a", "b", "c", "e"];
    let names: Vec<&str> =
        source_names(&cases[0].text, types.len()).unwrap_or_else(|| names[..types.len()].to_vec());
    for (name, ty) in names.iter().zip(types) {
        let _ = writeln!(s, "    .reg {} %{name};", register(*ty));
    }
    s += "    .reg .b32 %t<6>;\n    .reg .b64 %in, %out, %i, %w;\n    .reg .pred %q;\n";
    s += "    mov.u32 %t0, %ctaid.x;\n    mov.u32 %t1, %ntid.x;\n    mov.u32 %t2, %tid.x;\n    mad.lo.u32 %t3, %t0, %t1, %t2;\n";
    s += "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n";
    s += "    mul.wide.u32 %i, %t3, 8;\n    add.u64 %in, %in, %i;\n    add.u64 %out, %out, %i;\n";
    for (o, (name, ty)) in names.iter().zip(types).enumerate().skip(1) {
        let at = (o - 1) * ALL * 8;
        let _ = match ty {
            Ty::Pred => writeln!(s, "    ld.global.u32 %t4, [%in+{at}];\n    setp.ne.u32 %{name}, %t4, 0;"),
            t if t.bits() <= 8 => writeln!(s, "    ld.global.u32 %{name}, [%in+{at}];"),
            _ => writeln!(s, "    ld.global{} %{name}, [%in+{at}];", register(*ty)),
        };
    }
    for (k, case) in cases.iter().enumerate() {
        let at = k * ALL * 8;
        let _ = writeln!(s, "    {};", case.text);
        let _ = match types[0] {
            Ty::Pred => writeln!(
                s,
                "    selp.u32 %t5, 1, 0, %{d};\n    st.global.u32 [%out+{at}], %t5;",
                d = names[0]
            ),
            t if t.bits() <= 8 => writeln!(s, "    st.global.u32 [%out+{at}], %{};", names[0]),
            t => writeln!(s, "    st.global{} [%out+{at}], %{};", register(t), names[0]),
        };
    }
    s += "    ret;\n}\n";
    Program { opcode, ptx: s, inputs: operands(&types[1..]), cases }
}

/// The operand names as the form has them, in order.
fn source_names(text: &str, count: usize) -> Option<Vec<&str>> {
    let names: Vec<&str> = text
        .split('%')
        .skip(1)
        .map(|t| t.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or(t))
        .collect();
    (names.len() == count).then_some(names)
}
