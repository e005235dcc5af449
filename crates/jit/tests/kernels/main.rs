//! Whole kernels, compiled and run: control flow, memory, barriers, warp ops, faults. What they must leave in memory is said in
//! plain Rust beside them.

#![cfg(target_arch = "x86_64")]

#[path = "../common/mod.rs"]
mod common;
mod fixture;
mod stops;

use std::sync::Arc;

use common::{Random, compile, device, program, run};
use hostwarp_interp::{Launch, Outcome};
use hostwarp_ir::{
    AtomicOp, Axis, Block, Elem, IntBin, IntCmp, Mem, Op, Order, Round, Scope, Space, Special,
    Target as Edge, Term, Type, Value,
};

use fixture::*;
use hostwarp_jit::Speculation;

#[test]
fn saxpy_with_a_ragged_end() {
    let mut k = Kernel::new(3);
    let i = k.index();
    k.only_below(i, 2);
    let (x_at, y_at) = (k.element(0, i, 4), k.element(1, i, 4));
    let (x, y) = (k.load(x_at, Type::I32), k.load(y_at, Type::I32));
    let (x, y) = (k.b.from_bits(x, Type::F32), k.b.from_bits(y, Type::F32));
    let a = k.b.fconst(Type::F32, 2.5f32.to_bits().into());
    let r = k.b.inst(Op::Fma { round: Round::Nearest, ftz: false }, &[a, x, y], Type::F32);
    let r = k.b.to_bits(r, Type::I32);
    k.store(y_at, r);
    let func = k.finish();
    let n = 1000usize;
    let x = |i: usize| i as f32 * 0.37 - 11.0;
    let y = |i: usize| 1.0 / (i as f32 + 1.0);
    for block in [32, 100, 256] {
        everywhere(
            &func,
            1024u32.div_ceil(block),
            [block, 1, 1],
            WIDTHS,
            |d| {
                let xs: Vec<u32> = (0..n).map(|i| x(i).to_bits()).collect();
                let ys: Vec<u32> = (0..n).map(|i| y(i).to_bits()).collect();
                vec![upload(d, &xs), upload(d, &ys), n as u64]
            },
            |d, p, what| {
                let expected: Vec<u32> = (0..n).map(|i| 2.5f32.mul_add(x(i), y(i)).to_bits()).collect();
                assert_eq!(download(d, p[1], n), expected, "{what}");
            },
        );
    }
}

/// Steps until 1 is reached, and the largest number on the way: a loop that every lane leaves at its own time, with a branch in
/// it, and values of the loop used after it.
#[test]
fn lanes_leave_a_loop_at_different_times() {
    let mut k = Kernel::new(1);
    let i = k.index();
    let (n, steps, most) = (k.b.new_var(Type::I32), k.b.new_var(Type::I32), k.b.new_var(Type::I32));
    let start = k.b.int_imm(IntBin::Add, i, 1);
    let zero = k.b.iconst(Type::I32, 0);
    k.b.set(n, start);
    k.b.set(steps, zero);
    k.b.set(most, start);
    let [head, body, odd, even, join, done] = [(); 6].map(|()| k.b.new_block());
    k.b.jump(head);
    k.b.switch_to(head);
    let now = k.b.get(n);
    let one = k.b.cmp_imm(IntCmp::Eq, now, 1);
    k.b.branch(one, done, body);
    k.b.switch_to(body);
    let low = k.b.int_imm(IntBin::And, now, 1);
    let is_odd = k.b.cmp_imm(IntCmp::Ne, low, 0);
    k.b.branch(is_odd, odd, even);
    k.b.switch_to(odd);
    let three = k.b.int_imm(IntBin::Mul, now, 3);
    let next = k.b.int_imm(IntBin::Add, three, 1);
    k.b.set(n, next);
    k.b.jump(join);
    k.b.switch_to(even);
    let next = k.b.int_imm(IntBin::ShrU, now, 1);
    k.b.set(n, next);
    k.b.jump(join);
    k.b.switch_to(join);
    let (next, count, high) = (k.b.get(n), k.b.get(steps), k.b.get(most));
    let count = k.b.int_imm(IntBin::Add, count, 1);
    let high = k.b.int(IntBin::MaxU, high, next);
    k.b.set(steps, count);
    k.b.set(most, high);
    k.b.jump(head);
    k.b.switch_to(done);
    let (count, high) = (k.b.get(steps), k.b.get(most));
    let pair = k.b.int_imm(IntBin::Mul, i, 2);
    let at = k.element(0, pair, 4);
    k.store(at, count);
    let at = k.b.int_imm(IntBin::Add, at, 4);
    k.store(at, high);
    let func = k.finish();
    for block in [64, 77] {
        everywhere(
            &func,
            3,
            [block, 1, 1],
            WIDTHS,
            |d| vec![upload(d, &vec![0; 6 * block as usize])],
            |d, p, what| {
                let expected: Vec<u32> = (0..3 * block)
                    .flat_map(|i| {
                        let (mut n, mut steps, mut most) = (i + 1, 0, i + 1);
                        while n != 1 {
                            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
                            steps += 1;
                            most = most.max(n);
                        }
                        [steps, most]
                    })
                    .collect();
                assert_eq!(download(d, p[0], expected.len()), expected, "{what}");
            },
        );
    }
}

