//! A bounded run, and everything that ever failed.

use hostwarp_torture::campaign::Campaign;
use hostwarp_torture::generate::generate;
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
    if !has_llvm() {
        return;
    }
    let campaign =
        Campaign { kernels: 2000, seconds: Some(12), one_width: true, jobs: 2, ..Campaign::default() };
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
fn a_seed_gives_one_kernel() {
    for seed in 0..50 {
        let case = Case::of(&generate(seed));
        assert_eq!(case, Case::of(&generate(seed)));
        assert_eq!(case, Case::parse(&case.text).unwrap());
    }
}
