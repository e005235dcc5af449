//! Devices, errors, streams and events.

use super::{LAST, ensure, forget_modules, ok};
use crate::attributes;
use crate::driver;
use crate::errors;
use crate::state;
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetLastError() -> c_int {
    let last = LAST.replace(0);
    // What a fault has left is there for good, and no earlier than somebody waits for it or calls again.
    if last == 0 { state::state().ok().and_then(|s| s.check().err()).map_or(0, |code| code.0) } else { last }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaPeekAtLastError() -> c_int {
    let last = LAST.get();
    if last == 0 { state::state().ok().and_then(|s| s.check().err()).map_or(0, |code| code.0) } else { last }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetErrorName(code: c_int) -> *const c_char {
    errors::c_runtime_name(code).as_ptr().cast()
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetErrorString(code: c_int) -> *const c_char {
    errors::c_text(code).unwrap_or("unrecognized error code\0").as_ptr().cast()
}

runtime_api! {
    fn cudaDriverGetVersion(version: *mut c_int) {
        // SAFETY: the caller's promise, here and below.
        unsafe { out(version, driver::VERSION) }
    }

    fn cudaRuntimeGetVersion(version: *mut c_int) {
        // SAFETY: as above.
        unsafe { out(version, driver::VERSION) }
    }

    fn cudaGetDeviceCount(count: *mut c_int) {
        state::init()?;
        // SAFETY: as above.
        unsafe { out(count, 1) }
    }

    fn cudaGetDevice(device: *mut c_int) {
        state::init()?;
        // SAFETY: as above.
        unsafe { out(device, 0) }
    }

    fn cudaSetDevice(device: c_int) {
        if device != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        ensure().map(drop)
    }

    fn cudaInitDevice(device: c_int, _flags: c_uint, _more: c_uint) {
        if device != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        ensure().map(drop)
    }

    fn cudaChooseDevice(device: *mut c_int, _properties: *const c_void) {
        state::init()?;
        // SAFETY: as above.
        unsafe { out(device, 0) }
    }

    fn cudaSetDeviceFlags(_flags: c_uint) {
        Ok(())
    }

    fn cudaGetDeviceFlags(flags: *mut c_uint) {
        // SAFETY: as above.
        unsafe { out(flags, 0) }
    }

    fn cudaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) {
        let state = state::init()?;
        if device != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        let found = attributes::device(state, attribute).ok_or(errors::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { out(value, found) }
    }

    fn cudaDeviceSynchronize() {
        ensure()?.wait_all()
    }

    fn cudaThreadSynchronize() {
        ensure()?.wait_all()
    }

    fn cudaDeviceReset() {
        let state = ensure()?;
        let _ = state.wait_all();
        forget_modules();
        LAST.set(0);
        // SAFETY: as above.
        ok(unsafe { driver::cuDevicePrimaryCtxReset_v2(0) })
    }

    fn cudaDeviceGetLimit(value: *mut usize, limit: c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuCtxGetLimit(value, limit) })
    }

    fn cudaDeviceSetLimit(limit: c_int, value: usize) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuCtxSetLimit(limit, value) })
    }

    fn cudaDeviceSetCacheConfig(_config: c_int) {
        ensure().map(drop)
    }

    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuCtxGetStreamPriorityRange(least, greatest) })
    }

    fn cudaDeviceCanAccessPeer(can: *mut c_int, _device: c_int, _peer: c_int) {
        // SAFETY: as above.
        unsafe { out(can, 0) }
    }

    fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) {
        Err(errors::PEER_ACCESS_UNSUPPORTED)
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) {
        Err(errors::PEER_ACCESS_UNSUPPORTED)
    }

    fn cudaDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuDeviceGetPCIBusId(text, len, device) })
    }

    fn cudaStreamCreate(to: *mut Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamCreate(to, 0) })
    }

    fn cudaStreamCreateWithFlags(to: *mut Handle, flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamCreate(to, flags) })
    }

    fn cudaStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamCreateWithPriority(to, flags, priority) })
    }

    fn cudaStreamDestroy(stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamDestroy_v2(stream) })
    }

    fn cudaStreamSynchronize / cudaStreamSynchronize_ptsz(stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamSynchronize(stream) })
    }

    fn cudaStreamQuery / cudaStreamQuery_ptsz(stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamQuery(stream) })
    }

    fn cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamWaitEvent(stream, event, flags) })
    }

    fn cudaStreamGetFlags / cudaStreamGetFlags_ptsz(stream: Handle, flags: *mut c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamGetFlags(stream, flags) })
    }

    fn cudaStreamGetPriority / cudaStreamGetPriority_ptsz(stream: Handle, priority: *mut c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamGetPriority(stream, priority) })
    }

    fn cudaStreamAddCallback / cudaStreamAddCallback_ptsz(stream: Handle, callback: StreamCallback, data: *mut c_void, flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamAddCallback(stream, callback, data, flags) })
    }

    fn cudaLaunchHostFunc / cudaLaunchHostFunc_ptsz(stream: Handle, function: HostFn, data: *mut c_void) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuLaunchHostFunc(stream, function, data) })
    }

    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz(stream: Handle, status: *mut c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamIsCapturing(stream, status) })
    }

    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz(stream: Handle, mode: c_int) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamBeginCapture_v2(stream, mode) })
    }

    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamEndCapture(stream, graph) })
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        // SAFETY: as above.
        ok(unsafe { driver::cuThreadExchangeStreamCaptureMode(mode) })
    }

    fn cudaGraphCreate(to: *mut Handle, flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphCreate(to, flags) })
    }

    fn cudaGraphInstantiate(to: *mut Handle, graph: Handle, flags: u64) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphInstantiateWithFlags(to, graph, flags) })
    }

    fn cudaGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: u64) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphInstantiateWithFlags(to, graph, flags) })
    }

    fn cudaGraphLaunch / cudaGraphLaunch_ptsz(exec: Handle, stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphLaunch(exec, stream) })
    }

    fn cudaGraphDestroy(graph: Handle) {
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphDestroy(graph) })
    }

    fn cudaGraphExecDestroy(exec: Handle) {
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphExecDestroy(exec) })
    }

    fn cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        // SAFETY: as above.
        ok(unsafe { driver::cuGraphGetNodes(graph, nodes, count) })
    }

    fn cudaEventCreate(to: *mut Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventCreate(to, 0) })
    }

    fn cudaEventCreateWithFlags(to: *mut Handle, flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventCreate(to, flags) })
    }

    fn cudaEventDestroy(event: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventDestroy_v2(event) })
    }

    fn cudaEventRecord / cudaEventRecord_ptsz(event: Handle, stream: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventRecord(event, stream) })
    }

    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, _flags: c_uint) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventRecord(event, stream) })
    }

    fn cudaEventQuery(event: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventQuery(event) })
    }

    fn cudaEventSynchronize(event: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventSynchronize(event) })
    }

    fn cudaEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventElapsedTime(ms, start, end) })
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }

    fn cudaGetDriverEntryPointByVersion / cudaGetDriverEntryPointByVersion_ptsz(name: *const c_char, to: *mut *mut c_void, version: c_uint, flags: u64, status: *mut c_int) {
        // SAFETY: as above.
        ok(unsafe { driver::cuGetProcAddress_v2(name, to, version as c_int, flags, status) })
    }

    fn cudaGetDriverEntryPoint / cudaGetDriverEntryPoint_ptsz(name: *const c_char, to: *mut *mut c_void, flags: u64, status: *mut c_int) {
        // SAFETY: as above.
        ok(unsafe { driver::cuGetProcAddress_v2(name, to, driver::VERSION, flags, status) })
    }
}
