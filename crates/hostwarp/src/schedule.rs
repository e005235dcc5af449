//! Runs the CTAs of a launch on worker threads.
//!
//! The thread that launches is one of them; a launch that is soon done has no others.
//!
//! CTAs are handed out in index order in small runs: one at a time costs too much for small CTAs, and fixed halves leave a
//! core idle when work is uneven. A CTA stays on its thread. One that only spins (it waits for another CTA) yields when its
//! budget is used up; its thread keeps it and starts further ones, up to [`RESIDENT`] on all threads, so that whatever it waits for can run.
//! Those that come back get short turns at first, and longer ones each time: a look at a flag is cheap, and long work is soon left alone.
//!
//! A CTA of which lanes can go on outside of loops that wait for others is only long: nobody waits for those that have not begun. It goes on where it is, or
//! all CTAs of a launch would be under way at once, each with its frames and shared memory in nobody's cache. Should it spin after all, on a load that
//! says nothing of others, the next one begins when each of n long ones under way has had [`PATIENCE`] · 2ⁿ instructions: of CTAs that take
//! 2ᵏ times as long a thread has k under way.

use crate::Effort;
use crate::code::{Codes, Compiled, Soon};
use crate::jit::{JitKernel, Speculation};
use crate::order::Order;
use crate::threads::Threads;
use crate::tiers::Climb;
use hostwarp_interp::{Cta, Exceeded, KernelFault, KernelFaultKind, Launch, Outcome, WARP};
use hostwarp_ir::Block;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// How many CTAs of a launch can be under way at once, unless it is cooperative: what the largest GPUs keep resident.
pub const RESIDENT: usize = 2048;

/// Instructions, counted once per warp, that a CTA may have, twice over for each that is under way on its thread, before the next one begins although nothing
/// says that it waits for any: a tenth of a second of compiled code.
const PATIENCE: u64 = 1 << 25;

/// Instructions, counted once per warp, after which a CTA that has had so many turns gives others one. In a cooperative launch CTAs are there to wait for
/// each other, so none has it for long.
fn budget(launch: &Launch<'_>, turns: u32) -> u64 {
    // Where no loop looks as if it waited for others, nearly all have much to do.
    let waits = launch.program.plan().loops.iter().any(|l| l.waits);
    match turns {
        _ if launch.grid_workspace != 0 => 1 << 14,
        0 => 1 << 23,
        n if waits => 1 << n.saturating_add(13).min(17),
        n => 1 << n.saturating_add(16).min(20),
    }
}

/// An engine with a kernel.
pub(crate) trait RunCtas: Sync {
    /// Room for what is run at a time, if the launch's limits allow it.
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded>;
    /// Runs `count` CTAs from number `first` on in the room of `cta`, as far as the budget goes. Answers how many are done and, if
    /// not all, what became of the ones after them, which `cta` then holds.
    fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        count: u64,
        budget: u64,
    ) -> (u64, Outcome);
    /// Goes on with a CTA as far as the budget goes.
    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome;
    /// Whether CTAs that are only long go on before others begin.
    fn is_patient(&self) -> bool {
        true
    }
}

/// The reference engine.
pub(crate) struct Interp;

impl Interp {
    /// The most of a first turn of each CTA: one that only spins would take the better part of a second for one that suits compiled code.
    const FIRST_TURN: u64 = 1 << 18;
}

impl RunCtas for Interp {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        Cta::counted(launch, true)
    }

    fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        count: u64,
        budget: u64,
    ) -> (u64, Outcome) {
        let count = cta.reset_some(launch, first, count);
        let outcome = hostwarp_interp::run(launch, cta, budget.min(Self::FIRST_TURN * u64::from(count)));
        (if outcome == Outcome::Done { count.into() } else { 0 }, outcome)
    }

    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        hostwarp_interp::run(launch, cta, budget)
    }
}

