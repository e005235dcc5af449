//! `wmma`: matrices in fragments. Which lane holds what the manual leaves open; this is what ptxas makes for sm_90 (seen in its code, and recorded).
//!
//! A product is two of m16n8 (HMMA.16816, IMMA.16816) beside or below each other: `a` times the two halves of the columns of `b` (m16n16), the two
//! halves of the rows of `a` times `b` (m32n8), or, turned round, columns of `b` times rows of `a` (m8n32). tf32 takes two steps along the sum
//! (HMMA.1684), each a block of its own. Fragments have the layouts of `mma`, for which [`super::meaning`]; those of f16 fill 8 registers by
//! repetition, of which a product looks at the first. 8 by 8 is one `mma` (nibbles: two of bytes; xor of bits: two of `and`, which no sum shows).

use super::meaning::{Place, all_together, packed, product, transposed, unpacked};
use super::{bits, extents, types};
use crate::{Cx, Outcome};
use hostwarp_ir::{Elem, IntBin, Mem, Op, Round, Type, Value};

pub(super) fn wmma(cx: &mut Cx<'_>) -> Outcome {
    let shape = extents(cx.m).ok_or("this shape")?;
    if cx.has(".mma") {
        return multiply(cx, shape);
    }
    if cx.has(".store") {
        return store(cx, shape);
    }
    let (address, stride) = (cx.src("p"), stride(cx, shape));
    let mem = super::memory(cx);
    let kind = types(cx.m)[0].to_owned();
    let count = cx.len("d");
    let ty = if kind == ".f64" { Type::I64 } else { Type::I32 };
    let accumulator = cx.has(".c");
    let blocks = if accumulator { accumulators(cx, shape, &kind) } else { fragment(cx, shape, &kind) };
    let d = all_together(cx, &vec![ty; count], |cx| {
        let memory = Memory { mem, address, stride, kind: &kind };
        let mut d = vec![];
        for block in &blocks {
            d.extend(if accumulator { memory.load_sums(cx, block) } else { memory.load_factors(cx, block) });
        }
        // What is repeated.
        (0..count).map(|i| d[i % d.len()]).collect()
    });
    cx.set_elements("d", d);
    Ok(())
}

fn multiply(cx: &mut Cx<'_>, shape: (usize, usize, usize)) -> Outcome {
    let kinds: Vec<String> = types(cx.m).into_iter().map(str::to_owned).collect();
    let (of_d, of_c) = (kinds[0].as_str(), kinds[kinds.len() - 1].as_str());
    let (of_a, of_b) =
        if let [_, a, b, _] = &kinds[..] { (a.as_str(), b.as_str()) } else { (".f16", ".f16") };
    let [a, b, c] = ["a", "b", "c"].map(|name| cx.elements(name));
    // A sum in halves of an addend in f32 is made in f32.
    let of_sum = if of_c == ".f32" { ".f32" } else { of_d };
    let ty = if of_d == ".f64" { Type::I64 } else { Type::I32 };
    let results = vec![ty; cx.len("d")];
    let d = all_together(cx, &results, |cx| {
        let mut d = vec![];
        let mut addends = unpacked(cx, of_c, &c);
        if (of_d, of_c) == (".f32", ".f16") {
            addends = addends.into_iter().map(|v| converted(cx, v, Type::F16, Type::F32)).collect();
        }
        let steps = if of_a == ".tf32" { 2 } else { 1 };
        let products: Vec<(&[Value], &[Value])> = match shape {
            (16, 16, _) => {
                let half = if of_a == ".f16" { 2 } else { b.len() / 2 };
                let left = if of_a == ".f16" { &a[..4] } else { &a[..] };
                vec![(left, &b[..half]), (left, &b[half..2 * half])]
            }
            (32, ..) => {
                let right = if of_a == ".f16" { &b[..2] } else { &b[..] };
                vec![(&a[..a.len() / 2], right), (&a[a.len() / 2..], right)]
            }
            (_, 32, _) => {
                let right = if of_a == ".f16" { &a[..2] } else { &a[..] };
                vec![(&b[..b.len() / 2], right), (&b[b.len() / 2..], right)]
            }
            _ => vec![(&a[..], &b[..])],
        };
        let each = addends.len() / products.len();
        for ((left, right), addends) in products.iter().zip(addends.chunks(each)) {
            let mut sums = addends.to_vec();
            for step in 0..steps {
                let part = |all: &[Value]| {
                    let n = all.len() / steps;
                    all[step * n..(step + 1) * n].to_vec()
                };
                sums = product(cx, [of_sum, of_a, of_b], &part(left), &part(right), &sums);
            }
            d.extend(sums);
        }
        if (of_d, of_c) == (".f16", ".f32") {
            d = d.into_iter().map(|v| converted(cx, v, Type::F32, Type::F16)).collect();
        }
        packed(cx, of_d, d)
    });
    cx.set_elements("d", d);
    Ok(())
}

