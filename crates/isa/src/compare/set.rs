//! `set`
//!
//! Since PTX 1.0; f16 since PTX 4.2, sm_53; bf16 since PTX 7.8, sm_90.

use super::setp::{combined, compared};
use crate::{Form, Room, Since, Ty, since};
use hostwarp_ir::{Elem, Type};

const BOOL: &str = ".and .or .xor";
const FLOAT_CMP: &str = ".eq .ne .lt .le .gt .ge .equ .neu .ltu .leu .gtu .geu .num .nan";

/// The sets for one kind of source.
macro_rules! sets {
    ($cmp:expr, $dtype:literal, $type:literal) => {
        &[(".cmp", $cmp), (".bool", BOOL), (".dtype", $dtype), (".type", $type)]
    };
}

const SIGNED_CMP: &str = ".eq .ne .lt .le .gt .ge";
const UNSIGNED_CMP: &str = ".eq .ne .lt .le .gt .ge .lo .ls .hi .hs";
const SIGNED: &[(&str, &str)] = sets!(SIGNED_CMP, ".u32 .s32 .f32", ".s16 .s32 .s64");
const UNSIGNED: &[(&str, &str)] = sets!(UNSIGNED_CMP, ".u32 .s32 .f32", ".u16 .u32 .u64");
const BITS: &[(&str, &str)] = sets!(".eq .ne", ".u32 .s32 .f32", ".b16 .b32 .b64");
const FLOAT: &[(&str, &str)] = sets!(FLOAT_CMP, ".u32 .s32 .f32", ".f32 .f64");
const F16: &[(&str, &str)] = sets!(FLOAT_CMP, ".f16 .u16 .s16 .u32 .s32", ".f16");
const BF16: &[(&str, &str)] = sets!(FLOAT_CMP, ".bf16 .u16 .s16 .u32 .s32", ".bf16");
const F16X2: &[(&str, &str)] = sets!(FLOAT_CMP, ".f16x2", ".f16x2");
const BF16X2: &[(&str, &str)] = sets!(FLOAT_CMP, ".bf16x2", ".bf16x2");
/// Pairs into integers.
const F16X2_MASKS: &[(&str, &str)] = sets!(FLOAT_CMP, ".u32 .s32", ".f16x2");
const BF16X2_MASKS: &[(&str, &str)] = sets!(FLOAT_CMP, ".u32 .s32", ".bf16x2");
/// Anything but halves into a half, anything but bf16 into bf16.
const SIGNED_TO_F16: &[(&str, &str)] = sets!(SIGNED_CMP, ".f16", ".s16 .s32 .s64");
const UNSIGNED_TO_F16: &[(&str, &str)] = sets!(UNSIGNED_CMP, ".f16", ".u16 .u32 .u64");
const BITS_TO_F16: &[(&str, &str)] = sets!(".eq .ne", ".f16", ".b16 .b32 .b64");
const FLOAT_TO_F16: &[(&str, &str)] = sets!(FLOAT_CMP, ".f16", ".f32 .f64");
const SIGNED_TO_BF16: &[(&str, &str)] = sets!(SIGNED_CMP, ".bf16", ".s16 .s32 .s64");
const UNSIGNED_TO_BF16: &[(&str, &str)] = sets!(UNSIGNED_CMP, ".bf16", ".u16 .u32 .u64");
const BITS_TO_BF16: &[(&str, &str)] = sets!(".eq .ne", ".bf16", ".b16 .b32 .b64");
const FLOAT_TO_BF16: &[(&str, &str)] = sets!(FLOAT_CMP, ".bf16", ".f32 .f64");
const F16_TO_BF16: &[(&str, &str)] = sets!(FLOAT_CMP, ".bf16", ".f16");

/// Halves compared into integers.
const INTEGER: &[(&str, Since)] =
    &[(".u16", since(65, 53)), (".s16", since(65, 53)), (".u32", since(65, 53)), (".s32", since(65, 53))];

