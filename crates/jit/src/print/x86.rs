//! Instructions of x86 that LLVM does not find in plain IR, asked for by name where the CPU has them. Each exists for whole
//! registers only, so vectors are cut into such parts and put together again, which costs nothing.

use hostwarp_ir::Elem;

use super::text::{Reg, Shape, Text};
use crate::target::Target;

/// The widest register each family of instructions takes, in bits; 0 where the CPU has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// Dot products of bytes or half-words added to words (VNNI).
    dot: u32,
    /// Sums of neighbouring products: of bytes to half-words, of half-words to words.
    pairs: u32,
    /// Float arithmetic that says how to round.
    rounding: u32,
}

impl Registers {
    pub(crate) fn new(target: &Target) -> Registers {
        let widest = |steps: &[(&str, u32)]| {
            let bits = steps.iter().find(|(feature, _)| target.has(feature)).map_or(0, |(_, bits)| *bits);
            bits.min(target.vector_bits)
        };
        Registers {
            dot: if target.has("avx512vl") { widest(&[("avx512vnni", 512)]) } else { 0 },
            rounding: widest(&[("avx512f", 512)]) & 512,
            pairs: widest(&[("avx512bw", 512), ("avx2", 256), ("ssse3", 128)]),
        }
    }
}

/// The bytes, or the signed half-words, of each word of `a`, summed and added to a word of `accumulator`; `None` where plain IR does as well.
pub(crate) fn sum_in_words(
    t: &mut Text,
    registers: Registers,
    from: Shape,
    a: &str,
    signed: bool,
    accumulator: &str,
) -> Option<Reg> {
    let bytes = from.elem == Elem::I8;
    if !(bytes || from.elem == Elem::I16 && signed) {
        return None;
    }
    let sum = Shape::new(Elem::I32, from.n * from.elem.bits() / 32);
    let word = |n: u32| Shape::new(Elem::I32, n);
    let by_dot = registers.dot != 0;
    let widest = if by_dot { registers.dot } else { registers.pairs };
    if widest == 0 || sum.n < 4 {
        return None;
    }
    let n = sum.n.min(widest / 32);
    let (bits, s) = (n * 32, word(n));
    if by_dot {
        let a = t.convert("bitcast", from, a, sum);
        return Some(in_parts(t, sum, n, &[accumulator, &a], |t, part| {
            let ones = Text::constant(s, if bytes { 0x0101_0101 } else { 0x0001_0001 });
            // Of bytes the first factor is unsigned, the second signed.
            let (first, second) = if bytes && !signed { (&part[1], &ones) } else { (&ones, &part[1]) };
            let name = if bytes { "vpdpbusd" } else { "vpdpwssd" };
            t.intrinsic(&format!("x86.avx512.{name}.{bits}"), s, &[(s, &part[0]), (s, first), (s, second)])
        }));
    }
    let (bytes_name, halves_name) = match bits {
        512 => ("avx512.pmaddubs.w.512", "avx512.pmaddw.d.512"),
        256 => ("avx2.pmadd.ub.sw", "avx2.pmadd.wd"),
        _ => ("ssse3.pmadd.ub.sw.128", "sse2.pmadd.wd"),
    };
    let sums = in_parts(t, from, n * 32 / from.elem.bits(), &[a], |t, part| {
        let halves = Shape::new(Elem::I16, 2 * n);
        let mut pairs = part[0].clone();
        if bytes {
            let s = Shape::new(Elem::I8, 4 * n);
            let ones = Text::constant(s, 1);
            let (first, second) = if signed { (&ones, &pairs) } else { (&pairs, &ones) };
            pairs = t.intrinsic(&format!("x86.{bytes_name}"), halves, &[(s, first), (s, second)]);
        }
        t.intrinsic(
            &format!("x86.{halves_name}"),
            s,
            &[(halves, &pairs), (halves, &Text::constant(halves, 1))],
        )
    });
    Some(t.binary("add", sum, &sums, accumulator))
}

/// Whether [`add_products`] is there.
pub(crate) fn adds_products(registers: Registers) -> bool {
    registers.dot != 0
}

/// Words, each with the products of its bytes in an unsigned and a signed vector added.
pub(crate) fn add_products(t: &mut Text, registers: Registers, words: Shape, args: [&str; 3]) -> Reg {
    let n = words.n.min(registers.dot / 32);
    let s = Shape::new(Elem::I32, n);
    in_parts(t, words, n, &args, |t, part| {
        let args = [(s, part[0].as_str()), (s, part[1].as_str()), (s, part[2].as_str())];
        t.intrinsic(&format!("x86.avx512.vpdpbusd.{}", 32 * n), s, &args)
    })
}

/// Integers as floats, cut toward zero.
pub(crate) fn to_float_cut(t: &mut Text, registers: Registers, words: Shape, a: &str) -> Option<Reg> {
    const N: u32 = 16;
    if registers.rounding == 0 || words.n != N {
        return None;
    }
    // 8: no exceptions; 3: toward zero.
    let how = (Shape::new(Elem::I32, 1), "11");
    Some(t.intrinsic("x86.avx512.sitofp.round.v16f32.v16i32", words.with(Elem::F32), &[(words, a), how]))
}

/// a·b + c of f32 rounded to odd: rounded down and rounded up are neighbours if the result is inexact, and one of them is odd. If it is exact
/// they are the same, but for a zero, whose sign rounding up gets right.
pub(crate) fn fma_odd(t: &mut Text, registers: Registers, s: Shape, args: [&str; 3]) -> Option<Reg> {
    const N: u32 = 16;
    if registers.rounding == 0 || s.n < N {
        return None;
    }
    Some(in_parts(t, s, N, &args, |t, part| {
        let (s, int, how) = (s.times(N), Shape::new(Elem::I32, N), Shape::new(Elem::I32, 1));
        let mut fma = |rounding: &str| {
            t.intrinsic(
                "x86.avx512.vfmadd.ps.512",
                s,
                &[(s, &part[0]), (s, &part[1]), (s, &part[2]), (how, rounding)],
            )
        };
        // 8: no exceptions; 1: down; 2: up.
        let (down, up) = (fma("9"), fma("10"));
        let bits = t.convert("bitcast", s, &down, int);
        let last = t.binary("and", int, &bits, &Text::constant(int, 1));
        let odd = t.compare("icmp ne", int, &last, &Text::constant(int, 0));
        t.select(int.with(Elem::I1), &odd, s, &down, &up)
    }))
}

/// Does `op` on parts of `n` elements of vectors of one shape. A result has as many elements as there are words in what it is made from.
fn in_parts(
    t: &mut Text,
    s: Shape,
    n: u32,
    vectors: &[&str],
    mut op: impl FnMut(&mut Text, &[Reg]) -> Reg,
) -> Reg {
    let mut results = vec![];
    for first in (0..s.n).step_by(n as usize) {
        let mut part = |v: &&str| {
            if n == s.n { (*v).to_owned() } else { t.shuffle(s, v, "poison", first..first + n) }
        };
        let parts: Vec<Reg> = vectors.iter().map(&mut part).collect();
        results.push(op(t, &parts));
    }
    let elem = if s.elem == Elem::F32 { Elem::F32 } else { Elem::I32 };
    let mut whole = Shape::new(elem, n * s.elem.bits() / 32);
    while results.len() > 1 {
        let both = 2 * whole.n;
        results = results.chunks(2).map(|pair| t.shuffle(whole, &pair[0], &pair[1], 0..both)).collect();
        whole.n = both;
    }
    results.remove(0)
}
