//! Accesses whose addresses are known without looking at the lanes: one for all, or rows of neighbours.

use crate::access::space_of;
use crate::exec::Machine;
use crate::kernels::{CHUNK, Layout, PIECE, RowsFn, RowsFrom, RowsOf, RowsStep};
use crate::lower::{Arg, Base, Dst, Inst};
use crate::segments::Segment;
use crate::shape::{Affine, Column};
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
    layout: Layout,
}

impl RowsAt {
    /// The stretch that the rows lie in, if they are aligned.
    fn stretch(&self, mem: Mem, size: usize, wide: bool) -> Option<Stretch> {
        let Layout { count, len, step, same } = self.layout;
        let far = step.wrapping_mul(count as i64 - 1);
        let low = self.addr.wrapping_add_signed(far.min(0));
        let last = self.addr.checked_add_signed(far.max(0))?;
        let row = if same { size } else { len * size };
        let end = last.checked_add(row as u64)?;
        let aligned = (self.addr | step as u64) & (size as u64 - 1) == 0;
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

/// The space that the first address is in.
fn space_at(mem: Mem, addr: &Affine) -> Space {
    match mem.space {
        ir::Space::Generic => map::decode(addr.base).0,
        space => space_of(space),
    }
}

/// A column that has been loaded and is still where it was: read by the one op that needs it ([`crate::lower::Kind::Load`]), it does not have
/// to be written out.
#[derive(Clone, Copy)]
pub(crate) struct InMemory {
    place: u32,
    at: Held,
    layout: Layout,
}

/// Where the first row of what is still in memory begins.
#[derive(Clone, Copy)]
enum Held {
    /// So many bytes from the beginning of each CTA's shared memory.
    Shared(usize),
    /// In global memory, one row for all CTAs. Whoever changes it meanwhile is not ordered with the load, which is weak, so it may as well
    /// come later.
    Global(*const u8),
}

impl InMemory {
    /// As an argument in rows of `len` lanes of f32.
    fn rows<'a>(&self, sets: &'a [*const u8], len: usize) -> RowsOf<'a> {
        let from = match self.at {
            Held::Global(from) => RowsFrom::One(from),
            Held::Shared(offset) => RowsFrom::Each(sets, offset),
        };
        let step = match self.layout {
            Layout { count: 1, same: true, .. } => 0,
            Layout { count: 1, .. } => len as isize * 4,
            Layout { step, .. } => step as isize,
        };
        RowsOf { from, step, same: self.layout.same }
    }
}

/// A sum that products are still to be added to, of what is still in memory ([`crate::lower::Inst::onward`]): all at once, they leave it in a
/// register.
pub(crate) struct Sum {
    /// What they are added to, which is written out, or one for all warps.
    from: Arg,
    /// Where the sum will be.
    at: Arg,
    /// Lanes of a row.
    len: usize,
    by_rows: RowsFn,
    products: smallvec::SmallVec<[[InMemory; 2]; 16]>,
}

impl Machine<'_, '_> {
    /// What a column is that is still in memory, which is read now.
    pub(crate) fn take_in_memory(&mut self, at: Arg) -> InMemory {
        let held = self.in_memory.iter().position(|m| m.place == at.place);
        self.columns[at.place as usize] = Column::VARYING;
        self.in_memory.swap_remove(held.expect("loaded before"))
    }

    /// The shared memory of the CTAs in a segment.
    fn shared_of(&self, all: &Segment) -> &[*const u8] {
        let last = self.cta.cta_of(all.end - 1).0;
        &self.shared[all.cta..=last]
    }

