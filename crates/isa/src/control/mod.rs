//! Control: branches, the end of a thread, barriers, fences.

pub mod branch;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[branch::BRA, branch::RET, branch::EXIT, branch::TRAP, branch::BRKPT];
