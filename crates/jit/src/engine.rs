//! Compiled kernels: made, kept, run.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use hostwarp_interp::{Cta, KernelFault, KernelFaultKind, Launch, Outcome, Program};
use hostwarp_ir::{Block, Term, TrapKind};
use hostwarp_plan::Assume;

use crate::abi::{self, AllGroups, Callbacks, Ctx, Entry};
use crate::emit::{self, Unsupported};
use crate::llvm::{CompileError, Llvm, Object, Tier};
use crate::object::{LoadError, Loaded};
use crate::slow::{self, Lanes};
use crate::target::Target;

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

/// A kernel as LLVM IR, not compiled yet. Making it takes no LLVM, so its [text](KernelText::text), the [`Target`] and the
/// [`Tier`] together are the key under which a compiled object can be kept.
pub struct KernelText {
    program: Arc<Program>,
    target: Target,
    text: String,
    sites: Vec<(Block, usize)>,
}

impl fmt::Debug for KernelText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelText").field("kernel", &self.program.func().name).finish_non_exhaustive()
    }
}

impl KernelText {
    /// Writes the kernel for groups of `program.plan().assume.group` lanes.
    pub fn new(program: &Arc<Program>, target: &Target) -> Result<KernelText, JitError> {
        let emitted = emit::emit(program.func(), program.plan(), target)?;
        Ok(KernelText {
            program: program.clone(),
            target: target.clone(),
            text: emitted.text,
            sites: emitted.sites,
        })
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
        // SAFETY: every text we write defines these with these signatures, and an object is one of such a text.
        let (entry, all_groups) = unsafe {
            (
                std::mem::transmute::<*const u8, Entry>(find("kernel")?),
                std::mem::transmute::<*const u8, AllGroups>(find("groups")?),
            )
        };
        let KernelText { program, text, sites, .. } = self;
        let has_barrier = program.func().blocks.iter().any(|b| matches!(b.term, Term::Barrier { .. }));
        Ok(JitKernel {
            program,
            text,
            sites,
            object,
            entry,
            all_groups,
            has_barrier,
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
    program: Arc<Program>,
    text: String,
    sites: Vec<(Block, usize)>,
    object: Object,
    entry: Entry,
    all_groups: AllGroups,
    has_barrier: bool,
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
struct Engine<'a> {
    kernel: &'a JitKernel,
    launch: &'a Launch<'a>,
    cta: *mut Cta,
    /// Lanes of the group that have stopped somewhere.
    parked: Cell<u64>,
    fault: Cell<Option<Box<KernelFault>>>,
}

impl JitKernel {
    /// Writes and compiles a kernel.
    pub fn compile(
        program: &Arc<Program>,
        llvm: Llvm,
        target: &Target,
        tier: &Tier,
    ) -> Result<JitKernel, JitError> {
        KernelText::new(program, target)?.compile(llvm, tier)
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
        std::ptr::eq(Arc::as_ptr(&self.program), launch.program)
            && (!assume.contiguous_x || Assume::for_block(launch.block, assume.group).contiguous_x)
            && launch.param.len() >= self.program.func().info.param_bytes as usize
    }

    /// Runs a CTA until it is done, faults, or has run about `budget` instructions (counted once per group). Where lanes have
    /// come apart in a way that compiled code cannot go on from, the interpreter takes over.
    pub fn run(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        let lanes = launch.lanes() as usize;
        let frame = self.program.plan().frame.bytes as usize * lanes;
        if cta.interpreted || !self.fits(launch) || cta.lanes() != lanes || cta.frame.len() < frame {
            return self.interpret(launch, cta, budget);
        }
        let tids = self.tids(launch);
        let engine = Engine { kernel: self, launch, cta, parked: Cell::new(0), fault: Cell::new(None) };
        let mut ctx = context(launch, engine.cta, &tids);
        ctx.engine = (&raw const engine).cast();
        let mut run = Run {
            engine: &engine,
            ctx: &mut ctx,
            width: self.program.plan().assume.group,
            left: i64::try_from(budget).unwrap_or(i64::MAX).max(1),
            apart: vec![0; lanes / self.program.plan().assume.group as usize],
            masks: vec![0; self.program.func().blocks.len()],
        };
        if run.is_fresh() {
            match if self.has_barrier { run.rounds() } else { run.all_groups() } {
                Step::Fault(fault) => return Outcome::Fault(fault),
                Step::Done => return Outcome::Done,
                _ => {}
            }
        }
        run.run_to_the_end()
    }

    fn interpret(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        cta.interpreted = true;
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
    /// Its lanes are at different blocks, and not because compiled code stopped there.
    Split,
    Fault(Box<KernelFault>),
}

/// What [`Run::rounds`] knows of a group.
#[derive(Clone, Copy)]
struct Group {
    lane0: u32,
    /// Lanes that there are.
    started: u64,
    /// Lanes that have not exited.
    active: u64,
    /// Where they go on.
    block: u32,
    /// The block they wait in, at its barrier.
    from: Option<Block>,
}

/// A CTA being run.
struct Run<'a> {
    engine: &'a Engine<'a>,
    ctx: &'a mut Ctx,
    width: u32,
    /// Of the budget.
    left: i64,
    /// Lanes of each group that ran out of budget, perhaps at several blocks. They go on as they were: values that are the same
    /// in all lanes stay so only if none goes on without the others.
    apart: Vec<u64>,
    /// For each block the lanes there, of the group about to go on.
    masks: Vec<u64>,
}

impl Run<'_> {
    /// The CTA. Only between calls: then the pointer is the only way to it.
    #[allow(clippy::mut_from_ref)] // the reference comes from a raw pointer, not from `self`
    fn cta(&self) -> &mut Cta {
        // SAFETY: `JitKernel::run` has the CTA for itself and got the pointer from its own reference; callbacks use it only
        // during calls, and no reference made here is kept across one.
        unsafe { &mut *self.engine.cta }
    }

    /// What a group is given at once.
    fn slice(&self) -> i64 {
        if self.left > 0 { SLICE.min(self.left) } else { SLICE }
    }

    /// Whether no lane has done anything yet.
    fn is_fresh(&self) -> bool {
        let cta = self.cta();
        let threads = self.engine.launch.threads();
        let ready: u32 = cta.warps().iter().map(|w| w.ready.count_ones()).sum();
        ready == threads && cta.pc.iter().all(|pc| *pc == Block::ENTRY.0)
    }

    fn run_to_the_end(&mut self) -> Outcome {
        let launch = self.engine.launch;
        loop {
            let mut ran = false;
            for lane0 in (0..launch.lanes()).step_by(self.width as usize) {
                // Once the budget is used up only those go on that cannot be left as they are.
                if self.left <= 0 && self.apart[(lane0 / self.width) as usize] == 0 {
                    continue;
                }
                match self.group(lane0) {
                    Step::Idle => {}
                    Step::Ran | Step::Done => ran = true,
                    Step::Split => {
                        let left = u64::try_from(self.left).unwrap_or(0).max(1);
                        return self.engine.kernel.interpret(launch, self.cta(), left);
                    }
                    Step::Fault(fault) => return Outcome::Fault(fault),
                }
            }
            let cta = self.cta();
            if cta.is_done() {
                return Outcome::Done;
            }
            if self.left <= 0 {
                if self.apart.iter().all(|lanes| *lanes == 0) {
                    return Outcome::Yield;
                }
            } else if !ran {
                return Outcome::Fault(Box::new(cta.deadlock(launch)));
            }
        }
    }

    /// Runs every group from the entry once.
    fn all_groups(&mut self) -> Step {
        let kernel = self.engine.kernel;
        let frame = self.cta().frame.as_mut_ptr();
        let (mut reached, given) = (0, self.slice());
        self.engine.parked.set(0);
        // SAFETY: as for a single group, below; `reached` is a local.
        let status = unsafe {
            (kernel.all_groups)(self.ctx, frame, self.engine.launch.threads(), given, &raw mut reached)
        };
        let threads = self.engine.launch.threads();
        if status == abi::DONE && reached >= threads {
            // What is left in the CTA no longer matters to anybody.
            let spent = kernel.program.func().inst_count() as u64 * u64::from(threads.div_ceil(self.width));
            return match self.engine.launch.limits.spend(spent) {
                Ok(()) => Step::Done,
                Err(kind) => Step::Fault(Box::new(self.cta().fault(self.engine.launch, kind, 0, None))),
            };
        }
        for lane0 in (0..reached).step_by(self.width as usize) {
            let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
            let group = (u64::MAX >> (64 - self.width)) as u32;
            self.cta().exit(warp, group << shift);
        }
        let group = u64::MAX >> (64 - self.width);
        let there = threads.saturating_sub(reached).min(self.width);
        let active = group >> (self.width - there);
        self.after(reached, active, status, given - self.ctx.fuel)
    }

    /// Lanes of a group wait at barrier 0, at the end of `from`, for all threads.
    fn arrive(&self, lane0: u32, lanes: u64, from: Block) {
        let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
        if let Term::Barrier { kind, next, .. } = &self.engine.launch.program.func().block(from).term {
            // Barrier 0 always exists.
            let _ = self.cta().arrive(warp, (lanes as u32) << shift, *kind, 0, None, from, next.block);
        }
    }

    /// Runs all groups from barrier to barrier, as long as whole groups come to barrier 0 or exit: then nothing needs to be said
    /// of single lanes. Anything else is put down in the CTA, and left to `run_to_the_end`.
    fn rounds(&mut self) -> Step {
        let (launch, width) = (self.engine.launch, self.width);
        let func = launch.program.func();
        let all = u64::MAX >> (64 - width);
        let threads = |lane0: u32| launch.threads().saturating_sub(lane0).min(width);
        let mut groups: Vec<Group> = (0..launch.lanes())
            .step_by(width as usize)
            .map(|lane0| {
                let n = threads(lane0);
                let active = if n == 0 { 0 } else { all >> (width - n) };
                Group { lane0, started: active, active, block: Block::ENTRY.0, from: None }
            })
            .collect();
        let frame = self.cta().frame.as_mut_ptr();
        let per_group = func.inst_count() as u64;
        loop {
            let (mut spent, given) = (0, self.slice());
            for g in 0..groups.len() {
                let Group { lane0, active, block, .. } = groups[g];
                if active == 0 {
                    continue;
                }
                self.ctx.fuel = given;
                self.engine.parked.set(0);
                // SAFETY: as for a single group, below.
                let status = unsafe { (self.engine.kernel.entry)(self.ctx, frame, lane0, block, active) };
                spent += given - self.ctx.fuel;
                match status {
                    abi::DONE => groups[g].active = 0,
                    abi::AT_BARRIER => groups[g].from = Some(Block(self.ctx.from)),
                    _ => {
                        self.put_down(&groups, Some(g));
                        return self.after(lane0, active, status, spent);
                    }
                }
            }
            let waiting = groups.iter().filter(|g| g.active != 0).count();
            self.left -= spent.max(1);
            if let Err(kind) = launch.limits.spend(spent.unsigned_abs() + per_group * waiting as u64) {
                return Step::Fault(Box::new(self.cta().fault(launch, kind, 0, None)));
            }
            if waiting == 0 {
                return Step::Done;
            }
            // Whoever has not exited waits: all go on.
            for group in &mut groups {
                let from = group.from.take();
                if let Some(Term::Barrier { next, .. }) = from.map(|from| &func.block(from).term) {
                    group.block = next.block.0;
                }
            }
            if self.left <= 0 {
                self.put_down(&groups, None);
                return Step::Ran;
            }
        }
    }

    /// Says in the CTA what `rounds` knows of the groups, but for one whose call has just ended and did so itself.
    fn put_down(&self, groups: &[Group], but: Option<usize>) {
        for (g, group) in groups.iter().enumerate() {
            let (warp, shift) = ((group.lane0 / 32) as usize, group.lane0 % 32);
            let exited = group.started & !group.active;
            if exited != 0 {
                self.cta().exit(warp, (exited as u32) << shift);
            }
            if Some(g) == but || group.active == 0 {
                continue;
            }
            match group.from {
                Some(from) => self.arrive(group.lane0, group.active, from),
                None => self.cta().set_pc(warp, (group.active as u32) << shift, Block(group.block)),
            }
        }
    }

    /// Runs the lanes of a group that can go on, once.
    fn group(&mut self, lane0: u32) -> Step {
        let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
        let cta = self.cta();
        let ready = u64::from(cta.warps()[warp].ready >> shift) & (u64::MAX >> (64 - self.width));
        if ready == 0 {
            return Step::Idle;
        }
        let mut pcs = [0; 32];
        let here = &cta.pc[lane0 as usize..(lane0 + self.width) as usize];
        pcs[..here.len()].copy_from_slice(here);
        let pc = |lane: u32| pcs[lane as usize];
        let width = self.width;
        let lanes = || (0..width).filter(|lane| ready >> lane & 1 != 0);
        let mut block = pc(ready.trailing_zeros());
        let together = lanes().all(|lane| pc(lane) == block);
        if std::mem::take(&mut self.apart[(lane0 / self.width) as usize]) == ready && !together {
            self.masks.fill(0);
            for lane in lanes() {
                self.masks[pc(lane) as usize] |= 1 << lane;
            }
            block = abi::APART;
        } else if !together || !self.engine.launch.program.plan().suspends[block as usize] {
            return Step::Split;
        }
        let given = self.slice();
        self.ctx.fuel = given;
        self.ctx.masks = self.masks.as_ptr();
        self.engine.parked.set(0);
        let frame = self.cta().frame.as_mut_ptr();
        // SAFETY: the code was made for this program by `emit`, which checks every address it does not take from the context;
        // the context describes this launch and CTA and outlives the call; the frame has room for all lanes of the plan's frame
        // (checked in `JitKernel::run`); `block` is one that the code starts at.
        let status = unsafe { (self.engine.kernel.entry)(self.ctx, frame, lane0, block, ready) };
        self.after(lane0, ready, status, given - self.ctx.fuel)
    }

    /// What follows from the status that a group came back with.
    fn after(&mut self, lane0: u32, active: u64, status: u32, spent: i64) -> Step {
        let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
        let launch = self.engine.launch;
        let cta = self.cta();
        let fault = self.engine.fault.take();
        if fault.is_some() || status == abi::FAULT {
            let unknown = || {
                let kind = KernelFaultKind::Unsupported("a fault of compiled code without a cause".into());
                Box::new(cta.fault(launch, kind, 0, None))
            };
            return Step::Fault(fault.unwrap_or_else(unknown));
        }
        if status == abi::AT_BARRIER {
            self.engine.parked.set(active);
            self.arrive(lane0, active, Block(self.ctx.from));
        }
        let exited = active & !self.engine.parked.get();
        if exited != 0 {
            cta.exit(warp, (exited as u32) << shift);
        }
        if status == abi::BUDGET {
            self.apart[(lane0 / self.width) as usize] = self.engine.parked.get();
        }
        self.left -= spent.max(1);
        let instructions = u64::try_from(spent).unwrap_or(0) + launch.program.func().inst_count() as u64;
        match launch.limits.spend(instructions) {
            Ok(()) => Step::Ran,
            Err(kind) => Step::Fault(Box::new(self.cta().fault(launch, kind, 0, None))),
        }
    }
}

fn context(launch: &Launch<'_>, cta: *mut Cta, tids: &Tids) -> Ctx {
    // SAFETY: called before any call, when the pointer is the only way to the CTA.
    let cta = unsafe { &mut *cta };
    let func = launch.program.func();
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
        nctaid: launch.grid,
        nwarpid: launch.warps(),
        nsmid: 1,
        dynamic_shared: launch.dynamic_shared,
        total_shared: func.info.shared_bytes.saturating_add(launch.dynamic_shared),
        grid_id: launch.grid_id,
        globals_base: launch.globals_base,
        fuel: 0,
        from: 0,
        masks: std::ptr::null(),
        callbacks: Callbacks { memory, barrier, warp_sync, park, trap, clock },
        engine: std::ptr::null(),
    }
}

/// The engine behind a context, and its CTA.
///
/// # Safety
/// `ctx` is the context of a call in progress, as compiled code hands it to callbacks.
unsafe fn engine<'a>(ctx: *mut Ctx) -> (&'a Engine<'a>, &'a mut Cta) {
    // SAFETY: `run` keeps the engine and the CTA alive for the time of the call and does not touch the CTA meanwhile; callbacks
    // do not nest, so this is the only reference to it.
    unsafe {
        let engine = &*(*ctx).engine.cast::<Engine<'a>>();
        let cta = &mut *engine.cta;
        (engine, cta)
    }
}

