//! Cancellation of bit casts: `from_bits(to_bits(x))` is x, since arithmetic does not look at the bits of a NaN, and so is a chain of `bitcast`s that comes back to
//! its type.

use super::{Changed, Pass};
use crate::subst::Subst;
use crate::*;
use rustc_hash::FxHashMap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "bit-casts",
    about: "cancel bit casts of floats",
    run: |func, _| {
        cancel_bit_casts(func);
        Changed::Values
    },
};

/// The instruction defining each value; block parameters have none.
pub(crate) fn definitions(func: &Function) -> FxHashMap<Value, (Op, smallvec::SmallVec<[Value; 4]>)> {
    let insts = func.blocks.iter().flat_map(|b| &b.insts);
    insts.filter_map(|i| i.result.map(|r| (r, (i.op, i.args.clone())))).collect()
}

/// `from_bits(to_bits(x))` is x: arithmetic does not look at NaN bits. Same for bitcast pairs.
fn cancel_bit_casts(func: &mut Function) {
    let defs = definitions(func);
    let mut subst = Subst::new(func);
    for b in &func.blocks {
        for i in &b.insts {
            let (Some(r), Some(&a)) = (i.result, i.args.first()) else { continue };
            let from = match i.op {
                Op::FromBits | Op::Bitcast => a,
                _ => continue,
            };
            // Look through a chain of bit casts back to something of the type wanted.
            let mut at = from;
            loop {
                if func.ty(at) == func.ty(r) && (i.op == Op::Bitcast || func.ty(r).is_float()) {
                    subst.set(r, at);
                    break;
                }
                match defs.get(&at) {
                    Some((Op::Bitcast, args)) => at = args[0],
                    Some((Op::ToBits, args)) if i.op == Op::FromBits => at = args[0],
                    _ => break,
                }
            }
        }
    }
    subst.apply(func);
}
