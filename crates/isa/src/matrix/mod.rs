//! `mma wmma ldmatrix stmatrix movmatrix`: matrices held by the registers of a warp.

mod meaning;
mod quad;
mod sparse;
mod wmma;

use crate::later::{BLACKWELL, count};
use crate::matching::{stand_first, whole_addresses};
use crate::{Cx, Form, Instr, Match, Room, Since, since};
use hostwarp_ir::{Mem, Round};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[MMA, WMMA, LDMATRIX, STMATRIX, MOVMATRIX];

fn memory(cx: &Cx<'_>) -> Mem {
    Mem::weak(cx.m.space())
}

fn rounding(cx: &Cx<'_>) -> Round {
    crate::float::rounding(cx.get(".rnd"))
}

const MMA_SETS: &[(&str, &str)] = &[
    (".sp", ".sp .sp::ordered_metadata"),
    (".alayout", ".row .col"),
    (".blayout", ".row .col"),
    (".dtype", ".f16 .f32"),
    (".ctype", ".f16 .f32"),
    (".half_shape", ".m16n8k8 .m16n8k16"),
    (".tf32_shape", ".m16n8k4 .m16n8k8"),
    (".double_shape", ".m8n8k4 .m16n8k4 .m16n8k8 .m16n8k16"),
    (".byte_shape", ".m8n8k16 .m16n8k16 .m16n8k32"),
    (".nibble_shape", ".m8n8k32 .m16n8k32 .m16n8k64"),
    (".bit_shape", ".m8n8k128 .m16n8k128 .m16n8k256"),
    (".f8_shape", ".m16n8k16 .m16n8k32"),
    (".byte", ".u8 .s8"),
    (".byte2", ".u8 .s8"),
    (".nibble", ".u4 .s4"),
    (".nibble2", ".u4 .s4"),
    (".f8", ".e4m3 .e5m2"),
    (".f8b", ".e4m3 .e5m2"),
    (".small", ".e4m3 .e5m2 .e3m2 .e2m3 .e2m1"),
    (".smallb", ".e4m3 .e5m2 .e3m2 .e2m3 .e2m1"),
    (".bitop", ".xor .and"),
    (".rnd", ".rn .rz .rm .rp"),
    (".stype", ".ue8m0 .ue4m3"),
];
const MMA_NEEDS: &[(&str, Since)] = &[
    (".m16n8k16", since(70, 80)),
    (".m16n8k32", since(70, 80)),
    (".m16n8k64", since(70, 80)),
    (".m16n8k128", since(70, 80)),
    (".m16n8k256", since(70, 80)),
    (".and", since(71, 80)),
    (".sp::ordered_metadata", since(85, 80)),
];

/// Of 8-bit floats.
const F8_NEEDS: &[(&str, Since)] = &[(".m16n8k16", since(87, 89)), (".f16", since(87, 89))];

/// Of f64.
const F64_NEEDS: &[(&str, Since)] =
    &[(".m16n8k4", since(78, 90)), (".m16n8k8", since(78, 90)), (".m16n8k16", since(78, 90))];

macro_rules! mma {
    ($syntax:literal, $since:expr) => {
        Form::new($syntax, MMA_SETS, $since).needs(MMA_NEEDS).later()
    };
}

macro_rules! done {
    ($syntax:literal, $since:expr) => {
        Form::new($syntax, MMA_SETS, $since).needs(MMA_NEEDS)
    };
}

