//! Checks a PTX file and prints what there is to say: `cargo run -p hostwarp-compile --example check -- file.ptx [--json|--ir]`.

use hostwarp_compile::{Options, Style, compile, render, to_json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else { return eprintln!("which file?") };
    let source = std::fs::read(path).expect("a readable file");
    let parsed = hostwarp_syntax::parse(&source);
    let output = compile(&parsed, &Options::default());
    let text = parsed.module.source();
    match arguments.get(1).map(String::as_str) {
        Some("--json") => print!("{}", to_json(&output.diagnostics, text, path)),
        Some("--ir") => output.module.kernels.iter().for_each(|k| match &k.function {
            Ok(f) => println!("{f}"),
            Err(e) => println!("{}: {e:?}", k.name),
        }),
        _ => print!("{}", render(&output.diagnostics, text, path, Style::default())),
    }
}
