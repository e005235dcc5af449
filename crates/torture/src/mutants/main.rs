//! `mutants [options] [FILE or FOLDER…]`: real PTX, changed at random, through the checker and, with little fuel, through both engines.
//!
//! Whatever a text has become, there are answers by kind: it is wrong, not supported, the launch is wrong, the kernel faults. A panic, an [`ErrorKind::Bug`] or a process that dies is a
//! defect. Mutants run in child processes, so that one that kills its process is a defect like any other.

mod mutate;

use hostwarp::{Arg, Device, Engine, Error, ErrorKind, Kernel, Limits, Options, compile};
use hostwarp_torture::random::Random;
use mutate::Pool;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const HELP: &str = "\
mutants [options] [FILE or FOLDER…]   change real PTX at random; check it and run it on both engines

  --count N       how many (10000)
  --seed S        the first seed (0); mutant i has seed S + i
  --jobs N        processes at once (the number of cores)
  --no-jit        only the interpreter
  --show          print the mutant with that seed and stop

Without files: tests/kernels, tests/torture, examples, bench/kernels and the checker's own tests.";

/// Where real files are, from the root of the repository.
const FOLDERS: &[&str] = &[
    "tests/kernels",
    "tests/torture",
    "examples",
    "bench/kernels",
    "crates/compile/tests/ui",
    "crates/syntax/tests/data",
];
/// Instructions of each launch.
const FUEL: u64 = 20_000;
/// Longer than this is worth a look.
const LONG: Duration = Duration::from_secs(20);
/// What one launch may take of the host.
const MEMORY: u64 = 256 << 20;

struct Settings {
    count: u64,
    seed: u64,
    jobs: u64,
    jit: bool,
    show: bool,
    child: bool,
    paths: Vec<PathBuf>,
}

fn settings() -> Result<Option<Settings>, String> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut s =
        Settings { count: 10_000, seed: 0, jobs: cores, jit: true, show: false, child: false, paths: vec![] };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            words.next().and_then(|n| n.parse().ok()).ok_or_else(|| format!("{word} takes a number"))
        };
        match word.as_str() {
            "--count" => s.count = number()?,
            "--seed" => s.seed = number()?,
            "--jobs" => s.jobs = number()?.max(1),
            "--no-jit" => s.jit = false,
            "--show" => s.show = true,
            "--child" => s.child = true,
            "--help" | "-h" => return Ok(None),
            path if !path.starts_with('-') => s.paths.push(path.into()),
            other => return Err(format!("no option `{other}`; --help shows those there are")),
        }
    }
    if s.paths.is_empty() {
        s.paths = FOLDERS.iter().map(PathBuf::from).collect();
    }
    Ok(Some(s))
}

fn files(path: &Path, out: &mut Vec<Vec<u8>>) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    if path.is_file() {
        out.push(std::fs::read(path).map_err(wrong)?);
        return Ok(());
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path).map_err(wrong)?.filter_map(|e| Some(e.ok()?.path())).collect();
    entries.sort();
    for entry in entries.iter().filter(|p| p.extension().is_some_and(|e| e == "ptx")) {
        files(entry, out)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let done = match settings() {
        Ok(Some(s)) if s.child || s.show => work(&s),
        Ok(Some(s)) => campaign(&s),
        Ok(None) => {
            println!("{HELP}");
            Ok(true)
        }
        Err(e) => Err(e),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// What a child says of one mutant: `begin SEED`, then `end SEED OUTCOME`, where the outcome of a defect begins with `DEFECT`.
fn work(s: &Settings) -> Result<bool, String> {
    let mut texts = vec![];
    for path in &s.paths {
        files(path, &mut texts)?;
    }
    let pool = Pool::new(texts).ok_or("no PTX there")?;
    if s.show {
        println!("{}", String::from_utf8_lossy(&pool.mutant(s.seed)));
        return Ok(true);
    }
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
        let what = format!("{} at {place}", info.payload_as_str().unwrap_or("a panic"));
        *PANIC.lock().unwrap_or_else(|e| e.into_inner()) = Some(what);
    }));
    for seed in s.seed..s.seed + s.count {
        println!("begin {seed}");
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| try_mutant(&pool.mutant(seed), seed, s.jit)));
        let panicked = PANIC.lock().unwrap_or_else(|e| e.into_inner()).take();
        let outcome = match (outcome, panicked) {
            (Ok(outcome), None) if began.elapsed() > LONG => format!("slow: {outcome}"),
            (Ok(outcome), None) => outcome,
            (_, panicked) => format!("DEFECT {}", panicked.unwrap_or_default()),
        };
        println!("end {seed} {}", outcome.replace('\n', " "));
    }
    Ok(true)
}

