//! Outlining: functions that cannot be inlined are in the kernel once, and calls are control flow over the lane's stack.
//!
//! A frame begins with the number of the call site (4 bytes) and where the caller's frame begins (4 bytes). Every block of an
//! outlined function has the beginning of its frame as first parameter. A value that lives across a call has a slot: it is stored
//! where it is defined and loaded in every other block that uses it, so nothing but memory leads from the call to what follows it.
//!
//! A call stores its number and jumps to the callee; a return switches on the number it finds. Numbers no call has (the stack was
//! overwritten) and addresses of no function end in a trap.

use super::layout::{self, FRAME_ALIGN};
use super::{Signature, calls, splice};
use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes in front of a frame's slots.
const HEADER: u64 = FRAME_ALIGN;
/// Where the header has the beginning of the caller's frame.
const CALLER: u64 = 4;

const LOCAL: Mem = Mem::weak(Space::Local);

/// An outlined function in the kernel.
struct Placed {
    signature: Signature,
    /// Where calls go.
    enter: Block,
}

/// A call that is left in the kernel.
struct Site {
    callee: Callee,
    signature: Signature,
    /// Where it goes on; the first parameter is where the callee's frame began, results follow.
    next: Block,
}

/// The functions are given with callees before callers, where there is no recursion. The stack is as large as the deepest chain of calls needs that has each
/// function once, and `more`.
pub(super) fn outline(
    module: &Module,
    kernel: &mut Function,
    mut functions: Vec<(FuncId, Function)>,
    more: u32,
) {
    let mut deepest: FxHashMap<FuncId, u64> = FxHashMap::default();
    let deepest_call = |func: &Function, deepest: &FxHashMap<FuncId, u64>| {
        let to = calls(func).flat_map(|call| super::callees(module, func, call));
        to.filter_map(|id| deepest.get(&id).copied()).max().unwrap_or(0)
    };
    for (id, body) in &mut functions {
        let below = deepest_call(body, &deepest);
        prepare(body);
        deepest.insert(*id, layout::slots(body, HEADER).1.saturating_add(below));
    }
    let stack = deepest_call(kernel, &deepest).saturating_add(more.into());
    let bodies: FxHashMap<FuncId, Function> = functions.into_iter().collect();
    let outlined = reachable(module, kernel, &bodies);
    // The kernel's own frame is where it is; those of functions are relative to where they begin.
    prepare(kernel);
    for b in 0..kernel.blocks.len() {
        if let Term::Call(call) = &kernel.blocks[b].term {
            let next = call.next.block.index();
            let callee = kernel.new_value(Type::I32);
            kernel.blocks[next].params.insert(0, callee);
        }
    }
    let (at, end) = layout::slots(kernel, 0);
    // The header of one more frame is always there: a call stores it before the callee looks at the limit.
    let limit = end.saturating_add(stack).min(1 << 31);
    layout::constants(kernel, &at, end, limit);
    kernel.info.local_bytes = limit.saturating_add(HEADER).min(u64::from(u32::MAX)) as u32;
    // By block: the value that holds the beginning of the frame, for blocks of outlined functions.
    let mut base: FxHashMap<Block, Value> = FxHashMap::default();
    let mut sites: Vec<Site> = vec![];
    gather(kernel, 0, &mut sites);
    let mut placed: FxHashMap<FuncId, Placed> = FxHashMap::default();
    for id in &outlined {
        let place = place(kernel, &bodies[id], limit, &mut base);
        gather(kernel, place.enter.index() + 1, &mut sites);
        placed.insert(*id, place);
    }
    let bad_call = trap(kernel, TrapKind::BadCall);
    let bad_return = trap(kernel, TrapKind::BadReturn);
    for b in 0..kernel.blocks.len() {
        let block = Block(b as u32);
        match std::mem::replace(&mut kernel.blocks[b].term, Term::Exit) {
            Term::Call(call) => {
                let number = sites.iter().position(|s| s.next == call.next.block).unwrap_or(0);
                let term = enter(module, kernel, block, &call, number, &placed, base.get(&block), bad_call);
                kernel.blocks[b].term = term;
            }
            Term::Return(values) => {
                let func = owner(&outlined, &placed, block);
                kernel.blocks[b].term =
                    leave(module, kernel, block, values, func, &placed, &sites, &base, bad_return);
            }
            other => kernel.blocks[b].term = other,
        }
    }
}

