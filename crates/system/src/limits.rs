//! One budget for all that is done for a caller: time, host memory, instructions, and a flag that cancels.
//!
//! A [`Limits`] is handed from the first byte that is read to the last that is written. Work that is long without launching anything (parsing, checking, passes,
//! planning, writing code) runs [within](Limits::within) it: such code calls [`poll`] in its loops, and what is over its limits is unwound to there. Results are
//! therefore whole or not at all, and no pass has to hand a failure on. Engines [spend](Limits::spend) instead, and who is about to
//! take much memory [holds](Limits::hold) it first.

use crate::time::Instant;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Builder;
use std::time::Duration;

/// How much may be done. Clones share what is used up.
#[derive(Clone, Debug)]
pub struct Limits {
    fuel: Arc<AtomicU64>,
    /// Not after this.
    pub deadline: Option<Instant>,
    /// Set by the host to stop.
    pub cancel: Arc<AtomicBool>,
    /// Whether somebody was given the flag.
    cancellable: bool,
    /// What this caller may take of the host's memory; none where only the host limits it.
    memory: Option<Arc<Memory>>,
}

/// A limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exceeded {
    /// The deadline has passed.
    Timeout,
    /// Somebody has cancelled it.
    Cancelled,
    /// The instructions are used up.
    OutOfFuel,
    /// More memory was wanted than is left.
    Memory {
        /// Bytes wanted.
        asked: u64,
        /// Bytes that are held already.
        held: u64,
        /// Bytes that may be held.
        limit: u64,
    },
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exceeded::Timeout => f.write_str("the time limit has passed"),
            Exceeded::Cancelled => f.write_str("it was cancelled"),
            Exceeded::OutOfFuel => f.write_str("the instruction budget is used up"),
            Exceeded::Memory { asked, held, limit } => {
                write!(f, "{asked} bytes of host memory are wanted; {held} of {limit} are in use")
            }
        }
    }
}

impl std::error::Error for Exceeded {}

/// Memory that is counted.
#[derive(Debug)]
struct Memory {
    limit: u64,
    held: AtomicU64,
}

impl Memory {
    fn take(&self, bytes: u64) -> Result<(), Exceeded> {
        let take = |held: u64| held.checked_add(bytes).filter(|all| *all <= self.limit);
        match self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(held) => Err(Exceeded::Memory { asked: bytes, held, limit: self.limit }),
        }
    }
}

/// What those without a limit of their own take of the host.
fn host() -> &'static Memory {
    static HOST: OnceLock<Memory> = OnceLock::new();
    HOST.get_or_init(|| {
        // Others need some, too.
        let limit = crate::memory::available().map_or(u64::MAX, |bytes| bytes / 8 * 7);
        Memory { limit, held: AtomicU64::new(0) }
    })
}

/// What counts for a caller: memory of its own, or the host's.
fn counter(of_caller: &Option<Arc<Memory>>) -> &Memory {
    match of_caller {
        Some(memory) => memory,
        None => host(),
    }
}

/// Less than this is not counted where only the host limits memory.
const LITTLE: u64 = 1 << 20;

/// Memory that counts as long as this lives.
#[derive(Debug, Default)]
pub struct Held {
    of_caller: Option<Arc<Memory>>,
    bytes: u64,
}

impl Held {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            counter(&self.of_caller).held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: Arc::new(AtomicU64::new(u64::MAX)),
            deadline: None,
            cancel: Arc::default(),
            cancellable: false,
            memory: None,
        }
    }
}

impl Limits {
    /// No limits but the host's memory.
    pub fn new() -> Limits {
        Limits::default()
    }

    /// Allows so much time from now on.
    pub fn with_timeout(self, time: Duration) -> Limits {
        Limits { deadline: Instant::now().checked_add(time), ..self }
    }

