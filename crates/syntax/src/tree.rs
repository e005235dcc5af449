//! The tree as its readers see it: small `Copy` handles over the tables of the [`Module`].

use crate::arena::{
    Arena, DirectiveData, FunctionData, Id, InstructionData, NONE, Node, NodeKind, Run, SpecData,
    VariableData,
};
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
            NodeKind::Directive => Statement::Directive(Directive { module, data: &arena.directives[data] }),
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

/// A kernel, a function, or the prototype of an indirect call.
#[derive(Clone, Copy)]
pub struct Function<'m> {
    module: &'m Module,
    node: Node,
    data: &'m FunctionData,
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
        module.arena.directives[self.data.directives.range()]
            .iter()
            .map(move |data| Directive { module, data })
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

/// A directive and its arguments, e.g. `.loc 1 9 3`.
#[derive(Clone, Copy)]
pub struct Directive<'m> {
    module: &'m Module,
    data: &'m DirectiveData,
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
        Span::new(self.data.name.start, self.data.end)
    }

    /// Its name, the dot included.
    pub fn name(self) -> Name<'m> {
        Name { text: self.module.text(self.data.name), span: self.data.name }
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
        ExprList::new(self.module, self.data.arguments)
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

/// A state space of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // each is the space of its name
pub enum Space {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

impl Space {
    /// From a specifier's name without its dot. Sub-qualified names (`shared::cluster`) are not spaces of variables.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "reg" => Space::Reg,
            "sreg" => Space::Sreg,
            "const" => Space::Const,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" => Space::Param,
            "shared" => Space::Shared,
            "tex" => Space::Tex,
            _ => return None,
        })
    }
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // each is the directive of its name
pub enum Linkage {
    Extern,
    Visible,
    Weak,
    Common,
}

impl Linkage {
    /// From a specifier's name without its dot.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => return None,
        })
    }
}

/// The dotted words before a name: linkage, space, alignment, attributes, vector size, type.
#[derive(Clone, Copy)]
pub struct Specifiers<'m> {
    module: &'m Module,
    run: Run,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Specifier<'m> {
    module: &'m Module,
    data: &'m SpecData,
}

impl<'m> Specifier<'m> {
    /// Its name without the dot.
    pub fn name(self) -> &'m str {
        &self.module.text(self.data.name)[1..]
    }

    /// Where its name stands, the dot included.
    pub fn span(self) -> Span {
        self.data.name
    }

    /// `8` of `.align 8`, `(…)` of `.attribute(…)`, `2` of `.const[2]`.
    pub fn argument(self) -> Option<Expr<'m>> {
        Expr::new(self.module, self.data.argument)
    }
}

impl std::fmt::Debug for Specifier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.name())?;
        self.argument().map_or(Ok(()), |a| write!(f, " {a:?}"))
    }
}

impl<'m> Specifiers<'m> {
    fn new(module: &'m Module, run: Run) -> Self {
        Self { module, run }
    }

    /// All of them, in text order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Specifier<'m>> + DoubleEndedIterator {
        let module = self.module;
        module.arena.specs[self.run.range()].iter().map(move |data| Specifier { module, data })
    }

    /// The one called `name` (without its dot).
    pub fn get(self, name: &str) -> Option<Specifier<'m>> {
        self.iter().find(|s| s.name() == name)
    }

    /// The linkage; the last one if several are written.
    pub fn linkage(self) -> Option<Linkage> {
        self.iter().filter_map(|s| Linkage::from_name(s.name())).next_back()
    }

    /// The state space: the first one, since a second belongs to `.ptr`.
    pub fn space(self) -> Option<Space> {
        self.iter().find_map(|s| Space::from_name(s.name()))
    }

    /// The bank of `.const[bank]`.
    pub fn bank(self) -> Option<Expr<'m>> {
        self.get("const")?.argument()
    }

    /// The alignment of the variable itself.
    pub fn align(self) -> Option<Expr<'m>> {
        self.before_ptr().find(|s| s.name() == "align")?.argument()
    }

    /// The argument list of `.attribute(…)`: [`ExprKind::DotName`]s and [`ExprKind::Call`]s.
    pub fn attributes(self) -> Option<Expr<'m>> {
        self.get("attribute")?.argument()
    }

    /// `2`, `4` or `8` of `.v2`, `.v4`, `.v8`.
    pub fn vector(self) -> Option<u32> {
        self.iter().find_map(|s| vector_size(s.name()))
    }

    /// The type: what is no other kind of specifier. Without its dot.
    pub fn types(self) -> impl Iterator<Item = Name<'m>> {
        self.iter()
            .filter(|s| is_type(s.name()))
            .map(|s| Name { text: s.name(), span: Span::new(s.data.name.start + 1, s.data.name.end) })
    }

    /// The first of [`types`](Self::types).
    pub fn type_name(self) -> Option<Name<'m>> {
        self.types().next()
    }

    /// What `.ptr` says about a kernel parameter.
    pub fn pointer(self) -> Option<Pointer<'m>> {
        let mut after = self.iter().skip_while(|s| s.name() != "ptr");
        after.next()?;
        let mut pointer = Pointer { space: None, align: None };
        for spec in after {
            match Space::from_name(spec.name()) {
                Some(space) => pointer.space = Some(space),
                None if spec.name() == "align" => pointer.align = spec.argument(),
                None => {}
            }
        }
        Some(pointer)
    }

    fn before_ptr(self) -> impl Iterator<Item = Specifier<'m>> {
        self.iter().take_while(|s| s.name() != "ptr")
    }
}

