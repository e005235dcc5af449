//! From a primitive function and its plan to LLVM IR text.
//!
//! One LLVM function per kernel runs groups of `W` lanes, one after the other, and if asked to goes on with the next round after a barrier
//! and with the next CTA (`groups::next_group`). It holds every block twice:
//!
//! - `u<b>`, for when all lanes of the group are there together: real branches, no masks;
//! - `m<b>`, for part of them: blocks are gone through in the plan's order, each with the set of lanes that are to run it, and
//!   skipped when there are none. Lanes that go back to a loop's header wait there until the last block of the loop is done, so
//!   lanes inside a loop are always in the same iteration; that is what makes the plan's shapes hold.
//!
//! Most kernels never need the second. So there is a first edition of a kernel without it ([`Paths::Together`]): where lanes would
//! come apart, where a check fails or a value is not as evenly spaced as the plan hopes, it hands the group over to the interpreter.
//! And there is one with `m<b>` only for blocks that lanes can come to after they have parted ([`Paths::Parting`]); for others it does as the first.
//! What follows is about the full edition.
//!
//! Code goes from `u` to `m` where lanes split, and back where all are together again. `u` also leaves to `m` when the check of a
//! memory op fails and the block has done nothing yet that anybody could see: `m` runs it from its start, and knows how to ask
//! the engine.
//!
//! A value that is the same in all lanes is a scalar; one that is evenly spaced is the scalar of lane 0, from which the vector is
//! made where needed; all others are flat vectors ([`text::Shape`]). A group of a block that is less wide than it consists of
//! several rows ([`hostwarp_plan::Assume::rows`]): what is evenly spaced is then a scalar for each row, that of its first lane. Values that live from block to block are kept in allocas,
//! which LLVM turns into registers.

mod ahead;
pub(crate) mod atomic;
mod bounds;
mod by_lane;
mod check;
mod control;
mod dot;
mod frame;
mod groups;
mod held;
mod in_step;
mod memory;
mod mma;
#[cfg(all(test, target_arch = "x86_64"))]
mod mma_test;
pub(crate) mod ops;
#[cfg(all(test, target_arch = "x86_64"))]
mod ops_test;
mod parts;
mod paths;
mod read_back;
mod special;
mod stops;
mod stretch;
pub(crate) mod text;
mod turns;
mod warp;
pub(crate) mod wide;
mod x86;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Block, Elem, Function, Inst, IntBin, IntUn, Op, Term, Type, Value};
use hostwarp_plan::{Assume, Plan, Shape as Spread};

use crate::abi::Ctx;
use crate::lanes;
use crate::target::Target;
use ops::Cpu;
pub use paths::Paths;
use paths::{may_wrap_here, wraps_unseen};
use text::{Reg, Shape, Text};

/// The text of a kernel and what the engine must know of it.
pub(crate) struct Emitted {
    pub(crate) text: String,
    /// Memory ops that the code may ask the engine to do, by the number it uses for them: block and index of the instruction.
    pub(crate) sites: Vec<(Block, usize)>,
    /// By block, whether the code can go on at its start.
    pub(crate) stops: Vec<bool>,
    /// By block, whether part of the lanes can.
    pub(crate) masked: Vec<bool>,
}

/// Why a kernel is left to the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// The most bytes of stack that compiled code may take, half of what a thread has: whoever runs code that takes more ends the process.
pub(crate) const MOST_STACK: u64 = 1 << 20;

/// Writes the LLVM IR of `func` for groups of as many lanes as `assume` says: as many as the plan does, or
/// [fewer](Assume::in_groups_of).
pub(crate) fn emit(
    func: &Function,
    plan: &Plan,
    assume: Assume,
    target: &Target,
    paths: Paths,
) -> Result<Emitted, Unsupported> {
    check(func, plan)?;
    let mut emitter = Emitter::new(func, plan, assume, Cpu::new(target), paths);
    let by_turn = !emitter.turns.is_empty();
    match emitter.kernel() {
        // As it stands, then.
        Err(_) if by_turn => {
            emitter = Emitter::new(func, plan, assume, Cpu::new(target), paths);
            emitter.turns.clear();
            emitter.kernel()?;
        }
        written => written?,
    }
    Ok(emitter.finish())
}

