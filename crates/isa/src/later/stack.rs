//! `alloca stacksave stackrestore`
//!
//! Since PTX 7.3, sm_52.

use super::room;
use crate::{Form, Room, since};

const SETS: &[(&str, &str)] = &[(".type", ".u32 .u64"), (".size", ".u32 .u64")];

/// `alloca`
pub const ALLOCA: Room = room(
    &["alloca"],
    "take memory from the thread's stack",
    "9.7.13.7",
    &[Form::new("alloca.type  d:.type, a:.type{, b:u32#<1..>}", SETS, since(73, 52)).later()],
    None,
);

/// `stacksave`
pub const STACKSAVE: Room = room(
    &["stacksave"],
    "where the stack ends",
    "9.7.13.8",
    &[Form::new("stacksave.type  d:.type", SETS, since(73, 52)).later()],
    None,
);

/// `stackrestore`
pub const STACKRESTORE: Room = room(
    &["stackrestore"],
    "give back what was taken from the stack since",
    "9.7.13.9",
    &[Form::new("stackrestore.type  a:.type!", SETS, since(73, 52)).later()],
    None,
);
