//! Tokens to tree. Total: reports what is wrong, skips to the next `;`, `}` or directive, and goes on.
//!
//! Nothing here looks at white space, so the printer may change it freely.

mod declaration;
mod expr;
mod statement;

use crate::arena::{Arena, Id, NONE, Node, NodeKind};
use crate::{ErrorKind, Expected, Lexer, MAX_TEXT, Module, Parsed, Span, SyntaxError, Token, TokenKind};

/// More errors than anybody reads; what follows is most likely not PTX at all.
const MAX_ERRORS: usize = 1000;

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let too_long = bytes.len() > MAX_TEXT;
    let source = text_of(&bytes[..bytes.len().min(MAX_TEXT)]);
    let mut parser = Parser::new(&source);
    if too_long {
        parser.error(ErrorKind::TextTooLong, Span::at(MAX_TEXT as u32));
    }
    parser.module();
    let Parser { mut arena, mut errors, .. } = parser;
    arena.shrink();
    // The lexer runs ahead of the parser, so its errors may come early.
    errors.sort_by_key(|e| e.span.start);
    Parsed { module: Module { source, arena }, errors }
}

/// Bytes that are not UTF-8 become one SUB each, so that offsets stay those of the input.
fn text_of(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| SUBSTITUTE));
    }
    text
}

const SUBSTITUTE: char = '\u{1A}';

fn is_trivia(kind: TokenKind) -> bool {
    kind.is_comment() || matches!(kind, TokenKind::Line | TokenKind::Unknown)
}

/// A block that is not closed yet.
struct Open {
    /// Its node: a `Block` or a `Section`.
    node: u32,
    /// The function whose body it is.
    function: Option<u32>,
    section: Option<u32>,
    brace: Span,
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The token at the cursor and the one after it.
    token: Token,
    peek: Token,
    /// Where the token before the cursor ends, and what it was.
    prev_end: u32,
    prev_kind: TokenKind,
    arena: Arena,
    errors: Vec<SyntaxError>,
    /// Elements of lists that are not finished yet.
    scratch: Vec<Id>,
    open: Vec<Open>,
    /// Braces opened beyond the nesting limit.
    ignored_braces: u32,
    /// How deep the expression parser has recursed.
    depth: usize,
    /// Whether `.x` after a name is a selector, as it is in an instruction and nowhere else.
    selectors: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let nowhere = Token { kind: TokenKind::Eof, span: Span::at(0) };
        let mut parser = Parser {
            text,
            lexer: Lexer::new(text),
            token: nowhere,
            peek: nowhere,
            prev_end: 0,
            prev_kind: TokenKind::Eof,
            arena: Arena::new(text.len()),
            errors: Vec::new(),
            scratch: Vec::new(),
            open: Vec::new(),
            ignored_braces: 0,
            depth: 0,
            selectors: false,
        };
        parser.token = parser.next_significant();
        parser.peek = parser.next_significant();
        parser
    }

    #[inline]
    fn next_significant(&mut self) -> Token {
        loop {
            let token = self.lexer.next_token();
            hostwarp_system::poll();
            match token.kind {
                TokenKind::LineComment | TokenKind::BlockComment => self.arena.push_comment(token.span),
                TokenKind::BadComment
                | TokenKind::Line
                | TokenKind::Unknown
                | TokenKind::BadNumber
                | TokenKind::BadString => {
                    if self.unusual(token) {
                        return token;
                    }
                }
                _ => return token,
            }
        }
    }

    /// Reports or files away a token that is not plain PTX; says whether the parser is to see it.
    #[cold]
    fn unusual(&mut self, token: Token) -> bool {
        let kind = match token.kind {
            TokenKind::Line => {
                self.arena.lines.push(token.span);
                return false;
            }
            TokenKind::BadComment => {
                self.arena.push_comment(token.span);
                ErrorKind::UnclosedComment
            }
            TokenKind::BadNumber => ErrorKind::BadNumber,
            TokenKind::BadString => ErrorKind::UnclosedString,
            _ if self.text_of(token.span).contains(SUBSTITUTE) => ErrorKind::NotUtf8,
            _ => ErrorKind::UnknownCharacter,
        };
        self.error(kind, token.span);
        !is_trivia(token.kind)
    }

    fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    #[inline]
    fn bump(&mut self) -> Token {
        let token = self.token;
        if token.kind != TokenKind::Eof {
            self.prev_end = token.span.end;
            self.prev_kind = token.kind;
            self.token = self.peek;
            self.peek = self.next_significant();
        }
        token
    }

    #[inline]
    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(Expected::Token(kind));
        }
        found
    }

    #[cold]
    fn error(&mut self, kind: ErrorKind, span: Span) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(SyntaxError { kind, span });
        } else if self.errors.len() == MAX_ERRORS {
            self.errors.push(SyntaxError { kind: ErrorKind::TooManyErrors, span: Span::at(span.start) });
        }
    }

    /// Something else should stand at the cursor.
    #[cold]
    fn expected(&mut self, expected: Expected) {
        let found = self.token.kind;
        // What is missing belongs right behind what stands there, not on the next line.
        let missing = matches!(
            expected,
            Expected::CommaOrSemi
                | Expected::Token(TokenKind::Semi)
                | Expected::CommaOr(_)
                | Expected::BodyOrSemi
        );
        let span = if missing { Span::at(self.prev_end) } else { self.token.span };
        // One message per place: what follows from the first is noise.
        let told = |e: &SyntaxError| {
            let places = [span.start, self.prev_end, self.token.span.start];
            matches!(e.kind, ErrorKind::Expected { .. }) && places.contains(&e.span.start)
        };
        if !self.errors.last().is_some_and(told) {
            self.error(ErrorKind::Expected { expected, found }, span);
        }
    }

    fn push_node(&mut self, kind: NodeKind, start: u32, data: u32) {
        let end = self.prev_end.max(start);
        self.arena.push_node(Node { span: Span::new(start, end), data, kind });
    }

    /// Text from `start` to the cursor that could not be read. What follows such text at once, `before` being the end
    /// of what stands before it, becomes part of it: rubbish is one node, not one for every few bytes.
    #[cold]
    fn push_error(&mut self, before: u32, start: u32) {
        match self.arena.nodes.last_mut() {
            Some(last) if last.kind == NodeKind::Error && last.span.end == before => {
                last.span.end = self.prev_end;
            }
            _ => self.push_node(NodeKind::Error, start, NONE),
        }
    }
}