/// `set`
pub const ROOM: Room = Room {
    opcodes: &["set"],
    title: "compare, giving a number",
    doc: "All ones or 0 with an integer `.dtype`, 1.0 or 0 with a float one. The comparison and what `c` does are as in `setp`.",
    section: "9.7.6.1",
    forms: &[
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", SIGNED, since(10, 10)),
        Form::new("set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred", SIGNED, since(10, 10)),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", UNSIGNED, since(10, 10)),
        Form::new("set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred", UNSIGNED, since(10, 10)),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", BITS, since(10, 10)),
        Form::new("set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred", BITS, since(10, 10)),
        Form::new("set.cmp{.ftz}.dtype.type  d:.dtype, a:.type, b:.type", FLOAT, since(10, 10)),
        Form::new(
            "set.cmp.bool{.ftz}.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred",
            FLOAT,
            since(10, 10),
        ),
        Form::new("set.cmp{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!", F16, since(42, 53))
            .needs(INTEGER),
        Form::new(
            "set.cmp.bool{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred",
            F16,
            since(42, 53),
        )
        .needs(INTEGER),
        Form::new("set.cmp{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!", F16X2, since(42, 53)),
        Form::new(
            "set.cmp.bool{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred",
            F16X2,
            since(42, 53),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type!, b:.type!", BF16, since(78, 90)),
        Form::new("set.cmp.bool.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred!", BF16, since(78, 90)),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type!, b:.type!", BF16X2, since(78, 90)),
        Form::new("set.cmp.bool.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred!", BF16X2, since(78, 90)),
        Form::new("set.cmp{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!", F16X2_MASKS, since(65, 53)),
        Form::new(
            "set.cmp.bool{.ftz}.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred",
            F16X2_MASKS,
            since(65, 53),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type!, b:.type!", BF16X2_MASKS, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred!",
            BF16X2_MASKS,
            since(78, 90),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", SIGNED_TO_F16, since(42, 53)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred",
            SIGNED_TO_F16,
            since(42, 53),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", UNSIGNED_TO_F16, since(42, 53)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred",
            UNSIGNED_TO_F16,
            since(42, 53),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", BITS_TO_F16, since(42, 53)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred",
            BITS_TO_F16,
            since(42, 53),
        ),
        Form::new("set.cmp{.ftz}.dtype.type  d:.dtype, a:.type, b:.type", FLOAT_TO_F16, since(42, 53)),
        Form::new(
            "set.cmp.bool{.ftz}.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred",
            FLOAT_TO_F16,
            since(42, 53),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", SIGNED_TO_BF16, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred!",
            SIGNED_TO_BF16,
            since(78, 90),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", UNSIGNED_TO_BF16, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred!",
            UNSIGNED_TO_BF16,
            since(78, 90),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", BITS_TO_BF16, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred!",
            BITS_TO_BF16,
            since(78, 90),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type, b:.type", FLOAT_TO_BF16, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type, b:.type, {!}c:pred!",
            FLOAT_TO_BF16,
            since(78, 90),
        ),
        Form::new("set.cmp.dtype.type  d:.dtype, a:.type!, b:.type!", F16_TO_BF16, since(78, 90)),
        Form::new(
            "set.cmp.bool.dtype.type  d:.dtype, a:.type!, b:.type!, {!}c:pred!",
            F16_TO_BF16,
            since(78, 90),
        ),
    ],
    rule: Some(|m, _| match m.ty(".type") {
        Some(Ty::F64) if m.has(".ftz") => Err("`.ftz` does not go with `.f64`".into()),
        _ => Ok(()),
    }),
    meaning: |cx| {
        let dtype = cx.ty(".dtype");
        let t = compared(cx);
        let t = combined(cx, t);
        // Two comparisons share an integer as they share a register of halves.
        let ty = match cx.b.ty(t).count {
            2 => Type { elem: Elem::I16, count: 2 },
            _ => dtype.arith().to_int(),
        };
        let yes = match dtype {
            Ty::F32 => 0x3f80_0000,
            Ty::F16 | Ty::F16x2 => 0x3c00,
            Ty::BF16 | Ty::BF16x2 => 0x3f80,
            _ => u64::MAX,
        };
        let (yes, no) = (cx.b.iconst(ty, yes), cx.b.iconst(ty, 0));
        let d = cx.b.select(t, yes, no);
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "Of two halves into `.u32` or `.s32` each gives 16 bits, all ones or 0. The manual's pseudo-code asks in two places for the type of the source where that of the \
         destination is meant.",
    ],
};
