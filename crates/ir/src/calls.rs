//! Calls: a kernel and all it calls become one function without calls, so that no engine knows them.
//!
//! [`link`] inlines what it can (`inline`). What it cannot, functions that call themselves, that are called through
//! pointers, or that are too large, is put into the kernel once (`outline`) and called by plain control flow: values that live
//! across the call and the number of the call site go to the lane's stack in local memory, a return is a branch on that number.
//! Then every [`Symbol`] becomes a constant (`layout`).

mod inline;
mod layout;
mod outline;

pub use layout::{SHARED_RESERVED, SharedLayout, shared_layout};

use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// What linking may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// A function is inlined as long as the caller does not get more instructions than this.
    pub most_instructions: usize,
    /// Bytes of stack for `alloca` and for functions that call themselves, on top of what each function takes once.
    pub stack_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { most_instructions: 30_000, stack_bytes: 8 * 1024 }
    }
}

/// A function of this size is always inlined: calling it would take as much.
const SMALL: usize = 16;

/// The parameters and results of a function: what caller and callee must agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Signature {
    params: Vec<Type>,
    results: Vec<Type>,
}

impl Signature {
    fn of(func: &Function) -> Signature {
        Signature { params: func.params.iter().map(|p| func.ty(*p)).collect(), results: func.results.clone() }
    }

    fn of_call(func: &Function, call: &Call) -> Signature {
        Signature {
            params: call.args.iter().map(|a| func.ty(*a)).collect(),
            results: call.results.iter().map(|r| func.ty(*r)).collect(),
        }
    }
}

/// The calls in a function.
fn calls(func: &Function) -> impl Iterator<Item = &Call> {
    func.blocks.iter().filter_map(|b| match &b.term {
        Term::Call(call) => Some(&**call),
        _ => None,
    })
}

/// The functions a call may reach.
fn callees(module: &Module, func: &Function, call: &Call) -> Vec<FuncId> {
    match call.callee {
        Callee::Direct(id) => vec![id],
        Callee::Indirect(_) => {
            let want = Signature::of_call(func, call);
            let fits = |id: &FuncId| module.function(*id).is_some_and(|f| Signature::of(f) == want);
            module.taken.iter().copied().filter(fits).collect()
        }
    }
}

impl Module {
    /// The IR of a function, if there is any.
    pub fn function(&self, id: FuncId) -> Option<&Function> {
        self.functions.get(id.index())?.as_ref()
    }
}

/// The functions a kernel can reach, callees before callers where there is no recursion.
struct Reached {
    post_order: Vec<FuncId>,
    /// Those that may be active twice in one lane.
    recursive: FxHashSet<FuncId>,
}

/// Follows the calls; the error is a function without IR that can be reached.
fn reached(module: &Module, kernel: &Function) -> Result<Reached, FuncId> {
    let successors = |f: &Function| {
        let mut to: Vec<FuncId> = calls(f).flat_map(|call| callees(module, f, call)).collect();
        to.sort_unstable();
        to.dedup();
        to
    };
    // Tarjan's components, without recursion: chains of calls may be long.
    let mut edges: FxHashMap<FuncId, Vec<FuncId>> = FxHashMap::default();
    let (mut number, mut low) = (FxHashMap::default(), FxHashMap::default());
    let (mut open, mut is_open) = (vec![], FxHashSet::default());
    let (mut post_order, mut recursive) = (vec![], FxHashSet::default());
    for root in successors(kernel) {
        let mut stack = vec![(root, 0usize)];
        while let Some((id, k)) = stack.pop() {
            if k == 0 {
                if number.contains_key(&id) {
                    continue;
                }
                let to = successors(module.function(id).ok_or(id)?);
                if to.contains(&id) {
                    recursive.insert(id);
                }
                edges.insert(id, to);
                let n = number.len();
                number.insert(id, n);
                low.insert(id, n);
                open.push(id);
                is_open.insert(id);
            }
            if let Some(to) = edges[&id].get(k).copied() {
                stack.push((id, k + 1));
                match number.get(&to) {
                    None => stack.push((to, 0)),
                    Some(n) if is_open.contains(&to) => {
                        let l = low[&id].min(*n);
                        low.insert(id, l);
                    }
                    Some(_) => {}
                }
                continue;
            }
            if let Some((parent, _)) = stack.last() {
                let l = low[parent].min(low[&id]);
                low.insert(*parent, l);
            }
            post_order.push(id);
            if low[&id] == number[&id] {
                let first = open.iter().rposition(|o| *o == id).unwrap_or(0);
                let component = open.split_off(first);
                if component.len() > 1 {
                    recursive.extend(component.iter().copied());
                }
                for c in &component {
                    is_open.remove(c);
                }
            }
        }
    }
    Ok(Reached { post_order, recursive })
}

/// What of a function's calls is inlined.
struct Inlined {
    /// By block: the callee that takes the place of the call at its end.
    callee: Vec<Option<FuncId>>,
    /// Instructions of the function with all that.
    size: usize,
}