/// for a in 0..8 { for c in 0.. { if c > lane-dependent { break } if odd { continue } sum += …; if … { return early } } }
#[test]
fn nested_loops_with_break_continue_and_return() {
    let mut k = Kernel::new(2);
    let i = k.index();
    let [outer, inner, inner_body, skip, keep, leave, latch, after_inner, done] =
        [(); 9].map(|()| k.b.new_block());
    let (a, c, sum) = (k.b.new_var(Type::I32), k.b.new_var(Type::I32), k.b.new_var(Type::I32));
    let zero = k.b.iconst(Type::I32, 0);
    for v in [a, c, sum] {
        k.b.set(v, zero);
    }
    let at = k.element(0, i, 4);
    let limit = k.b.int_imm(IntBin::RemU, i, 5);
    k.b.jump(outer);
    k.b.switch_to(outer);
    k.b.set(c, zero);
    k.b.jump(inner);
    k.b.switch_to(inner);
    let (c_now, a_now) = (k.b.get(c), k.b.get(a));
    let bound = k.b.add(limit, a_now);
    let over = k.b.cmp(IntCmp::LtU, bound, c_now);
    k.b.branch(over, after_inner, inner_body);
    k.b.switch_to(inner_body);
    let next = k.b.int_imm(IntBin::Add, c_now, 1);
    k.b.set(c, next);
    let mix = k.b.add(c_now, i);
    let third = k.b.int_imm(IntBin::RemU, mix, 3);
    let odd = k.b.cmp_imm(IntCmp::Eq, third, 0);
    k.b.branch(odd, skip, keep);
    k.b.switch_to(skip);
    k.b.jump(inner);
    k.b.switch_to(keep);
    let s = k.b.get(sum);
    let term = k.b.mul(c_now, a_now);
    let s = k.b.add(s, term);
    let s = k.b.int_imm(IntBin::Add, s, 1);
    k.b.set(sum, s);
    let too_much = k.b.cmp_imm(IntCmp::LtU, s, 160);
    k.b.branch(too_much, latch, leave);
    k.b.switch_to(leave);
    let minus = k.b.iconst(Type::I32, 0xffff_ffff);
    k.store(at, minus);
    k.exit();
    k.b.switch_to(latch);
    k.b.jump(inner);
    k.b.switch_to(after_inner);
    let a_now = k.b.get(a);
    let next = k.b.int_imm(IntBin::Add, a_now, 1);
    k.b.set(a, next);
    let more = k.b.cmp_imm(IntCmp::LtU, next, 6);
    k.b.branch(more, outer, done);
    k.b.switch_to(done);
    let s = k.b.get(sum);
    k.store(at, s);
    let func = k.finish();
    everywhere(
        &func,
        2,
        [90, 1, 1],
        WIDTHS,
        |d| vec![upload(d, &[0; 180]), 0],
        |d, p, what| {
            let expected: Vec<u32> = (0..180u32)
                .map(|i| {
                    let mut sum = 0;
                    for a in 0..6 {
                        for c in 0..=(i % 5 + a) {
                            if (c + i) % 3 == 0 {
                                continue;
                            }
                            sum += c * a + 1;
                            if sum >= 160 {
                                return u32::MAX;
                            }
                        }
                    }
                    sum
                })
                .collect();
            assert!(expected.contains(&u32::MAX) && expected.iter().any(|x| *x != u32::MAX));
            assert_eq!(download(d, p[0], 180), expected, "{what}");
        },
    );
}

