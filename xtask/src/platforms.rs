//! `cargo xtask platforms`: builds for CPUs other than this one and runs the kernel tests there. `docs/platforms.md` has the last result.
//!
//! The standard library of a target comes from rustup where there is one, and is otherwise built with Debian's own toolchain (packages
//! `rustc-web cargo-web rust-web-src`).

use crate::{Result, setup};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const ARM: &str = "aarch64-unknown-linux-gnu";
const WASM: &str = "wasm32-unknown-unknown";
/// Beside the usual one: another compiler may have to build for it.
const TARGET_DIR: &str = "target/platforms";

/// Where Debian's cargo lies.
pub(crate) const DEBIANS_CARGO: &str = "/usr/bin/cargo";

/// Cargo, and what it takes to build for a target.
pub(crate) struct Toolchain {
    pub(crate) cargo: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
}

/// Its name and what checks it.
type Platform = (&'static str, fn() -> Result<String>);

/// The command.
pub fn run() -> Result {
    let only: Vec<String> = std::env::args().skip(2).collect();
    let all: [Platform; 3] = [("without the jit", without_jit), ("aarch64 Linux", aarch64), ("wasm32", wasm)];
    if let Some(unknown) = only.iter().find(|o| !all.iter().any(|(name, _)| name.contains(o.as_str()))) {
        return Err(format!("there is no platform `{unknown}`: {}", all.map(|(name, _)| name).join(", ")));
    }
    let mut rows = vec![];
    let mut failed = vec![];
    for (name, check) in all {
        if !only.is_empty() && !only.iter().any(|o| name.contains(o.as_str())) {
            continue;
        }
        let began = Instant::now();
        let said = check().unwrap_or_else(|why| {
            failed.push(name);
            format!("FAILED: {why}")
        });
        rows.push(format!("| {name} | {said} | {:.0} s |", began.elapsed().as_secs_f32()));
    }
    println!("\n| platform | result | time |\n|---|---|---|\n{}", rows.join("\n"));
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// This CPU, as a build without the feature `jit` has it.
fn without_jit() -> Result<String> {
    let toolchain = Toolchain { cargo: cargo(), arguments: vec![], env: vec![] };
    let tests = toolchain.test_binary(&["-p", "hostwarp", "--no-default-features"])?;
    passed(&output(Command::new(tests), "the kernel tests")?)
}

/// Under qemu-user.
fn aarch64() -> Result<String> {
    install(&[
        ("/usr/bin/aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
        ("/usr/bin/qemu-aarch64", "qemu-user"),
    ])?;
    let mut toolchain = toolchain(ARM, "std,panic_unwind")?;
    toolchain.env.push(("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc".into()));
    let tests = toolchain.test_binary(&["-p", "hostwarp", "--no-default-features"])?;
    let qemu = |program: &Path| {
        let mut command = Command::new("qemu-aarch64");
        command.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program).current_dir(ROOT);
        // An emulated CPU is slow, and a limit of time no test of it.
        command.env("HOSTWARP_TEST_TIMEOUT", "600");
        command
    };
    let kernels = passed(&output(qemu(&tests), "the kernel tests")?)?;
    toolchain.build(&["build", "--bin", "hostwarp", "--no-default-features"])?;
    let mut saxpy = qemu(&Path::new(ROOT).join(TARGET_DIR).join(ARM).join("debug/hostwarp"));
    let example = "run examples/saxpy.ptx --grid 4 --block 256 n=1024 a=2 x=f32[1024]:iota y=f32[1024]=1";
    let said = output(saxpy.args(example.split(' ')), "hostwarp run")?;
    if !said.contains("1 3 5 7 9 11 13 15") {
        return Err(format!("`hostwarp {example}` says\n{said}"));
    }
    Ok(format!("{kernels}; the command runs examples/saxpy.ptx"))
}

/// In node.
fn wasm() -> Result<String> {
    let mut toolchain = toolchain(WASM, "std,panic_abort")?;
    if !toolchain.arguments.is_empty() {
        install(&[("/usr/bin/wasm-ld-19", "lld-19")])?;
        toolchain.env.push(("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19".into()));
    }
    install(&[("/usr/bin/node", "nodejs")])?;
    let tests = toolchain.test_binary(&["-p", "hostwarp", "--no-default-features"])?;
    let mut node = Command::new("node");
    node.args(["xtask/src/platforms/kernels.mjs".as_ref(), tests.as_os_str(), "tests/kernels".as_ref()]);
    let said = output(node.current_dir(ROOT), "the kernel tests")?;
    Ok(said.lines().last().unwrap_or_default().to_string())
}

/// The cargo that runs this.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// What builds for a target: rustup's if that can get its standard library, or else Debian's, which builds it.
fn toolchain(target: &str, std: &str) -> Result<Toolchain> {
    let rustup = Command::new("rustup").args(["target", "add", target]).status();
    let of_rustup = vec!["--target".to_string(), target.into()];
    if rustup.is_ok_and(|s| s.success()) {
        return Ok(Toolchain { cargo: cargo(), arguments: of_rustup, env: vec![] });
    }
    debians(target, std)
}

/// A toolchain that builds the standard library, too: rustup's if that can get the sources, or else Debian's.
pub(crate) fn with_std(target: &str, std: &str) -> Result<Toolchain> {
    let sources = Command::new("rustup").args(["component", "add", "rust-src"]).status();
    if sources.is_ok_and(|s| s.success()) {
        let arguments = vec!["--target".into(), target.into(), format!("-Zbuild-std={std}")];
        return Ok(Toolchain { cargo: cargo(), arguments, env: vec![("RUSTC_BOOTSTRAP", "1".into())] });
    }
    debians(target, std)
}

fn debians(target: &str, std: &str) -> Result<Toolchain> {
    let source = "/usr/lib/rustlib/src/rust/library/Cargo.lock";
    install(&[(DEBIANS_CARGO, "cargo-web"), ("/usr/bin/rustc", "rustc-web"), (source, "rust-web-src")])?;
    let arguments = [vec!["--target".into(), target.into()], vec![format!("-Zbuild-std={std}")]].concat();
    let env = vec![("RUSTC_BOOTSTRAP", "1".into()), ("RUSTC", "/usr/bin/rustc".into())];
    Ok(Toolchain { cargo: DEBIANS_CARGO.into(), arguments, env })
}

/// Debian's packages whose files are not there.
pub(crate) fn install(files: &[(&str, &str)]) -> Result {
    let missing: Vec<&str> =
        files.iter().filter(|(file, _)| !Path::new(file).exists()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(format!("install what Debian calls {}", missing.join(" ")));
    }
    setup::apt(&missing)
}

impl Toolchain {
    fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(TARGET_DIR, arguments)
    }

    /// Cargo, which builds into this folder.
    pub(crate) fn command_in(&self, target_dir: &str, arguments: &[&str]) -> Command {
        // What stands behind `--` is not cargo's.
        let end = arguments.iter().position(|a| *a == "--").unwrap_or(arguments.len());
        let (ours, rest) = arguments.split_at(end);
        let own = self.arguments.iter().map(String::as_str);
        let all: Vec<&str> = ours.iter().copied().chain(own).chain(rest.iter().copied()).collect();
        println!("$ {} {}", self.cargo, all.join(" "));
        let mut command = Command::new(&self.cargo);
        command.args(all).envs(self.env.iter().map(|(k, v)| (k, v))).current_dir(ROOT);
        command.env("CARGO_TARGET_DIR", Path::new(ROOT).join(target_dir));
        command
    }

    fn build(&self, arguments: &[&str]) -> Result {
        let status = self.command(arguments).status().map_err(|e| format!("{}: {e}", self.cargo))?;
        if status.success() { Ok(()) } else { Err(format!("`cargo {}` failed", arguments.join(" "))) }
    }

    /// The test `kernels`, built.
    fn test_binary(&self, arguments: &[&str]) -> Result<PathBuf> {
        let build = [
            &["test", "--no-run", "--test", "kernels", "--message-format=json-render-diagnostics"],
            arguments,
        ];
        let mut command = self.command(&build.concat());
        let out = command.stderr(Stdio::inherit()).output().map_err(|e| format!("{}: {e}", self.cargo))?;
        let said = String::from_utf8_lossy(&out.stdout);
        let found = said
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .find_map(|message| {
                let ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == "kernels";
                ours.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
            });
        found
            .filter(|f| out.status.success() && fs::exists(f).unwrap_or(false))
            .ok_or("it does not build".into())
    }
}

/// What a command that works says.
fn output(mut command: impl std::borrow::BorrowMut<Command>, what: &str) -> Result<String> {
    let out = command.borrow_mut().output().map_err(|e| format!("{what}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    if out.status.success() {
        return Ok(said);
    }
    print!("{said}{}", String::from_utf8_lossy(&out.stderr));
    Err(format!("{what}: {}", out.status))
}

/// The summary of a run of tests, which must have run some.
fn passed(said: &str) -> Result<String> {
    let summary =
        said.lines().find_map(|l| l.strip_prefix("test result: ok. ")).ok_or("no summary of the tests")?;
    let count = summary.split(';').next().unwrap_or(summary);
    if count.starts_with("0 ") { Err("no test was run".into()) } else { Ok(format!("kernel tests: {count}")) }
}
