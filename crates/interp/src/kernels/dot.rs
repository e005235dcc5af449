//! Sums of products as a matrix unit adds them ([`hostwarp_ir::dot`]): 32 lanes at a time.

use super::{CHUNK, Kernel, KernelFn, Level, Step, pick, write};
use hostwarp_ir::Dot;
use hostwarp_ir::dot::{Factor, Sum};

/// A sum whose factors and result are known when it is compiled; `imm` is the number of words of each side.
struct Product<const A: usize, const B: usize, const SUM: usize>;

impl<const A: usize, const B: usize, const SUM: usize> Kernel for Product<A, B, SUM> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let words = (s.imm as usize).min(Dot::MOST_WORDS);
        let dot = Dot { a: Factor::ALL[A], b: Factor::ALL[B], words: words as u8, sum: Sum::ALL[SUM] };
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
                let sums = dot.lanes(&a[..words], &b[..words], c.map(u32::from));
                // SAFETY: handed on from the caller.
                unsafe { write(s, i, sums.map(|sum| sum as u16)) }
            } else {
                // SAFETY: handed on from the caller.
                unsafe { write(s, i, dot.lanes(&a[..words], &b[..words], addend.chunk(i))) }
            }
        }
    }
}

/// The kernel of a sum of products.
pub(super) fn dot(dot: Dot, level: Level) -> KernelFn {
    macro_rules! by_sum {
        ($a:literal, $b:literal) => {
            match dot.sum {
                Sum::Saturating => pick::<Product<$a, $b, 3>>(level),
                _ => pick::<Product<$a, $b, 2>>(level),
            }
        };
    }
    match (dot.a, dot.b) {
        (Factor::F16, _) if dot.sum == Sum::F16 => pick::<Product<0, 0, 1>>(level),
        (Factor::F16, _) => pick::<Product<0, 0, 0>>(level),
        (Factor::Bf16, _) => pick::<Product<1, 1, 0>>(level),
        (Factor::Tf32, _) => pick::<Product<2, 2, 0>>(level),
        (Factor::S8, Factor::S8) => by_sum!(3, 3),
        (Factor::S8, _) => by_sum!(3, 4),
        (Factor::U8, Factor::S8) => by_sum!(4, 3),
        (Factor::U8, _) => by_sum!(4, 4),
        (Factor::S4, Factor::S4) => by_sum!(5, 5),
        (Factor::S4, _) => by_sum!(5, 6),
        (Factor::U4, Factor::S4) => by_sum!(6, 5),
        (Factor::U4, _) => by_sum!(6, 6),
    }
}
