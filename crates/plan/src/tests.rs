//! Plans of small functions built by hand.

use super::*;
use hostwarp_ir::{Axis, BarrierKind, Builder, Elem, IntBin, IntCmp, Mem, Space, Target, Type};

thread_local! {
    /// Steps of the analysis on this thread.
    pub(crate) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// Plans made on this thread take the worst for granted.
    pub(crate) static WORST: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn contiguous() -> Assume {
    Assume { contiguous_x: true, ..Assume::default() }
}

fn plan(func: &Function) -> Plan {
    hostwarp_ir::verify_primitive(func).expect("a valid function");
    let plan = Plan::new(func, contiguous());
    check(func, &plan);
    plan
}

fn tid(b: &mut Builder) -> Value {
    b.special(Special::Tid(Axis::X))
}

/// An i32 the same for all lanes that nothing is known of.
fn param(b: &mut Builder, n: u64) -> Value {
    b.func().info.param_bytes = 64;
    let at = b.iconst(Type::I64, n * 4);
    b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I32)
}

fn use_it(b: &mut Builder, v: Value) {
    let at = b.iconst(Type::I64, 0);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[at, v], None);
}

fn affine(stride: i64) -> Shape {
    Shape::Affine { stride, may_wrap: false, by_row: false }
}

fn wraps(stride: i64) -> Shape {
    Shape::Affine { stride, may_wrap: true, by_row: false }
}

/// What must hold of any plan.
fn check(func: &Function, plan: &Plan) {
    // Every reachable block once, loops contiguous, edges forward unless listed.
    let mut seen = vec![false; func.blocks.len()];
    for (at, b) in plan.order.iter().enumerate() {
        assert!(!std::mem::replace(&mut seen[b.index()], true), "{b} twice");
        assert_eq!(plan.position[b.index()] as usize, at);
        for t in func.block(*b).term.targets() {
            assert!(plan.position[t.block.index()] != u32::MAX, "{} is reachable", t.block);
            assert_eq!(plan.is_back_edge(*b, t.block), plan.back_edges.contains(&(*b, t.block)));
        }
    }
    for l in &plan.loops {
        assert_eq!(l.blocks.len() as u32, l.last - l.first + 1, "loop of {} has a hole", l.header);
        assert_eq!(plan.order[l.first as usize], l.header);
    }
    // What is alive together does not overlap.
    let original = crate::frame::originals(func, &plan.order, &plan.remat);
    for b in &plan.order {
        let mut taken: Vec<(u32, u32)> = vec![];
        let mut seen: Vec<Value> = vec![];
        for v in &plan.live_in[b.index()] {
            if seen.contains(&original[v.index()]) {
                continue;
            }
            seen.push(original[v.index()]);
            let slot = plan.frame.slot[v.index()].expect("a slot for what is alive");
            let end = slot + func.ty(*v).bytes() as u32;
            assert!(end <= plan.frame.bytes);
            assert!(!plan.frame.local[v.index()], "{v} lives from block to block");
            assert!(taken.iter().all(|(s, e)| end <= *s || slot >= *e), "{v} overlaps at {b}\n{plan}{func}");
            taken.push((slot, end));
        }
    }
}

#[test]
fn a_diamond_is_ordered_and_joined() {
    let mut b = Builder::new("diamond");
    let t = tid(&mut b);
    let n = param(&mut b, 0);
    let c = b.cmp(IntCmp::LtU, t, n);
    let (yes, no, join) = (b.new_block(), b.new_block(), b.new_block());
    let var = b.new_var(Type::I32);
    b.branch(c, yes, no);
    b.switch_to(yes);
    let one = param(&mut b, 1);
    b.set(var, one);
    b.jump(join);
    b.switch_to(no);
    let two = param(&mut b, 2);
    b.set(var, two);
    b.jump(join);
    b.switch_to(join);
    let v = b.get(var);
    use_it(&mut b, v);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[one.index()], Shape::Uniform);
    assert_eq!(p.shape[v.index()], Shape::Varying, "{p}");
    let at = |b: Block| p.position[b.index()];
    assert!(at(yes) < at(join) && at(no) < at(join));
    assert!(p.masked[yes.index()] && p.masked[no.index()] && !p.masked[join.index()]);
    assert!(p.loops.is_empty() && p.back_edges.is_empty());
    assert!(!p.suspends[join.index()]);
}

