//! What each pure op becomes. Everything works on flat vectors and scalars alike, so that uniform values cost one lane.
//!
//! Every lane of every op must be defined, active or not: what LLVM calls poison or undefined behaviour in *one* lane would
//! spoil all of them.

use hostwarp_ir::{Elem, FBin, FCmp, IntBin, IntCmp, IntUn, Op, Round, Table, Type};

use super::text::{Reg, Shape, Text};
use super::{dot, mma, x86};
use crate::target::Target;

/// What the CPU has, as far as the text depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) fma: bool,
    /// Rounding to integral values.
    pub(crate) round: bool,
    /// Conversions between f16 and f32.
    pub(crate) f16c: bool,
    /// Vectors of words and double-words that can be loaded and stored in part.
    pub(crate) avx: bool,
    /// Masks in registers of their own, 512-bit vectors, permutations across all of a register.
    pub(crate) avx512: bool,
    pub(crate) registers: x86::Registers,
    /// See [`Target::base`].
    pub(crate) base: u64,
}

impl Cpu {
    pub(crate) fn new(target: &Target) -> Cpu {
        let arm = target.arch == crate::target::Arch::Aarch64;
        let avx512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].iter().all(|f| target.has(f));
        Cpu {
            fma: arm || target.has("fma"),
            round: arm || target.has("sse4.1"),
            f16c: arm || target.has("f16c"),
            avx: target.has("avx2"),
            avx512,
            registers: x86::Registers::new(target),
            base: target.base,
        }
    }
}

