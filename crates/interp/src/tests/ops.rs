//! Every primitive op on every type and count against the IR's own reference, with all lanes and with some.

use super::*;
use hostwarp_ir::dot::Sum;
use hostwarp_ir::eval::eval_op;
use hostwarp_ir::*;

const LANES: usize = 70;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// An element, corners included.
    fn elem(&mut self, elem: Elem) -> u64 {
        let mask = elem.mask();
        let top = mask ^ mask >> 1;
        let corners: &[u64] = match elem {
            Elem::F32 => &[
                0x0000_0000,
                0x8000_0000,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x7fff_ffff,
                0xffc0_0001,
                0x0000_0001,
                0x807f_ffff,
                0x0080_0000,
                0x3f80_0000,
                0xbf80_0000,
                0x4f00_0000,
                0xcf00_0000,
                0x4f80_0000,
                0x5f00_0000,
                0x5f80_0000,
                0x477f_f000,
                0x477f_efff,
                0x3380_0000,
                0x3300_0000,
                0x3300_0001,
                0x3880_0000,
                0x387f_ffff,
                0x7f7f_ffff,
                0x3f00_0000,
                0x3fc0_0000,
                0xbf00_0000,
            ],
            Elem::F64 => &[
                0,
                1 << 63,
                0x7ff0 << 48,
                0xfff0 << 48,
                0x7ff8 << 48,
                1,
                0x41e0 << 48,
                0xc1e0 << 48,
                0x41f0 << 48,
                0x43e0 << 48,
                0xc3e0 << 48,
                0x43f0 << 48,
                0x41df_ffff_ffc0_0000,
                0x3ff8 << 48,
                0x36a0 << 48,
                0x3690 << 48,
                0x3690_0000_0000_0001,
                0x47ef_ffff_f000_0000,
                0xbfe0 << 48,
            ],
            Elem::F16 => &[0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 1, 0x83ff, 0x0400, 0x7bff],
            Elem::BF16 => &[0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 1, 0x807f, 0x0080, 0x7f7f],
            _ => &[0, 1, 2, 31, 32, 33, 63, 64, 65, u64::MAX, u64::MAX - 1],
        };
        let r = self.next();
        (match r % 8 {
            0..=2 => corners[(r >> 8) as usize % corners.len()],
            3 => top,
            4 => top - 1,
            5 => self.next() % 70,
            _ => self.next(),
        }) & mask
    }
}

/// How a value of this type is kept in memory: integers, an i1 as a byte.
fn stored(ty: Type) -> Type {
    if ty.elem == Elem::I1 { ty.with(Elem::I8) } else { ty.to_int() }
}

/// Loads the arguments, applies the op (in some lanes only if `part`), stores the result.
fn kernel(op: Op, types: &[Type], result: Type, part: bool) -> Function {
    let mut b = Builder::new("op");
    let t = tid(&mut b);
    let out = param(&mut b, types.len() as u32);
    let mut args = vec![];
    for (n, ty) in types.iter().enumerate() {
        let base = param(&mut b, n as u32);
        let addr = element(&mut b, base, t, stored(*ty).bytes() as u64);
        let raw = load(&mut b, Space::Global, addr, stored(*ty));
        args.push(match ty.elem {
            Elem::I1 => b.inst(Op::Trunc, &[raw], *ty),
            e if e.is_float() => b.inst(Op::FromBits, &[raw], *ty),
            _ => raw,
        });
    }
    let var = b.new_var(result);
    if part {
        // One lane in three, so that every chunk has lanes of both kinds.
        let r = b.int_imm(IntBin::RemU, t, 3);
        let c = b.cmp_imm(IntCmp::Eq, r, 1);
        let other = b.iconst(result, 1);
        b.set(var, other);
        let (yes, join) = (b.new_block(), b.new_block());
        b.branch(c, yes, join);
        b.switch_to(yes);
        let v = b.inst(op, &args, result);
        b.set(var, v);
        b.jump(join);
        b.switch_to(join);
    } else {
        let v = b.inst(op, &args, result);
        b.set(var, v);
    }
    let v = b.get(var);
    let v = match result.elem {
        Elem::I1 => b.inst(Op::Zext, &[v], stored(result)),
        e if e.is_float() => b.inst(Op::ToBits, &[v], stored(result)),
        _ => v,
    };
    let addr = element(&mut b, out, t, stored(result).bytes() as u64);
    store(&mut b, Space::Global, addr, v);
    b.terminate(Term::Exit);
    b.finish()
}

