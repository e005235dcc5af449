//! Integer add sub mul mad min max abs neg, the logic operations and the shifts.

use crate::text::{Text, low_mask};
use crate::video::clamp;

/// An integer instruction type: elements of one width, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntType {
    pub bits: u32,
    pub signed: bool,
    pub lanes: u32,
}

const fn int(bits: u32, signed: bool, lanes: u32) -> IntType {
    IntType { bits, signed, lanes }
}

/// Every integer type name that some instruction here has; the bit-size types are unsigned.
const TYPES: &[(&str, IntType)] = &[
    ("u8", int(8, false, 1)),
    ("u16", int(16, false, 1)),
    ("u32", int(32, false, 1)),
    ("u64", int(64, false, 1)),
    ("s8", int(8, true, 1)),
    ("s16", int(16, true, 1)),
    ("s32", int(32, true, 1)),
    ("s64", int(64, true, 1)),
    ("b16", int(16, false, 1)),
    ("b32", int(32, false, 1)),
    ("b64", int(64, false, 1)),
    ("pred", int(1, false, 1)),
    ("u16x2", int(16, false, 2)),
    ("s16x2", int(16, true, 2)),
    ("u8x4", int(8, false, 4)),
    ("s8x4", int(8, true, 4)),
];

impl IntType {
    /// Takes a type modifier that has to be one of `names`.
    pub fn take(text: &mut Text, names: &[&str]) -> Result<IntType, String> {
        let table: Vec<_> = TYPES.iter().filter(|(name, _)| names.contains(name)).copied().collect();
        text.mods.required("the type", &table)
    }

    /// The bits of one element as a number.
    pub fn value(self, bits: u64) -> i128 {
        let field = i128::from(bits & low_mask(self.bits));
        if self.signed && field >> (self.bits - 1) == 1 { field - (1 << self.bits) } else { field }
    }

    /// A number cut to the width of one element.
    pub fn cut(self, value: i128) -> u64 {
        value as u64 & low_mask(self.bits)
    }

    pub fn clamp(self, value: i128) -> i128 {
        clamp(value, self.bits, self.signed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Min,
    Max,
    Abs,
    Neg,
    And,
    Or,
    Xor,
    Not,
    Shl,
    Shr,
    Mul(Half),
    Mad(Half),
}

/// Which part of a product is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Lo,
    Hi,
    Wide,
}

#[derive(Debug, Clone)]
pub(crate) struct Integer {
    op: Op,
    ty: IntType,
    sat: bool,
    relu: bool,
    /// Predicates that are complemented, `!a` and `!b`; ptxas takes that.
    complement: [bool; 2],
}

impl Integer {
    pub fn parse(text: &mut Text) -> Result<Integer, String> {
        const PLAIN: &[&str] = &["u16", "u32", "u64", "s16", "s32", "s64"];
        const PACKED: &[&str] = &["u16", "u32", "u64", "s16", "s32", "s64", "u16x2", "s16x2", "u8x4", "s8x4"];
        let half = [("lo", Half::Lo), ("hi", Half::Hi), ("wide", Half::Wide)];
        let (op, names, count): (_, &[_], _) = match text.opcode {
            "add" => (Op::Add, PACKED, 2),
            "sub" => (Op::Sub, &["u16", "u32", "u64", "s16", "s32", "s64", "u8x4", "s8x4"], 2),
            "min" => (Op::Min, PACKED, 2),
            "max" => (Op::Max, PACKED, 2),
            "abs" => (Op::Abs, &["s16", "s32", "s64"], 1),
            "neg" => (Op::Neg, &["s16", "s32", "s64", "s8x4"], 1),
            "and" => (Op::And, &["pred", "b16", "b32", "b64"], 2),
            "or" => (Op::Or, &["pred", "b16", "b32", "b64"], 2),
            "xor" => (Op::Xor, &["pred", "b16", "b32", "b64"], 2),
            "not" => (Op::Not, &["pred", "b16", "b32", "b64"], 1),
            "shl" => (Op::Shl, &["b16", "b32", "b64"], 2),
            "shr" => (Op::Shr, &["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"], 2),
            "mul" => (Op::Mul(text.mods.required("the mode", &half)?), PLAIN, 2),
            _ => (Op::Mad(text.mods.required("the mode", &half)?), PLAIN, 3),
        };
        let ty = IntType::take(text, names)?;
        let mut complement = [false; 2];
        if ty.bits == 1 {
            for (complement, source) in complement.iter_mut().zip(&mut text.sources) {
                *complement = std::mem::take(&mut source.not);
            }
        }
        text.plain_operands(count)?;
        if matches!(op, Op::Mul(Half::Wide) | Op::Mad(Half::Wide)) && ty.bits == 64 {
            return Err(".wide is for 16 and 32 bits".into());
        }
        let s32 = int(32, true, 1);
        let may_saturate = match op {
            Op::Add => ty == s32 || ty == int(32, false, 1) || ty.lanes > 1,
            Op::Sub => ty == s32 || ty.lanes > 1,
            Op::Mad(Half::Hi) => ty == s32,
            _ => false,
        };
        let sat = may_saturate && text.mods.take_all("sat");
        let may_relu = matches!(op, Op::Min | Op::Max) && ty.signed && (ty.bits == 32 || ty.lanes > 1);
        let relu = may_relu && text.mods.take_all("relu");
        Ok(Integer { op, ty, sat, relu, complement })
    }

