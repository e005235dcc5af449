//! Kernels that are right: they compile without a word and give IR that verifies.

use hostwarp_compile::{Options, Style, compile, render};

/// Compiles a module that must be right and gives the IR of its kernels.
fn functions(source: &str) -> Vec<hostwarp_ir::Function> {
    let parsed = hostwarp_syntax::parse(source);
    let output = compile(&parsed, &Options::default());
    let shown = render(&output.diagnostics, source, "test.ptx", Style::default());
    assert!(output.diagnostics.is_empty(), "{shown}");
    output
        .module
        .kernels
        .into_iter()
        .map(|k| {
            let f = k.function.unwrap_or_else(|e| panic!("{}: {e:?}", k.name));
            hostwarp_ir::verify(&f).unwrap_or_else(|e| panic!("{e}\n{f}"));
            f
        })
        .collect()
}

fn kernel(body: &str) -> hostwarp_ir::Function {
    let source = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n) {{\n\
         .reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n.reg .pred %p<4>;\n.reg .f32 %f<8>;\n.reg .b16 %h<4>;\n{body}\n}}\n"
    );
    functions(&source).remove(0)
}

#[test]
fn video() {
    let f = kernel(
        "vadd4.u32.u32.u32.sat %r1, %r2.b3210, %r3.b7654, %r0; @%p1 vmad.u32.u32.u32 %r1, -%r2.b1, %r3.h0, %r4;",
    );
    assert!(f.to_string().contains("select"), "{f}");
}

#[test]
fn examples() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let source = std::fs::read_to_string(&path).unwrap();
            assert!(!functions(&source).is_empty(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 5);
}

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

#[test]
fn calls_are_inlined() {
    let f = functions(&format!(
        "{HEAD}.func (.reg .u32 y) twice(.reg .u32 x) {{\n .reg .pred %p; setp.eq.u32 %p, x, 0; @%p ret; add.u32 y, x, x; ret; }}\n\
         .func (.param .b32 out) later(.param .b32 in, .param .align 8 .b8 pair[8]);\n\
         .entry k(.param .u64 p) {{\n .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p1;\n ld.param.u64 %rd1, [p];\n\
         ld.global.u32 %r1, [%rd1];\n call (%r2), twice, (%r1);\n @%p1 call (%r2), twice, (5);\n\
         {{ .param .b32 a; .param .align 8 .b8 b[8]; .param .b32 c;\n st.param.b32 [a], %r2; st.param.v2.b32 [b], {{%r1, %r2}};\n\
         call.uni (c), later, (a, b);\n ld.param.b32 %r3, [c]; }}\n st.global.u32 [%rd1], %r3;\n ret; }}\n\
         .func (.param .b32 out) later(.param .b32 in, .param .align 8 .b8 pair[8]) {{\n .reg .b32 %a, %b; .shared .u32 s;\n\
         ld.param.u32 %a, [in]; ld.param.u32 %b, [pair+4]; add.u32 %a, %a, %b;\n call (%a), twice, (%a);\n\
         st.shared.u32 [s], %a; st.param.b32 [out], %a; ret; }}\n"
    ))
    .remove(0);
    let text = f.to_string();
    assert!(!text.contains("store.param"), "{text}");
    assert_eq!(text.matches("load.param").count(), 1, "{text}");
    assert_eq!(f.info.declared_shared(), 4);
    // All that was handed over is in registers.
    assert_eq!(f.info.local_bytes, 0);
    assert!(!text.contains(".local"), "{text}");
}

#[test]
fn a_kernel_that_cannot_be_used_leaves_the_others() {
    let source = format!(
        "{HEAD}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.func again() {{ call again; ret; }}\n\
         .entry a() {{ .reg .b32 %r1; .param .b64 f; .param .b32 r; call (r), vprintf, (f, f); ret; }}\n\
         .entry b() {{ call again; ret; }}\n.entry c() {{ .reg .b32 %r1; .reg .b64 %rd1; tex.1d.v4.s32.s32 {{%r1, %r1, %r1, %r1}}, [%rd1, {{%r1}}]; ret; }}\n.entry d() {{ ret; }}\n"
    );
    let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
    assert!(!output.has_errors());
    let lines: Vec<Result<(), u32>> = output
        .module
        .kernels
        .iter()
        .map(|k| match &k.function {
            Ok(_) => Ok(()),
            Err(hostwarp_compile::Unusable::Unsupported { line, .. }) => Err(*line),
            Err(other) => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lines, [Ok(()), Ok(()), Err(8), Ok(())]);
}

#[test]
fn guards_and_widths() {
    let f = kernel(
        "ld.param.u64 %rd1, [out]; ld.global.s8 %r1, [%rd1]; ld.global.u8 %r2, [%rd1+1]; @%p1 ld.global.u32 %r3, [%rd1+4];\n\
         @!%p1 add.u32 %r3, %r3, 0x1ffffffff; mov.f32 %f1, 0.1; add.f32 %f1, %f1, 0d3ff0000000000000; st.global.u8 [%rd1], %r3;\n\
         setp.lt.u32 %p1|%p2, %r1, %r2; and.pred %p1, %p2, !%p3; mov.b32 {%h1, _}, %r1; @%p1 bra L; exit; L: st.global.f32 [%rd1], %f1;",
    );
    let text = f.to_string();
    for part in ["sext", "zext", "0x3dcccccd", "0x3f800000", "0xffffffff", "select"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn branches_by_index() {
    let f = kernel(
        "brx.idx %r1, list; A: add.u32 %r1, %r1, 1; B0: @%p1 brx.idx.uni %r2, list; ret; B1: exit; list: .branchtargets A, B<2>;",
    );
    assert_eq!(f.to_string().matches("switch").count(), 2, "{f}");
}

#[test]
fn a_failed_assertion_traps() {
    let f = functions(&format!(
        "{HEAD}.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n\
         .entry k() {{ .reg .pred %p; .param .b64 a; .param .b32 l; @%p call __assertfail, (a, a, l, a, a); ret; }}"
    ))
    .remove(0);
    assert!(f.to_string().contains("assert"), "{f}");
}

/// Every kernel of the tests after every pass: it verifies, and its text is read back as what it was.
#[test]
fn text_is_read_back_after_every_pass() {
    let (mut kernels, mut texts) = (0, 0);
    for dir in ["tests/kernels", "tests/torture", "examples"] {
        let dir = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(dir);
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "ptx") {
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let output = compile(&hostwarp_syntax::parse(&source), &Options::default());
            for mut func in output.module.kernels.into_iter().filter_map(|k| k.function.ok()) {
                kernels += 1;
                check_text(&func);
                hostwarp_ir::passes::run(&mut func, hostwarp_ir::passes::LOWER, |pass, func| {
                    hostwarp_ir::verify(func).unwrap_or_else(|e| panic!("{}: {e}\n{func}", pass.name));
                    check_text(func);
                    texts += 1;
                    true
                });
                hostwarp_ir::verify_primitive(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
            }
        }
    }
    assert!(kernels > 80 && texts > 1000, "{kernels} {texts}");
}

fn check_text(func: &hostwarp_ir::Function) {
    let text = func.to_string();
    let parsed = hostwarp_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(parsed.to_string(), text);
    // Messages are numbered as they turn up in the text.
    let same = parsed.kernels[0].blocks == func.blocks || !func.unsupported.is_empty();
    assert!(same, "what is read is not what was printed:\n{text}");
}
