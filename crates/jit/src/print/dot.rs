//! Sums of products as a matrix unit adds them ([`hostwarp_ir::dot`]): a function of the module for each kind, since it is long and a kernel asks for it
//! many times. The short way is [`short`]; what that is not exact for is done in integers.

mod short;

use hostwarp_ir::dot::{Factor, Sum};
use hostwarp_ir::{Dot, Elem};

use super::ops::Cpu;
use super::{Reg, Shape, Text};

/// Bits that are kept below the largest exponent of a block.
const BELOW: u32 = 25;
/// Smaller than the exponent of any product.
const NO_EXPONENT: i32 = -1024;

/// A call of the function, which is defined on the way.
pub(super) fn dot(t: &mut Text, cpu: Cpu, dot: Dot, args: &[&str], lanes: u32) -> Reg {
    if !dot.a.is_float() || lanes < 8 {
        return long(t, cpu, dot, args, lanes);
    }
    let name = format!("@dot.short.{:?}.{:?}.{}.{lanes}", dot.a, dot.sum, dot.words);
    if !t.is_defined(&name) {
        let parameters: Vec<Reg> = (0..args.len()).map(|i| format!("%a{i}")).collect();
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let mut f = Text::new(cpu.avx512);
        let (sums, cold) = short::sums(&mut f, cpu, dot, lanes);
        let is_cold = f.inst(format_args!("icmp ne i32 {cold}, 0"));
        f.branch(&is_cold, "cold", "warm");
        f.label("cold");
        let of_all = long(&mut f, cpu, dot, &parameters, lanes);
        let sum = sum_of(dot, lanes);
        f.line(format_args!("ret {sum} {of_all}"));
        f.label("warm");
        f.line(format_args!("ret {sum} {sums}"));
        t.declarations.extend(f.declarations);
        let parameters = list(dot, lanes, &parameters);
        t.define(
            name.clone(),
            format!("define internal {sum} {name}({parameters}) nounwind noinline {{\n{}}}", f.body),
        );
    }
    t.inst(format_args!("call {} {name}({})", sum_of(dot, lanes), list(dot, lanes, args)))
}

fn sum_of(dot: Dot, lanes: u32) -> Shape {
    Shape::new(if dot.sum == Sum::F16 { Elem::I16 } else { Elem::I32 }, lanes)
}

/// Arguments or parameters with their types.
fn list(dot: Dot, lanes: u32, args: &[&str]) -> String {
    let shape =
        |i: usize| if i + 1 == args.len() { sum_of(dot, lanes) } else { Shape::new(Elem::I32, lanes) };
    args.iter().enumerate().map(|(i, arg)| format!("{} {arg}", shape(i))).collect::<Vec<_>>().join(", ")
}

/// The same, in integers.
pub(super) fn long(t: &mut Text, cpu: Cpu, dot: Dot, args: &[&str], lanes: u32) -> Reg {
    let name = format!("@dot.{:?}.{:?}.{:?}.{}.{lanes}", dot.a, dot.b, dot.sum, dot.words);
    let sum = sum_of(dot, lanes);
    let mut f = Body { t: Text::new(cpu.avx512), words: Shape::new(Elem::I32, lanes) };
    let result = if dot.a.is_float() { f.floats(dot) } else { f.integers(dot) };
    let parameters: Vec<Reg> = (0..args.len()).map(|i| format!("%a{i}")).collect();
    let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let parameters = list(dot, lanes, &parameters);
    let body = f.t.body;
    t.declarations.extend(f.t.declarations);
    t.declarations.insert(format!(
        "define internal {sum} {name}({parameters}) nounwind noinline {{\n{body}  ret {sum} {result}\n}}"
    ));
    t.inst(format_args!("call {sum} {name}({})", list(dot, lanes, args)))
}

/// How a float is laid out.
#[derive(Clone, Copy)]
struct Format {
    fraction: u32,
    exponent: u32,
    /// Bits below the fraction that do not count.
    below: u32,
}

const F16: Format = Format { fraction: 10, exponent: 5, below: 0 };
const BF16: Format = Format { fraction: 7, exponent: 8, below: 0 };
const TF32: Format = Format { fraction: 10, exponent: 8, below: 13 };
const F32: Format = Format { fraction: 23, exponent: 8, below: 0 };

impl Format {
    fn most(self) -> i64 {
        (1 << self.exponent) - 1
    }
}

/// A number taken apart.
struct Parts {
    /// All ones where it is negative.
    negative: Reg,
    significand: Reg,
    exponent: Reg,
    /// ∞ or NaN.
    special: Reg,
    /// The fraction is not 0.
    some: Reg,
}

