//! Blocks that part of the lanes run while the others go round them: `if (tid < n) …`, as in every round of a tree.
//!
//! Where the condition compares what goes up by one from lane to lane with something uniform, the lanes that run the block are a range, and where
//! the block takes scalars and leaves nothing behind but what it stores, it can be run piece by piece: a piece is so many lanes, and what is
//! evenly spaced begins at its first. So there are no masks, registers that nobody needs are not gone over, and all lanes are together again behind
//! the block: they never come apart, unless a check fails. Where a single lane runs the block (`if (tid == 0) …`), whatever it takes is a scalar.
//!
//! A piece may end in the middle of a warp, whose lanes all read before any of them writes. So where a block reads what another of its lanes stores,
//! that must be a lane of a later piece: a distance behind, less than a group, counts as a check that fails.

use hostwarp_ir::{
    Block, Elem, Function, Inst, IntCmp, Op, Order, Space, Special, Target, Term, Type, Value, fold,
};
use hostwarp_plan::{Plan, Shape as Spread};

use std::collections::HashMap;
use std::ops::Range;

use super::paths::at_the_end;
use super::{Emitter, Known, Reg, Shape, Text, Unsupported, is_seen};

/// Lanes in a piece: as many of each size as fit go before the next. In a tree what a piece reads was stored as one, or is part of that, and so
/// need not be in memory yet.
const PIECES: [u32; 4] = [64, 16, 4, 1];

/// Instructions of a longer block are not written once for each size.
const LONGEST: usize = 64;

/// The pieces of so many lanes, where that is known: as large as may be.
fn pieces(lanes: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).rev().map(|bit| 1 << bit).filter(move |size| lanes & size != 0)
}

/// A block that a range of the lanes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) block: Block,
    /// Where all lanes go on.
    pub(super) next: Block,
    /// Goes up by one from lane to lane.
    first: Value,
    /// The same in all lanes.
    bound: Value,
    which: Which,
    /// How they are compared.
    signed: bool,
    /// What goes up is the number of a thread.
    is_tid: bool,
}

/// The lanes that run a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    /// Those below the bound, or not above it.
    Below { or_equal: bool },
    /// All but those below the bound, or not above it.
    Others { or_equal: bool },
    /// The one that equals it.
    Equal,
}

/// By block, the part that some of its lanes go to at its end. None where they hardly ever part: code for all of them will do.
/// `wraps` are values that may not be as evenly spaced as the plan says.
pub(super) fn find(func: &Function, plan: &Plan, wraps: &[bool]) -> Vec<Option<Part>> {
    let mut parts = vec![None; func.blocks.len()];
    if plan.assume.rows != 1 || !plan.order.iter().any(|b| plan.divergent[b.index()]) {
        return parts;
    }
    let (search, ends) = (Search::new(func, plan, wraps), at_the_end(func, plan));
    for b in plan.order.iter().filter(|b| plan.divergent[b.index()] && !ends[b.index()]) {
        parts[b.index()] = search.at(*b);
    }
    parts
}

