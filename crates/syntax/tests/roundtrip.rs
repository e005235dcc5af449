//! Printing loses nothing and is stable, for good text and for any other.

mod common;

use common::{SAMPLES, check};
use hostwarp_syntax::{parse, print};
use proptest::prelude::*;

#[test]
fn samples() {
    for sample in SAMPLES {
        check(sample.as_bytes());
    }
}

#[test]
fn golden() {
    let printed = print(&parse(SAMPLES[0]).module);
    assert_eq!(printed, include_str!("data/everything.fmt.ptx"), "printed:\n{printed}");
}

#[test]
fn comments_stay_where_they_were() {
    let text = "\
// head
.version 8.0 // version

/* one
   two */
.entry k( // open
    .param .u32 a, // first
    .param .u32 b /* second */
)
{ // body
    // above
    add.s32 %r1, // left
        %r2, /* mid */ %r3;

    ret; /* after */ // twice
    // last
} // end
// tail
";
    assert_eq!(print(&parse(text).module), text);
}

#[test]
fn long_lists_are_broken() {
    let text = format!(".global .u32 a[] = {{{}}};", vec!["12345"; 100].join(","));
    let printed = print(&parse(&text).module);
    assert!(printed.lines().count() > 5 && printed.lines().all(|l| l.len() < 130), "{printed}");
    check(text.as_bytes());
}

#[test]
fn one_instruction() {
    let module = parse(".entry k(){ @ !p  add .s32   %r1 , // here\n %r2 , [ a + -4 ] ;}").module;
    let body = module.functions().next().unwrap().body().unwrap();
    match body.statements().next() {
        Some(hostwarp_syntax::Statement::Instruction(i)) => {
            assert_eq!(i.print(), "@!p add.s32 %r1, %r2, [a+-4];")
        }
        other => panic!("{other:?}"),
    }
}

/// Pieces that make every construct, and every way to break one, likely.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        ".version",
        "8.0",
        ".target",
        "sm_90",
        ".entry",
        ".func",
        ".visible",
        ".extern",
        ".weak",
        ".reg",
        ".global",
        ".shared",
        ".param",
        ".const",
        ".b32",
        ".u8",
        ".pred",
        ".v4",
        ".align",
        ".attribute",
        ".managed",
        ".ptr",
        ".section",
        ".debug_str",
        ".loc",
        ".file",
        ".pragma",
        ".alias",
        ".callprototype",
        ".branchtargets",
        ".maxntid",
        ".noreturn",
        "inlined_at",
        "function_name",
        "k",
        "%r1",
        "%p",
        "_",
        "$L",
        "add",
        "call",
        "mov",
        "generic",
        ".x",
        ".b3210",
        ".1d",
        ".1e",
        ".s64",
        ".shared::cluster",
        ".5",
        ".5e",
        "1",
        "0",
        "0x1f",
        "08",
        "0b1",
        "1e",
        "1.",
        "1e5",
        "0f3f800000",
        "0d3ff0000000000000",
        "4U",
        "\"s\"",
        "\"open",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "{",
        "}",
        "(",
        ")",
        ",",
        ",",
        ";",
        ";",
        ";",
        ":",
        "?",
        "@",
        "@@",
        "=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "~",
        "&",
        "&&",
        "|",
        "||",
        "^",
        "<",
        "<=",
        "<<",
        ">",
        ">=",
        ">>",
        "==",
        "!=",
        "//",
        "// c\n",
        "/* c */",
        "/*\n*/",
        "/*",
        "*/",
        "#",
        "# 1 \"f\"\n",
        "@@DWARF .byte 0\n",
        "\n",
        "\n\n",
        "\n\n\n",
        " ",
        "\t",
        "\r\n",
        "`",
        "\\",
        "é",
        "\0",
        ".",
        "..",
        "::",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn token_soup(pieces in proptest::collection::vec((piece(), proptest::bool::ANY), 0..60)) {
        let mut text = String::new();
        for (piece, space) in pieces {
            text.push_str(piece);
            if space {
                text.push(' ');
            }
        }
        check(text.as_bytes());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        check(&bytes);
    }

    #[test]
    fn soup_in_a_body(pieces in proptest::collection::vec(piece(), 0..40)) {
        check(format!(".entry k() {{ {} }}\n.entry l() {{ ret; }}", pieces.join(" ")).as_bytes());
    }
}
