//! Control: branches, the end of a thread, barriers, fences.

pub mod barrier;
pub mod branch;
pub mod fence;
pub mod pause;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    branch::BRA,
    branch::RET,
    branch::EXIT,
    barrier::ROOM,
    fence::MEMBAR,
    fence::FENCE,
    branch::BRKPT,
    pause::NANOSLEEP,
    pause::PMEVENT,
    pause::GRIDDEPCONTROL,
    branch::TRAP,
];
