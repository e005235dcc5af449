//! Variants of every kernel, compiled with many options, against C: small runs on every engine, in every way. Goes on after a failure.

use super::compile::Compiler;
use super::launch::{Job, Way};
use super::rows::Row;
use super::variants::Variant;
use crate::contestant::Result;
use hostwarp::jit::Speculation;
use hostwarp::{Effort, Engine, Error};

/// The interpreter and the jit as they are by default, and some of the other ways, by a number.
fn ways(number: u64) -> Vec<Way> {
    let interp = Way::new(Engine::Interp, None);
    let jit = Way::new(Engine::Jit, None);
    let best = Way::new(Engine::Jit, Some(Effort::Best));
    let widths = [8, 16, 32, 64, 128].map(|width| Way { width: Some(width), ..jit });
    let others = [
        Way { threads: 2, ..interp },
        Way { threads: 2, ..Way::new(Engine::Auto, None) },
        Way { threads: 2, ..best },
        Way { turn: Some(200), ..jit },
        Way { speculation: Some(Speculation::Off), ..jit },
        Way { speculation: Some(Speculation::Off), ..best },
    ];
    let others: Vec<Way> = others.into_iter().chain(widths).collect();
    let some = (0..4).map(|k| others[(number as usize * 4 + k) % others.len()]);
    [interp, jit, best].into_iter().chain(some).collect()
}

pub(super) fn all(compiler: &Compiler, rows: impl Iterator<Item = &'static Row>, seed: u64) -> Result {
    let (mut runs, mut wrong) = (0, 0);
    for row in rows {
        for (number, variant) in (seed..).zip(Variant::draw(row, seed, 6, true)) {
            let job = Job { row, variant, numbers: row.small };
            let failures = one(compiler, &job, &ways(number), &mut runs).unwrap_or_else(|e| vec![e]);
            for failure in &failures {
                println!("{} ({}): {failure}", row.name, job.variant);
            }
            wrong += failures.len();
        }
        println!("{}: checked", row.name);
    }
    if wrong > 0 {
        return Err(format!("{wrong} of {runs} runs are wrong"));
    }
    println!("{runs} runs agree with C");
    Ok(())
}

fn one(compiler: &Compiler, job: &Job<'_>, ways: &[Way], runs: &mut usize) -> Result<Vec<String>> {
    let ptx = compiler.ptx(job)?;
    let (_, hash) = compiler.reference(job, 0.0)?;
    let loaded = job.load(&ptx).map_err(|e| e.to_string())?;
    let mut failures = vec![];
    for &way in ways {
        let asked = way.width.is_some();
        *runs += 1;
        match loaded.run(way) {
            Ok(_) => {
                if loaded.hash().map_err(|e| e.to_string())? != hash {
                    failures.push(format!("{way:?}: other bits than C"));
                }
            }
            // Lanes that talk to each other need the whole warp in one vector.
            Err(Error::Unsupported { what, .. }) if asked && what.contains("that are no warps") => {}
            Err(e) => failures.push(format!("{way:?}: {e}")),
        }
    }
    Ok(failures)
}
