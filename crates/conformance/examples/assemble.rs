//! `assemble PTXAS LEVEL [OPCODE…]`: assembles the test programs of opcodes, without a GPU, and says what does not assemble.
use hostwarp_conformance::cases::{Case, cases};
use hostwarp_conformance::generate::programs_of;
use hostwarp_conformance::ptxas::Ptxas;
use std::path::Path;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [ptxas, level, opcodes @ ..] = args.as_slice() else {
        return Err("assemble PTXAS LEVEL [OPCODE…]".into());
    };
    let ptxas = Ptxas::new(Path::new(ptxas))?;
    let level = level.parse().map_err(|_| "LEVEL is a number")?;
    for opcode in opcodes {
        let cases = cases(opcode);
        let programs = programs_of(opcode, cases.clone());
        println!("{opcode}: {} cases, {} programs", cases.len(), programs.len());
        for program in programs {
            let start = std::time::Instant::now();
            let mut wrong = vec![];
            find(&ptxas, level, opcode, program.cases, &mut wrong);
            println!("    {} of {} rejected, {:.1?}", wrong.len(), program.ptx.len(), start.elapsed());
            for (text, why) in wrong.iter().take(12) {
                println!("    {text}: {}", why.lines().take(2).collect::<Vec<_>>().join(" | "));
            }
        }
    }
    Ok(())
}

/// Halves until the culprits stand alone.
fn find(ptxas: &Ptxas, level: u32, opcode: &str, cases: Vec<Case>, wrong: &mut Vec<(String, String)>) {
    for program in programs_of(opcode, cases) {
        match (ptxas.assemble(&program.ptx, level), &program.cases[..]) {
            (Ok(_), _) => {}
            (Err(e), [one]) => wrong.push((one.text.clone(), e)),
            (Err(_), many) => {
                let (low, high) = many.split_at(many.len() / 2);
                find(ptxas, level, opcode, low.to_vec(), wrong);
                find(ptxas, level, opcode, high.to_vec(), wrong);
            }
        }
    }
}
