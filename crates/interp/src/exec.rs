//! Running a CTA.
//!
//! Warps are taken in batches. Within a batch, all lanes at one block form a group and run it together, instruction by
//! instruction, over columns of the whole batch; which group runs next is the plan's to say ([`hostwarp_plan::Plan::runs_next`]). Groups
//! that keep going round a cycle while others could go on let them go on after [`SPINS`] iterations if they seem to wait for somebody, else after
//! [`LONG_SPINS`]: so every lane that can go on does so in the end.

use crate::cta::{Cta, FrameBuffer, Outcome, Runner, for_each_lane};
use crate::fault::KernelFaultKind;
use crate::kernels::{CHUNK, MOST_ARGS, Operand};
use crate::launch::Launch;
use crate::lower::{
    Ahead, AheadStep, Arg, Base, Code, Dst, Edge, Inst, Kind, LANE_BYTES, LANE_CTAID, LANE_ID, LANE_TID,
    LANE_WARP, Terminator, known, lane_place,
};
use crate::regs::Regs;
use crate::rows::{InMemory, Sum};
use crate::segments::Segment;
use crate::shape::{Affine, Column, Extents};
use hostwarp_ir::{BarrierKind, Block, Special};
use std::collections::BTreeMap;

/// Warps that run together at most: enough to make calls cheap, few enough for their registers to stay in the cache.
pub(crate) const BATCH: usize = 128;
/// Back-edges that groups may take in cycles that wait for others while others could go on.
const SPINS: u32 = 256;
/// As above, in cycles that do not seem to wait for anybody.
const LONG_SPINS: u32 = 1 << 18;
/// Instructions (counted once per warp) a batch runs before the next one gets its turn.
const TURN: u64 = 1 << 20;
/// Instructions (counted once per warp) between looks at the launch's limits.
const LOOK: u64 = 1 << 16;

/// The most instructions a warp goes on for, to the end of a block, where a [schedule](Launch::schedule) is asked for.
const QUANTUM: u64 = 64;

/// Why a CTA stops before its end.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) kind: KernelFaultKind,
    pub(crate) line: u32,
    /// Lane of the CTA.
    pub(crate) lane: Option<u32>,
}

/// What the interpreter keeps in a CTA between runs.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    columns: FrameBuffer,
    lanes: FrameBuffer,
    ahead: FrameBuffer,
    /// The values that hold for the launch are there.
    launch_ready: bool,
    /// All lanes are still at the entry.
    pub(crate) fresh: bool,
    /// The shapes are those of the CTA.
    pub(crate) cta_ready: bool,
    groups: Vec<Group>,
    /// What is known of all places before the first instruction of a CTA.
    first_shapes: Vec<Column>,
    /// The shapes of all places, for each batch.
    shapes: Vec<Vec<Column>>,
    /// First warp of the batch whose turn it is.
    turn: usize,
    /// What decides on the schedule, where one is asked for.
    pub(crate) random: u64,
    /// Of each batch: kept from run to run, or lanes that are given few instructions at a time would spin for ever.
    pub(crate) fairness: Vec<Fairness>,
}

/// Sees to it that every group that can go on does so in the end, whatever the convergence rule says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fairness {
    /// How long the rule has been followed while there were several groups.
    spun: u32,
    /// Groups below this position have had their chance.
    floor: Option<u32>,
}

impl Fairness {
    /// A group has gone back to the header of a cycle.
    fn spun(&mut self, header: u32, waits: bool) {
        self.spun += if waits { LONG_SPINS / SPINS } else { 1 };
        if self.spun > LONG_SPINS {
            self.gives_way(header);
        }
    }

    /// Groups behind the header of a cycle go first.
    fn gives_way(&mut self, header: u32) {
        *self = Fairness { spun: 0, floor: Some(header + 1) };
    }
}

/// Lanes of a batch at one block.
#[derive(Clone, Copy, Debug)]
struct Group {
    position: u32,
    block: u32,
    masks: [u32; BATCH],
}

