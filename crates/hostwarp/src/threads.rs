//! The threads that run CTAs.

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, TryLockError};

/// The threads of a device: whoever launches, and others that are kept from launch to launch. Starting them anew takes longer than many
/// a kernel.
pub(crate) struct Threads {
    count: usize,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    pool: ThreadPool,
    /// A process that was forked has the pool, and none of its threads.
    process: u32,
}

impl Threads {
    /// So many, the caller's among them.
    pub(crate) fn new(count: usize) -> Threads {
        Threads { count: count.max(1), kept: Mutex::new(None) }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` on the calling thread and on others, `threads` in all, and waits for all of them. Where there can be no more threads
    /// they are fewer. A panic of one becomes the caller's when the others are done.
    pub(crate) fn run(&self, threads: usize, work: &(dyn Fn() + Sync)) {
        let others = threads.saturating_sub(1);
        // WebAssembly has one thread, and no processes that could be told apart.
        if others == 0 || cfg!(target_family = "wasm") {
            return work();
        }
        let together = |pool: Option<&ThreadPool>| match pool {
            Some(pool) => pool.in_place_scope(|scope| {
                for _ in 0..others {
                    scope.spawn(move |_| work());
                }
                work();
            }),
            None => work(),
        };
        let kept = match self.kept.try_lock() {
            Ok(kept) => Some(kept),
            Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match kept {
            Some(mut kept) if others < self.count => together(self.pool(&mut kept)),
            // Another launch has them, and may take any time or wait for this one.
            _ => together(start(others).as_ref()),
        }
    }

    fn pool<'a>(&self, kept: &'a mut Option<Kept>) -> Option<&'a ThreadPool> {
        let process = hostwarp_system::thread::process();
        if kept.as_ref().is_none_or(|kept| kept.process != process) {
            // Nobody is left to be told that the old one is gone.
            std::mem::forget(kept.take());
            *kept = start(self.count - 1).map(|pool| Kept { pool, process });
        }
        kept.as_ref().map(|kept| &kept.pool)
    }
}

fn start(threads: usize) -> Option<ThreadPool> {
    let spawn = |thread: rayon_core::ThreadBuilder| {
        let builder = std::thread::Builder::new().name(format!("hostwarp {}", thread.index()));
        hostwarp_system::thread::spawn(builder, || thread.run()).map(drop)
    };
    ThreadPoolBuilder::new().num_threads(threads).spawn_handler(spawn).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread::ThreadId;

    /// The threads of one call, all there at the same time.
    fn ids(threads: &Threads, count: usize) -> HashSet<ThreadId> {
        let (ids, all_there) = (Mutex::new(HashSet::new()), Barrier::new(count));
        threads.run(count, &|| {
            all_there.wait();
            ids.lock().expect("no panics").insert(std::thread::current().id());
        });
        ids.into_inner().expect("no panics")
    }

    #[test]
    fn threads_are_the_callers_and_others_that_are_kept() {
        let threads = Threads::new(3);
        let first = ids(&threads, 3);
        assert_eq!((first.len(), first.contains(&std::thread::current().id())), (3, true));
        assert_eq!(ids(&threads, 3), first);
        assert_eq!(ids(&threads, 1), HashSet::from([std::thread::current().id()]));
        assert_eq!(ids(&threads, 5).len(), 5, "more than are kept");
    }

    #[test]
    fn a_launch_within_another_has_threads_of_its_own() {
        let threads = Threads::new(2);
        let inner = Mutex::new(vec![]);
        threads.run(2, &|| {
            let ids = ids(&threads, 2);
            inner.lock().expect("no panics").push(ids);
        });
        let inner = inner.into_inner().expect("no panics");
        assert_eq!(inner.iter().map(HashSet::len).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_threads_go_on() {
        let threads = Threads::new(2);
        let caller = std::thread::current().id();
        for of_the_caller in [true, false] {
            let both = Barrier::new(2);
            let panics = catch_unwind(AssertUnwindSafe(|| {
                threads.run(2, &|| {
                    both.wait();
                    assert!((std::thread::current().id() == caller) != of_the_caller, "on purpose");
                });
            }));
            let what = panics.expect_err("a panic");
            assert_eq!(what.downcast_ref::<&str>(), Some(&"on purpose"));
        }
        assert_eq!(ids(&threads, 2).len(), 2);
    }
}
