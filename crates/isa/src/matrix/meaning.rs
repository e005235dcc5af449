//! What `mma` means. Products of what [`Op::Dot`] adds are an op of the whole warp ([`Op::Mma`], where it says which lane holds what). For f64 and bits rows
//! of `a` and columns of `b` are brought together by reading registers of other lanes, and each lane adds up the elements of `d` it holds.

use super::{extents, types};
use crate::warp::together;
use crate::{Cx, Outcome};
use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem, FBin, IntBin, IntUn, Mma, Op, Round, Special, Term, TrapKind, Type, Value};

/// Words of rows of `a` and of columns of `b`, each along the sum.
pub(super) struct Factors {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) columns: [Vec<Value>; 2],
}

/// The types of `d`, `a` and `b`.
pub(super) type Kinds<'a> = [&'a str; 3];

/// The meaning of `mma`.
pub(super) fn mma(cx: &mut Cx<'_>) -> Outcome {
    cx.m.has_meaning()?;
    let extents = extents(cx.m).ok_or("this shape")?;
    let kinds = types(cx.m);
    let kinds = [kinds[0], kinds[1], kinds[2]];
    if extents == (8, 8, 4) && kinds[1] == ".f16" {
        return super::quad::mma(cx);
    }
    if cx.m.mods.iter().flatten().any(|x| x.starts_with(".sp")) {
        return super::sparse::mma(cx, kinds);
    }
    let [a, b, c] = ["a", "b", "c"].map(|name| cx.elements(name));
    let results = vec![cx.b.ty(c[0]); c.len()];
    let d = all_together(cx, &results, |cx| {
        let addends = unpacked(cx, kinds[0], &c);
        let d = product(cx, kinds, &a, &b, &addends);
        packed(cx, kinds[0], d)
    });
    cx.set_elements("d", d);
    Ok(())
}

/// Runs `body` in a whole warp; a lane that does not come is a fault.
pub(super) fn all_together(
    cx: &mut Cx<'_>,
    types: &[Type],
    body: impl FnOnce(&mut Cx<'_>) -> Vec<Value>,
) -> Vec<Value> {
    let all = cx.b.iconst(Type::I32, u32::MAX.into());
    together(cx, all, types, |cx| {
        let here = cx.b.inst(Op::ActiveMask, &[], Type::I32);
        let whole = cx.b.cmp_imm(hostwarp_ir::IntCmp::Eq, here, u32::MAX.into());
        let (go_on, missing) = (cx.b.new_block(), cx.b.new_block());
        cx.b.branch(whole, go_on, missing);
        cx.b.switch_to(missing);
        cx.b.terminate(Term::Trap(TrapKind::MissingLanes));
        cx.b.switch_to(go_on);
        body(cx)
    })
}

/// Reads what other lanes hold of this lane's rows and columns.
pub(super) fn factors(cx: &mut Cx<'_>, a: &[Value], b: &[Value], halves: usize) -> Factors {
    let word = cx.b.ty(a[0]);
    let lane = cx.b.special(Special::LaneId);
    let row = cx.b.int_imm(IntBin::And, lane, 0x1c);
    let within = cx.b.int_imm(IntBin::And, lane, 3);
    let column = cx.b.int_imm(IntBin::Shl, within, 3);
    let read = |cx: &mut Cx<'_>, held: Value, first: Value, word_of_four: usize| {
        let from = cx.b.int_imm(IntBin::Add, first, word_of_four as u64);
        cx.b.inst(Op::LaneRead, &[held, from], word)
    };
    let (along_a, words) = (4 * a.len() / halves, 4 * b.len());
    let rows = (0..halves)
        .map(|half| (0..along_a).map(|w| read(cx, a[w / 4 * halves + half], row, w % 4)).collect());
    let rows = rows.collect();
    let columns = [0, 4].map(|next| (0..words).map(|w| read(cx, b[w / 4], column, next + w % 4)).collect());
    Factors { rows, columns }
}

