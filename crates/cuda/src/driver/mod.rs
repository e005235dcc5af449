//! The functions of `libcuda.so.1`.

mod basics;
mod context;
mod copy;
mod event;
mod graph;
mod launch;
pub mod link;
mod memory;
mod module;
mod names;
mod occupancy;
mod stream;

pub use basics::*;
pub use context::*;
pub use copy::*;
pub use event::*;
pub use graph::*;
pub use launch::*;
pub use link::*;
pub use memory::*;
pub use module::*;
pub use names::*;
pub use occupancy::*;
pub use stream::*;
