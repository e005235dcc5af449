//! Compiled kernels: made, kept, run.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{self, AtomicU32, AtomicU64};
use std::sync::{Arc, RwLock};

use hostwarp_interp::{Cta, KernelFault, KernelFaultKind, Launch, Outcome, Program, Runner, WARP};
use hostwarp_ir::{BarrierKind, Block, Term};
use hostwarp_plan::{Assume, Shape};
use hostwarp_vector::Speculation;

use crate::abi::{self, Ctx, Entry};
use crate::callbacks;
use crate::lanes::{self, Lanes};
use crate::llvm::{CompileError, Llvm, Object, Tier};
use crate::object::{LoadError, Loaded};
use crate::print::{self, Unsupported};
use crate::target::Target;

/// The most bytes of stack that compiled code may take, half of what a thread has: whoever runs code that takes more ends the process.
pub(crate) const MOST_STACK: u64 = 1 << 20;

/// Why there is no compiled kernel. The interpreter runs it instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JitError {
    /// The kernel does something that compiled code does not.
    Unsupported(String),
    /// LLVM made no object.
    Compile(CompileError),
    /// The object cannot be loaded.
    Load(LoadError),
}

impl JitError {
    /// Whether the system lacked something that it may have another time.
    pub fn is_passing(&self) -> bool {
        match self {
            JitError::Unsupported(_) => false,
            JitError::Compile(error) => error.stage == crate::llvm::Stage::Thread,
            JitError::Load(error) => matches!(error, LoadError::Memory(_)),
        }
    }
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JitError::Unsupported(what) => write!(f, "not compiled: {what}"),
            JitError::Compile(error) => error.fmt(f),
            JitError::Load(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JitError {}

impl From<Unsupported> for JitError {
    fn from(Unsupported(what): Unsupported) -> JitError {
        JitError::Unsupported(what)
    }
}

fn refused(hostwarp_vector::Unsupported(why): hostwarp_vector::Unsupported) -> JitError {
    JitError::Unsupported(why)
}

/// A kernel as LLVM IR, not compiled yet. Making it takes no LLVM, so its [text](KernelText::text), the [`Target`] and the
/// [`Tier`] together are the key under which a compiled object can be kept.
pub struct KernelText {
    program: Arc<Program>,
    pub(crate) assume: Assume,
    target: Target,
    speculation: Speculation,
    text: String,
    pub(crate) sites: Vec<(Block, usize)>,
    stops: Vec<bool>,
    masked: Vec<bool>,
    shapes: Vec<Shape>,
    distances: Vec<Option<Arc<[i64]>>>,
    general: Option<hostwarp_vector::General>,
}

impl fmt::Debug for KernelText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelText").field("kernel", &self.program.func().name).finish_non_exhaustive()
    }
}

impl KernelText {
    /// Says why a kernel cannot be compiled, as far as that can be seen without writing it.
    pub fn check(program: &Program) -> Result<(), JitError> {
        let plan = program.plan();
        // What is alive at once lies on the stack, all or nearly all of it; LLVM takes minutes to find out.
        if u64::from(plan.frame.bytes) * u64::from(plan.assume.group) > MOST_STACK {
            let why = "too much is kept at once, which a smaller width may help";
            return Err(JitError::Unsupported(why.into()));
        }
        hostwarp_vector::covers(program.func(), plan, plan.assume).map_err(refused)
    }

    /// Writes the kernel for groups of `program.plan().assume.group` lanes.
    pub fn new(
        program: &Arc<Program>,
        target: &Target,
        speculation: Speculation,
    ) -> Result<KernelText, JitError> {
        KernelText::in_groups_of(program.plan().assume.group, program, target, speculation)
    }

