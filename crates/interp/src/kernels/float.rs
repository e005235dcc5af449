//! Float kernels: the primitive ops, so f32 and f64 with rounding to nearest, and conversions.

use super::{CHUNK, Kernel, KernelFn, Level, Step, map1, map2, map2_chunks, map3, pick, write, zip3};
use hostwarp_ir::{Elem, FBin, FCmp, Op, Round};
use std::marker::PhantomData;

/// An op on one element.
trait Un<A, R> {
    fn f(a: A) -> R;
}

/// An op on two elements.
trait Bin<A, R> {
    fn f(a: A, b: A) -> R;
}

struct UnK<O, A, R>(PhantomData<(O, A, R)>);
struct BinK<O, A, R>(PhantomData<(O, A, R)>);
struct FmaK<T>(PhantomData<T>);
struct FmaOddK<const HALVES: bool>;
/// With so many operands that NaNs come from.
struct PropagateK<const FROM: usize>;

impl<O: Un<A, R>, A: Copy, R: Copy + Default> Kernel for UnK<O, A, R> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map1(s, O::f) }
    }
}

impl<O: Bin<A, R>, A: Copy, R: Copy + Default> Kernel for BinK<O, A, R> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map2(s, O::f) }
    }
}

struct Add;
struct Sub;
struct Mul;
struct Div;
struct Sqrt;
struct Min<const NAN: bool>;
struct Max<const NAN: bool>;
struct Neg;
struct Abs;
struct Ftz;
struct Nearest;
struct Zero;
struct Down;
struct Up;
/// Comparisons, those without `u`; the others are their opposites negated.
struct Eq;
struct Ne;
struct Lt;
struct Le;
struct Gt;
struct Ge;
struct Equ;
struct Neu;
struct Ltu;
struct Leu;
struct Gtu;
struct Geu;
struct Num;
struct Nan;

