//! What the expansion tests share: operands worth trying, and running an op through its expansion.
#![allow(dead_code)]

pub mod oracle;

use hostwarp_ir::expand::{Caps, expand};
use hostwarp_ir::*;

pub const ROUNDS: [Round; 5] = [Round::Nearest, Round::Zero, Round::Down, Round::Up, Round::Away];
pub const FLOATS: [Elem; 4] = [Elem::F16, Elem::BF16, Elem::F32, Elem::F64];

/// Bits of the fraction.
pub fn fraction_bits(elem: Elem) -> u32 {
    match elem {
        Elem::F16 => 10,
        Elem::BF16 => 7,
        Elem::F32 => 23,
        _ => 52,
    }
}

/// A generator of numbers with a fixed seed (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        ((self.bits() >> 32) * n) >> 32
    }

    /// Few bits set, or few clear, or a run of ones, or anything: significands near which roundings go wrong.
    fn pattern(&mut self, width: u32) -> u64 {
        let mask = u64::MAX >> (64 - width);
        let bit = |r: &mut Random| 1u64 << r.below(width.into());
        let x = match self.below(6) {
            0 => 0,
            1 => bit(self),
            2 => bit(self) | bit(self),
            3 => (bit(self) << 1).wrapping_sub(bit(self)),
            4 => self.bits() & !(bit(self) - 1),
            _ => self.bits(),
        };
        (if self.below(4) == 0 { !x } else { x }) & mask
    }

    /// A float of any kind, special exponents more often.
    pub fn float(&mut self, elem: Elem) -> u64 {
        let fraction = fraction_bits(elem);
        let max = (elem.mask() >> 1) >> fraction;
        let bias = max / 2;
        let near = self.below(8);
        let exponent = match self.below(12) {
            0 => 0,
            1 => 1 + self.below(2),
            2 => max - self.below(3),
            3 | 4 => bias + near - 4,
            // Where a product or quotient is about to underflow or overflow.
            5 => bias / 2 + near,
            6 => bias + bias / 2 - near,
            7 => u64::from(fraction) + near,
            8 => (bias + u64::from(fraction) + near).min(max),
            _ => self.below(max + 1),
        };
        self.below(2) << (elem.bits() - 1) | exponent << fraction | self.pattern(fraction)
    }

    /// A float that makes cancellation or a tie with `a` likely: a few units or a power of two away from ±a.
    pub fn near(&mut self, elem: Elem, a: u64) -> u64 {
        let fraction = fraction_bits(elem);
        let away = match self.below(3) {
            0 => self.below(5),
            1 => self.pattern(fraction),
            _ => self.below(3 * u64::from(fraction)) << fraction,
        };
        let moved = if self.below(2) == 0 { a.wrapping_add(away) } else { a.wrapping_sub(away) };
        (moved ^ self.below(2) << (elem.bits() - 1)) & elem.mask()
    }
}

/// Zeros, the ends of the ranges, ones, halves, odd and even neighbours, infinities, NaNs; both signs.
pub fn edges(elem: Elem) -> Vec<u64> {
    let fraction = fraction_bits(elem);
    let one = (elem.mask() >> 2) >> fraction << fraction;
    let infinity = (elem.mask() >> 1) >> fraction << fraction;
    let unit = 1u64 << fraction;
    let mut v = vec![0, 1, 2, 3, unit / 2, unit - 1, unit, unit + 1, 2 * unit - 1, 2 * unit];
    v.extend([
        one - unit,
        one - 1,
        one,
        one + 1,
        one + 2,
        one + 3,
        one + unit / 2,
        one + unit - 1,
        one + unit,
    ]);
    v.extend([
        one + u64::from(fraction) * unit,
        one + u64::from(fraction + 1) * unit + 1,
        one - u64::from(fraction) * unit,
    ]);
    v.extend([
        infinity - unit,
        infinity - 2,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + unit / 2 + 1,
        elem.mask() >> 1,
    ]);
    let sign = 1u64 << (elem.bits() - 1);
    v.iter().flat_map(|x| [*x, x | sign]).collect()
}

