//! The reference engine: columns of lanes in portable Rust, and the state of a running CTA that both engines share.
//!
//! - [`Program`] is a planned kernel, [`Launch`] what its CTAs have in common, [`Cta`] the state of one of them.
//! - [`run`] runs a CTA, as far as a budget goes. CTAs are independent; a thread keeps one [`Cta`] and resets it.
//! - [`KernelFault`] says what went wrong and where.

mod access;
mod columns;
mod cta;
mod exec;
mod fault;
mod float_state;
mod kernels;
mod launch;
mod lower;
mod observe;
mod printf;
mod regs;
mod rows;
mod segments;
mod shape;
mod system;
#[cfg(test)]
mod tests;

pub use access::{add_f32, add_f64};
pub use cta::{BARRIERS, Cta, FrameBuffer, LaneState, Outcome, Runner, WARP, Warp};
pub use exec::{run, settle};
pub use fault::{Assertion, KernelFault, KernelFaultKind, Misuse, TooEarly, Wait, Waiting, WaitingAt};
pub use float_state::with_default_float_state;
pub use hostwarp_system::{Exceeded, Held, Limits};
pub use launch::{Launch, Program};
pub use observe::{Observed, Observer};
pub use system::{Heap, Printer, system_call};
