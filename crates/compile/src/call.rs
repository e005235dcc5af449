//! Calls. A function is lowered once, whoever calls it; [`hostwarp_ir::calls`] puts kernels and functions together.
//!
//! A parameter in `.reg` is handed over as a value. One in `.param` is handed over as the place the caller has it at, in local
//! memory: the caller's variables are slots of its frame, and nothing is copied.

use crate::body::Body;
use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::host;
use crate::layout::{Place, Spec};
use crate::operand::{Kind, Operand};
use crate::scope::{Entity, Reg};
use crate::specifiers::Site;
use hostwarp_ir::{self as ir, Call, Callee, FuncId, Mem, Op, Target, Term, Type, Value};
use hostwarp_isa::Ty;
use hostwarp_syntax::{self as syntax, ExprKind, ExprList, Instruction, Name, Space, Span};

const LOCAL: Mem = Mem::weak(ir::Space::Local);

/// A parameter or result of a function, as its head declares it.
#[derive(Clone, Copy)]
pub(crate) struct Formal<'m> {
    pub spec: Spec,
    pub name: Option<Name<'m>>,
    pub size: u64,
    pub align: u64,
    pub array: bool,
    pub span: Span,
}

/// What a function takes and returns. Nothing where the head has an error.
#[derive(Clone, Default)]
pub(crate) struct Signature<'m> {
    pub returns: Vec<Option<Formal<'m>>>,
    pub params: Vec<Option<Formal<'m>>>,
}

impl Formal<'_> {
    /// In what the two differ.
    fn differs(&self, other: &Self) -> Option<&'static str> {
        let (a, b) = (&self.spec, &other.spec);
        if a.space != b.space {
            return Some("a parameter is in another state space here");
        }
        let same = (a.ty, a.vector, self.size, self.array) == (b.ty, b.vector, other.size, other.array);
        if !same {
            return Some("a parameter or result has another type here");
        }
        (self.align != other.align).then_some("a parameter or result has another alignment here")
    }
}

impl Signature<'_> {
    /// In what the two differ, as far as they are right.
    pub fn differs(&self, other: &Self) -> Option<&'static str> {
        if self.returns.len() != other.returns.len() || self.params.len() != other.params.len() {
            return Some("parameters or results are others here");
        }
        let all = |s: &'_ Self| -> Vec<_> { s.returns.iter().chain(&s.params).copied().collect() };
        all(self).into_iter().zip(all(other)).filter_map(|(a, b)| a.zip(b)).find_map(|(a, b)| a.differs(&b))
    }
}

/// A parameter of the function and what the call gives for it.
pub(crate) struct Pair<'m> {
    pub formal: Formal<'m>,
    pub actual: Operand<'m>,
}

/// Where a result is when the function has returned.
enum Returned {
    /// It is where the caller wants it, or nobody wants it.
    There,
    /// The call defines these, one per register of the operand.
    Values(Vec<Value>),
    /// At this place of local memory.
    Memory(Value),
}

