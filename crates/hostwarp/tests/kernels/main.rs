//! The kernels of `tests/kernels`, run on every engine, at several widths and thread counts and as older CPUs run them: the same bits
//! each time, and those that the comments in the file expect. One test per file and engine. In WebAssembly the host hands over file by
//! file (`wasm.rs`).

mod case;
mod formula;
#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasm;

use case::{Case, device, variables};
use hostwarp::jit::Speculation;
use hostwarp::jit::target::{Target, X86Level};
use hostwarp::{Effort, Engine, Error};

fn main() {
    #[cfg(not(target_family = "wasm"))]
    native::main();
}

fn run(case: &Case, file: &str, text: &str, engine: Engine) -> Result<(), String> {
    run_at(case, file, text, engine, None, Some(Effort::Best), None)?;
    if engine != Engine::Jit {
        return Ok(());
    }
    // Deoptimised, without LLVM's optimiser, and with it, in every other kernel as for a CPU that has no gathers.
    let older = Some(X86Level::Avx2)
        .filter(|level| file.len().is_multiple_of(2) && Target::host_up_to(*level).is_some());
    for (level, effort) in [(None, Effort::Quick), (older, Effort::Best)] {
        let ran = run_at(case, file, text, engine, level, Some(effort), Some(Speculation::Off));
        ran.map_err(|why| format!("deoptimised {effort:?} {level:?}, {why}"))?;
    }
    // With quickly made code, and in turns with all there is.
    run_at(case, file, text, engine, None, None, None).map_err(|why| format!("quickly, {why}"))?;
    // As an older CPU runs it: each is one kernel's turn in so many.
    let turn = file.bytes().map(usize::from).sum::<usize>() % X86Level::ALL.len();
    let level = X86Level::ALL[turn];
    if Target::host_up_to(level).is_none() {
        return Ok(());
    }
    let effort = if turn.is_multiple_of(2) { Effort::Best } else { Effort::Quick };
    run_at(case, file, text, engine, Some(level), Some(effort), None).map_err(|why| format!("{level}, {why}"))
}

fn run_at(
    case: &Case,
    file: &str,
    text: &str,
    engine: Engine,
    level: Option<X86Level>,
    effort: Option<Effort>,
    speculation: Option<Speculation>,
) -> Result<(), String> {
    let device = device(level, effort).map_err(|e| e.to_string())?;
    let module = device.load(file, text).map_err(|e| e.to_string())?;
    let fresh = variables(&module).map_err(|e| e.to_string())?;
    let widths: Vec<Option<u32>> = match engine {
        Engine::Interp => vec![None],
        _ if level.is_some() || effort.is_none() || speculation.is_some() => vec![None],
        _ => std::iter::once(None).chain(case.widths.iter().copied().map(Some)).collect(),
    };
    for launch in &case.launches {
        let mut first: Option<Vec<Vec<u8>>> = None;
        for &width in &widths {
            // Once more with both engines on each CTA in turns: what is compiled is compiled.
            let turns = if engine == Engine::Jit { &[None, Some(1), Some(200)][..] } else { &[None] };
            let ways =
                case.threads.iter().flat_map(|threads| turns.iter().map(move |turn| (*threads, *turn)));
            for (threads, turn) in ways {
                let width_is = width.map_or("auto".into(), |w| w.to_string());
                let in_turns = turn.map(|n| format!(", in turns of {n}")).unwrap_or_default();
                let how = format!("width {width_is}, threads {threads}{in_turns}");
                for (name, bytes) in &fresh {
                    module.write_symbol(name, bytes).map_err(|e| e.to_string())?;
                }
                let after = match launch.run(&module, engine, (width, speculation), threads, turn) {
                    Ok(after) => after,
                    // Lanes that talk to each other need the whole warp in one vector.
                    Err(Error::Unsupported { what: why, .. })
                        if width.is_some_and(|w| w < 32) && why.contains("that are no warps") =>
                    {
                        continue;
                    }
                    // What these lack instructions for is left to the interpreter.
                    Err(Error::Unsupported { what: why, .. })
                        if level.is_some_and(|l| l < X86Level::Avx2)
                            && why.contains("cannot run this kernel") =>
                    {
                        continue;
                    }
                    Err(e) => return Err(format!("{how}: {e}")),
                };
                launch.check(&module, &after).map_err(|why| format!("{how}: {why}"))?;
                match &first {
                    Some(first) if *first != after => return Err(format!("{how}: other bits than before")),
                    Some(_) => {}
                    None => first = Some(after),
                }
            }
        }
    }
    Ok(())
}
