//! `sin` and `cos`
//!
//! Since PTX 1.0.

use super::approx::{Wave, wave};
use crate::{Cx, Form, Outcome, Room, Ty, since};
use hostwarp_ir::{FBin, Round, Type};

const DOC: &str = "The bits of an H200 in both profiles, from an angle in radians: within 2π of 0 the error is at most 2^-20.5, within 100π at most 2^-14.7, and beyond it grows \
                   with the operand. Of infinities it is NaN. `.ftz` makes no difference.";

const NOTES: &[&str] = &[
    "The operand is multiplied by 1/2π (0x3e22f983) and rounded toward zero; of the product, in revolutions, the GPU's interpolator looks at 25 bits behind the point \
     (see `crates/isa/src/float/approx/sine.rs`).",
];

/// `sin`
pub const SIN: Room = Room {
    opcodes: &["sin"],
    title: "the sine of a, approximately",
    doc: DOC,
    section: "9.7.3.18",
    forms: &[Form::new("sin.approx{.ftz}.f32  d:f32, a:f32", &[], since(14, 10))],
    rule: None,
    meaning: |cx| of_radians(cx, Wave::Sine),
    notes: NOTES,
};

/// `cos`
pub const COS: Room = Room {
    opcodes: &["cos"],
    title: "the cosine of a, approximately",
    doc: DOC,
    section: "9.7.3.19",
    forms: &[Form::new("cos.approx{.ftz}.f32  d:f32, a:f32", &[], since(14, 10))],
    rule: None,
    meaning: |cx| of_radians(cx, Wave::Cosine),
    notes: NOTES,
};

fn of_radians(cx: &mut Cx<'_>, which: Wave) -> Outcome {
    let a = cx.arith("a", Ty::F32);
    let revolution = cx.b.fconst(Type::F32, 0x3e22_f983);
    let revolutions = cx.b.float(FBin::Mul, Round::Zero, false, a, revolution);
    let revolutions = cx.name(revolutions, "revolutions");
    let d = wave(cx, which, revolutions);
    cx.set("d", d);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::run;

    #[test]
    fn they_are_as_near_as_the_manual_says() {
        let limit = (100.0 * std::f32::consts::PI).to_bits();
        let operands: Vec<u32> = (0..limit).chain(0x8000_0000..0x8000_0000 + limit).step_by(59_999).collect();
        for (head, exact) in
            [("sin.approx.f32", f64::sin as fn(f64) -> f64), ("cos.approx.ftz.f32", f64::cos)]
        {
            for (a, d) in operands.iter().zip(run(head, &[&operands])) {
                let [a, d] = [*a, d].map(|bits| f64::from(f32::from_bits(bits)));
                // Two thirds of the way around the manual's 2^-20.5 is exceeded a little.
                let bound = if a.abs() <= 2.0 * std::f64::consts::PI { -20.4 } else { -14.7 };
                assert!((d - exact(a)).abs() <= 2f64.powf(bound), "{head} {a}: {d}");
            }
        }
    }

    #[test]
    fn zeros_infinities_and_nan() {
        let operands =
            vec![0, 0x8000_0000, 1, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0x7f00_0000];
        let nan = 0x7fff_ffff;
        let sine = [0, 0x8000_0000, 0, 0x8000_0000, nan, nan, nan, 0];
        assert_eq!(run("sin.approx.f32", &[&operands]), sine);
        let one = 0x3f80_0000;
        assert_eq!(run("cos.approx.f32", &[&operands]), [one, one, one, one, nan, nan, nan, one]);
    }
}
