//! The end of the process, which must not come while LLVM works on another thread: the library's variables would go under its feet.
//!
//! Handlers of the process's end run in the reverse of the order in which they were asked for, and the library asks for many of its own when it
//! first uses something. So ours is asked for when the library is loaded, and once more when it has compiled something for the first time. While it does that,
//! in the background perhaps, launches do not return ([`wait_for_first_use`]), so whoever waits for their own work to be done does not end the process
//! meanwhile. What a thread keeps for itself goes before all handlers, if it is the one that ends the process.
//!
//! Nobody waits for code that nobody will run: between its passes code generation asks whether the process is ending ([`on_yield`]), and if so its thread stays there.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Calls begun. No lock: the process may be forked while somebody has it.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
/// Calls that have come to their end.
static ENDED: AtomicUsize = AtomicUsize::new(0);
/// Whose they are. The child of a fork has none of the threads that made them.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// The library has compiled something.
static WARM: AtomicBool = AtomicBool::new(false);
/// Threads that are about to use it for the first time.
static FIRST_USES: AtomicUsize = AtomicUsize::new(0);

/// A thread may be the first to use the library; begun before there is that thread.
#[derive(Debug)]
pub struct FirstUse(bool);

impl FirstUse {
    /// To be moved to the thread.
    pub fn begin() -> FirstUse {
        let cold = !WARM.load(Ordering::SeqCst);
        if cold {
            of_this_process();
            FIRST_USES.fetch_add(1, Ordering::SeqCst);
        }
        FirstUse(cold)
    }

    /// Until the library is warm, or the thread ends.
    pub fn on_this_thread(self) {
        FIRST_USE.set(Some(self));
    }
}

impl Drop for FirstUse {
    fn drop(&mut self) {
        if self.0 {
            FIRST_USES.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

thread_local! {
    static FIRST_USE: Cell<Option<FirstUse>> = const { Cell::new(None) };
}

/// The library has compiled something.
pub(super) fn is_warm() {
    WARM.store(true, Ordering::SeqCst);
    drop(FIRST_USE.take());
}

/// Waits until nobody uses the library for the first time: some milliseconds, once in a process. Not for ever: it may lie on a disk that hangs.
pub fn wait_for_first_use() {
    for _ in 0..5000 {
        let elsewhere = PROCESS.load(Ordering::SeqCst) != std::process::id();
        if FIRST_USES.load(Ordering::SeqCst) == 0 || elsewhere {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// What is counted from now on is this process's.
fn of_this_process() {
    let process = std::process::id();
    if PROCESS.swap(process, Ordering::SeqCst) != process {
        ENDED.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
        FIRST_USES.store(0, Ordering::SeqCst);
    }
}

/// A call of the library. The process waits for its end.
pub(super) struct Work(());

impl Work {
    /// None if the process is ending.
    pub(super) fn begin() -> Option<Work> {
        of_this_process();
        BEGUN.fetch_add(1, Ordering::SeqCst);
        let work = Work(());
        // After it has been counted: either this sees the end, or the end sees this.
        (!ENDING.load(Ordering::SeqCst)).then_some(work)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

/// LLVM calls this between two passes of code generation, on the thread that compiles, holding no lock.
pub(super) extern "C" fn on_yield(_: super::api::Context, _: *mut c_void) {
    if ENDING.load(Ordering::SeqCst) && PROCESS.load(Ordering::SeqCst) == std::process::id() {
        ENDED.fetch_add(1, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    }
}

/// Waits until as many calls have ended as have begun up to now.
fn wait() {
    let begun = BEGUN.load(Ordering::SeqCst);
    let ours = || PROCESS.load(Ordering::SeqCst) == std::process::id();
    while ENDED.load(Ordering::SeqCst) < begun && ours() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

struct WaitAtEnd;

impl Drop for WaitAtEnd {
    fn drop(&mut self) {
        // What the first thread keeps goes when the process does.
        if hostwarp_system::thread::is_first() {
            ENDING.store(true, Ordering::SeqCst);
        }
        wait();
    }
}

thread_local! {
    static WAIT_AT_END: WaitAtEnd = const { WaitAtEnd };
}

/// Has the calling thread wait at its end for the library's work on others. To be called by who may end the process while there is some.
pub fn wait_at_end() {
    WAIT_AT_END.with(|_| ());
}

unsafe extern "C" {
    safe fn atexit(callback: extern "C" fn()) -> c_int;
}

extern "C" fn end() {
    ENDING.store(true, Ordering::SeqCst);
    wait();
}

/// Sees to it that the process waits at its end, whichever thread ends it. To be called when the library has been loaded.
pub(super) fn watch() {
    // If there is no room for one more the end is as it would have been without.
    let _ = atexit(end);
}