/// What is looked at to find parts.
struct Search<'a> {
    func: &'a Function,
    plan: &'a Plan,
    /// How many edges lead to each block.
    sources: Vec<u32>,
    /// What makes each value.
    maker: Vec<Option<Op>>,
    /// Values that are needed at the start of some block.
    crosses: Vec<bool>,
    wraps: &'a [bool],
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, plan: &'a Plan, wraps: &'a [bool]) -> Search<'a> {
        let mut sources = vec![0; func.blocks.len()];
        let (mut maker, mut crosses) = (vec![None; func.types.len()], vec![false; func.types.len()]);
        for b in &plan.order {
            let data = func.block(*b);
            for t in data.term.targets() {
                sources[t.block.index()] += 1;
            }
            for i in &data.insts {
                if let Some(r) = i.result {
                    maker[r.index()] = Some(i.op);
                }
            }
            for v in &plan.live_in[b.index()] {
                crosses[v.index()] = true;
            }
        }
        Search { func, plan, sources, maker, crosses, wraps }
    }

    fn at(&self, b: Block) -> Option<Part> {
        let Search { func, plan, .. } = *self;
        let data = func.block(b);
        let Term::Branch(c, yes, no) = &data.term else { return None };
        let goes_on = |part: &Target, on: &Target| {
            let term = &func.block(part.block).term;
            let alone = self.sources[part.block.index()] == 1 && part.args.is_empty() && on.args.is_empty();
            alone && matches!(term, Term::Jump(to) if to.block == on.block && to.args.is_empty())
        };
        let (part, next, if_so) = if goes_on(yes, no) {
            (yes.block, no.block, true)
        } else if goes_on(no, yes) {
            (no.block, yes.block, false)
        } else {
            return None;
        };
        if plan.position[next.index()] <= plan.position[b.index()] || plan.suspends[part.index()] {
            return None;
        }
        let makes = |i: &&Inst| i.result == Some(*c);
        let Inst { op: Op::Cmp(op), args, .. } = data.insts.iter().find(makes)? else { return None };
        let [x, y] = args[..] else { return None };
        let uniform = |v: Value| plan.shape[v.index()] == Spread::Uniform;
        let by_one = |v: Value| {
            matches!(plan.shape[v.index()], Spread::Affine { stride: 1, may_wrap: false, by_row: false })
        };
        let (first, bound, even_first) = match (by_one(x) && uniform(y), uniform(x) && by_one(y)) {
            (true, _) => (x, y, true),
            (_, true) => (y, x, false),
            _ => return None,
        };
        if !matches!(func.ty(first), Type::I32 | Type::I64) {
            return None;
        }
        let ordered = |equal: bool| {
            // Something uniform below what goes up: all but those not above it.
            let or_equal = equal == even_first;
            if even_first == if_so { Which::Below { or_equal } } else { Which::Others { or_equal } }
        };
        let which = match op {
            IntCmp::LtU | IntCmp::LtS => ordered(false),
            IntCmp::LeU | IntCmp::LeS => ordered(true),
            IntCmp::Eq if if_so => Which::Equal,
            IntCmp::Ne if !if_so => Which::Equal,
            _ => return None,
        };
        // What may wrap is looked at before the block has been seen to do something. The number of a thread is far from where numbers end.
        let is_tid = plan.remat[first.index()]
            && matches!(self.maker[first.index()], Some(Op::Special(Special::Tid(_))));
        let can_stop = !data.insts.iter().any(|i| is_seen(&i.op));
        if which != Which::Equal && !can_stop && !is_tid {
            return None;
        }
        let signed = matches!(op, IntCmp::LtS | IntCmp::LeS);
        let part = Part { block: part, next, first, bound, which, signed, is_tid };
        // A single lane meets nobody.
        let ordered = which == Which::Equal || self.keeps_order(part.block);
        (ordered && self.suits(part.block, next, which == Which::Equal)).then_some(part)
    }

    /// Whether a block can be run piece by piece: it takes scalars, leaves nothing behind but what it stores, at its end, and accesses rows, or one
    /// place. A `single` lane has nothing but scalars.
    fn suits(&self, b: Block, next: Block, single: bool) -> bool {
        let Search { func, plan, .. } = *self;
        let insts = &func.block(b).insts;
        let results: Vec<Value> = insts.iter().filter_map(|i| i.result).collect();
        let constant =
            |v: Value| plan.remat[v.index()] && matches!(self.maker[v.index()], Some(Op::Const(_)));
        let even = |v: Value| match plan.shape[v.index()] {
            Spread::Uniform => true,
            Spread::Affine { by_row, .. } => !by_row && !self.wraps[v.index()],
            Spread::Varying => constant(v),
        };
        let taken = |v: &Value| results.contains(v) || if single { !self.wraps[v.index()] } else { even(*v) };
        let simple = |i: &Inst| match i.op {
            Op::Load(mem) | Op::Store(mem) => mem.order == Order::Weak && mem.space != Space::Local,
            Op::Special(_) => false,
            op => op.is_pure(),
        };
        let row_or_one = |i: &Inst| {
            let size = match (i.op, i.result, i.args.get(1)) {
                (Op::Load(_), Some(v), _) | (Op::Store(_), _, Some(&v)) => func.ty(v).bytes() as i64,
                _ => return false,
            };
            match i.args.first().map(|at| plan.shape[at.index()]) {
                _ if single => true,
                Some(Spread::Uniform) => true,
                Some(Spread::Affine { stride, .. }) => stride == size,
                _ => false,
            }
        };
        let live = |b: Block| &plan.live_in[b.index()];
        let mut memory = insts.iter().filter(|i| matches!(i.op, Op::Load(_) | Op::Store(_))).rev();
        // All of it is written four times.
        insts.len() <= LONGEST
            && results.iter().all(|r| !self.crosses[r.index()] && !self.wraps[r.index()])
            && insts.iter().all(|i| simple(i) && i.args.iter().chain(&i.guard).all(taken))
            && memory.next().is_some_and(|last| is_seen(&last.op) && row_or_one(last))
            && memory.all(|i| !is_seen(&i.op) && row_or_one(i))
            && live(next).iter().all(|v| live(b).contains(v))
    }
}

