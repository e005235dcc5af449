//! `alloca stacksave stackrestore`
//!
//! Since PTX 7.3, sm_52.

use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Op, Symbol, Term, TrapKind, Type, Value};

const SETS: &[(&str, &str)] = &[(".type", ".u32 .u64")];
/// What `alloca` aligns to if nothing is said.
const ALIGN: u64 = 8;
/// Frames of functions begin at multiples of this.
const FRAME: u64 = 16;

/// `alloca`
pub const ALLOCA: Room = Room {
    opcodes: &["alloca"],
    title: "take memory from the thread's stack",
    doc: "`d` is the address in local memory of `a` bytes, aligned to `b` or 8, which are there until the function returns or `stackrestore` gives them back. \
          The stack has 8 KiB for all functions of a thread; more is a fault.",
    section: "9.7.18.3",
    forms: &[Form::new("alloca.type  d:.type, a:.type{, b:u32#<2^>}", SETS, since(73, 52))],
    rule: None,
    meaning: alloca,
    notes: &["The address is that of the stack here; on a GPU the stack grows downwards, so numbers differ."],
};

/// `stacksave`
pub const STACKSAVE: Room = Room {
    opcodes: &["stacksave"],
    title: "where the stack ends",
    doc: "What `stackrestore` takes.",
    section: "9.7.18.1",
    forms: &[Form::new("stacksave.type  d:.type", SETS, since(73, 52))],
    rule: None,
    meaning: |cx| {
        let top = cx.b.get(cx.stack);
        let d = sized(cx, top);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `stackrestore`
pub const STACKRESTORE: Room = Room {
    opcodes: &["stackrestore"],
    title: "give back what was taken from the stack since",
    doc: "`a` is what `stacksave` gave in the same function; anything else is undefined in PTX and a fault here as soon as it is used.",
    section: "9.7.18.2",
    forms: &[Form::new("stackrestore.type  a:.type!", SETS, since(73, 52))],
    rule: None,
    meaning: |cx| {
        let a = cx.src("a");
        let top = if cx.b.ty(a) == Type::I64 { cx.b.ext(a, Elem::I32, false) } else { a };
        set_stack(cx, top);
        Ok(())
    },
    notes: &[],
};

/// An address in the width that the instruction names.
fn sized(cx: &mut Cx<'_>, at: Value) -> Value {
    if cx.ty(".type").bits() == 64 { cx.b.zext(at, Elem::I64) } else { at }
}

fn set_stack(cx: &mut Cx<'_>, top: Value) {
    let top = match cx.guard {
        None => top,
        Some(guard) => {
            let before = cx.b.get(cx.stack);
            cx.b.select(guard, top, before)
        }
    };
    cx.b.set(cx.stack, top);
}

fn alloca(cx: &mut Cx<'_>) -> Outcome {
    let align = if cx.given("b") { cx.constant("b").unwrap_or(ALIGN) } else { ALIGN };
    if !align.is_power_of_two() {
        return Err("an alignment that is no power of two".into());
    }
    let size = cx.src("a");
    let size = if cx.b.ty(size) == Type::I64 { size } else { cx.b.zext(size, Elem::I64) };
    let top = cx.b.get(cx.stack);
    let limit = cx.b.inst(Op::Address(Symbol::StackLimit), &[], Type::I32);
    let (top, limit) = (cx.b.zext(top, Elem::I64), cx.b.zext(limit, Elem::I64));
    let round = |cx: &mut Cx<'_>, v: Value, to: u64| {
        let up = cx.b.int_imm(IntBin::Add, v, to - 1);
        cx.b.int_imm(IntBin::And, up, !(to - 1))
    };
    let at = round(cx, top, align);
    let at = cx.name(at, "at");
    // The size is looked at by itself too, or the sum could wrap around.
    let huge = cx.b.cmp(IntCmp::LtU, limit, size);
    let end = cx.b.add(at, size);
    let end = round(cx, end, FRAME);
    let end = cx.name(end, "end");
    let beyond = cx.b.cmp(IntCmp::LtU, limit, end);
    let too_much = cx.b.or(huge, beyond);
    let too_much = match cx.guard {
        None => too_much,
        Some(guard) => cx.b.and(guard, too_much),
    };
    let (overflow, next) = (cx.b.new_block(), cx.b.new_block());
    cx.b.branch(too_much, overflow, next);
    cx.b.switch_to(overflow);
    cx.b.terminate(Term::Trap(TrapKind::StackOverflow));
    cx.b.switch_to(next);
    let end = cx.b.ext(end, Elem::I32, false);
    set_stack(cx, end);
    let at = cx.b.ext(at, Elem::I32, false);
    let d = sized(cx, at);
    cx.set("d", d);
    Ok(())
}
