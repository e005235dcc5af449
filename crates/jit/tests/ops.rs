//! Every pure primitive op on every type it takes, compiled for every CPU step and by every LLVM at hand, against the evaluator.

#![cfg(target_arch = "x86_64")]

mod common;

use common::{Random, compile, device, llvm, llvms, program, run, targets};
use hostwarp_interp::{Launch, Outcome};
use hostwarp_ir::{
    Axis, Builder, Elem, FBin, FCmp, Function, IntBin, IntCmp, IntUn, Mem, Op, Round, Space, Special, Type,
    Value, eval,
};
use hostwarp_jit::llvm::Llvm;
use hostwarp_jit::target::Target;

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
    ops.push((Op::Sqrt { round: Round::Nearest, ftz: false }, 1));
    for nan in [false, true] {
        ops.extend([(Op::FMin { nan }, 2), (Op::FMax { nan }, 2)]);
        ops.extend([(Op::FToInt { signed: nan }, 1), (Op::HSum { signed: nan }, 2)]);
        ops.push((Op::IntToF { signed: nan, round: Round::Nearest }, 1));
    }
    ops.extend(rounds.map(|r| (Op::FRound(r), 1)));
    ops.push((Op::FCvt(Round::Nearest), 1));
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

/// A kernel that does many ops: each loads its arguments from columns in global memory and stores its result.
struct Batch {
    func: Function,
    /// For each case the offsets of its argument columns and its result column.
    places: Vec<(Vec<u64>, u64)>,
    bytes: u64,
}

fn batch(cases: &[Case]) -> Batch {
    let mut b = Builder::new("ops");
    b.func().info.param_bytes = 8;
    let zero = b.iconst(Type::I64, 0);
    let base = b.inst(Op::Load(Mem::weak(Space::Param)), &[zero], Type::I64);
    let tid = b.special(Special::Tid(Axis::X));
    let tid = b.zext(tid, Elem::I64);
    let mut end = 0u64;
    let mut place = |ty: Type| {
        let at = end.next_multiple_of(64);
        end = at + (stored(ty).bytes() * LANES) as u64;
        at
    };
    let mut places = vec![];
    for case in cases {
        let address = |b: &mut Builder, at: u64, ty: Type| {
            let offset = b.int_imm(IntBin::Mul, tid, stored(ty).bytes() as u64);
            let address = b.add(base, offset);
            b.int_imm(IntBin::Add, address, at)
        };
        let mut args = vec![];
        let mut offsets = vec![];
        for ty in &case.args {
            let at = place(*ty);
            offsets.push(at);
            let address = address(&mut b, at, *ty);
            let mut v = b.inst(Op::Load(Mem::weak(Space::Global)), &[address], stored(*ty));
            if ty.elem == Elem::I1 {
                v = b.inst(Op::Trunc, &[v], *ty);
            } else if ty.is_float() {
                v = b.inst(Op::FromBits, &[v], *ty);
            }
            args.push(v);
        }
        let mut r = b.inst(case.op, &args, case.result);
        if case.result.elem == Elem::I1 {
            r = b.inst(Op::Zext, &[r], stored(case.result));
        } else if case.result.is_float() {
            r = b.inst(Op::ToBits, &[r], stored(case.result));
        }
        let at = place(case.result);
        let address = address(&mut b, at, case.result);
        b.effect(Op::Store(Mem::weak(Space::Global)), &[address, r], None);
        places.push((offsets, at));
    }
    b.terminate(hostwarp_ir::Term::Exit);
    Batch { func: b.finish(), places, bytes: end }
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

/// Runs the cases and compares them with the evaluator.
fn check(cases: &[Case], llvm: Llvm, target: &Target, width: u32) {
    let batch = batch(cases);
    let program = program(&batch.func, [LANES as u32, 1, 1], width);
    let kernel = compile(&program, llvm, target);
    let undefined = hostwarp_jit::object::undefined_symbols(&kernel.object().0).unwrap();
    assert!(undefined.is_empty(), "{llvm:?}, {target}: {undefined:?}");
    let device = device();
    let base = device.alloc(batch.bytes).unwrap();
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut launch = Launch::new(&program, &device, [1, 1, 1], [LANES as u32, 1, 1]);
    launch.set_params(&base.to_le_bytes());
    for _ in 0..24 {
        let mut columns = vec![];
        for (case, (offsets, _)) in cases.iter().zip(&batch.places) {
            let mut inputs = vec![];
            for (ty, at) in case.args.iter().zip(offsets) {
                let column: Vec<u64> =
                    (0..LANES * ty.count as usize).map(|_| interesting(ty.elem, &mut random)).collect();
                device.write(base + at, &column_bytes(*ty, &column)).unwrap();
                inputs.push(column);
            }
            columns.push(inputs);
        }
        assert_eq!(run(&kernel, &launch), Outcome::Done);
        for ((case, (_, at)), inputs) in cases.iter().zip(&batch.places).zip(&columns) {
            let args: Vec<&[u64]> = inputs.iter().map(Vec::as_slice).collect();
            let mut expected = eval::eval_op(case.op, &args, &case.args, case.result, LANES)
                .expect("the evaluator knows it");
            if case.result.is_float() {
                let bits = case.result.to_int();
                expected = eval::eval_op(Op::ToBits, &[&expected], &[case.result], bits, LANES)
                    .expect("it knows this too");
            }
            let mut got = vec![0; stored(case.result).bytes() * LANES];
            device.read(base + at, &mut got).unwrap();
            let expected_bytes = column_bytes(case.result, &expected);
            if got != expected_bytes && !only_nans_differ(case.result, &got, &expected_bytes) {
                let size = stored(case.result).elem.bytes();
                let wrong =
                    got.chunks(size).zip(expected_bytes.chunks(size)).position(|(g, e)| g != e).unwrap();
                panic!(
                    "{llvm:?}, {target}, width {width}\n{case:?}, element {wrong}: {:x?} instead of {:x?}\n{:x?}",
                    &got[wrong * size..][..size],
                    &expected_bytes[wrong * size..][..size],
                    inputs.iter().map(|c| c[wrong * c.len() / (got.len() / size)]).collect::<Vec<_>>()
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

/// f64 fma needs the instruction; the interpreter does it elsewhere.
fn possible(case: &Case, target: &Target) -> bool {
    target.has("fma") || !matches!(case.op, Op::Fma { .. } if case.result.elem == Elem::F64)
}

/// Cases as they come, or only every few: compiling hundreds of ops for every CPU and library takes its time.
fn sample(cases: &[Case], target: &Target, step: usize) -> Vec<Case> {
    cases.iter().step_by(step).filter(|c| possible(c, target)).cloned().collect()
}

#[test]
fn every_op_agrees_with_the_evaluator() {
    let (Some(llvm), Some(host)) = (llvm(), Target::host()) else { return };
    let cases = cases();
    assert!(cases.len() > 600, "only {} cases", cases.len());
    for chunk in sample(&cases, &host, 1).chunks(50) {
        check(chunk, llvm, &host, 8);
    }
}

#[test]
fn every_cpu_step_and_library_agrees() {
    let (Some(llvm), Some(host)) = (llvm(), Target::host()) else { return };
    let cases = cases();
    for target in targets() {
        for chunk in sample(&cases, &target, 7).chunks(50) {
            check(chunk, llvm, &target, 8);
        }
    }
    for llvm in llvms() {
        for chunk in sample(&cases, &host, 11).chunks(50) {
            check(chunk, llvm, &host, 32);
        }
    }
}