/// The elements of `d`: of registers of `a` and `b`, and the elements of `c`, two for each eight rows.
pub(super) fn product(
    cx: &mut Cx<'_>,
    kinds: Kinds<'_>,
    a: &[Value],
    b: &[Value],
    addends: &[Value],
) -> Vec<Value> {
    let halves = addends.len() / 2;
    let words = 4 * b.len() as u8;
    if let Some(dot) = kind(cx, kinds, words) {
        return parts(cx, dot, a, b, addends);
    }
    if matches!(kinds[1], ".f64" | ".b1") {
        let factors = factors(cx, a, b, halves);
        let rows =
            factors.rows.iter().flat_map(|row| factors.columns.iter().map(move |column| (row, column)));
        return rows.zip(addends).map(|((row, column), c)| sum(cx, kinds, row, column, *c)).collect();
    }
    let (dot, bits, _) = small_kind(kinds, words);
    let mut d = vec![cx.b.iconst(bits, 0); addends.len()];
    for upper in [false, true] {
        let [a, b] = [(a, kinds[1]), (b, kinds[2])]
            .map(|(words, kind)| words.iter().map(|w| halves_of(cx, *w, upper, kind)).collect::<Vec<_>>());
        d = parts(cx, dot, &a, &b, &d);
    }
    d.iter().zip(addends).map(|(sum, c)| add_last(cx, kinds, *sum, *c)).collect()
}

/// Every element of a lane.
fn parts(cx: &mut Cx<'_>, dot: Dot, a: &[Value], b: &[Value], c: &[Value]) -> Vec<Value> {
    let (args, ty) = ([a, b, c].concat(), cx.b.ty(c[0]));
    let op = |part| Op::Mma(Mma { dot, halves: c.len() as u8 / 2, part });
    (0..c.len() as u8).map(|part| cx.b.inst(op(part), &args, ty)).collect()
}

/// The elements that registers hold: one, or two halves.
pub(super) fn unpacked(cx: &mut Cx<'_>, kind: &str, registers: &[Value]) -> Vec<Value> {
    if kind != ".f16" {
        return registers.to_vec();
    }
    let mut out = vec![];
    for register in registers {
        let halves = cx.b.bitcast(*register, Type::I16X2);
        out.extend([0, 1].map(|j| cx.b.inst(Op::Extract(j), &[halves], Type::I16)));
    }
    out
}

/// The other way round.
pub(super) fn packed(cx: &mut Cx<'_>, kind: &str, elements: Vec<Value>) -> Vec<Value> {
    if kind != ".f16" {
        return elements;
    }
    let pack = |two: &[Value]| {
        let both = cx.b.inst(Op::Build, two, Type::I16X2);
        cx.b.bitcast(both, Type::I32)
    };
    elements.chunks(2).map(pack).collect()
}

/// One element of `d`.
pub(super) fn sum(cx: &mut Cx<'_>, kinds: Kinds<'_>, row: &[Value], column: &[Value], c: Value) -> Value {
    if let Some(dot) = kind(cx, kinds, row.len() as u8) {
        let args = [row, column, &[c]].concat();
        let ty = cx.b.ty(c);
        return cx.b.inst(Op::Dot(dot), &args, ty);
    }
    match kinds[1] {
        ".f64" => fused(cx, row, column, c),
        ".b1" => bits(cx, row, column, c),
        _ => small(cx, kinds, row, column, c),
    }
}

/// What adds them, if one op does.
fn kind(cx: &Cx<'_>, [d, a, b]: Kinds<'_>, words: u8) -> Option<Dot> {
    let factor = |ty: &str| match ty {
        ".f16" => Some(Factor::F16),
        ".bf16" => Some(Factor::Bf16),
        ".tf32" => Some(Factor::Tf32),
        ".s8" => Some(Factor::S8),
        ".u8" => Some(Factor::U8),
        ".s4" => Some(Factor::S4),
        ".u4" => Some(Factor::U4),
        _ => None,
    };
    let sum = match d {
        ".f16" => Sum::F16,
        ".f32" => Sum::F32,
        _ if cx.has(".satfinite") => Sum::Saturating,
        _ => Sum::Wrapping,
    };
    Some(Dot { a: factor(a)?, b: factor(b)?, words, sum })
}

