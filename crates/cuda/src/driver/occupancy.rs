//! Occupancy.

use crate::attributes;
use crate::errors::{self, Code};
use crate::state::state;
use crate::types::*;
use std::ffi::{c_int, c_uint};

/// Blocks of a kernel that are resident on a multiprocessor.
pub fn blocks(kernel: Handle, threads: c_int, dynamic: usize) -> Result<c_int, Code> {
    let kernel = state()?.kernel(kernel)?;
    if threads <= 0 {
        return Err(errors::INVALID_VALUE);
    }
    let statically = u64::from(kernel.kernel.compiled().info.declared_shared());
    Ok(attributes::occupancy(threads, statically + dynamic as u64))
}

type SharedOf = Option<extern "C" fn(c_int) -> usize>;

fn best(kernel: Handle, shared_of: SharedOf, dynamic: usize, limit: c_int) -> Result<(c_int, c_int), Code> {
    let state = state()?;
    let most = crate::driver::kernel_attribute(state, &*state.kernel(kernel)?, 0)?;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0);
    for threads in (1..=most / 32).rev().map(|n| n * 32) {
        let dynamic = shared_of.map_or(dynamic, |f| f(threads));
        let resident = blocks(kernel, threads, dynamic)? * threads;
        if resident > best.0 * best.1 {
            best = (resident / threads, threads);
        }
    }
    if best.1 == 0 {
        best = (blocks(kernel, most, dynamic)?, most);
    }
    Ok((best.0 * state.device.threads() as c_int, best.1))
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut c_int, kernel: Handle, threads: c_int, dynamic: usize) {
        // SAFETY: the caller's promise, here and below.
        unsafe { out(count, blocks(kernel, threads, dynamic)?) }
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: *mut c_int, kernel: Handle, threads: c_int, dynamic: usize, _flags: c_uint) {
        // SAFETY: as above.
        unsafe { out(count, blocks(kernel, threads, dynamic)?) }
    }

    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, kernel: Handle, shared_of: SharedOf, dynamic: usize, limit: c_int) {
        let (blocks, threads) = best(kernel, shared_of, dynamic, limit)?;
        // SAFETY: as above.
        unsafe {
            out(grid, blocks)?;
            out(block, threads)
        }
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut c_int, block: *mut c_int, kernel: Handle, shared_of: SharedOf, dynamic: usize, limit: c_int, _flags: c_uint) {
        let (blocks, threads) = best(kernel, shared_of, dynamic, limit)?;
        // SAFETY: as above.
        unsafe {
            out(grid, blocks)?;
            out(block, threads)
        }
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, kernel: Handle, blocks: c_int, _threads: c_int) {
        let kernel = state()?.kernel(kernel)?;
        if blocks <= 0 {
            return Err(errors::INVALID_VALUE);
        }
        let each = (attributes::SHARED_PER_SM / blocks - 1024).max(0) as u64;
        let statically = u64::from(kernel.kernel.compiled().info.declared_shared());
        // SAFETY: as above.
        unsafe { out(bytes, each.min(hostwarp::MAX_SHARED).saturating_sub(statically) as usize) }
    }
}
