//! A PTX module to core IR: names, scopes, types, control flow, diagnostics.
//!
//! [`compile`] takes a parsed module and gives a checked [`Module`] with one IR function per kernel, and everything there is to say
//! about it as [`Diagnostic`]s: many per run, each with a stable [`Code`] that has a page of explanation. It never panics and
//! never stops at the first error, whatever the text.
//!
//! ```
//! let parsed = hostwarp_syntax::parse(
//!     ".version 8.8
//!      .target sm_90
//!      .address_size 64
//!      .visible .entry k() {
//!          .reg .b32 %r<4>;
//!          vadd4.u32.u32.u32.sat %r1, %r2, %r3, %r0;
//!      }",
//! );
//! let output = hostwarp_compile::compile(&parsed, &Default::default());
//! assert!(output.diagnostics.is_empty());
//! assert!(output.module.kernel("k").unwrap().function.is_ok());
//! ```
#![forbid(unsafe_code)]

mod alias;
mod body;
mod branch;
mod cache;
mod call;
mod check;
mod diagnostic;
mod emit;
mod host;
mod init;
mod layout;
mod limits;
mod link;
mod misfit;
mod module;
mod near;
mod opcodes;
mod operand;
mod probe;
mod runtime;
mod scope;
mod snippet;
mod special;
mod specifiers;

pub use diagnostic::{Code, Diagnostic, Example, Label, Page, Severity, Style, error_index, render, to_json};
pub use module::{Data, Image, Kernel, Limits, Module, Param, Relocation, Symbol, Unusable};
pub use probe::{Access, FIRST_SITE, Probes, Site, SiteKind};
pub use snippet::{Snippet, SnippetRegister, compile_snippet};

use hostwarp_isa::Profile;
use hostwarp_syntax::Parsed;

/// How to compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whose bits are wanted.
    pub profile: Profile,
    /// Only look for errors and for what is not supported yet: no IR is kept.
    pub check_only: bool,
    /// How many errors, and how many other diagnostics, are kept; the rest are counted.
    pub max_diagnostics: usize,
    /// What probes are put in for.
    pub probes: Probes,
}

impl Default for Options {
    fn default() -> Self {
        Options { profile: Profile::Isa, check_only: false, max_diagnostics: 200, probes: Probes::default() }
    }
}

/// What [`compile`] gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// The module, as far as it is right.
    pub module: Module,
    /// What there is to say, in text order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Output {
    /// Whether the module is wrong.
    pub fn has_errors(&self) -> bool {
        check::has_errors(&self.diagnostics)
    }
}

/// Checks a module and gives its kernels as IR.
pub fn compile(parsed: &Parsed, options: &Options) -> Output {
    let (module, diagnostics) = compile_all(&[("", parsed)], options);
    Output { module, diagnostics: diagnostics.into_iter().flatten().collect() }
}

/// Checks modules that belong together, each with the name of its file, and gives one in which what one declares and another defines is the same, as nvlink
/// does. There is a list of what there is to say for each; none may be left out of one that has errors. Lines are [counted](Module::place) through all files.
pub fn compile_all(modules: &[(&str, &Parsed)], options: &Options) -> (Module, Vec<Vec<Diagnostic>>) {
    if modules.is_empty() {
        return Default::default();
    }
    let library = runtime::library(modules);
    let mut all = modules.to_vec();
    all.extend(library.iter().map(|library| (runtime::NAME, library)));
    let mut checker = check::Checker::new(&all, *options);
    checker.modules(&all);
    let mut said: Vec<Vec<Diagnostic>> = checker.files.into_iter().map(|f| f.sink.finish()).collect();
    let of_library = said.split_off(modules.len());
    runtime::blame(modules, of_library, &mut said);
    (checker.out, said)
}
