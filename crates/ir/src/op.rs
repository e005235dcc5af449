//! The ops.

use crate::mbarrier::MbarrierOp;
use crate::{Dot, Mma, Table};

/// How a float result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
    /// To nearest, ties away from zero (conversions only).
    Away,
}

/// Integer ops with two operands of one type; the result has that type. All wrap modulo the width unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum IntBin {
    Add,
    Sub,
    Mul,
    /// High half of the unsigned double-width product.
    MulHiU,
    /// High half of the signed double-width product.
    MulHiS,
    /// All ones when the divisor is 0.
    DivU,
    /// All ones when the divisor is 0; the most negative number divided by −1 is itself.
    DivS,
    /// All ones when the divisor is 0.
    RemU,
    /// All ones when the divisor is 0; sign of the dividend; the most negative number modulo −1 is 0.
    RemS,
    And,
    Or,
    Xor,
    /// 0 when the amount, taken as unsigned, is the width or more.
    Shl,
    /// 0 when the amount, taken as unsigned, is the width or more.
    ShrU,
    /// Copies of the sign when the amount, taken as unsigned, is the width or more.
    ShrS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    /// |a − b| of unsigned operands.
    AbsDiffU,
    /// |a − b| of signed operands, as an unsigned number of the same width (it always fits).
    AbsDiffS,
    AddSatU,
    AddSatS,
    SubSatU,
    SubSatS,
}

impl IntBin {
    /// Every one, for tests that must cover all.
    pub const ALL: [IntBin; 25] = {
        use IntBin::*;
        [
            Add, Sub, Mul, MulHiU, MulHiS, DivU, DivS, RemU, RemS, And, Or, Xor, Shl, ShrU, ShrS, MinU, MinS,
            MaxU, MaxS, AbsDiffU, AbsDiffS, AddSatU, AddSatS, SubSatU, SubSatS,
        ]
    };
}

/// Integer ops with one operand; the result has its type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum IntUn {
    Not,
    Neg,
    /// The most negative number is its own absolute value.
    Abs,
    Popc,
    /// Leading zeros; the width for 0.
    Clz,
    /// Bits in reverse order.
    Brev,
}

impl IntUn {
    /// Every one.
    pub const ALL: [IntUn; 6] = [IntUn::Not, IntUn::Neg, IntUn::Abs, IntUn::Popc, IntUn::Clz, IntUn::Brev];
}

/// Integer comparisons; the result is `i1` (packed like the operands).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum IntCmp {
    Eq,
    Ne,
    LtU,
    LeU,
    LtS,
    LeS,
}

impl IntCmp {
    /// Every one.
    pub const ALL: [IntCmp; 6] = [IntCmp::Eq, IntCmp::Ne, IntCmp::LtU, IntCmp::LeU, IntCmp::LtS, IntCmp::LeS];
}

/// Float ops with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum FBin {
    Add,
    Sub,
    Mul,
    Div,
}

/// Float comparisons. The plain ones are false when an operand is NaN, those ending in `u` are true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum FCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is NaN.
    Num,
    /// At least one is NaN.
    Nan,
}

impl FCmp {
    /// Every one.
    pub const ALL: [FCmp; 14] = {
        use FCmp::*;
        [Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan]
    };
}

/// x, y or z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Axis {
    X,
    Y,
    Z,
}

/// What a lane can ask the machine. All are `i32` but those [`Special::is_wide`] names, which are `i64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Special {
    /// Thread index in the CTA.
    Tid(Axis),
    /// CTA size.
    Ntid(Axis),
    /// CTA index in the grid.
    Ctaid(Axis),
    /// Grid size in CTAs.
    Nctaid(Axis),
    /// Lane in its warp, 0 to 31.
    LaneId,
    /// Warp in its CTA.
    WarpId,
    /// Warps in a CTA.
    NWarpId,
    /// Virtual multiprocessor the CTA runs on: schedule dependent on hardware, 0 here.
    SmId,
    /// Number of virtual multiprocessors.
    NSmId,
    /// Bytes of dynamic shared memory of the launch.
    DynamicSharedSize,
    /// Bytes of static and dynamic shared memory together, without what is reserved, in whole units of 128.
    TotalSharedSize,
    /// Low word of the cycle counter.
    Clock,
    /// The cycle counter.
    Clock64,
    /// Nanoseconds.
    GlobalTimer,
    /// Number of the launch.
    GridId,
    /// Device address of the block that holds the module's global variables.
    GlobalsBase,
    /// Device address of the memory that the CTAs of a cooperative launch meet in; 0 in any other launch.
    GridWorkspace,
}

