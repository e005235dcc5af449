//! Whole kernels, recorded and compared; the sets are `math` and `corpus`.
//!
//! `pack PTXAS SET FOLDER` makes cubins where there is no GPU; `expect SET FOLDER` adds what Hostwarp makes of the kernels, so that what differs comes back as it is;
//! `record FOLDER SET TO DATE` runs where there is one; `compare SET [interp|jit] [PART]` holds an engine to the recording, every chunk of it;
//! `raw SET FILE` shows what differs in what came back.
use hostwarp::{Device, Engine};
use hostwarp_conformance::kernels::{Entry, Launch, Recorded, Recording, Set, gpu, recording};
use hostwarp_conformance::ptxas::Ptxas;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", ptxas, set, folder] => pack(ptxas, set, Path::new(folder)),
        ["expect", set, folder] => expect(set, Path::new(folder)),
        ["record", folder, set, to, date] => {
            println!("{}", gpu::record(Path::new(folder), set, Path::new(to), date)?);
            Ok(())
        }
        ["child", folder, to, set, start] => {
            let start = start.parse().map_err(|_| "START is a number")?;
            gpu::child(Path::new(folder), Path::new(to), set, start)
        }
        ["compare", set, ref rest @ ..] => compare(set, rest),
        ["raw", set, file] => raw(set, file),
        _ => Err("kernels pack PTXAS SET FOLDER | expect SET FOLDER | record FOLDER SET TO DATE | compare SET [interp|jit] [PART] | raw SET FILE".into()),
    }
}

fn pack(ptxas: &str, set: &str, folder: &Path) -> Result<(), String> {
    for (file, why) in gpu::pack(&Set::named(set)?, Path::new("."), &Ptxas::new(Path::new(ptxas))?, folder)? {
        println!("{file}: {}", why.lines().next().unwrap_or_default());
    }
    Ok(())
}

