//! Products of matrices in the registers of a warp ([`hostwarp_ir::Mma`]): a function of the module for each kind, which makes all elements a lane has at
//! once. Who asks for several elements of one product finds the call that is there.
//!
//! Floats. What [`hostwarp_ir::dot`] says, without taking numbers apart: factors are f32, which holds every product, exactly or, where it is too small to count,
//! nearly. The largest exponent E of a block is found from the fields of the factors; a product, times 2^(25 − E), becomes an integer as any
//! float does, cut toward zero; integers are added; what is above 24 bits is cut, and the sum is a float again. Infinities and NaNs, and exponents for which
//! one of these steps would not be exact, are left to [`dot`](super::dot), for the whole warp.
//!
//! Each register is converted before lanes read it, so that the work is done once and not by everyone who reads.
//!
//! Integers of 8 bits are added by VNNI where the CPU has it, of 4 bits as bytes.

use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem, Mma};

use super::ops::{self, Cpu};
use super::{Reg, Shape, Text, dot, x86};

/// Lanes of a warp.
const WARP: u32 = 32;
const WORDS: Shape = Shape { elem: Elem::I32, n: WARP };
const FLOATS: Shape = Shape { elem: Elem::F32, n: WARP };
const HALVES: Shape = Shape { elem: Elem::I16, n: WARP };
/// Bits that are kept below the largest exponent of a block.
const BELOW: i64 = 25;
/// The exponent of a zero: less than any sum of others. And of what is special: more than any sum with one of a zero.
const ZERO: i64 = -4000;
const SPECIAL: i64 = 8200;
/// Exponents of blocks whose products and scales are normal numbers of f32.
const LEAST: i64 = -100;

/// The part that is asked for.
pub(super) fn mma(t: &mut Text, cpu: Cpu, mma: Mma, args: &[&str]) -> Reg {
    let dot = mma.dot;
    let name = format!("@mma.{:?}.{:?}.{:?}.{}.{}", dot.a, dot.b, dot.sum, dot.words, mma.halves);
    let [a, b, parts] = mma.registers();
    let sum = if dot.sum == Sum::F16 { HALVES } else { WORDS };
    let shape = |i: usize| if i < a + b { WORDS } else { sum };
    let result = format!("{{ {} }}", vec![sum.to_string(); parts].join(", "));
    let list = |what: &dyn Fn(usize) -> String| (0..args.len()).map(what).collect::<Vec<_>>().join(", ");
    if !t.is_defined(&name) {
        let mut f = Body { t: Text::new(cpu.avx512), cpu, mma, lanes: WARP };
        if dot.a.is_float() {
            f.sum_floats();
        } else {
            f.sum_integers();
        }
        let body = f.t.body;
        let parameters = list(&|i| format!("{} %a{i}", shape(i)));
        t.declarations.extend(f.t.declarations);
        t.define(
            name.clone(),
            format!("define internal {result} {name}({parameters}) nounwind noinline {{\n{body}}}"),
        );
    }
    let args = list(&|i| format!("{} {}", shape(i), args[i]));
    let all = t.once(format!("call {result} {name}({args})"));
    t.inst(format_args!("extractvalue {result} {all}, {}", mma.part))
}

struct Body {
    t: Text,
    cpu: Cpu,
    mma: Mma,
    /// Lanes that are looked at.
    lanes: u32,
}

impl Body {
    fn op(&mut self, op: &str, shape: Shape, a: &str, value: i64) -> Reg {
        let value = Text::constant(shape, value as u64);
        self.t.binary(op, shape, a, &value)
    }

    fn both(&mut self, op: &str, a: &str, b: &str) -> Reg {
        self.t.binary(op, self.words(), a, b)
    }

    fn test(&mut self, predicate: &str, shape: Shape, a: &str, value: i64) -> Reg {
        let value = Text::constant(shape, value as u64);
        self.t.compare(predicate, shape, a, &value)
    }

    fn choose(&mut self, shape: Shape, condition: &str, a: &str, b: &str) -> Reg {
        self.t.select(shape.with(Elem::I1), condition, shape, a, b)
    }

