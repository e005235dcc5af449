//! Advice about managed memory: it is all one memory here, so what is said is kept for who asks, and no more.

use crate::errors::{self, Code};
use crate::state::{Advice, MemoryKind, State, ready};
use crate::types::*;
use std::ffi::{c_int, c_uint, c_void};

/// Where the host is in these functions, and nowhere.
const HOST: c_int = -1;
const NOWHERE: c_int = -2;

impl Default for Advice {
    fn default() -> Advice {
        Advice { read_mostly: false, preferred: NOWHERE, accessed: vec![], prefetched: NOWHERE }
    }
}

/// A place by its number: that of the device is 0.
fn place(location: u64) -> Result<c_int, Code> {
    match (location as u32, (location >> 32) as i32) {
        // A device, or the host in one of the ways to say so.
        (1, 0) => Ok(0),
        (1, HOST) | (2..=4, _) => Ok(HOST),
        _ => Err(errors::INVALID_DEVICE),
    }
}

/// Whether a range is managed memory; the first byte of its allocation.
fn range(state: &State, address: u64, count: usize) -> Result<u64, Code> {
    let (base, found) = state.allocation(address).ok_or(errors::INVALID_VALUE)?;
    let inside = address + count as u64 <= base + found.size;
    match found.kind {
        // A variable of the module's may be managed; those are not told apart.
        MemoryKind::Managed if inside => Ok(base),
        _ => Err(errors::INVALID_VALUE),
    }
}

fn advise(address: u64, count: usize, advice: c_int, place: c_int) -> Result<(), Code> {
    let state = ready()?;
    let base = range(state, address, count)?;
    state.advice(base, |kept| match advice {
        1 | 2 => kept.read_mostly = advice == 1,
        3 => kept.preferred = place,
        4 => kept.preferred = NOWHERE,
        5 if !kept.accessed.contains(&place) => kept.accessed.push(place),
        6 => kept.accessed.retain(|p| *p != place),
        _ => {}
    });
    if (1..=6).contains(&advice) { Ok(()) } else { Err(errors::INVALID_VALUE) }
}

fn prefetch(address: u64, count: usize, place: c_int, stream: Handle) -> Result<(), Code> {
    let state = ready()?;
    state.stream(stream)?;
    let base = range(state, address, count)?;
    state.advice(base, |kept| kept.prefetched = place);
    Ok(())
}

/// # Safety
/// `to` is null or may be written for `size` bytes.
unsafe fn attribute(
    to: *mut c_void,
    size: usize,
    attribute: c_int,
    address: u64,
    count: usize,
) -> Result<(), Code> {
    let state = ready()?;
    let base = range(state, address, count)?;
    let kept = state.advice(base, |kept| kept.clone());
    let kind = |place: c_int| if place == 0 { 1 } else { place.min(0) + 3 };
    let values = match attribute {
        1 => vec![c_int::from(kept.read_mostly)],
        2 => vec![kept.preferred],
        3 => kept.accessed,
        4 => vec![kept.prefetched],
        // A kind of place, 0 for none, and its number.
        5 | 7 => {
            let place = if attribute == 5 { kept.preferred } else { kept.prefetched };
            vec![if place == NOWHERE { 0 } else { kind(place) }]
        }
        6 => vec![kept.preferred.max(0)],
        8 => vec![kept.prefetched.max(0)],
        _ => return Err(errors::INVALID_VALUE),
    };
    if to.is_null() || size == 0 || !size.is_multiple_of(4) {
        return Err(errors::INVALID_VALUE);
    }
    for i in 0..size / 4 {
        let value = values.get(i).copied().unwrap_or(if attribute == 3 { NOWHERE } else { 0 });
        // SAFETY: the caller's promise.
        unsafe { to.cast::<c_int>().add(i).write(value) };
    }
    Ok(())
}

api! {
    fn cuMemAdvise(address: CUdeviceptr, count: usize, advice: c_int, dev: CUdevice) {
        advise(address, count, advice, dev)
    }

    fn cuMemAdvise_v2(address: CUdeviceptr, count: usize, advice: c_int, location: u64) {
        // Advice that is taken back, or that readers are many, is about no place.
        advise(address, count, advice, if matches!(advice, 1 | 2 | 4) { 0 } else { place(location)? })
    }

    fn cuMemPrefetchAsync / cuMemPrefetchAsync_ptsz(address: CUdeviceptr, count: usize, dev: CUdevice, stream: Handle) {
        prefetch(address, count, dev, stream)
    }

    fn cuMemPrefetchAsync_v2 / cuMemPrefetchAsync_v2_ptsz(address: CUdeviceptr, count: usize, location: u64, _flags: c_uint, stream: Handle) {
        prefetch(address, count, place(location)?, stream)
    }

    fn cuMemRangeGetAttribute(to: *mut c_void, size: usize, wanted: c_int, address: CUdeviceptr, count: usize) {
        // SAFETY: the caller's promise, here and below.
        unsafe { attribute(to, size, wanted, address, count) }
    }

    fn cuMemRangeGetAttributes(to: *mut *mut c_void, sizes: *const usize, wanted: *const c_int, number: usize, address: CUdeviceptr, count: usize) {
        for i in 0..number {
            // SAFETY: as above: each array has as many elements.
            unsafe { attribute(*to.add(i), *sizes.add(i), *wanted.add(i), address, count) }?;
        }
        Ok(())
    }
}