/// A pure op on `lanes` lanes (1 for a uniform value). `args` are the registers, all of that many lanes, with their core types.
///
/// `None` for ops that are not pure, and for what this CPU cannot do without a library.
pub(crate) fn pure_op(
    t: &mut Text,
    cpu: Cpu,
    op: &Op,
    result: Type,
    args: &[(&str, Type)],
    lanes: u32,
) -> Option<Reg> {
    let flat = |ty: Type| Shape::new(ty.elem, lanes * u32::from(ty.count));
    let to = flat(result);
    let arg = |i: usize| args[i].0;
    let shape = |i: usize| flat(args[i].1);
    Some(match *op {
        Op::Const(bits) => Text::constant(to, bits),
        Op::Int(op) => int_binary(t, op, to, arg(0), arg(1)),
        Op::IntUn(op) => int_unary(t, op, to, arg(0)),
        Op::Cmp(op) => {
            let predicate = match op {
                IntCmp::Eq => "icmp eq",
                IntCmp::Ne => "icmp ne",
                IntCmp::LtU => "icmp ult",
                IntCmp::LeU => "icmp ule",
                IntCmp::LtS => "icmp slt",
                IntCmp::LeS => "icmp sle",
            };
            t.compare(predicate, shape(0), arg(0), arg(1))
        }
        Op::Select => select(t, result, args[0], arg(1), arg(2), lanes),
        Op::Zext => t.convert("zext", shape(0), arg(0), to),
        Op::Sext => t.convert("sext", shape(0), arg(0), to),
        Op::Trunc => t.convert("trunc", shape(0), arg(0), to),
        Op::Bitcast => t.convert("bitcast", shape(0), arg(0), to),
        Op::Extract(i) => extract(t, args[0].1, arg(0), u32::from(i), lanes),
        Op::Build => build(t, result, &args.iter().map(|a| a.0.to_owned()).collect::<Vec<_>>(), lanes),
        Op::Permute(order) => {
            let k = u32::from(result.count);
            let place = |lane: u32, from: u32| {
                if from < k { lane * k + from } else { lanes * k + lane * k + from - k }
            };
            let mask = (0..lanes).flat_map(|lane| {
                order[..k as usize].iter().map(move |&from| place(lane, u32::from(from))).collect::<Vec<_>>()
            });
            t.shuffle(to, arg(0), arg(1), mask)
        }
        Op::HSum { signed } => horizontal_sum(t, cpu, args[0].1, arg(0), signed, arg(1), lanes),
        Op::Lookup(table) => lookup(t, table, arg(0), lanes),
        Op::Dot(dot) => dot::dot(t, cpu, dot, &args.iter().map(|a| a.0).collect::<Vec<_>>(), lanes),
        Op::Mma(m) if lanes == 32 => mma::mma(t, cpu, m, &args.iter().map(|a| a.0).collect::<Vec<_>>()),
        Op::Mma(_) => return None,
        Op::Float { op, .. } => {
            let name = match op {
                FBin::Add => "fadd",
                FBin::Sub => "fsub",
                FBin::Mul => "fmul",
                FBin::Div => "fdiv",
            };
            t.binary(name, to, arg(0), arg(1))
        }
        Op::Fma { .. } if cpu.fma => {
            let name = format!("fma.{}", to.suffix());
            t.intrinsic(&name, to, &[(to, arg(0)), (to, arg(1)), (to, arg(2))])
        }
        Op::Fma { .. } if to.elem == Elem::F32 => fma_f32_without_hardware(t, to, arg(0), arg(1), arg(2)),
        Op::Fma { .. } => return None,
        Op::FmaOdd { halves } => {
            let args = [arg(0), arg(1), arg(2)];
            x86::fma_odd(t, cpu.registers, to, args).unwrap_or_else(|| fma_odd(t, to, args, halves))
        }
        Op::Sqrt { .. } => t.intrinsic(&format!("sqrt.{}", to.suffix()), to, &[(to, arg(0))]),
        Op::Propagate => propagate(t, to, &args.iter().map(|a| a.0).collect::<Vec<_>>()),
        Op::FMin { nan } => min_max(t, to, arg(0), arg(1), nan, true),
        Op::FMax { nan } => min_max(t, to, arg(0), arg(1), nan, false),
        Op::FNeg => t.inst(format_args!("fneg {to} {}", arg(0))),
        Op::FAbs => t.intrinsic(&format!("fabs.{}", to.suffix()), to, &[(to, arg(0))]),
        Op::Ftz => flush(t, to, arg(0)),
        Op::FCmp(op) => {
            let predicate = match op {
                FCmp::Eq => "fcmp oeq",
                FCmp::Ne => "fcmp one",
                FCmp::Lt => "fcmp olt",
                FCmp::Le => "fcmp ole",
                FCmp::Gt => "fcmp ogt",
                FCmp::Ge => "fcmp oge",
                FCmp::Equ => "fcmp ueq",
                FCmp::Neu => "fcmp une",
                FCmp::Ltu => "fcmp ult",
                FCmp::Leu => "fcmp ule",
                FCmp::Gtu => "fcmp ugt",
                FCmp::Geu => "fcmp uge",
                FCmp::Num => "fcmp ord",
                FCmp::Nan => "fcmp uno",
            };
            t.compare(predicate, shape(0), arg(0), arg(1))
        }
        Op::ToBits => to_bits(t, shape(0), arg(0)),
        Op::FromBits => t.convert("bitcast", shape(0), arg(0), to),
        Op::FCvt(_) => match (args[0].1.elem, result.elem) {
            (Elem::F16, Elem::F32) => half_to_float(t, cpu, to, arg(0)),
            (Elem::F32, Elem::F16) => float_to_half(t, cpu, shape(0), arg(0)),
            (Elem::F32, Elem::F64) => t.convert("fpext", shape(0), arg(0), to),
            _ => t.convert("fptrunc", shape(0), arg(0), to),
        },
        Op::FRound(_) if !cpu.round => return None,
        Op::FRound(round) => {
            let name = match round {
                Round::Zero => "trunc",
                Round::Down => "floor",
                Round::Up => "ceil",
                Round::Nearest | Round::Away => "roundeven",
            };
            t.intrinsic(&format!("{name}.{}", to.suffix()), to, &[(to, arg(0))])
        }
        Op::FToInt { signed } => {
            let name = if signed { "fptosi" } else { "fptoui" };
            let from = shape(0);
            t.intrinsic(&format!("{name}.sat.{}.{}", to.suffix(), from.suffix()), to, &[(from, arg(0))])
        }
        Op::IntToF { signed, .. } => {
            t.convert(if signed { "sitofp" } else { "uitofp" }, shape(0), arg(0), to)
        }
        Op::Special(_)
        | Op::Address(_)
        | Op::Load(_)
        | Op::Store(_)
        | Op::Atomic(..)
        | Op::Fence(_)
        | Op::LaneRead
        | Op::Ballot
        | Op::ActiveMask => return None,
    })
}

