//! Contexts.

use crate::errors::{self, Code};
use crate::state::{ContextObject, Object, State, contexts, current, state};
use crate::types::*;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn create(out_to: *mut Handle, flags: c_uint, dev: CUdevice) -> Result<(), Code> {
    let state = state()?;
    if dev != 0 {
        return Err(errors::INVALID_DEVICE);
    }
    let handle = new_context(state, flags);
    contexts(|stack| stack.push(handle));
    // SAFETY: the callers' promise.
    unsafe { out(out_to, handle) }
}

fn new_context(state: &State, flags: u32) -> Handle {
    let limits = Mutex::new(HashMap::new());
    state.insert(Object::Context(Arc::new(ContextObject { flags: AtomicU32::new(flags), limits })))
}

/// The primary context, made when it is first wanted.
pub fn retain_primary(state: &State) -> Handle {
    let mut primary = state.primary.lock().unwrap_or_else(|e| e.into_inner());
    if primary.handle == 0 {
        primary.handle = new_context(state, primary.flags);
    }
    primary.retained += 1;
    primary.handle
}

fn reset_primary(state: &State) {
    let handle = {
        let mut primary = state.primary.lock().unwrap_or_else(|e| e.into_inner());
        primary.retained = 0;
        std::mem::take(&mut primary.handle)
    };
    destroy(state, handle);
}

fn destroy(state: &State, handle: Handle) {
    state.reset();
    state.free_all(handle);
    state.remove(handle);
    contexts(|stack| {
        if stack.last() == Some(&handle) {
            stack.pop();
        }
    });
}

fn the_current() -> Result<(&'static State, Arc<ContextObject>), Code> {
    let state = state()?;
    let context = state.context(current().ok_or(errors::INVALID_CONTEXT)?)?;
    Ok((state, context))
}

fn default_limit(limit: c_int) -> Option<usize> {
    Some(match limit {
        0 => 1024,
        1 => 1 << 20,
        2 => 8 << 20,
        3 => 2,
        4 => 2048,
        5 => 128,
        6 => 0,
        _ => return None,
    })
}

api! {
    fn cuCtxCreate_v2(context: *mut Handle, flags: c_uint, dev: CUdevice) {
        create(context, flags, dev)
    }

    fn cuCtxCreate_v3(context: *mut Handle, _params: *mut c_void, _count: c_int, flags: c_uint, dev: CUdevice) {
        create(context, flags, dev)
    }

    fn cuCtxCreate_v4(context: *mut Handle, _params: *mut c_void, flags: c_uint, dev: CUdevice) {
        create(context, flags, dev)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        let state = state()?;
        state.context(context)?;
        destroy(state, context);
        Ok(())
    }

    fn cuCtxDetach(context: Handle) {
        let state = state()?;
        state.context(context)?;
        destroy(state, context);
        Ok(())
    }

    fn cuCtxAttach(context: *mut Handle, _flags: c_uint) {
        let handle = current().ok_or(errors::INVALID_CONTEXT)?;
        // SAFETY: the caller's promise, here and below.
        unsafe { out(context, handle) }
    }

    fn cuCtxSetCurrent(context: Handle) {
        let state = state()?;
        if context != 0 {
            state.context(context)?;
        }
        contexts(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut Handle) {
        state()?;
        // SAFETY: as above.
        unsafe { out(context, current().unwrap_or(0)) }
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        state()?.context(context)?;
        contexts(|stack| stack.push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        state()?;
        let top = contexts(Vec::pop).ok_or(errors::INVALID_CONTEXT)?;
        // SAFETY: as above.
        unsafe { put(context, top) };
        Ok(())
    }

    fn cuCtxGetDevice(dev: *mut CUdevice) {
        state()?;
        current().ok_or(errors::INVALID_CONTEXT)?;
        // SAFETY: as above.
        unsafe { out(dev, 0) }
    }

    fn cuCtxGetDevice_v2(dev: *mut CUdevice, context: Handle) {
        let state = state()?;
        state.context(if context == 0 { current().unwrap_or(0) } else { context })?;
        // SAFETY: as above.
        unsafe { out(dev, 0) }
    }

    fn cuCtxSynchronize() {
        let state = state()?;
        current().ok_or(errors::INVALID_CONTEXT)?;
        state.wait_all()
    }

    fn cuCtxSynchronize_v2(context: Handle) {
        let state = state()?;
        state.context(if context == 0 { current().unwrap_or(0) } else { context })?;
        state.wait_all()
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        let (_, context) = the_current()?;
        // SAFETY: as above.
        unsafe { out(flags, context.flags.load(Ordering::Relaxed)) }
    }

    fn cuCtxSetFlags(flags: c_uint) {
        let (_, context) = the_current()?;
        context.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetId(context: Handle, id: *mut u64) {
        let handle = if context == 0 { current().unwrap_or(0) } else { context };
        state()?.context(handle)?;
        // SAFETY: as above.
        unsafe { out(id, handle as u64) }
    }

    fn cuCtxGetApiVersion(context: Handle, version: *mut c_uint) {
        let handle = if context == 0 { current().unwrap_or(0) } else { context };
        state()?.context(handle)?;
        // SAFETY: as above.
        unsafe { out(version, 3020) }
    }

    fn cuCtxGetLimit(value: *mut usize, limit: c_int) {
        let (_, context) = the_current()?;
        let default = default_limit(limit).ok_or(errors::UNSUPPORTED_LIMIT)?;
        let set = context.limits.lock().unwrap_or_else(|e| e.into_inner()).get(&limit).copied();
        // SAFETY: as above.
        unsafe { out(value, set.unwrap_or(default)) }
    }

    fn cuCtxSetLimit(limit: c_int, value: usize) {
        let (_, context) = the_current()?;
        default_limit(limit).ok_or(errors::UNSUPPORTED_LIMIT)?;
        context.limits.lock().unwrap_or_else(|e| e.into_inner()).insert(limit, value);
        Ok(())
    }

    fn cuCtxGetCacheConfig(config: *mut c_int) {
        the_current()?;
        // SAFETY: as above.
        unsafe { out(config, 0) }
    }

    fn cuCtxSetCacheConfig(_config: c_int) {
        the_current().map(drop)
    }

    fn cuCtxGetSharedMemConfig(config: *mut c_int) {
        the_current()?;
        // SAFETY: as above.
        unsafe { out(config, 1) }
    }

    fn cuCtxSetSharedMemConfig(_config: c_int) {
        the_current().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        the_current()?;
        // SAFETY: as above.
        unsafe {
            put(least, 0);
            put(greatest, 0);
        }
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        the_current().map(drop)
    }

    fn cuDevicePrimaryCtxRetain(context: *mut Handle, dev: CUdevice) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        // SAFETY: as above.
        unsafe { out(context, retain_primary(state)) }
    }

    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        let last = {
            let mut primary = state.primary.lock().unwrap_or_else(|e| e.into_inner());
            if primary.retained == 0 {
                return Err(errors::INVALID_CONTEXT);
            }
            primary.retained -= 1;
            primary.retained == 0
        };
        if last {
            reset_primary(state);
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        reset_primary(state);
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        state.primary.lock().unwrap_or_else(|e| e.into_inner()).flags = flags;
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        let primary = state.primary.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: as above.
        unsafe {
            put(flags, primary.flags);
            put(active, c_int::from(primary.handle != 0));
        }
        Ok(())
    }
}
