//! Operands, constant expressions and initialisers: one kind of node for all three, since PTX writes them alike.

use crate::arena::{Id, Ids, NONE};
use crate::{Module, Span};

/// An operand, a value in an initialiser, an argument of a directive.
///
/// Cheap to copy; [`kind`](Self::kind) says what it is. No expression is nested deeper than
/// [`MAX_NESTING`](crate::MAX_NESTING), so a walk may recurse.
#[derive(Clone, Copy)]
pub struct Expr<'m> {
    pub(crate) module: &'m Module,
    pub(crate) id: Id,
}

/// What an [`Expr`] is.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind<'m> {
    /// A register, variable, label, function, `WARP_SZ`.
    Name(&'m str),
    /// `_`: the result is not wanted, or the parameter has no name.
    Sink,
    /// `.debug_info`, `.managed`: a name that begins with a dot; the text is without it.
    DotName(&'m str),
    /// An integer literal.
    Int(IntLiteral),
    /// A floating-point literal.
    Float(FloatLiteral),
    /// A string; the text is what stands between the quotes.
    Str(&'m str),
    /// `-a`, `!p`, `~0`.
    Unary(UnaryOp, Expr<'m>),
    /// `a + 4`.
    Binary(BinaryOp, Expr<'m>, Expr<'m>),
    /// `c ? a : b`.
    Ternary(Expr<'m>, Expr<'m>, Expr<'m>),
    /// `(.s64) x`; the type is without its dot.
    Cast(&'m str, Expr<'m>),
    /// `d|p`: two destinations.
    Pair(Expr<'m>, Expr<'m>),
    /// `a.x`, `r1.b3210`, `[p].unified`: the selector is without its dot. [`Expr::selector_span`] has its place.
    Member(Expr<'m>, &'m str),
    /// `a[4]`.
    Index(Expr<'m>, Expr<'m>),
    /// `generic(x)`, `0xFF00(x)`, `.unified(1, 2)`.
    Call(Expr<'m>, ExprList<'m>),
    /// `(a, b)`: the arguments of a call, or with one element perhaps only a grouping.
    Paren(ExprList<'m>),
    /// `{a, b}`.
    Vector(ExprList<'m>),
    /// `[a]`, `[a, {x, y}]`.
    Address(ExprList<'m>),
    /// `filter_mode = nearest` in the initialiser of a sampler.
    Assign(Expr<'m>, Expr<'m>),
    /// `L<5>` in a list of targets: L0 … L4.
    Range(Expr<'m>, Expr<'m>),
    /// Could not be read; an error was reported here.
    Error,
}

/// An integer literal: `.s64` unless it is too large or marked `U`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLiteral {
    /// Its 64 bits.
    pub value: u64,
    /// Whether it counts as `.u64` in a constant expression.
    pub unsigned: bool,
}

/// A floating-point literal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FloatLiteral {
    /// `1.5` or `0d…`: a double.
    F64(f64),
    /// `0f…`: the exact bits of a single.
    F32Bits(u32),
}

/// A prefix operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Neg,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// An infix operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // the names say it
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

/// The stored form of [`ExprKind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Tag {
    Error,
    Name,
    Sink,
    DotName,
    Int,
    Float,
    FloatBits32,
    FloatBits64,
    Str,
    Ternary,
    Cast,
    Pair,
    Member,
    Index,
    Call,
    Paren,
    Vector,
    Address,
    Assign,
    Range,
    Plus,
    Neg,
    Not,
    Complement,
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

impl Tag {
    const ALL: [Tag; 42] = {
        use Tag::*;
        [
            Error,
            Name,
            Sink,
            DotName,
            Int,
            Float,
            FloatBits32,
            FloatBits64,
            Str,
            Ternary,
            Cast,
            Pair,
            Member,
            Index,
            Call,
            Paren,
            Vector,
            Address,
            Assign,
            Range,
            Plus,
            Neg,
            Not,
            Complement,
            Mul,
            Div,
            Rem,
            Add,
            Sub,
            Shl,
            Shr,
            Less,
            LessEqual,
            Greater,
            GreaterEqual,
            Equal,
            NotEqual,
            BitAnd,
            BitXor,
            BitOr,
            And,
            Or,
        ]
    };

    pub fn from_byte(byte: u8) -> Tag {
        Tag::ALL.get(byte as usize).copied().unwrap_or(Tag::Error)
    }
}

impl<'m> Expr<'m> {
    pub(crate) fn new(module: &'m Module, id: Id) -> Option<Self> {
        (id != NONE).then_some(Self { module, id })
    }

    /// Where it stands.
    pub fn span(self) -> Span {
        self.module.arena.expr_span(self.id)
    }

    /// Its text as written.
    pub fn text(self) -> &'m str {
        self.module.text(self.span())
    }

    fn child(self, index: usize) -> Expr<'m> {
        Expr { module: self.module, id: self.module.arena.expr_word(self.id, index) }
    }

    fn list(self, index: usize) -> ExprList<'m> {
        ExprList::new(self.module, self.module.arena.expr_word(self.id, index))
    }

    /// What it is.
    pub fn kind(self) -> ExprKind<'m> {
        use BinaryOp as B;
        use UnaryOp as U;
        let tag = self.module.arena.expr_tag(self.id);
        let unary = |op| ExprKind::Unary(op, self.child(0));
        let binary = |op| ExprKind::Binary(op, self.child(0), self.child(1));
        match tag {
            Tag::Error => ExprKind::Error,
            Tag::Name => ExprKind::Name(self.text()),
            Tag::Sink => ExprKind::Sink,
            Tag::DotName => ExprKind::DotName(&self.text()[1..]),
            Tag::Int => {
                ExprKind::Int(parse_int(self.text()).unwrap_or(IntLiteral { value: 0, unsigned: false }))
            }
            Tag::Float => ExprKind::Float(FloatLiteral::F64(parse_float(self.text()))),
            Tag::FloatBits32 => ExprKind::Float(FloatLiteral::F32Bits(
                u32::from_str_radix(&self.text()[2..], 16).unwrap_or(0),
            )),
            Tag::FloatBits64 => {
                let bits = u64::from_str_radix(&self.text()[2..], 16).unwrap_or(0);
                ExprKind::Float(FloatLiteral::F64(f64::from_bits(bits)))
            }
            Tag::Str => {
                let inner = &self.text()[1..];
                ExprKind::Str(inner.strip_suffix('"').unwrap_or(inner))
            }
            Tag::Ternary => ExprKind::Ternary(self.child(0), self.child(1), self.child(2)),
            Tag::Cast => {
                let at = Span::new(
                    self.module.arena.expr_word(self.id, 1),
                    self.module.arena.expr_word(self.id, 2),
                );
                ExprKind::Cast(&self.module.text(at)[1..], self.child(0))
            }
            Tag::Pair => ExprKind::Pair(self.child(0), self.child(1)),
            Tag::Member => {
                let at = Span::new(self.module.arena.expr_word(self.id, 1), self.span().end);
                ExprKind::Member(self.child(0), &self.module.text(at)[1..])
            }
            Tag::Index => ExprKind::Index(self.child(0), self.child(1)),
            Tag::Call => ExprKind::Call(self.child(0), self.list(1)),
            Tag::Paren => ExprKind::Paren(self.list(0)),
            Tag::Vector => ExprKind::Vector(self.list(0)),
            Tag::Address => ExprKind::Address(self.list(0)),
            Tag::Assign => ExprKind::Assign(self.child(0), self.child(1)),
            Tag::Range => ExprKind::Range(self.child(0), self.child(1)),
            Tag::Plus => unary(U::Plus),
            Tag::Neg => unary(U::Neg),
            Tag::Not => unary(U::Not),
            Tag::Complement => unary(U::Complement),
            Tag::Mul => binary(B::Mul),
            Tag::Div => binary(B::Div),
            Tag::Rem => binary(B::Rem),
            Tag::Add => binary(B::Add),
            Tag::Sub => binary(B::Sub),
            Tag::Shl => binary(B::Shl),
            Tag::Shr => binary(B::Shr),
            Tag::Less => binary(B::Less),
            Tag::LessEqual => binary(B::LessEqual),
            Tag::Greater => binary(B::Greater),
            Tag::GreaterEqual => binary(B::GreaterEqual),
            Tag::Equal => binary(B::Equal),
            Tag::NotEqual => binary(B::NotEqual),
            Tag::BitAnd => binary(B::BitAnd),
            Tag::BitXor => binary(B::BitXor),
            Tag::BitOr => binary(B::BitOr),
            Tag::And => binary(B::And),
            Tag::Or => binary(B::Or),
        }
    }

    /// The name, if it is a plain name.
    pub fn name(self) -> Option<&'m str> {
        match self.kind() {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Where the selector of a [`ExprKind::Member`] stands, its dot included.
    pub fn selector_span(self) -> Option<Span> {
        (self.module.arena.expr_tag(self.id) == Tag::Member)
            .then(|| Span::new(self.module.arena.expr_word(self.id, 1), self.span().end))
    }
}

impl std::fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind().fmt(f)
    }
}

