//! Streams and events: work that runs beside the host, in order.

use crate::executor::Executor;
use crate::{Buffer, Device, Error, Pod};
use hostwarp_system::time::Instant;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// Work for a device that runs beside the host: launches, copies, anything else, in the order given. Different streams run at the same time
/// unless [`Stream::wait`] says otherwise, all on one set of threads. Cheap to clone: clones are the same stream.
///
/// The first error ends a stream: what is queued behind it is dropped, events recorded behind it carry the error to the streams
/// that wait for them, and [`Stream::synchronize`] returns it, now and always. Dropping a stream waits for nothing; what is queued still runs.
///
/// ```
/// # fn main() -> Result<(), hostwarp::Error> {
/// let device = hostwarp::Device::new()?;
/// let (x, stream) = (device.buffer::<u32>(3)?, device.stream());
/// stream.write(&x, 0, vec![1, 2, 3])?;
/// let copy = stream.read(&x);
/// assert_eq!(copy.wait()?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream {
    queue: Arc<Queue>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("idle", &self.is_idle()).finish_non_exhaustive()
    }
}

type Task = Box<dyn FnOnce() -> Result<(), Error> + Send>;

enum Item {
    Task(Task),
    Record(Arc<EventInner>, u64),
    Wait(Arc<EventInner>, u64),
}

