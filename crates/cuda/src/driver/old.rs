//! Launches as they were before CUDA 4: block, parameters and shared memory are set first. And first versions of functions, by which scripts still ask for them,
//! where the second takes the same: those whose addresses had 32 bits are not there.

use crate::errors::{self, Code};
use crate::state::{OldLaunch, ready};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

fn change(function: Handle, change: impl FnOnce(&mut OldLaunch)) -> Result<(), Code> {
    let kernel = ready()?.kernel(function)?;
    change(&mut kernel.old.lock().unwrap_or_else(|e| e.into_inner()));
    Ok(())
}

fn set(function: Handle, offset: c_int, bytes: &[u8]) -> Result<(), Code> {
    let at = usize::try_from(offset).map_err(|_| errors::INVALID_VALUE)?;
    // No block of parameters is larger.
    let end = at.checked_add(bytes.len()).filter(|end| *end <= 1 << 15).ok_or(errors::INVALID_VALUE)?;
    change(function, |old| {
        old.params.resize(old.params.len().max(end), 0);
        old.params[at..end].copy_from_slice(bytes);
    })
}

fn launch(function: Handle, width: c_int, height: c_int, stream: Handle) -> Result<(), Code> {
    let kernel = ready()?.kernel(function)?;
    let (Ok(x), Ok(y)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(errors::INVALID_VALUE);
    };
    let (block, shared, mut params) = {
        let old = kernel.old.lock().unwrap_or_else(|e| e.into_inner());
        (old.block.map(|n| n.max(1)), old.shared, old.params.clone())
    };
    let mut size = params.len();
    let mut extra: [*mut c_void; 5] = [
        std::ptr::without_provenance_mut(1),
        params.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(2),
        (&raw mut size).cast(),
        std::ptr::null_mut(),
    ];
    let extra = if params.is_empty() { std::ptr::null_mut() } else { extra.as_mut_ptr() };
    // SAFETY: a list as CUDA's manual describes it, of a block that lives on.
    unsafe { super::launch(function, [x, y, 1], block, shared, stream, (std::ptr::null_mut(), extra), false) }
}

/// What another function answered.
fn of(code: c_int) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

api! {
    fn cuCtxCreate(context: *mut Handle, flags: c_uint, dev: CUdevice) {
        // SAFETY: the caller's promise is the one the second version asks for, here and below.
        of(unsafe { super::cuCtxCreate_v2(context, flags, dev) })
    }

    fn cuCtxDestroy(context: Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuCtxDestroy_v2(context) })
    }

    fn cuCtxPushCurrent(context: Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuCtxPushCurrent_v2(context) })
    }

    fn cuCtxPopCurrent(context: *mut Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuCtxPopCurrent_v2(context) })
    }

    fn cuDevicePrimaryCtxRelease(dev: CUdevice) {
        // SAFETY: as above.
        of(unsafe { super::cuDevicePrimaryCtxRelease_v2(dev) })
    }

    fn cuDevicePrimaryCtxReset(dev: CUdevice) {
        // SAFETY: as above.
        of(unsafe { super::cuDevicePrimaryCtxReset_v2(dev) })
    }

    fn cuDevicePrimaryCtxSetFlags(dev: CUdevice, flags: c_uint) {
        // SAFETY: as above.
        of(unsafe { super::cuDevicePrimaryCtxSetFlags_v2(dev, flags) })
    }

    fn cuStreamDestroy(stream: Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuStreamDestroy_v2(stream) })
    }

    fn cuEventDestroy(event: Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuEventDestroy_v2(event) })
    }

    fn cuMemHostRegister(pointer: *mut c_void, bytes: usize, flags: c_uint) {
        // SAFETY: as above.
        of(unsafe { super::cuMemHostRegister_v2(pointer, bytes, flags) })
    }

    fn cuLinkCreate(count: c_uint, options: *const c_int, values: *mut *mut c_void, to: *mut Handle) {
        // SAFETY: as above.
        of(unsafe { super::cuLinkCreate_v2(count, options, values, to) })
    }

    fn cuLinkAddData(linker: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char, count: c_uint, options: *const c_int, values: *mut *mut c_void) {
        // SAFETY: as above.
        of(unsafe { super::cuLinkAddData_v2(linker, kind, data, size, name, count, options, values) })
    }

    fn cuLinkAddFile(linker: Handle, kind: c_int, path: *const c_char, count: c_uint, options: *const c_int, values: *mut *mut c_void) {
        // SAFETY: as above.
        of(unsafe { super::cuLinkAddFile_v2(linker, kind, path, count, options, values) })
    }
}

api! {
    fn cuFuncSetBlockShape(function: Handle, x: c_int, y: c_int, z: c_int) {
        if x <= 0 || y <= 0 || z <= 0 {
            return Err(errors::INVALID_VALUE);
        }
        change(function, |old| old.block = [x as u32, y as u32, z as u32])
    }

    fn cuFuncSetSharedSize(function: Handle, bytes: c_uint) {
        change(function, |old| old.shared = bytes)
    }

    fn cuParamSetSize(function: Handle, bytes: c_uint) {
        if bytes > 1 << 15 {
            return Err(errors::INVALID_VALUE);
        }
        change(function, |old| old.params.resize(bytes as usize, 0))
    }

    fn cuParamSeti(function: Handle, offset: c_int, value: c_uint) {
        set(function, offset, &value.to_le_bytes())
    }

    fn cuParamSetf(function: Handle, offset: c_int, value: f32) {
        set(function, offset, &value.to_le_bytes())
    }

    fn cuParamSetv(function: Handle, offset: c_int, value: *const c_void, bytes: c_uint) {
        if value.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: the caller's promise: there are so many bytes.
        set(function, offset, unsafe { std::slice::from_raw_parts(value.cast(), bytes as usize) })
    }

    fn cuLaunch(function: Handle) {
        launch(function, 1, 1, 0)
    }

    fn cuLaunchGrid(function: Handle, width: c_int, height: c_int) {
        launch(function, width, height, 0)
    }

    fn cuLaunchGridAsync(function: Handle, width: c_int, height: c_int, stream: Handle) {
        launch(function, width, height, stream)
    }
}
