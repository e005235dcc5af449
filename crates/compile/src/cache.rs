//! Instructions of one shape are matched once.
//!
//! Which form an instruction has depends on its opcode, its modifiers and the kinds and types of its operands, not on
//! which registers they are. Modules repeat a few hundred shapes thousands of times.

use crate::operand::{Address, Base, Kind, Operand, Pool};
use hostwarp_isa::{self as isa, Env, Match, Misfit, form};
use hostwarp_syntax::{Const, Instruction};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::rc::Rc;

/// What matching an instruction came to.
pub(crate) enum Shape {
    /// It has this form. The flag says that IR was built for such an instruction, so that it can be for all that name
    /// no variable.
    Fits(Match, Cell<bool>),
    /// It has none: the nearest, and what keeps it from that.
    Misfit(Option<&'static form::Parsed>, Vec<Misfit>),
}

#[derive(Default)]
pub(crate) struct Cache {
    shapes: FxHashMap<Box<[u8]>, Rc<Shape>>,
    key: Vec<u8>,
}

/// Beyond this many shapes (a text made to be different everywhere) the cache starts anew.
const MOST_SHAPES: usize = 1 << 16;

impl Cache {
    /// Matches an instruction, or remembers.
    pub fn resolve<'m>(
        &mut self,
        source: &'m str,
        instruction: Instruction<'m>,
        operands: &[Operand<'m>],
        pool: &Pool<'m>,
        env: Env,
    ) -> Rc<Shape> {
        self.key.clear();
        let mnemonic = source.get(instruction.mnemonic_span().range()).unwrap_or("");
        self.key.extend_from_slice(mnemonic.as_bytes());
        for operand in operands {
            self.key.push(0);
            push_key(&mut self.key, operand, pool);
        }
        if let Some(shape) = self.shapes.get(self.key.as_slice()) {
            return shape.clone();
        }
        let mods: Vec<&str> =
            instruction.modifiers().map(|m| source.get(m.span.range()).unwrap_or("")).collect();
        let operands: Vec<isa::Operand<'_>> = operands.iter().map(|o| to_isa(o, pool)).collect();
        let instr = isa::Instr { opcode: instruction.opcode(), mods: &mods, operands: &operands };
        let shape = Rc::new(match isa::resolve(&instr, env) {
            Ok(m) => Shape::Fits(m, Cell::new(false)),
            Err((form, misfits)) => Shape::Misfit(form, misfits),
        });
        if self.shapes.len() >= MOST_SHAPES {
            self.shapes.clear();
        }
        self.shapes.insert(self.key.as_slice().into(), shape.clone());
        shape
    }
}

fn push_key(key: &mut Vec<u8>, operand: &Operand<'_>, pool: &Pool<'_>) {
    let flags = u8::from(operand.neg)
        | u8::from(operand.not) << 1
        | u8::from(operand.selector.is_some()) << 2
        | u8::from(sum(operand)) << 3;
    let (tag, detail) = match operand.kind {
        Kind::Reg(reg) => (1, reg.ty as u8),
        Kind::Special(special) => (2, special.ty as u8),
        Kind::Const(Const::F64(_)) => (3, 0),
        Kind::Const(Const::F32Bits(_)) => (3, 1),
        Kind::Const(_) => (3, 2),
        Kind::Sink => (4, 0),
        Kind::Vector(..) => (5, 0),
        Kind::Pair(..) => (6, 0),
        Kind::Address(Address { base: Base::List(..), .. }) => (13, 0),
        Kind::Address(Address { base: Base::Reg(reg), .. }) => (14, reg.ty as u8),
        Kind::Address(_) => (7, 0),
        Kind::Label(_) => (8, 0),
        Kind::Variable { .. } => (9, 0),
        Kind::Function(_) => (10, 0),
        // The text of the description would be needed to tell two of these apart; its length does.
        Kind::Other(what) => (11, what.len() as u8),
        Kind::Error => (12, 0),
    };
    key.extend_from_slice(&[tag, detail, flags]);
    if let Some(selector) = operand.selector {
        key.extend_from_slice(&(selector.len() as u32).to_le_bytes());
        key.extend_from_slice(selector.as_bytes());
    }
    match operand.kind {
        Kind::Vector(first, count) | Kind::Address(Address { base: Base::List(first, count), .. }) => {
            key.extend_from_slice(&count.to_le_bytes());
            for element in pool.slice(first, count) {
                push_key(key, element, pool);
            }
        }
        Kind::Pair(first) => {
            for half in pool.slice(first, 2) {
                push_key(key, half, pool);
            }
        }
        _ => {}
    }
}

/// Whether something is added to it.
fn sum(operand: &Operand<'_>) -> bool {
    operand.plus != 0 || matches!(operand.kind, Kind::Variable { offset, .. } if offset != 0)
}

/// The operand as the instruction set sees it.
pub(crate) fn to_isa<'m>(operand: &Operand<'m>, pool: &Pool<'m>) -> isa::Operand<'m> {
    use isa::OperandKind as K;
    let kind = match operand.kind {
        Kind::Reg(reg) => K::Reg(reg.ty),
        Kind::Special(special) => K::Special(special.ty),
        Kind::Const(Const::F64(_)) => K::Float(None),
        Kind::Const(Const::F32Bits(_)) => K::Float(Some(32)),
        Kind::Const(_) => K::Int,
        Kind::Sink => K::Sink,
        Kind::Vector(first, count) => {
            K::Vector(pool.slice(first, count).iter().map(|e| to_isa(e, pool)).collect())
        }
        Kind::Pair(first) => match pool.slice(first, 2) {
            [a, b] => K::Pair(Box::new(to_isa(a, pool)), Box::new(to_isa(b, pool))),
            _ => K::Other("half a pair"),
        },
        Kind::Address(Address { base: Base::List(first, count), .. }) => {
            K::Tuple(pool.slice(first, count).iter().map(|e| to_isa(e, pool)).collect())
        }
        Kind::Address(Address { base: Base::Reg(reg), .. }) => K::Address(Some(reg.ty)),
        Kind::Address(_) => K::Address(None),
        Kind::Label(_) => K::Label,
        Kind::Variable { .. } | Kind::Function(_) => K::Name,
        Kind::Other(what) => K::Other(what),
        Kind::Error => K::Other("something with an error"),
    };
    let (selector, neg, not) = (operand.selector, operand.neg, operand.not);
    isa::Operand { kind, selector, neg, not, sum: sum(operand) }
}
