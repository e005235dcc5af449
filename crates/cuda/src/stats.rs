//! What is counted of a launch, as a line of JSON: for `hostwarp exec --stats`, and for whoever sets `HOSTWARP_STATS`.

use hostwarp::Stats;
use std::fmt::Write;

/// The line of a launch.
pub fn line(kernel: &str, grid: [u32; 3], block: [u32; 3], stats: &Stats) -> String {
    let mut out = format!(
        "{{\"kernel\":{kernel:?},\"grid\":{grid:?},\"block\":{block:?},\"warp_instructions\":{},\"thread_instructions\":{},\"opcodes\":{{",
        stats.warp_instructions(),
        stats.thread_instructions()
    );
    for (n, o) in stats.opcodes.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{:?}:{}", o.opcode, o.warps);
    }
    out.push_str("},\"memory\":[");
    for (n, m) in stats.memory.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let (space, access) =
            (format!("{:?}", m.space).to_lowercase(), format!("{:?}", m.access).to_lowercase());
        let _ = write!(
            out,
            "{comma}{{\"space\":{space:?},\"access\":{access:?},\"bytes\":{},\"transactions\":{}}}",
            m.bytes, m.transactions
        );
    }
    out.push_str("]}\n");
    out
}
