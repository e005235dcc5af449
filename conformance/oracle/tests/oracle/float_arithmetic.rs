//! The oracle's float arithmetic against a second computation in integers, and against the host.

use hostwarp_oracle::{Oracle, edges};

use crate::exact::{BF16, F16, F32, Format, ROUNDINGS, Random, Rounding};
use crate::oracle;

/// Random operands: any bits, exponents close together, and sums that almost cancel.
fn triple(random: &mut Random, format: Format) -> [u64; 3] {
    let width = 1 + format.exponent_bits + format.fraction_bits;
    let mask = (1 << width) - 1;
    let [mut a, mut b, mut c] = [random.next() & mask, random.next() & mask, random.next() & mask];
    match random.next() % 4 {
        0 => {}
        1 => {
            // Around the smallest normal number: a times b near it, c small or zero.
            let bias = (1u64 << (format.exponent_bits - 1)) - 1;
            let low = random.next() % (bias + 4);
            let fraction = (1 << format.fraction_bits) - 1;
            a = a & !((bias * 2 + 1) << format.fraction_bits) | low << format.fraction_bits;
            b = b & !((bias * 2 + 1) << format.fraction_bits)
                | (bias + 2).saturating_sub(low) << format.fraction_bits;
            c &= fraction | 1 << (width - 1);
            if random.next() & 1 == 1 {
                c &= 1 << (width - 1);
            }
        }
        _ => {
            c = format.fma([a, b, 0], Rounding::Nearest, false) ^ 1 << (width - 1);
            c = c.wrapping_add(random.next() % 5).wrapping_sub(2) & mask;
        }
    }
    [a, b, c]
}

fn check(text: &str, form: &Oracle, operands: &[u64], expected: u64) {
    let got = form.eval(operands);
    assert_eq!(got, [expected], "{text} of {operands:x?}: {:x} but exactly {expected:x}", got[0]);
}

#[test]
fn half_fma_random() {
    for (format, name, ftz) in [(F16, "f16", false), (F16, "ftz.f16", true), (BF16, "bf16", false)] {
        let text = format!("fma.rn.{name} d, a, b, c");
        let form = oracle(&text);
        let mut random = Random(1);
        let count = if ftz { 300_000 } else { 1_000_000 };
        for _ in 0..count {
            let operands = triple(&mut random, format);
            check(&text, &form, &operands, format.fma(operands, Rounding::Nearest, ftz));
        }
    }
}

fn half_fma_cube(step: usize) {
    for (format, name, ty, ftz) in
        [(F16, "f16", "f16", false), (F16, "ftz.f16", "f16", true), (BF16, "bf16", "bf16", false)]
    {
        let text = format!("fma.rn.{name} d, a, b, c");
        let form = oracle(&text);
        let all = edges(ty);
        let few: Vec<u64> = all.iter().copied().step_by(step).collect();
        for &a in &few {
            for &b in &few {
                for &c in &all {
                    let expected = format.fma([a, b, c], Rounding::Nearest, ftz);
                    check(&text, &form, &[a, b, c], expected);
                }
            }
        }
    }
}

#[test]
fn half_fma_edges() {
    // 3, so that all exponents, both signs and most significands take part.
    half_fma_cube(3);
}

#[test]
#[ignore = "every edge with every edge with every edge: a minute"]
fn half_fma_all_edges() {
    half_fma_cube(1);
}

#[test]
fn single_fma_add_mul_in_every_rounding() {
    let values = edges("f32");
    for (name, rounding) in ROUNDINGS {
        for ftz in [false, true] {
            let modifier = if ftz { ".ftz" } else { "" };
            let text = format!("fma.{name}{modifier}.f32 d, a, b, c");
            let fma = oracle(&text);
            let add = oracle(&format!("add.{name}{modifier}.f32 d, a, b"));
            let sub = oracle(&format!("sub.{name}{modifier}.f32 d, a, b"));
            let mul = oracle(&format!("mul.{name}{modifier}.f32 d, a, b"));
            let mut random = Random(2);
            let pick = |random: &mut Random| values[random.next() as usize % values.len()];
            for i in 0..150_000 {
                let [a, b, c] = if i % 2 == 0 {
                    triple(&mut random, F32)
                } else {
                    [pick(&mut random), pick(&mut random), pick(&mut random)]
                };
                check(&text, &fma, &[a, b, c], F32.fma([a, b, c], rounding, ftz));
                if i % 4 < 2 {
                    let one = 0x3f80_0000;
                    check("add", &add, &[b, c], F32.fma([b, one, c], rounding, ftz));
                    check("sub", &sub, &[b, c], F32.fma([one | 1 << 31, c, b], rounding, ftz));
                    // The zero that leaves the sign of the product alone.
                    let zero = (a ^ b) & 1 << 31;
                    check("mul", &mul, &[a, b], F32.fma([a, b, zero], rounding, ftz));
                }
            }
        }
    }
}

