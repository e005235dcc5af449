//! fma in every precision; in half precision with every value of each operand.

use crate::harness::{Batch, Check, Form, Random, forms};
use hostwarp::Engine;
use hostwarp::isa::Ty;
use hostwarp::jit::target::X86Level;
use hostwarp_oracle::edges;
use std::collections::BTreeMap;

const ENGINES: &[Engine] = &[Engine::Interp, Engine::Jit];

/// The forms by their types, result first: what can share operands.
fn by_type() -> BTreeMap<String, Vec<Form>> {
    let mut out: BTreeMap<String, Vec<Form>> = BTreeMap::new();
    for form in forms("fma") {
        let mixed = (form.sources[0] != form.ty).then_some(form.sources[0].text());
        out.entry(format!("{}{}", form.ty.text(), mixed.unwrap_or_default())).or_default().push(form);
    }
    out
}

#[test]
fn fma_forms() {
    let mut check = Check::new(ENGINES);
    let groups = by_type();
    let counts: Vec<_> = groups.iter().map(|(types, forms)| (types.as_str(), forms.len())).collect();
    let halves = [(".bf16", 4), (".bf16x2", 4), (".f16", 9), (".f16x2", 9)];
    let wide = [(".f32", 16), (".f32.bf16", 8), (".f32.f16", 8), (".f32x2", 8), (".f64", 4)];
    assert_eq!(counts, [&halves[..], &wide[..]].concat(), "forms of fma");
    for forms in groups.values() {
        check.batch(&Batch { forms, columns: columns(&forms[0].sources, 4096) });
    }
    check.finish();
}

/// Without FMA, f64 is the interpreter's.
#[test]
fn on_older_cpus() {
    for (level, mut check) in Check::older_cpus() {
        for forms in by_type().into_values() {
            if level >= X86Level::Avx2 || forms[0].ty != Ty::F64 {
                check.batch(&Batch { forms: &forms, columns: columns(&forms[0].sources, 2048) });
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
fn columns(sources: &[Ty], lanes: usize) -> [Vec<u64>; 3] {
    // Of each operand: the name of its elements, and their bits.
    let elements = [0, 1, 2].map(|i| {
        let name = &sources[i].text()[1..];
        match name.strip_suffix("x2") {
            Some(element) => (element, sources[i].bits() / 2),
            None => (name, sources[i].bits()),
        }
    });
    let count = sources[0].bits() / elements[0].1;
    let mut random = Random(u64::from(sources[2].bits()));
    let edges = elements.map(|(name, _)| edges(name));
    let mut columns = [(); 3].map(|()| Vec::with_capacity(lanes));
    for _ in 0..lanes {
        let mut operands = [0; 3];
        for element in 0..count {
            let [a, b, mut c] = [0, 1, 2].map(|i| match random.next() % 3 {
                0 => random.of(&edges[i]),
                1 => random.next() >> (64 - elements[i].1),
                _ => near_one(elements[i].0, elements[i].1, random.next()),
            });
            if random.next().is_multiple_of(4) {
                c = cancelling(elements.map(|(name, _)| name), a, b).unwrap_or(c) ^ (random.next() & 1);
            }
            for ((operand, value), (_, bits)) in operands.iter_mut().zip([a, b, c]).zip(elements) {
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

/// The c that leaves of a·b only what rounding the product loses; with mixed types nothing is lost.
fn cancelling([name, _, sum]: [&str; 3], a: u64, b: u64) -> Option<u64> {
    let product = match name {
        "f32" => {
            let [a, b] = [a, b].map(|x| f32::from_bits(x as u32));
            a * b
        }
        "bf16" if sum == "f32" => {
            let [a, b] = [a, b].map(|x| f32::from_bits((x as u32) << 16));
            a * b
        }
        "f64" => {
            let [a, b] = [a, b].map(f64::from_bits);
            return Some((-(a * b)).to_bits());
        }
        _ => return None,
    };
    Some(u64::from((-product).to_bits()))
}
