//! The kernels of `bench/suite` as they are committed, small, on both engines: the bits of their references in C.

#![forbid(unsafe_code)]

#[path = "../src/suite/launch.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod launch;
#[path = "../src/suite/rows.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod rows;
#[path = "../src/suite/variants.rs"]
#[allow(dead_code, reason = "the benchmark uses the rest")]
mod variants;

use hostwarp::{Effort, Engine};
use launch::{Job, Way};
use std::collections::HashMap;
use std::path::Path;
use variants::Variant;

/// What C computed for each kernel (`cargo xtask bench --suite --bless`).
fn expected(dir: &Path) -> HashMap<String, u64> {
    let text = std::fs::read_to_string(dir.join("expected.txt")).expect("bench/suite/expected.txt");
    let line =
        |l: &str| l.split_once(' ').map(|(name, hash)| (name.to_string(), hash.parse().expect("a hash")));
    text.lines().filter_map(line).collect()
}

fn all_give_the_bits_of_c(ways: &[Way]) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let expected = expected(&dir);
    let mut wrong = vec![];
    for row in rows::ROWS {
        let ptx = std::fs::read_to_string(dir.join(format!("{}.ptx", row.name))).expect(row.name);
        let job = Job { row, variant: Variant::base(row), numbers: row.small };
        let loaded = job.load(&ptx).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        for way in ways {
            let same = loaded.run(*way).and_then(|_| loaded.hash()).map(|h| h == expected[row.name]);
            if !matches!(same, Ok(true)) {
                wrong.push(format!("{}, {way:?}: {same:?}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn interpreter() {
    let interp = Way::new(Engine::Interp, None);
    all_give_the_bits_of_c(&[interp, Way { threads: 2, ..interp }]);
}

#[test]
fn jit() {
    let quick = Way::new(Engine::Jit, Some(Effort::Quick));
    match hostwarp::Device::new().map_err(|e| e.to_string()).and_then(|d| d.llvm()) {
        Ok(_) => all_give_the_bits_of_c(&[quick, Way { turn: Some(200), ..quick }]),
        Err(e) if std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some() => panic!("{e}"),
        Err(e) => eprintln!("not tested: {e}"),
    }
}
