//! The float halves of `add sub mul mad min max neg abs` and of the comparisons; their rooms hold the integer forms too.
//!
//! Every op rounds on its own: ptxas may fuse a `mul` and an `add` that carry no rounding modifier, and the result is then another
//! one. Here no modifier means `.rn`, never fused.

use super::{operand, rounding, saturate};
use crate::{Cx, Form, Outcome, Ty, since};
use hostwarp_ir::{FBin, FCmp, IntBin, Op, Round, Type, Value};

const HALF: &[(&str, &str)] = &[(".rnd", ".rn"), (".htype", ".f16 .f16x2"), (".btype", ".bf16 .bf16x2")];
const FULL: &[(&str, &str)] = &[(".rnd", ".rn .rz .rm .rp"), (".atype", ".f16 .bf16")];

/// The forms of a two-operand op that rounds.
macro_rules! rounded {
    ($op:literal: $f16:ident $bf16:ident $f32:ident $f32x2:ident $f64:ident) => {
        pub(crate) const $f16: Form = Form::new(
            concat!($op, "{.rnd}{.ftz}{.sat}.htype  d:.htype, a:.htype!, b:.htype!"),
            HALF,
            since(42, 53),
        );
        pub(crate) const $bf16: Form =
            Form::new(concat!($op, "{.rnd}.btype  d:.btype, a:.btype!, b:.btype!"), HALF, since(78, 90));
        pub(crate) const $f32: Form =
            Form::new(concat!($op, "{.rnd}{.ftz}{.sat}.f32  d:f32, a:f32, b:f32"), FULL, since(10, 10));
        pub(crate) const $f32x2: Form =
            Form::new(concat!($op, "{.rnd}{.ftz}.f32x2  d:f32x2, a:f32x2!, b:f32x2!"), FULL, since(86, 100));
        pub(crate) const $f64: Form =
            Form::new(concat!($op, "{.rnd}.f64  d:f64, a:f64, b:f64"), FULL, since(10, 13));
    };
}

rounded!("add": ADD_F16 ADD_BF16 ADD_F32 ADD_F32X2 ADD_F64);
rounded!("sub": SUB_F16 SUB_BF16 SUB_F32 SUB_F32X2 SUB_F64);
rounded!("mul": MUL_F16 MUL_BF16 MUL_F32 MUL_F32X2 MUL_F64);

/// `a` is widened, exactly, before the addition.
pub(crate) const ADD_MIXED: Form =
    Form::new("add{.rnd}{.sat}.f32.atype  d:f32, a:.atype!, c:f32", FULL, since(86, 100));
/// As [`ADD_MIXED`].
pub(crate) const SUB_MIXED: Form =
    Form::new("sub{.rnd}{.sat}.f32.atype  d:f32, a:.atype!, c:f32", FULL, since(86, 100));

/// `mad.f32` is `fma.f32` since sm_20.
pub(crate) const MAD_F32: Form =
    Form::new("mad.rnd{.ftz}{.sat}.f32  d:f32, a:f32, b:f32, c:f32", FULL, since(20, 20));
/// Before a rounding modifier was required: ptxas makes `fma.rn` of it. (GPUs before sm_20, which cut the product, are none of its targets.)
pub(crate) const MAD_F32_OLD: Form =
    Form::new("mad{.ftz}{.sat}.f32  d:f32, a:f32, b:f32, c:f32", FULL, since(10, 10)).until(since(32, 20));
/// `mad.f64` is `fma.f64`.
pub(crate) const MAD_F64: Form = Form::new("mad.rnd.f64  d:f64, a:f64, b:f64, c:f64", FULL, since(10, 13));

/// The forms of `min` and `max`; `.xorsign.abs` is one modifier written as two.
macro_rules! chosen {
    ($op:literal: $f16:ident $bf16:ident $f32:ident $three:ident $f64:ident
     $f16_sign:ident $bf16_sign:ident $f32_sign:ident) => {
        pub(crate) const $f16: Form = Form::new(
            concat!($op, "{.ftz}{.NaN}.htype  d:.htype, a:.htype!, b:.htype!"),
            HALF,
            since(70, 80),
        );
        pub(crate) const $f16_sign: Form = Form::new(
            concat!($op, "{.ftz}{.NaN}.xorsign.abs.htype  d:.htype, a:.htype!, b:.htype!"),
            HALF,
            since(72, 86),
        );
        pub(crate) const $bf16: Form =
            Form::new(concat!($op, "{.NaN}.btype  d:.btype, a:.btype!, b:.btype!"), HALF, since(70, 80));
        pub(crate) const $bf16_sign: Form = Form::new(
            concat!($op, "{.NaN}.xorsign.abs.btype  d:.btype, a:.btype!, b:.btype!"),
            HALF,
            since(72, 86),
        );
        pub(crate) const $f32: Form =
            Form::new(concat!($op, "{.ftz}{.NaN}.f32  d:f32, a:f32, b:f32"), FULL, since(10, 10))
                .needs(&[(".NaN", since(70, 80))]);
        pub(crate) const $f32_sign: Form =
            Form::new(concat!($op, "{.ftz}{.NaN}.xorsign.abs.f32  d:f32, a:f32, b:f32"), FULL, since(72, 86));
        pub(crate) const $three: Form = Form::new(
            concat!($op, "{.ftz}{.NaN}{.abs}.f32  d:f32, a:f32, b:f32, c:f32"),
            FULL,
            since(88, 100),
        );
        pub(crate) const $f64: Form =
            Form::new(concat!($op, ".f64  d:f64, a:f64, b:f64"), FULL, since(10, 13));
    };
}

