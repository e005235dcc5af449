//! `cargo xtask sanitize [address|thread]`: tests under AddressSanitizer and ThreadSanitizer. `docs/sanitizers.md` has the last result.
//!
//! Both are unstable options of the compiler, hence `RUSTC_BOOTSTRAP`. ThreadSanitizer wants the standard library instrumented too, or takes its
//! locks for races, so that is built with it ([`crate::platforms`] says how).

use crate::platforms::{DEBIANS_CARGO, Toolchain, cargo, install, with_std};
use crate::{Result, setup};
use std::time::Instant;

/// Named, so that build scripts and macros are not instrumented.
const HOST: &str = "x86_64-unknown-linux-gnu";

/// Its name and what runs it.
type Sanitizer = (&'static str, fn() -> Result);

/// The command.
pub fn run() -> Result {
    setup::install()?;
    let only: Vec<String> = std::env::args().skip(2).collect();
    let all: [Sanitizer; 2] = [("address", address), ("thread", thread)];
    if let Some(unknown) = only.iter().find(|o| !all.iter().any(|(name, _)| name == o)) {
        return Err(format!("there is no sanitizer `{unknown}`: {}", all.map(|(name, _)| name).join(", ")));
    }
    for (name, check) in all.into_iter().filter(|(name, _)| only.is_empty() || only.iter().any(|o| o == name))
    {
        let began = Instant::now();
        check()?;
        println!("{name}: no report, {:.0} s", began.elapsed().as_secs_f32());
    }
    Ok(())
}

/// Everything with `unsafe` in it. Leaks are not looked for: threads that are kept, and code that is being compiled, outlive `main`.
fn address() -> Result {
    let env = vec![
        ("RUSTC_BOOTSTRAP", "1".to_string()),
        ("RUSTFLAGS", "-Zsanitizer=address -Copt-level=1".into()),
        ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1".into()),
        ("HOSTWARP_REQUIRE_LLVM", "1".into()),
    ];
    let toolchain = Toolchain { cargo: cargo(), arguments: vec!["--target".into(), HOST.into()], env };
    let unsafe_crates = ["system", "memory", "interp", "jit"].map(|c| format!("hostwarp-{c}"));
    let packages: Vec<&str> =
        unsafe_crates.iter().flat_map(|c| ["-p", c]).chain(["-p", "hostwarp"]).collect();
    // What is freed is kept for a while, so memory does not stay flat; and shadow memory lies where one test wants an arena.
    let skip = ["--", "--skip", "stays_flat", "--skip", "a_fixed_arena"];
    test(&toolchain, &[&["--lib", "--tests"], &packages[..], &skip].concat())
}

/// What threads share: streams, the scheduler of CTAs, tiers, the cache, and the soak's sample of everything at once.
fn thread() -> Result {
    let mut toolchain = with_std(HOST, "std,panic_unwind")?;
    let mut flags = String::from("-Zsanitizer=thread");
    if toolchain.cargo == DEBIANS_CARGO {
        // Its compiler comes without the run-time library.
        let library = "/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.tsan-x86_64.a";
        install(&[("/usr/bin/clang-19", "clang-19"), (library, "libclang-rt-19-dev")])?;
        flags += " -Zexternal-clangrt -Clinker=clang-19 -Clink-arg=-fsanitize=thread";
    }
    let suppressions = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sanitize/thread.supp");
    // libLLVM is not instrumented, so only half of what it does with its mutexes is seen; Rust's own are no pthread mutexes.
    toolchain.env.extend([
        ("RUSTFLAGS", flags),
        ("TSAN_OPTIONS", format!("suppressions={suppressions} report_mutex_bugs=0")),
        ("HOSTWARP_REQUIRE_LLVM", "1".into()),
    ]);
    let tests =
        ["--test=streams", "--test=tiers", "--test=soak", "--test=limits", "--test=faults", "--test=buffers"];
    test(&toolchain, &[&["--lib", "-p", "hostwarp"], &tests[..]].concat())
}

fn test(toolchain: &Toolchain, arguments: &[&str]) -> Result {
    let all = [&["test", "--quiet", "--no-fail-fast"], arguments].concat();
    let status = toolchain.command_in("target/sanitize", &all).status().map_err(|e| e.to_string())?;
    if status.success() { Ok(()) } else { Err("a test failed, or a sanitizer reported something".into()) }
}