    fn most(&mut self, shape: Shape, a: &str, b: &str) -> Reg {
        self.t.intrinsic(&format!("smax.{}", shape.suffix()), shape, &[(shape, a), (shape, b)])
    }

    /// The number of an argument, by what it is an argument for.
    fn addend(&self, part: usize) -> String {
        let [a, b, _] = self.mma.registers();
        format!("%a{}", a + b + part)
    }

    /// What lanes from `first` on read of what the warp holds.
    fn read(&mut self, held_as: Shape, held: &str, first: u32, from: impl Fn(usize) -> usize) -> Reg {
        let lanes = (first..first + self.lanes).map(|lane| from(lane as usize) as u32);
        self.t.shuffle(held_as, held, "poison", lanes)
    }

    /// The sums, and the function's end. A register's worth of lanes is done after the other, so that what is needed for one stays in registers.
    fn sum_floats(&mut self) {
        let dot = self.mma.dot;
        let [of_a, of_b, parts] = self.mma.registers();
        let halves = usize::from(self.mma.halves);
        let factors: Vec<Factors> = (0..of_a + of_b).map(|i| self.factors(&format!("%a{i}"))).collect();
        let (a, b) = factors.split_at(of_a);
        let words = usize::from(dot.words);
        let per_word = a[0].numbers.len();
        self.lanes = if self.cpu.avx512 { 16 } else { 8 };
        // Columns are the same in every part of a warp, for it is in fours that lanes differ in theirs.
        let columns: Vec<[(Reg, Vec<Reg>); 2]> = (0..words)
            .map(|word| {
                [0, 1].map(|j| {
                    let from = |lane: usize| Mma::column_lane(lane, j, word);
                    let held = &b[word / 4];
                    let exponents = self.read(WORDS, &held.exponents, 0, from);
                    let numbers = held.numbers.iter().map(|held| self.read(FLOATS, held, 0, from)).collect();
                    (self.as_exponents(&exponents), numbers)
                })
            })
            .collect();
        let mut cold: Vec<Reg> = vec![];
        let mut sums = vec![vec![]; parts];
        for first in (0..WARP).step_by(self.lanes as usize) {
            let exponents = self.exponent_shape();
            let mut largest: Vec<Option<Reg>> = vec![None; parts];
            for word in 0..words {
                let rows: Vec<Reg> = (0..halves)
                    .map(|half| {
                        let held = &a[self.mma.row_register(half, word)].exponents;
                        let read = self.read(WORDS, held, first, |lane| Mma::row_lane(lane, word));
                        self.as_exponents(&read)
                    })
                    .collect();
                for (part, known) in largest.iter_mut().enumerate() {
                    let column = &columns[word][part % 2].0;
                    let sum = self.t.binary("add", exponents, &rows[part / 2], column);
                    *known = Some(match known.take() {
                        None => sum,
                        Some(most) => self.most(exponents, &most, &sum),
                    });
                }
            }
            let mut blocks = vec![];
            for (part, of_products) in largest.into_iter().enumerate() {
                blocks.push(self.block((part, first), &of_products.unwrap_or_default(), &mut cold));
            }
            for word in 0..words {
                for place in 0..per_word {
                    let rows: Vec<Reg> = (0..halves)
                        .map(|half| {
                            let held = &a[self.mma.row_register(half, word)].numbers[place];
                            self.read(FLOATS, held, first, |lane| Mma::row_lane(lane, word))
                        })
                        .collect();
                    for (part, block) in blocks.iter_mut().enumerate() {
                        let column = &columns[word][part % 2].1[place];
                        let product = self.t.binary("fmul", self.floats(), &rows[part / 2], column);
                        let term = self.term(block, &product);
                        block.sum = self.both("add", &block.sum, &term);
                    }
                }
            }
            for (block, sums) in blocks.iter_mut().zip(&mut sums) {
                let addend = block.addend.clone();
                let term = self.term(block, &addend);
                let sum = self.both("add", &block.sum, &term);
                if words * per_word == 16 {
                    // Products alone are less than 2^31, with the addend there may be more.
                    let [a, b] = [&block.sum, &term].map(|other| self.both("xor", &sum, other));
                    let both = self.both("and", &a, &b);
                    cold.push(self.test("icmp slt", self.words(), &both, 0));
                }
                block.sum = sum;
                sums.push(self.rounded(block));
            }
        }
        let flags = self.words().with(Elem::I1);
        let mut any = cold.remove(0);
        for flag in cold {
            any = self.t.binary("or", flags, &any, &flag);
        }
        let any = self.t.inst(format_args!("bitcast {flags} {any} to i{}", flags.n));
        let one = if dot.sum == Sum::F16 { self.words().with(Elem::I16) } else { self.words() };
        let sums: Vec<Reg> = sums.iter().map(|parts| self.t.concat(one, parts)).collect();
        self.end(Some((&any, flags.n)), &sums);
    }

