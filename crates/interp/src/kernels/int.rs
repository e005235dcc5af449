//! Integer kernels.

use super::{Kernel, KernelFn, Level, Step, map1, map2, pick};
use hostwarp_ir::{Elem, IntBin, IntCmp, IntUn};
use std::marker::PhantomData;

/// An op on two elements.
trait Bin<T> {
    fn f(a: T, b: T) -> T;
}

/// An op on one element.
trait Un<T> {
    fn f(a: T) -> T;
}

/// A comparison; the result is an `i1`, 0 or 1.
trait Cmp<T> {
    fn f(a: T, b: T) -> u8;
}

/// From one integer type to another.
trait Cast<A, R> {
    /// `zero` is 0, which the compiler does not know: without something to do, the loop is unrolled before it is turned into vector
    /// code, and then it is not.
    fn f(a: A, zero: u8) -> R;
}

struct BinK<O, T>(PhantomData<(O, T)>);
struct UnK<O, T>(PhantomData<(O, T)>);
struct CmpK<O, T>(PhantomData<(O, T)>);
struct CastK<O, A, R>(PhantomData<(O, A, R)>);

impl<O: Bin<T>, T: Copy + Default> Kernel for BinK<O, T> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map2(s, O::f) }
    }
}

impl<O: Un<T>, T: Copy + Default> Kernel for UnK<O, T> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map1(s, O::f) }
    }
}

impl<O: Cmp<T>, T: Copy + Default> Kernel for CmpK<O, T> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        // SAFETY: handed on from the caller.
        unsafe { map2(s, O::f) }
    }
}

impl<O: Cast<A, R>, A: Copy, R: Copy + Default> Kernel for CastK<O, A, R> {
    #[inline(always)]
    unsafe fn run(s: &Step) {
        let zero = s.imm as u8;
        // SAFETY: handed on from the caller.
        unsafe { map1(s, |a| O::f(a, zero)) }
    }
}

/// One op for all integer types: `u` unsigned, `s` signed of the same width, `w` and `sw` of twice the width.
macro_rules! ops {
    ($trait:ident, $params:tt -> $r:ident, [$($name:ident: $body:expr;)*]) => {
        $(
            struct $name;
            ops!(@ty $trait, $name, $params -> $r, $body, u8, i8, u16, i16);
            ops!(@ty $trait, $name, $params -> $r, $body, u16, i16, u32, i32);
            ops!(@ty $trait, $name, $params -> $r, $body, u32, i32, u64, i64);
            ops!(@ty $trait, $name, $params -> $r, $body, u64, i64, u128, i128);
        )*
    };
    (@ty $trait:ident, $name:ident, ($($p:ident),*) -> $r:ident, $body:expr, $u:ty, $s:ty, $w:ty, $sw:ty) => {
        impl $trait<$u> for $name {
            #[inline(always)]
            #[allow(non_camel_case_types, unused, clippy::unnecessary_cast)] // written once for all widths
            fn f($($p: $u),*) -> ops!(@result $r, $u) {
                type u = $u;
                type s = $s;
                type w = $w;
                type sw = $sw;
                $body
            }
        }
    };
    (@result same, $u:ty) => { $u };
    (@result i1, $u:ty) => { u8 };
}

ops!(Bin, (a, b) -> same, [
    Add: a.wrapping_add(b);
    Sub: a.wrapping_sub(b);
    Mul: a.wrapping_mul(b);
    MulHiU: ((a as w).wrapping_mul(b as w) >> u::BITS) as u;
    MulHiS: ((a as s as sw).wrapping_mul(b as s as sw) >> u::BITS) as u;
    DivU: a.checked_div(b).unwrap_or(u::MAX);
    DivS: if b == 0 { u::MAX } else { (a as s).wrapping_div(b as s) as u };
    RemU: a.checked_rem(b).unwrap_or(u::MAX);
    RemS: if b == 0 { u::MAX } else { (a as s).wrapping_rem(b as s) as u };
    And: a & b;
    Or: a | b;
    Xor: a ^ b;
    Shl: if b < u::BITS as u { a.wrapping_shl(b as u32) } else { 0 };
    ShrU: if b < u::BITS as u { a.wrapping_shr(b as u32) } else { 0 };
    ShrS: (a as s).wrapping_shr(b.min(u::BITS as u - 1) as u32) as u;
    MinU: a.min(b);
    MinS: (a as s).min(b as s) as u;
    MaxU: a.max(b);
    MaxS: (a as s).max(b as s) as u;
    AbsDiffU: a.abs_diff(b);
    AbsDiffS: (a as s).abs_diff(b as s);
    AddSatU: a.saturating_add(b);
    AddSatS: (a as s).saturating_add(b as s) as u;
    SubSatU: a.saturating_sub(b);
    SubSatS: (a as s).saturating_sub(b as s) as u;
]);