/// Sums of 64 words of each CTA, through shared memory, with a barrier in a loop.
#[test]
fn a_tree_reduction_in_shared_memory() {
    for block in [64u32, 128, 96] {
        let mut k = Kernel::new(2);
        k.b.func().info.shared_bytes = 4 * block;
        let i = k.index();
        let tid = k.b.special(Special::Tid(Axis::X));
        let from = k.element(0, i, 4);
        let x = k.load(from, Type::I32);
        let own = k.b.int_imm(IntBin::Mul, tid, 4);
        k.b.effect(Op::Store(SHARED), &[own, x], None);
        k.sync();
        let stride = k.b.new_var(Type::I32);
        let half = k.b.iconst(Type::I32, u64::from(block.next_power_of_two() / 2));
        k.b.set(stride, half);
        let [head, body, add, join, done, last, end] = [(); 7].map(|()| k.b.new_block());
        k.b.jump(head);
        k.b.switch_to(head);
        let s = k.b.get(stride);
        let more = k.b.cmp_imm(IntCmp::Ne, s, 0);
        k.b.branch(more, body, done);
        k.b.switch_to(body);
        let below = k.b.cmp(IntCmp::LtU, tid, s);
        let other = k.b.add(tid, s);
        let there = k.b.cmp_imm(IntCmp::LtU, other, u64::from(block));
        let both = k.b.and(below, there);
        k.b.branch(both, add, join);
        k.b.switch_to(add);
        let other = k.b.int_imm(IntBin::Mul, other, 4);
        let y = k.b.inst(Op::Load(SHARED), &[other], Type::I32);
        let mine = k.b.inst(Op::Load(SHARED), &[own], Type::I32);
        let sum = k.b.add(mine, y);
        k.b.effect(Op::Store(SHARED), &[own, sum], None);
        k.b.jump(join);
        k.b.switch_to(join);
        k.sync();
        let s = k.b.get(stride);
        let s = k.b.int_imm(IntBin::ShrU, s, 1);
        k.b.set(stride, s);
        k.b.jump(head);
        k.b.switch_to(done);
        let first = k.b.cmp_imm(IntCmp::Eq, tid, 0);
        k.b.branch(first, last, end);
        k.b.switch_to(last);
        let total = k.b.inst(Op::Load(SHARED), &[own], Type::I32);
        let cta = k.b.special(Special::Ctaid(Axis::X));
        let at = k.element(1, cta, 4);
        k.store(at, total);
        k.b.jump(end);
        k.b.switch_to(end);
        let func = k.finish();
        let n = 4 * block as usize;
        everywhere(
            &func,
            4,
            [block, 1, 1],
            WIDTHS,
            |d| vec![upload(d, &(0..n as u32).map(|i| i * i + 7).collect::<Vec<_>>()), upload(d, &[0; 4])],
            |d, p, what| {
                let data = download(d, p[0], n);
                let expected: Vec<u32> = data.chunks(block as usize).map(|c| c.iter().sum()).collect();
                assert_eq!(download(d, p[1], 4), expected, "{what}");
            },
        );
    }
}

