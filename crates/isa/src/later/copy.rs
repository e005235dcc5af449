//! `cp multimem tensormap`: copies that go on by themselves, memory of several devices, descriptions of tensors.

use super::{BLACKWELL, dimensions, room};
use crate::matching::stand_first;
use crate::{Form, Match, Room, Since, Ty, since};

const SETS: &[(&str, &str)] = &[
    (".own", ".shared .shared::cta"),
    (".ahead", ".L2::64B .L2::128B .L2::256B"),
    (".level::cache_hint", ".L2::cache_hint"),
    (".dst", ".shared::cluster .shared::cta"),
    (".bytes", ".mbarrier::complete_tx::bytes"),
    (".multicast", ".multicast::cluster"),
    (".dim", ".1d .2d .3d .4d .5d"),
    (".load", ".tile .tile::gather4 .im2col .im2col::w .im2col::w::128"),
    (".store", ".tile .tile::scatter4 .im2col_no_offs"),
    (".reduce_mode", ".tile .im2col_no_offs"),
    (".cta_group", ".cta_group::1 .cta_group::2"),
    (".op", ".and .or .xor .add .inc .dec .min .max"),
    (".type", ".s32 .u32 .b32 .s64 .u64 .b64 .f16 .bf16 .f32 .f64"),
    (".half", ".f16 .bf16"),
];
const BULK: &[(&str, Since)] = &[
    (".tile::gather4", since(86, 100)),
    (".tile::scatter4", since(86, 100)),
    (".im2col::w", since(86, 100)),
    (".im2col::w::128", since(86, 100)),
    (".shared::cta", since(80, 90)),
    (".cta_group::1", since(86, 100)),
    (".cta_group::2", since(86, 100)),
];

const AHEAD: &[(&str, Since)] =
    &[(".L2::64B", since(74, 80)), (".L2::128B", since(74, 80)), (".L2::256B", since(74, 80))];

macro_rules! form {
    ($syntax:literal, $since:expr) => {
        Form::new($syntax, SETS, $since).needs(AHEAD).later()
    };
}

