//! Any bytes give a tree that can be walked, with every span in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/syntax/tests/common/mod.rs"]
mod common;

fuzz_target!(|bytes: &[u8]| {
    let parsed = hostwarp_syntax::parse(bytes);
    common::check_tree(&parsed.module);
});
