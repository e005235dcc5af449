//! One thread, instruction by instruction.

use super::{Shape, TraceSink, space};
use hostwarp_compile::{Access, Site, SiteKind};
use hostwarp_interp::Observed;
use hostwarp_ir::Space;
use hostwarp_isa::Ty;
use std::sync::{Mutex, PoisonError};

/// An instruction that a traced thread has executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Counted from 0.
    pub number: u64,
    /// The line of the source.
    pub line: u32,
    /// The instruction, in one line.
    pub text: String,
    /// Whether its guard held.
    pub runs: bool,
    /// Where it accessed memory.
    pub accesses: Vec<TraceAccess>,
    /// The registers it wrote, with their new values.
    pub written: Vec<TraceValue>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// How.
    pub access: Access,
    /// Where a generic address leads, or the space that the instruction names.
    pub space: Space,
    /// The address there.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
}

/// A register that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceValue {
    /// Its name.
    pub register: String,
    /// Its type.
    pub ty: Ty,
    /// Its bits.
    pub bits: u128,
}

pub(super) struct Trace<'a> {
    shape: Shape,
    cta: [u32; 3],
    /// Linear.
    thread: u32,
    sink: &'a TraceSink<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    steps: u64,
    /// The instruction it is at. It is told of when the next one begins.
    now: Option<TraceStep>,
}

impl<'a> Trace<'a> {
    pub(super) fn new(shape: Shape, cta: [u32; 3], thread: [u32; 3], sink: &'a TraceSink<'a>) -> Trace<'a> {
        Trace { shape, cta, thread: shape.linear_thread(thread), sink, state: Mutex::default() }
    }

    pub(super) fn observe(&self, site: &Site, at: &Observed<'_>) {
        let (warp, lane) = (self.thread / 32, self.thread % 32);
        let mine = self.shape.linear_cta(at.cta) == self.shape.linear_cta(self.cta) && at.warp == warp;
        if !mine || at.lanes >> lane & 1 == 0 {
            return;
        }
        let operand = at.operands[lane as usize];
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let SiteKind::Instruction { text, .. } = &site.what {
            let number = state.steps;
            state.steps += 1;
            let step = TraceStep {
                number,
                line: site.line,
                text: text.clone(),
                runs: operand != 0,
                accesses: vec![],
                written: vec![],
            };
            if let Some(before) = state.now.replace(step) {
                (self.sink)(&before);
            }
            return;
        }
        let Some(step) = &mut state.now else { return };
        match &site.what {
            SiteKind::Access { access, space: named, bytes, .. } => {
                let (space, address) = space::resolve(*named, operand);
                step.accesses.push(TraceAccess { access: *access, space, address, bytes: *bytes });
            }
            SiteKind::Wrote { upper: true, .. } => {
                if let Some(last) = step.written.last_mut() {
                    last.bits |= u128::from(operand) << 64;
                }
            }
            SiteKind::Wrote { register, ty, .. } => {
                let (register, bits) = (register.clone(), operand.into());
                step.written.push(TraceValue { register, ty: *ty, bits });
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = state.now.take() {
            (self.sink)(&last);
        }
    }
}
