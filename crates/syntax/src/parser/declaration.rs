//! Variables, functions and prototypes.

use super::Parser;
use crate::arena::{DeclarationData, FunctionData, NONE, NodeKind, Run, SpecData, VariableData};
use crate::{Expected, Span, TokenKind};

impl Parser<'_> {
    /// `.global .u32 x;` or `.visible .entry f() {`: which one shows only after the linkage.
    pub(super) fn declaration_or_function(&mut self) {
        let start = self.token.span;
        let before = self.prev_end;
        let first = self.arena.specs.len() as u32;
        self.specifiers();
        let is_function =
            self.token.kind == TokenKind::Dot && matches!(self.text_of(self.token.span), ".entry" | ".func");
        if is_function {
            self.close_before_function(start, before);
            self.function(start.start, first);
        } else {
            let specs = Run { start: first, end: self.arena.specs.len() as u32 };
            self.declaration(start.start, specs);
        }
    }

    /// The dotted words before a name, up to `.entry` or `.func`.
    fn specifiers(&mut self) {
        while self.token.kind == TokenKind::Dot {
            if matches!(self.text_of(self.token.span), ".entry" | ".func") {
                return;
            }
            let name = self.bump().span;
            let argument = match (self.text_of(name), self.token.kind) {
                (".align", _) => self.expr(Expected::Argument),
                (".attribute", TokenKind::LParen) => self.expr(Expected::Argument),
                (".attribute", _) => {
                    self.expected(Expected::Token(TokenKind::LParen));
                    NONE
                }
                (".const", TokenKind::LBracket) => {
                    self.bump();
                    let bank = self.expr(Expected::Argument);
                    self.expect(TokenKind::RBracket);
                    bank
                }
                _ => NONE,
            };
            self.arena.specs.push(SpecData { name, argument });
        }
    }

    fn declaration(&mut self, start: u32, specs: Run) {
        let first = self.arena.variables.len() as u32;
        loop {
            // `.reg .pred;` declares nothing, and ptxas takes it.
            let nothing = self.token.kind == TokenKind::Semi && self.prev_kind == TokenKind::Dot;
            if nothing {
                break;
            }
            if self.token.kind != TokenKind::Ident {
                self.expected(Expected::Name);
                if self.token.kind != TokenKind::Comma {
                    break;
                }
            } else {
                let variable = self.variable(specs);
                self.arena.variables.push(variable);
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.end_with_semi(Expected::CommaOrSemi);
        let variables = Run { start: first, end: self.arena.variables.len() as u32 };
        let data = self.arena.declarations.len() as u32;
        self.arena.declarations.push(DeclarationData { specs, variables });
        self.push_node(NodeKind::Declaration, start, data);
    }

    /// `name`, `name<8>`, `name[2][]`, `name = init`; the name is under the cursor.
    fn variable(&mut self, specs: Run) -> VariableData {
        let name = self.bump().span;
        let mut count = NONE;
        if self.eat(TokenKind::Less) {
            count = self.count_expr();
            self.expect(TokenKind::Greater);
        }
        let base = self.scratch.len();
        while self.eat(TokenKind::LBracket) {
            let bound =
                if self.token.kind == TokenKind::RBracket { NONE } else { self.expr(Expected::Value) };
            self.scratch.push(bound);
            if !self.expect(TokenKind::RBracket) {
                break;
            }
        }
        let dims = self.take_list(base);
        let init = if self.eat(TokenKind::Assign) { self.expr(Expected::Value) } else { NONE };
        VariableData { specs, name, count, dims, init, end: self.prev_end }
    }

    /// A function from its keyword on.
    fn function(&mut self, start: u32, first_spec: u32) {
        let keyword = self.bump().span;
        // `.func .attribute(…) name`: the attribute may stand behind the keyword.
        self.specifiers();
        let specs = Run { start: first_spec, end: self.arena.specs.len() as u32 };
        let returns = if self.token.kind == TokenKind::LParen { self.params() } else { Run::default() };
        let name = match self.token.kind {
            TokenKind::Ident => self.bump().span,
            _ => {
                self.expected(Expected::Name);
                Span::at(self.prev_end)
            }
        };
        let params = if self.token.kind == TokenKind::LParen { self.params() } else { Run::default() };
        let directives = self.function_directives();
        // ptxas does not insist on the `;` of a declaration.
        let declared =
            self.eat(TokenKind::Semi) || matches!(self.token.kind, TokenKind::Dot | TokenKind::Eof);
        if !declared && self.token.kind != TokenKind::LBrace {
            self.expected(Expected::BodyOrSemi);
            self.skip_header();
        }
        let has_body = !declared && self.token.kind == TokenKind::LBrace;
        let node = self.arena.nodes.len() as u32;
        let data = self.arena.functions.len() as u32;
        let body = if has_body { node + 1 } else { NONE };
        self.arena.functions.push(FunctionData { specs, keyword, name, returns, params, directives, body });
        self.push_node(NodeKind::Function, start, data);
        if has_body {
            self.open_block(Some(node));
        }
    }

    /// Skips what was not understood of a header, but never into the body or the next item. Says whether a `;`
    /// ended it.
    fn skip_header(&mut self) -> bool {
        use TokenKind as T;
        while !matches!(self.token.kind, T::LBrace | T::RBrace | T::Eof) && !self.at_directive() {
            if self.bump().kind == T::Semi {
                return true;
            }
        }
        false
    }

    /// `name: .callprototype (.param .b32 _) _ (.param .b64 _);` from the keyword on.
    pub(super) fn call_prototype(&mut self, label: Span) {
        let keyword = self.bump().span;
        let returns = if self.token.kind == TokenKind::LParen { self.params() } else { Run::default() };
        if !self.eat(TokenKind::Ident) {
            self.expected(Expected::Name);
        }
        let params = if self.token.kind == TokenKind::LParen { self.params() } else { Run::default() };
        let directives = self.function_directives();
        self.end_with_semi(Expected::Token(TokenKind::Semi));
        let data = self.arena.functions.len() as u32;
        let specs = Run::default();
        self.arena.functions.push(FunctionData {
            specs,
            keyword,
            name: label,
            returns,
            params,
            directives,
            body: NONE,
        });
        let start = if label.is_empty() { keyword.start } else { label.start };
        self.push_node(NodeKind::CallPrototype, start, data);
    }

    /// A parameter list with its parentheses.
    fn params(&mut self) -> Run {
        let first = self.arena.variables.len() as u32;
        self.bump();
        while self.token.kind != TokenKind::RParen {
            let specs = self.arena.specs.len() as u32;
            self.specifiers();
            let specs = Run { start: specs, end: self.arena.specs.len() as u32 };
            if specs.range().is_empty() {
                self.expected(Expected::Parameter);
            }
            if self.token.kind == TokenKind::Ident {
                let variable = self.variable(specs);
                self.arena.variables.push(variable);
            } else {
                self.expected(Expected::Name);
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.token.kind != TokenKind::RParen {
                self.expected(Expected::CommaOr(TokenKind::RParen));
                self.skip_param();
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.eat(TokenKind::RParen);
        Run { start: first, end: self.arena.variables.len() as u32 }
    }

    /// Skips to the `,` or `)` that ends a parameter, but never into the body.
    fn skip_param(&mut self) {
        use TokenKind as T;
        while !matches!(self.token.kind, T::Comma | T::RParen | T::LBrace | T::RBrace | T::Semi | T::Eof) {
            self.bump();
        }
    }

    /// `.maxntid 256 .pragma "x"; …` up to the body.
    fn function_directives(&mut self) -> Run {
        let first = self.arena.directives.len() as u32;
        while self.token.kind == TokenKind::Dot {
            let name = self.text_of(self.token.span);
            let pragma = name == ".pragma";
            if !pragma && self.may_begin_statement_here() {
                break;
            }
            let directive = self.directive_data(|p| {
                use TokenKind as T;
                if matches!(
                    p.token.kind,
                    T::Int | T::String | T::BadString | T::BadNumber | T::Ident | T::Minus
                ) {
                    p.comma_list();
                }
                if pragma {
                    p.expect(T::Semi);
                }
            });
            self.arena.directives.push(directive);
        }
        Run { start: first, end: self.arena.directives.len() as u32 }
    }
}
