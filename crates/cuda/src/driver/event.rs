//! Events.

use crate::errors::{self, Code};
use crate::graph::Capture;
use crate::ops::Op;
use crate::state::{EventObject, Object, ready, state};
use crate::types::*;
use hostwarp::Event;
use std::ffi::c_uint;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

fn record(event: Handle, stream: Handle) -> Result<(), Code> {
    let state = ready()?;
    let (event, stream) = (state.event(event)?, state.stream(stream)?);
    let capture = stream.capture().clone();
    *captured(&event) = capture.clone();
    if capture.is_none() {
        state.mark(&stream, &event.event);
    }
    Ok(())
}

fn captured(event: &EventObject) -> MutexGuard<'_, Option<Capture>> {
    event.captured.lock().unwrap_or_else(|e| e.into_inner())
}

/// Nobody can ask whether an event has happened that was recorded in a capture: it does not happen there. Asking ends the capture.
fn happens(event: &EventObject) -> Result<(), Code> {
    match captured(event).as_ref() {
        Some(capture) => {
            capture.session.invalid.store(true, Ordering::Relaxed);
            Err(errors::CAPTURED_EVENT)
        }
        None => Ok(()),
    }
}

api! {
    fn cuEventCreate(to: *mut Handle, flags: c_uint) {
        let state = ready()?;
        if flags & !7 != 0 {
            return Err(errors::INVALID_VALUE);
        }
        let event = EventObject { event: Event::new(), flags, captured: Mutex::default() };
        // SAFETY: the caller's promise, here and below.
        unsafe { out(to, state.insert(Object::Event(Arc::new(event)))) }
    }

    fn cuEventDestroy_v2(event: Handle) {
        let state = state()?;
        state.event(event)?;
        state.remove(event);
        Ok(())
    }

    fn cuEventRecord / cuEventRecord_ptsz(event: Handle, stream: Handle) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint) {
        let state = ready()?;
        let (object, on) = (state.event(event)?, state.stream(stream)?);
        // Flag 1: a node of the graph, for others to see, where the stream captures.
        if flags & 1 != 0
            && let Some(capture) = on.capture().as_mut()
        {
            return capture.add(Op::Record(object));
        }
        record(event, stream)
    }

    fn cuEventQuery(event: Handle) {
        let state = ready()?;
        let event = state.event(event)?;
        happens(&event)?;
        if event.event.is_done() { Ok(()) } else { Err(errors::NOT_READY) }
    }

    fn cuEventSynchronize(event: Handle) {
        let state = ready()?;
        let event = state.event(event)?;
        happens(&event)?;
        let done = event.event.synchronize();
        state.check()?;
        done.map_err(|e| crate::state::code_of(&e))
    }

    fn cuEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) {
        elapsed(ms, start, end)
    }

    fn cuEventElapsedTime_v2(ms: *mut f32, start: Handle, end: Handle) {
        elapsed(ms, start, end)
    }
}

fn elapsed(ms: *mut f32, start: Handle, end: Handle) -> Result<(), Code> {
    let state = ready()?;
    let (start, end) = (state.event(start)?, state.event(end)?);
    if (start.flags | end.flags) & 2 != 0 || !start.event.is_recorded() || !end.event.is_recorded() {
        return Err(errors::INVALID_HANDLE);
    }
    if !start.event.is_done() || !end.event.is_done() {
        return Err(errors::NOT_READY);
    }
    let forward = end.event.elapsed_since(&start.event).unwrap_or_default();
    let backward = start.event.elapsed_since(&end.event).unwrap_or_default();
    // SAFETY: the callers' promise.
    unsafe { out(ms, (forward.as_secs_f64() - backward.as_secs_f64()) as f32 * 1e3) }
}
