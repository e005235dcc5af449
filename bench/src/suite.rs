//! `hostwarp-bench --suite`: kernels nobody tuned for, as nvcc compiles them (`bench/suite`), against C of the same algorithm, one thread each.

use crate::contestant::Result;
use hostwarp::jit::Paths;
use hostwarp::{Arg, Buffer, Device, Effort, Emit, Engine, Module};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A kernel: its inputs and output in elements (f: floats, i: words, b: bytes), its numbers and its launch.
struct Row(&'static str, &'static str, [usize; 3], [i32; 2], [u32; 2], [u32; 2]);

#[rustfmt::skip]
const ROWS: [Row; 22] = [
    Row("saxpy_stride", "fff", [1 << 18, 1 << 18, 1 << 18], [1 << 18, 0], [64, 1], [256, 1]),
    Row("stencil", "fff", [1 << 18, 1, 1 << 18], [512, 512], [16, 64], [32, 8]),
    Row("bitonic", "iii", [1 << 16, 1, 1 << 16], [1 << 16, 0], [256, 1], [256, 1]),
    Row("scan", "iii", [1 << 18, 1, 1 << 18], [1 << 18, 0], [1024, 1], [256, 1]),
    Row("warp_scan", "iii", [1 << 18, 1, 1 << 18], [1 << 18, 0], [1024, 1], [256, 1]),
    Row("layernorm", "fff", [1 << 18, 1, 1 << 18], [1024, 256], [256, 1], [128, 1]),
    Row("hash_rounds", "iii", [1 << 16, 1, 1 << 16], [1 << 16, 32], [256, 1], [256, 1]),
    Row("binary_search", "iii", [1 << 16, 1 << 18, 1 << 16], [1 << 16, 1 << 18], [256, 1], [256, 1]),
    Row("histogram", "bii", [1 << 20, 1, 256], [1 << 20, 0], [64, 1], [256, 1]),
    Row("transpose", "fff", [1 << 18, 1, 1 << 18], [512, 512], [16, 16], [32, 8]),
    Row("nbody", "fff", [1 << 11, 1, 1 << 11], [1 << 11, 0], [8, 1], [256, 1]),
    Row("spmv", "fif", [1 << 18, 1 << 18, 1 << 14], [1 << 14, 0], [64, 1], [256, 1]),
    Row("julia", "ffi", [1 << 16, 1 << 16, 1 << 16], [1 << 16, 200], [256, 1], [256, 1]),
    Row("box_blur", "bfb", [1 << 18, 1, 1 << 18], [512, 512], [2, 512], [256, 1]),
    Row("dot", "iii", [1 << 18, 1 << 18, 1], [1 << 18, 0], [64, 1], [256, 1]),
    Row("convolution", "fff", [1 << 18, 25, 1 << 18], [512, 512], [16, 64], [32, 8]),
    Row("kmeans", "ffi", [1 << 18, 64, 1 << 16], [1 << 16, 16], [256, 1], [256, 1]),
    Row("lu_row", "fff", [1 << 18, 1, 1 << 18], [512, 512], [2, 512], [256, 1]),
    Row("match_bytes", "bbi", [1 << 18, 8, 1 << 18], [1 << 18, 0], [1024, 1], [256, 1]),
    Row("ray", "ffi", [1 << 14, 1 << 14, 1 << 14], [1 << 14, 256], [64, 1], [256, 1]),
    Row("softmax_max", "fff", [1 << 18, 1, 1 << 18], [1024, 256], [256, 1], [128, 1]),
    Row("xorshift", "iii", [1 << 16, 1, 1 << 16], [1 << 16, 64], [256, 1], [256, 1]),
];

/// What one way of running a kernel came to.
#[derive(Default)]
struct Measured {
    run: Duration,
    compile: Duration,
    lines: usize,
    hash: u64,
}

