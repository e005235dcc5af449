//! What real compilers make (`tests/corpus`, made by `cargo xtask corpus --keep`): all of it is legal, and what is not supported yet is on a list that only shrinks.

use hostwarp_compile::{Options, Severity, Unusable, compile};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus"))
}

fn modules() -> Vec<(String, String)> {
    let list = std::fs::read_dir(folder().join("ptx")).expect("the corpus is there");
    let mut all: Vec<PathBuf> = list.map(|e| e.expect("a file").path()).collect();
    all.sort();
    let name = |p: &PathBuf| p.file_name().expect("a name").to_string_lossy().into_owned();
    all.iter().map(|p| (name(p), std::fs::read_to_string(p).expect("text"))).collect()
}

#[test]
fn what_compilers_make_is_legal() {
    let modules = modules();
    assert!(modules.len() >= 100, "{} files", modules.len());
    let options = Options { check_only: true, ..Options::default() };
    let mut wrong = vec![];
    for (name, text) in &modules {
        let output = compile(&hostwarp_syntax::parse(text), &options);
        let errors = output.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        wrong.extend(errors.take(1).map(|d| format!("{name}: {} {}", d.code, d.message)));
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

/// `HOSTWARP_BLESS=1` writes the list anew.
#[test]
fn what_is_not_supported_yet_is_on_the_list() {
    let path = folder().join("unsupported.txt");
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<&str> = listed.lines().filter(|l| !l.starts_with('#')).collect();
    let mut now = BTreeSet::new();
    let mut kernels = 0;
    for (name, text) in modules() {
        let output = compile(&hostwarp_syntax::parse(&text), &Options::default());
        for kernel in &output.module.kernels {
            kernels += 1;
            match &kernel.function {
                Err(Unusable::Unsupported { what, .. }) => {
                    _ = now.insert(format!("{name} {}: {what}", kernel.name))
                }
                Err(other) => panic!("{name} {}: {other:?}", kernel.name),
                Ok(_) => {}
            }
        }
    }
    if std::env::var_os("HOSTWARP_BLESS").is_some() {
        let head =
            format!("# Kernels of the corpus that do not run yet, and why: {} of {kernels}.\n", now.len());
        let lines: String = now.iter().map(|l| format!("{l}\n")).collect();
        std::fs::write(&path, head + &lines).expect("written");
        return;
    }
    // The reason may change when something else has been done; that a kernel fails which did not is new.
    let kernel = |line: &str| line.split(": ").next().unwrap_or("").to_string();
    let known: BTreeSet<String> = listed.iter().map(|l| kernel(l)).collect();
    let new: Vec<&String> = now.iter().filter(|l| !known.contains(&kernel(l))).collect();
    assert!(new.is_empty(), "kernels that ran before: {new:#?}");
}
