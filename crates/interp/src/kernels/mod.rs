//! Ops over columns: one function per op and type, compiled for several levels of the CPU and chosen when a kernel is
//! lowered.
//!
//! # Safety
//!
//! A kernel works on raw columns because its result may lie where an argument lies (the plan lets a value take the slot of one
//! that ends). It reads a whole chunk of 32 before it writes one, and slots are only shared by values of one size per lane, so
//! chunk `i` of the result never covers anything but chunk `i` of an argument. Who calls one promises what [`Step`] says.

// Loops count to a constant over several arrays at once, which is what becomes vector code.
#![allow(clippy::needless_range_loop)]

mod dot;
mod float;
mod int;
mod lanes;
mod rows;
mod select;
mod tools;

pub(crate) use rows::{Layout, PIECE, RowsFn, RowsFrom, RowsOf, RowsStep};
pub(crate) use select::{Selected, select};
pub(crate) use tools::{Tools, bits};

/// The most arguments of a pure op.
pub(crate) const MOST_ARGS: usize = 2 * hostwarp_ir::Dot::MOST_WORDS + 1;

/// Elements in a chunk.
pub(crate) const CHUNK: usize = 32;

/// A column that a kernel reads.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    /// Its first chunk, aligned for its elements.
    pub(crate) at: *const u8,
    /// Bytes from chunk to chunk; 0 if it is the same everywhere.
    pub(crate) step: usize,
}

impl Operand {
    /// Of a kernel that does not look at it.
    pub(crate) const NONE: Operand = Operand { at: std::ptr::null(), step: 0 };
}

/// One call of a kernel.
pub(crate) struct Step {
    /// Number of chunks.
    pub(crate) n: usize,
    /// The result: valid for `n` chunks, aligned for its elements.
    pub(crate) dst: *mut u8,
    /// As many arguments as the kernel reads, each valid for `n` chunks.
    pub(crate) args: *const Operand,
    /// Constants of the op.
    pub(crate) imm: u64,
}

/// A kernel.
///
/// # Safety
/// To be called with a [`Step`] that keeps its promises, on a CPU of the level it was made for.
pub(crate) type KernelFn = unsafe fn(&Step);

/// The body of a kernel, to be inlined into a function for each level.
pub(crate) trait Kernel {
    /// # Safety
    /// As for [`KernelFn`].
    unsafe fn run(s: &Step);
}

/// What the CPU can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Whatever Rust was told to build for.
    Base,
    /// x86-64-v3: AVX2, FMA, F16C.
    #[cfg(target_arch = "x86_64")]
    V3,
    /// x86-64-v4: AVX-512.
    #[cfg(target_arch = "x86_64")]
    V4,
}

impl Level {
    /// The best this CPU has.
    pub(crate) fn detect() -> Level {
        Level::available().last().copied().unwrap_or(Level::Base)
    }

    /// All this CPU has, ascending.
    pub(crate) fn available() -> &'static [Level] {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let v3 = has!("avx2")
                && has!("fma")
                && has!("f16c")
                && has!("bmi1")
                && has!("bmi2")
                && has!("lzcnt")
                && has!("popcnt");
            let v4 = v3
                && has!("avx512f")
                && has!("avx512bw")
                && has!("avx512cd")
                && has!("avx512dq")
                && has!("avx512vl");
            match (v3, v4) {
                (_, true) => &[Level::Base, Level::V3, Level::V4],
                (true, _) => &[Level::Base, Level::V3],
                _ => &[Level::Base],
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        &[Level::Base]
    }
}

