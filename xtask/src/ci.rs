//! What continuous integration runs; each step can be run alone.

use crate::{Result, cargo, licences, setup};
use std::time::Instant;

/// A step: its name and the function.
type Step = (&'static str, fn() -> Result);

/// All steps in order, the quick ones first.
pub fn all() -> Result {
    let began = Instant::now();
    let steps: [Step; 6] = [
        ("setup", setup::install),
        ("fmt", formatting),
        ("licences", licences::check),
        ("lint", lint),
        ("doc", doc),
        ("test", test),
    ];
    for (name, step) in steps {
        let at = Instant::now();
        step()?;
        println!("{name}: {:.0} s", at.elapsed().as_secs_f32());
    }
    println!("all passed in {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

/// Formatting.
pub fn formatting() -> Result {
    cargo(&["fmt", "--all", "--check"], &[])
}

/// Clippy, warnings denied.
pub fn lint() -> Result {
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])
}

/// Documentation, warnings denied.
pub fn doc() -> Result {
    cargo(&["doc", "--quiet", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])
}

/// All tests. A missing libLLVM is an error here, so that the fast engine cannot go untested unnoticed.
pub fn test() -> Result {
    cargo(&["test", "--quiet", "--workspace", "--no-fail-fast"], &[("HOSTWARP_REQUIRE_LLVM", "1")])
}

/// Random kernels on both engines; options are handed on.
pub fn torture() -> Result {
    of_torture("torture")
}

/// Real PTX, changed at random; options are handed on.
pub fn mutants() -> Result {
    of_torture("mutants")
}

fn of_torture(program: &str) -> Result {
    let options: Vec<String> = std::env::args().skip(2).collect();
    let run = ["run", "--release", "--quiet", "-p", "hostwarp-torture", "--bin", program, "--"];
    let args: Vec<&str> = run.into_iter().chain(options.iter().map(String::as_str)).collect();
    cargo(&args, &[])
}

/// Every request to the operating system fails once; see `crates/cli/tests/injection.rs`.
pub fn inject() -> Result {
    long(&["test", "-p", "hostwarp-cli", "--test", "injection", "--", "--ignored", "--nocapture"])
}

/// A million launches; see `crates/hostwarp/tests/soak.rs`.
pub fn soak() -> Result {
    long(&["test", "-p", "hostwarp", "--test", "soak", "--", "--ignored", "--nocapture"])
}

/// A test that is too long for every day.
fn long(args: &[&str]) -> Result {
    cargo(args, &[("HOSTWARP_REQUIRE_LLVM", "1")])
}