ops!(Un, (a) -> same, [
    Not: !a;
    Neg: a.wrapping_neg();
    Abs: (a as s).wrapping_abs() as u;
    Popc: a.count_ones() as u;
    Clz: a.leading_zeros() as u;
    Brev: a.reverse_bits();
    // On i1, where a value is 0 or 1.
    NotBit: a ^ 1;
]);

ops!(Cmp, (a, b) -> i1, [
    Eq: u8::from(a == b);
    Ne: u8::from(a != b);
    LtU: u8::from(a < b);
    LeU: u8::from(a <= b);
    LtS: u8::from((a as s) < (b as s));
    LeS: u8::from((a as s) <= (b as s));
]);

fn bin<O: Bin<u8> + Bin<u16> + Bin<u32> + Bin<u64>>(elem: Elem, level: Level) -> KernelFn {
    match elem.bytes() {
        1 => pick::<BinK<O, u8>>(level),
        2 => pick::<BinK<O, u16>>(level),
        4 => pick::<BinK<O, u32>>(level),
        _ => pick::<BinK<O, u64>>(level),
    }
}

fn un<O: Un<u8> + Un<u16> + Un<u32> + Un<u64>>(elem: Elem, level: Level) -> KernelFn {
    match elem.bytes() {
        1 => pick::<UnK<O, u8>>(level),
        2 => pick::<UnK<O, u16>>(level),
        4 => pick::<UnK<O, u32>>(level),
        _ => pick::<UnK<O, u64>>(level),
    }
}

fn cmp<O: Cmp<u8> + Cmp<u16> + Cmp<u32> + Cmp<u64>>(elem: Elem, level: Level) -> KernelFn {
    match elem.bytes() {
        1 => pick::<CmpK<O, u8>>(level),
        2 => pick::<CmpK<O, u16>>(level),
        4 => pick::<CmpK<O, u32>>(level),
        _ => pick::<CmpK<O, u64>>(level),
    }
}

pub(super) fn int_bin(op: IntBin, elem: Elem, level: Level) -> KernelFn {
    macro_rules! each {
        ($($name:ident)*) => { match op { $(IntBin::$name => bin::<$name>(elem, level),)* } };
    }
    each!(Add Sub Mul MulHiU MulHiS DivU DivS RemU RemS And Or Xor Shl ShrU ShrS MinU MinS MaxU MaxS AbsDiffU
        AbsDiffS AddSatU AddSatS SubSatU SubSatS)
}

pub(super) fn int_un(op: IntUn, elem: Elem, level: Level) -> KernelFn {
    match op {
        IntUn::Not if elem == Elem::I1 => un::<NotBit>(elem, level),
        IntUn::Not => un::<Not>(elem, level),
        IntUn::Neg => un::<Neg>(elem, level),
        IntUn::Abs => un::<Abs>(elem, level),
        IntUn::Popc => un::<Popc>(elem, level),
        IntUn::Clz => un::<Clz>(elem, level),
        IntUn::Brev => un::<Brev>(elem, level),
    }
}

pub(super) fn int_cmp(op: IntCmp, elem: Elem, level: Level) -> KernelFn {
    match op {
        IntCmp::Eq => cmp::<Eq>(elem, level),
        IntCmp::Ne => cmp::<Ne>(elem, level),
        IntCmp::LtU => cmp::<LtU>(elem, level),
        IntCmp::LeU => cmp::<LeU>(elem, level),
        IntCmp::LtS => cmp::<LtS>(elem, level),
        IntCmp::LeS => cmp::<LeS>(elem, level),
    }
}