fn converted(cx: &mut Cx<'_>, v: Value, from: Type, to: Type) -> Value {
    let number = cx.b.from_bits(v, from);
    let number = cx.b.inst(Op::FCvt(Round::Nearest), &[number], to);
    cx.b.to_bits(number, to.to_int())
}

/// The distance of lines in memory, in elements: what is given, or as if there were nothing between them.
fn stride(cx: &mut Cx<'_>, (m, n, k): (usize, usize, usize)) -> Value {
    if cx.given("stride") {
        let stride = cx.src("stride");
        return cx.b.zext(stride, Elem::I64);
    }
    let row = cx.has(".row");
    let natural = match () {
        () if cx.has(".a") => {
            if row {
                k
            } else {
                m
            }
        }
        () if cx.has(".b") => {
            if row {
                n
            } else {
                k
            }
        }
        () => {
            if row {
                n
            } else {
                m
            }
        }
    };
    cx.b.iconst(Type::I64, natural as u64)
}

/// Eight lines of a fragment with a word from each of four lanes: what one register of a warp holds of a factor, or one or two registers of sums.
struct Block {
    /// Where it begins: the line (a row of `a`, a column of `b`, what is a row in the product of 16 by 8), and the element in it.
    line: usize,
    within: usize,
    /// Whether elements of a line are next to each other in memory.
    contiguous: bool,
}

/// The registers of `a` or `b`.
fn fragment(cx: &Cx<'_>, (m, n, k): (usize, usize, usize), kind: &str) -> Vec<Block> {
    let is_a = cx.has(".a");
    let contiguous = is_a == cx.has(".row");
    let lines = if is_a { m } else { n };
    // Elements in the words of four lanes.
    let each = 4 * (32 / bits(kind)).max(1);
    // What is multiplied from the left lies in pairs of registers, eight lines apart.
    let from_the_left = if is_a { m >= 16 } else { n == 32 };
    let pair = if from_the_left { 16 } else { 8 };
    let mut out = vec![];
    for first in (0..lines).step_by(pair) {
        for within in (0..k).step_by(each) {
            out.extend((first..first + pair).step_by(8).map(|line| Block { line, within, contiguous }));
        }
    }
    out
}

/// Pairs of elements of `c` or `d`.
fn accumulators(cx: &Cx<'_>, (m, n, _): (usize, usize, usize), _: &str) -> Vec<Block> {
    let turned = n == 32;
    let contiguous = turned != cx.has(".row");
    let (lines, across) = if turned { (n, m) } else { (m, n) };
    let mut out = vec![];
    // Products of 16 by 8: beside each other, or below.
    for within in (0..across).step_by(8) {
        out.extend((0..lines).step_by(8).map(|line| Block { line, within, contiguous }));
    }
    out
}

struct Memory<'a> {
    mem: Mem,
    address: Value,
    stride: Value,
    kind: &'a str,
}

