//! Single instructions for `hostwarp eval`: no declarations, registers get the type of the place they first stand in.

use crate::body::{self, Interface, Role};
use crate::cache::to_isa;
use crate::check::Checker;
use crate::diagnostic::{Diagnostic, Sink};
use crate::operand::{Kind, Operand, Pool};
use crate::scope::{Entity, Reg};
use crate::{Options, Unusable};
use hostwarp_ir as ir;
use hostwarp_isa::{self as isa, Match, Profile, Ty, form, form::Class};
use hostwarp_syntax::{Block, Expr, ExprKind, Instruction, Span, Statement, parse};

/// Some instructions as a kernel of their own.
///
/// Its parameter block begins with the device address the outputs are stored at; the inputs follow. Every input and output has
/// [`STEP`](Self::STEP) bytes for itself, predicates take one byte, 0 or 1.
#[derive(Clone, Debug)]
pub struct Snippet {
    /// The kernel, not optimised, so that every named intermediate value is there.
    pub function: Result<ir::Function, Unusable>,
    /// Registers that are read before they are written; their offsets are in the parameter block.
    pub inputs: Vec<SnippetRegister>,
    /// Registers that are written; their offsets are from the address in the parameter block.
    pub outputs: Vec<SnippetRegister>,
    /// What there is to say; places are those of the text that was given.
    pub diagnostics: Vec<Diagnostic>,
}

/// A register of a [`Snippet`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnippetRegister {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Where its value is.
    pub offset: u32,
}

impl Snippet {
    /// How far inputs and outputs are apart.
    pub const STEP: u32 = 16;
}

const HEAD: &str = ".version 9.0\n.target sm_121\n.address_size 64\n.entry snippet() {\n";

/// Compiles one or more instructions separated by `;` (the last one may go without).
pub fn compile_snippet(text: &str, profile: Profile) -> Snippet {
    let with = |closing: &str| parse(format!("{HEAD}{text}{closing}"));
    let parsed = match text.trim_end().chars().last() {
        Some(';' | ':') => with("\n}\n"),
        // A brace may close a vector, which wants its `;`, or a block, which does not.
        Some('}') => Some(with("\n;\n}\n")).filter(|p| p.errors.is_empty()).unwrap_or_else(|| with("\n}\n")),
        _ => with("\n;\n}\n"),
    };
    let options = Options { profile, ..Options::default() };
    let modules = [("", &parsed)];
    let mut c = Checker::new(&modules, options);
    c.env = isa::Env::NEWEST;
    c.scopes.enter();
    let block = parsed.module.functions().next().and_then(|f| f.body());
    let mut interface = Interface::default();
    let mut names = Names::default();
    if let Some(block) = block {
        names.walk(&mut c, block);
    }
    c.guessed = names.in_order.iter().filter(|n| n.guessed).map(|n| n.reg.declaration).collect();
    // What was said while types were unknown is said again below, if it still holds.
    *c.sink() = Sink::new(options.max_diagnostics);
    for error in &parsed.errors {
        c.report(error.into());
    }
    let reads_only = |r: &&Name<'_>| r.read_first;
    let with_offsets = |list: Vec<&Name<'_>>, first: u32| -> Vec<SnippetRegister> {
        let register = |(i, n): (usize, &&Name<'_>)| SnippetRegister {
            name: n.text.to_string(),
            ty: n.reg.ty,
            offset: (i as u32 + first) * Snippet::STEP,
        };
        list.iter().enumerate().map(register).collect()
    };
    let read: Vec<&Name<'_>> = names.in_order.iter().filter(reads_only).collect();
    let mut written: Vec<&Name<'_>> = names.in_order.iter().filter(|n| n.written.is_some()).collect();
    written.sort_by_key(|n| n.written);
    interface.inputs = read.iter().map(|n| (n.reg, n.text.to_string())).collect();
    interface.outputs = written.iter().map(|n| n.reg).collect();
    let (inputs, outputs) = (with_offsets(read, 1), with_offsets(written, 0));
    let mut function = Err(Unusable::Invalid);
    if let Some(block) = block {
        c.scopes.enter();
        let result = body::check(&mut c, block, "snippet", Role::Snippet(&interface));
        function = result.function.and_then(|function| {
            let mut linked = hostwarp_ir::calls::link(&c.program, &function, Default::default())
                .map_err(|_| Unusable::Invalid)?;
            linked.info.param_bytes = (inputs.len() as u32 + 1) * Snippet::STEP;
            Ok(linked)
        });
    }
    let mut diagnostics = std::mem::replace(c.sink(), Sink::new(0)).finish();
    for d in &mut diagnostics {
        let within = |span: Span| {
            let at = |offset: u32| offset.saturating_sub(HEAD.len() as u32).min(text.len() as u32);
            Span::new(at(span.start), at(span.end))
        };
        d.primary.span = within(d.primary.span);
        d.secondary.retain(|l| l.span.start >= HEAD.len() as u32);
        d.secondary.iter_mut().for_each(|l| l.span = within(l.span));
    }
    Snippet { function, inputs, outputs, diagnostics }
}