    fn exponent_shape(&self) -> Shape {
        if self.mma.dot.a == Factor::Tf32 { self.words() } else { self.pairs() }
    }

    fn as_exponents(&mut self, words: &str) -> Reg {
        let shape = self.exponent_shape();
        self.t.convert("bitcast", self.words(), words, shape)
    }

    fn words(&self) -> Shape {
        Shape::new(Elem::I32, self.lanes)
    }

    fn floats(&self) -> Shape {
        Shape::new(Elem::F32, self.lanes)
    }

    /// Two halves in each word.
    fn pairs(&self) -> Shape {
        Shape::new(Elem::I16, 2 * self.lanes)
    }

    /// A register of factors.
    fn factors(&mut self, word: &str) -> Factors {
        let (bits, fraction) = match self.mma.dot.a {
            Factor::F16 => (self.pairs(), 10),
            Factor::Bf16 => (self.pairs(), 7),
            _ => (self.words(), 23),
        };
        let numbers = match self.mma.dot.a {
            Factor::F16 => {
                let halves = self.t.convert("bitcast", self.words(), word, self.pairs());
                [0, 1]
                    .map(|place| {
                        let half = self.t.shuffle(
                            self.pairs(),
                            &halves,
                            "poison",
                            (0..WARP).map(|lane| 2 * lane + place),
                        );
                        ops::half_to_float(&mut self.t, self.cpu, FLOATS, &half)
                    })
                    .to_vec()
            }
            Factor::Bf16 => {
                let two =
                    [self.op("shl", self.words(), word, 16), self.op("and", self.words(), word, 0xffff_0000)];
                two.map(|bits| self.t.convert("bitcast", self.words(), &bits, self.floats())).to_vec()
            }
            _ => {
                let kept = self.op("and", self.words(), word, 0xffff_e000);
                vec![self.t.convert("bitcast", self.words(), &kept, self.floats())]
            }
        };
        let all = self.t.convert("bitcast", self.words(), word, bits);
        let magnitude = if bits == self.pairs() { 0x7fff } else { 0x7fff_e000 };
        let magnitude = self.op("and", bits, &all, magnitude);
        let exponents = self.exponents(bits, &magnitude, fraction, 0);
        Factors { numbers, exponents: self.t.convert("bitcast", bits, &exponents, self.words()) }
    }

    /// The exponents of numbers without their signs, less `bias`.
    fn exponents(&mut self, shape: Shape, magnitude: &str, fraction: i64, bias: i64) -> Reg {
        let most = i64::from(u32::MAX >> 1 & if shape.elem == Elem::I16 { 0x7fff } else { u32::MAX >> 1 })
            >> fraction;
        let field = self.op("lshr", shape, magnitude, fraction);
        let one = Text::constant(shape, 1);
        let mut exponent = self.most(shape, &field, &one);
        if bias != 0 {
            exponent = self.op("sub", shape, &exponent, bias);
        }
        let (zero, special) =
            (self.test("icmp eq", shape, magnitude, 0), self.test("icmp eq", shape, &field, most));
        let exponent = self.choose(shape, &zero, &Text::constant(shape, ZERO as u64), &exponent);
        self.choose(shape, &special, &Text::constant(shape, SPECIAL as u64), &exponent)
    }

