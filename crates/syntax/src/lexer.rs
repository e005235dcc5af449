//! Bytes to tokens. Total: every byte belongs to exactly one token or to white space, and no token depends on
//! what stands before it, so text printed token by token lexes back to the same tokens.

use crate::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum TokenKind {
    /// The end of the text.
    Eof,
    /// `add`, `%r1`, `$L1`, `_foo`, `_`.
    Ident,
    /// `.u32`, `.shared::cluster`, `.1d`: a directive, a modifier or a selector.
    Dot,
    /// `42`, `0x2aU`, `052`, `0b1`.
    Int,
    /// `1.0`, `.5`, `1e-3`.
    Float,
    /// `0f3f800000`: the bits of an f32.
    FloatBits32,
    /// `0d3ff0000000000000`: the bits of an f64.
    FloatBits64,
    /// Starts like a number and is none, e.g. `0xg`.
    BadNumber,
    /// `"text"`.
    String,
    /// A string whose closing quote is missing; it ends with its line.
    BadString,
    /// `// to the end of the line`.
    LineComment,
    /// `/* … */`.
    BlockComment,
    /// `/*` that is never closed; it ends with the text.
    BadComment,
    /// A whole line for somebody else: `# 1 "x.cu"` or `@@DWARF .byte 0`.
    Line,
    /// Bytes that begin no token.
    Unknown,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `,`
    Comma,
    /// `;`
    Semi,
    /// `:`
    Colon,
    /// `?`
    Question,
    /// `@`
    At,
    /// `=`
    Assign,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%` on its own
    Percent,
    /// `!`
    Bang,
    /// `~`
    Tilde,
    /// `&`
    And,
    /// `&&`
    AndAnd,
    /// `|`
    Or,
    /// `||`
    OrOr,
    /// `^`
    Caret,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `<<`
    Shl,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `>>`
    Shr,
    /// `==`
    EqualEqual,
    /// `!=`
    NotEqual,
}

impl TokenKind {
    /// How a message calls it.
    pub fn describe(self) -> &'static str {
        use TokenKind::*;
        match self {
            Eof => "the end of the file",
            Ident => "a name",
            Dot => "a directive or modifier",
            Int => "an integer",
            Float | FloatBits32 | FloatBits64 => "a floating-point number",
            BadNumber => "a malformed number",
            String | BadString => "a string",
            LineComment | BlockComment | BadComment => "a comment",
            Line => "a preprocessor or `@@DWARF` line",
            Unknown => "an unknown character",
            LParen => "`(`",
            RParen => "`)`",
            LBracket => "`[`",
            RBracket => "`]`",
            LBrace => "`{`",
            RBrace => "`}`",
            Comma => "`,`",
            Semi => "`;`",
            Colon => "`:`",
            Question => "`?`",
            At => "`@`",
            Assign => "`=`",
            Plus => "`+`",
            Minus => "`-`",
            Star => "`*`",
            Slash => "`/`",
            Percent => "`%`",
            Bang => "`!`",
            Tilde => "`~`",
            And => "`&`",
            AndAnd => "`&&`",
            Or => "`|`",
            OrOr => "`||`",
            Caret => "`^`",
            Less => "`<`",
            LessEqual => "`<=`",
            Shl => "`<<`",
            Greater => "`>`",
            GreaterEqual => "`>=`",
            Shr => "`>>`",
            EqualEqual => "`==`",
            NotEqual => "`!=`",
        }
    }

    /// Whether it is a comment of any kind.
    pub fn is_comment(self) -> bool {
        matches!(self, TokenKind::LineComment | TokenKind::BlockComment | TokenKind::BadComment)
    }
}

/// A token: its kind and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

const SPACE: u8 = 1;
/// May follow the first character of a name.
const FOLLOW: u8 = 2;
const DIGIT: u8 = 4;
const PUNCTUATION: u8 = 8;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        class[i] = match i as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => SPACE,
            b'0'..=b'9' => FOLLOW | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => FOLLOW,
            b'%' | b'.' | b'"' | b'/' | b'#' | b'@' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b','
            | b';' | b':' | b'?' | b'=' | b'+' | b'-' | b'*' | b'!' | b'~' | b'&' | b'|' | b'^' | b'<'
            | b'>' => PUNCTUATION,
            _ => 0,
        };
        i += 1;
    }
    class
};

fn has(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Splits text into tokens, comments included.
///
/// ```
/// use hostwarp_syntax::{Lexer, TokenKind};
/// let text = "vadd4.u32 d.b3210, a, b; // sum";
/// let words: Vec<_> = Lexer::new(text).map(|t| &text[t.span.range()]).collect();
/// assert_eq!(words, ["vadd4", ".u32", "d", ".b3210", ",", "a", ",", "b", ";", "// sum"]);
/// assert_eq!(Lexer::new("@p").next_token().kind, TokenKind::At);
/// ```
#[derive(Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a [u8],
    pos: usize,
}