/// What is known about a register.
struct Name<'m> {
    text: &'m str,
    reg: Reg,
    /// No instruction it stands in has told its type.
    guessed: bool,
    /// Read before it was written.
    read_first: bool,
    /// The number of the write that came first.
    written: Option<u32>,
}

#[derive(Default)]
struct Names<'m> {
    in_order: Vec<Name<'m>>,
    pool: Pool<'m>,
    writes: u32,
}

impl<'m> Names<'m> {
    fn walk(&mut self, c: &mut Checker<'m>, block: Block<'m>) {
        for statement in block.statements() {
            match statement {
                Statement::Block(inner) => self.walk(c, inner),
                Statement::Label(label) => {
                    _ = c.scopes.define(label.name.text, Entity::Broken, label.name.span)
                }
                _ => {}
            }
        }
        for statement in block.statements() {
            if let Statement::Instruction(instruction) = statement {
                self.instruction(c, instruction);
            }
        }
    }

    fn instruction(&mut self, c: &mut Checker<'m>, instruction: Instruction<'m>) {
        let mut fresh = vec![];
        if let Some(guard) = instruction.guard() {
            self.declare(c, guard.predicate, Ty::Pred, &mut vec![]);
        }
        for operand in instruction.operands() {
            match operand.kind() {
                ExprKind::Address(_) => self.declare(c, operand, Ty::U64, &mut vec![]),
                _ => self.declare(c, operand, Ty::B32, &mut fresh),
            }
        }
        for name in &fresh {
            self.in_order[*name].guessed = true;
        }
        let mods: Vec<&'m str> = instruction.modifiers().map(|m| c.syntax.text(m.span)).collect();
        let m = self.infer(c, instruction, &mods, &fresh);
        self.pool.clear();
        let operands: Vec<Operand<'m>> =
            instruction.operands().iter().map(|e| c.decorated_operand(e, &mut self.pool)).collect();
        if let Some(m) = &m {
            for (slot, place) in m.parsed.operands.iter().enumerate() {
                self.exact_type(c, m, slot, place.class, &operands, &fresh);
            }
            for name in &fresh {
                self.in_order[*name].guessed = false;
            }
        }
        let has_dest = m.as_ref().is_some_and(|m| m.parsed.operands.first().is_some_and(|o| o.dest));
        let guard = instruction.guard();
        if let Some(guard) = guard {
            self.note_reads(guard.predicate);
        }
        for (i, expr) in instruction.operands().iter().enumerate() {
            // A guarded instruction may leave its destination as it was.
            if i > 0 || !has_dest || guard.is_some() {
                self.note_reads(expr);
            }
        }
        if let Some(first) = instruction.operands().get(0).filter(|_| has_dest) {
            self.note_writes(first);
        }
    }