#[test]
fn a_uniform_branch_keeps_a_join_uniform() {
    let mut b = Builder::new("uniform");
    let n = param(&mut b, 0);
    let c = b.cmp_imm(IntCmp::LtU, n, 7);
    let (yes, join) = (b.new_block(), b.new_block());
    let var = b.new_var(Type::I32);
    b.set(var, n);
    b.branch(c, yes, join);
    b.switch_to(yes);
    let two = param(&mut b, 2);
    b.set(var, two);
    b.jump(join);
    b.switch_to(join);
    let v = b.get(var);
    let t = tid(&mut b);
    let s = b.add(v, t);
    use_it(&mut b, s);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[v.index()], Shape::Uniform);
    assert_eq!(p.shape[s.index()], affine(1));
    assert!(p.masked.iter().all(|m| !m) && p.divergent.iter().all(|d| !d));
    // A parameter is no invariant: which one it is depends on the way.
    assert_eq!(p.invariance[v.index()], Invariance::None);
    assert_eq!(p.invariance[c.index()], Invariance::Launch);
}

#[test]
fn short_rows_have_bases_of_their_own() {
    let mut b = Builder::new("tile");
    let (x, y) = (tid(&mut b), b.special(Special::Tid(Axis::Y)));
    let n = param(&mut b, 0);
    let row = b.mul(y, n);
    let i = b.add(row, x);
    let masked = b.int_imm(IntBin::And, y, 3);
    let of_row = b.zext(masked, Elem::I64);
    let loaded = b.inst(Op::Load(Mem::weak(Space::Shared)), &[masked], Type::F32);
    let x4 = b.int_imm(IntBin::Mul, x, 4);
    let gone = b.sub(i, row);
    let even = b.cmp(IntCmp::Eq, x, x4);
    let same_row = b.cmp(IntCmp::Eq, y, n);
    for v in [i, loaded, x4, gone] {
        use_it(&mut b, v);
    }
    for bit in [even, same_row] {
        let bit = b.zext(bit, Elem::I32);
        use_it(&mut b, bit);
    }
    let wide = b.inst(Op::Trunc, &[of_row], Type::I32);
    use_it(&mut b, wide);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = Plan::new(&f, Assume::for_block([16, 16, 1], 64));
    assert_eq!((p.assume.rows, p.assume.row(), p.assume.contiguous_x), (4, 16, true));
    let shape = |v: Value| p.shape[v.index()];
    let by_row = |stride| Shape::Affine { stride, may_wrap: false, by_row: true };
    assert_eq!((shape(x), shape(x4)), (affine(1), affine(4)));
    assert_eq!(
        (shape(y), shape(row), shape(masked), shape(of_row)),
        (by_row(0), by_row(0), by_row(0), by_row(0))
    );
    assert_eq!((shape(i), shape(gone)), (by_row(1), by_row(1)));
    // What one address per row holds, whatever its type; conditions are for all lanes.
    assert_eq!(shape(loaded), by_row(0));
    assert_eq!((shape(even), shape(same_row)), (Shape::Varying, Shape::Varying));
    // A row as long as the group is one row. Of other lengths a row is a piece, which may begin anywhere along x; shorter than four there is none.
    assert_eq!(Assume::for_block([64, 4, 1], 64).rows, 1);
    assert_eq!(Assume::for_block([4, 64, 1], 64).rows, 16);
    assert!(!Assume::for_block([6, 4, 1], 64).contiguous_x);
    let pieces = Plan::new(&f, Assume::for_block([48, 4, 1], 64));
    assert_eq!((pieces.assume.rows, pieces.assume.row()), (4, 16));
    assert_eq!((pieces.shape[x.index()], pieces.shape[y.index()]), (by_row(1), by_row(0)));
}

