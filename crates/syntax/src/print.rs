//! Tree to text.

use crate::{Lexer, Module, Span};

/// The canonical text of a module.
pub fn print(module: &Module) -> String {
    module.source().to_owned()
}

pub(crate) fn print_span(module: &Module, span: Span) -> String {
    let _ = Lexer::within(module.source(), span);
    module.text(span).to_owned()
}
