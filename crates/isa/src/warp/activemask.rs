//! `activemask`
//!
//! Since PTX 6.2, sm_30.

use crate::{Form, Room, since};
use hostwarp_ir::{Op, Type};

/// `activemask`
pub const ROOM: Room = Room {
    opcodes: &["activemask"],
    title: "the lanes that execute this instruction together",
    doc: "A bit for each lane of the warp. With a guard, only the lanes where it holds execute it. Which lanes run together after a divergent branch is up to \
          the machine.",
    section: "9.7.13.11",
    forms: &[Form::new("activemask.b32  d:b32", &[], since(62, 30))],
    rule: None,
    meaning: |cx| {
        let d = match cx.guard {
            None => cx.b.inst(Op::ActiveMask, &[], Type::I32),
            Some(g) => cx.b.inst(Op::Ballot, &[g], Type::I32),
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};