unsafe extern "sysv64" fn memory(
    ctx: *mut Ctx,
    site: u32,
    lane0: u32,
    mask: u64,
    addresses: *const u64,
    data: *mut u8,
    compare: *const u8,
) -> u32 {
    // SAFETY: called by compiled code only.
    let (engine, cta) = unsafe { engine(ctx) };
    let func = engine.launch.program.func();
    let inst = engine.kernel.sites.get(site as usize).and_then(|(b, i)| func.block(*b).insts.get(*i));
    let Some(inst) = inst else { return 1 };
    let lanes = Lanes { first: lane0, mask, addresses, data, compare };
    // SAFETY: the code has put the addresses and data of the instruction's type of all lanes of the group there.
    match unsafe { slow::memory_op(engine.launch, cta, inst, &lanes) } {
        Ok(()) => 0,
        Err(fault) => {
            engine.fault.set(Some(fault));
            1
        }
    }
}

unsafe extern "sysv64" fn barrier(ctx: *mut Ctx, block: u32, lane0: u32, mask: u64, id: u32, count: u32) {
    // SAFETY: called by compiled code only.
    let (engine, cta) = unsafe { engine(ctx) };
    let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
    let data = engine.launch.program.func().block(Block(block));
    let Term::Barrier { kind, next, .. } = &data.term else { return };
    if *kind == hostwarp_ir::BarrierKind::Sync {
        engine.parked.set(engine.parked.get() | mask);
    }
    let count = (count != u32::MAX).then_some(count);
    let lanes = (mask as u32) << shift;
    if let Err(kind) = cta.arrive(warp, lanes, *kind, id, count, Block(block), next.block) {
        let thread = lane0 + mask.trailing_zeros();
        engine.fault.set(Some(Box::new(cta.fault(engine.launch, kind, data.term_line, Some(thread)))));
    }
}

