//! The figures as text.

use crate::contestant::Result;
use crate::extra::{Compile, FIRST};
use crate::measure::Row;
use crate::plot;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Everything measured.
#[derive(Default)]
pub struct Results {
    pub threads: usize,
    pub rows: Vec<Row>,
    pub compile: Vec<Compile>,
    pub growth: Vec<Compile>,
    pub sizes: Vec<(usize, Row)>,
    pub scaling: Vec<(usize, Row)>,
    pub starts: Vec<(&'static str, Duration)>,
}

/// Columns of the table of ratios.
pub const COLUMNS: [&str; 4] = ["jit", "interp", "intrinsics", "pocl"];

const BEGIN: &str = "<!-- figures: written by cargo xtask bench -->";
const END: &str = "<!-- end of figures -->";

fn ms(t: Duration) -> String {
    let ms = t.as_secs_f64() * 1e3;
    match ms {
        m if m < 0.1 => format!("{m:.4}"),
        m if m < 10.0 => format!("{m:.2}"),
        m => format!("{m:.1}"),
    }
}

fn ratio(row: &Row, column: &str) -> String {
    match row.ratios.get(column) {
        Some(r) if *r < 10.0 => format!("{r:.2}"),
        Some(r) => format!("{r:.1}"),
        None => "–".into(),
    }
}

/// A row for the terminal.
pub fn line(row: &Row) -> String {
    let mut out = format!("{:<18} {:>10} ms {}", row.name, ms(row.native_time), row.native);
    for (name, r) in &row.ratios {
        let _ = write!(out, "  {name} {r:.2}");
    }
    if let Some((some, all)) = row.differ {
        let _ = write!(out, "  ({some} of {all} halves differ)");
    }
    out
}

/// A compile time for the terminal.
pub fn compile_line(c: &Compile) -> String {
    let first = FIRST.iter().zip(&c.first).map(|((name, _), time)| format!("{name} {} ms", ms(*time)));
    format!(
        "{}: {} instructions, load {} ms, jit {} ms quickly, {} ms with care, interp {} ms; first launch {}",
        c.name,
        c.instructions,
        ms(c.load),
        ms(c.jit),
        ms(c.best),
        ms(c.interp),
        first.collect::<Vec<_>>().join(", ")
    )
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, n)| n.trim()));
    name.unwrap_or("unknown CPU").to_string()
}

fn figures(results: &Results) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BEGIN}\n\nMeasured on {}, {} threads.\n", cpu(), results.threads);
    let _ = writeln!(out, "| kernel | work | native C | {} |", COLUMNS.join(" | "));
    let _ = writeln!(out, "|---|---|--:|{}", "--:|".repeat(COLUMNS.len()));
    for row in &results.rows {
        let cells: Vec<String> = COLUMNS.iter().map(|c| ratio(row, c)).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} ms ({}) | {} |",
            row.name,
            row.work,
            ms(row.native_time),
            row.native.trim_start_matches("C "),
            cells.join(" | ")
        );
    }
    for row in &results.rows {
        if let Some((some, all)) = row.differ {
            let _ =
                writeln!(out, "\n{}: {some} of {all} halves differ from C's, which rounds twice.", row.name);
        }
    }

    let _ = writeln!(out, "\n## Compile time\n");
    let _ = writeln!(
        out,
        "To machine code made quickly, which a launch begins with, and made with care, which takes its place in the background if it pays.\n"
    );
    let _ = writeln!(
        out,
        "| kernel | instructions | read and check | made quickly | made with care | to the interpreter |"
    );
    let _ = writeln!(out, "|---|--:|--:|--:|--:|--:|");
    for c in &results.compile {
        let (load, jit, best, interp) = (ms(c.load), ms(c.jit), ms(c.best), ms(c.interp));
        let (name, n) = (&c.name, c.instructions);
        let _ = writeln!(out, "| {name} | {n} | {load} ms | {jit} ms | {best} ms | {interp} ms |");
    }
    let _ = writeln!(out, "\nGenerated kernels of growing size:\n");
    let _ = writeln!(
        out,
        "| instructions | read and check | made quickly | made with care | to the interpreter |"
    );
    let _ = writeln!(out, "|--:|--:|--:|--:|--:|");
    for c in &results.growth {
        // Reading included.
        let per = |t: Duration| ms((c.load + t).div_f64(c.instructions as f64 / 1000.0));
        let with_per = |t: Duration| format!("{} ms, {} per 1,000", ms(t), per(t));
        let (load, jit, best, interp) = (ms(c.load), with_per(c.jit), with_per(c.best), ms(c.interp));
        let _ = writeln!(out, "| {} | {load} ms | {jit} | {best} | {interp} ms |", c.instructions);
    }

    let _ = writeln!(out, "\n## First launch\n");
    let _ = writeln!(
        out,
        "The first launch of a kernel on the whole problem, milliseconds: `auto` begins on the interpreter and compiles meanwhile.\n"
    );
    let names: Vec<&str> = FIRST.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "| kernel | {} |\n|---|--:|--:|--:|", names.join(" | "));
    for c in &results.compile {
        let first: Vec<String> = c.first.iter().map(|time| ms(*time)).collect();
        let _ = writeln!(out, "| {} | {} |", c.name, first.join(" | "));
    }

    if !results.starts.is_empty() {
        let _ = writeln!(
            out,
            "\n## Start\n\n`hostwarp run` on a saxpy of 1M elements, from start to end of the process:\n"
        );
        for (kind, time) in &results.starts {
            let _ = writeln!(out, "- {kind}: {} ms", ms(*time));
        }
    }

    let _ = writeln!(
        out,
        "\n## Threads\n\nMilliseconds:\n\n| kernel | threads | native C | jit | interp |\n|---|--:|--:|--:|--:|"
    );
    for (threads, row) in &results.scaling {
        let at = |c: &str| row.ratios.get(c).map_or("–".into(), |r| ms(row.native_time.mul_f64(*r)));
        let _ = writeln!(
            out,
            "| {} | {threads} | {} | {} | {} |",
            row.name,
            ms(row.native_time),
            at("jit"),
            at("interp")
        );
    }

    let _ = write!(
        out,
        "\n## Size\n\nsaxpy, milliseconds a launch, starting threads included:\n\n{}",
        sizes(&results.sizes)
    );
    let _ = write!(out, "\n{END}");
    out
}

/// The times of problems of growing size.
pub fn sizes(sizes: &[(usize, Row)]) -> String {
    let mut out = String::from("| elements | native C | jit | interp | pocl |\n|--:|--:|--:|--:|--:|\n");
    for (n, row) in sizes {
        let at = |c: &str| row.ratios.get(c).map_or("–".into(), |r| ms(row.native_time.mul_f64(*r)));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            crate::case::count(*n),
            ms(row.native_time),
            at("jit"),
            at("interp"),
            at("pocl")
        );
    }
    out
}

/// Puts the figures in place of the old ones in `benchmarks.md`, and draws the plot.
pub fn write(docs: &Path, results: &Results) -> Result {
    let path = docs.join("benchmarks.md");
    let old = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (before, rest) = old.split_once(BEGIN).ok_or("docs/benchmarks.md has no place for figures")?;
    let (_, after) = rest.split_once(END).ok_or("docs/benchmarks.md has no end of figures")?;
    std::fs::write(&path, format!("{before}{}{after}", figures(results))).map_err(|e| e.to_string())?;
    std::fs::write(docs.join("benchmarks.svg"), plot::svg(&results.rows)).map_err(|e| e.to_string())
}
