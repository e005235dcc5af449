//! Blocks, branches and masks: see the head of [`super`].

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{BarrierKind, Block, Elem, Target, Term, Value};
use hostwarp_plan::Shape as Spread;

use super::{Emitter, Paths, Reg, Shape, Text, Unsupported};
use crate::abi::{self, Callbacks, Ctx};
use crate::lanes;

/// Rounds of a waiting loop in one call.
const PATIENCE: u32 = 256;

/// More masks than these are kept in memory, where LLVM leaves them alone, and emptied once for each group: emptying all of them wherever lanes
/// part is quadratic, and so are values of each in every block.
const MANY_MASKS: usize = 64;

/// In place of the block being written: none, so nothing is defined in it.
pub(super) const NOWHERE: Block = Block(u32::MAX);

/// Which copy of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// All lanes of the group.
    Whole,
    /// The lanes in its mask.
    Masked,
}

impl Emitter<'_> {
    pub(super) fn kernel(&mut self) -> Result<(), Unsupported> {
        self.allocas();
        let (w, lanes) = (self.w, self.lanes());
        let together = !self.masked.contains(&true);
        let masks = self.masked_order();
        self.many_masks = masks.len() > MANY_MASKS;
        for b in masks {
            let _ = writeln!(self.entry, "  %mask{} = alloca {lanes}, align 8", b.0);
            if self.many_masks {
                let clear = format!("store volatile {lanes} zeroinitializer, ptr %mask{}, align 8", b.0);
                let _ = writeln!(self.group_entry, "  {clear}");
            }
        }
        for b in &self.plan.order {
            for to in self.func.block(*b).term.targets() {
                self.sources[to.block.index()].push(*b);
            }
        }
        // Room for what is handed to callbacks: the widest value has eight elements of eight bytes.
        let _ = writeln!(self.entry, "  %addresses = alloca [{w} x i64], align 64");
        let _ = writeln!(self.entry, "  %data = alloca [{} x i8], align 64", w * 64);
        let _ = writeln!(self.entry, "  %compare = alloca [{} x i8], align 64", w * 8);
        let most = lanes::MOST;
        let _ = writeln!(
            self.entry,
            "  %lanes.out = alloca i{most}, align 8\n  store i{most} 0, ptr %lanes.out, align 8"
        );
        // Written at the end, so not fields like others.
        let given = [
            ("fuel", "i64", offset_of!(Ctx, fuel)),
            ("ctas", "i32", offset_of!(Ctx, ctas)),
            ("ctaid.x", "i32", offset_of!(Ctx, ctaid)),
            ("ctaid.y", "i32", offset_of!(Ctx, ctaid) + 4),
            ("ctaid.z", "i32", offset_of!(Ctx, ctaid) + 8),
        ];
        for (name, ty, offset) in given {
            let _ = writeln!(
                self.entry,
                "  %out.{name} = getelementptr i8, ptr %ctx, i64 {offset}\n  %{name}.given = load {ty}, ptr %out.{name}, align 4"
            );
        }
        let slots = [
            ("lane0.slot", "i32", "%lane0.first"),
            ("resume.slot", "i32", "%resume.first"),
            ("round.from", "i32", "-1"),
            ("end.from", "i32", "-1"),
            ("end.to", "i32", "0"),
            ("fuel", "i64", "%fuel.given"),
            ("ctas", "i32", "%ctas.given"),
            ("ctaid.x", "i32", "%ctaid.x.given"),
            ("ctaid.y", "i32", "%ctaid.y.given"),
            ("ctaid.z", "i32", "%ctaid.z.given"),
            ("status", "i32", "0"),
            // Set anew for every group, below.
            ("parked", "i32", "0"),
            ("patience", "i32", "0"),
        ];
        for (name, ty, first) in slots {
            let _ = writeln!(
                self.entry,
                "  %{name} = alloca {ty}, align 8\n  store {ty} {first}, ptr %{name}, align 8"
            );
        }
        let _ = write!(
            self.group_entry,
            "  store i32 {done}, ptr %parked, align 8
  store i32 {PATIENCE}, ptr %patience, align 8
",
            done = abi::DONE,
        );
        if self.has_warp_sync {
            let whole = self.whole();
            let _ = writeln!(self.entry, "  %exited = alloca i{w}, align 8");
            let at = offset_of!(Ctx, active);
            let _ = write!(
                self.group_entry,
                "  %there.at = getelementptr i8, ptr %ctx, i64 {at}
  %there = load i{w}, ptr %there.at, align 8
  %missing = xor i{w} %there, -1
  %absent = select i1 {whole}, i{w} 0, i{w} %missing
  store i{w} %absent, ptr %exited, align 8
"
            );
        }

        // Whole groups go on at the places where lanes may stop, all others go on apart.
        let starts: Vec<Block> = self.plan.order.iter().copied().filter(|b| self.stops[b.index()]).collect();
        let mut cases = format!(" i32 {}, label %start", Block::ENTRY.0);
        if !together {
            let _ = write!(cases, " i32 {}, label %apart", abi::APART as i32);
        }
        // Most blocks of a loop need the same.
        let mut alike: Vec<Vec<Block>> = vec![];
        let mut found = HashMap::new();
        for b in starts {
            let group = *found.entry(&self.plan.live_in[b.index()]).or_insert(alike.len());
            match alike.get_mut(group) {
                Some(group) => group.push(b),
                None => alike.push(vec![b]),
            }
        }
        for (b, group) in alike.iter().flat_map(|group| group.iter().map(move |b| (b, group))) {
            let _ = write!(cases, " i32 {}, label %q{}", b.0 | abi::BRIEF, group[0].0);
        }
        self.t.line(format_args!("switch i32 %resume, label %nowhere [{cases}]"));
        self.t.label("nowhere");
        self.t.line(format_args!("unreachable"));
        self.start();
        for group in &alike {
            self.resume_brief(group);
        }
        let parts: HashSet<Block> = self.parts.iter().flatten().map(|part| part.block).collect();
        for b in self.plan.order.iter().filter(|b| !parts.contains(b)) {
            self.block(*b, Version::Whole)?;
        }
        let all_turns = std::mem::take(&mut self.turns);
        let mut headers: Vec<Block> = all_turns.keys().copied().collect();
        headers.sort_unstable();
        for header in headers {
            self.write_turns(header, &all_turns[&header])?;
        }
        if !together {
            self.masked_blocks()?;
        }
        self.t.label("group.exited");
        self.group_ends(abi::EXITED, Block::ENTRY);
        self.t.label("fault");
        self.leave(&abi::FAULT.to_string());
        for header in self.headers() {
            self.suspend_whole(header);
        }
        if !together && !self.plan.back_edges.is_empty() {
            self.suspend();
        }
        self.savers();
        self.next_group();
        Ok(())
    }

    /// The blocks that have a version for part of the lanes, in order.
    pub(super) fn masked_order(&self) -> Vec<Block> {
        self.plan.order.iter().copied().filter(|b| self.masked[b.index()]).collect()
    }

    /// Where lanes that have come apart go on after the block at this place in the order.
    fn next_masked(&self, at: u32) -> String {
        let next = self.plan.order[at as usize + 1..].iter().find(|b| self.masked[b.index()]);
        next.map_or("end".into(), |b| format!("m{}", b.0))
    }

    /// The version of blocks for part of the lanes, and how groups get into and out of it.
    fn masked_blocks(&mut self) -> Result<(), Unsupported> {
        self.resume_apart();
        for b in self.masked_order() {
            self.block(b, Version::Masked)?;
            self.after(b);
        }
        self.t.label("end");
        let status = self.t.inst(format_args!("load i32, ptr %parked, align 8"));
        let ended = self.t.inst(format_args!("icmp eq i32 {status}, {}", abi::DONE));
        self.t.branch(&ended, "group.exited", "stopped");
        self.t.label("stopped");
        self.leave(&status);
        Ok(())
    }

    /// Whether a barrier is the common kind, which compiled code handles by itself: number 0, for all threads.
    pub(super) fn is_plain_barrier(&self, term: &Term) -> bool {
        match term {
            Term::Barrier { kind: BarrierKind::Sync, id, count: None, .. } => self.constant(*id) == Some(0),
            _ => false,
        }
    }

    /// Whether a barrier needs nothing done when all lanes of a group come to it, since they are all threads of the CTA.
    pub(super) fn is_free_barrier(&self, term: &Term) -> bool {
        self.assume.cta.is_some() && self.is_plain_barrier(term)
    }

    /// The blocks at whose start compiled code can go on: where lanes may stop. Not where they never wait: behind barriers that all threads come to at
    /// once, and where warps that are never apart synchronise.
    pub(super) fn find_stops(&self) -> Vec<bool> {
        let mut stops = vec![false; self.func.blocks.len()];
        stops[Block::ENTRY.index()] = true;
        for header in self.headers() {
            stops[header.index()] = true;
        }
        for b in &self.plan.order {
            match &self.func.block(*b).term {
                term @ Term::Barrier { next, .. } => {
                    let passed = self.paths == Paths::Together && self.is_free_barrier(term);
                    stops[next.block.index()] |= !passed;
                }
                Term::WarpSync { next, .. } => stops[next.block.index()] |= self.masked[b.index()],
                _ => {}
            }
        }
        stops
    }

    /// The blocks that back-edges lead to.
    fn headers(&self) -> Vec<Block> {
        let mut headers: Vec<Block> = self.plan.back_edges.iter().map(|(_, to)| *to).collect();
        headers.sort_unstable();
        headers.dedup();
        headers
    }

    pub(super) fn begin(&mut self, b: Block, mask: Option<String>) {
        self.known.clear();
        self.by_lane_here.clear();
        self.held_floats.clear();
        self.block = b;
        self.mask = mask;
        self.careful = None;
        self.lazy_compare = None;
    }

    pub(super) fn block(&mut self, b: Block, version: Version) -> Result<(), Unsupported> {
        self.begin(b, None);
        let (w, lanes, begin) = (self.w, self.lanes(), self.t.body.len());
        match version {
            Version::Whole => {
                let label = self.turn.as_ref().map_or_else(|| format!("u{}", b.0), |turn| turn.label.clone());
                self.t.label(&label);
                self.careful = Some(format!("c{}", b.0));
                self.find_joint_checks();
                self.lazy_compare = self.find_lazy_compare(b);
                for p in self.func.block(b).params.clone() {
                    if self.early[p.index()] {
                        self.store_brief(p);
                    }
                }
            }
            Version::Masked => {
                self.t.label(&format!("m{}", b.0));
                let mask = self.load_mask(b);
                let bits = self.bits(&mask);
                let any = self.t.inst(format_args!("icmp ne i{w} {bits}, 0"));
                let (run, part) = (format!("m{}.run", b.0), format!("m{}.part", b.0));
                self.t.branch(&any, &run, &format!("a{}", b.0));
                self.t.label(&run);
                if self.lanes_may_meet(b) {
                    let all = self.t.inst(format_args!("icmp eq i{w} {bits}, -1"));
                    let together = self.t.fresh_label("together");
                    self.t.branch(&all, &together, &part);
                    self.t.label(&together);
                    self.store_mask(b, "zeroinitializer");
                    self.t.jump(&format!("u{}", b.0));
                } else {
                    self.t.jump(&part);
                }
                self.t.label(&part);
                let mask = self.load_mask(b);
                self.store_mask(b, "zeroinitializer");
                self.mask = Some(mask);
            }
        }
        let data = self.func.block(b);
        let (mut index, mut looked) = (0, 0);
        while index < data.insts.len() {
            if index >= looked {
                let written;
                (looked, written) = self.stretch(index)?;
                if written {
                    index = looked;
                    continue;
                }
            }
            self.inst(index, &data.insts[index])?;
            index += 1;
        }
        match version {
            Version::Whole => {
                self.end_whole(b, &data.term)?;
                if self.turn.is_some() {
                    return Ok(()); // the loop's is there
                }
                let by_turn = self.turns.values().any(|turns| turns.contains(b));
                if !by_turn && !self.t.goes_to(&format!("c{}", b.0), begin) {
                    return Ok(());
                }
                if !self.masked[b.index()] {
                    self.begin(b, None);
                    self.t.label(&format!("c{}", b.0));
                    self.store_left_out(b);
                    self.hand_over(b);
                    return Ok(());
                }
                self.t.label(&format!("c{}", b.0));
                self.come_apart();
                let all = Text::constant(lanes, 1);
                self.store_mask(b, &all);
                self.t.jump(&format!("m{}.part", b.0));
            }
            Version::Masked => self.end_masked(b, &data.term),
        }
        Ok(())
    }

    pub(super) fn load_mask(&mut self, b: Block) -> Reg {
        let (lanes, volatile) = (self.lanes(), if self.many_masks { "volatile " } else { "" });
        self.t.inst(format_args!("load {volatile}{lanes}, ptr %mask{}, align 8", b.0))
    }

    pub(super) fn store_mask(&mut self, b: Block, mask: &str) {
        let (lanes, volatile) = (self.lanes(), if self.many_masks { "volatile " } else { "" });
        self.t.line(format_args!("store {volatile}{lanes} {mask}, ptr %mask{}, align 8", b.0));
    }

    /// Lanes that were together go different ways: from here on there are masks, empty ones at first. Before, and once all are together again,
    /// nobody looks at them. [Many](MANY_MASKS) are empty whenever lanes are together: a lane is in one of them at most, and whoever leaves a
    /// block, or finds all lanes in its mask, empties that.
    pub(super) fn come_apart(&mut self) {
        if self.many_masks {
            return;
        }
        for b in self.masked_order() {
            self.store_mask(b, "zeroinitializer");
        }
    }

    /// Whether lanes come to this block from more than one place.
    fn lanes_may_meet(&self, b: Block) -> bool {
        let sources = &self.sources[b.index()];
        let by_switch = sources.iter().any(|from| matches!(self.func.block(*from).term, Term::Switch(..)));
        sources.len() > 1 || by_switch
    }

    /// The end of a block that all lanes have run.
    fn end_whole(&mut self, b: Block, term: &Term) -> Result<(), Unsupported> {
        match term {
            _ if let Some(part) = self.parts[b.index()] => self.run_part(b, part)?,
            Term::Jump(to) => self.go_whole(b, to),
            _ if let Some(to) = term.only() => self.go_whole(b, to),
            Term::Branch(c, yes, no) if let Some(bits) = self.constant(*c) => {
                self.go_whole(b, if bits != 0 { yes } else { no });
            }
            Term::Branch(c, yes, no)
                if let Some(lanes) = self.in_each_lane(*c)
                    && lanes.iter().all(|c| *c == lanes[0]) =>
            {
                self.go_whole(b, if lanes[0] != 0 { yes } else { no });
            }
            Term::Branch(c, yes, no) if self.spread(*c) == Spread::Uniform => {
                let c = self.scalar(*c);
                let (then, otherwise) = (self.t.fresh_label("then"), self.t.fresh_label("else"));
                self.t.branch(&c, &then, &otherwise);
                for (label, to) in [(then, yes), (otherwise, no)] {
                    self.in_branch(&label, |e| e.go_whole(b, to));
                }
            }
            Term::Branch(c, yes, no) => {
                // Lanes that part may as well be handed over at the start of the block.
                let over = self.careful.clone().filter(|_| self.paths == Paths::Together);
                if self.lazy_compare.take() == Some(*c) {
                    let apart = over.clone().unwrap_or_else(|| self.t.fresh_label("apart"));
                    self.try_uniform_compare(b, *c, yes, no, &apart);
                    if over.is_some() {
                        return Ok(());
                    }
                    self.t.label(&apart);
                    self.compare_apart(b, *c);
                }
                let c = self.vector(*c);
                let w = self.w;
                let bits = self.bits(&c);
                let all = self.t.inst(format_args!("icmp eq i{w} {bits}, -1"));
                let (then, some) = (self.t.fresh_label("all"), self.t.fresh_label("some"));
                self.t.branch(&all, &then, &some);
                self.in_branch(&then, |e| e.go_whole(b, yes));
                self.t.label(&some);
                let none = self.t.inst(format_args!("icmp eq i{w} {bits}, 0"));
                let otherwise = self.t.fresh_label("none");
                let mixed = over.clone().unwrap_or_else(|| self.t.fresh_label("mixed"));
                self.t.branch(&none, &otherwise, &mixed);
                self.in_branch(&otherwise, |e| e.go_whole(b, no));
                if over.is_some() {
                    return Ok(());
                }
                self.t.label(&mixed);
                self.come_apart();
                self.split(b, &c, yes, no);
                self.go_on_apart(b);
            }
            Term::Switch(v, targets) if self.spread(*v) == Spread::Uniform => {
                let edges = self.uniform_switch(*v, targets);
                for (label, to) in edges {
                    self.in_branch(&label, |e| e.go_whole(b, &to));
                }
            }
            Term::Switch(v, targets) => {
                self.come_apart();
                self.split_switch(b, *v, targets);
                self.go_on_apart(b);
            }
            Term::Exit => self.t.jump("group.exited"),
            // Linking leaves no calls.
            Term::Trap(_) | Term::Call(_) | Term::Return(_) => self.trap(b),
            Term::Barrier { kind: BarrierKind::Arrive, next, .. } => {
                self.arrive(b, term);
                self.go_whole(b, next);
            }
            Term::Barrier { next, .. } => {
                // Nobody to wait for.
                if self.is_free_barrier(term) {
                    self.go_whole(b, next);
                    return Ok(());
                }
                self.pass(b, next, None);
                if self.is_plain_barrier(term) {
                    self.barrier(b, term, next.block);
                } else {
                    self.save(next.block, None);
                    self.arrive(b, term);
                    self.leave(&abi::PARKED.to_string());
                }
            }
            // The whole warp is here, so whatever lanes are named are too.
            Term::WarpSync { next, .. } => self.go_whole(b, next),
        }
        Ok(())
    }

    /// Lanes have parted at the end of a block that all have run.
    pub(super) fn go_on_apart(&mut self, b: Block) {
        match self.paths {
            Paths::Together => {} // they have been handed over
            _ if self.masked[b.index()] => self.t.jump(&format!("a{}", b.0)),
            // Nor does a loop end here: lanes that part in one may come to all of its blocks.
            _ => self.t.jump(&self.next_masked(self.plan.position[b.index()])),
        }
    }

    /// The end of a block that part of the lanes have run: they are added to the masks of where they go.
    pub(super) fn end_masked(&mut self, b: Block, term: &Term) {
        let mask = self.mask.clone().unwrap_or_default();
        let after = format!("a{}", b.0);
        match term {
            Term::Jump(to) => self.go_masked(b, to, &mask),
            _ if let Some(to) = term.only() => self.go_masked(b, to, &mask),
            Term::Branch(c, yes, no) if self.spread(*c) == Spread::Uniform => {
                let c = self.scalar(*c);
                let (then, otherwise) = (self.t.fresh_label("then"), self.t.fresh_label("else"));
                self.t.branch(&c, &then, &otherwise);
                for (label, to) in [(then, yes), (otherwise, no)] {
                    self.in_branch(&label, |e| {
                        e.go_masked(b, to, &mask);
                        e.t.jump(&after);
                    });
                }
                return;
            }
            Term::Branch(c, yes, no) => {
                let c = self.vector(*c);
                self.split(b, &c, yes, no);
            }
            Term::Switch(v, targets) if self.spread(*v) == Spread::Uniform => {
                let edges = self.uniform_switch(*v, targets);
                for (label, to) in edges {
                    self.in_branch(&label, |e| {
                        e.go_masked(b, &to, &mask);
                        e.t.jump(&after);
                    });
                }
                return;
            }
            Term::Switch(v, targets) => self.split_switch(b, *v, targets),
            Term::Exit => {
                if self.has_warp_sync {
                    let w = self.w;
                    let bits = self.bits(&mask);
                    let old = self.t.inst(format_args!("load i{w}, ptr %exited, align 8"));
                    let new = self.t.inst(format_args!("or i{w} {old}, {bits}"));
                    self.t.line(format_args!("store i{w} {new}, ptr %exited, align 8"));
                }
            }
            Term::Trap(_) | Term::Call(_) | Term::Return(_) => {
                self.trap(b);
                return;
            }
            Term::Barrier { kind: BarrierKind::Arrive, next, .. } => {
                self.arrive(b, term);
                self.go_masked(b, next, &mask);
            }
            Term::Barrier { next, .. } => {
                self.pass(b, next, Some(&mask));
                self.save(next.block, Some(&mask));
                self.arrive(b, term);
                self.t.line(format_args!("store i32 {}, ptr %parked, align 8", abi::PARKED));
            }
            Term::WarpSync { mask: named, next } => self.warp_sync(b, *named, next, &mask),
        }
        self.t.jump(&after);
    }

    /// Writes a block of a branch: what is made in it is not known in the other.
    pub(super) fn in_branch(&mut self, label: &str, write: impl FnOnce(&mut Self)) {
        let known = self.known.clone();
        self.t.label(label);
        write(self);
        self.known = known;
    }

    fn uniform_switch(&mut self, v: Value, targets: &[Target]) -> Vec<(String, Target)> {
        let v = self.scalar(v);
        let edges: Vec<(String, Target)> =
            targets.iter().map(|t| (self.t.fresh_label("case"), t.clone())).collect();
        let last = edges.last().map_or_else(String::new, |(label, _)| label.clone());
        let cases: String = edges[..edges.len() - 1]
            .iter()
            .enumerate()
            .map(|(i, (label, _))| format!(" i32 {i}, label %{label}"))
            .collect();
        self.t.line(format_args!("switch i32 {v}, label %{last} [{cases}]"));
        edges
    }

    /// Lanes part: those with the condition go one way, the others the other.
    fn split(&mut self, b: Block, condition: &str, yes: &Target, no: &Target) {
        let lanes = self.lanes();
        let not = self.t.inst(format_args!("xor {lanes} {condition}, {}", Text::constant(lanes, 1)));
        let (mut to_yes, mut to_no) = (condition.to_owned(), not);
        if let Some(mask) = self.mask.clone() {
            to_yes = self.t.inst(format_args!("and {lanes} {mask}, {to_yes}"));
            to_no = self.t.inst(format_args!("and {lanes} {mask}, {to_no}"));
        }
        let edges = [(yes.clone(), to_yes), (no.clone(), to_no)];
        self.go_apart(b, &edges);
    }

    fn split_switch(&mut self, b: Block, v: Value, targets: &[Target]) {
        let v = self.vector(v);
        let (lanes, ints) = (self.lanes(), Shape::new(Elem::I32, self.w));
        let mut rest = self.mask.clone().unwrap_or_else(|| Text::constant(lanes, 1));
        let mut edges = vec![];
        for (i, to) in targets.iter().enumerate() {
            if i + 1 == targets.len() {
                edges.push((to.clone(), rest));
                break;
            }
            let is = self.t.compare("icmp eq", ints, &v, &Text::constant(ints, i as u64));
            let here = self.t.inst(format_args!("and {lanes} {rest}, {is}"));
            let not = self.t.inst(format_args!("xor {lanes} {is}, {}", Text::constant(lanes, 1)));
            rest = self.t.inst(format_args!("and {lanes} {rest}, {not}"));
            edges.push((to.clone(), here));
        }
        self.go_apart(b, &edges);
    }

    /// Several edges taken at once by different lanes. All arguments are read before any parameter is written.
    pub(super) fn go_apart(&mut self, b: Block, edges: &[(Target, String)]) {
        if self.paths == Paths::Together {
            return self.hand_over_apart(b, edges);
        }
        let mut reads = vec![];
        for (to, _) in edges {
            reads.push(self.read_arguments(to));
        }
        for ((to, lanes), known) in edges.iter().zip(reads) {
            self.write_parameters(b, to, &known, Some(lanes));
            self.add_lanes(to.block, lanes);
        }
    }

    fn go_masked(&mut self, b: Block, to: &Target, lanes: &str) {
        self.pass(b, to, Some(lanes));
        self.add_lanes(to.block, lanes);
    }

    fn add_lanes(&mut self, to: Block, lanes: &str) {
        let shape = self.lanes();
        let waiting = self.load_mask(to);
        let all = self.t.inst(format_args!("or {shape} {waiting}, {lanes}"));
        self.store_mask(to, &all);
    }

    /// All lanes go to one block.
    pub(super) fn go_whole(&mut self, b: Block, to: &Target) {
        self.pass(b, to, None);
        if let Some(turn) = &self.turn {
            let (next, ends) = (turn.next.clone(), turn.ends.clone());
            if let Some(ends) = ends {
                self.take_fuel(self.cost(ends.header) * ends.turns);
                self.give_back(&ends.read);
            }
            return self.t.jump(&next);
        }
        let mut label = format!("u{}", to.block.0);
        self.ask_ahead_of_loop(b, to);
        if self.turns.contains_key(&to.block) && !self.plan.is_back_edge(b, to.block) {
            label.push_str(".0");
        }
        if self.plan.is_back_edge(b, to.block) {
            self.burn(to.block, &label, &format!("su{}", to.block.0));
        } else {
            self.t.jump(&label);
        }
    }

    pub(super) fn read_arguments(&mut self, to: &Target) -> Vec<super::Known> {
        let params = &self.func.block(to.block).params;
        params.iter().zip(&to.args).map(|(p, a)| self.read(*p, *a)).collect()
    }

    /// Hands the arguments of an edge to the block's parameters.
    fn pass(&mut self, b: Block, to: &Target, lanes: Option<&str>) {
        let known = self.read_arguments(to);
        self.write_parameters(b, to, &known, lanes);
    }

    pub(super) fn write_parameters(
        &mut self,
        b: Block,
        to: &Target,
        known: &[super::Known],
        lanes: Option<&str>,
    ) {
        let blend = lanes.filter(|_| self.others_need_parameters(b, to.block));
        for (p, known) in self.func.block(to.block).params.clone().into_iter().zip(known) {
            if self.in_step.contains_key(&p) && self.plan.is_back_edge(b, to.block) {
                self.move_on(p, &known.bases[0]);
                continue;
            }
            let lanes = if self.outlives_loop[p.index()] { lanes } else { blend };
            self.write(p, known, lanes);
        }
    }

    /// Whether lanes that do not take the edge `from → to` may still need the parameters of `to`: because they wait there
    /// already, having come another way or in an earlier iteration of a loop the edge leaves, or, when the edge leads back,
    /// because they are still in the loop's body.
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
        // The first to come there in every round finds nobody waiting.
        sources.iter().any(|s| position(*s) < at)
    }

    /// What comes after a block in the masked version: back to the header of a loop that ends here if lanes wait there, else the
    /// next block.
    fn after(&mut self, b: Block) {
        self.begin(b, None);
        self.t.label(&format!("a{}", b.0));
        let at = self.plan.position[b.index()];
        let w = self.w;
        let ending: Vec<Block> =
            self.plan.loops.iter().rev().filter(|l| l.last == at).map(|l| l.header).collect();
        for header in ending {
            let mask = self.load_mask(header);
            let bits = self.bits(&mask);
            let any = self.t.inst(format_args!("icmp ne i{w} {bits}, 0"));
            let (again, on) = (self.t.fresh_label("again"), self.t.fresh_label("on"));
            self.t.branch(&any, &again, &on);
            self.t.label(&again);
            self.burn(header, &format!("m{}", header.0), "suspend");
            self.t.label(&on);
        }
        self.t.jump(&self.next_masked(at));
    }

    /// Takes the cost of a loop's body off the budget, and goes on unless it is used up.
    fn burn(&mut self, header: Block, on: &str, stop: &str) {
        let left = self.take_fuel(self.cost(header));
        // Asked for its sign, which the subtraction tells.
        let mut enough = self.t.inst(format_args!("icmp sge i64 {left}, 0"));
        if self.waits(header) {
            let patience = self.t.inst(format_args!("load i32, ptr %patience, align 8"));
            let less = self.t.inst(format_args!("sub i32 {patience}, 1"));
            self.t.line(format_args!("store i32 {less}, ptr %patience, align 8"));
            let some = self.t.inst(format_args!("icmp sgt i32 {less}, 0"));
            enough = self.t.inst(format_args!("and i1 {enough}, {some}"));
        }
        self.t.branch_likely(&enough, on, stop);
    }

    /// What a turn of a loop takes off the budget.
    fn cost(&self, header: Block) -> usize {
        let body = self.plan.loops.iter().find(|l| l.header == header);
        body.map_or(1, |l| l.blocks.iter().map(|b| self.func.block(*b).insts.len() + 1).sum())
    }

    /// Takes something off the budget and answers what is left.
    fn take_fuel(&mut self, cost: usize) -> Reg {
        let fuel = self.t.inst(format_args!("load i64, ptr %fuel, align 8"));
        let left = self.t.inst(format_args!("sub i64 {fuel}, {cost}"));
        self.t.line(format_args!("store i64 {left}, ptr %fuel, align 8"));
        left
    }

    /// Whether lanes may go round a loop because of what other threads do. Such a loop must soon give way to them.
    fn waits(&self, header: Block) -> bool {
        self.plan.loops.iter().any(|l| l.header == header && l.waits)
    }

    fn trap(&mut self, b: Block) {
        let trap = self.callback("trap", offset_of!(Callbacks, trap));
        let lanes = self.running();
        self.t.line(format_args!("call void {trap}(ptr %ctx, i32 {}, i32 %lane0, {lanes})", b.0));
        self.t.jump("fault");
    }

    /// Tells the engine that the running lanes have come to the barrier that ends the block.
    pub(super) fn arrive(&mut self, b: Block, term: &Term) {
        let Term::Barrier { id, count, .. } = term else { return };
        let barrier = self.callback("barrier", offset_of!(Callbacks, barrier));
        let id = self.scalar(*id);
        let count = count.map_or_else(|| "-1".to_owned(), |count| self.scalar(count));
        let lanes = self.running();
        self.t.line(format_args!(
            "call void {barrier}(ptr %ctx, i32 {}, i32 %lane0, {lanes}, i32 {id}, i32 {count})",
            b.0
        ));
    }

    /// Lanes go on if all those they name are here or have exited, else they wait and the engine takes over.
    fn warp_sync(&mut self, b: Block, named: Value, next: &Target, mask: &str) {
        let w = self.w;
        let named = self.named_lanes(named, mask);
        let here = self.bits(mask);
        let exited = self.t.inst(format_args!("load i{w}, ptr %exited, align 8"));
        let settled = self.t.inst(format_args!("or i{w} {here}, {exited}"));
        let unsettled = self.t.inst(format_args!("xor i{w} {settled}, -1"));
        let missing = self.t.inst(format_args!("and i{w} {named}, {unsettled}"));
        let together = self.t.inst(format_args!("icmp eq i{w} {missing}, 0"));
        let (on, wait) = (self.t.fresh_label("together"), self.t.fresh_label("wait"));
        self.t.branch_likely(&together, &on, &wait);
        let after = format!("a{}", b.0);
        self.in_branch(&wait, |e| {
            e.pass(b, next, Some(mask));
            e.save(next.block, Some(mask));
            let callback = e.callback("warp_sync", offset_of!(Callbacks, warp_sync));
            let lanes = e.running();
            e.t.line(format_args!(
                "call void {callback}(ptr %ctx, i32 {}, i32 %lane0, {lanes}, i32 {named})",
                b.0
            ));
            e.t.line(format_args!("store i32 {}, ptr %parked, align 8", abi::PARKED));
            e.t.jump(&after);
        });
        self.t.label(&on);
        self.go_masked(b, next, mask);
    }
}
