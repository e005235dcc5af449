//! `cargo xtask ptxas-agreement`: whether Hostwarp and ptxas call the same instructions legal.
//!
//! Random single-instruction modules, half of them legal by our own tables and half mutants of those, are judged by both. The result goes to
//! `docs/ptxas-agreement.md`, a sample of the verdicts to `conformance/verdicts/ptxas.txt`, which the tests replay without ptxas.

mod legal;
mod mutate;
mod ours;
mod ptxas;
mod random;
mod reasons;
mod report;
mod sample;

use crate::Result;
use ours::Ours;
use ptxas::{Ptxas, Verdict};
use random::Random;
use sample::Sample;

/// The opcodes that are judged.
const OPCODES: &[&str] = &[
    "vadd",
    "vsub",
    "vabsdiff",
    "vmin",
    "vmax",
    "vshl",
    "vshr",
    "vset",
    "vmad",
    "vadd2",
    "vadd4",
    "vsub2",
    "vsub4",
    "vavrg2",
    "vavrg4",
    "vabsdiff2",
    "vabsdiff4",
    "vmin2",
    "vmin4",
    "vmax2",
    "vmax4",
    "vset2",
    "vset4",
    "fma",
    "add",
    "sub",
    "mul",
    "mad",
    "min",
    "max",
    "abs",
    "neg",
    "and",
    "or",
    "xor",
    "not",
    "shl",
    "shr",
    "setp",
    "selp",
    "mov",
    "cvt",
    "ld",
    "st",
    "cvta",
    "bra",
    "ret",
    "exit",
    "bar",
    "atom",
    "shfl",
];

/// How often in a hundred both must say the same, for each opcode.
const WANTED: f64 = 99.0;

/// Modules judged once more, each in a run of its own.
const ALONE: usize = 500;

/// A sample with both verdicts.
struct Judged {
    sample: Sample,
    ours: Ours,
    theirs: Verdict,
}

impl Judged {
    /// Both say the same. What Hostwarp does not do yet is held against it only where ptxas takes it.
    fn agrees(&self) -> bool {
        self.ours.is_legal() == self.theirs.is_ok()
    }
}

/// What the command line asks for.
struct Options {
    ptxas: Option<String>,
    seed: u64,
    /// Legal samples of each opcode, and mutants.
    each: usize,
    /// Only opcodes in this list; nothing is written then.
    only: Vec<String>,
}

fn options() -> Result<Options> {
    let mut options = Options { ptxas: None, seed: 1, each: 320, only: vec![] };
    let mut arguments = std::env::args().skip(2);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number"));
        match name.as_str() {
            "--ptxas" => options.ptxas = Some(value),
            "--seed" => options.seed = number()?,
            "--each" => options.each = number()? as usize,
            "--only" => options.only = value.split(',').map(String::from).collect(),
            _ => {
                return Err(format!(
                    "unknown option `{name}`; there are --ptxas PATH, --seed N, --each N, --only OPCODE,…"
                ));
            }
        }
    }
    Ok(options)
}

/// The command.
pub fn run() -> Result {
    let options = options()?;
    let ptxas = Ptxas::find(options.ptxas.as_deref())?;
    let version = ptxas.version()?;
    println!("{version}");
    let mut samples = vec![];
    for opcode in OPCODES.iter().filter(|o| options.only.is_empty() || options.only.iter().any(|x| x == *o)) {
        let mut random = Random::new(options.seed, opcode);
        let legal = legal::samples(opcode, options.each, &mut random);
        let mutants = mutate::mutants(&legal, 2 * options.each - legal.len(), &mut random);
        samples.extend(legal);
        samples.extend(mutants);
    }
    println!("{} modules", samples.len());
    let theirs = ptxas.judge(&samples)?;
    println!("{} runs of ptxas", ptxas.runs());
    check_alone(&ptxas, &samples, &theirs)?;
    let judged: Vec<Judged> = (samples.into_iter().zip(theirs))
        .map(|(sample, theirs)| Judged { ours: ours::verdict(&sample), sample, theirs })
        .collect();
    let report = report::Report::new(&judged);
    print!("{}", report.table());
    if options.only.is_empty() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let write = |path: &str, text: String| {
            std::fs::write(format!("{root}/{path}"), text).map_err(|e| format!("{path}: {e}"))
        };
        write("docs/ptxas-agreement.md", report.page(&version, options.seed))?;
        write("conformance/verdicts/ptxas.txt", report.verdicts(&version))?;
    } else {
        print!("{}", report.disagreements());
    }
    match report.below(WANTED) {
        below if below.is_empty() => Ok(()),
        below => Err(format!("below {WANTED} %: {}", below.join(" "))),
    }
}

/// Checks that judging many together is the same as judging each alone, on samples spread over all.
fn check_alone(ptxas: &Ptxas, samples: &[Sample], together: &[Verdict]) -> Result {
    let step = samples.len().div_ceil(ALONE).max(1);
    // A step that shares no factor with the samples of an opcode would be better still; an odd one does.
    for i in (0..samples.len()).step_by(step | 1) {
        let alone = ptxas.judge_alone(&samples[i])?;
        if alone.is_ok() != together[i].is_ok() {
            let text = samples[i].module();
            return Err(format!("alone {alone:?}, together {:?}:\n{text}", together[i]));
        }
    }
    Ok(())
}