impl<'m> Checker<'m> {
    /// What the head of a function or prototype says.
    pub fn signature(&mut self, f: syntax::Function<'m>) -> Signature<'m> {
        let site = if f.is_entry() { Site::Kernel } else { Site::Function };
        let returns = f.returns().iter().map(|v| self.formal(v, site)).collect();
        Signature { returns, params: f.params().iter().map(|v| self.formal(v, site)).collect() }
    }

    fn formal(&mut self, variable: syntax::Variable<'m>, site: Site) -> Option<Formal<'m>> {
        let spec = self.spec(variable.specifiers(), variable.span(), site)?;
        let (var, dims) = self.measure(spec, variable)?;
        if dims.len() > 1 {
            let text = "a parameter is an array of one dimension at most";
            self.report(Diagnostic::new(Code::BadDimension, text, variable.span()));
        }
        let (size, align, array) = (var.size, var.align, !dims.is_empty());
        Some(Formal { spec, name: variable.name(), size, align, array, span: variable.span() })
    }
}

impl<'m> Body<'m> {
    /// `call{.uni} (results), function, (arguments);` and, through a register, a prototype or list of targets behind them.
    pub fn call(&mut self, c: &mut Checker<'m>, instruction: Instruction<'m>, guard: Option<(Reg, bool)>) {
        let span = instruction.span();
        if let Some(modifier) = instruction.modifiers().find(|m| m.text != "uni") {
            let text = format!("`call` has no modifier `.{}`", modifier.text);
            c.report(Diagnostic::new(Code::UnknownModifier, text, modifier.span));
            return self.abandon();
        }
        let mut parts = instruction.operands().iter().peekable();
        let mut list = || parts.next_if(|e| matches!(e.kind(), ExprKind::Paren(_)));
        let in_list = |e: Option<syntax::Expr<'m>>| match e.map(|e| e.kind()) {
            Some(ExprKind::Paren(list)) => Some(list),
            _ => None,
        };
        let returns = in_list(list());
        let Some(callee) = parts.next() else {
            self.bad_call(c, span, "the function to call is missing".into());
            return;
        };
        let mut list = || parts.next_if(|e| matches!(e.kind(), ExprKind::Paren(_)));
        let arguments = in_list(list());
        let prototype = parts.next();
        if let Some(more) = parts.next() {
            return self.bad_call(c, more.span(), "nothing can stand here".into());
        }
        let name = match callee.kind() {
            ExprKind::Name(name) => name,
            ExprKind::Error => return self.abandon(),
            _ => return self.bad_call(c, callee.span(), "this is no function".into()),
        };
        let (target, signature) = match c.scopes.lookup(name).map(|b| b.entity) {
            Some(Entity::Function(index)) => {
                let callable = &mut c.callables[index as usize];
                if callable.is_entry {
                    let text = format!("`{name}` is a kernel; only functions can be called");
                    return self.bad_call(c, callee.span(), text);
                }
                if let Some(more) = prototype {
                    let text = "a call by name has no prototype or list of targets".to_string();
                    return self.bad_call(c, more.span(), text);
                }
                callable.called.get_or_insert((c.file, callee.span()));
                (Ok(FuncId(index)), callable.signature.clone())
            }
            Some(Entity::Reg(reg, 1)) => {
                if reg.ty.bits() != c.out.address_size || reg.ty.is_float() || reg.ty == Ty::Pred {
                    let text = format!("a register of type `{}` holds no address of a function", reg.ty);
                    return self.bad_call(c, callee.span(), text);
                }
                let Some(prototype) = prototype else {
                    let text = "a call through a register needs a prototype or a list of targets".to_string();
                    return self.bad_call(c, span, text);
                };
                let Some(signature) = self.prototype(c, prototype) else { return self.abandon() };
                (Err(reg), signature)
            }
            Some(Entity::Broken) => return self.abandon(),
            Some(other) => {
                return self.bad_call(c, callee.span(), format!("`{name}` is {}", other.describe()));
            }
            None => {
                c.undefined(name, callee.span());
                return self.abandon();
            }
        };
        let results = self.pairs(c, &signature.returns, returns, span);
        let values = self.pairs(c, &signature.params, arguments, span);
        let (Some(results), Some(values)) = (results, values) else { return self.abandon() };
        for pair in results.iter().chain(&values) {
            if let Kind::Variable { index, .. } = pair.actual.kind {
                self.use_variable(c, index, pair.actual.span);
            }
        }
        for pair in &results {
            if let Kind::Variable { index, .. } = pair.actual.kind {
                self.returned.insert(index);
            }
        }
        match target {
            Ok(id) => _ = self.calls.insert(id),
            Err(_) => self.calls_any = true,
        }
        let Some(emit) = self.emit.as_mut().filter(|_| !self.trial) else { return };
        emit.builder().set_line(c.line(span));
        emit.begin_instruction(c, instruction, guard);
        emit.check_sources(c, values.iter().map(|pair| &pair.actual), &self.pool, guard);
        let after = emit.builder().new_block();
        if let Some((reg, negated)) = guard {
            let p = emit.read(reg);
            let b = emit.builder();
            let taken = b.new_block();
            let (yes, no) = if negated { (after, taken) } else { (taken, after) };
            b.branch(p, yes, no);
            b.switch_to(taken);
        }
        if let Err(what) = self.emit_call(c, target, &results, &values) {
            c.report(Diagnostic::new(Code::UnsupportedFeature, format!("{what} is not supported yet"), span));
            return self.give_up(c, span, what);
        }
        if let Some(emit) = &mut self.emit {
            emit.builder().jump(after);
            emit.builder().switch_to(after);
        }
    }

    fn bad_call(&mut self, c: &mut Checker<'m>, span: Span, text: String) {
        c.report(Diagnostic::new(Code::BadCall, text, span));
        self.abandon();
    }

    /// The signature behind a call through a register: that of the prototype, or of the functions in the list.
    fn prototype(&mut self, c: &mut Checker<'m>, expr: syntax::Expr<'m>) -> Option<Signature<'m>> {
        let found = expr.name().and_then(|name| c.scopes.lookup(name)).map(|b| b.entity);
        match found {
            Some(Entity::Prototype(index)) => self.prototypes.get(index as usize).cloned(),
            Some(Entity::CallTargets(index)) => {
                let targets = *self.call_targets.get(index as usize)?;
                let mut signature = None;
                for name in targets.list {
                    let entity = name.name().and_then(|name| c.scopes.lookup(name)).map(|b| b.entity);
                    let Some(Entity::Function(index)) = entity else {
                        if entity != Some(Entity::Broken) && !matches!(name.kind(), ExprKind::Error) {
                            self.bad_call(c, name.span(), format!("`{}` is no function", name.text()));
                        }
                        return None;
                    };
                    signature.get_or_insert_with(|| c.callables[index as usize].signature.clone());
                }
                signature
            }
            Some(Entity::Broken) => None,
            _ => {
                let text = format!(
                    "`{}` must be a prototype or a list made with `.callprototype` or `.calltargets`",
                    expr.text()
                );
                self.bad_call(c, expr.span(), text);
                None
            }
        }
    }

