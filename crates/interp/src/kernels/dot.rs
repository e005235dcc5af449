//! Sums of products as a matrix unit adds them ([`hostwarp_ir::dot`]), by themselves or as products of matrices ([`hostwarp_ir::Mma`]): 32 lanes at a time,
//! which are a warp.

use super::{CHUNK, Kernel, KernelFn, Level, Step, pick, write};
use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Mma};

/// A sum of products of floats; `imm` is the number of words of each side (in its lowest byte).
struct Floats<const KIND: usize>;

/// What [`Floats`] is made for.
const FLOATS: [(Factor, Sum); 4] =
    [(Factor::F16, Sum::F32), (Factor::F16, Sum::F16), (Factor::Bf16, Sum::F32), (Factor::Tf32, Sum::F32)];

impl<const KIND: usize> Kernel for Floats<KIND> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let (factor, sum) = FLOATS[KIND];
        let dot = Dot { a: factor, b: factor, words: s.imm as u8, sum };
        // SAFETY: handed on from the caller.
        unsafe { sums(s, dot, |a, b, c| dot.lanes(a, b, c)) }
    }
}

/// A sum of products of integers; `imm` holds the number of words of each side, both kinds of factors and the kind of sum, a byte for each.
struct Integers<const NIBBLES: bool>;

impl<const NIBBLES: bool> Kernel for Integers<NIBBLES> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let [words, a, b, saturating, ..] = s.imm.to_le_bytes();
        let factor = |signed: u8| match (NIBBLES, signed != 0) {
            (false, false) => Factor::U8,
            (false, true) => Factor::S8,
            (true, false) => Factor::U4,
            (true, true) => Factor::S4,
        };
        let sum = if saturating != 0 { Sum::Saturating } else { Sum::Wrapping };
        let dot = Dot { a: factor(a), b: factor(b), words, sum };
        // SAFETY: handed on from the caller.
        unsafe {
            sums(s, dot, |a, b, c| match NIBBLES {
                false => dot.integers::<CHUNK, 8>(a, b, c),
                true => dot.integers::<CHUNK, 4>(a, b, c),
            })
        }
    }
}

/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn sums(
    s: &Step,
    dot: Dot,
    add: impl Fn(&[[u32; CHUNK]], &[[u32; CHUNK]], [u32; CHUNK]) -> [u32; CHUNK],
) {
    let words = usize::from(dot.words).min(Dot::MOST_WORDS);
    let [.., halves, part] = s.imm.to_le_bytes();
    if halves != 0 {
        let mma = Mma { dot, halves, part };
        // SAFETY: handed on from the caller.
        return unsafe { product(s, mma, add) };
    }
    for i in 0..s.n {
        let (mut a, mut b) = ([[0u32; CHUNK]; Dot::MOST_WORDS], [[0u32; CHUNK]; Dot::MOST_WORDS]);
        for word in 0..words {
            // SAFETY: handed on from the caller.
            (a[word], b[word]) = unsafe { (s.arg(word).chunk(i), s.arg(words + word).chunk(i)) };
        }
        // SAFETY: handed on from the caller.
        let addend = unsafe { s.arg(2 * words) };
        if dot.sum == Sum::F16 {
            // SAFETY: handed on from the caller.
            let c: [u16; CHUNK] = unsafe { addend.chunk(i) };
            let sums = add(&a[..words], &b[..words], c.map(u32::from));
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, sums.map(|sum| sum as u16)) }
        } else {
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, add(&a[..words], &b[..words], addend.chunk(i))) }
        }
    }
}

/// One element of each lane of a product of matrices.
///
/// # Safety
/// As for [`KernelFn`].
#[inline(always)]
unsafe fn product(
    s: &Step,
    mma: Mma,
    add: impl Fn(&[[u32; CHUNK]], &[[u32; CHUNK]], [u32; CHUNK]) -> [u32; CHUNK],
) {
    let [of_a, of_b, _] = mma.registers();
    for i in 0..s.n {
        let mut registers = [[0u32; CHUNK]; Mma::MOST_ARGS];
        for (k, register) in registers.iter_mut().enumerate().take(of_a + of_b) {
            // SAFETY: handed on from the caller.
            *register = unsafe { s.arg(k).chunk(i) };
        }
        let (a, b) = registers.split_at(of_a);
        // SAFETY: handed on from the caller.
        let addend = unsafe { s.arg(of_a + of_b + usize::from(mma.part)) };
        if mma.dot.sum == Sum::F16 {
            // SAFETY: handed on from the caller.
            let c: [u16; CHUNK] = unsafe { addend.chunk(i) };
            let sums = mma.warp(a, b, c.map(u32::from), &add);
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, sums.map(|sum| sum as u16)) }
        } else {
            // SAFETY: handed on from the caller.
            unsafe { write(s, i, mma.warp(a, b, addend.chunk(i), &add)) }
        }
    }
}

/// The kernel of an element of a product of matrices, and its constants.
pub(super) fn mma(mma: Mma, level: Level) -> (KernelFn, u64) {
    let (kernel, imm) = dot(mma.dot, level);
    (kernel, imm | u64::from_le_bytes([0, 0, 0, 0, 0, 0, mma.halves, mma.part]))
}

/// The kernel of a sum of products, and its constants.
pub(super) fn dot(dot: Dot, level: Level) -> (KernelFn, u64) {
    let signed = |factor: Factor| u8::from(matches!(factor, Factor::S8 | Factor::S4));
    let saturating = u8::from(dot.sum == Sum::Saturating);
    let integers = [dot.words, signed(dot.a), signed(dot.b), saturating, 0, 0, 0, 0];
    let kernel = match (dot.a, dot.sum) {
        (Factor::F16, Sum::F16) => pick::<Floats<1>>(level),
        (Factor::F16, _) => pick::<Floats<0>>(level),
        (Factor::Bf16, _) => pick::<Floats<2>>(level),
        (Factor::Tf32, _) => pick::<Floats<3>>(level),
        (Factor::S8 | Factor::U8, _) => pick::<Integers<false>>(level),
        (Factor::S4 | Factor::U4, _) => pick::<Integers<true>>(level),
    };
    (kernel, u64::from_le_bytes(integers))
}
