//! `nanosleep pmevent griddepcontrol`: nothing that a program could see.

use crate::{Form, Room, since};

/// `nanosleep`
pub const NANOSLEEP: Room = Room {
    opcodes: &["nanosleep"],
    title: "wait for about so many nanoseconds",
    doc: "The manual allows any time from 0 to twice what is asked for; here it is 0. A loop that waits for another thread goes on all the same.",
    section: "9.7.19.2",
    forms: &[Form::new("nanosleep.u32  t:u32", &[], since(63, 70))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `pmevent`
pub const PMEVENT: Room = Room {
    opcodes: &["pmevent"],
    title: "trigger a performance monitor event",
    doc: "There are no performance monitors, so nothing happens.",
    section: "9.7.19.3",
    forms: &[
        Form::new("pmevent  a:u32#<0..15>", &[], since(14, 10)),
        Form::new("pmevent.mask  a:u32#<0..65535>", &[], since(30, 20)),
    ],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `griddepcontrol`
pub const GRIDDEPCONTROL: Room = Room {
    opcodes: &["griddepcontrol"],
    title: "wait for the grids this one depends on, or let those that depend on it begin",
    doc: "A launch begins when those before it have ended, so there is nobody to wait for, and nobody waits.",
    section: "9.7.13.13",
    forms: &[
        Form::new("griddepcontrol.launch_dependents", &[], since(78, 90)),
        Form::new("griddepcontrol.wait", &[], since(78, 90)),
    ],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};
