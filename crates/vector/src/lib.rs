//! From a planned kernel to vector code: what is a scalar, what a vector, which lanes take part, what is checked, where code is left.
//!
//! - [`Facts`] say how a value differs between the lanes of a group: a uniform origin plus a constant for each lane, with alignment and range;
//! - `speculate` says which branches a converged version of the code takes for uniform, next to the general one;
//! - [`lower`] makes [`Kernel`]s of them: blocks of instructions on narrow (one for the group) and wide (one per lane) registers, with
//!   variables for what lives from block to block;
//! - `dce` removes what nobody uses;
//! - [`width`] picks how many lanes a group has;
//! - [`verify`] says whether a kernel is well formed, [`Kernel`]'s `Display` is its text form (`run --emit vector`).
//!
//! Whoever prints it for a target decides nothing. The contract:
//!
//! - Code is entered only at [`Kernel::entries`]: the kernel's entry, what follows a barrier, and headers of outermost loops; with what lanes need in the frame.
//!   Where there are two versions, at the same places of [`Kernel::general`].
//! - With [speculation](Speculation) a check that fails does not come back where its block has had no effect yet: lanes are left at the start of the block, and the interpreter goes on there.
//!   Behind an effect, and without speculation, the engine does the access lane by lane.
//! - Blocks are run in the plan's order, each with the lanes that wait there (docs/convergence.md). Where all lanes of a group are in one place there are no
//!   masks, and branches are branches.
//! - What a lane that does not take part holds (an address, a wrapped index) is unobservable: masks come before checks.
#![forbid(unsafe_code)]

mod dce;
mod facts;
mod ir;
mod lower;
mod speculate;
mod text;
mod verify;
mod width;

pub use facts::{Fact, Facts, Lanes};
pub use ir::{
    Access, At, BlockData, Extent, Form, General, Inst, Kernel, Label, MOST_STRIDE, Offsets, Op, Place, Reg,
    Status, Term, Ty, Var,
};
pub use lower::{Unsupported, covers, lower};
pub use speculate::Speculation;
pub use verify::verify;
pub use width::{Registers, width};