/// The engine that compiles: at first with little effort, and relying on what nearly always holds; with more effort where that pays, and deoptimised where it does not hold.
pub(crate) struct Jit<'a> {
    codes: &'a Codes,
    compiled: &'a Compiled,
    /// Whether code that relies on nothing may be made. If not, what there is has to do.
    may_deoptimise: bool,
    /// To code that is made with more effort, if that may be.
    climb: Option<Climb<'a>>,
}

impl<'a> Jit<'a> {
    /// CTAs that may be left to the interpreter: about as long as compiling takes.
    const ENOUGH: u32 = 32;
    /// CTAs that begin at once as long as there is faster code to come.
    const A_FEW: u64 = 64;

    pub(crate) fn new(codes: &'a Codes, compiled: &'a Compiled, may_deoptimise: bool) -> Jit<'a> {
        Jit { codes, compiled, may_deoptimise, climb: None }
    }

    /// Goes on to better code when it is there, in a launch that this is on from a CTA on.
    pub(crate) fn climbing(mut self, from: u64) -> Jit<'a> {
        if self.compiled.effort == Effort::Quick {
            self.climb = Some(Climb::from_quick(self.codes, self.compiled, from));
        }
        self
    }

    /// The code to run. The next CTA is this one, of so many.
    fn kernel(&self, launch: &Launch<'_>, next: (u64, u64)) -> &'a JitKernel {
        let better = self.climb.as_ref().and_then(|climb| climb.look(launch, next));
        let best = &better.unwrap_or(self.compiled).kernel;
        if !self.may_deoptimise || best.speculation() == Speculation::Off {
            return best;
        }
        let deoptimised = &self.codes.deoptimised;
        match deoptimised.now() {
            Some(Ok(deoptimised)) => &deoptimised.kernel,
            // What compiled once compiles again; if not, there is still what there is.
            Some(Err(_)) => best,
            None => {
                if self.compiled.kernel.handed_over().max(best.handed_over()) >= Self::ENOUGH {
                    deoptimised.begin();
                }
                best
            }
        }
    }

    /// Ends the launch: answers the code it would have gone on with.
    pub(crate) fn finish(self) -> &'a Compiled {
        let made = |soon: &'a Soon| soon.now().and_then(|made| made.as_ref().ok());
        let better = self.climb.and_then(|climb| {
            let better = made(self.codes.of(Effort::Best));
            if better.is_none() {
                climb.finish();
            }
            better
        });
        let deoptimised = made(&self.codes.deoptimised).filter(|_| self.may_deoptimise);
        deoptimised.or(better).unwrap_or(self.compiled)
    }
}

impl RunCtas for Jit<'_> {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        Cta::counted(launch, false)
    }

    fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        count: u64,
        budget: u64,
    ) -> (u64, Outcome) {
        let kernel = self.kernel(launch, (first, launch.ctas()));
        let waits = self.climb.is_some() && std::ptr::eq(kernel, &*self.compiled.kernel);
        let count = if waits { count.min(Self::A_FEW) } else { count };
        kernel.start(launch, cta, first, count, budget)
    }

    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        // What is left to do cannot be told.
        let kernel = self.kernel(launch, (launch.ctas(), launch.ctas()));
        let mine = kernel.take_over(launch, cta);
        let first = &self.compiled.kernel;
        if !mine && first.runner() == cta.runner { first } else { kernel }.run(launch, cta, budget)
    }
}

/// Called now and then with the number of CTAs done and all.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

/// A launch of fewer instructions than this, counted once per lane, is done before another thread has woken up.
const BRIEF: u64 = 1 << 19;

fn is_brief(launch: &Launch<'_>) -> bool {
    let (func, plan) = (launch.program.func(), launch.program.plan());
    let lanes = launch.ctas().saturating_mul(launch.lanes().into());
    plan.back_edges.is_empty() && lanes.saturating_mul(func.inst_count() as u64) < BRIEF
}

/// As many CTAs are handed to a thread at once, and four times as many to one that is alone: beginning with some takes as long as a CTA or two of
/// a short kernel.
const MOST_AT_ONCE: u64 = 1024;

