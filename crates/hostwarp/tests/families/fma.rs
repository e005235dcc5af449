//! fma in every precision; in half precision with every value of each operand.

use crate::harness::{Batch, Check, Form, Random, forms};
use hostwarp::Engine;
use hostwarp::isa::Ty;
use hostwarp::jit::target::X86Level;
use hostwarp_oracle::edges;
use std::collections::BTreeMap;

const ENGINES: &[Engine] = &[Engine::Interp, Engine::Jit];

/// The forms by their type: what can share operands.
fn by_type() -> BTreeMap<&'static str, Vec<Form>> {
    let mut out: BTreeMap<&'static str, Vec<Form>> = BTreeMap::new();
    for form in forms("fma") {
        out.entry(form.ty.text()).or_default().push(form);
    }
    out
}

#[test]
fn fma_forms() {
    let mut check = Check::new(ENGINES);
    let groups = by_type();
    let counts = [(".f16", 9), (".f16x2", 9), (".bf16", 4), (".bf16x2", 4), (".f32", 16), (".f64", 4)];
    for (ty, count) in counts {
        assert_eq!(groups.get(ty).map(Vec::len), Some(count), "forms of fma{ty}");
    }
    for forms in groups.values() {
        check.batch(&Batch { forms, columns: columns(forms[0].ty, 4096) });
    }
    check.finish();
}

/// Without FMA, f64 is the interpreter's.
#[test]
fn on_older_cpus() {
    for (level, mut check) in Check::older_cpus() {
        for forms in by_type().into_values() {
            let ty = forms[0].ty;
            if level >= X86Level::Avx2 || ty.bits() != 64 {
                check.batch(&Batch { forms: &forms, columns: columns(ty, 2048) });
            }
        }
        check.finish();
    }
}

#[test]
fn every_half_precision_value() {
    let mut check = Check::new(ENGINES);
    let mut random = Random(3);
    for forms in half_precision() {
        // All forms with one partner each, and the plain one with all pairs of a few.
        let partners = edges(element(forms[0].ty));
        for every in 0..3 {
            let columns = every_value(forms[0].ty, every, 1, |_, _| random.of(&partners));
            check.batch(&Batch { forms: &forms, columns });
        }
        let plain: Vec<Form> = forms.into_iter().filter(|f| f.text.matches('.').count() == 2).collect();
        assert_eq!(plain.len(), 1);
        all_pairs(&mut check, &plain, 3);
    }
    check.finish();
}

#[test]
#[ignore = "minutes"]
fn every_half_precision_value_with_every_pair_of_edges() {
    let mut check = Check::new(ENGINES);
    for forms in half_precision() {
        all_pairs(&mut check, &forms, 12);
    }
    check.finish();
}

/// The forms of f16, f16x2, bf16 and bf16x2.
fn half_precision() -> impl Iterator<Item = Vec<Form>> {
    by_type().into_values().filter(|forms| forms[0].ty.elem().bits() == 16)
}

/// Every value of each operand, with every pair that the first `count` edges give for the two others. Of the packed forms each half
/// takes every value with every pair.
fn all_pairs(check: &mut Check, forms: &[Form], count: usize) {
    let ty = forms[0].ty;
    let edges = &few_edges(element(ty))[..count];
    for every in 0..3 {
        for first in 0..count {
            // The one partner stays, or in the upper half goes one further; the other takes its turn with all values.
            let partner = |turn: usize, place: usize| match place {
                0 => edges[first],
                1 => edges[turn],
                2 => edges[(first + 1) % count],
                _ => edges[(turn + 1) % count],
            };
            check.batch(&Batch { forms, columns: every_value(ty, every, count, partner) });
        }
    }
}

