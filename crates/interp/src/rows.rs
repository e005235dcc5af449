//! Accesses whose addresses are known without looking at the lanes: one for all, or rows of neighbours.

use crate::access::space_of;
use crate::exec::{Machine, Segment};
use crate::kernels::CHUNK;
use crate::lower::{Arg, Base, Dst, Inst};
use crate::shape::Affine;
use hostwarp_ir::{self as ir, Mem};
use hostwarp_memory::{Scalar, Space, map};

/// All from the first to the last byte of some rows.
#[derive(Clone, Copy)]
struct Stretch {
    space: Space,
    at: u64,
    bytes: usize,
    /// Where the first row begins in it.
    first_row: usize,
}

/// Where rows of lanes begin, one address for each row.
#[derive(Clone, Copy)]
struct RowsAt {
    /// Of the first row.
    addr: u64,
    step: i64,
    count: usize,
    /// Lanes in a row.
    len: usize,
    /// Bytes from lane to lane in a row: as many as a lane takes, or none.
    stride: usize,
}

impl RowsAt {
    /// The stretch that the rows lie in, if they are aligned.
    fn stretch(&self, mem: Mem, size: usize, wide: bool) -> Option<Stretch> {
        let far = self.step.wrapping_mul(self.count as i64 - 1);
        let low = self.addr.wrapping_add_signed(far.min(0));
        let last = self.addr.checked_add_signed(far.max(0))?;
        let end = last.checked_add(((self.len - 1) * self.stride + size) as u64)?;
        let aligned = (self.addr | self.step as u64) & (size as u64 - 1) == 0;
        if !aligned || low > self.addr || !wide && end > 1 << 32 {
            return None;
        }
        // What begins in a space and goes beyond it will not be there.
        let (space, at) = match mem.space {
            ir::Space::Generic => map::decode(low),
            space => (space_of(space), low),
        };
        Some(Stretch { space, at, bytes: (end - low) as usize, first_row: (self.addr - low) as usize })
    }
}

impl Machine<'_, '_> {
    /// Whether all lanes that run take part in an access.
    fn is_unguarded(&self, inst: &Inst) -> bool {
        inst.guard.is_none_or(|g| self.uniform(g).is_some_and(|bit| bit & 1 != 0))
    }

