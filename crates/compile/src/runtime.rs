//! Functions of CUDA's device runtime library that are PTX like any other: `device_runtime.ptx` is linked to modules that declare one of them.

use crate::{Diagnostic, Severity};
use hostwarp_syntax::{Name, Parsed, Statement};

/// The name of the file in messages.
pub(crate) const NAME: &str = "<device runtime>";

/// Its text.
const TEXT: &str = include_str!("device_runtime.ptx");

/// The functions that a module declares and does not define.
fn declared(parsed: &Parsed) -> impl Iterator<Item = Name<'_>> {
    parsed.module.items().filter_map(|item| match item {
        Statement::Function(f) if f.body().is_none() => f.name(),
        _ => None,
    })
}

/// Whether the device runtime has this function for launches from the device, which are not there yet.
pub(crate) fn launches(name: &str) -> bool {
    const OWN: [&str; 6] = [
        "cudaGetParameterBuffer",
        "cudaGetParameterBufferV2",
        "cudaLaunchDevice",
        "cudaLaunchDeviceV2",
        "cudaGraphLaunch",
        "cudaGetCurrentGraphExec",
    ];
    name.starts_with("__cudaCDP2") || OWN.contains(&name)
}

/// The library, if one of the modules declares a function that it has.
pub(crate) fn library(modules: &[(&str, &Parsed)]) -> Option<Parsed> {
    let defines = |name: &str| name.starts_with("cudaCG") && TEXT.contains(&format!(" {name}("));
    let mut names = modules.iter().flat_map(|(_, parsed)| declared(parsed));
    names.any(|name| defines(name.text)).then(|| hostwarp_syntax::parse(TEXT))
}

/// What is wrong with the library is wrong with how modules declare its functions, and said there.
pub(crate) fn blame(
    modules: &[(&str, &Parsed)],
    library: Vec<Vec<Diagnostic>>,
    said: &mut [Vec<Diagnostic>],
) {
    for wrong in library.into_iter().flatten().filter(|d| d.severity == Severity::Error) {
        for ((_, parsed), said) in modules.iter().zip(&mut *said) {
            let named = |name: &Name<'_>| wrong.message.contains(&format!("`{}`", name.text));
            said.extend(declared(parsed).find(named).map(|name| {
                Diagnostic::new(wrong.code, wrong.message.clone(), name.span)
                    .label("CUDA's device runtime has other parameters or results")
            }));
        }
    }
}