/// What a stream is to the threads that run it.
pub(crate) struct Queue {
    executor: Arc<Executor>,
    state: Mutex<State>,
    progress: Condvar,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    phase: Phase,
    pushed: u64,
    finished: u64,
    error: Option<Error>,
    /// Host threads that wait for progress.
    waiting: usize,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Phase {
    /// Nothing to do.
    #[default]
    Idle,
    /// In line.
    Ready,
    /// A thread has it.
    Running,
    /// The first item waits for an event, which will put it in line again.
    Parked,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Answers how many items there have been, this one included.
    fn push(self: &Arc<Queue>, item: Item) -> u64 {
        let mut state = self.lock();
        state.pushed += 1;
        let number = state.pushed;
        if state.phase == Phase::Idle {
            // What takes no time needs no other thread.
            match &item {
                Item::Record(event, record) => {
                    state.finished = number;
                    let error = state.error.clone();
                    drop(state);
                    event.complete(*record, error);
                    return number;
                }
                Item::Wait(event, record) => {
                    if let Some(error) = event.outcome(*record) {
                        state.finished = number;
                        state.error = state.error.take().or(error);
                        return number;
                    }
                }
                Item::Task(_) => {}
            }
            state.items.push_back(item);
            state.phase = Phase::Ready;
            drop(state);
            self.executor.submit(self.clone());
        } else {
            state.items.push_back(item);
        }
        number
    }

    /// Runs all there is, unless somebody else does or it waits.
    pub(crate) fn run(self: &Arc<Queue>) {
        self.run_to(u64::MAX);
    }

    /// Runs items up to this number, unless somebody else does or it waits.
    fn run_to(self: &Arc<Queue>, last: u64) {
        let mut state = self.lock();
        if state.phase != Phase::Ready {
            return;
        }
        state.phase = Phase::Running;
        loop {
            if state.finished >= last && !state.items.is_empty() {
                state.phase = Phase::Ready;
                drop(state);
                return self.executor.submit(self.clone());
            }
            let Some(item) = state.items.pop_front() else {
                state.phase = Phase::Idle;
                return;
            };
            let dead = state.error.clone();
            if let Item::Wait(event, record) = &item {
                // Parked before the event knows of it, or it might be told to go on too early.
                state.phase = Phase::Parked;
                match event.outcome_or_tell(*record, self) {
                    Some(error) => {
                        state.phase = Phase::Running;
                        state.error = dead.or(error);
                    }
                    None => {
                        state.items.push_front(item);
                        return;
                    }
                }
            } else {
                drop(state);
                let error = match (item, dead) {
                    (Item::Task(task), None) => match catch_unwind(AssertUnwindSafe(task)) {
                        Ok(result) => result.err(),
                        Err(panic) => Some(Error::Bug(message(panic.as_ref()))),
                    },
                    (Item::Record(event, record), dead) => {
                        event.complete(record, dead);
                        None
                    }
                    // Dropped here, without the lock.
                    _ => None,
                };
                state = self.lock();
                state.error = state.error.take().or(error);
            }
            state.finished += 1;
            if state.waiting > 0 {
                self.progress.notify_all();
            }
        }
    }

    /// Puts it in line again when what it waited for has happened.
    fn unpark(self: &Arc<Queue>) {
        let mut state = self.lock();
        if state.phase == Phase::Parked {
            state.phase = Phase::Ready;
            drop(state);
            self.executor.submit(self.clone());
        }
    }

    /// Waits until so many items are done; does them itself where nobody does yet.
    fn wait_for(self: &Arc<Queue>, number: u64) -> Option<Error> {
        self.run_to(number);
        let mut state = self.lock();
        while state.finished < number {
            state.waiting += 1;
            state = self.progress.wait(state).unwrap_or_else(|e| e.into_inner());
            state.waiting -= 1;
        }
        state.error.clone()
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a task panicked").to_string()
}

impl Stream {
    pub(crate) fn new(executor: &Arc<Executor>) -> Stream {
        let (state, progress) = (Mutex::default(), Condvar::new());
        Stream { queue: Arc::new(Queue { executor: executor.clone(), state, progress }) }
    }

    /// Queues anything. It runs on one of the device's threads, or on one that waits for this stream, and must not itself wait for the stream.
    pub fn enqueue(&self, task: impl FnOnce() -> Result<(), Error> + Send + 'static) {
        self.queue.push(Item::Task(Box::new(task)));
    }

    /// Queues a copy into a buffer, from `at` on.
    pub fn write<T: Pod + Send>(&self, to: &Buffer<T>, at: usize, values: Vec<T>) -> Result<(), Error> {
        let to = to.share();
        to.range(at, values.len())?;
        self.enqueue(move || to.write(at, &values));
        Ok(())
    }

    /// Queues a copy of all elements of a buffer to the host.
    pub fn read<T: Pod + Send>(&self, from: &Buffer<T>) -> Download<T> {
        let (from, place) = (from.share(), Arc::new(Mutex::new(None)));
        let out = place.clone();
        self.enqueue(move || {
            *out.lock().unwrap_or_else(|e| e.into_inner()) = Some(from.to_vec()?);
            Ok(())
        });
        Download { stream: self.clone(), number: self.queue.lock().pushed, place }
    }

    /// Marks the place that the stream has come to: the event happens when all that is queued so far is done.
    pub fn record(&self, event: &Event) {
        let mut state = event.inner.lock();
        state.recorded += 1;
        state.by = Arc::downgrade(&self.queue);
        let record = state.recorded;
        drop(state);
        let number = self.queue.push(Item::Record(event.inner.clone(), record));
        event.inner.lock().number = number;
    }

    /// What is queued from now on waits until the event has happened as it was last recorded; one that never was is waited for by nobody.
    pub fn wait(&self, event: &Event) {
        let record = event.inner.lock().recorded;
        self.queue.push(Item::Wait(event.inner.clone(), record));
    }

    /// Waits until all that is queued so far is done. Answers the first error the stream has had.
    pub fn synchronize(&self) -> Result<(), Error> {
        let all = self.queue.lock().pushed;
        self.queue.wait_for(all).map_or(Ok(()), Err)
    }

    /// Whether everything queued is done.
    pub fn is_idle(&self) -> bool {
        let state = self.queue.lock();
        state.finished == state.pushed
    }

    /// The first error the stream has had so far.
    pub fn error(&self) -> Option<Error> {
        self.queue.lock().error.clone()
    }

    /// Whether both are the same stream.
    pub fn is(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.queue, &other.queue)
    }
}

/// A copy to the host that a [`Stream`] makes.
#[derive(Debug)]
pub struct Download<T> {
    stream: Stream,
    number: u64,
    place: Arc<Mutex<Option<Vec<T>>>>,
}

impl<T> Download<T> {
    /// Waits for the copy.
    pub fn wait(self) -> Result<Vec<T>, Error> {
        let error = self.stream.queue.wait_for(self.number);
        let copy = self.place.lock().unwrap_or_else(|e| e.into_inner()).take();
        match (copy, error) {
            // What goes wrong later is no concern of this copy's.
            (Some(copy), _) => Ok(copy),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::Bug("a copy left nothing behind".into())),
        }
    }
}

