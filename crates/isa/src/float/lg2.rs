//! `lg2`
//!
//! Since PTX 1.0.

use super::approx;
use crate::{Form, Room, Ty, since};
use hostwarp_ir::{FBin, FCmp, Op, Round, Type};

/// `lg2`
pub const ROOM: Room = Room {
    opcodes: &["lg2"],
    title: "the logarithm of a to the base 2, approximately",
    doc: "The bits of an H200 in both profiles; the error is at most 2^-22, for operands outside of (0.5, 2) relative to the result. `.ftz` flushes subnormal \
          operands to zero. Of negative numbers it is NaN, of zeros −infinity.",
    section: "9.7.3.20",
    forms: &[Form::new("lg2.approx{.ftz}.f32  d:f32, a:f32", &[], since(14, 10))],
    rule: None,
    meaning: |cx| {
        let a = cx.arith("a", Ty::F32);
        let d = if cx.has(".ftz") {
            approx::lg2(cx, a)
        } else {
            // As ptxas does it: subnormal operands are made normal, their results lowered by the logarithm of the factor.
            let [smallest, up, minus_24] =
                [0x0080_0000, 0x4b80_0000, 0xc1c0_0000].map(|bits| cx.b.fconst(Type::F32, bits));
            let magnitude = cx.b.inst(Op::FAbs, &[a], Type::F32);
            let subnormal = cx.b.fcmp(FCmp::Lt, magnitude, smallest);
            let scaled = cx.b.float(FBin::Mul, Round::Nearest, false, a, up);
            let a = cx.b.select(subnormal, scaled, a);
            let d = approx::lg2(cx, a);
            let lowered = cx.b.float(FBin::Add, Round::Nearest, false, d, minus_24);
            cx.b.select(subnormal, lowered, d)
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "It is what the GPU's interpolator gives (see `crates/isa/src/float/approx.rs`), which takes no subnormal numbers; without `.ftz` these are \
         scaled, as ptxas does. The logarithm of 1 is 0, that of other powers of 2 can be off by an ulp.",
    ],
};

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::{hash, run};

    /// The hash is of the results an H200 gave in code from ptxas 13.4.92 -O0, in the order of the operands. The other significands were compared when the
    /// table was made.
    #[test]
    fn operands_from_a_half_to_2_have_the_results_of_the_gpu() {
        let all: Vec<u32> = (0x3f00_0000..0x4000_0000).step_by(7).collect();
        let mut worst = 0f64;
        let results = all.chunks(1 << 16).flat_map(|operands| {
            let results = run("lg2.approx.ftz.f32", &[operands]);
            for (a, d) in operands.iter().zip(&results) {
                let [a, d] = [*a, *d].map(|bits| f64::from(f32::from_bits(bits)));
                worst = worst.max((d - a.log2()).abs());
            }
            results
        });
        assert_eq!(hash(results), 0xaef2_b468_b01e_e477);
        assert!(worst < 2f64.powi(-22), "{worst:e}");
    }

    #[test]
    fn other_operands_are_as_near_as_the_manual_says() {
        let operands: Vec<u32> = (1..0x7f80_0000).step_by(19_997).collect();
        let results = run("lg2.approx.f32", &[&operands]);
        for (a, d) in operands.iter().zip(results) {
            let [a, d] = [*a, d].map(|bits| f64::from(f32::from_bits(bits)));
            let exact = a.log2();
            assert!((d - exact).abs() <= 2f64.powi(-22) * exact.abs().max(1.0), "{a:e}: {d} {exact}");
        }
    }

    #[test]
    fn zeros_infinities_and_nan() {
        let operands = [
            (0x3f80_0000, 0x0000_0000),
            (0x4000_0000, 0x3f80_0000),
            (0xff80_0000, 0x7fff_ffff),
            (0xbf80_0000, 0x7fff_ffff),
            (0x8000_0000, 0xff80_0000),
            (0x0000_0000, 0xff80_0000),
            (0x7f80_0000, 0x7f80_0000),
            (0x7f80_0001, 0x7fff_ffff),
        ];
        let (a, expected): (Vec<u32>, Vec<u32>) = operands.into_iter().unzip();
        for head in ["lg2.approx.f32", "lg2.approx.ftz.f32"] {
            assert_eq!(run(head, &[&a]), expected, "{head}");
        }
        assert_eq!(run("lg2.approx.ftz.f32", &[&[1, 0x8000_0001]]), [0xff80_0000; 2]);
    }
}
