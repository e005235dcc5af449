//! Inlining: a copy of the callee's blocks takes the place of the call.

use super::{Inlined, splice};
use crate::subst::Subst;
use crate::*;
use rustc_hash::FxHashMap;

/// Inlines what is to be inlined of a function, and of what is inlined.
pub(super) fn inline(func: &mut Function, of: &Inlined, all: &FxHashMap<FuncId, Inlined>, module: &Module) {
    // (parameter or stack of a copy, what the call gives for it), those of outer copies first
    let mut bound: Vec<(Value, Value)> = vec![];
    let sites = |of: &Inlined, blocks: usize| -> Vec<(usize, FuncId)> {
        let inlined = of.callee.iter().enumerate().filter_map(|(b, id)| Some((blocks + b, (*id)?)));
        // The last is taken first.
        inlined.rev().collect()
    };
    let mut work = sites(of, 0);
    while let Some((b, id)) = work.pop() {
        let Term::Call(call) = &func.blocks[b].term else { continue };
        let (Some(callee), Some(of)) = (module.function(id), all.get(&id)) else { continue };
        let call = call.clone();
        let (values, blocks) = splice(func, callee);
        work.extend(sites(of, blocks as usize));
        bound.extend(callee.params.iter().map(|p| Value(p.0 + values)).zip(call.args.iter().copied()));
        // Where the copy's returns meet.
        let line = func.blocks[b].term_line;
        let join = Block(func.blocks.len() as u32);
        for data in &mut func.blocks[blocks as usize..] {
            data.insts.retain(|i| match (i.op, i.result) {
                (Op::Address(Symbol::StackTop), Some(r)) => {
                    bound.push((r, call.stack));
                    false
                }
                _ => true,
            });
            if let Term::Return(values) = &mut data.term {
                let args = std::mem::take(values).into_iter().collect();
                data.term = Term::Jump(Target { block: join, args });
            }
        }
        func.blocks.push(BlockData {
            params: call.results.clone(),
            insts: vec![],
            term: Term::Jump(call.next.clone()),
            term_line: line,
        });
        func.blocks[b].term = Term::Jump(Target::new(Block(blocks)));
    }
    let mut subst = Subst::new(func);
    for (inner, outer) in bound {
        subst.set(inner, outer);
    }
    subst.apply(func);
}