    /// Writes the kernel for groups of so many lanes, if the plan's are wider: LLVM has less to do then, and others can go on with a CTA in the groups of the plan.
    pub fn in_groups_of(
        lanes: u32,
        program: &Arc<Program>,
        target: &Target,
        speculation: Speculation,
    ) -> Result<KernelText, JitError> {
        KernelText::check(program)?;
        let (func, assume) = (program.func(), program.plan().assume.in_groups_of(lanes));
        let vector = KernelText::vector(program, assume, speculation)?;
        let text = print::print(&vector, func, assume, target)?;
        let mut stops = vec![false; func.blocks.len()];
        for (b, _) in &vector.entries {
            stops[b.index()] = true;
        }
        Ok(KernelText {
            program: program.clone(),
            assume,
            target: target.clone(),
            speculation,
            text,
            sites: vector.sites,
            stops,
            masked: vector.partial,
            shapes: vector.shapes,
            distances: vector.distances,
            general: vector.general,
        })
    }

    /// Lanes in a group, by the cost model of the vector IR.
    pub fn width(program: &Program, block: [u32; 3], target: Option<&Target>) -> u32 {
        let (count, bits) = target.map_or((32, 512), |t| (t.vector_registers(), t.vector_bits));
        let registers = hostwarp_vector::Registers { count, bits };
        hostwarp_vector::width(program.func(), program.plan(), block, registers)
    }

    /// The kernel in vector IR.
    pub fn vector(
        program: &Program,
        assume: Assume,
        speculation: Speculation,
    ) -> Result<hostwarp_vector::Kernel, JitError> {
        let kernel =
            hostwarp_vector::lower(program.func(), program.plan(), assume, speculation).map_err(refused)?;
        if cfg!(debug_assertions) {
            hostwarp_vector::verify(&kernel)
                .unwrap_or_else(|wrong| panic!("vector IR came out wrong: {wrong}"));
        }
        Ok(kernel)
    }

    /// The LLVM IR.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The CPU it is for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Compiles it.
    pub fn compile(self, llvm: Llvm, tier: &Tier) -> Result<JitKernel, JitError> {
        let object = llvm.compile(&self.text, &self.target, tier).map_err(JitError::Compile)?;
        self.load(object)
    }

    /// Loads an object that was compiled from the same text for the same target before.
    ///
    /// The machine code cannot be checked: whoever kept the object vouches for it.
    pub fn load(self, object: Object) -> Result<JitKernel, JitError> {
        let host = Target::host().ok_or(JitError::Load(LoadError::WrongArch))?;
        if !self.target.runs_on(&host) {
            return Err(JitError::Unsupported(format!("code for {} does not run here", self.target)));
        }
        let loaded = Loaded::new(&object.0).map_err(JitError::Load)?;
        let find = |name: &str| {
            let missing = || JitError::Load(LoadError::Malformed(format!("it does not define `{name}`")));
            loaded.get(name).ok_or_else(missing)
        };
        // SAFETY: every text we write defines it with this signature, and an object is one of such a text.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(find("kernel")?) };
        let KernelText {
            program,
            assume,
            text,
            sites,
            stops,
            masked,
            shapes,
            distances,
            general,
            speculation,
            ..
        } = self;
        let plain = |term: &Term| match term {
            Term::Barrier { kind, .. } => *kind == BarrierKind::Sync,
            _ => true,
        };
        let in_one_go = program.func().blocks.iter().all(|b| plain(&b.term));
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Ok(JitKernel {
            number: NUMBERS.fetch_add(1, atomic::Ordering::Relaxed),
            program,
            assume,
            text,
            sites,
            stops,
            masked,
            shapes,
            distances,
            general,
            object,
            entry,
            speculation,
            handed_over: AtomicU32::new(0),
            in_one_go,
            tids: RwLock::default(),
            _loaded: loaded,
        })
    }
}

/// `tid.x`, `.y` and `.z` of every lane of a CTA of some size.
struct Tids {
    block: [u32; 3],
    axes: [Vec<u32>; 3],
}

