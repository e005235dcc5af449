//! Dead code elimination: mark what effects and terminators need, sweep the rest, block parameters included. Loads stay: one that faults is observed.

use super::params::drop_params;
use super::{Changed, Pass};
use crate::*;
use rustc_hash::FxHashMap;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "dce",
    about: "remove instructions and block parameters nobody needs",
    run: |func, _| {
        remove_dead(func);
        Changed::Values
    },
};

/// Removes pure instructions and parameters nobody needs.
pub(crate) fn remove_dead(func: &mut Function) {
    let mut live = vec![false; func.types.len()];
    let mut work: Vec<Value> = vec![];
    let mut def: FxHashMap<Value, (usize, usize)> = FxHashMap::default();
    let mut param: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for (b, data) in func.blocks.iter().enumerate() {
        for (n, i) in data.insts.iter().enumerate() {
            if let Some(r) = i.result {
                def.insert(r, (b, n));
            }
            // A load may fault: it stays unless nothing could come of it, so loads are kept.
            if i.op.has_effect() || matches!(i.op, Op::Load(_)) {
                work.extend(&i.args);
                work.extend(i.guard);
                work.extend(i.result);
            }
        }
        work.extend(data.term.uses());
        for t in data.term.targets() {
            for (p, a) in func.blocks[t.block.index()].params.iter().zip(&t.args) {
                param.entry(*p).or_default().push(*a);
            }
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut live[v.index()], true) {
            continue;
        }
        if let Some(&(b, n)) = def.get(&v) {
            let i = &func.blocks[b].insts[n];
            work.extend(&i.args);
            work.extend(i.guard);
        }
        work.extend(param.get(&v).into_iter().flatten());
    }
    let drop: Vec<Vec<bool>> =
        func.blocks.iter().map(|b| b.params.iter().map(|p| !live[p.index()]).collect()).collect();
    drop_params(func, &drop);
    for b in &mut func.blocks {
        b.insts.retain(|i| {
            i.op.has_effect() || matches!(i.op, Op::Load(_)) || i.result.is_none_or(|r| live[r.index()])
        });
    }
}
