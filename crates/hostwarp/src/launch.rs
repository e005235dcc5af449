//! Launches.

use crate::buffer::Owned;
use crate::code::{Codes, Compiled, NotMade};
use crate::jit::llvm::{wait_at_end, wait_for_first_use};
use crate::jit::{KernelText, Speculation};
use crate::module::Instrumented;
use crate::schedule::{Interp, Jit, Progress, RunCtas, run_grid};
use crate::tiers::{InTurns, Tiered, is_much};
use crate::watch::{self, Stats};
use crate::{Buffer, Error, Kernel, Pod, Stream};
use hostwarp_interp::{Exceeded, KernelFault, Launch, Limits, Observer, Program};
use hostwarp_ir::reshape::Reshape;
use hostwarp_isa::{Kind, Ty};
use hostwarp_plan::{Assume, may_split_warps};
use hostwarp_system::time::Instant;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Which engine runs a kernel. All give the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Engine {
    /// The interpreter at first, and the jit when it pays: once the interpreter has been at a kernel for a while the kernel is compiled in the background, if LLVM
    /// is found and takes it. A launch that is soon done never waits for a compiler.
    #[default]
    Auto,
    /// The reference engine.
    Interp,
    /// LLVM. The launch begins when the kernel is compiled: [quickly](Effort::Quick) at first, and with care when that has run for a while.
    Jit,
}

/// How much the jit's compiler does for a kernel. Never changes a bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Effort {
    /// Little: code for few lanes at once that is there in a few milliseconds. What it takes to run is about the same where memory is what
    /// takes time, and several times as much in loops of arithmetic.
    Quick,
    /// Enough for fast code.
    Best,
}

/// A kernel argument.
#[derive(Clone, Debug)]
pub struct Arg {
    bytes: Vec<u8>,
    /// The type it was given as; none for raw bytes.
    ty: Option<Ty>,
    /// The buffer whose address it is.
    memory: Option<Arc<Owned>>,
}

macro_rules! scalar_args {
    ($($rust:ty => $ty:ident),*) => {
        $(impl From<$rust> for Arg {
            fn from(v: $rust) -> Arg {
                Arg { bytes: v.to_le_bytes().to_vec(), ty: Some(Ty::$ty), memory: None }
            }
        })*
    };
}

scalar_args!(u8 => U8, i8 => S8, u16 => U16, i16 => S16, u32 => U32, i32 => S32, u64 => U64, i64 => S64, f32 => F32, f64 => F64);

impl<T: Pod> From<&Buffer<T>> for Arg {
    fn from(b: &Buffer<T>) -> Arg {
        let bytes = b.address().to_le_bytes().to_vec();
        Arg { bytes, ty: Some(Ty::U64), memory: Some(b.memory().clone()) }
    }
}

impl Arg {
    /// Raw bytes: for structures, or where the caller knows better.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Arg {
        Arg { bytes: bytes.into(), ty: None, memory: None }
    }
}

/// What a launch did.
#[derive(Clone, Debug)]
pub struct Report {
    /// The engine that ran it: the jit if compiled code had any part in it.
    pub engine: Engine,
    /// Why it was not the one `auto` would rather take.
    pub note: Option<String>,
    /// CTAs that began on the interpreter because there was no compiled code yet.
    pub interpreted: u64,
    /// Lanes in one vector, of the jit's code that was there at the end.
    pub width: Option<u32>,
    /// What that code was made with. While it is little, launches to come may be faster.
    pub effort: Option<Effort>,
    /// Whether compiled code came from the [cache](crate::DeviceBuilder::cache).
    pub cached: bool,
    /// Time to get the kernel ready; little when it was ready before.
    pub prepare: Duration,
    /// Time to run it.
    pub run: Duration,
    /// CTAs run.
    pub ctas: u64,
    /// What was executed, if that was [asked for](LaunchBuilder::stats).
    pub stats: Option<Stats>,
}

