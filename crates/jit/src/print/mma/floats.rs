//! Products of matrices of floats.
//!
//! What [`hostwarp_ir::dot`] says, without taking numbers apart: factors are f32, which holds every product, exactly or, where it is too small to count,
//! nearly. A product, times 2^(25 − E) for the largest exponent E of its block, becomes an integer as any float does, cut toward zero; integers are
//! added; what is above 24 bits is cut, and the sum is a float again. Infinities and NaNs, and exponents for which one of these steps would not be
//! exact, are left to [`dot`](super::super::dot), for the whole warp.
//!
//! A vector has an element of each row, so that a product is one of a vector and a number. Both sides are written to memory that way, by functions
//! of their own ([`Side`]): several products that share a side share that work. For E there is a second product, of bytes: how far below the largest
//! exponent of their side factors are; sums saturate at 255, which is that of a zero.

use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem, Mma};

use super::super::ops::{self, Cpu};
use super::super::{Reg, Shape, Text, dot, x86};
use super::{HALVES, WARP, WORDS};

/// Bits that are kept below the largest exponent of a block.
pub(in crate::print) const BELOW: i64 = 25;
/// Exponents of blocks whose products and scales are normal numbers of f32.
pub(in crate::print) const LEAST: i64 = -100;
pub(in crate::print) const MOST: i64 = 125;
/// The exponent, where an f32 has it, of blocks with no products that count: less than [`LEAST`]. Their sum is the addend.
const ALONE: u64 = ((LEAST - 1 + 127) as u64) << FIELD;
/// How far below the largest exponent a factor is, at most. 255 is that of a zero.
const FAR: i64 = 120;
/// Rows of a product.
const ROWS: u32 = 16;
const ROW_WORDS: Shape = Shape { elem: Elem::I32, n: ROWS };
const COLUMNS: usize = 8;
const SCALAR: Shape = Shape { elem: Elem::I32, n: 1 };
/// Where the exponent of an f32 is.
pub(in crate::print) const FIELD: u32 = 23;

/// How numbers lie in words.
#[derive(Clone, Copy)]
pub(in crate::print) struct Layout {
    factor: Factor,
    /// Words of a row or a column.
    words: usize,
    /// Factors of a word.
    pub(in crate::print) per_word: usize,
    /// Bits below the exponent, and what is taken from it.
    pub(in crate::print) fraction: i64,
    pub(in crate::print) bias: i64,
}

impl Layout {
    pub(in crate::print) fn new(dot: Dot) -> Layout {
        let (per_word, fraction, bias) = match dot.a {
            Factor::F16 => (2, 10, 15),
            Factor::Bf16 => (2, 7, 127),
            _ => (1, 23, 127),
        };
        Layout { factor: dot.a, words: usize::from(dot.words), per_word, fraction, bias }
    }

    /// Registers of eight rows or columns.
    fn registers(self) -> usize {
        self.words / 4
    }

    /// Words of four factors each, of which distances are bytes.
    fn fours(self) -> usize {
        self.words * self.per_word / 4
    }

    /// As the factors lie.
    pub(in crate::print) fn within(self, words: Shape) -> Shape {
        if self.per_word == 2 { Shape::new(Elem::I16, 2 * words.n) } else { words }
    }
}

/// What there is of a side in memory: factors as f32, distances of exponents, and the registers as they were.
#[derive(Clone, Copy)]
struct Side {
    layout: Layout,
    /// Eights of rows; none for columns.
    halves: Option<usize>,
}

impl Side {
    fn registers(self) -> usize {
        self.layout.registers() * self.halves.unwrap_or(1)
    }

    fn lanes(self) -> usize {
        if self.halves.is_some() { ROWS as usize } else { COLUMNS }
    }

    /// Factor `place` of word `word` of the first row or column.
    fn number(self, word: usize, place: usize) -> usize {
        let register = (word / 4) * self.layout.per_word + place;
        if self.halves.is_some() { (4 * register + word % 4) * 64 } else { register * 128 + word % 4 * 4 }
    }

    fn distances(self) -> usize {
        self.layout.words * self.layout.per_word * self.lanes() * 4
    }

    /// Four distances of the first row or column, and bytes from one column to the next.
    fn four(self, n: usize) -> (usize, usize) {
        let at = match (self.halves, self.layout.per_word) {
            (Some(_), _) => n * 64,
            // Two in each register: four words of two factors.
            (None, 2) => n / 2 * 128 + n % 2 * 8,
            _ => n * 128,
        };
        (self.distances() + at, 16)
    }

    fn raw(self) -> usize {
        self.distances()
            + if self.halves.is_some() { self.layout.fours() * 64 } else { self.registers() * 128 }
    }

    /// The largest exponent, and whether all this has been written.
    fn answer(self) -> usize {
        self.raw() + self.registers() * 128
    }

    fn bytes(self) -> usize {
        self.answer() + 64
    }

    fn is_written(self) -> usize {
        self.bytes() - 4
    }

