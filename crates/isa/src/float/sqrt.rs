//! `sqrt`
//!
//! Since PTX 1.0; with a rounding modifier since 1.4 (f64, sm_13) and 2.0 (f32, sm_20).

use super::{approx, rounding};
use crate::{Cx, Form, Room, Since, Ty, since};
use hostwarp_ir::{FBin, FCmp, Op, Round, Type, Value};

const SETS: &[(&str, &str)] = &[(".rnd", ".rn .rz .rm .rp")];

/// The assembler asks for the target only, not for the version.
const DIRECTED: &[(&str, Since)] = &[(".rz", since(14, 20)), (".rm", since(14, 20)), (".rp", since(14, 20))];

/// `sqrt`
pub const ROOM: Room = Room {
    opcodes: &["sqrt"],
    title: "the square root of a",
    doc: "With a rounding modifier exact up to that rounding; `.approx` gives the bits of an H200 in both profiles, with a relative error of at most 2^-23. The root of a negative number is NaN, that of −0 is −0. `.ftz` makes a subnormal operand zero of the \
          same sign first; no root is subnormal.",
    section: "9.7.3.14",
    forms: &[
        Form::new("sqrt.approx{.ftz}.f32  d:f32, a:f32", SETS, since(14, 10)),
        Form::new("sqrt.rnd{.ftz}.f32  d:f32, a:f32", SETS, since(14, 20)),
        Form::new("sqrt.rnd.f64  d:f64, a:f64", SETS, since(14, 13)).needs(DIRECTED),
    ],
    rule: None,
    meaning: |cx| {
        let ty = if cx.has(".f64") { Ty::F64 } else { Ty::F32 };
        let a = cx.arith("a", ty);
        let root = match (cx.has(".approx"), cx.has(".ftz")) {
            (true, true) => approx::sqrt(cx, a),
            (true, false) => with_subnormal_operands(cx, a),
            (false, ftz) => cx.b.inst(Op::Sqrt { round: rounding(cx.get(".rnd")), ftz }, &[a], ty.arith()),
        };
        cx.set("d", root);
        Ok(())
    },
    notes: &[
        "A rounding modifier or `.approx` is required.",
        "The root of a negative f64 is the NaN 0xfff8000000000000; a NaN of f64 keeps its payload and is made quiet.",
        "`sqrt.approx` is what the GPU's interpolator gives (see `crates/isa/src/float/approx.rs`), which takes no subnormal numbers; without `.ftz` these are \
         scaled before and after, as ptxas does.",
    ],
};

fn with_subnormal_operands(cx: &mut Cx<'_>, a: Value) -> Value {
    // 2^-126, 2^24, 2^-12
    let [smallest, up, down] =
        [0x0080_0000, 0x4b80_0000, 0x3980_0000].map(|bits| cx.b.fconst(Type::F32, bits));
    let magnitude = cx.b.inst(Op::FAbs, &[a], Type::F32);
    let subnormal = cx.b.fcmp(FCmp::Lt, magnitude, smallest);
    let scaled = cx.b.float(FBin::Mul, Round::Nearest, false, a, up);
    let a = cx.b.select(subnormal, scaled, a);
    let root = approx::sqrt(cx, a);
    let scaled = cx.b.float(FBin::Mul, Round::Nearest, false, root, down);
    cx.b.select(subnormal, scaled, root)
}

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::{run, ulps};

    #[test]
    fn approximate_roots_are_as_near_as_the_manual_says() {
        let operands: Vec<u32> = (1..0x7f80_0000).step_by(29_989).collect();
        for (a, d) in operands.iter().zip(run("sqrt.approx.f32", &[&operands])) {
            let a = f64::from(f32::from_bits(*a));
            assert!(ulps(d, a.sqrt()) <= 1.0, "{a:e}: {:e}", f32::from_bits(d));
        }
    }

    #[test]
    fn approximate_roots_of_powers_of_4_zeros_infinities_and_nan() {
        let operands = [
            (0x3f80_0000, 0x3f80_0000),
            (0x4080_0000, 0x4000_0000),
            (0x0080_0000, 0x2000_0000),
            (0x0000_0000, 0x0000_0000),
            (0x8000_0000, 0x8000_0000),
            (0x7f80_0000, 0x7f80_0000),
            (0xff80_0000, 0x7fff_ffff),
            (0xbf80_0000, 0x7fff_ffff),
            (0x7f80_0001, 0x7fff_ffff),
        ];
        let (a, expected): (Vec<u32>, Vec<u32>) = operands.into_iter().unzip();
        for head in ["sqrt.approx.f32", "sqrt.approx.ftz.f32"] {
            assert_eq!(run(head, &[&a]), expected, "{head}");
        }
        // 2^-148 and its negative.
        let subnormal = [0x0000_0002, 0x8000_0002];
        assert_eq!(run("sqrt.approx.f32", &[&subnormal]), [0x1a80_0000, 0x7fff_ffff]);
        assert_eq!(run("sqrt.approx.ftz.f32", &[&subnormal]), [0, 0x8000_0000]);
    }
}