/// A place in a [`Stream`] that others, the host among them, can wait for. Cheap to clone: clones are the same event.
#[derive(Clone, Default)]
pub struct Event {
    inner: Arc<EventInner>,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct EventInner {
    state: Mutex<EventState>,
    happened: Condvar,
}

#[derive(Default)]
struct EventState {
    /// How often it has been recorded, and which of these has happened.
    recorded: u64,
    done: u64,
    at: Option<Instant>,
    error: Option<Error>,
    /// Where it was last recorded: the stream, and the number of the item.
    by: Weak<Queue>,
    number: u64,
    streams: Vec<Arc<Queue>>,
}

impl EventInner {
    fn lock(&self) -> MutexGuard<'_, EventState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn complete(&self, record: u64, error: Option<Error>) {
        let mut state = self.lock();
        if record >= state.done {
            (state.done, state.at, state.error) = (record, Some(Instant::now()), error);
        }
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        self.happened.notify_all();
        streams.iter().for_each(Queue::unpark);
    }

    /// The error of what came before a record, if that has happened.
    fn outcome(&self, record: u64) -> Option<Option<Error>> {
        let state = self.lock();
        (state.done >= record).then(|| state.error.clone())
    }

    /// As `outcome`; if it has not happened, the stream is told when it does.
    fn outcome_or_tell(&self, record: u64, queue: &Arc<Queue>) -> Option<Option<Error>> {
        let mut state = self.lock();
        if state.done >= record {
            return Some(state.error.clone());
        }
        state.streams.push(queue.clone());
        None
    }
}

impl Event {
    /// One that has not been recorded, which is waited for by nobody.
    pub fn new() -> Event {
        Event::default()
    }

    /// One that happens when [`Event::signal`] is called: streams can wait for something that none of them does.
    pub fn to_signal() -> Event {
        let event = Event::new();
        event.inner.lock().recorded = 1;
        event
    }

    /// Makes it happen, as it was last recorded.
    pub fn signal(&self) {
        let record = self.inner.lock().recorded;
        self.inner.complete(record, None);
    }

    /// Whether it has happened as it was last recorded, or never was.
    pub fn is_done(&self) -> bool {
        let state = self.inner.lock();
        state.done >= state.recorded
    }

    /// Whether it was ever recorded.
    pub fn is_recorded(&self) -> bool {
        self.inner.lock().recorded > 0
    }

    /// Waits until it has happened as it was last recorded. Answers the error of the stream, if it had one by then.
    pub fn synchronize(&self) -> Result<(), Error> {
        let state = self.inner.lock();
        let (record, number, by) = (state.recorded, state.number, state.by.upgrade());
        drop(state);
        if let Some(queue) = by {
            queue.run_to(number);
        }
        let mut state = self.inner.lock();
        while state.done < record {
            state = self.inner.happened.wait(state).unwrap_or_else(|e| e.into_inner());
        }
        state.error.clone().map_or(Ok(()), Err)
    }

    /// The time from another event to this one, if both have happened.
    pub fn elapsed_since(&self, start: &Event) -> Option<Duration> {
        let (end, start) = (self.inner.lock().at?, start.inner.lock().at?);
        Some(end.saturating_duration_since(start))
    }
}

impl Device {
    /// A new stream.
    pub fn stream(&self) -> Stream {
        Stream::new(self.executor())
    }
}