    fn name(self) -> String {
        let Layout { factor, words, .. } = self.layout;
        match self.halves {
            Some(halves) => format!("@mma.rows.{factor:?}.{words}.{halves}"),
            None => format!("@mma.columns.{factor:?}.{words}"),
        }
    }
}

/// The sums of a product, all parts of each lane: the call and its type.
pub(super) fn call(t: &mut Text, cpu: Cpu, mma: Mma, args: &[&str]) -> (String, Reg) {
    let dot = mma.dot;
    let layout = Layout::new(dot);
    let [of_a, of_b, parts] = mma.registers();
    let sides = [Side { layout, halves: Some(usize::from(mma.halves)) }, Side { layout, halves: None }];
    let (a, rest) = args.split_at(of_a);
    let (b, c) = rest.split_at(of_b);
    let sum = if dot.sum == Sum::F16 { HALVES } else { WORDS };
    let result = format!("{{ {} }}", vec![sum.to_string(); parts].join(", "));
    let name = format!("@mma.{:?}.{:?}.{}.{}", dot.a, dot.sum, dot.words, mma.halves);
    if !t.is_defined(&name) {
        let mut f = Body { t: Text::new(cpu.avx512), cpu, mma, sides };
        f.product();
        let addends: Vec<String> = (0..parts).map(|i| format!("{sum} %c{i}")).collect();
        let addends = addends.join(", ");
        t.declarations.extend(f.t.declarations);
        let body = f.t.body;
        t.define(
            name.clone(),
            format!(
                "define internal {result} {name}(ptr noalias readonly %rows, i32 %of.rows, ptr noalias readonly %columns, i32 %of.columns, {addends}) \
                 nounwind noinline {{\n{body}}}"
            ),
        );
    }
    let all = t.once_as(&format!("{name} {}", args.join(" ")), |t| {
        let mut given = vec![];
        for (side, registers) in sides.into_iter().zip([a, b]) {
            let (at, largest) = written(t, cpu, side, registers);
            given.push(format!("ptr {at}, i32 {largest}"));
        }
        given.extend(c.iter().map(|c| format!("{sum} {c}")));
        t.inst(format_args!("call {result} {name}({})", given.join(", ")))
    });
    (result, all)
}

/// Where a side is in memory, and its largest exponent as [`Body::side`] has it. What is there already is not written again.
fn written(t: &mut Text, cpu: Cpu, side: Side, registers: &[&str]) -> (Reg, Reg) {
    let name = side.name();
    let list = |of: &[&str]| of.iter().map(|word| format!("{WORDS} {word}")).collect::<Vec<_>>().join(", ");
    if !t.is_defined(&name) {
        let parameters: Vec<String> = (0..registers.len()).map(|i| format!("%a{i}")).collect();
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let mut f = Text::new(cpu.avx512);
        write_side(&mut f, cpu, side, &parameters);
        t.declarations.extend(f.declarations);
        let (body, parameters) = (f.body, list(&parameters));
        t.define(
            name.clone(),
            format!(
                "define internal i32 {name}(ptr noalias %to, {parameters}) nounwind noinline {{\n{body}}}"
            ),
        );
    }
    let slot = t.slot(side.bytes(), registers);
    let largest = t.inst(format_args!("call i32 {name}(ptr {slot}, {})", list(registers)));
    (slot, largest)
}

/// Transposes blocks of four by four words: word `i` of every four of vector `j` becomes word `j` of vector `i`.
fn transpose(t: &mut Text, shape: Shape, x: [&str; 4]) -> [Reg; 4] {
    // Within every four words: of two vectors the first or last two in turn, or the first or last pairs.
    let mask = |word: [u32; 4]| {
        (0..shape.n / 4)
            .flat_map(move |four| word.map(|i| if i < 4 { 4 * four + i } else { shape.n + 4 * four + i - 4 }))
    };
    let (low, high) = ([0, 4, 1, 5], [2, 6, 3, 7]);
    let (first, last) = ([0, 1, 4, 5], [2, 3, 6, 7]);
    let [a, b, c, d] = [(0, low), (0, high), (2, low), (2, high)]
        .map(|(i, how)| t.shuffle(shape, x[i], x[i + 1], mask(how)));
    [(&a, &c, first), (&a, &c, last), (&b, &d, first), (&b, &d, last)]
        .map(|(x, y, how)| t.shuffle(shape, x, y, mask(how)))
}

/// The halves of a vector of 32 words.
fn halves(t: &mut Text, shape: Shape, whole: &str) -> [Reg; 2] {
    [0, 16].map(|first| t.shuffle(shape.times(WARP), whole, "poison", first..first + 16))
}

fn at(t: &mut Text, base: &str, bytes: usize) -> Reg {
    t.inst(format_args!("getelementptr i8, ptr {base}, i64 {bytes}"))
}

fn store(t: &mut Text, shape: Shape, value: &str, to: (&str, usize)) {
    let to = at(t, to.0, to.1);
    t.line(format_args!("store {shape} {value}, ptr {to}, align 64"));
}

