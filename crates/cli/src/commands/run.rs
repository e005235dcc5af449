//! `hostwarp run`: launches a kernel on arguments from the command line.

use crate::failure::Failure;
use crate::progress::Bar;
use crate::show::{self, Summary};
use crate::value::{self, Data, PIECE, Value};
use crate::{cache, input, limits, number, output, watch};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hostwarp::compile::{Param, Severity};
use hostwarp::isa::Ty;
use hostwarp::jit::target::X86Level;
use hostwarp::memory::DEFAULT_CAPACITY;
use hostwarp::{
    Arg, Buffer, Device, Effort, Emit, Engine, Held, Kernel, LaunchBuilder, Module, Options, Profile, Report,
    TraceStep,
};
use hostwarp_system::{file, limits::poll_many};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const EXAMPLES: &str = "\
Examples:
  hostwarp run saxpy.ptx --grid 4 --block 256 n=1024 a=2.5 x=f32[1024]:iota y=f32[1024]=1
  hostwarp run image.ptx --grid 64,64 --block 16,16 in=@photo.npy out=u8[1024,1024] \\
      --out out=result.npy
  hostwarp run k.ptx --entry second --shared 4096 sym:table=f32[256]:rand=1 0=u32[64]
  hostwarp run k.ptx --emit llvm --block 128
  hostwarp run main.ptx library.ptx --entry k --block 32 0=u32[32]
  hostwarp run k.ptx --grid 4 --block 256 --stats 0=u32[1024]
  hostwarp run k.ptx --grid 4,4 --block 32,8 --trace 1.2,5.3 0=u32[4096]
  hostwarp run k.ptx --grid 4 --block 256 --strict --schedule 7 0=u32[1024]

A parameter that is missing is an error that shows the signature. Compilers number
parameters (k_param_0); give them by position: 0=… 1=….
`sym:NAME=VALUE` sets a .global or .const variable before the launch.
Compiled kernels are kept in $HOSTWARP_CACHE_DIR, or hostwarp/ in the user's cache
directory (`hostwarp doctor` says where); HOSTWARP_CACHE=off keeps none.
Quote values with brackets in shells that expand them, and those with an `&`.";

/// Run a kernel.
#[derive(clap::Args, Debug)]
#[command(after_help = format!("{}\n\n{EXAMPLES}", value::HELP))]
pub struct Run {
    /// The PTX file; `-` reads stdin.
    file: PathBuf,
    /// More PTX files that belong to the first, and arguments by parameter name or position.
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// The kernel; not needed if the file has only one.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// CTAs along x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1", value_parser = dims)]
    grid: Dims,
    /// Threads of a CTA along x, y and z [default: what .reqntid says, or 1].
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dims)]
    block: Option<Dims>,
    /// Dynamic shared memory of a CTA.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// All CTAs are under way at once and may wait for each other: for barriers of the whole grid.
    #[arg(long)]
    cooperative: bool,
    /// Bytes that kernels can have from `malloc`.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    heap: u64,
    /// What runs it; all give the same bits.
    #[arg(long, default_value = "auto")]
    engine: EngineArg,
    /// Lanes in one vector of the jit; fewer where a CTA is no multiple of them.
    #[arg(long, value_name = "LANES", value_parser = widths())]
    width: Option<u32>,
    /// How much the jit's compiler does [default: little at first, more when it pays].
    #[arg(long)]
    effort: Option<EffortArg>,
    /// Make code for an x86 CPU of this step, whatever this one has beyond it.
    #[arg(long, value_name = "STEP")]
    cpu: Option<CpuArg>,
    /// Whose bits: the manual's or an H200's.
    #[arg(long, default_value = "isa")]
    profile: ProfileArg,
    /// Threads of the host [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Stop after about so many instructions, counted once per warp.
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// Compile the kernel even if it is kept from an earlier run, and do not keep it.
    #[arg(long)]
    no_cache: bool,
    /// Write a buffer or variable to a file afterwards: .npy by extension, otherwise raw bytes.
    #[arg(long = "out", value_name = "NAME=FILE")]
    outs: Vec<String>,
    /// Show the kernel on its way instead of running it: ir, `ir:PASS[,N]` (the IR after the first or Nth run of a pass), plan, vector, llvm.
    #[arg(long, value_name = "STAGE", value_parser = stage, long_help = stage_help())]
    emit: Option<Emit>,
    /// Count what is executed, by opcode and by line, with active lanes, and accesses to memory; the interpreter runs it.
    #[arg(long)]
    stats: bool,
    /// Show what one thread executes, line by line, with the registers it writes; the interpreter runs it. Indices of several axes as X.Y.Z.
    #[arg(long, value_name = "CTA,THREAD", value_parser = traced)]
    trace: Option<Traced>,
    /// Lines of a trace that are shown at most.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    trace_limit: u64,
    /// Reliance on what PTX leaves open is an error: registers and shared memory never written, shuffles from lanes that do not take
    /// part, integer division by zero, races within a warp on shared memory, asynchronous copies that nobody has waited for.
    #[arg(long)]
    strict: bool,
    /// Run CTAs and (interpreter) warps in an order that the seed decides on: the same seed, the same order.
    #[arg(long, value_name = "SEED")]
    schedule: Option<u64>,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// `CTA,THREAD`, each as `X[.Y[.Z]]`
