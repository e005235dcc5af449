//! How values differ between lanes, and where control may split them.
//!
//! A fixed point from below: every value starts as unknown, and only goes from there to uniform or affine and on to varying;
//! branches only go from uniform to divergent. What has to be looked at (again) is kept as a set of steps in the order of blocks, and the
//! first of them is always the next: so blocks have their labels ([`crate::control`]) before anybody asks, an inner cycle is done before
//! what is behind it, and the whole takes time with what changes.

use crate::control::{Control, Edge, Lists, leaves_too_many};
use crate::{Assume, Invariance, Loop, Shape};
use hostwarp_ir::eval::eval_op;
use hostwarp_ir::{
    Axis, Block, Elem, Function, Inst, IntBin, IntCmp, IntUn, Op, Space, Special, Term, Type, Value,
};

pub(crate) struct Shapes {
    pub(crate) shape: Vec<Shape>,
    /// By block.
    pub(crate) divergent: Vec<bool>,
    /// By block.
    pub(crate) masked: Vec<bool>,
    /// By loop: some lanes may leave while others go round.
    pub(crate) split: Vec<bool>,
    /// By value: sync or temporal divergence.
    pub(crate) by_control: Vec<bool>,
}

/// Something to be looked at; blocks by position.
#[derive(Clone, Copy)]
enum Step {
    /// Where the lanes of a block come from.
    Label(u32),
    /// A parameter.
    Param(Value),
    /// An instruction of a block that has a result.
    Inst(u32, u32),
    /// Where a block's lanes go.
    Term(u32),
    /// The exits of a cycle whose last block comes before this.
    Close(u32),
}

/// What a parameter may get.
#[derive(Clone, Copy)]
struct Handed {
    arg: Value,
    back: bool,
}

/// A set of steps, which hands out its first. A bit for each, and one for each word of bits.
struct Pending {
    bits: Vec<u64>,
    words: Vec<u64>,
    /// No word of `words` before this one has a bit.
    first: usize,
}

impl Pending {
    fn all(len: usize) -> Pending {
        let ones = |len: usize| -> Vec<u64> {
            let mut words = vec![u64::MAX; len.div_ceil(64)];
            if let (Some(last), rest @ 1..) = (words.last_mut(), len % 64) {
                *last = (1 << rest) - 1;
            }
            words
        };
        let bits = ones(len);
        Pending { words: ones(bits.len()), bits, first: 0 }
    }

    fn add(&mut self, step: u32) {
        let word = step as usize / 64;
        self.bits[word] |= 1 << (step % 64);
        self.words[word / 64] |= 1 << (word % 64);
        self.first = self.first.min(word / 64);
    }

    fn pop(&mut self) -> Option<usize> {
        while *self.words.get(self.first)? == 0 {
            self.first += 1;
        }
        let word = self.first * 64 + self.words[self.first].trailing_zeros() as usize;
        let bit = self.bits[word].trailing_zeros() as usize;
        self.bits[word] &= self.bits[word] - 1;
        if self.bits[word] == 0 {
            self.words[self.first] &= !(1 << (word % 64));
        }
        Some(word * 64 + bit)
    }
}

struct Analysis<'a> {
    func: &'a Function,
    order: &'a [Block],
    position: &'a [u32],
    loops: &'a [Loop],
    loop_of: &'a [Option<usize>],
    assume: Assume,
    invariance: &'a [Invariance],
    /// By block: whoever runs it sees to it that all lanes go the same way at its end.
    taken: &'a [bool],
    /// Nothing is computed of control ([`crate::control`]).
    worst: bool,
    control: Control<'a>,
    constant: Vec<Option<u64>>,
    /// `tid.x` and the like: each row's first lane has a multiple of the row's length, and the others follow.
    number: Vec<bool>,
    home: Vec<Option<Block>>,
    /// By parameter: what it is handed, and whether it gets different values by different edges forward, and back.
    handed: Vec<Vec<Handed>>,
    mixed: Vec<[bool; 2]>,
    /// Loops that a value is defined in and used outside of, with the position of the use.
    escapes: Vec<Vec<(usize, usize)>>,
    /// By loop: the values that do.
    escaping: Vec<Vec<Value>>,
    shape: Vec<Option<Shape>>,
    steps: Vec<Step>,
    pending: Pending,
    /// By position: the step that looks at its label; the parameters are next.
    label_step: Vec<u32>,
    /// By position.
    term_step: Vec<u32>,
    /// By loop.
    close_step: Vec<u32>,
    /// By value: the step that defines it.
    step_of: Vec<u32>,
    /// By value: the steps that use it.
    users: Lists,
}

