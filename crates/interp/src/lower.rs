//! A function as the interpreter runs it: every operand is a place, every pure op a kernel.

use crate::cta::FrameBuffer;
use crate::kernels::{self, Level, Selected, Tools};
use crate::shape::{Affine, AffineOp, Column, Written};
use hostwarp_ir::{
    self as ir, AtomicOp, Axis, BarrierKind, Elem, Function, Mem, Op, Special, Term, TrapKind, Type, Value,
};
use hostwarp_plan::{Invariance, Plan};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Base {
    /// The CTA's frame; the offset counts per lane.
    Frame,
    /// Columns that live within one instruction or edge; the offset counts per lane.
    Scratch,
    /// Columns that only depend on where a lane is; the offset counts per lane.
    Lane,
    /// Constants, 32 lanes of each.
    Const,
    /// Values computed ahead for the launch, 32 lanes of each.
    Ahead,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Arg {
    pub(crate) base: Base,
    /// Bytes per lane.
    pub(crate) bytes: u8,
    pub(crate) offset: u32,
    /// Bytes from warp to warp; 0 if all warps have the same.
    pub(crate) step: u32,
    /// Its number among the places that have a [shape](crate::shape::Column).
    pub(crate) place: u32,
}

/// A result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dst {
    pub(crate) at: Arg,
    /// Lanes that do not run have nothing there: may be overwritten.
    pub(crate) free: bool,
}

#[derive(Debug)]
pub(crate) struct Inst {
    pub(crate) kind: Kind,
    pub(crate) dst: Option<Dst>,
    pub(crate) args: SmallVec<[Arg; 3]>,
    pub(crate) guard: Option<Arg>,
    /// A product added to something, which nobody reads but who adds another to it, and that before anything changes memory or what the first
    /// was added to.
    pub(crate) onward: bool,
    /// What it makes of affine columns.
    pub(crate) affine: Option<AffineOp>,
    pub(crate) line: u32,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Pure(Selected),
    /// The address, of so many bytes; `wide` if it has 64 bits.
    Load {
        mem: Mem,
        size: u32,
        wide: bool,
        /// The value is read once, by an op that can take it as it lies in memory and comes before anything that could change it there.
        once: bool,
    },
    Store {
        mem: Mem,
        size: u32,
        wide: bool,
    },
    Atomic {
        op: AtomicOp,
        mem: Mem,
        elem: Elem,
        wide: bool,
    },
    Fence,
    LaneRead,
    Ballot,
    ActiveMask,
    /// A special that is different every time.
    Clock(Special),
}

/// Moving a value to a block's parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) dst: Dst,
    pub(crate) src: Arg,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) block: u32,
    /// Leads back in the plan's order.
    pub(crate) back: bool,
    /// To be done one after the other.
    pub(crate) copies: Vec<Copy>,
}

#[derive(Debug)]
pub(crate) enum Terminator {
    Jump(Edge),
    Branch(Arg, Edge, Edge),
    Switch(Arg, Vec<Edge>),
    Exit,
    Trap(TrapKind),
    Barrier { kind: BarrierKind, id: Arg, count: Option<Arg>, next: Edge },
    WarpSync { mask: Arg, next: Edge },
}

#[derive(Debug)]
pub(crate) struct CodeBlock {
    pub(crate) position: u32,
    /// What a lane needs that waits at its start: a bit for each place.
    pub(crate) needs: Vec<u64>,
    pub(crate) insts: Vec<Inst>,
    pub(crate) term: Terminator,
    pub(crate) term_line: u32,
}

/// How a value that is the same for the whole launch comes about.
#[derive(Debug)]
pub(crate) enum Ahead {
    Special(Special),
    /// Bytes of the parameters.
    Param {
        offset: u32,
        size: u32,
    },
    Pure(Selected, SmallVec<[Arg; 3]>),
}

/// One step of computing values ahead: 32 lanes of each.
#[derive(Debug)]
pub(crate) struct AheadStep {
    pub(crate) how: Ahead,
    pub(crate) at: Arg,
}

