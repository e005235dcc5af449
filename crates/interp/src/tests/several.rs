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

/// Fewer and fewer threads of each CTA add what others have left in shared memory: whole warps, the first lanes of one, some that begin
/// in the middle, a step that one CTA does without, and another number of lanes in each.
#[test]
fn some_lanes_of_every_cta() {
    let steps =
        [(0, 256, 256), (0, 128, 128), (64, 64, 128), (0, 48, 96), (32, 16, 32), (0, 8, 16), (0, 7, 40)];
    let mut b = Builder::new("fewer");
    b.func().info.shared_bytes = 2048;
    let out = param(&mut b, 0);
    let (x, cx) = (tid(&mut b), b.special(Special::Ctaid(Axis::X)));
    let value = linear(&mut b, cx, 1000, x, 1);
    let mine = b.int_imm(IntBin::Mul, x, 4);
    for at in [0, 1024] {
        let at = b.int_imm(IntBin::Add, mine, at);
        store(&mut b, Space::Shared, at, value);
    }
    for (n, (first, count, distance)) in steps.into_iter().enumerate() {
        barrier(&mut b);
        let number = b.int_imm(IntBin::Sub, x, first);
        // CTAs do not agree in the last step.
        let more = b.int_imm(IntBin::Mul, cx, u64::from(n == steps.len() - 1));
        let count = b.int_imm(IntBin::Add, more, count);
        let is = b.cmp(IntCmp::LtU, number, count);
        // The last CTA does without the third.
        let here = b.cmp_imm(IntCmp::Ne, cx, if n == 2 { u64::from(GRID[0]) - 1 } else { 99 });
        let zero = b.iconst(Type::I1, 0);
        let is = b.select(here, is, zero);
        let (then, join) = (b.new_block(), b.new_block());
        b.branch(is, then, join);
        b.switch_to(then);
        let other = b.int_imm(IntBin::Add, mine, distance * 4);
        let [own, other] = [mine, other].map(|at| load(&mut b, Space::Shared, at, Type::I32));
        let other = b.int_imm(IntBin::Mul, other, 3);
        let sum = b.add(own, other);
        store(&mut b, Space::Shared, mine, sum);
        b.jump(join);
        b.switch_to(join);
    }
    barrier(&mut b);
    let v = load(&mut b, Space::Shared, mine, Type::I32);
    let number = linear(&mut b, cx, 256, x, 1);
    let at = element(&mut b, out, number, 4);
    store(&mut b, Space::Global, at, v);
    let func = exit(b);
    let mut want = vec![];
    for cta in 0..GRID[0] {
        let mut shared: Vec<u32> = (0..512).map(|i| cta * 1000 + i % 256).collect();
        for (n, (first, count, distance)) in steps.into_iter().enumerate() {
            let before = shared.clone();
            let count = count + if n == steps.len() - 1 { u64::from(cta) } else { 0 };
            if n != 2 || cta != GRID[0] - 1 {
                for x in first..first + count {
                    let (x, other) = (x as usize, (x + distance) as usize);
                    shared[x] = before[x].wrapping_add(before[other].wrapping_mul(3));
                }
            }
        }
        want.extend_from_slice(&shared[..256]);
    }
    let rooms: [fn(&Launch) -> Cta; 2] = [Cta::new, Cta::for_some];
    for program in programs(&func) {
        for room in rooms {
            let device = device();
            let out = device.alloc(want.len() as u64 * 4).expect("room");
            let mut launch = Launch::new(&program, &device, [GRID[0], 1, 1], [256, 1, 1]);
            launch.set_params(&params(&[out]));
            assert_eq!(run_in(&launch, u64::MAX, room), Outcome::Done);
            assert_eq!(read_u32(&device, out, want.len()), want);
        }
    }
}

/// Where a thread of a block of so many along x and y finds an operand, as the factors of its x and y in words of shared memory.
fn patterns(block: [u32; 3]) -> [(u32, u32); 5] {
    let row = block[0];
    [(0, row), (1, 0), (1, row), (0, 0), (block[1], 1)]
}

