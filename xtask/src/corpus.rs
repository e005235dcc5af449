//! `cargo xtask corpus`: PTX files made by real compilers from the sources in `tests/corpus/sources`, and whether `check` and ptxas agree on them.
//!
//! nvcc with many options, Triton, numba-cuda and tinygrad, all from PyPI, installed into `target/corpus`; clang and llc from Debian. `--check` compares the verdicts and prints what keeps
//! kernels from running, most frequent first; `--keep` copies a part to `tests/corpus/ptx`, which the tests check without any compiler.

use crate::Result;
use hostwarp_compile::{Options, Severity, compile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What nvcc is asked for: the name of the file says which.
const OPTIONS: &[(&str, &[&str])] = &[
    ("c75", &["-arch=compute_75"]),
    ("c80", &["-arch=compute_80"]),
    ("c90", &["-arch=compute_90"]),
    ("c90a", &["-arch=compute_90a"]),
    ("c100", &["-arch=compute_100"]),
    ("c75-G", &["-arch=compute_75", "-G"]),
    ("c90-G", &["-arch=compute_90", "-G"]),
    ("c90-O1", &["-arch=compute_90", "-Xcicc", "-O1"]),
    ("c90-lineinfo", &["-arch=compute_90", "-lineinfo"]),
    ("c75-fast", &["-arch=compute_75", "-use_fast_math"]),
    ("c90-fast", &["-arch=compute_90", "-use_fast_math"]),
    ("c100-fast", &["-arch=compute_100", "-use_fast_math"]),
    ("c80-rdc", &["-arch=compute_80", "-rdc=true"]),
    ("c90-rdc", &["-arch=compute_90", "-rdc=true"]),
];

/// What clang is asked for: a level and a target.
const CLANG: &[(&str, &str)] = &[
    ("-O0", "sm_60"),
    ("-O0", "sm_90"),
    ("-O1", "sm_75"),
    ("-O2", "sm_80"),
    ("-O3", "sm_90"),
    ("-Os", "sm_75"),
];

/// What `llc` is asked for, from what clang has made of the source at `-O1`.
const LLC: &[(&str, &str)] = &[("-O0", "sm_75"), ("-O2", "sm_75"), ("-O3", "sm_90")];

/// Of functions of the math library, fewer will do.
const MATH_OPTIONS: &[&str] = &["c75", "c90", "c90-fast"];

/// The math library, by the number of arguments. Every function is there in `f32`, with an `f` behind its name, and in `f64`.
const MATH: &[(usize, &str)] = &[
    (
        1,
        "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1",
    ),
    (
        1,
        "fabs floor j0 j1 lgamma log log10 log1p log2 logb nearbyint normcdf normcdfinv rcbrt rint round rsqrt sin sinh sinpi",
    ),
    (1, "sqrt tan tanh tgamma trunc y0 y1 cyl_bessel_i0 cyl_bessel_i1"),
    (2, "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder rhypot"),
    (3, "fma norm3d rnorm3d"),
];

/// What clang needs to know where there is no host.
const FREESTANDING: &[&str] = &[
    "--target=nvptx64-nvidia-cuda",
    "-std=c17",
    "-ffreestanding",
    "-nostdlibinc",
    "-ffp-contract=off",
    "-w",
];

/// The packages that hold the compilers.
const PACKAGES: &[&str] = &[
    "nvidia-cuda-nvcc",
    "nvidia-cuda-cccl",
    "nvidia-cuda-runtime",
    "nvidia-cuda-nvrtc",
    "nvidia-nvvm",
    "numba-cuda",
    "numpy",
    "tinygrad",
    "triton",
];

/// Files in `tests/corpus/ptx` are no larger than this each, and all together than ten times this.
const KEPT_EACH: u64 = 64 << 10;
const KEPT_ALL: u64 = 5 * (512 << 10);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The command.
pub fn run() -> Result {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    if let Some(other) = arguments.iter().find(|a| !matches!(a.as_str(), "--check" | "--keep")) {
        return Err(format!("unknown option `{other}`; there are --check and --keep"));
    }
    let tools = Tools::install(&root().join("target/corpus"))?;
    tools.make()?;
    if arguments.iter().any(|a| a == "--check") {
        tools.check()?;
    }
    if arguments.iter().any(|a| a == "--keep") {
        tools.keep()?;
    }
    Ok(())
}

/// The compilers, and where files go.
struct Tools {
    python: PathBuf,
    /// The folder of nvcc's package.
    cuda: PathBuf,
    /// Sources that are written by this command.
    sources: PathBuf,
    ptx: PathBuf,
}

impl Tools {
    fn install(folder: &Path) -> Result<Tools> {
        let venv = folder.join("venv");
        let installed = || -> Option<PathBuf> {
            let lib = std::fs::read_dir(venv.join("lib")).ok()?;
            let packages = lib.flatten().flat_map(|python| {
                let nvidia = std::fs::read_dir(python.path().join("site-packages/nvidia"));
                nvidia.into_iter().flatten().flatten().map(|package| package.path())
            });
            packages.into_iter().find(|p| p.join("bin/nvcc").is_file())
        };
        let done = venv.join("installed");
        if !done.is_file() {
            crate::run("python3", &["-m", "venv", &venv.to_string_lossy()], &[])?;
            let pip = venv.join("bin/pip");
            let arguments: Vec<&str> = ["install", "--quiet"].iter().chain(PACKAGES).copied().collect();
            crate::run(&pip.to_string_lossy(), &arguments, &[])?;
            write(&done, "")?;
        }
        if ["clang-19", "llc-19"].iter().any(|tool| Command::new(tool).arg("--version").output().is_err()) {
            crate::setup::apt(&["clang-19", "llvm-19"])?;
        }
        let cuda = installed().ok_or("the package nvidia-cuda-nvcc has no bin/nvcc")?;
        let (sources, ptx) = (folder.join("sources"), folder.join("ptx"));
        for folder in [&sources, &ptx] {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        Ok(Tools { python: venv.join("bin/python"), cuda, sources, ptx })
    }

    /// Makes every file that is not there yet.
    fn make(&self) -> Result {
        let given = root().join("tests/corpus/sources");
        let mut jobs: Vec<Box<dyn Fn() -> Result + Sync + Send + '_>> = vec![];
        for source in files(&given, "cu")? {
            for (name, options) in OPTIONS {
                let source = source.clone();
                jobs.push(Box::new(move || self.nvcc(&source, name, options)));
            }
        }
        for (name, text) in math() {
            let source = self.sources.join(name);
            write(&source, &text)?;
            for (name, options) in OPTIONS.iter().filter(|(name, _)| MATH_OPTIONS.contains(name)) {
                let source = source.clone();
                jobs.push(Box::new(move || self.nvcc(&source, name, options)));
            }
        }
        for source in files(&given, "c")? {
            let source = std::sync::Arc::new(source);
            for (level, target) in CLANG {
                let source = source.clone();
                jobs.push(Box::new(move || self.clang(&source, level, target)));
            }
            for (level, target) in LLC {
                let source = source.clone();
                jobs.push(Box::new(move || self.llc(&source, level, target)));
            }
        }
        for script in files(&given, "py")? {
            jobs.push(Box::new(move || self.python(&script)));
        }
        for failure in all(&jobs, |job| job().err()).into_iter().flatten() {
            println!("not made: {failure}");
        }
        println!("{} files in {}", files(&self.ptx, "ptx")?.len(), self.ptx.display());
        Ok(())
    }

    fn nvcc(&self, source: &Path, name: &str, options: &[&str]) -> Result {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let out = self.ptx.join(format!("{stem}.{name}.ptx"));
        if out.is_file() {
            return Ok(());
        }
        let mut command = Command::new(self.cuda.join("bin/nvcc"));
        command.args(["-std=c++17", "-ptx", "-w"]).args(options);
        command.arg("-I").arg(self.cuda.join("include/cccl")).arg("-I").arg(self.cuda.join("include"));
        call(command.arg("-o").arg(&out).arg(source), &format!("{stem}.{name}"))
    }

    fn clang(&self, source: &Path, level: &str, target: &str) -> Result {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}.clang{level}-{}", &target[3..]);
        let out = self.ptx.join(format!("{name}.ptx"));
        if out.is_file() {
            return Ok(());
        }
        let mut command = Command::new("clang-19");
        command.args(FREESTANDING).args([level, "-S"]).arg(format!("-march={target}"));
        call(command.arg("-o").arg(&out).arg(source), &name)
    }

    fn llc(&self, source: &Path, level: &str, target: &str) -> Result {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}.llc{level}-{}", &target[3..]);
        let (ir, out) = (self.sources.join(format!("{name}.ll")), self.ptx.join(format!("{name}.ptx")));
        if out.is_file() {
            return Ok(());
        }
        let mut command = Command::new("clang-19");
        command.args(FREESTANDING).args(["-O1", "-S", "-emit-llvm"]).arg(format!("-march={target}"));
        call(command.arg("-o").arg(&ir).arg(source), &name)?;
        let mut command = Command::new("llc-19");
        call(command.args([level, &format!("-mcpu={target}"), "-o"]).arg(&out).arg(&ir), &name)
    }

    /// A script that writes what its compiler makes to the folder it is given.
    fn python(&self, script: &Path) -> Result {
        let stem = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let done = self.sources.join(format!("{stem}.done"));
        if done.is_file() {
            return Ok(());
        }
        call(Command::new(&self.python).arg(script).arg(&self.ptx), &stem)?;
        write(&done, "")
    }

    /// Compares the verdicts on every file.
    fn check(&self) -> Result {
        let paths = files(&self.ptx, "ptx")?;
        let verdicts = all(&paths, |path| self.judge(path));
        let (mut agree, mut clean) = (0, 0);
        let mut causes: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (path, verdict) in paths.iter().zip(verdicts) {
            let (theirs, ours) = verdict?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if theirs.is_ok() == ours.wrong.is_none() {
                agree += 1;
            } else {
                let ours = ours.wrong.clone().unwrap_or_else(|| "accepted here".into());
                println!(
                    "{name}: ptxas: {}; here: {ours}",
                    theirs.err().unwrap_or_else(|| "accepted".into())
                );
            }
            clean += usize::from(ours.wrong.is_none() && ours.later.is_empty());
            for cause in ours.later {
                causes.entry(cause).or_insert((0, name.clone())).0 += 1;
            }
        }
        println!(
            "{agree} of {} files have the same verdict; {clean} have nothing that is not supported yet",
            paths.len()
        );
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (cause, (count, example)) in causes {
            println!("{count:5}  {cause}  ({example})");
        }
        if agree == paths.len() { Ok(()) } else { Err(format!("{} files disagree", paths.len() - agree)) }
    }

    /// What ptxas says about a file, which is remembered beside it, and what Hostwarp says.
    fn judge(&self, path: &Path) -> Result<(Result, Ours)> {
        let text = read(path)?;
        let remembered = path.with_extension("verdict");
        let theirs = match std::fs::read_to_string(&remembered) {
            Ok(verdict) => verdict,
            Err(_) => {
                let verdict = self.ptxas(path, &text)?.err().unwrap_or_default();
                write(&remembered, &verdict)?;
                verdict
            }
        };
        Ok((if theirs.is_empty() { Ok(()) } else { Err(theirs) }, verdict(&text)))
    }

    fn ptxas(&self, path: &Path, text: &str) -> Result<Result> {
        let target =
            text.split(".target").nth(1).and_then(|t| t.split([',', '\n']).next()).unwrap_or("").trim();
        let number: u32 = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']).parse().unwrap_or(0);
        let target = if number < 75 { "sm_75" } else { target };
        let mut command = Command::new(self.cuda.join("bin/ptxas"));
        // Functions of other files are not looked for, and as little is made of the code as can be.
        command.args(["-c", "-O0", "-arch", target, "-o", "/dev/null"]).arg(path);
        let out = command.output().map_err(|e| format!("ptxas: {e}"))?;
        let said = String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or("failed").to_string();
        Ok(if out.status.success() { Ok(()) } else { Err(said) })
    }

    /// Copies small files of every compiler, and of nvcc one of each source with options in turn, to the tests.
    fn keep(&self) -> Result {
        let to = root().join("tests/corpus/ptx");
        std::fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
        for old in files(&to, "ptx")? {
            std::fs::remove_file(&old).map_err(|e| format!("{}: {e}", old.display()))?;
        }
        let here = root().canonicalize().map_err(|e| format!("{}: {e}", root().display()))?;
        let here = here.to_string_lossy().into_owned();
        let mut taken = 0;
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut turn = 0;
        for path in files(&self.ptx, "ptx")? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let stem = name.split('.').next().unwrap_or("").to_string();
            let size = path.metadata().map_or(u64::MAX, |m| m.len());
            let count = seen.entry(stem.clone()).or_default();
            *count += 1;
            turn += 1;
            // Of each source one, and every seventh of the others; of the math library every ninth.
            let wanted = if stem.starts_with("math_") { turn % 9 == 0 } else { *count == 1 || turn % 7 == 0 };
            // CUB's code is not ours; what is wrong somewhere else is no test of what is right here.
            let own = !stem.starts_with("cub_");
            let right = wanted && own && matches!(self.judge(&path)?, (Ok(()), Ours { wrong: None, .. }));
            if right && !tells_place(&read(&path)?, &here) && size <= KEPT_EACH && taken + size <= KEPT_ALL {
                taken += size;
                std::fs::copy(&path, to.join(&name)).map_err(|e| format!("{name}: {e}"))?;
            }
        }
        println!("{} files, {taken} bytes in {}", files(&to, "ptx")?.len(), to.display());
        Ok(())
    }
}

