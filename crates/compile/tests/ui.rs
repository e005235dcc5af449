//! What is said about wrong modules, written down where it is wrong.
//!
//! A comment `//~ ERROR E0032 part of the message` expects that diagnostic on its line; each `^` behind the tilde means one
//! line further up. Every diagnostic must be expected and every expectation met.

use hostwarp_compile::{Options, Style, compile, render};
use hostwarp_syntax::LineIndex;

struct Expected {
    line: u32,
    severity: String,
    code: String,
    message: String,
}

fn expectations(source: &str) -> Vec<Expected> {
    let mut out = vec![];
    for (number, line) in (1..).zip(source.lines()) {
        let Some((_, comment)) = line.split_once("//~") else { continue };
        let up = comment.bytes().take_while(|b| *b == b'^').count();
        let mut words = comment[up..].split_whitespace();
        let (severity, code) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let message = words.collect::<Vec<_>>().join(" ");
        out.push(Expected {
            line: number - up as u32,
            severity: severity.to_lowercase(),
            code: code.into(),
            message,
        });
    }
    out
}

#[test]
fn ui() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ui");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    assert!(paths.len() > 5);
    let mut failures = String::new();
    for path in paths {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
        let lines = LineIndex::new(&source);
        let mut expected = expectations(&source);
        for d in &output.diagnostics {
            let line = lines.line(d.primary.span.start);
            let met = expected.iter().position(|e| {
                e.line == line
                    && e.severity == d.severity.id()
                    && e.code == d.code.text()
                    && d.message.contains(&e.message)
            });
            match met {
                Some(i) => _ = expected.remove(i),
                None => {
                    let shown = render(std::slice::from_ref(d), &source, &name, Style::default());
                    failures.push_str(&format!("not expected:\n{shown}"));
                }
            }
        }
        for e in expected {
            let Expected { line, severity, code, message } = e;
            failures.push_str(&format!("{name}:{line}: missing: {severity} {code} {message}\n"));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
