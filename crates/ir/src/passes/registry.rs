//! Every pass there is, and the order they are run in.

use super::*;
use crate::expand;

/// All passes, by name.
pub const PASSES: &[Pass] = &[
    unreachable::PASS,
    params::PASS,
    promote::PASS,
    float_params::PASS,
    bit_casts::PASS,
    halves::WIDEN,
    fold::PASS,
    negated::PASS,
    gvn::PASS,
    dce::PASS,
    merge::PASS,
    sink::PASS,
    halves::NARROW,
    expand::PASS,
    if_convert::PASS,
    guards::PASS,
    known_bits::PASS,
    induction::PASS,
];

/// What cleans up after any other pass; [`optimize`].
pub const SIMPLIFY: &[Pass] = &[
    unreachable::PASS,
    params::PASS,
    float_params::PASS,
    bit_casts::PASS,
    halves::WIDEN,
    fold::PASS,
    negated::PASS,
    gvn::PASS,
    dce::PASS,
    params::PASS,
    merge::PASS,
    sink::PASS,
    halves::NARROW,
    dce::PASS,
];

/// What is left to do when everything is spelled out in primitive ops.
const FINISH: &[Pass] = &[
    unreachable::PASS,
    params::PASS,
    float_params::PASS,
    bit_casts::PASS,
    halves::WIDEN,
    fold::PASS,
    negated::PASS,
    gvn::PASS,
    dce::PASS,
    params::PASS,
    merge::PASS,
    if_convert::PASS,
    guards::PASS,
    known_bits::PASS,
    induction::PASS,
    fold::PASS,
    gvn::PASS,
    dce::PASS,
    params::PASS,
    merge::PASS,
    sink::PASS,
    halves::NARROW,
    dce::PASS,
];

/// From a linked kernel to what engines run; [`lower`].
pub const LOWER: &[Pass] =
    &concat::<{ SIMPLIFY.len() + 1 + FINISH.len() }>(SIMPLIFY, &[expand::PASS], FINISH);

const fn concat<const N: usize>(a: &[Pass], b: &[Pass], c: &[Pass]) -> [Pass; N] {
    let mut all = [unreachable::PASS; N];
    let mut n = 0;
    while n < N {
        all[n] = if n < a.len() {
            a[n]
        } else if n < a.len() + b.len() {
            b[n - a.len()]
        } else {
            c[n - a.len() - b.len()]
        };
        n += 1;
    }
    all
}
