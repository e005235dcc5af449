//! `record PTXAS OUT DATE [OPCODE…]`: records from the GPU of this machine.
use hostwarp_conformance::{cuda::Gpu, generate::programs, ptxas::Ptxas, record::record};
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let ptxas = Ptxas::new(Path::new(&args[1])).unwrap();
    let out = Path::new(&args[2]);
    let opcodes: Vec<String> = if args.len() > 4 {
        args[4..].to_vec()
    } else {
        hostwarp_isa::opcodes().iter().map(|s| s.to_string()).collect()
    };
    if args[3] == "assemble" {
        for o in &opcodes {
            let ps = programs(o);
            let t = std::time::Instant::now();
            let mut bad = 0;
            for p in &ps {
                if let Err(e) = ptxas.assemble(&p.ptx, 0) {
                    bad += 1;
                    if bad < 2 {
                        println!("{}", e.lines().take(3).collect::<Vec<_>>().join("\n"));
                        let line: usize = e
                            .split("line ")
                            .nth(1)
                            .and_then(|s| s.split(';').next())
                            .and_then(|s| s.trim().parse().ok())
                            .unwrap_or(1);
                        println!("   {}", p.ptx.lines().nth(line - 1).unwrap_or(""));
                    }
                }
            }
            let n: usize = ps.iter().map(|p| p.cases.len()).sum();
            println!("{o}: {} programs, {n} cases, {bad} bad, {:?}", ps.len(), t.elapsed());
        }
        return;
    }
    let gpu = Gpu::open().unwrap();
    println!("{} driver {} sm_{}", gpu.name, gpu.driver, gpu.sm);
    let mut findings = vec![];
    for o in &opcodes {
        let t = std::time::Instant::now();
        let r = record(&gpu, &ptxas, o, &args[3], 16).unwrap();
        println!(
            "{o}: {} cases, {} findings, {} failed, {:?}",
            r.recording.cases.len(),
            r.findings.len(),
            r.failed.len(),
            t.elapsed()
        );
        for (text, why) in r.failed.iter().take(2) {
            println!("   {text}: {}", why.lines().take(2).collect::<Vec<_>>().join(" | "));
        }
        findings.extend(r.findings);
        std::fs::write(out.join(format!("{o}.rec")), r.recording.encode().unwrap()).unwrap();
    }
    std::fs::write(out.join("findings.json"), serde_json::to_vec(&findings).unwrap()).unwrap();
}
