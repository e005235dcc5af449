//! Memory: spaces, sizes, faults, guards, atomics.

use super::*;
use hostwarp_ir::*;
use hostwarp_memory::{Access, FaultKind, map};

fn exit(mut b: Builder) -> Function {
    b.terminate(Term::Exit);
    b.finish()
}

/// All sizes of a load and a store.
const TYPES: [Type; 7] = [
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::I64X2,
    Type::new(Elem::I64, 4),
    Type::new(Elem::I64, 8),
];

/// How the addresses of neighbouring lanes lie.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Ascending,
    Descending,
    Same,
    Scattered,
}

/// Copies element `f(tid)` of the input, through a space, to element `tid` of the output.
fn copy(ty: Type, space: Space, pattern: Pattern, threads: u32) -> Function {
    let size = ty.bytes() as u64;
    let mut b = Builder::new("copy");
    let input = param(&mut b, 0);
    let output = param(&mut b, 1);
    let t = tid(&mut b);
    let i = match pattern {
        Pattern::Ascending => t,
        Pattern::Descending => {
            let last = b.iconst(Type::I32, u64::from(threads) - 1);
            b.sub(last, t)
        }
        Pattern::Same => b.iconst(Type::I32, 3),
        Pattern::Scattered => {
            let x = b.int_imm(IntBin::Mul, t, 7);
            b.int_imm(IntBin::RemU, x, u64::from(threads))
        }
    };
    let from = element(&mut b, input, i, size);
    let v = match space {
        Space::Global | Space::Generic => load(&mut b, space, from, ty),
        Space::Shared | Space::Local => {
            // In and out again at the pattern's place.
            let mine = element(&mut b, input, t, size);
            let v = load(&mut b, Space::Global, mine, ty);
            let zero = b.iconst(Type::I64, 0);
            let at = element(&mut b, zero, t, size);
            store(&mut b, space, at, v);
            let id = b.iconst(Type::I32, 0);
            let next = b.new_block();
            b.terminate(Term::Barrier { kind: BarrierKind::Sync, id, count: None, next: Target::new(next) });
            b.switch_to(next);
            let at = element(&mut b, zero, i, size);
            load(&mut b, space, at, ty)
        }
        Space::Const | Space::Param => {
            let base = b.iconst(Type::I64, if space == Space::Param { 64 } else { 0 });
            let at = element(&mut b, base, i, size);
            load(&mut b, space, at, ty)
        }
    };
    let to = element(&mut b, output, t, size);
    store(&mut b, Space::Global, to, v);
    b.func().info.shared_bytes = 64 * 1024;
    b.func().info.local_bytes = 64 * threads;
    exit(b)
}

#[test]
fn every_space_and_size_and_pattern() {
    for threads in [77, 64] {
        for ty in TYPES {
            for space in
                [Space::Global, Space::Generic, Space::Shared, Space::Local, Space::Const, Space::Param]
            {
                for pattern in [Pattern::Ascending, Pattern::Descending, Pattern::Same, Pattern::Scattered] {
                    check_copy(ty, space, pattern, threads);
                }
            }
        }
    }
}

fn check_copy(ty: Type, space: Space, pattern: Pattern, threads: u32) {
    let func = copy(ty, space, pattern, threads);
    let size = ty.bytes();
    let n = threads as usize;
    let data: Vec<u8> = (0..n * size).map(|i| (i * 31 + i / 251) as u8).collect();
    let program = Program::new(func, Assume::default());
    let device = device();
    let (input, output) = (device.alloc(data.len() as u64), device.alloc(data.len() as u64));
    let (input, output) = (input.expect("room"), output.expect("room"));
    device.write(input, &data).expect("inside");
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [threads, 1, 1]);
    let mut bytes = params(&[input, output]);
    bytes.resize(64, 0);
    bytes.extend(&data);
    launch.set_params(&bytes);
    launch.constant =
        std::sync::Arc::new(hostwarp_memory::Block::from_bytes(hostwarp_memory::Space::Const, &data));
    assert_eq!(run_all(&launch), Outcome::Done, "{ty} {space:?} {pattern:?}");
    let mut got = vec![0; data.len()];
    device.read(output, &mut got).expect("inside");
    for t in 0..n {
        let from = match pattern {
            Pattern::Ascending => t,
            Pattern::Descending => n - 1 - t,
            Pattern::Same => 3,
            Pattern::Scattered => t * 7 % n,
        };
        let want = match space {
            // Nobody else wrote there.
            Space::Local if from != t => vec![0; size],
            _ => data[from * size..][..size].to_vec(),
        };
        assert_eq!(got[t * size..][..size], want, "{ty} {space:?} {pattern:?} thread {t}");
    }
}

