//! Global memory of one device.

use crate::arena::Arena;
use crate::fault::{Access, Fault, FaultKind, MemoryError};
use crate::foreign::{Foreign, HOST_LIMIT};
use crate::map::{self, GLOBAL_BASE, GLOBAL_LIMIT, NULL_LIMIT, Space};
use crate::run::GlobalRun;
use crate::scalar::{AtomicInt, AtomicOp, AtomicScalar, Scalar};
use crate::table::{GRANULE, Known, Table};
use hostwarp_system::seam;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Bytes of global memory unless told otherwise. Address space only: host memory is used as it is touched.
pub const DEFAULT_CAPACITY: u64 = if cfg!(target_pointer_width = "64") { 16 << 30 } else { 256 << 20 };

/// Below this no device is worth having, so the search for a capacity the host grants ends here.
const LEAST_CAPACITY: u64 = 16 << 20;

/// What a compiled kernel needs to check and reach global memory by itself; see the crate's documentation for the
/// check. Valid as long as the [`DeviceMemory`] it came from. The layout is fixed: five 8-byte fields on 64-bit hosts,
/// in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawView {
    /// Device address of the first byte that can be global memory.
    pub global_base: u64,
    /// Bytes from there on that can be; a multiple of [`GRANULE`].
    pub global_size: u64,
    /// Where `global_base` is on the host; a multiple of 4096.
    pub host: *mut u8,
    /// For each granule, the bytes that are valid from its start to the end of its allocation: 0 where it is dead,
    /// `u32::MAX` where there are at least as many. `global_size / GRANULE` entries.
    pub granules: *const u32,
    /// Where device address 0 would be: from here addresses can be used as they are.
    pub zero: *mut u8,
}

// SAFETY: plain addresses; dereferencing them is unsafe wherever it happens.
unsafe impl Send for RawView {}
// SAFETY: as above.
unsafe impl Sync for RawView {}

/// A live allocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes, as asked for.
    pub size: u64,
    /// The name it was given, if any.
    pub name: Option<String>,
}

/// How full a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes of the device in all.
    pub capacity: u64,
    /// Bytes not allocated; what is allocated counts with its padding.
    pub free: u64,
    /// Number of live allocations.
    pub allocations: usize,
}

/// Global memory of one device. All methods take `&self`: allocating and freeing take a lock, accesses do not.
/// Dropping it frees everything.
pub struct DeviceMemory {
    /// Where `base` is on the host.
    pub(crate) host: *mut u8,
    pub(crate) granules: *const AtomicU32,
    /// The device address of the first granule, and how many bytes have one: those of the arena, or all of the host's.
    pub(crate) base: u64,
    pub(crate) span: u64,
    /// The device address of the arena's first byte, and its size.
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) table: Mutex<Table>,
    /// The host's own memory that kernels may use. Always empty where the table does not cover the host's addresses.
    pub(crate) foreign: Foreign,
    // What the pointers above point into.
    pub(crate) memory: Arena,
    pub(crate) _granules: Arena,
}

// SAFETY: the pointers lead into arenas that live as long as the value and are used as the crate's documentation says.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMemory").field("info", &self.info()).finish_non_exhaustive()
    }
}

/// Bytes of the table for so many bytes of memory.
pub(crate) fn bytes_of_granules(size: u64) -> usize {
    (size / GRANULE * 4) as usize
}

impl DeviceMemory {
    /// A device of [`DEFAULT_CAPACITY`], or less where the host does not grant as much.
    pub fn new() -> Result<DeviceMemory, MemoryError> {
        let mut capacity = DEFAULT_CAPACITY;
        loop {
            match DeviceMemory::with_capacity(capacity) {
                Err(_) if capacity > LEAST_CAPACITY => capacity /= 2,
                result => return result,
            }
        }
    }

