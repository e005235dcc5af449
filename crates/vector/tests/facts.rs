//! What the facts say of values, against each lane's value computed by itself.

use hostwarp_ir::eval::eval_op;
use hostwarp_ir::{Axis, Elem, Function, Inst, IntBin, IntUn, Op, Special, Type, Value};
use hostwarp_plan::{Assume, Plan};
use hostwarp_vector::{Facts, Lanes, Speculation};

/// A kernel of one block: random pure ops on `tid.x`, `laneid`, a CTA's number and constants.
fn random(seed: &mut u64, len: usize) -> Function {
    let mut next = |below: u64| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) % below
    };
    let mut f = Function::new("random");
    let add = |f: &mut Function, op: Op, args: &[Value], ty: Type| {
        let r = f.new_value(ty);
        f.blocks[0].insts.push(Inst {
            op,
            args: args.iter().copied().collect(),
            guard: None,
            result: Some(r),
            line: 0,
        });
        r
    };
    for s in [Axis::X, Axis::Y, Axis::Z].map(Special::Tid).into_iter().chain([
        Special::Ctaid(Axis::X),
        Special::LaneId,
        Special::WarpId,
    ]) {
        add(&mut f, Op::Special(s), &[], Type::I32);
    }
    for _ in 0..len {
        let bits = [0, 1, 2, 3, 4, 5, 7, 8, 16, 29, 31, 32, 96, 127, 1000, 0xffff_fff0, u64::from(u32::MAX)]
            [next(17) as usize];
        let types = f.types.clone();
        let pick = |n: u64, ty: Type| {
            let of: Vec<usize> =
                types.iter().enumerate().filter(|(_, t)| **t == ty).map(|(v, _)| v).collect();
            (!of.is_empty()).then(|| Value(of[n as usize % of.len()] as u32))
        };
        let ty = if next(4) == 0 { Type::I64 } else { Type::I32 };
        let a = pick(next(1000), ty);
        match (next(18), a) {
            (0, _) | (_, None) => {
                add(&mut f, Op::Const(bits), &[], ty);
            }
            (1, Some(a)) if ty == Type::I32 => {
                let op = if next(2) == 0 { Op::Zext } else { Op::Sext };
                add(&mut f, op, &[a], Type::I64);
            }
            (1, Some(a)) => {
                add(&mut f, Op::Trunc, &[a], Type::I32);
            }
            (2, Some(a)) => {
                add(&mut f, Op::IntUn(IntUn::Neg), &[a], ty);
            }
            (n, Some(a)) => {
                let ops = [
                    IntBin::Add,
                    IntBin::Sub,
                    IntBin::Mul,
                    IntBin::Shl,
                    IntBin::And,
                    IntBin::Or,
                    IntBin::Xor,
                    IntBin::ShrU,
                    IntBin::And,
                    IntBin::Add,
                    IntBin::MinU,
                    IntBin::MinS,
                    IntBin::MaxU,
                    IntBin::MaxS,
                    IntBin::ShrS,
                ];
                let op = ops[(n - 3) as usize % ops.len()];
                let b = match next(3) {
                    0 => pick(next(1000), ty).unwrap_or(a),
                    _ => add(&mut f, Op::Const(bits & ty.elem.mask()), &[], ty),
                };
                add(&mut f, Op::Int(op), &[a, b], ty);
            }
        }
    }
    f
}

/// Every lane's values; a lane that has wrapped in an extension is told by `wrapped`.
fn values(f: &Function, [x, y, _]: [u32; 3], thread: u64, cta: u64) -> Vec<u64> {
    let (x, y) = (u64::from(x), u64::from(y));
    let mut all: Vec<u64> = vec![];
    for i in &f.blocks[0].insts {
        let types: Vec<Type> = i.args.iter().map(|a| f.ty(*a)).collect();
        let args: Vec<[u64; 1]> = i.args.iter().map(|a| [all[a.index()]]).collect();
        let args: Vec<&[u64]> = args.iter().map(|a| a.as_slice()).collect();
        let ty = i.result.map_or(Type::I32, |r| f.ty(r));
        all.push(match i.op {
            Op::Const(bits) => bits & ty.elem.mask(),
            Op::Special(Special::Tid(Axis::X)) => thread % x,
            Op::Special(Special::Tid(Axis::Y)) => thread / x % y,
            Op::Special(Special::Tid(Axis::Z)) => thread / x / y,
            Op::Special(Special::LaneId) => thread % 32,
            Op::Special(Special::WarpId) => thread / 32,
            Op::Special(_) => cta,
            op => eval_op(op, &args, &types, ty, 1).map_or(0, |r| r[0]),
        });
    }
    all
}