/// `cp`
pub const CP: Room = room(
    &["cp"],
    "copy between global and shared memory, in the background",
    "9.7.9.26",
    &[
        form!("cp.async.ca.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<4..16/4>{, k:u32<0..16>}", since(70, 80)),
        form!("cp.async.cg.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>{, k:u32<0..16>}", since(70, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<4..16/4>, h:b64!", since(74, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, h:b64!", since(74, 80)),
        form!("cp.async.ca.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<4..16/4>, {!}p:pred", since(74, 80)),
        form!("cp.async.cg.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, {!}p:pred", since(74, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<4..16/4>, {!}p:pred, h:b64!", since(74, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, {!}p:pred, h:b64!", since(74, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<4..16/4>, k:u32<0..16>, h:b64!", since(74, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, k:u32<0..16>, h:b64!", since(74, 80)),
        form!("cp.async.commit_group", since(70, 80)),
        form!("cp.async.wait_group  n:u32#", since(70, 80)),
        form!("cp.async.wait_all", since(70, 80)),
        Form::new("cp.async.mbarrier.arrive{.noinc}{.own}.b64  [a]:b64", SETS, since(70, 80)).needs(&[(".shared::cta", since(78, 80))]).later(),
        Form::new("cp.async.bulk.dst.global.bytes  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64", SETS, since(80, 90))
            .needs(&[(".shared::cta", since(86, 90))])
            .later(),
        Form::new("cp.async.bulk.dst.global.bytes.level::cache_hint  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64, h:b64!", SETS, since(80, 90))
            .needs(&[(".shared::cta", since(86, 90))])
            .later(),
        form!("cp.async.bulk.dst.global.bytes.ignore_oob  [d]:b64, [a]:b64, n:u32<0../16>, left:u32, right:u32, [mbar]:b64", since(92, 90)),
        form!("cp.async.bulk.dst.global.bytes.ignore_oob.level::cache_hint  [d]:b64, [a]:b64, n:u32<0../16>, left:u32, right:u32, [mbar]:b64, h:b64!", since(92, 90)),
        form!("cp.async.bulk.shared::cluster.global.bytes.multicast  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64, mask:b16", since(80, 90)),
        form!("cp.async.bulk.shared::cluster.global.bytes.multicast.level::cache_hint  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64, mask:b16, h:b64!", since(80, 90)),
        form!("cp.async.bulk.shared::cluster.shared::cta.bytes  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group  [d]:b64, [a]:b64, n:u32<0../16>", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.level::cache_hint  [d]:b64, [a]:b64, n:u32<0../16>, h:b64!", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.cp_mask  [d]:b64, [a]:b64, n:u32<0../16>, mask:b16", since(86, 100)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.level::cache_hint.cp_mask  [d]:b64, [a]:b64, n:u32<0../16>, h:b64!, mask:b16", since(86, 100)),
        form!("cp.async.bulk.prefetch.L2.global  [a]:b64, n:u32<0../16>", since(80, 90)),
        form!("cp.async.bulk.prefetch.L2.global.level::cache_hint  [a]:b64, n:u32<0../16>, h:b64!", since(80, 90)),
        form!("cp.async.bulk.commit_group", since(80, 90)),
        form!("cp.async.bulk.wait_group{.read}  n:u32#", since(80, 90)),
        Form::new("cp.async.bulk.tensor.dim.dst.global{.load}.bytes{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64{, i:operand}", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.tensor.dim.dst.global{.load}.bytes{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, h:operand{, i:operand}", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.tensor.dim.shared::cluster.global{.load}.bytes.multicast{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64, h:operand{, i:operand}", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.tensor.dim.shared::cluster.global{.load}.bytes.multicast{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, h:operand, i:operand{, k:operand}", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.tensor.dim.global.shared::cta{.store}.bulk_group  [d]:tuple, [a]:b64", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.tensor.dim.global.shared::cta{.store}.bulk_group.level::cache_hint  [d]:tuple, [a]:b64, h:b64!", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.prefetch.tensor.dim.L2.global{.load}  [a]:tuple{, i:operand}", SETS, since(80, 90)).needs(BULK).later(),
        Form::new("cp.async.bulk.prefetch.tensor.dim.L2.global{.load}.level::cache_hint  [a]:tuple, h:operand{, i:operand}", SETS, since(80, 90)).needs(BULK).later(),
        form!("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.op.type  [d]:b64, [a]:b64, n:u32<0../16>, [mbar]:b64", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type  [d]:b64, [a]:b64, n:u32<0../16>", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.level::cache_hint.op.type  [d]:b64, [a]:b64, n:u32<0../16>, h:b64!", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.half  [d]:b64, [a]:b64, n:u32<0../16>", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.level::cache_hint.add.noftz.half  [d]:b64, [a]:b64, n:u32<0../16>, h:b64!", since(80, 90)),
        form!("cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.reduce_mode}.bulk_group  [d]:tuple, [a]:b64", since(80, 90)),
        form!("cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.reduce_mode}.bulk_group.level::cache_hint  [d]:tuple, [a]:b64, h:b64!", since(80, 90)),
    ],
    Some(|m, instr| {
        stand_first(
            instr,
            &[
                ".reduce", ".async", ".bulk", ".prefetch", ".tensor", ".mbarrier", ".arrive", ".commit_group", ".wait_group",
                ".wait_all",
            ],
        )?;
        dimensions(m, instr, "a")?;
        dimensions(m, instr, "d")?;
        reducible(m)
    }),
);

/// Which operations `cp.reduce.async.bulk` has on which types.
fn reducible(m: &Match) -> Result<(), String> {
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    if !has(".reduce") || has(".tensor") || has(".noftz") {
        return Ok(());
    }
    let (Some(op), Some(ty)) = (m.get(".op"), m.ty(".type")) else { return Ok(()) };
    let global = has(".global");
    let fits = match op {
        ".and" | ".or" | ".xor" => matches!(ty, Ty::B32) || global && ty == Ty::B64,
        ".inc" | ".dec" => ty == Ty::U32,
        ".min" | ".max" => {
            matches!(ty, Ty::S32 | Ty::U32) || global && matches!(ty, Ty::S64 | Ty::U64 | Ty::F16 | Ty::BF16)
        }
        _ => matches!(ty, Ty::S32 | Ty::U32 | Ty::U64) || global && matches!(ty, Ty::F32 | Ty::F64),
    };
    if fits { Ok(()) } else { Err(format!("`{op}` does not work on `{ty}` here")) }
}

const MEM: &[(&str, &str)] = &[
    (".ldsem", ".relaxed .acquire"),
    (".sem", ".relaxed .release"),
    (".scope", ".cta .cluster .gpu .sys"),
    (".order", ".min .max"),
    (".bit", ".and .or .xor"),
    (".itype", ".u32 .s32 .u64 .s64"),
    (".btype", ".b32 .b64"),
    (".atype", ".u32 .s32 .u64"),
    (".stype", ".b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64 .f16x2 .bf16x2"),
    (".fop", ".add .min .max"),
    (".vec", ".v2 .v4 .v8"),
    (".acc", ".acc::f32"),
    (".acc16", ".acc::f16"),
    (".ftype", ".f16 .f16x2 .bf16 .bf16x2"),
    (".real", ".f32 .f64"),
    (".f8", ".e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4"),
    (".vtype", ".f16 .f16x2 .bf16 .bf16x2 .f32"),
];

macro_rules! mem {
    ($syntax:literal) => {
        Form::new($syntax, MEM, since(81, 90)).needs(&[(".acc::f32", since(82, 90))]).later()
    };
}

/// `multimem`
pub const MULTIMEM: Room = room(
    &["multimem"],
    "load, store or combine the same place in the memory of several devices",
    "9.7.9.15",
    &[
        mem!("multimem.ld_reduce{.ldsem}{.scope}{.global}.order.itype  d:.itype, [a]:b64"),
        mem!("multimem.ld_reduce.weak{.global}.order.itype  d:.itype, [a]:b64"),
        mem!("multimem.ld_reduce{.ldsem}{.scope}{.global}.bit.btype  d:.btype, [a]:b64"),
        mem!("multimem.ld_reduce.weak{.global}.bit.btype  d:.btype, [a]:b64"),
        mem!("multimem.ld_reduce{.ldsem}{.scope}{.global}.add.atype  d:.atype, [a]:b64"),
        mem!("multimem.ld_reduce.weak{.global}.add.atype  d:.atype, [a]:b64"),
        mem!("multimem.ld_reduce{.ldsem}{.scope}{.global}.fop{.acc}{.vec}.ftype  d:operand, [a]:b64"),
        mem!("multimem.ld_reduce.weak{.global}.fop{.acc}{.vec}.ftype  d:operand, [a]:b64"),
        mem!("multimem.ld_reduce{.ldsem}{.scope}{.global}.add{.vec}.real  d:operand, [a]:b64"),
        mem!("multimem.ld_reduce.weak{.global}.add{.vec}.real  d:operand, [a]:b64"),
        Form::new(
            "multimem.ld_reduce{.ldsem}{.scope}{.global}.fop{.acc16}{.vec}.f8  d:operand, [a]:b64",
            MEM,
            since(86, 100),
        )
        .only(BLACKWELL)
        .later(),
        Form::new(
            "multimem.ld_reduce.weak{.global}.fop{.acc16}{.vec}.f8  d:operand, [a]:b64",
            MEM,
            since(86, 100),
        )
        .only(BLACKWELL)
        .later(),
        mem!("multimem.st{.sem}{.scope}{.global}.stype  [a]:b64, b:.stype"),
        mem!("multimem.st.weak{.global}.stype  [a]:b64, b:.stype"),
        mem!("multimem.st{.sem}{.scope}{.global}.vec.vtype  [a]:b64, b:operand"),
        mem!("multimem.st.weak{.global}.vec.vtype  [a]:b64, b:operand"),
        Form::new("multimem.st{.sem}{.scope}{.global}{.vec}.f8  [a]:b64, b:operand", MEM, since(86, 100))
            .only(BLACKWELL)
            .later(),
        mem!("multimem.red{.sem}{.scope}{.global}.order.itype  [a]:b64, b:.itype"),
        mem!("multimem.red{.sem}{.scope}{.global}.bit.btype  [a]:b64, b:.btype"),
        mem!("multimem.red{.sem}{.scope}{.global}.add.atype  [a]:b64, b:.atype"),
        mem!("multimem.red{.sem}{.scope}{.global}.add{.vec}.ftype  [a]:b64, b:operand"),
        mem!("multimem.red{.sem}{.scope}{.global}.add{.vec}.real  [a]:b64, b:operand"),
    ],
    Some(|m, instr| {
        let place = |name: &str| m.parsed.mods.iter().position(|s| s.name == name).and_then(|i| m.mods[i]);
        let sem = place(".ldsem").or(place(".sem"));
        stand_first(instr, &[".ld_reduce", ".st", ".red"])?;
        if sem.is_some() != place(".scope").is_some() {
            return Err("the order and its scope go together".into());
        }
        let ty = place(".ftype").or(place(".real")).or(place(".f8")).or(place(".vtype"));
        let Some(ty) = ty else { return Ok(()) };
        let bits = match ty {
            ".e5m2" | ".e4m3" => 8,
            ".f16" | ".bf16" | ".e5m2x2" | ".e4m3x2" => 16,
            ".f64" => 64,
            _ => 32,
        };
        let elements = place(".vec").map_or(1, |v| v[2..].parse::<usize>().unwrap_or(1));
        if !matches!(bits * elements, 32 | 64 | 128) || bits == 64 && elements > 1 {
            return Err(format!("{elements} elements of `{ty}` do not make up 32, 64 or 128 bits"));
        }
        let value = instr.operands.iter().find(|o| o.kind != crate::OperandKind::Address);
        match super::registers(value) {
            n if n == elements => Ok(()),
            n => Err(format!("{elements} elements are wanted, not {n}")),
        }
    }),
);

const MAP: &[(&str, &str)] = &[
    (".ss", ".global .shared::cta"),
    (".field2", ".box_dim .global_dim .element_stride"),
    (".field3", ".elemtype .interleave_layout .swizzle_mode .fill_mode"),
    (".scope", ".cta .cluster .gpu .sys"),
];

/// `tensormap`
pub const TENSORMAP: Room = room(
    &["tensormap"],
    "change the description of a tensor",
    "9.7.9.27",
    &[
        Form::new("tensormap.replace.tile.global_address{.ss}.b1024.b64  [a]:b64, b:b64", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.rank{.ss}.b1024.b32  [a]:b64, b:b32", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.field2{.ss}.b1024.b32  [a]:b64, n:u32#<0..4>, b:b32", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.global_stride{.ss}.b1024.b64  [a]:b64, n:u32#<0..4>, b:b64", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.field3{.ss}.b1024.b32  [a]:b64, b:u32#<0..15>", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.swizzle_atomicity{.ss}.b1024.b32  [a]:b64, b:u32#<0..3>", MAP, since(86, 100)).only(BLACKWELL).later(),
        Form::new("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned  [d]:b64, [a]:b64, n:u32#<128..128>", MAP, since(83, 90)).later(),
    ],
    None,
);