#[allow(clippy::too_many_arguments)]
pub(crate) fn shapes(
    func: &Function,
    order: &[Block],
    position: &[u32],
    loops: &[Loop],
    loop_of: &[Option<usize>],
    assume: Assume,
    invariance: &[Invariance],
    taken: &[bool],
) -> Shapes {
    let len = func.types.len();
    let worst = leaves_too_many(func, order, position, loops, loop_of);
    let mut a = Analysis {
        func,
        order,
        position,
        loops,
        loop_of,
        assume,
        invariance,
        taken,
        worst,
        control: Control::new(func, order, position, loops, loop_of, worst),
        constant: vec![None; len],
        number: vec![false; len],
        home: vec![None; len],
        handed: vec![vec![]; len],
        mixed: vec![[false; 2]; len],
        escapes: vec![vec![]; len],
        escaping: vec![vec![]; loops.len()],
        shape: vec![None; len],
        steps: vec![],
        pending: Pending::all(0),
        label_step: vec![],
        term_step: vec![],
        close_step: vec![0; loops.len()],
        step_of: vec![u32::MAX; len],
        users: Lists::new(0, std::iter::empty()),
    };
    a.prepare();
    a.find_steps();
    while let Some(step) = a.pending.pop() {
        crate::poll();
        a.step(a.steps[step]);
    }
    #[cfg(debug_assertions)]
    a.check_fixed_point();
    let by_control = a.diverge_by_control();
    let masked = a.control.masked();
    let by_block = |flag: &dyn Fn(usize) -> bool| {
        position.iter().map(|at| *at != u32::MAX && flag(*at as usize)).collect()
    };
    Shapes {
        shape: a.shape.iter().map(|s| s.unwrap_or(Shape::Varying)).collect(),
        divergent: by_block(&|at| a.control.is_divergent(at)),
        masked: by_block(&|at| masked[at]),
        split: (0..loops.len()).map(|l| a.control.is_split(l)).collect(),
        by_control,
    }
}

