//! Instructions that are known and checked but have no meaning yet: every form of theirs is reported as not supported. A family that gets a meaning
//! moves out of here.

pub mod cluster;
pub mod copy;
pub mod surface;
pub mod tcgen05;
pub mod texture;
pub mod wgmma;

use crate::{Form, Instr, Kind, Match, Operand, OperandKind, Room, Rule};

/// Every room without a meaning, in the order of the manual.
pub const ROOMS: &[Room] = &[
    copy::MULTIMEM,
    copy::TENSORMAP,
    cluster::CLUSTERLAUNCHCONTROL,
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
const TENSOR_MEMORY: &str = "100f 101f 110f";
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

/// A rule of textures and surfaces: as many coordinates as the geometry has, three of them written as four.
fn coordinates(m: &Match, instr: &Instr<'_>, name: &str) -> Result<(), String> {
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
    if let Some(OperandKind::Vector(elements)) = parts.last().map(|p| &p.kind) {
        for e in elements {
            if let OperandKind::Reg(ty) = e.kind
                && (ty.bits() != 32 || ty.kind() == Kind::Packed)
            {
                return Err(format!("a coordinate has 32 bits, not `{ty}`"));
            }
        }
    }
    if let Some(OperandKind::Reg(handle)) = parts.first().map(|p| &p.kind)
        && (handle.bits() != 64 || handle.is_float())
    {
        return Err(format!("`{name}` is in an integer register of 64 bits"));
    }
    match registers(parts.last()) {
        have if have == want => Ok(()),
        have => Err(format!("this geometry has {want} coordinates, not {have}")),
    }
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
    match registers(parts.last()) {
        have if have == want && parts.len() == 2 => Ok(()),
        have => Err(format!("this tensor has {want} coordinates, not {have}")),
    }
}
