//! What is measured besides ratios: compile times, starts of a process, scaling over threads and over the size of a problem.

use crate::case::{self, Case};
use crate::contestant::{Contestant, Result, launch};
use crate::measure::{Row, measure, median};
use hostwarp::{Device, Effort, Engine};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Compile time of a kernel.
pub struct Compile {
    pub name: String,
    pub instructions: usize,
    /// Reading and checking the PTX.
    pub load: Duration,
    /// The rest of the way to machine code, made quickly.
    pub jit: Duration,
    /// The same, made with care.
    pub best: Duration,
    /// The rest of the way to what the interpreter runs.
    pub interp: Duration,
    /// The first launch of the whole problem on each of [`FIRST`], all this included but reading.
    pub first: Vec<Duration>,
}

/// Who makes first launches.
pub const FIRST: [(&str, Engine); 3] =
    [("auto", Engine::Auto), ("jit", Engine::Jit), ("interp", Engine::Interp)];

/// Instructions in a PTX text: statements in bodies that are no directives.
fn instructions(ptx: &str) -> usize {
    ptx.lines()
        .map(str::trim)
        .filter(|l| l.ends_with(';') && !l.starts_with('.') && !l.starts_with("//"))
        .count()
}

/// Compiles a case's kernel afresh, median of `times`. libLLVM is loaded already.
pub fn compile(device: &Device, case: &Case, times: usize) -> Result<Compile> {
    let mut buffers = vec![];
    for words in &case.buffers {
        buffers.push(device.buffer_from(words).map_err(|e| e.to_string())?);
    }
    let prepare = |engine, effort| -> Result<(f64, f64)> {
        let (mut load, mut ready) = (vec![], vec![]);
        for _ in 0..times {
            let began = Instant::now();
            let module = device.load(&case.kernel, &case.ptx).map_err(|e| e.to_string())?;
            load.push(began.elapsed().as_secs_f64());
            let kernel = module.kernel(&case.kernel).map_err(|e| e.to_string())?;
            let report = launch(&kernel, case, &buffers)
                .grid([1; 3])
                .engine(engine)
                .effort(effort)
                .run()
                .map_err(|e| e.to_string())?;
            ready.push(report.prepare.as_secs_f64());
        }
        Ok((median(&load), median(&ready)))
    };
    let (load, jit) = prepare(Engine::Jit, Effort::Quick)?;
    let (_, best) = prepare(Engine::Jit, Effort::Best)?;
    let (_, interp) = prepare(Engine::Interp, Effort::Quick)?;
    let mut first = vec![vec![]; FIRST.len()];
    for _ in 0..times {
        for ((_, engine), times) in FIRST.into_iter().zip(&mut first) {
            let module = device.load(&case.kernel, &case.ptx).map_err(|e| e.to_string())?;
            let kernel = module.kernel(&case.kernel).map_err(|e| e.to_string())?;
            let began = Instant::now();
            launch(&kernel, case, &buffers).engine(engine).run().map_err(|e| e.to_string())?;
            times.push(began.elapsed().as_secs_f64());
            // What is still being compiled for this one must not take the next one's time.
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(Compile {
        name: case.name.clone(),
        instructions: instructions(&case.ptx),
        load: Duration::from_secs_f64(load),
        jit: Duration::from_secs_f64(jit),
        best: Duration::from_secs_f64(best),
        interp: Duration::from_secs_f64(interp),
        first: first.iter().map(|times| Duration::from_secs_f64(median(times))).collect(),
    })
}

/// Compile times of generated kernels of growing size; stops where one takes longer than `most`.
pub fn growth(device: &Device, most: Duration) -> Result<Vec<Compile>> {
    let mut out = vec![];
    for n in [1000, 2000, 5000, 10_000, 20_000, 50_000] {
        let case = Case { name: format!("{n}"), ..case::large(n, 256, 1) };
        let times = if n <= 5000 { 3 } else { 1 };
        out.push(compile(device, &case, times)?);
        if out.last().is_some_and(|c| c.load + c.jit > most) {
            break;
        }
    }
    Ok(out)
}

/// Median wall time of `hostwarp run` on a saxpy of 1M elements, as a process from start to end: as it comes, compiled anew, compiled
/// before, and on the interpreter.
pub fn starts(hostwarp: &str) -> Result<Vec<(&'static str, Duration)>> {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/saxpy.ptx");
    let cache = std::env::temp_dir().join(format!("hostwarp-bench-{}", std::process::id()));
    let start = |arguments: &[&str]| -> Result<f64> {
        let began = Instant::now();
        let status = Command::new(hostwarp)
            .args(["run", example, "--grid", "4096", "--block", "256", "n=1048576", "a=2"])
            .args(["x=f32[1048576]:iota", "y=f32[1048576]=1"])
            .args(arguments)
            .env_remove("HOSTWARP_CACHE")
            .env("HOSTWARP_CACHE_DIR", &cache)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| format!("{hostwarp}: {e}"))?;
        if !status.success() {
            return Err(format!("`{hostwarp} run` failed"));
        }
        Ok(began.elapsed().as_secs_f64())
    };
    let kinds = [
        ("auto, nothing compiled before", &["--no-cache"][..]),
        ("jit, compiled anew", &["--engine", "jit", "--no-cache"]),
        ("jit, compiled before", &["--engine", "jit"]),
        ("interp", &["--engine", "interp"]),
    ];
    let mut out = vec![];
    for (name, arguments) in kinds {
        // The first brings files into memory, and fills the cache.
        start(arguments)?;
        let times = (0..11).map(|_| start(arguments)).collect::<Result<Vec<_>>>()?;
        out.push((name, Duration::from_secs_f64(median(&times))));
    }
    let _ = std::fs::remove_dir_all(cache);
    Ok(out)
}

/// saxpy from 1K to 16M elements.
pub fn sizes(contestants: &mut [Box<dyn Contestant>], threads: usize) -> Result<Vec<(usize, Row)>> {
    (10..=24)
        .step_by(2)
        .map(|log| Ok((1 << log, measure(&case::saxpy(1 << log, threads), contestants, 0.1)?)))
        .collect()
}

/// saxpy and Horner on 1, 2, 4 … threads, at most as many as there are.
pub fn scaling(contestants: &mut [Box<dyn Contestant>], threads: usize) -> Result<Vec<(usize, Row)>> {
    let mut counts: Vec<usize> = (0..).map(|i| 1 << i).take_while(|n| *n < threads).collect();
    counts.push(threads);
    let mut out = vec![];
    for n in counts {
        out.push((n, measure(&case::saxpy(32 << 20, n), contestants, 0.3)?));
        out.push((n, measure(&case::horner(n), contestants, 0.3)?));
    }
    Ok(out)
}
