//! `wgmma`: matrices multiplied by four warps at once, in the background.
//!
//! Since PTX 8.0, sm_90a only.

use super::{count, operand, room};
use crate::matching::stand_first;
use crate::{Form, Instr, Match, OperandKind, Room, Since, since};

const SETS: &[(&str, &str)] = &[
    (
        ".k8",
        ".m64n8k8 .m64n16k8 .m64n24k8 .m64n32k8 .m64n40k8 .m64n48k8 .m64n56k8 .m64n64k8 .m64n72k8 .m64n80k8 .m64n88k8 .m64n96k8 .m64n104k8 .m64n112k8 .m64n120k8 .m64n128k8 .m64n136k8 .m64n144k8 .m64n152k8 .m64n160k8 .m64n168k8 .m64n176k8 .m64n184k8 .m64n192k8 .m64n200k8 .m64n208k8 .m64n216k8 .m64n224k8 .m64n232k8 .m64n240k8 .m64n248k8 .m64n256k8",
    ),
    (
        ".k16",
        ".m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 .m64n40k16 .m64n48k16 .m64n56k16 .m64n64k16 .m64n72k16 .m64n80k16 .m64n88k16 .m64n96k16 .m64n104k16 .m64n112k16 .m64n120k16 .m64n128k16 .m64n136k16 .m64n144k16 .m64n152k16 .m64n160k16 .m64n168k16 .m64n176k16 .m64n184k16 .m64n192k16 .m64n200k16 .m64n208k16 .m64n216k16 .m64n224k16 .m64n232k16 .m64n240k16 .m64n248k16 .m64n256k16",
    ),
    (
        ".k32",
        ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n40k32 .m64n48k32 .m64n56k32 .m64n64k32 .m64n72k32 .m64n80k32 .m64n88k32 .m64n96k32 .m64n104k32 .m64n112k32 .m64n120k32 .m64n128k32 .m64n136k32 .m64n144k32 .m64n152k32 .m64n160k32 .m64n168k32 .m64n176k32 .m64n184k32 .m64n192k32 .m64n200k32 .m64n208k32 .m64n216k32 .m64n224k32 .m64n232k32 .m64n240k32 .m64n248k32 .m64n256k32",
    ),
    (
        ".k64",
        ".m64n8k64 .m64n16k64 .m64n24k64 .m64n32k64 .m64n40k64 .m64n48k64 .m64n56k64 .m64n64k64 .m64n72k64 .m64n80k64 .m64n88k64 .m64n96k64 .m64n104k64 .m64n112k64 .m64n120k64 .m64n128k64 .m64n136k64 .m64n144k64 .m64n152k64 .m64n160k64 .m64n168k64 .m64n176k64 .m64n184k64 .m64n192k64 .m64n200k64 .m64n208k64 .m64n216k64 .m64n224k64 .m64n232k64 .m64n240k64 .m64n248k64 .m64n256k64",
    ),
    (
        ".i32",
        ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n48k32 .m64n64k32 .m64n80k32 .m64n96k32 .m64n112k32 .m64n128k32 .m64n144k32 .m64n160k32 .m64n176k32 .m64n192k32 .m64n208k32 .m64n224k32 .m64n240k32 .m64n256k32",
    ),
    (
        ".i64",
        ".m64n8k64 .m64n16k64 .m64n24k64 .m64n32k64 .m64n48k64 .m64n64k64 .m64n80k64 .m64n96k64 .m64n112k64 .m64n128k64 .m64n144k64 .m64n160k64 .m64n176k64 .m64n192k64 .m64n208k64 .m64n224k64 .m64n240k64 .m64n256k64",
    ),
    (
        ".k256",
        ".m64n8k256 .m64n16k256 .m64n24k256 .m64n32k256 .m64n48k256 .m64n64k256 .m64n80k256 .m64n96k256 .m64n112k256 .m64n128k256 .m64n144k256 .m64n160k256 .m64n176k256 .m64n192k256 .m64n208k256 .m64n224k256 .m64n240k256 .m64n256k256",
    ),
    (".dtype", ".f16 .f32"),
    (".f8", ".e4m3 .e5m2"),
    (".f8b", ".e4m3 .e5m2"),
    (".byte", ".u8 .s8"),
    (".byte2", ".u8 .s8"),
];

/// Integers with a sign times some without.
const MIXED: &[(&str, Since)] = &[(".u8.s8", since(84, 90))];

