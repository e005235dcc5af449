//! What `run --stats` and `run --trace` show.

use crate::output;
use hostwarp::compile::Access;
use hostwarp::{Stats, TraceStep};
use serde_json::{Value, json};
use std::fmt::Write;

fn access(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    }
}

fn space(space: hostwarp::ir::Space) -> String {
    format!("{space:?}").to_lowercase()
}

/// The statistics as tables.
pub fn tables(stats: &Stats) -> String {
    let mut out = format!(
        "{} instructions of warps, {} of threads: {:.2} of 32 lanes active\n",
        stats.warp_instructions(),
        stats.thread_instructions(),
        stats.active_lanes()
    );
    let head = |out: &mut String, what: &str| {
        let _ =
            writeln!(out, "\n{:>12} {:>14} {:>14} {:>6}  {what}", "warps", "threads", "guard holds", "lanes");
    };
    head(&mut out, "opcode");
    for o in &stats.opcodes {
        let (lanes, name) = (o.active_lanes(), &o.opcode);
        let _ = writeln!(out, "{:>12} {:>14} {:>14} {lanes:>6.2}  {name}", o.warps, o.threads, o.guarded);
    }
    head(&mut out, " line  instruction");
    for i in &stats.instructions {
        let (lanes, line, text) = (i.active_lanes(), i.line, &i.text);
        let _ = writeln!(
            out,
            "{:>12} {:>14} {:>14} {lanes:>6.2}  {line:>5}  {text}",
            i.warps, i.threads, i.guarded
        );
    }
    if !stats.memory.is_empty() {
        let _ = writeln!(
            out,
            "\n{:>12} {:>14} {:>14} {:>14}  memory",
            "warps", "threads", "bytes", "transactions"
        );
    }
    for m in &stats.memory {
        let what = format!("{} {}", space(m.space), access(m.access));
        let _ =
            writeln!(out, "{:>12} {:>14} {:>14} {:>14}  {what}", m.warps, m.threads, m.bytes, m.transactions);
    }
    out.push('\n');
    out
}

/// The statistics for programs.
pub fn stats_json(stats: &Stats) -> Value {
    let instructions = stats.instructions.iter().map(|i| {
        json!({ "line": i.line, "text": i.text, "warps": i.warps, "threads": i.threads, "guard_holds": i.guarded })
    });
    let opcodes = stats.opcodes.iter().map(
        |o| json!({ "opcode": o.opcode, "warps": o.warps, "threads": o.threads, "guard_holds": o.guarded }),
    );
    let memory = stats.memory.iter().map(|m| {
        json!({
            "space": space(m.space), "access": access(m.access), "warps": m.warps, "threads": m.threads,
            "bytes": m.bytes, "transactions": m.transactions,
        })
    });
    json!({
        "warp_instructions": stats.warp_instructions(),
        "thread_instructions": stats.thread_instructions(),
        "active_lanes": stats.active_lanes(),
        "opcodes": opcodes.collect::<Vec<_>>(),
        "instructions": instructions.collect::<Vec<_>>(),
        "memory": memory.collect::<Vec<_>>(),
    })
}

/// Prints a step of a traced thread: a line of text, or of JSON.
pub fn print_step(step: &TraceStep, json: bool) -> std::io::Result<()> {
    let hex = |bits: u128| format!("{bits:#x}");
    if json {
        let accesses = step.accesses.iter().map(|a| {
            json!({ "access": access(a.access), "space": space(a.space), "address": a.address, "bytes": a.bytes })
        });
        let written = step
            .written
            .iter()
            .map(|w| json!({ "register": w.register, "type": w.ty.to_string(), "bits": hex(w.bits) }));
        let line = json!({
            "step": step.number, "line": step.line, "text": step.text, "guard_holds": step.runs,
            "accesses": accesses.collect::<Vec<_>>(), "written": written.collect::<Vec<_>>(),
        });
        return output::print(&format!("{line}\n"));
    }
    let mut line = format!("{:>6}  {:<48}", step.line, step.text);
    if !step.runs {
        line += "  not executed: the guard is false";
    }
    for a in &step.accesses {
        let _ = write!(line, "  {} {:#x}", space(a.space), a.address);
    }
    for w in &step.written {
        let _ = write!(line, "  {} = {}", w.register, hex(w.bits));
    }
    output::print(&format!("{}\n", line.trim_end()))
}
