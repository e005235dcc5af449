//! Kernels built by hand, run and looked at.

mod control;
mod fuzz;
mod memory;
mod ops;
mod several;

use crate::kernels::Level;
use crate::*;
use hostwarp_ir::{Builder, Function, IntBin, Mem, Op, Space, Special, Type, Value, verify_primitive};
use hostwarp_memory::DeviceMemory;
use hostwarp_plan::Assume;

pub(crate) fn device() -> DeviceMemory {
    DeviceMemory::with_capacity(64 << 20).expect("64 MiB of address space")
}

/// Runs all CTAs one after the other, and again where they yield.
pub(crate) fn run_all(launch: &Launch) -> Outcome {
    run_with_budget(launch, u64::MAX)
}

pub(crate) fn run_with_budget(launch: &Launch, budget: u64) -> Outcome {
    run_in(launch, budget, Cta::for_some)
}

/// Runs all CTAs in rooms that are made so.
pub(crate) fn run_in(launch: &Launch, budget: u64, room: fn(&Launch) -> Cta) -> Outcome {
    let mut ctas: Vec<Cta> = vec![];
    let mut next = 0;
    while next < launch.ctas() {
        let mut cta = room(launch);
        next += u64::from(cta.reset_some(launch, next, u64::MAX));
        ctas.push(cta);
    }
    loop {
        let mut open = false;
        for cta in ctas.iter_mut().filter(|c| !c.is_done()) {
            match run(launch, cta, budget) {
                Outcome::Done => {}
                Outcome::Yield => open = true,
                fault => return fault,
            }
        }
        if !open {
            return Outcome::Done;
        }
    }
}

pub(crate) fn fault(outcome: Outcome) -> KernelFault {
    match outcome {
        Outcome::Fault(f) => *f,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

/// Plans for the lowest level too, so that portable code is always covered.
pub(crate) fn programs(func: &Function) -> Vec<Program> {
    verify_primitive(func).expect("a valid function");
    let mut all: Vec<Program> =
        Level::available().iter().map(|l| Program::with_level(func.clone(), Assume::default(), *l)).collect();
    all.push(Program::new(func.clone(), Assume { share_slots: false, ..Assume::default() }));
    all
}

/// Parameter `n` of the kernel, each an i64.
pub(crate) fn param(b: &mut Builder, n: u32) -> Value {
    let at = b.iconst(Type::I64, u64::from(n) * 8);
    let size = &mut b.func().info.param_bytes;
    *size = (*size).max((n + 1) * 8);
    b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I64)
}

/// The thread's number in its (one-dimensional) CTA.
pub(crate) fn tid(b: &mut Builder) -> Value {
    b.special(Special::Tid(hostwarp_ir::Axis::X))
}

/// `base + index * size`, the index an i32.
pub(crate) fn element(b: &mut Builder, base: Value, index: Value, size: u64) -> Value {
    let wide = b.zext(index, hostwarp_ir::Elem::I64);
    let off = b.int_imm(IntBin::Mul, wide, size);
    b.add(base, off)
}

pub(crate) fn load(b: &mut Builder, space: Space, addr: Value, ty: Type) -> Value {
    b.inst(Op::Load(Mem::weak(space)), &[addr], ty)
}

pub(crate) fn store(b: &mut Builder, space: Space, addr: Value, v: Value) {
    b.effect(Op::Store(Mem::weak(space)), &[addr, v], None);
}

/// Stores an i32 at `base + tid * 4`.
pub(crate) fn store_at_tid(b: &mut Builder, base: Value, v: Value) {
    let t = tid(b);
    let addr = element(b, base, t, 4);
    store(b, Space::Global, addr, v);
}

pub(crate) fn read_u32(device: &DeviceMemory, addr: u64, n: usize) -> Vec<u32> {
    let mut bytes = vec![0; n * 4];
    device.read(addr, &mut bytes).expect("inside");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

pub(crate) fn params(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Runs a kernel of one CTA on a fresh output of so many words (the only parameter), on every level, and checks that all agree.
pub(crate) fn run_words(func: &Function, threads: u32, words: usize) -> Vec<u32> {
    let mut all: Vec<Vec<u32>> = vec![];
    for program in programs(func) {
        let device = device();
        let out = device.alloc(words as u64 * 4).expect("room");
        let mut launch = Launch::new(&program, &device, [1, 1, 1], [threads, 1, 1]);
        launch.set_params(&params(&[out]));
        assert_eq!(run_all(&launch), Outcome::Done, "{func}");
        all.push(read_u32(&device, out, words));
    }
    assert!(all.windows(2).all(|w| w[0] == w[1]), "levels disagree: {all:?}\n{func}");
    all.swap_remove(0)
}
