//! `hostwarp explain`: an instruction or an error code in words.

use super::isa::family;
use crate::failure::Failure;
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::compile::{Code, Example};
use hostwarp::isa::{self, Entry, Erratum, Parsed, Since};
use hostwarp_conformance::audit::{Counterexample, counterexample};
use hostwarp_conformance::cases::{Case, cases};
use hostwarp_conformance::replay::eval_command;
use serde_json::{Value as Json, json};

/// Explain an instruction or an error code.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp explain vmad
  hostwarp explain E0030")]
pub struct Explain {
    /// An opcode (modifiers are ignored) or the code of a diagnostic.
    #[arg(value_name = "OPCODE|CODE")]
    what: String,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

impl Explain {
    pub fn run(self) -> Result<(), Failure> {
        let what = self.what.trim();
        if let Some(code) = Code::from_text(what) {
            return self.code(code);
        }
        let opcode = what.split('.').next().unwrap_or(what).to_ascii_lowercase();
        match isa::find(&opcode) {
            Some((entry, name)) if self.json => {
                Ok(output::print(&format!("{:#}\n", opcode_json(entry, name)))?)
            }
            Some((entry, name)) => Ok(output::print(&opcode_text(entry, name))?),
            None => Err(unknown(what, &opcode)),
        }
    }

