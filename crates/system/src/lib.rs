//! What Hostwarp asks of the operating system: mappings, device memory, threads, libraries, files.
//!
//! Every such request goes through a [`seam`], where a test can make it fail: once, or from some request on. In release builds a seam is nothing at all.
//! Beside it there are the requests that several crates make in the same way: [`thread`], [`time`] and, but in WebAssembly, [`mod@file`] and [`mod@stdout`].
//! [`Limits`] is how much of all this may be asked for, and of time.
#![deny(unsafe_code)]

#[cfg(not(target_family = "wasm"))]
pub mod exit;
#[cfg(not(target_family = "wasm"))]
pub mod file;
pub mod limits;
pub mod memory;
pub mod seam;
#[cfg(not(target_family = "wasm"))]
pub mod stdout;
pub mod thread;
pub mod time;

pub use limits::{Exceeded, Held, Limits, poll};
