//! The order in which a scheduled launch runs its CTAs: a permutation of their numbers that a seed decides on.
//!
//! A Feistel network over the next even number of bits, walked until it is back among the numbers there are (Black and Rogaway: Ciphers with Arbitrary
//! Finite Domains, 2002): no table, however large the grid.

/// Rounds of the network.
const ROUNDS: u64 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    seed: u64,
    total: u64,
    /// Bits of each half.
    half: u32,
}

impl Order {
    pub(crate) fn new(seed: u64, total: u64) -> Order {
        let bits = 64 - total.saturating_sub(1).leading_zeros();
        Order { seed, total, half: bits.div_ceil(2).max(1) }
    }

    /// The CTA that has this place in the order.
    pub(crate) fn cta(&self, place: u64) -> u64 {
        let mut at = place;
        loop {
            at = self.network(at);
            if at < self.total {
                return at;
            }
        }
    }

    fn network(&self, at: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (at >> self.half, at & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ mix(self.seed ^ right ^ round << 56) & mask);
        }
        left << self.half | right
    }
}

/// splitmix64
fn mix(of: u64) -> u64 {
    let z = of.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_cta_comes_once() {
        for total in [1, 2, 3, 7, 64, 1000, 1025] {
            for seed in 0..4 {
                let order = Order::new(seed, total);
                let all: HashSet<u64> = (0..total).map(|place| order.cta(place)).collect();
                assert_eq!(all.len() as u64, total);
                assert!(all.iter().all(|n| *n < total));
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let of = |seed| (0..64).map(|place| Order::new(seed, 64).cta(place)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(of(1), (0..64).collect::<Vec<_>>());
    }
}
