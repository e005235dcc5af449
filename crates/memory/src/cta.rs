//! What a CTA sees besides global memory: shared, local, constant and parameter memory.

use crate::device::DeviceMemory;
use crate::fault::{Access, Fault, FaultKind};
use crate::map::{self, Space, WINDOW_SIZE};
use crate::scalar::{AtomicInt, AtomicOp, AtomicScalar, Scalar};
use std::sync::Arc;

/// The unit a block is made of, for its alignment: any vector access and a cache line fit.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Line([u8; 128]);

const LINE: usize = size_of::<Line>();

/// Shared memory takes up whole units of so many bytes on the host, aligned to as many.
pub const SHARED_LINE: usize = LINE;

/// The memory behind a window: so many bytes, addressed from 0. The first byte is 128-byte aligned on the host.
#[derive(Clone)]
pub struct Block {
    space: Space,
    len: usize,
    lines: Vec<Line>,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Block").field("space", &self.space).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Block {
    /// An empty block for `space`, which faults will mention.
    pub fn new(space: Space) -> Block {
        Block { space, len: 0, lines: Vec::new() }
    }

    /// A block that holds a copy of `bytes`: a constant bank or the parameters of a launch.
    pub fn from_bytes(space: Space, bytes: &[u8]) -> Block {
        let mut block = Block::new(space);
        block.reset(bytes.len());
        block.bytes_mut().copy_from_slice(bytes);
        block
    }

    /// Makes the block `len` zeroed bytes. Host memory is kept from use to use.
    ///
    /// # Panics
    /// Where `len` does not fit a window; launches are refused before.
    pub fn reset(&mut self, len: usize) {
        assert!(len as u64 <= WINDOW_SIZE || self.space == Space::Local, "{len} bytes do not fit a window");
        self.len = len;
        // Filling nothing is not for nothing: the C library stores with an empty mask, where an empty vector has no memory, and a CPU takes
        // hundreds of cycles to find out that no harm is done.
        if len > 0 || !self.lines.is_empty() {
            self.lines.clear();
            self.lines.resize(len.div_ceil(LINE), Line([0; LINE]));
        }
    }

    /// Bytes of the block.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the block has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: a `Line` is 128 plain bytes without padding, and `len` bytes of them exist.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    /// The bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }

    /// Host address of offset 0, for compiled kernels. Valid until the block is reset or dropped.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// Host address of offset 0, for compiled kernels. Valid until the block is reset or dropped.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    /// `count` consecutive values at an aligned offset, where they are inside: a column of lanes without a copy.
    #[inline]
    pub fn run<T: Scalar>(&self, offset: u64, count: usize) -> Option<&[T]> {
        let at = self.run_at::<T>(offset, count)?;
        // SAFETY: inside the block by `run_at`; the base is 128-byte aligned, so an aligned offset is an aligned
        // pointer; every bit pattern is a value.
        Some(unsafe { std::slice::from_raw_parts(self.as_ptr().add(at).cast(), count) })
    }

    /// As [`Block::run`], to write to.
    #[inline]
    pub fn run_mut<T: Scalar>(&mut self, offset: u64, count: usize) -> Option<&mut [T]> {
        let at = self.run_at::<T>(offset, count)?;
        // SAFETY: as in `run`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().add(at).cast(), count) })
    }

    #[inline]
    fn run_at<T: Scalar>(&self, offset: u64, count: usize) -> Option<usize> {
        let size = T::SIZE.checked_mul(count as u64)?;
        let inside = offset & (T::SIZE - 1) == 0 && offset.checked_add(size)? <= self.len as u64;
        inside.then_some(offset as usize)
    }

    /// Loads a value.
    #[inline]
    pub fn load<T: Scalar>(&self, offset: u64) -> Result<T, FaultKind> {
        match self.run(offset, 1) {
            Some(run) => Ok(run[0]),
            None => Err(self.classify(offset, T::SIZE)),
        }
    }

    /// Loads a vector of `N` values, a power of two; the offset must be a multiple of the whole.
    #[inline]
    pub fn load_vec<T: Scalar, const N: usize>(&self, offset: u64) -> Result<[T; N], FaultKind> {
        const { assert!(N.is_power_of_two()) };
        let align = T::SIZE * N as u64;
        match self.run(offset, N) {
            Some(run) if offset & (align - 1) == 0 => Ok(std::array::from_fn(|i| run[i])),
            _ => Err(self.classify(offset, align)),
        }
    }

