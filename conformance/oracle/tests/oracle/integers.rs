//! Integers, setp, selp, constants: against the host's own operators and hand-made values.

use hostwarp_oracle::{Oracle, edges};

use crate::{eval, oracle};

type Unary<T> = (&'static str, fn(T) -> T);
type Binary<T> = (&'static str, fn(T, T) -> T);

#[test]
fn u32_and_s32_match_the_host() {
    let binary: &[Binary<u32>] = &[
        ("add.u32", u32::wrapping_add),
        ("add.s32", u32::wrapping_add),
        ("add.sat.s32", |a, b| (a as i32).saturating_add(b as i32) as u32),
        ("add.sat.u32", u32::saturating_add),
        ("sub.u32", u32::wrapping_sub),
        ("sub.sat.s32", |a, b| (a as i32).saturating_sub(b as i32) as u32),
        ("mul.lo.s32", u32::wrapping_mul),
        ("mul.hi.u32", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        ("mul.hi.s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        ("min.u32", Ord::min),
        ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
        ("max.u32", Ord::max),
        ("max.relu.s32", |a, b| (a as i32).max(b as i32).max(0) as u32),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
        ("shl.b32", |a, b| a.checked_shl(b).unwrap_or(0)),
        ("shr.u32", |a, b| a.checked_shr(b).unwrap_or(0)),
        ("shr.b32", |a, b| a.checked_shr(b).unwrap_or(0)),
        ("shr.s32", |a, b| ((a as i32) >> b.min(31)) as u32),
    ];
    for (opcode, host) in binary {
        let form = oracle(&format!("{opcode} d, a, b"));
        for a in edges("u32") {
            for b in edges("u32") {
                assert_eq!(form.eval(&[a, b]), [host(a as u32, b as u32).into()], "{opcode} {a:x} {b:x}");
            }
        }
    }
    let unary: &[Unary<u32>] = &[
        ("abs.s32", |a| (a as i32).wrapping_abs() as u32),
        ("neg.s32", u32::wrapping_neg),
        ("not.b32", |a| !a),
    ];
    for (opcode, host) in unary {
        let form = oracle(&format!("{opcode} d, a"));
        for a in edges("u32") {
            assert_eq!(form.eval(&[a]), [host(a as u32).into()], "{opcode} {a:x}");
        }
    }
}

#[test]
fn u64_and_s64_match_the_host() {
    let binary: &[Binary<u64>] = &[
        ("add.u64", u64::wrapping_add),
        ("sub.s64", u64::wrapping_sub),
        ("mul.lo.u64", u64::wrapping_mul),
        ("mul.hi.u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        ("mul.hi.s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64),
        ("min.s64", |a, b| (a as i64).min(b as i64) as u64),
        ("max.u64", Ord::max),
        ("mul.wide.u32", |a, b| (a & 0xffff_ffff) * (b & 0xffff_ffff)),
        ("mul.wide.s32", |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        ("shl.b64", |a, b| a.checked_shl(b as u32).unwrap_or(0)),
        ("shr.s64", |a, b| ((a as i64) >> (b as u32).min(63)) as u64),
    ];
    for (opcode, host) in binary {
        let form = oracle(&format!("{opcode} d, a, b"));
        for a in edges("u64") {
            for b in edges("u64") {
                assert_eq!(form.eval(&[a, b]), [host(a, b)], "{opcode} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn mad_adds_after_choosing_the_half() {
    assert_eq!(eval("mad.lo.s32 d, a, b, c", &[0xffff_ffff, 5, 3]), [0xffff_fffe]);
    assert_eq!(eval("mad.hi.u32 d, a, b, c", &[0x8000_0000, 4, 0xffff_ffff]), [1]);
    assert_eq!(eval("mad.hi.sat.s32 d, a, b, c", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff]), [0x7fff_ffff]);
    assert_eq!(eval("mad.hi.s32 d, a, b, c", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff]), [0xbfff_fffe]);
    assert_eq!(eval("mad.hi.sat.s32 d, a, b, c", &[0x8000_0000, 0x7fff_ffff, 0x8000_0000]), [0x8000_0000]);
    assert_eq!(eval("mad.wide.u16 d, a, b, c", &[0xffff, 0xffff, 0xffff_ffff]), [0xfffe_0000]);
    assert_eq!(eval("mad.wide.s16 d, a, b, c", &[0xffff, 2, 1]), [0xffff_ffff]);
    assert_eq!(
        eval("mad.wide.s32 d, a, b, c", &[0x8000_0000, 0x8000_0000, 1 << 63]),
        [0xc000_0000_0000_0000]
    );
    assert_eq!(eval("mad.hi.s64 d, a, b, c", &[u64::MAX, 1, 7]), [6]);
    assert_eq!(eval("mul.hi.s16 d, a, b", &[0x8000, 0x8000]), [0x4000]);
    assert_eq!(eval("mul.wide.u16 d, a, b", &[0xffff, 0xffff]), [0xfffe_0001]);
}

#[test]
fn small_and_packed() {
    assert_eq!(eval("add.u16 d, a, b", &[0xffff, 2]), [1]);
    assert_eq!(eval("abs.s16 d, a", &[0x8000]), [0x8000]);
    assert_eq!(eval("neg.s64 d, a", &[1 << 63]), [1 << 63]);
    assert_eq!(eval("add.s16x2 d, a, b", &[0xffff_7fff, 0x0001_0001]), [0x0000_8000]);
    assert_eq!(eval("add.sat.s16x2 d, a, b", &[0xffff_7fff, 0x0001_0001]), [0x0000_7fff]);
    assert_eq!(eval("min.s16x2 d, a, b", &[0xffff_0001, 0x0000_8000]), [0xffff_8000]);
    assert_eq!(eval("min.u16x2 d, a, b", &[0xffff_0001, 0x0000_8000]), [0x0000_0001]);
    assert_eq!(eval("max.relu.s16x2 d, a, b", &[0xffff_0001, 0xfffe_8000]), [0x0000_0001]);
    assert_eq!(eval("sub.u8x4 d, a, b", &[0x0001_0203, 0x0102_0300]), [0xffff_ff03]);
    assert_eq!(eval("not.pred d, a", &[0]), [1]);
    assert_eq!(eval("xor.pred d, a, b", &[1, 1]), [0]);
    assert_eq!(eval("shl.b16 d, a, b", &[0x8001, 1]), [2]);
    assert_eq!(eval("shr.s16 d, a, b", &[0x8000, 0xffff_ffff]), [0xffff]);
    assert_eq!(eval("shr.u16 d, a, b", &[0x8000, 16]), [0]);
}

#[test]
fn comparisons() {
    let table: &[(&str, [bool; 4])] = &[
        // less, equal, greater, unordered
        ("eq", [false, true, false, false]),
        ("ne", [true, false, true, false]),
        ("lt", [true, false, false, false]),
        ("le", [true, true, false, false]),
        ("gt", [false, false, true, false]),
        ("ge", [false, true, true, false]),
        ("equ", [false, true, false, true]),
        ("neu", [true, false, true, true]),
        ("ltu", [true, false, false, true]),
        ("leu", [true, true, false, true]),
        ("gtu", [false, false, true, true]),
        ("geu", [false, true, true, true]),
        ("num", [true, true, true, false]),
        ("nan", [false, false, false, true]),
    ];
    for (name, expected) in table {
        for (ty, one) in [("f32", 0x3f80_0000u64), ("f64", 0x3ff << 52), ("f16", 0x3c00), ("bf16", 0x3f80)] {
            let text = format!("setp.{name}.{ty} p|q, a, b");
            let nan = *edges(ty).last().unwrap();
            let sign = nan ^ nan >> 1;
            let pairs = [(one | sign, one), (sign, 0), (one, one | sign), (nan, one)];
            for ((a, b), t) in pairs.iter().zip(expected) {
                assert_eq!(eval(&text, &[*a, *b]), [u64::from(*t), u64::from(!t)], "{text} {a:x} {b:x}");
            }
        }
    }
    assert_eq!(eval("setp.lt.s32 p, a, b", &[0xffff_ffff, 0]), [1]);
    assert_eq!(eval("setp.lt.u32 p, a, b", &[0xffff_ffff, 0]), [0]);
    assert_eq!(eval("setp.hi.u64 p, a, b", &[u64::MAX, 0]), [1]);
    assert_eq!(eval("setp.ls.u16 p, a, b", &[3, 3]), [1]);
    assert_eq!(eval("setp.eq.b16 p, a, b", &[3, 3]), [1]);
    // A flushed subnormal is a zero.
    assert_eq!(eval("setp.eq.f32 p, a, b", &[1, 0x8000_0002]), [0]);
    assert_eq!(eval("setp.eq.ftz.f32 p, a, b", &[1, 0x8000_0002]), [1]);
    // Packed: one destination per element.
    assert_eq!(eval("setp.lt.f16x2 p|q, a, b", &[0x3c00_0000, 0x0000_3c00]), [1, 0]);
}

#[test]
fn comparisons_combine_with_c() {
    for (combine, table) in [("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0])] {
        for (t, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let at = |t: u64, c: u64| table[(2 * t + c) as usize];
            let operands = [t, 1, c];
            let text = format!("setp.eq.{combine}.u32 p|q, a, b, c");
            assert_eq!(eval(&text, &operands), [at(t, c), at(1 - t, c)], "{text} {t} {c}");
            let text = format!("setp.eq.{combine}.u32 p|q, a, b, !c");
            assert_eq!(eval(&text, &operands), [at(t, 1 - c), at(1 - t, 1 - c)], "{text} {t} {c}");
        }
    }
    for text in [
        "setp.lt.b32 p, a, b",
        "setp.lo.s32 p, a, b",
        "setp.equ.u32 p, a, b",
        "setp.eq.and.u32 p, a, b",
        "setp.eq.u32 p, a, b, c",
        "setp.eq.ftz.f64 p, a, b",
    ] {
        assert!(Oracle::parse(text).is_err(), "{text}");
    }
}

#[test]
fn selection() {
    assert_eq!(eval("selp.s32 d, a, b, c", &[1, 2, 1]), [1]);
    assert_eq!(eval("selp.f64 d, a, b, c", &[1, 2, 0]), [2]);
    assert!(Oracle::parse("selp.f16 d, a, b, c").is_err());
}

#[test]
fn immediates_are_not_sources() {
    assert_eq!(eval("add.s32 d, a, -1", &[5]), [4]);
    assert_eq!(eval("add.s32 d, 0x10, a", &[5]), [0x15]);
    assert_eq!(eval("add.u32 d, a, 010", &[5]), [13]);
    assert_eq!(eval("add.u32 d, a, 0b11U", &[5]), [8]);
    assert_eq!(eval("and.b32 d, a, WARP_SZ", &[0xff]), [32]);
    assert_eq!(eval("add.f32 d, a, 0f3f800000", &[0x3f80_0000]), [0x4000_0000]);
    assert_eq!(eval("add.f32 d, a, 1.0", &[0x3f80_0000]), [0x4000_0000]);
    assert_eq!(eval("add.f64 d, -0d3ff0000000000000, a", &[0x3ff << 52]), [0]);
    assert_eq!(eval("setp.gt.and.s32 p, a, -2, c", &[0, 1]), [1]);
    assert_eq!(eval("vadd.s32.s32.s32 d, a.b0, 1", &[0xff]), [0]);
    assert_eq!(oracle("add.s32 d, a, -1").source_count(), 1);
    for text in ["add.f16 d, a, 1.0", "add.s32 d, a, 1.0", "add.f32 d, a, 1", "add.s32 1, a, b"] {
        assert!(Oracle::parse(text).is_err(), "{text}");
    }
}

#[test]
#[should_panic(expected = "a value for every register operand")]
fn too_few_sources() {
    let _ = eval("add.s32 d, a, b", &[1]);
}

#[test]
fn nothing_is_ignored() {
    for text in [
        "add.sat.u16 d, a, b",
        "add.s32.s32 d, a, b",
        "add.rn.s32 d, a, b",
        "mul.s32 d, a, b",
        "mul.wide.s64 d, a, b",
        "shl.s32 d, a, b",
        "abs.u32 d, a",
        "fma.f32 d, a, b, c",
        "fma.rn.relu.f32 d, a, b, c",
        "fma.rz.f16 d, a, b, c",
        "fma.rn.ftz.bf16 d, a, b, c",
        "fma.rn.sat.bf16x2 d, a, b, c",
        "fma.rn.sat.relu.f16 d, a, b, c",
        "fma.rn.ftz.oob.f16 d, a, b, c",
        "add.sat.f64 d, a, b",
        "min.xorsign.f32 d, a, b",
        "min.NaN.f64 d, a, b",
        "frobnicate.s32 d, a",
        "add.s32",
        "",
    ] {
        assert!(Oracle::parse(text).is_err(), "{text}");
    }
}
