//! What ptxas lets pass and no manual has: accepted when a module is checked, and not supported where it would have to run.

use crate::form::{Class, OperandSlot, Parsed};
use crate::matching::{Operand, OperandKind, fits};
use crate::ty::{Kind, Ty};

/// Instructions that ptxas has a grammar of their own for, without selectors.
const BARE: &[&str] = &[
    "bar",
    "barrier",
    "match",
    "vote",
    "redux",
    "ldmatrix",
    "stmatrix",
    "bfe",
    "bfi",
    "shfl",
    "wmma",
    "mma",
    "txq",
    "red",
    "movmatrix",
];

/// Instructions with vectors of 32-bit registers in which ptxas lets predicates pass.
const PREDICATES_TOO: &[&str] = &["ldmatrix", "stmatrix", "mma", "tex", "tld4"];

/// What ptxas lets pass and no manual has: sums as integers, whatever the widths, and the selector `.b01` on a register of 32 bits.
pub(crate) fn passes(
    opcode: &str,
    slot: &OperandSlot,
    op: &Operand<'_>,
    parsed: &Parsed,
    mods: &[Option<&'static str>],
) -> bool {
    let vector = matches!(slot.class, Class::Vector(_))
        && mods.iter().flatten().any(|m| matches!(*m, ".v2" | ".v4" | ".v8"));
    if vector && opcode == "mov" {
        // A single value in place of a vector.
        let want = match slot.class {
            Class::Vector(i) => mods[i].and_then(Ty::parse),
            _ => None,
        };
        return !slot.dest
            && op.selector.is_none()
            && want.is_some_and(|want| match op.kind {
                OperandKind::Reg(ty) => ty.bits() == want.bits() && ty != Ty::Pred && !op.neg && !op.not,
                OperandKind::Int | OperandKind::Name => !want.is_float(),
                OperandKind::Float(_) => matches!(want, Ty::F32 | Ty::F64),
                _ => false,
            });
    }
    let video = vector || crate::video::ROOMS.iter().any(|r| r.opcodes.contains(&opcode));
    if video || slot.address || op.neg || op.not {
        return false;
    }
    if let (Class::List(count, _), OperandKind::Vector(elements)) = (slot.class, &op.kind) {
        let bits =
            |e: &Operand<'_>| e.selector.is_none() && matches!(e.kind, OperandKind::Reg(Ty::B32 | Ty::Pred));
        let right = count == 0 || elements.len() == usize::from(count);
        let whole = opcode != "mma" || elements.iter().any(|e| e.kind == OperandKind::Reg(Ty::B32));
        return right
            && whole
            && PREDICATES_TOO.contains(&opcode)
            && elements.iter().all(|e| !e.neg && !e.not && bits(e));
    }
    let want = match slot.class {
        Class::Is(t) => Some(t),
        Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => mods[i].and_then(Ty::parse),
        Class::Wide(i) => mods[i].and_then(Ty::parse).and_then(Ty::doubled),
        _ => None,
    };
    if opcode == "movmatrix" && op.selector.is_none() {
        return match op.kind {
            OperandKind::Reg(Ty::Pred) => true,
            OperandKind::Float(width) => !slot.dest && width == Some(32),
            OperandKind::Name => !slot.dest && op.sum,
            OperandKind::Reg(ty) => !slot.dest && op.sum && ty.bits() == 32,
            _ => false,
        };
    }
    match (&op.kind, want) {
        (OperandKind::Reg(ty), Some(_)) if op.selector == Some(".b01") => {
            let bare = Operand { selector: None, ..op.clone() };
            !BARE.contains(&opcode)
                && !parsed.form.later
                && (ty.bits() == 32 || *ty == Ty::Pred)
                && slot.selector.is_none()
                && fits(slot, &bare, parsed, mods).is_ok()
        }
        (OperandKind::Reg(Ty::F16x2), Some(Ty::Pred)) => {
            opcode == "vote" || matches!(slot.class, Class::Slot(_))
        }
        (OperandKind::Reg(ty), Some(want)) => {
            // A type that the instruction names is one of any width.
            let named = !matches!(slot.class, Class::Is(t) if !mods.contains(&Some(t.text())));
            let whole = |t: Ty| matches!(t.kind(), Kind::Unsigned | Kind::Signed);
            let bits = |t: Ty| t.kind() == Kind::Bits;
            let halves = *ty == Ty::F16x2 && whole(want);
            let kinds = halves || bits(*ty) || bits(want) || whole(*ty) && whole(want) || *ty == want;
            let plain = slot.immediate && !slot.constant && op.selector.is_none();
            op.sum && named && plain && kinds && *ty != Ty::Pred && want != Ty::Pred
        }
        (OperandKind::Name, Some(want)) => {
            op.sum && slot.immediate && !slot.constant && !want.is_float() && want != Ty::Pred
        }
        _ => false,
    }
}

/// Predicates among what `mov` packs or unpacks, with other registers.
pub(crate) fn holds_predicates(opcode: &str, op: &Operand<'_>) -> bool {
    let OperandKind::Vector(elements) = &op.kind else { return false };
    opcode == "mov" && elements.iter().any(|e| e.kind == OperandKind::Reg(Ty::Pred))
}
