//! A branch on `not c` becomes one on `c`, the other way round, however often it is turned.

use hostwarp_ir::*;

fn branch(times: u32) -> (Function, Value, [Block; 2]) {
    let mut b = Builder::new("negated");
    let [yes, no] = [(); 2].map(|()| b.new_block());
    let zero = b.iconst(Type::I32, 0);
    let x = b.inst(Op::Load(Mem::weak(Space::Param)), &[zero], Type::I32);
    let compared = b.cmp_imm(IntCmp::LtU, x, 7);
    let mut c = compared;
    for _ in 0..times {
        c = b.inst(Op::IntUn(IntUn::Not), &[c], Type::I1);
    }
    b.branch(c, yes, no);
    for (block, word) in [(yes, 1), (no, 2)] {
        b.switch_to(block);
        let word = b.iconst(Type::I32, word);
        b.effect(Op::Store(Mem::weak(Space::Shared)), &[zero, word], None);
        b.terminate(Term::Exit);
    }
    let mut func = b.finish();
    optimize(&mut func);
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    (func, compared, [yes, no])
}

/// What is stored where a branch goes.
fn stores(func: &Function, at: Block) -> u64 {
    let stored = func.block(at).insts.iter().find(|i| matches!(i.op, Op::Store(_))).unwrap().args[1];
    let makes = |i: &&Inst| i.result == Some(stored);
    match func.blocks.iter().flat_map(|b| &b.insts).find(makes).unwrap().op {
        Op::Const(c) => c,
        op => panic!("{op:?}"),
    }
}

#[test]
fn a_branch_is_on_what_is_compared() {
    for times in 0..4 {
        let (func, compared, _) = branch(times);
        let Term::Branch(c, yes, no) = &func.block(Block::ENTRY).term else { panic!("{func}") };
        assert_eq!(*c, compared, "{func}");
        let goes = [yes, no].map(|t| stores(&func, t.block));
        assert_eq!(goes, if times % 2 == 0 { [1, 2] } else { [2, 1] }, "{func}");
    }
}
