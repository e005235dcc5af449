//! Random choices, the same everywhere and for ever for the same seed.

use hostwarp_isa::{Kind, Ty};

/// SplitMix64 (Steele, Lea, Flood 2014).
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

    /// True so many times in a hundred.
    pub fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// The index of one of these weights, likelier the larger it is.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|w| match at.checked_sub(*w) {
                Some(left) => {
                    at = left;
                    false
                }
                None => true,
            })
            .unwrap_or(0)
    }

    /// A value of the type that is likely to hurt: edges, boundaries, and plain random bits.
    pub fn value(&mut self, ty: Ty) -> u64 {
        match ty {
            Ty::Pred => self.bits() & 1,
            Ty::F16 => self.float(5, 10),
            Ty::BF16 => self.float(8, 7),
            Ty::F32 | Ty::Tf32 => self.float(8, 23),
            Ty::F64 => self.float(11, 52),
            Ty::F16x2 => self.float(5, 10) | self.float(5, 10) << 16,
            Ty::BF16x2 => self.float(8, 7) | self.float(8, 7) << 16,
            _ => self.integer(ty.bits().min(64)),
        }
    }

    /// The bits of anything: an integer or a float of some width, filling 64 bits.
    pub fn word(&mut self) -> u64 {
        match self.below(6) {
            0 => self.value(Ty::F64),
            1 => self.value(Ty::F32) | self.value(Ty::F32) << 32,
            2 => self.value(Ty::F16x2) | self.value(Ty::BF16x2) << 32,
            3 => self.integer(32) | self.integer(32) << 32,
            _ => self.integer(64),
        }
    }

    fn integer(&mut self, bits: u32) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let half = 1u64 << (bits - 1);
        let v = match self.below(8) {
            0 | 1 => [0, 1, 2, mask, mask - 1, half, half - 1, half + 1, 31, 32, 33][self.below(11)],
            2 => (0..8).fold(0, |v, _| v << 8 | [0, 1, 0x7f, 0x80, 0xff][self.below(5)]),
            3 | 4 => self.bits() & 63,
            5 => 1u64 << self.below(bits as usize),
            _ => self.bits(),
        };
        v & mask
    }

    fn float(&mut self, exp_bits: u32, frac_bits: u32) -> u64 {
        let max = (1u64 << exp_bits) - 1;
        let frac_mask = (1u64 << frac_bits) - 1;
        let exponent = match self.below(8) {
            0 => 0,
            1 => max,
            2 => max - 1,
            // Around 1, where most programs live.
            3..=6 => max / 2 + self.bits() % 8 - 4,
            _ => self.bits() & max,
        };
        let fraction = match self.below(4) {
            0 => 0,
            1 => frac_mask,
            _ => self.bits() & frac_mask,
        };
        (self.bits() & 1) << (exp_bits + frac_bits) | exponent << frac_bits | fraction
    }

    /// A constant of the type, as PTX writes it.
    pub fn constant(&mut self, ty: Ty) -> String {
        let bits = self.value(ty);
        match (ty, ty.kind()) {
            (Ty::F32, _) => format!("0f{bits:08x}"),
            (Ty::F64, _) => format!("0d{bits:016x}"),
            (_, Kind::Signed) => {
                let shift = 64 - ty.bits().min(64);
                ((bits << shift) as i64 >> shift).to_string()
            }
            _ => bits.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_stay_what_they_are() {
        // Seeds of past failures are kept: this must not change.
        let mut r = Random::new(1);
        assert_eq!((r.bits(), r.below(1000), r.weighted(&[1, 2, 3])), (10451216379200822465, 519, 0));
    }

    #[test]
    fn weights_are_kept() {
        let mut r = Random::new(7);
        let mut hits = [0; 3];
        (0..3000).for_each(|_| hits[r.weighted(&[1, 0, 2])] += 1);
        assert!(hits[1] == 0 && (800..1200).contains(&hits[0]), "{hits:?}");
    }
}
