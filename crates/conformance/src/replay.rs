//! Replay: the same PTX on Hostwarp, compared with a recording bit for bit.

use crate::cases::{Case, cases};
use crate::file::{Recorded, Recording, path, recorded_opcodes};
use crate::generate::{KERNEL, Program, programs_of};
use crate::vectors::{ALL, RAW, hash};
use hostwarp::{Arg, Device, Effort, Engine, Error, ErrorKind, Options, Profile};
use hostwarp_system::thread;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How one case compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All vectors agree.
    Same,
    /// A raw vector differs.
    Raw {
        /// Which.
        vector: usize,
        /// What the recording has.
        recorded: u64,
        /// What Hostwarp gives.
        got: u64,
    },
    /// The raw vectors agree, the hash over the others does not.
    Hash,
}

/// Threads per CTA of a replay where the cases leave it open: as many as the interpreter likes to work on at once.
const REPLAY_BLOCK: u32 = 352;

/// Runs a program on Hostwarp: the results, `[case][vector][word]`.
pub fn run(device: &Device, program: &Program, engine: Engine, profile: Profile) -> Result<Vec<u64>, Error> {
    let module = device.load_with("conformance", &program.ptx, Options { profile })?;
    let kernel = module.kernel(KERNEL)?;
    let input = device.buffer_from(&program.inputs.concat())?;
    let output = device.buffer::<u64>(program.cases.len() * ALL * program.words())?;
    let block = program.setting.block.unwrap_or(REPLAY_BLOCK);
    let launch = kernel.launch().grid([ALL as u32 / block, 1, 1]).block([block, 1, 1]).engine(engine);
    let launch = launch.arg(&input).arg(&output);
    match program.third_parameter() {
        Some(bytes) => launch.arg(Arg::bytes(bytes)).run()?,
        None => launch.run()?,
    };
    output.to_vec()
}

/// Compares the results of one case with what was recorded.
pub fn compare(recorded: &Recorded, results: &[u64]) -> Verdict {
    let words = usize::from(recorded.width).div_ceil(8);
    match (0..RAW * words).find(|i| recorded.raw[*i] != results[*i]) {
        Some(i) => Verdict::Raw { vector: i / words, recorded: recorded.raw[i], got: results[i] },
        None if hash(results[RAW * words..].iter().copied()) != recorded.hash => Verdict::Hash,
        None => Verdict::Same,
    }
}

/// The `hostwarp eval` command that shows a form on these operands.
pub fn eval_command(text: &str, operands: &[(String, u64)], profile: &str) -> String {
    let registers: Vec<String> = operands.iter().map(|(name, bits)| format!("{name}={bits:#x}")).collect();
    format!("hostwarp eval '{}' {} --profile {profile}", text.replace('%', ""), registers.join(" "))
}

/// Which forms to replay.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these opcodes; all if empty.
    pub opcodes: Vec<String>,
    /// Of opcodes with more than [`MANY`] forms only one in this many, chosen by a hash of its text. 0 and 1 mean all.
    pub one_in: u64,
}

/// Opcodes with more forms are sampled when a [`Selection`] asks for it.
pub const MANY: usize = 128;

impl Selection {
    /// The opcodes that are recorded in `dir` and selected.
    pub(crate) fn opcodes(&self, dir: &Path) -> Result<Vec<String>, String> {
        let recorded = recorded_opcodes(dir)?;
        if let Some(missing) = self.opcodes.iter().find(|o| !recorded.contains(o)) {
            return Err(format!("there is no recording of `{missing}` in {}", dir.display()));
        }
        Ok(recorded.into_iter().filter(|o| self.opcodes.is_empty() || self.opcodes.contains(o)).collect())
    }

    fn takes(&self, text: &str, of: usize) -> bool {
        self.one_in < 2 || of <= MANY || (hash(text.bytes().map(u64::from)) >> 32).is_multiple_of(self.one_in)
    }
}

/// An opcode's recording and the programs that replay it.
pub(crate) struct Job {
    pub(crate) row: Row,
    pub(crate) recorded: HashMap<String, Recorded>,
    pub(crate) programs: Vec<Program>,
}

