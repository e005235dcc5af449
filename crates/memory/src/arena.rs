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
enum Region {
    Anywhere(memmap2::MmapRaw),
    /// Where it was asked for.
    #[cfg(target_os = "linux")]
    Fixed(fixed::Mapping),
}

#[cfg(any(unix, windows))]
impl Region {
    fn as_mut_ptr(&self) -> *mut u8 {
        match self {
            Region::Anywhere(map) => map.as_mut_ptr(),
            #[cfg(target_os = "linux")]
            Region::Fixed(map) => map.base(),
        }
    }
}

/// Mappings at addresses of our choice, which `memmap2` does not have.
#[cfg(target_os = "linux")]
mod fixed {
    use std::io;

    pub(super) struct Mapping {
        address: usize,
        len: usize,
    }

    impl Mapping {
        /// Maps zeros at `address`, a multiple of the page size, where nothing may be yet.
        pub(super) fn new(address: usize, len: usize) -> io::Result<Mapping> {
            let flags =
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let wanted = std::ptr::without_provenance_mut(address);
            // SAFETY: an anonymous mapping that replaces nothing: `MAP_FIXED_NOREPLACE` fails where something is.
            let got = unsafe { libc::mmap(wanted, len, access, flags, -1, 0) };
            if got == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let mapping = Mapping { address: got.expose_provenance(), len };
            // Kernels of before 4.17 take the address as a wish.
            if mapping.address == address { Ok(mapping) } else { Err(io::ErrorKind::AddrInUse.into()) }
        }

        pub(super) fn base(&self) -> *mut u8 {
            std::ptr::with_exposed_provenance_mut(self.address)
        }

        /// Asks for something about a range inside, in whole pages.
        ///
        /// # Safety
        /// As the advice demands.
        pub(super) unsafe fn advise(&self, advice: i32, offset: usize, len: usize) -> io::Result<()> {
            assert!(offset <= self.len && len <= self.len - offset);
            // SAFETY: inside the mapping; the rest is the caller's promise.
            match unsafe { libc::madvise(self.base().add(offset).cast(), len, advice) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping is ours, and nothing of it is used any more.
            unsafe { libc::munmap(self.base().cast(), self.len) };
        }
    }
}

impl Arena {
    /// Reserves `len` bytes.
    #[cfg(any(unix, windows))]
    pub(crate) fn reserve(len: usize) -> io::Result<Arena> {
        seam::ask(Kind::Map)?;
        let region: memmap2::MmapRaw =
            memmap2::MmapOptions::new().len(len).no_reserve_swap().map_anon()?.into();
        // Fewer page faults and TLB misses when a kernel sweeps large buffers; without it everything still works.
        #[cfg(target_os = "linux")]
        let _ = region.advise(memmap2::Advice::HugePage);
        Ok(Arena { region: Region::Anywhere(region), len })
    }

    /// Reserves `len` bytes at a host address, or says why that cannot be.
    #[cfg(target_os = "linux")]
    pub(crate) fn reserve_at(address: usize, len: usize) -> io::Result<Arena> {
        seam::ask(Kind::Map)?;
        let region = fixed::Mapping::new(address, len)?;
        // SAFETY: changes no contents.
        let _ = unsafe { region.advise(libc::MADV_HUGEPAGE, 0, len) };
        Ok(Arena { region: Region::Fixed(region), len })
    }

    /// Only Linux promises not to replace what is there.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn reserve_at(_address: usize, _len: usize) -> io::Result<Arena> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Reserves `len` bytes. Without virtual memory this commits all of them.
    #[cfg(not(any(unix, windows)))]
    pub(crate) fn reserve(len: usize) -> io::Result<Arena> {
        seam::ask(Kind::Map)?;
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
            match &self.region {
                Region::Anywhere(map) => {
                    map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from)
                }
                Region::Fixed(map) => map.advise(libc::MADV_DONTNEED, from, to - from),
            }
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_fixed_arena_lies_where_it_was_asked_for_and_replaces_nothing() {
        const AT: usize = 0x0180_0000_0000;
        let arena = Arena::reserve_at(AT, SIZE).unwrap();
        assert_eq!(arena.base() as usize, AT);
        fill(&arena, 1);
        assert!(Arena::reserve_at(AT + SIZE / 2, SIZE).is_err());
        arena.zero(0, SIZE);
        assert!(bytes(&arena).iter().all(|&b| b == 0));
        drop(arena);
        drop(Arena::reserve_at(AT, SIZE).unwrap());
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
