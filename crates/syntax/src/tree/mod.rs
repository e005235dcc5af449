//! The tree as its readers see it: small `Copy` handles over the tables of the [`Module`].

mod declaration;
mod directive;
mod function;
mod instruction;
mod specifier;

pub use declaration::{Declaration, Variable, Variables};
pub use directive::{Directive, DirectiveKind, Loc, SourcePlace};
pub use function::Function;
pub use instruction::{Guard, Instruction, Modifier};
pub use specifier::{Linkage, Pointer, Space, Specifier, Specifiers};

use crate::arena::{Arena, NodeKind};
use crate::{Expr, ExprKind, ExprList, LineIndex, Span};

/// A parsed module: the text and the tree over it.
#[derive(Clone)]
pub struct Module {
    pub(crate) source: String,
    pub(crate) arena: Arena,
}

/// A name and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Name<'m> {
    /// The name.
    pub text: &'m str,
    /// Where it stands.
    pub span: Span,
}

impl Module {
    /// The text, byte for byte as read, save that a byte that is not UTF-8 is stored as 0x1A (SUB).
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of `span`.
    pub fn text(&self, span: Span) -> &str {
        self.source.get(span.range()).unwrap_or("")
    }

    /// The lines of the text.
    pub fn line_index(&self) -> LineIndex {
        LineIndex::new(&self.source)
    }

    /// Everything at the outermost level, in text order.
    pub fn items(&self) -> Statements<'_> {
        Statements { module: self, next: 0, end: self.arena.nodes.len() as u32 }
    }

    /// The functions and kernels, declared or defined.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        self.items().filter_map(|item| match item {
            Statement::Function(function) => Some(function),
            _ => None,
        })
    }

    /// The comments, in text order.
    pub fn comments(&self) -> impl ExactSizeIterator<Item = Span> + '_ {
        self.arena.comments.iter().copied()
    }

    /// The lines that are for somebody else (`#` of a preprocessor, `@@DWARF`), in text order.
    pub fn foreign_lines(&self) -> impl ExactSizeIterator<Item = Span> + '_ {
        self.arena.lines.iter().copied()
    }

    fn directive(&self, kind: DirectiveKind) -> Option<Directive<'_>> {
        self.items().find_map(|item| match item {
            Statement::Directive(directive) if directive.kind() == kind => Some(directive),
            _ => None,
        })
    }

    /// The version of the first `.version`, e.g. `(8, 5)`.
    pub fn version(&self) -> Option<(u32, u32)> {
        let argument = self.directive(DirectiveKind::Version)?.arguments().get(0)?;
        let (major, minor) = argument.text().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// The names in the first `.target`: the architecture and the options.
    pub fn target(&self) -> Option<ExprList<'_>> {
        Some(self.directive(DirectiveKind::Target)?.arguments())
    }

    /// The number in the first `.address_size`.
    pub fn address_size(&self) -> Option<u64> {
        self.directive(DirectiveKind::AddressSize)?.arguments().get(0)?.int()
    }

    fn name(&self, span: Span) -> Option<Name<'_>> {
        (!span.is_empty()).then(|| Name { text: self.text(span), span })
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

impl Expr<'_> {
    /// The bits of an integer literal, if it is one.
    pub fn int(self) -> Option<u64> {
        match self.kind() {
            ExprKind::Int(int) => Some(int.value),
            _ => None,
        }
    }
}

/// Statements of one level, in text order.
#[derive(Clone)]
pub struct Statements<'m> {
    module: &'m Module,
    next: u32,
    end: u32,
}

impl<'m> Iterator for Statements<'m> {
    type Item = Statement<'m>;