/// `mma`
pub const MMA: Room = Room {
    opcodes: &["mma"],
    title: "multiply matrices and add",
    doc: "All lanes of a warp together hold `a` by rows, `b` by columns and `c`; `d` is a · b + c. Lane 4g + t holds words t, t + 4, … of row g (and, in every second \
          register, of row g + 8) of `a`, of column g of `b`, and columns 2t and 2t + 1 of `c` and `d`.",
    section: "9.7.15.5",
    forms: &[
        done!("mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype  d:*.dtype, a:2*f16x2!, b:2*f16x2!, c:*.ctype!", since(64, 70)),
        done!("mma.sync.aligned.half_shape.row.col.dtype.f16.f16.ctype  d:*.dtype, a:*f16x2!, b:*f16x2!, c:*.ctype!", since(65, 75)),
        done!("mma.sync.aligned.half_shape.row.col.f32.bf16.bf16.f32  d:*f32, a:*tf32!, b:*tf32!, c:*f32!", since(70, 80)),
        done!("mma.sync.aligned.tf32_shape.row.col.f32.tf32.tf32.f32  d:*f32, a:*tf32!, b:*tf32!, c:*f32!", since(70, 80)),
        done!("mma.sync.aligned.double_shape.row.col{.rnd}.f64.f64.f64.f64  d:*f64, a:*f64!, b:*f64!, c:*f64!", since(70, 80))
            .needs(F64_NEEDS),
        done!("mma.sync.aligned.byte_shape.row.col{.satfinite}.s32.byte.byte2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!", since(65, 75)),
        done!("mma.sync.aligned.nibble_shape.row.col{.satfinite}.s32.nibble.nibble2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!", since(65, 75)),
        done!("mma.sync.aligned.bit_shape.row.col.s32.b1.b1.s32.bitop.popc  d:*s32, a:*b32!, b:*b32!, c:*s32!", since(70, 75)),
        done!("mma.sync.aligned.f8_shape.row.col.dtype.f8.f8b.ctype  d:*.dtype, a:*b32!, b:*b32!, c:*.ctype!", since(84, 89))
            .needs(F8_NEEDS),
        mma!("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.dtype.small.smallb.ctype  d:*.dtype, a:*b32!, b:*b32!, c:*.ctype!", since(87, 120))
            .only("120f"),
        mma!("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0  d:4*f32, a:4*b32!, b:2*b32!, c:4*f32!, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        mma!("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0  d:4*f32, a:4*b32!, b:2*b32!, c:4*f32!, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        mma!("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.stype  d:4*f32, a:4*b32!, b:2*b32!, c:4*f32!, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        mma!("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.small.smallb.f32.ue8m0  d:4*f32, a:4*b32!, b:2*b32!, c:4*f32!, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        done!("mma.sp.sync.aligned.m16n8k16.row.col.dtype.f16.f16.ctype  d:*.dtype, a:*f16x2!, b:*f16x2!, c:*.ctype!, e:b32!, f:u32#<0..3>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k32.row.col.dtype.f16.f16.ctype  d:*.dtype, a:*f16x2!, b:*f16x2!, c:*.ctype!, e:b32!, f:u32#<0..1>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32  d:*f32, a:*b32!, b:*b32!, c:*f32!, e:b32!, f:u32#<0..3>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32  d:*f32, a:*b32!, b:*b32!, c:*f32!, e:b32!, f:u32#<0..1>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32  d:*f32, a:*b32!, b:*b32!, c:*f32!, e:b32!, f:u32#<0..3>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32  d:*f32, a:*b32!, b:*b32!, c:*f32!, e:b32!, f:u32#<0..1>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k32.row.col{.satfinite}.s32.byte.byte2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!, e:b32!, f:u32#<0..1>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k64.row.col{.satfinite}.s32.byte.byte2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!, e:b32!, f:u32#<0..0>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k64.row.col{.satfinite}.s32.nibble.nibble2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!, e:b32!, f:u32#<0..1>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k128.row.col{.satfinite}.s32.nibble.nibble2.s32  d:*s32, a:*b32!, b:*b32!, c:*s32!, e:b32!, f:u32#<0..0>", since(71, 80)),
        done!("mma.sp.sync.aligned.m16n8k64.row.col.dtype.f8.f8b.ctype  d:*.dtype, a:*b32!, b:*b32!, c:*.ctype!, e:b32!, f:u32#<0..0>", since(84, 89))
            .restricted(&[(".f16.e4m3", "120f"), (".f16.e5m2", "120f")]),
        mma!("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.dtype.small.smallb.ctype  d:*.dtype, a:*b32!, b:*b32!, c:*.ctype!, e:b32!, f:u32#<0..3>", since(87, 120))
            .only("120f"),
        mma!("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0  d:4*f32, a:4*b32!, b:4*b32!, c:4*f32!, e:b32!, f:u32#<0..3>, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        mma!("mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.stype  d:4*f32, a:4*b32!, b:4*b32!, c:4*f32!, e:b32!, f:u32#<0..3>, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
        mma!("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.small.smallb.f32.ue8m0  d:4*f32, a:4*b32!, b:4*b32!, c:4*f32!, e:b32!, f:u32#<0..3>, s:b32!, i:operand, t:b32!, j:operand", since(87, 120))
            .only("120f"),
    ],
    rule: Some(mma_rule),
    meaning: meaning::mma,
    notes: &[
        "The manual leaves open how sums of floats are rounded; in both profiles they are what an H200 makes. f16, bf16 and tf32: all products and `c` form one block, each cut \
         toward zero 25 bits below the largest exponent (a product counts with the sum of its factors'), added exactly; the sum is cut toward zero to f32, or rounded to \
         nearest even to f16.",
        "e4m3 and e5m2 become halves on sm_90, which has no unit for them: bytes 0 and 1 of each register are summed up from 0, bytes 2 and 3 on top, `c` is added last, rounded to nearest.",
        "f64: one `fma.rn` after the other, from `c` on. Integers: exact; `.satfinite` clamps once, at the end.",
    ],
};

/// The extents of `.m16n8k16`.
fn extents(m: &Match) -> Option<(usize, usize, usize)> {
    let shape =
        m.mods.iter().flatten().find(|x| x.starts_with(".m") && x.contains('n') && x.contains('k'))?;
    let (rows, rest) = shape[2..].split_once('n')?;
    let (columns, depth) = rest.split_once('k')?;
    Some((rows.parse().ok()?, columns.parse().ok()?, depth.parse().ok()?))
}

/// The types of an instruction in order, as they are written.
fn types(m: &Match) -> Vec<&str> {
    const ALL: &[&str] = &[
        ".f16", ".bf16", ".tf32", ".f32", ".f64", ".s32", ".u8", ".s8", ".u4", ".s4", ".b1", ".e4m3",
        ".e5m2", ".e3m2", ".e2m3", ".e2m1",
    ];
    m.mods.iter().flatten().copied().filter(|x| ALL.contains(x)).collect()
}

fn bits(ty: &str) -> usize {
    match ty {
        ".b1" => 1,
        ".u4" | ".s4" => 4,
        ".f16" | ".bf16" => 16,
        ".tf32" | ".f32" | ".s32" => 32,
        ".f64" => 64,
        // Narrow floats are held in bytes.
        _ => 8,
    }
}

/// The registers of one lane that hold a matrix of so many elements.
fn held(elements: usize, ty: &str) -> usize {
    let words = elements * bits(ty) / 1024;
    if ty == ".f64" { elements / 32 } else { words }
}

fn mma_rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let Some((rows, columns, depth)) = extents(m) else { return Ok(()) };
    let [d, a, b, c] = types(m)[..] else { return Ok(()) };
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    if has(".block_scale") {
        return Ok(());
    }
    let sparse = has(".sp") || has(".sp::ordered_metadata");
    // Four matrices at once.
    let times = if (rows, columns, depth) == (8, 8, 4) && a == ".f16" { 4 } else { 1 };
    let fixed = times == 4;
    if !fixed {
        count(m, instr, "a", held(rows * depth, a) / if sparse { 2 } else { 1 })?;
        count(m, instr, "b", held(columns * depth, b))?;
    }
    if !fixed && d != c {
        return Err("the types of `c` and `d` are the same".into());
    }
    if fixed && d == ".f16" && c == ".f32" {
        return Err("`d` is `.f32` if `c` is".into());
    }
    count(m, instr, "d", times * held(rows * columns, d))?;
    count(m, instr, "c", times * held(rows * columns, c))
}

const WMMA_SETS: &[(&str, &str)] = &[
    (".frag", ".a .b"),
    (".layout", ".row .col"),
    (".alayout", ".row .col"),
    (".blayout", ".row .col"),
    (".shape", ".m16n16k16 .m8n32k16 .m32n8k16"),
    (".any_shape", ".m16n16k16 .m8n32k16 .m32n8k16 .m16n16k8 .m8n8k4 .m8n8k32 .m8n8k128"),
    (".ss", ".global .shared .shared::cta"),
    (".type", ".u8 .s8"),
    (".ctype", ".f16 .f32"),
    (".dtype", ".f16 .f32"),
    (".acc", ".f16 .f32 .s32 .f64"),
    (".byte", ".u8 .s8"),
    (".byte2", ".u8 .s8"),
    (".nibble", ".u4 .s4"),
    (".nibble2", ".u4 .s4"),
    (".bitop", ".xor .and"),
    (".rnd", ".rn .rz .rm .rp"),
];
const WMMA_NEEDS: &[(&str, Since)] = &[
    (".m8n32k16", since(61, 70)),
    (".m32n8k16", since(61, 70)),
    (".bf16", since(70, 80)),
    (".u8", since(63, 72)),
    (".s8", since(63, 72)),
    (".s32", since(63, 72)),
    (".f64", since(70, 80)),
    (".and", since(71, 80)),
    (".shared::cta", since(78, 70)),
    (".aligned", since(63, 70)),
    ("-.aligned", since(63, 70)),
];

macro_rules! wmma {
    ($syntax:literal, $since:expr) => {
        Form::new($syntax, WMMA_SETS, $since).needs(WMMA_NEEDS)
    };
}

/// `wmma`
pub const WMMA: Room = Room {
    opcodes: &["wmma"],
    title: "load, store or multiply matrices in fragments",
    doc: "`wmma.load` reads a matrix, by rows or columns that are `stride` elements apart, into the registers of a warp, `wmma.mma` multiplies two of them and adds a third, `wmma.store` \
          writes one. Which lane holds what is open.",
    section: "9.7.15.4",
    forms: &[
        wmma!(
            "wmma.load.frag.sync{.aligned}.layout.shape{.ss}.f16  d:*f16x2, [p]:b64{, stride:u32}",
            since(60, 70)
        ),
        wmma!(
            "wmma.load.frag.sync{.aligned}.layout.shape{.ss}.bf16  d:*tf32, [p]:b64{, stride:u32}",
            since(70, 80)
        ),
        wmma!(
            "wmma.load.frag.sync{.aligned}.layout.shape{.ss}.type  d:*u32, [p]:b64{, stride:u32}",
            since(63, 72)
        ),
        wmma!(
            "wmma.load.frag.sync{.aligned}.layout.m16n16k8{.ss}.tf32  d:4*tf32, [p]:b64{, stride:u32}",
            since(70, 80)
        ),
        wmma!(
            "wmma.load.frag.sync{.aligned}.layout.m8n8k4{.ss}.f64  d:1*f64, [p]:b64{, stride:u32}",
            since(70, 80)
        ),
        wmma!(
            "wmma.load.a.sync{.aligned}.row.m8n8k32{.ss}.nibble  d:1*b32, [p]:b64{, stride:u32}",
            since(63, 75)
        ),
        wmma!(
            "wmma.load.b.sync{.aligned}.col.m8n8k32{.ss}.nibble  d:1*b32, [p]:b64{, stride:u32}",
            since(63, 75)
        ),
        wmma!("wmma.load.a.sync{.aligned}.row.m8n8k128{.ss}.b1  d:1*b32, [p]:b64{, stride:u32}", since(63, 75)),
        wmma!("wmma.load.b.sync{.aligned}.col.m8n8k128{.ss}.b1  d:1*b32, [p]:b64{, stride:u32}", since(63, 75)),
        wmma!(
            "wmma.load.c.sync{.aligned}.layout.any_shape{.ss}.acc  d:*.acc, [p]:b64{, stride:u32}",
            since(60, 70)
        ),
        wmma!(
            "wmma.store.d.sync{.aligned}.layout.any_shape{.ss}.acc  [p]:b64, d:*.acc!{, stride:u32}",
            since(60, 70)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.shape.dtype.ctype  d:*.dtype, a:8*f16x2!, b:8*f16x2!, c:*.ctype!",
            since(60, 70)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.shape.dtype.ctype.satfinite  d:*.dtype, a:8*f16x2!, b:8*f16x2!, c:*.ctype!",
            since(60, 70)
        )
        .until(since(65, 70)),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.shape.s32.byte.byte2.s32{.satfinite}  d:8*s32, a:*u32!, b:*u32!, c:8*s32!",
            since(63, 72)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.shape.f32.bf16.bf16.f32  d:8*f32, a:*tf32!, b:*tf32!, c:8*f32!",
            since(70, 80)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.m16n16k8.f32.tf32.tf32.f32  d:8*f32, a:4*tf32!, b:4*tf32!, c:8*f32!",
            since(70, 80)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.alayout.blayout.m8n8k4{.rnd}.f64.f64.f64.f64  d:2*f64, a:1*f64!, b:1*f64!, c:2*f64!",
            since(70, 80)
        ),
        wmma!(
            "wmma.mma.sync{.aligned}.row.col.m8n8k32.s32.nibble.nibble2.s32{.satfinite}  d:2*s32, a:1*u32!, b:1*u32!, c:2*s32!",
            since(63, 75)
        ),
        wmma!(
            "wmma.mma.bitop.popc.sync{.aligned}.row.col.m8n8k128.s32.b1.b1.s32  d:2*s32, a:1*u32!, b:1*u32!, c:2*s32!",
            since(63, 75)
        ),
    ],
    rule: Some(wmma_rule),
    meaning: wmma::wmma,
    notes: &[
        "In both profiles fragments are what ptxas makes of them for sm_90, layouts of `mma` (HMMA.16816, IMMA.16816, DMMA.8x8x4); m8n32k16 is turned round. Sums are those of `mma` m16n8k16, \
         of tf32 two of m16n8k4, the lower half first.",
        "A sum in f16 of an addend in f32 is made in f32 and rounded to nearest at the end.",
    ],
};

fn wmma_rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".load", ".store", ".mma", ".a", ".b", ".c", ".d"])?;
    let Some((rows, columns, depth)) = extents(m) else { return Ok(()) };
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    let all = types(m);
    let sizes = (rows, columns, depth);
    if has(".load") || has(".store") {
        whole_addresses(instr)?;
        let ty = all.first().copied().unwrap_or("");
        if has(".c") || has(".store") {
            let right = match sizes {
                (8, 8, 4) => ty == ".f64",
                (8, 8, _) => ty == ".s32",
                (16, 16, 8) => ty == ".f32",
                _ => ty != ".f64",
            };
            if !right {
                return Err(format!("this shape has no accumulators of type `{ty}`"));
            }
            return count(m, instr, "d", held(rows * columns, ty));
        }
        let extent = if has(".a") { rows } else { columns };
        let want = if ty == ".f16" { 8 } else { held(extent * depth, ty) };
        return count(m, instr, "d", want);
    }
    match all[..] {
        [d, c] => {
            count(m, instr, "d", held(rows * columns, d))?;
            count(m, instr, "c", held(rows * columns, c))
        }
        [_, a, b, _] => {
            if a != b {
                return Err("`a` and `b` have one type".into());
            }
            count(m, instr, "a", held(rows * depth, a))?;
            count(m, instr, "b", held(columns * depth, b))
        }
        _ => Ok(()),
    }
}

