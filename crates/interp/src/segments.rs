//! Which lanes run an instruction.

use crate::exec::{BATCH, Machine};

/// Neighbouring warps of a batch, all of one CTA, that take part in what is being run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// First warp in the CTA.
    pub(crate) first: usize,
    /// The one after the last.
    pub(crate) end: usize,
    /// The CTA they belong to, counted from the first, and the first warp's number in it.
    pub(crate) cta: usize,
    pub(crate) in_cta: usize,
    /// All lanes that have not exited take part, so that the others need not be kept.
    pub(crate) full: bool,
}

impl Segment {
    pub(crate) fn warps(&self) -> usize {
        self.end - self.first
    }
}

impl Machine<'_, '_> {
    /// The lanes of a warp that run the instruction.
    #[inline(always)]
    pub(crate) fn run_mask(&self, warp: usize) -> u32 {
        self.masks[warp - self.base]
    }

    /// The lanes of a segment's warps that run the instruction.
    pub(crate) fn run_masks(&self, segment: &Segment) -> &[u32] {
        &self.masks[segment.first - self.base..segment.end - self.base]
    }

    /// Whether most warps from the first to the last that run do so, so that running all costs less than leaving out the others.
    #[inline(always)]
    pub(crate) fn is_dense(&self) -> bool {
        self.segments.len() == 1 || 2 * self.running as usize > self.hull.warps()
    }

    /// All from the first to the last warp that run, as if they were of one CTA.
    fn find_hull(&self) -> Segment {
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else {
            return Segment { first: self.base, end: self.base, cta: 0, in_cta: 0, full: true };
        };
        let apart = last.end - first.first != self.running as usize;
        let full = !apart && self.segments.iter().all(|s| s.full);
        Segment { end: last.end, full, ..*first }
    }

    /// Says which lanes run what follows.
    pub(crate) fn set_masks(&mut self, masks: &[u32; BATCH]) {
        if self.masks == *masks && !self.exited {
            return;
        }
        self.exited = false;
        self.masks = *masks;
        self.segments.clear();
        self.running = 0;
        // A batch begins with a CTA, and has whole ones where it has several.
        let of_cta = (self.launch.warps() as usize).min(self.warps);
        let mut before: Option<&[u32]> = None;
        let mut segments = 0..0;
        for (first, masks) in (self.base..).step_by(of_cta).zip(masks[..self.warps].chunks(of_cta)) {
            let (cta, at) = self.cta.cta_of(first);
            let complete = self.cta.is_complete(cta);
            let last = std::mem::replace(&mut segments, self.segments.len()..0);
            if before == Some(masks) && complete {
                for i in last {
                    let s = self.segments[i];
                    self.segments.push(Segment { first: s.first + of_cta, end: s.end + of_cta, cta, ..s });
                    self.running += s.warps() as u64;
                }
            } else {
                for (w, mask) in masks.iter().enumerate().filter(|(_, m)| **m != 0) {
                    let warp = first + w;
                    let full = *mask == self.cta.warps()[warp].live;
                    self.running += 1;
                    match self.segments[segments.start..].last_mut() {
                        Some(s) if s.end == warp && s.full == full => s.end += 1,
                        _ => {
                            let in_cta = at + w;
                            self.segments.push(Segment { first: warp, end: warp + 1, cta, in_cta, full });
                        }
                    }
                }
            }
            segments.end = self.segments.len();
            before = complete.then_some(masks);
        }
        self.hull = self.find_hull();
        let first = self.segments.first().map(|s| (s, self.run_masks(s)));
        self.alike = first.is_some_and(|(first, masks)| {
            let same = |s: &Segment| s.in_cta == first.in_cta && self.run_masks(s) == masks;
            self.segments.iter().zip(first.cta..).all(|(s, cta)| s.cta == cta && same(s))
        });
        self.whole = self.alike
            && self.running as usize == self.segments.len() * of_cta
            && self.hull.full
            && self.run_masks(&self.segments[0]).iter().all(|m| *m == u32::MAX);
    }
}