/// What [`LaunchBuilder::emit`] shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emit {
    /// The core IR, as engines get it.
    Ir,
    /// The core IR after a [pass](crate::passes), the `nth` time it is run.
    IrAfter {
        /// Its name.
        pass: &'static str,
        /// Counted from 1.
        nth: usize,
    },
    /// The plan.
    Plan,
    /// The vector IR: what is a scalar, what a vector, what is checked and where code is left.
    Vector,
    /// The LLVM IR.
    Llvm,
}

/// A launch being described. See [`Kernel::launch`].
///
/// ```
/// # fn main() -> Result<(), hostwarp::Error> {
/// let ptx = ".version 8.8 .target sm_90 .address_size 64
///     .visible .entry twice(.param .u64 data) {
///         .reg .b32 %r<4>; .reg .b64 %rd<4>;
///         ld.param.u64 %rd1, [data];
///         mov.u32 %r1, %tid.x;
///         mul.wide.u32 %rd2, %r1, 4;
///         add.u64 %rd3, %rd1, %rd2;
///         ld.global.u32 %r2, [%rd3];
///         add.u32 %r3, %r2, %r2;
///         st.global.u32 [%rd3], %r3;
///         ret;
///     }";
/// let device = hostwarp::Device::new()?;
/// let data = device.buffer_from(&[1u32, 2, 3, 4])?;
/// let kernel = device.load("twice.ptx", ptx)?.kernel("twice")?;
/// kernel.launch().block([4, 1, 1]).arg(&data).run()?;
/// assert_eq!(data.to_vec()?, [2, 4, 6, 8]);
/// # Ok(())
/// # }
/// ```
pub struct LaunchBuilder<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    block: Option<[u32; 3]>,
    shared: u32,
    args: Vec<(Option<String>, Arg)>,
    packed: Option<Vec<u8>>,
    pub(crate) engine: Engine,
    width: Option<u32>,
    exact: bool,
    speculation: Option<Speculation>,
    effort: Option<Effort>,
    turn: Option<u64>,
    threads: Option<usize>,
    fuel: Option<u64>,
    timeout: Option<Duration>,
    cancel: Option<Arc<AtomicBool>>,
    limits: Limits,
    progress: Option<&'a Progress<'a>>,
    cooperative: bool,
    as_launched: bool,
    pub(crate) watched: watch::Asked<'a>,
    pub(crate) schedule: Option<u64>,
    /// The module with the probes that takes.
    pub(crate) instrumented: Option<Arc<Instrumented>>,
    /// What is to be said of how that is done.
    pub(crate) note: Option<String>,
}

/// Bytes of the memory that CTAs of a cooperative launch meet in.
const WORKSPACE: u64 = 256;

/// Threads a CTA may have.
pub const MAX_CTA_THREADS: u64 = 1024;
/// Bytes of shared memory a CTA may have: what sm_90 allows.
pub const MAX_SHARED: u64 = 227 * 1024;
/// Bytes of local memory a thread may have: what CUDA allows on all GPUs.
pub const MAX_LOCAL: u64 = 512 * 1024;

