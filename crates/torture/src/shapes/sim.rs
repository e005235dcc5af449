//! Runs a [`Program`] one thread at a time, one instruction after the other.
//!
//! A thread runs until it ends or comes to something it cannot do alone: a barrier, an exchange, a warp operation. When all threads of
//! the CTA have stopped, what all of them (of the warp) have come to is done, and they go on. Anything else is not legal, and said so.

use super::{
    Arith, Bank, Class, Cmp, Data, Inst, Logic, Op, Place, Program, Reg, Special, Src, Term, Warp, layout,
};
use std::collections::BTreeSet;

/// An instruction: function, block, place in it.
pub type Site = (usize, usize, usize);
/// A way out of a block: function, block, which.
pub type Way = (usize, usize, usize);

/// Blocks a thread may run before it counts as one that does not end.
pub const MOST_BLOCKS: u32 = 2500;
/// Instructions of all threads together.
pub const MOST_INSTS: u64 = 1_500_000;

/// Why a program is none to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// A thread does not end; the ways it took last.
    Endless(Vec<Way>),
    /// Threads wait for each other at these.
    Stuck(Vec<Site>),
    /// What an exchange or shuffle reads is not defined.
    Race(Site),
    /// Follows a pointer that points to nothing.
    Wild(Site),
    /// It takes too long.
    Long,
}

/// What a program does.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What is in memory.
    pub memory: Vec<u64>,
    /// Barriers that lanes of a warp came to at different places, or that not all of them came to.
    pub unaligned: BTreeSet<Site>,
    /// Blocks from which lanes of one warp went different ways at the same visit.
    pub divergent: BTreeSet<(usize, usize)>,
    /// Blocks that were run.
    pub visited: BTreeSet<(usize, usize)>,
    /// The most calls under way in one thread.
    pub deepest: usize,
    /// Threads that ended before the last barrier of their CTA.
    pub left_early: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runs,
    Waits,
    Ended,
}

struct Frame {
    func: usize,
    /// None in `init`.
    block: Option<usize>,
    at: usize,
    /// An exchange has stored.
    stored: bool,
    regs: Vec<u128>,
    local: [u64; layout::LOCAL as usize],
    results: Vec<Reg>,
}

struct Thread {
    frames: Vec<Frame>,
    state: State,
    blocks: u32,
    shared: [u64; layout::SLOT as usize],
    tid: [u32; 3],
    flat: u32,
    global: u64,
    /// The ways taken last.
    ways: Vec<Way>,
    /// A digest of all ways, to tell lanes that went together.
    path: u64,
}

/// What the exchange area holds, and when it was last written and read.
#[derive(Clone, Copy, Default)]
struct Slot {
    value: u32,
    written: u32,
    read: u32,
}

struct Sim<'a> {
    p: &'a Program,
    input: &'a [u64],
    done: Done,
    insts: u64,
    cta: [u32; 3],
    /// Exchange areas: static and dynamic.
    slots: [Vec<Slot>; 2],
    phase: u32,
    /// (function, block, path before) to the way taken, of one warp.
    choices: std::collections::BTreeMap<(u64, usize, usize), usize>,
}

/// Runs a program on this input and memory.
pub fn simulate(p: &Program, input: &[u64], memory: &[u64]) -> Result<Done, Unfit> {
    let done = Done { memory: memory.to_vec(), ..Done::default() };
    let mut sim = Sim {
        p,
        input,
        done,
        insts: 0,
        cta: [0; 3],
        slots: Default::default(),
        phase: 0,
        choices: Default::default(),
    };
    for n in 0..p.ctas() {
        sim.cta = [n % p.grid[0], n / p.grid[0] % p.grid[1], n / p.grid[0] / p.grid[1]];
        sim.run_cta(n)?;
    }
    Ok(sim.done)
}