/// Whether a file tells where it was made, as text or byte by byte as debugging information does.
fn tells_place(text: &str, place: &str) -> bool {
    let numbers = |line: &str| -> Vec<u8> {
        let line = line.split(['\n', ';']).next().unwrap_or("");
        line.split(',').filter_map(|n| n.trim().parse().ok()).collect()
    };
    let bytes: Vec<u8> = text.split(".b8").skip(1).flat_map(numbers).collect();
    text.contains(place) || bytes.windows(place.len()).any(|w| w == place.as_bytes())
}

/// What Hostwarp says about a file.
struct Ours {
    /// The first error.
    wrong: Option<String>,
    /// What is not supported yet.
    later: BTreeSet<String>,
}

fn verdict(text: &str) -> Ours {
    let options = Options { check_only: true, ..Options::default() };
    let output = compile(&hostwarp_syntax::parse(text), &options);
    let of = |severity: Severity| output.diagnostics.iter().filter(move |d| d.severity == severity);
    Ours {
        wrong: of(Severity::Error).next().map(|d| format!("{} {}", d.code, d.message)),
        later: of(Severity::Unsupported).map(|d| d.message.clone()).collect(),
    }
}

/// A kernel for each function of the math library, and the name of its file.
fn math() -> Vec<(String, String)> {
    let mut out = vec![];
    for (arguments, names) in MATH {
        for name in names.split_whitespace() {
            let mut text = String::new();
            for (ty, suffix) in [("float", "f"), ("double", "")] {
                let values: Vec<String> =
                    (0..*arguments).map(|i| format!("x[{arguments} * i + {i}]")).collect();
                text += &format!(
                    "extern \"C\" __global__ void math_{name}{suffix}(const {ty} *x, {ty} *y, int n) {{\n    \
                     int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = {name}{suffix}({});\n}}\n",
                    values.join(", ")
                );
            }
            out.push((format!("math_{name}.cu"), text));
        }
    }
    out
}

/// Does something with each of many, as many at once as there are processors.
fn all<T: Sync, R: Send>(list: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = list.get(i) else { break };
                    let result = f(one);
                    results.lock().expect("no thread panics").push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}

fn call(command: &mut Command, what: &str) -> Result {
    let out = command.output().map_err(|e| format!("{what}: {e}"))?;
    let said = String::from_utf8_lossy(&out.stderr);
    match out.status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {}", said.lines().find(|l| l.contains("rror")).unwrap_or("failed"))),
    }
}

/// The files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let list = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut all: Vec<PathBuf> = list.flatten().map(|e| e.path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == extension));
    all.sort();
    Ok(all)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
