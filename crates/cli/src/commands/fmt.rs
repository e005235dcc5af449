//! `hostwarp fmt`: the canonical layout.

use crate::failure::{Exit, Failure};
use crate::{input, output};
use hostwarp::syntax;
use hostwarp_system::file;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What the tree holds in place of a byte that is not UTF-8.
const SUBSTITUTE: u8 = 0x1A;

/// Lay out PTX in the canonical way, comments kept.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp fmt kernel.ptx              rewrites the file
  hostwarp fmt --check *.ptx           only says which files would change; exits 1 if any
  nvcc --ptx -o - k.cu | hostwarp fmt -

A file with syntax errors is left as it is.")]
pub struct Fmt {
    /// Only say what would change.
    #[arg(long)]
    check: bool,
    /// Files; `-` reads stdin and writes stdout.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Fmt {
    pub fn run(self) -> Result<(), Failure> {
        let mut worst = None;
        for path in &self.files {
            match self.one(path) {
                Ok(()) => {}
                // The other files are worth a look all the same.
                Err(Failure::Said { exit, text, rendered }) => {
                    if rendered {
                        output::complain_raw(&text)
                    } else {
                        output::complain(&text)
                    }
                    worst = Some(exit);
                }
                Err(Failure::Quiet(exit)) => worst = Some(exit),
                Err(stdout @ Failure::Stdout(_)) => return Err(stdout),
            }
        }
        worst.map_or(Ok(()), |exit| Err(Failure::Quiet(exit)))
    }

    fn one(&self, path: &Path) -> Result<(), Failure> {
        let source = input::read(path)?;
        let (module, errors) = source.parse();
        if !errors.is_empty() {
            return Err(Failure::Said {
                exit: Exit::Input,
                text: input::render(&errors, module.source(), &source.name),
                rendered: true,
            });
        }
        let text = syntax::print(&module);
        let bytes = with_other_bytes(&text, module.source(), &source.bytes).ok_or_else(|| {
            Failure::input(format!("`{}` has bytes that are not UTF-8 and would be lost", path.display()))
        })?;
        let same = bytes == source.bytes;
        if self.check {
            if same {
                return Ok(());
            }
            output::print(&format!(
                "{} is not formatted:\n{}",
                source.name,
                first_change(module.source(), &text)
            ))?;
            return Err(Failure::Quiet(Exit::Input));
        }
        if path == Path::new("-") {
            return Ok(output::print_bytes(&bytes)?);
        }
        // What is read from a pipe is gone when it is to be written, and nobody would get it.
        if !file::is_replaceable(path) {
            let text = format!(
                "`{}` is no file that can be rewritten; `-` reads stdin and writes stdout",
                path.display()
            );
            return Err(Failure::input(text));
        }
        if !same {
            file::replace(path, &bytes)
                .map_err(|e| Failure::input(format!("cannot write `{}`: {e}", path.display())))?;
        }
        Ok(())
    }
}

/// What is written for a text: bytes of the source that are not UTF-8, which comments may hold, stand in it as one [`SUBSTITUTE`] each and come
/// in the same order. None if there are not as many.
fn with_other_bytes<'t>(text: &'t str, read: &str, source: &[u8]) -> Option<Cow<'t, [u8]>> {
    if read.as_bytes() == source {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    let substitutes = read.bytes().zip(source).filter(|(b, _)| *b == SUBSTITUTE);
    let mut substitutes = substitutes.map(|(_, byte)| *byte);
    let written = text.bytes().map(|b| if b == SUBSTITUTE { substitutes.next() } else { Some(b) });
    let written = written.collect::<Option<Vec<u8>>>()?;
    substitutes.next().is_none().then_some(Cow::Owned(written))
}

/// The first lines that differ, as a diff shows them.
fn first_change(old: &str, new: &str) -> String {
    const SHOWN: usize = 4;
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut out = format!("@@ line {} @@\n", start + 1);
    for (sign, lines) in [('-', &old[start..old.len() - end]), ('+', &new[start..new.len() - end])] {
        for line in lines.iter().take(SHOWN) {
            out += &format!("{sign}{line}\n");
        }
        if lines.len() > SHOWN {
            out += &format!("{sign}… {} more lines\n", lines.len() - SHOWN);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{first_change, with_other_bytes};

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let read = "// \x1a\n// \x1a\x1a";
        let source = b"// \xe9\n// \x1a\xff";
        let with = |text: &str| with_other_bytes(text, read, source).map(|b| b.into_owned());
        assert_eq!(with("//\x1a\n//\x1a\x1a\n").unwrap(), b"//\xe9\n//\x1a\xff\n");
        assert_eq!(with("//\x1a\n//\x1a\n"), None);
        assert_eq!(with("\x1a\x1a\x1a\x1a"), None);
        assert_eq!(with_other_bytes("\x1a", "\x1a", b"\x1a").unwrap()[..], *b"\x1a");
    }

    #[test]
    fn the_first_change_is_shown() {
        assert_eq!(first_change("a\nb\nc\n", "a\nx\nc\n"), "@@ line 2 @@\n-b\n+x\n");
        assert_eq!(first_change("a\na\n", "a\n"), "@@ line 2 @@\n-a\n");
        assert_eq!(first_change("a", "a\n"), "@@ line 2 @@\n");
        let long = first_change(&"x\n".repeat(9), &"y\n".repeat(9));
        assert!(long.contains("-… 5 more lines"), "{long}");
    }
}
