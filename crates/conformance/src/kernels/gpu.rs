//! Recording on a machine that has a GPU and its driver and nothing else: a folder (a *pack*) holds the manifest and a cubin for each file.
//!
//! Kernels run in a child process that writes a line for each as soon as it is done. A kernel that faults takes the CUDA context with it, one that
//! hangs never ends: the child is started again behind it, and the line of that kernel says what happened.

use super::{Argument, Entry, Launch, Manifest, Recorded, Set, recording::Output};
use crate::cuda::{Gpu, Grid, Module};
use crate::ptxas::Ptxas;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long a kernel may take before the child is ended.
const PATIENCE: Duration = Duration::from_secs(15);

/// Bytes of stack of every thread: recursion in code of -O0 takes more than the driver gives by itself.
const STACK: usize = 32 << 10;

/// Bytes of outputs that differ from what was expected that are kept as they are.
const KEPT: usize = 16 << 20;

/// Makes a pack of a set. Says which files ptxas does not take.
pub fn pack(set: &Set, root: &Path, ptxas: &Ptxas, to: &Path) -> Result<Vec<(String, String)>, String> {
    let (manifest, files) = set.read(root)?;
    std::fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let mut failed = vec![];
    for (name, text) in files {
        let wanted = |e: &Entry| e.file == name && e.sizes().is_some_and(|s| !s.here);
        if !manifest.entries.iter().any(wanted) {
            continue;
        }
        match ptxas.assemble(&for_h200(&text), 0) {
            Ok(cubin) => write(&to.join(format!("{name}.cubin")), &cubin)?,
            Err(why) => failed.push((name, why)),
        }
    }
    write(&to.join(format!("{}.manifest", set.name)), manifest.print().as_bytes())?;
    Ok(failed)
}

/// The text of a module that an H200 can run: one for later targets is made one for it, which ptxas takes unless it needs what an H200 has not.
fn for_h200(text: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix(".target sm_1") {
        Some(rest) => {
            let options = rest.split_once(',').map_or(String::new(), |(_, o)| format!(",{o}"));
            format!(".target sm_90a{options}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Records the packed set: `PACK/SET.manifest` to `TO/SET.txt`. `PACK/SET.expected`, if it is there, is what is expected; outputs that differ are kept as they are in `TO/SET.raw`.
pub fn record(pack: &Path, set: &str, to: &Path, date: &str) -> Result<String, String> {
    std::fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let manifest = manifest(pack, set)?;
    let lines = to.join(format!("{set}.txt"));
    let gpu = Gpu::open()?;
    let head = format!(
        "# Kernels of the set `{set}` on an {} (sm_{}), driver {}, assembled by CUDA 13.4's ptxas (V13.4.92) at -O0, {date}. A line for each: file, kernel, and of each output the first bytes and a hash of each chunk.\n",
        gpu.name, gpu.sm, gpu.driver
    );
    drop(gpu);
    write(&lines, head.as_bytes())?;
    let count = || std::fs::read_to_string(&lines).map_or(0, |t| t.lines().count() - 1);
    let total = manifest.entries.len();
    while count() < total {
        let start = count();
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.arg("child").args([pack, to]).arg(set).arg(start.to_string());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let why = wait(&mut child, &count);
        let done = count();
        // A child that ends well has written why itself.
        let why = why.or((done == start).then(|| "the process did nothing".into()));
        if let Some(why) = why
            && done < total
        {
            append(&lines, &format!("{} not {why}\n", manifest.entries[done].name()))?;
        }
    }
    let text = std::fs::read_to_string(&lines).map_err(|e| e.to_string())?;
    let not = text.lines().filter(|l| !l.starts_with('#') && l.contains(" not ")).count();
    Ok(format!("{set}: {} kernels recorded, {not} not", total - not))
}

/// Until the child ends by itself, or has made nothing for too long.
fn wait(child: &mut Child, count: &impl Fn() -> usize) -> Option<String> {
    let (mut last, mut since) = (count(), Instant::now());
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return (!status.success()).then(|| format!("the process ended: {status}")),
            Ok(None) => {}
            Err(e) => return Some(e.to_string()),
        }
        std::thread::sleep(Duration::from_millis(50));
        let now = count();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Some("it did not end".into());
        }
    }
}

fn manifest(pack: &Path, set: &str) -> Result<Manifest, String> {
    let path = pack.join(format!("{set}.manifest"));
    Manifest::parse(&std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?)
}

fn append(path: &Path, text: &str) -> Result<(), String> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut f| f.write_all(text.as_bytes())).map_err(|e| format!("{}: {e}", path.display()))
}

