//! Launch reshaping: deals the threads of a grid out anew, in CTAs that suit vectors.
//!
//! Engines run threads that follow each other along x as lanes of one vector. A block whose rows are short or odd (13 x 7, 4 x 64, one thread) leaves lanes empty, or
//! puts pieces of several rows in one vector, whose accesses are gathers. Where threads have nothing to do with each other a CTA is only a way to number them, so
//! the kernel may as well be launched in CTAs of [`Reshape::length`] threads of one long row, X = ctaid.x · ntid.x + tid.x, and compute its own numbers from X:
//!
//! ```text
//! tid.x = X mod ntid.x        ctaid.x = X div ntid.x        and the same along y and z, where X is ctaid.y or ctaid.z
//! ```
//!
//! Most kernels want X and nothing else. So for each value that is linear in both, t·tid + c·ctaid + rest, it is known what it is for tid = X and ctaid = 0 (its *twin*), and
//! where c = t · ntid it is its twin. What is left of the division is dead then. A kernel that needs tid.x or ctaid.x themselves is left as it is unless ntid.x is a power
//! of two: dividing costs more than it gains, and what was the same for a CTA would differ from lane to lane.
//!
//! Threads have nothing to do with each other if the kernel has no shared memory, barriers or operations of warps, no ordered loads and stores, and asks nobody for anything. Data
//! races aside nobody can see then who runs with whom; atomics say in which order, which PTX leaves open. One sweep over the function.

use crate::analysis::Cycles;
use crate::passes::{self, SIMPLIFY};
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// How a launch is reshaped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reshape {
    /// The block it is launched with.
    pub block: [u32; 3],
    /// Threads of a CTA, all along x.
    pub length: u32,
}

/// Rows of whole warps suit as they are.
const WARP: u32 = 32;
/// What is long enough for any group of lanes, and short enough that few threads are left over.
const LONG: u32 = 128;
/// Threads along x with fewer than this leave most lanes empty however they are dealt out.
const FEW: u64 = 8;
/// Numbers of threads along an axis stay below this: signed indices are not negative.
const MOST: u64 = 1 << 31;

impl Reshape {
    /// For a launch whose rows are no whole warps.
    pub fn of(grid: [u32; 3], block: [u32; 3]) -> Option<Reshape> {
        let [x, y, z] = [0, 1, 2].map(|a| u64::from(grid[a]) * u64::from(block[a]));
        let fits = [x, y, z].iter().all(|n| *n <= MOST - u64::from(LONG));
        if block[0].is_multiple_of(WARP) || !fits || x < FEW {
            return None;
        }
        Some(Reshape { block, length: if x > u64::from(WARP) { LONG } else { WARP } })
    }

    /// The block that threads are dealt out in.
    pub fn new_block(&self) -> [u32; 3] {
        [self.length, 1, 1]
    }

    /// How many of those.
    pub fn new_grid(&self, grid: [u32; 3]) -> [u32; 3] {
        let [x, y, z] = [0, 1, 2].map(|a| grid[a] * self.block[a]);
        [x.div_ceil(self.length), y, z]
    }

    /// CTA and thread, as launched, of a thread of a new CTA.
    pub fn place(&self, cta: [u32; 3], thread: [u32; 3]) -> ([u32; 3], [u32; 3]) {
        let at = [cta[0] * self.length + thread[0], cta[1], cta[2]];
        ([0, 1, 2].map(|a| at[a] / self.block[a]), [0, 1, 2].map(|a| at[a] % self.block[a]))
    }
}

/// Whether threads have nothing to do with each other.
fn is_independent(func: &Function) -> bool {
    let alone = |i: &Inst| match i.op {
        Op::LaneRead | Op::Mma(_) | Op::Ballot | Op::ActiveMask | Op::Atomic(AtomicOp::System(_), _) => false,
        Op::Load(mem) | Op::Store(mem) => mem.space != Space::Shared && mem.order == Order::Weak,
        Op::Atomic(_, mem) => mem.space != Space::Shared,
        Op::Special(s) => matches!(
            s,
            Special::Tid(_)
                | Special::Ntid(_)
                | Special::Ctaid(_)
                | Special::Nctaid(_)
                | Special::Clock
                | Special::Clock64
                | Special::GlobalTimer
                | Special::GridId
                | Special::GlobalsBase
        ),
        _ => true,
    };
    let waits = |b: &BlockData| matches!(b.term, Term::Barrier { .. } | Term::WarpSync { .. });
    func.info.declared_shared() == 0 && func.blocks.iter().all(|b| !waits(b) && b.insts.iter().all(alone))
}