#[test]
fn in_a_cta_of_one_thread_all_is_uniform() {
    let mut b = Builder::new("one");
    let t = tid(&mut b);
    let lane = b.special(Special::LaneId);
    let far = b.zext(t, Elem::I64);
    let own = b.inst(Op::Load(Mem::weak(Space::Local)), &[t], Type::I32);
    let loaded = b.inst(Op::Load(Mem::weak(Space::Global)), &[far], Type::I32);
    for x in [lane, own, loaded] {
        use_it(&mut b, x);
    }
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = Plan::new(&f, Assume::for_block([1, 1, 1], 32));
    assert!([t, lane, own, loaded].iter().all(|v| p.shape[v.index()] == Shape::Uniform));
    let p = Plan::new(&f, Assume::for_block([2, 1, 1], 32));
    assert!([t, lane, own, loaded].iter().all(|v| p.shape[v.index()] != Shape::Uniform));
}

#[test]
fn addresses_are_affine() {
    let mut b = Builder::new("saxpy");
    let t = tid(&mut b);
    let cta = b.special(Special::Ctaid(Axis::X));
    let size = b.special(Special::Ntid(Axis::X));
    let first = b.mul(cta, size);
    let i = b.add(first, t);
    let wide = b.zext(i, Elem::I64);
    let off = b.int_imm(IntBin::Shl, wide, 2);
    let down = b.int_imm(IntBin::Mul, i, 0xffff_fff8);
    let base = b.special(Special::GlobalsBase);
    let addr = b.add(base, off);
    // mul.wide extends both of its operands.
    let four = b.iconst(Type::I32, 4);
    let four = b.zext(four, Elem::I64);
    let product = b.mul(four, wide);
    let back = b.inst(Op::Trunc, &[addr], Type::I32);
    let odd = b.int_imm(IntBin::Xor, i, 5);
    let gone = b.sub(i, t);
    let same = b.cmp(IntCmp::Eq, i, t);
    let v = b.inst(Op::Load(Mem::weak(Space::Global)), &[addr], Type::I32);
    let scaled = b.mul(i, first);
    for x in [down, back, odd, gone, v, scaled, product] {
        use_it(&mut b, x);
    }
    let bit = b.zext(same, Elem::I32);
    use_it(&mut b, bit);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    let shape = |v: Value| p.shape[v.index()];
    assert_eq!(shape(first), Shape::Uniform);
    assert_eq!(p.invariance[first.index()], Invariance::Cta);
    assert_eq!(shape(i), affine(1));
    assert_eq!(shape(wide), wraps(1));
    assert_eq!(shape(off), wraps(4));
    assert_eq!(shape(addr), wraps(4));
    assert_eq!(shape(product), wraps(4));
    assert_eq!(shape(back), wraps(4));
    assert_eq!(shape(down), affine(-8));
    assert_eq!(shape(gone), Shape::Uniform);
    assert_eq!(shape(same), Shape::Uniform);
    for v in [odd, v, scaled] {
        assert_eq!(shape(v), Shape::Varying);
    }
    // Without the assumption thread numbers are anything.
    let p = Plan::new(&f, Assume::default());
    assert_eq!(p.shape[i.index()], Shape::Varying);
    assert_eq!(p.shape[first.index()], Shape::Uniform);
    assert!(p.remat[t.index()] && p.frame.slot[t.index()].is_none());
}

/// A loop that counts to `end`, with `body` in it; answers the counter inside and after the loop.
fn counted(b: &mut Builder, end: Value, body: impl FnOnce(&mut Builder, Value)) -> (Value, Block, Block) {
    let (header, inside, exit) = (b.new_block(), b.new_block(), b.new_block());
    let k = b.new_var(Type::I32);
    let zero = b.iconst(Type::I32, 0);
    b.set(k, zero);
    b.jump(header);
    b.switch_to(header);
    let i = b.get(k);
    let c = b.cmp(IntCmp::LtU, i, end);
    b.branch(c, inside, exit);
    b.switch_to(inside);
    body(b, i);
    let next = b.int_imm(IntBin::Add, i, 1);
    b.set(k, next);
    b.jump(header);
    b.switch_to(exit);
    (i, header, exit)
}

