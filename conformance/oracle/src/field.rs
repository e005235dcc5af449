//! bfe and bfi, bit by bit as the manual's loops have it: position and length are the low eight bits of their operands, for both widths.

use crate::integer::IntType;
use crate::text::Text;

/// bfe or bfi.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    insert: bool,
    ty: IntType,
}

fn bit(of: u64, index: u64) -> u64 {
    of >> index & 1
}

impl Field {
    pub fn parse(text: &mut Text) -> Result<Field, String> {
        let insert = text.opcode == "bfi";
        text.plain_operands(if insert { 4 } else { 3 })?;
        let types: &[&str] = if insert { &["b32", "b64"] } else { &["u32", "u64", "s32", "s64"] };
        Ok(Field { insert, ty: IntType::take(text, types)? })
    }

    /// The widths of its source operands.
    pub fn widths(&self) -> Vec<u32> {
        let width = self.ty.bits;
        if self.insert { vec![width, width, 32, 32] } else { vec![width, 32, 32] }
    }

    pub fn eval(&self, values: [u64; 4]) -> u64 {
        let msb = u64::from(self.ty.bits) - 1;
        let [pos, len] =
            if self.insert { [values[2], values[3]] } else { [values[1], values[2]] }.map(|v| v & 0xff);
        let a = values[0];
        if self.insert {
            let inside = |i: u64| (pos..pos + len).contains(&i);
            let source = |i: u64| if inside(i) { bit(a, i - pos) } else { bit(values[1], i) };
            return (0..=msb).fold(0, |f, i| f | source(i) << i);
        }
        let sign = if !self.ty.signed || len == 0 { 0 } else { bit(a, (pos + len - 1).min(msb)) };
        let source = |i: u64| if i < len && pos + i <= msb { bit(a, pos + i) } else { sign };
        (0..=msb).fold(0, |d, i| d | source(i) << i)
    }
}
