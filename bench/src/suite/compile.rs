//! A variant of a kernel as nvcc compiles it, and its reference as the C++ compiler of the machine does; both kept in `target/bench/suite`.

use super::launch::Job;
use crate::contestant::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where the sources are and what is made of them goes, and the compiler of kernels if there is one.
pub(crate) struct Compiler {
    pub(crate) sources: PathBuf,
    made: PathBuf,
    nvcc: Option<PathBuf>,
}

impl Compiler {
    pub(crate) fn new(dir: &Path) -> Result<Compiler> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let made = dir.join("suite");
        std::fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
        // Where `cargo xtask dropin` puts it.
        let installed = root.join("../target/nvcc/nvidia/cu13/bin/nvcc");
        let nvcc = std::env::var_os("HOSTWARP_NVCC").map_or(installed, PathBuf::from);
        Ok(Compiler { sources: root.join("suite"), made, nvcc: nvcc.exists().then_some(nvcc) })
    }

    pub(crate) fn has_nvcc(&self) -> bool {
        self.nvcc.is_some()
    }

    /// PTX of the base variant, as committed.
    pub(crate) fn committed(&self, name: &str) -> Result<String> {
        let file = self.sources.join(format!("{name}.ptx"));
        std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// PTX of a variant by nvcc.
    pub(crate) fn ptx(&self, job: &Job<'_>) -> Result<String> {
        let nvcc = self.nvcc.as_ref().ok_or("there is no nvcc: `cargo xtask dropin` installs one")?;
        let options = [&job.variant.options[..], &["-ptx", "-std=c++17", "-fmad=false", "-w"]].concat();
        let out = self.made(job, &options, "ptx", |command| *command = Command::new(nvcc))?;
        std::fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))
    }

    /// The least time of the reference within so many seconds, and the hash of its output.
    pub(crate) fn reference(&self, job: &Job<'_>, seconds: f64) -> Result<(Duration, u64)> {
        let name = format!("-DNAME={}", job.row.name);
        let main = self.sources.join("main.cc").display().to_string();
        let options =
            ["-O3", "-march=native", "-ffp-contract=off", "-std=c++17", "-w", &name, "-xc++", &main];
        let native = self.made(job, &options, "native", |command| *command = Command::new("c++"))?;
        let mut command = Command::new(&native);
        command.args(job.elements().map(|n| n.to_string())).arg(job.kinds());
        command.args(job.numbers.map(|n| n.to_string())).arg(seconds.to_string());
        let out = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut words = text.split_whitespace().map(|w| w.parse::<u64>());
        match (words.next(), words.next()) {
            (Some(Ok(time)), Some(Ok(hash))) => Ok((Duration::from_nanos(time), hash)),
            _ => Err(format!("{}: no answer from C: {}", job.row.name, out.status)),
        }
    }

    /// What a compiler makes of the kernel's file in a variant, made anew if the file is younger.
    fn made(
        &self,
        job: &Job<'_>,
        options: &[&str],
        ending: &str,
        with: impl FnOnce(&mut Command),
    ) -> Result<PathBuf> {
        let source = self.sources.join(format!("{}.cu", job.row.name));
        let key = super::launch::hash(format!("{options:?} {:?}", job.variant.defines()).as_bytes());
        let out = self.made.join(format!("{}-{key:016x}.{ending}", job.row.name));
        let age = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
        let newest = ["suite.h", "main.cc"].map(|f| age(&self.sources.join(f)));
        if age(&out) > newest.into_iter().chain([age(&source)]).max().flatten() {
            return Ok(out);
        }
        let mut command = Command::new("");
        with(&mut command);
        command.args(job.variant.defines()).args(options).arg(&source).arg("-o").arg(&out);
        let said = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        if !said.status.success() {
            return Err(format!("{}: {}", job.row.name, String::from_utf8_lossy(&said.stderr)));
        }
        Ok(out)
    }
}
