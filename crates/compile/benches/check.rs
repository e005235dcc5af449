//! How fast a module is checked: `cargo bench -p hostwarp-compile`. The bar is 20 MB/s on one core, parsing included, and
//! 12 bytes of memory at the peak per byte of text.

use hostwarp_compile::{Options, compile};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator unchanged; the counters do not touch memory it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(LIVE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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

/// One kernel of short blocks, about `bytes` bytes.
fn blocks(bytes: usize) -> String {
    let mut text = String::from(
        ".version 8.8\n.target sm_90\n.address_size 64\n\n.visible .entry kernel(\n\t.param .u32 kernel_param_0\n)\n{\n\
         \t.reg .pred \t%p<4>;\n\t.reg .b32 \t%r<300>;\n\tld.param.u32 \t%r1, [kernel_param_0];\n",
    );
    let mut i = 0;
    while text.len() < bytes {
        text.push_str(&format!(
            "$L__BB0_{i}:\n\tadd.s32 \t%r{}, %r{}, {i};\n\tsetp.lt.s32 \t%p1, %r{}, %r1;\n\t@%p1 bra \t$L__BB0_{};\n\
             \txor.b32 \t%r{}, %r{}, %r1;\n",
            i % 100 + 2,
            i % 90 + 2,
            i % 80 + 2,
            if i % 4 == 0 { i / 2 } else { i + 1 },
            i % 70 + 2,
            i % 60 + 2,
        ));
        i += 1;
    }
    text.push_str(&format!("$L__BB0_{i}:\n\tret;\n}}\n"));
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

fn measure(name: &str, text: &str) {
    let rate = |t: Duration| text.len() as f64 / 1e6 / t.as_secs_f64();
    let options = Options { check_only: true, ..Options::default() };
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let parsed = hostwarp_syntax::parse(text);
    let output = compile(&parsed, &options);
    let peak = (PEAK.load(Relaxed) - before) as f64 / text.len() as f64;
    assert!(output.diagnostics.is_empty(), "{:?}", output.diagnostics.first());
    let parse = best(5, || _ = hostwarp_syntax::parse(text));
    let check = best(5, || _ = compile(&parsed, &options));
    let build = best(2, || _ = compile(&parsed, &Options::default()));
    println!(
        "{name:<14} {:6.2} MB  parse {:6.1}  check {:6.1}  parse and check {:6.1}  compile to IR {:6.1} MB/s  memory {peak:.1} x peak",
        text.len() as f64 / 1e6,
        rate(parse),
        rate(check),
        rate(parse + check),
        rate(build),
    );
}

fn main() {
    measure("instructions", &module(8_000_000));
    measure("blocks", &blocks(8_000_000));
}
