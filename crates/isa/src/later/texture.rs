//! `tex tld4 txq istypep`

use super::{coordinates, group, operand, room};
use crate::matching::stand_first;
use crate::{Form, Instr, Kind, Match, Operand, OperandKind, Room, Since, Ty, since};

const SETS: &[(&str, &str)] = &[
    (".geom", ".1d .2d .3d .a1d .a2d .cube .acube .2dms .a2dms"),
    (".level_geom", ".1d .2d .3d .a1d .a2d .cube .acube"),
    (".dtype", ".u32 .s32"),
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

const NEEDS: &[(&str, Since)] = &[
    ("%t", since(31, 20)),
    ("=e", since(43, 30)),
    ("=p", since(71, 60)),
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
        Form::new("tex.geom.v4.f32.ctype  d:4*b32{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(10, 10))
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
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.base.level_geom.v4.f32.ctype  d:4*b32{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.level.level_geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.level.level_geom.v4.f32.ctype  d:4*b32{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.grad.level_geom.v4.dtype.ctype  d:4*.dtype{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.grad.level_geom.v4.f32.ctype  d:4*b32{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(31, 20),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.base.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.level.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.grad.level_geom.v2.f16x2.ctype  d:2*f16x2{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .needs(NEEDS)
        .later(),
        Form::new("tex.base.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple{, e:operand}{, f:operand}", SETS, since(42, 53))
            .needs(NEEDS)
            .later(),
        Form::new(
            "tex.level.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple, lod:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .needs(NEEDS)
        .later(),
        Form::new(
            "tex.grad.level_geom.v4.f16.ctype  d:4*b16{|p:pred}, [t]:tuple, dx:operand, dy:operand{, e:operand}{, f:operand}",
            SETS,
            since(42, 53),
        )
        .needs(NEEDS)
        .later(),
    ],
    Some(rule),
);

fn rule(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    stand_first(instr, &[".base", ".level", ".grad"])?;
    coordinates(m, instr, "t", ctype(m))?;
    // A function is made of these, whose parameters are what they say.
    let whole = |o: &Operand<'_>| matches!(o.kind, OperandKind::Reg(ty) if matches!(ty.kind(), Kind::Signed | Kind::Unsigned));
    let some = |names: &[&str]| m.mods.iter().flatten().any(|x| names.contains(x));
    let strict = some(&[".grad"]) && some(&[".f16x2", ".3d", ".cube", ".acube"]) && ctype(m) == Ty::F32;
    if strict
        && let Some(OperandKind::Tuple(parts)) = operand(m, instr, "t").map(|o| &o.kind)
        && let Some(OperandKind::Vector(elements)) = parts.last().map(|p| &p.kind)
        && elements.iter().all(whole)
    {
        return Err("coordinates are `.f32`".into());
    }
    trailing(m, instr)
}

/// What stands behind the coordinates: levels and slopes, offsets, depths to compare with; three dimensions are written as four. Cubes
/// have no offsets and no integer coordinates.
fn trailing(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let is = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    let cube = is(".cube") || is(".acube");
    let ty = ctype(m);
    if cube && ty == Ty::S32 {
        return Err("coordinates of a cube are `.f32`".into());
    }
    let samples = is(".2dms") || is(".a2dms");
    if samples && ty == Ty::F32 {
        return Err("coordinates of samples are `.s32`".into());
    }
    let size = if is(".1d") || is(".a1d") {
        1
    } else if is(".2d") || is(".a2d") || samples {
        2
    } else {
        4
    };
    fn elements<'a>(o: &'a Operand<'a>) -> (&'a [Operand<'a>], bool) {
        match &o.kind {
            OperandKind::Vector(elements) => (elements, true),
            _ => (std::slice::from_ref(o), false),
        }
    }
    if let Some(lod) = operand(m, instr, "lod") {
        let (lod, _) = elements(lod);
        group(lod, ty, "a level")?;
        if ty == Ty::F32 && lod.iter().any(|e| !may_be_float(e)) {
            return Err("a level is `.f32` here".into());
        }
        if !matches!(lod.len(), 1 | 2 | 4) {
            return Err("a level is one number".into());
        }
    }
    for name in ["dx", "dy"] {
        let Some(o) = operand(m, instr, name) else { continue };
        let (slope, vector) = elements(o);
        if !vector || slope.len() != size {
            return Err(format!("`{name}` is a vector of {size}"));
        }
        group(slope, Ty::F32, "a slope")?;
        let bits = slope.iter().any(|e| matches!(e.kind, OperandKind::Reg(ty) if ty.kind() == Kind::Bits));
        if !bits && !slope.iter().all(may_be_float) {
            return Err("a slope is `.f32`".into());
        }
    }
    // One more operand is a vector of offsets, or what to compare depths with; two are both.
    let (Some(e), f) = (operand(m, instr, "e"), operand(m, instr, "f")) else { return Ok(()) };
    let (offsets, vector) = elements(e);
    let depths = ty == Ty::F32 && !is(".3d");
    if f.is_none() && !vector && depths {
        return if matches!(e.kind, OperandKind::Reg(ty) if ty.bits() != 32) { depth(e) } else { Ok(()) };
    }
    if cube {
        return Err("cubes have no offsets".into());
    }
    if size == 4 && !vector {
        return Err("offsets are a vector".into());
    }
    group(offsets, Ty::S32, "an offset")?;
    if vector && (offsets.len() < size || !matches!(offsets.len(), 1 | 2 | 4)) {
        return Err(format!("this geometry has {size} offsets, not {}", offsets.len()));
    }
    match f {
        None => Ok(()),
        Some(_) if !depths => {
            Err("only coordinates of type `.f32` of one or two dimensions and cubes have depths".into())
        }
        Some(f) => depth(f),
    }
}

/// What depths are compared with.
fn depth(o: &Operand<'_>) -> Result<(), String> {
    match &o.kind {
        OperandKind::Vector(_) => Err("a depth is no vector".into()),
        OperandKind::Int => Err("a depth is `.f32`".into()),
        OperandKind::Reg(ty) if ty.bits() != 32 => Err("a depth has 32 bits".into()),
        _ => Ok(()),
    }
}

fn may_be_float(o: &Operand<'_>) -> bool {
    matches!(o.kind, OperandKind::Float(_) | OperandKind::Reg(Ty::F32 | Ty::B32))
}

/// The type of the coordinates.
fn ctype(m: &Match) -> Ty {
    if m.mods.iter().flatten().last() == Some(&".s32") { Ty::S32 } else { Ty::F32 }
}

/// What parts of `tld4` came later.
const TLD4_NEEDS: &[(&str, crate::Since)] = &[
    ("%t", since(31, 20)),
    ("=e", since(43, 30)),
    ("=p", since(71, 60)),
    ("=e", since(22, 30)),
    (".a2d", since(43, 30)),
    (".cube", since(43, 30)),
    (".acube", since(43, 30)),
];

/// `tld4`
pub const TLD4: Room = room(
    &["tld4"],
    "one component of the four texels around a place",
    "9.7.11.4",
    &[
        Form::new(
            "tld4.comp.gather.v4.dtype.f32  d:4*.dtype{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(22, 20),
        )
        .needs(TLD4_NEEDS)
        .later(),
        Form::new(
            "tld4.comp.gather.v4.f32.f32  d:4*b32{|p:pred}, [t]:tuple{, e:operand}{, f:operand}",
            SETS,
            since(22, 20),
        )
        .needs(TLD4_NEEDS)
        .later(),
    ],
    Some(rule),
);

/// `txq`
pub const TXQ: Room = room(
    &["txq"],
    "ask a texture or sampler for what it is",
    "9.7.11.5",
    &[
        Form::new("txq.tquery.b32  d:b32, [a]:handle", SETS, since(15, 10))
            .needs(&[
                ("%a", since(31, 20)),
                (".array_size", since(41, 30)),
                (".num_mipmap_levels", since(41, 30)),
                (".num_samples", since(41, 30)),
            ])
            .later(),
        Form::new("txq.level.tlquery.b32  d:b32, [a]:handle, lod:u32", SETS, since(43, 30))
            .needs(&[("%a", since(31, 20))])
            .later(),
        Form::new("txq.squery.b32  d:b32, [a]:handle", SETS, since(15, 10))
            .needs(&[("%a", since(31, 20))])
            .later(),
    ],
    Some(|_, instr| stand_first(instr, &[".level"])),
);

/// `istypep`
pub const ISTYPEP: Room = room(
    &["istypep"],
    "whether something is a texture, sampler or surface",
    "9.7.11.6",
    &[Form::new("istypep.reftype  p:pred, a:handle", SETS, since(40, 30)).later()],
    None,
);