    /// Stores a value.
    #[inline]
    pub fn store<T: Scalar>(&mut self, offset: u64, value: T) -> Result<(), FaultKind> {
        self.store_vec(offset, [value])
    }

    /// Stores a vector of `N` values, a power of two; the offset must be a multiple of the whole.
    #[inline]
    pub fn store_vec<T: Scalar, const N: usize>(
        &mut self,
        offset: u64,
        values: [T; N],
    ) -> Result<(), FaultKind> {
        const { assert!(N.is_power_of_two()) };
        let align = T::SIZE * N as u64;
        if offset & (align - 1) == 0
            && let Some(run) = self.run_mut(offset, N)
        {
            run.copy_from_slice(&values);
            return Ok(());
        }
        Err(self.classify(offset, align))
    }

    /// Replaces a value by `f` of it; answers what it was. The CTA has one thread, so this is atomic to it.
    #[inline]
    pub fn update<T: Scalar>(&mut self, offset: u64, f: impl FnOnce(T) -> T) -> Result<T, FaultKind> {
        match self.run_mut(offset, 1) {
            Some(run) => {
                let old = run[0];
                run[0] = f(old);
                Ok(old)
            }
            None => Err(self.classify(offset, T::SIZE)),
        }
    }

    #[cold]
    fn classify(&self, offset: u64, align: u64) -> FaultKind {
        classify_window(self.space, self.len as u64, offset, align)
    }
}

/// Why an access to a windowed space failed its check.
fn classify_window(space: Space, len: u64, offset: u64, align: u64) -> FaultKind {
    if offset > u64::from(u32::MAX) {
        // Not an offset at all: a generic or global pointer that was not converted.
        match map::decode(offset).0 {
            Space::Global if offset >= map::GLOBAL_LIMIT => {}
            actual => return FaultKind::WrongSpace { actual },
        }
    }
    if offset & (align - 1) != 0 {
        return FaultKind::Misaligned { align };
    }
    FaultKind::OutOfWindow { space, len }
}

/// Local memory of all lanes of a CTA. A lane's bytes are contiguous: lane `i` begins at `i * stride()`.
#[derive(Clone, Debug)]
pub struct LocalMemory {
    block: Block,
    lanes: usize,
    per_lane: usize,
}

impl LocalMemory {
    /// A lane's bytes begin at multiples of this.
    const ALIGN: usize = 16;

    /// No lanes yet.
    pub fn new() -> LocalMemory {
        LocalMemory { block: Block::new(Space::Local), lanes: 0, per_lane: 0 }
    }

    /// Makes room for `lanes` lanes of `per_lane` zeroed bytes.
    ///
    /// # Panics
    /// Where `per_lane` does not fit a window; launches are refused before.
    pub fn reset(&mut self, lanes: usize, per_lane: usize) {
        assert!(per_lane as u64 <= WINDOW_SIZE, "{per_lane} bytes do not fit a window");
        (self.lanes, self.per_lane) = (lanes, per_lane);
        self.block.reset(lanes * self.stride());
    }

    /// Gives every lane `per_lane` bytes and keeps what they hold, for calls whose depth is not known before.
    ///
    /// # Panics
    /// Where `per_lane` does not fit a window.
    pub fn grow(&mut self, per_lane: usize) {
        if per_lane <= self.per_lane {
            return;
        }
        let mut larger = LocalMemory::new();
        larger.reset(self.lanes, per_lane);
        for lane in 0..self.lanes {
            let (from, to) = (lane * self.stride(), lane * larger.stride());
            let held = &self.block.bytes()[from..from + self.per_lane];
            larger.block.bytes_mut()[to..to + self.per_lane].copy_from_slice(held);
        }
        *self = larger;
    }

