//! Signs, minima, comparisons and flushing after expansion; and what expansion leaves alone.

mod support;

use hostwarp_ir::expand::{Caps, expand, nan64};
use hostwarp_ir::*;
use support::*;

/// Widened to f64 bits, exactly; a NaN is some NaN.
fn wide(elem: Elem, x: u64) -> f64 {
    f64::from_bits(if elem == Elem::F64 { x } else { oracle::convert(elem, Elem::F64, Round::Nearest, x) })
}

#[test]
fn minimum_and_maximum() {
    for elem in FLOATS {
        let columns = operands(elem, 2, 50_000, 11);
        for nan in [false, true] {
            for (op, smaller) in [(Op::FMin { nan }, true), (Op::FMax { nan }, false)] {
                check(op, &[elem; 2], elem, &columns, |x| {
                    let [a, b] = [x[0], x[1]];
                    let (a_nan, b_nan) = (oracle::is_nan(elem, a), oracle::is_nan(elem, b));
                    if a_nan && b_nan || nan && (a_nan || b_nan) {
                        return match elem {
                            Elem::F64 => nan64(op, &[a, b]),
                            _ => elem.mask() >> 1,
                        };
                    }
                    let (fa, fb) = (wide(elem, a), wide(elem, b));
                    let a_first = fa < fb || fa == fb && fa.is_sign_negative();
                    if b_nan || !a_nan && a_first == smaller { a } else { b }
                });
            }
        }
    }
}

#[test]
fn sign_and_flush_of_all_halves() {
    for elem in [Elem::F16, Elem::BF16] {
        let columns = [(0..1 << 16).collect::<Vec<u64>>()];
        let unless_nan = |f: fn(Elem, u64) -> u64| {
            move |x: &[u64]| if oracle::is_nan(elem, x[0]) { 0x7fff } else { f(elem, x[0]) }
        };
        check(Op::FNeg, &[elem], elem, &columns, unless_nan(|_, x| x ^ 0x8000));
        check(Op::FAbs, &[elem], elem, &columns, unless_nan(|_, x| x & 0x7fff));
        check(Op::Ftz, &[elem], elem, &columns, unless_nan(oracle::ftz));
    }
}

#[test]
fn comparisons() {
    for elem in [Elem::F16, Elem::BF16] {
        let columns = operands(elem, 2, 50_000, 12);
        for op in FCmp::ALL {
            check(Op::FCmp(op), &[elem; 2], Elem::I1, &columns, |x| {
                let order = wide(elem, x[0]).partial_cmp(&wide(elem, x[1]));
                let Some(o) = order else {
                    use FCmp::*;
                    return u64::from(matches!(op, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan));
                };
                u64::from(match op {
                    FCmp::Eq | FCmp::Equ => o.is_eq(),
                    FCmp::Ne | FCmp::Neu => o.is_ne(),
                    FCmp::Lt | FCmp::Ltu => o.is_lt(),
                    FCmp::Le | FCmp::Leu => o.is_le(),
                    FCmp::Gt | FCmp::Gtu => o.is_gt(),
                    FCmp::Ge | FCmp::Geu => o.is_ge(),
                    FCmp::Num => true,
                    FCmp::Nan => false,
                })
            });
        }
    }
}

/// A function with one op on loaded operands.
fn one_op(op: Op, ty: Type, arity: usize) -> (Function, Value) {
    let mut b = Builder::new("one");
    b.set_line(3);
    let address = b.iconst(Type::I32, 0);
    let args: Vec<Value> =
        (0..arity).map(|_| b.inst(Op::Load(Mem::weak(Space::Param)), &[address], ty)).collect();
    b.set_line(4);
    let r = b.inst(op, &args, ty);
    b.set_line(5);
    let wide = b.iconst(Type::I64, 0);
    b.effect(Op::Store(Mem::weak(Space::Global)), &[wide, r], None);
    (b.finish(), r)
}

#[test]
fn primitive_functions_stay_as_they_are() {
    let (round, ftz) = (Round::Nearest, false);
    let (before, _) = one_op(Op::Fma { round, ftz }, Type::F32, 3);
    let mut after = before.clone();
    expand(&mut after, Caps::default());
    assert_eq!(before, after);
}

