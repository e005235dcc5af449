//! What IEEE 754 says, from `rustc_apfloat` (a port of LLVM's APFloat). NaNs come out as the IR defines them.

use super::fraction_bits;
use hostwarp_ir::expand::nan64;
use hostwarp_ir::{Elem, FBin, Op, Round};
use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Quad, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert};

type ApRound = rustc_apfloat::Round;

fn ap(round: Round) -> ApRound {
    match round {
        Round::Nearest => ApRound::NearestTiesToEven,
        Round::Zero => ApRound::TowardZero,
        Round::Down => ApRound::TowardNegative,
        Round::Up => ApRound::TowardPositive,
        Round::Away => ApRound::NearestTiesToAway,
    }
}

/// `$body` with `F` the format of `$elem`.
macro_rules! with_format {
    ($elem:expr, $F:ident, $body:expr) => {
        match $elem {
            Elem::F16 => {
                type $F = Half;
                $body
            }
            Elem::BF16 => {
                type $F = BFloat;
                $body
            }
            Elem::F32 => {
                type $F = Single;
                $body
            }
            _ => {
                type $F = Double;
                $body
            }
        }
    };
}

/// The bits, or the NaN the IR defines for `op` on operands `args`.
fn bits<F: Float>(elem: Elem, x: F, op: Op, args: &[u64]) -> u64 {
    match (x.is_nan(), elem) {
        (false, _) => x.to_bits() as u64,
        (true, Elem::F64) => nan64(op, args),
        (true, Elem::F32) => 0x7fff_ffff,
        (true, _) => 0x7fff,
    }
}

pub fn is_nan(elem: Elem, x: u64) -> bool {
    x & elem.mask() >> 1 > (elem.mask() >> 1) >> fraction_bits(elem) << fraction_bits(elem)
}

/// Flushes a subnormal number.
pub fn ftz(elem: Elem, x: u64) -> u64 {
    let exponent = (elem.mask() >> 1) >> fraction_bits(elem) << fraction_bits(elem);
    if x & exponent == 0 { x & !(elem.mask() >> 1) } else { x }
}

pub fn binary(elem: Elem, op: FBin, round: Round, a: u64, b: u64) -> u64 {
    with_format!(elem, F, {
        let (x, y) = (F::from_bits(a.into()), F::from_bits(b.into()));
        let r = match op {
            FBin::Add => x.add_r(y, ap(round)),
            FBin::Sub => x.sub_r(y, ap(round)),
            FBin::Mul => x.mul_r(y, ap(round)),
            FBin::Div => x.div_r(y, ap(round)),
        };
        bits(elem, r.value, Op::Float { op, round, ftz: false }, &[a, b])
    })
}

pub fn fma(elem: Elem, round: Round, a: u64, b: u64, c: u64) -> u64 {
    with_format!(elem, F, {
        let (x, y, z) = (F::from_bits(a.into()), F::from_bits(b.into()), F::from_bits(c.into()));
        bits(elem, x.mul_add_r(y, z, ap(round)).value, Op::Fma { round, ftz: false }, &[a, b, c])
    })
}

/// APFloat has no square root: the integer root of the significand, with a sticky bit below.
pub fn sqrt(elem: Elem, round: Round, a: u64) -> u64 {
    with_format!(elem, F, {
        let x = F::from_bits(a.into());
        if x.is_nan() || x.is_negative() && !x.is_zero() {
            return bits(elem, F::NAN, Op::Sqrt { round, ftz: false }, &[a]);
        }
        if x.is_zero() || x.is_infinite() {
            return a;
        }
        let fraction = fraction_bits(elem);
        let bias = (elem.mask() >> 2 >> fraction) as i32;
        let field = (a >> fraction) as i32;
        let hidden = u64::from(field != 0) << fraction;
        let mut significand = u128::from(a & ((1 << fraction) - 1) | hidden);
        let mut exponent = field.max(1) - bias - fraction as i32;
        let mut shift = significand.leading_zeros() as i32;
        shift -= (exponent - shift) & 1;
        significand <<= shift;
        exponent -= shift;
        let root = significand.isqrt();
        let sticky = u128::from(root * root != significand);
        let exact = Quad::from_u128(root << 1 | sticky).value.scalbn(exponent / 2 - 1);
        let r: F = exact.convert_r(ap(round), &mut false).value;
        r.to_bits() as u64
    })
}

