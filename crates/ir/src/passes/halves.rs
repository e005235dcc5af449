//! Arithmetic on f16 is done in f32, so expanded code widens what it reads and narrows what it makes. Here the widening leaves loops: what a loop carries round
//! is carried as f32, what it only reads is widened before it, and what only those who leave it need as f16 is narrowed there. Nothing
//! is rounded elsewhere than it was: an f16 held as f32 is the same number.

use super::{Changed, Pass};
use crate::analysis::{Analyses, Cycles};
use crate::subst::Subst;
use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

/// Before loops and round them.
pub(crate) const WIDEN: Pass = Pass {
    name: "widen-halves",
    about: "carry as f32 what is only ever widened from f16, and widen before a loop what the loop only reads",
    run: widen,
};

/// After loops.
pub(crate) const NARROW: Pass = Pass {
    name: "narrow-halves",
    about: "narrow to f16 behind a loop what the loop also has as f32",
    run: narrow_after_loops,
};

/// Whether an instruction turns f16 into f32.
fn widens(func: &Function, i: &Inst) -> bool {
    let elem = |v: Option<&Value>| v.map(|v| func.ty(*v).elem);
    matches!(i.op, Op::FCvt(_))
        && (elem(i.args.first()), elem(i.result.as_ref())) == (Some(Elem::F16), Some(Elem::F32))
}

fn any_widens(func: &Function) -> bool {
    func.blocks.iter().any(|b| b.insts.iter().any(|i| widens(func, i)))
}

fn convert(arg: Value, result: Value, line: u32) -> Inst {
    Inst { op: Op::FCvt(Round::Nearest), args: smallvec![arg], guard: None, result: Some(result), line }
}

/// Carries as f32 what is only ever widened, and widens before a loop what the loop only reads. What was replaced is left for dead.
fn widen(func: &mut Function, analyses: &mut Analyses) -> Changed {
    if !any_widens(func) {
        return Changed::Nothing;
    }
    let mut subst = Subst::new(func);
    widen_params(func, &mut subst);
    widen_before_loops(func, &mut subst, &analyses.cycles(func));
    subst.apply(func);
    Changed::Values
}

fn widen_params(func: &mut Function, subst: &mut Subst) {
    // All parameters of f16, less those used otherwise, less those handed on to one that is.
    let is_half = |func: &Function, v: &Value| func.ty(*v).elem == Elem::F16;
    let mut chosen: FxHashSet<Value> = func.blocks.iter().flat_map(|b| b.params.iter().copied()).collect();
    chosen.retain(|v| is_half(func, v));
    let mut handed_on: FxHashMap<Value, Vec<Value>> = FxHashMap::default(); // to a parameter: from which
    let mut work = vec![];
    for b in &func.blocks {
        let other = b.insts.iter().filter(|i| !widens(func, i)).flat_map(|i| i.args.iter());
        work.extend(other.filter(|v| chosen.contains(v)));
        for t in b.term.targets() {
            for (p, a) in func.block(t.block).params.iter().zip(&t.args) {
                handed_on.entry(*p).or_default().push(*a);
            }
        }
    }
    while let Some(v) = work.pop() {
        if chosen.remove(&v) {
            work.extend(handed_on.get(&v).into_iter().flatten());
        }
    }
    let mut wide: FxHashMap<Value, Value> = FxHashMap::default();
    for b in 0..func.blocks.len() {
        for n in 0..func.blocks[b].params.len() {
            let p = func.blocks[b].params[n];
            if chosen.contains(&p) {
                let q = func.new_value(func.ty(p).with(Elem::F32));
                func.blocks[b].params[n] = q;
                wide.insert(p, q);
            }
        }
    }
    subst.grow(func);
    for b in 0..func.blocks.len() {
        func.blocks[b].insts.retain(|i| match (i.args.first().and_then(|a| wide.get(a)), i.result) {
            (Some(q), Some(r)) => {
                subst.set(r, *q);
                false
            }
            _ => true,
        });
        let mut term = func.blocks[b].term.clone();
        for t in term.targets_mut() {
            for n in 0..t.args.len() {
                let (p, a) = (func.blocks[t.block.index()].params[n], t.args[n]);
                if is_half(func, &a) && !is_half(func, &p) {
                    t.args[n] = wide.get(&a).copied().unwrap_or_else(|| {
                        let w = func.new_value(func.ty(p));
                        func.blocks[b].insts.push(convert(a, w, 0));
                        w
                    });
                }
            }
        }
        func.blocks[b].term = term;
    }
    subst.grow(func);
}

