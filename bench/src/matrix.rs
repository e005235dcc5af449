//! Products of matrices (`hostwarp-bench --matrix [NAME...]`): GEMMs of 1024³ through `mma`, the kernels that are held to a GPU's bits, beside a
//! register-blocked product of f32 in C, those of integers beside one by VNNI; and what a single instruction takes. One thread, interleaved rounds, minima of CPU time.

use crate::case::{Case, Compare, Scalar, floats, halves, words};
use crate::contestant::{Contestant, Hostwarp, Native, Result};
use std::fmt::Write;
use std::path::Path;

const N: usize = 1024;
const ROUNDS: usize = 41;

/// A kernel of the manifest and the bits of a factor.
const GEMMS: [(&str, usize); 9] = [
    ("gemm_f16", 16),
    ("gemm_f16_half", 16),
    ("gemm_bf16", 16),
    ("gemm_tf32", 32),
    ("gemm_e4m3", 8),
    ("gemm_e5m2", 8),
    ("gemm_s8", 8),
    ("gemm_u8", 8),
    ("gemm_s4", 4),
];

/// An instruction, its registers of `a`, `b` and `c`, the products it adds, and what it has behind `c`.
const INSTRUCTIONS: [(&str, [usize; 3], usize, &str); 14] = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4], 2048, ""),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", [2, 1, 4], 1024, ""),
    ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", [4, 2, 2], 2048, ""),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", [4, 2, 4], 2048, ""),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4], 1024, ""),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", [4, 2, 4], 4096, ""),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", [4, 2, 4], 4096, ""),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", [4, 2, 4], 8192, ""),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", [1, 1, 2], 256, ""),
    ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", [8, 4, 4], 2048, ""),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", [4, 2, 4], 32768, ""),
    ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", [4, 4, 4], 2048, ", meta, 0"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", [4, 4, 4], 1024, ", meta, 0"),
    ("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", [4, 4, 4], 4096, ", meta, 0"),
];

/// Measures those whose names have one of these words in them, or all.
pub fn run(dir: &Path, only: &[String]) -> Result {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| name.contains(o.as_str()));
    println!("| 1024³, one thread | ms | of C's time |\n|---|---|---|");
    let ptx = text()?;
    for (name, bits) in GEMMS {
        if wanted(name) {
            gemm(dir, &ptx, name, bits)?;
        }
    }
    println!("\n| instruction | ns | products in a ns |\n|---|---|---|");
    for (head, registers, products, more) in INSTRUCTIONS {
        if wanted(head) {
            instruction(head, registers, products, more)?;
        }
    }
    Ok(())
}

