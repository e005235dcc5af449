//! Which kernel does an op.

use super::{KernelFn, Level, RowsFn, dot, float, int, lanes, rows};
use hostwarp_ir::{Op, Round, Type};

/// A kernel and how to call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    /// The kernel.
    pub(crate) kernel: KernelFn,
    /// Chunks per warp, as a power of two: one if the kernel works on lanes, as many as a lane has elements if it works on elements.
    pub(crate) log_chunks: u8,
    /// Constants of the op.
    pub(crate) imm: u64,
    /// The kernel that takes arguments as they lie in memory, if there is one.
    pub(crate) by_rows: Option<RowsFn>,
}

/// The kernel of a pure op; none for ops that are something else: constants, specials and what is not primitive.
pub(crate) fn select(op: Op, args: &[Type], result: Type, level: Level) -> Option<Selected> {
    let first = args.first().copied()?;
    let by_element = |kernel: KernelFn| Selected {
        kernel,
        log_chunks: first.count.trailing_zeros() as u8,
        imm: 0,
        by_rows: None,
    };
    let by_lane = |kernel: KernelFn, imm: u64| Selected { kernel, log_chunks: 0, imm, by_rows: None };
    Some(match op {
        Op::Int(op) => by_element(int::int_bin(op, result.elem, level)),
        Op::IntUn(op) => by_element(int::int_un(op, result.elem, level)),
        Op::Cmp(op) => by_element(int::int_cmp(op, first.elem, level)),
        Op::Select if first.count == result.count => by_element(lanes::select(result.elem, level)),
        Op::Select => by_lane(lanes::select_lane(result, level), 0),
        Op::Zext => by_element(int::extend(false, first.elem, result.elem, level)?),
        Op::Sext => by_element(int::extend(true, first.elem, result.elem, level)?),
        Op::Trunc => by_element(int::truncate(first.elem, result.elem, level)?),
        Op::Bitcast | Op::FromBits => by_lane(lanes::copy(result.bytes(), level), 0),
        Op::ToBits if first.elem.bits() == 64 => by_lane(lanes::copy(result.bytes(), level), 0),
        Op::Extract(n) => by_lane(lanes::extract(first, level), n.into()),
        Op::Build => by_lane(lanes::build(result, level), 0),
        Op::Permute(p) => by_lane(lanes::permute(result, level), u64::from_le_bytes(p)),
        Op::HSum { signed } => by_lane(lanes::hsum(signed, first, level), 0),
        Op::Dot(dot) => {
            let (kernel, imm) = dot::dot(dot, level);
            by_lane(kernel, imm)
        }
        Op::Mma(mma) => {
            let (kernel, imm) = dot::mma(mma, level);
            by_lane(kernel, imm)
        }
        Op::Propagate => by_element(float::propagate(args.len(), level)?),
        Op::Lookup(table) => by_lane(lanes::lookup(level), table as u64),
        Op::Fma { round: Round::Nearest, ftz: false } if first == Type::F32 => Selected {
            by_rows: rows::fma(level),
            ..by_element(float::float(op, first.elem, result.elem, level)?)
        },
        _ => by_element(float::float(op, first.elem, result.elem, level)?),
    })
}

/// Copies a column of `bytes` bytes per lane.
pub(crate) fn copy(bytes: usize, level: Level) -> KernelFn {
    lanes::copy(bytes, level)
}
