//! `hostwarp conformance`: recordings from a GPU and how Hostwarp compares with them.

use super::run::{EngineArg, ProfileArg};
use crate::failure::{Exit, Failure};
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::isa::{self, Erratum};
use hostwarp::{Engine, Profile};
use hostwarp_conformance::cuda::Gpu;
use hostwarp_conformance::docs::{Results, generate_docs};
use hostwarp_conformance::file::recorded_opcodes;
use hostwarp_conformance::ptxas::Ptxas;
use hostwarp_conformance::record_all;
use hostwarp_conformance::replay::{Difference, Report, Row, Selection, Why, replay_all};
use hostwarp_system::file;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const RECORDINGS: &str = "conformance/recordings/h200";
/// Differences that are shown; programs get them all.
const SHOWN: usize = 20;

/// Compare Hostwarp with a GPU, instruction by instruction.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp conformance replay vmad
  hostwarp conformance replay --profile isa --one-in 16
  hostwarp conformance record --ptxas ./ptxas --out recordings vmad")]
pub struct Conformance {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Replay(Replay),
    Record(Record),
    Docs(Docs),
}

impl Conformance {
    pub fn run(self) -> Result<(), Failure> {
        match self.what {
            What::Replay(c) => c.run(),
            What::Record(c) => c.run(),
            What::Docs(c) => c.run(),
        }
    }

    pub fn json(&self) -> bool {
        matches!(&self.what, What::Replay(c) if c.json)
    }
}

/// Run what is recorded on Hostwarp and compare every bit.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp conformance replay vmad 'vset*'
  hostwarp conformance replay --profile isa --engine jit --one-in 16

With --profile isa a difference is expected where an erratum covers the form (`hostwarp explain OPCODE`
has them); any other difference, and every one with --profile sm_90, makes the exit code 1.
All recordings take minutes.")]
struct Replay {
    /// What runs the instructions.
    #[arg(long, default_value = "interp")]
    engine: EngineArg,
    /// Whose bits are compared with the recording: an H200's or the manual's.
    #[arg(long, default_value = "sm_90")]
    profile: ProfileArg,
    /// The folder with the recordings.
    #[arg(long, value_name = "DIR", default_value = RECORDINGS)]
    dir: PathBuf,
    /// Of instructions with many forms replay only one in so many.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    one_in: u64,
    /// For programs: all differences.
    #[arg(long)]
    json: bool,
    /// Only these opcodes; `vset*` are all that begin with `vset`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

impl Replay {
    fn run(self) -> Result<(), Failure> {
        let recorded = recordings(&self.dir)?;
        let opcodes = select(&recorded, &self.filters)?;
        if !self.json {
            output::note(&format!("replaying {} of {} instructions", opcodes.len(), recorded.len()));
        }
        let selection = Selection { opcodes, one_in: self.one_in };
        let report = replay_all(&self.dir, self.engine.into(), self.profile.into(), &selection)
            .map_err(Failure::input)?;
        let judged: Vec<Judged<'_>> =
            report.differences.iter().map(|d| (d, explanation(d, report.profile))).collect();
        let text =
            if self.json { format!("{:#}\n", json_of(&report, &judged)) } else { text_of(&report, &judged) };
        output::print(&text)?;
        // Green must mean compared.
        let nothing = |r: &&Row| r.replayed == 0 && r.unsupported.is_empty();
        let left_out: Vec<_> =
            report.rows.iter().filter(nothing).map(|r| format!("`{}`", r.opcode)).collect();
        if !left_out.is_empty() {
            let (one_in, names) = (self.one_in, left_out.join(", "));
            return Err(Failure::input(format!(
                "nothing of {names} was compared: no form is one in {one_in}"
            )));
        }
        match judged.iter().all(|(_, errata)| !errata.is_empty()) {
            true => Ok(()),
            false => Err(Failure::Quiet(Exit::Input)),
        }
    }
}

/// A difference and the errata that explain it.
type Judged<'a> = (&'a Difference, Vec<&'static Erratum>);

/// The errata that explain a difference: only the manual's bits may differ from hardware's, and only where a rule covers the form.
fn explanation(d: &Difference, profile: Profile) -> Vec<&'static Erratum> {
    if profile != Profile::Isa || matches!(d.what, Err(Why::Failed(_) | Why::Unsupported(_))) {
        return vec![];
    }
    let covers = |e: &&Erratum| d.instance.as_ref().is_some_and(|i| e.covers_instance(i));
    isa::errata().filter(covers).collect()
}

/// The opcodes recorded in a folder.
fn recordings(dir: &Path) -> Result<Vec<String>, Failure> {
    let found = if dir.is_dir() { recorded_opcodes(dir).map_err(Failure::input)? } else { vec![] };
    if found.is_empty() {
        return Err(Failure::input(format!(
            "there are no recordings in {}; run this in a checkout of Hostwarp or name their folder with --dir",
            dir.display()
        )));
    }
    Ok(found)
}