#[test]
fn a_uniform_loop_in_a_guarded_region_stays_uniform() {
    let mut b = Builder::new("tail");
    let t = tid(&mut b);
    let n = param(&mut b, 0);
    let c = b.cmp(IntCmp::LtU, t, n);
    let (body, out) = (b.new_block(), b.new_block());
    b.branch(c, body, out);
    b.switch_to(body);
    let (i, header, exit) = counted(&mut b, n, use_it);
    b.jump(out);
    b.switch_to(out);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[i.index()], Shape::Uniform, "{p}{f}");
    assert!(p.masked[header.index()] && p.masked[exit.index()] && !p.masked[out.index()]);
    assert!(!p.divergent[header.index()]);
    assert_eq!(p.loops.len(), 1);
    assert!(!p.loops[0].divergent_exit);
    assert!(p.suspends[header.index()]);
}

#[test]
fn lanes_that_leave_a_loop_at_different_times_take_different_values_along() {
    let mut b = Builder::new("temporal");
    let t = tid(&mut b);
    let (i, header, exit) = counted(&mut b, t, |b, i| {
        let double = b.add(i, i);
        use_it(b, double);
    });
    use_it(&mut b, i);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[i.index()], Shape::Varying);
    assert!(p.divergent[header.index()] && p.loops[0].divergent_exit);
    assert!(p.masked[header.index()] && !p.masked[exit.index()], "{p}");

    // The same loop without a use behind it: lanes in it agree on the counter.
    let mut b = Builder::new("inside");
    let t = tid(&mut b);
    let (i, ..) = counted(&mut b, t, use_it);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[i.index()], Shape::Uniform, "{p}{f}");

    // Handed over at the exit, only what arrives there differs.
    let mut b = Builder::new("handed");
    let t = tid(&mut b);
    let var = b.new_var(Type::I32);
    let (header, exit) = (b.new_block(), b.new_block());
    let k = b.new_var(Type::I32);
    let zero = b.iconst(Type::I32, 0);
    b.set(k, zero);
    b.set(var, zero);
    b.jump(header);
    b.switch_to(header);
    let i = b.get(k);
    let next = b.int_imm(IntBin::Add, i, 1);
    b.set(k, next);
    let c = b.cmp(IntCmp::LtU, next, t);
    // Two ways out that hand over different values, so that the exit needs a parameter.
    let other = b.new_block();
    b.branch(c, header, other);
    b.switch_to(other);
    b.set(var, next);
    let d = b.cmp_imm(IntCmp::Eq, t, 9);
    let third = b.new_block();
    b.branch(d, third, exit);
    b.switch_to(third);
    b.set(var, t);
    b.jump(exit);
    b.switch_to(exit);
    let v = b.get(var);
    use_it(&mut b, v);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.shape[v.index()], Shape::Varying);
}

#[test]
fn an_exit_in_a_loop_masks_what_follows() {
    let mut b = Builder::new("early");
    let t = tid(&mut b);
    let n = param(&mut b, 0);
    let (i, header, exit) = counted(&mut b, n, |b, i| {
        let c = b.cmp(IntCmp::Eq, i, t);
        let (done, on) = (b.new_block(), b.new_block());
        b.branch(c, done, on);
        b.switch_to(done);
        b.terminate(Term::Exit);
        b.switch_to(on);
    });
    use_it(&mut b, i);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    // Whoever is left agrees on the counter, but there may be fewer.
    assert!(p.masked[header.index()] && p.masked[exit.index()], "{p}");
    assert!(!p.divergent[header.index()] && p.loops[0].divergent_exit);
    assert_eq!(p.shape[i.index()], Shape::Uniform);
}

