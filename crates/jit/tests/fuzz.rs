//! Random kernels, compiled and interpreted: both must leave the same bytes in memory.
//!
//! The kernels are structured programs over a few variables, some the same in all lanes and some not, with branches, loops,
//! breaks, continues, returns, guarded accesses, shared memory and barriers where all threads come by.

#![cfg(target_arch = "x86_64")]

mod common;

use common::{Random, WAYS, compile, device, interpret, llvm, program, run, run_in_steps};
use hostwarp_interp::{Launch, Outcome};
use hostwarp_ir::{
    AtomicOp, Axis, BarrierKind, Block, Builder, Elem, Function, IntBin, IntCmp, Mem, Op, Space, Special,
    Target as Edge, Term, Type, Value, Var,
};
use hostwarp_jit::target::Target;

const GLOBAL: Mem = Mem::weak(Space::Global);
const SHARED: Mem = Mem::weak(Space::Shared);
/// Words each thread may write.
const SLOTS: u64 = 4;
const THREADS: u32 = 72;

struct Generator {
    b: Builder,
    random: Random,
    /// i32 variables.
    vars: Vec<Var>,
    /// A 64-bit pointer that moves.
    pointer: Var,
    tid: Value,
    input: Value,
    output: Value,
    /// Blocks that `continue` and `break` lead to.
    loops: Vec<(Block, Block)>,
    /// Statements left to write.
    budget: u32,
    warp_ops: bool,
}

impl Generator {
    fn new(seed: u64, warp_ops: bool) -> Generator {
        let mut b = Builder::new("fuzz");
        b.func().info.param_bytes = 16;
        b.func().info.shared_bytes = 4 * 128;
        let mut load = |at: u64| {
            let at = b.iconst(Type::I64, at);
            b.inst(Op::Load(Mem::weak(Space::Param)), &[at], Type::I64)
        };
        let (input, output) = (load(0), load(8));
        let tid = b.special(Special::Tid(Axis::X));
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let vars: Vec<Var> = (0..6).map(|_| b.new_var(Type::I32)).collect();
        for (n, var) in vars.iter().enumerate() {
            let value = match n {
                0 => tid,
                1 => b.special(Special::Ctaid(Axis::X)),
                2 => b.int_imm(IntBin::Mul, tid, random.next() % 9),
                3 => b.int_imm(IntBin::Add, tid, 0xffff_fff0),
                _ => b.iconst(Type::I32, random.next() % 5),
            };
            b.set(*var, value);
        }
        let pointer = b.new_var(Type::I64);
        let wide = b.sext(tid, Elem::I64);
        let offset = b.int_imm(IntBin::Mul, wide, 4);
        let first = b.add(input, offset);
        b.set(pointer, first);
        Generator { b, random, vars, pointer, tid, input, output, loops: vec![], budget: 28, warp_ops }
    }

    fn pick(&mut self, n: u64) -> u64 {
        self.random.next() % n
    }

    fn var(&mut self) -> Var {
        let n = self.pick(self.vars.len() as u64);
        self.vars[n as usize]
    }

    fn value(&mut self) -> Value {
        match self.pick(8) {
            0 => self.tid,
            1 => {
                let small = self.pick(40);
                self.b.iconst(Type::I32, small)
            }
            _ => {
                let var = self.var();
                self.b.get(var)
            }
        }
    }

