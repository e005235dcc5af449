//! Launches.

use crate::attributes;
use crate::errors::{self, Code};
use crate::ops::{Launch, Op, queue};
use crate::state::{KernelObject, State, code_of, ready};
use crate::types::*;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering;

/// The parameter block out of what C has: pointers to each parameter, or a list that names a packed block.
///
/// # Safety
/// `params` has a pointer for each parameter, each to as many bytes as the parameter has; or `extra` is a list as CUDA's manual describes it.
unsafe fn pack(
    kernel: &KernelObject,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>, Code> {
    let wanted = kernel.kernel.compiled().info.param_bytes as usize;
    let mut block = vec![0; wanted];
    if !params.is_null() {
        for (i, param) in kernel.kernel.params().iter().enumerate() {
            // SAFETY: the caller's promise.
            let from = unsafe { *params.add(i) }.cast::<u8>();
            if from.is_null() {
                return Err(errors::INVALID_VALUE);
            }
            let to = &mut block[param.offset as usize..(param.offset + param.size) as usize];
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        }
        return Ok(block);
    }
    if extra.is_null() {
        return if kernel.kernel.params().is_empty() { Ok(block) } else { Err(errors::INVALID_VALUE) };
    }
    let (mut buffer, mut size, mut at) = (std::ptr::null::<u8>(), 0, 0);
    loop {
        // SAFETY: the list ends with 0.
        let (key, value) = unsafe { ((*extra.add(at)).addr(), extra.add(at + 1)) };
        match key {
            0 => break,
            // SAFETY: each key is followed by its value.
            1 => buffer = unsafe { *value }.cast(),
            // SAFETY: as above; it points to the size.
            2 => size = unsafe { *(*value).cast::<usize>() },
            _ => return Err(errors::INVALID_VALUE),
        }
        at += 2;
    }
    if buffer.is_null() && size > 0 {
        return Err(errors::INVALID_VALUE);
    }
    let len = size.min(wanted);
    // Packed by C, whose structures may end with less padding than the block.
    let last = kernel.kernel.params().iter().map(|p| (p.offset + p.size) as usize).max().unwrap_or(0);
    if len < last {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the buffer has `size` bytes.
    unsafe { std::ptr::copy_nonoverlapping(buffer, block.as_mut_ptr(), len) };
    Ok(block)
}

/// A launch that has been looked at: what is wrong with it is said now.
///
/// # Safety
/// As `pack`.
pub unsafe fn prepare(
    state: &State,
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    (params, extra): (*mut *mut c_void, *mut *mut c_void),
    cooperative: bool,
) -> Result<Launch, Code> {
    let object = state.kernel(function)?;
    let statically = object.kernel.compiled().info.declared_shared();
    let allowed = object.max_dynamic.load(Ordering::Relaxed) as u32;
    if shared > allowed {
        return Err(errors::INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    let params = unsafe { pack(&object, params, extra) }?;
    let launch =
        Launch { kernel: object.kernel.clone(), handle: function, grid, block, shared, params, cooperative };
    if let Err(error) = launch.builder().verify() {
        crate::log::explain(&error.to_string());
        return Err(code_of(&error));
    }
    if let Err(hostwarp::compile::Unusable::Unsupported { line, what }) = &object.kernel.compiled().function {
        let kernel = object.kernel.name();
        crate::log::explain(&format!("kernel `{kernel}`, line {line}: not supported yet: {what}"));
        return Err(errors::NOT_SUPPORTED);
    }
    if cooperative {
        let threads: u32 = block.iter().product();
        let per_sm = attributes::occupancy(threads as i32, u64::from(shared + statically)) as u64;
        let ctas: u64 = grid.iter().map(|n| u64::from(*n)).product();
        if ctas > per_sm * state.device.threads() as u64 {
            return Err(errors::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    Ok(launch)
}

/// # Safety
/// As `pack`.
pub unsafe fn launch(
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Handle,
    params: (*mut *mut c_void, *mut *mut c_void),
    cooperative: bool,
) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(stream)?;
    // SAFETY: the caller's promise.
    let launch = unsafe { prepare(state, function, grid, block, shared, params, cooperative) }?;
    queue(state, &stream, Op::Kernel(launch))
}

api! {
    fn cuLaunchKernel / cuLaunchKernel_ptsz(
        function: Handle, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: Handle,
        params: *mut *mut c_void, extra: *mut *mut c_void
    ) {
        // SAFETY: the caller's promise, here and below.
        unsafe { launch(function, [gx, gy, gz], [bx, by, bz], shared, stream, (params, extra), false) }
    }

    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz(
        function: Handle, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: Handle,
        params: *mut *mut c_void
    ) {
        // SAFETY: as above.
        unsafe { launch(function, [gx, gy, gz], [bx, by, bz], shared, stream, (params, std::ptr::null_mut()), true) }
    }

    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz(config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) {
        if config.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above.
        let config = unsafe { *config };
        // SAFETY: as above.
        let cooperative = unsafe { cooperative(config.attrs, config.num_attrs) }?;
        // SAFETY: as above.
        unsafe { launch(function, config.grid, config.block, config.shared, config.stream, (params, extra), cooperative) }
    }
}

/// Whether the attributes of a launch ask for a cooperative one; what cannot be done is an error.
///
/// # Safety
/// There are `count` attributes.
pub unsafe fn cooperative(attributes: *const LaunchAttribute, count: c_uint) -> Result<bool, Code> {
    let mut cooperative = false;
    for i in 0..count as usize {
        // SAFETY: the caller's promise.
        let attribute = unsafe { &*attributes.add(i) };
        match attribute.id {
            2 => cooperative |= attribute.value[0] != 0,
            4 if attribute.value[..3].iter().any(|n| *n > 1) => {
                crate::log::explain("clusters of more than one CTA are not supported yet");
                return Err(errors::NOT_SUPPORTED);
            }
            // Cache windows, policies, priorities, programmatic serialisation, memory domains: hints that change no result here, since a stream
            // runs one launch after the other.
            _ => {}
        }
    }
    Ok(cooperative)
}
