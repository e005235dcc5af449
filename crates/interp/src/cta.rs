//! The state of one CTA, the same for both engines.

use crate::fault::{KernelFault, KernelFaultKind, Waiting, WaitingAt};
use crate::launch::Launch;
use hostwarp_ir::{BarrierKind, Block, Term};
use hostwarp_memory::CtaMemory;
use hostwarp_system::{Exceeded, Held};
use std::collections::{BTreeSet, HashMap};

/// Lanes of a warp.
pub const WARP: u32 = 32;
/// Barriers of a CTA.
pub const BARRIERS: u32 = 16;

/// What a lane is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// It can go on at its `pc`.
    Ready,
    /// It waits at a barrier and goes on at its `pc`.
    Barrier {
        /// Which barrier.
        id: u8,
    },
    /// It waits for other lanes of its warp and goes on at its `pc`.
    WarpSync {
        /// For which.
        mask: u32,
    },
    /// It is done, or never was.
    Exited,
}

/// How far a run got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All lanes have exited.
    Done,
    /// The budget is used up; the CTA can be run again.
    Yield,
    /// The launch has failed.
    Fault(Box<KernelFault>),
}

/// Which lanes of a warp do what. Lanes that are alive and not ready wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Warp {
    /// Lanes that have not exited.
    pub live: u32,
    /// Lanes that can go on.
    pub ready: u32,
    /// Lanes waiting for others of the warp.
    syncing: u32,
}

/// A barrier's phase.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Lanes of each warp of the CTA that arrived and wait. Nothing until somebody does: most barriers are never used.
    waiting: Vec<u32>,
    /// Lanes of each warp that arrived; as long.
    arrived: Vec<u32>,
    /// Number of lanes in `arrived` that are alive.
    arrivals: u32,
    /// Threads expected; all that are alive if none.
    count: Option<u32>,
    /// Lanes of each warp that have voted; empty if none ever has.
    voters: Vec<u32>,
    /// How many of them yes.
    yes: u32,
}

/// 64 bytes, for alignment.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Line(pub(crate) [u8; 64]);

/// Registers of all lanes: columns as [`hostwarp_plan::Frame`] lays them out.
#[derive(Clone, Default)]
pub struct FrameBuffer {
    lines: Vec<Line>,
}

impl std::fmt::Debug for FrameBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FrameBuffer({} bytes)", self.len())
    }
}

impl FrameBuffer {
    /// At least `bytes` bytes, 64-byte aligned. What is there stays or becomes 0.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let lines = bytes.div_ceil(64);
        if lines > self.lines.len() {
            self.lines = vec![Line([0; 64]); lines];
        }
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.lines.len() * 64
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: lines are plain bytes without padding, and this many of them exist.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len()) }
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.lines.as_ptr().cast()
    }

    /// First byte, 64-byte aligned. Valid for `len` bytes until the CTA is reset or dropped.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }
}

/// Who has run a CTA so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runner {
    /// It is about to begin.
    Nobody,
    /// The interpreter.
    Interp,
    /// Compiled code with this number.
    Code(u64),
}

/// One CTA, or in the interpreter several neighbours along x that run as one: reused from CTA to CTA of a launch with [`Cta::reset`].
#[derive(Debug)]
pub struct Cta {
    /// Its index in the grid, or that of the first.
    pub index: [u32; 3],
    /// CTAs there is room for.
    room: u32,
    /// Warps of each.
    cta_warps: u32,
    /// CTAs there are.
    count: u32,
    /// Shared and local memory, constants and parameters.
    pub memory: CtaMemory,
    /// Those of the other CTAs.
    more_memory: Vec<CtaMemory>,
    /// The registers.
    pub frame: FrameBuffer,
    /// The block each lane is at, or goes on at when it no longer waits.
    pub pc: Vec<u32>,
    /// Who has run it. Others must look whether they can go on with it: compiled code relies on what lanes of its groups have in common.
    pub runner: Runner,
    /// What the interpreter keeps besides.
    pub(crate) scratch: crate::exec::Scratch,
    warps: Vec<Warp>,
    /// Of lanes waiting in a warp synchronisation: the lanes named.
    sync_mask: Vec<u32>,
    /// Of waiting lanes: the block whose terminator made them wait.
    waits_in: Vec<u32>,
    /// Of each warp the votes that were not counted yet; empty if nobody ever voted.
    ballots: Vec<Ballot>,
    /// Of each lane how many voted yes where it last voted.
    votes: Vec<u32>,
    /// Words that lanes have staged for a wide operation, and what is left of it.
    pub(crate) staged: HashMap<usize, Vec<u64>>,
    /// Of each CTA.
    meeting: Vec<Meeting>,
    /// Lanes that found an mbarrier they have to wait for, since that was last asked: others should be let go on.
    pub(crate) gives_way: bool,
    /// The memory all this takes, where somebody counts it: given back with it.
    held: Option<Held>,
}

