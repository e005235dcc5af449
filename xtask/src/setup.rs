//! Installs what the tests need beyond cargo.

use crate::{Result, run};
use std::path::Path;
use std::process::Command;

/// libLLVM for the fast engine, from Debian's or Ubuntu's packages. Does nothing where it is there already.
pub fn install() -> Result {
    if has_llvm() {
        println!("libLLVM is there");
        return Ok(());
    }
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("no libLLVM 15 or newer found, and no apt-get to install it: install LLVM with your package manager".into());
    }
    apt(&["libllvm19"])?;
    if has_llvm() { Ok(()) } else { Err("libllvm19 was installed but is not found".into()) }
}

/// Installs Debian's or Ubuntu's packages.
pub fn apt(packages: &[&str]) -> Result {
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    let apt = |args: &[&str]| {
        let env = [("DEBIAN_FRONTEND", "noninteractive")];
        if root { run("apt-get", args, &env) } else { run("sudo", &[&["apt-get"], args].concat(), &env) }
    };
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

/// Whether the package's library is there; 19 is the version the figures in the documentation were measured with.
fn has_llvm() -> bool {
    let names = ["libLLVM-19.so.1", "libLLVM.so.19.1", "libLLVM-19.so"];
    let dirs = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/llvm-19/lib",
    ];
    dirs.iter().any(|d| names.iter().any(|n| Path::new(d).join(n).exists()))
}
