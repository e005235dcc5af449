//! Threads.

use crate::seam::{self, Kind};
use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// The process this is: a child of a fork has what its parent had in memory, and none of its threads. WebAssembly has one process.
pub fn process() -> u32 {
    if cfg!(target_family = "wasm") { 0 } else { std::process::id() }
}

/// Whether this is the process's first thread: when that ends, the process does. False where nobody can tell.
pub fn is_first() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::thread::gettid() == rustix::process::getpid();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Starts a thread, or says why there can be no more.
#[track_caller]
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    seam::ask(Kind::Thread)?;
    builder.spawn(work)
}

/// Starts a thread that ends before its scope does, or says why there can be no more.
#[track_caller]
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    seam::ask(Kind::Thread)?;
    Builder::new().spawn_scoped(scope, work)
}
