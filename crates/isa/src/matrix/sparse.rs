//! `mma.sp`: of every four elements of a row of `a` two are stored, and metadata says which (of tf32 one of two; of nibbles two pairs of four). They are
//! multiplied with the elements of `b` they stand beside, and added up as the dense forms add as many products.
//!
//! A nibble of metadata belongs to four elements: two places of two bits. Of halves and tf32 a lane has a halfword for row g and one for row g + 8,
//! lane `f` of four all there is, or lanes 2 f and 2 f + 1 one half of the sum each. Of bytes and nibbles it has a word for row g, the next lane
//! one for row g + 8.

use super::meaning::{Kinds, all_together, factors, joined, packed, sum, unpacked};
use super::{bits, extents};
use crate::{Cx, Outcome};
use hostwarp_ir::{IntBin, IntCmp, Op, Special, Type, Value};

pub(super) fn mma(cx: &mut Cx<'_>, kinds: Kinds<'_>) -> Outcome {
    let (_, _, depth) = extents(cx.m).ok_or("this shape")?;
    let [a, b, c] = ["a", "b", "c"].map(|name| cx.elements(name));
    let metadata = cx.src("e");
    let selector = cx.constant("f").ok_or("a selector that is not a constant")?;
    let results = vec![cx.b.ty(c[0]); c.len()];
    let d = all_together(cx, &results, |cx| {
        let factors = factors(cx, &a, &b, 2);
        let addends = unpacked(cx, kinds[0], &c);
        let mut d = vec![];
        for (half, row) in factors.rows.iter().enumerate() {
            let stored = Stored::new(cx, metadata, selector, half, kinds[1], depth);
            for (j, column) in factors.columns.iter().enumerate() {
                let column: Vec<Value> = (0..row.len()).map(|w| stored.word(cx, column, w)).collect();
                d.push(sum(cx, kinds, row, &column, addends[2 * half + j]));
            }
        }
        packed(cx, kinds[0], d)
    });
    cx.set_elements("d", d);
    Ok(())
}

/// Which elements of a row are stored.
struct Stored {
    /// Metadata, `nibbles` of it in each.
    words: Vec<Value>,
    nibbles: usize,
    /// Of an element, or of two nibbles, which go together.
    bits: usize,
}

impl Stored {
    fn new(cx: &mut Cx<'_>, held: Value, selector: u64, half: usize, kind: &str, depth: usize) -> Stored {
        let lane = cx.b.special(Special::LaneId);
        let first = cx.b.int_imm(IntBin::And, lane, 0x1c);
        let read = |cx: &mut Cx<'_>, n: u64| {
            let from = cx.b.int_imm(IntBin::Add, first, n);
            cx.b.inst(Op::LaneRead, &[held, from], Type::I32)
        };
        let bits = bits(kind).max(8);
        // Of all that a row has: one nibble for four elements of 8 or 16 bits, or two of 32.
        let nibbles = depth * super::bits(kind) / bits / if bits == 32 { 2 } else { 4 };
        if bits == 8 {
            let lanes = if nibbles == 8 { vec![2 * selector] } else { vec![0, 2] };
            let words = lanes.into_iter().map(|n| read(cx, n + half as u64)).collect();
            return Stored { words, nibbles: 8, bits };
        }
        let lanes = if nibbles == 4 { vec![selector] } else { vec![2 * selector, 2 * selector + 1] };
        let words = lanes.into_iter().map(|n| {
            let both = read(cx, n);
            cx.b.int_imm(IntBin::ShrU, both, 16 * half as u64)
        });
        Stored { words: words.collect(), nibbles: 4, bits }
    }

    /// Two bits of metadata: place `n` of all of the row.
    fn place(&self, cx: &mut Cx<'_>, n: usize) -> Value {
        let word = self.words[n / (2 * self.nibbles)];
        let moved = cx.b.int_imm(IntBin::ShrU, word, 2 * (n % (2 * self.nibbles)) as u64);
        cx.b.int_imm(IntBin::And, moved, 3)
    }

    /// Of the elements of a column the ones that stand beside word `w` of the stored ones.
    fn word(&self, cx: &mut Cx<'_>, column: &[Value], w: usize) -> Value {
        // One of two words, by a bit of a place.
        let choose = |cx: &mut Cx<'_>, place: Value, two: &[Value]| {
            let upper = cx.b.int_imm(IntBin::And, place, 2);
            let upper = cx.b.cmp_imm(IntCmp::Ne, upper, 0);
            cx.b.select(upper, two[1], two[0])
        };
        let part = |cx: &mut Cx<'_>, word: Value, by: Value, mask: u64| {
            let moved = cx.b.int(IntBin::ShrU, word, by);
            cx.b.int_imm(IntBin::And, moved, mask)
        };
        match self.bits {
            32 => {
                let place = self.place(cx, 2 * w);
                choose(cx, place, &column[2 * w..2 * w + 2])
            }
            16 => {
                let two = [0, 1].map(|k| {
                    let place = self.place(cx, 2 * w + k);
                    let word = choose(cx, place, &column[2 * w..2 * w + 2]);
                    let odd = cx.b.int_imm(IntBin::And, place, 1);
                    let by = cx.b.int_imm(IntBin::Shl, odd, 4);
                    part(cx, word, by, 0xffff)
                });
                joined(cx, two)
            }
            _ => {
                let mut all = cx.b.iconst(Type::I32, 0);
                for k in 0..4 {
                    let place = self.place(cx, 4 * w + k);
                    let by = cx.b.int_imm(IntBin::Shl, place, 3);
                    let byte = part(cx, column[2 * w + k / 2], by, 0xff);
                    let byte = cx.b.int_imm(IntBin::Shl, byte, 8 * k as u64);
                    all = cx.b.or(all, byte);
                }
                all
            }
        }
    }
}
