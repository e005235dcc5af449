//! Control flow, barriers, warp operations, fairness, limits.

use super::*;
use hostwarp_ir::*;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn barrier(b: &mut Builder, id: u64, kind: BarrierKind, count: Option<u64>) {
    let id = b.iconst(Type::I32, id);
    let count = count.map(|c| b.iconst(Type::I32, c));
    let next = b.new_block();
    b.terminate(Term::Barrier { kind, id, count, next: Target::new(next) });
    b.switch_to(next);
}

fn warp_sync(b: &mut Builder, mask: u64) {
    let mask = b.iconst(Type::I32, mask);
    let next = b.new_block();
    b.terminate(Term::WarpSync { mask, next: Target::new(next) });
    b.switch_to(next);
}

/// `if cond { body }`, both ways meeting again.
fn when(b: &mut Builder, cond: Value, body: impl FnOnce(&mut Builder)) {
    let (yes, join) = (b.new_block(), b.new_block());
    b.branch(cond, yes, join);
    b.switch_to(yes);
    body(b);
    b.jump(join);
    b.switch_to(join);
}

fn exit(mut b: Builder) -> Function {
    b.terminate(Term::Exit);
    b.finish()
}

#[test]
fn lanes_go_their_own_ways_and_meet() {
    // Collatz steps: a loop every lane leaves at its own time, with a branch inside.
    let mut b = Builder::new("collatz");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let (x, n) = (b.new_var(Type::I32), b.new_var(Type::I32));
    let start = b.int_imm(IntBin::Add, t, 1);
    let zero = b.iconst(Type::I32, 0);
    b.set(x, start);
    b.set(n, zero);
    let (head, body, done) = (b.new_block(), b.new_block(), b.new_block());
    b.jump(head);
    b.switch_to(head);
    let v = b.get(x);
    let c = b.cmp_imm(IntCmp::Ne, v, 1);
    b.branch(c, body, done);
    b.switch_to(body);
    let v = b.get(x);
    let bit = b.int_imm(IntBin::And, v, 1);
    let odd = b.cmp_imm(IntCmp::Ne, bit, 0);
    let half = b.int_imm(IntBin::ShrU, v, 1);
    b.set(x, half);
    when(&mut b, odd, |b| {
        let three = b.int_imm(IntBin::Mul, v, 3);
        let next = b.int_imm(IntBin::Add, three, 1);
        b.set(x, next);
    });
    let k = b.get(n);
    let k = b.int_imm(IntBin::Add, k, 1);
    b.set(n, k);
    b.jump(head);
    b.switch_to(done);
    let steps = b.get(n);
    store_at_tid(&mut b, out, steps);
    let func = exit(b);
    let collatz = |mut x: u32| {
        let mut n = 0;
        while x != 1 {
            x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
            n += 1;
        }
        n
    };
    for threads in [1, 31, 32, 33, 600, 1024] {
        let want: Vec<u32> = (1..=threads).map(collatz).collect();
        assert_eq!(run_words(&func, threads, threads as usize), want, "{threads} threads");
    }
}

#[test]
fn a_switch_takes_the_last_target_for_large_numbers() {
    let mut b = Builder::new("switch");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let join = b.new_block();
    let v = b.new_var(Type::I32);
    let cases: Vec<Block> = (0..3).map(|_| b.new_block()).collect();
    let index = b.int_imm(IntBin::Sub, t, 1);
    b.terminate(Term::Switch(index, cases.iter().map(|c| Target::new(*c)).collect()));
    for (n, case) in cases.iter().enumerate() {
        b.switch_to(*case);
        let x = b.iconst(Type::I32, 100 + n as u64);
        b.set(v, x);
        b.jump(join);
    }
    b.switch_to(join);
    let x = b.get(v);
    store_at_tid(&mut b, out, x);
    let func = exit(b);
    let want: Vec<u32> = (0..40).map(|t: u32| 100 + t.wrapping_sub(1).min(2)).collect();
    assert_eq!(run_words(&func, 40, 40), want);
}

