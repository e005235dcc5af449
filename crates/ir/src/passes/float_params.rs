//! Promotion of block parameters from bits to floats: a loop carries the float, and NaNs are made canonical where bits are observed, not once an iteration.
//! Not done for f64, whose NaN payloads are part of the value.

use super::bit_casts::definitions;
use super::{Changed, Pass};
use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "float-params",
    about: "carry floats round loops as floats, not as bits",
    run: |func, _| {
        float_params(func);
        Changed::Values
    },
};

/// Registers hold bits, so a float carried round a loop is an integer parameter: one canonicalisation per iteration. Where every use
/// of a parameter (through other parameters too) wants the float, or every value handed to it is a float's bits, the
/// parameter can be the float itself.
fn float_params(func: &mut Function) {
    let defs = definitions(func);
    // A parameter's candidate float type: the one its uses or arguments agree on.
    let mut params: FxHashMap<Value, (usize, usize)> = FxHashMap::default();
    for (b, data) in func.blocks.iter().enumerate() {
        for (i, p) in data.params.iter().enumerate() {
            if !func.ty(*p).is_float() && func.ty(*p).elem != Elem::I1 {
                params.insert(*p, (b, i));
            }
        }
    }
    if params.is_empty() {
        return;
    }
    // Resolves bitcasts so that i32 → i16x2 → f16x2 counts as a use as f16x2.
    let mut cast_users: FxHashMap<Value, Vec<(Value, Op)>> = FxHashMap::default();
    let mut other_use: FxHashSet<Value> = Default::default();
    for b in &func.blocks {
        for i in &b.insts {
            for a in &i.args {
                match (i.op, i.result) {
                    (Op::FromBits | Op::Bitcast, Some(r)) => {
                        cast_users.entry(*a).or_default().push((r, i.op))
                    }
                    _ => {
                        other_use.insert(*a);
                    }
                }
            }
            other_use.extend(i.guard);
        }
        other_use.extend(b.term.uses());
    }
    let mut flow: FxHashMap<Value, Vec<Value>> = FxHashMap::default(); // parameter → arguments
    let mut flow_out: FxHashMap<Value, Vec<Value>> = FxHashMap::default(); // value → parameters it is handed to
    for b in &func.blocks {
        for t in b.term.targets() {
            for (p, a) in func.blocks[t.block.index()].params.iter().zip(&t.args) {
                flow.entry(*p).or_default().push(*a);
                flow_out.entry(*a).or_default().push(*p);
            }
        }
    }
    let used_as = |v: Value| -> Option<Vec<Type>> {
        // The float types all direct uses agree on, or None if some use is no float use.
        if other_use.contains(&v) {
            return None;
        }
        let mut tys = vec![];
        let mut work = vec![v];
        while let Some(v) = work.pop() {
            if other_use.contains(&v) {
                return None;
            }
            for (r, op) in cast_users.get(&v).into_iter().flatten() {
                match op {
                    Op::FromBits => tys.push(func.ty(*r)),
                    _ if flow_out.contains_key(r) => return None,
                    _ => work.push(*r),
                }
            }
        }
        Some(tys)
    };
    let made_from = |v: Value| -> Option<Type> {
        let mut v = v;
        loop {
            match defs.get(&v)? {
                (Op::Bitcast, a) => v = a[0],
                (Op::ToBits, a) => return Some(func.ty(a[0])),
                _ => return None,
            }
        }
    };
    // Start from the type of any float use, then keep what is consistent.
    let mut want: FxHashMap<Value, Type> = FxHashMap::default();
    for &p in params.keys() {
        let mut direct: Vec<Type> = vec![];
        let mut work = vec![p];
        while let Some(v) = work.pop() {
            for (r, op) in cast_users.get(&v).into_iter().flatten() {
                if *op == Op::FromBits { direct.push(func.ty(*r)) } else { work.push(*r) }
            }
        }
        direct.extend(flow.get(&p).into_iter().flatten().filter_map(|a| made_from(*a)));
        direct.sort_unstable();
        direct.dedup();
        if let [one] = direct[..] {
            want.insert(p, one);
        }
    }
    // Case 1: every use is a float use (so payloads can never be seen). Case 2: every argument is a float's bits. Both begin with
    // what may be so and take out what is not, and then what hung on that.
    let all = |list: Option<&Vec<Value>>, test: &dyn Fn(&Value) -> bool| list.into_iter().flatten().all(test);
    let mut by_use: FxHashSet<Value> = want
        .keys()
        .copied()
        .filter(|p| used_as(*p).is_some_and(|t| t.iter().all(|t| *t == want[p])))
        .collect();
    take_out(&mut by_use, &flow, |p, set| all(flow_out.get(p), &|q| set.contains(q) && want[q] == want[p]));
    let mut by_arg: FxHashSet<Value> = want.keys().copied().collect();
    take_out(&mut by_arg, &flow_out, |p, set| {
        all(flow.get(p), &|a| {
            made_from(*a) == Some(want[p])
                || (set.contains(a) && want[a] == want[p])
                || matches!(defs.get(a), Some((Op::Const(bits), _)) if !is_odd_nan(*bits, func.ty(*a), want[p]))
        })
    });
    let mut chosen: Vec<Value> =
        by_use.union(&by_arg).copied().filter(|p| want[p].elem != Elem::F64).collect();
    chosen.sort_unstable();
    let mut sources: Vec<Vec<usize>> = vec![vec![]; func.blocks.len()];
    for (b, data) in func.blocks.iter().enumerate() {
        for t in data.term.targets() {
            let list = &mut sources[t.block.index()];
            if list.last() != Some(&b) {
                list.push(b);
            }
        }
    }
    for p in chosen {
        make_float(func, p, want[&p], params[&p], &sources[params[&p].0]);
    }
}

