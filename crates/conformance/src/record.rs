//! Recording: what a GPU does, from ptxas at -O0 (the reference), at -O3, and from the driver's own assembler.

use crate::cuda::Gpu;
use crate::file::{FORMAT, Finding, Header, Recorded, Recording, path, read_findings, write_findings};
use crate::generate::{BLOCK, KERNEL, Program, programs};
use crate::ptxas::Ptxas;
use crate::vectors::{ALL, RAW, hash};
use hostwarp_system::{file, thread};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What came of recording an opcode.
#[derive(Debug)]
pub struct Outcome {
    /// The recording.
    pub recording: Recording,
    /// Where -O3 or the driver differ from it.
    pub findings: Vec<Finding>,
    /// Forms that could not be assembled or run, and why.
    pub failed: Vec<(String, String)>,
}

/// What [`record_all`] did with an opcode.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The opcode.
    pub opcode: String,
    /// Forms recorded.
    pub recorded: usize,
    /// Differences of the other assemblers.
    pub findings: usize,
    /// Forms that could not be assembled or run, and why.
    pub failed: Vec<(String, String)>,
}

/// Records opcodes (all that have forms, if none are named) from the GPU of this machine into `dir`, one file each, and replaces
/// what was found of them before. `report` is told of each.
pub fn record_all(
    ptxas: &Ptxas,
    dir: &Path,
    date: &str,
    opcodes: &[String],
    mut report: impl FnMut(&Progress),
) -> Result<(), String> {
    let gpu = Gpu::open()?;
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    let all: Vec<String> = crate::cases::opcodes().into_iter().map(String::from).collect();
    file::create_folder(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut findings = read_findings(dir)?;
    for opcode in if opcodes.is_empty() { &all } else { opcodes } {
        let outcome = record(&gpu, ptxas, opcode, date, jobs)?;
        let progress = Progress {
            opcode: opcode.clone(),
            recorded: outcome.recording.cases.len(),
            findings: outcome.findings.len(),
            failed: outcome.failed,
        };
        if progress.recorded > 0 {
            let path = path(dir, opcode);
            file::replace(&path, &outcome.recording.encode()?)
                .map_err(|e| format!("{}: {e}", path.display()))?;
            findings.retain(|f| f.opcode() != opcode);
            findings.extend(outcome.findings);
            write_findings(dir, &findings)?;
        }
        report(&progress);
    }
    Ok(())
}

/// Both cubins of a program, or ptxas's messages.
type Assembled = (Result<Vec<u8>, String>, Result<Vec<u8>, String>);

/// Records all forms of an opcode. `jobs` assemblers run at once.
pub fn record(gpu: &Gpu, ptxas: &Ptxas, opcode: &str, date: &str, jobs: usize) -> Result<Outcome, String> {
    let header = Header {
        format: FORMAT,
        opcode: opcode.into(),
        gpu: gpu.name.clone(),
        sm: gpu.sm,
        driver: gpu.driver.clone(),
        ptxas: ptxas.version.clone(),
        level: "-O0".into(),
        date: date.into(),
    };
    let programs = programs(opcode);
    let assembled = assemble_all(ptxas, &programs, jobs);
    let mut out =
        Outcome { recording: Recording { header, cases: vec![] }, findings: vec![], failed: vec![] };
    for (program, (o0, o3)) in programs.iter().zip(assembled) {
        let reference = match o0.and_then(|image| run(gpu, &image, program)) {
            Ok(r) => r,
            Err(e) => {
                out.failed.extend(program.cases.iter().map(|c| (c.text.clone(), e.clone())));
                continue;
            }
        };
        let (width, words) = (program.width, program.words());
        for (case, results) in program.cases.iter().zip(reference.chunks(ALL * words)) {
            let (raw, others) = results.split_at(RAW * words);
            let hash = hash(others.iter().copied());
            out.recording.cases.push(Recorded { text: case.text.clone(), width, raw: raw.to_vec(), hash });
        }
        let mut others = vec![("ptxas -O3".to_string(), o3)];
        if !program.setting.crashes_driver {
            others.push((format!("driver {}", gpu.driver), Ok(program.ptx.clone().into_bytes())));
        }
        for (assembler, image) in others {
            match image.and_then(|image| run(gpu, &image, program)) {
                Ok(got) => compare(program, &assembler, &reference, &got, &mut out.findings),
                Err(e) => out.failed.push((format!("{} ({assembler})", program.cases[0].text), e)),
            }
        }
    }
    Ok(out)
}

fn assemble_all(ptxas: &Ptxas, programs: &[Program], jobs: usize) -> Vec<Assembled> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Assembled>>> = Mutex::new((0..programs.len()).map(|_| None).collect());
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        let Some(p) = programs.get(i) else { return };
        let both = (ptxas.assemble(&p.ptx, 0), ptxas.assemble(&p.ptx, 3));
        done.lock().unwrap_or_else(|e| e.into_inner())[i] = Some(both);
    };
    std::thread::scope(|scope| {
        // Where there can be no more threads, fewer do it.
        let _ = (1..jobs).try_for_each(|_| thread::spawn_scoped(scope, work).map(drop));
        work();
    });
    let none = || (Err("not assembled".to_string()), Err("not assembled".to_string()));
    done.into_inner().unwrap_or_else(|e| e.into_inner()).into_iter().map(|a| a.unwrap_or_else(none)).collect()
}

/// Runs a program: the results, `[case][vector][word]`.
fn run(gpu: &Gpu, image: &[u8], program: &Program) -> Result<Vec<u64>, String> {
    let module = gpu.load(image)?;
    let input: Vec<u64> = program.inputs.concat();
    let operands = gpu.memory((input.len() * 8).max(8))?;
    operands.write(&input)?;
    let count = program.cases.len() * ALL * program.words();
    let results = gpu.memory(count * 8)?;
    let block = program.setting.block.unwrap_or(BLOCK);
    let mut params =
        vec![operands.address().to_le_bytes().to_vec(), results.address().to_le_bytes().to_vec()];
    params.extend(program.third_parameter());
    module.run(KERNEL, [ALL as u32 / block, 1, 1], [block, 1, 1], &params)?;
    results.read(count)
}

fn compare(program: &Program, assembler: &str, reference: &[u64], got: &[u64], findings: &mut Vec<Finding>) {
    let words = program.words();
    let per_case = ALL * words;
    for ((case, reference), got) in
        program.cases.iter().zip(reference.chunks(per_case)).zip(got.chunks(per_case))
    {
        let differing: Vec<usize> = (0..per_case).filter(|i| reference[*i] != got[*i]).collect();
        if let Some(&i) = differing.first() {
            let mut vectors: Vec<usize> = differing.iter().map(|i| i / words).collect();
            vectors.dedup();
            findings.push(Finding {
                text: case.text.clone(),
                assembler: assembler.to_string(),
                differing: vectors.len(),
                operands: program.inputs.iter().map(|o| o[i / words]).collect(),
                reference: reference[i],
                got: got[i],
            });
        }
    }
}