impl Memory<'_> {
    /// The address of an element: how many lines and elements from the beginning of the matrix.
    fn at(&self, cx: &mut Cx<'_>, lines: Value, elements: Value) -> Value {
        let [lines, elements] = [lines, elements].map(|v| cx.b.zext(v, Elem::I64));
        let far = cx.b.mul(lines, self.stride);
        let far = cx.b.add(far, elements);
        let bits = bits(self.kind);
        let bytes = match bits {
            8.. => cx.b.int_imm(IntBin::Mul, far, bits as u64 / 8),
            _ => cx.b.int_imm(IntBin::ShrU, far, (8 / bits).ilog2().into()),
        };
        let bytes = if cx.b.ty(self.address) == Type::I32 {
            cx.b.inst(Op::Trunc, &[bytes], Type::I32)
        } else {
            bytes
        };
        cx.b.add(self.address, bytes)
    }

    /// `n` · `by` + `more`
    fn scaled(cx: &mut Cx<'_>, n: Value, by: usize, more: usize) -> Value {
        let n = cx.b.int_imm(IntBin::Mul, n, by as u64);
        cx.b.int_imm(IntBin::Add, n, more as u64)
    }

    /// A word of each lane: 4 bytes, or an f64.
    fn load_factors(&self, cx: &mut Cx<'_>, block: &Block) -> Vec<Value> {
        let place = Place::new(cx);
        let each = (32 / bits(self.kind)).max(1);
        let ty = if self.kind == ".f64" { Type::I64 } else { Type::I32 };
        if block.contiguous {
            let line = Self::scaled(cx, place.group, 1, block.line);
            let within = Self::scaled(cx, place.within, each, block.within);
            let at = self.at(cx, line, within);
            return vec![cx.b.inst(Op::Load(self.mem), &[at], ty)];
        }
        if each == 2 {
            return vec![self.load_turned(cx, block)];
        }
        let line = Self::scaled(cx, place.group, 1, block.line);
        let mut word = None;
        for j in 0..each {
            let within = Self::scaled(cx, place.within, each, block.within + j);
            let at = self.at(cx, within, line);
            if each == 1 {
                return vec![cx.b.inst(Op::Load(self.mem), &[at], ty)];
            }
            let byte = cx.b.inst(Op::Load(self.mem), &[at], Type::I8);
            let byte = cx.b.zext(byte, Elem::I32);
            let byte = cx.b.int_imm(IntBin::Shl, byte, 8 * j as u64);
            word = Some(word.map_or(byte, |word| cx.b.or(word, byte)));
        }
        word.into_iter().collect()
    }

    /// The address of a word of halves in a block of 8 by 8 whose lines are those of memory.
    fn turned(&self, cx: &mut Cx<'_>, block: &Block) -> Value {
        let place = Place::new(cx);
        let line = Self::scaled(cx, place.group, 1, block.within);
        let within = Self::scaled(cx, place.within, 2, block.line);
        self.at(cx, line, within)
    }

    /// Halves the other way round, as `movmatrix` turns them.
    fn load_turned(&self, cx: &mut Cx<'_>, block: &Block) -> Value {
        let at = self.turned(cx, block);
        let word = cx.b.inst(Op::Load(self.mem), &[at], Type::I32);
        transposed(cx, word)
    }

    /// Where the two elements of a lane are, if not beside each other.
    fn two(&self, cx: &mut Cx<'_>, block: &Block) -> [Value; 2] {
        let place = Place::new(cx);
        let line = Self::scaled(cx, place.group, 1, block.line);
        [0, 1].map(|j| {
            let within = Self::scaled(cx, place.within, 2, block.within + j);
            self.at(cx, within, line)
        })
    }

    /// Where the first of two elements that are beside each other is.
    fn first(&self, cx: &mut Cx<'_>, block: &Block) -> Value {
        let place = Place::new(cx);
        let line = Self::scaled(cx, place.group, 1, block.line);
        let within = Self::scaled(cx, place.within, 2, block.within);
        self.at(cx, line, within)
    }

    fn element(&self) -> Elem {
        if self.kind == ".f64" { Elem::I64 } else { Elem::I32 }
    }

    fn load_sums(&self, cx: &mut Cx<'_>, block: &Block) -> Vec<Value> {
        let elem = self.element();
        if !block.contiguous {
            if self.kind == ".f16" {
                return vec![self.load_turned(cx, block)];
            }
            let two = self.two(cx, block);
            return two.map(|at| cx.b.inst(Op::Load(self.mem), &[at], Type::scalar(elem))).to_vec();
        }
        let at = self.first(cx, block);
        if self.kind == ".f16" {
            return vec![cx.b.inst(Op::Load(self.mem), &[at], Type::I32)];
        }
        let both = cx.b.inst(Op::Load(self.mem), &[at], Type::new(elem, 2));
        [0, 1].map(|j| cx.b.extract(both, j)).to_vec()
    }

    fn store_sums(&self, cx: &mut Cx<'_>, block: &Block, held: &[Value]) {
        if self.kind == ".f16" {
            let (at, word) = match block.contiguous {
                true => (self.first(cx, block), held[0]),
                false => (self.turned(cx, block), transposed(cx, held[0])),
            };
            return cx.b.effect(Op::Store(self.mem), &[at, word], None);
        }
        if block.contiguous {
            let at = self.first(cx, block);
            let both = cx.b.build(held);
            return cx.b.effect(Op::Store(self.mem), &[at, both], None);
        }
        for (at, word) in self.two(cx, block).into_iter().zip(held) {
            cx.b.effect(Op::Store(self.mem), &[at, *word], None);
        }
    }
}

fn store(cx: &mut Cx<'_>, shape: (usize, usize, usize)) -> Outcome {
    let (address, stride, held) = (cx.src("p"), stride(cx, shape), cx.elements("d"));
    let mem = super::memory(cx);
    let kind = types(cx.m)[0].to_owned();
    let blocks = accumulators(cx, shape, &kind);
    all_together(cx, &[], |cx| {
        let memory = Memory { mem, address, stride, kind: &kind };
        let each = held.len() / blocks.len();
        for (block, held) in blocks.iter().zip(held.chunks(each)) {
            memory.store_sums(cx, block, held);
        }
        vec![]
    });
    Ok(())
}