impl Analysis<'_> {
    /// Nothing changes if everything is looked at once more: whoever changes something has named all that depends on it.
    #[cfg(debug_assertions)]
    fn check_fixed_point(&mut self) {
        for l in 0..self.loops.len() {
            assert!(!self.control.close(l), "the cycle at position {} has changed", self.loops[l].first);
        }
        for at in 0..self.order.len() {
            assert_eq!(
                self.control.relabel(at),
                (false, false),
                "the label of {} has changed",
                self.order[at]
            );
        }
    }

    fn prepare(&mut self) {
        for b in self.order {
            let data = self.func.block(*b);
            for p in &data.params {
                self.home[p.index()] = Some(*b);
            }
            for i in &data.insts {
                if let Some(r) = i.result {
                    self.home[r.index()] = Some(*b);
                    self.constant[r.index()] = self.fold(i);
                    self.number[r.index()] = match i.op {
                        Op::Special(Special::Tid(Axis::X)) => self.assume.contiguous_x,
                        Op::Special(Special::LaneId) => self.assume.group <= 32,
                        _ => false,
                    };
                }
            }
        }
        for b in self.order {
            for t in self.func.block(*b).term.targets() {
                let back = self.position[t.block.index()] <= self.position[b.index()];
                for (p, arg) in self.func.block(t.block).params.iter().zip(&t.args) {
                    let handed = &mut self.handed[p.index()];
                    let other = handed.iter().find(|h| h.back == back);
                    self.mixed[p.index()][usize::from(back)] |= other.is_some_and(|h| h.arg != *arg);
                    // One of each is enough.
                    if other.is_none_or(|h| h.arg != *arg) {
                        handed.push(Handed { arg: *arg, back });
                    }
                }
            }
        }
        for b in self.order {
            let data = self.func.block(*b);
            let mut uses: Vec<Value> = data.term.uses().to_vec();
            uses.extend(data.term.targets().iter().flat_map(|t| t.args.iter().copied()));
            uses.extend(data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard).copied()));
            uses.sort_unstable();
            uses.dedup();
            for v in uses {
                if self.invariance[v.index()] != Invariance::None {
                    continue;
                }
                let at = self.position[b.index()] as usize;
                for l in self.left(v, *b) {
                    self.escapes[v.index()].push((l, at));
                    if self.escaping[l].last() != Some(&v) {
                        self.escaping[l].push(v);
                    }
                }
            }
        }
    }

    /// Lists the steps in order, and who waits for whom.
    fn find_steps(&mut self) {
        let mut closes: Vec<Vec<u32>> = vec![vec![]; self.order.len()];
        // Inner before outer.
        for (l, described) in self.loops.iter().enumerate().rev() {
            closes[described.last as usize].push(l as u32);
        }
        for (at, b) in self.order.iter().enumerate() {
            let data = self.func.block(*b);
            self.label_step.push(self.steps.len() as u32);
            self.steps.push(Step::Label(at as u32));
            for p in &data.params {
                self.step_of[p.index()] = self.steps.len() as u32;
                self.steps.push(Step::Param(*p));
            }
            for (n, r) in data.insts.iter().enumerate().filter_map(|(n, i)| i.result.map(|r| (n, r))) {
                self.step_of[r.index()] = self.steps.len() as u32;
                self.steps.push(Step::Inst(at as u32, n as u32));
            }
            self.term_step.push(self.steps.len() as u32);
            self.steps.push(Step::Term(at as u32));
            for l in &closes[at] {
                self.close_step[*l as usize] = self.steps.len() as u32;
                self.steps.push(Step::Close(*l));
            }
        }
        self.pending = Pending::all(self.steps.len());
        let mut uses: Vec<(usize, u32)> = vec![];
        for (at, b) in self.order.iter().enumerate() {
            let data = self.func.block(*b);
            for i in &data.insts {
                let Some(r) = i.result else { continue };
                let step = self.step_of[r.index()];
                uses.extend(i.args.iter().chain(&i.guard).map(|a| (a.index(), step)));
            }
            uses.extend(data.term.uses().iter().map(|v| (v.index(), self.term_step[at])));
            for p in &data.params {
                let step = self.step_of[p.index()];
                uses.extend(self.handed[p.index()].iter().map(|h| (h.arg.index(), step)));
            }
        }
        self.users = Lists::new(self.func.types.len(), uses.iter().copied());
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Label(at) => {
                let at = at as usize;
                let was_wild = self.control.headed(at).is_some_and(|l| self.control.is_wild(l));
                let (joins, label) = self.control.relabel(at);
                if joins {
                    self.params_of(at);
                }
                if label {
                    self.lanes_leave(at);
                    for meets in self.control.restored_from(at) {
                        self.pending.add(self.label_step[meets]);
                    }
                }
                let Some(l) = self.control.headed(at).filter(|_| label) else { return };
                self.exits_change(l);
                if self.control.is_wild(l) && !was_wild {
                    for inside in at..=self.loops[l].last as usize {
                        self.pending.add(self.label_step[inside]);
                    }
                }
            }
            Step::Param(p) => {
                let mut new = None;
                for n in 0..self.handed[p.index()].len() {
                    let handed = self.handed[p.index()][n];
                    new = either(new, self.arrives(p, handed));
                }
                self.raise(p, new);
            }
            Step::Inst(at, n) => {
                let func = self.func;
                let i = &func.block(self.order[at as usize]).insts[n as usize];
                if let Some(r) = i.result {
                    let new = self.result(i);
                    self.raise(r, new);
                }
            }
            Step::Term(at) => {
                let func = self.func;
                let b = self.order[at as usize];
                let taken = self.taken.get(b.index()) == Some(&true);
                if !taken && !self.control.is_divergent(at as usize) && self.diverges(&func.block(b).term) {
                    self.control.set_divergent(at as usize);
                    self.lanes_leave(at as usize);
                }
            }
            Step::Close(l) => {
                let l = l as usize;
                if !self.control.close(l) {
                    return;
                }
                self.params_of(self.loops[l].first as usize);
                self.exits_change(l);
                for v in &self.escaping[l] {
                    self.pending.add(self.step_of[v.index()]);
                }
            }
        }
    }

    /// Lanes leave a cycle in another way than before.
    fn exits_change(&mut self, l: usize) {
        for n in 0..self.control.exits_of(l).len() {
            let Edge { from, to } = self.control.edges[self.control.exits_of(l)[n] as usize];
            self.lanes_arrive(from, to);
            self.params_of(to);
        }
        if let Some(parent) = self.loops[l].parent {
            self.pending.add(self.close_step[parent]);
        }
    }

    /// The parameters of a block have to be looked at again.
    fn params_of(&mut self, at: usize) {
        for p in &self.func.block(self.order[at]).params {
            self.pending.add(self.step_of[p.index()]);
        }
    }

    /// Lanes leave a block in another way than before.
    fn lanes_leave(&mut self, at: usize) {
        if self.worst {
            return;
        }
        for e in self.control.edges_from(at) {
            let to = self.control.edges[e].to;
            self.lanes_arrive(at, to);
            for l in self.control.around(at) {
                self.pending.add(self.close_step[l]);
                if self.loops[l].contains(to) {
                    break;
                }
            }
        }
    }

    /// Lanes come to a block, and to the cycles it is in, in another way than before.
    fn lanes_arrive(&mut self, from: usize, to: usize) {
        self.pending.add(self.label_step[to]);
        for l in self.control.around(to).take_while(|l| !self.loops[*l].contains(from)) {
            self.pending.add(self.label_step[self.loops[l].first as usize]);
        }
    }

    /// The value of a scalar that depends on constants alone.
    fn fold(&self, i: &Inst) -> Option<u64> {
        if let Op::Const(bits) = i.op {
            return Some(bits);
        }
        let result = self.func.ty(i.result?);
        let types: Vec<Type> = i.args.iter().map(|a| self.func.ty(*a)).collect();
        if i.args.is_empty() || result.count != 1 || types.iter().any(|t| t.count != 1) {
            return None;
        }
        let known: Option<Vec<[u64; 1]>> =
            i.args.iter().map(|a| self.constant[a.index()].map(|c| [c])).collect();
        let known = known?;
        let args: Vec<&[u64]> = known.iter().map(|c| c.as_slice()).collect();
        eval_op(i.op, &args, &types, result, 1).map(|r| r[0])
    }

    /// The loops around a value's definition that do not contain the block.
    fn left(&self, v: Value, block: Block) -> Vec<usize> {
        let at = self.position[block.index()];
        let mut out = vec![];
        let mut l = self.home[v.index()].and_then(|h| self.loop_of[h.index()]);
        while let Some(i) = l {
            let around = &self.loops[i];
            if (around.first..=around.last).contains(&at) {
                break;
            }
            out.push(i);
            if self.worst {
                // One is as bad as all of them.
                break;
            }
            l = around.parent;
        }
        out
    }

    /// What a parameter gets from an argument.
    fn arrives(&mut self, param: Value, handed: Handed) -> Option<Shape> {
        let shape = self.shape[handed.arg.index()]?;
        Some(if self.arrives_apart(param, handed)? { Shape::Varying } else { shape })
    }

    /// Whether lanes bring a parameter different values because they come different ways, or from different iterations.
    fn arrives_apart(&mut self, param: Value, handed: Handed) -> Option<bool> {
        let Handed { arg, back } = handed;
        let to = self.home[param.index()]?;
        let at = self.position[to.index()] as usize;
        // By different edges at the same time.
        if self.control.is_join(at, back) && self.mixed[param.index()][usize::from(back)] {
            return Some(true);
        }
        // Kept once for all, it would be overwritten while others need it.
        if back && arg != param && self.control.is_overtaken(at) {
            return Some(true);
        }
        // Lanes that leave a loop at different times take different values along.
        let invariant = self.invariance[arg.index()] != Invariance::None;
        Some(!invariant && self.left(arg, to).iter().any(|l| self.control.comes_from(*l, at)))
    }

    /// By value, whether control makes it differ between lanes, whatever it is computed from.
    fn diverge_by_control(&mut self) -> Vec<bool> {
        let mut by_control: Vec<bool> =
            (0..self.shape.len()).map(|v| self.is_taken_apart(Value(v as u32))).collect();
        for b in self.order {
            for p in &self.func.block(*b).params {
                let apart = (0..self.handed[p.index()].len())
                    .any(|n| self.arrives_apart(*p, self.handed[p.index()][n]) == Some(true));
                by_control[p.index()] |= apart;
            }
        }
        by_control
    }

    /// Whether lanes take it out of a loop that they leave at different times.
    fn is_taken_apart(&mut self, v: Value) -> bool {
        let control = &mut self.control;
        self.escapes[v.index()].iter().any(|(l, at)| control.comes_from(*l, *at))
    }

    /// Joins a shape into a value's.
    fn raise(&mut self, v: Value, new: Option<Shape>) {
        let old = self.shape[v.index()];
        let mut joined = either(old, new);
        if joined.is_some_and(|s| s != Shape::Varying) && self.is_taken_apart(v) {
            joined = Some(Shape::Varying);
        }
        if joined != old {
            self.shape[v.index()] = joined;
            for step in self.users.of(v.index()) {
                self.pending.add(*step);
            }
        }
    }

    fn diverges(&self, term: &Term) -> bool {
        let same = |v: Value| matches!(self.shape[v.index()], None | Some(Shape::Uniform));
        match term {
            Term::Branch(v, ..) | Term::Switch(v, _) => !same(*v) && term.only().is_none(),
            _ => false,
        }
    }

    /// What becomes of a lane's number where it is split into that of a warp and that in the warp, `tid.x >> 5` and `tid.x & 31`, or the like: all
    /// lanes of a row have the same upper part, and the lower part is the number of the lane in the row, after that of the row's first lane.
    fn of_number(&self, op: IntBin, args: &[Value]) -> Option<(i64, bool)> {
        let row = u64::from(self.assume.row());
        let [number, by] = args else { return None };
        if !self.number[number.index()] || !row.is_power_of_two() {
            return None;
        }
        let by = self.constant[by.index()]?;
        let rows = by != 0 && by.is_multiple_of(row);
        let stride = match op {
            IntBin::And if by & (row - 1) == row - 1 => 1,
            IntBin::And if by & (row - 1) == 0 => 0,
            IntBin::ShrU | IntBin::ShrS if 1u64.checked_shl(by.min(64) as u32).is_none_or(|by| by >= row) => {
                0
            }
            IntBin::DivU if rows => 0,
            IntBin::RemU if rows => 1,
            // Numbers of lanes are not negative.
            IntBin::DivS if rows && by <= i32::MAX as u64 => 0,
            IntBin::RemS if rows && by <= i32::MAX as u64 => 1,
            _ => return None,
        };
        match self.shape[number.index()]? {
            Shape::Affine { by_row, .. } => Some((stride, by_row)),
            _ => None,
        }
    }

    /// The shape of an instruction's result; none as long as an argument is unknown.
    fn result(&self, i: &Inst) -> Option<Shape> {
        use Shape::{Affine, Uniform, Varying};
        let mut shapes = smallvec::SmallVec::<[Shape; 4]>::new();
        for a in i.args.iter().chain(&i.guard) {
            shapes.push(self.shape[a.index()]?);
        }
        if self.assume.is_one_thread() {
            return Some(Uniform);
        }
        let elem = i.result.map_or(Elem::I32, |r| self.func.ty(r).elem);
        let constant = |n: usize| self.constant[i.args[n].index()];
        let in_warp = self.assume.group <= 32;
        let uniform = shapes.iter().all(|s| *s == Uniform);
        let rows = self.assume.rows > 1;
        let affine = |stride: i64, may_wrap: bool, by_row: bool| affine(stride, may_wrap, by_row, elem);
        // The same in all lanes of a row. Conditions are not kept so: branches want to know of all lanes.
        let alike = elem != Elem::I1 && shapes.iter().all(|s| matches!(stride(*s), Some((0, false, _))));
        Some(match i.op {
            Op::Special(Special::Tid(Axis::X)) if self.assume.contiguous_x => {
                affine(1, false, rows && !self.assume.is_row_all_of_x())
            }
            Op::Special(Special::Tid(_)) if self.assume.contiguous_x => affine(0, false, rows),
            Op::Special(Special::Tid(_)) => Varying,
            Op::Special(Special::LaneId) => {
                if in_warp {
                    affine(1, false, rows)
                } else {
                    Varying
                }
            }
            Op::Special(Special::WarpId) => {
                if in_warp {
                    Uniform
                } else {
                    Varying
                }
            }
            Op::Ballot | Op::ActiveMask => {
                if in_warp {
                    Uniform
                } else {
                    Varying
                }
            }
            // The value read is one's own or another lane's: the same if all are.
            Op::LaneRead => {
                if shapes[0] == Uniform {
                    Uniform
                } else {
                    Varying
                }
            }
            Op::Atomic(..) | Op::Mma(_) => Varying,
            Op::Load(mem) => match mem.space {
                // The same address is another place in every lane.
                Space::Local => Varying,
                Space::Generic if self.func.info.local_bytes != 0 => Varying,
                _ if uniform => Uniform,
                _ if alike && i.guard.is_none() => affine(0, false, true),
                _ => Varying,
            },
            _ if uniform => Uniform,
            op if alike && op.is_pure() => affine(0, false, true),
            Op::Int(op) if let Some((stride, by_row)) = self.of_number(op, &i.args) => {
                affine(stride, false, by_row)
            }
            Op::Int(op @ (IntBin::Add | IntBin::Sub)) => match (stride(shapes[0]), stride(shapes[1])) {
                (Some((a, wa, ra)), Some((b, wb, rb))) => {
                    let s = if op == IntBin::Add { a.wrapping_add(b) } else { a.wrapping_sub(b) };
                    affine(s, wa || wb, ra || rb)
                }
                _ => Varying,
            },
            Op::Int(op @ (IntBin::Mul | IntBin::Shl)) => {
                let factor = |n: usize| match op {
                    IntBin::Mul => constant(n),
                    _ if n == 0 => None,
                    _ => constant(n).map(|by| if by < u64::from(elem.bits()) { 1u64 << by } else { 0 }),
                };
                match (shapes[0], shapes[1], factor(0), factor(1)) {
                    (Affine { stride, may_wrap, by_row }, _, _, Some(f))
                    | (_, Affine { stride, may_wrap, by_row }, Some(f), _) => {
                        affine(stride.wrapping_mul(f as i64), may_wrap, by_row)
                    }
                    _ => Varying,
                }
            }
            Op::IntUn(IntUn::Neg | IntUn::Not) => match shapes[0] {
                Affine { stride, may_wrap, by_row } => affine(stride.wrapping_neg(), may_wrap, by_row),
                other => other,
            },
            Op::Zext | Op::Sext => match shapes[0] {
                Affine { stride, by_row, .. } => affine(stride, true, by_row),
                other => other,
            },
            Op::Trunc => match shapes[0] {
                Affine { stride, may_wrap, by_row } => affine(stride, may_wrap, by_row),
                other => other,
            },
            Op::Cmp(IntCmp::Eq | IntCmp::Ne) => match (shapes[0], shapes[1]) {
                // Evenly apart in all lanes, so equal in all or in none.
                (
                    Affine { stride: a, may_wrap: false, by_row: false },
                    Affine { stride: b, may_wrap: false, by_row: false },
                ) if a == b => Uniform,
                _ => Varying,
            },
            Op::Select => {
                let chosen = join(shapes[1], shapes[2]);
                if shapes[0] == Uniform || i.args[1] == i.args[2] { chosen } else { Varying }
            }
            _ => Varying,
        })
    }
}

