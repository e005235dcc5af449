//! If-conversion (Allen, Kennedy, Porterfield and Warren 1983; here without predicate registers): a branch round a few pure instructions becomes those
//! instructions and selects. Both sides of a diamond, the one side of a triangle, and a branch that only chooses arguments are converted; inner
//! ones first, so that a chain of `else if` goes as a whole while it is small.
//!
//! A side must have no other predecessor and consist of at most [`BUDGET`] units of pure work; total ops may run in lanes that do not need them.
//! Loads of rows are guarded then (`x < n ? a[x] : 0`): where lanes lie evenly a load in part costs little. Not converted: anything else that touches memory or
//! other lanes (a branch lets a whole group pass by), sides that exit (the end of the data is a branch to every analysis), and loops.
//!
//! Why: a divergent branch costs an engine masks and two more blocks, a few selects cost nothing. Of 21 kernels compiled with -G, 7 lose a sixth to three fifths of
//! their blocks (213 to 176 in all, with `thread-guards`, which adds some); of the same at -O3, two: nvcc has done it already.

use super::induction::{Kind, Kinds};
use super::{Changed, Pass};
use crate::analysis::{Analyses, Uses};
use crate::subst::Subst;
use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "if-convert",
    about: "make selects of branches round a few pure instructions",
    run: if_convert,
};

/// Work on both sides together, selects included, that is worth a branch.
const BUDGET: u32 = 8;

/// What a load costs that is done in part, or not at all.
const LOAD: u32 = 3;

/// Instructions of a side, those that cost nothing included.
const LONGEST: usize = 4 * BUDGET as usize;

fn if_convert(func: &mut Function, analyses: &mut Analyses) -> Changed {
    let cycles = analyses.cycles(func);
    let mut convert = Convert {
        sources: vec![0; func.blocks.len()],
        subst: Subst::new(func),
        rows: rows(func, &analyses.uses(func)),
        zeros: zeros(func),
        guarded: FxHashMap::default(),
        nots: FxHashMap::default(),
    };
    convert.sources[Block::ENTRY.index()] = 1;
    for b in &cycles.order {
        for t in func.block(*b).term.targets() {
            convert.sources[t.block.index()] += 1;
        }
    }
    let mut changed = false;
    for &b in cycles.order.iter().rev() {
        while convert.branch(func, b) {
            changed = true;
            while convert.absorb(func, b) {}
        }
    }
    if !changed {
        return Changed::Nothing;
    }
    convert.subst.apply(func);
    super::unreachable::prune_unreachable(func);
    Changed::Graph
}

struct Convert {
    /// How many edges lead to each block.
    sources: Vec<u32>,
    /// Parameters of blocks that are gone.
    subst: Subst,
    /// What is loaded from places that lie evenly, and constants that are 0.
    rows: FxHashSet<Value>,
    zeros: FxHashSet<Value>,
    /// What is loaded where a condition holds, and is 0 elsewhere.
    guarded: FxHashMap<Value, Value>,
    /// The opposites of conditions.
    nots: FxHashMap<Value, Value>,
}

/// Results of plain loads where lanes lie evenly as far as one can see.
fn rows(func: &Function, uses: &Uses) -> FxHashSet<Value> {
    let mut kinds = Kinds::new(func, uses);
    let mut is_row = |i: &Inst| match i.op {
        Op::Load(mem) => mem.order == Order::Weak && kinds.get(i.args[0]) != Kind::Varying,
        _ => false,
    };
    func.blocks.iter().flat_map(|b| &b.insts).filter(|i| is_row(i)).filter_map(|i| i.result).collect()
}

fn zeros(func: &Function) -> FxHashSet<Value> {
    let zero = |i: &&Inst| i.op == Op::Const(0);
    func.blocks.iter().flat_map(|b| &b.insts).filter(zero).filter_map(|i| i.result).collect()
}

impl Convert {
    /// Converts the branch at the end of a block, if it is one to convert.
    fn branch(&mut self, func: &mut Function, at: Block) -> bool {
        let Term::Branch(c, yes, no) = &func.block(at).term else { return false };
        let (c, yes, no) = (*c, yes.clone(), no.clone());
        let sides = [self.side(func, at, &yes), self.side(func, at, &no)];
        let meet = |side: &Option<(u32, Target)>, target: &Target| {
            side.as_ref().map_or(target.block, |(_, onto)| onto.block)
        };
        // Where both ways meet: behind both sides, or one way goes there at once.
        let taken =
            [(true, true), (true, false), (false, true), (false, false)].into_iter().find(|(y, n)| {
                (!y || sides[0].is_some())
                    && (!n || sides[1].is_some())
                    && (if *y { meet(&sides[0], &yes) } else { yes.block })
                        == (if *n { meet(&sides[1], &no) } else { no.block })
            });
        let Some((y, n)) = taken else { return false };
        let cost =
            |side: &Option<(u32, Target)>, used| side.as_ref().filter(|_| used).map_or(0, |(cost, _)| *cost);
        let onto = |side: &Option<(u32, Target)>, used, target: &Target| {
            side.as_ref().filter(|_| used).map_or(target.clone(), |(_, onto)| onto.clone())
        };
        let (a, b) = (onto(&sides[0], y, &yes), onto(&sides[1], n, &no));
        let different = a.args.iter().zip(&b.args).filter(|(a, b)| a != b).count() as u32;
        if a.block == at || cost(&sides[0], y) + cost(&sides[1], n) + different > BUDGET {
            return false;
        }
        let line = func.block(at).term_line;
        for (used, target, where_true) in [(y, &yes, true), (n, &no, false)] {
            if used {
                self.guard_loads(func, (at, line), target.block, (c, where_true));
                self.take_in(func, at, target);
            }
        }
        let mut args: SmallVec<[Value; 4]> = smallvec![];
        for (a, b) in a.args.iter().zip(&b.args) {
            let (a, b) = (self.subst.find(*a), self.subst.find(*b));
            // A load that is not done gives 0.
            let is_zero = |v: Value| self.zeros.contains(&v);
            let yes_alone = a == b || is_zero(b) && self.guarded.get(&a) == Some(&c);
            let not = self.nots.get(&c);
            args.push(if yes_alone {
                a
            } else if is_zero(a) && not.is_some() && self.guarded.get(&b) == not {
                b
            } else {
                let chosen = func.new_value(func.ty(a));
                self.subst.grow(func);
                let inst = Inst {
                    op: Op::Select,
                    args: smallvec![c, a, b],
                    guard: None,
                    result: Some(chosen),
                    line,
                };
                func.blocks[at.index()].insts.push(inst);
                chosen
            });
        }
        // Two ways there have become one.
        self.sources[a.block.index()] -= 1;
        func.blocks[at.index()].term = Term::Jump(Target { block: a.block, args });
        true
    }