#[test]
fn loop_values_are_handed_over_at_once() {
    // Fibonacci with two variables that swap: a parallel copy on the back-edge.
    let mut b = Builder::new("swap");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let (x, y, i) = (b.new_var(Type::I32), b.new_var(Type::I32), b.new_var(Type::I32));
    let (zero, one) = (b.iconst(Type::I32, 0), b.iconst(Type::I32, 1));
    b.set(x, t);
    b.set(y, one);
    b.set(i, zero);
    let (head, body, done) = (b.new_block(), b.new_block(), b.new_block());
    b.jump(head);
    b.switch_to(head);
    let k = b.get(i);
    let end = b.int_imm(IntBin::And, t, 7);
    let c = b.cmp(IntCmp::LtU, k, end);
    b.branch(c, body, done);
    b.switch_to(body);
    let (vx, vy) = (b.get(x), b.get(y));
    b.set(x, vy);
    b.set(y, vx);
    let k = b.get(i);
    let k = b.int_imm(IntBin::Add, k, 1);
    b.set(i, k);
    b.jump(head);
    b.switch_to(done);
    let (vx, vy) = (b.get(x), b.get(y));
    let hundred = b.int_imm(IntBin::Mul, vx, 1000);
    let r = b.add(hundred, vy);
    store_at_tid(&mut b, out, r);
    let func = exit(b);
    let want: Vec<u32> = (0..64).map(|t| if t % 8 % 2 == 0 { t * 1000 + 1 } else { 1000 + t }).collect();
    assert_eq!(run_words(&func, 64, 64), want);
}

/// Every thread puts its number into shared memory, waits, and reads its neighbour's from the other end.
fn reverse(id: u64, leave: bool) -> Function {
    let mut b = Builder::new("reverse");
    b.func().info.shared_bytes = 4096;
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let n = b.special(Special::Ntid(Axis::X));
    let at = b.int_imm(IntBin::Mul, t, 4);
    store(&mut b, Space::Shared, at, t);
    if leave {
        // Some threads go before the barrier; they count as arrived.
        let r = b.int_imm(IntBin::RemU, t, 3);
        let c = b.cmp_imm(IntCmp::Eq, r, 0);
        let (gone, stay) = (b.new_block(), b.new_block());
        b.branch(c, gone, stay);
        b.switch_to(gone);
        b.terminate(Term::Exit);
        b.switch_to(stay);
    }
    barrier(&mut b, id, BarrierKind::Sync, None);
    let last = b.int_imm(IntBin::Sub, n, 1);
    let other = b.sub(last, t);
    let at = b.int_imm(IntBin::Mul, other, 4);
    let v = load(&mut b, Space::Shared, at, Type::I32);
    let v = b.int_imm(IntBin::Add, v, 1);
    store_at_tid(&mut b, out, v);
    exit(b)
}

#[test]
fn a_barrier_waits_for_all_threads() {
    for threads in [32, 100, 512, 544, 1024] {
        let want: Vec<u32> = (1..=threads).rev().collect();
        assert_eq!(run_words(&reverse(0, false), threads, threads as usize), want);
        assert_eq!(run_words(&reverse(15, false), threads, threads as usize), want);
        let left: Vec<u32> = (0..threads).map(|t| if t % 3 == 0 { 0 } else { threads - t }).collect();
        assert_eq!(run_words(&reverse(1, true), threads, threads as usize), left);
    }
}

#[test]
fn a_budget_of_nothing_changes_nothing() {
    let func = reverse(0, true);
    for program in programs(&func) {
        let device = device();
        let out = device.alloc(4096).expect("room");
        let mut launch = Launch::new(&program, &device, [1, 1, 1], [1024, 1, 1]);
        launch.set_params(&params(&[out]));
        assert_eq!(run_with_budget(&launch, 0), Outcome::Done);
        let left: Vec<u32> = (0..1024).map(|t| if t % 3 == 0 { 0 } else { 1024 - t }).collect();
        assert_eq!(read_u32(&device, out, 1024), left);
    }
}

