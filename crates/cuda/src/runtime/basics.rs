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

    fn cudaSetDeviceFlags(flags: c_uint) {
        // How to wait, mapped host memory, local memory that stays, copies that wait.
        if flags & !0x9f != 0 || !matches!(flags & 7, 0 | 1 | 2 | 4) {
            return Err(errors::INVALID_VALUE);
        }
        state::init()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuDevicePrimaryCtxSetFlags_v2(0, flags) })
    }

    fn cudaGetDeviceFlags(flags: *mut c_uint) {
        state::init()?;
        let mut active = 0;
        // SAFETY: as above.
        ok(unsafe { driver::cuDevicePrimaryCtxGetState(0, flags, &mut active) })
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

    fn cudaDeviceSetCacheConfig(_config: c_int) {
        ensure().map(drop)
    }

    fn cudaDeviceSetSharedMemConfig(_config: c_int) {
        ensure().map(drop)
    }

    fn cudaSetValidDevices(devices: *const c_int, count: c_int) {
        // SAFETY: as above: so many numbers.
        let all = (0..count.max(0) as usize).all(|i| unsafe { *devices.add(i) } == 0);
        if all { Ok(()) } else { Err(errors::INVALID_DEVICE) }
    }

    fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        if device != 0 || peer != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        // SAFETY: as above.
        unsafe { out(can, 0) }
    }

    fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) {
        // The current device is no peer of itself, and there is no other.
        Err(errors::INVALID_DEVICE)
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) {
        Err(errors::INVALID_DEVICE)
    }

    fn cudaStreamCreate(to: *mut Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuStreamCreate(to, 0) })
    }

    fn cudaEventCreate(to: *mut Handle) {
        ensure()?;
        // SAFETY: as above.
        ok(unsafe { driver::cuEventCreate(to, 0) })
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

forward! {
    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: c_uint) = cuEventRecordWithFlags;
    fn cudaDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) = cuDeviceGetByPCIBusId;
    fn cudaDeviceGetP2PAttribute(value: *mut c_int, attribute: c_int, device: c_int, peer: c_int) = cuDeviceGetP2PAttribute;
    fn cudaStreamGetId / cudaStreamGetId_ptsz(stream: Handle, id: *mut u64) = cuStreamGetId;
    fn cudaStreamGetDevice / cudaStreamGetDevice_ptsz(stream: Handle, device: *mut c_int) = cuStreamGetDevice;
    fn cudaStreamSetAttribute / cudaStreamSetAttribute_ptsz(stream: Handle, attribute: c_uint, value: *const [u32; 16]) = cuStreamSetAttribute;
    fn cudaStreamGetAttribute / cudaStreamGetAttribute_ptsz(stream: Handle, attribute: c_uint, value: *mut [u32; 16]) = cuStreamGetAttribute;
    fn cudaStreamCopyAttributes / cudaStreamCopyAttributes_ptsz(to: Handle, from: Handle) = cuStreamCopyAttributes;
    fn cudaCtxResetPersistingL2Cache() = cuCtxResetPersistingL2Cache;
    fn cudaDeviceGetCacheConfig(config: *mut c_int) = cuCtxGetCacheConfig;
    fn cudaDeviceGetSharedMemConfig(config: *mut c_int) = cuCtxGetSharedMemConfig;
    fn cudaDeviceGetLimit(value: *mut usize, limit: c_int) = cuCtxGetLimit;
    fn cudaDeviceSetLimit(limit: c_int, value: usize) = cuCtxSetLimit;
    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) = cuCtxGetStreamPriorityRange;
    fn cudaDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int) = cuDeviceGetPCIBusId;
    fn cudaStreamCreateWithFlags(to: *mut Handle, flags: c_uint) = cuStreamCreate;
    fn cudaStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) = cuStreamCreateWithPriority;
    fn cudaStreamDestroy(stream: Handle) = cuStreamDestroy_v2;
    fn cudaStreamSynchronize / cudaStreamSynchronize_ptsz(stream: Handle) = cuStreamSynchronize;
    fn cudaStreamQuery / cudaStreamQuery_ptsz(stream: Handle) = cuStreamQuery;
    fn cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: c_uint) = cuStreamWaitEvent;
    fn cudaStreamGetFlags / cudaStreamGetFlags_ptsz(stream: Handle, flags: *mut c_uint) = cuStreamGetFlags;
    fn cudaStreamGetPriority / cudaStreamGetPriority_ptsz(stream: Handle, priority: *mut c_int) = cuStreamGetPriority;
    fn cudaStreamAddCallback / cudaStreamAddCallback_ptsz(stream: Handle, callback: StreamCallback, data: *mut c_void, flags: c_uint) = cuStreamAddCallback;
    fn cudaLaunchHostFunc / cudaLaunchHostFunc_ptsz(stream: Handle, function: HostFn, data: *mut c_void) = cuLaunchHostFunc;
    fn cudaEventCreateWithFlags(to: *mut Handle, flags: c_uint) = cuEventCreate;
    fn cudaEventDestroy(event: Handle) = cuEventDestroy_v2;
    fn cudaEventRecord / cudaEventRecord_ptsz(event: Handle, stream: Handle) = cuEventRecord;
    fn cudaEventQuery(event: Handle) = cuEventQuery;
    fn cudaEventSynchronize(event: Handle) = cuEventSynchronize;
    fn cudaEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) = cuEventElapsedTime;
}
