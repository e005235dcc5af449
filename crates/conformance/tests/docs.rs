//! The committed documents are what the generator writes.

use hostwarp_conformance::docs::{Results, generate_docs};
use std::path::Path;

#[test]
fn the_documents_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let results = Results::read(&root.join("conformance/results.json")).unwrap();
    let docs = generate_docs(&root.join("conformance/recordings/h200"), &results).unwrap();
    for (name, text) in [("docs/errata.md", docs.errata), ("docs/conformance.md", docs.conformance)] {
        let committed = std::fs::read_to_string(root.join(name)).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is not up to date: `cargo run -p hostwarp-conformance --example docs` writes it"
        );
    }
}