    fn next(&mut self) -> Option<Statement<'m>> {
        if self.next >= self.end {
            return None;
        }
        let (module, index) = (self.module, self.next);
        let arena = &module.arena;
        let node = arena.nodes[index as usize];
        let data = node.data as usize;
        self.next = index + 1;
        Some(match node.kind {
            NodeKind::Function => {
                let function = Function { module, node, data: &arena.functions[data] };
                if let Some(body) = function.body() {
                    self.next = body.end;
                }
                Statement::Function(function)
            }
            NodeKind::CallPrototype => {
                Statement::CallPrototype(Function { module, node, data: &arena.functions[data] })
            }
            NodeKind::CallTargets | NodeKind::BranchTargets => {
                let targets = &arena.targets[data];
                let targets = Targets {
                    span: node.span,
                    label: module.name(targets.label),
                    list: ExprList::new(module, targets.list),
                };
                match node.kind {
                    NodeKind::CallTargets => Statement::CallTargets(targets),
                    _ => Statement::BranchTargets(targets),
                }
            }
            NodeKind::Declaration => {
                let declaration = arena.declarations[data];
                Statement::Declaration(Declaration {
                    module,
                    span: node.span,
                    specs: declaration.specs,
                    variables: declaration.variables,
                })
            }
            NodeKind::Directive => {
                Statement::Directive(Directive { module, span: node.span, arguments: node.data })
            }
            NodeKind::Section => {
                let section = arena.sections[data];
                self.next = section.next;
                let contents = Statements { module, next: index + 1, end: section.next };
                Statement::Section(Section { span: node.span, name: module.name(section.name), contents })
            }
            NodeKind::Block => {
                self.next = node.data;
                Statement::Block(Block { module, span: node.span, start: index + 1, end: node.data })
            }
            NodeKind::Label => {
                let span = Span::new(node.span.start, node.data);
                Statement::Label(Label { span: node.span, name: Name { text: module.text(span), span } })
            }
            NodeKind::Instruction => Statement::Instruction(Instruction {
                module,
                span: node.span,
                data: &arena.instructions[data],
            }),
            NodeKind::Error => Statement::Error(node.span),
        })
    }
}

/// One statement, at the outermost level or in a body.
#[derive(Clone, Debug)]
pub enum Statement<'m> {
    /// `.entry` or `.func`, with or without a body.
    Function(Function<'m>),
    /// `name: .callprototype …;`.
    CallPrototype(Function<'m>),
    /// `name: .calltargets a, b;`.
    CallTargets(Targets<'m>),
    /// `name: .branchtargets a, b;`.
    BranchTargets(Targets<'m>),
    /// A variable declaration.
    Declaration(Declaration<'m>),
    /// Any other directive, and a data line within a section.
    Directive(Directive<'m>),
    /// `.section name { … }`.
    Section(Section<'m>),
    /// `{ … }`.
    Block(Block<'m>),
    /// `name:`.
    Label(Label<'m>),
    /// An instruction.
    Instruction(Instruction<'m>),
    /// Text that could not be read; an error was reported for it.
    Error(Span),
}

impl Statement<'_> {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Statement::Function(x) | Statement::CallPrototype(x) => x.span(),
            Statement::CallTargets(x) | Statement::BranchTargets(x) => x.span,
            Statement::Declaration(x) => x.span(),
            Statement::Directive(x) => x.span(),
            Statement::Section(x) => x.span,
            Statement::Block(x) => x.span(),
            Statement::Label(x) => x.span,
            Statement::Instruction(x) => x.span(),
            Statement::Error(span) => *span,
        }
    }
}

/// The labels or functions an indirect branch or call may go to.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'m> {
    /// All of it.
    pub span: Span,
    /// The label before it.
    pub label: Option<Name<'m>>,
    /// The names; `L<5>` as [`ExprKind::Range`].
    pub list: ExprList<'m>,
}

/// `.section name { … }`.
#[derive(Clone, Debug)]
pub struct Section<'m> {
    /// All of it.
    pub span: Span,
    /// Its name, the dot included.
    pub name: Option<Name<'m>>,
    /// Labels and data lines; a data line is a [`Directive`] named after its type.
    pub contents: Statements<'m>,
}

impl std::fmt::Debug for Statements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// `{ … }`: a body or a scope within one.
///
/// Blocks are never nested deeper than [`MAX_NESTING`](crate::MAX_NESTING), so a walk may recurse.
#[derive(Clone, Copy)]
pub struct Block<'m> {
    module: &'m Module,
    span: Span,
    start: u32,
    end: u32,
}

impl<'m> Block<'m> {
    /// All of it, braces included.
    pub fn span(self) -> Span {
        self.span
    }

    /// Its statements, in text order.
    pub fn statements(self) -> Statements<'m> {
        Statements { module: self.module, next: self.start, end: self.end }
    }
}

impl std::fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.statements().fmt(f)
    }
}

/// `name:`.
#[derive(Clone, Copy, Debug)]
pub struct Label<'m> {
    /// With its colon.
    pub span: Span,
    /// Its name.
    pub name: Name<'m>,
}