    /// A device of exactly `capacity` bytes, rounded up to whole granules.
    pub fn with_capacity(capacity: u64) -> Result<DeviceMemory, MemoryError> {
        let refused = |reason: String| MemoryError::Reserve { asked: capacity, reason };
        if capacity > GLOBAL_LIMIT - GLOBAL_BASE {
            return Err(refused(format!("a device has at most {} bytes", GLOBAL_LIMIT - GLOBAL_BASE)));
        }
        let size = capacity.max(1).next_multiple_of(GRANULE);
        let reserve = |bytes: u64| -> Result<Arena, MemoryError> {
            let bytes =
                usize::try_from(bytes).map_err(|_| refused("more than this host can address".into()))?;
            Arena::reserve(bytes).map_err(|error| refused(error.to_string()))
        };
        let memory = reserve(size)?;
        let granules = reserve(bytes_of_granules(size) as u64)?;
        Ok(DeviceMemory::over(memory, granules, size))
    }

    /// As [`DeviceMemory::new`], but device addresses are host addresses too: the host may use an allocation by its address, as managed and
    /// page-locked memory is used. Kernels reach no more than otherwise, until [`DeviceMemory::map_foreign`] lets them. There can be one such
    /// device in a process.
    pub fn at_host_addresses(capacity: Option<u64>) -> Result<DeviceMemory, MemoryError> {
        let mut size = capacity.unwrap_or(DEFAULT_CAPACITY).max(1).next_multiple_of(GRANULE);
        loop {
            let refused = |reason: String| MemoryError::Reserve { asked: size, reason };
            let bytes = |n: u64| usize::try_from(n).map_err(|e| refused(e.to_string()));
            let memory = Arena::reserve_at(bytes(GLOBAL_BASE)?, bytes(size)?);
            let device = memory.and_then(|memory| match Arena::reserve(bytes_of_granules(HOST_LIMIT)) {
                Ok(granules) => {
                    Ok(DeviceMemory::over(memory, granules, size).with_table_of_host(GLOBAL_BASE))
                }
                // Without so many addresses there are no foreign allocations, and all else works.
                Err(_) => Ok(DeviceMemory::over(memory, Arena::reserve(bytes_of_granules(size))?, size)),
            });
            match device {
                Ok(device) => return Ok(device),
                Err(_) if capacity.is_none() && size > LEAST_CAPACITY => size /= 2,
                Err(error) => return Err(refused(error.to_string())),
            }
        }
    }

    /// Whether the host may use device addresses.
    pub fn is_at_host_addresses(&self) -> bool {
        self.host.addr() as u64 == self.base
    }

    pub(crate) fn over(memory: Arena, granules: Arena, size: u64) -> DeviceMemory {
        DeviceMemory {
            host: memory.base(),
            granules: granules.base().cast::<AtomicU32>().cast_const(),
            base: GLOBAL_BASE,
            span: size,
            start: GLOBAL_BASE,
            size,
            table: Mutex::new(Table::new(GLOBAL_BASE, size)),
            foreign: Foreign::default(),
            memory,
            _granules: granules,
        }
    }

    /// Where a device address is on the host.
    #[inline(always)]
    pub(crate) fn host_of(&self, addr: u64) -> *mut u8 {
        // Where the table covers the host, `host` is 0 and what is pointed to is the host's: its provenance is exposed, as that of the arena is.
        self.host.wrapping_add(addr.wrapping_sub(self.base) as usize)
    }

    /// What compiled kernels need. The pointers must not be used after the device is dropped.
    pub fn raw_view(&self) -> RawView {
        RawView {
            global_base: self.base,
            global_size: self.span,
            host: self.host,
            granules: self.granules.cast::<u32>(),
            zero: self.host.wrapping_sub(self.base as usize),
        }
    }

    /// How full the device is.
    pub fn info(&self) -> MemoryInfo {
        let table = self.table();
        MemoryInfo { capacity: self.size, free: table.unused(), allocations: table.known().len() }
    }

    /// The live allocation that holds `addr`, foreign ones among them.
    pub fn lookup(&self, addr: u64) -> Option<Allocation> {
        let find = |known: &Known| {
            let (base, size, name) = known.holding(addr)?;
            Some(Allocation { base, size, name: name.map(str::to_owned) })
        };
        find(self.table().known()).or_else(|| self.foreign.with(find)?)
    }