impl Inlined {
    /// As much as fits, given what was decided for the callees.
    fn new(
        func: &Function,
        callees: &FxHashMap<FuncId, Inlined>,
        recursive: &FxHashSet<FuncId>,
        options: Options,
    ) -> Inlined {
        let mut size = func.inst_count();
        let decide = |b: &BlockData| -> Option<FuncId> {
            let Term::Call(call) = &b.term else { return None };
            let Callee::Direct(id) = call.callee else { return None };
            let callee = callees.get(&id).filter(|_| !recursive.contains(&id))?.size;
            let fits = callee <= SMALL || size.saturating_add(callee) <= options.most_instructions;
            if fits {
                size = size.saturating_add(callee);
            }
            fits.then_some(id)
        };
        Inlined { callee: func.blocks.iter().map(decide).collect(), size }
    }
}

/// Makes one function of a kernel and all it calls. The error is a function without IR that it can reach.
pub fn link(module: &Module, kernel: &Function, options: Options) -> Result<Function, FuncId> {
    let Reached { post_order, recursive } = reached(module, kernel)?;
    // What of each function is inlined is decided by sizes alone, callees first. Copies are made only of what is needed: from the kernel down, so that a
    // chain of calls is copied once and not once for each of its functions.
    let mut inlined: FxHashMap<FuncId, Inlined> = FxHashMap::default();
    for id in &post_order {
        let Some(func) = module.function(*id) else { return Err(*id) };
        let decided = Inlined::new(func, &inlined, &recursive, options);
        inlined.insert(*id, decided);
    }
    let of_kernel = Inlined::new(kernel, &inlined, &recursive, options);
    let complete = |func: &Function, of: &Inlined| {
        let mut func = func.clone();
        inline::inline(&mut func, of, &inlined, module);
        func
    };
    let mut func = complete(kernel, &of_kernel);
    passes::promote::promote(&mut func);
    let mut bodies: FxHashMap<FuncId, Function> = FxHashMap::default();
    let called =
        |f: &Function| -> Vec<FuncId> { calls(f).flat_map(|call| callees(module, f, call)).collect() };
    let mut wanted = called(&func);
    while let Some(id) = wanted.pop() {
        if let (Some(body), Some(of), false) =
            (module.function(id), inlined.get(&id), bodies.contains_key(&id))
        {
            let body = complete(body, of);
            wanted.extend(called(&body));
            bodies.insert(id, body);
        }
    }
    let has_calls = calls(&func).next().is_some();
    let unbounded = |id: &FuncId| recursive.contains(id) || uses_stack(&bodies[id]);
    let more = uses_stack(&func) || bodies.keys().any(unbounded);
    let stack = if more { options.stack_bytes } else { 0 };
    if has_calls {
        for body in bodies.values_mut() {
            passes::promote::promote(body);
        }
        let bodies = post_order.iter().filter_map(|id| Some((*id, bodies.remove(id)?))).collect();
        outline::outline(module, &mut func, bodies, stack);
    } else {
        layout::frame(&mut func, stack);
    }
    layout::shared(module, &mut func);
    passes::unreachable::prune_unreachable(&mut func);
    passes::params::remove_trivial_params(&mut func);
    #[cfg(debug_assertions)]
    if let Err(e) = verify(&func) {
        panic!("linking made an invalid function: {e}\n{func}");
    }
    Ok(func)
}

/// Whether memory above the frame is used (`alloca`).
fn uses_stack(func: &Function) -> bool {
    let mut insts = func.blocks.iter().flat_map(|b| &b.insts);
    insts.any(|i| matches!(i.op, Op::Address(Symbol::StackLimit)))
}

/// Appends a copy of `other`'s values, blocks, slots and messages. Answers how far values and blocks are moved.
fn splice(into: &mut Function, other: &Function) -> (u32, u32) {
    let (values, blocks) = (into.types.len() as u32, into.blocks.len() as u32);
    let (slots, messages) = (into.slots.len() as u32, into.unsupported.len() as u32);
    into.types.extend_from_slice(&other.types);
    into.slots.extend_from_slice(&other.slots);
    into.unsupported.extend_from_slice(&other.unsupported);
    for data in &other.blocks {
        let mut data = data.clone();
        let move_value = |v: &mut Value| v.0 += values;
        data.params.iter_mut().for_each(move_value);
        for i in &mut data.insts {
            i.args.iter_mut().chain(&mut i.guard).chain(&mut i.result).for_each(move_value);
            if let Op::Address(Symbol::Slot(n)) = &mut i.op {
                *n += slots;
            }
        }
        data.term.for_each_use_mut(move_value);
        if let Term::Call(call) = &mut data.term {
            call.results.iter_mut().for_each(move_value);
        }
        if let Term::Trap(TrapKind::Unsupported(n)) = &mut data.term {
            *n += messages;
        }
        for t in data.term.targets_mut() {
            t.block.0 += blocks;
        }
        into.blocks.push(data);
    }
    (values, blocks)
}

#[cfg(test)]
mod tests;
