//! Which ranges of global memory are allocated, freed or free. Pure book-keeping: touches no device memory.

use crate::fault::{MemoryError, Nearest, Place};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Allocations begin at multiples of this, and liveness is recorded for each such stretch.
pub const GRANULE: u64 = 256;

/// Dead bytes kept behind every allocation, so that running over its end never lands in its neighbour. Two granules: some memory takes a third longer to
/// be streamed through in several places at once that are a power of two and less than that apart, as buffers of such a size then are.
const GUARD: u64 = 2 * GRANULE;

/// As many behind allocations of [`LARGE`] bytes and more. CPUs tell loads and stores apart by the low 12 bits of their addresses at first: where
/// one array is read and another written up to 2,048 bytes further on, counted so, loads wait for stores that they have nothing to do with, and
/// a kernel in the second-level cache takes 4 % longer. Three arrays of a round size one after the other are not in each other's way like this.
const LARGE_GUARD: u64 = 3072;
const LARGE: u64 = 64 << 10;

/// Freed ranges are not given out again while no more than this many bytes wait...
const QUARANTINE_BYTES: u64 = 128 << 20;
/// ...in no more than this many ranges.
const QUARANTINE_RANGES: usize = 4096;
/// Freed allocations are remembered by name and size, even after quarantine, up to this many.
const REMEMBERED: usize = 16384;

/// What is known of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    size: u64,
    name: Option<String>,
}

/// Bytes that an allocation takes from the free list, from the base on.
fn footprint(size: u64) -> u64 {
    size.next_multiple_of(GRANULE) + if size < LARGE { GUARD } else { LARGE_GUARD }
}

/// Allocations by address, live and gone.
#[derive(Default)]
pub(crate) struct Known {
    live: BTreeMap<u64, Record>,
    /// Freed allocations that nothing has been placed over since. Never overlap each other or live ones.
    freed: BTreeMap<u64, Record>,
}

impl Known {
    /// Begins the life of an allocation, over `[base, end)` with what belongs to it.
    pub(crate) fn insert(&mut self, base: u64, end: u64, size: u64, name: Option<&str>) {
        self.forget_freed(base, end);
        self.live.insert(base, Record { size, name: name.map(str::to_owned) });
    }

    /// Ends the life of the allocation at `base`; answers its size.
    pub(crate) fn remove(&mut self, base: u64) -> Option<u64> {
        let record = self.live.remove(&base)?;
        let size = record.size;
        self.freed.insert(base, record);
        if self.freed.len() > REMEMBERED {
            // Any will do; the bound only keeps memory finite.
            self.freed.pop_first();
        }
        Some(size)
    }

    /// The live allocation that holds `addr`: base, size, name.
    pub(crate) fn holding(&self, addr: u64) -> Option<(u64, u64, Option<&str>)> {
        let (&base, record) = self.live.range(..=addr).next_back()?;
        (addr - base < record.size).then_some((base, record.size, record.name.as_deref()))
    }

    /// Whether a live allocation has a byte in `[from, to)`.
    pub(crate) fn overlaps(&self, from: u64, to: u64) -> bool {
        self.live.range(..to).next_back().is_some_and(|(base, record)| base + record.size > from)
    }

    /// All live allocations by address: base, size, name.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u64, u64, Option<&str>)> {
        self.live.iter().map(|(&base, record)| (base, record.size, record.name.as_deref()))
    }

    /// Number of live allocations.
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether `addr` lies in an allocation that was freed, as far as is remembered.
    pub(crate) fn is_freed(&self, addr: u64) -> bool {
        self.freed.range(..=addr).next_back().is_some_and(|(base, record)| addr - base < record.size)
    }

    /// The allocation closest to `[addr, addr + size)`; a live one where it is no farther than a freed one.
    pub(crate) fn nearest(&self, addr: u64, size: u64) -> Option<Nearest> {
        let around = |records: &'_ BTreeMap<u64, Record>, freed: bool| {
            let below = records.range(..=addr).next_back();
            let above = records.range(addr..).next();
            below
                .into_iter()
                .chain(above)
                .map(move |(&base, record)| Nearest {
                    base,
                    size: record.size,
                    name: record.name.clone(),
                    freed,
                    place: Place::of(addr, size, base, record.size),
                })
                .collect::<Vec<_>>()
        };
        // `min_by_key` keeps the first of equals.
        around(&self.live, false)
            .into_iter()
            .chain(around(&self.freed, true))
            .min_by_key(|n| n.place.distance())
    }

    /// Forgets the freed allocations that `[from, to)` is placed over.
    fn forget_freed(&mut self, from: u64, to: u64) {
        if let Some((&below, record)) = self.freed.range(..from).next_back()
            && below + record.size > from
        {
            self.freed.remove(&below);
        }
        while let Some((&base, _)) = self.freed.range(from..to).next() {
            self.freed.remove(&base);
        }
    }
}