#[test]
fn producers_arrive_and_consumers_wait() {
    // Warp 1 writes and arrives without waiting; warp 0 waits for 64 threads, then reads.
    let mut b = Builder::new("pipe");
    b.func().info.shared_bytes = 128;
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let lane = b.special(Special::LaneId);
    let at = b.int_imm(IntBin::Mul, lane, 4);
    let c = b.cmp_imm(IntCmp::LtU, t, 32);
    let (consumer, producer, end) = (b.new_block(), b.new_block(), b.new_block());
    b.branch(c, consumer, producer);
    b.switch_to(producer);
    let v = b.int_imm(IntBin::Mul, t, 10);
    store(&mut b, Space::Shared, at, v);
    barrier(&mut b, 3, BarrierKind::Arrive, Some(64));
    b.jump(end);
    b.switch_to(consumer);
    barrier(&mut b, 3, BarrierKind::Sync, Some(64));
    let v = load(&mut b, Space::Shared, at, Type::I32);
    store_at_tid(&mut b, out, v);
    b.jump(end);
    b.switch_to(end);
    let func = exit(b);
    let want: Vec<u32> = (32..64).map(|t| t * 10).collect();
    assert_eq!(run_words(&func, 64, 32), want);
}

#[test]
fn barriers_that_never_complete_are_reported() {
    let mut b = Builder::new("stuck");
    let t = tid(&mut b);
    let c = b.cmp_imm(IntCmp::LtU, t, 5);
    let (few, many) = (b.new_block(), b.new_block());
    b.branch(c, few, many);
    b.switch_to(few);
    b.set_line(7);
    barrier(&mut b, 2, BarrierKind::Sync, None);
    b.terminate(Term::Exit);
    b.switch_to(many);
    b.set_line(9);
    barrier(&mut b, 0, BarrierKind::Sync, None);
    b.terminate(Term::Exit);
    let func = b.finish();
    let program = Program::new(func, Assume::default());
    let device = device();
    let launch = Launch::new(&program, &device, [1, 1, 1], [40, 1, 1]);
    let f = fault(run_all(&launch));
    let at = |id, line, threads: std::ops::Range<u32>| Waiting {
        at: WaitingAt::Barrier { id },
        line,
        threads: threads.collect(),
    };
    assert_eq!(f.kind, KernelFaultKind::Deadlock { waiting: vec![at(2, 7, 0..5), at(0, 9, 5..40)] });
    let text = f.to_string();
    assert!(text.contains("threads 0-4 wait at barrier 2 (line 7)"), "{text}");
    assert!(text.contains("kernel `stuck`") && text.contains("threads 5-39"), "{text}");
}

#[test]
fn a_wrong_barrier_is_a_fault() {
    for (id, count) in [(16, None), (3, Some(33)), (3, Some(0))] {
        let mut b = Builder::new("wrong");
        b.set_line(4);
        barrier(&mut b, id, BarrierKind::Sync, count);
        let program = Program::new(exit(b), Assume::default());
        let device = device();
        let launch = Launch::new(&program, &device, [1, 1, 1], [64, 1, 1]);
        let f = fault(run_all(&launch));
        assert_eq!(f.kind, KernelFaultKind::BadBarrier { id: id as u32, count: count.map(|c| c as u32) });
        assert_eq!((f.line, f.thread), (4, Some([0, 0, 0])));
    }
}

#[test]
fn warps_exchange_values() {
    // A butterfly sum, then who holds the maximum by ballot.
    let mut b = Builder::new("warp");
    let out = param(&mut b, 0);
    let lane = b.special(Special::LaneId);
    let t = tid(&mut b);
    let mut sum = b.mul(t, t);
    for d in [16, 8, 4, 2, 1] {
        warp_sync(&mut b, 0xffff_ffff);
        let from = b.int_imm(IntBin::Xor, lane, d);
        let other = b.inst(Op::LaneRead, &[sum, from], Type::I32);
        sum = b.add(sum, other);
    }
    let p = b.cmp_imm(IntCmp::LtU, lane, 3);
    warp_sync(&mut b, 0xffff_ffff);
    let votes = b.inst(Op::Ballot, &[p], Type::I32);
    let r = b.add(sum, votes);
    store_at_tid(&mut b, out, r);
    let func = exit(b);
    let want: Vec<u32> =
        (0..96u32).map(|t| (t / 32 * 32..t / 32 * 32 + 32).map(|t| t * t).sum::<u32>() + 7).collect();
    assert_eq!(run_words(&func, 96, 96), want);
}

