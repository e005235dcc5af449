//! Reaching the columns of a CTA.

use crate::kernels::{CHUNK, Layout, Operand, Step, Tools};
use crate::lower::{Arg, Dst};

/// The memory that operands lie in.
///
/// # Safety
///
/// Made by [`Regs::new`] from buffers as large as the lowered code says, for the time of one run in which nothing else touches them.
/// Every [`Arg`] and [`Dst`] of that code then names `32 * bytes` bytes per warp inside them, 64-byte aligned. The functions here
/// that take an operand are safe to call with operands of that code and warps of the CTA, and with nothing else; the types they
/// read and write must have the operand's size per lane.
pub(crate) struct Regs {
    base: [*mut u8; 5],
    /// What an offset is multiplied by.
    scale: [usize; 5],
    tools: Tools,
}

impl Regs {
    /// # Safety
    /// See [`Regs`]; the pointers are in the order of [`crate::lower::Base`].
    pub(crate) unsafe fn new(base: [*mut u8; 5], lanes: usize, tools: Tools) -> Regs {
        Regs { base, scale: [lanes, lanes, lanes, 1, 1], tools }
    }

    #[inline(always)]
    pub(crate) fn ptr(&self, at: Arg, warp: usize) -> *mut u8 {
        let i = at.base as usize;
        // SAFETY: inside the buffer, by the promise of the type.
        unsafe { self.base[i].add(at.offset as usize * self.scale[i] + warp * at.step as usize) }
    }

    /// The values of a warp's lanes.
    #[inline(always)]
    pub(crate) fn read<T: Copy>(&self, at: Arg, warp: usize) -> [T; CHUNK] {
        // SAFETY: valid and aligned, by the promise of the type; callers only use types without invalid bit patterns.
        unsafe { *self.ptr(at, warp).cast::<[T; CHUNK]>() }
    }

    /// The value of one lane.
    #[inline(always)]
    pub(crate) fn lane<T: Copy>(&self, at: Arg, warp: usize, lane: usize) -> T {
        debug_assert!(lane < CHUNK);
        // SAFETY: as in `read`.
        unsafe { *self.ptr(at, warp).cast::<T>().add(lane) }
    }

    /// Writes the lanes in `run`, or all where those that do not run need not be kept.
    #[inline(always)]
    pub(crate) fn write<T: Copy>(&self, dst: Dst, warp: usize, run: u32, keep: bool, values: &[T; CHUNK]) {
        debug_assert_eq!(size_of::<T>(), dst.at.bytes as usize);
        let to = self.ptr(dst.at, warp);
        if keep && !dst.free {
            // SAFETY: valid and aligned, by the promise of the type.
            unsafe { self.tools.blend(to, values.as_ptr().cast(), 0, dst.at.bytes as usize, &[run]) }
        } else {
            // SAFETY: as above.
            unsafe { *to.cast::<[T; CHUNK]>() = *values }
        }
    }

    /// The bits of a column of `i1`.
    #[inline(always)]
    pub(crate) fn bits(&self, at: Arg, warp: usize) -> u32 {
        crate::kernels::bits(&self.read(at, warp))
    }

    /// The bits of a column of `i1` for as many warps from `first` on as there is room.
    pub(crate) fn all_bits(&self, at: Arg, first: usize, out: &mut [u32]) {
        // SAFETY: valid, by the promise of the type.
        unsafe { self.tools.bits(self.operand(at, first), out) }
    }

    /// Copies a column for `warps` warps from `first` on, all lanes.
    pub(crate) fn copy(&self, dst: Dst, src: Arg, first: usize, warps: usize) {
        let (to, from) = (self.ptr(dst.at, first), self.ptr(src, first));
        // SAFETY: valid and aligned, by the promise of the type.
        unsafe { self.tools.copy(to, from, src.step as usize, dst.at.bytes as usize, warps) }
    }

    /// Copies the lanes in the masks, for as many warps from `first` on.
    pub(crate) fn blend(&self, dst: Dst, src: Arg, first: usize, masks: &[u32]) {
        let (to, from) = (self.ptr(dst.at, first), self.ptr(src, first));
        // SAFETY: valid and aligned, by the promise of the type.
        unsafe { self.tools.blend(to, from, src.step as usize, dst.at.bytes as usize, masks) }
    }

    /// Whether the addresses of `warps` warps go up by `size` from lane to lane.
    pub(crate) fn ascending(&self, at: Arg, wide: bool, first: usize, warps: usize, size: usize) -> bool {
        // SAFETY: valid and aligned, by the promise of the type.
        at.step != 0 && unsafe { self.tools.ascending(self.ptr(at, first), wide, warps, size) }
    }

    #[inline(always)]
    pub(crate) fn operand(&self, at: Arg, first: usize) -> Operand {
        Operand { at: self.ptr(at, first), step: at.step as usize }
    }

    /// The least and the greatest address of the lanes in the masks, at least one, of as many warps from `first` on, and the bits set in
    /// any.
    pub(crate) fn bounds(&self, at: Arg, wide: bool, first: usize, masks: &[u32]) -> [u64; 3] {
        // SAFETY: valid and aligned, by the promise of the type.
        unsafe { self.tools.bounds(self.operand(at, first), wide, masks) }
    }

