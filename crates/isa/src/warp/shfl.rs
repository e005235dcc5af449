//! `shfl.sync`
//!
//! Since PTX 6.0, sm_30; without `.sync` since PTX 3.0, gone where both PTX 6.4 and sm_70 are there.

use super::{among, members};
use crate::{Cx, Form, Outcome, Room, Unspecified, since};
use hostwarp_ir::{IntBin, IntCmp, Op, Special, Type, Value};

const SETS: &[(&str, &str)] = &[(".mode", ".up .down .bfly .idx")];

/// `shfl`
pub const ROOM: Room = Room {
    opcodes: &["shfl"],
    title: "read a register of another lane",
    doc: "The lanes in `membermask` meet; each reads `a` of lane `j`, which the mode makes from its own number and `b`: above, below, across or given. `c` has a \
          clamp in bits 4:0 and a mask in bits 12:8 that splits the warp into segments no lane reads across; a lane whose `j` lies outside reads \
          itself, and `p` is false there. Without `.sync` those take part that execute it together.",
    section: "9.7.9.6",
    forms: &[
        Form::new(
            "shfl.sync.mode.b32  d:b32{|p:pred?}, a:b32, b:b32, c:b32, membermask:u32",
            SETS,
            since(60, 30),
        ),
        Form::new("shfl.mode.b32  d:b32{|p:pred?}, a:b32, b:b32, c:b32", SETS, since(30, 30))
            .until(since(64, 70)),
    ],
    rule: None,
    meaning,
    notes: &[
        "A lane that is not in `membermask`, or has exited, gives 0, as on an H200; the manual leaves that open.",
    ],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let (a, mask) = (cx.src("a"), members(cx));
    let (j, pval) = source_lane(cx);
    let d = among(cx, mask, &[Type::I32], |cx, mask| {
        let read = cx.b.inst(Op::LaneRead, &[a, j], Type::I32);
        let running = cx.b.inst(Op::ActiveMask, &[], Type::I32);
        let members = cx.b.and(running, mask);
        let from_j = cx.b.int(IntBin::ShrU, members, j);
        let takes_part = cx.b.int_imm(IntBin::And, from_j, 1);
        let takes_part = cx.b.cmp_imm(IntCmp::Ne, takes_part, 0);
        if cx.strict {
            let absent = cx.b.not(takes_part);
            cx.unspecified(Unspecified::ShuffleSource, absent, j);
        }
        let zero = cx.b.iconst(Type::I32, 0);
        vec![cx.b.select(takes_part, read, zero)]
    });
    cx.set("d", d[0]);
    if cx.given("p") {
        cx.set("p", pval);
    }
    Ok(())
}

/// The lane to read, and whether it is in range.
fn source_lane(cx: &mut Cx<'_>) -> (Value, Value) {
    let (b, c) = (cx.src("b"), cx.src("c"));
    let lane = cx.b.special(Special::LaneId);
    let bval = cx.b.int_imm(IntBin::And, b, 31);
    let cval = cx.b.int_imm(IntBin::And, c, 31);
    let high = cx.b.int_imm(IntBin::ShrU, c, 8);
    let segmask = cx.b.int_imm(IntBin::And, high, 31);
    let segmask = cx.name(segmask, "segmask");
    let inverse = cx.b.int_imm(IntBin::Xor, segmask, 31);
    let min_lane = cx.b.and(lane, segmask);
    let min_lane = cx.name(min_lane, "minLane");
    let clamp = cx.b.and(cval, inverse);
    let max_lane = cx.b.or(min_lane, clamp);
    let max_lane = cx.name(max_lane, "maxLane");
    let j = match cx.get(".mode") {
        Some(".up") => cx.b.sub(lane, bval),
        Some(".down") => cx.b.add(lane, bval),
        Some(".bfly") => cx.b.xor(lane, bval),
        _ => {
            let within = cx.b.and(bval, inverse);
            cx.b.or(min_lane, within)
        }
    };
    let j = cx.name(j, "j");
    // Signed: `.up` goes below lane 0.
    let pval = match cx.get(".mode") {
        Some(".up") => cx.b.cmp(IntCmp::LeS, max_lane, j),
        _ => cx.b.cmp(IntCmp::LeS, j, max_lane),
    };
    let pval = cx.name(pval, "pval");
    (cx.b.select(pval, j, lane), pval)
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, pair, reg, shape};

    /// The range predicate of all 32 lanes for one `b` and `c`.
    fn in_range(head: &'static str, b: u64, c: u64) -> Vec<u64> {
        let operands =
            [pair(reg(Ty::B32), reg(Ty::Pred)), reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), reg(Ty::B32)];
        let inputs = [7, b, c, u64::from(u32::MAX)].map(|v| vec![v; 32]);
        evaluate(&shape(head, &operands), &inputs).swap_remove(1)
    }

    #[test]
    fn up_stops_at_the_segment_and_below_lane_0() {
        // Segments of eight lanes: mask 0x18, and 0 as the clamp of `.up`.
        let p = in_range("shfl.sync.up.b32", 3, 0x1800);
        assert!((0..32).all(|lane| p[lane] == u64::from(lane % 8 >= 3)));
        // Only five bits of `b` count.
        assert_eq!(in_range("shfl.sync.up.b32", 32, 0), vec![1; 32]);
    }

    #[test]
    fn down_and_idx_stop_at_the_clamp() {
        let p = in_range("shfl.sync.down.b32", 4, 0x181f);
        assert!((0..32).all(|lane| p[lane] == u64::from(lane % 8 < 4)));
        assert_eq!(in_range("shfl.sync.idx.b32", 20, 10), vec![0; 32]);
    }
}
