//! Checks any PTX you have: `cargo run -p hostwarp-syntax --release --example roundtrip -- FILE…`
//! Reports syntax errors, lost tokens and unstable printing.

use hostwarp_syntax::{Lexer, parse, print};

fn main() {
    let mut failures = 0;
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                failures += 1;
                continue;
            }
        };
        let parsed = parse(&bytes);
        let lines = parsed.module.line_index();
        for error in parsed.errors.iter().take(5) {
            let at = lines.line_column(parsed.module.source(), error.span.start);
            println!("{path}:{}:{}: {} {}", at.line, at.column, error.code(), error.message());
        }
        failures += parsed.errors.len();
        let once = print(&parsed.module);
        let twice = print(&parse(&once).module);
        let tokens = |text: &str| {
            Lexer::new(text).map(|t| text[t.span.range()].trim_end().to_owned()).collect::<Vec<_>>()
        };
        if once != twice {
            println!("{path}: printing is not stable");
            failures += 1;
        }
        if tokens(parsed.module.source()) != tokens(&once) {
            println!("{path}: printing changed a token");
            failures += 1;
        }
    }
    std::process::exit(if failures == 0 { 0 } else { 1 });
}
