//! Instructions to core ops: operands become values, the room's meaning does the rest, results go back to registers.

use crate::body::space_of;
use crate::call::Signature;
use crate::check::Checker;
use crate::init::float_or_int_bits;
use crate::layout::{Place, ir_space};
use crate::operand::{Address, Base, Kind, Operand, Pool};
use crate::probe::Probing;
use crate::scope::{Entity, Reg};
use hostwarp_ir::{self as ir, Builder, Elem, Mem, Op, Special, Symbol, Type, Value, Var};
use hostwarp_isa::{Arg, Cx, Match, Profile, Ty, form::Class};
use hostwarp_syntax::{Const, Space};
use rustc_hash::FxHashMap;

/// How far the inputs and outputs of a snippet are apart.
const STEP: u64 = crate::Snippet::STEP as u64;

pub(crate) struct Emit {
    b: Builder,
    profile: Profile,
    address_size: u32,
    registers: FxHashMap<Reg, Var>,
    labels: FxHashMap<u32, ir::Block>,
    /// The slots of variables in local memory, by variable.
    slots: FxHashMap<u32, u32>,
    /// Where the caller has the parameters that are in `.param`, by variable.
    formals: FxHashMap<u32, Value>,
    /// The first free byte of local memory, which `alloca` moves.
    stack: Var,
    /// What the function returns in registers.
    results: Vec<Reg>,
    /// Where `ret` goes; it ends the thread if this is nothing.
    pub caller: Option<ir::Block>,
    /// The instruction at hand accesses the parameter of a call, which is in local memory.
    param_in_local: bool,
    /// The carry flag. Each function has its own: the manual leaves open what it is behind a call.
    flag: Var,
    pub probing: Probing,
    /// Whether each register has been written; only if somebody wants to know.
    defined: FxHashMap<Reg, Var>,
}

impl Emit {
    pub fn new(name: &str, profile: Profile, address_size: u32) -> Emit {
        let mut b = Builder::new(name);
        let stack = b.new_var(Type::I32);
        let top = b.inst(Op::Address(Symbol::StackTop), &[], Type::I32);
        b.set(stack, top);
        Emit {
            flag: b.new_var(Type::I1),
            b,
            profile,
            address_size,
            registers: FxHashMap::default(),
            labels: FxHashMap::default(),
            slots: FxHashMap::default(),
            formals: FxHashMap::default(),
            stack,
            results: vec![],
            caller: None,
            param_in_local: false,
            probing: Probing::default(),
            defined: FxHashMap::default(),
        }
    }

    /// Whether a register has been written: a variable that is false where nothing is assigned to it.
    pub fn defined(&mut self, reg: Reg) -> Var {
        let b = &mut self.b;
        *self.defined.entry(reg).or_insert_with(|| b.new_var(Type::I1))
    }