const LD_SETS: &[(&str, &str)] = &[
    (".num", ".x1 .x2 .x4"),
    (".few", ".x1 .x2"),
    (".ss", ".shared .shared::cta"),
    (".src", ".b6x16_p32 .b4x16_p64"),
];

/// The number behind `.x`.
fn matrices(m: &Match) -> usize {
    m.mods.iter().flatten().find_map(|x| x.strip_prefix(".x")?.parse().ok()).unwrap_or(1)
}

/// A generic address comes in 32 or 64 bits.
fn generic_is_whole(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    if m.get(".ss").is_some() { Ok(()) } else { whole_addresses(instr) }
}

/// `ldmatrix`
pub const LDMATRIX: Room = Room {
    opcodes: &["ldmatrix"],
    title: "load matrices from shared memory into the registers of a warp",
    doc: "Lane 8m + i has the address of row i of matrix m: 16 bytes, aligned. Lane 4g + t gets the elements 2t and 2t + 1 of row g; with `.trans` element g of rows 2t and 2t + 1.",
    section: "9.7.15.5.15",
    forms: &[
        Form::new("ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  d:*b32, [p]:b64", LD_SETS, since(65, 75))
            .needs(&[(".shared::cta", since(78, 75))]),
        Form::new("ldmatrix.sync.aligned.m8n16.num{.ss}.b8x16.src  d:*b32, [p]:b64", LD_SETS, since(86, 100))
            .only(BLACKWELL)
            .later(),
        Form::new("ldmatrix.sync.aligned.m16n16.few.trans{.ss}.b8  d:*b32, [p]:b64", LD_SETS, since(86, 100))
            .only(BLACKWELL)
            .later(),
        Form::new(
            "ldmatrix.sync.aligned.m16n16.few.trans{.ss}.b8x16.src  d:*b32, [p]:b64",
            LD_SETS,
            since(86, 100),
        )
        .only(BLACKWELL)
        .later(),
    ],
    rule: Some(|m, instr| {
        generic_is_whole(m, instr)?;
        let each = if m.mods.iter().flatten().any(|x| *x == ".m16n16") { 2 } else { 1 };
        count(m, instr, "d", each * matrices(m))
    }),
    meaning: meaning::load,
    notes: &[],
};