macro_rules! float_type {
    ($f:ident, $int:ident) => {
        impl Kernel for FmaK<$f> {
            #[inline(always)]
            unsafe fn run(s: &Step) {
                let f = |a: $f, b: $f, c: $f| a.mul_add(b, c);
                // SAFETY: handed on from the caller.
                unsafe {
                    // The coefficients of a polynomial are the same for all lanes, and reading is what takes the time.
                    if s.arg(2).step == 0 {
                        let c = s.arg(2).chunk(0);
                        map2_chunks(s, |a, b| zip3(a, b, c, f))
                    } else {
                        map3(s, f)
                    }
                }
            }
        }
        float_type!(@bin $f, $f, Add: |a, b| a + b);
        float_type!(@bin $f, $f, Sub: |a, b| a - b);
        float_type!(@bin $f, $f, Mul: |a, b| a * b);
        float_type!(@bin $f, $f, Div: |a, b| a / b);
        float_type!(@bin $f, u8, Eq: |a, b| u8::from(a == b));
        float_type!(@bin $f, u8, Ne: |a, b| u8::from(a != b) & u8::from(!a.is_nan()) & u8::from(!b.is_nan()));
        float_type!(@bin $f, u8, Lt: |a, b| u8::from(a < b));
        float_type!(@bin $f, u8, Le: |a, b| u8::from(a <= b));
        float_type!(@bin $f, u8, Gt: |a, b| u8::from(a > b));
        float_type!(@bin $f, u8, Ge: |a, b| u8::from(a >= b));
        float_type!(@bin $f, u8, Equ: |a, b| u8::from(a == b) | u8::from(a.is_nan()) | u8::from(b.is_nan()));
        float_type!(@bin $f, u8, Neu: |a, b| u8::from(a != b));
        float_type!(@bin $f, u8, Ltu: |a, b| 1 - u8::from(a >= b));
        float_type!(@bin $f, u8, Leu: |a, b| 1 - u8::from(a > b));
        float_type!(@bin $f, u8, Gtu: |a, b| 1 - u8::from(a <= b));
        float_type!(@bin $f, u8, Geu: |a, b| 1 - u8::from(a < b));
        float_type!(@bin $f, u8, Num: |a, b| u8::from(!a.is_nan() && !b.is_nan()));
        float_type!(@bin $f, u8, Nan: |a, b| u8::from(a.is_nan() || b.is_nan()));
        float_type!(@un $f, Sqrt: |a| a.sqrt());
        float_type!(@un $f, Neg: |a| $f::from_bits(a.to_bits() ^ (1 << ($int::BITS - 1))));
        float_type!(@un $f, Abs: |a| $f::from_bits(a.to_bits() & ($int::MAX >> 1)));
        float_type!(@un $f, Nearest: |a| a.round_ties_even());
        float_type!(@un $f, Zero: |a| a.trunc());
        float_type!(@un $f, Down: |a| a.floor());
        float_type!(@un $f, Up: |a| a.ceil());
        float_type!(@un $f, Ftz: |a| {
            let magnitude = a.to_bits() & ($int::MAX >> 1);
            let zero = a.to_bits() & (1 << ($int::BITS - 1));
            if magnitude < $f::MIN_POSITIVE.to_bits() { $f::from_bits(zero) } else { a }
        });
        impl<const NAN: bool> Bin<$f, $f> for Min<NAN> {
            #[inline(always)]
            fn f(a: $f, b: $f) -> $f {
                // Equal numbers are the same bits, but for zeros: one negative makes it −0.
                let number = if a < b {
                    a
                } else if a == b {
                    $f::from_bits(a.to_bits() | b.to_bits())
                } else {
                    b
                };
                with_nan(a.is_nan(), b.is_nan(), NAN, a, b, number)
            }
        }
        impl<const NAN: bool> Bin<$f, $f> for Max<NAN> {
            #[inline(always)]
            fn f(a: $f, b: $f) -> $f {
                let number = if a > b {
                    a
                } else if a == b {
                    $f::from_bits(a.to_bits() & b.to_bits())
                } else {
                    b
                };
                with_nan(a.is_nan(), b.is_nan(), NAN, a, b, number)
            }
        }
    };
    (@bin $f:ident, $r:ident, $name:ident: |$a:ident, $b:ident| $body:expr) => {
        impl Bin<$f, $r> for $name {
            #[inline(always)]
            fn f($a: $f, $b: $f) -> $r {
                $body
            }
        }
    };
    (@un $f:ident, $name:ident: |$a:ident| $body:expr) => {
        impl Un<$f, $f> for $name {
            #[inline(always)]
            fn f($a: $f) -> $f {
                $body
            }
        }
    };
}
float_type!(f32, u32);
float_type!(f64, u64);

/// p + c rounded to odd. The error of the sum is exact (Knuth's TwoSum); where there is one, its sign says which neighbour is meant.
macro_rules! sum_to_odd {
    ($p:expr, $c:expr, $f:ident, $int:ident) => {{
        let (p, c): ($f, $f) = ($p, $c);
        let sum = p + c;
        let c_part = sum - p;
        let error = (p - (sum - c_part)) + (c - c_part);
        let bits = sum.to_bits() as $int;
        // −1 where the sum is too far from zero.
        let toward = (bits ^ error.to_bits() as $int) >> ($int::BITS - 1);
        let odd = bits.wrapping_add(toward) | 1;
        $f::from_bits(if error.abs() > 0.0 { odd } else { bits } as _)
    }};
}

impl<const FROM: usize> Kernel for PropagateK<FROM> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        for i in 0..s.n {
            // SAFETY: handed on from the caller.
            let mut r: [f64; CHUNK] = unsafe { s.arg(0).chunk(i) };
            if r.iter().fold(false, |any, x| any | x.is_nan()) {
                // SAFETY: as above.
                let from: [[f64; CHUNK]; FROM] = std::array::from_fn(|n| unsafe { s.arg(n + 1).chunk(i) });
                for (lane, r) in r.iter_mut().enumerate().filter(|(_, r)| r.is_nan()) {
                    let nan = from.iter().map(|c| c[lane]).find(|x| x.is_nan());
                    *r = f64::from_bits(nan.map_or(0xfff8 << 48, f64::to_bits) | 1 << 51);
                }
            }
            // SAFETY: as above.
            unsafe { write(s, i, r) }
        }
    }
}

