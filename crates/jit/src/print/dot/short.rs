//! The short way to a sum of products of floats, as [`floats`](super::super::mma::floats) has it for matrices, here of factors that each lane has for itself,
//! as `mma.sp` has them.

use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem};

use super::super::mma::floats::{BELOW, FIELD, LEAST, Layout, MOST, any, as_float, numbers};
use super::super::ops::{self, Cpu};
use super::super::{Reg, Shape, Text};

/// The exponent of a zero: less than any sum of others. And of what is special: more than any sum with one of a zero.
const ZERO: i64 = -4000;
const SPECIAL: i64 = 8200;

/// The sums of all lanes, of parameters `%a0` and so on; and a flag that is not 0 where some have to go the long way.
pub(super) fn sums(t: &mut Text, cpu: Cpu, dot: Dot, lanes: u32) -> (Reg, Reg) {
    let at_once = lanes.min(if cpu.avx512 { 16 } else { 8 });
    let mut cold = "0".to_owned();
    let mut pieces = vec![];
    for first in (0..lanes).step_by(at_once as usize) {
        let words = Shape::new(Elem::I32, at_once);
        let mut f = Piece { t: &mut *t, cpu, dot, lanes, first, words, flags: vec![] };
        pieces.push(f.sum());
        for flag in f.flags {
            let flag = any(t, at_once, &flag);
            cold = t.binary("or", Shape::new(Elem::I32, 1), &cold, &flag);
        }
    }
    let one = Shape::new(if dot.sum == Sum::F16 { Elem::I16 } else { Elem::I32 }, at_once);
    (t.concat(one, &pieces), cold)
}

/// Lanes that fit a register.
struct Piece<'a> {
    t: &'a mut Text,
    cpu: Cpu,
    dot: Dot,
    lanes: u32,
    first: u32,
    words: Shape,
    /// Lanes that have to go the long way.
    flags: Vec<Reg>,
}

