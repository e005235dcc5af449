//! Copies that go on by themselves, and the barriers in memory that are told of them: `cp mbarrier`.

mod bulk;
pub mod cp;
pub mod mbarrier;

use crate::{Background, Cx, Room};
use hostwarp_ir::mbarrier::PHASE;
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

/// So many bytes have come to an address in shared memory, of which the mbarrier in the place `mbar`, there too, is told.
pub(crate) fn complete_tx(cx: &mut Cx<'_>, to: Value, bytes: Value, guard: Option<Value>) {
    complete_tx_in(cx, Space::Shared, to, bytes, guard);
}

/// The same, both addresses in this space.
pub(crate) fn complete_tx_in(cx: &mut Cx<'_>, space: Space, to: Value, bytes: Value, guard: Option<Value>) {
    cx.background(Background::BulkWrites, guard, |cx| place(cx, to, bytes));
    let mbar = cx.src("mbar");
    let at = generic(cx, mbar, space);
    let bytes = cx.b.zext(bytes, Elem::I64);
    let before = system(cx, SystemCall::Mbarrier(MbarrierOp::CompleteTx), at, bytes, guard);
    cx.background(Background::Reports, guard, |cx| phase(cx, at, before));
}

/// So many bytes from an address in shared memory on, as [`Background`] wants them.
pub(crate) fn place(cx: &mut Cx<'_>, address: Value, bytes: Value) -> Value {
    let address = cx.b.zext(address, Elem::I32);
    pair(cx, address, bytes)
}

/// The phase of the mbarrier at a generic address that these are the bits of, as [`Background`] wants it.
pub(crate) fn phase(cx: &mut Cx<'_>, at: Value, bits: Value) -> Value {
    let at = cx.b.zext(at, Elem::I32);
    let parity = cx.b.int_imm(IntBin::ShrU, bits, PHASE.into());
    pair(cx, at, parity)
}
