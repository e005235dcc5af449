//! One test per file and engine, with the usual command line.

use crate::case::{Case, device};
use crate::run;
use hostwarp::Engine;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

pub fn main() {
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
