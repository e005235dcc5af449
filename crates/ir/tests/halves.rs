//! Where a loop works on halves, they are widened and narrowed where that is cheapest.

use hostwarp_ir::expand::{Caps, expand};
use hostwarp_ir::*;

const FMA: Op = Op::Fma { round: Round::Nearest, ftz: false };

/// `a = a · x + c` as often as the parameter says, `a` and `x` as bits in registers; `in_loop` may want something more of `a`.
fn horner(in_loop: impl Fn(&mut Builder, Value, Value)) -> Function {
    let mut b = Builder::new("horner");
    let (turn, done) = (b.new_block(), b.new_block());
    let (a, left) = (b.new_var(Type::I16X2), b.new_var(Type::I32));
    let at = b.iconst(Type::I32, 0);
    let x = b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I16X2);
    let count = b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I32);
    b.set(a, x);
    b.set(left, count);
    b.jump(turn);
    b.switch_to(turn);
    let was = b.get(a);
    let n = b.get(left);
    let c = b.inst(Op::Load(Mem::weak(Space::Const)), &[n], Type::I16X2);
    in_loop(&mut b, n, was);
    let args = [was, x, c].map(|v| b.inst(Op::FromBits, &[v], Type::F16X2));
    let r = b.inst(FMA, &args, Type::F16X2);
    let bits = b.inst(Op::ToBits, &[r], Type::I16X2);
    b.set(a, bits);
    let n = b.int_imm(IntBin::Sub, n, 4);
    b.set(left, n);
    let more = b.cmp_imm(IntCmp::Ne, n, 0);
    b.branch(more, turn, done);
    b.switch_to(done);
    let bits = b.get(a);
    b.effect(Op::Store(Mem::weak(Space::Shared)), &[at, bits], None);
    b.terminate(Term::Exit);
    let mut func = b.finish();
    optimize(&mut func);
    expand(&mut func, Caps::default());
    optimize(&mut func);
    verify_primitive(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    func
}

/// How many conversions the loop and the rest have: to f32, and back.
fn conversions(func: &Function) -> [(usize, usize); 2] {
    let count = |in_loop: bool, elem: Elem| {
        let blocks = func
            .block_ids()
            .filter(|b| func.block(*b).term.targets().iter().any(|t| t.block == *b) == in_loop);
        let insts = blocks.flat_map(|b| &func.block(b).insts);
        let made =
            |i: &&Inst| matches!(i.op, Op::FCvt(_)) && i.result.is_some_and(|r| func.ty(r).elem == elem);
        insts.filter(made).count()
    };
    [true, false].map(|in_loop| (count(in_loop, Elem::F32), count(in_loop, Elem::F16)))
}

#[test]
fn a_loop_widens_only_what_it_loads_and_what_it_has_rounded() {
    let func = horner(|_, _, _| ());
    // Before the loop the first value and x, which are the same here; after it the result.
    assert_eq!(conversions(&func), [(2, 1), (1, 1)], "{func}");
}

#[test]
fn what_is_wanted_as_bits_in_every_turn_is_carried_as_bits() {
    let func = horner(|b, n, was| b.effect(Op::Store(Mem::weak(Space::Shared)), &[n, was], None));
    // The value carried and what is loaded; x before the loop.
    assert_eq!(conversions(&func), [(2, 1), (1, 0)], "{func}");
}