/// Products of what lies in shared memory in all patterns, each argument in each, as one number; then once more with what a thread has
/// overwritten between the load and the use.
fn products(block: [u32; 3]) -> Function {
    let mut b = Builder::new("products");
    let threads = block[0] * block[1];
    b.func().info.shared_bytes = threads * 4;
    let out = param(&mut b, 0);
    let [x, y] = [Axis::X, Axis::Y].map(|a| b.special(Special::Tid(a)));
    let cx = b.special(Special::Ctaid(Axis::X));
    let thread = linear(&mut b, x, 1, y, block[0].into());
    let value = linear(&mut b, cx, 100, thread, 1);
    let own = b.inst(Op::IntToF { signed: true, round: Round::Nearest }, &[value], Type::F32);
    let bits = b.inst(Op::ToBits, &[own], Type::I32);
    let mine = b.int_imm(IntBin::Mul, thread, 4);
    store(&mut b, Space::Shared, mine, bits);
    barrier(&mut b);
    let fma = Op::Fma { round: Round::Nearest, ftz: false };
    let at = patterns(block).map(|(a, c)| linear(&mut b, x, (a * 4).into(), y, (c * 4).into()));
    let mut sum = b.iconst(Type::I32, 0);
    let mut count = |b: &mut Builder, product: Value| {
        let bits = b.inst(Op::ToBits, &[product], Type::I32);
        let shifted = b.int_imm(IntBin::Mul, sum, 31);
        sum = b.add(shifted, bits);
        sum
    };
    let get = |b: &mut Builder, n: usize| match at.get(n) {
        Some(at) => {
            let bits = load(b, Space::Shared, *at, Type::I32);
            b.inst(Op::FromBits, &[bits], Type::F32)
        }
        None => own,
    };
    for n in 0..6 * 6 * 6 {
        let args = [n / 36, n / 6 % 6, n % 6].map(|n| get(&mut b, n));
        let product = b.inst(fma, &args, Type::F32);
        count(&mut b, product);
    }
    barrier(&mut b);
    let loaded = get(&mut b, 2);
    let zero = b.iconst(Type::I32, 0);
    store(&mut b, Space::Shared, mine, zero);
    let product = b.inst(fma, &[loaded, own, own], Type::F32);
    let sum = count(&mut b, product);
    let number = linear(&mut b, cx, threads.into(), thread, 1);
    let at = element(&mut b, out, number, 4);
    store(&mut b, Space::Global, at, sum);
    exit(b)
}

#[test]
fn products_of_what_lies_in_shared_memory() {
    for block in [[16, 16, 1], [32, 8, 1], [8, 8, 1], [256, 1, 1], [48, 2, 1], [1, 64, 1]] {
        let threads = block[0] * block[1];
        let value = |cta: u32, thread: u32| (cta * 100 + thread) as f32;
        let want = |t: u32| {
            let (cta, x, y) = (t / threads, t % threads % block[0], t % threads / block[0]);
            let own = value(cta, t % threads);
            let get = |n: usize| patterns(block).get(n).map_or(own, |(a, c)| value(cta, a * x + c * y));
            let one = |n: usize| get(n / 36).mul_add(get(n / 6 % 6), get(n % 6));
            let all = (0..6 * 6 * 6).map(one).chain([own.mul_add(own, own)]);
            all.fold(0u32, |sum, v| sum.wrapping_mul(31).wrapping_add(v.to_bits()))
        };
        let want: Vec<u32> = (0..GRID[0] * threads).map(want).collect();
        let rooms: [fn(&Launch) -> Cta; 2] = [Cta::new, Cta::for_some];
        for program in programs(&products(block)) {
            for room in rooms {
                let device = device();
                let out = device.alloc(want.len() as u64 * 4).expect("room");
                let mut launch = Launch::new(&program, &device, [GRID[0], 1, 1], block);
                launch.set_params(&params(&[out]));
                assert_eq!(run_in(&launch, u64::MAX, room), Outcome::Done);
                assert_eq!(read_u32(&device, out, want.len()), want, "{block:?}");
            }
        }
    }
}

/// Which operands the products of a sum are of, one after the other: patterns, what a thread has in a register, or what lies in global memory.
fn factors() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..28).map(|n| (n, n % 7, (n / 2 + 3) % 7))
}

