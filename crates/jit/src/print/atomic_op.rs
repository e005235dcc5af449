//! An atomic operation in one lane: what of the host does it.

use hostwarp_ir::{AtomicOp, Elem, FBin, IntBin, Op, Round, Type};

use super::ops;
use super::text::{Reg, Shape, Text};

/// `%old` + `%value` as [`AtomicOp::FAdd`] has it, from bits to bits.
fn add_floats(t: &mut Text, cpu: ops::Cpu, bits: Type, remote: bool) -> Option<Reg> {
    let float = if bits == Type::I64 { Type::F64 } else { Type::F32 };
    let (int, one) = (Shape::new(bits.elem, 1), Shape::new(float.elem, 1));
    let flush = |t: &mut Text, x: Reg| match remote && float == Type::F32 {
        true => ops::pure_op(t, cpu, &Op::Ftz, float, &[(&x, float)], 1),
        false => Some(x),
    };
    let [old, value] = ["%old", "%value"].map(|x| t.convert("bitcast", int, x, one));
    let (a, b) = (flush(t, old.clone())?, flush(t, value.clone())?);
    let add = Op::Float { op: FBin::Add, round: Round::Nearest, ftz: false };
    let sum = ops::pure_op(t, cpu, &add, float, &[(&a, float), (&b, float)], 1)?;
    let sum = flush(t, sum)?;
    let mut left = ops::pure_op(t, cpu, &Op::ToBits, bits, &[(&sum, float)], 1)?;
    if float == Type::F64 {
        // Which NaN it is must not depend on what the compiler makes of the addition: its own, then what was there, then the operand.
        let own = (0xfff8_0000_0000_0000_u64 as i64).to_string();
        for (x, bits) in [(&sum, own.as_str()), (&old, "%old"), (&value, "%value")] {
            let nan = t.compare("fcmp uno", one, x, x);
            let bits = match remote {
                true => bits.to_owned(),
                false => t.binary("or", int, bits, &(1u64 << 51).to_string()),
            };
            left = t.select(one.with(Elem::I1), &nan, int, &bits, &left);
        }
    }
    Some(left)
}

/// The op for one lane: from `%p`, `%value` and `%expected` to `%old`.
pub(crate) fn body(t: &mut Text, cpu: ops::Cpu, op: AtomicOp, ty: Type, alone: bool) -> Option<String> {
    let (one, size) = (Shape::new(ty.elem, 1), ty.bytes());
    let int = one.to_int();
    let rmw =
        |name: &str| format!("  %old = atomicrmw {name} ptr %p, {one} %value monotonic, align {size}\n");
    let swap = |old: &str, new: &str| {
        format!("cmpxchg ptr %p, {int} {old}, {int} {new} monotonic monotonic, align {size}")
    };
    if !alone {
        let name = match op {
            AtomicOp::Exch => "xchg",
            AtomicOp::Add => "add",
            AtomicOp::And => "and",
            AtomicOp::Or => "or",
            AtomicOp::Xor => "xor",
            AtomicOp::MinU => "umin",
            AtomicOp::MinS => "min",
            AtomicOp::MaxU => "umax",
            AtomicOp::MaxS => "max",
            AtomicOp::Cas => {
                let pair = swap("%expected", "%value");
                return Some(format!("  %pair = {pair}\n  %old = extractvalue {{ {int}, i1 }} %pair, 0\n"));
            }
            AtomicOp::Inc | AtomicOp::Dec => "",
            AtomicOp::FAdd { .. } => "",
            // The engine's.
            AtomicOp::System(_) => return None,
        };
        if !name.is_empty() {
            return Some(rmw(name));
        }
    }
    // Computed from what is there; with others about, stored only if it is still there.
    let new = match op {
        AtomicOp::Exch => "%value".to_owned(),
        AtomicOp::Cas => {
            let same = t.compare("icmp eq", one, "%old", "%expected");
            t.select(one.with(Elem::I1), &same, one, "%value", "%old")
        }
        AtomicOp::Inc => {
            let last = t.compare("icmp uge", one, "%old", "%value");
            let next = t.binary("add", one, "%old", "1");
            t.select(one.with(Elem::I1), &last, one, "0", &next)
        }
        AtomicOp::Dec => {
            let none = t.compare("icmp eq", one, "%old", "0");
            let above = t.compare("icmp ugt", one, "%old", "%value");
            let reset = t.binary("or", one.with(Elem::I1), &none, &above);
            let next = t.binary("sub", one, "%old", "1");
            t.select(one.with(Elem::I1), &reset, one, "%value", &next)
        }
        AtomicOp::FAdd { remote } => add_floats(t, cpu, ty, remote)?,
        AtomicOp::System(_) => return None,
        _ => {
            let op = match op {
                AtomicOp::Add => IntBin::Add,
                AtomicOp::And => IntBin::And,
                AtomicOp::Or => IntBin::Or,
                AtomicOp::Xor => IntBin::Xor,
                AtomicOp::MinU => IntBin::MinU,
                AtomicOp::MinS => IntBin::MinS,
                AtomicOp::MaxU => IntBin::MaxU,
                _ => IntBin::MaxS,
            };
            ops::pure_op(t, cpu, &Op::Int(op), ty, &[("%old", ty), ("%value", ty)], 1)?
        }
    };
    let compute = std::mem::take(&mut t.body);
    if alone {
        return Some(format!(
            "  %old = load {one}, ptr %p, align {size}\n{compute}  store {one} {new}, ptr %p, align {size}\n"
        ));
    }
    let (old_bits, new_bits) = (t.convert("bitcast", one, "%old", int), t.convert("bitcast", one, &new, int));
    let casts = std::mem::take(&mut t.body);
    let pair = swap(&old_bits, &new_bits);
    Some(format!(
        "  %first.bits = load atomic {int}, ptr %p monotonic, align {size}
  br label %try
try:
  %seen = phi {int} [%first.bits, %loop], [%now, %try]
  %old = bitcast {int} %seen to {one}
{compute}{casts}  %pair = {pair}
  %now = extractvalue {{ {int}, i1 }} %pair, 0
  %won = extractvalue {{ {int}, i1 }} %pair, 1
  br i1 %won, label %stored, label %try
stored:
"
    ))
}