    /// Registers whose type is not known yet, in an operand.
    fn declare(&mut self, c: &mut Checker<'m>, expr: Expr<'m>, ty: Ty, fresh: &mut Vec<usize>) {
        for_each_name(expr, &mut |text, span| {
            if let Some(name) = self.in_order.iter().position(|n| n.guessed && n.text == text) {
                fresh.push(name);
                return;
            }
            let special = !matches!(crate::special::find(text), crate::special::Found::Nothing);
            if special || text == "WARP_SZ" || c.scopes.lookup(text).is_some() {
                return;
            }
            let reg = Reg { declaration: c.next_declaration, index: 0, element: 0, ty };
            c.next_declaration += 1;
            if c.scopes.define(text, Entity::Reg(reg, 1), span).is_ok() {
                fresh.push(self.in_order.len());
                self.in_order.push(Name { text, reg, guessed: false, read_first: false, written: None });
            }
        });
    }

    fn set_type(&mut self, c: &mut Checker<'m>, name: usize, ty: Ty) {
        let name = &mut self.in_order[name];
        name.reg.ty = ty;
        c.scopes.redefine(name.text, Entity::Reg(name.reg, 1));
    }

    /// Finds widths for the new registers so that the instruction has a form.
    fn infer(
        &mut self,
        c: &mut Checker<'m>,
        instruction: Instruction<'m>,
        mods: &[&'m str],
        fresh: &[usize],
    ) -> Option<Match> {
        let attempt = |names: &mut Self, c: &mut Checker<'m>| {
            names.pool.clear();
            let operands: Vec<Operand<'m>> =
                instruction.operands().iter().map(|e| c.decorated_operand(e, &mut names.pool)).collect();
            let operands: Vec<isa::Operand<'_>> = operands.iter().map(|o| to_isa(o, &names.pool)).collect();
            let instr = isa::Instr { opcode: instruction.opcode(), mods, operands: &operands };
            isa::resolve(&instr, c.env)
        };
        let forms = isa::find(instruction.opcode()).map_or(&[][..], |(entry, _)| &entry.forms);
        for form in forms {
            let Some(chosen) = place_modifiers(form, mods) else { continue };
            self.types_of_places(c, form, &chosen, instruction, fresh);
            if let Ok(m) = attempt(self, c) {
                return Some(m);
            }
        }
        // No form says it all: perhaps all registers are alike.
        for ty in [Ty::B64, Ty::B16, Ty::Pred, Ty::B128, Ty::B32] {
            fresh.iter().for_each(|n| self.set_type(c, *n, ty));
            if let Ok(m) = attempt(self, c) {
                return Some(m);
            }
        }
        None
    }

    /// Gives the new registers the widths the form has in their places.
    fn types_of_places(
        &mut self,
        c: &mut Checker<'m>,
        form: &form::Parsed,
        chosen: &[Option<Ty>],
        instruction: Instruction<'m>,
        fresh: &[usize],
    ) {
        let mut operands = instruction.operands().iter();
        let mut half = None;
        for place in &form.operands {
            let expr = if place.pair { half.take() } else { operands.next() };
            let Some(expr) = expr else { continue };
            let expr = match expr.kind() {
                ExprKind::Pair(a, b) => {
                    half = Some(b);
                    a
                }
                _ => expr,
            };
            let parts = match (expr.kind(), place.class) {
                (ExprKind::Vector(list), Class::Any(_)) => list.len().max(1) as u32,
                _ => 1,
            };
            let bits = match place.class {
                Class::Is(ty) => ty.bits(),
                Class::Slot(i) | Class::AtLeast(i) | Class::Vector(i) | Class::Any(i) => {
                    chosen[i].map_or(32, Ty::bits)
                }
                Class::Wide(i) => chosen[i].and_then(Ty::doubled).map_or(32, Ty::bits),
                _ => 32,
            };
            let ty = match bits / parts {
                1 => Ty::Pred,
                // Only where no wider register will do.
                8 if matches!(place.class, Class::Is(_) | Class::Slot(_)) => Ty::B8,
                8 | 16 => Ty::B16,
                64 => Ty::B64,
                128 => Ty::B128,
                _ => Ty::B32,
            };
            for_each_name(expr, &mut |text, _| {
                if let Some(name) = fresh.iter().find(|n| self.in_order[**n].text == text) {
                    self.set_type(c, *name, ty);
                }
            });
        }
    }

