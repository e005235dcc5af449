//! Asking memory for what will be accessed soon. Looking ahead reads nothing, so none of it needs a check.

use std::collections::{HashMap, HashSet};

use hostwarp_ir::{Block, IntBin, Op, Space, Special, Target, Type, Value};
use hostwarp_plan::Shape as Spread;

use super::memory::{Access, Pattern};
use super::{Emitter, Reg};

/// Where an access goes in the next turn of a loop is foreseen by the CPU if it is no further than this: it does not look across pages.
const NEAR: u64 = 2048;

/// How many bytes ahead a stream through a large allocation is asked for: what the groups of the next few CTAs will access. The CPU by
/// itself stops at every page, and does not know that a line will be written.
const AHEAD: u64 = 3072;

/// Smaller allocations are taken to be in a cache close by.
const LARGE: u64 = 1 << 20;

/// What the CPU fetches at once.
const LINE: usize = 64;

/// As many are asked for at a time: a CPU can wait for few more, and each is an instruction.
const MOST_LINES: usize = 32;

/// How many values are looked at to find out where an address comes from.
const MOST_VALUES: usize = 64;

/// How near something is to be, as LLVM numbers it.
#[derive(Clone, Copy)]
enum Cache {
    Second = 2,
    First = 3,
}

/// What is accessed by one group after the other.
pub(super) struct Stream {
    place: Reg,
    /// It is to be there for writing.
    own: bool,
}