/// Longer texts are cut here (1 GiB), so that every offset and every index into the tree fits a `u32`.
pub const MAX_TEXT: usize = 1 << 30;

impl<'a> Lexer<'a> {
    /// Begins at the start of `text`; of a text longer than [`MAX_TEXT`] only that much is read.
    pub fn new(text: &'a str) -> Self {
        let mut cut = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let pos = if text.starts_with('\u{FEFF}') { 3 } else { 0 };
        Self { text: &text.as_bytes()[..cut], pos }
    }

    /// Lexes only `span` of `text`; the span must lie on token boundaries for the result to mean anything.
    pub fn within(text: &'a str, span: Span) -> Self {
        let mut whole = Self::new(text);
        whole.pos = whole.pos.max(span.start as usize);
        whole.text = &whole.text[..whole.text.len().min(span.end as usize)];
        whole
    }

    fn byte(&self, at: usize) -> u8 {
        // 0 is in no class, so the end of the text ends every run.
        self.text.get(at).copied().unwrap_or(0)
    }

    fn run(&self, mut at: usize, class: u8) -> usize {
        while at < self.text.len() && has(self.text[at], class) {
            at += 1;
        }
        at
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let end = at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        // The carriage return belongs to the line end.
        if end > at && self.text[end - 1] == b'\r' { end - 1 } else { end }
    }