/// A CTA while it runs.
pub(crate) struct Machine<'a, 'l> {
    pub(crate) launch: &'a Launch<'l>,
    pub(crate) cta: &'a mut Cta,
    pub(crate) regs: Regs,
    /// What takes part in the instruction being run.
    pub(crate) segments: smallvec::SmallVec<[Segment; BATCH]>,
    /// All from the first to the last warp of it, as if they were of one CTA.
    pub(crate) hull: Segment,
    /// The shapes of the batch's columns.
    pub(crate) columns: Vec<Column>,
    pub(crate) extents: Extents,
    /// Columns that have been loaded and not read.
    pub(crate) in_memory: Vec<InMemory>,
    /// The sum that products are still to be added to.
    pub(crate) sum: Option<Sum>,
    /// The shared memory of each CTA.
    pub(crate) shared: Vec<*const u8>,
    /// What runs are the same lanes of CTAs one behind the other, neighbouring warps in each.
    pub(crate) alike: bool,
    /// And they are all of them.
    pub(crate) whole: bool,
    /// Some lanes of the batch are elsewhere.
    pub(crate) others: bool,
    /// What they need, if there are any: a bit for each place.
    pub(crate) needed: Vec<u64>,
    code: &'a Code,
    /// Warps that run together at most.
    batch: usize,
    /// First warp of the batch.
    pub(crate) base: usize,
    /// Warps of the batch.
    pub(crate) warps: usize,
    /// What lanes need that wait for others, if any do.
    parked: Option<Vec<u64>>,
    /// Lanes that waited can go on, since somebody last asked.
    released: bool,
    /// Lanes that run the instruction.
    pub(crate) masks: [u32; BATCH],
    /// Number of warps that run it.
    pub(crate) running: u64,
    /// Lanes have exited since `segments` was made.
    pub(crate) exited: bool,
    groups: Vec<Group>,
    /// Lanes that are in `groups`.
    loaded: [u32; BATCH],
    spent: u64,
}

/// Runs a CTA until it is done, faults, or has run about `budget` instructions (counted once per warp).
pub fn run(launch: &Launch, cta: &mut Cta, budget: u64) -> Outcome {
    cta.runner = Runner::Interp;
    let mut machine = Machine::new(launch, cta);
    machine.compute_ahead();
    let outcome = machine.run(budget);
    let Machine { groups, .. } = machine;
    cta.scratch.groups = groups;
    match outcome {
        Ok(outcome) => outcome,
        Err(stop) => Outcome::Fault(Box::new(cta.fault(launch, stop.kind, stop.line, stop.lane))),
    }
}

/// Writes all that lanes need to the frame as the plan has it, so that another engine can go on with a CTA that this one has run.
pub fn settle(launch: &Launch, cta: &mut Cta) {
    // If not, nothing has happened that is not in the frame.
    if cta.scratch.cta_ready {
        Machine::new(launch, cta).settle();
        cta.scratch.cta_ready = false;
    }
}

/// Makes room for what the code needs.
fn prepare(cta: &mut Cta, code: &Code, warps: usize) {
    let lanes = cta.lanes();
    let scratch = &mut cta.scratch;
    if scratch.launch_ready {
        return;
    }
    scratch.columns.reserve(code.scratch_bytes as usize * lanes);
    scratch.ahead.reserve(code.ahead_bytes as usize);
    scratch.lanes.reserve(LANE_BYTES as usize * lanes);
    let bytes = scratch.lanes.bytes_mut();
    let mut put = |offset: u32, lane: usize, value: u32| {
        bytes[offset as usize * lanes + lane * 4..][..4].copy_from_slice(&value.to_le_bytes());
    };
    for lane in 0..lanes {
        put(LANE_WARP, lane, (lane / CHUNK % warps) as u32);
        put(LANE_ID, lane, (lane % CHUNK) as u32);
    }
}

impl<'a, 'l> Machine<'a, 'l> {
    fn new(launch: &'a Launch<'l>, cta: &'a mut Cta) -> Machine<'a, 'l> {
        let code = launch.program.code();
        prepare(cta, code, launch.warps() as usize);
        let lanes = cta.lanes();
        let extents = match launch.block {
            // Several CTAs have no third axis of their own.
            [x, y, _] if cta.room() > 1 => [x, y, cta.room()],
            // Lanes beyond the CTA go on counting.
            [_, 1, 1] => [lanes as u32, 1, 1],
            block => block,
        };
        let base = [
            cta.frame.as_mut_ptr(),
            cta.scratch.columns.as_mut_ptr(),
            cta.scratch.lanes.as_mut_ptr(),
            code.consts.as_ptr().cast_mut(),
            cta.scratch.ahead.as_mut_ptr(),
        ];
        // SAFETY: the frame is as large as the plan says, the others as the code says (`prepare`); they stay where they are and
        // nothing else touches them while the machine lives. Nothing is written to the constants.
        let regs = unsafe { Regs::new(base, lanes, code.tools) };
        let groups = std::mem::take(&mut cta.scratch.groups);
        let shared = (0..cta.room() as usize).map(|n| cta.memory_number(n).shared.as_ptr()).collect();
        Machine {
            launch,
            cta,
            regs,
            segments: Default::default(),
            hull: Segment { first: 0, end: 0, cta: 0, in_cta: 0, full: true },
            columns: vec![],
            extents,
            in_memory: vec![],
            sum: None,
            shared,
            alike: false,
            whole: false,
            others: false,
            needed: vec![],
            code,
            batch: if launch.schedule.is_some() { 1 } else { BATCH },
            base: 0,
            warps: 0,
            parked: None,
            released: false,
            masks: [0; BATCH],
            running: 0,
            exited: true,
            groups,
            loaded: [0; BATCH],
            spent: 0,
        }
    }

