//! The kernels of `tests/kernels`, run on every engine, at several widths and thread counts and as older CPUs run them: the same bits
//! each time, and those that the comments in the file expect. One test per file and engine.

mod case;
mod formula;

use case::{Case, device, variables};
use hostwarp::jit::target::{Target, X86Level};
use hostwarp::{Effort, Engine, Error};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

fn main() {
    let arguments = Arguments::from_args();
    let llvm = device(None, None).map_err(|e| e.to_string()).and_then(|d| d.llvm().map(|_| ()));
    let required = std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some_and(|v| v != "0");
    if let Err(why) = &llvm
        && !required
    {
        eprintln!("the jit is left out: {why}");
    }
    let mut trials = vec![];
    for path in files() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let case = match Case::parse(&text) {
            Ok(case) => case,
            Err(why) => {
                trials.push(Trial::test(name, move || Err(Failed::from(why))));
                continue;
            }
        };
        let case = std::sync::Arc::new(case);
        for engine in case.engines.clone() {
            let (case, text, file) = (case.clone(), text.clone(), format!("{name}.ptx"));
            let test = format!("{name}::{}", format!("{engine:?}").to_lowercase());
            let trial = Trial::test(test, move || run(&case, &file, &text, engine).map_err(Failed::from));
            trials.push(trial.with_ignored_flag(engine == Engine::Jit && llvm.is_err() && !required));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no kernels", directory.display());
    files
}

fn run(case: &Case, file: &str, text: &str, engine: Engine) -> Result<(), String> {
    run_at(case, file, text, engine, None, Some(Effort::Best))?;
    if engine != Engine::Jit {
        return Ok(());
    }
    // With quickly made code, and in turns with all there is.
    run_at(case, file, text, engine, None, None).map_err(|why| format!("quickly, {why}"))?;
    // As an older CPU runs it: each is one kernel's turn in so many.
    let turn = file.bytes().map(usize::from).sum::<usize>() % X86Level::ALL.len();
    let level = X86Level::ALL[turn];
    if Target::host_up_to(level).is_none() {
        return Ok(());
    }
    let effort = if turn.is_multiple_of(2) { Effort::Best } else { Effort::Quick };
    run_at(case, file, text, engine, Some(level), Some(effort)).map_err(|why| format!("{level}, {why}"))
}

fn run_at(
    case: &Case,
    file: &str,
    text: &str,
    engine: Engine,
    level: Option<X86Level>,
    effort: Option<Effort>,
) -> Result<(), String> {
    let device = device(level, effort).map_err(|e| e.to_string())?;
    let module = device.load(file, text).map_err(|e| e.to_string())?;
    let fresh = variables(&module).map_err(|e| e.to_string())?;
    let widths: Vec<Option<u32>> = match engine {
        Engine::Interp => vec![None],
        _ if level.is_some() || effort.is_none() => vec![None],
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
                let after = match launch.run(&module, engine, width, threads, turn) {
                    Ok(after) => after,
                    // Lanes that talk to each other need the whole warp in one vector.
                    Err(Error::Launch(why))
                        if width.is_some_and(|w| w < 32) && why.contains("that are no warps") =>
                    {
                        continue;
                    }
                    // What these lack instructions for is left to the interpreter.
                    Err(Error::Launch(why))
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
