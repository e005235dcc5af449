//! The verifier: what the IR promises, checked. After it says yes, no engine may panic.

use crate::*;

/// Checks structure, types and dominance.
pub fn verify(func: &Function) -> Result<(), String> {
    check(func, false)
}

/// As [`verify`], and every op must be [primitive](Op::is_primitive): what engines accept.
pub fn verify_primitive(func: &Function) -> Result<(), String> {
    check(func, true)
}

fn check(func: &Function, primitive: bool) -> Result<(), String> {
    if func.blocks.is_empty() || !func.block(Block::ENTRY).params.is_empty() {
        return Err("the entry block must exist and have no parameters".into());
    }
    for ty in &func.types {
        if !matches!(ty.count, 1 | 2 | 4 | 8) {
            return Err(format!("a value may have 1, 2, 4 or 8 elements, not {}", ty.count));
        }
    }
    let at = |b: Block, what: &str| format!("{b}: {what}");
    let known = |v: &Value| v.index() < func.types.len();
    let mut defined = vec![false; func.types.len()];
    for v in &func.params {
        if !known(v) || std::mem::replace(&mut defined[v.index()], true) {
            return Err(format!("the parameter {v} has no type or is there twice"));
        }
    }
    for b in func.block_ids() {
        let data = func.block(b);
        let results = data.params.iter().copied().chain(data.insts.iter().filter_map(|i| i.result));
        let results = results.chain(data.term.results().iter().copied());
        for v in results {
            if !known(&v) {
                return Err(at(b, &format!("{v} has no type")));
            }
            if std::mem::replace(&mut defined[v.index()], true) {
                return Err(at(b, &format!("{v} is defined twice")));
            }
        }
    }
    for b in func.block_ids() {
        let data = func.block(b);
        for i in &data.insts {
            if let Some(bad) = i.args.iter().chain(&i.guard).find(|v| !known(v) || !defined[v.index()]) {
                return Err(at(b, &format!("{bad} is used and never defined")));
            }
            let ok = check_inst(func, i).and_then(|()| {
                if primitive && !i.op.is_primitive(&arg_types(func, i), i.result.map(|r| func.ty(r))) {
                    return Err("not a primitive op".to_string());
                }
                Ok(())
            });
            ok.map_err(|e| at(b, &format!("{e}: {}", func.show(i))))?;
        }
        let used = data.term.uses();
        let handed = data.term.targets().into_iter().flat_map(|t| t.args.iter().copied());
        if let Some(bad) = used.iter().copied().chain(handed).find(|v| !known(v) || !defined[v.index()]) {
            return Err(at(b, &format!("{bad} is used and never defined")));
        }
        if primitive && matches!(data.term, Term::Call(_) | Term::Return(_)) {
            return Err(at(b, "not a primitive terminator"));
        }
        if let Term::Return(values) = &data.term
            && values.iter().map(|v| func.ty(*v)).ne(func.results.iter().copied())
        {
            return Err(at(b, "the values returned are not of the function's types"));
        }
        for (n, v) in used.iter().enumerate() {
            let want = match &data.term {
                Term::Branch(..) => Type::I1,
                Term::Call(call) if call.callee == Callee::Indirect(*v) && n == 0 => Type::I64,
                Term::Call(call) if call.stack == *v => Type::I32,
                Term::Call(_) | Term::Return(_) => continue,
                _ => Type::I32,
            };
            if func.ty(*v) != want {
                return Err(at(
                    b,
                    &format!("operand {n} of the terminator must be {want}, not {}", func.ty(*v)),
                ));
            }
        }
        if matches!(&data.term, Term::Switch(_, ts) if ts.is_empty()) {
            return Err(at(b, "a switch needs a target"));
        }
        if matches!(data.term, Term::Trap(TrapKind::Unsupported(n)) if n as usize >= func.unsupported.len()) {
            return Err(at(b, "an unsupported trap without its message"));
        }
        for t in data.term.targets() {
            let Some(to) = func.blocks.get(t.block.index()) else {
                return Err(at(b, &format!("{} does not exist", t.block)));
            };
            if t.block == Block::ENTRY {
                return Err(at(b, "nothing may jump to the entry block"));
            }
            let want: Vec<Type> = to.params.iter().map(|p| func.ty(*p)).collect();
            let got: Vec<Type> = t.args.iter().map(|a| func.ty(*a)).collect();
            if want != got {
                return Err(at(b, &format!("{} takes {want:?}, not {got:?}", t.block)));
            }
        }
    }
    check_dominance(func)
}