/// Sums of products of what lies in memory, looked at now and then, of what is somewhere in a register, everywhere the same or in memory itself; then
/// one between whose products memory changes.
fn sums(block: [u32; 3]) -> Function {
    let mut b = Builder::new("sums");
    let threads = block[0] * block[1];
    b.func().info.shared_bytes = threads * 4;
    let (out, input) = (param(&mut b, 0), param(&mut b, 1));
    let [x, y] = [Axis::X, Axis::Y].map(|a| b.special(Special::Tid(a)));
    let cx = b.special(Special::Ctaid(Axis::X));
    let thread = linear(&mut b, x, 1, y, block[0].into());
    let number = linear(&mut b, cx, threads.into(), thread, 1);
    let [value, next] = [0, 1].map(|more| {
        let value = linear(&mut b, cx, 100, thread, 1);
        b.int_imm(IntBin::Add, value, more)
    });
    let to_float = Op::IntToF { signed: true, round: Round::Nearest };
    let own = b.inst(to_float, &[value], Type::F32);
    let [bits, other] = [value, next].map(|v| {
        let float = b.inst(to_float, &[v], Type::F32);
        b.inst(Op::ToBits, &[float], Type::I32)
    });
    let mine = b.int_imm(IntBin::Mul, thread, 4);
    let here = element(&mut b, input, number, 4);
    store(&mut b, Space::Shared, mine, bits);
    barrier(&mut b);
    let fma = Op::Fma { round: Round::Nearest, ftz: false };
    let at = patterns(block).map(|(a, c)| linear(&mut b, x, (a * 4).into(), y, (c * 4).into()));
    let get = |b: &mut Builder, n: usize| {
        let bits = match (at.get(n), n) {
            (Some(at), _) => load(b, Space::Shared, *at, Type::I32),
            (None, 5) => return own,
            _ => load(b, Space::Global, here, Type::I32),
        };
        b.inst(Op::FromBits, &[bits], Type::F32)
    };
    let mut all = b.iconst(Type::I32, 0);
    let mut count = |b: &mut Builder, sum: Value| {
        let bits = b.inst(Op::ToBits, &[sum], Type::I32);
        let shifted = b.int_imm(IntBin::Mul, all, 31);
        all = b.add(shifted, bits);
        all
    };
    let one = b.iconst(Type::I32, 0x3f80_0000);
    let one = b.inst(Op::FromBits, &[one], Type::F32);
    for start in 0..3 {
        let mut sum = [own, one, own][start];
        if start == 2 {
            sum = get(&mut b, 2);
        }
        for (n, x, y) in factors() {
            let args = [get(&mut b, x), get(&mut b, y), sum];
            sum = b.inst(fma, &args, Type::F32);
            if n % 8 == 5 {
                count(&mut b, sum);
            }
        }
        count(&mut b, sum);
    }
    // A sum that is read once more when it has been added to.
    let mut sums = vec![own];
    for n in 0..4 {
        let [x, y] = [get(&mut b, n), get(&mut b, 1)];
        sums.push(b.inst(fma, &[x, y, sums[n]], Type::F32));
    }
    for sum in [sums[2], sums[4]] {
        count(&mut b, sum);
    }
    barrier(&mut b);
    let mut sum = own;
    for bits in [other, bits] {
        let factors = [get(&mut b, 2), get(&mut b, 2)];
        sum = b.inst(fma, &[factors[0], factors[1], sum], Type::F32);
        store(&mut b, Space::Shared, mine, bits);
    }
    let factors = [get(&mut b, 2), get(&mut b, 6)];
    sum = b.inst(fma, &[factors[0], factors[1], sum], Type::F32);
    let all = count(&mut b, sum);
    let at = element(&mut b, out, number, 4);
    store(&mut b, Space::Global, at, all);
    exit(b)
}

#[test]
fn sums_of_products_of_what_lies_in_memory() {
    for block in [[16, 16, 1], [32, 8, 1], [8, 8, 1], [256, 1, 1], [48, 2, 1], [1, 64, 1]] {
        let threads = block[0] * block[1];
        let value = |cta: u32, thread: u32| (cta * 100 + thread) as f32;
        let input = |t: u32| (t % 61) as f32 - 17.5;
        let want = |t: u32| {
            let (cta, x, y) = (t / threads, t % threads % block[0], t % threads / block[0]);
            let own = value(cta, t % threads);
            let get = |n: usize| match patterns(block).get(n) {
                Some((a, c)) => value(cta, a * x + c * y),
                None if n == 5 => own,
                None => input(t),
            };
            let mut seen: Vec<f32> = vec![];
            for start in [own, 1.0, own] {
                let mut sum = start;
                for (n, x, y) in factors() {
                    sum = get(x).mul_add(get(y), sum);
                    seen.extend((n % 8 == 5).then_some(sum));
                }
                seen.push(sum);
            }
            let sums: Vec<f32> = (0..4)
                .scan(own, |sum, n| {
                    *sum = get(n).mul_add(get(1), *sum);
                    Some(*sum)
                })
                .collect();
            seen.extend([sums[1], sums[3]]);
            let sum = own.mul_add(own, own);
            let sum = (own + 1.0).mul_add(own + 1.0, sum);
            seen.push(own.mul_add(input(t), sum));
            seen.iter().fold(0u32, |all, v| all.wrapping_mul(31).wrapping_add(v.to_bits()))
        };
        let want: Vec<u32> = (0..GRID[0] * threads).map(want).collect();
        let rooms: [fn(&Launch) -> Cta; 2] = [Cta::new, Cta::for_some];
        for program in programs(&sums(block)) {
            for room in rooms {
                let device = device();
                let out = device.alloc(want.len() as u64 * 4).expect("room");
                let words: Vec<u8> = (0..want.len() as u32).flat_map(|t| input(t).to_le_bytes()).collect();
                let from = device.alloc(words.len() as u64).expect("room");
                device.write(from, &words).expect("there");
                let mut launch = Launch::new(&program, &device, [GRID[0], 1, 1], block);
                launch.set_params(&params(&[out, from]));
                assert_eq!(run_in(&launch, u64::MAX, room), Outcome::Done);
                assert!(read_u32(&device, out, want.len()) == want, "{block:?}");
            }
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