#[test]
fn atomics_count_in_global_and_shared_memory() {
    let mut k = Kernel::new(2);
    k.b.func().info.shared_bytes = 64;
    let i = k.index();
    let from = k.element(0, i, 4);
    let x = k.load(from, Type::I32);
    let bin = k.b.int_imm(IntBin::And, x, 15);
    let one = k.b.iconst(Type::I32, 1);
    let offset = k.b.int_imm(IntBin::Mul, bin, 4);
    k.b.inst(Op::Atomic(AtomicOp::Add, SHARED), &[offset, one], Type::I32);
    k.sync();
    let tid = k.b.special(Special::Tid(Axis::X));
    let few = k.b.cmp_imm(IntCmp::LtU, tid, 16);
    let mine = k.b.int_imm(IntBin::Mul, tid, 4);
    let count = k.b.guarded(Op::Load(SHARED), &[mine], Some(few), Type::I32);
    let to = k.element(1, tid, 4);
    k.b.guarded(Op::Atomic(AtomicOp::Add, GLOBAL), &[to, count], Some(few), Type::I32);
    let sixteen = k.b.int_imm(IntBin::Add, bin, 16);
    let to = k.element(1, sixteen, 4);
    k.b.inst(Op::Atomic(AtomicOp::MaxU, GLOBAL), &[to, x], Type::I32);
    let func = k.finish();
    let mut random = Random(99);
    let data: Vec<u32> = (0..400).map(|_| random.next() as u32).collect();
    everywhere(
        &func,
        4,
        [100, 1, 1],
        WIDTHS,
        |d| vec![upload(d, &data), upload(d, &[0; 32])],
        |d, p, what| {
            let mut expected = [0u32; 32];
            for x in &data {
                expected[*x as usize % 16] += 1;
                let most = &mut expected[16 + *x as usize % 16];
                *most = (*most).max(*x);
            }
            assert_eq!(download(d, p[1], 32), expected, "{what}");
        },
    );
}

/// All atomics on few places: what memory holds in the end does not depend on the order, but for what they answer only one
/// warp and ascending lanes will do.
#[test]
fn every_atomic_in_every_space() {
    use AtomicOp::*;
    let ops = [
        Exch,
        Cas,
        Add,
        And,
        Or,
        Xor,
        MinU,
        MinS,
        MaxU,
        MaxS,
        Inc,
        Dec,
        FAdd { remote: false },
        FAdd { remote: true },
    ];
    let apply = |op: AtomicOp, old: u32, x: u32, compare: u32| match op {
        Exch => x,
        Cas => {
            if old == compare {
                x
            } else {
                old
            }
        }
        Add => old.wrapping_add(x),
        And => old & x,
        Or => old | x,
        Xor => old ^ x,
        MinU => old.min(x),
        MinS => (old as i32).min(x as i32) as u32,
        MaxU => old.max(x),
        MaxS => (old as i32).max(x as i32) as u32,
        Inc => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        Dec => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        System(_) => unreachable!("not among them"),
        FAdd { remote } => {
            let flush = |x: u32| if remote && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x };
            let sum = f32::from_bits(flush(old)) + f32::from_bits(flush(x));
            if sum.is_nan() { 0x7fff_ffff } else { flush(sum.to_bits()) }
        }
    };
    for space in [Space::Global, Space::Shared, Space::Generic] {
        let mut k = Kernel::new(3);
        k.b.func().info.shared_bytes = 16 * 4 * ops.len() as u32;
        let mem = Mem::weak(space);
        let i = k.index();
        let from = k.element(0, i, 4);
        let x = k.load(from, Type::I32);
        let place = k.b.int_imm(IntBin::And, i, 3);
        let compare = k.b.int_imm(IntBin::And, i, 1);
        for (n, op) in ops.iter().enumerate() {
            let word = k.b.int_imm(IntBin::Add, place, 4 * n as u64);
            let at = match space {
                Space::Shared => k.b.int_imm(IntBin::Mul, word, 4),
                _ => k.element(1, word, 4),
            };
            let old = match op {
                Cas => k.b.inst(Op::Atomic(*op, mem), &[at, compare, x], Type::I32),
                _ => k.b.inst(Op::Atomic(*op, mem), &[at, x], Type::I32),
            };
            let slot = k.b.int_imm(IntBin::Mul, i, ops.len() as u64);
            let slot = k.b.int_imm(IntBin::Add, slot, n as u64);
            let to = k.element(2, slot, 4);
            k.store(to, old);
        }
        let func = k.finish();
        let mut random = Random(7);
        let data: Vec<u32> = (0..32)
            .map(|i| match i % 8 {
                0 => 0x0000_1234, // a subnormal
                1 => 0x7fc0_0001,
                2 => 3,
                3 => 0x3f80_0000,
                _ => random.next() as u32,
            })
            .collect();
        everywhere(
            &func,
            1,
            [32, 1, 1],
            WARP,
            |d| {
                vec![
                    upload(d, &data),
                    upload(d, &vec![0; 4 * ops.len()]),
                    upload(d, &vec![0; 32 * ops.len()]),
                ]
            },
            |d, p, what| {
                let mut memory = vec![0u32; 4 * ops.len()];
                let mut expected = vec![0u32; 32 * ops.len()];
                for (n, op) in ops.iter().enumerate() {
                    for (i, x) in data.iter().enumerate() {
                        let held = &mut memory[4 * n + i % 4];
                        expected[i * ops.len() + n] = *held;
                        *held = apply(*op, *held, *x, i as u32 % 2);
                    }
                }
                assert_eq!(download(d, p[2], expected.len()), expected, "{space:?}, {what}");
                if space != Space::Shared {
                    assert_eq!(download(d, p[1], memory.len()), memory, "{space:?}, {what}");
                }
            },
        );
    }
}