/// Columns in which operand `every` takes all values, `turns` times. `partner` gives the two others, by turn and place: 0 and 1 for the
/// lower half, 2 and 3 for the upper half of a packed operand.
fn every_value(
    ty: Ty,
    every: usize,
    turns: usize,
    mut partner: impl FnMut(usize, usize) -> u64,
) -> [Vec<u64>; 3] {
    const VALUES: usize = 1 << 16;
    let packed = ty.bits() == 32;
    let mut place = 0;
    [0, 1, 2].map(|operand| {
        let mine = place;
        place += usize::from(operand != every);
        let value = |lane: usize| {
            let (value, turn) = (lane % VALUES, lane / VALUES);
            let (lower, upper) = match operand == every {
                // The upper half takes the values in another order.
                true => (value as u64, value as u64 * 0x9e35 % VALUES as u64),
                false => (partner(turn, mine), if packed { partner(turn, mine + 2) } else { 0 }),
            };
            if packed { upper << 16 | lower } else { lower }
        };
        (0..turns * VALUES).map(value).collect()
    })
}

/// The name of the element type, `f16` or `bf16`.
fn element(ty: Ty) -> &'static str {
    if ty.text().starts_with(".bf16") { "bf16" } else { "f16" }
}

/// The values at which fma in half precision changes its ways, the most telling first.
fn few_edges(name: &str) -> [u64; 12] {
    let (fraction_bits, exponent_bits) = if name == "f16" { (10, 5) } else { (7, 8) };
    let sign = 0x8000;
    let one = ((1u64 << (exponent_bits - 1)) - 1) << fraction_bits;
    let infinity = ((1u64 << exponent_bits) - 1) << fraction_bits;
    let (least_normal, least) = (1u64 << fraction_bits, 1u64);
    let out_of_bounds = 0x7ff7;
    [
        one + 1,
        least,
        sign | (infinity - 1),
        sign | (one - 1),
        least_normal,
        sign | (least_normal - 1),
        0,
        one,
        infinity,
        infinity | 1,
        out_of_bounds,
        sign,
    ]
}

/// Edge values, numbers near one, anything, and sums that cancel.
fn columns(ty: Ty, lanes: usize) -> [Vec<u64>; 3] {
    let (name, count) = match ty.text()[1..].strip_suffix("x2") {
        Some(element) => (element, 2),
        None => (&ty.text()[1..], 1),
    };
    let bits = ty.bits() / count;
    let mut random = Random(u64::from(ty.bits()));
    let edges = edges(name);
    let mut columns = [(); 3].map(|()| Vec::with_capacity(lanes));
    for _ in 0..lanes {
        let mut operands = [0; 3];
        for element in 0..count {
            let [a, b, mut c] = [(); 3].map(|()| match random.next() % 3 {
                0 => random.of(&edges),
                1 => random.next() >> (64 - bits),
                _ => near_one(name, bits, random.next()),
            });
            if random.next().is_multiple_of(4) {
                c = cancelling(name, a, b).unwrap_or(c) ^ (random.next() & 1);
            }
            for (operand, value) in operands.iter_mut().zip([a, b, c]) {
                *operand |= value << (element * bits);
            }
        }
        columns.iter_mut().zip(operands).for_each(|(column, operand)| column.push(operand));
    }
    columns
}

/// A number with these random fraction bits and an exponent of a few around zero.
fn near_one(name: &str, bits: u32, random: u64) -> u64 {
    let (fraction_bits, bias) = match name {
        "f16" => (10, 15),
        "bf16" => (7, 127),
        "f32" => (23, 127),
        _ => (52, 1023),
    };
    let fraction = random >> (64 - fraction_bits);
    let sign = (random & 1) << (bits - 1);
    sign | (bias - 4 + (random >> 1) % 8) << fraction_bits | fraction
}

/// The c that leaves of a·b only what rounding the product loses.
fn cancelling(name: &str, a: u64, b: u64) -> Option<u64> {
    match name {
        "f32" => {
            let [a, b] = [a, b].map(|x| f32::from_bits(x as u32));
            Some(u64::from((-(a * b)).to_bits()))
        }
        "f64" => {
            let [a, b] = [a, b].map(f64::from_bits);
            Some((-(a * b)).to_bits())
        }
        _ => None,
    }
}