    /// Writes out what lanes need where they are.
    fn settle(&mut self) {
        let all = self.cta.warps().len();
        for base in (0..all).step_by(self.batch) {
            (self.base, self.warps) = (base, (all - base).min(self.batch));
            self.columns = std::mem::take(&mut self.cta.scratch.shapes[base / self.batch]);
            self.settle_batch();
        }
    }

    fn settle_batch(&mut self) {
        let mut there: BTreeMap<u32, [u32; BATCH]> = BTreeMap::new();
        for w in 0..self.warps {
            for_each_lane(self.cta.warps()[self.base + w].live, |l| {
                let block = self.cta.pc[(self.base + w) * CHUNK + l];
                there.entry(block).or_insert([0; BATCH])[w] |= 1 << l;
            });
        }
        let (code, plan) = (self.code, self.launch.program.plan());
        let needed = there.iter().flat_map(|(block, masks)| {
            let values = plan.live_in[*block as usize].iter();
            values.filter_map(move |v| Some((code.args[v.index()]?, plan.frame.slot[v.index()]?, masks)))
        });
        // Columns first: they are written whole, and lanes may have other values there.
        let (columns, others): (Vec<_>, Vec<_>) = needed.partition(|(at, ..)| at.base == Base::Frame);
        for (at, ..) in columns {
            self.write_out(at);
        }
        for (at, slot, masks) in others {
            self.write_out(at);
            let to = Arg { base: Base::Frame, offset: slot, step: 32 * u32::from(at.bytes), ..at };
            self.regs.blend(Dst { at: to, free: false }, at, self.base, &masks[..self.warps]);
        }
    }

    /// Computes what is the same for all lanes, if that is still to be done.
    fn compute_ahead(&mut self) {
        if !std::mem::replace(&mut self.cta.scratch.launch_ready, true) {
            self.prepare_launch();
        }
        if !std::mem::replace(&mut self.cta.scratch.cta_ready, true) {
            self.forget_shapes();
        }
    }

    fn prepare_launch(&mut self) {
        let mut columns = self.code.columns.clone();
        for AheadStep { how, at } in &self.code.ahead {
            let at = *at;
            match how {
                Ahead::Special(s) => {
                    let value = self.special(*s);
                    let bytes = if s.is_wide() { 8 } else { 4 };
                    self.splat(at, &value.to_le_bytes()[..bytes]);
                }
                Ahead::Param { offset, size } => {
                    let mut value = [0; 64];
                    let (from, size) = (*offset as usize, *size as usize);
                    // A parameter block shorter than the kernel's reads as zeros at the end.
                    let held = self.launch.param.bytes().get(from..).unwrap_or(&[]);
                    let held = &held[..held.len().min(size)];
                    value[..held.len()].copy_from_slice(held);
                    self.splat(at, &value[..size]);
                }
                Ahead::Pure(selected, args) => {
                    let mut operands = [Operand::NONE; MOST_ARGS];
                    for (operand, at) in operands.iter_mut().zip(args) {
                        *operand = self.regs.operand(*at, 0);
                    }
                    self.regs.kernel(selected, at, operands, 0, 1);
                }
            }
            let lanes = &self.cta.scratch.ahead.bytes_mut()[at.offset as usize..];
            columns[at.place as usize] = known(lanes, at.bytes.into());
        }
        self.cta.scratch.first_shapes = columns;
    }

    /// Begins with all columns as the frame has them.
    fn forget_shapes(&mut self) {
        let batches = self.cta.warps().len().div_ceil(self.batch);
        let [x, y, z] = self.cta.index;
        let several = self.cta.room() > 1;
        let extents = self.extents;
        let Scratch { shapes, first_shapes, .. } = &mut self.cta.scratch;
        shapes.resize(batches, vec![]);
        for columns in shapes {
            columns.clone_from(first_shapes);
            let mut lane = |offset: u32, base: u32, strides: [i64; 3]| {
                columns[lane_place(offset) as usize] = Column::of(Affine { base: base.into(), strides });
            };
            let along = |axis: usize| {
                let mut strides = [0; 3];
                strides[axis] = i64::from(extents[axis] > 1);
                strides
            };
            lane(LANE_TID[0], 0, along(0));
            lane(LANE_TID[1], 0, along(1));
            // The third axis is that of the CTA, or that of several CTAs.
            lane(LANE_TID[2], 0, if several { [0; 3] } else { along(2) });
            lane(LANE_CTAID[0], x, if several { along(2) } else { [0; 3] });
            lane(LANE_CTAID[1], y, [0; 3]);
            lane(LANE_CTAID[2], z, [0; 3]);
        }
    }

