//! Operands, constant expressions, initialisers.

use super::Parser;
use crate::arena::Id;
use crate::expr::Tag;
use crate::{ErrorKind, Expected, MAX_NESTING, Span, Token, TokenKind};

/// A finished sub-expression and how deep it is, so that no chain grows deeper than readers may recurse.
#[derive(Clone, Copy)]
pub(super) struct Sub {
    pub id: Id,
    depth: usize,
}

/// Precedence of shifts: the count in `%r<8>` stops before `>`.
const SHIFT: u8 = 8;

fn infix(kind: TokenKind) -> Option<(u8, Tag)> {
    use TokenKind as T;
    Some(match kind {
        T::OrOr => (1, Tag::Or),
        T::AndAnd => (2, Tag::And),
        T::Or => (3, Tag::BitOr),
        T::Caret => (4, Tag::BitXor),
        T::And => (5, Tag::BitAnd),
        T::EqualEqual => (6, Tag::Equal),
        T::NotEqual => (6, Tag::NotEqual),
        T::Less => (7, Tag::Less),
        T::LessEqual => (7, Tag::LessEqual),
        T::Greater => (7, Tag::Greater),
        T::GreaterEqual => (7, Tag::GreaterEqual),
        T::Shl => (SHIFT, Tag::Shl),
        T::Shr => (SHIFT, Tag::Shr),
        T::Plus => (9, Tag::Add),
        T::Minus => (9, Tag::Sub),
        T::Star => (10, Tag::Mul),
        T::Slash => (10, Tag::Div),
        T::Percent => (10, Tag::Rem),
        _ => return None,
    })
}

/// Whether an operand can begin with it.
pub(super) fn begins_operand(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(
        kind,
        T::Ident
            | T::Int
            | T::Float
            | T::FloatBits32
            | T::FloatBits64
            | T::BadNumber
            | T::String
            | T::BadString
            | T::LParen
            | T::LBracket
            | T::LBrace
            | T::Plus
            | T::Minus
            | T::Bang
            | T::Tilde
    )
}