fn arg_types(func: &Function, i: &Inst) -> Vec<Type> {
    i.args.iter().map(|a| func.ty(*a)).collect()
}

fn check_inst(func: &Function, i: &Inst) -> Result<(), String> {
    use Elem::*;
    let args = arg_types(func, i);
    let result = i.result.map(|r| func.ty(r));
    let need = |ok: bool, what: &str| if ok { Ok(()) } else { Err(what.to_string()) };
    if let Some(g) = i.guard {
        need(i.op.may_be_guarded(), "this op takes no guard")?;
        need(func.ty(g) == Type::I1, "a guard must be i1")?;
    }
    let int = |t: Type| !t.is_float() && t.elem != I1;
    let address = |t: Option<&Type>| matches!(t, Some(t) if *t == Type::I32 || *t == Type::I64);
    match i.op {
        Op::Store(_) | Op::Fence(_) => need(result.is_none(), "this op has no result")?,
        _ => need(result.is_some(), "this op needs a result")?,
    }
    let r = result.unwrap_or(Type::I32);
    match (i.op, args.as_slice()) {
        (Op::Const(bits), []) => need(bits & !r.elem.mask() == 0, "the constant is wider than its type"),
        (Op::Special(s), []) => {
            need(r == if s.is_wide() { Type::I64 } else { Type::I32 }, "wrong type for this special")
        }
        (Op::Address(symbol), []) => {
            let there = !matches!(symbol, Symbol::Slot(n) if n as usize >= func.slots.len());
            need(r == Type::I32 && there, "gives i32, of a slot that is there")
        }
        (Op::Int(op), [a, b]) => {
            let bitwise = matches!(op, IntBin::And | IntBin::Or | IntBin::Xor);
            need(
                *a == r && *b == r && (int(r) || bitwise && r.elem == I1),
                "wants two integers of the result's type",
            )
        }
        (Op::IntUn(op), [a]) => need(
            *a == r && (int(r) || op == IntUn::Not && r.elem == I1),
            "wants an integer of the result's type",
        ),
        (Op::Cmp(op), [a, b]) => {
            let plain = matches!(op, IntCmp::Eq | IntCmp::Ne);
            need(
                a == b && r == a.with(I1) && (int(*a) || plain && a.elem == I1),
                "wants two integers, gives i1",
            )
        }
        (Op::Select, [c, a, b]) => need(
            *a == r && *b == r && (*c == Type::I1 || *c == r.with(I1)),
            "wants i1 and two of the result's type",
        ),
        (Op::Zext | Op::Sext, [a]) => need(
            !a.is_float() && int(r) && a.count == r.count && a.elem.bits() < r.elem.bits(),
            "wants a narrower integer of the same count",
        ),
        (Op::Trunc, [a]) => need(
            int(*a) && !r.is_float() && a.count == r.count && a.elem.bits() > r.elem.bits(),
            "wants a wider integer of the same count",
        ),
        (Op::Bitcast, [a]) => {
            need(int(*a) && int(r) && a.bits() == r.bits(), "wants an integer of the same total width")
        }
        (Op::Extract(n), [a]) => need(
            a.count > 1 && n < a.count && r == Type::scalar(a.elem),
            "wants a packed value that has this element",
        ),
        (Op::Build, es) => need(
            es.len() > 1 && es.len() == r.count as usize && es.iter().all(|e| *e == Type::scalar(r.elem)),
            "wants as many scalars as the result has elements",
        ),
        (Op::Permute(p), [a, b]) => {
            let n = r.count as usize;
            need(
                *a == r && *b == r && n > 1 && p[..n].iter().all(|i| (*i as usize) < 2 * n),
                "index out of range",
            )
        }
        (Op::HSum { .. }, [a, acc]) => need(
            a.count > 1 && int(*a) && a.elem != I64 && *acc == Type::I32 && r == Type::I32,
            "wants packed, i32",
        ),
        (Op::Dot(dot), [factors @ .., addend]) => {
            let ty = if dot.sum == dot::Sum::F16 { Type::I16 } else { Type::I32 };
            need(dot.is_valid(), "wants factors that go with each other and with the sum")?;
            need(factors.len() == 2 * usize::from(dot.words), "wants as many words of either side")?;
            need(
                factors.iter().all(|f| *f == Type::I32) && *addend == ty && r == ty,
                "wants words, and an addend like the sum",
            )
        }
        (Op::Mma(mma), all) => {
            let ty = if mma.dot.sum == dot::Sum::F16 { Type::I16 } else { Type::I32 };
            need(mma.is_valid(), "wants matrices that there are")?;
            let [a, b, c] = mma.registers();
            need(all.len() == a + b + c, "wants as many registers")?;
            let (factors, addends) = all.split_at(a + b);
            need(
                factors.iter().all(|f| *f == Type::I32) && addends.iter().all(|c| *c == ty) && r == ty,
                "wants words, and addends like the sum",
            )
        }
        (Op::Lookup(_), [a]) => need(*a == Type::I32 && r == Type::I64, "wants i32, gives i64"),
        (Op::Float { .. } | Op::FMin { .. } | Op::FMax { .. }, [a, b]) => {
            need(r.is_float() && *a == r && *b == r, "wants two floats of the result's type")
        }
        (Op::Fma { .. }, [a, b, c]) => {
            need(r.is_float() && *a == r && *b == r && *c == r, "wants three floats of the result's type")
        }
        (Op::FmaOdd { .. }, [a, b, c]) => {
            need(r.elem == F32 && *a == r && *b == r && *c == r, "wants three f32 packed like the result")
        }
        (Op::Propagate, all @ ([_, _] | [_, _, _] | [_, _, _, _])) => {
            need(r.elem == F64 && all.iter().all(|a| *a == r), "wants two to four f64 packed like the result")
        }
        (Op::Sqrt { .. } | Op::FNeg | Op::FAbs | Op::Ftz | Op::FRound(_), [a]) => {
            need(r.is_float() && *a == r, "wants a float of the result's type")
        }
        (Op::FCmp(_), [a, b]) => {
            need(a.is_float() && a == b && r == a.with(I1), "wants two floats, gives i1")
        }
        (Op::ToBits, [a]) => need(a.is_float() && r == a.to_int(), "wants a float, gives its integer type"),
        (Op::FromBits, [a]) => need(r.is_float() && *a == r.to_int(), "wants the float's integer type"),
        (Op::FCvt(_), [a]) => need(
            a.is_float() && r.is_float() && a.count == r.count && a.elem != r.elem,
            "wants another float type",
        ),
        (Op::FToInt { .. }, [a]) => {
            need(a.is_float() && int(r) && a.count == r.count, "wants a float, gives an integer")
        }
        (Op::IntToF { .. }, [a]) => {
            need(int(*a) && r.is_float() && a.count == r.count, "wants an integer, gives a float")
        }
        (Op::Load(_), [a]) => need(address(Some(a)) && r.elem != I1, "wants an address"),
        (Op::Store(_), [a, v]) => need(address(Some(a)) && v.elem != I1, "wants an address and a value"),
        (Op::Atomic(AtomicOp::Cas, _), [a, c, v]) => need(
            address(Some(a)) && *c == r && *v == r && matches!(r, Type::I16 | Type::I32 | Type::I64),
            "bad cas",
        ),
        (Op::Atomic(AtomicOp::System(_), _), [a, v]) => {
            need(*a == Type::I64 && *v == r && r == Type::I64, "wants a generic address and i64")
        }
        (Op::Atomic(op, _), [a, v]) if op != AtomicOp::Cas => need(
            address(Some(a)) && *v == r && matches!(r, Type::I32 | Type::I64),
            "wants an address and an integer",
        ),
        (Op::Fence(_), []) => Ok(()),
        (Op::LaneRead, [v, lane]) => {
            need(*v == r && v.count == 1 && *lane == Type::I32, "wants a scalar and an i32 lane")
        }
        (Op::Ballot, [p]) => need(*p == Type::I1 && r == Type::I32, "wants i1, gives i32"),
        (Op::ActiveMask, []) => need(r == Type::I32, "gives i32"),
        _ => Err("wrong number of arguments".to_string()),
    }
}

