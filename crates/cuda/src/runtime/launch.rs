//! Launches, occupancy and attributes of kernels.

use super::{ensure, kernel_of, ok};
use crate::driver;
use crate::errors::{self, Code};
use crate::types::*;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Dim3 {
    pub x: c_uint,
    pub y: c_uint,
    pub z: c_uint,
}

impl From<Dim3> for [u32; 3] {
    fn from(d: Dim3) -> [u32; 3] {
        [d.x, d.y, d.z]
    }
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct RuntimeLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: usize,
    pub stream: Handle,
    pub attrs: *const LaunchAttribute,
    pub num_attrs: c_uint,
}

thread_local! {
    static CONFIGURED: RefCell<Vec<(Dim3, Dim3, usize, Handle)>> = const { RefCell::new(vec![]) };
}

/// # Safety
/// `args` has a pointer for each parameter.
unsafe fn launch(
    kernel: Handle,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: Handle,
    cooperative: bool,
) -> Result<(), Code> {
    ensure()?;
    let (grid, block): ([u32; 3], [u32; 3]) = (grid.into(), block.into());
    let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
    if grid.contains(&0) || threads == 0 || threads > 1024 || block[2] > 64 || grid[1].max(grid[2]) > 65535 {
        return Err(errors::INVALID_CONFIGURATION);
    }
    let shared = u32::try_from(shared).map_err(|_| errors::INVALID_VALUE)?;
    // SAFETY: the caller's promise.
    unsafe { driver::launch(kernel, grid, block, shared, stream, (args, std::ptr::null_mut()), cooperative) }
}

#[allow(missing_docs)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
) -> c_uint {
    CONFIGURED.with_borrow_mut(|all| all.push((grid, block, shared, stream)));
    0
}

runtime_api! {
    fn __cudaPopCallConfiguration(grid: *mut Dim3, block: *mut Dim3, shared: *mut usize, stream: *mut c_void) {
        let top = CONFIGURED.with_borrow_mut(Vec::pop);
        let (g, b, s, on) = top.ok_or(errors::INVALID_CONFIGURATION)?;
        // SAFETY: the caller's promise, here and below.
        unsafe {
            put(grid, g);
            put(block, b);
            put(shared, s);
            put(stream.cast::<Handle>(), on);
        }
        Ok(())
    }

    fn __cudaLaunchKernel / __cudaLaunchKernel_ptsz(kernel: Handle, grid: Dim3, block: Dim3, args: *mut *mut c_void, shared: usize, stream: Handle) {
        // The handle is from before a reset, it may be.
        let kernel = kernel_of(std::ptr::without_provenance(kernel))?;
        // SAFETY: as above.
        unsafe { launch(kernel, grid, block, args, shared, stream, false) }
    }

    fn cudaLaunchKernel / cudaLaunchKernel_ptsz(function: *const c_void, grid: Dim3, block: Dim3, args: *mut *mut c_void, shared: usize, stream: Handle) {
        // SAFETY: as above.
        unsafe { launch(kernel_of(function)?, grid, block, args, shared, stream, false) }
    }

    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz(function: *const c_void, grid: Dim3, block: Dim3, args: *mut *mut c_void, shared: usize, stream: Handle) {
        // SAFETY: as above.
        unsafe { launch(kernel_of(function)?, grid, block, args, shared, stream, true) }
    }

    fn cudaLaunchKernelExC / cudaLaunchKernelExC_ptsz(config: *const RuntimeLaunchConfig, function: *const c_void, args: *mut *mut c_void) {
        if config.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe {
            let c = *config;
            let cooperative = driver::cooperative(c.attrs, c.num_attrs)?;
            launch(kernel_of(function)?, c.grid, c.block, args, c.shared, c.stream, cooperative)
        }
    }

    fn cudaFuncGetAttributes(to: *mut [u32; 36], function: *const c_void) {
        let state = ensure()?;
        let kernel = state.kernel(kernel_of(function)?)?;
        let get = |n| driver::kernel_attribute(state, &kernel, n).map(|v| v as u32);
        let mut all = [0; 36];
        // Three sizes of 64 bits, then numbers of 32 in the driver's order of attributes, threads first.
        (all[0], all[2], all[4]) = (get(1)?, get(2)?, get(3)?);
        (all[6], all[7], all[8], all[9], all[10]) = (get(0)?, get(4)?, get(5)?, get(6)?, get(7)?);
        (all[11], all[12]) = (get(8)?, get(9)?);
        // SAFETY: as above.
        unsafe { out(to, all) }
    }

    fn cudaFuncGetName(name: *mut *const c_char, function: *const c_void) {
        // SAFETY: as above.
        ok(unsafe { driver::cuFuncGetName(name, kernel_of(function)?) })
    }

    fn cudaFuncGetParamCount(function: *const c_void, count: *mut usize) {
        let kernel = ensure()?.kernel(kernel_of(function)?)?;
        // SAFETY: as above.
        unsafe { out(count, kernel.kernel.params().len()) }
    }

    fn cudaFuncGetParamInfo(function: *const c_void, index: usize, offset: *mut usize, size: *mut usize) {
        // SAFETY: as above.
        ok(unsafe { driver::cuFuncGetParamInfo(kernel_of(function)?, index, offset, size) })
    }

    fn cudaFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) {
        let kernel = ensure()?.kernel(kernel_of(function)?)?;
        driver::set_kernel_attribute(&kernel, attribute, value)
    }

    fn cudaKernelSetAttributeForDevice(kernel: Handle, attribute: c_int, value: c_int, device: c_int) {
        if device != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        let kernel = ensure()?.kernel(kernel_of(std::ptr::without_provenance(kernel))?)?;
        driver::set_kernel_attribute(&kernel, attribute, value)
    }

    fn cudaFuncSetCacheConfig(function: *const c_void, _config: c_int) {
        kernel_of(function).map(drop)
    }

    fn cudaFuncSetSharedMemConfig(function: *const c_void, _config: c_int) {
        kernel_of(function).map(drop)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, function: *const c_void, threads: c_int, dynamic: usize) {
        let blocks = driver::blocks(kernel_of(function)?, threads, dynamic)?;
        // SAFETY: as above.
        unsafe { out(count, blocks) }
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: *mut c_int, function: *const c_void, threads: c_int, dynamic: usize, _flags: c_uint) {
        let blocks = driver::blocks(kernel_of(function)?, threads, dynamic)?;
        // SAFETY: as above.
        unsafe { out(count, blocks) }
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: *const c_void, blocks: c_int, threads: c_int) {
        // SAFETY: as above.
        ok(unsafe { driver::cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel_of(function)?, blocks, threads) })
    }
}
