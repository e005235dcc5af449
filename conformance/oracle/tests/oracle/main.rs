//! Tests of the oracle. It is what engines are checked against, so it is itself checked against second
//! computations (`exact`, the host's own arithmetic), hand-made values and recorded facts.

mod bits;
mod convert;
mod exact;
mod examples;
mod facts;
mod float_arithmetic;
mod integers;
mod recorded_video;
mod video;

use hostwarp_oracle::Oracle;

fn oracle(text: &str) -> Oracle {
    Oracle::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Parses and evaluates at once.
fn eval(text: &str, sources: &[u64]) -> Vec<u64> {
    oracle(text).eval(sources)
}
