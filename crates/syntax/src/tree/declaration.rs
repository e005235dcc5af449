//! Variables and parameters.

use super::{Name, Specifiers};
use crate::arena::{Run, VariableData};
use crate::{Expr, ExprList, Module, Span};

/// A variable declaration: specifiers and one or more variables.
#[derive(Clone, Copy)]
pub struct Declaration<'m> {
    pub(super) module: &'m Module,
    pub(super) span: Span,
    pub(super) specs: Run,
    pub(super) variables: Run,
}

impl<'m> Declaration<'m> {
    /// All of it, the `;` included.
    pub fn span(self) -> Span {
        self.span
    }

    /// What all of its variables share.
    pub fn specifiers(self) -> Specifiers<'m> {
        Specifiers::new(self.module, self.specs)
    }

    /// Its variables.
    pub fn variables(self) -> Variables<'m> {
        Variables { module: self.module, run: self.variables }
    }
}

impl std::fmt::Debug for Declaration<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Declaration")
            .field("specifiers", &self.specifiers())
            .field("variables", &self.variables())
            .finish()
    }
}

/// Variables or parameters in a row.
#[derive(Clone, Copy)]
pub struct Variables<'m> {
    pub(super) module: &'m Module,
    pub(super) run: Run,
}

impl<'m> Variables<'m> {
    /// How many there are.
    pub fn len(self) -> usize {
        self.run.range().len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Variable<'m>> + DoubleEndedIterator {
        let module = self.module;
        module.arena.variables[self.run.range()].iter().map(move |data| Variable { module, data })
    }

    /// The one at `index`, counted from 0.
    pub fn get(self, index: usize) -> Option<Variable<'m>> {
        let data = self.module.arena.variables[self.run.range()].get(index)?;
        Some(Variable { module: self.module, data })
    }
}

impl std::fmt::Debug for Variables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A variable or parameter.
#[derive(Clone, Copy)]
pub struct Variable<'m> {
    pub(super) module: &'m Module,
    pub(super) data: &'m VariableData,
}

impl<'m> Variable<'m> {
    /// From its name to the end of its initialiser.
    pub fn span(self) -> Span {
        Span::new(self.data.name.start, self.data.end)
    }

    /// Its name (`_` for a nameless parameter); of `%r<100>` the prefix. Absent only where it was missing and reported.
    pub fn name(self) -> Option<Name<'m>> {
        self.module.name(self.data.name)
    }

    /// Space, type and so on; shared with the other variables of the declaration.
    pub fn specifiers(self) -> Specifiers<'m> {
        Specifiers::new(self.module, self.data.specs)
    }

    /// `100` of `%r<100>`.
    pub fn count(self) -> Option<Expr<'m>> {
        Expr::new(self.module, self.data.count)
    }

    /// The array bounds, outermost first; nothing for `[]`.
    pub fn dims(self) -> impl ExactSizeIterator<Item = Option<Expr<'m>>> {
        ExprList::new(self.module, self.data.dims).iter().map(|bound| Expr::new(bound.module, bound.id))
    }

    /// The initialiser.
    pub fn init(self) -> Option<Expr<'m>> {
        Expr::new(self.module, self.data.init)
    }
}

impl std::fmt::Debug for Variable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut s = f.debug_struct("Variable");
        s.field("name", &self.name().map(|n| n.text)).field("specifiers", &self.specifiers());
        if let Some(count) = self.count() {
            s.field("count", &count);
        }
        if self.dims().len() > 0 {
            s.field("dims", &self.dims().collect::<Vec<_>>());
        }
        if let Some(init) = self.init() {
            s.field("init", &init);
        }
        s.finish()
    }
}
