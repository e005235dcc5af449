//! How the time of each step grows with the size of a kernel: `cargo xtask growth`.
//!
//! Every dimension is doubled until a step takes more than [`LONG`] of CPU time. What counts is the growth over the last two doublings, where times are long enough to be measured: more than
//! [`MOST`] for one of them is a defect.

mod shapes;

use hostwarp::compile::{self, Unusable};
use hostwarp::ir;
use hostwarp::jit::llvm::{Llvm, Tier};
use hostwarp::jit::target::Target;
use hostwarp::jit::{JitKernel, KernelText, Speculation};
use hostwarp::plan::Assume;
use hostwarp::{Device, Engine, syntax};
use hostwarp_interp::Program;
use shapes::{SHAPES, Shape};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A step that takes longer is not doubled again.
const LONG: Duration = Duration::from_millis(1500);
/// Shorter times say more about the machine than about us.
const SHORT: Duration = Duration::from_millis(8);
/// The most that a doubling may cost.
const MOST: f64 = 2.4;

const STEPS: [&str; 9] =
    ["parse", "check", "build", "simplify", "plan", "write", "LLVM quick", "LLVM best", "interpret"];

type Times = [Option<Duration>; STEPS.len()];

struct Tools {
    device: Device,
    llvm: Option<Llvm>,
    target: Option<Target>,
    only: Option<usize>,
}

impl Tools {
    /// Does it once, and again while that is cheap; answers the shortest time.
    fn time<T>(times: &mut Times, step: usize, mut work: impl FnMut() -> T) -> T {
        let mut best = Duration::MAX;
        let began = Instant::now();
        loop {
            let from = spent();
            let made = work();
            best = best.min(spent().saturating_sub(from));
            if began.elapsed() > Duration::from_millis(120) {
                times[step] = Some(best);
                return made;
            }
        }
    }

    fn measure(&self, text: &str, stopped: &[bool; STEPS.len()]) -> Times {
        let mut times = Times::default();
        let wanted = |step: usize| !stopped[step] && self.only.is_none_or(|only| step <= only);
        if !wanted(0) {
            return times;
        }
        let parsed = Self::time(&mut times, 0, || syntax::parse(text));
        if wanted(1) {
            let options = compile::Options { check_only: true, ..Default::default() };
            Self::time(&mut times, 1, || {
                let out = compile::compile(&parsed, &options);
                compile::render(&out.diagnostics, parsed.module.source(), "k.ptx", Default::default())
            });
        }
        if !wanted(2) {
            return times;
        }
        let built = Self::time(&mut times, 2, || compile::compile(&parsed, &Default::default()));
        let Some(kernel) = built.module.kernel("k") else { return times };
        let function = match &kernel.function {
            Ok(function) if wanted(3) => function,
            Err(Unusable::Unsupported { what, .. }) => {
                eprintln!("  not supported: {what}");
                return times;
            }
            _ => return times,
        };
        let primitive = Self::time(&mut times, 3, || {
            let mut f = function.clone();
            ir::optimize(&mut f);
            ir::expand::expand(&mut f, Default::default());
            ir::optimize(&mut f);
            f
        });
        if !wanted(4) {
            return times;
        }
        let block = [64, 1, 1];
        let assume = Assume::for_block(block, 32);
        let program = Self::time(&mut times, 4, || Arc::new(Program::new(primitive.clone(), assume)));
        if let (Some(target), Some(llvm), true) = (&self.target, self.llvm, wanted(5)) {
            self.compile(&mut times, &program, target, llvm, &wanted);
        }
        if wanted(8) {
            self.interpret(&mut times, text);
        }
        times
    }

    fn compile(
        &self,
        times: &mut Times,
        program: &Arc<Program>,
        target: &Target,
        llvm: Llvm,
        wanted: &dyn Fn(usize) -> bool,
    ) {
        let speculation = Speculation::On;
        let written = Self::time(times, 5, || KernelText::new(program, target, speculation));
        if let Err(e) = written {
            eprintln!("  not compiled: {e}");
            return;
        }
        for (step, tier) in [(6, Tier::quick()), (7, Tier::light())] {
            if wanted(step) {
                let made =
                    Self::time(times, step, || JitKernel::compile(program, llvm, target, &tier, speculation));
                if let Err(e) = made {
                    eprintln!("  not compiled: {e}");
                    times[step] = None;
                }
            }
        }
    }