impl Special {
    /// Whether it is `i64`.
    pub fn is_wide(self) -> bool {
        use Special::*;
        matches!(self, Clock64 | GlobalTimer | GridId | GlobalsBase | GridWorkspace)
    }
}

/// Something whose address is only known when a kernel and all it calls are put together ([`crate::calls::link`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// A slot of the function's frame in local memory: index into [`crate::Function::slots`]. `i32`.
    Slot(u32),
    /// The first byte of local memory above the function's frame. `i32`.
    StackTop,
    /// The first byte of local memory no thread has: where the stack must end. `i32`.
    StackLimit,
    /// A static variable in shared memory: index into [`crate::Module::shared`]. `i32`.
    Shared(u32),
    /// Where dynamic shared memory begins, behind all static one. `i32`.
    DynamicShared {
        /// At a multiple of this, and of 16.
        align: u32,
    },
}

/// A state space. An address in `Generic` is decoded by the memory map, in the others it is relative to the space
/// (`Global`: the device address itself).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Space {
    Global,
    Shared,
    Local,
    Const,
    Param,
    Generic,
}

impl Space {
    /// Where the space begins in generic addresses: `cvta` adds it. The memory map of every engine agrees.
    pub const fn window(self) -> u64 {
        const WINDOWS: u64 = 1 << 48;
        match self {
            Space::Global | Space::Generic => 0,
            Space::Shared => WINDOWS,
            Space::Local => WINDOWS + (1 << 32),
            Space::Const => WINDOWS + (2 << 32),
            Space::Param => WINDOWS + (3 << 32),
        }
    }
}

/// Memory order of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// Which threads an ordered access is ordered against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// How memory is accessed. The address must be a multiple of the access size (all elements together); anything else faults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mem {
    /// Which memory.
    pub space: Space,
    /// How strongly ordered.
    pub order: Order,
    /// Against whom.
    pub scope: Scope,
}

impl Mem {
    /// A weak access to `space`.
    pub const fn weak(space: Space) -> Mem {
        Mem { space, order: Order::Weak, scope: Scope::Cta }
    }
}

/// What a lane asks of whoever runs it, besides memory. Engines hand it on to one place that knows; most have arguments in memory, 8 bytes each one behind
/// the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SystemCall {
    /// (format, arguments) → how many went into the text. Both are generic addresses; arguments are at multiples of their size.
    Print,
    /// (bytes) → the generic address of a new block, or 0.
    Allocate,
    /// (block): one that `Allocate` gave, or 0.
    Free,
    /// (message, file, line, function): does not return.
    Assert,
    /// No arguments: the lowest bit of the operand is this lane's vote at the barrier that it comes to next.
    Vote,
    /// No arguments → how many lanes had voted yes of those that waited together at the last barrier this lane voted at.
    Votes,
    /// In place of an address the number of a place in the program: tells who watches the launch that this lane is there, with the operand.
    Probe,
    /// The address is that of an mbarrier, the operand what the operation says → the 64 bits that were there.
    Mbarrier(MbarrierOp),
    /// The operand holds an address in shared memory (low half) and a number of bytes (high half): copies so many from the address to there. All of
    /// them must be multiples of 16.
    CopyIn,
    /// As `CopyIn`, from shared memory to the address.
    CopyOut,
    /// As `CopyIn`, any number of bytes, anywhere.
    CopyFew,
    /// No arguments: the operand is the next of the words that this lane's next wide operation takes.
    Stage,
    /// The address is that of 128 bits, which become what has been staged (two words, the low one first) → the low half of what was there.
    WideExch,
    /// As `WideExch`; two words more, before the others, are what must have been there.
    WideCas,
    /// No arguments → the high half of what was there at this lane's last wide operation.
    Staged,
}

impl SystemCall {
    /// Every one.
    pub fn all() -> impl Iterator<Item = SystemCall> {
        use SystemCall::*;
        let plain = [
            Print, Allocate, Free, Assert, Vote, Votes, Probe, CopyIn, CopyOut, CopyFew, Stage, WideExch,
            WideCas, Staged,
        ];
        plain.into_iter().chain(MbarrierOp::ALL.map(Mbarrier))
    }
}