/// Columns in [`Base::Lane`]: offsets per lane.
pub(crate) const LANE_TID: [u32; 3] = [0, 4, 8];
pub(crate) const LANE_WARP: u32 = 12;
/// The same in every warp, and yet a column of all: packed kernels go through a warp in several steps, so what differs between
/// lanes cannot stand still.
pub(crate) const LANE_ID: u32 = 16;
/// Written out only where a column holds several CTAs.
pub(crate) const LANE_CTAID: [u32; 3] = [20, 24, 28];
/// Bytes per lane of all of them.
pub(crate) const LANE_BYTES: u32 = 32;

/// Places of all else come after those of the columns in [`Base::Lane`].
const OTHER_PLACES: u32 = LANE_BYTES / 4;

/// Bytes per lane of scratch used to compute results of lanes that run beside others that do not.
pub(crate) const BLEND: u32 = 64;
/// Offset of the scratch column that a stored float is made canonical in.
const CANONICAL: u32 = BLEND;
/// Offset of the scratch columns of edges.
const EDGE: u32 = BLEND + 64;

/// The lowered function.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) blocks: Vec<CodeBlock>,
    pub(crate) consts: FrameBuffer,
    pub(crate) ahead: Vec<AheadStep>,
    pub(crate) ahead_bytes: u32,
    /// Per lane.
    pub(crate) scratch_bytes: u32,
    /// What is known of every place before the first instruction.
    pub(crate) columns: Vec<Column>,
    /// The operand of each value that has one.
    pub(crate) args: Vec<Option<Arg>>,
    pub(crate) tools: Tools,
}

struct Lowering<'a> {
    func: &'a Function,
    plan: &'a Plan,
    level: Level,
    /// The operand of each value that has one without a frame.
    place: Vec<Option<Arg>>,
    consts: Vec<(u64, Type, u32)>,
    const_bytes: u32,
    scratch_bytes: u32,
    /// The numbers of the other places. Values that share a slot share the place.
    places: HashMap<(Base, u32), u32>,
}

impl Code {
    pub(crate) fn new(func: &Function, plan: &Plan) -> Code {
        Code::with_level(func, plan, Level::detect())
    }

    /// For a level that the CPU must have.
    pub(crate) fn with_level(func: &Function, plan: &Plan, level: Level) -> Code {
        let mut lowering = Lowering {
            func,
            plan,
            level,
            place: vec![None; func.types.len()],
            consts: vec![],
            const_bytes: 0,
            scratch_bytes: EDGE,
            places: HashMap::new(),
        };
        let (ahead, ahead_bytes) = lowering.ahead();
        let mut blocks = Vec::with_capacity(func.blocks.len());
        for b in func.block_ids() {
            blocks.push(lowering.block(b));
        }
        let places = OTHER_PLACES + lowering.places.len() as u32;
        let mut columns = vec![Column::VARYING; places as usize];
        for b in func.block_ids() {
            blocks[b.index()].needs = lowering.needs(b, places);
        }
        let mut consts = FrameBuffer::default();
        consts.reserve(lowering.const_bytes as usize);
        let bytes = consts.bytes_mut();
        for (bits, ty, at) in &lowering.consts {
            let elem = ty.elem.bytes();
            let column = &mut bytes[*at as usize..][..32 * ty.bytes()];
            for e in column.chunks_exact_mut(elem) {
                e.copy_from_slice(&bits.to_le_bytes()[..elem]);
            }
            let place = lowering.places[&(Base::Const, *at)];
            columns[place as usize] = known(column, ty.bytes());
        }
        let args = (0..func.types.len() as u32).map(|v| lowering.existing(Value(v))).collect();
        Code {
            blocks,
            consts,
            ahead,
            ahead_bytes,
            scratch_bytes: lowering.scratch_bytes,
            columns,
            args,
            tools: Tools::new(level),
        }
    }
}

/// What is known of 32 lanes of the same value.
pub(crate) fn known(column: &[u8], bytes: usize) -> Column {
    let mut value = [0; 8];
    if bytes > value.len() {
        return Column::UNIFORM;
    }
    value[..bytes].copy_from_slice(&column[..bytes]);
    Column { written: Written::All, ..Column::of(Affine::uniform(u64::from_le_bytes(value))) }
}

