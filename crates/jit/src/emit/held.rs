//! What a loop that is written [turn by turn](super::turns) stores in shared memory and reads back, as a tree does: it stays in registers.
//!
//! All threads store a row before the loop; in each turn part of them read and store parts of it. Where every such access is known, and every load
//! reads what one store has written, nothing needs to be in memory before the loop is over, and then only what somebody else reads. Nothing
//! in the turns may stop, so that nobody sees memory meanwhile: no other access, nothing that may wrap.
//!
//! Floats are held as they are, before their bits are made: whoever takes them as floats does not care which NaN it is.

use std::ops::Range;

use hostwarp_ir::{Block, Elem, Inst, Mem, Op, Order, Space, Special, Term, Type, Value, fold};
use hostwarp_plan::{Invariance, Shape as Spread};

use super::paths::may_wrap_here;
use super::turns::{Known as Constants, Turns};
use super::{Emitter, Known, Reg, Shape};

/// How a loop's rows are held.
pub(super) struct Plan {
    /// The block before the loop and its store.
    store: (Block, usize),
    /// What others read.
    pub(super) read: Vec<Range<u64>>,
}

/// A row that is in registers.
#[derive(Clone)]
pub(super) struct Row {
    /// Where it would be.
    place: Range<u64>,
    bits: Reg,
    /// Before its bits were made, if it is floats.
    floats: Option<Reg>,
}

/// Values that are looked at to find one.
const MOST_VALUES: u32 = 256;

/// Bytes of what is held.
const WORD: u64 = 4;