/// The table is a constant of the module.
fn lookup(t: &mut Text, table: Table, index: &str, lanes: u32) -> Reg {
    let (from, to) = (Shape::new(Elem::I32, lanes), Shape::new(Elem::I64, lanes));
    let name = format!("@table.{table:?}");
    let count = table.entries().len();
    let entries = table.entries().iter().map(|e| format!("i64 {e}")).collect::<Vec<_>>().join(", ");
    t.declarations
        .insert(format!("{name} = private unnamed_addr constant [{count} x i64] [{entries}], align 64"));
    let index = t.binary("and", from, index, &Text::constant(from, count as u64 - 1));
    let at = t.inst(format_args!("getelementptr i64, ptr {name}, {from} {index}"));
    if lanes == 1 {
        return t.inst(format_args!("load i64, ptr {at}, align 8"));
    }
    let (all, suffix) = (to.with(Elem::I1), to.suffix());
    t.declarations.insert(format!(
        "declare {to} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr>, i32, {all}, {to})"
    ));
    let mask = Text::constant(all, 1);
    t.inst(format_args!(
        "call {to} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr> {at}, i32 8, {all} {mask}, {to} poison)"
    ))
}

fn int_binary(t: &mut Text, op: IntBin, s: Shape, a: &str, b: &str) -> Reg {
    let bits = s.elem.bits();
    let mut intrinsic = |name: &str| t.intrinsic(&format!("{name}.{}", s.suffix()), s, &[(s, a), (s, b)]);
    match op {
        IntBin::Add => t.binary("add", s, a, b),
        IntBin::Sub => t.binary("sub", s, a, b),
        IntBin::Mul => t.binary("mul", s, a, b),
        IntBin::MulHiU => mul_high(t, s, a, b, false),
        IntBin::MulHiS => mul_high(t, s, a, b, true),
        IntBin::DivU => divide(t, s, a, b, false, false),
        IntBin::DivS => divide(t, s, a, b, true, false),
        IntBin::RemU => divide(t, s, a, b, false, true),
        IntBin::RemS => divide(t, s, a, b, true, true),
        IntBin::And => t.binary("and", s, a, b),
        IntBin::Or => t.binary("or", s, a, b),
        IntBin::Xor => t.binary("xor", s, a, b),
        IntBin::Shl | IntBin::ShrU => {
            // The shift is poison where the amount is too large, and not chosen there.
            let name = if op == IntBin::Shl { "shl" } else { "lshr" };
            let fits = t.compare("icmp ult", s, b, &Text::constant(s, u64::from(bits)));
            let shifted = t.binary(name, s, a, b);
            t.select(s.with(Elem::I1), &fits, s, &shifted, &Text::constant(s, 0))
        }
        IntBin::ShrS => {
            let most = Text::constant(s, u64::from(bits - 1));
            let amount = t.intrinsic(&format!("umin.{}", s.suffix()), s, &[(s, b), (s, &most)]);
            t.binary("ashr", s, a, &amount)
        }
        IntBin::MinU => intrinsic("umin"),
        IntBin::MinS => intrinsic("smin"),
        IntBin::MaxU => intrinsic("umax"),
        IntBin::MaxS => intrinsic("smax"),
        IntBin::AbsDiffU => {
            let (high, low) = (intrinsic("umax"), intrinsic("umin"));
            t.binary("sub", s, &high, &low)
        }
        IntBin::AbsDiffS => {
            let (high, low) = (intrinsic("smax"), intrinsic("smin"));
            t.binary("sub", s, &high, &low)
        }
        IntBin::AddSatU => intrinsic("uadd.sat"),
        IntBin::AddSatS => intrinsic("sadd.sat"),
        IntBin::SubSatU => intrinsic("usub.sat"),
        IntBin::SubSatS => intrinsic("ssub.sat"),
    }
}

fn int_unary(t: &mut Text, op: IntUn, s: Shape, a: &str) -> Reg {
    let flag = Shape::new(Elem::I1, 1);
    match op {
        IntUn::Not => t.binary("xor", s, a, &Text::constant(s, s.elem.mask())),
        IntUn::Neg => t.binary("sub", s, &Text::constant(s, 0), a),
        IntUn::Abs => t.intrinsic(&format!("abs.{}", s.suffix()), s, &[(s, a), (flag, "false")]),
        IntUn::Popc => t.intrinsic(&format!("ctpop.{}", s.suffix()), s, &[(s, a)]),
        IntUn::Clz => t.intrinsic(&format!("ctlz.{}", s.suffix()), s, &[(s, a), (flag, "false")]),
        IntUn::Brev => t.intrinsic(&format!("bitreverse.{}", s.suffix()), s, &[(s, a)]),
    }
}

/// The integer type twice as wide.
fn double(elem: Elem) -> Elem {
    match elem {
        Elem::I8 => Elem::I16,
        Elem::I16 => Elem::I32,
        _ => Elem::I64,
    }
}

