//! The pressure on registers, from liveness.

use crate::Shape;
use hostwarp_ir::analysis::Liveness;
use hostwarp_ir::{Block, Function, Value};

/// The most words of varying values alive at one point.
pub(crate) fn pressure(live: &Liveness, func: &Function, order: &[Block], shape: &[Shape]) -> u32 {
    let words = |v: Value| match shape[v.index()] {
        Shape::Varying => func.ty(v).bytes().div_ceil(4) as u32,
        _ => 0,
    };
    let mut most = 0;
    // Alive at the point at hand of this block, or of none.
    let mut alive = vec![u32::MAX; func.types.len()];
    for b in order {
        let data = func.block(*b);
        let mut now = 0;
        for v in &live.live_out[b.index()] {
            alive[v.index()] = b.0;
            now += words(*v);
        }
        let mut add = |v: Value, alive: &mut [u32], now: &mut u32| {
            if alive[v.index()] != b.0 {
                alive[v.index()] = b.0;
                *now += words(v);
            }
            most = most.max(*now);
        };
        for v in data.term.uses() {
            add(v, &mut alive, &mut now);
        }
        for a in data.term.targets().iter().flat_map(|t| &t.args) {
            add(*a, &mut alive, &mut now);
        }
        for i in data.insts.iter().rev() {
            if let Some(r) = i.result.filter(|r| alive[r.index()] == b.0) {
                alive[r.index()] = u32::MAX;
                now -= words(r);
            }
            for a in i.args.iter().chain(&i.guard) {
                add(*a, &mut alive, &mut now);
            }
        }
    }
    most
}
