//! `MUFU.SQRT`: √operand.

use super::{Function, INFINITY, NAN, Parts, choose, field, parts, significand};
use crate::Cx;
use hostwarp_ir::{FCmp, IntBin, IntCmp, Table, Type, Value};

const SQRT: Function = Function {
    table: Table::Sqrt,
    constant: 15,
    slope: IntBin::Add,
    square: (IntBin::Sub, 1),
    added: 65535,
    cut: 17,
};

pub(crate) fn sqrt(cx: &mut Cx<'_>, operand: Value) -> Value {
    let Parts { bits, sign, exponent } = parts(cx, operand);
    // As for the reciprocal of the root: the lowest bit of the exponent and the upper 6 of 23 bits choose the segment.
    let segment = field(cx, bits, 17, 127);
    let segment = cx.b.int_imm(IntBin::Xor, segment, 64);
    let x = field(cx, bits, 0, 0x1_ffff);
    let significand = significand(cx, &SQRT, segment, x);
    // Half the operand's exponent; the leading one of the significand counts in it.
    let half = cx.b.int_imm(IntBin::Add, exponent, 127);
    let half = cx.b.int_imm(IntBin::ShrU, half, 1);
    let half = cx.b.int_imm(IntBin::Sub, half, 1);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, half, 23);
    let result = cx.b.add(exponent_of_result, significand);

    let infinite = cx.b.cmp_imm(IntCmp::Eq, bits, INFINITY);
    let result = choose(cx, infinite, INFINITY, result);
    let negative = cx.b.cmp_imm(IntCmp::Ne, sign, 0);
    let result = choose(cx, negative, NAN, result);
    let zero = cx.b.cmp_imm(IntCmp::Eq, exponent, 0);
    let result = cx.b.select(zero, sign, result);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = choose(cx, nan, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "root")
}