fn mul_high(t: &mut Text, s: Shape, a: &str, b: &str, signed: bool) -> Reg {
    let bits = u64::from(s.elem.bits());
    if s.elem != Elem::I64 {
        let wide = s.with(double(s.elem));
        let extend = if signed { "sext" } else { "zext" };
        let a = t.convert(extend, s, a, wide);
        let b = t.convert(extend, s, b, wide);
        let product = t.binary("mul", wide, &a, &b);
        let high = t.binary("lshr", wide, &product, &Text::constant(wide, bits));
        return t.convert("trunc", wide, &high, s);
    }
    // Schoolbook on halves: LLVM has no vectors of 128-bit products.
    let (low, half) = (Text::constant(s, 0xffff_ffff), Text::constant(s, 32));
    let (al, bl) = (t.binary("and", s, a, &low), t.binary("and", s, b, &low));
    let (ah, bh) = (t.binary("lshr", s, a, &half), t.binary("lshr", s, b, &half));
    let ll = t.binary("mul", s, &al, &bl);
    let hl = t.binary("mul", s, &ah, &bl);
    let lh = t.binary("mul", s, &al, &bh);
    let hh = t.binary("mul", s, &ah, &bh);
    let carry = t.binary("lshr", s, &ll, &half);
    let middle = t.binary("add", s, &hl, &carry);
    let middle_low = t.binary("and", s, &middle, &low);
    let middle_high = t.binary("lshr", s, &middle, &half);
    let middle = t.binary("add", s, &lh, &middle_low);
    let carry = t.binary("lshr", s, &middle, &half);
    let high = t.binary("add", s, &hh, &middle_high);
    let high = t.binary("add", s, &high, &carry);
    if !signed {
        return high;
    }
    // A negative operand was read as 2^64 too much.
    let sign = Text::constant(s, 63);
    let (an, bn) = (t.binary("ashr", s, a, &sign), t.binary("ashr", s, b, &sign));
    let (too_much_a, too_much_b) = (t.binary("and", s, &an, b), t.binary("and", s, &bn, a));
    let high = t.binary("sub", s, &high, &too_much_a);
    t.binary("sub", s, &high, &too_much_b)
}

/// Division or remainder, total: all ones where the divisor is 0, no overflow where it is −1.
fn divide(t: &mut Text, s: Shape, a: &str, b: &str, signed: bool, remainder: bool) -> Reg {
    let mask = s.with(Elem::I1);
    let (zero, one) = (Text::constant(s, 0), Text::constant(s, 1));
    let by_zero = t.compare("icmp eq", s, b, &zero);
    let mut harmful = by_zero.clone();
    if signed {
        // The most negative number over 1 is what it must be over −1.
        let least = Text::constant(s, 1 << (s.elem.bits() - 1));
        let a_least = t.compare("icmp eq", s, a, &least);
        let b_minus = t.compare("icmp eq", s, b, &Text::constant(s, s.elem.mask()));
        let overflow = t.binary("and", mask, &a_least, &b_minus);
        harmful = t.binary("or", mask, &by_zero, &overflow);
    }
    let divisor = t.select(mask, &harmful, s, &one, b);
    let is_constant = !b.starts_with('%');
    let quotient = if s.n == 1 || s.elem == Elem::I64 || is_constant {
        let divisor = if is_constant { divisor.clone() } else { t.opaque(s, &divisor) };
        t.binary(if signed { "sdiv" } else { "udiv" }, s, a, &divisor)
    } else {
        // CPUs divide vectors only as floats. Truncating the rounded quotient of n-bit integers is exact in a format of more
        // than n bits: a quotient below an integer is below it by at least 1/divisor, a relative 1/dividend or more.
        let float = s.with(if s.elem == Elem::I32 { Elem::F64 } else { Elem::F32 });
        let to_float = if signed { "sitofp" } else { "uitofp" };
        let a = t.convert(to_float, s, a, float);
        let b = t.convert(to_float, s, &divisor, float);
        let quotient = t.binary("fdiv", float, &a, &b);
        t.convert(if signed { "fptosi" } else { "fptoui" }, float, &quotient, s)
    };
    let result = if remainder {
        let whole = t.binary("mul", s, &quotient, &divisor);
        t.binary("sub", s, a, &whole)
    } else {
        quotient
    };
    t.select(mask, &by_zero, s, &Text::constant(s, s.elem.mask()), &result)
}

/// One wide integer per lane, where there is one as wide as the packed value.
fn lane_shape(ty: Type, lanes: u32) -> Option<Shape> {
    match ty.elem {
        Elem::I1 => None,
        _ => Elem::int(ty.bits()).filter(|e| *e != Elem::I1).map(|elem| Shape::new(elem, lanes)),
    }
}

