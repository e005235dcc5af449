//! Kernels on a GPU, in slices: a child process for each, several at once. A kernel that faults takes its context with it, one that does
//! not end takes the child; another child goes on behind it. What was found before is printed already.

use crate::isolate::CHILD;
use hostwarp_torture::gpu::{Card, Verdict};
use hostwarp_torture::run::Case;
use hostwarp_torture::subject::{KIND, Subject};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// Kernels of a slice.
const SLICE: u64 = 50;
/// How long a child may say nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a kernel may be made smaller, and how many of a slice are.
const REDUCING: Duration = Duration::from_secs(20);
const REDUCED: usize = 3;

/// What is to be run on the GPU.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The first seed.
    pub seed: u64,
    /// How many kernels.
    pub kernels: u64,
    /// How many children at once.
    pub jobs: usize,
    /// Begin nothing after this time.
    pub seconds: Option<u64>,
    /// What the driver's assembler optimises.
    pub level: u32,
    /// Make kernels that differ small.
    pub reduce: bool,
}

impl Slices {
    fn nth(&self, i: u64) -> u64 {
        self.seed & KIND | self.seed.wrapping_add(i) & !KIND
    }

    /// All of it. True if nothing failed.
    pub fn run(&self) -> Result<bool, String> {
        if std::env::var_os(CHILD).is_some() {
            self.here()?;
            return Ok(true);
        }
        let began = Instant::now();
        let next = AtomicU64::new(0);
        let tally = Mutex::new(BTreeMap::<String, u64>::new());
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let from = next.fetch_add(SLICE, Ordering::Relaxed);
                        let late = self.seconds.is_some_and(|s| began.elapsed().as_secs() >= s);
                        if late || from >= self.kernels || failed.lock().is_ok_and(|f| f.is_some()) {
                            break;
                        }
                        let end = self.kernels.min(from + SLICE);
                        if let Err(e) = self.slice(from, end, &tally)
                            && let Ok(mut failed) = failed.lock()
                        {
                            *failed = Some(e);
                        }
                    }
                });
            }
        });
        let tally = tally.into_inner().unwrap_or_else(|e| e.into_inner());
        println!("in {:.0} s:", began.elapsed().as_secs_f64());
        tally.iter().for_each(|(what, count)| println!("{count:8}  {what}"));
        if let Some(e) = failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(e);
        }
        Ok(tally.keys().all(|what| what == "same" || what.starts_with("left out")))
    }

    /// Kernels `from..end` of all, in as many children as it takes.
    fn slice(&self, from: u64, end: u64, tally: &Mutex<BTreeMap<String, u64>>) -> Result<(), String> {
        let mut at = from;
        let count = |what: &str| {
            *tally.lock().unwrap_or_else(|e| e.into_inner()).entry(what.to_string()).or_default() += 1;
        };
        while at < end {
            let before = at;
            let mut args: Vec<String> = vec!["--gpu".into()];
            for (name, value) in
                [("--seed", self.nth(at)), ("--kernels", end - at), ("--level", self.level.into())]
            {
                args.extend([name.to_string(), value.to_string()]);
            }
            if !self.reduce {
                args.push("--no-reduce".into());
            }
            let exe = std::env::current_exe().map_err(|e| e.to_string())?;
            let mut child = Command::new(exe)
                .args(args)
                .env(CHILD, "1")
                // What is assembled once is of no use later.
                .env("CUDA_CACHE_DISABLE", "1")
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|e| e.to_string())?;
            let (lines, heard) = mpsc::channel();
            let out = child.stdout.take();
            let reader = std::thread::spawn(move || {
                for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok)
                {
                    let _ = lines.send(line);
                }
            });
            let mut silent = false;
            let mut open = None;
            // The smallest kernel so far of one that is being reduced.
            let mut small: Vec<String> = vec![];
            loop {
                match heard.recv_timeout(PATIENCE) {
                    Ok(line) => {
                        if let Some(seed) = line.strip_prefix("begin ") {
                            open = Some(seed.to_string());
                        } else if let Some(what) = line.strip_prefix("end ") {
                            count(what);
                            open = None;
                            at += 1;
                            small.clear();
                        } else if line == "smaller" {
                            small.clear();
                        } else if let Some(line) = line.strip_prefix("| ") {
                            small.push(line.to_string());
                        } else if line != "reducing" {
                            println!("{line}");
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        silent = true;
                        let _ = child.kill();
                        break;
                    }
                }
            }
            let how = child.wait().map_err(|e| e.to_string())?;
            let _ = reader.join();
            if let Some(seed) = open {
                match silent {
                    true => println!("seed {seed}: lost: its process said nothing for too long"),
                    false => println!("seed {seed}: lost: its process ended: {how}"),
                }
                if !small.is_empty() {
                    println!("  seed {seed} reduced until then:\n{}\n", small.join("\n"));
                }
                count("lost");
                at += 1;
            } else if at == before {
                return Err("a child did nothing: is there a GPU with its driver?".into());
            }
        }
        Ok(())
    }

    /// What a child does: kernel after kernel, until a context is lost.
    fn here(&self) -> Result<(), String> {
        let card = Card::open(self.level)?;
        let mut reduced = 0;
        for i in 0..self.kernels {
            let seed = self.nth(i);
            println!("begin {seed}");
            let subject = Subject::make(seed);
            let verdict = card.compare(&subject.case());
            if verdict.is_failure() {
                let case = subject.case();
                let [b, g] = [case.block, case.grid];
                println!("seed {seed} ({}): {verdict}; block {b:?} grid {g:?}", card.name());
            }
            if let Verdict::Refused(why) = &verdict {
                print_lines(&subject.case().text, why);
            }
            let mut lost = matches!(verdict, Verdict::Lost(_));
            let wrong = matches!(verdict, Verdict::Differs(_) | Verdict::Wavers(_));
            if wrong && self.reduce && reduced < REDUCED {
                reduced += 1;
                let began = Instant::now();
                let mut last = verdict.clone();
                let races = card.races(&subject.case());
                let (small, _) = subject.reduce(|case: &Case| {
                    println!("reducing");
                    if lost || began.elapsed() > REDUCING || !races && card.races(case) {
                        return false;
                    }
                    let small = card.compare(case);
                    lost |= matches!(small, Verdict::Lost(_));
                    let like = small.is_like(&verdict);
                    if like {
                        last = small;
                        println!("smaller");
                        case.text.lines().for_each(|line| println!("| {line}"));
                    }
                    like
                });
                println!("  seed {seed} reduced, {last}:\n{}", small.text);
            }
            match verdict {
                Verdict::Left(_) => println!("end {verdict}"),
                _ => println!("end {}", verdict.to_string().split(':').next().unwrap_or_default()),
            }
            if lost {
                break;
            }
        }
        Ok(())
    }
}

/// The lines of a text that a message of the assembler names.
fn print_lines(text: &str, message: &str) {
    for part in message.split("line ").skip(1) {
        let number = part.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse::<usize>().ok());
        if let Some(line) = number.and_then(|n| text.lines().nth(n.wrapping_sub(1))) {
            println!("  {line}");
        }
    }
}