struct Shared<'a> {
    next: AtomicU64,
    done: AtomicU64,
    /// CTAs that have begun and wait for a turn, on all threads.
    waiting: AtomicUsize,
    stop: AtomicBool,
    /// The fault of the lowest CTA found so far: the same one whatever the threads' timing, where only one CTA is at fault.
    fault: Mutex<Option<(u64, Box<KernelFault>)>>,
    /// Why a thread has no memory for a CTA. It is for the others to run them then.
    no_room: Mutex<Option<Exceeded>>,
    progress: Option<&'a Progress<'a>>,
    threads: u64,
    /// Where the launch has a schedule.
    order: Option<Order>,
}

impl Shared<'_> {
    /// The next CTAs to begin, for one thread. Neighbours run best together, so at first they are many; towards the end they become fewer, so
    /// that threads are done at about the same time.
    fn take(&self, total: u64) -> Range<u64> {
        let chunk = |from: u64| match self.threads {
            _ if self.order.is_some() => 1,
            1 => 4 * MOST_AT_ONCE,
            n => ((total - from) / (n * 8)).clamp(1, MOST_AT_ONCE),
        };
        let end = |from: u64| (from < total).then(|| total.min(from + chunk(from)));
        match self.next.try_update(Ordering::Relaxed, Ordering::Relaxed, end) {
            Ok(from) => from..total.min(from + chunk(from)),
            Err(_) => total..total,
        }
    }
}

/// Whoever waits for a CTA of a thread that is gone would wait for ever.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs all CTAs on so many of the threads; the first fault ends the launch.
pub(crate) fn run_grid(
    launch: &Launch<'_>,
    run: &dyn RunCtas,
    (threads, count): (&Threads, usize),
    progress: Option<&Progress<'_>>,
) -> Result<(), Box<KernelFault>> {
    let total = launch.ctas();
    // Who asks for more than there usually are wants to see them.
    let count = match is_brief(launch) && count <= threads.count() {
        _ if launch.schedule.is_some() => 1,
        true => 1,
        false => count.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1)),
    };
    let shared = Shared {
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        waiting: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        fault: Mutex::new(None),
        no_room: Mutex::new(None),
        progress,
        threads: count as u64,
        order: launch.schedule.map(|seed| Order::new(seed, total)),
    };
    threads.run(count, &|| {
        let _stop = StopOnPanic(&shared.stop);
        // Kernels depend on the floating-point control state, and the caller's is the caller's.
        hostwarp_interp::with_default_float_state(|| worker(launch, run, &shared, total));
    });
    let no_room = shared.no_room.into_inner().unwrap_or_else(|e| e.into_inner());
    match shared.fault.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some((_, fault)) => Err(fault),
        None => match no_room.filter(|_| shared.done.into_inner() < total) {
            Some(exceeded) => Err(Box::new(no_room_for(launch, exceeded))),
            None => Ok(()),
        },
    }
}

/// The fault of a launch that no thread has memory for.
fn no_room_for(launch: &Launch<'_>, exceeded: Exceeded) -> KernelFault {
    let kernel = launch.program.func().name.clone();
    KernelFault {
        kind: KernelFaultKind::from(exceeded),
        kernel,
        line: 0,
        file: None,
        cta: [0; 3],
        thread: None,
    }
}

/// Tells who watches that CTAs are done.
fn finished(launch: &Launch<'_>, first: u64, count: u64) {
    if let Some(observer) = launch.observer.filter(|_| count > 0) {
        observer.done(first, count);
    }
}

/// A CTA that has begun and is not done.
struct Begun {
    number: u64,
    // A CTA is large, and moves between here and the queue.
    cta: Box<Cta>,
    turns: u32,
    /// What its budgets come to.
    spent: u64,
    /// It may wait for others.
    polls: bool,
}

/// Whether all lanes of a CTA that can go on are in loops that wait for others.
fn polls(launch: &Launch<'_>, cta: &Cta) -> bool {
    let plan = launch.program.plan();
    if !plan.loops.iter().any(|l| l.polls) {
        return false;
    }
    let lanes = cta.pc.chunks(WARP as usize).zip(cta.warps());
    let mut ready = lanes.flat_map(|(pcs, warp)| {
        let ready = warp.ready;
        pcs.iter().enumerate().filter(move |(lane, _)| ready >> lane & 1 == 1)
    });
    ready.all(|(_, pc)| plan.polls(Block(*pc)))
}