/// `stmatrix`
pub const STMATRIX: Room = Room {
    opcodes: &["stmatrix"],
    title: "store matrices from the registers of a warp to shared memory",
    doc: "As `ldmatrix`, the other way round.",
    section: "9.7.15.5.16",
    forms: &[
        Form::new(
            "stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  [p]:b64, a:*b32!",
            LD_SETS,
            since(78, 90),
        ),
        Form::new("stmatrix.sync.aligned.m16n8.num.trans{.ss}.b8  [p]:b64, a:*b32!", LD_SETS, since(86, 100))
            .only(BLACKWELL)
            .later(),
    ],
    rule: Some(|m, instr| {
        generic_is_whole(m, instr)?;
        count(m, instr, "a", matrices(m))
    }),
    meaning: meaning::store,
    notes: &[],
};

/// `movmatrix`
pub const MOVMATRIX: Room = Room {
    opcodes: &["movmatrix"],
    title: "transpose a matrix in the registers of a warp",
    doc: "Lane 4g + t holds elements 2t and 2t + 1 of row g, and gets element g of rows 2t and 2t + 1.",
    section: "9.7.15.5.17",
    forms: &[Form::new("movmatrix.sync.aligned.m8n8.trans.b16  d:b32, a:b32!", LD_SETS, since(78, 75))],
    rule: None,
    meaning: meaning::transpose,
    notes: &[],
};

