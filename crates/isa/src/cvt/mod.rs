//! `cvt`: convert from one type to another.
//!
//! The legality below is that of ptxas 13.4, tried over all pairs of the types and all modifiers. Recorded on an H200, all forms but
//! those between integers × 1,024 values, without a difference.

mod float;
mod integer;
mod narrow;

use crate::form::Class;
use crate::matching::stand_first;
use crate::{Cx, Form, Instr, Match, OperandKind, Outcome, Room, Ty, since};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[ROOM];

const INTEGERS: &str = ".u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64";
const TO_INTEGRAL: (&str, &str) = (".irnd", ".rni .rzi .rmi .rpi");
const TO_FLOAT: (&str, &str) = (".frnd", ".rn .rz .rm .rp");
const TO_HALF: (&str, &str) = (".frnd2", ".rn .rz");

const SETS: &[(&str, &str)] = &[TO_INTEGRAL, TO_FLOAT, TO_HALF, (".dtype", INTEGERS), (".atype", INTEGERS)];
/// Floats of 8 bits and fewer, in pairs, and tf32.
const NARROW: &[(&str, &str)] = &[
    TO_HALF,
    (".frnd3", ".rz .rp"),
    (".f8x2type", ".e4m3x2 .e5m2x2"),
    (".f6x2type", ".e2m3x2 .e3m2x2"),
    (".f4x2type", ".e2m1x2"),
    (".fp16x2type", ".f16x2 .bf16x2"),
    (".x8x4type", ".e4m3x4 .e5m2x4 .e2m3x4 .e3m2x4"),
    (".narrow", ".e4m3x2 .e5m2x2 .e2m3x2 .e3m2x2 .e2m1x2"),
    (".scale", ".scaled::n2::ue8m0"),
    (".convert", ".u16 .s16"),
    (".convert8", ".u8 .s8 .u4 .s4 .u2 .s2"),
];
/// Integers of less than a byte came later.
const SUB_BYTE: &[(&str, crate::Since)] =
    &[(".u4", since(65, 75)), (".s4", since(65, 75)), (".u2", since(65, 75)), (".s2", since(65, 75))];
