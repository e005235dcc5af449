//! What the pure primitive ops mean, in plain Rust: a reference to test [`crate::expand`] and engines against. No engine uses it.
//!
//! A column holds the elements of many lanes, each as the low bits of a `u64`; a packed value has its elements side by side.

use crate::*;

/// Evaluates one pure primitive op on columns of `lanes` lanes. `None` if the op is none of them.
pub fn eval_op(op: Op, args: &[&[u64]], types: &[Type], result: Type, lanes: usize) -> Option<Vec<u64>> {
    let whole_warps = matches!(op, Op::Mma(_)) && lanes.is_multiple_of(32);
    if !op.is_pure() && !whole_warps || !op.is_primitive(types, Some(result)) {
        return None;
    }
    let ty = types.first().copied().unwrap_or(result);
    let (bits, count) = (ty.elem.bits(), ty.count as usize);
    let mask = result.elem.mask();
    Some(match (op, args) {
        (Op::Const(c), []) => vec![c; lanes * result.count as usize],
        (Op::Int(op), [a, b]) => int_bin(op, bits, a, b),
        (Op::IntUn(op), [a]) => int_un(op, bits, a),
        (Op::Cmp(op), [a, b]) => int_cmp(op, bits, a, b),
        (Op::Select, [c, a, b]) => {
            let per = result.count as usize / count;
            (0..a.len()).map(|i| if c[i / per] != 0 { a[i] } else { b[i] }).collect()
        }
        (Op::Zext, [a]) => a.to_vec(),
        (Op::Sext, [a]) => map(a, |x| sext(x, bits) as u64 & mask),
        (Op::Trunc, [a]) => map(a, |x| x & mask),
        (Op::Bitcast, [a]) => bitcast(a, bits, result.elem.bits()),
        (Op::Extract(n), [a]) => a.chunks_exact(count).map(|lane| lane[n as usize]).collect(),
        (Op::Build, es) => (0..lanes).flat_map(|lane| es.iter().map(move |e| e[lane])).collect(),
        (Op::Permute(p), [a, b]) => (0..lanes * count)
            .map(|i| {
                let (lane, from) = (i / count * count, p[i % count] as usize);
                if from < count { a[lane + from] } else { b[lane + from - count] }
            })
            .collect(),
        (Op::HSum { signed }, [a, acc]) => (a.chunks_exact(count).zip(*acc))
            .map(|(lane, acc)| {
                let ext = |x: &u64| if signed { sext(*x, bits) as u64 } else { *x };
                lane.iter().map(ext).fold(*acc, u64::wrapping_add) & mask
            })
            .collect(),
        (Op::Lookup(table), [a]) => map(a, |i| table.entries()[i as usize % table.entries().len()]),
        (Op::Dot(dot), [factors @ .., addend]) => (0..lanes)
            .map(|lane| {
                let words = |side: &[&[u64]]| side.iter().map(|w| [w[lane] as u32]).collect::<Vec<_>>();
                let (a, b) = factors.split_at(usize::from(dot.words));
                u64::from(dot.lanes(&words(a), &words(b), [addend[lane] as u32])[0])
            })
            .collect(),
        (Op::Mma(mma), all) => {
            let [a, b, _] = mma.registers();
            let warps = (0..lanes).step_by(32).flat_map(|first| {
                let of = |v: &[u64]| core::array::from_fn(|i| v[first + i] as u32);
                let registers = |n: core::ops::Range<usize>| all[n].iter().map(|v| of(v)).collect::<Vec<_>>();
                let addend = of(all[a + b + usize::from(mma.part)]);
                let add = |a: &[_], b: &[_], c| mma.dot.lanes(a, b, c);
                mma.warp(&registers(0..a), &registers(a..a + b), addend, add)
            });
            warps.map(u64::from).collect()
        }
        (Op::ToBits, [a]) => match ty.elem {
            Elem::F16 => map(a, |x| if x & 0x7fff > 0x7c00 { 0x7fff } else { x }),
            Elem::BF16 => map(a, |x| if x & 0x7fff > 0x7f80 { 0x7fff } else { x }),
            Elem::F32 => map(a, |x| if f32(x).is_nan() { 0x7fff_ffff } else { x }),
            _ => a.to_vec(),
        },
        (Op::FromBits, [a]) => a.to_vec(),
        (Op::FCvt(_), [a]) => match (ty.elem, result.elem) {
            (Elem::F16, _) => map(a, f16_to_f32),
            (Elem::F32, Elem::F64) => map(a, |x| f64::from(f32(x)).to_bits()),
            (Elem::F32, _) => map(a, f32_to_f16),
            _ => map(a, |x| u64::from((f64(x) as f32).to_bits())),
        },
        (Op::IntToF { signed, .. }, [a]) => match (result.elem, signed) {
            (Elem::F32, true) => map(a, |x| (sext(x, bits) as f32).to_bits().into()),
            (Elem::F32, false) => map(a, |x| (x as f32).to_bits().into()),
            (_, true) => map(a, |x| (sext(x, bits) as f64).to_bits()),
            (_, false) => map(a, |x| (x as f64).to_bits()),
        },
        (Op::FmaOdd { .. }, [a, b, c]) => {
            (0..a.len()).map(|i| fma_odd(f32(a[i]), f32(b[i]), f32(c[i])).into()).collect()
        }
        (Op::Propagate, [r, from @ ..]) => (0..r.len())
            .map(|i| {
                let nan = |x: &u64| f64(*x).is_nan();
                let first = || from.iter().map(|c| c[i]).find(nan).unwrap_or(0xfff8 << 48);
                if nan(&r[i]) { first() | 1 << 51 } else { r[i] }
            })
            .collect(),
        _ if ty.elem == Elem::F32 => float32(op, args, result)?,
        _ => float64(op, args, result)?,
    })
}

