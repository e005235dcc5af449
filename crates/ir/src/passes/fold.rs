//! Integer arithmetic on constants, and what leaves a value as it is: instructions are built from a few general ones, and with immediate operands much of
//! that comes to nothing. Floats are left alone: what they round to is the engines' business.

use super::{Changed, Pass};
use crate::subst::Subst;
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "fold",
    about: "constant folding and algebraic simplification of integers",
    run: |func, _| fold(func),
};

/// Folds what can be told from constants and from how operands were made, in one sweep.
fn fold(func: &mut Function) -> Changed {
    let mut facts = Facts { constant: vec![None; func.types.len()], made: FxHashMap::default() };
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Some(r), Op::Const(c)) = (i.result, i.op) {
            facts.constant[r.index()] = Some(c);
        }
    }
    let mut subst = Subst::new(func);
    let types = &func.types;
    for i in func.blocks.iter_mut().flat_map(|b| &mut b.insts) {
        let Some(r) = i.result.filter(|_| i.guard.is_none() && !i.args.is_empty()) else { continue };
        i.args.iter_mut().for_each(|a| *a = subst.find(*a));
        // A rule may make way for another.
        for _ in 0..4 {
            let known: SmallVec<[Option<u64>; 4]> =
                i.args.iter().map(|a| facts.constant[a.index()]).collect();
            let ty = types[i.args[0].index()];
            let found = simplify(i.op, ty, types[r.index()], &i.args, &known);
            match found.or_else(|| facts.look_through(i.op, r, &i.args, &known, types)) {
                Some(Simple::Constant(c)) => {
                    (i.op, facts.constant[r.index()]) = (Op::Const(c), Some(c));
                    i.args.clear();
                }
                Some(Simple::Same(v)) => subst.set(r, v),
                Some(Simple::Other(op, args)) => {
                    (i.op, i.args) = (op, args);
                    continue;
                }
                None => facts.note(i, r),
            }
            break;
        }
    }
    subst.apply(func);
    let mut changed = Changed::Values;
    for b in &mut func.blocks {
        let known = |v: &Value| facts.constant[v.index()];
        let to = match &b.term {
            Term::Branch(c, yes, no) => known(c).map(|c| if c != 0 { yes } else { no }),
            Term::Switch(c, ts) => known(c).and_then(|c| ts.get(c as usize).or(ts.last())),
            _ => None,
        };
        if let Some(to) = to.or(b.term.only()).cloned() {
            b.term = Term::Jump(to);
            changed = Changed::Graph;
        }
    }
    changed
}

/// What is known of values while folding.
struct Facts {
    constant: Vec<Option<u64>>,
    /// How a value was made, if a rule of [`Facts::look_through`] asks.
    made: FxHashMap<Value, (Op, SmallVec<[Value; 4]>)>,
}

impl Facts {
    fn note(&mut self, i: &Inst, r: Value) {
        let asked = match i.op {
            Op::Zext | Op::Sext | Op::Select | Op::Extract(_) | Op::Build => true,
            Op::IntUn(op) => op == IntUn::Not,
            _ => false,
        };
        if asked {
            self.made.insert(r, (i.op, i.args.clone()));
        }
    }

