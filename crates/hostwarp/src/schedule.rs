//! Runs the CTAs of a launch on worker threads.
//!
//! CTAs are handed out in index order in small runs: one at a time costs too much for small CTAs, and fixed halves leave a
//! core idle when work is uneven. A CTA stays on its thread. One that only spins (it waits for another CTA) yields when its
//! budget is used up; its thread keeps it and starts further ones, up to [`RESIDENT`], so that whatever it waits for can run.
//! Which CTAs spin and which only have much to do cannot be told from outside, so the ones that come back get short turns at
//! first, and longer ones each time: a look at a flag is cheap, and long work is soon left alone.

use hostwarp_interp::{Cta, KernelFault, Launch, Outcome};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many CTAs of a launch can be under way at once: what the largest GPUs keep resident.
pub const RESIDENT: usize = 2048;

/// Instructions, counted once per warp, after which a CTA that has had so many turns gives others one.
fn budget(turns: u32) -> u64 {
    match turns {
        0 => 1 << 18,
        n => 1 << n.saturating_add(13).min(17),
    }
}

/// Runs one CTA as far as the budget goes.
pub(crate) type RunCta<'a> = dyn Fn(&Launch<'_>, &mut Cta, u64) -> Outcome + Sync + 'a;

/// Called now and then with the number of CTAs done and all.
pub type Progress<'a> = dyn Fn(u64, u64) + Sync + 'a;

struct Shared<'a> {
    next: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
    /// The fault of the lowest CTA found so far: the same one whatever the threads' timing, where only one CTA is at fault.
    fault: Mutex<Option<(u64, Box<KernelFault>)>>,
    progress: Option<&'a Progress<'a>>,
    chunk: u64,
    resident: usize,
}

/// Runs all CTAs; the first fault ends the launch.
pub(crate) fn run_grid(
    launch: &Launch<'_>,
    run: &RunCta<'_>,
    threads: usize,
    progress: Option<&Progress<'_>>,
) -> Result<(), Box<KernelFault>> {
    let total = launch.ctas();
    let threads = threads.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1));
    let shared = Shared {
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        fault: Mutex::new(None),
        progress,
        chunk: (total / (threads as u64 * 8)).clamp(1, 64),
        resident: (RESIDENT / threads).max(1),
    };
    // Always on threads of our own: kernels depend on the floating-point control state, and the caller's is the caller's.
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| hostwarp_interp::with_default_float_state(|| worker(launch, run, &shared, total)));
        }
    });
    match shared.fault.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some((_, fault)) => Err(fault),
        None => Ok(()),
    }
}

fn worker(launch: &Launch<'_>, run: &RunCta<'_>, shared: &Shared<'_>, total: u64) {
    let mut waiting: VecDeque<(u64, Cta, u32)> = VecDeque::new();
    let mut spare: Vec<Cta> = vec![];
    let mut mine = 0..0;
    while !shared.stop.load(Ordering::Relaxed) {
        if mine.is_empty() && waiting.len() < shared.resident {
            let from = shared.next.fetch_add(shared.chunk, Ordering::Relaxed).min(total);
            mine = from..(from + shared.chunk).min(total);
        }
        let fresh = if waiting.len() < shared.resident { mine.next() } else { None };
        let (number, mut cta, turns) = match fresh {
            Some(number) => {
                let mut cta = spare.pop().unwrap_or_else(|| Cta::new(launch));
                cta.reset(launch, launch.cta_index(number));
                (number, cta, 0)
            }
            None => match waiting.pop_front() {
                Some(w) => w,
                None => return,
            },
        };
        match run(launch, &mut cta, budget(turns)) {
            Outcome::Done => {
                spare.push(cta);
                let done = shared.done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = shared.progress {
                    progress(done, total);
                }
            }
            Outcome::Yield => waiting.push_back((number, cta, turns + 1)),
            Outcome::Fault(fault) => {
                let mut first = shared.fault.lock().unwrap_or_else(|e| e.into_inner());
                if first.as_ref().is_none_or(|(n, _)| number < *n) {
                    *first = Some((number, fault));
                }
                shared.stop.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}