/// The kernel for a reshaped launch, in whose code [`Special::Nctaid`] is still the grid's as launched. None if it has to be as it is.
pub fn reshape(func: &Function, how: &Reshape) -> Option<Function> {
    if !is_independent(func) {
        return None;
    }
    let mut out = func.clone();
    for i in out.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        if let Op::Special(Special::Ntid(axis)) = i.op {
            i.op = Op::Const(how.block[axis as usize].into());
        }
    }
    passes::run(&mut out, &[passes::fold::PASS], |_, _| true);
    let cycles = Cycles::new(&out);
    // Everything goes to a block behind a new entry, where threads too many leave.
    let body = Block(out.blocks.len() as u32);
    let end = Block(body.0 + 1);
    let entry = std::mem::replace(&mut out.blocks[Block::ENTRY.index()], leave());
    out.blocks.push(entry);
    out.blocks.push(leave());
    for b in &mut out.blocks {
        b.term.targets_mut().into_iter().filter(|t| t.block == Block::ENTRY).for_each(|t| t.block = body);
    }
    let order: Vec<Block> = cycles.order.iter().map(|b| if *b == Block::ENTRY { body } else { *b }).collect();
    let mut head = Head { func: &mut out, insts: vec![] };
    let (vector, lane) = (head.special(Special::Ctaid(Axis::X)), head.special(Special::Tid(Axis::X)));
    let first = head.int_imm(IntBin::Mul, vector, how.length);
    let x = head.int(IntBin::Add, first, lane);
    let (y, z) = (head.special(Special::Ctaid(Axis::Y)), head.special(Special::Ctaid(Axis::Z)));
    let axes = [Axis::X, Axis::Y, Axis::Z];
    let along: Vec<Along> = axes
        .iter()
        .zip([x, y, z])
        .map(|(axis, at)| {
            let n = how.block[*axis as usize];
            let ctaid = head.int_imm(IntBin::DivU, at, n);
            let tid = head.int_imm(IntBin::RemU, at, n);
            Along { axis: *axis, n, at, zero: head.constant(0), ctaid, tid }
        })
        .collect();
    let width = head.special(Special::Nctaid(Axis::X));
    let all = head.int_imm(IntBin::Mul, width, how.block[0]);
    let there = head.result(Op::Cmp(IntCmp::LtU), smallvec![x, all], Type::I1);
    let insts = head.insts;
    for along in along {
        let needed = along.rewrite(&mut out, &order);
        if along.axis == Axis::X && needed && !along.n.is_power_of_two() {
            return None;
        }
    }
    let entry = &mut out.blocks[Block::ENTRY.index()];
    entry.insts = insts;
    entry.term = Term::Branch(there, Target::new(body), Target::new(end));
    passes::run(&mut out, SIMPLIFY, |_, _| true);
    Some(out)
}

fn leave() -> BlockData {
    BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 }
}

/// The instructions at the beginning.
struct Head<'a> {
    func: &'a mut Function,
    insts: Vec<Inst>,
}

impl Head<'_> {
    fn result(&mut self, op: Op, args: SmallVec<[Value; 4]>, ty: Type) -> Value {
        let result = self.func.new_value(ty);
        self.insts.push(Inst { op, args, guard: None, result: Some(result), line: 0 });
        result
    }

    fn constant(&mut self, n: u32) -> Value {
        self.result(Op::Const(n.into()), smallvec![], Type::I32)
    }

    fn special(&mut self, s: Special) -> Value {
        self.result(Op::Special(s), smallvec![], Type::I32)
    }

    fn int(&mut self, op: IntBin, a: Value, b: Value) -> Value {
        self.result(Op::Int(op), smallvec![a, b], Type::I32)
    }

    fn int_imm(&mut self, op: IntBin, a: Value, n: u32) -> Value {
        let n = self.constant(n);
        self.int(op, a, n)
    }
}

/// t·tid + c·ctaid + rest.
#[derive(Clone, Copy)]
struct Linear {
    tid: u64,
    ctaid: u64,
    /// There is no rest.
    pure: bool,
    /// What it is for tid = X and ctaid = 0.
    twin: Value,
}

/// The numbers of threads along an axis.
struct Along {
    axis: Axis,
    /// Threads of a CTA as launched.
    n: u32,
    /// X, and 0.
    at: Value,
    zero: Value,
    /// Both as launched.
    tid: Value,
    ctaid: Value,
}