    /// Bytes of each lane.
    pub fn per_lane(&self) -> usize {
        self.per_lane
    }

    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Host bytes from one lane to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        self.per_lane.next_multiple_of(Self::ALIGN)
    }

    /// Host address of lane 0's offset 0, for compiled kernels. Valid until the memory is reset, grown or dropped.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.block.as_mut_ptr()
    }

    /// Where `offset` of `lane` is in the block.
    #[inline]
    fn at(&self, lane: usize, offset: u64, size: u64) -> Result<u64, FaultKind> {
        debug_assert!(lane < self.lanes);
        let inside = offset.checked_add(size).is_some_and(|end| end <= self.per_lane as u64);
        if inside && offset & (size - 1) == 0 {
            Ok((lane * self.stride()) as u64 + offset)
        } else {
            Err(classify_window(Space::Local, self.per_lane as u64, offset, size))
        }
    }

    /// Loads a value of a lane.
    #[inline]
    pub fn load<T: Scalar>(&self, lane: usize, offset: u64) -> Result<T, FaultKind> {
        let [value] = self.load_vec(lane, offset)?;
        Ok(value)
    }

    /// Loads a vector of a lane.
    #[inline]
    pub fn load_vec<T: Scalar, const N: usize>(&self, lane: usize, offset: u64) -> Result<[T; N], FaultKind> {
        let at = self.at(lane, offset, T::SIZE * N as u64)?;
        // Lanes begin at multiples of 16 only, so larger vectors go by their elements.
        match self.block.run(at, N) {
            Some(run) => Ok(std::array::from_fn(|i| run[i])),
            None => Err(FaultKind::OutOfWindow { space: Space::Local, len: self.per_lane as u64 }),
        }
    }

    /// Stores a value of a lane.
    #[inline]
    pub fn store<T: Scalar>(&mut self, lane: usize, offset: u64, value: T) -> Result<(), FaultKind> {
        self.store_vec(lane, offset, [value])
    }

    /// Stores a vector of a lane.
    #[inline]
    pub fn store_vec<T: Scalar, const N: usize>(
        &mut self,
        lane: usize,
        offset: u64,
        values: [T; N],
    ) -> Result<(), FaultKind> {
        let at = self.at(lane, offset, T::SIZE * N as u64)?;
        match self.block.run_mut(at, N) {
            Some(run) => {
                run.copy_from_slice(&values);
                Ok(())
            }
            None => Err(FaultKind::OutOfWindow { space: Space::Local, len: self.per_lane as u64 }),
        }
    }

    /// Replaces a value of a lane by `f` of it; answers what it was.
    #[inline]
    pub fn update<T: Scalar>(
        &mut self,
        lane: usize,
        offset: u64,
        f: impl FnOnce(T) -> T,
    ) -> Result<T, FaultKind> {
        let at = self.at(lane, offset, T::SIZE)?;
        self.block.update(at, f)
    }
}

impl Default for LocalMemory {
    fn default() -> Self {
        LocalMemory::new()
    }
}

/// The windows of one CTA, reused from CTA to CTA. The methods take any space; an engine that knows it goes to the
/// parts directly.
#[derive(Clone, Debug)]
pub struct CtaMemory {
    /// Shared memory.
    pub shared: Block,
    /// Local memory of every lane.
    pub local: LocalMemory,
    /// The module's constant bank.
    pub constant: Arc<Block>,
    /// The kernel's parameters.
    pub param: Arc<Block>,
}

impl CtaMemory {
    /// Windows with this constant bank and these parameters, still without shared or local memory.
    pub fn new(constant: Arc<Block>, param: Arc<Block>) -> CtaMemory {
        CtaMemory { shared: Block::new(Space::Shared), local: LocalMemory::new(), constant, param }
    }

    /// Prepares for the next CTA: so many bytes of shared memory and so many lanes with so many bytes of local memory,
    /// all zero.
    pub fn begin(&mut self, shared: usize, lanes: usize, local_per_lane: usize) {
        self.shared.reset(shared);
        self.local.reset(lanes, local_per_lane);
    }

    /// Loads a value as `lane` sees it.
    #[inline]
    pub fn load<T: Scalar>(
        &self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
    ) -> Result<T, FaultKind> {
        let [value] = self.load_vec(device, space, lane, addr)?;
        Ok(value)
    }

    /// Loads a vector as `lane` sees it.
    #[inline]
    pub fn load_vec<T: Scalar, const N: usize>(
        &self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
    ) -> Result<[T; N], FaultKind> {
        let (space, addr) = resolve(space, addr);
        match space {
            Space::Shared => self.shared.load_vec(addr),
            Space::Local => self.local.load_vec(lane, addr),
            Space::Const => self.constant.load_vec(addr),
            Space::Param => self.param.load_vec(addr),
            Space::Global | Space::Generic => device.load_vec(addr),
        }
    }

