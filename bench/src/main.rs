//! Measures Hostwarp against native C, intrinsics and pocl on one machine, in interleaved rounds, and writes the figures into
//! `docs/benchmarks.md` and `docs/benchmarks.svg`. Run by `cargo xtask bench`, which installs what it needs.
//!
//! `hostwarp-bench CASE...` runs only those cases and prints, writing nothing; `hostwarp-bench --sizes` does so with what small and large
//! launches take, `hostwarp-bench --compile CASE...` with compile times. A case may be `saxpy:N`, a
//! saxpy of so many elements, or `large:N`, a generated kernel of so many instructions. To see why a case takes its time:
//! `hostwarp-bench --loop CONTESTANT CASE` runs it for five seconds, for a profiler to watch (`"jit avx2"` as if the CPU had no more, `"jit quick"` and `"jit best"` with one effort), and
//! `hostwarp-bench --suite` measures the kernels of `bench/suite`, `hostwarp-bench --matrix` products of matrices, and `hostwarp-bench --emit ir|plan|vector|llvm CASE` prints what the kernel looks like on its way.
#![forbid(unsafe_code)]

mod case;
mod contestant;
mod extra;
mod generate;
mod matrix;
mod measure;
mod plot;
mod report;
mod suite;

use contestant::{Contestant, Hostwarp, Native, Pocl, Result};
use hostwarp::jit::target::X86Level;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result {
    let began = Instant::now();
    let only: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dir = root.join("target/bench");
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());

    match only.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--loop", who, name] => return repeat(who, &dir, &find(name, threads)?),
        ["--compile", ..] => return compile_times(&only[1..], threads),
        ["--matrix", ..] => return matrix::run(&dir, &only[1..]),
        ["--suite", ..] => return suite::run(&dir, &only[1..]),
        ["--emit", what, name] => return emit(what, &find(name, threads)?),
        _ => {}
    }
    let mut contestants = boxed(Hostwarp::both()?);
    contestants.extend(boxed(Native::all(&dir)?));
    match Pocl::new(&dir, threads) {
        Ok(pocl) => contestants.push(Box::new(pocl)),
        Err(e) => eprintln!("pocl does not take part: {e}"),
    }
    if only == ["--sizes"] {
        print!("{}", report::sizes(&extra::sizes(&mut contestants, threads)?));
        return Ok(());
    }
    let mut results = report::Results { threads, ..Default::default() };
    let device = hostwarp::Device::new().map_err(|e| e.to_string())?;
    for (name, make) in case::all(threads) {
        if !only.is_empty() && !only.iter().any(|o| o == name) {
            continue;
        }
        let case = make();
        let row = measure::measure(&case, &mut contestants, 1.0)?;
        println!("{}", report::line(&row));
        results.rows.push(row);
        if results.compile.is_empty() {
            // The first finds libLLVM; that is measured by the starts.
            extra::compile(&device, &case, 1)?;
        }
        let compile = extra::compile(&device, &case, 5)?;
        println!("  {}", report::compile_line(&compile));
        results.compile.push(compile);
    }
    if !only.is_empty() {
        return Ok(());
    }
    results.growth = extra::growth(&device, Duration::from_secs(20))?;
    for c in &results.growth {
        println!("  {}", report::compile_line(c));
    }
    results.sizes = extra::sizes(&mut contestants, threads)?;
    results.scaling = extra::scaling(&mut contestants, threads)?;
    let command = root.join("target/release/hostwarp");
    match extra::starts(&command.display().to_string()) {
        Ok(times) => results.starts = times,
        Err(e) => eprintln!("starts are not measured: {e}"),
    }
    report::write(&root.join("docs"), &results)?;
    println!(
        "docs/benchmarks.md and docs/benchmarks.svg written after {:.0} s",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn find(name: &str, threads: usize) -> Result<case::Case> {
    let sized = |kind: &str, most: usize| -> Result<Option<usize>> {
        let Some(n) = name.strip_prefix(kind) else { return Ok(None) };
        let fine = n.parse().ok().filter(|n| (1..=most).contains(n));
        fine.map(Some).ok_or_else(|| format!("`{name}`: a number from 1 to {most} is wanted"))
    };
    if let Some(n) = sized("saxpy:", 1 << 28)? {
        return Ok(case::saxpy(n, threads));
    }
    if let Some(n) = sized("large:", 1 << 20)? {
        return Ok(case::large(n, 256, threads));
    }
    let all = case::all(threads);
    let names: Vec<&str> = all.iter().map(|(n, _)| *n).collect();
    let make = all.iter().find(|(n, _)| *n == name);
    make.map(|(_, make)| make()).ok_or_else(|| {
        format!("there is no case `{name}`; there are {}, saxpy:N and large:N", names.join(", "))
    })
}

/// Prints compile times, of all cases if none are named.
fn compile_times(names: &[String], threads: usize) -> Result {
    let all = || case::all(threads).iter().map(|(name, _)| (*name).to_owned()).collect();
    let names: Vec<String> = if names.is_empty() { all() } else { names.to_vec() };
    let device = hostwarp::Device::new().map_err(|e| e.to_string())?;
    // The first finds libLLVM; that is measured by the starts.
    extra::compile(&device, &find("saxpy_l2", threads)?, 1)?;
    for name in &names {
        println!("{}", report::compile_line(&extra::compile(&device, &find(name, threads)?, 5)?));
    }
    Ok(())
}

fn boxed<const N: usize>(of_a_kind: [impl Contestant + 'static; N]) -> Vec<Box<dyn Contestant>> {
    of_a_kind.into_iter().map(|c| Box::new(c) as Box<dyn Contestant>).collect()
}

/// Runs one case for five seconds.
fn repeat(who: &str, dir: &Path, case: &case::Case) -> Result {
    let level = X86Level::ALL.into_iter().find(|level| who == format!("jit {level}"));
    let all = match (who, level) {
        (_, Some(level)) => boxed(Hostwarp::up_to(level)?),
        ("jit quick", _) => boxed(Hostwarp::with(hostwarp::Effort::Quick)?),
        ("jit best", _) => boxed(Hostwarp::with(hostwarp::Effort::Best)?),
        ("jit" | "interp", _) => boxed(Hostwarp::both()?),
        ("pocl", _) => boxed([Pocl::new(dir, case.threads)?]),
        _ => boxed(Native::all(dir)?),
    };
    let name = if who.starts_with("jit ") { "jit" } else { who };
    let mut of_its_name = all.into_iter().filter(|c| c.name() == name);
    let mut contestant = of_its_name.next().ok_or_else(|| format!("there is no contestant `{who}`"))?;
    contestant.load(case)?;
    contestant.run(case, 1)?;
    if name == who {
        contestant.warm_up(case)?;
    }
    let (began, cpu, mut times) = (Instant::now(), cpu_seconds(), vec![]);
    while began.elapsed() < Duration::from_secs(5) {
        times.extend(contestant.run(case, 1)?.map(|t| t.as_secs_f64() * 1e3));
    }
    let cpu = (cpu_seconds() - cpu) * 1e3 / times.len() as f64;
    println!(
        "{who}: {} runs, median {:.3} ms, {cpu:.3} ms of all threads' time each",
        times.len(),
        measure::median(&times)
    );
    Ok(())
}

/// What all threads of this process and of its children have used so far: unlike the clock it hardly minds a busy machine. Known on
/// Linux only.
fn cpu_seconds() -> f64 {
    let me = std::process::id();
    let mut ticks = 0.0;
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let is_mine = process.file_name().to_string_lossy() == me.to_string();
        if is_mine || fields.get(1).is_some_and(|parent| *parent == me.to_string()) {
            ticks += fields.iter().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum::<f64>();
        }
    }
    ticks / 100.0
}

fn emit(what: &str, case: &case::Case) -> Result {
    let what = match what {
        "ir" => hostwarp::Emit::Ir,
        "plan" => hostwarp::Emit::Plan,
        "vector" => hostwarp::Emit::Vector,
        "llvm" => hostwarp::Emit::Llvm,
        _ => return Err(format!("`{what}` is none of ir, plan, vector, llvm")),
    };
    let device = hostwarp::Device::new().map_err(|e| e.to_string())?;
    let module = device.load(&case.kernel, &case.ptx).map_err(|e| e.to_string())?;
    let kernel = module.kernel(&case.kernel).map_err(|e| e.to_string())?;
    let text = contestant::launch(&kernel, case, &[]).emit(what).map_err(|e| e.to_string())?;
    println!("{text}");
    Ok(())
}
