//! Address space from the operating system: reserved at once, committed page by page as it is touched, all zero.

use hostwarp_system::seam::{self, Kind};
use std::io;

/// A fixed, zero-filled stretch of host memory that is only ever reached through raw pointers.
pub(crate) struct Arena {
    region: Region,
    len: usize,
}

/// Stretches of at least this many bytes are zeroed by giving their pages back. Below, faulting the pages in again costs
/// more than writing zeros (measured at 1 MiB: 670 µs against 200).
const DISCARD_FROM: usize = 8 << 20;

#[cfg(any(unix, windows))]
type Region = memmap2::MmapRaw;

impl Arena {
    /// Reserves `len` bytes.
    #[cfg(any(unix, windows))]
    pub(crate) fn reserve(len: usize) -> io::Result<Arena> {
        seam::ask(Kind::Map)?;
        let region: Region = memmap2::MmapOptions::new().len(len).no_reserve_swap().map_anon()?.into();
        // Fewer page faults and TLB misses when a kernel sweeps large buffers; without it everything still works.
        #[cfg(target_os = "linux")]
        let _ = region.advise(memmap2::Advice::HugePage);
        Ok(Arena { region, len })
    }

    /// Reserves `len` bytes. Without virtual memory this commits all of them.
    #[cfg(not(any(unix, windows)))]
    pub(crate) fn reserve(len: usize) -> io::Result<Arena> {
        Ok(Arena { region: Region::new(len)?, len })
    }

    /// The first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.region.as_mut_ptr()
    }

    /// Zeroes `[offset, offset + len)`.
    pub(crate) fn zero(&self, offset: usize, len: usize) {
        assert!(offset <= self.len && len <= self.len - offset);
        let (from, to) = if len >= DISCARD_FROM { self.discard(offset, len) } else { (offset, offset) };
        // SAFETY: both stretches are inside the region by the assertion and `discard`'s contract.
        unsafe {
            self.base().add(offset).write_bytes(0, from - offset);
            self.base().add(to).write_bytes(0, offset + len - to);
        }
    }

    /// Gives the pages of a large dead stretch back to the operating system; contents become unspecified.
    pub(crate) fn release(&self, offset: usize, len: usize) {
        assert!(offset <= self.len && len <= self.len - offset);
        if len >= DISCARD_FROM {
            self.discard(offset, len);
        }
    }

    /// Gives back whole pages inside the stretch where that is known to make them zero. Answers the part `[from, to)`
    /// that is zero now; it is within the stretch and may be empty.
    #[cfg(target_os = "linux")]
    fn discard(&self, offset: usize, len: usize) -> (usize, usize) {
        // A multiple of every base page, and large pages are not split.
        const PAGE: usize = 2 << 20;
        let base = self.base() as usize;
        let from = (base + offset).next_multiple_of(PAGE) - base;
        let to = ((base + offset + len) / PAGE * PAGE).saturating_sub(base);
        if from >= to {
            return (offset, offset);
        }
        // SAFETY: the pages are inside the mapping, and this type's users touch it through raw pointers only, so no
        // reference sees the bytes change.
        let done = unsafe {
            self.region.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from)
        };
        if done.is_ok() { (from, to) } else { (offset, offset) }
    }

    /// Elsewhere giving pages back does not promise zeros.
    #[cfg(not(target_os = "linux"))]
    fn discard(&self, offset: usize, _len: usize) -> (usize, usize) {
        (offset, offset)
    }
}

/// Hosts without virtual memory (WebAssembly): a plain zeroed heap block.
#[cfg(not(any(unix, windows)))]
struct Region {
    ptr: *mut u8,
    layout: std::alloc::Layout,
}

#[cfg(not(any(unix, windows)))]
impl Region {
    fn new(len: usize) -> io::Result<Region> {
        let layout = std::alloc::Layout::from_size_align(len.max(1), 4096).map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { std::alloc::alloc_zeroed(layout) };
        if ptr.is_null() { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(Region { ptr, layout }) }
    }

    fn as_mut_ptr(&self) -> *mut u8 {
        self.ptr
    }
}

#[cfg(not(any(unix, windows)))]
impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { std::alloc::dealloc(self.ptr, self.layout) }
    }
}

// SAFETY: the region is plain memory owned by the arena; who may touch it when is said in the crate's documentation.
#[cfg(not(any(unix, windows)))]
unsafe impl Send for Region {}
// SAFETY: as above.
#[cfg(not(any(unix, windows)))]
unsafe impl Sync for Region {}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 16 << 20;

    fn fill(arena: &Arena, byte: u8) {
        // SAFETY: the whole arena, and nobody else knows of it.
        unsafe { arena.base().write_bytes(byte, arena.len) }
    }

    fn bytes(arena: &Arena) -> Vec<u8> {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(arena.base(), arena.len).to_vec() }
    }

    #[test]
    fn zeroes_exactly_the_stretch() {
        let arena = Arena::reserve(SIZE).unwrap();
        assert!(bytes(&arena).iter().all(|&b| b == 0));
        for (offset, len) in
            [(0, 0), (256, 512), (300, 9 << 20), (4 << 20, DISCARD_FROM), (1, SIZE - 1), (0, SIZE)]
        {
            fill(&arena, 0xa5);
            arena.zero(offset, len);
            let got = bytes(&arena);
            let wrong =
                got.iter().enumerate().find(|&(i, &b)| (b == 0) != (offset..offset + len).contains(&i));
            assert_eq!(wrong, None, "zero({offset}, {len})");
        }
    }

    #[test]
    fn release_leaves_the_neighbours() {
        let arena = Arena::reserve(SIZE).unwrap();
        fill(&arena, 0x5a);
        arena.release(777, 11 << 20);
        let got = bytes(&arena);
        assert!(got[..777].iter().all(|&b| b == 0x5a));
        assert!(got[777 + (11 << 20)..].iter().all(|&b| b == 0x5a));
    }
}
