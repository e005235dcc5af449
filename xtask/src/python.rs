//! What is handed to users: the wheel, the tarball.

use crate::dropin::{directory, root, said};
use crate::{Result, cargo, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries that go into both; the others are links to these.
const LIBRARIES: [&str; 4] = ["libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libhostwarp.so"];

fn is_release() -> bool {
    std::env::args().any(|a| a == "--release")
}

/// Copies a library without what only debuggers read.
fn stripped(from: &Path, to: &Path) -> Result {
    said(fs::copy(from, to), from)?;
    run("strip", &["--strip-unneeded", &to.display().to_string()], &[])
}

/// Builds the wheel with the drop-in libraries inside, installs it in `target/python-venv` and runs its tests there.
pub fn build() -> Result {
    let dropin = directory()?;
    let python = root().join("python");
    let inside = python.join("hostwarp/dropin");
    said(fs::create_dir_all(&inside), &inside)?;
    for name in LIBRARIES {
        stripped(&dropin.join(name), &inside.join(name))?;
    }
    let venv = root().join("target/python-venv");
    let interpreter = venv.join("bin/python").display().to_string();
    if !venv.join("bin/maturin").exists() {
        run("python3", &["-m", "venv", &venv.display().to_string()], &[])?;
        run(
            &interpreter,
            &["-m", "pip", "install", "-q", "maturin>=1.7,<2", "numpy", "pytest", "mypy"],
            &[],
        )?;
    }
    let wheels = root().join("target/wheels");
    if wheels.exists() {
        said(fs::remove_dir_all(&wheels), &wheels)?;
    }
    let manifest = python.join("Cargo.toml").display().to_string();
    let (target, out) = (root().join("target/python").display().to_string(), wheels.display().to_string());
    let profile = if is_release() { "release" } else { "dev" };
    let maturin = venv.join("bin/maturin").display().to_string();
    let options =
        ["build", "--profile", profile, "--strip", "-m", &manifest, "-o", &out, "--target-dir", &target];
    run(&maturin, &options, &[])?;
    let wheel = said(fs::read_dir(&wheels), &wheels)?.filter_map(|e| Some(e.ok()?.path())).next();
    let wheel = wheel.ok_or("maturin made no wheel")?.display().to_string();
    run(&interpreter, &["-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", &wheel], &[])?;
    // Not from the source directory, which has no compiled part.
    let tests = said(python.join("tests").canonicalize(), &python)?.display().to_string();
    run(&interpreter, &["-m", "pytest", "-q", "--rootdir", &tests, &tests], &[])?;
    println!("{wheel}");
    Ok(())
}

/// The newest glibc that a file's imports name: what it needs to run.
fn glibc(file: &Path) -> Result<String> {
    let listed = said(Command::new("objdump").arg("-T").arg(file).output(), file)?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let versions = text.split(|c: char| c.is_whitespace() || "()".contains(c)).filter_map(|w| {
        w.strip_prefix("GLIBC_")?.split('.').map(|n| n.parse().ok()).collect::<Option<Vec<u32>>>()
    });
    let newest = versions.max().ok_or_else(|| format!("{}: objdump shows no glibc", file.display()))?;
    Ok(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

/// A tarball of the command, the libraries, the header and the pages, and which glibc each file needs.
pub fn dist() -> Result {
    let dropin = directory()?;
    let build = ["build", "-p", "hostwarp-cli", "--release"];
    cargo(&build[..if is_release() { 4 } else { 3 }], &[])?;
    let target = root().join("target");
    let command = target.join(if is_release() { "release" } else { "debug" }).join("hostwarp");
    let name = format!("hostwarp-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let dist = target.join("dist");
    let at = dist.join(&name);
    if dist.exists() {
        said(fs::remove_dir_all(&dist), &dist)?;
    }
    for folder in ["bin", "lib/hostwarp", "include", "share/doc/hostwarp"] {
        said(fs::create_dir_all(at.join(folder)), &at)?;
    }
    stripped(&command, &at.join("bin/hostwarp"))?;
    let mut files: Vec<PathBuf> = vec![at.join("bin/hostwarp")];
    for library in LIBRARIES {
        let to = at.join("lib/hostwarp").join(library);
        stripped(&dropin.join(library), &to)?;
        files.push(to);
    }
    for (link, to) in [("libcuda.so", "libcuda.so.1"), ("libgpuocelot.so", "libhostwarp.so")] {
        said(std::os::unix::fs::symlink(to, at.join("lib/hostwarp").join(link)), &at)?;
    }
    said(fs::copy(dropin.join("hostwarp.h"), at.join("include/hostwarp.h")), &at)?;
    for page in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        said(fs::copy(root().join(page), at.join("share/doc/hostwarp").join(page)), Path::new(page))?;
    }
    let pages = root().join("docs");
    for page in said(fs::read_dir(&pages), &pages)?.filter_map(|e| Some(e.ok()?.path())) {
        if let (true, Some(file)) = (page.is_file(), page.file_name()) {
            said(fs::copy(&page, at.join("share/doc/hostwarp").join(file)), &page)?;
        }
    }
    for file in &files {
        let needs = glibc(file)?;
        println!("{}: glibc {needs}", file.display());
        // Ubuntu 22.04 has 2.35, Debian 12 has 2.36.
        let [major, minor] =
            [0, 1].map(|i| needs.split('.').nth(i).and_then(|n| n.parse().ok()).unwrap_or(u32::MAX));
        if (major, minor) > (2, 35) {
            return Err(format!("{} needs glibc {needs}; 2.35 is what it may need", file.display()));
        }
    }
    let tarball = dist.join(format!("{name}.tar.gz"));
    let (to, from) = (tarball.display().to_string(), dist.display().to_string());
    run("tar", &["-czf", &to, "-C", &from, "--owner=0", "--group=0", &name], &[])?;
    println!("{to}");
    Ok(())
}
