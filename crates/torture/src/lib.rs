//! Random kernels that must give the same bits on every engine, at every width and thread count.
//!
//! - [`generate`](generate::generate) makes a [`Kernel`] from a seed: instructions from the forms of the instruction set, between
//!   divergent and nested loops, barriers, shared memory, atomics and warp operations. By the rules of PTX its outcome does not
//!   depend on the order in which threads run, so any difference is a defect.
//! - [`Bench`](run::Bench) runs it on the interpreter and on the jit and compares all memory it wrote.
//! - [`reduce`](reduce::reduce) makes a failing kernel small.
//! - [`Coverage`](coverage::Coverage) counts what was reached; a [`Campaign`](campaign::Campaign) does all of this for many kernels.
#![forbid(unsafe_code)]

pub mod campaign;
pub mod coverage;
pub mod defined;
pub mod generate;
pub mod gpu;
pub mod instruction;
pub mod memory;
pub mod program;
pub mod random;
pub mod reduce;
pub mod run;
pub mod shapes;
pub mod subject;

pub use program::Kernel;