/// `n` operand tuples (column by column) of an op with `arity` float operands: all combinations of edges first.
pub fn operands(elem: Elem, arity: usize, n: usize, seed: u64) -> Vec<Vec<u64>> {
    let edges = edges(elem);
    let combinations = edges.len().pow(arity as u32);
    let mut columns = vec![Vec::with_capacity(combinations + n + 1); arity];
    // All triples would be too many: a share of them.
    let stride = if arity == 3 { 3 } else { 1 };
    for i in (0..combinations).step_by(stride) {
        for (k, column) in columns.iter_mut().enumerate() {
            column.push(edges[i / edges.len().pow(k as u32) % edges.len()]);
        }
    }
    let mut r = Random::new(seed);
    for _ in 0..n {
        let a = r.float(elem);
        let b = if r.below(4) == 0 { r.near(elem, a) } else { r.float(elem) };
        let c = match r.below(4) {
            // Near the product or its negation.
            0 | 1 => {
                let p = oracle::binary(elem, FBin::Mul, Round::Nearest, a, b);
                r.near(elem, p)
            }
            2 => r.near(elem, a),
            _ => r.float(elem),
        };
        for (column, x) in columns.iter_mut().zip([a, b, c]) {
            column.push(x);
        }
    }
    if columns[0].len() % 2 == 1 {
        columns.iter_mut().for_each(|c| c.push(0));
    }
    columns
}

/// Operands whose product (their sum with c) or quotient lies around the smallest normal number, where ftz has to decide.
pub fn tiny_operands(elem: Elem, n: usize, seed: u64) -> Vec<Vec<u64>> {
    let fraction = fraction_bits(elem);
    let (min, sign, bias) = (1u64 << fraction, 1u64 << (elem.bits() - 1), elem.mask() >> 2 >> fraction);
    let mut r = Random::new(seed);
    let mut columns = vec![vec![]; 3];
    for _ in 0..n {
        let significand = r.bits() & (min - 1);
        // min / a, or min · a, give or take a few units.
        let a = (1 + bias / 8 + r.below(bias / 2)) << fraction | significand;
        let divides = r.below(3) == 0;
        let b = match divides {
            true => oracle::binary(elem, FBin::Div, Round::Nearest, a, min),
            false => oracle::binary(elem, FBin::Div, Round::Nearest, min, a),
        };
        let b = b.wrapping_add(r.below(5)).wrapping_sub(2) & (sign - 1);
        let (sa, sb) = (r.below(2) * sign, r.below(2) * sign);
        let (a, c) = match r.below(2) {
            0 => (a, r.below(2) * sign),
            // Twice the product less about one of it.
            _ => (a + min, (min + r.below(4)) | sa ^ sb ^ sign),
        };
        for (column, x) in columns.iter_mut().zip([a | sa, b | sb, c]) {
            column.push(x);
        }
    }
    columns
}

/// Runs `op` through its expansion. 16-bit formats go as pairs, the others one by one.
pub fn run(op: Op, args: &[Elem], result: Elem, columns: &[Vec<u64>], caps: Caps) -> Vec<u64> {
    let count = if args.iter().chain([&result]).any(|e| e.bits() == 16) { 2 } else { 1 };
    let mut b = Builder::new("test");
    let address = b.iconst(Type::I32, 0);
    let inputs: Vec<Value> = args
        .iter()
        .map(|elem| b.inst(Op::Load(Mem::weak(Space::Param)), &[address], Type::new(*elem, count)))
        .collect();
    let r = b.inst(op, &inputs, Type::new(result, count));
    let out = if result.is_float() { b.to_bits(r, Type::new(result, count).to_int()) } else { r };
    // Keeps the results alive.
    let mut func = b.finish();
    expand(&mut func, caps);
    if caps == Caps::default() {
        verify_primitive(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    }
    // In pieces that stay in the cache.
    let mut results = vec![];
    let step = 1024;
    for at in (0..columns[0].len()).step_by(step) {
        let end = (at + step).min(columns[0].len());
        let given: Vec<(Value, &[u64])> =
            inputs.iter().zip(columns).map(|(v, c)| (*v, &c[at..end])).collect();
        let lanes = (end - at) / count as usize;
        let out = eval::run_straight_line(&func, &given, &[out], lanes).expect("only pure primitive ops");
        results.extend_from_slice(&out[0]);
    }
    results
}

/// Compares the expansion of `op` with `expected`, lane by lane.
pub fn check(op: Op, args: &[Elem], result: Elem, columns: &[Vec<u64>], expected: impl Fn(&[u64]) -> u64) {
    let got = run(op, args, result, columns, Caps::default());
    assert_eq!(got.len(), columns[0].len());
    let mut wrong = vec![];
    let mut operands = vec![0; columns.len()];
    for (i, got) in got.iter().enumerate() {
        for (x, column) in operands.iter_mut().zip(columns) {
            *x = column[i];
        }
        let want = expected(&operands);
        if *got != want {
            wrong.push(format!("{operands:x?}: got {got:x}, want {want:x}"));
        }
    }
    let (shown, total) = (wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n"), got.len());
    assert!(wrong.is_empty(), "{op:?} {args:?} → {result:?}: {} of {total} wrong\n{shown}", wrong.len());
}
