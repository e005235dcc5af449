//! How the tree is stored: flat tables that the parser only appends to.
//!
//! PTX files of 100 MB exist (debug builds, big initialisers), so a node is a few words in a vector and never a
//! box: a register operand costs 12 bytes, an instruction 40 and 8 per modifier. Dropping it cannot recurse.

use crate::Span;
use crate::expr::Tag;

/// Index into a table; [`NONE`] stands for absent.
pub(crate) type Id = u32;

pub(crate) const NONE: Id = u32::MAX;

/// A run of entries in a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub start: u32,
    pub end: u32,
}

impl Run {
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum NodeKind {
    /// `data` is an index into `functions`.
    Function,
    /// `data` is an index into `functions`.
    CallPrototype,
    /// `data` is an index into `targets`.
    CallTargets,
    /// `data` is an index into `targets`.
    BranchTargets,
    /// `data` is an index into `declarations`.
    Declaration,
    /// `data` is an index into `directives`.
    Directive,
    /// `data` is an index into `sections`.
    Section,
    /// `data` is the node after the block's last one.
    Block,
    /// `data` is the end of the name.
    Label,
    /// `data` is an index into `instructions`.
    Instruction,
    /// Text that could not be read.
    Error,
}

/// A statement. Statements stand in text order; those of a block follow it, up to the index the block names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub span: Span,
    pub data: u32,
    pub kind: NodeKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionData {
    pub specs: Run,
    /// `.entry`, `.func` or `.callprototype`.
    pub keyword: Span,
    /// Of a prototype: its label. Empty if missing.
    pub name: Span,
    pub returns: Run,
    pub params: Run,
    pub directives: Run,
    /// The node of the body's block, if it has one.
    pub body: Id,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetsData {
    pub label: Span,
    pub list: Id,
}

/// `.align 8`, `.attribute(…)`, `.const[2]`, `.u32`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpecData {
    pub name: Span,
    pub argument: Id,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclarationData {
    pub specs: Run,
    pub variables: Run,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct VariableData {
    pub specs: Run,
    pub name: Span,
    /// The `100` of `%r<100>`.
    pub count: Id,
    /// List of array bounds; [`NONE`] within it for `[]`.
    pub dims: Id,
    pub init: Id,
    pub end: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectiveData {
    pub name: Span,
    pub arguments: Id,
    pub end: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionData {
    pub name: Span,
    /// The node after the section's last one.
    pub next: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionData {
    pub guard: Id,
    pub opcode: Span,
    pub modifiers: Run,
    pub operands: Id,
}

/// The budget the bench holds the tree to: these exist once per statement or per operand.
const _: () = {
    assert!(size_of::<Node>() == 16);
    assert!(size_of::<InstructionData>() == 24);
    assert!(size_of::<DirectiveData>() == 16);
    assert!(size_of::<VariableData>() == 32);
};

/// All tables of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    pub nodes: Vec<Node>,
    pub functions: Vec<FunctionData>,
    pub targets: Vec<TargetsData>,
    pub declarations: Vec<DeclarationData>,
    pub variables: Vec<VariableData>,
    pub specs: Vec<SpecData>,
    pub directives: Vec<DirectiveData>,
    pub sections: Vec<SectionData>,
    pub instructions: Vec<InstructionData>,
    pub modifiers: Vec<Span>,
    /// Lists of expressions: the length, then the ids. Id 0 is the empty list.
    pub lists: Vec<Id>,
    /// Expressions: see [`Arena::push_expr`].
    pub exprs: Vec<u32>,
    pub comments: Vec<Span>,
    /// `#` and `@@DWARF` lines.
    pub lines: Vec<Span>,
}

const LENGTH_BITS: u32 = 24;
const LONG: u32 = (1 << LENGTH_BITS) - 1;

impl Arena {
    pub fn new(text_len: usize) -> Self {
        let mut arena = Self::default();
        // A guess from compiler output; growing from there doubles at most once or twice.
        arena.nodes.reserve(text_len / 40);
        arena.instructions.reserve(text_len / 48);
        arena.modifiers.reserve(text_len / 24);
        arena.exprs.reserve(text_len / 6);
        arena.lists.reserve(text_len / 12);
        arena.lists.push(0);
        arena
    }

    /// Gives back what the guess took too much.
    pub fn shrink(&mut self) {
        fn shrink<T>(table: &mut Vec<T>) {
            if table.capacity() - table.len() > table.len() / 4 {
                table.shrink_to_fit();
            }
        }
        shrink(&mut self.nodes);
        shrink(&mut self.instructions);
        shrink(&mut self.modifiers);
        shrink(&mut self.exprs);
        shrink(&mut self.lists);
        shrink(&mut self.variables);
        shrink(&mut self.directives);
        shrink(&mut self.comments);
    }

    /// Appends an expression: start, tag and length in one word, the payload. An expression longer than 16 MB
    /// writes its end in a word of its own.
    pub fn push_expr(&mut self, tag: Tag, span: Span, payload: &[u32]) -> Id {
        let id = self.exprs.len() as u32;
        self.exprs.push(span.start);
        let length = span.len().min(LONG);
        self.exprs.push((tag as u32) << LENGTH_BITS | length);
        if length == LONG {
            self.exprs.push(span.end);
        }
        self.exprs.extend_from_slice(payload);
        id
    }

    /// [`push_expr`](Self::push_expr) without a payload, the common case.
    #[inline]
    pub fn push_leaf(&mut self, tag: Tag, span: Span) -> Id {
        if span.len() >= LONG {
            return self.push_expr(tag, span, &[]);
        }
        let id = self.exprs.len() as u32;
        self.exprs.extend_from_slice(&[span.start, (tag as u32) << LENGTH_BITS | span.len()]);
        id
    }

    pub fn expr_tag(&self, id: Id) -> Tag {
        Tag::from_byte((self.exprs[id as usize + 1] >> LENGTH_BITS) as u8)
    }

    pub fn expr_span(&self, id: Id) -> Span {
        let start = self.exprs[id as usize];
        let length = self.exprs[id as usize + 1] & LONG;
        let end = if length == LONG { self.exprs[id as usize + 2] } else { start + length };
        Span::new(start, end)
    }

    pub fn expr_word(&self, id: Id, index: usize) -> u32 {
        let long = self.exprs[id as usize + 1] & LONG == LONG;
        self.exprs[id as usize + 2 + long as usize + index]
    }

    pub fn push_list(&mut self, items: &[Id]) -> Id {
        if items.is_empty() {
            return 0;
        }
        let id = self.lists.len() as u32;
        self.lists.push(items.len() as u32);
        self.lists.extend_from_slice(items);
        id
    }

    pub fn list(&self, id: Id) -> &[Id] {
        let start = id as usize + 1;
        &self.lists[start..start + self.lists[id as usize] as usize]
    }
}
