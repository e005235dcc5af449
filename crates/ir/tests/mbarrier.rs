//! Random operations on an mbarrier against a model that keeps plain numbers and lists who is still to arrive, one by one: it shares neither the layout nor
//! the arithmetic.

use hostwarp_ir::MbarrierOp::{self, *};
use hostwarp_ir::mbarrier::{Misuse, PENDING, PHASE, apply};

const MOST: i64 = 1_048_575;

/// An mbarrier as the manual describes it.
#[derive(Clone, Debug)]
struct Model {
    phases: u64,
    expected: i64,
    /// Arrivals so far in this phase.
    arrived: i64,
    /// Arrivals that this phase takes.
    takes: i64,
    brought: i64,
    wanted: i64,
}

impl Model {
    fn pending(&self) -> i64 {
        self.takes - self.arrived
    }

    /// None where it is not to be done.
    fn step(&mut self, op: MbarrierOp, low: i64, high: i64) -> Option<()> {
        let ok = |holds: bool| holds.then_some(());
        match op {
            Arrive | ArriveNoComplete | Drop | DropNoComplete => {
                self.wanted += high;
                ok((self.wanted - self.brought).abs() <= MOST)?;
                ok((1..=MOST).contains(&low))?;
                if matches!(op, Drop | DropNoComplete) {
                    ok(low <= self.expected)?;
                    self.expected -= low;
                }
                ok(low <= self.pending())?;
                self.arrived += low;
                let over = self.arrived == self.takes && self.wanted == self.brought;
                ok(!over || matches!(op, Arrive | Drop))?;
            }
            ExpectTx => self.wanted += low,
            CompleteTx => self.brought += low,
            CopyArrive => {
                ok(self.pending() < MOST)?;
                self.takes += 1;
                self.arrived += 1;
            }
            Init | Inval | Wait => return Some(()),
        }
        ok((self.wanted - self.brought).abs() <= MOST)?;
        if self.arrived == self.takes && self.wanted == self.brought {
            *self = Model {
                phases: self.phases + 1,
                takes: self.expected,
                arrived: 0,
                brought: 0,
                wanted: 0,
                ..*self
            };
        }
        Some(())
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

#[test]
fn random_operations_agree_with_a_model() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut done, mut refused, mut phases) = (0, 0, 0);
    for round in 0..4000 {
        let most = [3, 40, MOST as u64][round % 3];
        let count = 1 + random.below(most);
        let mut bits = apply(Init, 0, count).expect("a count that is right");
        let n = count as i64;
        let mut model = Model { phases: 0, expected: n, arrived: 0, takes: n, brought: 0, wanted: 0 };
        for _ in 0..40 {
            let op = MbarrierOp::ALL[2 + random.below(8) as usize];
            let pending = model.pending().max(1) as u64;
            let arrives = matches!(op, Arrive | ArriveNoComplete | Drop | DropNoComplete);
            let owed = (model.wanted - model.brought).max(0) as u64;
            let low = match random.below(12) {
                0 => random.below(1 << 21),
                1 => random.below(3),
                _ if arrives => 1 + random.below(pending),
                2..6 => owed,
                _ => 16 * random.below(8),
            };
            let high = if arrives && random.below(4) == 0 { random.below(64) } else { 0 };
            let mut after = model.clone();
            let expected = after.step(op, low as i64, high as i64);
            let got = apply(op, bits, low | high << 32);
            assert_eq!(got.is_ok(), expected.is_some(), "{op:?} {low} {high} on {model:?}: {got:?}");
            if let Ok(new) = got {
                (bits, model) = (new, after);
                done += 1;
                assert_eq!(bits >> PHASE, model.phases & 1, "{op:?} {low} {high} gives {model:?}");
                let pending = bits >> PENDING & MOST as u64;
                assert_eq!(pending as i64, model.pending(), "{op:?} {low} {high} gives {model:?}");
            } else {
                refused += 1;
            }
        }
        phases += model.phases;
    }
    // All of it happens often.
    assert!(done > 50_000 && refused > 10_000 && phases > 4_000, "{done} {refused} {phases}");
}

#[test]
fn counts_have_limits() {
    assert_eq!(apply(Init, 0, 0), Err(Misuse::Count(0)));
    assert_eq!(apply(Init, 0, 1 << 20), Err(Misuse::Count(1 << 20)));
    let one = apply(Init, 0, 1).expect("an mbarrier");
    let full = apply(ExpectTx, one, MOST as u64).expect("as much as there can be");
    assert_eq!(apply(ExpectTx, full, 1), Err(Misuse::Tx(MOST + 1)));
    let owed = apply(CompleteTx, one, MOST as u64).expect("as little");
    assert_eq!(apply(CompleteTx, owed, 1), Err(Misuse::Tx(-MOST - 1)));
    assert_eq!(apply(Inval, one, 0), Ok(0));
    for op in MbarrierOp::ALL.into_iter().filter(|op| *op != Init) {
        assert_eq!(apply(op, 0, 1), Err(Misuse::None), "{op:?}");
    }
}

/// What an H200 answered.
#[test]
fn operations_answer_what_a_gpu_answers() {
    let recorded = include_str!("../../../conformance/recordings/h200_mbarrier.txt");
    let (mut bits, mut state, mut answers) = (0, 0, 0);
    for (n, line) in recorded.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let mut numbers = words.map(|w| w.parse::<u64>().expect("a number"));
        let operand = numbers.next().expect("an operand");
        let answer = match name {
            "parity" => Some(u64::from(bits >> PHASE != operand)),
            "state" => Some(u64::from(bits >> PHASE != state >> PHASE)),
            "pending" => Some(state >> PENDING & MOST as u64),
            _ => None,
        };
        if let Some(answer) = answer {
            assert_eq!(Some(answer), numbers.next(), "line {}: {line}", n + 1);
            answers += 1;
            continue;
        }
        let (op, operand) = match name {
            "init" => (Init, operand),
            "inval" => (Inval, 0),
            "arrive" => (Arrive, operand),
            "arrive_nc" => (ArriveNoComplete, operand),
            "drop" => (Drop, operand),
            "drop_nc" => (DropNoComplete, operand),
            "expect" => (ExpectTx, operand),
            "complete" => (CompleteTx, operand),
            "arrive_tx" => (Arrive, 1 | operand << 32),
            "drop_tx" => (Drop, 1 | operand << 32),
            "copy" => (CopyArrive, 0),
            "copy_noinc" => (Arrive, 1),
            _ => panic!("line {}: {line}", n + 1),
        };
        if name.starts_with("arrive") || name.starts_with("drop") {
            state = bits;
        }
        bits = apply(op, bits, operand).unwrap_or_else(|e| panic!("line {}: {line}: {e}", n + 1));
    }
    assert!(answers > 1000, "{answers}");
}
