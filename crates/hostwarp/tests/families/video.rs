//! vadd vsub vabsdiff vmin vmax vshl vshr vset vmad, and the families on two half-words and four bytes.

use crate::harness::{Batch, Check, Form, Random, forms, sampled};
use hostwarp::Engine;
use hostwarp_oracle::edges;

const SCALAR: &[&str] = &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad"];
/// How many forms they have in the manual.
const SCALAR_FORMS: usize = 83_104;

#[rustfmt::skip]
const SIMD: &[&str] = &[
    "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2",
    "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
];

/// Forms in one kernel: many make launches few, too many make LLVM slow.
const FORMS: usize = 48;
/// Operands for each form; every kernel has others.
const LANES: usize = 64;

fn all(opcodes: &[&str]) -> Vec<Form> {
    opcodes.iter().flat_map(|opcode| forms(opcode)).collect()
}

/// On all cores: LLVM takes most of the time, and one kernel of it at a time.
fn check(forms: &[Form], engine: Engine) {
    check_with(forms, || Check::new(&[engine]));
}

fn check_with(forms: &[Form], new: impl Fn() -> Check + Sync) {
    let new = &new;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = forms.len().div_ceil(threads).next_multiple_of(FORMS);
    std::thread::scope(|scope| {
        for (n, forms) in forms.chunks(share).enumerate() {
            scope.spawn(move || {
                let mut check = new();
                let mut words = Words::new(1 + n as u64);
                for forms in forms.chunks(FORMS) {
                    check.batch(&Batch { forms, columns: words.columns(LANES) });
                }
                check.finish();
            });
        }
    });
}

#[test]
fn scalar_forms_on_the_interpreter() {
    let forms = all(SCALAR);
    assert_eq!(forms.iter().filter(|form| form.documented).count(), SCALAR_FORMS);
    check(&forms, Engine::Interp);
}

#[test]
fn some_scalar_forms_on_the_jit() {
    check(&sampled(all(SCALAR), 32), Engine::Jit);
    check_with(&sampled(all(SCALAR), 64), Check::quick);
}

#[test]
#[ignore = "minutes"]
fn scalar_forms_on_the_jit() {
    check(&all(SCALAR), Engine::Jit);
    check_with(&all(SCALAR), Check::quick);
}

#[test]
fn simd_forms_on_the_interpreter() {
    check(&all(SIMD), Engine::Interp);
}

#[test]
fn some_simd_forms_on_the_jit() {
    check(&sampled(all(SIMD), 8), Engine::Jit);
    check_with(&sampled(all(SIMD), 16), Check::quick);
}

#[test]
fn some_simd_forms_on_older_cpus() {
    let forms = sampled(all(SIMD), 64);
    for (_, mut check) in Check::older_cpus() {
        let mut words = Words::new(99);
        for forms in forms.chunks(FORMS) {
            check.batch(&Batch { forms, columns: words.columns(LANES) });
        }
        check.finish();
    }
}

#[test]
#[ignore = "minutes"]
fn simd_forms_on_the_jit() {
    check(&all(SIMD), Engine::Jit);
    check_with(&all(SIMD), Check::quick);
}

/// Every pair of bytes in one element of one lane, for all types, `.sat` and `.add`.
#[test]
fn every_pair_of_bytes() {
    // Neighbouring elements hold pairs far apart, so that what leaks from one into the next is seen.
    let pair = |lane: usize, element: usize| (4 * lane + element) * 0x9e35 % 65536;
    let operand = |lane, byte: fn(usize) -> usize| {
        (0..4).map(|element| (byte(pair(lane, element)) as u64) << (8 * element)).sum()
    };
    let mut words = Words::new(2);
    let columns = [
        (0..16384).map(|lane| operand(lane, |pair| pair >> 8)).collect(),
        (0..16384).map(|lane| operand(lane, |pair| pair & 0xff)).collect(),
        (0..16384).map(|_| words.next()).collect(),
    ];
    let mut check = Check::new(&[Engine::Interp, Engine::Jit]);
    for opcode in SIMD.iter().filter(|opcode| opcode.ends_with('4')) {
        let mut forms = forms(opcode);
        forms.retain(|form| form.text.ends_with("%d, %a, %b, %c"));
        assert!(forms.len() == if *opcode == "vset4" { 48 } else { 24 }, "{} of {opcode}", forms.len());
        check.batch(&Batch { forms: &forms, columns: columns.clone() });
    }
    check.finish();
}

/// Words that tend to break video arithmetic: edges of all sub-widths, shift amounts, anything.
struct Words {
    random: Random,
    words: Vec<u64>,
    halves: Vec<u64>,
    bytes: Vec<u64>,
}

impl Words {
    fn new(seed: u64) -> Words {
        let [words, halves, bytes] = ["u32", "u16", "u8"].map(edges);
        Words { random: Random(seed), words, halves, bytes }
    }

    fn next(&mut self) -> u64 {
        let random = &mut self.random;
        match random.next() % 8 {
            0 | 1 => random.of(&self.words),
            2 => (0..2).fold(0, |acc, _| acc << 16 | random.of(&self.halves)),
            3 | 4 => (0..4).fold(0, |acc, _| acc << 8 | random.of(&self.bytes)),
            5 => random.next() % 64,
            _ => random.next() >> 32,
        }
    }

    fn columns(&mut self, lanes: usize) -> [Vec<u64>; 3] {
        let mut columns = [(); 3].map(|()| (0..lanes).map(|_| self.next()).collect::<Vec<_>>());
        // Equal operands and near ones, where comparisons have their corners.
        for lane in (0..lanes).step_by(8) {
            let near = self.random.of(&[0, 1, u64::MAX]);
            columns[1][lane] = columns[0][lane].wrapping_add(near) & 0xffff_ffff;
        }
        columns
    }
}
