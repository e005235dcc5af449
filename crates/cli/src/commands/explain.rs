//! `hostwarp explain`: an instruction or an error code in words.

use super::isa::is_done;
use crate::failure::Failure;
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::compile::{Code, Example};
use hostwarp::isa::manual::{self, Page, Place};
use hostwarp::isa::special::SpecialRegister;
use hostwarp::isa::{self, Entry, Erratum, Parsed, Since};
use serde_json::{Value as Json, json};

/// Explain an instruction, a directive, a special register or an error code.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp explain vmad
  hostwarp explain .reqntid
  hostwarp explain %laneid
  hostwarp explain E0030")]
pub struct Explain {
    /// An opcode (modifiers are ignored), a directive, a special register or the code of a diagnostic.
    #[arg(value_name = "OPCODE|.DIRECTIVE|%REGISTER|CODE")]
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
        if what.starts_with(['.', '%']) {
            let name = what.to_ascii_lowercase();
            let page =
                manual::page(&name).filter(|page| has(page, &name)).ok_or_else(|| no_page(what, &name))?;
            return self.page(page, &name);
        }
        let opcode = what.split('.').next().unwrap_or(what).to_ascii_lowercase();
        match isa::find(&opcode) {
            Some((entry, name)) if self.json => {
                Ok(output::print(&format!("{:#}\n", opcode_json(entry, name)))?)
            }
            Some((entry, name)) => Ok(output::print(&opcode_text(entry, name))?),
            None => match (manual::page(&opcode), manual::place(&opcode)) {
                (Some(page), _) => self.page(page, page.name),
                (None, Some(place)) => self.not_yet(&opcode, place),
                (None, None) => Err(unknown(what, &opcode)),
            },
        }
    }

    /// What has no room.
    fn page(&self, page: &Page, name: &str) -> Result<(), Failure> {
        let register = isa::special(name)
            .or_else(|| isa::special::specials().iter().find(|s| s.name.split('.').next() == Some(name)));
        let supported = !page.name.starts_with('%') || register.is_some();
        if self.json {
            let value = json!({
                "name": name,
                "section": page.section,
                "syntax": page.syntax,
                "type": register.map(|r| r.ty.to_string()),
                "doc": page.doc,
                "supported": supported,
                "file": page.file,
            });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let mut out = format!("{BOLD}{name}{BOLD:#}");
        if let Some(register) = register {
            out += &format!("  {CODE}{}{CODE:#}  {DIM}{}{DIM:#}", register.ty, version(register.since));
        }
        let later = if supported { "" } else { ", not supported yet" };
        out += &format!("\n{DIM}section {} of the PTX manual{later}{DIM:#}\n\n", page.section);
        if !page.syntax.is_empty() {
            out += &format!("  {CODE}{}{CODE:#}\n\n", page.syntax);
        }
        out += &output::wrap(page.doc, "");
        out += &format!("\n{DIM}Source{DIM:#} {}\n", page.file);
        Ok(output::print(&out)?)
    }

    /// An instruction of PTX that Hostwarp has nothing about.
    fn not_yet(&self, opcode: &str, place: Place) -> Result<(), Failure> {
        if self.json {
            let (family, section) = (place.title(), place.to_string());
            let value = json!({ "name": opcode, "family": family, "section": section, "supported": false });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let text = format!(
            "{BOLD}{opcode}{BOLD:#}: not supported yet\n{DIM}{}, section {place} of the PTX manual{DIM:#}\n\n\
             Kernels that contain it cannot be launched; all other kernels of a module can.\n",
            place.title()
        );
        Ok(output::print(&text)?)
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

/// No directive or special register.
/// Whether what a page is about has this component or number: `%tid` has `.x` and no `.q`. Of what Hostwarp does not do nobody knows.
fn has(page: &Page, name: &str) -> bool {
    let of_page = |s: &SpecialRegister| manual::page(s.name).is_some_and(|p| p.name == page.name);
    !name.starts_with('%')
        || name == page.name
        || isa::special(name).is_some()
        || !isa::special::specials().iter().any(of_page)
}

fn no_page(what: &str, name: &str) -> Failure {
    let kind = if name.starts_with('.') { "directive" } else { "special register" };
    let near = isa::near(name, manual::pages().iter().map(|p| p.name));
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!(": there is {}", quoted(&near)),
    };
    Failure::input(format!("PTX has no {kind} `{what}`{hint}"))
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
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
    let near = isa::near(opcode, manual::all());
    let hint = if near.is_empty() {
        "`hostwarp isa` lists all".to_string()
    } else {
        format!("there is {}", quoted(&near))
    };
    Failure::input(format!("PTX has no instruction `{opcode}`: {hint}"))
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
    if let Some(place) = manual::place(name) {
        let later = if is_done(name) { "" } else { ", not supported yet" };
        out += &format!("{DIM}{}, section {place} of the PTX manual{later}{DIM:#}\n\n", place.title());
    }
    let mut group = 0;
    for (i, parsed) in entry.forms.iter().enumerate() {
        let form = parsed.form;
        let undocumented = if form.undocumented { ", not in the manual" } else { "" };
        out += &format!("  {CODE}{}{CODE:#}", parsed.shown());
        let later = if form.later { ", not supported yet" } else { "" };
        let only: String = form.only.split_whitespace().map(|t| format!(", sm_{t}")).collect();
        let sooner = form.sooner.map_or_else(String::new, |sooner| format!(" or {}", version(sooner)));
        out += &format!("  {DIM}{}{sooner}{only}{undocumented}{later}{DIM:#}\n", version(form.since));
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
    out += &format!("\n{DIM}Source{DIM:#} {}\n", files(entry).join(" "));
    out
}

/// The files of its room, that of most forms first.
fn files(entry: &Entry) -> Vec<&'static str> {
    let mut files: Vec<(usize, &str)> = vec![];
    for form in &entry.forms {
        match files.iter_mut().find(|(_, f)| *f == form.form.file()) {
            Some((count, _)) => *count += 1,
            None => files.push((1, form.form.file())),
        }
    }
    files.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    files.into_iter().map(|(_, file)| file).collect()
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

/// What shows that an erratum is one: how many of the instruction's tested forms it covers, and an instruction.
struct Proof {
    covered: usize,
    tested: usize,
    /// What the two profiles give, and the command that shows it.
    example: Option<(u64, u64, String)>,
}

#[cfg(feature = "conformance")]
fn proof(erratum: &Erratum, name: &str) -> Option<Proof> {
    use hostwarp_conformance::{audit::counterexample, cases::cases, replay::eval_command};
    let tested = cases(name);
    let covers = |i: &isa::Instance| erratum.covers_instance(i);
    let covered = tested.iter().filter(|c| c.instance.as_ref().is_some_and(covers)).count();
    let example = counterexample(erratum).ok();
    let example = example.map(|c| (c.isa, c.sm90, eval_command(&c.text, &c.operands, "both")));
    Some(Proof { covered, tested: tested.len(), example })
}

/// What is tested is known to the feature `conformance` only.
#[cfg(not(feature = "conformance"))]
fn proof(_: &Erratum, _: &str) -> Option<Proof> {
    None
}

fn erratum_text(erratum: &Erratum, name: &str) -> String {
    let proof = proof(erratum, name);
    let mut out = format!("{BOLD}{}{BOLD:#}: {}", erratum.id, erratum.title);
    if let Some(Proof { covered, tested, .. }) = proof {
        out += &format!("  {DIM}{covered} of {tested} tested forms{DIM:#}");
    }
    out.push('\n');
    out += &output::wrap(erratum.text, "  ");
    if let Some((isa, sm90, command)) = proof.and_then(|p| p.example) {
        out += &format!("  isa gives {isa:#x}, sm_90 gives {sm90:#x}:\n    {CODE}{command}{CODE:#}\n");
    }
    out
}

fn erratum_json(erratum: &Erratum, name: &str) -> Json {
    let mut o = json!({
        "id": erratum.id,
        "title": erratum.title,
        "text": erratum.text,
        "opcodes": erratum.opcodes,
    });
    if let Some(proof) = proof(erratum, name) {
        o["covered"] = json!(proof.covered);
        o["forms"] = json!(proof.tested);
        if let Some((isa, sm90, command)) = proof.example {
            let (isa, sm90) = (format!("{isa:#x}"), format!("{sm90:#x}"));
            o["example"] = json!({ "eval": command, "isa": isa, "sm_90": sm90 });
        }
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
        "family": manual::place(name).map(Place::title),
        "section": manual::place(name).map(|p| p.to_string()),
        "supported": is_done(name),
        "files": files(entry),
        "doc": room.doc,
        "forms": forms,
        "notes": room.notes,
        "errata": isa::errata_of(name).map(|e| erratum_json(e, name)).collect::<Vec<_>>(),
    })
}
