//! Prints a PTX module with a sample of every form of the opcodes given (all of them without any), one instruction to a line, for an
//! assembler to judge:
//!
//! ```text
//! cargo run -p hostwarp-isa --example shapes -- 90 mov ld st > shapes.ptx; ptxas -arch sm_90 -O0 shapes.ptx
//! ```
//!
//! The first argument is the target; what is newer is left out.

use hostwarp_isa::{Kind, Since, Ty, find, opcodes, testing};

/// The `.version` of the module.
const PTX: u16 = 88;

fn main() {
    let mut args = std::env::args().skip(1);
    let sm: u16 = args.next().and_then(|a| a.parse().ok()).unwrap_or(90);
    let wanted: Vec<String> = args.collect();
    println!(".version {}.{}\n.target sm_{sm}\n.address_size 64", PTX / 10, PTX % 10);
    println!(".global .align 16 .b8 v[64];\n.visible .entry shapes() {{");
    for ty in Ty::ALL.iter().filter(|t| is_register_type(**t)) {
        println!("    .reg {ty} %{}_<16>;", &ty.text()[1..]);
    }
    for opcode in opcodes().into_iter().filter(|o| wanted.is_empty() || wanted.iter().any(|w| w == o)) {
        let Some((entry, opcode)) = find(opcode) else { continue };
        for parsed in &entry.forms {
            for shape in testing::shapes(opcode, parsed, 300) {
                let newer = |s: &Since| s.sm > sm || s.ptx > PTX;
                let needs = parsed.form.needs.iter().filter(|(m, _)| shape.mods.contains(m));
                if !newer(&parsed.form.since) && !needs.map(|(_, s)| s).any(newer) {
                    println!("    {}", shape.text());
                }
            }
        }
    }
    println!("L:\n    ret;\n}}");
}

/// Whether a register can be declared with this type.
fn is_register_type(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F32 | Ty::F64) || !ty.is_float() && ty.kind() != Kind::Packed
}