    /// What a side costs and where it goes, if it can be converted.
    fn side(&self, func: &Function, at: Block, target: &Target) -> Option<(u32, Target)> {
        let data = func.block(target.block);
        let Term::Jump(onto) = &data.term else { return None };
        if self.sources[target.block.index()] != 1 || target.block == at || data.insts.len() > LONGEST {
            return None;
        }
        let mut sum = 0;
        for i in &data.insts {
            match i.result {
                Some(r) if matches!(i.op, Op::Load(_)) && self.rows.contains(&r) => sum += LOAD,
                _ if i.op.is_pure() => sum += cost(i.op),
                _ => return None,
            }
        }
        Some((sum, onto.clone()))
    }

    /// Guards the loads of a side that is about to be taken in, by the condition or its opposite.
    fn guard_loads(
        &mut self,
        func: &mut Function,
        (at, line): (Block, u32),
        side: Block,
        (c, where_true): (Value, bool),
    ) {
        if !func.block(side).insts.iter().any(|i| matches!(i.op, Op::Load(_))) {
            return;
        }
        let made = |func: &mut Function, subst: &mut Subst, op: Op, args: SmallVec<[Value; 4]>| {
            let result = func.new_value(Type::I1);
            subst.grow(func);
            (result, Inst { op, args, guard: None, result: Some(result), line })
        };
        let guard = match where_true {
            true => c,
            false => {
                let (not, inst) = made(func, &mut self.subst, Op::IntUn(IntUn::Not), smallvec![c]);
                func.blocks[at.index()].insts.push(inst);
                self.nots.insert(c, not);
                not
            }
        };
        let mut out = vec![];
        for mut i in std::mem::take(&mut func.blocks[side.index()].insts) {
            if let (Op::Load(_), Some(r)) = (i.op, i.result) {
                i.guard = Some(match i.guard {
                    None => {
                        self.guarded.insert(r, guard);
                        guard
                    }
                    Some(before) => {
                        let and = Op::Int(IntBin::And);
                        let (both, inst) = made(func, &mut self.subst, and, smallvec![before, guard]);
                        self.guarded.remove(&r);
                        out.push(inst);
                        both
                    }
                });
            }
            out.push(i);
        }
        func.blocks[side.index()].insts = out;
    }

    /// Moves what a block does to the end of its only predecessor; the block is empty and unreachable after that.
    fn take_in(&mut self, func: &mut Function, at: Block, target: &Target) {
        let data = &mut func.blocks[target.block.index()];
        let insts = std::mem::take(&mut data.insts);
        let params = std::mem::take(&mut data.params);
        // Its jump is one edge less, but the branch has one to the same place from now on: the count stays.
        data.term = Term::Exit;
        for (p, a) in params.into_iter().zip(&target.args) {
            self.subst.set(p, *a);
        }
        func.blocks[at.index()].insts.extend(insts);
        self.sources[target.block.index()] = 0;
    }

    /// Joins the block that this one jumps to, if nobody else does: it may be part of a side then. Long ones never are, and moving them again and again would take
    /// quadratic time; `merge-blocks` joins those.
    fn absorb(&mut self, func: &mut Function, at: Block) -> bool {
        let Term::Jump(t) = &func.block(at).term else { return false };
        let t = t.clone();
        let is_long = func.block(t.block).insts.len() > LONGEST;
        if self.sources[t.block.index()] != 1 || t.block == at || is_long {
            return false;
        }
        let data = &mut func.blocks[t.block.index()];
        let (term, term_line) = (std::mem::replace(&mut data.term, Term::Exit), data.term_line);
        self.take_in(func, at, &t);
        let data = &mut func.blocks[at.index()];
        (data.term, data.term_line) = (term, term_line);
        true
    }
}

/// What an op costs where it is not needed, in units of an addition.
fn cost(op: Op) -> u32 {
    use IntBin::*;
    match op {
        Op::Const(_) | Op::Special(_) | Op::Bitcast | Op::FromBits | Op::Extract(_) | Op::Build => 0,
        Op::Int(DivU | DivS | RemU | RemS) | Op::Sqrt { .. } | Op::Float { op: FBin::Div, .. } => BUDGET + 1,
        Op::Dot(_) | Op::Mma(_) => BUDGET + 1,
        Op::FmaOdd { .. } | Op::Lookup(_) => BUDGET / 2,
        _ => 1,
    }
}