    /// Stores a value as `lane` sees it.
    #[inline]
    pub fn store<T: Scalar>(
        &mut self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
        value: T,
    ) -> Result<(), FaultKind> {
        self.store_vec(device, space, lane, addr, [value])
    }

    /// Stores a vector as `lane` sees it.
    #[inline]
    pub fn store_vec<T: Scalar, const N: usize>(
        &mut self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
        values: [T; N],
    ) -> Result<(), FaultKind> {
        let (space, addr) = resolve(space, addr);
        match space {
            Space::Shared => self.shared.store_vec(addr, values),
            Space::Local => self.local.store_vec(lane, addr, values),
            Space::Const | Space::Param => Err(FaultKind::ReadOnly { space }),
            Space::Global | Space::Generic => device.store_vec(addr, values),
        }
    }

    /// An integer read-modify-write; answers what memory held.
    #[inline]
    pub fn atomic<T: AtomicInt>(
        &mut self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        op: AtomicOp,
        addr: u64,
        operand: T,
    ) -> Result<T, FaultKind> {
        match resolve(space, addr) {
            (Space::Global, addr) => device.atomic(op, addr, operand),
            (space, addr) => self.update_window(space, lane, addr, |old| T::apply(op, old, operand)),
        }
    }

    /// Stores `new` where memory holds `compare`; answers what it held.
    #[inline]
    pub fn atomic_cas<T: AtomicScalar>(
        &mut self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
        compare: T,
        new: T,
    ) -> Result<T, FaultKind> {
        match resolve(space, addr) {
            (Space::Global, addr) => device.atomic_cas(addr, compare, new),
            (space, addr) => {
                self.update_window(space, lane, addr, |old| if old == compare { new } else { old })
            }
        }
    }

    /// Replaces what memory holds by `f` of it in one step; answers what it held. `f` may be called more than once.
    #[inline]
    pub fn atomic_update<T: AtomicScalar>(
        &mut self,
        device: &DeviceMemory,
        space: Space,
        lane: usize,
        addr: u64,
        f: impl FnMut(T) -> T,
    ) -> Result<T, FaultKind> {
        match resolve(space, addr) {
            (Space::Global, addr) => device.atomic_update(addr, f),
            (space, addr) => self.update_window(space, lane, addr, f),
        }
    }

    #[inline]
    fn update_window<T: Scalar>(
        &mut self,
        space: Space,
        lane: usize,
        addr: u64,
        f: impl FnOnce(T) -> T,
    ) -> Result<T, FaultKind> {
        match space {
            Space::Shared => self.shared.update(addr, f),
            Space::Local => self.local.update(lane, addr, f),
            Space::Const | Space::Param | Space::Global | Space::Generic => {
                Err(FaultKind::ReadOnly { space })
            }
        }
    }

    /// What is wrong with an access of `size` bytes that must be a multiple of `align`; none where all is well. The
    /// cold path of compiled kernels: `space` and `addr` as the instruction has them.
    pub fn diagnose(
        &self,
        device: &DeviceMemory,
        space: Space,
        addr: u64,
        size: u64,
        align: u64,
        access: Access,
    ) -> Option<Fault> {
        let (actual, at) = resolve(space, addr);
        let len = match actual {
            Space::Shared => self.shared.len() as u64,
            Space::Local => self.local.per_lane() as u64,
            Space::Const => self.constant.len() as u64,
            Space::Param => self.param.len() as u64,
            Space::Global | Space::Generic => {
                let fault = device.diagnose(addr, size, align, access)?;
                return Some(Fault { space, ..fault });
            }
        };
        let kind = if access.writes() && matches!(actual, Space::Const | Space::Param) {
            FaultKind::ReadOnly { space: actual }
        } else if at & (align - 1) == 0 && at.checked_add(size).is_some_and(|end| end <= len) {
            return None;
        } else {
            classify_window(actual, len, at, align)
        };
        Some(device.fault(kind, space, addr, size, access))
    }
}

/// The space that an access really goes to, and the address in it.
#[inline]
fn resolve(space: Space, addr: u64) -> (Space, u64) {
    match space {
        Space::Generic => map::decode(addr),
        _ => (space, addr),
    }
}
