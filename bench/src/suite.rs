//! `hostwarp-bench --suite`: kernels nobody tuned for, as nvcc compiles them (`bench/suite`), against C of the same algorithm, one thread each.
//!
//! `--suite [KERNEL...]` measures what is committed. `--variants SEED` adds six variants of each kernel, drawn by the seed and compiled now;
//! `--check SEED` compiles variants with many options of nvcc and compares small runs with C on every engine, in every way;
//! `--cold` measures single launches in processes of their own; `--bless` writes the committed PTX and `bench/suite/expected.txt` anew.

mod check;
mod cold;
mod compile;
mod launch;
mod rows;
mod table;
mod variants;

use crate::contestant::Result;
use compile::Compiler;
use hostwarp::{Effort, Engine};
use launch::{Job, Way};
use rows::{ROWS, Row};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use table::Table;
use variants::Variant;

/// What is measured: the jit with care and quickly, and the interpreter.
const WAYS: [Way; 3] = [
    Way::new(Engine::Jit, Some(Effort::Best)),
    Way::new(Engine::Jit, Some(Effort::Quick)),
    Way::new(Engine::Interp, None),
];

/// What a kernel in one variant came to.
struct Measured {
    variant: String,
    c: Duration,
    /// Each way: a launch, and how much longer the first one took.
    run: [Duration; 3],
    compile: [Duration; 3],
    instructions: usize,
    /// Of the text for LLVM.
    lines: usize,
}

impl Measured {
    fn ratio(&self, way: usize) -> f64 {
        self.run[way].as_secs_f64() / self.c.as_secs_f64()
    }
}

/// Measures or checks all kernels, or those named.
pub(crate) fn run(dir: &Path, words: &[String]) -> Result {
    if let [once, name, size, engine, cache] = words
        && once == "--once"
    {
        return cold::once(dir, name, size, engine, cache);
    }
    let mut words = words.iter().map(String::as_str).peekable();
    let mode = words.next_if(|w| w.starts_with("--"));
    let seed = match mode {
        Some("--variants" | "--check") => {
            let seed = words.next().and_then(|w| w.parse::<u64>().ok());
            Some(seed.ok_or("a seed is wanted, a number")?)
        }
        _ => None,
    };
    let only: Vec<&str> = words.collect();
    if let Some(unknown) = only.iter().find(|o| !ROWS.iter().any(|r| r.name == **o)) {
        return Err(format!("there is no kernel `{unknown}` in the suite"));
    }
    let rows = ROWS.iter().filter(|r| only.is_empty() || only.contains(&r.name));
    let compiler = Compiler::new(dir)?;
    match mode {
        None | Some("--variants") => measure_all(&compiler, rows, seed, only.is_empty()),
        Some("--check") => check::all(&compiler, rows, seed.unwrap_or_default()),
        Some("--cold") => cold::all(dir, rows),
        Some("--bless") => bless(&compiler, rows),
        Some(other) => Err(format!("`{other}` is no option of --suite")),
    }
}

fn measure_all(
    compiler: &Compiler,
    rows: impl Iterator<Item = &'static Row>,
    seed: Option<u64>,
    write: bool,
) -> Result {
    let seed = seed.filter(|_| {
        compiler.has_nvcc() || {
            println!("no nvcc (`cargo xtask dropin` installs one): only what is committed is measured");
            false
        }
    });
    let mut table = Table::new(seed);
    for row in rows {
        let base = Variant::base(row);
        let mut all = vec![measure(compiler, row, base.clone(), &compiler.committed(row.name)?)?];
        for variant in seed.map(|s| Variant::draw(row, s, 6, false)).unwrap_or_default() {
            let ptx = compiler.ptx(&Job { row, variant: variant.clone(), numbers: row.big })?;
            let measured = measure(compiler, row, variant, &ptx)?;
            println!(
                "  {:30} {:.2} {:.2} {:.2}",
                measured.variant,
                measured.ratio(0),
                measured.ratio(1),
                measured.ratio(2)
            );
            all.push(measured);
        }
        println!("{}", table.add(row.name, all));
    }
    println!("{}", table.summary());
    if write && seed.is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks-suite.md");
        table.write(&page)?;
    }
    Ok(())
}

fn measure(compiler: &Compiler, row: &Row, variant: Variant, ptx: &str) -> Result<Measured> {
    let job = Job { row, variant, numbers: row.big };
    let text = |e: hostwarp::Error| format!("{} ({}): {e}", row.name, job.variant);
    let (c, hash) = compiler.reference(&job, 0.2)?;
    let loaded = job.load(ptx).map_err(text)?;
    let instruction = |l: &&str| l.trim_end().ends_with(';') && !l.contains(".param");
    let mut measured = Measured {
        variant: job.variant.to_string(),
        c,
        run: [Duration::MAX; 3],
        compile: [Duration::ZERO; 3],
        instructions: ptx.lines().filter(instruction).count(),
        lines: loaded.llvm_lines(WAYS[0]).map_err(text)?,
    };
    for (n, way) in WAYS.into_iter().enumerate() {
        let began = Instant::now();
        let first = loaded.run(way).map_err(text)?;
        // The interpreter may take long: it has no compiler that the first launch would have waited for.
        for round in 0.. {
            if round >= 2 && began.elapsed() > Duration::from_millis(400) {
                break;
            }
            measured.run[n] = measured.run[n].min(loaded.run(way).map_err(text)?);
        }
        measured.compile[n] = first.saturating_sub(measured.run[n]);
        if loaded.hash().map_err(text)? != hash {
            return Err(format!("{} ({}): {way:?} gives other bits than C", row.name, job.variant));
        }
    }
    Ok(measured)
}

/// The base variants as nvcc compiles them, and the hashes of what C computes for the small sizes.
fn bless(compiler: &Compiler, rows: impl Iterator<Item = &'static Row>) -> Result {
    let expected = compiler.sources.join("expected.txt");
    let before = std::fs::read_to_string(&expected).unwrap_or_default();
    let mut lines: std::collections::BTreeMap<&str, String> =
        before.lines().filter_map(|l| l.split_once(' ')).map(|(name, hash)| (name, hash.into())).collect();
    for row in rows {
        let job = Job { row, variant: Variant::base(row), numbers: row.small };
        // Without the comments at the head: they name the compiler's build.
        let ptx = compiler.ptx(&job)?;
        let from = ptx.find(".version").ok_or("PTX without a version")?;
        let file = compiler.sources.join(format!("{}.ptx", row.name));
        std::fs::write(&file, &ptx[from..]).map_err(|e| format!("{}: {e}", file.display()))?;
        lines.insert(row.name, compiler.reference(&job, 0.0)?.1.to_string());
    }
    let mut text = String::new();
    for (name, hash) in lines.into_iter().filter(|(name, _)| ROWS.iter().any(|r| r.name == *name)) {
        let _ = writeln!(text, "{name} {hash}");
    }
    std::fs::write(&expected, text).map_err(|e| format!("{}: {e}", expected.display()))
}
