//! Pools of memory. They keep nothing back: what is freed is free at once, so a pool is a name and what is counted under it.

use crate::errors::{self, Code};
use crate::graph::GraphMemory;
use crate::ops::{Op, queue};
use crate::state::{MemoryKind, ready, state};
use crate::types::*;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

/// All pools of the device.
pub struct Pools {
    all: HashMap<Handle, Pool>,
    current: Handle,
    next: Handle,
}

/// A pool. What it has used up is what it has reserved.
#[derive(Default)]
struct Pool {
    used: u64,
    high: u64,
    threshold: u64,
    /// The most it may have; 0: as much as there is.
    limit: u64,
    /// Which of three ways to reuse memory are forbidden.
    no_reuse: [bool; 3],
    destroyed: bool,
}

/// The device's pool.
const DEFAULT: Handle = 0x5000_0000_1000;

impl Default for Pools {
    fn default() -> Pools {
        Pools { all: HashMap::from([(DEFAULT, Pool::default())]), current: DEFAULT, next: DEFAULT }
    }
}

impl Pools {
    fn get(&mut self, pool: Handle) -> Result<&mut Pool, Code> {
        self.all.get_mut(&pool).filter(|p| !p.destroyed).ok_or(errors::INVALID_VALUE)
    }

    /// Whether a pool has room for so many bytes; 0 is no pool.
    pub fn room(&mut self, pool: Handle, bytes: u64) -> Result<(), Code> {
        if pool == 0 {
            return Ok(());
        }
        let pool = self.get(pool)?;
        match pool.limit != 0 && pool.used.saturating_add(bytes) > pool.limit {
            true => Err(errors::OUT_OF_MEMORY),
            false => Ok(()),
        }
    }

    /// Counts what was allocated from a pool.
    pub fn took(&mut self, pool: Handle, bytes: u64) {
        if let Some(pool) = self.all.get_mut(&pool) {
            pool.used += bytes;
            pool.high = pool.high.max(pool.used);
        }
    }

    /// Counts what was freed. A pool that was destroyed goes with the last of its memory.
    pub fn gave_back(&mut self, handle: Handle, bytes: u64) {
        if let Some(pool) = self.all.get_mut(&handle) {
            pool.used -= bytes;
            if pool.destroyed && pool.used == 0 {
                self.all.remove(&handle);
            }
        }
    }
}

/// Allocates in a stream's order: at once, which is early enough. In a capture the memory belongs to the graph.
fn alloc(address: *mut CUdeviceptr, bytes: usize, pool: Option<Handle>, stream: Handle) -> Result<(), Code> {
    let state = ready()?;
    let stream = state.stream(stream)?;
    let found = if stream.capture().is_some() {
        let memory = GraphMemory::new(bytes as u64)?;
        let address = memory.address;
        queue(state, &stream, Op::Alloc(memory))?;
        address
    } else {
        let pool = pool.unwrap_or_else(|| state.pools(|pools| pools.current));
        state.alloc_from(bytes as u64, 512, MemoryKind::Device, pool)?
    };
    // SAFETY: the callers' promise.
    unsafe { out(address, found) }
}

fn pool(to: *mut Handle, dev: CUdevice, which: impl FnOnce(&Pools) -> Handle) -> Result<(), Code> {
    let state = state()?;
    if dev != 0 {
        return Err(errors::INVALID_DEVICE);
    }
    // SAFETY: the callers' promise.
    unsafe { out(to, state.pools(|pools| which(pools))) }
}

/// Whether a place is the device, the only one that has pools.
///
/// # Safety
/// `location` is null or points to one.
unsafe fn on_device(location: *const MemLocation) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    match unsafe { location.as_ref() } {
        Some(MemLocation { kind: 1, id: 0 }) => Ok(()),
        Some(MemLocation { kind: 1, .. }) => Err(errors::INVALID_DEVICE),
        Some(_) => Err(errors::NOT_SUPPORTED),
        None => Err(errors::INVALID_VALUE),
    }
}

