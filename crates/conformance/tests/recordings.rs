//! Hostwarp against the recordings of an H200, and the manual against both.

use hostwarp::{Engine, Profile};
use hostwarp_conformance::audit::{Reading, audit};
use hostwarp_conformance::docs::Results;
use hostwarp_conformance::file::{Recording, path, read_findings};
use hostwarp_conformance::replay::{Difference, MANY, Report, Selection, replay_all};
use hostwarp_oracle::Oracle;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn recordings() -> PathBuf {
    conformance().join("recordings/h200")
}

fn results() -> Results {
    Results::read(&conformance().join("results.json")).unwrap()
}

/// What to do when the committed results are not those of this run.
const STALE: &str = "conformance/results.json is not up to date: `cargo run -p hostwarp-conformance --example docs -- --replay` writes it";

fn replay(engine: Engine, selection: &Selection) -> Report {
    let report = replay_all(&recordings(), engine, Profile::Sm90, selection).unwrap();
    println!("{report}");
    assert!(report.is_clean(), "{} forms differ from the recording", report.differences.len());
    report
}

#[test]
fn the_interpreter_gives_every_recorded_bit() {
    let report = replay(Engine::Interp, &Selection::default());
    let told = results();
    for row in &report.rows {
        assert_eq!(
            row.replayed, row.recorded,
            "{} has recorded forms that are not generated any more",
            row.opcode
        );
        assert_eq!(row.agreed + row.unsupported.len(), row.replayed);
        let told = told.opcodes.get(&row.opcode).map(|a| (a.interp, a.unsupported.as_slice()));
        assert_eq!(told, Some((row.agreed, row.unsupported.as_slice())), "{}: {STALE}", row.opcode);
        assert!(row.unsupported.is_empty(), "not done yet: {:?}", row.unsupported);
    }
    assert!(report.rows.len() >= 97);
}

#[test]
fn the_jit_gives_every_recorded_bit_of_a_sample() {
    if let Some(selection) = jit(256) {
        replay(Engine::Jit, &selection);
    }
}

#[test]
#[ignore = "minutes"]
fn the_jit_gives_every_recorded_bit() {
    if let Some(selection) = jit(1) {
        replay(Engine::Jit, &selection);
    }
}

/// One form in so many, if there is a libLLVM.
fn jit(one_in: u64) -> Option<Selection> {
    let llvm = hostwarp::Device::new().unwrap().llvm();
    if let Err(why) = llvm {
        assert!(std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_none(), "{why}");
        println!("skipped: {why}");
        return None;
    }
    Some(Selection { one_in, ..Selection::default() })
}

/// The oracle's reading of the manual.
fn manual(text: &str) -> Option<Reading> {
    let oracle = Oracle::parse(text).ok()?;
    Some(Box::new(move |operands| oracle.eval(operands)))
}

fn none(what: &str, differences: &[Difference]) {
    for d in differences.iter().take(10) {
        println!("{what}: {d}");
    }
    assert!(differences.is_empty(), "{what}: {} forms", differences.len());
}

#[test]
fn every_departure_from_the_manual_belongs_to_an_erratum_that_predicts_it() {
    let audit = audit(&recordings(), &Selection::default(), &manual).unwrap();
    none("sm_90 is not what was recorded", &audit.mispredicted);
    none("isa departs from the GPU and no erratum says so", &audit.unexplained);
    none("isa departs from the GPU, but not to what the manual says", &audit.unmanual);
    let told = results();
    assert_eq!(audit.reach, told.errata, "{STALE}");
    for (opcode, agreement) in &told.opcodes {
        let departing = audit.departing.get(opcode).copied().unwrap_or(0);
        assert_eq!(departing, agreement.departing, "{opcode}: {STALE}");
    }
}

/// The tests above can fail: a profile that follows no erratum is found out, form by form.
#[test]
fn a_wrong_meaning_is_found_out() {
    let selection = Selection { opcodes: vec!["vsub".into()], one_in: 8 };
    let report = replay_all(&recordings(), Engine::Interp, Profile::Isa, &selection).unwrap();
    assert!(!report.is_clean());
    let text = report.to_string();
    assert!(text.contains("hostwarp eval 'vsub."), "{text}");
    let row = &report.rows[0];
    assert_eq!(row.agreed + report.differences.len(), row.replayed);
    assert!(row.forms > MANY && row.replayed < row.forms / 4);
}

#[test]
fn an_opcode_without_recording_is_an_error() {
    let selection = Selection { opcodes: vec!["vnothing".into()], one_in: 1 };
    let error = replay_all(&recordings(), Engine::Interp, Profile::Isa, &selection).unwrap_err();
    assert!(error.contains("no recording of `vnothing`"), "{error}");
}

/// What other assemblers do differently is listed against forms that are recorded, with bits that differ.
#[test]
fn findings_are_about_recorded_forms() {
    let findings = read_findings(&recordings()).unwrap();
    assert!(findings.len() > 6000);
    let mut forms: HashMap<String, HashSet<String>> = HashMap::new();
    for f in findings {
        let opcode = f.opcode().to_string();
        let forms = forms.entry(opcode.clone()).or_insert_with(|| {
            let recording = Recording::read(&path(&recordings(), &opcode)).unwrap();
            recording.cases.into_iter().map(|c| c.text).collect()
        });
        assert!(forms.contains(&f.text) && f.reference != f.got && f.differing > 0, "{f:?}");
    }
}