#[test]
fn nested_loops_are_contiguous_with_the_exit_behind() {
    let mut b = Builder::new("nest");
    let n = param(&mut b, 0);
    let t = tid(&mut b);
    let mut inner = None;
    let (_, outer, exit) = counted(&mut b, n, |b, _| {
        let (_, h, e) = counted(b, t, |b, j| {
            // A way out of both loops from the middle.
            let c = b.cmp_imm(IntCmp::Eq, j, 77);
            let on = b.new_block();
            let dead = b.new_block();
            b.branch(c, dead, on);
            b.switch_to(dead);
            b.terminate(Term::Trap(hostwarp_ir::TrapKind::Trap));
            b.switch_to(on);
        });
        inner = Some((h, e));
    });
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    let (h, e) = inner.expect("built");
    let at = |b: Block| p.position[b.index()];
    assert_eq!(p.loops.len(), 2);
    assert_eq!((p.loops[0].header, p.loops[0].depth), (outer, 1));
    assert_eq!((p.loops[1].header, p.loops[1].depth, p.loops[1].parent), (h, 2, Some(0)));
    assert!(at(e) > p.loops[1].last && at(e) <= p.loops[0].last && at(exit) > p.loops[0].last);
    assert_eq!(p.back_edges.len(), 2);
    assert!(p.loops[1].divergent_exit);
    assert!(p.masked[h.index()]);
}

#[test]
fn an_irreducible_graph_has_an_order() {
    // entry -> a | b, a -> b, b -> a | exit
    let mut b = Builder::new("irreducible");
    let t = tid(&mut b);
    let c = b.cmp_imm(IntCmp::LtU, t, 3);
    let (x, y, out) = (b.new_block(), b.new_block(), b.new_block());
    b.branch(c, x, y);
    b.switch_to(x);
    use_it(&mut b, t);
    b.jump(y);
    b.switch_to(y);
    let n = param(&mut b, 0);
    let v = b.inst(Op::Load(Mem::weak(Space::Global)), &[n], Type::I32);
    let d = b.cmp_imm(IntCmp::Eq, v, 0);
    b.branch(d, x, out);
    b.switch_to(out);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert_eq!(p.back_edges.len(), 1);
    assert_eq!(p.loops.len(), 1);
    assert!(!p.loops[0].single_entry && p.loops[0].divergent_exit);
    assert_eq!(p.shape[v.index()], Shape::Uniform, "lanes that load together get the same");
    let (_, to) = p.back_edges[0];
    assert!(p.suspends[to.index()]);
}

#[test]
fn waiting_needs_what_is_used_behind_it() {
    let mut b = Builder::new("barrier");
    let t = tid(&mut b);
    let kept = b.inst(Op::Load(Mem::weak(Space::Global)), &[t], Type::I32);
    let gone = b.int_imm(IntBin::Add, kept, 3);
    use_it(&mut b, gone);
    let id = b.iconst(Type::I32, 0);
    let next = b.new_block();
    b.terminate(Term::Barrier { kind: BarrierKind::Sync, id, count: None, next: Target::new(next) });
    b.switch_to(next);
    let sum = b.add(kept, t);
    use_it(&mut b, sum);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    assert!(p.suspends[next.index()]);
    assert_eq!(p.live_in[next.index()], vec![kept]);
    assert!(p.frame.local[gone.index()] && p.frame.local[sum.index()]);
    assert!(!p.frame.local[kept.index()]);
    assert!(p.to_string().contains("suspends"));
}

#[test]
fn slots_are_shared_only_if_asked() {
    let mut b = Builder::new("chain");
    let t = tid(&mut b);
    let mut v = b.inst(Op::Load(Mem::weak(Space::Global)), &[t], Type::I32);
    for i in 0..50 {
        v = b.int_imm(IntBin::Add, v, i + 1);
    }
    use_it(&mut b, v);
    b.terminate(Term::Exit);
    let f = b.finish();
    let shared = Plan::new(&f, Assume::default());
    let apart = Plan::new(&f, Assume { share_slots: false, ..Assume::default() });
    assert_eq!(shared.frame.bytes, 4);
    assert_eq!(apart.frame.bytes, 51 * 4);
    assert_eq!(shared.pressure, 1);
}

#[test]
fn values_of_different_size_never_share_a_slot() {
    let mut b = Builder::new("sizes");
    let t = tid(&mut b);
    let a = b.inst(Op::Load(Mem::weak(Space::Global)), &[t], Type::I8);
    let wide = b.zext(a, Elem::I16);
    let wider = b.zext(wide, Elem::I32);
    use_it(&mut b, wider);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    let slots: Vec<_> = [a, wide, wider].map(|v| p.frame.slot[v.index()]).to_vec();
    assert!(slots[0] != slots[1] && slots[1] != slots[2] && slots[0] != slots[2], "{slots:?}");
}