/// Read-modify-write operations; the old value is the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AtomicOp {
    Exch,
    /// args: address, compare, value.
    Cas,
    Add,
    And,
    Or,
    Xor,
    MinU,
    MinS,
    MaxU,
    MaxS,
    /// old ≥ b ? 0 : old + 1
    Inc,
    /// old = 0 or old > b ? b : old − 1
    Dec,
    /// Float add of bits, rounded to nearest; i32 is f32, i64 is f64. NaN of f32 is the canonical one, of f64 the operand's before what memory held.
    FAdd {
        /// Done by the units of global memory, not by a loop around an ordinary addition: subnormal operands and results of f32 are flushed, NaNs of f64 are
        /// not made quiet.
        remote: bool,
    },
    /// Asks for something with the arguments that are at the address, which is generic; may look at any memory. T is i64, and the result is what is answered.
    System(SystemCall),
}

/// The number of the barrier that the threads of a cluster of one CTA meet at. Not one that a program names.
pub const CLUSTER_BARRIER: u32 = 1 << 31;

/// What a barrier does besides waiting.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierKind {
    /// Wait until the expected number of threads has arrived.
    Sync,
    /// Arrive and go on.
    Arrive,
}

/// One operation. Arguments are in [`crate::Inst::args`]; packed values are worked on element by element.
///
/// "T" is any type of the named kind, and all arguments marked T have the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// () → T. The bits of one element, the same for all elements.
    Const(u64),
    /// () → i32 or i64.
    Special(Special),
    /// () → i32. Not primitive: linking makes a constant of it.
    Address(Symbol),

    /// (T, T) → T, T integer (`And`, `Or`, `Xor` also on i1; nothing else on i1).
    Int(IntBin),
    /// (T) → T, T integer (`Not` also on i1).
    IntUn(IntUn),
    /// (T, T) → i1 shaped like T. On i1 only `Eq` and `Ne`.
    Cmp(IntCmp),
    /// (i1, T, T) → T: second where the condition holds, else third. The condition is a plain i1, or shaped like T.
    Select,
    /// (T) → wider integer T of the same count, zero-extended (from i1 too).
    Zext,
    /// (T) → wider integer of the same count, sign-extended (from i1: all ones).
    Sext,
    /// (T) → narrower integer of the same count, low bits kept (to i1: the lowest bit).
    Trunc,
    /// (integer) → integer of the same total width; element 0 is in the lowest bits. Not on i1.
    Bitcast,

    /// (T packed) → element `.0`.
    Extract(u8),
    /// (E, E, …) → packed; as many arguments as elements, element 0 first.
    Build,
    /// (T, T) → T: element i of the result is element `.0[i]` of the two arguments laid end to end (first one first).
    Permute([u8; 8]),
    /// (packed integer, i32) → i32: the sum of all elements, extended, plus the second argument, modulo 2^32.
    HSum {
        /// Sign-extend the elements.
        signed: bool,
    },
    /// (i32) → i64: the entry of the table; the index counts modulo their number.
    Lookup(Table),
    /// (i32, … as many words of factors, i32, … as many again, T) → T: the sum of all products and the last argument, as a matrix unit adds
    /// them ([`crate::dot`]). T is i16 where the sum is an f16, i32 else.
    Dot(Dot),

    /// (T, T) → T float. Primitive: f32 and f64, `Nearest`, no ftz.
    Float {
        /// Which.
        op: FBin,
        /// Rounding.
        round: Round,
        /// Flush subnormal operands and results to zero of the same sign.
        ftz: bool,
    },
    /// (T, T, T) → a·b + c, rounded once. Primitive: f32 and f64, `Nearest`, no ftz.
    Fma {
        /// Rounding.
        round: Round,
        /// As in `Float`.
        ftz: bool,
    },
    /// (f32, f32, f32, all packed alike) → a·b + c rounded to odd: toward zero, and the last bit set if that was inexact. So it never overflows, and
    /// any format of at most 22 bits is rounded to from there as from the exact value.
    FmaOdd {
        /// The operands are known to be numbers of f16, which is of use to engines that have no directed rounding: the product is exact in f32.
        /// With other operands any number may come out.
        halves: bool,
    },
    /// (T) → T. Primitive: f32 and f64, `Nearest`, no ftz.
    Sqrt {
        /// Rounding.
        round: Round,
        /// As in `Float`.
        ftz: bool,
    },
    /// (f64, f64, …) → f64, all packed alike, two to four: the first; where that is NaN the first NaN among the others, made quiet, or
    /// 0xfff8000000000000 if there is none. So an f64 gets the payload that [`expand::nan64`](crate::expand::nan64) asks for.
    Propagate,
    /// (T, T) → T. −0 < +0. One NaN: the other operand, or NaN with `nan`. Primitive: f32, f64.
    FMin {
        /// NaN wins.
        nan: bool,
    },
    /// As `FMin`.
    FMax {
        /// NaN wins.
        nan: bool,
    },
    /// (T) → T. Sign flipped; NaN stays the NaN. Primitive: f32, f64.
    FNeg,
    /// (T) → T. Sign cleared. Primitive: f32, f64.
    FAbs,
    /// (T) → T. Subnormals become zero of the same sign. Primitive: f32, f64.
    Ftz,
    /// (T, T) → i1 shaped like T. Primitive: f32, f64.
    FCmp(FCmp),
    /// (T float) → integer of the same shape. NaNs of f16, bf16 and f32 become canonical; f64 bits as they are.
    ToBits,
    /// (T integer) → float type of the same width and shape.
    FromBits,
    /// (float) → float of another element type, same count. Widening is exact. Primitive: f16→f32, f32→f64, and with
    /// `Nearest` f32→f16, f64→f32.
    FCvt(Round),
    /// (T) → T: to an integral value. Primitive: f32, f64, all but `Away`.
    FRound(Round),
    /// (float) → integer of the same count, toward zero, clamped to its range; NaN gives 0. Primitive: f32, f64 to i32, i64.
    FToInt {
        /// Clamp to the signed range.
        signed: bool,
    },
    /// (integer) → float of the same count. Primitive: i32, i64 to f32, f64 with `Nearest`.
    IntToF {
        /// The integer is signed.
        signed: bool,
        /// Rounding.
        round: Round,
    },

    /// (address) → T. The address is i32 (zero-extended) or i64. May be guarded.
    Load(Mem),
    /// (address, T) → nothing. May be guarded.
    Store(Mem),
    /// (address, T) or for `Cas` (address, compare, T) → old T. T is i16 (Cas only), i32 or i64.
    /// May be guarded. Lanes go in ascending order.
    Atomic(AtomicOp, Mem),
    /// () → nothing: order memory operations.
    Fence(Scope),

    /// (T scalar, i32 lane) → T: the value the lane (modulo 32) holds, or one's own where that lane is not executing.
    LaneRead,
    /// (registers of `a`, of `b`, addends) → the part of the sum it names ([`crate::Mma`]): i32, or i16 where the sum is an f16. Only where all lanes
    /// of the warp are known to be executing: it reads what every lane holds.
    Mma(Mma),
    /// (i1) → i32: bit per executing lane of the warp whose argument is true.
    Ballot,
    /// () → i32: bit per executing lane of the warp.
    ActiveMask,
}

impl Op {
    /// Whether dropping it when its result is unused, or running it once more, could be noticed.
    pub fn has_effect(&self) -> bool {
        matches!(self, Op::Store(_) | Op::Atomic(..) | Op::Fence(_))
    }

    /// How it accesses memory, if it does.
    pub fn mem(&self) -> Option<Mem> {
        match self {
            Op::Load(mem) | Op::Store(mem) | Op::Atomic(_, mem) => Some(*mem),
            _ => None,
        }
    }

    /// Whether it may carry a guard.
    pub fn may_be_guarded(&self) -> bool {
        matches!(self, Op::Load(_) | Op::Store(_) | Op::Atomic(..))
    }

    /// Whether the result depends on its arguments alone: such ops may be moved, merged and removed.
    pub fn is_pure(&self) -> bool {
        !self.has_effect()
            && !matches!(
                self,
                Op::Load(_)
                    | Op::LaneRead
                    | Op::Mma(_)
                    | Op::Ballot
                    | Op::ActiveMask
                    | Op::Special(Special::Clock | Special::Clock64 | Special::GlobalTimer)
            )
    }
}
