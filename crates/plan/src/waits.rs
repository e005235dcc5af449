//! Cycles in which lanes wait for others.

use crate::Loop;
use hostwarp_ir::{Function, Inst, Op, Order, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether lanes may go round a cycle because of what other threads do: where they go depends on memory that others write.
/// Such a cycle must soon give way to them, who may be lanes of the same warp.
pub(crate) fn waits(func: &Function, cycle: &Loop) -> bool {
    let shared = |op: &Op| match op {
        Op::Atomic(..) => true,
        Op::Load(mem) => mem.order != Order::Weak,
        _ => false,
    };
    let insts = || cycle.blocks.iter().flat_map(|b| &func.block(*b).insts);
    if !insts().any(|i| shared(&i.op)) {
        return false;
    }
    let made: FxHashMap<Value, &Inst> = insts().filter_map(|i| i.result.map(|r| (r, i))).collect();
    let mut handed: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    let mut work: Vec<Value> = vec![];
    for b in &cycle.blocks {
        let term = &func.block(*b).term;
        work.extend(term.uses());
        for t in term.targets() {
            for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                handed.entry(*p).or_default().push(*a);
            }
        }
    }
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    while let Some(v) = work.pop() {
        if !seen.insert(v) {
            continue;
        }
        if let Some(inst) = made.get(&v) {
            if shared(&inst.op) {
                return true;
            }
            work.extend(inst.args.iter().chain(&inst.guard));
        }
        work.extend(handed.get(&v).into_iter().flatten());
    }
    false
}
