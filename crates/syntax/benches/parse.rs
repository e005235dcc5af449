//! Parse and print speed, and how much memory a tree takes: `cargo bench -p hostwarp-syntax [-- FILE…]`.
//!
//! Without files it measures made-up text in the manner of three compilers. Targets: 100 MB/s, and at most 12 bytes
//! of memory at the peak per byte of text.

use hostwarp_syntax::{parse, print};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(by: usize) {
    PEAK.fetch_max(LIVE.fetch_add(by, Relaxed) + by, Relaxed);
}

// SAFETY: every call goes to the system allocator unchanged; the counters do not touch memory it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may both exist while the bytes move.
        grown(new_size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Straight-line code as nvcc writes it.
fn instructions(kernels: usize) -> String {
    let mut text = String::from(".version 8.5\n.target sm_90\n.address_size 64\n\n");
    for k in 0..kernels {
        let _ = write!(
            text,
            ".visible .entry kernel{k}(\n\t.param .u64 kernel{k}_param_0,\n\t.param .u32 kernel{k}_param_1\n)\n{{\n\
             \t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<64>;\n\t.reg .b64 \t%rd<9>;\n\n"
        );
        for i in 0..24 {
            let _ = write!(
                text,
                "\tld.param.u64 \t%rd1, [kernel{k}_param_0];\n\tmad.lo.s32 \t%r{i}, %r1, %r2, %r3;\n\
                 \t@%p1 bra \t$L__BB{k}_{i};\n\tld.global.v4.f32 \t{{%f1, %f2, %f3, %f4}}, [%rd4+{i}];\n\
                 \tfma.rn.f32 \t%f5, %f1, %f2, 0f3F800000;\n\tst.shared.b32 \t[%r5+-16], %r{i}; // spill\n$L__BB{k}_{i}:\n"
            );
        }
        text.push_str("\tret;\n\n}\n");
    }
    text
}

/// A big table.
fn table(bytes: usize) -> String {
    let mut text = format!(".version 8.5\n.target sm_90\n.global .align 1 .b8 data[{bytes}] = {{0");
    for i in 1..bytes {
        let _ = write!(text, ", {}", i * 7 % 256);
    }
    text.push_str("};\n");
    text
}

/// Debug data.
fn dwarf(lines: usize) -> String {
    let mut text = String::from(".version 8.5\n.target sm_90, debug\n.section .debug_info\n{\n");
    for i in 0..lines {
        let _ = writeln!(text, ".b8 {}", i % 256);
    }
    text.push_str("}\n");
    text
}

/// A debug build: a line number before every instruction or two, and data that refers to labels.
fn lines(kernels: usize) -> String {
    let mut text =
        String::from(".version 8.5\n.target sm_90, debug\n.address_size 64\n.file 1 \"/src/kernel.cu\"\n");
    for k in 0..kernels {
        let _ = write!(text, ".visible .entry kernel{k}()\n{{\n\t.reg .b32 \t%r<64>;\n$L__func_begin{k}:\n");
        for i in 0..24 {
            let _ = write!(
                text,
                "\t.loc\t1 {i} 9\n\tmov.u32 \t%r{i}, %r1;\n\t.loc\t1 {i} 3, function_name $L__info_string{k}, inlined_at 1 9 7\n\
                 $L__tmp{k}_{i}:\n\tret;\n"
            );
        }
        let _ = write!(text, "}}\n.section\t.debug_loc{k}\n{{\n");
        for i in 0..24 {
            let _ = write!(
                text,
                ".b64 $L__tmp{k}_{i}\n.b64 $L__func_begin{k}+{i}\n.b8 5 // Abbrev [5]\n.b16 1, 2, 3\n.b32 .debug_loc{k}\n"
            );
        }
        text.push_str("}\n");
    }
    text
}

fn measure(name: &str, text: &str) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let parsed = std::hint::black_box(parse(text));
        best = best.min(start.elapsed().as_secs_f64());
        drop(parsed);
    }
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let parsed = parse(text);
    let per_byte = |bytes: usize| (bytes - before) as f64 / text.len() as f64;
    let (peak, live) = (per_byte(PEAK.load(Relaxed)), per_byte(LIVE.load(Relaxed)));
    let start = Instant::now();
    let printed = print(&parsed.module);
    let printing = start.elapsed().as_secs_f64();
    println!(
        "{name:<28} {:>8.2} MB  parse {:>6.1} MB/s  print {:>6.1} MB/s  memory {live:.1} x kept, {peak:.1} x peak  {} errors",
        text.len() as f64 / 1e6,
        text.len() as f64 / 1e6 / best,
        printed.len() as f64 / 1e6 / printing,
        parsed.errors.len(),
    );
}

fn main() {
    // Cargo passes `--bench`.
    let files: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    for file in &files {
        match std::fs::read(file) {
            Ok(bytes) => measure(file.rsplit('/').next().unwrap_or(file), &String::from_utf8_lossy(&bytes)),
            Err(error) => eprintln!("{file}: {error}"),
        }
    }
    if files.is_empty() {
        measure("instructions", &instructions(1500));
        measure("table", &table(2_000_000));
        measure("debug data", &dwarf(1_000_000));
        measure("line numbers", &lines(2500));
        measure("rubbish", &"{a: ]; @".repeat(500_000));
    }
}