/// The last panic, on whatever thread.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Checks and runs it. Answers what became of it in a word or two.
fn try_mutant(text: &[u8], seed: u64, jit: bool) -> String {
    let parsed = hostwarp::syntax::parse(text);
    let checked = compile::compile(&parsed, &compile::Options { check_only: true, ..Default::default() });
    let source = parsed.module.source();
    let said = compile::render(&checked.diagnostics, source, "m.ptx", Default::default()).len()
        + compile::to_json(&checked.diagnostics, source, "m.ptx").len();
    assert!(checked.diagnostics.is_empty() || said > 0, "diagnostics that say nothing");
    let Ok(device) = Device::builder().memory(16 << 20).threads(1).build() else { return "no device".into() };
    let limits = Limits::new().with_timeout(LONG);
    let module = match device.load_within("m.ptx", text, Options::default(), &limits) {
        Ok(module) => module,
        Err(e) => return kind(&e),
    };
    let mut random = Random::new(seed ^ 0x6d75_7461_6e74_7321);
    let mut worst = "no kernel".to_string();
    for kernel in module.kernels().into_iter().take(4) {
        let engines = if jit { &[Engine::Interp, Engine::Jit][..] } else { &[Engine::Interp] };
        let arguments = random.bits();
        for engine in engines {
            worst = match launch(&device, &kernel, *engine, arguments) {
                Ok(()) => "ran".into(),
                Err(e) => kind(&e),
            };
            if worst.starts_with("DEFECT") {
                return worst;
            }
        }
    }
    worst
}

fn launch(device: &Device, kernel: &Kernel, engine: Engine, seed: u64) -> Result<(), Error> {
    let mut random = Random::new(seed);
    let data: Vec<u32> =
        (0..4096).map(|i| if random.percent(50) { i % 64 } else { random.bits() as u32 }).collect();
    let buffer = device.buffer_from(&data)?;
    let limits = Limits::new().with_timeout(LONG).with_fuel(FUEL).with_memory(MEMORY);
    let mut launch = kernel.launch().grid([3, 1, 1]).engine(engine).limits(&limits);
    if kernel.compiled().limits.required_cta.is_none() {
        launch = launch.block([*random.pick(&[1, 32, 33, 64, 256]), 1, 1]);
    }
    for p in kernel.params() {
        let bytes = match p.size {
            8 if random.percent(75) => buffer.address().to_le_bytes().to_vec(),
            size => (0..size).map(|i| if i == 0 { random.bits() as u8 } else { 0 }).collect(),
        };
        launch = launch.arg_named(&p.name, Arg::bytes(bytes));
    }
    launch.run().map(drop)
}

fn kind(e: &Error) -> String {
    match e.kind() {
        ErrorKind::Input => "wrong".into(),
        ErrorKind::Launch => "not launched".into(),
        ErrorKind::Fault => "faulted".into(),
        ErrorKind::Unsupported => "not supported".into(),
        ErrorKind::Bug => format!("DEFECT {e}"),
    }
}

/// Runs all mutants in child processes and counts what became of them. True if there was no defect.
fn campaign(s: &Settings) -> Result<bool, String> {
    let outcomes: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let defects: Mutex<Vec<(u64, String)>> = Mutex::default();
    let each = s.count.div_ceil(s.jobs);
    let began = Instant::now();
    let tell = |seed: u64, outcome: &str| {
        let (outcome, defect) = match outcome.strip_prefix("DEFECT ") {
            Some(what) => ("defect", Some(what)),
            None => (outcome, None),
        };
        if let Some(what) = defect {
            println!("seed {seed}: {what}");
            defects.lock().unwrap_or_else(|e| e.into_inner()).push((seed, what.into()));
        }
        *outcomes.lock().unwrap_or_else(|e| e.into_inner()).entry(outcome.into()).or_default() += 1;
    };
    let work = |job: u64| {
        let (from, end) = (s.seed + job * each, s.seed + s.count.min((job + 1) * each));
        range(s, from, end, &tell)
    };
    let work = &work;
    let errors: Vec<String> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..s.jobs).map(|job| scope.spawn(move || work(job))).collect();
        let end = |job: std::thread::ScopedJoinHandle<'_, Result<(), String>>| {
            job.join().unwrap_or_else(|_| Err("a panic".into())).err()
        };
        jobs.into_iter().filter_map(end).collect()
    });
    if let Some(e) = errors.into_iter().next() {
        return Err(e);
    }
    let outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    println!(
        "{} mutants from seed {} in {:.0} s",
        outcomes.values().sum::<u64>(),
        s.seed,
        began.elapsed().as_secs_f64()
    );
    for (outcome, count) in &outcomes {
        println!("{count:>8}  {outcome}");
    }
    Ok(defects.into_inner().unwrap_or_else(|e| e.into_inner()).is_empty())
}

/// Mutants `from..end`, in as many children as it takes.
fn range(s: &Settings, mut from: u64, end: u64, tell: &dyn Fn(u64, &str)) -> Result<(), String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    while from < end {
        let mut child = Command::new(&exe)
            .args(["--child", "--seed", &from.to_string(), "--count", &(end - from).to_string()])
            .args((!s.jit).then_some("--no-jit"))
            .args(&s.paths)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let mut under_way = None;
        for line in
            child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok)
        {
            if let Some(seed) = line.strip_prefix("begin ").and_then(|seed| seed.parse::<u64>().ok()) {
                under_way = Some(seed);
            } else if let Some((seed, outcome)) =
                line.strip_prefix("end ").and_then(|rest| rest.split_once(' '))
            {
                tell(seed.parse().unwrap_or(0), outcome);
                under_way = None;
            }
        }
        let status = child.wait().map_err(|e| e.to_string())?;
        match under_way {
            Some(seed) => {
                tell(seed, &format!("DEFECT its process ended: {status}"));
                from = seed + 1;
            }
            None if status.success() => return Ok(()),
            None => return Err(format!("a child ended early: {status}")),
        }
    }
    Ok(())
}
