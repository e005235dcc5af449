//! Records what the GPU of this machine makes of matrices in the registers of a warp.
//!
//! `matrix pack PTXAS FILE [PART]` assembles a kernel for each form into one file, where there is no GPU; `matrix record FILE HASHES RAW` runs them where there
//! is one and writes a hash of what each made, and what it made of the first tiles; `matrix compare RAW [PART]` compares the interpreter with those.
use hostwarp::{Device, Engine};
use hostwarp_conformance::cuda::Gpu;
use hostwarp_conformance::matrix::{FEW, Form, TILES, forms, hashes, write};
use hostwarp_conformance::ptxas::Ptxas;
use std::collections::BTreeMap;
use std::path::Path;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", ptxas, file] => pack(ptxas, file, ""),
        ["pack", ptxas, file, part] => pack(ptxas, file, part),
        ["record", file, hashes, raw] => record(file, hashes, raw),
        ["compare", raw] => compare(raw, ""),
        ["compare", raw, part] => compare(raw, part),
        _ => Err("matrix pack PTXAS FILE [PART] | record FILE HASHES RAW | compare RAW [PART]".into()),
    }
}

/// A file of names and bytes, each with its length before it.
fn put(all: &mut Vec<u8>, bytes: &[u8]) {
    all.extend((bytes.len() as u32).to_le_bytes());
    all.extend(bytes);
}

fn entries(file: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let all = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let mut rest = &all[..];
    let mut next = || {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let (bytes, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = tail;
        Some(bytes.to_vec())
    };
    let mut out = BTreeMap::new();
    while let (Some(name), Some(bytes)) = (next(), next()) {
        out.insert(String::from_utf8_lossy(&name).into_owned(), bytes);
    }
    Ok(out)
}

fn pack(ptxas: &str, file: &str, part: &str) -> Result<(), String> {
    let ptxas = Ptxas::new(Path::new(ptxas))?;
    let mut all = vec![];
    for form in forms().into_iter().filter(|f| f.name().contains(part)) {
        match ptxas.assemble(&form.ptx(), 0) {
            Ok(cubin) => {
                put(&mut all, form.name().as_bytes());
                put(&mut all, &cubin);
            }
            Err(why) => println!("{}: {why}", form.name()),
        }
    }
    std::fs::write(file, all).map_err(|e| e.to_string())
}

fn record(file: &str, to: &str, raw: &str) -> Result<(), String> {
    let (gpu, cubins) = (Gpu::open()?, entries(file)?);
    let (mut recorded, mut first) = (BTreeMap::new(), vec![]);
    for form in forms() {
        let name = form.name();
        let Some(cubin) = cubins.get(&name) else {
            println!("{name}: not assembled");
            continue;
        };
        match form.record(&gpu, cubin) {
            Ok(words) => {
                recorded.insert(name.clone(), hashes(&words));
                let few: Vec<u8> =
                    words[..words.len() / TILES * FEW].iter().flat_map(|w| w.to_le_bytes()).collect();
                put(&mut first, name.as_bytes());
                put(&mut first, &few);
            }
            Err(why) => println!("{name}: {why}"),
        }
    }
    std::fs::write(to, write(&recorded)).map_err(|e| e.to_string())?;
    std::fs::write(raw, first).map_err(|e| e.to_string())
}

fn compare(raw: &str, part: &str) -> Result<(), String> {
    let (device, recorded) = (Device::new().map_err(|e| e.to_string())?, entries(raw)?);
    for form in forms().into_iter().filter(|f| f.name().contains(part)) {
        let name = form.name();
        let Some(bytes) = recorded.get(&name) else {
            println!("{name}: not recorded");
            continue;
        };
        let want: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
        match form.run(&device, Engine::Interp, FEW) {
            Ok(got) => differences(&form, &got, &want),
            Err(e) => println!("{name}: {e}"),
        }
    }
    Ok(())
}

fn differences(form: &Form, got: &[u64], want: &[u64]) {
    let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
    if wrong.is_empty() {
        return;
    }
    println!("{}: {} of {} differ", form.name(), wrong.len(), want.len());
    for i in wrong.iter().take(6) {
        let (lane, register) = (i / form.results(), i % form.results());
        println!(
            "  tile {} lane {} register {register}: {:#x}, the GPU {:#x}",
            lane / 32,
            lane % 32,
            got[*i],
            want[*i]
        );
    }
}
