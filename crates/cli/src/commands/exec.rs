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
  hostwarp exec --strict -- ./app            no race in a warp, nothing read that was never written
  hostwarp exec --stats -- ./app             what its kernels execute, in a table at the end
  hostwarp exec --profile sm_90 -- ./app     bits of an H200 where the manual leaves them open

The libraries are looked for in HOSTWARP_DROPIN, beside the command (`dropin`, `../dropin`)
and in `../lib/hostwarp`; `cargo xtask dropin` makes them. Programs that were linked with NVIDIA's
static runtime, which is nvcc's default, cannot work: build with `-cudart shared`.
--timeout and --memory are not for the program: `timeout 60 hostwarp exec …` is.")]
pub struct Exec {
    /// Trace every CUDA call to stderr.
    #[arg(long)]
    log: bool,
    /// Reliance on what PTX leaves open is an error: registers never written, shuffles from inactive lanes, races inside a warp, copies not waited for.
    #[arg(long)]
    strict: bool,
    /// Count what every launch executes, on the interpreter, and show it by kernel when the program has ended.
    #[arg(long)]
    stats: bool,
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

/// Runs the program to its end and shows what its launches were counted to execute.
fn count(mut command: std::process::Command, program: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::usage(format!("{program}: {e}"));
    let counted = tempfile::NamedTempFile::new().map_err(failed)?;
    let status = command.env("HOSTWARP_STATS", counted.path()).status().map_err(failed)?;
    let lines = std::fs::read_to_string(counted.path()).map_err(failed)?;
    // The program's own output is on stdout.
    anstream::eprint!("{}", table(&lines));
    drop(counted);
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|n| 128 + n);
    #[cfg(not(unix))]
    let signal = None;
    match status.code().or(signal).unwrap_or(1) {
        0 => Ok(()),
        code => std::process::exit(code),
    }
}

/// By kernel, those that execute most first.
fn table(lines: &str) -> String {
    use std::fmt::Write;
    struct Kernel {
        launches: u64,
        warps: u64,
        threads: u64,
        /// Bytes of global memory and of shared.
        bytes: [u64; 2],
        opcodes: std::collections::BTreeMap<String, u64>,
    }
    let mut kernels: std::collections::BTreeMap<String, Kernel> = Default::default();
    for launch in lines.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok()) {
        let number = |v: &serde_json::Value| v.as_u64().unwrap_or(0);
        let name = launch["kernel"].as_str().unwrap_or_default().to_string();
        let new = || Kernel { launches: 0, warps: 0, threads: 0, bytes: [0; 2], opcodes: Default::default() };
        let kernel = kernels.entry(name).or_insert_with(new);
        kernel.launches += 1;
        kernel.warps += number(&launch["warp_instructions"]);
        kernel.threads += number(&launch["thread_instructions"]);
        for m in launch["memory"].as_array().into_iter().flatten() {
            for (bytes, space) in kernel.bytes.iter_mut().zip(["global", "shared"]) {
                *bytes += if m["space"] == space { number(&m["bytes"]) } else { 0 };
            }
        }
        for (opcode, warps) in launch["opcodes"].as_object().into_iter().flatten() {
            *kernel.opcodes.entry(opcode.clone()).or_default() += number(warps);
        }
    }
    if kernels.is_empty() {
        return "no kernel was launched\n".into();
    }
    let mut all: Vec<(String, Kernel)> = kernels.into_iter().collect();
    all.sort_by_key(|(_, k)| std::cmp::Reverse(k.warps));
    let mut out = format!(
        "{:>9} {:>14} {:>6} {:>14} {:>14}  kernel\n",
        "launches", "warp instrs", "lanes", "global bytes", "shared bytes"
    );
    for (name, k) in &all {
        let lanes = k.threads as f64 / k.warps.max(1) as f64;
        let [global, shared] = k.bytes;
        let _ =
            writeln!(out, "{:>9} {:>14} {lanes:>6.2} {global:>14} {shared:>14}  {name}", k.launches, k.warps);
        let mut most: Vec<(&String, &u64)> = k.opcodes.iter().collect();
        most.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let shown: Vec<String> = most.iter().take(5).map(|(opcode, n)| format!("{opcode} {n}")).collect();
        let _ = writeln!(out, "{:>9} mostly {}", "", shown.join(", "));
    }
    out
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
        if self.strict {
            command.env("HOSTWARP_STRICT", "1");
        }
        if self.stats {
            return count(command, &program.to_string_lossy());
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

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn launches_are_added_up_by_kernel() {
        let launch = |kernel: &str, warps: u64| {
            format!(
                "{{\"kernel\":\"{kernel}\",\"warp_instructions\":{warps},\"thread_instructions\":{},\"opcodes\":{{\"add.u32\":{warps}}},\"memory\":[{{\"space\":\"global\",\"access\":\"load\",\"bytes\":64,\"transactions\":2}}]}}\n",
                16 * warps
            )
        };
        let text = table(&[launch("few", 10), launch("many", 70), launch("many", 30)].concat());
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["2", "100", "16.00", "128", "0", "many"]);
        assert_eq!(rows[2], ["mostly", "add.u32", "100"]);
        assert_eq!(rows[3], ["1", "10", "16.00", "64", "0", "few"]);
        assert_eq!(table(""), "no kernel was launched\n");
    }
}