pub(crate) fn select(t: &mut Text, ty: Type, condition: (&str, Type), a: &str, b: &str, lanes: u32) -> Reg {
    let flat = Shape::new(ty.elem, lanes * u32::from(ty.count));
    let (c, c_type) = condition;
    if c_type.count == ty.count {
        return t.select(flat.with(Elem::I1), c, flat, a, b);
    }
    // One condition for all elements of a lane.
    let lane_mask = Shape::new(Elem::I1, lanes);
    match lane_shape(ty, lanes) {
        Some(lane) => {
            let a = t.convert("bitcast", flat, a, lane);
            let b = t.convert("bitcast", flat, b, lane);
            let chosen = t.select(lane_mask, c, lane, &a, &b);
            t.convert("bitcast", lane, &chosen, flat)
        }
        None if lanes == 1 => t.select(lane_mask, c, flat, a, b),
        None => {
            let k = u32::from(ty.count);
            let spread =
                t.shuffle(lane_mask, c, "poison", (0..lanes).flat_map(|lane| (0..k).map(move |_| lane)));
            t.select(flat.with(Elem::I1), &spread, flat, a, b)
        }
    }
}

fn extract(t: &mut Text, from: Type, a: &str, index: u32, lanes: u32) -> Reg {
    let k = u32::from(from.count);
    let flat = Shape::new(from.elem, lanes * k);
    let to = flat.times(lanes);
    if lanes == 1 {
        return t.inst(format_args!("extractelement {flat} {a}, i64 {index}"));
    }
    match lane_shape(from, lanes) {
        // A shift of whole lanes is cheaper than gathering elements.
        Some(lane) => {
            let wide = t.convert("bitcast", flat, a, lane);
            let amount = Text::constant(lane, u64::from(index * from.elem.bits()));
            let low = if index == 0 { wide } else { t.binary("lshr", lane, &wide, &amount) };
            let int = to.to_int();
            let low = t.convert("trunc", lane, &low, int);
            t.convert("bitcast", int, &low, to)
        }
        None => t.shuffle(flat, a, "poison", (0..lanes).map(|lane| lane * k + index)),
    }
}

fn build(t: &mut Text, ty: Type, elements: &[Reg], lanes: u32) -> Reg {
    let one = Shape::new(ty.elem, lanes);
    let flat = one.times(lanes * u32::from(ty.count));
    match lane_shape(ty, lanes) {
        Some(lane) => {
            let int = one.to_int();
            let mut all: Option<Reg> = None;
            for (i, element) in elements.iter().enumerate() {
                let bits = t.convert("bitcast", one, element, int);
                let wide = t.convert("zext", int, &bits, lane);
                let amount = Text::constant(lane, i as u64 * u64::from(ty.elem.bits()));
                let placed = if i == 0 { wide } else { t.binary("shl", lane, &wide, &amount) };
                all = Some(match all {
                    None => placed,
                    Some(all) => t.binary("or", lane, &all, &placed),
                });
            }
            t.convert("bitcast", lane, &all.unwrap_or_default(), flat)
        }
        None => interleave(t, one, elements),
    }
}

/// Vectors (or scalars) of one shape, their elements taken in turn.
pub(crate) fn interleave(t: &mut Text, s: Shape, parts: &[Reg]) -> Reg {
    if let [only] = parts {
        return only.clone();
    }
    let pick = |first: usize| parts.iter().skip(first).step_by(2).cloned().collect::<Vec<_>>();
    let even = interleave(t, s, &pick(0));
    let odd = interleave(t, s, &pick(1));
    let half = s.times(s.n * parts.len() as u32 / 2);
    if half.n == 1 {
        let pair = half.times(2);
        let first = t.inst(format_args!("insertelement {pair} poison, {half} {even}, i64 0"));
        return t.inst(format_args!("insertelement {pair} {first}, {half} {odd}, i64 1"));
    }
    t.shuffle(half, &even, &odd, (0..half.n).flat_map(|i| [i, half.n + i]))
}

