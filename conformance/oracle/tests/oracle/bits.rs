//! Bits, quotients, dot products, set and slct: against the host's own operators, the manual's examples and hand-made values.

use hostwarp_oracle::edges;

use crate::{eval, oracle};

#[test]
fn one_operand_matches_the_host() {
    type Host = (&'static str, &'static str, fn(u64) -> u64);
    let ops: &[Host] = &[
        ("popc.b32", "b32", |a| (a as u32).count_ones().into()),
        ("popc.b64", "b64", |a| a.count_ones().into()),
        ("clz.b32", "b32", |a| (a as u32).leading_zeros().into()),
        ("clz.b64", "b64", |a| a.leading_zeros().into()),
        ("brev.b32", "b32", |a| (a as u32).reverse_bits().into()),
        ("brev.b64", "b64", u64::reverse_bits),
        ("cnot.b16", "b16", |a| (a == 0).into()),
        ("bfind.u32", "u32", |a| a.checked_ilog2().unwrap_or(u32::MAX).into()),
        ("bfind.shiftamt.u64", "u64", |a| if a == 0 { 0xffff_ffff } else { a.leading_zeros().into() }),
        ("bfind.s32", "s32", |a| {
            let a = a as u32 as i32;
            ((a ^ a >> 31) as u32).checked_ilog2().unwrap_or(u32::MAX).into()
        }),
    ];
    for (opcode, ty, host) in ops {
        let form = oracle(&format!("{opcode} d, a"));
        for a in edges(ty) {
            assert_eq!(form.eval(&[a]), [host(a)], "{opcode} {a:x}");
        }
    }
}

#[test]
fn two_operands_match_the_host() {
    type Host = (&'static str, fn(u32, u32) -> u32);
    let ops: &[Host] = &[
        ("div.u32", |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        ("rem.u32", |a, b| a.checked_rem(b).unwrap_or(u32::MAX)),
        ("div.s32", |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }),
        ("rem.s32", |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 }),
        ("mul24.lo.u32", |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
        ("mul24.hi.s32", |a, b| {
            let [a, b] = [a, b].map(|x| i64::from((x << 8) as i32 >> 8));
            ((a * b) >> 16) as u32
        }),
        ("bmsk.wrap.b32", |a, b| (((1u64 << (b % 32)) - 1) << (a % 32)) as u32),
        ("bmsk.clamp.b32", |a, b| (((1u128 << b.min(32)) - 1) << a.min(32)) as u32),
        ("szext.wrap.u32", |a, b| a & ((1u64 << (b % 32)) - 1) as u32),
        ("szext.clamp.s32", |a, b| match b {
            0 => 0,
            1..32 => ((a << (32 - b)) as i32 >> (32 - b)) as u32,
            _ => a,
        }),
    ];
    for (opcode, host) in ops {
        let form = oracle(&format!("{opcode} d, a, b"));
        for a in edges("u32") {
            for b in edges("u32") {
                assert_eq!(form.eval(&[a, b]), [host(a as u32, b as u32).into()], "{opcode} {a:x} {b:x}");
            }
        }
    }
}

#[test]
fn worked_by_hand() {
    let values: &[(&str, &[u64], u64)] = &[
        ("bmsk.wrap.b32 d, a, b", &[1, 2], 6),
        ("szext.wrap.u32 d, a, b", &[0xffff_ffff, 0], 0),
        ("shf.l.clamp.b32 d, a, b, c", &[0x8000_0001, 0x1234_5678, 4], 0x2345_6788),
        ("shf.l.clamp.b32 d, a, b, c", &[0x8000_0001, 0x1234_5678, 99], 0x8000_0001),
        ("shf.r.wrap.b32 d, a, b, c", &[0x8000_0001, 0x1234_5678, 36], 0x8800_0000),
        ("shf.r.clamp.b32 d, a, b, c", &[0x8000_0001, 0x1234_5678, 36], 0x1234_5678),
        // Bytes are 0 to 7 from the right of `a`.
        ("prmt.b32 d, a, b, c", &[0x0302_0100, 0x0706_0584, 0x7c40], 0x07ff_8400),
        ("prmt.b32.f4e d, a, b, c", &[0x0302_0100, 0x0706_0504, 0xfffd], 0x0403_0201),
        ("prmt.b32.b4e d, a, b, c", &[0x0302_0100, 0x0706_0504, 2], 0x0700_0102),
        ("prmt.b32.ecl d, a, b, c", &[0x0302_0100, 0x0706_0504, 1], 0x0302_0101),
        ("prmt.b32.ecr d, a, b, c", &[0x0302_0100, 0x0706_0504, 2], 0x0202_0100),
        ("prmt.b32.rc16 d, a, b, c", &[0x0302_0100, 0x0706_0504, 3], 0x0302_0302),
        ("sad.s16 d, a, b, c", &[0x8000, 0x7fff, 2], 1),
        ("sad.u64 d, a, b, c", &[0, u64::MAX, 2], 1),
        ("mad24.hi.sat.s32 d, a, b, c", &[0x7f_ffff, 0x7f_ffff, 0x7fff_ffff], 0x7fff_ffff),
        ("mad24.lo.u32 d, a, b, c", &[0xff00_0003, 5, 1], 16),
        ("dp4a.s32.u32 d, a, b, c", &[0xff02_0304, 0xff01_0203, 10], 0x1_0000_0000 + 10 - 255 + 2 + 6 + 12),
        ("dp2a.hi.u32.s32 d, a, b, c", &[0x0002_ffff, 0x01ff_0000, 0], 0x1_0000_0000 + 2 - 0xffff),
        ("slct.u16.s32 d, a, b, c", &[1, 2, 0x8000_0000], 2),
        ("slct.u64.f32 d, a, b, c", &[1, 2, 0x8000_0000], 1),
        ("slct.ftz.b32.f32 d, a, b, c", &[1, 2, 0x8000_0001], 1),
        ("slct.b32.f32 d, a, b, c", &[1, 2, 0x8000_0001], 2),
        ("slct.b32.f32 d, a, b, c", &[1, 2, 0x7fc0_0000], 2),
        ("set.lt.and.f32.s32 d, a, b, c", &[0xffff_ffff, 0, 1], 0x3f80_0000),
        ("set.lt.and.f32.s32 d, a, b, !c", &[0xffff_ffff, 0, 1], 0),
        ("set.eq.u32.u32 d, a, b", &[7, 7], 0xffff_ffff),
        ("set.nan.u16.f16 d, a, b", &[0x7e00, 0], 0xffff),
        ("set.gt.bf16.bf16 d, a, b", &[0x3f80, 0], 0x3f80),
        ("set.ge.f16x2.f16x2 d, a, b", &[0x3c00_8000, 0x4000_0000], 0x3c00),
        ("set.eq.u32.f16x2 d, a, b", &[0x3c00_8000, 0x3c00_3c00], 0xffff_0000),
        ("div.rz.f32 d, a, b", &[0x3f80_0000, 0x4040_0000], 0x3eaa_aaaa),
        ("div.rp.ftz.f32 d, a, b", &[0x0080_0000, 0x4000_0000], 0),
        ("rcp.rn.f32 d, a", &[0x8000_0000], 0xff80_0000),
        ("rcp.rn.f64 d, a", &[0x4008_0000_0000_0000], 0x3fd5_5555_5555_5555),
        ("div.rn.f64 d, a, b", &[0, 0], 0xfff8_0000_0000_0000),
    ];
    for (text, sources, want) in values {
        assert_eq!(eval(text, sources), [*want], "{text} {sources:x?}");
    }
}