/// Votes of a warp's lanes at the barrier each comes to next.
#[derive(Clone, Copy, Debug, Default)]
struct Ballot {
    voted: u32,
    yes: u32,
}

/// What threads of one CTA wait for together.
#[derive(Clone, Debug, Default)]
struct Meeting {
    /// The last is that of the cluster.
    barriers: [Barrier; BARRIERS as usize + 1],
    /// Barriers that somebody has arrived at, as bits.
    in_use: u32,
    /// Lanes that have not exited.
    live: u32,
    /// Waits for mbarriers since the last one changed.
    vain: Vain,
    /// Where there are mbarriers, in shared memory: initialised, and not invalidated.
    mbarriers: BTreeSet<u64>,
}

/// Waits for mbarriers of a CTA that were in vain. Only threads of the CTA complete phases, and only by operations that are seen here, so once all of its
/// threads have waited often enough, and nothing else was seen of them, nobody will.
#[derive(Clone, Debug, Default)]
struct Vain {
    /// How often every lane that could go on had to wait.
    rounds: u32,
    /// Lanes of each warp that had to wait in this round; empty if there is no mbarrier.
    waited: Vec<u32>,
    /// Of each lane what it last waited for, and the line.
    at: Vec<(u64, u32)>,
}

/// Waits of every lane of a CTA that make a deadlock. Large: a thread may also give up after a number of tries.
const VAIN_ROUNDS: u32 = 1 << 12;

impl Cta {
    /// Room for a CTA of the launch. It has to be [reset](Cta::reset) to one before it is run.
    pub fn new(launch: &Launch) -> Cta {
        Cta::with_room(launch, 1)
    }

    /// Capacity for as many CTAs of the launch as the interpreter runs as one, which is unobservable. They have to be [reset](Cta::reset_some) before they are run.
    pub fn for_some(launch: &Launch) -> Cta {
        Cta::with_room(launch, launch.ctas_as_one())
    }

    /// As [`Cta::new`] or, with `some`, [`Cta::for_some`], with the memory it takes counted by the launch's limits first.
    pub fn counted(launch: &Launch, some: bool) -> Result<Cta, Exceeded> {
        let hold =
            |room: u32| -> Result<_, Exceeded> { Ok((room, launch.limits.hold(launch.cta_bytes(room))?)) };
        let most = if some { launch.ctas_as_one() } else { 1 };
        // One at a time is slower, but right.
        let (room, held) = hold(most).or_else(|_| hold(1))?;
        Ok(Cta { held: Some(held), ..Cta::with_room(launch, room) })
    }

    /// Becomes room for a single CTA.
    pub fn shrink(&mut self, launch: &Launch) {
        let held = self.held.take();
        *self = Cta { held, ..Cta::new(launch) };
    }

