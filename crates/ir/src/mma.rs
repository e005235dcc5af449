//! [`Op::Mma`](crate::Op::Mma): a product of two matrices that lie in the registers of a warp, added to a third.
//!
//! Elements lie in words of 32 bits. Lane 4g + t holds, of row g of `a` and, in every second register, of row g + 8, the words t, t + 4 and so on
//! along the sum; of `b` the same of column g; of the sum, one element in each register, columns 2t and 2t + 1 of row g, then of row g + 8.
//!
//! Each element of the sum is a [`Dot`]. The op gives one of those that a lane holds; an engine that makes all of them at once finds the others
//! by their arguments, which are the same.

use crate::Dot;

/// Lanes of a warp.
const WARP: usize = 32;

/// A product of matrices, and which register of the sum is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mma {
    /// What an element is. Its words are a multiple of 4.
    pub dot: Dot,
    /// Rows of `a`, in eights: 1 or 2.
    pub halves: u8,
    /// Which element of each lane: below `2 * halves`.
    pub part: u8,
}

impl Mma {
    /// The largest number of arguments.
    pub const MOST_ARGS: usize = 3 * Dot::MOST_WORDS / 4 + 4;

    /// Every one that adds so many words.
    pub fn all(words: impl IntoIterator<Item = u8> + Clone) -> impl Iterator<Item = Mma> {
        Dot::all(words).flat_map(|dot| {
            let of = move |halves: u8| (0..2 * halves).map(move |part| Mma { dot, halves, part });
            (1..=2).flat_map(of).filter(|mma| mma.is_valid())
        })
    }

    /// Whether there are such matrices.
    pub fn is_valid(self) -> bool {
        self.dot.is_valid()
            && self.dot.words.is_multiple_of(4)
            && matches!(self.halves, 1 | 2)
            && self.part < 2 * self.halves
    }

    /// How many registers of a lane hold `a`, `b` and the sum.
    pub fn registers(self) -> [usize; 3] {
        let words = usize::from(self.dot.words / 4);
        let halves = usize::from(self.halves);
        [words * halves, words, 2 * halves]
    }

    /// The register of `a` that has word `word` of a row in the half `half`.
    pub fn row_register(self, half: usize, word: usize) -> usize {
        word / 4 * usize::from(self.halves) + half
    }

    /// The lane that has word `word` of the row of `lane`.
    pub fn row_lane(lane: usize, word: usize) -> usize {
        lane / 4 * 4 + word % 4
    }

    /// The lane that has word `word` of the first or second column of `lane`.
    pub fn column_lane(lane: usize, column: usize, word: usize) -> usize {
        lane % 4 * 8 + 4 * column + word % 4
    }

    /// What each lane of a warp gets: of registers of `a` and of `b`, and the addends.
    /// `add` is [`Dot::lanes`], perhaps made for this kind.
    #[inline(always)]
    pub fn warp(
        self,
        a: &[[u32; WARP]],
        b: &[[u32; WARP]],
        c: [u32; WARP],
        add: impl Fn(&[[u32; WARP]], &[[u32; WARP]], [u32; WARP]) -> [u32; WARP],
    ) -> [u32; WARP] {
        let (half, column) = (usize::from(self.part / 2), usize::from(self.part % 2));
        let words = usize::from(self.dot.words).min(Dot::MOST_WORDS);
        let (mut rows, mut columns) = ([[0; WARP]; Dot::MOST_WORDS], [[0; WARP]; Dot::MOST_WORDS]);
        for word in 0..words {
            let (from_a, from_b) = (&a[self.row_register(half, word)], &b[word / 4]);
            for lane in 0..WARP {
                rows[word][lane] = from_a[Mma::row_lane(lane, word)];
                columns[word][lane] = from_b[Mma::column_lane(lane, column, word)];
            }
        }
        add(&rows[..words], &columns[..words], c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot::{Factor, Sum};

    /// Rows of 8-bit numbers against the definition of a product.
    #[test]
    fn elements_are_where_the_manual_has_them() {
        let dot = Dot { a: Factor::S8, b: Factor::U8, words: 8, sum: Sum::Wrapping };
        let at = |seed: usize, i: usize, k: usize| (seed * 7 + i * 31 + k * 11 + i * k) as u8;
        let word = |seed, i, w| u32::from_le_bytes([0, 1, 2, 3].map(|n| at(seed, i, 4 * w + n)));
        let lanes = |f: &dyn Fn(usize, usize) -> u32| core::array::from_fn(|lane| f(lane / 4, lane % 4));
        let a: Vec<[u32; 32]> =
            (0..4).map(|r| lanes(&|g, t| word(1, g + r % 2 * 8, t + r / 2 * 4))).collect();
        let b: Vec<[u32; 32]> = (0..2).map(|r| lanes(&|g, t| word(2, g, t + r * 4))).collect();
        for part in 0..4 {
            let d = Mma { dot, halves: 2, part }.warp(&a, &b, [5; 32], |a, b, c| dot.lanes(a, b, c));
            for (lane, d) in d.into_iter().enumerate() {
                let (row, column) =
                    (lane / 4 + usize::from(part / 2) * 8, lane % 4 * 2 + usize::from(part % 2));
                let sum: i32 =
                    (0..32).map(|k| i32::from(at(1, row, k) as i8) * i32::from(at(2, column, k))).sum();
                assert_eq!(d as i32, sum + 5);
            }
        }
    }
}
