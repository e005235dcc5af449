//! Memory accesses of a group of lanes.

use crate::cta::for_each_lane;
use crate::exec::{BATCH, Machine, Stop};
use crate::fault::KernelFaultKind;
use crate::kernels::CHUNK;
use crate::lower::{Arg, Base, Dst, Inst};
use crate::observe::observe;
use crate::segments::Segment;
use crate::system::system_call;
use hostwarp_ir::{self as ir, AtomicOp, Elem, Mem, Order, SystemCall};
use hostwarp_memory::{self as memory, Access, AtomicInt, AtomicScalar, FaultKind, Scalar, Space, map};
use std::sync::atomic::{Ordering, fence};

/// The space as the memory crate names it.
pub(crate) fn space_of(space: ir::Space) -> Space {
    match space {
        ir::Space::Global => Space::Global,
        ir::Space::Shared => Space::Shared,
        ir::Space::Local => Space::Local,
        ir::Space::Const => Space::Const,
        ir::Space::Param => Space::Param,
        ir::Space::Generic => Space::Generic,
    }
}

fn fence_before(mem: Mem) {
    match mem.order {
        Order::Release | Order::AcqRel => fence(Ordering::Release),
        Order::SeqCst => fence(Ordering::SeqCst),
        _ => {}
    }
}

fn fence_after(mem: Mem) {
    match mem.order {
        Order::Acquire | Order::AcqRel => fence(Ordering::Acquire),
        Order::SeqCst => fence(Ordering::SeqCst),
        _ => {}
    }
}

/// What is wrong with one lane's access.
struct Bad {
    kind: FaultKind,
    addr: u64,
    size: u64,
    /// Lane of the CTA.
    lane: usize,
}

/// The lanes of a warp that an access is for, if they are neighbours: first and number.
fn neighbours(lanes: u32) -> Option<(usize, usize)> {
    let first = lanes.trailing_zeros();
    let count = lanes.count_ones();
    (lanes != 0 && (lanes >> first).trailing_ones() == count).then_some((first as usize, count as usize))
}

/// Runs `$body` with `$t` and `$n` standing for the integer and number of them that make up `$size` bytes.
macro_rules! by_size {
    ($size:expr, |$t:ident, $n:ident| $body:expr) => {
        by_size!(@each $size, $t, $n, $body, 1 u8 1, 2 u16 1, 4 u32 1, 8 u64 1, 16 u64 2, 32 u64 4; u64 8)
    };
    (@each $size:expr, $t:ident, $n:ident, $body:expr, $($bytes:literal $int:ident $num:literal),*; $last:ident $lastn:literal) => {
        match $size {
            $($bytes => {
                type $t = $int;
                const $n: usize = $num;
                $body
            })*
            _ => {
                type $t = $last;
                const $n: usize = $lastn;
                $body
            }
        }
    };
}

impl Machine<'_, '_> {
    /// The lanes among `run` whose guard holds.
    fn guarded(&self, inst: &Inst, warp: usize, run: u32) -> u32 {
        match inst.guard {
            Some(g) => run & self.regs.bits(g, warp),
            None => run,
        }
    }

    /// The number that the first lane of a warp has in its CTA.
    fn lane_of(&self, warp: usize) -> usize {
        self.cta.cta_of(warp).1 * CHUNK
    }

    /// The memory of a lane's CTA, and the lane's number in it.
    fn memory_of_lane(&mut self, lane: usize) -> (&mut memory::CtaMemory, usize) {
        let warp = lane / CHUNK;
        let in_cta = self.lane_of(warp) + lane % CHUNK;
        (self.cta.memory_of_mut(warp), in_cta)
    }

    fn addresses(&self, inst: &Inst, wide: bool, warp: usize) -> [u64; CHUNK] {
        if wide {
            self.regs.read(inst.args[0], warp)
        } else {
            self.regs.read::<u32>(inst.args[0], warp).map(u64::from)
        }
    }

    /// The fault of one lane's access.
    fn stop(&self, inst: &Inst, mem: Mem, access: Access, bad: Bad) -> Box<Stop> {
        let fault = self.launch.device.fault(bad.kind, space_of(mem.space), bad.addr, bad.size, access);
        Box::new(Stop { kind: KernelFaultKind::Memory(fault), line: inst.line, lane: Some(bad.lane as u32) })
    }