#[cfg(test)]
mod tests {
    use crate::testing::{reg, vector};
    use crate::{Env, Instr, Operand, Ty, resolve};

    /// What ptxas 13.5 says of the types of registers in fragments.
    #[test]
    fn fragments_have_the_types_of_their_elements() {
        let of = |ty: Ty, n: usize| vector(&vec![reg(ty); n]);
        let takes = |shape: &'static str, ty: &'static str, a: Operand<'static>| {
            let mods = [".sync", ".aligned", shape, ".row", ".col", ".f32", ty, ty, ".f32"];
            let operands = [of(Ty::F32, 4), a, of(Ty::B32, 1), of(Ty::F32, 4)];
            resolve(&Instr { opcode: "mma", mods: &mods, operands: &operands }, Env::NEWEST).is_ok()
        };
        let wanted = [
            (".m16n8k8", ".f16", [true, true, false, false]),
            (".m16n8k8", ".bf16", [true, false, false, false]),
            (".m16n8k16", ".e4m3", [true; 4]),
        ];
        for (shape, ty, types) in wanted {
            for (held, want) in [Ty::B32, Ty::F16x2, Ty::F32, Ty::U32].into_iter().zip(types) {
                assert_eq!(takes(shape, ty, of(held, 2)), want, "{ty} in {held}");
            }
        }
        // One of them declared as bits makes bits of all, if the others are of one kind.
        assert!(takes(".m16n8k8", ".bf16", vector(&[reg(Ty::B32), reg(Ty::F32)])));
        assert!(!takes(".m16n8k16", ".e4m3", vector(&[reg(Ty::U32), reg(Ty::F32)])));
    }
}
