//! Launches as they were before CUDA 4: block, parameters and shared memory are set first.

use crate::errors::{self, Code};
use crate::state::{OldLaunch, ready};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

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
