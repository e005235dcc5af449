//! Sums of what shares no bits: an `or` of values of which never both have a bit is an `add` (LLVM's `or disjoint`), by a forward analysis of the bits that are
//! certainly zero (known bits; Warren, Hacker's Delight, chapter 4).
//!
//! Triton and people put indices together so: `cta << 10 | tid & 127`. Of a sum everybody knows how lanes differ (plan, both engines), of an `or` nobody. Only what is
//! computed from places of threads and from what is uniform is rewritten: of data nothing would be gained, and `shl | shr` is a rotation to whoever compiles it.
//!
//! Not done: bits that are certainly one, values that go round a loop. One sweep in reverse post-order.

use super::induction::{Kind, Kinds};
use super::{Changed, Pass};
use crate::analysis::{Analyses, Cycles};
use crate::*;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "known-bits",
    about: "make an or of places that share no bits an add",
    run: |func, analyses: &mut Analyses| {
        let (cycles, uses) = (analyses.cycles(func), analyses.uses(func));
        let zero = zero_bits(func, &cycles);
        let mut kinds = Kinds::new(func, &uses);
        let mut sums = vec![];
        for b in &cycles.order {
            for (n, i) in func.block(*b).insts.iter().enumerate() {
                if let (Op::Int(IntBin::Or), [x, y]) = (i.op, &i.args[..])
                    && !zero[x.index()] & !zero[y.index()] == 0
                    && [x, y].iter().all(|v| kinds.get(**v) < Kind::Varying)
                {
                    sums.push((*b, n));
                }
            }
        }
        for (b, n) in &sums {
            func.blocks[b.index()].insts[*n].op = Op::Int(IntBin::Add);
        }
        if sums.is_empty() { Changed::Nothing } else { Changed::Values }
    },
};

/// The most threads of a CTA, lanes of a warp and warps of a CTA.
const THREADS: u64 = 1024;
const LANES: u64 = 32;

/// By value, the bits that are certainly zero, those above its type among them; none of what has several elements.
fn zero_bits(func: &Function, cycles: &Cycles) -> Vec<u64> {
    let mut zero: Vec<u64> =
        func.types.iter().map(|ty| if ty.count == 1 { !ty.elem.mask() } else { 0 }).collect();
    let mut constants = vec![None; func.types.len()];
    // What parameters are handed by those who come from above: none once somebody comes back.
    let mut handed: Vec<Option<u64>> = vec![Some(u64::MAX); func.types.len()];
    for (_, to) in &cycles.back_edges {
        func.block(*to).params.iter().for_each(|p| handed[p.index()] = None);
    }
    for b in &cycles.order {
        for p in &func.block(*b).params {
            zero[p.index()] |= handed[p.index()].filter(|z| *z != u64::MAX).unwrap_or(0);
        }
        for i in &func.block(*b).insts {
            let Some(r) = i.result else { continue };
            let ty = func.ty(r);
            if let Op::Const(bits) = i.op {
                constants[r.index()] = Some(bits);
            }
            if ty.count == 1 && !ty.is_float() && i.args.iter().all(|a| func.ty(*a).count == 1) {
                zero[r.index()] |= of_inst(func, &zero, &constants, i);
            }
        }
        for t in func.block(*b).term.targets() {
            for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                if let Some(known) = &mut handed[p.index()] {
                    *known &= zero[a.index()];
                }
            }
        }
    }
    zero
}

/// Of what an instruction makes of arguments of which these are known.
fn of_inst(func: &Function, zero: &[u64], constants: &[Option<u64>], i: &Inst) -> u64 {
    let z = |n: usize| zero[i.args[n].index()];
    let constant = |n: usize| constants[i.args[n].index()];
    let elem = |v: Value| func.ty(v).elem;
    // All bits above the highest of a number that is the most there can be.
    let at_most = |most: u64| !(u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0));
    let Some(mask) = i.result.map(|r| elem(r).mask()) else { return 0 };
    match i.op {
        Op::Const(bits) => !bits,
        Op::Special(Special::Tid(_)) => at_most(THREADS - 1),
        Op::Special(Special::Ntid(_)) => at_most(THREADS),
        Op::Special(Special::LaneId | Special::WarpId) => at_most(LANES - 1),
        Op::Int(IntBin::And) => z(0) | z(1),
        Op::Int(IntBin::Or | IntBin::Xor) => z(0) & z(1),
        Op::Int(IntBin::Add) => {
            let low = z(0).trailing_ones().min(z(1).trailing_ones());
            let low = 1u64.checked_shl(low).map_or(u64::MAX, |bit| bit - 1);
            match (!z(0)).checked_add(!z(1)) {
                _ if !z(0) & !z(1) == 0 => z(0) & z(1),
                Some(most) if most <= mask => at_most(most) | low,
                _ => low,
            }
        }
        Op::Int(IntBin::Mul) => {
            let low = z(0).trailing_ones() + z(1).trailing_ones();
            let low = 1u64.checked_shl(low).map_or(u64::MAX, |bit| bit - 1);
            match (!z(0)).checked_mul(!z(1)) {
                Some(most) if most <= mask => at_most(most) | low,
                _ => low,
            }
        }
        Op::Int(IntBin::Shl) => match constant(1) {
            Some(by) if by < u64::from(mask.count_ones()) => z(0) << by | ((1 << by) - 1),
            _ => 0,
        },
        Op::Int(IntBin::ShrU) => match constant(1) {
            Some(by) if by < u64::from(mask.count_ones()) => (z(0) & mask) >> by | !(mask >> by),
            _ => 0,
        },
        Op::Int(IntBin::RemU) => constant(1).filter(|by| *by != 0).map_or(0, |by| at_most(by - 1)),
        Op::Zext => z(0),
        Op::Sext if z(0) >> (elem(i.args[0]).bits() - 1) & 1 == 1 => z(0),
        Op::Trunc => z(0),
        Op::Select => z(1) & z(2),
        _ => 0,
    }
}
