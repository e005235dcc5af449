//! Bits: `and or xor not cnot lop3 shf shl shr`.

pub mod bitwise;
pub mod more;
pub mod shift;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] =
    &[bitwise::BITWISE, bitwise::NOT, more::CNOT, more::LOP3, more::SHF, shift::SHL, shift::SHR];
