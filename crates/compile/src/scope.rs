//! Names and where they are seen: the module, a function, and each block within one.

use hostwarp_isa::Ty;
use hostwarp_syntax::Span;
use rustc_hash::FxHashMap;

/// One scalar register: which declaration, which of its range, which element of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Reg {
    pub declaration: u32,
    pub index: u32,
    pub element: u8,
    pub ty: Ty,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entity {
    /// A register; more than one element for a vector.
    Reg(Reg, u8),
    /// A variable in memory, a parameter included: index into the table of variables.
    Variable(u32),
    /// A label: index into the function's table.
    Label(u32),
    /// A function or kernel: index into the module's table.
    Function(u32),
    /// A list of targets of a branch: index into the function's table.
    Targets(u32),
    /// A list of targets of a call: index into the function's table.
    CallTargets(u32),
    /// A prototype: index into the function's table.
    Prototype(u32),
    /// Defined with an error that was reported: whatever is done with it is not reported again.
    Broken,
}

impl Entity {
    pub fn describe(self) -> &'static str {
        match self {
            Entity::Reg(..) => "a register",
            Entity::Variable(_) => "a variable",
            Entity::Label(_) => "a label",
            Entity::Function(_) => "a function",
            Entity::Targets(_) | Entity::CallTargets(_) => "a list of targets",
            Entity::Prototype(_) => "a prototype",
            Entity::Broken => "something with an error",
        }
    }
}

/// A name's meaning and where it was defined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub entity: Entity,
    pub span: Span,
    depth: u32,
}

#[derive(Clone, Copy)]
struct Range {
    reg: Reg,
    elements: u8,
    count: u32,
    span: Span,
    depth: u32,
}

/// The names of the module, or those within one function. Inner blocks hide outer names and give them back when they end.
#[derive(Default)]
pub(crate) struct Table<'m> {
    names: FxHashMap<&'m str, Binding>,
    /// `%r<100>`, by prefix, outermost first: a shorter range hides only the registers it has.
    ranges: FxHashMap<&'m str, Vec<Range>>,
    hidden: Vec<Hidden<'m>>,
    marks: Vec<usize>,
}

enum Hidden<'m> {
    Name(&'m str, Option<Binding>),
    Range(&'m str),
}

impl<'m> Table<'m> {
    fn enter(&mut self) {
        self.marks.push(self.hidden.len());
    }

    fn leave(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        for hidden in self.hidden.drain(mark..).rev() {
            match hidden {
                Hidden::Name(name, Some(old)) => _ = self.names.insert(name, old),
                Hidden::Name(name, None) => _ = self.names.remove(name),
                Hidden::Range(name) => _ = self.ranges.get_mut(name).and_then(Vec::pop),
            }
        }
    }

    fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    /// Defines a name in the innermost scope, or says what has it already.
    fn define(&mut self, name: &'m str, entity: Entity, span: Span) -> Result<(), Binding> {
        let depth = self.depth();
        if let Some(old) = self.lookup(name).filter(|b| b.depth == depth) {
            return Err(old);
        }
        let old = self.names.insert(name, Binding { entity, span, depth });
        self.hidden.push(Hidden::Name(name, old));
        Ok(())
    }

    /// Gives a name another meaning where it was defined.
    fn redefine(&mut self, name: &'m str, entity: Entity) {
        if let Some(binding) = self.names.get_mut(name) {
            binding.entity = entity;
        }
    }

    /// Defines `prefix0` … `prefix<count - 1>`.
    fn define_range(
        &mut self,
        prefix: &'m str,
        reg: Reg,
        elements: u8,
        count: u32,
        span: Span,
    ) -> Result<(), Span> {
        let depth = self.depth();
        let ranges = self.ranges.entry(prefix).or_default();
        if let Some(old) = ranges.last().filter(|r| r.depth == depth) {
            return Err(old.span);
        }
        ranges.push(Range { reg, elements, count, span, depth });
        self.hidden.push(Hidden::Range(prefix));
        Ok(())
    }

    /// The innermost meaning of a name.
    fn lookup(&self, name: &str) -> Option<Binding> {
        let range = self.in_range(name);
        match (self.names.get(name), range) {
            (Some(name), Some(range)) if range.depth > name.depth => Some(range),
            (Some(name), _) => Some(*name),
            (None, range) => range,
        }
    }

    fn in_range(&self, name: &str) -> Option<Binding> {
        let (prefix, number) = split_number(name)?;
        let index = number.parse::<u32>().ok()?;
        let range = self.ranges.get(prefix)?.iter().rev().find(|r| index < r.count)?;
        let entity = Entity::Reg(Reg { index, ..range.reg }, range.elements);
        Some(Binding { entity, span: range.span, depth: range.depth })
    }

    /// Every name seen here; ranges as `prefix<count>`.
    fn names(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.names.keys().copied()
    }

    /// The range a name would be in if it had more registers.
    fn range_of(&self, name: &str) -> Option<(u32, Span)> {
        let (prefix, _) = split_number(name)?;
        let range = self.ranges.get(prefix)?.last()?;
        Some((range.count, range.span))
    }

    /// The prefixes of all ranges.
    fn prefixes(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.ranges.iter().filter(|(_, ranges)| !ranges.is_empty()).map(|(prefix, _)| *prefix)
    }
}

/// The names seen at one place: those of the module, hidden by those of the function.
#[derive(Default)]
pub(crate) struct Scopes<'m> {
    module: Table<'m>,
    function: Option<Table<'m>>,
}