    /// Fills the 32 lanes of a value computed ahead.
    fn splat(&mut self, at: Arg, value: &[u8]) {
        let column = &mut self.cta.scratch.ahead.bytes_mut()[at.offset as usize..][..CHUNK * value.len()];
        for lane in column.chunks_exact_mut(value.len()) {
            lane.copy_from_slice(value);
        }
    }

    fn special(&self, s: Special) -> u64 {
        let axis = |of: [u32; 3], a| u64::from(of[a as usize]);
        let elapsed = || self.launch.start.elapsed().as_nanos() as u64;
        match s {
            Special::Ntid(a) => axis(self.launch.block, a),
            Special::Nctaid(a) => axis(self.launch.nctaid, a),
            Special::NWarpId => u64::from(self.launch.warps()),
            Special::SmId => 0,
            Special::NSmId => 1,
            Special::DynamicSharedSize => u64::from(self.launch.dynamic_shared),
            Special::TotalSharedSize => u64::from(self.launch.total_shared()),
            Special::GridId => self.launch.grid_id,
            Special::GlobalsBase => self.launch.globals_base,
            Special::GridWorkspace => self.launch.grid_workspace,
            Special::Clock => elapsed() & 0xffff_ffff,
            Special::Clock64 => elapsed(),
            Special::GlobalTimer => hostwarp_system::time::since_epoch().as_nanos() as u64,
            // These are columns.
            Special::Tid(_) | Special::Ctaid(_) | Special::LaneId | Special::WarpId => 0,
        }
    }

    /// Gives batches their turns.
    fn run(&mut self, budget: u64) -> Result<Outcome, Box<Stop>> {
        let all = self.cta.warps().len();
        let mut looked = 0;
        loop {
            if self.cta.is_done() {
                return Ok(self.within_limits(self.spent - looked).unwrap_or(Outcome::Done));
            }
            let size = self.batch;
            let batches = all.div_ceil(size);
            if self.launch.schedule.is_some() {
                self.cta.scratch.turn = self.random() as usize % batches;
            }
            let first = self.cta.scratch.turn / size;
            let ready = |b: usize| {
                let warps = &self.cta.warps()[b * size..all.min((b + 1) * size)];
                warps.iter().any(|w| w.ready != 0)
            };
            let Some(batch) = (first..batches).chain(0..first.min(batches)).find(|b| ready(*b)) else {
                let fault = self.cta.deadlock(self.launch);
                return Ok(Outcome::Fault(Box::new(fault)));
            };
            self.base = batch * size;
            self.exited = true; // other warps now
            self.warps = (all - self.base).min(size);
            self.cta.scratch.turn = self.base;
            match self.turn(budget, &mut looked)? {
                TurnEnd::Budget => {
                    // What this batch waits for may be another's to do, however small budgets are.
                    self.cta.scratch.turn = self.base + size;
                    return Ok(self.within_limits(self.spent - looked).unwrap_or(Outcome::Yield));
                }
                TurnEnd::Stopped(kind) => {
                    return Ok(Outcome::Fault(Box::new(self.cta.stopped(self.launch, kind))));
                }
                TurnEnd::Waits | TurnEnd::Turn => {}
            }
            self.cta.scratch.turn = self.base + size;
        }
    }