/// The shape of something that goes up by `stride` from lane to lane of a row.
fn affine(stride: i64, may_wrap: bool, by_row: bool, elem: Elem) -> Shape {
    let unused = 64 - elem.bits();
    match stride << unused >> unused {
        // Uniform must hold without any check.
        0 if may_wrap => Shape::Varying,
        0 if !by_row => Shape::Uniform,
        stride => Shape::Affine { stride, may_wrap, by_row },
    }
}

/// The stride, 0 if uniform, whether it may wrap and whether rows differ.
fn stride(shape: Shape) -> Option<(i64, bool, bool)> {
    match shape {
        Shape::Uniform => Some((0, false, false)),
        Shape::Affine { stride, may_wrap, by_row } => Some((stride, may_wrap, by_row)),
        Shape::Varying => None,
    }
}

/// What covers both, as far as they are known.
fn either(a: Option<Shape>, b: Option<Shape>) -> Option<Shape> {
    match (a, b) {
        (None, s) | (s, None) => s,
        (Some(a), Some(b)) => Some(join(a, b)),
    }
}

/// What covers both.
fn join(a: Shape, b: Shape) -> Shape {
    match (stride(a), stride(b)) {
        _ if a == b => a,
        (Some((s, w, x)), Some((t, v, y))) if s == t => {
            Shape::Affine { stride: s, may_wrap: w || v, by_row: x || y }
        }
        _ => Shape::Varying,
    }
}
