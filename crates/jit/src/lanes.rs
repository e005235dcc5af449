//! Sets of lanes of a group.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use hostwarp_interp::WARP;

/// The most lanes in a group.
pub(crate) const MOST: u32 = 512;

const WORDS: usize = MOST as usize / 64;

/// Lanes of a group. Compiled code reads and writes it as so many words, the lowest lane in the lowest bit of the first.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lanes(pub(crate) [u64; WORDS]);

impl Lanes {
    pub(crate) const NONE: Lanes = Lanes([0; WORDS]);

    /// The first `count` lanes.
    pub(crate) fn first(count: u32) -> Lanes {
        Lanes(std::array::from_fn(|n| match count.saturating_sub(64 * n as u32) {
            0 => 0,
            some => u64::MAX >> (64 - some.min(64)),
        }))
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Lanes::NONE
    }

    pub(crate) fn contains(self, lane: u32) -> bool {
        self.0[lane as usize / 64] >> (lane % 64) & 1 == 1
    }

    /// Ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        (0..).step_by(64).zip(self.0).flat_map(|(first, word)| {
            let next = |left: &u64| Some(left & left.wrapping_sub(1)).filter(|left| *left != 0);
            let words = std::iter::successors(Some(word).filter(|w| *w != 0), next);
            words.map(move |left| first + left.trailing_zeros())
        })
    }

    /// The lowest; 0 if there is none.
    pub(crate) fn lowest(self) -> u32 {
        self.iter().next().unwrap_or(0)
    }

    /// Adds the lanes of a warp, the `n`th of the group that begins at `lane0` of the CTA.
    pub(crate) fn add_warp(&mut self, lane0: u32, n: usize, lanes: u32) {
        self.0[n / 2] |= u64::from(lanes >> (lane0 % WARP)) << (WARP as usize * (n % 2));
    }

    /// Calls `f` with each warp that has lanes among these of the group that begins at `lane0`, and which of its lanes they are.
    pub(crate) fn each_warp(self, lane0: u32, mut f: impl FnMut(usize, u32)) {
        let warps = self.0.into_iter().flat_map(|word| [word as u32, (word >> WARP) as u32]);
        for (warp, lanes) in ((lane0 / WARP) as usize..).zip(warps) {
            // A group of less than a warp lies in one.
            let lanes = lanes << (lane0 % WARP);
            if lanes != 0 {
                f(warp, lanes);
            }
        }
    }
}

impl BitOr for Lanes {
    type Output = Lanes;
    fn bitor(self, other: Lanes) -> Lanes {
        Lanes(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }
}

impl BitOrAssign for Lanes {
    fn bitor_assign(&mut self, other: Lanes) {
        *self = *self | other;
    }
}

impl BitAnd for Lanes {
    type Output = Lanes;
    fn bitand(self, other: Lanes) -> Lanes {
        Lanes(std::array::from_fn(|n| self.0[n] & other.0[n]))
    }
}

impl Not for Lanes {
    type Output = Lanes;
    fn not(self) -> Lanes {
        Lanes(self.0.map(|word| !word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lanes: &[u32]) -> Lanes {
        let one = |lane: &u32| Lanes::first(lane + 1) & !Lanes::first(*lane);
        lanes.iter().map(one).fold(Lanes::NONE, |all, one| all | one)
    }

    #[test]
    fn lanes_are_counted_from_the_lowest() {
        for count in [0, 1, 63, 64, 65, 128, 200, 256, 511, MOST] {
            let lanes = Lanes::first(count);
            assert_eq!(lanes.iter().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
            assert_eq!(lanes.is_empty(), count == 0);
        }
        let some = of(&[3, 64, 255]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [3, 64, 255]);
        assert_eq!(some.lowest(), 3);
        assert_eq!((!some & Lanes::first(4)).iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn warps_are_those_of_the_cta() {
        let some = of(&[1, 33, 200]);
        let mut warps = vec![];
        some.each_warp(256, |warp, lanes| warps.push((warp, lanes)));
        assert_eq!(warps, [(8, 2), (9, 2), (14, 1 << 8)]);
        let mut back = Lanes::NONE;
        warps.iter().for_each(|(warp, lanes)| back.add_warp(256, warp - 8, *lanes));
        assert_eq!(back, some);
        // The second half of a warp.
        of(&[5]).each_warp(48, |warp, lanes| assert_eq!((warp, lanes), (1, 1 << 21)));
    }
}