/// A kernel in which thread 40 alone does something wrong, and the fault it gives.
fn faulting(build: impl FnOnce(&mut Builder, Value, Value) -> Value, op: Op, ty: Type) -> (KernelFault, u64) {
    let mut b = Builder::new("bad");
    let base = param(&mut b, 0);
    let t = tid(&mut b);
    let is = b.cmp_imm(IntCmp::Eq, t, 40);
    let good = element(&mut b, base, t, 8);
    let bad = build(&mut b, base, t);
    let addr = b.select(is, bad, good);
    b.set_line(21);
    match op {
        Op::Store(_) => {
            let v = b.iconst(ty, 1);
            b.effect(op, &[addr, v], None);
        }
        Op::Atomic(..) => {
            let v = b.iconst(ty, 1);
            b.inst(op, &[addr, v], ty);
        }
        _ => {
            b.inst(op, &[addr], ty);
        }
    }
    let program = Program::new(exit(b), Assume::default());
    let device = device();
    let base = device.alloc_named(64 * 8, "numbers").expect("room");
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [64, 1, 1]);
    launch.set_params(&params(&[base]));
    let f = fault(run_all(&launch));
    assert_eq!((f.line, f.thread), (21, Some([40, 0, 0])), "{f}");
    (f, base)
}

#[test]
fn faults_name_the_thread_the_line_and_the_allocation() {
    let weak = Mem::weak(Space::Global);
    let (f, base) = faulting(|b, base, _| b.int_imm(IntBin::Add, base, 512), Op::Load(weak), Type::I32);
    let KernelFaultKind::Memory(m) = &f.kind else { panic!("{f}") };
    assert_eq!((m.kind, m.addr, m.size, m.access), (FaultKind::OutOfBounds, base + 512, 4, Access::Load));
    assert!(f.to_string().contains("(`numbers`)"), "{f}");
    let (f, _) = faulting(|b, base, _| b.int_imm(IntBin::Add, base, 2), Op::Store(weak), Type::I32);
    let KernelFaultKind::Memory(m) = &f.kind else { panic!("{f}") };
    assert_eq!((m.kind, m.access), (FaultKind::Misaligned { align: 4 }, Access::Store));
    let (f, _) = faulting(
        |b, _, _| b.iconst(Type::I64, 16),
        Op::Atomic(AtomicOp::Add, Mem::weak(Space::Generic)),
        Type::I32,
    );
    let KernelFaultKind::Memory(m) = &f.kind else { panic!("{f}") };
    assert_eq!((m.kind, m.access), (FaultKind::NullPointer, Access::Atomic));
    // A vector must be aligned as a whole.
    let (f, _) = faulting(|b, base, _| b.int_imm(IntBin::Add, base, 4), Op::Load(weak), Type::I32X2);
    let KernelFaultKind::Memory(m) = &f.kind else { panic!("{f}") };
    assert_eq!((m.kind, m.size), (FaultKind::Misaligned { align: 8 }, 8));
}

#[test]
fn a_column_that_runs_over_the_end_faults_in_its_first_bad_lane() {
    let mut b = Builder::new("over");
    let base = param(&mut b, 0);
    let t = tid(&mut b);
    let addr = element(&mut b, base, t, 4);
    b.set_line(5);
    let one = b.iconst(Type::I32, 1);
    store(&mut b, Space::Global, addr, one);
    let program = Program::new(exit(b), Assume::default());
    let device = device();
    let base = device.alloc(4 * 300).expect("room");
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [512, 1, 1]);
    launch.set_params(&params(&[base]));
    let f = fault(run_all(&launch));
    assert_eq!(f.thread, Some([300, 0, 0]), "{f}");
    // Lanes before it have stored, and memory goes on working.
    assert_eq!(read_u32(&device, base, 300), [1; 300]);
}

