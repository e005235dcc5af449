//! The functions of `libcuda.so.1`.

mod array;
mod basics;
mod context;
mod copy;
mod event;
mod graph;
mod graph_nodes;
mod launch;
pub mod link;
mod managed;
mod memory;
mod module;
mod names;
mod occupancy;
mod old;
pub mod pool;
mod stream;
pub mod value;

pub use array::*;
pub use basics::*;
pub use context::*;
pub use copy::*;
pub use event::*;
pub use graph::*;
pub use graph_nodes::*;
pub use launch::*;
pub use link::*;
pub use managed::*;
pub use memory::*;
pub use module::*;
pub use names::*;
pub use occupancy::*;
pub use old::*;
pub use pool::*;
pub use stream::*;
pub use value::*;
