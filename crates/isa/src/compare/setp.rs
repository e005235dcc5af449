//! `setp`
//!
//! Since PTX 1.0; f16 since PTX 4.2, sm_53; bf16 since PTX 7.8, sm_90.

use crate::{Cx, Form, OperandKind, Outcome, Room, Ty, since};
use hostwarp_ir::{IntBin, IntCmp, Value};

const FLOAT_CMP: &str = ".eq .ne .lt .le .gt .ge .equ .neu .ltu .leu .gtu .geu .num .nan";
const BITS: &[(&str, &str)] = &[(".cmp", ".eq .ne"), (".bool", BOOL), (".type", ".b16 .b32 .b64")];
const SIGNED: &[(&str, &str)] =
    &[(".cmp", ".eq .ne .lt .le .gt .ge"), (".bool", BOOL), (".type", ".s16 .s32 .s64")];
const UNSIGNED: &[(&str, &str)] =
    &[(".cmp", ".eq .ne .lt .le .gt .ge .lo .ls .hi .hs"), (".bool", BOOL), (".type", ".u16 .u32 .u64")];
const FLOAT: &[(&str, &str)] = &[(".cmp", FLOAT_CMP), (".bool", BOOL), (".type", ".f32 .f64")];
const F16: &[(&str, &str)] = &[(".cmp", FLOAT_CMP), (".bool", BOOL), (".type", ".f16")];
const F16X2: &[(&str, &str)] = &[(".cmp", FLOAT_CMP), (".bool", BOOL), (".type", ".f16x2")];
const BF16: &[(&str, &str)] = &[(".cmp", FLOAT_CMP), (".bool", BOOL), (".type", ".bf16")];
const BF16X2: &[(&str, &str)] = &[(".cmp", FLOAT_CMP), (".bool", BOOL), (".type", ".bf16x2")];
const BOOL: &str = ".and .or .xor";

/// `setp`
pub const ROOM: Room = Room {
    opcodes: &["setp"],
    title: "compare, giving a predicate",
    doc: "`p` is the comparison, `q` its opposite; with `.and .or .xor` each is then combined with `c`. `.lo .ls .hi .hs` are `.lt .le .gt .ge` of \
          unsigned types. Float comparisons are false when an operand is NaN, those ending in `u` are true; `.num` and `.nan` ask just that. The packed \
          forms compare half by half: `p` is the lower, `q` the upper one.",
    section: "9.7.6.2",
    forms: &[
        Form::new("setp.cmp.type  p:pred?{|q:pred?}, a:.type, b:.type", SIGNED, since(10, 10)),
        Form::new(
            "setp.cmp.bool.type  p:pred?{|q:pred?}, a:.type, b:.type, {!}c:pred",
            SIGNED,
            since(10, 10),
        ),
        Form::new("setp.cmp.type  p:pred?{|q:pred?}, a:.type, b:.type", UNSIGNED, since(10, 10)),
        Form::new(
            "setp.cmp.bool.type  p:pred?{|q:pred?}, a:.type, b:.type, {!}c:pred",
            UNSIGNED,
            since(10, 10),
        ),
        Form::new("setp.cmp.type  p:pred?{|q:pred?}, a:.type, b:.type", BITS, since(10, 10)),
        Form::new("setp.cmp.bool.type  p:pred?{|q:pred?}, a:.type, b:.type, {!}c:pred", BITS, since(10, 10)),
        Form::new("setp.cmp{.ftz}.type  p:pred?{|q:pred?}, a:.type, b:.type", FLOAT, since(10, 10)),
        Form::new(
            "setp.cmp.bool{.ftz}.type  p:pred?{|q:pred?}, a:.type, b:.type, {!}c:pred",
            FLOAT,
            since(10, 10),
        ),
        Form::new("setp.cmp{.ftz}.type  p:pred?, a:.type!, b:.type!", F16, since(42, 53)),
        Form::new("setp.cmp.bool{.ftz}.type  p:pred?, a:.type!, b:.type!, {!}c:pred", F16, since(42, 53)),
        Form::new("setp.cmp{.ftz}.type  p:pred?{|q:pred?}, a:.type!, b:.type!", F16X2, since(42, 53)),
        Form::new(
            "setp.cmp.bool{.ftz}.type  p:pred?{|q:pred?}, a:.type!, b:.type!, {!}c:pred",
            F16X2,
            since(42, 53),
        ),
        Form::new("setp.cmp.type  p:pred?, a:.type!, b:.type!", BF16, since(78, 90)),
        Form::new("setp.cmp.bool.type  p:pred?, a:.type!, b:.type!, {!}c:pred!", BF16, since(78, 90)),
        Form::new("setp.cmp.type  p:pred?{|q:pred?}, a:.type!, b:.type!", BF16X2, since(78, 90)),
        Form::new(
            "setp.cmp.bool.type  p:pred?{|q:pred?}, a:.type!, b:.type!, {!}c:pred!",
            BF16X2,
            since(78, 90),
        ),
    ],
    rule: Some(|m, instr| match (m.ty(".type"), instr.operands.first().map(|d| &d.kind)) {
        (Some(Ty::F64), _) if m.has(".ftz") => Err("`.ftz` does not go with `.f64`".into()),
        (_, Some(OperandKind::Pair(p, q))) if p.kind == OperandKind::Sink && q.kind == OperandKind::Sink => {
            Err("one of the two predicates must be kept".into())
        }
        _ => Ok(()),
    }),
    meaning,
    notes: &["`q` of a packed form may be left out, which the manual's syntax does not show."],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let t = compared(cx);
    if cx.b.ty(t).count == 2 {
        for (name, half) in [("p", 0), ("q", 1)] {
            let t = cx.b.extract(t, half);
            result(cx, name, t);
        }
    } else {
        result(cx, "p", t);
        if cx.m.slot("q").is_some() {
            let opposite = cx.b.not(t);
            result(cx, "q", opposite);
        }
    }
    Ok(())
}

