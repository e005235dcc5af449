//! Products of matrices in the registers of a warp ([`hostwarp_ir::Mma`]): a function of the module for each kind, which makes all elements a lane has at
//! once. Who asks for several elements of one product finds the call that is there.
//!
//! Floats: [`floats`]. Integers of 8 bits are added by VNNI where the CPU has it, of 4 bits as bytes; otherwise, they are sums of products in every lane
//! ([`dot`](super::dot)).

pub(super) mod floats;

use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Elem, Mma};

use super::ops::Cpu;
use super::{Reg, Shape, Text, dot, x86};

/// Lanes of a warp.
const WARP: u32 = 32;
const WORDS: Shape = Shape { elem: Elem::I32, n: WARP };
const HALVES: Shape = Shape { elem: Elem::I16, n: WARP };

/// The part that is asked for.
pub(super) fn mma(t: &mut Text, cpu: Cpu, mma: Mma, args: &[&str]) -> Reg {
    let (result, all) =
        if mma.dot.a.is_float() { floats::call(t, cpu, mma, args) } else { integers(t, cpu, mma, args) };
    t.inst(format_args!("extractvalue {result} {all}, {}", mma.part))
}

/// A product of integers, all parts of each lane: the call and its type.
fn integers(t: &mut Text, cpu: Cpu, mma: Mma, args: &[&str]) -> (String, Reg) {
    let dot = mma.dot;
    let name = format!("@mma.{:?}.{:?}.{:?}.{}.{}", dot.a, dot.b, dot.sum, dot.words, mma.halves);
    let [_, _, parts] = mma.registers();
    let result = format!("{{ {} }}", vec![WORDS.to_string(); parts].join(", "));
    let list = |what: &dyn Fn(usize) -> String| (0..args.len()).map(what).collect::<Vec<_>>().join(", ");
    if !t.is_defined(&name) {
        let mut f = Body { t: Text::new(cpu.avx512), cpu, mma };
        f.sum_integers();
        let body = f.t.body;
        let parameters = list(&|i| format!("{WORDS} %a{i}"));
        t.declarations.extend(f.t.declarations);
        t.define(
            name.clone(),
            format!("define internal {result} {name}({parameters}) nounwind noinline {{\n{body}}}"),
        );
    }
    let args = list(&|i| format!("{WORDS} {}", args[i]));
    let all = t.once(format!("call {result} {name}({args})"));
    (result, all)
}

/// Ends a function with the sums, in vectors of this shape.
fn end(t: &mut Text, shape: Shape, sums: &[Reg]) {
    let result = format!("{{ {} }}", vec![shape.to_string(); sums.len()].join(", "));
    let mut all = "poison".to_owned();
    for (i, sum) in sums.iter().enumerate() {
        all = t.inst(format_args!("insertvalue {result} {all}, {shape} {sum}, {i}"));
    }
    t.line(format_args!("ret {result} {all}"));
}

struct Body {
    t: Text,
    cpu: Cpu,
    mma: Mma,
}

impl Body {
    fn op(&mut self, op: &str, shape: Shape, a: &str, value: i64) -> Reg {
        let value = Text::constant(shape, value as u64);
        self.t.binary(op, shape, a, &value)
    }

    fn both(&mut self, op: &str, a: &str, b: &str) -> Reg {
        self.t.binary(op, WORDS, a, b)
    }

    /// The number of an argument, by what it is an argument for.
    fn addend(&self, part: usize) -> String {
        let [a, b, _] = self.mma.registers();
        format!("%a{}", a + b + part)
    }

    /// What lanes read of what the warp holds.
    fn read(&mut self, held: &str, from: impl Fn(usize) -> usize) -> Reg {
        self.t.shuffle(WORDS, held, "poison", (0..WARP).map(|lane| from(lane as usize) as u32))
    }

    fn sum_integers(&mut self) {
        let dot = self.mma.dot;
        if !x86::adds_products(self.cpu.registers) {
            return self.in_every_lane();
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
                        self.read(held, |lane| Mma::row_lane(lane, word))
                    })
                    .collect();
                let columns =
                    [0, 1].map(|j| self.read(&b[word / 4][place], |lane| Mma::column_lane(lane, j, word)));
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
        end(&mut self.t, WORDS, &all);
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

    /// The sums of [`dot`].
    fn in_every_lane(&mut self) {
        let dot = self.mma.dot;
        let [of_a, _, parts] = self.mma.registers();
        let words = usize::from(dot.words);
        let sums: Vec<Reg> = (0..parts)
            .map(|part| {
                let mut args: Vec<Reg> = vec![];
                for word in 0..words {
                    let held = format!("%a{}", self.mma.row_register(part / 2, word));
                    args.push(self.read(&held, |lane| Mma::row_lane(lane, word)));
                }
                for word in 0..words {
                    let held = format!("%a{}", of_a + word / 4);
                    args.push(self.read(&held, |lane| Mma::column_lane(lane, part % 2, word)));
                }
                args.push(self.addend(part));
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                dot::dot(&mut self.t, self.cpu, dot, &args, WARP)
            })
            .collect();
        end(&mut self.t, WORDS, &sums);
    }
}
