//! What all CTAs of a launch have in common.

use crate::cta::WARP;
use crate::fault::KernelFaultKind;
use crate::lower::Code;
use crate::observe::Observer;
use crate::system::{Heap, Printer};
use hostwarp_ir::Function;
use hostwarp_memory::{Block, DeviceMemory, Space};
use hostwarp_plan::{Assume, Plan};
use hostwarp_system::time::Instant;
use hostwarp_system::{Exceeded, Limits};
use std::sync::{Arc, OnceLock};

/// A kernel ready to run: the primitive function, its plan, and what the interpreter makes of them when first asked.
#[derive(Debug)]
pub struct Program {
    func: Function,
    plan: Plan,
    code: OnceLock<Code>,
}

impl Program {
    /// Plans a function that [`hostwarp_ir::verify_primitive`] accepts.
    pub fn new(func: Function, assume: Assume) -> Program {
        let plan = Plan::new(&func, assume);
        Program { func, plan, code: OnceLock::new() }
    }

    /// The function.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// For a level of the CPU that it must have.
    #[cfg(test)]
    pub(crate) fn with_level(func: Function, assume: Assume, level: crate::kernels::Level) -> Program {
        let program = Program::new(func, assume);
        let code = Code::with_level(&program.func, &program.plan, level);
        program.code.set(code).expect("nobody asked for it yet");
        program
    }

    pub(crate) fn code(&self) -> &Code {
        self.code.get_or_init(|| Code::new(&self.func, &self.plan))
    }
}

/// CTAs run as one up to this many lanes...
const LANES_AS_ONE: u32 = 4096;
/// ...or this many where they may leave a loop one by one...
const LANES_APART: u32 = 1024;
/// ...and up to this many bytes of values that are needed at the same time.
const REGISTERS_AS_ONE: u32 = 64 << 10;
/// ...and of local memory, all of which is zeroed before they begin.
const LOCAL_AS_ONE: u64 = 1 << 20;

/// A launch: shared by all threads that run its CTAs.
pub struct Launch<'a> {
    /// What runs.
    pub program: &'a Program,
    /// Global memory.
    pub device: &'a DeviceMemory,
    /// CTAs along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y and z.
    pub block: [u32; 3],
    /// What the kernel is told of `grid`: not the same if it has been reshaped.
    pub nctaid: [u32; 3],
    /// The parameters.
    pub param: Arc<Block>,
    /// The module's constant bank.
    pub constant: Arc<Block>,
    /// Bytes of shared memory besides the static ones.
    pub dynamic_shared: u32,
    /// Device address of the module's global variables.
    pub globals_base: u64,
    /// Device address of the memory that CTAs of a cooperative launch meet in; 0 if it is none.
    pub grid_workspace: u64,
    /// Number of the launch (`%gridid`).
    pub grid_id: u64,
    /// When the launch began: clocks count from here.
    pub start: Instant,
    /// When it has to stop.
    pub limits: Limits,
    /// Who gets what it prints.
    pub printer: Option<Printer<'a>>,
    /// What its `malloc` and `free` work on; without it there is nothing to be had.
    pub heap: Option<&'a Heap>,
    /// Who is told of the probes that lanes come to.
    pub observer: Option<&'a dyn Observer>,
    /// Warps, one at a time, and how long each goes on are chosen at random from this seed by the interpreter.
    pub schedule: Option<u64>,
}

impl std::fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernel = &self.program.func.name;
        let mut out = f.debug_struct("Launch");
        out.field("kernel", kernel).field("grid", &self.grid).field("block", &self.block);
        out.finish_non_exhaustive()
    }
}

