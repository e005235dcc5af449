//! The interpreter at first, compiled code when it pays.
//!
//! Compiling a kernel takes as long as the interpreter takes for a million threads and more, and many a launch has far fewer. So a launch that
//! leaves the choice to us begins on the interpreter. When that has been at a kernel for a while, in one launch or several, the kernel
//! is compiled on a thread of its own; CTAs that begin when that is done run compiled code, and those that have run for long by then go over to it
//! where they are, if they can ([`JitKernel::take_over`]).
//!
//! Compiled code comes in two [efforts](crate::Effort): first what the compiler makes quickly, and if that has run for a while what it makes with care.

use crate::Effort;
use crate::code::{Codes, Compiled, MadeCode, Soon};
use crate::jit::JitKernel;
use crate::schedule::{Interp, Jit, RunCtas};
use hostwarp_interp::{Cta, Exceeded, Launch, Outcome, Program, Runner};
use hostwarp_system::time::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long the interpreter may be at a kernel before it is compiled: about an eighth of the time it takes to load LLVM and to compile.
fn patience(launch: &Launch<'_>) -> Duration {
    Duration::from_millis(4) + Duration::from_micros(14 * launch.program.func().inst_count() as u64)
}

/// Whether a launch has so much to do, as far as can be seen before it begins, that good code for it is worth waiting for. Where nothing is done over
/// and over that is memory's time, mostly, and nothing to wait for.
pub(crate) fn is_much(program: &Program, threads: u64) -> bool {
    const MUCH: u64 = 1 << 22;
    let insts = program.func().inst_count() as u64;
    !program.plan().back_edges.is_empty() && threads.saturating_mul(insts) > MUCH
}

/// The way of a launch from what it runs on to faster code.
pub(crate) struct Climb<'a> {
    codes: &'a Codes,
    /// What it runs on: quickly made code, or else the interpreter.
    on_quick: bool,
    began: Instant,
    /// The number of the CTA it began with.
    from: u64,
    /// Spent in this way by launches before.
    before: Duration,
    /// How long that may be before faster code is made.
    patience: Duration,
    /// How much there must be left to do for somebody to wait for it.
    worth: Duration,
    /// There is, by what was seen last.
    much_left: AtomicBool,
    /// Somebody has waited for as long as the slower way would have taken.
    waited_enough: AtomicBool,
}

