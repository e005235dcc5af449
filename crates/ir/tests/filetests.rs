//! The files of `tests/ir/`: IR in, passes by name, IR out, all in one file (tests/ir/README.md). `BLESS=1` writes what comes out
//! behind the input instead of comparing.

use hostwarp_ir::{Function, calls, parse, passes, verify};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const EXPECT: &str = "; expect:\n";

/// What the passes of a file make of its input.
fn run(input: &str) -> Result<String, String> {
    let header = input.lines().find_map(|l| l.strip_prefix("; pass:"));
    let names: Vec<&str> = header.ok_or("no line `; pass: NAME`")?.split(',').map(str::trim).collect();
    let parsed = parse(input).map_err(|e| e.to_string())?;
    if parsed.to_string() != parse(&parsed.to_string()).map_err(|e| e.to_string())?.to_string() {
        return Err("what is printed is not read back".into());
    }
    let mut out = String::new();
    for mut func in parsed.kernels {
        verify(&func).map_err(|e| format!("the input is wrong: {e}"))?;
        for name in &names {
            if *name == "link" {
                let options = calls::Options::default();
                func = calls::link(&parsed.module, &func, options)
                    .map_err(|id| format!("f{} has no body", id.0))?;
            } else {
                let pass = passes::pass(name).ok_or_else(|| format!("no pass is called `{name}`"))?;
                passes::run(&mut func, &[*pass], |_, _| true);
            }
            // The pass manager does so in debug builds only.
            verify(&func).map_err(|e| format!("after `{name}`: {e}\n{func}"))?;
        }
        check_read_back(&func)?;
        let _ = write!(out, "{func}");
    }
    Ok(out)
}

fn check_read_back(func: &Function) -> Result<(), String> {
    let again = parse(&func.to_string()).map_err(|e| e.to_string())?;
    if again.kernels.len() != 1 || again.kernels[0].blocks != func.blocks {
        return Err(format!("what is printed is not read back:\n{func}"));
    }
    Ok(())
}

/// The first line in which they differ.
fn difference(want: &str, got: &str) -> String {
    let (mut want, mut got, mut line) = (want.lines(), got.lines(), 0);
    loop {
        line += 1;
        match (want.next(), got.next()) {
            (None, None) => return "no line differs".into(),
            (w, g) if w == g => {}
            (w, g) => {
                let show = |l: Option<&str>| l.unwrap_or("(nothing)").to_string();
                return format!(
                    "line {line} of the output\n  expected  {}\n  came out  {}",
                    show(w),
                    show(g)
                );
            }
        }
    }
}

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let entries = std::fs::read_dir(dir).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ir"));
    files.sort();
    files
}

#[test]
fn passes_do_what_the_files_say() {
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let mut failed = vec![];
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let (input, want) = text.split_once(EXPECT).unwrap_or((&text, ""));
        match run(input) {
            Ok(got) if bless => {
                std::fs::write(&file, format!("{}\n\n{EXPECT}{got}", input.trim_end())).unwrap()
            }
            Ok(got) if got == want => {}
            Ok(got) => failed.push(format!("{}: {}", file.display(), difference(want, &got))),
            Err(e) => failed.push(format!("{}: {e}", file.display())),
        }
    }
    assert!(failed.is_empty(), "{}\n(BLESS=1 accepts what came out)", failed.join("\n"));
}

/// A pass without a file is not tested.
#[test]
fn every_pass_has_a_file() {
    let texts: Vec<String> = files().iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    for pass in passes::PASSES {
        let named = |text: &String| {
            let header = text.lines().find_map(|l| l.strip_prefix("; pass:")).unwrap_or_default();
            header.split(',').any(|name| name.trim() == pass.name)
        };
        assert!(texts.iter().any(named), "no file in tests/ir has `; pass: {}`", pass.name);
    }
}
