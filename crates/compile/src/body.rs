//! The walk over a function's body: scopes, labels, instructions.

use crate::Unusable;
use crate::cache::Shape;
use crate::call::Signature;
use crate::check::{BodyResult, Checker, Uses};
use crate::diagnostic::{Code, Diagnostic};
use crate::emit::Emit;
use crate::layout::{Place, TEXTURES, ir_space, space_text};
use crate::misfit::read_only;
use crate::operand::{Address, Base, Kind, Operand, Pool};
use crate::probe::FIRST_SITE;
use crate::scope::{Entity, Reg};
use hostwarp_ir as ir;
use hostwarp_isa::data::space_named;
use hostwarp_isa::form::{Class, Which};
use hostwarp_isa::{Match, Ty};
use hostwarp_syntax::{Block, Const, ExprKind, Instruction, Name, Space, Span, Statement, Targets};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What is known about the function whose body is walked.
pub(crate) struct Body<'m> {
    pub emit: Option<Emit>,
    /// Nothing is kept of the IR: one instruction of each shape is enough to see whether it can be built.
    pub trial: bool,
    unsupported: Option<Unusable>,
    labels: u32,
    /// The lists of `.branchtargets`.
    pub targets: Vec<Targets<'m>>,
    /// The lists of `.calltargets`.
    pub call_targets: Vec<Targets<'m>>,
    /// What `.callprototype`s say.
    pub prototypes: Vec<Signature<'m>>,
    pub pool: Pool<'m>,
    /// The functions it calls.
    pub calls: BTreeSet<ir::FuncId>,
    /// It calls through a register.
    pub calls_any: bool,
    /// Static variables in shared memory that it uses.
    shared: BTreeSet<u32>,
    /// The module's first variable that is declared in the body.
    first_variable: u32,
    /// It is a function, not a kernel.
    in_function: bool,
    /// Variables of the body in `.param` that are loaded, and where.
    loaded: Vec<(u32, Span)>,
    /// Variables of the body in `.param` that a call returns something in.
    pub returned: BTreeSet<u32>,
}

/// What a kernel without parameters of its own reads first and stores last.
#[derive(Default)]
pub(crate) struct Interface {
    pub inputs: Vec<(Reg, String)>,
    pub outputs: Vec<Reg>,
}

/// What kind of body it is.
pub(crate) enum Role<'a, 'm> {
    Kernel,
    /// A function with these parameters and results, whose names are defined.
    Function(&'a Signature<'m>),
    Snippet(&'a Interface),
}

pub(crate) fn check<'m>(c: &mut Checker<'m>, block: Block<'m>, name: &str, role: Role<'_, 'm>) -> BodyResult {
    let mut body = Body {
        emit: Some(Emit::new(name, c.options.profile, c.out.address_size)),
        trial: c.options.check_only,
        unsupported: None,
        labels: 0,
        targets: vec![],
        call_targets: vec![],
        prototypes: vec![],
        pool: Pool::default(),
        calls: BTreeSet::new(),
        calls_any: false,
        shared: BTreeSet::new(),
        first_variable: c.variables.len() as u32,
        in_function: matches!(role, Role::Function(_)),
        loaded: vec![],
        returned: BTreeSet::new(),
    };
    if let Some(emit) = body.emit.as_mut().filter(|_| c.options.probes.any() && !c.options.check_only) {
        emit.probing.probes = c.options.probes;
        emit.probing.first = FIRST_SITE + c.out.sites.len() as u64;
    }
    match (&mut body.emit, &role) {
        (Some(emit), Role::Snippet(interface)) => emit.load_inputs(&interface.inputs),
        (Some(emit), Role::Function(signature)) => emit.take_params(c, signature),
        _ => {}
    }
    body.statements(c, block);
    body.loads_follow_calls(c);
    match (&mut body.emit, &role) {
        (Some(emit), Role::Snippet(interface)) => emit.store_outputs(&interface.outputs),
        (Some(emit), Role::Function(_)) => emit.return_results(),
        _ => {}
    }
    let function = match (body.unsupported, body.emit) {
        (Some(unusable), _) => Err(unusable),
        (None, None) => Err(Unusable::Invalid),
        (None, Some(_)) if c.errors() > 0 => Err(Unusable::Invalid),
        (None, Some(_)) if body.trial => Err(Unusable::NotBuilt),
        (None, Some(mut emit)) => {
            c.out.sites.append(&mut emit.probing.sites);
            Ok(emit.finish())
        }
    };
    let uses = Uses { shared: body.shared, calls: body.calls, calls_any: body.calls_any };
    BodyResult { function, uses }
}

