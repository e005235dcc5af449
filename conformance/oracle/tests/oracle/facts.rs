//! What was recorded on hardware about floats and is the same in the `isa` profile.

use crate::eval;

#[test]
fn half_fma_nan_sat_relu() {
    for ty in ["f16", "bf16"] {
        let one = if ty == "f16" { 0x3c00 } else { 0x3f80 };
        // Whatever the NaN, the result is 0x7fff; so are invalid operations.
        for nan in [0x7fff, 0xffff, 0x7f81, 0xffc1, 0x7ff7] {
            for operands in [[nan, one, one], [one, nan, one], [one, one, nan]] {
                assert_eq!(eval(&format!("fma.rn.{ty} d, a, b, c"), &operands), [0x7fff]);
                assert_eq!(eval(&format!("fma.rn.relu.{ty} d, a, b, c"), &operands), [0x7fff]);
            }
        }
        let infinity = if ty == "f16" { 0x7c00 } else { 0x7f80 };
        assert_eq!(eval(&format!("fma.rn.{ty} d, a, b, c"), &[infinity, 0, one]), [0x7fff]);
        // relu: negative results and -0 become +0.
        let relu = format!("fma.rn.relu.{ty} d, a, b, c");
        assert_eq!(eval(&relu, &[one, one | 0x8000, 0]), [0]);
        assert_eq!(eval(&relu, &[0, 0x8000, 0x8000]), [0]);
        assert_eq!(eval(&relu, &[one, one, 0]), [one]);
    }
    let sat = "fma.rn.sat.f16 d, a, b, c";
    assert_eq!(eval(sat, &[0x7e00, 0, 0]), [0]);
    assert_eq!(eval(sat, &[0xbc00, 0x3c00, 0]), [0]);
    assert_eq!(eval(sat, &[0, 0x8000, 0x8000]), [0]);
    assert_eq!(eval(sat, &[0x4000, 0x4000, 0]), [0x3c00]);
    assert_eq!(eval(sat, &[0x3800, 0x3c00, 0]), [0x3800]);
}

#[test]
fn half_fma_subnormals() {
    // Kept without .ftz, flushed with it on the way in and on the way out, sign and all.
    assert_eq!(eval("fma.rn.f16 d, a, b, c", &[0x0001, 0x3c00, 0]), [0x0001]);
    assert_eq!(eval("fma.rn.ftz.f16 d, a, b, c", &[0x8001, 0x3c00, 0x8000]), [0x8000]);
    assert_eq!(eval("fma.rn.ftz.f16 d, a, b, c", &[0x0400, 0xb800, 0]), [0x8000]);
    // Tininess after rounding: just below the smallest normal number and rounded up to it is kept.
    // 0x0401 * 0x3bfe = 2^-14 (1 + 2^-10)(1 - 2^-10) = 2^-14 (1 - 2^-20)
    assert_eq!(eval("fma.rn.ftz.f16 d, a, b, c", &[0x0401, 0x3bfe, 0]), [0x0400]);
    assert_eq!(eval("fma.rn.ftz.f16 d, a, b, c", &[0x0400, 0x3bfe, 0]), [0]);
}

#[test]
fn out_of_bounds_nan() {
    for ty in ["f16", "bf16"] {
        let one = if ty == "f16" { 0x3c00 } else { 0x3f80 };
        for oob in [0x7ff7, 0xfff7] {
            let text = format!("fma.rn.oob.{ty} d, a, b, c");
            assert_eq!(eval(&text, &[oob, one, one]), [0]);
            assert_eq!(eval(&text, &[one, oob, 0x7fff]), [0]);
            assert_eq!(eval(&text, &[one, one, oob]), [0x7fff]);
            assert_eq!(eval(&text, &[oob, one, oob]), [0]);
        }
        for other in [0x7ff6, 0x7ff8, 0x7fff, 0xffff] {
            assert_eq!(eval(&format!("fma.rn.oob.{ty} d, a, b, c"), &[other, one, one]), [0x7fff]);
        }
        // Each half decides for itself.
        let text = format!("fma.rn.oob.{ty}x2 d, a, b, c");
        let ones = one << 16 | one;
        assert_eq!(eval(&text, &[0x7ff7_0000 | one, ones, 0]), [one]);
        assert_eq!(eval(&text, &[ones, one << 16 | 0xfff7, 0]), [one << 16]);
    }
    let sat = "fma.rn.oob.sat.f16x2 d, a, b, c";
    assert_eq!(eval(sat, &[0x7ff7_4000, 0x3c00_3c00, 0x3c00_0000]), [0x0000_3c00]);
    assert_eq!(eval(sat, &[0x3c00_3c00, 0x3c00_3c00, 0x7ff7_bc00]), [0]);
}