/// A block's store, the last of its accesses, and the loads before it that may read what other lanes store there.
fn meetings(insts: &[Inst]) -> Option<(&Inst, Vec<&Inst>)> {
    let last = insts.iter().rev().find(|i| matches!(i.op, Op::Store(_)))?;
    let space = |i: &Inst| match i.op {
        Op::Load(mem) | Op::Store(mem) => Some(mem.space),
        _ => None,
    };
    let meets = |i: &&Inst| match (space(i), space(last)) {
        (Some(Space::Const | Space::Param) | None, _) => false,
        (Some(from), Some(to)) => from == to || [from, to].contains(&Space::Generic),
        (_, None) => false,
    };
    Some((last, insts.iter().filter(|i| matches!(i.op, Op::Load(_))).filter(meets).collect()))
}

impl Search<'_> {
    /// Whether it can be told when running that no lane reads what one of an earlier piece has stored: both are rows, of words of one size, so that they
    /// are as far apart in all lanes.
    fn keeps_order(&self, b: Block) -> bool {
        let Some((store, loads)) = meetings(&self.func.block(b).insts) else { return true };
        let (at, of) = (store.args[0], self.func.ty(store.args[1]));
        loads.iter().all(|load| {
            let rows = [load.args[0], at].map(|v| self.plan.shape[v.index()]);
            let size = load.result.map(|r| self.func.ty(r).bytes());
            rows.iter().all(|shape| matches!(shape, Spread::Affine { .. }))
                && size == Some(of.bytes())
                && self.func.ty(load.args[0]) == self.func.ty(at)
        })
    }
}