/// What a child does: kernels from number `start` on, until one fails.
pub fn child(pack: &Path, to: &Path, set: &str, start: usize) -> Result<(), String> {
    let manifest = manifest(pack, set)?;
    let lines = to.join(format!("{set}.txt"));
    let expected = std::fs::read_to_string(pack.join(format!("{set}.expected"))).unwrap_or_default();
    let expected = super::Recording::parse(&expected)?;
    let gpu = Gpu::open()?;
    gpu.stack(STACK)?;
    let mut modules: BTreeMap<String, Result<Module<'_>, String>> = BTreeMap::new();
    for entry in &manifest.entries[start..] {
        let not = |why: String| Recorded::Not(why);
        let recorded = match &entry.launch {
            Launch::Not(why) => not(why.clone()),
            Launch::Run(sizes) if sizes.here => not("an H200's bits may be others".into()),
            Launch::Run(_) => {
                modules.retain(|file, _| *file == entry.file);
                let module = modules.entry(entry.file.clone()).or_insert_with(|| {
                    let path = pack.join(format!("{}.cubin", entry.file));
                    gpu.load(&std::fs::read(&path).map_err(|_| "not assembled".to_string())?)
                });
                match module {
                    Ok(module) => match both(&gpu, module, entry) {
                        Ok(outputs) => kept(entry, outputs, expected.kernels.get(&entry.name()), to, set)?,
                        Err(why) => {
                            // The context may be of no use any more.
                            append(&lines, &format!("{} {}\n", entry.name(), not(why).print()))?;
                            return Ok(());
                        }
                    },
                    Err(why) => not(why.clone()),
                }
            }
        };
        append(&lines, &format!("{} {}\n", entry.name(), recorded.print()))?;
    }
    Ok(())
}

/// What two runs made.
fn both(gpu: &Gpu, module: &Module<'_>, entry: &Entry) -> Result<[Vec<Vec<u8>>; 2], String> {
    Ok([run(gpu, module, entry)?, run(gpu, module, entry)?])
}

fn run(gpu: &Gpu, module: &Module<'_>, entry: &Entry) -> Result<Vec<Vec<u8>>, String> {
    let sizes = entry.sizes().ok_or("not to be run")?;
    let mut parameters = vec![];
    let mut buffers = vec![];
    for (i, argument) in sizes.arguments.iter().enumerate() {
        let bytes = argument.generate(i, 0, 1);
        if let Argument::Bytes(bytes) = argument {
            parameters.push(bytes.clone());
            continue;
        }
        let memory = gpu.memory(bytes.len().max(8))?;
        memory.write_bytes(&bytes)?;
        parameters.push(memory.address().to_le_bytes().to_vec());
        buffers.push((argument.is_output(), bytes.len(), memory));
    }
    let grid =
        Grid { grid: sizes.grid, block: sizes.block, shared: sizes.shared, cooperative: sizes.cooperative };
    module.launch(&entry.kernel, grid, &parameters)?;
    buffers.iter().filter(|b| b.0).map(|(_, len, memory)| memory.read_bytes(*len)).collect()
}

fn kept(
    entry: &Entry,
    [first, second]: [Vec<Vec<u8>>; 2],
    expected: Option<&Recorded>,
    to: &Path,
    set: &str,
) -> Result<Recorded, String> {
    if first != second {
        return Ok(Recorded::Not("two runs differ".into()));
    }
    let chunks = entry.sizes().map_or(1, |s| s.chunks);
    let outputs: Vec<Output> = first.iter().map(|bytes| Output::new(bytes, chunks)).collect();
    let raw = to.join(format!("{set}.raw"));
    if let Some(Recorded::Outputs(expected)) = expected {
        for (i, ((got, bytes), want)) in outputs.iter().zip(&first).zip(expected).enumerate() {
            let differ = (0..chunks as usize).filter(|c| got.chunks.get(*c) != want.chunks.get(*c));
            let each = bytes.len() / chunks as usize;
            // The first two chunks that differ tell enough.
            for chunk in differ.take(2) {
                let held = std::fs::metadata(&raw).map_or(0, |m| m.len() as usize);
                if held + each > KEPT {
                    break;
                }
                let mut all = format!("{} {i} {chunk} {each}\n", entry.name()).into_bytes();
                all.extend(&bytes[chunk * each..(chunk + 1) * each]);
                let file = OpenOptions::new().append(true).create(true).open(&raw);
                file.and_then(|mut f| f.write_all(&all)).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(Recorded::Outputs(outputs))
}
