//! The table of what was measured, in the page `docs/benchmarks-suite.md`.

use super::{Measured, WAYS};
use crate::contestant::Result;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const NAMES: [&str; 3] = ["jit", "jit quick", "interp"];
const BEGIN: &str = "<!-- measured -->\n";
const END: &str = "<!-- end -->\n";

pub(super) struct Table {
    seed: Option<u64>,
    text: String,
    /// Of all variants and of the committed ones, each way.
    all: [Vec<f64>; 3],
    base: [Vec<f64>; 3],
}

impl Table {
    pub(super) fn new(seed: Option<u64>) -> Table {
        let text = "| kernel | PTX | C ms | jit | variants: median | worst | jit quick: median | interp: median | compile ms: jit, quick | LLVM lines per instruction |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
        Table { seed, text: text.into(), all: Default::default(), base: Default::default() }
    }

    /// A kernel: the committed one first.
    pub(super) fn add(&mut self, name: &str, all: Vec<Measured>) -> String {
        let ratios = |way: usize| sorted(all.iter().map(|m| m.ratio(way)).collect());
        let base = &all[0];
        for way in 0..WAYS.len() {
            self.all[way].extend(ratios(way));
            self.base[way].push(base.ratio(way));
        }
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        let mut worst = 0.0;
        let mut of = "";
        for m in all.iter().filter(|m| m.ratio(0) > worst || of.is_empty()).collect::<Vec<_>>() {
            if m.ratio(0) > worst {
                (worst, of) = (m.ratio(0), &m.variant);
            }
        }
        let line = format!(
            "| {name} | {} | {:.2} | {:.2} | {:.2} | {worst:.2} ({of}) | {:.2} | {:.1} | {:.0}, {:.0} | {:.0} |",
            base.instructions,
            ms(base.c),
            base.ratio(0),
            at(&ratios(0), 0.5),
            at(&ratios(1), 0.5),
            at(&ratios(2), 0.5),
            ms(base.compile[0]),
            ms(base.compile[1]),
            base.lines as f64 / base.instructions as f64,
        );
        let _ = writeln!(self.text, "{line}");
        line
    }

    /// Mean, 90th percentile and worst, each way.
    pub(super) fn summary(&self) -> String {
        let mut text = String::from(
            "| time ÷ C's | geometric mean | 90th percentile | worst | cases |\n|---|--:|--:|--:|--:|\n",
        );
        for (what, sets) in [("committed", &self.base), ("with variants", &self.all)] {
            for (name, set) in NAMES.iter().zip(sets) {
                let set = sorted(set.clone());
                let mean = (set.iter().map(|r| r.ln()).sum::<f64>() / set.len().max(1) as f64).exp();
                let (most, worst) = (at(&set, 0.9), at(&set, 1.0));
                let _ =
                    writeln!(text, "| {name}, {what} | {mean:.2} | {most:.2} | {worst:.1} | {} |", set.len());
            }
        }
        text
    }

    /// Puts both tables between the marks of the page.
    pub(super) fn write(&self, page: &Path) -> Result {
        let file = |e: std::io::Error| format!("{}: {e}", page.display());
        let text = std::fs::read_to_string(page).map_err(file)?;
        let (head, rest) = text.split_once(BEGIN).ok_or("the page has no mark for the tables")?;
        let (_, tail) = rest.split_once(END).ok_or("the page has no mark for the end of the tables")?;
        let seed = self.seed.map(|s| format!("Seed {s}.\n\n")).unwrap_or_default();
        let text = format!("{head}{BEGIN}{seed}{}\n{}{END}{tail}", self.summary(), self.text);
        std::fs::write(page, text).map_err(file)
    }
}

fn sorted(mut all: Vec<f64>) -> Vec<f64> {
    all.sort_by(f64::total_cmp);
    all
}

/// The value a part of the way up a sorted list.
fn at(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}
