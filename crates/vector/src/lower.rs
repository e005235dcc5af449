//! From a planned function to a vector kernel.
//!
//! Blocks in which all lanes of a group are converged have no masks and real branches. All others are walked through in the plan's order, each with the
//! lanes that wait there in a variable, and skipped when there are none; behind the last block of a loop the walk goes back to its header if lanes wait there.

mod control;
mod frame;
mod memory;
mod nans;
mod saved;
mod segments;
mod versions;
mod windows;

use crate::facts::{Facts, is_effect};
use crate::ir::{BlockData, Extent, Inst, Kernel, Label, Offsets, Op, Reg, Term, Ty, Var};
use crate::speculate::Speculation;
use hostwarp_ir::{self as core, Block, Function, IntBin, IntCmp, Type, Value};
use hostwarp_plan::{Assume, Plan};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Why there is no vector code for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// More blocks than this in which lanes may wait, times what they need there, make a way out too long.
const MOST_WAITING: usize = 65536;

/// The most lanes in a group.
pub const MOST_LANES: u32 = 512;

/// Lowers a kernel for groups of as many lanes as `assume` says, a power of two from 8 to 512.
pub fn lower(
    func: &Function,
    plan: &Plan,
    assume: Assume,
    speculation: Speculation,
) -> Result<Kernel, Unsupported> {
    covers(func, plan, assume)?;
    let facts = Facts::new(func, plan, assume, speculation);
    let k = Kernel::new(func, assume.group, &facts);
    if speculation == Speculation::On
        && let Some(k) = versions::lower(func, plan, &facts, assume)?
    {
        return Ok(k);
    }
    let mut lower = Lower::new(func, plan, &facts, assume, k);
    lower.speculation = speculation;
    lower.kernel()?;
    lower.prune();
    Ok(lower.k)
}

/// Why there is none, as far as that can be seen without lowering.
pub fn covers(func: &Function, plan: &Plan, assume: Assume) -> Result<(), Unsupported> {
    let refuse = |why: &str| Err(Unsupported(why.to_owned()));
    let w = assume.group;
    if !w.is_power_of_two() || !(8..=MOST_LANES).contains(&w) {
        return refuse("groups of this many lanes");
    }
    for b in &plan.order {
        let data = func.block(*b);
        let warp_op = |i: &core::Inst| {
            matches!(i.op, core::Op::LaneRead | core::Op::Mma(_) | core::Op::Ballot | core::Op::ActiveMask)
        };
        if w != 32 && data.insts.iter().any(warp_op) {
            return refuse("warp ops in groups that are no warps");
        }
        match &data.term {
            core::Term::WarpSync { .. } if w != 32 => {
                return refuse("warp synchronisation in groups that are no warps");
            }
            core::Term::Call(_) | core::Term::Return(_) => return refuse("calls that were not linked"),
            _ => {}
        }
    }
    Ok(())
}

/// What has been checked: an address, bytes and space, guard; and which accesses at constant distances from there, first and last.
type Checked = FxHashMap<(Value, u32, Option<Value>), (i64, i64)>;

/// What is known of a value in the block being lowered.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The value of all lanes, or of lane 0 where they are at known distances.
    narrow: Option<Reg>,
    /// What the first lane of each row has, where lanes are at known distances from that.
    rows: Option<Reg>,
    wide: Option<Reg>,
}

/// A version of the code.
enum Version {
    /// There is no other.
    Only,
    /// With branches that are taken for uniform; where they are not the group goes on in the general version.
    Converged(versions::Other),
    /// By value, whether it lies in the frame as the converged version has it.
    General(Vec<bool>),
}