impl Kernel for FmaOddK<true> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map3(s, |a: f32, b: f32, c: f32| sum_to_odd!(a * b, c, f32, i32)) }
    }
}

impl Kernel for FmaOddK<false> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let f = |a: f32, b: f32, c: f32| {
            let exact = sum_to_odd!(f64::from(a) * f64::from(b), f64::from(c), f64, i64);
            let near = exact as f32;
            let back = f64::from(near);
            let too_far = u32::from(back.abs() > exact.abs());
            let inexact = u32::from(back != exact);
            f32::from_bits((near.to_bits() - too_far) | inexact)
        };
        // SAFETY: handed on from the caller.
        unsafe { map3(s, f) }
    }
}

/// The result of a minimum or maximum when operands may be NaN: the first NaN if NaN wins or both are, else the number.
#[inline(always)]
fn with_nan<T>(a_nan: bool, b_nan: bool, nan_wins: bool, a: T, b: T, number: T) -> T {
    if nan_wins {
        if a_nan {
            a
        } else if b_nan {
            b
        } else {
            number
        }
    } else if b_nan {
        a
    } else if a_nan {
        b
    } else {
        number
    }
}

/// Canonical bits.
struct ToBits;

impl Un<f32, u32> for ToBits {
    #[inline(always)]
    fn f(a: f32) -> u32 {
        if a.is_nan() { 0x7fff_ffff } else { a.to_bits() }
    }
}

/// Canonical bits of an f16.
struct HalfToBits;

impl Un<u16, u16> for HalfToBits {
    #[inline(always)]
    fn f(a: u16) -> u16 {
        if a & 0x7fff > 0x7c00 { 0x7fff } else { a }
    }
}

/// Canonical bits of a bf16.
struct Bf16ToBits;

impl Un<u16, u16> for Bf16ToBits {
    #[inline(always)]
    fn f(a: u16) -> u16 {
        if a & 0x7fff > 0x7f80 { 0x7fff } else { a }
    }
}

struct Convert;

impl Un<f32, f64> for Convert {
    #[inline(always)]
    fn f(a: f32) -> f64 {
        // The payload of an f64 can be seen, that of an f32 is nobody's business: give the canonical one's.
        if a.is_nan() { f64::from_bits(0x7fff_ffff_e000_0000) } else { f64::from(a) }
    }
}

impl Un<f64, f32> for Convert {
    #[inline(always)]
    fn f(a: f64) -> f32 {
        a as f32
    }
}

/// f16 → f32.
struct Widen;

impl Un<u16, f32> for Widen {
    #[inline(always)]
    fn f(a: u16) -> f32 {
        let sign = (u32::from(a) & 0x8000) << 16;
        let magnitude = u32::from(a) & 0x7fff;
        let number = if magnitude >= 0x7c00 {
            0x7f80_0000 | magnitude << 13
        } else if magnitude >= 0x0400 {
            (magnitude << 13) + (112 << 23)
        } else {
            // A subnormal is so many times 2^-24, exact in f32.
            (magnitude as i32 as f32 * f32::from_bits((127 - 24) << 23)).to_bits()
        };
        f32::from_bits(sign | number)
    }
}

/// f32 → f16, to nearest even.
struct Narrow;

