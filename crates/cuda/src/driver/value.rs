//! Streams that wait for values in memory and write them.
//!
//! A stream that waits holds no thread: it is parked behind an event, and one thread of the process looks at the values that are waited for. It begins
//! to look when the stream has come to the wait, not before, or it might see what the stream itself is yet to overwrite.

use crate::errors::{self, Code};
use crate::graph;
use crate::ops::Op;
use crate::state::{State, StreamObject, ready, state};
use crate::types::*;
use hostwarp::Event;
use std::ffi::c_uint;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A value in memory and what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its address.
    pub at: u64,
    /// Whether it has 64 bits, or 32.
    pub wide: bool,
    /// What it is compared with.
    pub value: u64,
    /// 0: not below it, cyclically; 1: equal; 2: a bit of it is set; 3: a bit of the complement of both is.
    pub how: c_uint,
}

impl Condition {
    /// Whether a value in memory satisfies it.
    pub fn holds(&self, found: u64) -> bool {
        let mask = if self.wide { u64::MAX } else { u64::from(u32::MAX) };
        let (found, value) = (found & mask, self.value & mask);
        match self.how {
            0 if self.wide => found.wrapping_sub(value) as i64 >= 0,
            0 => (found as u32).wrapping_sub(value as u32) as i32 >= 0,
            1 => found == value,
            2 => found & value != 0,
            _ => !(found | value) & mask != 0,
        }
    }

    /// The value now; none where its memory is gone.
    fn look(&self, state: &State) -> Option<u64> {
        let memory = state.device.memory();
        match self.wide {
            true => memory.load::<u64>(self.at).ok(),
            false => memory.load::<u32>(self.at).ok().map(u64::from),
        }
    }
}

/// What streams wait for now.
#[derive(Default)]
struct Watched {
    all: Vec<(Condition, Event)>,
    has_thread: bool,
}

static WATCHED: Mutex<Watched> = Mutex::new(Watched { all: vec![], has_thread: false });
static MORE: Condvar = Condvar::new();

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Looks at the values, every few microseconds at first, and every millisecond when nothing has come of it for long.
fn watch() {
    let mut quiet = 0u32;
    let mut all = watched();
    loop {
        while all.all.is_empty() {
            quiet = 0;
            all = MORE.wait(all).unwrap_or_else(|e| e.into_inner());
        }
        let before = all.all.len();
        if let Ok(state) = state() {
            // What is gone, and what a fault has ended, nobody can wait for.
            let dead = state.check().is_err();
            all.all.retain(|(condition, event)| {
                let over = dead || condition.look(state).is_none_or(|found| condition.holds(found));
                if over {
                    event.signal();
                }
                !over
            });
        }
        quiet = if all.all.len() < before { 0 } else { quiet.saturating_add(1) };
        let pause = if quiet < 2000 { Duration::from_micros(20) } else { Duration::from_millis(1) };
        drop(all);
        std::thread::sleep(pause);
        all = watched();
    }
}

/// Lets all that wait go on.
pub fn release_all() {
    for (_, event) in std::mem::take(&mut watched().all) {
        event.signal();
    }
}

fn begin(condition: Condition, event: Event) {
    let mut all = watched();
    all.all.push((condition, event));
    if !all.has_thread {
        let spawned = std::thread::Builder::new().name("hostwarp values".into()).spawn(watch);
        all.has_thread = spawned.is_ok();
        if spawned.is_err() {
            // Nobody could ever look.
            for (_, event) in all.all.drain(..) {
                event.signal();
            }
            return;
        }
    }
    MORE.notify_one();
}

fn prepare(handle: Handle, at: u64, wide: bool) -> Result<(&'static State, Arc<StreamObject>), Code> {
    let state = ready()?;
    let stream = state.stream(handle)?;
    let size = if wide { 8 } else { 4 };
    if !at.is_multiple_of(size) || state.device.memory().check_global(at, size).is_err() {
        return Err(errors::INVALID_VALUE);
    }
    graph::refuse(&stream)?;
    Ok((state, stream))
}

fn wait_value(handle: Handle, at: u64, wide: bool, value: u64, flags: c_uint) -> Result<(), Code> {
    // The highest asks for other devices' writes to be flushed: there are none.
    let how = flags & !(1 << 30);
    if how > 3 {
        return Err(errors::INVALID_VALUE);
    }
    let (state, stream) = prepare(handle, at, wide)?;
    let (condition, event) = (Condition { at, wide, value, how }, Event::to_signal());
    let told = event.clone();
    state.queue_then_wait(&stream, move || begin(condition, told), &event);
    Ok(())
}

fn write_value(handle: Handle, at: u64, wide: bool, value: u64, flags: c_uint) -> Result<(), Code> {
    if flags > 1 {
        return Err(errors::INVALID_VALUE);
    }
    let (state, stream) = prepare(handle, at, wide)?;
    let op = Op::Value { at, value, wide };
    state.queue(&stream, move || op.run(state));
    Ok(())
}