/// f64: one fused multiply-add after the other.
fn fused(cx: &mut Cx<'_>, row: &[Value], column: &[Value], c: Value) -> Value {
    let op = Op::Fma { round: super::rounding(cx), ftz: false };
    let mut sum = cx.b.from_bits(c, Type::F64);
    for (a, b) in row.iter().zip(column) {
        let [a, b] = [a, b].map(|v| cx.b.from_bits(*v, Type::F64));
        sum = cx.b.inst(op, &[a, b, sum], Type::F64);
    }
    cx.b.to_bits(sum, Type::I64)
}

/// Bits: how many are set in both, or in one of the two.
fn bits(cx: &mut Cx<'_>, row: &[Value], column: &[Value], c: Value) -> Value {
    let op = if cx.has(".and") { IntBin::And } else { IntBin::Xor };
    row.iter().zip(column).fold(c, |sum, (a, b)| {
        let both = cx.b.int(op, *a, *b);
        let count = cx.b.inst(Op::IntUn(IntUn::Popc), &[both], Type::I32);
        cx.b.add(sum, count)
    })
}

/// Floats of 8 bits, which sm_90 has no unit for: bytes 0 and 1 of every word as halves, summed up from 0; bytes 2 and 3 on top; `c` is added last.
fn small(cx: &mut Cx<'_>, kinds: Kinds<'_>, row: &[Value], column: &[Value], c: Value) -> Value {
    let (dot, bits, _) = small_kind(kinds, row.len() as u8);
    let mut sum = cx.b.iconst(bits, 0);
    for upper in [false, true] {
        let [row, column] = [(row, kinds[1]), (column, kinds[2])]
            .map(|(words, kind)| words.iter().map(|w| halves_of(cx, *w, upper, kind)).collect::<Vec<_>>());
        sum = cx.b.inst(Op::Dot(dot), &[&row[..], &column, &[sum]].concat(), bits);
    }
    add_last(cx, kinds, sum, c)
}

/// What 8-bit floats are added up as, and the types of the sum.
fn small_kind(kinds: Kinds<'_>, words: u8) -> (Dot, Type, Type) {
    let (bits, float, sum) = match kinds[0] {
        ".f16" => (Type::I16, Type::F16, Sum::F16),
        _ => (Type::I32, Type::F32, Sum::F32),
    };
    (Dot { a: Factor::F16, b: Factor::F16, words, sum }, bits, float)
}

fn add_last(cx: &mut Cx<'_>, kinds: Kinds<'_>, sum: Value, c: Value) -> Value {
    let (_, bits, float) = small_kind(kinds, 0);
    let [sum, c] = [sum, c].map(|v| cx.b.from_bits(v, float));
    let sum = cx.b.float(FBin::Add, Round::Nearest, false, sum, c);
    cx.b.to_bits(sum, bits)
}

/// The two lower or upper bytes of a word as halves. `.e5m2` is the upper byte of a half; `.e4m3` has its fraction at the same place once
/// moved by one, and 2⁸ times less exponent, which a multiplication makes good, subnormal numbers included.
fn halves_of(cx: &mut Cx<'_>, word: Value, upper: bool, kind: &str) -> Value {
    let bytes = cx.b.bitcast(word, Type::I8X4);
    let first = if upper { 2 } else { 0 };
    let two = [first, first + 1].map(|n| {
        let byte = cx.b.inst(Op::Extract(n), &[bytes], Type::I8);
        cx.b.zext(byte, Elem::I16)
    });
    let two = two.map(|byte| {
        if kind == ".e5m2" {
            return cx.b.int_imm(IntBin::Shl, byte, 8);
        }
        let sign = cx.b.int_imm(IntBin::And, byte, 0x80);
        let sign = cx.b.int_imm(IntBin::Shl, sign, 8);
        let rest = cx.b.int_imm(IntBin::And, byte, 0x7f);
        let moved = cx.b.int_imm(IntBin::Shl, rest, 7);
        let number = cx.b.from_bits(moved, Type::F16);
        let scale = cx.b.fconst(Type::F16, 0x5c00);
        let number = cx.b.float(FBin::Mul, Round::Nearest, false, number, scale);
        let number = cx.b.to_bits(number, Type::I16);
        let nan = cx.b.cmp_imm(hostwarp_ir::IntCmp::Eq, rest, 0x7f);
        let not_a_number = cx.b.iconst(Type::I16, 0x7fff);
        let number = cx.b.select(nan, not_a_number, number);
        cx.b.or(number, sign)
    });
    let both = cx.b.inst(Op::Build, &two, Type::I16X2);
    cx.b.bitcast(both, Type::I32)
}