    fn with_room(launch: &Launch, room: u32) -> Cta {
        let lanes = (launch.lanes() * room) as usize;
        let warps = launch.warps() as usize;
        let memory = || CtaMemory::new(launch.constant.clone(), launch.param.clone());
        let mut frame = FrameBuffer::default();
        frame.reserve(launch.program.plan().frame.bytes as usize * lanes);
        Cta {
            index: [0; 3],
            room,
            cta_warps: launch.warps(),
            count: 0,
            memory: memory(),
            more_memory: (1..room).map(|_| memory()).collect(),
            frame,
            pc: vec![0; lanes],
            runner: Runner::Nobody,
            scratch: crate::exec::Scratch::default(),
            warps: vec![Warp::default(); warps * room as usize],
            sync_mask: vec![0; lanes],
            waits_in: vec![0; lanes],
            ballots: vec![],
            votes: vec![],
            staged: HashMap::new(),
            meeting: vec![Meeting::default(); room as usize],
            gives_way: false,
            held: None,
        }
    }

    /// Puts all threads at the entry of the CTA with this index; shared and local memory are zero. The launch must be the one
    /// the CTA was made for.
    pub fn reset(&mut self, launch: &Launch, index: [u32; 3]) {
        self.reset_to(launch, index, 1);
    }

    /// As [`Cta::reset`], to the CTA with this number and those after it: at most so many, and as many as there is room for. Answers how
    /// many there are now.
    pub fn reset_some(&mut self, launch: &Launch, first: u64, most: u64) -> u32 {
        let index = launch.cta_index(first);
        let count = self.room.min(launch.grid[0] - index[0]).min(u32::try_from(most).unwrap_or(u32::MAX));
        self.reset_to(launch, index, count);
        // Only the interpreter asks for several.
        self.scratch.fresh = true;
        count
    }

    fn reset_to(&mut self, launch: &Launch, index: [u32; 3], count: u32) {
        // More than one only where they are whole warps.
        let threads = launch.threads() * count;
        (self.index, self.count) = (index, count);
        self.runner = Runner::Nobody;
        self.scratch.cta_ready = false;
        self.scratch.fairness.clear();
        self.scratch.fresh = false;
        if let Some(seed) = launch.schedule {
            let [x, y, z] = index.map(u64::from);
            self.scratch.random = seed ^ (x | y << 32 | z << 48).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        self.clear_memory(launch);
        self.pc.fill(Block::ENTRY.0);
        self.ballots.fill(Ballot::default());
        self.staged.clear();
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let lanes = threads.saturating_sub(w as u32 * WARP).min(WARP);
            let live = if lanes == WARP { u32::MAX } else { (1 << lanes) - 1 };
            *warp = Warp { live, ready: live, syncing: 0 };
        }
        for (n, m) in (0..).zip(&mut self.meeting) {
            for_each_lane(std::mem::take(&mut m.in_use), |id| {
                let b = &mut m.barriers[id];
                b.waiting.fill(0);
                b.arrived.fill(0);
                b.voters.fill(0);
                (b.arrivals, b.count, b.yes) = (0, None, 0);
            });
            m.live = if n < count { launch.threads() } else { 0 };
            m.vain.rounds = 0;
            m.vain.waited.fill(0);
            m.mbarriers.clear();
        }
    }

    /// Makes shared and local memory zero. Once it has been done for a launch, their host addresses stay as they are.
    pub fn clear_memory(&mut self, launch: &Launch) {
        let local = launch.program.func().info.local_bytes as usize;
        let lanes = launch.lanes() as usize;
        for memory in std::iter::once(&mut self.memory).chain(&mut self.more_memory) {
            memory.begin(launch.shared_bytes() as usize, lanes, local);
        }
    }

    /// The CTA that a warp belongs to, counted from the first, and the warp's number in it.
    #[inline]
    pub(crate) fn cta_of(&self, warp: usize) -> (usize, usize) {
        if self.room == 1 {
            return (0, warp);
        }
        // Dividing 32 bits takes half as long as 64.
        let warp = warp as u32;
        ((warp / self.cta_warps) as usize, (warp % self.cta_warps) as usize)
    }

    /// The memory of a warp's CTA.
    #[inline]
    pub(crate) fn memory_of(&self, warp: usize) -> &CtaMemory {
        self.memory_number(self.cta_of(warp).0)
    }

    /// The memory of a CTA, counted from the first.
    #[inline]
    pub(crate) fn memory_number(&self, cta: usize) -> &CtaMemory {
        match cta {
            0 => &self.memory,
            n => &self.more_memory[n - 1],
        }
    }