fn widen_before_loops(func: &mut Function, subst: &mut Subst, cycles: &Cycles) {
    let depth = cycles.depths();
    let mut made: FxHashMap<Value, (usize, usize)> = FxHashMap::default(); // block, and the place right after
    for (b, data) in func.blocks.iter().enumerate() {
        made.extend(data.params.iter().map(|p| (*p, (b, 0))));
        made.extend(data.insts.iter().enumerate().filter_map(|(n, i)| i.result.map(|r| (r, (b, n + 1)))));
    }
    let mut moved: Vec<(usize, usize, Vec<Inst>)> = vec![];
    let mut there: FxHashMap<(Value, Type), Value> = FxHashMap::default();
    for b in 0..func.blocks.len() {
        for n in 0..func.blocks[b].insts.len() {
            if !widens(func, &func.blocks[b].insts[n]) {
                continue;
            }
            // The casts that only look at bits belong to it.
            let mut chain = vec![func.blocks[b].insts[n].clone()];
            let mut root = chain[0].args[0];
            while let Some(&(at, after)) = made.get(&root)
                && depth[at] >= depth[b]
                && let Some(i) = after.checked_sub(1).map(|n| &func.blocks[at].insts[n])
                && matches!(i.op, Op::FromBits | Op::Bitcast)
            {
                root = i.args[0];
                chain.push(i.clone());
            }
            let (Some(result), Some(&(to, after))) = (chain[0].result, made.get(&root)) else { continue };
            if depth[to] >= depth[b] {
                continue;
            }
            let key = (root, func.ty(result));
            let wide = *there.entry(key).or_insert_with(|| {
                let mut arg = root;
                for i in chain.iter_mut().rev() {
                    i.args[0] = arg;
                    arg = func.new_value(i.result.map_or(key.1, |r| func.ty(r)));
                    i.result = Some(arg);
                }
                chain.reverse();
                moved.push((to, after, chain));
                arg
            });
            subst.grow(func);
            subst.set(result, wide);
        }
    }
    // From the back, so that places stay what they were.
    moved.sort_by_key(|(b, after, _)| std::cmp::Reverse((*b, *after)));
    for (b, after, chain) in moved {
        func.blocks[b].insts.splice(after..after, chain);
    }
}

/// Where a loop makes an f16 and also has it as f32, those outside take the f32 and narrow it again, so that the loop need not keep both.
fn narrow_after_loops(func: &mut Function, analyses: &mut Analyses) -> Changed {
    if !any_widens(func) {
        return Changed::Nothing;
    }
    let depth = analyses.cycles(func).depths();
    let mut wide: FxHashMap<Value, (usize, Value)> = FxHashMap::default();
    for (b, data) in func.blocks.iter().enumerate() {
        let made: FxHashSet<Value> = data.insts.iter().filter_map(|i| i.result).collect();
        for i in data.insts.iter().filter(|i| depth[b] > 0 && widens(func, i) && made.contains(&i.args[0])) {
            wide.extend(i.result.map(|r| (i.args[0], (b, r))));
        }
    }
    for b in 0..func.blocks.len() {
        let mut again: Vec<(Value, Value)> = vec![];
        let mut n = 0;
        while n < func.blocks[b].insts.len() {
            for k in 0..func.blocks[b].insts[n].args.len() {
                let a = func.blocks[b].insts[n].args[k];
                let Some(&(_, w)) = wide.get(&a).filter(|(from, _)| depth[*from] > depth[b]) else {
                    continue;
                };
                let half = match again.iter().find(|(was, _)| *was == a) {
                    Some((_, half)) => *half,
                    None => {
                        let half = func.new_value(func.ty(a));
                        let line = func.blocks[b].insts[n].line;
                        func.blocks[b].insts.insert(n, convert(w, half, line));
                        again.push((a, half));
                        n += 1;
                        half
                    }
                };
                func.blocks[b].insts[n].args[k] = half;
            }
            n += 1;
        }
    }
    Changed::Values
}