fn horizontal_sum(
    t: &mut Text,
    cpu: Cpu,
    from: Type,
    a: &str,
    signed: bool,
    accumulator: &str,
    lanes: u32,
) -> Reg {
    let sum = Shape::new(Elem::I32, lanes);
    let flat = Shape::new(from.elem, lanes * u32::from(from.count));
    if from.bits() == 32
        && let Some(sum) = x86::sum_in_words(t, cpu.registers, flat, a, signed, accumulator)
    {
        return sum;
    }
    if from == Type::I8X4 {
        return sum_bytes(t, flat, a, signed, accumulator, sum);
    }
    let mut total = accumulator.to_owned();
    for i in 0..u32::from(from.count) {
        let element = extract(t, from, a, i, lanes);
        let one = flat.times(lanes);
        let wide = if from.elem == Elem::I32 {
            element
        } else {
            t.convert(if signed { "sext" } else { "zext" }, one, &element, sum)
        };
        total = t.binary("add", sum, &total, &wide);
    }
    total
}

/// Four bytes of a 32-bit lane, summed in two steps of half-words.
fn sum_bytes(t: &mut Text, flat: Shape, a: &str, signed: bool, accumulator: &str, s: Shape) -> Reg {
    let mut bytes = t.convert("bitcast", flat, a, s);
    let mut accumulator = accumulator.to_owned();
    if signed {
        // x + 128 is x with its top bit flipped, read as unsigned.
        bytes = t.binary("xor", s, &bytes, &Text::constant(s, 0x8080_8080));
        accumulator = t.binary("sub", s, &accumulator, &Text::constant(s, 4 * 128));
    }
    let even_mask = Text::constant(s, 0x00ff_00ff);
    let even = t.binary("and", s, &bytes, &even_mask);
    let odd = t.binary("lshr", s, &bytes, &Text::constant(s, 8));
    let odd = t.binary("and", s, &odd, &even_mask);
    let halves = t.binary("add", s, &even, &odd);
    let low = t.binary("and", s, &halves, &Text::constant(s, 0xffff));
    let high = t.binary("lshr", s, &halves, &Text::constant(s, 16));
    let sum = t.binary("add", s, &low, &high);
    t.binary("add", s, &sum, &accumulator)
}

/// Where the bits of an element say NaN.
fn is_nan(t: &mut Text, s: Shape, a: &str) -> Reg {
    t.compare("fcmp uno", s, a, a)
}

fn min_max(t: &mut Text, s: Shape, a: &str, b: &str, nan: bool, min: bool) -> Reg {
    let (mask, int) = (s.with(Elem::I1), s.to_int());
    let a_first = t.compare(if min { "fcmp olt" } else { "fcmp ogt" }, s, a, b);
    let equal = t.compare("fcmp oeq", s, a, b);
    // Equal operands have equal bits, unless they are zeros of both signs: −0 is the smaller.
    let (a_bits, b_bits) = (t.convert("bitcast", s, a, int), t.convert("bitcast", s, b, int));
    let both = t.binary(if min { "or" } else { "and" }, int, &a_bits, &b_bits);
    let both = t.convert("bitcast", int, &both, s);
    let chosen = t.select(mask, &a_first, s, a, b);
    let chosen = t.select(mask, &equal, s, &both, &chosen);
    // With a NaN the comparisons chose b. f64 keeps the NaN it was given.
    if nan {
        let a_nan = is_nan(t, s, a);
        return t.select(mask, &a_nan, s, a, &chosen);
    }
    let b_nan = is_nan(t, s, b);
    t.select(mask, &b_nan, s, a, &chosen)
}

fn flush(t: &mut Text, s: Shape, a: &str) -> Reg {
    let int = s.to_int();
    let (exponent, sign) = match s.elem {
        Elem::F64 => (0x7ff0_0000_0000_0000, 1 << 63),
        _ => (0x7f80_0000, 1 << 31),
    };
    let bits = t.convert("bitcast", s, a, int);
    let field = t.binary("and", int, &bits, &Text::constant(int, exponent));
    let small = t.compare("icmp eq", int, &field, &Text::constant(int, 0));
    let zero = t.binary("and", int, &bits, &Text::constant(int, sign));
    let zero = t.convert("bitcast", int, &zero, s);
    t.select(s.with(Elem::I1), &small, s, &zero, a)
}

fn to_bits(t: &mut Text, s: Shape, a: &str) -> Reg {
    let (int, mask) = (s.to_int(), s.with(Elem::I1));
    match s.elem {
        Elem::F32 => {
            let nan = is_nan(t, s, a);
            let bits = t.convert("bitcast", s, a, int);
            t.select(mask, &nan, int, &Text::constant(int, 0x7fff_ffff), &bits)
        }
        Elem::F16 | Elem::BF16 => {
            let infinity = if s.elem == Elem::F16 { 0x7c00 } else { 0x7f80 };
            let magnitude = t.binary("and", int, a, &Text::constant(int, 0x7fff));
            let nan = t.compare("icmp ugt", int, &magnitude, &Text::constant(int, infinity));
            t.select(mask, &nan, int, &Text::constant(int, 0x7fff), a)
        }
        _ => t.convert("bitcast", s, a, int),
    }
}

