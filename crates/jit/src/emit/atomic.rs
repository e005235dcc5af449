//! Atomics: lane after lane, in a function of the module. In shared memory plain loads and stores will do, for a CTA stays on one
//! thread of the host.

use hostwarp_ir::{AtomicOp, Elem, FBin, Inst, IntBin, MbarrierOp, Op, Round, Space, SystemCall, Type};
use hostwarp_plan::Shape as Spread;

use super::check::Spots;
use super::text::Text;
use super::{Emitter, Known, Reg, Shape, ops};

/// How an atomic is asked for: what a function for it takes and answers.
#[derive(Clone, Copy)]
struct Ask {
    op: AtomicOp,
    ty: Type,
    /// In shared memory.
    alone: bool,
    /// What offsets are.
    index: Shape,
    /// Not all lanes take part.
    some: bool,
    /// All have the same operand.
    same: bool,
    /// Somebody wants to know what memory held.
    wanted: bool,
}

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, index: usize, inst: &Inst) {
        let (Some(r), Op::Atomic(op, mem)) = (inst.result, inst.op) else { return };
        let access = self.access(index, inst, mem, self.ty(r));
        let all = self.all(access.ty);
        let operand = *inst.args.last().unwrap_or(&inst.args[0]);
        let wanted = self.used[r.index()];
        self.order(mem, true);
        let old = self.guarded(inst.guard, all, "zeroinitializer", |e, mask| {
            let compare = (op == AtomicOp::Cas).then(|| e.vector(inst.args[1]));
            let same = e.spread(operand) == Spread::Uniform;
            let value = if same { e.scalar(operand) } else { e.vector(operand) };
            let (fast, slow, done) = e.labels();
            let mut quick = None;
            if e.has_helper(op, access.space, access.ty) {
                let outside = e.known.clone();
                let Spots { base, offsets, index, .. } = e.check_any(&access, mask, &fast, &slow);
                e.t.label(&fast);
                let alone = access.space == Space::Shared;
                let ask = Ask { op, ty: access.ty, alone, index, some: mask.is_some(), same, wanted };
                let helper = e.atomic_helper(ask);
                let w = e.w;
                let lanes = mask.map(|mask| format!(", i{w} {}", e.bits(mask))).unwrap_or_default();
                let each = if same { e.one(access.ty) } else { all };
                let expected = compare.as_ref().map(|c| format!(", {all} {c}")).unwrap_or_default();
                let args = format!("ptr {base}, {index} {offsets}{lanes}, {each} {value}{expected}");
                let old = if wanted {
                    e.t.inst(format_args!("call {all} {helper}({args})"))
                } else {
                    e.t.line(format_args!("call void {helper}({args})"));
                    "zeroinitializer".into()
                };
                if e.careful.is_some() {
                    return old;
                }
                quick = Some((old, e.t.current.clone()));
                e.t.jump(&done);
                e.t.label(&slow);
                e.known = outside;
            }
            let outside = e.known.clone();
            let values = e.vector(operand);
            e.t.line(format_args!("store {all} {values}, ptr %data, align 64"));
            if let Some(compare) = &compare {
                e.t.line(format_args!("store {all} {compare}, ptr %compare, align 64"));
            }
            e.ask_engine(&access, mask);
            if op == AtomicOp::System(SystemCall::Mbarrier(MbarrierOp::Wait)) {
                // The next loop that waits for others gives way to them.
                e.t.line(format_args!("store i32 1, ptr %patience, align 8"));
            }
            let asked = if wanted {
                e.t.inst(format_args!("load {all}, ptr %data, align 64"))
            } else {
                "zeroinitializer".into()
            };
            e.known = outside;
            let Some((quick, from)) = quick else { return asked };
            let after = e.t.current.clone();
            e.t.jump(&done);
            e.t.label(&done);
            if !wanted {
                return asked;
            }
            e.t.phi(all, [(&quick, &from), (&asked, &after)])
        });
        self.order(mem, false);
        if !wanted {
            return;
        }
        let mut known = Known { vector: Some(old), ..Known::default() };
        if self.spread(r) != Spread::Varying {
            self.known.insert(r, known.clone());
            known.bases = vec![self.first_running(r)];
        }
        self.define(r, known);
    }

    /// Whether compiled code does an atomic by itself; else it is left to the engine.
    fn has_helper(&self, op: AtomicOp, space: Space, ty: Type) -> bool {
        let there = matches!(space, Space::Shared | Space::Global | Space::Generic);
        let simple = matches!(ty, Type::I32 | Type::I64);
        there && simple && body(&mut Text::default(), self.cpu, op, ty, space == Space::Shared).is_some()
    }

    /// A function that does an op [that there is one for](Self::has_helper) for every lane, or every one in `%bits`, ascending, and answers what memory
    /// held, 0 in other lanes.
    fn atomic_helper(&mut self, ask: Ask) -> String {
        let Ask { op, ty, alone, index, some, same, wanted } = ask;
        let (w, one, all) = (self.w, self.one(ty), self.all(ty));
        let mut t = Text::default();
        let body = body(&mut t, self.cpu, op, ty, alone).unwrap_or_default();
        let op_name = format!("{op:?}").replace(|c: char| !c.is_alphanumeric(), "");
        let mut name =
            format!("@atomic.{op_name}.{}.{}", if alone { "shared" } else { "global" }, one.suffix());
        for (is, what) in
            [(index.elem == Elem::I32, ".near"), (some, ".some"), (same, ".same"), (!wanted, ".unseen")]
        {
            if is {
                name.push_str(what);
            }
        }
        self.t.declarations.extend(t.declarations);
        if some {
            self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        }
        if self.helpers.contains_key(&name) {
            return name;
        }
        let (size, offset) = (ty.bytes(), index.times(1));
        let cas = op == AtomicOp::Cas;
        let given = |is: bool, what: String| if is { what } else { String::new() };
        // Nothing is kept that the lanes do not differ in.
        let arrays: [(bool, &str, Shape, &str); 4] = [
            (true, "o", index, "%offsets"),
            (!same, "v", all, "%values"),
            (cas, "c", all, "%expecteds"),
            (wanted, "r", all, "zeroinitializer"),
        ];
        let kept = arrays.iter().filter(|(is, ..)| *is);
        let entry: String = kept
            .clone()
            .map(|(_, n, shape, _)| format!("  %{n} = alloca {shape}, align 64\n"))
            .chain(kept.map(|(_, n, shape, from)| format!("  store {shape} {from}, ptr %{n}, align 64\n")))
            .collect();
        let each = |n: &str, what: &str, one: Shape| {
            let align = one.elem.bytes();
            format!(
                "  %{n}.at = getelementptr {one}, ptr %{n}, i64 %lane\n  %{what} = load {one}, ptr %{n}.at, align {align}\n"
            )
        };
        let (first, next) = if some {
            (
                format!(
                    "  %left = phi i{w} [%bits, %entry], [%rest, %done]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {}
",
                    super::lane_number(w)
                ),
                format!(
                    "  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
"
                ),
            )
        } else {
            (
                "  %lane = phi i64 [0, %entry], [%next, %done]\n".into(),
                format!("  %next = add i64 %lane, 1\n  %end = icmp eq i64 %next, {w}\n"),
            )
        };
        let text = format!(
            "define internal {answer} {name}(ptr %base, {index} %offsets{bits}, {operand}{expected}) noinline nounwind {{
entry:
{entry}  br label %loop
loop:
{first}{load_offset}  %p = getelementptr i8, ptr %base, {offset} %offset
{load_value}{load_expected}{body}  br label %done
done:
{store_old}{next}  br i1 %end, label %out, label %loop
out:
{ret}}}
",
            answer = if wanted { all.to_string() } else { "void".into() },
            bits = given(some, format!(", i{w} %bits")),
            operand = if same { format!("{one} %value") } else { format!("{all} %values") },
            expected = given(cas, format!(", {all} %expecteds")),
            load_offset = each("o", "offset", offset),
            load_value = given(!same, each("v", "value", one)),
            load_expected = given(cas, each("c", "expected", one)),
            store_old = given(
                wanted,
                format!(
                    "  %r.at = getelementptr {one}, ptr %r, i64 %lane\n  store {one} %old, ptr %r.at, align {size}\n"
                )
            ),
            ret = if wanted {
                format!("  %held = load {all}, ptr %r, align 64\n  ret {all} %held\n")
            } else {
                "  ret void\n".into()
            },
        );
        self.helpers.insert(name.clone(), text);
        name
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
