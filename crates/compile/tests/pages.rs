//! Every code has a page, and its examples are what they say.

use hostwarp_compile::{Code, Example, Options, Severity, Style, compile, error_index, render};
use std::collections::HashSet;

fn codes_of(example: Example) -> (Vec<Code>, String) {
    let source = example.file();
    let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
    let shown = render(&output.diagnostics, &source, "example.ptx", Style::default());
    (output.diagnostics.iter().map(|d| d.code).collect(), shown)
}

#[test]
fn wrong_examples_have_their_code() {
    for code in Code::ALL {
        if let Some(wrong) = code.page().wrong {
            let (codes, shown) = codes_of(wrong);
            assert!(
                codes.contains(code),
                "the example of {code} does not show it:\n{}\n{shown}",
                wrong.file()
            );
        }
    }
}

#[test]
fn right_examples_are_right() {
    for code in Code::ALL {
        if let Some(right) = code.page().right {
            let (codes, shown) = codes_of(right);
            assert!(codes.is_empty(), "the right example of {code}:\n{shown}");
        }
    }
}

#[test]
fn codes_are_told_apart() {
    let texts: HashSet<&str> = Code::ALL.iter().map(|c| c.text()).collect();
    assert_eq!(texts.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(Code::from_text(code.text()), Some(*code));
        assert!(code.markdown().contains(code.title()));
    }
    assert_eq!(Code::from_text("u0001").map(Code::severity), Some(Severity::Unsupported));
}

#[test]
fn the_error_index_is_up_to_date() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
    for (name, text) in error_index() {
        let written = std::fs::read_to_string(format!("{dir}/{name}")).unwrap_or_default();
        assert!(
            written.replace("\r\n", "\n") == text,
            "docs/errors/{name} is not what the code says; \
             run `cargo run -p hostwarp-compile --example error_index -- docs/errors`"
        );
    }
}