#[test]
fn only_lanes_that_run_are_seen() {
    let mut b = Builder::new("part");
    let out = param(&mut b, 0);
    let lane = b.special(Special::LaneId);
    let t = tid(&mut b);
    let r = b.int_imm(IntBin::And, lane, 1);
    let odd = b.cmp_imm(IntCmp::Ne, r, 0);
    let v = b.new_var(Type::I32);
    let everyone = b.inst(Op::ActiveMask, &[], Type::I32);
    b.set(v, everyone);
    when(&mut b, odd, |b| {
        // Lane + 1 is even and does not run: one's own value. Lane + 2 does.
        let one = b.int_imm(IntBin::Add, lane, 1);
        let own = b.inst(Op::LaneRead, &[t, one], Type::I32);
        let two = b.int_imm(IntBin::Add, lane, 2);
        let other = b.inst(Op::LaneRead, &[t, two], Type::I32);
        let yes = b.cmp_imm(IntCmp::LtU, lane, 4);
        let ballot = b.inst(Op::Ballot, &[yes], Type::I32);
        let mask = b.inst(Op::ActiveMask, &[], Type::I32);
        let high = b.int_imm(IntBin::Shl, other, 8);
        let x = b.add(own, high);
        let ballot = b.int_imm(IntBin::Shl, ballot, 24);
        let x = b.add(x, ballot);
        let wrong = b.cmp_imm(IntCmp::Ne, mask, 0xaaaa_aaaa);
        let wrong = b.zext(wrong, Elem::I32);
        let x = b.add(x, wrong);
        b.set(v, x);
    });
    let x = b.get(v);
    store_at_tid(&mut b, out, x);
    let func = exit(b);
    let want: Vec<u32> = (0..64u32)
        .map(|t| {
            let other = t / 32 * 32 + (t + 2) % 32;
            if t % 2 == 1 { t + (other << 8) + (0b1010 << 24) } else { u32::MAX }
        })
        .collect();
    assert_eq!(run_words(&func, 64, 64), want);
}

#[test]
fn warp_synchronisation_meets_across_branches_and_reports_who_is_missing() {
    let build = |second: u64| {
        let mut b = Builder::new("meet");
        let out = param(&mut b, 0);
        let lane = b.special(Special::LaneId);
        let c = b.cmp_imm(IntCmp::LtU, lane, 16);
        let (low, high, join) = (b.new_block(), b.new_block(), b.new_block());
        b.branch(c, low, high);
        b.switch_to(low);
        b.set_line(11);
        warp_sync(&mut b, 0xffff_ffff);
        b.jump(join);
        b.switch_to(high);
        b.set_line(12);
        warp_sync(&mut b, second);
        b.jump(join);
        b.switch_to(join);
        let one = b.iconst(Type::I32, 1);
        store_at_tid(&mut b, out, one);
        exit(b)
    };
    assert_eq!(run_words(&build(0xffff_ffff), 64, 64), vec![1; 64]);
    let program = Program::new(build(0xffff_0000), Assume::default());
    let device = device();
    let out = device.alloc(128).expect("room");
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [32, 1, 1]);
    launch.set_params(&params(&[out]));
    // The upper half goes on and exits, which lets the lower half go.
    assert_eq!(run_all(&launch), Outcome::Done);
    let program = Program::new(build(0xffff_0001), Assume::default());
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [32, 1, 1]);
    launch.set_params(&params(&[out]));
    let f = fault(run_all(&launch));
    let KernelFaultKind::Deadlock { waiting } = &f.kind else { panic!("{f}") };
    assert_eq!(waiting.len(), 2);
    assert_eq!(waiting[1].at, WaitingAt::WarpSync { mask: 0xffff_0001 });
    assert_eq!((waiting[1].line, waiting[1].threads[0]), (12, 16));
}