impl<'m> Body<'m> {
    /// The statements of a function's body, which shares its scope with the parameters, or of a block in its own.
    pub fn statements(&mut self, c: &mut Checker<'m>, block: Block<'m>) {
        // Labels are seen in all of the block, before they stand too.
        for statement in block.statements() {
            hostwarp_system::poll();
            match statement {
                Statement::Label(label) => {
                    let index = self.labels;
                    self.labels += 1;
                    c.define(label.name, Entity::Label(index));
                }
                Statement::BranchTargets(t) => {
                    if let Some(name) = t.label {
                        let index = self.targets.len() as u32;
                        self.targets.push(t);
                        c.define(name, Entity::Targets(index));
                    }
                }
                Statement::CallTargets(t) => {
                    if let Some(name) = t.label {
                        let index = self.call_targets.len() as u32;
                        self.call_targets.push(t);
                        c.define(name, Entity::CallTargets(index));
                    }
                }
                Statement::CallPrototype(f) => {
                    if let Some(name) = f.name() {
                        let index = self.prototypes.len() as u32;
                        let signature = c.signature(f);
                        self.prototypes.push(signature);
                        c.define(name, Entity::Prototype(index));
                    }
                }
                _ => {}
            }
        }
        for statement in block.statements() {
            hostwarp_system::poll();
            match statement {
                Statement::Declaration(d) => c.declaration(d, true),
                Statement::Instruction(i) => self.instruction(c, i),
                Statement::Label(label) => self.label(c, label.name),
                Statement::Block(inner) => {
                    c.scopes.enter();
                    self.statements(c, inner);
                    c.scopes.leave();
                }
                _ => {}
            }
        }
    }

    fn label(&mut self, c: &Checker<'m>, name: Name<'m>) {
        let Some(emit) = self.emit.as_mut().filter(|_| !self.trial) else { return };
        if let Some(Entity::Label(index)) = c.scopes.lookup(name.text).map(|b| b.entity) {
            emit.label(index);
        }
    }

