//! Values that tend to break arithmetic, per type.

/// Edge values of a type, as raw bits, sorted and without repeats.
///
/// Integers: zero, the extremes, and every power of two with its neighbours. Floats: TestFloat's
/// method, special exponents times special significands times both signs. Packed types: pairs of the
/// edge values of their elements, each value in each position. `pred` has both values. Unknown names
/// have no edges.
#[must_use]
pub fn edges(ty: &str) -> Vec<u64> {
    let mut values = match ty {
        "pred" => vec![0, 1],
        "u8" | "s8" | "b8" => integers(8),
        "u16" | "s16" | "b16" => integers(16),
        "u32" | "s32" | "b32" => integers(32),
        "u64" | "s64" | "b64" => integers(64),
        "f16" => with_out_of_bounds(floats(5, 10)),
        "bf16" => with_out_of_bounds(floats(8, 7)),
        "f32" => floats(8, 23),
        "f64" => floats(11, 52),
        "f16x2" => pairs(&edges("f16"), 16),
        "bf16x2" => pairs(&edges("bf16"), 16),
        "u16x2" | "s16x2" => pairs(&edges("u16"), 16),
        "u8x4" | "s8x4" => pairs(&pairs(&edges("u8"), 8), 16),
        _ => vec![],
    };
    values.sort_unstable();
    values.dedup();
    values
}

fn integers(width: u32) -> Vec<u64> {
    let mask = crate::text::low_mask(width);
    let mut values = vec![0];
    for shift in 0..width {
        let power = 1u64 << shift;
        for near in [power, power.wrapping_sub(1), power + 1] {
            values.extend([near & mask, near.wrapping_neg() & mask]);
        }
    }
    values
}

/// Sign, exponent and significand chosen independently: the exponents at both ends, around one and
/// around the format's precision; the significands empty, full, with one bit, and with one bit missing.
fn floats(exponent_bits: u32, fraction_bits: u32) -> Vec<u64> {
    let top = (1u64 << exponent_bits) - 1;
    let bias = top / 2;
    let precision = u64::from(fraction_bits) + 1;
    let half = (bias - precision.min(bias)) / 2;
    let mut exponents = vec![0, 1, 2, half + 1, bias - 2, bias - 1, bias, bias + 1, bias + 2];
    exponents.extend([bias.saturating_sub(precision), (bias + precision).min(top), top - 2, top - 1, top]);
    exponents.extend([bias.saturating_sub(precision - 1), (bias + precision - 1).min(top)]);
    let full = (1u64 << fraction_bits) - 1;
    let top_bit = 1u64 << (fraction_bits - 1);
    let fractions = [
        0,
        1,
        2,
        full,
        full - 1,
        top_bit,
        top_bit - 1,
        top_bit + 1,
        full ^ top_bit | 1,
        0x5555_5555_5555_5555 & full,
    ];
    let mut values = vec![];
    for sign in 0..2 {
        for exponent in &exponents {
            for fraction in fractions {
                values.push(sign << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction);
            }
        }
    }
    values
}

/// The out-of-bounds NaN of `.oob`, which no exponent and significand pattern would hit.
fn with_out_of_bounds(mut values: Vec<u64>) -> Vec<u64> {
    values.extend([0x7ff7, 0xfff7, 0x7ff6, 0x7fff]);
    values
}

/// Every value in every position, next to a partner that walks through the list at another pace: all
/// pairs would be too many.
fn pairs(values: &[u64], width: u32) -> Vec<u64> {
    let count = values.len();
    (0..count).map(|i| values[i] << width | values[(i * 7 + 3) % count]).collect()
}
