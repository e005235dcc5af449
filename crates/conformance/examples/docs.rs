//! `docs [--replay|--replay-all] [OPCODE…]`, in the root of the repository: writes docs/errata.md and docs/conformance.md. With `--replay` everything is replayed
//! first, which takes minutes, and conformance/results.json is written anew; needed when recordings or meanings have changed. With `--replay-all`
//! the jit runs every form too: three minutes on 16 cores, best in a release build. With opcodes only those are replayed, and the results of others kept.
use hostwarp::{Engine, Profile};
use hostwarp_conformance::audit::audit;
use hostwarp_conformance::cases::legal_forms;
use hostwarp_conformance::docs::{Agreement, Results, generate_docs};
use hostwarp_conformance::replay::{Selection, replay_all};
use hostwarp_oracle::Oracle;
use std::path::Path;

/// The jit compiles slowly: of instructions with many forms it runs one in so many.
const JIT_ONE_IN: u64 = 32;

fn main() -> Result<(), String> {
    let (dir, results) = (Path::new("conformance/recordings/h200"), Path::new("conformance/results.json"));
    let one_in = std::env::args().find_map(|a| match a.as_str() {
        "--replay" => Some(JIT_ONE_IN),
        "--replay-all" => Some(1),
        _ => None,
    });
    let opcodes: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let Some(one_in) = one_in {
        replay(dir, Results::read(results).unwrap_or_default(), opcodes, one_in)?.write(results)?;
    }
    let docs = generate_docs(dir, &Results::read(results)?)?;
    std::fs::create_dir_all("docs").map_err(|e| e.to_string())?;
    std::fs::write("docs/errata.md", docs.errata).map_err(|e| e.to_string())?;
    std::fs::write("docs/conformance.md", docs.conformance).map_err(|e| e.to_string())
}

fn replay(dir: &Path, old: Results, opcodes: Vec<String>, jit_one_in: u64) -> Result<Results, String> {
    let all = Selection { opcodes, ..Selection::default() };
    let interp = replay_all(dir, Engine::Interp, Profile::Sm90, &all)?;
    println!("interpreter\n{interp}");
    let some = Selection { one_in: jit_one_in, ..all.clone() };
    let jit = replay_all(dir, Engine::Jit, Profile::Sm90, &some)?;
    println!("jit\n{jit}");
    let audit = audit(dir, &all, &|text| {
        let oracle = Oracle::parse(text).ok()?;
        Some(Box::new(move |operands: &[u64]| oracle.eval(operands)))
    })?;
    for d in audit.mispredicted.iter().chain(&audit.unexplained).chain(&audit.unmanual).take(20) {
        println!("{d}");
    }
    let mut results = match all.opcodes.is_empty() {
        true => Results { mutants: old.mutants, ..Results::default() },
        false => old,
    };
    results.errata.extend(audit.reach.clone());
    for (interp, jit) in interp.rows.iter().zip(&jit.rows) {
        let agreement = Agreement {
            legal: legal_forms(&interp.opcode),
            interp: interp.agreed,
            jit_tried: jit.replayed - jit.unsupported.len(),
            jit: jit.agreed,
            departing: audit.departing.get(&interp.opcode).copied().unwrap_or(0),
            unsupported: interp.unsupported.clone(),
        };
        results.opcodes.insert(interp.opcode.clone(), agreement);
    }
    match interp.is_clean() && jit.is_clean() && audit.is_clean() {
        true => Ok(results),
        false => Err("not everything agrees".into()),
    }
}