impl Sim<'_> {
    fn run_cta(&mut self, n: u32) -> Result<(), Unfit> {
        let [x, y, _] = self.p.block;
        let threads = self.p.threads();
        self.slots = [vec![Slot::default(); threads as usize], vec![Slot::default(); threads as usize]];
        self.phase = 1;
        let mut all: Vec<Thread> = (0..threads)
            .map(|flat| Thread {
                frames: vec![frame(0, vec![])],
                state: State::Runs,
                blocks: 0,
                shared: [0; layout::SLOT as usize],
                tid: [flat % x, flat / x % y, flat / x / y],
                flat,
                global: u64::from(n) * u64::from(threads) + u64::from(flat),
                ways: vec![],
                path: 0,
            })
            .collect();
        loop {
            for (i, t) in all.iter_mut().enumerate() {
                if i % 32 == 0 {
                    self.choices.clear();
                }
                self.run_thread(t)?;
            }
            if all.iter().all(|t| t.state == State::Ended) {
                return Ok(());
            }
            if !self.warp_operations(&mut all)? {
                self.barrier(&mut all)?;
            }
        }
    }

    /// Does what all lanes of a warp have come to. False if there is none such.
    fn warp_operations(&mut self, all: &mut [Thread]) -> Result<bool, Unfit> {
        let mut any = false;
        for warp in all.chunks_mut(32) {
            let Some(first) = warp[0].site() else { continue };
            let Op::Warp(op, d, s) = self.inst(first).op else { continue };
            let stack = warp[0].stack();
            if warp.iter().any(|t| t.stack() != stack) {
                continue;
            }
            any = true;
            let from: Vec<u128> = warp.iter().map(|t| t.regs()[s.index()]).collect();
            let lanes = from.len() as u32;
            for lane in 0..lanes {
                let source = match op {
                    Warp::Index(n) => u32::from(n) & 31,
                    Warp::Butterfly(n) => lane ^ u32::from(n) & 31,
                    Warp::Up(n) => lane.checked_sub(u32::from(n) & 31).unwrap_or(lane),
                    Warp::Down(n) if lane + (u32::from(n) & 31) <= 31 => lane + (u32::from(n) & 31),
                    _ => lane,
                };
                let t = &mut warp[lane as usize];
                match op {
                    Warp::Sync => {}
                    Warp::Ballot => {
                        let bits = from.iter().enumerate().fold(0, |b, (i, v)| b | (*v & 1) << i);
                        t.set(d, bits);
                    }
                    Warp::Any => t.set(d, u128::from(from.iter().any(|v| *v != 0))),
                    Warp::All => t.set(d, u128::from(from.iter().all(|v| *v != 0))),
                    _ if source >= lanes => return Err(Unfit::Race(first)),
                    _ => t.set(d, from[source as usize]),
                }
                t.top().at += 1;
                t.state = State::Runs;
            }
        }
        Ok(any)
    }

    /// Lets all threads through a barrier.
    fn barrier(&mut self, all: &mut [Thread]) -> Result<(), Unfit> {
        let sites: BTreeSet<Site> = all.iter().filter_map(Thread::site).collect();
        let id = |site: &Site| match self.inst(*site).op {
            Op::Barrier { id, .. } => Some(id),
            Op::Exchange { .. } => Some(0),
            _ => None,
        };
        let ids: BTreeSet<Option<u8>> = sites.iter().map(id).collect();
        if ids.len() != 1 || ids.contains(&None) {
            return Err(Unfit::Stuck(sites.into_iter().collect()));
        }
        for warp in all.chunks(32) {
            let stacks: BTreeSet<Vec<Site>> = warp.iter().map(Thread::stack).collect();
            if stacks.len() > 1 {
                self.done.unaligned.extend(warp.iter().filter_map(Thread::site));
            }
        }
        self.done.left_early |= all.iter().any(|t| t.state == State::Ended);
        self.phase += 1;
        for t in all.iter_mut().filter(|t| t.state == State::Waits) {
            t.state = State::Runs;
            let exchanges = t.site().map(|s| self.inst(s).op.clone());
            match exchanges {
                Some(Op::Exchange { .. }) if !t.top().stored => t.top().stored = true,
                Some(Op::Exchange { .. }) => {
                    t.top().stored = false;
                    t.top().at += 1;
                }
                _ => t.top().at += 1,
            }
        }
        Ok(())
    }

    fn inst(&self, (func, block, at): Site) -> &Inst {
        &self.p.funcs[func].blocks[block].insts[at]
    }

    fn run_thread(&mut self, t: &mut Thread) -> Result<(), Unfit> {
        while t.state == State::Runs {
            let f = t.frames.len() - 1;
            let Frame { func, block, at, .. } = t.frames[f];
            let body = &self.p.funcs[func];
            let insts = block.map_or(&body.init, |b| &body.blocks[b].insts);
            self.insts += 1;
            if self.insts > MOST_INSTS {
                return Err(Unfit::Long);
            }
            if let Some(inst) = insts.get(at) {
                self.step(t, inst, (func, block.unwrap_or(usize::MAX), at))?;
                continue;
            }
            let Some(b) = block else {
                self.enter(t, func, 0)?;
                continue;
            };
            let way = match &body.blocks[b].term {
                Term::Goto(_) => 0,
                Term::If(p, not, ..) => usize::from((t.frames[f].regs[p.index()] != 0) == *not),
                Term::Switch(by, ways) => (t.frames[f].regs[by.index()] as u32 % ways.len() as u32) as usize,
                Term::Leave { exit } => {
                    self.leave(t, *exit);
                    continue;
                }
            };
            t.ways.push((func, b, way));
            if t.ways.len() > 128 {
                t.ways.drain(..64);
            }
            let before = *self.choices.entry((t.path, func, b)).or_insert(way);
            if before != way {
                self.done.divergent.insert((func, b));
            }
            t.path =
                (t.path ^ way as u64 ^ (b as u64) << 8).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let edge = body.blocks[b].term.edges()[way].clone();
            let mut to = edge.to;
            if let Some((fuel, otherwise)) = edge.fuel {
                let left = &mut t.frames[f].regs[fuel.index()];
                match *left {
                    0 => to = otherwise,
                    _ => *left -= 1,
                }
            }
            self.enter(t, func, to)?;
        }
        Ok(())
    }

    fn enter(&mut self, t: &mut Thread, func: usize, block: usize) -> Result<(), Unfit> {
        t.blocks += 1;
        self.done.visited.insert((func, block));
        if t.blocks > MOST_BLOCKS {
            return Err(Unfit::Endless(t.ways.clone()));
        }
        let f = t.top();
        (f.block, f.at) = (Some(block), 0);
        Ok(())
    }

    /// `exit`, or `ret`.
    fn leave(&mut self, t: &mut Thread, exit: bool) {
        if exit || t.frames.len() == 1 {
            t.state = State::Ended;
            return;
        }
        let Some(callee) = t.frames.pop() else { return };
        for (i, to) in callee.results.iter().enumerate() {
            let from = Reg::new(to.bank, Class::Result, i);
            t.set(*to, callee.regs[from.index()]);
        }
        t.top().at += 1;
    }

    fn step(&mut self, t: &mut Thread, inst: &Inst, site: Site) -> Result<(), Unfit> {
        if let Some((p, not)) = inst.guard
            && (t.regs()[p.index()] != 0) == not
        {
            t.top().at += 1;
            return Ok(());
        }
        let get = |t: &Thread, s: Src| match s {
            Src::Reg(r) => t.regs()[r.index()],
            Src::Const(c) => u128::from(c),
        };
        match &inst.op {
            Op::Arith(op, d, a, b) => {
                let (a, b) = (get(t, *a), get(t, *b));
                t.set(*d, arith(*op, d.bank, a, b));
            }
            Op::Mad(d, a, b, c) => {
                let (a, b, c) = (get(t, *a), get(t, *b), get(t, *c));
                let v = match d.bank {
                    Bank::F => f32_bits(f(a).mul_add(f(b), f(c))),
                    _ => u128::from((a as u64).wrapping_mul(b as u64).wrapping_add(c as u64)),
                };
                t.set(*d, v);
            }
            Op::Accumulate(d, a, s) => {
                let a = f64::from_bits(get(t, Src::Reg(*a)) as u64);
                let sum = a + f64::from(get(t, *s) as u32 as i32);
                t.set(*d, u128::from(sum.to_bits()));
            }
            Op::Move(d, s) => t.set(*d, get(t, *s)),
            Op::Bits(d, s) => t.set(*d, get(t, Src::Reg(*s))),
            Op::Select(d, a, b, p) => {
                let v = if t.regs()[p.index()] != 0 { get(t, *a) } else { get(t, *b) };
                t.set(*d, v);
            }
            Op::Compare(cmp, signed, d, a, b) => {
                let v = compare(*cmp, *signed, a.bank, get(t, Src::Reg(*a)), get(t, *b));
                t.set(*d, u128::from(v));
            }
            Op::Logic(op, d, a, b) => {
                let (a, b) = (t.regs()[a.index()], t.regs()[b.index()]);
                let v = match op {
                    Logic::And => a & b,
                    Logic::Or => a | b,
                    Logic::Xor => a ^ b,
                    Logic::Not => a ^ 1,
                };
                t.set(*d, v);
            }
            Op::Convert(d, s, signed) => {
                let v = t.regs()[s.index()] as u64;
                let shift = 64 - s.bank.bits();
                let extended = ((v << shift) as i64) >> shift;
                let v = match d.bank {
                    Bank::F => f32_bits(v as u32 as i32 as f32),
                    Bank::D => u128::from(f64::from(v as u32 as i32).to_bits()),
                    _ if *signed => extended as u64 as u128,
                    _ => u128::from(v),
                };
                t.set(*d, v);
            }
            Op::Pack(d, lo, hi) => {
                let v = t.regs()[lo.index()] | t.regs()[hi.index()] << 64;
                t.set(*d, v);
            }
            Op::Unpack(lo, hi, s) => {
                let v = t.regs()[s.index()];
                t.set(*lo, v);
                t.set(*hi, v >> 64);
            }
            Op::Special(d, s) => {
                let v = match s {
                    Special::Tid(axis) => t.tid[usize::from(*axis)],
                    Special::Cta(axis) => self.cta[usize::from(*axis)],
                    Special::Ntid => self.p.block[0],
                    Special::Lane => t.flat % 32,
                    Special::Flat => t.flat,
                    Special::Global => t.global as u32,
                    Special::Limit => self.p.limit,
                };
                t.set(*d, u128::from(v));
            }
            Op::Input(d, data) => {
                let at = match data {
                    Data::Table(s) => get(t, *s) as u64 % layout::TABLE,
                    Data::Own => layout::TABLE + t.global,
                    Data::Same => layout::TABLE + self.p.all_threads() + t.global,
                };
                t.set(*d, u128::from(self.input[at as usize]));
            }
            Op::Point(d, s) => t.set(*d, u128::from(get(t, *s) as u64 % (layout::TABLE / 2))),
            Op::Advance(d, by, more) => {
                let more = more.map_or(0, |r| t.regs()[r.index()] as u64 % 4);
                let to = (t.regs()[d.index()] as u64).wrapping_add_signed((*by).into()).wrapping_add(more);
                t.set(*d, u128::from(to));
            }
            Op::Follow(d, w) => {
                let at = usize::try_from(t.regs()[w.index()]).unwrap_or(usize::MAX);
                let word = *self.input.get(at).ok_or(Unfit::Wild(site))?;
                t.set(*d, u128::from(word));
            }
            Op::Load(d, place) => {
                let index = index(*place, |s| get(t, s) as u64);
                let v = *self.cell(t, *place, index);
                t.set(*d, u128::from(v));
            }
            Op::Store(place, s) => {
                let index = index(*place, |s| get(t, s) as u64);
                let v = t.regs()[s.index()] as u64;
                let cell = self.cell(t, *place, index);
                let mask = u64::MAX >> (64 - s.bank.bits());
                *cell = *cell & !mask | v & mask;
            }
            Op::Count(cell, by) => {
                let by = get(t, *by) as u32;
                let cell = &mut self.done.memory[usize::from(*cell)];
                *cell = *cell & !0xffff_ffff | u64::from((*cell as u32).wrapping_add(by));
            }
            Op::Call { callee, .. }
                if callee.bounded && t.frames.len() as u32 > self.p.depth + t.flat % 2 => {}
            Op::Call { callee, args, results } => {
                let which = callee.by.map_or(0, |r| t.regs()[r.index()] as usize % callee.funcs.len());
                let func = callee.funcs[which];
                self.done.deepest = self.done.deepest.max(t.frames.len());
                let mut callee = frame(func, results.clone());
                for (i, (bank, arg)) in self.p.funcs[func].params.iter().zip(args).enumerate() {
                    callee.regs[Reg::new(*bank, Class::Argument, i).index()] = get(t, *arg) & mask(*bank);
                }
                t.frames.push(callee);
                return Ok(());
            }
            Op::Leave { exit } => {
                self.leave(t, *exit);
                return Ok(());
            }
            Op::Barrier { .. } | Op::Warp(..) => {
                t.state = State::Waits;
                return Ok(());
            }
            Op::Exchange { d, s, step, dynamic } => {
                let area = usize::from(*dynamic);
                let threads = self.slots[area].len();
                if !t.top().stored {
                    let slot = &mut self.slots[area][t.flat as usize];
                    if slot.read == self.phase {
                        return Err(Unfit::Race(site));
                    }
                    (slot.value, slot.written) = (t.regs()[s.index()] as u32, self.phase);
                } else {
                    let from = (t.flat as usize + *step as usize) % threads;
                    let slot = &mut self.slots[area][from];
                    if slot.written == self.phase {
                        return Err(Unfit::Race(site));
                    }
                    slot.read = self.phase;
                    let v = slot.value;
                    t.set(*d, u128::from(v));
                }
                t.state = State::Waits;
                return Ok(());
            }
        }
        t.top().at += 1;
        Ok(())
    }

    fn cell<'t>(&'t mut self, t: &'t mut Thread, place: Place, index: u64) -> &'t mut u64 {
        let all = self.p.all_threads();
        match place {
            Place::Column(_) => &mut self.done.memory[(layout::CELLS + index * all + t.global) as usize],
            Place::Row(_) => {
                let at = layout::CELLS + layout::COLUMN * all + t.global * layout::ROW + index;
                &mut self.done.memory[at as usize]
            }
            Place::Shared(_) => &mut t.shared[index as usize],
            Place::Local(_) => &mut t.top().local[index as usize],
        }
    }
}