/// The functions that calls lead to, in the order they are found.
fn reachable(module: &Module, kernel: &Function, bodies: &FxHashMap<FuncId, Function>) -> Vec<FuncId> {
    let (mut found, mut seen) = (vec![], FxHashSet::default());
    let mut next = 0;
    let mut look = |func: &Function, found: &mut Vec<FuncId>| {
        for call in calls(func) {
            let to = super::callees(module, func, call);
            found.extend(to.into_iter().filter(|id| bodies.contains_key(id) && seen.insert(*id)));
        }
    };
    look(kernel, &mut found);
    while next < found.len() {
        let id = found[next];
        look(&bodies[&id], &mut found);
        next += 1;
    }
    found
}

/// The function a block of the kernel was placed with: blocks of one follow where it is entered.
fn owner(outlined: &[FuncId], placed: &FxHashMap<FuncId, Placed>, block: Block) -> FuncId {
    let before = outlined.iter().filter(|id| placed[id].enter <= block);
    before.copied().max_by_key(|id| placed[id].enter).unwrap_or(FuncId(0))
}

fn trap(func: &mut Function, kind: TrapKind) -> Block {
    func.blocks.push(BlockData { params: vec![], insts: vec![], term: Term::Trap(kind), term_line: 0 });
    Block(func.blocks.len() as u32 - 1)
}

/// Notes the calls in blocks from `first` on.
fn gather(func: &Function, first: usize, sites: &mut Vec<Site>) {
    for data in &func.blocks[first..] {
        if let Term::Call(call) = &data.term {
            sites.push(Site {
                callee: call.callee,
                signature: Signature::of_call(func, call),
                next: call.next.block,
            });
        }
    }
}

/// Gives every call a block of its own to go on in, which takes the results as parameters, and spills what lives across calls.
fn prepare(func: &mut Function) {
    let mut after = vec![];
    for b in 0..func.blocks.len() {
        let number = Block(func.blocks.len() as u32);
        let line = func.blocks[b].term_line;
        let Term::Call(call) = &mut func.blocks[b].term else { continue };
        let next = std::mem::replace(&mut call.next, Target::new(number));
        // The terminator goes on defining the results for the time being: nothing but their types is asked for.
        let params = call.results.clone();
        func.blocks.push(BlockData { params, insts: vec![], term: Term::Jump(next), term_line: line });
        after.push(number);
    }
    spill(func, &after);
}

/// Stores what lives into the blocks `after` calls in slots, and loads it wherever else it is used.
fn spill(func: &mut Function, after: &[Block]) {
    let live = live_in(func);
    let mut crossing: Vec<Value> = after.iter().flat_map(|b| live[b.index()].iter().copied()).collect();
    crossing.sort_unstable();
    crossing.dedup();
    let mut home: FxHashMap<Value, Option<(Block, Option<Inst>)>> = FxHashMap::default();
    for v in &crossing {
        home.insert(*v, None);
    }
    for b in func.block_ids() {
        let data = func.block(b);
        for p in &data.params {
            home.entry(*p).and_modify(|h| *h = Some((b, None)));
        }
        for i in &data.insts {
            if let Some(r) = i.result {
                let again = i.op.is_pure() && i.args.is_empty();
                home.entry(r).and_modify(|h| *h = Some((b, again.then(|| i.clone()))));
            }
        }
    }
    let mut slot: FxHashMap<Value, u32> = FxHashMap::default();
    for v in &crossing {
        if !matches!(home[v], Some((_, Some(_)))) {
            slot.insert(*v, func.slots.len() as u32);
            let size = in_memory(func.ty(*v)).bytes() as u64;
            func.slots.push(Slot { size, align: size.next_power_of_two() });
        }
    }
    let params = func.params.clone();
    for b in func.block_ids() {
        let mut out = Rewriter { func, line: 0, insts: vec![], loaded: FxHashMap::default() };
        let data = std::mem::replace(
            &mut out.func.blocks[b.index()],
            BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 },
        );
        let mut mine: FxHashSet<Value> = data.params.iter().copied().collect();
        let handed = if b == Block::ENTRY { params.as_slice() } else { &[] };
        mine.extend(handed);
        for p in handed.iter().chain(&data.params) {
            if let Some(n) = slot.get(p) {
                out.store(*n, *p);
            }
        }
        for mut i in data.insts {
            out.line = i.line;
            for v in i.args.iter_mut().chain(&mut i.guard) {
                *v = out.fetch(*v, &mine, &home, &slot);
            }
            let result = i.result;
            out.insts.push(i);
            if let Some(r) = result {
                mine.insert(r);
                if let Some(n) = slot.get(&r) {
                    out.store(*n, r);
                }
            }
        }
        out.line = data.term_line;
        let mut term = data.term;
        term.for_each_use_mut(|v| *v = out.fetch(*v, &mine, &home, &slot));
        let insts = out.insts;
        func.blocks[b.index()] = BlockData { params: data.params, insts, term, term_line: data.term_line };
    }
}

