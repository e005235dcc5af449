//! Blocks, branches, masks and where lanes wait.

use super::saved::{self, Set};
use super::{Lower, MOST_WAITING, Unsupported};
use crate::dce;
use crate::ir::{Extent, Label, Op, Reg, Status, Term, Ty};
use crate::speculate::Speculation;
use hostwarp_ir::{self as core, BarrierKind, Block, IntBin, IntCmp, Target, Type, Value};

/// An edge that some lanes take.
type Edge = (Target, Reg);

impl Lower<'_> {
    pub(super) fn kernel(&mut self) -> Result<(), Unsupported> {
        let needed: usize = self
            .plan
            .order
            .iter()
            .filter(|b| self.waiting[b.index()].is_some())
            .map(|b| self.plan.live_in[b.index()].len() + 1)
            .sum();
        if needed > MOST_WAITING {
            return Err(Unsupported("lanes may wait in too many places".into()));
        }
        let meets = self.meets();
        for b in self.starts() {
            self.k.partial[b.index()] = !self.whole || self.plan.masked[b.index()] && !meets[b.index()];
            self.entry(b);
        }
        let starts: Vec<(Block, bool)> =
            self.k.entries.iter().map(|(b, _)| (*b, self.k.partial[b.index()])).collect();
        self.saved_at = match self.is_general() {
            // Groups come from the other version, too.
            true => vec![Set::default(); self.func.blocks.len()],
            false => saved::find(self.func, self.plan, &starts, !self.cta, |v| self.facts.is_narrow(v)),
        };
        let mut exits = vec![];
        for at in 0..self.plan.order.len() {
            let b = self.plan.order[at];
            self.block(b, &mut exits)?;
            self.walk_to(at);
            self.after(at);
        }
        self.at_end();
        for (b, label, mask) in exits {
            self.leave_block(b, label, mask);
        }
        for (scope, label) in std::mem::take(&mut self.suspends) {
            self.suspend(scope, label);
        }
        Ok(())
    }

    /// By block, whether one that has no mask can be reached: whoever comes there comes with all lanes of a whole group.
    fn meets(&self) -> Vec<bool> {
        let mut meets: Vec<bool> = self.plan.masked.iter().map(|masked| !masked).collect();
        let mut work: Vec<Block> = self.plan.order.iter().copied().filter(|b| meets[b.index()]).collect();
        while let Some(b) = work.pop() {
            for from in &self.sources[b.index()] {
                if !std::mem::replace(&mut meets[from.index()], true) {
                    work.push(*from);
                }
            }
        }
        meets
    }

    /// The blocks at whose start code can be entered.
    fn starts(&self) -> Vec<Block> {
        let mut starts = vec![Block::ENTRY];
        for b in &self.plan.order {
            if let core::Term::Barrier { kind: BarrierKind::Sync, next, .. } = &self.func.block(*b).term {
                starts.push(next.block);
            }
        }
        starts.extend(self.plan.loops.iter().filter(|l| l.depth == 1).map(|l| l.header));
        let mut seen = vec![];
        starts.retain(|b| {
            !seen.contains(b) && {
                seen.push(*b);
                true
            }
        });
        starts
    }

    fn entry(&mut self, b: Block) {
        let label = self.new_label(format!("in.b{}", b.0));
        self.k.entries.push((b, label));
        self.start(label);
        self.known.clear();
        self.mask = None;
        if b != Block::ENTRY {
            self.restore(b);
        }
        self.enter_all(b);
    }

    /// All lanes the group was started with go to the start of a block.
    fn enter_all(&mut self, b: Block) {
        if let Some(waiting) = self.waiting[b.index()].filter(|_| self.plan.masked[b.index()]) {
            // Of a group that was started in the middle not all lanes need be there.
            let started = match self.whole && !self.is_partial(b) {
                true => self.all_lanes(),
                false => self.active(),
            };
            self.set(waiting, started);
        }
        self.end_with(Term::Jump(self.label[b.index()]));
    }

    /// What is in the frame where a block begins.
    pub(super) fn saved_at(&self, b: Block) -> &Set {
        &self.saved_at[b.index()]
    }

    fn is_start(&self, b: Block) -> bool {
        self.k.entries.iter().any(|(e, _)| *e == b)
    }

    fn is_partial(&self, b: Block) -> bool {
        self.is_start(b) && self.k.partial[b.index()]
    }

    fn block(&mut self, b: Block, exits: &mut Vec<(Block, Label, Option<Reg>)>) -> Result<(), Unsupported> {
        self.start(self.label[b.index()]);
        self.known.clear();
        self.block = b;
        self.mask = None;
        // Whoever comes here has come through the only block that leads here, with no other lanes.
        self.checked = match self.sources[b.index()][..] {
            [from] if !self.plan.is_back_edge(from, b) && !self.is_start(b) => {
                self.checked_by[from.index()].clone().unwrap_or_default()
            }
            _ => Default::default(),
        };
        if let Some(waiting) = self.waiting[b.index()].filter(|_| self.plan.masked[b.index()]) {
            let mask = self.get(waiting);
            let none = self.no_lanes();
            self.set(waiting, none);
            self.mask = Some(mask);
        }
        for p in &self.func.block(b).params {
            self.summarise(*p);
        }
        let exit = self.new_label(format!("exit.b{}", b.0));
        self.exit = (self.speculation == Speculation::On).then_some(exit);
        exits.push((b, exit, self.mask));
        let data = self.func.block(b);
        for (index, i) in data.insts.iter().enumerate() {
            self.lower_inst(index, i)?;
        }
        self.settle();
        // In either version.
        let mut checked = std::mem::take(&mut self.checked);
        if let Some(others) = &self.checked_by[b.index()] {
            checked.retain(|key, (first, last)| {
                let Some((low, high)) = others.get(key) else { return false };
                (*first, *last) = ((*first).max(*low), (*last).min(*high));
                first <= last
            });
        }
        self.checked_by[b.index()] = Some(checked);
        match self.mask {
            None => self.end_together(b, &data.term),
            Some(mask) => self.end_masked(b, &data.term, mask),
        }
        Ok(())
    }

    /// Lowers one side of a branch: what is made in it is not known in the other.
    pub(super) fn side(&mut self, label: Label, lower: impl FnOnce(&mut Self)) {
        let known = self.known.clone();
        self.start(label);
        lower(self);
        self.known = known;
    }

    /// The end of a block that all lanes run.
    fn end_together(&mut self, b: Block, term: &core::Term) {
        match term {
            core::Term::Jump(to) => self.go_all(b, to),
            _ if let Some(to) = term.only() => self.go_all(b, to),
            core::Term::Branch(c, yes, no) if self.take_for_uniform(b, *c, yes, no) => {}
            core::Term::Branch(c, yes, no) if !self.plan.divergent[b.index()] => {
                let condition = self.narrow_of(*c);
                let (then, other) = (self.new_label("then"), self.new_label("else"));
                self.end_with(Term::Branch { condition, yes: then, no: other, likely: false });
                self.side(then, |l| l.go_all(b, yes));
                self.side(other, |l| l.go_all(b, no));
            }
            core::Term::Switch(v, targets) if !self.plan.divergent[b.index()] => {
                let v = self.narrow_of(*v);
                let labels: Vec<Label> = targets.iter().map(|_| self.new_label("case")).collect();
                self.end_with(Term::Switch(v, labels.clone()));
                for (label, to) in labels.into_iter().zip(targets) {
                    self.side(label, |l| l.go_all(b, to));
                }
            }
            core::Term::Branch(..) | core::Term::Switch(..) => {
                let all = self.started();
                self.split(b, term, all);
            }
            core::Term::Exit => self.end_with(Term::Exited),
            core::Term::Trap(_) | core::Term::Call(_) | core::Term::Return(_) => self.trap(b),
            core::Term::Barrier { kind: BarrierKind::Arrive, next, .. } => {
                self.arrive(b, term);
                self.go_all(b, next);
            }
            // The group is all of its CTA: nobody else is waited for.
            core::Term::Barrier { next, .. } if self.cta && self.is_plain_barrier(term) => {
                self.go_all(b, next)
            }
            core::Term::Barrier { next, .. } => {
                self.pass(b, next, None);
                self.forget(next.block);
                if self.is_plain_barrier(term) && self.lies_alike(next.block) {
                    self.save_brief(next.block);
                    self.end_with(Term::Barrier { from: b, to: next.block });
                } else {
                    self.save(next.block, None);
                    self.arrive(b, term);
                    self.push(Op::Status(Status::Parked), vec![]);
                    self.end_with(Term::Leave { from: None });
                }
            }
            // All lanes are here, so whichever are named are.
            core::Term::WarpSync { next, .. } => self.go_all(b, next),
        }
    }

    /// The end of a block that some lanes run.
    fn end_masked(&mut self, b: Block, term: &core::Term, mask: Reg) {
        let after = self.after_label(b);
        match term {
            core::Term::Jump(to) => self.go_some(b, to, mask),
            _ if let Some(to) = term.only() => self.go_some(b, to, mask),
            core::Term::Branch(c, yes, no) if !self.plan.divergent[b.index()] => {
                let condition = self.narrow_of(*c);
                let (then, other) = (self.new_label("then"), self.new_label("else"));
                self.end_with(Term::Branch { condition, yes: then, no: other, likely: false });
                for (label, to) in [(then, yes), (other, no)] {
                    self.side(label, |l| {
                        l.go_some(b, to, mask);
                        l.end_with(Term::Jump(after));
                    });
                }
                return;
            }
            core::Term::Switch(v, targets) if !self.plan.divergent[b.index()] => {
                let v = self.narrow_of(*v);
                let labels: Vec<Label> = targets.iter().map(|_| self.new_label("case")).collect();
                self.end_with(Term::Switch(v, labels.clone()));
                for (label, to) in labels.into_iter().zip(targets) {
                    self.side(label, |l| {
                        l.go_some(b, to, mask);
                        l.end_with(Term::Jump(after));
                    });
                }
                return;
            }
            core::Term::Branch(..) | core::Term::Switch(..) => return self.split(b, term, mask),
            core::Term::Exit => {
                if let Some(exited) = self.exited {
                    let old = self.get(exited);
                    let new = self.int(IntBin::Or, old, mask);
                    self.set(exited, new);
                }
            }
            core::Term::Trap(_) | core::Term::Call(_) | core::Term::Return(_) => return self.trap(b),
            core::Term::Barrier { kind: BarrierKind::Arrive, next, .. } => {
                self.arrive(b, term);
                self.go_some(b, next, mask);
            }
            core::Term::Barrier { next, .. } => return self.barrier_masked(b, term, next, mask),
            core::Term::WarpSync { mask: named, next } => return self.warp_sync(b, *named, next, mask),
        }
        self.end_with(Term::Jump(after));
    }

    fn barrier_masked(&mut self, b: Block, term: &core::Term, next: &Target, mask: Reg) {
        let after = self.after_label(b);
        self.pass(b, next, Some(mask));
        self.forget(next.block);
        if self.is_plain_barrier(term) && self.lies_alike(next.block) {
            let (all, part) = (self.new_label("all"), self.new_label("part"));
            let started = self.started();
            let condition = self.is_same(mask, started);
            self.end_with(Term::Branch { condition, yes: all, no: part, likely: true });
            self.side(all, |l| {
                l.save_brief(next.block);
                l.end_with(Term::Barrier { from: b, to: next.block });
            });
            self.start(part);
        }
        self.save(next.block, Some(mask));
        self.arrive(b, term);
        self.park_some();
        self.end_with(Term::Jump(after));
    }

    fn park_some(&mut self) {
        let yes = self.constant(Type::I1, 1);
        self.set(self.parked, yes);
    }

    /// Lanes go on if all those they name are here or have exited, else they wait and the engine goes on.
    fn warp_sync(&mut self, b: Block, named: Value, next: &Target, mask: Reg) {
        let after = self.after_label(b);
        let named = match self.facts.is_uniform(named) {
            true => self.narrow(named),
            false => {
                // All that somebody names.
                let each = self.wide(named);
                let zero = self.inst(Ty::wide(Type::I32), Op::Const(0), vec![]);
                let said = self.inst(Ty::wide(Type::I32), Op::Core(core::Op::Select), vec![mask, each, zero]);
                self.inst(Ty::narrow(Type::I32), Op::AnyBit, vec![said])
            }
        };
        let number = named;
        let named = self.inst(Ty::MASK, Op::Named, vec![number]);
        let absent = match self.whole {
            true => self.no_lanes(),
            false => {
                let started = self.started();
                self.not(started)
            }
        };
        let mut settled = self.int(IntBin::Or, mask, absent);
        if let Some(exited) = self.exited {
            let exited = self.get(exited);
            settled = self.int(IntBin::Or, settled, exited);
        }
        let unsettled = self.not(settled);
        let missing = self.int(IntBin::And, named, unsettled);
        let none = self.no_lanes();
        let condition = self.is_same(missing, none);
        let (on, wait) = (self.new_label("met"), self.new_label("wait"));
        self.end_with(Term::Branch { condition, yes: on, no: wait, likely: true });
        self.side(wait, |l| {
            l.pass(b, next, Some(mask));
            l.forget(next.block);
            l.save(next.block, Some(mask));
            l.push(Op::WarpSync(b), vec![mask, number]);
            l.park_some();
            l.end_with(Term::Jump(after));
        });
        self.side(on, |l| {
            l.go_some(b, next, mask);
            l.end_with(Term::Jump(after));
        });
    }

    /// A value that is the same in all lanes that run, as the plan says.
    pub(super) fn narrow_of(&mut self, v: Value) -> Reg {
        if self.facts.is_narrow(v) || self.is_constant(v) {
            return self.narrow(v);
        }
        let wide = self.wide(v);
        let running = self.running();
        let first = self.first_of(running);
        self.inst(Ty::narrow(self.ty(v)), Op::Extract, vec![wide, first])
    }

    /// Lanes of a set go different ways.
    fn split(&mut self, b: Block, term: &core::Term, lanes: Reg) {
        let mut edges: Vec<Edge> = vec![];
        match term {
            core::Term::Branch(c, yes, no) => {
                let c = self.wide(*c);
                let not = self.not(c);
                edges.push((yes.clone(), self.int(IntBin::And, lanes, c)));
                edges.push((no.clone(), self.int(IntBin::And, lanes, not)));
            }
            core::Term::Switch(v, targets) => {
                let v = self.wide(*v);
                let mut rest = lanes;
                for (n, to) in targets.iter().enumerate() {
                    if n + 1 == targets.len() {
                        edges.push((to.clone(), rest));
                        break;
                    }
                    let number = self.inst(Ty::wide(Type::I32), Op::Const(n as u64), vec![]);
                    let is = self.compare(IntCmp::Eq, v, number);
                    edges.push((to.clone(), self.int(IntBin::And, rest, is)));
                    let not = self.not(is);
                    rest = self.int(IntBin::And, rest, not);
                }
            }
            _ => {}
        }
        // All arguments are read before any parameter is written.
        let reads: Vec<Vec<Reg>> = edges.iter().map(|(to, _)| self.read_arguments(to)).collect();
        for ((to, lanes), args) in edges.iter().zip(reads) {
            self.write_parameters(b, to, &args, Some(*lanes));
            self.add_lanes(to.block, *lanes);
        }
        let after = self.after_label(b);
        self.end_with(Term::Jump(after));
    }

    fn go_some(&mut self, b: Block, to: &Target, lanes: Reg) {
        self.pass(b, to, Some(lanes));
        self.add_lanes(to.block, lanes);
    }

    fn add_lanes(&mut self, to: Block, lanes: Reg) {
        let Some(waiting) = self.waiting[to.index()] else { return };
        let old = self.get(waiting);
        let all = self.int(IntBin::Or, old, lanes);
        self.set(waiting, all);
    }

    /// All lanes go to one block.
    pub(super) fn go_all(&mut self, b: Block, to: &Target) {
        self.pass(b, to, None);
        if self.plan.is_back_edge(b, to.block) {
            let exit = self.new_label(format!("fuel.b{}", to.block.0));
            // Where code cannot be entered the interpreter would have to go on.
            let slack = !self.is_start(to.block);
            self.push(self.fuel(to.block, slack, exit), vec![]);
            let here = self.at;
            self.side(exit, |l| {
                l.forget(to.block);
                l.known.clear();
                if l.is_general() {
                    return l.leave_in_full(to.block, Status::Budget);
                }
                l.save_brief(to.block);
                l.push(Op::Status(Status::Budget), vec![]);
                l.end_with(Term::Leave { from: Some(to.block) });
            });
            self.start(here);
        }
        if let Some(waiting) = self.waiting[to.block.index()].filter(|_| self.plan.masked[to.block.index()]) {
            let started = self.started();
            self.set(waiting, started);
        }
        self.end_with(Term::Jump(self.label[to.block.index()]));
    }

    /// Groups whose lanes are not all in one place are left to the interpreter, so they are given time to come together.
    fn fuel(&self, header: Block, slack: bool, exit: Label) -> Op {
        let around = self.plan.loops.iter().find(|l| l.header == header);
        let cost = around.map_or(1, |l| l.blocks.iter().map(|b| self.func.block(*b).insts.len() + 1).sum());
        Op::Fuel { cost: cost as u32, waits: around.is_some_and(|l| l.waits), slack, exit }
    }

    fn pass(&mut self, b: Block, to: &Target, lanes: Option<Reg>) {
        let args = self.read_arguments(to);
        self.write_parameters(b, to, &args, lanes);
    }

    fn read_arguments(&mut self, to: &Target) -> Vec<Reg> {
        let params = &self.func.block(to.block).params;
        let mut read = vec![];
        for (p, arg) in params.iter().zip(&to.args) {
            read.push(match self.facts.extent(*p) {
                Extent::Lanes => self.wide(*arg),
                Extent::Rows if self.facts.extent(*arg) <= Extent::Rows || self.is_constant(*arg) => {
                    self.rows(*arg)
                }
                Extent::Rows => {
                    let (wide, offsets) = (self.wide(*arg), self.facts.in_row(*p).cloned());
                    self.origins(*p, wide, offsets.unwrap_or_default())
                }
                Extent::Group if self.facts.is_narrow(*arg) || self.is_constant(*arg) => self.narrow(*arg),
                Extent::Group => {
                    let wide = self.wide(*arg);
                    let running = self.running();
                    let first = self.first_of(running);
                    self.lane_0_from(*p, wide, first)
                }
            });
        }
        read
    }

    fn write_parameters(&mut self, b: Block, to: &Target, args: &[Reg], lanes: Option<Reg>) {
        let blend = lanes.filter(|_| self.others_need_parameters(b, to.block));
        for (p, arg) in self.func.block(to.block).params.iter().zip(args) {
            let Some(var) = self.var[p.index()] else { continue };
            let lanes = if self.outlives[p.index()] { lanes } else { blend };
            match lanes.filter(|_| self.facts.extent(*p) == Extent::Lanes) {
                Some(lanes) => self.push(Op::Blend(var), vec![*arg, lanes]),
                None => self.set(var, *arg),
            }
        }
    }

    /// The parameters of a block have just been written.
    fn forget(&mut self, b: Block) {
        for p in &self.func.block(b).params {
            self.known.remove(p);
        }
    }

    /// Whether lanes that do not take the edge `from → to` may still need the parameters of `to`: they wait there already, having come another way or in
    /// an earlier iteration of a loop the edge leaves, or, when the edge leads back, are still in the loop's body.
    fn others_need_parameters(&self, from: Block, to: Block) -> bool {
        let position = |b: Block| self.plan.position[b.index()];
        let (at, target) = (position(from), position(to));
        let sources = &self.sources[to.index()];
        let within = |l: &hostwarp_plan::Loop, at: u32| (l.first..=l.last).contains(&at);
        let leaves_a_loop = self.plan.loops.iter().any(|l| within(l, at) && !within(l, target));
        if leaves_a_loop || sources.iter().filter(|s| **s == from).count() > 1 {
            return true;
        }
        if target <= at {
            // The last of its loop, and the only one that leads back: whoever is still in the loop takes it.
            let last = self.plan.loops.iter().find(|l| l.header == to).map(|l| l.last);
            let others = sources.iter().any(|s| *s != from && position(*s) >= target);
            return others || last != Some(at);
        }
        // The first to come there in every iteration finds nobody waiting.
        sources.iter().any(|s| position(*s) < at)
    }

    /// Whether a barrier is the common kind: number 0, for all threads.
    fn is_plain_barrier(&self, term: &core::Term) -> bool {
        match term {
            core::Term::Barrier { kind: BarrierKind::Sync, id, count: None, .. } => {
                matches!(self.remat[id.index()], Some(core::Op::Const(0)))
            }
            _ => false,
        }
    }

    /// Lanes arrive at a barrier: all at once where they name the same, else as many at once as do.
    fn arrive(&mut self, b: Block, term: &core::Term) {
        let core::Term::Barrier { id, count, .. } = term else { return };
        let named: Vec<Value> = [*id].into_iter().chain(*count).collect();
        let all = self.constant(Type::I32, u64::MAX);
        let is_one = |l: &Self, v: &Value| l.facts.is_uniform(*v) || l.is_constant(*v);
        if named.iter().all(|v| is_one(self, v)) {
            let mut args = vec![self.running()];
            args.extend(named.iter().map(|v| self.narrow(*v)));
            args.resize(3, all);
            return self.push(Op::Arrive(b), args);
        }
        let each: Vec<Reg> = named.iter().map(|v| self.wide(*v)).collect();
        let running = self.running();
        let rest = self.new_var(Ty::MASK);
        self.set(rest, running);
        let (again, done) = (self.new_label("arrive"), self.new_label("arrived"));
        self.end_with(Term::Jump(again));
        self.start(again);
        let left = self.get(rest);
        let lowest = self.first_of(left);
        let mut alike = left;
        let mut args = vec![];
        for wide in each {
            let one = self.inst(Ty::narrow(Type::I32), Op::Extract, vec![wide, lowest]);
            let splat = self.inst(Ty::wide(Type::I32), Op::Splat, vec![one]);
            let same = self.compare(IntCmp::Eq, wide, splat);
            alike = self.int(IntBin::And, alike, same);
            args.push(one);
        }
        args.insert(0, alike);
        args.resize(3, all);
        self.push(Op::Arrive(b), args);
        let others = self.not(alike);
        let left = self.int(IntBin::And, left, others);
        self.set(rest, left);
        let condition = self.is_any(left);
        self.end_with(Term::Branch { condition, yes: again, no: done, likely: false });
        self.start(done);
    }

    fn trap(&mut self, b: Block) {
        let running = self.running();
        self.push(Op::Trap(b), vec![running]);
        self.push(Op::Status(Status::Fault), vec![]);
        self.end_with(Term::Leave { from: None });
    }

    fn after_label(&mut self, b: Block) -> Label {
        let at = self.plan.position[b.index()] as usize;
        self.after[at]
    }

    /// Where the walk comes to a block: whether lanes wait there.
    fn walk_to(&mut self, at: usize) {
        let b = self.plan.order[at];
        let Some(waiting) = self.waiting[b.index()] else { return };
        self.start(self.walk[at]);
        self.known.clear();
        self.mask = None;
        let (mask, after) = (self.get(waiting), self.after[at]);
        if self.plan.masked[b.index()] {
            let condition = self.is_any(mask);
            return self.end_with(Term::Branch {
                condition,
                yes: self.label[b.index()],
                no: after,
                likely: false,
            });
        }
        // All lanes meet here, unless some have been left at a barrier.
        if !self.parks {
            let all = self.new_label("met");
            let condition = self.is_any(mask);
            self.end_with(Term::Branch { condition, yes: all, no: after, likely: false });
            self.start(all);
            let none = self.no_lanes();
            self.set(waiting, none);
            return self.end_with(Term::Jump(self.label[b.index()]));
        }
        let (all, some, apart) = (self.new_label("met"), self.new_label("some"), self.new_label("apart"));
        let started = self.started();
        let condition = self.is_same(mask, started);
        self.end_with(Term::Branch { condition, yes: all, no: some, likely: true });
        self.start(all);
        let none = self.no_lanes();
        self.set(waiting, none);
        self.end_with(Term::Jump(self.label[b.index()]));
        self.start(some);
        let condition = self.is_any(mask);
        self.end_with(Term::Branch { condition, yes: apart, no: after, likely: false });
        self.start(apart);
        self.push(Op::Status(Status::HandedApart), vec![]);
        let suspend = self.suspend_label(None);
        self.end_with(Term::Jump(suspend));
    }

    /// Where the walk goes on behind a block: back to the header of a loop that is over if lanes wait there, else to the next block that lanes may wait at.
    fn after(&mut self, at: usize) {
        self.start(self.after[at]);
        self.known.clear();
        let next =
            (at + 1..self.plan.order.len()).find(|n| self.waiting[self.plan.order[*n].index()].is_some());
        let mut around = self.plan.loop_of[self.plan.order[at].index()];
        while let Some(l) = around {
            let l = &self.plan.loops[l];
            if next.is_some_and(|next| next as u32 <= l.last) {
                break;
            }
            around = l.parent;
            let Some(waiting) = self.waiting[l.header.index()] else { continue };
            let (again, on) = (self.new_label("again"), self.new_label("on"));
            let mask = self.get(waiting);
            let condition = self.is_any(mask);
            self.end_with(Term::Branch { condition, yes: again, no: on, likely: false });
            self.start(again);
            let exit = self.new_label("fuel");
            self.push(self.fuel(l.header, true, exit), vec![]);
            self.end_with(Term::Jump(match self.plan.masked[l.header.index()] {
                true => self.label[l.header.index()],
                false => self.walk[l.first as usize],
            }));
            self.start(exit);
            self.push(Op::Status(Status::Budget), vec![]);
            let suspend = self.suspend_label(self.scope[self.plan.order[at].index()]);
            self.end_with(Term::Jump(suspend));
            self.start(on);
        }
        let to = next.map_or(self.end, |next| self.walk[next]);
        self.end_with(Term::Jump(to));
    }

    fn at_end(&mut self) {
        self.start(self.end);
        let condition = self.get(self.parked);
        let (parked, exited) = (self.new_label("parked"), self.new_label("exited"));
        self.end_with(Term::Branch { condition, yes: parked, no: exited, likely: false });
        self.start(parked);
        self.push(Op::Status(Status::Parked), vec![]);
        self.end_with(Term::Leave { from: None });
        self.start(exited);
        self.end_with(Term::Exited);
    }

    /// What a check of a block that fails leads to: lanes are left at its start.
    fn leave_block(&mut self, b: Block, label: Label, mask: Option<Reg>) {
        self.start(label);
        self.known.clear();
        self.mask = None;
        let status = if mask.is_some() { Status::HandedApart } else { Status::Handed };
        if mask.is_none() && self.is_general() {
            return self.leave_in_full(b, Status::HandedApart);
        }
        self.push(Op::Status(status), vec![]);
        match (mask, self.waiting[b.index()]) {
            (Some(mask), Some(waiting)) => {
                self.set(waiting, mask);
                let suspend = self.suspend_label(self.scope[b.index()]);
                self.end_with(Term::Jump(suspend));
            }
            _ => {
                let saved = self.saved_at(b).clone();
                self.save_unless(b, &saved);
                self.end_with(Term::Leave { from: Some(b) });
            }
        }
    }

    /// Where a group is left whose lanes are at several blocks of a scope, or of any.
    fn suspend_label(&mut self, scope: Option<Block>) -> Label {
        // With lanes left at barriers others may have gone on anywhere.
        let scope = scope.filter(|_| !self.parks);
        if let Some((_, label)) = self.suspends.iter().find(|(s, _)| *s == scope) {
            return *label;
        }
        let label = self.new_label("suspend");
        self.suspends.push((scope, label));
        label
    }

    /// Removes blocks nobody comes to.
    pub(super) fn prune(&mut self) {
        let mut seen = vec![false; self.k.blocks.len()];
        let general = self.k.general.iter().flat_map(|g| &g.entries);
        let mut work: Vec<Label> = self.k.entries.iter().chain(general).map(|(_, l)| *l).collect();
        while let Some(l) = work.pop() {
            if std::mem::replace(&mut seen[l.0 as usize], true) {
                continue;
            }
            let data = &self.k.blocks[l.0 as usize];
            work.extend(data.term.targets());
            work.extend(data.insts.iter().filter_map(|i| i.exit()));
        }
        for (data, seen) in self.k.blocks.iter_mut().zip(seen) {
            if !seen {
                data.insts.clear();
                data.name.clear();
                data.term = Term::Exited;
            }
        }
        dce::remove(&mut self.k);
    }
}
