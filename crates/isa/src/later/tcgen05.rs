//! `tcgen05`: tensor memory and the matrices in it.
//!
//! Since PTX 8.6, sm_100a and its families.

use super::{TENSOR_MEMORY, count, operand, room};
use crate::matching::{stand_first, whole_addresses};
use crate::{Form, Instr, Kind, Match, Operand, OperandKind, Room, Ty, since};

const SETS: &[(&str, &str)] = &[
    (".group", ".cta_group::1 .cta_group::2"),
    (".ss", ".shared::cta"),
    (".shape", ".16x64b .16x128b .16x256b .32x32b"),
    (".num", ".x1 .x2 .x4 .x8 .x16 .x32 .x64 .x128"),
    (".cp_shape", ".128x256b .4x256b .128x128b"),
    (".multicast64", ".warpx2::02_13 .warpx2::01_23"),
    (".src", ".b6x16_p32 .b4x16_p64"),
    (".kind", ".kind::f16 .kind::tf32 .kind::f8f6f4 .kind::i8"),
    (".mxkind", ".kind::mxf8f6f4 .kind::mxf4 .kind::mxf4nvf4"),
    (".scale", ".scale_vec::1X .scale_vec::2X .scale_vec::4X .block16 .block32"),
    (".usage", ".collector::a::fill .collector::a::use .collector::a::lastuse .collector::a::discard"),
    (
        ".wsusage",
        ".collector::b0::fill .collector::b0::use .collector::b0::lastuse .collector::b0::discard .collector::b1::fill .collector::b1::use .collector::b1::lastuse .collector::b1::discard .collector::b2::fill .collector::b2::use .collector::b2::lastuse .collector::b2::discard .collector::b3::fill .collector::b3::use .collector::b3::lastuse .collector::b3::discard",
    ),
    (".dot", ".ashift"),
    (".packing", ".b8x16 .b6x16_p32 .b4x16_p64"),
    (".packing2", ".b8x16 .b6x16_p32 .b4x16_p64"),
    (".cluster", ".shared::cluster"),
];

macro_rules! form {
    ($syntax:literal) => {
        form!($syntax, 86)
    };
    ($syntax:literal, $ptx:literal) => {
        Form::new($syntax, SETS, since($ptx, 100)).only(TENSOR_MEMORY).later()
    };
}

