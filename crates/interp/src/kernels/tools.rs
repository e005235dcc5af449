//! What the engine does with columns besides computing: masks, runs of addresses, blending.

use super::{CHUNK, Kernel, KernelFn, Level, Step, chunk, pick, select, write};
use std::marker::PhantomData;

/// The lanes in the mask `imm` from the argument, the others stay.
struct Blend<L>(PhantomData<L>);

impl<L: Copy> Kernel for Blend<L> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller; the result is read as it is written.
            let (a, mut r): ([L; CHUNK], [L; CHUNK]) =
                unsafe { (chunk(s, 0, i), *s.dst.add(i * size_of::<[L; CHUNK]>()).cast::<[L; CHUNK]>()) };
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
                let first = unsafe { *s.args[0].cast::<$t>() };
                let mut off = 0;
                for i in 0..s.n {
                    // SAFETY: handed on from the caller.
                    let a: [$t; CHUNK] = unsafe { chunk(s, 0, i) };
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

/// Functions for one level of the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools {
    blend: [KernelFn; 7],
    copy: [KernelFn; 7],
    ascending: [KernelFn; 2],
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
        }
    }

    /// Copies the lanes in `mask` of one warp, `bytes` (1 to 64, a power of two) each.
    ///
    /// # Safety
    /// Both columns are valid for 32 lanes and aligned for their elements.
    pub(crate) unsafe fn blend(&self, dst: *mut u8, from: *const u8, bytes: usize, mask: u32) {
        let s = one(dst, from, 0, 1, mask.into());
        // SAFETY: handed on from the caller.
        unsafe { self.blend[log(bytes)](&s) }
    }

    /// Copies all lanes of `warps` warps; `step` is the source's bytes from warp to warp.
    ///
    /// # Safety
    /// Both columns are valid for that many warps and aligned for their elements.
    pub(crate) unsafe fn copy(&self, dst: *mut u8, from: *const u8, step: usize, bytes: usize, warps: usize) {
        let s = one(dst, from, step, warps, 0);
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
        let s = one(&raw mut broken, column, step, warps, size as u64);
        // SAFETY: handed on from the caller.
        unsafe { self.ascending[usize::from(wide)](&s) }
        broken == 0
    }
}

fn one(dst: *mut u8, from: *const u8, step: usize, n: usize, imm: u64) -> Step {
    let mut s = Step { n, dst, args: [std::ptr::null(); 8], steps: [0; 8], imm };
    (s.args[0], s.steps[0]) = (from, step);
    s
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
