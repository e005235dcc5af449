//! `ex2`
//!
//! Since PTX 1.0; of halves since 7.0 (sm_75), of bfloats since 7.8 (sm_90).

use super::{approx, arith::float_type};
use crate::{Cx, Form, Room, Ty, since};
use hostwarp_ir::{FBin, FCmp, Round, Type, Value};

const SETS: &[(&str, &str)] = &[(".atype", ".f16 .f16x2"), (".btype", ".bf16 .bf16x2")];

/// `ex2`
pub const ROOM: Room = Room {
    opcodes: &["ex2"],
    title: "2 to the power of a, approximately",
    doc: "The bits of an H200 in both profiles; of f32 at most 2 ulp from the true value. `.ftz` flushes subnormal operands, the power of which is 1, and results to \
          zero.",
    section: "9.7.3.21",
    forms: &[
        Form::new("ex2.approx{.ftz}.f32  d:f32, a:f32", SETS, since(14, 10)),
        Form::new("ex2.approx.atype  d:.atype, a:.atype!", SETS, since(70, 75)),
        Form::new("ex2.approx.ftz.btype  d:.btype, a:.btype!", SETS, since(78, 90)),
    ],
    rule: None,
    meaning: |cx| {
        let power = if cx.has(".ftz") { approx::ex2 } else { with_subnormal_results };
        let d = match float_type(cx) {
            Some(half) if half != Ty::F32 => approx::cut(cx, half, power),
            _ => {
                let a = cx.arith("a", Ty::F32);
                power(cx, a)
            }
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "It is what the GPU's interpolator gives (see `crates/isa/src/float/approx.rs`), which gives no subnormal numbers; without `.ftz` the power of half an operand \
         below −126 is squared, as ptxas does. Of halves and bfloats it is the f32's result, cut to their bits.",
    ],
};

fn with_subnormal_results(cx: &mut Cx<'_>, a: Value) -> Value {
    let [limit, half] = [0xc2fc_0000, 0x3f00_0000].map(|bits| cx.b.fconst(Type::F32, bits));
    let low = cx.b.fcmp(FCmp::Lt, a, limit);
    let halved = cx.b.float(FBin::Mul, Round::Nearest, false, a, half);
    let a = cx.b.select(low, halved, a);
    let power = approx::ex2(cx, a);
    let squared = cx.b.float(FBin::Mul, Round::Nearest, false, power, power);
    cx.b.select(low, squared, power)
}

#[cfg(test)]
mod tests {
    use crate::float::approx::testing::{run, ulps};

    #[test]
    fn whole_numbers_are_exact_and_others_near() {
        for n in -126..128 {
            let a = (n as f32).to_bits();
            assert_eq!(run("ex2.approx.ftz.f32", &[&[a]]), [2f32.powi(n).to_bits()], "{n}");
        }
        let operands: Vec<u32> = (0..0x4300_0000).chain(0x8000_0000..0xc316_0000).step_by(59_999).collect();
        for (a, d) in operands.iter().zip(run("ex2.approx.f32", &[&operands])) {
            let a = f64::from(f32::from_bits(*a));
            assert!(ulps(d, a.exp2()) <= 2.0, "{a}: {:e}", f32::from_bits(d));
        }
    }

    #[test]
    fn zeros_infinities_nan_and_what_is_too_far() {
        let operands = [
            (0x0000_0000, 0x3f80_0000),
            (0x8000_0001, 0x3f80_0000),
            (0x7f80_0000, 0x7f80_0000),
            (0xff80_0000, 0x0000_0000),
            (0xff80_0001, 0x7fff_ffff),
            (0x4300_0000, 0x7f80_0000),
            (0x7f7f_ffff, 0x7f80_0000),
            (0xff7f_ffff, 0x0000_0000),
            (0xc317_0000, 0x0000_0000),
        ];
        let (a, expected): (Vec<u32>, Vec<u32>) = operands.into_iter().unzip();
        for head in ["ex2.approx.f32", "ex2.approx.ftz.f32"] {
            assert_eq!(run(head, &[&a]), expected, "{head}");
        }
        // 2^-127 and 2^-149.
        let low = [0xc2fe_0000, 0xc315_0000];
        assert_eq!(run("ex2.approx.ftz.f32", &[&low]), [0, 0]);
        // The square of 2^-63.5, which is a little short.
        assert_eq!(run("ex2.approx.f32", &[&low]), [0x003f_ffff, 1]);
    }
}
