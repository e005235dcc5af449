//! The meaning of `atom` and `red`.

use crate::copy::{complete_tx, generic, system};
use crate::data::access;
use crate::{Cx, Outcome, Ty};
use hostwarp_ir::{AtomicOp, FBin, IntBin, IntCmp, Mem, Op, Order, Round, Space, SystemCall, Type, Value};

pub(super) fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let ty = cx.ty(".type");
    if ty == Ty::B128 {
        wide(cx);
        return Ok(());
    }
    let mem = access(cx, Order::Relaxed);
    let (address, operands) = (cx.src("a"), cx.elements("b"));
    let mut old = vec![];
    for (i, b) in operands.into_iter().enumerate() {
        let offset = i as u64 * u64::from(ty.bits() / 8);
        let at = if offset == 0 { address } else { cx.b.int_imm(IntBin::Add, address, offset) };
        old.push(one(cx, mem, at, b, ty));
    }
    if cx.m.opcode != "red" {
        cx.set_elements("d", old);
    } else if cx.has(".mbarrier::complete_tx::bytes") {
        let bytes = cx.b.iconst(Type::I32, u64::from(ty.bits() / 8));
        complete_tx(cx, address, bytes, cx.guard);
    }
    Ok(())
}

/// 128 bits at once: the lane stages the words, then acts, then asks for the other half of what was there.
fn wide(cx: &mut Cx<'_>) {
    let guard = cx.guard;
    let space = cx.m.space();
    let address = cx.src("a");
    let at = generic(cx, address, space);
    let none = cx.b.iconst(Type::I64, 0);
    let compares = cx.get(".op") == Some(".cas");
    let mut operands = vec![cx.src("b")];
    if compares {
        operands.push(cx.src("c"));
    }
    for operand in operands {
        for half in 0..2 {
            let word = cx.b.extract(operand, half);
            system(cx, SystemCall::Stage, none, word, guard);
        }
    }
    let call = if compares { SystemCall::WideCas } else { SystemCall::WideExch };
    let low = system(cx, call, at, none, guard);
    let high = system(cx, SystemCall::Staged, none, none, guard);
    let old = cx.b.build(&[low, high]);
    cx.set_elements("d", vec![old]);
}

/// One atomic operation; what was there before, as bits.
pub(crate) fn one(cx: &mut Cx<'_>, mem: Mem, address: Value, b: Value, ty: Ty) -> Value {
    let op = cx.get(".op").unwrap_or_default();
    let op = match (op, ty) {
        (_, Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2) => return half(cx, mem, address, b, ty),
        (".add", Ty::F32 | Ty::F64) => return float_add(cx, mem, address, b, ty),
        (".cas", _) => {
            let (compare, value) = (b, cx.src("c"));
            let args = [address, compare, value];
            return cx.b.guarded(Op::Atomic(AtomicOp::Cas, mem), &args, cx.guard, ty.container());
        }
        (".exch", _) => AtomicOp::Exch,
        (".add", _) => AtomicOp::Add,
        (".and", _) => AtomicOp::And,
        (".or", _) => AtomicOp::Or,
        (".xor", _) => AtomicOp::Xor,
        (".inc", _) => AtomicOp::Inc,
        (".dec", _) => AtomicOp::Dec,
        (".min", t) if t.is_signed() => AtomicOp::MinS,
        (".min", _) => AtomicOp::MinU,
        (_, t) if t.is_signed() => AtomicOp::MaxS,
        _ => AtomicOp::MaxU,
    };
    cx.b.guarded(Op::Atomic(op, mem), &[address, b], cx.guard, ty.container())
}

/// Global memory adds by itself, shared memory in a loop around an ordinary addition, and they are not quite the same; a generic address must be asked
/// where it leads.
fn float_add(cx: &mut Cx<'_>, mem: Mem, address: Value, b: Value, ty: Ty) -> Value {
    let guard = cx.guard;
    let add = |cx: &mut Cx<'_>, remote: bool, guard: Option<Value>| {
        let op = Op::Atomic(AtomicOp::FAdd { remote }, mem);
        cx.b.guarded(op, &[address, b], guard, ty.container())
    };
    match mem.space {
        Space::Shared => add(cx, false, guard),
        _ if cx.has(".noftz") => add(cx, false, guard),
        Space::Generic if cx.b.ty(address) == Type::I64 => {
            let window = cx.b.int_imm(IntBin::ShrU, address, 32);
            let shared = cx.b.cmp_imm(IntCmp::Eq, window, Space::Shared.window() >> 32);
            let shared = cx.name(shared, "shared");
            let elsewhere = cx.b.not(shared);
            let [kept, flushed] = [(false, shared), (true, elsewhere)].map(|(remote, place)| {
                let place = match guard {
                    None => place,
                    Some(g) => cx.b.and(g, place),
                };
                add(cx, remote, Some(place))
            });
            cx.b.select(shared, kept, flushed)
        }
        _ => add(cx, true, guard),
    }
}

/// Half precision: compare and swap until nobody came between. A lane that must try again is the only thing that repeats, so the
/// outcome is that of all lanes going one after the other.
fn half(cx: &mut Cx<'_>, mem: Mem, address: Value, b: Value, ty: Ty) -> Value {
    let bits = ty.container();
    let b = cx.b.from_bits(b, ty.arith());
    let op = match cx.get(".op") {
        Some(".min") => Op::FMin { nan: false },
        Some(".max") => Op::FMax { nan: false },
        _ => Op::Float { op: FBin::Add, round: Round::Nearest, ftz: false },
    };
    let expected = cx.b.new_var(bits);
    let zero = cx.b.iconst(bits, 0);
    cx.b.set(expected, zero);
    let (first, again, after) = (cx.b.new_block(), cx.b.new_block(), cx.b.new_block());
    match cx.guard {
        None => cx.b.jump(first),
        Some(g) => cx.b.branch(g, first, after),
    }
    cx.b.switch_to(first);
    let look = Mem { order: Order::Relaxed, ..mem };
    let seen = cx.b.inst(Op::Load(look), &[address], bits);
    cx.b.set(expected, seen);
    cx.b.jump(again);
    cx.b.switch_to(again);
    let was = cx.b.get(expected);
    let old = cx.b.from_bits(was, ty.arith());
    let new = cx.b.inst(op, &[old, b], ty.arith());
    let new = cx.b.to_bits(new, bits);
    let found = cx.b.inst(Op::Atomic(AtomicOp::Cas, mem), &[address, was, new], bits);
    cx.b.set(expected, found);
    let done = cx.b.cmp(IntCmp::Eq, found, was);
    cx.b.branch(done, after, again);
    cx.b.switch_to(after);
    cx.b.get(expected)
}
