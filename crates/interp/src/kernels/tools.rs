//! What the engine does with columns besides computing: masks, runs of addresses, blending.

use super::rows::{Layout, PIECE, Rows};
use super::{CHUNK, Kernel, KernelFn, Level, Operand, Step, pick, select, write};
use std::marker::PhantomData;

/// The lanes in a mask, of which the second argument has one per warp, from the first argument; the others stay.
struct Blend<L>(PhantomData<L>);

impl<L: Bits> Kernel for Blend<L> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        let (x, masks) = unsafe { (s.arg(0), s.arg(1)) };
        for i in 0..s.n {
            // SAFETY: handed on from the caller; the result is read as it is written.
            let (a, [mask], mut r): ([L; CHUNK], [u32; 1], [L; CHUNK]) = unsafe {
                let old = s.dst.add(i * size_of::<[L; CHUNK]>()).cast::<[L; CHUNK]>();
                (x.chunk(i), masks.chunk(i), *old)
            };
            for l in 0..CHUNK {
                r[l] = L::choose(mask >> l & 1, a[l], r[l]);
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// What lies at the addresses of the first argument, given that address `imm` is where the third argument begins on the host. Lanes that
/// are not in the mask, of which the second argument has one per warp, get 0.
struct Gather<A, L>(PhantomData<(A, L)>);

impl<A: Bits + Into<u64>, L: Bits> Kernel for Gather<A, L> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        let (x, masks, memory) = unsafe { (s.arg(0), s.arg(1), s.arg(2)) };
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let (a, [mask]): ([A; CHUNK], [u32; 1]) = unsafe { (x.chunk(i), masks.chunk(i)) };
            let mut r = [L::ZERO; CHUNK];
            for l in 0..CHUNK {
                let on = mask >> l & 1;
                let offset: u64 = u64::choose(on, a[l].into().wrapping_sub(s.imm), 0);
                // SAFETY: the caller has checked the addresses of lanes in the mask; the others read the beginning.
                let value = unsafe { *memory.at.add(offset as usize).cast::<L>() };
                r[l] = L::choose(on, value, L::ZERO);
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// What a lane holds, as integers. Choosing by arithmetic: choosing by `if` may become a choice between pointers, lane by lane.
pub(super) trait Bits: Copy {
    const ZERO: Self;

    /// `a` if `bit` is 1, `b` if it is 0.
    fn choose(bit: u32, a: Self, b: Self) -> Self;

    /// The bits of `a` where the mask has some, those of `b` elsewhere.
    fn mix(mask: Self, a: Self, b: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => { $(
        impl Bits for $t {
            const ZERO: Self = 0;

            #[inline(always)]
            fn choose(bit: u32, a: Self, b: Self) -> Self {
                b ^ (a ^ b) & (bit as $t).wrapping_neg()
            }

            #[inline(always)]
            fn mix(mask: Self, a: Self, b: Self) -> Self {
                b ^ (a ^ b) & mask
            }
        }
    )* };
}
bits!(u8 u16 u32 u64);

impl<const N: usize> Bits for [u64; N] {
    const ZERO: Self = [0; N];

    #[inline(always)]
    fn choose(bit: u32, a: Self, mut b: Self) -> Self {
        for k in 0..N {
            b[k] = u64::choose(bit, a[k], b[k]);
        }
        b
    }

    #[inline(always)]
    fn mix(mask: Self, a: Self, b: Self) -> Self {
        std::array::from_fn(|k| u64::mix(mask[k], a[k], b[k]))
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

/// Writes the least and the greatest of some addresses and the bits that are set in any of them, as three u64. Only lanes in the mask
/// count, of which the second argument has one per warp.
struct Bounds<T>(PhantomData<T>);

macro_rules! bounds {
    ($t:ty) => {
        impl Kernel for Bounds<$t> {
            #[inline(always)]
            unsafe fn run(s: &Step) {
                // SAFETY: handed on from the caller.
                let (x, masks) = unsafe { (s.arg(0), s.arg(1)) };
                let (mut min, mut max, mut bits) = ([<$t>::MAX; CHUNK], [0; CHUNK], [0; CHUNK]);
                for i in 0..s.n {
                    // SAFETY: handed on from the caller.
                    let (a, [mask]): ([$t; CHUNK], [u32; 1]) = unsafe { (x.chunk(i), masks.chunk(i)) };
                    for l in 0..CHUNK {
                        let on = ((mask >> l & 1) as $t).wrapping_neg();
                        min[l] = min[l].min(a[l] | !on);
                        max[l] = max[l].max(a[l] & on);
                        bits[l] |= a[l] & on;
                    }
                }
                let out: [u64; 3] = [
                    min.into_iter().fold(<$t>::MAX, <$t>::min).into(),
                    max.into_iter().fold(0, <$t>::max).into(),
                    bits.into_iter().fold(0, |a, b| a | b).into(),
                ];
                // SAFETY: handed on from the caller.
                unsafe { *s.dst.cast::<[u64; 3]>() = out }
            }
        }
    };
}
bounds!(u32);
bounds!(u64);

/// `n` affine integers; the first argument holds the first of them and the stride.
struct Ramp<T>(PhantomData<T>);

macro_rules! ramp {
    ($t:ty) => {
        impl Kernel for Ramp<$t> {
            #[inline(always)]
            unsafe fn run(s: &Step) {
                // SAFETY: handed on from the caller.
                let [first, stride]: [u64; 2] = unsafe { s.arg(0).chunk(0) };
                let (first, stride) = (first as $t, stride as $t);
                for i in 0..s.n {
                    // SAFETY: handed on from the caller: valid and aligned for `n`.
                    unsafe { *s.dst.cast::<$t>().add(i) = first.wrapping_add(stride.wrapping_mul(i as $t)) }
                }
            }
        }
    };
}
ramp!(u32);
ramp!(u64);

/// Functions for one level of the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tools {
    blend: [KernelFn; 7],
    copy: [KernelFn; 7],
    ascending: [KernelFn; 2],
    bounds: [KernelFn; 2],
    gather: [[KernelFn; 7]; 2],
    ramp: [KernelFn; 2],
    rows: [[KernelFn; 7]; 2],
    bits: KernelFn,
    lane_read: KernelFn,
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
            gather: [gathers::<u32>(level), gathers::<u64>(level)],
            bits: pick_bits_of(level),
            lane_read: pick_lane_read(level),
            rows: [rows::<false>(level), rows::<true>(level)],
            ramp: [pick::<Ramp<u32>>(level), pick::<Ramp<u64>>(level)],
        }
    }

    /// Copies the lanes in the masks of as many warps, `bytes` (1 to 64, a power of two) each; `step` is the source's bytes from warp to
    /// warp.
    ///
    /// # Safety
    /// Both columns are valid for that many warps and aligned for their elements.
    pub(crate) unsafe fn blend(
        &self,
        dst: *mut u8,
        from: *const u8,
        step: usize,
        bytes: usize,
        masks: &[u32],
    ) {
        let args = [Operand { at: from, step }, masks_of(masks)];
        let s = Step { n: masks.len(), dst, args: args.as_ptr(), imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { self.blend[log(bytes)](&s) }
    }

    /// Reads `bytes` (1 to 64, a power of two) for each lane in the masks of as many warps: what lies at its address, given that
    /// address `first` is `memory` on the host. Other lanes get 0.
    ///
    /// # Safety
    /// `dst` is valid for that many warps, `addresses` holds 32- or (`wide`) 64-bit addresses of that many, and all those in the masks
    /// are such that `bytes` bytes can be read there, and aligned.
    #[allow(clippy::too_many_arguments)] // of a kernel
    pub(crate) unsafe fn gather(
        &self,
        dst: *mut u8,
        addresses: Operand,
        wide: bool,
        memory: *const u8,
        first: u64,
        bytes: usize,
        masks: &[u32],
    ) {
        let args = [addresses, masks_of(masks), Operand { at: memory, step: 0 }];
        let s = Step { n: masks.len(), dst, args: args.as_ptr(), imm: first };
        // SAFETY: handed on from the caller.
        unsafe { self.gather[usize::from(wide)][log(bytes)](&s) }
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

    /// Writes `n` integers of 32 or (`wide`) 64 bits from `base` on, `stride` apart.
    ///
    /// # Safety
    /// `dst` is valid for them and aligned.
    pub(crate) unsafe fn ramp(&self, dst: *mut u8, wide: bool, n: usize, base: u64, stride: i64) {
        let values = [base, stride as u64];
        let args = Operand { at: values.as_ptr().cast(), step: 0 };
        let s = Step { n, dst, args: &raw const args, imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { self.ramp[usize::from(wide)](&s) }
    }

    /// Fills lanes of `bytes` (1 to 64, a power of two) with rows that lie in memory at each of some addresses; it is so many bytes from the
    /// first lane that one set of rows goes to to that of the next.
    ///
    /// # Safety
    /// `dst` is valid for all rows, and so is what they are read from; all is aligned, and they do not overlap.
    pub(crate) unsafe fn rows(
        &self,
        dst: *mut u8,
        memory: &[*const u8],
        apart: usize,
        layout: Layout,
        bytes: usize,
    ) {
        /// Half of a chunk of the largest lanes without bits, and half a chunk with all.
        static HALVES: [[u64; 8 * PIECE]; 2] = [[0; 8 * PIECE], [u64::MAX; 8 * PIECE]];
        /// Sets of rows that are read in one call.
        const SETS: usize = 16;
        let halves = HALVES.as_ptr().cast::<u8>().wrapping_add((64 - bytes) * PIECE);
        let Layout { count, len, step, same } = layout.in_pieces(bytes);
        let imm = (count as u64) << 32 | len as u64;
        let mut args = [Operand { at: halves, step: apart }; 1 + SETS];
        for (i, sets) in memory.chunks(SETS).enumerate() {
            for (arg, at) in args[1..].iter_mut().zip(sets) {
                *arg = Operand { at: *at, step: step as usize };
            }
            let dst = dst.wrapping_add(i * SETS * apart);
            let s = Step { n: sets.len(), dst, args: args.as_ptr(), imm };
            // SAFETY: handed on from the caller.
            unsafe { self.rows[usize::from(same)][log(bytes)](&s) }
        }
    }

    /// The bits of a column of `i1`, for as many warps as there is room.
    ///
    /// # Safety
    /// The column is valid for that many warps.
    pub(crate) unsafe fn bits(&self, column: Operand, out: &mut [u32]) {
        let s = Step { n: out.len(), dst: out.as_mut_ptr().cast(), args: &raw const column, imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { (self.bits)(&s) }
    }

    /// Gives each lane of as many warps as there are masks the word of the lane of its warp that it names, modulo 32, or its own where that is
    /// not in the mask.
    ///
    /// # Safety
    /// All columns hold words of that many warps.
    pub(crate) unsafe fn lane_read(&self, dst: *mut u8, own: Operand, named: Operand, masks: &[u32]) {
        let args = [own, named, masks_of(masks)];
        let s = Step { n: masks.len(), dst, args: args.as_ptr(), imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { (self.lane_read)(&s) }
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

    /// The least and the greatest address of the lanes in the masks, of which there is one, and the bits set in any.
    ///
    /// # Safety
    /// The column holds 32- or (`wide`) 64-bit addresses of as many warps as there are masks.
    pub(crate) unsafe fn bounds(&self, addresses: Operand, wide: bool, masks: &[u32]) -> [u64; 3] {
        let mut out = [0u64; 3];
        let args = [addresses, masks_of(masks)];
        let s = Step { n: masks.len(), dst: (&raw mut out).cast(), args: args.as_ptr(), imm: 0 };
        // SAFETY: handed on from the caller.
        unsafe { self.bounds[usize::from(wide)](&s) }
        out
    }
}

fn masks_of(masks: &[u32]) -> Operand {
    Operand { at: masks.as_ptr().cast(), step: size_of::<u32>() }
}

fn gathers<A: Bits + Into<u64>>(level: Level) -> [KernelFn; 7] {
    [
        pick::<Gather<A, u8>>(level),
        pick::<Gather<A, u16>>(level),
        pick::<Gather<A, u32>>(level),
        pick::<Gather<A, u64>>(level),
        pick::<Gather<A, [u64; 2]>>(level),
        pick::<Gather<A, [u64; 4]>>(level),
        pick::<Gather<A, [u64; 8]>>(level),
    ]
}

fn rows<const SAME: bool>(level: Level) -> [KernelFn; 7] {
    [
        pick::<Rows<u8, SAME>>(level),
        pick::<Rows<u16, SAME>>(level),
        pick::<Rows<u32, SAME>>(level),
        pick::<Rows<u64, SAME>>(level),
        pick::<Rows<[u64; 2], SAME>>(level),
        pick::<Rows<[u64; 4], SAME>>(level),
        pick::<Rows<[u64; 8], SAME>>(level),
    ]
}

/// The lowest bits of bytes, 32 to a word: of as many chunks of the argument as there are words.
struct BitsOf;

impl Kernel for BitsOf {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, [bits(&s.arg(0).chunk(i))]) }
        }
    }
}

/// As `BitsOf`, by an instruction that does just that.
///
/// # Safety
/// As for [`KernelFn`], on a CPU of level `V3` at least.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn bits_of(s: &Step) {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_movemask_epi8, _mm256_slli_epi16};
    for i in 0..s.n {
        // SAFETY: handed on from the caller.
        unsafe {
            let x = s.arg(0);
            let bytes = _mm256_loadu_si256(x.at.add(i * x.step).cast());
            // What moves from one byte to the next stays below the highest bit.
            write(s, i, [_mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32]);
        }
    }
}

fn pick_bits_of(level: Level) -> KernelFn {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::V3 | Level::V4 => bits_of,
        Level::Base => pick::<BitsOf>(level),
    }
}

/// For each lane the word of the first argument in the lane of its warp that the second names, or its own where that lane is not in the
/// mask, of which the third argument has one per warp.
struct LaneRead;

impl Kernel for LaneRead {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let (own, named, [mask]): ([u32; CHUNK], [u32; CHUNK], [u32; 1]) =
                unsafe { (s.arg(0).chunk(i), s.arg(1).chunk(i), s.arg(2).chunk(i)) };
            let mut r = own;
            for l in 0..CHUNK {
                let from = named[l] as usize % CHUNK;
                r[l] = u32::choose(mask >> from & 1, own[from], own[l]);
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// As `LaneRead`, by an instruction that does just that.
///
/// # Safety
/// As for [`KernelFn`], on a CPU of level `V4`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn lane_read_v4(s: &Step) {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_permutex2var_epi32,
        _mm512_set1_epi32, _mm512_sllv_epi32, _mm512_storeu_si512, _mm512_test_epi32_mask,
    };
    for i in 0..s.n {
        // SAFETY: handed on from the caller: two vectors make up a chunk.
        unsafe {
            let (own, named, [mask]) = (s.arg(0), s.arg(1), s.arg(2).chunk::<i32, 1>(i));
            let at = |half: usize| 64 * half;
            let own = [0, 1].map(|half| _mm512_loadu_si512(own.at.add(i * own.step + at(half)).cast()));
            let read = [0, 1].map(|half| {
                let named = _mm512_loadu_si512(named.at.add(i * named.step + at(half)).cast());
                let from = _mm512_and_si512(named, _mm512_set1_epi32(31));
                let bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), from);
                let there = _mm512_test_epi32_mask(bit, _mm512_set1_epi32(mask));
                _mm512_mask_blend_epi32(there, own[half], _mm512_permutex2var_epi32(own[0], from, own[1]))
            });
            for (half, read) in read.into_iter().enumerate() {
                _mm512_storeu_si512(s.dst.add(i * 128 + at(half)).cast(), read);
            }
        }
    }
}

fn pick_lane_read(level: Level) -> KernelFn {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::V4 => lane_read_v4,
        _ => pick::<LaneRead>(level),
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
