//! Control: branches, the end of a thread, barriers, fences, the stack.

pub mod barrier;
pub mod branch;
pub mod cluster;
pub mod fence;
pub mod launch_control;
pub mod pause;
pub mod stack;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    branch::BRA,
    branch::RET,
    branch::EXIT,
    barrier::ROOM,
    cluster::MAPA,
    cluster::GETCTARANK,
    cluster::SETMAXNREG,
    fence::MEMBAR,
    fence::FENCE,
    launch_control::ROOM,
    branch::BRKPT,
    pause::NANOSLEEP,
    pause::PMEVENT,
    pause::GRIDDEPCONTROL,
    branch::TRAP,
    stack::STACKSAVE,
    stack::STACKRESTORE,
    stack::ALLOCA,
];
