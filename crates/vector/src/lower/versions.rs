//! The two versions of a kernel ([`crate::speculate`]): the converged one, and the general one, in which a group goes on where its lanes diverge at a branch that is taken
//! for uniform.
//!
//! Both are lowered one after the other into one kernel, each with variables of its own. On the way from the first to the second (a side exit) what lives on is
//! written to the second's. There is no way back but through the frame: behind a barrier, if all that lives across it lies in the frame alike in both.

use super::{Lower, Unsupported, Version, segments};
use crate::facts::Facts;
use crate::ir::{Extent, General, Kernel, Label, Op, Reg, Status, Term, Var};
use crate::speculate::{self, Speculation};
use hostwarp_ir::{Block, Function, IntBin, Target, Value};
use hostwarp_plan::{Assume, Plan};

/// What the converged version knows of the general one.
#[derive(Clone)]
pub(super) struct Other {
    /// By block: whether its branch is taken for uniform.
    branches: Vec<bool>,
    /// By value.
    extent: Vec<Extent>,
    var: Vec<Option<Var>>,
    /// By block.
    waiting: Vec<Option<Var>>,
    segments: segments::All,
    /// By position.
    after: Vec<Label>,
}

/// Lowers both versions; none if the code is made once.
pub(super) fn lower(
    func: &Function,
    plan: &Plan,
    facts: &Facts,
    assume: Assume,
) -> Result<Option<Kernel>, Unsupported> {
    let Some((converged, branches)) = speculate::find(func, plan, facts, assume) else { return Ok(None) };
    let better = Facts::new(func, &converged, assume, Speculation::On);
    let values = || (0..func.types.len() as u32).map(Value);
    if values().any(|v| facts.extent(v) < better.extent(v)) {
        return Ok(None);
    }
    let alike = |v: Value| {
        let same = facts.extent(v) == better.extent(v);
        same && facts.shape(v) == better.shape(v) && facts.distances(v) == better.distances(v)
    };
    let k = Kernel::new(func, assume.group, &better);
    let mut general = Lower::new(func, plan, facts, assume, k);
    general.version = Version::General(values().map(alike).collect());
    let other = Other {
        extent: values().map(|v| facts.extent(v)).collect(),
        var: general.var.clone(),
        waiting: general.waiting.clone(),
        segments: general.segments.clone(),
        after: general.after.clone(),
        branches: branches.clone(),
    };
    let blocks = vec![false; func.blocks.len()];
    let empty = Kernel { blocks: vec![], vars: vec![], ..Kernel::new(func, assume.group, facts) };
    let mut first = Lower::new(func, &converged, &better, assume, std::mem::replace(&mut general.k, empty));
    first.version = Version::Converged(other);
    first.kernel()?;
    // The general version is entered at places of its own.
    general.k = first.k;
    let entries = std::mem::take(&mut general.k.entries);
    let partial = std::mem::replace(&mut general.k.partial, blocks);
    // What leads there has been checked only if it has been in both.
    for b in plan.order.iter().filter(|b| branches[b.index()]) {
        general.checked_by[b.index()] = first.checked_by[b.index()].take();
    }
    general.kernel()?;
    let others = std::mem::replace(&mut general.k.entries, entries);
    general.k.general = Some(General {
        entries: others.into_iter().filter(|(b, _)| *b != Block::ENTRY).collect(),
        partial: std::mem::replace(&mut general.k.partial, partial),
        shapes: values().map(|v| facts.shape(v)).collect(),
        distances: values().map(|v| facts.distances(v)).collect(),
    });
    general.prune();
    Ok(Some(general.k))
}