/// The opcodes that the filters name.
fn select(recorded: &[String], filters: &[String]) -> Result<Vec<String>, Failure> {
    let fits = |opcode: &str, filter: &str| match filter.strip_suffix('*') {
        Some(start) => opcode.starts_with(start),
        None => opcode == filter,
    };
    if let Some(nothing) = filters.iter().find(|f| !recorded.iter().any(|o| fits(o, f))) {
        return Err(Failure::input(format!(
            "there is no recording of `{nothing}`; there are\n{}",
            output::wrap(&recorded.join(" "), "  ")
        )));
    }
    let chosen = |o: &&String| filters.is_empty() || filters.iter().any(|f| fits(o, f));
    Ok(recorded.iter().filter(chosen).cloned().collect())
}

fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Isa => "isa",
        Profile::Sm90 => "sm_90",
    }
}

fn engine_name(engine: Engine) -> &'static str {
    match engine {
        Engine::Auto => "auto",
        Engine::Interp => "interp",
        Engine::Jit => "jit",
    }
}

fn opcode_of(text: &str) -> &str {
    text.split(['.', ' ']).next().unwrap_or(text)
}

fn ids(errata: &[&Erratum]) -> Vec<&'static str> {
    errata.iter().map(|e| e.id).collect()
}

fn text_of(report: &Report, judged: &[Judged<'_>]) -> String {
    let by_erratum = |opcode: Option<&str>| {
        let of = |d: &Difference| opcode.is_none_or(|o| opcode_of(&d.text) == o);
        judged.iter().filter(|(d, errata)| !errata.is_empty() && of(d)).count()
    };
    let isa = report.profile == Profile::Isa;
    let line = |name: &str, agreed: usize, errata: usize, total: usize| {
        let errata = if isa { format!("{errata:>10}") } else { String::new() };
        format!("{name:<12}{agreed:>10}{errata}{total:>10}\n")
    };
    let errata = if isa { format!("{:>10}", "errata") } else { String::new() };
    let mut out = format!("{BOLD}{:<12}{:>10}{errata}{:>10}{BOLD:#}\n", "instruction", "agreed", "total");
    for r in &report.rows {
        out += &line(&r.opcode, r.agreed, by_erratum(Some(&r.opcode)), r.replayed);
    }
    let (agreed, total) = report.rows.iter().fold((0, 0), |(a, t), r| (a + r.agreed, t + r.replayed));
    out += &line("all", agreed, by_erratum(None), total);
    let unsupported: Vec<&String> = report.rows.iter().flat_map(|r| &r.unsupported).collect();
    if !unsupported.is_empty() {
        out += &format!("\n{BOLD}Not supported yet{BOLD:#}\n");
        out += &shown(&unsupported, |form| format!("  {CODE}{form}{CODE:#}\n"));
    }
    let (unexplained, explained): (Vec<_>, Vec<_>) =
        judged.iter().partition::<Vec<&Judged<'_>>, _>(|(_, errata)| errata.is_empty());
    for (title, list) in [("Differences", unexplained), ("Differences that errata explain", explained)] {
        if !list.is_empty() {
            out += &format!("\n{BOLD}{title}{BOLD:#}\n");
            out += &shown(&list, |(d, errata)| difference_text(d, errata));
        }
    }
    out
}

/// The first of a list, and how many more there are.
fn shown<T>(list: &[T], show: impl Fn(&T) -> String) -> String {
    let mut out: String = list.iter().take(SHOWN).map(show).collect();
    if list.len() > SHOWN {
        out += &format!("  {DIM}… and {} more; --json has all{DIM:#}\n", list.len() - SHOWN);
    }
    out
}

fn difference_text(d: &Difference, errata: &[&Erratum]) -> String {
    let rules =
        if errata.is_empty() { String::new() } else { format!("  {DIM}{}{DIM:#}", ids(errata).join(" ")) };
    let mut out = format!("  {CODE}{}{CODE:#}{rules}\n", d.text);
    match &d.what {
        Ok(v) => {
            let operands: Vec<_> = v.operands.iter().map(|(n, bits)| format!("{n}={bits:#x}")).collect();
            out += &format!("    {}: expected {:#x}, got {:#x}\n", operands.join(" "), v.expected, v.got);
            if let Some(command) = d.eval(v) {
                out += &format!("    {command}\n");
            }
        }
        Err(why) => out += &format!("    {why}\n"),
    }
    out
}

fn json_of(report: &Report, judged: &[Judged<'_>]) -> Json {
    let rows: Vec<Json> = report
        .rows
        .iter()
        .map(|r| {
            json!({
                "opcode": r.opcode, "agreed": r.agreed, "total": r.replayed, "recorded": r.recorded,
                "unsupported": r.unsupported,
            })
        })
        .collect();
    let differences: Vec<Json> = judged
        .iter()
        .map(|(d, errata)| {
            let mut o = json!({ "form": d.text, "errata": ids(errata) });
            match &d.what {
                Ok(v) => {
                    let operands: serde_json::Map<String, Json> = v
                        .operands
                        .iter()
                        .map(|(n, bits)| (n.to_string(), json!(format!("{bits:#x}"))))
                        .collect();
                    o["operands"] = Json::Object(operands);
                    o["expected"] = json!(format!("{:#x}", v.expected));
                    o["got"] = json!(format!("{:#x}", v.got));
                    o["eval"] = json!(d.eval(v));
                }
                Err(why) => o["why"] = json!(why.to_string()),
            }
            o
        })
        .collect();
    json!({
        "engine": engine_name(report.engine),
        "profile": profile_name(report.profile),
        "instructions": rows,
        "differences": differences,
        "unexplained": judged.iter().filter(|(_, errata)| errata.is_empty()).count(),
    })
}

/// Record what the GPU of this machine does, for `replay`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  hostwarp conformance record --ptxas ./ptxas --out recordings vmad vset

Needs an NVIDIA GPU with sm_90 and ptxas, which is part of the CUDA toolkit and of the PyPI package
nvidia-cuda-nvcc.")]
struct Record {
    /// NVIDIA's assembler.
    #[arg(long, value_name = "PATH")]
    ptxas: PathBuf,
    /// The folder for the recordings; one file per opcode is replaced.
    #[arg(long, value_name = "DIR", default_value = RECORDINGS)]
    out: PathBuf,
    /// Only these opcodes.
    #[arg(value_name = "OPCODE")]
    opcodes: Vec<String>,
}

impl Record {
    fn run(self) -> Result<(), Failure> {
        if let Some(unknown) = self.opcodes.iter().find(|o| isa::find(o).is_none()) {
            return Err(Failure::input(format!(
                "Hostwarp knows no instruction `{unknown}`: `hostwarp isa` lists all"
            )));
        }
        // Without a GPU nothing else matters.
        Gpu::open().map_err(|e| Failure::input(format!("cannot record: {e}")))?;
        let ptxas = Ptxas::new(&self.ptxas).map_err(Failure::input)?;
        let mut written = Ok(());
        record_all(&ptxas, &self.out, &today(), &self.opcodes, |p| {
            let mut text = format!("{:<12}{:>8} forms", p.opcode, p.recorded);
            if p.findings > 0 {
                text += &format!(", {} differ with -O3 or the driver's assembler", p.findings);
            }
            if let Some((form, why)) = p.failed.first() {
                let why = why.lines().next().unwrap_or_default();
                text += &format!(", {} failed, the first {form}: {why}", p.failed.len());
            }
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| output::print(&(text + "\n")));
        })
        .map_err(Failure::input)?;
        Ok(written?)
    }
}

/// Today in UTC, as 2026-03-31.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(seconds / 86400)
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> String {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

/// Write errata.md and conformance.md from the recordings.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  hostwarp conformance docs --out docs

To replay everything first: cargo run -r -p hostwarp-conformance --example docs -- --replay")]
struct Docs {
    /// The folder with the recordings.
    #[arg(long, value_name = "DIR", default_value = RECORDINGS)]
    dir: PathBuf,
    /// What replaying all of them gave.
    #[arg(long, value_name = "FILE", default_value = "conformance/results.json")]
    results: PathBuf,
    /// The folder for the documents.
    #[arg(long, value_name = "DIR", default_value = "docs")]
    out: PathBuf,
}

impl Docs {
    fn run(self) -> Result<(), Failure> {
        recordings(&self.dir)?;
        let results = Results::read(&self.results).map_err(Failure::input)?;
        let docs = generate_docs(&self.dir, &results).map_err(Failure::input)?;
        for (name, text) in [("errata.md", docs.errata), ("conformance.md", docs.conformance)] {
            let path = self.out.join(name);
            file::create_folder(&self.out)
                .and_then(|()| file::replace(&path, text.as_bytes()))
                .map_err(|e| Failure::input(format!("cannot write {}: {e}", path.display())))?;
            output::note(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostwarp::isa::instances;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(19_722), "2023-12-31");
        assert_eq!(date(20_453), "2025-12-31");
    }

    #[test]
    fn errata_explain_only_what_they_cover() {
        let (entry, opcode) = isa::find("vmad").expect("there is vmad");
        let all: Vec<_> = entry.forms.iter().flat_map(|p| instances(opcode, p, 1)).collect();
        let covered = |i: &isa::Instance| isa::errata().any(|e| e.covers_instance(i));
        let yes = all.iter().find(|i| covered(i)).expect("errata cover some");
        let no = all.iter().find(|i| !covered(i)).expect("and not all");
        let difference = |i: &isa::Instance, why| Difference {
            text: "vmad".into(),
            instance: Some(i.clone()),
            for_eval: None,
            what: Err(why),
        };
        assert!(!explanation(&difference(yes, Why::Hash), Profile::Isa).is_empty());
        assert!(explanation(&difference(no, Why::Hash), Profile::Isa).is_empty());
        assert!(explanation(&difference(yes, Why::Hash), Profile::Sm90).is_empty());
        assert!(explanation(&difference(yes, Why::Failed("no".into())), Profile::Isa).is_empty());
    }
}
