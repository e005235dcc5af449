//! What ptxas says: many instructions in one run where that gives the same verdict, one where it might not.

use crate::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What ptxas says about an instruction: `Err` holds its first error.
pub type Verdict = std::result::Result<(), String>;

/// Kernels in one run.
const BATCH: usize = 64;

/// What can be judged: a kernel on one line and what stands before it, which many can share.
pub trait Judgeable: Sync {
    /// What `.target` says.
    fn target(&self) -> &str;
    /// What must stand before the kernel, lines of which the last is whole.
    fn prologue(&self) -> String;
    /// The kernel, on one line.
    fn kernel(&self, name: &str) -> String;
    /// The opcode that errors are about.
    fn opcode(&self) -> &str;
    /// Not worth a try among others.
    fn alone(&self) -> bool {
        false
    }
    /// The whole module.
    fn module(&self) -> String {
        self.prologue() + &self.kernel("k")
    }
}

/// How long a run may take: making code for some kernels it never ends, which is a crash like others.
const PATIENCE: Duration = Duration::from_secs(10);

/// ptxas, and where its input goes.
pub struct Ptxas {
    program: PathBuf,
    folder: PathBuf,
    runs: AtomicUsize,
}

impl Ptxas {
    /// The given one, or one installed into `target/ptxas` from PyPI.
    pub fn find(given: Option<&str>) -> Result<Ptxas> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let folder = root.join("target/ptxas");
        let modules = folder.join("modules");
        std::fs::create_dir_all(&modules).map_err(|e| format!("{}: {e}", modules.display()))?;
        let program = match given {
            Some(path) => PathBuf::from(path),
            None => install(&folder.join("venv"))?,
        };
        Ok(Ptxas { program, folder: modules, runs: AtomicUsize::new(0) })
    }

    /// The line of `--version` that says which one it is.
    pub fn version(&self) -> Result<String> {
        let out = Command::new(&self.program).arg("--version").output();
        let out = out.map_err(|e| format!("{}: {e}", self.program.display()))?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let line = text.lines().find(|l| l.contains("release")).unwrap_or("ptxas of unknown version");
        Ok(line.trim().to_string())
    }

    /// How often it was started.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// The verdicts on all samples, in their order.
    pub fn judge<T: Judgeable>(&self, samples: &[T]) -> Result<Vec<Verdict>> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut alone = vec![];
        for (i, s) in samples.iter().enumerate() {
            match s.alone() {
                true => alone.push(i),
                false => groups.entry(s.prologue()).or_default().push(i),
            }
        }
        let batches = groups.values().flat_map(|g| g.chunks(BATCH)).chain(alone.chunks(1));
        let batches: Vec<&[usize]> = batches.collect();
        let next = AtomicUsize::new(0);
        let verdicts: Mutex<Vec<Option<Verdict>>> = Mutex::new(vec![None; samples.len()]);
        let failure: Mutex<Option<String>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.batch(samples, batch) {
                            Ok(found) => {
                                let mut all = verdicts.lock().expect("no thread panics");
                                for (i, verdict) in found {
                                    all[i] = Some(verdict);
                                }
                            }
                            Err(e) => *failure.lock().expect("no thread panics") = Some(e),
                        }
                    }
                });
            }
        });
        if let Some(e) = failure.into_inner().expect("no thread panics") {
            return Err(e);
        }
        let all = verdicts.into_inner().expect("no thread panics");
        Ok(all.into_iter().map(|v| v.expect("every sample is in a batch")).collect())
    }

    /// The verdict on one sample among others, or in a module of its own where it is another than ours: what ptxas says of one kernel is at
    /// times about another in the same file.
    pub fn once_more<T: Judgeable>(&self, sample: &T, legal: bool, together: Verdict) -> Result<Verdict> {
        if legal == together.is_ok() || sample.alone() { Ok(together) } else { self.judge_alone(sample) }
    }

    /// The verdict on one sample in a module of its own.
    pub fn judge_alone<T: Judgeable>(&self, sample: &T) -> Result<Verdict> {
        self.judge_module(&sample.module(), sample.target())
    }

    fn judge_module(&self, module: &str, target: &str) -> Result<Verdict> {
        let (passed, messages) = self.run(module, &architecture(target))?;
        if passed {
            return Ok(Ok(()));
        }
        match messages.first() {
            Some(first) if !first.text.contains("Internal compiler error") => Ok(Err(first.text.clone())),
            // It crashed making code; what it thinks of the text can still be had.
            _ => {
                let virtual_target = architecture(target).replace("sm_", "compute_");
                let (passed, messages) = self.run(module, &virtual_target)?;
                let first = messages.first().map_or("failed without a word", |m| m.text.as_str());
                Ok(if passed { Ok(()) } else { Err(first.to_string()) })
            }
        }
    }

    /// The verdict on what stands before the kernels.
    fn head<T: Judgeable>(&self, sample: &T) -> Result<Verdict> {
        self.judge_module(&(sample.prologue() + ".visible .entry k() { ret; }"), sample.target())
    }

    /// Runs what is left of a batch until nothing in it is wrong: some errors are only looked for where there are no others.
    fn batch<T: Judgeable>(&self, samples: &[T], batch: &[usize]) -> Result<Vec<(usize, Verdict)>> {
        let mut out = vec![];
        let mut left = batch.to_vec();
        while let Some(first) = left.first().map(|i| &samples[*i]) {
            let prologue = first.prologue();
            let first_line = prologue.lines().count() + 1;
            let kernels: Vec<String> =
                left.iter().enumerate().map(|(k, i)| samples[*i].kernel(&format!("k{k}"))).collect();
            let (passed, messages) =
                self.run(&(prologue + &kernels.concat()), &architecture(first.target()))?;
            if passed {
                out.extend(left.drain(..).map(|i| (i, Ok(()))));
                continue;
            }
            if left.len() == 1 {
                out.push((left[0], self.judge_alone(&samples[left[0]])?));
                break;
            }
            // What is wrong with the head is wrong with all. But ptxas also gives such lines for code of its own that it expands.
            let in_head = |m: &Message| m.line.is_some_and(|l| l < first_line);
            if messages.iter().any(in_head)
                && let Err(why) = self.head(first)?
            {
                out.extend(left.drain(..).map(|i| (i, Err(why.clone()))));
                continue;
            }
            let mut wrong: BTreeMap<usize, &Message> = BTreeMap::new();
            for m in &messages {
                if let Some(k) = m.line.and_then(|l| l.checked_sub(first_line)).filter(|k| *k < left.len()) {
                    wrong.entry(k).or_insert(m);
                }
            }
            if wrong.is_empty() {
                // It does not say which one it was.
                let (a, b) = left.split_at(left.len() / 2);
                out.extend(self.batch(samples, a)?);
                out.extend(self.batch(samples, b)?);
                break;
            }
            for (k, m) in wrong.iter().rev() {
                let i = left.remove(*k);
                // After an error of syntax it may have lost its way.
                // Functions that it makes for 128 bits are those of whoever asked first.
                let lost = m.text.contains("arsing error")
                    || m.text.contains("yntax error")
                    || m.text.contains("_gen_proto")
                    || names_another(&m.text, samples[i].opcode());
                out.push((i, if lost { self.judge_alone(&samples[i])? } else { Err(m.text.clone()) }));
            }
        }
        Ok(out)
    }

    fn run(&self, module: &str, architecture: &str) -> Result<(bool, Vec<Message>)> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let input = self.folder.join(format!("{}-{run}.ptx", std::process::id()));
        std::fs::write(&input, module).map_err(|e| format!("{}: {e}", input.display()))?;
        let said = input.with_extension("txt");
        let (out, err) = std::fs::File::create(&said)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(|e| format!("{}: {e}", said.display()))?;
        let mut child = Command::new(&self.program)
            .args(["-O0", "-w", "-arch", architecture, "-o"])
            .arg(input.with_extension("cubin"))
            .arg(&input)
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let begun = Instant::now();
        let passed = loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                break status.success();
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill().and_then(|()| child.wait());
                break false;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let text = std::fs::read(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        for ending in ["ptx", "cubin", "txt"] {
            let _ = std::fs::remove_file(input.with_extension(ending));
        }
        Ok((passed, String::from_utf8_lossy(&text).lines().filter_map(Message::read).collect()))
    }
}

