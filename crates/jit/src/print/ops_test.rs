//! Every pure primitive op on every type it takes, for every CPU step and library at hand, against the evaluator.

use std::fmt::Write;
use std::path::Path;

use hostwarp_ir::{
    Dot, Elem, FBin, FCmp, Function, IntBin, IntCmp, IntUn, Op, Round, Table, Type, Value, eval,
};

use super::Shape;
use super::ops::{Cpu, pure_op};
use super::text::Text;
use crate::llvm::{Llvm, Tier};
use crate::object::{Loaded, undefined_symbols};
use crate::target::{Target, X86Level};

const LANES: usize = 32;

#[derive(Clone, Debug)]
struct Case {
    op: Op,
    args: Vec<Type>,
    result: Type,
}

/// All ops with all types that the verifier and `is_primitive` accept.
fn cases() -> Vec<Case> {
    use Elem::*;
    let elems = [I1, I8, I16, I32, I64, F16, BF16, F32, F64];
    let types: Vec<Type> = elems.iter().flat_map(|e| [1, 2, 4, 8].map(|n| Type::new(*e, n))).collect();
    let rounds = [Round::Nearest, Round::Zero, Round::Down, Round::Up];
    let mut ops: Vec<(Op, usize)> = vec![(Op::Select, 3)];
    ops.extend(IntBin::ALL.map(|op| (Op::Int(op), 2)));
    ops.extend(IntUn::ALL.map(|op| (Op::IntUn(op), 1)));
    ops.extend(IntCmp::ALL.map(|op| (Op::Cmp(op), 2)));
    ops.extend(FCmp::ALL.map(|op| (Op::FCmp(op), 2)));
    for op in [FBin::Add, FBin::Sub, FBin::Mul, FBin::Div] {
        ops.push((Op::Float { op, round: Round::Nearest, ftz: false }, 2));
    }
    for op in
        [Op::FNeg, Op::FAbs, Op::Ftz, Op::ToBits, Op::FromBits, Op::Zext, Op::Sext, Op::Trunc, Op::Bitcast]
    {
        ops.push((op, 1));
    }
    ops.push((Op::Fma { round: Round::Nearest, ftz: false }, 3));
    ops.extend([false, true].map(|halves| (Op::FmaOdd { halves }, 3)));
    ops.extend([2, 3, 4].map(|n| (Op::Propagate, n)));
    ops.push((Op::Sqrt { round: Round::Nearest, ftz: false }, 1));
    for nan in [false, true] {
        ops.extend([(Op::FMin { nan }, 2), (Op::FMax { nan }, 2)]);
        ops.extend([(Op::FToInt { signed: nan }, 1), (Op::HSum { signed: nan }, 2)]);
        ops.push((Op::IntToF { signed: nan, round: Round::Nearest }, 1));
    }
    ops.extend(rounds.map(|r| (Op::FRound(r), 1)));
    ops.push((Op::FCvt(Round::Nearest), 1));
    ops.extend(Table::ALL.map(|table| (Op::Lookup(table), 1)));
    ops.extend(Dot::all([1, 3]).map(|dot| (Op::Dot(dot), 0)));
    ops.extend([0, 1, 3, 7].map(|i| (Op::Extract(i), 1)));
    ops.extend([2, 4, 8].map(|n| (Op::Build, n)));
    ops.extend(
        [[1, 2, 3, 0, 5, 6, 7, 4], [0, 3, 1, 2, 9, 8, 15, 4], [3, 3, 7, 0, 1, 1, 2, 6]]
            .map(|p| (Op::Permute(p), 2)),
    );
    let mut cases = vec![];
    for (op, n) in ops {
        for &a in &types {
            for &result in &types {
                let args = match op {
                    Op::Select => vec![a, result, result],
                    Op::HSum { .. } => vec![a, Type::I32],
                    // Once for each result.
                    Op::Dot(_) if a != Type::I32 => continue,
                    Op::Dot(dot) => [vec![a; 2 * usize::from(dot.words)], vec![result]].concat(),
                    _ => vec![a; n],
                };
                let case = Case { op, args, result };
                let fine = op.is_primitive(&case.args, Some(result))
                    && hostwarp_ir::verify(&function(&case)).is_ok();
                if fine {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

/// Only the op, on values of the right types: enough for the verifier.
fn function(case: &Case) -> Function {
    let mut func = Function::new("typed");
    let args: Vec<Value> = case.args.iter().map(|ty| func.new_value(*ty)).collect();
    let result = func.new_value(case.result);
    let constant = |v: &Value| hostwarp_ir::Inst {
        op: Op::Const(0),
        args: Default::default(),
        guard: None,
        result: Some(*v),
        line: 0,
    };
    let mut insts: Vec<_> = args.iter().map(constant).collect();
    insts.push(hostwarp_ir::Inst {
        op: case.op,
        args: args.into_iter().collect(),
        guard: None,
        result: Some(result),
        line: 0,
    });
    func.blocks[0].insts = insts;
    func
}

/// Bytes of a column entry: what is stored for a value of the type. An i1 is stored as a byte.
fn stored(ty: Type) -> Type {
    if ty.elem == Elem::I1 { ty.with(Elem::I8) } else { ty.to_int() }
}

/// Values of an element type that are likely to go wrong, and others.
fn interesting(elem: Elem, random: &mut Random) -> u64 {
    let bits = elem.bits();
    let any = random.next();
    let edges: &[u64] = match elem {
        Elem::F32 => &[
            0,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7f80_0001,
            0x0080_0000,
            0x007f_ffff,
            1,
            0x3f80_0000,
            0xbf80_0000,
            0x4f00_0000,
            0xcf00_0000,
            0x4f80_0000,
            0x5f00_0000,
            0x5f80_0000,
            0x7f7f_ffff,
            0x3f00_0000,
            0x3fc0_0000,
            0x4020_0000,
            0x477f_f000,
            0x477f_efff,
            0x3380_0000,
            0x3300_0001,
            0x3880_0000,
            0x387f_ffff,
        ],
        Elem::F64 => &[
            0,
            1 << 63,
            0x7ff0 << 48,
            0xfff0 << 48,
            0x7ff8 << 48,
            0x0010 << 48,
            1,
            0x3ff0 << 48,
            0x41e0 << 48,
            0xc1e0 << 48,
            0x43e0 << 48,
            0xc3e0 << 48,
            0x43f0 << 48,
            0x41f0 << 48,
            0x3fe0 << 48,
            0x3ff8 << 48,
            0x4004 << 48,
            0x47ef_ffff_f000_0000,
            0x36a0 << 48,
            0x3690_0000_0000_0001,
        ],
        Elem::F16 => &[0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x0400, 0x03ff, 1, 0x3c00, 0x7bff],
        Elem::BF16 => &[0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x0080, 0x007f, 1, 0x3f80],
        _ => &[
            0,
            1,
            2,
            7,
            8,
            15,
            16,
            31,
            32,
            63,
            64,
            u64::MAX,
            u64::MAX - 1,
            0x80,
            0x8000,
            0x8000_0000,
            1 << 63,
            0x7f,
            0x7fff,
            0x7fff_ffff,
            !(1 << 63),
        ],
    };
    let value = match any >> 60 {
        0..8 => edges[any as usize % edges.len()],
        8..10 => any & 0xff,
        _ => any,
    };
    value & (u64::MAX >> (64 - bits))
}

fn column_bytes(ty: Type, column: &[u64]) -> Vec<u8> {
    let size = stored(ty).elem.bytes();
    column.iter().flat_map(|x| x.to_le_bytes()[..size].to_vec()).collect()
}

/// A fixed sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// A function per case that does the op on columns in memory, `lanes` lanes at a time.
fn module(cases: &[Case], cpu: Cpu, lanes: u32) -> String {
    let mut module = String::new();
    let mut declarations = std::collections::BTreeSet::new();
    for (n, case) in cases.iter().enumerate() {
        let mut t = Text::default();
        let flat = |ty: Type| Shape::new(ty.elem, lanes * u32::from(ty.count));
        let mut args = vec![];
        for (i, ty) in case.args.iter().enumerate() {
            let (held, shape) = (flat(stored(*ty)), flat(*ty));
            let size = stored(*ty).bytes() as u32 * lanes;
            let offset = t.inst(format_args!("mul i64 %i, {size}"));
            let at = t.inst(format_args!("getelementptr i8, ptr %a{i}, i64 {offset}"));
            let loaded = t.inst(format_args!("load {held}, ptr {at}, align 1"));
            let convert = if ty.elem == Elem::I1 { "trunc" } else { "bitcast" };
            args.push((t.convert(convert, held, &loaded, shape), *ty));
        }
        let args: Vec<(&str, Type)> = args.iter().map(|(r, ty)| (r.as_str(), *ty)).collect();
        let mut r = pure_op(&mut t, cpu, &case.op, case.result, &args, lanes).expect("a pure op");
        let (held, shape) = (flat(stored(case.result)), flat(case.result));
        if case.result.is_float() {
            r = pure_op(&mut t, cpu, &Op::ToBits, stored(case.result), &[(&r, case.result)], lanes)
                .expect("a pure op");
        } else {
            r = t.convert("zext", shape, &r, held);
        }
        let size = stored(case.result).bytes() as u32 * lanes;
        let offset = t.inst(format_args!("mul i64 %i, {size}"));
        let at = t.inst(format_args!("getelementptr i8, ptr %out, i64 {offset}"));
        t.line(format_args!("store {held} {r}, ptr {at}, align 1"));
        let _ = write!(
            module,
            "define void @case{n}(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, ptr %a6, ptr %a7, ptr %out) nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{}  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {}
  br i1 %more, label %loop, label %end
end:
  ret void
}}
",
            t.body,
            LANES as u32 / lanes
        );
        declarations.extend(t.declarations);
    }
    for declaration in declarations {
        let _ = writeln!(module, "{declaration}");
    }
    module
}

type Run = unsafe extern "C" fn(
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *const u8,
    *mut u8,
);

/// Runs the cases and compares them with the evaluator.
fn check(cases: &[Case], llvm: Llvm, target: &Target, lanes: u32) {
    let text = module(cases, Cpu::new(target), lanes);
    let object =
        llvm.compile(&text, target, &Tier::light()).unwrap_or_else(|e| panic!("{llvm:?}, {target}: {e}")).0;
    assert_eq!(undefined_symbols(&object).unwrap(), [""; 0], "{llvm:?}, {target}");
    let loaded = Loaded::new(&object).unwrap();
    let mut random = Random(0x1234_5678_9abc_def1);
    for (n, case) in cases.iter().enumerate() {
        let run = loaded.get(&format!("case{n}")).unwrap();
        // SAFETY: the text above defines it so.
        let run = unsafe { std::mem::transmute::<*const u8, Run>(run) };
        for _ in 0..24 {
            let mut columns: Vec<Vec<u64>> = vec![];
            for ty in &case.args {
                let mut column = |elem| -> Vec<u64> {
                    (0..LANES * ty.count as usize).map(|_| interesting(elem, &mut random)).collect()
                };
                columns.push(if case.op == (Op::FmaOdd { halves: true }) {
                    let (half, widen) = (ty.with(Elem::F16), Op::FCvt(Round::Nearest));
                    eval::eval_op(widen, &[&column(Elem::F16)], &[half], *ty, LANES).unwrap()
                } else {
                    column(ty.elem)
                });
            }
            let mut inputs: Vec<Vec<u8>> =
                case.args.iter().zip(&columns).map(|(ty, column)| column_bytes(*ty, column)).collect();
            inputs.resize(8, vec![]);
            let mut got = vec![0; stored(case.result).bytes() * LANES];
            let at = |i: usize| inputs[i].as_ptr();
            // SAFETY: the case reads `LANES` values of the types of its arguments and writes as many of the result's.
            unsafe { run(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), got.as_mut_ptr()) };
            let args: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            let evaluate = |op: Op, args: &[&[u64]], types: &[Type], result: Type| {
                eval::eval_op(op, args, types, result, LANES)
                    .unwrap_or_else(|| panic!("the evaluator does not know {op:?}"))
            };
            let mut expected = evaluate(case.op, &args, &case.args, case.result);
            if case.result.is_float() {
                expected = evaluate(Op::ToBits, &[&expected], &[case.result], case.result.to_int());
            }
            let expected = column_bytes(case.result, &expected);
            let alike = case.op != Op::Propagate && only_nans_differ(case.result, &got, &expected);
            if got != expected && !alike {
                let size = stored(case.result).elem.bytes();
                let wrong = got.chunks(size).zip(expected.chunks(size)).position(|(g, e)| g != e).unwrap();
                panic!(
                    "{llvm:?}, {target}, {lanes} lanes\n{case:?}, element {wrong}: {:x?} instead of {:x?}\n{:x?}",
                    &got[wrong * size..][..size],
                    &expected[wrong * size..][..size],
                    columns.iter().map(|c| c[wrong * c.len() / (got.len() / size)]).collect::<Vec<_>>()
                );
            }
        }
    }
}

/// Which NaN an f64 op gives is not the engines' affair: `expand` spells out the rule around it.
fn only_nans_differ(ty: Type, got: &[u8], expected: &[u8]) -> bool {
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    ty.elem == Elem::F64
        && got
            .chunks(8)
            .zip(expected.chunks(8))
            .all(|(g, e)| g == e || number(g).is_nan() && number(e).is_nan())
}

/// f64 fma and rounding need the instruction; the interpreter does it elsewhere.
fn possible(case: &Case, target: &Target) -> bool {
    match case.op {
        Op::Fma { .. } if case.result.elem == Elem::F64 => target.has("fma"),
        Op::FRound(_) => target.has("sse4.1"),
        _ => true,
    }
}

fn llvms() -> Vec<Llvm> {
    let names =
        |v: u32| [format!("libLLVM.so.{v}.1"), format!("libLLVM-{v}.so.1"), format!("libLLVM-{v}.so")];
    (15..24).filter_map(|v| names(v).iter().find_map(|name| Llvm::open(Path::new(name)).ok())).collect()
}

#[test]
fn every_op_agrees_with_the_evaluator() {
    let (Ok(llvm), Some(host)) = (Llvm::find(None), Target::host()) else { return };
    let cases = cases();
    assert!(cases.len() > 600, "only {} cases", cases.len());
    for chunk in cases.chunks(200) {
        let possible: Vec<Case> = chunk.iter().filter(|c| possible(c, &host)).cloned().collect();
        check(&possible, llvm, &host, 16);
        check(&possible, llvm, &host, 1);
    }
}

/// What is written or done differently for different CPUs.
fn depends_on_cpu(op: Op) -> bool {
    matches!(op, Op::HSum { .. } | Op::FCvt(_) | Op::Fma { .. } | Op::FmaOdd { .. } | Op::Lookup(_))
}

/// A sample for each CPU step and library, with all that depends on them: hundreds of ops for all of them take minutes.
#[test]
fn every_cpu_step_and_library_agrees() {
    let (Ok(llvm), Some(host)) = (Llvm::find(None), Target::host()) else { return };
    let cases = cases();
    let sample = |target: &Target, step: usize| -> Vec<Case> {
        let chosen = |(n, c): &(usize, &Case)| n % step == 0 || depends_on_cpu(c.op);
        cases
            .iter()
            .enumerate()
            .filter(chosen)
            .map(|(_, c)| c)
            .filter(|c| possible(c, target))
            .cloned()
            .collect()
    };
    for target in X86Level::ALL.into_iter().filter_map(Target::host_up_to) {
        check(&sample(&target, 3), llvm, &target, 8);
    }
    for llvm in llvms() {
        check(&sample(&host, 4), llvm, &host, 32);
    }
}
