//! Memory ops done by the engine, lane by lane: what the fast paths of compiled code do not cover, and what faults.

use std::ptr;

use hostwarp_interp::{Cta, KernelFault, KernelFaultKind, Launch};
use hostwarp_ir::{AtomicOp, Inst, Op, Space, Type};
use hostwarp_memory::{Access, AtomicInt, AtomicOp as MemoryOp, FaultKind, Scalar, Space as MemorySpace};

use crate::lanes::Lanes;

/// The lanes of a group that take part in an op: which, where they are, and their data one after another.
pub(crate) struct Request {
    pub(crate) first: u32,
    pub(crate) lanes: Lanes,
    pub(crate) addresses: *const u64,
    pub(crate) data: *mut u8,
    pub(crate) compare: *const u8,
}

fn space_of(space: Space) -> MemorySpace {
    match space {
        Space::Global => MemorySpace::Global,
        Space::Shared => MemorySpace::Shared,
        Space::Local => MemorySpace::Local,
        Space::Const => MemorySpace::Const,
        Space::Param => MemorySpace::Param,
        Space::Generic => MemorySpace::Generic,
    }
}

/// Does a memory op of the kernel for some lanes, in ascending order. The first lane that faults ends it.
///
/// # Safety
/// For every lane in the mask there is an address, and data (for `cas` also what to compare with) of the op's type, at the
/// lane's place in the arrays.
pub(crate) unsafe fn memory_op(
    launch: &Launch<'_>,
    cta: &mut Cta,
    inst: &Inst,
    request: &Request,
) -> Result<(), Box<KernelFault>> {
    let func = launch.program.func();
    if let Op::Atomic(AtomicOp::System(call), _) = inst.op {
        for place in request.lanes.iter().map(|lane| lane as usize) {
            let lane = request.first as usize + place;
            // SAFETY: by the contract of this function; what is asked for and what is answered has 8 bytes.
            let (address, data) =
                unsafe { (*request.addresses.add(place), request.data.add(place * 8).cast::<u64>()) };
            // SAFETY: as above.
            let operand = unsafe { ptr::read_unaligned(data) };
            let answer = hostwarp_interp::system_call(launch, cta, lane, call, address, operand, inst.line)
                .map_err(|kind| Box::new(cta.fault(launch, kind, inst.line, Some(lane as u32))))?;
            // SAFETY: as above.
            unsafe { ptr::write_unaligned(data, answer) };
        }
        return Ok(());
    }
    let (mem, access, value) = match inst.op {
        Op::Load(mem) => (mem, Access::Load, inst.result),
        Op::Store(mem) => (mem, Access::Store, inst.args.last().copied()),
        Op::Atomic(_, mem) => (mem, Access::Atomic, inst.result),
        _ => return Ok(()),
    };
    let Some(ty) = value.map(|v| func.ty(v)) else { return Ok(()) };
    let space = space_of(mem.space);
    for place in request.lanes.iter().map(|lane| lane as usize) {
        let lane = request.first as usize + place;
        // SAFETY: by the contract of this function.
        let (address, data, compare) = unsafe {
            (
                *request.addresses.add(place),
                request.data.add(place * ty.bytes()),
                request.compare.add(place * ty.bytes()),
            )
        };
        // SAFETY: likewise.
        let done = unsafe { one_lane(launch, cta, inst.op, space, lane, address, ty, data, compare) };
        if let Err(kind) = done {
            let fault = launch.device.fault(kind, space, address, ty.bytes() as u64, access);
            let fault = cta.fault(launch, KernelFaultKind::Memory(fault), inst.line, Some(lane as u32));
            return Err(Box::new(fault));
        }
    }
    Ok(())
}

/// # Safety
/// `data` has room for a value of the type, and for `cas` `compare` holds one.
#[allow(clippy::too_many_arguments)] // one op of one lane, spelled out
unsafe fn one_lane(
    launch: &Launch<'_>,
    cta: &mut Cta,
    op: Op,
    space: MemorySpace,
    lane: usize,
    address: u64,
    ty: Type,
    data: *mut u8,
    compare: *const u8,
) -> Result<(), FaultKind> {
    match op {
        Op::Atomic(op, _) => {
            // SAFETY: by the contract of this function.
            unsafe {
                match ty.bytes() {
                    2 => cas::<u16>(launch, cta, space, lane, address, data, compare),
                    4 => atomic::<u32>(launch, cta, op, space, lane, address, data, compare),
                    _ => atomic::<u64>(launch, cta, op, space, lane, address, data, compare),
                }
            }
        }
        _ => {
            let load = matches!(op, Op::Load(_));
            macro_rules! transfer {
                ($($bytes:literal $count:literal $int:ty),*) => {
                    match (ty.elem.bytes(), ty.count) {
                        // SAFETY: by the contract of this function.
                        $(($bytes, $count) => unsafe {
                            transfer::<$int, $count>(launch, cta, load, space, lane, address, data)
                        },)*
                        _ => Ok(()),
                    }
                };
            }
            transfer!(
                1 1 u8, 1 2 u8, 1 4 u8, 1 8 u8, 2 1 u16, 2 2 u16, 2 4 u16, 2 8 u16, 4 1 u32, 4 2 u32, 4 4 u32, 4 8 u32,
                8 1 u64, 8 2 u64, 8 4 u64, 8 8 u64
            )
        }
    }
}

