//! Files that are read, and what is said about them.

use crate::failure::Failure;
use hostwarp::compile::{Diagnostic, Style, render as render_diagnostics};
use hostwarp::syntax::{self, Module};
use hostwarp_system::{file, seam};
use std::io::Read;
use std::path::Path;

/// A text and the name it goes by.
pub struct Source {
    /// The file's name, `<stdin>` for `-`.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Reads a file; `-` is stdin.
pub fn read(path: &Path) -> Result<Source, Failure> {
    if path == Path::new("-") {
        let mut bytes = vec![];
        seam::ask(seam::Kind::File)
            .and_then(|()| std::io::stdin().read_to_end(&mut bytes))
            .map_err(|e| Failure::input(format!("cannot read stdin: {e}")))?;
        return Ok(Source { name: "<stdin>".into(), bytes });
    }
    let bytes = file::read(path).map_err(|e| {
        let hint = if path.is_dir() { "; name a .ptx file in it" } else { "" };
        Failure::input(format!("cannot read `{}`: {e}{hint}", path.display()))
    })?;
    if let Some(what) = no_ptx(path, &bytes) {
        return Err(Failure::input(format!("`{}` is {what}", path.display())));
    }
    Ok(Source { name: path.display().to_string(), bytes })
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