impl<'a> Climb<'a> {
    fn from_interp(codes: &'a Codes, launch: &Launch<'_>) -> Climb<'a> {
        let patience = patience(launch);
        Climb::new(codes, false, 0, patience, 8 * patience)
    }

    /// From quickly made code, at a CTA.
    pub(crate) fn from_quick(codes: &'a Codes, quick: &Compiled, from: u64) -> Climb<'a> {
        // It takes about four times as long to make what is better.
        let patience = 4 * quick.took;
        Climb::new(codes, true, from, patience, patience)
    }

    fn new(codes: &'a Codes, on_quick: bool, from: u64, patience: Duration, worth: Duration) -> Climb<'a> {
        let (much_left, waited_enough) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut climb = Climb {
            codes,
            on_quick,
            began: Instant::now(),
            from,
            before: Duration::ZERO,
            patience,
            worth,
            much_left,
            waited_enough,
        };
        climb.before = climb.target().waited();
        climb
    }

    /// What keeps account of the time.
    fn target(&self) -> &'a Soon {
        self.codes.of(if self.on_quick { Effort::Best } else { Effort::Quick })
    }

    fn now(&self) -> Option<&'a MadeCode> {
        if self.on_quick { self.codes.of(Effort::Best).now() } else { self.codes.now() }
    }

    /// The faster code, if there is any; if it is time that there were some, has it made. The next CTA is this one, of so many.
    pub(crate) fn look(&self, launch: &Launch<'_>, (next, all): (u64, u64)) -> Option<&'a Compiled> {
        let (arrived, spent) = (Instant::now(), self.began.elapsed());
        // Looked at again and again: the first CTAs may say little about the others, and are slow while nothing is in a cache.
        let begun = next.saturating_sub(self.from).max(1);
        let left = spent.as_secs_f64() / begun as f64 * (all - next) as f64;
        if next < all {
            // The interpreter's first CTAs find nothing in a cache and memory that has never been touched: they take several times as long as others.
            let seen = spent > if self.on_quick { self.patience / 16 } else { self.patience / 2 };
            let much = left > self.worth.as_secs_f64() && seen;
            self.much_left.store(much, Ordering::Relaxed);
        }
        let much = self.much_left.load(Ordering::Relaxed);
        // Who waits for longer than the slower way takes has lost; how long a compiler takes is a guess.
        let at_most = (8 * self.worth).as_secs_f64().min(if next < all { left } else { f64::MAX });
        loop {
            if let Some(made) = self.now() {
                return made.as_ref().ok();
            }
            if !(much && self.on_quick) && self.before + spent < self.patience {
                return None;
            }
            // Nor while what is left will be done before a compiler is, unless launches keep coming. Where nobody knows what is left, about as long is waited as
            // loading LLVM and compiling takes: at worst it all takes twice as long as it need.
            let pays = if next < all { much } else { spent > 6 * self.patience };
            if !self.on_quick && !pays && self.before < self.patience {
                return None;
            }
            if self.on_quick {
                self.codes.of(Effort::Best).begin();
            } else {
                self.codes.begin(much);
            }
            // What would be done meanwhile is little for faster code, and the compiler is sooner done if it has the CPU for itself. From quickly made
            // code the way is long enough only for what is done over and over.
            // Not for ever: in a process that was forked while LLVM held a lock it never comes back.
            let far = !self.on_quick || !launch.program.plan().back_edges.is_empty();
            let worth_waiting = much && far && !self.waited_enough.load(Ordering::Relaxed);
            if !worth_waiting || launch.limits.spend(0).is_err() {
                return None;
            }
            if arrived.elapsed().as_secs_f64() > at_most {
                self.waited_enough.store(true, Ordering::Relaxed);
                return None;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Ends the launch, all or part of which went the slower way.
    pub(crate) fn finish(&self) {
        self.target().waits(self.began.elapsed());
    }
}

/// Both engines on a launch.
pub(crate) struct Tiered<'a> {
    climb: Climb<'a>,
    /// Compiled code, since there is some.
    jit: OnceLock<Jit<'a>>,
    /// CTAs begun on the interpreter.
    interpreted: AtomicU64,
    /// Compiled code had a part in some CTA.
    ran: AtomicBool,
}

impl<'a> Tiered<'a> {
    pub(crate) fn new(codes: &'a Codes, launch: &Launch<'_>) -> Tiered<'a> {
        Tiered {
            climb: Climb::from_interp(codes, launch),
            jit: OnceLock::new(),
            interpreted: AtomicU64::new(0),
            ran: AtomicBool::new(false),
        }
    }

    /// Compiled code, if there is any; if it is time that there were some, has it made.
    fn jit(&self, launch: &Launch<'_>, next: (u64, u64)) -> Option<&Jit<'a>> {
        if let Some(jit) = self.jit.get() {
            return Some(jit);
        }
        let compiled = self.climb.look(launch, next)?;
        Some(self.jit.get_or_init(|| Jit::new(self.climb.codes, compiled, true).climbing(next.0)))
    }

    /// Ends the launch: answers the code that ran, if any did, and how many CTAs had begun without.
    pub(crate) fn finish(self) -> (Option<Jit<'a>>, u64) {
        let interpreted = self.interpreted.into_inner();
        if interpreted > 0 {
            self.climb.finish();
        }
        let ran = self.ran.into_inner();
        (self.jit.into_inner().filter(|_| ran), interpreted)
    }
}

impl RunCtas for Tiered<'_> {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        // Compiled code can only take over one at a time. Without loops there is nothing to take over.
        Cta::counted(launch, launch.program.plan().back_edges.is_empty())
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
                cta.shrink(launch);
            }
            return jit.start(launch, cta, first, count, budget);
        }
        let (done, outcome) = Interp.start(launch, cta, first, count, budget);
        self.interpreted.fetch_add(cta.count().into(), Ordering::Relaxed);
        (done, outcome)
    }

    fn go_on(&self, launch: &Launch<'_>, cta: &mut Cta, budget: u64) -> Outcome {
        // What is left to do cannot be told.
        match self.jit(launch, (launch.ctas(), launch.ctas())) {
            Some(jit) => {
                let outcome = jit.go_on(launch, cta, budget);
                if cta.runner != Runner::Interp {
                    self.ran.store(true, Ordering::Relaxed);
                }
                outcome
            }
            None => Interp.go_on(launch, cta, budget),
        }
    }
}

/// Engines in turns on each CTA, a few instructions each: for tests of how they take over from each other.
pub(crate) struct InTurns {
    /// Whose turn it is between those of the interpreter.
    kernels: Vec<Arc<JitKernel>>,
    /// Instructions of a turn, counted once per warp or group.
    turn: u64,
}

impl InTurns {
    /// With the code of this effort, or else of any.
    pub(crate) fn new(codes: &Codes, effort: Option<Effort>, turn: u64) -> InTurns {
        let efforts =
            [Effort::Quick, Effort::Best].into_iter().filter(|e| effort.is_none_or(|only| only == *e));
        let kernels = efforts.filter_map(|e| Some(codes.of(e).get().ok()?.kernel)).collect();
        InTurns { kernels, turn }
    }
}

impl RunCtas for InTurns {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        Cta::counted(launch, false)
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
        let turn = self.turn.max(budget >> 11);
        let last = self.kernels.iter().position(|k| k.runner() == cta.runner);
        let mut next = self.kernels[last.map_or(0, |n| n + 1)..].iter();
        match next.find(|k| k.take_over(launch, cta)) {
            Some(kernel) => kernel.run(launch, cta, turn),
            None => Interp.go_on(launch, cta, turn),
        }
    }

    // Torture is to see CTAs take turns.
    fn is_patient(&self) -> bool {
        false
    }
}
