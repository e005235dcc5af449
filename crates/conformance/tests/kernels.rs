//! Whole kernels: both engines against each other, and against what an H200 made of them. How many have no recording is part of what is asserted.

use hostwarp::{Device, Engine};
use hostwarp_conformance::kernels::recording::{Output, Recorded};
use hostwarp_conformance::kernels::{Entry, Launch, Recording, Set};
use std::path::Path;

/// Kernels with a recording: a file that is missing or short does not go unnoticed.
const RECORDED: [(&str, usize); 3] = [("corpus", 202), ("math", 747), ("matrix", 19)];

fn jit(device: &Device) -> bool {
    let required = std::env::var("HOSTWARP_REQUIRE_LLVM").is_ok_and(|v| v == "1");
    match device.llvm() {
        Ok(_) => true,
        Err(why) => {
            assert!(!required, "HOSTWARP_REQUIRE_LLVM is set, and there is no LLVM: {why}");
            false
        }
    }
}

/// What is run of a kernel on an engine.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// One chunk.
    Chunk,
    /// All of it.
    All,
}

/// Holds kernels to each other and to the recording; says what is wrong.
fn replay(name: &str, part: Part, on_jit: impl Fn(usize) -> bool) {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let set = Set::named(name).expect("a set");
    let (manifest, files) = set.read(root).expect("a manifest and its files");
    let text = std::fs::read_to_string(root.join(set.recording)).unwrap_or_default();
    let recording = Recording::parse(&text).expect("a recording");
    let device = Device::new().expect("a device");
    let jit = jit(&device);
    let (mut wrong, mut ran, mut compiled, mut recorded) = (vec![], 0, 0, 0);
    for (file, text) in &files {
        let module = Entry::load(&device, file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
        for (number, entry) in manifest.entries.iter().enumerate().filter(|(_, e)| e.file == *file) {
            let Launch::Run(sizes) = &entry.launch else { continue };
            let kept = match recording.kernels.get(&entry.name()) {
                Some(Recorded::Outputs(outputs)) => Some(outputs),
                _ => None,
            };
            // The first chunk has the edges with each other; which other one is looked at differs from kernel to kernel.
            let chunk = if number % 2 == 0 { 0 } else { number as u32 % sizes.chunks };
            let chunk = (part == Part::Chunk && sizes.chunks > 1).then_some(chunk);
            let run = |engine| entry.run(&module, engine, chunk).map_err(|e| e.to_string());
            let interp = run(Engine::Interp);
            (ran, recorded) = (ran + 1, recorded + usize::from(kept.is_some()));
            if let (Ok(got), Some(kept)) = (&interp, kept)
                && let Some(why) = differs(got, kept, chunk, sizes.chunks)
            {
                wrong.push(format!("{}: {why}", entry.name()));
            }
            if jit && on_jit(number) {
                compiled += 1;
                if run(Engine::Jit) != interp {
                    wrong.push(format!("{}: the engines differ", entry.name()));
                }
            }
            if let Err(e) = interp {
                wrong.push(format!("{}: {e}", entry.name()));
            }
        }
    }
    println!("{name}: {ran} kernels, {compiled} on the jit too, {recorded} recorded");
    assert!(wrong.is_empty(), "{} of {ran}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(RECORDED.contains(&(name, recorded)), "{recorded} kernels of {name} have a recording");
}

fn differs(got: &[Vec<u8>], kept: &[Output], chunk: Option<u32>, chunks: u32) -> Option<String> {
    if got.len() != kept.len() {
        return Some("another number of outputs".into());
    }
    let each = got.iter().zip(kept).enumerate();
    let wrong: Vec<String> = each
        .filter_map(|(i, (got, kept))| {
            let got = Output::new(got, if chunk.is_some() { 1 } else { chunks });
            let want = match chunk {
                Some(chunk) => &kept.chunks[chunk as usize..][..1],
                None => &kept.chunks[..],
            };
            let wrong: Vec<usize> = (0..want.len()).filter(|c| got.chunks[*c] != want[*c]).collect();
            (!wrong.is_empty()).then(|| format!("output {i}, chunks {wrong:?} of {chunk:?}"))
        })
        .collect();
    (!wrong.is_empty()).then(|| format!("not what an H200 made: {}", wrong.join("; ")))
}

#[test]
fn kernels_of_compilers_run_alike() {
    replay("corpus", Part::All, |number| number % 4 == 0);
}

#[test]
#[ignore = "a minute: the jit compiles every kernel"]
fn all_kernels_of_compilers_run_alike() {
    replay("corpus", Part::All, |_| true);
}

/// Products of matrices in every kind of numbers, attention, layer norm; by hand, from nvcc and from Triton.
#[test]
fn kernels_of_matrices_give_the_bits_of_an_h200() {
    replay("matrix", Part::All, |_| true);
}

#[test]
fn the_math_library_gives_the_bits_of_an_h200() {
    replay("math", Part::Chunk, |number| number % 32 == 0);
}

#[test]
#[ignore = "minutes: all arguments, on both engines"]
fn all_of_the_math_library_gives_the_bits_of_an_h200() {
    replay("math", Part::All, |_| true);
}

/// What compilers make waits for its copies and relies on nothing else that is unspecified, but for these: fewer threads than words of shared memory are
/// launched of one, and nvcc reads a register before it looks whether it was written in the other.
const REFUSED: [(&str, &str, usize); 2] = [
    ("atomics.", "is read and was never written", 9),
    ("rays.c100", "`%r196` is read and was never written", 1),
];

#[test]
fn a_strict_launch_refuses_few_of_them() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let device = Device::new().expect("a device");
    let (mut refused, mut copies) = (vec![], 0);
    for name in ["corpus", "matrix"] {
        let set = Set::named(name).expect("a set");
        let (manifest, files) = set.read(root).expect("a manifest and its files");
        for (file, text) in &files {
            let module = Entry::load(&device, file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
            copies += usize::from(text.contains("cp.async"));
            for entry in manifest.entries.iter().filter(|e| e.file == *file) {
                let Launch::Run(sizes) = &entry.launch else { continue };
                let chunk = (sizes.chunks > 1).then_some(0);
                if let Err(e) = entry.run_as(&module, chunk, |l| l.strict().engine(Engine::Interp)) {
                    refused.push(format!("{}: {e}", entry.name()));
                }
            }
        }
    }
    assert!(copies >= 9, "{copies} files with copies in the background");
    for (file, why, count) in REFUSED {
        let known = |line: &String| line.starts_with(file) && line.contains(why);
        assert_eq!(refused.iter().filter(|line| known(line)).count(), count, "{file}: {refused:?}");
        refused.retain(|line| !known(line));
    }
    assert!(refused.is_empty(), "{}:\n{}", refused.len(), refused.join("\n"));
}
