//! Requests to the operating system that fail on purpose, for tests: `HOSTWARP_FAIL=file:3` has the third request about a file fail.
//!
//! Release builds have none of it. What was asked for is written to `$HOSTWARP_ASKED`, one line for each request: its kind, whether it was refused, and where it
//! was made.

use hostwarp_system::seam;
use std::env;
use std::fmt::Write;

/// Does what the environment asks for.
pub fn begin() -> Result<(), String> {
    let Some(failure) = env::var_os("HOSTWARP_FAIL") else { return Ok(()) };
    seam::arm(failure.to_string_lossy().parse()?);
    Ok(())
}

/// Tells what was asked for.
pub fn end() {
    let Some(path) = env::var_os("HOSTWARP_ASKED") else { return };
    let mut text = String::new();
    for asked in seam::disarm() {
        let refused = if asked.refused { "refused" } else { "granted" };
        let _ = writeln!(text, "{} {refused} {}", asked.kind.name(), asked.place);
    }
    if let Err(e) = std::fs::write(&path, text) {
        crate::output::complain(&format!("cannot write `{}`: {e}", path.display()));
    }
}
