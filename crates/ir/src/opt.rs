//! Simplification that every consumer profits from: unreachable blocks, trivial parameters, dead code, arithmetic on constants, bit casts of floats
//! that cancel out, straight chains of blocks. Nothing here changes a bit of any result.

use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Simplifies a function until nothing changes. Value ids of what remains are kept.
pub fn optimize(func: &mut Function) {
    prune_unreachable(func);
    remove_trivial_params(func);
    float_params(func);
    cancel_bit_casts(func);
    halves::widen(func);
    fold::fold(func);
    branch_on_the_condition_itself(func);
    common_subexpressions(func);
    remove_dead(func);
    remove_trivial_params(func);
    merge_chains(func);
    sink(func);
    halves::narrow_after_loops(func);
    remove_dead(func);
}

/// Moves a pure instruction down to the one block that needs its result, where the only way there is from this block, through others or
/// straight: what a loop makes in every turn and only who leaves it needs (the bits of a float, above all) is then made once. No such way
/// leads into a loop. Instructions with one argument only: others might make more values live longer than they make live shorter.
fn sink(func: &mut Function) {
    /// Blocks on the way, at most: long chains would be walked for every instruction.
    const FAR: usize = 64;
    const SEVERAL: u32 = u32::MAX;
    const NONE: u32 = u32::MAX - 1;
    let mut from = vec![NONE; func.blocks.len()];
    from[Block::ENTRY.index()] = SEVERAL;
    for (b, data) in func.blocks.iter().enumerate() {
        for t in data.term.targets() {
            let slot = &mut from[t.block.index()];
            *slot = if *slot == NONE { b as u32 } else { SEVERAL };
        }
    }
    let mut used_in = vec![NONE; func.types.len()];
    let mut note = |v: Value, b: usize| {
        let slot = &mut used_in[v.index()];
        *slot = if *slot == NONE || *slot == b as u32 { b as u32 } else { SEVERAL };
    };
    for (b, data) in func.blocks.iter().enumerate() {
        for v in data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)) {
            note(*v, b);
        }
        for v in data
            .term
            .uses()
            .into_iter()
            .chain(data.term.targets().iter().flat_map(|t| t.args.iter().copied()))
        {
            note(v, b);
        }
    }
    for b in 0..func.blocks.len() {
        let mut at = func.blocks[b].insts.len();
        while at > 0 {
            at -= 1;
            let i = &func.blocks[b].insts[at];
            let Some(to) = i.result.map(|r| used_in[r.index()]) else { continue };
            let above = |at: &u32| Some(from[*at as usize]).filter(|from| *from < NONE);
            let ways = std::iter::successors((to < NONE).then_some(to), above);
            let only_way = to as usize != b && ways.take(FAR).any(|at| at as usize == b);
            if only_way && i.op.is_pure() && i.args.len() == 1 && i.guard.is_none() {
                let arg = i.args[0];
                let inst = func.blocks[b].insts.remove(at);
                func.blocks[to as usize].insts.insert(0, inst);
                used_in[arg.index()] = SEVERAL;
            }
        }
    }
}

/// A branch on `not c` (`@!p bra`) is one on `c` the other way round: who looks for what a branch compares finds it, whichever way it is written.
fn branch_on_the_condition_itself(func: &mut Function) {
    let mut negated: FxHashMap<Value, Value> = FxHashMap::default();
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Op::IntUn(IntUn::Not), Some(r)) = (i.op, i.result)
            && i.guard.is_none()
            && func.ty(r) == Type::I1
        {
            negated.insert(r, i.args[0]);
        }
    }
    for b in &mut func.blocks {
        if let Term::Branch(c, yes, no) = &mut b.term {
            while let Some(of) = negated.get(c) {
                *c = *of;
                std::mem::swap(yes, no);
            }
        }
    }
}

/// Which value stands for which: chains are followed, and shortened on the way, so that long ones stay cheap.
pub(crate) struct Subst(Vec<Value>);

impl Subst {
    pub(crate) fn new(func: &Function) -> Subst {
        Subst((0..func.types.len() as u32).map(Value).collect())
    }

    /// Takes in values that are new.
    pub(crate) fn grow(&mut self, func: &Function) {
        self.0.extend((self.0.len() as u32..func.types.len() as u32).map(Value));
    }

