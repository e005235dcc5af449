//! Diagnostics for people, as rustc shows them.

use super::{Diagnostic, Severity};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use hostwarp_syntax::{LineIndex, Span};

/// How diagnostics look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// With colours, as ANSI escape sequences.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { colour: false, width: 100 }
    }
}

/// The text of all diagnostics, with the lines of `source` they are about.
pub fn render(diagnostics: &[Diagnostic], source: &str, file: &str, style: Style) -> String {
    let lines = LineIndex::new(source);
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(style.width);
    let mut out = String::new();
    for d in diagnostics {
        out.push_str(&renderer.render(&[group(d, source, file, &lines)]));
        out.push_str("\n\n");
    }
    out
}

fn group<'a>(
    d: &'a Diagnostic,
    source: &'a str,
    file: &'a str,
    lines: &LineIndex,
) -> annotate_snippets::Group<'a> {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Unsupported => Level::WARNING.with_name(Severity::Unsupported.id()),
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    // Only the lines from the first to the last marked place are handed over: excerpts of long texts stay cheap.
    let spans = || std::iter::once(&d.primary).chain(&d.secondary).map(|l| clip(l.span, source));
    let first = lines.line(spans().map(|r| r.start as u32).min().unwrap_or(0));
    let last = lines.line(spans().map(|r| r.end as u32).max().unwrap_or(0));
    let start = lines.line_span(source, first).map_or(0, |s| s.range().start);
    let end = lines.line_span(source, last).map_or(source.len(), |s| s.range().end);
    let text = source.get(start..end).unwrap_or("");
    let mut snippet = Snippet::source(text).line_start(first as usize).path(file);
    let mark = |kind: AnnotationKind, span: Span, label: &'a str| {
        let range = clip(span, source);
        let at = |offset: usize| offset.clamp(start, end) - start;
        let annotation = kind.span(at(range.start)..at(range.end));
        if label.is_empty() { annotation } else { annotation.label(label) }
    };
    snippet = snippet.annotation(mark(AnnotationKind::Primary, d.primary.span, &d.primary.text));
    for label in &d.secondary {
        snippet = snippet.annotation(mark(AnnotationKind::Context, label.span, &label.text));
    }
    let mut group = level.primary_title(d.message.as_str()).id(d.code.text()).element(snippet);
    for note in &d.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &d.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// A span on character boundaries within the text.
fn clip(span: Span, source: &str) -> std::ops::Range<usize> {
    let on_boundary = |mut at: usize| {
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let end = on_boundary((span.end as usize).min(source.len()));
    on_boundary((span.start as usize).min(end))..end
}
