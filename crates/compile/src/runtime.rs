//! Functions of CUDA's device runtime library that are PTX like any other: `device_runtime.ptx` is linked to modules that declare one of them.

use hostwarp_syntax::{Parsed, Statement};

/// The name of the file in messages.
pub(crate) const NAME: &str = "<device runtime>";

/// Its text.
const TEXT: &str = include_str!("device_runtime.ptx");

/// The library, if one of the modules declares a function that it has and none defines.
pub(crate) fn library(modules: &[(&str, &Parsed)]) -> Option<Parsed> {
    let functions = modules.iter().flat_map(|(_, parsed)| parsed.module.items());
    let mut names = functions.filter_map(|item| match item {
        Statement::Function(f) if f.body().is_none() => f.name().map(|name| name.text),
        _ => None,
    });
    let defines = |name: &str| TEXT.contains(&format!(" {name}("));
    names.any(|name| name.starts_with("cudaCG") && defines(name)).then(|| hostwarp_syntax::parse(TEXT))
}
