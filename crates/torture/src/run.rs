//! Runs a kernel on every engine and compares.

use crate::generate::WIDE;
use crate::program::{Kernel, layout};
use crate::random::Random;
use crate::shapes::Program;
use hostwarp::jit::Speculation;
use hostwarp::jit::target::X86Level;
use hostwarp::{
    Arg, Device, Effort, Engine, Error, ErrorKind, KernelFaultKind, LaunchBuilder, Misuse, Options, Profile,
};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

/// Instructions after which a kernel counts as one that does not end.
const FUEL: u64 = 300_000_000;
/// Fuel ends what runs; this ends a compiler that does not come back, on a machine however busy.
const TIMEOUT: Duration = Duration::from_secs(900);
/// Lanes in one vector that the jit can be told to use.
pub const WIDTHS: [u32; 7] = [8, 16, 32, 64, 128, 256, 512];

/// A kernel as text with all it takes to run it: what a file of past failures holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The module, its first line being the launch as a comment.
    pub text: String,
    /// Of the memory's contents.
    pub seed: u64,
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs.
    pub grid: [u32; 3],
    /// The parameter of that name.
    pub limit: u32,
    /// Words of input; the last of them hold a small number, the same for every thread.
    pub input: u64,
    /// Words of memory.
    pub memory: u64,
    /// Bytes of shared memory that the launch asks for.
    pub shared: u32,
    /// A digest of what memory must hold at the end, where a simulator says so; else what the interpreter leaves is right.
    pub expect: Option<u64>,
    /// What it must hold, if at hand.
    pub want: Option<Vec<u64>>,
    /// It may fault, on every engine alike.
    pub faults: bool,
}

const MARK: &str = "// torture:";

impl Case {
    /// The case of a kernel.
    pub fn of(kernel: &Kernel) -> Case {
        let shape = kernel.shape;
        let case = Case {
            text: String::new(),
            seed: kernel.seed,
            block: shape.block,
            grid: shape.grid,
            limit: shape.limit.unwrap_or(u32::MAX),
            input: shape.input_words(),
            memory: kernel.memory_words(),
            shared: 0,
            expect: None,
            want: None,
            faults: kernel.faults,
        };
        case.with_text(&kernel.text())
    }

    /// The launch of a program, without its text and without what it must do.
    pub fn launch_of(p: &Program) -> Case {
        Case {
            text: String::new(),
            seed: p.seed,
            block: p.block,
            grid: p.grid,
            limit: p.limit,
            input: p.input_words(),
            memory: p.memory_words(),
            shared: p.dynamic_shared(),
            expect: None,
            want: None,
            faults: false,
        }
    }

    /// The case of a program that leaves this in memory.
    pub fn of_program(p: &Program, memory: Vec<u64>) -> Case {
        let case = Case { expect: Some(digest(&memory)), want: Some(memory), ..Case::launch_of(p) };
        case.with_text(&p.text())
    }

    fn with_text(self, text: &str) -> Case {
        let [b, g] = [self.block, self.grid].map(|v| format!("{} {} {}", v[0], v[1], v[2]));
        let mut head = format!(
            "{MARK} seed {} block {b} grid {g} limit {} input {} memory {}",
            self.seed, self.limit, self.input, self.memory
        );
        if self.shared > 0 {
            head += &format!(" shared {}", self.shared);
        }
        if self.faults {
            head += " faults";
        }
        if let Some(digest) = self.expect {
            head += &format!(" expect {digest}");
        }
        Case { text: head + "\n" + text, ..self }
    }

