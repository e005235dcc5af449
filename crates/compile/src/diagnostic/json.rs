//! Diagnostics for programs: one JSON object per line.

use super::{Diagnostic, Label};
use hostwarp_syntax::{LineColumn, LineIndex};
use serde_json::{Value, json};

/// One object per diagnostic, each on its own line. Lines and columns count from 1, columns in characters.
pub fn to_json(diagnostics: &[Diagnostic], source: &str, file: &str) -> String {
    let lines = LineIndex::new(source);
    diagnostics.iter().map(|d| format!("{}\n", object(d, source, file, &lines))).collect()
}

fn object(d: &Diagnostic, source: &str, file: &str, lines: &LineIndex) -> Value {
    let place = |label: &Label| {
        let LineColumn { line, column } = lines.line_column(source, label.span.start);
        let end = lines.line_column(source, label.span.end);
        (line, column, end)
    };
    let related: Vec<Value> = d
        .secondary
        .iter()
        .map(|label| {
            let (line, column, end) = place(label);
            json!({
                "line": line, "column": column, "end_line": end.line, "end_column": end.column, "text": label.text,
            })
        })
        .collect();
    let (line, column, end) = place(&d.primary);
    json!({
        "code": d.code.text(),
        "severity": d.severity.id(),
        "message": d.message,
        "file": file,
        "line": line,
        "column": column,
        "end_line": end.line,
        "end_column": end.column,
        "label": d.primary.text,
        "related": related,
        "notes": d.notes,
        "help": d.help,
    })
}