    /// The widths of the source operands.
    pub fn widths(&self) -> [u32; 3] {
        let whole = self.ty.bits * self.ty.lanes;
        match self.op {
            Op::Shl | Op::Shr => [whole, 32, 0],
            Op::Mad(Half::Wide) => [whole, whole, 2 * whole],
            _ => [whole; 3],
        }
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let ty = self.ty;
        match self.op {
            // A shift amount is 32 bits whatever the type, and more than the width is the width.
            Op::Shl => {
                let amount = (b as u32).min(ty.bits);
                return ty.cut(ty.value(a) << amount);
            }
            Op::Shr => {
                let amount = (b as u32).min(ty.bits);
                return ty.cut(ty.value(a) >> amount);
            }
            Op::Mul(half) => return product(half, ty, a, b, None, false),
            Op::Mad(half) => return product(half, ty, a, b, Some(c), self.sat),
            _ => {}
        }
        let mut all = 0;
        for lane in 0..ty.lanes {
            let at = lane * ty.bits;
            all |= self.element(ty.value(a >> at), ty.value(b >> at)) << at;
        }
        all
    }

    fn element(&self, a: i128, b: i128) -> u64 {
        let [a, b] = [a ^ i128::from(self.complement[0]), b ^ i128::from(self.complement[1])];
        let mut result = match self.op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Min => a.min(b),
            Op::Max => a.max(b),
            Op::Abs => a.abs(),
            Op::Neg => -a,
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Not => !a,
            Op::Shl | Op::Shr | Op::Mul(_) | Op::Mad(_) => unreachable!("not done by element"),
        };
        if self.sat {
            result = self.ty.clamp(result);
        }
        if self.relu {
            result = result.max(0);
        }
        self.ty.cut(result)
    }
}

fn product(half: Half, ty: IntType, a: u64, b: u64, c: Option<u64>, sat: bool) -> u64 {
    // The bits of the product are right even where an unsigned one of 64-bit numbers wraps in i128.
    let t = ty.value(a).wrapping_mul(ty.value(b)) as u128;
    let c = c.unwrap_or(0);
    match half {
        Half::Lo => ty.cut((t as u64).wrapping_add(c).into()),
        Half::Hi if sat => ty.cut(ty.clamp(ty.value((t >> ty.bits) as u64) + ty.value(c))),
        Half::Hi => ty.cut(((t >> ty.bits) as u64).wrapping_add(c).into()),
        Half::Wide => (t as u64).wrapping_add(c) & low_mask(2 * ty.bits),
    }
}
