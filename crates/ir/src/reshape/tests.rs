use super::*;
use std::collections::HashSet;

fn kernel(insts: &str) -> Function {
    let text = format!(
        "kernel k (param 16, shared 0, local 0) {{\nb0():\n    v0: i32 = special ctaid.x\n    v1: i32 = special ntid.x\n    v2: i32 = special tid.x\n    v3: i32 = mul v0, v1\n    v4: i32 = add v3, v2\n{insts}}}\n"
    );
    let parsed = crate::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    parsed.kernels.into_iter().next().expect("a function")
}

fn reshaped(insts: &str, block: [u32; 3]) -> Option<Function> {
    let how = Reshape::of([100, 100, 1], block).expect("a block that does not suit");
    let func = reshape(&kernel(insts), &how)?;
    crate::verify(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    Some(func)
}

fn uses(func: &Function, wanted: impl Fn(Op) -> bool) -> bool {
    func.blocks.iter().flat_map(|b| &b.insts).any(|i| wanted(i.op))
}

#[test]
fn every_thread_has_one_place() {
    for (grid, block) in
        [([5, 3, 2], [13, 7, 1]), ([9, 1, 1], [1, 1, 1]), ([70, 2, 1], [4, 3, 5]), ([3, 4, 1], [33, 1, 2])]
    {
        let how = Reshape::of(grid, block).expect("a block that does not suit");
        let (new, mut places) = (how.new_grid(grid), HashSet::new());
        for cta in
            (0..new[2]).flat_map(|z| (0..new[1]).flat_map(move |y| (0..new[0]).map(move |x| [x, y, z])))
        {
            for x in (0..how.length).filter(|x| cta[0] * how.length + x < grid[0] * block[0]) {
                let (cta, thread) = how.place(cta, [x, 0, 0]);
                assert!((0..3).all(|a| cta[a] < grid[a] && thread[a] < block[a]), "{grid:?} of {block:?}");
                assert!(places.insert((cta, thread)), "{cta:?} {thread:?} twice");
            }
        }
        let all: u32 = grid.iter().chain(&block).product();
        assert_eq!(places.len() as u32, all, "{grid:?} of {block:?}");
    }
}

#[test]
fn blocks_that_suit_stay() {
    for (grid, block) in
        [([9, 9, 1], [32, 8, 1]), ([1, 9, 1], [4, 64, 1]), ([u32::MAX >> 1, 1, 1], [2, 1, 1])]
    {
        assert_eq!(Reshape::of(grid, block), None, "{grid:?} of {block:?}");
    }
}

#[test]
fn the_number_of_a_thread_needs_no_division() {
    let func = reshaped("    store.global v4, v4\n    exit\n", [13, 7, 1]).expect("independent");
    assert!(!uses(&func, |op| matches!(op, Op::Int(IntBin::DivU | IntBin::RemU))), "{func}");
}

#[test]
fn numbers_of_their_own_are_made_of_powers_of_two_only() {
    let own = "    store.global v4, v2\n    exit\n";
    assert!(reshaped(own, [13, 7, 1]).is_none());
    assert!(reshaped(own, [4, 7, 1]).is_some());
    // Nobody has any use for what is 0.
    assert!(reshaped(own, [1, 1, 1]).is_some());
}

#[test]
fn threads_that_know_of_each_other_stay_together() {
    for insts in [
        "    barrier.sync v0, b1\nb1():\n    exit\n",
        "    v5: i32 = special lane_id\n    store.global v4, v5\n    exit\n",
        "    store.shared v4, v4\n    exit\n",
        "    v5: i32 = active_mask\n    store.global v4, v5\n    exit\n",
        "    v5: i32 = load.global.volatile.cta v4\n    store.global v4, v5\n    exit\n",
    ] {
        assert!(reshaped(insts, [4, 8, 1]).is_none(), "{insts}");
    }
}
