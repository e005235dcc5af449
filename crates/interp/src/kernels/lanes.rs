//! Kernels that look at the elements of a lane together, or only move bits.

use super::{CHUNK, Kernel, KernelFn, Level, Step, map1, map3, pick, write};
use hostwarp_ir::{Elem, Table, Type};
use std::marker::PhantomData;

/// The same bits: a chunk is 32 lanes.
struct Copy1<L>(PhantomData<L>);

impl<L: Copy> Kernel for Copy1<L> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, s.arg(0).chunk::<L, CHUNK>(i)) }
        }
    }
}

/// Where the condition holds the second, else the third; all shaped alike.
struct Select<T>(PhantomData<T>);

impl<T: Copy + Default> Kernel for Select<T> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map3(s, |c: u8, a: T, b: T| if c != 0 { a } else { b }) }
    }
}

/// As `Select` with one condition for the whole lane.
struct SelectLane<T, const C: usize>(PhantomData<T>);

impl<T: Copy, const C: usize> Kernel for SelectLane<T, C> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let (c, a, mut r): ([u8; CHUNK], [[T; C]; CHUNK], [[T; C]; CHUNK]) =
                unsafe { (s.arg(0).chunk(i), s.arg(1).chunk(i), s.arg(2).chunk(i)) };
            for l in 0..CHUNK {
                if c[l] != 0 {
                    r[l] = a[l];
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// Element `imm` of each lane.
struct Extract<T, const C: usize>(PhantomData<T>);

impl<T: Copy + Default, const C: usize> Kernel for Extract<T, C> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // Stays in range whatever the constant.
        let e = s.imm as usize % C;
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let a: [[T; C]; CHUNK] = unsafe { s.arg(0).chunk(i) };
            let mut r = [T::default(); CHUNK];
            for l in 0..CHUNK {
                r[l] = a[l][e];
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// One argument per element.
struct Build<T, const C: usize>(PhantomData<T>);

impl<T: Copy + Default, const C: usize> Kernel for Build<T, C> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            let mut r = [[T::default(); C]; CHUNK];
            for e in 0..C {
                // SAFETY: handed on from the caller.
                let a: [T; CHUNK] = unsafe { s.arg(e).chunk(i) };
                for l in 0..CHUNK {
                    r[l][e] = a[l];
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// Elements picked from two lanes' values laid end to end; `imm` has a byte for each.
struct Permute<T, const C: usize>(PhantomData<T>);

impl<T: Copy + Default, const C: usize> Kernel for Permute<T, C> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let from: [u8; 8] = s.imm.to_le_bytes();
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let ab: [[[T; C]; CHUNK]; 2] = unsafe { [s.arg(0).chunk(i), s.arg(1).chunk(i)] };
            let mut r = [[T::default(); C]; CHUNK];
            for e in 0..C {
                let at = from[e] as usize % (2 * C);
                let source = &ab[at / C];
                for l in 0..CHUNK {
                    r[l][e] = source[l][at % C];
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// An integer as wide as a lane, up to 64 bits: what is done to it is vector code.
trait Lane: Copy + Default {
    fn from_u64(v: u64) -> Self;
    fn to_u64(self) -> u64;
}

macro_rules! lane {
    ($($t:ty)*) => { $(
        impl Lane for $t {
            #[inline(always)]
            fn from_u64(v: u64) -> Self {
                v as $t
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }
        }
    )* };
}
lane!(u8 u16 u32 u64);

/// As `Extract`, from lanes of up to 64 bits `W` with elements `T`.
struct ExtractBits<T, W>(PhantomData<(T, W)>);

impl<T: Lane, W: Lane> Kernel for ExtractBits<T, W> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let shift = s.imm * 8 * size_of::<T>() as u64 % (8 * size_of::<W>() as u64);
        // SAFETY: handed on from the caller.
        unsafe { map1(s, |w: W| T::from_u64(w.to_u64() >> shift)) }
    }
}

/// As `Build`, to lanes of up to 64 bits.
struct BuildBits<T, W>(PhantomData<(T, W)>);

impl<T: Lane, W: Lane> Kernel for BuildBits<T, W> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            let mut r = [0u64; CHUNK];
            for e in 0..size_of::<W>() / size_of::<T>() {
                // SAFETY: handed on from the caller.
                let a: [T; CHUNK] = unsafe { s.arg(e).chunk(i) };
                for l in 0..CHUNK {
                    r[l] |= a[l].to_u64() << (e * 8 * size_of::<T>());
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r.map(W::from_u64)) }
        }
    }
}

/// As `Permute`, of lanes of up to 64 bits.
struct PermuteBits<T, W>(PhantomData<(T, W)>);

impl<T: Lane, W: Lane> Kernel for PermuteBits<T, W> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let from: [u8; 8] = s.imm.to_le_bytes();
        let (bits, count) = (8 * size_of::<T>(), size_of::<W>() / size_of::<T>());
        for i in 0..s.n {
            let mut r = [0u64; CHUNK];
            // SAFETY: handed on from the caller.
            let ab: [[W; CHUNK]; 2] = unsafe { [s.arg(0).chunk(i), s.arg(1).chunk(i)] };
            for e in 0..count {
                let at = from[e] as usize % (2 * count);
                let source = &ab[at / count];
                for l in 0..CHUNK {
                    let element = T::from_u64(source[l].to_u64() >> (at % count * bits));
                    r[l] |= element.to_u64() << (e * bits);
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r.map(W::from_u64)) }
        }
    }
}