/// Writes a side to memory, unless it is what was written there last. Returns the largest biased exponent, or, where all exponents are near enough each other, whether there are infinities or NaNs.
fn write_side(t: &mut Text, cpu: Cpu, side: Side, registers: &[&str]) {
    let layout = side.layout;
    let differ: Vec<Reg> = (0..registers.len())
        .map(|i| {
            let from = at(t, "%to", side.raw() + i * 128);
            let known = t.inst(format_args!("load {WORDS}, ptr {from}, align 64"));
            t.binary("xor", WORDS, &known, registers[i])
        })
        .collect();
    let differ = differ.into_iter().reduce(|a, b| t.binary("or", WORDS, &a, &b)).unwrap_or_default();
    let differ = t.compare("icmp ne", WORDS, &differ, &Text::constant(WORDS, 0));
    let differ = any(t, WARP, &differ);
    let from = at(t, "%to", side.is_written());
    let is_written = t.inst(format_args!("load i32, ptr {from}, align 4"));
    let none = t.binary("xor", SCALAR, &is_written, "1");
    let differ = t.binary("or", SCALAR, &differ, &none);
    let differ = t.inst(format_args!("icmp ne i32 {differ}, 0"));
    t.line(format_args!("br i1 {differ}, label %write, label %known"));
    t.label("known");
    let from = at(t, "%to", side.answer());
    let answer = t.inst(format_args!("load i32, ptr {from}, align 4"));
    t.line(format_args!("ret i32 {answer}"));
    t.label("write");
    for (i, register) in registers.iter().enumerate() {
        store(t, WORDS, register, ("%to", side.raw() + i * 128));
    }
    // Vectors of words: word after word of rows, or registers of columns.
    let (shape, vectors) = match side.halves {
        Some(halves_of_rows) => {
            let mut vectors = vec![];
            for n in 0..layout.registers() {
                let mut quarters = vec![];
                for half in 0..2 {
                    if half < halves_of_rows {
                        quarters.extend(halves(t, ROW_WORDS, registers[n * halves_of_rows + half]));
                    } else {
                        quarters.extend([Text::constant(ROW_WORDS, 0), Text::constant(ROW_WORDS, 0)]);
                    }
                }
                vectors.extend(transpose(
                    t,
                    ROW_WORDS,
                    [&quarters[0], &quarters[1], &quarters[2], &quarters[3]],
                ));
            }
            (ROW_WORDS, vectors)
        }
        None => (WORDS, registers.iter().map(|r| (*r).to_owned()).collect()),
    };
    for (i, words) in vectors.iter().enumerate() {
        let word = if side.halves.is_some() { i } else { 4 * i };
        for (place, number) in numbers(t, cpu, layout, shape, words).into_iter().enumerate() {
            store(t, shape.with(Elem::F32), &number, ("%to", side.number(word, place)));
        }
    }
    // Exponents of what is not there are those of the smallest numbers.
    let within = layout.within(shape);
    let magnitude = if layout.per_word == 2 { 0x7fff } else { 0x7fff_e000 };
    let constant = |value: i64| Text::constant(within, value as u64);
    let magnitudes: Vec<Reg> = vectors
        .iter()
        .map(|words| {
            let words = t.convert("bitcast", shape, words, within);
            t.binary("and", within, &words, &constant(magnitude))
        })
        .collect();
    let fields: Vec<Reg> = magnitudes
        .iter()
        .map(|x| {
            let field = t.binary("lshr", within, x, &constant(layout.fraction));
            most(t, within, &field, &constant(1))
        })
        .collect();
    let mut largest = fields[0].clone();
    for field in &fields[1..] {
        largest = most(t, within, &largest, field);
    }
    let (answer, top) = if layout.factor == Factor::F16 {
        let special = t.compare("icmp sgt", within, &largest, &constant(30));
        (any(t, within.n, &special), constant(30))
    } else {
        let element = within.times(1);
        let one =
            t.intrinsic(&format!("vector.reduce.umax.{}", within.suffix()), element, &[(within, &largest)]);
        let answer = t.convert("zext", element, &one, SCALAR);
        (answer, t.repeat(element, &one, within.n))
    };
    let distances: Vec<Reg> = magnitudes
        .iter()
        .zip(&fields)
        .map(|(x, field)| {
            let mut distance = t.binary("sub", within, &top, field);
            if layout.factor != Factor::F16 {
                distance = least(t, within, &distance, &constant(FAR));
            }
            let zero = t.compare("icmp eq", within, x, &constant(0));
            t.select(within.with(Elem::I1), &zero, within, &constant(255), &distance)
        })
        .collect();
    let fours = if side.halves.is_some() {
        fours_of_rows(t, layout, &distances)
    } else {
        distances.iter().map(|d| four_of_columns(t, layout, d)).collect()
    };
    for (i, four) in fours.iter().enumerate() {
        let bytes = if side.halves.is_some() { 64 } else { 128 };
        store(t, shape, four, ("%to", side.distances() + i * bytes));
    }
    for (value, to) in [(&*answer, side.answer()), ("1", side.is_written())] {
        let to = at(t, "%to", to);
        t.line(format_args!("store i32 {value}, ptr {to}, align 4"));
    }
    t.line(format_args!("ret i32 {answer}"));
}