    /// The memory of a warp's CTA.
    #[inline]
    pub(crate) fn memory_of_mut(&mut self, warp: usize) -> &mut CtaMemory {
        match self.cta_of(warp).0 {
            0 => &mut self.memory,
            n => &mut self.more_memory[n - 1],
        }
    }

    /// Fills in a column of the frame, of values of so many bytes: lanes of a group get what its first one has, and `stride` more for each
    /// lane between them; that begins anew with every `row` lanes.
    pub fn spread_out(&mut self, slot: u32, bytes: usize, (lane0, lanes): (u32, u32), row: u32, stride: i64) {
        let column = slot as usize * self.pc.len() + lane0 as usize * bytes;
        let Some(group) = self.frame.bytes_mut().get_mut(column..column + lanes as usize * bytes) else {
            return;
        };
        if stride == 0 || bytes > 8 {
            for lane in 1..lanes as usize {
                group.copy_within(..bytes, lane * bytes);
            }
            return;
        }
        let mut first = [0; 8];
        first[..bytes].copy_from_slice(&group[..bytes]);
        let first = i64::from_le_bytes(first);
        for (lane, place) in (0..i64::from(row)).cycle().zip(group.chunks_exact_mut(bytes)) {
            place.copy_from_slice(&first.wrapping_add(stride.wrapping_mul(lane)).to_le_bytes()[..bytes]);
        }
    }

    /// Whether lanes from `lane0` on have in a column of the frame what is at these distances from one value, modulo the column's width: those that `counts` says.
    pub fn is_at_distances(
        &mut self,
        slot: u32,
        bytes: usize,
        lane0: u32,
        distances: &[i64],
        counts: impl Fn(u32) -> bool,
    ) -> bool {
        let column = slot as usize * self.pc.len() + lane0 as usize * bytes;
        let Some(group) = self.frame.bytes_mut().get(column..column + distances.len() * bytes) else {
            return false;
        };
        if bytes > 8 {
            return false;
        }
        let shift = 64 - 8 * bytes as u32;
        let mut origins =
            (0u32..).zip(group.chunks_exact(bytes)).zip(distances).filter_map(|((lane, place), d)| {
                let mut value = [0; 8];
                value[..bytes].copy_from_slice(place);
                counts(lane0 + lane).then(|| i64::from_le_bytes(value).wrapping_sub(*d) << shift)
            });
        let Some(origin) = origins.next() else { return true };
        origins.all(|other| other == origin)
    }

