//! Splits pointers that loops move on (induction variables, `p = phi(start, p + step)`) into what never changes and what is the same in all lanes: `p = start + offset`,
//! `offset = phi(0, offset + step)`. It undoes strength reduction, which nvcc does for scalar machines.
//!
//! Where every lane begins somewhere else (a row of its own, or behind a remainder that not all lanes had) the pointer is varying, but what it is moved on by is not: so
//! no lane has to add anything, and how lanes lie to each other is known once for all iterations (`vector/src/lower/segments.rs` finds rows in that). Pointers that move
//! by the same share one offset.
//!
//! Only 64-bit integers whose step is certainly uniform, in natural loops, that nobody needs behind the loop: lanes that leave at different times would have to keep the offset,
//! too. Where `start` is computed from places of threads alone the pointer is affine, and stays as it is. Two sweeps over the function.

use super::{Changed, Pass};
use crate::analysis::{Analyses, Cycles, Definition, Site, Uses};
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "induction",
    about: "split pointers that loops move on into a base and a uniform offset",
    run: |func, analyses: &mut Analyses| {
        let (cycles, uses) = (analyses.cycles(func), analyses.uses(func));
        let found = find(func, &cycles, &uses);
        if found.is_empty() {
            return Changed::Nothing;
        }
        split(func, &cycles, found);
        Changed::Values
    },
};

/// Values of more ops than this are not looked into.
const MOST_DEEP: u32 = 16;

/// A pointer that is moved on: a parameter of a loop's header.
struct Induction {
    header: Block,
    param: usize,
    /// By how much, and where the one sum is that is handed back.
    step: Value,
    next: (Block, Value),
}

/// How lanes may differ in a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Uniform,
    /// Not at all in a row of the block.
    Row,
    /// By their places, evenly as far as one can see.
    Placed,
    /// The same in each row of the block, which may begin anywhere.
    Rows,
    Varying,
}

/// What a header's parameter is handed.
#[derive(Default)]
struct Handed {
    entering: Vec<Value>,
    /// Along back edges; none once they differ.
    back: Option<Value>,
    differ: bool,
}

fn find(func: &Function, cycles: &Cycles, uses: &Uses) -> Vec<Induction> {
    let natural: FxHashMap<Block, &analysis::Cycle> =
        cycles.cycles.iter().filter(|c| c.single_entry).map(|c| (c.header, c)).collect();
    let mut handed: FxHashMap<Value, Handed> = FxHashMap::default();
    for from in &cycles.order {
        for t in func.block(*from).term.targets().iter().filter(|t| natural.contains_key(&t.block)) {
            let back = cycles.position[from.index()] >= cycles.position[t.block.index()];
            for (p, a) in
                func.block(t.block).params.iter().zip(&t.args).filter(|(p, _)| func.ty(**p) == Type::I64)
            {
                let handed = handed.entry(*p).or_default();
                match handed.back {
                    _ if !back => handed.entering.push(*a),
                    Some(same) if same != *a => handed.differ = true,
                    _ => handed.back = Some(*a),
                }
            }
        }
    }
    let (mut found, mut kinds) = (vec![], Kinds::new(func, uses));
    for cycle in cycles.cycles.iter().filter(|c| c.single_entry) {
        let inside = |b: &Block| cycle.contains(cycles.position[b.index()]);
        let stays = |v: Value| uses.of(v).iter().all(|(Site::Inst(b, _) | Site::Term(b))| inside(b));
        for (param, p) in func.block(cycle.header).params.iter().enumerate() {
            let Some(Handed { entering, back: Some(next), differ: false }) = handed.get(p) else { continue };
            let Definition::Inst(at, n) = uses.definition(*next) else { continue };
            let i = &func.block(at).insts[n as usize];
            let step = match i.args[..] {
                [a, b] if i.op == Op::Int(IntBin::Add) && a == *p => b,
                [a, b] if i.op == Op::Int(IntBin::Add) && b == *p => a,
                _ => continue,
            };
            let varies = entering.iter().any(|v| kinds.get(*v) >= Kind::Rows);
            if varies && stays(*p) && stays(*next) && kinds.get(step) == Kind::Uniform {
                found.push(Induction { header: cycle.header, param, step, next: (at, *next) });
            }
        }
    }
    found
}

