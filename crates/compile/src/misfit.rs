//! Why an instruction has no form, said with the text in view.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::opcodes;
use crate::operand::{Kind, Operand, Pool};
use hostwarp_isa::{self as isa, Misfit, form};
use hostwarp_syntax::{Instruction, Span};

impl<'m> Checker<'m> {
    /// Reports an instruction that no form fits. Gives what is unsupported, if that is all there is to it.
    pub fn misfits(
        &mut self,
        instruction: Instruction<'m>,
        operands: &[Operand<'m>],
        pool: &Pool<'m>,
        form: Option<&'static form::Parsed>,
        misfits: &[Misfit],
    ) -> Option<String> {
        let opcode = instruction.opcode();
        let mods: Vec<(&'m str, Span)> =
            instruction.modifiers().map(|m| (self.syntax.text(m.span), m.span)).collect();
        let whole = instruction.mnemonic_span();
        let mut unsupported = None;
        if let Some(first @ Operand { kind: Kind::Special(_), .. }) = operands.first()
            && form.is_some_and(|f| f.operands.first().is_some_and(|o| o.dest))
        {
            self.report(read_only(self.syntax.text(first.span), first));
            return None;
        }
        let follows = |misfit: &Misfit| match misfit {
            Misfit::Operand { index, why } if why.starts_with("has type") => {
                matches!(operands.get(*index), Some(Operand { kind: Kind::Reg(reg), .. }) if self.guessed.contains(&reg.declaration))
            }
            _ => false,
        };
        // Unless there is nothing else to say.
        let alone = self.errors() == 0 && misfits.iter().all(follows);
        let told: Vec<&Misfit> = misfits.iter().filter(|m| alone || !follows(m)).collect();
        for misfit in told {
            let modifier = |i: usize| mods.get(i).copied().unwrap_or(("", whole));
            let d = match misfit {
                Misfit::UnknownOpcode { near } => {
                    if opcodes::exists(opcode) {
                        let what = format!("the instruction `{opcode}`");
                        self.report(
                            Diagnostic::new(
                                Code::UnsupportedInstruction,
                                format!("{what} is not supported yet"),
                                whole,
                            )
                            .note("kernels that contain it cannot be launched; all others can"),
                        );
                        unsupported = Some(what);
                        continue;
                    }
                    let text = format!("there is no instruction `{opcode}`");
                    let d = Diagnostic::new(Code::UnknownOpcode, text, instruction.opcode_span());
                    let full = self.sink().is_full();
                    let nearest = || if full { None } else { opcodes::nearest(opcode) };
                    match near.first().copied().or_else(nearest) {
                        Some(near) => d.help(format!("did you mean `{near}`?")),
                        None => d,
                    }
                }
                Misfit::UnknownModifier { index, near } => {
                    let (text, at) = modifier(*index);
                    let d = Diagnostic::new(
                        Code::UnknownModifier,
                        format!("`{opcode}` has no modifier `{text}`"),
                        at,
                    );
                    let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
                    if near.is_empty() { d } else { d.help(format!("did you mean {}?", near.join(" or "))) }
                }
                Misfit::Conflict { index, with } => {
                    let ((a, at), (b, other)) = (modifier(*index), modifier(*with));
                    Diagnostic::new(
                        Code::ModifierConflict,
                        format!("`{a}` cannot be combined with `{b}` on `{opcode}`"),
                        at,
                    )
                    .label("remove this one")
                    .also(other, "or this one")
                }
                Misfit::NotHere { index } => {
                    let (text, at) = modifier(*index);
                    Diagnostic::new(
                        Code::ModifierNotHere,
                        format!("`{text}` has no place in this form of `{opcode}`"),
                        at,
                    )
                }
                Misfit::Repeated { index } => {
                    let (text, at) = modifier(*index);
                    Diagnostic::new(
                        Code::ModifierRepeated,
                        format!("`{opcode}` takes no further `{text}`"),
                        at,
                    )
                    .label("one too many")
                }
                Misfit::Missing { name, members } => {
                    let end = Span::new(whole.start, whole.end);
                    let d = if members.len() == 1 {
                        let text = format!("`{opcode}` needs the modifier `{}` here", members[0]);
                        Diagnostic::new(Code::ModifierMissing, text, end)
                    } else {
                        let text = format!("`{opcode}` needs a modifier for `{name}` here");
                        Diagnostic::new(Code::ModifierMissing, text, end)
                            .help(format!("`{name}` is one of {}", shown_members(members)))
                    };
                    self.room_notes(opcode, d, &["required"])
                }
                Misfit::OperandCount { least, most, got } => {
                    let want = match (least, most) {
                        (a, b) if a == b => format!("{a} operand{}", if *a == 1 { "" } else { "s" }),
                        (a, b) => format!("{a} to {b} operands"),
                    };
                    let at = match operands.get(*most) {
                        Some(first) => first.span.to(operands.last().map_or(first.span, |o| o.span)),
                        None => instruction.span(),
                    };
                    let text = format!("this form of `{opcode}` takes {want}, not {got}");
                    Diagnostic::new(Code::OperandCount, text, at)
                }
                Misfit::Operand { index, why } => {
                    let operand = operands.get(*index);
                    let at = operand.map_or(instruction.span(), |o| o.span);
                    let name = operand.map_or("", |o| self.syntax.text(o.span));
                    let d = Diagnostic::new(Code::BadOperand, format!("`{name}` {why}"), at);
                    let d = if why.starts_with("has type") { self.declared_here(d, operand) } else { d };
                    let selector = selectors(operand, pool);
                    self.room_notes(opcode, d, &selector)
                }
                Misfit::Version { index, since } => {
                    let (what, at) = subject(opcode, index.map(modifier), whole);
                    let (major, minor) = (since.ptx / 10, since.ptx % 10);
                    let text = format!("{what} came with PTX {major}.{minor}");
                    let (have, least) = (self.out.version, format!("`.version {major}.{minor}`"));
                    Diagnostic::new(Code::NeedsVersion, text, at)
                        .note(format!("this module says `.version {}.{}`", have.0, have.1))
                        .help(format!("write {least} or newer at the beginning of the module"))
                }
                Misfit::Target { index, since } => {
                    let (what, at) = subject(opcode, index.map(modifier), whole);
                    let text = format!("{what} needs `sm_{}` or newer", since.sm);
                    Diagnostic::new(Code::NeedsTarget, text, at)
                        .note(format!("this module says `.target sm_{}`", self.out.sm))
                        .help(format!("write `.target sm_{}`", since.sm))
                }
                Misfit::Only(targets) => {
                    let names: Vec<String> =
                        targets.split_whitespace().map(|t| format!("`sm_{t}`")).collect();
                    let text = format!("this form of `{opcode}` is only for {}", names.join(", "));
                    Diagnostic::new(Code::NeedsTarget, text, whole)
                        .note(format!("this module says `.target sm_{}`", self.out.sm))
                }
                Misfit::Gone(until) => {
                    let (major, minor) = (until.ptx / 10, until.ptx % 10);
                    let text = format!(
                        "PTX {major}.{minor} no longer has this form of `{opcode}` for `sm_{}` and newer",
                        until.sm
                    );
                    Diagnostic::new(Code::NeedsVersion, text, whole)
                }
                Misfit::Rule(why) => {
                    let text = format!("this `{opcode}` is not allowed: {why}");
                    Diagnostic::new(Code::BrokenRule, text, instruction.span())
                }
            };
            let d = match form.filter(|_| wants_form(misfit)) {
                Some(form) => d.note(nearest_form(opcode, form)),
                None => d,
            };
            self.report(d);
        }
        unsupported
    }

    /// Where the register in an operand was declared.
    fn declared_here(&self, d: Diagnostic, operand: Option<&Operand<'m>>) -> Diagnostic {
        let Some(Operand { kind: Kind::Reg(reg), span, .. }) = operand else { return d };
        let text = self.syntax.text(*span);
        let name = text.trim_start_matches(['-', '!']).split('.').next().unwrap_or("");
        match self.scopes.lookup(name) {
            Some(binding) => d.also(binding.span, format!("declared as `{}` here", reg.ty)),
            None => d,
        }
    }

    /// With the room's notes that mention one of these.
    fn room_notes(&self, opcode: &str, d: Diagnostic, about: &[&str]) -> Diagnostic {
        let Some((entry, _)) = isa::find(opcode) else { return d };
        let notes = entry.room.notes.iter().filter(|n| about.iter().any(|a| n.contains(a)));
        notes.fold(d, |d, n| d.note(*n))
    }
}

/// A destination that is none.
pub(crate) fn read_only(text: &str, operand: &Operand<'_>) -> Diagnostic {
    let d = Diagnostic::new(Code::ReadOnly, format!("`{text}` cannot be written"), operand.span);
    match operand.kind {
        Kind::Special(_) => d.note("special registers are read-only"),
        _ => d.note("a result goes to a register"),
    }
}

/// The selectors in an operand.
fn selectors<'m>(operand: Option<&Operand<'m>>, pool: &Pool<'m>) -> Vec<&'m str> {
    let Some(operand) = operand else { return vec![] };
    match operand.kind {
        Kind::Pair(first) => pool.slice(first, 2).iter().filter_map(|o| o.selector).collect(),
        _ => operand.selector.into_iter().collect(),
    }
}

fn subject(opcode: &str, modifier: Option<(&str, Span)>, whole: Span) -> (String, Span) {
    match modifier {
        Some((text, at)) => (format!("`{text}` on `{opcode}`"), at),
        None => (format!("this form of `{opcode}`"), whole),
    }
}

fn wants_form(misfit: &Misfit) -> bool {
    !matches!(
        misfit,
        Misfit::UnknownOpcode { .. } | Misfit::Version { .. } | Misfit::Target { .. } | Misfit::Rule(_)
    )
}

fn nearest_form(opcode: &str, form: &form::Parsed) -> String {
    let shown = form.shown();
    let (head, tail) = shown.split_once(char::is_whitespace).unwrap_or((&shown, ""));
    let modifiers = &head[head.find(['.', '{']).unwrap_or(head.len())..];
    let operands: Vec<&str> = tail.split_whitespace().collect();
    let mut text = format!("the nearest form is `{opcode}{modifiers} {}`", operands.join(" "));
    // Sets with the same members are named together.
    let mut sets: Vec<(Vec<&str>, &[&str])> = vec![];
    for m in form.mods.iter().filter(|m| m.members != [m.name]) {
        match sets.iter_mut().find(|(_, members)| *members == m.members) {
            Some((names, _)) if names.contains(&m.name) => {}
            Some((names, _)) => names.push(m.name),
            None => sets.push((vec![m.name], m.members)),
        }
    }
    let sets: Vec<String> = sets
        .iter()
        .map(|(names, members)| {
            let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let relation = if members.len() == 1 { "being" } else { "one of" };
            format!("{} {relation} {}", names.join(" "), shown_members(members))
        })
        .collect();
    if !sets.is_empty() {
        text.push_str(&format!(", with {}", sets.join(", ")));
    }
    text
}

fn shown_members(members: &[&str]) -> String {
    match members {
        [first, .., last] if members.len() > 16 => format!("{first} … {last}"),
        all => all.join(" "),
    }
}