    /// Gives the new registers in a place the type of the place.
    fn exact_type(
        &mut self,
        c: &mut Checker<'m>,
        m: &Match,
        slot: usize,
        class: Class,
        operands: &[Operand<'m>],
        fresh: &[usize],
    ) {
        let Some(ty) = m.operand_ty(slot) else { return };
        // Only where no wider register will do.
        let exact = matches!(class, Class::Is(_) | Class::Slot(_));
        let ty = match ty {
            Ty::U8 | Ty::B8 if !exact => Ty::U16,
            Ty::S8 if !exact => Ty::S16,
            ty => ty.declared(),
        };
        let Some(operand) = m.operands[slot].and_then(|i| operands.get(i)) else { return };
        let parts = match operand.kind {
            Kind::Pair(first) => {
                let half = usize::from(m.parsed.operands[slot].pair);
                self.pool.slice(first, 2).get(half).map(std::slice::from_ref).unwrap_or_default()
            }
            Kind::Vector(first, count) if matches!(class, Class::Vector(_)) => self.pool.slice(first, count),
            Kind::Reg(_) => std::slice::from_ref(operand),
            _ => &[],
        };
        let regs: Vec<u32> = parts
            .iter()
            .filter_map(|p| if let Kind::Reg(reg) = p.kind { Some(reg.declaration) } else { None })
            .collect();
        for name in fresh {
            if regs.contains(&self.in_order[*name].reg.declaration) {
                self.set_type(c, *name, ty);
            }
        }
    }

    fn note_reads(&mut self, expr: Expr<'m>) {
        for_each_name(expr, &mut |text, _| {
            if let Some(name) = self.in_order.iter_mut().find(|n| n.text == text) {
                name.read_first |= name.written.is_none();
            }
        });
    }

    fn note_writes(&mut self, expr: Expr<'m>) {
        for_each_name(expr, &mut |text, _| {
            if let Some(name) = self.in_order.iter_mut().find(|n| n.text == text) {
                name.written = name.written.or(Some(self.writes));
                self.writes += 1;
            }
        });
    }
}

/// Calls `f` on every name in an operand; special registers come with their component.
fn for_each_name<'m>(expr: Expr<'m>, f: &mut dyn FnMut(&'m str, Span)) {
    match expr.kind() {
        ExprKind::Name(name) => f(name, expr.span()),
        ExprKind::Member(base, _) => match hostwarp_isa::special(expr.text()) {
            Some(_) => {}
            None => for_each_name(base, f),
        },
        ExprKind::Unary(_, inner) => for_each_name(inner, f),
        ExprKind::Binary(_, a, b) | ExprKind::Pair(a, b) => {
            for_each_name(a, f);
            for_each_name(b, f);
        }
        ExprKind::Vector(list) | ExprKind::Address(list) | ExprKind::Paren(list) => {
            list.iter().for_each(|e| for_each_name(e, f));
        }
        _ => {}
    }
}

/// The type in each modifier place of a form, if all modifiers have a place. Types keep their order.
fn place_modifiers(form: &form::Parsed, mods: &[&str]) -> Option<Vec<Option<Ty>>> {
    let mut taken = vec![false; form.mods.len()];
    let mut types = vec![None; form.mods.len()];
    let mut next_type = 0;
    for text in mods {
        let ty = Ty::parse(text);
        let first = if ty.is_some() { next_type } else { 0 };
        let free = |i: &usize| !taken[*i] && form.mods[*i].members.contains(text);
        let place = (first..form.mods.len()).find(free)?;
        (taken[place], types[place]) = (true, ty);
        if ty.is_some() {
            next_type = place + 1;
        }
    }
    Some(types)
}