struct Lower<'a> {
    func: &'a Function,
    plan: &'a Plan,
    facts: &'a Facts,
    w: u32,
    /// Every group has all of its lanes.
    whole: bool,
    /// A group is all of its CTA.
    cta: bool,
    k: Kernel,
    at: Label,
    /// The op of constants and specials, which are made where they are needed.
    remat: Vec<Option<core::Op>>,
    /// What a pure value is made by.
    maker: Vec<Option<(Block, usize)>>,
    /// Values that somebody uses.
    used: Vec<bool>,
    /// Values that are parameters of the kernel: at which byte.
    parameter: Vec<Option<u32>>,
    /// The variables of values that live from block to block.
    var: Vec<Option<Var>>,
    /// Values that lanes which have left a loop still need while others go round.
    outlives: Vec<bool>,
    known: FxHashMap<Value, Known>,
    /// By block: where it begins, and the lanes that wait there.
    label: Vec<Label>,
    waiting: Vec<Option<Var>>,
    /// Which version of two this is, and what it has to know of the other.
    version: Version,
    /// By position: where the walk looks whether lanes wait, for blocks that they may wait at.
    walk: Vec<Label>,
    /// By position: what comes behind the block in the walk.
    after: Vec<Label>,
    sources: Vec<Vec<Block>>,
    block: Block,
    /// The lanes that run the block; all if none.
    mask: Option<Reg>,
    /// Whether a check that fails may leave the block.
    speculation: Speculation,
    /// Where to leave the block to: none once it has had an effect.
    exit: Option<Label>,
    /// What was checked in the block, or before it.
    checked: Checked,
    /// By block: what has been checked where it ends, for the one it leads to.
    checked_by: Vec<Option<Checked>>,
    windows: windows::Windows,
    /// Of pointers that loops move on.
    segments: segments::All,
    /// Results of f64 arithmetic that may be the wrong NaN.
    unsettled: nans::Unsettled,
    /// Lanes that have exited, and whether some are parked.
    exited: Option<Var>,
    parked: Var,
    /// Whether lanes may wait at a barrier or for their warp while others go on.
    parks: bool,
    end: Label,
    /// By block: the lowest block of the [scope](scopes) it is in.
    scope: Vec<Option<Block>>,
    /// By block, what is in the frame where it begins ([`saved`]), and where it ends.
    saved_at: Vec<saved::Set>,
    /// Where groups are left whose lanes are at several blocks of a scope; of the whole kernel under none.
    suspends: Vec<(Option<Block>, Label)>,
}

