//! What lanes ask for besides memory ([`SystemCall`]): text to be printed, blocks of memory, the end after an assertion that failed, votes at barriers,
//! mbarriers, and copies of many bytes.
//!
//! Engines hand on who asks and where the arguments are, and know nothing else of it.

use crate::cta::{Cta, WARP};
use crate::fault::{Assertion, KernelFaultKind};
use crate::launch::Launch;
use crate::observe::observe;
use crate::printf::{self, Arguments};
use hostwarp_ir::mbarrier::{self, Misuse};
use hostwarp_ir::{MbarrierOp, SystemCall};
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
    line: u32,
) -> Result<u64, KernelFaultKind> {
    let copy = Copy { at, shared: operand & 0xffff_ffff, bytes: operand >> 32 };
    match call {
        SystemCall::Mbarrier(op) => return on_mbarrier(launch, cta, lane, op, at, operand, line),
        SystemCall::CopyIn | SystemCall::CopyOut if !copy.bytes.is_multiple_of(16) => {
            return Err(KernelFaultKind::BadCopy(copy.bytes));
        }
        SystemCall::CopyIn => return copy.copy::<u64, 2>(launch, cta, lane, Direction::In),
        SystemCall::CopyOut => return copy.copy::<u64, 2>(launch, cta, lane, Direction::Out),
        SystemCall::CopyFew => return copy.copy::<u8, 1>(launch, cta, lane, Direction::In),
        SystemCall::Stage => {
            cta.staged.entry(lane).or_default().push(operand);
            return Ok(0);
        }
        SystemCall::WideExch | SystemCall::WideCas => return wide(launch, cta, lane, call, at),
        SystemCall::Staged => {
            return Ok(cta.staged.remove(&lane).and_then(|s| s.last().copied()).unwrap_or(0));
        }
        _ => {}
    }
    let (memory, in_cta) = cta.memory_of_lane(lane);
    let mut of = Reader { launch, memory, lane: in_cta, at };
    match call {
        SystemCall::Mbarrier(_) | SystemCall::CopyIn | SystemCall::CopyOut | SystemCall::CopyFew => Ok(0),
        SystemCall::Stage | SystemCall::WideExch | SystemCall::WideCas | SystemCall::Staged => Ok(0),
        SystemCall::Vote => {
            cta.vote(lane, operand & 1 != 0);
            Ok(0)
        }
        SystemCall::Votes => Ok(cta.votes(lane).into()),
        SystemCall::Probe => {
            let (warp, l) = (lane / WARP as usize, lane % WARP as usize);
            let (mut sites, mut operands) = ([0; WARP as usize], [0; WARP as usize]);
            (sites[l], operands[l]) = (at, operand);
            observe(launch, cta, warp, 1 << l, &sites, &operands, line).map_err(|(_, kind)| kind)?;
            Ok(0)
        }
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

/// An atomic operation on 128 bits, with the words that were staged; the high half of what was there is staged then.
fn wide(
    launch: &Launch<'_>,
    cta: &mut Cta,
    lane: usize,
    call: SystemCall,
    at: u64,
) -> Result<u64, KernelFaultKind> {
    let words = cta.staged.remove(&lane).unwrap_or_default();
    let pair = |i: usize| match words.get(2 * i..2 * i + 2) {
        Some(pair) => u128::from(pair[0]) | u128::from(pair[1]) << 64,
        None => 0,
    };
    let in_cta = cta.memory_of_lane(lane).1;
    let memory = cta.memory_of_mut(lane / WARP as usize);
    let device = launch.device;
    let old = match call {
        SystemCall::WideCas => memory.atomic_cas(device, Space::Generic, in_cta, at, pair(0), pair(1)),
        _ => memory.atomic_update(device, Space::Generic, in_cta, at, |_| pair(0)),
    };
    let old: u128 = old.map_err(|kind| {
        KernelFaultKind::Memory(device.fault(kind, Space::Generic, at, 16, Access::Atomic))
    })?;
    cta.staged.insert(lane, vec![(old >> 64) as u64]);
    cta.has_progressed(lane);
    Ok(old as u64)
}

/// What a lane does with the mbarrier at a generic address. A CTA stays on its thread, so nobody comes between.
fn on_mbarrier(
    launch: &Launch<'_>,
    cta: &mut Cta,
    lane: usize,
    op: MbarrierOp,
    at: u64,
    operand: u64,
    line: u32,
) -> Result<u64, KernelFaultKind> {
    let device = launch.device;
    let misused = |misuse| KernelFaultKind::Mbarrier { address: at, misuse };
    let offset = at.wrapping_sub(hostwarp_ir::Space::Shared.window());
    if offset >> 32 != 0 {
        return Err(misused(Misuse::Elsewhere));
    }
    let memory = cta.memory_of_mut(lane / 32);
    let failed = |kind| KernelFaultKind::Memory(device.fault(kind, Space::Shared, offset, 8, Access::Atomic));
    let bits: u64 = memory.shared.load(offset).map_err(failed)?;
    let new = mbarrier::apply(op, bits, operand).map_err(misused)?;
    if op == MbarrierOp::Wait {
        return cta.waits_for(launch, lane, at, line).map(|()| bits);
    }
    memory.shared.store(offset, new).map_err(failed)?;
    if matches!(op, MbarrierOp::Init | MbarrierOp::Inval) {
        // What was written over is none any more.
        let was = cta.mark_mbarrier(lane, offset, op == MbarrierOp::Init);
        if was && op == MbarrierOp::Init && bits & mbarrier::MARK_BITS == mbarrier::MARK {
            return Err(misused(Misuse::Again));
        }
    }
    cta.has_progressed(lane);
    Ok(bits)
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    /// To shared memory.
    In,
    /// From there.
    Out,
}

/// Bytes between a generic address and one in shared memory.
struct Copy {
    at: u64,
    shared: u64,
    bytes: u64,
}

impl Copy {
    /// Copies them in units of so many values, which both addresses and the number of bytes must be multiples of. Nothing is copied where not all can be.
    fn copy<T: Scalar, const N: usize>(
        &self,
        launch: &Launch<'_>,
        cta: &mut Cta,
        lane: usize,
        direction: Direction,
    ) -> Result<u64, KernelFaultKind> {
        let Copy { at, shared, bytes } = *self;
        let device = launch.device;
        let in_cta = cta.memory_of_lane(lane).1;
        let memory = cta.memory_of_mut(lane / 32);
        let unit = T::SIZE * N as u64;
        let (here, there) = match direction {
            Direction::In => (Access::Store, Access::Load),
            Direction::Out => (Access::Load, Access::Store),
        };
        let bad = memory
            .diagnose(device, Space::Generic, at, bytes.max(1), unit, there)
            .or_else(|| memory.diagnose(device, Space::Shared, shared, bytes.max(1), unit, here))
            .filter(|_| bytes > 0);
        if let Some(fault) = bad {
            return Err(KernelFaultKind::Memory(fault));
        }
        for done in (0..bytes).step_by(unit as usize) {
            let (at, shared) = (at.wrapping_add(done), shared + done);
            // All of it has been looked at, but memory may have been freed meanwhile.
            let step = match direction {
                Direction::In => {
                    let read = memory.load_vec::<T, N>(device, Space::Generic, in_cta, at);
                    read.and_then(|value| memory.shared.store_vec(shared, value))
                }
                Direction::Out => {
                    let read = memory.shared.load_vec::<T, N>(shared);
                    read.and_then(|value| memory.store_vec(device, Space::Generic, in_cta, at, value))
                }
            };
            step.map_err(|kind| {
                KernelFaultKind::Memory(device.fault(kind, Space::Generic, at, unit, there))
            })?;
        }
        Ok(0)
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
