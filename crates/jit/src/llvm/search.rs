//! Where libLLVM may be.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Llvm;

/// Versions in the order we like them: those Hostwarp is tested with from the newest down, then newer ones.
const VERSIONS: [u32; 9] = [19, 18, 17, 16, 15, 20, 21, 22, 23];

/// No usable libLLVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Libraries that are there but will not do, each with the reason. Empty when there is none at all.
    pub rejected: Vec<(PathBuf, String)>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rejected.first() {
            None => write!(f, "no libLLVM found")?,
            Some((path, reason)) => write!(f, "no usable libLLVM: {}: {reason}", path.display())?,
        }
        let how = if cfg!(target_os = "macos") { "brew install llvm@19" } else { "apt install libllvm19" };
        write!(f, "; get one with `{how}` (any from version {} on will do)", super::OLDEST)
    }
}

impl std::error::Error for NotFound {}

pub(super) fn find(explicit: Option<&Path>) -> Result<Llvm, NotFound> {
    if let Some(path) = explicit {
        return Llvm::open(path).map_err(|reason| NotFound { rejected: vec![(path.to_owned(), reason)] });
    }
    let mut rejected = Vec::new();
    for path in candidates() {
        // A bare name is looked up by the system's loader, and there is no telling an absent one from a broken one.
        let bare = path.parent().is_none_or(|parent| parent.as_os_str().is_empty());
        if !bare && !path.exists() {
            continue;
        }
        match Llvm::open(&path) {
            Ok(llvm) => return Ok(llvm),
            Err(_) if bare => {}
            Err(reason) => rejected.push((path, reason)),
        }
    }
    Err(NotFound { rejected })
}

/// Names and paths to try, best first.
fn candidates() -> Vec<PathBuf> {
    let mut found: Vec<String> = Vec::new();
    if cfg!(target_os = "macos") {
        for v in VERSIONS {
            found.push(format!("/opt/homebrew/opt/llvm@{v}/lib/libLLVM.dylib"));
            found.push(format!("/usr/local/opt/llvm@{v}/lib/libLLVM.dylib"));
            found.push(format!("/opt/local/libexec/llvm-{v}/lib/libLLVM.dylib"));
        }
        found.push("/opt/homebrew/opt/llvm/lib/libLLVM.dylib".into());
        found.push("/usr/local/opt/llvm/lib/libLLVM.dylib".into());
        found.push("libLLVM.dylib".into());
    } else {
        for v in VERSIONS {
            // From 18 on the name is libLLVM.so.18.1; before, libLLVM-17.so, to which Debian adds .1.
            found.push(format!("libLLVM.so.{v}.1"));
            found.push(format!("libLLVM-{v}.so.1"));
            found.push(format!("libLLVM-{v}.so"));
            found.push(format!("/usr/lib/llvm-{v}/lib/libLLVM.so.1"));
            found.push(format!("/usr/lib/llvm-{v}/lib/libLLVM-{v}.so.1"));
            found.push(format!("/usr/lib/llvm{v}/lib/libLLVM.so"));
            found.push(format!("/usr/lib64/llvm{v}/lib64/libLLVM.so"));
        }
        found.push("libLLVM.so".into());
        found.push("/usr/local/lib/libLLVM.so".into());
    }
    found.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_path_is_an_error_that_says_what_to_do() {
        let error = find(Some(Path::new("/nowhere/libLLVM.so"))).unwrap_err().to_string();
        assert!(error.contains("/nowhere/libLLVM.so") && error.contains("install"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_that_is_not_llvm_is_refused() {
        let error = find(Some(Path::new("libc.so.6"))).unwrap_err().to_string();
        assert!(error.contains("not LLVM"), "{error}");
    }
}