/// Takes out of a set what `fits` denies, until it denies nothing; `hangs_on` says what to ask about again when one is gone.
fn take_out(
    set: &mut FxHashSet<Value>,
    hangs_on: &FxHashMap<Value, Vec<Value>>,
    fits: impl Fn(&Value, &FxHashSet<Value>) -> bool,
) {
    let mut work: Vec<Value> = set.iter().copied().collect();
    while let Some(v) = work.pop() {
        if set.contains(&v) && !fits(&v, set) {
            set.remove(&v);
            work.extend(hangs_on.get(&v).into_iter().flatten());
        }
    }
}

/// Whether a constant is a NaN other than the canonical one in some element (then its bits must be kept).
fn is_odd_nan(bits: u64, ty: Type, want: Type) -> bool {
    let step = want.elem.bits();
    let (mask, exp, canonical) = match want.elem {
        Elem::F16 => (0x7fff, 0x7c00, 0x7fff),
        Elem::BF16 => (0x7fff, 0x7f80, 0x7fff),
        Elem::F32 => (0x7fff_ffff, 0x7f80_0000, 0x7fff_ffff),
        _ => return true,
    };
    (0..ty.bits() / step).any(|i| {
        let shift = (i * step) % ty.elem.bits();
        let e = (bits >> shift) & want.elem.mask();
        e & mask > exp && e != canonical
    })
}

/// Turns parameter `p` into one of type `ty`; users get its bits back. `sources` are the blocks that go to its block.
fn make_float(func: &mut Function, p: Value, ty: Type, (block, index): (usize, usize), sources: &[usize]) {
    let bits_ty = func.ty(p);
    let q = func.new_value(ty);
    func.blocks[block].params[index] = q;
    let mut head = vec![];
    let as_int = if ty.to_int() == bits_ty { p } else { func.new_value(ty.to_int()) };
    let cast =
        |op, a: Value, r| Inst { op, args: [a].into_iter().collect(), guard: None, result: Some(r), line: 0 };
    head.push(cast(Op::ToBits, q, as_int));
    if as_int != p {
        head.push(cast(Op::Bitcast, as_int, p));
    }
    func.blocks[block].insts.splice(0..0, head);
    for &b in sources {
        let mut made = vec![];
        let mut next = func.types.len() as u32;
        for t in func.blocks[b].term.targets_mut() {
            if t.block.index() == block {
                let mut v = t.args[index];
                if ty.to_int() != bits_ty {
                    made.push((cast(Op::Bitcast, v, Value(next)), ty.to_int()));
                    v = Value(next);
                    next += 1;
                }
                made.push((cast(Op::FromBits, v, Value(next)), ty));
                t.args[index] = Value(next);
                next += 1;
            }
        }
        for (inst, t) in made {
            func.types.push(t);
            func.blocks[b].insts.push(inst);
        }
    }
}
