//! Why a command did not work out, and the exit code that says so.

use crate::limits;
use hostwarp::{Error, ErrorKind, Exceeded, KernelFaultKind};

/// Exit codes; see `hostwarp --help`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The input is wrong.
    Input = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The launch is wrong.
    Launch = 3,
    /// The kernel faulted.
    Fault = 4,
    /// Not done yet.
    Unsupported = 5,
    /// Our fault.
    Bug = 70,
}

impl Exit {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Input => "input",
            Exit::Usage => "usage",
            Exit::Launch => "launch",
            Exit::Fault => "fault",
            Exit::Unsupported => "unsupported",
            Exit::Bug => "bug",
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Input => Exit::Input,
            ErrorKind::Launch => Exit::Launch,
            ErrorKind::Fault => Exit::Fault,
            ErrorKind::Unsupported => Exit::Unsupported,
            ErrorKind::Bug => Exit::Bug,
        }
    }
}

/// Why a command did not work out.
#[derive(Debug)]
pub enum Failure {
    /// With something to say.
    Said {
        /// The exit code.
        exit: Exit,
        /// What happened and what to do about it.
        text: String,
        /// The text is complete: no `error:` before it.
        rendered: bool,
    },
    /// All has been said.
    Quiet(Exit),
    /// What there is to say cannot be written to stdout.
    Stdout(std::io::Error),
}

impl Failure {
    pub fn new(exit: Exit, text: impl Into<String>) -> Failure {
        Failure::Said { exit, text: text.into(), rendered: false }
    }

    /// The input is wrong.
    pub fn input(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Input, text)
    }

    /// The command line is wrong.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, text)
    }

    /// The launch is wrong.
    pub fn launch(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Launch, text)
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        Failure::Stdout(e)
    }
}

impl From<Exceeded> for Failure {
    fn from(e: Exceeded) -> Failure {
        limits::exceeded(e, None)
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        let exit = e.kind().into();
        match e {
            Error::Input(input) => Failure::Said {
                exit,
                text: std::iter::once(&*input)
                    .chain(&input.others)
                    .map(|i| crate::input::render(&i.diagnostics, &i.text, &i.name))
                    .collect(),
                rendered: true,
            },
            Error::Limit { during, exceeded } => limits::exceeded(exceeded, Some(during)),
            other => {
                if matches!(&other, Error::Fault(fault) if fault.kind == KernelFaultKind::Timeout) {
                    limits::time_is_up();
                }
                Failure::new(exit, other.to_string())
            }
        }
    }
}
