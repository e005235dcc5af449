//! PTX text to tree and back: lexer, total parser, printer.
//!
//! Knows the shape of PTX (ISA 1.0 to 9.x) and no opcode: `frobnicate.u99 x;` parses, and whoever knows the
//! instruction set says no. Any bytes give a tree and a list of errors; nothing here panics, hangs or recurses
//! without bound.
//!
//! # Walking the tree
//!
//! [`parse`] gives a [`Module`], which owns the text and flat tables; everything else is a small `Copy` handle into
//! it. [`Module::items`] are the [`Statement`]s of the outermost level, [`Function::body`] and [`Block::statements`]
//! those within. Names are `&str` slices of the text, every part has a [`Span`], and [`LineIndex`] makes lines and
//! columns of it.
//!
//! ```
//! use hostwarp_syntax::{ExprKind, Statement, parse};
//!
//! let parsed = parse(
//!     ".version 8.5
//!      .target sm_90
//!      .address_size 64
//!      .visible .entry twice(.param .u64 .ptr .global .align 4 data) .maxntid 256 {
//!          .reg .b32 %r<3>;
//!          .reg .b64 %rd1;
//!          ld.param.u64 %rd1, [data];
//!          ld.global.u32 %r1, [%rd1+4]; // the second word
//!          @%p1 vadd4.u32.u32.u32 %r2, %r1.b3210, %r1.b3210, 0;
//!          ret;
//!      }",
//! );
//! assert!(parsed.errors.is_empty());
//! let module = &parsed.module;
//! assert_eq!(module.version(), Some((8, 5)));
//!
//! let kernel = module.functions().next().unwrap();
//! assert!(kernel.is_entry());
//! assert_eq!(kernel.name().unwrap().text, "twice");
//! let param = kernel.params().get(0).unwrap();
//! assert_eq!(param.specifiers().type_name().unwrap().text, "u64");
//! assert_eq!(kernel.directives().next().unwrap().arguments().get(0).unwrap().int(), Some(256));
//!
//! let mut seen = Vec::new();
//! for statement in kernel.body().unwrap().statements() {
//!     match statement {
//!         Statement::Declaration(declaration) => {
//!             for variable in declaration.variables().iter() {
//!                 seen.push(format!(".reg {}", variable.name().unwrap().text));
//!             }
//!         }
//!         Statement::Instruction(instruction) => {
//!             let modifiers: Vec<_> = instruction.modifiers().map(|m| m.text).collect();
//!             seen.push(format!("{} {}", instruction.opcode(), modifiers.join(" ")));
//!             for operand in instruction.operands() {
//!                 match operand.kind() {
//!                     ExprKind::Name(name) => seen.push(name.to_string()),
//!                     ExprKind::Member(base, selector) => seen.push(format!("{} {selector}", base.text())),
//!                     ExprKind::Address(parts) => seen.push(format!("[{}]", parts.get(0).unwrap().text())),
//!                     other => seen.push(format!("{other:?}")),
//!                 }
//!             }
//!         }
//!         _ => {}
//!     }
//! }
//! assert_eq!(&seen[..6], [".reg %r", ".reg %rd1", "ld param u64", "%rd1", "[data]", "ld global u32"]);
//! assert!(seen.contains(&"%r1 b3210".to_string()));
//! ```
//!
//! # Operands
//!
//! Operands, initialisers and directive arguments are all [`Expr`]s; [`ExprKind`] lists what they can be. An address
//! `[%rd1+4]` is `Address([Binary(Add, Name, Int)])`, `[%rd1+-4]` has a `Unary(Neg, …)` inside, `d|p` is a `Pair`,
//! call arguments are a `Paren`. [`Expr::evaluate`] computes constant expressions by the manual's rules.
//!
//! # Printing
//!
//! [`print()`] gives the canonical text, comments kept; [`Instruction::print`] that of one instruction. Printing drops
//! or adds no token, even in text with errors, and printing what was printed changes nothing.
#![forbid(unsafe_code)]

mod arena;
mod error;
mod eval;
mod expr;
mod lexer;
mod parser;
mod print;
mod span;
mod tree;

pub use error::{ErrorKind, Expected, SyntaxError};
pub use eval::{Const, EvalError, EvalErrorKind};
pub use expr::{BinaryOp, Expr, ExprKind, ExprList, ExprListIter, FloatLiteral, IntLiteral, UnaryOp};
pub use lexer::{Lexer, MAX_TEXT, Token, TokenKind};
pub use print::print;
pub use span::{LineColumn, LineIndex, Span};
pub use tree::{
    Block, Declaration, Directive, DirectiveKind, Function, Guard, Instruction, Label, Linkage, Loc,
    Modifier, Module, Name, Pointer, Section, SourcePlace, Space, Specifier, Specifiers, Statement,
    Statements, Targets, Variable, Variables,
};

/// How deep blocks, and how deep expressions, may be nested. What is deeper is reported and left out of the tree.
pub const MAX_NESTING: usize = 128;

/// What [`parse`] gives.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The tree; complete if there are no errors, else of all that could be read.
    pub module: Module,
    /// What is wrong, in text order.
    pub errors: Vec<SyntaxError>,
}

/// Parses any bytes.
pub fn parse(text: impl AsRef<[u8]>) -> Parsed {
    parser::parse(text.as_ref())
}
