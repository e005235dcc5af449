//! `hostwarp fmt`: the canonical layout.

use crate::failure::{Exit, Failure};
use crate::{input, output};
use hostwarp::syntax;
use hostwarp_system::file;
use std::path::{Path, PathBuf};

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
        let same = text.as_bytes() == source.bytes;
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
            return Ok(output::print_bytes(text.as_bytes())?);
        }
        if !same {
            file::replace(path, text.as_bytes())
                .map_err(|e| Failure::input(format!("cannot write `{}`: {e}", path.display())))?;
        }
        Ok(())
    }
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
    use super::first_change;

    #[test]
    fn the_first_change_is_shown() {
        assert_eq!(first_change("a\nb\nc\n", "a\nx\nc\n"), "@@ line 2 @@\n-b\n+x\n");
        assert_eq!(first_change("a\na\n", "a\n"), "@@ line 2 @@\n-a\n");
        assert_eq!(first_change("a", "a\n"), "@@ line 2 @@\n");
        let long = first_change(&"x\n".repeat(9), &"y\n".repeat(9));
        assert!(long.contains("-… 5 more lines"), "{long}");
    }
}