#[test]
fn facts_hold_in_every_lane() {
    let (mut seed, mut spread, mut rows, mut bounded) = (7, 0, 0, 0);
    let shapes = [
        ([256, 1, 1], 32),
        ([96, 1, 1], 32),
        ([64, 1, 1], 16),
        ([32, 4, 1], 8),
        ([16, 16, 1], 32),
        ([128, 2, 1], 64),
        ([4, 4, 8], 32),
        ([24, 4, 1], 8),
        ([6, 16, 1], 32),
        ([12, 8, 2], 64),
        ([45, 3, 1], 16),
    ];
    for round in 0..1100 {
        let f = random(&mut seed, 24);
        let (block, width) = shapes[round % shapes.len()];
        let most = (1 << 31) / u64::from(block.into_iter().max().unwrap_or(1));
        let numbers_fit = round % 2 == 0;
        let assume = Assume { numbers_fit, ..Assume::for_block(block, width) };
        let plan = Plan::new(&f, assume);
        let facts = Facts::new(&f, &plan, assume, Speculation::On);
        let threads: u32 = block.iter().product();
        for group in 0..threads.div_ceil(width) {
            let there = width.min(threads - group * width);
            for cta in [0, 1, 12345, if numbers_fit { most - 1 } else { 0x7fff_ffff }] {
                let lanes: Vec<Vec<u64>> =
                    (0..there).map(|l| values(&f, block, u64::from(group * width + l), cta)).collect();
                // What depends on an extension that wrapped is checked when running.
                let mut off = vec![false; f.types.len()];
                for (n, i) in f.blocks[0].insts.iter().enumerate() {
                    off[n] = i.args.iter().any(|a| off[a.index()]);
                    let fact = facts.get(Value(n as u32));
                    let mask = f.types[n].elem.mask();
                    let row = assume.row() as usize;
                    // The lane whose value is the origin, and what a lane adds to it.
                    let origin_and_offset = |l: usize| match &fact.lanes {
                        Lanes::Spread(o) => (0, o[l].wrapping_sub(o[0])),
                        Lanes::Rows(o) => (l / row * row, o[l % row].wrapping_sub(o[0])),
                        Lanes::Uniform | Lanes::Varying => (0, 0),
                    };
                    if fact.lanes == Lanes::Varying {
                        continue;
                    }
                    let even = (0..there as usize).all(|l| {
                        let (origin, offset) = origin_and_offset(l);
                        lanes[l][n] == lanes[origin][n].wrapping_add_signed(offset) & mask
                    });
                    let origin = match &fact.lanes {
                        Lanes::Spread(o) => lanes[0][n].wrapping_sub(o[0] as u64) & mask,
                        _ => lanes[0][n],
                    };
                    if facts.wraps[n] && !even {
                        off[n] = true;
                    }
                    if off[n] {
                        continue;
                    }
                    assert!(even, "round {round} group {group} cta {cta} value {n}: {fact:?}\n{f}");
                    spread += usize::from(matches!(fact.lanes, Lanes::Spread(_)));
                    rows += usize::from(matches!(fact.lanes, Lanes::Rows(_)));
                    assert!(
                        fact.align == 0
                            || origin.trailing_zeros().min(f.types[n].elem.bits())
                                >= fact.align.min(f.types[n].elem.bits()),
                        "round {round} value {n} is not aligned: {origin:#x} {fact:?}\n{f}"
                    );
                    assert!(
                        origin <= fact.most,
                        "round {round} value {n} is too large: {origin:#x} {fact:?}\n{f}"
                    );
                    assert!(
                        fact.value.is_none_or(|v| v & mask == origin),
                        "round {round} value {n}: {fact:?}\n{f}"
                    );
                    bounded += usize::from(fact.most < Elem::I32.mask());
                }
            }
        }
    }
    // It says something.
    assert!(spread > 4_000 && rows > 400 && bounded > 4_000, "{spread} {rows} {bounded}");
}
