//! Quotients, and sums of products and differences: div rem sad mul24 mad24 dp4a dp2a.

use crate::integer::IntType;
use crate::text::Text;

#[derive(Debug, Clone, Copy)]
enum Op {
    Div,
    Rem,
    Sad,
    /// mul24 and mad24: bits 47 to 16 or 31 to 0 of the product.
    By24 {
        high: bool,
        sat: bool,
    },
    /// dp4a and dp2a: elements of `a` and `b`, and the first of `b`.
    Dot {
        a: IntType,
        b: IntType,
        count: u32,
        first: u32,
    },
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    op: Op,
    /// `c` is there.
    adds: bool,
    ty: IntType,
}

/// What the manual leaves to the machine: dividing an integer by 0 gives all ones, and so does its remainder.
const OF_ZERO: i128 = -1;

impl Product {
    pub fn parse(text: &mut Text) -> Result<Product, String> {
        const PLAIN: &[&str] = &["u16", "u32", "u64", "s16", "s32", "s64"];
        let opcode = text.opcode;
        let adds = !matches!(opcode, "div" | "rem" | "mul24");
        text.plain_operands(if adds { 3 } else { 2 })?;
        let (op, ty) = match opcode {
            "div" => (Op::Div, IntType::take(text, PLAIN)?),
            "rem" => (Op::Rem, IntType::take(text, PLAIN)?),
            "sad" => (Op::Sad, IntType::take(text, PLAIN)?),
            "mul24" | "mad24" => {
                let high = text.mods.required("the half", &[("hi", true), ("lo", false)])?;
                let ty = IntType::take(text, &["u32", "s32"])?;
                (Op::By24 { high, sat: high && adds && ty.signed && text.mods.take_all("sat") }, ty)
            }
            _ => {
                let two = opcode == "dp2a";
                let first = match two {
                    true => text.mods.required("the half", &[("lo", 0), ("hi", 2)])?,
                    false => 0,
                };
                let [a, b] = [IntType::take(text, &["u32", "s32"])?, IntType::take(text, &["u32", "s32"])?];
                let a = IntType { bits: if two { 16 } else { 8 }, ..a };
                let b = IntType { bits: 8, ..b };
                let ty = IntType { bits: 32, signed: a.signed || b.signed, lanes: 1 };
                (Op::Dot { a, b, count: if two { 2 } else { 4 }, first }, ty)
            }
        };
        Ok(Product { op, adds, ty })
    }

    /// The widths of the source operands.
    pub fn widths(&self) -> [u32; 3] {
        [self.ty.bits; 3]
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let ty = self.ty;
        let added = if self.adds { ty.value(c) } else { 0 };
        let [x, y] = [ty.value(a), ty.value(b)];
        let result = match self.op {
            Op::Div | Op::Rem if y == 0 => OF_ZERO,
            Op::Div => x / y,
            Op::Rem => x % y,
            Op::Sad => added + (x - y).abs(),
            Op::By24 { high, sat } => {
                let factor = IntType { bits: 24, ..ty };
                let product = factor.value(a) * factor.value(b);
                let half = ty.value((if high { product >> 16 } else { product }) as u64);
                let sum = half + added;
                if sat { ty.clamp(sum) } else { sum }
            }
            Op::Dot { a: left, b: right, count, first } => {
                let term = |i: u32| left.value(a >> (i * left.bits)) * right.value(b >> ((first + i) * 8));
                added + (0..count).map(term).sum::<i128>()
            }
        };
        ty.cut(result)
    }
}