/// Whether what is said is about another instruction: ptxas remembers some things from one to the next.
fn names_another(message: &str, opcode: &str) -> bool {
    let named = message.split_once("instruction '").map(|(_, rest)| rest);
    // What it says of vectors, and of functions it makes, may be left from the instruction before.
    let left = ["Result vector", "Vector ", "Incompatible elements", "Unable to infer", "Call to "];
    named.is_some_and(|name| !name.starts_with(opcode)) || left.iter().any(|text| message.starts_with(text))
}

/// An error.
struct Message {
    line: Option<usize>,
    text: String,
}

impl Message {
    /// `ptxas a.ptx, line 10; error   : Arguments mismatch for instruction 'add'`
    fn read(line: &str) -> Option<Message> {
        let (head, text) = line.split_once(" : ")?;
        if !(head.contains("error") || head.contains("fatal")) || text.contains("assembly aborted") {
            return None;
        }
        let number = head.split_once("line ").and_then(|(_, n)| n.split_once(';')?.0.parse().ok());
        Some(Message { line: number, text: text.trim().to_string() })
    }
}

/// The oldest architecture ptxas still makes code for that runs code for this target.
fn architecture(target: &str) -> String {
    const KNOWN: &[u32] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121];
    let name = target.strip_prefix("sm_").unwrap_or("");
    let number = name.trim_end_matches(['a', 'f']);
    let suffix = &name[number.len()..];
    match number.parse::<u32>().ok().and_then(|n| KNOWN.iter().find(|k| **k >= n)) {
        Some(k) => format!("sm_{k}{suffix}"),
        None => "sm_90".into(),
    }
}

/// Makes a Python environment with ptxas in it, once.
fn install(venv: &Path) -> Result<PathBuf> {
    let installed = || -> Option<PathBuf> {
        let lib = std::fs::read_dir(venv.join("lib")).ok()?;
        let bins = lib.flatten().flat_map(|python| {
            let nvidia = std::fs::read_dir(python.path().join("site-packages/nvidia"));
            nvidia.into_iter().flatten().flatten().map(|package| package.path().join("bin/ptxas"))
        });
        bins.into_iter().find(|p| p.is_file())
    };
    if installed().is_none() {
        let venv_text = venv.to_string_lossy();
        crate::run("python3", &["-m", "venv", &venv_text], &[])?;
        let pip = venv.join("bin/pip");
        crate::run(&pip.to_string_lossy(), &["install", "--quiet", "nvidia-cuda-nvcc"], &[])?;
    }
    installed().ok_or_else(|| "the package nvidia-cuda-nvcc has no bin/ptxas".into())
}
