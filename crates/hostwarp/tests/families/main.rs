//! The video and fma families through the public library, on both engines, against the oracle.
//!
//! Kernels are written from the forms of the instruction set: each thread loads its operands, runs many forms on them and stores every
//! result, which must have the oracle's bits. The interpreter takes every form; the jit takes a seeded sample, and all of them in
//! `cargo test -p hostwarp --release --test families -- --ignored`.
//!
//! Without a libLLVM the jit's part is left out with a note; `HOSTWARP_REQUIRE_LLVM=1` makes that a failure.

mod fma;
mod harness;
mod video;
