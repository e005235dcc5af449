//! Files that are read, and what is said about them.

use crate::failure::Failure;
use crate::limits;
use hostwarp::Exceeded;
use hostwarp::compile::{Diagnostic, Style, render as render_diagnostics};
use hostwarp::syntax::{self, Module};
use hostwarp_system::{file, seam};
use std::io::{self, Read};
use std::path::Path;

/// A text and the name it goes by.
pub struct Source {
    /// The file's name, `<stdin>` for `-`.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Bytes that a byte of PTX takes until all has been said about it, at most.
const MEMORY_FACTOR: u64 = 25;
/// More is too long to be PTX, which is for others to say.
const TEXT: usize = syntax::MAX_TEXT + 1;

/// Reads a file; `-` is stdin.
pub fn read(path: &Path) -> Result<Source, Failure> {
    if path == Path::new("-") {
        let read = seam::ask(seam::Kind::File).map(|()| read_all(io::stdin().lock(), MEMORY_FACTOR, TEXT));
        let bytes = read.and_then(|read| read).map_err(|e| failure("stdin", "", e))?;
        return Ok(Source { name: "<stdin>".into(), bytes });
    }
    let bytes = read_file(path, MEMORY_FACTOR, TEXT).map_err(|e| {
        let hint = if path.is_dir() { "; name a .ptx file in it" } else { "" };
        failure(&format!("`{}`", path.display()), hint, e)
    })?;
    if let Some(what) = no_ptx(path, &bytes) {
        return Err(Failure::input(format!("`{}` is {what}", path.display())));
    }
    Ok(Source { name: path.display().to_string(), bytes })
}

/// A file up to so many bytes, as long as the limits allow so many times its size.
pub fn read_file(path: &Path, factor: u64, most: usize) -> io::Result<Vec<u8>> {
    let file = file::open(path)?;
    seam::ask(seam::Kind::File)?;
    read_all(file, factor, most)
}

/// What cannot be read, or is too much.
pub fn failure(what: &str, hint: &str, e: io::Error) -> Failure {
    match e.downcast::<Exceeded>() {
        Ok(exceeded) => limits::exceeded(exceeded, Some(&format!("while {what} was read"))),
        Err(e) => Failure::input(format!("cannot read {what}: {e}{hint}")),
    }
}

/// Reads to the end, or until it is enough.
fn read_all(mut from: impl Read, factor: u64, most: usize) -> io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let (limits, mut bytes) = (limits::limits(), vec![]);
    loop {
        limits.check().map_err(io::Error::other)?;
        // What is to become of it must fit, too.
        limits.hold((bytes.len() + PIECE) as u64 * factor).map_err(io::Error::other)?;
        bytes.try_reserve(PIECE).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if from.by_ref().take(PIECE as u64).read_to_end(&mut bytes)? == 0 || bytes.len() >= most {
            return Ok(bytes);
        }
    }
}

/// Files that are often given in place of PTX, and how to get from there to PTX.
fn no_ptx(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    const ELF: &[u8] = b"\x7fELF";
    const FATBIN: &[u8] = &[0x50, 0xed, 0x55, 0xba];
    if bytes.starts_with(ELF) || bytes.starts_with(FATBIN) {
        return Some("a binary, not PTX; `cuobjdump --dump-ptx` shows the PTX in it, if it has any");
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("cu" | "cuh") => Some("CUDA C++, not PTX; compile it with `nvcc --ptx` first"),
        _ => None,
    }
}

impl Source {
    /// The tree and what is wrong with the text.
    pub fn parse(&self) -> (Module, Vec<Diagnostic>) {
        let parsed = syntax::parse(&self.bytes);
        let diagnostics = parsed.errors.iter().map(Diagnostic::from).collect();
        (parsed.module, diagnostics)
    }
}

/// Diagnostics for people, on stderr.
pub fn render(diagnostics: &[Diagnostic], text: &str, name: &str) -> String {
    let style = Style { colour: crate::output::stderr_has_colour(), ..Style::default() };
    render_diagnostics(diagnostics, text, name, style)
}
