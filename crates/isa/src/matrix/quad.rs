//! `mma.m8n8k4` of f16: four products at once, each in two groups of four lanes: 4 q to 4 q + 3 and the same 16 further up. Only sm_70 has a unit
//! for it; elsewhere it is software, and rounds as software does. For sums in f32: `fma.rn` one after the other from +0, then `add.rn` of `c`. In f16:
//! two sums of two products, (c + first) + second, all in f32, rounded to f16 at the end.

use super::meaning::{all_together, packed, unpacked};
use super::types;
use crate::{Cx, Outcome};
use hostwarp_ir::{FBin, IntBin, IntCmp, Op, Round, Special, Type, Value};

pub(super) fn mma(cx: &mut Cx<'_>) -> Outcome {
    let kinds = types(cx.m);
    let (of_d, of_c) = (kinds[0], kinds[3]);
    let [a, b, c] = ["a", "b", "c"].map(|name| cx.elements(name));
    let columns_a = cx.get(".alayout") == Some(".col");
    let columns_b = cx.get(".blayout") == Some(".col");
    let results = vec![Type::I32; cx.len("d")];
    let d = all_together(cx, &results, |cx| {
        let lane = cx.b.special(Special::LaneId);
        let addends = unpacked(cx, of_c, &c);
        let d = (0..8u64).map(|i| {
            let (row, column) = place(cx, lane, of_d, i);
            // Of `a` in rows, and of `b` in columns, a lane has all four elements along the sum.
            let a: Vec<Value> = (0..4).map(|k| factor(cx, lane, &a, row, k, columns_a)).collect();
            let b: Vec<Value> = (0..4).map(|k| factor(cx, lane, &b, column, k, !columns_b)).collect();
            let c = if of_c == of_d {
                addends[i as usize]
            } else {
                // Halves lie by rows.
                let from = owner(cx, lane, row);
                let all: Vec<Value> =
                    c.iter().map(|held| cx.b.inst(Op::LaneRead, &[*held, from], Type::I32)).collect();
                element(cx, &all, column)
            };
            sum(cx, of_d, of_c, &a, &b, c)
        });
        let d = d.collect();
        packed(cx, of_d, d)
    });
    cx.set_elements("d", d);
    Ok(())
}

/// Row and column of element `i` of this lane's part of `c` or `d`.
fn place(cx: &mut Cx<'_>, lane: Value, kind: &str, i: u64) -> (Value, Value) {
    let upper = cx.b.int_imm(IntBin::ShrU, lane, 2);
    let upper = cx.b.int_imm(IntBin::And, upper, 4);
    if kind == ".f16" {
        let row = cx.b.int_imm(IntBin::And, lane, 3);
        return (cx.b.or(row, upper), cx.b.iconst(Type::I32, i));
    }
    let row = cx.b.int_imm(IntBin::And, lane, 1);
    let row = cx.b.int_imm(IntBin::Or, row, i & 2);
    let column = cx.b.int_imm(IntBin::And, lane, 2);
    (cx.b.or(row, upper), cx.b.int_imm(IntBin::Or, column, i & 5))
}

/// The lane with number `n` of the eight that work on one product.
fn owner(cx: &mut Cx<'_>, lane: Value, n: Value) -> Value {
    let group = cx.b.int_imm(IntBin::And, lane, 0xc);
    let low = cx.b.int_imm(IntBin::And, n, 3);
    let upper = cx.b.int_imm(IntBin::And, n, 4);
    let upper = cx.b.int_imm(IntBin::Shl, upper, 2);
    let from = cx.b.or(group, low);
    cx.b.or(from, upper)
}

/// Place `k` along the sum of line `line` of a factor. `across`: a lane holds four lines of one place, not four places of one line.
fn factor(cx: &mut Cx<'_>, lane: Value, held: &[Value], line: Value, k: u64, across: bool) -> Value {
    let place = cx.b.iconst(Type::I32, k);
    let (number, index) = if across {
        let upper = cx.b.int_imm(IntBin::And, line, 4);
        (cx.b.or(upper, place), cx.b.int_imm(IntBin::And, line, 3))
    } else {
        (line, place)
    };
    let from = owner(cx, lane, number);
    let words: Vec<Value> =
        held.iter().map(|held| cx.b.inst(Op::LaneRead, &[*held, from], Type::I32)).collect();
    element(cx, &words, index)
}

/// Half `index` of words.
fn element(cx: &mut Cx<'_>, words: &[Value], index: Value) -> Value {
    let word = cx.b.int_imm(IntBin::ShrU, index, 1);
    let mut chosen = words[0];
    for (n, other) in words.iter().enumerate().skip(1) {
        let is = cx.b.cmp_imm(IntCmp::Eq, word, n as u64);
        chosen = cx.b.select(is, *other, chosen);
    }
    let odd = cx.b.int_imm(IntBin::And, index, 1);
    let by = cx.b.int_imm(IntBin::Shl, odd, 4);
    let moved = cx.b.int(IntBin::ShrU, chosen, by);
    let halves = cx.b.bitcast(moved, Type::I16X2);
    cx.b.inst(Op::Extract(0), &[halves], Type::I16)
}

fn sum(cx: &mut Cx<'_>, of_d: &str, of_c: &str, a: &[Value], b: &[Value], c: Value) -> Value {
    let wide = |cx: &mut Cx<'_>, half: Value| {
        let half = cx.b.from_bits(half, Type::F16);
        cx.b.inst(Op::FCvt(Round::Nearest), &[half], Type::F32)
    };
    let c = if of_c == ".f16" { wide(cx, c) } else { cx.b.from_bits(c, Type::F32) };
    let a: Vec<Value> = a.iter().map(|v| wide(cx, *v)).collect();
    let b: Vec<Value> = b.iter().map(|v| wide(cx, *v)).collect();
    let fma = Op::Fma { round: Round::Nearest, ftz: false };
    let add = |cx: &mut Cx<'_>, a, b| cx.b.float(FBin::Add, Round::Nearest, false, a, b);
    if of_d == ".f32" {
        let mut sum = cx.b.fconst(Type::F32, 0);
        for (a, b) in a.iter().zip(&b) {
            sum = cx.b.inst(fma, &[*a, *b, sum], Type::F32);
        }
        let sum = add(cx, sum, c);
        return cx.b.to_bits(sum, Type::I32);
    }
    let [first, second] = [0, 2].map(|k| {
        let product = cx.b.float(FBin::Mul, Round::Nearest, false, a[k], b[k]);
        cx.b.inst(fma, &[a[k + 1], b[k + 1], product], Type::F32)
    });
    let sum = add(cx, c, first);
    let sum = add(cx, sum, second);
    let half = cx.b.inst(Op::FCvt(Round::Nearest), &[sum], Type::F16);
    cx.b.to_bits(half, Type::I16)
}
