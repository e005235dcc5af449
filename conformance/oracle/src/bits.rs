//! Bits counted, found, reversed, masked, extended, picked: popc clz bfind brev bmsk szext cnot shf prmt fns.

use crate::integer::IntType;
use crate::text::{Text, low_mask};

/// What happens to a position or an amount above 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excess {
    Clamp,
    Wrap,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Popc,
    Clz,
    Bfind { shiftamt: bool },
    Brev,
    Bmsk(Excess),
    Szext(Excess),
    Cnot,
    Shf { left: bool, excess: Excess },
    Prmt(Option<Mode>),
    Fns,
}

/// For each value of the low two bits of `c`, which of the eight bytes come to the four places, the lowest first.
type Mode = [[u8; 4]; 4];

/// The manual's table, read from right to left.
const MODES: &[(&str, Mode)] = &[
    ("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    ("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    ("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    ("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    ("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
];

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Bits {
    op: Op,
    ty: IntType,
}

impl Bits {
    pub fn parse(text: &mut Text) -> Result<Bits, String> {
        const WORDS: &[&str] = &["b32", "b64"];
        let excess = [("clamp", Excess::Clamp), ("wrap", Excess::Wrap)];
        let (op, count, types): (_, _, &[&str]) = match text.opcode {
            "popc" => (Op::Popc, 1, WORDS),
            "clz" => (Op::Clz, 1, WORDS),
            "brev" => (Op::Brev, 1, WORDS),
            "bfind" => (Op::Bfind { shiftamt: text.mods.take("shiftamt") }, 1, &["u32", "u64", "s32", "s64"]),
            "bmsk" => (Op::Bmsk(text.mods.required("the mode", &excess)?), 2, &["b32"]),
            "szext" => (Op::Szext(text.mods.required("the mode", &excess)?), 2, &["u32", "s32"]),
            "fns" => (Op::Fns, 3, &["b32"]),
            "cnot" => (Op::Cnot, 1, &["b16", "b32", "b64"]),
            "shf" => {
                let left = text.mods.required("the direction", &[("l", true), ("r", false)])?;
                (Op::Shf { left, excess: text.mods.required("the mode", &excess)? }, 3, &["b32"])
            }
            _ => (Op::Prmt(text.mods.choice(MODES)), 3, &["b32"]),
        };
        text.plain_operands(count)?;
        Ok(Bits { op, ty: IntType::take(text, types)? })
    }

    /// The widths of the source operands.
    pub fn widths(&self) -> [u32; 3] {
        [self.ty.bits; 3]
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u64 {
        let width = self.ty.bits;
        let bit = |i: u32| a >> i & 1;
        let down = || (0..width).rev();
        match self.op {
            Op::Popc => (0..width).map(bit).sum(),
            Op::Clz => down().take_while(|i| bit(*i) == 0).count() as u64,
            Op::Brev => down().fold(0, |d, i| d | bit(i) << (width - 1 - i)),
            Op::Cnot => u64::from(a == 0),
            Op::Bfind { shiftamt } => {
                let sign = if self.ty.signed { bit(width - 1) } else { 0 };
                match down().find(|i| bit(*i) != sign) {
                    None => low_mask(32),
                    Some(i) => u64::from(if shiftamt { width - 1 - i } else { i }),
                }
            }
            Op::Bmsk(excess) => {
                let (first, count) = match excess {
                    Excess::Wrap => (a % 32, b % 32),
                    Excess::Clamp => (a.min(32), b.min(32)),
                };
                (0..32).filter(|i| (first..first + count).contains(i)).fold(0, |d, i| d | 1 << i)
            }
            Op::Szext(excess) => {
                let count = if excess == Excess::Wrap { b % 32 } else { b.min(32) };
                if count == 0 {
                    return 0;
                }
                let field = IntType { bits: count as u32, signed: self.ty.signed, lanes: 1 };
                self.ty.cut(field.value(a))
            }
            Op::Shf { left, excess } => {
                let n = if excess == Excess::Wrap { c % 32 } else { c.min(32) };
                let pair = u128::from(b << 32 | a);
                let shifted = if left { pair << n >> 32 } else { pair >> n };
                shifted as u64 & low_mask(32)
            }
            Op::Fns => {
                let (mut position, offset) = (i64::from(b as u32), i64::from(c as u32 as i32));
                let is_one = |p: i64| (0..32).contains(&p) && bit(p as u32) == 1;
                if offset == 0 {
                    return if is_one(position) { position as u64 } else { low_mask(32) };
                }
                let mut count = offset.abs() - 1;
                while (0..32).contains(&position) {
                    if is_one(position) {
                        if count == 0 {
                            return position as u64;
                        }
                        count -= 1;
                    }
                    position += offset.signum();
                }
                low_mask(32)
            }
            Op::Prmt(mode) => {
                let bytes =
                    [a.to_le_bytes(), b.to_le_bytes()].map(|half| [half[0], half[1], half[2], half[3]]);
                let byte = |i: usize| bytes.as_flattened()[i];
                let picked: [u8; 4] = std::array::from_fn(|place| match mode {
                    Some(mode) => byte(mode[c as usize % 4][place].into()),
                    None => {
                        let control = c as usize >> (4 * place) & 0xf;
                        let plain = byte(control % 8);
                        match (control >= 8, plain >= 0x80) {
                            (false, _) => plain,
                            (true, true) => 0xff,
                            (true, false) => 0,
                        }
                    }
                });
                u32::from_le_bytes(picked).into()
            }
        }
    }
}