fn index(place: Place, get: impl Fn(Src) -> u64) -> u64 {
    match place {
        Place::Column(n) => u64::from(n),
        Place::Row(s) => get(s) % layout::ROW,
        Place::Shared(s) => get(s) % layout::SLOT,
        Place::Local(s) => get(s) % layout::LOCAL,
    }
}

fn frame(func: usize, results: Vec<Reg>) -> Frame {
    Frame {
        func,
        block: None,
        at: 0,
        stored: false,
        regs: vec![0; Reg::COUNT],
        local: Default::default(),
        results,
    }
}

impl Thread {
    fn top(&mut self) -> &mut Frame {
        let n = self.frames.len() - 1;
        &mut self.frames[n]
    }

    fn regs(&self) -> &[u128] {
        &self.frames[self.frames.len() - 1].regs
    }

    fn set(&mut self, r: Reg, v: u128) {
        self.top().regs[r.index()] = v & mask(r.bank);
    }

    /// Where it waits, and where those who called have come to.
    fn stack(&self) -> Vec<Site> {
        let ended = self.state == State::Ended;
        let frames = self.frames.iter().filter(|_| !ended);
        frames.filter_map(|f| Some((f.func, f.block?, f.at))).collect()
    }

    /// Where it waits.
    fn site(&self) -> Option<Site> {
        let f = self.frames.last()?;
        if self.state == State::Ended { None } else { Some((f.func, f.block?, f.at)) }
    }
}