/// Runs the pure primitive ops of a function without branches, in the order of its blocks. `inputs` says what some values are,
/// whatever defines them. `None` if another value would need an op that [`eval_op`] does not know.
pub fn run_straight_line(
    func: &Function,
    inputs: &[(Value, &[u64])],
    outputs: &[Value],
    lanes: usize,
) -> Option<Vec<Vec<u64>>> {
    let mut columns: Vec<Option<Vec<u64>>> = vec![None; func.types.len()];
    for (v, column) in inputs {
        columns[v.index()] = Some(column.to_vec());
    }
    for inst in func.blocks.iter().flat_map(|b| &b.insts) {
        let Some(r) = inst.result.filter(|r| columns[r.index()].is_none()) else { continue };
        let args: Option<Vec<&[u64]>> = inst.args.iter().map(|a| columns[a.index()].as_deref()).collect();
        let types: Vec<Type> = inst.args.iter().map(|a| func.ty(*a)).collect();
        columns[r.index()] = args.and_then(|args| eval_op(inst.op, &args, &types, func.ty(r), lanes));
    }
    outputs.iter().map(|v| columns[v.index()].clone()).collect()
}

fn map(a: &[u64], f: impl Fn(u64) -> u64) -> Vec<u64> {
    a.iter().map(|x| f(*x)).collect()
}

fn map2(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect()
}

fn sext(x: u64, bits: u32) -> i64 {
    (x << (64 - bits)) as i64 >> (64 - bits)
}

fn bitcast(a: &[u64], from: u32, to: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - to);
    if from >= to {
        return a.iter().flat_map(|x| (0..from / to).map(move |i| x >> (i * to) & mask)).collect();
    }
    let join = |parts: &[u64]| (parts.iter().rev()).fold(0u64, |acc, x| acc << (from % 64) | x);
    a.chunks_exact((to / from) as usize).map(join).collect()
}

