//! The page behind each code: what `hostwarp explain` shows.

use super::Code;

/// PTX that shows something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Example {
    /// A whole file.
    File(&'static str),
    /// Declarations and functions behind the usual head.
    Module(&'static str),
    /// Statements in a kernel that has some registers.
    Body(&'static str),
}

/// What there is to know about a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Some sentences.
    pub explanation: &'static str,
    /// PTX with this diagnostic.
    pub wrong: Option<Example>,
    /// The same without it.
    pub right: Option<Example>,
}

impl Code {
    /// Its page.
    pub fn page(self) -> Page {
        Page { explanation: self.title(), wrong: None, right: None }
    }
}
