//! Conversions from floats.

use crate::float::{operand, relu, rounding, saturate};
use crate::{Cx, Ty};
use hostwarp_ir::{Elem, FBin, FCmp, IntBin, Op, Round, Type, Value};

/// A float as an integer, rounded and clamped.
pub(super) fn to_integer(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let mut a = operand(cx, "a", from);
    if cx.has(".ftz") {
        a = cx.b.inst(Op::Ftz, &[a], from.arith());
    }
    let round = rounding(cx.get(".irnd"));
    // Towards zero is what the conversion does anyway.
    let integral = if round == Round::Zero { a } else { cx.b.inst(Op::FRound(round), &[a], from.arith()) };
    let integral = cx.name(integral, "integral");
    let number = cx.b.inst(Op::FToInt { signed: to.is_signed() }, &[integral], to.container());
    let nan = nan_as_integer(to, from);
    if nan == 0 {
        return number;
    }
    let is_nan = cx.b.fcmp(FCmp::Nan, a, a);
    let nan = cx.b.const_like(number, nan);
    cx.b.select(is_nan, nan, number)
}

/// What NaN becomes: 0, unless 64 bits are on either side, then the top bit alone (the manual, and so an H200).
fn nan_as_integer(to: Ty, from: Ty) -> u64 {
    if from == Ty::F64 || to.bits() == 64 { 1 << (to.bits() - 1) } else { 0 }
}

/// A float of the same type: the value itself or an integral one.
pub(super) fn same(cx: &mut Cx<'_>, ty: Ty) -> Value {
    let mut a = operand(cx, "a", ty);
    if cx.has(".ftz") {
        a = cx.b.inst(Op::Ftz, &[a], ty.arith());
    }
    let mut d = a;
    if let Some(m) = cx.get(".irnd") {
        d = cx.b.inst(Op::FRound(rounding(Some(m))), &[a], ty.arith());
    }
    if cx.has(".sat") {
        return saturate(cx, d);
    }
    if ty == Ty::F64 && cx.get(".irnd").is_none() {
        // Adding −0 changes no number and makes a NaN quiet.
        let zero = cx.b.fconst(ty.arith(), 1 << 63);
        d = cx.b.float(FBin::Add, Round::Nearest, false, d, zero);
    }
    d
}

/// A float as one of another type.
pub(super) fn convert(cx: &mut Cx<'_>, to: Ty, from: Ty) -> Value {
    let mut a = operand(cx, "a", from);
    if cx.has(".ftz") && flushes_source(to, from) {
        a = cx.b.inst(Op::Ftz, &[a], from.arith());
    }
    if (to, from) == (Ty::F32, Ty::BF16) && !cx.has(".ftz") {
        return shift_up(cx);
    }
    let round = rounding(cx.get(".frnd").or(cx.get(".frnd2")));
    let mut d = cx.b.inst(Op::FCvt(round), &[a], to.arith());
    if cx.has(".ftz") && to == Ty::F32 {
        d = if from == Ty::F64 { flush_tiny(cx, a, d, round) } else { cx.b.inst(Op::Ftz, &[d], to.arith()) };
    }
    if cx.has(".sat") {
        return saturate(cx, d);
    }
    d = bounded(cx, d);
    // f64 has payloads: with it on one side a NaN keeps what fits. Flushing is arithmetic and gives the canonical one.
    if [to, from].contains(&Ty::F64) && !(cx.has(".ftz") && from == Ty::F32) {
        return keep_payload(cx, to, from, a, d);
    }
    d
}

/// Whether `.ftz` flushes the source. Not on the way to f16: the assembler's code is the same with and without it.
fn flushes_source(to: Ty, from: Ty) -> bool {
    from == Ty::F32 && to != Ty::F16
}

/// Two f32 as the halves of a register, `a` the upper one.
pub(super) fn pack(cx: &mut Cx<'_>, to: Ty) -> Value {
    let round = rounding(cx.get(".frnd2"));
    let (upper, lower) = (operand(cx, "a", Ty::F32), operand(cx, "b", Ty::F32));
    let halves = [lower, upper].map(|v| cx.b.inst(Op::FCvt(round), &[v], Type::scalar(to.elem())));
    let both = cx.b.build(&halves);
    bounded(cx, both)
}

