//! Calls: a function's body takes the place of the call to it.
//!
//! The core IR has no calls. A function is walked once on its own, to be checked, and once for each call in a kernel, with
//! registers and labels of its own. Parameters in `.param` live in local memory: those of the function are those of the caller, so
//! nothing is copied.

use crate::body::{Body, Frame};
use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::{Place, Spec, Variable};
use crate::operand::{Kind, Operand};
use crate::scope::{Entity, Reg};
use hostwarp_ir::{self as ir, Mem, Op, Target, Term, TrapKind, Type};
use hostwarp_isa::Ty;
use hostwarp_syntax::{self as syntax, Expr, ExprKind, Instruction, Space, Span};

/// Bodies inlined into one kernel; calls that call twice as often at each level would go on for ever.
const MOST_INLININGS: u32 = 2000;

/// What `assert` calls when it fails. The launch fails there, as on a device.
const ASSERT: &str = "__assertfail";

/// A parameter of the function and what the call gives for it.
struct Pair<'m> {
    spec: Spec,
    formal: syntax::Variable<'m>,
    size: u64,
    actual: Operand<'m>,
}

impl<'m> Body<'m> {
    /// `call (results), function, (arguments);`
    pub fn call(&mut self, c: &mut Checker<'m>, instruction: Instruction<'m>, guard: Option<(Reg, bool)>) {
        let span = instruction.span();
        if let Some(modifier) = instruction.modifiers().find(|m| m.text != "uni") {
            let text = format!("`call` has no modifier `.{}`", modifier.text);
            c.report(Diagnostic::new(Code::UnknownModifier, text, modifier.span));
            return self.abandon();
        }
        let mut parts = instruction.operands().iter().peekable();
        let list = |e: &Expr<'m>| match e.kind() {
            ExprKind::Paren(list) => Some(list),
            _ => None,
        };
        let returns = parts.peek().and_then(list);
        if returns.is_some() {
            parts.next();
        }
        let Some(callee) = parts.next() else {
            self.bad_call(c, span, "the function to call is missing".into());
            return;
        };
        let arguments = parts.peek().and_then(list);
        if arguments.is_some() {
            parts.next();
        }
        let name = match callee.kind() {
            ExprKind::Name(name) => name,
            ExprKind::Error => return self.abandon(),
            _ => return self.bad_call(c, callee.span(), "this is no function".into()),
        };
        let index = match c.scopes.lookup(name).map(|b| b.entity) {
            Some(Entity::Function(index)) => index,
            Some(Entity::Reg(..)) => {
                let text = "calls through a register are not supported yet";
                c.report(Diagnostic::new(Code::UnsupportedInstruction, text, span));
                return self.give_up(c, span, "a call through a register".into());
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
        let function = c.callables[index as usize].function;
        if function.is_entry() {
            return self.bad_call(
                c,
                callee.span(),
                format!("`{name}` is a kernel; only functions can be called"),
            );
        }
        let results = self.pairs(c, function.returns(), returns, span);
        let values = self.pairs(c, function.params(), arguments, span);
        let (Some(results), Some(values)) = (results, values) else { return self.abandon() };
        if function.body().is_none() && name != ASSERT {
            return self.elsewhere(c, name, callee.span());
        }
        let Some(emit) = &mut self.emit else { return };
        emit.builder().set_line(c.line(span));
        if function.body().is_none() {
            return emit.end(guard, Term::Trap(TrapKind::Trap));
        }
        self.inlinings += 1;
        if self.inlined.contains(&index) || self.inlined.len() > 30 || self.inlinings > MOST_INLININGS {
            let what = if self.inlined.contains(&index) { "recursion" } else { "so many calls" };
            let text = format!("{what} is not supported yet: `{name}`");
            c.report(Diagnostic::new(Code::UnsupportedFeature, text, span));
            return self.give_up(c, span, what.into());
        }
        self.inlined.push(index);
        if let Err(what) = self.inline(c, function, &results, &values, guard, c.line(span)) {
            c.report(Diagnostic::new(Code::UnsupportedFeature, format!("{what} is not supported yet"), span));
            self.give_up(c, span, what);
        }
        self.inlined.pop();
    }

    fn bad_call(&mut self, c: &mut Checker<'m>, span: Span, text: String) {
        c.report(Diagnostic::new(Code::BadCall, text, span));
        self.abandon();
    }

    fn elsewhere(&mut self, c: &mut Checker<'m>, name: &str, span: Span) {
        let what = format!("the function `{name}` of another module");
        let d = Diagnostic::new(Code::UnsupportedFeature, format!("{what} is not supported yet"), span)
            .note("kernels that call it cannot be launched; all others can");
        c.report(d);
        self.give_up(c, span, what);
    }

    /// Puts what the call gives beside what the function wants.
    fn pairs(
        &mut self,
        c: &mut Checker<'m>,
        formals: syntax::Variables<'m>,
        actuals: Option<syntax::ExprList<'m>>,
        span: Span,
    ) -> Option<Vec<Pair<'m>>> {
        let given = actuals.map_or(0, |a| a.len());
        if given != formals.len() {
            let text = format!("the function has {} of these, the call gives {given}", formals.len());
            let at =
                actuals.and_then(|a| Some(a.get(0)?.span().to(a.get(given - 1)?.span()))).unwrap_or(span);
            let d = Diagnostic::new(Code::BadCall, text, at);
            let d = match formals.get(0).and_then(|f| f.name()) {
                Some(name) => d.also(name.span, "declared here"),
                None => d,
            };
            c.report(d);
            return None;
        }
        let mut out = vec![];
        for (formal, actual) in formals.iter().zip(actuals.into_iter().flat_map(|a| a.iter())) {
            let actual = c.operand(actual, &mut self.pool);
            // What is wrong with the declaration was said when the function was looked at.
            let quiet = std::mem::replace(&mut c.inlining, true);
            let spec = c.spec(formal.specifiers(), formal.span());
            let measured = spec.and_then(|s| c.measure(s, formal));
            c.inlining = quiet;
            let (Some(spec), Some((var, dims))) = (spec, measured) else { return None };
            let fits = match actual.kind {
                Kind::Error => return None,
                Kind::Sink => true,
                Kind::Reg(reg) => dims.is_empty() && spec.vector == 1 && spec.ty.accepts(reg.ty),
                Kind::Const(_) => dims.is_empty() && spec.vector == 1,
                Kind::Variable { index, offset: 0 } => {
                    let given = c.variables[index as usize];
                    spec.space == Space::Param && given.space == Space::Param && given.size == var.size
                }
                _ => false,
            };
            if !fits {
                let text = format!(
                    "`{}` does not fit the parameter, which is `{}` of {} bytes",
                    c.syntax.text(actual.span),
                    spec.ty,
                    var.size
                );
                let d =
                    Diagnostic::new(Code::BadCall, text, actual.span).also(formal.span(), "the parameter");
                c.report(d);
                return None;
            }
            out.push(Pair { spec, formal, size: var.size, actual });
        }
        Some(out)
    }