    /// The next number of the CTA's part of the schedule (splitmix64).
    fn random(&mut self) -> u64 {
        let state = &mut self.cta.scratch.random;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// The fault if the launch may not go on, now that so many more instructions have been run.
    fn within_limits(&self, instructions: u64) -> Option<Outcome> {
        let kind = self.launch.spend(instructions).err()?;
        Some(Outcome::Fault(Box::new(self.cta.stopped(self.launch, kind))))
    }

    /// Runs a batch until none of its lanes can go on, or others should have their turn.
    fn turn(&mut self, budget: u64, looked: &mut u64) -> Result<TurnEnd, Box<Stop>> {
        let batch = self.base / self.batch;
        self.columns = std::mem::take(&mut self.cta.scratch.shapes[batch]);
        let end = self.run_batch(budget, looked);
        self.cta.scratch.shapes[batch] = std::mem::take(&mut self.columns);
        end
    }

    fn run_batch(&mut self, budget: u64, looked: &mut u64) -> Result<TurnEnd, Box<Stop>> {
        self.groups.clear();
        self.loaded = [0; BATCH];
        if std::mem::take(&mut self.cta.scratch.fresh) && self.warps == self.cta.warps().len() {
            for (loaded, warp) in self.loaded.iter_mut().zip(self.cta.warps()) {
                *loaded = warp.ready;
            }
            self.parked = None;
            self.join(Block::ENTRY.0, &self.loaded.clone());
        } else {
            self.refill();
        }
        self.released = false;
        let began = self.spent;
        let quantum = self.launch.schedule.map(|_| self.random() % QUANTUM);
        let batch = self.base / self.batch;
        if self.cta.scratch.fairness.len() <= batch {
            self.cta.scratch.fairness.resize(batch + 1, Fairness::default());
        }
        let mut fair = self.cta.scratch.fairness[batch];
        // Where a group has run last, unless the rule has been left since.
        let mut last = None;
        let end = loop {
            let Some(next) = self.next_group(&mut fair, last) else {
                break TurnEnd::Waits;
            };
            let mut group = self.groups.swap_remove(next);
            self.set_masks(&group.masks);
            self.find_needed();
            let end = loop {
                last = Some(self.code.blocks[group.block as usize].position);
                let went = self.run_block(&mut group)?;
                if std::mem::take(&mut self.released) {
                    // Lanes that waited may be before this block in the same iteration: nothing follows from where others have been.
                    last = None;
                }
                let alone = went.together && self.groups.is_empty();
                if went.together && !alone {
                    self.join(group.block, &group.masks);
                }
                if let Some(to) = went.back.filter(|_| self.groups.len() > 1) {
                    // Whoever has to wait says so: no need to see it spin.
                    match std::mem::take(&mut self.cta.gives_way) && self.waits(to) {
                        true => fair.gives_way(to),
                        false => fair.spun(to, self.waits(to)),
                    }
                }
                let mut end = None;
                if self.spent - *looked >= LOOK {
                    end = self.launch.spend(self.spent - *looked).err().map(TurnEnd::Stopped);
                    *looked = self.spent;
                }
                if went.back.is_some() && end.is_none() {
                    if self.spent >= budget {
                        end = Some(TurnEnd::Budget);
                    } else if self.spent - began >= TURN {
                        end = Some(TurnEnd::Turn);
                    }
                }
                if end.is_none() && quantum.is_some_and(|most| self.spent - began > most) {
                    end = Some(if self.spent >= budget { TurnEnd::Budget } else { TurnEnd::Turn });
                }
                if alone && end.is_none() {
                    continue;
                }
                if alone {
                    self.join(group.block, &group.masks);
                }
                break end;
            };
            if let Some(end) = end {
                break end;
            }
        };
        self.cta.scratch.fairness[batch] = fair;
        for g in std::mem::take(&mut self.groups) {
            for (w, mask) in g.masks.iter().enumerate().filter(|(_, m)| **m != 0) {
                self.cta.set_pc(self.base + w, *mask, Block(g.block));
            }
        }
        Ok(end)
    }

    /// Whether lanes go round the cycle that begins at a position because of what others do.
    fn waits(&self, header: u32) -> bool {
        let plan = self.launch.program.plan();
        let cycle = plan.loop_of[plan.order[header as usize].index()];
        cycle.is_some_and(|l| plan.loops[l].waits)
    }

    /// The group that runs next.
    fn next_group(&self, fair: &mut Fairness, last: Option<u32>) -> Option<usize> {
        let groups = &self.groups;
        if groups.len() <= 1 {
            fair.floor = None;
            return groups.first().map(|_| 0);
        }
        let lowest = |from: u32| {
            let open = groups.iter().enumerate().filter(|(_, g)| g.position >= from);
            open.min_by_key(|(_, g)| g.position).map(|(i, _)| i)
        };
        if let Some(floor) = fair.floor {
            // Once all above have had their chance, those below have theirs, from the lowest on.
            return lowest(floor).or_else(|| {
                fair.floor = None;
                lowest(0)
            });
        }
        let positions: smallvec::SmallVec<[u32; 16]> = groups.iter().map(|g| g.position).collect();
        let next = self.launch.program.plan().runs_next(last, &positions);
        groups.iter().position(|g| g.position == next)
    }

    /// Puts lanes that have become ready into groups.
    fn refill(&mut self) {
        let mut open = [0; BATCH];
        for ((open, loaded), warp) in
            open.iter_mut().zip(&mut self.loaded).zip(&self.cta.warps()[self.base..][..self.warps])
        {
            *open = warp.ready & !*loaded;
            *loaded |= *open;
            self.released |= *open != 0;
        }
        while let Some(w) = open.iter().position(|m| *m != 0) {
            let block = self.cta.pc[(self.base + w) * CHUNK + open[w].trailing_zeros() as usize];
            let mut masks = [0; BATCH];
            for w in w..self.warps {
                let mut there = 0;
                for (l, pc) in self.cta.pc[(self.base + w) * CHUNK..][..CHUNK].iter().enumerate() {
                    there |= u32::from(*pc == block) << l;
                }
                masks[w] = open[w] & there;
                open[w] &= !there;
            }
            self.join(block, &masks);
        }
        self.find_parked();
    }

    /// Collects what lanes need that wait.
    fn find_parked(&mut self) {
        self.parked = None;
        for w in self.base..self.base + self.warps {
            let warp = self.cta.warps()[w];
            let pcs = &self.cta.pc[w * CHUNK..][..CHUNK];
            let mut last = None;
            for_each_lane(warp.live & !warp.ready, |l| {
                if last.replace(pcs[l]) != Some(pcs[l]) {
                    let needs = &self.code.blocks[pcs[l] as usize].needs;
                    unite(self.parked.get_or_insert_with(|| vec![0; needs.len()]), needs);
                }
            });
        }
    }

    /// Finds out what lanes that are not in the group about to run have where.
    fn find_needed(&mut self) {
        self.others = !self.groups.is_empty() || self.parked.is_some();
        if !self.others {
            return;
        }
        self.needed.clear();
        match &self.parked {
            Some(parked) => self.needed.extend(parked),
            None => self.needed.resize((self.code.columns.len()).div_ceil(64), 0),
        }
        for g in &self.groups {
            unite(&mut self.needed, &self.code.blocks[g.block as usize].needs);
        }
    }

    /// Puts lanes to those that are at the block already.
    fn join(&mut self, block: u32, masks: &[u32; BATCH]) {
        if let Some(g) = self.groups.iter_mut().find(|g| g.block == block) {
            for (m, new) in g.masks.iter_mut().zip(masks) {
                *m |= new;
            }
            return;
        }
        let position = self.code.blocks[block as usize].position;
        self.groups.push(Group { position, block, masks: *masks });
    }

    /// Runs the block of a group whose masks are set.
    fn run_block(&mut self, group: &mut Group) -> Result<Went, Box<Stop>> {
        let code = self.code;
        let block = &code.blocks[group.block as usize];
        self.spent += (block.insts.len() as u64 + 1) * self.running;
        for inst in &block.insts {
            match (&inst.kind, inst.dst) {
                (Kind::Pure(selected), Some(dst)) => self.pure(inst, selected, dst),
                _ => self.inst(inst)?,
            }
        }
        self.terminate(group, &block.term, block.term_line)
    }

    /// Runs an instruction that is more than a pure op.
    fn inst(&mut self, inst: &Inst) -> Result<(), Box<Stop>> {
        match (&inst.kind, inst.dst) {
            (Kind::Load { mem, size, wide, once }, Some(dst)) => {
                self.load(inst, dst, *mem, *size, *wide, *once)?
            }
            (Kind::Store { mem, size, wide }, _) => self.store(inst, *mem, *size, *wide)?,
            (Kind::Atomic { op, mem, elem, wide }, Some(dst)) => {
                self.atomic(inst, dst, *op, *mem, *elem, *wide)?
            }
            (Kind::ActiveMask, Some(dst)) if self.whole && self.is_free(&dst) => {
                self.set_uniform(dst, u32::MAX)
            }
            (Kind::Fence, _) => std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst),
            (kind, Some(dst)) => {
                self.write_out_args(inst);
                let dst = self.open(dst);
                self.across_lanes(inst, kind, dst);
                self.wrote(dst);
            }
            // The verifier has seen to it that ops with a result have one.
            (_, None) => {}
        }
        Ok(())
    }