/// The allocation table of one device.
pub(crate) struct Table {
    capacity: u64,
    /// Bytes in live allocations with their padding and guards.
    used: u64,
    known: Known,
    /// Base and footprint of freed ranges that are not in the free list yet, oldest first.
    quarantine: VecDeque<(u64, u64)>,
    quarantined: u64,
    /// Free ranges by start; neighbours are always merged.
    free: BTreeMap<u64, u64>,
    /// The same as (length, start), for best fit.
    by_len: BTreeSet<(u64, u64)>,
    /// Everything from here on has never been given out, so it is still zero.
    fresh_from: u64,
}

/// A range that was given out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) base: u64,
    /// The part that was used before and has to be zeroed.
    pub(crate) stale: Range<u64>,
}

impl Table {
    pub(crate) fn new(start: u64, capacity: u64) -> Table {
        let mut table = Table {
            capacity,
            used: 0,
            known: Known::default(),
            quarantine: VecDeque::new(),
            quarantined: 0,
            free: BTreeMap::new(),
            by_len: BTreeSet::new(),
            fresh_from: start,
        };
        // The guard of an allocation at the very end may lie outside of the device.
        table.give_back(start, capacity + GUARD);
        table
    }

    /// Finds room for `size` bytes at a multiple of `align`.
    pub(crate) fn place(&mut self, size: u64, align: u64, name: Option<&str>) -> Result<Placed, MemoryError> {
        if !align.is_power_of_two() {
            return Err(MemoryError::BadAlignment(align));
        }
        let full = self.full(size);
        if size > self.capacity || align > self.capacity {
            return Err(full);
        }
        let need = footprint(size);
        let base = loop {
            match self.take(need, align.max(GRANULE)) {
                Some(base) => break base,
                // Catching a use after free is worth less than an allocation that succeeds.
                None if !self.quarantine.is_empty() => self.end_oldest_quarantine(),
                None => return Err(full),
            }
        };
        let end = base + need;
        self.known.insert(base, end, size, name);
        self.used += need;
        let stale = base..(base + size).min(self.fresh_from).max(base);
        self.fresh_from = self.fresh_from.max(end);
        Ok(Placed { base, stale })
    }

    /// Ends the life of the allocation at `base`; answers its size.
    pub(crate) fn remove(&mut self, base: u64) -> Result<u64, MemoryError> {
        let Some(size) = self.known.remove(base) else {
            return Err(MemoryError::InvalidFree { addr: base, nearest: self.known.nearest(base, 1) });
        };
        let need = footprint(size);
        self.used -= need;
        self.quarantine.push_back((base, need));
        self.quarantined += need;
        while self.quarantined > QUARANTINE_BYTES || self.quarantine.len() > QUARANTINE_RANGES {
            self.end_oldest_quarantine();
        }
        Ok(size)
    }

