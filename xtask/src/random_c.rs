//! `cargo xtask random-c`: random C programs as kernels, compared with what the host's own compiler makes of them.
//!
//! csmith writes the programs, clang compiles them for nvptx64 at every level of optimisation, the host's `cc` for the host; both engines must print what the
//! host's program prints. What this has that `torture` has not: structures by value, pointers to pointers, unions, bit fields, `goto`s, arrays, and PTX that
//! somebody else's compiler wrote. All three come from Debian and are installed when they are not there.

use crate::dropin::{root, said};
use crate::{Result, cargo, setup};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PACKAGES: &[&str] = &["csmith", "libcsmith-dev", "clang-19", "gcc", "libc6-dev"];
const CLANG: &str = "clang-19";

/// Programs that are not one function after the other of a thousand lines; a GPU has no unaligned accesses, so no packed structures.
const FORM: &[&str] = &["--no-argc", "--no-packed-struct", "--max-funcs", "4"];
const SIZE: &[&str] = &["--max-block-size", "3", "--max-block-depth", "4"];

struct Options {
    count: u64,
    seed: u64,
    /// Seconds that a program may take on an engine.
    timeout: u64,
}

fn options() -> Result<Options> {
    let mut options = Options { count: 100, seed: 1, timeout: 60 };
    let mut arguments = std::env::args().skip(2);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = value.parse::<u64>().map_err(|_| format!("`{value}` is no number"))?;
        match name.as_str() {
            "--count" => options.count = number,
            "--seed" => options.seed = number,
            "--timeout" => options.timeout = number,
            _ => {
                return Err(format!(
                    "unknown option `{name}`; there are --count N, --seed N, --timeout SECONDS"
                ));
            }
        }
    }
    Ok(options)
}

/// What became of a program.
enum Outcome {
    /// All engines print what the host prints.
    Same,
    /// The host's program does not end soon: nothing to compare.
    Endless,
    /// As the first, but the jit says that it is too large for it.
    TooLarge,
    Different(String),
}

/// The command.
pub fn run() -> Result {
    let options = options()?;
    let out = root().join("target/random-c");
    said(fs::create_dir_all(&out), &out)?;
    // csmith leaves a file wherever it is run.
    let there = |program: &str| Command::new(program).arg("--version").current_dir(&out).output().is_ok();
    if !there(CLANG) || !there("csmith") {
        setup::apt(PACKAGES)?;
    }
    cargo(&["build", "--release", "--quiet", "-p", "hostwarp-cli"], &[])?;
    let (mut same, mut endless, mut too_large, mut lines, mut different) = (0, 0, 0, 0, vec![]);
    for seed in options.seed..options.seed + options.count {
        let program = Program { seed, dir: &out, timeout: options.timeout };
        match program.compare(&mut lines)? {
            Outcome::Same => same += 1,
            Outcome::Endless => endless += 1,
            Outcome::TooLarge => too_large += 1,
            Outcome::Different(how) => {
                println!("seed {seed}: {how}");
                different.push(seed);
            }
        }
    }
    println!("{same} programs alike on the host and both engines ({lines} lines of PTX)");
    println!(
        "{too_large} alike on the host and the interpreter, and too large for the jit; {endless} that do not end on the host"
    );
    if same == 0 {
        return Err("nothing was compared".into());
    }
    if different.is_empty() {
        Ok(())
    } else {
        Err(format!("different: seeds {different:?}; see {}", out.display()))
    }
}

struct Program<'a> {
    seed: u64,
    dir: &'a Path,
    timeout: u64,
}

impl Program<'_> {
    fn file(&self, extension: &str) -> PathBuf {
        self.dir.join(format!("{}.{extension}", self.seed))
    }

    /// Threads would share global variables, so every third program has them, and one thread.
    fn lanes(&self) -> u32 {
        if self.seed.is_multiple_of(3) { 1 } else { 64 }
    }

    fn compare(&self, lines: &mut usize) -> Result<Outcome> {
        let (source, host, ptx) = (self.file("c"), self.file("host"), self.file("ptx"));
        let seed = self.seed.to_string();
        let globals: &[&str] = if self.lanes() == 1 { &[] } else { &["--no-global-variables"] };
        let mut csmith = Command::new("csmith");
        csmith.args(FORM).args(SIZE).args(globals).args(["--seed", &seed, "-o"]).arg(&source);
        done(csmith.current_dir(self.dir))?;

        let headers = root().join("tests/random_c");
        let compile = |mut compiler: Command, to: &Path| {
            let program = format!("-DPROGRAM=\"{}\"", source.display());
            let lanes = format!("-DLANES={}", self.lanes());
            compiler.args([
                "-w",
                "-fwrapv",
                "-fno-strict-aliasing",
                &program,
                &lanes,
                "-isystem",
                "/usr/include/csmith",
                "-I",
            ]);
            done(compiler.arg(&headers).arg(headers.join("main.c")).arg("-o").arg(to))
        };
        let mut cc = Command::new("cc");
        cc.arg("-O1");
        compile(cc, &host)?;
        let level = ["-O0", "-O1", "-O2", "-O3"][(self.seed / 3 % 4) as usize];
        let arch = ["-march=sm_75", "-march=sm_80", "-march=sm_90"][(self.seed / 12 % 3) as usize];
        let mut clang = Command::new(CLANG);
        clang.args(["--target=nvptx64-nvidia-cuda", arch, level, "-ffreestanding", "-nostdlibinc", "-S"]);
        compile(clang, &ptx)?;

        let Some(expected) = within(Command::new(&host), Duration::from_secs(5))? else {
            return Ok(Outcome::Endless);
        };
        for engine in ["interp", "jit"] {
            let result = self.file(engine);
            let mut hostwarp = Command::new(root().join("target/release/hostwarp"));
            hostwarp.arg("run").arg(&ptx).args(["--engine", engine, "--no-cache", "--block"]);
            hostwarp.arg(self.lanes().to_string()).args(["--timeout", &self.timeout.to_string()]);
            hostwarp
                .arg(format!("0=u64[{}]", self.lanes()))
                .arg("--out")
                .arg(format!("0={}", result.display()));
            let output = said(hostwarp.output(), &ptx)?;
            if engine == "jit" && output.status.code() == Some(5) {
                return Ok(Outcome::TooLarge);
            }
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Ok(Outcome::Different(format!("{engine} ({level} {arch}): {said}")));
            }
            if said(fs::read(&result), &result)? != expected {
                return Ok(Outcome::Different(format!(
                    "{engine} ({level} {arch}): other values than the host's"
                )));
            }
        }
        *lines += said(fs::read_to_string(&ptx), &ptx)?.lines().count();
        for file in ["c", "host", "ptx", "interp", "jit"] {
            said(fs::remove_file(self.file(file)), self.dir)?;
        }
        Ok(Outcome::Same)
    }
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> Result {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// What a command prints, if it ends in time.
fn within(mut command: Command, limit: Duration) -> Result<Option<Vec<u8>>> {
    // A lane's line is eight bytes: what is printed fits into the pipe.
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if began.elapsed() < limit => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            Err(e) => return Err(format!("{command:?}: {e}")),
        }
    }
    let output = child.wait_with_output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        Ok(Some(output.stdout))
    } else {
        Err(format!("{command:?}: {}", output.status))
    }
}
