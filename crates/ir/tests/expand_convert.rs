//! Conversions after expansion equal IEEE conversions, bit for bit: every pair of types, every rounding.

mod support;

use hostwarp_ir::*;
use support::*;

const RANDOM: usize = 200_000;
const INTS: [Elem; 4] = [Elem::I8, Elem::I16, Elem::I32, Elem::I64];

/// All numbers of a 16-bit format; of the others edges, random ones, and many near numbers and midpoints of `to`.
fn floats(from: Elem, to: Elem, seed: u64) -> Vec<u64> {
    if from.bits() == 16 {
        return (0..1 << 16).collect();
    }
    let mut v = edges(from);
    let mut r = Random::new(seed);
    for i in 0..RANDOM {
        if i % 2 == 0 || !to.is_float() {
            v.push(r.float(from));
            continue;
        }
        let t = oracle::convert(to, from, Round::Nearest, r.float(to));
        // Half a unit of the target is the highest of the bits it lacks.
        let lacking = fraction_bits(from).saturating_sub(fraction_bits(to) + 1);
        let half = r.below(2) << lacking;
        v.push(t.wrapping_add(half).wrapping_add(r.below(5)).wrapping_sub(2) & from.mask());
    }
    // Around the ends of the integer ranges, and halves.
    for power in [-1, 0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64] {
        for sign in [1.0, -1.0] {
            let exact = oracle::convert(Elem::F64, from, Round::Nearest, (sign * 2f64.powi(power)).to_bits());
            v.extend((0..7).map(|d| exact.wrapping_add(d).wrapping_sub(3)));
            let half =
                oracle::convert(Elem::F64, from, Round::Nearest, (sign * (2f64.powi(power) - 0.5)).to_bits());
            v.extend((0..7).map(|d| half.wrapping_add(d).wrapping_sub(3)));
        }
    }
    if v.len() % 2 == 1 {
        v.push(0);
    }
    v
}

/// All 8- and 16-bit numbers; of the others small ones, ends of ranges and halfway cases of all formats.
fn ints(from: Elem, seed: u64) -> Vec<u64> {
    if from.bits() <= 16 {
        return (0..1 << from.bits()).collect();
    }
    let mut r = Random::new(seed);
    let mut v = vec![0; 2];
    for _ in 0..RANDOM {
        let len = 1 + r.below(from.bits().into());
        // A leading part, a run of zeros or ones, and a little at the end.
        let top = r.bits() >> 64u64.saturating_sub(1 + r.below(54));
        let x = match r.below(4) {
            0 => r.bits() >> (64 - len),
            1 => top << r.below(64),
            2 => (top << r.below(64)).wrapping_add(r.below(5)).wrapping_sub(2),
            _ => (1u64 << (len - 1)).wrapping_add(r.below(7)).wrapping_sub(3),
        };
        v.push((if r.below(2) == 0 { x } else { x.wrapping_neg() }) & from.mask());
    }
    v
}

fn between_floats(from: Elem) {
    for to in FLOATS.into_iter().filter(|to| *to != from) {
        let column = floats(from, to, 7);
        for round in ROUNDS {
            let columns = [column.clone()];
            check(Op::FCvt(round), &[from], to, &columns, |x| oracle::convert(from, to, round, x[0]));
        }
    }
}

#[test]
fn f16_to_floats() {
    between_floats(Elem::F16);
}

#[test]
fn bf16_to_floats() {
    between_floats(Elem::BF16);
}

#[test]
fn f32_to_floats() {
    between_floats(Elem::F32);
}

#[test]
fn f64_to_floats() {
    between_floats(Elem::F64);
}

#[test]
fn floats_to_ints() {
    for from in FLOATS {
        let columns = [floats(from, Elem::I64, 8)];
        for to in INTS {
            for signed in [false, true] {
                let op = Op::FToInt { signed };
                check(op, &[from], to, &columns, |x| oracle::to_int(from, to, signed, x[0]));
            }
        }
    }
}

fn ints_to(to: Elem) {
    for from in INTS {
        let columns = [ints(from, 9)];
        for signed in [false, true] {
            for round in ROUNDS {
                let op = Op::IntToF { signed, round };
                check(op, &[from], to, &columns, |x| oracle::from_int(from, to, signed, round, x[0]));
            }
        }
    }
}

#[test]
fn ints_to_f16() {
    ints_to(Elem::F16);
}

#[test]
fn ints_to_bf16() {
    ints_to(Elem::BF16);
}

#[test]
fn ints_to_f32() {
    ints_to(Elem::F32);
}

#[test]
fn ints_to_f64() {
    ints_to(Elem::F64);
}

#[test]
fn to_integral() {
    for elem in FLOATS {
        let columns = [floats(elem, Elem::I64, 10)];
        for round in ROUNDS {
            let expected = |x: &[u64]| oracle::round_to_integral(elem, round, x[0]);
            check(Op::FRound(round), &[elem], elem, &columns, expected);
        }
    }
}
