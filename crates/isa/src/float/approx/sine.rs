//! `MUFU.SIN` and `MUFU.COS`: sine and cosine of an angle in revolutions.

use super::{Function, NAN, Parts, choose, field, interpolate, number, parts};
use crate::Cx;
use hostwarp_ir::{IntBin, IntCmp, Table, Type, Value};

const SIN: Function = Function {
    table: Table::Sin,
    constant: 12,
    slope: IntBin::Add,
    square: (IntBin::Sub, 0),
    added: 0,
    cut: 0,
};

/// The interpolated sum counts in it.
const TWO_MINUS_37: u64 = 0x2d00_0000;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wave {
    Sine,
    Cosine,
}

/// Of the angle 25 bits behind the point are looked at, whatever stands before it: two for the quarter of the revolution, 23 for the place in it. In every second quarter
/// the place counts from its end, and the sum is cut to 24 bits from its leading one on.
pub(crate) fn wave(cx: &mut Cx<'_>, wave: Wave, revolutions: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, revolutions);
    let fraction = field(cx, bits, 0, 0x7f_ffff);
    let whole = cx.b.int_imm(IntBin::Or, fraction, 1 << 23);
    // Shifts by negative amounts give 0.
    let left = cx.b.int_imm(IntBin::Sub, exponent, 125);
    let bias = cx.b.iconst(Type::I32, 125);
    let right = cx.b.sub(bias, exponent);
    let left = cx.b.int(IntBin::Shl, whole, left);
    let right = cx.b.int(IntBin::ShrU, whole, right);
    let angle = cx.b.or(left, right);
    let angle = cx.name(angle, "angle");
    let quarter = field(cx, angle, 23, 3);
    let quarter = cx.name(quarter, "quarter");

    // The cosine is the sine a quarter further on, of the same sign for both directions.
    let (quarter, sign) = match wave {
        Wave::Sine => (quarter, sign),
        Wave::Cosine => (cx.b.int_imm(IntBin::Add, quarter, 1), cx.b.iconst(Type::I32, 0)),
    };
    let falling = cx.b.int_imm(IntBin::Shl, quarter, 31);
    let falling = cx.b.int_imm(IntBin::ShrS, falling, 31);
    let place = cx.b.xor(angle, falling);
    let below = cx.b.int_imm(IntBin::ShrU, quarter, 1);
    let below = cx.b.int_imm(IntBin::Shl, below, 31);
    let sign = cx.b.xor(sign, below);

    let segment = field(cx, place, 17, 63);
    let x = field(cx, place, 0, 0x1_ffff);
    let sum = interpolate(cx, &SIN, segment, x);
    let result = number(cx, sum, TWO_MINUS_37);
    let result = cx.b.or(result, sign);
    let endless = cx.b.cmp_imm(IntCmp::Eq, exponent, 0xff);
    let result = choose(cx, endless, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, if wave == Wave::Sine { "sine" } else { "cosine" })
}
