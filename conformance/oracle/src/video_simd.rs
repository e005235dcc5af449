//! SIMD video: vadd vsub vavrg vabsdiff vmin vmax vset on two half-words or four bytes.
//!
//! Element i of the result goes to position i; positions outside the mask come from `c`, for vset too
//! (the prose of the vset pages says `b`, their pseudo-code and the hardware say `c`). `.add` sums the
//! results before they are cut to their width.

use crate::text::Text;
use crate::video::{Cmp, TYPES, clamp};

#[derive(Debug, Clone, Copy)]
enum Op {
    Add,
    Sub,
    Average,
    AbsDiff,
    Min,
    Max,
    Set(Cmp),
}

/// A SIMD video instruction.
#[derive(Debug, Clone)]
pub(crate) struct Simd {
    op: Op,
    /// 2 or 4
    count: usize,
    d_signed: bool,
    a_signed: bool,
    b_signed: bool,
    sat: bool,
    accumulate: bool,
    mask: [bool; 4],
    /// For each element, which of the elements of a (the lower half) and b (the upper half) it is.
    asel: [u32; 4],
    bsel: [u32; 4],
}

impl Simd {
    pub fn parse(text: &mut Text) -> Result<Simd, String> {
        let count = if text.opcode.ends_with('2') { 2 } else { 4 };
        let mods = &mut text.mods;
        let op = match text.opcode.trim_end_matches(['2', '4']) {
            "vadd" => Op::Add,
            "vsub" => Op::Sub,
            "vavrg" => Op::Average,
            "vabsdiff" => Op::AbsDiff,
            "vmin" => Op::Min,
            "vmax" => Op::Max,
            _ => Op::Set(Cmp::take(mods)?),
        };
        let is_set = matches!(op, Op::Set(_));
        let d_signed = !is_set && mods.required("dtype", TYPES)?;
        let a_signed = mods.required("atype", TYPES)?;
        let b_signed = mods.required("btype", TYPES)?;
        let sat = !is_set && mods.take_all("sat");
        let accumulate = mods.take("add");
        if sat && accumulate {
            return Err(".sat and .add exclude each other".into());
        }
        text.count_sources(3..=3)?;
        let dest = text.one_dest()?;
        let [a, b, c] = &text.sources[..] else { unreachable!("three sources were counted") };
        if [a, b, c].iter().any(|s| s.negate || s.not) || c.selector.is_some() {
            return Err("SIMD video operands have no sign and c no selector".into());
        }
        let asel = elements(a.selector, count, 0)?;
        let bsel = elements(b.selector, count, count as u32)?;
        let mask = mask(dest.selector, count)?;
        Ok(Simd { op, count, d_signed, a_signed, b_signed, sat, accumulate, mask, asel, bsel })
    }

    pub fn eval(&self, [a, b, c, _]: [u64; 4]) -> u32 {
        let bits = 32 / self.count as u32;
        let both = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
        let element = |index: u32, signed: bool| {
            let field = (both >> (index * bits) & ((1 << bits) - 1)) as i128;
            if signed && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
        };
        let mut sum = i128::from(c as u32);
        let mut merged = 0;
        for i in 0..self.count {
            let a = element(self.asel[i], self.a_signed);
            let b = element(self.bsel[i], self.b_signed);
            let mut t = match self.op {
                Op::Add => a + b,
                Op::Sub => a - b,
                Op::Average if a + b >= 0 => (a + b + 1) >> 1,
                Op::Average => (a + b) >> 1,
                Op::AbsDiff => (a - b).abs(),
                Op::Min => a.min(b),
                Op::Max => a.max(b),
                Op::Set(cmp) => cmp.holds(a, b).into(),
            };
            if self.sat {
                t = clamp(t, bits, self.d_signed);
            }
            let field = ((1 << bits) - 1) << (i as u32 * bits);
            if self.mask[i] {
                sum += t;
                merged |= (t as u32) << (i as u32 * bits) & field;
            } else {
                merged |= c as u32 & field;
            }
        }
        if self.accumulate { sum as u32 } else { merged }
    }
}

/// The digits of `.b3210` or `.h10`, lowest element first; without a selector, consecutive elements
/// from `first` on.
fn elements(selector: Option<&str>, count: usize, first: u32) -> Result<[u32; 4], String> {
    let Some(selector) = selector else {
        return Ok(std::array::from_fn(|i| first + i as u32));
    };
    let digits = digits(selector, count, 2 * count)?;
    if digits.len() != count {
        return Err(format!("`.{selector}` does not name {count} elements"));
    }
    Ok(std::array::from_fn(|i| if i < count { digits[count - 1 - i] } else { 0 }))
}

/// Which positions a destination mask names. The manual's own example has the repeated `.b00`.
fn mask(selector: Option<&str>, count: usize) -> Result<[bool; 4], String> {
    let Some(selector) = selector else { return Ok([true; 4]) };
    let digits = digits(selector, count, count)?;
    if digits.is_empty() || !digits.is_sorted_by(|left, right| left >= right) {
        return Err(format!("`.{selector}` is not a descending mask"));
    }
    Ok(std::array::from_fn(|i| digits.contains(&(i as u32))))
}

/// The digits after the `b` or `h` of a selector, as written.
fn digits(selector: &str, count: usize, below: usize) -> Result<Vec<u32>, String> {
    let bad = || format!("`.{selector}` is not a selector of this instruction");
    let letter = if count == 4 { 'b' } else { 'h' };
    selector
        .strip_prefix(letter)
        .ok_or_else(bad)?
        .chars()
        .map(|c| c.to_digit(10).filter(|d| (*d as usize) < below).ok_or_else(bad))
        .collect()
}