#[test]
fn guards_gathers_scatters_and_two_allocations() {
    // out[31 - i % 32 + …] = (i odd ? a : b)[perm(i)], only where perm(i) is small
    let mut k = Kernel::new(3);
    let i = k.index();
    let odd = k.b.int_imm(IntBin::And, i, 1);
    let odd = k.b.cmp_imm(IntCmp::Ne, odd, 0);
    let table = k.b.select(odd, k.params[0], k.params[1]);
    let mixed = k.b.int_imm(IntBin::Mul, i, 37);
    let mixed = k.b.int_imm(IntBin::RemU, mixed, 101);
    let small = k.b.cmp_imm(IntCmp::LtU, mixed, 60);
    let wide = k.b.zext(mixed, Elem::I64);
    let offset = k.b.int_imm(IntBin::Mul, wide, 4);
    let at = k.b.add(table, offset);
    let x = k.b.guarded(Op::Load(GLOBAL), &[at], Some(small), Type::I32);
    let flipped = k.b.xor(i, i);
    let flipped = k.b.int_imm(IntBin::Xor, flipped, 31);
    let flipped = k.b.xor(flipped, i);
    let to = k.element(2, flipped, 4);
    k.b.effect(Op::Store(GLOBAL), &[to, x], Some(small));
    let func = k.finish();
    everywhere(
        &func,
        1,
        [96, 1, 1],
        WIDTHS,
        |d| {
            let a: Vec<u32> = (0..60).map(|i| 1000 + i).collect();
            let b: Vec<u32> = (0..60).map(|i| 2000 + i).collect();
            vec![upload(d, &a), upload(d, &b), upload(d, &[7; 96])]
        },
        |d, p, what| {
            let mut expected = vec![7u32; 96];
            for i in 0..96u32 {
                let mixed = i * 37 % 101;
                if mixed < 60 {
                    expected[(i ^ 31) as usize] = if i % 2 == 1 { 1000 } else { 2000 } + mixed;
                }
            }
            assert_eq!(download(d, p[2], 96), expected, "{what}");
        },
    );
}

