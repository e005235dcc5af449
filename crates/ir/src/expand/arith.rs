//! Arithmetic, minimum and maximum, sign and comparison.

use super::emit::Emit;
use super::{double, exact, flush, round};
use crate::*;

/// An arithmetic operation, whatever its rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arith {
    Bin(FBin),
    Fma,
    Sqrt,
}

impl Arith {
    /// As an op without ftz.
    pub fn op(self, round: Round) -> Op {
        match self {
            Arith::Bin(op) => Op::Float { op, round, ftz: false },
            Arith::Fma => Op::Fma { round, ftz: false },
            Arith::Sqrt => Op::Sqrt { round, ftz: false },
        }
    }

    /// The primitive op on f32 or f64.
    pub fn nearest(self, e: &mut Emit, args: &[Value]) -> Value {
        e.op(self.op(Round::Nearest), args, e.ty(args[0]))
    }
}

/// Arithmetic on any float type with any rounding.
pub(super) fn arith(e: &mut Emit, op: Arith, args: &[Value], round: Round, ftz: bool) -> Value {
    let elem = e.ty(args[0]).elem;
    let operands = |e: &mut Emit, widen: fn(&mut Emit, Value) -> Value| -> Vec<Value> {
        args.iter()
            .map(|a| {
                let wide = widen(e, *a);
                if ftz && !e.flushed.contains(a) { flush::operand(e, wide, elem) } else { wide }
            })
            .collect()
    };
    // What is flushed is decided on the value before it is rounded.
    let flush = |e: &mut Emit, x: Value| if ftz { flush::unrounded(e, x, elem, round) } else { x };
    let r = match (elem, round) {
        (Elem::F64, _) => {
            let args = operands(e, |_, v| v);
            let r = double::arith(e, op, &args, round);
            // No instruction has this; what is subnormal once rounded is flushed.
            if ftz { e.op(Op::Ftz, &[r], e.ty(r)) } else { r }
        }
        (Elem::F32, Round::Nearest) => {
            let args = operands(e, |_, v| v);
            let r = op.nearest(e, &args);
            if ftz { flush::nearest_single(e, op, &args, r) } else { r }
        }
        // Rounded to odd at 24 bits, the sum rounds to 11 or 8 as the exact value would, subnormal results included.
        (Elem::F16 | Elem::BF16, Round::Nearest) if op == Arith::Fma => {
            let args = operands(e, round::to_f32);
            let halves = elem == Elem::F16;
            let x = e.op(Op::FmaOdd { halves }, &args, e.ty(args[0]));
            let x = flush(e, x);
            round::from_f32(e, x, elem, round)
        }
        // Rounding twice, to 24 bits and then to p, is harmless for + − × ÷ √ of p-bit numbers if 24 ≥ 2p + 2 (Figueroa, "When
        // is double rounding innocuous?", 1995): 11 and 8 bits qualify. Nor does it hurt where the result is subnormal: sums are
        // exact there, products have at most 2p bits, and a quotient is never as near a midpoint as f32 could miss.
        (_, Round::Nearest) => {
            let args = operands(e, round::to_f32);
            let x = op.nearest(e, &args);
            let x = flush(e, x);
            round::from_f32(e, x, elem, round)
        }
        _ => {
            let args = operands(e, round::to_f64);
            let x = exact::arith(e, op, &args, round);
            let x = flush(e, x);
            round::from_f64(e, x, elem, round)
        }
    };
    if ftz {
        e.flushed.insert(r);
    }
    r
}

/// `FMin` and `FMax`: exact in f32 for the 16-bit formats; f64 gets its NaN.
pub(super) fn min_max(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let elem = e.ty(a).elem;
    if elem == Elem::F64 {
        return double::min_max(e, op, a, b);
    }
    let (a, b) = (round::to_f32(e, a), round::to_f32(e, b));
    let r = e.op(op, &[a, b], e.ty(a));
    round::narrow_exactly(e, r, elem)
}

/// `FNeg` and `FAbs` on 16-bit formats, on the sign bit: the NaN has no sign.
pub(super) fn sign(e: &mut Emit, op: Op, a: Value) -> Value {
    let bits = e.bits_of(a);
    let changed = match op {
        Op::FNeg => e.imm(IntBin::Xor, bits, 0x8000),
        _ => e.imm(IntBin::And, bits, 0x7fff),
    };
    e.float_of(changed, e.ty(a).elem)
}

/// `FCmp` on 16-bit formats: as f32.
pub(super) fn compare(e: &mut Emit, op: FCmp, a: Value, b: Value) -> Value {
    let (a, b) = (round::to_f32(e, a), round::to_f32(e, b));
    e.fcmp(op, a, b)
}
