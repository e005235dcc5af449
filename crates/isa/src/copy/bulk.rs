//! The meaning of `cp.async.bulk` and `cp.reduce.async.bulk`.

use super::{complete_tx, generic, low_half, pair, place, system};
use crate::atomic::combine;
use crate::{Background, Cx, Outcome, Ty};
use hostwarp_ir::{Elem, IntBin, IntCmp, Mem, Op, Order, Scope, Space, SystemCall, Type, Value};

pub(super) fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".wait_group") {
        cx.background(Background::BulkWaits, cx.guard, |cx| cx.src("n"));
        return Ok(());
    }
    if cx.has(".commit_group") {
        cx.background(Background::BulkCommits, cx.guard, |cx| cx.b.iconst(Type::I64, 0));
        return Ok(());
    }
    if cx.has(".prefetch") {
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
    } else if cx.has(".cp_mask") {
        masked(cx, to, from, n, guard);
    } else if cx.has(".ignore_oob") {
        inner(cx, to, from, n, guard);
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
    if !cx.has(".global") || out {
        cx.background(Background::BulkReads, guard, |cx| place(cx, from, n));
    }
    if out {
        cx.background(Background::Joins, guard, |_| n);
    } else {
        complete_tx(cx, to, n, guard);
    }
    Ok(())
}

/// Where an address or the number of bytes is no multiple of 16. A copy of all of them says what is wrong.
fn misfits(cx: &mut Cx<'_>, to: Value, from: Value, n: Value, guard: Option<Value>) -> Value {
    let [to, from, n] = [to, from, n].map(|v| cx.b.zext(v, Elem::I64));
    let any = cx.b.or(to, from);
    let any = cx.b.or(any, n);
    let rest = cx.b.int_imm(IntBin::And, any, 15);
    let odd = cx.b.cmp_imm(IntCmp::Ne, rest, 0);
    match guard {
        Some(guard) => cx.b.and(guard, odd),
        None => odd,
    }
}

/// All but a few bytes at both ends, which need not be there; what is to come there is left as it was.
fn inner(cx: &mut Cx<'_>, to: Value, from: Value, n: Value, guard: Option<Value>) {
    let odd = misfits(cx, to, from, n, guard);
    let (shared, source) = (low_half(cx, to), generic(cx, from, Space::Global));
    let operand = pair(cx, shared, n);
    system(cx, SystemCall::CopyIn, source, operand, Some(odd));
    let (left, right) = (cx.src("left"), cx.src("right"));
    let ends = cx.b.add(left, right);
    let some = cx.b.cmp(IntCmp::LtU, ends, n);
    let even = cx.b.not(odd);
    let some = cx.b.and(some, even);
    let acts = match guard {
        Some(guard) => cx.b.and(guard, some),
        None => some,
    };
    let shared = cx.b.add(shared, left);
    let bytes = cx.b.int(IntBin::Sub, n, ends);
    let operand = pair(cx, shared, bytes);
    let left = cx.b.zext(left, Elem::I64);
    let source = cx.b.add(source, left);
    system(cx, SystemCall::CopyFew, source, operand, Some(acts));
}

/// Of every 16 bytes those whose bit is set, one by one.
fn masked(cx: &mut Cx<'_>, to: Value, from: Value, n: Value, guard: Option<Value>) {
    let odd = misfits(cx, to, from, n, guard);
    let (shared, target) = (low_half(cx, from), generic(cx, to, Space::Global));
    let operand = pair(cx, shared, n);
    system(cx, SystemCall::CopyOut, target, operand, Some(odd));
    let mask = cx.src("mask");
    let mask = cx.b.zext(mask, Elem::I32);
    cx.each_step(n, 1, guard, |cx, offset| {
        let bit = cx.b.int_imm(IntBin::And, offset, 15);
        let bit = cx.b.int(IntBin::ShrU, mask, bit);
        let bit = cx.b.int_imm(IntBin::And, bit, 1);
        let takes = cx.b.cmp_imm(IntCmp::Ne, bit, 0);
        let source = cx.b.add(shared, offset);
        let byte = cx.b.guarded(Op::Load(Mem::weak(Space::Shared)), &[source], Some(takes), Type::I8);
        let wide = cx.b.zext(offset, Elem::I64);
        let at = cx.b.add(target, wide);
        cx.b.effect(Op::Store(Mem::weak(Space::Generic)), &[at, byte], Some(takes));
    });
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

    cx.each_step(n, u64::from(ty.bits() / 8), guard, |cx, offset| {
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
    });
}

/// What holds an element.
fn element(ty: Ty) -> Type {
    ty.container()
}