    pub fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }

    /// Control comes to a label.
    pub fn label(&mut self, label: u32) {
        let block = self.block_of(label);
        self.b.jump(block);
        self.b.switch_to(block);
    }

    pub fn block_of(&mut self, label: u32) -> ir::Block {
        let b = &mut self.b;
        *self.labels.entry(label).or_insert_with(|| b.new_block())
    }

    /// Ends the block with `term` where the guard holds; code goes on behind it otherwise.
    pub fn end(&mut self, guard: Option<(Reg, bool)>, term: ir::Term) {
        let next = self.b.new_block();
        if let Some((reg, negated)) = guard {
            let p = self.read(reg);
            let act = self.b.new_block();
            let (yes, no) = if negated { (next, act) } else { (act, next) };
            self.b.branch(p, yes, no);
            self.b.switch_to(act);
        }
        self.b.terminate(term);
        self.b.switch_to(next);
    }

    /// The function.
    pub fn finish(mut self) -> ir::Function {
        self.b.terminate(ir::Term::Exit);
        self.b.finish()
    }

    /// Makes a function of it: takes what callers hand in.
    pub fn take_params(&mut self, c: &Checker<'_>, signature: &Signature<'_>) {
        self.caller = Some(self.b.new_block());
        let formals = signature.returns.iter().map(|f| (true, f));
        for (returned, formal) in formals.chain(signature.params.iter().map(|f| (false, f))) {
            let Some(formal) = formal else { continue };
            let entity = formal.name.and_then(|name| c.scopes.lookup(name.text)).map(|b| b.entity);
            match (formal.spec.space, entity) {
                (Space::Reg, entity) => {
                    let ty = formal.spec.ty.container();
                    for element in 0..formal.spec.vector {
                        let reg = match entity {
                            Some(Entity::Reg(reg, _)) => Some(Reg { element, ..reg }),
                            _ => None,
                        };
                        if returned {
                            self.b.func().results.push(ty);
                            // A result without a name is never assigned, and 0.
                            let nameless =
                                Reg { declaration: u32::MAX, index: 0, element, ty: formal.spec.ty };
                            self.results.push(reg.unwrap_or(nameless));
                        } else {
                            let value = self.param(ty);
                            if let Some(reg) = reg {
                                let var = self.register(reg);
                                self.b.set(var, value);
                                if self.probing.probes.strict {
                                    let (defined, yes) = (self.defined(reg), self.b.iconst(Type::I1, 1));
                                    self.b.set(defined, yes);
                                }
                            }
                        }
                    }
                }
                (_, entity) => {
                    let value = self.param(Type::I32);
                    if let Some(Entity::Variable(index)) = entity {
                        self.formals.insert(index, value);
                    }
                }
            }
        }
    }

    fn param(&mut self, ty: Type) -> Value {
        let value = self.b.func().new_value(ty);
        self.b.func().params.push(value);
        value
    }

    /// The end of a function.
    pub fn return_results(&mut self) {
        let Some(done) = self.caller else { return };
        self.b.jump(done);
        self.b.switch_to(done);
        let results = std::mem::take(&mut self.results);
        let values = results.into_iter().map(|reg| self.read(reg)).collect();
        self.b.terminate(ir::Term::Return(values));
    }

    /// The first free byte of local memory.
    pub fn stack_top(&mut self) -> Value {
        self.b.get(self.stack)
    }

    /// A place in the frame for something that has no name.
    pub fn temporary(&mut self, size: u64, align: u64) -> Value {
        let slot = self.new_slot(size, align);
        self.b.inst(Op::Address(Symbol::Slot(slot)), &[], Type::I32)
    }

    fn new_slot(&mut self, size: u64, align: u64) -> u32 {
        let slots = &mut self.b.func().slots;
        slots.push(ir::Slot { size, align });
        slots.len() as u32 - 1
    }

    /// Where a variable in local memory, or a function's parameter, is.
    pub fn local_variable(&mut self, c: &Checker<'_>, index: u32) -> Value {
        if let Some(at) = self.formals.get(&index) {
            return *at;
        }
        let slot = match self.slots.get(&index) {
            Some(slot) => *slot,
            None => {
                let var = c.variables[index as usize];
                let slot = self.new_slot(var.size, var.align);
                self.slots.insert(index, slot);
                slot
            }
        };
        self.b.inst(Op::Address(Symbol::Slot(slot)), &[], Type::I32)
    }

    /// Gives a function's parameter a place of its own from the beginning on: somebody wants its address, and what is written there is not for
    /// the caller.
    fn own_copy(&mut self, c: &Checker<'_>, index: u32) {
        let Some(from) = self.formals.remove(&index) else { return };
        let var = c.variables[index as usize];
        let at = self.b.current();
        self.b.switch_to(ir::Block::ENTRY);
        let to = self.local_variable(c, index);
        self.copy(ir::Space::Local, from, to, var.size, var.align);
        self.b.switch_to(at);
    }

    /// Copies a variable in `.param` to local memory.
    pub fn copy_variable(&mut self, c: &Checker<'_>, index: u32, to: Value) {
        let var = c.variables[index as usize];
        match var.place {
            Place::At(at) => {
                let from = self.b.iconst(Type::I32, at);
                self.copy(ir::Space::Param, from, to, var.size, var.align);
            }
            _ => {
                let from = self.local_variable(c, index);
                self.copy(ir::Space::Local, from, to, var.size, var.align);
            }
        }
    }

    fn copy(&mut self, space: ir::Space, from: Value, to: Value, size: u64, align: u64) {
        let step = align.clamp(1, 8);
        let mut at = 0;
        while at < size {
            let bytes = [8, 4, 2, 1].into_iter().find(|n| *n <= step && at + n <= size).unwrap_or(1);
            let ty = match bytes {
                8 => Type::I64,
                4 => Type::I32,
                2 => Type::I16,
                _ => Type::I8,
            };
            let (from, to) =
                (self.b.int_imm(ir::IntBin::Add, from, at), self.b.int_imm(ir::IntBin::Add, to, at));
            let value = self.b.inst(Op::Load(Mem::weak(space)), &[from], ty);
            self.b.effect(Op::Store(Mem::weak(ir::Space::Local)), &[to, value], None);
            at += bytes;
        }
    }

    /// Loads the registers a snippet reads first, and has `ret` go to where its outputs are stored.
    pub fn load_inputs(&mut self, inputs: &[(Reg, String)]) {
        for (i, (reg, name)) in inputs.iter().enumerate() {
            let at = self.b.iconst(Type::I32, (i as u64 + 1) * STEP);
            let ty = reg.ty.container();
            let load = |b: &mut Builder, ty| b.inst(Op::Load(Mem::weak(ir::Space::Param)), &[at], ty);
            let value = if ty == Type::I1 {
                let byte = load(&mut self.b, Type::I8);
                self.b.cmp_imm(ir::IntCmp::Ne, byte, 0)
            } else {
                load(&mut self.b, ty)
            };
            let value = self.b.name(value, name);
            let var = self.register(*reg);
            self.b.set(var, value);
        }
        self.caller = Some(self.b.new_block());
    }

    /// Stores the registers a snippet writes.
    pub fn store_outputs(&mut self, outputs: &[Reg]) {
        if let Some(end) = self.caller {
            self.b.jump(end);
            self.b.switch_to(end);
        }
        let zero = self.b.iconst(Type::I32, 0);
        let out = self.b.inst(Op::Load(Mem::weak(ir::Space::Param)), &[zero], Type::I64);
        for (i, reg) in outputs.iter().enumerate() {
            let value = self.read(*reg);
            let value = if reg.ty == Ty::Pred { self.b.zext(value, Elem::I8) } else { value };
            let at = self.b.int_imm(ir::IntBin::Add, out, i as u64 * STEP);
            self.b.effect(Op::Store(Mem::weak(ir::Space::Global)), &[at, value], None);
        }
    }

    pub fn register(&mut self, reg: Reg) -> Var {
        let b = &mut self.b;
        *self.registers.entry(reg).or_insert_with(|| b.new_var(reg.ty.container()))
    }

    pub fn read(&mut self, reg: Reg) -> Value {
        let var = self.register(reg);
        self.b.get(var)
    }

    /// One instruction. The error says what is not supported yet.
    pub fn instruction(
        &mut self,
        c: &Checker<'_>,
        m: &Match,
        operands: &[Operand<'_>],
        pool: &Pool<'_>,
        guard: Option<(Reg, bool)>,
    ) -> Result<(), String> {
        if self.probing.probes.any() {
            self.may_yield(m, operands);
            let sources = (0..m.parsed.operands.len()).filter(|slot| !m.parsed.operands[*slot].dest);
            let sources = sources.filter_map(|slot| operand_at(m, operands, pool, slot));
            self.check_sources(c, sources, pool, guard);
        }
        let position = self.position();
        let guard = guard.map(|(reg, negated)| {
            let p = self.read(reg);
            if negated { self.b.not(p) } else { p }
        });
        self.param_in_local = false;
        let block = self.b.current().index();
        let first = self.b.func().blocks[block].insts.len();
        let places = m.parsed.operands.len();
        let mut args = Vec::with_capacity(places);
        let (mut selectors, mut negated, mut lens) = (vec![], vec![], vec![]);
        let mut addresses = 0;
        for slot in 0..places {
            let operand = operand_at(m, operands, pool, slot);
            selectors.push(operand.and_then(|o| o.selector));
            negated.push(operand.is_some_and(|o| o.neg));
            lens.push(match operand.map(|o| o.kind) {
                None => 0,
                Some(Kind::Vector(_, count)) => count as usize,
                Some(_) => 1,
            });
            let arg = match operand {
                None => Arg::None,
                Some(_) if m.parsed.operands[slot].dest => Arg::None,
                Some(Operand { kind: Kind::Address(address), .. }) => {
                    let space = space_of(m, addresses);
                    addresses += 1;
                    // What a register points to in a function's `.param` is what `mov` took the address of: the function's own parameter.
                    self.param_in_local |= self.caller.is_some()
                        && matches!(address.base, Base::Reg(_))
                        && space == Some(ir::Space::Param)
                        && !m.mods.iter().flatten().any(|name| *name == ".param::entry");
                    Arg::Address(self.address(c, *address, space)?)
                }
                Some(operand) => self.source(c, m, operand, pool, slot)?,
            };
            args.push(arg);
        }
        let mut cx = Cx {
            b: &mut self.b,
            m,
            args,
            selectors,
            negated,
            lens,
            guard,
            profile: self.profile,
            caller: self.caller,
            flag: self.flag,
            stack: self.stack,
            results: vec![],
            strict: self.probing.probes.strict,
        };
        m.give_meaning(&mut cx)?;
        let results = cx.results;
        if self.param_in_local {
            let block = self.b.current().index();
            let insts = self.b.func().blocks[block].insts.iter_mut().skip(first);
            for inst in insts {
                if let Op::Load(mem) | Op::Store(mem) = &mut inst.op
                    && mem.space == ir::Space::Param
                {
                    mem.space = ir::Space::Local;
                }
            }
        }
        self.probe_accesses(position);
        for (slot, values) in results {
            let Some(operand) = operand_at(m, operands, pool, slot) else { continue };
            let targets = match operand.kind {
                Kind::Vector(first, count) => pool.slice(first, count),
                _ => std::slice::from_ref(operand),
            };
            let signed = m.operand_ty(slot).is_some_and(Ty::is_signed);
            for (target, value) in targets.iter().zip(values) {
                if let Kind::Reg(reg) = target.kind {
                    self.write(reg, c.syntax.text(target.span), value, signed, guard)?;
                }
            }
        }
        Ok(())
    }

    /// Assigns a register, which has this name, where the guard holds.
    pub fn write(
        &mut self,
        reg: Reg,
        name: &str,
        value: Value,
        signed: bool,
        guard: Option<Value>,
    ) -> Result<(), String> {
        let var = self.register(reg);
        let value = self.fit(value, reg.ty.container(), signed)?;
        let value = match guard {
            None => value,
            Some(guard) => {
                let old = self.b.get(var);
                self.b.select(guard, value, old)
            }
        };
        self.b.set(var, value);
        if self.probing.probes.any() {
            self.wrote(reg, name, value, guard);
        }
        Ok(())
    }

    fn source(
        &mut self,
        c: &Checker<'_>,
        m: &Match,
        operand: &Operand<'_>,
        pool: &Pool<'_>,
        slot: usize,
    ) -> Result<Arg, String> {
        let want = m.operand_ty(slot);
        let own_width = matches!(m.parsed.operands[slot].class, Class::Any(_));
        match operand.kind {
            Kind::Label(label) => Ok(Arg::Label(self.block_of(label))),
            Kind::Vector(first, count) if own_width => {
                // The parts of a packed value: registers in their own width, constants in their share of the whole.
                let share = want.map_or(32, |t| t.bits() / count.max(1));
                let share = [Ty::B8, Ty::B16, Ty::B32, Ty::B64].into_iter().find(|t| t.bits() == share);
                let parts = pool.slice(first, count).iter().map(|part| match part.kind {
                    Kind::Const(_) => self.scalar(c, part, share),
                    _ => self.scalar(c, part, None),
                });
                Ok(Arg::Vector(parts.collect::<Result<_, _>>()?))
            }
            Kind::Vector(first, count) => {
                let parts = pool.slice(first, count);
                let values = parts.iter().map(|part| self.scalar(c, part, want));
                Ok(Arg::Vector(values.collect::<Result<_, _>>()?))
            }
            _ => Ok(Arg::Value(self.scalar(c, operand, want)?)),
        }
    }

    /// The bits of a scalar operand, in the width of `want` if that is given.
    pub fn scalar(
        &mut self,
        c: &Checker<'_>,
        operand: &Operand<'_>,
        want: Option<Ty>,
    ) -> Result<Value, String> {
        let value = match operand.kind {
            Kind::Reg(reg) => {
                let value = self.read(reg);
                if operand.plus == 0 {
                    value
                } else {
                    self.b.int_imm(ir::IntBin::Add, value, operand.plus as u64)
                }
            }
            Kind::Special(special) => special.read(&mut self.b),
            Kind::Const(value) => return self.constant(value, want.unwrap_or(Ty::B32)),
            Kind::Variable { index, offset } => {
                self.own_copy(c, index);
                let address = Address { base: Base::Variable(index), offset };
                self.address(c, address, Some(own_space(c, index)))?
            }
            Kind::Function(index) => {
                let n = c.program.taken.iter().position(|f| f.0 == index);
                self.b.iconst(Type::I64, n.map_or(0, ir::Module::address))
            }
            _ => return Err("such an operand".into()),
        };
        let value = match want {
            Some(want) => self.fit(value, want.container(), false)?,
            None => value,
        };
        Ok(if operand.not { self.b.not(value) } else { value })
    }

    fn constant(&mut self, value: Const, want: Ty) -> Result<Value, String> {
        let ty = want.container();
        if want == Ty::Pred {
            let bit = u64::from(value.int_bits().unwrap_or(0) != 0);
            return Ok(self.b.iconst(ty, bit));
        }
        // Where bits are wanted a float gives its own.
        let as_float = if want.bits() == 64 { Ty::F64 } else { Ty::F32 };
        let bits = float_or_int_bits(value, want).or_else(|| float_or_int_bits(value, as_float));
        let Some(bits) = bits.or(value.int_bits()) else { return Err("such a constant".into()) };
        if ty == Type::I64X2 {
            // Constants are 64 bits, and not extended by their sign.
            let (low, high) = (self.b.iconst(Type::I64, bits), self.b.iconst(Type::I64, 0));
            return Ok(self.b.build(&[low, high]));
        }
        Ok(self.b.iconst(ty, bits))
    }

    /// The value of an address in `space` (generic if that is nothing).
    fn address(
        &mut self,
        c: &Checker<'_>,
        address: Address,
        space: Option<ir::Space>,
    ) -> Result<Value, String> {
        let Address { base, offset } = address;
        match base {
            Base::Reg(reg) => {
                let mut value = self.read(reg);
                if reg.ty.bits() < 32 {
                    value = self.b.zext(value, Elem::I32);
                }
                if offset == 0 {
                    return Ok(value);
                }
                let offset = self.b.const_like(value, offset as u64);
                Ok(self.b.add(value, offset))
            }
            Base::Absolute => Ok(self.b.iconst(Type::I64, offset as u64)),
            Base::List(..) => Err("an address with several parts".into()),
            Base::Variable(index) => {
                let var = c.variables[index as usize];
                let symbol = |b: &mut Builder, symbol| b.inst(Op::Address(symbol), &[], Type::I32);
                let value = match var.place {
                    Place::At(at) if matches!(var.space, Space::Global | Space::Tex) => {
                        let globals = self.b.special(Special::GlobalsBase);
                        let at = self.b.iconst(Type::I64, at.wrapping_add(offset as u64));
                        let address = self.b.add(globals, at);
                        let narrow = self.address_size == 32;
                        return Ok(if narrow { self.b.zext(address, Elem::I32) } else { address });
                    }
                    Place::At(at) => self.b.iconst(Type::I32, at),
                    Place::Shared(n) => symbol(&mut self.b, Symbol::Shared(n)),
                    Place::Dynamic => {
                        let align = var.align.min(1 << 30) as u32;
                        symbol(&mut self.b, Symbol::DynamicShared { align })
                    }
                    Place::Local => {
                        self.param_in_local |= var.space == Space::Param;
                        self.local_variable(c, index)
                    }
                    Place::Elsewhere => return Err("a variable of another module".into()),
                };
                let value = self.b.int_imm(ir::IntBin::Add, value, offset as u64);
                if space.is_some() {
                    return Ok(value);
                }
                let wide = self.b.zext(value, Elem::I64);
                let window = self.b.iconst(Type::I64, ir_space(var.space).window());
                Ok(self.b.add(wide, window))
            }
        }
    }

    /// The same bits in another width: cut, or extended.
    fn fit(&mut self, v: Value, to: Type, signed: bool) -> Result<Value, String> {
        let b = &mut self.b;
        let from = b.ty(v);
        if from == to {
            return Ok(v);
        }
        if from.is_float() {
            let bits = b.to_bits(v, Ty::B32.container());
            return self.fit(bits, to, signed);
        }
        if from.bits() == to.bits() && to.elem != Elem::I1 {
            return Ok(b.bitcast(v, to));
        }
        match (from.count, to.count) {
            (1, 1) => Ok(b.ext(v, to.elem, signed)),
            (1, 2) if to == Type::I64X2 => {
                let low = b.ext(v, Elem::I64, signed);
                let high = match signed {
                    true => b.int_imm(ir::IntBin::ShrS, low, 63),
                    false => b.iconst(Type::I64, 0),
                };
                Ok(b.build(&[low, high]))
            }
            (2, 1) if from == Type::I64X2 => {
                let low = b.extract(v, 0);
                Ok(b.ext(low, to.elem, signed))
            }
            _ => Err(format!("a {from} where {to} is wanted")),
        }
    }
}

fn own_space(c: &Checker<'_>, index: u32) -> ir::Space {
    ir_space(c.variables[index as usize].space)
}

/// What stands in an operand place; of a pair, its half.
fn operand_at<'a, 'm>(
    m: &Match,
    operands: &'a [Operand<'m>],
    pool: &'a Pool<'m>,
    slot: usize,
) -> Option<&'a Operand<'m>> {
    let operand = operands.get(m.operands.get(slot).copied()??)?;
    match operand.kind {
        Kind::Pair(first) => pool.slice(first, 2).get(usize::from(m.parsed.operands[slot].pair)),
        _ => Some(operand),
    }
}
