//! `mov`
//!
//! Since PTX 1.0; `.b128` since PTX 8.3, sm_70.

use crate::matching::go_together;
use crate::{Cx, Form, Instr, Kind, Match, Operand, OperandKind, Outcome, Room, Ty, since};
use hostwarp_ir::{Elem, Type, Value};

const TYPES: &str = ".pred .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64";
const SETS: &[(&str, &str)] = &[(".type", TYPES)];
const WIDE: &[(&str, &str)] = &[(".type", ".b128")];
const VECTOR: &[(&str, &str)] =
    &[(".vec", ".v2 .v4"), (".type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")];

/// `mov`
pub const ROOM: Room = Room {
    opcodes: &["mov"],
    title: "copy, take an address, pack or unpack",
    doc: "The source is a register, a constant, a special register, or the name of a variable, whose address in its own state space it then is. With a \
          `.b` type either side may be a vector in braces: the elements fill the value from the lowest bits up, all equally wide. `_` drops an \
          element.",
    section: "9.7.9.3",
    forms: &[
        Form::new("mov.type  d:any.type, {!}a:any.type", SETS, since(10, 10)),
        Form::new("mov.type  d:any.type, a:any.type", WIDE, since(83, 70)),
        Form::new("mov.vec.type  d:vec.type, a:vec.type", VECTOR, since(10, 10)),
    ],
    rule: Some(rule),
    meaning,
    notes: &[
        "`mov.pred` also takes a complemented predicate and the constants 0 and 1; the manual's syntax shows neither.",
        "`mov.v4` copies the special registers of four components whole: `%tid`, `%ntid`, `%ctaid`, `%nctaid` and those of clusters.",
        "Special registers may be read in half their width, as in the first PTX versions; `%tid %ntid %ctaid %nctaid %gridid` only.",
    ],
};

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let Some(ty) = m.ty(".type") else { return Ok(()) };
    let [d, a] = instr.operands else { return Ok(()) };
    if d.selector.is_some() || a.selector.is_some() {
        return Err("a register takes no selector here".into());
    }
    if m.unclear.is_some() && m.get(".vec").is_none() {
        return with_predicates(ty, d, a);
    }
    if let Some(vec) = m.get(".vec") {
        if vec == ".v4" && ty.bits() > 32 {
            return Err("at most 128 bits can be moved at once".into());
        }
        return [d, a].into_iter().try_for_each(|side| match &side.kind {
            OperandKind::Vector(es) => es.iter().try_for_each(|e| match e.kind {
                OperandKind::Reg(reg) if reg.bits() != ty.bits() => {
                    Err(format!("a register of type {reg} does not go with {ty}"))
                }
                _ => Ok(()),
            }),
            _ => Ok(()),
        });
    }
    if a.not && (ty != Ty::Pred || a.kind != OperandKind::Reg(Ty::Pred)) {
        return Err("only a predicate register can be complemented".into());
    }
    match (&d.kind, &a.kind) {
        (OperandKind::Vector(_), OperandKind::Vector(_)) => {
            return Err("one side must be a single value; `mov.v2` and `mov.v4` copy vectors".into());
        }
        (OperandKind::Vector(es), _) if es.iter().all(|e| e.kind == OperandKind::Sink) => {
            return Err("at least one element must be a register, to tell how wide they are".into());
        }
        (OperandKind::Reg(_), _) => register(ty, d)?,
        (OperandKind::Vector(es), _) => elements(ty, es, true)?,
        _ => return Err("the destination must be a register or a vector of registers".into()),
    }
    match &a.kind {
        OperandKind::Reg(_) => register(ty, a),
        OperandKind::Vector(es) => elements(ty, es, false),
        OperandKind::Special(reg) => special(ty, *reg),
        OperandKind::Int if ty.is_float() => Err(format!("{ty} wants a float constant")),
        OperandKind::Float(width) => match (ty, width) {
            (Ty::F32 | Ty::F64 | Ty::B64, None) | (Ty::F32 | Ty::F64, _) => Ok(()),
            (_, Some(w)) if ty.kind() == Kind::Bits && ty.bits() == *w => Ok(()),
            _ => Err(format!("a float constant does not go with {ty}")),
        },
        OperandKind::Int => Ok(()),
        OperandKind::Name => match (ty.kind(), ty.bits()) {
            // Cut or extended, as ptxas does it.
            (Kind::Bits | Kind::Unsigned | Kind::Signed, _) => Ok(()),
            _ => Err(format!("an address does not go with {ty}")),
        },
        OperandKind::Sink => Err("`_` is no source".into()),
        OperandKind::Label => Err("the address of a label cannot be taken".into()),
        _ => Err("the source must be a register, a constant, a name or a vector".into()),
    }
}