    /// Allows so many instructions, counted once per warp, in all launches. Engines look only now and then, so a little more may be run.
    pub fn with_fuel(self, fuel: u64) -> Limits {
        Limits { fuel: Arc::new(AtomicU64::new(fuel)), ..self }
    }

    /// Allows so many bytes of host memory, as far as what is taken depends on the input: texts, what is made of them, device memory, CTAs.
    pub fn with_memory(self, bytes: u64) -> Limits {
        Limits { memory: Some(Arc::new(Memory { limit: bytes, held: AtomicU64::new(0) })), ..self }
    }

    /// Stops when this becomes true.
    pub fn with_cancel(self, flag: Arc<AtomicBool>) -> Limits {
        Limits { cancel: flag, cancellable: true, ..self }
    }

    /// Whether it may go on.
    pub fn check(&self) -> Result<(), Exceeded> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Exceeded::Cancelled);
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Err(Exceeded::Timeout);
        }
        Ok(())
    }

    /// Takes what has been run since the last time off the fuel, and says whether it may go on.
    pub fn spend(&self, instructions: u64) -> Result<(), Exceeded> {
        self.check()?;
        let left = self.fuel.load(Ordering::Relaxed);
        if left == u64::MAX {
            return Ok(());
        }
        let take = |left: u64| Some(left.saturating_sub(instructions));
        // The closure never refuses.
        let before = self.fuel.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        if before < instructions || before == 0 { Err(Exceeded::OutOfFuel) } else { Ok(()) }
    }

    /// Counts memory that is about to be taken.
    pub fn hold(&self, bytes: u64) -> Result<Held, Exceeded> {
        match &self.memory {
            None if bytes < LITTLE => Ok(Held::default()),
            None => host().take(bytes).map(|()| Held { of_caller: None, bytes }),
            Some(memory) => {
                memory.take(bytes)?;
                Ok(Held { of_caller: Some(memory.clone()), bytes })
            }
        }
    }

    /// The most that can be held at once.
    pub fn memory_limit(&self) -> u64 {
        counter(&self.memory).limit
    }

    /// Whether anything but memory can stop it.
    fn is_timed(&self) -> bool {
        self.deadline.is_some() || self.cancellable
    }

    /// Does work that cannot be stopped on a thread of its own and waits for it as long as the limits allow. Work that is given up comes to its end some time, and nobody
    /// hears of it.
    pub fn detached<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Exceeded> {
        if !self.is_timed() {
            return Ok(work());
        }
        let (send, receive) = sync_channel(1);
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(|e| e.into_inner()).take();
        let of_thread = work.clone();
        let begun = crate::thread::spawn(Builder::new().name(name.into()), move || {
            // Its end is of no interest any more if nobody waits.
            if let Some(work) = take(&of_thread) {
                let _ = send.send(work());
            }
        });
        let Ok(thread) = begun else {
            // Where there can be no more threads it is done here.
            return Ok(take(&work).expect("no thread has taken it")());
        };
        let mut pause = Duration::from_micros(100);
        loop {
            match receive.recv_timeout(pause) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => self.check()?,
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => unreachable!("it sends before it ends"),
                },
            }
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Does work whose loops [`poll`]; what goes over the limits is given up.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, Exceeded> {
        self.check()?;
        let outer = CURRENT.replace(Some(self.clone()));
        UNTIL_LOOK.set(EVERY);
        let done = catch_unwind(AssertUnwindSafe(work));
        CURRENT.set(outer);
        match done {
            Ok(value) => Ok(value),
            Err(payload) => match payload.downcast::<Exceeded>() {
                Ok(exceeded) => Err(*exceeded),
                Err(panic) => resume_unwind(panic),
            },
        }
    }
}

/// So many polls for each look at the clock.
const EVERY: u32 = 1 << 10;

thread_local! {
    static CURRENT: RefCell<Option<Limits>> = const { RefCell::new(None) };
    static UNTIL_LOOK: Cell<u32> = const { Cell::new(EVERY) };
}