macro_rules! form {
    ($syntax:literal) => {
        Form::new($syntax, SETS, since(80, 90)).needs(MIXED).only("90a").later()
    };
}
macro_rules! sparse {
    ($syntax:literal) => {
        Form::new($syntax, SETS, since(82, 90)).needs(MIXED).only("90a").later()
    };
}

/// `wgmma`
pub const ROOM: Room = room(
    &["wgmma"],
    "multiply matrices and add, in the background",
    "9.7.16.5",
    &[
        form!("wgmma.fence.sync{.aligned}"),
        form!("wgmma.commit_group.sync{.aligned}"),
        form!("wgmma.wait_group.sync{.aligned}  n:u32#<0..>"),
        form!(
            "wgmma.mma_async.sync{.aligned}.k16.dtype.f16.f16  d:*.dtype, a:b64!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, k:s32#<0..1>, l:s32#<0..1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k16.dtype.f16.f16  d:*.dtype, a:4*b32!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, l:s32#<0..1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k16.f32.bf16.bf16  d:*f32, a:b64!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, k:s32#<0..1>, l:s32#<0..1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k16.f32.bf16.bf16  d:*f32, a:4*b32!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, l:s32#<0..1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32  d:*f32, a:b64!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k8.f32.tf32.tf32  d:*f32, a:4*b32!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k32.dtype.f8.f8b  d:*.dtype, a:b64!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.k32.dtype.f8.f8b  d:*.dtype, a:4*b32!, b:b64!, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.i32{.satfinite}.s32.byte.byte2  d:*s32, a:b64!, b:b64!, s:pred<0..1>"
        ),
        form!(
            "wgmma.mma_async.sync{.aligned}.i32{.satfinite}.s32.byte.byte2  d:*s32, a:4*b32!, b:b64!, s:pred<0..1>"
        ),
        form!("wgmma.mma_async.sync{.aligned}.k256.s32.b1.b1.and.popc  d:*s32, a:b64!, b:b64!, s:pred<0..1>"),
        form!(
            "wgmma.mma_async.sync{.aligned}.k256.s32.b1.b1.and.popc  d:*s32, a:4*b32!, b:b64!, s:pred<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k32.dtype.f16.f16  d:*.dtype, a:b64!, b:b64!, e:b32!, f:u32#<0..1>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, k:s32#<0..1>, l:s32#<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k32.dtype.f16.f16  d:*.dtype, a:4*b32!, b:b64!, e:b32!, f:u32#<0..1>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, l:s32#<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k32.f32.bf16.bf16  d:*f32, a:b64!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, k:s32#<0..1>, l:s32#<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k32.f32.bf16.bf16  d:*f32, a:4*b32!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>, l:s32#<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32  d:*f32, a:b64!, b:b64!, e:b32!, f:u32#<0..1>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k16.f32.tf32.tf32  d:*f32, a:4*b32!, b:b64!, e:b32!, f:u32#<0..1>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k64.dtype.f8.f8b  d:*.dtype, a:b64!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.k64.dtype.f8.f8b  d:*.dtype, a:4*b32!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>, i:s32#<-1;1>, j:s32#<-1;1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.i64{.satfinite}.s32.byte.byte2  d:*s32, a:b64!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>"
        ),
        sparse!(
            "wgmma.mma_async.sp.sync{.aligned}.i64{.satfinite}.s32.byte.byte2  d:*s32, a:4*b32!, b:b64!, e:b32!, f:u32#<0..0>, s:pred<0..1>"
        ),
    ],
    Some(rule),
);

/// Half as many registers as the result has columns; a quarter if two share one.
fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".mma_async", ".fence", ".commit_group", ".wait_group"])?;
    let shape = m.mods.iter().flatten().find_map(|x| x.strip_prefix(".m64n"));
    let Some(columns) = shape.and_then(|s| s.split('k').next()?.parse::<usize>().ok()) else { return Ok(()) };
    for name in ["a", "b"] {
        if let Some(OperandKind::Reg(ty)) = operand(m, instr, name).map(|o| &o.kind)
            && ty.is_float()
        {
            return Err(format!("`{name}` is a description of a matrix, in an integer register"));
        }
    }
    let half = m.mods.iter().flatten().find(|x| matches!(**x, ".f16" | ".f32" | ".s32")) == Some(&".f16");
    count(m, instr, "d", columns / if half { 4 } else { 2 })
}