    /// What is allocated and what was.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Bytes outside of live allocations.
    pub(crate) fn unused(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    /// There is no room for so many bytes.
    pub(crate) fn full(&self, asked: u64) -> MemoryError {
        MemoryError::OutOfDeviceMemory { asked, free: self.unused(), capacity: self.capacity }
    }

    /// Takes `need` bytes from the smallest free range they fit in.
    fn take(&mut self, need: u64, align: u64) -> Option<u64> {
        let (len, from, base) = self.by_len.range((need, 0)..).find_map(|&(len, from)| {
            let base = from.checked_next_multiple_of(align)?;
            (base - from <= len - need).then_some((len, from, base))
        })?;
        self.by_len.remove(&(len, from));
        self.free.remove(&from);
        for (from, to) in [(from, base), (base + need, from + len)] {
            if from < to {
                self.free.insert(from, to - from);
                self.by_len.insert((to - from, from));
            }
        }
        Some(base)
    }

    /// Puts a range into the free list and merges it with its neighbours.
    fn give_back(&mut self, mut from: u64, mut len: u64) {
        if let Some((&below, &below_len)) = self.free.range(..from).next_back()
            && below + below_len == from
        {
            self.free.remove(&below);
            self.by_len.remove(&(below_len, below));
            (from, len) = (below, below_len + len);
        }
        if let Some(above_len) = self.free.remove(&(from + len)) {
            self.by_len.remove(&(above_len, from + len));
            len += above_len;
        }
        self.free.insert(from, len);
        self.by_len.insert((len, from));
    }

    fn end_oldest_quarantine(&mut self) {
        if let Some((base, len)) = self.quarantine.pop_front() {
            self.quarantined -= len;
            self.give_back(base, len);
        }
    }

    /// Panics where the book-keeping contradicts itself.
    #[cfg(test)]
    pub(crate) fn check(&self, start: u64) {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        ranges.extend(self.known.live.iter().map(|(&base, record)| (base, footprint(record.size))));
        ranges.extend(self.free.iter().map(|(&from, &len)| (from, len)));
        ranges.extend(self.quarantine.iter().copied());
        ranges.sort_unstable();
        let mut at = start;
        for (from, len) in ranges {
            assert_eq!(from, at, "the ranges tile the device without gap or overlap");
            at = from + len;
        }
        assert_eq!(at, start + self.capacity + GUARD);
        let by_len: BTreeSet<_> = self.free.iter().map(|(&from, &len)| (len, from)).collect();
        assert_eq!(by_len, self.by_len);
        assert_eq!(self.used, self.known.live.values().map(|r| footprint(r.size)).sum::<u64>());
        assert_eq!(self.quarantined, self.quarantine.iter().map(|q| q.1).sum::<u64>());
        let mut at = 0;
        let mut known: Vec<_> =
            self.known.live.iter().chain(&self.known.freed).map(|(&base, r)| (base, r.size)).collect();
        known.sort_unstable();
        for (base, size) in known {
            assert!(base >= at, "live and remembered allocations do not overlap");
            at = base + size;
        }
        assert!(self.known.live.iter().all(|(base, r)| base + footprint(r.size) <= self.fresh_from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1_0000;

    fn table(capacity: u64) -> Table {
        Table::new(START, capacity)
    }

    #[test]
    fn neighbours_are_a_guard_apart() {
        let mut t = table(1 << 20);
        let a = t.place(1, 1, None).unwrap().base;
        let b = t.place(257, 1, None).unwrap().base;
        let c = t.place(1, 1, None).unwrap().base;
        assert_eq!((a, b, c), (START, START + 256 + GUARD, START + 256 + GUARD + 512 + GUARD));
        t.check(START);
    }

    #[test]
    fn freed_ranges_wait_before_they_are_reused() {
        let mut t = table(1 << 20);
        let a = t.place(100, 1, Some("a")).unwrap().base;
        t.remove(a).unwrap();
        let b = t.place(100, 1, None).unwrap().base;
        assert_ne!(a, b);
        assert!(
            t.known.is_freed(a)
                && t.known.is_freed(a + 99)
                && !t.known.is_freed(a + 100)
                && !t.known.is_freed(b)
        );
        t.check(START);
    }

    #[test]
    fn quarantine_yields_to_need_and_stale_bytes_are_known() {
        let mut t = table(4096);
        let a = t.place(3000, 1, None).unwrap();
        assert!(a.stale.is_empty());
        t.remove(a.base).unwrap();
        let b = t.place(3584, 1, None).unwrap();
        assert_eq!(b.base, a.base);
        assert_eq!(b.stale, START..START + 3072 + GUARD, "up to where the first one's guard ended");
        assert!(!t.known.is_freed(b.base));
        t.check(START);
    }

    #[test]
    fn says_when_it_is_full() {
        let mut t = table(4096);
        t.place(2048, 1, None).unwrap();
        let full = |asked, free| MemoryError::OutOfDeviceMemory { asked, free, capacity: 4096 };
        assert_eq!(t.place(2048, 1, None), Err(full(2048, 2048 - GUARD)));
        assert_eq!(t.place(u64::MAX, 1, None), Err(full(u64::MAX, 2048 - GUARD)));
        assert_eq!(t.place(1, 1 << 63, None), Err(full(1, 2048 - GUARD)));
        assert_eq!(t.place(8, 3, None), Err(MemoryError::BadAlignment(3)));
        t.place(2048 - GUARD, 1, None).unwrap();
        assert_eq!(t.unused(), 0);
        assert_eq!(t.place(0, 1, None), Err(full(0, 0)), "not even an address");
        assert_eq!(table(4096).place(4096, 1, None).unwrap().base, START, "the whole device");
        t.check(START);
    }

    #[test]
    fn large_alignments_leave_the_gap_free() {
        let mut t = table(1 << 20);
        t.place(1, 1, None).unwrap();
        let b = t.place(1, 0x4000, None).unwrap().base;
        assert_eq!(b % 0x4000, 0);
        let c = t.place(1, 1, None).unwrap().base;
        assert_eq!(c, START + 256 + GUARD, "best fit fills the gap");
        t.check(START);
    }

    #[test]
    fn neighbouring_free_ranges_merge() {
        let mut t = table(1 << 20);
        let bases: Vec<u64> = (0..8).map(|_| t.place(256, 1, None).unwrap().base).collect();
        for i in [3, 1, 2, 7, 5, 6, 0, 4] {
            t.remove(bases[i]).unwrap();
        }
        while !t.quarantine.is_empty() {
            t.end_oldest_quarantine();
            t.check(START);
        }
        assert_eq!(t.free.len(), 1);
        assert_eq!(t.unused(), 1 << 20);
    }

    #[test]
    fn nearest_prefers_the_closer_then_the_live() {
        let mut t = table(1 << 20);
        let a = t.place(256, 1, Some("a")).unwrap().base;
        let b = t.place(256, 1, Some("b")).unwrap().base;
        let near = |t: &Table, addr| t.known.nearest(addr, 4).unwrap();
        assert_eq!(near(&t, a + 260).name.as_deref(), Some("a"));
        assert_eq!(near(&t, a + 260).place, Place::Past(4));
        assert_eq!(near(&t, b - 4).name.as_deref(), Some("b"));
        assert_eq!(near(&t, b - 4).place, Place::Before(4));
        assert_eq!(near(&t, b + 254).place, Place::Over(2));
        t.remove(a).unwrap();
        let n = near(&t, a + 8);
        assert!(n.freed && n.place == Place::Inside(8));
        assert_eq!(t.remove(a), Err(MemoryError::InvalidFree { addr: a, nearest: t.known.nearest(a, 1) }));
    }
}
