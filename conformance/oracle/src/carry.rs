//! add.cc sub.cc mad.cc addc subc madc: sums in numbers wide enough, and the flag they leave.

use crate::integer::IntType;
use crate::text::{Text, low_mask};

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Carry {
    subtract: bool,
    /// The upper half of the product is added; `None` without a product.
    upper: Option<bool>,
    /// The flag is an operand, behind the others.
    takes: bool,
    ty: IntType,
}

impl Carry {
    pub fn parse(text: &mut Text) -> Result<Carry, String> {
        let product = text.opcode.starts_with("mad");
        text.plain_operands(if product { 3 } else { 2 })?;
        let upper = match product {
            true => Some(text.mods.required("the half", &[("lo", false), ("hi", true)])?),
            false => None,
        };
        text.mods.take("cc");
        Ok(Carry {
            subtract: text.opcode.starts_with("sub"),
            upper,
            takes: text.opcode.ends_with('c'),
            ty: IntType::take(text, &["u32", "s32", "u64", "s64"])?,
        })
    }

    /// The widths of its source operands.
    pub fn widths(&self) -> Vec<u32> {
        vec![self.ty.bits; if self.upper.is_some() { 3 } else { 2 }]
    }

    /// Whether the flag is one more operand.
    pub fn takes_flag(&self) -> bool {
        self.takes
    }

    /// The result and the flag: the carry, also of a difference. (The manual has its borrow there; recordings of a GPU have the carry.)
    pub fn eval(&self, values: [u64; 4]) -> Vec<u64> {
        let mask = u128::from(low_mask(self.ty.bits));
        let (a, b, flag) = match self.upper {
            None => (u128::from(values[0]), u128::from(values[1]), values[2]),
            Some(upper) => {
                let product = self.ty.value(values[0]).wrapping_mul(self.ty.value(values[1])) as u128;
                let half = if upper { product >> self.ty.bits } else { product };
                (half & mask, u128::from(values[2]), values[3])
            }
        };
        // A difference is the sum with the complement, one more where nothing was borrowed before; so its flag is a carry, too.
        let b = if self.subtract { !b & mask } else { b };
        let flag = if self.takes { u128::from(flag & 1) } else { u128::from(self.subtract) };
        let sum = a + b + flag;
        vec![(sum & mask) as u64, u64::from(sum > mask)]
    }
}
