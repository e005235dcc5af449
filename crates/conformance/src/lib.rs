//! Proof on hardware: generated tests, recordings from a GPU, and their replay.
//!
//! [`generate`] walks the forms of the instruction set and writes [`Program`]s: PTX kernels that run many forms on the same
//! operands, loaded from memory, one vector of operands per thread. A *recording* is what a GPU stored ([`record`]); a *replay*
//! runs the very same PTX on Hostwarp and compares ([`replay`]). Nothing but the PTX text and the operands is shared. An *audit*
//! ([`mod@audit`]) holds every difference between the manual and the GPU to an [erratum](hostwarp_isa::Erratum), and [`docs`] writes down what came
//! of it.

pub mod audit;
pub mod cuda;
pub mod docs;
pub mod file;
pub mod generate;
pub mod ptxas;
pub mod record;
pub mod replay;
pub mod vectors;

pub use docs::generate_docs;
pub use generate::{Case, Program, Register};
pub use record::record_all;
pub use replay::{Report, Selection, replay_all};