/// A register that holds a value of this type; constants are fine as vector elements.
fn register(ty: Ty, op: &Operand<'_>) -> Result<(), String> {
    match op.kind {
        OperandKind::Reg(reg)
            if !(ty.accepts(reg) || reg == Ty::F16x2 && ty.bits() == 32 && !ty.is_float()) =>
        {
            Err(format!("a register of type {reg} does not go with {ty}"))
        }
        _ => Ok(()),
    }
}

/// Elements that together are as wide as the type.
fn elements(ty: Ty, es: &[Operand<'_>], dest: bool) -> Result<(), String> {
    if ty.kind() != Kind::Bits {
        return Err(format!("only `.b` types are packed and unpacked, not {ty}"));
    }
    if !matches!(es.len(), 1 | 2 | 4) {
        return Err(format!("a vector has 2 or 4 elements, not {}", es.len()));
    }
    go_together(es).map_err(|why| format!("a vector {why}"))?;
    let is_float = |e: &Operand<'_>| matches!(e.kind, OperandKind::Float(_));
    if es.iter().any(is_float) && !es.iter().any(|e| matches!(e.kind, OperandKind::Reg(_))) {
        return Err("an element must be a register".into());
    }
    es.iter().try_for_each(|e| match e.kind {
        OperandKind::Reg(Ty::Pred) => Err("a predicate is no element of a vector".to_string()),
        OperandKind::Reg(reg) if reg.bits() * es.len() as u32 == ty.bits() => Ok(()),
        OperandKind::Reg(reg) => Err(format!("{} elements of type {reg} are not as wide as {ty}", es.len())),
        OperandKind::Sink if dest => Ok(()),
        OperandKind::Int if !dest => Ok(()),
        OperandKind::Float(Some(bits)) if !dest && bits * es.len() as u32 == ty.bits() => Ok(()),
        OperandKind::Special(reg) if !dest && reg.bits() * es.len() as u32 == ty.bits() => Ok(()),
        _ => Err("an element must be a register".into()),
    })
}

/// A vector of bits with predicates in it on one side, a register of bits on the other.
fn with_predicates(ty: Ty, d: &Operand<'_>, a: &Operand<'_>) -> Result<(), String> {
    let no_predicate = || Err("a predicate is no element of a vector".to_string());
    let (OperandKind::Vector(es), OperandKind::Reg(whole)) = (match (&d.kind, &a.kind) {
        (OperandKind::Vector(_), other) => (&d.kind, other),
        (other, vector) => (vector, other),
    }) else {
        return no_predicate();
    };
    let share = ty.bits() / es.len().max(1) as u32;
    let element = |e: &Operand<'_>| match e.kind {
        OperandKind::Reg(reg) => reg == Ty::Pred || reg.kind() == Kind::Bits && reg.bits() == share,
        _ => false,
    };
    let first_is_whole = es.iter().any(|e| !matches!(e.kind, OperandKind::Reg(Ty::Pred)));
    match matches!(es.len(), 2 | 4) && first_is_whole && es.iter().all(element) && ty.accepts(*whole) {
        true => Ok(()),
        false => no_predicate(),
    }
}

