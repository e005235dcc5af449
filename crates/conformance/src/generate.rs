//! Test kernels: cases with the same registers and surroundings become one program.

use crate::cases::{Case, Register, Setting, cases};
use crate::memory;
use crate::vectors::{ALL, lanes, operands};
use hostwarp_isa::Ty;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A kernel that runs many cases on the same operands.
///
/// `kernel(.param .u64 in, .param .u64 out)`: thread i loads operand o from `in + 8·(o·ALL + i)` and stores the results of
/// case k from `out + 8·(k·ALL + i)·words` on. Predicates are stored as 0 and 1. Cases that use memory have a third parameter, see
/// [`crate::memory`].
#[derive(Clone, Debug)]
pub struct Program {
    /// Its opcode.
    pub opcode: String,
    /// The whole module.
    pub ptx: String,
    /// Operand vectors, `[operand][vector]`.
    pub inputs: Vec<Vec<u64>>,
    /// The names of the operands.
    pub names: Vec<String>,
    /// The types of the operands.
    pub types: Vec<Ty>,
    /// Where each destination is in the results of a case, in bytes.
    pub places: Vec<usize>,
    /// Bytes of the results of a case, all destinations together.
    pub width: u8,
    /// What its cases need around them.
    pub setting: Setting,
    /// What it runs.
    pub cases: Vec<Case>,
}

impl Program {
    /// Words of the results of a case.
    pub fn words(&self) -> usize {
        usize::from(self.width).div_ceil(8)
    }

    /// The operands of one vector, for messages.
    pub fn operands(&self, vector: usize) -> Vec<(String, u64)> {
        self.names.iter().cloned().zip(self.inputs.iter().map(|i| i[vector])).collect()
    }

    /// The words of a case's results with these values in its destinations.
    pub fn pack(&self, values: &[u64]) -> Vec<u64> {
        let mut words = vec![0; self.words()];
        for (place, value) in self.places.iter().zip(values) {
            words[place / 8] |= value << (place % 8 * 8);
        }
        words
    }

    /// What the third parameter holds, for cases that use memory.
    pub fn third_parameter(&self) -> Option<Vec<u8>> {
        self.setting.memory.then(memory::parameter)
    }
}

/// The name of the kernel in every [`Program`].
pub const KERNEL: &str = "conformance";
/// Threads per CTA where cases do not say how many; [`ALL`] threads in all.
pub const BLOCK: u32 = 32;
/// Cases in one program: enough to keep launches few, few enough to keep compile times flat.
const CASES: usize = 64;
/// The same for atomics: each is a loop and more, and LLVM takes minutes over a hundred of them in one kernel.
const ATOMICS: usize = 8;

/// Modules are for this version and target.
pub const HEADER: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// All programs of an opcode.
pub fn programs(opcode: &str) -> Vec<Program> {
    programs_of(opcode, cases(opcode))
}

/// Programs that run these cases of one opcode.
pub fn programs_of(opcode: &str, cases: Vec<Case>) -> Vec<Program> {
    let mut groups: BTreeMap<(Vec<Register>, Setting), Vec<Case>> = BTreeMap::new();
    for case in cases {
        groups.entry((case.registers.clone(), case.setting)).or_default().push(case);
    }
    let mut programs = vec![];
    for ((registers, setting), cases) in groups {
        let most = match opcode {
            _ if setting.alone => 1,
            "atom" | "red" => ATOMICS,
            _ => CASES,
        };
        programs.extend(cases.chunks(most).map(|c| program(opcode, &registers, setting, c.to_vec())));
    }
    programs
}

/// The register type an operand of this type is kept in.
fn register(r: &Register) -> &'static str {
    match r.ty {
        Ty::F32 => ".f32",
        Ty::F64 => ".f64",
        Ty::Pred => ".pred",
        t if t.bits() <= 8 && r.narrow => ".b8",
        t if t.bits() <= 8 => ".b32",
        t if t.bits() == 16 => ".b16",
        t if t.bits() == 32 => ".b32",
        t if t.bits() == 64 => ".b64",
        _ => ".b128",
    }
}

