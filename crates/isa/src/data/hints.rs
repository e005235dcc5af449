//! `prefetch prefetchu discard applypriority createpolicy`: what caches are told. No value depends on it, and no address is checked.

use crate::matching::{stand_first, whole_addresses};
use crate::{Cx, Form, OperandKind, Outcome, Room, since};
use hostwarp_ir::Type;

const SETS: &[(&str, &str)] = &[
    (".space", ".global .local"),
    (".level", ".L1 .L2"),
    (".level::eviction_priority", ".L2::evict_last .L2::evict_normal"),
    (".tensormap_space", ".const .param"),
];

/// `prefetch`
pub const PREFETCH: Room = Room {
    opcodes: &["prefetch"],
    title: "bring a line into a cache",
    doc: "There is no cache to be seen, so nothing happens; a bad address is no error.",
    section: "9.7.9.15",
    forms: &[
        Form::new("prefetch{.space}.level  [a]:b64", SETS, since(20, 20)),
        Form::new("prefetch{.global}.level::eviction_priority  [a]:b64", SETS, since(74, 80)),
        Form::new("prefetch{.tensormap_space}.tensormap  [a]:b64", SETS, since(80, 90)),
        Form::new("prefetch{.global}.L1::32B.valid_addr  [a]:b64", SETS, since(94, 90)),
    ],
    rule: Some(|m, instr| match instr.operands.first().map(|o| &o.kind) {
        Some(OperandKind::Address(Some(ty))) if m.has(".tensormap") && ty.bits() < 32 => {
            Err("the address of a tensor map has at least 32 bits".into())
        }
        _ => Ok(()),
    }),
    meaning: |_| Ok(()),
    notes: &[],
};

/// `prefetchu`
pub const PREFETCHU: Room = Room {
    opcodes: &["prefetchu"],
    title: "bring a line into the uniform cache",
    doc: "As `prefetch`.",
    section: "9.7.9.15",
    forms: &[Form::new("prefetchu.L1  [a]:b64", SETS, since(20, 20))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `discard`
pub const DISCARD: Room = Room {
    opcodes: &["discard"],
    title: "let a line go without writing it back",
    doc: "What the line holds afterwards is undefined; here it keeps its values.",
    section: "9.7.9.17",
    forms: &[Form::new("discard{.global}.L2  [a]:b64, size:u32#<128..128>", SETS, since(74, 80))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `applypriority`
pub const APPLYPRIORITY: Room = Room {
    opcodes: &["applypriority"],
    title: "change how long a line should stay in a cache",
    doc: "There is no cache to be seen, so nothing happens.",
    section: "9.7.9.16",
    forms: &[Form::new(
        "applypriority{.global}.L2::evict_normal  [a]:b64, size:u32#<128..128>",
        SETS,
        since(74, 80),
    )],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

const POLICY: &[(&str, &str)] = &[
    (".primary", ".L2::evict_last .L2::evict_normal .L2::evict_first .L2::evict_unchanged"),
    (".secondary", ".L2::evict_first .L2::evict_unchanged"),
];

/// `createpolicy`
pub const CREATEPOLICY: Room = Room {
    opcodes: &["createpolicy"],
    title: "make an operand for `.L2::cache_hint`",
    doc: "The policy is opaque to programs, and accesses that are given one do as any other.",
    section: "9.7.9.19",
    forms: &[
        Form::new(
            "createpolicy.range{.global}.primary{.secondary}.b64  d:u64, [a]:b64@.global, primary_size:u32<..total_size>, total_size:u32",
            POLICY,
            since(74, 80),
        ),
        Form::new(
            "createpolicy.fractional.primary{.secondary}.b64  d:u64{, fraction:f32<0..1]>}",
            POLICY,
            since(74, 80),
        ),
        Form::new("createpolicy.cvt.L2.b64  d:u64, access_property:u64", &[], since(74, 80)),
    ],
    rule: Some(|_, instr| {
        stand_first(instr, &[".range", ".fractional", ".cvt"])?;
        whole_addresses(instr)
    }),
    meaning: policy,
    notes: &[
        "A fractional policy holds what ptxas puts into it: the priorities, and the fraction in sixteenths where it is a constant.",
    ],
};

fn policy(cx: &mut Cx<'_>) -> Outcome {
    let policy = if cx.has(".cvt") {
        cx.src("access_property")
    } else {
        let primary: u64 = match cx.get(".primary") {
            Some(".L2::evict_first") => 2,
            Some(".L2::evict_last") => 4,
            Some(".L2::evict_normal") => 6,
            _ => 0,
        };
        let secondary = u64::from(cx.get(".secondary") == Some(".L2::evict_first"));
        let given = cx.has(".fractional") && cx.given("fraction");
        let fraction =
            given.then(|| cx.constant("fraction")).flatten().map(|bits| f32::from_bits(bits as u32));
        // Less one; a NaN counts as the least.
        let sixteenths = ((fraction.unwrap_or(1.0) * 16.0).ceil() - 1.0).clamp(0.0, 15.0) as u64;
        cx.b.iconst(Type::I64, 1 << 60 | (primary | secondary) << 56 | sixteenths << 52)
    };
    cx.set("d", policy);
    Ok(())
}