    fn interpret(&self, times: &mut Times, text: &str) {
        let mut launch = || -> Result<(), hostwarp::Error> {
            let module = self.device.load("k.ptx", text)?;
            let out = self.device.buffer::<u32>(256)?;
            let kernel = module.kernel("k")?;
            if kernel.params().len() != 1 {
                return Ok(());
            }
            let run = || kernel.launch().block([64, 1, 1]).engine(Engine::Interp).arg(&out).run();
            run()?;
            Self::time(times, 8, run)?;
            Ok(())
        };
        if let Err(e) = launch() {
            eprintln!("  not run: {e}");
        }
    }

    /// The times of a shape at all sizes it gets to.
    fn shape(&self, shape: &Shape) -> Vec<(usize, Times)> {
        let mut all = vec![];
        let mut stopped = [false; STEPS.len()];
        let mut n = shape.from;
        while n <= shape.to {
            let times = self.measure(&(shape.write)(n), &stopped);
            let shown: Vec<String> =
                STEPS.iter().zip(times).filter_map(|(s, t)| Some(format!("{s} {}", show(t?)))).collect();
            eprintln!("  {n}: {}", shown.join(", "));
            for (stop, time) in stopped.iter_mut().zip(times) {
                *stop |= time.is_some_and(|t| t > LONG);
            }
            all.push((n, times));
            if stopped[..5].contains(&true) {
                break;
            }
            n *= 2;
        }
        all
    }
}

/// CPU time of the process so far: growth must not depend on what else the machine does.
#[cfg(unix)]
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time, where CPU time is not to be had.
#[cfg(not(unix))]
fn spent() -> Duration {
    use std::sync::OnceLock;
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

fn show(t: Duration) -> String {
    match t.as_secs_f64() {
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// The growth of a step for each doubling, over the last two if there are times for them.
fn growth(all: &[(usize, Times)], step: usize) -> Option<(f64, usize, Duration)> {
    let known: Vec<(usize, Duration)> =
        all.iter().filter_map(|(n, t)| Some((*n, t[step]?))).filter(|(_, t)| *t >= SHORT).collect();
    let (&(n, last), before) = known.split_last()?;
    let (from, first) = *before.iter().rev().take(2).next_back()?;
    let doublings = (n as f64 / from as f64).log2();
    Some(((last.as_secs_f64() / first.as_secs_f64()).powf(1.0 / doublings), n, last))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let step = words.iter().find_map(|w| STEPS.iter().position(|s| Some(*s) == w.strip_prefix("--to=")));
    let names: Vec<&String> = words.iter().filter(|w| !w.starts_with("--")).collect();
    let device = match Device::new() {
        Ok(device) => device,
        Err(e) => return eprintln!("{e}"),
    };
    let tools = Tools { llvm: device.llvm().ok(), target: device.target().ok(), device, only: step };
    let mut table = format!("| | {} |\n|---|{}\n", STEPS.join(" | "), "---|".repeat(STEPS.len()));
    let mut defects = vec![];
    for shape in
        SHAPES.iter().filter(|s| names.is_empty() || names.iter().any(|n| s.name.contains(n.as_str())))
    {
        eprintln!("{}", shape.name);
        let all = tools.shape(shape);
        let cells = (0..STEPS.len()).map(|step| match growth(&all, step) {
            None => match all.iter().rev().find_map(|(n, t)| Some((*n, t[step]?))) {
                Some((n, t)) => format!("{n}: {}", show(t)),
                None => String::new(),
            },
            Some((factor, n, time)) => {
                let much = factor > MOST;
                if much {
                    defects.push(format!(
                        "{}, {}: × {factor:.2} a doubling, {} at {n}",
                        shape.name,
                        STEPS[step],
                        show(time)
                    ));
                }
                let mark = if much { "**" } else { "" };
                format!("{mark}× {factor:.2}{mark} ({n}: {})", show(time))
            }
        });
        table += &format!("| {} | {} |\n", shape.name, cells.collect::<Vec<_>>().join(" | "));
    }
    println!("{table}");
    for defect in &defects {
        println!("- {defect}");
    }
    std::process::exit(i32::from(!defects.is_empty()));
}