    /// All live allocations of the device's own, by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        let allocation = |(base, size, name): (_, _, Option<&str>)| Allocation {
            base,
            size,
            name: name.map(str::to_owned),
        };
        self.table().known().live().map(allocation).collect()
    }

    // Allocating and freeing.

    /// Allocates `size` zeroed bytes; the address is a multiple of 256. No bytes have an address, too, which no access may use.
    pub fn alloc(&self, size: u64) -> Result<u64, MemoryError> {
        self.alloc_with(size, GRANULE, None)
    }

    /// Allocates as [`DeviceMemory::alloc`] does, under a name that faults will mention.
    pub fn alloc_named(&self, size: u64, name: &str) -> Result<u64, MemoryError> {
        self.alloc_with(size, GRANULE, Some(name))
    }

    /// Allocates `size` zeroed bytes at a multiple of `align` and of 256, under a name if there is one.
    pub fn alloc_with(&self, size: u64, align: u64, name: Option<&str>) -> Result<u64, MemoryError> {
        let mut table = self.table();
        seam::ask(seam::Kind::Memory).map_err(|_| table.full(size))?;
        let placed = table.place(size, align, name)?;
        self.memory.zero(
            (placed.stale.start - self.start) as usize,
            (placed.stale.end - placed.stale.start) as usize,
        );
        // Under the lock, so that the granules always say what the table says.
        for (i, granule) in self.granules_of(placed.base, size).iter().enumerate() {
            let valid = size - i as u64 * GRANULE;
            granule.store(u32::try_from(valid).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
        Ok(placed.base)
    }

    /// Frees the allocation that begins at `addr`. Kernels that still use it fault from now on; its addresses are not
    /// given out again for a while, so that they do.
    pub fn free(&self, addr: u64) -> Result<(), MemoryError> {
        let mut table = self.table();
        let size = table.remove(addr)?;
        for granule in self.granules_of(addr, size) {
            granule.store(0, Ordering::Relaxed);
        }
        self.memory.release((addr - self.start) as usize, size as usize);
        Ok(())
    }

    // The host's copies.

    /// Copies from device memory. The range must lie in one allocation.
    pub fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let from = self.span(addr, out.len() as u64, Access::HostRead)?;
        // SAFETY: `span` found the whole range alive; `out` is the caller's own.
        unsafe { ptr::copy(from.cast_const(), out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies to device memory. The range must lie in one allocation.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<(), MemoryError> {
        let to = self.span(addr, data.len() as u64, Access::HostWrite)?;
        // SAFETY: as in `read`.
        unsafe { ptr::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    /// Copies within device memory; the ranges may overlap. Each must lie in one allocation.
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), MemoryError> {
        let source = self.span(from, len, Access::HostRead)?;
        let target = self.span(to, len, Access::HostWrite)?;
        // SAFETY: `span` found both ranges alive; `ptr::copy` allows them to overlap.
        unsafe { ptr::copy(source.cast_const(), target, len as usize) };
        Ok(())
    }

    /// Fills device memory with `count` repetitions of `pattern`. The range must lie in one allocation.
    pub fn fill(&self, addr: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        let width = pattern.len() as u64;
        // Saturating is enough: no allocation is that large.
        let to = self.span(addr, width.saturating_mul(count), Access::HostWrite)?;
        if let [byte] = pattern {
            // SAFETY: `span` found the whole range alive.
            unsafe { to.write_bytes(*byte, count as usize) };
            return Ok(());
        }
        for i in 0..count as usize {
            // SAFETY: as above; `pattern` is the caller's own and cannot overlap the arena.
            unsafe { ptr::copy_nonoverlapping(pattern.as_ptr(), to.add(i * pattern.len()), pattern.len()) };
        }
        Ok(())
    }

    /// The host address of `[addr, addr + len)` where that is inside one live allocation. Nothing needs no allocation.
    pub(crate) fn span(&self, addr: u64, len: u64, access: Access) -> Result<*mut u8, MemoryError> {
        if len == 0 {
            return Ok(self.memory.base());
        }
        if let Some(host) = self.locate(addr, len) {
            return Ok(host);
        }
        // The granules count only to 4 GiB; the table knows.
        let inside =
            self.table().known().holding(addr).is_some_and(|(base, size, _)| len <= size - (addr - base));
        if inside {
            return Ok(self.host_of(addr));
        }
        let kind = self.classify(addr, 1);
        Err(self.fault(kind, Space::Global, addr, len, access).into())
    }

    // Kernels' accesses.

    /// The host address of a naturally aligned access of `size` bytes, a power of two. The pointer must not be used
    /// after the device is dropped, and only as the crate's documentation says.
    #[inline(always)]
    pub fn check_global(&self, addr: u64, size: u64) -> Result<*mut u8, FaultKind> {
        match self.locate(addr, size) {
            Some(host) if addr & (size - 1) == 0 => Ok(host),
            _ => Err(self.classify(addr, size)),
        }
    }

    /// Loads a value.
    #[inline(always)]
    pub fn load<T: Scalar>(&self, addr: u64) -> Result<T, FaultKind> {
        let host = self.check_global(addr, T::SIZE)?;
        // SAFETY: checked.
        Ok(unsafe { T::load(host) })
    }

    /// Stores a value.
    #[inline(always)]
    pub fn store<T: Scalar>(&self, addr: u64, value: T) -> Result<(), FaultKind> {
        let host = self.check_global(addr, T::SIZE)?;
        // SAFETY: checked.
        unsafe { T::store(host, value) };
        Ok(())
    }

    /// Loads a vector of `N` values, a power of two; the address must be a multiple of the whole.
    #[inline(always)]
    pub fn load_vec<T: Scalar, const N: usize>(&self, addr: u64) -> Result<[T; N], FaultKind> {
        const { assert!(N.is_power_of_two()) };
        let host = self.check_global(addr, T::SIZE * N as u64)?;
        // SAFETY: checked for all N values.
        Ok(std::array::from_fn(|i| unsafe { T::load(host.add(i * size_of::<T>())) }))
    }

    /// Stores a vector of `N` values, a power of two; the address must be a multiple of the whole.
    #[inline(always)]
    pub fn store_vec<T: Scalar, const N: usize>(&self, addr: u64, values: [T; N]) -> Result<(), FaultKind> {
        const { assert!(N.is_power_of_two()) };
        let host = self.check_global(addr, T::SIZE * N as u64)?;
        for (i, value) in values.into_iter().enumerate() {
            // SAFETY: checked for all N values.
            unsafe { T::store(host.add(i * size_of::<T>()), value) };
        }
        Ok(())
    }

    /// `count` values one after the other, where all of them are alive and aligned: a column of lanes with consecutive
    /// addresses, checked once. None says only that lanes have to be looked at one by one.
    #[inline]
    pub fn global_run<T: Scalar>(&self, addr: u64, count: usize) -> Option<GlobalRun<'_, T>> {
        if addr & (T::SIZE - 1) != 0 {
            return None;
        }
        let host = self.locate(addr, T::SIZE.checked_mul(count as u64)?)?;
        // SAFETY: located, aligned, and inside the arena for as long as `self` is borrowed.
        Some(unsafe { GlobalRun::new(host, count) })
    }

    /// An integer read-modify-write; answers what memory held.
    #[inline]
    pub fn atomic<T: AtomicInt>(&self, op: AtomicOp, addr: u64, operand: T) -> Result<T, FaultKind> {
        let host = self.check_global(addr, T::SIZE)?;
        // SAFETY: checked.
        Ok(unsafe { T::rmw(host, op, operand) })
    }

    /// Stores `new` where memory holds `compare`; answers what it held.
    #[inline]
    pub fn atomic_cas<T: AtomicScalar>(&self, addr: u64, compare: T, new: T) -> Result<T, FaultKind> {
        let host = self.check_global(addr, T::SIZE)?;
        // SAFETY: checked.
        Ok(unsafe { T::cas(host, compare, new) })
    }

    /// Replaces what memory holds by `f` of it in one step; answers what it held. `f` may be called more than once.
    #[inline]
    pub fn atomic_update<T: AtomicScalar>(&self, addr: u64, f: impl FnMut(T) -> T) -> Result<T, FaultKind> {
        let host = self.check_global(addr, T::SIZE)?;
        // SAFETY: checked.
        Ok(unsafe { T::update(host, f) })
    }

    // Faults.

    /// What is wrong with an access of `size` bytes that must be a multiple of `align`; none where all is well.
    pub fn diagnose(&self, addr: u64, size: u64, align: u64, access: Access) -> Option<Fault> {
        if addr & (align - 1) == 0 && self.locate(addr, size).is_some() {
            return None;
        }
        Some(self.fault(self.classify(addr, align), Space::Global, addr, size, access))
    }

    /// The whole story of a fault that an access gave: `space` and `addr` as the instruction has them.
    #[cold]
    pub fn fault(&self, kind: FaultKind, space: Space, addr: u64, size: u64, access: Access) -> Fault {
        let of_global =
            matches!(kind, FaultKind::OutOfBounds | FaultKind::UseAfterFree | FaultKind::Misaligned { .. })
                && !space.is_window();
        // A little before the first allocation or past the last one is still about that one.
        const NEAR: u64 = 1 << 24;
        let near = addr.wrapping_sub(self.start.saturating_sub(NEAR)) < self.size + 2 * NEAR;
        let own = if of_global && near { self.table().known().nearest(addr, size) } else { None };
        let foreign =
            if of_global { self.foreign.with(|known| known.nearest(addr, size)).flatten() } else { None };
        let foreign = foreign.filter(|n| n.place.distance() < NEAR);
        let nearest = own.into_iter().chain(foreign).min_by_key(|n| n.place.distance());
        Fault { kind, addr, size, space, access, nearest }
    }

    /// Why an access that failed its check did. In order of what helps most.
    #[cold]
    #[inline(never)]
    pub(crate) fn classify(&self, addr: u64, align: u64) -> FaultKind {
        if addr < NULL_LIMIT {
            return FaultKind::NullPointer;
        }
        match map::decode(addr).0 {
            Space::Global => {}
            actual => return FaultKind::WrongSpace { actual },
        }
        if addr & (align - 1) != 0 {
            FaultKind::Misaligned { align }
        } else if self.table().known().is_freed(addr)
            || self.foreign.with(|known| known.is_freed(addr)).unwrap_or(false)
        {
            FaultKind::UseAfterFree
        } else {
            FaultKind::OutOfBounds
        }
    }

    /// The check of the crate's documentation, without alignment.
    #[inline(always)]
    fn locate(&self, addr: u64, size: u64) -> Option<*mut u8> {
        let offset = addr.wrapping_sub(self.base);
        if offset >= self.span {
            return None;
        }
        // SAFETY: the table has an entry for each granule of the span.
        let valid = unsafe { &*self.granules.add((offset / GRANULE) as usize) }.load(Ordering::Relaxed);
        // A saturated entry must not vouch for sizes beyond it, and the sum must not wrap.
        if size > u64::from(valid) || offset % GRANULE + size > u64::from(valid) {
            return self.locate_foreign(addr, size);
        }
        Some(self.host_of(addr))
    }

    pub(crate) fn granules_of(&self, base: u64, size: u64) -> &[AtomicU32] {
        let first = ((base - self.base) / GRANULE) as usize;
        // SAFETY: callers pass ranges inside the span, of the allocation table or clipped to it; the entries are atomics.
        unsafe { std::slice::from_raw_parts(self.granules.add(first), size.div_ceil(GRANULE) as usize) }
    }

    /// Panics where the book-keeping contradicts itself.
    #[cfg(test)]
    pub(crate) fn check_table(&self) {
        self.table().check(self.start);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // The table is consistent between statements that can panic, of which there are none but allocation failure.
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
