//! `hostwarp check`: everything that is wrong with a module.

use crate::failure::{Exit, Failure};
use crate::{input, limits, output};
use hostwarp::compile::{self, Severity};
use hostwarp::syntax;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Check PTX and show everything that is wrong with it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp check *.ptx
  nvcc --ptx -o - k.cu | hostwarp check -
  hostwarp check --json k.ptx          one JSON object per line and diagnostic

Exits 0 if nothing is wrong (warnings do not count), 1 if something is, 5 if a kernel needs
something Hostwarp does not do yet. `hostwarp explain CODE` says more about a diagnostic.")]
pub struct Check {
    /// Files; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> Result<(), Failure> {
        let mut worst: Option<Exit> = None;
        for path in &self.files {
            let exit = match self.one(path) {
                Ok(exit) => exit,
                // A file that cannot be read must not hide what is wrong with the others.
                Err(Failure::Said { exit, text, .. }) => {
                    if self.json {
                        let error = json!({ "kind": exit.name(), "message": text });
                        let line = json!({ "file": path.display().to_string(), "error": error });
                        output::print(&format!("{line}\n"))?;
                    } else {
                        output::complain(&text);
                    }
                    Some(exit)
                }
                Err(other) => return Err(other),
            };
            // What is wrong outweighs what is only not done.
            worst = match (worst, exit) {
                (Some(Exit::Input), _) | (_, Some(Exit::Input)) => Some(Exit::Input),
                (a, b) => a.or(b),
            };
        }
        worst.map_or(Ok(()), |exit| Err(Failure::Quiet(exit)))
    }

    fn one(&self, path: &Path) -> Result<Option<Exit>, Failure> {
        let source = input::read(path)?;
        let limits = limits::limits();
        limits.check()?;
        let parsed = syntax::parse(&source.bytes);
        let options = compile::Options { check_only: true, ..compile::Options::default() };
        let diagnostics = compile::compile(&parsed, &options).diagnostics;
        let text = parsed.module.source();
        let count = |s: Severity| diagnostics.iter().filter(|d| d.severity == s).count();
        let (errors, unsupported, warnings) =
            (count(Severity::Error), count(Severity::Unsupported), count(Severity::Warning));
        if self.json {
            output::print(&compile::to_json(&diagnostics, text, &source.name))?;
        } else {
            if !diagnostics.is_empty() {
                output::complain_raw(&input::render(&diagnostics, text, &source.name));
            }
            let plural = |n: usize, what: &str| match n {
                0 => None,
                1 => Some(format!("1 {what}")),
                n => Some(format!("{n} {what}s")),
            };
            let not_yet = (unsupported > 0).then(|| format!("{unsupported} not supported yet"));
            let parts: Vec<String> = [plural(errors, "error"), not_yet, plural(warnings, "warning")]
                .into_iter()
                .flatten()
                .collect();
            let summary = if parts.is_empty() { "ok".to_string() } else { parts.join(", ") };
            output::print(&format!("{}: {summary}\n", source.name))?;
        }
        Ok(match (errors, unsupported) {
            (0, 0) => None,
            (0, _) => Some(Exit::Unsupported),
            _ => Some(Exit::Input),
        })
    }
}
