//! The tables.

use super::{Judged, Ours, WANTED, WANTED_LATER, judged_opcodes, reasons::reason};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Verdicts kept for the tests, of each opcode.
const KEPT: usize = 40;

/// Everything there is to say.
pub struct Report<'a> {
    judged: &'a [Judged],
    rows: Vec<Row>,
}

struct Row {
    opcode: &'static str,
    /// Tried and agreed, of the legal half and of the mutants.
    legal: (usize, usize),
    mutants: (usize, usize),
    /// Not done yet, whatever ptxas says.
    unknown: usize,
}

impl Row {
    fn percent(&self) -> f64 {
        100.0 * (self.legal.1 + self.mutants.1) as f64 / (self.legal.0 + self.mutants.0).max(1) as f64
    }
}

impl<'a> Report<'a> {
    /// Counts.
    pub fn new(judged: &'a [Judged]) -> Report<'a> {
        let rows = judged_opcodes().into_iter().filter_map(|opcode| {
            let mut row = Row { opcode, legal: (0, 0), mutants: (0, 0), unknown: 0 };
            for j in judged.iter().filter(|j| j.sample.opcode == opcode) {
                let half = if j.sample.mutations.is_empty() { &mut row.legal } else { &mut row.mutants };
                half.0 += 1;
                half.1 += usize::from(j.agrees());
                row.unknown += usize::from(matches!(j.ours, Ours::Unknown(_) | Ours::Later));
            }
            (row.legal.0 + row.mutants.0 > 0).then_some(row)
        });
        Report { judged, rows: rows.collect() }
    }

    /// The opcodes that agree less often than that.
    pub fn below(&self, percent: impl Fn(&str) -> f64) -> Vec<&'static str> {
        self.rows.iter().filter(|r| r.percent() < percent(r.opcode)).map(|r| r.opcode).collect()
    }

    /// One row for each opcode, and one for all.
    pub fn table(&self) -> String {
        let mut out = String::from(
            "| opcode | legal | agreed | mutants | agreed | not done yet | % |\n|---|---:|---:|---:|---:|---:|---:|\n",
        );
        let mut all = Row { opcode: "all", legal: (0, 0), mutants: (0, 0), unknown: 0 };
        for row in &self.rows {
            for (sum, part) in [(&mut all.legal, row.legal), (&mut all.mutants, row.mutants)] {
                sum.0 += part.0;
                sum.1 += part.1;
            }
            all.unknown += row.unknown;
        }
        for r in self.rows.iter().chain([&all]) {
            let ((lt, la), (mt, ma)) = (r.legal, r.mutants);
            let name = if r.opcode == "all" { "**all**".into() } else { format!("`{}`", r.opcode) };
            let _ =
                writeln!(out, "| {name} | {lt} | {la} | {mt} | {ma} | {} | {:.2} |", r.unknown, r.percent());
        }
        out
    }

    /// Every disagreement, under its reason.
    pub fn disagreements(&self) -> String {
        let mut groups: BTreeMap<Option<&'static str>, Vec<&Judged>> = BTreeMap::new();
        for j in self.judged.iter().filter(|j| !j.agrees()) {
            groups.entry(reason(j)).or_default().push(j);
        }
        let mut out = String::new();
        for (why, group) in groups {
            let _ = writeln!(out, "### {} ({})\n\n```text", why.unwrap_or("Not explained yet"), group.len());
            for j in group {
                let ours = match &j.ours {
                    Ours::Legal | Ours::Later => "accepted here".to_string(),
                    Ours::Wrong(why) | Ours::Unknown(why) => format!("here: {why}"),
                };
                let theirs = match &j.theirs {
                    Ok(()) => "accepted by ptxas".to_string(),
                    Err(why) => format!("ptxas: {why}"),
                };
                let s = &j.sample;
                let _ = writeln!(out, "{} {}  {}\n    {theirs}; {ours}", s.version, s.target, s.line());
            }
            let _ = writeln!(out, "```\n");
        }
        out
    }

    /// The page in `docs/`.
    pub fn page(&self, version: &str, seed: u64) -> String {
        let accepted = self.judged.iter().filter(|j| j.theirs.is_ok()).count();
        format!(
            "# Agreement with ptxas\n\n\
             Which instructions are legal, according to Hostwarp and according to ptxas ({version}), on {} single-instruction modules. Half of them \
             are legal by Hostwarp's tables, with random modifiers, operands, register types, versions and targets; half are mutants of those \
             (modifiers dropped, doubled, swapped, replaced, added; types, opcodes, operands, selectors, signs, register types, versions and targets \
             changed), some of which are still legal. ptxas accepts {accepted} of all.\n\n\
             `cargo xtask ptxas-agreement` makes this page (seed {seed}); it fails where an opcode agrees less than {WANTED} % of the time ({WANTED_LATER} % where it has no meaning yet). \"Not done yet\" counts \
             modules Hostwarp reports as unsupported; they are disagreements where ptxas accepts them.\n\n{}\n## Disagreements\n\n{}",
            self.judged.len(),
            self.table(),
            self.disagreements(),
        )
        .trim_end()
        .to_string()
            + "\n"
    }

    /// A sample of the verdicts on which both agree, for the tests to replay.
    pub fn verdicts(&self, version: &str) -> String {
        let mut out = format!(
            "# Verdicts of ptxas ({version}) on instructions in the module beside this file: + accepted, - rejected.\n\
             # Made by `cargo xtask ptxas-agreement`.\n"
        );
        for opcode in judged_opcodes() {
            let agreed: Vec<&Judged> =
                self.judged.iter().filter(|j| j.sample.opcode == opcode && j.agrees()).collect();
            let step = agreed.len().div_ceil(KEPT).max(1);
            for j in agreed.iter().step_by(step) {
                let s = &j.sample;
                let sign = if j.theirs.is_ok() { '+' } else { '-' };
                let _ = writeln!(out, "{sign} {} {} {}", s.version, s.target, s.line());
            }
        }
        out
    }
}
