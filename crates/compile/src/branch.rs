//! `brx.idx`: go to one of a list of labels.
//!
//! The list is a directive of the function, which only the walk over its body knows; hence it is here and not among the rooms of
//! the instruction set.

use crate::body::Body;
use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::operand::Kind;
use crate::scope::{Entity, Reg};
use hostwarp_ir::{Target, Term};
use hostwarp_isa::Ty;
use hostwarp_syntax::{ExprKind, Instruction, Targets};

impl<'m> Body<'m> {
    /// `brx.idx{.uni} index, list;`
    pub fn indexed_branch(
        &mut self,
        c: &mut Checker<'m>,
        instruction: Instruction<'m>,
        guard: Option<(Reg, bool)>,
    ) {
        const FORM: &str = "the form is `brx.idx{.uni} index, list`";
        let mut modifiers = instruction.modifiers();
        if let Some(stranger) = modifiers.clone().find(|m| !matches!(m.text, "idx" | "uni")) {
            let text = format!("`brx` has no modifier `.{}`", stranger.text);
            c.report(Diagnostic::new(Code::UnknownModifier, text, stranger.span).note(FORM));
            return self.abandon();
        }
        if !modifiers.any(|m| m.text == "idx") {
            let text = "`brx` needs the modifier `.idx`";
            let d = Diagnostic::new(Code::ModifierMissing, text, instruction.mnemonic_span()).note(FORM);
            c.report(d);
            return self.abandon();
        }
        let (Some(index), Some(list), 2) =
            (instruction.operands().get(0), instruction.operands().get(1), instruction.operands().len())
        else {
            let text = format!("`brx` takes 2 operands, not {}", instruction.operands().len());
            c.report(Diagnostic::new(Code::OperandCount, text, instruction.span()).note(FORM));
            return self.abandon();
        };
        let operand = c.operand(index, &mut self.pool);
        let index = match operand.kind {
            Kind::Reg(reg) if Ty::U32.accepts(reg.ty) => reg,
            Kind::Error => return self.abandon(),
            _ => {
                let text = format!("`{}` must be a register of type .u32", index.text());
                c.report(Diagnostic::new(Code::BadOperand, text, operand.span));
                return self.abandon();
            }
        };
        let found = list.name().and_then(|name| c.scopes.lookup(name)).map(|b| b.entity);
        let Some(Entity::Targets(which)) = found else {
            if found != Some(Entity::Broken) && !matches!(list.kind(), ExprKind::Error) {
                let text = format!("`{}` must be a list made with `.branchtargets`", list.text());
                c.report(Diagnostic::new(Code::BadOperand, text, list.span()));
            }
            return self.abandon();
        };
        let Some(targets) = self.targets.get(which as usize).copied() else { return self.abandon() };
        let Some(labels) = labels_of(c, targets) else { return self.abandon() };
        let Some(emit) = &mut self.emit else { return };
        emit.builder().set_line(c.line(instruction.span()));
        emit.begin_instruction(c, instruction, guard);
        emit.check_sources(c, [&operand], &self.pool, guard);
        let value = emit.read(index);
        let blocks: Vec<Target> = labels.into_iter().map(|l| Target::new(emit.block_of(l))).collect();
        if blocks.is_empty() {
            return self.abandon();
        }
        emit.end(guard, Term::Switch(value, blocks));
    }
}

/// The most labels that `L<n>` stands for.
const MOST_TARGETS: u64 = 1 << 16;

/// The labels in a list; `L<3>` stands for L0, L1 and L2.
fn labels_of<'m>(c: &mut Checker<'m>, targets: Targets<'m>) -> Option<Vec<u32>> {
    let mut labels = vec![];
    let mut fine = true;
    for expr in targets.list {
        let names = match expr.kind() {
            ExprKind::Name(name) => vec![name.to_string()],
            ExprKind::Range(stem, count) if count.int().is_some_and(|n| (1..=MOST_TARGETS).contains(&n)) => {
                let count = count.int().unwrap_or(0);
                (0..count).map(|i| format!("{}{i}", stem.text())).collect()
            }
            // Reported by the parser.
            ExprKind::Error => return None,
            _ => {
                let text = format!("`{}` is neither a label nor a number of labels", expr.text());
                c.report(Diagnostic::new(Code::BadOperand, text, expr.span()));
                fine = false;
                continue;
            }
        };
        for name in names {
            match c.scopes.lookup(&name).map(|b| b.entity) {
                Some(Entity::Label(label)) => labels.push(label),
                _ => {
                    let text = format!("there is no label `{name}` to go to");
                    let d = Diagnostic::new(Code::UnknownLabel, text, expr.span());
                    let d = c.suggest(d, &name);
                    c.report(d);
                    fine = false;
                }
            }
        }
    }
    fine.then_some(labels)
}