    fn inline(
        &mut self,
        c: &mut Checker<'m>,
        function: syntax::Function<'m>,
        results: &[Pair<'m>],
        values: &[Pair<'m>],
        guard: Option<(Reg, bool)>,
        line: u32,
    ) -> Result<(), String> {
        let Some(body) = function.body() else { return Ok(()) };
        // Arguments are read before anything of the function is defined.
        let given = self.arguments(c, values)?;
        let Some(emit) = &mut self.emit else { return Ok(()) };
        emit.builder().set_line(line);
        let after = emit.builder().new_block();
        if let Some((reg, negated)) = guard {
            let p = emit.read(reg);
            let b = emit.builder();
            let p = if negated { b.not(p) } else { p };
            let taken = b.new_block();
            b.branch(p, taken, after);
            b.switch_to(taken);
        }
        let done = emit.builder().new_block();
        let caller = emit.caller.replace(done);
        let before = c.scopes.begin_function();
        let quiet = std::mem::replace(&mut c.inlining, true);
        let outcome = self.bind_all(c, values, given, results).and_then(|places| {
            self.statements(c, body);
            self.returns(results, &places, done, line)
        });
        c.scopes.end_function(before);
        c.inlining = quiet;
        if let Some(emit) = &mut self.emit {
            emit.caller = caller;
            let b = emit.builder();
            b.terminate(Term::Jump(Target::new(after)));
            b.switch_to(after);
        }
        outcome
    }

    /// The values of the arguments that are registers or constants.
    fn arguments(
        &mut self,
        c: &mut Checker<'m>,
        values: &[Pair<'m>],
    ) -> Result<Vec<Option<ir::Value>>, String> {
        let mut out = vec![];
        for pair in values {
            if let Kind::Variable { index, .. } = pair.actual.kind {
                self.use_variable(c, index, pair.actual.span);
            }
            let frame = Frame { c, places: &self.places };
            let value = match (&mut self.emit, pair.actual.kind) {
                (Some(emit), Kind::Reg(_) | Kind::Const(_)) => {
                    Some(emit.scalar(&frame, &pair.actual, Some(pair.spec.ty))?)
                }
                _ => None,
            };
            out.push(value);
        }
        Ok(out)
    }

    fn bind_all(
        &mut self,
        c: &mut Checker<'m>,
        values: &[Pair<'m>],
        given: Vec<Option<ir::Value>>,
        results: &[Pair<'m>],
    ) -> Result<Vec<Bound>, String> {
        for (pair, value) in values.iter().zip(given) {
            self.bind(c, pair, value)?;
        }
        results.iter().map(|pair| self.bind(c, pair, None)).collect()
    }

    /// Defines a parameter in the function's scope and gives it its value.
    fn bind(
        &mut self,
        c: &mut Checker<'m>,
        pair: &Pair<'m>,
        value: Option<ir::Value>,
    ) -> Result<Bound, String> {
        let Some(name) = pair.formal.name() else { return Ok(Bound::Nothing) };
        if pair.spec.space == Space::Reg {
            c.registers(name, pair.spec, None);
            let Some(Entity::Reg(reg, 1)) = c.scopes.lookup(name.text).map(|b| b.entity) else {
                return Err("a vector as parameter".into());
            };
            if let (Some(emit), Some(value)) = (&mut self.emit, value) {
                emit.write(reg, value, false, None)?;
            }
            return Ok(Bound::Register(reg));
        }
        if let Kind::Variable { index, .. } = pair.actual.kind {
            c.define(name, Entity::Variable(index));
            return Ok(Bound::Nothing);
        }
        let index = c.variables.len() as u32;
        c.variables.push(Variable {
            name: name.text,
            space: Space::Param,
            ty: pair.spec.ty,
            element: pair.size,
            size: pair.size,
            align: pair.size.next_power_of_two().clamp(1, 16),
            place: Place::PerKernel,
            read_only: false,
            unsupported: None,
        });
        c.define(name, Entity::Variable(index));
        self.use_variable(c, index, name.span);
        let at = self.places.get(&index).copied().unwrap_or(0);
        if let (Some(emit), Some(value)) = (&mut self.emit, value) {
            let b = emit.builder();
            let at = b.iconst(Type::I32, at);
            b.effect(Op::Store(Mem::weak(ir::Space::Local)), &[at, value], None);
        }
        Ok(Bound::Memory(at, pair.spec.ty))
    }

    /// Where the function returns to: its results go to the caller's registers.
    fn returns(
        &mut self,
        results: &[Pair<'m>],
        places: &[Bound],
        done: ir::Block,
        line: u32,
    ) -> Result<(), String> {
        let Some(emit) = &mut self.emit else { return Ok(()) };
        emit.builder().set_line(line);
        emit.builder().jump(done);
        emit.builder().switch_to(done);
        for (pair, place) in results.iter().zip(places) {
            let Kind::Reg(to) = pair.actual.kind else { continue };
            let value = match *place {
                Bound::Nothing => continue,
                Bound::Register(reg) => emit.read(reg),
                Bound::Memory(at, ty) => {
                    let b = emit.builder();
                    let at = b.iconst(Type::I32, at);
                    b.inst(Op::Load(Mem::weak(ir::Space::Local)), &[at], ty.container())
                }
            };
            emit.write(to, value, false, None)?;
        }
        Ok(())
    }
}

/// Where a parameter is.
enum Bound {
    /// The caller has it, or it has no name.
    Nothing,
    Register(Reg),
    /// At this place of local memory.
    Memory(u64, Ty),
}