    /// The next token, and [`TokenKind::Eof`] again and again at the end.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        self.pos = self.run(self.pos, SPACE);
        let start = self.pos.min(self.text.len());
        let (kind, end) = match self.text.get(start) {
            None => (TokenKind::Eof, start),
            Some(&byte) => self.token_at(start, byte),
        };
        self.pos = end;
        Token { kind, span: Span::new(start as u32, end as u32) }
    }

    #[inline]
    fn token_at(&self, start: usize, byte: u8) -> (TokenKind, usize) {
        use TokenKind::*;
        let class = CLASS[byte as usize];
        if class & DIGIT != 0 {
            return self.number(start);
        }
        if class & FOLLOW != 0 {
            return (Ident, self.run(start + 1, FOLLOW));
        }
        let next = self.byte(start + 1);
        let one = |kind| (kind, start + 1);
        let two = |kind| (kind, start + 2);
        match byte {
            b'.' => self.dot(start, next),
            b'%' if has(next, FOLLOW) => (Ident, self.run(start + 1, FOLLOW)),
            b'%' => one(Percent),
            b',' => one(Comma),
            b';' => one(Semi),
            b'[' => one(LBracket),
            b']' => one(RBracket),
            b'{' => one(LBrace),
            b'}' => one(RBrace),
            b'(' => one(LParen),
            b')' => one(RParen),
            b':' => one(Colon),
            b'@' if next == b'@' => (Line, self.line_end(start)),
            b'@' => one(At),
            b'#' => (Line, self.line_end(start)),
            b'+' => one(Plus),
            b'-' => one(Minus),
            b'|' if next == b'|' => two(OrOr),
            b'|' => one(Or),
            b'&' if next == b'&' => two(AndAnd),
            b'&' => one(And),
            b'!' if next == b'=' => two(NotEqual),
            b'!' => one(Bang),
            b'=' if next == b'=' => two(EqualEqual),
            b'=' => one(Assign),
            b'<' if next == b'<' => two(Shl),
            b'<' if next == b'=' => two(LessEqual),
            b'<' => one(Less),
            b'>' if next == b'>' => two(Shr),
            b'>' if next == b'=' => two(GreaterEqual),
            b'>' => one(Greater),
            b'/' if next == b'/' => (LineComment, self.line_end(start)),
            b'/' if next == b'*' => self.block_comment(start),
            b'/' => one(Slash),
            b'*' => one(Star),
            b'~' => one(Tilde),
            b'^' => one(Caret),
            b'?' => one(Question),
            b'"' => self.string(start),
            _ => {
                // One token for the whole run: binary rubbish gives one message, not thousands.
                let known = |b: &u8| CLASS[*b as usize] != 0;
                let rest = &self.text[start..];
                (Unknown, start + rest.iter().position(known).unwrap_or(rest.len()))
            }
        }
    }

    fn dot(&self, start: usize, next: u8) -> (TokenKind, usize) {
        if has(next, DIGIT)
            && let Some(end) = self.fraction(start)
        {
            return (TokenKind::Float, end);
        }
        if !has(next, FOLLOW) {
            return (TokenKind::Unknown, start + 1);
        }
        let mut end = self.run(start + 1, FOLLOW);
        while self.byte(end) == b':' && self.byte(end + 1) == b':' && has(self.byte(end + 2), FOLLOW) {
            end = self.run(end + 2, FOLLOW);
        }
        (TokenKind::Dot, end)
    }

    /// The end of `.5`, `.5e-3` at `dot`; nothing if letters follow as in `.1d` or `.128x256b`.
    fn fraction(&self, dot: usize) -> Option<usize> {
        let digits = self.run(dot + 1, DIGIT);
        let end = self.exponent(digits).unwrap_or(digits);
        (!has(self.byte(end), FOLLOW)).then_some(end)
    }

    /// The end of `e12`, `E-3` at `at`, if there is one.
    fn exponent(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let digits = at + 1 + matches!(self.byte(at + 1), b'+' | b'-') as usize;
        has(self.byte(digits), DIGIT).then(|| self.run(digits, DIGIT))
    }

    fn number(&self, start: usize) -> (TokenKind, usize) {
        use TokenKind::*;
        let digits = self.run(start + 1, DIGIT);
        let after = self.byte(digits);
        if after == b'.' {
            // `1.5`, `1.` and `1.e5` are numbers; in `1.f32` the dot begins a modifier.
            let next = self.byte(digits + 1);
            if has(next, DIGIT) {
                if let Some(end) = self.fraction(digits) {
                    return (Float, end);
                }
            } else if let Some(end) = self.exponent(digits + 1) {
                if !has(self.byte(end), FOLLOW) {
                    return (Float, end);
                }
            } else if !has(next, FOLLOW) {
                return (Float, digits + 1);
            }
        }
        if !has(after, FOLLOW) {
            let octal = self.text[start] == b'0';
            let bad = octal && self.text[start..digits].iter().any(|b| *b > b'7');
            return (if bad { BadNumber } else { Int }, digits);
        }
        if let Some(end) = self.exponent(digits)
            && !has(self.byte(end), FOLLOW)
        {
            return (Float, end);
        }
        let end = self.run(digits, FOLLOW);
        (classify(&self.text[start..end]), end)
    }

    fn string(&self, start: usize) -> (TokenKind, usize) {
        let mut at = start + 1;
        while let Some(&byte) = self.text.get(at) {
            match byte {
                b'"' => return (TokenKind::String, at + 1),
                b'\n' => break,
                b'\\' if !matches!(self.byte(at + 1), b'\n' | b'\r') => at += 2,
                _ => at += 1,
            }
        }
        (TokenKind::BadString, self.line_end(start))
    }

    fn block_comment(&self, start: usize) -> (TokenKind, usize) {
        let body = start + 2;
        match self.text[body..].windows(2).position(|w| w == b"*/") {
            Some(at) => (TokenKind::BlockComment, body + at + 2),
            None => (TokenKind::BadComment, self.text.len()),
        }
    }
}