/// A compiled kernel, ready to run on any thread.
pub struct JitKernel {
    /// No other has it.
    number: u64,
    program: Arc<Program>,
    /// What holds of its groups.
    pub(crate) assume: Assume,
    text: String,
    pub(crate) sites: Vec<(Block, usize)>,
    stops: Vec<bool>,
    masked: Vec<bool>,
    /// How values lie in the frame where only the first lane's is written.
    pub(crate) shapes: Vec<Shape>,
    /// How far lanes are from each other in values that the frame has for each of them, where code relies on that.
    pub(crate) distances: Vec<Option<Arc<[i64]>>>,
    /// The general version, if what is said above is so of a converged one only.
    general: Option<hostwarp_vector::General>,
    object: Object,
    entry: Entry,
    speculation: Speculation,
    /// CTAs that were left to the interpreter.
    handed_over: AtomicU32,
    /// Whether compiled code can go from group to group and from CTA to CTA by itself: what it tells the engine on the way is told just
    /// before it stops.
    in_one_go: bool,
    tids: RwLock<Option<Arc<Tids>>>,
    /// What `entry` points into.
    _loaded: Loaded,
}

impl fmt::Debug for JitKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JitKernel").field("kernel", &self.program.func().name).finish_non_exhaustive()
    }
}

/// Instructions a group may run before the others get their turn, and limits are looked at.
const SLICE: i64 = 1 << 22;

/// What the callbacks work on during a call. Shared with whoever makes the call, hence the cells.
pub(crate) struct Engine<'a> {
    pub(crate) kernel: &'a JitKernel,
    pub(crate) launch: &'a Launch<'a>,
    /// For [`Run::cta`] between calls and for callbacks during calls.
    pub(crate) cta: *mut Cta,
    /// Lanes of the group that have stopped somewhere.
    pub(crate) parked: Cell<Lanes>,
    pub(crate) fault: Cell<Option<Box<KernelFault>>>,
}

impl JitKernel {
    /// Writes and compiles a kernel.
    pub fn compile(
        program: &Arc<Program>,
        llvm: Llvm,
        target: &Target,
        tier: &Tier,
        speculation: Speculation,
    ) -> Result<JitKernel, JitError> {
        KernelText::new(program, target, speculation)?.compile(llvm, tier)
    }

    /// Whether it takes anything for granted.
    pub fn speculation(&self) -> Speculation {
        self.speculation
    }

    /// Lanes in one of its groups.
    pub fn width(&self) -> u32 {
        self.assume.group
    }

    /// What holds of its groups.
    pub(crate) fn assume(&self) -> &Assume {
        &self.assume
    }

    /// Who has run a CTA that this has run.
    pub fn runner(&self) -> Runner {
        Runner::Code(self.number)
    }

    /// CTAs that it has left to the interpreter so far.
    pub fn handed_over(&self) -> u32 {
        self.handed_over.load(atomic::Ordering::Relaxed)
    }

    /// The LLVM IR it was made from.
    pub fn llvm_text(&self) -> &str {
        &self.text
    }

    /// The compiled object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The kernel and its plan.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Whether the kernel may run this launch: it is of the same program, and what the plan took for granted holds.
    pub fn fits(&self, launch: &Launch<'_>) -> bool {
        let assume = self.program.plan().assume;
        let is = Assume::for_block(launch.block, assume.group).for_grid(launch.grid);
        std::ptr::eq(Arc::as_ptr(&self.program), launch.program)
            && (!assume.contiguous_x || is.contiguous_x && is.rows == assume.rows)
            && (assume.cta.is_none() || is.cta == assume.cta)
            && (!assume.whole || is.whole)
            && (!assume.numbers_fit || is.numbers_fit)
            && assume.block.is_none_or(|block| block == launch.block)
            && launch.param.len() >= self.program.func().info.param_bytes as usize
    }