impl Emitter<'_> {
    fn prefetch(&mut self, place: &str, own: bool, to: Cache) {
        self.t.declarations.insert("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)".into());
        let (own, to) = (i32::from(own && self.cpu.asks_to_own), to as i32);
        self.t.line(format_args!("call void @llvm.prefetch.p0(ptr {place}, i32 {own}, i32 {to}, i32 1)"));
    }

    /// Asks for what a load at this place will access one turn later.
    pub(super) fn ask_for_next_turn(&mut self, place: &str, step: &str) {
        let next = self.t.inst(format_args!("getelementptr i8, ptr {place}, i64 {step}"));
        // Rows of a matrix often lie a power of two apart, and drive each other out of the first.
        self.prefetch(&next, false, Cache::Second);
    }

    /// The stream that some accesses checked together belong to, `places` being where their rows are: none if they are in a loop, or if
    /// rows lie apart.
    pub(super) fn stream(&mut self, access: &Access, places: &[Reg], members: &[usize]) -> Option<Stream> {
        let global = matches!(access.space, Space::Global | Space::Generic);
        let once = self.plan.loop_of[self.block.index()].is_none();
        let whole = access.pattern == Pattern::Row && self.mask.is_none() && self.w == self.assume.group;
        if self.cpu.streams_alone
            || !(global && once && whole && places.iter().all(|place| *place == places[0]))
        {
            return None;
        }
        let writes = |index: &usize| matches!(self.func.block(self.block).insts[*index].op, Op::Store(_));
        let written = members.iter().any(writes);
        let own = written || self.cpu.owns_cheaply && self.is_alone(access.address);
        Some(Stream { place: places[0].clone(), own })
    }

    /// Asks for what groups to come will access, if the allocation is so large that it comes from far away: `room` is in how many places,
    /// `align` apart, an access may begin in it.
    pub(super) fn ask_ahead(&mut self, stream: &Stream, room: &str, len: u64, align: u32, on: &str) {
        let large = LARGE / u64::from(align);
        let far = self.t.inst(format_args!("icmp ugt i64 {room}, {large}"));
        let ask = self.t.fresh_label("ahead");
        self.t.branch(&far, &ask, on);
        self.t.label(&ask);
        self.ask(&stream.place, len, stream.own);
        self.t.jump(on);
    }

    fn ask(&mut self, place: &str, len: u64, own: bool) {
        let to = if self.cpu.asks_into_second { Cache::Second } else { Cache::First };
        for at in (0..len).step_by(LINE).take(MOST_LINES) {
            let next = self.t.inst(format_args!("getelementptr i8, ptr {place}, i64 {}", AHEAD + at));
            self.prefetch(&next, own, to);
        }
    }

    /// Whether nobody else reads what a load reads, as far as one can tell: every CTA has its own part of what one parameter points to, and no
    /// other load of the kernel goes there.
    fn is_alone(&mut self, address: Value) -> bool {
        let Some(Origin { parameters, own_part: true }) = self.origin(address) else { return false };
        let [parameter] = parameters.into_iter().collect::<Vec<_>>()[..] else { return false };
        if self.readers.is_none() {
            self.readers = Some(self.count_readers());
        }
        self.readers.as_ref().is_some_and(|readers| readers.get(&parameter) == Some(&1))
    }

    /// How many loads there are from what each parameter points to; none at all where one may go anywhere.
    fn count_readers(&self) -> HashMap<u64, u32> {
        let mut readers = HashMap::new();
        for inst in self.func.blocks.iter().flat_map(|b| &b.insts) {
            match inst.op {
                Op::Load(mem) if matches!(mem.space, Space::Global | Space::Generic) => {
                    let Some(origin) = self.origin(inst.args[0]) else { return HashMap::new() };
                    for parameter in origin.parameters {
                        *readers.entry(parameter).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        readers
    }

    /// What an address is computed from; none if that is not known before the kernel runs.
    fn origin(&self, address: Value) -> Option<Origin> {
        let mut origin = Origin::default();
        let mut seen = HashSet::from([address]);
        let mut work = vec![address];
        while let Some(v) = work.pop() {
            let (b, n) = self.maker[v.index()]?;
            let inst = &self.func.block(b).insts[n];
            match inst.op {
                Op::Const(_) => {}
                Op::Load(mem) if mem.space == Space::Param => {
                    if self.ty(v) == Type::I64 {
                        origin.parameters.insert(self.constant(inst.args[0])?);
                    }
                }
                Op::Special(Special::Ctaid(_)) => origin.own_part = true,
                op if op.is_pure() => work.extend(inst.args.iter().copied().filter(|a| seen.insert(*a))),
                _ => return None,
            }
            if seen.len() > MOST_VALUES {
                return None;
            }
        }
        Some(origin)
    }

    /// How far a load from global memory moves on with every turn of a loop, if that is so far, or may be, that the CPU does not foresee
    /// it: then the next is asked for one turn ahead.
    pub(super) fn step_of(&mut self, access: &Access) -> Option<Reg> {
        let (root, _) = self.root(self.block, access.address);
        if access.space != Space::Global || self.ty(root) != Type::I64 {
            return None;
        }
        let plan = self.plan;
        let innermost = plan.loop_of[self.block.index()].map(|l| &plan.loops[l]);
        let mut around = std::iter::successors(innermost, |l| l.parent.map(|l| &plan.loops[l]));
        let header = around.find(|l| self.func.block(l.header).params.contains(&root))?.header;
        let step = self.step(header, root)?;
        let known = self.constant(step).is_some() || self.plan.live_in[self.block.index()].contains(&step);
        let is_there = self.spread(step) == Spread::Uniform && known;
        if self.is_near(step) || !is_there { None } else { Some(self.scalar(step)) }
    }

    fn is_near(&self, step: Value) -> bool {
        self.constant(step).is_some_and(|step| (step as i64).unsigned_abs() < NEAR)
    }

    /// What is added to a parameter of a loop's header with every turn, if that is one value.
    pub(super) fn step(&self, header: Block, parameter: Value) -> Option<Value> {
        let place = self.func.block(header).params.iter().position(|p| *p == parameter)?;
        let mut steps = vec![];
        for (from, to) in &self.plan.back_edges {
            let term = &self.func.block(*from).term;
            for edge in term.targets().into_iter().filter(|_| *to == header).filter(|t| t.block == header) {
                let (b, n) = self.maker[edge.args[place].index()]?;
                let inst = &self.func.block(b).insts[n];
                let (Op::Int(IntBin::Add), [x, y]) = (inst.op, &inst.args[..]) else { return None };
                if *x != parameter && *y != parameter {
                    return None;
                }
                steps.push(if *x == parameter { *y } else { *x });
            }
        }
        steps.dedup();
        let [step] = steps[..] else { return None };
        Some(step)
    }

    /// All lanes come from outside to a loop, which may slide slowly over rows of an allocation: where it begins for groups to come is asked
    /// for.
    pub(super) fn ask_ahead_of_loop(&mut self, from: Block, to: &Target) {
        let plan = self.plan;
        let inner = plan.loop_of[to.block.index()].map(|l| &plan.loops[l]);
        let outside = plan.loop_of[from.index()].is_none();
        let asks = outside && !self.cpu.streams_alone;
        let Some(l) = inner.filter(|l| asks && l.header == to.block) else { return };
        let slides = |e: &Self, p: Value| {
            let loads = l.blocks.iter().flat_map(|b| e.func.block(*b).insts.iter().map(move |i| (*b, i)));
            let is_row =
                |size: usize| matches!(e.spread(p), Spread::Affine { stride, .. } if stride == size as i64);
            let mut rows = loads.filter(|(b, i)| match (i.op, i.result) {
                (Op::Load(mem), Some(r)) if mem.space == Space::Global => {
                    is_row(e.ty(r).bytes()) && e.root(*b, i.args[0]).0 == p
                }
                _ => false,
            });
            rows.next().is_some() && e.step(to.block, p).is_some_and(|step| e.is_near(step))
        };
        for (p, argument) in self.func.block(to.block).params.iter().zip(&to.args) {
            if self.ty(*p) != Type::I64 || !slides(self, *p) {
                continue;
            }
            let addresses = self.wide_addresses_of_rows(*argument);
            let Spread::Affine { stride, .. } = self.spread(*p) else { continue };
            if addresses.iter().all(|address| *address == addresses[0]) {
                let place = self.place(Space::Global, &addresses[0]);
                self.ask(&place, stride as u64 * u64::from(self.row()), false);
            }
        }
    }
}

/// Where an address comes from.
#[derive(Default)]
struct Origin {
    /// Where the pointers among the parameters are.
    parameters: HashSet<u64>,
    /// It depends on the CTA's number.
    own_part: bool,
}
