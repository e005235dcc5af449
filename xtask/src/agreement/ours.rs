//! What Hostwarp says.

use super::ptxas::Judgeable;
use hostwarp_compile::{Code, Options, Severity, compile};
use hostwarp_isa as isa;

/// Hostwarp's verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ours {
    /// No error.
    Legal,
    /// The first error.
    Wrong(String),
    /// Legal, but not done yet.
    Later,
    /// Not done yet, and nothing is said about whether it is legal.
    Unknown(String),
}

impl Ours {
    /// Whether there was nothing to object to.
    pub fn is_legal(&self) -> bool {
        matches!(self, Ours::Legal | Ours::Later)
    }
}

/// Compiles the module.
pub fn verdict(sample: &impl Judgeable) -> Ours {
    let output = compile(&hostwarp_syntax::parse(sample.module()), &Options::default());
    // ptxas takes no version that is newer than itself.
    if let Some(d) = output.diagnostics.iter().find(|d| d.code == Code::NewerVersion) {
        return Ours::Wrong(format!("{} {}", d.code, d.message));
    }
    let first = |severity| output.diagnostics.iter().find(|d| d.severity == severity);
    match (first(Severity::Error), first(Severity::Unsupported)) {
        (Some(d), _) => Ours::Wrong(format!("{} {}", d.code, d.message)),
        (None, Some(_)) if isa::find(sample.opcode()).is_some() => Ours::Later,
        (None, Some(d)) => Ours::Unknown(format!("{} {}", d.code, d.message)),
        (None, None) => Ours::Legal,
    }
}
