//! How far a long run is, on a line of its own that goes away.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A run that takes less shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: u64 = 40;

/// A bar on standard error.
pub struct Bar {
    began: Instant,
    /// When it was last drawn.
    drawn: Mutex<Option<Instant>>,
}

impl Bar {
    pub fn new() -> Bar {
        Bar { began: Instant::now(), drawn: Mutex::new(None) }
    }

    /// So many of all are done. May be called from any thread, as often as one likes.
    pub fn show(&self, done: u64, all: u64) {
        let spent = self.began.elapsed();
        // Who finds it locked has nothing to add.
        let Ok(mut drawn) = self.drawn.try_lock() else { return };
        if spent < PATIENCE || drawn.is_some_and(|d| d.elapsed() < EVERY) {
            return;
        }
        *drawn = Some(Instant::now());
        let _ = write!(std::io::stderr(), "\r{}\x1b[K", line(done, all, spent));
    }

    /// Takes it away.
    pub fn clear(self) {
        if self.drawn.into_inner().is_ok_and(|d| d.is_some()) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(done: u64, all: u64, spent: Duration) -> String {
    let (done, all) = (done.min(all), all.max(1));
    let full = (u128::from(WIDTH) * u128::from(done) / u128::from(all)) as usize;
    let left = spent.as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(WIDTH as usize - full));
    format!("{bar} {done}/{all} CTAs, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_is_done_and_left() {
        let at = |done| line(done, 200, Duration::from_secs(3));
        assert_eq!(at(50), format!("{}{} 50/200 CTAs, 9 s left", "█".repeat(10), "░".repeat(30)));
        assert!(at(200).ends_with("200/200 CTAs, 0 s left"));
        assert!(line(0, 0, Duration::ZERO).ends_with("0/1 CTAs, 0 s left"));
    }
}