impl Emitter<'_> {
    /// Whether what a loop stores can be held, entered from `entry` and with these steps.
    pub(super) fn find_held(&self, entry: Block, turns: &Turns) -> Option<Plan> {
        if self.rows != 1 || self.paths != super::Paths::Together {
            return None;
        }
        let straight = match &self.func.block(entry).term {
            Term::Jump(_) => true,
            term => self.is_free_barrier(term),
        };
        let nothing = Constants::new();
        let fixed = |v: Value| self.plan.invariance[v.index()] == Invariance::Launch;
        let (mut store, mut read) = (None, vec![]);
        for b in &self.plan.order {
            let inside = turns.contains(*b) || turns.parts(self).contains(b);
            for (n, inst) in self.func.block(*b).insts.iter().enumerate() {
                let mem = match inst.op {
                    Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) => mem,
                    op if inside && (op.has_effect() || may_wrap_here(inst, self.plan)) => return None,
                    _ => continue,
                };
                match (mem.space, inst.op) {
                    (Space::Param, _) if !inside || inst.result.is_some_and(fixed) => {}
                    (Space::Generic, _) | (Space::Shared, Op::Atomic(..)) => return None,
                    (Space::Shared, _) if inside => {}
                    // The last before the loop is held; all others are none of its business.
                    (Space::Shared, Op::Store(_)) if *b == entry => store = Some((*b, n)),
                    (Space::Shared, Op::Store(_)) => {}
                    (Space::Shared, _) if *b == entry && store.is_some() => return None,
                    (Space::Shared, _) if self.plan.shape[inst.args[0].index()] == Spread::Uniform => {
                        let at = self.first_lane(inst.args[0], &nothing)?;
                        let bytes = inst.result.map(|r| self.ty(r).bytes() as u64)?;
                        // In whole words, as it is held.
                        let words = at.is_multiple_of(WORD) && bytes.is_multiple_of(WORD);
                        read.push(words.then_some(at..at.checked_add(bytes)?)?);
                    }
                    (Space::Shared, _) => return None,
                    _ if inside => return None,
                    _ => {}
                }
            }
        }
        let plan = Plan { store: store.filter(|_| straight)?, read };
        self.is_read_whole(&plan, turns)?;
        Some(plan)
    }

    /// Goes through the turns: each load must find all of what it reads in one row.
    fn is_read_whole(&self, plan: &Plan, turns: &Turns) -> Option<()> {
        let all = 0..u64::from(self.w);
        let (entry, n) = plan.store;
        let first = &self.func.block(entry).insts[n];
        let Op::Store(mem) = first.op else { return None };
        let mut rows = vec![self.held_place(first, mem, &Constants::new(), all.clone())?];
        for (block, known) in turns.steps() {
            let part = self.parts[block.index()];
            let lanes = part.map(|part| self.known_lanes_of(part, known)).unwrap_or(Some(0..0))?;
            // In one piece, or not at all.
            if !lanes.is_empty() && !lanes.len().is_power_of_two() {
                return None;
            }
            let lanes = lanes.start as u64..lanes.end as u64;
            let in_part = part.filter(|_| !lanes.is_empty()).map(|part| (part.block, lanes));
            for (b, lanes) in [Some((block, all.clone())), in_part].into_iter().flatten() {
                for inst in &self.func.block(b).insts {
                    match inst.op {
                        Op::Load(mem) if mem.space == Space::Shared => {
                            let place = self.held_place(inst, mem, known, lanes.clone())?;
                            find(&rows, |row| row, &place)?;
                        }
                        Op::Store(mem) => rows.push(self.held_place(inst, mem, known, lanes.clone())?),
                        _ => {}
                    }
                }
            }
        }
        // What others read must be whole, or older than all of it.
        let touched = |place: &Range<u64>| rows.iter().any(|row| meet(row, place));
        plan.read.iter().all(|place| !touched(place) || find(&rows, |row| row, place).is_some()).then_some(())
    }

    /// Where an access of some lanes goes, if it is one that can be held: a row of words that is certainly there.
    fn held_place(&self, inst: &Inst, mem: Mem, known: &Constants, lanes: Range<u64>) -> Option<Range<u64>> {
        let ty = match inst.op {
            Op::Load(_) => self.ty(inst.result?),
            _ => self.ty(*inst.args.get(1)?),
        };
        let row = matches!(
            self.plan.shape[inst.args[0].index()],
            Spread::Affine { stride: 4, may_wrap: false, by_row: false }
        );
        let plain = mem.order == Order::Weak && mem.space == Space::Shared && inst.guard.is_none();
        if !row || !plain || ty != Type::I32 {
            return None;
        }
        let first = self.first_lane(inst.args[0], known)?;
        // That of the first lane may lie before all memory, if it takes no part.
        let start = first.wrapping_add(lanes.start * WORD) & self.ty(inst.args[0]).elem.mask();
        let place = start..start.checked_add((lanes.end - lanes.start) * WORD)?;
        let there = place.end <= self.func.info.shared_bytes.into() && start.is_multiple_of(WORD);
        there.then_some(place)
    }

    /// What the first lane of a group that is all of its CTA has, if that is known.
    pub(super) fn first_lane(&self, v: Value, known: &Constants) -> Option<u64> {
        self.first_lane_within(v, known, &mut { MOST_VALUES })
    }

    fn first_lane_within(&self, v: Value, known: &Constants, left: &mut u32) -> Option<u64> {
        if let Some(is) = self.constant(v).or_else(|| known.get(&v).copied()) {
            return Some(is);
        }
        *left = left.checked_sub(1)?;
        let cta = self.assume.cta?;
        let (b, n) = self.maker[v.index()]?;
        let inst = &self.func.block(b).insts[n];
        match inst.op {
            Op::Special(Special::Tid(_) | Special::LaneId) => Some(0),
            Op::Special(Special::Ntid(axis)) => Some(cta[axis as usize].into()),
            op if op.is_pure() && !inst.args.is_empty() => {
                let args: Vec<u64> = inst
                    .args
                    .iter()
                    .map(|a| self.first_lane_within(*a, known, left))
                    .collect::<Option<_>>()?;
                fold::evaluate(op, self.ty(inst.args[0]), self.ty(v), &args)
            }
            _ => None,
        }
    }

    /// Holds what a store stores, if it is one of those.
    pub(super) fn hold(&mut self, index: usize, inst: &Inst, mem: Mem) -> bool {
        let at = (self.block, index);
        let in_turn = self.turn.is_some();
        let whole = self.w == self.assume.group && self.mask.is_none();
        let starts = |turns: &Turns| turns.held.as_ref().is_some_and(|plan| plan.store == at);
        let loop_to_come =
            self.turns.iter().find(|(_, turns)| whole && !in_turn && starts(turns)).map(|(h, _)| *h);
        if loop_to_come.is_none() && !(in_turn && self.holding.is_some()) {
            return false;
        }
        let Some(place) = self.held_here(inst, mem) else { return false };
        let (bits, floats) = (self.vector_or_scalar(inst.args[1]), self.floats_of(inst.args[1]));
        let row = Row { place, bits, floats };
        if let Some(turns) = loop_to_come.and_then(|header| self.turns.get_mut(&header)) {
            turns.first = Some(row);
        } else if let Some(rows) = &mut self.holding {
            rows.push(row);
        }
        true
    }

    /// Whether the block being written stores what the turns of a loop hold.
    pub(super) fn holds_here(&self) -> bool {
        let starts = |turns: &Turns| turns.held.as_ref().is_some_and(|plan| plan.store.0 == self.block);
        self.turn.is_none() && self.turns.values().any(starts)
    }

    /// A row, register by register. Where nothing is stored before what has been loaded is added up, LLVM loads it in any order; but the CPU only looks
    /// ahead of who goes from one line to the next.
    pub(super) fn load_in_order(&mut self, row: Shape, at: &str) -> Reg {
        let part = row.times(self.cpu.lanes * 32 / row.elem.bits());
        let bytes = part.n * part.elem.bits() / 8;
        let parts: Vec<Reg> = (0..row.n / part.n)
            .map(|n| {
                let at = self.t.inst(format_args!("getelementptr i8, ptr {at}, i64 {}", n * bytes));
                self.t.inst(format_args!("load volatile {part}, ptr {at}, align 4"))
            })
            .collect();
        self.t.concat(part, &parts)
    }

    /// What a load reads of what is held.
    pub(super) fn read_held(&mut self, inst: &Inst, mem: Mem) -> Option<Known> {
        self.turn.as_ref()?;
        let place = self.held_here(inst, mem)?;
        let row = find(self.holding.as_ref()?, |row| &row.place, &place)?.clone();
        let r = inst.result?;
        if let Some(floats) = &row.floats {
            let floats = self.words_of(floats, Elem::F32, &row.place, &place);
            self.held_floats.insert(r, floats);
        }
        let bits = self.words_of(&row.bits, Elem::I32, &row.place, &place);
        Some(match self.w {
            1 => Known { bases: vec![bits], ..Known::default() },
            _ => Known { vector: Some(bits), ..Known::default() },
        })
    }

    /// Writes what others read to memory, at the end.
    pub(super) fn give_back(&mut self, read: &[Range<u64>]) {
        let Some(rows) = self.holding.clone() else { return };
        for place in read {
            let Some(row) = find(&rows, |row| &row.place, place) else { continue };
            let words = self.words_of(&row.bits, Elem::I32, &row.place, place);
            let shape = Shape::new(Elem::I32, ((place.end - place.start) / WORD) as u32);
            let at = self.place(Space::Shared, &place.start.to_string());
            self.t.line(format_args!("store {shape} {words}, ptr {at}, align 4"));
        }
    }

    fn held_here(&self, inst: &Inst, mem: Mem) -> Option<Range<u64>> {
        let nothing = Constants::new();
        let known = self.turn.as_ref().map_or(&nothing, |turn| &turn.known);
        let first = self.piece_from;
        self.held_place(inst, mem, known, first..first + u64::from(self.w))
    }

    fn vector_or_scalar(&mut self, v: Value) -> Reg {
        if self.w == 1 { self.scalar(v) } else { self.vector(v) }
    }

    /// The floats whose bits a value is, if it is made in this block.
    fn floats_of(&mut self, v: Value) -> Option<Reg> {
        let (b, n) = self.maker[v.index()].filter(|(b, _)| *b == self.block)?;
        let inst = &self.func.block(b).insts[n];
        let floats = inst.op == Op::ToBits && self.ty(inst.args[0]) == Type::scalar(Elem::F32);
        floats.then(|| self.vector_or_scalar(inst.args[0]))
    }

    /// Some words of a row.
    fn words_of(&mut self, reg: &str, elem: Elem, row: &Range<u64>, place: &Range<u64>) -> Reg {
        let from = ((place.start - row.start) / WORD) as u32;
        let [all, some] = [row, place].map(|place| ((place.end - place.start) / WORD) as u32);
        let shape = Shape::new(elem, all);
        match some {
            _ if some == all => reg.to_owned(),
            1 => self.t.inst(format_args!("extractelement {shape} {reg}, i64 {from}")),
            _ => self.t.shuffle(shape, reg, "poison", from..from + some),
        }
    }
}

fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The row that was stored last of those that meet a place, if it is all there.
fn find<'r, T>(rows: &'r [T], place_of: impl Fn(&T) -> &Range<u64>, place: &Range<u64>) -> Option<&'r T> {
    let last = rows.iter().rev().find(|row| meet(place_of(row), place))?;
    let row = place_of(last);
    (row.start <= place.start && place.end <= row.end).then_some(last)
}