impl Op {
    /// Whether engines implement this op on these types directly; [`expand`] rewrites all others.
    pub fn is_primitive(&self, args: &[Type], result: Option<Type>) -> bool {
        use Elem::*;
        let wide = |t: Option<&Type>| t.is_some_and(|t| matches!(t.elem, F32 | F64));
        let arg = args.first();
        let (from, to) = (arg.map(|t| t.elem), result.map(|t| t.elem));
        match *self {
            Op::Address(_) => false,
            Op::Float { round, ftz, .. } | Op::Fma { round, ftz } | Op::Sqrt { round, ftz } => {
                wide(arg) && round == Round::Nearest && !ftz
            }
            Op::FMin { .. } | Op::FMax { .. } | Op::FNeg | Op::FAbs | Op::Ftz | Op::FCmp(_) => wide(arg),
            Op::FRound(round) => wide(arg) && round != Round::Away,
            Op::FCvt(round) => match (from, to) {
                (Some(F16), Some(F32)) | (Some(F32), Some(F64)) => true,
                (Some(F32), Some(F16)) | (Some(F64), Some(F32)) => round == Round::Nearest,
                _ => false,
            },
            Op::FToInt { .. } => wide(arg) && matches!(to, Some(I32 | I64)),
            Op::IntToF { round, .. } => {
                matches!(from, Some(I32 | I64)) && wide(result.as_ref()) && round == Round::Nearest
            }
            _ => true,
        }
    }
}

