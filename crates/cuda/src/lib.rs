//! CUDA's driver and runtime libraries over Hostwarp: unmodified CUDA programs without a GPU.
//!
//! - [`driver`]: the functions of `libcuda.so.1`, a few lines each over the library.
//! - [`runtime`]: those of `libcudart.so`, over the driver's.
//! - [`state`]: the one device of the process, its contexts, handles and errors.
//! - [`ops`]: what is queued on streams and kept in graphs; [`graph`]: graphs and captures.
//! - [`fatbin`]: PTX out of what nvcc packs.
//! - [`stubs`]: every other name NVIDIA's headers declare; they say so once and return "not supported".
//!
//! # Safety
//!
//! The functions take C's pointers, and whoever calls them promises what CUDA's manual asks: they point where they should, for as long as they
//! should. Handles are numbers that are looked up, so a wrong one is an error, not a crash. Host memory is touched only where a
//! call names it; kernels run behind the library's checks and reach device memory alone, and what the program registers for them.
//! Panics stop at the boundary (`log::guard`) and become `CUDA_ERROR_UNKNOWN`.
#![recursion_limit = "512"]
#![allow(non_snake_case, non_camel_case_types, clippy::missing_safety_doc, clippy::too_many_arguments)]

#[macro_use]
pub mod log;
pub mod attributes;
pub mod driver;
pub mod errors;
pub mod fatbin;
pub mod graph;
pub mod ops;
pub mod runtime;
pub mod state;
pub mod stats;
pub mod types;

/// Names that are exported and do nothing yet.
#[allow(missing_docs)]
pub mod stubs {
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}