fn text() -> Result<String> {
    let path = format!("{}/../conformance/kernels/matrix/matrix.ptx.zst", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
    let bytes = zstd::decode_all(bytes.as_slice()).map_err(|e| format!("{path}: {e}"))?;
    String::from_utf8(bytes).map_err(|e| format!("{path}: {e}"))
}

/// The case `name` says; other cases of this file change some of it.
fn case(name: &str, ptx: String, buffers: Vec<Vec<u32>>) -> Case {
    Case {
        name: name.into(),
        work: String::new(),
        kernel: name.into(),
        native: String::new(),
        ptx,
        grid: [N as u32 / 64, N as u32 / 64, 1],
        block: [128, 1, 1],
        units: N / 8,
        grain: N / 8,
        threads: 1,
        output: buffers.len() - 1,
        buffers,
        constant: None,
        scalars: vec![],
        compare: Compare::Bits,
        no_opencl: None,
    }
}

fn gemm(dir: &Path, ptx: &str, name: &str, bits: usize) -> Result {
    let n = N * N * bits / 32;
    let random = |seed| match name {
        "gemm_tf32" => floats(n, seed),
        "gemm_f16" | "gemm_f16_half" => halves(n, seed),
        // The upper halves of floats.
        "gemm_bf16" => {
            let (low, high) = (floats(n, seed), floats(n, seed + 2));
            low.iter().zip(high).map(|(low, high)| low >> 16 | high & 0xffff_0000).collect()
        }
        // No NaNs, no infinities.
        "gemm_e4m3" | "gemm_e5m2" => words(n, seed).iter().map(|w| w & 0xbbbb_bbbb).collect(),
        _ => words(n, seed),
    };
    let row = (N * bits / 8) as u32;
    let mut ours = case(name, ptx.into(), vec![random(1), random(2), vec![0; N * N]]);
    ours.scalars = vec![Scalar::U(N as u32), Scalar::U(row)];
    let float = !matches!(name, "gemm_s8" | "gemm_u8" | "gemm_s4");
    let native = if float { "sgemm_blocked" } else { "bytes_blocked" };
    let side = if float { N * N } else { N * N / 4 };
    let mut theirs = case(name, String::new(), vec![floats(side, 1), floats(side, 2), vec![0; N * N]]);
    theirs.native = native.into();
    theirs.scalars = vec![Scalar::U(N as u32)];
    let [mut jit, _] = Hostwarp::both()?;
    let mut c = Native::matrix(dir)?;
    jit.load(&ours)?;
    c.load(&theirs)?;
    jit.run(&ours, 1)?;
    jit.warm_up(&ours)?;
    let mut least = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        let times = [ours_takes(&mut jit, &ours)?, c.run(&theirs, 1)?.map_or(f64::MAX, |t| t.as_secs_f64())];
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    let [jit, c] = least;
    println!("| {name} | {:.1} | {:.2} ({native}, {:.1} ms) |", jit * 1e3, jit / c, c * 1e3);
    Ok(())
}

/// Seconds of this process: they hardly mind a busy machine.
fn ours_takes(jit: &mut Hostwarp, case: &Case) -> Result<f64> {
    let now = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let began = now();
    jit.run(case, 1)?;
    let ended = now();
    Ok((ended.tv_sec - began.tv_sec) as f64 + (ended.tv_nsec - began.tv_nsec) as f64 * 1e-9)
}

/// Eight products that do not wait for each other, in a loop.
fn instruction(head: &str, [a, b, c]: [usize; 3], products: usize, more: &str) -> Result {
    const TIMES: usize = 256;
    let double = head.contains(".f64");
    let (bits, bytes) = if double { ("f64", 8) } else { ("b32", 4) };
    let sum = match head {
        _ if double => "f64",
        _ if head.contains(".s32") || head.contains(".f16.f16.f16.f16") => "b32",
        _ => "f32",
    };
    let mut ptx = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n.reg .b64 %in, %out, %lane;\n\
         .reg .b32 %t, %i, %meta;\n.reg .{bits} %a<{a}>, %b<{b}>;\n.reg .{sum} %c<{}>;\n.reg .pred %p;\nld.param.u64 %in, [in];\n\
         ld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %lane, %t, {bytes};\nadd.u64 %in, %in, %lane;\nadd.u64 %out, %out, %lane;\n\
         mov.u32 %meta, 0x4444e4e4;\n",
        8 * c
    );
    let list = |name: &str, first: usize, n: usize| {
        (first..first + n).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ")
    };
    for i in 0..a + b {
        let (name, n) = if i < a { ("a", i) } else { ("b", i - a) };
        let _ = writeln!(ptx, "ld.global.{bits} %{name}{n}, [%in+{}];", 32 * bytes * i);
    }
    for i in 0..8 * c {
        let _ = writeln!(ptx, "ld.global.{sum} %c{i}, [%in+{}];", 32 * bytes * (a + b));
    }
    let _ = writeln!(ptx, "mov.u32 %i, 0;\nL:");
    for i in 0..8 {
        let sums = list("c", c * i, c);
        let more = more.replace("meta", "%meta");
        let _ = writeln!(
            ptx,
            "{head} {{{sums}}}, {{{}}}, {{{}}}, {{{sums}}}{more};",
            list("a", 0, a),
            list("b", 0, b)
        );
    }
    let _ = writeln!(ptx, "add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, {TIMES};\n@%p bra L;");
    for i in 0..8 * c {
        let _ = writeln!(ptx, "st.global.{sum} [%out+{}], %c{i};", 32 * bytes * i);
    }
    ptx.push_str("ret;\n}\n");
    let n = 32 * (a + b + 1) * bytes / 4;
    let input = match head {
        _ if double => (0..n).map(|i| if i % 2 == 0 { i as u32 } else { 0x3ff0_0000 | i as u32 }).collect(),
        _ if head.contains(".tf32") => floats(n, 1),
        _ if head.contains(".bf16") => floats(n, 1).iter().map(|w| w & 0xffff_0000 | w >> 16).collect(),
        _ if head.contains(".e4m3") => words(n, 1).iter().map(|w| w & 0xbbbb_bbbb).collect(),
        _ => halves(n, 1),
    };
    let mut case = case("k", ptx, vec![input, vec![0; 32 * 8 * c * bytes / 4]]);
    (case.grid, case.block) = ([64, 1, 1], [32, 1, 1]);
    let [mut jit, _] = Hostwarp::both()?;
    jit.load(&case)?;
    jit.run(&case, 1)?;
    jit.warm_up(&case)?;
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(ours_takes(&mut jit, &case)?);
    }
    let each = least * 1e9 / (64 * TIMES * 8) as f64;
    println!("| {head} | {each:.0} | {:.1} |", products as f64 / each);
    Ok(())
}
