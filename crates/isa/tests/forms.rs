//! Every form of every room: its meaning must be valid IR, whatever stands in its places, with a guard and without.

use hostwarp_ir::expand::{Caps, expand};
use hostwarp_ir::{Module, calls, verify_primitive};
use hostwarp_isa::form::Class;
use hostwarp_isa::{Profile, find, opcodes, testing};

/// Combinations of modifiers tried for each form.
const LIMIT: usize = 200;

#[test]
fn every_form_has_a_meaning_that_verifies() {
    let mut wrong = vec![];
    for opcode in opcodes() {
        let (entry, opcode) = find(opcode).expect("listed");
        for parsed in &entry.forms {
            // How many registers there are is the rule's: `conformance/tests/matrix.rs` has these.
            if parsed.operands.iter().any(|o| matches!(o.class, Class::List(0, _))) {
                continue;
            }
            let shapes = testing::shapes(opcode, parsed, LIMIT);
            if shapes.is_empty() {
                wrong.push(format!("{}: nothing matches this form", parsed.form.syntax));
            }
            for (i, shape) in shapes.iter().enumerate() {
                let profile = if i % 2 == 0 { Profile::Isa } else { Profile::Sm90 };
                for guarded in [false, true] {
                    // The builder panics on an invalid function in debug builds.
                    let built = std::panic::catch_unwind(|| testing::build(shape, guarded, profile))
                        .unwrap_or_else(|_| Err("panics".into()));
                    match built {
                        Err(why) => wrong.push(format!("{}: {why}", shape.text())),
                        Ok(None) => {}
                        Ok(Some(func)) => {
                            // Symbols of the stack are constants once the kernel is linked.
                            let mut func = calls::link(&Module::default(), &func, Default::default())
                                .expect("nothing is called");
                            expand(&mut func, Caps::default());
                            if let Err(why) = verify_primitive(&func) {
                                wrong.push(format!("{}, expanded: {why}", shape.text()));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

/// Each modifier is held against the others to say what is wrong with it: of many only the first.
#[test]
fn a_million_modifiers_are_wrong_at_once() {
    use hostwarp_isa::{Env, Instr, resolve};
    for modifier in [".u32", ".sat", ".bogus"] {
        for opcode in ["add", "mul", "vmad", "wmma"] {
            let mods = vec![modifier; 1_000_000];
            let instr = Instr { opcode, mods: &mods, operands: &[] };
            let (_, misfits) = resolve(&instr, Env::NEWEST).expect_err("no form has so many");
            assert!((1..100).contains(&misfits.len()), "{opcode}{modifier}: {}", misfits.len());
        }
    }
    // What may be repeated may not be without end.
    let mut mods = vec![".sat"; 100];
    mods[99] = ".s32";
    let operands = ["d", "a", "b"]
        .map(|_| hostwarp_isa::Operand::new(hostwarp_isa::OperandKind::Reg(hostwarp_isa::Ty::S32)));
    assert!(resolve(&Instr { opcode: "add", mods: &mods, operands: &operands }, Env::NEWEST).is_err());
    mods.drain(..97);
    assert!(resolve(&Instr { opcode: "add", mods: &mods, operands: &operands }, Env::NEWEST).is_ok());
}
