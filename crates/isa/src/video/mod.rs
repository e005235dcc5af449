//! Video instructions: byte, half-word and word arithmetic inside 32-bit registers.

pub mod scalar;
pub mod simd;
pub mod vmad;

use crate::{Cx, Room, Ty};
use hostwarp_ir::{Elem, IntBin, Type, Value};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    scalar::ARITHMETIC,
    scalar::SHIFT,
    scalar::SET,
    vmad::ROOM,
    simd::QUAD,
    simd::DUAL,
    simd::SET4,
    simd::SET2,
];

/// `.b0` … `.h1`, as the sets of scalar forms name them.
const PARTS: &str = ".b0 .b1 .b2 .b3 .h0 .h1";
const TYPES: &str = ".u32 .s32";

/// The manual's `partSelectSignExtend`: the selected byte, half-word or word, extended to 64 bits as its type says.
fn part(cx: &mut Cx<'_>, name: &str, ty: Ty) -> Value {
    let word = cx.src(name);
    let selector = cx.selector(name).map(str::to_string);
    let piece = match selector.as_deref() {
        None => word,
        Some(sel) => {
            let index = sel.as_bytes()[2] - b'0';
            let ty = if sel.starts_with(".b") { Type::I8X4 } else { Type::I16X2 };
            let parts = cx.b.bitcast(word, ty);
            cx.b.extract(parts, index)
        }
    };
    let wide = cx.b.ext(piece, Elem::I64, ty.is_signed());
    cx.name(wide, &format!("t{name}"))
}

/// `v` clamped to [low, high], signed.
fn clamp(cx: &mut Cx<'_>, v: Value, low: i64, high: i64) -> Value {
    let at_least = cx.b.int_imm(IntBin::MaxS, v, low as u64);
    cx.b.int_imm(IntBin::MinS, at_least, high as u64)
}

/// The low `bits` bits of an i64, sign-extended.
fn sext_from(cx: &mut Cx<'_>, v: Value, bits: u64) -> Value {
    let up = cx.b.int_imm(IntBin::Shl, v, 64 - bits);
    cx.b.int_imm(IntBin::ShrS, up, 64 - bits)
}