struct Body {
    t: Text,
    words: Shape,
}

impl Body {
    fn constant(&self, value: i64) -> Reg {
        Text::constant(self.words, value as u64)
    }

    fn op(&mut self, op: &str, a: &str, value: i64) -> Reg {
        let b = self.constant(value);
        self.t.binary(op, self.words, a, &b)
    }

    fn both(&mut self, op: &str, a: &str, b: &str) -> Reg {
        self.t.binary(op, self.words, a, b)
    }

    fn test(&mut self, predicate: &str, a: &str, value: i64) -> Reg {
        let b = self.constant(value);
        self.t.compare(predicate, self.words, a, &b)
    }

    fn logic(&mut self, op: &str, a: &str, b: &str) -> Reg {
        self.t.binary(op, self.words.with(Elem::I1), a, b)
    }

    fn choose(&mut self, condition: &str, a: &str, b: &str) -> Reg {
        self.t.select(self.words.with(Elem::I1), condition, self.words, a, b)
    }

    fn choose_constant(&mut self, condition: &str, a: i64, b: &str) -> Reg {
        let a = self.constant(a);
        self.choose(condition, &a, b)
    }

    fn intrinsic(&mut self, name: &str, args: &[&str]) -> Reg {
        let args: Vec<(Shape, &str)> = args.iter().map(|a| (self.words, *a)).collect();
        self.t.intrinsic(&format!("{name}.{}", self.words.suffix()), self.words, &args)
    }

    /// The bits are the lowest of `bits`.
    fn parts(&mut self, format: Format, bits: &str) -> Parts {
        let Format { fraction, exponent, below } = format;
        let top = below + fraction + exponent;
        let negative = self.op("shl", bits, i64::from(31 - top));
        let negative = self.op("ashr", &negative, 31);
        let field = self.op("lshr", bits, i64::from(below + fraction));
        let field = self.op("and", &field, format.most());
        let rest = self.op("lshr", bits, i64::from(below));
        let rest = self.op("and", &rest, (1 << fraction) - 1);
        let special = self.test("icmp eq", &field, format.most());
        let some = self.test("icmp ne", &rest, 0);
        let normal = self.test("icmp ne", &field, 0);
        let leading = self.op("or", &rest, 1 << fraction);
        let significand = self.choose(&normal, &leading, &rest);
        let one = self.constant(1);
        let field = self.intrinsic("umax", &[&field, &one]);
        let exponent = self.op("sub", &field, (1 << (exponent - 1)) - 1);
        Parts { negative, significand, exponent, special, some }
    }

