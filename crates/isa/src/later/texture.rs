//! `tex tld4 txq istypep`

use super::{coordinates, operand, room};
use crate::{Form, Instr, Match, Operand, OperandKind, Room, since};

const SETS: &[(&str, &str)] = &[
    (".geom", ".1d .2d .3d .a1d .a2d .cube .acube .2dms .a2dms"),
    (".level_geom", ".1d .2d .3d .a1d .a2d .cube .acube"),
    (".dtype", ".u32 .s32 .f32"),
    (".ctype", ".s32 .f32"),
    (".comp", ".r .g .b .a"),
    (".gather", ".2d .a2d .cube .acube"),
    (
        ".tquery",
        ".width .height .depth .channel_data_type .channel_order .normalized_coords .array_size .num_mipmap_levels .num_samples",
    ),
    (".tlquery", ".width .height .depth"),
    (".squery", ".force_unnormalized_coords .filter_mode .addr_mode_0 .addr_mode_1 .addr_mode_2"),
    (".reftype", ".texref .samplerref .surfref"),
];

const NEEDS: &[(&str, crate::Since)] = &[
    (".a1d", since(30, 20)),
    (".a2d", since(30, 20)),
    (".cube", since(30, 20)),
    (".acube", since(30, 20)),
    (".2dms", since(32, 30)),
    (".a2dms", since(32, 30)),
    (".f16", since(42, 53)),
];

/// `tex`
pub const TEX: Room = room(
    &["tex"],
    "look a texture up",
    "9.7.11.3",
    &[
        Form::new("tex.geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(10, 10))
            .needs(NEEDS)
            .later(),
        Form::new("tex.geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(42, 53))
            .needs(NEEDS)
            .later(),
        Form::new("tex.geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(42, 53))
            .needs(NEEDS)
            .later(),
        Form::new(
            "tex.base.level_geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .later(),
        Form::new(
            "tex.level.level_geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .later(),
        Form::new(
            "tex.grad.level_geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .later(),
        Form::new(
            "tex.base.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .later(),
        Form::new(
            "tex.level.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .later(),
        Form::new(
            "tex.grad.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .later(),
        Form::new("tex.base.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(42, 53))
            .later(),
        Form::new(
            "tex.level.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .later(),
        Form::new(
            "tex.grad.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .later(),
    ],
    Some(|m, instr| coordinates(m, instr, "t").and_then(|()| trailing(m, instr))),
);

/// What stands behind the coordinates: levels and values to compare with are scalars of 32 bits, gradients and offsets vectors as long as the
/// geometry has dimensions, three of them written as four. Cubes have no offsets and no integer coordinates.
fn trailing(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let is = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    let cube = is(".cube") || is(".acube");
    let ctype = m.mods.iter().flatten().last().copied();
    if cube && ctype == Some(".s32") {
        return Err("coordinates of a cube are `.f32`".into());
    }
    if (is(".2dms") || is(".a2dms")) && ctype == Some(".f32") {
        return Err("coordinates of samples are `.s32`".into());
    }
    let narrow = |o: &Operand<'_>| match &o.kind {
        OperandKind::Reg(ty) => ty.bits() == 32,
        _ => true,
    };
    for name in ["lod", "dx", "dy", "e", "f"] {
        let Some(o) = operand(m, instr, name) else { continue };
        let (whole, elements) = match &o.kind {
            OperandKind::Vector(elements) => (false, &elements[..]),
            _ => (true, std::slice::from_ref(o)),
        };
        if !elements.iter().all(narrow) {
            return Err(format!("`{name}` has 32 bits, or elements of 32 bits"));
        }
        let wanted = match name {
            "dx" | "dy" if is(".1d") || is(".a1d") => Some(1),
            "dx" | "dy" if is(".2d") || is(".a2d") => Some(2),
            "dx" | "dy" => Some(4),
            "e" if is(".1d") || is(".a1d") => Some(1),
            "e" if is(".2d") || is(".a2d") => Some(2),
            "e" if is(".3d") => Some(4),
            _ => None,
        };
        match (name, whole) {
            ("e", true) if operand(m, instr, "f").is_some() && wanted.is_some_and(|n| n > 1) => {
                return Err("offsets are a vector".into());
            }
            ("dx" | "dy", true) => return Err(format!("`{name}` is a vector")),
            ("f" | "lod", false) if elements.len() > 1 || name == "f" => {
                return Err(format!("`{name}` is no vector"));
            }
            (_, false) if cube && name == "e" => return Err("cubes have no offsets".into()),
            (_, false) if wanted.is_some_and(|n| n != elements.len()) => {
                return Err(format!("`{name}` has another number of elements than the geometry"));
            }
            (_, false) if !matches!(elements.len(), 1 | 2 | 4) => {
                return Err(format!("`{name}` has 1, 2 or 4 elements"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `tld4`
pub const TLD4: Room = room(
    &["tld4"],
    "one component of the four texels around a place",
    "9.7.11.4",
    &[Form::new(
        "tld4.comp.gather.v4.dtype.f32  d:4*.dtype{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
        SETS,
        since(22, 20),
    )
    .needs(&[(".a2d", since(43, 30)), (".cube", since(43, 30)), (".acube", since(43, 30))])
    .later()],
    Some(|m, instr| coordinates(m, instr, "t").and_then(|()| trailing(m, instr))),
);

/// `txq`
pub const TXQ: Room = room(
    &["txq"],
    "ask a texture or sampler for what it is",
    "9.7.11.5",
    &[
        Form::new("txq.tquery.b32  d:b32, [a]:handle", SETS, since(15, 10))
            .needs(&[
                (".array_size", since(41, 30)),
                (".num_mipmap_levels", since(41, 30)),
                (".num_samples", since(41, 30)),
            ])
            .later(),
        Form::new("txq.level.tlquery.b32  d:b32, [a]:handle, lod:b32", SETS, since(43, 20)).later(),
        Form::new("txq.squery.b32  d:b32, [a]:handle", SETS, since(15, 10)).later(),
    ],
    None,
);

/// `istypep`
pub const ISTYPEP: Room = room(
    &["istypep"],
    "whether something is a texture, sampler or surface",
    "9.7.11.6",
    &[Form::new("istypep.reftype  p:pred, a:handle", SETS, since(40, 30)).later()],
    None,
);
