//! `rsqrt`
//!
//! Since PTX 1.0.

use super::approx;
use crate::{Cx, Form, Room, Ty, since};
use hostwarp_ir::{FBin, FCmp, IntBin, Op, Round, Type, Value};

/// `rsqrt`
pub const ROOM: Room = Room {
    opcodes: &["rsqrt"],
    title: "1 / √a, approximately",
    doc: "The bits of an H200 in both profiles; the relative error is at most 2^-22.9. `.ftz` flushes subnormal operands to zero of the same sign. Of negative \
          numbers it is NaN, of zeros infinity of the same sign.",
    section: "9.7.3.16",
    forms: &[
        Form::new("rsqrt.approx{.ftz}.f32  d:f32, a:f32", &[], since(14, 10)),
        Form::new("rsqrt.approx.f64  d:f64, a:f64", &[], since(14, 13)),
        Form::new("rsqrt.approx.ftz.f64  d:f64, a:f64", &[], since(40, 20)),
    ],
    rule: None,
    meaning: |cx| {
        if cx.has(".f64") {
            let d = if cx.has(".ftz") {
                let bits = cx.src("a");
                let high = approx::high_word(cx, bits);
                let high = approx::rsqrt64(cx, high);
                approx::with_high_word(cx, high)
            } else {
                refined(cx)
            };
            cx.set("d", d);
            return Ok(());
        }
        let a = cx.arith("a", Ty::F32);
        let d = if cx.has(".ftz") {
            approx::rsqrt(cx, a)
        } else {
            // As ptxas does it: subnormal operands are made normal, their results scaled back by the root of the factor.
            let [smallest, up, root] =
                [0x0080_0000, 0x4b80_0000, 0x4580_0000].map(|bits| cx.b.fconst(Type::F32, bits));
            let magnitude = cx.b.inst(Op::FAbs, &[a], Type::F32);
            let subnormal = cx.b.fcmp(FCmp::Lt, magnitude, smallest);
            let scaled = cx.b.float(FBin::Mul, Round::Nearest, false, a, up);
            let a = cx.b.select(subnormal, scaled, a);
            let d = approx::rsqrt(cx, a);
            let scaled = cx.b.float(FBin::Mul, Round::Nearest, false, d, root);
            cx.b.select(subnormal, scaled, d)
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "It is what the GPU's interpolator gives (see `crates/isa/src/float/approx.rs`), which takes no subnormal numbers; without `.ftz` these are \
         scaled before and after, as ptxas does.",
    ],
};

/// `rsqrt.approx.f64` in the steps of ptxas 13.4.92: the unit's result, improved once by a series of three terms. Subnormal operands are scaled before and
/// after; what is no positive number has an answer of its own.
fn refined(cx: &mut Cx<'_>) -> Value {
    let bits = cx.src("a");
    let a = cx.arith("a", Ty::F64);
    let [smallest, up, back, one, half, three_eighths, infinity, zero] =
        [1 << 52, 0x4350 << 48, 0x41a0 << 48, 0x3ff0 << 48, 0x3fe0 << 48, 0x3fd8 << 48, 0x7ff0 << 48, 0]
            .map(|bits| cx.b.fconst(Type::F64, bits));
    let mul = |cx: &mut Cx<'_>, a, b| cx.b.float(FBin::Mul, Round::Nearest, false, a, b);
    let subnormal = cx.b.fcmp(FCmp::Lt, a, smallest);
    let scaled = mul(cx, a, up);
    let x = cx.b.select(subnormal, scaled, a);
    let high = cx.b.to_bits(x, Type::I64);
    let high = approx::high_word(cx, high);
    let high = approx::rsqrt64(cx, high);
    let first = approx::with_high_word(cx, high);
    let first = cx.b.from_bits(first, Type::F64);
    let first = cx.name(first, "first");
    let square = mul(cx, first, first);
    let minus = cx.b.inst(Op::FNeg, &[square], Type::F64);
    let fma = |cx: &mut Cx<'_>, a, b, c| {
        cx.b.inst(Op::Fma { round: Round::Nearest, ftz: false }, &[a, b, c], Type::F64)
    };
    let error = fma(cx, x, minus, one);
    let error = cx.name(error, "error");
    let series = fma(cx, three_eighths, error, half);
    let step = mul(cx, error, first);
    let d = fma(cx, series, step, first);
    let unscaled = mul(cx, d, back);
    let d = cx.b.select(subnormal, unscaled, d);
    let d = cx.b.to_bits(d, Type::I64);

    let infinite = cx.b.fcmp(FCmp::Eq, a, infinity);
    let nothing = cx.b.iconst(Type::I64, 0);
    let d = cx.b.select(infinite, nothing, d);
    let negative = cx.b.fcmp(FCmp::Lt, a, zero);
    let default = cx.b.iconst(Type::I64, 0xfff8 << 48);
    let d = cx.b.select(negative, default, d);
    let sign = cx.b.int_imm(IntBin::And, bits, 1 << 63);
    let infinity = cx.b.int_imm(IntBin::Or, sign, 0x7ff0 << 48);
    let is_zero = cx.b.fcmp(FCmp::Eq, a, zero);
    let d = cx.b.select(is_zero, infinity, d);
    // A NaN goes through an addition.
    let sum = cx.b.float(FBin::Add, Round::Nearest, false, a, a);
    let sum = cx.b.to_bits(sum, Type::I64);
    let nan = cx.b.fcmp(FCmp::Nan, a, a);
    cx.b.select(nan, sum, d)
}

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::{hash, run};

    /// The hash is of the results an H200 gave in code from ptxas 13.4.92 -O0, in the order of the operands. The other significands were compared when the
    /// table was made.
    #[test]
    fn significands_from_1_to_4_have_the_results_of_the_gpu() {
        let all: Vec<u32> = (0x3f80_0000..0x4080_0000).step_by(7).collect();
        let mut worst = 0f64;
        let results = all.chunks(1 << 16).flat_map(|operands| {
            let results = run("rsqrt.approx.ftz.f32", &[operands]);
            for (a, d) in operands.iter().zip(&results) {
                let [a, d] = [*a, *d].map(|bits| f64::from(f32::from_bits(bits)));
                worst = worst.max((d * a.sqrt() - 1.0).abs());
            }
            results
        });
        assert_eq!(hash(results), 0x8586_257a_6b6f_97f4);
        assert!(worst < 2f64.powf(-22.9), "{worst:e}");
    }

    #[test]
    fn powers_of_4_zeros_infinities_and_nan() {
        let operands = [
            (0x3f80_0000, 0x3f80_0000),
            (0x3e80_0000, 0x4000_0000),
            (0x7e80_0000, 0x2000_0000),
            (0x0080_0000, 0x5f00_0000),
            (0xff80_0000, 0x7fff_ffff),
            (0xbf80_0000, 0x7fff_ffff),
            (0x8000_0000, 0xff80_0000),
            (0x0000_0000, 0x7f80_0000),
            (0x7f80_0000, 0x0000_0000),
            (0x7f80_0001, 0x7fff_ffff),
        ];
        let (a, expected): (Vec<u32>, Vec<u32>) = operands.into_iter().unzip();
        for head in ["rsqrt.approx.f32", "rsqrt.approx.ftz.f32"] {
            assert_eq!(run(head, &[&a]), expected, "{head}");
        }
        // 2⁻¹⁴⁸ and its negative.
        let subnormal = [0x0000_0002, 0x8000_0002];
        assert_eq!(run("rsqrt.approx.f32", &[&subnormal]), [0x6480_0000, 0x7fff_ffff]);
        assert_eq!(run("rsqrt.approx.ftz.f32", &[&subnormal]), [0x7f80_0000, 0xff80_0000]);
    }
}
