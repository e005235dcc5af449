//! Stdout, and whether there is one.
//!
//! Before `main` Rust's runtime opens `/dev/null` in place of standard handles that are closed, so that no file gets their numbers by accident. What is
//! printed then is lost without a word. So it is asked before that whether stdout is open, and writing to one that was closed is an error.

use crate::seam::{self, Kind};
use std::io::{self, Write};

/// Writes all of this to stdout.
#[track_caller]
pub fn write(bytes: &[u8]) -> io::Result<()> {
    check()?;
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// To be called before something is written to stdout by other means: an error if that would be lost.
#[track_caller]
pub fn check() -> io::Result<()> {
    seam::ask(Kind::File)?;
    match early::was_closed() {
        true => Err(io::Error::other("stdout is closed")),
        false => Ok(()),
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod early {
    use std::sync::atomic::{AtomicBool, Ordering};

    static CLOSED: AtomicBool = AtomicBool::new(false);

    pub(super) fn was_closed() -> bool {
        CLOSED.load(Ordering::Relaxed)
    }

    // SAFETY: the section holds addresses of functions of this kind, which are called before `main`. This one uses nothing of Rust's runtime.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: asks for the flags of a handle; one that is not open is an error and nothing else.
        let flags = unsafe { libc::fcntl(1, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
}

#[cfg(not(target_os = "linux"))]
mod early {
    pub(super) fn was_closed() -> bool {
        false
    }
}
