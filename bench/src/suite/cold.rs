//! `--suite --cold`: what somebody waits for who launches a kernel once, in a process of its own: loading, compiling where that pays, and running. `auto` with an empty
//! cache against `auto` with what that left in it and against the interpreter; the least of three processes each.

use super::compile::Compiler;
use super::launch::{Job, Way};
use super::rows::{ROWS, Row};
use super::variants::Variant;
use crate::contestant::Result;
use hostwarp::{Cache, Device, Engine};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;

/// One launch, in this process: prints how long it took to make the inputs, which are not counted. `cache` is a folder, or `-` for none.
pub(crate) fn once(dir: &Path, name: &str, size: &str, engine: &str, cache: &str) -> Result {
    let row = ROWS.iter().find(|r| r.name == name).ok_or("no such kernel")?;
    let numbers = if size == "small" { row.small } else { row.big };
    let job = Job { row, variant: Variant::base(row), numbers };
    let ptx = Compiler::new(dir)?.committed(name)?;
    let engine = if engine == "interp" { Engine::Interp } else { Engine::Auto };
    let way = Way { threads: 2, ..Way::new(engine, None) };
    let builder = match cache {
        "-" => Device::builder(),
        folder => Device::builder().cache(Cache::new(folder)),
    };
    let began = Instant::now();
    let inputs = job.inputs();
    println!("{}", began.elapsed().as_nanos());
    let text = |e: hostwarp::Error| e.to_string();
    job.load_on(&builder.build().map_err(text)?, &ptx, &inputs).map_err(text)?.run(way).map_err(text)?;
    Ok(())
}

fn time(name: &str, size: &str, engine: &str, cache: &Path) -> Result<Duration> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.args(["--suite", "--once", name, size, engine]).arg(cache);
    let began = Instant::now();
    let out = command.output().map_err(|e| e.to_string())?;
    // The end of the process included: it waits for a compiler that is at work.
    let all = began.elapsed();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let failed = || format!("{name}: {}", String::from_utf8_lossy(&out.stderr));
    let inputs = text.trim().parse().ok().filter(|_| out.status.success()).ok_or_else(failed)?;
    Ok(all.saturating_sub(Duration::from_nanos(inputs)))
}

pub(crate) fn all(dir: &Path, rows: impl Iterator<Item = &'static Row>) -> Result {
    let cache = dir.join("cold");
    println!("| kernel | size | interp ms | cold ms | warm ms | cold / best of both |");
    println!("|---|---|--:|--:|--:|--:|");
    let mut ratios: Vec<f64> = vec![];
    for row in rows {
        for size in ["small", "big"] {
            let [mut interp, mut cold, mut warm] = [Duration::MAX; 3];
            for _ in 0..ROUNDS {
                let _ = std::fs::remove_dir_all(&cache);
                interp = interp.min(time(row.name, size, "interp", Path::new("-"))?);
                cold = cold.min(time(row.name, size, "auto", &cache)?);
                warm = warm.min(time(row.name, size, "auto", &cache)?);
            }
            let ratio = cold.as_secs_f64() / warm.min(interp).as_secs_f64();
            let [i, c, w] = [interp, cold, warm].map(|d| d.as_secs_f64() * 1e3);
            println!("| {} | {size} | {i:.1} | {c:.1} | {w:.1} | {ratio:.2} |", row.name);
            ratios.push(ratio);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let at = |part: usize| ratios[(ratios.len() - 1) * part / 100];
    println!("geometric mean {mean:.2}, 90th percentile {:.2}, worst {:.2}", at(90), at(100));
    Ok(())
}