fn int_bin(op: IntBin, bits: u32, a: &[u64], b: &[u64]) -> Vec<u64> {
    use IntBin::*;
    let mask = u64::MAX >> (64 - bits);
    let s = |x: u64| sext(x, bits);
    let (min, max) = (-1i64 << (bits - 1), !(-1i64 << (bits - 1)));
    let clamp = |x: i128| x.clamp(min.into(), max.into()) as u64 & mask;
    match op {
        Add => map2(a, b, |x, y| x.wrapping_add(y) & mask),
        Sub => map2(a, b, |x, y| x.wrapping_sub(y) & mask),
        Mul => map2(a, b, |x, y| x.wrapping_mul(y) & mask),
        MulHiU => map2(a, b, |x, y| ((u128::from(x) * u128::from(y)) >> bits) as u64),
        MulHiS => map2(a, b, |x, y| ((i128::from(s(x)) * i128::from(s(y))) >> bits) as u64 & mask),
        DivU => map2(a, b, |x, y| x.checked_div(y).unwrap_or(mask)),
        RemU => map2(a, b, |x, y| x.checked_rem(y).unwrap_or(mask)),
        DivS => map2(a, b, |x, y| if y == 0 { mask } else { s(x).wrapping_div(s(y)) as u64 & mask }),
        RemS => map2(a, b, |x, y| if y == 0 { mask } else { s(x).wrapping_rem(s(y)) as u64 & mask }),
        And => map2(a, b, |x, y| x & y),
        Or => map2(a, b, |x, y| x | y),
        Xor => map2(a, b, |x, y| x ^ y),
        Shl => map2(a, b, |x, y| if y < u64::from(bits) { x << y & mask } else { 0 }),
        ShrU => map2(a, b, |x, y| if y < u64::from(bits) { x >> y } else { 0 }),
        ShrS => map2(a, b, |x, y| (s(x) >> y.min(u64::from(bits) - 1)) as u64 & mask),
        MinU => map2(a, b, u64::min),
        MaxU => map2(a, b, u64::max),
        MinS => map2(a, b, |x, y| s(x).min(s(y)) as u64 & mask),
        MaxS => map2(a, b, |x, y| s(x).max(s(y)) as u64 & mask),
        AbsDiffU => map2(a, b, u64::abs_diff),
        AbsDiffS => map2(a, b, |x, y| s(x).abs_diff(s(y))),
        AddSatU => map2(a, b, |x, y| x.saturating_add(y).min(mask)),
        SubSatU => map2(a, b, u64::saturating_sub),
        AddSatS => map2(a, b, |x, y| clamp(i128::from(s(x)) + i128::from(s(y)))),
        SubSatS => map2(a, b, |x, y| clamp(i128::from(s(x)) - i128::from(s(y)))),
    }
}

fn int_un(op: IntUn, bits: u32, a: &[u64]) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    match op {
        IntUn::Not => map(a, |x| !x & mask),
        IntUn::Neg => map(a, |x| x.wrapping_neg() & mask),
        IntUn::Abs => map(a, |x| sext(x, bits).wrapping_abs() as u64 & mask),
        IntUn::Popc => map(a, |x| x.count_ones().into()),
        IntUn::Clz => map(a, |x| (x.leading_zeros() - (64 - bits)).into()),
        IntUn::Brev => map(a, |x| x.reverse_bits() >> (64 - bits)),
    }
}

fn int_cmp(op: IntCmp, bits: u32, a: &[u64], b: &[u64]) -> Vec<u64> {
    let s = |x: u64| sext(x, bits);
    match op {
        IntCmp::Eq => map2(a, b, |x, y| u64::from(x == y)),
        IntCmp::Ne => map2(a, b, |x, y| u64::from(x != y)),
        IntCmp::LtU => map2(a, b, |x, y| u64::from(x < y)),
        IntCmp::LeU => map2(a, b, |x, y| u64::from(x <= y)),
        IntCmp::LtS => map2(a, b, |x, y| u64::from(s(x) < s(y))),
        IntCmp::LeS => map2(a, b, |x, y| u64::from(s(x) <= s(y))),
    }
}

fn f32(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn f64(x: u64) -> f64 {
    f64::from_bits(x)
}

/// Exact.
fn f16_to_f32(x: u64) -> u64 {
    let sign = x >> 15 << 31;
    let magnitude = x & 0x7fff;
    let value = match magnitude >> 10 {
        0 => return sign | u64::from((magnitude as f32 * 2f32.powi(-24)).to_bits()),
        31 => 0xff << 23 | (magnitude & 0x3ff) << 13,
        _ => (magnitude << 13) + (112 << 23),
    };
    sign | value
}

/// To nearest, ties to even.
fn f32_to_f16(x: u64) -> u64 {
    let sign = x >> 31 << 15;
    let magnitude = x & 0x7fff_ffff;
    let value = if magnitude > 0x7f80_0000 {
        0x7fff
    } else if magnitude >= 0x477f_f000 {
        0x7c00 // halfway past the largest number, or more
    } else if magnitude >= 113 << 23 {
        let rebased = magnitude - (112 << 23);
        (rebased + 0xfff + (rebased >> 13 & 1)) >> 13
    } else {
        // The last bit of 0.5 weighs 2^-24, as that of a subnormal f16 does: the addition rounds to it.
        let aligned = f32(magnitude) + 0.5;
        u64::from(aligned.to_bits() - 0.5f32.to_bits())
    };
    sign | value
}

/// The bits of a·b + c rounded to odd. The product is exact in f64. The sum is taken to its neighbour toward zero by the sign of its error (Knuth's TwoSum),
/// and then once more to the neighbour among f32.
fn fma_odd(a: f32, b: f32, c: f32) -> u32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let c_part = sum - product;
    let error = (product - (sum - c_part)) + (c - c_part);
    let mut x = sum;
    if error.abs() > 0.0 {
        let too_far = u64::from(error.is_sign_negative() != sum.is_sign_negative());
        x = f64::from_bits((sum.to_bits() - too_far) | 1);
    }
    let near = x as f32;
    if x.is_nan() || f64::from(near) == x {
        return near.to_bits();
    }
    (near.to_bits() - u32::from(f64::from(near).abs() > x.abs())) | 1
}

