//! Cycles in which lanes wait for others.

use crate::Loop;
use crate::control::Lists;
use hostwarp_ir::{Function, Op, Order, Value};

/// Where a value goes.
#[derive(Clone, Copy)]
enum Use {
    /// Into another, by an instruction or an edge of the block at this position.
    Value(Value, u32),
    /// Into where the block at this position goes.
    Term(u32),
}

/// By cycle, whether lanes may go round because of what other threads do: where they go depends on memory that others write, read and
/// looked at in the cycle. Such a cycle must soon give way to them, who may be lanes of the same warp.
///
/// What depends on such memory within a cycle does so within those around it, too. So one cycle says all of a value, the innermost; it is found from
/// the innermost cycles outwards, and every use of a value is looked at once. A cycle around such a one waits as well, which is for others to say.
pub(crate) fn polls(
    func: &Function,
    position: &[u32],
    loops: &[Loop],
    loop_of: &[Option<usize>],
) -> Vec<bool> {
    let shared = |op: &Op| match op {
        Op::Atomic(..) => true,
        Op::Load(mem) => mem.order != Order::Weak,
        _ => false,
    };
    let mut waits = vec![false; loops.len()];
    // By depth, values that depend on such memory in a cycle of that depth.
    let mut pending: Vec<Vec<(Value, usize)>> = vec![];
    for b in func.block_ids() {
        let Some(l) = loop_of[b.index()] else { continue };
        let depth = loops[l].depth as usize;
        let made = func.block(b).insts.iter().filter(|i| shared(&i.op)).filter_map(|i| i.result);
        for r in made {
            pending.resize(pending.len().max(depth + 1), vec![]);
            pending[depth].push((r, l));
        }
    }
    if pending.is_empty() {
        return waits;
    }
    let mut home = vec![u32::MAX; func.types.len()];
    let mut uses: Vec<(Value, Use)> = vec![];
    for b in func.block_ids().filter(|b| position[b.index()] != u32::MAX) {
        let (data, at) = (func.block(b), position[b.index()]);
        for p in &data.params {
            home[p.index()] = at;
        }
        for i in &data.insts {
            let Some(r) = i.result else { continue };
            home[r.index()] = at;
            uses.extend(i.args.iter().chain(&i.guard).map(|a| (*a, Use::Value(r, at))));
        }
        uses.extend(data.term.uses().iter().map(|v| (*v, Use::Term(at))));
        for t in data.term.targets() {
            let handed = func.block(t.block).params.iter().zip(&t.args);
            uses.extend(handed.map(|(p, a)| (*a, Use::Value(*p, at))));
        }
    }
    let of_value = uses.iter().enumerate().map(|(n, (v, _))| (v.index(), n as u32));
    let uses_of = Lists::new(func.types.len(), of_value);
    // The innermost cycle around this one, or it, that has this block.
    let around = |l: usize, at: u32| {
        let mut l = Some(l);
        while let Some(inner) = l.filter(|l| !loops[*l].contains(at as usize)) {
            l = loops[inner].parent;
        }
        l
    };
    let mut done = vec![false; func.types.len()];
    while let Some(depth) = pending.len().checked_sub(1) {
        let Some((v, l)) = pending[depth].pop() else {
            pending.pop();
            continue;
        };
        if std::mem::replace(&mut done[v.index()], true) {
            continue;
        }
        for n in uses_of.of(v.index()) {
            match uses[*n as usize].1 {
                Use::Term(at) => {
                    if let Some(l) = around(l, at) {
                        waits[l] = true;
                    }
                }
                Use::Value(to, at) => {
                    let l = around(l, at).and_then(|l| around(l, home[to.index()]));
                    if let Some(l) = l.filter(|_| !done[to.index()]) {
                        pending[loops[l].depth as usize].push((to, l));
                    }
                }
            }
        }
    }
    waits
}

/// By cycle, whether it or one inside it is such a one.
pub(crate) fn waits(polls: &[bool], loops: &[Loop]) -> Vec<bool> {
    let mut waits = polls.to_vec();
    // Inner before outer.
    for l in (0..loops.len()).rev() {
        if let Some(outer) = loops[l].parent {
            waits[outer] |= waits[l];
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence_test::random_function;
    use crate::order::order;
    use std::collections::HashSet;

    /// By the definition, cycle by cycle, backwards.
    fn by_definition(func: &Function, cycle: &Loop) -> bool {
        let inside = |v: Value| cycle.blocks.iter().any(|b| func.block(*b).params.contains(&v));
        let insts = || cycle.blocks.iter().flat_map(|b| &func.block(*b).insts);
        let mut work: Vec<Value> = cycle.blocks.iter().flat_map(|b| func.block(*b).term.uses()).collect();
        let mut seen: HashSet<Value> = HashSet::new();
        while let Some(v) = work.pop() {
            if !seen.insert(v) {
                continue;
            }
            for i in insts().filter(|i| i.result == Some(v)) {
                match i.op {
                    Op::Atomic(..) => return true,
                    Op::Load(mem) if mem.order != Order::Weak => return true,
                    _ => work.extend(i.args.iter().chain(&i.guard)),
                }
            }
            if inside(v) {
                for t in cycle.blocks.iter().flat_map(|b| func.block(*b).term.targets()) {
                    let params = &func.block(t.block).params;
                    work.extend(params.iter().zip(&t.args).filter(|(p, _)| **p == v).map(|(_, a)| *a));
                }
            }
        }
        false
    }

    #[test]
    fn cycles_wait_if_they_go_round_by_what_others_write() {
        let (mut yes, mut no, mut harmless) = (0, 0, 0);
        for seed in 0..600 {
            let mut func = random_function(seed);
            // One load in three is of what others write.
            let mut n = seed;
            for i in func.blocks.iter_mut().flat_map(|b| &mut b.insts) {
                if let Op::Load(mem) = &mut i.op {
                    n += 1;
                    mem.order = if n % 3 == 0 { Order::Volatile } else { Order::Weak };
                }
            }
            let found = order(&func);
            let polls = polls(&func, &found.position, &found.loops, &found.loop_of);
            let waits = waits(&polls, &found.loops);
            for (l, waits) in found.loops.iter().zip(&waits) {
                assert_eq!(*waits, by_definition(&func, l), "seed {seed}, {}\n{func}", l.header);
                (yes, no) = (yes + usize::from(*waits), no + usize::from(!waits));
                harmless += usize::from(!waits && has_such_loads(&func, l));
            }
        }
        assert!(yes > 100 && no > 100 && harmless > 50, "{yes} {no} {harmless}");
    }

    fn has_such_loads(func: &Function, l: &Loop) -> bool {
        let mut insts = l.blocks.iter().flat_map(|b| &func.block(*b).insts);
        insts.any(|i| matches!(i.op, Op::Load(mem) if mem.order != Order::Weak))
    }
}