    /// Reads for each lane in the masks what lies at its address, given that address `base` is `memory` on the host; others get 0.
    ///
    /// # Safety
    /// What the destination's size says can be read at all those addresses.
    #[allow(clippy::too_many_arguments)] // of a kernel
    pub(crate) unsafe fn gather(
        &self,
        dst: Dst,
        at: Arg,
        wide: bool,
        memory: *const u8,
        base: u64,
        first: usize,
        masks: &[u32],
    ) {
        let (to, bytes) = (self.ptr(dst.at, first), dst.at.bytes as usize);
        // SAFETY: columns are valid and aligned by the promise of the type, and addresses by the caller's.
        unsafe { self.tools.gather(to, self.operand(at, first), wide, memory, base, bytes, masks) }
    }

    /// Gives each lane of as many warps from `first` on as there are masks the word of the lane of its warp that it names, modulo 32, or its own
    /// where that is not in the mask.
    pub(crate) fn lane_read(&self, dst: Dst, own: Arg, named: Arg, first: usize, masks: &[u32]) {
        let (own, named) = (self.operand(own, first), self.operand(named, first));
        // SAFETY: valid and aligned, by the promise of the type.
        unsafe { self.tools.lane_read(self.ptr(dst.at, first), own, named, masks) }
    }

    /// Fills lanes from warp `first` on, and every `apart` warps from there, with rows of `bytes` bytes a lane that lie in memory at each of
    /// some addresses.
    ///
    /// # Safety
    /// All of it can be read, is aligned, and is no column. There are that many lanes.
    #[allow(clippy::too_many_arguments)] // of a kernel
    pub(crate) unsafe fn rows(
        &self,
        to: Arg,
        first: usize,
        memory: &[*const u8],
        apart: usize,
        layout: Layout,
        bytes: usize,
    ) {
        // SAFETY: handed on from the caller.
        unsafe { self.tools.rows(self.ptr(to, first), memory, apart * CHUNK * bytes, layout, bytes) }
    }

    /// Runs a kernel for `warps` warps from `first` on. Operands with a step begin at warp 0, others are the same for all.
    #[inline(always)]
    pub(crate) fn kernel<const N: usize>(
        &self,
        selected: &crate::kernels::Selected,
        dst: Arg,
        mut operands: [Operand; N],
        first: usize,
        warps: usize,
    ) {
        let shift = selected.log_chunks;
        for o in &mut operands {
            *o = Operand { at: o.at.wrapping_add(o.step * first), step: o.step >> shift };
        }
        let step =
            Step { n: warps << shift, dst: self.ptr(dst, first), args: operands.as_ptr(), imm: selected.imm };
        // SAFETY: operands are valid for that many warps by the promise of the type, and have the types the kernel was selected
        // for; the code was lowered for a level that this CPU has.
        unsafe { (selected.kernel)(&step) }
    }

    /// The integer of up to 64 bits in the first lane of a warp.
    #[inline(always)]
    pub(crate) fn integer(&self, at: Arg, warp: usize) -> u64 {
        match at.bytes {
            1 => self.lane::<u8>(at, warp, 0).into(),
            2 => self.lane::<u16>(at, warp, 0).into(),
            4 => self.lane::<u32>(at, warp, 0).into(),
            _ => self.lane::<u64>(at, warp, 0),
        }
    }

    /// Gives all lanes of a warp what the first bytes of a value are, at least as many as a lane has.
    #[inline(always)]
    pub(crate) fn splat<T: Copy>(&self, at: Arg, warp: usize, value: &T) {
        let (to, from, bytes) = (self.ptr(at, warp), (&raw const *value).cast(), at.bytes.into());
        debug_assert!(size_of::<T>() >= bytes);
        // SAFETY: the column is valid and aligned by the promise of the type, and the value is as large and as aligned as its lanes.
        unsafe { self.tools.rows(to, &[from], 0, Layout::row(CHUNK, true), bytes) }
    }

    /// Copies a column's lanes of the first warp to all others of a batch.
    pub(crate) fn spread(&self, at: Arg, first: usize, warps: usize) {
        let bytes = at.bytes.into();
        if at.step != 0 && warps > 1 {
            // SAFETY: valid and aligned, by the promise of the type; the source is not part of what is written.
            unsafe { self.tools.copy(self.ptr(at, first + 1), self.ptr(at, first), 0, bytes, warps - 1) }
        }
    }

    /// Gives `n` lanes from `lane` on affine integers of 4 or 8 bytes.
    pub(crate) fn ramp(&self, at: Arg, lane: usize, n: usize, base: u64, stride: i64) {
        let bytes = usize::from(at.bytes);
        // SAFETY: lanes of a column lie one behind the other, all inside the buffer by the promise of the type.
        unsafe { self.tools.ramp(self.ptr(at, 0).add(lane * bytes), bytes == 8, n, base, stride) }
    }
}