#[test]
fn a_loop_computes_its_next_values_in_place() {
    let mut b = Builder::new("place");
    let t = tid(&mut b);
    let n = param(&mut b, 0);
    let x = b.new_var(Type::I32);
    b.set(x, t);
    let mut next = None;
    let (i, ..) = counted(&mut b, n, |b, i| {
        let old = b.get(x);
        let new = b.add(old, i);
        b.set(x, new);
        next = Some(new);
    });
    let end = b.get(x);
    use_it(&mut b, end);
    use_it(&mut b, i);
    b.terminate(Term::Exit);
    let f = b.finish();
    let p = plan(&f);
    let new = next.expect("built");
    let handed = f.blocks.iter().flat_map(|b| b.term.targets().into_iter().cloned());
    let old = handed
        .filter_map(|t| t.args.iter().position(|a| *a == new).map(|n| f.block(t.block).params[n]))
        .next()
        .expect("goes round");
    let slot = |v: Value| p.frame.slot[v.index()];
    assert_eq!(slot(old), slot(new));
    assert!(!p.frame.local[new.index()] && slot(old) != slot(i), "{p}{f}");
}

/// A copy of a parameter under another type lies where the parameter does: as long as it is needed nothing else is computed there. Torture has not
/// found this in 400 kernels.
#[test]
fn a_copy_that_is_needed_keeps_the_place_of_its_parameter() {
    let func = |of_old: bool| {
        let mut b = Builder::new("copy");
        let n = param(&mut b, 0);
        let x = b.new_var(Type::I32);
        b.set(x, n);
        let (body, end) = (b.new_block(), b.new_block());
        b.jump(body);
        b.switch_to(body);
        let old = b.get(x);
        let copy = b.from_bits(old, Type::F32);
        let new = b.int_imm(IntBin::Add, old, 1);
        b.set(x, new);
        let more = b.cmp_imm(IntCmp::LtU, new, 9);
        b.branch(more, body, end);
        b.switch_to(end);
        use_it(&mut b, if of_old { copy } else { n });
        b.terminate(Term::Exit);
        (b.finish(), old, new)
    };
    for of_old in [false, true] {
        let (f, old, new) = func(of_old);
        let p = plan(&f);
        assert_eq!(p.frame.slot[old.index()] == p.frame.slot[new.index()], !of_old, "{p}{f}");
    }
}

#[test]
fn a_switch_on_lanes_splits() {
    let mut b = Builder::new("switch");
    let t = tid(&mut b);
    let ends: Vec<Block> = (0..3).map(|_| b.new_block()).collect();
    b.terminate(Term::Switch(t, ends.iter().map(|e| Target::new(*e)).collect()));
    for e in &ends {
        b.switch_to(*e);
        b.terminate(Term::Exit);
    }
    let f = b.finish();
    let p = plan(&f);
    assert!(ends.iter().all(|e| p.masked[e.index()]));
    assert_eq!(p.divergent.iter().filter(|d| **d).count(), 1);
}

