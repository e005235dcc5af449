//! `record PTXAS OUT DATE [OPCODE…]`: records from the GPU of this machine.
use hostwarp_conformance::{ptxas::Ptxas, record::record_all};
use std::path::Path;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [ptxas, out, date, opcodes @ ..] = args.as_slice() else {
        return Err("record PTXAS OUT DATE [OPCODE…]".into());
    };
    record_all(&Ptxas::new(Path::new(ptxas))?, Path::new(out), date, opcodes, |p| {
        println!("{}: {} forms, {} findings, {} failed", p.opcode, p.recorded, p.findings, p.failed.len());
        for (text, why) in p.failed.iter().take(3) {
            println!("   {text}: {}", why.lines().take(2).collect::<Vec<_>>().join(" | "));
        }
    })
}