impl Emitter<'_> {
    /// Runs the lanes of a part at the end of a block that all have run, and goes on with all.
    pub(super) fn run_part(&mut self, b: Block, part: Part) -> Result<(), Unsupported> {
        // Once for each turn of a loop, perhaps.
        let name = self.t.fresh_label(&format!("part{}", part.block.0));
        let (at, end) = (format!("%{name}.at"), format!("%{name}.end"));
        for slot in [&at, &end] {
            self.entry.push_str(&format!("  {slot} = alloca i32, align 8\n"));
        }
        let known = self.turn.as_ref().and_then(|turn| self.known_lanes_of(part, &turn.known));
        let (from, to) = match &known {
            Some(lanes) => (lanes.start.to_string(), lanes.end.to_string()),
            None => self.lanes_of(part),
        };
        self.t.line(format_args!("store i32 {from}, ptr {at}, align 8"));
        self.t.line(format_args!("store i32 {to}, ptr {end}, align 8"));
        let label = |size: &str| format!("{name}.{size}");
        let [done, fails] = ["done", "fails"].map(label);
        if let Some(lanes) = known {
            let mut from = lanes.start as u64;
            for size in pieces(lanes.len() as u32) {
                self.piece_from = from;
                self.piece(part, size, &at, &fails)?;
                self.go_forward(&at, size);
                from += u64::from(size);
            }
            self.piece_from = 0;
            self.t.jump(&done);
            return self.end_part(b, part, [&at, &end], [&done, &fails]);
        }
        let most = if part.which == Which::Equal { 1 } else { self.w };
        let sizes: Vec<u32> = PIECES.into_iter().filter(|size| *size <= most).collect();
        self.t.jump(&label(&sizes[0].to_string()));
        for (n, size) in sizes.iter().enumerate() {
            let (next, piece) = (label(&size.to_string()), label(&format!("{size}.run")));
            let rest = sizes.get(n + 1).map_or_else(|| done.clone(), |size| label(&size.to_string()));
            self.t.label(&next);
            let left = self.lanes_left(&at, &end);
            let enough = self.t.inst(format_args!("icmp uge i32 {left}, {size}"));
            self.t.branch(&enough, &piece, &rest);
            self.t.label(&piece);
            self.piece(part, *size, &at, &fails)?;
            self.go_forward(&at, *size);
            self.t.jump(&next);
        }
        self.end_part(b, part, [&at, &end], [&done, &fails])
    }

    /// What comes after a part, and where it leads if a check fails.
    fn end_part(
        &mut self,
        b: Block,
        part: Part,
        [at, end]: [&str; 2],
        [done, fails]: [&str; 2],
    ) -> Result<(), Unsupported> {
        if self.t.goes_to(fails, 0) {
            self.t.label(fails);
            self.part_fails(b, part, at, end);
        }
        self.begin(part.block, None);
        self.t.label(done);
        self.go_whole(part.block, &Target { block: part.next, args: Default::default() });
        Ok(())
    }

    /// The lanes of a part, if they are known.
    pub(super) fn known_lanes_of(&self, part: Part, known: &HashMap<Value, u64>) -> Option<Range<usize>> {
        let ty = self.ty(part.first);
        let [first, bound] = [part.first, part.bound].map(|v| self.first_lane(v, known));
        let (first, bound) = (first?, bound?);
        let compare = |op: IntCmp, lane: u64| {
            let args = [first.wrapping_add(lane) & ty.elem.mask(), bound];
            fold::evaluate(Op::Cmp(op), ty, Type::I1, &args).map(|is| is != 0)
        };
        let runs = |lane: u64| {
            Some(match (part.which, part.signed) {
                (Which::Equal, _) => compare(IntCmp::Eq, lane)?,
                (Which::Below { or_equal: false }, false) => compare(IntCmp::LtU, lane)?,
                (Which::Below { or_equal: false }, true) => compare(IntCmp::LtS, lane)?,
                (Which::Below { or_equal: true }, false) => compare(IntCmp::LeU, lane)?,
                (Which::Below { or_equal: true }, true) => compare(IntCmp::LeS, lane)?,
                (Which::Others { or_equal: false }, false) => !compare(IntCmp::LtU, lane)?,
                (Which::Others { or_equal: false }, true) => !compare(IntCmp::LtS, lane)?,
                (Which::Others { or_equal: true }, false) => !compare(IntCmp::LeU, lane)?,
                (Which::Others { or_equal: true }, true) => !compare(IntCmp::LeS, lane)?,
            })
        };
        let lanes: Vec<usize> =
            (0..self.w as usize).filter_map(|n| runs(n as u64).map(|is| is.then_some(n))).flatten().collect();
        let (Some(&from), Some(&last)) = (lanes.first(), lanes.last()) else { return Some(0..0) };
        (last - from + 1 == lanes.len()).then_some(from..last + 1)
    }

    /// From which lane to which, as 32 bits.
    fn lanes_of(&mut self, part: Part) -> (Reg, Reg) {
        let (w, one) = (u64::from(self.w), self.one(self.ty(part.first)));
        let (first, bound) = (self.scalar(part.first), self.scalar(part.bound));
        let narrow = |e: &mut Self, count: &str| e.t.convert("trunc", one, count, I32);
        let less = self.t.binary("sub", one, &bound, &first);
        let or_equal = match part.which {
            Which::Equal => {
                let there = self.t.compare("icmp ult", one, &less, &Text::constant(one, w));
                let lane = narrow(self, &less);
                let from = self.t.inst(format_args!("select i1 {there}, i32 {lane}, i32 0"));
                let count = self.t.inst(format_args!("zext i1 {there} to i32"));
                let to = self.t.inst(format_args!("add i32 {from}, {count}"));
                return (from, to);
            }
            Which::Below { or_equal } | Which::Others { or_equal } => or_equal,
        };
        let order = |name: &str| format!("icmp {}{name}", if part.signed { 's' } else { 'u' });
        if !part.is_tid
            && let Some(careful) = self.careful.clone()
        {
            let last = self.t.binary("add", one, &first, &Text::constant(one, w - 1));
            let even = self.t.compare(&order("le"), one, &first, &last);
            let on = self.t.fresh_label("even");
            self.t.branch_likely(&even, &on, &careful);
            self.t.label(&on);
        }
        // Of the lanes from the first on, all that are less than so many above it.
        let (none, most) = if or_equal { ("lt", w - 1) } else { ("le", w) };
        let none = self.t.compare(&order(none), one, &bound, &first);
        let suffix = one.suffix();
        let most = Text::constant(one, most);
        let mut count = self.t.intrinsic(&format!("umin.{suffix}"), one, &[(one, &less), (one, &most)]);
        if or_equal {
            count = self.t.binary("add", one, &count, "1");
        }
        let count = narrow(self, &count);
        let count = self.t.inst(format_args!("select i1 {none}, i32 0, i32 {count}"));
        match part.which {
            Which::Others { .. } => (count, w.to_string()),
            _ => ("0".into(), count),
        }
    }

    fn lanes_left(&mut self, at: &str, end: &str) -> Reg {
        let [at, end] = [at, end].map(|slot| self.t.inst(format_args!("load i32, ptr {slot}, align 8")));
        self.t.inst(format_args!("sub i32 {end}, {at}"))
    }

    fn go_forward(&mut self, slot: &str, by: u32) {
        let at = self.t.inst(format_args!("load i32, ptr {slot}, align 8"));
        let next = self.t.inst(format_args!("add i32 {at}, {by}"));
        self.t.line(format_args!("store i32 {next}, ptr {slot}, align 8"));
    }

    /// Writes a block for so many lanes from the one in `at` on. Where a check fails it has done nothing yet.
    fn piece(&mut self, part: Part, lanes: u32, at: &str, fails: &str) -> Result<(), Unsupported> {
        let b = part.block;
        self.begin(b, None);
        let insts = &self.func.block(b).insts;
        let at = self.t.inst(format_args!("load i32, ptr {at}, align 8"));
        let mut taken: HashMap<Value, Known> = HashMap::new();
        for v in insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)) {
            let made_here = self.maker[v.index()].is_some_and(|(maker, _)| maker == b);
            if made_here || self.constant(*v).is_some() || taken.contains_key(v) {
                continue;
            }
            let one = self.one(self.ty(*v));
            let base = match self.spread(*v) {
                Spread::Uniform => self.scalar(*v),
                Spread::Affine { stride, .. } => {
                    let extend = if one.elem.bits() < 32 { "trunc" } else { "zext" };
                    let lane = self.t.convert(extend, I32, &at, one);
                    let stride = Text::constant(one, stride as u64 & one.elem.mask());
                    let further = self.t.binary("mul", one, &lane, &stride);
                    let first = self.scalar(*v);
                    self.t.binary("add", one, &first, &further)
                }
                Spread::Varying => {
                    let vector = self.vector(*v);
                    let lane = self.t.inst(format_args!("zext i32 {at} to i64"));
                    self.lane_of(self.ty(*v), &vector, &lane)
                }
            };
            taken.insert(*v, Known { bases: vec![base], ..Known::default() });
        }
        self.begin(b, None);
        self.known = taken;
        let w = std::mem::replace(&mut self.w, lanes);
        self.careful = Some(fails.to_owned());
        self.find_joint_checks();
        // What is held is read and written in one piece.
        let meetings = meetings(insts).filter(|_| part.which != Which::Equal && self.holding.is_none());
        for (index, inst) in insts.iter().enumerate() {
            if let Some((_, loads)) = meetings.as_ref().filter(|(store, _)| std::ptr::eq(*store, inst)) {
                self.unless_behind(inst, loads, w, fails);
            }
            self.inst(index, inst)?;
        }
        self.w = w;
        self.begin(b, None);
        Ok(())
    }

    /// Goes on to a store unless one of some loads has read what lanes before it in a group of `w` store.
    fn unless_behind(&mut self, store: &Inst, loads: &[&Inst], w: u32, fails: &str) {
        let group = u64::from(w) * self.ty(store.args[1]).bytes() as u64;
        for load in loads.iter().filter(|load| load.args[0] != store.args[0]) {
            let one = self.one(self.ty(load.args[0]));
            let (from, to) = (self.scalar(load.args[0]), self.scalar(store.args[0]));
            let distance = self.t.binary("sub", one, &from, &to);
            // From one byte behind to one less than a group.
            let above = self.t.binary("add", one, &distance, &Text::constant(one, group - 1));
            let fine = self.t.compare("icmp uge", one, &above, &Text::constant(one, group - 1));
            let on = self.t.fresh_label("ahead");
            self.t.branch_likely(&fine, &on, fails);
            self.t.label(&on);
        }
    }

    /// A check has failed: the lanes of the part that have not run it yet are at its start, all others behind it.
    fn part_fails(&mut self, b: Block, part: Part, at: &str, end: &str) {
        self.begin(part.block, None);
        let (lanes, each) = (self.lanes(), I32.times(self.w));
        let numbers = Text::list(Elem::I32, (0..self.w).map(u64::from));
        let [at, end] = [at, end].map(|slot| {
            let number = self.t.inst(format_args!("load i32, ptr {slot}, align 8"));
            self.t.repeat(I32, &number, self.w)
        });
        let begun = self.t.compare("icmp ule", each, &at, &numbers);
        let ends = self.t.compare("icmp ult", each, &numbers, &end);
        let to_part = self.t.binary("and", lanes, &begun, &ends);
        let to_next = self.t.binary("xor", lanes, &to_part, &Text::constant(lanes, 1));
        let to = |block| Target { block, args: Default::default() };
        let edges = [(to(part.block), to_part), (to(part.next), to_next)];
        if edges.iter().all(|(to, _)| self.masked[to.block.index()]) {
            self.come_apart();
            self.go_apart(b, &edges);
            self.go_on_apart(b);
        } else {
            self.hand_over_apart(b, &edges);
        }
    }
}

const I32: Shape = Shape { elem: Elem::I32, n: 1 };
