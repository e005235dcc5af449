//! `fns`
//!
//! Since PTX 6.0, sm_30.

use crate::{Cx, Form, Profile, Room, since};
use hostwarp_ir::{IntBin, IntCmp, IntUn, Type, Value};

/// `fns`
pub const ROOM: Room = Room {
    opcodes: &["fns"],
    title: "the position of the n-th bit that is 1",
    doc: "Bits of `a` are counted from position `b` on, upwards if `c` is positive, downwards if it is negative: the first 1, which may be at `b` itself, is number 1. With `c` = 0 \
          it is `b` if that bit is 1. All ones if there is no such bit.",
    section: "9.7.1.17",
    forms: &[Form::new("fns.b32  d:b32, a:b32, b:b32, c:b32", &[], since(60, 30))],
    rule: None,
    meaning: |cx| {
        let [a, b, c] = ["a", "b", "c"].map(|name| cx.src(name));
        // Downwards is upwards with everything in reverse.
        let zero = cx.b.iconst(Type::I32, 0);
        let down = cx.b.cmp(IntCmp::LtS, c, zero);
        let reversed = cx.b.int_un(IntUn::Brev, a);
        let mask = cx.b.select(down, reversed, a);
        let top = cx.b.iconst(Type::I32, 31);
        let mirrored = cx.b.sub(top, b);
        let base = cx.b.select(down, mirrored, b);
        let count = cx.b.int_un(IntUn::Abs, c);
        // Number 0 is the bit at `b`: number 1, if that is where it is.
        let here = cx.b.cmp_imm(IntCmp::Eq, c, 0);
        let one = cx.b.iconst(Type::I32, 1);
        let count = cx.b.select(here, one, count);
        let above = cx.b.int(IntBin::ShrU, mask, base);
        let above = cx.b.int(IntBin::Shl, above, base);
        let above = cx.name(above, "candidates");
        let position = nth(cx, above, count);

        let ones = cx.b.int_un(IntUn::Popc, above);
        let found = cx.b.cmp(IntCmp::LeU, count, ones);
        let at_base = cx.b.cmp(IntCmp::Eq, position, base);
        let elsewhere = cx.b.not(at_base);
        let wrong = cx.b.and(here, elsewhere);
        let right = cx.b.not(wrong);
        let found = cx.b.and(found, right);
        let inside = cx.b.cmp(IntCmp::LeU, b, top);
        let found = cx.b.and(found, inside);
        let mirrored = cx.b.sub(top, position);
        let position = cx.b.select(down, mirrored, position);
        let none = cx.b.iconst(Type::I32, 0xffff_ffff);
        let d = cx.b.select(found, position, none);
        let d = match cx.profile {
            Profile::Isa => d,
            // Its code counts down from the amount of `c`, which is negative here.
            Profile::Sm90 => {
                let least = cx.b.cmp_imm(IntCmp::Eq, c, 0x8000_0000);
                let nothing = cx.b.iconst(Type::I32, 0);
                cx.b.select(least, nothing, d)
            }
        };
        cx.set("d", d);
        Ok(())
    },
    notes: &[
        "A position of 32 and more, which the manual leaves open, gives all ones.",
        "With `c` = −2^31 an H200 gives 0 (`conformance/kernels/extra.ptx`).",
    ],
};

/// The position of the `n`-th 1 from below, if there are as many: halves are skipped that have too few.
fn nth(cx: &mut Cx<'_>, mut bits: Value, mut n: Value) -> Value {
    let mut position = cx.b.iconst(Type::I32, 0);
    for width in [16, 8, 4, 2, 1] {
        let low = cx.b.int_imm(IntBin::And, bits, (1 << width) - 1);
        let ones = cx.b.int_un(IntUn::Popc, low);
        let skip = cx.b.cmp(IntCmp::LtU, ones, n);
        let fewer = cx.b.sub(n, ones);
        n = cx.b.select(skip, fewer, n);
        let further = cx.b.int_imm(IntBin::Add, position, width);
        position = cx.b.select(skip, further, position);
        let upper = cx.b.int_imm(IntBin::ShrU, bits, width);
        bits = cx.b.select(skip, upper, bits);
    }
    position
}
