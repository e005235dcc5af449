//! Writing down primitive ops, with short names for those the algorithms are made of. All of it works element by element, so
//! an algorithm for one float is one for a pair as well.

use crate::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The expansion of one block in the making.
pub(super) struct Emit<'f> {
    types: &'f mut Vec<Type>,
    pub out: Vec<Inst>,
    pub line: u32,
    /// Constants of this block, so that each is made once.
    consts: FxHashMap<(Type, u64), Value>,
    /// Values that are never subnormal: constants, and what an op with ftz left behind, need no flushing again.
    pub flushed: FxHashSet<Value>,
    /// Values that are never NaN.
    pub numbers: FxHashSet<Value>,
}

impl<'f> Emit<'f> {
    pub fn new(types: &'f mut Vec<Type>) -> Emit<'f> {
        Emit {
            types,
            out: vec![],
            line: 0,
            consts: FxHashMap::default(),
            flushed: FxHashSet::default(),
            numbers: FxHashSet::default(),
        }
    }

    /// Notes what constants and conversions say about their results, so that less needs to be checked.
    pub fn learn(&mut self, insts: &[Inst]) {
        let mut known = FxHashMap::default();
        for i in insts {
            let Some(r) = i.result else { continue };
            let bits = match i.op {
                Op::Const(bits) => bits,
                Op::FromBits if known.contains_key(&i.args[0]) => known[&i.args[0]],
                Op::Ftz => {
                    self.flushed.insert(r);
                    continue;
                }
                _ => continue,
            };
            known.insert(r, bits);
            let (exponent, fraction) = match self.ty(r).elem {
                Elem::F16 => (0x7c00, 0x3ff),
                Elem::BF16 => (0x7f80, 0x7f),
                Elem::F32 => (0xff << 23, (1 << 23) - 1),
                Elem::F64 => (0x7ff << 52, (1 << 52) - 1),
                _ => continue,
            };
            if bits & exponent != 0 || bits & fraction == 0 {
                self.flushed.insert(r);
            }
            if bits & exponent != exponent || bits & fraction == 0 {
                self.numbers.insert(r);
            }
        }
    }

    /// Starts the next block and hands out the finished one.
    pub fn take_block(&mut self) -> Vec<Inst> {
        self.consts.clear();
        std::mem::take(&mut self.out)
    }

    pub fn types(&self) -> &[Type] {
        self.types
    }

    pub fn ty(&self, v: Value) -> Type {
        self.types[v.index()]
    }

    pub fn op(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        self.types.push(ty);
        let result = Value(self.types.len() as u32 - 1);
        let inst =
            Inst { op, args: SmallVec::from_slice(args), guard: None, result: Some(result), line: self.line };
        self.out.push(inst);
        result
    }

    /// Makes `v`, what the instructions from `start` on compute, the definition of `result`.
    pub fn name_result(&mut self, start: usize, v: Value, result: Value) {
        if self.out[start..].last().is_none_or(|i| i.result != Some(v)) {
            // Not the last op, so others may use it: copy.
            let yes = self.bits(Type::I1, 1);
            self.op(Op::Select, &[yes, v, v], self.ty(v));
        }
        if let Some(last) = self.out.last_mut() {
            last.result = Some(result);
        }
        if self.flushed.contains(&v) {
            self.flushed.insert(result);
        }
    }

    /// A constant by its bits.
    pub fn bits(&mut self, ty: Type, bits: u64) -> Value {
        let bits = bits & ty.elem.mask();
        if let Some(v) = self.consts.get(&(ty, bits)) {
            return *v;
        }
        let v = self.op(Op::Const(bits), &[], ty);
        self.consts.insert((ty, bits), v);
        v
    }

    /// A constant of type f32 or f64 by its value.
    pub fn num(&mut self, ty: Type, value: f64) -> Value {
        match ty.elem {
            Elem::F32 => self.bits(ty, (value as f32).to_bits().into()),
            _ => self.bits(ty, value.to_bits()),
        }
    }

    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        self.op(Op::Select, &[cond, a, b], self.ty(a))
    }
}

