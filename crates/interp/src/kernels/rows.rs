//! Rows of lanes as they lie in memory.

use super::tools::Bits;
use super::{CHUNK, Kernel, Level, Step};
use std::marker::PhantomData;

/// Rows of lanes, one behind the other: what lies at a row's address and behind it, or (`SAME`) one value of it for all lanes of a row.
/// The arguments from the second on are `n` sets of rows, each with its first address and the bytes from row to row; the number of rows in
/// a set is the upper half of `imm`, that of lanes in a row the lower. The first argument has no bits set in the first half of a chunk and
/// all in the second; its step is the bytes from set to set in the result.
pub(super) struct Rows<L, const SAME: bool>(PhantomData<L>);

/// Lanes of a row that is written at once.
pub(crate) const PIECE: usize = 16;

impl<L: Bits, const SAME: bool> Kernel for Rows<L, SAME> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let (count, len) = ((s.imm >> 32) as usize, s.imm as u32 as usize);
        // SAFETY: handed on from the caller.
        let halves = unsafe { s.arg(0) };
        for set in 0..s.n {
            // SAFETY: handed on from the caller; rows are valid on both sides, and no row is part of the result.
            unsafe {
                let (rows, to) = (s.arg(1 + set), s.dst.add(set * halves.step).cast::<L>());
                // Steps may be negative: they wrap.
                let row = |r: usize| rows.at.wrapping_add(r.wrapping_mul(rows.step)).cast::<L>();
                let mut done = 0;
                if len == PIECE && SAME {
                    // Two rows are a chunk, and loops over a chunk are what becomes vector code.
                    for i in 0..count / 2 {
                        let (a, b): (L, L) = (*row(2 * i), *row(2 * i + 1));
                        let second: [L; CHUNK] = halves.chunk(0);
                        let mut r = [L::ZERO; CHUNK];
                        for k in 0..CHUNK {
                            r[k] = L::mix(second[k], b, a);
                        }
                        *to.cast::<[L; CHUNK]>().add(i) = r;
                    }
                    done = count / 2 * 2;
                } else if len == PIECE {
                    for r in 0..count {
                        *to.cast::<[L; PIECE]>().add(r) = *row(r).cast();
                    }
                    done = count;
                }
                for r in done..count {
                    let (from, to) = (row(r), to.add(r * len));
                    let value = *from;
                    for x in 0..len {
                        *to.add(x) = if SAME { value } else { *from.add(x) };
                    }
                }
            }
        }
    }
}

/// How rows of lanes lie in memory: a number of them for each CTA, or for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Rows.
    pub(crate) count: usize,
    /// Lanes in a row.
    pub(crate) len: usize,
    /// Bytes from row to row.
    pub(crate) step: i64,
    /// One value for all lanes of a row; else one behind the other.
    pub(crate) same: bool,
}

impl Layout {
    pub(crate) fn row(len: usize, same: bool) -> Layout {
        Layout { count: 1, len, step: 0, same }
    }

    /// The same in rows of the length that is fast, where there is one of many such pieces.
    pub(super) fn in_pieces(self, bytes: usize) -> Layout {
        if self.count != 1 || !self.len.is_multiple_of(PIECE) {
            return self;
        }
        let step = if self.same { 0 } else { (PIECE * bytes) as i64 };
        Layout { count: self.len / PIECE, len: PIECE, step, ..self }
    }
}

/// Where rows begin.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only intrinsics read them.
pub(crate) enum RowsFrom<'a> {
    /// All of them: sets lie one behind the other.
    One(*const u8),
    /// Each set: as many bytes behind its pointer.
    Each(&'a [*const u8], usize),
}

/// An argument of a kernel that reads rows.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only intrinsics read them.
pub(crate) struct RowsOf<'a> {
    pub(crate) from: RowsFrom<'a>,
    /// Bytes from row to row.
    pub(crate) step: isize,
    /// One value for all lanes of a row.
    pub(crate) same: bool,
}

/// One call of a kernel that adds products of rows: of `sets` sets with `count` rows of `len` lanes, a multiple of [`PIECE`].
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // Only intrinsics read them.
pub(crate) struct RowsStep<'a> {
    pub(crate) sets: usize,
    pub(crate) count: usize,
    pub(crate) len: usize,
    /// The result: all rows, one behind the other.
    pub(crate) dst: *mut u8,
    /// The factors, product by product.
    pub(crate) products: &'a [[RowsOf<'a>; 2]],
    /// What they are added to, one after the other.
    pub(crate) sum: RowsOf<'a>,
}

/// A kernel that reads rows.
///
/// # Safety
/// To be called with rows that are all there, aligned, on a CPU of the level it was made for. The result may lie where an argument lies
/// that has one value for each lane.
pub(crate) type RowsFn = unsafe fn(&RowsStep);

/// `a · b + c` of f32, rounded once for each product, for a level that has an instruction for it.
pub(super) fn fma(level: Level) -> Option<RowsFn> {
    match level {
        Level::Base => None,
        #[cfg(target_arch = "x86_64")]
        Level::V3 => Some(x86::fma_v3),
        #[cfg(target_arch = "x86_64")]
        Level::V4 => Some(x86::fma_v4),
    }
}