unsafe fn base<K: Kernel>(s: &Step) {
    // SAFETY: handed on from the caller.
    unsafe { K::run(s) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn v3<K: Kernel>(s: &Step) {
    // SAFETY: handed on from the caller.
    unsafe { K::run(s) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn v4<K: Kernel>(s: &Step) {
    // SAFETY: handed on from the caller.
    unsafe { K::run(s) }
}

/// The kernel for a level, which the CPU must have.
pub(crate) fn pick<K: Kernel>(level: Level) -> KernelFn {
    match level {
        Level::Base => base::<K>,
        #[cfg(target_arch = "x86_64")]
        Level::V3 => v3::<K>,
        #[cfg(target_arch = "x86_64")]
        Level::V4 => v4::<K>,
    }
}

impl Step {
    /// Argument `k`. To be taken before the loop, so that nothing written in it can be thought to change it.
    ///
    /// # Safety
    /// As for [`KernelFn`]; there is such an argument.
    #[inline(always)]
    unsafe fn arg(&self, k: usize) -> Operand {
        // SAFETY: handed on from the caller.
        unsafe { *self.args.add(k) }
    }
}

impl Operand {
    /// Chunk `i`, `N` elements.
    ///
    /// # Safety
    /// The operand has that chunk, and its chunks hold `N` elements `T`.
    #[inline(always)]
    unsafe fn chunk<T: Copy, const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: valid and aligned by the promise of `Step`.
        unsafe { *self.at.add(i * self.step).cast::<[T; N]>() }
    }
}

/// Writes chunk `i` of the result.
///
/// # Safety
/// As for [`KernelFn`]; the result's chunks hold `N` elements `T` each.
#[inline(always)]
unsafe fn write<T: Copy, const N: usize>(s: &Step, i: usize, r: [T; N]) {
    // SAFETY: valid and aligned by the promise of `Step`.
    unsafe { *s.dst.add(i * size_of::<[T; N]>()).cast::<[T; N]>() = r }
}

/// Element by element.
///
/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn map1<A: Copy, R: Copy + Default>(s: &Step, f: impl Fn(A) -> R) {
    // SAFETY: handed on from the caller.
    let x = unsafe { s.arg(0) };
    for i in 0..s.n {
        // SAFETY: handed on from the caller.
        let a: [A; CHUNK] = unsafe { x.chunk(i) };
        let mut r = [R::default(); CHUNK];
        for k in 0..CHUNK {
            r[k] = f(a[k]);
        }
        // SAFETY: handed on from the caller.
        unsafe { write(s, i, r) }
    }
}

/// Chunk by chunk.
///
/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn map2_chunks<A: Copy, B: Copy, R: Copy>(s: &Step, f: impl Fn([A; CHUNK], [B; CHUNK]) -> [R; CHUNK]) {
    // SAFETY: handed on from the caller.
    let (x, y) = unsafe { (s.arg(0), s.arg(1)) };
    for i in 0..s.n {
        // SAFETY: handed on from the caller.
        unsafe { write(s, i, f(x.chunk(i), y.chunk(i))) }
    }
}

/// Element by element.
#[inline(always)]
fn zip3<A: Copy, B: Copy, C: Copy, R: Copy + Default>(
    a: [A; CHUNK],
    b: [B; CHUNK],
    c: [C; CHUNK],
    f: impl Fn(A, B, C) -> R,
) -> [R; CHUNK] {
    let mut r = [R::default(); CHUNK];
    for k in 0..CHUNK {
        r[k] = f(a[k], b[k], c[k]);
    }
    r
}

/// Element by element.
///
/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn map2<A: Copy, B: Copy, R: Copy + Default>(s: &Step, f: impl Fn(A, B) -> R) {
    // SAFETY: handed on from the caller.
    unsafe {
        map2_chunks(s, |a: [A; CHUNK], b: [B; CHUNK]| {
            let mut r = [R::default(); CHUNK];
            for k in 0..CHUNK {
                r[k] = f(a[k], b[k]);
            }
            r
        })
    }
}

/// Element by element.
///
/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn map3<A: Copy, B: Copy, C: Copy, R: Copy + Default>(s: &Step, f: impl Fn(A, B, C) -> R) {
    // SAFETY: handed on from the caller.
    let (x, y, z) = unsafe { (s.arg(0), s.arg(1), s.arg(2)) };
    for i in 0..s.n {
        // SAFETY: handed on from the caller.
        unsafe { write(s, i, zip3(x.chunk(i), y.chunk(i), z.chunk(i), &f)) }
    }
}