    fn across_lanes(&mut self, inst: &Inst, kind: &Kind, dst: Dst) {
        match kind {
            Kind::Ballot => self.per_warp(dst, |m, warp, run| [run & m.regs.bits(inst.args[0], warp); CHUNK]),
            Kind::ActiveMask => self.per_warp(dst, |_, _, run| [run; CHUNK]),
            Kind::Clock(s) => {
                let now = self.special(*s);
                self.cta.has_asked_for_the_time();
                if dst.at.bytes == 8 {
                    self.per_warp(dst, |_, _, _| [now; CHUNK]);
                } else {
                    self.per_warp(dst, |_, _, _| [now as u32; CHUNK]);
                }
            }
            _ => match dst.at.bytes {
                1 => self.lane_read::<u8>(inst, dst),
                2 => self.lane_read::<u16>(inst, dst),
                4 if self.segments.iter().all(|s| s.full || dst.free) => {
                    for s in &self.segments {
                        self.regs.lane_read(dst, inst.args[0], inst.args[1], s.first, self.run_masks(s));
                    }
                }
                4 => self.lane_read::<u32>(inst, dst),
                _ => self.lane_read::<u64>(inst, dst),
            },
        }
    }

    /// Writes what `f` gives for each warp and the lanes of it that run.
    pub(crate) fn per_warp<T: Copy>(&self, dst: Dst, f: impl Fn(&Self, usize, u32) -> [T; CHUNK]) {
        for s in &self.segments {
            for warp in s.first..s.end {
                let run = self.run_mask(warp);
                self.regs.write(dst, warp, run, !s.full, &f(self, warp, run));
            }
        }
    }