impl Lower<'_> {
    /// A branch at the end of a block that is taken for uniform: answers whether it was one.
    pub(super) fn take_for_uniform(&mut self, b: Block, condition: Value, yes: &Target, no: &Target) -> bool {
        match &self.version {
            Version::Converged(other) if other.branches[b.index()] && self.mask.is_none() => {}
            _ => return false,
        }
        if self.facts.is_uniform(condition) {
            return false;
        }
        let (said, started) = (self.wide(condition), self.started());
        let lanes = self.int(IntBin::And, started, said);
        let (some, all) = (self.new_label("some"), self.new_label("all"));
        let (none, mixed) = (self.new_label("none"), self.new_label("mixed"));
        let is_any = self.is_any(lanes);
        self.end_with(Term::Branch { condition: is_any, yes: some, no: none, likely: false });
        self.side(none, |l| l.go_all(b, no));
        self.start(some);
        let is_all = self.is_same(lanes, started);
        self.end_with(Term::Branch { condition: is_all, yes: all, no: mixed, likely: true });
        self.side(all, |l| l.go_all(b, yes));
        self.start(mixed);
        let not = self.not(said);
        let others = self.int(IntBin::And, started, not);
        self.diverge(b, [(yes, lanes), (no, others)]);
        true
    }

    /// Goes on in the general version, with lanes at the two targets of a branch.
    fn diverge(&mut self, b: Block, edges: [(&Target, Reg); 2]) {
        let Version::Converged(other) = &self.version else { return };
        let other = other.clone();
        let read = |l: &mut Self, v: Value, extent: Extent| match extent {
            Extent::Lanes => l.wide(v),
            Extent::Rows => l.rows(v),
            Extent::Group if l.facts.is_narrow(v) || l.is_constant(v) => l.narrow(v),
            Extent::Group => l.narrow_of(v),
        };
        let params = |t: &Target| &self.func.block(t.block).params;
        let mut live: Vec<Value> = vec![];
        for (to, _) in &edges {
            let from = self.plan.live_in[to.block.index()].iter().filter(|v| !params(to).contains(v));
            live.extend(from);
        }
        live.sort_unstable();
        live.dedup();
        // All arguments are read before any parameter is written.
        let mut writes: Vec<(Var, Reg, Option<Reg>)> = vec![];
        for v in &live {
            if let Some(var) = other.var[v.index()] {
                writes.push((var, read(self, *v, other.extent[v.index()]), None));
            }
        }
        let twice = edges[0].0.block == edges[1].0.block;
        for (to, lanes) in &edges {
            let func = self.func;
            for (p, arg) in func.block(to.block).params.iter().zip(&to.args) {
                let Some(var) = other.var[p.index()] else { continue };
                let extent = other.extent[p.index()];
                let value = read(self, *arg, extent);
                // Others may need what it was.
                let some = extent == Extent::Lanes && (twice || live.contains(p));
                writes.push((var, value, some.then_some(*lanes)));
            }
        }
        for (var, value, lanes) in writes {
            match lanes {
                Some(lanes) => self.push(Op::Blend(var), vec![value, lanes]),
                None => self.set(var, value),
            }
        }
        for v in &live {
            let started = self.started();
            self.summarise_for(&other.segments, *v, Some(started));
        }
        for (to, lanes) in &edges {
            let Some(waiting) = other.waiting[to.block.index()] else { continue };
            let mut lanes = *lanes;
            if twice {
                lanes = self.started();
            }
            self.set(waiting, lanes);
        }
        let at = self.plan.position[b.index()] as usize;
        self.end_with(Term::Jump(other.after[at]));
    }

    /// Whether groups whose lanes are all at a block may go on from there in the version that is entered first: what they need lies in the frame alike in both.
    pub(super) fn lies_alike(&self, b: Block) -> bool {
        match &self.version {
            Version::General(alike) => self.plan.live_in[b.index()].iter().all(|v| alike[v.index()]),
            _ => true,
        }
    }

    /// Leaves the group with all lanes at the start of a block, and of its own version what they need there.
    pub(super) fn leave_in_full(&mut self, b: Block, status: Status) {
        self.save(b, None);
        self.push(Op::Status(status), vec![]);
        let started = self.started();
        self.push(Op::Park(b), vec![started]);
        self.end_with(Term::Leave { from: None });
    }

    pub(super) fn is_general(&self) -> bool {
        matches!(self.version, Version::General(_))
    }
}
