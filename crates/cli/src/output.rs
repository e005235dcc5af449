//! The only place that prints.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// Headings.
pub const BOLD: Style = Style::new().bold();
/// What can be skipped.
pub const DIM: Style = Style::new().dimmed();
/// PTX and names from it.
pub const CODE: Style = AnsiColor::Cyan.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Writes to stdout, without colours where they cannot be seen.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes bytes to stdout as they are.
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// `error: …` on stderr. Nothing can be done if that fails.
pub fn complain(text: &str) {
    complain_raw(&format!("{RED}error{RED:#}: {text}"));
}

/// A line that is no error, on stderr: stdout is for results.
pub fn note(text: &str) {
    complain_raw(&format!("{DIM}{text}{DIM:#}"));
}

/// Text on stderr as it is.
pub fn complain_raw(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", text.trim_end());
}

/// Whether stderr shows colours.
pub fn stderr_has_colour() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Breaks a paragraph into lines, each behind `indent`.
pub fn wrap(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let len = word.chars().count();
        if column > 0 && column + 1 + len > 96 {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(indent);
            column = indent.chars().count();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
    }
    out.push('\n');
    out
}