#[test]
fn narrow_wide_and_packed_accesses() {
    // Reverses bytes, half-words, 64-bit words and vectors of four within the CTA, each at its own stride.
    for ty in [
        Type::I8,
        Type::I16,
        Type::I64,
        Type::I8X4,
        Type::I32X2,
        Type::new(Elem::I32, 4),
        Type::I64X2,
        Type::F64,
    ] {
        let mut k = Kernel::new(2);
        let i = k.index();
        let size = ty.bytes() as u64;
        let limit = k.b.iconst(Type::I32, 53);
        let active = k.b.cmp(IntCmp::LtU, i, limit);
        let (run, end) = (k.b.new_block(), k.b.new_block());
        k.b.branch(active, run, end);
        k.b.switch_to(run);
        let from = k.element(0, i, size);
        let x = k.load(from, ty);
        let last = k.b.iconst(Type::I32, 52);
        let back = k.b.sub(last, i);
        let to = k.element(1, back, size);
        k.store(to, x);
        let doubled = k.b.int_imm(IntBin::Add, i, 53);
        let to = k.element(1, doubled, size);
        k.store(to, x);
        k.b.jump(end);
        k.b.switch_to(end);
        let func = k.finish();
        let data: Vec<u8> = (0..53 * size).map(|i| (i * 7 + i / 256) as u8).collect();
        everywhere(
            &func,
            1,
            [64, 1, 1],
            WIDTHS,
            |d| {
                let (a, b) = (d.alloc(53 * size).unwrap(), d.alloc(2 * 53 * size).unwrap());
                d.write(a, &data).unwrap();
                vec![a, b]
            },
            |d, p, what| {
                let mut expected: Vec<u8> = data.chunks(size as usize).rev().flatten().copied().collect();
                expected.extend(&data);
                let mut got = vec![0; expected.len()];
                d.read(p[1], &mut got).unwrap();
                assert_eq!(got, expected, "{ty}, {what}");
            },
        );
    }
}

#[test]
fn a_switch_that_splits_the_warp_and_stores_to_one_place() {
    let mut k = Kernel::new(1);
    let i = k.index();
    let which = k.b.int_imm(IntBin::RemU, i, 7);
    let cases: Vec<Block> = (0..4).map(|_| k.b.new_block()).collect();
    let join = k.b.new_block();
    let result = k.b.new_var(Type::I32);
    k.b.terminate(Term::Switch(which, cases.iter().map(|b| Edge::new(*b)).collect()));
    for (n, case) in cases.iter().enumerate() {
        k.b.switch_to(*case);
        let scaled = k.b.int_imm(IntBin::Mul, i, 10 + n as u64);
        k.b.set(result, scaled);
        k.b.jump(join);
    }
    k.b.switch_to(join);
    let r = k.b.get(result);
    let next = k.b.int_imm(IntBin::Add, i, 1);
    let at = k.element(0, next, 4);
    k.store(at, r);
    // All lanes store to one word: the last one stays.
    k.store(k.params[0], i);
    let func = k.finish();
    everywhere(
        &func,
        1,
        [70, 1, 1],
        WIDTHS,
        |d| vec![upload(d, &[0; 71])],
        |d, p, what| {
            let mut expected = vec![69];
            expected.extend((0..70u32).map(|i| i * (10 + (i % 7).min(3))));
            assert_eq!(download(d, p[0], 71), expected, "{what}");
        },
    );
}