/// Expressions in a row: operands, vector elements, arguments.
#[derive(Clone, Copy)]
pub struct ExprList<'m> {
    module: &'m Module,
    ids: Ids<'m>,
}

impl<'m> ExprList<'m> {
    pub(crate) fn new(module: &'m Module, id: Id) -> Self {
        Self { module, ids: module.arena.list(id) }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The one at `index`, counted from 0.
    pub fn get(self, index: usize) -> Option<Expr<'m>> {
        self.ids.get(index).map(|id| Expr { module: self.module, id })
    }

    /// One after the other.
    pub fn iter(self) -> ExprListIter<'m> {
        ExprListIter { list: self, rest: 0..self.len() }
    }
}

impl<'m> IntoIterator for ExprList<'m> {
    type Item = Expr<'m>;
    type IntoIter = ExprListIter<'m>;

    fn into_iter(self) -> ExprListIter<'m> {
        self.iter()
    }
}

/// Iterates an [`ExprList`].
#[derive(Clone)]
pub struct ExprListIter<'m> {
    list: ExprList<'m>,
    rest: std::ops::Range<usize>,
}

impl<'m> Iterator for ExprListIter<'m> {
    type Item = Expr<'m>;

    fn next(&mut self) -> Option<Expr<'m>> {
        self.list.get(self.rest.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl DoubleEndedIterator for ExprListIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.list.get(self.rest.next_back()?)
    }
}

