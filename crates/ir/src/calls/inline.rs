//! Inlining: a copy of the callee's blocks takes the place of the call.

use super::splice;
use crate::opt::Subst;
use crate::*;

/// Inlines calls for which `body` has a callee, given the size of the function so far and whom it calls. Calls that come with
/// a callee's body stay: callees are to be completed first.
pub(super) fn inline<'a>(func: &mut Function, mut body: impl FnMut(usize, FuncId) -> Option<&'a Function>) {
    let mut size = func.inst_count();
    // (parameter or stack of a copy, what the call gives for it)
    let mut bound: Vec<(Value, Value)> = vec![];
    for b in 0..func.blocks.len() {
        let Term::Call(call) = &func.blocks[b].term else { continue };
        let Callee::Direct(id) = call.callee else { continue };
        let Some(callee) = body(size, id) else { continue };
        let call = call.clone();
        size += callee.inst_count();
        let (values, blocks) = splice(func, callee);
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
