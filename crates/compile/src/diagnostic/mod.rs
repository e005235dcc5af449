//! What compile says about a module: errors, warnings and what is not supported yet, each with a stable code.

mod code;
mod json;
mod pages;
mod render;

pub use code::Code;
pub use json::to_json;
pub use pages::{Example, Page, error_index};
pub use render::{Style, render};

use hostwarp_syntax::{Span, SyntaxError};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The module is wrong.
    Error,
    /// Right PTX that Hostwarp does not do yet: kernels that reach it cannot be launched, the others can.
    Unsupported,
    /// Accepted, and worth a look.
    Warning,
    /// Something to know.
    Note,
}

impl Severity {
    /// As it stands before a message and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Unsupported => "unsupported",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A place in the text and what to say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What stands under it; may be empty.
    pub text: String,
}

/// One thing to say about a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its code; `hostwarp explain` knows more.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The sentence that heads it.
    pub message: String,
    /// The place it is about.
    pub primary: Label,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// How to mend it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic of the severity its code has.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: vec![],
            notes: vec![],
            help: vec![],
        }
    }

    /// With this text under the marked place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// With another place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// With a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// With a way to mend it.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}

impl From<&SyntaxError> for Diagnostic {
    fn from(error: &SyntaxError) -> Self {
        let code = Code::from_text(error.code()).unwrap_or(Code::UnexpectedToken);
        let mut d = Diagnostic::new(code, error.message(), error.span);
        d.primary.text = error.label().unwrap_or_default();
        d.help.extend(error.help());
        d
    }
}

/// Collects diagnostics, up to a limit for errors and one for everything else; what is beyond is only counted.
pub(crate) struct Sink {
    list: Vec<Diagnostic>,
    limit: usize,
    left_out: usize,
    pub errors: usize,
}

impl Sink {
    pub fn new(limit: usize) -> Sink {
        Sink { list: vec![], limit, left_out: 0, errors: 0 }
    }

    pub fn push(&mut self, d: Diagnostic) {
        let others = self.list.len() - self.errors.min(self.limit);
        let so_far = if d.severity == Severity::Error { self.errors } else { others };
        self.errors += usize::from(d.severity == Severity::Error);
        if so_far < self.limit {
            self.list.push(d);
        } else {
            self.left_out += 1;
        }
    }

    /// Whether further errors are only counted: nobody will read how they could be mended.
    pub fn is_full(&self) -> bool {
        self.errors >= self.limit
    }

    /// In text order, with a last one that counts those left out.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.primary.span.start, d.primary.span.end));
        self.list.dedup();
        if self.left_out > 0 {
            let at = self.list.last().map_or(Span::at(0), |d| d.primary.span);
            let text = format!("… and {} more, not shown", self.left_out);
            self.list.push(Diagnostic::new(Code::TooMany, text, at));
        }
        self.list
    }
}