    /// How a block is aligned; what cannot be added up here goes to `cold`.
    fn block(&mut self, (part, first): (usize, u32), of_products: &str, cold: &mut Vec<Reg>) -> Block {
        let Dot { a, sum, .. } = self.mma.dot;
        let mut largest = of_products.to_owned();
        if self.exponent_shape() == self.pairs() {
            let pairs = self.t.convert("bitcast", self.pairs(), &largest, self.words());
            let low = self.op("shl", self.words(), &pairs, 16);
            let low = self.op("ashr", self.words(), &low, 16);
            let high = self.op("ashr", self.words(), &pairs, 16);
            largest = self.most(self.words(), &low, &high);
        }
        let (bias, highest) = if a == Factor::F16 { (15, 127) } else { (127, 125) };
        let largest = self.op("sub", self.words(), &largest, 2 * bias);
        let held_as = if sum == Sum::F16 { HALVES } else { WORDS };
        let held = self.addend(part);
        let held = self.read(held_as, &held, first, |lane| lane);
        let (addend, exponent, itself) = if sum == Sum::F16 {
            let magnitude = self.op("and", self.words().with(Elem::I16), &held, 0x7fff);
            let exponent = self.exponents(self.words().with(Elem::I16), &magnitude, 10, 15);
            let exponent = self.t.convert("sext", self.words().with(Elem::I16), &exponent, self.words());
            let floats = self.floats();
            let number = ops::half_to_float(&mut self.t, self.cpu, floats, &held);
            (number, exponent, None)
        } else {
            let magnitude = self.op("and", self.words(), &held, 0x7fff_ffff);
            let exponent = self.exponents(self.words(), &magnitude, 23, 127);
            let zero = self.test("icmp eq", self.words(), &magnitude, 0);
            let itself = self.choose(self.words(), &zero, &Text::constant(self.words(), 0), &held);
            (self.t.convert("bitcast", self.words(), &held, self.floats()), exponent, Some(itself))
        };
        let largest = self.most(self.words(), &largest, &exponent);
        cold.push(self.test("icmp sgt", self.words(), &largest, highest));
        let is_small = self.test("icmp slt", self.words(), &largest, LEAST);
        // Where only the addend counts it is the sum.
        let alone = if a == Factor::F16 {
            itself.map(|itself| (is_small, itself))
        } else {
            let counts = self.test("icmp sgt", self.words(), &largest, ZERO / 2);
            cold.push(self.t.binary("and", self.words().with(Elem::I1), &is_small, &counts));
            None
        };
        let largest = self.most(self.words(), &largest, &Text::constant(self.words(), LEAST as u64));
        let scale = self.power(&largest, -1, BELOW);
        let back = self.power(&largest, 1, -BELOW);
        Block { sum: Text::constant(self.words(), 0), scale, back, addend, alone }
    }

    /// 2 to the power `times` · `exponent` + `more`.
    fn power(&mut self, exponent: &str, times: i64, more: i64) -> Reg {
        let bias = Text::constant(self.words(), (more + 127) as u64);
        let field = self.both(if times < 0 { "sub" } else { "add" }, &bias, exponent);
        let bits = self.op("shl", self.words(), &field, 23);
        self.t.convert("bitcast", self.words(), &bits, self.floats())
    }

    /// A term in units of the block, cut.
    fn term(&mut self, block: &Block, number: &str) -> Reg {
        let scaled = self.t.binary("fmul", self.floats(), number, &block.scale);
        self.t.convert("fptosi", self.floats(), &scaled, self.words())
    }

