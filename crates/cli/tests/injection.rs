//! Every request to the operating system fails once, in every command: the exit code and a message say so, and no file is lost, cut off or left behind.
//!
//! `HOSTWARP_FAIL` has the seam in `crates/system` refuse a request. A run in which nothing fails tells how many there are of each kind, and what the files
//! should hold. The sample takes one request in seven of those that are many; `cargo xtask inject` takes all.
#![cfg(all(target_os = "linux", debug_assertions))]

mod common;

use common::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const KINDS: [&str; 5] = ["map", "memory", "thread", "library", "file"];

/// What belongs to a command line, in which `{}` is the folder it runs on and `~` a space within an argument.
struct Scene {
    stdin: &'static str,
    /// Run before it, to make what it finds.
    before: Option<&'static str>,
    /// Its stdout is the same in every run.
    steady: bool,
    /// What it exits with when nothing fails.
    code: i32,
    /// Too slow for the sample.
    slow: bool,
}

const SCENE: Scene = Scene { stdin: "", before: None, steady: true, code: 0, slow: false };

const SAXPY: &str =
    "run {}/saxpy.ptx --grid 64 --block 64 n=4096 a=2.5 x=f32[4096]:iota y=f32[4096]=1 --threads 3";
const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";

fn scenes() -> Vec<(String, Scene)> {
    let run = |more: &str, scene: Scene| (format!("{SAXPY} {more}"), scene);
    let steady = |line: &str| (line.to_string(), SCENE);
    let unsteady = |line: &str| (line.to_string(), Scene { steady: false, ..SCENE });
    vec![
        run("--engine interp --out y={}/y.npy --out x={}/x.bin", SCENE),
        run("--engine jit --out y={}/y.npy", SCENE),
        run("--engine jit", Scene { before: Some("--engine jit"), ..SCENE }),
        run("--engine jit --effort quick --no-cache", SCENE),
        run("--engine auto", SCENE),
        run("--engine interp --json", Scene { steady: false, ..SCENE }),
        run("--emit llvm", SCENE),
        steady("run {}/saxpy.ptx --block 2 n=2 a=1 x=@{}/in.npy y=f32@{}/in.bin --engine interp"),
        ("run - --engine interp".into(), Scene { stdin: KERNEL, ..SCENE }),
        steady("eval add.u32~%d,~%a,~%b a=1 b=2"),
        steady("eval fma.rn.f32~%d,~%a,~%b,~%c a=1 b=2 c=3 --trace"),
        steady("check {}/saxpy.ptx {}/k.ptx"),
        ("check --json -".into(), Scene { stdin: "no PTX", code: 1, ..SCENE }),
        steady("fmt {}/k.ptx {}/saxpy.ptx"),
        ("fmt --check {}/k.ptx".into(), Scene { code: 1, ..SCENE }),
        ("fmt -".into(), Scene { stdin: KERNEL, ..SCENE }),
        steady("info {}/saxpy.ptx"),
        steady("info --json {}/saxpy.ptx"),
        steady("explain add"),
        steady("isa"),
        unsteady("doctor"),
        steady("completions bash"),
        steady("--help"),
        steady("conformance replay --dir {}/recordings --one-in 1000"),
        (
            "conformance docs --dir {}/recordings --results {}/results.json --out {}/docs".into(),
            Scene { slow: true, ..SCENE },
        ),
        // Without a GPU; with one it stops at ptxas, which is not there.
        ("conformance record --ptxas {}/ptxas --out {}/new vadd".into(), Scene { code: 1, ..SCENE }),
    ]
}

type Files = BTreeMap<String, Vec<u8>>;

/// All files in a folder and below it.
fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("it is there").path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).expect("it lies there").display().to_string();
                    found.insert(name, fs::read(path).expect("it can be read"));
                }
            }
        }
    }
    found
}

/// What commands find.
fn fill(folder: &Path) {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders down");
    fs::copy(example("saxpy.ptx"), folder.join("saxpy.ptx")).expect("it is there");
    fs::write(folder.join("k.ptx"), KERNEL).expect("ours");
    fs::write(folder.join("in.bin"), [0, 0, 128, 63, 0, 0, 0, 64]).expect("ours");
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend([0, 0, 128, 63, 0, 0, 0, 64]);
    fs::write(folder.join("in.npy"), npy).expect("ours");
    let recordings = folder.join("recordings");
    fs::create_dir(&recordings).expect("ours");
    for opcode in ["vadd", "abs"] {
        let name = format!("{opcode}.rec");
        fs::copy(root.join("conformance/recordings/h200").join(&name), recordings.join(&name))
            .expect("it is there");
    }
    fs::copy(root.join("conformance/results.json"), folder.join("results.json")).expect("it is there");
}

/// Whether this is a whole entry of the cache. Code that is made in the background may be there in one run and not in another.
fn is_entry(name: &str, contents: &[u8]) -> bool {
    const HEADER: usize = 88;
    let length = contents.get(48..56).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    let begins = contents.starts_with(b"hostwarp object\x01");
    name.ends_with(".kernel") && begins && length == contents.len().checked_sub(HEADER).map(|n| n as u64)
}

struct Trial {
    code: Option<i32>,
    out: String,
    err: String,
    before: Files,
    after: Files,
    /// Kind, whether it was refused, and where it was asked.
    asked: Vec<(String, bool, String)>,
}