/// Whether another CTA may begin while these are under way.
fn may_begin(waiting: &VecDeque<Begun>) -> bool {
    let long = || waiting.iter().filter(|b| !b.polls);
    let patience = PATIENCE << long().count().min(38);
    long().all(|b| b.spent >= patience)
}

fn worker(launch: &Launch<'_>, run: &dyn RunCtas, shared: &Shared<'_>, total: u64) {
    let mut waiting: VecDeque<Begun> = VecDeque::new();
    let patient = run.is_patient() && launch.grid_workspace == 0;
    let mut spare: Option<Box<Cta>> = None;
    let mut mine = 0..0;
    // CTAs of a cooperative launch may wait for all others.
    let most = if launch.grid_workspace != 0 { usize::MAX } else { RESIDENT };
    while !shared.stop.load(Ordering::Relaxed) {
        let mut may_start = waiting.is_empty()
            || shared.waiting.load(Ordering::Relaxed) < most && (!patient || may_begin(&waiting));
        if may_start && spare.is_none() && (!mine.is_empty() || shared.next.load(Ordering::Relaxed) < total) {
            match run.room(launch) {
                Ok(cta) => spare = Some(Box::new(cta)),
                Err(exceeded) => {
                    // The ones that wait go on, and others begin when they are done.
                    may_start = false;
                    // In a cooperative launch they wait for those that cannot begin.
                    if launch.grid_workspace != 0 {
                        shared.stop.store(true, Ordering::Relaxed);
                    }
                    *shared.no_room.lock().unwrap_or_else(|e| e.into_inner()) = Some(exceeded);
                }
            }
        }
        if mine.is_empty() && may_start {
            mine = shared.take(total);
        }
        let mut done = 0;
        let begins = spare.take_if(|_| may_start && !mine.is_empty());
        let (begun, outcome) = if let Some(mut cta) = begins {
            let first = shared.order.map_or(mine.start, |order| order.cta(mine.start));
            let (ran, outcome) = run.start(launch, &mut cta, first, mine.end - mine.start, budget(launch, 0));
            finished(launch, first, ran);
            done += ran;
            mine.start += ran;
            let number = mine.start;
            if outcome != Outcome::Done {
                mine.start += u64::from(cta.count());
            }
            (Begun { number, cta, turns: 0, spent: budget(launch, 0), polls: false }, outcome)
        } else {
            let Some(mut begun) = waiting.pop_front() else { return };
            shared.waiting.fetch_sub(1, Ordering::Relaxed);
            let given = budget(launch, begun.turns);
            begun.spent = begun.spent.saturating_add(given);
            let outcome = run.go_on(launch, &mut begun.cta, given);
            done += if outcome == Outcome::Done { begun.cta.count().into() } else { 0 };
            if done > 0 {
                let [x, y, z] = begun.cta.index.map(u64::from);
                let [width, height, _] = launch.grid.map(u64::from);
                finished(launch, (z * height + y) * width + x, done);
            }
            (begun, outcome)
        };
        if done > 0 {
            let all = shared.done.fetch_add(done, Ordering::Relaxed) + done;
            if let Some(progress) = shared.progress {
                progress(all, total);
            }
        }
        match outcome {
            Outcome::Done => spare = Some(begun.cta),
            Outcome::Yield => {
                shared.waiting.fetch_add(1, Ordering::Relaxed);
                let polls = polls(launch, &begun.cta);
                waiting.push_back(Begun { turns: begun.turns + 1, polls, ..begun });
            }
            Outcome::Fault(fault) => {
                let mut first = shared.fault.lock().unwrap_or_else(|e| e.into_inner());
                if first.as_ref().is_none_or(|(n, _)| begun.number < *n) {
                    *first = Some((begun.number, fault));
                }
                shared.stop.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
