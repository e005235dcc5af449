//! Allocations and what is known of pointers.

use crate::errors::{self, Code};
use crate::state::{MemoryKind, ready, state};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

fn free_now(address: CUdeviceptr, kinds: &[MemoryKind]) -> Result<(), Code> {
    let state = state()?;
    if address == 0 {
        return Ok(());
    }
    let (base, found) = state.allocation(address).ok_or(errors::INVALID_VALUE)?;
    if base != address || !kinds.contains(&found.kind) {
        return Err(errors::INVALID_VALUE);
    }
    // Nothing under way may use it afterwards.
    let waited = state.wait_all();
    state.release(address);
    waited
}

/// # Safety
/// `to` is null or may be written to as the attribute's type.
unsafe fn pointer_attribute(to: *mut c_void, attribute: c_int, address: u64) -> Result<(), Code> {
    let state = state()?;
    let found = state.allocation(address);
    let host = state.is_pinned(address) && found.is_none_or(|(_, a)| a.kind == MemoryKind::Host);
    let known = found.filter(|(_, a)| a.kind != MemoryKind::Constant);
    let (base, allocation) = match (found, host) {
        (Some((base, allocation)), _) => (base, Some(allocation)),
        (None, true) => (address, None),
        (None, false) => return Err(errors::INVALID_VALUE),
    };
    if to.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    let kind = allocation.map_or(MemoryKind::Host, |a| a.kind);
    // SAFETY: the caller's promise: each attribute has the type that is written.
    unsafe {
        match attribute {
            1 => to.cast::<usize>().write(allocation.map_or(0, |a| a.context)),
            2 => to.cast::<c_uint>().write(if kind == MemoryKind::Host { 1 } else { 2 }),
            3 if allocation.is_none() => return Err(errors::INVALID_VALUE),
            3 => to.cast::<u64>().write(address),
            4 => match kind {
                MemoryKind::Device | MemoryKind::Graph | MemoryKind::Constant => {
                    return Err(errors::INVALID_VALUE);
                }
                _ => to.cast::<u64>().write(address),
            },
            6 => to.cast::<c_int>().write(0),
            7 => to.cast::<u64>().write(known.map_or(0, |(_, a)| a.id)),
            8 => to.cast::<c_uint>().write(u32::from(kind == MemoryKind::Managed)),
            9 => to.cast::<c_int>().write(0),
            10 => to.cast::<c_uint>().write(0),
            11 => to.cast::<u64>().write(base),
            12 => to.cast::<usize>().write(allocation.map_or(0, |a| a.size as usize)),
            13 => to.cast::<c_uint>().write(1),
            14 | 20 => to.cast::<u64>().write(0),
            15 => to.cast::<c_uint>().write(0),
            16 => to.cast::<c_int>().write(3),
            17 => to.cast::<usize>().write(allocation.map_or(0, |a| a.pool)),
            18 => to.cast::<usize>().write(allocation.map_or(0, |a| a.size as usize)),
            19 => to.cast::<u64>().write(base),
            21 => to.cast::<c_uint>().write(0),
            _ => return Err(errors::INVALID_VALUE),
        }
    }
    Ok(())
}

fn host_alloc(to: *mut *mut c_void, bytes: usize) -> Result<(), Code> {
    let state = ready()?;
    let address = state.alloc(bytes as u64, 4096, MemoryKind::Host)?;
    // SAFETY: the callers' promise.
    unsafe { out(to, std::ptr::with_exposed_provenance_mut(address as usize)) }
}

api! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let info = ready()?.device.memory().info();
        // SAFETY: the caller's promise, here and below.
        unsafe {
            put(free, info.free as usize);
            put(total, info.capacity as usize);
        }
        Ok(())
    }

    fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) {
        let found = ready()?.alloc(bytes as u64, 512, MemoryKind::Device)?;
        // SAFETY: as above.
        unsafe { out(address, found) }
    }

    fn cuMemAllocPitch_v2(address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, _element: c_uint) {
        let row = width.checked_next_multiple_of(512).ok_or(errors::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(errors::INVALID_VALUE)?;
        let found = ready()?.alloc(bytes as u64, 512, MemoryKind::Device)?;
        // SAFETY: as above.
        unsafe {
            out(pitch, row)?;
            out(address, found)
        }
    }

    fn cuMemFree_v2(address: CUdeviceptr) {
        free_now(address, &[MemoryKind::Device, MemoryKind::Managed, MemoryKind::Graph])
    }

    fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) {
        let state = ready()?;
        if !state.device.memory().is_at_host_addresses() {
            return Err(errors::NOT_SUPPORTED);
        }
        if flags & !3 != 0 || flags == 0 {
            return Err(errors::INVALID_VALUE);
        }
        let found = state.alloc(bytes as u64, 4096, MemoryKind::Managed)?;
        // SAFETY: as above.
        unsafe { out(address, found) }
    }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) {
        host_alloc(to, bytes)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) {
        if flags & !7 != 0 {
            return Err(errors::INVALID_VALUE);
        }
        host_alloc(to, bytes)
    }

    fn cuMemFreeHost(pointer: *mut c_void) {
        free_now(pointer.addr() as u64, &[MemoryKind::Host])
    }

    fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, pointer: *mut c_void, _flags: c_uint) {
        let state = ready()?;
        let at = pointer.addr() as u64;
        if state.allocation(at).is_none() {
            if state.is_pinned(at) {
                crate::log::explain(
                    "memory that was registered with cuMemHostRegister cannot be used by kernels; allocate it with \
                     cuMemHostAlloc or cuMemAllocManaged",
                );
                return Err(errors::NOT_SUPPORTED);
            }
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe { out(address, at) }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) {
        let (_, found) = state()?.allocation(pointer.addr() as u64).ok_or(errors::INVALID_VALUE)?;
        if found.kind != MemoryKind::Host {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe { out(flags, 2) }
    }

    fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, _flags: c_uint) {
        if pointer.is_null() || bytes == 0 {
            return Err(errors::INVALID_VALUE);
        }
        ready()?.register(pointer.addr() as u64, bytes as u64)
    }

    fn cuMemHostUnregister(pointer: *mut c_void) {
        let state = ready()?;
        state.wait_all()?;
        state.unregister(pointer.addr() as u64)
    }

    fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr) {
        let (start, found) = state()?.allocation(address).ok_or(errors::NOT_FOUND)?;
        // SAFETY: as above.
        unsafe {
            put(base, start);
            put(size, found.size as usize);
        }
        Ok(())
    }

    fn cuPointerGetAttribute(to: *mut c_void, attribute: c_int, address: CUdeviceptr) {
        // SAFETY: as above.
        unsafe { pointer_attribute(to, attribute, address) }
    }

    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_int, to: *mut *mut c_void, address: CUdeviceptr) {
        for i in 0..count as usize {
            // SAFETY: as above; both arrays have `count` elements. What is not known of a pointer becomes 0, as the manual has it.
            unsafe {
                let (attribute, to) = (*attributes.add(i), *to.add(i));
                if pointer_attribute(to, attribute, address).is_err() && !to.is_null() {
                    match attribute {
                        9 => to.cast::<c_int>().write(-2),
                        2 | 6 | 8 | 10 | 13 | 15 | 16 | 21 => to.cast::<c_int>().write(0),
                        _ => to.cast::<u64>().write(0),
                    }
                }
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, _attribute: c_int, _address: CUdeviceptr) {
        Ok(())
    }
}