/// The first PTX versions had 16-bit thread indices and a 32-bit grid number; ptxas still takes those widths.
fn special(ty: Ty, reg: Ty) -> Result<(), String> {
    let fits = match ty.kind() {
        Kind::Float | Kind::Packed => false,
        Kind::Pred => reg == Ty::Pred,
        _ => reg != Ty::Pred && ty.bits() <= reg.bits() && ty.bits() * 2 >= reg.bits(),
    };
    if fits { Ok(()) } else { Err(format!("a special register of type {reg} does not go with {ty}")) }
}

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let ty = cx.ty(".type");
    let source = cx.elements("a");
    if cx.get(".vec").is_some() {
        cx.set_elements("d", source);
        return Ok(());
    }
    let whole = pack(cx, &source, ty.container());
    match cx.len("d") {
        0 | 1 => cx.set("d", whole),
        n => {
            let parts = unpack(cx, whole, n);
            cx.set_elements("d", parts);
        }
    }
    Ok(())
}

/// One value from equally wide elements, the first in the lowest bits.
fn pack(cx: &mut Cx<'_>, elements: &[Value], ty: Type) -> Value {
    match elements {
        [one] => *one,
        many => {
            let built = cx.b.build(many);
            cx.b.bitcast(built, ty)
        }
    }
}

/// `n` equally wide elements, the first from the lowest bits.
fn unpack(cx: &mut Cx<'_>, whole: Value, n: usize) -> Vec<Value> {
    let bits = cx.b.ty(whole).bits() / n as u32;
    let elem = Elem::int(bits).unwrap_or(Elem::I64);
    let parts = cx.b.bitcast(whole, Type::new(elem, n as u8));
    (0..n as u8).map(|i| cx.b.extract(parts, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{evaluate, reg, shape, sink, vector};
    use crate::{Env, Misfit, resolve};

    #[test]
    fn elements_fill_from_the_lowest_bits_up() {
        let halves = vector(&[reg(Ty::B16), reg(Ty::U16), reg(Ty::S16), reg(Ty::B16)]);
        let packed = evaluate(
            &shape("mov.b64", &[reg(Ty::F64), halves]),
            &[vec![0x1111], vec![0x2222], vec![0x3333], vec![0x4444]],
        );
        assert_eq!(packed, [[0x4444_3333_2222_1111]]);
        let unpacked = evaluate(
            &shape("mov.b64", &[vector(&[sink(), reg(Ty::F32)]), reg(Ty::B64)]),
            &[vec![0x2_0000_0001]],
        );
        assert_eq!(unpacked, [[1], [2]]);
        // 128 bits are two words of 64.
        let wide = evaluate(
            &shape("mov.b128", &[reg(Ty::B128), vector(&vec![reg(Ty::B32); 4])]),
            &[vec![1], vec![2], vec![3], vec![4]],
        );
        assert_eq!(wide, [[0x2_0000_0001, 0x4_0000_0003]]);
    }

    #[test]
    fn parts_must_make_up_the_whole() {
        let why = |head: &'static str, d: Operand<'static>, a: Operand<'static>| {
            let ty = &head[3..];
            match resolve(&Instr { opcode: "mov", mods: &[ty], operands: &[d, a] }, Env::NEWEST) {
                Err((_, misfits)) => match &misfits[..] {
                    [Misfit::Rule(why)] => why.clone(),
                    other => panic!("{other:?}"),
                },
                Ok(_) => String::new(),
            }
        };
        let halves = || vector(&[reg(Ty::B16), reg(Ty::B16)]);
        assert_eq!(why("mov.b32", reg(Ty::B32), halves()), "");
        assert_eq!(why("mov.b64", reg(Ty::B64), halves()), "2 elements of type .b16 are not as wide as .b64");
        assert_eq!(
            why("mov.u32", reg(Ty::U32), halves()),
            "only `.b` types are packed and unpacked, not .u32"
        );
        assert!(why("mov.b32", halves(), halves()).starts_with("one side must be a single value"));
        assert!(why("mov.b32", vector(&[sink(), sink()]), reg(Ty::B32)).starts_with("at least one"));
        assert_eq!(
            why("mov.u32", reg(Ty::U32), reg(Ty::F32)),
            "a register of type .f32 does not go with .u32"
        );
    }
}
