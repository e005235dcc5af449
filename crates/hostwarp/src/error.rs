//! What can go wrong, in five kinds.

use hostwarp_compile::{Diagnostic, Style};
use hostwarp_interp::{Exceeded, KernelFault, KernelFaultKind};
use hostwarp_memory::MemoryError;
use std::fmt;

/// Whose fault it is, so that a program can act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ErrorKind {
    /// The PTX is wrong.
    Input,
    /// The launch is wrong: arguments, sizes, memory.
    Launch,
    /// The kernel faulted while it ran.
    Fault,
    /// PTX that Hostwarp does not do yet.
    Unsupported,
    /// A defect of Hostwarp.
    Bug,
}

/// An error.
#[derive(Debug, Clone)]
pub enum Error {
    /// The PTX is wrong: everything found, errors and warnings.
    Input(Box<InputError>),
    /// The launch is wrong; the text says how.
    Launch(String),
    /// Device memory could not do what was asked.
    Memory(MemoryError),
    /// The kernel faulted.
    Fault(Box<KernelFault>),
    /// The kernel needs something Hostwarp does not do yet.
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The line of the source; 0 if not known.
        line: u32,
        /// What it needs.
        what: String,
    },
    /// A limit was reached while nothing ran yet. In a launch it is a fault of the kernel.
    Limit {
        /// What was under way.
        during: &'static str,
        /// Which limit.
        exceeded: Exceeded,
    },
    /// A defect of Hostwarp.
    Bug(String),
}

/// Diagnostics with the text they are about.
#[derive(Debug, Clone)]
pub struct InputError {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
    /// Other files that were loaded together with it and are wrong.
    pub others: Vec<InputError>,
}

impl Error {
    pub(crate) fn launch(text: impl Into<String>) -> Error {
        Error::Launch(text.into())
    }

    pub(crate) fn limit(during: &'static str) -> impl Fn(Exceeded) -> Error {
        move |exceeded| Error::Limit { during, exceeded }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Input(_) => ErrorKind::Input,
            Error::Launch(_) | Error::Memory(_) => ErrorKind::Launch,
            Error::Fault(f) => match f.kind {
                KernelFaultKind::Unsupported(_) => ErrorKind::Unsupported,
                KernelFaultKind::OutOfMemory(_) => ErrorKind::Launch,
                _ => ErrorKind::Fault,
            },
            Error::Unsupported { .. } => ErrorKind::Unsupported,
            Error::Limit { exceeded: Exceeded::Memory { .. }, .. } => ErrorKind::Launch,
            Error::Limit { .. } => ErrorKind::Fault,
            Error::Bug(_) => ErrorKind::Bug,
        }
    }
}

impl From<MemoryError> for Error {
    fn from(e: MemoryError) -> Error {
        Error::Memory(e)
    }
}

impl From<Box<KernelFault>> for Error {
    fn from(f: Box<KernelFault>) -> Error {
        Error::Fault(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(e) => {
                for e in std::iter::once(&**e).chain(&e.others) {
                    let style = Style::default();
                    f.write_str(&hostwarp_compile::render(&e.diagnostics, &e.text, &e.name, style))?;
                }
                Ok(())
            }
            Error::Launch(text) => f.write_str(text),
            Error::Memory(e) => e.fmt(f),
            Error::Fault(e) => e.fmt(f),
            Error::Unsupported { kernel, line: 0, what } => {
                write!(f, "kernel `{kernel}`: not supported: {what}")
            }
            Error::Unsupported { kernel, line, what } => {
                write!(f, "kernel `{kernel}`, line {line}: not supported yet: {what}")
            }
            Error::Limit { during, exceeded } => write!(f, "{during}: {exceeded}"),
            Error::Bug(text) => write!(f, "this is a bug in Hostwarp: {text}"),
        }
    }
}

impl std::error::Error for Error {}