/// # Safety
/// `data` has room for `N` values.
unsafe fn transfer<T: Scalar, const N: usize>(
    launch: &Launch<'_>,
    cta: &mut Cta,
    load: bool,
    space: MemorySpace,
    lane: usize,
    address: u64,
    data: *mut u8,
) -> Result<(), FaultKind> {
    let data = data.cast::<[T; N]>();
    if load {
        let values = cta.memory.load_vec::<T, N>(launch.device, space, lane, address)?;
        // SAFETY: by the contract of this function; the alignment may be less than the type's.
        unsafe { ptr::write_unaligned(data, values) };
        Ok(())
    } else {
        // SAFETY: as above.
        let values = unsafe { ptr::read_unaligned(data) };
        cta.memory.store_vec(launch.device, space, lane, address, values)
    }
}

/// # Safety
/// `data` and `compare` hold a value each.
unsafe fn cas<T: hostwarp_memory::AtomicScalar>(
    launch: &Launch<'_>,
    cta: &mut Cta,
    space: MemorySpace,
    lane: usize,
    address: u64,
    data: *mut u8,
    compare: *const u8,
) -> Result<(), FaultKind> {
    // SAFETY: by the contract of this function.
    let (new, expected) =
        unsafe { (ptr::read_unaligned(data.cast::<T>()), ptr::read_unaligned(compare.cast::<T>())) };
    let old = cta.memory.atomic_cas(launch.device, space, lane, address, expected, new)?;
    // SAFETY: as above.
    unsafe { ptr::write_unaligned(data.cast::<T>(), old) };
    Ok(())
}

/// # Safety
/// `data` holds a value, and so does `compare` for `cas`.
#[allow(clippy::too_many_arguments)] // one op of one lane, spelled out
unsafe fn atomic<T: AtomicInt + FloatBits>(
    launch: &Launch<'_>,
    cta: &mut Cta,
    op: AtomicOp,
    space: MemorySpace,
    lane: usize,
    address: u64,
    data: *mut u8,
    compare: *const u8,
) -> Result<(), FaultKind> {
    let op = match op {
        // SAFETY: handed on.
        AtomicOp::Cas => return unsafe { cas::<T>(launch, cta, space, lane, address, data, compare) },
        AtomicOp::FAdd { remote } => {
            // SAFETY: by the contract of this function.
            let operand = unsafe { ptr::read_unaligned(data.cast::<T>()) };
            let old = cta
                .memory
                .atomic_update(launch.device, space, lane, address, |old: T| old.add(operand, remote))?;
            // SAFETY: as above.
            unsafe { ptr::write_unaligned(data.cast::<T>(), old) };
            return Ok(());
        }
        AtomicOp::Exch => MemoryOp::Exch,
        AtomicOp::Add => MemoryOp::Add,
        AtomicOp::And => MemoryOp::And,
        AtomicOp::Or => MemoryOp::Or,
        AtomicOp::Xor => MemoryOp::Xor,
        AtomicOp::MinU => MemoryOp::MinUnsigned,
        AtomicOp::MinS => MemoryOp::MinSigned,
        AtomicOp::MaxU => MemoryOp::MaxUnsigned,
        AtomicOp::MaxS => MemoryOp::MaxSigned,
        AtomicOp::Inc => MemoryOp::Inc,
        AtomicOp::Dec => MemoryOp::Dec,
        // Not of memory alone: `memory_op` has done it.
        AtomicOp::System(_) => return Ok(()),
    };
    // SAFETY: by the contract of this function.
    let operand = unsafe { ptr::read_unaligned(data.cast::<T>()) };
    let old = cta.memory.atomic(launch.device, space, lane, op, address, operand)?;
    // SAFETY: as above.
    unsafe { ptr::write_unaligned(data.cast::<T>(), old) };
    Ok(())
}

/// Float addition on bits.
trait FloatBits: Copy {
    /// What [`AtomicOp::FAdd`] leaves.
    fn add(self, other: Self, remote: bool) -> Self;
}

impl FloatBits for u32 {
    fn add(self, other: u32, remote: bool) -> u32 {
        hostwarp_interp::add_f32(self, other, remote)
    }
}

impl FloatBits for u64 {
    fn add(self, other: u64, remote: bool) -> u64 {
        hostwarp_interp::add_f64(self, other, remote)
    }
}
