//! `hostwarp isa`: which instructions there are.

use crate::failure::Failure;
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::isa::{self, manual, manual::Place};
use serde_json::json;
use std::collections::BTreeMap;

/// List the instructions of PTX by the chapters of its manual, and which of them Hostwarp runs.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp isa
  hostwarp isa --json | jq '.opcodes[].name'

`hostwarp explain OPCODE` says more about one.")]
pub struct Isa {
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

/// Whether Hostwarp runs any form of it.
pub fn is_done(opcode: &str) -> bool {
    match isa::find(opcode) {
        Some((entry, name)) => isa::opcodes().contains(&name) && entry.forms.iter().any(|f| !f.form.later),
        // `call` and the like.
        None => manual::page(opcode).is_some(),
    }
}

impl Isa {
    pub fn run(self) -> Result<(), Failure> {
        let opcodes: Vec<(&str, Place)> =
            manual::all().filter_map(|o| Some((o, manual::place(o)?))).collect();
        let forms = |opcode: &str| isa::find(opcode).map_or(0, |(entry, _)| entry.forms.len());
        let all: usize = opcodes.iter().map(|(o, _)| forms(o)).sum();
        if self.json {
            let list: Vec<_> = opcodes
                .iter()
                .map(|(name, place)| {
                    let entry = isa::find(name).map(|(entry, _)| entry);
                    json!({
                        "name": name,
                        "family": place.title(),
                        "title": entry.map(|e| e.room.title),
                        "section": place.to_string(),
                        "supported": is_done(name),
                        "forms": entry.iter().flat_map(|e| &e.forms).map(|f| f.shown()).collect::<Vec<_>>(),
                    })
                })
                .collect();
            let value = json!({ "opcodes": list, "forms": all });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let mut chapters: BTreeMap<usize, Vec<(Place, &str)>> = BTreeMap::new();
        for (opcode, place) in &opcodes {
            chapters.entry(place.chapter).or_default().push((*place, opcode));
        }
        let done = opcodes.iter().filter(|(o, _)| is_done(o)).count();
        let mut out = format!("{} opcodes, {done} of them supported, in {all} forms\n", opcodes.len());
        for (chapter, mut list) in chapters {
            list.sort_by_key(|(place, _)| place.section);
            let count: usize = list.iter().map(|(_, o)| forms(o)).sum();
            let title = list[0].0.title();
            out += &format!("\n{BOLD}9.7.{chapter} {title}{BOLD:#} {DIM}{count} forms{DIM:#}\n");
            let (done, later): (Vec<&str>, Vec<&str>) =
                list.iter().map(|(_, o)| *o).partition(|o| is_done(o));
            if !done.is_empty() {
                out += &format!("{CODE}{}{CODE:#}", output::wrap(&done.join(" "), "  "));
            }
            if !later.is_empty() {
                let later = output::wrap(&format!("not supported yet: {}", later.join(" ")), "  ");
                out += &format!("{DIM}{later}{DIM:#}");
            }
        }
        Ok(output::print(&out)?)
    }
}
