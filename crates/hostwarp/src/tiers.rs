//! The interpreter at first, compiled code when it pays.
//!
//! Compiling a kernel takes as long as the interpreter takes for a million threads and more, and many a launch has far fewer. So a launch that
//! leaves the choice to us begins on the interpreter. When that has been at a kernel for a while, in one launch or several, the kernel
//! is compiled on a thread of its own; CTAs that begin when that is done run compiled code, and those that have run for long by then go over to it
//! where they are, if they can ([`JitKernel::take_over`](hostwarp_jit::JitKernel::take_over)).

use crate::module::Compiled;
use crate::schedule::{Interp, Jit, RunCtas};
use hostwarp_interp::{Cta, Launch, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Makes compiled code, or says why there is none.
pub(crate) type Make = dyn Fn() -> Result<Compiled, String> + Send + Sync;

/// Compiled code, or why there is none, once somebody has made it.
pub(crate) struct Soon {
    make: Box<Make>,
    made: OnceLock<Result<Compiled, String>>,
    /// Held by who makes it.
    making: Mutex<()>,
    /// The process whose thread that is. The child of a fork has none of the others' threads, and would wait for ever.
    maker: AtomicU32,
    /// The process that has begun a thread to make it.
    begun: AtomicU32,
    /// Nanoseconds that launches have spent on the interpreter in its place.
    waited: AtomicU64,
}

impl std::fmt::Debug for Soon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Soon").field("made", &self.made).finish_non_exhaustive()
    }
}

impl Soon {
    pub(crate) fn new(make: Box<Make>) -> Arc<Soon> {
        Arc::new(Soon {
            make,
            made: OnceLock::new(),
            making: Mutex::new(()),
            maker: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            waited: AtomicU64::new(0),
        })
    }

    /// What there is.
    pub(crate) fn now(&self) -> Option<&Result<Compiled, String>> {
        self.made.get()
    }

    /// What there is, or else what is made now.
    pub(crate) fn get(&self) -> &Result<Compiled, String> {
        let process = std::process::id();
        let others = ![0, process].contains(&self.maker.load(Ordering::Relaxed));
        let _one_at_a_time = (!others).then(|| self.making.lock().unwrap_or_else(|e| e.into_inner()));
        if let Some(made) = self.made.get() {
            return made;
        }
        self.maker.store(process, Ordering::Relaxed);
        let made = (self.make)();
        self.made.get_or_init(|| made)
    }

    /// Has it made on a thread of its own, unless that has been done.
    pub(crate) fn begin(self: &Arc<Soon>) {
        let process = std::process::id();
        if self.begun.swap(process, Ordering::Relaxed) == process {
            return;
        }
        let soon = self.clone();
        let work = move || {
            let made = catch_unwind(AssertUnwindSafe(|| soon.get().is_ok()));
            if made.is_err() {
                // Somebody may wait for it.
                let _ = soon.made.set(Err("there was a panic while it was compiled".into()));
            }
        };
        // Where there can be no more threads the interpreter goes on.
        if let Err(e) = std::thread::Builder::new().name("hostwarp compiles".into()).spawn(work) {
            let _ = self.made.set(Err(format!("no thread to compile on: {e}")));
        }
    }
}

/// How long the interpreter may be at a kernel before it is compiled: about an eighth of the time it takes to load LLVM and to compile.
fn patience(launch: &Launch<'_>) -> Duration {
    Duration::from_millis(4) + Duration::from_micros(14 * launch.program.func().inst_count() as u64)
}

/// Both engines on a launch.
pub(crate) struct Tiered<'a> {
    soon: &'a Arc<Soon>,
    began: Instant,
    /// Spent on the interpreter by launches before.
    before: Duration,
    patience: Duration,
    /// The interpreter would be at it for longer than compiling takes.
    much_left: AtomicBool,
    /// CTAs begun on the interpreter.
    interpreted: AtomicU64,
    /// Compiled code had a part in some CTA.
    ran: AtomicBool,
}

