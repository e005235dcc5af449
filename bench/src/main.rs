//! Measures Hostwarp against native C, intrinsics and pocl on one machine, in interleaved rounds, and writes the figures into
//! `docs/benchmarks.md` and `docs/benchmarks.svg`. Run by `cargo xtask bench`, which installs what it needs.
//!
//! `hostwarp-bench [CASE...]` runs only those cases and prints, writing nothing.
#![forbid(unsafe_code)]

mod case;
mod contestant;
mod extra;
mod generate;
mod measure;
mod plot;
mod report;

use contestant::{Contestant, Hostwarp, Native, Pocl, Result};
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

    let mut contestants: Vec<Box<dyn Contestant>> = vec![];
    contestants.extend(Hostwarp::both()?.map(|c| Box::new(c) as Box<dyn Contestant>));
    contestants.extend(Native::all(&dir)?.map(|c| Box::new(c) as Box<dyn Contestant>));
    match Pocl::new(&dir, threads) {
        Ok(pocl) => contestants.push(Box::new(pocl)),
        Err(e) => eprintln!("pocl does not take part: {e}"),
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
            // The first finds libLLVM; that is measured by the cold start.
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
    match extra::cold_start(&command.display().to_string()) {
        Ok(times) => results.cold = times,
        Err(e) => eprintln!("cold start is not measured: {e}"),
    }
    report::write(&root.join("docs"), &results)?;
    println!(
        "docs/benchmarks.md and docs/benchmarks.svg written after {:.0} s",
        began.elapsed().as_secs_f64()
    );
    Ok(())
}