#[test]
fn nans_of_f32_and_conversions() {
    assert_eq!(eval("add.f32 d, a, b", &[0xff80_0001, 0]), [0x7fff_ffff]);
    assert_eq!(eval("neg.f32 d, a", &[0x7fc0_0000]), [0x7fff_ffff]);
    assert_eq!(eval("abs.f16 d, a", &[0xfe00]), [0x7fff]);
    assert_eq!(eval("fma.rn.sat.f32 d, a, b, c", &[0x7fc0_0000, 0, 0]), [0]);
    assert_eq!(eval("cvt.f32.bf16 d, a", &[0xff81]), [0xff81_0000]);
    assert_eq!(eval("cvt.f32.f16 d, a", &[0xfe01]), [0x7fff_ffff]);
    assert_eq!(eval("cvt.rn.f32.f64 d, a", &[0x7ff8_0000_0000_0000]), [0x7fc0_0000]);
    assert_eq!(eval("cvt.rn.f32.f64 d, a", &[0xfff0_0000_2000_0000]), [0xffc0_0001]);
    assert_eq!(eval("cvt.f64.f32 d, a", &[0x7f80_0001]), [0x7ff8_0000_2000_0000]);
    assert_eq!(eval("cvt.f64.f32 d, a", &[0xffc0_0001]), [0xfff8_0000_2000_0000]);
    assert_eq!(eval("cvt.ftz.f64.f32 d, a", &[0xffc0_0001]), [0x7fff_ffff_e000_0000]);
    assert_eq!(eval("cvt.ftz.f32.bf16 d, a", &[0xff81]), [0x7fff_ffff]);
    assert_eq!(eval("cvt.f64.f64 d, a", &[0xfff0_0000_0000_0001]), [0xfff8_0000_0000_0001]);
    assert_eq!(eval("cvt.rn.bf16.f32 d, a", &[0xffc0_0001]), [0x7fff]);
    assert_eq!(eval("cvt.sat.f64.f64 d, a", &[0x7ff8_0000_0000_0000]), [0]);
    assert_eq!(eval("cvt.rzi.u8.f64 d, a", &[0x7ff8_0000_0000_0000]), [0x80]);
    assert_eq!(eval("cvt.rzi.s64.f32 d, a", &[0x7fc0_0000]), [1 << 63]);
    assert_eq!(eval("cvt.rzi.s32.f32 d, a", &[0x7fc0_0000]), [0]);
}

#[test]
fn nans_of_f64() {
    // Operands that say in their payload which one they are.
    let [a, b, c] = [0x7ff0_0000_0000_000a, 0xfff0_0000_0000_000b, 0x7ff8_0000_0000_000c];
    let quiet = |nan: u64| [nan | 1 << 51];
    for op in ["add", "sub", "mul"] {
        let text = format!("{op}.f64 d, a, b");
        assert_eq!(eval(&text, &[a, b]), quiet(b));
        assert_eq!(eval(&text, &[a, 0]), quiet(a));
        assert_eq!(eval(&text, &[0, b]), quiet(b));
    }
    for text in ["fma.rn.f64 d, a, b, c", "mad.rz.f64 d, a, b, c"] {
        assert_eq!(eval(text, &[a, b, c]), quiet(b));
        assert_eq!(eval(text, &[a, 0, c]), quiet(c));
        assert_eq!(eval(text, &[a, 0, 0]), quiet(a));
    }
    for text in ["neg.f64 d, a", "abs.f64 d, a"] {
        assert_eq!(eval(text, &[a]), quiet(a));
        assert_eq!(eval(text, &[b]), quiet(b));
    }
    let (infinity, invalid) = (0x7ff0_0000_0000_0000, [0xfff8_0000_0000_0000]);
    assert_eq!(eval("sub.f64 d, a, b", &[infinity, infinity]), invalid);
    assert_eq!(eval("fma.rn.f64 d, a, b, c", &[infinity, 0, 0]), invalid);
}

