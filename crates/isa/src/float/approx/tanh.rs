//! `MUFU.TANH`: the hyperbolic tangent.

use super::{Function, NAN, ONE, Parts, choose, field, interpolate, number, parts};
use crate::Cx;
use hostwarp_ir::{Elem, FCmp, IntBin, IntCmp, Op, Table, Type, Value};

const TANH: Function = Function {
    table: Table::Tanh,
    constant: 15,
    slope: IntBin::Add,
    square: (IntBin::Sub, 1),
    added: 0,
    cut: 0,
};

/// The interpolated sum counts in it.
const TWO_MINUS_39: u64 = 0x2c00_0000;

/// The exponents, as they are stored, of 2⁻⁸ and of 8: below, the operand is the result, from there on 1.
const LOWEST: u64 = 0x77;
const HIGHEST: u64 = 0x82;

/// For each exponent between, 5 bits: how many of the lowest bits of the significand are left out, from 2 to 6, and below them, in two bits, which of those that leave out as
/// many it is. 17 bits of what remains are the place in a segment.
const PLACES: u64 = 0x35_0c94_615a_6b38;

pub(crate) fn tanh(cx: &mut Cx<'_>, operand: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, operand);
    let from_lowest = cx.b.int_imm(IntBin::Sub, exponent, LOWEST);
    let five = cx.b.int_imm(IntBin::Mul, from_lowest, 5);
    let five = cx.b.zext(five, Elem::I64);
    let places = cx.b.iconst(Type::I64, PLACES);
    let place = cx.b.int(IntBin::ShrU, places, five);
    let place = cx.b.inst(Op::Trunc, &[place], Type::I32);
    let left_out = field(cx, place, 2, 7);
    let which = field(cx, place, 0, 3);

    let fraction = field(cx, bits, 0, 0x7f_ffff);
    let significand = cx.b.int_imm(IntBin::Or, fraction, 1 << 23);
    let looked_at = cx.b.int(IntBin::ShrU, significand, left_out);
    let x = field(cx, looked_at, 0, 0x1_ffff);
    let segment = cx.b.int_imm(IntBin::ShrU, looked_at, 17);
    let which = cx.b.int_imm(IntBin::Shl, which, 5);
    let segment = cx.b.add(segment, which);
    let sum = interpolate(cx, &TANH, segment, x);
    let result = number(cx, sum, TWO_MINUS_39);

    let highest = cx.b.iconst(Type::I32, HIGHEST);
    let far = cx.b.cmp(IntCmp::LeU, highest, exponent);
    let result = choose(cx, far, ONE, result);
    let result = cx.b.or(result, sign);
    let lowest = cx.b.iconst(Type::I32, LOWEST);
    let near = cx.b.cmp(IntCmp::LtU, exponent, lowest);
    let result = cx.b.select(near, bits, result);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = choose(cx, nan, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "tangent")
}
