//! The fast engine: LLVM, vectorised across lanes.
//!
//! - [`KernelText`] is a kernel as LLVM IR, [`JitKernel`] a compiled one; [`JitKernel::run`] runs a CTA as
//!   [`hostwarp_interp::run`] does, to the same bits.
//! - [`llvm`] finds libLLVM when running and makes objects with it; [`object`] loads them; [`target`] says for which CPU.
//!
//! Kernels that compiled code does not cover are refused with a reason ([`JitError::Unsupported`]) and run by the interpreter.

mod abi;
mod callbacks;
mod engine;
mod lanes;
pub mod llvm;
pub mod object;
mod print;
mod slow;
mod takeover;
pub mod target;

pub use engine::{JitError, JitKernel, KernelText};
pub use hostwarp_vector::Speculation;