/// The column of a special that says where a lane is.
fn lane_column(special: Special) -> Option<Arg> {
    let axis = |axis: Axis| match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    };
    let offset = match special {
        Special::Tid(a) => LANE_TID[axis(a)],
        Special::Ctaid(a) => LANE_CTAID[axis(a)],
        Special::WarpId => LANE_WARP,
        Special::LaneId => LANE_ID,
        _ => return None,
    };
    Some(Arg { base: Base::Lane, bytes: 4, offset, step: 128, place: lane_place(offset) })
}

/// The place of a column in [`Base::Lane`].
pub(crate) fn lane_place(offset: u32) -> u32 {
    offset / 4
}

/// Whether an instruction only gives the bits of its argument another type.
fn copies(i: &ir::Inst, func: &Function) -> bool {
    match i.op {
        Op::FromBits | Op::Bitcast => true,
        Op::ToBits => i.result.is_some_and(|r| func.ty(r).elem == Elem::I64),
        _ => false,
    }
}

/// Finds the loads whose value is read once, by an op that can take it as it lies in memory and comes before anything that could change it
/// there.
fn mark_read_once(insts: &mut [Inst], term: &Terminator) {
    // The load whose value a place holds, with the number of times it is read and whether that is as it should be.
    let mut held: HashMap<u32, (usize, usize, bool)> = HashMap::new();
    let mut found = vec![];
    let mut last_change = 0;
    for (n, inst) in insts.iter().enumerate() {
        let pure = matches!(inst.kind, Kind::Pure(_));
        let by_rows = matches!(inst.kind, Kind::Pure(Selected { by_rows: Some(_), .. }));
        for at in inst.args.iter().chain(&inst.guard) {
            if let Some((load, reads, good)) = held.get_mut(&at.place) {
                *reads += 1;
                *good &= by_rows && last_change <= *load;
            }
        }
        let load = matches!(inst.kind, Kind::Load { .. });
        if !pure && !load {
            last_change = n;
        }
        let Some(dst) = inst.dst else { continue };
        found.extend(held.remove(&dst.at.place));
        if load && dst.free {
            held.insert(dst.at.place, (n, 0, true));
        }
    }
    term.for_each_read(|at| {
        held.remove(&at.place);
    });
    for (load, reads, good) in found.into_iter().chain(held.into_values()) {
        if let (Kind::Load { once, .. }, 1, true) = (&mut insts[load].kind, reads, good) {
            *once = true;
        }
    }
}

/// Finds the products that are added to a sum one after the other: they can be added together, with the sum in a register.
fn mark_onward(insts: &mut [Inst], term: &Terminator) {
    /// The last product added to a sum.
    struct Last {
        product: usize,
        /// The first load of its factors, or of those before: memory must not have changed since.
        since: usize,
        /// The place of what products are added to.
        from: u32,
    }
    // By where the sum is.
    let mut sums: HashMap<u32, Last> = HashMap::new();
    // The loads that places hold.
    let mut loads: HashMap<u32, usize> = HashMap::new();
    // And by where it was, the product that has been added to: somebody may still read it there.
    let mut was: HashMap<u32, usize> = HashMap::new();
    let mut found = vec![];
    let mut last_change = 0;
    for (n, inst) in insts.iter().enumerate() {
        let by_rows = matches!(inst.kind, Kind::Pure(Selected { by_rows: Some(_), .. }));
        for at in inst.args.iter().chain(&inst.guard) {
            was.remove(&at.place);
        }
        let mut sum = None;
        if let ([a, b, c], true) = (&inst.args[..], by_rows) {
            for factor in [a, b] {
                sums.remove(&factor.place);
            }
            let [a, b] = [a, b].map(|at| loads.get(&at.place).copied().unwrap_or(n));
            let before = sums.remove(&c.place).filter(|before| last_change <= before.since.min(a).min(b));
            was.extend(before.as_ref().map(|before| (c.place, before.product)));
            let (since, from) = before.map_or((n, c.place), |before| (before.since, before.from));
            sum = Some(Last { product: n, since: since.min(a).min(b), from });
        }
        for at in inst.args.iter().chain(&inst.guard) {
            sums.remove(&at.place);
        }
        if let Some(Dst { at, free }) = inst.dst {
            sums.retain(|place, last| *place != at.place && last.from != at.place);
            found.extend(was.remove(&at.place));
            // Of what other blocks need nobody knows who reads it.
            sums.extend(sum.filter(|_| free).map(|sum| (at.place, sum)));
            loads.remove(&at.place);
            if matches!(inst.kind, Kind::Load { .. }) {
                loads.insert(at.place, n);
            }
        }
        if !matches!(inst.kind, Kind::Load { .. } | Kind::Pure(_)) {
            last_change = n;
        }
    }
    term.for_each_read(|at| {
        was.remove(&at.place);
    });
    for n in found.into_iter().chain(was.into_values()) {
        insts[n].onward = true;
    }
}