api! {
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz(address: *mut CUdeviceptr, bytes: usize, stream: Handle) {
        alloc(address, bytes, None, stream)
    }

    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz(address: *mut CUdeviceptr, bytes: usize, pool: Handle, stream: Handle) {
        state()?.pools(|pools| pools.get(pool).map(drop))?;
        alloc(address, bytes, Some(pool), stream)
    }

    fn cuMemFreeAsync / cuMemFreeAsync_ptsz(address: CUdeviceptr, stream: Handle) {
        let state = ready()?;
        let stream = state.stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        match state.allocation(address) {
            Some((base, _)) if base == address => queue(state, &stream, Op::Free(address)),
            _ => Err(errors::INVALID_VALUE),
        }
    }

    fn cuMemPoolCreate(to: *mut Handle, properties: *const MemPoolProps) {
        let state = state()?;
        // SAFETY: the caller's promise, here and below.
        let wanted = unsafe { properties.as_ref() }.ok_or(errors::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { on_device(&wanted.location) }?;
        if wanted.allocation != 1 {
            return Err(errors::INVALID_VALUE);
        }
        if wanted.handles != 0 {
            return Err(errors::NOT_SUPPORTED);
        }
        let handle = state.pools(|pools| {
            pools.next += 0x100;
            pools.all.insert(pools.next, Pool { limit: wanted.limit as u64, ..Pool::default() });
            pools.next
        });
        // SAFETY: as above.
        unsafe { out(to, handle) }
    }

    fn cuMemPoolDestroy(pool: Handle) {
        state()?.pools(|pools| {
            if pool == DEFAULT {
                return Err(errors::INVALID_VALUE);
            }
            let found = pools.get(pool)?;
            found.destroyed = true;
            if found.used == 0 {
                pools.all.remove(&pool);
            }
            if pools.current == pool {
                pools.current = DEFAULT;
            }
            Ok(())
        })
    }

    fn cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        state()?.pools(|pools| pools.get(pool).map(drop))
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *const c_void) {
        if value.is_null() {
            return Err(errors::INVALID_VALUE);
        }
        state()?.pools(|pools| {
            let pool = pools.get(pool)?;
            // SAFETY: as above: what reuses memory has 32 bits, the others 64.
            unsafe {
                match attribute {
                    1..=3 => pool.no_reuse[attribute as usize - 1] = *value.cast::<c_int>() == 0,
                    4 => pool.threshold = *value.cast::<u64>(),
                    // The high marks can be taken back to where things stand.
                    6 | 8 if *value.cast::<u64>() == 0 => pool.high = pool.used,
                    _ => return Err(errors::INVALID_VALUE),
                }
            }
            Ok(())
        })
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut c_void) {
        state()?.pools(|pools| {
            let pool = pools.get(pool)?;
            // SAFETY: as above.
            unsafe {
                match attribute {
                    1..=3 => out(value.cast::<c_int>(), c_int::from(!pool.no_reuse[attribute as usize - 1])),
                    4 => out(value.cast::<u64>(), pool.threshold),
                    5 | 7 => out(value.cast::<u64>(), pool.used),
                    6 | 8 => out(value.cast::<u64>(), pool.high),
                    _ => Err(errors::INVALID_VALUE),
                }
            }
        })
    }

    fn cuMemPoolSetAccess(pool: Handle, map: *const MemAccess, count: usize) {
        state()?.pools(|pools| pools.get(pool).map(drop))?;
        for i in 0..count {
            // SAFETY: as above.
            let access = unsafe { map.add(i).as_ref() }.ok_or(errors::INVALID_VALUE)?;
            // SAFETY: as above.
            unsafe { on_device(&access.location) }?;
            // The device's own memory is always its to read and write.
            if access.flags != 3 {
                return Err(errors::INVALID_VALUE);
            }
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(flags: *mut c_int, pool: Handle, location: *const MemLocation) {
        state()?.pools(|pools| pools.get(pool).map(drop))?;
        // SAFETY: as above.
        unsafe {
            on_device(location)?;
            out(flags, 3)
        }
    }

    fn cuDeviceGetDefaultMemPool(to: *mut Handle, dev: CUdevice) {
        pool(to, dev, |_| DEFAULT)
    }

    fn cuDeviceGetMemPool(to: *mut Handle, dev: CUdevice) {
        pool(to, dev, |pools| pools.current)
    }

    fn cuDeviceSetMemPool(dev: CUdevice, pool: Handle) {
        let state = state()?;
        if dev != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        state.pools(|pools| {
            pools.get(pool)?;
            pools.current = pool;
            Ok(())
        })
    }

    fn cuMemGetDefaultMemPool(to: *mut Handle, location: *const MemLocation, _kind: c_int) {
        // SAFETY: as above.
        unsafe { on_device(location) }?;
        pool(to, 0, |_| DEFAULT)
    }

    fn cuMemGetMemPool(to: *mut Handle, location: *const MemLocation, _kind: c_int) {
        // SAFETY: as above.
        unsafe { on_device(location) }?;
        pool(to, 0, |pools| pools.current)
    }
}