/// The type a value has in memory.
fn in_memory(ty: Type) -> Type {
    match ty.elem {
        Elem::I1 => ty.with(Elem::I8),
        _ => ty.to_int(),
    }
}

struct Rewriter<'a> {
    func: &'a mut Function,
    line: u32,
    insts: Vec<Inst>,
    loaded: FxHashMap<Value, Value>,
}

type Homes = FxHashMap<Value, Option<(Block, Option<Inst>)>>;

impl Rewriter<'_> {
    fn inst(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let result = self.func.new_value(ty);
        self.insts.push(Inst { op, args: args.into(), guard: None, result: Some(result), line: self.line });
        result
    }

    fn store(&mut self, slot: u32, v: Value) {
        let ty = self.func.ty(v);
        let at = self.inst(Op::Address(Symbol::Slot(slot)), &[], Type::I32);
        let v = match ty.elem {
            Elem::I1 => self.inst(Op::Zext, &[v], in_memory(ty)),
            _ if ty.is_float() => self.inst(Op::ToBits, &[v], in_memory(ty)),
            _ => v,
        };
        let args = [at, v].as_slice().into();
        self.insts.push(Inst { op: Op::Store(LOCAL), args, guard: None, result: None, line: self.line });
    }

    /// The value where it is used: itself in the block that defines it, else made or loaded again.
    fn fetch(
        &mut self,
        v: Value,
        mine: &FxHashSet<Value>,
        home: &Homes,
        slot: &FxHashMap<Value, u32>,
    ) -> Value {
        if mine.contains(&v) || !home.contains_key(&v) {
            return v;
        }
        if let Some(again) = self.loaded.get(&v) {
            return *again;
        }
        let ty = self.func.ty(v);
        let again = match (&home[&v], slot.get(&v)) {
            (Some((_, Some(i))), _) => self.inst(i.op, &[], ty),
            (_, Some(n)) => {
                let at = self.inst(Op::Address(Symbol::Slot(*n)), &[], Type::I32);
                let bits = self.inst(Op::Load(LOCAL), &[at], in_memory(ty));
                match ty.elem {
                    Elem::I1 => self.inst(Op::Trunc, &[bits], ty),
                    _ if ty.is_float() => self.inst(Op::FromBits, &[bits], ty),
                    _ => bits,
                }
            }
            _ => v,
        };
        self.loaded.insert(v, again);
        again
    }
}

/// What is alive at the start of each block, its parameters left out.
fn live_in(func: &Function) -> Vec<FxHashSet<Value>> {
    let n = func.blocks.len();
    let mut preds = vec![vec![]; n];
    for b in func.block_ids() {
        for t in func.block(b).term.targets() {
            preds[t.block.index()].push(b.index());
        }
    }
    let mut live: Vec<FxHashSet<Value>> = vec![FxHashSet::default(); n];
    // By value: up from each use to the definition.
    let mut home: Vec<usize> = vec![usize::MAX; func.types.len()];
    for p in &func.params {
        home[p.index()] = 0;
    }
    for b in func.block_ids() {
        let data = func.block(b);
        // Results of calls are parameters of the block behind the call by now.
        for v in data.params.iter().copied().chain(data.insts.iter().filter_map(|i| i.result)) {
            home[v.index()] = b.index();
        }
    }
    let up = |v: Value, from: usize, live: &mut Vec<FxHashSet<Value>>| {
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if home[v.index()] != b && live[b].insert(v) {
                work.extend(&preds[b]);
            }
        }
    };
    for b in func.block_ids() {
        let data = func.block(b);
        let at = b.index();
        for v in data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)) {
            up(*v, at, &mut live);
        }
        let handed = data.term.targets().into_iter().flat_map(|t| t.args.iter().copied()).collect::<Vec<_>>();
        for v in data.term.uses().into_iter().chain(handed) {
            up(v, at, &mut live);
        }
    }
    live
}

