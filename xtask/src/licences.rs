//! Every dependency must have a licence that goes with ours.

use crate::Result;
use serde_json::Value;
use std::process::Command;

/// What may stand in a licence expression, at least as one side of an `OR`.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "MIT-0",
    "0BSD",
];

/// Reads `cargo metadata` and names every package whose licence is not allowed.
pub fn check() -> Result {
    let out = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    let metadata: Value = serde_json::from_slice(&out.stdout).map_err(|e| e.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let bad: Vec<String> = packages
        .iter()
        .filter_map(|p| {
            let licence = p["license"].as_str().unwrap_or("none");
            (!allowed(licence)).then(|| format!("{} {}: {licence}", p["name"], p["version"]))
        })
        .collect();
    println!("licences: {} packages", packages.len());
    if bad.is_empty() { Ok(()) } else { Err(format!("licences not allowed:\n  {}", bad.join("\n  "))) }
}

/// An `AND` needs all sides allowed, an `OR` one; the old spelling with `/` means `OR`.
fn allowed(expression: &str) -> bool {
    let flat = expression.replace('/', " OR ").replace(['(', ')'], " ");
    flat.split(" AND ").all(|part| part.split(" OR ").any(|l| ALLOWED.contains(&l.trim())))
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn expressions() {
        assert!(allowed("MIT OR Apache-2.0"));
        assert!(allowed("MIT/Apache-2.0"));
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(allowed("GPL-2.0 OR MIT"));
        assert!(!allowed("GPL-2.0"));
        assert!(!allowed("MIT AND GPL-3.0"));
    }
}