/// `CUstreamBatchMemOpParams`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct BatchMemOp {
    pub operation: c_uint,
    pub address: u64,
    pub value: u64,
    pub flags: c_uint,
    pub rest: [u64; 2],
}

/// # Safety
/// There are as many operations as it says.
unsafe fn batch(stream: Handle, count: c_uint, ops: *const BatchMemOp, flags: c_uint) -> Result<(), Code> {
    if ops.is_null() || count == 0 || flags != 0 {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let ops = unsafe { std::slice::from_raw_parts(ops, count as usize) };
    // All or none.
    for op in ops {
        match op.operation {
            1 | 2 => drop(prepare(stream, op.address, false)?),
            4 | 5 => drop(prepare(stream, op.address, true)?),
            // Barriers, and flushes of other devices' writes: memory is one here, and operations of a stream are in order.
            3 | 6 => {}
            8 => {
                crate::log::explain(
                    "atomic reductions in streams (CU_STREAM_MEM_OP_ATOMIC_REDUCTION) are not supported yet",
                );
                return Err(errors::NOT_SUPPORTED);
            }
            _ => return Err(errors::INVALID_VALUE),
        }
    }
    for op in ops {
        let low = op.value & 0xffff_ffff;
        match op.operation {
            1 => wait_value(stream, op.address, false, low, op.flags)?,
            4 => wait_value(stream, op.address, true, op.value, op.flags)?,
            2 => write_value(stream, op.address, false, low, op.flags)?,
            5 => write_value(stream, op.address, true, op.value, op.flags)?,
            _ => {}
        }
    }
    Ok(())
}

api! {
    fn cuStreamWaitValue32_v2 / cuStreamWaitValue32_v2_ptsz(stream: Handle, address: CUdeviceptr, value: c_uint, flags: c_uint) {
        wait_value(stream, address, false, value.into(), flags)
    }

    fn cuStreamWaitValue64_v2 / cuStreamWaitValue64_v2_ptsz(stream: Handle, address: CUdeviceptr, value: u64, flags: c_uint) {
        wait_value(stream, address, true, value, flags)
    }

    fn cuStreamWriteValue32_v2 / cuStreamWriteValue32_v2_ptsz(stream: Handle, address: CUdeviceptr, value: c_uint, flags: c_uint) {
        write_value(stream, address, false, value.into(), flags)
    }

    fn cuStreamWriteValue64_v2 / cuStreamWriteValue64_v2_ptsz(stream: Handle, address: CUdeviceptr, value: u64, flags: c_uint) {
        write_value(stream, address, true, value, flags)
    }

    fn cuStreamBatchMemOp_v2 / cuStreamBatchMemOp_v2_ptsz(stream: Handle, count: c_uint, ops: *const BatchMemOp, flags: c_uint) {
        // SAFETY: the caller's promise.
        unsafe { batch(stream, count, ops, flags) }
    }

    fn cuStreamWaitValue32 / cuStreamWaitValue32_ptsz(stream: Handle, address: CUdeviceptr, value: c_uint, flags: c_uint) {
        wait_value(stream, address, false, value.into(), flags)
    }

    fn cuStreamWaitValue64 / cuStreamWaitValue64_ptsz(stream: Handle, address: CUdeviceptr, value: u64, flags: c_uint) {
        wait_value(stream, address, true, value, flags)
    }

    fn cuStreamWriteValue32 / cuStreamWriteValue32_ptsz(stream: Handle, address: CUdeviceptr, value: c_uint, flags: c_uint) {
        write_value(stream, address, false, value.into(), flags)
    }

    fn cuStreamWriteValue64 / cuStreamWriteValue64_ptsz(stream: Handle, address: CUdeviceptr, value: u64, flags: c_uint) {
        write_value(stream, address, true, value, flags)
    }

    fn cuStreamBatchMemOp / cuStreamBatchMemOp_ptsz(stream: Handle, count: c_uint, ops: *const BatchMemOp, flags: c_uint) {
        // SAFETY: the caller's promise.
        unsafe { batch(stream, count, ops, flags) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header's words, once more: `(int32_t)(*addr - value) >= 0`, `*addr == value`, `*addr & value`, `~(*addr | value)`.
    #[test]
    fn conditions_are_those_of_the_header() {
        let holds = |how, wide, found: u64, value: u64| Condition { at: 0, wide, value, how }.holds(found);
        let values = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, 1 << 63, u64::MAX];
        for found in values {
            for value in values {
                let (f, v) = (found as i32, value as i32);
                let narrow = [f.wrapping_sub(v) >= 0, f == v, f & v != 0, !(f | v) != 0];
                let (f, v) = (found as i64, value as i64);
                let wide = [f.wrapping_sub(v) >= 0, f == v, f & v != 0, !(f | v) != 0];
                for how in 0..4 {
                    assert_eq!(
                        holds(how as u32, false, found, value),
                        narrow[how],
                        "{how} {found:#x} {value:#x}"
                    );
                    assert_eq!(
                        holds(how as u32, true, found, value),
                        wide[how],
                        "{how} {found:#x} {value:#x}"
                    );
                }
            }
        }
    }
}