    /// Reads a file of a past failure.
    pub fn parse(text: &str) -> Result<Case, String> {
        let line = text.lines().find_map(|l| l.strip_prefix(MARK)).ok_or(format!("no line `{MARK} …`"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = |name: &str, count: usize| -> Result<Vec<u64>, String> {
            let at = words.iter().position(|w| *w == name).ok_or(format!("no `{name}`"))?;
            let values: Vec<u64> = words[at + 1..].iter().map_while(|w| w.parse().ok()).collect();
            if values.len() == count { Ok(values) } else { Err(format!("`{name}` wants {count} numbers")) }
        };
        let one = |name: &str| numbers(name, 1).map(|v| v[0]);
        let three = |name: &str| numbers(name, 3).map(|v| [v[0] as u32, v[1] as u32, v[2] as u32]);
        Ok(Case {
            text: text.into(),
            seed: one("seed")?,
            block: three("block")?,
            grid: three("grid")?,
            limit: one("limit")? as u32,
            input: one("input")?,
            memory: one("memory")?,
            shared: if words.contains(&"shared") { one("shared")? as u32 } else { 0 },
            expect: words.contains(&"expect").then(|| one("expect")).transpose()?,
            want: None,
            faults: words.contains(&"faults"),
        })
    }

    fn threads(&self) -> u64 {
        self.block.iter().chain(&self.grid).map(|n| u64::from(*n)).product()
    }

    /// What memory holds at first: input, memory, and the array parameter.
    pub(crate) fn contents(&self) -> (Vec<u64>, Vec<u64>, Vec<u8>) {
        let mut r = Random::new(self.seed ^ 0x5eed);
        let same = 1 + r.bits() % 4;
        let varied = self.input.saturating_sub(self.threads());
        let input = (0..self.input).map(|i| if i < varied { r.word() } else { same }).collect();
        // Counters begin at 0: sums of floats stay exact.
        let memory = (0..self.memory).map(|i| if i < layout::CELLS { 0 } else { r.bits() }).collect();
        let bag = (0..layout::BAG).map(|_| r.bits() as u8).collect();
        (input, memory, bag)
    }
}

/// FNV-1a of the words.
pub fn digest(words: &[u64]) -> u64 {
    let bytes = words.iter().flat_map(|w| w.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// How a kernel is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The engine.
    pub engine: Engine,
    /// Lanes in one vector; what the engine chooses if not given.
    pub width: Option<u32>,
    /// Threads that run CTAs.
    pub threads: usize,
    /// How much the compiler does; in turns without one, what it makes with any.
    pub effort: Option<Effort>,
    /// Whether compiled code relies on what nearly always holds; it begins so if not given.
    pub speculation: Option<Speculation>,
    /// Compiled code and the interpreter in turns of about so many instructions.
    pub turn: Option<u64>,
    /// In the CTAs that are asked for, never others.
    pub as_launched: bool,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = format!("{:?}", self.engine).to_lowercase();
        let width = self.width.map_or("width auto".into(), |w| format!("width {w}"));
        let effort = self.effort.map(|e| format!(", {e:?}").to_lowercase()).unwrap_or_default();
        let deoptimised = if self.speculation == Some(Speculation::Off) { ", deoptimised" } else { "" };
        let turn = self.turn.map(|n| format!(", in turns of {n}")).unwrap_or_default();
        write!(f, "{engine}, {width}, {} threads{effort}{deoptimised}{turn}", self.threads)
    }
}

const REFERENCE: Variant = Variant {
    engine: Engine::Interp,
    width: None,
    threads: 1,
    effort: None,
    speculation: None,
    turn: None,
    as_launched: true,
};

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Memory differs from what the reference left.
    Difference {
        /// Of which run.
        variant: Variant,
        /// The first word that differs.
        word: usize,
        /// What it should be.
        want: u64,
        /// What it is.
        got: u64,
        /// How many differ.
        count: usize,
    },
    /// The reference leaves other memory than the simulator did when the file was written.
    Digest {
        /// Of what it should be.
        want: u64,
        /// Of what it is.
        got: u64,
    },
    /// A fault or an error: generated kernels have none.
    Error {
        /// Of which run.
        variant: Variant,
        /// Of which kind.
        kind: ErrorKind,
        /// What it says.
        text: String,
    },
    /// It faults otherwise than on the reference, or not at all.
    Fault {
        /// In which run.
        variant: Variant,
        /// What the reference says.
        want: String,
        /// What this says.
        got: String,
    },
    /// The engine panicked.
    Panic {
        /// What it said.
        text: String,
    },
}

impl Failure {
    /// Whether the other is a failure of the same kind. A kernel that does not compile is none that faults.
    pub fn is_like(&self, other: &Failure) -> bool {
        match (self, other) {
            (Failure::Error { kind: a, .. }, Failure::Error { kind: b, .. }) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Difference { variant, word, want, got, count } => write!(
                f,
                "{variant}: {count} words of memory differ; word {word} should be {want:#018x} and is {got:#018x}"
            ),
            Failure::Digest { want, got } => write!(
                f,
                "{REFERENCE}: memory is not what the simulator left: its digest should be {want} and is {got}"
            ),
            Failure::Error { variant, text, .. } => write!(f, "{variant}: {text}"),
            Failure::Fault { variant, want, got } => {
                write!(f, "{variant}: `{got}` where it should be `{want}`")
            }
            Failure::Panic { text } => write!(f, "panic: {text}"),
        }
    }
}

/// What running a case came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What went wrong, if anything.
    pub failure: Option<Failure>,
    /// Widths the jit ran at.
    pub widths: Vec<u32>,
    /// Why the jit did not take it, where it did not.
    pub refused: Vec<String>,
    /// Why Hostwarp does not do it at all.
    pub unsupported: Option<String>,
    /// Core ops it consists of, if asked for.
    pub ops: Vec<String>,
}

