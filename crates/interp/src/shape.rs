//! Columns that need not be written out: what is uniform, or affine along the axes of the CTA.
//!
//! The engine keeps the shape of every column while it runs. An op on columns of the same value is done once, and address
//! arithmetic is done on a base and three strides instead of on every lane.

use hostwarp_ir::{Elem, IntBin, IntCmp, Op, Type};

/// How the lanes of a column differ. Only lanes that hold a value there count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Anything: the column is written out.
    Varying,
    /// The same everywhere: the batch's first warp is written out.
    Uniform,
    /// The same everywhere, an integer or a bit that is the base.
    Known,
    /// Affine along each axis, and not uniform.
    Affine,
    /// Anything: it has been loaded and is still where it was ([`crate::rows::InMemory`]).
    InMemory,
    /// Anything: products are still to be added to what is written out ([`crate::rows::Sum`]).
    Sum,
}

/// What is known of a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) shape: Shape,
    pub(crate) written: Written,
    /// Where the shape says so.
    pub(crate) affine: Affine,
}

/// How much of a column is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Written {
    Nothing,
    /// The batch's first warp.
    Warp,
    /// The whole batch.
    All,
}

impl Column {
    pub(crate) const VARYING: Column =
        Column { shape: Shape::Varying, written: Written::All, affine: Affine::uniform(0) };
    pub(crate) const IN_MEMORY: Column =
        Column { shape: Shape::InMemory, written: Written::Nothing, affine: Affine::uniform(0) };
    pub(crate) const SUM: Column =
        Column { shape: Shape::Sum, written: Written::Nothing, affine: Affine::uniform(0) };
    pub(crate) const UNIFORM: Column =
        Column { shape: Shape::Uniform, written: Written::Warp, affine: Affine::uniform(0) };

    /// Not written out.
    #[inline(always)]
    pub(crate) fn of(affine: Affine) -> Column {
        let shape = if affine.is_uniform() { Shape::Known } else { Shape::Affine };
        Column { shape, written: Written::Nothing, affine }
    }

    #[inline(always)]
    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self.shape, Shape::Uniform | Shape::Known)
    }
}

/// An integer of 32 or 64 bits: `base + Σ strides[axis] · index along the axis`, modulo its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Affine {
    /// Zero-extended.
    pub(crate) base: u64,
    /// Sign-extended.
    pub(crate) strides: [i64; 3],
}

/// Lanes along each axis: lane `x + extents[0] · (y + extents[1] · z)` is at (x, y, z).
pub(crate) type Extents = [u32; 3];

/// The op of an instruction on scalar integers of 32 or 64 bits that affine columns stay affine under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AffineOp {
    rule: Rule,
    /// The arguments' type.
    wide: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Add,
    Sub,
    Mul,
    Shl,
    Zext,
    Sext,
    Trunc,
    Cmp(IntCmp),
}

impl AffineOp {
    pub(crate) fn of(op: Op, args: &[Type], result: Type) -> Option<AffineOp> {
        let from = *args.first()?;
        let scalar = |ty: Type| ty.count == 1 && matches!(ty.elem, Elem::I32 | Elem::I64);
        let rule = match op {
            Op::Int(IntBin::Add) => Rule::Add,
            Op::Int(IntBin::Sub) => Rule::Sub,
            Op::Int(IntBin::Mul) => Rule::Mul,
            Op::Int(IntBin::Shl) => Rule::Shl,
            Op::Zext => Rule::Zext,
            Op::Sext => Rule::Sext,
            Op::Trunc => Rule::Trunc,
            Op::Cmp(c) => Rule::Cmp(c),
            _ => return None,
        };
        let fits = scalar(from) && (scalar(result) || matches!(rule, Rule::Cmp(_)));
        fits.then_some(AffineOp { rule, wide: from.elem == Elem::I64 })
    }

    /// The result for arguments that are the same everywhere.
    #[inline(always)]
    pub(crate) fn eval_uniform(self, a: u64, b: u64) -> u64 {
        let signed = |v: u64| if self.wide { v as i64 } else { i64::from(v as i32) };
        let made = match self.rule {
            Rule::Add => a.wrapping_add(b),
            Rule::Sub => a.wrapping_sub(b),
            Rule::Mul => a.wrapping_mul(b),
            Rule::Shl => a.checked_shl(u32::try_from(b).unwrap_or(u32::MAX)).unwrap_or(0),
            Rule::Zext => return a,
            Rule::Sext => return i64::from(a as i32) as u64,
            Rule::Trunc => return u64::from(a as u32),
            Rule::Cmp(c) => {
                return u64::from(match c {
                    IntCmp::Eq => a == b,
                    IntCmp::Ne => a != b,
                    IntCmp::LtU => a < b,
                    IntCmp::LeU => a <= b,
                    IntCmp::LtS => signed(a) < signed(b),
                    IntCmp::LeS => signed(a) <= signed(b),
                });
            }
        };
        if self.wide { made } else { u64::from(made as u32) }
    }

