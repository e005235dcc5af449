//! The clock, also where there is none.
//!
//! On `wasm32-unknown-unknown` asking the time is a panic of the standard library. There every look at the clock is a microsecond later than
//! the one before: what waits for the clock to move ends, and limits of time become limits of work.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod clock {
    pub use std::time::Instant;

    /// Time since 1970.
    pub fn since_epoch() -> std::time::Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod clock {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    static LOOKS: AtomicU64 = AtomicU64::new(0);

    /// A look at the clock.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub struct Instant(Duration);

    impl Instant {
        /// A microsecond after the last.
        pub fn now() -> Instant {
            Instant(Duration::from_micros(LOOKS.fetch_add(1, Ordering::Relaxed)))
        }

        /// Since then, up to now.
        pub fn elapsed(&self) -> Duration {
            Instant::now().0.saturating_sub(self.0)
        }

        /// Since another, nothing if that is later.
        pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
            self.0.saturating_sub(earlier.0)
        }

        /// So much later, if there is such a time.
        pub fn checked_add(&self, time: Duration) -> Option<Instant> {
            self.0.checked_add(time).map(Instant)
        }
    }

    /// Since the first look.
    pub fn since_epoch() -> Duration {
        Instant::now().0
    }
}

pub use clock::{Instant, since_epoch};