    fn instruction(&mut self, c: &mut Checker<'m>, instruction: Instruction<'m>) {
        self.pool.clear();
        c.branching = instruction.opcode() == "bra";
        let guard = match instruction.guard() {
            None => None,
            Some(guard) => match self.guard(c, guard.predicate) {
                None => return self.abandon(),
                Some(reg) => Some((reg, guard.negated)),
            },
        };
        match instruction.opcode() {
            "call" => return self.call(c, instruction, guard),
            "brx" => return self.indexed_branch(c, instruction, guard),
            _ => {}
        }
        let list = instruction.operands();
        let mut operands: SmallVec<[Operand<'m>; 6]> = SmallVec::new();
        for expr in list {
            operands.push(c.decorated_operand(expr, &mut self.pool));
        }
        if operands.iter().any(|o| matches!(o.kind, Kind::Error)) {
            return self.abandon();
        }
        if let Some(sum) = operands.iter().find(|o| o.plus != 0)
            && hostwarp_isa::video::ROOMS.iter().any(|r| r.opcodes.contains(&instruction.opcode()))
        {
            let text = format!("`{}` cannot be a sum here", c.syntax.text(sum.span));
            c.report(Diagnostic::new(Code::BadOperand, text, sum.span));
            return self.abandon();
        }
        if let Some(what) = self.shared_by_functions(c, &operands) {
            return self.not_yet(c, instruction.span(), what);
        }
        let source = c.syntax.source();
        let mut shape = c.cache.resolve(source, instruction, &operands, &self.pool, c.env);
        if matches!(*shape, Shape::Misfit(..)) && elements_to_addresses(instruction, &mut operands) {
            shape = c.cache.resolve(source, instruction, &operands, &self.pool, c.env);
        }
        let (m, built) = match &*shape {
            Shape::Fits(m, built) => (m, built),
            Shape::Misfit(..) if c.has_syntax_error(instruction.span()) => return self.abandon(),
            Shape::Misfit(form, misfits) => {
                let unsupported = c.misfits(instruction, &operands, &self.pool, *form, misfits);
                return match unsupported {
                    Some(what) => self.give_up(c, instruction.span(), what),
                    None => self.abandon(),
                };
            }
        };
        if m.repeated.is_some() || m.parsed.form.undocumented {
            self.warn(c, instruction, m);
        }
        if !self.places_fit(c, instruction, &operands, m) {
            return self.abandon();
        }
        if let Err(what) = m.has_meaning() {
            return self.not_yet(c, instruction.span(), what);
        }
        if self.trial && built.get() && !operands.iter().any(|o| names_memory(o, &self.pool)) {
            return;
        }
        if let Some(emit) = &mut self.emit {
            emit.builder().set_line(c.line(instruction.span()));
            emit.begin_instruction(c, instruction, guard);
            let outcome = emit.instruction(c, m, &operands, &self.pool, guard);
            built.set(outcome.is_ok());
            if let Err(what) = outcome {
                self.not_yet(c, instruction.span(), what);
            }
        }
    }

    /// The instruction is legal and nothing is known to do for it.
    fn not_yet(&mut self, c: &mut Checker<'m>, span: Span, what: String) {
        let text = format!("{what} is not supported yet");
        let d = Diagnostic::new(Code::UnsupportedInstruction, text, span)
            .note("kernels that contain it cannot be launched; all others can");
        c.report(d);
        self.give_up(c, span, what);
    }

    /// A register or local variable of the module in a function: each kernel has its own, but functions and their callers share them.
    fn shared_by_functions(&self, c: &Checker<'m>, operands: &[Operand<'m>]) -> Option<String> {
        if !self.in_function || c.thread_registers.is_empty() && c.thread_variables.is_empty() {
            return None;
        }
        let shared = |o: &Operand<'m>| match o.kind {
            Kind::Reg(reg) => c.thread_registers.contains(&reg.declaration),
            Kind::Variable { index, .. } | Kind::Address(Address { base: Base::Variable(index), .. }) => {
                c.thread_variables.contains(&index)
            }
            Kind::Address(Address { base: Base::Reg(reg), .. }) => {
                c.thread_registers.contains(&reg.declaration)
            }
            _ => false,
        };
        let parts = |o: &Operand<'m>| match o.kind {
            Kind::Vector(first, count) => self.pool.slice(first, count).iter().any(shared),
            Kind::Pair(first) => self.pool.slice(first, 2).iter().any(shared),
            _ => shared(o),
        };
        operands
            .iter()
            .any(parts)
            .then(|| "a register or local variable of the module in a function".to_string())
    }

    fn guard(&mut self, c: &mut Checker<'m>, predicate: hostwarp_syntax::Expr<'m>) -> Option<Reg> {
        let operand = c.operand(predicate, &mut self.pool);
        match operand.kind {
            Kind::Reg(reg) if reg.ty == Ty::Pred && operand.selector.is_none() => Some(reg),
            Kind::Error => None,
            kind => {
                let text = format!("`{}` cannot guard an instruction", predicate.text());
                let d = Diagnostic::new(Code::BadGuard, text, operand.span);
                let d = match kind {
                    Kind::Reg(reg) => d.label(format!("this is `{}`; a guard is `.pred`", reg.ty)),
                    _ => d.label("a guard is a register of type `.pred`"),
                };
                c.report(d.help("make a predicate with `setp`"));
                None
            }
        }
    }

    /// Errors were reported: no IR.
    pub fn abandon(&mut self) {
        self.emit = None;
    }

    pub fn give_up(&mut self, c: &Checker<'m>, span: Span, what: String) {
        self.emit = None;
        if self.unsupported.is_none() {
            self.unsupported = Some(Unusable::Unsupported { line: c.line(span), what });
        }
    }

    fn warn(&mut self, c: &mut Checker<'m>, instruction: Instruction<'m>, m: &Match) {
        if let Some(at) = m.repeated.and_then(|i| instruction.modifiers().nth(i)) {
            let text = format!("`.{}` is written twice", at.text);
            let d = Diagnostic::new(Code::RepeatedModifier, text, at.span)
                .note("ptxas accepts this for some modifiers; the second one has no effect");
            c.report(d);
        }
        if m.parsed.form.undocumented {
            let text = format!("this form of `{}` is not in the manual", m.opcode);
            let d = Diagnostic::new(Code::Undocumented, text, instruction.mnemonic_span());
            let about = m.room.notes.iter().filter(|n| {
                let names = |x: hostwarp_syntax::Modifier<'_>| n.contains(c.syntax.text(x.span));
                n.contains("not in the manual") && instruction.modifiers().any(names)
            });
            let d = about.fold(d, |d, n| d.note(*n));
            c.report(d.note("ptxas accepts it, so it is accepted here"));
        }
    }

    /// Checks what the form cannot: spaces of addresses, destinations, and that variables have a place.
    fn places_fit(
        &mut self,
        c: &mut Checker<'m>,
        instruction: Instruction<'m>,
        operands: &[Operand<'m>],
        m: &Match,
    ) -> bool {
        let mut addresses = 0;
        let mut fine = true;
        if let Some(size) = m.address_size()
            && size.bits() < c.out.address_size
        {
            let text =
                format!("addresses of this module have {} bits, not {}", c.out.address_size, size.bits());
            c.report(Diagnostic::new(Code::BadAddress, text, instruction.mnemonic_span()));
            fine = false;
        }
        for (i, operand) in operands.iter().enumerate() {
            let slot = m.operands.iter().position(|at| *at == Some(i));
            if slot.is_some_and(|s| m.parsed.operands[s].class == Class::Handle) {
                fine &= self.handle_fits(c, operand);
                continue;
            }
            match operand.kind {
                Kind::Address(address) => {
                    // What is not supported yet may have addresses of its own kind, tensor memory's for one.
                    let other = !matches!(m.opcode, "multimem" | "st" | "red");
                    let own_kind = m.parsed.form.later && other && matches!(address.base, Base::Reg(_));
                    let class = slot.map(|s| m.parsed.operands[s].class);
                    if class == Some(Class::Is(Ty::B32))
                        && !matches!(address.base, Base::Reg(reg) if reg.ty.bits() == 32)
                    {
                        let text = "an address in tensor memory is in a register of 32 bits";
                        c.report(Diagnostic::new(Code::BadAddress, text, operand.span));
                        fine = false;
                        continue;
                    }
                    let within = slot
                        .and_then(|s| m.parsed.operands[s].within)
                        .filter(|_| matches!(address.base, Base::Variable(_)));
                    let space = space_of(m, addresses).or_else(|| space_named(within?));
                    fine &= own_kind || self.address_fits(c, operand.span, address, space, m);
                    fine &= m.opcode != "ld" || self.may_be_loaded(c, address.base, operand.span, m);
                    fine &= m.opcode != "st" || may_be_stored(c, address.base, space, operand.span);
                    addresses += 1;
                }
                Kind::Const(value) => fine &= constant_fits(c, operands, value, i, m),
                Kind::Special(special) => fine &= special_fits(c, operand, special, i, m),
                Kind::Variable { .. } if m.unclear.is_some() => {}
                Kind::Variable { index, offset } => {
                    let var = c.variables[index as usize];
                    // An instruction that names a space means the address of something in it.
                    let within = slot.and_then(|s| m.parsed.operands[s].within).and_then(space_named);
                    if let Some(space) = space_of(m, 0).or(within)
                        && space != ir_space(var.space)
                    {
                        let text = format!("`{}` is in `{}`", var.name, space_text(ir_space(var.space)));
                        let label = format!("the instruction is for `{}`", space_text(space));
                        c.report(Diagnostic::new(Code::SpaceMismatch, text, operand.span).label(label));
                        fine = false;
                    }
                    let slot = m.operands.iter().position(|at| *at == Some(i));
                    let bits = slot.and_then(|s| m.operand_ty(s)).map_or(64, Ty::bits);
                    let cut = ir_space(var.space) == ir::Space::Global && bits < c.out.address_size;
                    if cut && bits == 32 && offset == 0 {
                        let text = format!("the address of `{}` has 64 bits, not 32", var.name);
                        c.report(Diagnostic::new(Code::BadAddress, text, operand.span));
                        fine = false;
                    } else if cut {
                        narrow(c, operand.span, bits, "only the low half of the address is taken");
                    }
                    self.use_variable(c, index, operand.span);
                }
                Kind::Function(index) if c.callables[index as usize].is_entry => {
                    let what = "the address of a kernel".to_string();
                    let text = "addresses of kernels are not supported yet";
                    c.report(Diagnostic::new(Code::UnsupportedFeature, text, operand.span));
                    self.give_up(c, instruction.span(), what);
                }
                Kind::Function(index) => {
                    c.callables[index as usize].called.get_or_insert((c.file, operand.span));
                    c.program.take_address(ir::FuncId(index));
                }
                _ => {}
            }
            let mut places = m.parsed.operands.iter().filter(|place| !place.pair);
            if places.nth(i).is_some_and(|place| place.dest) {
                fine &= self.destination_fits(c, operand);
            }
        }
        fine
    }

    /// A texture, sampler or surface is named, or it is in a register as it is.
    fn handle_fits(&self, c: &mut Checker<'m>, operand: &Operand<'m>) -> bool {
        let (index, offset) = match operand.kind {
            Kind::Reg(_) => return true,
            Kind::Address(Address { base: Base::Reg(reg), offset: 0 }) if reg.ty.bits() == 64 => return true,
            Kind::Address(Address { base: Base::Variable(index), offset }) => (index, offset),
            Kind::Variable { index, offset } => (index, offset),
            _ => (u32::MAX, 0),
        };
        let opaque = c.variables.get(index as usize).is_some_and(|v| v.unsupported == Some(TEXTURES));
        if offset != 0 || !opaque {
            let text = format!("`{}` is no texture, sampler or surface", c.syntax.text(operand.span));
            c.report(Diagnostic::new(Code::BadOperand, text, operand.span));
            return false;
        }
        true
    }

    /// A function does not read what it returns. What calls return is looked at when all of them are known.
    fn may_be_loaded(&mut self, c: &mut Checker<'m>, base: Base, span: Span, m: &Match) -> bool {
        let Base::Variable(index) = base else { return true };
        let var = c.variables[index as usize];
        if !self.in_function && index < self.first_variable && m.mods.contains(&Some(".param::func")) {
            let text = format!("`{}` is a parameter of a kernel: `.param::entry`", var.name);
            c.report(Diagnostic::new(Code::SpaceMismatch, text, span));
            return false;
        }
        if var.space != Space::Param || var.place != Place::Local || var.read_only {
            return true;
        }
        if index >= self.first_variable {
            self.loaded.push((index, span));
            return true;
        }
        let text = format!("`{}` cannot be read: it is what the function returns", var.name);
        c.report(Diagnostic::new(Code::BadCall, text, span));
        false
    }

    fn loads_follow_calls(&mut self, c: &mut Checker<'m>) {
        for (index, span) in std::mem::take(&mut self.loaded) {
            if !self.returned.contains(&index) {
                let text = format!("no call returns anything in `{}`", c.variables[index as usize].name);
                let d = Diagnostic::new(Code::BadCall, text, span)
                    .note("a variable in `.param` hands something to a call or gets something from one");
                c.report(d);
                self.abandon();
            }
        }
    }

    fn destination_fits(&mut self, c: &mut Checker<'m>, operand: &Operand<'m>) -> bool {
        let parts = match operand.kind {
            Kind::Reg(_) | Kind::Sink if operand.plus == 0 => return true,
            Kind::Vector(first, count) => self.pool.slice(first, count),
            Kind::Pair(first) => self.pool.slice(first, 2),
            _ => std::slice::from_ref(operand),
        };
        match parts.iter().find(|p| p.plus != 0 || !matches!(p.kind, Kind::Reg(_) | Kind::Sink)) {
            None => true,
            Some(part) => {
                c.report(read_only(c.syntax.text(part.span), part));
                false
            }
        }
    }

    fn address_fits(
        &mut self,
        c: &mut Checker<'m>,
        span: Span,
        address: Address,
        space: Option<ir::Space>,
        m: &Match,
    ) -> bool {
        match address.base {
            Base::Variable(index) => {
                let var = c.variables[index as usize];
                let own = ir_space(var.space);
                let fits = match space {
                    Some(space) => space == own,
                    None => matches!(own, ir::Space::Global | ir::Space::Shared | ir::Space::Local),
                };
                if !fits {
                    let d = Diagnostic::new(
                        Code::SpaceMismatch,
                        format!("`{}` is in `{}`", var.name, space_text(own)),
                        span,
                    );
                    let d = match (space, own) {
                        (Some(space), _) => {
                            d.label(format!("the instruction is for `{}`", space_text(space)))
                        }
                        (None, own) => d.label(format!(
                            "a generic address cannot be in `{0}`; write `{0}` on the instruction",
                            space_text(own)
                        )),
                    };
                    let d = match c.scopes.lookup(var.name) {
                        Some(binding) => d.also(binding.span, "declared here"),
                        None => d,
                    };
                    c.report(d);
                    return false;
                }
                self.use_variable(c, index, span);
                true
            }
            Base::Reg(reg) => {
                let wide_space = matches!(space, None | Some(ir::Space::Global));
                let bits = reg.ty.bits();
                // ptxas makes functions of these, which take addresses of both sizes.
                let function =
                    matches!(m.opcode, "st" | "red") && m.has(".async") || m.opcode == "st" && m.has(".bulk");
                let takes_both = function
                    || match m.opcode {
                        "cp" => !m.has(".bulk"),
                        "prefetch" => m.has(".tensormap"),
                        other => matches!(other, "ldmatrix" | "stmatrix" | "wmma" | "createpolicy"),
                    };
                if bits == 32 && c.out.address_size == 64 && wide_space && !takes_both {
                    let text = "this address has 32 bits, those of the module have 64";
                    c.report(
                        Diagnostic::new(Code::BadAddress, text, span)
                            .help("convert it with `cvt.u64.u32` first"),
                    );
                    return false;
                }
                if bits < 32 || bits == 32 && c.out.address_size == 64 && wide_space {
                    narrow(c, span, bits, "it is zero-extended");
                }
                true
            }
            Base::Absolute => {
                if space == Some(ir::Space::Local) {
                    return true;
                }
                let d = Diagnostic::new(Code::BadAddress, "a constant is no address here", span)
                    .note("ptxas takes constant addresses in `.local` only")
                    .help("move the constant to a register first");
                c.report(d);
                false
            }
            Base::List(first, _) => match self.pool.slice(first, 1).first().map(|o| o.kind) {
                // A description of a tensor is read by way of global memory; what is opaque has no space.
                Some(Kind::Variable { index, .. }) if c.variables[index as usize].unsupported.is_none() => {
                    let at = Address { base: Base::Variable(index), offset: 0 };
                    self.address_fits(c, span, at, Some(ir::Space::Global), m)
                }
                _ => true,
            },
        }
    }

    /// Notes that a variable is used.
    pub fn use_variable(&mut self, c: &mut Checker<'m>, index: u32, span: Span) {
        let var = c.variables[index as usize];
        if let Some(what) = var.unsupported {
            let d = Diagnostic::new(
                Code::UnsupportedFeature,
                format!("{what} are not supported yet: `{}`", var.name),
                span,
            );
            c.report(d);
            self.give_up(c, span, what.to_string());
        } else if let Place::Shared(n) = var.place {
            self.shared.insert(n);
        }
    }
}

