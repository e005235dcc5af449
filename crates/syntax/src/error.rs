//! What can be wrong with the text of a module, as a closed list with stable codes.

use crate::{Span, TokenKind};
use std::fmt;

/// One thing wrong with the text, and where.
///
/// Everything a renderer needs is derived from the kind: [`code`](Self::code), [`message`](Self::message),
/// [`label`](Self::label) and [`help`](Self::help).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The bytes to point at; may be empty (something is missing there).
    pub span: Span,
}

/// What can be wrong. Codes never change their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// P0001: a character that is in no token.
    UnknownCharacter,
    /// P0002: bytes that are not UTF-8, outside comments and strings.
    NotUtf8,
    /// P0003: starts like a number and is none.
    BadNumber,
    /// P0004: an integer of more than 64 bits.
    IntegerTooLarge,
    /// P0005: a string without its closing quote.
    UnclosedString,
    /// P0006: `/*` without `*/`.
    UnclosedComment,
    /// P0007: a text longer than [`MAX_TEXT`](crate::MAX_TEXT).
    TextTooLong,
    /// P0010: something else should stand there.
    Expected {
        /// What should stand there.
        expected: Expected,
        /// What stands there.
        found: TokenKind,
    },
    /// P0011: `{` without `}`.
    UnclosedBlock,
    /// P0012: `}` without `{`.
    UnmatchedBrace,
    /// P0013: a token no statement begins with.
    UnexpectedToken(TokenKind),
    /// P0014: a directive PTX does not have.
    UnknownDirective,
    /// P0015: an instruction or label outside a function.
    InstructionOutsideFunction,
    /// P0016: a prototype or list of targets without a label.
    MissingLabel,
    /// P0017: a function inside a function, most likely for want of a `}`.
    NestedFunction,
    /// P0018: `;` with nothing before it.
    EmptyStatement,
    /// P0020: blocks or expressions nested deeper than [`MAX_NESTING`](crate::MAX_NESTING).
    NestedTooDeeply,
    /// P0021: the errors after this one are left out.
    TooManyErrors,
}

/// What the parser wanted to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Expected {
    /// This token.
    Token(TokenKind),
    /// `,` or `;` after an operand or declarator.
    CommaOrSemi,
    /// `,` or the closing token of a list.
    CommaOr(TokenKind),
    /// An operand.
    Operand,
    /// A value of a constant expression or initialiser.
    Value,
    /// The name of a variable, function or label.
    Name,
    /// An opcode after a guard.
    Opcode,
    /// The predicate after `@`.
    Predicate,
    /// A parameter.
    Parameter,
    /// `{` or `;` after a function header.
    BodyOrSemi,
    /// The argument of a directive.
    Argument,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Token(kind) => f.write_str(kind.describe()),
            Expected::CommaOrSemi => f.write_str("`,` or `;`"),
            Expected::CommaOr(kind) => write!(f, "`,` or {}", kind.describe()),
            Expected::Operand => f.write_str("an operand"),
            Expected::Value => f.write_str("a value"),
            Expected::Name => f.write_str("a name"),
            Expected::Opcode => f.write_str("an opcode"),
            Expected::Predicate => f.write_str("a predicate"),
            Expected::Parameter => f.write_str("a parameter"),
            Expected::BodyOrSemi => f.write_str("a body `{ … }` or `;`"),
            Expected::Argument => f.write_str("an argument"),
        }
    }
}

impl SyntaxError {
    /// The stable code, e.g. `P0010`.
    pub fn code(&self) -> &'static str {
        use ErrorKind::*;
        match self.kind {
            UnknownCharacter => "P0001",
            NotUtf8 => "P0002",
            BadNumber => "P0003",
            IntegerTooLarge => "P0004",
            UnclosedString => "P0005",
            UnclosedComment => "P0006",
            TextTooLong => "P0007",
            Expected { .. } => "P0010",
            UnclosedBlock => "P0011",
            UnmatchedBrace => "P0012",
            UnexpectedToken(_) => "P0013",
            UnknownDirective => "P0014",
            InstructionOutsideFunction => "P0015",
            MissingLabel => "P0016",
            NestedFunction => "P0017",
            EmptyStatement => "P0018",
            NestedTooDeeply => "P0020",
            TooManyErrors => "P0021",
        }
    }

    /// The sentence that heads the diagnostic.
    pub fn message(&self) -> String {
        use ErrorKind::*;
        match self.kind {
            UnknownCharacter => "this character has no place in PTX".into(),
            NotUtf8 => "these bytes are not text".into(),
            BadNumber => "malformed number".into(),
            IntegerTooLarge => "this integer does not fit in 64 bits".into(),
            UnclosedString => "the closing quote of this string is missing".into(),
            UnclosedComment => "this comment is never closed".into(),
            TextTooLong => "the text is longer than 1 GiB; the rest was not read".into(),
            Expected { expected, found } => format!("expected {expected}, found {}", found.describe()),
            UnclosedBlock => "this block is never closed".into(),
            UnmatchedBrace => "this `}` closes nothing".into(),
            UnexpectedToken(found) => format!("no statement begins with {}", found.describe()),
            UnknownDirective => "no such directive".into(),
            InstructionOutsideFunction => "an instruction or label outside a function".into(),
            MissingLabel => "this directive needs a label before it".into(),
            NestedFunction => "a function inside a function".into(),
            EmptyStatement => "this `;` ends nothing".into(),
            NestedTooDeeply => "nested too deeply".into(),
            TooManyErrors => "too many errors; the rest are not shown".into(),
        }
    }

    /// What to write under the marked bytes, where it adds to the message.
    pub fn label(&self) -> Option<String> {
        use ErrorKind::*;
        match self.kind {
            Expected { expected, .. } => Some(format!("expected {expected}")),
            UnclosedBlock => Some("opened here".into()),
            NestedFunction => Some("the function above is closed here".into()),
            _ => None,
        }
    }

    /// How to mend it, where that can be said.
    pub fn help(&self) -> Option<String> {
        use ErrorKind::*;
        Some(match self.kind {
            UnknownCharacter | NotUtf8 => "PTX is ASCII text; is this the file you meant?".into(),
            BadNumber => "integers: 42, 0x2a, 052, 0b101010, with U for unsigned; floats: 1.5, 1e-3, \
                          0f and 8 hex digits, 0d and 16 hex digits"
                .into(),
            UnclosedComment => "close it with `*/`".into(),
            UnclosedString => "a string ends on the line it begins".into(),
            UnclosedBlock | NestedFunction => "add the missing `}`".into(),
            EmptyStatement => "remove it; PTX has no empty statement".into(),
            MissingLabel => "write it as `name: .callprototype …;`".into(),
            NestedTooDeeply => format!("at most {} levels are read", crate::MAX_NESTING),
            _ => return None,
        })
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} at {:?}", self.code(), self.message(), self.span)
    }
}

impl std::error::Error for SyntaxError {}
