//! What ptxas 13 says to whole small modules: old and odd forms, declarations, linkage, directives. `conformance/verdicts/modules.txt` has its verdicts.

use hostwarp_compile::{Options, Severity, compile};

const MODULES: &str = include_str!("../../../conformance/verdicts/modules.txt");

/// Where this checker and ptxas disagree, and why.
const KNOWN: &[(&str, &str)] = &[];

#[test]
fn verdicts_are_those_of_ptxas() {
    let mut counts = [0, 0];
    let mut wrong = vec![];
    for block in MODULES.split("=== ").skip(1) {
        let (head, text) = block.split_once('\n').expect("a head and a module");
        let (verdict, name) = head.split_once(' ').expect("a verdict and a name");
        counts[usize::from(verdict == "+")] += 1;
        let output = compile(&hostwarp_syntax::parse(text), &Options::default());
        let errors: Vec<_> =
            output.diagnostics.iter().filter(|d| d.severity == Severity::Error).map(|d| &d.message).collect();
        let differs = errors.is_empty() != (verdict == "+");
        if differs != KNOWN.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("{verdict} {name}: {errors:?}"));
        }
    }
    assert!(counts.iter().all(|n| *n > 80), "too few verdicts: {counts:?}");
    assert!(wrong.is_empty(), "{} of {counts:?} differ:\n{}", wrong.len(), wrong.join("\n"));
}