/// How lanes may differ in values, as far as a look at what they are computed from says.
pub(super) struct Kinds<'a> {
    func: &'a Function,
    uses: &'a Uses,
    known: FxHashMap<Value, Kind>,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(func: &'a Function, uses: &'a Uses) -> Kinds<'a> {
        Kinds { func, uses, known: FxHashMap::default() }
    }

    pub(super) fn get(&mut self, v: Value) -> Kind {
        self.of(v, MOST_DEEP)
    }

    fn of(&mut self, v: Value, depth: u32) -> Kind {
        if let Some(kind) = self.known.get(&v) {
            return *kind;
        }
        let kind = self.find(v, depth);
        self.known.insert(v, kind);
        kind
    }

    fn find(&mut self, v: Value, depth: u32) -> Kind {
        use Special::*;
        let Definition::Inst(b, n) = self.uses.definition(v) else { return Kind::Varying };
        let i = &self.func.block(b).insts[n as usize];
        match i.op {
            Op::Const(_) => Kind::Uniform,
            Op::Special(Tid(Axis::Y | Axis::Z)) => Kind::Row,
            Op::Special(Tid(Axis::X) | LaneId | WarpId) => Kind::Placed,
            Op::Special(_) if i.op.is_pure() => Kind::Uniform,
            Op::Load(mem) if mem != Mem::weak(Space::Param) || i.guard.is_some() => Kind::Varying,
            Op::Select => Kind::Varying,
            _ if depth == 0 || !i.op.is_pure() && !matches!(i.op, Op::Load(_)) => Kind::Varying,
            op => {
                let is_const = |v: Value, k: &Self| match k.uses.definition(v) {
                    Definition::Inst(b, n) => matches!(k.func.block(b).insts[n as usize].op, Op::Const(_)),
                    _ => false,
                };
                let constant = i.args.iter().any(|a| is_const(*a, self));
                let kind = i.args.iter().map(|a| self.of(*a, depth - 1)).max().unwrap_or(Kind::Uniform);
                // A row of each lane's own.
                let scaled = op == Op::Int(IntBin::Mul) && !constant;
                match kind {
                    Kind::Row if scaled => Kind::Rows,
                    Kind::Placed | Kind::Rows if scaled => Kind::Varying,
                    kind => kind,
                }
            }
        }
    }
}

fn split(func: &mut Function, cycles: &Cycles, found: Vec<Induction>) {
    let zero = func.new_value(Type::I64);
    let constant = Inst { op: Op::Const(0), args: smallvec![], guard: None, result: Some(zero), line: 0 };
    func.blocks[Block::ENTRY.index()].insts.insert(0, constant);
    let add = |a: Value, b: Value, result: Value, line: u32| Inst {
        op: Op::Int(IntBin::Add),
        args: smallvec![a, b],
        guard: None,
        result: Some(result),
        line,
    };
    // The edges to each header, each with whether it leads back.
    let mut edges: FxHashMap<Block, Vec<(Block, bool)>> = found.iter().map(|i| (i.header, vec![])).collect();
    for from in func.block_ids() {
        let at = cycles.position[from.index()];
        for t in func.block(from).term.targets() {
            let back = at != u32::MAX && at >= cycles.position[t.block.index()];
            if let Some(edges) = edges.get_mut(&t.block)
                && edges.last() != Some(&(from, back))
            {
                edges.push((from, back));
            }
        }
    }
    // Of each header and step the offset.
    let mut offsets: FxHashMap<(Block, Value), Value> = FxHashMap::default();
    for Induction { header, param, step, next } in found {
        let start = func.new_value(Type::I64);
        let pointer = std::mem::replace(&mut func.blocks[header.index()].params[param], start);
        for (from, _) in edges[&header].iter().filter(|(_, back)| *back) {
            let targets = func.blocks[from.index()].term.targets_mut();
            targets.into_iter().filter(|t| t.block == header).for_each(|t| t.args[param] = start);
        }
        let offset = *offsets.entry((header, step)).or_insert_with(|| {
            let (offset, moved) = (func.new_value(Type::I64), func.new_value(Type::I64));
            func.blocks[header.index()].params.push(offset);
            for (from, back) in &edges[&header] {
                let targets = func.blocks[from.index()].term.targets_mut();
                let handed = if *back { moved } else { zero };
                targets.into_iter().filter(|t| t.block == header).for_each(|t| t.args.push(handed));
            }
            // Where the pointer is moved on: whoever hands that on has it.
            let insts = &mut func.blocks[next.0.index()].insts;
            let at = insts.iter().position(|i| i.result == Some(next.1)).map_or(0, |n| n + 1);
            let line = insts[at.saturating_sub(1)].line;
            insts.insert(at, add(offset, step, moved, line));
            offset
        });
        func.blocks[header.index()].insts.insert(0, add(start, offset, pointer, 0));
    }
}
