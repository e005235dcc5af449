//! How kernels are written, and run on every CPU step, library and width.

use crate::common::WAYS;
use crate::common::{compile, device, interpret, llvm, llvms, program, run, run_in_steps, targets};
use hostwarp_interp::{Launch, Outcome};
use hostwarp_ir::{
    AtomicOp, Axis, BarrierKind, Builder, Elem, Function, IntBin, IntCmp, Mem, Op, Space, Special,
    Target as Edge, Term, Type, Value,
};
use hostwarp_jit::llvm::Llvm;
use hostwarp_jit::target::Target;
use hostwarp_memory::DeviceMemory;

pub const GLOBAL: Mem = Mem::weak(Space::Global);
pub const SHARED: Mem = Mem::weak(Space::Shared);

/// A kernel with `params` 64-bit parameters.
pub struct Kernel {
    pub b: Builder,
    pub params: Vec<Value>,
}

impl Kernel {
    pub fn new(params: usize) -> Kernel {
        let mut b = Builder::new("kernel");
        b.func().info.param_bytes = 8 * params as u32;
        let params = (0..params)
            .map(|i| {
                let at = b.iconst(Type::I64, 8 * i as u64);
                b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I64)
            })
            .collect();
        Kernel { b, params }
    }

    /// ctaid.x * ntid.x + tid.x
    pub fn index(&mut self) -> Value {
        let b = &mut self.b;
        let (cta, size, tid) = (
            b.special(Special::Ctaid(Axis::X)),
            b.special(Special::Ntid(Axis::X)),
            b.special(Special::Tid(Axis::X)),
        );
        let first = b.mul(cta, size);
        b.add(first, tid)
    }

    /// Address of element `index` (i32) of `size` bytes in the array whose address is parameter `param`.
    pub fn element(&mut self, param: usize, index: Value, size: u64) -> Value {
        let wide = self.b.sext(index, Elem::I64);
        let offset = self.b.int_imm(IntBin::Mul, wide, size);
        self.b.add(self.params[param], offset)
    }

    pub fn load(&mut self, address: Value, ty: Type) -> Value {
        self.b.inst(Op::Load(GLOBAL), &[address], ty)
    }

    pub fn store(&mut self, address: Value, value: Value) {
        self.b.effect(Op::Store(GLOBAL), &[address, value], None);
    }

    pub fn exit(&mut self) {
        self.b.terminate(Term::Exit);
    }

    /// Ends the kernel for lanes whose index is not below parameter `param`.
    pub fn only_below(&mut self, index: Value, param: usize) {
        let n = self.b.zext(self.params[param], Elem::I32);
        let inside = self.b.cmp(IntCmp::LtS, index, n);
        let (body, out) = (self.b.new_block(), self.b.new_block());
        self.b.branch(inside, body, out);
        self.b.switch_to(out);
        self.exit();
        self.b.switch_to(body);
    }

    pub fn sync(&mut self) {
        let next = self.b.new_block();
        let id = self.b.iconst(Type::I32, 0);
        self.b.terminate(Term::Barrier { kind: BarrierKind::Sync, id, count: None, next: Edge::new(next) });
        self.b.switch_to(next);
    }

    pub fn finish(mut self) -> Function {
        self.exit();
        let mut func = self.b.finish();
        hostwarp_ir::optimize(&mut func);
        func
    }
}

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

pub fn upload(device: &DeviceMemory, data: &[u32]) -> u64 {
    let at = device.alloc(4 * data.len() as u64).unwrap();
    device.write(at, &bytes(data)).unwrap();
    at
}

pub fn download(device: &DeviceMemory, at: u64, len: usize) -> Vec<u32> {
    let mut data = vec![0; 4 * len];
    device.read(at, &mut data).unwrap();
    words(&data)
}

pub fn params(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// CPU, library and group width to test with: all widths on the host's CPU, and each CPU step and library at one width.
pub fn settings(widths: &[u32]) -> Vec<(Llvm, Target, u32)> {
    let (Some(best), Some(host)) = (llvm(), Target::host()) else { return vec![] };
    let mut all: Vec<(Llvm, Target, u32)> = widths.iter().map(|w| (best, host.clone(), *w)).collect();
    let widest = widths.iter().copied().max().unwrap_or(32).min(32);
    all.extend(targets().into_iter().map(|t| (best, t, widest)));
    all.extend(llvms().into_iter().map(|l| (l, host.clone(), widest)));
    all.dedup_by(|a, b| a.0.path() == b.0.path() && a.1 == b.1 && a.2 == b.2);
    all
}

/// Runs a kernel in all settings: `prepare` makes the parameters, `check` looks at memory afterwards.
pub fn everywhere(
    func: &Function,
    grid: u32,
    block: [u32; 3],
    widths: &[u32],
    prepare: impl Fn(&DeviceMemory) -> Vec<u64>,
    check: impl Fn(&DeviceMemory, &[u64], &str),
) {
    // What the test expects must be what the reference engine does.
    let reference = program(func, block, 32);
    let memory = device();
    let values = prepare(&memory);
    let mut launch = Launch::new(&reference, &memory, [grid, 1, 1], block);
    launch.set_params(&params(&values));
    assert_eq!(interpret(&launch), Outcome::Done, "interpreted");
    check(&memory, &values, "interpreted");

    for ((llvm, target, width), speculation) in
        settings(widths).into_iter().flat_map(|s| WAYS.map(|e| (s.clone(), e)))
    {
        let program = program(func, block, width);
        let kernel = compile(&program, llvm, &target, speculation);
        let device = device();
        let values = prepare(&device);
        let mut launch = Launch::new(&program, &device, [grid, 1, 1], block);
        launch.set_params(&params(&values));
        let what = format!("{llvm:?}, {target}, width {width}, {speculation:?}, block {block:?}");
        assert_eq!(run(&kernel, &launch), Outcome::Done, "{what}");
        check(&device, &values, &what);
        // Lanes that wait for each other need longer turns than this to get anywhere.
        let waits =
            func.blocks.iter().flat_map(|b| &b.insts).any(|i| matches!(i.op, Op::Atomic(AtomicOp::Cas, _)));
        for budget in if waits { [100_000; 2] } else { [30, 500] } {
            let values = prepare(&device);
            launch.set_params(&params(&values));
            assert_eq!(run_in_steps(&kernel, &launch, budget), Outcome::Done, "{what}");
            check(&device, &values, &format!("{what}, in steps of {budget}"));
        }
    }
}

pub const WIDTHS: &[u32] = &[8, 16, 32, 64, 128, 256, 512];
pub const WARP: &[u32] = &[32];