impl Trial {
    fn new(line: &str, scene: &Scene, failure: &str) -> Trial {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder is ours");
        let at = folder.path().join("files");
        fs::create_dir(&at).expect("ours");
        fill(&at);
        let command = |line: &str| {
            let mut c = Command::new(env!("CARGO_BIN_EXE_hostwarp"));
            c.args(
                line.replace("{}", &at.display().to_string())
                    .split_whitespace()
                    .map(|word| word.replace('~', " ")),
            );
            c.env("HOSTWARP_CACHE_DIR", at.join("cache")).env("HOSTWARP_CACHE", "on").env("NO_COLOR", "1");
            c
        };
        if let Some(before) = scene.before {
            let ran = command(&format!("{SAXPY} {before}")).output().expect("it runs");
            assert!(ran.status.success(), "{before}");
        }
        let before = files(&at);
        let log = folder.path().join("asked");
        let mut c = command(line);
        c.env("HOSTWARP_FAIL", failure).env("HOSTWARP_ASKED", &log);
        fs::write(folder.path().join("stdin"), scene.stdin).expect("ours");
        let stdin = fs::File::open(folder.path().join("stdin")).expect("it is there");
        let output = c.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it runs");
        let asked = fs::read_to_string(&log).unwrap_or_default();
        let asked = asked.lines().map(|line| {
            let mut words = line.split(' ').map(String::from);
            let mut next = || words.next().expect("three words");
            (next(), next() == "refused", next())
        });
        // Where the folder lies differs from trial to trial.
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&at.display().to_string(), "{}");
        Trial {
            code: output.status.code(),
            out: plain(&output.stdout),
            err: plain(&output.stderr),
            before,
            after: files(&at),
            asked: asked.collect(),
        }
    }

    fn count(&self, kind: &str) -> usize {
        self.asked.iter().filter(|(k, ..)| k == kind).count()
    }

    /// What is wrong with a trial in which something failed.
    fn judge(&self, scene: &Scene, well: &Trial) -> Result<(), String> {
        let Some(code) = self.code else { return Err("the process was killed".into()) };
        let known = [0, 1, 3, 5].contains(&code);
        if !known || self.err.contains("bug in Hostwarp") || self.err.contains("panicked") {
            return Err(format!("exit code {code}"));
        }
        // `replay` lists what it could not compare.
        let listed = self.out.contains("made to fail") || self.out.contains("out of device memory");
        let said = self.err.contains("error: ") || self.out.contains("\"error\"") || listed;
        if code != scene.code && !(code != 0 && said) {
            return Err(format!("exit code {code}, and no word why"));
        }
        for (name, contents) in &self.after {
            let whole = [well.before.get(name), well.after.get(name)].contains(&Some(contents))
                || name.starts_with("cache/") && is_entry(name, contents);
            if !whole {
                return Err(format!("{name} holds {} bytes of something", contents.len()));
            }
        }
        if let Some(gone) = self.before.keys().find(|name| !self.after.contains_key(*name)) {
            return Err(format!("{gone} is gone"));
        }
        if code == 0 && scene.code == 0 {
            if scene.steady && self.out != well.out {
                return Err("it says that all is well, but not what it should say".into());
            }
            // The cache does without what it cannot do.
            let lost =
                well.after.iter().find(|(n, c)| !n.starts_with("cache/") && self.after.get(*n) != Some(c));
            if let Some((name, _)) = lost {
                return Err(format!("it says that all is well, but {name} is not written"));
            }
        }
        Ok(())
    }
}

/// Runs all scenes with one request in so many failing; how many did.
fn inject(one_in: usize) -> usize {
    let (mut trials, mut wrong, mut seen) = (0, vec![], BTreeMap::<&str, usize>::new());
    for (number, (line, scene)) in scenes().iter().enumerate() {
        if scene.slow && one_in > 1 {
            continue;
        }
        let well = Trial::new(line, scene, "file:0");
        let counts: Vec<String> = KINDS.iter().map(|kind| format!("{} {kind}", well.count(kind))).collect();
        println!("{}: {line}", counts.join(", "));
        assert_eq!(well.code, Some(scene.code), "{line}: {}{}", well.out, well.err);
        for kind in KINDS {
            let count = well.count(kind);
            // Each scene begins with another one. Where there are few, all are taken.
            let step = match one_in {
                // Hundreds of the same, each in a run of seconds.
                1 if scene.slow => count.div_ceil(20).max(1),
                _ if count > 4 => one_in,
                _ => 1,
            };
            let single = (1..=count).filter(|n| (n + number) % step == 0).map(|n| format!("{kind}:{n}"));
            let lasting = (count > 0).then(|| format!("{kind}:1+"));
            for failure in single.chain(lasting) {
                let trial = Trial::new(line, scene, &failure);
                // How many threads there are, and which of them asks first, may vary.
                let Some((.., place)) = trial.asked.iter().find(|(_, refused, _)| *refused) else { continue };
                *seen.entry(kind).or_default() += 1;
                trials += 1;
                if let Err(why) = trial.judge(scene, &well) {
                    wrong.push(format!("{line}\n  {failure} at {place}: {why}\n  {}", trial.err));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {trials}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{trials} requests failed: {seen:?}");
    let kinds = if std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some() { KINDS.len() } else { 3 };
    assert!(seen.len() >= kinds, "{seen:?}");
    trials
}

#[test]
fn a_sample_of_all_requests_fails_well() {
    assert!(inject(7) > 60);
}

#[test]
#[ignore = "a minute or two: `cargo xtask inject`"]
fn every_request_fails_well() {
    assert!(inject(1) > 300);
}
