//! A bounded run, and everything that ever failed.

use hostwarp_torture::campaign::{Campaign, Event};
use hostwarp_torture::generate::{WIDE, generate};
use hostwarp_torture::run::{Bench, Case};

/// Whether there is an LLVM to test with; its absence must not go unnoticed where it is expected.
fn has_llvm() -> bool {
    let missing = Bench::new(None, None).err();
    if let Some(why) = &missing {
        assert!(std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    missing.is_none()
}

#[test]
fn kernels_give_the_same_bits_everywhere() {
    same_bits(0);
}

#[test]
fn kernels_for_wide_groups_give_the_same_bits_everywhere() {
    same_bits(WIDE);
}

#[test]
fn the_last_seed_is_followed_by_the_first_of_its_kind() {
    if !has_llvm() {
        return;
    }
    let campaign = Campaign { kernels: 2, one_width: true, jobs: 1, seed: u64::MAX, ..Campaign::default() };
    let seen = std::sync::Mutex::new(vec![]);
    let results = campaign.run(&|event| {
        if let Event::Begin(seed) = event {
            seen.lock().unwrap().push(seed);
        }
    });
    assert!(results.unwrap().found.is_empty());
    assert_eq!(*seen.lock().unwrap(), [u64::MAX, WIDE]);
}

/// Runs kernels from a seed on for some seconds.
fn same_bits(seed: u64) {
    if !has_llvm() {
        return;
    }
    let campaign =
        Campaign { kernels: 2000, seconds: Some(8), one_width: true, jobs: 2, seed, ..Campaign::default() };
    let results = campaign.run(&|_| ()).unwrap();
    let shown: Vec<String> = (results.found.iter())
        .map(|f| {
            let text = f.reduced.as_ref().map_or("", |(case, _)| &case.text);
            format!("seed {}: {}\n{text}", f.seed, f.failure)
        })
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert!(results.coverage.kernels >= 5, "{}", results.coverage.table());
    assert!(results.coverage.unsupported.is_empty(), "{}", results.coverage.table());
}

#[test]
fn past_failures_stay_fixed() {
    if !has_llvm() {
        return;
    }
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/torture");
    let mut bench = Bench::new(None, None).unwrap();
    bench.all_widths = true;
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let case = Case::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let failure = bench.run(&case).failure;
            assert!(failure.is_none(), "{}: {}", path.display(), failure.unwrap());
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn a_kernel_that_does_not_compile_is_not_like_one_that_deadlocks() {
    if !has_llvm() {
        return;
    }
    let bench = Bench::new(None, None).unwrap();
    let failure = |statement: &str| {
        let text = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.entry torture(.param .u64 input, .param .u64 memory, .param .u32 limit, \
             .param .b8 bag[32]) {{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 32; {statement} ret; }}"
        );
        let head = "// torture: seed 1 block 64 1 1 grid 1 1 1 limit 0 input 64 memory 64\n";
        bench.run(&Case::parse(&format!("{head}{text}")).unwrap()).failure.unwrap()
    };
    let deadlock = failure("@%p barrier.sync 1, 64; @!%p barrier.sync 2, 64;");
    assert!(deadlock.to_string().contains("deadlock"), "{deadlock}");
    let other = failure("@%p barrier.sync 3, 64; @!%p barrier.sync 4, 64;");
    let no_kernel = failure("@%p barrier.sync 1, 64; @!%q barrier.sync 2, 64;");
    assert!(deadlock.is_like(&other), "{other}");
    assert!(!deadlock.is_like(&no_kernel), "{no_kernel}");
}

#[test]
fn a_seed_gives_one_kernel() {
    for seed in (0..50).chain(WIDE..WIDE + 50) {
        let case = Case::of(&generate(seed));
        assert_eq!(case, Case::of(&generate(seed)));
        assert_eq!(case, Case::parse(&case.text).unwrap());
    }
}