pub fn convert(from: Elem, to: Elem, round: Round, a: u64) -> u64 {
    with_format!(
        from,
        F,
        with_format!(to, T, {
            let x = F::from_bits(a.into());
            let r: T = x.convert_r(ap(round), &mut false).value;
            if r.is_nan() && to == Elem::F64 {
                0x7fff_ffff_e000_0000
            } else {
                bits(to, r, Op::FCvt(round), &[a])
            }
        })
    )
}

pub fn round_to_integral(elem: Elem, round: Round, a: u64) -> u64 {
    with_format!(
        elem,
        F,
        bits(elem, F::from_bits(a.into()).round_to_integral(ap(round)).value, Op::FRound(round), &[a])
    )
}

/// Toward zero, clamped; NaN gives 0.
pub fn to_int(from: Elem, to: Elem, signed: bool, a: u64) -> u64 {
    with_format!(from, F, {
        let x = F::from_bits(a.into());
        let width = to.bits() as usize;
        if x.is_nan() {
            0
        } else if signed {
            x.to_i128_r(width, ApRound::TowardZero, &mut false).value as u64 & to.mask()
        } else {
            x.to_u128_r(width, ApRound::TowardZero, &mut false).value as u64
        }
    })
}

pub fn from_int(from: Elem, to: Elem, signed: bool, round: Round, a: u64) -> u64 {
    with_format!(to, F, {
        let shift = 64 - from.bits();
        let r = if signed {
            F::from_i128_r(((a << shift) as i64 >> shift).into(), ap(round))
        } else {
            F::from_u128_r(a.into(), ap(round))
        };
        r.value.to_bits() as u64
    })
}

/// Formats with the precision of f16, bf16 and f32 in which nothing under- or overflows.
macro_rules! wide_formats {
    ($($name:ident: $fraction:expr;)*) => {
        $(struct $name;

        impl Semantics for $name {
            const BITS: usize = 1 + 15 + $fraction;
            const EXP_BITS: usize = 15;
        })*
    };
}

wide_formats! {
    WideHalf: 10;
    WideBFloat: 7;
    WideSingle: 23;
}

/// With ftz, rounding as if the exponent had no lower bound decides what is subnormal. Operands are flushed already.
pub fn is_tiny(elem: Elem, op: Op, x: &[u64]) -> bool {
    fn decide<F, W: Semantics>(op: Op, x: &[u64]) -> bool
    where
        F: Float + FloatConvert<IeeeFloat<W>>,
    {
        let wide = |x: F| -> IeeeFloat<W> { x.convert(&mut false).value };
        let arg = |i: usize| wide(F::from_bits(x[i].into()));
        let r = match op {
            Op::Float { op, round, .. } => match op {
                FBin::Add => arg(0).add_r(arg(1), ap(round)),
                FBin::Sub => arg(0).sub_r(arg(1), ap(round)),
                FBin::Mul => arg(0).mul_r(arg(1), ap(round)),
                FBin::Div => arg(0).div_r(arg(1), ap(round)),
            },
            Op::Fma { round, .. } => arg(0).mul_add_r(arg(1), arg(2), ap(round)),
            _ => return false,
        };
        r.value.abs() < wide(F::smallest_normalized())
    }
    match elem {
        Elem::F16 => decide::<Half, WideHalf>(op, x),
        Elem::BF16 => decide::<BFloat, WideBFloat>(op, x),
        Elem::F32 => decide::<Single, WideSingle>(op, x),
        // No f64 instruction flushes; see the expansion.
        _ => false,
    }
}
