//! NVIDIA's assembler as a process.

use hostwarp_system::file;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// A ptxas executable.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
    /// What `--version` says, e.g. `V13.4.92`.
    pub version: String,
}

impl Ptxas {
    /// The ptxas at `path`, asked for its version.
    pub fn new(path: &Path) -> Result<Ptxas, String> {
        let out = Command::new(path).arg("--version").output().map_err(|e| {
            format!("cannot run {}: {e}; install the PyPI package nvidia-cuda-nvcc", path.display())
        })?;
        let text = String::from_utf8_lossy(&out.stdout);
        let version = text
            .split_whitespace()
            .find(|w| w.starts_with('V') && w.contains('.'))
            .unwrap_or("?")
            .to_string();
        Ok(Ptxas { path: path.to_path_buf(), version })
    }

    /// Assembles for sm_90, or for the target of the text that only it can run, at an optimisation level.
    pub fn assemble(&self, ptx: &str, level: u32) -> Result<Vec<u8>, String> {
        let target = if ptx.contains(".target sm_90a") { "sm_90a" } else { "sm_90" };
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        let out = std::env::temp_dir().join(format!("hostwarp-{}-{n}.cubin", std::process::id()));
        let mut child = Command::new(&self.path)
            .args(["-arch", target, &format!("-O{level}"), "-o"])
            .arg(&out)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        // Written before reading: ptxas reads all of its input first.
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(ptx.as_bytes()).map_err(|e| e.to_string())?;
        }
        let result = child.wait_with_output().map_err(|e| e.to_string())?;
        let cubin = file::read(&out);
        let _ = std::fs::remove_file(&out);
        if !result.status.success() {
            let text = String::from_utf8_lossy(&result.stderr).into_owned()
                + &String::from_utf8_lossy(&result.stdout);
            return Err(text);
        }
        cubin.map_err(|e| e.to_string())
    }
}
