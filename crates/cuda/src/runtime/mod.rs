//! The functions of `libcudart.so`, over the driver's.
//!
//! A program built by nvcc with `-cudart shared` registers its fat binaries, kernels and variables before `main`; nothing of it is loaded until it is used.

mod array;
mod basics;
mod graph;
mod launch;
mod memory;
mod properties;
mod register;
mod twelve;

pub use array::*;
pub use basics::*;
pub use graph::*;
pub use launch::*;
pub use memory::*;
pub use properties::*;
pub use register::*;
pub use twelve::*;

use crate::driver;
use crate::errors::Code;
use crate::state::{self, State};
use std::cell::Cell;

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
}

/// Remembers an error for `cudaGetLastError`. "Not ready" is no error.
fn remember(code: i32) -> i32 {
    if code != 0 && code != 600 {
        LAST.set(code);
    }
    code
}

/// The device, with the primary context for threads that have none.
fn ensure() -> Result<&'static State, Code> {
    let state = state::init()?;
    if state::current().is_none() {
        let handle = driver::retain_primary(state);
        state::contexts(|stack| stack.push(handle));
    }
    Ok(state)
}

/// What a driver's function answered.
fn ok(code: i32) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}
