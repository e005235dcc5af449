//! `hostwarp exec`: a program with the drop-in libraries, for it alone.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Run a CUDA program without a GPU: the drop-in libraries in place of NVIDIA's, for this program alone.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp exec -- ./vector_add 1000
  hostwarp exec --log -- python train.py
  hostwarp exec --profile sm_90 -- ./app     bits of an H200 where the manual leaves them open

The libraries are looked for in HOSTWARP_DROPIN, beside the command (`dropin`, `../dropin`)
and in `../lib/hostwarp`; `cargo xtask dropin` makes them. Programs that were linked with NVIDIA's
static runtime, which is nvcc's default, cannot work: build with `-cudart shared`.
--timeout and --memory are not for the program: `timeout 60 hostwarp exec …` is.")]
pub struct Exec {
    /// Trace every CUDA call to stderr.
    #[arg(long)]
    log: bool,
    /// Whose bits: isa (the manual) or sm_90 (an H200).
    #[arg(long, value_name = "PROFILE", value_parser = ["isa", "sm_90"])]
    profile: Option<String>,
    /// Which engine runs the kernels; auto: the interpreter first, the jit when it pays.
    #[arg(long, value_name = "ENGINE", value_parser = ["auto", "interp", "jit"])]
    engine: Option<String>,
    /// The compute capability the device claims, e.g. 80.
    #[arg(long, value_name = "SM")]
    sm: Option<u32>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Where the libraries are.
fn dropin() -> Result<PathBuf, Failure> {
    let is_it = |directory: &Path| directory.join("libcuda.so.1").exists();
    if let Some(said) = std::env::var_os("HOSTWARP_DROPIN").map(PathBuf::from) {
        return match is_it(&said) {
            true => Ok(said),
            false => Err(Failure::usage(format!(
                "HOSTWARP_DROPIN: there is no libcuda.so.1 in {}",
                said.display()
            ))),
        };
    }
    let beside =
        std::env::current_exe().ok().and_then(|exe| Some(exe.canonicalize().ok()?.parent()?.to_path_buf()));
    let mut places =
        beside.iter().flat_map(|b| ["dropin", "../dropin", "../lib/hostwarp"].map(|d| b.join(d)));
    places.find(|d| is_it(d)).and_then(|d| d.canonicalize().ok()).ok_or_else(|| {
        Failure::usage("the drop-in libraries are not found: `cargo xtask dropin` makes them; HOSTWARP_DROPIN says where they are")
    })
}

impl Exec {
    pub fn run(self) -> Result<(), Failure> {
        let directory = dropin()?;
        let (program, args) = self.program.split_first().ok_or_else(|| Failure::usage("which program?"))?;
        let mut path = directory.clone().into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
            path.push(":");
            path.push(more);
        }
        let mut command = std::process::Command::new(program);
        command.args(args).env("LD_LIBRARY_PATH", path).env("TRITON_LIBCUDA_PATH", &directory);
        if self.log {
            command.env("HOSTWARP_LOG", "1");
        }
        if let Some(profile) = &self.profile {
            command.env("HOSTWARP_PROFILE", profile);
        }
        if let Some(engine) = &self.engine {
            command.env("HOSTWARP_ENGINE", engine);
        }
        if let Some(sm) = self.sm {
            command.env("HOSTWARP_SM", sm.to_string());
        }
        let failed = |e: std::io::Error| Failure::usage(format!("{}: {e}", program.to_string_lossy()));
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // It takes this process's place: signals and the exit code are its own.
            Err(failed(command.exec()))
        }
        #[cfg(not(unix))]
        {
            let status = command.status().map_err(failed)?;
            std::process::exit(status.code().unwrap_or(1))
        }
    }
}