/// The comparison of `a` and `b`; a packed `i1` for packed types.
pub(super) fn compared(cx: &mut Cx<'_>) -> Value {
    let ty = cx.ty(".type");
    let (a, b) = (cx.arith("a", ty), cx.arith("b", ty));
    let cmp = cx.get(".cmp").unwrap_or_default();
    let t = if ty.is_float() {
        crate::float::arith::compare(cx, cmp, a, b, cx.has(".ftz"))
    } else {
        compare(cx, cmp, a, b, ty.is_signed())
    };
    cx.name(t, "t")
}

/// A comparison combined with `c`, if there is one.
pub(super) fn combined(cx: &mut Cx<'_>, t: Value) -> Value {
    let op = match cx.get(".bool") {
        None => return t,
        Some(".and") => IntBin::And,
        Some(".or") => IntBin::Or,
        Some(_) => IntBin::Xor,
    };
    let c = cx.src("c");
    let count = cx.b.ty(t).count;
    let c = cx.b.splat(c, count);
    cx.b.int(op, t, c)
}

/// Writes a predicate, if somebody asked for it.
fn result(cx: &mut Cx<'_>, name: &str, t: Value) {
    if cx.given(name) {
        let t = combined(cx, t);
        cx.set(name, t);
    }
}

/// An integer comparison by its operator (with its dot).
fn compare(cx: &mut Cx<'_>, cmp: &str, a: Value, b: Value, signed: bool) -> Value {
    let (lt, le) = if signed { (IntCmp::LtS, IntCmp::LeS) } else { (IntCmp::LtU, IntCmp::LeU) };
    let (op, a, b) = match cmp {
        ".eq" => (IntCmp::Eq, a, b),
        ".ne" => (IntCmp::Ne, a, b),
        ".lt" | ".lo" => (lt, a, b),
        ".le" | ".ls" => (le, a, b),
        ".gt" | ".hi" => (lt, b, a),
        _ => (le, b, a),
    };
    cx.b.cmp(op, a, b)
}

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, pair, reg, shape, sink};

    /// `q` is the opposite before `c` comes in, not after.
    #[test]
    fn both_predicates_are_combined() {
        let p = || reg(Ty::Pred);
        let and = shape("setp.lt.and.s32", &[pair(p(), p()), reg(Ty::S32), reg(Ty::S32), p()]);
        let results = evaluate(&and, &[vec![0xffff_ffff, 1, 0xffff_ffff, 1], vec![0; 4], vec![1, 1, 0, 0]]);
        assert_eq!(results, [[1, 0, 0, 0], [0, 1, 0, 0]]);
    }

    #[test]
    fn halves_have_a_predicate_each() {
        let halves = shape("setp.gt.f16x2", &[pair(sink(), reg(Ty::Pred)), reg(Ty::B32), reg(Ty::B32)]);
        // Upper: 2 > 1, lower: NaN.
        assert_eq!(evaluate(&halves, &[vec![0x4000_7e00], vec![0x3c00_0000]]), [[0], [1]]);
    }
}
