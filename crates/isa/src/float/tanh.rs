//! `tanh`
//!
//! Since PTX 7.0 (sm_75); of bfloats since 7.8 (sm_90).

use super::{approx, arith::float_type};
use crate::{Form, Room, Ty, since};

const SETS: &[(&str, &str)] = &[(".htype", ".f16 .f16x2"), (".btype", ".bf16 .bf16x2")];

/// `tanh`
pub const ROOM: Room = Room {
    opcodes: &["tanh"],
    title: "the hyperbolic tangent of a, approximately",
    doc: "The bits of an H200 in both profiles; of f32 within 2^-16 of the true value, relative to it, where the manual promises 2^-11. Subnormal numbers are kept.",
    section: "9.7.3.22",
    forms: &[
        Form::new("tanh.approx.f32  d:f32, a:f32", SETS, since(70, 75)),
        Form::new("tanh.approx.htype  d:.htype, a:.htype!", SETS, since(70, 75)),
        Form::new("tanh.approx.btype  d:.btype, a:.btype!", SETS, since(78, 90)),
    ],
    rule: None,
    meaning: |cx| {
        let d = match float_type(cx) {
            Some(half) if half != Ty::F32 => approx::cut(cx, half, approx::tanh),
            _ => {
                let a = cx.arith("a", Ty::F32);
                approx::tanh(cx, a)
            }
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "It is what the GPU's interpolator gives (see `crates/isa/src/float/approx/tanh.rs`): below 2^-8 the operand itself, from 8 on 1. Of halves and bfloats it is the f32's \
         result, cut to their bits.",
    ],
};

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::float::approx::testing::{hash, run};
    use crate::testing::{evaluate, reg, shape};

    #[test]
    fn it_is_nearer_than_the_manual_says() {
        let operands: Vec<u32> = (0x3000_0000..0x4200_0000).step_by(29_989).collect();
        for (a, d) in operands.iter().zip(run("tanh.approx.f32", &[&operands])) {
            let [a, d] = [*a, d].map(|bits| f64::from(f32::from_bits(bits)));
            assert!((d / a.tanh() - 1.0).abs() < 2f64.powi(-16), "{a}: {d}");
        }
        let special = [0, 0x8000_0001, 0x7f80_0000, 0xff80_0000, 0xff80_0001];
        let expected = [0, 0x8000_0001, 0x3f80_0000, 0xbf80_0000, 0x7fff_ffff];
        assert_eq!(run("tanh.approx.f32", &[&special]), expected);
    }

    /// The hashes are of the results of an H200, in the order of the operands.
    #[test]
    fn every_half_and_bfloat_has_the_result_of_the_gpu() {
        let all: Vec<u64> = (0..1 << 16).collect();
        for (head, expected) in [
            ("tanh.approx.f16", 0x6836_9ae2_0f7b_5105),
            ("tanh.approx.bf16", 0x740e_fb1d_daef_f19d),
            ("ex2.approx.f16", 0x1631_f367_56ec_9663),
            ("ex2.approx.ftz.bf16", 0x9b4e_0ba7_f28e_38d0),
        ] {
            let results = evaluate(&shape(head, &[reg(Ty::B16), reg(Ty::B16)]), std::slice::from_ref(&all));
            let results = results[0].iter().map(|d| *d as u32);
            assert_eq!(hash(results), expected, "{head}");
        }
    }
}
