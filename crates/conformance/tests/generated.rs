//! The generated cases.

use hostwarp_conformance::cases::{cases, opcodes};
use std::collections::HashSet;

/// Recordings find cases by their text.
#[test]
fn no_two_cases_of_an_opcode_have_the_same_text() {
    for opcode in opcodes() {
        let mut seen = HashSet::new();
        for case in cases(opcode) {
            assert!(seen.insert(case.text.clone()), "{}", case.text);
        }
    }
}
