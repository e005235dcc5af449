//! Approximate instructions on every f32, against an H200.

use hostwarp::{Device, Engine};
use hostwarp_conformance::exhaustive::{BLOCKS, FORMS, Kept, read, run, sample};
use std::collections::BTreeMap;

fn recorded() -> BTreeMap<String, Kept> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/recordings/h200_every_f32.txt");
    let recorded = read(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(recorded.keys().collect::<Vec<_>>(), FORMS.iter().collect::<Vec<_>>());
    recorded
}

fn engine() -> Engine {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) { Engine::Auto } else { Engine::Interp }
}

#[test]
fn a_sample_of_all_operands_gives_the_bits_of_the_gpu() {
    let device = Device::new().unwrap();
    for (form, kept) in recorded() {
        // Every fourth CTA of the sample, another one for each form.
        for (i, block) in sample().into_iter().enumerate().skip(form.len() % 4).step_by(4) {
            let sums = run(&device, &form, engine(), block, 1).unwrap();
            assert_eq!(sums, [kept.some[i]], "{form}: operands from {:#010x} on", block << 16);
        }
    }
}

#[test]
#[ignore = "minutes: 64 billion operands"]
fn all_operands_give_the_bits_of_the_gpu() {
    let device = Device::new().unwrap();
    for (form, kept) in recorded() {
        assert_eq!(Kept::new(&run(&device, &form, engine(), 0, BLOCKS).unwrap()), kept, "{form}");
    }
}
