//! How the tree is stored: flat tables that the parser only appends to.
//!
//! PTX files of 100 MB exist (debug builds, big initialisers), so a node is a few words in a vector and never a
//! box: a register operand costs 8 bytes, an instruction 40 and 8 per modifier, a line of debug data 24. Dropping
//! it cannot recurse.

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
    /// `data` is the list of arguments; the name is the first token.
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

/// A directive between the header of a function and its body. One that is a statement has only its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectiveData {
    /// All of it; the name is the first token.
    pub span: Span,
    pub arguments: Id,
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
    /// Lists of expressions: see [`Arena::push_list`].
    lists: Vec<u32>,
    /// Expressions: see [`Arena::push_expr`].
    exprs: Vec<u32>,
    pub comments: Vec<Span>,
    /// `#` and `@@DWARF` lines.
    pub lines: Vec<Span>,
    text_len: u32,
}

const LENGTH_BITS: u32 = 24;
const LONG: u32 = (1 << LENGTH_BITS) - 1;

/// In the id of a list: the rest is the id of its only element.
const ONLY: u32 = 1 << 31;
/// In the length of a list: only the first id is written.
const EVEN: u32 = 1 << 31;

/// The ids of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ids<'m> {
    Each(&'m [Id]),
    /// Every id is the one before it and 2, as it is for names and numbers with nothing between.
    Even {
        first: Id,
        len: u32,
    },
}

impl Ids<'_> {
    pub fn len(self) -> usize {
        match self {
            Ids::Each(ids) => ids.len(),
            Ids::Even { len, .. } => len as usize,
        }
    }

    pub fn get(self, index: usize) -> Option<Id> {
        match self {
            Ids::Each(ids) => ids.get(index).copied(),
            Ids::Even { first, len } => (index < len as usize).then(|| first + 2 * index as u32),
        }
    }
}

impl Arena {
    pub fn new(text_len: usize) -> Self {
        Self { lists: vec![0], text_len: text_len as u32, ..Self::default() }
    }

    /// Makes room in a full table for what the whole text will need of it, judged by the text up to `at`: doubling
    /// would take up to three times as much while the old entries move.
    #[cold]
    fn grow<T>(table: &mut Vec<T>, at: u32, text_len: u32) {
        let (len, at) = (table.len() as u64, u64::from(at.max(1)));
        let rest = u64::from(text_len).saturating_sub(at) * len / at;
        // The guess is rough at the beginning, and a growing table must grow by a part of itself.
        let more = (rest + rest / 16).clamp(len / 4, 2 * len) + 64;
        table.reserve_exact(more as usize);
    }

    #[inline]
    fn push<T>(table: &mut Vec<T>, item: T, at: u32, text_len: u32) {
        if table.len() == table.capacity() {
            Self::grow(table, at, text_len);
        }
        table.push(item);
    }

    #[inline]
    pub fn push_node(&mut self, node: Node) {
        Self::push(&mut self.nodes, node, node.span.start, self.text_len);
    }

    #[inline]
    pub fn push_instruction(&mut self, instruction: InstructionData) -> u32 {
        let index = self.instructions.len() as u32;
        Self::push(&mut self.instructions, instruction, instruction.opcode.start, self.text_len);
        index
    }

    #[inline]
    pub fn push_modifier(&mut self, modifier: Span) {
        Self::push(&mut self.modifiers, modifier, modifier.start, self.text_len);
    }

    #[inline]
    pub fn push_comment(&mut self, comment: Span) {
        Self::push(&mut self.comments, comment, comment.start, self.text_len);
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
        shrink(&mut self.comments);
    }

    /// Appends an expression: start, tag and length in one word, the payload. An expression longer than 16 MB
    /// writes its end in a word of its own.
    pub fn push_expr(&mut self, tag: Tag, span: Span, payload: &[u32]) -> Id {
        let id = self.exprs.len() as u32;
        if self.exprs.capacity() - self.exprs.len() < 3 + payload.len() {
            Self::grow(&mut self.exprs, span.start, self.text_len);
        }
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
        if self.exprs.capacity() - self.exprs.len() < 2 {
            Self::grow(&mut self.exprs, span.start, self.text_len);
        }
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

    /// Appends a list that ends at `at`: its length, then the ids, or of an even one only the first. No element and
    /// one element need no entry: id 0 is the empty list.
    pub fn push_list(&mut self, items: &[Id], at: u32) -> Id {
        match items {
            [] => return 0,
            [only] if *only < ONLY => return ONLY | *only,
            _ => {}
        }
        let even = items.windows(2).all(|pair| pair[0].checked_add(2) == Some(pair[1]));
        let (head, ids) = if even { (EVEN, &items[..1]) } else { (0, items) };
        let id = self.lists.len() as u32;
        if self.lists.capacity() - self.lists.len() <= ids.len() {
            Self::grow(&mut self.lists, at, self.text_len);
        }
        self.lists.push(head | items.len() as u32);
        self.lists.extend_from_slice(ids);
        id
    }

    pub fn list(&self, id: Id) -> Ids<'_> {
        if id & ONLY != 0 {
            return Ids::Even { first: id & !ONLY, len: 1 };
        }
        let (head, start) = (self.lists[id as usize], id as usize + 1);
        if head & EVEN != 0 {
            return Ids::Even { first: self.lists[start], len: head & !EVEN };
        }
        Ids::Each(&self.lists[start..start + head as usize])
    }
}