/// `ldmatrix`: lane 8m + i has the address of row i of matrix m, 16 bytes, and loads it, so that a row that is not aligned or not there is its fault;
/// lane 4g + t gets word t of row g, or, transposed, element g of rows 2t and 2t + 1.
pub(super) fn load(cx: &mut Cx<'_>) -> Outcome {
    let (address, count) = (cx.src("p"), cx.len("d"));
    let trans = cx.has(".trans");
    let mem = super::memory(cx);
    let d = all_together(cx, &vec![Type::I32; count], |cx| {
        let place = Place::new(cx);
        // Every row is loaded by the lane that has its address.
        let takes_part = (count < 4).then(|| {
            let lane = cx.b.special(Special::LaneId);
            cx.b.cmp_imm(hostwarp_ir::IntCmp::LtU, lane, 8 * count as u64)
        });
        let row = cx.b.guarded(Op::Load(mem), &[address], takes_part, Type::new(Elem::I32, 4));
        let words = [0, 1, 2, 3].map(|k| cx.b.inst(Op::Extract(k), &[row], Type::I32));
        // Word `n` of a row.
        let read = |cx: &mut Cx<'_>, row: Value, n: Value| {
            let words = words.map(|word| cx.b.inst(Op::LaneRead, &[word, row], Type::I32));
            place.word(cx, words, n)
        };
        (0..count as u64)
            .map(|matrix| {
                if !trans {
                    let row = cx.b.int_imm(IntBin::Add, place.group, 8 * matrix);
                    return read(cx, row, place.within);
                }
                let two = [0, 1].map(|k| {
                    let row = cx.b.int_imm(IntBin::Shl, place.within, 1);
                    let row = cx.b.int_imm(IntBin::Add, row, 8 * matrix + k);
                    let word = cx.b.int_imm(IntBin::ShrU, place.group, 1);
                    let word = read(cx, row, word);
                    place.half(cx, word, place.group)
                });
                joined(cx, two)
            })
            .collect()
    });
    cx.set_elements("d", d);
    Ok(())
}

