//! `multimem tensormap`: memory of several devices, descriptions of tensors.

use super::{BLACKWELL, room};
use crate::matching::stand_first;
use crate::{Form, Operand, OperandKind, Room, since};

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
        if place(".acc").is_some() && place(".fop").is_some_and(|op| op != ".add") {
            return Err("only sums have a wider accumulator".into());
        }
        let wide = if bits == 64 { 64 } else { 32 };
        let elements_of = match value {
            Some(Operand { kind: OperandKind::Vector(elements), .. }) => &elements[..],
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for e in elements_of {
            if let OperandKind::Reg(ty) = e.kind
                && ty.bits() != wide
                && bits * elements >= 32
                && bits >= 32
            {
                return Err(format!("an element has {wide} bits here, not `{ty}`"));
            }
        }
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
