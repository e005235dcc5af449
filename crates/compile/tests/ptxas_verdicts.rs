//! What ptxas accepts is accepted, what it rejects is rejected: recorded verdicts on single-instruction modules, half of them mutants.

use hostwarp_compile::{Options, Severity, compile};

const MODULE: &str = include_str!("../../../conformance/verdicts/module.ptx");
const VERDICTS: &str = include_str!("../../../conformance/verdicts/ptxas.txt");
/// Lines by hand, what was found to differ and is mended.
const MENDED: &str = include_str!("../../../conformance/verdicts/mended.txt");

/// The newest version of the ptxas that was asked. It rejects whatever says a newer one, which Hostwarp takes with a warning.
const NEWEST: (u32, u32) = (9, 5);

/// Whether the module with this line in it has no errors; what is not done yet counts as none.
fn accepted(version: &str, target: &str, line: &str) -> bool {
    let module = MODULE
        .replace("{version}", version)
        .replace("{target}", target)
        .replace("{name}", "k")
        .replace("{line}", line);
    let output = compile(&hostwarp_syntax::parse(&module), &Options::default());
    !output.diagnostics.iter().any(|d| d.severity == Severity::Error)
}

#[test]
fn verdicts_are_those_of_ptxas() {
    let (mut counts, mut newer) = ([0, 0], 0);
    let mut wrong = vec![];
    for line in VERDICTS.lines().chain(MENDED.lines()).filter(|l| !l.starts_with('#')) {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().unwrap_or_else(|| panic!("`{line}` is cut short"));
        let (verdict, version, target, text) = (part(), part(), part(), part());
        counts[usize::from(verdict == "+")] += 1;
        let (major, minor) = version.split_once('.').expect("a version has a point");
        if (major.parse::<u32>().expect("a number"), minor.parse::<u32>().expect("a number")) > NEWEST {
            assert_eq!(verdict, "-", "`{line}`");
            newer += 1;
            continue;
        }
        if accepted(version, target, text) != (verdict == "+") {
            wrong.push(line);
        }
    }
    assert!(counts.iter().all(|n| *n > 500), "too few verdicts: {counts:?}");
    assert!(newer < 50, "{newer} verdicts are about the version alone");
    assert!(wrong.is_empty(), "{} of {counts:?} differ:\n{}", wrong.len(), wrong.join("\n"));
}