/// What a run of letters and digits that begins with a digit is.
fn classify(word: &[u8]) -> TokenKind {
    use TokenKind::*;
    let plain = word.strip_suffix(b"U").unwrap_or(word);
    let all = |digits: &[u8], ok: fn(&u8) -> bool| !digits.is_empty() && digits.iter().all(ok);

    match (plain, word) {
        ([b'0', b'x' | b'X', digits @ ..], _) if all(digits, u8::is_ascii_hexdigit) => Int,
        ([b'0', b'b' | b'B', digits @ ..], _) if all(digits, |b| matches!(b, b'0' | b'1')) => Int,
        (_, [b'0', b'f' | b'F', digits @ ..]) if digits.len() == 8 && all(digits, u8::is_ascii_hexdigit) => {
            FloatBits32
        }
        (_, [b'0', b'd' | b'D', digits @ ..]) if digits.len() == 16 && all(digits, u8::is_ascii_hexdigit) => {
            FloatBits64
        }
        ([b'0', digits @ ..], _) if digits.iter().all(|b| (b'0'..=b'7').contains(b)) => Int,
        ([b'1'..=b'9', ..], _) if all(plain, u8::is_ascii_digit) => Int,
        _ => BadNumber,
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let token = self.next_token();
        (token.kind != TokenKind::Eof).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn kinds(text: &str) -> Vec<(TokenKind, &str)> {
        Lexer::new(text).map(|t| (t.kind, &text[t.span.range()])).collect()
    }

    #[test]
    fn dots_and_fractions() {
        assert_eq!(
            kinds(".1d .5 .5e-3 .128x256b .1e .b3210 .shared::cluster .im2col::w::128 .x:"),
            [
                (Dot, ".1d"),
                (Float, ".5"),
                (Float, ".5e-3"),
                (Dot, ".128x256b"),
                (Dot, ".1e"),
                (Dot, ".b3210"),
                (Dot, ".shared::cluster"),
                (Dot, ".im2col::w::128"),
                (Dot, ".x"),
                (Colon, ":"),
            ]
        );
    }

    #[test]
    fn numbers() {
        for int in ["0", "42", "42U", "0x1F", "0XfU", "017", "0b101", "0B1U", "0U"] {
            assert_eq!(kinds(int), [(Int, int)]);
        }
        for float in ["1.0", "1.", "1e5", "1.5E+10", "1.e3"] {
            assert_eq!(kinds(float), [(Float, float)]);
        }
        for bad in ["0x", "09", "0b2", "12ab", "0f123", "1e", "0d00", "1.0f", "08U"] {
            assert_eq!(kinds(bad)[0].0, if bad == "1.0f" { Int } else { BadNumber }, "{bad}");
        }
        assert_eq!(
            kinds("0f3F800000 0D3ff0000000000000"),
            [(FloatBits32, "0f3F800000"), (FloatBits64, "0D3ff0000000000000")]
        );
        assert_eq!(kinds("1.f32"), [(Int, "1"), (Dot, ".f32")]);
    }

    #[test]
    fn names_and_percent() {
        assert_eq!(
            kinds("%r1 %tid.x $L _ 7 % 3"),
            [
                (Ident, "%r1"),
                (Ident, "%tid"),
                (Dot, ".x"),
                (Ident, "$L"),
                (Ident, "_"),
                (Int, "7"),
                (Percent, "%"),
                (Int, "3"),
            ]
        );
    }

    #[test]
    fn comments_strings_lines() {
        assert_eq!(
            kinds("a//x\r\n/*y*/\"s\\\"t\"\n# 1 \"f\"\n@@DWARF .byte 0\n@p"),
            [
                (Ident, "a"),
                (LineComment, "//x"),
                (BlockComment, "/*y*/"),
                (String, "\"s\\\"t\""),
                (Line, "# 1 \"f\""),
                (Line, "@@DWARF .byte 0"),
                (At, "@"),
                (Ident, "p"),
            ]
        );
        assert_eq!(kinds("\"ab\nc"), [(BadString, "\"ab"), (Ident, "c")]);
        assert_eq!(kinds("/* x"), [(BadComment, "/* x")]);
        assert_eq!(kinds("/*/"), [(BadComment, "/*/")]);
        assert_eq!(kinds("\"\\"), [(BadString, "\"\\")]);
    }

    #[test]
    fn rubbish_is_one_token() {
        assert_eq!(kinds("\0\0`é a"), [(Unknown, "\0\0`é"), (Ident, "a")]);
        assert_eq!(kinds(". a"), [(Unknown, "."), (Ident, "a")]);
    }
}