/// To be called in loops whose length depends on the input. Does not return if the [limits](Limits::within) this thread works within are reached; does nothing where
/// there are none, or where panics cannot be caught.
#[inline]
pub fn poll() {
    poll_many(1);
}

/// As [`poll`], for as much work as so many rounds of a short loop.
#[inline]
pub fn poll_many(rounds: usize) {
    let left = UNTIL_LOOK.get();
    match left.checked_sub(u32::try_from(rounds).unwrap_or(u32::MAX)) {
        Some(left) if left > 0 => UNTIL_LOOK.set(left),
        _ => look(),
    }
}

#[cold]
fn look() {
    UNTIL_LOOK.set(EVERY);
    let over = CURRENT.with_borrow(|limits| limits.as_ref().and_then(|limits| limits.check().err()));
    if let Some(exceeded) = over
        && cfg!(panic = "unwind")
    {
        // Not a panic: no hook is called.
        resume_unwind(Box::new(exceeded));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_within_limits_is_whole_or_nothing() {
        let limits = Limits::new();
        assert_eq!(limits.within(|| (0..10_000).map(|_| poll()).count()), Ok(10_000));
        let late = Limits { deadline: Some(Instant::now()), ..Limits::new() };
        assert_eq!(late.within(|| ()), Err(Exceeded::Timeout));
        // Cancelled while it works.
        let endless = || loop {
            limits.cancel.store(true, Ordering::Relaxed);
            poll();
        };
        assert_eq!(limits.within(endless), Err::<(), _>(Exceeded::Cancelled));
        // Outside nobody is stopped.
        (0..10_000).for_each(|_| poll());
    }

    #[test]
    fn inner_limits_end_with_their_work() {
        let (outer, inner) = (Limits::new(), Limits::new());
        inner.cancel.store(true, Ordering::Relaxed);
        let work = || {
            assert_eq!(inner.within(|| poll_many(usize::MAX)), Err(Exceeded::Cancelled));
            poll_many(usize::MAX);
            7
        };
        assert_eq!(outer.within(work), Ok(7));
    }

    #[test]
    fn a_panic_is_not_taken_for_a_limit() {
        let panicked = catch_unwind(|| Limits::new().within(|| resume_unwind(Box::new("ours")) as ()));
        assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"ours"));
    }

    #[test]
    fn memory_is_counted_before_it_is_taken() {
        let limits = Limits::new().with_memory(100);
        let first = limits.hold(60).unwrap();
        let exceeded = Exceeded::Memory { asked: 50, held: 60, limit: 100 };
        assert_eq!(limits.clone().hold(50).unwrap_err(), exceeded);
        let second = limits.hold(40).unwrap();
        drop((first, second));
        assert_eq!(limits.hold(100).unwrap().bytes(), 100);
        assert!(limits.hold(u64::MAX).is_err());
        // More than any host has.
        if crate::memory::available().is_some() {
            assert!(matches!(Limits::new().hold(1 << 60), Err(Exceeded::Memory { .. })));
        }
    }

    #[test]
    fn what_cannot_be_stopped_is_left_alone() {
        let (limits, (go_on, wait)) =
            (Limits::new().with_timeout(Duration::from_millis(20)), sync_channel::<()>(0));
        assert_eq!(limits.detached("waits", move || wait.recv().is_ok()), Err(Exceeded::Timeout));
        drop(go_on);
        let limits = Limits::new().with_timeout(Duration::from_secs(1000));
        assert_eq!(limits.detached("adds", || 1 + 1), Ok(2));
        let panics = || limits.detached("panics", || resume_unwind(Box::new("ours")) as ());
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }

    #[test]
    fn fuel_is_shared_by_clones() {
        let limits = Limits::new().with_fuel(100);
        assert_eq!(limits.clone().spend(90), Ok(()));
        assert_eq!(limits.spend(20), Err(Exceeded::OutOfFuel));
    }
}