/// Canonical where the payload is not part of the value, or depends on the host.
fn canonical(elem: Elem, bits: u64) -> u64 {
    let (mask, inf) = match elem {
        Elem::F16 => (0x7fff, 0x7c00),
        Elem::BF16 => (0x7fff, 0x7f80),
        Elem::F32 => (0x7fff_ffff, 0x7f80_0000),
        Elem::F64 => (u64::MAX >> 1, 0x7ff0 << 48),
        _ => return bits,
    };
    if bits & mask > inf { mask } else { bits }
}

fn check(op: Op, types: &[Type], result: Type) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ types.len() as u64);
    let mut column = |ty: Type| (0..LANES * ty.count as usize).map(|_| random.elem(ty.elem)).collect();
    let mut column = |ty: Type| -> Vec<u64> {
        if op != (Op::FmaOdd { halves: true }) {
            return column(ty);
        }
        let (half, widen) = (ty.with(Elem::F16), Op::FCvt(Round::Nearest));
        eval_op(widen, &[&column(half)], &[half], ty, LANES).expect("a primitive op")
    };
    let columns: Vec<Vec<u64>> = types.iter().map(|ty| column(*ty)).collect();
    let args: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
    let want = eval_op(op, &args, types, result, LANES).unwrap_or_else(|| panic!("no reference for {op}"));
    for part in [false, true] {
        let func = kernel(op, types, result, part);
        for program in programs(&func) {
            let device = device();
            let put = |ty: Type, column: &[u64]| {
                let size = stored(ty).elem.bytes();
                let bytes: Vec<u8> = column.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect();
                let at = device.alloc(bytes.len() as u64).expect("room");
                device.write(at, &bytes).expect("inside");
                at
            };
            let mut values: Vec<u64> = types.iter().zip(&columns).map(|(ty, c)| put(*ty, c)).collect();
            let count = result.count as usize;
            values.push(put(result, &vec![0; LANES * count]));
            let mut launch = Launch::new(&program, &device, [1, 1, 1], [LANES as u32, 1, 1]);
            launch.set_params(&params(&values));
            assert_eq!(run_all(&launch), Outcome::Done, "{func}");
            let size = stored(result).elem.bytes();
            let mut bytes = vec![0; LANES * count * size];
            device.read(values[types.len()], &mut bytes).expect("inside");
            for (i, e) in bytes.chunks_exact(size).enumerate() {
                let mut word = [0; 8];
                word[..size].copy_from_slice(e);
                let canonical = |bits| if op == Op::Propagate { bits } else { canonical(result.elem, bits) };
                let got = canonical(u64::from_le_bytes(word));
                let ran = !part || i / count % 3 == 1;
                let want = if ran { canonical(want[i]) } else { 1 };
                let of: Vec<String> = columns
                    .iter()
                    .zip(types)
                    .map(|(c, ty)| {
                        format!("{:#x?}", &c[i / count * ty.count as usize..][..ty.count as usize])
                    })
                    .collect();
                assert_eq!(got, want, "{op} {types:?} -> {result}, element {i} (part: {part}) of {of:?}");
            }
        }
    }
}

const INTS: [Elem; 4] = [Elem::I8, Elem::I16, Elem::I32, Elem::I64];
const COUNTS: [u8; 4] = [1, 2, 4, 8];

fn int_types() -> impl Iterator<Item = Type> {
    INTS.into_iter().flat_map(|e| COUNTS.into_iter().map(move |c| Type::new(e, c)))
}

fn float_types() -> impl Iterator<Item = Type> {
    [Elem::F32, Elem::F64].into_iter().flat_map(|e| COUNTS.into_iter().map(move |c| Type::new(e, c)))
}

#[test]
fn integers() {
    for ty in int_types() {
        for op in IntBin::ALL {
            check(Op::Int(op), &[ty, ty], ty);
        }
        for op in IntUn::ALL {
            check(Op::IntUn(op), &[ty], ty);
        }
        for op in IntCmp::ALL {
            check(Op::Cmp(op), &[ty, ty], ty.with(Elem::I1));
        }
    }
}

#[test]
fn bits() {
    for ty in COUNTS.map(|c| Type::new(Elem::I1, c)) {
        for op in [IntBin::And, IntBin::Or, IntBin::Xor] {
            check(Op::Int(op), &[ty, ty], ty);
        }
        check(Op::IntUn(IntUn::Not), &[ty], ty);
        for op in [IntCmp::Eq, IntCmp::Ne] {
            check(Op::Cmp(op), &[ty, ty], ty);
        }
        check(Op::Select, &[ty, ty, ty], ty);
    }
}

