//! fma in every precision; in half precision with every value of each operand.

use crate::harness::{Batch, Check, Form, Random, forms};
use hostwarp::Engine;
use hostwarp::isa::Ty;
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

#[test]
fn every_half_precision_value() {
    half_precision(2);
}

#[test]
#[ignore = "minutes"]
fn every_half_precision_value_with_many_partners() {
    half_precision(200);
}

/// Every value of each operand, `rounds` times with other partners. Of the packed forms each half takes every value.
fn half_precision(rounds: usize) {
    const VALUES: usize = 1 << 16;
    let mut check = Check::new(ENGINES);
    let mut random = Random(3);
    for forms in by_type().values().filter(|forms| forms[0].ty.elem().bits() == 16) {
        let ty = forms[0].ty;
        let packed = ty.bits() == 32;
        let partners = edges(if ty.text().starts_with(".bf16") { "bf16" } else { "f16" });
        for _ in 0..rounds {
            for every in 0..3 {
                let columns = [0, 1, 2].map(|operand| {
                    let value = |lane: usize| {
                        let upper = random.of(&partners) << 16;
                        let (lower, upper) = match operand == every {
                            true => (lane as u64, (lane as u64).wrapping_mul(0x9e35_0000)),
                            false => (random.of(&partners), upper),
                        };
                        if packed { upper & 0xffff_0000 | lower } else { lower }
                    };
                    (0..VALUES).map(value).collect()
                });
                check.batch(&Batch { forms, columns });
            }
        }
    }
    check.finish();
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