    /// From now on `with` stands for `v`; nothing happens if it does already, or the other way round.
    pub(crate) fn set(&mut self, v: Value, with: Value) {
        let (v, with) = (self.find(v), self.find(with));
        self.0[v.index()] = with;
    }

    pub(crate) fn find(&mut self, mut v: Value) -> Value {
        while self.0[v.index()] != v {
            let next = self.0[v.index()];
            self.0[v.index()] = self.0[next.index()];
            v = next;
        }
        v
    }

    /// Replaces all uses.
    pub(crate) fn apply(mut self, func: &mut Function) {
        for b in &mut func.blocks {
            for i in &mut b.insts {
                for v in i.args.iter_mut().chain(&mut i.guard) {
                    *v = self.find(*v);
                }
            }
            b.term.for_each_use_mut(|v| *v = self.find(*v));
        }
    }
}

/// Removes blocks that cannot be reached and renumbers the rest, order kept. Answers the new numbers, if there are any.
pub(crate) fn prune_unreachable(func: &mut Function) -> Option<Vec<Option<Block>>> {
    let mut reached = vec![false; func.blocks.len()];
    let mut work = vec![Block::ENTRY];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b.index()], true) {
            work.extend(func.block(b).term.targets().iter().map(|t| t.block));
        }
    }
    if reached.iter().all(|r| *r) {
        return None;
    }
    let mut next = 0;
    let renumber = |reached: &bool| {
        next += u32::from(*reached);
        reached.then(|| Block(next - 1))
    };
    let number: Vec<Option<Block>> = reached.iter().map(renumber).collect();
    let mut i = 0;
    func.blocks.retain(|_| {
        i += 1;
        reached[i - 1]
    });
    for b in &mut func.blocks {
        for t in b.term.targets_mut() {
            // What a block that is reached goes to is reached.
            t.block = number[t.block.index()].unwrap_or(Block::ENTRY);
        }
    }
    Some(number)
}

/// Removes parameters that only ever get one value (or themselves).
///
/// Each parameter watches two different values it is handed; it is looked at again only when one of them turns out to be another one, and then goes on in its
/// list where it stopped. So every argument is looked at about once, however long the chains are.
pub(crate) fn remove_trivial_params(func: &mut Function) {
    const NONE: u32 = u32::MAX;
    struct Param {
        value: Value,
        /// Its arguments in the table of all, as far as they have not been looked at.
        next: u32,
        end: u32,
        watched: [Option<Value>; 2],
        trivial: bool,
    }
    let firsts: Vec<u32> = func
        .blocks
        .iter()
        .scan(0, |sum, b| {
            *sum += b.params.len() as u32;
            Some(*sum - b.params.len() as u32)
        })
        .collect();
    let of_block = |to: Block, i: usize| firsts[to.index()] as usize + i;
    let mut params: Vec<Param> = (func.blocks.iter().flat_map(|b| &b.params))
        .map(|p| Param { value: *p, next: 0, end: 0, watched: [None; 2], trivial: false })
        .collect();
    if params.is_empty() {
        return;
    }
    // `end` counts at first.
    for t in func.blocks.iter().flat_map(|b| b.term.targets()) {
        (0..t.args.len()).for_each(|i| params[of_block(t.block, i)].end += 1);
    }
    let mut total = 0;
    for p in &mut params {
        total += p.end;
        (p.next, p.end) = (total - p.end, total - p.end);
    }
    let mut args = vec![Value(0); total as usize];
    for t in func.blocks.iter().flat_map(|b| b.term.targets()) {
        for (i, a) in t.args.iter().enumerate() {
            let p = &mut params[of_block(t.block, i)];
            args[p.end as usize] = *a;
            p.end += 1;
        }
    }
    let mut subst = Subst::new(func);
    // Who watches a parameter. Only those can turn out to be something else.
    let mut number = vec![NONE; func.types.len()];
    for (n, p) in params.iter().enumerate() {
        number[p.value.index()] = n as u32;
    }
    let mut watchers: Vec<Vec<u32>> = vec![vec![]; params.len()];
    let mut work: Vec<u32> = (0..params.len() as u32).rev().collect();
    let mut any = false;
    while let Some(n) = work.pop() {
        let p = &mut params[n as usize];
        if p.trivial {
            continue;
        }
        let before = p.watched;
        let [a, b] = before.map(|w| w.map(|w| subst.find(w)).filter(|w| *w != p.value));
        p.watched = if a.is_none() || a == b { [a.or(b), None] } else { [a, b] };
        while p.watched[1].is_none() && p.next < p.end {
            let arg = subst.find(args[p.next as usize]);
            p.next += 1;
            if arg != p.value && p.watched[0] != Some(arg) {
                let free = usize::from(p.watched[0].is_some());
                p.watched[free] = Some(arg);
            }
        }
        match p.watched {
            [Some(only), None] => {
                p.trivial = true;
                any = true;
                subst.set(p.value, only);
                work.append(&mut watchers[n as usize]);
            }
            watched => {
                for w in watched.into_iter().flatten().filter(|w| !before.contains(&Some(*w))) {
                    if let Some(list) = watchers.get_mut(number[w.index()] as usize) {
                        list.push(n);
                    }
                }
            }
        }
    }
    if any {
        let mut marks = params.iter().map(|p| p.trivial);
        let mut take = |b: &BlockData| marks.by_ref().take(b.params.len()).collect();
        let drop: Vec<Vec<bool>> = func.blocks.iter().map(&mut take).collect();
        drop_params(func, &drop);
        subst.apply(func);
    }
}

