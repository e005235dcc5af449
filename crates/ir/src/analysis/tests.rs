use super::*;
use crate::{Block, Value, parse};

fn function(text: &str) -> Function {
    parse(text).unwrap().kernels.remove(0)
}

const LOOP: &str = "kernel k (param 0, shared 0, local 0) {
b0():
    v0: i32 = special tid.x
    v1: i32 = const 0x1
    jump b1(v0)
b1(v2: i32):
    v3: i32 = add v2, v1
    v4: i1 = cmp.lt_u v3, v0
    branch v4, b1(v3), b2
b2():
    store.global v3, v3
    exit
}
";

#[test]
fn definitions_and_uses_are_found() {
    let func = function(LOOP);
    let uses = Uses::new(&func);
    assert_eq!(uses.definition(Value(3)), Definition::Inst(Block(1), 0));
    assert_eq!(uses.definition(Value(2)), Definition::Param(Block(1), 0));
    let sites =
        [Site::Inst(Block(1), 1), Site::Term(Block(1)), Site::Inst(Block(2), 0), Site::Inst(Block(2), 0)];
    assert_eq!(uses.of(Value(3)), sites);
    assert!(uses.of(Value(4)).len() == 1 && uses.of(Value(0)).len() == 2);
}

#[test]
fn analyses_are_kept_until_they_no_longer_hold() {
    let mut func = function(LOOP);
    let mut analyses = Analyses::default();
    let kept = analyses.dominators(&func);
    assert!(kept.dominates(Block(1), Block(2)) && analyses.liveness(&func).live_in[2] == [Value(3)]);
    analyses.invalidate(Changed::Values);
    assert!(Rc::ptr_eq(&kept, &analyses.dominators(&func)));
    assert_eq!(analyses.stale(&func), None);
    // A pass that says nothing of the edge it removed is found out.
    func.blocks[1].term = crate::Term::Exit;
    assert_eq!(analyses.stale(&func), Some("dominators"));
    analyses.invalidate(Changed::Graph);
    assert_eq!(analyses.stale(&func), None);
}

#[test]
fn irreducible_cycles_are_cycles() {
    let func = function(
        "kernel k (param 0, shared 0, local 0) {
b0():
    v0: i32 = special tid.x
    v1: i1 = trunc v0
    branch v1, b1, b2
b1():
    jump b2
b2():
    branch v1, b1, b3
b3():
    exit
}
",
    );
    let cycles = Cycles::new(&func);
    assert_eq!(cycles.cycles.len(), 1);
    assert!(!cycles.cycles[0].single_entry && cycles.depths() == [0, 1, 1, 0]);
}
