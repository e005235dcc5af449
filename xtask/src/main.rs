//! Developer commands: `cargo xtask <command>`.
//!
//! Each is a function in a file of its own; this file lists them. They call cargo and the system, and print what they run.

mod agreement;
mod bench;
mod ci;
mod corpus;
mod dropin;
mod licences;
mod new_instruction;
mod platforms;
mod python;
mod random_c;
mod sanitize;
mod setup;

use std::process::{Command, ExitCode};

/// What went wrong, in words.
type Result<T = ()> = std::result::Result<T, String>;

/// A command: its name, what it does, and the function.
type Entry = (&'static str, &'static str, fn() -> Result);

const COMMANDS: &[Entry] = &[
    (
        "ci",
        "everything that must pass: setup, formatting, lints, tests on every engine, docs, licences",
        ci::all,
    ),
    ("setup", "install what the tests need (libllvm19)", setup::install),
    ("fmt", "formatting", ci::formatting),
    ("lint", "clippy, warnings denied", ci::lint),
    ("test", "tests on every engine", ci::test),
    ("doc", "documentation, warnings denied", ci::doc),
    ("ptxas-agreement", "compare what is legal with ptxas; writes docs/ptxas-agreement.md", agreement::run),
    ("corpus", "make PTX with real compilers; --check compares what is legal with ptxas", corpus::run),
    ("bench", "measure against native C and pocl; writes docs/benchmarks.md", bench::all),
    ("compile-time", "CPU time of compiling each kernel of the suite and the corpus", bench::compile_time),
    ("growth", "double each dimension of a kernel and see how the time of each step grows", bench::growth),
    ("torture", "run random kernels on both engines and compare; `--help` says more", ci::torture),
    (
        "random-c",
        "random C programs by csmith, compiled by clang, on both engines and on the host: `--count N --seed N`",
        random_c::run,
    ),
    (
        "mutants",
        "real PTX, changed at random, through the checker and both engines; `--help` says more",
        ci::mutants,
    ),
    ("inject", "every request to the operating system fails once in every command", ci::inject),
    ("soak", "a million launches from eight threads; prints the table of docs/soak.md", ci::soak),
    (
        "platforms",
        "build for aarch64, WebAssembly and without the jit, and run the kernel tests there",
        platforms::run,
    ),
    (
        "sanitize",
        "tests under AddressSanitizer and ThreadSanitizer; `address` or `thread` chooses",
        sanitize::run,
    ),
    (
        "new-instruction",
        "NAME FAMILY: the room, its registration, stubs for oracle and test",
        new_instruction::run,
    ),
    ("dropin", "libcuda.so.1 and libcudart.so in target/dropin (`--release`)", dropin::build),
    (
        "cuda-programs",
        "compile tests/cuda with nvcc (from PyPI) and run the programs on the drop-in",
        dropin::programs,
    ),
    (
        "python",
        "build the wheel in python/ and run its tests in a virtual environment (`--release`)",
        python::build,
    ),
    ("dist", "target/dist: a tarball with command, libraries, header, docs", python::dist),
    ("clients", "run the scripts of tests/clients (from PyPI) on the drop-in; NAME chooses", dropin::clients),
    ("licences", "licences of dependencies", licences::check),
];

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, _, run)) = COMMANDS.iter().find(|(n, ..)| *n == name) else {
        eprintln!("cargo xtask <command>\n");
        for (name, what, _) in COMMANDS {
            eprintln!("  {name:<16} {what}");
        }
        return ExitCode::from(2);
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask {name}: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command in the root of the repository and shows it first.
fn run(program: &str, args: &[&str], env: &[(&str, &str)]) -> Result {
    println!("$ {program} {}", args.join(" "));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root)
        .status()
        .map_err(|e| format!("{program}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed", args.join(" "))) }
}

/// Runs cargo.
fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result {
    run(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), args, env)
}