    fn expression(&mut self) -> Value {
        let (a, c) = (self.value(), self.value());
        let ops = [
            IntBin::Add,
            IntBin::Sub,
            IntBin::Mul,
            IntBin::Xor,
            IntBin::And,
            IntBin::MinS,
            IntBin::MaxU,
            IntBin::DivU,
            IntBin::RemS,
            IntBin::Shl,
            IntBin::ShrS,
        ];
        match self.pick(16) {
            0 => {
                let condition = self.condition();
                self.b.select(condition, a, c)
            }
            1 => {
                // In and out of 64 bits, where an even value may stop being one.
                let wide =
                    if self.pick(2) == 0 { self.b.sext(a, Elem::I64) } else { self.b.zext(a, Elem::I64) };
                let wide = self.b.int_imm(IntBin::Mul, wide, 12);
                let high = self.b.int_imm(IntBin::ShrU, wide, 30);
                self.b.inst(Op::Trunc, &[high], Type::I32)
            }
            2 if self.warp_ops => {
                let condition = self.condition();
                self.b.inst(Op::Ballot, &[condition], Type::I32)
            }
            3 if self.warp_ops => self.b.inst(Op::LaneRead, &[a, c], Type::I32),
            4 if self.warp_ops => self.b.inst(Op::ActiveMask, &[], Type::I32),
            5 => {
                let packed = self.b.bitcast(a, Type::I8X4);
                let other = self.b.bitcast(c, Type::I8X4);
                let packed = self.b.int(IntBin::AbsDiffU, packed, other);
                self.b.inst(Op::HSum { signed: false }, &[packed, a], Type::I32)
            }
            n => self.b.int(ops[n as usize % ops.len()], a, c),
        }
    }

    fn condition(&mut self) -> Value {
        let (a, c) = (self.value(), self.value());
        let ops = [IntCmp::Eq, IntCmp::LtU, IntCmp::LtS, IntCmp::LeS, IntCmp::Ne];
        let op = ops[self.pick(5) as usize];
        let low = self.pick(2) == 0;
        let a = if low { self.b.int_imm(IntBin::And, a, 7) } else { a };
        self.b.cmp(op, a, c)
    }

    /// An address in the input: any word of it, or where the pointer is.
    fn source(&mut self) -> Value {
        if self.pick(3) == 0 {
            return self.b.get(self.pointer);
        }
        let index = self.value();
        let index = self.b.int_imm(IntBin::And, index, 127);
        let wide = self.b.zext(index, Elem::I64);
        let offset = self.b.int_imm(IntBin::Mul, wide, 4);
        self.b.add(self.input, offset)
    }

    /// An address in the output that no other thread writes.
    fn destination(&mut self) -> Value {
        let cta = self.b.special(Special::Ctaid(Axis::X));
        let size = self.b.special(Special::Ntid(Axis::X));
        let index = self.b.mul(cta, size);
        let index = self.b.add(index, self.tid);
        let index = self.b.int_imm(IntBin::Mul, index, SLOTS);
        let slot = if self.pick(3) == 0 {
            let any = self.value();
            self.b.int_imm(IntBin::And, any, SLOTS - 1)
        } else {
            let slot = self.pick(SLOTS);
            self.b.iconst(Type::I32, slot)
        };
        let index = self.b.add(index, slot);
        let wide = self.b.sext(index, Elem::I64);
        let offset = self.b.int_imm(IntBin::Mul, wide, 4);
        self.b.add(self.output, offset)
    }

    fn statements(&mut self, depth: u32, together: bool) {
        let count = 1 + self.pick(4);
        for _ in 0..count {
            if self.budget == 0 || self.b.is_terminated() {
                return;
            }
            self.budget -= 1;
            self.statement(depth, together);
        }
    }