/// Drops the marked parameters and the arguments handed to them.
fn drop_params(func: &mut Function, drop: &[Vec<bool>]) {
    for b in 0..func.blocks.len() {
        let mut i = 0;
        func.blocks[b].params.retain(|_| {
            i += 1;
            !drop[b][i - 1]
        });
        for t in func.blocks[b].term.targets_mut() {
            let mut i = 0;
            t.args.retain(|_| {
                i += 1;
                !drop[t.block.index()][i - 1]
            });
        }
    }
}

/// The instruction defining each value; block parameters have none.
fn definitions(func: &Function) -> FxHashMap<Value, (Op, smallvec::SmallVec<[Value; 4]>)> {
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

/// Registers hold bits, so a float carried round a loop is an integer parameter: one canonicalisation per turn. Where every use
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

/// Merges equal pure instructions inside one block, and constants and specials over the whole function into the entry.
fn common_subexpressions(func: &mut Function) {
    let mut subst = Subst::new(func);
    let mut global: FxHashMap<(Op, Type), Value> = FxHashMap::default();
    let mut hoisted = vec![];
    for b in 0..func.blocks.len() {
        let mut local: FxHashMap<(Op, Vec<Value>, Type), Value> = FxHashMap::default();
        let insts = std::mem::take(&mut func.blocks[b].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for mut i in insts {
            for a in &mut i.args {
                *a = subst.find(*a);
            }
            if let (Some(r), true) = (i.result, i.op.is_pure()) {
                let ty = func.ty(r);
                if i.args.is_empty() {
                    match global.get(&(i.op, ty)) {
                        Some(v) => {
                            subst.set(r, *v);
                        }
                        None => {
                            global.insert((i.op, ty), r);
                            hoisted.push(i);
                        }
                    }
                    continue;
                }
                match local.get(&(i.op, i.args.to_vec(), ty)) {
                    Some(v) => {
                        subst.set(r, *v);
                        continue;
                    }
                    None => {
                        local.insert((i.op, i.args.to_vec(), ty), r);
                    }
                }
            }
            kept.push(i);
        }
        func.blocks[b].insts = kept;
    }
    hoisted.append(&mut func.blocks[0].insts);
    func.blocks[0].insts = hoisted;
    subst.apply(func);
}

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

/// Joins a block to its only successor if it is that block's only predecessor.
fn merge_chains(func: &mut Function) {
    let mut preds = vec![0; func.blocks.len()];
    preds[0] = 1;
    for b in &func.blocks {
        for t in b.term.targets() {
            preds[t.block.index()] += 1;
        }
    }
    let mut subst = Subst::new(func);
    for b in 0..func.blocks.len() {
        while let Term::Jump(t) = &func.blocks[b].term {
            let to = t.block.index();
            if to == b || to == 0 || preds[to] != 1 {
                break;
            }
            let args = t.args.clone();
            let next = std::mem::replace(
                &mut func.blocks[to],
                BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 },
            );
            for (p, a) in next.params.into_iter().zip(args) {
                subst.set(p, a);
            }
            preds[to] = usize::MAX; // empty and unreachable from here on
            func.blocks[b].insts.extend(next.insts);
            func.blocks[b].term = next.term;
            func.blocks[b].term_line = next.term_line;
        }
    }
    subst.apply(func);
    prune_unreachable(func);
}