/// Rows of 20,000 diamonds, loops and ways out: what takes time with the square of the number of blocks takes minutes here.
#[test]
fn tens_of_thousands_of_blocks() {
    let mut b = Builder::new("many");
    let t = tid(&mut b);
    let sum = b.new_var(Type::I32);
    let (out, last) = (b.new_block(), 20_000);
    for i in 0..last {
        let old = b.get(sum);
        let less = b.cmp_imm(IntCmp::LtS, t, i);
        let (yes, next) = (b.new_block(), b.new_block());
        match i % 3 {
            0 => {
                b.branch(less, yes, next);
                b.switch_to(yes);
                let new = b.add(old, t);
                b.set(sum, new);
                b.jump(next);
            }
            1 => {
                b.jump(yes);
                b.switch_to(yes);
                let now = b.get(sum);
                let new = b.add(now, t);
                b.set(sum, new);
                let more = b.cmp_imm(IntCmp::LtS, new, i);
                b.branch(more, yes, next);
            }
            _ => {
                b.branch(less, out, yes);
                b.switch_to(yes);
                b.jump(next);
            }
        }
        b.switch_to(next);
    }
    b.jump(out);
    b.switch_to(out);
    let sum = b.get(sum);
    use_it(&mut b, sum);
    b.terminate(Term::Exit);
    let func = b.finish();
    let p = Plan::new(&func, contiguous());
    assert_eq!(p.order.len(), func.blocks.len());
    assert_eq!(p.loops.len(), 6667);
    assert!(p.loops.iter().all(|l| l.divergent_exit && l.depth == 1));
    // From the first way out on some lanes are gone; the last block has all of them again.
    assert!(!p.masked[Block::ENTRY.index()] && p.masked[p.order[p.order.len() - 2].index()]);
    assert_eq!(*p.order.last().unwrap(), out);
    assert!(!p.masked[out.index()]);
    assert_eq!(p.shape[func.block(out).params[0].index()], Shape::Varying);
}

/// Loops inside each other, all ended by a branch that lanes may take differently, or by one that they all take.
fn nest(depth: u32, diverges: bool) -> Function {
    nest_left(depth, diverges, false, false)
}

/// As above; each may be left to behind all of them, and each computes something that is needed there.
fn nest_left(depth: u32, diverges: bool, breaks: bool, values: bool) -> Function {
    let mut b = Builder::new("nest");
    let by = if diverges { tid(&mut b) } else { param(&mut b, 0) };
    let sum = b.new_var(Type::I32);
    b.set(sum, by);
    let heads: Vec<Block> = (0..depth).map(|_| b.new_block()).collect();
    let out = b.new_block();
    let mut computed = vec![];
    b.jump(heads[0]);
    for (i, head) in heads.iter().enumerate() {
        b.switch_to(*head);
        let old = b.get(sum);
        let new = b.int_imm(IntBin::Add, old, 1 + i as u64);
        b.set(sum, new);
        if values {
            computed.push(b.int(IntBin::Xor, new, by));
        }
        if breaks {
            let next = b.new_block();
            let ends = b.cmp_imm(IntCmp::Eq, new, i as u64);
            b.branch(ends, out, next);
            b.switch_to(next);
        }
        if let Some(next) = heads.get(i + 1) {
            b.jump(*next);
        }
    }
    for (i, head) in heads.iter().enumerate().rev() {
        let next = b.new_block();
        let old = b.get(sum);
        let new = b.add(old, by);
        b.set(sum, new);
        let again = b.cmp_imm(IntCmp::Eq, by, 5_000 + i as u64);
        b.branch(again, *head, next);
        b.switch_to(next);
    }
    for v in computed {
        use_it(&mut b, v);
    }
    b.jump(out);
    b.switch_to(out);
    let sum = b.get(sum);
    use_it(&mut b, sum);
    b.terminate(Term::Exit);
    b.finish()
}

/// Where looking at each cycle for each way out of it, or for each value needed behind it, would take time with the cube of their number, nothing is
/// looked at: 5,000 of them take a moment, and a few are looked at.
#[test]
fn cycles_left_all_at_once_are_not_all_looked_at() {
    for (breaks, values) in [(true, false), (false, true)] {
        let is_known = |depth| {
            let func = nest_left(depth, false, breaks, values);
            let p = Plan::new(&func, contiguous());
            assert_eq!(p.loops.len(), depth as usize);
            p.loops.iter().all(|l| !l.divergent_exit) && !p.masked[p.order[3].index()]
        };
        assert!(is_known(50) && is_known(200), "{breaks}");
        assert!(!is_known(5_000), "{breaks}");
    }
}

