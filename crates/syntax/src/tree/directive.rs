//! Directives and what they say.

use super::Name;
use crate::arena::Id;
use crate::{Expr, ExprList, Lexer, Module, Span};

/// A directive and its arguments, e.g. `.loc 1 9 3`.
#[derive(Clone, Copy)]
pub struct Directive<'m> {
    pub(super) module: &'m Module,
    pub(super) span: Span,
    pub(super) arguments: Id,
}

/// Which directive it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // each is the directive of its name
#[non_exhaustive]
pub enum DirectiveKind {
    Version,
    Target,
    AddressSize,
    File,
    Loc,
    Pragma,
    Alias,
    MaxNReg,
    MaxNTid,
    ReqNTid,
    MinNCtaPerSm,
    MaxNCtaPerSm,
    NoReturn,
    ExplicitCluster,
    ReqNCtaPerCluster,
    MaxClusterRank,
    BlocksAreClusters,
    AbiPreserve,
    AbiPreserveControl,
    Language,
    /// A data line in a section, or a directive this version of PTX does not know; see [`Directive::name`].
    Other,
}

impl<'m> Directive<'m> {
    /// Name and arguments; a closing `;` too where the directive has one.
    pub fn span(self) -> Span {
        self.span
    }

    /// Its name, the dot included.
    pub fn name(self) -> Name<'m> {
        let span = Lexer::within(self.module.source(), self.span).next_token().span;
        Name { text: self.module.text(span), span }
    }

    /// Which one it is.
    pub fn kind(self) -> DirectiveKind {
        use DirectiveKind::*;
        match self.name().text {
            ".version" => Version,
            ".target" => Target,
            ".address_size" => AddressSize,
            ".file" => File,
            ".loc" => Loc,
            ".pragma" => Pragma,
            ".alias" => Alias,
            ".maxnreg" => MaxNReg,
            ".maxntid" => MaxNTid,
            ".reqntid" => ReqNTid,
            ".minnctapersm" => MinNCtaPerSm,
            ".maxnctapersm" => MaxNCtaPerSm,
            ".noreturn" => NoReturn,
            ".explicitcluster" => ExplicitCluster,
            ".reqnctapercluster" => ReqNCtaPerCluster,
            ".maxclusterrank" => MaxClusterRank,
            ".blocksareclusters" => BlocksAreClusters,
            ".abi_preserve" => AbiPreserve,
            ".abi_preserve_control" => AbiPreserveControl,
            ".language" => Language,
            _ => Other,
        }
    }

    /// Its arguments, commas left out.
    pub fn arguments(self) -> ExprList<'m> {
        ExprList::new(self.module, self.arguments)
    }

    /// What a `.loc` says.
    pub fn loc(self) -> Option<Loc<'m>> {
        if self.kind() != DirectiveKind::Loc {
            return None;
        }
        let arguments = self.arguments();
        let place = |at: usize| {
            let number = |i| Some(arguments.get(at + i)?.int()? as u32);
            Some(SourcePlace { file: number(0)?, line: number(1)?, column: number(2).unwrap_or(0) })
        };
        let after = |word: &str| arguments.iter().position(|a| a.name() == Some(word)).map(|at| at + 1);
        Some(Loc {
            place: place(0)?,
            function_name: after("function_name").and_then(|at| arguments.get(at)),
            inlined_at: after("inlined_at").and_then(place),
        })
    }
}

impl std::fmt::Debug for Directive<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.name().text, self.arguments())
    }
}

/// A place in the source the PTX was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourcePlace {
    /// Index given by a `.file`.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A decoded `.loc`.
#[derive(Clone, Copy, Debug)]
pub struct Loc<'m> {
    /// The place.
    pub place: SourcePlace,
    /// Where `.debug_str` has the name of the inlined function.
    pub function_name: Option<Expr<'m>>,
    /// Where it was inlined.
    pub inlined_at: Option<SourcePlace>,
}