#[test]
fn forms_that_the_manual_does_not_show_or_that_mix_types() {
    assert_eq!(eval("selp.u32 d, a, b, !c", &[1, 2, 0]), [1]);
    assert_eq!(eval("and.pred d, a, !b", &[1, 0]), [1]);
    assert_eq!(eval("setp.lt.f16x2 p, a, b", &[0x0000_3c00, 0x3c00_0000]), [0]);
    // 1 + 2^-12, which f16 does not hold
    assert_eq!(eval("add.f32.f16 d, a, c", &[0x0c00, 0x3f80_0000]), [0x3f80_0800]);
    assert_eq!(eval("sub.rz.sat.f32.bf16 d, a, c", &[0xbf80, 0x3f80_0000]), [0]);
}

#[test]
fn cvt_ftz_thresholds() {
    // The largest magnitudes that the expansion for sm_90 flushes, and the next ones.
    let text = |round| format!("cvt.{round}.ftz.f32.f64 d, a");
    assert_eq!(eval(&text("rn"), &[0x380f_ffff_efff_ffff]), [0]);
    assert_eq!(eval(&text("rn"), &[0x380f_ffff_f000_0000]), [0x0080_0000]);
    assert_eq!(eval(&text("rp"), &[0x380f_ffff_e000_0000]), [0]);
    assert_eq!(eval(&text("rp"), &[0x380f_ffff_e000_0001]), [0x0080_0000]);
    assert_eq!(eval(&text("rp"), &[0xb80f_ffff_ffff_ffff]), [0x8000_0000]);
    assert_eq!(eval(&text("rm"), &[0xb80f_ffff_e000_0001]), [0x8080_0000]);
    assert_eq!(eval(&text("rz"), &[0x380f_ffff_ffff_ffff]), [0]);
    assert_eq!(eval("cvt.rp.ftz.f16.f32 d, a", &[1]), [0x0001]);
    assert_eq!(eval("cvt.rp.ftz.bf16.f32 d, a", &[1]), [0]);
}

#[test]
fn min_and_max() {
    let (nan, one, minus) = (0xffc0_0000, 0x3f80_0000, 0xbf80_0000);
    assert_eq!(eval("min.f32 d, a, b", &[nan, one]), [one]);
    assert_eq!(eval("max.f32 d, a, b", &[minus, nan]), [minus]);
    assert_eq!(eval("min.f32 d, a, b", &[nan, nan]), [0x7fff_ffff]);
    assert_eq!(eval("min.NaN.f32 d, a, b", &[one, nan]), [0x7fff_ffff]);
    assert_eq!(eval("min.f32 d, a, b", &[0, 0x8000_0000]), [0x8000_0000]);
    assert_eq!(eval("max.f32 d, a, b", &[0x8000_0000, 0]), [0]);
    assert_eq!(eval("min.f64 d, a, b", &[0, 1 << 63]), [1 << 63]);
    assert_eq!(eval("max.xorsign.abs.f32 d, a, b", &[minus, 0x4000_0000]), [0xc000_0000]);
    assert_eq!(eval("min.xorsign.abs.f32 d, a, b", &[minus, 0xc000_0000]), [one]);
    assert_eq!(eval("min.xorsign.abs.f32 d, a, b", &[nan, one]), [minus]);
    assert_eq!(eval("max.ftz.f32 d, a, b", &[0x8000_0001, minus]), [0x8000_0000]);
    assert_eq!(eval("min.f16x2 d, a, b", &[0x3c00_7e00, 0xbc00_3c00]), [0xbc00_3c00]);
    assert_eq!(eval("min.f32 d, a, b, c", &[one, nan, minus]), [minus]);
    assert_eq!(eval("max.f64 d, a, b", &[0x7ff8 << 48, 0x7ff0_0000_0000_0001]), [0x7ff8_0000_0000_0001]);
    assert_eq!(eval("neg.ftz.f32 d, a", &[1]), [0x8000_0000]);
    assert_eq!(eval("abs.bf16x2 d, a", &[0x8000_bf80]), [0x3f80]);
    assert_eq!(eval("abs.f64 d, a", &[0xfff8 << 48]), [0xfff8 << 48]);
}
