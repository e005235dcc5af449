//! What stands between two tokens of one statement.

use crate::arena::{Node, NodeKind};
use crate::{Module, Token, TokenKind};

/// Statements are broken after a comma: between operands beyond the first width, within one beyond the second.
const COMFORTABLE: usize = 80;
const WIDTH: usize = 110;

/// What to print before a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gap {
    None,
    Space,
    /// A new line, indented so many levels more than the statement.
    Line(usize),
}

/// A statement being printed, or the header of one that holds others.
pub(super) struct Leaf {
    pub kind: NodeKind,
    /// Where it ends in the text; of a function with a body, where the body begins.
    pub end: u32,
    /// Where the section ends whose header this is.
    pub section_end: u32,
    /// The last token was a comma.
    after_comma: bool,
    previous: Option<Token>,
    /// How many tokens were printed.
    tokens: usize,
    /// Has a body.
    has_body: bool,
    /// The last token was a prefix operator.
    after_prefix: bool,
    /// The last tokens were `(.s64`.
    after_open: bool,
    /// The last tokens were `(.s64)`.
    after_cast: bool,
    /// Brackets of each kind that are open.
    parens: u32,
    brackets: u32,
    braces: u32,
    /// Where opcode and modifiers end.
    mnemonic_end: u32,
    opcode_end: u32,
    /// Behind the `=` of a declaration.
    in_init: bool,
    name_end: u32,
    /// Two or more parameters, to be printed one per line.
    many_params: bool,
    /// Within the parameter list.
    in_params: bool,
    /// Starts of the function's directives.
    directives: std::ops::Range<usize>,
}

fn ends_operand(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(
        kind,
        T::Ident
            | T::Dot
            | T::Int
            | T::Float
            | T::FloatBits32
            | T::FloatBits64
            | T::BadNumber
            | T::String
            | T::BadString
            | T::RParen
            | T::RBracket
            | T::RBrace
    )
}

fn is_operator(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(
        kind,
        T::Plus
            | T::Minus
            | T::Star
            | T::Slash
            | T::Percent
            | T::And
            | T::AndAnd
            | T::Or
            | T::OrOr
            | T::Caret
            | T::Less
            | T::LessEqual
            | T::Shl
            | T::Greater
            | T::GreaterEqual
            | T::Shr
            | T::EqualEqual
            | T::NotEqual
    )
}

fn is_prefix(kind: TokenKind) -> bool {
    use TokenKind as T;
    matches!(kind, T::Plus | T::Minus | T::Bang | T::Tilde)
}

impl Leaf {
    pub fn new(module: &Module, node: &Node) -> Self {
        let mut leaf = Leaf {
            kind: node.kind,
            end: node.span.end,
            section_end: node.span.end,
            after_comma: false,
            previous: None,
            tokens: 0,
            has_body: false,
            after_prefix: false,
            after_open: false,
            after_cast: false,
            parens: 0,
            brackets: 0,
            braces: 0,
            mnemonic_end: 0,
            opcode_end: 0,
            in_init: false,
            name_end: u32::MAX,
            many_params: false,
            in_params: false,
            directives: 0..0,
        };
        match node.kind {
            NodeKind::Instruction => {
                let data = &module.arena.instructions[node.data as usize];
                leaf.opcode_end = data.opcode.end;
                leaf.mnemonic_end =
                    module.arena.modifiers[data.modifiers.range()].last().map_or(data.opcode.end, |m| m.end);
            }
            NodeKind::Function => {
                let data = &module.arena.functions[node.data as usize];
                if let Some(body) = module.arena.nodes.get(data.body as usize) {
                    leaf.end = body.span.start;
                    leaf.has_body = true;
                }
                leaf.name_end = data.name.end;
                leaf.many_params = data.params.range().len() > 1;
                leaf.directives = data.directives.range();
            }
            _ => {}
        }
        leaf
    }

    /// Whether a line of this length is to be broken before the next token.
    pub fn breaks_at(&self, length: usize) -> bool {
        let inside = self.parens + self.brackets + self.braces > 0;
        self.after_comma && length > if inside { WIDTH } else { COMFORTABLE }
    }

    /// Whether none of its tokens was printed yet.
    pub fn is_untouched(&self) -> bool {
        self.previous.is_none()
    }

    /// What to print before `token`, which comes next.
    pub fn before(&mut self, module: &Module, token: Token) -> Gap {
        let gap = match self.previous {
            None => Gap::None,
            Some(previous) => self.gap(module, previous, token),
        };
        // An operator behind the name of a directive or behind a cast is a prefix.
        let no_operand = self.kind == NodeKind::Directive && self.tokens == 1 || self.after_cast;
        let binary = self.previous.is_some_and(|p| ends_operand(p.kind)) && !no_operand;
        let in_cast = self.previous.is_some_and(|p| p.kind == TokenKind::Dot) && self.after_open;
        self.after_cast = in_cast && token.kind == TokenKind::RParen;
        self.after_open = match self.previous {
            Some(p) if p.kind == TokenKind::LParen => token.kind == TokenKind::Dot,
            _ => false,
        };
        self.tokens += 1;
        self.after_prefix = !binary && is_prefix(token.kind);
        self.after_comma = token.kind == TokenKind::Comma;
        match token.kind {
            TokenKind::LParen => self.parens += 1,
            TokenKind::RParen => {
                self.parens = self.parens.saturating_sub(1);
                self.in_params = self.in_params && self.parens > 0;
            }
            TokenKind::LBracket => self.brackets += 1,
            TokenKind::RBracket => self.brackets = self.brackets.saturating_sub(1),
            TokenKind::LBrace => self.braces += 1,
            TokenKind::RBrace => self.braces = self.braces.saturating_sub(1),
            TokenKind::Assign => self.in_init = true,
            _ => {}
        }
        self.previous = Some(token);
        gap
    }