/// Puts a function into the kernel. The first new block is where it is entered: with the beginning of its frame and its parameters.
fn place(kernel: &mut Function, body: &Function, limit: u64, base: &mut FxHashMap<Block, Value>) -> Placed {
    let (at, size) = layout::slots(body, HEADER);
    let signature = Signature::of(body);
    let enter = Block(kernel.blocks.len() as u32);
    kernel.blocks.push(BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 });
    let slots = kernel.slots.len() as u32;
    let (values, blocks) = splice(kernel, body);
    kernel.slots.truncate(slots as usize);
    let params: Vec<Value> = body.params.iter().map(|p| Value(p.0 + values)).collect();
    let calls: FxHashSet<Block> = (blocks as usize..kernel.blocks.len())
        .filter_map(|b| match &kernel.blocks[b].term {
            Term::Call(call) => Some(call.next.block),
            _ => None,
        })
        .collect();
    for b in blocks..kernel.blocks.len() as u32 {
        let block = Block(b);
        let first = kernel.new_value(Type::I32);
        let mut data = std::mem::replace(
            &mut kernel.blocks[b as usize],
            BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 },
        );
        data.params.insert(0, first);
        let mut out =
            Rewriter { func: kernel, line: data.term_line, insts: vec![], loaded: FxHashMap::default() };
        let own = if calls.contains(&block) {
            // Behind a call the parameter is where the callee's frame began.
            let offset = out.inst(Op::Const(CALLER), &[], Type::I32);
            let at = out.inst(Op::Int(IntBin::Add), &[first, offset], Type::I32);
            out.inst(Op::Load(LOCAL), &[at], Type::I32)
        } else {
            first
        };
        base.insert(block, own);
        for mut i in std::mem::take(&mut data.insts) {
            out.line = i.line;
            let offset = match i.op {
                Op::Address(Symbol::Slot(n)) => at[(n - slots) as usize],
                Op::Address(Symbol::StackTop) => size,
                Op::Address(Symbol::StackLimit) => {
                    i.op = Op::Const(limit);
                    out.insts.push(i);
                    continue;
                }
                _ => {
                    out.insts.push(i);
                    continue;
                }
            };
            let offset = out.inst(Op::Const(offset), &[], Type::I32);
            out.insts.push(Inst { op: Op::Int(IntBin::Add), args: [own, offset].as_slice().into(), ..i });
        }
        data.insts = out.insts;
        if !matches!(data.term, Term::Call(_)) {
            for t in data.term.targets_mut() {
                t.args.insert(0, own);
            }
        }
        kernel.blocks[b as usize] = data;
    }
    kernel.blocks[blocks as usize].params.extend(&params);
    // A frame that does not fit is a fault before anything of it is used.
    let overflow = trap(kernel, TrapKind::StackOverflow);
    let mut given = vec![kernel.new_value(Type::I32)];
    for ty in &signature.params {
        given.push(kernel.new_value(*ty));
    }
    let mut out = Rewriter { func: kernel, line: 0, insts: vec![], loaded: FxHashMap::default() };
    let bytes = out.inst(Op::Const(size), &[], Type::I32);
    let end = out.inst(Op::Int(IntBin::Add), &[given[0], bytes], Type::I32);
    let most = out.inst(Op::Const(limit), &[], Type::I32);
    let over = out.inst(Op::Cmp(IntCmp::LtU), &[most, end], Type::I1);
    let insts = out.insts;
    let start = Target { block: Block(blocks), args: given.iter().copied().collect() };
    kernel.blocks[enter.index()] = BlockData {
        params: given,
        insts,
        term: Term::Branch(over, Target::new(overflow), start),
        term_line: 0,
    };
    Placed { signature, enter }
}

