//! Accesses whose addresses are known without looking at the lanes: one for all, or rows of neighbours.

use crate::access::space_of;
use crate::exec::Machine;
use crate::kernels::CHUNK;
use crate::lower::{Arg, Base, Dst, Inst};
use crate::shape::Affine;
use hostwarp_ir::{self as ir, Mem};
use hostwarp_memory::{Scalar, Space, map};

/// Where rows of lanes begin, one address for each row.
struct RowsAt {
    /// Of the first row.
    addr: u64,
    step: i64,
    count: usize,
    /// Lanes in a row.
    len: usize,
    /// All lanes of a row have the address of the first.
    same: bool,
}

impl Machine<'_, '_> {
    /// Whether all lanes that run take part in an access.
    fn is_unguarded(&self, inst: &Inst) -> bool {
        inst.guard.is_none_or(|g| self.uniform(g).is_some_and(|bit| bit & 1 != 0))
    }

    /// Where a stretch of a space lies on the host, if all of it is there.
    pub(crate) fn host(&self, space: Space, addr: u64, bytes: usize) -> Option<*const u8> {
        let memory = &self.cta.memory;
        let block = match space {
            Space::Global | Space::Generic => {
                return Some(self.launch.device.global_run::<u8>(addr, bytes)?.as_ptr());
            }
            Space::Shared => &memory.shared,
            Space::Const => &memory.constant,
            Space::Param => &memory.param,
            Space::Local => return None,
        };
        Some(block.run::<u8>(addr, bytes)?.as_ptr())
    }

    /// Loads where the shape of the addresses says all that has to be known. Answers whether it could.
    #[inline]
    pub(crate) fn load_by_shape<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        wide: bool,
    ) -> bool {
        let Some(addr) = self.affine(inst.args[0]) else { return false };
        if !self.is_unguarded(inst) {
            return false;
        }
        if !addr.is_uniform() {
            return self.load_rows::<T, N>(addr, dst, mem, wide);
        }
        let (space, at) = match mem.space {
            ir::Space::Generic => map::decode(addr.base),
            space => (space_of(space), addr.base),
        };
        // Another place in every lane.
        if space == Space::Local {
            return false;
        }
        let value = self.cta.memory.load_vec::<T, N>(self.launch.device, space, 0, at);
        let Ok(value) = value else { return false };
        if self.is_free(&dst) {
            self.set_uniform(dst, value);
        } else {
            let dst = self.open(dst);
            self.per_warp(dst, |_, _, _| [value; CHUNK]);
            self.wrote(dst);
        }
        true
    }

    fn load_rows<T: Scalar, const N: usize>(&mut self, addr: Affine, dst: Dst, mem: Mem, wide: bool) -> bool {
        let size = size_of::<[T; N]>();
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else { return true };
        let (full, first, end) = (self.segments.len() == 1 && first.full, first.first, last.end);
        // Lanes that do not run may be read for, where there is something to read.
        let lanes = (end - first) * CHUNK - self.run_mask(end - 1).leading_zeros() as usize;
        let Some(rows) = self.rows_at(addr, first * CHUNK, lanes, size, wide) else { return false };
        let far = rows.step.wrapping_mul(rows.count as i64 - 1);
        let low = rows.addr.wrapping_add_signed(far.min(0));
        let Some(below) = rows.addr.checked_add_signed(far.max(0)) else { return false };
        let row = if rows.same { size } else { rows.len * size };
        let Some(end) = below.checked_add(row as u64) else { return false };
        if (rows.addr | rows.step as u64) & (size as u64 - 1) != 0
            || low > rows.addr
            || !wide && end > 1 << 32
        {
            return false;
        }
        let (space, at) = match mem.space {
            ir::Space::Generic => map::decode(low),
            space => (space_of(space), low),
        };
        // A stretch that is all in one space is not there in another, so looking at its beginning is enough.
        let Some(host) = self.host(space, at, (end - low) as usize) else { return false };
        let host = host.wrapping_add((rows.addr - low) as usize);
        let dst = self.open(dst);
        let to = if full || dst.free { dst.at } else { Arg { base: Base::Scratch, offset: 0, ..dst.at } };
        // SAFETY: the stretch from the first to the last byte of all rows is there, aligned for `size`. It is no part of a column.
        unsafe { self.regs.rows(to, first, host, rows.step as isize, rows.count, rows.len, size, rows.same) };
        if to != dst.at {
            for s in &self.segments {
                self.regs.blend(dst, to, s.first, self.run_masks(s));
            }
        }
        self.wrote(dst);
        true
    }

    /// The rows that `lanes` lanes from `first` on are in, if they are whole ones of neighbours `size` bytes apart, or of one address each.
    fn rows_at(&self, addr: Affine, first: usize, lanes: usize, size: usize, wide: bool) -> Option<RowsAt> {
        let rows = addr.rows(self.extents);
        let same = rows.stride == 0;
        if !same && rows.stride != size as i64 {
            return None;
        }
        let at = addr.at(first, self.extents);
        let at = if wide { at } else { at as u32 as u64 };
        let one = RowsAt { addr: at, step: 0, count: 1, len: lanes, same };
        if first / rows.len == (first + lanes - 1) / rows.len {
            return Some(one);
        }
        let whole = rows.even && first.is_multiple_of(rows.len) && lanes.is_multiple_of(rows.len);
        whole.then(|| RowsAt { step: rows.step, count: lanes / rows.len, len: rows.len, ..one })
    }

    /// Stores where the shape of the addresses says all that has to be known. Answers whether it could; if not, something may have been
    /// stored already, where and as it has to be.
    #[inline]
    pub(crate) fn store_by_shape<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        mem: Mem,
        wide: bool,
    ) -> bool {
        let size = size_of::<[T; N]>();
        let Some(addr) = self.affine(inst.args[0]) else { return false };
        let [segment] = self.segments[..] else { return false };
        let value = inst.args[1];
        if !self.is_unguarded(inst) || value.step == 0 || addr.is_uniform() {
            return false;
        }
        let Some(lanes) = self.prefix(&segment) else { return false };
        let Some(rows) = self.rows_at(addr, segment.first * CHUNK, lanes, size, wide) else { return false };
        let end = rows.addr as u128 + (rows.len * size) as u128;
        if rows.same || !wide && (rows.count > 1 || end > 1 << 32) {
            return false;
        }
        self.write_out(value);
        (0..rows.count).all(|r| {
            let from = self.regs.ptr(value, segment.first).cast::<[T; N]>().wrapping_add(r * rows.len);
            // SAFETY: the column is valid for the segment's warps, and nothing writes to it meanwhile.
            let values = unsafe { std::slice::from_raw_parts(from.cast_const(), rows.len) };
            let to = rows.addr.wrapping_add_signed(rows.step.wrapping_mul(r as i64));
            self.write_run(mem, to, values.as_flattened(), size as u64)
        })
    }
}