impl<'a> Lower<'a> {
    fn new(func: &'a Function, plan: &'a Plan, facts: &'a Facts, assume: Assume, mut k: Kernel) -> Lower<'a> {
        let (len, blocks) = (func.types.len(), func.blocks.len());
        let (mut remat, mut maker) = (vec![None; len], vec![None; len]);
        let (mut has_sync, mut sources) = (false, vec![vec![]; blocks]);
        for b in &plan.order {
            let data = func.block(*b);
            for (n, i) in data.insts.iter().enumerate() {
                let Some(r) = i.result else { continue };
                if plan.remat[r.index()] {
                    remat[r.index()] = Some(i.op);
                }
                if i.op.is_pure() {
                    maker[r.index()] = Some((*b, n));
                }
            }
            has_sync |= matches!(data.term, core::Term::WarpSync { .. });
            for to in data.term.targets() {
                sources[to.block.index()].push(*b);
            }
        }
        let new_var = |k: &mut Kernel, ty: Ty| {
            k.vars.push(ty);
            Var(k.vars.len() as u32 - 1)
        };
        // Both versions have the same.
        let parked = Var(0);
        let exited = has_sync.then_some(Var(1));
        if k.vars.is_empty() {
            new_var(&mut k, Ty::narrow(Type::I1));
            if has_sync {
                new_var(&mut k, Ty::MASK);
            }
        }
        let mut var = vec![None; len];
        for v in plan.order.iter().flat_map(|b| &plan.live_in[b.index()]) {
            let ty = Ty { of: func.ty(*v), extent: facts.extent(*v) };
            if remat[v.index()].is_none() && var[v.index()].is_none() {
                var[v.index()] = Some(new_var(&mut k, ty));
            }
        }
        let mut waiting = vec![None; blocks];
        for b in &plan.order {
            if plan.masked[b.index()] || plan.divergent[b.index()] {
                for to in func.block(*b).term.targets() {
                    let at = &mut waiting[to.block.index()];
                    if at.is_none() {
                        *at = Some(new_var(&mut k, Ty::MASK));
                    }
                }
            }
        }
        for b in &plan.order {
            // Lanes may be put there by whoever comes with all of them.
            if plan.masked[b.index()] && waiting[b.index()].is_none() {
                waiting[b.index()] = Some(new_var(&mut k, Ty::MASK));
            }
        }
        let parameter = parameters(func, plan, &remat);
        let mut lower = Lower {
            func,
            plan,
            facts,
            w: assume.group,
            whole: assume.whole,
            cta: assume.cta.is_some(),
            k,
            at: Label(0),
            remat,
            maker,
            used: used(func, plan),
            parameter,
            var,
            outlives: outlives(func, plan),
            known: FxHashMap::default(),
            label: vec![],
            waiting,
            walk: vec![],
            after: vec![],
            sources,
            block: Block::ENTRY,
            mask: None,
            speculation: Speculation::On,
            exit: None,
            checked: Checked::default(),
            checked_by: vec![None; blocks],
            version: Version::Only,
            windows: windows::Windows::new(func, plan),
            segments: segments::All::default(),
            unsettled: nans::Unsettled::default(),
            exited,
            parked,
            parks: false,
            end: Label(0),
            scope: scopes(func, plan),
            saved_at: vec![],
            suspends: vec![],
        };
        lower.parks = plan.order.iter().any(|b| {
            let waits =
                matches!(func.block(*b).term, core::Term::Barrier { .. } | core::Term::WarpSync { .. });
            waits && plan.masked[b.index()]
        });
        lower.find_segments();
        lower.label = (0..blocks).map(|b| lower.new_label(format!("b{b}"))).collect();
        lower.walk = plan.order.iter().map(|b| lower.new_label(format!("walk.b{}", b.0))).collect();
        lower.after = plan.order.iter().map(|b| lower.new_label(format!("after.b{}", b.0))).collect();
        lower.end = lower.new_label("end");
        lower
    }

    fn new_label(&mut self, name: impl Into<String>) -> Label {
        self.k.blocks.push(BlockData { name: name.into(), insts: vec![], term: Term::Exited });
        Label(self.k.blocks.len() as u32 - 1)
    }

    fn new_var(&mut self, ty: Ty) -> Var {
        self.k.vars.push(ty);
        Var(self.k.vars.len() as u32 - 1)
    }

    /// Goes on with that block.
    fn start(&mut self, label: Label) {
        self.at = label;
    }

    fn end_with(&mut self, term: Term) {
        self.k.blocks[self.at.0 as usize].term = term;
    }

    fn push(&mut self, op: Op, args: Vec<Reg>) {
        self.k.blocks[self.at.0 as usize].insts.push(Inst { op, args, result: None });
    }

    fn inst(&mut self, ty: Ty, op: Op, args: Vec<Reg>) -> Reg {
        self.k.regs.push(ty);
        let r = Reg(self.k.regs.len() as u32 - 1);
        self.k.blocks[self.at.0 as usize].insts.push(Inst { op, args, result: Some(r) });
        r
    }

    // What lowering is written in.

    fn constant(&mut self, ty: Type, bits: u64) -> Reg {
        self.inst(Ty::narrow(ty), Op::Const(bits), vec![])
    }

    fn int(&mut self, op: IntBin, a: Reg, b: Reg) -> Reg {
        self.inst(self.k.ty(a), Op::Core(core::Op::Int(op)), vec![a, b])
    }

    fn not(&mut self, a: Reg) -> Reg {
        self.inst(self.k.ty(a), Op::Core(core::Op::IntUn(core::IntUn::Not)), vec![a])
    }

    fn compare(&mut self, op: IntCmp, a: Reg, b: Reg) -> Reg {
        let ty = Ty { of: Type::I1, ..self.k.ty(a) };
        self.inst(ty, Op::Core(core::Op::Cmp(op)), vec![a, b])
    }

    fn is_any(&mut self, lanes: Reg) -> Reg {
        self.inst(Ty::narrow(Type::I1), Op::Any, vec![lanes])
    }

    fn is_same(&mut self, lanes: Reg, others: Reg) -> Reg {
        self.inst(Ty::narrow(Type::I1), Op::Same, vec![lanes, others])
    }

    fn first_of(&mut self, lanes: Reg) -> Reg {
        self.inst(Ty::narrow(Type::I32), Op::First, vec![lanes])
    }

    fn get(&mut self, var: Var) -> Reg {
        self.inst(self.k.vars[var.0 as usize], Op::Get(var), vec![])
    }

    fn set(&mut self, var: Var, to: Reg) {
        self.push(Op::Set(var), vec![to]);
    }

    fn all_lanes(&mut self) -> Reg {
        self.inst(Ty::MASK, Op::Const(1), vec![])
    }

    fn no_lanes(&mut self) -> Reg {
        self.inst(Ty::MASK, Op::Const(0), vec![])
    }

    /// The lanes the group was started with.
    fn started(&mut self) -> Reg {
        if self.whole {
            return self.all_lanes();
        }
        self.active()
    }

    /// The same of a group that was started in the middle, of which not all lanes need be there.
    fn active(&mut self) -> Reg {
        self.inst(Ty::MASK, Op::Active, vec![])
    }

    /// The lanes that run the block.
    fn running(&mut self) -> Reg {
        match self.mask {
            Some(mask) => mask,
            None => self.started(),
        }
    }

    fn ty(&self, v: Value) -> Type {
        self.func.ty(v)
    }

    /// The value of all lanes, or of lane 0 where they are at known distances.
    fn narrow(&mut self, v: Value) -> Reg {
        if let Some(r) = self.known.get(&v).and_then(|k| k.narrow) {
            return r;
        }
        let r = match (self.remat[v.index()], self.var[v.index()]) {
            (Some(core::Op::Const(bits)), _) => self.constant(self.ty(v), bits),
            (Some(core::Op::Special(s)), _) => self.inst(Ty::narrow(self.ty(v)), Op::Special(s), vec![]),
            (_, Some(var)) => self.get(var),
            // Nobody has defined it: a lane that is not here might have.
            _ => self.constant(self.ty(v), 0),
        };
        self.known.entry(v).or_default().narrow = Some(r);
        r
    }

    /// The value of the first lane of every row, where lanes of a row are at known distances from it.
    fn rows(&mut self, v: Value) -> Reg {
        if let Some(r) = self.known.get(&v).and_then(|k| k.rows) {
            return r;
        }
        let ty = Ty::rows(self.ty(v));
        let r = match (self.remat[v.index()], self.var[v.index()]) {
            (Some(core::Op::Const(bits)), _) => self.inst(ty, Op::Const(bits), vec![]),
            (Some(core::Op::Special(_)), _) if let Some(offsets) = self.facts.in_row(v).cloned() => {
                let each = self.wide(v);
                self.inst(ty, Op::Origins(offsets), vec![each])
            }
            _ if self.facts.is_narrow(v) => {
                let row = self.k.row as usize;
                let first = self.narrow(v);
                match self.facts.get(v).from_first() {
                    Some(o) if o.iter().step_by(row).any(|o| *o != 0) => {
                        let origins = o.iter().step_by(row).copied().collect();
                        self.inst(ty, Op::Spread(origins), vec![first])
                    }
                    _ => self.inst(ty, Op::Splat, vec![first]),
                }
            }
            (_, Some(var)) => self.get(var),
            _ => self.inst(ty, Op::Const(0), vec![]),
        };
        self.known.entry(v).or_default().rows = Some(r);
        r
    }

    /// The value of every lane.
    fn wide(&mut self, v: Value) -> Reg {
        if let Some(r) = self.known.get(&v).and_then(|k| k.wide) {
            return r;
        }
        let ty = Ty::wide(self.ty(v));
        let r = match (self.remat[v.index()], self.var[v.index()]) {
            (Some(core::Op::Const(bits)), _) => self.inst(ty, Op::Const(bits), vec![]),
            (Some(core::Op::Special(s)), _) if !self.facts.is_narrow(v) => {
                self.inst(ty, Op::SpecialLanes(s), vec![])
            }
            _ if self.facts.is_narrow(v) => {
                let known = self.facts.get(v).values(self.w, ty.of.elem);
                match (known, self.facts.get(v).from_first()) {
                    (Some(values), Some(_)) => {
                        let each = values.into_iter().map(|v| v as i64).collect();
                        self.inst(ty, Op::Each(each), vec![])
                    }
                    (_, offsets) => {
                        let first = self.narrow(v);
                        match offsets {
                            Some(o) if o.iter().any(|o| *o != 0) => {
                                self.inst(ty, Op::Spread(o.into()), vec![first])
                            }
                            _ => self.inst(ty, Op::Splat, vec![first]),
                        }
                    }
                }
            }
            _ if let Some(offsets) = self.facts.in_row(v).cloned() => {
                let rows = self.rows(v);
                self.inst(ty, Op::Widen(offsets), vec![rows])
            }
            (_, Some(var)) => self.get(var),
            _ => self.inst(ty, Op::Const(0), vec![]),
        };
        self.known.entry(v).or_default().wide = Some(r);
        r
    }

    /// Records what a value is, and keeps it if it lives on.
    fn define(&mut self, v: Value, known: Known) {
        // The first time lanes come here nothing has computed it.
        debug_assert!(!self.saved_at(self.block).contains(v), "{v} is in the frame where it is defined");
        self.known.insert(v, known);
        self.summarise(v);
        let Some(var) = self.var[v.index()] else { return };
        match self.facts.extent(v) {
            Extent::Group => {
                let r = self.narrow(v);
                return self.set(var, r);
            }
            Extent::Rows => {
                let r = self.rows(v);
                return self.set(var, r);
            }
            Extent::Lanes => {}
        }
        let r = self.wide(v);
        match self.mask.filter(|_| self.outlives[v.index()]) {
            Some(mask) => self.push(Op::Blend(var), vec![r, mask]),
            None => self.set(var, r),
        }
    }

    /// Records a result that every lane has its own of.
    fn define_wide(&mut self, v: Value, wide: Reg) {
        let mut known = Known { wide: Some(wide), ..Known::default() };
        if let Some(offsets) = self.facts.in_row(v).cloned() {
            known.rows = Some(self.origins(v, wide, offsets));
        } else if self.facts.is_narrow(v) {
            // What one running lane has says it all.
            let running = self.running();
            let first = self.first_of(running);
            known.narrow = Some(self.lane_0_from(v, wide, first));
        }
        self.define(v, known);
    }

    /// What the first lane of each row has, or would have, where those that run have what `wide` says.
    fn origins(&mut self, v: Value, wide: Reg, offsets: Offsets) -> Reg {
        let args = [wide].into_iter().chain(self.acting()).collect();
        self.inst(Ty::rows(self.ty(v)), Op::Origins(offsets), args)
    }

    /// What lane 0 has where lane `first` has what `wide` says.
    fn lane_0_from(&mut self, v: Value, wide: Reg, first: Reg) -> Reg {
        let ty = self.ty(v);
        let there = self.inst(Ty::narrow(ty), Op::Extract, vec![wide, first]);
        self.step_back(v, there, first)
    }

    /// What lane 0 has where lane `first` has this.
    fn step_back(&mut self, v: Value, there: Reg, first: Reg) -> Reg {
        let ty = self.ty(v);
        match self.facts.get(v).from_first() {
            Some(offsets) if offsets.iter().any(|o| *o != 0) => {
                let each = self.inst(Ty::wide(ty), Op::Each(offsets.into()), vec![]);
                let offset = self.inst(Ty::narrow(ty), Op::Extract, vec![each, first]);
                self.int(IntBin::Sub, there, offset)
            }
            _ => there,
        }
    }

    fn define_narrow(&mut self, v: Value, narrow: Reg) {
        if self.facts.is_narrow(v) {
            return self.define(v, Known::narrow(narrow));
        }
        if self.facts.extent(v) == Extent::Rows {
            let rows = self.inst(Ty::rows(self.ty(v)), Op::Splat, vec![narrow]);
            return self.define(v, Known { rows: Some(rows), ..Known::default() });
        }
        let wide = self.inst(Ty::wide(self.ty(v)), Op::Splat, vec![narrow]);
        self.define(v, Known { wide: Some(wide), ..Known::default() });
    }

    fn lower_inst(&mut self, index: usize, i: &core::Inst) -> Result<(), Unsupported> {
        self.settle_for(i);
        if self.take_as_is(i) {
            return Ok(());
        }
        match i.op {
            core::Op::Load(mem) => self.load(index, i, mem),
            core::Op::Store(mem) => self.store(index, i, mem),
            core::Op::Atomic(op, mem) => self.atomic(index, i, op, mem),
            core::Op::Fence(scope) => self.push(Op::Fence(scope), vec![]),
            core::Op::LaneRead | core::Op::Ballot | core::Op::ActiveMask => self.warp_op(i),
            core::Op::Special(s) if !i.op.is_pure() => {
                let Some(r) = i.result else { return Ok(()) };
                let now = self.inst(Ty::narrow(self.ty(r)), Op::Clock(s), vec![]);
                self.define_narrow(r, now);
            }
            _ => self.pure(i),
        }
        if is_effect(&i.op) {
            self.exit = None;
        }
        Ok(())
    }

    fn pure(&mut self, i: &core::Inst) {
        let Some(r) = i.result.filter(|r| self.remat[r.index()].is_none()) else { return };
        let up_to =
            |l: &Self, most: Extent| i.args.iter().all(|a| l.facts.extent(*a) <= most || l.is_constant(*a));
        if self.facts.extent(r) == Extent::Rows && up_to(self, Extent::Rows) {
            if self.facts.wraps[r.index()] {
                return self.extend_rows(i, r);
            }
            let args = i.args.iter().map(|a| self.rows(*a)).collect();
            let rows = self.inst(Ty::rows(self.ty(r)), Op::Core(i.op), args);
            return self.define(r, Known { rows: Some(rows), ..Known::default() });
        }
        if let Some(values) = self.facts.get(r).values(self.w, self.ty(r).elem) {
            return self.define_known(r, values);
        }
        let narrow_args = up_to(self, Extent::Group);
        if !self.facts.is_narrow(r) || !narrow_args {
            let args = i.args.iter().map(|a| self.wide(*a)).collect();
            let wide = self.inst(Ty::wide(self.ty(r)), Op::Core(i.op), args);
            return self.define_wide(r, wide);
        }
        if self.facts.wraps[r.index()] && !self.facts.is_uniform(r) {
            return self.extend(i, r);
        }
        let args = i.args.iter().map(|a| self.narrow(*a)).collect();
        let narrow = self.inst(Ty::narrow(self.ty(r)), Op::Core(i.op), args);
        self.define(r, Known::narrow(narrow));
    }

    /// Records a result that is known of every lane.
    fn define_known(&mut self, r: Value, values: Vec<u64>) {
        let narrow = self.constant(self.ty(r), values[0]);
        let mut known = Known::narrow(narrow);
        if !self.facts.is_uniform(r) {
            let each = values.into_iter().map(|v| v as i64).collect();
            known.wide = Some(self.inst(Ty::wide(self.ty(r)), Op::Each(each), vec![]));
        }
        self.define(r, known);
    }

    fn is_constant(&self, v: Value) -> bool {
        matches!(self.remat[v.index()], Some(core::Op::Const(_)))
    }

    /// An extension that is even only if nothing wraps between the lanes that run.
    fn extend(&mut self, i: &core::Inst, r: Value) {
        let (arg, to) = (i.args[0], self.ty(r));
        let from = self.ty(arg);
        let first = self.narrow(arg);
        let extend = Op::Core(i.op);
        let wide_0 = self.inst(Ty::narrow(to), extend.clone(), vec![first]);
        let offsets = self.facts.get(r).from_first().unwrap_or_default();
        let (low, high) = offsets.iter().fold((0, 0), |(l, h): (i64, i64), o| (l.min(*o), h.max(*o)));
        let mut fine = None;
        for o in [low, high].into_iter().filter(|o| *o != 0) {
            let (near, far) = (self.constant(from, o as u64), self.constant(to, o as u64));
            let there = self.int(IntBin::Add, first, near);
            let there = self.inst(Ty::narrow(to), extend.clone(), vec![there]);
            let straight = self.int(IntBin::Add, wide_0, far);
            let same = self.compare(IntCmp::Eq, there, straight);
            fine = Some(fine.map_or(same, |fine| self.int(IntBin::And, fine, same)));
        }
        let (Some(fine), Some(exit)) = (fine, self.exit) else {
            return self.define(r, Known::narrow(wide_0));
        };
        let mask = match self.mask {
            Some(mask) => mask,
            None if self.whole => {
                self.push(Op::Test(exit), vec![fine]);
                return self.define(r, Known::narrow(wide_0));
            }
            None => self.started(),
        };
        // Lanes that do not run may have wrapped: then what lane 0 would have is told by one that runs.
        let result = self.new_var(Ty::narrow(to));
        self.set(result, wide_0);
        let (on, part) = (self.new_label("even"), self.new_label("part"));
        self.end_with(Term::Branch { condition: fine, yes: on, no: part, likely: true });
        self.start(part);
        let known = self.known.clone();
        let near = self.wide(arg);
        let each = self.inst(Ty::wide(to), extend, vec![near]);
        let lowest = self.first_of(mask);
        let base = self.lane_0_from(r, each, lowest);
        let straight = self.inst(Ty::wide(to), Op::Spread(offsets.into()), vec![base]);
        let same = self.compare(IntCmp::Eq, each, straight);
        let absent = self.not(mask);
        let same = self.int(IntBin::Or, same, absent);
        let all = self.all_lanes();
        let fine = self.is_same(same, all);
        self.push(Op::Test(exit), vec![fine]);
        self.set(result, base);
        self.end_with(Term::Jump(on));
        self.start(on);
        self.known = known;
        let base = self.get(result);
        self.define(r, Known::narrow(base));
    }

    /// The same of rows, each of which is even by itself.
    fn extend_rows(&mut self, i: &core::Inst, r: Value) {
        let (arg, to) = (i.args[0], self.ty(r));
        let offsets = self.facts.in_row(r).cloned().unwrap_or_default();
        let rows = match self.acting() {
            Some(_) => {
                let near = self.wide(arg);
                let each = self.inst(Ty::wide(to), Op::Core(i.op), vec![near]);
                self.origins(r, each, offsets.clone())
            }
            None => {
                let near = self.rows(arg);
                self.inst(Ty::rows(to), Op::Core(i.op), vec![near])
            }
        };
        if let Some(exit) = self.exit {
            let near = self.wide(arg);
            let each = self.inst(Ty::wide(to), Op::Core(i.op), vec![near]);
            let straight = self.inst(Ty::wide(to), Op::Widen(offsets), vec![rows]);
            let mut same = self.compare(IntCmp::Eq, each, straight);
            if let Some(mask) = self.acting() {
                let absent = self.not(mask);
                same = self.int(IntBin::Or, same, absent);
            }
            let all = self.all_lanes();
            let fine = self.is_same(same, all);
            self.push(Op::Test(exit), vec![fine]);
        }
        self.define(r, Known { rows: Some(rows), ..Known::default() });
    }

    fn warp_op(&mut self, i: &core::Inst) {
        let Some(r) = i.result else { return };
        match i.op {
            core::Op::ActiveMask if let Some(all) = self.facts.get(r).value => {
                self.define_known(r, vec![all]);
            }
            core::Op::ActiveMask => {
                let lanes = self.running();
                let number = self.inst(Ty::narrow(Type::I32), Op::Ballot, vec![lanes]);
                self.define_narrow(r, number);
            }
            core::Op::Ballot => {
                let mut said = self.wide(i.args[0]);
                if let Some(mask) = self.acting() {
                    said = self.int(IntBin::And, said, mask);
                }
                let number = self.inst(Ty::narrow(Type::I32), Op::Ballot, vec![said]);
                self.define_narrow(r, number);
            }
            _ => {
                let (value, lane) = (i.args[0], i.args[1]);
                if self.facts.is_uniform(value) {
                    let same = self.narrow(value);
                    return self.define_narrow(r, same);
                }
                let (own, ty) = (self.wide(value), Ty::wide(self.ty(r)));
                let from = self.facts.get(lane).values(self.w, core::Elem::I32);
                let acting = self.acting();
                let read = match (from, acting) {
                    (Some(from), None) => {
                        let from: Arc<[u32]> = from.into_iter().map(|l| l as u32 & 31).collect();
                        self.inst(ty, Op::Permute(from), vec![own])
                    }
                    (_, mask) => {
                        let lane = self.wide(lane);
                        let args = [own, lane].into_iter().chain(mask).collect();
                        self.inst(ty, Op::LaneRead, args)
                    }
                };
                self.define_wide(r, read);
            }
        }
    }

    /// The lanes that take part in what the block does; none if all of the group do.
    fn acting(&mut self) -> Option<Reg> {
        match self.mask {
            Some(mask) => Some(mask),
            None if self.whole => None,
            None => Some(self.started()),
        }
    }

    /// Whether a value can be computed anew from what never changes while a CTA runs, in a few ops.
    fn is_cheap(&self, v: Value, depth: u32) -> bool {
        if self.remat[v.index()].is_some() {
            return true;
        }
        if self.parameter[v.index()].is_some() {
            return self.facts.is_narrow(v);
        }
        let Some((b, n)) = self.maker[v.index()] else { return false };
        let i = &self.func.block(b).insts[n];
        depth > 0
            && self.facts.is_narrow(v)
            && !self.facts.wraps[v.index()]
            && i.args.iter().all(|a| self.facts.is_narrow(*a) && self.is_cheap(*a, depth - 1))
    }

    /// Computes such a value.
    fn recompute(&mut self, v: Value) -> Reg {
        if let Some(r) = self.known.get(&v).and_then(|k| k.narrow) {
            return r;
        }
        let ty = Ty::narrow(self.ty(v));
        let r = match (self.remat[v.index()], self.parameter[v.index()], self.maker[v.index()]) {
            (None, Some(at), _) => self.inst(ty, Op::Param(at), vec![]),
            (None, None, Some((b, n))) => {
                let i = &self.func.block(b).insts[n];
                let args = i.args.iter().map(|a| self.recompute(*a)).collect();
                self.inst(ty, Op::Core(i.op), args)
            }
            _ => return self.narrow(v),
        };
        self.known.entry(v).or_default().narrow = Some(r);
        r
    }
}

impl Known {
    fn narrow(r: Reg) -> Known {
        Known { narrow: Some(r), ..Known::default() }
    }
}

impl Kernel {
    fn new(func: &Function, width: u32, facts: &Facts) -> Kernel {
        let values = || (0..func.types.len() as u32).map(Value);
        Kernel {
            name: func.name.clone(),
            width,
            row: facts.row,
            regs: vec![],
            vars: vec![],
            blocks: vec![],
            entries: vec![],
            partial: vec![false; func.blocks.len()],
            sites: vec![],
            windows: vec![],
            shapes: values().map(|v| facts.shape(v)).collect(),
            distances: values().map(|v| facts.distances(v)).collect(),
            general: None,
        }
    }
}

fn used(func: &Function, plan: &Plan) -> Vec<bool> {
    let mut used = vec![false; func.types.len()];
    for data in plan.order.iter().map(|b| func.block(*b)) {
        let insts = data.insts.iter().flat_map(|i| i.guard.iter().chain(&i.args));
        insts.for_each(|v| used[v.index()] = true);
        data.term.uses().iter().for_each(|v| used[v.index()] = true);
        data.term.targets().iter().flat_map(|t| &t.args).for_each(|v| used[v.index()] = true);
    }
    used
}

/// Loads of parameters that are certainly there, by value: from which byte.
fn parameters(func: &Function, plan: &Plan, remat: &[Option<core::Op>]) -> Vec<Option<u32>> {
    let mut parameter = vec![None; func.types.len()];
    for i in plan.order.iter().flat_map(|b| &func.block(*b).insts) {
        let (core::Op::Load(mem), Some(r), None) = (i.op, i.result, i.guard) else { continue };
        let Some(core::Op::Const(at)) = remat[i.args[0].index()] else { continue };
        let (size, end) = (func.ty(r).bytes() as u64, u64::from(func.info.param_bytes));
        if mem.space == core::Space::Param && at % size == 0 && at.saturating_add(size) <= end {
            parameter[r.index()] = Some(at as u32);
        }
    }
    parameter
}

/// Values of loops that lanes leave at different times and need outside.
fn outlives(func: &Function, plan: &Plan) -> Vec<bool> {
    let len = func.types.len();
    let mut range: Vec<Option<(u32, u32)>> = vec![None; len];
    for b in &plan.order {
        let at = plan.position[b.index()];
        for v in &plan.live_in[b.index()] {
            let (lo, hi) = range[v.index()].unwrap_or((at, at));
            range[v.index()] = Some((lo.min(at), hi.max(at)));
        }
    }
    let mut outlives = vec![false; len];
    for l in plan.loops.iter().filter(|l| l.divergent_exit) {
        for b in &l.blocks {
            let data = func.block(*b);
            for v in data.params.iter().copied().chain(data.insts.iter().filter_map(|i| i.result)) {
                if range[v.index()].is_some_and(|(lo, hi)| lo < l.first || hi > l.last) {
                    outlives[v.index()] = true;
                }
            }
        }
    }
    outlives
}

/// Scopes of divergence: blocks that lanes of a group can be at, or wait at, at the same time. Where a block is run by all lanes none waits anywhere, so
/// scopes are what blocks run by some lanes are connected to by edges.
fn scopes(func: &Function, plan: &Plan) -> Vec<Option<Block>> {
    let mut parent: Vec<usize> = (0..func.blocks.len()).collect();
    fn find(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for b in &plan.order {
        let mut together: Vec<usize> = vec![];
        if plan.masked[b.index()] || plan.divergent[b.index()] {
            together.push(b.index());
        }
        if !together.is_empty() {
            together.extend(
                func.block(*b).term.targets().iter().map(|t| t.block.index()).filter(|t| plan.masked[*t]),
            );
        }
        // A block that all lanes come to, and part at, is in the scope that begins there.
        for pair in together.windows(2) {
            let (a, b) = (find(&mut parent, pair[0]), find(&mut parent, pair[1]));
            parent[a.max(b)] = a.min(b);
        }
    }
    (0..func.blocks.len()).map(|b| Some(Block(find(&mut parent, b) as u32))).collect()
}