    /// Whether lanes have in a column of the frame what [`Cta::spread_out`] would have put there, those of the group that `counts` says.
    pub fn is_spread_out(
        &mut self,
        slot: u32,
        bytes: usize,
        (lane0, lanes): (u32, u32),
        row: u32,
        stride: i64,
        counts: impl Fn(u32) -> bool,
    ) -> bool {
        let column = slot as usize * self.pc.len() + lane0 as usize * bytes;
        let Some(group) = self.frame.bytes_mut().get(column..column + lanes as usize * bytes) else {
            return false;
        };
        let mut these = (0..lanes).zip(group.chunks_exact(bytes)).filter(|(lane, _)| counts(lane0 + lane));
        let Some((first, value_of_first)) = these.next() else { return true };
        if stride == 0 || bytes > 8 {
            return stride == 0 && these.all(|(_, place)| place == value_of_first);
        }
        let shift = 64 - 8 * bytes as u32;
        let value = |place: &[u8]| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(place);
            i64::from_le_bytes(value)
        };
        let place_in_row = |lane: u32| i64::from(lane % row);
        let base = value(value_of_first).wrapping_sub(stride.wrapping_mul(place_in_row(first)));
        these.all(|(lane, place)| {
            let expected = base.wrapping_add(stride.wrapping_mul(place_in_row(lane)));
            expected << shift == value(place) << shift
        })
    }

    /// CTAs in here.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// CTAs there is room for.
    pub fn room(&self) -> u32 {
        self.room
    }

    /// The CTA and the thread in it that a lane is.
    fn thread_of(&self, launch: &Launch, lane: u32) -> ([u32; 3], [u32; 3]) {
        let [x, y, z] = self.index;
        let (cta, lane) = (lane / launch.lanes(), lane % launch.lanes());
        ([x + cta, y, z], launch.thread_index(lane))
    }

    /// Lanes of the CTA, whole warps.
    pub fn lanes(&self) -> usize {
        self.pc.len()
    }

    /// The warps.
    pub fn warps(&self) -> &[Warp] {
        &self.warps
    }

    /// Whether all lanes have exited.
    pub fn is_done(&self) -> bool {
        self.meeting.iter().all(|m| m.live == 0)
    }

    /// Whether no lane of a CTA, counted from the first, has exited, and all its warps are full.
    pub(crate) fn is_complete(&self, cta: usize) -> bool {
        self.meeting[cta].live == self.cta_warps * WARP
    }

    /// What a lane is doing.
    pub fn state(&self, lane: usize) -> LaneState {
        let (w, bit) = (lane / WARP as usize, 1 << (lane as u32 % WARP));
        let warp = self.warps[w];
        if warp.live & bit == 0 {
            LaneState::Exited
        } else if warp.ready & bit != 0 {
            LaneState::Ready
        } else if warp.syncing & bit != 0 {
            LaneState::WarpSync { mask: self.sync_mask[lane] }
        } else {
            let (cta, w) = self.cta_of(w);
            let m = &self.meeting[cta];
            let id = m
                .barriers
                .iter()
                .position(|b| b.waiting.get(w).is_some_and(|lanes| lanes & bit != 0))
                .unwrap_or(0);
            LaneState::Barrier { id: id as u8 }
        }
    }

    /// Puts lanes of a warp at a block.
    pub fn set_pc(&mut self, warp: usize, lanes: u32, block: Block) {
        let first = warp * WARP as usize;
        if lanes == u32::MAX {
            self.pc[first..first + WARP as usize].fill(block.0);
            return;
        }
        for_each_lane(lanes, |l| self.pc[first + l] = block.0);
    }

    /// Ends all lanes.
    pub(crate) fn exit_all(&mut self) {
        self.warps.fill(Warp::default());
        for m in &mut self.meeting {
            m.live = 0;
        }
    }

    /// Ends lanes of a warp. Others may be released by it.
    pub fn exit(&mut self, warp: usize, lanes: u32) {
        let w = &mut self.warps[warp];
        let gone = w.live & lanes;
        w.live &= !gone;
        w.ready &= !gone;
        if w.syncing != 0 {
            self.release_synced(warp);
        }
        let (cta, in_cta) = self.cta_of(warp);
        let m = &mut self.meeting[cta];
        m.live -= gone.count_ones();
        let mut open = m.in_use;
        while open != 0 {
            let id = open.trailing_zeros() as usize;
            open &= open - 1;
            let b = &mut self.meeting[cta].barriers[id];
            b.arrivals -= (b.arrived[in_cta] & gone).count_ones();
            self.release_if_complete(cta, id);
        }
    }

    /// Ready lanes of a warp arrive at a barrier in the terminator of `from` and go on at `next`: at once if they only arrive,
    /// or else when it is complete.
    #[allow(clippy::too_many_arguments)] // one terminator, spelled out
    pub fn arrive(
        &mut self,
        warp: usize,
        lanes: u32,
        kind: BarrierKind,
        id: u32,
        count: Option<u32>,
        from: Block,
        next: Block,
    ) -> Result<(), KernelFaultKind> {
        // The cluster's comes behind the CTA's own.
        let number = if id == hostwarp_ir::CLUSTER_BARRIER { BARRIERS } else { id };
        let exists = number < BARRIERS || number != id;
        if !exists || count.is_some_and(|c| c == 0 || c % WARP != 0) {
            return Err(KernelFaultKind::BadBarrier { id, count });
        }
        let id = number;
        self.set_pc(warp, lanes, next);
        let (cta, in_cta) = self.cta_of(warp);
        let m = &mut self.meeting[cta];
        m.in_use |= 1 << id;
        let b = &mut m.barriers[id as usize];
        if b.arrived.is_empty() {
            b.waiting.resize(self.cta_warps as usize, 0);
            b.arrived.resize(self.cta_warps as usize, 0);
        }
        let new = lanes & !b.arrived[in_cta];
        b.arrived[in_cta] |= lanes;
        b.arrivals += new.count_ones();
        b.count = b.count.or(count);
        if let Some(ballot) = self.ballots.get_mut(warp).filter(|ballot| ballot.voted & lanes != 0) {
            b.voters.resize(self.cta_warps as usize, 0);
            b.voters[in_cta] |= ballot.voted & lanes;
            b.yes += (ballot.voted & ballot.yes & lanes).count_ones();
            ballot.voted &= !lanes;
        }
        if kind == BarrierKind::Sync {
            b.waiting[in_cta] |= lanes;
            self.warps[warp].ready &= !lanes;
            self.waits(warp, lanes, from);
        }
        self.release_if_complete(cta, id as usize);
        Ok(())
    }

    /// Whether nobody has arrived at a barrier, of those there are.
    pub(crate) fn is_unused(&self, id: u64) -> bool {
        id < BARRIERS.into() && self.meeting.iter().all(|m| m.in_use >> id & 1 == 0)
    }

    /// Ready lanes of a warp wait in the terminator of `from` for the lanes in `mask`, then go on at `next`. Answers whether they
    /// can go on at once.
    pub fn warp_sync(&mut self, warp: usize, lanes: u32, mask: u32, from: Block, next: Block) -> bool {
        self.set_pc(warp, lanes, next);
        let w = &mut self.warps[warp];
        if mask & w.live & !lanes == 0 {
            return true;
        }
        w.ready &= !lanes;
        w.syncing |= lanes;
        let first = warp * WARP as usize;
        for_each_lane(lanes, |l| self.sync_mask[first + l] = mask);
        self.waits(warp, lanes, from);
        self.release_synced(warp)
    }

    fn waits(&mut self, warp: usize, lanes: u32, from: Block) {
        let first = warp * WARP as usize;
        if lanes == u32::MAX {
            self.waits_in[first..first + WARP as usize].fill(from.0);
        } else {
            for_each_lane(lanes, |l| self.waits_in[first + l] = from.0);
        }
    }

    /// Lanes go on together when all those they named and that are alive wait and name the same. Answers whether any do.
    fn release_synced(&mut self, warp: usize) -> bool {
        let first = warp * WARP as usize;
        let mut released = false;
        let mut open = self.warps[warp].syncing;
        while open != 0 {
            let mask = self.sync_mask[first + open.trailing_zeros() as usize];
            let mut same = 0;
            for_each_lane(open, |l| same |= u32::from(self.sync_mask[first + l] == mask) << l);
            open &= !same;
            let w = &mut self.warps[warp];
            if mask & w.live & !same == 0 {
                w.syncing &= !same;
                w.ready |= same & w.live;
                released = true;
            }
        }
        released
    }

    fn release_if_complete(&mut self, cta: usize, id: usize) {
        let of_cta = self.cta_warps as usize;
        let m = &mut self.meeting[cta];
        let warps = &mut self.warps[cta * of_cta..][..of_cta];
        let b = &mut m.barriers[id];
        let complete = match b.count {
            // Whoever arrived is gone: nobody waits.
            _ if b.arrivals == 0 => true,
            None => b.arrivals == m.live,
            // Counted in whole warps: exited lanes of a warp that takes part count as arrived.
            Some(count) => {
                let there: u32 = b
                    .arrived
                    .iter()
                    .zip(&*warps)
                    .filter(|(a, _)| **a != 0)
                    .map(|(a, w)| (a | !w.live).count_ones())
                    .sum();
                there >= count
            }
        };
        if !complete {
            return;
        }
        for (waiting, warp) in b.waiting.iter_mut().zip(warps) {
            warp.ready |= *waiting & warp.live;
            *waiting = 0;
        }
        for (w, voters) in b.voters.iter_mut().enumerate() {
            let first = (cta * of_cta + w) * WARP as usize;
            for_each_lane(std::mem::take(voters), |l| self.votes[first + l] = b.yes);
        }
        b.arrived.fill(0);
        (b.arrivals, b.count, b.yes) = (0, None, 0);
        m.in_use &= !(1 << id);
    }

    /// A lane has a vote at the barrier it comes to next.
    pub(crate) fn vote(&mut self, lane: usize, yes: bool) {
        if self.ballots.is_empty() {
            self.ballots.resize(self.warps.len(), Ballot::default());
            self.votes.resize(self.pc.len(), 0);
        }
        let (ballot, bit) = (&mut self.ballots[lane / WARP as usize], 1 << (lane as u32 % WARP));
        ballot.voted |= bit;
        ballot.yes = if yes { ballot.yes | bit } else { ballot.yes & !bit };
    }

    /// How many voted yes at the last barrier a lane voted at.
    pub(crate) fn votes(&mut self, lane: usize) -> u32 {
        let (warp, bit) = (lane / WARP as usize, 1 << (lane as u32 % WARP));
        // Nobody had to wait, so nobody was counted: all threads of the CTA came to it together, and none can have voted since.
        if self.ballots.get(warp).is_some_and(|ballot| ballot.voted & bit != 0) {
            let first = warp - self.cta_of(warp).1;
            let ballots = &mut self.ballots[first..first + self.cta_warps as usize];
            let yes = ballots.iter().map(|b| (b.voted & b.yes).count_ones()).sum();
            for (w, ballot) in ballots.iter_mut().enumerate() {
                let lane = (first + w) * WARP as usize;
                for_each_lane(std::mem::take(&mut ballot.voted), |l| self.votes[lane + l] = yes);
            }
        }
        self.votes.get(lane).copied().unwrap_or(0)
    }

    /// The memory of a lane's CTA, and the lane's number there.
    pub(crate) fn memory_of_lane(&self, lane: usize) -> (&CtaMemory, usize) {
        let warp = lane / WARP as usize;
        let in_cta = self.cta_of(warp).1 * WARP as usize + lane % WARP as usize;
        (self.memory_of(warp), in_cta)
    }

    /// A lane has found that it has to wait for an mbarrier.
    pub(crate) fn waits_for(
        &mut self,
        launch: &Launch,
        lane: usize,
        address: u64,
        line: u32,
    ) -> Result<(), KernelFaultKind> {
        self.gives_way = true;
        let (warp, bit) = (lane / WARP as usize, 1 << (lane as u32 % WARP));
        let (cta, in_cta) = self.cta_of(warp);
        let warps = &self.warps[warp - in_cta..][..self.cta_warps as usize];
        let vain = &mut self.meeting[cta].vain;
        vain.waited.resize(warps.len(), 0);
        vain.at.resize(warps.len() * WARP as usize, (0, 0));
        vain.at[in_cta * WARP as usize + lane % WARP as usize] = (address, line);
        // Also if it had waited in this round before: since then others may have left, or wait for something else.
        vain.waited[in_cta] |= bit;
        if warps.iter().zip(&vain.waited).any(|(w, waited)| w.ready & !waited != 0) {
            return Ok(());
        }
        vain.waited.fill(0);
        vain.rounds += 1;
        if vain.rounds < VAIN_ROUNDS {
            return Ok(());
        }
        let KernelFaultKind::Deadlock { mut waiting } = self.deadlock_of(launch, cta).kind else {
            return Ok(());
        };
        for (w, at) in self.meeting[cta].vain.at.chunks(WARP as usize).enumerate() {
            for_each_lane(self.warps[warp - in_cta + w].ready, |l| {
                let thread = (w * WARP as usize + l) as u32;
                add(&mut waiting, WaitingAt::Mbarrier { address: at[l].0 }, at[l].1, thread);
            });
        }
        Err(KernelFaultKind::Deadlock { waiting })
    }

    /// There is an mbarrier from now on, or none. Whether there was one.
    pub(crate) fn mark_mbarrier(&mut self, lane: usize, offset: u64, there: bool) -> bool {
        let cta = self.cta_of(lane / WARP as usize).0;
        let known = &mut self.meeting[cta].mbarriers;
        if there { !known.insert(offset) } else { known.remove(&offset) }
    }

    /// A lane has done something that others may wait for.
    pub(crate) fn has_progressed(&mut self, lane: usize) {
        let cta = self.cta_of(lane / WARP as usize).0;
        self.meeting[cta].vain.rounds = 0;
        self.meeting[cta].vain.waited.fill(0);
    }

    /// Lanes have asked for the time, so they may not wait for ever.
    pub fn has_asked_for_the_time(&mut self) {
        for m in &mut self.meeting {
            m.vain.rounds = 0;
        }
    }

    /// The fault of a CTA in which lanes are alive and none is ready.
    pub fn deadlock(&self, launch: &Launch) -> KernelFault {
        let waits = |lane: &usize| !matches!(self.state(*lane), LaneState::Ready | LaneState::Exited);
        let first = (0..self.lanes()).find(waits).map_or(0, |lane| lane / launch.lanes() as usize);
        self.deadlock_of(launch, first)
    }

    /// Who waits in a CTA, counted from the first, at barriers and for other lanes.
    fn deadlock_of(&self, launch: &Launch, cta: usize) -> KernelFault {
        let mut waiting: Vec<Waiting> = vec![];
        for thread in 0..launch.lanes() {
            let lane = cta * launch.lanes() as usize + thread as usize;
            let at = match self.state(lane) {
                LaneState::Barrier { id } => WaitingAt::Barrier { id },
                LaneState::WarpSync { mask } => WaitingAt::WarpSync { mask },
                LaneState::Ready | LaneState::Exited => continue,
            };
            let data = launch.program.func().blocks.get(self.waits_in[lane] as usize);
            let line = data.map_or(0, |b| match b.term {
                Term::Barrier { .. } | Term::WarpSync { .. } => b.term_line,
                _ => 0,
            });
            add(&mut waiting, at, line, thread);
        }
        let line = waiting.first().map_or(0, |w| w.line);
        let [x, y, z] = self.index;
        let fault = self.fault(launch, KernelFaultKind::Deadlock { waiting }, line, None);
        KernelFault { cta: [x + cta as u32, y, z], ..fault }
    }

    /// The fault of a CTA that may not go on: it is at the first thread that could, in the line it would go on at.
    pub fn stopped(&self, launch: &Launch, kind: KernelFaultKind) -> KernelFault {
        let lane = (0..self.lanes()).find(|lane| self.state(*lane) == LaneState::Ready);
        let block = lane.and_then(|lane| launch.program.func().blocks.get(self.pc[lane] as usize));
        let line = block.map_or(0, |b| {
            let lines = b.insts.iter().map(|i| i.line).chain([b.term_line]);
            lines.into_iter().find(|line| *line != 0).unwrap_or(0)
        });
        self.fault(launch, kind, line, lane.map(|lane| lane as u32))
    }

    /// A fault of this CTA, and of one of its lanes if it is a single one's.
    pub fn fault(&self, launch: &Launch, kind: KernelFaultKind, line: u32, lane: Option<u32>) -> KernelFault {
        let of = lane.map(|lane| self.thread_of(launch, lane));
        KernelFault {
            kind,
            kernel: launch.program.func().name.clone(),
            line,
            file: None,
            cta: of.map_or(self.index, |(cta, _)| cta),
            thread: of.map(|(_, thread)| thread),
        }
    }
}

/// One more thread that waits.
fn add(waiting: &mut Vec<Waiting>, at: WaitingAt, line: u32, thread: u32) {
    match waiting.iter_mut().find(|w| w.at == at && w.line == line) {
        Some(w) => w.threads.push(thread),
        None => waiting.push(Waiting { at, line, threads: vec![thread] }),
    }
}

/// Calls `f` for every lane in the mask, ascending.
pub(crate) fn for_each_lane(mut lanes: u32, mut f: impl FnMut(usize)) {
    while lanes != 0 {
        f(lanes.trailing_zeros() as usize);
        lanes &= lanes - 1;
    }
}
