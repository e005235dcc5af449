//! Probes: ops that tell whoever watches a launch where each lane is and with what ([`hostwarp_ir::SystemCall::Probe`]).
//!
//! They are put in while a function is lowered, before any pass: afterwards many an instruction is no longer there. A probe has an effect, so it
//! stays, and it stays in order. Without [`Probes`] nothing of all this is in the IR.

use crate::check::Checker;
use crate::emit::Emit;
use crate::operand::{Address, Base, Kind, Operand, Pool};
use crate::scope::Reg;
use hostwarp_ir::{self as ir, AtomicOp, Elem, Inst, MbarrierOp, Op, Order, SystemCall, Term, Type, Value};
use hostwarp_isa::{Match, Ty, Unspecified, probe};
use hostwarp_syntax::{Instruction, Span};

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Probes {
    /// Which instructions are executed, and where they access memory.
    pub execution: bool,
    /// What they write to registers.
    pub values: bool,
    /// Reliance on what is unspecified.
    pub strict: bool,
    /// No probes: threads may be suspended before every access to memory that others see.
    pub yields: bool,
}

impl Probes {
    /// Whether anything is.
    pub fn any(self) -> bool {
        self != Probes::default()
    }
}

/// A place in the program that a probe tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The line.
    pub line: u32,
    /// What happens there, and what the probe's operand is.
    pub what: SiteKind,
}

/// What happens at a [`Site`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// An instruction begins; the operand is 1 where its guard holds, else 0.
    Instruction {
        /// Opcode and modifiers.
        opcode: String,
        /// All of it, in one line.
        text: String,
    },
    /// Memory has been accessed; the operand is the address.
    Access {
        /// How.
        access: Access,
        /// Where, as the instruction says.
        space: ir::Space,
        /// Bytes of each lane.
        bytes: u32,
        /// It is ordered against others: volatile, relaxed and stronger, and all atomics.
        strong: bool,
    },
    /// What the access before this one has stored, from this offset on.
    Stored {
        /// From the address.
        offset: u32,
        /// How many bytes of the operand count.
        bytes: u32,
    },
    /// A copy has written shared memory: the operand is the address (low half) and the number of bytes (high half).
    Filled,
    /// A register has been written; the operand is what.
    Wrote {
        /// Its name.
        register: String,
        /// Its type.
        ty: Ty,
        /// The operand is the upper half of 128 bits; the lower one has been told before.
        upper: bool,
    },
    /// A register is read that was never written.
    Uninitialised {
        /// Its name.
        register: String,
    },
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Access {
    Load,
    Store,
    Atomic,
}

/// What [`Emit`] keeps for probes.
#[derive(Default)]
pub(crate) struct Probing {
    pub probes: Probes,
    /// The number of the first site.
    pub first: u64,
    pub sites: Vec<Site>,
}

impl Emit {
    fn site(&mut self, what: SiteKind) -> u64 {
        let line = self.builder().line();
        self.probing.sites.push(Site { line, what });
        self.probing.first + self.probing.sites.len() as u64 - 1
    }

    fn guard_value(&mut self, guard: Option<(Reg, bool)>) -> Option<Value> {
        let (reg, negated) = guard?;
        let p = self.read(reg);
        Some(if negated { self.builder().not(p) } else { p })
    }

    /// An instruction begins. The line is set.
    pub fn begin_instruction(
        &mut self,
        c: &Checker<'_>,
        instruction: Instruction<'_>,
        guard: Option<(Reg, bool)>,
    ) {
        let probes = self.probing.probes;
        if !probes.any() {
            return;
        }
        if let (true, Some((reg, _)), Some(at)) = (probes.strict, guard, instruction.guard()) {
            self.check_defined(reg, at.predicate.text(), None);
        }
        if probes.execution {
            let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let opcode = c.syntax.text(instruction.mnemonic_span()).to_string();
            let text = one_line(c.syntax.text(instruction.span()).trim_end_matches(';'));
            let site = self.site(SiteKind::Instruction { opcode, text });
            let runs = match self.guard_value(guard) {
                Some(p) => self.builder().zext(p, Elem::I64),
                None => self.builder().iconst(Type::I64, 1),
            };
            probe(self.builder(), site, runs, None);
        }
    }

