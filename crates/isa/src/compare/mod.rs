//! Comparison and selection: `setp selp`.

pub mod selp;
pub mod setp;

use crate::Room;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[setp::ROOM, selp::ROOM];