impl<'m> Scopes<'m> {
    fn innermost(&mut self) -> &mut Table<'m> {
        self.function.as_mut().unwrap_or(&mut self.module)
    }

    fn tables(&self) -> impl Iterator<Item = &Table<'m>> {
        self.function.iter().chain(std::iter::once(&self.module))
    }

    /// Begins a function: of the names seen so far only those of the module remain. Gives what [`Self::end_function`] takes.
    pub fn begin_function(&mut self) -> Option<Table<'m>> {
        self.function.replace(Table::default())
    }

    /// Ends a function and goes back to where it was begun.
    pub fn end_function(&mut self, before: Option<Table<'m>>) {
        self.function = before;
    }

    /// Begins a block.
    pub fn enter(&mut self) {
        self.innermost().enter();
    }

    /// Ends a block.
    pub fn leave(&mut self) {
        self.innermost().leave();
    }

    /// Defines a name in the innermost scope, or says what has it already.
    pub fn define(&mut self, name: &'m str, entity: Entity, span: Span) -> Result<(), Binding> {
        self.innermost().define(name, entity, span)
    }

    /// Gives a name another meaning where it was defined.
    pub fn redefine(&mut self, name: &'m str, entity: Entity) {
        self.innermost().redefine(name, entity);
    }

    /// Defines `prefix0` … `prefix<count - 1>`.
    pub fn define_range(
        &mut self,
        prefix: &'m str,
        reg: Reg,
        elements: u8,
        count: u32,
        span: Span,
    ) -> Result<(), Span> {
        self.innermost().define_range(prefix, reg, elements, count, span)
    }

    /// The innermost meaning of a name.
    pub fn lookup(&self, name: &str) -> Option<Binding> {
        self.tables().find_map(|t| t.lookup(name))
    }

    /// Every single name seen here.
    pub fn names(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.tables().flat_map(Table::names)
    }

    /// The range a name would be in if it had more registers.
    pub fn range_of(&self, name: &str) -> Option<(u32, Span)> {
        self.tables().find_map(|t| t.range_of(name))
    }

    /// The prefixes of all ranges.
    pub fn prefixes(&self) -> impl Iterator<Item = &'m str> + '_ {
        self.tables().flat_map(Table::prefixes)
    }
}

/// `%r12` as `%r` and `12`.
fn split_number(name: &str) -> Option<(&str, &str)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| name.split_at(name.len() - digits))
}