/// Measures all, or those named, and prints a table.
pub(crate) fn run(dir: &Path, only: &[String]) -> Result {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let native = dir.join("suite");
    let built = Command::new("c++")
        .args(["-O3", "-march=native", "-ffp-contract=off", "-x", "c++"])
        .arg(root.join("suite/main.cc"))
        .arg("-o")
        .arg(&native)
        .status();
    if !built.map_err(|e| format!("c++: {e}"))?.success() {
        return Err("the references of bench/suite do not compile".into());
    }
    let mut text = String::from(
        "| kernel | PTX | C ms | default ÷ C | vector ÷ C | vector O0 ÷ C | LLVM lines per instruction, default, vector | compile ms, default, vector, vector O0 |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut logs = [0.0f64; 3];
    let mut count = 0.0;
    for row in ROWS.iter().filter(|r| only.is_empty() || only.iter().any(|o| o == r.0)) {
        let (c, hash) = reference(&native, row)?;
        let file = root.join("suite").join(format!("{}.ptx", row.0));
        let ptx = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let instructions =
            ptx.lines().filter(|l| l.trim_end().ends_with(';') && !l.contains(".param")).count();
        // By default, by way of the vector IR whatever the default is, and that at O0.
        let ways =
            [(None, Effort::Best), (Some(Paths::Vector), Effort::Best), (Some(Paths::Vector), Effort::Quick)];
        let mut all = vec![];
        for (paths, effort) in ways {
            let measured = measure(row, &ptx, paths, effort)?;
            if measured.hash != hash {
                return Err(format!("{}: {paths:?} gives other bits than C", row.0));
            }
            all.push(measured);
        }
        let ratio = |m: &Measured| m.run.as_secs_f64() / c.as_secs_f64();
        for (log, m) in logs.iter_mut().zip(&all) {
            *log += ratio(m).ln();
        }
        count += 1.0;
        let per = |m: &Measured| m.lines as f64 / instructions as f64;
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        let line = format!(
            "| {} | {instructions} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0}, {:.0} | {:.0}, {:.0}, {:.0} |",
            row.0,
            ms(c),
            ratio(&all[0]),
            ratio(&all[1]),
            ratio(&all[2]),
            per(&all[0]),
            per(&all[1]),
            ms(all[0].compile),
            ms(all[1].compile),
            ms(all[2].compile),
        );
        println!("{line}");
        let _ = writeln!(text, "{line}");
    }
    let mean = |n: usize| (logs[n] / count).exp();
    println!("geometric mean: default {:.2}, vector {:.2}, vector O0 {:.2}", mean(0), mean(1), mean(2));
    Ok(())
}

fn bytes(kind: u8, elements: usize) -> usize {
    if kind == b'b' { elements } else { 4 * elements }
}

/// As `fill` in `suite/main.cc`.
fn fill(kind: u8, elements: usize, mut seed: u64) -> Vec<u8> {
    let mut out = vec![];
    for _ in 0..bytes(kind, elements) / 4 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let word = (seed >> 32) as u32;
        let float = (word >> 8) as f32 * (3.0 / 16777216.0) - 1.5;
        out.extend_from_slice(&if kind == b'f' { float.to_le_bytes() } else { word.to_le_bytes() });
    }
    out.resize(bytes(kind, elements), 0);
    out
}

fn reference(native: &Path, row: &Row) -> Result<(Duration, u64)> {
    let kinds = row.1.as_bytes();
    let mut command = Command::new(native);
    command.arg(row.0);
    for (kind, elements) in kinds.iter().zip(row.2) {
        command.arg(bytes(*kind, elements).to_string());
    }
    command.args(row.3.map(|n| n.to_string())).args(["20", row.1, "0"]);
    let out = command.output().map_err(|e| e.to_string())?;
    let out = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut words = out.split_whitespace();
    let mut next =
        || words.next().and_then(|w| w.parse::<u64>().ok()).ok_or(format!("{}: no answer from C", row.0));
    Ok((Duration::from_nanos(next()?), next()?))
}

fn measure(row: &Row, ptx: &str, paths: Option<Paths>, effort: Effort) -> Result<Measured> {
    let text = |e: hostwarp::Error| format!("{}: {e}", row.0);
    let device = Device::new().map_err(text)?;
    let module: Module = device.load(row.0, ptx).map_err(text)?;
    let kernel = module.kernel(row.0).map_err(text)?;
    let kinds = row.1.as_bytes();
    let mut buffers: Vec<Buffer<u8>> = vec![];
    for n in 0..3 {
        let buffer = device.buffer_named(["a", "b", "out"][n], bytes(kinds[n], row.2[n])).map_err(text)?;
        if n < 2 {
            buffer.write(0, &fill(kinds[n], row.2[n], n as u64 + 1)).map_err(text)?;
        }
        buffers.push(buffer);
    }
    let zeros = vec![0; bytes(kinds[2], row.2[2])];
    let launch = || {
        let mut launch = kernel.launch().grid([row.4[0], row.4[1], 1]).block([row.5[0], row.5[1], 1]);
        launch = launch.engine(Engine::Jit).threads(1).effort(effort);
        if let Some(paths) = paths {
            launch = launch.paths(paths);
        }
        for buffer in &buffers {
            launch = launch.arg(Arg::from(buffer));
        }
        launch.arg(row.3[0]).arg(row.3[1])
    };
    let lines = launch().emit(Emit::Llvm).map_err(text)?.lines().count();
    let mut measured = Measured { lines, run: Duration::MAX, ..Measured::default() };
    let mut first = Duration::ZERO;
    let began = Instant::now();
    for round in 0.. {
        buffers[2].write(0, &zeros).map_err(text)?;
        let start = Instant::now();
        launch().run().map_err(text)?;
        let took = start.elapsed();
        match round {
            0 => first = took,
            _ => measured.run = measured.run.min(took),
        }
        if round >= 5 && began.elapsed() > Duration::from_millis(400) {
            break;
        }
    }
    measured.compile = first.saturating_sub(measured.run);
    let out = buffers[2].to_vec().map_err(text)?;
    measured.hash =
        out.iter().fold(0xcbf29ce484222325, |h: u64, b| (h ^ u64::from(*b)).wrapping_mul(0x100000001b3));
    Ok(measured)
}