/// Whether an access is at fault.
fn is_of_memory(e: &Error) -> bool {
    matches!(e, Error::Fault(fault) if matches!(fault.kind, KernelFaultKind::Memory(_)))
}

fn differs(variant: Variant, want: &[u64], got: &[u64]) -> Result<(), Failure> {
    let differing = || want.iter().zip(got).enumerate().filter(|(_, (w, g))| w != g);
    match differing().next() {
        None => Ok(()),
        Some((word, (want, got))) => {
            Err(Failure::Difference { variant, word, want: *want, got: *got, count: differing().count() })
        }
    }
}

/// The launch of a case, without its parameters.
fn launch_of<'k>(kernel: &'k hostwarp::Kernel, case: &Case) -> LaunchBuilder<'k> {
    let launch = kernel.launch().block(case.block).grid(case.grid).shared(case.shared);
    launch.fuel(FUEL).timeout(TIMEOUT)
}

/// A device to run kernels on.
#[derive(Debug)]
pub struct Bench {
    device: Device,
    /// Whose bits the reference has.
    profile: Profile,
    /// Widths to try besides the one the engine chooses: all, or one chosen by the seed.
    pub all_widths: bool,
    /// Compile once: as the jit likes, or at a width chosen by the seed.
    pub one_width: bool,
    /// Collect core ops.
    pub count_ops: bool,
}

impl Bench {
    /// A device with this libLLVM, or one that is found, that makes code for this step of CPU, or for all that the one at hand has.
    pub fn new(llvm: Option<PathBuf>, cpu: Option<X86Level>) -> Result<Bench, String> {
        let mut settings = Device::builder().memory(64 << 20).threads(1);
        if let Some(path) = llvm {
            settings = settings.llvm(path);
        }
        if let Some(level) = cpu {
            settings = settings.cpu(level);
        }
        let device = settings.build().map_err(|e| e.to_string())?;
        device.llvm()?;
        device.target()?;
        Ok(Bench { device, profile: Profile::Isa, all_widths: false, one_width: false, count_ops: false })
    }

    /// A device for the interpreter alone, which needs no LLVM, with these bits.
    pub fn plain(profile: Profile) -> Result<Bench, String> {
        let device = Device::builder().memory(64 << 20).threads(1).build().map_err(|e| e.to_string())?;
        Ok(Bench { device, profile, all_widths: false, one_width: false, count_ops: false })
    }

    /// What a case leaves in memory on the reference, with so many bytes before what it works on: what it leaves elsewhere if it looks at
    /// addresses.
    pub fn reference(&self, case: &Case, before: usize) -> Result<Vec<u64>, Error> {
        self.interpret(case, before, false)
    }

    /// What of all that PTX leaves open a case relies on first, if anything.
    pub fn relies_on(&self, case: &Case) -> Option<Misuse> {
        match self.interpret(case, 0, true) {
            Err(Error::Fault(fault)) => match fault.kind {
                KernelFaultKind::Strict(misuse) => Some(misuse),
                _ => None,
            },
            _ => None,
        }
    }

