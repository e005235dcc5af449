//! Any bytes can be checked and compiled: no panic, every kernel that comes out is valid IR, every diagnostic can be shown.
#![no_main]

use hostwarp_compile::{Style, compile, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let parsed = hostwarp_syntax::parse(bytes);
    let output = compile(&parsed, &Default::default());
    for kernel in &output.module.kernels {
        if let Ok(function) = &kernel.function {
            hostwarp_ir::verify(function).expect("valid IR");
        }
    }
    let _ = render(&output.diagnostics, parsed.module.source(), "fuzz.ptx", Style::default());
});