    /// The result; none where it is not affine, or too hard to tell.
    pub(crate) fn eval(self, a: &Affine, b: &Affine, extents: Extents) -> Option<Affine> {
        let wide = self.wide;
        let zip = |f: fn(i64, i64) -> i64| std::array::from_fn(|i| f(a.strides[i], b.strides[i]));
        let times = |a: &Affine, factor: u64| {
            let strides = a.strides.map(|s| s.wrapping_mul(factor as i64));
            Affine::new(a.base.wrapping_mul(factor), strides, wide)
        };
        let made = match self.rule {
            Rule::Add => Affine::new(a.base.wrapping_add(b.base), zip(i64::wrapping_add), wide),
            Rule::Sub => Affine::new(a.base.wrapping_sub(b.base), zip(i64::wrapping_sub), wide),
            Rule::Mul if b.is_uniform() => times(a, b.base),
            Rule::Mul if a.is_uniform() => times(b, a.base),
            Rule::Shl if b.is_uniform() && b.base < if wide { 64 } else { 32 } => times(a, 1 << b.base),
            Rule::Mul | Rule::Shl => return None,
            Rule::Trunc => Affine::new(a.base, a.strides, false),
            Rule::Zext => {
                a.range(extents, false, wide)?;
                *a
            }
            Rule::Sext => {
                a.range(extents, true, wide)?;
                Affine::new(i64::from(a.base as i32) as u64, a.strides, true)
            }
            Rule::Cmp(c) => Affine::uniform(compare(c, a, b, extents, wide)?.into()),
        };
        Some(made)
    }
}

impl Affine {
    fn new(base: u64, strides: [i64; 3], wide: bool) -> Affine {
        if wide {
            return Affine { base, strides };
        }
        Affine { base: u64::from(base as u32), strides: strides.map(|s| i64::from(s as i32)) }
    }

    pub(crate) const fn uniform(base: u64) -> Affine {
        Affine { base, strides: [0; 3] }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.strides == [0; 3]
    }

