//! Run NVIDIA PTX on any CPU with the bits a GPU would give.
//!
//! A [`Device`] is a virtual GPU with its own memory. It loads PTX into a [`Module`], whose [`Kernel`]s are launched on
//! [`Buffer`]s, and waited for or queued on a [`Stream`]. See [`LaunchBuilder`] for a whole example.
//!
//! Two engines give the same bits: the interpreter, always there, and the jit (the feature `jit`, on x86-64 and aarch64), which needs a
//! libLLVM at run time. What goes wrong
//! is an [`Error`] of one of five [kinds](ErrorKind); a faulting kernel never takes the process with it.
//!
//! There is no global state; devices are independent, and everything can be used from many threads.
#![forbid(unsafe_code)]

mod buffer;
mod cache;
mod code;
mod device;
mod error;
mod eval;
mod executor;
mod launch;
mod module;
mod order;
mod schedule;
mod stream;
mod threads;
mod tiers;
mod watch;

// The one place that knows whether there is a jit; `Cargo.toml` has the same condition.
#[cfg(all(feature = "jit", unix, target_arch = "x86_64"))]
pub use hostwarp_jit as jit;
#[cfg(not(all(feature = "jit", unix, target_arch = "x86_64")))]
#[path = "no_jit.rs"]
pub mod jit;

pub use buffer::{Buffer, Pod};
pub use cache::{Cache, CacheUsage};
pub use device::{Device, DeviceBuilder};
pub use error::{Error, ErrorKind, InputError};
pub use eval::{EvalOutput, EvalStep, EvalValue, eval};
pub use hostwarp_interp::{Exceeded, Held, KernelFault, KernelFaultKind, Limits, Misuse, TooEarly, Wait};
pub use hostwarp_isa::Profile;
pub use hostwarp_memory::MemoryError;
pub use launch::{Arg, Effort, Emit, Engine, LaunchBuilder, MAX_CTA_THREADS, MAX_LOCAL, MAX_SHARED, Report};
pub use module::{Kernel, Module, Options, Symbol, passes};
pub use schedule::{Progress, RESIDENT};
pub use stream::{Download, Event, Stream};
pub use watch::{
    InstructionStats, MemoryStats, OpcodeStats, Stats, TraceAccess, TraceSink, TraceStep, TraceValue,
};

pub use hostwarp_compile as compile;
pub use hostwarp_ir as ir;
pub use hostwarp_isa as isa;
pub use hostwarp_memory as memory;
pub use hostwarp_plan as plan;
pub use hostwarp_syntax as syntax;
