//! `cargo xtask ptxas-agreement`: whether Hostwarp and ptxas call the same instructions legal.
//!
//! Random single-instruction modules, half of them legal by our own tables and half mutants of those, are judged by both. The result goes to
//! `docs/ptxas-agreement.md`, a sample of the verdicts to `conformance/verdicts/ptxas.txt`, which the tests replay without ptxas.

mod legal;
mod lines;
mod mutate;
mod ours;
mod ptxas;
mod random;
mod reasons;
mod report;
mod sample;

use crate::Result;
use ours::Ours;
use ptxas::{Judgeable, Ptxas, Verdict};
use random::Random;
use sample::Sample;

/// What is not judged, and why. Every other opcode of the instruction set is.
const NOT_JUDGED: &[(&str, &str)] =
    &[("istypep", "among others in one run ptxas finds the fault in the wrong instruction")];

/// The opcodes that are judged, in alphabetical order.
fn judged_opcodes() -> Vec<&'static str> {
    let named = |opcode: &&str| NOT_JUDGED.iter().any(|(o, _)| o == opcode);
    hostwarp_isa::all_opcodes().into_iter().filter(|o| !named(o)).collect()
}

/// How often in a hundred both must say the same, for each opcode.
const WANTED: f64 = 99.5;

/// The same for opcodes that have no meaning yet.
const WANTED_LATER: f64 = 99.0;

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
    /// Mutated lines of real files, and no opcodes.
    lines: usize,
}

fn options() -> Result<Options> {
    let mut options = Options { ptxas: None, seed: 1, each: 150, only: vec![], lines: 0 };
    let mut arguments = std::env::args().skip(2);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number"));
        match name.as_str() {
            "--ptxas" => options.ptxas = Some(value),
            "--seed" => options.seed = number()?,
            "--each" => options.each = number()? as usize,
            "--only" => options.only = only(&value)?,
            "--lines" => options.lines = number()? as usize,
            _ => {
                return Err(format!(
                    "unknown option `{name}`; there are --ptxas PATH, --seed N, --each N, --only OPCODE,…, --lines N"
                ));
            }
        }
    }
    Ok(options)
}

/// A list of opcodes, each of which is judged.
fn only(list: &str) -> Result<Vec<String>> {
    let judged = judged_opcodes();
    if let Some(opcode) = list.split(',').find(|o| !judged.contains(o)) {
        return Err(match NOT_JUDGED.iter().find(|(o, _)| *o == opcode) {
            Some((_, why)) => format!("`{opcode}` is not judged: {why}"),
            None => format!(
                "there is no opcode `{opcode}`; near: {}",
                hostwarp_isa::near_opcodes(opcode).join(" ")
            ),
        });
    }
    Ok(list.split(',').map(String::from).collect())
}

/// The command.
pub fn run() -> Result {
    let options = options()?;
    let ptxas = Ptxas::find(options.ptxas.as_deref())?;
    let version = ptxas.version()?;
    println!("{version}");
    if options.lines > 0 {
        return mutated_lines(&ptxas, &options);
    }
    let mut samples = vec![];
    let wanted = |o: &&str| options.only.is_empty() || options.only.iter().any(|x| x == o);
    for opcode in judged_opcodes().into_iter().filter(wanted) {
        let mut random = Random::new(options.seed, opcode);
        let legal = legal::samples(opcode, options.each, &mut random);
        if legal.is_empty() {
            return Err(format!("no legal `{opcode}` could be made: legal.rs does not know its operands"));
        }
        let mutants = mutate::mutants(&legal, 2 * options.each - legal.len(), &mut random);
        samples.extend(legal);
        samples.extend(mutants);
    }
    println!("{} modules", samples.len());
    let theirs = ptxas.judge(&samples)?;
    println!("{} runs of ptxas", ptxas.runs());
    check_alone(&ptxas, &samples, &theirs)?;
    let mut judged = vec![];
    for (sample, theirs) in samples.into_iter().zip(theirs) {
        let ours = ours::verdict(&sample);
        let theirs = ptxas.once_more(&sample, ours.is_legal(), theirs)?;
        judged.push(Judged { sample, ours, theirs });
    }
    let report = report::Report::new(&judged);
    print!("{}", report.table());
    if options.only.is_empty() {
        let (_, lines) = page()?;
        write(PAGE, report.page(&version, options.seed) + &lines)?;
        write("conformance/verdicts/ptxas.txt", report.verdicts(&version))?;
    } else {
        print!("{}", report.disagreements());
    }
    let executable = hostwarp_isa::opcodes();
    let wanted = |opcode: &str| if executable.contains(&opcode) { WANTED } else { WANTED_LATER };
    match report.below(wanted) {
        below if below.is_empty() => Ok(()),
        below => Err(format!("below {WANTED} % ({WANTED_LATER} % without a meaning): {}", below.join(" "))),
    }
}

/// The page that the command makes.
const PAGE: &str = "docs/ptxas-agreement.md";

/// How often in a hundred both must say the same of mutated lines.
const WANTED_LINES: f64 = 99.9;

/// What the page says about opcodes, and what about lines.
fn page() -> Result<(String, String)> {
    let path = format!("{}/../{PAGE}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).map_err(|e| format!("{PAGE}: {e}"))?;
    Ok(match text.find(lines::HEAD) {
        Some(at) => (text[..at].into(), format!("\n{}", &text[at..])),
        None => (text + "\n", String::new()),
    })
}

fn write(path: &str, text: String) -> Result {
    let place = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(place, text).map_err(|e| format!("{path}: {e}"))
}

/// Judges mutated lines of the corpus and writes what came of it to the end of the page.
fn mutated_lines(ptxas: &Ptxas, options: &Options) -> Result {
    let (percent, text) = lines::run(ptxas, options.lines, options.seed)?;
    let (opcodes, _) = page()?;
    write(PAGE, opcodes + &text)?;
    println!("{percent:.3} % agree");
    if percent >= WANTED_LINES { Ok(()) } else { Err(format!("below {WANTED_LINES} %")) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_opcodes_that_are_judged_can_be_asked_for() {
        assert_eq!(only("vadd,clz"), Ok(vec!["vadd".into(), "clz".into()]));
        assert!(only("vadd,vnothing").unwrap_err().contains("no opcode `vnothing`"));
        assert!(only("").is_err());
    }

    /// Samples can be made of every opcode, so that a new one is judged without anybody adding it to a list.
    #[test]
    fn every_opcode_has_legal_samples() {
        let without: Vec<&str> = judged_opcodes()
            .into_iter()
            .filter(|o| legal::samples(o, 2, &mut Random::new(1, o)).is_empty())
            .collect();
        assert!(without.is_empty(), "no samples of {without:?}");
        for (opcode, why) in NOT_JUDGED {
            assert!(hostwarp_isa::find(opcode).is_some() && !why.is_empty(), "{opcode}");
        }
    }
}