/// Distances of four factors in each word: those of two words of two, or of four.
fn fours_of_rows(t: &mut Text, layout: Layout, distances: &[Reg]) -> Vec<Reg> {
    let within = layout.within(ROW_WORDS);
    distances
        .chunks(4 / layout.per_word)
        .map(|words| {
            let mut all = words[0].clone();
            for (i, word) in words.iter().enumerate().skip(1) {
                let moved = t.binary("shl", within, word, &Text::constant(within, 8 * i as u64));
                all = t.binary("or", within, &all, &moved);
            }
            t.convert("bitcast", within, &all, ROW_WORDS)
        })
        .collect()
}

/// The same of words that lie beside each other, in the first of each two or four.
fn four_of_columns(t: &mut Text, layout: Layout, distances: &str) -> Reg {
    let pairs = Shape::new(Elem::I64, WARP / 2);
    let two = t.convert("bitcast", layout.within(WORDS), distances, pairs);
    let moved = t.binary("lshr", pairs, &two, &Text::constant(pairs, 24));
    let two = t.binary("or", pairs, &two, &moved);
    let words = t.convert("bitcast", pairs, &two, WORDS);
    if layout.per_word == 2 {
        return words;
    }
    let next = t.shuffle(WORDS, &words, "poison", (0..WARP).map(|lane| lane | 2));
    let moved = t.binary("shl", WORDS, &next, &Text::constant(WORDS, 16));
    t.binary("or", WORDS, &words, &moved)
}

/// Words of factors as f32.
pub(in crate::print) fn numbers(
    t: &mut Text,
    cpu: Cpu,
    layout: Layout,
    shape: Shape,
    words: &str,
) -> Vec<Reg> {
    let floats = shape.with(Elem::F32);
    match layout.factor {
        Factor::F16 => [0, 16]
            .map(|by| {
                let moved = match by {
                    0 => words.to_owned(),
                    _ => t.binary("lshr", shape, words, &Text::constant(shape, by)),
                };
                let half = t.convert("trunc", shape, &moved, shape.with(Elem::I16));
                ops::half_to_float(t, cpu, floats, &half)
            })
            .to_vec(),
        Factor::Bf16 => {
            let low = t.binary("shl", shape, words, &Text::constant(shape, 16));
            let high = t.binary("and", shape, words, &Text::constant(shape, 0xffff_0000));
            [low, high].map(|bits| t.convert("bitcast", shape, &bits, floats)).to_vec()
        }
        _ => {
            let kept = t.binary("and", shape, words, &Text::constant(shape, 0xffff_e000));
            vec![t.convert("bitcast", shape, &kept, floats)]
        }
    }
}

fn most(t: &mut Text, shape: Shape, a: &str, b: &str) -> Reg {
    t.intrinsic(&format!("smax.{}", shape.suffix()), shape, &[(shape, a), (shape, b)])
}

fn least(t: &mut Text, shape: Shape, a: &str, b: &str) -> Reg {
    t.intrinsic(&format!("umin.{}", shape.suffix()), shape, &[(shape, a), (shape, b)])
}

/// Whether any of `n` flags is set: 1 or 0.
pub(in crate::print) fn any(t: &mut Text, n: u32, flags: &str) -> Reg {
    let bits = t.inst(format_args!("bitcast <{n} x i1> {flags} to i{n}"));
    let any = t.inst(format_args!("icmp ne i{n} {bits}, 0"));
    t.inst(format_args!("zext i1 {any} to i32"))
}

/// A sum of terms that were made integers by `scale`, as the bits of a float.
pub(in crate::print) fn as_float(
    t: &mut Text,
    cpu: Cpu,
    half: bool,
    words: Shape,
    scale: &str,
    sum: &str,
) -> Reg {
    let floats = words.with(Elem::F32);
    let back = t.binary("sub", words, &Text::constant(words, 254 << FIELD), scale);
    let back = t.convert("bitcast", words, &back, floats);
    if !half && let Some(number) = x86::to_float_cut(t, cpu.registers, words, sum) {
        let number = t.binary("fmul", floats, &number, &back);
        return t.convert("bitcast", floats, &number, words);
    }
    let flag = Shape::new(Elem::I1, 1);
    let suffix = words.suffix();
    let magnitude = t.intrinsic(&format!("abs.{suffix}"), words, &[(words, sum), (flag, "false")]);
    let zeros = t.intrinsic(&format!("ctlz.{suffix}"), words, &[(words, &magnitude), (flag, "false")]);
    let eight = Text::constant(words, 8);
    let by = t.intrinsic(&format!("usub.sat.{suffix}"), words, &[(words, &eight), (words, &zeros)]);
    let kept = t.binary("lshr", words, &magnitude, &by);
    let mut kept = t.binary("shl", words, &kept, &by);
    if half {
        // To odd: it is rounded once more.
        let lost = t.compare("icmp ne", words, &kept, &magnitude);
        let lost = t.convert("zext", words.with(Elem::I1), &lost, words);
        let lost = t.binary("shl", words, &lost, &by);
        kept = t.binary("or", words, &kept, &lost);
    }
    let number = t.convert("sitofp", words, &kept, floats);
    let number = t.binary("fmul", floats, &number, &back);
    let bits = t.convert("bitcast", floats, &number, words);
    let sign = t.binary("and", words, sum, &Text::constant(words, 0x8000_0000));
    let bits = t.binary("or", words, &bits, &sign);
    if half {
        let number = t.convert("bitcast", words, &bits, floats);
        let half = ops::float_to_half(t, cpu, floats, &number);
        return t.convert("zext", words.with(Elem::I16), &half, words);
    }
    bits
}

