//! Several modules as one, as nvlink makes it: names that other modules see (`.visible`, `.weak`, `.common`) and the declarations (`.extern`) that mean them.
//!
//! Files are compiled one after the other by one [`Checker`], each with names of its own; this table says which functions and variables are the same.
//! Of several definitions one [wins](Names::wins): the strong one, else the largest `.common`, else the first. The others are checked and left out.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::layout::Variable;
use crate::scope::Entity;
use hostwarp_syntax::{self as syntax, Declaration, LineIndex, Linkage, Name, Span, Statement};
use rustc_hash::FxHashMap;

/// A file that has been looked at, or is.
pub(crate) struct File<'m> {
    pub name: &'m str,
    pub syntax: &'m syntax::Module,
    pub lines: LineIndex,
    /// Lines of the files before it.
    pub before: u32,
    pub sink: Sink,
}

/// Where something stands: the number of a file, and the place in it.
pub(crate) type Place = (u32, Span);

/// How much a definition counts against others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Weak,
    /// With its size.
    Common(u64),
    Strong,
}

/// A definition that other modules see.
#[derive(Clone, Copy)]
struct Definition<'m> {
    strength: Strength,
    at: Place,
    /// Of a variable.
    variable: Option<(Declaration<'m>, syntax::Variable<'m>)>,
}

/// What names mean in all modules.
#[derive(Default)]
pub(crate) struct Names<'m> {
    definitions: FxHashMap<&'m str, Definition<'m>>,
    entities: FxHashMap<&'m str, (Entity, Place)>,
}

impl<'m> Names<'m> {
    /// Whether the definition at this place is the one that is taken.
    pub fn wins(&self, name: &str, at: Place) -> bool {
        self.definitions.get(name).is_none_or(|d| d.at == at)
    }

    /// The variable of that name, as the definition that is taken has it.
    pub fn variable(&self, name: &str) -> Option<(Declaration<'m>, syntax::Variable<'m>)> {
        self.definitions.get(name)?.variable
    }

    /// What stands for the name so far, and where it was declared first.
    pub fn entity(&self, name: &str) -> Option<(Entity, Place)> {
        self.entities.get(name).copied()
    }

    /// From now on the name means this wherever it is seen.
    pub fn enter(&mut self, name: &'m str, entity: Entity, at: Place) {
        self.entities.entry(name).or_insert((entity, at));
    }

    /// Whether some module defines a function or kernel of that name for all.
    pub fn defines_function(&self, name: &str) -> bool {
        self.definitions.get(name).is_some_and(|d| d.variable.is_none())
    }
}

impl<'m> Checker<'m> {
    /// Finds out which definitions are taken. Two strong ones of one name are an error.
    pub fn find_definitions(&mut self) {
        if self.files.len() < 2 {
            return;
        }
        for number in 0..self.files.len() {
            for item in self.files[number].syntax.items() {
                match item {
                    Statement::Function(f) if f.body().is_some() => {
                        if let (Some(name), Some(strength)) =
                            (f.name(), strength(f.specifiers().linkage(), 0))
                        {
                            let at = (number as u32, name.span);
                            self.found(name, Definition { strength, at, variable: None });
                        }
                    }
                    Statement::Declaration(d) => {
                        for v in d.variables().iter() {
                            let size = self.size_of(d, v).unwrap_or(0);
                            if let (Some(name), Some(strength)) =
                                (v.name(), strength(d.specifiers().linkage(), size))
                            {
                                let at = (number as u32, name.span);
                                self.found(name, Definition { strength, at, variable: Some((d, v)) });
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn found(&mut self, name: Name<'m>, new: Definition<'m>) {
        match self.names.definitions.get(name.text).copied() {
            // Twice in one file is said where that file is looked at.
            Some(old) if old.at.0 == new.at.0 => {}
            Some(old) if (old.strength, new.strength) == (Strength::Strong, Strength::Strong) => {
                let text = format!("`{}` is defined in two modules", name.text);
                let d = Diagnostic::new(Code::Duplicate, text, name.span)
                    .label("defined again here")
                    .note(format!("first defined {}", self.in_words(old.at)))
                    .help("make one of them `.weak`, or take away its `.visible`");
                self.files[new.at.0 as usize].sink.push(d);
            }
            Some(old) if old.strength >= new.strength => {}
            _ => _ = self.names.definitions.insert(name.text, new),
        }
    }

    /// `in a.ptx, line 12`
    pub fn in_words(&self, (file, span): Place) -> String {
        let file = &self.files[file as usize];
        format!("in {}, line {}", file.name, file.lines.line(span.start))
    }

    /// Says that two modules mean different things by a name.
    pub fn declared_in_two_ways(&mut self, name: Name<'m>, what: &str, first: Place) {
        let text = format!("`{}` is declared in two ways", name.text);
        let d = Diagnostic::new(Code::Duplicate, text, name.span)
            .label(what.to_string())
            .note(format!("first declared {}", self.in_words(first)));
        self.report(d);
    }

    /// The variable that other modules know by this name, if it was declared or defined in one of them: what is declared here is the same.
    pub fn linked_variable(&mut self, name: Name<'m>, var: &Variable<'m>) -> Option<u32> {
        let (entity, first) = self.names.entity(name.text)?;
        let Entity::Variable(index) = entity else {
            self.declared_in_two_ways(name, "a variable here, a function there", first);
            return None;
        };
        let old = self.variables[index as usize];
        if old.space != var.space {
            self.declared_in_two_ways(name, "it is in another state space here", first);
        } else if (old.ty.bits(), old.element) != (var.ty.bits(), var.element) {
            self.declared_in_two_ways(name, "it has another type here", first);
        } else if old.size != var.size && old.size != 0 && var.size != 0 && !self.is_common(name.text) {
            self.declared_in_two_ways(name, "it has another size here", first);
        }
        Some(index)
    }

    fn is_common(&self, name: &str) -> bool {
        self.names.definitions.get(name).is_some_and(|d| matches!(d.strength, Strength::Common(_)))
    }
}

fn strength(linkage: Option<Linkage>, size: u64) -> Option<Strength> {
    match linkage? {
        Linkage::Visible => Some(Strength::Strong),
        Linkage::Weak => Some(Strength::Weak),
        Linkage::Common => Some(Strength::Common(size)),
        Linkage::Extern => None,
    }
}