impl<'a> Launch<'a> {
    /// A launch without constants, parameters, dynamic shared memory or limits; set the fields for more. The parameter block
    /// is zero and as long as the kernel says; whoever replaces it must keep it at least that long.
    pub fn new(
        program: &'a Program,
        device: &'a DeviceMemory,
        grid: [u32; 3],
        block: [u32; 3],
    ) -> Launch<'a> {
        let mut param = Block::new(Space::Param);
        param.reset(program.func.info.param_bytes as usize);
        Launch {
            program,
            device,
            grid,
            block,
            nctaid: grid,
            param: Arc::new(param),
            constant: Arc::new(Block::new(Space::Const)),
            dynamic_shared: 0,
            globals_base: 0,
            grid_workspace: 0,
            grid_id: 0,
            start: Instant::now(),
            limits: Limits::default(),
            printer: None,
            heap: None,
            observer: None,
            schedule: None,
        }
    }

    /// Sets the parameters; a block shorter than the kernel's is filled up with zeros.
    pub fn set_params(&mut self, bytes: &[u8]) {
        let mut param = Block::new(Space::Param);
        param.reset(bytes.len().max(self.program.func.info.param_bytes as usize));
        param.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        self.param = Arc::new(param);
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |n, d| n.saturating_mul(*d))
    }

    /// Warps of a CTA.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// Lanes of a CTA: whole warps.
    pub fn lanes(&self) -> u32 {
        self.warps() * 32
    }

    /// CTAs that the interpreter runs as one: whole warps, along x, whose registers stay in the cache.
    pub(crate) fn ctas_as_one(&self) -> u32 {
        let threads = self.threads();
        if !threads.is_multiple_of(WARP) || self.block[2] != 1 || self.schedule.is_some() {
            return 1;
        }
        let registers = threads.saturating_mul(4 * self.program.plan.pressure.max(1));
        // Lanes that leave a loop wait for the others.
        let apart = self.program.plan.loops.iter().any(|l| l.divergent_exit);
        let lanes = if apart { LANES_APART } else { LANES_AS_ONE };
        let local = u64::from(self.program.func.info.local_bytes) * u64::from(threads);
        let by_local = u32::try_from(LOCAL_AS_ONE.checked_div(local).unwrap_or(u64::MAX)).unwrap_or(u32::MAX);
        (lanes / threads).min(REGISTERS_AS_ONE / registers).min(by_local).clamp(1, self.grid[0])
    }

    /// Takes what has been run since the last time off the fuel, and says whether the launch may go on.
    pub fn spend(&self, instructions: u64) -> Result<(), KernelFaultKind> {
        self.limits.spend(instructions).map_err(KernelFaultKind::from)
    }

    /// Bytes of host memory that so many CTAs take while they run.
    pub fn cta_bytes(&self, ctas: u32) -> u64 {
        // Besides registers: where a lane is and what it waits for.
        const LANE: u64 = 64;
        let info = &self.program.func.info;
        let lane = u64::from(info.local_bytes) + u64::from(self.program.plan.frame.bytes) + LANE;
        let cta = lane * u64::from(self.lanes()) + u64::from(self.shared_bytes());
        cta.saturating_mul(ctas.into())
    }

    /// CTAs in all.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().fold(1, |n, d| n.saturating_mul(u64::from(*d)))
    }

    /// Index of the CTA with this linear number.
    pub fn cta_index(&self, linear: u64) -> [u32; 3] {
        let [x, y] = [u64::from(self.grid[0]), u64::from(self.grid[1])];
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }

    /// Index of the thread with this linear number.
    pub fn thread_index(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Bytes of shared memory that a CTA has of its own, in whole units of allocation.
    pub fn total_shared(&self) -> u32 {
        const UNIT: u32 = 128;
        let bytes = self.program.func.info.declared_shared().saturating_add(self.dynamic_shared);
        bytes.div_ceil(UNIT).saturating_mul(UNIT)
    }

    /// Where shared memory of a CTA ends.
    pub fn shared_bytes(&self) -> u32 {
        self.program.func.info.shared_bytes.saturating_add(self.dynamic_shared)
    }
}

impl From<Exceeded> for KernelFaultKind {
    fn from(exceeded: Exceeded) -> KernelFaultKind {
        match exceeded {
            Exceeded::Timeout => KernelFaultKind::Timeout,
            Exceeded::Cancelled => KernelFaultKind::Cancelled,
            Exceeded::OutOfFuel => KernelFaultKind::OutOfFuel,
            Exceeded::Memory { .. } => KernelFaultKind::OutOfMemory(exceeded),
        }
    }
}
