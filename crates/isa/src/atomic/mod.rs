//! Atomic operations: `atom red`.
//!
//! Since PTX 1.1. Both do the same; `red` does not tell what was there before.

mod ops;

pub(crate) use ops::one as combine;

use crate::matching::{stand_first, whole_addresses, whole_first_address};
use crate::{Form, Instr, Match, OperandKind, Room, Since, since};
use hostwarp_ir::Space;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[ATOM, RED];

const SEM: &str = ".relaxed .acquire .release .acq_rel";
/// A reduction does not read, so it cannot acquire.
const RED_SEM: &str = ".relaxed .release";
const SCOPE: &str = ".cta .cluster .gpu .sys";
const SPACE: &str = ".global .shared .shared::cta .shared::cluster";
const HINT: &str = ".L2::cache_hint";

/// The sets of one kind of operation.
macro_rules! sets {
    ($sem:expr, $op:literal, $type:literal) => {
        &[
            (".sem", $sem),
            (".scope", SCOPE),
            (".space", SPACE),
            (".op", $op),
            (".level::cache_hint", HINT),
            (".vec", ".v2 .v4 .v8"),
            (".type", $type),
        ]
    };
}

/// Since when modifiers exist, and more for some operations.
macro_rules! needs {
    ($($more:tt)*) => {
        &[
            (".relaxed", since(60, 70)),
            (".acquire", since(60, 70)),
            (".release", since(60, 70)),
            (".acq_rel", since(60, 70)),
            (".cta", since(50, 60)),
            (".gpu", since(50, 60)),
            (".sys", since(50, 60)),
            (".cluster", since(78, 90)),
            (".shared::cta", since(78, 30)),
            (".shared::cluster", since(78, 90)),
            (".L2::cache_hint", since(74, 80)),
            (".f32", since(20, 20)),
            (".f64", since(50, 60)),
            (".s64", since(31, 32)),
            (".b16", since(63, 70)),
            (".f16", since(63, 70)),
            (".f16x2", since(62, 60)),
            (".bf16", since(78, 90)),
            (".bf16x2", since(78, 90)),
            $($more)*
        ]
    };
}

const NEEDS: &[(&str, Since)] = needs!();
/// In 64 bits, `.and .or .xor .min .max` came later.
const LATER: &[(&str, Since)] = needs!((".b64", since(10, 32)), (".u64", since(10, 32)));

const FLUSH: &str = "`.add.f32` flushes subnormal operands and results to zero in global memory and keeps them in shared memory; NaN results of `.add.f64`, the operand's \
                     before what memory held, are made quiet in shared memory only; with a generic address the address decides.";
const KEPT: &str = "`.add.noftz.f32` (PTX 9.4) keeps subnormals wherever it is; a NaN result is 0x7fffffff, as without `.noftz` (no GPU has been asked).";
const HALVES: &str =
    "The two halves of a packed type, and the elements of a vector, are each atomic for themselves.";

/// `atom`
pub const ATOM: Room = Room {
    opcodes: &["atom"],
    title: "read, modify and write memory in one step",
    doc: "`d` is what was there before. `.inc` counts up to `b` and then starts at 0 again, `.dec` counts down from `b`; `.cas` stores `c` where `b` was found. \
          Without a state space the address is generic; without `.sem` it is `.relaxed`, without a scope `.gpu`. The lanes of a warp go one after the other, \
          lowest first.",
    section: "9.7.13.5",
    forms: &[
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".add", ".u32 .s32 .u64 .f32 .f64"),
            since(11, 11),
        )
        .needs(NEEDS),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".and .or .xor", ".b32 .b64"),
            since(11, 11),
        )
        .needs(LATER),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".exch", ".b32 .b64"),
            since(11, 11),
        )
        .needs(NEEDS),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".min .max", ".u32 .s32 .u64 .s64"),
            since(11, 11),
        )
        .needs(LATER),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".inc .dec", ".u32"),
            since(11, 11),
        )
        .needs(NEEDS),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.type  d:.type?, [a]:b64, b:.type, c:.type",
            sets!(SEM, ".cas", ".b16 .b32 .b64"),
            since(11, 11),
        )
        .needs(NEEDS),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type!{, cache-policy:u64}",
            sets!(SEM, ".add", ".f16 .f16x2 .bf16 .bf16x2"),
            since(62, 60),
        )
        .needs(NEEDS),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type!{, cache-policy:u64}",
            sets!(SEM, ".exch", ".b128"),
            since(83, 90),
        ),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.type  d:.type?, [a]:b64, b:.type!, c:.type!",
            sets!(SEM, ".cas", ".b128"),
            since(83, 90),
        ),
        Form::new(
            "atom{.sem}{.scope}{.space}.op{.level::cache_hint}.vec.type  d:vec.type, [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(SEM, ".add", ".f32"),
            since(81, 90),
        ),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.vec.type  d:vec.type, [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(SEM, ".add .min .max", ".f16 .f16x2 .bf16 .bf16x2"),
            since(81, 90),
        ),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type  d:.type?, [a]:b64, b:.type{, cache-policy:u64}",
            sets!(SEM, ".add", ".f32"),
            since(94, 90),
        ),
        Form::new(
            "atom{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.vec.type  d:vec.type, [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(SEM, ".add", ".f32"),
            since(94, 90),
        ),
    ],
    rule: Some(rule),
    meaning: ops::meaning,
    notes: &[FLUSH, KEPT, HALVES, "`_` may stand for `d`."],
};

