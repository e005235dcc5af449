//! Runs the campaign in a child process, so that a kernel that kills it is a failure like any other: found, named and reduced.

use hostwarp_torture::run::Case;
use hostwarp_torture::subject::Subject;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Children are told by this variable; they say which kernels they begin and end.
pub const CHILD: &str = "HOSTWARP_TORTURE_CHILD";

/// How a child ended, and the kernels it had begun and not ended.
struct End {
    status: ExitStatus,
    under_way: BTreeSet<u64>,
    /// The kernel after the last that was begun.
    next: Option<u64>,
}

fn child(args: &[String]) -> Result<End, String> {
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(exe)
        .args(args)
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut under_way = BTreeSet::new();
    let mut next = None;
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.map_err(|e| e.to_string())?;
        let seed = |prefix: &str| line.strip_prefix(prefix).and_then(|s| s.parse::<u64>().ok());
        if let Some(seed) = seed("begin ") {
            under_way.insert(seed);
            next = next.max(Some(seed + 1));
        } else if let Some(seed) = seed("end ") {
            under_way.remove(&seed);
        } else {
            println!("{line}");
        }
    }
    Ok(End { status: child.wait().map_err(|e| e.to_string())?, under_way, next })
}

/// Whether the process was killed, rather than ended.
fn died(status: ExitStatus) -> bool {
    status.code().is_none()
}

/// Runs kernels `seed..end` with the options in `args`, in as many children as it takes. True if nothing failed.
pub fn run(args: &[String], seed: u64, end: u64) -> Result<bool, String> {
    let (mut from, mut fine) = (seed, true);
    loop {
        let mut args = args.to_vec();
        for (name, value) in [("--seed", from), ("--kernels", end - from)] {
            args.extend([name.to_string(), value.to_string()]);
        }
        let ended = child(&args)?;
        if !died(ended.status) {
            return Ok(fine && ended.status.success());
        }
        fine = false;
        println!("the process died ({}) with kernels {:?} under way", ended.status, ended.under_way);
        for seed in ended.under_way {
            find(seed)?;
        }
        match ended.next {
            Some(next) if next < end => from = next,
            _ => return Ok(false),
        }
    }
}

/// Runs one kernel that may have killed a process; if it does so again, makes it small.
fn find(seed: u64) -> Result<(), String> {
    let alone = ["--kernels", "1", "--seed", &seed.to_string(), "--jobs", "1"].map(String::from);
    let ended = child(&alone)?;
    if !died(ended.status) {
        return Ok(());
    }
    println!("seed {seed}: killed its process: {}", ended.status);
    let file: PathBuf = std::env::temp_dir().join(format!("torture-{}-{seed}.ptx", std::process::id()));
    let kills = |case: &Case| {
        let replay = ["replay".to_string(), file.display().to_string()];
        std::fs::write(&file, &case.text).is_ok() && child(&replay).is_ok_and(|e| died(e.status))
    };
    let (small, _) = Subject::make(seed).reduce(kills);
    println!("  reduced:\n{}", small.text);
    std::fs::remove_file(&file).map_err(|e| e.to_string())
}