    /// Writes out what is still in memory, for the same warps of each CTA.
    pub(crate) fn read_in_memory(&self, from: &InMemory, to: Arg, all: &Segment) {
        let memory: smallvec::SmallVec<[*const u8; 16]> = match from.at {
            Held::Shared(at) => self.shared_of(all).iter().map(|shared| shared.wrapping_add(at)).collect(),
            Held::Global(at) => smallvec::smallvec![at],
        };
        let apart = self.launch.warps() as usize;
        // SAFETY: the rows were found to be inside and aligned when they were loaded, and all CTAs have as much shared memory. It is no
        // part of a column. Global memory stays as long as the launch.
        unsafe { self.regs.rows(to, all.first, &memory, apart, from.layout, to.bytes.into()) }
    }

    /// Adds a product of f32 to something, if some of that is still in memory and lies in rows of one length. Answers whether it could.
    pub(crate) fn pure_by_rows(&mut self, inst: &Inst, by_rows: RowsFn, dst: Dst) -> bool {
        let mut layouts = [None; 3];
        for (layout, at) in layouts.iter_mut().zip(&inst.args) {
            *layout = self.in_memory.iter().find(|m| m.place == at.place).map(|m| m.layout);
        }
        // What is one row is also several shorter ones.
        let of = |l: &Layout| if l.count == 1 && l.len.is_multiple_of(PIECE) { PIECE } else { l.len };
        let Some(len) = layouts.iter().flatten().map(of).max() else { return false };
        if !len.is_multiple_of(PIECE) || layouts.iter().flatten().any(|l| l.count > 1 && l.len != len) {
            return false;
        }
        let [a, b, c] = inst.args[..] else { return false };
        let pending = self.sum.as_ref().is_some_and(|sum| sum.at == c);
        if let ([Some(_), Some(_), None], true) = (layouts, inst.onward || pending) {
            if self.sum.as_ref().is_some_and(|sum| sum.at != c || sum.len != len) {
                self.add_products();
            }
            let product = [a, b].map(|at| self.take_in_memory(at));
            match &mut self.sum {
                Some(sum) => {
                    sum.at = dst.at;
                    sum.products.push(product);
                    self.columns[c.place as usize] = Column::VARYING;
                }
                None => {
                    // What is one for all warps is nobody's result.
                    match c.step {
                        0 => self.write_warp(c),
                        _ => self.write_out(c),
                    }
                    let products = smallvec::smallvec![product];
                    self.sum = Some(Sum { from: c, at: dst.at, len, by_rows, products });
                }
            }
            self.columns[dst.at.place as usize] = Column::SUM;
            if !inst.onward {
                self.add_products();
            }
            return true;
        }
        let all = self.hull;
        let mut args = [RowsOf { from: RowsFrom::One(std::ptr::null()), step: 0, same: true }; 3];
        let mut held = [None; 3];
        for (k, at) in inst.args.iter().enumerate() {
            if layouts[k].is_some() {
                held[k] = Some(self.take_in_memory(*at));
                continue;
            }
            let (from, step, same) = if self.column(*at).is_uniform() && at.place != dst.at.place {
                self.write_warp(*at);
                (self.regs.operand(*at, self.base).at, 0, true)
            } else {
                self.write_out(*at);
                (self.regs.operand(*at, all.first).at, len as isize * 4, false)
            };
            args[k] = RowsOf { from: RowsFrom::One(from), step, same };
        }
        let sets = self.shared_of(&all);
        for (arg, held) in args.iter_mut().zip(&held) {
            if let Some(held) = held {
                *arg = held.rows(sets, len);
            }
        }
        let [a, b, sum] = args;
        self.by_rows(by_rows, len, dst.at, &[[a, b]], sum);
        self.wrote(dst);
        true
    }

