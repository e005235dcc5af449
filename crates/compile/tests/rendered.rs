//! How diagnostics look as a whole.

use hostwarp_compile::{Options, Style, compile, render, to_json};

const SOURCE: &str = ".version 8.8
.target sm_90a
.address_size 64
.shared .u32 tile[32];
.visible .entry k(.param .u64 data) {
    .reg .b32 %r<4>;
    .reg .b16 %h<4>;
    .reg .f32 %f<2>;
    vadd4.u32.u32.u32.sat.add %r1, %r2, %r3, %r0;
    vmin4.s32.u32.u32.add %r1.b00, %r2, %r3, %r0;
    fma.f16 %h0, %h1, %h2, %h3;
    add.u32 %r1, %r4, %f1;
    ld.global.u32 %r1, [tile];
    add.u32 %r1, %r2, %f1;
    vadd.u32.u32.u32.sat.sat %r1, %r2, %r3;
    wgmma.fence.sync.aligned;
    bra loop;
lopo:
    ret;
}
";

#[test]
fn for_people() {
    let output = compile(&hostwarp_syntax::parse(SOURCE), &Options::default());
    insta::assert_snapshot!(render(&output.diagnostics, SOURCE, "kernel.ptx", Style::default()));
}

#[test]
fn for_programs() {
    let output = compile(&hostwarp_syntax::parse(SOURCE), &Options::default());
    insta::assert_snapshot!(to_json(&output.diagnostics[..2], SOURCE, "kernel.ptx"));
}

#[test]
fn with_colour() {
    let output = compile(&hostwarp_syntax::parse(SOURCE), &Options::default());
    let style = Style { colour: true, ..Style::default() };
    assert!(render(&output.diagnostics, SOURCE, "kernel.ptx", style).contains("\u{1b}["));
}

/// What is shown of a text with one error, a hundred times as long as a terminal.
fn shown(source: &str) -> String {
    let output = compile(&hostwarp_syntax::parse(source), &Options::default());
    let text = render(&output.diagnostics, source, "k.ptx", Style::default());
    assert!(text.len() < 2000, "{text}");
    text
}

#[test]
fn excerpts_of_long_texts_are_short() {
    let head = ".version 8.8\n.target sm_90\n.address_size 64\n";
    let tall = shown(&format!("{head}/* {}", "word\n".repeat(100_000)));
    assert!(tall.contains("k.ptx:4:1") && tall.contains("4 | /* word"), "{tall}");

    let lines = "\n".repeat(5000);
    let far = shown(&format!("{head}.global .u32 x;{lines}.global .f32 x;\n"));
    assert!(far.contains("k.ptx:5004:14") && far.contains("k.ptx:4:14"), "{far}");

    let before = "add.u32 %r1, %r1, 1; ".repeat(3000);
    let wide =
        shown(&format!("{head}.entry k() {{ .reg .b32 %r<2>;\n{before}mov.u32 %r1, %none; {before}}}"));
    assert!(wide.contains("k.ptx:5:63014") && wide.contains("mov.u32 %r1, %none;"), "{wide}");
}

#[test]
fn what_is_beyond_the_limit_is_counted() {
    let body = "foo %r1; mov.u32 %q1, 1;\n".repeat(50_000);
    let source =
        format!(".version 8.8\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .b32 %r<2>;\n{body}}}");
    let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
    assert_eq!(output.diagnostics.len(), 201);
    assert_eq!(output.diagnostics[200].message, "… and 99800 more, not shown");
}