    fn gap(&mut self, module: &Module, previous: Token, token: Token) -> Gap {
        use TokenKind as T;
        if self.kind == NodeKind::Function
            && let Some(gap) = self.function_gap(module, previous, token)
        {
            return gap;
        }
        if self.kind == NodeKind::Error || previous.kind == T::Unknown || token.kind == T::Unknown {
            return Gap::Space;
        }
        if self.sticks(module, previous, token) { Gap::None } else { Gap::Space }
    }

    fn function_gap(&mut self, module: &Module, previous: Token, token: Token) -> Option<Gap> {
        use TokenKind as T;
        if token.kind == T::LParen && self.parens == 0 && token.span.start >= self.name_end {
            self.in_params = true;
        }
        if self.in_params && self.many_params {
            let outermost = self.parens == 1;
            if outermost && (previous.kind == T::Comma || previous.kind == T::LParen) {
                return Some(Gap::Line(1));
            }
            if outermost && token.kind == T::RParen {
                return Some(Gap::Line(0));
            }
        }
        if token.kind == T::Dot && self.parens == 0 {
            let directives = &module.arena.directives[self.directives.clone()];
            if directives.first().is_some_and(|d| d.span.start == token.span.start) {
                self.directives.start += 1;
                return Some(if self.has_body { Gap::Line(0) } else { Gap::Space });
            }
        }
        None
    }

    /// Whether nothing stands between the two. Must never say so where they would lex as something else.
    fn sticks(&self, module: &Module, previous: Token, token: Token) -> bool {
        use TokenKind as T;
        let (a, b) = (previous.kind, token.kind);
        if token.span.start < self.mnemonic_end && previous.span.end >= self.opcode_end {
            // `ld.const[2].b32`
            return matches!((a, b), (T::Ident | T::Dot | T::RBracket, T::Dot) | (T::Dot, T::LBracket))
                || matches!((a, b), (T::LBracket, T::Int) | (T::Int, T::RBracket));
        }
        match b {
            T::Comma | T::Semi | T::RParen | T::RBracket => return true,
            T::RBrace => return true,
            T::Colon => {
                return self.kind != NodeKind::Instruction
                    && a == T::Ident
                    && !self.in_init
                    && self.parens == 0;
            }
            _ => {}
        }
        let unsafe_number = a == T::BadNumber
            || a == T::Dot && module.text(previous.span).as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        match a {
            T::LParen | T::LBracket | T::LBrace => return true,
            T::At => return matches!(b, T::Ident | T::Bang),
            _ if self.after_prefix => {
                return ends_operand(b) || is_prefix(b) || matches!(b, T::LParen | T::LBracket | T::LBrace);
            }
            _ => {}
        }
        match b {
            T::Dot => {
                let selector = self.kind == NodeKind::Instruction && previous.span.start >= self.mnemonic_end;
                return selector && matches!(a, T::Ident | T::RBracket | T::Dot);
            }
            T::LParen => {
                let opcode = self.kind == NodeKind::Instruction && previous.span.end <= self.mnemonic_end;
                return match a {
                    T::Ident => !opcode && self.kind != NodeKind::CallPrototype,
                    T::Int => true,
                    T::Dot => self.parens > 0 || module.text(previous.span) == ".attribute",
                    _ => false,
                };
            }
            T::LBracket => {
                let bank = a == T::Dot && self.kind != NodeKind::Instruction;
                let operand = self.kind != NodeKind::Instruction || previous.span.start >= self.mnemonic_end;
                return bank || a == T::RBracket || a == T::Ident && operand;
            }
            _ => {}
        }
        self.tight_operator(a, b, unsafe_number)
    }

    /// `[a+4]`, `%r<8>`, `d|p` stand close; other operators have room.
    fn tight_operator(&self, a: TokenKind, b: TokenKind, unsafe_number: bool) -> bool {
        use TokenKind as T;
        let (operator, other) = if is_operator(b) { (b, a) } else { (a, b) };
        if !is_operator(operator) || operator == T::Percent || unsafe_number {
            return false;
        }
        let mergeable =
            is_operator(other) && !is_prefix(other) || matches!(other, T::Assign | T::Bang | T::At);
        if mergeable {
            return false;
        }
        let angle =
            matches!(operator, T::Less | T::Greater) && !self.in_init && self.kind != NodeKind::Instruction;
        let pair = operator == T::Or && self.kind == NodeKind::Instruction && self.brackets == 0;
        self.brackets > 0 || angle || pair
    }
}
