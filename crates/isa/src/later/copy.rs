//! `multimem tensormap`: memory of several devices, descriptions of tensors.

use super::{BLACKWELL, room};
use crate::copy::cp::spaces_in_order;
use crate::matching::{stand_first, whole_addresses};
use crate::{Form, Operand, OperandKind, Room, Ty, since};

const MEM: &[(&str, &str)] = &[
    (".ldsem", ".relaxed .acquire"),
    (".sem", ".relaxed .release"),
    (".scope", ".cta .cluster .gpu .sys"),
    (".order", ".min .max"),
    (".bit", ".and .or .xor"),
    (".itype", ".u32 .s32 .u64 .s64"),
    (".btype", ".b32 .b64"),
    (".atype", ".u32 .s32 .u64"),
    (".stype", ".b32 .b64 .u32 .u64 .s32 .s64"),
    (".fop", ".add .min .max"),
    (".vec", ".v2 .v4 .v8"),
    (".acc", ".acc::f32"),
    (".acc16", ".acc::f16"),
    (".ftype", ".f16 .f16x2 .bf16 .bf16x2"),
    (".real", ".f32 .f64"),
    (".f8", ".e5m2 .e5m2x2 .e5m2x4 .e4m3 .e4m3x2 .e4m3x4"),
    (".vtype", ".f16 .f16x2 .bf16 .bf16x2 .f32 .f64"),
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
        mem!("multimem.st{.sem}{.scope}{.global}{.vec}.vtype  [a]:b64, b:operand"),
        mem!("multimem.st.weak{.global}{.vec}.vtype  [a]:b64, b:operand"),
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
        if m.mods.contains(&Some(".red")) {
            whole_addresses(instr)?;
        }
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
        let value = instr.operands.iter().find(|o| !matches!(o.kind, OperandKind::Address(_)));
        if (place(".acc").is_some() || place(".acc16").is_some())
            && place(".fop").is_some_and(|op| op != ".add")
        {
            return Err("only sums have a wider accumulator".into());
        }
        let vector = place(".vec").is_some();
        if !vector
            && m.mods.contains(&Some(".red"))
            && matches!(value, Some(Operand { kind: OperandKind::Vector(_), .. }))
        {
            return Err("one element stands without braces".into());
        }
        let held = match ty {
            ".f32" if vector => Ty::B32,
            ".f32" => Ty::F32,
            ".f64" => Ty::F64,
            ".f16x2" | ".bf16x2" => Ty::F16x2,
            ".e5m2x4" | ".e4m3x4" => Ty::B32,
            _ if bits == 8 => Ty::B8,
            _ => Ty::B16,
        };
        let elements_of = match value {
            Some(Operand { kind: OperandKind::Vector(elements), .. }) => &elements[..],
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for e in elements_of {
            let fits = match e.kind {
                OperandKind::Reg(ty) => held.accepts(ty),
                OperandKind::Float(_) => matches!(ty, ".f32" | ".f64"),
                OperandKind::Int => held == Ty::B32 && ty != ".f32",
                _ => true,
            };
            if !fits {
                return Err(format!("an element is no `{ty}`"));
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
    (".field2", ".box_dim .global_dim"),
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
        Form::new("tensormap.replace.tile.field2{.ss}.b1024.b32  [a]:b64, n:u32#<0..4>, b:u32", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.element_stride{.ss}.b1024.b32  [a]:b64, n:u32#<0..4>, b:u32", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.global_stride{.ss}.b1024.b64  [a]:b64, n:u32#<0..4>, b:b64", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.elemtype{.ss}.b1024.b32  [a]:b64, b:u32#<0..12>", MAP, since(83, 90)).only("90a").later(),
        Form::new("tensormap.replace.tile.elemtype{.ss}.b1024.b32  [a]:b64, b:u32#<0..15>", MAP, since(83, 90)).only(BLACKWELL).later(),
        Form::new("tensormap.replace.tile.interleave_layout{.ss}.b1024.b32  [a]:b64, b:u32#<0..2>", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.swizzle_mode{.ss}.b1024.b32  [a]:b64, b:u32#<0..3>", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.fill_mode{.ss}.b1024.b32  [a]:b64, b:u32#<0..1>", MAP, since(83, 90)).only("90a 100f 101f 110f 120f").later(),
        Form::new("tensormap.replace.tile.swizzle_atomicity{.ss}.b1024.b32  [a]:b64, b:u32#<0..3>", MAP, since(86, 100)).only(BLACKWELL).later(),
        Form::new("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned  [d]:b64, [a]:b64, n:u32#<128..128>", MAP, since(83, 90)).later(),
    ],
    Some(|m, instr| {
        stand_first(instr, &[".replace", ".cp_fenceproxy"])?;
        if m.mods.contains(&Some(".replace")) { whole_addresses(instr) } else { spaces_in_order(m, instr) }
    }),
);