#[test]
fn half_add_sub_mul_pairs() {
    for (format, ty) in [(F16, "f16"), (BF16, "bf16")] {
        let [add, sub, mul] = ["add", "sub", "mul"].map(|op| oracle(&format!("{op}.{ty} d, a, b")));
        let one = if ty == "f16" { 0x3c00 } else { 0x3f80 };
        let values = edges(ty);
        for &a in &values {
            for &b in &values {
                check("add", &add, &[a, b], format.fma([a, one, b], Rounding::Nearest, false));
                let minus = one | 0x8000;
                check("sub", &sub, &[a, b], format.fma([minus, b, a], Rounding::Nearest, false));
                let zero = (a ^ b) & 0x8000;
                check("mul", &mul, &[a, b], format.fma([a, b, zero], Rounding::Nearest, false));
            }
        }
    }
}

#[test]
fn nearest_matches_the_host() {
    let [add, sub, mul] = ["add", "sub", "mul"].map(|op| oracle(&format!("{op}.f64 d, a, b")));
    let fma = oracle("fma.rn.f64 d, a, b, c");
    let values = edges("f64");
    let mut random = Random(3);
    for i in 0..200_000 {
        let mut pick = || match i % 3 {
            0 => values[random.next() as usize % values.len()],
            1 => random.next() & !(0x7ff << 52) | (1000 + random.next() % 50) << 52,
            _ => random.next(),
        };
        let [a, b, c] = [pick(), pick(), pick()];
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        // Which NaN comes out is PTX's affair, not the host's.
        let same = |bits: Vec<u64>, host: f64| {
            let got = f64::from_bits(bits[0]);
            got.is_nan() && host.is_nan() || got.to_bits() == host.to_bits()
        };
        assert!(same(add.eval(&[a, b]), x + y), "{a:x} + {b:x}");
        assert!(same(sub.eval(&[a, b]), x - y), "{a:x} - {b:x}");
        assert!(same(mul.eval(&[a, b]), x * y), "{a:x} * {b:x}");
        assert!(same(fma.eval(&[a, b, c]), x.mul_add(y, z)), "{a:x} * {b:x} + {c:x}");
    }
}

#[test]
fn directed_f64_brackets_nearest() {
    // No second computation of f64 in 128 bits; but down <= nearest <= up, one step apart at most,
    // toward zero is the one of the two that is closer to zero, and exact results agree.
    let forms = ["rm", "rn", "rp", "rz"].map(|r| oracle(&format!("fma.{r}.f64 d, a, b, c")));
    let key = |bits: u64| {
        let magnitude = (bits & !(1 << 63)) as i64;
        if bits >> 63 == 1 { -magnitude } else { magnitude }
    };
    let mut random = Random(4);
    for _ in 0..100_000 {
        let mut pick = || random.next() & !(0x7ff << 52) | (1000 + random.next() % 50) << 52;
        let operands = [pick(), pick(), pick()];
        let [down, nearest, up, zero] = [0, 1, 2, 3].map(|i| key(forms[i].eval(&operands)[0]));
        assert!(down <= nearest && nearest <= up && up - down <= 1, "{operands:x?}");
        assert_eq!(zero, if up > 0 { down } else { up }, "{operands:x?}");
    }
}

#[test]
fn edges_are_what_they_say() {
    for (ty, width) in [("u8", 8), ("s16", 16), ("u32", 32), ("b64", 64), ("f16", 16), ("f64", 64)] {
        let values = edges(ty);
        assert!(values.is_sorted_by(|a, b| a < b), "{ty}");
        assert!(values.iter().all(|v| width == 64 || v >> width == 0), "{ty}");
        assert!(values.contains(&0) && values.contains(&(1 << (width - 1))), "{ty}");
    }
    let f32s = edges("f32");
    for bits in [0, 0x8000_0000, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000] {
        assert!(f32s.contains(&bits), "{bits:x}");
    }
    assert!(edges("f16").contains(&0x7ff7) && edges("bf16x2").len() >= edges("bf16").len());
    assert!(edges("no such type").is_empty());
}