/// What `.satfinite` and `.relu` make of a result. NaN stays.
pub(super) fn bounded(cx: &mut Cx<'_>, mut v: Value) -> Value {
    if cx.has(".satfinite") {
        let ty = cx.b.ty(v);
        let largest: u64 = if ty.elem == Elem::F16 { 0x7bff } else { 0x7f7f };
        let (high, low) = (cx.b.fconst(ty, largest), cx.b.fconst(ty, largest | 0x8000));
        let below = cx.b.inst(Op::FMin { nan: true }, &[v, high], ty);
        v = cx.b.inst(Op::FMax { nan: true }, &[below, low], ty);
        v = cx.name(v, "finite");
    }
    if cx.has(".relu") { relu(cx, v) } else { v }
}

/// bf16 as f32: the upper half of the bits, NaN and all.
fn shift_up(cx: &mut Cx<'_>) -> Value {
    let a = cx.src("a");
    let wide = cx.b.zext(a, Elem::I32);
    cx.b.int_imm(IntBin::Shl, wide, 16)
}

/// `.ftz` of f64 to f32: zero of the same sign where the result is subnormal, decided as if the exponent had no lower bound. `v` is
/// the f64, `d` the f32 it was rounded to.
fn flush_tiny(cx: &mut Cx<'_>, v: Value, d: Value, round: Round) -> Value {
    // 2^-126, and the f32 values of unbounded exponent below it: what rounds up to 2^-126 is not tiny.
    const SMALLEST_NORMAL: u64 = 0x3810_0000_0000_0000;
    const HALF_STEP_BELOW: u64 = 0x380f_ffff_f000_0000;
    const STEP_BELOW: u64 = 0x380f_ffff_e000_0000;
    let sign = 1 << 63;
    let mut compare = |cmp, bits| {
        let bound = cx.b.fconst(Type::F64, bits);
        cx.b.fcmp(cmp, v, bound)
    };
    let (below, above) = match round {
        Round::Up => (compare(FCmp::Le, STEP_BELOW), compare(FCmp::Gt, SMALLEST_NORMAL | sign)),
        Round::Down => (compare(FCmp::Lt, SMALLEST_NORMAL), compare(FCmp::Ge, STEP_BELOW | sign)),
        Round::Zero => (compare(FCmp::Lt, SMALLEST_NORMAL), compare(FCmp::Gt, SMALLEST_NORMAL | sign)),
        _ => (compare(FCmp::Lt, HALF_STEP_BELOW), compare(FCmp::Gt, HALF_STEP_BELOW | sign)),
    };
    let tiny = cx.b.and(below, above);
    let tiny = cx.name(tiny, "tiny");
    let bits = cx.b.to_bits(d, Type::I32);
    let zero = cx.b.int_imm(IntBin::And, bits, 0x8000_0000);
    let zero = cx.b.from_bits(zero, Type::F32);
    cx.b.select(tiny, zero, d)
}

/// The bits of `d`, which `a` was converted to; where that is NaN its sign and as much of the top of its payload as there is room
/// for, made quiet.
fn keep_payload(cx: &mut Cx<'_>, to: Ty, from: Ty, a: Value, d: Value) -> Value {
    let bits = cx.src("a");
    let wide = cx.b.zext(bits, Elem::I64);
    let up = |ty: Ty| u64::from(64 - ty.bits());
    let sign = cx.b.int_imm(IntBin::Shl, wide, up(from));
    let sign = cx.b.int_imm(IntBin::And, sign, 1 << 63);
    let payload = cx.b.int_imm(IntBin::Shl, wide, 64 - fraction_bits(from));
    let payload = cx.b.int_imm(IntBin::ShrU, payload, 64 - fraction_bits(to));
    let sign = cx.b.int_imm(IntBin::ShrU, sign, up(to));
    let nan = cx.b.or(payload, sign);
    let nan = cx.b.zext(nan, to.container().elem);
    let quiet = u64::MAX >> (64 - to.bits() + 1) & !(u64::MAX >> (65 - fraction_bits(to)));
    let nan = cx.b.int_imm(IntBin::Or, nan, quiet);
    let nan = cx.name(nan, "nan");
    let is_nan = cx.b.fcmp(FCmp::Nan, a, a);
    let number = cx.b.to_bits(d, to.container());
    cx.b.select(is_nan, nan, number)
}

fn fraction_bits(ty: Ty) -> u64 {
    match ty {
        Ty::F16 => 10,
        Ty::BF16 => 7,
        Ty::F32 => 23,
        _ => 52,
    }
}
