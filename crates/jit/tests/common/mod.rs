//! What the tests of compiled kernels share.
#![allow(dead_code)]

use std::path::Path;
use std::sync::Arc;

use hostwarp_interp::{Cta, Launch, Outcome, Program};
use hostwarp_ir::Function;
use hostwarp_jit::llvm::{Llvm, Tier};
use hostwarp_jit::target::{Target, X86Level};
use hostwarp_jit::{JitKernel, Speculation};
use hostwarp_memory::DeviceMemory;
use hostwarp_plan::Assume;

/// One library per major version.
pub fn llvms() -> Vec<Llvm> {
    let names =
        |v: u32| [format!("libLLVM.so.{v}.1"), format!("libLLVM-{v}.so.1"), format!("libLLVM-{v}.so")];
    (15..24).filter_map(|v| names(v).iter().find_map(|name| Llvm::open(Path::new(name)).ok())).collect()
}

/// The library that would be used.
pub fn llvm() -> Option<Llvm> {
    Llvm::find(None).ok()
}

/// The host and every plain step of x86-64 that it can run.
pub fn targets() -> Vec<Target> {
    let Some(host) = Target::host() else { return vec![] };
    let levels = [X86Level::Sse42, X86Level::Avx2, X86Level::Avx512].map(Target::x86);
    let mut targets: Vec<Target> = levels.into_iter().filter(|target| target.runs_on(&host)).collect();
    targets.push(host);
    targets
}

/// A kernel planned for CTAs of this size.
pub fn program(func: &Function, block: [u32; 3], width: u32) -> Arc<Program> {
    hostwarp_ir::verify_primitive(func).unwrap_or_else(|e| panic!("{e}\n{func}"));
    Arc::new(Program::new(func.clone(), Assume::for_block(block, width)))
}

/// Both ways to make a kernel.
pub const WAYS: [Speculation; 2] = [Speculation::On, Speculation::Off];

pub fn compile(program: &Arc<Program>, llvm: Llvm, target: &Target, speculation: Speculation) -> JitKernel {
    let tier = Tier::light();
    match JitKernel::compile(program, llvm, target, &tier, speculation) {
        Ok(kernel) => kernel,
        Err(error) => {
            let text =
                hostwarp_jit::KernelText::new(program, target, speculation).map(|t| numbered(t.text()));
            panic!("{llvm:?}, {target}: {error}\n{}", text.unwrap_or_default())
        }
    }
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(i, l)| format!("{:4} {l}\n", i + 1)).collect()
}

/// Runs all CTAs of a launch with a compiled kernel.
pub fn run(kernel: &JitKernel, launch: &Launch<'_>) -> Outcome {
    run_in_steps(kernel, launch, 1 << 24)
}

/// Runs all CTAs of a launch with a compiled kernel, which has to stop and go on again and again.
pub fn run_in_steps(kernel: &JitKernel, launch: &Launch<'_>, budget: u64) -> Outcome {
    let mut cta = Cta::new(launch);
    let mut done = 0;
    while done < launch.ctas() {
        let (ran, mut outcome) = kernel.start(launch, &mut cta, done, launch.ctas() - done, budget);
        done += ran;
        if outcome == Outcome::Done {
            continue;
        }
        loop {
            match outcome {
                Outcome::Done => break,
                Outcome::Yield => outcome = kernel.run(launch, &mut cta, budget),
                fault => return fault,
            }
        }
        done += 1;
    }
    Outcome::Done
}

/// Runs all CTAs of a launch with the interpreter.
pub fn interpret(launch: &Launch<'_>) -> Outcome {
    let mut cta = Cta::new(launch);
    for linear in 0..launch.ctas() {
        cta.reset(launch, launch.cta_index(linear));
        loop {
            match hostwarp_interp::run(launch, &mut cta, 1 << 24) {
                Outcome::Done => break,
                Outcome::Yield => {}
                fault => return fault,
            }
        }
    }
    Outcome::Done
}

pub fn device() -> DeviceMemory {
    DeviceMemory::with_capacity(64 << 20).unwrap()
}

/// A fixed sequence of numbers that look random.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
