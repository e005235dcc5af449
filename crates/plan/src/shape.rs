//! How values differ between lanes, and where control may split them.
//!
//! A fixed point from below: every value starts as unknown, and only goes from there to uniform or affine and on to varying;
//! branches only go from uniform to divergent.

use crate::control::{Control, Reach};
use crate::{Assume, Invariance, Loop, Shape};
use hostwarp_ir::eval::eval_op;
use hostwarp_ir::{
    Axis, Block, Elem, Function, Inst, IntBin, IntCmp, IntUn, Op, Space, Special, Term, Type, Value,
};
use rustc_hash::FxHashMap;

pub(crate) struct Shapes {
    pub(crate) shape: Vec<Shape>,
    /// By block.
    pub(crate) divergent: Vec<bool>,
    /// By block.
    pub(crate) masked: Vec<bool>,
    /// By loop: some lanes may leave while others go round.
    pub(crate) split: Vec<bool>,
}

struct Analysis<'a> {
    func: &'a Function,
    order: &'a [Block],
    position: &'a [u32],
    loops: &'a [Loop],
    loop_of: &'a [Option<usize>],
    assume: Assume,
    invariance: &'a [Invariance],
    control: Control<'a>,
    constant: Vec<Option<u64>>,
    /// `tid.x` and the like: each row's first lane has a multiple of the row's length, and the others follow.
    number: Vec<bool>,
    home: Vec<Option<Block>>,
    /// Parameters that get different values from different sides.
    mixed: Vec<bool>,
    /// Loops that a value is defined in and used outside of, with the position of the use.
    escapes: Vec<Vec<(usize, usize)>>,
    shape: Vec<Option<Shape>>,
    /// By position.
    divergent: Vec<bool>,
    /// By position: lanes may arrive from different sides.
    join: Vec<bool>,
    masked: Vec<bool>,
    /// By position: all that can be reached from it without passing that block is masked.
    masked_up_to: Vec<Option<Option<usize>>>,
    /// By position: in a cycle that is no natural loop, where lanes may be at different turns. Rare, so nothing is claimed there.
    wild: Vec<bool>,
    /// By loop: whether some lanes may leave while others go round.
    split: Vec<bool>,
    /// By loop: where lanes may be that left the loop at different times.
    scattered: Vec<Reach>,
}

pub(crate) fn shapes(
    func: &Function,
    order: &[Block],
    position: &[u32],
    loops: &[Loop],
    loop_of: &[Option<usize>],
    assume: Assume,
    invariance: &[Invariance],
) -> Shapes {
    let n = order.len();
    let mut a = Analysis {
        func,
        order,
        position,
        loops,
        loop_of,
        assume,
        invariance,
        control: Control::new(func, order, position, loops, loop_of),
        constant: vec![None; func.types.len()],
        number: vec![false; func.types.len()],
        home: vec![None; func.types.len()],
        mixed: vec![false; func.types.len()],
        escapes: vec![vec![]; func.types.len()],
        shape: vec![None; func.types.len()],
        divergent: vec![false; n],
        join: vec![false; n],
        masked: vec![false; n],
        masked_up_to: vec![None; n],
        split: vec![false; loops.len()],
        wild: vec![false; n],
        scattered: vec![Reach::default(); loops.len()],
    };
    a.prepare();
    while a.pass() {}
    let by_block = |flags: &[bool]| {
        position.iter().map(|at| flags.get(*at as usize).copied().unwrap_or(false)).collect()
    };
    Shapes {
        shape: a.shape.iter().map(|s| s.unwrap_or(Shape::Varying)).collect(),
        divergent: by_block(&a.divergent),
        masked: by_block(&a.masked),
        split: a.split.clone(),
    }
}