    /// Reports the register where it was never written, and the guard holds.
    fn check_defined(&mut self, reg: Reg, name: &str, guard: Option<Value>) {
        let defined = self.defined(reg);
        let b = self.builder();
        let defined = b.get(defined);
        let mut missing = b.not(defined);
        if let Some(guard) = guard {
            missing = b.and(guard, missing);
        }
        let zero = b.iconst(Type::I64, 0);
        let site = self.site(SiteKind::Uninitialised { register: name.to_string() });
        probe(self.builder(), site, zero, Some(missing));
    }

    /// Looks at the registers that operands read.
    pub fn check_sources<'a, 'm: 'a>(
        &mut self,
        c: &Checker<'_>,
        operands: impl IntoIterator<Item = &'a Operand<'m>>,
        pool: &Pool<'m>,
        guard: Option<(Reg, bool)>,
    ) {
        if !self.probing.probes.strict {
            return;
        }
        let guard = self.guard_value(guard);
        let mut open: Vec<(&Operand<'m>, Span)> = operands.into_iter().map(|o| (o, o.span)).collect();
        while let Some((operand, span)) = open.pop() {
            match operand.kind {
                Kind::Reg(reg) | Kind::Address(Address { base: Base::Reg(reg), .. }) => {
                    let text = c.syntax.text(span).trim_matches(['[', ']', '-', '!', ' ']);
                    let name = text.split(['+', ' ']).next().unwrap_or(text);
                    self.check_defined(reg, name, guard);
                }
                Kind::Vector(first, count) => {
                    open.extend(pool.slice(first, count).iter().map(|part| (part, part.span)));
                }
                Kind::Pair(first) => {
                    open.extend(pool.slice(first, 2).iter().map(|part| (part, part.span)));
                }
                _ => {}
            }
        }
    }

    /// A register has been assigned `value`, where the guard held.
    pub fn wrote(&mut self, reg: Reg, name: &str, value: Value, guard: Option<Value>) {
        let probes = self.probing.probes;
        if probes.strict {
            let var = self.defined(reg);
            let b = self.builder();
            let defined = match guard {
                Some(guard) => {
                    let before = b.get(var);
                    b.or(before, guard)
                }
                None => b.iconst(Type::I1, 1),
            };
            b.set(var, defined);
        }
        if probes.values {
            let (register, ty) = (name.to_string(), reg.ty);
            let halves = if ty.container() == Type::I64X2 { 2 } else { 1 };
            for half in 0..halves {
                let b = self.builder();
                let part = if halves == 2 { b.extract(value, half) } else { value };
                let part = if b.ty(part) == Type::I64 { part } else { b.zext(part, Elem::I64) };
                let what = SiteKind::Wrote { register: register.clone(), ty, upper: half == 1 };
                let site = self.site(what);
                probe(self.builder(), site, part, guard);
            }
        }
    }

    /// Where an instruction begins that may access memory others see.
    pub fn may_yield(&mut self, m: &Match, operands: &[Operand<'_>]) {
        let addressed = |o: &Operand<'_>| matches!(o.kind, Kind::Address(_));
        if !self.probing.probes.yields || !operands.iter().any(addressed) {
            return;
        }
        let own = [ir::Space::Param, ir::Space::Const, ir::Space::Local];
        if crate::body::space_of(m, 0).is_some_and(|space| own.contains(&space)) {
            return;
        }
        // Waits for nobody, and no pass takes it away.
        let b = self.builder();
        let (nobody, next) = (b.iconst(Type::I32, 0), b.new_block());
        b.terminate(Term::WarpSync { mask: nobody, next: ir::Target::new(next) });
        b.switch_to(next);
    }

    /// Where the function is now, to [find](Emit::probe_accesses) what has been added since.
    pub fn position(&mut self) -> (usize, usize, usize) {
        let block = self.builder().current().index();
        let func = self.builder().func();
        (block, func.blocks[block].insts.len(), func.blocks.len())
    }

    /// Puts a probe behind each access to memory since.
    pub fn probe_accesses(&mut self, (block, first, blocks): (usize, usize, usize)) {
        let probes = self.probing.probes;
        if !probes.execution && !probes.strict {
            return;
        }
        let all = self.builder().func().blocks.len();
        for (b, from) in std::iter::once((block, first)).chain((blocks..all).map(|b| (b, 0))) {
            let mut insts = std::mem::take(&mut self.builder().func().blocks[b].insts);
            let rest = insts.split_off(from.min(insts.len()));
            for inst in rest {
                let (op, guard, line) = (inst.op, inst.guard, inst.line);
                let (address, value) = (inst.args.first().copied(), inst.args.last().copied());
                let result = inst.result;
                insts.push(inst);
                if let Op::Atomic(AtomicOp::System(call), _) = op
                    && let (Some(address), Some(operand)) = (address, value)
                {
                    let mut add = Adding { emit: self, insts: &mut insts, guard, line };
                    add.probe_system(call, address, operand);
                    continue;
                }
                let (Some(mem), Some(address)) = (op.mem(), address) else { continue };
                let (access, touched) = match op {
                    Op::Load(_) => (Access::Load, result),
                    Op::Store(_) => (Access::Store, value),
                    _ => (Access::Atomic, result),
                };
                let Some(touched) = touched else { continue };
                let mut add = Adding { emit: self, insts: &mut insts, guard, line };
                let ty = add.emit.builder().ty(touched);
                let strong = access == Access::Atomic || mem.order != Order::Weak;
                let what = SiteKind::Access { access, space: mem.space, bytes: ty.bytes() as u32, strong };
                let wide = add.wide(address);
                add.probe(what, wide);
                // Of other spaces no access is kept for them to belong to.
                let shadowed = matches!(mem.space, ir::Space::Shared | ir::Space::Generic);
                if access == Access::Store && probes.strict && shadowed {
                    let bytes = ty.elem.bytes() as u32;
                    let bits = match ty.is_float() {
                        true => add.inst(Op::ToBits, touched, ty.to_int()),
                        false => touched,
                    };
                    for n in 0..ty.count {
                        let int = ty.to_int();
                        let part = match ty.count {
                            1 => bits,
                            _ => add.inst(Op::Extract(n), bits, Type::new(int.elem, 1)),
                        };
                        let wide = add.wide(part);
                        add.probe(SiteKind::Stored { offset: u32::from(n) * bytes, bytes }, wide);
                    }
                }
            }
            self.builder().func().blocks[b].insts = insts;
        }
    }
}

/// Adds instructions to a block that is not the builder's.
struct Adding<'a> {
    emit: &'a mut Emit,
    insts: &'a mut Vec<Inst>,
    guard: Option<Value>,
    line: u32,
}

