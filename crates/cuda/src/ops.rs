//! What is queued on streams and kept in graphs: one type for both, so that a stream can be captured.

use crate::errors::{self, Code};
use crate::graph::{self, GraphMemory};
use crate::state::{self, EventObject, State, StreamObject};
use crate::types::HostFn;
use crate::{log, stats};
use hostwarp::{Error, Kernel};
use std::ffi::c_void;
use std::io::Write;
use std::sync::Arc;

/// One thing to do.
#[derive(Clone)]
pub enum Op {
    /// A launch.
    Kernel(Launch),
    /// A copy.
    Copy(Copy),
    /// A fill.
    Fill(Fill),
    /// A word written to memory, of 64 bits or 32.
    Value {
        /// Its address.
        at: u64,
        /// What is written.
        value: u64,
        /// Whether it has 64 bits.
        wide: bool,
    },
    /// A call of the host's.
    Host(HostCall),
    /// An allocation of a graph's, which is made with the node.
    Alloc(Arc<GraphMemory>),
    /// A free.
    Free(u64),
    /// All of another graph.
    Graph(Arc<Vec<Op>>),
    /// Recording an event.
    Record(Arc<EventObject>),
    /// Waiting for an event that was recorded elsewhere.
    Wait(Arc<EventObject>),
    /// Nothing.
    Empty,
}

/// A launch with everything it needs.
#[derive(Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Its handle.
    pub handle: usize,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of each.
    pub block: [u32; 3],
    /// Dynamic shared memory.
    pub shared: u32,
    /// The parameter block.
    pub params: Vec<u8>,
    /// Whether CTAs may wait for each other.
    pub cooperative: bool,
}

/// A copy of `depth` × `height` rows of `width` bytes. Addresses are the device's or the host's, told by their value.
#[derive(Clone, Debug)]
pub struct Copy {
    /// To where.
    pub to: Side,
    /// From where.
    pub from: Side,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
    /// What the source held when the copy was asked for, if the host may change it.
    pub taken: Option<Arc<Vec<u8>>>,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Side {
    /// The first byte.
    pub at: u64,
    /// From row to row.
    pub pitch: u64,
    /// From slice to slice.
    pub slice: u64,
}

/// A fill of `depth` × `height` rows.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The first byte.
    pub at: u64,
    /// From row to row.
    pub pitch: u64,
    /// The element.
    pub value: [u8; 4],
    /// Its size: 1, 2 or 4.
    pub size: usize,
    /// Elements of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// From slice to slice.
    pub slice: u64,
    /// Slices.
    pub depth: u64,
}

/// A call of the host's.
#[derive(Clone)]
pub enum HostCall {
    /// With its data, as a number.
    Function(HostFn, usize),
    /// Anything.
    Other(Arc<dyn Fn() + Send + Sync>),
}

impl Copy {
    /// A row of bytes.
    pub fn row(to: u64, from: u64, len: u64) -> Copy {
        let side = |at| Side { at, pitch: len, slice: len };
        Copy { to: side(to), from: side(from), width: len, height: 1, depth: 1, taken: None }
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// The copy, if the sides that are to be the device's are memory that it can use.
    pub fn between(self, to_device: bool, from_device: bool) -> Result<Copy, Code> {
        let state = state::state()?;
        let good = |side: Side, device: bool| !device || state.is_pinned(side.at);
        match self.is_empty() || good(self.to, to_device) && good(self.from, from_device) {
            true => Ok(self),
            false => Err(errors::INVALID_VALUE),
        }
    }

    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let at = |side: Side, y: u64, z: u64| side.at + y * side.pitch + z * side.slice;
        (0..self.depth)
            .flat_map(move |z| (0..self.height).map(move |y| (at(self.to, y, z), at(self.from, y, z))))
    }

    /// Whether the device's ranges are inside allocations.
    pub fn check(&self, state: &State) -> Result<(), Code> {
        if self.is_empty() {
            return Ok(());
        }
        for side in [self.to, self.from] {
            if side.at == 0 {
                return Err(errors::INVALID_VALUE);
            }
            let last = (self.height - 1) * side.pitch + (self.depth - 1) * side.slice + self.width - 1;
            if state.is_device(side.at) {
                let found = state.device.memory().lookup(side.at).ok_or(errors::INVALID_VALUE)?;
                if side.at + last >= found.base + found.size {
                    return Err(errors::INVALID_VALUE);
                }
            }
        }
        Ok(())
    }

    /// Takes what the host may change as soon as the call returns.
    pub fn take(&mut self) {
        let mut bytes = Vec::with_capacity((self.width * self.height * self.depth) as usize);
        for (_, from) in self.rows() {
            // SAFETY: whoever asked for the copy promised that the source can be read.
            bytes.extend_from_slice(unsafe { host(from, self.width) });
        }
        self.taken = Some(Arc::new(bytes));
    }

    fn run(&self, state: &State) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let memory = state.device.memory();
        for (i, (to, from)) in self.rows().enumerate() {
            let width = self.width as usize;
            let to_device = state.is_device(to);
            if let Some(taken) = &self.taken {
                let row = &taken[i * width..(i + 1) * width];
                match to_device {
                    true => memory.write(to, row)?,
                    // SAFETY: whoever asked for the copy promised that the destination can be written.
                    false => unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), pointer(to), width) },
                }
            } else {
                match (to_device, state.is_device(from)) {
                    (true, true) => memory.copy(to, from, self.width)?,
                    // SAFETY: whoever asked for the copy promised that the source can be read; it is outside of the arena.
                    (true, false) => memory.write(to, unsafe { host(from, self.width) })?,
                    // SAFETY: likewise for the destination, which nobody else uses meanwhile.
                    (false, true) => memory.read(from, unsafe { host_mut(to, self.width) })?,
                    // SAFETY: likewise for both; they may overlap.
                    (false, false) => unsafe { std::ptr::copy(pointer(from), pointer(to), width) },
                }
            }
            if to_device {
                state.update_constant(to, self.width)?;
            }
        }
        Ok(())
    }
}

fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// # Safety
/// The bytes can be read, and nobody writes them while the slice lives.
unsafe fn host<'a>(address: u64, len: u64) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer(address), len as usize) }
}

/// # Safety
/// The bytes can be written, and nobody else uses them while the slice lives.
unsafe fn host_mut<'a>(address: u64, len: u64) -> &'a mut [u8] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(pointer(address), len as usize) }
}

impl Fill {
    /// Whether the range is inside an allocation.
    pub fn check(&self, state: &State) -> Result<(), Code> {
        let bytes = self.width * self.size as u64;
        if bytes == 0 || self.height == 0 || self.depth == 0 {
            return Ok(());
        }
        let last = (self.depth - 1) * self.slice + (self.height - 1) * self.pitch + bytes;
        match state.device.memory().lookup(self.at) {
            Some(found) if self.at + last <= found.base + found.size => Ok(()),
            _ => Err(errors::INVALID_VALUE),
        }
    }

    fn run(&self, state: &State) -> Result<(), Error> {
        let rows = (0..self.depth).flat_map(|z| (0..self.height).map(move |y| (z, y)));
        for (z, y) in rows {
            let at = self.at + z * self.slice + y * self.pitch;
            let same = self.value[..self.size].iter().all(|b| *b == self.value[0]);
            if same {
                state.device.memory().fill(at, &self.value[..1], self.width * self.size as u64)?;
            } else {
                state.device.memory().fill(at, &self.value[..self.size], self.width)?;
            }
            if self.width > 0 {
                state.update_constant(at, self.width * self.size as u64)?;
            }
        }
        Ok(())
    }
}

impl Launch {
    /// Does it, watched if that was asked for.
    fn run(&self, state: &State) -> Result<(), Error> {
        let mut launch = self.builder().engine(state.engine);
        if state.strict {
            launch = launch.strict();
        }
        let Some(file) = &state.stats else { return launch.run().map(drop) };
        let report = launch.stats().run()?;
        if let Some(stats) = &report.stats {
            let line = stats::line(self.kernel.name(), self.grid, self.block, stats);
            let file = std::fs::File::options().create(true).append(true).open(file);
            // A line in one piece: launches of several streams end at once.
            if let Err(e) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
                log::explain(&format!("HOSTWARP_STATS: {e}"));
            }
        }
        Ok(())
    }

    /// The launch as the library has it.
    pub fn builder(&self) -> hostwarp::LaunchBuilder<'_> {
        let launch = self.kernel.launch().grid(self.grid).block(self.block).shared(self.shared);
        let launch = if self.cooperative { launch.cooperative() } else { launch };
        launch.packed(self.params.as_slice())
    }
}

impl Op {
    /// Does it.
    pub fn run(&self, state: &State) -> Result<(), Error> {
        match self {
            Op::Kernel(launch) => launch.run(state),
            Op::Copy(copy) => copy.run(state),
            Op::Fill(fill) => fill.run(state),
            Op::Value { at, value, wide } => {
                let memory = state.device.memory();
                let stored = match wide {
                    true => memory.store(*at, *value),
                    false => memory.store(*at, *value as u32),
                };
                let size = if *wide { 8 } else { 4 };
                let access = hostwarp::memory::Access::HostWrite;
                stored.map_err(|kind| {
                    let fault = memory.fault(kind, hostwarp::memory::Space::Global, *at, size, access);
                    Error::Memory(fault.into())
                })?;
                state.update_constant(*at, size)
            }
            Op::Host(HostCall::Function(function, data)) => {
                function(std::ptr::with_exposed_provenance_mut::<c_void>(*data));
                Ok(())
            }
            Op::Host(HostCall::Other(call)) => {
                call();
                Ok(())
            }
            Op::Free(address) => {
                state.release(*address);
                Ok(())
            }
            Op::Graph(ops) => ops.iter().try_for_each(|op| op.run(state)),
            Op::Record(event) => {
                // At this place of the graph: everything before it is done.
                let now = state.device.stream();
                now.record(&event.event);
                Ok(())
            }
            Op::Wait(event) => event.event.synchronize(),
            Op::Alloc(_) | Op::Empty => Ok(()),
        }
    }

    /// What the kind of node is called.
    pub fn node_type(&self) -> i32 {
        match self {
            Op::Kernel(_) => 0,
            Op::Copy(_) => 1,
            Op::Fill(_) => 2,
            // `CU_GRAPH_NODE_TYPE_BATCH_MEM_OP`
            Op::Value { .. } => 12,
            Op::Host(_) => 3,
            Op::Graph(_) => 4,
            Op::Empty => 5,
            Op::Wait(_) => 6,
            Op::Record(_) => 7,
            Op::Alloc(_) => 10,
            Op::Free(_) => 11,
        }
    }
}

/// Queues something on a stream, or adds it to the graph that the stream captures.
pub fn queue(state: &'static State, on: &Arc<StreamObject>, op: Op) -> Result<(), Code> {
    if let Some(capture) = on.capture().as_mut() {
        return capture.add(op);
    }
    state.queue(on, move || op.run(state));
    Ok(())
}

/// Does something in a stream's order and waits for it; at once where nothing is under way.
pub fn queue_and_wait(state: &'static State, on: &Arc<StreamObject>, op: Op) -> Result<(), Code> {
    graph::refuse(on)?;
    if state.is_idle() {
        return op.run(state).map_err(|e| state::code_of(&e));
    }
    state.queue(on, move || op.run(state));
    state.wait(on)
}