/// The targets with floats of 4 and 6 bits.
const FAMILIES: &str = "100f 101f 110f 120f";
/// With numbers in fixed point.
const FIXED_POINT: &str = "100a 103a 107a 110a 120a 121a";
/// With `.rs`.
const RANDOM: &str = "100a 103a 107a";

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
        Form::new("cvt.irnd.dtype.bf16  d:.dtype, a:.bf16!", SETS, since(78, 90)),
        // From integer to float.
        Form::new("cvt.frnd{.ftz}{.sat}.f32.atype  d:>.f32, a:>.atype", SETS, since(10, 10)),
        Form::new("cvt.frnd{.sat}.f64.atype  d:>.f64, a:>.atype", SETS, since(10, 13)),
        Form::new("cvt.frnd{.sat}.f16.atype  d:>.f16, a:>.atype", SETS, since(10, 10)),
        Form::new("cvt.frnd.bf16.atype  d:.bf16, a:.atype", SETS, since(78, 90)),
        // To an integral value of the same type.
        Form::new("cvt{.irnd}{.ftz}{.sat}.f32.f32  d:>.f32, a:>.f32", SETS, since(10, 10)),
        Form::new("cvt{.irnd}{.sat}.f64.f64  d:>.f64, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt{.irnd}{.sat}.f16.f16  d:>.f16, a:>.f16!", SETS, since(10, 10)),
        Form::new("cvt{.irnd}.bf16.bf16  d:.bf16, a:.bf16!", SETS, since(78, 90)),
        // To a wider float.
        Form::new("cvt{.ftz}{.sat}.f64.f32  d:>.f64, a:>.f32", SETS, since(10, 13)),
        Form::new("cvt{.ftz}{.sat}.f32.f16  d:>.f32, a:>.f16!", SETS, since(10, 10)),
        Form::new("cvt{.sat}.f64.f16  d:>.f64, a:>.f16!", SETS, since(10, 13)),
        Form::new("cvt{.ftz}.f32.bf16  d:.f32, a:.bf16!", SETS, since(71, 80))
            .needs(&[(".ftz", since(78, 90))]),
        Form::new("cvt.f64.bf16  d:.f64, a:.bf16!", SETS, since(78, 90)),
        // To a narrower float.
        Form::new("cvt.frnd{.ftz}{.sat}.f32.f64  d:>.f32, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt.frnd{.ftz}{.sat}.f16.f32  d:>.f16, a:>.f32", SETS, since(10, 10)),
        Form::new("cvt.frnd2{.relu}{.satfinite}.f16.f32  d:>.f16, a:>.f32", SETS, since(70, 53))
            .needs(&[(".relu", since(70, 80)), (".satfinite", since(81, 53))]),
        Form::new("cvt.frnd{.sat}.f16.f64  d:>.f16, a:>.f64", SETS, since(10, 13)),
        Form::new("cvt.frnd{.ftz}.bf16.f32  d:.bf16, a:.f32", SETS, since(70, 80)),
        Form::new("cvt.frnd2{.relu}{.satfinite}.bf16.f32  d:.bf16, a:.f32", SETS, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        Form::new("cvt.frnd.bf16.f64  d:.bf16, a:.f64", SETS, since(78, 90)),
        Form::new("cvt.frnd.f16.bf16  d:.f16, a:.bf16!", SETS, since(78, 90)),
        Form::new("cvt.frnd.bf16.f16  d:.bf16, a:.f16!", SETS, since(78, 90)),
        // Two into one register.
        Form::new("cvt.frnd2{.relu}{.satfinite}.f16x2.f32  d:>.f16x2, a:>.f32, b:>.f32", SETS, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        Form::new("cvt.frnd2{.relu}{.satfinite}.bf16x2.f32  d:.bf16x2, a:.f32, b:.f32", SETS, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        // To tf32.
        Form::new("cvt.rna{.satfinite}.tf32.f32  d:.tf32, a:.f32", NARROW, since(70, 80))
            .needs(&[(".satfinite", since(81, 80))]),
        Form::new("cvt.frnd2{.relu}.tf32.f32  d:.tf32, a:.f32", NARROW, since(78, 90)),
        Form::new("cvt.frnd2.satfinite{.relu}.tf32.f32  d:.tf32, a:.f32", NARROW, since(86, 100)),
        // To and from floats of 8 bits and fewer.
        Form::new("cvt.rn.satfinite{.relu}.f8x2type.f32  d:.f8x2type, a:.f32, b:.f32", NARROW, since(81, 89))
            .sooner(since(78, 90)),
        Form::new("cvt.rn.satfinite{.relu}.f8x2type.f16x2  d:.f8x2type, a:.f16x2!", NARROW, since(81, 89))
            .sooner(since(78, 90)),
        Form::new("cvt.rn{.relu}.f16x2.f8x2type  d:.f16x2, a:.f8x2type!", NARROW, since(81, 89))
            .sooner(since(78, 90)),
        Form::new("cvt.rn.satfinite{.relu}.f8x2type.bf16x2  d:.f8x2type, a:.bf16x2!", NARROW, since(91, 100))
            .only(FAMILIES),
        Form::new(
            "cvt.rn{.relu}{.satfinite}.bf16x2.f8x2type  d:.bf16x2, a:.f8x2type!",
            NARROW,
            since(92, 100),
        )
        .only(FAMILIES),
        Form::new(
            "cvt.rn.satfinite{.relu}.f6x2type.f32  d:.f6x2type, a:.f32, b:.f32",
            NARROW,
            since(86, 100),
        )
        .only(FAMILIES),
        Form::new(
            "cvt.rn.satfinite{.relu}.f6x2type.fp16x2type  d:.f6x2type, a:.fp16x2type!",
            NARROW,
            since(91, 100),
        )
        .only(FAMILIES),
        Form::new("cvt.rn{.relu}.f16x2.f6x2type  d:.f16x2, a:.f6x2type!", NARROW, since(86, 100))
            .only(FAMILIES),
        Form::new(
            "cvt.rn{.relu}{.satfinite}.bf16x2.f6x2type  d:.bf16x2, a:.f6x2type!",
            NARROW,
            since(92, 100),
        )
        .only(FAMILIES),
        Form::new(
            "cvt.rn.satfinite{.relu}.f4x2type.f32  d:.f4x2type, a:.f32, b:.f32",
            NARROW,
            since(86, 100),
        )
        .only(FAMILIES),
        Form::new(
            "cvt.rn.satfinite{.relu}.f4x2type.fp16x2type  d:.f4x2type, a:.fp16x2type!",
            NARROW,
            since(91, 100),
        )
        .only(FAMILIES),
        Form::new("cvt.rn{.relu}.f16x2.f4x2type  d:.f16x2, a:.f4x2type!", NARROW, since(86, 100))
            .only(FAMILIES),
        Form::new(
            "cvt.rn{.relu}{.satfinite}.bf16x2.f4x2type  d:.bf16x2, a:.f4x2type!",
            NARROW,
            since(92, 100),
        )
        .only(FAMILIES),
        Form::new("cvt.frnd3{.satfinite}.ue8m0x2.f32  d:.ue8m0x2, a:.f32, b:.f32", NARROW, since(86, 100))
            .only(FAMILIES),
        Form::new("cvt.frnd3{.satfinite}.ue8m0x2.bf16x2  d:.ue8m0x2, a:.bf16x2!", NARROW, since(86, 100))
            .only(FAMILIES),
        Form::new("cvt.rn.bf16x2.ue8m0x2  d:.bf16x2, a:.ue8m0x2!", NARROW, since(86, 100)).only(FAMILIES),
        // Two integers into one register.
        Form::new("cvt.pack.sat.convert.s32  d:u32, a:s32, b:s32", NARROW, since(65, 72)),
        Form::new("cvt.pack.sat.convert8.s32.b32  d:u32, a:s32, b:s32, c:b32", NARROW, since(65, 72))
            .needs(SUB_BYTE),
        // With a power of two for each of the pair.
        Form::new(
            "cvt.rn{.relu}{.satfinite}.scale.bf16x2.narrow  d:.bf16x2, a:.narrow!, scale-factor:ue8m0x2!",
            NARROW,
            since(92, 100),
        )
        .only(FAMILIES),
        // To and from fixed point.
        Form::new("cvt.rn.satfinite{.relu}.s2f6x2.f32  d:b16, a:.f32, b:.f32", NARROW, since(91, 100))
            .only(FIXED_POINT),
        Form::new(
            "cvt.rn.satfinite{.relu}.scale.s2f6x2.f32  d:b16, a:.f32, b:.f32, scale-factor:ue8m0x2!",
            NARROW,
            since(91, 100),
        )
        .only(FIXED_POINT),
        Form::new("cvt.rn.satfinite{.relu}.s2f6x2.bf16x2  d:b16, a:.bf16x2!", NARROW, since(91, 100))
            .only(FIXED_POINT),
        Form::new(
            "cvt.rn.satfinite{.relu}.scale.s2f6x2.bf16x2  d:b16, a:.bf16x2!, scale-factor:ue8m0x2!",
            NARROW,
            since(91, 100),
        )
        .only(FIXED_POINT),
        Form::new("cvt.rn{.relu}{.satfinite}.bf16x2.s2f6x2  d:.bf16x2, a:.s2f6x2!", NARROW, since(91, 100))
            .only(FIXED_POINT),
        Form::new(
            "cvt.rn{.relu}{.satfinite}.scale.bf16x2.s2f6x2  d:.bf16x2, a:.s2f6x2!, scale-factor:ue8m0x2!",
            NARROW,
            since(91, 100),
        )
        .only(FIXED_POINT),
        // With random bits.
        Form::new(
            "cvt.rs{.relu}{.satfinite}.bf16x2.f32  d:.bf16x2, a:.f32, b:.f32, rbits:tf32!",
            NARROW,
            since(87, 100),
        )
        .only(RANDOM),
        Form::new(
            "cvt.rs{.relu}{.satfinite}.f16x2.f32  d:.f16x2, a:.f32, b:.f32, rbits:tf32!",
            NARROW,
            since(87, 100),
        )
        .only(RANDOM),
        Form::new(
            "cvt.rs{.relu}.satfinite.x8x4type.f32  d:tf32, a:4*f32, rbits:tf32!",
            NARROW,
            since(87, 100),
        )
        .only(RANDOM),
        Form::new("cvt.rs{.relu}.satfinite.e2m1x4.f32  d:bf16, a:4*f32, rbits:tf32!", NARROW, since(87, 100))
            .only(RANDOM),
        // Rounding where nothing is lost, and none where something may be.
        Form::new("cvt.frnd{.ftz}.f32.bf16  d:.f32, a:.bf16!", SETS, since(71, 80))
            .needs(&[(".ftz", since(78, 90))])
            .undocumented(),
        Form::new("cvt.frnd.f64.bf16  d:.f64, a:.bf16!", SETS, since(78, 90)).undocumented(),
        Form::new("cvt.f16.bf16  d:.f16, a:.bf16!", SETS, since(78, 90)).undocumented(),
        Form::new("cvt.bf16.f16  d:.bf16, a:.f16!", SETS, since(78, 90)).undocumented(),
    ],
    rule: Some(rule),
    meaning,
    notes: &[
        "Float to integer clamps with and without `.sat`: both give the same code.",
        "NaN becomes 0 as an integer, unless the source is f64 or the destination has 64 bits: then its top bit alone.",
        "With f64 on one side a NaN keeps its sign and what fits of its payload, and is made quiet; from f32 with `.ftz` it becomes \
         0x7fffffffe0000000. `cvt.f32.bf16` is a shift: a NaN keeps every bit, with `.ftz` it becomes 0x7fffffff.",
        "`.ftz` has no effect on f32 to f16: the assembler's code is the same with it, and a subnormal f32 rounded up becomes 0x0001.",
        "`cvt.ftz.f32.f64` flushes what is subnormal when rounded as if the exponent had no lower bound.",
        "`cvt.rna.tf32.f32` adds half a unit and cuts, NaN or not, as ptxas does it: a NaN whose payload is in the low 13 bits becomes infinite. Other conversions to tf32 give \
         0x7fffe000 for every NaN.",
        "A NaN is 0x7f in e4m3 and e5m2, the largest number where there is none, 0xff in ue8m0. Conversions to and from e2m3, e3m2, e2m1, ue8m0, and those that need sm_100 in other ways, \
         follow the manual; no recording proves them.",
        "With `.rs` random bits are added to as many of the highest that are cut, and the carry rounds away from zero; below the smallest normal number more bits are cut. Of `rbits` the \
         upper half is for `a` and the lower one for `b`, of which f16 takes 13 bits. Of four numbers of 8 or 6 bits `b` takes the upper half and `a` the same in reverse, `f` and `e` the \
         lower one; of 4 bits `b` takes bytes 3 and 1, `f` bytes 2 and 0. The manual has this in figures that say nothing of the order of bits; it is taken from what others have \
         published of a B200 and a B300, bit by bit for bf16, e4m3, e5m2 and e2m1, for f16 with results below the smallest normal number. One of them has bytes in order for 8 bits on sm_100, \
         against the two others.",
        "Scaled, the product is rounded once and bounded by `.satfinite` then. The least number in fixed point is -2 (0x80); NaN becomes the largest, 0x7f. No recording proves it.",
        "Where bf16 is on either side, registers must have exactly the size of the type: `.b8` for 8-bit integers.",
        "Without a rounding modifier `cvt.f16.bf16` and `cvt.bf16.f16` round to nearest; ptxas takes it, the manual does not have it.",
    ],
};

/// The destination's and the source's type: the first two in the text.
fn types(m: &Match) -> (Ty, Ty) {
    let mut types = m.mods.iter().flatten().filter_map(|m| Ty::parse(m));
    let mut next = || types.next().unwrap_or_else(|| panic!("cvt without a type"));
    (next(), next())
}

/// What ptxas makes functions of takes less than other conversions: `.rna` no constants but `0f…`, and `.ftz` where 64 bits are on one side registers of their
/// sizes.
fn functions_of_ptxas(m: &Match, instr: &Instr<'_>, to: Ty, from: Ty) -> Result<(), String> {
    let [d, a] = [0, 1].map(|i| instr.operands.get(i).map(|o| &o.kind));
    if m.has(".rna") && matches!(a, Some(OperandKind::Float(width)) if *width != Some(32)) {
        return Err("with `.rna` a constant is written as `0f…`".into());
    }
    let bits = |o: Option<&OperandKind<'_>>| match o {
        Some(OperandKind::Reg(ty)) => ty.bits(),
        _ => 0,
    };
    let narrows = to == Ty::F32 && from == Ty::F64;
    if !m.has(".ftz") || !narrows && (from != Ty::F32 || to.bits() != 64) {
        return Ok(());
    }
    match bits(d) > if narrows { 32 } else { 64 } || bits(a) > 64 {
        true => Err("with `.ftz` registers are no wider than the types if one of these has 64 bits".into()),
        false => Ok(()),
    }
}

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".pack"])?;
    if m.has(".pack") || m.has(".rs") {
        return Ok(());
    }
    let (to, from) = types(m);
    functions_of_ptxas(m, instr, to, from)?;
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
    if cx.has(".pack") {
        let d = narrow::pack_integers(cx);
        cx.set("d", d);
        return Ok(());
    }
    if cx.has(".rs") {
        let d = narrow::random(cx);
        cx.set("d", d);
        return Ok(());
    }
    let (to, from) = types(cx.m);
    let d = match (to.is_float(), from.is_float()) {
        _ if to.is_narrow() => narrow::pack(cx, to, from),
        _ if from.is_narrow() => narrow::unpack(cx, to, from),
        _ if to == Ty::Tf32 => narrow::tf32(cx),
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

    /// ptxas takes this many of the 23,040 combinations of types and modifiers (16 of them with registers of 8 bits), and 16 that pack; 131 more have narrow floats, fixed point, tf32 or
    /// `.pack`.
    #[test]
    fn there_are_as_many_forms_as_ptxas_takes() {
        let (entry, name) = find("cvt").unwrap();
        assert_eq!(entry.forms.iter().map(|p| instances(name, p, 1).len()).sum::<usize>(), 822 + 16 + 131);
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
        assert!(legal(&[".rni", ".s8", ".bf16"], Ty::B8, reg(Ty::B16)));
        assert!(legal(&[".rn", ".bf16", ".u8"], Ty::B16, reg(Ty::B8)));
        assert!(!legal(&[".rni", ".s8", ".bf16"], Ty::B16, reg(Ty::B16)));
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
