//! Float ops spelled out in primitive ones: exact algorithms in round-to-nearest f32/f64 and integer arithmetic, the same for
//! every engine.
//!
//! Two ideas carry nearly all of it:
//!
//! - **Compute wider, remember inexactness, round once.** f16, bf16 and f32 operands are exact in a wider type. Where the
//!   wider result is inexact too, it is rounded to odd (`exact.rs`): the last bit says "and something more", so
//!   that the one rounding that follows comes out as if it had seen the exact value.
//! - **Round near, then step.** A directed rounding takes any neighbour of the exact value, compares, and steps to the next
//!   float where it is on the wrong side (`round.rs`).
//!
//! Directed f64 has nothing wider; sums and roots go by their error terms (`double.rs`), the rest is
//! done in integers (`soft.rs`). What ftz flushes is decided in `flush.rs`, which NaN f64 gives in [`nan64`].

mod arith;
mod convert;
mod double;
mod emit;
mod exact;
mod flush;
mod round;
mod soft;

use crate::passes::{Changed, Pass};
use crate::{Elem, Function, Inst, Op, Round, Type};
use emit::Emit;

/// The pass, for engines that have the primitive ops only.
pub(crate) const PASS: Pass = Pass {
    name: "expand",
    about: "spell float ops out in exact sequences of primitive ones",
    run: |func, _| {
        expand(func, Caps::default());
        Changed::Values
    },
};

/// What an engine can do beyond the primitive ops.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Hash)]
pub struct Caps {
    /// f16 `Float`, `Fma` and `Sqrt`, `Nearest` and without ftz, are one correctly rounded instruction each.
    pub f16_arith: bool,
    /// f16 `FMin`, `FMax`, `FNeg`, `FAbs` and `FCmp` are native.
    pub f16_compare: bool,
    /// The engine itself gives f64 `Float`, `Fma` and `Sqrt` with `Nearest` the NaN the rule demands (see [`nan64`]).
    pub f64_nan: bool,
}

impl Caps {
    /// Whether this op stays as it is.
    fn covers(&self, op: &Op, args: &[Type], result: Option<Type>) -> bool {
        let elem = args.first().map(|t| t.elem);
        match (*op, elem) {
            (Op::Float { round, ftz, .. } | Op::Fma { round, ftz } | Op::Sqrt { round, ftz }, Some(elem)) => {
                let plain = round == Round::Nearest && !ftz;
                match elem {
                    Elem::F32 => plain,
                    Elem::F64 => plain && self.f64_nan,
                    Elem::F16 => plain && self.f16_arith,
                    _ => false,
                }
            }
            (Op::FMin { .. } | Op::FMax { .. } | Op::FNeg | Op::FAbs | Op::FCmp(_), Some(Elem::F16)) => {
                self.f16_compare
            }
            // Primitive, but which NaN comes out of them is spelled out here.
            (Op::FMin { .. } | Op::FMax { .. } | Op::FRound(_), Some(Elem::F64)) => false,
            (Op::FCvt(_), Some(Elem::F32)) if result.is_some_and(|t| t.elem == Elem::F64) => false,
            _ => op.is_primitive(args, result),
        }
    }
}

pub use double::nan64;

/// Rewrites every op that is not [primitive](Op::is_primitive), and gives f64 results the NaN payload the rule demands.
/// Result values keep their ids, instructions their lines. To be run once.
pub fn expand(func: &mut Function, caps: Caps) {
    let arg_types = |types: &[Type], i: &Inst| {
        i.args.iter().map(|a| types[a.index()]).collect::<smallvec::SmallVec<[Type; 4]>>()
    };
    let keeps = |types: &[Type], i: &Inst| {
        caps.covers(&i.op, &arg_types(types, i), i.result.map(|r| types[r.index()]))
    };
    let mut e = Emit::new(&mut func.types);
    for block in &func.blocks {
        e.learn(&block.insts);
    }
    for block in &mut func.blocks {
        if block.insts.iter().all(|i| keeps(e.types(), i)) {
            continue;
        }
        for inst in std::mem::take(&mut block.insts) {
            match inst.result {
                Some(result) if !keeps(e.types(), &inst) => {
                    e.line = inst.line;
                    let start = e.out.len();
                    let ty = e.ty(result);
                    let v = lower(&mut e, &inst, ty);
                    e.name_result(start, v, result);
                }
                _ => e.out.push(inst),
            }
        }
        block.insts = e.take_block();
    }
}

/// The expansion of one op; the value that is its result.
fn lower(e: &mut Emit, inst: &Inst, ty: Type) -> crate::Value {
    use arith::Arith;
    let args = inst.args.as_slice();
    match inst.op {
        Op::Float { op, round, ftz } => arith::arith(e, Arith::Bin(op), args, round, ftz),
        Op::Fma { round, ftz } => arith::arith(e, Arith::Fma, args, round, ftz),
        Op::Sqrt { round, ftz } => arith::arith(e, Arith::Sqrt, args, round, ftz),
        Op::FMin { .. } | Op::FMax { .. } => arith::min_max(e, inst.op, args[0], args[1]),
        Op::FNeg | Op::FAbs => arith::sign(e, inst.op, args[0]),
        Op::Ftz => flush::ftz16(e, args[0]),
        Op::FCmp(op) => arith::compare(e, op, args[0], args[1]),
        Op::FCvt(round) => convert::float_to_float(e, args[0], ty.elem, round),
        Op::FRound(round) => convert::round_to_integral(e, args[0], round),
        Op::FToInt { signed } => convert::float_to_int(e, args[0], ty.elem, signed),
        Op::IntToF { signed, round } => convert::int_to_float(e, args[0], ty.elem, signed, round),
        op => unreachable!("{op:?} is primitive on every type"),
    }
}