    /// Puts what the call gives beside what the function wants.
    fn pairs(
        &mut self,
        c: &mut Checker<'m>,
        formals: &[Option<Formal<'m>>],
        actuals: Option<ExprList<'m>>,
        span: Span,
    ) -> Option<Vec<Pair<'m>>> {
        let given = actuals.map_or(0, |a| a.len());
        if given != formals.len() {
            let text = format!("the function has {} of these, the call gives {given}", formals.len());
            let at =
                actuals.and_then(|a| Some(a.get(0)?.span().to(a.get(given - 1)?.span()))).unwrap_or(span);
            let d = Diagnostic::new(Code::BadCall, text, at);
            let d = match formals.first().and_then(|f| f.as_ref()?.name) {
                Some(name) => d.also(name.span, "declared here"),
                None => d,
            };
            c.report(d);
            return None;
        }
        let mut out = vec![];
        for (formal, actual) in formals.iter().zip(actuals.into_iter().flat_map(|a| a.iter())) {
            if matches!(actual.kind(), ExprKind::Vector(_)) {
                let text = "a call takes vectors by the name of a vector register, not in braces";
                c.report(Diagnostic::new(Code::BadCall, text, actual.span()));
                return None;
            }
            let actual = c.operand(actual, &mut self.pool);
            // What is wrong with the declaration was said when the function was looked at.
            let formal = (*formal)?;
            let spec = formal.spec;
            let fits = match actual.kind {
                Kind::Error => return None,
                Kind::Sink => true,
                Kind::Reg(reg) => !formal.array && spec.vector == 1 && spec.ty.accepts(reg.ty),
                Kind::Const(_) => !formal.array && spec.vector == 1,
                Kind::Vector(first, count) => {
                    let accepts =
                        |o: &Operand<'m>| matches!(o.kind, Kind::Reg(reg) if spec.ty.accepts(reg.ty));
                    !formal.array
                        && count > 1
                        && u32::from(spec.vector) == count
                        && self.pool.slice(first, count).iter().all(accepts)
                }
                Kind::Variable { index, offset: 0 } => {
                    let given = c.variables[index as usize];
                    spec.space == Space::Param && given.space == Space::Param && given.size == formal.size
                }
                _ => false,
            };
            if !fits {
                let text = format!(
                    "`{}` does not fit the parameter, which is `{}` of {} bytes",
                    c.syntax.text(actual.span),
                    spec.ty,
                    formal.size
                );
                let d = Diagnostic::new(Code::BadCall, text, actual.span).also(formal.span, "the parameter");
                c.report(d);
                return None;
            }
            out.push(Pair { formal, actual });
        }
        Some(out)
    }