/// An element extended to 32 bits.
trait Widen: Copy {
    fn widen(self) -> u32;
}

macro_rules! widen {
    ($($t:ty)*) => { $(
        impl Widen for $t {
            #[inline(always)]
            fn widen(self) -> u32 {
                self as u32
            }
        }
    )* };
}
widen!(u8 i8 u16 i16 u32);

/// The sum of the elements and the second argument.
struct HSum<T, const C: usize>(PhantomData<T>);

impl<T: Widen, const C: usize> Kernel for HSum<T, C> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let (a, mut r): ([[T; C]; CHUNK], [u32; CHUNK]) =
                unsafe { (s.arg(0).chunk(i), s.arg(1).chunk(i)) };
            for l in 0..CHUNK {
                for e in 0..C {
                    r[l] = r[l].wrapping_add(a[l][e].widen());
                }
            }
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, r) }
        }
    }
}

/// The entries of table `imm`.
struct Lookup;

impl Kernel for Lookup {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // Stays in range whatever the constant.
        let entries = Table::ALL[s.imm as usize % Table::ALL.len()].entries();
        // SAFETY: handed on from the caller.
        unsafe { map1(s, |index: u32| entries[index as usize & (entries.len() - 1)]) }
    }
}

/// A kernel for each element size and count: `$bits` on lanes of up to 64 bits, `$k` on larger ones.
macro_rules! by_shape {
    ($k:ident, $bits:ident, $elem:expr, $count:expr, $level:expr) => {
        match ($elem.bytes(), $count) {
            (1, 2) => pick::<$bits<u8, u16>>($level),
            (1, 4) => pick::<$bits<u8, u32>>($level),
            (1, _) => pick::<$bits<u8, u64>>($level),
            (2, 2) => pick::<$bits<u16, u32>>($level),
            (2, 4) => pick::<$bits<u16, u64>>($level),
            (2, _) => pick::<$k<u16, 8>>($level),
            (4, 2) => pick::<$bits<u32, u64>>($level),
            (4, 4) => pick::<$k<u32, 4>>($level),
            (4, _) => pick::<$k<u32, 8>>($level),
            (_, 2) => pick::<$k<u64, 2>>($level),
            (_, 4) => pick::<$k<u64, 4>>($level),
            (_, _) => pick::<$k<u64, 8>>($level),
        }
    };
}

/// Copies `bytes` bytes per lane.
pub(super) fn copy(bytes: usize, level: Level) -> KernelFn {
    match bytes {
        1 => pick::<Copy1<u8>>(level),
        2 => pick::<Copy1<u16>>(level),
        4 => pick::<Copy1<u32>>(level),
        8 => pick::<Copy1<u64>>(level),
        16 => pick::<Copy1<[u64; 2]>>(level),
        32 => pick::<Copy1<[u64; 4]>>(level),
        _ => pick::<Copy1<[u64; 8]>>(level),
    }
}

pub(super) fn select(elem: Elem, level: Level) -> KernelFn {
    match elem.bytes() {
        1 => pick::<Select<u8>>(level),
        2 => pick::<Select<u16>>(level),
        4 => pick::<Select<u32>>(level),
        _ => pick::<Select<u64>>(level),
    }
}

pub(super) fn select_lane(ty: Type, level: Level) -> KernelFn {
    match ty.bytes() {
        // One condition for the lane is one condition for an integer as wide.
        2 => pick::<Select<u16>>(level),
        4 => pick::<Select<u32>>(level),
        8 => pick::<Select<u64>>(level),
        16 => pick::<SelectLane<u64, 2>>(level),
        32 => pick::<SelectLane<u64, 4>>(level),
        _ => pick::<SelectLane<u64, 8>>(level),
    }
}

pub(super) fn extract(ty: Type, level: Level) -> KernelFn {
    by_shape!(Extract, ExtractBits, ty.elem, ty.count, level)
}

pub(super) fn build(ty: Type, level: Level) -> KernelFn {
    by_shape!(Build, BuildBits, ty.elem, ty.count, level)
}

pub(super) fn permute(ty: Type, level: Level) -> KernelFn {
    by_shape!(Permute, PermuteBits, ty.elem, ty.count, level)
}

pub(super) fn hsum(signed: bool, ty: Type, level: Level) -> KernelFn {
    macro_rules! by_count {
        ($t:ty) => {
            match ty.count {
                2 => pick::<HSum<$t, 2>>(level),
                4 => pick::<HSum<$t, 4>>(level),
                _ => pick::<HSum<$t, 8>>(level),
            }
        };
    }
    match (ty.elem.bytes(), signed) {
        (1, false) => by_count!(u8),
        (1, true) => by_count!(i8),
        (2, false) => by_count!(u16),
        (2, true) => by_count!(i16),
        _ => by_count!(u32),
    }
}

pub(super) fn lookup(level: Level) -> KernelFn {
    pick::<Lookup>(level)
}
