//! Hostwarp for C. `include/hostwarp.h` is the manual: each function here is described there.
//!
//! - [`api`]: devices, modules, kernels, buffers, launches.
//! - [`ocelot`]: `ptx_run`, the one function that users of gpuocelot call. Kernels get pointers to the host's own memory there.
//!
//! # Safety
//!
//! The functions take C's pointers; whoever calls them promises what the header asks. NULL is looked for, panics stop at the boundary.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

pub mod api;
pub mod ocelot;
