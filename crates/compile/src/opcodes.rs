//! The opcodes of PTX, those included that Hostwarp does not do yet: the difference between "there is no such thing" and "not yet".

use hostwarp_isa::manual;

/// Whether PTX has this opcode.
pub(crate) fn exists(opcode: &str) -> bool {
    manual::place(opcode).is_some()
}

/// The opcode that looks most like this one.
pub(crate) fn nearest(opcode: &str) -> Option<&'static str> {
    crate::near::nearest(opcode, manual::all())
}