/// `red`
pub const RED: Room = Room {
    opcodes: &["red"],
    title: "modify memory in one step",
    doc: "As `atom` without its result; there is no `.exch` and no `.cas`.",
    section: "9.7.13.6",
    forms: &[
        Form::new(
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.type  [a]:b64, b:.type{, cache-policy:u64}",
            sets!(RED_SEM, ".add", ".u32 .s32 .u64 .f32 .f64"),
            since(12, 11),
        )
        .needs(NEEDS),
        Form::new(
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.type  [a]:b64, b:.type{, cache-policy:u64}",
            sets!(RED_SEM, ".and .or .xor", ".b32 .b64"),
            since(12, 11),
        )
        .needs(LATER),
        Form::new(
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.type  [a]:b64, b:.type{, cache-policy:u64}",
            sets!(RED_SEM, ".min .max", ".u32 .s32 .u64 .s64"),
            since(12, 11),
        )
        .needs(LATER),
        Form::new(
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.type  [a]:b64, b:.type{, cache-policy:u64}",
            sets!(RED_SEM, ".inc .dec", ".u32"),
            since(12, 11),
        )
        .needs(NEEDS),
        Form::new(
            "red{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type  [a]:b64, b:.type!{, cache-policy:u64}",
            sets!(RED_SEM, ".add", ".f16 .f16x2 .bf16 .bf16x2"),
            since(62, 60),
        )
        .needs(NEEDS),
        Form::new(
            "red{.sem}{.scope}{.space}.op{.level::cache_hint}.vec.type  [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(RED_SEM, ".add", ".f32"),
            since(81, 90),
        ),
        Form::new(
            "red{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.vec.type  [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(RED_SEM, ".add .min .max", ".f16 .f16x2 .bf16 .bf16x2"),
            since(81, 90),
        ),
        Form::new(
            "red{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.type  [a]:b64, b:.type{, cache-policy:u64}",
            sets!(RED_SEM, ".add", ".f32"),
            since(94, 90),
        ),
        Form::new(
            "red{.sem}{.scope}{.space}.op.noftz{.level::cache_hint}.vec.type  [a]:b64, b:vec.type{, cache-policy:u64}",
            sets!(RED_SEM, ".add", ".f32"),
            since(94, 90),
        ),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type, [mbar]:b64",
            sets!(RED_SEM, ".inc .dec", ".u32"),
            since(81, 90),
        ),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type, [mbar]:b64",
            sets!(RED_SEM, ".min .max", ".u32 .s32"),
            since(81, 90),
        ),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type, [mbar]:b64",
            sets!(RED_SEM, ".and .or .xor", ".b32"),
            since(81, 90),
        ),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type, [mbar]:b64",
            sets!(RED_SEM, ".add", ".u32 .s32 .u64"),
            since(81, 90),
        ),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type",
            sets!(RED_SEM, ".inc .dec", ".u32"),
            since(81, 90),
        )
        .undocumented()
        .later(),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type",
            sets!(RED_SEM, ".min .max", ".u32 .s32"),
            since(81, 90),
        )
        .undocumented()
        .later(),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type",
            sets!(RED_SEM, ".and .or .xor", ".b32"),
            since(81, 90),
        )
        .undocumented()
        .later(),
        Form::new(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type  [a]:b64, b:.type",
            sets!(RED_SEM, ".add", ".u32 .s32 .u64"),
            since(81, 90),
        )
        .undocumented()
        .later(),
        Form::new(
            "red.async{.mmio}.release.scope{.global}.op.type  [a]:b64, b:.type",
            &[(".scope", ".gpu .sys"), (".op", ".add"), (".type", ".u32 .s32 .u64 .s64")],
            since(87, 100),
        ),
    ],
    rule: Some(|m, instr| if m.has(".async") { asynchronous(m, instr) } else { rule(m, instr) }),
    meaning: ops::meaning,
    notes: &[FLUSH, KEPT, HALVES],
};

fn asynchronous(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".async"])?;
    if m.has(".mmio") && !m.has(".sys") {
        return Err("`.mmio` needs the scope `.sys`".into());
    }
    // Only what is in the CTA's own window can be read from a narrower register.
    if m.has(".shared::cluster") { whole_first_address(instr) } else { whole_addresses(instr) }
}

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let policy = m.slot("cache-policy").is_some_and(|s| m.operands[s].is_some());
    let space = m.space();
    if m.has(HINT) != policy {
        return Err("`.L2::cache_hint` and a cache policy as last operand go together".into());
    }
    if policy && space == Space::Shared {
        return Err("`.L2::cache_hint` does not go with `.shared`".into());
    }
    let count = m.get(".vec").and_then(|v| v[2..].parse::<u32>().ok()).unwrap_or(1);
    let ty = m.ty(".type");
    let elements = instr.operands.iter().filter_map(|o| match &o.kind {
        OperandKind::Vector(es) => Some(es),
        _ => None,
    });
    for e in elements.flatten() {
        // Elsewhere elements may be wider than the type.
        if let (OperandKind::Reg(reg), Some(ty)) = (&e.kind, ty)
            && reg.bits() != ty.bits()
        {
            return Err(format!("the elements must be as wide as {ty}"));
        }
    }
    if count > 1 && space == Space::Shared {
        return Err("vectors are only for global memory".into());
    }
    if count > 1 && count * m.ty(".type").map_or(0, |t| t.bits()) > 128 {
        return Err("at most 128 bits can be accessed at once".into());
    }
    Ok(())
}
