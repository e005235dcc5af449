//! Where slots and shared variables are: symbols become constants.

use crate::*;
use rustc_hash::FxHashMap;

/// Frames and stacks are multiples of this, and so aligned for every type.
pub(super) const FRAME_ALIGN: u64 = 16;

/// `at` rounded up to a multiple of `align`, a power of two.
pub(super) fn align_up(at: u64, align: u64) -> u64 {
    at.saturating_add(align - 1) & !(align - 1)
}

/// Where static variables are in shared memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SharedLayout {
    /// By number of the variable.
    pub offsets: FxHashMap<u32, u64>,
    /// Where they end.
    pub bytes: u64,
}

/// Bytes at the beginning of shared memory that are the system's, as on devices of compute capability 8.0 and higher. They belong to the CTA, so that accesses
/// do not fault; programs learn where they are from special registers and use them for what the runtime library keeps there.
pub const SHARED_RESERVED: u32 = 0x400;

/// Lays static variables out one behind the other, in the order given, from `first` on.
pub fn shared_layout(variables: &[Slot], used: impl IntoIterator<Item = u32>, first: u32) -> SharedLayout {
    let mut layout = SharedLayout { bytes: first.into(), ..SharedLayout::default() };
    for n in used {
        let Some(slot) = variables.get(n as usize) else { continue };
        if !layout.offsets.contains_key(&n) {
            let at = align_up(layout.bytes, slot.align);
            layout.offsets.insert(n, at);
            layout.bytes = at.saturating_add(slot.size);
        }
    }
    layout
}

/// Places the slots that are used from `first` on; answers where each is and where they end, at most 2^31.
pub(super) fn slots(func: &Function, first: u64) -> (Vec<u64>, u64) {
    let mut used = vec![false; func.slots.len()];
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let Op::Address(Symbol::Slot(n)) = i.op {
            used[n as usize] = true;
        }
    }
    let mut end = first;
    let mut place = |(slot, used): (&Slot, bool)| {
        if !used {
            return end;
        }
        let at = align_up(end, slot.align);
        end = at.saturating_add(slot.size).min(1 << 31);
        at
    };
    let at = func.slots.iter().zip(used).map(&mut place).collect();
    (at, align_up(end, FRAME_ALIGN))
}

/// Makes constants of the symbols in a kernel's frame, which begins at 0 and has `stack` bytes above it.
pub(super) fn frame(func: &mut Function, stack: u32) {
    let (at, end) = slots(func, 0);
    constants(func, &at, end, end + u64::from(stack));
}

/// As [`frame`], the slots having been placed.
pub(super) fn constants(func: &mut Function, at: &[u64], end: u64, limit: u64) {
    for i in func.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let bits = match i.op {
            Op::Address(Symbol::Slot(n)) => at[n as usize],
            Op::Address(Symbol::StackTop) => end,
            Op::Address(Symbol::StackLimit) => limit,
            _ => continue,
        };
        i.op = Op::Const(bits & 0xffff_ffff);
    }
    func.info.local_bytes = limit.min(u64::from(u32::MAX)) as u32;
    func.slots.clear();
}

/// Makes constants of the symbols in shared memory.
pub(super) fn shared(module: &Module, func: &mut Function) {
    let insts = || func.blocks.iter().flat_map(|b| &b.insts);
    let mut used: Vec<u32> = insts()
        .filter_map(|i| match i.op {
            Op::Address(Symbol::Shared(n)) => Some(n),
            _ => None,
        })
        .collect();
    used.sort_unstable();
    let align = insts()
        .filter_map(|i| match i.op {
            Op::Address(Symbol::DynamicShared { align }) => Some(u64::from(align)),
            _ => None,
        })
        .fold(16, u64::max);
    let dynamic = insts().any(|i| matches!(i.op, Op::Address(Symbol::DynamicShared { .. })));
    // Whoever has no way there does without, so that there is nothing to be cleared for each CTA.
    let reaches = |i: &Inst| match i.op {
        Op::Address(Symbol::Shared(_) | Symbol::DynamicShared { .. }) => true,
        op => op.mem().is_some_and(|mem| matches!(mem.space, Space::Shared | Space::Generic)),
    };
    let reserved = if insts().any(reaches) { SHARED_RESERVED } else { 0 };
    let layout = shared_layout(&module.shared, used, reserved);
    for i in func.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let bits = match i.op {
            Op::Address(Symbol::Shared(n)) => layout.offsets.get(&n).copied().unwrap_or(0),
            Op::Address(Symbol::DynamicShared { .. }) => align_up(layout.bytes, align),
            _ => continue,
        };
        i.op = Op::Const(bits & 0xffff_ffff);
    }
    // What is given to a launch comes on top of where it begins.
    let bytes = if dynamic { align_up(layout.bytes, align) } else { layout.bytes };
    func.info.shared_bytes = bytes.min(u64::from(u32::MAX)) as u32;
    func.info.shared_reserved = reserved;
}