    fn lane_read<T: Copy>(&self, inst: &Inst, dst: Dst) {
        self.per_warp(dst, |m, warp, run| {
            let own: [T; CHUNK] = m.regs.read(inst.args[0], warp);
            let lanes: [u32; CHUNK] = m.regs.read(inst.args[1], warp);
            let mut read = own;
            for l in 0..CHUNK {
                let from = (lanes[l] % CHUNK as u32) as usize;
                if run >> from & 1 != 0 {
                    read[l] = own[from];
                }
            }
            read
        });
    }

    /// Hands block arguments over for some lanes of the group and lets them go on at the edge's target.
    fn follow(&mut self, edge: &Edge, masks: &[u32; BATCH]) {
        if !edge.copies.is_empty() {
            self.set_masks(masks);
            self.pass(edge);
        }
        self.join(edge.block, masks);
    }

    /// The whole group goes on at the edge's target.
    fn follow_together(&mut self, group: &mut Group, edge: &Edge) -> Went {
        self.pass(edge);
        group.block = edge.block;
        Went { together: true, back: self.back(edge) }
    }

    /// Hands block arguments over.
    fn pass(&mut self, edge: &Edge) {
        for c in &edge.copies {
            self.hand_over(c);
        }
    }

    fn back(&self, edge: &Edge) -> Option<u32> {
        edge.back.then(|| self.code.blocks[edge.block as usize].position)
    }

    fn terminate(&mut self, group: &mut Group, term: &Terminator, line: u32) -> Result<Went, Box<Stop>> {
        let masks = &group.masks;
        let apart = |back| Ok(Went { together: false, back });
        match term {
            Terminator::Jump(edge) => Ok(self.follow_together(group, edge)),
            Terminator::Branch(cond, yes, no) => {
                if let Some(bit) = self.uniform(*cond) {
                    return Ok(self.follow_together(group, if bit & 1 != 0 { yes } else { no }));
                }
                self.write_out(*cond);
                let (mut taken, mut fell) = ([0; BATCH], [0; BATCH]);
                let (mut any_taken, mut any_fell) = (0, 0);
                self.regs.all_bits(*cond, self.base, &mut taken[..self.warps]);
                for ((mask, taken), fell) in masks[..self.warps].iter().zip(&mut taken).zip(&mut fell) {
                    *fell = mask & !*taken;
                    *taken &= mask;
                    any_taken |= *taken;
                    any_fell |= *fell;
                }
                if any_taken == 0 || any_fell == 0 {
                    return Ok(self.follow_together(group, if any_taken != 0 { yes } else { no }));
                }
                self.split();
                self.follow(yes, &taken);
                self.follow(no, &fell);
                apart(self.back(yes).or(self.back(no)))
            }
            Terminator::Switch(value, edges) => {
                if let Some(to) = self.uniform(*value) {
                    let edge = &edges[to.min(edges.len() as u64 - 1) as usize];
                    return Ok(self.follow_together(group, edge));
                }
                apart(self.switch(*value, edges, masks))
            }
            Terminator::Exit if !self.others && self.warps == self.cta.warps().len() => {
                self.cta.exit_all();
                self.exited = true;
                self.loaded = [0; BATCH];
                apart(None)
            }
            Terminator::Exit => {
                for (w, mask) in masks.iter().enumerate().filter(|(_, m)| **m != 0) {
                    self.loaded[w] &= !mask;
                    self.cta.exit(self.base + w, *mask);
                }
                self.exited = true;
                self.refill();
                apart(None)
            }
            Terminator::Trap(kind) => {
                let kind = KernelFaultKind::of_trap(*kind, self.launch.program.func());
                Err(Box::new(Stop { kind, line, lane: self.lowest(masks) }))
            }
            // Where all lanes come to a barrier together, none has to wait.
            Terminator::Barrier { id, count: None, next, .. }
                if !self.others
                    && self.warps == self.cta.warps().len()
                    && self.uniform(*id).is_some_and(|id| self.cta.is_unused(id)) =>
            {
                Ok(self.follow_together(group, next))
            }
            Terminator::Barrier { kind, id, count, next } => {
                self.barrier(group, *kind, *id, *count, next, line)?;
                apart(self.back(next))
            }
            // Where all lanes named are there, none has to wait.
            Terminator::WarpSync { mask, next }
                if self.uniform(*mask).is_some_and(|named| self.is_met(group, named as u32)) =>
            {
                Ok(self.follow_together(group, next))
            }
            Terminator::WarpSync { mask, next } => {
                self.warp_sync(group, *mask, next);
                apart(self.back(next))
            }
        }
    }

