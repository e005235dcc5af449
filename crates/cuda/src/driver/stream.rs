//! Streams, callbacks and captures.

use crate::driver::After;
use crate::errors::{self, Code};
use crate::graph::{self, SharedGraph, lock};
use crate::ops::{HostCall, Op, queue};
use crate::state::{Object, State, StreamObject, current, ready, state};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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

/// # Safety
/// There are as many nodes to begin behind as it says.
unsafe fn begin_capture(handle: Handle, graph: Option<Handle>, (after, count): After) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(handle)?;
    // The default stream waits for others, which a graph cannot.
    if handle <= 1 {
        return Err(errors::STREAM_CAPTURE_UNSUPPORTED);
    }
    let (graph, into) = match graph {
        Some(handle) => (state.graph(handle)?, handle),
        None => {
            let graph = SharedGraph::default();
            (graph.clone(), state.insert(Object::Graph(graph)))
        }
    };
    let after = match count {
        0 => vec![],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(after, count) }.to_vec(),
    };
    if !lock(&graph).has_all(&after) {
        return Err(errors::INVALID_VALUE);
    }
    graph::begin(&stream, graph, into, after)
}

/// # Safety
/// The pointers are null or may be written.
unsafe fn capture_info(
    stream: Handle,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    dependencies: *mut *const Handle,
    count: *mut usize,
) -> Result<(), Code> {
    let stream = ready()?.stream(stream)?;
    let capture = stream.capture();
    let now = capture.as_ref();
    // SAFETY: the caller's promise.
    unsafe {
        out(status, now.map_or(0, |c| if c.session.invalid.load(Ordering::Relaxed) { 2 } else { 1 }))?;
        put(id, now.map_or(0, |c| c.session.handle as u64));
        put(graph, now.map_or(0, |c| c.session.handle));
        put(dependencies, now.map_or(std::ptr::null(), |c| c.after.as_ptr()));
        put(count, now.map_or(0, |c| c.after.len()));
    }
    Ok(())
}

/// # Safety
/// There are as many nodes as it says.
unsafe fn update_dependencies(stream: Handle, (nodes, count): After, flags: c_uint) -> Result<(), Code> {
    let stream = ready()?.stream(stream)?;
    let mut capture = stream.capture();
    let capture = capture.as_mut().ok_or(errors::ILLEGAL_STATE)?;
    let nodes = match count {
        0 => vec![],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts(nodes, count) }.to_vec(),
    };
    if !lock(&capture.session.graph).has_all(&nodes) {
        return Err(errors::INVALID_VALUE);
    }
    // 0 adds, 1 sets.
    if flags == 1 {
        capture.after.clear();
    }
    capture.after.extend(nodes);
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
            Some(Object::Stream(object)) => {
                state.remove(stream);
                state.leave(object);
                Ok(())
            }
            _ => Err(errors::INVALID_HANDLE),
        }
    }

    fn cuStreamSynchronize / cuStreamSynchronize_ptsz(stream: Handle) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        graph::refuse(&stream)?;
        state.wait(&stream)
    }

    fn cuStreamQuery / cuStreamQuery_ptsz(stream: Handle) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        graph::refuse(&stream)?;
        query(state, &stream)
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

    fn cuStreamSetAttribute / cuStreamSetAttribute_ptsz(stream: Handle, _attribute: c_uint, _value: *const [u32; 16]) {
        // Windows of the cache, policies and priorities: hints that change no result.
        ready()?.stream(stream).map(drop)
    }

    fn cuStreamGetAttribute / cuStreamGetAttribute_ptsz(stream: Handle, attribute: c_uint, value: *mut [u32; 16]) {
        let stream = ready()?.stream(stream)?;
        let mut all = [0; 16];
        // 8: the priority; what else there is was never set.
        all[0] = if attribute == 8 { stream.priority as u32 } else { 0 };
        // SAFETY: as above.
        unsafe { out(value, all) }
    }

    fn cuStreamCopyAttributes / cuStreamCopyAttributes_ptsz(to: Handle, from: Handle) {
        let state = ready()?;
        state.stream(from)?;
        state.stream(to).map(drop)
    }

    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz(stream: Handle, _address: CUdeviceptr, _length: usize, _flags: c_uint) {
        ready()?.stream(stream).map(drop)
    }

    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) {
        let state = ready()?;
        let (stream, event) = (state.stream(stream)?, state.event(event)?);
        let captured = event.captured.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(captured) = captured {
            return graph::join(&stream, &captured);
        }
        if let Some(capture) = stream.capture().as_mut() {
            // Flag 1: a node that waits for what happens elsewhere, whenever the graph is launched.
            if flags & 1 != 0 {
                return capture.add(Op::Wait(event));
            }
            capture.session.invalid.store(true, Ordering::Relaxed);
            return Err(errors::STREAM_CAPTURE_ISOLATION);
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
        // SAFETY: no nodes.
        unsafe { begin_capture(stream, None, (std::ptr::null(), 0)) }
    }

    fn cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz(stream: Handle, graph: Handle, after: *const Handle, _data: *const u64, count: usize, _mode: c_int) {
        // SAFETY: as above.
        unsafe { begin_capture(stream, Some(graph), (after, count)) }
    }

    fn cuStreamEndCapture / cuStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) {
        // SAFETY: as above.
        unsafe {
            put(graph, 0);
            out(graph, graph::end(&ready()?.stream(stream)?)?)
        }
    }

    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) {
        let null: *mut c_void = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe { capture_info(stream, status, null.cast(), null.cast(), null.cast(), null.cast()) }
    }

    fn cuStreamGetCaptureInfo / cuStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut c_int, id: *mut u64) {
        let null: *mut c_void = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe { capture_info(stream, status, id, null.cast(), null.cast(), null.cast()) }
    }

    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, count: *mut usize) {
        // SAFETY: as above.
        unsafe { capture_info(stream, status, id, graph, dependencies, count) }
    }

    fn cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle, data: *mut *const c_void, count: *mut usize) {
        // SAFETY: as above; no edge has data.
        unsafe {
            put(data, std::ptr::null());
            capture_info(stream, status, id, graph, dependencies, count)
        }
    }

    fn cuStreamUpdateCaptureDependencies / cuStreamUpdateCaptureDependencies_ptsz(stream: Handle, nodes: *const Handle, count: usize, flags: c_uint) {
        // SAFETY: as above.
        unsafe { update_dependencies(stream, (nodes, count), flags) }
    }

    fn cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz(stream: Handle, nodes: *const Handle, _data: *const u64, count: usize, flags: c_uint) {
        // SAFETY: as above.
        unsafe { update_dependencies(stream, (nodes, count), flags) }
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        if mode.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        Ok(())
    }
}
