//! `--timeout` and `--memory`: from the first byte that is read to the last that is written.
//!
//! Commands look at their limits where their time goes. What cannot be stopped (a pipe nobody writes to, a reader that does not read, LLVM) is
//! ended with the process, a moment after the deadline.

use crate::failure::{Exit, Failure};
use crate::output;
use hostwarp::{Exceeded, Limits};
use hostwarp_system::{exit, thread};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits of a command.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LimitArgs {
    /// Stop after so many seconds, whatever is under way.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, help_heading = "Everywhere")]
    timeout: Option<Duration>,
    /// Take no more than about so much of the host's memory: 500M, 4G [default: what the host has].
    #[arg(long, global = true, value_name = "BYTES", value_parser = bytes, help_heading = "Everywhere")]
    memory: Option<u64>,
}

/// What the command works within.
static LIMITS: OnceLock<Limits> = OnceLock::new();

/// What the command works within.
pub fn limits() -> &'static Limits {
    LIMITS.get_or_init(Limits::new)
}

/// Whether the time was up before the command was done.
static TIME_IS_UP: AtomicBool = AtomicBool::new(false);

/// Commands that look get so much longer than their deadline.
const GRACE: Duration = Duration::from_millis(500);

impl LimitArgs {
    /// Whether there are any.
    pub fn given(&self) -> bool {
        self.timeout.is_some() || self.memory.is_some()
    }

    /// The limits, from now on.
    pub fn begin(&self) -> &'static Limits {
        let mut limits = Limits::new();
        if let Some(time) = self.timeout {
            limits = limits.with_timeout(time);
        }
        if let Some(bytes) = self.memory {
            limits = limits.with_memory(bytes);
        }
        if let Some(end) = limits.deadline.and_then(|deadline| deadline.checked_add(GRACE)) {
            let name = std::thread::Builder::new().name("deadline".into());
            // Without it what looks at its limits still stops.
            let _ = thread::spawn(name, move || {
                std::thread::sleep(end.saturating_duration_since(Instant::now()));
                output::complain("the time limit has passed\nhelp: allow more with --timeout");
                exit::now(Exit::Fault as i32);
            });
        }
        LIMITS.get_or_init(|| limits)
    }
}

/// A limit that was reached, and what allows more.
pub fn exceeded(exceeded: Exceeded, during: Option<&str>) -> Failure {
    let (exit, more) = match exceeded {
        Exceeded::Timeout => (Exit::Fault, "\nhelp: allow more with --timeout"),
        Exceeded::Memory { .. } => (Exit::Launch, "\nhelp: allow more with --memory, if the host has more"),
        Exceeded::OutOfFuel => (Exit::Fault, "\nhelp: allow more with --fuel"),
        Exceeded::Cancelled => (Exit::Fault, ""),
    };
    if exceeded == Exceeded::Timeout {
        time_is_up();
    }
    let during = during.map(|during| format!("{during}: ")).unwrap_or_default();
    Failure::new(exit, format!("{during}{exceeded}{more}"))
}

/// Has the process end without waiting for what other threads do: LLVM may take long.
pub fn time_is_up() {
    TIME_IS_UP.store(true, Ordering::Relaxed);
}

/// Ends the process.
pub fn exit(code: i32) -> ! {
    if TIME_IS_UP.load(Ordering::Relaxed) {
        exit::now(code);
    }
    std::process::exit(code)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let s: f64 = text.trim_end_matches('s').parse().map_err(|_| "not a number of seconds".to_string())?;
    Duration::try_from_secs_f64(s).map_err(|_| "not a time from 0 to 10^19 seconds".to_string())
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "k" | "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("not a number of bytes: 1000000, 500M or 4G".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes: 1000000, 500M or 4G".to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than there can be".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(seconds("2s"), Ok(Duration::from_secs(2)));
        assert!(["-1", "nan", "soon"].iter().all(|text| seconds(text).is_err()));
        let sizes =
            [("17", 17), ("2k", 2048), ("3M", 3 << 20), ("4GiB", 4 << 30), ("1TB", 1 << 40), ("5B", 5)];
        assert!(sizes.iter().all(|(text, size)| bytes(text) == Ok(*size)));
        assert!(["", "G", "-1", "1.5G", "3X", "99999999T"].iter().all(|text| bytes(text).is_err()));
    }
}