#[test]
fn warp_ops_see_the_executing_lanes_only() {
    let mut k = Kernel::new(1);
    let i = k.index();
    let lane = k.b.special(Special::LaneId);
    let sixteen = k.b.int_imm(IntBin::Mul, i, 16);
    let base = k.element(0, sixteen, 4);
    let put = |k: &mut Kernel, slot: u64, v: Value| {
        let at = k.b.int_imm(IntBin::Add, base, 4 * slot);
        k.store(at, v);
    };
    let third = k.b.int_imm(IntBin::RemU, lane, 3);
    let is_third = k.b.cmp_imm(IntCmp::Eq, third, 0);
    let ballot = k.b.inst(Op::Ballot, &[is_third], Type::I32);
    put(&mut k, 0, ballot);
    let square = k.b.mul(i, i);
    let partner = k.b.int_imm(IntBin::Xor, lane, 5);
    let read = k.b.inst(Op::LaneRead, &[square, partner], Type::I32);
    put(&mut k, 1, read);
    let below = k.b.cmp_imm(IntCmp::LtU, lane, 20);
    let (some, join) = (k.b.new_block(), k.b.new_block());
    k.b.branch(below, some, join);
    k.b.switch_to(some);
    let active = k.b.inst(Op::ActiveMask, &[], Type::I32);
    put(&mut k, 2, active);
    let ballot = k.b.inst(Op::Ballot, &[is_third], Type::I32);
    put(&mut k, 3, ballot);
    let shifted = k.b.int_imm(IntBin::Add, lane, 3);
    let read = k.b.inst(Op::LaneRead, &[square, shifted], Type::I32);
    put(&mut k, 4, read);
    let wide = k.b.sext(square, Elem::I64);
    let read = k.b.inst(Op::LaneRead, &[wide, partner], Type::I64);
    let read = k.b.inst(Op::Trunc, &[read], Type::I32);
    put(&mut k, 5, read);
    let mask = k.b.iconst(Type::I32, 0xf_ffff);
    let next = k.b.new_block();
    k.b.terminate(Term::WarpSync { mask, next: Edge::new(next) });
    k.b.switch_to(next);
    let active = k.b.inst(Op::ActiveMask, &[], Type::I32);
    put(&mut k, 6, active);
    k.b.jump(join);
    k.b.switch_to(join);
    let mask = k.b.iconst(Type::I32, 0xffff_ffff);
    let next = k.b.new_block();
    k.b.terminate(Term::WarpSync { mask, next: Edge::new(next) });
    k.b.switch_to(next);
    let active = k.b.inst(Op::ActiveMask, &[], Type::I32);
    put(&mut k, 7, active);
    let func = k.finish();
    everywhere(
        &func,
        1,
        [80, 1, 1],
        WARP,
        |d| vec![upload(d, &vec![0; 80 * 16])],
        |d, p, what| {
            let mut expected = vec![0u32; 80 * 16];
            for i in 0..80u32 {
                let (lane, warp) = (i % 32, i / 32 * 32);
                let live = if warp == 64 { 16 } else { 32 };
                let mask = |n: u32| if n == 32 { u32::MAX } else { (1 << n) - 1 };
                let thirds = |n: u32| (0..n).filter(|l| l % 3 == 0).fold(0u32, |m, l| m | 1 << l);
                let square = |lane: u32| (warp + lane) * (warp + lane);
                let pick = |from: u32, n: u32| square(if from % 32 < n { from % 32 } else { lane });
                let e = &mut expected[16 * i as usize..];
                e[0] = thirds(live);
                e[1] = pick(lane ^ 5, live);
                if lane < 20 {
                    let inside = live.min(20);
                    e[2] = mask(inside);
                    e[3] = thirds(inside);
                    e[4] = pick(lane + 3, inside);
                    e[5] = pick(lane ^ 5, inside);
                    e[6] = mask(inside);
                }
                e[7] = mask(live);
            }
            assert_eq!(download(d, p[0], 80 * 16), expected, "{what}");
        },
    );
}