#[test]
fn read_only_spaces_and_windows() {
    for (space, addr, want) in [
        (Space::Param, 0, FaultKind::ReadOnly { space: hostwarp_memory::Space::Param }),
        (Space::Generic, map::CONST_BASE, FaultKind::ReadOnly { space: hostwarp_memory::Space::Const }),
        (Space::Shared, 256, FaultKind::OutOfWindow { space: hostwarp_memory::Space::Shared, len: 256 }),
        (Space::Local, 8, FaultKind::OutOfWindow { space: hostwarp_memory::Space::Local, len: 8 }),
    ] {
        let mut b = Builder::new("window");
        b.func().info.shared_bytes = 200;
        b.func().info.local_bytes = 8;
        let at = b.iconst(Type::I64, addr);
        let one = b.iconst(Type::I32, 1);
        store(&mut b, space, at, one);
        let program = Program::new(exit(b), Assume::default());
        let device = device();
        let mut launch = Launch::new(&program, &device, [1, 1, 1], [33, 1, 1]);
        launch.dynamic_shared = 56;
        let f = fault(run_all(&launch));
        let KernelFaultKind::Memory(m) = &f.kind else { panic!("{f}") };
        assert_eq!((m.kind, f.thread), (want, Some([0, 0, 0])));
    }
}

#[test]
fn a_guard_that_is_off_keeps_a_lane_from_memory() {
    let mut b = Builder::new("guard");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    let on = b.cmp_imm(IntCmp::LtU, t, 20);
    let addr = element(&mut b, out, t, 4);
    let null = b.iconst(Type::I64, 0);
    let addr = b.select(on, addr, null);
    let v = b.int_imm(IntBin::Add, t, 5);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[addr, v], Some(on));
    let read = b.guarded(Op::Load(Mem::weak(Space::Global)), &[addr], Some(on), Type::I32);
    let one = b.iconst(Type::I32, 1);
    let old =
        b.guarded(Op::Atomic(AtomicOp::Add, Mem::weak(Space::Global)), &[addr, one], Some(on), Type::I32);
    let sum = b.add(read, old);
    let second = b.int_imm(IntBin::Add, out, 256);
    store_at_tid(&mut b, second, sum);
    let got = run_words(&exit(b), 40, 64 + 40);
    for t in 0..20 {
        assert_eq!((got[t], got[64 + t]), (t as u32 + 6, 2 * (t as u32 + 5)));
    }
    assert_eq!(got[20..64], [0; 44]);
    assert_eq!(got[84..104], [0; 20], "a lane whose guard is off gets 0");
}

#[test]
fn stores_and_atomics_go_in_lane_order() {
    let mut b = Builder::new("order");
    let out = param(&mut b, 0);
    let t = tid(&mut b);
    store(&mut b, Space::Global, out, t);
    let mem = Mem::weak(Space::Global);
    let second = b.int_imm(IntBin::Add, out, 4);
    let old = b.inst(Op::Atomic(AtomicOp::Exch, mem), &[second, t], Type::I32);
    let rest = b.int_imm(IntBin::Add, out, 8);
    store_at_tid(&mut b, rest, old);
    let got = run_words(&exit(b), 70, 72);
    assert_eq!(got[0], 69);
    assert_eq!(got[1], 69);
    assert_eq!(got[2], 0);
    assert!(got[3..].iter().enumerate().all(|(i, v)| *v == i as u32));
}

