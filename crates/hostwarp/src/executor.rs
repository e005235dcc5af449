//! The threads that run streams: one set for a device, however many streams there are.
//!
//! A stream that has something to do stands in line once. Whoever takes it from there, a thread of the set or one that waits for the stream
//! anyway, runs its items in order until it is empty or has to wait for an event; a waiting stream holds no thread.

use crate::stream::Queue;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Streams that run at the same time: kernels of different streams may wait for each other, so it is more than there are cores.
const MOST: usize = 32;

#[derive(Default)]
pub(crate) struct Executor {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Queue>>,
    threads: usize,
    idle: usize,
    /// A process that was forked has none of the threads.
    process: u32,
    closed: bool,
}

impl Executor {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Puts a stream in line.
    pub(crate) fn submit(self: &Arc<Executor>, queue: Arc<Queue>) {
        let mut state = self.lock();
        let process = hostwarp_system::thread::process();
        if state.process != process {
            (state.process, state.threads, state.idle) = (process, 0, 0);
        }
        state.ready.push_back(queue);
        if state.idle >= state.ready.len() {
            drop(state);
            return self.wake.notify_one();
        }
        if state.threads == MOST {
            return;
        }
        let executor = self.clone();
        let builder = std::thread::Builder::new().name("hostwarp stream".into());
        match hostwarp_system::thread::spawn(builder, move || executor.work()) {
            Ok(_) => state.threads += 1,
            // Whoever is there takes it in turn; where nobody is, the caller does it.
            Err(_) if state.threads > 0 => {}
            Err(_) => {
                let all = std::mem::take(&mut state.ready);
                drop(state);
                all.iter().for_each(Queue::run);
            }
        }
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(queue) = state.ready.pop_front() {
                drop(state);
                queue.run();
                // It may be the last to know of its device, whose end closes this.
                drop(queue);
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.wake.wait(state).unwrap_or_else(|e| e.into_inner());
                state.idle = state.idle.saturating_sub(1);
            }
        }
    }

    /// Lets the threads end when nothing is left to do.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }
}