    fn floats(&mut self, dot: Dot) -> Reg {
        let (format, per_word) = match dot.a {
            Factor::Bf16 => (BF16, 2),
            Factor::Tf32 => (TF32, 1),
            _ => (F16, 2),
        };
        let half = dot.sum == Sum::F16;
        let flag = self.words.with(Elem::I1);
        let none = Text::constant(flag, 0);
        let [mut nan, mut plus_infinity, mut minus_infinity] = [(); 3].map(|()| none.clone());
        let mut largest = self.constant(i64::from(NO_EXPONENT));
        let mut terms: Vec<(Reg, Reg, Reg)> = vec![];
        let words = usize::from(dot.words);
        for word in 0..words {
            for place in 0..per_word {
                let [a, b] = [word, words + word].map(|i| {
                    let word = format!("%a{i}");
                    let bits = if place == 0 { word } else { self.op("lshr", &word, 16) };
                    self.parts(format, &bits)
                });
                let product = self.both("mul", &a.significand, &b.significand);
                let exponent = self.both("add", &a.exponent, &b.exponent);
                let zero = self.test("icmp eq", &product, 0);
                let exponent = self.choose_constant(&zero, i64::from(NO_EXPONENT), &exponent);
                let negative = self.both("xor", &a.negative, &b.negative);
                let term = self.op("shl", &product, i64::from(BELOW - 2 * format.fraction));
                // ∞ · 0 has a product of 0.
                let special = self.logic("or", &a.special, &b.special);
                let of_a = self.logic("and", &a.special, &a.some);
                let of_b = self.logic("and", &b.special, &b.some);
                let invalid = self.logic("and", &special, &zero);
                for flag in [of_a, of_b, invalid] {
                    nan = self.logic("or", &nan, &flag);
                }
                self.infinity(&special, &negative, &mut plus_infinity, &mut minus_infinity);
                largest = self.intrinsic("smax", &[&largest, &exponent]);
                terms.push((term, exponent, negative));
            }
        }
        let addend = format!("%a{}", 2 * words);
        let (of_addend, addend) = match half {
            false => (F32, addend),
            true => (F16, self.t.convert("zext", self.words.with(Elem::I16), &addend, self.words)),
        };
        let c = self.parts(of_addend, &addend);
        let zero = self.test("icmp eq", &c.significand, 0);
        let exponent = self.choose_constant(&zero, i64::from(NO_EXPONENT), &c.exponent);
        largest = self.intrinsic("smax", &[&largest, &exponent]);
        let term = self.op("shl", &c.significand, i64::from(BELOW - of_addend.fraction));
        let of_c = self.logic("and", &c.special, &c.some);
        nan = self.logic("or", &nan, &of_c);
        self.infinity(&c.special, &c.negative, &mut plus_infinity, &mut minus_infinity);
        terms.push((term, exponent, c.negative));

        // At most 16 products below 4 and an addend below 2: the sum of either sign fits in 32 bits, not both with a sign.
        let [mut plus, mut minus] = [(); 2].map(|()| self.constant(0));
        for (term, exponent, negative) in terms {
            let by = self.both("sub", &largest, &exponent);
            let most = self.constant(31);
            // A term has at most 27 bits.
            let by = self.intrinsic("umin", &[&by, &most]);
            let term = self.both("lshr", &term, &by);
            let below_zero = self.both("and", &term, &negative);
            minus = self.both("add", &minus, &below_zero);
            let above_zero = self.both("xor", &term, &below_zero);
            plus = self.both("add", &plus, &above_zero);
        }
        let below_zero = self.t.compare("icmp ult", self.words, &plus, &minus);
        let [up, down] = [[&plus, &minus], [&minus, &plus]].map(|[a, b]| self.both("sub", a, b));
        let magnitude = self.choose(&below_zero, &down, &up);
        let unit = self.op("sub", &largest, i64::from(BELOW));
        let (bits, sign, infinity, not_a_number) = match half {
            false => (self.cut(&magnitude, &unit), 1 << 31, 0x7f80_0000, 0x7fff_ffff),
            true => (self.nearest_half(&magnitude, &unit), 1 << 15, 0x7c00, 0x7fff),
        };
        let mut signed = self.op("or", &bits, sign);
        if !half {
            // What is cut to nothing is +0.
            let nothing = self.test("icmp eq", &bits, 0);
            signed = self.choose_constant(&nothing, 0, &signed);
        }
        let bits = self.choose(&below_zero, &signed, &bits);
        let zero = self.test("icmp eq", &magnitude, 0);
        let bits = self.choose_constant(&zero, 0, &bits);
        let bits = self.choose_constant(&plus_infinity, infinity, &bits);
        let bits = self.choose_constant(&minus_infinity, infinity | sign, &bits);
        let both = self.logic("and", &plus_infinity, &minus_infinity);
        let nan = self.logic("or", &nan, &both);
        let bits = self.choose_constant(&nan, not_a_number, &bits);
        if half { self.t.convert("trunc", self.words, &bits, self.words.with(Elem::I16)) } else { bits }
    }

    /// Counts an infinity of this sign.
    fn infinity(&mut self, special: &str, negative: &str, plus: &mut Reg, minus: &mut Reg) {
        let below_zero = self.test("icmp ne", negative, 0);
        let of_minus = self.logic("and", special, &below_zero);
        let of_plus = self.logic("xor", special, &of_minus);
        *minus = self.logic("or", minus, &of_minus);
        *plus = self.logic("or", plus, &of_plus);
    }

    /// Where the leading one of a number other than 0 is.
    fn top(&mut self, magnitude: &str) -> Reg {
        let flag = Shape::new(Elem::I1, 1);
        let name = format!("ctlz.{}", self.words.suffix());
        let zeros = self.t.intrinsic(&name, self.words, &[(self.words, magnitude), (flag, "false")]);
        let most = self.constant(31);
        self.both("sub", &most, &zeros)
    }

    /// A shift to the right by an amount that counts as 31 where it is more; of 0 or less than 0 as 0.
    fn shifted(&mut self, value: &str, by: &str) -> Reg {
        let (none, most) = (self.constant(0), self.constant(31));
        let by = self.intrinsic("smax", &[by, &none]);
        let by = self.intrinsic("smin", &[&by, &most]);
        self.both("lshr", value, &by)
    }

