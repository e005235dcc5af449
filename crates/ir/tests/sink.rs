//! What a loop makes in every turn and only who leaves it needs is made behind it.

use hostwarp_ir::*;

const FMA: Op = Op::Fma { round: Round::Nearest, ftz: false };

/// `sum = sum · x + x` in a loop of several blocks, with a barrier between; `also` may want something of the sum's bits.
fn sum(also: impl Fn(&mut Builder, Value)) -> Function {
    let mut b = Builder::new("sum");
    let [turn, second, third, done] = [(); 4].map(|()| b.new_block());
    let (sum, left) = (b.new_var(Type::I32), b.new_var(Type::I32));
    let zero = b.iconst(Type::I32, 0);
    let x = b.inst(Op::Load(Mem::weak(Space::Param)), &[zero], Type::I32);
    b.set(sum, x);
    b.set(left, x);
    b.jump(turn);
    b.switch_to(turn);
    let was = b.get(sum);
    let args = [was, x, x].map(|v| b.inst(Op::FromBits, &[v], Type::F32));
    let r = b.inst(FMA, &args, Type::F32);
    let bits = b.inst(Op::ToBits, &[r], Type::I32);
    b.set(sum, bits);
    b.terminate(Term::Barrier { kind: BarrierKind::Sync, id: zero, count: None, next: Target::new(second) });
    b.switch_to(second);
    also(&mut b, bits);
    b.terminate(Term::Barrier { kind: BarrierKind::Sync, id: zero, count: None, next: Target::new(third) });
    b.switch_to(third);
    let n = b.get(left);
    let n = b.int_imm(IntBin::Sub, n, 1);
    b.set(left, n);
    let more = b.cmp_imm(IntCmp::Ne, n, 0);
    b.branch(more, turn, done);
    b.switch_to(done);
    let bits = b.get(sum);
    b.effect(Op::Store(Mem::weak(Space::Shared)), &[zero, bits], None);
    b.terminate(Term::Exit);
    let mut func = b.finish();
    optimize(&mut func);
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    func
}

/// The blocks in which a float's bits are made, and how they end.
fn bits_made(func: &Function) -> Vec<&Term> {
    let made = |b: &Block| func.block(*b).insts.iter().any(|i| i.op == Op::ToBits);
    func.block_ids().filter(made).map(|b| &func.block(b).term).collect()
}

#[test]
fn bits_are_made_behind_the_loop_whatever_blocks_are_between() {
    let func = sum(|_, _| ());
    assert!(matches!(bits_made(&func)[..], [Term::Exit]), "{func}");
}

#[test]
fn bits_that_every_turn_needs_are_made_in_every_turn() {
    let func = sum(|b, bits| b.effect(Op::Store(Mem::weak(Space::Shared)), &[bits, bits], None));
    assert!(!bits_made(&func).is_empty() && !matches!(bits_made(&func)[..], [Term::Exit]), "{func}");
}