/// Runs all of a set that contains `part`, and hands on what came of each.
fn each(
    set: &str,
    engine: Engine,
    part: &str,
    mut f: impl FnMut(&Entry, Recorded, f64),
) -> Result<(), String> {
    let (manifest, files) = Set::named(set)?.read(Path::new("."))?;
    let device = Device::new().map_err(|e| e.to_string())?;
    for (file, text) in &files {
        let entries = || manifest.entries.iter().filter(|e| e.file == *file && e.name().contains(part));
        if entries().next().is_none() {
            continue;
        }
        let module = Entry::load(&device, file, text);
        for entry in entries() {
            let begin = Instant::now();
            let made = match (&entry.launch, &module) {
                (Launch::Not(why), _) => Recorded::Not(why.clone()),
                (_, Err(e)) => Recorded::Not(e.to_string()),
                (Launch::Run(sizes), Ok(module)) => match entry.run(module, engine, None) {
                    Ok(all) => Recorded::Outputs(
                        all.iter().map(|bytes| recording::Output::new(bytes, sizes.chunks)).collect(),
                    ),
                    Err(e) => Recorded::Not(e.to_string()),
                },
            };
            f(entry, made, begin.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

fn expect(set: &str, folder: &Path) -> Result<(), String> {
    let mut all = Recording::default();
    each(set, Engine::Auto, "", |entry, made, _| _ = all.kernels.insert(entry.name(), made))?;
    std::fs::write(folder.join(format!("{set}.expected")), all.print()).map_err(|e| e.to_string())
}

fn compare(set: &str, rest: &[&str]) -> Result<(), String> {
    let engine = if rest.first() == Some(&"jit") { Engine::Jit } else { Engine::Interp };
    let part = rest.get(1).copied().unwrap_or_default();
    let text = std::fs::read_to_string(Set::named(set)?.recording).unwrap_or_default();
    let recording = Recording::parse(&text)?;
    let (mut agree, mut differ, mut without) = (0, 0, 0);
    each(set, engine, part, |entry, made, seconds| {
        let name = entry.name();
        if seconds > 5.0 {
            println!("{name}: {seconds:.1} s");
        }
        match (recording.kernels.get(&name), &made) {
            (Some(Recorded::Outputs(want)), Recorded::Outputs(got)) if want == got => agree += 1,
            (Some(Recorded::Outputs(want)), Recorded::Outputs(got)) => {
                differ += 1;
                for (i, (want, got)) in want.iter().zip(got).enumerate() {
                    let wrong: Vec<usize> =
                        (0..want.chunks.len()).filter(|c| want.chunks[*c] != got.chunks[*c]).collect();
                    println!(
                        "{name}: output {i}: {} of {} chunks differ, {:?}",
                        wrong.len(),
                        want.chunks.len(),
                        &wrong[..wrong.len().min(8)]
                    );
                }
            }
            (Some(Recorded::Outputs(_)), Recorded::Not(why)) => {
                differ += 1;
                println!("{name}: {why}");
            }
            (Some(Recorded::Not(why)), _) => {
                without += 1;
                println!("{name}: not recorded: {why}");
            }
            (None, Recorded::Not(why)) => {
                without += 1;
                println!("{name}: not recorded; {why}");
            }
            (None, _) => without += 1,
        }
    })?;
    println!("{agree} agree, {differ} differ, {without} have no recording");
    if differ == 0 { Ok(()) } else { Err("not everything agrees".into()) }
}

/// Chunks that came back because they differ from what was expected.
fn raw(set: &str, file: &str) -> Result<(), String> {
    let (manifest, files) = Set::named(set)?.read(Path::new("."))?;
    let device = Device::new().map_err(|e| e.to_string())?;
    let all = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let mut rest = &all[..];
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let [file, kernel, output, chunk, bytes] = words[..] else { return Err(format!("`{head}`?")) };
        let number = |t: &str| t.parse::<usize>().map_err(|e| e.to_string());
        let (output, chunk, bytes) = (number(output)?, number(chunk)?, number(bytes)?);
        let (want, tail) = rest[end + 1..].split_at(bytes);
        rest = tail;
        let name = format!("{file} {kernel}");
        let Some(entry) = manifest.entries.iter().find(|e| e.name() == name) else { continue };
        let text = &files.iter().find(|(f, _)| f == file).ok_or("no file")?.1;
        let got =
            Entry::load(&device, file, text).and_then(|m| entry.run(&m, Engine::Interp, Some(chunk as u32)));
        let (Ok(got), Some(sizes)) = (got, entry.sizes()) else { continue };
        show(&name, sizes, chunk as u32, output, want, &got[output]);
    }
    Ok(())
}

fn show(
    name: &str,
    sizes: &hostwarp_conformance::kernels::manifest::Sizes,
    chunk: u32,
    output: usize,
    want: &[u8],
    got: &[u8],
) {
    use hostwarp_conformance::kernels::Argument;
    let outputs: Vec<usize> = sizes
        .arguments
        .iter()
        .filter_map(|a| match a {
            Argument::Buffer { size, output: true, .. } => Some(*size),
            _ => None,
        })
        .collect();
    let size = outputs[output];
    let element = |bytes: &[u8], i: usize, size: usize| {
        let mut word = [0; 8];
        if let Some(from) = bytes.get(i * size..(i + 1) * size) {
            word[..size].copy_from_slice(from);
        }
        u64::from_le_bytes(word)
    };
    let wrong: Vec<usize> =
        (0..want.len() / size).filter(|i| element(want, *i, size) != element(got, *i, size)).collect();
    println!("{name}: output {output}, chunk {chunk}: {} of {} differ", wrong.len(), want.len() / size);
    for i in wrong.into_iter().take(6) {
        let inputs: Vec<String> = sizes
            .arguments
            .iter()
            .enumerate()
            .filter_map(|(n, a)| match a {
                Argument::Buffer { kind: Some(_), size, .. } => {
                    Some(format!("{:#x}", element(&a.generate(n, chunk, sizes.chunks), i, *size)))
                }
                _ => None,
            })
            .collect();
        println!(
            "  {i}: {} gives {:#x}, the GPU {:#x}",
            inputs.join(" "),
            element(got, i, size),
            element(want, i, size)
        );
    }
}