    /// Runs `count` CTAs from number `first` on, one after the other in the room of `cta`, with a budget of about so many instructions
    /// (counted once per group). Answers how many are done and, if not all, what became of the one after them, which `cta` then is.
    pub fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        count: u64,
        budget: u64,
    ) -> (u64, Outcome) {
        let mut done = 0;
        while done < count {
            cta.reset(launch, launch.cta_index(first + done));
            let outcome = if self.in_one_go && self.suits(launch, cta) {
                let (more, outcome) = self.go(launch, cta, first + done, count - done, budget);
                done += more;
                outcome
            } else {
                self.run(launch, cta, budget)
            };
            match outcome {
                Outcome::Done => done = (done + 1).min(count),
                other => return (done, other),
            }
        }
        (done, Outcome::Done)
    }

    /// Goes on with a CTA until it is done, faults, or has run about `budget` instructions (counted once per group). Where lanes have
    /// come apart in a way that compiled code cannot go on from, the interpreter takes over.
    pub fn run(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        if !self.suits(launch, cta) {
            return self.interpret(launch, cta, budget);
        }
        self.with_run(launch, cta, budget, |run| run.run_to_the_end())
    }

    /// Whether there is code that begins at the start of a block.
    pub(crate) fn starts_at(&self, b: Block) -> bool {
        self.stops[b.index()]
    }

    /// How a group may go on at the start of a block, as a mark in the block to start at: in the version of the code for which all that lanes need lies as that
    /// relies on, the converged one first. `checked` if that is so of the first anyhow.
    pub(crate) fn version(
        &self,
        cta: &mut Cta,
        lane0: u32,
        (live, whole): (Lanes, bool),
        at: Block,
        checked: bool,
    ) -> Option<u32> {
        if !self.starts_at(at) {
            return None;
        }
        let first = (&self.shapes[..], &self.distances[..]);
        if (whole || self.masked[at.index()]) && (checked || self.is_as_planned(cta, lane0, live, at, first))
        {
            return Some(0);
        }
        let general = self.general.as_ref()?;
        let second = (&general.shapes[..], &general.distances[..]);
        ((whole || general.partial[at.index()]) && self.is_as_planned(cta, lane0, live, at, second))
            .then_some(abi::GENERAL)
    }

    /// Whether compiled code can go on with a CTA.
    fn suits(&self, launch: &Launch<'_>, cta: &Cta) -> bool {
        (cta.runner == Runner::Nobody || cta.runner == self.runner()) && self.has_room(launch, cta)
    }

    /// Whether a CTA is one of this program, with room for all that compiled code writes.
    pub(crate) fn has_room(&self, launch: &Launch<'_>, cta: &Cta) -> bool {
        let lanes = launch.lanes() as usize;
        let plan = self.program.plan();
        let frame = plan.frame.bytes as usize * lanes;
        self.fits(launch)
            && cta.lanes() == lanes
            && lanes.is_multiple_of(plan.assume.group as usize)
            && cta.frame.len() >= frame
    }

    /// From a CTA that has just been reset, as far as compiled code gets, and then to the end of the CTA it got to. Answers how many
    /// were done before that one.
    fn go(&self, launch: &Launch<'_>, cta: &mut Cta, first: u64, count: u64, budget: u64) -> (u64, Outcome) {
        self.with_run(launch, cta, budget, |run| {
            let (done, step) = run.many(Block::ENTRY.0, first, count);
            let outcome = match step {
                Step::Done => Outcome::Done,
                Step::Fault(fault) => Outcome::Fault(fault),
                Step::Split => run.interpret(),
                _ => run.run_to_the_end(),
            };
            (done, outcome)
        })
    }

    fn with_run<T>(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        budget: u64,
        with: impl FnOnce(&mut Run<'_>) -> T,
    ) -> T {
        let tids = self.tids(launch);
        cta.runner = self.runner();
        let mut ctx = context(launch, cta, &tids);
        let engine =
            Engine { kernel: self, launch, cta, parked: Cell::new(Lanes::NONE), fault: Cell::new(None) };
        ctx.engine = (&raw const engine).cast();
        let mut run = Run {
            engine: &engine,
            ctx: &mut ctx,
            width: self.assume.group,
            left: i64::try_from(budget).unwrap_or(i64::MAX).max(1),
            converged: vec![],
        };
        with(&mut run)
    }

    fn interpret(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        if cta.runner != Runner::Interp {
            self.handed_over.fetch_add(1, atomic::Ordering::Relaxed);
        }
        hostwarp_interp::run(launch, cta, budget)
    }

    fn tids(&self, launch: &Launch<'_>) -> Arc<Tids> {
        let made = self.tids.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if let Some(tids) = made.filter(|tids| tids.block == launch.block) {
            return tids;
        }
        let mut axes = [vec![], vec![], vec![]];
        for lane in 0..launch.lanes() {
            let index = launch.thread_index(lane);
            for (axis, i) in axes.iter_mut().zip(index) {
                axis.push(i);
            }
        }
        let tids = Arc::new(Tids { block: launch.block, axes });
        *self.tids.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(tids.clone());
        tids
    }
}