/// Takes a lock in global memory, adds 1 to a counter behind it without atomics, lets go.
fn spin_lock() -> Function {
    let mut b = Builder::new("lock");
    let lock = param(&mut b, 0);
    let (free, held) = (b.iconst(Type::I32, 0), b.iconst(Type::I32, 1));
    let counter = b.int_imm(IntBin::Add, lock, 4);
    let (spin, got) = (b.new_block(), b.new_block());
    b.jump(spin);
    b.switch_to(spin);
    let mem = Mem { space: Space::Global, order: Order::AcqRel, scope: Scope::Gpu };
    let old = b.inst(Op::Atomic(AtomicOp::Cas, mem), &[lock, free, held], Type::I32);
    let c = b.cmp_imm(IntCmp::Ne, old, 0);
    b.branch(c, spin, got);
    b.switch_to(got);
    let v = load(&mut b, Space::Global, counter, Type::I32);
    let v = b.int_imm(IntBin::Add, v, 1);
    store(&mut b, Space::Global, counter, v);
    b.inst(Op::Atomic(AtomicOp::Exch, mem), &[lock, free], Type::I32);
    exit(b)
}

#[test]
fn lanes_of_a_warp_can_wait_for_each_other() {
    assert_eq!(run_words(&spin_lock(), 96, 2), [0, 96]);
}

/// Runs a CTA of so many threads on two words, a few instructions at a time.
fn run_in_small_steps(func: Function, threads: u32) -> Vec<u32> {
    let program = Program::new(func, Assume::default());
    let device = device();
    let words = device.alloc(8).expect("room");
    let mut launch = Launch::new(&program, &device, [1; 3], [threads, 1, 1]);
    launch.set_params(&params(&[words]));
    let mut cta = Cta::new(&launch);
    cta.reset(&launch, [0; 3]);
    let steps = (0..1_000_000).find(|_| run(&launch, &mut cta, 24) == Outcome::Done);
    assert!(steps.is_some(), "no progress");
    let mut bytes = [0; 8];
    device.read(words, &mut bytes).expect("it is there");
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect()
}

#[test]
fn who_waits_makes_progress_however_small_budgets_are() {
    assert_eq!(run_in_small_steps(spin_lock(), 96), [0, 96]);
    assert_eq!(run_in_small_steps(flag(), 1024), [1, 0]);
}

#[test]
fn warps_can_wait_for_later_ones() {
    assert_eq!(run_words(&flag(), 1024, 1), [1]);
}

/// All threads but the last spin until the last one has spoken; it is in another batch.
fn flag() -> Function {
    let mut b = Builder::new("flag");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let c = b.cmp_imm(IntCmp::Eq, t, 1023);
    when(&mut b, c, |b| {
        let one = b.iconst(Type::I32, 1);
        store(b, Space::Global, out, one);
    });
    let (spin, done) = (b.new_block(), b.new_block());
    b.jump(spin);
    b.switch_to(spin);
    let mem = Mem { space: Space::Global, order: Order::Acquire, scope: Scope::Gpu };
    let v = b.inst(Op::Load(mem), &[out], Type::I32);
    let c = b.cmp_imm(IntCmp::Eq, v, 0);
    b.branch(c, spin, done);
    b.switch_to(done);
    exit(b)
}

#[test]
fn a_cta_that_spins_yields_to_others() {
    // CTA 0 waits for CTA 1.
    let mut b = Builder::new("ctas");
    let out = param(&mut b, 0);
    let cta = b.special(Special::Ctaid(Axis::X));
    let c = b.cmp_imm(IntCmp::Eq, cta, 0);
    let (spin, speak, done) = (b.new_block(), b.new_block(), b.new_block());
    b.branch(c, spin, speak);
    b.switch_to(speak);
    let one = b.iconst(Type::I32, 5);
    store(&mut b, Space::Global, out, one);
    b.jump(done);
    b.switch_to(spin);
    let v = load(&mut b, Space::Global, out, Type::I32);
    let c = b.cmp_imm(IntCmp::Eq, v, 0);
    b.branch(c, spin, done);
    b.switch_to(done);
    let program = Program::new(exit(b), Assume::default());
    let device = device();
    let out = device.alloc(4).expect("room");
    let mut launch = Launch::new(&program, &device, [2, 1, 1], [64, 1, 1]);
    launch.set_params(&params(&[out]));
    let mut first = Cta::new(&launch);
    first.reset(&launch, [0, 0, 0]);
    assert_eq!(run(&launch, &mut first, 1000), Outcome::Yield);
    assert_eq!(run(&launch, &mut first, 1000), Outcome::Yield);
    let mut second = Cta::new(&launch);
    second.reset(&launch, [1, 0, 0]);
    assert_eq!(run(&launch, &mut second, 1000), Outcome::Done);
    assert_eq!(run(&launch, &mut first, 1000), Outcome::Done);
}

