//! Video instructions: values worked out by hand from the manual, and the combinations it excludes.

use std::time::Instant;

use hostwarp_oracle::{Oracle, edges};

use crate::exact::Random;
use crate::{eval, oracle};

#[test]
fn scalar_saturation_follows_dtype_and_selector() {
    let a = 0x7fff_ffff;
    for (text, expected) in [
        ("vadd.s32.s32.s32 d, a, b", 0x8000_0000u64),
        ("vadd.s32.s32.s32.sat d, a, b", 0x7fff_ffff),
        ("vadd.u32.s32.s32.sat d, a, b", 0x8000_0000),
        ("vadd.s32.s32.s32.sat d.b1, a, b, c", 0xcccc_7fcc),
        ("vadd.u32.s32.s32.sat d.b1, a, b, c", 0xcccc_ffcc),
        ("vadd.s32.s32.s32.sat d.h1, a, b, c", 0x7fff_cccc),
        ("vadd.u32.s32.s32.sat d.h0, a, b, c", 0xcccc_ffff),
        ("vadd.s32.s32.s32 d.h0, a, b, c", 0xcccc_0000),
        ("vadd.s32.s32.s32 d.b3, a, b, c", 0x00cc_cccc),
    ] {
        let sources = [a, 1, 0xcccc_cccc];
        let form = oracle(text);
        assert_eq!(form.eval(&sources[..form.source_count()]), [expected], "{text}");
    }
    assert_eq!(eval("vsub.u32.u32.u32.sat d, a, b", &[1, 2]), [0]);
    assert_eq!(eval("vsub.s32.u32.u32.sat d, a, b", &[0, 0xffff_ffff]), [0x8000_0000]);
    assert_eq!(eval("vabsdiff.u32.s32.s32.sat d, a, b", &[0x8000_0000, 0x7fff_ffff]), [0xffff_ffff]);
    assert_eq!(eval("vabsdiff.s32.s32.u32 d, a.b3, b.h1", &[0x80 << 24, 0xffff_0000]), [0x1_007f]);
    assert_eq!(eval("vmin.s32.s32.u32 d, a, b", &[0xffff_ffff, 0xffff_ffff]), [0xffff_ffff]);
    assert_eq!(eval("vmin.s32.u32.s32 d, a, b", &[3, 0xffff_ffff]), [0xffff_ffff]);
    assert_eq!(eval("vmax.u32.u32.s32 d, a, b", &[3, 0xffff_ffff]), [3]);
}

#[test]
fn scalar_secondary_operations_have_33_bits() {
    // 2^32 - 1 + 2^32 - 1 = 2^33 - 2, which 33 signed bits read as -2.
    assert_eq!(eval("vadd.u32.u32.u32.max d, a, b, c", &[0xffff_ffff, 0xffff_ffff, 5]), [5]);
    assert_eq!(eval("vadd.u32.u32.u32.min d, a, b, c", &[0xffff_ffff, 0xffff_ffff, 5]), [0xffff_fffe]);
    // 2^32 + 0: unsigned c is above -2^32 + ... and 2^32 itself wraps to -2^32.
    assert_eq!(eval("vadd.u32.u32.u32.max d, a, b, c", &[0xffff_ffff, 1, 0]), [0]);
    // c is extended by dtype.
    assert_eq!(eval("vmin.s32.s32.s32.min d, a, b, c", &[1, 2, 0xffff_ffff]), [0xffff_ffff]);
    assert_eq!(eval("vmin.u32.s32.s32.min d, a, b, c", &[1, 2, 0xffff_ffff]), [1]);
    // A negative result stays negative for the comparison, whatever dtype says.
    assert_eq!(eval("vsub.u32.u32.u32.min d, a, b, c", &[0, 1, 7]), [0xffff_ffff]);
    assert_eq!(eval("vadd.s32.s32.s32.sat.add d, a, b, c", &[0x7fff_ffff, 1, 1]), [0x8000_0000]);
}

