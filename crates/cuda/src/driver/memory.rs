//! Allocations and what is known of pointers.

use crate::errors::{self, Code};
use crate::state::{Allocation, MemoryKind, ready, state};
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
    let (base, allocation, mapped) = match (state.allocation(address), state.registered(address)) {
        (Some((base, allocation)), _) => (base, allocation, true),
        (None, Some((base, r))) => {
            let kind = MemoryKind::Host;
            (base, Allocation { size: r.size, kind, context: r.context, id: r.id, pool: 0 }, r.mapped)
        }
        (None, None) => return Err(errors::INVALID_VALUE),
    };
    if to.is_null() {
        return Err(errors::INVALID_VALUE);
    }
    let kind = allocation.kind;
    // SAFETY: the caller's promise: each attribute has the type that is written.
    unsafe {
        match attribute {
            1 => to.cast::<usize>().write(allocation.context),
            2 => to.cast::<c_uint>().write(if kind == MemoryKind::Host { 1 } else { 2 }),
            3 if !mapped => return Err(errors::INVALID_VALUE),
            3 => to.cast::<u64>().write(address),
            4 => match kind {
                MemoryKind::Device | MemoryKind::Graph | MemoryKind::Constant | MemoryKind::Array => {
                    return Err(errors::INVALID_VALUE);
                }
                _ => to.cast::<u64>().write(address),
            },
            6 => to.cast::<c_int>().write(0),
            7 => to.cast::<u64>().write(allocation.id),
            8 => to.cast::<c_uint>().write(u32::from(kind == MemoryKind::Managed)),
            9 => to.cast::<c_int>().write(0),
            10 => to.cast::<c_uint>().write(0),
            11 => to.cast::<u64>().write(base),
            12 => to.cast::<usize>().write(allocation.size as usize),
            13 => to.cast::<c_uint>().write(u32::from(mapped)),
            14 | 20 => to.cast::<u64>().write(0),
            15 => to.cast::<c_uint>().write(0),
            16 => to.cast::<c_int>().write(3),
            17 => to.cast::<usize>().write(allocation.pool),
            18 => to.cast::<usize>().write(allocation.size as usize),
            19 => to.cast::<u64>().write(base),
            21 => to.cast::<c_uint>().write(0),
            _ => return Err(errors::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Whether the process can read and write all of a range, as the system's list has it; where there is no list, the caller is believed.
fn is_writable(at: u64, bytes: u64) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    let Some(end) = at.checked_add(bytes) else { return false };
    let mut covered = at;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        let bounds =
            range.split_once('-').map(|(a, b)| (u64::from_str_radix(a, 16), u64::from_str_radix(b, 16)));
        // By address, so that what is covered grows or there is a gap.
        if let Some((Ok(from), Ok(to))) = bounds
            && access.starts_with("rw")
            && (from..to).contains(&covered)
        {
            covered = to;
        }
    }
    covered >= end
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
            let (_, found) = state.registered(at).ok_or(errors::INVALID_VALUE)?;
            if !found.mapped {
                return Err(errors::NOT_SUPPORTED);
            }
        }
        // SAFETY: as above.
        unsafe { out(address, at) }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) {
        let (state, at) = (state()?, pointer.addr() as u64);
        let value = match (state.allocation(at), state.registered(at)) {
            (Some((_, found)), _) if found.kind == MemoryKind::Host => 2,
            // What is registered is mapped, whether that was asked for or not.
            (None, Some((_, found))) => found.flags | 2,
            _ => return Err(errors::INVALID_VALUE),
        };
        // SAFETY: as above.
        unsafe { out(flags, value) }
    }

    fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint) {
        let state = ready()?;
        // Portable, mapped, memory of a device's, read-only.
        if pointer.is_null() || bytes == 0 || flags & !15 != 0 {
            return Err(errors::INVALID_VALUE);
        }
        if flags & 12 != 0 {
            crate::log::explain("memory of devices and read-only memory cannot be registered (CU_MEMHOSTREGISTER_IOMEMORY, _READ_ONLY)");
            return Err(errors::NOT_SUPPORTED);
        }
        let at = pointer.expose_provenance() as u64;
        if !is_writable(at, bytes as u64) {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: it is there now, and the caller promises that it stays until it is unregistered.
        unsafe { state.register(at, bytes as u64, flags) }
    }

    fn cuMemHostUnregister(pointer: *mut c_void) {
        let state = ready()?;
        let at = pointer.addr() as u64;
        state.registered(at).filter(|(base, _)| *base == at).ok_or(errors::HOST_MEMORY_NOT_REGISTERED)?;
        let waited = state.wait_all();
        state.unregister(at)?;
        waited
    }

    fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr) {
        let state = state()?;
        let own = state.allocation(address).map(|(start, found)| (start, found.size));
        let found = own.or_else(|| state.registered(address).map(|(start, found)| (start, found.size)));
        let (start, bytes) = found.ok_or(errors::NOT_FOUND)?;
        // SAFETY: as above.
        unsafe {
            put(base, start);
            put(size, bytes as usize);
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