fn half_name(s: Shape) -> String {
    if s.n == 1 { "half".to_owned() } else { format!("<{} x half>", s.n) }
}

pub(super) fn half_to_float(t: &mut Text, cpu: Cpu, to: Shape, a: &str) -> Reg {
    let from = to.with(Elem::I16);
    if cpu.f16c {
        if to.n == 1 {
            // Not by way of a `half`: what follows would be made an operation on halves, and those of scalars are calls of a C library that is
            // not there.
            t.declarations.insert("declare float @llvm.convert.from.fp16.f32(i16)".into());
            return t.inst(format_args!("call float @llvm.convert.from.fp16.f32(i16 {a})"));
        }
        let half = half_name(from);
        let a = t.inst(format_args!("bitcast {from} {a} to {half}"));
        return t.inst(format_args!("fpext {half} {a} to {to}"));
    }
    // The bits, moved to where f32 has them, are 2^112 too small: a product by a power of two is exact, subnormals included.
    let int = to.with(Elem::I32);
    let bits = t.convert("zext", from, a, int);
    let magnitude = t.binary("and", int, &bits, &Text::constant(int, 0x7fff));
    let moved = t.binary("shl", int, &magnitude, &Text::constant(int, 13));
    let small = t.convert("bitcast", int, &moved, to);
    let scaled = t.binary("fmul", to, &small, &Text::constant(to, u64::from(f32::to_bits(2f32.powi(112)))));
    let scaled = t.convert("bitcast", to, &scaled, int);
    // Infinity and NaN have the largest exponent in both formats.
    let special = t.compare("icmp uge", int, &magnitude, &Text::constant(int, 0x7c00));
    let as_special = t.binary("or", int, &moved, &Text::constant(int, 0x7f80_0000));
    let magnitude = t.select(int.with(Elem::I1), &special, int, &as_special, &scaled);
    let sign = t.binary("and", int, &bits, &Text::constant(int, 0x8000));
    let sign = t.binary("shl", int, &sign, &Text::constant(int, 16));
    let result = t.binary("or", int, &magnitude, &sign);
    t.convert("bitcast", int, &result, to)
}

pub(super) fn float_to_half(t: &mut Text, cpu: Cpu, from: Shape, a: &str) -> Reg {
    let to = from.with(Elem::I16);
    if cpu.f16c {
        let half = half_name(to);
        let narrow = t.inst(format_args!("fptrunc {from} {a} to {half}"));
        return t.inst(format_args!("bitcast {half} {narrow} to {to}"));
    }
    let (int, mask) = (from.with(Elem::I32), from.with(Elem::I1));
    let constant = |bits: u64| Text::constant(int, bits);
    let bits = t.convert("bitcast", from, a, int);
    let magnitude = t.binary("and", int, &bits, &constant(0x7fff_ffff));
    // Below 2^-14: adding 0.5 leaves the result, rounded to nearest even by the addition, in the low bits.
    let as_float = t.convert("bitcast", int, &magnitude, from);
    let summed = t.binary("fadd", from, &as_float, &Text::constant(from, 0x3f00_0000));
    let summed = t.convert("bitcast", from, &summed, int);
    let subnormal = t.binary("sub", int, &summed, &constant(0x3f00_0000));
    // Otherwise: rebias the exponent and round by adding half a unit, less one where the last bit kept is even.
    let last = t.binary("lshr", int, &magnitude, &constant(13));
    let last = t.binary("and", int, &last, &constant(1));
    let rebased = t.binary("add", int, &magnitude, &constant(0xc800_0fff));
    let rounded = t.binary("add", int, &rebased, &last);
    let normal = t.binary("lshr", int, &rounded, &constant(13));
    let is_small = t.compare("icmp ult", int, &magnitude, &constant(0x3880_0000));
    let finite = t.select(mask, &is_small, int, &subnormal, &normal);
    let is_large = t.compare("icmp uge", int, &magnitude, &constant(0x4780_0000));
    let finite = t.select(mask, &is_large, int, &constant(0x7c00), &finite);
    let is_nan = t.compare("icmp ugt", int, &magnitude, &constant(0x7f80_0000));
    let result = t.select(mask, &is_nan, int, &constant(0x7fff), &finite);
    let sign = t.binary("lshr", int, &bits, &constant(16));
    let sign = t.binary("and", int, &sign, &constant(0x8000));
    let result = t.binary("or", int, &result, &sign);
    t.convert("trunc", int, &result, to)
}