    /// `together`: all threads of the CTA run it, as far as one can tell here.
    fn statement(&mut self, depth: u32, together: bool) {
        match self.pick(14) {
            0..4 => {
                let value = self.expression();
                let var = self.var();
                self.b.set(var, value);
            }
            4 | 5 => {
                let at = self.source();
                let guard = (self.pick(3) == 0).then(|| self.condition());
                let value = self.b.guarded(Op::Load(GLOBAL), &[at], guard, Type::I32);
                let var = self.var();
                self.b.set(var, value);
            }
            6 => {
                let at = self.destination();
                let value = self.expression();
                let guard = (self.pick(3) == 0).then(|| self.condition());
                self.b.effect(Op::Store(GLOBAL), &[at, value], guard);
            }
            7 => {
                let (pointer, step) = (self.b.get(self.pointer), self.pick(3) * 4);
                let moved = self.b.int_imm(IntBin::Add, pointer, step);
                let end = self.b.int_imm(IntBin::Add, self.input, 4 * 250);
                let moved = self.b.int(IntBin::MinU, moved, end);
                self.b.set(self.pointer, moved);
            }
            8 => {
                // Each thread has its own word of shared memory here; sums are the same in whatever order.
                let own = self.b.int_imm(IntBin::Mul, self.tid, 4);
                let value = self.value();
                self.b.inst(Op::Atomic(AtomicOp::Add, SHARED), &[own, value], Type::I32);
            }
            9 if together && self.loops.is_empty() => {
                let next = self.b.new_block();
                let id = self.b.iconst(Type::I32, 0);
                self.b.terminate(Term::Barrier {
                    kind: BarrierKind::Sync,
                    id,
                    count: None,
                    next: Edge::new(next),
                });
                self.b.switch_to(next);
                let other = self.b.int_imm(IntBin::Xor, self.tid, 5);
                let other = self.b.int_imm(IntBin::And, other, 127);
                let other = self.b.int_imm(IntBin::Mul, other, 4);
                let value = self.b.inst(Op::Load(SHARED), &[other], Type::I32);
                let var = self.var();
                self.b.set(var, value);
                let next = self.b.new_block();
                self.b.terminate(Term::Barrier {
                    kind: BarrierKind::Sync,
                    id,
                    count: None,
                    next: Edge::new(next),
                });
                self.b.switch_to(next);
            }
            10 | 11 if depth > 0 => self.branch(depth),
            12 if depth > 0 => self.repeat(depth),
            13 if !self.loops.is_empty() => {
                // Sometimes.
                let condition = self.condition();
                let (then, on) = (self.b.new_block(), self.b.new_block());
                self.b.branch(condition, then, on);
                self.b.switch_to(then);
                let (again, out) = self.loops[self.loops.len() - 1];
                match self.pick(5) {
                    0 | 1 => self.b.jump(again),
                    4 if !together => self.b.terminate(Term::Exit),
                    _ => self.b.jump(out),
                }
                self.b.switch_to(on);
            }
            _ => {
                let value = self.expression();
                let var = self.var();
                self.b.set(var, value);
            }
        }
    }

    fn branch(&mut self, depth: u32) {
        if self.pick(5) == 0 {
            let which = self.value();
            let which = self.b.int_imm(IntBin::And, which, 3);
            let cases: Vec<Block> = (0..3).map(|_| self.b.new_block()).collect();
            let join = self.b.new_block();
            self.b.terminate(Term::Switch(which, cases.iter().map(|c| Edge::new(*c)).collect()));
            for case in cases {
                self.b.switch_to(case);
                self.statements(depth - 1, false);
                self.b.jump(join);
            }
            self.b.switch_to(join);
            return;
        }
        let condition = self.condition();
        let (then, otherwise, join) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        self.b.branch(condition, then, otherwise);
        self.b.switch_to(then);
        self.statements(depth - 1, false);
        self.b.jump(join);
        self.b.switch_to(otherwise);
        if self.pick(2) == 0 {
            self.statements(depth - 1, false);
        }
        self.b.jump(join);
        self.b.switch_to(join);
    }

    /// A loop that goes round a few times at most; how often may differ between lanes.
    fn repeat(&mut self, depth: u32) {
        let limit = self.value();
        let limit = self.b.int_imm(IntBin::And, limit, 7);
        let counter = self.b.new_var(Type::I32);
        let zero = self.b.iconst(Type::I32, 0);
        self.b.set(counter, zero);
        let [head, body, latch, out] = [(); 4].map(|()| self.b.new_block());
        self.b.jump(head);
        self.b.switch_to(head);
        let now = self.b.get(counter);
        let more = self.b.cmp(IntCmp::LtU, now, limit);
        self.b.branch(more, body, out);
        self.b.switch_to(body);
        self.loops.push((latch, out));
        self.statements(depth - 1, false);
        self.loops.pop();
        self.b.jump(latch);
        self.b.switch_to(latch);
        let now = self.b.get(counter);
        let next = self.b.int_imm(IntBin::Add, now, 1);
        self.b.set(counter, next);
        self.b.jump(head);
        self.b.switch_to(out);
        // What the counter came to is used after the loop.
        if self.pick(2) == 0 {
            let now = self.b.get(counter);
            let var = self.var();
            self.b.set(var, now);
        }
    }