    /// Where a stretch of a space lies on the host, as a CTA sees it, if all of it is there.
    pub(crate) fn host(&self, space: Space, cta: usize, addr: u64, bytes: usize) -> Option<*const u8> {
        let memory = self.cta.memory_number(cta);
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

    /// The warps of each access: one for all if they see the same memory in even rows, and else one for each CTA.
    fn parts(&self, addr: &Affine, mem: Mem) -> smallvec::SmallVec<[Segment; 8]> {
        let space = match mem.space {
            ir::Space::Generic => map::decode(addr.base).0,
            space => space_of(space),
        };
        if self.cta.room() > 1 && (space == Space::Shared || !addr.rows(self.extents).even) {
            return smallvec::SmallVec::from_slice(&self.segments);
        }
        smallvec::smallvec![self.hull()]
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
        if addr.is_uniform() && self.is_free(&dst) {
            let (space, at) = match mem.space {
                ir::Space::Generic => map::decode(addr.base),
                space => (space_of(space), addr.base),
            };
            // Local memory is another place in every lane, shared memory in every CTA.
            if space != Space::Local && (space != Space::Shared || self.cta.room() == 1) {
                let value = self.cta.memory.load_vec::<T, N>(self.launch.device, space, 0, at);
                return match value {
                    Ok(value) => {
                        self.set_uniform(dst, value);
                        true
                    }
                    Err(_) => false,
                };
            }
        }
        self.load_rows::<T, N>(addr, dst, mem, wide)
    }

    fn load_rows<T: Scalar, const N: usize>(&mut self, addr: Affine, dst: Dst, mem: Mem, wide: bool) -> bool {
        let size = size_of::<[T; N]>();
        let parts = self.parts(&addr, mem);
        let mut found: smallvec::SmallVec<[(RowsAt, *const u8); 8]> = smallvec::smallvec![];
        let mut before: Option<(RowsAt, Stretch)> = None;
        let mut seen = (0, 0);
        for part in &parts {
            // Lanes that do not run may be read for, where there is something to read.
            let lanes = part.warps() * CHUNK - self.run_mask(part.end - 1).leading_zeros() as usize;
            let these = (lanes, part.in_cta);
            if before.is_none() || seen != these || addr.strides[2] != 0 {
                let rows = self.rows_at(&addr, part.first * CHUNK, lanes, size, wide);
                before = rows.and_then(|rows| Some((rows, rows.stretch(mem, size, wide)?)));
                seen = these;
            } // and else they are what they were in the CTA before
            let Some((rows, stretch)) = &before else { return false };
            let host = self.host(stretch.space, part.cta, stretch.at, stretch.bytes);
            let Some(host) = host else { return false };
            found.push((*rows, host.wrapping_add(stretch.first_row)));
        }
        let dst = self.open(dst);
        let full = parts.iter().all(|part| part.full);
        let to = if full || dst.free { dst.at } else { Arg { base: Base::Scratch, offset: 0, ..dst.at } };
        for (part, (rows, host)) in parts.iter().zip(&found) {
            let (step, same) = (rows.step as isize, rows.stride == 0);
            // SAFETY: the stretch from the first to the last byte of all rows is there, aligned for `size`. It is no part of a column.
            unsafe { self.regs.rows(to, part.first, *host, step, rows.count, rows.len, size, same) };
        }
        if to != dst.at {
            for s in &self.segments {
                self.regs.blend(dst, to, s.first, self.run_masks(s));
            }
        }
        self.wrote(dst);
        true
    }

    /// The rows that `lanes` lanes from `first` on are in, if they are whole ones of neighbours `size` bytes apart, or of one address each.
    fn rows_at(&self, addr: &Affine, first: usize, lanes: usize, size: usize, wide: bool) -> Option<RowsAt> {
        let (end, [x, y, z]) = (first + lanes, self.extents);
        let plane = (x * y) as usize;
        // In one plane, what is between planes does not matter.
        let flat = z == 1 || end <= plane || first / plane == (end - 1) / plane;
        let rows = addr.rows(if flat { [x, y, 1] } else { self.extents });
        let same = rows.stride == 0;
        if !same && rows.stride != size as i64 {
            return None;
        }
        let at = addr.at(first, self.extents);
        let at = if wide { at } else { at as u32 as u64 };
        let one = RowsAt { addr: at, step: 0, count: 1, len: lanes, stride: if same { 0 } else { size } };
        // Dividing 32 bits takes half as long as 64.
        let (first, last, lanes, len) = (first as u32, end as u32 - 1, lanes as u32, rows.len as u32);
        if last < len || first / len == last / len {
            return Some(one);
        }
        let whole = rows.even && first.is_multiple_of(len) && lanes.is_multiple_of(len);
        whole.then(|| RowsAt { step: rows.step, count: (lanes / len) as usize, len: rows.len, ..one })
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
        let value = inst.args[1];
        if !self.is_unguarded(inst) || value.step == 0 {
            return false;
        }
        let mut found: smallvec::SmallVec<[(Segment, RowsAt); 8]> = smallvec::smallvec![];
        for part in self.parts(&addr, mem) {
            let Some(lanes) = self.prefix(&part) else { return false };
            let Some(rows) = self.rows_at(&addr, part.first * CHUNK, lanes, size, wide) else { return false };
            let end = rows.addr as u128 + (rows.len * size) as u128;
            if rows.stride == 0 || !wide && (rows.count > 1 || end > 1 << 32) {
                return false;
            }
            found.push((part, rows));
        }
        self.write_out(value);
        found.iter().all(|(part, rows)| {
            (0..rows.count).all(|r| {
                let from = self.regs.ptr(value, part.first).cast::<[T; N]>().wrapping_add(r * rows.len);
                // SAFETY: the column is valid for these warps, and nothing writes to it meanwhile.
                let values = unsafe { std::slice::from_raw_parts(from.cast_const(), rows.len) };
                let to = rows.addr.wrapping_add_signed(rows.step.wrapping_mul(r as i64));
                self.write_run(mem, part.first, to, values.as_flattened(), size as u64)
            })
        })
    }
}