/// By intrinsics: a loop over one short row is unrolled before it could become vector code.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{RowsFrom, RowsOf, RowsStep};
    use std::arch::x86_64::{
        __m256, __m512, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps, _mm512_fmadd_ps,
        _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };

    /// Some f32.
    ///
    /// # Safety
    /// All of it is for a CPU that has such vectors and fused multiplication; pointers are valid for as many lanes.
    trait Vector: Copy {
        const LANES: usize;
        unsafe fn read(from: *const f32) -> Self;
        unsafe fn splat(value: f32) -> Self;
        unsafe fn fma(a: Self, b: Self, c: Self) -> Self;
        unsafe fn write(self, to: *mut f32);
    }

    macro_rules! vector {
        ($vector:ident, $lanes:literal, $read:ident, $splat:ident, $fma:ident, $write:ident) => {
            impl Vector for $vector {
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn read(from: *const f32) -> Self {
                    // SAFETY: handed on from the caller.
                    unsafe { $read(from) }
                }

                #[inline(always)]
                unsafe fn splat(value: f32) -> Self {
                    // SAFETY: handed on from the caller.
                    unsafe { $splat(value) }
                }

                #[inline(always)]
                unsafe fn fma(a: Self, b: Self, c: Self) -> Self {
                    // SAFETY: handed on from the caller.
                    unsafe { $fma(a, b, c) }
                }

                #[inline(always)]
                unsafe fn write(self, to: *mut f32) {
                    // SAFETY: handed on from the caller.
                    unsafe { $write(to, self) }
                }
            }
        };
    }
    vector!(__m256, 8, _mm256_loadu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps);
    vector!(__m512, 16, _mm512_loadu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps);

    /// As many rows at once: each waits for the product before, all of them keep the CPU busy.
    const ROWS: usize = 8;

    /// Some lanes of the rows from `row` on: of one that has a value for each, or one for all.
    ///
    /// # Safety
    /// As for [`super::RowsFn`].
    #[inline(always)]
    unsafe fn add<V: Vector, const A: bool, const B: bool, const N: usize>(
        sums: &mut [V; N],
        (a, step_a): (*const u8, isize),
        (b, step_b): (*const u8, isize),
        x: usize,
    ) {
        for (j, sum) in (0..).zip(sums) {
            let (a, b) = (a.wrapping_offset(j * step_a), b.wrapping_offset(j * step_b));
            // SAFETY: handed on from the caller.
            unsafe { *sum = V::fma(of(A, a, x), of(B, b, x), *sum) };
        }
    }

    /// # Safety
    /// As for [`super::RowsFn`].
    #[inline(always)]
    unsafe fn of<V: Vector>(same: bool, row: *const u8, x: usize) -> V {
        let row = row.cast::<f32>();
        // SAFETY: handed on from the caller.
        unsafe { if same { V::splat(*row) } else { V::read(row.wrapping_add(x)) } }
    }

    /// The lanes from `x` on of `N` rows from `row` on.
    ///
    /// # Safety
    /// As for [`super::RowsFn`].
    #[inline(always)]
    unsafe fn rows<V: Vector, const N: usize>(s: &RowsStep, set: usize, row: usize, x: usize) {
        let begin = |arg: &RowsOf| match arg.from {
            RowsFrom::One(at) => at.wrapping_offset((set * s.count + row) as isize * arg.step),
            RowsFrom::Each(sets, at) => sets[set].wrapping_add(at).wrapping_offset(row as isize * arg.step),
        };
        let sum = begin(&s.sum);
        // SAFETY: handed on from the caller.
        let mut sums: [V; N] = std::array::from_fn(|j| unsafe {
            of(s.sum.same, sum.wrapping_offset(j as isize * s.sum.step), x)
        });
        for [a, b] in s.products {
            let (pa, pb) = ((begin(a), a.step), (begin(b), b.step));
            // SAFETY: handed on from the caller.
            unsafe {
                match (a.same, b.same) {
                    (true, false) if b.step == 0 => {
                        // One row against many values stays in a register.
                        let row: V = of(false, pb.0, x);
                        for (j, sum) in (0..).zip(&mut sums) {
                            *sum = V::fma(of(true, pa.0.wrapping_offset(j * pa.1), x), row, *sum);
                        }
                    }
                    (false, false) => add::<V, false, false, N>(&mut sums, pa, pb, x),
                    (false, true) => add::<V, false, true, N>(&mut sums, pa, pb, x),
                    (true, false) => add::<V, true, false, N>(&mut sums, pa, pb, x),
                    (true, true) => add::<V, true, true, N>(&mut sums, pa, pb, x),
                }
            }
        }
        let to = s.dst.cast::<f32>().wrapping_add((set * s.count + row) * s.len + x);
        for (j, sum) in sums.into_iter().enumerate() {
            // SAFETY: handed on from the caller.
            unsafe { sum.write(to.wrapping_add(j * s.len)) };
        }
    }

    /// # Safety
    /// As for [`super::RowsFn`].
    #[inline(always)]
    unsafe fn fma<V: Vector>(s: &RowsStep) {
        let many = s.count / ROWS * ROWS;
        for set in 0..s.sets {
            for x in (0..s.len).step_by(V::LANES) {
                // SAFETY: handed on from the caller.
                unsafe {
                    (0..many).step_by(ROWS).for_each(|row| rows::<V, ROWS>(s, set, row, x));
                    (many..s.count).for_each(|row| rows::<V, 1>(s, set, row, x));
                }
            }
        }
    }

    /// # Safety
    /// As for [`super::RowsFn`].
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn fma_v3(s: &RowsStep) {
        // SAFETY: handed on from the caller.
        unsafe { fma::<__m256>(s) }
    }

    /// # Safety
    /// As for [`super::RowsFn`].
    #[target_feature(enable = "avx2,fma,avx512f")]
    pub(super) unsafe fn fma_v4(s: &RowsStep) {
        // SAFETY: handed on from the caller.
        unsafe { fma::<__m512>(s) }
    }
}
