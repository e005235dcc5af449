//! Tree to text.
//!
//! The printer walks the tokens and lets the tree decide only where lines break and what sticks together. So no
//! token can be lost, text with errors prints too, and printing is stable: the parser does not look at white space,
//! hence printed text has the same tree, hence the same layout.
//!
//! Layout: one statement per line, four spaces per block, labels one level out, braces of blocks on their own line,
//! two or more parameters one per line, at most one blank line in a row. Comments stay behind or above what they
//! stood at; comments within a statement stay within it.

mod leaf;

use crate::arena::{Node, NodeKind};
use crate::{Lexer, Module, Span, Token, TokenKind};
use leaf::{Gap, Leaf};

/// Spaces per block.
const INDENT: usize = 4;
/// Deeper blocks are not indented further: a page has an edge, and hostile nesting must not multiply the text.
const MAX_INDENT: usize = 10;

/// The canonical text of a module.
///
/// ```
/// use hostwarp_syntax::{parse, print};
/// let text = ".entry k(){ // go\n@p   add .s32 %r1 ,%r2,[ a +4];ret ;}";
/// assert_eq!(print(&parse(text).module), "\
/// .entry k()
/// { // go
///     @p add.s32 %r1, %r2, [a+4];
///     ret;
/// }
/// ");
/// ```
pub fn print(module: &Module) -> String {
    let mut printer = Printer::new(module);
    let mut after = 0;
    for token in Lexer::new(module.source()) {
        let gap = module.text(Span::new(after, token.span.start));
        printer.token(token, gap.bytes().filter(|b| *b == b'\n').take(2).count());
        after = token.span.end;
    }
    printer.end_line();
    printer.out
}

/// The tokens of a statement on one line, comments left out.
pub(crate) fn print_span(module: &Module, span: Span) -> String {
    let nodes = &module.arena.nodes;
    let index = nodes.partition_point(|node| node.span.start < span.start);
    let Some(node) = nodes.get(index) else { return String::new() };
    let mut leaf = Leaf::new(module, node);
    let mut out = String::new();
    for token in Lexer::within(module.source(), span) {
        if token.kind.is_comment() || token.kind == TokenKind::Line {
            continue;
        }
        if leaf.before(module, token) != Gap::None && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(module.text(token.span));
    }
    out
}

