//! Diagnostics for people, as rustc shows them.

use super::{Diagnostic, Label, Severity};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use hostwarp_syntax::{LineIndex, Span};
use std::ops::Range;

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

fn group<'a>(d: &'a Diagnostic, source: &'a str, file: &'a str, lines: &LineIndex) -> Group<'a> {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Unsupported => Level::WARNING.with_name(Severity::Unsupported.id()),
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(d.message.as_str()).id(d.code.text());
    let (near, far) = shown(d, source, lines);
    let title = Group::with_title(title);
    let mut group = excerpt(&near, source, file, lines).into_iter().fold(title, Group::element);
    for mark in far {
        group = excerpt(&[mark], source, file, lines).into_iter().fold(group, Group::element);
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &d.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// A place that is longer is shown by its first line.
const TALL: u32 = 100;
/// A label that is further from the place it belongs to has an excerpt of its own.
const FAR: u32 = 1000;
/// Of a text that is longer only the surroundings of the place are shown.
const WIDE: usize = 16 << 10;

/// What is marked: where, how and with which words.
struct Mark<'a> {
    at: Range<usize>,
    kind: AnnotationKind,
    label: &'a str,
}

/// The marks that are shown in one excerpt, and those that have one each: however long a text is, little of it is handed over.
fn shown<'a>(d: &'a Diagnostic, source: &str, lines: &LineIndex) -> (Vec<Mark<'a>>, Vec<Mark<'a>>) {
    let mark = |kind: AnnotationKind, label: &'a Label| {
        let mut at = clip(label.span, source);
        let first = lines.line(at.start as u32);
        if lines.line(at.end as u32) - first > TALL {
            at.end = lines.line_span(source, first).map_or(at.start, |s| s.range().end).max(at.start);
        }
        (first, Mark { at, kind, label: &label.text })
    };
    let (line, primary) = mark(AnnotationKind::Primary, &d.primary);
    let (mut near, mut far) = (vec![primary], vec![]);
    for label in &d.secondary {
        let (other, secondary) = mark(AnnotationKind::Context, label);
        if other.abs_diff(line) > FAR { far.push(secondary) } else { near.push(secondary) }
    }
    (near, far)
}

/// The lines from the first mark to the last, or what is around the first where that is too much.
fn excerpt<'a>(marks: &[Mark<'a>], source: &'a str, file: &'a str, lines: &LineIndex) -> Vec<Element<'a>> {
    let from = marks.iter().map(|m| m.at.start).min().unwrap_or(0);
    let to = marks.iter().map(|m| m.at.end).max().unwrap_or(0);
    let first = lines.line(from as u32);
    let mut start = lines.line_span(source, first).map_or(0, |s| s.range().start);
    let last = lines.line_span(source, lines.line(to as u32));
    let mut end = last.map_or(source.len(), |s| s.range().end).max(start);
    let mut path = Some(file);
    let mut elements = vec![];
    let mut line = first;
    if end - start > WIDE
        && let Some(mark) = marks.first()
    {
        // The column is not that in the excerpt.
        let place = lines.line_column(source, mark.at.start as u32);
        let origin = Origin::path(file).line(place.line as usize).char_column(place.column as usize);
        elements.push(origin.into());
        let whole = lines.line_span(source, place.line).map_or(start..end, |s| s.range());
        start = boundary(source, mark.at.start.saturating_sub(WIDE / 16).max(whole.start));
        end = boundary(source, (mark.at.start + WIDE / 8).min(whole.end.max(start)));
        (line, path) = (place.line, None);
    }
    let at = |offset: usize| offset.clamp(start, end) - start;
    let annotation = |m: &Mark<'a>| {
        let annotation = m.kind.span(at(m.at.start)..at(m.at.end));
        if m.label.is_empty() { annotation } else { annotation.label(m.label) }
    };
    let text = source.get(start..end).unwrap_or("");
    let marks = if path.is_some() { marks } else { &marks[..1] };
    let snippet = Snippet::source(text).line_start(line as usize).path(path);
    elements.push(snippet.annotations(marks.iter().map(annotation)).into());
    elements
}

/// The last character boundary up to there.
fn boundary(source: &str, mut at: usize) -> usize {
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A span on character boundaries within the text.
fn clip(span: Span, source: &str) -> Range<usize> {
    let end = boundary(source, (span.end as usize).min(source.len()));
    boundary(source, (span.start as usize).min(end))..end
}