#[test]
fn local_constant_and_generic_memory() {
    let mut k = Kernel::new(2);
    (k.b.func().info.local_bytes, k.b.func().info.shared_bytes) = (32, 4 * 64);
    let i = k.index();
    let tid = k.b.special(Special::Tid(Axis::X));
    // local[i % 8] = i * 3; local[5] read back is 0 except where i % 8 is 5
    let slot = k.b.int_imm(IntBin::RemU, i, 8);
    let offset = k.b.int_imm(IntBin::Mul, slot, 4);
    let triple = k.b.int_imm(IntBin::Mul, i, 3);
    k.b.effect(Op::Store(Mem::weak(Space::Local)), &[offset, triple], None);
    let five = k.b.iconst(Type::I32, 20);
    let local = k.b.inst(Op::Load(Mem::weak(Space::Local)), &[five], Type::I32);
    // a generic pointer to shared memory
    let own = k.b.int_imm(IntBin::Mul, tid, 4);
    k.b.effect(Op::Store(SHARED), &[own, i], None);
    k.sync();
    let other = k.b.int_imm(IntBin::Xor, tid, 3);
    let other = k.b.int_imm(IntBin::Mul, other, 4);
    let other = k.b.zext(other, Elem::I64);
    let generic = k.b.int_imm(IntBin::Add, other, Space::Shared.window());
    let shared = k.b.inst(Op::Load(Mem::weak(Space::Generic)), &[generic], Type::I32);
    // and one to global memory
    let from = k.element(0, i, 4);
    let global = k.b.inst(Op::Load(Mem::weak(Space::Generic)), &[from], Type::I32);
    let four = k.b.int_imm(IntBin::RemU, i, 4);
    let four = k.b.int_imm(IntBin::Mul, four, 4);
    let constant = k.b.inst(Op::Load(Mem::weak(Space::Const)), &[four], Type::I32);
    let all = k.b.build(&[local, shared, global, constant]);
    let to = k.element(1, i, 16);
    k.b.effect(Op::Store(Mem { order: Order::Release, scope: Scope::Gpu, ..GLOBAL }), &[to, all], None);
    let func = k.finish();
    for (llvm, target, width) in settings(WIDTHS) {
        let program = program(&func, [64, 1, 1], width);
        let kernel = compile(&program, llvm, &target, Speculation::On);
        let device = device();
        let data: Vec<u32> = (0..128).map(|i| i * i).collect();
        let (a, b) = (upload(&device, &data), upload(&device, &[0; 512]));
        let mut launch = Launch::new(&program, &device, [2, 1, 1], [64, 1, 1]);
        launch.set_params(&params(&[a, b]));
        let bank = bytes(&[10, 20, 30, 40]);
        launch.constant = Arc::new(hostwarp_memory::Block::from_bytes(hostwarp_memory::Space::Const, &bank));
        assert_eq!(run(&kernel, &launch), Outcome::Done, "{target}, {width}");
        let expected: Vec<u32> = (0..128u32)
            .flat_map(|i| [if i % 8 == 5 { i * 3 } else { 0 }, i ^ 3, i * i, (i % 4 + 1) * 10])
            .collect();
        assert_eq!(download(&device, b, 512), expected, "{llvm:?}, {target}, width {width}");
    }
}

#[test]
fn threads_in_three_dimensions() {
    let mut k = Kernel::new(1);
    let [x, y, z] = [Axis::X, Axis::Y, Axis::Z].map(|a| k.b.special(Special::Tid(a)));
    let row = k.b.int_imm(IntBin::Mul, y, 10);
    let plane = k.b.int_imm(IntBin::Mul, z, 100);
    let code = k.b.add(x, row);
    let code = k.b.add(code, plane);
    let [nx, ny] = [Axis::X, Axis::Y].map(|a| k.b.special(Special::Ntid(a)));
    let linear = k.b.mul(z, ny);
    let linear = k.b.add(linear, y);
    let linear = k.b.mul(linear, nx);
    let linear = k.b.add(linear, x);
    let at = k.element(0, linear, 4);
    k.store(at, code);
    let func = k.finish();
    for block in [[5, 4, 3], [32, 2, 1], [8, 8, 1], [64, 1, 2]] {
        let n = block.iter().product::<u32>() as usize;
        everywhere(
            &func,
            1,
            block,
            WIDTHS,
            |d| vec![upload(d, &vec![0; n])],
            |d, p, what| {
                let [nx, ny, _] = block;
                let expected: Vec<u32> =
                    (0..n as u32).map(|i| i % nx + i / nx % ny * 10 + i / nx / ny * 100).collect();
                assert_eq!(download(d, p[0], n), expected, "{what}");
            },
        );
    }
}
