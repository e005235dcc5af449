//! Many kernels at once.

use crate::coverage::Coverage;
use crate::run::{Bench, Case, Failure};
use crate::subject::{KIND, Subject};
use hostwarp::jit::target::X86Level;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// How many kernels.
    pub kernels: u64,
    /// The first seed; the others follow.
    pub seed: u64,
    /// How many at once.
    pub jobs: usize,
    /// Stop after this time.
    pub seconds: Option<u64>,
    /// Stop after so many failures.
    pub failures: usize,
    /// The libLLVM to use; searched for if not given.
    pub llvm: Option<PathBuf>,
    /// The step of x86 CPUs to make code for; all that this one has if not given.
    pub cpu: Option<X86Level>,
    /// Make failing kernels small.
    pub reduce: bool,
    /// Every width the jit has, instead of one by the seed.
    pub all_widths: bool,
    /// Compile each kernel once: as the jit likes, or at a width by the seed.
    pub one_width: bool,
}

impl Default for Campaign {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
        Campaign {
            kernels: 1000,
            seed: 0,
            jobs,
            seconds: None,
            failures: 5,
            llvm: None,
            cpu: None,
            reduce: true,
            all_widths: false,
            one_width: false,
        }
    }
}

/// A kernel that failed.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its seed.
    pub seed: u64,
    /// How it failed.
    pub failure: Failure,
    /// Made small, and how that fails.
    pub reduced: Option<(Case, Failure)>,
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The kernel with this seed begins.
    Begin(u64),
    /// It has ended.
    End(u64),
    /// A kernel has failed.
    Found(&'a Found),
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// What was reached.
    pub coverage: Coverage,
    /// What failed, lowest seed first.
    pub found: Vec<Found>,
    /// How long it took.
    pub time: Duration,
}

impl Results {
    /// For programs.
    pub fn json(&self) -> Value {
        let found: Vec<Value> = (self.found.iter())
            .map(|f| {
                let reduced = f.reduced.as_ref().map(|(case, _)| case.text.clone());
                json!({"seed": f.seed, "failure": f.failure.to_string(), "reduced": reduced})
            })
            .collect();
        json!({"seconds": self.time.as_secs_f64(), "coverage": self.coverage.json(), "failures": found})
    }
}

impl Campaign {
    fn bench(&self) -> Result<Bench, String> {
        let mut bench = Bench::new(self.llvm.clone(), self.cpu)?;
        bench.all_widths = self.all_widths;
        bench.one_width = self.one_width;
        Ok(bench)
    }

    /// Runs all kernels; `report` is told what happens as it does, from several threads.
    pub fn run(&self, report: &(dyn Fn(Event<'_>) + Sync)) -> Result<Results, String> {
        self.bench()?;
        let began = Instant::now();
        let next = AtomicU64::new(0);
        let results = Mutex::new(Results::default());
        let locked = || results.lock().unwrap_or_else(|e| e.into_inner());
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    let Ok(mut bench) = self.bench() else { return };
                    let mut coverage = Coverage::default();
                    loop {
                        let late = self.seconds.is_some_and(|s| began.elapsed().as_secs() >= s);
                        if late || locked().found.len() >= self.failures {
                            break;
                        }
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= self.kernels {
                            break;
                        }
                        // Looking at the ops of a few tells as much as of all.
                        bench.count_ops = i.is_multiple_of(8);
                        // What kind of kernel it is stays.
                        let seed = self.seed & KIND | self.seed.wrapping_add(i) & !KIND;
                        report(Event::Begin(seed));
                        if let Some(found) = self.one(&bench, seed, &mut coverage) {
                            report(Event::Found(&found));
                            locked().found.push(found);
                        }
                        report(Event::End(seed));
                    }
                    locked().coverage.merge(coverage);
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
        results.found.sort_by_key(|f| f.seed);
        results.time = began.elapsed();
        Ok(results)
    }

    fn one(&self, bench: &Bench, seed: u64, coverage: &mut Coverage) -> Option<Found> {
        let subject = Subject::make(seed);
        let outcome = bench.run(&subject.case());
        coverage.add(&subject, &outcome);
        let failure = outcome.failure?;
        let reduced = self.reduce.then(|| {
            let like = |case: &Case| bench.run(case).failure.filter(|f| f.is_like(&failure));
            let (small, _) = subject.reduce(|case| like(case).is_some());
            let failure = like(&small).unwrap_or(failure.clone());
            (small, failure)
        });
        Some(Found { seed, failure, reduced })
    }
}