impl std::fmt::Debug for Specifiers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What a kernel parameter points to: `.ptr .global .align 16`.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'m> {
    /// The space; generic if absent.
    pub space: Option<Space>,
    /// The alignment of what it points to; 4 if absent.
    pub align: Option<Expr<'m>>,
}

fn vector_size(name: &str) -> Option<u32> {
    match name {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

fn is_type(name: &str) -> bool {
    Space::from_name(name).is_none()
        && Linkage::from_name(name).is_none()
        && vector_size(name).is_none()
        && !matches!(name, "align" | "attribute" | "ptr")
}

/// A variable declaration: specifiers and one or more variables.
#[derive(Clone, Copy)]
pub struct Declaration<'m> {
    module: &'m Module,
    span: Span,
    specs: Run,
    variables: Run,
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
    module: &'m Module,
    run: Run,
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
    module: &'m Module,
    data: &'m VariableData,
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
        let module = self.module;
        ExprList::new(module, self.data.dims).raw().iter().map(move |id: &Id| Expr::new(module, *id))
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

/// `@p opcode.modifiers operands;`
#[derive(Clone, Copy)]
pub struct Instruction<'m> {
    module: &'m Module,
    span: Span,
    data: &'m InstructionData,
}

/// A modifier of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Modifier<'m> {
    /// Its text without the dot: `u32`, `shared::cluster`, `const[2]`.
    pub text: &'m str,
    /// Where it stands, the dot included.
    pub span: Span,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'m> {
    /// Whether `!` stands before it.
    pub negated: bool,
    /// The predicate, a name if nothing is wrong.
    pub predicate: Expr<'m>,
}

impl<'m> Instruction<'m> {
    /// All of it, guard and `;` included.
    pub fn span(self) -> Span {
        self.span
    }

    /// The opcode without its modifiers: `add` of `add.s32`.
    pub fn opcode(self) -> &'m str {
        self.module.text(self.data.opcode)
    }

    /// Where the opcode stands.
    pub fn opcode_span(self) -> Span {
        self.data.opcode
    }

    /// Where opcode and modifiers stand.
    pub fn mnemonic_span(self) -> Span {
        let end = self.module.arena.modifiers[self.data.modifiers.range()]
            .last()
            .map_or(self.data.opcode.end, |m| m.end);
        Span::new(self.data.opcode.start, end)
    }

    /// The modifiers in text order.
    pub fn modifiers(self) -> impl ExactSizeIterator<Item = Modifier<'m>> + DoubleEndedIterator + Clone {
        let module = self.module;
        module.arena.modifiers[self.data.modifiers.range()]
            .iter()
            .map(move |span| Modifier { text: module.text(*span).get(1..).unwrap_or(""), span: *span })
    }

    /// The operands in text order.
    pub fn operands(self) -> ExprList<'m> {
        ExprList::new(self.module, self.data.operands)
    }

    /// The guard, if there is one.
    pub fn guard(self) -> Option<Guard<'m>> {
        let guard = Expr::new(self.module, self.data.guard)?;
        Some(match guard.kind() {
            ExprKind::Unary(crate::UnaryOp::Not, predicate) => Guard { negated: true, predicate },
            _ => Guard { negated: false, predicate: guard },
        })
    }

    /// The instruction as canonical text on one line.
    pub fn print(self) -> String {
        crate::print::print_span(self.module, self.span)
    }
}

impl std::fmt::Debug for Instruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instruction")
            .field("guard", &self.guard())
            .field("opcode", &self.opcode())
            .field("modifiers", &self.modifiers().map(|m| m.text).collect::<Vec<_>>())
            .field("operands", &self.operands())
            .finish()
    }
}
