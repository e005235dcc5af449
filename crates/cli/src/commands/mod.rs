//! The commands, one file each.

mod check;
mod completions;
#[cfg(feature = "conformance")]
mod conformance;
mod doctor;
mod eval;
mod exec;
mod explain;
mod fmt;
mod info;
mod isa;
mod ptxas;
mod run;

use crate::failure::Failure;

/// A command and its arguments.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    Run(Box<run::Run>),
    Eval(eval::Eval),
    Check(check::Check),
    Fmt(fmt::Fmt),
    Info(info::Info),
    Explain(explain::Explain),
    Isa(isa::Isa),
    #[cfg(feature = "conformance")]
    Conformance(conformance::Conformance),
    Doctor(doctor::Doctor),
    Exec(exec::Exec),
    Ptxas(ptxas::Ptxas),
    Completions(completions::Completions),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Run(c) => c.run(),
            Command::Eval(c) => c.run(),
            Command::Check(c) => c.run(),
            Command::Fmt(c) => c.run(),
            Command::Doctor(c) => c.run(),
            Command::Exec(c) => c.run(),
            Command::Ptxas(c) => c.run(),
            Command::Info(c) => c.run(),
            Command::Explain(c) => c.run(),
            Command::Isa(c) => c.run(),
            #[cfg(feature = "conformance")]
            Command::Conformance(c) => c.run(),
            Command::Completions(c) => c.run(),
        }
    }

    /// Whether a program reads the output.
    pub fn json(&self) -> bool {
        match self {
            Command::Run(c) => c.json,
            Command::Eval(c) => c.json,
            Command::Info(c) => c.json,
            Command::Explain(c) => c.json,
            Command::Isa(c) => c.json,
            #[cfg(feature = "conformance")]
            Command::Conformance(c) => c.json(),
            Command::Doctor(c) => c.json,
            // `check` says it per file.
            Command::Check(_) | Command::Fmt(_) | Command::Completions(_) => false,
            Command::Exec(_) | Command::Ptxas(_) => false,
        }
    }
}