/// `stmatrix`: as [`load`], the other way round. A row is stored by the lane that has its address, so that a row that is not aligned or not
/// there is a fault.
pub(super) fn store(cx: &mut Cx<'_>) -> Outcome {
    let (address, held) = (cx.src("p"), cx.elements("a"));
    let trans = cx.has(".trans");
    let mem = super::memory(cx);
    all_together(cx, &[], |cx| {
        let lane = cx.b.special(Special::LaneId);
        let row = cx.b.int_imm(IntBin::And, lane, 7);
        let matrix = cx.b.int_imm(IntBin::ShrU, lane, 3);
        // Word w of row i of this lane's matrix, from who holds it.
        let words: Vec<Value> = (0..4)
            .map(|w| {
                let read = |cx: &mut Cx<'_>, from: Value| {
                    let mut word = cx.b.inst(Op::LaneRead, &[held[0], from], Type::I32);
                    for (m, register) in held.iter().enumerate().skip(1) {
                        let other = cx.b.inst(Op::LaneRead, &[*register, from], Type::I32);
                        let is = cx.b.cmp_imm(hostwarp_ir::IntCmp::Eq, matrix, m as u64);
                        word = cx.b.select(is, other, word);
                    }
                    word
                };
                if !trans {
                    let from = cx.b.int_imm(IntBin::Shl, row, 2);
                    let from = cx.b.int_imm(IntBin::Add, from, w);
                    return read(cx, from);
                }
                // Columns 2w and 2w + 1 of this row are rows of the other matrix.
                let two = [0, 1].map(|k| {
                    let from = cx.b.int_imm(IntBin::ShrU, row, 1);
                    let from = cx.b.int_imm(IntBin::Add, from, (2 * w + k) * 4);
                    let word = read(cx, from);
                    Place::new(cx).half(cx, word, row)
                });
                joined(cx, two)
            })
            .collect();
        let value = cx.b.inst(Op::Build, &words, Type::new(Elem::I32, 4));
        let takes_part = cx.b.iconst(Type::I32, 8 * held.len() as u64);
        let takes_part = cx.b.cmp(hostwarp_ir::IntCmp::LtU, lane, takes_part);
        cx.b.effect(Op::Store(mem), &[address, value], Some(takes_part));
        vec![]
    });
    Ok(())
}

/// `movmatrix`
pub(super) fn transpose(cx: &mut Cx<'_>) -> Outcome {
    let a = cx.src("a");
    let d = all_together(cx, &[Type::I32], |cx| vec![transposed(cx, a)]);
    cx.set("d", d[0]);
    Ok(())
}

/// Element g of rows 2t and 2t + 1.
pub(super) fn transposed(cx: &mut Cx<'_>, a: Value) -> Value {
    let place = Place::new(cx);
    let two = [0, 1].map(|k| {
        let row = cx.b.int_imm(IntBin::Shl, place.within, 1);
        let row = cx.b.int_imm(IntBin::Add, row, k);
        let from = cx.b.int_imm(IntBin::Shl, row, 2);
        let word = cx.b.int_imm(IntBin::ShrU, place.group, 1);
        let from = cx.b.add(from, word);
        let word = cx.b.inst(Op::LaneRead, &[a, from], Type::I32);
        place.half(cx, word, place.group)
    });
    joined(cx, two)
}

/// A lane 4g + t.
pub(super) struct Place {
    pub(super) group: Value,
    pub(super) within: Value,
}

impl Place {
    pub(super) fn new(cx: &mut Cx<'_>) -> Place {
        let lane = cx.b.special(Special::LaneId);
        Place { group: cx.b.int_imm(IntBin::ShrU, lane, 2), within: cx.b.int_imm(IntBin::And, lane, 3) }
    }

    /// One of four words.
    fn word(&self, cx: &mut Cx<'_>, words: [Value; 4], n: Value) -> Value {
        let odd = cx.b.int_imm(IntBin::And, n, 1);
        let odd = cx.b.cmp_imm(hostwarp_ir::IntCmp::Ne, odd, 0);
        let low = cx.b.select(odd, words[1], words[0]);
        let high = cx.b.select(odd, words[3], words[2]);
        let upper = cx.b.int_imm(IntBin::And, n, 2);
        let upper = cx.b.cmp_imm(hostwarp_ir::IntCmp::Ne, upper, 0);
        cx.b.select(upper, high, low)
    }

    /// The half of a word that has an element, by its number's lowest bit.
    pub(super) fn half(&self, cx: &mut Cx<'_>, word: Value, element: Value) -> Value {
        let odd = cx.b.int_imm(IntBin::And, element, 1);
        let by = cx.b.int_imm(IntBin::Shl, odd, 4);
        let moved = cx.b.int(IntBin::ShrU, word, by);
        cx.b.int_imm(IntBin::And, moved, 0xffff)
    }
}

/// Two halves in a word.
pub(super) fn joined(cx: &mut Cx<'_>, [low, high]: [Value; 2]) -> Value {
    let high = cx.b.int_imm(IntBin::Shl, high, 16);
    cx.b.or(low, high)
}
