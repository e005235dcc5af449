//! The core IR: what a kernel means, with no trace of PTX left.
//!
//! A [`Function`] is a control-flow graph in SSA form with block parameters. A value is what *one lane* holds: an element
//! type and a count of packed elements ([`Type`]). Engines run a function for many lanes at once; nothing here says how.
//!
//! The contract every engine relies on:
//!
//! - **Total.** Every op is defined on every bit pattern, in active and inactive lanes alike. See [`Op`] for the value in
//!   each corner (shift by more than the width, division by zero, …).
//! - **Lane-wise.** Except for memory, [`Op::LaneRead`], [`Op::Mma`], [`Op::Ballot`] and [`Op::ActiveMask`], an op sees one lane only.
//! - **Guards, not blocks.** An op with a side effect may carry a guard ([`Inst::guard`]): a lane whose guard is false does
//!   nothing and gets 0 as its result.
//! - **A lane waits only between blocks.** Barriers and warp synchronisation are terminators ([`Term`]), so a lane's
//!   position is always a block, and what a suspended lane needs is that block's live-in set.
//! - **NaNs are abstract.** A value of element type f16, bf16 or f32 that is NaN stands for *the* NaN; which bits an engine
//!   keeps in the meantime is its own affair. [`Op::ToBits`] makes it canonical (0x7fff, 0x7fff, 0x7fffffff). For f64 the
//!   payload is part of the value after [`expand`] has spelled out the rule.
//! - **Two levels.** Meanings may use any float op with any rounding; [`expand`] rewrites what is not
//!   [primitive](Op::is_primitive) into plain integer and round-to-nearest ops. Engines see primitive functions only.
//!
//! [`verify`] checks all of it; after it says yes, no engine may panic.
#![forbid(unsafe_code)]

pub mod analysis;
mod build;
pub mod calls;
pub mod dot;
mod func;
pub mod mbarrier;
mod mma;
mod op;
mod parse;
pub mod passes;
pub mod reshape;
mod ssa;
mod subst;
mod table;
mod text;
mod types;
mod verify;

pub mod eval;
pub mod expand;

pub use analysis::{dominators, immediate_dominators};
pub use build::{Builder, Var};
pub use dot::Dot;
pub use func::{
    Block, BlockData, Call, Callee, FuncId, Function, Inst, KernelInfo, Module, Slot, Target, Term, TrapKind,
    Value,
};
pub use mbarrier::MbarrierOp;
pub use mma::Mma;
pub use op::{
    AtomicOp, Axis, BarrierKind, CLUSTER_BARRIER, FBin, FCmp, IntBin, IntCmp, IntUn, Mem, Op, Order, Round,
    Scope, Space, Special, Symbol, SystemCall,
};
pub use parse::{ParseError, Parsed, parse};
pub use passes::{fold, optimize};
pub use table::Table;
pub use types::{Elem, Type};
pub use verify::{verify, verify_primitive};