    /// The sum of a block as a float.
    fn rounded(&mut self, block: &Block) -> Reg {
        let half = self.mma.dot.sum == Sum::F16;
        let flag = Shape::new(Elem::I1, 1);
        let suffix = self.words().suffix();
        let magnitude = self.t.intrinsic(
            &format!("abs.{suffix}"),
            self.words(),
            &[(self.words(), &block.sum), (flag, "false")],
        );
        let zeros = self.t.intrinsic(
            &format!("ctlz.{suffix}"),
            self.words(),
            &[(self.words(), &magnitude), (flag, "false")],
        );
        let eight = Text::constant(self.words(), 8);
        let by = self.t.intrinsic(
            &format!("usub.sat.{suffix}"),
            self.words(),
            &[(self.words(), &eight), (self.words(), &zeros)],
        );
        let kept = self.both("lshr", &magnitude, &by);
        let mut kept = self.both("shl", &kept, &by);
        if half {
            // To odd: it is rounded once more.
            let lost = self.t.compare("icmp ne", self.words(), &kept, &magnitude);
            let lost = self.t.convert("zext", self.words().with(Elem::I1), &lost, self.words());
            let lost = self.both("shl", &lost, &by);
            kept = self.both("or", &kept, &lost);
        }
        let number = self.t.convert("sitofp", self.words(), &kept, self.floats());
        let number = self.t.binary("fmul", self.floats(), &number, &block.back);
        let bits = self.t.convert("bitcast", self.floats(), &number, self.words());
        let sign = self.op("and", self.words(), &block.sum, 0x8000_0000);
        let bits = self.both("or", &bits, &sign);
        if half {
            let number = self.t.convert("bitcast", self.words(), &bits, self.floats());
            let floats = self.floats();
            return ops::float_to_half(&mut self.t, self.cpu, floats, &number);
        }
        match &block.alone {
            Some((is_small, itself)) => self.choose(self.words(), is_small, itself, &bits),
            None => bits,
        }
    }

    fn sum_integers(&mut self) {
        let dot = self.mma.dot;
        if !x86::adds_products(self.cpu.registers) {
            return self.end(None, &[]);
        }
        let [of_a, of_b, parts] = self.mma.registers();
        let signed = |factor: Factor| matches!(factor, Factor::S8 | Factor::S4);
        let (a_signed, b_signed) = (signed(dot.a), signed(dot.b));
        // One side is to be signed, the other unsigned: 128 is added to one, or taken away.
        let registers: Vec<Vec<Reg>> = (0..of_a + of_b)
            .map(|i| {
                let moved = i < of_a && a_signed && b_signed || i >= of_a && !a_signed && !b_signed;
                let bytes = self.bytes(&format!("%a{i}"), if i < of_a { dot.a } else { dot.b });
                let each = |word: Reg| if moved { self.op("xor", WORDS, &word, 0x8080_8080) } else { word };
                bytes.into_iter().map(each).collect()
            })
            .collect();
        let (a, b) = registers.split_at(of_a);
        let none = Text::constant(WORDS, 0);
        let bias = Text::constant(WORDS, 0x8080_8080);
        let mut sums = vec![none.clone(); parts];
        // What was added or taken away, for each row or column.
        let mut more = [none.clone(), none];
        for word in 0..usize::from(dot.words) {
            for place in 0..a[0].len() {
                let rows: Vec<Reg> = (0..usize::from(self.mma.halves))
                    .map(|half| {
                        let held = &a[self.mma.row_register(half, word)][place];
                        self.read(WORDS, held, 0, |lane| Mma::row_lane(lane, word))
                    })
                    .collect();
                let columns = [0, 1].map(|j| {
                    self.read(WORDS, &b[word / 4][place], 0, |lane| Mma::column_lane(lane, j, word))
                });
                for (part, sum) in sums.iter_mut().enumerate() {
                    let (row, column) = (&rows[part / 2], &columns[part % 2]);
                    // Unsigned first.
                    let (first, second) = if a_signed && !b_signed { (column, row) } else { (row, column) };
                    *sum = self.add(sum, first, second);
                }
                match (a_signed, b_signed) {
                    (true, true) => {
                        for (more, column) in more.iter_mut().zip(&columns) {
                            *more = self.add(more, &bias, column);
                        }
                    }
                    (false, false) => {
                        for (more, row) in more.iter_mut().zip(&rows) {
                            *more = self.add(more, row, &bias);
                        }
                    }
                    _ => {}
                }
            }
        }
        let all: Vec<Reg> = sums
            .iter()
            .enumerate()
            .map(|(part, sum)| {
                let exact = match (a_signed, b_signed) {
                    (true, true) => self.both("sub", sum, &more[part % 2]),
                    (false, false) => self.both("sub", sum, &more[part / 2]),
                    _ => sum.clone(),
                };
                let addend = self.addend(part);
                if dot.sum == Sum::Saturating {
                    let name = format!("sadd.sat.{}", WORDS.suffix());
                    return self.t.intrinsic(&name, WORDS, &[(WORDS, &exact), (WORDS, &addend)]);
                }
                self.both("add", &exact, &addend)
            })
            .collect();
        self.end(None, &all);
    }