/// The function that makes a product.
struct Body {
    t: Text,
    cpu: Cpu,
    mma: Mma,
    sides: [Side; 2],
}

/// The elements of a column, in as many rows as fit a register.
struct Block {
    /// One in units of 2^(E − 25).
    scale: Reg,
    /// The addend in units, cut.
    term: Reg,
}

impl Body {
    fn op(&mut self, op: &str, shape: Shape, a: &str, value: i64) -> Reg {
        self.t.binary(op, shape, a, &Text::constant(shape, value as u64))
    }

    fn is_half(&self) -> bool {
        self.mma.dot.sum == Sum::F16
    }

    /// Elements that are done at a time.
    fn words(&self) -> Shape {
        Shape::new(Elem::I32, if self.cpu.avx512 { 16 } else { 8 })
    }

    fn floats(&self) -> Shape {
        self.words().with(Elem::F32)
    }

    /// The addends as f32, a column in each, in the order of rows that [`transpose`] makes.
    fn addends(&mut self) -> Vec<Reg> {
        let halves_of_rows = usize::from(self.mma.halves);
        let mut columns = vec![String::new(); COLUMNS];
        for j in 0..2 {
            let mut quarters = vec![];
            for half in 0..2 {
                if half >= halves_of_rows {
                    quarters.extend([Text::constant(ROW_WORDS, 0), Text::constant(ROW_WORDS, 0)]);
                    continue;
                }
                let mut held = format!("%c{}", 2 * half + j);
                if self.is_half() {
                    held = ops::half_to_float(&mut self.t, self.cpu, WORDS.with(Elem::F32), &held);
                    held = self.t.convert("bitcast", WORDS.with(Elem::F32), &held, WORDS);
                }
                quarters.extend(halves(&mut self.t, ROW_WORDS, &held));
            }
            let quarters = [&*quarters[0], &*quarters[1], &*quarters[2], &*quarters[3]];
            for (within, column) in transpose(&mut self.t, ROW_WORDS, quarters).into_iter().enumerate() {
                columns[2 * within + j] = column;
            }
        }
        columns
    }

    /// The sums of columns, piece after piece, as the lanes hold them.
    fn give(&mut self, pieces: &[Reg]) {
        let words = self.words();
        let columns: Vec<Reg> = (0..COLUMNS)
            .map(|column| {
                let of: Vec<Reg> = pieces.iter().skip(column).step_by(COLUMNS).cloned().collect();
                self.t.concat(words, &of)
            })
            .collect();
        let mut sums = vec![];
        let parts = 2 * usize::from(self.mma.halves);
        for j in 0..2 {
            let column = |within: usize| &*columns[2 * within + j];
            let quarters = transpose(&mut self.t, ROW_WORDS, [0, 1, 2, 3].map(column));
            for half in 0..parts / 2 {
                let mut sum = self.t.concat(ROW_WORDS, &quarters[2 * half..2 * half + 2]);
                if self.is_half() {
                    sum = self.t.convert("trunc", WORDS, &sum, HALVES);
                }
                sums.push((2 * half + j, sum));
            }
        }
        sums.sort_by_key(|(part, _)| *part);
        let sums: Vec<Reg> = sums.into_iter().map(|(_, sum)| sum).collect();
        self.end(&sums);
    }

    fn end(&mut self, sums: &[Reg]) {
        let shape = if self.is_half() { HALVES } else { WORDS };
        super::end(&mut self.t, shape, sums);
    }