/// The end of a block that calls.
#[allow(clippy::too_many_arguments)]
fn enter(
    module: &Module,
    kernel: &mut Function,
    block: Block,
    call: &Call,
    number: usize,
    placed: &FxHashMap<FuncId, Placed>,
    base: Option<&Value>,
    bad: Block,
) -> Term {
    let line = kernel.blocks[block.index()].term_line;
    let insts = std::mem::take(&mut kernel.blocks[block.index()].insts);
    let signature = Signature::of_call(kernel, call);
    let mut out = Rewriter { func: kernel, line, insts, loaded: FxHashMap::default() };
    let number = out.inst(Op::Const(number as u64), &[], Type::I32);
    let store = |out: &mut Rewriter<'_>, at: Value, v: Value| {
        let args = [at, v].as_slice().into();
        out.insts.push(Inst { op: Op::Store(LOCAL), args, guard: None, result: None, line });
    };
    store(&mut out, call.stack, number);
    if let Some(base) = base {
        let offset = out.inst(Op::Const(CALLER), &[], Type::I32);
        let at = out.inst(Op::Int(IntBin::Add), &[call.stack, offset], Type::I32);
        store(&mut out, at, *base);
    }
    let args: smallvec::SmallVec<[Value; 4]> =
        std::iter::once(call.stack).chain(call.args.iter().copied()).collect();
    let term = match call.callee {
        Callee::Direct(id) => match placed.get(&id) {
            Some(p) => Term::Jump(Target { block: p.enter, args }),
            None => Term::Jump(Target::new(bad)),
        },
        Callee::Indirect(pointer) => {
            // Addresses are a step apart; anything else has the number behind the last one.
            let many = module.taken.len() as u64;
            let first = out.inst(Op::Const(Module::address(0)), &[], Type::I64);
            let distance = out.inst(Op::Int(IntBin::Sub), &[pointer, first], Type::I64);
            let shift = Module::STEP.trailing_zeros();
            let by = out.inst(Op::Const(u64::from(shift)), &[], Type::I64);
            let up = out.inst(Op::Const(u64::from(64 - shift)), &[], Type::I64);
            let high = out.inst(Op::Int(IntBin::ShrU), &[distance, by], Type::I64);
            let low = out.inst(Op::Int(IntBin::Shl), &[distance, up], Type::I64);
            let n = out.inst(Op::Int(IntBin::Or), &[high, low], Type::I64);
            let last = out.inst(Op::Const(many), &[], Type::I64);
            let n = out.inst(Op::Int(IntBin::MinU), &[n, last], Type::I64);
            let n = out.inst(Op::Trunc, &[n], Type::I32);
            let to = |id: &FuncId| match placed.get(id) {
                Some(p) if p.signature == signature => Target { block: p.enter, args: args.clone() },
                _ => Target::new(bad),
            };
            Term::Switch(n, module.taken.iter().map(to).chain([Target::new(bad)]).collect())
        }
    };
    let insts = out.insts;
    kernel.blocks[block.index()].insts = insts;
    term
}

/// The end of a block that returns.
#[allow(clippy::too_many_arguments)]
fn leave(
    module: &Module,
    kernel: &mut Function,
    block: Block,
    values: Vec<Value>,
    func: FuncId,
    placed: &FxHashMap<FuncId, Placed>,
    sites: &[Site],
    base: &FxHashMap<Block, Value>,
    bad: Block,
) -> Term {
    let line = kernel.blocks[block.index()].term_line;
    let insts = std::mem::take(&mut kernel.blocks[block.index()].insts);
    let mut out = Rewriter { func: kernel, line, insts, loaded: FxHashMap::default() };
    let Some(base) = base.get(&block) else { return Term::Jump(Target::new(bad)) };
    let number = out.inst(Op::Load(LOCAL), &[*base], Type::I32);
    let insts = out.insts;
    kernel.blocks[block.index()].insts = insts;
    let to = |site: &Site| {
        let calls = match site.callee {
            Callee::Direct(id) => id == func,
            Callee::Indirect(_) => module.taken.contains(&func) && site.signature == placed[&func].signature,
        };
        match calls {
            true => {
                let args = std::iter::once(*base).chain(values.iter().copied()).collect();
                Target { block: site.next, args }
            }
            false => Target::new(bad),
        }
    };
    Term::Switch(number, sites.iter().map(to).chain([Target::new(bad)]).collect())
}