    fn function(mut self) -> Function {
        while self.budget > 0 {
            // Which lanes execute together is seen by warp ops, and lanes that go round a few hundred times while others wait
            // let them go first: so not too deep.
            self.statements(if self.warp_ops { 2 } else { 3 }, true);
        }
        for slot in 0..SLOTS {
            let cta = self.b.special(Special::Ctaid(Axis::X));
            let size = self.b.special(Special::Ntid(Axis::X));
            let index = self.b.mul(cta, size);
            let index = self.b.add(index, self.tid);
            let wide = self.b.sext(index, Elem::I64);
            let offset = self.b.int_imm(IntBin::Mul, wide, 4 * SLOTS);
            let at = self.b.add(self.output, offset);
            let at = self.b.int_imm(IntBin::Add, at, 4 * slot);
            let var = self.vars[slot as usize];
            let value = self.b.get(var);
            self.b.effect(Op::Store(GLOBAL), &[at, value], None);
        }
        self.b.terminate(Term::Exit);
        let mut func = self.b.finish();
        hostwarp_ir::optimize(&mut func);
        func
    }
}

/// What a run leaves in the output.
fn output(launch: &mut Launch<'_>, run: impl Fn(&Launch<'_>) -> Outcome, what: &str) -> Vec<u8> {
    let device = launch.device;
    let mut random = Random(4711);
    let input: Vec<u8> =
        (0..256 * 4).map(|i| if i % 4 == 0 { random.next() as u8 } else { (i % 7 / 6) as u8 }).collect();
    let size = (2 * THREADS) as usize * 4 * SLOTS as usize;
    let (from, to) = (device.alloc(input.len() as u64).unwrap(), device.alloc(size as u64).unwrap());
    device.write(from, &input).unwrap();
    launch.set_params(&[from, to].map(u64::to_le_bytes).concat());
    assert_eq!(run(launch), Outcome::Done, "{what}");
    let mut bytes = vec![0; size];
    device.read(to, &mut bytes).unwrap();
    bytes
}

fn check(seed: u64, warp_ops: bool) {
    let (Some(llvm), Some(target)) = (llvm(), Target::host()) else { return };
    let func = Generator::new(seed, warp_ops).function();
    let device = device();
    // Even seeds have whole groups only, and short rows.
    let (grid, block) = ([2, 1, 1], if seed.is_multiple_of(2) { [16, 8, 1] } else { [THREADS, 1, 1] });
    let reference = program(&func, block, 32);
    let expected = output(&mut Launch::new(&reference, &device, grid, block), interpret, "interpreted");
    for width in if warp_ops { &[32][..] } else { &[8, 16, 32, 64, 128][..] } {
        let program = program(&func, block, *width);
        let kernels = WAYS.map(|speculation| compile(&program, llvm, &target, speculation));
        let mut launch = Launch::new(&program, &device, grid, block);
        for (kernel, budget) in kernels.iter().flat_map(|k| [1 << 24, 64].map(|budget| (k, budget))) {
            let what = format!("seed {seed}, width {width}, {:?}, budget {budget}", kernel.speculation());
            let got = output(
                &mut launch,
                |l| if budget > 64 { run(kernel, l) } else { run_in_steps(kernel, l, budget) },
                &what,
            );
            if got != expected {
                let wrong = got.iter().zip(&expected).position(|(g, e)| g != e).unwrap() / 4;
                let (thread, slot) = (wrong as u64 / SLOTS, wrong as u64 % SLOTS);
                panic!("{what}: thread {thread}, slot {slot}\n{func}\n{}", program.plan());
            }
        }
    }
}

#[test]
fn random_kernels_give_the_same_bytes() {
    for seed in 1..18 {
        check(seed, false);
    }
}

#[test]
fn random_kernels_with_warp_ops_give_the_same_bytes() {
    for seed in 1000..1014 {
        check(seed, true);
    }
}
