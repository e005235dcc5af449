//! Instructions.

use crate::arena::InstructionData;
use crate::{Expr, ExprKind, ExprList, Module, Span};

/// `@p opcode.modifiers operands;`
#[derive(Clone, Copy)]
pub struct Instruction<'m> {
    pub(super) module: &'m Module,
    pub(super) span: Span,
    pub(super) data: &'m InstructionData,
}

/// A modifier of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Modifier<'m> {
    /// Its text without the dot: `u32`, `shared::cluster`, `const[2]`.
    pub text: &'m str,
    /// Where it stands, the dot included.
    pub span: Span,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'m> {
    /// Whether `!` stands before it.
    pub negated: bool,
    /// The predicate, a name if nothing is wrong.
    pub predicate: Expr<'m>,
}

impl<'m> Instruction<'m> {
    /// All of it, guard and `;` included.
    pub fn span(self) -> Span {
        self.span
    }

    /// The opcode without its modifiers: `add` of `add.s32`.
    pub fn opcode(self) -> &'m str {
        self.module.text(self.data.opcode)
    }

    /// Where the opcode stands.
    pub fn opcode_span(self) -> Span {
        self.data.opcode
    }

    /// Where opcode and modifiers stand.
    pub fn mnemonic_span(self) -> Span {
        let end = self.module.arena.modifiers[self.data.modifiers.range()]
            .last()
            .map_or(self.data.opcode.end, |m| m.end);
        Span::new(self.data.opcode.start, end)
    }

    /// The modifiers in text order.
    pub fn modifiers(self) -> impl ExactSizeIterator<Item = Modifier<'m>> + DoubleEndedIterator + Clone {
        let module = self.module;
        module.arena.modifiers[self.data.modifiers.range()]
            .iter()
            .map(move |span| Modifier { text: module.text(*span).get(1..).unwrap_or(""), span: *span })
    }

    /// The operands in text order.
    pub fn operands(self) -> ExprList<'m> {
        ExprList::new(self.module, self.data.operands)
    }

    /// The guard, if there is one.
    pub fn guard(self) -> Option<Guard<'m>> {
        let guard = Expr::new(self.module, self.data.guard)?;
        Some(match guard.kind() {
            ExprKind::Unary(crate::UnaryOp::Not, predicate) => Guard { negated: true, predicate },
            _ => Guard { negated: false, predicate: guard },
        })
    }

    /// The instruction as canonical text on one line.
    pub fn print(self) -> String {
        crate::print::print_span(self.module, self.span)
    }
}

impl std::fmt::Debug for Instruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instruction")
            .field("guard", &self.guard())
            .field("opcode", &self.opcode())
            .field("modifiers", &self.modifiers().map(|m| m.text).collect::<Vec<_>>())
            .field("operands", &self.operands())
            .finish()
    }
}