impl Analysis<'_> {
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
        let loop_from: FxHashMap<usize, usize> =
            self.loops.iter().map(|l| (l.first as usize, l.last as usize)).collect();
        let mut wild_until = vec![0; self.order.len()];
        for from in 0..self.order.len() {
            for &to in self.control.successors[from].iter().filter(|to| **to <= from) {
                let natural = loop_from.get(&to).is_some_and(|last| *last >= from);
                if !natural {
                    wild_until[to] = wild_until[to].max(from + 1);
                }
            }
        }
        let mut until = 0;
        for (at, wild_until) in wild_until.into_iter().enumerate() {
            until = until.max(wild_until);
            self.wild[at] = at < until;
            self.masked[at] = at < until;
        }
        let mut only: Vec<Option<Value>> = vec![None; self.func.types.len()];
        for b in self.order {
            for t in self.func.block(*b).term.targets() {
                for (p, a) in self.func.block(t.block).params.iter().zip(&t.args) {
                    if a != p && *only[p.index()].get_or_insert(*a) != *a {
                        self.mixed[p.index()] = true;
                    }
                }
            }
        }
        for b in self.order {
            let data = self.func.block(*b);
            let mut uses: Vec<Value> = data.term.uses().to_vec();
            uses.extend(data.term.targets().iter().flat_map(|t| t.args.iter().copied()));
            uses.extend(data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard).copied()));
            for v in uses {
                if self.invariance[v.index()] != Invariance::None {
                    continue;
                }
                let at = self.position[b.index()] as usize;
                for l in self.left(v, *b) {
                    let escapes = &mut self.escapes[v.index()];
                    // Those of one block stand together.
                    if !escapes.iter().rev().take_while(|e| e.1 == at).any(|e| e.0 == l) {
                        escapes.push((l, at));
                    }
                }
            }
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
            l = around.parent;
        }
        out
    }

    /// Goes over all blocks once; answers whether anything changed.
    fn pass(&mut self) -> bool {
        let mut changed = false;
        for at in 0..self.order.len() {
            let data = self.func.block(self.order[at]);
            for i in &data.insts {
                if let Some(r) = i.result {
                    let new = self.result(i);
                    changed |= self.raise(r, new);
                }
            }
            if !self.divergent[at] && self.diverges(&data.term) {
                self.divergent[at] = true;
                changed = true;
                let influence = self.control.influence(at);
                for j in &influence.joins {
                    self.join[*j] = true;
                }
                for m in &influence.region {
                    self.masked[*m] = true;
                }
                if let Some((from, end)) = influence.rest {
                    self.mask_rest(from, end);
                }
                for (l, left) in &influence.split_loops {
                    self.split[*l] = true;
                    for exit in left {
                        self.scattered[*l].add(&self.control, *exit);
                    }
                }
            }
            for t in data.term.targets() {
                for (p, a) in self.func.block(t.block).params.iter().zip(&t.args) {
                    let new = self.handed(t.block, *a, *p);
                    changed |= self.raise(*p, new);
                }
            }
        }
        changed
    }

    /// Marks as masked what can be reached from `from` without passing `end`.
    fn mask_rest(&mut self, from: usize, end: Option<usize>) {
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            if Some(at) != end && self.masked_up_to[at] != Some(end) {
                self.masked_up_to[at] = Some(end);
                self.masked[at] = true;
                work.extend(&self.control.successors[at]);
            }
        }
    }

    /// What a parameter gets from an argument.
    fn handed(&mut self, to: Block, arg: Value, param: Value) -> Option<Shape> {
        let mut shape = self.shape[arg.index()]?;
        let invariant = self.invariance[arg.index()] != Invariance::None;
        // Lanes that leave a loop at different times take different values along.
        let at = self.position[to.index()] as usize;
        let left = self.left(arg, to);
        let (control, scattered) = (&self.control, &mut self.scattered);
        if !invariant && left.iter().any(|l| scattered[*l].contains(control, at)) {
            shape = Shape::Varying;
        }
        if self.join[at] && self.mixed[param.index()] {
            shape = Shape::Varying;
        }
        Some(shape)
    }

    /// Joins a shape into a value's; answers whether it changed.
    fn raise(&mut self, v: Value, new: Option<Shape>) -> bool {
        let (control, scattered) = (&self.control, &mut self.scattered);
        let escapes = self.escapes[v.index()].iter().any(|(l, at)| scattered[*l].contains(control, *at));
        let wild = self.invariance[v.index()] == Invariance::None
            && self.home[v.index()].is_some_and(|h| self.wild[self.position[h.index()] as usize]);
        let new = match new {
            Some(_) if escapes || wild => Some(Shape::Varying),
            new => new,
        };
        let old = self.shape[v.index()];
        let joined = match (old, new) {
            (None, s) | (s, None) => s,
            (Some(a), Some(b)) => Some(join(a, b)),
        };
        self.shape[v.index()] = joined;
        joined != old
    }

    fn diverges(&self, term: &Term) -> bool {
        let same = |v: Value| matches!(self.shape[v.index()], None | Some(Shape::Uniform));
        match term {
            Term::Branch(c, a, b) => !same(*c) && a != b,
            Term::Switch(v, ts) => !same(*v) && ts.windows(2).any(|w| w[0] != w[1]),
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
        let elem = i.result.map_or(Elem::I32, |r| self.func.ty(r).elem);
        let constant = |n: usize| self.constant[i.args[n].index()];
        let in_warp = self.assume.group <= 32;
        let uniform = shapes.iter().all(|s| *s == Uniform);
        let rows = self.assume.rows > 1;
        let affine = |stride: i64, may_wrap: bool, by_row: bool| affine(stride, may_wrap, by_row, elem);
        // The same in all lanes of a row. Conditions are not kept so: branches want to know of all lanes.
        let alike = elem != Elem::I1 && shapes.iter().all(|s| matches!(stride(*s), Some((0, false, _))));
        Some(match i.op {
            Op::Special(Special::Tid(Axis::X)) if self.assume.contiguous_x => affine(1, false, false),
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
            Op::Atomic(..) => Varying,
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
