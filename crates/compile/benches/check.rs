//! How fast a module is checked: `cargo bench -p hostwarp-compile`. The bar is 20 MB/s on one core, parsing included.

use hostwarp_compile::{Options, compile};
use std::time::{Duration, Instant};

/// A module of about `bytes` bytes made of kernels such as compilers write them.
fn module(bytes: usize) -> String {
    let mut text = String::from(".version 8.8\n.target sm_90\n.address_size 64\n\n");
    let mut k = 0;
    while text.len() < bytes {
        text.push_str(&format!(
            ".visible .entry kernel{k}(\n\t.param .u64 .ptr .global .align 4 kernel{k}_param_0,\n\t.param .u32 kernel{k}_param_1\n)\n{{\n\
             \t.reg .pred \t%p<4>;\n\t.reg .f32 \t%f<200>;\n\t.reg .b32 \t%r<300>;\n\t.reg .b64 \t%rd<60>;\n\n\
             \tld.param.u64 \t%rd1, [kernel{k}_param_0];\n\tld.param.u32 \t%r1, [kernel{k}_param_1];\n\
             \tcvta.to.global.u64 \t%rd2, %rd1;\n\tmov.u32 \t%r2, %ctaid.x;\n\tmov.u32 \t%r3, %ntid.x;\n\tmov.u32 \t%r4, %tid.x;\n\
             \tmad.lo.s32 \t%r5, %r2, %r3, %r4;\n\tsetp.ge.s32 \t%p1, %r5, %r1;\n\t@%p1 bra \t$L__BB{k}_2;\n\n\
             \tmul.wide.s32 \t%rd3, %r5, 4;\n\tadd.s64 \t%rd4, %rd2, %rd3;\n"
        ));
        for i in 0..40 {
            text.push_str(&format!(
                "\tld.global.f32 \t%f{}, [%rd4+{}];\n\tfma.rn.f32 \t%f{}, %f{}, %f{}, 0f3F800000;\n\
                 \tvabsdiff4.u32.u32.u32.add \t%r{}, %r{}, %r{}, %r{};\n\tshl.b32 \t%r{}, %r{}, {};\n\
                 \txor.b32 \t%r{}, %r{}, -1;\n\tst.global.f32 \t[%rd4+{}], %f{};\n",
                i + 1,
                i * 4,
                i + 2,
                i + 1,
                i + 3,
                i + 10,
                i + 9,
                i + 8,
                i + 7,
                i + 100,
                i + 10,
                i % 32,
                i + 150,
                i + 100,
                i * 4,
                i + 2,
            ));
        }
        text.push_str(&format!("\n$L__BB{k}_2:\n\tret;\n\n}}\n"));
        k += 1;
    }
    text
}

fn best(of: u32, mut f: impl FnMut()) -> Duration {
    (0..of)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    let text = module(8_000_000);
    let rate = |t: Duration| text.len() as f64 / 1e6 / t.as_secs_f64();
    let parsed = hostwarp_syntax::parse(&text);
    let check = Options { check_only: true, ..Options::default() };
    let output = compile(&parsed, &check);
    assert!(output.diagnostics.is_empty(), "{:?}", output.diagnostics.first());
    let parse = best(5, || _ = hostwarp_syntax::parse(&text));
    let only = best(5, || _ = compile(&parsed, &check));
    let build = best(2, || _ = compile(&parsed, &Options::default()));
    println!("parse            {:7.1} MB/s", rate(parse));
    println!("check            {:7.1} MB/s", rate(only));
    println!("parse and check  {:7.1} MB/s", rate(parse + only));
    println!("compile to IR    {:7.1} MB/s", rate(build));
}