chosen!("min": MIN_F16 MIN_BF16 MIN_F32 MIN_F32_3 MIN_F64 MIN_XORSIGN_F16 MIN_XORSIGN_BF16 MIN_XORSIGN_F32);
chosen!("max": MAX_F16 MAX_BF16 MAX_F32 MAX_F32_3 MAX_F64 MAX_XORSIGN_F16 MAX_XORSIGN_BF16 MAX_XORSIGN_F32);

/// The forms of `neg` and `abs`.
macro_rules! signed {
    ($op:literal $f16_since:expr; $f16:ident $bf16:ident $f32:ident $f64:ident) => {
        pub(crate) const $f16: Form =
            Form::new(concat!($op, "{.ftz}.htype  d:.htype, a:.htype!"), HALF, $f16_since);
        pub(crate) const $bf16: Form =
            Form::new(concat!($op, ".btype  d:.btype, a:.btype!"), HALF, since(70, 80));
        pub(crate) const $f32: Form =
            Form::new(concat!($op, "{.ftz}.f32  d:f32, a:f32"), FULL, since(10, 10));
        pub(crate) const $f64: Form = Form::new(concat!($op, ".f64  d:f64, a:f64"), FULL, since(10, 13));
    };
}

signed!("neg" since(60, 53); NEG_F16 NEG_BF16 NEG_F32 NEG_F64);
signed!("abs" since(65, 53); ABS_F16 ABS_BF16 ABS_F32 ABS_F64);

/// The float type of the instruction, or `None` if this is an integer form. Of two (`add.f32.f16`), the first.
pub(crate) fn float_type(cx: &Cx<'_>) -> Option<Ty> {
    cx.m.mods.iter().flatten().filter_map(|m| Ty::parse(m)).find(|t| t.is_float())
}

fn ty(cx: &Cx<'_>) -> Ty {
    float_type(cx).unwrap_or_else(|| panic!("{} has no float type here", cx.m.opcode))
}

/// `add`
pub(crate) fn add(cx: &mut Cx<'_>) -> Outcome {
    two_operands(cx, FBin::Add)
}

/// `sub`
pub(crate) fn sub(cx: &mut Cx<'_>) -> Outcome {
    two_operands(cx, FBin::Sub)
}

/// `mul`
pub(crate) fn mul(cx: &mut Cx<'_>) -> Outcome {
    two_operands(cx, FBin::Mul)
}

fn two_operands(cx: &mut Cx<'_>, op: FBin) -> Outcome {
    let ty = ty(cx);
    let narrow = if op == FBin::Mul { None } else { cx.m.ty(".atype") };
    let (a, b) = match narrow {
        None => (operand(cx, "a", ty), operand(cx, "b", ty)),
        Some(narrow) => {
            let a = operand(cx, "a", narrow);
            let wide = cx.b.inst(Op::FCvt(Round::Nearest), &[a], ty.arith());
            (cx.name(wide, "a_wide"), operand(cx, "c", ty))
        }
    };
    let round = rounding(cx.get(".rnd"));
    let exact = cx.b.float(op, round, cx.has(".ftz"), a, b);
    finish(cx, exact)
}

/// `mad`: the same as `fma`.
pub(crate) fn mad(cx: &mut Cx<'_>) -> Outcome {
    let ty = ty(cx);
    let [a, b, c] = ["a", "b", "c"].map(|n| operand(cx, n, ty));
    let op = Op::Fma { round: rounding(cx.get(".rnd")), ftz: cx.has(".ftz") };
    let fused = cx.b.inst(op, &[a, b, c], ty.arith());
    let fused = cx.name(fused, "fused");
    finish(cx, fused)
}

fn finish(cx: &mut Cx<'_>, v: Value) -> Outcome {
    let d = if cx.has(".sat") { saturate(cx, v) } else { v };
    cx.set("d", d);
    Ok(())
}

/// `min`
pub(crate) fn min(cx: &mut Cx<'_>) -> Outcome {
    choose(cx, Op::FMin { nan: cx.has(".NaN") })
}

