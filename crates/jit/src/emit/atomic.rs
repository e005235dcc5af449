//! Atomics: lane after lane, in a function of the module. In shared memory plain loads and stores will do, for a CTA stays on one
//! thread of the host.

use std::fmt::Write;

use hostwarp_ir::{AtomicOp, Elem, FBin, Inst, IntBin, Op, Round, Space, Type};
use hostwarp_plan::Shape as Spread;

use super::text::Text;
use super::{Emitter, Known, Reg, Shape, ops};

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, index: usize, inst: &Inst) {
        let (Some(r), Op::Atomic(op, mem)) = (inst.result, inst.op) else { return };
        let access = self.access(index, inst, mem, self.ty(r));
        let all = self.all(access.ty);
        self.order(mem, true);
        let old = self.guarded(inst.guard, all, "zeroinitializer", |e, mask| {
            let value = e.vector(*inst.args.last().unwrap_or(&inst.args[0]));
            let compare = (op == AtomicOp::Cas).then(|| e.vector(inst.args[1]));
            let helper = e.atomic_helper(op, access.space, access.ty);
            let (fast, slow, done) = e.labels();
            let mut quick = None;
            if let Some(helper) = helper {
                let outside = e.known.clone();
                let (base, offsets, _) = e.check_any(&access, mask, &fast, &slow);
                e.t.label(&fast);
                let (wide, w) = (Shape::new(Elem::I64, e.w), e.w);
                let bits = match mask {
                    None => "-1".to_owned(),
                    Some(mask) => e.bits(mask),
                };
                let expected = compare.as_ref().map(|c| format!(", {all} {c}")).unwrap_or_default();
                let old = e.t.inst(format_args!(
                    "call {all} {helper}(ptr {base}, {wide} {offsets}, i{w} {bits}, {all} {value}{expected})"
                ));
                if e.careful.is_some() {
                    return old;
                }
                quick = Some((old, e.t.current.clone()));
                e.t.jump(&done);
                e.t.label(&slow);
                e.known = outside;
            }
            let outside = e.known.clone();
            e.t.line(format_args!("store {all} {value}, ptr %data, align 64"));
            if let Some(compare) = &compare {
                e.t.line(format_args!("store {all} {compare}, ptr %compare, align 64"));
            }
            e.ask_engine(&access, mask);
            let asked = e.t.inst(format_args!("load {all}, ptr %data, align 64"));
            e.known = outside;
            let Some((quick, from)) = quick else { return asked };
            let after = e.t.current.clone();
            e.t.jump(&done);
            e.t.label(&done);
            e.t.phi(all, [(&quick, &from), (&asked, &after)])
        });
        self.order(mem, false);
        let mut known = Known { vector: Some(old), ..Known::default() };
        if self.spread(r) != Spread::Varying {
            self.known.insert(r, known.clone());
            known.bases = vec![self.first_running(r)];
        }
        self.define(r, known);
    }

    /// A function that does the op for every lane in `%bits`, ascending, and answers what memory held; 0 in other lanes. None for
    /// what is left to the engine.
    fn atomic_helper(&mut self, op: AtomicOp, space: Space, ty: Type) -> Option<String> {
        let alone = match space {
            Space::Shared => true,
            Space::Global | Space::Generic => false,
            _ => return None,
        };
        if !matches!(ty, Type::I32 | Type::I64) {
            return None;
        }
        let (w, one) = (self.w, self.one(ty));
        let (all, wide) = (self.all(ty), Shape::new(Elem::I64, w));
        let mut t = Text::default();
        let body = body(&mut t, self.cpu, op, ty, alone)?;
        let kind = if alone { "shared" } else { "global" };
        let name = format!(
            "@atomic.{}.{kind}.{}",
            format!("{op:?}").replace(|c: char| !c.is_alphanumeric(), ""),
            one.suffix()
        );
        self.t.declarations.extend(t.declarations);
        self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        let extend = super::lane_number(w);
        let expected = if op == AtomicOp::Cas { format!(", {all} %expecteds") } else { String::new() };
        self.helpers.entry(name.clone()).or_insert_with(|| {
            let mut text = format!(
                "define internal {all} {name}(ptr %base, {wide} %offsets, i{w} %bits, {all} %values{expected}) noinline nounwind {{
entry:
  %o = alloca {wide}, align 64
  %v = alloca {all}, align 64
  %c = alloca {all}, align 64
  %r = alloca {all}, align 64
  store {wide} %offsets, ptr %o, align 64
  store {all} %values, ptr %v, align 64
  store {all} zeroinitializer, ptr %r, align 64
"
            );
            if op == AtomicOp::Cas {
                let _ = writeln!(text, "  store {all} %expecteds, ptr %c, align 64");
            }
            let _ = write!(
                text,
                "  br label %loop
loop:
  %left = phi i{w} [%bits, %entry], [%rest, %done]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %o.at = getelementptr i64, ptr %o, i64 %lane
  %offset = load i64, ptr %o.at, align 8
  %p = getelementptr i8, ptr %base, i64 %offset
  %v.at = getelementptr {one}, ptr %v, i64 %lane
  %value = load {one}, ptr %v.at, align {size}
  %c.at = getelementptr {one}, ptr %c, i64 %lane
  %expected = load {one}, ptr %c.at, align {size}
{body}  br label %done
done:
  %r.at = getelementptr {one}, ptr %r, i64 %lane
  store {one} %old, ptr %r.at, align {size}
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
  br i1 %end, label %out, label %loop
out:
  %held = load {all}, ptr %r, align 64
  ret {all} %held
}}
",
                size = ty.bytes()
            );
            text
        });
        Some(name)
    }
}

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
fn body(t: &mut Text, cpu: ops::Cpu, op: AtomicOp, ty: Type, alone: bool) -> Option<String> {
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