    /// The condition that a value of 0 or 1 tells, and whether it is 1 where that is true.
    fn condition(&self, v: Value, types: &[Type]) -> Option<(Value, bool)> {
        let (op, args) = self.made.get(&v)?;
        let constant = |n: usize| self.constant[args[n].index()];
        match op {
            Op::Zext if types[args[0].index()] == Type::I1 => Some((args[0], true)),
            Op::Select if types[args[0].index()] == Type::I1 => match (constant(1), constant(2)) {
                (Some(1), Some(0)) => Some((args[0], true)),
                (Some(0), Some(1)) => Some((args[0], false)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What an instruction comes to by how its operands were made.
    fn look_through(
        &self,
        op: Op,
        r: Value,
        args: &[Value],
        known: &[Option<u64>],
        types: &[Type],
    ) -> Option<Simple> {
        use Simple::{Other, Same};
        let made = |v: Value| self.made.get(&v).map(|(op, args)| (*op, &args[..]));
        let not = |v: Value| Other(Op::IntUn(IntUn::Not), smallvec![v]);
        match (op, args) {
            // A predicate that was a number in between, as in code compiled without optimisation.
            (Op::Cmp(IntCmp::Eq | IntCmp::Ne), &[x, _]) if matches!(known[1], Some(0 | 1)) => {
                let (c, is_one) = self.condition(x, types).filter(|_| types[r.index()] == Type::I1)?;
                let wanted = (op == Op::Cmp(IntCmp::Eq)) == (known[1] == Some(1));
                Some(if is_one == wanted { Same(c) } else { not(c) })
            }
            (Op::Int(IntBin::And), &[x, _]) if known[1] == Some(1) => {
                self.condition(x, types).map(|_| Same(x))
            }
            (Op::Trunc, &[x]) => match made(x)? {
                (Op::Zext | Op::Sext, &[y]) if types[y.index()] == types[r.index()] => Some(Same(y)),
                _ => None,
            },
            (Op::Zext, &[x]) => match made(x)? {
                (Op::Zext, &[y]) => Some(Other(Op::Zext, smallvec![y])),
                _ => None,
            },
            (Op::IntUn(IntUn::Not), &[x]) => match made(x)? {
                (Op::IntUn(IntUn::Not), &[y]) => Some(Same(y)),
                _ => None,
            },
            (Op::Select, &[c, a, b]) => {
                if types[r.index()] == Type::I1 && known[1..] == [Some(1), Some(0)] {
                    return Some(Same(c));
                }
                match made(c)? {
                    (Op::IntUn(IntUn::Not), &[c]) => Some(Other(Op::Select, smallvec![c, b, a])),
                    _ => None,
                }
            }
            (Op::Extract(n), &[x]) => match made(x)? {
                (Op::Build, elements) => elements.get(n as usize).map(|e| Same(*e)),
                _ => None,
            },
            // All elements of one value, in order.
            (Op::Build, elements) => {
                let whole = match made(elements[0])? {
                    (Op::Extract(0), &[whole]) if types[whole.index()] == types[r.index()] => whole,
                    _ => return None,
                };
                let taken = |n: usize, e: &Value| made(*e) == Some((Op::Extract(n as u8), &[whole]));
                elements.iter().enumerate().all(|(n, e)| taken(n, e)).then_some(Same(whole))
            }
            _ => None,
        }
    }
}

/// What an op comes to of constants of type `ty` (the first at least). `None` for what is rare.
pub fn evaluate(op: Op, ty: Type, result: Type, args: &[u64]) -> Option<u64> {
    if let (Op::Select, [c, yes, no]) = (op, args) {
        return Some(if *c != 0 { *yes } else { *no });
    }
    let known: SmallVec<[Option<u64>; 4]> = args.iter().map(|a| Some(*a)).collect();
    // Whatever it says of the arguments, they are told apart by their place.
    let places: SmallVec<[Value; 4]> = (0..args.len() as u32).map(Value).collect();
    match simplify(op, ty, result, &places, &known)? {
        Simple::Constant(c) => Some(c),
        Simple::Same(v) => Some(args[v.index()]),
        Simple::Other(..) => None,
    }
}

/// What an instruction comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Simple {
    Constant(u64),
    Same(Value),
    /// Another instruction, no dearer.
    Other(Op, SmallVec<[Value; 4]>),
}

/// Of arguments of type `ty` (the first at least); constants among them are known, in every element alike.
fn simplify(op: Op, ty: Type, result: Type, args: &[Value], known: &[Option<u64>]) -> Option<Simple> {
    use IntBin::*;
    use Simple::{Constant, Same};
    let mask = ty.elem.mask();
    match (op, known) {
        (Op::Int(op), [Some(a), Some(b)]) => binary(op, ty.elem.bits(), *a, *b).map(Constant),
        (Op::Int(And), [Some(0), _] | [_, Some(0)]) => Some(Constant(0)),
        (Op::Int(And), [Some(c), _]) if *c == mask => Some(Same(args[1])),
        (Op::Int(And), [_, Some(c)]) if *c == mask => Some(Same(args[0])),
        (Op::Int(Add | Or | Xor), [Some(0), _]) => Some(Same(args[1])),
        (Op::Int(Add | Sub | Or | Xor | Shl | ShrU | ShrS), [_, Some(0)]) => Some(Same(args[0])),
        (Op::Int(Mul), [Some(1), _]) => Some(Same(args[1])),
        (Op::Int(Mul), [_, Some(1)]) => Some(Same(args[0])),
        (Op::Int(Mul), [Some(0), _] | [_, Some(0)]) => Some(Constant(0)),
        (Op::Int(And | Or), _) if args[0] == args[1] => Some(Same(args[0])),
        (Op::Int(Sub | Xor), _) if args[0] == args[1] => Some(Constant(0)),
        (Op::IntUn(IntUn::Not), [Some(a)]) => Some(Constant(!a & mask)),
        (Op::IntUn(IntUn::Neg), [Some(a)]) => Some(Constant(a.wrapping_neg() & mask)),
        (Op::Cmp(op), [Some(a), Some(b)]) => Some(Constant(compare(op, ty.elem.bits(), *a, *b).into())),
        (Op::Select, [Some(c), ..]) => Some(Same(args[if *c != 0 { 1 } else { 2 }])),
        (Op::Select, _) if args[1] == args[2] => Some(Same(args[1])),
        (Op::Zext, [Some(a)]) => Some(Constant(*a)),
        (Op::Sext, [Some(a)]) => Some(Constant(signed(*a, ty.elem.bits()) as u64 & result.elem.mask())),
        (Op::Trunc, [Some(a)]) => Some(Constant(a & result.elem.mask())),
        _ => None,
    }
}

fn signed(x: u64, bits: u32) -> i64 {
    let above = 64 - bits;
    ((x << above) as i64) >> above
}

/// None for what is rare.
fn binary(op: IntBin, bits: u32, a: u64, b: u64) -> Option<u64> {
    use IntBin::*;
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    // As amounts of shifts: more than there are bits is all of them.
    let by = b.min(bits.into()) as u32;
    let result = match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a.checked_shl(by).unwrap_or(0),
        ShrU => a.checked_shr(by).unwrap_or(0),
        ShrS => (sa >> by.min(63)) as u64,
        MinU => a.min(b),
        MaxU => a.max(b),
        MinS => sa.min(sb) as u64,
        MaxS => sa.max(sb) as u64,
        _ => return None,
    };
    Some(result & (u64::MAX >> (64 - bits)))
}

fn compare(op: IntCmp, bits: u32, a: u64, b: u64) -> bool {
    match op {
        IntCmp::Eq => a == b,
        IntCmp::Ne => a != b,
        IntCmp::LtU => a < b,
        IntCmp::LeU => a <= b,
        IntCmp::LtS => signed(a, bits) < signed(b, bits),
        IntCmp::LeS => signed(a, bits) <= signed(b, bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::eval_op;

    const ELEMS: [Elem; 5] = [Elem::I1, Elem::I8, Elem::I16, Elem::I32, Elem::I64];

    fn edges(elem: Elem) -> Vec<u64> {
        let bits = elem.bits();
        let top = 1u64 << (bits - 1);
        let some = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 0x55, 0xaaaa_5555_1234_8765];
        let mut all: Vec<u64> =
            some.into_iter().chain([top, top - 1, !0, !1, top + 1]).map(|x| x & elem.mask()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn ops() -> Vec<(Op, usize)> {
        let two =
            IntBin::ALL.map(|op| (Op::Int(op), 2)).into_iter().chain(IntCmp::ALL.map(|op| (Op::Cmp(op), 2)));
        let one = IntUn::ALL.map(Op::IntUn).into_iter().chain([Op::Zext, Op::Sext, Op::Trunc]);
        two.chain(one.map(|op| (op, 1))).collect()
    }

    /// With every argument constant, and with each alone: what it comes to is what the reference makes of it.
    #[test]
    fn what_is_folded_is_what_the_reference_says() {
        let (mut folded, mut same) = (0, 0);
        for elem in ELEMS {
            let ty = Type::scalar(elem);
            for ((op, count), result) in
                ops().into_iter().flat_map(|op| ELEMS.map(|to| (op, Type::scalar(to))))
            {
                let args: Vec<Value> = (0..count as u32).map(Value).collect();
                for a in edges(elem) {
                    for b in if count == 2 { edges(elem) } else { vec![0] } {
                        let columns = [[a], [b]];
                        let columns: Vec<&[u64]> = columns[..count].iter().map(|c| &c[..]).collect();
                        let Some(want) = eval_op(op, &columns, &vec![ty; count], result, 1) else { continue };
                        for which in 1..1 << count {
                            let known: Vec<Option<u64>> =
                                (0..count).map(|n| (which >> n & 1 == 1).then_some(columns[n][0])).collect();
                            match simplify(op, ty, result, &args, &known) {
                                Some(Simple::Constant(c)) => {
                                    folded += 1;
                                    assert_eq!(c, want[0], "{op:?} of {elem:?} {known:x?}");
                                }
                                Some(Simple::Same(v)) => {
                                    same += 1;
                                    assert_eq!(
                                        columns[v.index()][0],
                                        want[0],
                                        "{op:?} of {elem:?} {known:x?}"
                                    );
                                }
                                Some(Simple::Other(..)) | None => {}
                            }
                        }
                    }
                }
            }
        }
        assert!(folded > 10_000 && same > 1000, "{folded} {same}");
    }

    #[test]
    fn a_value_chosen_or_joined_with_itself_is_that_value() {
        let ty = Type::scalar(Elem::I32);
        let (c, x, y) = (Value(0), Value(1), Value(2));
        let simple = |op, args: &[Value], known: &[Option<u64>]| simplify(op, ty, ty, args, known);
        for op in [IntBin::And, IntBin::Or] {
            assert_eq!(simple(Op::Int(op), &[x, x], &[None; 2]), Some(Simple::Same(x)));
            assert_eq!(simple(Op::Int(op), &[x, y], &[None; 2]), None);
        }
        for op in [IntBin::Xor, IntBin::Sub] {
            assert_eq!(simple(Op::Int(op), &[x, x], &[None; 2]), Some(Simple::Constant(0)));
            assert_eq!(simple(Op::Int(op), &[x, y], &[None; 2]), None);
        }
        assert_eq!(simple(Op::Select, &[c, x, x], &[None; 3]), Some(Simple::Same(x)));
        assert_eq!(simple(Op::Select, &[c, x, y], &[Some(1), None, None]), Some(Simple::Same(x)));
        assert_eq!(simple(Op::Select, &[c, x, y], &[Some(0), None, None]), Some(Simple::Same(y)));
        assert_eq!(simple(Op::Select, &[c, x, y], &[None; 3]), None);
    }
}
