//! `hostwarp doctor`: what this machine offers.

use crate::cache;
use crate::failure::Failure;
use crate::output::{self, BOLD, DIM};
use hostwarp::Device;
use hostwarp::jit::target::Target;
use serde_json::json;

/// Show what this machine offers: CPU, memory, LLVM for the fast engine, kernels kept compiled.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp doctor

Without an LLVM all kernels run, with the same bits, on the interpreter.")]
pub struct Doctor {
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

impl Doctor {
    pub fn run(self) -> Result<(), Failure> {
        let device = Device::new()?;
        let target = Target::host();
        let llvm = device.llvm();
        let memory = device.memory().info();
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let cache = cache::cache()?;
        let ready = llvm.is_ok() && target.is_some();
        if self.json {
            let value = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "architecture": std::env::consts::ARCH,
                "system": std::env::consts::OS,
                "cpu": target.as_ref().map(|t| json!({
                    "features": t.features,
                    "vector_bits": t.vector_bits,
                })),
                "cores": cores,
                "device_memory": memory.capacity,
                "llvm": llvm.as_ref().ok().map(|l| json!({
                    "path": l.path().display().to_string(),
                    "version": l.version().to_string(),
                })),
                "llvm_error": llvm.as_ref().err(),
                "cache": cache.as_ref().map(|c| match c.usage() {
                    Ok(u) => json!({
                        "directory": c.directory().display().to_string(),
                        "kernels": u.entries,
                        "bytes": u.bytes,
                        "limit": c.limit(),
                    }),
                    Err(e) => json!({
                        "directory": c.directory().display().to_string(),
                        "error": e.to_string(),
                    }),
                }),
                "engine": if ready { "jit" } else { "interp" },
            });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let mut out = format!("{BOLD}hostwarp {}{BOLD:#}\n", env!("CARGO_PKG_VERSION"));
        let mut row = |name: &str, value: String| out += &format!("  {DIM}{name:8}{DIM:#} {value}\n");
        let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
        row("system", format!("{arch}, {os}, {cores} cores"));
        match &target {
            Some(t) => {
                row("vectors", format!("{} bits", t.vector_bits));
                let features = output::wrap(&t.features.join(" "), "           ");
                row("features", features.trim().to_string());
            }
            None => {
                row("vectors", "the jit makes no code for this CPU; the interpreter runs everything".into())
            }
        }
        row("memory", format!("{} GiB of device memory, taken only when used", memory.capacity >> 30));
        match &llvm {
            Ok(l) => row("LLVM", format!("{} at {}", l.version(), l.path().display())),
            Err(why) => row("LLVM", format!("none: {}", why.trim_end().replace('\n', "\n           "))),
        }
        match &cache {
            Some(c) => {
                let holds = match c.usage() {
                    Ok(u) => format!(
                        "{} compiled kernel{}, {:.1} of at most {} MiB",
                        u.entries,
                        if u.entries == 1 { "" } else { "s" },
                        u.bytes as f64 / f64::from(1 << 20),
                        c.limit() >> 20,
                    ),
                    Err(e) => format!("not used: {e}"),
                };
                row("cache", format!("{}: {holds}", c.directory().display()));
            }
            None => row("cache", "off".into()),
        }
        row("engine", if ready { "jit" } else { "interp" }.into());
        Ok(output::print(&out)?)
    }
}