    fn product(&mut self) {
        let [rows, columns] = self.sides;
        let layout = rows.layout;
        let words = self.words();
        self.t.line(format_args!("br label %begin"));
        self.t.label("begin");
        let addends = self.addends();
        let range = Range::new(&mut self.t, layout);
        let mut blocks = vec![];
        let mut exponents = vec![];
        let mut distances = vec![];
        for first in (0..ROWS).step_by(words.n as usize) {
            let nearest = self.nearest(rows, columns, first);
            for (nearest, addend) in nearest.iter().zip(&addends) {
                let addend = self.piece(addend, first);
                let (exponent, distance) = self.exponent(&range, nearest, &addend);
                blocks.push(self.block(&exponent, &addend));
                exponents.push(exponent);
                if layout.factor != Factor::F16 {
                    let next = self.op("add", words, &distance, 1);
                    distances.push(self.op("and", words, &next, 255));
                }
            }
        }
        let largest = self.of_all("smax", &exponents);
        let mut cold = self.any("sge", &largest, &Text::constant(words, 0x7f80_0000));
        if layout.factor != Factor::F16 {
            let largest = self.of_all("smax", &distances);
            let limit = self.t.repeat(SCALAR, &range.limit, words.n);
            let far = self.any("sgt", &largest, &limit);
            cold = self.t.binary("or", SCALAR, &cold, &far);
        }
        // Sums in f16 have no addends as small.
        let alone = (!self.is_half()).then(|| {
            let least = self.of_all("smin", &exponents);
            let alone = self.any("eq", &least, &Text::constant(words, ALONE));
            self.t.inst(format_args!("icmp ne i32 {alone}, 0"))
        });
        cold = self.t.binary("or", SCALAR, &range.cold, &cold);
        let is_cold = self.t.inst(format_args!("icmp ne i32 {cold}, 0"));
        self.t.line(format_args!("br i1 {is_cold}, label %cold, label %warm"));
        self.t.label("warm");
        let mut before = "warm".to_owned();
        let mut sums: Vec<Reg> = vec![];
        // As many sums at a time as there are registers for.
        let at_once = if words.n == ROWS { COLUMNS } else { COLUMNS / 2 };
        for (n, blocks) in blocks.chunks(at_once).enumerate() {
            let (piece, first) = (n * at_once / COLUMNS, n * at_once % COLUMNS);
            let more;
            (more, before) = self.products((n, piece * words.n as usize, first), blocks, &before);
            sums.extend(more);
        }
        if layout.words * layout.per_word == 16 {
            // Products alone are less than 2^31, with the addend, which is less than 2^26, there may be more.
            let limit = Text::constant(words, (1 << 31) - (1 << 26));
            let above: Vec<Reg> = sums.iter().map(|sum| self.t.binary("sub", words, sum, &limit)).collect();
            let least = self.of_all("umin", &above);
            let over = self.any("ult", &least, &Text::constant(words, 1 << 27));
            let over = self.t.inst(format_args!("icmp ne i32 {over}, 0"));
            self.t.line(format_args!("br i1 {over}, label %cold, label %added"));
            self.t.label("added");
        }
        let half = self.is_half();
        let mut numbers = vec![];
        for (block, sum) in blocks.iter().zip(&sums) {
            let scale = self.t.convert("bitcast", self.floats(), &block.scale, words);
            numbers.push(as_float(&mut self.t, self.cpu, half, words, &scale, sum));
        }
        if let Some(alone) = alone {
            self.t.line(format_args!("br i1 {alone}, label %alone, label %done"));
            self.t.label("alone");
            let addends = self.addends();
            let numbers: Vec<Reg> = (0..numbers.len())
                .map(|i| {
                    let addend = self.piece(&addends[i % COLUMNS], (i / COLUMNS) as u32 * words.n);
                    self.or_alone(&blocks[i], &addend, &numbers[i])
                })
                .collect();
            self.give(&numbers);
            self.t.label("done");
        }
        self.give(&numbers);
        self.t.label("cold");
        self.cold();
    }

    /// As many rows as are done at a time.
    fn piece(&mut self, column: &str, first: u32) -> Reg {
        let words = self.words();
        if words.n == ROWS {
            return column.to_owned();
        }
        self.t.shuffle(ROW_WORDS, column, "poison", first..first + words.n)
    }

    fn of_all(&mut self, op: &str, all: &[Reg]) -> Reg {
        let words = self.words();
        let name = format!("{op}.{}", words.suffix());
        let mut known = all[0].clone();
        for one in &all[1..] {
            known = self.t.intrinsic(&name, words, &[(words, &known), (words, one)]);
        }
        known
    }

    fn any(&mut self, predicate: &str, a: &str, b: &str) -> Reg {
        let words = self.words();
        let flags = self.t.compare(&format!("icmp {predicate}"), words, a, b);
        any(&mut self.t, words.n, &flags)
    }

    /// How far the nearest product of each element is below the largest there could be, in the highest byte of each word.
    fn nearest(&mut self, rows: Side, columns: Side, first: u32) -> Vec<Reg> {
        let words = self.words();
        let bytes = Shape::new(Elem::I8, 4 * words.n);
        let mut nearest: Vec<Option<Reg>> = vec![None; COLUMNS];
        for n in 0..rows.layout.fours() {
            let from = at(&mut self.t, "%rows", rows.four(n).0 + 4 * first as usize);
            let of_rows = self.t.inst(format_args!("load {bytes}, ptr {from}, align 32"));
            for (column, nearest) in nearest.iter_mut().enumerate() {
                let (offset, stride) = columns.four(n);
                let from = at(&mut self.t, "%columns", offset + column * stride);
                let one = self.t.inst(format_args!("load i32, ptr {from}, align 4"));
                let all = self.t.repeat(SCALAR, &one, words.n);
                let all = self.t.convert("bitcast", words, &all, bytes);
                let sum = self.t.intrinsic(
                    &format!("uadd.sat.{}", bytes.suffix()),
                    bytes,
                    &[(bytes, &of_rows), (bytes, &all)],
                );
                *nearest = Some(match nearest.take() {
                    None => sum,
                    Some(known) => least(&mut self.t, bytes, &known, &sum),
                });
            }
        }
        let each = |bytes_of: Option<Reg>| {
            let mut x = bytes_of.unwrap_or_default();
            for by in [16, 8] {
                let all = self.t.convert("bitcast", bytes, &x, words);
                let moved = self.op("shl", words, &all, by);
                let moved = self.t.convert("bitcast", words, &moved, bytes);
                x = least(&mut self.t, bytes, &x, &moved);
            }
            self.t.convert("bitcast", bytes, &x, words)
        };
        nearest.into_iter().map(each).collect()
    }

