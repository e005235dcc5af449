//! Instructions without declarations.

use hostwarp_compile::{Snippet, Style, compile_snippet, render};
use hostwarp_isa::{Profile, Ty};

fn snippet(text: &str) -> Snippet {
    let s = compile_snippet(text, Profile::Isa);
    assert!(s.diagnostics.is_empty(), "{}", render(&s.diagnostics, text, "eval", Style::default()));
    hostwarp_ir::verify(s.function.as_ref().unwrap()).unwrap();
    s
}

type Registers<'a> = Vec<(&'a str, Ty)>;

fn shape(s: &Snippet) -> (Registers<'_>, Registers<'_>) {
    (
        s.inputs.iter().map(|r| (r.name.as_str(), r.ty)).collect(),
        s.outputs.iter().map(|r| (r.name.as_str(), r.ty)).collect(),
    )
}

#[test]
fn registers_take_the_type_of_their_place() {
    let s = snippet("vadd4.u32.u32.u32.sat d, a.b3210, b, c");
    assert_eq!(shape(&s), (vec![("a", Ty::B32), ("b", Ty::B32), ("c", Ty::B32)], vec![("d", Ty::B32)]));
    assert_eq!(s.inputs.iter().map(|r| r.offset).collect::<Vec<_>>(), [16, 32, 48]);
    let s = snippet("fma.rn.f32 %f0, %f1, %f2, 1.5;");
    assert_eq!(shape(&s), (vec![("%f1", Ty::F32), ("%f2", Ty::F32)], vec![("%f0", Ty::F32)]));
    let s = snippet("fma.rn.bf16 d, a, b, c");
    assert_eq!(s.outputs[0].ty, Ty::B16);
    let s = snippet("mul.wide.u32 d, a, b");
    assert_eq!((s.outputs[0].ty, s.inputs[0].ty), (Ty::U64, Ty::U32));
    let s = snippet("mov.b64 d, {a, b}");
    assert_eq!(shape(&s), (vec![("a", Ty::B32), ("b", Ty::B32)], vec![("d", Ty::B64)]));
    let s = snippet("cvt.rn.f16.f32 d, a");
    assert_eq!(shape(&s), (vec![("a", Ty::F32)], vec![("d", Ty::F16)]));
    let s = snippet("setp.lt.and.s32 p|q, a, b, r");
    assert_eq!(
        shape(&s),
        (vec![("a", Ty::S32), ("b", Ty::S32), ("r", Ty::Pred)], vec![("p", Ty::Pred), ("q", Ty::Pred)])
    );
}

#[test]
fn what_is_written_is_no_input() {
    let s = snippet("add.u32 x, a, b; add.u32 y, x, a");
    assert_eq!(shape(&s).0, [("a", Ty::U32), ("b", Ty::U32)]);
    assert_eq!(shape(&s).1, [("x", Ty::U32), ("y", Ty::U32)]);
    // A guarded write may not happen, so the old value is an input.
    let s = snippet("@p add.u32 x, a, 1;");
    assert_eq!(shape(&s).0, [("p", Ty::Pred), ("x", Ty::U32), ("a", Ty::U32)]);
}

#[test]
fn loops_and_early_returns() {
    snippet("L: add.u32 x, x, 1; setp.lt.u32 p, x, 10; @p bra L; @!p ret; add.u32 x, x, x;");
}

#[test]
fn errors_point_into_the_text() {
    let text = "vadd4.u32.u32.u32.sat.add d, a, b, c";
    let s = compile_snippet(text, Profile::Isa);
    assert!(s.function.is_err());
    let d = &s.diagnostics[0];
    assert_eq!(d.code.text(), "E0032");
    assert!(matches!(&text[d.primary.span.range()], ".sat" | ".add"));
}

#[test]
fn what_follows_from_another_error_is_not_told() {
    let told = |text: &str| {
        let s = compile_snippet(text, Profile::Isa);
        assert!(s.function.is_err());
        render(&s.diagnostics, text, "eval", Style::default())
    };
    // There is no such form, so nothing tells what the registers are; the last instruction tells it of `e`.
    let texts = [
        "rcp.approx.f64 d, a",
        "add.f32 d, a, b; rcp.approx.f64 e, d; fma.rn.f64 x, e, y, z",
        // This one has no other error.
        "mul.wide.u32 a, a, b",
        // What has been told counts.
        "add.f32 d, a, b; add.s64 d, d, c",
    ];
    insta::assert_snapshot!(texts.map(told).join("----\n"));
}

#[test]
fn names_stay_for_the_trace() {
    let s = snippet("vadd4.u32.s32.u32.sat d, a, b, c");
    let names: Vec<_> = s.function.unwrap().names.into_values().collect();
    assert!(names.contains(&"clamped".to_string()), "{names:?}");
}