/// Every use must be reached only through its definition.
fn check_dominance(func: &Function) -> Result<(), String> {
    let mut home: Vec<Option<(Block, usize)>> = vec![None; func.types.len()];
    for p in &func.params {
        home[p.index()] = Some((Block::ENTRY, 0));
    }
    for b in func.block_ids() {
        for p in &func.block(b).params {
            home[p.index()] = Some((b, 0));
        }
        for r in func.block(b).term.results() {
            home[r.index()] = Some((b, usize::MAX));
        }
        for (n, i) in func.block(b).insts.iter().enumerate() {
            if let Some(r) = i.result {
                home[r.index()] = Some((b, n + 1));
            }
        }
    }
    let dominators = analysis::Dominators::new(func);
    for b in func.block_ids() {
        if !dominators.reached(b) {
            continue; // unreachable: never runs
        }
        let data = func.block(b);
        let fine = |v: Value, at: usize| match home[v.index()] {
            Some((h, n)) => {
                if h == b {
                    n <= at
                } else {
                    dominators.dominates(h, b)
                }
            }
            None => false,
        };
        for (n, i) in data.insts.iter().enumerate() {
            if let Some(v) = i.args.iter().chain(&i.guard).find(|v| !fine(**v, n)) {
                return Err(format!("{b}: {v} is used before its definition: {}", func.show(i)));
            }
        }
        let handed = data.term.targets().into_iter().flat_map(|t| t.args.iter().copied()).collect::<Vec<_>>();
        if let Some(v) = data.term.uses().into_iter().chain(handed).find(|v| !fine(*v, usize::MAX)) {
            return Err(format!("{b}: {v} is used by the terminator before its definition"));
        }
    }
    Ok(())
}