/// The product is exact in f64; the sum is rounded to odd, after which rounding to f32 is right.
fn fma_f32_without_hardware(t: &mut Text, s: Shape, a: &str, b: &str, c: &str) -> Reg {
    let exact = product_and_sum_to_odd(t, s, [a, b, c], Elem::F64);
    t.convert("fptrunc", s.with(Elem::F64), &exact, s)
}

/// The first, and which NaN where it is one.
fn propagate(t: &mut Text, s: Shape, args: &[&str]) -> Reg {
    let (int, mask) = (s.with(Elem::I64), s.with(Elem::I1));
    let mut nan = Text::constant(s, 0xfff8 << 48);
    for from in args[1..].iter().rev() {
        let is_nan = t.compare("fcmp uno", s, from, from);
        nan = t.select(mask, &is_nan, s, from, &nan);
    }
    let bits = t.convert("bitcast", s, &nan, int);
    let quiet = t.binary("or", int, &bits, &Text::constant(int, 1 << 51));
    let nan = t.convert("bitcast", int, &quiet, s);
    let is_nan = t.compare("fcmp uno", s, args[0], args[0]);
    t.select(mask, &is_nan, s, &nan, args[0])
}

/// `FmaOdd` in plain IR.
fn fma_odd(t: &mut Text, s: Shape, args: [&str; 3], halves: bool) -> Reg {
    if halves {
        return product_and_sum_to_odd(t, s, args, Elem::F32);
    }
    let (wide, int, mask) = (s.with(Elem::F64), s.with(Elem::I32), s.with(Elem::I1));
    let exact = product_and_sum_to_odd(t, s, args, Elem::F64);
    // From 53 bits to 24, to odd again: one back where rounding went too far, and the last bit set where there was any.
    let near = t.convert("fptrunc", wide, &exact, s);
    let back = t.convert("fpext", s, &near, wide);
    let fabs = format!("fabs.{}", wide.suffix());
    let [near_size, exact_size] = [&back, &exact].map(|x| t.intrinsic(&fabs, wide, &[(wide, x)]));
    let too_far = t.compare("fcmp ogt", wide, &near_size, &exact_size);
    let too_far = t.convert("sext", mask, &too_far, int);
    let inexact = t.compare("fcmp one", wide, &back, &exact);
    let inexact = t.convert("zext", mask, &inexact, int);
    let bits = t.convert("bitcast", s, &near, int);
    let cut = t.binary("add", int, &bits, &too_far);
    let odd = t.binary("or", int, &cut, &inexact);
    t.convert("bitcast", int, &odd, s)
}

/// a·b + c of f32, computed in a type where the product is exact, the sum rounded to odd there.
fn product_and_sum_to_odd(t: &mut Text, s: Shape, args: [&str; 3], elem: Elem) -> Reg {
    let (wide, int, mask) = (s.with(elem), s.with(elem.to_int()), s.with(Elem::I1));
    let [a, b, c] = args.map(|x| t.convert("fpext", s, x, wide));
    let product = t.binary("fmul", wide, &a, &b);
    let sum = t.binary("fadd", wide, &product, &c);
    // Knuth's two-sum: the error of the addition.
    let c_part = t.binary("fsub", wide, &sum, &product);
    let p_part = t.binary("fsub", wide, &sum, &c_part);
    let c_error = t.binary("fsub", wide, &c, &c_part);
    let p_error = t.binary("fsub", wide, &product, &p_part);
    let error = t.binary("fadd", wide, &c_error, &p_error);
    // Where the error points toward zero, the magnitude, which the bits below the sign count, is one too large. An infinite sum has a
    // NaN for an error.
    let inexact = t.compare("fcmp one", wide, &error, &Text::constant(wide, 0));
    let bits = t.convert("bitcast", wide, &sum, int);
    let error_bits = t.convert("bitcast", wide, &error, int);
    let differ = t.binary("xor", int, &bits, &error_bits);
    let toward = t.binary("ashr", int, &differ, &Text::constant(int, u64::from(int.elem.bits() - 1)));
    let cut = t.binary("add", int, &bits, &toward);
    let odd = t.binary("or", int, &cut, &Text::constant(int, 1));
    let bits = t.select(mask, &inexact, int, &odd, &bits);
    t.convert("bitcast", int, &bits, wide)
}
