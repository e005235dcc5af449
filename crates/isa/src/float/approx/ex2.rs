//! `MUFU.EX2`: 2 to the power of the operand.

use super::{Function, INFINITY, NAN, choose, field, significand};
use crate::Cx;
use hostwarp_ir::{FCmp, IntBin, IntCmp, Table, Type, Value};

const EX2: Function = Function {
    table: Table::Ex2,
    constant: 13,
    slope: IntBin::Add,
    square: (IntBin::Add, 0),
    added: 14306,
    cut: 15,
};

/// The operand is a whole number, which is the exponent of the result, and 23 bits behind the point, which are those of its significand. Of a negative one with
/// a fraction every bit is changed.
pub(crate) fn ex2(cx: &mut Cx<'_>, operand: Value) -> Value {
    let bits = cx.b.to_bits(operand, Type::I32);
    let exponent = field(cx, bits, 23, 0xff);
    let shifted = {
        let fraction = field(cx, bits, 0, 0x7f_ffff);
        let number = cx.b.int_imm(IntBin::Or, fraction, 1 << 23);
        // |operand| · 2²³, cut; below 2⁸ it fits into 31 bits. Shifts by negative amounts give 0.
        let left = cx.b.int_imm(IntBin::Sub, exponent, 127);
        let bias = cx.b.iconst(Type::I32, 127);
        let right = cx.b.sub(bias, exponent);
        let left = cx.b.int(IntBin::Shl, number, left);
        let right = cx.b.int(IntBin::ShrU, number, right);
        cx.b.or(left, right)
    };
    let negative = cx.b.int_imm(IntBin::ShrS, bits, 31);
    let fraction = field(cx, shifted, 0, 0x7f_ffff);
    let whole = cx.b.cmp_imm(IntCmp::Eq, fraction, 0);
    let one = cx.b.int_imm(IntBin::And, negative, 1);
    let none = cx.b.iconst(Type::I32, 0);
    let one = cx.b.select(whole, one, none);
    let power = cx.b.xor(shifted, negative);
    let power = cx.b.add(power, one);
    let power = cx.name(power, "power");

    let segment = field(cx, power, 17, 63);
    let x = field(cx, power, 0, 0x1_ffff);
    let significand = significand(cx, &EX2, segment, x);
    let whole = cx.b.int_imm(IntBin::ShrS, power, 23);
    // The leading one of the significand counts in the exponent.
    let exponent_of_result = cx.b.int_imm(IntBin::Add, whole, 126);
    let exponent_of_result = cx.b.int_imm(IntBin::Shl, exponent_of_result, 23);
    let result = cx.b.add(exponent_of_result, significand);

    let smallest = cx.b.iconst(Type::I32, (-126i64 & 0xffff_ffff) as u64);
    let tiny = cx.b.cmp(IntCmp::LtS, whole, smallest);
    let result = choose(cx, tiny, 0, result);
    // 2⁷ and more, whatever the sign.
    let far = cx.b.iconst(Type::I32, 127 + 7);
    let far = cx.b.cmp(IntCmp::LeU, far, exponent);
    let infinity = cx.b.iconst(Type::I32, INFINITY);
    let up = cx.b.not(negative);
    let end = cx.b.and(infinity, up);
    let result = cx.b.select(far, end, result);
    let nan = cx.b.fcmp(FCmp::Nan, operand, operand);
    let result = choose(cx, nan, NAN, result);
    let result = cx.b.from_bits(result, Type::F32);
    cx.name(result, "power of 2")
}
