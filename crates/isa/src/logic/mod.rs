//! Bits: `and or xor not shl shr`.

pub mod bitwise;
pub mod shift;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[bitwise::BITWISE, bitwise::NOT, shift::SHL, shift::SHR];
