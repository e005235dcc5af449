//! cvt against the second computation, over the edges of every source type and random bits.

use hostwarp_oracle::{Oracle, edges};

use crate::exact::{BF16, F16, F32, F64, Format, ROUNDINGS, Random, Rounding};
use crate::{eval, oracle};

const FLOATS: [(&str, Format); 4] = [("f16", F16), ("bf16", BF16), ("f32", F32), ("f64", F64)];
const INTS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("u16", 16, false),
    ("u32", 32, false),
    ("u64", 64, false),
    ("s8", 8, true),
    ("s16", 16, true),
    ("s32", 32, true),
    ("s64", 64, true),
];

fn inputs(ty: &str) -> Vec<u64> {
    let mut random = Random(5);
    let mut values = edges(ty);
    let width = *values.iter().max().unwrap();
    let mask = u64::MAX >> width.leading_zeros();
    values.extend((0..1000).map(|_| random.next() & mask));
    values
}

fn range(bits: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn value(raw: u64, bits: u32, signed: bool) -> i128 {
    let unused = 64 - bits;
    if signed { i128::from((raw << unused) as i64 >> unused) } else { raw.into() }
}

fn raw(value: i128, bits: u32) -> u64 {
    value as u64 & u64::MAX >> (64 - bits)
}

#[test]
fn integers_to_integers() {
    for (from, from_bits, from_signed) in INTS {
        for (to, to_bits, to_signed) in INTS {
            let plain = oracle(&format!("cvt.{to}.{from} d, a"));
            let sat = oracle(&format!("cvt.sat.{to}.{from} d, a"));
            let (min, max) = range(to_bits, to_signed);
            for a in edges(from) {
                let x = value(a, from_bits, from_signed);
                assert_eq!(plain.eval(&[a]), [raw(x, to_bits)], "{to} of {from} {a:x}");
                assert_eq!(sat.eval(&[a]), [raw(x.clamp(min, max), to_bits)], "sat {to} of {from} {a:x}");
            }
        }
    }
    // The source is read at its own width, whatever is above.
    assert_eq!(eval("cvt.s32.s8 d, a", &[0x1280]), [0xffff_ff80]);
}

#[test]
fn integers_to_floats() {
    for (from, bits, signed) in INTS {
        for (to, format) in FLOATS {
            for (name, rounding) in ROUNDINGS {
                let form = oracle(&format!("cvt.{name}.{to}.{from} d, a"));
                for a in inputs(from) {
                    let expected = format.of_integer(value(a, bits, signed), rounding);
                    assert_eq!(form.eval(&[a]), [expected], "cvt.{name}.{to}.{from} {a:x}");
                }
            }
        }
    }
}

#[test]
fn floats_to_integers() {
    for (from, format) in FLOATS {
        for (to, bits, signed) in INTS {
            for (name, rounding) in ROUNDINGS {
                let form = oracle(&format!("cvt.{name}i.{to}.{from} d, a"));
                for a in inputs(from) {
                    // The manual's rule for NaN.
                    let nan = if from != "f64" && bits != 64 { 0 } else { 1 << (bits - 1) };
                    let expected =
                        format.integer(a, rounding, range(bits, signed)).map_or(nan, |v| raw(v, bits));
                    assert_eq!(form.eval(&[a]), [expected], "cvt.{name}i.{to}.{from} {a:x}");
                }
            }
        }
    }
}

#[test]
fn floats_to_floats() {
    for (from, source) in FLOATS {
        for (to, target) in FLOATS {
            if from == to {
                continue;
            }
            let widening =
                source.exponent_bits <= target.exponent_bits && source.fraction_bits < target.fraction_bits;
            for (name, rounding) in ROUNDINGS {
                let modifier = if widening { String::new() } else { format!(".{name}") };
                for ftz in [false, true] {
                    let modifier = if ftz { format!("{modifier}.ftz") } else { modifier.clone() };
                    let text = format!("cvt{modifier}.{to}.{from} d, a");
                    let form = match Oracle::parse(&text) {
                        Ok(form) => form,
                        Err(_) if ftz && from != "f32" && to != "f32" => continue,
                        Err(error) => panic!("{text}: {error}"),
                    };
                    for a in inputs(from) {
                        let subnormal = a & 0x7f80_0000 == 0;
                        let flushed = ftz && from == "f32" && to != "f16" && subnormal;
                        let input = if flushed { a & 0x8000_0000 } else { a };
                        let ftz_result = ftz && to == "f32";
                        // Which NaN is in `facts`.
                        if let Some(expected) = source.convert(target, input, rounding, ftz_result) {
                            assert_eq!(form.eval(&[a]), [expected], "{text} {a:x}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn floats_to_integral_floats() {
    for (ty, format) in FLOATS {
        for (name, rounding) in ROUNDINGS {
            let form = oracle(&format!("cvt.{name}i.{ty}.{ty} d, a"));
            for a in inputs(ty) {
                // Beyond 2^60 every number of these formats is integral already.
                let limit = 1i128 << 60;
                let Some(integer) = format.integer(a, rounding, (-limit, limit)) else { continue };
                let expected = if integer.abs() == limit {
                    a
                } else {
                    let sign = 1 << (format.exponent_bits + format.fraction_bits);
                    format.of_integer(integer, Rounding::Nearest) & !sign | a & sign
                };
                assert_eq!(form.eval(&[a]), [expected], "cvt.{name}i.{ty}.{ty} {a:x}");
            }
        }
    }
}

#[test]
fn ftz_of_f32_inputs() {
    let tiny = 1;
    assert_eq!(eval("cvt.rpi.s32.f32 d, a", &[tiny]), [1]);
    assert_eq!(eval("cvt.rpi.ftz.s32.f32 d, a", &[tiny]), [0]);
    assert_eq!(eval("cvt.rmi.ftz.f32.f32 d, a", &[0x8000_0001]), [0x8000_0000]);
    assert_eq!(eval("cvt.rmi.f32.f32 d, a", &[0x8000_0001]), [0xbf80_0000]);
    assert_eq!(eval("cvt.ftz.f32.f32 d, a", &[0x8000_0001]), [0x8000_0000]);
    assert_eq!(eval("cvt.ftz.f64.f32 d, a", &[tiny]), [0]);
    assert_eq!(eval("cvt.ftz.f32.bf16 d, a", &[1]), [0]);
    assert_eq!(eval("cvt.f32.bf16 d, a", &[1]), [0x1_0000]);
}

#[test]
fn saturating_and_packing() {
    for (a, expected) in [
        (0x3f00_0000, 0x3f00_0000), // 0.5
        (0x4000_0000, 0x3f80_0000), // 2
        (0x7f80_0000, 0x3f80_0000), // inf
        (0xbf00_0000, 0),
        (0x8000_0000, 0),
        (0x7fc0_0000, 0),
    ] {
        assert_eq!(eval("cvt.sat.f32.f32 d, a", &[a]), [expected], "{a:x}");
    }
    assert_eq!(eval("cvt.rn.sat.f32.s32 d, a", &[7]), [0x3f80_0000]);
    assert_eq!(eval("cvt.rn.sat.f32.s32 d, a", &[0xffff_fff9]), [0]);
    assert_eq!(eval("cvt.rn.sat.f16.f32 d, a", &[0x3f7f_ffff]), [0x3c00]);
    // a goes to the upper half.
    assert_eq!(eval("cvt.rn.f16x2.f32 d, a, b", &[0x3f80_0000, 0xc000_0000]), [0x3c00_c000]);
    assert_eq!(eval("cvt.rz.bf16x2.f32 d, a, b", &[0x3f80_ffff, 0x7f7f_ffff]), [0x3f80_7f7f]);
    assert_eq!(eval("cvt.rn.relu.bf16.f32 d, a", &[0xbf80_0000]), [0]);
    assert_eq!(eval("cvt.rn.satfinite.f16.f32 d, a", &[0xff80_0000]), [0xfbff]);
    assert_eq!(eval("cvt.rn.relu.satfinite.f16.f32 d, a", &[0x7f7f_ffff]), [0x7bff]);
    assert_eq!(eval("cvt.rn.relu.f16.f32 d, a", &[0xffc0_0001]), [0x7fff]);
}

#[test]
fn rounding_modifiers_where_they_belong() {
    for text in [
        "cvt.f32.f64 d, a",     // may lose, so it must round
        "cvt.rn.f64.f32 d, a",  // cannot lose, so it must not
        "cvt.f32.s32 d, a",     // integer to float rounds
        "cvt.rn.s32.f32 d, a",  // to an integer by an integer rounding
        "cvt.rni.s32.s64 d, a", // integers do not round
        "cvt.rni.f32.f16 d, a", // integral values keep their size
        "cvt.sat.bf16.bf16 d, a",
        "cvt.rn.ftz.f64.s32 d, a",
        "cvt.rp.f16x2.f32 d, a, b",
        "cvt.rn.f16x2.f32 d, a",
    ] {
        assert!(Oracle::parse(text).is_err(), "{text}");
    }
}
