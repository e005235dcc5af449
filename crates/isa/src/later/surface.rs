//! `suld sust sured suq`

use super::{coordinates, room};
use crate::matching::stand_first;
use crate::{Form, Instr, Match, Room, Since, Ty, since};

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

/// A surface in a register, and geometries, came later.
const NEEDS: &[(&str, Since)] =
    &[("%a", since(31, 20)), (".a1d", since(30, 20)), (".a2d", since(30, 20)), (".3d", since(20, 20))];
const FORMATTED: &[(&str, Since)] =
    &[("%a", since(31, 20)), (".a1d", since(41, 30)), (".a2d", since(41, 30)), (".3d", since(20, 20))];

/// At most 128 bits are accessed at once.
fn narrow(m: &Match) -> Result<(), String> {
    let place = |name: &str| m.parsed.mods.iter().position(|s| s.name == name).and_then(|i| m.mods[i]);
    match (place(".vec"), place(".type")) {
        (Some(".v4"), Some(".b64")) => Err("at most 128 bits are accessed at once".into()),
        _ => Ok(()),
    }
}

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".b", ".p"])?;
    coordinates(m, instr, "a", Ty::S32)?;
    narrow(m)
}

/// `suld`
pub const SULD: Room = room(
    &["suld"],
    "load from a surface",
    "9.7.12.1",
    &[Form::new("suld.b.geom{.cop}{.vec}.type.clamp  d:vecs.type, [a]:tuple", SETS, since(15, 11))
        .needs(NEEDS)
        .later()],
    Some(rule),
);

/// `sust`
pub const SUST: Room = room(
    &["sust"],
    "store to a surface",
    "9.7.12.2",
    &[
        Form::new("sust.b.geom{.wcop}{.vec}.type.clamp  [a]:tuple, b:vecs.type", SETS, since(15, 11))
            .needs(NEEDS)
            .later(),
        Form::new("sust.p.geom{.wcop}{.vec}.b32.clamp  [a]:tuple, b:vecs.b32", SETS, since(20, 20))
            .needs(FORMATTED)
            .later(),
    ],
    Some(rule),
);

/// `sured`
pub const SURED: Room = room(
    &["sured"],
    "combine with what a surface holds",
    "9.7.12.3",
    &[
        Form::new("sured.b.plain.add.atype.clamp  [a]:tuple, b:>.atype", SETS, since(20, 20))
            .needs(NEEDS)
            .later(),
        Form::new("sured.b.plain.order.otype.clamp  [a]:tuple, b:>.otype", SETS, since(20, 20))
            .needs(&[("%a", since(31, 20)), (".u64", since(81, 50)), (".s64", since(81, 50))])
            .later(),
        Form::new("sured.b.plain.bit.b32.clamp  [a]:tuple, b:>.b32", SETS, since(20, 20))
            .needs(NEEDS)
            .later(),
        Form::new("sured.p.plain.op.b32.clamp  [a]:tuple, b:>.b32", SETS, since(20, 20)).needs(NEEDS).later(),
    ],
    Some(rule),
);

/// `suq`
pub const SUQ: Room = room(
    &["suq"],
    "ask a surface for what it is",
    "9.7.12.4",
    &[Form::new("suq.query.b32  d:b32, [a]:handle", SETS, since(15, 11))
        .needs(&[("%a", since(31, 20)), (".array_size", since(41, 30)), (".memory_layout", since(42, 30))])
        .later()],
    None,
);