#[test]
fn scalar_shifts() {
    assert_eq!(eval("vshl.u32.u32.u32.clamp d, a, b", &[3, 32]), [0]);
    assert_eq!(eval("vshl.u32.u32.u32.clamp d, a, b", &[3, 33]), [0]);
    assert_eq!(eval("vshl.u32.u32.u32.wrap d, a, b", &[3, 33]), [6]);
    // 1 << 32 is 2^32 in 34 bits and saturates; 2 << 32 is 2^33, which 34 signed bits read as negative.
    assert_eq!(eval("vshl.u32.u32.u32.sat.clamp d, a, b", &[1, 32]), [0xffff_ffff]);
    assert_eq!(eval("vshl.u32.u32.u32.sat.clamp d, a, b", &[2, 32]), [0]);
    assert_eq!(eval("vshl.s32.u32.u32.sat.clamp d, a, b", &[2, 32]), [0x8000_0000]);
    assert_eq!(eval("vshl.s32.u32.u32.sat.clamp d, a, b", &[4, 32]), [0]);
    assert_eq!(eval("vshr.s32.s32.u32.clamp d, a, b", &[0x8000_0000, 99]), [0xffff_ffff]);
    assert_eq!(eval("vshr.s32.u32.u32.clamp d, a, b", &[0x8000_0000, 31]), [1]);
    assert_eq!(eval("vshr.u32.s32.u32.sat.wrap d, a, b", &[0x8000_0000, 33]), [0]);
}

#[test]
fn scalar_set() {
    assert_eq!(eval("vset.s32.u32.lt d, a, b", &[0xffff_ffff, 0]), [1]);
    assert_eq!(eval("vset.u32.u32.lt d, a, b", &[0xffff_ffff, 0]), [0]);
    assert_eq!(eval("vset.u32.u32.ge.add d, a, b, c", &[1, 1, 0xffff_ffff]), [0]);
    // c is unsigned for vset, whatever atype is.
    assert_eq!(eval("vset.s32.s32.eq.max d, a, b, c", &[1, 1, 0xffff_ffff]), [0xffff_ffff]);
    assert_eq!(eval("vset.s32.s32.ne d.b2, a, b, c", &[1, 2, 0xffff_ffff]), [0xff01_ffff]);
}

#[test]
fn vmad_by_hand() {
    let m1 = 0xffff_ffff;
    for (text, [a, b, c], expected) in [
        // The manual's result where hardware wraps.
        ("vmad.u32.u32.u32.sat d, a, b, c", [m1, 2, 0], 0xffff_ffff),
        ("vmad.u32.u32.u32 d, a, b, c", [m1, 2, 0], 0xffff_fffe),
        ("vmad.s32.s32.s32.sat d, a, b, c", [0x8000_0000, 0x8000_0000, 0], 0x7fff_ffff),
        ("vmad.s32.s32.u32 d, a, b, -c", [3, 5, 1], 14),
        ("vmad.s32.u32.u32 d, -a, b, c", [3, 5, 1], m1 - 13),
        ("vmad.s32.u32.u32 d, -a, -b, c", [3, 5, 1], 16),
        ("vmad.u32.u32.u32.po d, a, b, c", [3, 5, 1], 17),
        ("vmad.u32.u32.u32.shr7 d, a, b, c", [0x80, 3, 0x7f], 3),
        ("vmad.u32.u32.u32.po.shr7 d, a, b, c", [0x80, 3, 0x7f], 4),
        ("vmad.s32.s32.u32.shr15 d, a, b, c", [m1, 1, 0], m1),
        // -(u32 * u32): signed to the end, so saturation goes to s32.
        ("vmad.u32.u32.u32.sat d, -a, b, c", [m1, m1, 0], 0x8000_0000),
        // c alone negated: ~c is sign-extended, so -c of 0x80000000 is +0x7fffffff + 1.
        ("vmad.u32.u32.u32.sat d, a, b, -c", [0, 0, 0x8000_0000], 0x7fff_ffff),
        ("vmad.u32.u32.u32.sat d, a, b, -c", [0, 0, m1], 1),
        // c is sign-extended as soon as the result is signed.
        ("vmad.s32.s32.u32 d, a.b0, b.h1, c", [0xff, 0x8000_0000, m1], 0xffff_7fff),
        // The largest unsigned intermediate, 2^64 - 2^32 + 1: scaled, it is still unsigned.
        ("vmad.u32.u32.u32.sat.shr15 d, a, b, c", [m1, m1, m1], 0xffff_ffff),
        ("vmad.u32.u32.u32.shr15 d, a, b, c", [m1, m1, m1], 0xfffe_0000),
    ] {
        assert_eq!(eval(text, &[a, b, c]), [expected], "{text} of {a:x} {b:x} {c:x}");
    }
}