    fn emit_call(
        &mut self,
        c: &mut Checker<'m>,
        target: Result<FuncId, Reg>,
        results: &[Pair<'m>],
        values: &[Pair<'m>],
    ) -> Result<(), String> {
        if let Ok(id) = target
            && let callable = &c.callables[id.index()]
            && !c.bodies.contains(callable.name)
            && !c.names.defines_function(callable.name)
            && let Some(call) = host::find(callable.name, &callable.signature)
        {
            return self.emit_system_call(c, call, results, values);
        }
        let Some(emit) = &mut self.emit else { return Ok(()) };
        let mut args = vec![];
        let mut types = vec![];
        let mut returned = vec![];
        for Pair { formal, actual } in results {
            let ty = formal.spec.ty.container();
            let by_value = formal.spec.space == Space::Reg;
            returned.push(match actual.kind {
                _ if by_value => {
                    let first = types.len();
                    types.extend((0..formal.spec.vector).map(|_| ty));
                    let new = types[first..].iter().map(|ty| emit.builder().func().new_value(*ty));
                    Returned::Values(new.collect())
                }
                Kind::Variable { index, .. } => {
                    args.push(emit.local_variable(c, index));
                    Returned::There
                }
                _ => {
                    let at = emit.temporary(formal.size, formal.align);
                    args.push(at);
                    Returned::Memory(at)
                }
            });
        }
        for Pair { formal, actual } in values {
            let given = match actual.kind {
                Kind::Variable { index, .. } => {
                    let var = c.variables[index as usize];
                    let returned_too =
                        |r: &Pair<'m>| matches!(r.actual.kind, Kind::Variable { index: i, .. } if i == index);
                    if matches!(var.place, Place::At(_)) || results.iter().any(returned_too) {
                        // A parameter of the kernel is not in local memory, and what the function returns is not what it reads.
                        let copy = emit.temporary(var.size, var.align);
                        emit.copy_variable(c, index, copy);
                        args.push(copy);
                    } else {
                        args.push(emit.local_variable(c, index));
                    }
                    continue;
                }
                Kind::Vector(first, count) => self.pool.slice(first, count),
                _ => std::slice::from_ref(actual),
            };
            let ty = formal.spec.ty;
            let zero = |emit: &mut crate::emit::Emit| emit.builder().iconst(ty.container(), 0);
            let mut parts = vec![];
            for part in given {
                parts.push(match part.kind {
                    Kind::Sink => zero(emit),
                    _ => emit.scalar(c, part, Some(ty))?,
                });
            }
            parts.resize_with(usize::from(formal.spec.vector), || zero(emit));
            if formal.spec.space == Space::Reg {
                args.extend(parts);
                continue;
            }
            let at = emit.temporary(formal.size, formal.align);
            args.push(at);
            if !matches!(actual.kind, Kind::Sink) {
                let step = u64::from(ty.bits().div_ceil(8));
                for (i, part) in parts.into_iter().enumerate() {
                    let b = emit.builder();
                    let to = b.int_imm(ir::IntBin::Add, at, i as u64 * step);
                    b.effect(Op::Store(LOCAL), &[to, part], None);
                }
            }
        }
        let callee = match target {
            Ok(id) => Callee::Direct(id),
            Err(reg) => {
                let value = emit.read(reg);
                let b = emit.builder();
                let at = match b.ty(value) {
                    Type::I64 => value,
                    // Of 32-bit addresses the upper half is not kept.
                    _ => {
                        let wide = b.zext(value, ir::Elem::I64);
                        b.int_imm(ir::IntBin::Add, wide, ir::Module::CODE)
                    }
                };
                Callee::Indirect(at)
            }
        };
        let stack = emit.stack_top();
        let b = emit.builder();
        let next = b.new_block();
        let of = |r: &Returned| match r {
            Returned::Values(values) => values.clone(),
            _ => vec![],
        };
        let call = Call {
            callee,
            stack,
            args,
            results: returned.iter().flat_map(of).collect(),
            next: Target::new(next),
        };
        b.terminate(Term::Call(Box::new(call)));
        b.switch_to(next);
        for (Pair { formal, actual }, place) in results.iter().zip(returned) {
            let targets = match actual.kind {
                Kind::Vector(first, count) => self.pool.slice(first, count),
                _ => std::slice::from_ref(actual),
            };
            let ty = formal.spec.ty;
            for (i, target) in targets.iter().enumerate() {
                let Kind::Reg(to) = target.kind else { continue };
                let value = match &place {
                    Returned::There => continue,
                    Returned::Values(values) => values[i],
                    Returned::Memory(at) => {
                        let b = emit.builder();
                        let step = u64::from(ty.bits().div_ceil(8));
                        let at = b.int_imm(ir::IntBin::Add, *at, i as u64 * step);
                        b.inst(Op::Load(LOCAL), &[at], ty.container())
                    }
                };
                emit.write(to, c.syntax.text(target.span), value, false, None)?;
            }
        }
        Ok(())
    }
}