unsafe extern "sysv64" fn warp_sync(ctx: *mut Ctx, block: u32, lane0: u32, mask: u64, named: u32) {
    // SAFETY: called by compiled code only.
    let (engine, cta) = unsafe { engine(ctx) };
    let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
    let Term::WarpSync { next, .. } = &engine.launch.program.func().block(Block(block)).term else { return };
    engine.parked.set(engine.parked.get() | mask);
    cta.warp_sync(warp, (mask as u32) << shift, named, Block(block), next.block);
}

unsafe extern "sysv64" fn park(ctx: *mut Ctx, block: u32, lane0: u32, mask: u64) {
    // SAFETY: called by compiled code only.
    let (engine, cta) = unsafe { engine(ctx) };
    let (warp, shift) = ((lane0 / 32) as usize, lane0 % 32);
    engine.parked.set(engine.parked.get() | mask);
    cta.set_pc(warp, (mask as u32) << shift, Block(block));
}

unsafe extern "sysv64" fn trap(ctx: *mut Ctx, block: u32, lane0: u32, mask: u64) {
    // SAFETY: called by compiled code only.
    let (engine, cta) = unsafe { engine(ctx) };
    let func = engine.launch.program.func();
    let data = func.block(Block(block));
    let kind = match data.term {
        Term::Trap(TrapKind::Breakpoint) => KernelFaultKind::Breakpoint,
        Term::Trap(TrapKind::Unsupported(n)) => {
            KernelFaultKind::Unsupported(func.unsupported.get(n as usize).cloned().unwrap_or_default())
        }
        _ => KernelFaultKind::Trap,
    };
    let thread = lane0 + mask.trailing_zeros();
    engine.fault.set(Some(Box::new(cta.fault(engine.launch, kind, data.term_line, Some(thread)))));
}

unsafe extern "sysv64" fn clock(ctx: *mut Ctx, which: u32) -> u64 {
    // SAFETY: called by compiled code only.
    let (engine, _) = unsafe { engine(ctx) };
    let since = Instant::now().duration_since(engine.launch.start);
    let _ = which; // one tick is a nanosecond for both
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
