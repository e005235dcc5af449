//! Going on with a CTA that the interpreter has run so far, or other code.
//!
//! Compiled code relies on what the plan says of values: the same in all lanes of a group, or evenly spaced. That holds as long as the
//! lanes of a group go through loops together, which those in the interpreter, or in narrower groups, need not have done. So it is looked at, value by value,
//! for what lanes need where they are now; all else follows from that, from there on.

use hostwarp_interp::{Cta, Launch, WARP, settle};
use hostwarp_ir::Block;
use hostwarp_plan::Shape;
use hostwarp_vector::Offsets;

use crate::engine::JitKernel;
use crate::lanes::Lanes;

impl JitKernel {
    /// Whether compiled code can go on with a CTA: it has done so up to now, or takes over from others.
    pub fn take_over(&self, launch: &Launch<'_>, cta: &mut Cta) -> bool {
        if cta.runner == self.runner() {
            return true;
        }
        let groups = if self.has_room(launch, cta) { self.groups_at_stops(cta) } else { None };
        let taken = groups.is_some_and(|groups| {
            settle(launch, cta);
            let all = Lanes::first(self.width());
            let goes_on = |(lane0, live, at): (u32, Lanes, Block)| {
                self.version(cta, lane0, (live, live == all), at, false).is_some()
            };
            groups.into_iter().all(goes_on)
        });
        if taken {
            cta.runner = self.runner();
        }
        taken
    }

    /// The groups that are not done, each by its first lane, with its lanes that live and where they are. None if there is one whose lanes
    /// are not all in one place, doing the same, or in a place that compiled code does not start from.
    fn groups_at_stops(&self, cta: &Cta) -> Option<Vec<(u32, Lanes, Block)>> {
        let width = self.width();
        let mut groups = vec![];
        for lane0 in (0..cta.lanes() as u32).step_by(width as usize) {
            let (mut live, mut ready) = (Lanes::NONE, Lanes::NONE);
            let warps = (lane0 / WARP) as usize..(lane0 + width).div_ceil(WARP) as usize;
            for (n, warp) in cta.warps()[warps].iter().enumerate() {
                live.add_warp(lane0, n, warp.live);
                ready.add_warp(lane0, n, warp.ready);
            }
            let all = Lanes::first(width);
            (live, ready) = (live & all, ready & all);
            if live.is_empty() {
                continue;
            }
            let pc = |lane: u32| cta.pc[(lane0 + lane) as usize];
            let at = pc(live.lowest());
            let alike = (ready.is_empty() || ready == live) && live.iter().all(|lane| pc(lane) == at);
            if !alike || !self.starts_at(Block(at)) {
                return None;
            }
            groups.push((lane0, live, Block(at)));
        }
        Some(groups)
    }

    /// Whether what lanes of a group need at a block is as the plan says. What may wrap is looked at wherever a group goes on.
    pub(crate) fn is_as_planned(
        &self,
        cta: &mut Cta,
        lane0: u32,
        live: Lanes,
        at: Block,
        (shapes, distances): (&[Shape], &[Option<Offsets>]),
    ) -> bool {
        let (func, plan) = (self.program().func(), self.program().plan());
        plan.live_in[at.index()].iter().all(|v| {
            let shape = shapes[v.index()];
            if let (Some(distances), Some(slot)) = (&distances[v.index()], plan.frame.slot[v.index()]) {
                let bytes = func.ty(*v).bytes();
                let mut rows = (lane0..lane0 + self.width()).step_by(distances.len().max(1));
                return rows.all(|first| {
                    cta.is_at_distances(slot, bytes, first, distances, |lane| live.contains(lane - lane0))
                });
            }
            let stride = match shape {
                Shape::Uniform => 0,
                Shape::Affine { stride, may_wrap: false, .. } => stride,
                Shape::Affine { may_wrap: true, .. } | Shape::Varying => return true,
            };
            let Some(slot) = plan.frame.slot[v.index()] else { return true };
            let (bytes, row) = (func.ty(*v).bytes(), self.assume().row());
            let lanes = (lane0, self.width());
            cta.is_spread_out(slot, bytes, lanes, row, stride, |lane| live.contains(lane - lane0))
        })
    }
}