/// What running a group came to.
enum Step {
    /// No lane can go on.
    Idle,
    Ran,
    /// All lanes of the CTA have exited.
    Done,
    /// Its lanes are where compiled code cannot go on: at different blocks, and not because it stopped there, or in a place it has no
    /// code for.
    Split,
    Fault(Box<KernelFault>),
}

/// A CTA being run.
struct Run<'a> {
    engine: &'a Engine<'a>,
    ctx: &'a mut Ctx,
    width: u32,
    /// Of the budget.
    left: i64,
    /// Groups whose lanes stopped all at once. Lanes of others may have come to the same barrier in different iterations of a loop around it: what is uniform
    /// in an iteration need not be the same for them.
    converged: Vec<bool>,
}

impl Run<'_> {
    /// The CTA. It borrows the run, so that there is one reference at a time and none during a call of compiled code, which has the run
    /// for itself.
    fn cta(&mut self) -> &mut Cta {
        // SAFETY: `JitKernel::with_run` has the CTA for itself and made the pointer from its own reference, which it does not use
        // while there is a run. The only other way to it are callbacks, which have it during calls.
        unsafe { &mut *self.engine.cta }
    }

    /// What a group is given at once.
    fn slice(&self) -> i64 {
        if self.left > 0 { SLICE.min(self.left) } else { SLICE }
    }

    /// Lanes of a group as bits.
    fn all_lanes(&self) -> Lanes {
        Lanes::first(self.width)
    }

    /// Lanes of a group that are threads of the CTA.
    fn threads_of(&self, lane0: u32) -> Lanes {
        Lanes::first(self.engine.launch.threads().saturating_sub(lane0).min(self.width))
    }

    /// What is kept of each group.
    fn count_groups(&mut self) {
        let groups = (self.engine.launch.lanes() / self.width) as usize;
        self.converged.resize(groups, false);
    }

    /// Leaves the CTA to the interpreter.
    fn interpret(&mut self) -> Outcome {
        let left = u64::try_from(self.left).unwrap_or(0).max(1);
        let (kernel, launch) = (self.engine.kernel, self.engine.launch);
        kernel.interpret(launch, self.cta(), left)
    }

    fn run_to_the_end(&mut self) -> Outcome {
        let launch = self.engine.launch;
        self.count_groups();
        loop {
            if let Some(at) = self.round_start() {
                let number = self.cta_number();
                match self.many(at, number, 1).1 {
                    Step::Done => self.exit_all(),
                    Step::Fault(fault) => return Outcome::Fault(fault),
                    Step::Split => return self.interpret(),
                    Step::Idle | Step::Ran => {}
                }
            }
            let mut ran = false;
            for lane0 in (0..launch.lanes()).step_by(self.width as usize) {
                if self.left <= 0 {
                    break;
                }
                match self.group(lane0) {
                    Step::Idle => {}
                    Step::Ran | Step::Done => ran = true,
                    Step::Split => return self.interpret(),
                    Step::Fault(fault) => return Outcome::Fault(fault),
                }
            }
            if self.cta().is_done() {
                return Outcome::Done;
            }
            if self.left <= 0 {
                return Outcome::Yield;
            } else if !ran {
                return Outcome::Fault(Box::new(self.cta().deadlock(launch)));
            }
        }
    }

    /// The place all groups of the CTA are at, if compiled code can go on from there with one after the other.
    fn round_start(&mut self) -> Option<u32> {
        let (launch, kernel) = (self.engine.launch, self.engine.kernel);
        let threads = launch.threads();
        let at = Block(*self.cta().pc.first()?);
        if !kernel.in_one_go || self.left <= 0 || at == Block::ENTRY || !kernel.starts_at(at) {
            return None;
        }
        if self.cta().pc[..threads as usize].iter().any(|pc| *pc != at.0) {
            return None;
        }
        for lane0 in (0..threads).step_by(self.width as usize) {
            let lanes = self.threads_of(lane0);
            if self.lanes_of(lane0) != (lanes, lanes) {
                return None;
            }
            let checked = self.converged[(lane0 / self.width) as usize];
            let whole = lanes == self.all_lanes();
            if kernel.version(self.cta(), lane0, (lanes, whole), at, checked) != Some(0) {
                return None;
            }
        }
        self.converged.fill(false);
        Some(at.0 | abi::BRIEF)
    }

    /// The lanes of a group that can go on, and those that have not exited.
    fn lanes_of(&mut self, lane0: u32) -> (Lanes, Lanes) {
        let (mut ready, mut live) = (Lanes::NONE, Lanes::NONE);
        let warps = (lane0 / WARP) as usize..(lane0 + self.width).div_ceil(WARP) as usize;
        for (n, warp) in self.cta().warps()[warps].iter().enumerate() {
            ready.add_warp(lane0, n, warp.ready);
            live.add_warp(lane0, n, warp.live);
        }
        (ready & self.all_lanes(), live & self.all_lanes())
    }

    fn cta_number(&mut self) -> u64 {
        let ([x, y, z], [nx, ny, _]) =
            (self.cta().index.map(u64::from), self.engine.launch.grid.map(u64::from));
        (z * ny + y) * nx + x
    }

    fn exit_all(&mut self) {
        for lane0 in (0..self.engine.launch.threads()).step_by(self.width as usize) {
            let lanes = self.threads_of(lane0);
            self.ended(lane0, lanes, abi::EXITED);
        }
    }

    /// Runs CTAs from a place on that all groups of the first are at, without looking at single groups as long as all of a CTA go the same way. Answers
    /// how many are done, and where the one after them is.
    fn many(&mut self, start: u32, first: u64, count: u64) -> (u64, Step) {
        let launch = self.engine.launch;
        let ctas = u32::try_from(count).unwrap_or(u32::MAX);
        let given = self.left;
        (self.ctx.many, self.ctx.ctas, self.ctx.fuel) = (1, ctas, given);
        let last = (launch.threads() - 1) / self.width * self.width;
        self.ctx.active = self.threads_of(last);
        self.engine.parked.set(Lanes::NONE);
        let frame = self.cta().frame.as_mut_ptr();
        let whole = u32::from(launch.threads() >= self.width);
        // SAFETY: as for a single group, below. The CTAs are all there, and all their groups of lanes.
        let status = unsafe { (self.engine.kernel.entry)(self.ctx, frame, 0, start, whole) };
        self.ctx.many = 0;
        let done = u64::from(ctas - self.ctx.ctas);
        let spent = given - self.ctx.fuel;
        self.left = self.ctx.fuel;
        self.cta().index = launch.cta_index(first + done.min(count - 1));
        let over = launch.spend(u64::try_from(spent).unwrap_or(0)).err();
        if status == abi::DONE {
            // No thread is anywhere any more.
            return match over {
                None => (done, Step::Done),
                Some(kind) => (done, Step::Fault(Box::new(self.cta().fault(launch, kind, 0, None)))),
            };
        }
        // From here on single groups matter: those before this one have come to the end of the round, those after it are at its start.
        let (at, came_to) = (self.ctx.lane0, self.ctx.round_from);
        let (round, brief) = (Block(self.ctx.round & !abi::BRIEF), self.ctx.round & abi::BRIEF != 0);
        for lane0 in (0..launch.lanes()).step_by(self.width as usize) {
            let lanes = self.threads_of(lane0);
            match lane0.cmp(&at) {
                Ordering::Less => self.ended(lane0, lanes, came_to),
                Ordering::Equal if matches!(status, abi::MIXED | abi::YIELD) => {
                    self.ended(lane0, lanes, self.ctx.from);
                }
                Ordering::Equal => {}
                Ordering::Greater => {
                    let cta = self.cta();
                    lanes.each_warp(lane0, |warp, lanes| cta.set_pc(warp, lanes, round));
                    if brief {
                        self.fill_in(lane0, round);
                    }
                }
            }
        }
        if matches!(status, abi::MIXED | abi::YIELD) {
            return match over {
                None => (done, Step::Ran),
                Some(kind) => (done, Step::Fault(Box::new(self.cta().stopped(launch, kind)))),
            };
        }
        self.count_groups();
        // What it spent is counted already.
        let step = self.after(at, self.threads_of(at), status, 0);
        (done, step)
    }

    /// Lanes of a group have come to barrier 0 at the end of `from`, or have exited.
    fn ended(&mut self, lane0: u32, lanes: Lanes, from: u32) {
        if from == abi::EXITED {
            let cta = self.cta();
            lanes.each_warp(lane0, |warp, lanes| cta.exit(warp, lanes));
        } else {
            self.arrive(lane0, lanes, Block(from));
        }
    }

    /// Fills in the frame for a group that left it in [brief](abi::BRIEF).
    fn fill_in(&mut self, lane0: u32, to: Block) {
        let (func, plan) = (self.engine.launch.program.func(), self.engine.launch.program.plan());
        let kernel = self.engine.kernel;
        let assume = kernel.assume;
        for v in &plan.live_in[to.index()] {
            let stride = match kernel.shapes[v.index()] {
                Shape::Uniform => 0,
                Shape::Affine { stride, .. } => stride,
                Shape::Varying => continue,
            };
            if let Some(slot) = plan.frame.slot[v.index()] {
                let lanes = (lane0, assume.group);
                self.cta().spread_out(slot, func.ty(*v).bytes(), lanes, assume.row(), stride);
            }
        }
    }

    /// Lanes of a whole group wait at barrier 0, at the end of `from`, for all threads.
    fn arrive(&mut self, lane0: u32, lanes: Lanes, from: Block) {
        let launch = self.engine.launch;
        if let Term::Barrier { kind, next, .. } = &launch.program.func().block(from).term {
            self.fill_in(lane0, next.block);
            let cta = self.cta();
            lanes.each_warp(lane0, |warp, lanes| {
                // Barrier 0 always exists.
                let _ = cta.arrive(warp, lanes, *kind, 0, None, from, next.block);
            });
        }
    }

    /// Runs the lanes of a group that can go on, once.
    fn group(&mut self, lane0: u32) -> Step {
        let width = self.width;
        let (ready, live) = self.lanes_of(lane0);
        if ready.is_empty() {
            return Step::Idle;
        }
        // Lanes that wait elsewhere will run the same blocks later, and what is uniform in those that run together need not be the same then.
        if ready != live {
            return Step::Split;
        }
        let mut pcs = [0; lanes::MOST as usize];
        let here = &self.cta().pc[lane0 as usize..(lane0 + width) as usize];
        pcs[..here.len()].copy_from_slice(here);
        let pc = |lane: u32| pcs[lane as usize];
        let block = pc(ready.lowest());
        let together = ready.iter().all(|lane| pc(lane) == block);
        if !together || !self.engine.kernel.stops[block as usize] {
            return Step::Split;
        }
        let converged = std::mem::take(&mut self.converged[(lane0 / self.width) as usize]);
        let whole = ready == self.all_lanes();
        let mut version = 0;
        if block != Block::ENTRY.0 {
            let kernel = self.engine.kernel;
            match kernel.version(self.cta(), lane0, (ready, whole), Block(block), converged) {
                Some(found) => version = found,
                None => return Step::Split,
            }
        }
        let start = if block == Block::ENTRY.0 { block } else { block | abi::BRIEF | version };
        if !whole && !self.engine.kernel.masked[block as usize] && version == 0 {
            return Step::Split;
        }
        let given = self.slice();
        self.ctx.fuel = given;
        self.engine.parked.set(Lanes::NONE);
        self.ctx.active = ready;
        let whole = u32::from(whole);
        let frame = self.cta().frame.as_mut_ptr();
        // SAFETY: the code was made for this program by `print`, which checks every address it does not take from the context;
        // the context describes this launch and CTA and outlives the call; the frame has room for all lanes of the plan's frame
        // (checked in `JitKernel::run`); `start` is a place that the code starts at.
        let status = unsafe { (self.engine.kernel.entry)(self.ctx, frame, lane0, start, whole) };
        self.after(lane0, ready, status, given - self.ctx.fuel)
    }

    /// What follows from the status that a group came back with.
    fn after(&mut self, lane0: u32, active: Lanes, status: u32, spent: i64) -> Step {
        let launch = self.engine.launch;
        let fault = self.engine.fault.take();
        if fault.is_some() || status == abi::FAULT {
            let unknown = || {
                let kind = KernelFaultKind::Unsupported("a fault of compiled code without a cause".into());
                Box::new(self.cta().fault(launch, kind, 0, None))
            };
            return Step::Fault(fault.unwrap_or_else(unknown));
        }
        if status == abi::AT_BARRIER {
            self.engine.parked.set(active);
            self.arrive(lane0, active, Block(self.ctx.from));
        }
        // All together, or else it would have said where each lane is.
        let stopped = matches!(status, abi::BUDGET | abi::WAITS) && self.engine.parked.get().is_empty();
        self.converged[(lane0 / self.width) as usize] = stopped || status == abi::AT_BARRIER;
        if status == abi::HANDED || stopped {
            let at = Block(self.ctx.from);
            self.fill_in(lane0, at);
            self.engine.parked.set(active);
            let cta = self.cta();
            active.each_warp(lane0, |warp, lanes| cta.set_pc(warp, lanes, at));
        }
        let exited = active & !self.engine.parked.get();
        let cta = self.cta();
        exited.each_warp(lane0, |warp, lanes| cta.exit(warp, lanes));
        self.left -= spent.max(1);
        let instructions = u64::try_from(spent).unwrap_or(0) + launch.program.func().inst_count() as u64;
        match launch.spend(instructions) {
            Ok(()) if matches!(status, abi::HANDED | abi::HANDED_APART) => Step::Split,
            Ok(()) => Step::Ran,
            Err(kind) => Step::Fault(Box::new(self.cta().stopped(launch, kind))),
        }
    }
}