    /// Adds the products that are still to be added.
    pub(crate) fn add_products(&mut self) {
        let Some(sum) = self.sum.take() else { return };
        let all = self.hull;
        let sets = self.shared_of(&all);
        let products: smallvec::SmallVec<[[RowsOf<'_>; 2]; 16]> =
            sum.products.iter().map(|product| product.map(|held| held.rows(sets, sum.len))).collect();
        let from = RowsFrom::One(self.regs.operand(sum.from, all.first).at);
        let same = sum.from.step == 0;
        let so_far = RowsOf { from, step: if same { 0 } else { sum.len as isize * 4 }, same };
        self.by_rows(sum.by_rows, sum.len, sum.at, &products, so_far);
        drop(products);
        self.wrote(Dst { at: sum.at, free: true });
    }

    fn by_rows(&self, by_rows: RowsFn, len: usize, dst: Arg, products: &[[RowsOf<'_>; 2]], sum: RowsOf<'_>) {
        let all = self.hull;
        let step = RowsStep {
            sets: self.shared_of(&all).len(),
            count: self.launch.lanes() as usize / len,
            len,
            dst: self.regs.operand(dst, all.first).at.cast_mut(),
            products,
            sum,
        };
        // SAFETY: as in `read_in_memory`; columns are valid for all warps that run, which are those of whole CTAs, and the code was lowered
        // for a level that this CPU has.
        unsafe { by_rows(&step) };
    }

    /// Loads from the shared memory of CTAs that all have the same addresses and lanes. Answers whether it could.
    fn load_shared<T: Scalar, const N: usize>(
        &mut self,
        addr: &Affine,
        dst: Dst,
        mem: Mem,
        wide: bool,
        once: bool,
    ) -> bool {
        let size = size_of::<[T; N]>();
        if !self.is_free(&dst) {
            return false;
        }
        let Some((all, rows)) = self.rows_in_shared(addr, mem, size, wide) else { return false };
        let Some(s) = rows.stretch(mem, size, wide) else { return false };
        if self.cta.memory.shared.run::<u8>(s.at, s.bytes).is_none() {
            return false;
        }
        let at = Held::Shared(s.at as usize + s.first_row);
        let from = InMemory { place: dst.at.place, at, layout: rows.layout };
        if once && self.whole {
            self.leave_in_memory(from);
        } else {
            self.read_in_memory(&from, dst.at, &all);
            self.wrote(dst);
        }
        true
    }

    fn leave_in_memory(&mut self, from: InMemory) {
        self.columns[from.place as usize] = Column::IN_MEMORY;
        self.in_memory.push(from);
    }

    /// The rows that lanes are in where the same lanes of CTAs one behind the other have the same addresses in shared memory.
    fn rows_in_shared(&self, addr: &Affine, mem: Mem, size: usize, wide: bool) -> Option<(Segment, RowsAt)> {
        let same = self.cta.room() == 1 || addr.strides[2] == 0;
        if !self.alike || !same || space_at(mem, addr) != Space::Shared {
            return None;
        }
        let one = self.segments.first()?;
        let lanes = one.warps() * CHUNK - self.run_mask(one.end - 1).leading_zeros() as usize;
        Some((self.hull, self.rows_at(addr, one.first * CHUNK, lanes, size, wide)?))
    }

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

    /// Whether each CTA needs an access of its own: where they do not see the same memory in even rows.
    fn is_apart(&self, addr: &Affine, mem: Mem) -> bool {
        self.cta.room() > 1 && (space_at(mem, addr) == Space::Shared || !addr.rows(self.extents).even)
    }

    /// Loads where the shape of the addresses says all that has to be known. Answers whether it could.
    #[inline]
    pub(crate) fn load_by_shape<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        wide: bool,
        once: bool,
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
        self.load_shared::<T, N>(&addr, dst, mem, wide, once)
            || self.load_rows::<T, N>(addr, dst, mem, wide, once)
    }

    fn load_rows<T: Scalar, const N: usize>(
        &mut self,
        addr: Affine,
        dst: Dst,
        mem: Mem,
        wide: bool,
        once: bool,
    ) -> bool {
        let size = size_of::<[T; N]>();
        let whole = [self.hull];
        let parts = if self.is_apart(&addr, mem) { &self.segments[..] } else { &whole };
        // Where the rows of each part lie, and how from which part on.
        let mut memory: smallvec::SmallVec<[*const u8; 16]> = smallvec::smallvec![];
        let mut layouts: smallvec::SmallVec<[(usize, Layout); 2]> = smallvec::smallvec![];
        let mut before: Option<(RowsAt, Stretch)> = None;
        let of_cta = self.launch.warps() as usize;
        let (mut seen, mut next) = ((0, 0), usize::MAX);
        for (i, part) in parts.iter().enumerate() {
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
            if part.first != next || layouts.last().is_none_or(|(_, layout)| *layout != rows.layout) {
                layouts.push((i, rows.layout));
            }
            next = part.first + of_cta;
            memory.push(host.wrapping_add(stretch.first_row));
        }
        let full = parts.iter().all(|part| part.full);
        if let ([(_, layout)], [host], true, Some((_, stretch))) = (&layouts[..], &memory[..], once, &before)
            && self.whole
            && stretch.space == Space::Global
            && mem.order == ir::Order::Weak
            && layout.count == 1
            && !layout.same
            && self.is_free(&dst)
        {
            let (at, layout) = (Held::Global(*host), *layout);
            self.leave_in_memory(InMemory { place: dst.at.place, at, layout });
            return true;
        }
        let firsts: smallvec::SmallVec<[usize; 2]> = layouts.iter().map(|(i, _)| parts[*i].first).collect();
        let dst = self.open(dst);
        let to = if full || dst.free { dst.at } else { Arg { base: Base::Scratch, offset: 0, ..dst.at } };
        for (n, (from, layout)) in layouts.iter().enumerate() {
            let until = layouts.get(n + 1).map_or(memory.len(), |(i, _)| *i);
            // SAFETY: the stretch from the first to the last byte of all rows is there, aligned for `size`. It is no part of a column.
            unsafe { self.regs.rows(to, firsts[n], &memory[*from..until], of_cta, *layout, size) };
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
        let one = RowsAt { addr: at, layout: Layout::row(lanes, same) };
        // Dividing 32 bits takes half as long as 64.
        let (first, last, lanes, len) = (first as u32, end as u32 - 1, lanes as u32, rows.len as u32);
        if last < len || first / len == last / len {
            return Some(one);
        }
        let whole = rows.even && first.is_multiple_of(len) && lanes.is_multiple_of(len);
        let layout = Layout { count: (lanes / len) as usize, len: rows.len, step: rows.step, same };
        whole.then_some(RowsAt { addr: at, layout })
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
        let whole = [self.hull];
        let parts = if self.is_apart(&addr, mem) { &self.segments[..] } else { &whole };
        let alike = self.rows_in_shared(&addr, mem, size, wide).map(|(_, rows)| rows);
        let mut found: smallvec::SmallVec<[(usize, RowsAt); 16]> = smallvec::smallvec![];
        for part in parts {
            let Some(lanes) = self.prefix(part) else { return false };
            let rows = alike.or_else(|| self.rows_at(&addr, part.first * CHUNK, lanes, size, wide));
            let Some(rows) = rows else { return false };
            let Layout { count, len, same, .. } = rows.layout;
            let end = rows.addr as u128 + (len * size) as u128;
            if same || !wide && (count > 1 || end > 1 << 32) {
                return false;
            }
            found.push((part.first, rows));
        }
        self.write_out(value);
        found.iter().all(|(warp, RowsAt { addr, layout })| {
            (0..layout.count).all(|r| {
                let from = self.regs.ptr(value, *warp).cast::<[T; N]>().wrapping_add(r * layout.len);
                // SAFETY: the column is valid for these warps, and nothing writes to it meanwhile.
                let values = unsafe { std::slice::from_raw_parts(from.cast_const(), layout.len) };
                let to = addr.wrapping_add_signed(layout.step.wrapping_mul(r as i64));
                self.write_run(mem, *warp, to, values.as_flattened(), size as u64)
            })
        })
    }
}
