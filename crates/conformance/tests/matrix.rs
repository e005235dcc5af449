//! `mma` on both engines: against the oracle, and against what an H200 made of 1,024 tiles of each form.

use hostwarp::{Device, Engine};
use hostwarp_conformance::matrix::{TILES, forms, hash, read};
use hostwarp_oracle::Mma;

const LANES: usize = 32;

fn engines(device: &Device) -> Vec<Engine> {
    let required = std::env::var("HOSTWARP_REQUIRE_LLVM").is_ok_and(|v| v == "1");
    match device.llvm() {
        Ok(_) => vec![Engine::Interp, Engine::Jit],
        Err(why) => {
            assert!(!required, "HOSTWARP_REQUIRE_LLVM is set, and there is no LLVM: {why}");
            vec![Engine::Interp]
        }
    }
}

#[test]
fn products_of_matrices_are_the_oracles() {
    const FEW: usize = 24;
    let device = Device::new().expect("a device");
    for form in forms() {
        let [d, a, b] = form.registers();
        let oracle = Mma::parse(&form.head).unwrap_or_else(|e| panic!("{}: {e}", form.head));
        let mut want = vec![];
        for tile in form.input(FEW).chunks_exact(LANES * (a + b + d)) {
            let lanes: Vec<&[u64]> = tile.chunks_exact(a + b + d).collect();
            let part =
                |from: usize, n: usize| lanes.iter().map(|l| l[from..from + n].to_vec()).collect::<Vec<_>>();
            want.extend(oracle.eval(&part(0, a), &part(a, b), &part(a + b, d)).concat());
        }
        for engine in engines(&device) {
            let got =
                form.run(&device, engine, FEW).unwrap_or_else(|e| panic!("{} on {engine:?}: {e}", form.head));
            let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
            let first =
                wrong.first().map(|i| format!("{i}: {:#x}, the oracle says {:#x}", got[*i], want[*i]));
            assert_eq!(
                wrong.len(),
                0,
                "{} on {engine:?}, of {}, the first at {first:?}",
                form.head,
                want.len()
            );
        }
    }
}

#[test]
fn products_of_matrices_are_those_of_an_h200() {
    let recorded =
        read(include_str!("../../../conformance/recordings/h200_matrix.txt")).expect("a recording");
    let device = Device::new().expect("a device");
    let forms = forms();
    assert_eq!(recorded.len(), forms.len(), "every form is recorded, and no other");
    for form in forms {
        let want = recorded[&form.head];
        for engine in engines(&device) {
            let got = form
                .run(&device, engine, TILES)
                .unwrap_or_else(|e| panic!("{} on {engine:?}: {e}", form.head));
            assert_eq!(hash(&got), want, "{} on {engine:?}", form.head);
        }
    }
}