#[test]
fn widths() {
    for to in int_types() {
        for from in [Elem::I1, Elem::I8, Elem::I16, Elem::I32] {
            if from.bits() < to.elem.bits() {
                check(Op::Zext, &[to.with(from)], to);
                check(Op::Sext, &[to.with(from)], to);
                check(Op::Trunc, &[to], to.with(from));
            }
        }
        for from in int_types().filter(|f| f.bits() == to.bits()) {
            check(Op::Bitcast, &[from], to);
        }
    }
}

#[test]
fn elements() {
    for ty in int_types().chain(float_types()) {
        check(Op::Select, &[ty.with(Elem::I1), ty, ty], ty);
        check(Op::Select, &[Type::I1, ty, ty], ty);
        if ty.count == 1 {
            continue;
        }
        let scalar = Type::scalar(ty.elem);
        for n in 0..ty.count {
            check(Op::Extract(n), &[ty], scalar);
        }
        check(Op::Build, &vec![scalar; ty.count as usize], ty);
        for seed in 1..4u8 {
            let p: [u8; 8] = std::array::from_fn(|i| (i as u8 * 5 + seed * 3) % (2 * ty.count));
            check(Op::Permute(p), &[ty, ty], ty);
        }
        if !ty.is_float() && ty.elem != Elem::I64 {
            check(Op::HSum { signed: false }, &[ty, Type::I32], Type::I32);
            check(Op::HSum { signed: true }, &[ty, Type::I32], Type::I32);
        }
    }
}

#[test]
fn sums_of_products() {
    for dot in Dot::all([1, 2, 4, 8]) {
        let sum = if dot.sum == Sum::F16 { Type::I16 } else { Type::I32 };
        let args = [vec![Type::I32; 2 * usize::from(dot.words)], vec![sum]].concat();
        check(Op::Dot(dot), &args, sum);
    }
}

#[test]
fn tables() {
    for table in Table::ALL {
        check(Op::Lookup(table), &[Type::I32], Type::I64);
    }
}

#[test]
fn floats() {
    let (round, ftz) = (Round::Nearest, false);
    for ty in float_types() {
        for op in [FBin::Add, FBin::Sub, FBin::Mul, FBin::Div] {
            check(Op::Float { op, round, ftz }, &[ty, ty], ty);
        }
        check(Op::Fma { round, ftz }, &[ty, ty, ty], ty);
        if ty.elem == Elem::F32 {
            check(Op::FmaOdd { halves: false }, &[ty, ty, ty], ty);
            check(Op::FmaOdd { halves: true }, &[ty, ty, ty], ty);
        }
        for nan in [false, true] {
            check(Op::FMin { nan }, &[ty, ty], ty);
            check(Op::FMax { nan }, &[ty, ty], ty);
        }
        if ty.elem == Elem::F64 {
            (2..=4).for_each(|n| check(Op::Propagate, &vec![ty; n], ty));
        }
        for op in [Op::Sqrt { round, ftz }, Op::FNeg, Op::FAbs, Op::Ftz] {
            check(op, &[ty], ty);
        }
        for round in [Round::Nearest, Round::Zero, Round::Down, Round::Up] {
            check(Op::FRound(round), &[ty], ty);
        }
        for op in FCmp::ALL {
            check(Op::FCmp(op), &[ty, ty], ty.with(Elem::I1));
        }
    }
}

#[test]
fn conversions() {
    let round = Round::Nearest;
    for count in COUNTS {
        let ty = |e| Type::new(e, count);
        for e in [Elem::F16, Elem::BF16, Elem::F32, Elem::F64] {
            check(Op::ToBits, &[ty(e)], ty(e).to_int());
            check(Op::FromBits, &[ty(e).to_int()], ty(e));
        }
        for (from, to) in
            [(Elem::F16, Elem::F32), (Elem::F32, Elem::F64), (Elem::F32, Elem::F16), (Elem::F64, Elem::F32)]
        {
            check(Op::FCvt(round), &[ty(from)], ty(to));
        }
        for signed in [false, true] {
            for f in [Elem::F32, Elem::F64] {
                for i in [Elem::I32, Elem::I64] {
                    check(Op::FToInt { signed }, &[ty(f)], ty(i));
                    check(Op::IntToF { signed, round }, &[ty(i)], ty(f));
                }
            }
        }
    }
}
