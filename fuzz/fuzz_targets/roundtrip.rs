//! Printing keeps every token and is stable.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/syntax/tests/common/mod.rs"]
mod common;

fuzz_target!(|bytes: &[u8]| common::check(bytes));
