//! Arithmetic after expansion equals IEEE arithmetic, bit for bit: every op, format, rounding and ftz.

mod support;

use hostwarp_ir::*;
use support::*;

const RANDOM: usize = 200_000;

/// The op in every rounding, with and without ftz, against `expected(round, operands)`.
fn check_arith(
    elem: Elem,
    arity: usize,
    op: impl Fn(Round, bool) -> Op,
    expected: impl Fn(Round, &[u64]) -> u64,
) {
    for (i, round) in ROUNDS.into_iter().enumerate() {
        // Ties away exists for conversions only; it must be right all the same.
        let n = if round == Round::Away { RANDOM / 10 } else { RANDOM };
        for ftz in [false, true] {
            let mut columns = operands(elem, arity, n, 1 + 2 * i as u64 + u64::from(ftz));
            if ftz {
                let tiny = tiny_operands(elem, 20_000, i as u64);
                columns.iter_mut().zip(tiny).for_each(|(c, t)| c.extend(t));
            }
            let op = op(round, ftz);
            let args = vec![elem; arity];
            check(op, &args, elem, &columns, |x| {
                if !ftz {
                    return expected(round, x);
                }
                let flushed: Vec<u64> = x.iter().map(|x| oracle::ftz(elem, *x)).collect();
                let r = oracle::ftz(elem, expected(round, &flushed));
                if oracle::is_tiny(elem, op, &flushed) { r & !(elem.mask() >> 1) } else { r }
            });
        }
    }
}

macro_rules! arith_tests {
    ($($name:ident: $elem:expr;)*) => {
        $(mod $name {
            use super::*;

            fn bin(op: FBin) {
                let expected = |round, x: &[u64]| oracle::binary($elem, op, round, x[0], x[1]);
                check_arith($elem, 2, |round, ftz| Op::Float { op, round, ftz }, expected);
            }

            #[test]
            fn add() {
                bin(FBin::Add);
            }

            #[test]
            fn sub() {
                bin(FBin::Sub);
            }

            #[test]
            fn mul() {
                bin(FBin::Mul);
            }

            #[test]
            fn div() {
                bin(FBin::Div);
            }

            #[test]
            fn fma() {
                let expected = |round, x: &[u64]| oracle::fma($elem, round, x[0], x[1], x[2]);
                check_arith($elem, 3, |round, ftz| Op::Fma { round, ftz }, expected);
            }

            #[test]
            fn sqrt() {
                let expected = |round, x: &[u64]| oracle::sqrt($elem, round, x[0]);
                check_arith($elem, 1, |round, ftz| Op::Sqrt { round, ftz }, expected);
            }
        })*
    };
}

arith_tests! {
    f16: Elem::F16;
    bf16: Elem::BF16;
    f32: Elem::F32;
    f64: Elem::F64;
}