/// Float ops, rounded to nearest, on f32 and f64.
impl Emit<'_> {
    pub fn float(&mut self, op: FBin, a: Value, b: Value) -> Value {
        self.op(Op::Float { op, round: Round::Nearest, ftz: false }, &[a, b], self.ty(a))
    }

    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.float(FBin::Add, a, b)
    }

    pub fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.float(FBin::Sub, a, b)
    }

    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.float(FBin::Mul, a, b)
    }

    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.op(Op::Fma { round: Round::Nearest, ftz: false }, &[a, b, c], self.ty(a))
    }

    pub fn sqrt(&mut self, a: Value) -> Value {
        self.op(Op::Sqrt { round: Round::Nearest, ftz: false }, &[a], self.ty(a))
    }

    pub fn fneg(&mut self, a: Value) -> Value {
        self.op(Op::FNeg, &[a], self.ty(a))
    }

    pub fn fabs(&mut self, a: Value) -> Value {
        self.op(Op::FAbs, &[a], self.ty(a))
    }

    pub fn fcmp(&mut self, op: FCmp, a: Value, b: Value) -> Value {
        self.op(Op::FCmp(op), &[a, b], self.ty(a).with(Elem::I1))
    }

    pub fn is_nan(&mut self, a: Value) -> Value {
        self.fcmp(FCmp::Nan, a, a)
    }

    /// A primitive conversion between floats.
    pub fn fcvt(&mut self, a: Value, to: Elem) -> Value {
        self.op(Op::FCvt(Round::Nearest), &[a], self.ty(a).with(to))
    }

    pub fn bits_of(&mut self, a: Value) -> Value {
        self.op(Op::ToBits, &[a], self.ty(a).to_int())
    }

    pub fn float_of(&mut self, a: Value, elem: Elem) -> Value {
        self.op(Op::FromBits, &[a], self.ty(a).with(elem))
    }

    /// Zero with the sign of a finite number. Needs no bits, so no NaN has to be made canonical for it.
    pub fn zero_like(&mut self, a: Value) -> Value {
        let zero = self.num(self.ty(a), 0.0);
        self.fmul(a, zero)
    }
}

/// Integer ops.
impl Emit<'_> {
    pub fn int(&mut self, op: IntBin, a: Value, b: Value) -> Value {
        self.op(Op::Int(op), &[a, b], self.ty(a))
    }

    /// With a constant on the right.
    pub fn imm(&mut self, op: IntBin, a: Value, b: u64) -> Value {
        let b = self.bits(self.ty(a), b);
        self.int(op, a, b)
    }

    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Add, a, b)
    }

    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Sub, a, b)
    }

    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::And, a, b)
    }

    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Or, a, b)
    }

    pub fn xor(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Xor, a, b)
    }

    pub fn not(&mut self, a: Value) -> Value {
        self.op(Op::IntUn(IntUn::Not), &[a], self.ty(a))
    }

    pub fn cmp(&mut self, op: IntCmp, a: Value, b: Value) -> Value {
        self.op(Op::Cmp(op), &[a, b], self.ty(a).with(Elem::I1))
    }

    /// With a constant on the right.
    pub fn cmp_imm(&mut self, op: IntCmp, a: Value, b: u64) -> Value {
        let b = self.bits(self.ty(a), b);
        self.cmp(op, a, b)
    }

    pub fn zext(&mut self, a: Value, to: Elem) -> Value {
        self.op(Op::Zext, &[a], self.ty(a).with(to))
    }

    pub fn sext(&mut self, a: Value, to: Elem) -> Value {
        self.op(Op::Sext, &[a], self.ty(a).with(to))
    }

    pub fn trunc(&mut self, a: Value, to: Elem) -> Value {
        self.op(Op::Trunc, &[a], self.ty(a).with(to))
    }
}
