//! The fast engine: LLVM, vectorised across lanes.

pub mod llvm;
pub mod object;
pub mod target;
