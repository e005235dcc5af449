//! Global value numbering, scoped by dominators: an instruction equal to one that dominates it is that one (Click 1995, "global code motion / global value
//! numbering", the hash-based half; the scopes are Briggs, Cooper and Simpson's, 1997, "dominator-based value numbering").
//!
//! Numbered are pure ops (operands of commutative ones in order) and weak loads from parameters and constant memory, which nothing writes while a kernel
//! runs. What has no operands (constants, specials) is equal wherever it stands and goes to the entry. Not done: equal values through block parameters,
//! other loads, and anything under different guards. One walk over the dominator tree, one look-up per instruction.
//!
//! Why here, behind nvcc's own: expansion of float ops, meanings of instructions and promoted slots make duplicates nobody saw before, and code compiled with -G
//! computes an address at each access. Ops that are left of 21 kernels: with -G 1,214 before and 1,118 with it and `if-convert`; at -O3 3,377 and 3,362.
//!
//! Loop-invariant code motion was tried beside it and left out: what moves is mostly a function of the lane's number, which engines rematerialise, and in front of a
//! loop it is live across every suspension point inside (a warp's sum by shuffles went from 5 permutations to 141 lines with masks).

use super::{Changed, Pass};
use crate::analysis::{Analyses, Dominators};
use crate::subst::Subst;
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "gvn",
    about: "merge equal pure instructions where one dominates the other (CSE)",
    run: |func, analyses: &mut Analyses| {
        let dominators = analyses.dominators(func);
        number_values(func, &dominators);
        Changed::Values
    },
};

type Key = (Op, SmallVec<[Value; 4]>, Type);

fn number_values(func: &mut Function, dominators: &Dominators) {
    let mut subst = Subst::new(func);
    let mut everywhere: FxHashMap<(Op, Type), Value> = FxHashMap::default();
    let mut hoisted = vec![];
    // What is equal to what in the blocks at hand and above; the blocks at hand, and what was there before each entry they added.
    let mut table: FxHashMap<Key, Value> = FxHashMap::default();
    let mut open: Vec<(Block, usize)> = vec![];
    let mut added: Vec<(Key, Option<Value>)> = vec![];
    for &b in dominators.preorder() {
        while let Some((above, before)) = open.last().copied()
            && !dominators.dominates(above, b)
        {
            open.pop();
            for (key, was) in added.drain(before..).rev() {
                match was {
                    Some(v) => table.insert(key, v),
                    None => table.remove(&key),
                };
            }
        }
        open.push((b, added.len()));
        let insts = std::mem::take(&mut func.blocks[b.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for mut i in insts {
            for a in i.args.iter_mut().chain(&mut i.guard) {
                *a = subst.find(*a);
            }
            let Some(r) = i.result.filter(|_| is_numbered(&i)) else {
                kept.push(i);
                continue;
            };
            let ty = func.types[r.index()];
            if i.args.is_empty() {
                match everywhere.get(&(i.op, ty)) {
                    Some(v) => subst.set(r, *v),
                    None => {
                        everywhere.insert((i.op, ty), r);
                        hoisted.push(i);
                    }
                }
                continue;
            }
            let mut args = i.args.clone();
            if commutes(i.op) {
                args.sort_unstable();
            }
            let key = (i.op, args, ty);
            match table.get(&key) {
                Some(v) => subst.set(r, *v),
                None => {
                    added.push((key.clone(), table.insert(key, r)));
                    kept.push(i);
                }
            }
        }
        func.blocks[b.index()].insts = kept;
    }
    hoisted.append(&mut func.blocks[0].insts);
    func.blocks[0].insts = hoisted;
    subst.apply(func);
}

/// Whether equal operands give equal results, wherever it stands.
fn is_numbered(i: &Inst) -> bool {
    let unwritten = |m: Mem| m == Mem::weak(Space::Param) || m == Mem::weak(Space::Const);
    i.guard.is_none() && (i.op.is_pure() || matches!(i.op, Op::Load(m) if unwritten(m)))
}

/// Integers only: which NaN of f64 comes out depends on the order.
fn commutes(op: Op) -> bool {
    use IntBin::*;
    matches!(
        op,
        Op::Int(Add | Mul | MulHiU | MulHiS | And | Or | Xor | MinU | MinS | MaxU | MaxS)
            | Op::Int(AbsDiffU | AbsDiffS | AddSatU | AddSatS)
            | Op::Cmp(IntCmp::Eq | IntCmp::Ne)
    )
}