/// Where each destination goes in a case's results, and the bytes of all.
fn layout(registers: &[Register]) -> (Vec<usize>, u8) {
    let dests: Vec<&Register> = registers.iter().filter(|r| r.dest).collect();
    if let [one] = dests[..] {
        return (vec![0], if one.ty.bits() < 16 { 4 } else { (one.ty.bits() / 8) as u8 });
    }
    let (mut at, mut places) = (0usize, vec![]);
    for r in dests {
        let size = (r.ty.bits() as usize / 8).max(4);
        at = at.next_multiple_of(size);
        places.push(at);
        at += size;
    }
    (places, at.next_multiple_of(8) as u8)
}

fn program(opcode: &str, registers: &[Register], setting: Setting, cases: Vec<Case>) -> Program {
    let (places, width) = layout(registers);
    let size = usize::from(width).next_multiple_of(8);
    let mut s = String::from(HEADER);
    if setting.memory {
        s += &memory::variables();
    }
    if setting.functions {
        s += crate::control::FUNCTIONS;
    }
    let third = if setting.memory { memory::PARAMETER } else { "" };
    let _ = writeln!(s, ".visible .entry {KERNEL}(.param .u64 in, .param .u64 out{third})\n{{");
    for r in registers {
        let _ = writeln!(s, "    .reg {} %{};", register(r), r.name);
    }
    s += "    .reg .b32 %t<8>;\n    .reg .b64 %in, %out, %i, %u<2>;\n";
    s += "    mov.u32 %t0, %ctaid.x;\n    mov.u32 %t1, %ntid.x;\n    mov.u32 %t2, %tid.x;\n    mad.lo.u32 %t3, %t0, %t1, %t2;\n";
    s += "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n";
    s += "    mul.wide.u32 %i, %t3, 8;\n    add.u64 %in, %in, %i;\n";
    let _ = writeln!(s, "    mul.wide.u32 %i, %t3, {size};\n    add.u64 %out, %out, %i;");
    if setting.lanes {
        s += "    .reg .b32 %lane;\n    mov.u32 %lane, %laneid;\n";
    }
    if setting.memory {
        s += &memory::prologue();
    }
    let (mut names, mut types) = (vec![], vec![]);
    for r in registers.iter().filter(|r| !r.dest) {
        let (at, name) = (names.len() * ALL * 8, &r.name);
        let _ = match register(r) {
            ".pred" => writeln!(s, "    ld.global.u32 %t4, [%in+{at}];\n    setp.ne.u32 %{name}, %t4, 0;"),
            ".b128" => writeln!(
                s,
                "    ld.global.b64 %u0, [%in+{at}];\n    ld.global.b64 %u1, [%in+{}];\n    mov.b128 %{name}, {{%u0, %u1}};",
                at + ALL * 8
            ),
            t => writeln!(s, "    ld.global{t} %{name}, [%in+{at}];"),
        };
        if r.ty == Ty::B128 {
            names.extend([format!("{name}.lo"), format!("{name}.hi")]);
            types.extend([Ty::B64, Ty::B64]);
        } else {
            names.push(name.clone());
            types.push(r.ty);
        }
    }
    for (k, case) in cases.iter().enumerate() {
        s += &case.body;
        for (place, r) in places.iter().zip(registers.iter().filter(|r| r.dest)) {
            let (at, name) = (k * ALL * size + place, &r.name);
            let _ = match register(r) {
                ".pred" => {
                    writeln!(s, "    selp.u32 %t5, 1, 0, %{name};\n    st.global.u32 [%out+{at}], %t5;")
                }
                t => writeln!(s, "    st.global{t} [%out+{at}], %{name};"),
            };
        }
    }
    s += "    ret;\n}\n";
    let inputs = if setting.lanes { lanes(&names, &types) } else { operands(&types) };
    Program { opcode: opcode.into(), ptx: s, inputs, names, types, places, width, setting, cases }
}
