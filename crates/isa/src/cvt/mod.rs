//! `cvt`: convert from one type to another.
//!
//! The legality below is that of ptxas 13.4, tried over all pairs of the types and all modifiers. Recorded on an H200, all forms but
//! those between integers × 1,024 values, without a difference.

mod float;
mod integer;

use crate::form::Class;
use crate::{Cx, Form, Instr, Match, OperandKind, Outcome, Room, Ty, since};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[ROOM];

const INTEGERS: &str = ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64";
const TO_INTEGRAL: (&str, &str) = (".irnd", ".rni .rzi .rmi .rpi");
const TO_FLOAT: (&str, &str) = (".frnd", ".rn .rz .rm .rp");
const TO_HALF: (&str, &str) = (".frnd2", ".rn .rz");

const SETS: &[(&str, &str)] = &[TO_INTEGRAL, TO_FLOAT, TO_HALF, (".dtype", INTEGERS), (".atype", INTEGERS)];
/// bf16 has no conversions from and to 8-bit integers.
const BF16: &[(&str, &str)] = &[
    TO_INTEGRAL,
    TO_FLOAT,
    TO_HALF,
    (".dtype", ".u16 .u32 .u64 .s16 .s32 .s64"),
    (".atype", ".u16 .u32 .u64 .s16 .s32 .s64"),
];

