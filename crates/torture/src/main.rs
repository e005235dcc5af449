//! `torture`: random kernels on every engine, until one gives different bits.

mod isolate;
mod slices;

use hostwarp::jit::target::X86Level;
use hostwarp_torture::campaign::{Campaign, Event, Found};
use hostwarp_torture::generate::WIDE;
use hostwarp_torture::run::{Bench, Case};
use hostwarp_torture::shapes::SHAPES;
use hostwarp_torture::subject::Subject;
use slices::Slices;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
torture [options]            run random kernels on interpreter and jit, and compare all memory
torture replay FILE…         run kernels of past failures

  --shapes        any control flow graph with calls, compared with a scalar simulator as well
  --kernels N     how many (1000); also --count
  --seed S        the first seed (0); kernel i has seed S + i
  --jobs N        at once (the number of cores); also --threads
  --seconds N     stop after this time
  --llvm FILE     the libLLVM to use
  --cpu STEP      make code for sse2, sse4.2, avx2 or avx512, whatever this CPU has beyond it
  --json FILE     write coverage and failures there
  --failures N    stop after so many (5)
  --save DIR      write reduced kernels there
  --no-reduce     do not make failing kernels small
  --all-widths    every width instead of one by the seed
  --quick-jit     one compilation for each kernel
  --wide          kernels that suit groups of several warps
  --show          print the kernel with that seed and stop
  --gpu           compare the interpreter with this machine's NVIDIA GPU instead
  --level N       with --gpu: what the driver's assembler optimises, 0 (the default) to 4
";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("torture: {e}");
            ExitCode::from(2)
        }
    }
}

struct Options {
    campaign: Campaign,
    json: Option<PathBuf>,
    save: Option<PathBuf>,
    show: bool,
    /// On a GPU, at that level.
    gpu: bool,
    level: u32,
    replay: Vec<PathBuf>,
}

/// None if help was asked for.
fn options() -> Result<Option<Options>, String> {
    let mut campaign = Campaign::default();
    let (mut json, mut save, mut show, mut kind, mut replay) = (None, None, false, 0, vec![]);
    let mut args = std::env::args().skip(1);
    let (mut replays, mut gpu, mut level) = (false, false, 0);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        let number = |text: String| {
            let wanted = |_| format!("{arg} {text}: a whole number from 0 to {} is wanted", u64::MAX);
            text.parse::<u64>().map_err(wanted)
        };
        match arg.as_str() {
            "--kernels" | "--count" => campaign.kernels = number(value()?)?,
            "--seed" => campaign.seed = number(value()?)?,
            "--jobs" | "--threads" => campaign.jobs = number(value()?)?.max(1) as usize,
            "--seconds" => campaign.seconds = Some(number(value()?)?),
            "--failures" => campaign.failures = number(value()?)?.max(1) as usize,
            "--llvm" => campaign.llvm = Some(value()?.into()),
            "--cpu" => {
                let name = value()?;
                let level = X86Level::ALL.into_iter().find(|level| level.name() == name);
                let steps = X86Level::ALL.map(X86Level::name).join(", ");
                campaign.cpu = Some(level.ok_or(format!("{arg} {name}: there are {steps}"))?);
            }
            "--json" => json = Some(PathBuf::from(value()?)),
            "--save" => save = Some(PathBuf::from(value()?)),
            "--no-reduce" => campaign.reduce = false,
            "--all-widths" => campaign.all_widths = true,
            "--quick-jit" => campaign.one_width = true,
            "--wide" => kind |= WIDE,
            "--shapes" => kind |= SHAPES,
            "--show" => show = true,
            "--gpu" => gpu = true,
            "--level" => level = number(value()?)?.min(4) as u32,
            "--help" | "-h" => return Ok(None),
            "replay" if !replays => replays = true,
            file if replays => replay.push(file.into()),
            _ => return Err(format!("`{arg}` is no option\n\n{HELP}")),
        }
    }
    campaign.seed |= kind;
    Ok(Some(Options { campaign, json, save, show, gpu, level, replay }))
}

fn run() -> Result<bool, String> {
    let Some(o) = options()? else {
        print!("{HELP}");
        return Ok(true);
    };
    if o.show {
        print!("{}", Subject::make(o.campaign.seed).case().text);
        return Ok(true);
    }
    if !o.replay.is_empty() {
        return replay(&o);
    }
    if o.gpu {
        let Campaign { seed, kernels, jobs, seconds, reduce, .. } = o.campaign;
        return Slices { seed, kernels, jobs, seconds, level: o.level, reduce }.run();
    }
    if std::env::var_os(isolate::CHILD).is_none() {
        let args: Vec<String> = std::env::args().skip(1).collect();
        return isolate::run(&args, o.campaign.seed, o.campaign.seed + o.campaign.kernels);
    }
    let result = o.campaign.run(&|event| match event {
        Event::Begin(seed) => println!("begin {seed}"),
        Event::End(seed) => println!("end {seed}"),
        Event::Found(found) => print_found(found, &o),
    })?;
    print!("{}", result.coverage.table());
    println!(
        "{} kernels in {:.1} s: {} failed",
        result.coverage.kernels,
        result.time.as_secs_f64(),
        result.found.len()
    );
    if let Some(path) = &o.json {
        let text = serde_json::to_string_pretty(&result.json()).map_err(|e| e.to_string())?;
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(result.found.is_empty())
}

fn print_found(found: &Found, o: &Options) {
    println!("seed {}: {}", found.seed, found.failure);
    println!("  again: torture --kernels 1 --seed {}", found.seed);
    if let Some((small, failure)) = &found.reduced {
        println!("  reduced, {failure}:\n{}", small.text);
        if let Some(dir) = &o.save {
            let path = dir.join(format!("seed_{}.ptx", found.seed));
            let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, &small.text));
            match written {
                Ok(()) => println!("  kept as {}", path.display()),
                Err(e) => println!("  {}: {e}", path.display()),
            }
        }
    }
}

fn replay(o: &Options) -> Result<bool, String> {
    let mut bench = Bench::new(o.campaign.llvm.clone(), o.campaign.cpu)?;
    bench.all_widths = true;
    let mut fine = true;
    for path in &o.replay {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let case = Case::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let failure = bench.run(&case).failure;
        println!("{}: {}", path.display(), failure.as_ref().map_or("fine".into(), |f| f.to_string()));
        fine &= failure.is_none();
    }
    Ok(fine)
}
