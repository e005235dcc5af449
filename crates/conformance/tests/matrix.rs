//! `mma` and `wmma` on both engines: against the oracle, and against what an H200 made of 1,024 tiles of each form.

use hostwarp::{Device, Engine};
use hostwarp_conformance::matrix::{FEW, TILES, forms, hash, read};
use hostwarp_oracle::{Mma, Quads};

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
    const SOME: usize = 24;
    let device = Device::new().expect("a device");
    let mut compared = 0;
    for (i, form) in forms().into_iter().enumerate() {
        // Others the recording has.
        let (oracle, quads) = (Mma::parse(&form.head), Quads::parse(&form.head));
        if oracle.is_err() && quads.is_err() {
            continue;
        }
        compared += 1;
        let sources = form.sources();
        let mut want = vec![];
        for tile in form.input(SOME).chunks_exact(LANES * sources.iter().sum::<usize>()) {
            let lanes: Vec<&[u64]> = tile.chunks_exact(sources.iter().sum()).collect();
            let mut from = 0;
            let mut part = |n: usize| {
                from += n;
                lanes.iter().map(|l| l[from - n..from].to_vec()).collect::<Vec<_>>()
            };
            let [a, b, c] = [part(sources[0]), part(sources[1]), part(sources[2])];
            want.extend(match (&oracle, &quads) {
                (Ok(oracle), _) => {
                    let metadata = oracle.is_sparse().then(|| part(1).concat());
                    let metadata = metadata.as_deref().map(|m| (m, form.number().expect("a selector")));
                    oracle.eval_stored(&a, &b, &c, metadata).concat()
                }
                (_, Ok(quads)) => quads.eval(&a, &b, &c).concat(),
                _ => vec![],
            });
        }
        for engine in some_engines(&device, i) {
            let got = form
                .run(&device, engine, SOME)
                .unwrap_or_else(|e| panic!("{} on {engine:?}: {e}", form.name()));
            let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
            let first =
                wrong.first().map(|i| format!("{i}: {:#x}, the oracle says {:#x}", got[*i], want[*i]));
            assert_eq!(
                wrong.len(),
                0,
                "{} on {engine:?}, of {}, the first at {first:?}",
                form.name(),
                want.len()
            );
        }
    }
    assert!(compared >= 262, "the oracle knows {compared} forms only");
}

/// The interpreter, and for every 16th form the jit, since that compiles each.
fn some_engines(device: &Device, i: usize) -> Vec<Engine> {
    let all = engines(device);
    if i.is_multiple_of(16) { all } else { vec![all[0]] }
}

/// What moves matrices, and computes nothing.
const MOVES: [&str; 3] = ["ldmatrix.", "stmatrix.", "movmatrix."];

/// The two engines against each other, and rows against where they come from.
#[test]
fn rows_of_matrices_are_moved_alike() {
    let device = Device::new().expect("a device");
    let forms: Vec<_> =
        forms().into_iter().filter(|f| MOVES.iter().any(|opcode| f.head.starts_with(opcode))).collect();
    assert_eq!(forms.len(), 37);
    for form in forms {
        let made: Vec<Vec<u64>> = engines(&device)
            .into_iter()
            .map(|engine| form.run(&device, engine, 64).unwrap_or_else(|e| panic!("{}: {e}", form.name())))
            .collect();
        assert!(made.iter().all(|m| *m == made[0] && m.iter().any(|word| *word != 0)), "{}", form.name());
    }
}

fn replay(tiles: usize, which: impl Fn(&Device, usize) -> Vec<Engine>) {
    let recorded =
        read(include_str!("../../../conformance/recordings/h200_matrix.txt")).expect("a recording");
    let device = Device::new().expect("a device");
    let forms = forms();
    let mut wrong = vec![];
    assert_eq!(recorded.len(), forms.len(), "every form is recorded, and no other");
    for (i, form) in forms.into_iter().enumerate() {
        let [few, all] = recorded[&form.name()];
        for engine in which(&device, i) {
            let got = form
                .run(&device, engine, tiles)
                .unwrap_or_else(|e| panic!("{} on {engine:?}: {e}", form.name()));
            if hash(&got) != if tiles == TILES { all } else { few } {
                wrong.push(format!("{} on {engine:?}", form.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {wrong:#?}", wrong.len());
}

#[test]
fn products_of_matrices_are_those_of_an_h200() {
    replay(FEW, some_engines);
}

#[test]
#[ignore = "all 1,024 tiles of each form on both engines; a minute or more"]
fn all_products_of_matrices_are_those_of_an_h200() {
    replay(TILES, |device, _| engines(device));
}