/// A list for each loop of what is in it, or looking at what is in each, takes memory or time with the square of the depth: gigabytes and minutes here.
#[test]
fn tens_of_thousands_of_loops_inside_each_other() {
    let depth = 20_000;
    let func = nest(depth, true);
    let p = Plan::new(&func, contiguous());
    assert_eq!(p.loops.len(), depth as usize);
    assert!(p.loops.iter().zip(1..).all(|(l, depth)| l.depth == depth && l.single_entry && l.divergent_exit));
    assert!(p.loops.windows(2).all(|l| l[0].blocks.as_ptr_range().end >= l[1].blocks.as_ptr_range().end));
    assert_eq!(p.loops[0].blocks.len(), 2 * depth as usize - 1);
    assert_eq!(p.loops[depth as usize - 1].blocks.len(), 1);
}

#[test]
fn steps_grow_with_the_depth_of_nested_loops() {
    let steps = |func: &Function| {
        STEPS.set(0);
        Plan::new(func, contiguous());
        STEPS.get()
    };
    for diverges in [false, true] {
        let counts = [250, 500, 1_000, 2_000].map(|depth| steps(&nest(depth, diverges)));
        for two in counts.windows(2) {
            assert!(10 * two[1] < 24 * two[0], "{counts:?}");
        }
    }
}

/// Lane by lane: what is said of a part of a lane's number is so in every group of every CTA, and what kernels do most is noticed.
#[test]
fn parts_of_a_lanes_number_are_what_the_plan_says() {
    use hostwarp_ir::eval::eval_op;
    let numbers: Vec<u64> =
        (0..=70).chain([96, 127, 128, 255, 256, 0xffff_ffe0, 0xffff_ffff, 0x8000_0000]).collect();
    let blocks = [[256, 1, 1], [48, 1, 1], [64, 4, 1], [8, 8, 1], [16, 2, 4], [33, 1, 1]];
    let mut noticed = 0;
    for special in [Special::Tid(Axis::X), Special::LaneId] {
        for (op, by) in IntBin::ALL.iter().flat_map(|op| numbers.iter().map(move |by| (*op, *by))) {
            let mut b = Builder::new("part");
            let number = b.special(special);
            let constant = b.iconst(Type::I32, by);
            let part = b.inst(Op::Int(op), &[number, constant], Type::I32);
            use_it(&mut b, part);
            b.terminate(Term::Exit);
            let func = b.finish();
            for (block, group) in blocks.iter().flat_map(|b| [8, 16, 32, 64, 256].map(|g| (*b, g))) {
                let assume = Assume::for_block(block, group);
                let plan = Plan::new(&func, assume);
                let threads = block.iter().product::<u32>();
                for first in (0..threads).step_by(group as usize) {
                    // Lanes behind the last thread have values as well: those that would come next.
                    let lanes: Vec<u64> = (first..(first + group).min(threads.next_multiple_of(group)))
                        .map(|t| match special {
                            Special::LaneId => t % 32,
                            _ if assume.one_dimensional => t,
                            _ => t % block[0],
                        })
                        .map(u64::from)
                        .collect();
                    let by = vec![by; lanes.len()];
                    let types = [Type::I32; 2];
                    let is = eval_op(Op::Int(op), &[&lanes, &by], &types, Type::I32, lanes.len()).unwrap();
                    let row = assume.row() as usize;
                    let follows = |stride: i64, by_row: bool, lane: usize| {
                        let base = is[if by_row { lane / row * row } else { 0 }];
                        base.wrapping_add((stride * (lane % row) as i64) as u64) & 0xffff_ffff
                    };
                    match plan.shape[part.index()] {
                        Shape::Varying => {}
                        Shape::Uniform => assert!(is.iter().all(|v| *v == is[0]), "{op:?} {by:?} {is:?}"),
                        Shape::Affine { stride, may_wrap, by_row } => {
                            assert!(!may_wrap);
                            for (lane, v) in is.iter().enumerate() {
                                assert_eq!(
                                    *v,
                                    follows(stride, by_row, lane),
                                    "{op:?} {} {block:?} {group}",
                                    by[0]
                                );
                            }
                        }
                    }
                }
                if matches!(
                    (op, by),
                    (IntBin::And | IntBin::RemU | IntBin::RemS, 31 | 32) | (IntBin::ShrU, 5)
                ) {
                    noticed += u32::from(plan.shape[part.index()] != Shape::Varying);
                }
            }
        }
    }
    assert!(noticed > 60, "{noticed}");
}
