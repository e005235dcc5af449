//! Proof on hardware: generated tests, recordings from a GPU, and their replay.
//!
//! [`cases`] walks the forms of the instruction set, [`generate`] makes [`Program`]s of them: PTX kernels that run many forms on the same
//! operands, loaded from memory, one vector of operands per thread. A *recording* is what a GPU stored ([`record`]); a *replay*
//! runs the very same PTX on Hostwarp and compares ([`replay`]). Nothing but the PTX text and the operands is shared. An *audit*
//! ([`mod@audit`]) holds every difference between the manual and the GPU to an [erratum](hostwarp_isa::Erratum), and [`docs`] writes down what came
//! of it.

pub mod audit;
pub mod cases;
pub mod control;
pub mod cuda;
pub mod docs;
pub mod exhaustive;
pub mod file;
pub mod generate;
pub mod kernels;
pub mod matrix;
pub mod memory;
pub mod ptxas;
pub mod record;
pub mod replay;
pub mod vectors;

pub use cases::{Case, Register};
pub use docs::generate_docs;
pub use generate::Program;
pub use record::record_all;
pub use replay::{Report, Selection, replay_all};