impl Parser<'_> {
    /// Any expression. Consumes nothing if none begins here.
    #[inline]
    pub(super) fn expr(&mut self, what: Expected) -> Id {
        self.sub_expr(what).id
    }

    /// The count in `%r<8>`.
    pub(super) fn count_expr(&mut self) -> Id {
        self.binary(SHIFT, Expected::Value).id
    }

    #[inline]
    fn sub_expr(&mut self, what: Expected) -> Sub {
        // Most operands are one word; nothing that ends one can continue an expression.
        let one_word = match self.peek.kind {
            TokenKind::Comma
            | TokenKind::Semi
            | TokenKind::RBrace
            | TokenKind::RBracket
            | TokenKind::RParen => true,
            TokenKind::Dot => !self.selectors,
            _ => false,
        };
        if one_word
            && matches!(
                self.token.kind,
                TokenKind::Ident | TokenKind::Int | TokenKind::Float | TokenKind::FloatBits32
            )
        {
            return self.primary(what);
        }
        self.full_expr(what)
    }

    fn full_expr(&mut self, what: Expected) -> Sub {
        let condition = self.binary(0, what);
        if self.token.kind != TokenKind::Question {
            return condition;
        }
        if self.depth >= MAX_NESTING {
            return self.too_deep();
        }
        self.depth += 1;
        self.bump();
        let yes = self.sub_expr(Expected::Value);
        let no = if self.eat(TokenKind::Colon) {
            self.sub_expr(Expected::Value)
        } else {
            self.expected(Expected::Token(TokenKind::Colon));
            self.error_expr(Span::at(self.prev_end))
        };
        self.depth -= 1;
        let span = self.from(condition);
        self.node(Tag::Ternary, span, &[condition.id, yes.id, no.id], &[condition, yes, no])
    }

    fn binary(&mut self, min: u8, what: Expected) -> Sub {
        let mut left = self.unary(what);
        while let Some((precedence, tag)) = infix(self.token.kind) {
            if precedence < min {
                break;
            }
            self.bump();
            let right = self.binary(precedence + 1, Expected::Value);
            let tag = match tag {
                Tag::BitOr if self.is_destination(left.id) => Tag::Pair,
                _ => tag,
            };
            let span = self.from(left);
            left = self.node(tag, span, &[left.id, right.id], &[left, right]);
        }
        left
    }

    /// Whether `|` after it separates two destinations; constants cannot be destinations, names cannot be or-ed.
    fn is_destination(&self, id: Id) -> bool {
        matches!(
            self.arena.expr_tag(id),
            Tag::Name | Tag::Sink | Tag::Vector | Tag::Member | Tag::Index | Tag::Address | Tag::Pair
        )
    }

    #[inline]
    fn unary(&mut self, what: Expected) -> Sub {
        let tag = match self.token.kind {
            TokenKind::Minus => Tag::Neg,
            TokenKind::Bang => Tag::Not,
            TokenKind::Plus => Tag::Plus,
            TokenKind::Tilde => Tag::Complement,
            _ => return self.postfix(what),
        };
        if self.depth >= MAX_NESTING {
            return self.too_deep();
        }
        self.depth += 1;
        let start = self.bump().span.start;
        let operand = self.unary(Expected::Value);
        self.depth -= 1;
        self.node(tag, Span::new(start, self.prev_end), &[operand.id], &[operand])
    }

    #[inline]
    fn postfix(&mut self, what: Expected) -> Sub {
        let mut base = self.primary(what);
        loop {
            let tag = self.arena.expr_tag(base.id);
            match self.token.kind {
                TokenKind::Dot
                    if self.selectors
                        && !self.begins_statement_here()
                        && matches!(tag, Tag::Name | Tag::Sink | Tag::Index | Tag::Address | Tag::Member) =>
                {
                    let start = self.bump().span.start;
                    let span = self.from(base);
                    base = self.node(Tag::Member, span, &[base.id, start], &[base]);
                }
                TokenKind::LBracket if matches!(tag, Tag::Name | Tag::Member | Tag::Index) => {
                    let Some(index) = self.nested(|p| {
                        p.bump();
                        let index = p.sub_expr(Expected::Value);
                        p.expect(TokenKind::RBracket);
                        index
                    }) else {
                        return self.too_deep();
                    };
                    let span = self.from(base);
                    base = self.node(Tag::Index, span, &[base.id, index.id], &[base, index]);
                }
                TokenKind::LParen if matches!(tag, Tag::Name | Tag::Int | Tag::DotName) => {
                    let Some((list, depth)) = self.nested(|p| p.list(TokenKind::RParen)) else {
                        return self.too_deep();
                    };
                    let span = self.from(base);
                    base = self.node(Tag::Call, span, &[base.id, list], &[Sub { id: base.id, depth }]);
                }
                _ => return base,
            }
        }
    }

    #[inline]
    fn primary(&mut self, what: Expected) -> Sub {
        use TokenKind as T;
        let tag = match self.token.kind {
            T::Ident if self.text_of(self.token.span) == "_" => Tag::Sink,
            T::Ident => Tag::Name,
            T::Int => {
                self.check_int(self.token);
                Tag::Int
            }
            T::Float => Tag::Float,
            T::FloatBits32 => Tag::FloatBits32,
            T::FloatBits64 => Tag::FloatBits64,
            T::BadNumber => Tag::Error,
            T::String | T::BadString => Tag::Str,
            T::Dot => Tag::DotName,
            T::LParen => return self.paren(),
            T::LBrace => return self.bracketed(Tag::Vector, T::RBrace),
            T::LBracket => return self.bracketed(Tag::Address, T::RBracket),
            _ => {
                self.expected(what);
                return self.error_expr(Span::at(self.prev_end));
            }
        };
        let span = self.bump().span;
        Sub { id: self.arena.push_leaf(tag, span), depth: 1 }
    }

    fn paren(&mut self) -> Sub {
        if self.peek.kind != TokenKind::Dot || !self.cast_ahead() {
            return self.bracketed(Tag::Paren, TokenKind::RParen);
        }
        if self.depth >= MAX_NESTING {
            return self.too_deep();
        }
        self.depth += 1;
        let start = self.bump().span.start;
        let to = self.bump().span;
        self.bump();
        let operand = self.unary(Expected::Value);
        self.depth -= 1;
        self.node(Tag::Cast, Span::new(start, self.prev_end), &[operand.id, to.start, to.end], &[operand])
    }

    /// Whether `(.s64` at the cursor is closed at once and something follows that can be cast.
    fn cast_ahead(&self) -> bool {
        let mut ahead = self.lexer;
        let mut next = || loop {
            let token = ahead.next_token();
            if !super::is_trivia(token.kind) {
                return token.kind;
            }
        };
        next() == TokenKind::RParen && begins_operand(next())
    }

    fn bracketed(&mut self, tag: Tag, close: TokenKind) -> Sub {
        let start = self.token.span.start;
        let Some((list, depth)) = self.nested(|p| p.list(close)) else {
            return self.too_deep();
        };
        self.node(tag, Span::new(start, self.prev_end), &[list], &[Sub { id: 0, depth }])
    }

    /// The elements between brackets, the opening one at the cursor, and the depth of the deepest.
    fn list(&mut self, close: TokenKind) -> (Id, usize) {
        let base = self.scratch.len();
        let mut depth = 0;
        self.bump();
        if self.token.kind != close {
            loop {
                let before = self.token.span.start;
                let element = self.element();
                self.scratch.push(element.id);
                depth = depth.max(element.depth);
                if self.eat(TokenKind::Comma) {
                    continue;
                }
                if self.token.kind == close {
                    break;
                }
                self.expected(Expected::CommaOr(close));
                if begins_operand(self.token.kind) && self.token.span.start > before {
                    continue;
                }
                self.skip_operand();
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.eat(close);
        (self.take_list(base), depth)
    }

    fn element(&mut self) -> Sub {
        if self.token.kind == TokenKind::Ident && self.peek.kind == TokenKind::Assign {
            let field = self.primary(Expected::Name);
            self.bump();
            let value = self.sub_expr(Expected::Value);
            let span = self.from(field);
            return self.node(Tag::Assign, span, &[field.id, value.id], &[field, value]);
        }
        self.sub_expr(Expected::Value)
    }

    /// `L1` or `L<5>` in a list of targets.
    pub(super) fn target(&mut self) -> Id {
        let name = self.primary(Expected::Name);
        if self.token.kind != TokenKind::Less {
            return name.id;
        }
        self.bump();
        let count = self.binary(SHIFT, Expected::Value);
        self.expect(TokenKind::Greater);
        let span = self.from(name);
        self.node(Tag::Range, span, &[name.id, count.id], &[name, count]).id
    }

    fn from(&self, first: Sub) -> Span {
        Span::new(self.arena.expr_span(first.id).start, self.prev_end)
    }

    fn node(&mut self, tag: Tag, span: Span, payload: &[u32], children: &[Sub]) -> Sub {
        let depth = 1 + children.iter().map(|c| c.depth).max().unwrap_or(0);
        if depth > MAX_NESTING {
            self.error(ErrorKind::NestedTooDeeply, span);
            return self.error_expr(span);
        }
        Sub { id: self.arena.push_expr(tag, span, payload), depth }
    }

    fn error_expr(&mut self, span: Span) -> Sub {
        Sub { id: self.arena.push_expr(Tag::Error, span, &[]), depth: 1 }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_NESTING {
            return None;
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        Some(value)
    }

    fn too_deep(&mut self) -> Sub {
        let start = self.token.span.start;
        self.error(ErrorKind::NestedTooDeeply, self.token.span);
        self.skip_operand();
        self.error_expr(Span::new(start, self.prev_end.max(start)))
    }

    /// Skips to the `,`, `;` or closing bracket that ends the operand at the cursor.
    pub(super) fn skip_operand(&mut self) {
        use TokenKind as T;
        let mut open = 0u32;
        loop {
            match self.token.kind {
                T::Eof | T::Semi => return,
                T::Comma | T::RParen | T::RBracket | T::RBrace if open == 0 => return,
                T::LParen | T::LBracket | T::LBrace => open += 1,
                T::RParen | T::RBracket | T::RBrace => open -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    fn check_int(&mut self, token: Token) {
        // Sixteen characters fit in any base; most literals never get here.
        if token.span.len() > 16 && crate::expr::is_too_large(self.text_of(token.span)) {
            self.error(ErrorKind::IntegerTooLarge, token.span);
        }
    }
}