    fn add(&mut self, sum: &str, unsigned: &str, signed: &str) -> Reg {
        x86::add_products(&mut self.t, self.cpu.registers, WORDS, [sum, unsigned, signed])
    }

    /// A register of factors as bytes.
    fn bytes(&mut self, word: &str, factor: Factor) -> Vec<Reg> {
        let bytes = Shape::new(Elem::I8, 4 * WARP);
        let down = match factor {
            Factor::S4 => "ashr",
            Factor::U4 => "lshr",
            _ => return vec![word.to_owned()],
        };
        let all = self.t.convert("bitcast", WORDS, word, bytes);
        let low = self.op("shl", bytes, &all, 4);
        [low, all]
            .map(|nibbles| {
                let down = self.op(down, bytes, &nibbles, 4);
                self.t.convert("bitcast", bytes, &down, WORDS)
            })
            .to_vec()
    }

    /// Ends the function: with these sums, or, in the lanes' whole warp where any of `cold` is set or there are none, with those of [`dot`].
    fn end(&mut self, cold: Option<(&str, u32)>, sums: &[Reg]) {
        if let Some((bits, n)) = cold {
            let any = self.t.inst(format_args!("icmp ne i{n} {bits}, 0"));
            self.t.line(format_args!("br i1 {any}, label %cold, label %warm"));
            self.t.label("warm");
        }
        if !sums.is_empty() {
            self.give(sums);
        }
        if cold.is_some() || sums.is_empty() {
            if cold.is_some() {
                self.t.label("cold");
            }
            self.lanes = WARP;
            let dot = self.mma.dot;
            let [of_a, _, parts] = self.mma.registers();
            let words = usize::from(dot.words);
            let halves = usize::from(self.mma.halves);
            let rows: Vec<Vec<Reg>> = (0..halves)
                .map(|half| {
                    let held = |word| format!("%a{}", self.mma.row_register(half, word));
                    let held: Vec<String> = (0..words).map(held).collect();
                    let read = |(word, held): (usize, &String)| {
                        self.read(WORDS, held, 0, |lane| Mma::row_lane(lane, word))
                    };
                    held.iter().enumerate().map(read).collect()
                })
                .collect();
            let columns = [0, 1].map(|j| {
                let read = |word: usize| {
                    let held = format!("%a{}", of_a + word / 4);
                    self.read(WORDS, &held, 0, |lane| Mma::column_lane(lane, j, word))
                };
                (0..words).map(read).collect::<Vec<Reg>>()
            });
            let all: Vec<Reg> = (0..parts)
                .map(|part| {
                    let addend = self.addend(part);
                    let args: Vec<&str> = rows[part / 2]
                        .iter()
                        .chain(&columns[part % 2])
                        .chain([&addend])
                        .map(String::as_str)
                        .collect();
                    dot::dot(&mut self.t, self.cpu, dot, &args, WARP)
                })
                .collect();
            self.give(&all);
        }
    }

    /// Returns the sums.
    fn give(&mut self, sums: &[Reg]) {
        let shape = if self.mma.dot.sum == Sum::F16 { HALVES } else { WORDS };
        let result = format!("{{ {} }}", vec![shape.to_string(); sums.len()].join(", "));
        let mut all = "poison".to_owned();
        for (i, sum) in sums.iter().enumerate() {
            all = self.t.inst(format_args!("insertvalue {result} {all}, {shape} {sum}, {i}"));
        }
        self.t.line(format_args!("ret {result} {all}"));
    }
}

/// What a register holds of factors: as f32, the first of each lane, then the second; and their biased exponents, as the factors lie.
struct Factors {
    numbers: Vec<Reg>,
    exponents: Reg,
}

/// The terms of an element.
struct Block {
    /// So far, in units of 2^(E - 25).
    sum: Reg,
    /// One in units, and a unit.
    scale: Reg,
    back: Reg,
    addend: Reg,
    /// Where that is all, and what it comes to.
    alone: Option<(Reg, Reg)>,
}
