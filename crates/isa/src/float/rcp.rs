//! `rcp`, and approximate division, which is built on it.
//!
//! Since PTX 1.0; with a rounding modifier since 2.0 (sm_20).

use super::{approx, rounding};
use crate::{Cx, Form, Room, Since, Ty, since};
use hostwarp_ir::{FBin, FCmp, Op, Round, Type, Value};

const SETS: &[(&str, &str)] = &[(".rnd", ".rn .rz .rm .rp")];

const DIRECTED: &[(&str, Since)] = &[(".rz", since(20, 20)), (".rm", since(20, 20)), (".rp", since(20, 20))];

/// `rcp`
pub const ROOM: Room = Room {
    opcodes: &["rcp"],
    title: "1 / a",
    doc: "With a rounding modifier exact up to that rounding. `.approx` gives the bits of an H200 in both profiles, at most 1 ulp from 1 / a; \
          `.ftz` flushes subnormal operands and results to zero of the same sign.",
    section: "9.7.3.13",
    forms: &[
        Form::new("rcp.approx{.ftz}.f32  d:f32, a:f32", SETS, since(14, 10)),
        Form::new("rcp.rnd{.ftz}.f32  d:f32, a:f32", SETS, since(20, 20)),
        Form::new("rcp.rnd.f64  d:f64, a:f64", SETS, since(14, 13)).needs(DIRECTED),
        Form::new("rcp.rnd.ftz.f64  d:f64, a:f64", SETS, since(14, 13))
            .needs(DIRECTED)
            .undocumented()
            .later(),
        Form::new("rcp.approx.ftz.f64  d:f64, a:f64", SETS, since(21, 20)),
    ],
    rule: None,
    meaning: |cx| {
        let ty = if cx.has(".f64") { Ty::F64 } else { Ty::F32 };
        let a = cx.arith("a", ty);
        let ftz = cx.has(".ftz");
        let d = if cx.has(".approx") && ty == Ty::F64 {
            let bits = cx.src("a");
            let high = approx::high_word(cx, bits);
            let high = approx::rcp64(cx, high);
            approx::with_high_word(cx, high)
        } else if !cx.has(".approx") {
            let one = cx.b.fconst(ty.arith(), if ty == Ty::F64 { 0x3ff << 52 } else { ONE });
            cx.b.float(FBin::Div, rounding(cx.get(".rnd")), ftz, one, a)
        } else if ftz {
            approx::rcp(cx, a)
        } else {
            let scale = scale(cx, a);
            let scaled = multiply(cx, false, a, scale);
            let reciprocal = approx::rcp(cx, scaled);
            multiply(cx, false, reciprocal, scale)
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "`rcp.approx.ftz.f64` looks at the upper word of its operand only and leaves the lower word of its result 0.",
        "`rcp.approx` is what the GPU's interpolator gives (see `crates/isa/src/float/approx.rs`), which takes and gives no subnormal numbers; \
         without `.ftz` the operand is scaled into its range and the result with it, as ptxas does.",
    ],
};

const ONE: u64 = 0x3f80_0000;
const TWO_24: u64 = 0x4b80_0000;
const TWO_126: u64 = 0x7e80_0000;
const QUARTER: u64 = 0x3e80_0000;
const SMALLEST_NORMAL: u64 = 0x0080_0000;

/// `div.approx` and `div.full`: a times the reciprocal of b, in the steps of ptxas 13.4.92.
///
/// `.full` scales both operands by a quarter where the reciprocal would be subnormal; without `.ftz`, a subnormal b is made normal. Where `.approx` does
/// neither, the unit has given 0 or infinity, and so has the quotient or it is NaN: the manual says so for large b.
pub(crate) fn divide(cx: &mut Cx<'_>, full: bool, ftz: bool) -> Value {
    let [mut a, mut b] = ["a", "b"].map(|name| cx.arith(name, Ty::F32));
    let magnitude = cx.b.inst(Op::FAbs, &[b], Type::F32);
    if full {
        let limit = cx.b.fconst(Type::F32, TWO_126);
        let large = cx.b.fcmp(FCmp::Gt, magnitude, limit);
        [a, b] = [a, b].map(|v| scale_where(cx, large, v, QUARTER, ftz));
    }
    if !ftz {
        let limit = cx.b.fconst(Type::F32, SMALLEST_NORMAL);
        let subnormal = cx.b.fcmp(FCmp::Lt, magnitude, limit);
        [a, b] = [a, b].map(|v| scale_where(cx, subnormal, v, TWO_24, ftz));
    }
    let reciprocal = approx::rcp(cx, b);
    multiply(cx, ftz, a, reciprocal)
}

fn multiply(cx: &mut Cx<'_>, ftz: bool, a: Value, b: Value) -> Value {
    cx.b.float(FBin::Mul, Round::Nearest, ftz, a, b)
}

fn scale_where(cx: &mut Cx<'_>, condition: Value, v: Value, by: u64, ftz: bool) -> Value {
    let by = cx.b.fconst(Type::F32, by);
    let scaled = multiply(cx, ftz, v, by);
    cx.b.select(condition, scaled, v)
}

/// What brings a number into the range of the unit, and its reciprocal with it: 1, or a power of two.
fn scale(cx: &mut Cx<'_>, a: Value) -> Value {
    let magnitude = cx.b.inst(Op::FAbs, &[a], Type::F32);
    let [smallest, largest] = [SMALLEST_NORMAL, TWO_126].map(|bits| cx.b.fconst(Type::F32, bits));
    let [up, one, down] = [TWO_24, ONE, QUARTER].map(|bits| cx.b.fconst(Type::F32, bits));
    let subnormal = cx.b.fcmp(FCmp::Lt, magnitude, smallest);
    let scale = cx.b.select(subnormal, up, one);
    let large = cx.b.fcmp(FCmp::Gt, magnitude, largest);
    let scale = cx.b.select(large, down, scale);
    cx.name(scale, "scale")
}

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::{hash, run, ulps};

    /// The hash is of the results an H200 gave for `rcp.approx.ftz.f32` in code from ptxas 13.4.92 -O0, in the order of the operands. With nine other
    /// exponents, from 2⁻¹²⁰ to 2¹⁰⁰, it gave the same significands.
    #[test]
    fn every_significand_has_the_reciprocal_of_the_gpu() {
        let mut worst = 0f64;
        let results = (0..128).flat_map(|segment| {
            let operands: Vec<u32> = (0..1 << 16).map(|x| 0x3f80_0000 | segment << 16 | x).collect();
            let results = run("rcp.approx.ftz.f32", &[&operands]);
            for (a, d) in operands.into_iter().zip(&results) {
                worst = worst.max(ulps(*d, 1.0 / f64::from(f32::from_bits(a))));
            }
            results
        });
        assert_eq!(hash(results), 0xf6c4_479b_058c_7200);
        assert!(worst < 1.0, "{worst} ulp");
    }

    /// As above, of `rcp.approx.f32`: every 4,099th of the 2²³ operands from each of four on, subnormal ones and those with subnormal results among them.
    #[test]
    fn operands_outside_the_range_of_the_unit_are_scaled() {
        let first = [0u32, 0x7e80_0000, 0x7f00_0000, 0x0080_0000];
        let operands: Vec<u32> = first.iter().flat_map(|x| (*x..x + (1 << 23)).step_by(4099)).collect();
        let results = run("rcp.approx.f32", &[&operands]);
        assert_eq!(results.len(), 4 * 2047);
        assert_eq!(hash(results.into_iter()), 0x4bb1_0d8c_9836_f961);
    }

    #[test]
    fn zeros_infinities_and_nan() {
        let operands = vec![0xff80_0000, 0x8000_0000, 0, 0x7f80_0000, 0xffc1_2345, 0x0080_0000, 0x7e80_0000];
        let expected = [0x8000_0000, 0xff80_0000, 0x7f80_0000, 0, 0x7fff_ffff, 0x7e80_0000, 0x0080_0000];
        for head in ["rcp.approx.f32", "rcp.approx.ftz.f32"] {
            assert_eq!(run(head, &[&operands]), expected, "{head}");
        }
        // Subnormal, and with a subnormal reciprocal.
        let operands = vec![0x8000_0001, 0x807f_ffff, 0xfe80_0001, 0x7f7f_ffff];
        assert_eq!(run("rcp.approx.ftz.f32", &[&operands]), [0xff80_0000, 0xff80_0000, 0x8000_0000, 0]);
    }

    /// 2 ulp, says the manual: `.approx` from 2⁻¹²⁶ to 2¹²⁶, where beyond it there is zero or, for an infinite dividend, NaN.
    #[test]
    fn quotients_are_as_near_as_the_manual_says() {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut draw = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 16) as u32
        };
        let (a, b): (Vec<u32>, Vec<u32>) = (0..100_000).map(|_| (draw(), draw())).unzip();
        for head in ["div.approx.f32", "div.approx.ftz.f32", "div.full.f32", "div.full.ftz.f32"] {
            let (full, ftz) = (head.contains("full"), head.contains("ftz"));
            let mut checked = 0;
            for ((&a, &b), &d) in a.iter().zip(&b).zip(&run(head, &[&a, &b])) {
                let flush = |x: f32| if ftz && x.is_subnormal() { 0.0 * x } else { x };
                let [x, y] = [a, b].map(|bits| flush(f32::from_bits(bits)));
                let exact = f64::from(x) / f64::from(y);
                let tiny = exact.abs() < f64::from(f32::MIN_POSITIVE) * 1.000_001;
                if !x.is_finite() || !y.is_finite() || y == 0.0 || exact.abs() > 3.4e38 || ftz && tiny {
                    continue;
                }
                checked += 1;
                if !full && y.abs() > 2f32.powi(126) {
                    assert_eq!(d & !(1 << 31), 0, "{head} {x:e} {y:e}");
                } else {
                    assert!(ulps(d, exact) <= 2.0, "{head} {x:e} {y:e}: {:e}", f32::from_bits(d));
                }
            }
            assert!(checked > 60_000, "{head}: {checked}");
        }
        let large = vec![0x7e80_0001, 0xfe80_0001];
        let infinite = vec![0x7f80_0000; 2];
        assert_eq!(run("div.approx.f32", &[&infinite, &large]), [0x7fff_ffff; 2]);
        assert_eq!(run("div.full.f32", &[&infinite, &large]), [0x7f80_0000, 0xff80_0000]);
    }
}