impl Un<f32, u16> for Narrow {
    #[inline(always)]
    fn f(a: f32) -> u16 {
        let sign = (a.to_bits() >> 16) & 0x8000;
        let magnitude = a.to_bits() & 0x7fff_ffff;
        let number = if magnitude > 0x7f80_0000 {
            0x7fff
        } else if magnitude >= 0x4780_0000 {
            0x7c00
        } else if magnitude >= 113 << 23 {
            // Rounding up may carry into the exponent, and from the largest number to infinity, as it should.
            (magnitude + 0xfff + (magnitude >> 13 & 1) - (112 << 23)) >> 13
        } else {
            // The unit in the last place of 0.5 is 2^-24, the smallest subnormal.
            (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()
        };
        (sign | number) as u16
    }
}

/// Toward zero, clamped, NaN to 0. As Rust's casts, in a form that becomes vector code.
struct ToInt;

macro_rules! to_int {
    ($($f:ident => $i:ident, $u:ident, $half:expr;)*) => { $(
        impl Un<$f, $i> for ToInt {
            #[inline(always)]
            fn f(a: $f) -> $i {
                // 2 to the number of bits less one: the first number too large.
                const END: $f = $half;
                let fits = (-END..END).contains(&a);
                // SAFETY: in range, so the integral part fits.
                let number = unsafe { (if fits { a } else { 0.0 }).to_int_unchecked::<$i>() };
                if a >= END {
                    $i::MAX
                } else if a < -END {
                    $i::MIN
                } else {
                    number
                }
            }
        }
        impl Un<$f, $u> for ToInt {
            #[inline(always)]
            fn f(a: $f) -> $u {
                const END: $f = 2.0 * $half;
                let fits = (0.0..END).contains(&a);
                // SAFETY: in range, so the integral part fits.
                let number = unsafe { (if fits { a } else { 0.0 }).to_int_unchecked::<$u>() };
                if a >= END { $u::MAX } else { number }
            }
        }
    )* };
}
to_int! {
    f32 => i32, u32, 2147483648.0;
    f32 => i64, u64, 9223372036854775808.0;
    f64 => i32, u32, 2147483648.0;
    f64 => i64, u64, 9223372036854775808.0;
}

struct FromInt;

macro_rules! from_int {
    ($($i:ident)*) => { $(
        impl Un<$i, f32> for FromInt {
            #[inline(always)]
            fn f(a: $i) -> f32 {
                a as f32
            }
        }
        impl Un<$i, f64> for FromInt {
            #[inline(always)]
            fn f(a: $i) -> f64 {
                a as f64
            }
        }
    )* };
}
from_int!(i32 u32 i64 u64);

/// The kernel of a float op on these element types; none where the op is not primitive.
pub(super) fn float(op: Op, from: Elem, to: Elem, level: Level) -> Option<KernelFn> {
    use Elem::{BF16, F16, F32, F64, I32, I64};
    let wide = match from {
        F32 => false,
        F64 => true,
        _ => return narrow(op, from, to, level),
    };
    macro_rules! un {
        ($o:ty) => {
            if wide { pick::<UnK<$o, f64, f64>>(level) } else { pick::<UnK<$o, f32, f32>>(level) }
        };
    }
    macro_rules! bin {
        ($o:ty, $r32:ty, $r64:ty) => {
            if wide { pick::<BinK<$o, f64, $r64>>(level) } else { pick::<BinK<$o, f32, $r32>>(level) }
        };
        ($o:ty) => {
            bin!($o, f32, f64)
        };
    }
    macro_rules! compare {
        ($c:expr, $($o:ident)*) => { match $c { $(FCmp::$o => bin!($o, u8, u8),)* } };
    }
    Some(match op {
        Op::Float { op, round: Round::Nearest, ftz: false } => match op {
            FBin::Add => bin!(Add),
            FBin::Sub => bin!(Sub),
            FBin::Mul => bin!(Mul),
            FBin::Div => bin!(Div),
        },
        Op::Fma { round: Round::Nearest, ftz: false } => {
            if wide {
                pick::<FmaK<f64>>(level)
            } else {
                pick::<FmaK<f32>>(level)
            }
        }
        Op::FmaOdd { halves: true } => pick::<FmaOddK<true>>(level),
        Op::FmaOdd { halves: false } => pick::<FmaOddK<false>>(level),
        Op::Sqrt { round: Round::Nearest, ftz: false } => un!(Sqrt),
        Op::FMin { nan: false } => bin!(Min<false>),
        Op::FMin { nan: true } => bin!(Min<true>),
        Op::FMax { nan: false } => bin!(Max<false>),
        Op::FMax { nan: true } => bin!(Max<true>),
        Op::FNeg => un!(Neg),
        Op::FAbs => un!(Abs),
        Op::Ftz => un!(Ftz),
        Op::FRound(Round::Nearest) => un!(Nearest),
        Op::FRound(Round::Zero) => un!(Zero),
        Op::FRound(Round::Down) => un!(Down),
        Op::FRound(Round::Up) => un!(Up),
        Op::FCmp(c) => compare!(c, Eq Ne Lt Le Gt Ge Equ Neu Ltu Leu Gtu Geu Num Nan),
        Op::ToBits if !wide => pick::<UnK<ToBits, f32, u32>>(level),
        Op::FCvt(_) if from == F32 && to == F64 => pick::<UnK<Convert, f32, f64>>(level),
        Op::FCvt(Round::Nearest) if from == F64 && to == F32 => pick::<UnK<Convert, f64, f32>>(level),
        Op::FCvt(Round::Nearest) if from == F32 && to == F16 => pick::<UnK<Narrow, f32, u16>>(level),
        Op::FToInt { signed } => match (wide, to, signed) {
            (false, I32, true) => pick::<UnK<ToInt, f32, i32>>(level),
            (false, I32, false) => pick::<UnK<ToInt, f32, u32>>(level),
            (false, I64, true) => pick::<UnK<ToInt, f32, i64>>(level),
            (false, I64, false) => pick::<UnK<ToInt, f32, u64>>(level),
            (true, I32, true) => pick::<UnK<ToInt, f64, i32>>(level),
            (true, I32, false) => pick::<UnK<ToInt, f64, u32>>(level),
            (true, I64, true) => pick::<UnK<ToInt, f64, i64>>(level),
            (true, I64, false) => pick::<UnK<ToInt, f64, u64>>(level),
            _ => return None,
        },
        _ => {
            debug_assert!(!matches!((from, to), (F16 | BF16, _)));
            return None;
        }
    })
}

/// [`Op::Propagate`] with so many arguments.
pub(super) fn propagate(args: usize, level: Level) -> Option<KernelFn> {
    Some(match args {
        2 => pick::<PropagateK<1>>(level),
        3 => pick::<PropagateK<2>>(level),
        4 => pick::<PropagateK<3>>(level),
        _ => return None,
    })
}

/// Float ops on types other than f32 and f64.
fn narrow(op: Op, from: Elem, to: Elem, level: Level) -> Option<KernelFn> {
    use Elem::{BF16, F16, F32, F64, I32, I64};
    Some(match (op, from, to) {
        (Op::ToBits, F16, _) => pick::<UnK<HalfToBits, u16, u16>>(level),
        (Op::ToBits, BF16, _) => pick::<UnK<Bf16ToBits, u16, u16>>(level),
        (Op::FCvt(_), F16, F32) => pick::<UnK<Widen, u16, f32>>(level),
        (Op::IntToF { signed, round: Round::Nearest }, _, _) => match (from, signed, to) {
            (I32, true, F32) => pick::<UnK<FromInt, i32, f32>>(level),
            (I32, false, F32) => pick::<UnK<FromInt, u32, f32>>(level),
            (I64, true, F32) => pick::<UnK<FromInt, i64, f32>>(level),
            (I64, false, F32) => pick::<UnK<FromInt, u64, f32>>(level),
            (I32, true, F64) => pick::<UnK<FromInt, i32, f64>>(level),
            (I32, false, F64) => pick::<UnK<FromInt, u32, f64>>(level),
            (I64, true, F64) => pick::<UnK<FromInt, i64, f64>>(level),
            (I64, false, F64) => pick::<UnK<FromInt, u64, f64>>(level),
            _ => return None,
        },
        _ => return None,
    })
}
