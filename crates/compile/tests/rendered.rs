//! How diagnostics look as a whole.

use hostwarp_compile::{Options, Style, compile, render, to_json};

const SOURCE: &str = ".version 8.8
.target sm_90
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
    wmma.mma.sync.aligned %r1, %r2;
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
