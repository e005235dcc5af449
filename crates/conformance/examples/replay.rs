//! `replay DIR interp|jit isa|sm_90 [OPCODE…]`: compares Hostwarp with a recording.
use hostwarp::{Engine, Profile};
use hostwarp_conformance::replay::{Selection, replay_all};
use std::path::Path;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, engine, profile, opcodes @ ..] = args.as_slice() else {
        return Err("replay DIR interp|jit isa|sm_90 [OPCODE…]".into());
    };
    let engine = if engine == "jit" { Engine::Jit } else { Engine::Interp };
    let profile = if profile == "sm_90" { Profile::Sm90 } else { Profile::Isa };
    let one_in = std::env::var("ONE_IN").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let selection = Selection { opcodes: opcodes.to_vec(), one_in };
    let start = std::time::Instant::now();
    let report = replay_all(Path::new(dir), engine, profile, &selection)?;
    print!("{report}");
    println!("{:.1?}", start.elapsed());
    Ok(())
}