/// Says why a kernel is left to the interpreter, as far as that can be seen without writing it.
pub(crate) fn check(func: &Function, plan: &Plan) -> Result<(), Unsupported> {
    memory::check(func)?;
    let w = plan.assume.group;
    let refuse = |why: &str| Err(Unsupported(why.to_owned()));
    if !w.is_power_of_two() || !(8..=lanes::MOST).contains(&w) {
        return refuse("groups of this many lanes");
    }
    // What is alive at once lies on the stack, all or nearly all of it; LLVM takes minutes to find out.
    if u64::from(plan.frame.bytes) * u64::from(w) > MOST_STACK {
        return refuse("too much is kept at once, which a smaller width may help");
    }
    let mut constant = vec![false; func.types.len()];
    for b in &plan.order {
        let data = func.block(*b);
        for i in &data.insts {
            if w != 32 && matches!(i.op, Op::LaneRead | Op::Mma(_) | Op::Ballot | Op::ActiveMask) {
                return refuse("warp ops in groups that are no warps");
            }
            if let (Op::Const(_), Some(r)) = (&i.op, i.result) {
                constant[r.index()] = true;
            }
        }
        match &data.term {
            Term::WarpSync { .. } if w != 32 => {
                return refuse("warp synchronisation in groups that are no warps");
            }
            Term::Barrier { id, count, .. } => {
                let varies = |v: &Value| plan.shape[v.index()] != Spread::Uniform && !constant[v.index()];
                if varies(id) || count.as_ref().is_some_and(varies) {
                    return refuse("barriers that differ between the lanes of a warp");
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is known of a value in the block being written.
#[derive(Clone, Default)]
struct Known {
    /// The value of all lanes; if it is evenly spaced that of each row's first lane. Empty if not known.
    bases: Vec<Reg>,
    vector: Option<Reg>,
    /// For what [may wrap](Emitter::wraps): whether it is evenly spaced after all.
    even: Option<Reg>,
}

struct Emitter<'a> {
    func: &'a Function,
    plan: &'a Plan,
    assume: Assume,
    cpu: Cpu,
    paths: Paths,
    /// Lanes in a group.
    w: u32,
    /// Rows of a group.
    rows: u32,
    t: Text,
    /// What goes to the start of the function: allocas, and what is the same for the whole call.
    entry: String,
    /// What is made where a group begins: what is the same as long as it runs.
    group_entry: String,
    once: BTreeMap<String, Reg>,
    /// The op that makes a value again wherever it is needed.
    remade: Vec<Option<Op>>,
    /// Values that something is made of.
    used: Vec<bool>,
    /// Values that live from block to block.
    crosses: Vec<bool>,
    /// Values that are evenly spaced only if something did not wrap.
    wraps: Vec<bool>,
    /// The block and the instruction that make a value, if one does.
    maker: Vec<Option<(Block, usize)>>,
    /// Values that lanes which have left a loop still need while others go round.
    outlives_loop: Vec<bool>,
    /// Values written to the frame [where they are defined](Emitter::find_early).
    early: Vec<bool>,
    /// What is known [of each lane](by_lane): in every group, and as far as the block being written has got.
    by_lane: Vec<Option<by_lane::Lanes>>,
    by_lane_here: HashMap<Value, by_lane::Lanes>,
    known: HashMap<Value, Known>,
    block: Block,
    /// The lanes running the block being written, where not all are.
    mask: Option<Reg>,
    /// Where to go when a check fails: the block is run again, with care. None once it has changed something.
    careful: Option<String>,
    /// How many [windows](Emitter::fresh_window) there are.
    windows: u32,
    /// Parameters of loops whose rows move on [in step](in_step).
    in_step: HashMap<Value, in_step::Windows>,
    /// What is read back from [stores that are left out](read_back).
    read_back: read_back::ReadBack,
    /// How many loads there are [from each parameter](Emitter::count_readers), once somebody has asked.
    readers: Option<HashMap<u64, u32>>,
    /// Accesses of the block being written that are checked together.
    joint_checks: Vec<check::JointCheck>,
    /// The comparison that ends the block being written, if [only that](Emitter::find_lazy_compare) needs it.
    lazy_compare: Option<Value>,
    sites: Vec<(Block, usize)>,
    /// Functions called by the kernel: name and text.
    helpers: BTreeMap<String, String>,
    has_warp_sync: bool,
    /// [Where](Emitter::find_stops) the code can go on.
    stops: Vec<bool>,
    /// [Where](Paths::masked) there is code for part of the lanes. Elsewhere it is handed over what takes more than code for all.
    masked: Vec<bool>,
    /// Whether there are so [many](control) masks that they are kept in memory.
    many_masks: bool,
    /// By block, where each edge to it comes from.
    sources: Vec<Vec<Block>>,
    /// By block, the [part](parts) that some of its lanes go to.
    parts: Vec<Option<parts::Part>>,
    /// Loops that are written [turn by turn](turns), by header, and the turn that is being written.
    turns: HashMap<Block, turns::Turns>,
    turn: Option<turns::Turn>,
    /// What [is held](held) of shared memory in the turns being written, if it is; floats that loads have read of it; and which lane a piece begins with.
    holding: Option<Vec<held::Row>>,
    held_floats: HashMap<Value, Reg>,
    piece_from: u64,
    /// What groups that stop together [write down](Emitter::savers), for each of the ways there are.
    savers: HashMap<Vec<Value>, usize>,
}

impl<'a> Emitter<'a> {
    /// For a kernel that has been [checked](check).
    fn new(func: &'a Function, plan: &'a Plan, assume: Assume, cpu: Cpu, paths: Paths) -> Emitter<'a> {
        let len = func.types.len();
        let mut remade = vec![None; len];
        let mut has_warp_sync = false;
        let (mut maker, mut used) = (vec![None; len], vec![false; len]);
        for b in &plan.order {
            let data = func.block(*b);
            for (n, i) in data.insts.iter().enumerate() {
                if let Some(r) = i.result {
                    maker[r.index()] = Some((*b, n));
                }
                if let Some(r) = i.result.filter(|r| plan.remat[r.index()]) {
                    remade[r.index()] = Some(i.op);
                }
            }
            has_warp_sync |= matches!(data.term, Term::WarpSync { .. });
            let by_insts = data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard));
            let handed = data.term.targets().into_iter().flat_map(|t| &t.args);
            for v in by_insts.chain(handed).copied().chain(data.term.uses()) {
                used[v.index()] = true;
            }
        }
        let mut crosses = vec![false; len];
        let mut range: Vec<Option<(u32, u32)>> = vec![None; len];
        for b in &plan.order {
            let at = plan.position[b.index()];
            for v in &plan.live_in[b.index()] {
                crosses[v.index()] = true;
                let (lo, hi) = range[v.index()].unwrap_or((at, at));
                range[v.index()] = Some((lo.min(at), hi.max(at)));
            }
        }
        let wraps = match paths {
            Paths::Parting | Paths::All | Paths::Vector => {
                plan.shape.iter().map(|s| matches!(s, Spread::Affine { may_wrap: true, .. })).collect()
            }
            Paths::Together => wraps_unseen(func, plan),
        };
        let mut emitter = Emitter {
            func,
            plan,
            assume,
            cpu,
            paths,
            w: assume.group,
            rows: assume.rows,
            t: Text::new(cpu.avx512),
            entry: String::new(),
            group_entry: String::new(),
            once: BTreeMap::new(),
            remade,
            used,
            crosses,
            wraps,
            maker,
            outlives_loop: vec![false; len],
            early: vec![false; len],
            by_lane: by_lane::find(func, plan, assume),
            by_lane_here: HashMap::new(),
            known: HashMap::new(),
            block: Block::ENTRY,
            mask: None,
            careful: None,
            windows: 0,
            in_step: HashMap::new(),
            read_back: Default::default(),
            readers: None,
            joint_checks: vec![],
            lazy_compare: None,
            sites: vec![],
            helpers: BTreeMap::new(),
            has_warp_sync,
            stops: vec![],
            masked: vec![],
            many_masks: false,
            sources: vec![vec![]; func.blocks.len()],
            parts: vec![],
            turns: HashMap::new(),
            turn: None,
            holding: None,
            held_floats: HashMap::new(),
            piece_from: 0,
            savers: HashMap::new(),
        };
        emitter.parts = parts::find(func, plan, &emitter.wraps);
        emitter.masked = paths.masked(func, plan, &emitter.parts);
        emitter.stops = emitter.find_stops();
        emitter.in_step = emitter.find_in_step();
        emitter.read_back = emitter.find_read_back();
        emitter.turns = emitter.find_turns();
        emitter.find_outliving(&range);
        if paths == Paths::Together {
            emitter.early = emitter.find_early();
        }
        for v in (0..len).filter(|v| emitter.by_lane[*v].is_some()) {
            // Written out where it is needed.
            (emitter.crosses[v], emitter.early[v], emitter.wraps[v]) = (false, false, false);
        }
        emitter
    }

    /// A value defined in a loop that lanes leave at different times must be kept for those that have left, if they need it.
    fn find_outliving(&mut self, range: &[Option<(u32, u32)>]) {
        for l in &self.plan.loops {
            if !l.divergent_exit {
                continue;
            }
            for b in &l.blocks {
                let data = self.func.block(*b);
                for v in data.params.iter().copied().chain(data.insts.iter().filter_map(|i| i.result)) {
                    if range[v.index()].is_some_and(|(lo, hi)| lo < l.first || hi > l.last) {
                        self.outlives_loop[v.index()] = true;
                    }
                }
            }
        }
    }

    /// The whole module.
    fn finish(self) -> Emitted {
        let mut text = String::new();
        let lane0 = match self.assume.cta {
            // LLVM has no other way to give a number a name.
            Some(_) => "or i32 0, 0",
            None => "load i32, ptr %lane0.slot, align 8",
        };
        for helper in self.helpers.values() {
            text.push_str(helper);
        }
        let _ = write!(
            text,
            "define i32 @kernel(ptr noalias %ctx, ptr noalias %frame, i32 %lane0.first, i32 %resume.first, i32 %whole.first) nounwind {{
entry:
  %windows = alloca [{} x i64], align 8
  %windows.seen = getelementptr i8, ptr %ctx, i64 {}
  store ptr %windows, ptr %windows.seen, align 8
{}  br label %group
group:
  %lane0 = {lane0}
  %resume = load i32, ptr %resume.slot, align 8
{}{}}}
",
            2 * self.windows,
            offset_of!(Ctx, windows),
            self.entry,
            self.group_entry,
            self.t.body
        );
        for declaration in &self.t.declarations {
            let _ = writeln!(text, "{declaration}");
        }
        text.push_str("!0 = !{!\"branch_weights\", i32 2000, i32 1}\n!1 = !{}\n");
        Emitted { text, sites: self.sites, stops: self.stops, masked: self.masked }
    }

    fn spread(&self, v: Value) -> Spread {
        if self.w == 1 {
            return Spread::Uniform;
        }
        match self.remade[v.index()] {
            Some(Op::Const(_)) => Spread::Uniform,
            _ => self.plan.shape[v.index()],
        }
    }

    fn ty(&self, v: Value) -> Type {
        self.func.ty(v)
    }

    /// The shape of one lane's value.
    fn one(&self, ty: Type) -> Shape {
        Shape::new(ty.elem, u32::from(ty.count))
    }

    /// The shape of the values of all lanes.
    fn all(&self, ty: Type) -> Shape {
        Shape::new(ty.elem, self.w * u32::from(ty.count))
    }

    /// A mask with one element per lane.
    fn lanes(&self) -> Shape {
        Shape::new(Elem::I1, self.w)
    }

    /// A mask as an integer, lane 0 in the lowest bit.
    fn bits(&mut self, mask: &str) -> Reg {
        let (w, lanes) = (self.w, self.lanes());
        self.t.inst(format_args!("bitcast {lanes} {mask} to i{w}"))
    }

    /// A number of lanes as 64 bits.
    fn wide_bits(&mut self, bits: &str) -> Reg {
        let w = self.w;
        match w {
            64 => bits.to_owned(),
            65.. => self.t.inst(format_args!("trunc i{w} {bits} to i64")),
            _ => self.t.inst(format_args!("zext i{w} {bits} to i64")),
        }
    }

    /// Lanes as callbacks take them: a place that holds them.
    fn handed(&mut self, bits: &str) -> String {
        let w = self.w;
        // Those that a group does not have are never set.
        self.t.line(format_args!("store i{w} {bits}, ptr %lanes.out, align 8"));
        "ptr %lanes.out".into()
    }

    /// The lanes that take part, as callbacks take them.
    fn handed_of(&mut self, mask: Option<&str>) -> String {
        let bits = match mask {
            None => "-1".to_owned(),
            Some(mask) => self.bits(mask),
        };
        self.handed(&bits)
    }

    /// The lanes running this block, as callbacks take them.
    fn running(&mut self) -> String {
        let mask = self.mask.clone();
        self.handed_of(mask.as_deref())
    }

    /// Lanes from memory, as many bits as the group has lanes.
    fn load_lanes_at(&mut self, at: &str) -> Reg {
        let w = self.w;
        if w >= 64 {
            return self.t.inst(format_args!("load i{w}, ptr {at}, align 8"));
        }
        let word = self.t.inst(format_args!("load i64, ptr {at}, align 8"));
        self.t.inst(format_args!("trunc i64 {word} to i{w}"))
    }

    /// The lanes that the group was started with, where not all of it was.
    fn active(&mut self) -> Reg {
        let offset = offset_of!(Ctx, active);
        let at = self.once("active.at", |_| format!("getelementptr i8, ptr %ctx, i64 {offset}"));
        self.load_lanes_at(&at)
    }

    /// Something that is the same for the whole call, made at the start of the function.
    fn once(&mut self, name: &str, inst: impl FnOnce(&mut Self) -> String) -> Reg {
        self.make_once(name, inst, |e| &mut e.entry)
    }

    /// Something that is the same for a group, made where it begins.
    fn per_group(&mut self, name: &str, inst: impl FnOnce(&mut Self) -> String) -> Reg {
        self.make_once(name, inst, |e| &mut e.group_entry)
    }

    fn make_once(
        &mut self,
        name: &str,
        inst: impl FnOnce(&mut Self) -> String,
        place: impl FnOnce(&mut Self) -> &mut String,
    ) -> Reg {
        if let Some(reg) = self.once.get(name) {
            return reg.clone();
        }
        let inst = inst(self);
        let reg = format!("%{name}");
        let _ = writeln!(place(self), "  {reg} = {inst}");
        self.once.insert(name.to_owned(), reg.clone());
        reg
    }

    /// A field of the context that does not change during the call.
    fn field(&mut self, name: &str, ty: &str, offset: usize) -> Reg {
        let at = self.once(&format!("{name}.at"), |_| format!("getelementptr i8, ptr %ctx, i64 {offset}"));
        self.once(name, |_| format!("load {ty}, ptr {at}, align 4, !invariant.load !1"))
    }

    /// A callback, about to be called: it looks for the CTA's number in the context. The code itself keeps it elsewhere, for reading back what was
    /// written for the CTA before would hold up every address, and even writing it costs a stream a few percent.
    fn callback(&mut self, name: &str, offset: usize) -> Reg {
        let index = self.t.inst(format_args!("load i32, ptr %ctaid.x, align 8"));
        self.t.line(format_args!("store i32 {index}, ptr %out.ctaid.x, align 4"));
        self.field(&format!("call.{name}"), "ptr", offset_of!(Ctx, callbacks) + offset)
    }

    /// The first lane of the group, as 64 bits.
    fn lane(&mut self) -> Reg {
        self.per_group("lane", |_| "zext i32 %lane0 to i64".into())
    }

    /// Lanes in a row.
    fn row(&self) -> u32 {
        self.w / self.rows
    }

    /// `base + lane * stride` for every lane, counted within its row.
    fn spread_out(&mut self, ty: Type, bases: &[Reg], stride: i64) -> Reg {
        let row = self.row();
        let one = self.one(ty);
        if self.w == 1 {
            return bases[0].clone();
        }
        let steps = |rows: u32| {
            let lanes = (0..rows).flat_map(|_| 0..i64::from(row));
            Text::list(ty.elem, lanes.map(|lane| lane.wrapping_mul(stride) as u64))
        };
        let same = bases.iter().all(|base| *base == bases[0]);
        let (count, rows) = if same { (1, self.rows) } else { (bases.len(), 1) };
        if stride == 0 && one.n == 1 && count > 1 {
            // All rows in one vector, and each repeated: short for LLVM to read, and it sees through it.
            let each = one.times(count as u32);
            let mut gathered = "poison".to_owned();
            for (n, base) in bases.iter().enumerate() {
                gathered =
                    self.t.inst(format_args!("insertelement {each} {gathered}, {one} {base}, i64 {n}"));
            }
            return self.t.shuffle(each, &gathered, "poison", (0..self.w).map(|lane| lane / row));
        }
        let mut parts = vec![];
        for base in &bases[..count] {
            let all = self.t.repeat(one, base, row * rows);
            parts.push(match stride {
                0 => all,
                _ => self.t.binary("add", one.times(row * rows), &all, &steps(rows)),
            });
        }
        let part = one.times(one.n * row * rows);
        self.t.concat(part, &parts)
    }

    /// The bits of a constant.
    fn constant(&self, v: Value) -> Option<u64> {
        match self.remade[v.index()] {
            Some(Op::Const(bits)) => Some(bits),
            _ => self.turn.as_ref().and_then(|turn| turn.known.get(&v).copied()),
        }
    }

    /// The value all lanes have, or lane 0 of an evenly spaced value.
    fn scalar(&mut self, v: Value) -> Reg {
        self.bases(v).swap_remove(0)
    }

    /// The value all lanes have, or that of each row's first lane if it is evenly spaced; of what is neither, the first running lane's.
    fn bases(&mut self, v: Value) -> Vec<Reg> {
        let one = self.one(self.ty(v));
        if let Some(bits) = self.constant(v) {
            return vec![Text::constant(one, bits)];
        }
        if let Some(known) = self.known.get(&v).filter(|k| !k.bases.is_empty()) {
            return known.bases.clone();
        }
        if self.is_by_lane(v)
            && self.spread(v) != Spread::Varying
            && let Some(lanes) = &self.by_lane[v.index()]
        {
            let first = lanes.chunks(self.row() as usize).map(|row| Text::constant(one, row[0]));
            return first.take(self.homes(v).len()).collect();
        }
        let bases = match (self.remade[v.index()], self.spread(v)) {
            (Some(Op::Special(special)), Spread::Affine { by_row: true, .. }) => self.special_rows(special),
            (Some(Op::Special(special)), _) => vec![self.special(special)],
            (_, Spread::Varying) => vec![self.first_running(v)],
            _ if self.in_step.contains_key(&v) => {
                let (first, apart) = (self.first_in_step(v), self.apart(v));
                self.rows_after(&first, &apart)
            }
            _ => {
                let homes = self.homes(v);
                let load = |home| self.t.inst(format_args!("load {one}, ptr {home}, align 8"));
                homes.into_iter().map(load).collect()
            }
        };
        self.known.entry(v).or_default().bases = bases.clone();
        bases
    }

    /// Where the bases of a value live.
    fn homes(&self, v: Value) -> Vec<String> {
        match self.spread(v) {
            Spread::Affine { by_row: true, .. } => {
                (0..self.rows).map(|row| format!("%s{}.{row}", v.0)).collect()
            }
            _ => vec![format!("%s{}", v.0)],
        }
    }

    /// The values of all lanes.
    fn vector(&mut self, v: Value) -> Reg {
        let ty = self.ty(v);
        let (one, all) = (self.one(ty), self.all(ty));
        if let Some(bits) = self.constant(v) {
            return Text::constant(all, bits);
        }
        if let (true, Some(lanes)) = (self.is_by_lane(v), &self.by_lane[v.index()]) {
            return Text::list(ty.elem, lanes.iter().copied());
        }
        if let Some(reg) = self.known.get(&v).and_then(|k| k.vector.clone()) {
            return reg;
        }
        let reg = match self.spread(v) {
            Spread::Uniform => {
                let scalar = self.scalar(v);
                self.t.repeat(one, &scalar, self.w)
            }
            Spread::Affine { stride, .. } if !self.wraps[v.index()] => {
                let bases = self.bases(v);
                self.spread_out(ty, &bases, stride)
            }
            Spread::Affine { stride, .. } => self.exact_vector(v, stride),
            Spread::Varying => match self.remade[v.index()] {
                Some(Op::Special(special)) => self.special_vector(special),
                _ => {
                    let kept = self.t.inst(format_args!("load {all}, ptr %v{}, align 8", v.0));
                    if self.is_logic(v) {
                        self.t.is_logic(&kept);
                    }
                    kept
                }
            },
        };
        self.known.entry(v).or_default().vector = Some(reg.clone());
        reg
    }

    /// The values of all lanes of one that may wrap. Made only where needed, in cold code: from its arguments where it is defined
    /// in this block, else from what was kept for the case that it did wrap.
    fn exact_vector(&mut self, v: Value, stride: i64) -> Reg {
        let func = self.func;
        let here = self.maker[v.index()].filter(|(b, _)| *b == self.block);
        if let Some(inst) = here.and_then(|(b, n)| func.block(b).insts.get(n))
            && let Ok(vector) = self.pure_vector(inst, v)
        {
            return vector;
        }
        let (one, all) = (Shape::new(Elem::I1, 1), self.all(self.ty(v)));
        let (bases, even) = (self.bases(v), self.even(v).unwrap_or_else(|| "true".into()));
        let straight = self.spread_out(self.ty(v), &bases, stride);
        let kept = self.t.inst(format_args!("load {all}, ptr %v{}, align 8", v.0));
        self.t.select(one, &even, all, &straight, &kept)
    }

    /// Whether a value that may wrap is evenly spaced; none if it always is.
    fn even(&mut self, v: Value) -> Option<Reg> {
        if !self.wraps[v.index()] {
            return None;
        }
        if let Some(reg) = self.known.get(&v).and_then(|k| k.even.clone()) {
            return Some(reg);
        }
        let reg = self.t.inst(format_args!("load i1, ptr %e{}, align 1", v.0));
        self.known.entry(v).or_default().even = Some(reg.clone());
        Some(reg)
    }

    /// The value in the lowest lane that runs this block.
    fn first_running(&mut self, v: Value) -> Reg {
        let vector = self.vector(v);
        let first = match self.mask.clone() {
            None => "0".to_owned(),
            Some(mask) => {
                let bits = self.bits(&mask);
                self.count_zeros("cttz", &bits)
            }
        };
        self.lane_of(self.ty(v), &vector, &first)
    }

    /// One lane of a vector.
    fn lane_of(&mut self, ty: Type, vector: &str, lane: &str) -> Reg {
        let (one, all) = (self.one(ty), self.all(ty));
        if one.n == 1 {
            return self.t.inst(format_args!("extractelement {all} {vector}, i64 {lane}"));
        }
        let mut packed = "poison".to_owned();
        for i in 0..one.n {
            let at = self.t.inst(format_args!("mul i64 {lane}, {}", one.n));
            let at = self.t.inst(format_args!("add i64 {at}, {i}"));
            let element = self.t.inst(format_args!("extractelement {all} {vector}, i64 {at}"));
            let elem = one.times(1);
            packed = self.t.inst(format_args!("insertelement {one} {packed}, {elem} {element}, i64 {i}"));
        }
        packed
    }

    /// `cttz` or `ctlz` of lanes as bits, as 64 bits; the width for none.
    fn count_zeros(&mut self, which: &str, bits: &str) -> Reg {
        let w = self.w;
        self.t.declarations.insert(format!("declare i{w} @llvm.{which}.i{w}(i{w}, i1)"));
        let count = self.t.inst(format_args!("call i{w} @llvm.{which}.i{w}(i{w} {bits}, i1 false)"));
        self.wide_bits(&count)
    }

    /// Records a result, and keeps it if other blocks need it. What is missing for its shape is made from what is there.
    fn define(&mut self, v: Value, known: Known) {
        self.known.insert(v, known);
        if !self.crosses[v.index()] {
            return;
        }
        let keep = self.mask.clone().filter(|_| self.outlives_loop[v.index()]);
        self.keep(v, v, keep.as_deref());
        if self.early[v.index()] {
            self.store_brief(v);
        }
    }

    /// Stores the value `from` where `to` lives, both of one type: into all lanes, or those in `lanes` only.
    fn keep(&mut self, to: Value, from: Value, lanes: Option<&str>) {
        let known = self.read(to, from);
        self.write(to, &known, lanes);
    }

    /// What of `from` is needed to write it to where `to` lives.
    fn read(&mut self, to: Value, from: Value) -> Known {
        let mut known = Known::default();
        let spread = self.spread(to);
        if spread != Spread::Varying {
            known.bases = self.bases(from);
        }
        if spread == Spread::Varying {
            known.vector = Some(self.vector(from));
        }
        if self.wraps[to.index()] {
            let even = self.even(from).unwrap_or_else(|| "true".into());
            // The vector is kept only if it is not what the scalar says: elsewhere nobody looks at it.
            let all = self.all(self.ty(to));
            let (odd, on) = (self.t.fresh_label("wrapped"), self.t.fresh_label("on"));
            let before = self.t.current.clone();
            self.t.branch_likely(&even, &on, &odd);
            self.t.label(&odd);
            let outside = self.known.clone();
            let vector = self.vector(from);
            self.known = outside;
            let after = self.t.current.clone();
            self.t.jump(&on);
            self.t.label(&on);
            known.vector = Some(self.t.phi(all, [("poison", &before), (&vector, &after)]));
            known.even = Some(even);
        }
        known
    }

    fn write(&mut self, to: Value, known: &Known, lanes: Option<&str>) {
        let ty = self.ty(to);
        let (one, all) = (self.one(ty), self.all(ty));
        if self.is_by_lane(to) {
            return;
        }
        if self.in_step.contains_key(&to) {
            return self.fall_in_step(to, &known.bases);
        }
        if let Some(last) = known.bases.last() {
            // One for all rows, if it is the same in all lanes.
            let bases = known.bases.iter().chain(std::iter::repeat(last));
            for (home, base) in self.homes(to).iter().zip(bases) {
                self.t.line(format_args!("store {one} {base}, ptr {home}, align 8"));
            }
        }
        if let Some(vector) = &known.vector {
            let kept = match lanes {
                None => vector.clone(),
                Some(lanes) => {
                    let old = self.t.inst(format_args!("load {all}, ptr %v{}, align 8", to.0));
                    ops::select(&mut self.t, ty, (lanes, Type::I1), vector, &old, self.w)
                }
            };
            self.t.line(format_args!("store {all} {kept}, ptr %v{}, align 8", to.0));
        }
        if let Some(even) = &known.even {
            self.t.line(format_args!("store i1 {even}, ptr %e{}, align 1", to.0));
        }
    }

    /// Allocas for the values that cross blocks.
    fn allocas(&mut self) {
        for v in (0..self.func.types.len() as u32).map(Value) {
            if !self.crosses[v.index()] || self.remade[v.index()].is_some() {
                continue;
            }
            let ty = self.ty(v);
            let (one, all) = (self.one(ty), self.all(ty));
            let varying = self.spread(v) == Spread::Varying;
            if !varying {
                // How far rows in step are apart is kept elsewhere.
                let few = if self.in_step.contains_key(&v) { 1 } else { usize::MAX };
                for home in self.homes(v).into_iter().take(few) {
                    let _ = writeln!(self.entry, "  {home} = alloca {one}, align 8");
                }
            }
            if varying || self.wraps[v.index()] {
                let _ = writeln!(self.entry, "  %v{} = alloca {all}, align 64", v.0);
                // What is blended must be something from the start: a lane that LLVM calls undefined is not one value.
                let _ = writeln!(self.group_entry, "  store {all} zeroinitializer, ptr %v{}, align 8", v.0);
            }
            if self.wraps[v.index()] {
                let _ = writeln!(self.entry, "  %e{} = alloca i1, align 1", v.0);
            }
        }
    }

    /// An instruction.
    fn inst(&mut self, index: usize, inst: &Inst) -> Result<(), Unsupported> {
        match inst.op {
            Op::Load(mem) => self.load(index, inst, mem),
            Op::Store(mem) => self.store(index, inst, mem),
            Op::Atomic(..) => self.atomic(index, inst),
            Op::Fence(scope) => self.fence(scope),
            Op::LaneRead | Op::Ballot | Op::ActiveMask => self.warp_op(inst),
            Op::Special(special) if !inst.op.is_pure() => self.clock(inst, special),
            _ => return self.pure(inst),
        }
        if is_seen(&inst.op) {
            self.careful = None;
        }
        Ok(())
    }

    /// Whether a value is made by logic on bits.
    fn is_logic(&self, v: Value) -> bool {
        let maker = self.maker[v.index()].map(|(b, n)| self.func.block(b).insts[n].op);
        matches!(maker, Some(Op::Int(IntBin::And | IntBin::Or | IntBin::Xor) | Op::IntUn(IntUn::Not)))
    }

    fn pure(&mut self, inst: &Inst) -> Result<(), Unsupported> {
        let Some(r) = inst.result else { return Ok(()) };
        if self.remade[r.index()].is_some() || self.lazy_compare == Some(r) {
            return Ok(()); // made where it is used
        }
        if self.is_by_lane(r) {
            return Ok(());
        }
        if let Some(vector) = self.known_result(inst, r) {
            self.define(r, Known { vector: Some(vector), ..Known::default() });
            return Ok(());
        }
        let mut known = Known::default();
        if inst.op == Op::FromBits
            && let Some(floats) = self.held_floats.get(&inst.args[0]).cloned()
        {
            match self.w {
                1 => known.bases = vec![floats],
                _ => known.vector = Some(floats),
            }
            self.define(r, known);
            return Ok(());
        }
        let scalar_args = inst.args.iter().all(|a| self.spread(*a) != Spread::Varying);
        match self.spread(r) {
            Spread::Uniform if scalar_args => known.bases = self.pure_bases(inst, r)?,
            Spread::Affine { .. } if scalar_args => {
                known.bases = self.pure_bases(inst, r)?;
                if self.wraps[r.index()] {
                    known.even = Some(self.stays_even(inst, r));
                } else if let (true, Some(careful)) = (may_wrap_here(inst, self.plan), self.careful.clone()) {
                    let even = self.stays_even(inst, r);
                    let on = self.t.fresh_label("even");
                    self.t.branch_likely(&even, &on, &careful);
                    self.t.label(&on);
                }
            }
            spread => {
                let vector = self.pure_vector(inst, r)?;
                known.vector = Some(vector.clone());
                if spread != Spread::Varying {
                    // Even although not all arguments are: what one lane has says it all.
                    self.known.insert(r, known.clone());
                    known.bases = self.bases_of(r, spread);
                    known.even = self.wraps[r.index()].then(|| "false".into());
                }
            }
        }
        self.define(r, known);
        Ok(())
    }

    /// The bases of a value that is the same in all lanes, or evenly spaced, of which only the vector is known: the first lanes may not
    /// be running.
    fn bases_of(&mut self, v: Value, spread: Spread) -> Vec<Reg> {
        let one = self.one(self.ty(v));
        let Spread::Affine { stride, by_row, .. } = spread else { return vec![self.first_running(v)] };
        let rows = if by_row { self.rows } else { 1 };
        let Some(mask) = self.mask.clone() else {
            let vector = self.vector(v);
            return (0..rows)
                .map(|row| self.lane_of(self.ty(v), &vector, &(row * self.row()).to_string()))
                .collect();
        };
        let bits = self.bits(&mask);
        let vector = self.vector(v);
        let mut bases = vec![];
        for row in 0..rows {
            let first = if by_row { self.first_of_row(&bits, row) } else { self.count_zeros("cttz", &bits) };
            let running = self.lane_of(self.ty(v), &vector, &first);
            bases.push(self.step_back(one, &running, &first, stride));
        }
        bases
    }

    /// The lowest lane of a row that is in `bits`, or one of the row if there is none, as 64 bits.
    fn first_of_row(&mut self, bits: &str, row: u32) -> Reg {
        let (w, lanes) = (self.w, self.row());
        let before = row * lanes;
        let here = match before {
            0 => bits.to_owned(),
            _ => self.t.inst(format_args!("lshr i{w} {bits}, {before}")),
        };
        let first = self.count_zeros("cttz", &here);
        let first = self.t.inst(format_args!("and i64 {first}, {}", lanes - 1));
        self.t.inst(format_args!("add i64 {first}, {before}"))
    }

    /// What the first lane of a row has where `lane` has this.
    fn step_back(&mut self, one: Shape, value: &str, lane: &str, stride: i64) -> Reg {
        if stride == 0 {
            return value.to_owned();
        }
        let passed = self.t.inst(format_args!("and i64 {lane}, {}", self.row() - 1));
        let passed = self.t.convert("trunc", Shape::new(Elem::I64, 1), &passed, one);
        let passed =
            self.t.binary("mul", one, &passed, &Text::constant(one, stride as u64 & one.elem.mask()));
        self.t.binary("sub", one, value, &passed)
    }

    /// The result of an op that is the same in all lanes or evenly spaced, as its arguments are.
    fn pure_bases(&mut self, inst: &Inst, r: Value) -> Result<Vec<Reg>, Unsupported> {
        let args: Vec<Vec<Reg>> = inst.args.iter().map(|a| self.bases(*a)).collect();
        let rows = self.homes(r).len();
        // What depends on no row's own base is made once.
        let mut made: Vec<(Vec<&str>, Reg)> = vec![];
        let mut bases = vec![];
        for row in 0..rows {
            let here: Vec<&str> = args.iter().map(|a| a.get(row).unwrap_or(&a[0]).as_str()).collect();
            if let Some((_, reg)) = made.iter().find(|(args, _)| *args == here) {
                bases.push(reg.clone());
                continue;
            }
            let reg = self.pure_op(inst, r, &here, 1)?;
            bases.push(reg.clone());
            made.push((here, reg));
        }
        Ok(bases)
    }

    /// The result of an op in all lanes.
    fn pure_vector(&mut self, inst: &Inst, r: Value) -> Result<Reg, Unsupported> {
        if let Some(lanes) = self.equals_in_one_lane(inst) {
            return Ok(lanes);
        }
        let args: Vec<Reg> = inst.args.iter().map(|a| self.vector(*a)).collect();
        let args: Vec<&str> = args.iter().map(|a| a.as_str()).collect();
        let from = self.all(self.ty(r)).with(Elem::F32);
        let floats = inst.op == Op::ToBits && self.ty(inst.args[0]).elem == Elem::F32;
        if floats && self.cpu.avx512 && self.mask.is_none() && from.n >= 4 * ops::LIKELY_PART {
            return Ok(ops::to_bits_likely_numbers(&mut self.t, from, args[0]));
        }
        self.pure_op(inst, r, &args, self.w)
    }

    fn pure_op(&mut self, inst: &Inst, r: Value, args: &[&str], lanes: u32) -> Result<Reg, Unsupported> {
        let args: Vec<(&str, Type)> =
            args.iter().zip(&inst.args).map(|(reg, a)| (*reg, self.ty(*a))).collect();
        let ty = self.ty(r);
        ops::pure_op(&mut self.t, self.cpu, &inst.op, ty, &args, lanes)
            .ok_or_else(|| Unsupported(format!("{:?} on this CPU", inst.op)))
    }

    /// Whether the result of an op that may wrap is evenly spaced: its arguments are, and an extension has not wrapped between
    /// the first lane and the last.
    fn stays_even(&mut self, inst: &Inst, r: Value) -> Reg {
        let mut all: Option<Reg> = None;
        for a in &inst.args {
            if let Some(even) = self.even(*a) {
                all = Some(match all {
                    None => even,
                    Some(all) => self.t.inst(format_args!("and i1 {all}, {even}")),
                });
            }
        }
        let extends = matches!(inst.op, Op::Zext | Op::Sext);
        if let (true, Spread::Affine { stride, .. }) = (extends, self.spread(r)) {
            let narrow = self.one(self.ty(inst.args[0]));
            let wide = self.one(self.ty(r));
            let name = if inst.op == Op::Zext { "zext" } else { "sext" };
            let mut bases = self.bases(r_arg(inst));
            bases.dedup();
            for first in bases {
                let first = self.t.convert(name, narrow, &first, wide);
                let whole = stride.wrapping_mul(i64::from(self.row()) - 1);
                let last = self.t.binary(
                    "add",
                    wide,
                    &first,
                    &Text::constant(wide, whole as u64 & wide.elem.mask()),
                );
                let cut = self.t.convert("trunc", wide, &last, narrow);
                let back = self.t.convert(name, narrow, &cut, wide);
                let fits = self.t.compare("icmp eq", wide, &back, &last);
                all = Some(match all {
                    None => fits,
                    Some(all) => self.t.inst(format_args!("and i1 {all}, {fits}")),
                });
            }
        }
        all.unwrap_or_else(|| "true".into())
    }

    /// Records a result that was computed once for all lanes.
    fn define_scalar(&mut self, r: Value, scalar: Reg) {
        let mut known = Known { bases: vec![scalar.clone()], ..Known::default() };
        if self.spread(r) == Spread::Varying {
            let one = self.one(self.ty(r));
            known = Known { vector: Some(self.t.repeat(one, &scalar, self.w)), ..Known::default() };
        }
        self.define(r, known);
    }
}

/// Whether others can tell that an op was run: then its block cannot be run again.
fn is_seen(op: &Op) -> bool {
    match op {
        Op::Load(mem) => mem.order != hostwarp_ir::Order::Weak,
        op => op.has_effect(),
    }
}

/// What makes 64 bits of the number of a lane, `%lane.w`, of as many bits as there are lanes.
fn lane_number(w: u32) -> String {
    match w {
        64 => "add i64 %lane.w, 0".into(),
        65.. => format!("trunc i{w} %lane.w to i64"),
        _ => format!("zext i{w} %lane.w to i64"),
    }
}

/// The one argument of a conversion.
fn r_arg(inst: &Inst) -> Value {
    inst.args[0]
}
