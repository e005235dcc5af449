//! Kernels, functions, prototypes.

use super::{Block, Directive, Name, Specifiers, Variables};
use crate::arena::{FunctionData, NONE, Node};
use crate::{Module, Span};

/// A kernel, a function, or the prototype of an indirect call.
#[derive(Clone, Copy)]
pub struct Function<'m> {
    pub(super) module: &'m Module,
    pub(super) node: Node,
    pub(super) data: &'m FunctionData,
}

impl<'m> Function<'m> {
    /// All of it, the body included.
    pub fn span(self) -> Span {
        self.node.span
    }

    /// Whether it is a kernel (`.entry`).
    pub fn is_entry(self) -> bool {
        self.module.text(self.data.keyword) == ".entry"
    }

    /// Where `.entry`, `.func` or `.callprototype` stands.
    pub fn keyword_span(self) -> Span {
        self.data.keyword
    }

    /// Its name; of a prototype, its label. Absent only where it was missing and reported.
    pub fn name(self) -> Option<Name<'m>> {
        self.module.name(self.data.name)
    }

    /// What stands before the parameters: linkage and attributes.
    pub fn specifiers(self) -> Specifiers<'m> {
        Specifiers::new(self.module, self.data.specs)
    }

    /// The return parameters.
    pub fn returns(self) -> Variables<'m> {
        Variables { module: self.module, run: self.data.returns }
    }

    /// The parameters.
    pub fn params(self) -> Variables<'m> {
        Variables { module: self.module, run: self.data.params }
    }

    /// `.maxntid`, `.noreturn`, `.pragma` and the like between header and body.
    pub fn directives(self) -> impl ExactSizeIterator<Item = Directive<'m>> {
        let module = self.module;
        module.arena.directives[self.data.directives.range()].iter().map(move |data| Directive {
            module,
            span: data.span,
            arguments: data.arguments,
        })
    }

    /// The body; a declaration has none.
    pub fn body(self) -> Option<Block<'m>> {
        let index = self.data.body;
        if index == NONE {
            return None;
        }
        let node = self.module.arena.nodes[index as usize];
        Some(Block { module: self.module, span: node.span, start: index + 1, end: node.data })
    }
}

impl std::fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name().map(|n| n.text))
            .field("entry", &self.is_entry())
            .field("specifiers", &self.specifiers())
            .field("returns", &self.returns())
            .field("params", &self.params())
            .field("directives", &self.directives().collect::<Vec<_>>())
            .field("body", &self.body())
            .finish()
    }
}
