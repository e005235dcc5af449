//! Foreign allocations: memory of the host's own that kernels may use, at its own address.
//!
//! The table of granules covers all addresses of the host then, and the check is the same as ever. An entry vouches for every byte from its granule's
//! first on, so a granule that an allocation begins inside of has no entry for it: there the first check fails, in compiled code too, and the exact
//! answer is looked up here. So not one byte beside an allocation can be reached, whatever its alignment.
//!
//! Nothing is copied: what either side writes the other sees, as on a GPU that reaches page-locked memory. Copies at launches and waits could not
//! do that: a kernel and the host that poll each other would wait forever, and writing back would undo what the host wrote meanwhile.

use crate::arena::Arena;
use crate::device::{DeviceMemory, bytes_of_granules};
use crate::fault::MemoryError;
use crate::map::{GLOBAL_LIMIT, NULL_LIMIT};
use crate::table::{GRANULE, Known, Table};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Where the host's addresses end that programs can have: 47 bits, as on x86-64.
pub(crate) const HOST_LIMIT: u64 = 1 << 47;

/// The foreign allocations of a device.
#[derive(Default)]
pub(crate) struct Foreign {
    /// Whether there has been one.
    any: AtomicBool,
    known: Mutex<Known>,
}

impl Foreign {
    /// Asks about them, unless there never was one.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&Known) -> T) -> Option<T> {
        self.any.load(Ordering::Relaxed).then(|| ask(&self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl DeviceMemory {
    /// A device whose addresses are the host's, so that kernels can be given pointers to the host's own memory: what
    /// [`DeviceMemory::expose`] and [`DeviceMemory::map_foreign`] say they may use. Until then there is none of it. The table is for all
    /// addresses a program can have on the host; of its 2 TiB only what is exposed takes memory.
    pub fn raw_pointers(capacity: u64) -> Result<DeviceMemory, MemoryError> {
        let refused = |asked: u64, reason: String| MemoryError::Reserve { asked, reason };
        if cfg!(not(target_pointer_width = "64")) {
            return Err(refused(capacity, "raw pointers need a 64-bit host".into()));
        }
        let size = capacity.clamp(1, GLOBAL_LIMIT).next_multiple_of(GRANULE);
        let memory = Arena::reserve(size as usize).map_err(|e| refused(size, e.to_string()))?;
        let table = bytes_of_granules(HOST_LIMIT);
        let granules = Arena::reserve(table).map_err(|e| refused(table as u64, e.to_string()))?;
        let start = memory.base().expose_provenance() as u64;
        if start + size > HOST_LIMIT {
            return Err(refused(size, "the host's addresses have more than 47 bits".into()));
        }
        Ok(DeviceMemory::over(memory, granules, size).with_table_of_host(start))
    }

    /// Where the arena begins at `start` on both sides and the table has an entry for each granule of the host's addresses.
    pub(crate) fn with_table_of_host(self, start: u64) -> DeviceMemory {
        let table = Mutex::new(Table::new(start, self.size));
        DeviceMemory {
            host: ptr::with_exposed_provenance_mut(0),
            base: 0,
            span: HOST_LIMIT,
            start,
            table,
            ..self
        }
    }

    /// Whether kernels can be given memory of the host's own.
    pub fn takes_foreign(&self) -> bool {
        self.base == 0
    }

    /// Makes `size` bytes of the host's memory an allocation: kernels use them at the host's address, and faults mention `name`. It must
    /// overlap no other allocation.
    ///
    /// # Safety
    /// Until [`DeviceMemory::unmap_foreign`] is called and no kernel is running that was begun before, every byte can be read and written, and
    /// whoever else uses them can live with what kernels do there.
    pub unsafe fn map_foreign(&self, at: u64, size: u64, name: &str) -> Result<(), MemoryError> {
        let refused = |reason| MemoryError::Foreign { addr: at, size, reason };
        let end = at.checked_add(size).ok_or_else(|| refused("beyond the last address"))?;
        if !self.takes_foreign() {
            return Err(refused("this device has none of the host's memory"));
        }
        if size == 0 || at < NULL_LIMIT || end > self.span {
            return Err(refused("not where a program's memory can be"));
        }
        if self.own().iter().any(|own| own.start < end && at < own.end) {
            return Err(refused("the device's own memory"));
        }
        let mut known = self.foreign.lock();
        if known.overlaps(at, end) {
            return Err(refused("a part of it is an allocation already"));
        }
        known.insert(at, end, size, Some(name));
        self.foreign.any.store(true, Ordering::Relaxed);
        // Under the lock, so that the granules always say what is known.
        self.vouch(at..end);
        Ok(())
    }

    /// Takes back what [`DeviceMemory::map_foreign`] gave: kernels that still use it fault from now on.
    pub fn unmap_foreign(&self, at: u64) -> Result<(), MemoryError> {
        let mut known = self.foreign.lock();
        let Some(size) = known.remove(at) else {
            return Err(MemoryError::InvalidFree { addr: at, nearest: known.nearest(at, 1) });
        };
        self.revoke(at..at + size);
        Ok(())
    }

    /// Lets kernels use these ranges of the host's memory, multiples of [`GRANULE`] that do not overlap, and none that they were given before.
    /// Parts of them that belong to the device itself are left as they are. Does nothing where the table does not cover the host.
    ///
    /// # Safety
    /// Until the next call every byte of the ranges can be read and written, and whoever else uses them can live with what kernels do there.
    /// No kernel runs meanwhile.
    pub unsafe fn expose(&self, ranges: &[Range<u64>]) {
        if !self.takes_foreign() {
            return;
        }
        let mut wanted: Vec<Range<u64>> = ranges
            .iter()
            .map(|r| {
                r.start.next_multiple_of(GRANULE).max(NULL_LIMIT)..r.end.min(self.span) / GRANULE * GRANULE
            })
            .collect();
        for own in self.own() {
            let around = |r: Range<u64>| [r.start..r.end.min(own.start), r.start.max(own.end)..r.end];
            wanted = wanted.into_iter().flat_map(around).collect();
        }
        wanted.retain(|r| r.start < r.end);
        wanted.sort_by_key(|r| r.start);
        let mut known = self.foreign.lock();
        let exposed: Vec<Range<u64>> = known.live().map(|(base, size, _)| base..base + size).collect();
        for old in exposed.iter().filter(|old| !wanted.contains(old)) {
            known.remove(old.start);
            self.revoke(old.clone());
        }
        for new in wanted.iter().filter(|new| !exposed.contains(new)) {
            known.insert(new.start, new.end, new.end - new.start, Some("host memory"));
            self.vouch(new.clone());
        }
        self.foreign.any.store(true, Ordering::Relaxed);
    }

    /// What of the host's addresses is the device's: the arena and the table.
    fn own(&self) -> [Range<u64>; 2] {
        let table = self.granules.addr() as u64;
        [self.start..self.start + self.size, table..table + bytes_of_granules(self.span) as u64]
    }

    /// The part of an allocation whose granules have entries for it.
    fn whole(range: Range<u64>) -> Range<u64> {
        range.start.next_multiple_of(GRANULE).min(range.end)..range.end
    }

    fn vouch(&self, range: Range<u64>) {
        let Range { start, end } = Self::whole(range);
        for (i, granule) in self.granules_of(start, end - start).iter().enumerate() {
            let valid = end - start - i as u64 * GRANULE;
            granule.store(u32::try_from(valid).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }

    fn revoke(&self, range: Range<u64>) {
        let Range { start, end } = Self::whole(range);
        for granule in self.granules_of(start, end - start) {
            granule.store(0, Ordering::Relaxed);
        }
    }

    /// Where an access to a foreign allocation is that the table does not vouch for.
    #[cold]
    #[inline(never)]
    pub(crate) fn locate_foreign(&self, addr: u64, size: u64) -> Option<*mut u8> {
        let (base, len) =
            self.foreign.with(|known| known.holding(addr).map(|(base, len, _)| (base, len)))??;
        (size <= len - (addr - base)).then(|| self.host_of(addr))
    }
}