/// What a caller hands in is not written.
fn may_be_stored(c: &mut Checker<'_>, base: Base, space: Option<ir::Space>, span: Span) -> bool {
    let (what, reason) = match base {
        Base::Variable(index) => {
            let var = c.variables[index as usize];
            let reason = match var.space {
                Space::Param if var.read_only => "a parameter that is handed in is read-only",
                Space::Const => "constants are read-only",
                _ => return true,
            };
            (format!("`{}`", var.name), reason)
        }
        _ if space == Some(ir::Space::Param) => (
            "a parameter that is not named".to_string(),
            "`st.param` is for what a call takes and a function returns, by name; ptxas crashes here",
        ),
        _ => return true,
    };
    let text = format!("{what} cannot be written");
    c.report(Diagnostic::new(Code::ReadOnly, text, span).note(reason));
    false
}

fn narrow(c: &mut Checker<'_>, span: Span, bits: u32, what: &str) {
    let text = format!("this address has {bits} bits, those of the module have {}", c.out.address_size);
    c.report(Diagnostic::new(Code::NarrowAddress, text, span).note(what));
}

/// `array[2]` stands for an address in brackets where one is wanted. Gives whether there is such an operand.
fn elements_to_addresses<'m>(instruction: Instruction<'m>, operands: &mut [Operand<'m>]) -> bool {
    let mut any = false;
    for (operand, expr) in operands.iter_mut().zip(instruction.operands()) {
        if let (Kind::Variable { index, offset }, ExprKind::Index(..)) = (operand.kind, expr.kind()) {
            operand.kind = Kind::Address(Address { base: Base::Variable(index), offset });
            any = true;
        }
    }
    any
}