/// `tcgen05`
pub const ROOM: Room = room(
    &["tcgen05"],
    "tensor memory, and multiplying what is in it",
    "9.7.17",
    &[
        form!("tcgen05.alloc.group.sync.aligned{.ss}.b32  [d]:b64@.shared, n:u32<2^32..512>"),
        form!("tcgen05.dealloc.group.sync.aligned.b32  t:b32, n:u32<2^32..512>"),
        form!("tcgen05.alloc.exclusive.group.sync.aligned{.ss}.b32  [d]:b64@.shared, n:u32<2^32..512>", 94),
        form!("tcgen05.dealloc.exclusive.group.sync.aligned.b32  t:b32, n:u32<2^32..512>", 94),
        form!("tcgen05.relinquish_alloc_permit.group.sync.aligned"),
        form!("tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32  d:*b32, [t]:b32"),
        form!("tcgen05.ld.sync.aligned.16x32bx2.num{.pack::16b}.b32  d:*b32, [t]:b32, h:u32#"),
        form!("tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32  [t]:b32, d:*b32!"),
        form!("tcgen05.st.sync.aligned.16x32bx2.num{.unpack::16b}.b32  [t]:b32, h:u32#, d:*b32!"),
        form!("tcgen05.wait::ld.sync.aligned"),
        form!("tcgen05.wait::st.sync.aligned"),
        form!("tcgen05.cp.group.cp_shape  [t]:b32, s:u64"),
        form!("tcgen05.cp.group.cp_shape.b8x16.src  [t]:b32, s:u64"),
        form!("tcgen05.cp.group.64x128b.multicast64  [t]:b32, s:u64"),
        form!("tcgen05.cp.group.64x128b.multicast64.b8x16.src  [t]:b32, s:u64"),
        form!("tcgen05.cp.group.32x128b.warpx4  [t]:b32, s:u64"),
        form!("tcgen05.cp.group.32x128b.warpx4.b8x16.src  [t]:b32, s:u64"),
        form!("tcgen05.shift.group.down  [t]:b32"),
        form!("tcgen05.fence::before_thread_sync"),
        form!("tcgen05.fence::after_thread_sync"),
        form!("tcgen05.commit.group.mbarrier::arrive::one{.cluster}.b64  [mbar]:b64@.shared"),
        form!(
            "tcgen05.commit.group.mbarrier::arrive::one{.cluster}.multicast::cluster.b64  [mbar]:b64@.shared, mask:u16<0..65535>"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, i:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, i:b32, m:operand, {!}p:pred{, s:u32#<0..15>}"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, i:b32, {!}p:pred, s:u32#<0..15>"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, i:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, i:b32, m:operand, {!}p:pred{, s:u32#<0..15>}"
        ),
        form!(
            "tcgen05.mma.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, i:b32, {!}p:pred, s:u32#<0..15>"
        ),
        form!(
            "tcgen05.mma.group.mxkind.block_scale{.scale}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, i:b32, [x]:b32, [y]:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.group.mxkind.block_scale{.scale}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, i:b32, [x]:b32, [y]:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, [e]:b32, i:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, [e]:b32, i:b32, m:operand, {!}p:pred{, s:u32#<0..15>}"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, [e]:b32, i:b32, {!}p:pred, s:u32#<0..15>"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, [e]:b32, i:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, [e]:b32, i:b32, m:operand, {!}p:pred{, s:u32#<0..15>}"
        ),
        form!(
            "tcgen05.mma.sp.group.kind{.dot}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, [e]:b32, i:b32, {!}p:pred, s:u32#<0..15>"
        ),
        form!(
            "tcgen05.mma.sp.group.mxkind.block_scale{.scale}{.usage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, [e]:b32, i:b32, [x]:b32, [y]:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.sp.group.mxkind.block_scale{.scale}{.usage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, [e]:b32, i:b32, [x]:b32, [y]:b32, {!}p:pred"
        ),
        form!(
            "tcgen05.mma.ws.cta_group::1.kind{.wsusage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, i:b32, {!}p:pred{, z:b64}"
        ),
        form!(
            "tcgen05.mma.ws.cta_group::1.kind{.wsusage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, i:b32, {!}p:pred{, z:b64}"
        ),
        form!(
            "tcgen05.mma.ws.sp.cta_group::1.kind{.wsusage}{.packing}{.packing2}  [d]:b32, a:b64, b:b64, [e]:b32, i:b32, {!}p:pred{, z:b64}"
        ),
        form!(
            "tcgen05.mma.ws.sp.cta_group::1.kind{.wsusage}{.packing}{.packing2}  [d]:b32, [a]:b32, b:b64, [e]:b32, i:b32, {!}p:pred{, z:b64}"
        ),
    ],
    Some(rule),
);

/// As many registers as the lane's part of the shape takes.
fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    stand_first(instr, &[".mma", ".ws", ".ld", ".st", ".cp", ".alloc", ".dealloc", ".commit", ".shift"])?;
    let elsewhere = |o: &&Operand<'_>| matches!(o.kind, OperandKind::Address(Some(ty)) if ty != Ty::B32);
    if has(".mma")
        && let Some(OperandKind::Address(Some(ty))) = instr.operands.iter().find(elsewhere).map(|o| &o.kind)
    {
        return Err(format!("an address in tensor memory is in a register of type `.b32`, not `{ty}`"));
    }
    if has(".ashift") && (m.get(".packing").is_some() || m.get(".packing2").is_some()) {
        return Err("`.ashift` does not go with packed formats".into());
    }
    if has(".commit") {
        whole_addresses(instr)?;
    }
    let scale = m
        .mods
        .iter()
        .flatten()
        .copied()
        .find(|x| x.starts_with(".scale_vec") || x.starts_with(".block1") || x.starts_with(".block3"));
    let goes = match scale {
        Some(".scale_vec::1X") => has(".kind::mxf8f6f4"),
        Some(".scale_vec::2X") => !has(".kind::mxf8f6f4"),
        Some(".scale_vec::4X" | ".block16") => has(".kind::mxf4nvf4"),
        _ => true,
    };
    if !goes {
        return Err("this kind has other scales".into());
    }
    if has(".kind::mxf4nvf4") && scale.is_none() {
        return Err("this kind needs `.scale_vec` or `.block`".into());
    }
    for name in ["t", "n", "s", "a", "b", "i", "z"] {
        if let Some(OperandKind::Reg(ty)) = operand(m, instr, name).map(|o| &o.kind)
            && (ty.is_float() || ty.kind() == Kind::Packed)
        {
            return Err(format!("`{name}` is in an integer register, not in one of `{ty}`"));
        }
    }
    let constant =
        |name: &&&str| operand(m, instr, name).is_some_and(|o| matches!(o.kind, OperandKind::Float(_)));
    if let Some(name) = ["a", "b", "i", "z"].iter().find(constant) {
        return Err(format!("`{name}` is an integer"));
    }
    if has(".ashift") {
        let in_memory = operand(m, instr, "a").is_some_and(|o| matches!(o.kind, OperandKind::Address(_)));
        if !in_memory {
            return Err("`.ashift` is for rows in tensor memory".into());
        }
        if m.mods.iter().flatten().any(|x| matches!(*x, ".collector::a::use" | ".collector::a::fill")) {
            return Err("`.ashift` does not go with this collector".into());
        }
    }
    if let Some(lanes) = operand(m, instr, "m") {
        let want = if has(".cta_group::2") { 8 } else { 4 };
        let wide = |o: &Operand<'_>| matches!(o.kind, OperandKind::Reg(ty) if ty.bits() != 32);
        match &lanes.kind {
            OperandKind::Vector(elements) if elements.len() == want && !elements.iter().any(wide) => {}
            // ptxas lets it pass where there is a scale.
            OperandKind::Reg(Ty::Pred) if operand(m, instr, "s").is_some() => {}
            _ => return Err(format!("the lanes left out are a vector of {want} registers of 32 bits")),
        }
    }
    if has(".mma") && operand(m, instr, "s").is_some() && !has(".kind::f16") && !has(".kind::tf32") {
        return Err("only `.kind::f16` and `.kind::tf32` scale what is added to".into());
    }
    if !has(".ld") && !has(".st") {
        return Ok(());
    }
    let num = m.mods.iter().flatten().find_map(|x| x.strip_prefix(".x")?.parse::<usize>().ok()).unwrap_or(1);
    let each = if has(".16x128b") {
        2
    } else if has(".16x256b") {
        4
    } else {
        1
    };
    if each * num > 128 {
        return Err("a lane has at most 128 registers of it".into());
    }
    count(m, instr, "d", each * num)
}
