//! Where a piece of the tree stands in the text.

use std::fmt;

/// A half-open range of byte offsets into the source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The empty span at `offset`.
    pub fn at(offset: u32) -> Self {
        Self { start: offset, end: offset }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// How many bytes it covers.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it covers no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// As a range, for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end.max(self.start) as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A line and a column, both counted from 1. The column counts characters, not bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The line starts of a text, so that an offset becomes a line and a column in `O(log lines)`.
///
/// ```
/// use hostwarp_syntax::{LineColumn, LineIndex};
/// let text = "ret;\n  exit;\n";
/// let lines = LineIndex::new(text);
/// assert_eq!(lines.line_column(text, 7), LineColumn { line: 2, column: 3 });
/// assert_eq!(&text[lines.line_span(text, 2).unwrap().range()], "  exit;");
/// ```
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Finds the lines of `text`.
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
        Self { starts }
    }

    /// How many lines there are; an empty text has one.
    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The line (from 1) that holds the byte at `offset`.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset).max(1) as u32
    }

    /// Line and column of `offset` in `text`, which must be the text the index was made from.
    pub fn line_column(&self, text: &str, offset: u32) -> LineColumn {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let before = text.as_bytes().get(start..offset as usize).unwrap_or_default();
        // Continuation bytes do not begin a character.
        let column = before.iter().filter(|b| (**b & 0xC0) != 0x80).count() as u32 + 1;
        LineColumn { line, column }
    }

    /// The bytes of line `line` (from 1) without its line end.
    pub fn line_span(&self, text: &str, line: u32) -> Option<Span> {
        let start = *self.starts.get((line as usize).checked_sub(1)?)?;
        let end = self.starts.get(line as usize).map_or(text.len() as u32, |next| next - 1);
        let cut = text.get(start as usize..end as usize).is_some_and(|l| l.ends_with('\r')) as u32;
        Some(Span::new(start, end - cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "// grün\r\nret;";
        let lines = LineIndex::new(text);
        assert_eq!(lines.line_count(), 2);
        assert_eq!(lines.line_column(text, 8), LineColumn { line: 1, column: 8 });
        assert_eq!(lines.line_column(text, 10), LineColumn { line: 2, column: 1 });
        assert_eq!(&text[lines.line_span(text, 1).unwrap().range()], "// grün");
        assert_eq!(lines.line_span(text, 3), None);
        assert_eq!(lines.line_column(text, 9999).line, 2);
    }
}
