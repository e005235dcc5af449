//! `bra ret exit trap brkpt`
//!
//! Since PTX 1.0.

use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::{Target, Term, TrapKind};

/// `bra`
pub const BRA: Room = Room {
    opcodes: &["bra"],
    title: "go on at a label",
    doc: "`.uni` promises that all lanes of the warp go the same way; nothing depends on the promise.",
    section: "9.7.12.3",
    forms: &[Form::new("bra{.uni}  tgt:label", &[], since(10, 10))],
    rule: None,
    meaning: |cx| {
        let target = cx.label("tgt");
        end(cx, Term::Jump(Target::new(target)))
    },
    notes: &[],
};

/// `ret`
pub const RET: Room = Room {
    opcodes: &["ret"],
    title: "return to the caller; in a kernel, the thread is done",
    doc: "`.uni` promises that all lanes of the warp return here; nothing depends on the promise.",
    section: "9.7.12.6",
    forms: &[Form::new("ret{.uni}", &[], since(10, 10))],
    rule: None,
    meaning: |cx| {
        let term = cx.caller.map_or(Term::Exit, |to| Term::Jump(Target::new(to)));
        end(cx, term)
    },
    notes: &[],
};

/// `exit`
pub const EXIT: Room = Room {
    opcodes: &["exit"],
    title: "the thread is done",
    doc: "Barriers do not wait for it any more.",
    section: "9.7.12.7",
    forms: &[Form::new("exit", &[], since(10, 10))],
    rule: None,
    meaning: |cx| end(cx, Term::Exit),
    notes: &[],
};

/// `trap`
pub const TRAP: Room = Room {
    opcodes: &["trap"],
    title: "stop the launch with an error",
    doc: "",
    section: "9.7.19.4",
    forms: &[Form::new("trap", &[], since(10, 10))],
    rule: None,
    meaning: |cx| end(cx, Term::Trap(TrapKind::Trap)),
    notes: &[],
};

/// `brkpt`
pub const BRKPT: Room = Room {
    opcodes: &["brkpt"],
    title: "stop here for a debugger",
    doc: "There is none, so the launch stops with an error that names the line.",
    section: "9.7.19.1",
    forms: &[Form::new("brkpt", &[], since(10, 11))],
    rule: None,
    meaning: |cx| end(cx, Term::Trap(TrapKind::Breakpoint)),
    notes: &[],
};

fn end(cx: &mut Cx<'_>, term: Term) -> Outcome {
    let next = cx.after();
    cx.end(next, term);
    Ok(())
}