struct Zext;
struct Sext;
/// An `i1` as all ones or 0.
struct SextBit;
struct Trunc;
/// The lowest bit.
struct TruncBit;

macro_rules! casts {
    ($($a:ty, $sa:ty => $($r:ty)*;)*) => { $($(
        impl Cast<$a, $r> for Zext {
            #[inline(always)]
            fn f(a: $a, zero: u8) -> $r {
                a as $r ^ zero as $r
            }
        }
        impl Cast<$a, $r> for Sext {
            #[inline(always)]
            fn f(a: $a, zero: u8) -> $r {
                a as $sa as $r ^ zero as $r
            }
        }
        impl Cast<$r, $a> for Trunc {
            #[inline(always)]
            fn f(a: $r, zero: u8) -> $a {
                (a ^ zero as $r) as $a
            }
        }
    )*)* };
}
casts! {
    u8, i8 => u16 u32 u64;
    u16, i16 => u32 u64;
    u32, i32 => u64;
}

macro_rules! bit_casts {
    ($($t:ty)*) => { $(
        impl Cast<u8, $t> for SextBit {
            #[inline(always)]
            fn f(a: u8, _: u8) -> $t {
                (a as $t).wrapping_neg()
            }
        }
        impl Cast<$t, u8> for TruncBit {
            #[inline(always)]
            fn f(a: $t, _: u8) -> u8 {
                (a & 1) as u8
            }
        }
    )* };
}
bit_casts!(u8 u16 u32 u64);

/// `Zext` and `Sext`. None where the widths do not grow.
pub(super) fn extend(signed: bool, from: Elem, to: Elem, level: Level) -> Option<KernelFn> {
    use Elem::*;
    if from == I1 {
        return Some(match (signed, to) {
            // One byte to one byte: the same bits.
            (false, I8) => pick::<CastK<TruncBit, u8, u8>>(level),
            (false, I16) => pick::<CastK<Zext, u8, u16>>(level),
            (false, I32) => pick::<CastK<Zext, u8, u32>>(level),
            (false, I64) => pick::<CastK<Zext, u8, u64>>(level),
            (true, I8) => pick::<CastK<SextBit, u8, u8>>(level),
            (true, I16) => pick::<CastK<SextBit, u8, u16>>(level),
            (true, I32) => pick::<CastK<SextBit, u8, u32>>(level),
            (true, I64) => pick::<CastK<SextBit, u8, u64>>(level),
            _ => return None,
        });
    }
    macro_rules! each {
        ($($a:ident $ta:ty, $r:ident $tr:ty;)*) => {
            match (signed, from, to) {
                $((false, $a, $r) => Some(pick::<CastK<Zext, $ta, $tr>>(level)),
                (true, $a, $r) => Some(pick::<CastK<Sext, $ta, $tr>>(level)),)*
                _ => None,
            }
        };
    }
    each! { I8 u8, I16 u16; I8 u8, I32 u32; I8 u8, I64 u64; I16 u16, I32 u32; I16 u16, I64 u64; I32 u32, I64 u64; }
}

/// `Trunc`. None where the widths do not shrink.
pub(super) fn truncate(from: Elem, to: Elem, level: Level) -> Option<KernelFn> {
    use Elem::*;
    Some(match (from, to) {
        (I8, I1) => pick::<CastK<TruncBit, u8, u8>>(level),
        (I16, I1) => pick::<CastK<TruncBit, u16, u8>>(level),
        (I32, I1) => pick::<CastK<TruncBit, u32, u8>>(level),
        (I64, I1) => pick::<CastK<TruncBit, u64, u8>>(level),
        (I16, I8) => pick::<CastK<Trunc, u16, u8>>(level),
        (I32, I8) => pick::<CastK<Trunc, u32, u8>>(level),
        (I64, I8) => pick::<CastK<Trunc, u64, u8>>(level),
        (I32, I16) => pick::<CastK<Trunc, u32, u16>>(level),
        (I64, I16) => pick::<CastK<Trunc, u64, u16>>(level),
        (I64, I32) => pick::<CastK<Trunc, u64, u32>>(level),
        _ => return None,
    })
}
