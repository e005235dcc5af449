//! Integers only: remainder, counting and moving bits, 24-bit and dot products.

pub mod bits;
pub mod dot;
pub mod field;
pub mod fns;
pub mod mul24;
pub mod rem;
pub mod sad;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    mul24::MUL24,
    mul24::MAD24,
    sad::ROOM,
    rem::ROOM,
    bits::POPC,
    bits::CLZ,
    bits::BFIND,
    bits::BREV,
    fns::ROOM,
    field::BFE,
    field::BFI,
    field::SZEXT,
    field::BMSK,
    dot::DP4A,
    dot::DP2A,
];
