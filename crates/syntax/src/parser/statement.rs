//! Statements: the loop over all of them, blocks, labels, instructions, directives that are statements.

use super::expr::begins_operand;
use super::{Open, Parser};
use crate::arena::{DirectiveData, Id, InstructionData, NONE, NodeKind, Run, SectionData, TargetsData};
use crate::expr::Tag;
use crate::{ErrorKind, Expected, MAX_NESTING, Span, TokenKind};

/// Directives that begin a statement and can be nothing else.
fn begins_statement(name: &str) -> bool {
    matches!(
        name,
        ".version"
            | ".target"
            | ".address_size"
            | ".file"
            | ".loc"
            | ".section"
            | ".pragma"
            | ".entry"
            | ".func"
            | ".extern"
            | ".visible"
            | ".reg"
            | ".sreg"
            | ".callprototype"
            | ".calltargets"
            | ".branchtargets"
    )
}

/// Directives that begin a statement, but are modifiers too (`ld.weak.global`, `fence.proxy.alias`).
fn may_begin_statement(name: &str) -> bool {
    matches!(
        name,
        ".const" | ".global" | ".local" | ".param" | ".shared" | ".tex" | ".weak" | ".common" | ".alias"
    )
}

impl Parser<'_> {
    /// The whole text.
    pub(super) fn module(&mut self) {
        loop {
            match self.token.kind {
                TokenKind::Eof => break,
                TokenKind::RBrace => self.close_brace(),
                TokenKind::LBrace => self.open_scope(),
                TokenKind::Semi => {
                    let span = self.bump().span;
                    self.error(ErrorKind::EmptyStatement, span);
                }
                TokenKind::Ident if self.peek.kind == TokenKind::Colon => self.label(),
                TokenKind::Ident | TokenKind::At => self.instruction(),
                TokenKind::Dot => self.dot_statement(),
                found => {
                    let (before, span) = (self.prev_end, self.token.span);
                    self.error(ErrorKind::UnexpectedToken(found), span);
                    self.skip_statement(before, span.start);
                }
            }
        }
        while let Some(brace) = self.open.last().map(|open| open.brace) {
            self.error(ErrorKind::UnclosedBlock, brace);
            self.close(self.prev_end);
        }
    }

    fn in_section(&self) -> bool {
        self.open.last().is_some_and(|open| open.section.is_some())
    }

    pub(super) fn in_function(&self) -> bool {
        self.open.first().is_some_and(|open| open.function.is_some())
    }

    /// Opens a block at the `{` under the cursor.
    pub(super) fn open_block(&mut self, function: Option<u32>) {
        let brace = self.bump().span;
        let node = self.arena.nodes.len() as u32;
        self.push_node(NodeKind::Block, brace.start, NONE);
        self.open.push(Open { node, function, section: None, brace });
    }

    fn open_scope(&mut self) {
        if self.open.is_empty() {
            self.error(ErrorKind::UnexpectedToken(TokenKind::LBrace), self.token.span);
        }
        if self.open.len() >= MAX_NESTING {
            if self.ignored_braces == 0 {
                self.error(ErrorKind::NestedTooDeeply, self.token.span);
            }
            self.ignored_braces += 1;
            self.bump();
        } else {
            self.open_block(None);
        }
    }

    fn close_brace(&mut self) {
        let before = self.prev_end;
        let brace = self.bump().span;
        if self.ignored_braces > 0 {
            self.ignored_braces -= 1;
        } else if self.open.is_empty() {
            self.error(ErrorKind::UnmatchedBrace, brace);
            self.push_error(before, brace.start);
        } else {
            self.close(self.prev_end);
        }
    }

    /// Closes the innermost block at `end`.
    fn close(&mut self, end: u32) {
        let Some(open) = self.open.pop() else { return };
        let next = self.arena.nodes.len() as u32;
        let node = &mut self.arena.nodes[open.node as usize];
        node.span.end = end;
        match open.section {
            Some(section) => self.arena.sections[section as usize].next = next,
            None => node.data = next,
        }
        if let Some(function) = open.function {
            self.arena.nodes[function as usize].span.end = end;
        }
    }

    /// Closes everything, at `end`, before a function that begins inside another.
    pub(super) fn close_before_function(&mut self, at: Span, end: u32) {
        if self.open.is_empty() {
            return;
        }
        self.error(ErrorKind::NestedFunction, at);
        self.ignored_braces = 0;
        while !self.open.is_empty() {
            self.close(end);
        }
    }

    fn label(&mut self) {
        let name = self.bump().span;
        self.bump();
        if self.open.is_empty() {
            self.error(ErrorKind::InstructionOutsideFunction, name);
        }
        if self.token.kind == TokenKind::Dot && !self.in_section() {
            match self.text_of(self.token.span) {
                ".callprototype" => return self.call_prototype(name),
                ".calltargets" => return self.targets(name, NodeKind::CallTargets),
                ".branchtargets" => return self.targets(name, NodeKind::BranchTargets),
                _ => {}
            }
        }
        self.push_node(NodeKind::Label, name.start, name.end);
    }

    fn targets(&mut self, label: Span, kind: NodeKind) {
        let keyword = self.bump().span;
        let base = self.scratch.len();
        loop {
            let target = self.target();
            self.scratch.push(target);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let list = self.take_list(base);
        self.end_with_semi(Expected::CommaOrSemi);
        let data = self.arena.targets.len() as u32;
        self.arena.targets.push(TargetsData { label, list });
        let start = if label.is_empty() { keyword.start } else { label.start };
        self.push_node(kind, start, data);
    }

    pub(super) fn take_list(&mut self, base: usize) -> Id {
        let list = self.arena.push_list(&self.scratch[base..], self.prev_end);
        self.scratch.truncate(base);
        list
    }

    fn instruction(&mut self) {
        let (before, start) = (self.prev_end, self.token.span.start);
        let guard = if self.token.kind == TokenKind::At { self.guard() } else { NONE };
        if self.token.kind != TokenKind::Ident {
            self.expected(Expected::Opcode);
            return self.skip_statement(before, start);
        }
        let opcode = self.bump().span;
        let first = self.arena.modifiers.len() as u32;
        while self.token.kind == TokenKind::Dot {
            if self.begins_statement_here() {
                break;
            }
            let mut modifier = self.bump().span;
            if self.token.kind == TokenKind::LBracket && self.bank_ahead(modifier) {
                self.bump();
                self.bump();
                self.bump();
                modifier.end = self.prev_end;
            }
            self.arena.push_modifier(modifier);
        }
        let modifiers = Run { start: first, end: self.arena.modifiers.len() as u32 };
        let operands = self.operands();
        if !self.in_function() {
            self.error(ErrorKind::InstructionOutsideFunction, opcode);
        }
        let data = self.arena.push_instruction(InstructionData { guard, opcode, modifiers, operands });
        self.push_node(NodeKind::Instruction, start, data);
    }

    fn guard(&mut self) -> Id {
        self.bump();
        let negation = (self.token.kind == TokenKind::Bang).then(|| self.bump().span);
        if self.token.kind != TokenKind::Ident {
            self.expected(Expected::Predicate);
            return NONE;
        }
        let name = self.bump().span;
        let id = self.arena.push_expr(Tag::Name, name, &[]);
        match negation {
            Some(bang) => self.arena.push_expr(Tag::Not, bang.to(name), &[id]),
            None => id,
        }
    }

    /// `ld.const[2].b32`: whether the bracket under the cursor is a bank and not an operand.
    fn bank_ahead(&self, modifier: Span) -> bool {
        if self.text_of(modifier) != ".const" || self.peek.kind != TokenKind::Int {
            return false;
        }
        let mut ahead = self.lexer;
        let mut next = || loop {
            let token = ahead.next_token();
            if !super::is_trivia(token.kind) {
                return token.kind;
            }
        };
        next() == TokenKind::RBracket && next() == TokenKind::Dot
    }

    /// The operands and the closing `;`.
    fn operands(&mut self) -> Id {
        if self.eat(TokenKind::Semi) {
            return 0;
        }
        self.selectors = true;
        let base = self.scratch.len();
        loop {
            if begins_operand(self.token.kind) {
                let operand = self.expr(Expected::Operand);
                self.scratch.push(operand);
            } else {
                let expected = if self.scratch.len() == base {
                    Expected::Token(TokenKind::Semi)
                } else {
                    Expected::Operand
                };
                self.expected(expected);
            }
            match self.token.kind {
                TokenKind::Comma => {
                    self.bump();
                }
                TokenKind::Semi => {
                    self.bump();
                    break;
                }
                TokenKind::Ident if self.peek.kind == TokenKind::Comma => {
                    self.expected(Expected::CommaOrSemi)
                }
                TokenKind::Ident | TokenKind::At | TokenKind::RBrace | TokenKind::Eof => {
                    self.expected(Expected::CommaOrSemi);
                    break;
                }
                kind if begins_operand(kind) => self.expected(Expected::CommaOrSemi),
                _ => {
                    self.expected(Expected::CommaOrSemi);
                    self.skip_to_end();
                    break;
                }
            }
        }
        self.selectors = false;
        self.take_list(base)
    }

    pub(super) fn begins_statement_here(&self) -> bool {
        begins_statement(self.text_of(self.token.span))
    }

    pub(super) fn may_begin_statement_here(&self) -> bool {
        let name = self.text_of(self.token.span);
        begins_statement(name) || may_begin_statement(name)
    }

    /// Whether a directive under the cursor begins a statement, as far as can be told without reading on.
    pub(super) fn at_directive(&self) -> bool {
        if self.token.kind != TokenKind::Dot {
            return false;
        }
        let name = self.text_of(self.token.span);
        begins_statement(name)
            || may_begin_statement(name)
                && !matches!(self.prev_kind, TokenKind::Ident | TokenKind::Dot | TokenKind::RBracket)
    }

    /// The `;` that ends a statement; skips to it if something else is in the way.
    pub(super) fn end_with_semi(&mut self, expected: Expected) {
        if self.eat(TokenKind::Semi) {
            return;
        }
        self.expected(expected);
        let next_statement = match self.token.kind {
            TokenKind::Ident => self.peek.kind != TokenKind::Comma,
            TokenKind::At => true,
            _ => false,
        };
        if !next_statement {
            self.skip_to_end();
        }
    }

    /// Skips to the end of the statement: past `;`, or up to what can only belong to another.
    pub(super) fn skip_to_end(&mut self) {
        use TokenKind as T;
        let mut open = 0u32;
        loop {
            match self.token.kind {
                T::Eof => return,
                T::Semi => {
                    self.bump();
                    return;
                }
                T::RBrace if open == 0 => return,
                T::RBrace => open -= 1,
                T::LBrace => {
                    // After these a brace opens a vector; after anything else it is a block.
                    let vector = matches!(
                        self.prev_kind,
                        T::Comma | T::Dot | T::Or | T::LBracket | T::LParen | T::LBrace | T::Assign
                    );
                    if !vector {
                        return;
                    }
                    open += 1;
                }
                T::Dot if self.at_directive() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Makes an error node of what stands at the cursor, at least one token.
    fn skip_statement(&mut self, before: u32, start: u32) {
        if self.token.span.start == start
            && !matches!(self.token.kind, TokenKind::LBrace | TokenKind::RBrace)
            && self.bump().kind == TokenKind::Semi
        {
            return self.push_error(before, start);
        }
        self.skip_to_end();
        self.push_error(before, start);
    }

    fn dot_statement(&mut self) {
        let span = self.token.span;
        let name = self.text_of(span);
        if self.in_section() {
            let data = matches!(name, ".b8" | ".b16" | ".b32" | ".b64");
            if data || !begins_statement(name) && !may_begin_statement(name) {
                return self.plain_directive(true);
            }
            let brace = self.open.last().map_or(span, |open| open.brace);
            self.error(ErrorKind::UnclosedBlock, brace);
            self.close(self.prev_end);
        }
        match name {
            ".version" | ".address_size" => self.directive_with(|p| {
                let argument = p.expr(Expected::Argument);
                p.scratch.push(argument);
            }),
            ".target" => self.directive_with(Self::comma_list),
            ".file" => self.directive_with(Self::file_arguments),
            ".loc" => self.directive_with(Self::loc_arguments),
            ".pragma" | ".alias" => self.directive_with(|p| {
                p.comma_list();
                p.end_with_semi(Expected::CommaOrSemi);
            }),
            ".section" => self.section(),
            ".callprototype" | ".calltargets" | ".branchtargets" => {
                self.error(ErrorKind::MissingLabel, span);
                let nameless = Span::at(span.start);
                match name {
                    ".callprototype" => self.call_prototype(nameless),
                    ".calltargets" => self.targets(nameless, NodeKind::CallTargets),
                    _ => self.targets(nameless, NodeKind::BranchTargets),
                }
            }
            ".entry" | ".func" | ".extern" | ".visible" | ".weak" | ".common" | ".reg" | ".sreg"
            | ".const" | ".global" | ".local" | ".param" | ".shared" | ".tex" | ".attribute" | ".align" => {
                self.declaration_or_function()
            }
            _ => {
                self.error(ErrorKind::UnknownDirective, span);
                self.plain_directive(false);
            }
        }
    }

    fn directive_with(&mut self, arguments: impl FnOnce(&mut Self)) {
        let data = self.directive_data(arguments);
        self.push_node(NodeKind::Directive, data.span.start, data.arguments);
    }

    /// A directive with its arguments read by `arguments`.
    pub(super) fn directive_data(&mut self, arguments: impl FnOnce(&mut Self)) -> DirectiveData {
        let start = self.bump().span.start;
        let base = self.scratch.len();
        arguments(self);
        let arguments = self.take_list(base);
        DirectiveData { span: Span::new(start, self.prev_end), arguments }
    }

    /// A data line of a section, or a directive nobody knows.
    fn plain_directive(&mut self, data_line: bool) {
        self.directive_with(|p| {
            if data_line {
                p.comma_list();
            } else {
                if begins_operand(p.token.kind) && p.token.kind != TokenKind::LBrace {
                    p.comma_list();
                }
                p.eat(TokenKind::Semi);
            }
        });
    }

    /// One or more expressions with commas between, into the scratch list.
    pub(super) fn comma_list(&mut self) {
        loop {
            let argument = self.expr(Expected::Argument);
            self.scratch.push(argument);
            if !self.eat(TokenKind::Comma) {
                return;
            }
        }
    }

    fn push_while_int(&mut self, most: usize) {
        for _ in 0..most {
            if self.token.kind != TokenKind::Int {
                return;
            }
            let argument = self.expr(Expected::Argument);
            self.scratch.push(argument);
        }
    }

    fn file_arguments(&mut self) {
        let index = self.expr(Expected::Argument);
        self.scratch.push(index);
        if !matches!(self.token.kind, TokenKind::String | TokenKind::BadString) {
            return self.expected(Expected::Token(TokenKind::String));
        }
        self.comma_list();
    }

    fn loc_arguments(&mut self) {
        if self.token.kind != TokenKind::Int {
            return self.expected(Expected::Token(TokenKind::Int));
        }
        self.push_while_int(3);
        while self.eat(TokenKind::Comma) {
            if self.token.kind != TokenKind::Ident {
                return self.expected(Expected::Name);
            }
            let place = self.text_of(self.token.span) == "inlined_at";
            let word = self.bump().span;
            let word = self.arena.push_expr(Tag::Name, word, &[]);
            self.scratch.push(word);
            if place {
                self.push_while_int(3);
            } else {
                let argument = self.expr(Expected::Argument);
                self.scratch.push(argument);
            }
        }
    }

    fn section(&mut self) {
        let start = self.bump().span.start;
        let name = match self.token.kind {
            TokenKind::Dot | TokenKind::Ident => self.bump().span,
            _ => {
                self.expected(Expected::Name);
                Span::at(self.prev_end)
            }
        };
        let section = self.arena.sections.len() as u32;
        let node = self.arena.nodes.len() as u32;
        self.arena.sections.push(SectionData { name, next: node + 1 });
        self.push_node(NodeKind::Section, start, section);
        if self.token.kind == TokenKind::LBrace && self.open.len() < MAX_NESTING {
            let brace = self.bump().span;
            self.open.push(Open { node, function: None, section: Some(section), brace });
        } else {
            self.expected(Expected::Token(TokenKind::LBrace));
        }
    }
}
