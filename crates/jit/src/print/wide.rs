//! Loads of 16 bytes or more by lanes that access anywhere, as `ldmatrix` and vector loads are: a load for each lane, of all it has. An instruction that
//! gathers would take as many steps for each word.

use super::{Reg, Shape, Text};
use std::fmt::Write;

/// Packed values of 16 bytes and more from `base` and an offset for each lane, 0 in lanes without a bit in `bits` (all, if there are none).
pub(crate) fn gather(
    t: &mut Text,
    one: Shape,
    base: &str,
    (offsets, index): (&str, Shape),
    bits: Option<&str>,
) -> Reg {
    let w = index.n;
    let all = one.times(one.n * w);
    let name = format!("@gather.wide.{}.{}", one.suffix(), index.suffix());
    if !t.is_defined(&name) {
        let definition = definition(&name, one, index);
        t.define(name.clone(), definition);
        t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
    }
    let bits = bits.unwrap_or("-1");
    t.inst(format_args!("call {all} {name}(ptr {base}, {index} {offsets}, i{w} {bits})"))
}

fn definition(name: &str, one: Shape, index: Shape) -> String {
    let (w, offset) = (index.n, index.times(1));
    let (all, extend) = (one.times(one.n * w), super::lane_number(w));
    let mut t = Text::default();
    let values: Vec<Reg> = (0..w)
        .map(|lane| {
            // By way of memory: taking elements out of vectors is slower. Volatile, or LLVM would do that.
            let from = t.inst(format_args!("getelementptr {offset}, ptr %o, i64 {lane}"));
            let offset_of = t.inst(format_args!("load volatile {offset}, ptr {from}, align 4"));
            let at = t.inst(format_args!("getelementptr i8, ptr %base, {offset} {offset_of}"));
            t.inst(format_args!("load {one}, ptr {at}, align 1"))
        })
        .collect();
    let value = t.concat(one, &values);
    let mut text = format!(
        "define internal {all} {name}(ptr %base, {index} %offsets, i{w} %bits) noinline nounwind {{\n"
    );
    let _ = write!(
        text,
        "entry:
  %o = alloca {index}, align 64
  %r = alloca {all}, align 64
  store {index} %offsets, ptr %o, align 64
  %whole = icmp eq i{w} %bits, -1
  br i1 %whole, label %all, label %some
all:
{}  ret {all} {value}
some:
  store {all} zeroinitializer, ptr %r, align 64
  %none = icmp eq i{w} %bits, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i{w} [%bits, %some], [%rest, %loop]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %oa = getelementptr {offset}, ptr %o, i64 %lane
  %offset = load {offset}, ptr %oa, align 4
  %p = getelementptr i8, ptr %base, {offset} %offset
  %x = load {one}, ptr %p, align 1
  %ra = getelementptr {one}, ptr %r, i64 %lane
  store {one} %x, ptr %ra, align 1
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
  br i1 %end, label %done, label %loop
done:
  %loaded = load {all}, ptr %r, align 64
  ret {all} %loaded
}}",
        t.body
    );
    text
}