    /// Lanes of the group are about to go different ways: as long as they are on them, each must leave the others' values alone.
    fn split(&mut self) {
        self.others = true;
        self.needed.clear();
        self.needed.resize((self.code.columns.len()).div_ceil(64), u64::MAX);
    }

    fn lowest(&self, masks: &[u32; BATCH]) -> Option<u32> {
        let w = masks.iter().position(|m| *m != 0)?;
        Some(((self.base + w) * CHUNK) as u32 + masks[w].trailing_zeros())
    }

    fn switch(&mut self, value: Arg, edges: &[Edge], masks: &[u32; BATCH]) -> Option<u32> {
        let last = edges.len() as u32 - 1;
        self.write_out(value);
        self.split();
        let mut to = [[0u32; CHUNK]; BATCH];
        for w in 0..self.warps {
            if masks[w] != 0 {
                to[w] = self.regs.read::<u32>(value, self.base + w).map(|v| v.min(last));
            }
        }
        let mut open = *masks;
        let mut back = None;
        while let Some(w) = open.iter().position(|m| *m != 0) {
            let target = to[w][open[w].trailing_zeros() as usize];
            let mut go = [0; BATCH];
            for w in 0..self.warps {
                for_each_lane(open[w], |l| go[w] |= u32::from(to[w][l] == target) << l);
                open[w] &= !go[w];
            }
            let edge = &edges[target as usize];
            self.follow(edge, &go);
            back = back.or(self.back(edge));
        }
        back
    }

    fn barrier(
        &mut self,
        group: &Group,
        kind: BarrierKind,
        id: Arg,
        count: Option<Arg>,
        next: &Edge,
        line: u32,
    ) -> Result<(), Box<Stop>> {
        let one = self.uniform(id).is_some() && count.is_none_or(|c| self.uniform(c).is_some());
        self.write_out(id);
        if let Some(count) = count {
            self.write_out(count);
        }
        for w in 0..self.warps {
            let warp = self.base + w;
            let mut open = group.masks[w];
            while open != 0 {
                let l = open.trailing_zeros() as usize;
                let of = |l| (self.regs.lane::<u32>(id, warp, l), count.map(|c| self.regs.lane(c, warp, l)));
                let (id, count) = of(l);
                let mut same = if one { open } else { 0 };
                for_each_lane(open & !same, |l| same |= u32::from(of(l) == (id, count)) << l);
                open &= !same;
                self.loaded[w] &= !same;
                let arrived =
                    self.cta.arrive(warp, same, kind, id, count, Block(group.block), Block(next.block));
                arrived
                    .map_err(|kind| Box::new(Stop { kind, line, lane: Some((warp * CHUNK + l) as u32) }))?;
            }
        }
        self.pass(next);
        self.refill();
        Ok(())
    }

    /// Whether all lanes named that are alive are in the group, in each of its warps.
    fn is_met(&self, group: &Group, named: u32) -> bool {
        let warps = group.masks.iter().zip(&self.cta.warps()[self.base..]);
        warps.filter(|(m, _)| **m != 0).all(|(m, warp)| named & warp.live & !m == 0)
    }

    fn warp_sync(&mut self, group: &Group, mask: Arg, next: &Edge) {
        let one = self.uniform(mask).is_some();
        self.write_out(mask);
        for w in 0..self.warps {
            let warp = self.base + w;
            let mut open = group.masks[w];
            while open != 0 {
                let of = |l| self.regs.lane::<u32>(mask, warp, l);
                let mask = of(open.trailing_zeros() as usize);
                let mut same = if one { open } else { 0 };
                for_each_lane(open & !same, |l| same |= u32::from(of(l) == mask) << l);
                open &= !same;
                self.loaded[w] &= !same;
                self.cta.warp_sync(warp, same, mask, Block(group.block), Block(next.block));
            }
        }
        self.pass(next);
        self.refill();
    }
}

/// Where a group has gone.
struct Went {
    /// All its lanes are at one block now, which is the group's.
    together: bool,
    /// The position gone back to, if it went back.
    back: Option<u32>,
}

/// Why a batch's turn is over.
#[derive(Debug)]
enum TurnEnd {
    /// None of its lanes can go on.
    Waits,
    /// Others should have theirs.
    Turn,
    /// The budget is used up.
    Budget,
    /// The launch may not go on.
    Stopped(KernelFaultKind),
}

/// Adds the places of the second set to the first.
fn unite(set: &mut [u64], more: &[u64]) {
    for (a, b) in set.iter_mut().zip(more) {
        *a |= b;
    }
}
