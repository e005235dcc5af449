//! What stops a kernel, and what must not: faults, traps, deadlocks, endless loops, a lock between lanes.

use crate::common::WAYS;
use crate::common::{compile, device, llvm, program, run};
use hostwarp_interp::{KernelFault, KernelFaultKind, Launch, Limits, Outcome};
use hostwarp_ir::{
    AtomicOp, BarrierKind, Function, IntBin, IntCmp, Mem, Op, Order, Scope, Target as Edge, Term, TrapKind,
    Type,
};
use hostwarp_jit::target::Target;
use hostwarp_memory::{DeviceMemory, FaultKind};

use crate::fixture::*;

/// Runs a kernel that must fault.
fn fault(
    func: &Function,
    block: u32,
    values: &[u64],
    device: &DeviceMemory,
    limits: Limits,
) -> Vec<KernelFault> {
    let mut faults = vec![];
    let (Some(llvm), Some(target)) = (llvm(), Target::host()) else { return faults };
    let mut limits = Some(limits);
    for (width, speculation) in WIDTHS.iter().flat_map(|w| WAYS.map(|speculation| (w, speculation))) {
        let program = program(func, [block, 1, 1], *width);
        let kernel = compile(&program, llvm, &target, speculation);
        let mut launch = Launch::new(&program, device, [1, 1, 1], [block, 1, 1]);
        launch.set_params(&params(values));
        launch.limits = limits.take().unwrap_or_else(|| Limits::default().with_fuel(100_000));
        match run(&kernel, &launch) {
            Outcome::Fault(fault) => faults.push(*fault),
            other => panic!("width {width}: {other:?}"),
        }
    }
    faults
}

#[test]
fn a_bad_address_is_told_with_its_line_and_thread() {
    let mut k = Kernel::new(1);
    let i = k.index();
    k.b.set_line(11);
    let at = k.element(0, i, 4);
    k.b.set_line(12);
    k.store(at, i);
    let func = k.finish();
    let device = device();
    let buffer = device.alloc_named(4 * 50, "out").unwrap();
    for fault in fault(&func, 64, &[buffer], &device, Limits::default()) {
        assert_eq!((fault.line, fault.thread), (12, Some([50, 0, 0])), "{fault}");
        let KernelFaultKind::Memory(memory) = &fault.kind else { panic!("{fault}") };
        assert_eq!(memory.kind, FaultKind::OutOfBounds);
        assert_eq!(memory.addr, buffer + 200);
        assert!(fault.to_string().contains("out"), "{fault}");
    }
    for fault in fault(&func, 64, &[buffer + 2], &device, Limits::default()) {
        let KernelFaultKind::Memory(memory) = &fault.kind else { panic!("{fault}") };
        assert_eq!((memory.kind, fault.thread), (FaultKind::Misaligned { align: 4 }, Some([0, 0, 0])));
    }
    for fault in fault(&func, 64, &[0], &device, Limits::default()) {
        let KernelFaultKind::Memory(memory) = &fault.kind else { panic!("{fault}") };
        assert_eq!(memory.kind, FaultKind::NullPointer);
    }
}

#[test]
fn traps_deadlocks_and_endless_loops_end() {
    let device = device();
    // Thread 37 traps.
    let mut k = Kernel::new(0);
    let i = k.index();
    let bad = k.b.cmp_imm(IntCmp::Eq, i, 37);
    let (trap, fine) = (k.b.new_block(), k.b.new_block());
    k.b.branch(bad, trap, fine);
    k.b.switch_to(trap);
    k.b.set_line(5);
    k.b.terminate(Term::Trap(TrapKind::Trap));
    k.b.switch_to(fine);
    for fault in fault(&k.finish(), 64, &[], &device, Limits::default()) {
        assert_eq!((&fault.kind, fault.line, fault.thread), (&KernelFaultKind::Trap, 5, Some([37, 0, 0])));
    }
    // An endless loop, all lanes together.
    let mut k = Kernel::new(0);
    let again = k.b.new_block();
    k.b.jump(again);
    k.b.switch_to(again);
    k.b.jump(again);
    for fault in fault(&k.finish(), 64, &[], &device, Limits::default().with_fuel(50_000)) {
        assert_eq!(fault.kind, KernelFaultKind::OutOfFuel);
    }
    // A barrier for more threads than there are.
    let mut k = Kernel::new(0);
    let next = k.b.new_block();
    let (id, count) = (k.b.iconst(Type::I32, 3), k.b.iconst(Type::I32, 128));
    k.b.terminate(Term::Barrier { kind: BarrierKind::Sync, id, count: Some(count), next: Edge::new(next) });
    k.b.switch_to(next);
    for fault in fault(&k.finish(), 64, &[], &device, Limits::default()) {
        assert!(matches!(fault.kind, KernelFaultKind::Deadlock { .. }), "{fault}");
    }
}

/// A lock between the lanes of a warp: the lane that holds it must get on while the others spin.
#[test]
fn lanes_of_a_warp_take_turns_at_a_lock() {
    let mut k = Kernel::new(2);
    let (free, taken) = (k.b.iconst(Type::I32, 0), k.b.iconst(Type::I32, 1));
    let [again, got, end] = [(); 3].map(|()| k.b.new_block());
    k.b.jump(again);
    k.b.switch_to(again);
    let strong = Mem { order: Order::Acquire, scope: Scope::Gpu, ..GLOBAL };
    let old = k.b.inst(Op::Atomic(AtomicOp::Cas, strong), &[k.params[0], free, taken], Type::I32);
    let mine = k.b.cmp_imm(IntCmp::Eq, old, 0);
    k.b.branch(mine, got, again);
    k.b.switch_to(got);
    // Not atomic: only the lock keeps it right.
    let volatile = Mem { order: Order::Volatile, scope: Scope::Gpu, ..GLOBAL };
    let count = k.b.inst(Op::Load(volatile), &[k.params[1]], Type::I32);
    let count = k.b.int_imm(IntBin::Add, count, 1);
    k.b.effect(Op::Store(volatile), &[k.params[1], count], None);
    k.b.inst(Op::Atomic(AtomicOp::Exch, strong), &[k.params[0], free], Type::I32);
    k.b.jump(end);
    k.b.switch_to(end);
    let func = k.finish();
    everywhere(
        &func,
        1,
        [64, 1, 1],
        WARP,
        |d| vec![upload(d, &[0]), upload(d, &[0])],
        |d, p, what| assert_eq!(download(d, p[1], 1), [64], "{what}"),
    );
}
