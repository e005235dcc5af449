//! The only place that prints.

use anstyle::{AnsiColor, Style};
use hostwarp_system::stdout;
use std::io::{self, Write};

/// Headings.
pub const BOLD: Style = Style::new().bold();
/// What can be skipped.
pub const DIM: Style = Style::new().dimmed();
/// PTX and names from it.
pub const CODE: Style = AnsiColor::Cyan.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();

/// Writes to stdout, without colours where they cannot be seen.
#[track_caller]
pub fn print(text: &str) -> io::Result<()> {
    stdout::check()?;
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes bytes to stdout as they are.
#[track_caller]
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    stdout::write(bytes)
}

/// What the command line is answered with: help on stdout, errors on stderr.
pub fn print_usage(usage: &clap::Error) -> io::Result<()> {
    if !usage.use_stderr() {
        stdout::check()?;
        usage.print()?;
        return io::stdout().flush();
    }
    // The exit code has to do where that fails.
    let _ = usage.print();
    Ok(())
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

/// How wide a column is that holds texts of these widths: names may be of any length, and those beyond this push aside what is behind them.
pub fn column(widths: impl Iterator<Item = usize>) -> usize {
    const WIDEST: usize = 100;
    widths.max().unwrap_or(0).min(WIDEST)
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
