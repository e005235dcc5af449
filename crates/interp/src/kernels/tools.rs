//! What the engine does with columns besides computing: masks, runs of addresses, blending.

use super::{CHUNK, Kernel, KernelFn, Level, Operand, Step, pick, select, write};
use std::marker::PhantomData;

/// The lanes in the mask `imm` from the argument, the others stay.
struct Blend<L>(PhantomData<L>);

impl<L: Copy> Kernel for Blend<L> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller; the result is read as it is written.
            let (a, mut r): ([L; CHUNK], [L; CHUNK]) =
                unsafe { (s.arg(0).chunk(i), *s.dst.add(i * size_of::<[L; CHUNK]>()).cast::<[L; CHUNK]>()) };
            for l in 0..CHUNK {
                r[l] = if s.imm >> l & 1 != 0 { a[l] } else { r[l] };
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// Writes 1 to the first byte of the result where argument 0, a column of addresses, does not go up by `imm` from lane to lane.
struct Ascending<T>(PhantomData<T>);

macro_rules! ascending {
    ($t:ty) => {
        impl Kernel for Ascending<$t> {
            #[inline(always)]
            unsafe fn run(s: &Step) {
                let size = s.imm as $t;
                // SAFETY: handed on from the caller: at least one chunk.
                let first = unsafe { *s.arg(0).at.cast::<$t>() };
                let mut off = 0;
                for i in 0..s.n {
                    // SAFETY: handed on from the caller.
                    let a: [$t; CHUNK] = unsafe { s.arg(0).chunk(i) };
                    let base = first.wrapping_add((i * CHUNK) as $t * size);
                    for l in 0..CHUNK {
                        off |= a[l].wrapping_sub(base.wrapping_add(l as $t * size));
                    }
                }
                // SAFETY: handed on from the caller.
                unsafe { *s.dst = u8::from(off != 0) }
            }
        }
    };
}
ascending!(u32);
ascending!(u64);

/// Writes the least and the greatest of a warp's addresses and the bits that are set in any of them, as three u64. Lanes that are not in
/// the mask `imm`, which names at least one, do not count.
struct Bounds<T>(PhantomData<T>);

macro_rules! bounds {
    ($t:ty) => {
        impl Kernel for Bounds<$t> {
            #[inline(always)]
            unsafe fn run(s: &Step) {
                // SAFETY: handed on from the caller.
                let mut a: [$t; CHUNK] = unsafe { s.arg(0).chunk(0) };
                let first = a[s.imm.trailing_zeros() as usize % CHUNK];
                for l in 0..CHUNK {
                    a[l] = if s.imm >> l & 1 != 0 { a[l] } else { first };
                }
                let (mut min, mut max, mut bits) = (first, first, first);
                for l in 0..CHUNK {
                    min = min.min(a[l]);
                    max = max.max(a[l]);
                    bits |= a[l];
                }
                // SAFETY: handed on from the caller.
                unsafe { *s.dst.cast::<[u64; 3]>() = [min.into(), max.into(), bits.into()] }
            }
        }
    };
}
bounds!(u32);
bounds!(u64);

/// Functions for one level of the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools {
    blend: [KernelFn; 7],
    copy: [KernelFn; 7],
    ascending: [KernelFn; 2],
    bounds: [KernelFn; 2],
}

/// Index of a size that is a power of two up to 64.
fn log(bytes: usize) -> usize {
    (bytes.trailing_zeros() as usize).min(6)
}

impl Tools {
    pub(crate) fn new(level: Level) -> Tools {
        Tools {
            blend: [
                pick::<Blend<u8>>(level),
                pick::<Blend<u16>>(level),
                pick::<Blend<u32>>(level),
                pick::<Blend<u64>>(level),
                pick::<Blend<[u64; 2]>>(level),
                pick::<Blend<[u64; 4]>>(level),
                pick::<Blend<[u64; 8]>>(level),
            ],
            copy: std::array::from_fn(|i| select::copy(1 << i, level)),
            ascending: [pick::<Ascending<u32>>(level), pick::<Ascending<u64>>(level)],
            bounds: [pick::<Bounds<u32>>(level), pick::<Bounds<u64>>(level)],
        }
    }

    /// Copies the lanes in `mask` of one warp, `bytes` (1 to 64, a power of two) each.
    ///
    /// # Safety
    /// Both columns are valid for 32 lanes and aligned for their elements.
    pub(crate) unsafe fn blend(&self, dst: *mut u8, from: *const u8, bytes: usize, mask: u32) {
        let args = Operand { at: from, step: 0 };
        let s = Step { n: 1, dst, args: &raw const args, imm: mask.into() };
        // SAFETY: handed on from the caller.
        unsafe { self.blend[log(bytes)](&s) }
    }

    /// Copies all lanes of `warps` warps; `step` is the source's bytes from warp to warp.
    ///
    /// # Safety
    /// Both columns are valid for that many warps and aligned for their elements.
    pub(crate) unsafe fn copy(&self, dst: *mut u8, from: *const u8, step: usize, bytes: usize, warps: usize) {
        let args = Operand { at: from, step };
        let s = Step { n: warps, dst, args: &raw const args, imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { self.copy[log(bytes)](&s) }
    }

    /// Whether the addresses of `warps` warps, at least one, go up by `size` from lane to lane.
    ///
    /// # Safety
    /// The column holds 32- or (`wide`) 64-bit addresses of that many warps.
    pub(crate) unsafe fn ascending(&self, column: *const u8, wide: bool, warps: usize, size: usize) -> bool {
        let mut broken = 0u8;
        let step = CHUNK * if wide { 8 } else { 4 };
        let args = Operand { at: column, step };
        let s = Step { n: warps, dst: &raw mut broken, args: &raw const args, imm: size as u64 };
        // SAFETY: handed on from the caller.
        unsafe { self.ascending[usize::from(wide)](&s) }
        broken == 0
    }

    /// The least and the greatest address of the lanes in `mask`, of which there is one, and the bits set in any.
    ///
    /// # Safety
    /// The column holds 32 addresses of 32 or (`wide`) 64 bits.
    pub(crate) unsafe fn bounds(&self, column: *const u8, wide: bool, mask: u32) -> [u64; 3] {
        let mut out = [0u64; 3];
        let args = Operand { at: column, step: 0 };
        let s = Step { n: 1, dst: (&raw mut out).cast(), args: &raw const args, imm: mask.into() };
        // SAFETY: handed on from the caller.
        unsafe { self.bounds[usize::from(wide)](&s) }
        out
    }
}

/// The bits of a warp's column of `i1`. Bytes other than 0 and 1 can only be in lanes that do not run.
pub(crate) fn bits(column: &[u8; CHUNK]) -> u32 {
    let mut mask = 0;
    for (i, eight) in column.chunks_exact(8).enumerate() {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        // Multiplying gathers the lowest bits of the eight bytes in the highest byte.
        let ones = u64::from_le_bytes(word) & 0x0101_0101_0101_0101;
        mask |= ((ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << (8 * i);
    }
    mask
}