#[derive(Clone, Copy, Debug)]
struct Traced {
    cta: [u32; 3],
    thread: [u32; 3],
}

fn traced(text: &str) -> Result<Traced, String> {
    let index = |text: &str| -> Result<[u32; 3], String> {
        let parts: Vec<_> = text.split('.').collect();
        let mut out = [0; 3];
        if parts.len() > out.len() {
            return Err("an index has at most three parts".into());
        }
        for (to, part) in out.iter_mut().zip(parts) {
            *to = part.trim().parse().map_err(|_| format!("`{part}` is no index"))?;
        }
        Ok(out)
    };
    let (cta, thread) = text.split_once(',').ok_or("a CTA and a thread are wanted: 0,5 or 1.2,0.3")?;
    Ok(Traced { cta: index(cta)?, thread: index(thread)? })
}

/// `X[,Y[,Z]]`
#[derive(Clone, Copy, Debug)]
struct Dims([u32; 3]);

fn widths() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["8", "16", "32", "64", "128", "256", "512"])
        .try_map(|lanes| lanes.parse::<u32>())
}

fn dims(text: &str) -> Result<Dims, String> {
    let parts: Vec<_> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err("at most three numbers".into());
    }
    let mut out = [1; 3];
    for (to, part) in out.iter_mut().zip(parts) {
        let wrong = |_| {
            format!(
                "up to three numbers from 1 to {} are wanted: 4, 4,2 or 4x2x1; `{part}` is none",
                u32::MAX
            )
        };
        *to = part.trim().parse().map_err(wrong)?;
    }
    Ok(Dims(out))
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
pub(super) enum EngineArg {
    /// The interpreter at first, compiled code when it pays
    Auto,
    /// The reference
    Interp,
    /// Compiled by LLVM before it begins
    Jit,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EffortArg {
    /// Code that is there in a few milliseconds
    Quick,
    /// Fast code
    Best,
}

impl From<EffortArg> for Effort {
    fn from(effort: EffortArg) -> Effort {
        match effort {
            EffortArg::Quick => Effort::Quick,
            EffortArg::Best => Effort::Best,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CpuArg {
    Sse2,
    #[value(name = "sse4.2")]
    Sse42,
    Avx2,
    Avx512,
}

impl From<CpuArg> for X86Level {
    fn from(cpu: CpuArg) -> X86Level {
        match cpu {
            CpuArg::Sse2 => X86Level::Sse2,
            CpuArg::Sse42 => X86Level::Sse42,
            CpuArg::Avx2 => X86Level::Avx2,
            CpuArg::Avx512 => X86Level::Avx512,
        }
    }
}

impl From<EngineArg> for Engine {
    fn from(e: EngineArg) -> Engine {
        match e {
            EngineArg::Auto => Engine::Auto,
            EngineArg::Interp => Engine::Interp,
            EngineArg::Jit => Engine::Jit,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
pub(super) enum ProfileArg {
    Isa,
    #[value(name = "sm_90")]
    Sm90,
}

impl From<ProfileArg> for Profile {
    fn from(p: ProfileArg) -> Profile {
        match p {
            ProfileArg::Isa => Profile::Isa,
            ProfileArg::Sm90 => Profile::Sm90,
        }
    }
}

fn stage(text: &str) -> Result<Emit, String> {
    Ok(match text {
        "ir" => Emit::Ir,
        "plan" => Emit::Plan,
        "vector" => Emit::Vector,
        "llvm" => Emit::Llvm,
        _ => {
            let what = text.strip_prefix("ir:").ok_or("one of ir, ir:PASS[,N], plan, vector, llvm")?;
            let (name, nth) = what.split_once(',').unwrap_or((what, "1"));
            let pass = hostwarp::passes().map(|(name, _)| name).find(|n| *n == name);
            let names = || hostwarp::passes().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
            Emit::IrAfter {
                pass: pass.ok_or_else(|| format!("no pass is called `{name}`; there are {}", names()))?,
                nth: nth.parse().map_err(|_| format!("`{nth}` is no number"))?,
            }
        }
    })
}

fn stage_help() -> String {
    let mut help =
        "Show the kernel on its way instead of running it: ir, plan, vector or llvm, or ir:PASS[,N], the IR after \
                    the first (Nth) run of a pass. Passes:\n"
            .to_string();
    for (name, about) in hostwarp::passes() {
        help += &format!("  {name:<18} {about}\n");
    }
    help
}

/// A buffer made for an argument.
struct Made {
    name: String,
    ty: Ty,
    shape: Vec<usize>,
    buffer: Buffer<u8>,
    /// The memory it takes.
    _held: Held,
}

impl Made {
    fn data(&self) -> Result<Data, Failure> {
        // Taken for a moment only.
        limits::limits().hold(self.buffer.len() as u64)?;
        Ok(Data { ty: self.ty, shape: self.shape.clone(), bytes: self.buffer.to_vec()? })
    }

    fn summary(&self) -> Result<Summary, hostwarp::Error> {
        let read = |at: usize, bytes: &mut [u8]| self.buffer.read(at, bytes);
        Summary::new(self.ty, &self.shape, self.buffer.len(), read)
    }
}

/// Prints what kernels print, and remembers why it could not.
#[derive(Default)]
struct Printed {
    failed: Mutex<Option<std::io::Error>>,
}

impl Printed {
    fn print(&self, text: &[u8]) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = output::print_bytes(text).err();
        }
    }

    /// The error, if there was one.
    fn finish(&self) -> std::io::Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

impl Run {
    pub fn run(self) -> Result<(), Failure> {
        let (more, arguments): (Vec<&String>, Vec<&String>) =
            self.arguments.iter().partition(|a| !a.contains('=') && a.ends_with(".ptx"));
        let arguments: Vec<(String, Value)> =
            arguments.into_iter().map(|a| value::split(a)).collect::<Result<_, _>>().map_err(|e| {
                Failure::usage(format!("{e}\n`hostwarp help run` shows how values are written"))
            })?;
        let outs: Vec<(&str, &Path)> = self
            .outs
            .iter()
            .map(|o| o.split_once('=').filter(|(n, f)| !n.is_empty() && !f.is_empty()))
            .map(|o| o.map(|(n, f)| (n, Path::new(f))))
            .collect::<Option<_>>()
            .ok_or_else(|| Failure::usage("--out takes NAME=FILE"))?;

        let paths: Vec<&Path> = std::iter::once(&*self.file).chain(more.into_iter().map(Path::new)).collect();
        let sources = paths.iter().map(|path| input::read(path)).collect::<Result<Vec<_>, _>>()?;
        let limits = limits::limits();
        let mut device = Device::builder();
        if limits.memory_limit() < DEFAULT_CAPACITY {
            device = device.memory(limits.memory_limit());
        }
        if let Some(n) = self.threads {
            device = device.threads(n.into());
        }
        if let Some(cpu) = self.cpu {
            device = device.cpu(cpu.into());
        }
        if let Some(cache) = cache::cache()?.filter(|_| !self.no_cache) {
            device = device.cache(cache);
        }
        let printed = Arc::new(Printed::default());
        if !self.json {
            let to = printed.clone();
            device = device.output(move |text| to.print(text));
        }
        let device = device.heap(self.heap).build()?;
        let profile = self.profile.into();
        let files: Vec<(&str, &[u8])> = sources.iter().map(|s| (s.name.as_str(), &s.bytes[..])).collect();
        let module = device.link_within(&files, Options { profile }, limits)?;
        if !self.json {
            warnings(&module, &sources);
        }
        let kernel = self.kernel(&module)?;
        let mut launch = kernel.launch().grid(self.grid.0).shared(self.shared).engine(self.engine.into());
        launch = launch.limits(limits);
        if let Some(Dims(block)) = self.block {
            launch = launch.block(block);
        }
        if self.cooperative {
            launch = launch.cooperative();
        }
        if let Some(width) = self.width {
            launch = launch.width(width);
        }
        if let Some(effort) = self.effort {
            launch = launch.effort(effort.into());
        }
        if let Some(fuel) = self.fuel {
            launch = launch.fuel(fuel);
        }
        if self.stats {
            launch = launch.stats();
        }
        if self.strict {
            launch = launch.strict();
        }
        if let Some(seed) = self.schedule {
            launch = launch.schedule(seed);
        }
        let steps = AtomicU64::new(0);
        let not_printed = Mutex::new(None);
        let print_step = |step: &TraceStep| {
            if steps.fetch_add(1, Ordering::Relaxed) < self.trace_limit
                && let Err(e) = watch::print_step(step, self.json)
            {
                not_printed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        };
        if let Some(Traced { cta, thread }) = self.trace {
            launch = launch.trace(cta, thread, &print_step);
        }
        if let Some(stage) = self.emit {
            let text = launch.emit(stage);
            return Ok(output::print(&format!("{}\n", text.map_err(|e| explain(e, &sources))?.trim_end()))?);
        }

        let (symbols, params): (Vec<_>, Vec<_>) =
            arguments.into_iter().partition(|(n, _)| n.starts_with("sym:"));
        let (made, args) = params_of(&device, &kernel, params)?;
        for (name, arg) in args {
            launch = launch.arg_named(&name, arg);
        }
        for (name, value) in symbols {
            set_symbol(&module, &name["sym:".len()..], value, &made)?;
        }
        check_outs(&outs, &kernel, &module, &made)?;
        check_files(&outs, &paths)?;
        let ran = run_with_progress(launch, self.json);
        let steps = steps.into_inner();
        if steps > self.trace_limit {
            let more = steps - self.trace_limit;
            output::note(&format!(
                "{more} more lines of the trace are not shown; --trace-limit N shows more"
            ));
        }
        if let Some(e) = not_printed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e.into());
        }
        let report = ran.map_err(|e| explain(e, &sources))?;
        printed.finish()?;

        // All of them, or none.
        let mut written = vec![];
        for (name, path) in outs {
            let data = find_out(name, &kernel, &module, &made)?;
            written.push((path, data.write(path).map_err(Failure::input)?));
        }
        for (path, file) in written {
            file.commit().map_err(|e| Failure::input(format!("cannot write `{}`: {e}", path.display())))?;
        }
        self.tell(&kernel, &report, &made, &device.printed())
    }

    fn kernel(&self, module: &Module) -> Result<Kernel, Failure> {
        if let Some(name) = &self.entry {
            return Ok(module.kernel(name)?);
        }
        let mut kernels = module.kernels();
        match kernels.len() {
            0 => Err(Failure::launch("the file has no kernel (.entry)")),
            1 => Ok(kernels.remove(0)),
            n => {
                let list: String = kernels.iter().map(|k| format!("\n  {}", k.signature())).collect();
                Err(Failure::launch(format!("the file has {n} kernels; choose one with --entry NAME:{list}")))
            }
        }
    }

    fn tell(&self, kernel: &Kernel, report: &Report, made: &[Made], printed: &[u8]) -> Result<(), Failure> {
        let summaries: Vec<(String, Summary)> =
            made.iter().map(|m| Ok((m.name.clone(), m.summary()?))).collect::<Result<_, Failure>>()?;
        let block = self.block.map(|b| b.0).or(kernel.compiled().limits.required_cta).unwrap_or([1; 3]);
        let engine = match report.engine {
            Engine::Jit => "jit",
            _ => "interp",
        };
        if self.json {
            let value = json!({
                "kernel": kernel.name(),
                "signature": kernel.signature(),
                "grid": self.grid.0,
                "block": block,
                "ctas": report.ctas,
                "engine": engine,
                "width": report.width,
                "effort": report.effort.map(|e| format!("{e:?}").to_lowercase()),
                "interpreted_ctas": report.interpreted,
                "cached": report.cached,
                "note": report.note,
                "prepare_seconds": report.prepare.as_secs_f64(),
                "run_seconds": report.run.as_secs_f64(),
                "stats": report.stats.as_ref().map(watch::stats_json),
                "printed": String::from_utf8_lossy(printed),
                "buffers": summaries.iter().map(|(n, s)| s.json(n)).collect::<Vec<_>>(),
            });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        if let Some(note) = &report.note {
            let ran = if report.engine == Engine::Jit { "note" } else { "the interpreter ran it" };
            output::note(&format!("{ran}: {note}"));
        }
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        let s = |n: u64| if n == 1 { "" } else { "s" };
        let width = report.width.map(|w| format!(", {w} lanes a vector")).unwrap_or_default();
        let begun = match report.engine {
            Engine::Jit if report.interpreted > 0 => format!(" after {} on interp", report.interpreted),
            _ => String::new(),
        };
        let quickly = if report.effort == Some(Effort::Quick) { " compiled quickly" } else { "" };
        output::note(&format!(
            "{}: {} CTA{} of {threads} thread{}, {engine}{quickly}{width}{begun}: {} ({} to get ready{})",
            kernel.name(),
            report.ctas,
            s(report.ctas),
            s(threads),
            show::time(report.run),
            show::time(report.prepare),
            if report.cached { ", compiled before" } else { "" },
        ));
        if let Some(stats) = &report.stats {
            output::print(&watch::tables(stats))?;
        }
        Ok(output::print(&show::table(&summaries))?)
    }
}

/// What cannot be written, or would be lost, is said before a long run, not after it.
fn check_files(outs: &[(&str, &Path)], sources: &[&Path]) -> Result<(), Failure> {
    for (i, (name, path)) in outs.iter().enumerate() {
        let shown = path.display();
        if let Some((other, _)) = outs[..i].iter().find(|(_, p)| file::same(p, path)) {
            let text = format!("--out: `{other}` and `{name}` would both be written to `{shown}`");
            return Err(Failure::usage(text));
        }
        if sources.iter().any(|source| file::same(path, source)) {
            return Err(Failure::usage(format!("--out: `{shown}` is the file with the kernel")));
        }
        file::check_replaceable(path)
            .map_err(|e| Failure::input(format!("--out: cannot write `{shown}`: {e}")))?;
    }
    Ok(())
}

fn warnings(module: &Module, sources: &[input::Source]) {
    for (source, said) in sources.iter().zip(module.diagnostics_by_file()) {
        let warnings: Vec<_> = said.iter().filter(|d| d.severity == Severity::Warning).cloned().collect();
        if !warnings.is_empty() {
            let text = String::from_utf8_lossy(&source.bytes);
            output::complain_raw(&input::render(&warnings, &text, &source.name));
        }
    }
}

/// Adds the line an error is about, and a way out where there is one.
fn explain(error: hostwarp::Error, sources: &[input::Source]) -> Failure {
    use hostwarp::{Error, KernelFaultKind as Kind};
    let (line, help) = match &error {
        Error::Fault(f) => (
            f.line,
            match f.kind {
                Kind::OutOfFuel => Some("allow more with --fuel"),
                Kind::Timeout => Some("allow more with --timeout"),
                Kind::OutOfMemory(_) => Some("allow more with --memory, if the host has more"),
                Kind::Trap => {
                    Some("the kernel ended itself with `trap`: an assertion of the program that failed")
                }
                Kind::Deadlock { .. } => Some("all threads that have not exited must reach the same barrier"),
                _ => None,
            },
        ),
        Error::Unsupported { line, what, .. } if what.contains("other module") => {
            (*line, Some("name the file that defines it as well: `hostwarp run a.ptx b.ptx`"))
        }
        Error::Unsupported { line, .. } => (*line, None),
        _ => (0, None),
    };
    let file = match &error {
        Error::Fault(f) => f.file.clone(),
        _ => None,
    };
    let source = sources.iter().find(|s| file.as_ref() == Some(&s.name)).unwrap_or(&sources[0]);
    let text = String::from_utf8_lossy(&source.bytes);
    let quoted = (line as usize).checked_sub(1).and_then(|i| text.lines().nth(i));
    let mut failure = Failure::from(error);
    if let Failure::Said { text, .. } = &mut failure {
        if let Some(quoted) = quoted {
            let pad = " ".repeat(line.to_string().len());
            *text += &format!("\n{pad}--> {}:{line}\n{pad} |\n{line} | {quoted}", source.name);
        }
        if let Some(help) = help {
            *text += &format!("\nhelp: {help}");
        }
    }
    failure
}

/// The arguments of the launch, and the buffers made for them.
type Params = (Vec<Made>, Vec<(String, Arg)>);

fn params_of(device: &Device, kernel: &Kernel, arguments: Vec<(String, Value)>) -> Result<Params, Failure> {
    let params = kernel.params();
    let wrong = |text: String| Failure::launch(format!("{text}\n  the kernel is {}", kernel.signature()));
    let mut given: Vec<Option<Value>> = params.iter().map(|_| None).collect();
    for (name, value) in arguments {
        let index = param_index(kernel, &name).ok_or_else(|| {
            let near = hostwarp::isa::near(&name, params.iter().map(|p| p.name.as_str()));
            let hint = near.first().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            wrong(format!("there is no parameter `{name}`{hint}"))
        })?;
        if given[index].replace(value).is_some() {
            return Err(wrong(format!("parameter `{}` is given twice", params[index].name)));
        }
    }
    let missing: Vec<_> = params
        .iter()
        .zip(&given)
        .filter(|(_, g)| g.is_none())
        .map(|(p, _)| format!("`{}`", p.name))
        .collect();
    if !missing.is_empty() {
        let (s, are) = if missing.len() == 1 { ("", "is") } else { ("s", "are") };
        return Err(wrong(format!("parameter{s} {} {are} missing", missing.join(", "))));
    }

    let (mut made, mut args): Params = (vec![], vec![]);
    let mut aliases = vec![];
    for (p, value) in params.iter().zip(given.into_iter().flatten()) {
        let bytes = match value {
            Value::Alias(to, offset) if p.ty.bits() == 64 && !p.array => {
                aliases.push((p, to, offset));
                continue;
            }
            Value::Number(text) if !p.array && p.ty.bits() <= 64 => number::parse(&text, p.ty)
                .map(|bits| bits.to_le_bytes()[..p.size.min(8) as usize].to_vec())
                .map_err(|e| wrong(format!("parameter `{}`: {e}", p.name)))?,
            Value::Bytes(bytes) => bytes,
            Value::Array(_) | Value::File(..) if p.array => data(value)?.bytes,
            Value::Array(_) | Value::File(..) if p.ty.bits() == 64 => {
                let (buffer, ty, shape) = make_buffer(device, &p.name, value)?;
                let address = buffer.address().to_le_bytes().to_vec();
                let _held = limits::limits().hold(buffer.len() as u64)?;
                made.push(Made { name: p.name.clone(), ty, shape, buffer, _held });
                address
            }
            other => {
                return Err(wrong(format!("parameter `{}` {}, not {}", p.name, takes(p), other.describe())));
            }
        };
        if bytes.len() != p.size as usize {
            return Err(wrong(format!("parameter `{}` takes {} bytes, not {}", p.name, p.size, bytes.len())));
        }
        args.push((p.name.clone(), Arg::bytes(bytes)));
    }
    for (p, to, offset) in aliases {
        let of = param_index(kernel, &to).and_then(|i| made.iter().find(|m| m.name == params[i].name));
        let Some(of) = of else {
            return Err(wrong(format!(
                "parameter `{}`: `&{to}` names no buffer among the arguments",
                p.name
            )));
        };
        let address = of.buffer.address() + offset;
        args.push((p.name.clone(), Arg::bytes(address.to_le_bytes())));
    }
    Ok((made, args))
}

/// A buffer with its contents.
fn make_buffer(device: &Device, name: &str, value: Value) -> Result<(Buffer<u8>, Ty, Vec<usize>), Failure> {
    let Value::Array(array) = value else {
        let data = data(value)?;
        let buffer = device.buffer_named::<u8>(name, data.bytes.len())?;
        buffer.write(0, &data.bytes)?;
        return Ok((buffer, data.ty, data.shape));
    };
    let bytes = array.byte_len();
    let buffer = device.buffer_named::<u8>(name, bytes)?;
    if !array.is_zero() {
        let mut piece = vec![0; PIECE.min(bytes)];
        for at in (0..bytes).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(bytes - at)];
            poll_many(PIECE / 64);
            array.write(at / number::size(array.ty), piece);
            buffer.write(at, piece)?;
        }
    }
    Ok((buffer, array.ty, array.shape))
}

fn takes(p: &Param) -> String {
    match p.ty.bits() {
        _ if p.array => format!("takes {} bytes: hex:…, @FILE or an array", p.size),
        64 => format!("is {} and takes a number or a buffer", p.ty),
        128 => "is .b128 and takes 16 bytes: hex:…".to_string(),
        _ => format!("is {} and takes a number (buffers need 64 bits for their address)", p.ty),
    }
}

fn data(value: Value) -> Result<Data, Failure> {
    match value {
        Value::Array(array) => array.data().map_err(Failure::launch),
        Value::File(ty, path) => Data::read(ty, &path),
        other => Err(Failure::launch(format!("an array or a file is wanted, not {}", other.describe()))),
    }
}

/// A parameter by name, or by position: no PTX name begins with a digit.
fn param_index(kernel: &Kernel, name: &str) -> Option<usize> {
    let params = kernel.params();
    let by_name = params.iter().position(|p| p.name == name);
    by_name.or_else(|| name.parse().ok().filter(|i| *i < params.len()))
}

fn set_symbol(module: &Module, name: &str, value: Value, made: &[Made]) -> Result<(), Failure> {
    let symbol = module.symbol(name)?;
    let width = number::size(symbol.ty);
    let bytes = match value {
        Value::Number(text) if symbol.ty.bits() <= 64 => {
            let bits = number::parse(&text, symbol.ty)
                .map_err(|e| Failure::launch(format!("variable `{name}`: {e}")))?;
            bits.to_le_bytes()[..width].to_vec()
        }
        Value::Bytes(bytes) => bytes,
        Value::Alias(to, offset) => match made.iter().find(|m| m.name == to) {
            Some(m) => (m.buffer.address() + offset).to_le_bytes().to_vec(),
            None => return Err(Failure::launch(format!("variable `{name}`: `&{to}` names no buffer"))),
        },
        other => data(other)?.bytes,
    };
    Ok(module.write_symbol(name, &bytes)?)
}

/// A wrong `--out` is said before a long run, not after it.
fn check_outs(
    outs: &[(&str, &Path)],
    kernel: &Kernel,
    module: &Module,
    made: &[Made],
) -> Result<(), Failure> {
    for (name, path) in outs {
        match name.strip_prefix("sym:") {
            Some(symbol) => {
                module.symbol(symbol)?;
            }
            None => {
                let param = param_index(kernel, name).map(|i| kernel.params()[i].name.as_str());
                if !made.iter().any(|m| Some(m.name.as_str()) == param) {
                    let all: Vec<_> = made.iter().map(|m| format!("`{}`", m.name)).collect();
                    return Err(Failure::launch(format!(
                        "--out: `{name}` is no buffer; there is {}",
                        all.join(", ")
                    )));
                }
            }
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|f| !f.is_dir()) {
            return Err(Failure::input(format!("--out: there is no folder `{}`", folder.display())));
        }
    }
    Ok(())
}

fn find_out(name: &str, kernel: &Kernel, module: &Module, made: &[Made]) -> Result<Data, Failure> {
    if let Some(symbol) = name.strip_prefix("sym:") {
        let ty = module.symbol(symbol)?.ty;
        let ty = if number::ELEMENTS.contains(&ty) { ty } else { Ty::U8 };
        let bytes = module.read_symbol(symbol)?;
        return Ok(Data { ty, shape: vec![bytes.len() / number::size(ty)], bytes });
    }
    let param = param_index(kernel, name).map(|i| kernel.params()[i].name.as_str());
    let found = made.iter().find(|m| Some(m.name.as_str()) == param);
    found.ok_or_else(|| Failure::launch(format!("--out: `{name}` is no buffer")))?.data()
}

/// Shows how far a long run is, where somebody can see it.
fn run_with_progress(launch: LaunchBuilder<'_>, json: bool) -> Result<Report, hostwarp::Error> {
    if json || !std::io::stderr().is_terminal() {
        return launch.run();
    }
    let bar = Bar::new();
    let report = launch.progress(&|done, all| bar.show(done, all)).run();
    bar.clear();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions() {
        assert_eq!(dims("4").unwrap().0, [4, 1, 1]);
        assert_eq!(dims("4,2,3").unwrap().0, [4, 2, 3]);
        assert_eq!(dims("4x2").unwrap().0, [4, 2, 1]);
        assert!(dims("1,2,3,4").is_err());
        assert!(dims("-1").is_err());
        assert!(dims("").is_err());
    }
}
