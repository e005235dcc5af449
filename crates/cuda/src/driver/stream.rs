//! Streams, callbacks and captures.

use crate::errors::{self, Code};
use crate::ops::{Graph, HostCall, Op, queue};
use crate::state::{Capture, Object, State, StreamObject, current, ready, state};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, MutexGuard};

fn capture(stream: &StreamObject) -> MutexGuard<'_, Option<Capture>> {
    stream.capture.lock().unwrap_or_else(|e| e.into_inner())
}

fn create(to: *mut Handle, flags: c_uint, priority: c_int) -> Result<(), Code> {
    let state = ready()?;
    if flags & !1 != 0 {
        return Err(errors::INVALID_VALUE);
    }
    let handle = state.insert(Object::Stream(state.new_stream(flags, priority)));
    // SAFETY: the callers' promise.
    unsafe { out(to, handle) }
}

/// Whether everything on a stream is done.
pub fn query(state: &State, stream: &StreamObject) -> Result<(), Code> {
    state.check()?;
    if stream.stream.is_idle() { Ok(()) } else { Err(errors::NOT_READY) }
}

fn begin_capture(stream: &Arc<StreamObject>, is_default: bool) -> Result<(), Code> {
    let state = ready()?;
    if is_default {
        return Err(errors::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut capture = capture(stream);
    if capture.is_some() {
        return Err(errors::ILLEGAL_STATE);
    }
    let graph = Arc::new(Mutex::new(Graph::default()));
    let handle = state.insert(Object::Graph(graph.clone()));
    *capture = Some(Capture { graph, handle, after: vec![], origin: true });
    Ok(())
}

api! {
    fn cuStreamCreate(to: *mut Handle, flags: c_uint) {
        create(to, flags, 0)
    }

    fn cuStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: Handle) {
        let state = state()?;
        match state.object(stream) {
            Some(Object::Stream(_)) => {
                state.remove(stream);
                Ok(())
            }
            _ => Err(errors::INVALID_HANDLE),
        }
    }

    fn cuStreamSynchronize / cuStreamSynchronize_ptsz(stream: Handle) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        if capture(&stream).is_some() {
            return Err(errors::STREAM_CAPTURE_UNSUPPORTED);
        }
        state.wait(&stream)
    }

    fn cuStreamQuery / cuStreamQuery_ptsz(stream: Handle) {
        let state = ready()?;
        query(state, &*state.stream(stream)?)
    }

    fn cuStreamGetPriority / cuStreamGetPriority_ptsz(stream: Handle, priority: *mut c_int) {
        // SAFETY: the caller's promise, here and below.
        unsafe { out(priority, ready()?.stream(stream)?.priority) }
    }

    fn cuStreamGetFlags / cuStreamGetFlags_ptsz(stream: Handle, flags: *mut c_uint) {
        // SAFETY: as above.
        unsafe { out(flags, ready()?.stream(stream)?.flags) }
    }

    fn cuStreamGetId / cuStreamGetId_ptsz(stream: Handle, id: *mut u64) {
        // SAFETY: as above.
        unsafe { out(id, ready()?.stream(stream)?.id) }
    }

    fn cuStreamGetCtx / cuStreamGetCtx_ptsz(stream: Handle, context: *mut Handle) {
        ready()?.stream(stream)?;
        // SAFETY: as above.
        unsafe { out(context, current().unwrap_or(0)) }
    }

    fn cuStreamGetDevice / cuStreamGetDevice_ptsz(stream: Handle, dev: *mut CUdevice) {
        ready()?.stream(stream)?;
        // SAFETY: as above.
        unsafe { out(dev, 0) }
    }

    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz(stream: Handle, _address: CUdeviceptr, _length: usize, _flags: c_uint) {
        ready()?.stream(stream).map(drop)
    }

    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz(stream: Handle, event: Handle, _flags: c_uint) {
        let state = ready()?;
        let (stream, event) = (state.stream(stream)?, state.event(event)?);
        let captured = event.captured.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some((graph, handle, after)) = captured {
            // The stream joins the capture.
            let mut capture = capture(&stream);
            let joined = capture.get_or_insert_with(|| Capture { graph, handle, after: vec![], origin: false });
            joined.after.extend(after);
            return Ok(());
        }
        stream.stream.wait(&event.event);
        Ok(())
    }

    fn cuStreamAddCallback / cuStreamAddCallback_ptsz(handle: Handle, callback: StreamCallback, data: *mut c_void, _flags: c_uint) {
        let state = ready()?;
        let stream = state.stream(handle)?;
        let data = data.expose_provenance();
        let call = move || callback(handle, 0, std::ptr::with_exposed_provenance_mut(data));
        queue(state, &stream, Op::Host(HostCall::Other(Arc::new(call))))
    }

    fn cuLaunchHostFunc / cuLaunchHostFunc_ptsz(stream: Handle, function: HostFn, data: *mut c_void) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        queue(state, &stream, Op::Host(HostCall::Function(function, data.expose_provenance())))
    }

    fn cuLaunchHostFunc_v2 / cuLaunchHostFunc_v2_ptsz(stream: Handle, function: HostFn, data: *mut c_void, _flags: c_uint) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        queue(state, &stream, Op::Host(HostCall::Function(function, data.expose_provenance())))
    }

    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz(stream: Handle, _mode: c_int) {
        begin_capture(&ready()?.stream(stream)?, stream <= 1)
    }

    fn cuStreamEndCapture / cuStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) {
        let stream = ready()?.stream(stream)?;
        let taken = capture(&stream).take().ok_or(errors::ILLEGAL_STATE)?;
        // SAFETY: as above.
        unsafe { out(graph, taken.handle) }
    }

    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) {
        let stream = ready()?.stream(stream)?;
        let active = capture(&stream).is_some();
        // SAFETY: as above.
        unsafe { out(status, c_int::from(active)) }
    }

    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, count: *mut usize) {
        let stream = ready()?.stream(stream)?;
        let capture = capture(&stream);
        // SAFETY: as above.
        unsafe {
            put(status, c_int::from(capture.is_some()));
            put(id, capture.as_ref().map_or(0, |c| c.handle as u64));
            put(graph, capture.as_ref().map_or(0, |c| c.handle));
            put(dependencies, capture.as_ref().map_or(std::ptr::null(), |c| c.after.as_ptr()));
            put(count, capture.as_ref().map_or(0, |c| c.after.len()));
        }
        Ok(())
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        if mode.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        Ok(())
    }
}