    /// The largest exponent of a block, where an f32 has it, and how far below the largest possible its products are.
    fn exponent(&mut self, range: &Range, nearest: &str, addend: &str) -> (Reg, Reg) {
        let words = self.words();
        let distance = self.op("lshr", words, nearest, 24);
        let below = self.op("shl", words, &distance, FIELD.into());
        let top = match &range.top {
            None => Text::constant(words, (30 + 127) << FIELD),
            Some(top) => self.t.repeat(SCALAR, top, words.n),
        };
        let of_products = self.t.binary("sub", words, &top, &below);
        let mut of_addend = self.op("and", words, addend, 0x7f80_0000);
        if self.is_half() {
            // A subnormal half, but not a zero.
            let subnormal = Text::constant(words, (127 - 14) << FIELD);
            let at_least = most(&mut self.t, words, &of_addend, &subnormal);
            let zero = self.t.compare("icmp eq", words, &of_addend, &Text::constant(words, 0));
            of_addend =
                self.t.select(words.with(Elem::I1), &zero, words, &Text::constant(words, 0), &at_least);
        }
        let exponent = most(&mut self.t, words, &of_products, &of_addend);
        (most(&mut self.t, words, &exponent, &Text::constant(words, ALONE)), distance)
    }

    /// How a block is aligned.
    fn block(&mut self, exponent: &str, addend: &str) -> Block {
        let (words, floats) = (self.words(), self.floats());
        let scale =
            self.t.binary("sub", words, &Text::constant(words, ((BELOW + 254) as u64) << FIELD), exponent);
        let [scale, addend] = [&scale, addend].map(|bits| self.t.convert("bitcast", words, bits, floats));
        let term = self.term(&scale, &addend);
        Block { scale, term }
    }

    /// A term in units of its block, cut.
    fn term(&mut self, scale: &str, number: &str) -> Reg {
        let scaled = self.t.binary("fmul", self.floats(), number, scale);
        self.t.convert("fptosi", self.floats(), &scaled, self.words())
    }

    /// Sums of products, of rows from `row` and columns from `column` on, by a loop over four words. `before` is the block that comes before; returns the one
    /// that comes after.
    fn products(
        &mut self,
        (n, row, column): (usize, usize, usize),
        blocks: &[Block],
        before: &str,
    ) -> (Vec<Reg>, String) {
        let [rows, columns] = self.sides;
        let (words, floats) = (self.words(), self.floats());
        let (begin, end) = (format!("products.{n}"), format!("products.end.{n}"));
        self.t.jump(&begin);
        self.t.label(&begin);
        let sums: Vec<Reg> = (0..blocks.len()).map(|i| format!("%sum.{n}.{i}")).collect();
        let next: Vec<Reg> = (0..blocks.len()).map(|i| format!("%next.{n}.{i}")).collect();
        self.t.line(format_args!("%word.{n} = phi i64 [0, %{before}], [%word.next.{n}, %{begin}]"));
        for ((sum, next), block) in sums.iter().zip(&next).zip(blocks) {
            self.t.line(format_args!("{sum} = phi {words} [{}, %{before}], [{next}, %{begin}]", block.term));
        }
        let of_rows = self.t.inst(format_args!("getelementptr [64 x i8], ptr %rows, i64 %word.{n}"));
        let of_columns = self.t.inst(format_args!("getelementptr i32, ptr %columns, i64 %word.{n}"));
        let mut so_far = sums.clone();
        let layout = rows.layout;
        for word in (0..layout.words).step_by(4) {
            for place in 0..layout.per_word {
                let from = at(&mut self.t, &of_rows, rows.number(word, place) + 4 * row);
                let of_rows = self.t.inst(format_args!("load {floats}, ptr {from}, align 32"));
                for (i, block) in blocks.iter().enumerate() {
                    let offset = columns.number(word, place) + 16 * (column + i);
                    let from = at(&mut self.t, &of_columns, offset);
                    let one = self.t.inst(format_args!("load float, ptr {from}, align 4"));
                    let all = self.t.repeat(floats.times(1), &one, floats.n);
                    let product = self.t.binary("fmul", floats, &of_rows, &all);
                    let term = self.term(&block.scale, &product);
                    so_far[i] = self.t.binary("add", words, &so_far[i], &term);
                }
            }
        }
        for (sum, next) in so_far.iter().zip(&next) {
            self.t.line(format_args!("{next} = add {words} {sum}, zeroinitializer"));
        }
        self.t.line(format_args!("%word.next.{n} = add i64 %word.{n}, 1"));
        let more = self.t.inst(format_args!("icmp ult i64 %word.next.{n}, 4"));
        self.t.line(format_args!("br i1 {more}, label %{begin}, label %{end}"));
        self.t.label(&end);
        (next, end)
    }