impl Job {
    /// What is recorded of an opcode and selected.
    pub(crate) fn new(dir: &Path, opcode: &str, selection: &Selection) -> Result<Job, String> {
        let recording = Recording::read(&path(dir, opcode))?;
        let recorded: HashMap<String, Recorded> =
            recording.cases.into_iter().map(|c| (c.text.clone(), c)).collect();
        let all = cases(opcode);
        let (forms, total) = (all.len(), recorded.len());
        let chosen: Vec<Case> = all
            .into_iter()
            .filter(|c| recorded.contains_key(&c.text) && selection.takes(&c.text, forms))
            .collect();
        let row = Row {
            opcode: opcode.into(),
            forms,
            recorded: total,
            replayed: chosen.len(),
            agreed: 0,
            unsupported: vec![],
        };
        Ok(Job { row, recorded, programs: programs_of(opcode, chosen) })
    }

    /// All selected opcodes of a directory.
    pub(crate) fn all(dir: &Path, selection: &Selection) -> Result<Vec<Job>, String> {
        let opcodes = selection.opcodes(dir)?;
        in_parallel(opcodes.len(), |i| Job::new(dir, &opcodes[i], selection)).into_iter().collect()
    }
}

/// Calls `work` with 0 … `count` - 1 on all cores; the results in that order.
pub(crate) fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, T>> = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= count {
            return;
        }
        let result = work(i);
        done.lock().unwrap_or_else(|e| e.into_inner()).insert(i, result);
    };
    std::thread::scope(|scope| {
        // Where there can be no more threads, fewer do it.
        let _ = (1..threads.min(count)).try_for_each(|_| thread::spawn_scoped(scope, work).map(drop));
        work();
    });
    done.into_inner().unwrap_or_else(|e| e.into_inner()).into_values().collect()
}

/// A device of one thread, enough for one program: programs are what runs in parallel.
pub(crate) fn small_device(effort: Effort) -> Result<Device, Error> {
    Device::builder().memory(1 << 26).threads(1).effort(effort).build()
}

/// How an opcode compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The opcode.
    pub opcode: String,
    /// Forms the generator knows.
    pub forms: usize,
    /// Forms that are recorded.
    pub recorded: usize,
    /// Forms that were replayed: recorded and selected.
    pub replayed: usize,
    /// Of these, those that agree in every vector.
    pub agreed: usize,
    /// Of these, those that Hostwarp says it does not support yet.
    pub unsupported: Vec<String>,
}

/// A form that does not agree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The instruction.
    pub text: String,
    /// What it is made of; `None` for what has no forms.
    pub instance: Option<hostwarp_isa::Instance>,
    /// What `hostwarp eval` takes to show it, if it can.
    pub for_eval: Option<String>,
    /// Operands, what the GPU gave and what Hostwarp gave, or why that cannot be said.
    pub what: Result<Vector, Why>,
}

/// Why a difference has no operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The raw vectors agree, one of those kept as a hash does not.
    Hash,
    /// Hostwarp does not do this instruction yet.
    Unsupported(String),
    /// The form could not be run, or not be judged.
    Failed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Hash => write!(f, "one of the {} vectors kept as a hash differs", ALL - RAW),
            Why::Unsupported(why) | Why::Failed(why) => f.write_str(why),
        }
    }
}

/// One vector of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The operands.
    pub operands: Vec<(String, u64)>,
    /// What is recorded.
    pub expected: u64,
    /// What Hostwarp gave.
    pub got: u64,
}

impl Difference {
    /// A difference of this case.
    pub(crate) fn new(case: &Case, what: Result<Vector, Why>) -> Difference {
        let (text, instance) = (case.text.clone(), case.instance.clone());
        Difference { text, instance, for_eval: case.for_eval(), what }
    }

