use super::*;

const LOCAL: Mem = Mem::weak(Space::Local);

/// A function with a slot of 8 bytes, whose address `body` gets.
fn with_slot(body: impl FnOnce(&mut Builder, Value)) -> Function {
    let mut b = Builder::new("k");
    b.func().slots.push(Slot { size: 8, align: 8 });
    let at = b.inst(Op::Address(Symbol::Slot(0)), &[], Type::I32);
    body(&mut b, at);
    b.terminate(Term::Exit);
    let mut f = b.finish();
    promote(&mut f);
    f
}

fn keep(b: &mut Builder, v: Value) {
    let to = b.iconst(Type::I64, 0);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[to, v], None);
}

fn load(b: &mut Builder, at: Value, ty: Type) -> Value {
    b.inst(Op::Load(LOCAL), &[at], ty)
}

#[test]
fn what_is_stored_is_loaded() {
    let f = with_slot(|b, at| {
        let x = b.special(Special::LaneId);
        b.effect(Op::Store(LOCAL), &[at, x], None);
        let y = load(b, at, Type::I32);
        keep(b, y);
    });
    assert!(!f.to_string().contains(".local"), "{f}");
}

#[test]
fn parts_make_a_whole() {
    // Two words in, one double word out: 4 bytes are the unit.
    let f = with_slot(|b, at| {
        let x = b.special(Special::LaneId);
        b.effect(Op::Store(LOCAL), &[at, x], None);
        let high = b.int_imm(IntBin::Add, at, 4);
        b.effect(Op::Store(LOCAL), &[high, x], None);
        let y = load(b, at, Type::I64);
        keep(b, y);
    });
    let text = f.to_string();
    assert!(!text.contains(".local") && text.contains("build"), "{text}");
}

#[test]
fn what_depends_on_the_way_is_a_parameter() {
    let f = with_slot(|b, at| {
        let x = b.special(Special::LaneId);
        let (yes, on) = (b.new_block(), b.new_block());
        let c = b.cmp_imm(IntCmp::Eq, x, 3);
        b.branch(c, yes, on);
        b.switch_to(yes);
        b.effect(Op::Store(LOCAL), &[at, x], None);
        b.jump(on);
        b.switch_to(on);
        let y = load(b, at, Type::I32);
        keep(b, y);
    });
    let text = f.to_string();
    assert!(!text.contains(".local"), "{text}");
    // Before the store it is 0.
    assert!(f.blocks.iter().any(|b| b.params.len() == 1), "{text}");
}

#[test]
fn a_guarded_store_keeps_what_was_there() {
    let f = with_slot(|b, at| {
        let x = b.special(Special::LaneId);
        b.effect(Op::Store(LOCAL), &[at, x], None);
        let c = b.cmp_imm(IntCmp::Eq, x, 3);
        let zero = b.iconst(Type::I32, 0);
        b.effect(Op::Store(LOCAL), &[at, zero], Some(c));
        let y = load(b, at, Type::I32);
        keep(b, y);
    });
    let text = f.to_string();
    assert!(!text.contains(".local") && text.contains("select"), "{text}");
}

#[test]
fn what_somebody_else_may_see_stays() {
    let escapes: [fn(&mut Builder, Value); 4] = [
        // Its address is stored.
        |b, at| keep(b, at),
        // An index that is not known.
        |b, at| {
            let lane = b.special(Special::LaneId);
            let there = b.add(at, lane);
            let y = load(b, there, Type::I8);
            keep(b, y);
        },
        // Behind its end.
        |b, at| {
            let there = b.int_imm(IntBin::Add, at, 8);
            let y = load(b, there, Type::I32);
            keep(b, y);
        },
        // An access that others may see in between.
        |b, at| {
            let y = b.inst(Op::Load(Mem { order: Order::Volatile, ..LOCAL }), &[at], Type::I32);
            keep(b, y);
        },
    ];
    for escape in escapes {
        let f = with_slot(|b, at| {
            let x = b.special(Special::LaneId);
            b.effect(Op::Store(LOCAL), &[at, x], None);
            escape(b, at);
        });
        assert!(f.to_string().contains("store.local"), "{f}");
    }
}