/// The float ops, once for f32 and once for f64.
macro_rules! float_ops {
    ($name:ident, $f:ident, $int:ty) => {
        fn $name(op: Op, args: &[&[u64]], result: Type) -> Option<Vec<u64>> {
            let bits = |x: $f| u64::from(x.to_bits());
            const SIGN: $int = 1 << (<$int>::BITS - 1);
            // Total order of numbers, −0 below +0.
            let key = |x: u64| if x as $int & SIGN != 0 { !(x as $int) } else { x as $int | SIGN };
            let pick = |x: u64, y: u64, nan: bool, smaller: bool| match ($f(x).is_nan(), $f(y).is_nan()) {
                (true, true) => x,
                (true, false) => {
                    if nan {
                        x
                    } else {
                        y
                    }
                }
                (false, true) => {
                    if nan {
                        y
                    } else {
                        x
                    }
                }
                _ => {
                    if (key(x) < key(y)) == smaller {
                        x
                    } else {
                        y
                    }
                }
            };
            Some(match (op, args) {
                (Op::Float { op, .. }, [a, b]) => match op {
                    FBin::Add => map2(a, b, |x, y| bits($f(x) + $f(y))),
                    FBin::Sub => map2(a, b, |x, y| bits($f(x) - $f(y))),
                    FBin::Mul => map2(a, b, |x, y| bits($f(x) * $f(y))),
                    FBin::Div => map2(a, b, |x, y| bits($f(x) / $f(y))),
                },
                (Op::Fma { .. }, [a, b, c]) => {
                    (0..a.len()).map(|i| bits($f(a[i]).mul_add($f(b[i]), $f(c[i])))).collect()
                }
                (Op::Sqrt { .. }, [a]) => map(a, |x| bits($f(x).sqrt())),
                (Op::FMin { nan }, [a, b]) => map2(a, b, |x, y| pick(x, y, nan, true)),
                (Op::FMax { nan }, [a, b]) => map2(a, b, |x, y| pick(x, y, nan, false)),
                (Op::FNeg, [a]) => map(a, |x| x ^ u64::from(SIGN)),
                (Op::FAbs, [a]) => map(a, |x| x & !u64::from(SIGN)),
                (Op::Ftz, [a]) => map(a, |x| if $f(x).is_subnormal() { x & u64::from(SIGN) } else { x }),
                (Op::FCmp(op), [a, b]) => {
                    map2(a, b, |x, y| u64::from(compare(op, $f(x).partial_cmp(&$f(y)))))
                }
                (Op::FRound(round), [a]) => match round {
                    Round::Nearest => map(a, |x| bits($f(x).round_ties_even())),
                    Round::Zero => map(a, |x| bits($f(x).trunc())),
                    Round::Down => map(a, |x| bits($f(x).floor())),
                    Round::Up => map(a, |x| bits($f(x).ceil())),
                    Round::Away => return None,
                },
                (Op::FToInt { signed }, [a]) => match (result.elem, signed) {
                    (Elem::I32, true) => map(a, |x| u64::from($f(x) as i32 as u32)),
                    (Elem::I32, false) => map(a, |x| u64::from($f(x) as u32)),
                    (_, true) => map(a, |x| $f(x) as i64 as u64),
                    (_, false) => map(a, |x| $f(x) as u64),
                },
                _ => return None,
            })
        }
    };
}

float_ops!(float32, f32, u32);
float_ops!(float64, f64, u64);

fn compare(op: FCmp, order: Option<std::cmp::Ordering>) -> bool {
    use FCmp::*;
    let Some(o) = order else { return matches!(op, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan) };
    match op {
        Eq | Equ => o.is_eq(),
        Ne | Neu => o.is_ne(),
        Lt | Ltu => o.is_lt(),
        Le | Leu => o.is_le(),
        Gt | Gtu => o.is_gt(),
        Ge | Geu => o.is_ge(),
        Num => true,
        Nan => false,
    }
}