    fn interpret(&self, case: &Case, before: usize, strict: bool) -> Result<Vec<u64>, Error> {
        let options = Options { profile: self.profile };
        let kernel = self.device.load_with("torture.ptx", &case.text, options)?.kernel("torture")?;
        let _before = self.device.buffer::<u8>(before)?;
        let (input, memory, bag) = case.contents();
        let input = self.device.buffer_from(&input)?;
        let buffer = self.device.buffer_from(&memory)?;
        let mut launch = launch_of(&kernel, case).engine(REFERENCE.engine).threads(REFERENCE.threads);
        if strict {
            launch = launch.strict();
        }
        launch.arg(&input).arg(&buffer).arg(case.limit).arg(Arg::bytes(bag)).run()?;
        buffer.to_vec()
    }

    /// Runs a case on the reference and on the others, and compares.
    pub fn run(&self, case: &Case) -> Outcome {
        let mut outcome = Outcome::default();
        let run = catch_unwind(AssertUnwindSafe(|| self.compare(case, &mut outcome)));
        let failure = run.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
            Err(Failure::Panic { text: text.unwrap_or_default() })
        });
        outcome.failure = failure.err();
        outcome
    }

    fn compare(&self, case: &Case, outcome: &mut Outcome) -> Result<(), Failure> {
        let wrong =
            |variant: Variant, e: &Error| Failure::Error { variant, kind: e.kind(), text: e.to_string() };
        let device = &self.device;
        let load = device.load("torture.ptx", &case.text);
        let kernel = load.and_then(|m| m.kernel("torture")).map_err(|e| wrong(REFERENCE, &e))?;
        if self.count_ops {
            outcome.ops = crate::coverage::ops(&kernel);
        }
        let (input, memory, bag) = case.contents();
        let input = device.buffer_from(&input).map_err(|e| wrong(REFERENCE, &e))?;
        let buffer = device.buffer::<u64>(memory.len()).map_err(|e| wrong(REFERENCE, &e))?;
        let launch = |variant: Variant| -> Result<(Vec<u64>, Option<u32>), Error> {
            buffer.write(0, &memory)?;
            let mut launch = launch_of(&kernel, case)
                .arg(&input)
                .arg(&buffer)
                .arg(case.limit)
                .arg(Arg::bytes(bag.clone()))
                .engine(variant.engine)
                .threads(variant.threads);
            if let Some(width) = variant.width {
                launch = launch.exact_width(width);
            }
            if let Some(effort) = variant.effort {
                launch = launch.effort(effort);
            }
            if let Some(speculation) = variant.speculation {
                launch = launch.speculation(speculation);
            }
            if let Some(turn) = variant.turn {
                launch = launch.in_turns(turn);
            }
            if variant.as_launched {
                launch = launch.as_launched();
            }
            let report = launch.run()?;
            Ok((buffer.to_vec()?, report.width))
        };
        let want = match launch(REFERENCE) {
            Ok((memory, _)) => memory,
            Err(e) if e.kind() == ErrorKind::Unsupported => {
                outcome.unsupported = Some(e.to_string());
                return Ok(());
            }
            Err(e) if case.faults && is_of_memory(&e) => {
                // Of several the first is told, in the order of the CTAs that are run.
                let reshaped = Variant { as_launched: false, ..REFERENCE };
                return self.compare_faults(case, launch(reshaped).err(), launch);
            }
            Err(e) => return Err(wrong(REFERENCE, &e)),
        };
        if let Some(right) = &case.want {
            differs(REFERENCE, right, &want)?;
        }
        if let Some(right) = case.expect.filter(|d| *d != digest(&want)) {
            return Err(Failure::Digest { want: right, got: digest(&want) });
        }
        let mut chosen = None;
        for variant in self.variants(case) {
            // Compiled already.
            if variant.width.is_some()
                && variant.width == chosen
                && variant.effort == Some(Effort::Best)
                && variant.speculation.is_none()
                && variant.turn.is_none()
            {
                continue;
            }
            let (got, width) = match launch(variant) {
                Ok(done) => done,
                // What it says it does not do; anything else is a defect.
                Err(Error::Unsupported { what: text, .. })
                    if text.contains("cannot run this kernel: not compiled:") =>
                {
                    outcome.refused.push(text);
                    continue;
                }
                Err(e) => return Err(wrong(variant, &e)),
            };
            outcome.widths.extend(width);
            chosen = chosen.or(width);
            differs(variant, &want, &got)?;
        }
        Ok(())
    }

    /// Whether a kernel that faults does so alike in every run.
    fn compare_faults(
        &self,
        case: &Case,
        want: Option<Error>,
        launch: impl Fn(Variant) -> Result<(Vec<u64>, Option<u32>), Error>,
    ) -> Result<(), Failure> {
        let show = |e: &Option<Error>| e.as_ref().map_or("no fault".into(), Error::to_string);
        for variant in self.variants(case) {
            let got = match launch(variant) {
                Err(Error::Unsupported { .. }) => continue,
                other => other.err(),
            };
            let alike = match (&want, &got) {
                // CTAs that take turns need not come to their faults in the order they began.
                (Some(Error::Fault(a)), Some(Error::Fault(b))) if variant.turn.is_some() => a.line == b.line,
                (a, b) => show(a) == show(b),
            };
            if !alike {
                return Err(Failure::Fault { variant, want: show(&want), got: show(&got) });
            }
        }
        Ok(())
    }

    /// The runs to compare with the reference: the jit as it likes, and as the seed says.
    fn variants(&self, case: &Case) -> Vec<Variant> {
        let mut r = Random::new(case.seed ^ 0x7a51);
        let jit = |width, threads| {
            let (engine, effort) = (Engine::Jit, Some(Effort::Best));
            Variant { engine, width, threads, effort, as_launched: false, ..REFERENCE }
        };
        // Wide vectors take long to compile.
        let several_rows = case.block[0] < 32 && case.block[1] > 1;
        let weights = match case.seed & WIDE {
            0 if several_rows => [1, 2, 5, 2, 1, 1, 1],
            0 => [3, 3, 2, 1, 1, 1, 1],
            _ => [0, 0, 0, 1, 1, 1, 2],
        };
        let mut width = Some(WIDTHS[r.weighted(&weights)]);
        // Tiles are something special where a group is all of its CTA.
        let all_threads = case.block.iter().product();
        let whole = case.seed & WIDE != 0 && case.text.contains(" tile[") && WIDTHS.contains(&all_threads);
        if whole {
            width = Some(all_threads);
        }
        let threads = *r.pick(&[2, 4]);
        let mut all = match (self.all_widths, self.one_width) {
            (true, _) => [None].into_iter().chain(WIDTHS.map(Some)).map(|w| jit(w, 1)).collect(),
            (_, false) => vec![jit(None, 1), jit(width, 1)],
            // A warp in pieces is refused where lanes talk to each other: then as the jit likes after all.
            (_, true)
                if whole
                    || r.percent(50)
                        && !case.text.contains(".sync.")
                        && !case.text.contains("activemask") =>
            {
                vec![jit(width, 1)]
            }
            _ => vec![jit(None, 1)],
        };
        // Compiled already.
        all.push(Variant { threads, ..all[0] });
        if r.percent(if self.one_width { 20 } else { 60 }) {
            all.push(Variant { speculation: Some(Speculation::Off), ..all[0] });
        }
        // What is compiled already, changing places with the interpreter.
        let turn = *r.pick(&[1, 20, 100, 500, 2000]);
        // Loops that some lanes do not come to are soon over.
        let ends_early = case.text.contains(" exit;") || case.text.matches(" ret;").count() > 1;
        let turn = if ends_early { turn.min(100) } else { turn };
        let mut turns: Vec<Variant> =
            all.iter().filter(|v| v.threads == 1).map(|v| Variant { turn: Some(turn), ..*v }).collect();
        if r.percent(50) {
            // And what is compiled quickly, by itself and in turns with all the others.
            let wide = *r.pick(&all);
            all.push(Variant { effort: Some(Effort::Quick), ..wide });
            let turn = *r.pick(&[1, 50, 300]);
            turns.push(Variant { effort: None, turn: Some(turn), ..wide });
        }
        all.extend(turns);
        if r.percent(20) {
            all.push(Variant { threads: 4, as_launched: r.percent(50), ..REFERENCE });
        }
        all
    }
}