    /// The least and the greatest value in any lane, read as signed or unsigned; none if it wraps.
    fn range(&self, extents: Extents, signed: bool, wide: bool) -> Option<(i128, i128)> {
        let (base, least, greatest) = match (signed, wide) {
            (false, false) => (i128::from(self.base), 0, i128::from(u32::MAX)),
            (false, true) => (i128::from(self.base), 0, i128::from(u64::MAX)),
            (true, false) => (i128::from(self.base as i32), i128::from(i32::MIN), i128::from(i32::MAX)),
            (true, true) => (i128::from(self.base as i64), i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let (mut min, mut max) = (base, base);
        for (stride, extent) in self.strides.iter().zip(extents) {
            let far = i128::from(*stride) * i128::from(extent - 1);
            min += far.min(0);
            max += far.max(0);
        }
        (min >= least && max <= greatest).then_some((min, max))
    }

    /// The value in a lane.
    pub(crate) fn at(&self, lane: usize, extents: Extents) -> u64 {
        if lane == 0 {
            return self.base;
        }
        let [nx, ny, _] = extents.map(|n| n as usize);
        let index = [lane % nx, lane / nx % ny, lane / nx / ny];
        let along = |(stride, index): (&i64, usize)| stride.wrapping_mul(index as i64) as u64;
        let offset = self.strides.iter().zip(index).map(along).fold(0, u64::wrapping_add);
        self.base.wrapping_add(offset)
    }

    /// The column as rows of affine lanes, as long as can be.
    pub(crate) fn rows(&self, extents: Extents) -> Rows {
        let mut rows = Rows { len: extents[0] as usize, stride: self.strides[0], step: 0, even: true };
        let mut whole = true; // so far all lanes are one row
        let mut count = 1;
        for (n, stride) in [(extents[1], self.strides[1]), (extents[2], self.strides[2])] {
            let n = n as usize;
            if n == 1 {
                continue;
            }
            if whole && stride == rows.stride.wrapping_mul(rows.len as i64) {
                rows.len *= n;
            } else if whole {
                (whole, rows.step, count) = (false, stride, n);
            } else if stride == rows.step.wrapping_mul(count as i64) {
                count *= n;
            } else {
                rows.even = false;
            }
        }
        rows
    }
}

/// Rows of lanes: lane `x` of row `r` has `base + x · stride`, and `r · step` more if rows are affine too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) len: usize,
    pub(crate) stride: i64,
    pub(crate) step: i64,
    pub(crate) even: bool,
}

/// A comparison that comes out the same in all lanes: where the ranges of both sides do not meet.
fn compare(c: IntCmp, a: &Affine, b: &Affine, extents: Extents, wide: bool) -> Option<bool> {
    let signed = matches!(c, IntCmp::LtS | IntCmp::LeS);
    let (a, b) = (a.range(extents, signed, wide)?, b.range(extents, signed, wide)?);
    let apart = a.1 < b.0 || b.1 < a.0;
    match c {
        IntCmp::Eq => apart.then_some(false),
        IntCmp::Ne => apart.then_some(true),
        IntCmp::LtU | IntCmp::LtS if a.1 < b.0 => Some(true),
        IntCmp::LtU | IntCmp::LtS => (a.0 >= b.1).then_some(false),
        IntCmp::LeU | IntCmp::LeS if a.1 <= b.0 => Some(true),
        IntCmp::LeU | IntCmp::LeS => (a.0 > b.1).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENTS: Extents = [4, 3, 2];

    fn values(a: Affine, wide: bool) -> Vec<u64> {
        (0..24).map(|l| a.at(l, EXTENTS) & if wide { u64::MAX } else { u32::MAX.into() }).collect()
    }

    /// Every rule on bases and strides near every edge, lane by lane.
    #[test]
    fn rules_hold_in_every_lane() {
        let edges =
            [0u64, 1, 2, 3, 7, 31, 32, 63, 64, 0x7fff_fff0, 0x8000_0000, 0xffff_fffd, 1 << 62, 1 << 63]
                .into_iter()
                .flat_map(|v: u64| [v, v.wrapping_neg()]);
        let strides = [[0, 0, 0], [1, 0, 0], [1, 4, 12], [-1, 0, 5], [4, 64, 0], [0, 0, 1 << 30]];
        let (mut made, mut decided) = (0, 0);
        let from = [(Op::Zext, 32), (Op::Sext, 32), (Op::Trunc, 64)].map(|(op, bits)| (op, bits, 96 - bits));
        let two = [IntBin::Add, IntBin::Sub, IntBin::Mul, IntBin::Shl].map(Op::Int);
        let all = two.into_iter().chain(IntCmp::ALL.map(Op::Cmp)).flat_map(|op| [(op, 32, 32), (op, 64, 64)]);
        let ty = |bits| if bits == 64 { Type::I64 } else { Type::I32 };
        for (op, bits, to) in all.chain(from) {
            let result = if matches!(op, Op::Cmp(_)) { Type::I1 } else { ty(to) };
            let rule = AffineOp::of(op, &[ty(bits); 2], result).expect("an op with a rule");
            for base in edges.clone() {
                for s in strides {
                    let a = Affine::new(base, s, rule.wide);
                    for (other, t) in edges.clone().zip(strides.iter().cycle()) {
                        let b = Affine::new(other, *t, rule.wide);
                        let r = match rule.eval(&a, &b, EXTENTS) {
                            _ if a.is_uniform() && b.is_uniform() => {
                                Affine::uniform(rule.eval_uniform(a.base, b.base))
                            }
                            Some(r) => r,
                            None => continue,
                        };
                        let got = values(r, to == 64);
                        match op {
                            Op::Cmp(_) => decided += 1,
                            _ => made += 1,
                        }
                        let (x, y) = (values(a, rule.wide), values(b, rule.wide));
                        let types = [ty(bits); 2];
                        let n = if matches!(op, Op::Int(_) | Op::Cmp(_)) { 2 } else { 1 };
                        let want =
                            hostwarp_ir::eval::eval_op(op, &[&x[..], &y[..]][..n], &types[..n], result, 24);
                        assert_eq!(Some(got), want, "{op} {a:?} {b:?}");
                    }
                }
            }
        }
        assert!(made > 5000 && decided > 2000, "{made} {decided}");
    }

    #[test]
    fn rows_are_as_long_as_can_be() {
        let rows = |strides, extents| {
            let a = Affine { base: 5, strides };
            let r = a.rows(extents);
            let n = extents.iter().product::<u32>() as usize;
            if r.even {
                for l in 0..n {
                    let want = 5 + (l % r.len) as i64 * r.stride + (l / r.len) as i64 * r.step;
                    assert_eq!(a.at(l, extents), want as u64, "{strides:?} {extents:?} {l}");
                }
            }
            (r.len, r.even)
        };
        assert_eq!(rows([4, 0, 0], [64, 1, 1]), (64, true));
        assert_eq!(rows([4, 0, 256], [64, 1, 4]), (256, true), "CTAs side by side");
        assert_eq!(rows([4, 64, 1024], [16, 16, 4]), (1024, true));
        assert_eq!(rows([4, 4096, 0], [16, 16, 1]), (16, true));
        assert_eq!(rows([4, 0, 64], [16, 16, 2]), (16, false));
        assert_eq!(rows([0, 64, 1024], [16, 16, 2]), (16, true));
        assert_eq!(rows([4, 64, 0], [16, 16, 2]), (256, true));
        assert_eq!(rows([4, 4096, 65536], [16, 16, 2]), (16, true));
    }
}