#[test]
fn caps_keep_what_they_name() {
    let (round, ftz) = (Round::Nearest, false);
    let all = Caps { f16_arith: true, f16_compare: true, f64_nan: true };
    for (op, ty, arity) in [
        (Op::Fma { round, ftz }, Type::F16X2, 3),
        (Op::Float { op: FBin::Div, round, ftz }, Type::F16, 2),
        (Op::FMin { nan: true }, Type::F16X2, 2),
        (Op::Sqrt { round, ftz }, Type::F64, 1),
    ] {
        let (before, _) = one_op(op, ty, arity);
        let mut after = before.clone();
        expand(&mut after, all);
        assert_eq!(before, after);
        expand(&mut after, Caps::default());
        assert_ne!(before, after);
        verify_primitive(&after).expect("expanded");
    }
    // Neither ftz nor a directed rounding is covered.
    for op in [Op::Fma { round, ftz: true }, Op::Fma { round: Round::Up, ftz }] {
        let (before, _) = one_op(op, Type::F16X2, 3);
        let mut after = before.clone();
        expand(&mut after, all);
        verify_primitive(&after).expect("expanded");
    }
}

#[test]
fn result_keeps_its_id_and_every_instruction_its_line() {
    for elem in FLOATS {
        for ty in [Type::scalar(elem), Type::new(elem, 2)] {
            let (mut func, r) = one_op(Op::Fma { round: Round::Up, ftz: true }, ty, 3);
            expand(&mut func, Caps::default());
            verify_primitive(&func).unwrap_or_else(|e| panic!("{e}\n{func}"));
            let insts: Vec<&Inst> = func.blocks.iter().flat_map(|b| &b.insts).collect();
            let at = insts.iter().position(|i| i.result == Some(r)).expect("still defined");
            let store = insts.iter().position(|i| matches!(i.op, Op::Store(_))).expect("still there");
            assert!(at < store && insts[store].args[1] == r);
            assert!(insts[5..=at].iter().all(|i| i.line == 4), "{func}");
            assert_eq!(insts[store].line, 5);
        }
    }
}

/// The second of two ops with ftz does not flush what the first one flushed already.
#[test]
fn flushed_operands_are_not_flushed_again() {
    let mut b = Builder::new("chain");
    let address = b.iconst(Type::I32, 0);
    let x = b.inst(Op::Load(Mem::weak(Space::Param)), &[address], Type::F32);
    let sum = b.float(FBin::Add, Round::Nearest, true, x, x);
    let twice = b.float(FBin::Add, Round::Nearest, true, sum, sum);
    let mut func = b.finish();
    expand(&mut func, Caps::default());
    verify_primitive(&func).expect("expanded");
    let flushes = func.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == Op::Ftz).count();
    assert_eq!(flushes, 4, "two operands of the sum, and both results\n{func}");
    let tiny = u64::from((f32::MIN_POSITIVE / 2.0).to_bits());
    let out = eval::run_straight_line(&func, &[(x, &[tiny])], &[sum, twice], 1).expect("pure");
    assert_eq!(out, [[0], [0]]);
}

/// Nothing is checked that constants settle, and the bits come out the same.
#[test]
fn constants_are_not_checked() {
    let mut b = Builder::new("constants");
    let address = b.iconst(Type::I32, 0);
    let x = b.inst(Op::Load(Mem::weak(Space::Param)), &[address], Type::F32);
    let two = b.fconst(Type::F32, 2f32.to_bits().into());
    let tiny = b.fconst(Type::F32, 1);
    let double = b.float(FBin::Mul, Round::Nearest, true, x, two);
    let zero = b.float(FBin::Mul, Round::Nearest, true, double, tiny);
    let y = b.inst(Op::Load(Mem::weak(Space::Param)), &[address], Type::F64);
    let (one, nan) = (b.iconst(Type::I64, 1f64.to_bits()), b.fconst(Type::F64, 0x7ff4_0000_0000_0001));
    let one = b.from_bits(one, Type::F64);
    let sum = b.float(FBin::Add, Round::Nearest, false, one, y);
    let chosen = b.float(FBin::Add, Round::Nearest, false, nan, sum);
    let mut func = b.finish();
    expand(&mut func, Caps::default());
    verify_primitive(&func).expect("expanded");
    let count = |wanted: Op| func.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == wanted).count();
    assert_eq!(count(Op::Ftz), 2, "x and the tiny constant; results of mul have another rule\n{func}");
    let looked_at = func.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == Op::Propagate);
    let looked_at: usize = looked_at.map(|i| i.args.len()).sum();
    assert_eq!(looked_at, 5, "two results, y, the NaN constant and the first sum\n{func}");
    let inputs: [(Value, &[u64]); 2] = [(x, &[3f32.to_bits().into()]), (y, &[0xfff0_0000_0000_0002])];
    let out = eval::run_straight_line(&func, &inputs, &[double, zero, sum, chosen], 1).expect("pure");
    assert_eq!(out, [[6f32.to_bits().into()], [0], [0xfff8_0000_0000_0002], [0xfff8_0000_0000_0002]]);
}