struct Printer<'m> {
    module: &'m Module,
    out: String,
    /// Where the current line begins in `out`.
    line_start: usize,
    /// Where the open blocks end in the text.
    blocks: Vec<u32>,
    next_node: usize,
    leaf: Option<Leaf>,
    /// What was printed last runs to the end of its line.
    line_full: bool,
    /// A block was just opened.
    opened: bool,
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module) -> Self {
        Self {
            module,
            out: String::with_capacity(module.source().len() + module.source().len() / 8),
            line_start: 0,
            blocks: Vec::new(),
            next_node: 0,
            leaf: None,
            line_full: false,
            opened: false,
        }
    }

    fn line_is_empty(&self) -> bool {
        self.out.len() == self.line_start
    }

    fn end_line(&mut self) {
        if !self.line_is_empty() {
            self.out.push('\n');
            self.line_start = self.out.len();
        }
        self.line_full = false;
    }

    /// Begins a line at `level`, after a blank one if the text had one.
    fn begin_line(&mut self, level: usize, newlines: usize, blank_allowed: bool) {
        self.end_line();
        if newlines > 1 && blank_allowed && !self.out.is_empty() {
            self.out.push('\n');
            self.line_start = self.out.len();
        }
        for _ in 0..level.min(MAX_INDENT) * INDENT {
            self.out.push(' ');
        }
    }

    fn token(&mut self, token: Token, newlines: usize) {
        if let Some(leaf) = &self.leaf {
            if token.span.start < leaf.end {
                if !(leaf.kind == NodeKind::Section && token.kind == TokenKind::LBrace) {
                    return self.within(token);
                }
                let end = leaf.section_end;
                self.leaf = None;
                return self.open_block(token, end);
            }
            self.leaf = None;
        }
        let closes = token.kind == TokenKind::RBrace && self.blocks.last() == Some(&token.span.end);
        if !closes {
            // Blocks whose brace is missing end with what stood last in them.
            while self.blocks.last().is_some_and(|end| *end <= token.span.start) {
                self.blocks.pop();
            }
        }
        self.between(token, newlines, closes);
        self.opened = !token.kind.is_comment() && self.opened && token.kind == TokenKind::LBrace;
    }

    /// A token that is not inside a statement, or begins one.
    fn between(&mut self, token: Token, newlines: usize, closes: bool) {
        let level = self.blocks.len();
        if token.kind == TokenKind::Line {
            return self.foreign_line(token, newlines);
        }
        if token.kind.is_comment() {
            if newlines == 0 && !self.line_is_empty() && !self.line_full {
                self.out.push(' ');
            } else {
                self.begin_line(level, newlines, !self.opened);
            }
            return self.text(token);
        }
        if closes {
            self.blocks.pop();
            self.begin_line(level - 1, 0, false);
            return self.text(token);
        }
        match self.node_at(token) {
            Some(node) if node.kind == NodeKind::Block => self.open_block(token, node.span.end),
            Some(node) => {
                let level = if node.kind == NodeKind::Label { level.saturating_sub(1) } else { level };
                self.begin_line(level, newlines, !self.opened);
                self.leaf = Some(Leaf::new(self.module, &node));
                self.within(token);
            }
            None => {
                let empty_statement =
                    token.kind == TokenKind::Semi && !self.line_is_empty() && !self.line_full;
                if !empty_statement {
                    self.begin_line(level, newlines, !self.opened);
                }
                self.text(token);
            }
        }
    }

    fn node_at(&mut self, token: Token) -> Option<Node> {
        let nodes = &self.module.arena.nodes;
        while nodes.get(self.next_node)?.span.start < token.span.start {
            self.next_node += 1;
        }
        nodes.get(self.next_node).filter(|node| node.span.start == token.span.start).copied()
    }

    fn open_block(&mut self, token: Token, end: u32) {
        self.begin_line(self.blocks.len(), 0, false);
        self.text(token);
        self.blocks.push(end);
        self.opened = true;
    }

    /// A token inside a statement.
    fn within(&mut self, token: Token) {
        if token.kind == TokenKind::Line {
            return self.foreign_line(token, 0);
        }
        let level = self.blocks.len();
        let Some(leaf) = &mut self.leaf else { return };
        let first = leaf.is_untouched();
        let too_long = leaf.breaks_at(self.out.len() - self.line_start);
        let gap = if token.kind.is_comment() { Gap::Space } else { leaf.before(self.module, token) };
        match gap {
            _ if first => {}
            Gap::Line(extra) => self.begin_line(level + extra, 0, false),
            _ if self.line_full || (too_long && gap == Gap::Space) => self.begin_line(level + 1, 0, false),
            Gap::Space => self.out.push(' '),
            Gap::None => {}
        }
        self.text(token);
    }

    /// Preprocessor and `@@DWARF` lines begin in the first column.
    fn foreign_line(&mut self, token: Token, newlines: usize) {
        self.begin_line(0, newlines, !self.opened && self.leaf.is_none());
        self.text(token);
    }

    fn text(&mut self, token: Token) {
        let text = self.module.text(token.span);
        let to_line_end = matches!(
            token.kind,
            TokenKind::LineComment | TokenKind::BadComment | TokenKind::BadString | TokenKind::Line
        );
        let text = if to_line_end { text.trim_ascii_end() } else { text };
        self.out.push_str(text);
        self.line_full = to_line_end;
        if token.kind == TokenKind::BlockComment
            && let Some(at) = text.rfind('\n')
        {
            self.line_start = self.out.len() - (text.len() - at - 1);
        }
    }
}
