//! Addition, subtraction, multiplication, division, minimum, maximum, sign: one room per opcode, integers and floats together.
//!
//! The integer halves are here; the float halves (forms and meaning) are in [`crate::float`].

pub mod add;
pub mod carry;
pub mod div;
pub mod minmax;
pub mod mul;
pub mod sign;

use crate::{Cx, Room, Ty};
use hostwarp_ir::Value;

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    add::ADD,
    add::SUB,
    mul::MUL,
    mul::MAD,
    div::ROOM,
    sign::ABS,
    sign::NEG,
    minmax::MIN,
    minmax::MAX,
    carry::ADDC,
    carry::SUBC,
    carry::MADC,
];

/// The integer type of the instruction; `None` in its float forms.
fn integer_type(cx: &Cx<'_>) -> Option<Ty> {
    cx.m.ty(".type").filter(|t| !t.is_float())
}

/// Whether the elements of the type are signed.
fn signed(ty: Ty) -> bool {
    ty.is_signed() || matches!(ty, Ty::S16x2 | Ty::S8x4)
}

/// The operands called `names`, as integers of the type `ty` (two half-words if it is packed).
fn integers<const N: usize>(cx: &mut Cx<'_>, names: [&str; N], ty: Ty) -> [Value; N] {
    names.map(|n| cx.arith(n, ty))
}