    /// The addend where it is all there is.
    fn or_alone(&mut self, block: &Block, addend: &str, number: &str) -> Reg {
        let (words, floats) = (self.words(), self.floats());
        let scale = self.t.convert("bitcast", floats, &block.scale, words);
        let of_alone = Text::constant(words, (((BELOW + 254) as u64) << FIELD) - ALONE);
        let alone = self.t.compare("icmp eq", words, &scale, &of_alone);
        // A zero is +0.
        let addend = self.t.convert("bitcast", words, addend, floats);
        let itself = self.t.binary("fadd", floats, &addend, &Text::constant(floats, 0));
        let itself = self.t.convert("bitcast", floats, &itself, words);
        self.t.select(words.with(Elem::I1), &alone, words, &itself, number)
    }

    /// The long way.
    fn cold(&mut self) {
        let dot = self.mma.dot;
        let [rows, columns] = self.sides;
        let words = usize::from(dot.words);
        let read = |f: &mut Body, base: &str, side: Side, register: usize| {
            let from = at(&mut f.t, base, side.raw() + 128 * register);
            f.t.inst(format_args!("load {WORDS}, ptr {from}, align 64"))
        };
        let of_rows: Vec<Reg> = (0..rows.registers()).map(|i| read(self, "%rows", rows, i)).collect();
        let of_columns: Vec<Reg> =
            (0..columns.registers()).map(|i| read(self, "%columns", columns, i)).collect();
        let sums: Vec<Reg> = (0..2 * usize::from(self.mma.halves))
            .map(|part| {
                let mut args: Vec<Reg> = (0..words)
                    .map(|word| {
                        let held = &of_rows[self.mma.row_register(part / 2, word)];
                        let from = (0..WARP as usize).map(|lane| Mma::row_lane(lane, word) as u32);
                        self.t.shuffle(WORDS, held, "poison", from)
                    })
                    .collect();
                for word in 0..words {
                    let held = &of_columns[word / 4];
                    let from = (0..WARP as usize).map(|lane| Mma::column_lane(lane, part % 2, word) as u32);
                    args.push(self.t.shuffle(WORDS, held, "poison", from));
                }
                args.push(format!("%c{part}"));
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                dot::long(&mut self.t, self.cpu, dot, &args, WARP)
            })
            .collect();
        self.end(&sums);
    }
}

/// The largest exponents there can be.
struct Range {
    /// Of a product, where an f32 has it; where it is not always the same.
    top: Option<Reg>,
    /// Not 0 where products have to go the long way; and one more than how far below products may be.
    cold: Reg,
    limit: Reg,
}

impl Range {
    fn new(t: &mut Text, layout: Layout) -> Range {
        if layout.factor == Factor::F16 {
            let cold = t.binary("or", SCALAR, "%of.rows", "%of.columns");
            return Range { top: None, cold, limit: String::new() };
        }
        let scalar = |value: i64| Text::constant(SCALAR, value as u64);
        let sum = t.binary("add", SCALAR, "%of.rows", "%of.columns");
        let exponent = t.binary("sub", SCALAR, &sum, &scalar(2 * layout.bias));
        // An infinity or a NaN has 128, with the smallest number still 2.
        let special = [("%of.rows", 254), ("%of.columns", 254)]
            .map(|(x, most)| t.compare("icmp sgt", SCALAR, x, &scalar(most)));
        let large = t.compare("icmp sgt", SCALAR, &exponent, &scalar(MOST));
        let flag = SCALAR.with(Elem::I1);
        let cold = t.binary("or", flag, &special[0], &special[1]);
        let cold = t.binary("or", flag, &cold, &large);
        let cold = t.convert("zext", flag, &cold, SCALAR);
        let kept = most(t, SCALAR, &exponent, &scalar(LEAST));
        let kept = least_signed(t, &kept, MOST);
        let top = t.binary("add", SCALAR, &kept, &scalar(127));
        let top = t.binary("shl", SCALAR, &top, &scalar(FIELD.into()));
        // Without any that is not 0 there is no limit: 255 + 1 counts as 0.
        let above = t.binary("sub", SCALAR, &exponent, &scalar(LEAST - 1));
        let above = most(t, SCALAR, &above, &scalar(0));
        let limit = least_signed(t, &above, FAR);
        Range { top: Some(top), cold, limit }
    }
}

fn least_signed(t: &mut Text, a: &str, b: i64) -> Reg {
    let b = Text::constant(SCALAR, b as u64);
    t.intrinsic("smin.i32", SCALAR, &[(SCALAR, a), (SCALAR, &b)])
}