    fn code(&self, code: Code) -> Result<(), Failure> {
        let page = code.page();
        let example =
            |e: Option<Example>| e.map(|(Example::File(t) | Example::Module(t) | Example::Body(t))| t);
        if self.json {
            let value = json!({
                "code": code.text(),
                "severity": code.severity().id(),
                "title": code.title(),
                "explanation": page.explanation,
                "wrong": example(page.wrong),
                "right": example(page.right),
            });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let mut out = format!("{BOLD}{} ({}){BOLD:#}: {}\n", code.text(), code.severity().id(), code.title());
        if page.explanation != code.title() {
            for paragraph in page.explanation.split("\n\n") {
                out += &format!("\n{}", output::wrap(paragraph, ""));
            }
        }
        for (title, text) in [("Wrong", example(page.wrong)), ("Right", example(page.right))] {
            if let Some(text) = text {
                out += &format!("\n{BOLD}{title}{BOLD:#}\n{CODE}{}{CODE:#}", indented(text));
            }
        }
        Ok(output::print(&out)?)
    }
}

/// Lines behind two blanks, the blanks they share left out.
fn indented(text: &str) -> String {
    let lines = || text.trim_matches('\n').lines();
    let margin = |l: &str| l.len() - l.trim_start().len();
    let shared = lines().skip(1).filter(|l| !l.trim().is_empty()).map(margin).min().unwrap_or(0);
    lines()
        .map(|l| format!("  {}\n", if margin(l) >= shared { &l[shared..] } else { l.trim_start() }))
        .collect()
}

fn unknown(what: &str, opcode: &str) -> Failure {
    let looks_like_code = what.len() == 5 && what[1..].bytes().all(|b| b.is_ascii_digit());
    if looks_like_code {
        let all: Vec<_> = Code::ALL.iter().map(|c| c.text()).collect();
        return Failure::input(format!(
            "there is no code {what}; there are\n{}",
            output::wrap(&all.join(" "), "  ")
        ));
    }
    let near = isa::near_opcodes(opcode);
    let hint = if near.is_empty() {
        "`hostwarp isa` lists all".to_string()
    } else {
        format!("there is {}", near.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
    };
    Failure::input(format!("Hostwarp knows no instruction `{opcode}`: {hint}"))
}

fn version(since: Since) -> String {
    let sm = if since.sm > 0 { format!(", sm_{}", since.sm) } else { String::new() };
    format!("PTX {}.{}{sm}", since.ptx / 10, since.ptx % 10)
}

/// A set as the manual writes it; the two large ones in words.
fn members(text: &str) -> String {
    match text {
        "@bxyzw" => {
            ".bwxyz, four digits 0 to 7 that choose from the bytes of a (0 to 3) and b (4 to 7)".into()
        }
        "@hxy" => ".hxy, two digits 0 to 3 that choose from the half-words of a (0, 1) and b (2, 3)".into(),
        list => list.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

fn opcode_text(entry: &Entry, name: &str) -> String {
    let room = entry.room;
    let mut out = format!("{BOLD}{name}{BOLD:#}: {}\n", room.title);
    out += &format!("{DIM}{}, section {} of the PTX manual{DIM:#}\n\n", family(room.section).1, room.section);
    let mut group = 0;
    for (i, parsed) in entry.forms.iter().enumerate() {
        let form = parsed.form;
        let undocumented = if form.undocumented { ", not in the manual" } else { "" };
        out += &format!("  {CODE}{}{CODE:#}", parsed.shown());
        let later = if form.later { ", not supported yet" } else { "" };
        let only: String = form.only.split_whitespace().map(|t| format!(", sm_{t}")).collect();
        out += &format!("  {DIM}{}{only}{undocumented}{later}{DIM:#}\n", version(form.since));
        for (modifier, since) in form.needs {
            out += &format!("      {DIM}{modifier}: {}{DIM:#}\n", version(*since));
        }
        // Forms in a row often share their sets.
        if entry.forms.get(i + 1).is_none_or(|next| next.form.sets != form.sets) {
            out += &sets(&entry.forms[group..=i]);
            group = i + 1;
        }
    }
    out.push('\n');
    for paragraph in room.doc.split("\n\n") {
        out += &output::wrap(paragraph, "");
    }
    if !room.notes.is_empty() {
        out += &format!("\n{BOLD}On hardware{BOLD:#}\n");
        for note in room.notes {
            let text = output::wrap(note, "  ");
            out += &format!("-{}", &text[1..]);
        }
    }
    for (i, erratum) in isa::errata_of(name).enumerate() {
        if i == 0 {
            out += &format!("\n{BOLD}Errata{BOLD:#}: where --profile sm_90 departs from the manual\n");
        }
        out += &erratum_text(erratum, name);
    }
    if room.opcodes.len() > 1 {
        let others: Vec<_> = room.opcodes.iter().copied().filter(|o| *o != name).collect();
        out += &format!("\n{DIM}See also{DIM:#} {}\n", others.join(" "));
    }
    out
}

/// The sets of forms that share them, as far as one of the forms has them.
fn sets(forms: &[Parsed]) -> String {
    let shared = forms.first().map(|p| p.form.sets).unwrap_or_default();
    let used: Vec<_> = shared.iter().filter(|(n, _)| forms.iter().any(|p| uses(p, n))).collect();
    let width = used.iter().map(|(n, _)| n.len()).max().unwrap_or(0);
    used.iter().map(|(name, list)| format!("    {name:width$} = {}\n", members(list))).collect()
}

/// Whether a form has the set as a modifier or as a selector of an operand.
fn uses(parsed: &Parsed, set: &str) -> bool {
    let mut rest = parsed.form.syntax;
    while let Some(at) = rest.find(set) {
        rest = &rest[at + set.len()..];
        if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return true;
        }
    }
    false
}

/// How many of the instruction's tested forms an erratum covers, and how many there are.
fn reach(erratum: &Erratum, name: &str) -> (usize, usize) {
    let all = cases(name);
    let covers = |c: &&Case| c.instance.as_ref().is_some_and(|i| erratum.covers_instance(i));
    (all.iter().filter(covers).count(), all.len())
}

/// The instruction that shows an erratum, as a command.
fn command(c: &Counterexample) -> String {
    eval_command(&c.text, &c.operands, "both")
}

fn erratum_text(erratum: &Erratum, name: &str) -> String {
    let (covered, all) = reach(erratum, name);
    let mut out = format!("{BOLD}{}{BOLD:#}: {}", erratum.id, erratum.title);
    out += &format!("  {DIM}{covered} of {all} tested forms{DIM:#}\n");
    out += &output::wrap(erratum.text, "  ");
    if let Ok(c) = counterexample(erratum) {
        out += &format!(
            "  isa gives {:#x}, sm_90 gives {:#x}:\n    {CODE}{}{CODE:#}\n",
            c.isa,
            c.sm90,
            command(&c)
        );
    }
    out
}

fn erratum_json(erratum: &Erratum, name: &str) -> Json {
    let (covered, all) = reach(erratum, name);
    let mut o = json!({
        "id": erratum.id,
        "title": erratum.title,
        "text": erratum.text,
        "opcodes": erratum.opcodes,
        "covered": covered,
        "forms": all,
    });
    if let Ok(c) = counterexample(erratum) {
        o["example"] = json!({
            "eval": command(&c),
            "isa": format!("{:#x}", c.isa),
            "sm_90": format!("{:#x}", c.sm90),
        });
    }
    o
}

fn opcode_json(entry: &Entry, name: &str) -> Json {
    let room = entry.room;
    let forms: Vec<Json> = entry
        .forms
        .iter()
        .map(|p| {
            let sets: serde_json::Map<String, Json> = p
                .form
                .sets
                .iter()
                .filter(|(n, _)| uses(p, n))
                .map(|(n, l)| (n.to_string(), json!(l.split_whitespace().collect::<Vec<_>>())))
                .collect();
            json!({
                "syntax": p.shown(),
                "since": { "ptx": format!("{}.{}", p.form.since.ptx / 10, p.form.since.ptx % 10), "sm": p.form.since.sm },
                "documented": !p.form.undocumented,
                "supported": !p.form.later,
                "sets": sets,
            })
        })
        .collect();
    json!({
        "name": name,
        "title": room.title,
        "family": family(room.section).1,
        "section": room.section,
        "doc": room.doc,
        "forms": forms,
        "notes": room.notes,
        "errata": isa::errata_of(name).map(|e| erratum_json(e, name)).collect::<Vec<_>>(),
    })
}
