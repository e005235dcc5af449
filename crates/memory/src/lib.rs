//! Device memory: address map, allocations, checks, faults.
//!
//! - [`DeviceMemory`] is global memory: one lazily committed arena, so `host = arena + (address - GLOBAL_BASE)`.
//! - [`CtaMemory`] is what one CTA sees besides: shared, local, constant and parameter memory.
//! - [`map`] says where each space lies among generic addresses.
//! - [`Fault`] says what was wrong with an access and which allocation it was probably meant for.
//!
//! # The check
//!
//! For every 256-byte granule of global memory a table of `u32` holds how many bytes are valid from the granule's
//! start to the end of its allocation (0: dead; saturated at `u32::MAX`). An access to `[addr, addr + size)` is inside
//! one live allocation exactly where
//!
//! ```text
//! off = addr - GLOBAL_BASE
//! off < global_size  &&  (off & 255) + size <= granules[off >> 8]
//! ```
//!
//! for any `size` below 4 GiB, so one look-up also covers a whole contiguous column of lanes. Natural alignment is
//! checked apart (`addr & (size - 1) == 0`). A dead guard granule behind every allocation keeps neighbours apart.
//! [`RawView`] hands the pieces to compiled kernels; a failed check goes to [`DeviceMemory::diagnose`] or
//! [`CtaMemory::diagnose`], the cold path that makes the [`Fault`].
//!
//! With [`DeviceMemory::at_host_addresses`] and [`DeviceMemory::raw_pointers`] the table begins at address 0 and covers all addresses of the host;
//! ranges that [`DeviceMemory::map_foreign`] or [`DeviceMemory::expose`] are given are valid as allocations are. The check is the same; where such a
//! range begins inside a granule, a failed one is looked up (`foreign.rs`).
//!
//! # Safety
//!
//! Global memory is shared by all threads that run CTAs and by the host. Why the `unsafe` in this crate holds:
//!
//! - The arena and the granule table are mapped when the device is made and unmapped when it is dropped; every pointer
//!   handed out borrows the device or says that it must not outlive it. Freeing an allocation unmaps nothing, so an
//!   access that passed its check just before a concurrent `free` touches stale bytes of the arena, never other memory.
//! - Foreign ranges are the caller's promise: `map_foreign` and `expose` are unsafe, and nothing else lets a kernel out of the arena.
//! - The arena is reached only through raw pointers and atomics. No `&[u8]` or `&mut [u8]` into it ever exists, so
//!   nothing is assumed about bytes that a kernel may be changing.
//! - Scalars are read and written with relaxed atomics (plain moves on every host), so racing kernels get some value.
//!   128-bit scalars and bulk copies may tear: a copy that races with a kernel's stores sees a mix of old and new bytes,
//!   which is what PTX says of unsynchronised copies. Bulk copies are one `memcpy` between the arena and a buffer that
//!   nobody else can see; like other virtual machines we rely on the host to treat the arena as foreign memory there.
//! - No byte of the arena carries an invariant of Rust's: only integers, for which every bit pattern is valid.
//! - Shared and local memory belong to one CTA, which stays on one thread, and are reached through `&mut`.

// Memory is little-endian to PTX, and here it is the host's own.
#[cfg(target_endian = "big")]
compile_error!("hostwarp needs a little-endian host");

mod arena;
mod cta;
mod device;
mod fault;
mod foreign;
pub mod map;
#[cfg(test)]
mod model_test;
mod run;
mod scalar;
mod table;

pub use cta::{Block, CtaMemory, LocalMemory, SHARED_LINE};
pub use device::{Allocation, DEFAULT_CAPACITY, DeviceMemory, MemoryInfo, RawView};
pub use fault::{Access, Fault, FaultKind, MemoryError, Nearest, Place};
pub use map::Space;
pub use run::GlobalRun;
pub use scalar::{AtomicInt, AtomicOp, AtomicScalar, Scalar};
pub use table::GRANULE;
