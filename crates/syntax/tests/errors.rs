//! What is said about broken text, and what is saved of it.

use hostwarp_syntax::*;

fn codes(text: &str) -> Vec<(&'static str, u32, u32)> {
    let parsed = parse(text);
    let lines = parsed.module.line_index();
    parsed
        .errors
        .iter()
        .map(|e| {
            let at = lines.line_column(text, e.span.start);
            (e.code(), at.line, at.column)
        })
        .collect()
}

/// The opcodes of all instructions, whatever block they are in.
fn opcodes(module: &Module) -> Vec<&str> {
    fn walk<'m>(statements: Statements<'m>, out: &mut Vec<&'m str>) {
        for statement in statements {
            match statement {
                Statement::Function(f) => f.body().into_iter().for_each(|b| walk(b.statements(), out)),
                Statement::Block(b) => walk(b.statements(), out),
                Statement::Instruction(i) => out.push(i.opcode()),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    walk(module.items(), &mut out);
    out
}

#[test]
fn many_errors_in_one_run() {
    assert_eq!(
        codes(include_str!("data/broken.ptx")),
        [
            ("P0010", 3, 18),  // no value
            ("P0010", 5, 20),  // `;` missing before a directive
            ("P0010", 7, 21),  // `,` missing between operands
            ("P0010", 8, 21),  // no operand between commas
            ("P0003", 10, 18), // 0xg
            ("P0013", 11, 5),  // `]` begins nothing
            ("P0010", 13, 29), // `]` missing
            ("P0010", 14, 8),  // `;` missing
            ("P0017", 15, 1),  // `}` missing twice
            ("P0005", 16, 27), // quote missing
            ("P0010", 16, 37), // hence `;` too
            ("P0012", 19, 1),  // one `}` too many
            ("P0014", 20, 1),  // no such directive
            ("P0010", 21, 14), // no parameter
        ]
    );
    let module = parse(include_str!("data/broken.ptx")).module;
    let names: Vec<_> = module.functions().map(|f| f.name().unwrap().text).collect();
    assert_eq!(names, ["one", "two", "three"]);
    assert_eq!(opcodes(&module), ["add", "mul", "L", "mov", "ld", "ret", "st", "ret", "ret"]);
}

#[test]
fn one_error_each() {
    for (text, code) in [
        ("`", "P0001"),
        (".global .u32 a = 08;", "P0003"),
        (".global .u64 a = 18446744073709551616;", "P0004"),
        (".file 1 \"x", "P0005"),
        ("/* x", "P0006"),
        (".global .u32 a", "P0010"),
        (".entry k() {", "P0011"),
        ("}", "P0012"),
        ("+;", "P0013"),
        (".what 1, 2;", "P0014"),
        ("ret;", "P0015"),
        (".entry k() { .callprototype _; }", "P0016"),
        (".entry k() { .entry l() { }", "P0017"),
        (".entry k() { ret;; }", "P0018"),
        (".entry k() { add.s32 %r1, %r2 }", "P0010"),
        (".entry k() { @p; }", "P0010"),
        (".entry k() { @1 ret; }", "P0010"),
        (".entry k(.param .u32 a .param .u32 b) { }", "P0010"),
        (".entry () { }", "P0010"),
        (".reg .u32 %r<4;", "P0010"),
        (".global .u32 a[] = {1,};", "P0010"),
        (".section .debug_str { .b8 1", "P0011"),
    ] {
        let errors = parse(text).errors;
        assert_eq!(errors.iter().map(|e| e.code()).collect::<Vec<_>>(), [code], "{text}: {errors:?}");
        assert!(!errors[0].message().is_empty());
    }
}

#[test]
fn a_missing_semicolon_is_marked_where_it_belongs() {
    let text = ".entry k() { mov.u32 %r1, 5\n\n  ret; }";
    let error = parse(text).errors[0];
    assert_eq!(error.span, Span::at(text.find("\n").unwrap() as u32));
    assert_eq!(error.message(), "expected `,` or `;`, found a name");
    assert_eq!(error.label().unwrap(), "expected `,` or `;`");
    assert_eq!(opcodes(&parse(text).module), ["mov", "ret"]);
}

#[test]
fn a_broken_header_keeps_its_body() {
    for header in ["k(.param", "k(]", "k(.param .u32 a b c)", "k() ! ", "k() .maxntid ,", "(.reg .u32 k"] {
        let module = parse(format!(".func {header} {{ ret; }} .func l() {{ exit; }}")).module;
        assert_eq!(opcodes(&module), ["ret", "exit"], "{header}");
    }
}

#[test]
fn a_missing_brace_does_not_swallow_the_next_function() {
    let parsed = parse(".entry a() { { ret;\n.visible .entry b() { exit; }");
    assert_eq!(parsed.errors.iter().map(|e| e.code()).collect::<Vec<_>>(), ["P0017"]);
    assert_eq!(parsed.module.functions().count(), 2);
    let parsed = parse(".section .debug_str { .b8 1\n.visible .entry b() { exit; }");
    assert_eq!(parsed.errors.iter().map(|e| e.code()).collect::<Vec<_>>(), ["P0011"]);
    assert_eq!(parsed.module.functions().count(), 1);
}

#[test]
fn errors_are_in_text_order_and_bounded() {
    let parsed = parse("] ".repeat(5000) + "/* x");
    assert!(parsed.errors.len() <= 1001);
    assert!(parsed.errors.is_sorted_by_key(|e| e.span.start));
    let parsed = parse("a ; ] ; 0x ".repeat(5000));
    assert_eq!(parsed.errors.len(), 1001);
    assert_eq!(parsed.errors.iter().filter(|e| e.kind == ErrorKind::TooManyErrors).count(), 1);
}

#[test]
fn adjoining_rubbish_is_one_statement() {
    let errors = |text: &str| -> Vec<String> {
        let module = parse(text).module;
        module
            .items()
            .filter(|s| matches!(s, Statement::Error(_)))
            .map(|s| module.text(s.span()).into())
            .collect()
    };
    assert_eq!(errors("]; @ ; } } ] .version 8.5 ) ;"), ["]; @ ; } } ]", ") ;"]);
    // A block between ends it, and what is within a block stays there.
    assert_eq!(errors("]; {]; } ];"), ["];", "];"]);
    assert_eq!(parse("]; {]; } ];").errors.len(), 4);
}
