//! Instructions that are known and checked but have no meaning yet: every form of theirs is reported as not supported. A family that gets a meaning
//! moves out of here.

pub mod copy;
pub mod surface;
pub mod tcgen05;
pub mod texture;
pub mod wgmma;

use crate::matching::go_together;
use crate::{Form, Instr, Kind, Match, Operand, OperandKind, Room, Rule, Ty};

/// Every room without a meaning, in the order of the manual.
pub const ROOMS: &[Room] = &[
    copy::MULTIMEM,
    copy::TENSORMAP,
    texture::TEX,
    texture::TLD4,
    texture::TXQ,
    texture::ISTYPEP,
    surface::SULD,
    surface::SUST,
    surface::SURED,
    surface::SUQ,
    wgmma::ROOM,
    tcgen05::ROOM,
];

/// Targets of the Blackwell family that have tensor memory.
pub(crate) const TENSOR_MEMORY: &str = "100f 101f 110f";
/// Targets of all Blackwell families.
pub(crate) const BLACKWELL: &str = "100f 101f 110f 120f";

const fn room(
    opcodes: &'static [&'static str],
    title: &'static str,
    section: &'static str,
    forms: &'static [Form],
    rule: Option<Rule>,
) -> Room {
    Room { opcodes, title, doc: "", section, forms, rule, meaning: |cx| cx.m.has_meaning(), notes: &[] }
}

/// A rule of many: `.sem` and `.scope` are both there or neither is.
pub(crate) fn sem_with_scope(m: &Match) -> Result<(), String> {
    let place = |name: &str| m.parsed.mods.iter().position(|s| s.name == name).and_then(|i| m.mods[i]);
    match (place(".sem"), place(".scope")) {
        (Some(_), None) => Err("`.sem` needs a scope".into()),
        (None, Some(_)) => Err("a scope needs `.sem`".into()),
        _ => Ok(()),
    }
}

/// How many registers stand in an operand.
fn registers(operand: Option<&Operand<'_>>) -> usize {
    match operand.map(|o| &o.kind) {
        Some(OperandKind::Vector(elements)) => elements.len(),
        Some(_) => 1,
        None => 0,
    }
}

/// The operand in the place called `name`.
fn operand<'a>(m: &Match, instr: &'a Instr<'a>, name: &str) -> Option<&'a Operand<'a>> {
    let place = m.parsed.operands.iter().position(|o| o.name == name)?;
    instr.operands.get(m.operands[place]?)
}

/// A rule: an operand has as many registers as it must.
pub(crate) fn count(m: &Match, instr: &Instr<'_>, name: &str, want: usize) -> Result<(), String> {
    match registers(operand(m, instr, name)) {
        have if have == want => Ok(()),
        have => Err(format!("`{name}` has {want} registers here, not {have}")),
    }
}

/// The parts of the operand in the place called `name`.
fn parts<'a>(m: &Match, instr: &'a Instr<'a>, name: &str) -> &'a [Operand<'a>] {
    match operand(m, instr, name).map(|o| &o.kind) {
        Some(OperandKind::Tuple(parts)) => parts,
        _ => &[],
    }
}

/// A rule of textures and surfaces: the handle, and at least as many coordinates as the geometry has, three of them written as four.
fn coordinates(m: &Match, instr: &Instr<'_>, name: &str, ty: Ty) -> Result<(), String> {
    let parts = parts(m, instr, name);
    let is = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    let want = if is(".1d") {
        1
    } else if is(".2d") || is(".a1d") {
        2
    } else {
        4
    };
    if parts.len() > 3 {
        return Err(format!("`[{name}]` has two or three parts"));
    }
    if let Some(OperandKind::Reg(handle)) = parts.first().map(|p| &p.kind)
        && (handle.bits() != 64 || handle.is_float())
    {
        return Err(format!("`{name}` is in an integer register of 64 bits"));
    }
    let Some(place) = parts.last() else { return Ok(()) };
    // In textures the layer of an array is an integer, whatever the other coordinates are.
    let layered = m.opcode.starts_with('t') && (is(".a1d") || is(".a2d") || is(".acube") || is(".a2dms"));
    match &place.kind {
        OperandKind::Vector(elements) if layered => {
            if let Some((layer, others)) = elements.split_first() {
                group(std::slice::from_ref(layer), Ty::U32, "the layer")?;
                group(others, ty, "a coordinate")?;
            }
        }
        OperandKind::Vector(elements) => group(elements, ty, "a coordinate")?,
        _ => group(std::slice::from_ref(place), ty, "a coordinate")?,
    }
    match registers(Some(place)) {
        have if have >= want && matches!(have, 1 | 2 | 4) => Ok(()),
        have => Err(format!("this geometry has {want} coordinates, not {have}")),
    }
}

/// Elements of a vector that are all of this type, or bits if one of them is declared so. Coordinates between texels may be whole.
fn group(elements: &[Operand<'_>], want: Ty, what: &str) -> Result<(), String> {
    let bits = go_together(elements)?;
    let float = |e: &Operand<'_>| matches!(e.kind, OperandKind::Float(_) | OperandKind::Reg(Ty::F32));
    let int = |e: &Operand<'_>| match e.kind {
        OperandKind::Int => true,
        OperandKind::Reg(ty) => matches!(ty.kind(), Kind::Unsigned | Kind::Signed),
        _ => false,
    };
    for e in elements {
        match e.kind {
            OperandKind::Reg(ty) if ty.bits() != want.bits() || ty.kind() == Kind::Packed => {
                return Err(format!("{what} has {} bits, not `{ty}`", want.bits()));
            }
            _ => {}
        }
    }
    if !bits && elements.iter().any(float) && elements.iter().any(int) {
        return Err("a vector has elements of one type".into());
    }
    let constant = elements.iter().any(|e| e.kind == OperandKind::Int);
    if !bits && (want != Ty::F32 && elements.iter().any(float) || want == Ty::F32 && constant) {
        return Err(format!("{what} is `{want}`"));
    }
    Ok(())
}

/// A rule of tensors: as many coordinates as dimensions, five where rows are gathered.
pub(crate) fn dimensions(m: &Match, instr: &Instr<'_>, name: &str) -> Result<(), String> {
    let parts = parts(m, instr, name);
    if parts.is_empty() {
        return Ok(());
    }
    let dimensions =
        m.mods.iter().flatten().find_map(|x| x.strip_suffix('d')?.strip_prefix('.')?.parse().ok());
    let rows = m.mods.iter().flatten().any(|x| matches!(*x, ".tile::gather4" | ".tile::scatter4"));
    let want: usize = if rows { 5 } else { dimensions.unwrap_or(1) };
    match parts.last().map(|p| &p.kind) {
        Some(OperandKind::Vector(elements)) => {
            let whole = |o: &Operand<'_>| matches!(o.kind, OperandKind::Reg(ty) if !Ty::S32.accepts(ty));
            if elements.iter().any(whole) {
                return Err("coordinates are integers of 32 bits".into());
            }
        }
        _ => return Err("coordinates are a vector".into()),
    }
    match registers(parts.last()) {
        have if have == want && parts.len() == 2 => Ok(()),
        have => Err(format!("this tensor has {want} coordinates, not {have}")),
    }
}