fn mask(bank: Bank) -> u128 {
    u128::MAX >> (128 - bank.bits())
}

fn f(bits: u128) -> f32 {
    f32::from_bits(bits as u32)
}

/// NaNs have one pattern.
fn f32_bits(v: f32) -> u128 {
    u128::from(if v.is_nan() { 0x7fff_ffff } else { v.to_bits() })
}

fn arith(op: Arith, bank: Bank, a: u128, b: u128) -> u128 {
    if bank == Bank::F {
        let (a, b) = (f(a), f(b));
        return f32_bits(match op {
            Arith::Add => a + b,
            Arith::Sub => a - b,
            _ => a * b,
        });
    }
    let width = bank.bits();
    let signed = |v: u128| ((v << (128 - width)) as i128) >> (128 - width);
    match op {
        Arith::Add => a.wrapping_add(b),
        Arith::Sub => a.wrapping_sub(b),
        Arith::Mul => a.wrapping_mul(b),
        Arith::And => a & b,
        Arith::Or => a | b,
        Arith::Xor => a ^ b,
        Arith::Shl => a << b.min(64),
        Arith::Shr => a >> b.min(64),
        Arith::Min => a.min(b),
        Arith::Max => signed(a).max(signed(b)) as u128,
    }
}

fn compare(cmp: Cmp, is_signed: bool, bank: Bank, a: u128, b: u128) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let b = b & mask(bank);
    let shift = 128 - bank.bits();
    let order = match bank {
        Bank::F => f(a).partial_cmp(&f(b)),
        _ if is_signed => Some(((a << shift) as i128).cmp(&((b << shift) as i128))),
        _ => Some(a.cmp(&b)),
    };
    // With a NaN nothing holds.
    match (cmp, order) {
        (_, None) => false,
        (Cmp::Eq, Some(o)) => o == Equal,
        (Cmp::Ne, Some(o)) => o != Equal,
        (Cmp::Lt, Some(o)) => o == Less,
        (Cmp::Le, Some(o)) => o != Greater,
        (Cmp::Gt, Some(o)) => o == Greater,
        (Cmp::Ge, Some(o)) => o != Less,
    }
}