#[test]
fn simd_selects_masks_and_accumulates() {
    let (a, b, c) = (0x0403_0201, 0x8070_6050, 0xaabb_ccdd);
    for (text, expected) in [
        ("vadd4.u32.u32.u32 d, a, b, c", 0x8473_6251u64),
        ("vadd4.u32.u32.u32 d.b20, a, b, c", 0xaa73_cc51),
        ("vadd4.u32.u32.u32 d, a.b0123, b, c", 0x8172_6354),
        ("vsub4.s32.u32.s32.sat d, a, b, c", 0x7f93_a2b1),
        // 4 - (-128) = 132, 3 - 0x70, 2 - 0x60, 1 - 0x50
        ("vsub4.s32.u32.s32.add d, a, b, c", 0xaabb_ccdd + 132 - 109 - 94 - 79),
        ("vadd4.u32.u32.u32.add d.b3, a.b7777, b, c", 0xaabb_ccdd + 0x100),
        ("vmin4.s32.u32.s32 d, a, b, c", 0x8003_0201),
        ("vmax2.u32.u32.u32 d, a, b, c", 0x8070_6050),
        ("vmax2.u32.s32.s32 d.h1, a, b, c", 0x0403_ccdd),
        ("vadd2.u32.u32.u32 d, a.h03, b.h12, c", 0x0604_e0c0),
        ("vavrg4.s32.s32.s32 d, a, b, c", 0xc23a_3129),
        ("vset4.u32.u32.lt d.b310, a, b, c", 0x01bb_0101),
        ("vset4.u32.s32.lt d, a, b, c", 0x0001_0101),
        ("vset2.u32.u32.ne.add d, a, b, c", 0xaabb_ccdf),
        ("vabsdiff4.u32.u32.u32.add d, a, b, c", 0xaabb_ccdd + 0x7c + 0x6d + 0x5e + 0x4f),
    ] {
        assert_eq!(eval(text, &[a, b, c]), [expected], "{text}");
    }
    // Halves round away from zero: -1.5 to -2, 1.5 to 2.
    assert_eq!(eval("vavrg2.s32.s32.s32 d, a, b, c", &[0xffff_0001, 0xfffe_0002, 0]), [0xfffe_0002]);
    // .add wraps modulo 2^32 and takes negative elements as they are.
    assert_eq!(eval("vsub2.u32.u32.u32.add d, a, b, c", &[0, 0x0001_0001, 1]), [0xffff_ffff]);
    // Without .sat an element is cut, with .add it is not.
    assert_eq!(eval("vadd4.u32.u32.u32 d, a, b, c", &[0xff, 0xff, 0]), [0xfe]);
    assert_eq!(eval("vadd4.u32.u32.u32.add d, a, b, c", &[0xff, 0xff, 0]), [0x1fe]);
}