#[test]
fn atomics_do_what_they_say_in_every_space() {
    let model = |op: AtomicOp, old: u64, v: u64, bits: u32| -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let s = |x: u64| (x << (64 - bits)) as i64 >> (64 - bits);
        let r = match op {
            AtomicOp::Exch => v,
            AtomicOp::Add => old.wrapping_add(v),
            AtomicOp::And => old & v,
            AtomicOp::Or => old | v,
            AtomicOp::Xor => old ^ v,
            AtomicOp::MinU => old.min(v),
            AtomicOp::MaxU => old.max(v),
            AtomicOp::MinS => {
                if s(old) < s(v) {
                    old
                } else {
                    v
                }
            }
            AtomicOp::MaxS => {
                if s(old) > s(v) {
                    old
                } else {
                    v
                }
            }
            AtomicOp::Inc => {
                if old >= v {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > v {
                    v
                } else {
                    old - 1
                }
            }
            AtomicOp::Cas => {
                if old == 0x55 {
                    v
                } else {
                    old
                }
            }
            AtomicOp::FAdd { .. } | AtomicOp::System(_) => unreachable!(),
        };
        r & mask
    };
    use AtomicOp::*;
    for op in [Exch, Add, And, Or, Xor, MinU, MinS, MaxU, MaxS, Inc, Dec, Cas] {
        for ty in [Type::I16, Type::I32, Type::I64] {
            if ty == Type::I16 && op != Cas {
                continue;
            }
            for space in [Space::Global, Space::Shared, Space::Generic] {
                for start in [0x55u64, 0, 0xffff_fff0, u64::MAX - 2] {
                    let start = start & ty.elem.mask();
                    let operand = |t: u64| (t.wrapping_mul(0x1_0001_0003) ^ 0x80) & ty.elem.mask();
                    let mut b = Builder::new("atomic");
                    b.func().info.shared_bytes = 64;
                    let out = param(&mut b, 0);
                    let cell = match space {
                        Space::Global => out,
                        Space::Shared => b.iconst(Type::I64, 8),
                        _ => b.iconst(Type::I64, map::SHARED_BASE + 8),
                    };
                    let t = tid(&mut b);
                    let first = b.cmp_imm(IntCmp::Eq, t, 0);
                    let init = b.iconst(ty, start);
                    b.effect(Op::Store(Mem::weak(space)), &[cell, init], Some(first));
                    let wide = b.zext(t, Elem::I64);
                    let v = b.int_imm(IntBin::Mul, wide, 0x1_0001_0003);
                    let v = b.int_imm(IntBin::Xor, v, 0x80);
                    let v = b.zext(v, ty.elem);
                    let expect = b.iconst(ty, 0x55);
                    let args: &[Value] = if op == Cas { &[cell, expect, v] } else { &[cell, v] };
                    let old = b.inst(Op::Atomic(op, Mem::weak(space)), args, ty);
                    let end = load(&mut b, space, cell, ty);
                    let (old, end) = (b.zext(old, Elem::I64), b.zext(end, Elem::I64));
                    let at = b.int_imm(IntBin::Add, out, 16);
                    let row = element(&mut b, at, t, 16);
                    let both = b.build(&[old, end]);
                    store(&mut b, Space::Global, row, both);
                    let got = run_words(&exit(b), 40, 4 + 160);
                    let at = |i: usize| u64::from(got[i]) | u64::from(got[i + 1]) << 32;
                    let mut now = start;
                    for t in 0..40 {
                        assert_eq!(at(4 + 4 * t), now, "{op:?} {ty} {space:?}: lane {t} from {start:#x}");
                        now = model(op, now, operand(t as u64), ty.bits());
                    }
                    assert_eq!(at(6), now, "{op:?} {ty} {space:?} at the end");
                }
            }
        }
    }
}

#[test]
fn float_atomics_add_and_flush() {
    for remote in [false, true] {
        let mut b = Builder::new("fadd");
        let out = param(&mut b, 0);
        let tiny = b.iconst(Type::I32, 1); // the smallest subnormal
        let op = Op::Atomic(AtomicOp::FAdd { remote }, Mem::weak(Space::Global));
        b.inst(op, &[out, tiny], Type::I32);
        let second = b.int_imm(IntBin::Add, out, 8);
        let half = b.iconst(Type::I64, 0.5f64.to_bits());
        b.inst(op, &[second, half], Type::I64);
        let got = run_words(&exit(b), 40, 4);
        assert_eq!(got[0], if remote { 0 } else { 40 });
        assert_eq!(u64::from(got[2]) | u64::from(got[3]) << 32, 20f64.to_bits());
    }
}

#[test]
fn stored_nans_are_canonical() {
    let mut b = Builder::new("nan");
    let out = param(&mut b, 0);
    let zero = b.fconst(Type::F32, 0);
    let nan = b.float(FBin::Div, Round::Nearest, false, zero, zero);
    let odd = b.iconst(Type::I32, 0xffc1_2345);
    let odd = b.from_bits(odd, Type::F32);
    store(&mut b, Space::Global, out, nan);
    let second = b.int_imm(IntBin::Add, out, 4);
    store(&mut b, Space::Global, second, odd);
    let h = b.iconst(Type::I32, 0x3c00_fe01);
    let h = b.from_bits(h, Type::F16X2);
    let third = b.int_imm(IntBin::Add, out, 8);
    store(&mut b, Space::Global, third, h);
    assert_eq!(run_words(&exit(b), 33, 3), [0x7fff_ffff, 0x7fff_ffff, 0x3c00_7fff]);
}
