//! Accesses of every second, third or fourth place: as whole rows, of which some places are those of lanes. What is between lanes exists, as the check of all lanes at once
//! says, or that of a mask for those that take part. A gather takes two to four times as long.

use hostwarp_ir::Elem;
use hostwarp_vector::Access;

use super::Printer;
use super::text::{Reg, Shape};

/// A row that a strided access goes over.
struct Row {
    /// Its first place, from lane 0's on.
    first: u32,
    /// The lanes that are in it and not in a row before, first and last.
    lanes: (u32, u32),
}

fn rows(w: u32, stride: u32) -> Vec<Row> {
    let places = (w - 1) * stride + 1;
    let mut rows: Vec<Row> = vec![];
    for n in 0..stride {
        let first = (n * w).min(places - w);
        let from = rows.last().map_or(0, |r| r.lanes.1 + 1);
        rows.push(Row { first, lanes: (from, ((first + w - 1) / stride).min(w - 1)) });
    }
    rows
}

impl Printer<'_> {
    pub(super) fn can_stride(&self, access: &Access, store: bool) -> bool {
        let one = access.ty.count == 1 && access.ty.elem != Elem::I1;
        let masked = store || access.mask.is_some();
        one && !access.volatile && (!masked || self.cpu.avx512 || self.cpu.avx && access.ty.elem.bits() >= 32)
    }

    pub(super) fn load_strided(&mut self, access: &Access, at: &str, mask: Option<&str>, stride: u32) -> Reg {
        let (w, size) = (self.w, i64::from(access.size()));
        let all = Shape::new(access.ty.elem, w);
        let mut loaded = vec![];
        for row in rows(w, stride) {
            let there = self.step(at, i64::from(row.first) * size);
            let mask = mask.map(|mask| self.row_of(self.mask_shape(), mask, &row, stride));
            loaded.push((self.load_row(access, &there, mask.as_deref(), w), row));
        }
        // Two at a time: what lanes of the first `count` rows get.
        let mut joined = vec![];
        for pair in loaded.chunks(2) {
            let second = pair.get(1).unwrap_or(&pair[0]);
            let place = |lane: u32| match pair {
                [(_, a), ..] if lane <= a.lanes.1 => (lane * stride).saturating_sub(a.first).min(w - 1),
                [_, (_, b)] => w + (lane * stride - b.first).min(w - 1),
                _ => 0,
            };
            let each = self.t.shuffle(all, &pair[0].0, &second.0, (0..w).map(place));
            joined.push((each, second.1.lanes.1));
        }
        let mut value = joined[0].clone();
        for (each, last) in &joined[1..] {
            let side = |lane: u32| if lane <= value.1 { lane } else { w + lane };
            value = (self.t.shuffle(all, &value.0, each, (0..w).map(side)), *last);
        }
        value.0
    }

    pub(super) fn store_strided(
        &mut self,
        access: &Access,
        at: &str,
        mask: Option<&str>,
        value: &str,
        stride: u32,
    ) {
        let (w, size, lanes) = (self.w, i64::from(access.size()), self.mask_shape());
        for row in rows(w, stride) {
            let there = self.step(at, i64::from(row.first) * size);
            let spread = self.row_of(Shape::new(access.ty.elem, w), value, &row, stride);
            let all = super::text::Text::constant(lanes, 1);
            let mask = self.row_of(lanes, mask.unwrap_or(&all), &row, stride);
            self.store_row(access, &there, Some(&mask), &spread, w);
        }
    }

    /// What each lane of a row has, at its place in it; zeros between them.
    fn row_of(&mut self, shape: Shape, each: &str, row: &Row, stride: u32) -> Reg {
        let w = self.w;
        let lane = |place: u32| {
            let place = row.first + place;
            let lane = place / stride;
            let here = place.is_multiple_of(stride) && (row.lanes.0..=row.lanes.1).contains(&lane);
            if here { lane } else { w }
        };
        self.t.shuffle(shape, each, "zeroinitializer", (0..w).map(lane))
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn every_lane_is_in_one_row() {
        for w in [8, 16, 32, 64] {
            for stride in 2..=4 {
                let rows = rows(w, stride);
                let lanes: Vec<u32> = rows.iter().flat_map(|r| r.lanes.0..=r.lanes.1).collect();
                assert_eq!(lanes, (0..w).collect::<Vec<u32>>());
                for r in &rows {
                    let places = (r.lanes.0 * stride, r.lanes.1 * stride);
                    assert!(r.first <= places.0 && places.1 < r.first + w, "{w} {stride}");
                    assert!(r.first + w <= (w - 1) * stride + 1);
                }
            }
        }
    }
}
