//! Comparison and selection: `set setp selp slct`.

pub mod selp;
pub mod set;
pub mod setp;
pub mod slct;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[set::ROOM, setp::ROOM, selp::ROOM, slct::ROOM];