impl Along {
    /// Rewrites what is computed from them, and says whether they are themselves needed.
    fn rewrite(&self, func: &mut Function, order: &[Block]) -> bool {
        let mut linear: FxHashMap<Value, Linear> = FxHashMap::default();
        let mut constants: FxHashMap<Value, u64> = FxHashMap::default();
        let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
        let mut needed = false;
        for b in order {
            let insts = std::mem::take(&mut func.blocks[b.index()].insts);
            let mut out = Vec::with_capacity(insts.len());
            for mut i in insts {
                i.args.iter_mut().chain(&mut i.guard).for_each(|a| *a = *renamed.get(a).unwrap_or(a));
                match (i.op, i.result) {
                    (Op::Const(bits), Some(r)) => {
                        constants.insert(r, bits);
                    }
                    (Op::Special(Special::Tid(axis)), Some(r)) if axis == self.axis => {
                        renamed.insert(r, self.tid);
                        linear.insert(self.tid, Linear { tid: 1, ctaid: 0, pure: true, twin: self.at });
                        continue;
                    }
                    (Op::Special(Special::Ctaid(axis)), Some(r)) if axis == self.axis => {
                        renamed.insert(r, self.ctaid);
                        linear.insert(self.ctaid, Linear { tid: 0, ctaid: 1, pure: true, twin: self.zero });
                        continue;
                    }
                    _ => {}
                }
                let Some((tid, ctaid, pure)) = self.combine(func, &i, &linear, &constants) else {
                    needed |= i.args.iter().chain(&i.guard).any(|a| linear.contains_key(a));
                    out.push(i);
                    continue;
                };
                let mut twin = i.clone();
                twin.args.iter_mut().for_each(|a| *a = linear.get(a).map_or(*a, |l| l.twin));
                let mask = func.ty(i.result.unwrap_or(self.zero)).elem.mask();
                if tid.wrapping_mul(self.n.into()) & mask == ctaid & mask {
                    out.push(twin);
                } else if let Some(r) = i.result {
                    let result = func.new_value(func.ty(r));
                    twin.result = Some(result);
                    linear.insert(r, Linear { tid, ctaid, pure, twin: result });
                    out.push(i);
                    out.push(twin);
                }
            }
            let block = &mut func.blocks[b.index()];
            block.insts = out;
            block.term.for_each_use_mut(|v| {
                *v = *renamed.get(v).unwrap_or(v);
                needed |= linear.contains_key(v);
            });
        }
        needed
    }

    /// Factors of an instruction's result, if it is linear in what is, and whether there is no rest.
    fn combine(
        &self,
        func: &Function,
        i: &Inst,
        linear: &FxHashMap<Value, Linear>,
        constants: &FxHashMap<Value, u64>,
    ) -> Option<(u64, u64, bool)> {
        let of = |n: usize| linear.get(&i.args[n]).copied();
        let constant = |n: usize| constants.get(&i.args[n]).copied();
        if i.guard.is_some() || i.result.is_none_or(|r| func.ty(r).count != 1) {
            return None;
        }
        if !i.args.iter().any(|a| linear.contains_key(a)) {
            return None;
        }
        let parts = |n: usize| of(n).map_or((0, 0, false), |l| (l.tid, l.ctaid, l.pure));
        match i.op {
            Op::Int(op @ (IntBin::Add | IntBin::Sub)) => {
                let ((t, c, p), (u, d, q)) = (parts(0), parts(1));
                let with = if op == IntBin::Add { u64::wrapping_add } else { u64::wrapping_sub };
                Some((with(t, u), with(c, d), p && q))
            }
            Op::Int(op @ (IntBin::Mul | IntBin::Shl)) => {
                let (l, by) = match (of(0), of(1)) {
                    (Some(l), None) => (l, constant(1)?),
                    (None, Some(l)) if op == IntBin::Mul => (l, constant(0)?),
                    _ => return None,
                };
                let by = match op {
                    IntBin::Mul => by,
                    _ => u32::try_from(by).ok().and_then(|by| 1u64.checked_shl(by))?,
                };
                Some((l.tid.wrapping_mul(by), l.ctaid.wrapping_mul(by), l.pure))
            }
            // What is at most the number of a thread is no negative number, and does not wrap.
            Op::Zext | Op::Sext if func.ty(i.args[0]) == Type::I32 => {
                let l = of(0)?;
                (l.pure && l.tid <= 1 && l.ctaid <= self.n.into()).then_some((l.tid, l.ctaid, true))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
