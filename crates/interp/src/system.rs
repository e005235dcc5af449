//! What lanes ask for besides memory ([`SystemCall`]): text to be printed, blocks of memory, the end after an assertion that failed, and votes at barriers.
//!
//! Engines hand on who asks and where the arguments are, and know nothing else of it.

use crate::cta::Cta;
use crate::fault::{Assertion, KernelFaultKind};
use crate::launch::Launch;
use crate::printf::{self, Arguments};
use hostwarp_ir::SystemCall;
use hostwarp_memory::{Access, CtaMemory, DeviceMemory, Scalar, Space};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Who gets what kernels print: whole texts of one `printf` each.
pub type Printer<'a> = &'a (dyn Fn(&[u8]) + Sync);

/// Bytes of strings that are read at most: longer ones end there, as if by their zero.
const LONGEST: usize = 1 << 20;

/// What `malloc` and `free` of kernels work on. Each block is an allocation of its own, so that accesses beyond it fault. Blocks live as long as the
/// device, or until a kernel frees them.
#[derive(Debug)]
pub struct Heap {
    limit: u64,
    state: Mutex<HeapState>,
}

#[derive(Debug, Default)]
struct HeapState {
    used: u64,
    /// The blocks, and what each counts for.
    blocks: HashMap<u64, u64>,
}

impl Heap {
    /// What CUDA has unless told otherwise: 8 MiB.
    pub const DEFAULT: u64 = 8 << 20;
    /// Blocks count for whole units of so many bytes.
    const UNIT: u64 = 16;

    /// A heap of so many bytes.
    pub fn new(limit: u64) -> Heap {
        Heap { limit, state: Mutex::default() }
    }

    /// Bytes that are allocated.
    pub fn used(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).used
    }

    /// A new block, or 0 if there is no place for it.
    fn allocate(&self, device: &DeviceMemory, bytes: u64) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = bytes.div_ceil(Heap::UNIT).saturating_mul(Heap::UNIT);
        if bytes == 0 || counts > self.limit - state.used {
            return 0;
        }
        let Ok(at) = device.alloc_named(bytes, "malloc") else { return 0 };
        state.used += counts;
        state.blocks.insert(at, counts);
        at
    }

    /// Whether there was such a block, which is none from now on.
    fn release(&self, device: &DeviceMemory, at: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(counts) = state.blocks.remove(&at) else { return false };
        state.used -= counts;
        device.free(at).is_ok()
    }
}

/// Does what a lane asks for; its arguments are at the generic address `at`.
pub fn system_call(
    launch: &Launch<'_>,
    cta: &mut Cta,
    lane: usize,
    call: SystemCall,
    at: u64,
    operand: u64,
) -> Result<u64, KernelFaultKind> {
    let (memory, in_cta) = cta.memory_of_lane(lane);
    let mut of = Reader { launch, memory, lane: in_cta, at };
    match call {
        SystemCall::Vote => {
            cta.vote(lane, operand & 1 != 0);
            Ok(0)
        }
        SystemCall::Votes => Ok(cta.votes(lane).into()),
        SystemCall::Print => {
            let (text, list) = (of.long()?, of.long()?);
            if text == 0 {
                return Ok(u64::MAX); // −1, as CUDA has it
            }
            let format = of.string(text, LONGEST)?;
            let (text, count) = printf::format(&format, &mut Reader { at: list, ..of })?;
            if let Some(print) = launch.printer {
                print(&text);
            }
            Ok(count.into())
        }
        SystemCall::Allocate => {
            let bytes = of.long()?;
            Ok(launch.heap.map_or(0, |heap| heap.allocate(launch.device, bytes)))
        }
        SystemCall::Free => {
            let block = of.long()?;
            let freed = block == 0 || launch.heap.is_some_and(|heap| heap.release(launch.device, block));
            if freed { Ok(0) } else { Err(KernelFaultKind::BadFree(block)) }
        }
        SystemCall::Assert => {
            let (message, file, line, function) = (of.long()?, of.long()?, of.long()?, of.long()?);
            let mut text = |at| {
                // What cannot be read is no reason to say nothing of the rest.
                let bytes = of.string(at, LONGEST).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let (message, file, function) = (text(message), text(file), text(function));
            let line = line as u32;
            Err(KernelFaultKind::Assert(Some(Box::new(Assertion { message, file, line, function }))))
        }
    }
}

/// Reads what a lane sees, from an address on.
#[derive(Clone, Copy)]
struct Reader<'a, 'l> {
    launch: &'a Launch<'l>,
    memory: &'a CtaMemory,
    lane: usize,
    at: u64,
}

impl Reader<'_, '_> {
    fn load<T: Scalar>(&self, at: u64) -> Result<T, KernelFaultKind> {
        let device = self.launch.device;
        self.memory.load(device, Space::Generic, self.lane, at).map_err(|kind| {
            KernelFaultKind::Memory(device.fault(kind, Space::Generic, at, T::SIZE, Access::Load))
        })
    }

    fn next<T: Scalar>(&mut self) -> Result<T, KernelFaultKind> {
        let at = self.at.next_multiple_of(T::SIZE);
        self.at = at.wrapping_add(T::SIZE);
        self.load(at)
    }
}

impl Arguments for Reader<'_, '_> {
    type Error = KernelFaultKind;

    fn word(&mut self) -> Result<u32, KernelFaultKind> {
        self.next()
    }

    fn long(&mut self) -> Result<u64, KernelFaultKind> {
        self.next()
    }

    fn string(&mut self, at: u64, most: usize) -> Result<Vec<u8>, KernelFaultKind> {
        let mut bytes = vec![];
        while bytes.len() < most.min(LONGEST) {
            match self.load::<u8>(at.wrapping_add(bytes.len() as u64))? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }
}
