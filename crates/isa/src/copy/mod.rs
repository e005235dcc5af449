//! Copies that go on by themselves, and the barriers in memory that are told of them: `cp mbarrier`.

mod bulk;
pub mod cp;
pub mod mbarrier;

use crate::{Cx, Room};
use hostwarp_ir::{
    AtomicOp, Elem, IntBin, IntCmp, MbarrierOp, Mem, Op, Order, Scope, Space, SystemCall, Type, Value,
};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[cp::CP, mbarrier::ROOM];

/// An address in a state space as a generic one.
pub(crate) fn generic(cx: &mut Cx<'_>, address: Value, space: Space) -> Value {
    let wide = cx.b.zext(address, Elem::I64);
    match space.window() {
        0 => wide,
        window => cx.b.int_imm(IntBin::Add, wide, window),
    }
}

/// An address in shared memory as 32 bits. One that has more is nowhere, and so is what it becomes.
pub(crate) fn low_half(cx: &mut Cx<'_>, address: Value) -> Value {
    if cx.b.ty(address) != Type::I64 {
        return address;
    }
    let high = cx.b.int_imm(IntBin::ShrU, address, 32);
    let there = cx.b.cmp_imm(IntCmp::Eq, high, 0);
    let low = cx.b.zext(address, Elem::I32);
    let nowhere = cx.b.iconst(Type::I32, 0xffff_fff0);
    cx.b.select(there, low, nowhere)
}

/// Two halves of an operand, the low one first.
pub(crate) fn pair(cx: &mut Cx<'_>, low: Value, high: Value) -> Value {
    let low = cx.b.zext(low, Elem::I64);
    let high = cx.b.zext(high, Elem::I64);
    let high = cx.b.int_imm(IntBin::Shl, high, 32);
    cx.b.or(low, high)
}

/// Asks for something that has to do with any memory.
pub(crate) fn system(
    cx: &mut Cx<'_>,
    call: SystemCall,
    at: Value,
    operand: Value,
    guard: Option<Value>,
) -> Value {
    let mem = Mem { space: Space::Generic, order: Order::AcqRel, scope: Scope::Cta };
    cx.b.guarded(Op::Atomic(AtomicOp::System(call), mem), &[at, operand], guard, Type::I64)
}

/// Tells the mbarrier in the place `mbar`, in shared memory, that so many bytes have come.
pub(crate) fn complete_tx(cx: &mut Cx<'_>, bytes: Value, guard: Option<Value>) {
    let mbar = cx.src("mbar");
    let at = generic(cx, mbar, Space::Shared);
    let bytes = cx.b.zext(bytes, Elem::I64);
    system(cx, SystemCall::Mbarrier(MbarrierOp::CompleteTx), at, bytes, guard);
}