impl ExactSizeIterator for ExprListIter<'_> {}

impl std::fmt::Debug for ExprList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The value of an integer literal, of more than 64 bits the low ones; nothing if it is none.
pub(crate) fn parse_int(text: &str) -> Option<IntLiteral> {
    let (digits, suffix) = match text.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits
        .chars()
        .try_fold(0u64, |n, c| Some(n.wrapping_mul(radix.into()).wrapping_add(c.to_digit(radix)?.into())))?;
    Some(IntLiteral { value, unsigned: suffix || value > i64::MAX as u64 })
}

/// Whether an integer literal has more than 64 bits.
pub(crate) fn is_too_large(text: &str) -> bool {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let value = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
        [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    value.is_err_and(|e| *e.kind() == std::num::IntErrorKind::PosOverflow)
}

fn parse_float(text: &str) -> f64 {
    text.parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_in_order() {
        for (byte, tag) in Tag::ALL.iter().enumerate() {
            assert_eq!(*tag as usize, byte);
        }
    }

    #[test]
    fn integer_literals() {
        let int = |text| parse_int(text).map(|i| (i.value, i.unsigned));
        assert_eq!(int("0"), Some((0, false)));
        assert_eq!(int("0U"), Some((0, true)));
        assert_eq!(int("0x7fffffffffffffff"), Some((i64::MAX as u64, false)));
        assert_eq!(int("0x8000000000000000"), Some((1 << 63, true)));
        assert_eq!(int("0123"), Some((0o123, false)));
        assert_eq!(int("0b101U"), Some((5, true)));
        assert_eq!(int("18446744073709551618"), Some((2, false)));
        assert!(is_too_large("18446744073709551616") && !is_too_large("18446744073709551615U"));
    }

    #[test]
    fn floats() {
        for (text, value) in [("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1.e3", 1000.0), ("1E+2", 100.0)] {
            assert_eq!(parse_float(text), value);
        }
    }
}