/// `cvt`
pub const ROOM: Room = Room {
    opcodes: &["cvt"],
    title: "convert from one type to another",
    doc: "Integers are cut or extended; with `.sat` they are clamped to the range of the destination instead, which may be written only \
          where that can make a difference. Floats become integers by `.rni .rzi .rmi .rpi` and are always clamped. A float conversion that may \
          lose bits needs `.rn .rz .rm` or `.rp`; one between equal types may round to an integral value. `.sat` clamps a float \
          result to [0, 1], NaN becomes +0. `.ftz` is for conversions with f32 on either side. `.relu` makes negative results +0, \
          `.satfinite` makes infinite ones the largest finite number. With two operands `a` goes to the upper half of `d`.",
    section: "9.7.9.21",
    forms: &[
        // Between integers.
        Form::new("cvt{.sat}.dtype.atype  d:>.dtype, a:>.atype", SETS, since(10, 10)),
        Form::new("cvt{.sat}.dtype.atype  d:>.dtype, a:any.atype", SETS, since(10, 10)),
        // From float to integer.
        Form::new("cvt.irnd{.ftz}{.sat}.dtype.f32  d:>.dtype, a:>.f32", SETS, since(10, 10)),
        Form::new("cvt.irnd{.sat}.dtype.f64  d:>.dtype, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt.irnd{.sat}.dtype.f16  d:>.dtype, a:>.f16!", SETS, since(10, 10)),
        Form::new("cvt.irnd.dtype.bf16  d:.dtype, a:.bf16!", BF16, since(78, 90)),
        // From integer to float.
        Form::new("cvt.frnd{.ftz}{.sat}.f32.atype  d:>.f32, a:>.atype", SETS, since(10, 10)),
        Form::new("cvt.frnd{.sat}.f64.atype  d:>.f64, a:>.atype", SETS, since(10, 13)),
        Form::new("cvt.frnd{.sat}.f16.atype  d:>.f16, a:>.atype", SETS, since(10, 10)),
        Form::new("cvt.frnd.bf16.atype  d:.bf16, a:.atype", BF16, since(78, 90)),
        // To an integral value of the same type.
        Form::new("cvt{.irnd}{.ftz}{.sat}.f32.f32  d:>.f32, a:>.f32", SETS, since(10, 10)),
        Form::new("cvt{.irnd}{.sat}.f64.f64  d:>.f64, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt{.irnd}{.sat}.f16.f16  d:>.f16, a:>.f16!", SETS, since(10, 10)),
        Form::new("cvt{.irnd}.bf16.bf16  d:.bf16, a:.bf16!", BF16, since(78, 90)),
        // To a wider float.
        Form::new("cvt{.ftz}{.sat}.f64.f32  d:>.f64, a:>.f32", SETS, since(10, 13)),
        Form::new("cvt{.ftz}{.sat}.f32.f16  d:>.f32, a:>.f16!", SETS, since(10, 10)),
        Form::new("cvt{.sat}.f64.f16  d:>.f64, a:>.f16!", SETS, since(10, 13)),
        Form::new("cvt{.ftz}.f32.bf16  d:.f32, a:.bf16!", BF16, since(71, 80))
            .needs(&[(".ftz", since(78, 90))]),
        Form::new("cvt.f64.bf16  d:.f64, a:.bf16!", BF16, since(78, 90)),
        // To a narrower float.
        Form::new("cvt.frnd{.ftz}{.sat}.f32.f64  d:>.f32, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt.frnd{.ftz}{.sat}.f16.f32  d:>.f16, a:>.f32", SETS, since(10, 10)),
        Form::new("cvt.frnd2{.relu}{.satfinite}.f16.f32  d:>.f16, a:>.f32", SETS, since(70, 53))
            .needs(&[(".relu", since(70, 80)), (".satfinite", since(81, 53))]),
        Form::new("cvt.frnd{.sat}.f16.f64  d:>.f16, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt.frnd{.ftz}.bf16.f32  d:.bf16, a:.f32", BF16, since(70, 80)),
        Form::new("cvt.frnd2{.relu}{.satfinite}.bf16.f32  d:.bf16, a:.f32", BF16, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        Form::new("cvt.frnd.bf16.f64  d:.bf16, a:.f64", BF16, since(78, 90)),
        Form::new("cvt.frnd.f16.bf16  d:.f16, a:.bf16!", BF16, since(78, 90)),
        Form::new("cvt.frnd.bf16.f16  d:.bf16, a:.f16!", BF16, since(78, 90)),
        // Two into one register.
        Form::new("cvt.frnd2{.relu}{.satfinite}.f16x2.f32  d:>.f16x2, a:>.f32, b:>.f32", SETS, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        Form::new("cvt.frnd2{.relu}{.satfinite}.bf16x2.f32  d:.bf16x2, a:.f32, b:.f32", BF16, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        // Rounding where nothing is lost, and none where something may be.
        Form::new("cvt.frnd{.ftz}.f32.bf16  d:.f32, a:.bf16!", BF16, since(71, 80))
            .needs(&[(".ftz", since(78, 90))])
            .undocumented(),
        Form::new("cvt.frnd.f64.bf16  d:.f64, a:.bf16!", BF16, since(78, 90)).undocumented(),
        Form::new("cvt.f16.bf16  d:.f16, a:.bf16!", BF16, since(78, 90)).undocumented(),
        Form::new("cvt.bf16.f16  d:.bf16, a:.f16!", BF16, since(78, 90)).undocumented(),
    ],
    rule: Some(rule),
    meaning,
    notes: &[
        "Float to integer clamps with and without `.sat`: both give the same code.",
        "NaN becomes 0 as an integer, unless the source is f64 or the destination has 64 bits: then its top bit alone.",
        "The manual also has conversions between bf16 and 8-bit integers; ptxas does not take them.",
        "With f64 on one side a NaN keeps its sign and what fits of its payload, and is made quiet; from f32 with `.ftz` it becomes \
         0x7fffffffe0000000. `cvt.f32.bf16` is a shift: a NaN keeps every bit, with `.ftz` it becomes 0x7fffffff.",
        "`.ftz` has no effect on f32 to f16: the assembler's code is the same with it, and a subnormal f32 rounded up becomes 0x0001.",
        "`cvt.ftz.f32.f64` flushes what is subnormal when rounded as if the exponent had no lower bound.",
        "Where bf16 is on either side, registers must have exactly the size of the type.",
        "Without a rounding modifier `cvt.f16.bf16` and `cvt.bf16.f16` round to nearest; ptxas takes it, the manual does not have it.",
    ],
};

/// The destination's and the source's type: the first two in the text.
fn types(m: &Match) -> (Ty, Ty) {
    let mut types = m.mods.iter().flatten().filter_map(|m| Ty::parse(m));
    let mut next = || types.next().unwrap_or_else(|| panic!("cvt without a type"));
    (next(), next())
}

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let (to, from) = types(m);
    if !to.is_float() && !from.is_float() && m.has(".sat") && integer::holds(to, from) {
        return Err(format!("{to} holds every {from}, so `.sat` could do nothing"));
    }
    let source = &instr.operands[1];
    if matches!(m.parsed.operands[1].class, Class::Any(_)) {
        return match source.kind {
            OperandKind::Special(ty) if ty != Ty::Pred && ty.bits() >= from.bits() => Ok(()),
            _ => Err(format!("`a` must be a register of type {from} or wider")),
        };
    }
    if instr.operands.iter().any(|o| o.kind == OperandKind::Sink) {
        return Err("`_` cannot stand here".into());
    }
    Ok(())
}

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let (to, from) = types(cx.m);
    let d = match (to.is_float(), from.is_float()) {
        (false, false) => integer::resize(cx, to, from),
        (true, false) => integer::to_float(cx, to, from),
        (false, true) => float::to_integer(cx, to, from),
        (true, true) if cx.given("b") => float::pack(cx, to),
        (true, true) if to == from => float::same(cx, to),
        (true, true) => float::convert(cx, to, from),
    };
    cx.set("d", d);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, Operand, find, instances, resolve};

    fn legal(mods: &[&str], d: Ty, a: OperandKind<'static>) -> bool {
        let operands = [Operand::new(OperandKind::Reg(d)), Operand::new(a)];
        resolve(&Instr { opcode: "cvt", mods, operands: &operands }, Env::NEWEST).is_ok()
    }

    /// ptxas takes this many of the 23,040 combinations of types and modifiers, and 16 that pack.
    #[test]
    fn there_are_as_many_forms_as_ptxas_takes() {
        let (entry, name) = find("cvt").unwrap();
        assert_eq!(entry.forms.iter().map(|p| instances(name, p, 1).len()).sum::<usize>(), 822);
    }

    #[test]
    fn types_keep_their_order() {
        let reg = OperandKind::Reg;
        assert!(legal(&[".rn", ".f32", ".f64"], Ty::B32, reg(Ty::B64)));
        assert!(!legal(&[".rn", ".f64", ".f32"], Ty::B64, reg(Ty::B32)));
        assert!(!legal(&[".f32", ".f64"], Ty::B64, reg(Ty::B64)));
        assert!(!legal(&[".rn", ".s32", ".f32"], Ty::B32, reg(Ty::B32)));
    }

    #[test]
    fn saturation_must_be_possible() {
        let sat = |d, a| legal(&[".sat", d, a], Ty::B64, OperandKind::Reg(Ty::B64));
        assert!(sat(".u8", ".s8") && sat(".s32", ".u32") && sat(".u64", ".s8"));
        assert!(!sat(".u16", ".u8") && !sat(".s16", ".u8") && !sat(".s64", ".s32"));
    }

    #[test]
    fn registers_may_be_wider_but_not_with_bf16() {
        let reg = OperandKind::Reg;
        assert!(legal(&[".u8", ".u32"], Ty::U64, reg(Ty::B64)));
        assert!(legal(&[".rn", ".f16", ".f32"], Ty::B32, reg(Ty::B64)));
        assert!(!legal(&[".rn", ".f16", ".f32"], Ty::U32, reg(Ty::F32)));
        assert!(!legal(&[".rn", ".bf16", ".f32"], Ty::B32, reg(Ty::F32)));
        assert!(!legal(&[".rni", ".s32", ".bf16"], Ty::S64, reg(Ty::B16)));
    }

    #[test]
    fn special_registers_are_integers() {
        let tid = OperandKind::Special(Ty::U32);
        assert!(legal(&[".u64", ".u32"], Ty::B64, tid.clone()));
        assert!(!legal(&[".u64", ".u64"], Ty::B64, tid.clone()));
        assert!(!legal(&[".rn", ".f32", ".u32"], Ty::F32, tid));
        assert!(!legal(&[".u32", ".u32"], Ty::B32, OperandKind::Sink));
    }

    #[test]
    fn constants_are_of_the_source_type() {
        assert!(legal(&[".u8", ".u32"], Ty::B32, OperandKind::Int));
        assert!(legal(&[".rni", ".s32", ".f32"], Ty::B32, OperandKind::Float(None)));
        assert!(!legal(&[".rni", ".s32", ".f32"], Ty::B32, OperandKind::Int));
        assert!(!legal(&[".f32", ".f16"], Ty::F32, OperandKind::Float(None)));
    }
}
