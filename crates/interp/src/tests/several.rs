//! CTAs that run as one: each keeps its own shared and local memory, barriers and place in the grid.

use super::*;
use hostwarp_ir::*;

const GRID: [u32; 3] = [7, 2, 1];
const BLOCK: [u32; 3] = [16, 16, 1];

fn exit(mut b: Builder) -> Function {
    b.terminate(Term::Exit);
    b.finish()
}

fn barrier(b: &mut Builder) {
    let id = b.iconst(Type::I32, 0);
    let next = b.new_block();
    b.terminate(Term::Barrier { kind: BarrierKind::Sync, id, count: None, next: Target::new(next) });
    b.switch_to(next);
}

/// `x · a + y · b`.
fn linear(b: &mut Builder, x: Value, a: u64, y: Value, c: u64) -> Value {
    let x = b.int_imm(IntBin::Mul, x, a);
    let y = b.int_imm(IntBin::Mul, y, c);
    b.add(x, y)
}

/// Threads exchange values through shared memory in every pattern that the engine knows, CTAs with odd numbers once more.
fn exchange() -> Function {
    let mut b = Builder::new("exchange");
    b.func().info.shared_bytes = 1024;
    b.func().info.local_bytes = 4;
    let out = param(&mut b, 0);
    let [x, y] = [Axis::X, Axis::Y].map(|a| b.special(Special::Tid(a)));
    let [cx, cy] = [Axis::X, Axis::Y].map(|a| b.special(Special::Ctaid(a)));
    let cta = linear(&mut b, cx, 10_000, cy, 1_000_000);
    let thread = linear(&mut b, x, 1, y, 100);
    let value = b.add(cta, thread);
    let mine = linear(&mut b, x, 4, y, 64);
    let zero = b.iconst(Type::I32, 0);
    store(&mut b, Space::Shared, mine, value);
    store(&mut b, Space::Local, zero, value);
    barrier(&mut b);
    let across = linear(&mut b, x, 64, y, 4);
    let row = b.int_imm(IntBin::Mul, y, 64);
    let column = b.int_imm(IntBin::Mul, x, 4);
    let mut sum = load(&mut b, Space::Local, zero, Type::I32);
    for (at, factor) in [(across, 3), (row, 5), (column, 7), (zero, 11)] {
        let v = load(&mut b, Space::Shared, at, Type::I32);
        let v = b.int_imm(IntBin::Mul, v, factor);
        sum = b.add(sum, v);
    }
    let var = b.new_var(Type::I32);
    b.set(var, sum);
    let odd = b.int_imm(IntBin::And, cx, 1);
    let odd = b.cmp_imm(IntCmp::Ne, odd, 0);
    let (again, join) = (b.new_block(), b.new_block());
    b.branch(odd, again, join);
    b.switch_to(again);
    barrier(&mut b);
    store(&mut b, Space::Shared, mine, sum);
    barrier(&mut b);
    let v = load(&mut b, Space::Shared, across, Type::I32);
    b.set(var, v);
    b.jump(join);
    b.switch_to(join);
    let v = b.get(var);
    let number = linear(&mut b, cx, 1, cy, u64::from(GRID[0]));
    let number = b.int_imm(IntBin::Mul, number, 256);
    let in_cta = linear(&mut b, x, 1, y, 16);
    let number = b.add(number, in_cta);
    let at = element(&mut b, out, number, 4);
    store(&mut b, Space::Global, at, v);
    exit(b)
}

#[test]
fn ctas_keep_to_themselves() {
    let value = |cta: u32, x: u32, y: u32| cta / GRID[0] * 1_000_000 + cta % GRID[0] * 10_000 + y * 100 + x;
    let sum = |cta: u32, x: u32, y: u32| {
        let at = |x, y| value(cta, x, y);
        at(x, y) + 3 * at(y, x) + 5 * at(0, y) + 7 * at(x, 0) + 11 * at(0, 0)
    };
    let ctas = GRID[0] * GRID[1];
    let want: Vec<u32> = (0..ctas * 256)
        .map(|t| {
            let (cta, x, y) = (t / 256, t % 16, t / 16 % 16);
            if cta % GRID[0] % 2 == 1 { sum(cta, y, x) } else { sum(cta, x, y) }
        })
        .collect();
    let rooms: [fn(&Launch) -> Cta; 2] = [Cta::new, Cta::for_some];
    for program in programs(&exchange()) {
        for (room, budget) in rooms.into_iter().flat_map(|r| [(r, u64::MAX), (r, 0)]) {
            let device = device();
            let out = device.alloc(want.len() as u64 * 4).expect("room");
            let mut launch = Launch::new(&program, &device, GRID, BLOCK);
            launch.set_params(&params(&[out]));
            assert!(Cta::for_some(&launch).room() > 1);
            assert_eq!(run_in(&launch, budget, room), Outcome::Done);
            assert_eq!(read_u32(&device, out, want.len()), want);
        }
    }
}

#[test]
fn a_fault_names_the_cta_of_the_thread() {
    let mut b = Builder::new("bad");
    let out = param(&mut b, 0);
    let [x, y] = [Axis::X, Axis::Y].map(|a| b.special(Special::Tid(a)));
    let [cx, cy] = [Axis::X, Axis::Y].map(|a| b.special(Special::Ctaid(a)));
    let thread = linear(&mut b, x, 1, y, 16);
    let cta = linear(&mut b, cx, 1, cy, 10);
    let all = linear(&mut b, cta, 256, thread, 1);
    let is = b.cmp_imm(IntCmp::Eq, all, 13 * 256 + 2 * 16 + 5);
    let good = element(&mut b, out, thread, 4);
    let bad = b.int_imm(IntBin::Add, good, 1 << 20);
    let at = b.select(is, bad, good);
    store(&mut b, Space::Global, at, x);
    let func = exit(b);
    for program in programs(&func) {
        let device = device();
        let out = device.alloc(1024).expect("room");
        let mut launch = Launch::new(&program, &device, GRID, BLOCK);
        launch.set_params(&params(&[out]));
        let fault = fault(run_all(&launch));
        assert_eq!((fault.cta, fault.thread), ([3, 1, 0], Some([5, 2, 0])));
    }
}