impl Terminator {
    /// All operands.
    fn for_each_read(&self, f: impl FnMut(&Arg)) {
        let (args, edges): (SmallVec<[&Arg; 2]>, SmallVec<[&Edge; 2]>) = match self {
            Terminator::Jump(edge) => (smallvec![], smallvec![edge]),
            Terminator::Branch(cond, yes, no) => (smallvec![cond], smallvec![yes, no]),
            Terminator::Switch(value, edges) => (smallvec![value], edges.iter().collect()),
            Terminator::Exit | Terminator::Trap(_) => (smallvec![], smallvec![]),
            Terminator::Barrier { id, count, next, .. } => {
                (std::iter::once(id).chain(count).collect(), smallvec![next])
            }
            Terminator::WarpSync { mask, next } => (smallvec![mask], smallvec![next]),
        };
        let handed_over = edges.iter().flat_map(|e| &e.copies).map(|c| &c.src);
        args.into_iter().chain(handed_over).for_each(f);
    }
}

impl Lowering<'_> {
    fn column(&mut self, ty: Type) -> u32 {
        let at = self.const_bytes;
        self.const_bytes += (32 * ty.bytes() as u32).next_multiple_of(64);
        at
    }

    fn constant(&mut self, bits: u64, ty: Type) -> Arg {
        let at = self.column(ty);
        self.consts.push((bits, ty, at));
        self.fixed(Base::Const, at, ty)
    }

    /// Gives every value that is not in the frame its place, and says how those that can be computed ahead are.
    fn ahead(&mut self) -> (Vec<AheadStep>, u32) {
        let mut ahead = vec![];
        let mut bytes = 0;
        let func = self.func;
        // The plan's order has definitions before uses.
        for b in &self.plan.order {
            for i in &func.block(*b).insts {
                let Some(r) = i.result else { continue };
                let ty = func.ty(r);
                if let (true, Some(place)) =
                    (copies(i, func), i.args.first().and_then(|a| self.place[a.index()]))
                {
                    self.place[r.index()] = Some(place);
                    continue;
                }
                let how = match (i.op, self.plan.invariance[r.index()]) {
                    (Op::Const(bits), _) => {
                        self.place[r.index()] = Some(self.constant(bits, ty));
                        continue;
                    }
                    (Op::Special(special), _) if lane_column(special).is_some() => {
                        self.place[r.index()] = lane_column(special);
                        continue;
                    }
                    (_, Invariance::None | Invariance::Cta) => continue,
                    (Op::Special(s), _) => Ahead::Special(s),
                    (Op::Load(_), _) => match self.const_bits(i.args[0]) {
                        Some(offset) => Ahead::Param { offset: offset as u32, size: ty.bytes() as u32 },
                        None => continue,
                    },
                    (op, _) => {
                        let types: Vec<Type> = i.args.iter().map(|a| func.ty(*a)).collect();
                        let args: Option<SmallVec<[Arg; 3]>> =
                            i.args.iter().map(|a| self.place[a.index()]).collect();
                        match (kernels::select(op, &types, ty, self.level), args) {
                            (Some(selected), Some(args)) => Ahead::Pure(selected, args),
                            _ => continue,
                        }
                    }
                };
                let at = self.fixed(Base::Ahead, bytes, ty);
                ahead.push(AheadStep { how, at });
                self.place[r.index()] = Some(at);
                bytes += (32 * ty.bytes() as u32).next_multiple_of(64);
            }
        }
        (ahead, bytes)
    }

    fn const_bits(&self, v: Value) -> Option<u64> {
        let at = self.place[v.index()].filter(|a| a.base == Base::Const)?;
        self.consts.iter().find(|c| c.2 == at.offset).map(|c| c.0)
    }

    /// A place for what is the same in all lanes.
    fn fixed(&mut self, base: Base, offset: u32, ty: Type) -> Arg {
        Arg { step: 0, ..self.own(base, offset, ty.bytes() as u32) }
    }

    /// A place of its own for so many bytes per lane.
    fn own(&mut self, base: Base, offset: u32, bytes: u32) -> Arg {
        let next = OTHER_PLACES + self.places.len() as u32;
        let place = *self.places.entry((base, offset)).or_insert(next);
        Arg { base, bytes: bytes as u8, offset, step: 32 * bytes, place }
    }

    fn arg(&mut self, v: Value) -> Arg {
        if let Some(place) = self.place[v.index()] {
            return place;
        }
        let offset = self.plan.frame.slot[v.index()].unwrap_or(0);
        self.own(Base::Frame, offset, self.func.ty(v).bytes() as u32)
    }

    /// The operand of a value that some instruction reads or writes.
    fn existing(&mut self, v: Value) -> Option<Arg> {
        let slot = self.plan.frame.slot[v.index()];
        let used = slot.is_some_and(|slot| self.places.contains_key(&(Base::Frame, slot)));
        (used || self.place[v.index()].is_some()).then(|| self.arg(v))
    }

    /// What a lane that waits at the start of a block needs.
    fn needs(&self, b: ir::Block, places: u32) -> Vec<u64> {
        let mut needs = vec![0; places.div_ceil(64) as usize];
        let live = self.plan.live_in.get(b.index()).into_iter().flatten();
        let slots =
            live.filter(|v| self.place[v.index()].is_none()).filter_map(|v| self.plan.frame.slot[v.index()]);
        for place in slots.filter_map(|slot| self.places.get(&(Base::Frame, slot))) {
            needs[*place as usize / 64] |= 1 << (place % 64);
        }
        needs
    }

    fn dst(&mut self, v: Value) -> Dst {
        Dst { at: self.arg(v), free: self.plan.frame.local[v.index()] }
    }

    fn block(&mut self, b: ir::Block) -> CodeBlock {
        let data = self.func.block(b);
        let position = self.plan.position[b.index()];
        if position == u32::MAX {
            return CodeBlock {
                position,
                needs: vec![],
                insts: vec![],
                term: Terminator::Exit,
                term_line: 0,
            };
        }
        let mut insts = Vec::with_capacity(data.insts.len());
        for i in &data.insts {
            self.inst(i, &mut insts);
        }
        let term = match &data.term {
            Term::Jump(t) => Terminator::Jump(self.edge(b, t)),
            Term::Branch(c, yes, no) => Terminator::Branch(self.arg(*c), self.edge(b, yes), self.edge(b, no)),
            Term::Switch(v, targets) => {
                Terminator::Switch(self.arg(*v), targets.iter().map(|t| self.edge(b, t)).collect())
            }
            Term::Exit => Terminator::Exit,
            Term::Trap(kind) => Terminator::Trap(*kind),
            // Linking leaves none.
            Term::Call(_) | Term::Return(_) => Terminator::Trap(TrapKind::BadCall),
            Term::Barrier { kind, id, count, next } => Terminator::Barrier {
                kind: *kind,
                id: self.arg(*id),
                count: count.map(|c| self.arg(c)),
                next: self.edge(b, next),
            },
            Term::WarpSync { mask, next } => {
                Terminator::WarpSync { mask: self.arg(*mask), next: self.edge(b, next) }
            }
        };
        mark_read_once(&mut insts, &term);
        mark_onward(&mut insts, &term);
        CodeBlock { position, needs: vec![], insts, term, term_line: data.term_line }
    }

    fn inst(&mut self, i: &ir::Inst, out: &mut Vec<Inst>) {
        let func = self.func;
        if i.result.is_some_and(|r| self.place[r.index()].is_some()) {
            return; // not computed here
        }
        let types: SmallVec<[Type; 4]> = i.args.iter().map(|a| func.ty(*a)).collect();
        let mut args: SmallVec<[Arg; 3]> = i.args.iter().map(|a| self.arg(*a)).collect();
        let dst = i.result.map(|r| self.dst(r));
        if copies(i, func) && dst.map(|d| d.at) == args.first().copied() {
            return; // the plan gave them one slot
        }
        let guard = i.guard.map(|g| self.arg(g));
        let line = i.line;
        let wide = types.first() == Some(&Type::I64);
        let kind = match i.op {
            Op::Load(mem) => {
                Kind::Load { mem, size: dst.map_or(0, |d| d.at.bytes.into()), wide, once: false }
            }
            Op::Store(mem) => {
                let ty = types[1];
                // Memory holds bits, so this is where a NaN must be the canonical one.
                if let (true, Some(selected)) =
                    (ty.is_float(), kernels::select(Op::ToBits, &[ty], ty.to_int(), self.level))
                {
                    let at = self.own(Base::Scratch, CANONICAL, ty.bytes() as u32);
                    out.push(Inst {
                        kind: Kind::Pure(selected),
                        dst: Some(Dst { at, free: true }),
                        args: SmallVec::from_slice(&[args[1]]),
                        guard: None,
                        onward: false,
                        affine: None,
                        line,
                    });
                    args[1] = at;
                }
                Kind::Store { mem, size: ty.bytes() as u32, wide }
            }
            Op::Atomic(op, mem) => Kind::Atomic { op, mem, elem: types[types.len() - 1].elem, wide },
            Op::Fence(_) => Kind::Fence,
            Op::LaneRead => Kind::LaneRead,
            Op::Ballot => Kind::Ballot,
            Op::ActiveMask => Kind::ActiveMask,
            Op::Special(s) => Kind::Clock(s),
            op => {
                let result = i.result.map_or(Type::I32, |r| func.ty(r));
                match kernels::select(op, &types, result, self.level) {
                    Some(selected) => Kind::Pure(selected),
                    None => unreachable!("{op} is not primitive; the verifier accepts primitive ops only"),
                }
            }
        };
        let affine = i.result.and_then(|r| AffineOp::of(i.op, &types, func.ty(r)));
        out.push(Inst { kind, dst, args, guard, onward: false, affine, line });
    }

    /// Block arguments are handed over all at once; here they are put in an order in which one after the other does.
    fn edge(&mut self, from: ir::Block, t: &ir::Target) -> Edge {
        let params = &self.func.block(t.block).params;
        let mut open: Vec<Copy> = vec![];
        for (p, a) in params.iter().zip(&t.args) {
            let copy = Copy { dst: self.dst(*p), src: self.arg(*a) };
            if copy.dst.at != copy.src {
                open.push(copy);
            }
        }
        let mut copies = vec![];
        let mut scratch = EDGE;
        while !open.is_empty() {
            let reads: HashMap<Arg, usize> = open.iter().fold(HashMap::new(), |mut m, c| {
                *m.entry(c.src).or_default() += 1;
                m
            });
            // Slots are shared by values of one size only, so places that overlap are the same.
            match open.iter().position(|c| !reads.contains_key(&c.dst.at)) {
                Some(i) => copies.push(open.swap_remove(i)),
                None => {
                    // A ring: save what one of them would overwrite.
                    let lost = open[0].dst;
                    let bytes = u32::from(lost.at.bytes);
                    let saved = self.own(Base::Scratch, scratch, bytes);
                    scratch += bytes.next_multiple_of(2);
                    copies.push(Copy { dst: Dst { at: saved, free: true }, src: lost.at });
                    for c in open.iter_mut().filter(|c| c.src == lost.at) {
                        c.src = saved;
                    }
                }
            }
        }
        self.scratch_bytes = self.scratch_bytes.max(scratch);
        Edge { block: t.block.0, back: self.plan.is_back_edge(from, t.block), copies }
    }
}