    /// `magnitude` · 2^`unit` as f32, cut toward zero. Anything for 0.
    fn cut(&mut self, magnitude: &str, unit: &str) -> Reg {
        let top = self.top(magnitude);
        let exponent = self.both("add", unit, &top);
        let most = self.constant(31);
        let zeros = self.both("sub", &most, &top);
        // Of 0 there are 32, which would be too far.
        let zeros = self.intrinsic("umin", &[&zeros, &most]);
        let significand = self.both("shl", magnitude, &zeros);
        let normal = self.op("add", &exponent, 126);
        let normal = self.op("shl", &normal, 23);
        let kept = self.op("lshr", &significand, 8);
        let normal = self.both("add", &normal, &kept);
        let least = self.constant(-126 + 8);
        let by = self.both("sub", &least, &exponent);
        let subnormal = self.shifted(&significand, &by);
        // Bit 31 is the leading one: shifted by 31 it is still there.
        let lost = self.test("icmp slt", &exponent, -149);
        let subnormal = self.choose_constant(&lost, 0, &subnormal);
        let is_normal = self.test("icmp sge", &exponent, -126);
        let bits = self.choose(&is_normal, &normal, &subnormal);
        let large = self.test("icmp sgt", &exponent, 127);
        self.choose_constant(&large, 0x7f80_0000, &bits)
    }

    /// `magnitude` · 2^`unit` as f16, rounded to nearest even. Anything for 0.
    fn nearest_half(&mut self, magnitude: &str, unit: &str) -> Reg {
        let top = self.top(magnitude);
        let exponent = self.both("add", unit, &top);
        let least = self.constant(-14);
        let last = self.intrinsic("smax", &[&exponent, &least]);
        let last = self.op("sub", &last, 10);
        let by = self.both("sub", &last, unit);
        // One bit is kept below the last place, and whether anything is left below that.
        let (one, none, most) = (self.constant(1), self.constant(0), self.constant(31));
        let further = self.both("sub", &by, &one);
        let far = self.intrinsic("smax", &[&further, &none]);
        let lost = self.test("icmp sgt", &far, 31);
        let far = self.intrinsic("smin", &[&far, &most]);
        let with_half = self.both("lshr", magnitude, &far);
        let back = self.both("shl", &with_half, &far);
        let sticky = self.t.compare("icmp ne", self.words, &back, magnitude);
        let half = self.op("and", &with_half, 1);
        let kept = self.op("lshr", &with_half, 1);
        let odd = self.op("and", &kept, 1);
        let sticky = self.t.convert("zext", self.words.with(Elem::I1), &sticky, self.words);
        let up = self.both("or", &odd, &sticky);
        let up = self.both("and", &up, &half);
        let rounded = self.both("add", &kept, &up);
        let rounded = self.choose_constant(&lost, 0, &rounded);
        // Or all bits are above the last place.
        let left = self.both("sub", &none, &by);
        let left = self.intrinsic("smax", &[&left, &none]);
        let left = self.intrinsic("smin", &[&left, &most]);
        let exact = self.both("shl", magnitude, &left);
        let is_exact = self.test("icmp sle", &by, 0);
        let kept = self.choose(&is_exact, &exact, &rounded);
        let bits = self.op("add", &last, 24);
        let bits = self.op("shl", &bits, 10);
        let bits = self.both("add", &bits, &kept);
        let large = self.test("icmp sgt", &exponent, 15);
        let over = self.test("icmp sge", &bits, 0x7c00);
        let infinite = self.logic("or", &large, &over);
        self.choose_constant(&infinite, 0x7c00, &bits)
    }

    fn integers(&mut self, dot: Dot) -> Reg {
        let (words, bits) = (usize::from(dot.words), i64::from(dot.a.bits()));
        let mut sum = self.constant(0);
        for word in 0..words {
            for place in 0..32 / bits {
                let [a, b] = [(word, dot.a), (words + word, dot.b)].map(|(i, factor)| {
                    let top = self.op("shl", &format!("%a{i}"), 32 - bits * (place + 1));
                    let signed = matches!(factor, Factor::S8 | Factor::S4);
                    self.op(if signed { "ashr" } else { "lshr" }, &top, 32 - bits)
                });
                let product = self.both("mul", &a, &b);
                sum = self.both("add", &sum, &product);
            }
        }
        let addend = format!("%a{}", 2 * words);
        match dot.sum {
            Sum::Saturating => self.intrinsic("sadd.sat", &[&sum, &addend]),
            _ => self.both("add", &sum, &addend),
        }
    }
}
