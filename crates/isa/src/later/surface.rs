//! `suld sust sured suq`

use super::{coordinates, room};
use crate::{Form, Match, Room, since};

const SETS: &[(&str, &str)] = &[
    (".geom", ".1d .2d .3d .a1d .a2d"),
    (".cop", ".ca .cg .cs .cv"),
    (".wcop", ".wb .cg .cs .wt"),
    (".vec", ".v2 .v4"),
    (".type", ".b8 .b16 .b32 .b64"),
    (".clamp", ".trap .clamp .zero"),
    (".op", ".add .min .max .and .or"),
    (".plain", ".1d .2d .3d"),
    (".atype", ".u32 .u64 .s32"),
    (".order", ".min .max"),
    (".otype", ".u32 .s32 .u64 .s64"),
    (".bit", ".and .or"),
    (".query", ".width .height .depth .channel_data_type .channel_order .array_size .memory_layout"),
];

/// At most 128 bits are accessed at once.
fn narrow(m: &Match) -> Result<(), String> {
    let place = |name: &str| m.parsed.mods.iter().position(|s| s.name == name).and_then(|i| m.mods[i]);
    match (place(".vec"), place(".type")) {
        (Some(".v4"), Some(".b64")) => Err("at most 128 bits are accessed at once".into()),
        _ => Ok(()),
    }
}

/// `suld`
pub const SULD: Room = room(
    &["suld"],
    "load from a surface",
    "9.7.12.1",
    &[Form::new("suld.b.geom{.cop}{.vec}.type.clamp  d:vec.type, [a]:tuple", SETS, since(15, 11))
        .needs(&[(".a1d", since(30, 20)), (".a2d", since(30, 20)), (".3d", since(20, 20))])
        .later()],
    Some(|m, instr| coordinates(m, instr, "a").and_then(|()| narrow(m))),
);

/// `sust`
pub const SUST: Room = room(
    &["sust"],
    "store to a surface",
    "9.7.12.2",
    &[
        Form::new("sust.b.geom{.wcop}{.vec}.type.clamp  [a]:tuple, b:vec.type", SETS, since(15, 11))
            .needs(&[(".a1d", since(30, 20)), (".a2d", since(30, 20)), (".3d", since(20, 20))])
            .later(),
        Form::new("sust.p.geom{.vec}.b32.clamp  [a]:tuple, b:vec.b32", SETS, since(20, 20)).later(),
    ],
    Some(|m, instr| coordinates(m, instr, "a").and_then(|()| narrow(m))),
);

/// `sured`
pub const SURED: Room = room(
    &["sured"],
    "combine with what a surface holds",
    "9.7.12.3",
    &[
        Form::new("sured.b.plain.add.atype.clamp  [a]:tuple, b:.atype", SETS, since(20, 20)).later(),
        Form::new("sured.b.plain.order.otype.clamp  [a]:tuple, b:.otype", SETS, since(20, 20))
            .needs(&[(".u64", since(81, 20)), (".s64", since(81, 20))])
            .later(),
        Form::new("sured.b.plain.bit.b32.clamp  [a]:tuple, b:b32", SETS, since(20, 20)).later(),
        Form::new("sured.p.plain.op.b32.clamp  [a]:tuple, b:b32", SETS, since(20, 20)).later(),
    ],
    Some(|m, instr| coordinates(m, instr, "a").and_then(|()| narrow(m))),
);

/// `suq`
pub const SUQ: Room = room(
    &["suq"],
    "ask a surface for what it is",
    "9.7.12.4",
    &[Form::new("suq.query.b32  d:b32, [a]:handle", SETS, since(15, 11))
        .needs(&[(".array_size", since(41, 30)), (".memory_layout", since(42, 30))])
        .later()],
    None,
);
