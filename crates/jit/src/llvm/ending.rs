//! The end of the process, which must not come while LLVM works on another thread: the library's variables would go under its feet.
//!
//! Handlers of the process's end run in the reverse of the order in which they were asked for, and the library asks for many of its own when it
//! first uses something. So ours, asked for when it was loaded, comes too late for the first compilation. What a
//! thread keeps for itself goes before all handlers, though, if it is the one that ends the process.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Calls begun. No lock: the process may be forked while somebody has it.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
/// Calls that have come to their end.
static ENDED: AtomicUsize = AtomicUsize::new(0);
/// Whose they are. The child of a fork has none of the threads that made them.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// A call of the library. The process waits for its end.
pub(super) struct Work(());

impl Work {
    /// None if the process is ending.
    pub(super) fn begin() -> Option<Work> {
        let process = std::process::id();
        if PROCESS.swap(process, Ordering::SeqCst) != process {
            ENDED.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
        }
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

/// Waits until as many calls have ended as have begun up to now.
fn wait() {
    let begun = BEGUN.load(Ordering::SeqCst);
    let of_this_process = || PROCESS.load(Ordering::SeqCst) == std::process::id();
    while ENDED.load(Ordering::SeqCst) < begun && of_this_process() {
        std::thread::sleep(Duration::from_micros(200));
    }
}

struct WaitAtEnd;

impl Drop for WaitAtEnd {
    fn drop(&mut self) {
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
