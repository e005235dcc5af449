//! Where groups stop and go on: at barriers, when the budget is used up, and where the interpreter takes over.

use std::collections::BTreeMap;
use std::mem::offset_of;

use hostwarp_ir::{Block, Op, Special, Target, Term, Value};
use hostwarp_plan::Shape as Spread;

use super::control::NOWHERE;
use super::{Emitter, Known, Reg, Text};
use crate::abi::{self, Callbacks, Ctx};
use crate::lanes::Lanes;

impl Emitter<'_> {
    /// All lanes of a group are at the start of a block, and the interpreter goes on from there.
    pub(super) fn hand_over(&mut self, b: Block) {
        self.stop_together(b, |_| abi::HANDED.to_string());
    }

    /// Returns, with where all lanes of a group are, at the start of a block, and what they need, in brief. Where something is not evenly
    /// spaced that should be, the interpreter takes over.
    fn stop_together(&mut self, b: Block, status: impl FnOnce(&mut Self) -> String) {
        self.unless_even(b, |e| {
            e.save(b, None);
            e.park(b, None);
            e.leave(&abi::HANDED_APART.to_string());
        });
        self.t.line(format_args!("store i32 {}, ptr %end.from, align 8", b.0));
        let status = status(self);
        self.t.line(format_args!("store i32 {status}, ptr %status, align 8"));
        // Most blocks of a loop need the same.
        let needed = self.not_in_frame(b);
        let next = self.savers.len();
        let n = *self.savers.entry(needed).or_insert(next);
        self.t.jump(&format!("save.{n}"));
    }

    /// Where groups that [stop together](Emitter::stop_together) write down what they need.
    pub(super) fn savers(&mut self) {
        let mut savers: Vec<_> = std::mem::take(&mut self.savers).into_iter().collect();
        savers.sort_unstable_by_key(|(_, n)| *n);
        for (values, n) in savers {
            self.begin(NOWHERE, None);
            self.t.label(&format!("save.{n}"));
            for v in values {
                self.store_brief(v);
            }
            self.t.jump("leave");
        }
    }

    /// Lanes part, in code that is for those together only: the interpreter goes on with them.
    pub(super) fn hand_over_apart(&mut self, b: Block, edges: &[(Target, String)]) {
        let mut reads = vec![];
        for (to, _) in edges {
            reads.push(self.read_arguments(to));
        }
        for ((to, lanes), known) in edges.iter().zip(reads) {
            self.write_parameters(b, to, &known, Some(lanes));
        }
        for (to, _) in edges {
            for p in &self.func.block(to.block).params {
                self.known.remove(p); // written just now
            }
        }
        for (to, lanes) in edges {
            self.save(to.block, Some(lanes));
            self.park(to.block, Some(lanes));
        }
        self.leave(&abi::HANDED_APART.to_string());
    }

    /// Tells the engine that lanes stop at the start of a block.
    fn park(&mut self, b: Block, lanes: Option<&str>) {
        let park = self.callback("park", offset_of!(Callbacks, park));
        let lanes = self.handed_of(lanes);
        self.t.line(format_args!("call void {park}(ptr %ctx, i32 {}, i32 %lane0, {lanes})", b.0));
    }

    /// Writes what is to be done if something that a block needs is not evenly spaced, though it should be, and goes on for when all is.
    fn unless_even(&mut self, b: Block, otherwise: impl FnOnce(&mut Self)) {
        let mut even: Option<Reg> = None;
        for v in self.plan.live_in[b.index()].clone() {
            self.known.remove(&v); // as below
            if let Some(this) = self.even(v) {
                even = Some(match even {
                    None => this,
                    Some(even) => self.t.inst(format_args!("and i1 {even}, {this}")),
                });
            }
        }
        if let Some(even) = even {
            let (brief, full) = (self.t.fresh_label("brief"), self.t.fresh_label("full"));
            self.t.branch_likely(&even, &brief, &full);
            self.in_branch(&full, otherwise);
            self.t.label(&brief);
        }
    }

    /// All lanes of a group come to a plain barrier.
    pub(super) fn barrier(&mut self, b: Block, term: &Term, next: Block) {
        self.unless_even(next, |e| {
            e.save(next, None);
            e.arrive(b, term);
            e.leave(&abi::PARKED.to_string());
        });
        for v in self.plan.live_in[next.index()].clone() {
            self.known.remove(&v); // perhaps a parameter, which has just been written
        }
        self.save_brief(next);
        self.group_ends(b.0, next);
    }

    /// Where whole groups go on, as [`super::Emitter::save_brief`] left them: at one of several blocks that need the same.
    pub(super) fn resume_brief(&mut self, blocks: &[Block]) {
        let [first, others @ ..] = blocks else { return };
        self.begin(*first, None);
        self.t.label(&format!("q{}", first.0));
        for v in self.plan.live_in[first.index()].clone() {
            if !self.make_again(v, 0) {
                self.load_brief(v);
            }
        }
        let first = format!("u{}", first.0);
        if others.is_empty() {
            return self.t.jump(&first);
        }
        let others: String =
            others.iter().map(|b| format!(" i32 {}, label %u{}", b.0 | abi::BRIEF, b.0)).collect();
        self.t.line(format_args!("switch i32 %resume, label %{first} [{others}]"));
    }

    /// Makes a value that follows from the place of a lane in its CTA alone once more, in place of reading it from the frame. Where a group
    /// is all of the CTA such values are constants, and LLVM must see that they are whichever way code came.
    pub(super) fn make_again(&mut self, v: Value, depth: u32) -> bool {
        if self.assume.cta.is_none() || self.wraps[v.index()] || depth > 16 {
            return false;
        }
        if self.remade[v.index()].is_some() {
            return !matches!(self.remade[v.index()], Some(Op::Special(Special::Ctaid(_))));
        }
        if self.known.get(&v).is_some_and(|k| !k.bases.is_empty()) {
            return true;
        }
        let func = self.func;
        let Some((b, n)) = self.maker[v.index()] else { return false };
        let inst = &func.block(b).insts[n];
        let again = inst.op.is_pure()
            && self.spread(v) != Spread::Varying
            && inst.args.iter().all(|a| self.make_again(*a, depth + 1));
        let Some(bases) = again.then(|| self.pure_bases(inst, v).ok()).flatten() else { return false };
        let known = Known { bases, ..Known::default() };
        if self.crosses[v.index()] {
            self.write(v, &known, None);
        }
        self.known.insert(v, known);
        true
    }

    /// Where groups start.
    pub(super) fn start(&mut self) {
        let (b, lanes, w) = (Block::ENTRY.0, self.lanes(), self.w);
        self.begin(Block::ENTRY, None);
        self.t.label("start");
        let whole = self.whole();
        self.t.branch(&whole, &format!("u{b}"), "start.part");
        self.t.label("start.part");
        if !self.masked[Block::ENTRY.index()] {
            return self.hand_over(Block::ENTRY);
        }
        self.come_apart();
        let active = self.active();
        let active = self.t.inst(format_args!("bitcast i{w} {active} to {lanes}"));
        self.store_mask(Block::ENTRY, &active);
        self.t.jump(&format!("m{b}"));
    }

    /// Where a group goes on that was stopped with its lanes at several blocks: the engine says which are where.
    pub(super) fn resume_apart(&mut self) {
        self.begin(NOWHERE, None);
        self.t.label("apart");
        let (w, lanes) = (self.w, self.lanes());
        let table = self.t.inst(format_args!("getelementptr i8, ptr %ctx, i64 {}", offset_of!(Ctx, masks)));
        let table = self.t.inst(format_args!("load ptr, ptr {table}, align 8"));
        let mut waiting = vec![];
        for b in self.masked_order() {
            let at = self
                .t
                .inst(format_args!("getelementptr i8, ptr {table}, i64 {}", size_of::<Lanes>() as u32 * b.0));
            let bits = self.load_lanes_at(&at);
            let mask = self.t.inst(format_args!("bitcast i{w} {bits} to {lanes}"));
            self.store_mask(b, &mask);
            waiting.push((b, bits));
        }
        for (v, bits) in self.who_needs(&format!("i{w}"), &waiting) {
            let mut first = Reg::new();
            if self.spread(v) != Spread::Varying {
                // Nobody may need it: then any lane's will do.
                first = self.count_zeros("cttz", &bits);
                first = self.t.inst(format_args!("and i64 {first}, {}", w - 1));
            }
            self.load_from_frame(v, &bits, &first);
        }
        let lowest = waiting.first().map_or(0, |(b, _)| b.0);
        // Lanes at the header of a cycle around others wait for those. Everywhere else nobody is at blocks before the first.
        let inner = self.plan.loops.iter().filter(|l| l.depth > 1 && self.masked[l.header.index()]);
        let cases: String = inner.map(|l| format!(" i32 {0}, label %m{0}", l.header.0)).collect();
        if cases.is_empty() {
            return self.t.jump(&format!("m{lowest}"));
        }
        let at = self.t.inst(format_args!("getelementptr i8, ptr %ctx, i64 {}", offset_of!(Ctx, first)));
        let first = self.t.inst(format_args!("load i32, ptr {at}, align 4"));
        self.t.line(format_args!("switch i32 {first}, label %m{lowest} [{cases}]"));
    }

    /// The budget is used up at a header, with all lanes there.
    pub(super) fn suspend_whole(&mut self, header: Block) {
        self.begin(header, None);
        self.t.label(&format!("su{}", header.0));
        if !self.masked[header.index()] {
            return self.stop_together(header, Self::early_status);
        }
        self.come_apart();
        let all = Text::constant(self.lanes(), 1);
        self.store_mask(header, &all);
        self.t.jump("suspend");
    }

    /// The budget is used up, with lanes waiting at blocks as their masks say.
    pub(super) fn suspend(&mut self) {
        self.begin(NOWHERE, None);
        self.t.label("suspend");
        let (w, lanes) = (self.w, self.lanes());
        let mut waiting = vec![];
        for b in self.masked_order() {
            waiting.push((b, self.load_mask(b)));
        }
        for (v, there) in self.who_needs(&lanes.to_string(), &waiting) {
            self.store_to_frame(v, Some(&there));
        }
        let park = self.callback("park", offset_of!(Callbacks, park));
        for (b, mask) in &waiting {
            let bits = self.bits(mask);
            let any = self.t.inst(format_args!("icmp ne i{w} {bits}, 0"));
            let (some, next) = (self.t.fresh_label("waiting"), self.t.fresh_label("next"));
            self.t.branch(&any, &some, &next);
            self.t.label(&some);
            let lanes = self.handed(&bits);
            self.t.line(format_args!("call void {park}(ptr %ctx, i32 {}, i32 %lane0, {lanes})", b.0));
            self.t.jump(&next);
            self.t.label(&next);
        }
        let status = self.early_status();
        self.leave(&status);
    }

    /// Each value that lanes need which wait at the start of blocks, with those of them that do; other lanes may have something else in its
    /// slot. `ty` is what lanes are given as.
    fn who_needs(&mut self, ty: &str, waiting: &[(Block, Reg)]) -> BTreeMap<Value, Reg> {
        let mut needed: BTreeMap<Value, Reg> = BTreeMap::new();
        for (b, lanes) in waiting {
            for v in &self.plan.live_in[b.index()] {
                let there = match needed.get(v) {
                    None => lanes.clone(),
                    Some(there) => self.t.inst(format_args!("or {ty} {there}, {lanes}")),
                };
                needed.insert(*v, there);
            }
        }
        needed
    }

    /// Whether it is the budget that is used up, or patience.
    fn early_status(&mut self) -> String {
        let patience = self.t.inst(format_args!("load i32, ptr %patience, align 8"));
        let waited = self.t.inst(format_args!("icmp sle i32 {patience}, 0"));
        self.t.inst(format_args!("select i1 {waited}, i32 {}, i32 {}", abi::WAITS, abi::BUDGET))
    }

    /// Returns to the engine.
    pub(super) fn leave(&mut self, status: &str) {
        self.t.line(format_args!("store i32 {status}, ptr %status, align 8"));
        self.t.jump("leave");
    }
}