impl Piece<'_> {
    fn constant(shape: Shape, value: i64) -> Reg {
        Text::constant(shape, value as u64)
    }

    fn op(&mut self, op: &str, shape: Shape, a: &str, value: i64) -> Reg {
        self.t.binary(op, shape, a, &Self::constant(shape, value))
    }

    fn test(&mut self, predicate: &str, shape: Shape, a: &str, value: i64) -> Reg {
        self.t.compare(&format!("icmp {predicate}"), shape, a, &Self::constant(shape, value))
    }

    fn most(&mut self, shape: Shape, a: &str, b: &str) -> Reg {
        self.t.intrinsic(&format!("smax.{}", shape.suffix()), shape, &[(shape, a), (shape, b)])
    }

    /// What these lanes have of an argument.
    fn argument(&mut self, i: usize, elem: Elem) -> Reg {
        let all = Shape::new(elem, self.lanes);
        if self.words.n == self.lanes {
            return format!("%a{i}");
        }
        self.t.shuffle(all, &format!("%a{i}"), "poison", self.first..self.first + self.words.n)
    }

    /// The exponents of numbers without their signs, less `bias`.
    fn exponents(&mut self, shape: Shape, magnitude: &str, fraction: i64, bias: i64) -> Reg {
        let most = i64::from(if shape.elem == Elem::I16 { 0x7fff } else { u32::MAX >> 1 }) >> fraction;
        let field = self.op("lshr", shape, magnitude, fraction);
        let mut exponent = self.most(shape, &field, &Self::constant(shape, 1));
        if bias != 0 {
            exponent = self.op("sub", shape, &exponent, bias);
        }
        let (zero, special) = (self.test("eq", shape, magnitude, 0), self.test("eq", shape, &field, most));
        let flags = shape.with(Elem::I1);
        let exponent = self.t.select(flags, &zero, shape, &Self::constant(shape, ZERO), &exponent);
        self.t.select(flags, &special, shape, &Self::constant(shape, SPECIAL), &exponent)
    }

    fn sum(&mut self) -> Reg {
        let layout = Layout::new(self.dot);
        let (words, half) = (self.words, self.dot.sum == Sum::F16);
        let (flags, floats) = (words.with(Elem::I1), words.with(Elem::F32));
        let within = layout.within(words);
        let n = usize::from(self.dot.words);
        let mut factors = vec![];
        let mut exponents = vec![];
        for i in 0..2 * n {
            let word = self.argument(i, Elem::I32);
            factors.push(numbers(self.t, self.cpu, layout, words, &word));
            let bits = self.t.convert("bitcast", words, &word, within);
            let magnitude =
                self.op("and", within, &bits, if layout.per_word == 2 { 0x7fff } else { 0x7fff_e000 });
            exponents.push(self.exponents(within, &magnitude, layout.fraction, 0));
        }
        let mut largest: Option<Reg> = None;
        for i in 0..n {
            let sum = self.t.binary("add", within, &exponents[i], &exponents[n + i]);
            largest = Some(match largest {
                None => sum,
                Some(known) => self.most(within, &known, &sum),
            });
        }
        let mut largest: Reg = largest.unwrap_or_default();
        if layout.per_word == 2 {
            let pairs = self.t.convert("bitcast", within, &largest, words);
            let low = self.op("shl", words, &pairs, 16);
            let low = self.op("ashr", words, &low, 16);
            let high = self.op("ashr", words, &pairs, 16);
            largest = self.most(words, &low, &high);
        }
        largest = self.op("sub", words, &largest, 2 * layout.bias);
        let held = self.argument(2 * n, if half { Elem::I16 } else { Elem::I32 });
        let (addend, of_addend) = if half {
            let halves = words.with(Elem::I16);
            let magnitude = self.op("and", halves, &held, 0x7fff);
            let exponent = self.exponents(halves, &magnitude, 10, 15);
            let exponent = self.t.convert("sext", halves, &exponent, words);
            (ops::half_to_float(self.t, self.cpu, floats, &held), exponent)
        } else {
            let magnitude = self.op("and", words, &held, 0x7fff_ffff);
            let exponent = self.exponents(words, &magnitude, 23, 127);
            (self.t.convert("bitcast", words, &held, floats), exponent)
        };
        largest = self.most(words, &largest, &of_addend);
        let highest = if self.dot.a == Factor::F16 { 127 } else { MOST };
        let high = self.test("sgt", words, &largest, highest);
        self.flags.push(high);
        // Nothing but an addend can be as small in f16.
        let is_small = self.test("slt", words, &largest, LEAST);
        if self.dot.a != Factor::F16 {
            let counts = self.test("sgt", words, &largest, ZERO / 2);
            let small = self.t.binary("and", flags, &is_small, &counts);
            self.flags.push(small);
        }
        largest = self.most(words, &largest, &Self::constant(words, LEAST));
        let field = self.t.binary("sub", words, &Self::constant(words, BELOW + 127), &largest);
        let scale = self.op("shl", words, &field, FIELD.into());
        let scale_of = self.t.convert("bitcast", words, &scale, floats);
        let mut sum = Text::constant(words, 0);
        let term = |f: &mut Self, number: &str| {
            let scaled = f.t.binary("fmul", floats, number, &scale_of);
            // Anything where it is too large: that goes the long way.
            let term = f.t.convert("fptosi", floats, &scaled, words);
            f.t.inst(format_args!("freeze {words} {term}"))
        };
        for i in 0..n {
            for (a, b) in factors[i].clone().iter().zip(&factors[n + i].clone()) {
                let product = self.t.binary("fmul", floats, a, b);
                let term = term(self, &product);
                sum = self.t.binary("add", words, &sum, &term);
            }
        }
        let last = term(self, &addend);
        let of_products = sum;
        let sum = self.t.binary("add", words, &of_products, &last);
        if n * layout.per_word == 16 {
            // Products alone are less than 2^31, with the addend there may be more.
            let [a, b] = [&of_products, &last].map(|other| self.t.binary("xor", words, &sum, other));
            let both = self.t.binary("and", words, &a, &b);
            let over = self.test("slt", words, &both, 0);
            self.flags.push(over);
        }
        let number = as_float(self.t, self.cpu, half, words, &scale, &sum);
        if half {
            return self.t.convert("trunc", words, &number, words.with(Elem::I16));
        }
        if self.dot.a != Factor::F16 {
            return number;
        }
        // Where only the addend counts it is the sum. A zero is +0.
        let itself = self.t.binary("fadd", floats, &addend, &Text::constant(floats, 0));
        let itself = self.t.convert("bitcast", floats, &itself, words);
        self.t.select(flags, &is_small, words, &itself, &number)
    }
}