#[test]
fn a_destination_mask_covers_every_position_once() {
    // The parts that different selectors write fit together to the whole.
    let mut random = Random(6);
    for op in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        for sat in ["", ".sat"] {
            let whole = oracle(&format!("{op}4.s32.u32.s32{sat} d, a, b, c"));
            let parts = ["b0", "b1", "b2", "b3"]
                .map(|mask| oracle(&format!("{op}4.s32.u32.s32{sat} d.{mask}, a, b, c")));
            for _ in 0..200 {
                let [a, b, c] = [random.next(), random.next(), random.next()].map(|x| x >> 32);
                let joined = parts.iter().fold(c, |c, part| part.eval(&[a, b, c])[0]);
                assert_eq!(whole.eval(&[a, b, c]), [joined], "{op} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn a_byte_at_a_time_is_the_scalar_form() {
    // vop4 on bytes is the scalar vop with byte selectors and a merge, four times.
    for op in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        for types in ["s32.s32.s32", "u32.s32.u32", "s32.u32.s32", "u32.u32.u32"] {
            for sat in ["", ".sat"] {
                let simd = oracle(&format!("{op}4.{types}{sat} d, a, b, c"));
                let scalar =
                    [0, 1, 2, 3].map(|i| oracle(&format!("{op}.{types}{sat} d.b{i}, a.b{i}, b.b{i}, c")));
                let mut random = Random(7);
                for _ in 0..200 {
                    let [a, b] = [random.next(), random.next()].map(|x| x >> 32);
                    let joined = scalar.iter().fold(0, |c, form| form.eval(&[a, b, c])[0]);
                    assert_eq!(simd.eval(&[a, b, 0]), [joined], "{op}.{types}{sat} {a:x} {b:x}");
                }
            }
        }
    }
}

#[test]
fn excluded_combinations() {
    for text in [
        "vmad.s32.s32.s32 d, -a, b, -c",
        "vmad.s32.s32.s32.po d, a, b, -c",
        "vmad.s32.s32.s32.po d, -a, b, c",
        "vmad.s32.s32.s32 d.b0, a, b, c",
        "vmad.s32.s32.s32 d, a, b, c.b0",
        "vmad.s32.s32.s32 d, a, b",
        "vmad.s32.s32 d, a, b, c",
        "vmad.s32.s32.s32.shr7.shr15 d, a, b, c",
        "vadd.s32.s32.s32.add d.b0, a, b, c",
        "vadd.s32.s32.s32.add d, a, b",
        "vadd.s32.s32.s32 d.b0, a, b",
        "vadd.s32.s32.s32 d, -a, b",
        "vadd.s32.s32.s32 d, a.b4, b",
        "vadd.s32.s32.s32 d, a.h2, b",
        "vadd.s32.s32.s32 d, a.b10, b",
        "vadd.s32.s32.u16 d, a, b",
        "vshl.s32.s32.u32 d, a, b",
        "vshl.s32.s32.s32.wrap d, a, b",
        "vset.s32.s32.lt.sat d, a, b",
        "vset.s32.s32.lo d, a, b",
        "vadd4.s32.s32.s32.sat.add d, a, b, c",
        "vadd4.s32.s32.s32 d, a, b",
        "vadd4.s32.s32.s32 d.b01, a, b, c",
        "vadd4.s32.s32.s32 d, a.b321, b, c",
        "vadd4.s32.s32.s32 d, a.b8210, b, c",
        "vadd2.s32.s32.s32 d, a.h40, b, c",
        "vadd2.s32.s32.s32 d.b0, a, b, c",
        "vadd2.s32.s32.s32 d, a, b, c.h10",
    ] {
        assert!(Oracle::parse(text).is_err(), "{text}");
    }
    for text in [
        "vmad.s32.s32.s32.po d, -a, -b, c",
        "vadd.sat.s32.s32.s32.sat d, a, b",
        "vadd.s32.s32.s32 d, a, b, c",
    ] {
        assert!(Oracle::parse(text).is_ok(), "{text}");
    }
}

/// `cargo test --release -p hostwarp-oracle -- --ignored --nocapture time`
#[test]
#[ignore = "prints times"]
fn time_per_evaluation() {
    let values = edges("u32");
    for text in [
        "vadd.s32.s32.u32.sat.add d, a.b0, b.h1, c",
        "vmad.s32.s32.u32.sat.shr7 d, a.b0, -b, c",
        "vabsdiff4.u32.u32.u32.add d.b210, a.b3210, b.b7654, c",
        "vset2.u32.u32.lt d.h0, a.h10, b.h32, c",
        "fma.rn.ftz.f16x2 d, a, b, c",
    ] {
        let form = oracle(text);
        let start = Instant::now();
        let mut sum = 0u64;
        let rounds = 1_000_000;
        for i in 0..rounds {
            let at = |k: usize| values[(i * k) % values.len()];
            sum = sum.wrapping_add(form.eval(&[at(1), at(3), at(7)])[0]);
        }
        println!("{:6} ns  {text} ({sum:x})", start.elapsed().as_nanos() / rounds as u128);
    }
}