impl<'a> Tiered<'a> {
    pub(crate) fn new(soon: &'a Arc<Soon>, launch: &Launch<'_>) -> Tiered<'a> {
        Tiered {
            soon,
            began: Instant::now(),
            before: Duration::from_nanos(soon.waited.load(Ordering::Relaxed)),
            patience: patience(launch),
            much_left: AtomicBool::new(false),
            interpreted: AtomicU64::new(0),
            ran: AtomicBool::new(false),
        }
    }

    /// Compiled code, if there is any; if it is time that there were some, has it made. So many CTAs have begun of so many.
    fn jit(&self, launch: &Launch<'_>, (begun, all): (u64, u64)) -> Option<Jit<'_>> {
        let spent = self.began.elapsed();
        if self.soon.now().is_none() && self.before + spent >= self.patience {
            self.soon.begin();
            // Looked at again and again: the first CTAs may say little about the others.
            let left = spent.as_secs_f64() / begun.max(1) as f64 * (all - begun) as f64;
            if left > 8.0 * self.patience.as_secs_f64() {
                self.much_left.store(true, Ordering::Relaxed);
            }
        }
        // What the interpreter would do meanwhile is little for compiled code, and the compiler is sooner done if it has the CPU for itself.
        // Not for ever: in a process that was forked while LLVM held a lock it never comes back.
        let worth_waiting = || self.began.elapsed() < 64 * self.patience && launch.limits.spend(0).is_ok();
        while self.much_left.load(Ordering::Relaxed) && self.soon.now().is_none() && worth_waiting() {
            std::thread::sleep(Duration::from_micros(100));
        }
        let compiled = self.soon.now()?.as_ref().ok()?;
        Some(Jit { compiled, may_make_full: true })
    }

    /// Ends the launch: answers the code that ran, if any did, and how many CTAs had begun without.
    pub(crate) fn finish(self) -> (Option<Compiled>, u64) {
        let spent = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let interpreted = self.interpreted.into_inner();
        if interpreted > 0 {
            self.soon.waited.fetch_add(spent, Ordering::Relaxed);
        }
        let ran = self.ran.into_inner();
        (self.soon.now().filter(|_| ran).and_then(|made| made.clone().ok()), interpreted)
    }
}

impl RunCtas for Tiered<'_> {
    fn room(&self, launch: &Launch<'_>) -> Cta {
        // Compiled code can only take over one at a time. Without loops there is nothing to take over.
        if launch.program.plan().back_edges.is_empty() { Interp.room(launch) } else { Cta::new(launch) }
    }

    fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        count: u64,
        budget: u64,
    ) -> (u64, Outcome) {
        if let Some(jit) = self.jit(launch, (first, launch.ctas())) {
            self.ran.store(true, Ordering::Relaxed);
            if cta.room() > 1 {
                *cta = jit.room(launch);
            }
            return jit.start(launch, cta, first, count, budget);
        }
        let (done, outcome) = Interp.start(launch, cta, first, count, budget);
        self.interpreted.fetch_add(cta.count().into(), Ordering::Relaxed);
        (done, outcome)
    }

    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        match self.jit(launch, (1, 1)) {
            Some(jit) => {
                let kernel = jit.kernel();
                if kernel.take_over(launch, cta) {
                    self.ran.store(true, Ordering::Relaxed);
                }
                kernel.run(launch, cta, budget)
            }
            None => Interp.go_on(launch, cta, budget),
        }
    }
}

/// Both engines on each CTA, a few instructions each in turn: for tests of how they take over from each other.
pub(crate) struct InTurns<'a> {
    pub(crate) jit: Jit<'a>,
    /// Instructions of a turn, counted once per warp or group.
    pub(crate) turn: u64,
}

impl RunCtas for InTurns<'_> {
    fn room(&self, launch: &Launch<'_>) -> Cta {
        Cta::new(launch)
    }

    fn start(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        first: u64,
        _count: u64,
        _budget: u64,
    ) -> (u64, Outcome) {
        Interp.start(launch, cta, first, 1, self.turn)
    }

    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        // Turns get longer, so that what spins comes to an end.
        let turn = self.turn.max(budget >> 6);
        let kernel = self.jit.kernel();
        if cta.interpreted && kernel.take_over(launch, cta) {
            kernel.run(launch, cta, turn)
        } else {
            Interp.go_on(launch, cta, turn)
        }
    }
}
