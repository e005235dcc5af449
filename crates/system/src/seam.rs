//! The seam: [`ask`] comes before every request to the operating system, and can be made to refuse it.
//!
//! Only builds with debug assertions have it. There is one for the whole process: a test that [arms](arm) it must be alone, or a process of its own.

use std::fmt;
use std::io;
use std::panic::Location;
use std::str::FromStr;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Kind {
    /// Address space from the system.
    Map,
    /// An allocation in a device's memory.
    Memory,
    /// A thread.
    Thread,
    /// A shared library.
    Library,
    /// Anything about a file, stdout among them.
    File,
}

impl Kind {
    /// All there are.
    pub const ALL: [Kind; 5] = [Kind::Map, Kind::Memory, Kind::Thread, Kind::Library, Kind::File];

    /// As it is written: `map`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Map => "map",
            Kind::Memory => "memory",
            Kind::Thread => "thread",
            Kind::Library => "library",
            Kind::File => "file",
        }
    }

    /// What a system says that has no more of it.
    #[cfg_attr(not(debug_assertions), allow(dead_code))]
    fn refusal(self) -> io::ErrorKind {
        match self {
            Kind::Map | Kind::Memory => io::ErrorKind::OutOfMemory,
            Kind::Thread => io::ErrorKind::WouldBlock,
            Kind::Library => io::ErrorKind::NotFound,
            Kind::File => io::ErrorKind::StorageFull,
        }
    }
}

/// Which requests fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Of this kind.
    pub kind: Kind,
    /// The first that fails, counted from 1; none does if it is 0.
    pub nth: u64,
    /// All that follow fail, too.
    pub lasting: bool,
}

/// `file:3` is the third request about a file, `file:3+` that and all after it.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.kind.name(), self.nth, if self.lasting { "+" } else { "" })
    }
}

impl FromStr for Failure {
    type Err = String;

    fn from_str(text: &str) -> Result<Failure, String> {
        let wrong = || format!("`{text}` is no KIND:N or KIND:N+");
        let (kind, nth) = text.split_once(':').ok_or_else(wrong)?;
        let kind = Kind::ALL.into_iter().find(|k| k.name() == kind).ok_or_else(wrong)?;
        let (nth, lasting) = nth.strip_suffix('+').map_or((nth, false), |n| (n, true));
        Ok(Failure { kind, nth: nth.parse().map_err(|_| wrong())?, lasting })
    }
}

/// A request that was made while the seam was armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// For what.
    pub kind: Kind,
    /// Where in the sources.
    pub place: &'static Location<'static>,
    /// Whether it was refused.
    pub refused: bool,
}

/// To be called before a request of this kind is made. An error is to be treated as the system's own.
#[inline(always)]
#[track_caller]
pub fn ask(kind: Kind) -> io::Result<()> {
    #[cfg(debug_assertions)]
    return armed::ask(kind, Location::caller());
    #[cfg(not(debug_assertions))]
    {
        let _ = kind;
        Ok(())
    }
}

#[cfg(debug_assertions)]
pub use armed::{arm, disarm};

#[cfg(debug_assertions)]
mod armed {
    use super::{Asked, Failure, Kind};
    use std::io;
    use std::panic::Location;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, MutexGuard};

    struct Armed {
        failure: Failure,
        asked: Vec<Asked>,
    }

    static IS_ARMED: AtomicBool = AtomicBool::new(false);
    static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

    fn lock() -> MutexGuard<'static, Option<Armed>> {
        ARMED.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// From now on requests are counted, and the chosen ones fail.
    pub fn arm(failure: Failure) {
        *lock() = Some(Armed { failure, asked: vec![] });
        IS_ARMED.store(true, Ordering::SeqCst);
    }

    /// Nothing fails any more. Answers what was asked for meanwhile.
    pub fn disarm() -> Vec<Asked> {
        IS_ARMED.store(false, Ordering::SeqCst);
        lock().take().map_or(vec![], |armed| armed.asked)
    }

    pub(super) fn ask(kind: Kind, place: &'static Location<'static>) -> io::Result<()> {
        if !IS_ARMED.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut armed = lock();
        let Some(Armed { failure, asked }) = &mut *armed else { return Ok(()) };
        let number = asked.iter().filter(|a| a.kind == kind).count() as u64 + 1;
        let chosen = number == failure.nth || failure.lasting && number > failure.nth;
        let refused = kind == failure.kind && failure.nth > 0 && chosen;
        asked.push(Asked { kind, place, refused });
        match refused {
            true => Err(io::Error::new(kind.refusal(), format!("made to fail ({} {number})", kind.name()))),
            false => Ok(()),
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_as_they_are_written() {
        for text in ["map:1", "memory:0", "thread:7+", "library:2", "file:12+"] {
            assert_eq!(text.parse::<Failure>().unwrap().to_string(), text);
        }
        for text in ["", "map", "map:", "maps:1", "file:+", "file:-1", "file:1++"] {
            assert!(text.parse::<Failure>().is_err(), "{text}");
        }
    }

    /// The only test here that arms it.
    #[test]
    fn the_chosen_requests_fail() {
        let refusals = |text: &str| -> Vec<bool> {
            arm(text.parse().unwrap());
            let refused = (0..4).map(|_| {
                assert!(ask(Kind::Thread).is_ok());
                ask(Kind::Map).is_err()
            });
            let refused = refused.collect();
            let asked = disarm();
            assert_eq!(asked.len(), 8);
            assert!(asked.iter().all(|a| a.place.file().ends_with("seam.rs")));
            assert_eq!(
                asked.iter().filter(|a| a.kind == Kind::Map).map(|a| a.refused).collect::<Vec<_>>(),
                refused
            );
            refused
        };
        assert_eq!(refusals("map:0"), [false; 4]);
        assert_eq!(refusals("map:2"), [false, true, false, false]);
        assert_eq!(refusals("map:3+"), [false, false, true, true]);
        assert!(ask(Kind::Map).is_ok());
    }
}