#[test]
fn what_does_not_end_is_stopped() {
    let mut b = Builder::new("forever");
    let spin = b.new_block();
    b.jump(spin);
    b.switch_to(spin);
    b.jump(spin);
    let program = Program::new(b.finish(), Assume::default());
    let device = device();
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [256, 1, 1]);
    launch.limits = Limits::default().with_fuel(100_000);
    assert_eq!(fault(run_all(&launch)).kind, KernelFaultKind::OutOfFuel);
    launch.limits = Limits::default();
    launch.limits.deadline = Some(Instant::now() + Duration::from_millis(20));
    assert_eq!(fault(run_all(&launch)).kind, KernelFaultKind::Timeout);
    launch.limits = Limits::default();
    launch.limits.cancel.store(true, Ordering::Relaxed);
    assert_eq!(fault(run_all(&launch)).kind, KernelFaultKind::Cancelled);
}

#[test]
fn traps_name_thread_and_line() {
    let mut b = Builder::new("traps");
    let t = tid(&mut b);
    let y = b.special(Special::Tid(Axis::Y));
    let both = b.add(t, y);
    let c = b.cmp_imm(IntCmp::Eq, both, 10);
    let (bad, fine) = (b.new_block(), b.new_block());
    b.branch(c, bad, fine);
    b.switch_to(fine);
    b.terminate(Term::Exit);
    b.switch_to(bad);
    b.func().unsupported.push("tcgen05.mma".into());
    b.set_line(33);
    b.terminate(Term::Trap(TrapKind::Unsupported(0)));
    let func = b.finish();
    let program = Program::new(func, Assume::default());
    let device = device();
    let launch = Launch::new(&program, &device, [3, 2, 1], [8, 8, 1]);
    let f = fault(run_all(&launch));
    assert_eq!(f.kind, KernelFaultKind::Unsupported("tcgen05.mma".into()));
    assert_eq!((f.line, f.cta, f.thread), (33, [0, 0, 0], Some([7, 3, 0])));
    assert_eq!(
        f.to_string(),
        "kernel `traps`, line 33, CTA (0, 0, 0), thread (7, 3, 0): not supported yet: tcgen05.mma"
    );
}

#[test]
fn specials_say_where_a_lane_is() {
    let mut b = Builder::new("where");
    let out = param(&mut b, 0);
    let lane = b.special(Special::LaneId);
    let warp = b.special(Special::WarpId);
    let specials = [
        Special::Tid(Axis::X),
        Special::Tid(Axis::Y),
        Special::Tid(Axis::Z),
        Special::Ctaid(Axis::Y),
        Special::Ntid(Axis::Z),
        Special::Nctaid(Axis::X),
        Special::NWarpId,
    ];
    let first = b.int_imm(IntBin::Mul, warp, 32);
    let linear = b.add(first, lane);
    let cta = b.special(Special::Ctaid(Axis::X));
    let many = b.int_imm(IntBin::Mul, cta, 60);
    let linear = b.add(linear, many);
    let row = element(&mut b, out, linear, 4 * specials.len() as u64);
    for (n, s) in specials.into_iter().enumerate() {
        let v = b.special(s);
        let at = b.int_imm(IntBin::Add, row, n as u64 * 4);
        store(&mut b, Space::Global, at, v);
    }
    let program = Program::new(exit(b), Assume::default());
    let device = device();
    let out = device.alloc(2 * 60 * 28).expect("room");
    let mut launch = Launch::new(&program, &device, [2, 1, 1], [5, 4, 3]);
    launch.set_params(&params(&[out]));
    assert_eq!(run_all(&launch), Outcome::Done);
    let got = read_u32(&device, out, 2 * 60 * 7);
    for (i, row) in got.chunks_exact(7).enumerate() {
        let t = i as u32 % 60;
        assert_eq!(row, [t % 5, t / 5 % 4, t / 20, 0, 3, 2, 2], "{i}");
    }
}
