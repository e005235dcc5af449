//! Measures Hostwarp against native C, intrinsics and pocl; see `docs/benchmarks.md`.

use crate::setup::{apt, install};
use crate::{Result, cargo, run};
use std::path::Path;

/// Compiles and measures the kernels of `bench/suite`; nvcc where variants are to be compiled.
fn suite(words: &[&str]) -> Result {
    install()?;
    cargo(&["build", "--release", "--quiet", "-p", "hostwarp-cli", "-p", "hostwarp-bench"], &[])?;
    let mut environment = vec![];
    let nvcc;
    if words.iter().any(|w| ["--variants", "--check", "--bless"].contains(w)) {
        match crate::dropin::nvcc() {
            Ok(path) => {
                nvcc = path.display().to_string();
                environment.push(("HOSTWARP_NVCC", nvcc.as_str()));
            }
            Err(e) => eprintln!("no nvcc: {e}"),
        }
    }
    run("target/release/hostwarp-bench", words, &environment)
}

/// Installs the compilers it is measured against, builds, runs, and writes the figures into `docs/`.
pub fn all() -> Result {
    let only: Vec<String> = std::env::args().skip(2).collect();
    let only: Vec<&str> = only.iter().map(String::as_str).collect();
    if only.first() == Some(&"--suite") {
        return suite(&only);
    }
    install()?;
    if !Path::new("/usr/bin/clang-19").exists() {
        apt(&["clang-19"])?;
    }
    if !Path::new("/etc/OpenCL/vendors/pocl.icd").exists() || !Path::new("/usr/include/CL/cl.h").exists() {
        // Without it the others are still measured; the bench says so.
        if let Err(e) = apt(&["pocl-opencl-icd", "ocl-icd-opencl-dev", "opencl-c-headers"]) {
            eprintln!("pocl does not take part: {e}");
        }
    }
    cargo(&["build", "--release", "--quiet", "-p", "hostwarp-cli", "-p", "hostwarp-bench"], &[])?;
    run("target/release/hostwarp-bench", &only, &[])
}

/// Doubles each dimension of a kernel and prints how the time of each step grows. Words choose dimensions, `--to=STEP` ends with a step.
pub fn growth() -> Result {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let mut args =
        vec!["run", "--release", "--quiet", "-p", "hostwarp-bench", "--bin", "hostwarp-growth", "--"];
    args.extend(words.iter().map(String::as_str));
    cargo(&args, &[])
}

/// CPU time of compiling each kernel of the suite and the corpus, or of the files and directories named.
pub fn compile_time() -> Result {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let mut args =
        vec!["run", "--release", "--quiet", "-p", "hostwarp-bench", "--bin", "hostwarp-compile-time", "--"];
    args.extend(words.iter().map(String::as_str));
    cargo(&args, &[])
}
