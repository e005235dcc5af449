//! Every form of every instruction compiles: a sample of its instances as snippets, with and without a guard.

use hostwarp_compile::{Style, Unusable, compile_snippet, render};
use hostwarp_isa::{Profile, find, instances, opcodes};

/// Instances tried for each form.
const MOST: usize = 24;

#[test]
fn every_form() {
    let mut failures = vec![];
    let mut tried = 0;
    for opcode in opcodes() {
        let (entry, opcode) = find(opcode).unwrap();
        for form in &entry.forms {
            let all = instances(opcode, form, 2);
            for instance in all.iter().step_by(all.len().div_ceil(MOST).max(1)) {
                for profile in [Profile::Isa, Profile::Sm90] {
                    let text = format!("@%guard {}", instance.text());
                    let snippet = compile_snippet(&text, profile);
                    tried += 1;
                    let wrong: Vec<_> = snippet
                        .diagnostics
                        .iter()
                        .filter(|d| !matches!(d.code.text(), "W0001" | "U0001"))
                        .cloned()
                        .collect();
                    let verified = snippet.function.as_ref().map(hostwarp_ir::verify);
                    let not_yet = matches!(verified, Err(Unusable::Unsupported { .. }));
                    if !wrong.is_empty() || !(not_yet || matches!(verified, Ok(Ok(())))) {
                        let shown = render(&wrong, &text, "instance", Style::default());
                        failures.push(format!("{text}: {verified:?}\n{shown}"));
                    }
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
    assert!(
        failures.is_empty(),
        "{} of {tried}:\n{}",
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    );
}
