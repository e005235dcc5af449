//! Functions that no module defines and that are there all the same: what CUDA's device runtime does with the help of the host.

use crate::body::Body;
use crate::call::{Pair, Signature};
use crate::check::Checker;
use crate::layout::Place;
use crate::operand::Kind;
use hostwarp_ir::{AtomicOp, Elem, IntBin, Mem, Op, Order, Scope, Space, SystemCall, Term, TrapKind, Type};

/// The name, what it asks for, and how many bytes its result and its parameters have.
const FUNCTIONS: &[(&str, SystemCall, Option<u64>, &[u64])] = &[
    ("vprintf", SystemCall::Print, Some(4), &[8, 8]),
    ("malloc", SystemCall::Allocate, Some(8), &[8]),
    ("free", SystemCall::Free, None, &[8]),
    ("__assertfail", SystemCall::Assert, None, &[8, 8, 4, 8, 8]),
];

/// What a function that no module defines asks for, if it is one of those with this signature.
pub(crate) fn find(name: &str, signature: &Signature<'_>) -> Option<SystemCall> {
    let (_, call, returns, params) = FUNCTIONS.iter().find(|(n, ..)| *n == name)?;
    let sizes = |formals: &[Option<crate::call::Formal<'_>>]| -> Option<Vec<u64>> {
        formals.iter().map(|f| f.filter(|f| !f.array && f.spec.vector == 1).map(|f| f.size)).collect()
    };
    let same = sizes(&signature.returns)?.iter().eq(returns.iter()) && sizes(&signature.params)? == *params;
    same.then_some(*call)
}

impl<'m> Body<'m> {
    /// The arguments go to a block of local memory, 8 bytes each; the host is told where that is.
    pub(crate) fn emit_system_call(
        &mut self,
        c: &mut Checker<'m>,
        call: SystemCall,
        results: &[Pair<'m>],
        values: &[Pair<'m>],
    ) -> Result<(), String> {
        const LOCAL: Mem = Mem::weak(Space::Local);
        let Some(emit) = &mut self.emit else { return Ok(()) };
        let block = emit.temporary(8 * values.len() as u64, 8);
        for (n, Pair { formal, actual }) in values.iter().enumerate() {
            let ty = formal.spec.ty;
            let value = match actual.kind {
                Kind::Sink => emit.builder().iconst(ty.container(), 0),
                Kind::Variable { index, .. } => {
                    let var = c.variables[index as usize];
                    let at = if matches!(var.place, Place::At(_)) {
                        let copy = emit.temporary(var.size, var.align);
                        emit.copy_variable(c, index, copy);
                        copy
                    } else {
                        emit.local_variable(c, index)
                    };
                    emit.builder().inst(Op::Load(LOCAL), &[at], ty.container())
                }
                _ => emit.scalar(c, actual, Some(ty))?,
            };
            let b = emit.builder();
            let value = if b.ty(value) == Type::I64 { value } else { b.zext(value, Elem::I64) };
            let at = b.int_imm(IntBin::Add, block, 8 * n as u64);
            b.effect(Op::Store(LOCAL), &[at, value], None);
        }
        let b = emit.builder();
        let at = b.zext(block, Elem::I64);
        let at = b.int_imm(IntBin::Add, at, Space::Local.window());
        let nothing = b.iconst(Type::I64, 0);
        // Whatever the host does or looks at, it does so between what stands before and behind.
        let mem = Mem { space: Space::Generic, order: Order::SeqCst, scope: Scope::Sys };
        let answer = b.inst(Op::Atomic(AtomicOp::System(call), mem), &[at, nothing], Type::I64);
        if call == SystemCall::Assert {
            b.terminate(Term::Trap(TrapKind::Assert));
            return Ok(());
        }
        for Pair { formal, actual } in results {
            let ty = formal.spec.ty.container();
            let b = emit.builder();
            let answer = if ty == Type::I64 { answer } else { b.inst(Op::Trunc, &[answer], ty) };
            match actual.kind {
                Kind::Reg(to) => emit.write(to, c.syntax.text(actual.span), answer, false, None)?,
                Kind::Variable { index, .. } => {
                    let at = emit.local_variable(c, index);
                    emit.builder().effect(Op::Store(LOCAL), &[at, answer], None);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
