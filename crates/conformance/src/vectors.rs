//! Operand vectors: edge values, boundary patterns of the type, and seeded random ones.

use hostwarp_isa::Ty;

/// Vectors per form that are kept raw in a recording.
pub const RAW: usize = 32;
/// Vectors per form that go into the hash.
pub const HASHED: usize = 1024;
/// Vectors per form.
pub const ALL: usize = RAW + HASHED;

/// SplitMix64 (Steele, Lea, Flood 2014): small, good, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }
}

/// FNV-1a over 64-bit words: what recordings keep of the vectors they do not keep raw.
pub fn hash(words: impl Iterator<Item = u64>) -> u64 {
    words
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// One operand value of the type. The mix: a quarter edges, half boundary patterns, a quarter plain random bits.
fn value(ty: Ty, r: &mut Random) -> u64 {
    match ty {
        Ty::Pred => r.bits() & 1,
        Ty::F16 => float(r, 5, 10),
        Ty::BF16 => float(r, 8, 7),
        Ty::F32 | Ty::Tf32 => float(r, 8, 23),
        Ty::F64 => float(r, 11, 52),
        Ty::F16x2 => float(r, 5, 10) | float(r, 5, 10) << 16,
        Ty::BF16x2 => float(r, 8, 7) | float(r, 8, 7) << 16,
        _ => integer(r, ty.bits().min(64)),
    }
}

/// Integers: edges of all sub-widths, bytes and half-words that are edges themselves, random.
fn integer(r: &mut Random, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let edge = |r: &mut Random, width: u32| -> u64 {
        let m = u64::MAX >> (64 - width);
        let half = 1u64 << (width - 1);
        let table = [0, 1, 2, m, m - 1, half, half - 1, half + 1, m >> 2, 31, 32, 33];
        table[r.below(table.len())] & m
    };
    let v = match r.below(8) {
        0 | 1 => edge(r, bits),
        2 | 3 if bits >= 32 => (0..bits / 8).map(|i| edge(r, 8) << (8 * i)).fold(0, |a, b| a | b),
        4 if bits >= 32 => (0..bits / 16).map(|i| edge(r, 16) << (16 * i)).fold(0, |a, b| a | b),
        5 => r.bits() & 63,
        6 => 1u64 << r.below(bits as usize),
        _ => r.bits(),
    };
    v & mask
}

/// Floats after TestFloat's method: special exponents × special significands, and random ones; NaNs with payloads, the
/// out-of-bounds NaN of half precision among them.
fn float(r: &mut Random, exp_bits: u32, frac_bits: u32) -> u64 {
    let max = (1u64 << exp_bits) - 1;
    let bias = max / 2;
    let frac_mask = (1u64 << frac_bits) - 1;
    let exponent = match r.below(8) {
        0 => 0,
        1 => 1,
        2 => max,
        3 => max - 1,
        4 => bias,
        5 => (bias as i64 + r.below(2 * frac_bits as usize + 4) as i64 - i64::from(frac_bits) - 2)
            .clamp(0, max as i64) as u64,
        _ => r.bits() & max,
    };
    let fraction = match r.below(8) {
        0 => 0,
        1 => frac_mask,
        2 => 1,
        3 => 1 << (frac_bits - 1),
        4 => frac_mask << r.below(frac_bits as usize) & frac_mask,
        5 => frac_mask >> r.below(frac_bits as usize),
        6 if exponent == max => 0x3f7 & frac_mask, // 0x7ff7 as f16, bf16
        _ => r.bits() & frac_mask,
    };
    let fraction = if exponent == max && frac_bits == 10 && r.below(3) == 0 { 0x3f7 } else { fraction };
    let fraction = if exponent == max && frac_bits == 7 && r.below(3) == 0 { 0x77 } else { fraction };
    (r.bits() & 1) << (exp_bits + frac_bits) | exponent << frac_bits | fraction
}

/// The operand vectors of forms with these source types: `[operand][vector]`. The same for the same types, always.
pub fn operands(types: &[Ty]) -> Vec<Vec<u64>> {
    let seed = hash(types.iter().flat_map(|t| t.text().bytes()).map(u64::from));
    let mut r = Random::new(seed);
    let mut out = vec![Vec::with_capacity(ALL); types.len()];
    for _ in 0..ALL {
        let mut vector: Vec<u64> = types.iter().map(|ty| value(*ty, &mut r)).collect();
        // Equal and nearly equal operands, where subtraction and comparison have their corners.
        for o in 1..types.len() {
            if types[o] == types[0] && r.below(6) == 0 {
                let near = vector[0].wrapping_add([0, 1, u64::MAX][r.below(3)]);
                vector[o] = near & (u64::MAX >> (64 - types[o].bits().clamp(1, 64)));
            }
        }
        out.iter_mut().zip(vector).for_each(|(column, v): (&mut Vec<u64>, u64)| column.push(v));
    }
    out
}

/// Operand vectors for instructions among the lanes of a warp, 32 vectors to a warp: the lanes of a warp share a few values, one of them or all different,
/// and its `membermask`, every third of which names all lanes.
pub fn lanes(names: &[String], types: &[Ty]) -> Vec<Vec<u64>> {
    let mut columns = operands(types);
    let mut r = Random::new(hash(columns.iter().flatten().copied()));
    for warp in 0..ALL / 32 {
        let distinct = [1, 2, 4, 32][r.below(4)];
        let sparse = r.bits() & if r.below(2) == 0 { r.bits() } else { u64::MAX };
        let mask = if warp % 3 == 0 { u64::from(u32::MAX) } else { sparse & u64::from(u32::MAX) };
        for (name, column) in names.iter().zip(&mut columns) {
            let lanes = &mut column[warp * 32..][..32];
            if name == "membermask" {
                lanes.fill(if mask == 0 { 1 } else { mask });
            } else if distinct < 32 {
                let pool: Vec<u64> = lanes[..distinct].to_vec();
                lanes.iter_mut().for_each(|lane| *lane = pool[r.below(distinct)]);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_the_same_every_time_and_fit_their_type() {
        let types = [Ty::F16, Ty::U32, Ty::Pred];
        let a = operands(&types);
        assert_eq!(a, operands(&types));
        for (o, ty) in types.iter().enumerate() {
            assert!(a[o].iter().all(|v| v >> (ty.bits() - 1) <= 1), "{ty}");
        }
        // A recording depends on these bits: if this changes, every recording must be made anew.
        assert_eq!(hash(a.into_iter().flatten()), 7541347750762221143, "recordings depend on these vectors");
    }
}