impl<'a> LaunchBuilder<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> LaunchBuilder<'a> {
        LaunchBuilder {
            kernel,
            grid: [1; 3],
            block: None,
            shared: 0,
            args: vec![],
            packed: None,
            engine: Engine::Auto,
            width: None,
            exact: false,
            speculation: None,
            effort: None,
            turn: None,
            threads: None,
            fuel: None,
            timeout: None,
            cancel: None,
            limits: Limits::new(),
            progress: None,
            cooperative: false,
            as_launched: false,
            watched: watch::Asked::default(),
            schedule: None,
            instrumented: None,
            note: None,
        }
    }

    /// CTAs along x, y and z; one unless set.
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Threads of a CTA along x, y and z; what `.reqntid` says, or one, unless set.
    pub fn block(mut self, block: [u32; 3]) -> Self {
        self.block = Some(block);
        self
    }

    /// Bytes of dynamic shared memory.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// The next argument, in the order of the parameters.
    pub fn arg(mut self, arg: impl Into<Arg>) -> Self {
        self.args.push((None, arg.into()));
        self
    }

    /// An argument by parameter name.
    pub fn arg_named(mut self, name: &str, arg: impl Into<Arg>) -> Self {
        self.args.push((Some(name.to_string()), arg.into()));
        self
    }

    /// All parameters as they lie in memory, instead of [arguments](LaunchBuilder::arg).
    pub fn packed(mut self, block: impl Into<Vec<u8>>) -> Self {
        self.packed = Some(block.into());
        self
    }

    /// Which engine.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Whether the jit's code relies on what nearly always holds; unless set it does until that turns out not to hold. Never changes a bit. With
    /// [`Speculation::On`] the interpreter does the rest, however much it is.
    pub fn speculation(mut self, speculation: Speculation) -> Self {
        self.speculation = Some(speculation);
        self
    }

    /// How much the jit's compiler is to do; little at first and more when it pays unless set. Never changes a bit.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Lanes in one vector of the jit: 8, 16, 32, 64, 128, 256 or 512; chosen by the kernel and the launch unless set. Never changes a bit: a width
    /// that could is replaced by the nearest that cannot. Below 32 that is where lanes of a warp see what others store or load.
    pub fn width(mut self, lanes: u32) -> Self {
        self.width = Some(lanes);
        self
    }

    /// As [`width`](Self::width), even where lanes of a warp could see each other's accesses in another order. For tests of code for few lanes.
    #[doc(hidden)]
    pub fn exact_width(mut self, lanes: u32) -> Self {
        self.exact = true;
        self.width(lanes)
    }

    /// With [`Engine::Jit`]: CTAs change between the engines after about so many instructions. For tests of that.
    #[doc(hidden)]
    pub fn in_turns(mut self, instructions: u64) -> Self {
        self.turn = Some(instructions.max(1));
        self
    }

    /// In the CTAs that are asked for, also where others would suit vectors better. For tests of that.
    #[doc(hidden)]
    pub fn as_launched(mut self) -> Self {
        self.as_launched = true;
        self
    }

    /// Threads that run CTAs; the device's number unless set. A launch of few instructions takes only the caller's, unless this is more than
    /// the device's number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// What the launch may take: getting the kernel ready counts, and what others do within the same limits. [`fuel`](Self::fuel), [`timeout`](Self::timeout) and
    /// [`cancel`](Self::cancel) of the launch itself take the place of theirs.
    pub fn limits(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self
    }

    /// Stops the launch after about so many instructions, counted once per warp.
    pub fn fuel(mut self, instructions: u64) -> Self {
        self.fuel = Some(instructions);
        self
    }

    /// Stops the launch after this time. Getting the kernel ready counts.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Stops the launch when this becomes true.
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Called with the number of CTAs done and all, from the threads that run them.
    pub fn progress(mut self, progress: &'a Progress<'a>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Launches all CTAs at once, so that they can wait for each other: what barriers for the whole grid (`grid.sync()` of CUDA's cooperative groups) need.
    /// Each CTA takes memory of its own until it is done, so grids should not be much larger than those of a device.
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Runs the kernel and waits for it.
    pub fn run(self) -> Result<Report, Error> {
        let block = self.check()?;
        let params = self.params()?;
        let module = self.kernel.module().clone();
        self.run_checked(block, &params).map_err(|e| module.located(e))
    }

    /// What [`LaunchBuilder::run`] would refuse before it begins.
    pub fn verify(&self) -> Result<(), Error> {
        self.check()?;
        self.params().map(drop)
    }

    /// Queues the launch on a stream and returns. What is wrong with the launch itself is said here, what the kernel does wrong by the stream.
    pub fn run_on(self, stream: &Stream) -> Result<(), Error> {
        let block = self.check()?;
        let params = self.params()?;
        if self.progress.is_some() {
            return Err(Error::launch("a launch on a stream cannot report its progress"));
        }
        if self.watched.stats || self.watched.trace.is_some() {
            return Err(Error::launch("a launch on a stream cannot be traced or counted"));
        }
        let (strict, schedule) = (self.watched.strict, self.schedule);
        let kernel = self.kernel.clone();
        let held: Vec<Arc<Owned>> = self.args.iter().filter_map(|(_, arg)| arg.memory.clone()).collect();
        let LaunchBuilder {
            grid,
            shared,
            engine,
            width,
            exact,
            speculation,
            effort,
            turn,
            threads,
            fuel,
            timeout,
            cooperative,
            as_launched,
            ..
        } = self;
        let cancel = self.cancel;
        stream.enqueue(move || {
            let again = LaunchBuilder {
                grid,
                block: Some(block),
                shared,
                engine,
                width,
                exact,
                speculation,
                effort,
                turn,
                threads,
                fuel,
                timeout,
                cancel,
                cooperative,
                as_launched,
                watched: watch::Asked { strict, ..Default::default() },
                schedule,
                ..LaunchBuilder::new(&kernel)
            };
            let ran = again.run_checked(block, &params);
            drop(held);
            ran.map(drop)
        });
        Ok(())
    }

    fn run_checked(mut self, block: [u32; 3], params: &[u8]) -> Result<Report, Error> {
        let began = Instant::now();
        let limits = self.all_limits();
        self.instrument(block, &limits)?;
        let prepared = limits.within(|| -> Result<_, Error> {
            let dealt = self.deal(block)?;
            Ok((dealt, self.prepare(dealt, &limits)?))
        });
        let (dealt, ready) = prepared.map_err(|e| self.over(e))??;
        let prepare = began.elapsed();
        let module = self.kernel.module();
        let device = module.device();
        let mut launch = Launch::new(&ready.program, device.memory(), dealt.grid, dealt.block);
        launch.nctaid = self.grid;
        launch.set_params(params);
        launch.constant = module.constants();
        launch.dynamic_shared = self.shared;
        launch.globals_base = module.globals_base();
        launch.grid_id = device.next_launch();
        let print = |text: &[u8]| device.print(text);
        launch.printer = Some(&print);
        launch.heap = Some(device.heap());
        // Freed when the launch ends, however it does.
        let workspace = match self.cooperative {
            true => Some(device.buffer_named::<u8>("the workspace of the grid", WORKSPACE as usize)?),
            false => None,
        };
        launch.grid_workspace = workspace.as_ref().map_or(0, Buffer::address);
        launch.limits = limits;
        let watch = Self::watch(self.watched, &self.instrumented, self.shape(block));
        launch.observer = watch.as_ref().map(|watch| watch as &dyn Observer);
        launch.schedule = self.schedule;
        let threads = (device.kept_threads(), self.threads.unwrap_or(device.threads()));
        let began = Instant::now();
        let ctas = self.grid.iter().fold(1, |n: u64, d| n.saturating_mul((*d).into()));
        let scaled = self.progress.map(|told| {
            move |done: u64, all: u64| {
                let done = u128::from(done) * u128::from(ctas) / u128::from(all.max(1));
                told(done as u64, ctas)
            }
        });
        let progress = scaled.as_ref().map(|scaled| scaled as &Progress<'_>);
        let run = |engine: &dyn RunCtas| run_grid(&launch, engine, threads, progress);
        if !matches!(ready.code, Code::Interp(_)) {
            // It may be this thread that ends the process while others compile.
            wait_at_end();
        }
        let (mut jit, mut note, mut interpreted) = (None, None, 0);
        // A trace is told to its end, whatever that is.
        let ran = (|| -> Result<(), Error> {
            match &ready.code {
                Code::Interp(why) => {
                    run(&Interp)?;
                    note = why.as_ref().map(|not_made| not_made.why.clone());
                }
                Code::Jit(codes, compiled) => {
                    // Who asks for one version gets that, and who asks for little effort no more.
                    let effort = self.choose_effort();
                    let may_deoptimise = self.speculation.is_none() && effort != Some(Effort::Quick);
                    let mut engine = Jit::new(codes, compiled, may_deoptimise);
                    if effort.is_none() {
                        engine = engine.climbing(0);
                    }
                    let ran = match self.turn {
                        Some(turn) => run(&InTurns::new(codes, effort, turn)),
                        None => run(&engine),
                    };
                    jit = Some(engine.finish());
                    ran?;
                }
                Code::Later(codes) => {
                    let tiered = Tiered::new(codes, &launch);
                    let ran = run(&tiered);
                    let (ended, begun) = tiered.finish();
                    (jit, interpreted) = (ended.map(Jit::finish), begun);
                    ran?;
                    note = codes.now().and_then(|made| Some(made.as_ref().err()?.why.clone()));
                }
            }
            Ok(())
        })();
        // Whoever waits for this launch may end the process next.
        wait_for_first_use();
        let stats = watch.as_ref().and_then(watch::Watch::finish);
        ran.map_err(|e| dealt.as_launched(e))?;
        let note = self.note.or(note);
        Ok(Report {
            engine: if jit.is_some() { Engine::Jit } else { Engine::Interp },
            note,
            interpreted,
            width: jit.map(|compiled| compiled.kernel.width()),
            effort: jit.map(|compiled| compiled.effort),
            cached: jit.is_some_and(|compiled| compiled.cached),
            prepare,
            run: began.elapsed(),
            ctas,
            stats,
        })
    }

    /// The fault of a launch that has reached a limit before its first CTA.
    fn over(&self, exceeded: Exceeded) -> Error {
        let (kind, kernel) = (exceeded.into(), self.kernel.name().to_string());
        Error::Fault(Box::new(KernelFault { kind, kernel, line: 0, file: None, cta: [0; 3], thread: None }))
    }

    fn all_limits(&self) -> Limits {
        let mut limits = self.limits.clone();
        if let Some(fuel) = self.fuel {
            limits = limits.with_fuel(fuel);
        }
        if let Some(timeout) = self.timeout {
            limits = limits.with_timeout(timeout);
        }
        if let Some(cancel) = &self.cancel {
            limits = limits.with_cancel(cancel.clone());
        }
        limits
    }

    /// What the kernel looks like on its way, for this launch.
    pub fn emit(mut self, what: Emit) -> Result<String, Error> {
        let limit = Error::limit("while the kernel was made ready");
        let block = self.check()?;
        let limits = self.all_limits();
        self.instrument(block, &limits)?;
        limits.within(|| self.text(what)).map_err(limit)?
    }

    fn text(&self, what: Emit) -> Result<String, Error> {
        let dealt = self.deal(self.check()?)?;
        let width = self.choose_width(dealt)?;
        let mut program = self.program(dealt, width)?;
        if self.width.is_none() && KernelText::check(&program).is_err() {
            // As a launch would.
            program = self.program(dealt, 32)?;
        }
        match what {
            Emit::Ir => Ok(program.func().to_string()),
            Emit::IrAfter { pass, nth } => {
                let mut func = crate::module::linked(self.compiled())?;
                hostwarp_ir::passes::lower_up_to(&mut func, pass, nth).map_err(Error::launch)?;
                Ok(func.to_string())
            }
            Emit::Plan => Ok(program.plan().to_string()),
            Emit::Vector => {
                let kernel = KernelText::vector(&program, program.plan().assume, self.speculates());
                Ok(kernel.map_err(|e| Error::launch(e.to_string()))?.to_string())
            }
            Emit::Llvm => {
                let target = self.kernel.module().device().target().map_err(|why| self.no_jit(why))?;
                let text = KernelText::new(&program, &target, self.speculates());
                let text = text.map_err(|e| self.no_jit(e.to_string()))?;
                Ok(text.text().to_string())
            }
        }
    }

    fn check(&self) -> Result<[u32; 3], Error> {
        let limits = &self.kernel.compiled().limits;
        let block = self.block.or(limits.required_cta).unwrap_or([1; 3]);
        let show = |v: [u32; 3]| format!("{}×{}×{}", v[0], v[1], v[2]);
        let threads: u128 = block.iter().map(|n| u128::from(*n)).product();
        if block.contains(&0) || self.grid.contains(&0) {
            return Err(Error::launch(format!(
                "grid {} and block {} must be at least 1 in every direction",
                show(self.grid),
                show(block)
            )));
        }
        if threads > MAX_CTA_THREADS.into() || block[2] > 64 {
            return Err(Error::launch(format!(
                "a block of {} has {threads} threads; at most {MAX_CTA_THREADS} are allowed, at most 64 along z",
                show(block)
            )));
        }
        if self.grid[0] > i32::MAX as u32 || self.grid[1] > 65535 || self.grid[2] > 65535 {
            return Err(Error::launch(format!(
                "a grid of {} is too large: at most 2147483647×65535×65535 CTAs are allowed",
                show(self.grid)
            )));
        }
        if let Some(required) = limits.required_cta.filter(|r| *r != block) {
            return Err(Error::launch(format!(
                "the kernel requires blocks of {} (.reqntid), not {}",
                show(required),
                show(block)
            )));
        }
        if let Some(max) = limits.max_cta {
            let most: u128 = max.iter().map(|n| u128::from((*n).max(1))).product();
            if threads > most {
                return Err(Error::launch(format!(
                    "the kernel allows {most} threads in a block (.maxntid), not {threads}"
                )));
            }
        }
        let shared = u64::from(self.kernel.compiled().info.declared_shared()) + u64::from(self.shared);
        if shared > MAX_SHARED {
            return Err(Error::launch(format!(
                "{shared} bytes of shared memory are wanted; a block has at most {MAX_SHARED}"
            )));
        }
        let local = u64::from(self.kernel.compiled().info.local_bytes);
        if local > MAX_LOCAL {
            return Err(Error::launch(format!(
                "a thread wants {local} bytes of local memory; it has at most {MAX_LOCAL}"
            )));
        }
        Ok(block)
    }

    /// The parameter block.
    fn params(&self) -> Result<Vec<u8>, Error> {
        let params = self.kernel.params();
        if let Some(packed) = &self.packed {
            let wanted = self.kernel.compiled().info.param_bytes as usize;
            if !self.args.is_empty() || packed.len() < wanted {
                return Err(Error::launch(format!(
                    "{} bytes of parameters are given, the kernel takes {wanted}\n  the kernel is {}",
                    packed.len(),
                    self.kernel.signature()
                )));
            }
            return Ok(packed[..wanted].to_vec());
        }
        let mut block = vec![0; self.kernel.compiled().info.param_bytes as usize];
        let mut given = vec![false; params.len()];
        let mut next = 0;
        let wrong =
            |text: String| Error::launch(format!("{text}\n  the kernel is {}", self.kernel.signature()));
        for (name, arg) in &self.args {
            let index = match name {
                Some(name) => params.iter().position(|p| p.name == *name).ok_or_else(|| {
                    let near = hostwarp_isa::near(name, params.iter().map(|p| p.name.as_str()));
                    let hint = near.first().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                    wrong(format!("there is no parameter `{name}`{hint}"))
                })?,
                None => {
                    while given.get(next) == Some(&true) {
                        next += 1;
                    }
                    next
                }
            };
            let Some(p) = params.get(index) else {
                return Err(wrong(format!(
                    "{} arguments are given, the kernel takes {}",
                    self.args.len(),
                    params.len()
                )));
            };
            if std::mem::replace(&mut given[index], true) {
                return Err(wrong(format!("parameter `{}` is given twice", p.name)));
            }
            if arg.memory.as_ref().is_some_and(|m| !m.device.is(self.kernel.module().device())) {
                // Its address may be that of something else here.
                return Err(wrong(format!("the buffer for parameter `{}` is on another device", p.name)));
            }
            let fits = match arg.ty {
                None => true,
                Some(_) if p.array => false,
                Some(ty) => {
                    ty.bits() == p.ty.bits()
                        && (p.ty.kind() == Kind::Bits || ty.is_float() == p.ty.is_float())
                }
            };
            if !fits || arg.bytes.len() != p.size as usize {
                let got = arg.ty.map_or(format!("{} bytes", arg.bytes.len()), |t| t.to_string());
                let want = if p.array { format!("{} bytes", p.size) } else { p.ty.to_string() };
                return Err(wrong(format!("parameter `{}` takes {want}, not {got}", p.name)));
            }
            block[p.offset as usize..p.offset as usize + arg.bytes.len()].copy_from_slice(&arg.bytes);
        }
        match given.iter().position(|g| !g) {
            Some(missing) => Err(wrong(format!("parameter `{}` is missing", params[missing].name))),
            None => Ok(block),
        }
    }

    /// How the threads are dealt out: anew if the kernel lets nobody see it and nobody watches.
    fn deal(&self, block: [u32; 3]) -> Result<Dealt, Error> {
        let watched = self.instrumented.is_some() || self.schedule.is_some();
        let as_asked = Dealt { grid: self.grid, block, reshape: None };
        if watched || self.as_launched || self.cooperative || self.shared != 0 {
            return Ok(as_asked);
        }
        let Some(how) = Reshape::of(self.grid, block) else { return Ok(as_asked) };
        Ok(match self.cache().lock().can_be_reshaped(self.compiled(), how)? {
            true => Dealt { grid: how.new_grid(self.grid), block: how.new_block(), reshape: Some(how) },
            false => as_asked,
        })
    }

    /// Planned for groups of so many lanes.
    fn program(&self, dealt: Dealt, lanes: u32) -> Result<Arc<Program>, Error> {
        self.cache().lock().program(self.compiled(), dealt.reshape, dealt.assume(lanes))
    }

    /// Whether the first code to be made relies on anything.
    fn speculates(&self) -> Speculation {
        self.speculation.unwrap_or(Speculation::On)
    }

    /// Lanes in one vector, asked for or by the cost model.
    fn choose_width(&self, dealt: Dealt) -> Result<u32, Error> {
        match self.width {
            // The order in which lanes of a warp see each other's memory is part of the result.
            Some(w @ (8 | 16)) if !self.exact => {
                let program = self.program(dealt, 32)?;
                return Ok(if may_split_warps(program.func()) { w } else { 32 });
            }
            Some(w @ (8 | 16 | 32 | 64 | 128 | 256 | 512)) => {
                // Groups of several warps must be whole.
                let warps = dealt.block.iter().product::<u32>().div_ceil(32);
                return Ok(if w > 32 { w.min(32 << warps.trailing_zeros().min(4)) } else { w });
            }
            Some(w) => {
                return Err(Error::launch(format!(
                    "a width of {w} lanes is not possible: 8, 16, 32, 64, 128, 256 or 512"
                )));
            }
            None => {}
        }
        let program = self.program(dealt, 32)?;
        let target = self.kernel.module().device().target();
        Ok(KernelText::width(&program, dealt.block, target.as_ref().ok()))
    }

    fn prepare(&self, dealt: Dealt, limits: &Limits) -> Result<Ready, Error> {
        let (engine, speculation, effort) = (self.engine, self.speculation, self.choose_effort());
        let width = self.width.map(|width| (width, self.exact));
        let Dealt { block, reshape, .. } = dealt;
        let numbers_fit = dealt.assume(32).numbers_fit;
        let asked = Asked { engine, block, reshape, numbers_fit, width, speculation, effort };
        if let Some(ready) = self.cache().lock().ready.get(&asked).filter(|ready| ready.is_current(effort)) {
            return Ok(ready.clone());
        }
        let ready = self.make_ready(dealt, limits)?;
        self.cache().lock().ready.insert(asked, ready.clone());
        Ok(ready)
    }

    fn make_ready(&self, dealt: Dealt, limits: &Limits) -> Result<Ready, Error> {
        let interp = |not_made: Option<NotMade>| -> Result<Ready, Error> {
            let program = self.program(dealt, 32)?;
            Ok(Ready { program, code: Code::Interp(not_made) })
        };
        if self.engine == Engine::Interp {
            return interp(None);
        }
        let mut width = self.choose_width(dealt)?;
        loop {
            let program = self.program(dealt, width)?;
            let key = (dealt.reshape, dealt.assume(width), self.speculates());
            let make = || Codes::new(self.kernel.module().device(), &program, self.speculates());
            let codes = self.cache().lock().jit.entry(key).or_insert_with(make).clone();
            let compiled = || {
                let (codes, effort) = (codes.clone(), self.choose_effort());
                let much = is_much(&program, dealt.threads());
                let get = move || effort.map_or_else(|| codes.get(much), |effort| codes.asked(effort));
                wait_at_end();
                // LLVM does not stop when it is asked to. What it makes is for later launches then.
                limits.detached("hostwarp compiles", get).map_err(|e| self.over(e))
            };
            let made = match KernelText::check(&program) {
                Err(why) => Some(Err(NotMade::from(why))),
                Ok(()) if self.engine == Engine::Jit || self.is_choosy() => Some(compiled()?),
                Ok(()) => codes.now().cloned(),
            };
            match made {
                None => return Ok(Ready { program, code: Code::Later(codes) }),
                Some(Ok(compiled)) => return Ok(Ready { program, code: Code::Jit(codes, compiled) }),
                // A kernel whose lanes talk to each other needs exactly the warp in one vector.
                Some(Err(why)) if !why.passing && width != 32 && self.width.is_none() => width = 32,
                Some(Err(why)) if self.engine == Engine::Jit => {
                    return Err(self.no_jit(why.why));
                }
                Some(Err(why)) => return interp(Some(why)),
            }
        }
    }

    /// The jit was asked for and cannot.
    fn no_jit(&self, why: String) -> Error {
        let (kernel, what) = (self.kernel.name().into(), format!("the jit cannot run this kernel: {why}"));
        Error::Unsupported { kernel, line: 0, what }
    }

    /// How much the compiler is to do, if that is said.
    fn choose_effort(&self) -> Option<Effort> {
        let default = || self.kernel.module().device().effort().filter(|_| self.engine == Engine::Jit);
        self.effort.or_else(default)
    }

    /// Whether something was asked for that only the jit has.
    fn is_choosy(&self) -> bool {
        self.width.is_some() || self.speculation.is_some() || self.effort.is_some()
    }
}

/// How the threads of a launch are dealt out.
#[derive(Clone, Copy, Debug)]
struct Dealt {
    grid: [u32; 3],
    block: [u32; 3],
    /// If that is not as asked for.
    reshape: Option<Reshape>,
}

impl Dealt {
    /// What code may take for granted in groups of so many lanes.
    fn assume(&self, lanes: u32) -> Assume {
        Assume::for_block(self.block, lanes).for_grid(self.grid)
    }

    fn threads(&self) -> u64 {
        self.grid.iter().chain(&self.block).fold(1, |all: u64, n| all.saturating_mul((*n).into()))
    }

    /// An error in the numbers of CTAs and threads as launched.
    fn as_launched(&self, error: Error) -> Error {
        match (error, self.reshape) {
            (Error::Fault(mut fault), Some(how)) => {
                let (cta, thread) = how.place(fault.cta, fault.thread.unwrap_or_default());
                (fault.cta, fault.thread) = (cta, fault.thread.map(|_| thread));
                Error::Fault(fault)
            }
            (other, _) => other,
        }
    }
}

/// What of a launch decides on how its kernel is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Asked {
    engine: Engine,
    block: [u32; 3],
    reshape: Option<Reshape>,
    numbers_fit: bool,
    /// Whether exactly this one.
    width: Option<(u32, bool)>,
    speculation: Option<Speculation>,
    effort: Option<Effort>,
}

/// A kernel ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    program: Arc<Program>,
    code: Code,
}

/// What runs it.
#[derive(Clone, Debug)]
enum Code {
    /// The interpreter, and why not the jit.
    Interp(Option<NotMade>),
    /// Compiled code, and what else there can be of it.
    Jit(Arc<Codes>, Compiled),
    /// The interpreter until there is compiled code.
    Later(Arc<Codes>),
}

impl Ready {
    /// Whether there is no more known than when it was made for who asks for this effort.
    fn is_current(&self, effort: Option<Effort>) -> bool {
        match &self.code {
            Code::Interp(not_made) => not_made.as_ref().is_none_or(|why| !why.passing),
            _ if effort.is_some() => true,
            Code::Jit(codes, compiled) => compiled.effort == Effort::Best || !codes.is_best(),
            Code::Later(codes) => codes.now().is_none(),
        }
    }
}
