//! Interleaved rounds: every round runs every contestant once, and ratios are taken within rounds, so that a machine that slows
//! down for a while slows all of them down.

use crate::case::{Case, Compare};
use crate::contestant::{Contestant, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// A round runs a contestant at least so long, several times if need be.
const LEAST: Duration = Duration::from_millis(8);
/// All rounds of a case should take about so long.
const CASE: Duration = Duration::from_secs(6);
const ROUNDS: std::ops::RangeInclusive<usize> = 5..=41;
/// Whoever takes longer than this runs in the first rounds only.
const SLOW: Duration = Duration::from_millis(300);
const SLOW_ROUNDS: usize = 3;

/// What came out for a case.
pub struct Row {
    pub name: String,
    pub work: String,
    /// The better width of native C, and its median time.
    pub native: &'static str,
    pub native_time: Duration,
    /// Median over the rounds of a contestant's time over native C's in the same round.
    pub ratios: BTreeMap<&'static str, f64>,
    /// Halves that differ from native C's, of all; where not exact.
    pub differ: Option<(usize, usize)>,
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Runs a case: checks that all outputs agree, then times.
pub fn measure(case: &Case, contestants: &mut [Box<dyn Contestant>], effort: f64) -> Result<Row> {
    let mut warm: Vec<Option<Duration>> = vec![];
    let mut reference: Option<(&'static str, Vec<u32>)> = None;
    let mut differ = None;
    for c in contestants.iter_mut() {
        c.load(case).map_err(|e| format!("{}: {}: {e}", case.name, c.name()))?;
    }
    for c in contestants.iter_mut() {
        c.reset(case)?;
        let first = c.run(case, 1).map_err(|e| format!("{}: {}: {e}", case.name, c.name()))?;
        if first.is_some() {
            let output = c.output(case)?;
            match &reference {
                None => reference = Some((c.name(), output)),
                Some((name, expected)) => {
                    let d = compare(case.compare, expected, &output)
                        .map_err(|e| format!("{}: {} and {name} disagree: {e}", case.name, c.name()))?;
                    differ = differ.max(d);
                }
            }
        }
        // Once more, ready and warm.
        c.warm_up(case)?;
        warm.push(if first.is_some() { c.run(case, 1)? } else { None });
    }
    let once: f64 = warm.iter().flatten().filter(|t| **t <= SLOW).map(|t| t.max(&LEAST).as_secs_f64()).sum();
    let rounds = ((CASE.as_secs_f64() * effort / once) as usize).clamp(*ROUNDS.start(), *ROUNDS.end());
    let mut times = vec![vec![f64::NAN; rounds]; contestants.len()];
    #[allow(clippy::needless_range_loop)] // `times` is indexed by contestant first
    for round in 0..rounds {
        for turn in 0..contestants.len() {
            // Everybody comes after everybody else in turn.
            let who = (turn + round) % contestants.len();
            let Some(t) = warm[who] else { continue };
            if t > SLOW && round >= SLOW_ROUNDS {
                continue;
            }
            let repeat = (LEAST.as_secs_f64() / t.as_secs_f64().max(1e-7)).ceil().clamp(1.0, 10_000.0) as u32;
            if let Some(t) = contestants[who].run(case, repeat)? {
                times[who][round] = t.as_secs_f64() / f64::from(repeat);
            }
        }
    }
    let middle = |who: usize| median(&present(&times[who]));
    let native = (0..contestants.len())
        .filter(|&i| contestants[i].name().starts_with("C "))
        .min_by(|&a, &b| middle(a).total_cmp(&middle(b)))
        .ok_or("no native C")?;
    let mut ratios = BTreeMap::new();
    for (i, c) in contestants.iter().enumerate() {
        let in_rounds: Vec<f64> = times[i].iter().zip(&times[native]).map(|(t, n)| t / n).collect();
        let in_rounds = present(&in_rounds);
        if !in_rounds.is_empty() {
            ratios.insert(c.name(), median(&in_rounds));
        }
    }
    Ok(Row {
        name: case.name.clone(),
        work: case.work.clone(),
        native: contestants[native].name(),
        native_time: Duration::from_secs_f64(middle(native)),
        ratios,
        differ,
    })
}

fn present(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| !v.is_nan()).collect()
}

/// How many halves differ, of all; an error where outputs disagree more than they may.
fn compare(how: Compare, expected: &[u32], got: &[u32]) -> Result<Option<(usize, usize)>> {
    if how == Compare::Bits {
        return match expected.iter().zip(got).position(|(a, b)| a != b) {
            None => Ok(None),
            Some(i) => Err(format!("element {i} is {:#010x} and {:#010x}", got[i], expected[i])),
        };
    }
    // Halves of one sign are ordered as their bits are.
    let order = |h: u32| if h & 0x8000 != 0 { -((h & 0x7fff) as i32) } else { h as i32 };
    let mut differ = 0;
    for (i, (a, b)) in expected.iter().zip(got).enumerate() {
        for half in [0, 16] {
            let d = (order(a >> half & 0xffff) - order(b >> half & 0xffff)).abs();
            if d > 2 {
                return Err(format!("element {i} is {b:#010x} and {a:#010x}"));
            }
            differ += usize::from(d != 0);
        }
    }
    let all = 2 * expected.len();
    if differ * 100 > all { Err(format!("{differ} of {all} halves differ")) } else { Ok(Some((differ, all))) }
}