/// Whether a constant is one of those that may stand in the place.
fn constant_fits(
    c: &mut Checker<'_>,
    operands: &[Operand<'_>],
    value: Const,
    index: usize,
    m: &Match,
) -> bool {
    let operand = &operands[index];
    let slot = m.operands.iter().position(|o| *o == Some(index));
    let Some(range) = slot.and_then(|s| m.parsed.operands[s].range) else { return true };
    let fits = match (value, range.which) {
        (_, Which::NotAbove(name)) => not_above(value, name, operands, m),
        (Const::S64(n), Which::Multiples(1)) if (range.least, range.most) == (0, u32::MAX) => n >= 0,
        (Const::F64(x), _) => range.contains_float(x),
        (Const::F32Bits(bits), _) => range.contains_float(f32::from_bits(bits).into()),
        // Words, whether their sign is written or not.
        _ => value.int_bits().is_none_or(|bits| {
            let word = (i64::from(i32::MIN)..=u32::MAX.into()).contains(&(bits as i64));
            // Of barriers and their threads, the low 32 bits count.
            (word || m.opcode.starts_with("bar")) && range.contains(bits as u32)
        }),
    };
    if fits {
        return true;
    }
    let text = format!("`{}` must be {}", c.syntax.text(operand.span), range.in_words());
    c.report(Diagnostic::new(Code::BadOperand, text, operand.span));
    false
}

/// Whether a constant is at most the one in the place of that name, if there is a constant.
fn not_above(value: Const, name: &str, operands: &[Operand<'_>], m: &Match) -> bool {
    let other = m.slot(name).and_then(|s| operands.get(m.operands[s]?)).map(|o| o.kind);
    match (value.int_bits(), other) {
        (Some(bits), Some(Kind::Const(other))) => {
            other.int_bits().is_none_or(|most| bits as u32 <= most as u32)
        }
        _ => true,
    }
}

/// Whether a special register is read whole, or has halves.
fn special_fits(
    c: &mut Checker<'_>,
    operand: &Operand<'_>,
    special: &crate::special::Special,
    index: usize,
    m: &Match,
) -> bool {
    let slot = m.operands.iter().position(|o| *o == Some(index));
    let bits = slot.and_then(|s| m.operand_ty(s)).map_or(special.ty.bits(), Ty::bits);
    if bits >= special.ty.bits() || special.has_halves() {
        return true;
    }
    let text = format!("`{}` has {} bits, not {bits}", special.name, special.ty.bits());
    c.report(Diagnostic::new(Code::BadOperand, text, operand.span));
    false
}

/// Whether a variable, which may be one of another module, or a list of addresses is in it: neither is part of the shape.
fn names_memory(operand: &Operand<'_>, pool: &Pool<'_>) -> bool {
    match operand.kind {
        Kind::Variable { .. } | Kind::Function(_) => true,
        Kind::Address(Address { base, .. }) => matches!(base, Base::Variable(_) | Base::List(..)),
        Kind::Vector(first, count) => pool.slice(first, count).iter().any(|o| names_memory(o, pool)),
        Kind::Pair(first) => pool.slice(first, 2).iter().any(|o| names_memory(o, pool)),
        _ => false,
    }
}

/// The space the instruction's `n`th address is in; nothing for generic ones.
pub(crate) fn space_of(m: &Match, n: usize) -> Option<ir::Space> {
    let mut spaces = m.mods.iter().flatten().filter_map(|text| {
        let end = text.bytes().position(|b| matches!(b, b':' | b'['));
        Some(match &text[..end.unwrap_or(text.len())] {
            ".global" => ir::Space::Global,
            ".shared" => ir::Space::Shared,
            ".local" => ir::Space::Local,
            ".const" => ir::Space::Const,
            ".param" => ir::Space::Param,
            _ => return None,
        })
    });
    let first = spaces.next();
    // Copies name the space of the destination, then that of the source.
    if n == 0 { first } else { spaces.nth(n - 1).or(first) }
}
