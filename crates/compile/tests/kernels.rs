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