fn context(launch: &Launch<'_>, cta: &mut Cta, tids: &Tids) -> Ctx {
    let local_stride = cta.memory.local.stride() as u64;
    Ctx {
        global: launch.device.raw_view(),
        param: launch.param.as_ptr(),
        param_len: launch.param.len() as u64,
        constant: launch.constant.as_ptr(),
        constant_len: launch.constant.len() as u64,
        shared: cta.memory.shared.as_mut_ptr(),
        shared_len: cta.memory.shared.len() as u64,
        local: cta.memory.local.as_mut_ptr(),
        local_len: cta.memory.local.per_lane() as u64,
        local_stride,
        lanes: u64::from(launch.lanes()),
        tid: [tids.axes[0].as_ptr(), tids.axes[1].as_ptr(), tids.axes[2].as_ptr()],
        ctaid: cta.index,
        ntid: launch.block,
        nctaid: launch.nctaid,
        grid: launch.grid,
        nwarpid: launch.warps(),
        nsmid: 1,
        dynamic_shared: launch.dynamic_shared,
        total_shared: launch.total_shared(),
        grid_id: launch.grid_id,
        globals_base: launch.globals_base,
        grid_workspace: launch.grid_workspace,
        fuel: 0,
        active: Lanes::NONE,
        many: 0,
        threads: launch.threads(),
        ctas: 1,
        lane0: 0,
        round: Block::ENTRY.0,
        round_from: abi::EXITED,
        from: abi::EXITED,
        windows: std::ptr::null(),
        callbacks: callbacks::ALL,
        engine: std::ptr::null(),
    }
}
