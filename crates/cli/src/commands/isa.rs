//! `hostwarp isa`: which instructions there are.

use crate::failure::Failure;
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::isa;
use serde_json::json;
use std::collections::BTreeMap;

/// List the instructions Hostwarp knows, by family.
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

/// The manual's chapters on instructions, by the third number of the section.
const FAMILIES: &[(u32, &str)] = &[
    (1, "Integer arithmetic"),
    (2, "Extended-precision integer arithmetic"),
    (3, "Floating point"),
    (4, "Half precision"),
    (5, "Mixed precision"),
    (6, "Comparison and selection"),
    (7, "Half-precision comparison"),
    (8, "Logic and shift"),
    (9, "Data movement and conversion"),
    (10, "Textures"),
    (11, "Surfaces"),
    (12, "Control flow"),
    (13, "Synchronisation and communication"),
    (14, "Warp-level matrices"),
    (15, "Warp-group matrices"),
    (16, "Tensor core, fifth generation"),
    (17, "Stack"),
    (18, "Video"),
    (19, "Miscellaneous"),
];

/// The family a section of the manual belongs to.
pub fn family(section: &str) -> (u32, &'static str) {
    let number = section.split('.').nth(2).and_then(|n| n.parse().ok()).unwrap_or(u32::MAX);
    FAMILIES.iter().copied().find(|f| f.0 == number).unwrap_or((u32::MAX, "Other"))
}

impl Isa {
    pub fn run(self) -> Result<(), Failure> {
        let opcodes = isa::opcodes();
        let entry = |name: &str| isa::find(name).expect("opcodes() names only what find() finds").0;
        let forms: usize = opcodes.iter().map(|o| entry(o).forms.len()).sum();
        if self.json {
            let list: Vec<_> = opcodes
                .iter()
                .map(|o| {
                    let e = entry(o);
                    json!({
                        "name": o,
                        "family": family(e.room.section).1,
                        "title": e.room.title,
                        "section": e.room.section,
                        "forms": e.forms.iter().map(|f| f.shown()).collect::<Vec<_>>(),
                    })
                })
                .collect();
            let value = json!({ "opcodes": list, "forms": forms });
            return Ok(output::print(&format!("{value:#}\n"))?);
        }
        let mut families: BTreeMap<(u32, &str), Vec<&str>> = BTreeMap::new();
        for opcode in &opcodes {
            families.entry(family(entry(opcode).room.section)).or_default().push(opcode);
        }
        let mut out = format!("{} opcodes in {forms} forms\n", opcodes.len());
        for ((_, name), list) in families {
            let count: usize = list.iter().map(|o| entry(o).forms.len()).sum();
            out += &format!("\n{BOLD}{name}{BOLD:#} {DIM}{} opcodes, {count} forms{DIM:#}\n", list.len());
            out += &format!("{CODE}{}{CODE:#}", output::wrap(&list.join(" "), "  "));
        }
        Ok(output::print(&out)?)
    }
}