impl Adding<'_> {
    fn push(&mut self, op: Op, args: &[Value], guard: Option<Value>, ty: Type) -> Value {
        let result = self.emit.builder().func().new_value(ty);
        let args = args.iter().copied().collect();
        self.insts.push(Inst { op, args, guard, result: Some(result), line: self.line });
        result
    }

    fn inst(&mut self, op: Op, arg: Value, ty: Type) -> Value {
        self.push(op, &[arg], None, ty)
    }

    fn wide(&mut self, v: Value) -> Value {
        match self.emit.builder().ty(v) {
            Type::I64 => v,
            _ => self.inst(Op::Zext, v, Type::I64),
        }
    }

    /// What system calls do to memory.
    fn probe_system(&mut self, call: SystemCall, address: Value, operand: Value) {
        let at = |access, bytes| SiteKind::Access { access, space: ir::Space::Generic, bytes, strong: true };
        match call {
            SystemCall::CopyIn | SystemCall::CopyFew => self.probe(SiteKind::Filled, operand),
            SystemCall::WideExch | SystemCall::WideCas => self.probe(at(Access::Atomic, 16), address),
            SystemCall::Mbarrier(MbarrierOp::Wait) => {}
            SystemCall::Mbarrier(MbarrierOp::Init) => {
                self.probe(at(Access::Store, 8), address);
                if self.emit.probing.probes.strict {
                    self.probe(SiteKind::Stored { offset: 0, bytes: 8 }, operand);
                }
            }
            SystemCall::Mbarrier(_) => self.probe(at(Access::Atomic, 8), address),
            _ => {}
        }
    }

    fn probe(&mut self, what: SiteKind, operand: Value) {
        let site = self.emit.site(what);
        let site = self.push(Op::Const(site), &[], None, Type::I64);
        let mem = ir::Mem { order: Order::Relaxed, ..ir::Mem::weak(ir::Space::Global) };
        let op = Op::Atomic(AtomicOp::System(SystemCall::Probe), mem);
        self.push(op, &[site, operand], self.guard, Type::I64);
    }
}

/// The number of a module's first site.
pub const FIRST_SITE: u64 = Unspecified::SITES;
