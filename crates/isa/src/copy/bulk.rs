//! The meaning of `cp.async.bulk` and `cp.reduce.async.bulk`.

use super::{complete_tx, generic, low_half, pair, system};
use crate::atomic::combine;
use crate::{Cx, Outcome, Ty};
use hostwarp_ir::{Elem, IntBin, IntCmp, Mem, Op, Order, Scope, Space, SystemCall, Type, Value};

pub(super) fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".commit_group") || cx.has(".wait_group") || cx.has(".prefetch") {
        return Ok(());
    }
    let mut guard = cx.guard;
    if cx.has(".multicast::cluster") {
        // The lowest bit is this CTA's; there is no other.
        let mask = cx.src("mask");
        let own = cx.b.int_imm(IntBin::And, mask, 1);
        let own = cx.b.cmp_imm(IntCmp::Ne, own, 0);
        guard = Some(match guard {
            Some(guard) => cx.b.and(guard, own),
            None => own,
        });
    }
    let (to, from, n) = (cx.src("d"), cx.src("a"), cx.src("n"));
    let out = cx.has(".bulk_group");
    if cx.has(".reduce") {
        reduce(cx, to, from, n, out, guard);
    } else if out {
        let shared = low_half(cx, from);
        let operand = pair(cx, shared, n);
        let at = generic(cx, to, Space::Global);
        system(cx, SystemCall::CopyOut, at, operand, guard);
    } else {
        let space = if cx.has(".global") { Space::Global } else { Space::Shared };
        let shared = low_half(cx, to);
        let operand = pair(cx, shared, n);
        let at = generic(cx, from, space);
        system(cx, SystemCall::CopyIn, at, operand, guard);
    }
    if !out {
        complete_tx(cx, n, guard);
    }
    Ok(())
}

/// Element by element, lowest address first.
fn reduce(cx: &mut Cx<'_>, to: Value, from: Value, n: Value, out: bool, guard: Option<Value>) {
    let ty = if cx.has(".noftz") { cx.ty(".half") } else { cx.ty(".type") };
    let space = if out { Space::Global } else { Space::Shared };
    // A copy of a few bytes says what is wrong with their number.
    let rest = cx.b.int_imm(IntBin::And, n, 15);
    let odd = cx.b.cmp_imm(IntCmp::Ne, rest, 0);
    let odd = match guard {
        Some(guard) => cx.b.and(guard, odd),
        None => odd,
    };
    let nowhere = cx.b.iconst(Type::I32, 0);
    let (at, operand) = (generic(cx, to, space), pair(cx, nowhere, n));
    system(cx, SystemCall::CopyOut, at, operand, Some(odd));

    let done = cx.b.new_var(Type::I32);
    let zero = cx.b.iconst(Type::I32, 0);
    cx.b.set(done, zero);
    let (head, body, after) = (cx.b.new_block(), cx.b.new_block(), cx.b.new_block());
    match guard {
        None => cx.b.jump(head),
        Some(guard) => cx.b.branch(guard, head, after),
    }
    cx.b.switch_to(head);
    let offset = cx.b.get(done);
    let more = cx.b.cmp(IntCmp::LtU, offset, n);
    cx.b.branch(more, body, after);
    cx.b.switch_to(body);
    let place = |cx: &mut Cx<'_>, base: Value| {
        let elem = cx.b.ty(base).elem;
        let offset = if elem == Elem::I64 { cx.b.zext(offset, Elem::I64) } else { offset };
        cx.b.add(base, offset)
    };
    let (source, target) = (place(cx, from), place(cx, to));
    let b = cx.b.inst(Op::Load(Mem::weak(Space::Shared)), &[source], element(ty));
    let mem = Mem { space, order: Order::Relaxed, scope: Scope::Gpu };
    let outer = cx.guard.take();
    combine(cx, mem, target, b, ty);
    cx.guard = outer;
    let next = cx.b.int_imm(IntBin::Add, offset, u64::from(ty.bits() / 8));
    cx.b.set(done, next);
    cx.b.jump(head);
    cx.b.switch_to(after);
}

/// What holds an element.
fn element(ty: Ty) -> Type {
    ty.container()
}