    /// The number of lanes from the segment's first on that an access of the whole segment is for, if they are neighbours, none is
    /// left out by a guard and their addresses follow each other.
    fn whole_run(&self, inst: &Inst, wide: bool, size: usize, segment: &Segment) -> Option<usize> {
        if inst.guard.is_some() || !segment.full {
            return None;
        }
        // Most that do not follow each other say so at once.
        let start = self.addresses(inst, wide, segment.first);
        if start[1].wrapping_sub(start[0]) != size as u64 {
            return None;
        }
        let lanes = self.prefix(segment)?;
        let ascending = self.regs.ascending(inst.args[0], wide, segment.first, segment.warps(), size);
        ascending.then_some(lanes)
    }

    pub(crate) fn load(
        &mut self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        size: u32,
        wide: bool,
        once: bool,
    ) -> Result<(), Box<Stop>> {
        by_size!(size, |T, N| self.load_as::<T, N>(inst, dst, mem, wide, once))?;
        fence_after(mem);
        Ok(())
    }

    fn load_as<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        wide: bool,
        once: bool,
    ) -> Result<(), Box<Stop>> {
        let size = size_of::<[T; N]>();
        if self.load_by_shape::<T, N>(inst, dst, mem, wide, once) {
            return Ok(());
        }
        self.write_out_args(inst);
        let dst = self.open(dst);
        self.wrote(dst);
        for i in 0..self.segments.len() {
            let segment = self.segments[i];
            if let Some(lanes) = self.whole_run(inst, wide, size, &segment) {
                let addr = self.addresses(inst, wide, segment.first)[0];
                // SAFETY: the column is valid for the segment's warps, and all their other lanes have exited.
                let out = unsafe {
                    std::slice::from_raw_parts_mut(
                        self.regs.ptr(dst.at, segment.first).cast::<[T; N]>(),
                        lanes,
                    )
                };
                if self.read_run(mem, segment.first, addr, out.as_flattened_mut(), size as u64) {
                    continue;
                }
            }
            if self.gather::<T, N>(inst, dst, mem, wide, &segment) {
                continue;
            }
            for warp in segment.first..segment.end {
                let run = self.run_mask(warp);
                let lanes = self.guarded(inst, warp, run);
                let addrs = self.addresses(inst, wide, warp);
                let mut values = [[T::default(); N]; CHUNK];
                self.load_warp(inst, mem, warp, lanes, &addrs, &mut values)?;
                self.regs.write(dst, warp, run, !segment.full, &values);
            }
        }
        Ok(())
    }

    /// Reads consecutive values if all of them are there.
    fn read_run<T: Scalar>(&self, mem: Mem, warp: usize, addr: u64, out: &mut [T], align: u64) -> bool {
        if addr & (align - 1) != 0 {
            return false;
        }
        let memory = self.cta.memory_of(warp);
        let (space, addr) = match mem.space {
            ir::Space::Generic => map::decode(addr),
            space => (space_of(space), addr),
        };
        let block = match space {
            Space::Global | Space::Generic => {
                return match self.launch.device.global_run::<T>(addr, out.len()) {
                    Some(run) => {
                        run.read(out);
                        true
                    }
                    None => false,
                };
            }
            Space::Shared => &memory.shared,
            Space::Const => &memory.constant,
            Space::Param => &memory.param,
            Space::Local => return false,
        };
        match block.run::<T>(addr, out.len()) {
            Some(run) => {
                out.copy_from_slice(run);
                true
            }
            None => false,
        }
    }

    fn load_warp<T: Scalar, const N: usize>(
        &self,
        inst: &Inst,
        mem: Mem,
        warp: usize,
        lanes: u32,
        addrs: &[u64; CHUNK],
        values: &mut [[T; N]; CHUNK],
    ) -> Result<(), Box<Stop>> {
        let size = size_of::<[T; N]>() as u64;
        let (memory, first_lane) = (self.cta.memory_of(warp), self.lane_of(warp));
        let device = self.launch.device;
        if let Some((first, count)) = neighbours(lanes).filter(|n| n.1 > 1) {
            let base = addrs[first];
            let follows = |l: usize| addrs[l] == base.wrapping_add((l - first) as u64 * size);
            if (first..first + count).all(follows)
                && self.read_run(mem, warp, base, values[first..first + count].as_flattened_mut(), size)
            {
                return Ok(());
            }
            // One address for all: one look. Local memory is another place in every lane.
            if mem.space != ir::Space::Local
                && (first..first + count).all(|l| addrs[l] == base)
                && map::decode(base).0 != Space::Local
                && let Ok(value) = memory.load_vec(device, space_of(mem.space), first_lane, base)
            {
                values[first..first + count].fill(value);
                return Ok(());
            }
        }
        let each = |values: &mut [[T; N]; CHUNK], get: &dyn Fn(usize, u64) -> Result<[T; N], FaultKind>| {
            let mut lanes = lanes;
            while lanes != 0 {
                let l = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                match get(l, addrs[l]) {
                    Ok(v) => values[l] = v,
                    Err(kind) => return Err((l, kind)),
                }
            }
            Ok(())
        };
        let done = match mem.space {
            ir::Space::Global => each(values, &|_, addr| device.load_vec(addr)),
            ir::Space::Shared => each(values, &|_, addr| memory.shared.load_vec(addr)),
            space => {
                let space = space_of(space);
                each(values, &|l, addr| memory.load_vec(device, space, first_lane + l, addr))
            }
        };
        done.map_err(|(l, kind)| {
            let bad = Bad { kind, addr: addrs[l], size, lane: warp * CHUNK + l };
            self.stop(inst, mem, Access::Load, bad)
        })
    }

    /// The stretch of memory that the accesses of all lanes in the masks lie in: space, first address in it, and length in `T`. None if
    /// an address is not aligned, or they lie in different spaces or far apart.
    fn stretch<T: Scalar, const N: usize>(
        &self,
        inst: &Inst,
        mem: Mem,
        wide: bool,
        first: usize,
        masks: &[u32],
    ) -> Option<(Space, u64, usize)> {
        let size = size_of::<[T; N]>() as u64;
        let [min, max, bits] = self.regs.bounds(inst.args[0], wide, first, masks);
        if max < min || bits & (size - 1) != 0 || max - min > 1 << 31 {
            return None;
        }
        let len = ((max - min) / T::SIZE) as usize + N;
        match mem.space {
            ir::Space::Generic => {
                let (space, at) = map::decode(min);
                (space == map::decode(max).0).then_some((space, at, len))
            }
            space => Some((space_of(space), min, len)),
        }
    }

    /// The lanes of a segment's warps that an access is for.
    fn lanes(&self, inst: &Inst, segment: &Segment) -> [u32; BATCH] {
        let mut lanes = [0; BATCH];
        for (i, run) in self.run_masks(segment).iter().enumerate() {
            lanes[i] = self.guarded(inst, segment.first + i, *run);
        }
        lanes
    }

    /// Reads what lies scattered in one stretch of memory that is all there, with one check. Answers whether it could.
    fn gather<T: Scalar, const N: usize>(
        &self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        wide: bool,
        segment: &Segment,
    ) -> bool {
        let lanes = self.lanes(inst, segment);
        let lanes = &lanes[..segment.warps()];
        let first = segment.first;
        let Some((space, at, len)) = self.stretch::<T, N>(inst, mem, wide, first, lanes) else {
            return false;
        };
        // The address that the stretch begins at, as the instruction has it.
        let base = if mem.space == ir::Space::Generic { space.to_generic(at) } else { at };
        let Some(host) = self.host(space, segment.cta, at, len * size_of::<T>()) else { return false };
        let keep = !segment.full && !dst.free;
        let to = if keep { Dst { at: Arg { base: Base::Scratch, offset: 0, ..dst.at }, ..dst } } else { dst };
        // SAFETY: all from the least address to the end of what is read at the greatest is there, and all of them are aligned. Global
        // memory may be written by others meanwhile, as when a whole run is copied.
        unsafe { self.regs.gather(to, inst.args[0], wide, host, base, first, lanes) };
        if keep {
            self.regs.blend(dst, to.at, first, self.run_masks(segment));
        }
        true
    }

    /// Writes to places scattered in one stretch of memory that is all there, with one check, in ascending order of lanes. Answers
    /// whether it could.
    fn scatter<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        mem: Mem,
        wide: bool,
        segment: &Segment,
    ) -> bool {
        let lanes = self.lanes(inst, segment);
        let lanes = &lanes[..segment.warps()];
        let first = segment.first;
        let Some((space, at, len)) = self.stretch::<T, N>(inst, mem, wide, first, lanes) else {
            return false;
        };
        let base = if mem.space == ir::Space::Generic { space.to_generic(at) } else { at };
        match space {
            Space::Global | Space::Generic => {
                let Some(run) = self.launch.device.global_run::<T>(at, len) else { return false };
                for warp in first..segment.end {
                    let addrs = self.addresses(inst, wide, warp);
                    let values: [[T; N]; CHUNK] = self.regs.read(inst.args[1], warp);
                    for_each_lane(lanes[warp - first], |l| {
                        let to = (addrs[l].wrapping_sub(base) / T::SIZE) as usize;
                        for (k, v) in values[l].iter().enumerate() {
                            run.set(to + k, *v);
                        }
                    });
                }
                true
            }
            Space::Shared => {
                for warp in first..segment.end {
                    let addrs = self.addresses(inst, wide, warp);
                    let values: [[T; N]; CHUNK] = self.regs.read(inst.args[1], warp);
                    let memory = self.cta.memory_of_mut(warp);
                    let Some(run) = memory.shared.run_mut::<T>(at, len) else { return false };
                    for_each_lane(lanes[warp - first], |l| {
                        let to = (addrs[l].wrapping_sub(base) / T::SIZE) as usize;
                        run[to..][..N].copy_from_slice(&values[l]);
                    });
                }
                true
            }
            Space::Const | Space::Param | Space::Local => false,
        }
    }

    pub(crate) fn store(&mut self, inst: &Inst, mem: Mem, size: u32, wide: bool) -> Result<(), Box<Stop>> {
        fence_before(mem);
        by_size!(size, |T, N| self.store_as::<T, N>(inst, mem, wide))?;
        if mem.order == Order::SeqCst {
            fence(Ordering::SeqCst);
        }
        Ok(())
    }

    fn store_as<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        mem: Mem,
        wide: bool,
    ) -> Result<(), Box<Stop>> {
        let size = size_of::<[T; N]>();
        if self.store_by_shape::<T, N>(inst, mem, wide) {
            return Ok(());
        }
        self.write_out_args(inst);
        for i in 0..self.segments.len() {
            let segment = self.segments[i];
            if inst.args[1].step != 0
                && let Some(lanes) = self.whole_run(inst, wide, size, &segment)
            {
                let addr = self.addresses(inst, wide, segment.first)[0];
                // SAFETY: the column is valid for the segment's warps, and nothing writes to it meanwhile.
                let values = unsafe {
                    std::slice::from_raw_parts(
                        self.regs.ptr(inst.args[1], segment.first).cast_const().cast::<[T; N]>(),
                        lanes,
                    )
                };
                if self.write_run(mem, segment.first, addr, values.as_flattened(), size as u64) {
                    continue;
                }
            }
            if self.scatter::<T, N>(inst, mem, wide, &segment) {
                continue;
            }
            for warp in segment.first..segment.end {
                let lanes = self.guarded(inst, warp, self.run_mask(warp));
                let addrs = self.addresses(inst, wide, warp);
                let values: [[T; N]; CHUNK] = self.regs.read(inst.args[1], warp);
                self.store_warp(inst, mem, warp, lanes, &addrs, &values)?;
            }
        }
        Ok(())
    }

    /// Writes consecutive values if all of them are there.
    pub(crate) fn write_run<T: Scalar>(
        &mut self,
        mem: Mem,
        warp: usize,
        addr: u64,
        values: &[T],
        align: u64,
    ) -> bool {
        if addr & (align - 1) != 0 {
            return false;
        }
        let (space, addr) = match mem.space {
            ir::Space::Generic => map::decode(addr),
            space => (space_of(space), addr),
        };
        match space {
            Space::Global | Space::Generic => match self.launch.device.global_run::<T>(addr, values.len()) {
                Some(run) => {
                    run.write(values);
                    true
                }
                None => false,
            },
            Space::Shared => match self.cta.memory_of_mut(warp).shared.run_mut::<T>(addr, values.len()) {
                Some(run) => {
                    run.copy_from_slice(values);
                    true
                }
                None => false,
            },
            Space::Const | Space::Param | Space::Local => false,
        }
    }

    fn store_warp<T: Scalar, const N: usize>(
        &mut self,
        inst: &Inst,
        mem: Mem,
        warp: usize,
        lanes: u32,
        addrs: &[u64; CHUNK],
        values: &[[T; N]; CHUNK],
    ) -> Result<(), Box<Stop>> {
        let size = size_of::<[T; N]>() as u64;
        if let Some((first, count)) = neighbours(lanes).filter(|n| n.1 > 1) {
            let base = addrs[first];
            let follows = |l: usize| addrs[l] == base.wrapping_add((l - first) as u64 * size);
            if (first..first + count).all(follows)
                && self.write_run(mem, warp, base, values[first..first + count].as_flattened(), size)
            {
                return Ok(());
            }
        }
        let device = self.launch.device;
        let first_lane = self.lane_of(warp);
        let memory = self.cta.memory_of_mut(warp);
        let mut failed = None;
        let mut open = lanes;
        while open != 0 {
            let l = open.trailing_zeros() as usize;
            open &= open - 1;
            let done = match mem.space {
                ir::Space::Global => device.store_vec(addrs[l], values[l]),
                ir::Space::Shared => memory.shared.store_vec(addrs[l], values[l]),
                space => memory.store_vec(device, space_of(space), first_lane + l, addrs[l], values[l]),
            };
            if let Err(kind) = done {
                failed = Some((l, kind));
                break;
            }
        }
        match failed {
            Some((l, kind)) => {
                let bad = Bad { kind, addr: addrs[l], size, lane: warp * CHUNK + l };
                Err(self.stop(inst, mem, Access::Store, bad))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn atomic(
        &mut self,
        inst: &Inst,
        dst: Dst,
        op: AtomicOp,
        mem: Mem,
        elem: Elem,
        wide: bool,
    ) -> Result<(), Box<Stop>> {
        fence_before(mem);
        match (op, elem) {
            (AtomicOp::Cas, Elem::I16) => self.cas::<u16>(inst, dst, mem, wide),
            (AtomicOp::Cas, Elem::I32) => self.cas::<u32>(inst, dst, mem, wide),
            (AtomicOp::Cas, _) => self.cas::<u64>(inst, dst, mem, wide),
            (AtomicOp::FAdd { remote }, Elem::I32) => {
                self.each::<u32>(inst, dst, mem, wide, |m, space, lane, addr, operand| {
                    let device = m.launch.device;
                    let (memory, lane) = m.memory_of_lane(lane);
                    memory.atomic_update(device, space, lane, addr, |old| add_f32(old, operand, remote))
                })
            }
            (AtomicOp::FAdd { remote }, _) => {
                self.each::<u64>(inst, dst, mem, wide, |m, space, lane, addr, operand| {
                    let device = m.launch.device;
                    let (memory, lane) = m.memory_of_lane(lane);
                    memory.atomic_update(device, space, lane, addr, |old| add_f64(old, operand, remote))
                })
            }
            (AtomicOp::System(call), _) => self.system(inst, dst, call, wide),
            (op, Elem::I32) => self.integer::<u32>(inst, dst, op, mem, wide),
            (op, _) => self.integer::<u64>(inst, dst, op, mem, wide),
        }?;
        fence_after(mem);
        Ok(())
    }

    fn integer<T: AtomicInt>(
        &mut self,
        inst: &Inst,
        dst: Dst,
        op: AtomicOp,
        mem: Mem,
        wide: bool,
    ) -> Result<(), Box<Stop>> {
        let op = match op {
            AtomicOp::Exch => memory::AtomicOp::Exch,
            AtomicOp::Add => memory::AtomicOp::Add,
            AtomicOp::And => memory::AtomicOp::And,
            AtomicOp::Or => memory::AtomicOp::Or,
            AtomicOp::Xor => memory::AtomicOp::Xor,
            AtomicOp::MinU => memory::AtomicOp::MinUnsigned,
            AtomicOp::MinS => memory::AtomicOp::MinSigned,
            AtomicOp::MaxU => memory::AtomicOp::MaxUnsigned,
            AtomicOp::MaxS => memory::AtomicOp::MaxSigned,
            AtomicOp::Inc => memory::AtomicOp::Inc,
            AtomicOp::Dec => memory::AtomicOp::Dec,
            // Handled by the caller.
            AtomicOp::Cas | AtomicOp::FAdd { .. } | AtomicOp::System(_) => return Ok(()),
        };
        self.each::<T>(inst, dst, mem, wide, |m, space, lane, addr, operand| {
            let device = m.launch.device;
            let (memory, lane) = m.memory_of_lane(lane);
            memory.atomic(device, space, lane, op, addr, operand)
        })
    }

    /// What lanes ask for, one after the other.
    fn system(&mut self, inst: &Inst, dst: Dst, call: SystemCall, wide: bool) -> Result<(), Box<Stop>> {
        self.write_out_args(inst);
        let dst = self.open(dst);
        self.wrote(dst);
        for segment in self.segments.clone() {
            for warp in segment.first..segment.end {
                let run = self.run_mask(warp);
                let addrs = self.addresses(inst, wide, warp);
                let operands: [u64; CHUNK] = self.regs.read(inst.args[1], warp);
                if call == SystemCall::Probe {
                    let lanes = self.guarded(inst, warp, run);
                    let told = observe(self.launch, self.cta, warp, lanes, &addrs, &operands, inst.line);
                    told.map_err(|(l, kind)| {
                        let lane = Some((warp * CHUNK) as u32 + l);
                        Box::new(Stop { kind, line: inst.line, lane })
                    })?;
                    continue;
                }
                let (mut answers, mut failed) = ([0; CHUNK], None);
                for_each_lane(self.guarded(inst, warp, run), |l| {
                    let lane = warp * CHUNK + l;
                    if failed.is_none() {
                        match system_call(self.launch, self.cta, lane, call, addrs[l], operands[l], inst.line)
                        {
                            Ok(answer) => answers[l] = answer,
                            Err(kind) => failed = Some((lane as u32, kind)),
                        }
                    }
                });
                if let Some((lane, kind)) = failed {
                    return Err(Box::new(Stop { kind, line: inst.line, lane: Some(lane) }));
                }
                self.regs.write(dst, warp, run, !segment.full, &answers);
            }
        }
        Ok(())
    }

    fn cas<T: AtomicScalar>(&mut self, inst: &Inst, dst: Dst, mem: Mem, wide: bool) -> Result<(), Box<Stop>> {
        let value = inst.args[2];
        self.each::<T>(inst, dst, mem, wide, |m, space, lane, addr, compare| {
            let new = m.regs.lane(value, lane / CHUNK, lane % CHUNK);
            let device = m.launch.device;
            let (memory, lane) = m.memory_of_lane(lane);
            memory.atomic_cas(device, space, lane, addr, compare, new)
        })
    }

    /// One lane after the other, ascending. `act` gets space, lane of the CTA, address and the second argument.
    fn each<T: Scalar>(
        &mut self,
        inst: &Inst,
        dst: Dst,
        mem: Mem,
        wide: bool,
        act: impl Fn(&mut Machine<'_, '_>, Space, usize, u64, T) -> Result<T, FaultKind>,
    ) -> Result<(), Box<Stop>> {
        let space = space_of(mem.space);
        self.write_out_args(inst);
        let dst = self.open(dst);
        self.wrote(dst);
        for i in 0..self.segments.len() {
            let segment = self.segments[i];
            for warp in segment.first..segment.end {
                let run = self.run_mask(warp);
                let lanes = self.guarded(inst, warp, run);
                let addrs = self.addresses(inst, wide, warp);
                let operands: [T; CHUNK] = self.regs.read(inst.args[1], warp);
                let mut old = [T::default(); CHUNK];
                let mut failed = None;
                for_each_lane(lanes, |l| {
                    if failed.is_none() {
                        match act(self, space, warp * CHUNK + l, addrs[l], operands[l]) {
                            Ok(v) => old[l] = v,
                            Err(kind) => failed = Some((l, kind)),
                        }
                    }
                });
                if let Some((l, kind)) = failed {
                    let size = size_of::<T>() as u64;
                    let bad = Bad { kind, addr: addrs[l], size, lane: warp * CHUNK + l };
                    return Err(self.stop(inst, mem, Access::Atomic, bad));
                }
                self.regs.write(dst, warp, run, !segment.full, &old);
            }
        }
        Ok(())
    }
}

/// What an atomic addition of f32 leaves, as bits: [`AtomicOp::FAdd`].
pub fn add_f32(a: u32, b: u32, remote: bool) -> u32 {
    let flush = |x: f32| if remote && x.is_subnormal() { 0f32.copysign(x) } else { x };
    let sum = flush(flush(f32::from_bits(a)) + flush(f32::from_bits(b)));
    if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() }
}

/// What an atomic addition of f64 leaves, as bits: [`AtomicOp::FAdd`].
pub fn add_f64(old: u64, operand: u64, remote: bool) -> u64 {
    let quiet = if remote { 0 } else { 1 << 51 };
    for bits in [operand, old] {
        if f64::from_bits(bits).is_nan() {
            return bits | quiet;
        }
    }
    let sum = f64::from_bits(old) + f64::from_bits(operand);
    if sum.is_nan() { 0xfff8_0000_0000_0000 } else { sum.to_bits() }
}
