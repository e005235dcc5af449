//! Every f32 through the approximate instructions. `exhaustive record PTXAS FILE` asks the GPU of this machine, `exhaustive compare FILE [interp|jit] [FORM…]` compares Hostwarp with what it gave.
use hostwarp::{Device, Engine};
use hostwarp_conformance::cuda::Gpu;
use hostwarp_conformance::exhaustive::{BLOCKS, FORMS, Kept, read, record, run, sample, write};
use hostwarp_conformance::ptxas::Ptxas;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["record", ptxas, file] => {
            let (gpu, ptxas) = (Gpu::open()?, Ptxas::new(Path::new(ptxas))?);
            let forms =
                FORMS.iter().map(|form| Ok((form.to_string(), Kept::new(&record(&gpu, &ptxas, form)?))));
            let forms = forms.collect::<Result<_, String>>()?;
            std::fs::write(file, write(&forms)).map_err(|e| e.to_string())
        }
        ["compare", file, engine, only @ ..] => {
            let engine = if *engine == "jit" { Engine::Jit } else { Engine::Interp };
            compare(&read(&std::fs::read_to_string(file).map_err(|e| e.to_string())?)?, engine, only)
        }
        _ => Err("exhaustive record PTXAS FILE | exhaustive compare FILE interp|jit [FORM…]".into()),
    }
}

fn compare(
    forms: &std::collections::BTreeMap<String, Kept>,
    engine: Engine,
    only: &[&str],
) -> Result<(), String> {
    let device = Device::new().map_err(|e| e.to_string())?;
    let mut differ = 0;
    for (form, kept) in forms.iter().filter(|(f, _)| only.is_empty() || only.contains(&f.as_str())) {
        let start = Instant::now();
        let sums = run(&device, form, engine, 0, BLOCKS).map_err(|e| e.to_string())?;
        let got = Kept::new(&sums);
        let wrong: Vec<String> = (sample().iter().zip(&kept.some).zip(&got.some))
            .filter(|((_, a), b)| a != b)
            .map(|((block, _), _)| format!("{block:04x}"))
            .collect();
        let verdict = if got == *kept { "the same" } else { "DIFFERENT" };
        differ += usize::from(got != *kept);
        println!(
            "{form}: all 2^32 operands {verdict} ({:.1} s) {}",
            start.elapsed().as_secs_f64(),
            wrong.join(" ")
        );
    }
    if differ == 0 { Ok(()) } else { Err(format!("{differ} forms differ")) }
}