/// `max`
pub(crate) fn max(cx: &mut Cx<'_>) -> Outcome {
    choose(cx, Op::FMax { nan: cx.has(".NaN") })
}

fn choose(cx: &mut Cx<'_>, op: Op) -> Outcome {
    let ty = ty(cx);
    let (a, b) = (candidate(cx, "a", ty), candidate(cx, "b", ty));
    let mut d = cx.b.inst(op, &[a, b], ty.arith());
    if cx.given("c") {
        let c = candidate(cx, "c", ty);
        d = cx.b.inst(op, &[d, c], ty.arith());
    }
    if cx.has(".xorsign") {
        d = xor_sign(cx, d, ty);
    }
    cx.set("d", d);
    Ok(())
}

/// An operand of `min` or `max` as it is compared: flushed with `.ftz`, its magnitude with `.abs`.
fn candidate(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let v = flushed(cx, name, ty);
    if cx.has(".abs") { cx.b.inst(Op::FAbs, &[v], ty.arith()) } else { v }
}

/// `.xorsign`: a result that is a number gets the exclusive or of the operands' signs (a NaN operand's sign counts too).
fn xor_sign(cx: &mut Cx<'_>, chosen: Value, ty: Ty) -> Value {
    let ints = ty.arith().to_int();
    let (a, b) = (cx.src("a"), cx.src("b"));
    let signs = cx.b.xor(a, b);
    let signs = cx.b.bitcast(signs, ints);
    let signs = cx.b.int_imm(IntBin::And, signs, sign_bit(ints));
    let signs = cx.name(signs, "xorsign");
    let is_nan = cx.b.fcmp(FCmp::Nan, chosen, chosen);
    let bits = cx.b.to_bits(chosen, ints);
    let with_sign = cx.b.or(bits, signs);
    cx.b.select(is_nan, bits, with_sign)
}

/// `neg`. A NaN of f64 is made quiet and keeps its sign (recorded on an H200), the others become canonical.
pub(crate) fn neg(cx: &mut Cx<'_>) -> Outcome {
    let ty = ty(cx);
    let a = flushed(cx, "a", ty);
    let d = if ty == Ty::F64 {
        // −0 − a is −a for every number, and gives a NaN its due.
        let zero = cx.b.fconst(Type::F64, 1 << 63);
        cx.b.float(FBin::Sub, Round::Nearest, false, zero, a)
    } else {
        cx.b.inst(Op::FNeg, &[a], ty.arith())
    };
    cx.set("d", d);
    Ok(())
}

/// `abs`. A NaN of f64 is made quiet and keeps its sign (recorded on an H200), the others become canonical.
pub(crate) fn abs(cx: &mut Cx<'_>) -> Outcome {
    let ty = ty(cx);
    let a = flushed(cx, "a", ty);
    let mut d = cx.b.inst(Op::FAbs, &[a], ty.arith());
    if ty == Ty::F64 {
        let bits = cx.src("a");
        let quiet = cx.b.int_imm(IntBin::Or, bits, 1 << 51);
        let is_nan = cx.b.fcmp(FCmp::Nan, a, a);
        let magnitude = cx.b.to_bits(d, Type::I64);
        d = cx.b.select(is_nan, quiet, magnitude);
    }
    cx.set("d", d);
    Ok(())
}

/// A source operand, flushed if the instruction has `.ftz`.
fn flushed(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let v = operand(cx, name, ty);
    if cx.has(".ftz") { cx.b.inst(Op::Ftz, &[v], ty.arith()) } else { v }
}

/// Compares two floats by one of the 14 operators (with its dot); `ftz` flushes both first. Packed floats give packed `i1`.
pub(crate) fn compare(cx: &mut Cx<'_>, cmp: &str, a: Value, b: Value, ftz: bool) -> Value {
    let op = match cmp {
        ".eq" => FCmp::Eq,
        ".ne" => FCmp::Ne,
        ".lt" => FCmp::Lt,
        ".le" => FCmp::Le,
        ".gt" => FCmp::Gt,
        ".ge" => FCmp::Ge,
        ".equ" => FCmp::Equ,
        ".neu" => FCmp::Neu,
        ".ltu" => FCmp::Ltu,
        ".leu" => FCmp::Leu,
        ".gtu" => FCmp::Gtu,
        ".geu" => FCmp::Geu,
        ".num" => FCmp::Num,
        ".nan" => FCmp::Nan,
        other => panic!("no float comparison `{other}`"),
    };
    let [a, b] = [a, b].map(|v| if ftz { cx.b.inst(Op::Ftz, &[v], cx.b.ty(v)) } else { v });
    cx.b.fcmp(op, a, b)
}

fn sign_bit(ty: Type) -> u64 {
    1 << (ty.elem.bits() - 1)
}