    /// The `hostwarp eval` command that shows this vector, if one can.
    pub fn eval(&self, v: &Vector) -> Option<String> {
        self.for_eval.as_ref().map(|text| eval_command(text, &v.operands, "both"))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Ok(v) => {
                writeln!(f, "{}: expected {:#x}, got {:#x}", self.text, v.expected, v.got)?;
                match self.eval(v) {
                    Some(command) => write!(f, "    {command}"),
                    None => {
                        let operands = v.operands.iter().map(|(n, bits)| format!("{n}={bits:#x}"));
                        write!(f, "    operands: {}", operands.collect::<Vec<_>>().join(" "))
                    }
                }
            }
            Err(why) => write!(f, "{}: {why}", self.text),
        }
    }
}

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The engine.
    pub engine: Engine,
    /// The profile.
    pub profile: Profile,
    /// One per opcode.
    pub rows: Vec<Row>,
    /// Forms that differ.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Every replayed form agrees.
    pub fn is_clean(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12}{:>10}{:>10}", "instruction", "agreed", "forms")?;
        let line = |f: &mut fmt::Formatter<'_>, name: &str, agreed: usize, of: usize| {
            writeln!(f, "{name:<12}{agreed:>10}{of:>10}")
        };
        for r in &self.rows {
            line(f, &r.opcode, r.agreed, r.replayed)?;
        }
        let sum = |of: fn(&Row) -> usize| self.rows.iter().map(of).sum();
        line(f, "total", sum(|r| r.agreed), sum(|r| r.replayed))?;
        for form in self.rows.iter().flat_map(|r| &r.unsupported) {
            writeln!(f, "not supported yet: {form}")?;
        }
        for d in self.differences.iter().take(20) {
            writeln!(f, "{d}")?;
        }
        match self.differences.len() {
            n if n > 20 => writeln!(f, "… and {} more", n - 20),
            _ => Ok(()),
        }
    }
}

/// Replays what is recorded in `dir`.
///
/// # Errors
/// A recording cannot be read, or the engine is not there. What goes wrong inside a form is a [`Difference`].
pub fn replay_all(
    dir: &Path,
    engine: Engine,
    profile: Profile,
    selection: &Selection,
) -> Result<Report, String> {
    if engine == Engine::Jit {
        small_device(Effort::Best).map_err(|e| e.to_string())?.llvm()?;
    }
    let mut jobs = Job::all(dir, selection)?;
    let work: Vec<(usize, usize)> =
        jobs.iter().enumerate().flat_map(|(j, job)| (0..job.programs.len()).map(move |p| (j, p))).collect();
    let found = in_parallel(work.len(), |i| {
        let job = &jobs[work[i].0];
        let replay =
            |effort| replay_program(&job.programs[work[i].1], &job.recorded, (engine, effort), profile);
        match (replay(Effort::Best), engine) {
            // What has the same bits with care may have others in a hurry.
            (found, Engine::Jit) if found.is_empty() => replay(Effort::Quick),
            (found, _) => found,
        }
    });
    let mut differences = vec![];
    for ((j, p), found) in work.into_iter().zip(found) {
        let cases = jobs[j].programs[p].cases.len();
        let row = &mut jobs[j].row;
        row.agreed += cases - found.len();
        let (unsupported, different): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|d| matches!(d.what, Err(Why::Unsupported(_))));
        row.unsupported.extend(unsupported.into_iter().map(|d| d.text));
        differences.extend(different);
    }
    Ok(Report { engine, profile, rows: jobs.into_iter().map(|j| j.row).collect(), differences })
}

fn replay_program(
    program: &Program,
    recorded: &HashMap<String, Recorded>,
    how: (Engine, Effort),
    profile: Profile,
) -> Vec<Difference> {
    let results = match small_device(how.1).and_then(|d| run(&d, program, how.0, profile)) {
        Ok(r) => r,
        Err(e) => match &program.cases[..] {
            [] => return vec![],
            [case] => {
                let why = match e.kind() {
                    ErrorKind::Unsupported => Why::Unsupported(e.to_string()),
                    _ => Why::Failed(e.to_string()),
                };
                return vec![Difference::new(case, Err(why))];
            }
            // One form that cannot be run must not hide the others.
            cases => {
                let (low, high) = cases.split_at(cases.len() / 2);
                let halves =
                    [low, high].into_iter().flat_map(|half| programs_of(&program.opcode, half.to_vec()));
                return halves.flat_map(|p| replay_program(&p, recorded, how, profile)).collect();
            }
        },
    };
    let mut out = vec![];
    for (case, results) in program.cases.iter().zip(results.chunks(ALL * program.words())) {
        let what = match compare(&recorded[&case.text], results) {
            Verdict::Same => continue,
            Verdict::Raw { vector, recorded, got } => {
                Ok(Vector { operands: program.operands(vector), expected: recorded, got })
            }
            Verdict::Hash => Err(Why::Hash),
        };
        out.push(Difference::new(case, what));
    }
    out
}
