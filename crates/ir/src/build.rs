//! Building functions: typed helpers for ops, and SSA construction for variables assigned many times.
//!
//! While a function is built, reading a variable that its block has not assigned gives a value that stands for whatever it will be; what that is, and which blocks
//! take it as a parameter, is filled in at the end (`ssa.rs`), when every predecessor is known.

use crate::ssa::Note;
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A variable: something with a type that may be assigned many times (a PTX register).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var(pub u32);

/// Builds a [`Function`] block by block.
pub struct Builder {
    func: Function,
    current: Block,
    line: u32,
    vars: Vec<Type>,
    /// What a variable holds at the end of a block, as far as known.
    defs: FxHashMap<(Block, Var), Value>,
    terminated: Vec<bool>,
    /// What stands for a variable at the start of a block.
    reads: Vec<Note>,
}

/// Typed construction of ops. The verifier checks that arguments have the types [`Op`] documents.
impl Builder {
    /// Starts a function. The current block is a fresh one behind the entry, so that code may jump back to its beginning.
    pub fn new(name: impl Into<String>) -> Builder {
        let mut b = Builder {
            func: Function::new(name),
            current: Block::ENTRY,
            line: 0,
            vars: vec![],
            defs: FxHashMap::default(),
            terminated: vec![false],
            reads: vec![],
        };
        let start = b.new_block();
        b.jump(start);
        b.switch_to(start);
        b
    }

    /// The function so far.
    pub fn func(&mut self) -> &mut Function {
        &mut self.func
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.func.ty(v)
    }

    /// Instructions made from now on come from this source line.
    pub fn set_line(&mut self, line: u32) {
        self.line = line;
    }

    /// The source line of instructions made now.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Gives an intermediate value the name it has in the manual, for `eval --trace`. Returns the value.
    pub fn name(&mut self, v: Value, name: &str) -> Value {
        self.func.names.insert(v, name.to_string());
        v
    }

    /// Appends an instruction with a result.
    pub fn inst(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        self.guarded(op, args, None, ty)
    }

    /// Appends a guarded instruction with a result.
    pub fn guarded(&mut self, op: Op, args: &[Value], guard: Option<Value>, ty: Type) -> Value {
        let result = self.func.new_value(ty);
        let inst =
            Inst { op, args: SmallVec::from_slice(args), guard, result: Some(result), line: self.line };
        self.func.blocks[self.current.index()].insts.push(inst);
        result
    }

    /// Appends an instruction without a result.
    pub fn effect(&mut self, op: Op, args: &[Value], guard: Option<Value>) {
        let inst = Inst { op, args: SmallVec::from_slice(args), guard, result: None, line: self.line };
        self.func.blocks[self.current.index()].insts.push(inst);
    }

    /// A constant; `bits` is one element, repeated.
    pub fn iconst(&mut self, ty: Type, bits: u64) -> Value {
        self.inst(Op::Const(bits & ty.elem.mask()), &[], ty)
    }

    /// A constant like `v` in type.
    pub fn const_like(&mut self, v: Value, bits: u64) -> Value {
        self.iconst(self.ty(v), bits)
    }

    /// A two-operand integer op.
    pub fn int(&mut self, op: IntBin, a: Value, b: Value) -> Value {
        self.inst(Op::Int(op), &[a, b], self.ty(a))
    }

    /// A two-operand integer op with a constant on the right.
    pub fn int_imm(&mut self, op: IntBin, a: Value, b: u64) -> Value {
        let b = self.const_like(a, b);
        self.int(op, a, b)
    }

    /// a + b
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Add, a, b)
    }

    /// a − b
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Sub, a, b)
    }

    /// a · b
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Mul, a, b)
    }

    /// a & b
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::And, a, b)
    }

    /// a | b
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Or, a, b)
    }

    /// a ^ b
    pub fn xor(&mut self, a: Value, b: Value) -> Value {
        self.int(IntBin::Xor, a, b)
    }

    /// A one-operand integer op.
    pub fn int_un(&mut self, op: IntUn, a: Value) -> Value {
        self.inst(Op::IntUn(op), &[a], self.ty(a))
    }

    /// Bitwise complement.
    pub fn not(&mut self, a: Value) -> Value {
        self.int_un(IntUn::Not, a)
    }

    /// An integer comparison.
    pub fn cmp(&mut self, op: IntCmp, a: Value, b: Value) -> Value {
        self.inst(Op::Cmp(op), &[a, b], self.ty(a).with(Elem::I1))
    }

    /// An integer comparison with a constant on the right.
    pub fn cmp_imm(&mut self, op: IntCmp, a: Value, b: u64) -> Value {
        let b = self.const_like(a, b);
        self.cmp(op, a, b)
    }

    /// c ? a : b
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.inst(Op::Select, &[c, a, b], self.ty(a))
    }

    /// To `elem`, zero-extended or truncated; the same value if it has that width already.
    pub fn zext(&mut self, v: Value, elem: Elem) -> Value {
        self.resize(v, elem, Op::Zext)
    }

    /// To `elem`, sign-extended or truncated; the same value if it has that width already.
    pub fn sext(&mut self, v: Value, elem: Elem) -> Value {
        self.resize(v, elem, Op::Sext)
    }

    /// To `elem`, extended as `signed` says, or truncated.
    pub fn ext(&mut self, v: Value, elem: Elem, signed: bool) -> Value {
        self.resize(v, elem, if signed { Op::Sext } else { Op::Zext })
    }

    fn resize(&mut self, v: Value, elem: Elem, widen: Op) -> Value {
        let ty = self.ty(v);
        let to = ty.with(elem);
        match to.elem.bits().cmp(&ty.elem.bits()) {
            std::cmp::Ordering::Equal => v,
            std::cmp::Ordering::Greater => self.inst(widen, &[v], to),
            std::cmp::Ordering::Less => self.inst(Op::Trunc, &[v], to),
        }
    }

    /// The same bits as another integer type of the same total width.
    pub fn bitcast(&mut self, v: Value, ty: Type) -> Value {
        if self.ty(v) == ty { v } else { self.inst(Op::Bitcast, &[v], ty) }
    }

    /// Integer bits as a float type of the same total width (an `i32` becomes `f16x2` in one step).
    pub fn from_bits(&mut self, v: Value, ty: Type) -> Value {
        let bits = self.bitcast(v, ty.to_int());
        self.inst(Op::FromBits, &[bits], ty)
    }

    /// The bits of a float as an integer type of the same total width.
    pub fn to_bits(&mut self, v: Value, ty: Type) -> Value {
        let bits = self.inst(Op::ToBits, &[v], self.ty(v).to_int());
        self.bitcast(bits, ty)
    }

    /// One element of a packed value.
    pub fn extract(&mut self, v: Value, i: u8) -> Value {
        if self.ty(v).count == 1 { v } else { self.inst(Op::Extract(i), &[v], Type::scalar(self.ty(v).elem)) }
    }

    /// Packs scalars, element 0 first.
    pub fn build(&mut self, elems: &[Value]) -> Value {
        if let [one] = elems {
            return *one;
        }
        self.inst(Op::Build, elems, Type::new(self.ty(elems[0]).elem, elems.len() as u8))
    }

    /// The same scalar in every element.
    pub fn splat(&mut self, v: Value, count: u8) -> Value {
        self.build(&vec![v; count as usize])
    }

    /// A float constant given as bits of one element.
    pub fn fconst(&mut self, ty: Type, bits: u64) -> Value {
        self.inst(Op::Const(bits), &[], ty)
    }

    /// A float comparison.
    pub fn fcmp(&mut self, op: FCmp, a: Value, b: Value) -> Value {
        self.inst(Op::FCmp(op), &[a, b], self.ty(a).with(Elem::I1))
    }

    /// A two-operand float op.
    pub fn float(&mut self, op: FBin, round: Round, ftz: bool, a: Value, b: Value) -> Value {
        self.inst(Op::Float { op, round, ftz }, &[a, b], self.ty(a))
    }

    /// Asks the machine.
    pub fn special(&mut self, s: Special) -> Value {
        let ty = if s.is_wide() { Type::I64 } else { Type::I32 };
        self.inst(Op::Special(s), &[], ty)
    }
}

/// Blocks and variables.
impl Builder {
    /// A new, empty block.
    pub fn new_block(&mut self) -> Block {
        self.func.blocks.push(BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 });
        self.terminated.push(false);
        Block(self.func.blocks.len() as u32 - 1)
    }

    /// The block instructions go to.
    pub fn current(&self) -> Block {
        self.current
    }

    /// Continues in `block`.
    pub fn switch_to(&mut self, block: Block) {
        self.current = block;
    }

    /// Whether the current block has its terminator.
    pub fn is_terminated(&self) -> bool {
        self.terminated[self.current.index()]
    }

    /// Ends the current block. Does nothing if it is ended already (code after an unconditional branch).
    pub fn terminate(&mut self, term: Term) {
        if self.is_terminated() {
            return;
        }
        let data = &mut self.func.blocks[self.current.index()];
        data.term = term;
        data.term_line = self.line;
        self.terminated[self.current.index()] = true;
    }

    /// Ends the current block with a jump.
    pub fn jump(&mut self, to: Block) {
        self.terminate(Term::Jump(Target::new(to)));
    }

    /// Ends the current block with a branch.
    pub fn branch(&mut self, cond: Value, yes: Block, no: Block) {
        self.terminate(Term::Branch(cond, Target::new(yes), Target::new(no)));
    }

    /// A new variable; reading it before any assignment gives 0.
    pub fn new_var(&mut self, ty: Type) -> Var {
        self.vars.push(ty);
        Var(self.vars.len() as u32 - 1)
    }

    /// The type of a variable.
    pub fn var_type(&self, var: Var) -> Type {
        self.vars[var.0 as usize]
    }

    /// Assigns a variable in the current block.
    pub fn set(&mut self, var: Var, v: Value) {
        debug_assert_eq!(self.ty(v), self.var_type(var));
        self.defs.insert((self.current, var), v);
    }

    /// Reads a variable in the current block.
    pub fn get(&mut self, var: Var) -> Value {
        if let Some(&v) = self.defs.get(&(self.current, var)) {
            return v;
        }
        self.stand_in(var)
    }

    /// Something to stand for what it is at the start of the current block, until `finish` knows.
    fn stand_in(&mut self, var: Var) -> Value {
        let v = self.func.new_value(self.vars[var.0 as usize]);
        self.reads.push(Note { var: var.0, block: self.current.0, value: v });
        self.defs.insert((self.current, var), v);
        v
    }

    /// Goes on with a finished function: its blocks may be switched to and changed, and variables read and assigned in them.
    pub(crate) fn resume(func: Function) -> Builder {
        Builder {
            current: Block::ENTRY,
            line: 0,
            vars: vec![],
            defs: FxHashMap::default(),
            terminated: vec![true; func.blocks.len()],
            reads: vec![],
            func,
        }
    }

    /// As [`finish`](Self::finish), each first value replaced by the second one everywhere.
    pub(crate) fn finish_with(mut self, replaced: &[(Value, Value)]) -> Function {
        let mut subst = subst::Subst::new(&self.func);
        for (old, new) in replaced {
            subst.set(*old, *new);
        }
        self.defs.values_mut().for_each(|v| *v = subst.find(*v));
        subst.apply(&mut self.func);
        self.finish()
    }

    /// Fills in all block arguments and returns the function, [verified](verify) in debug builds.
    pub fn finish(mut self) -> Function {
        let mut func = self.func;
        let number = passes::unreachable::prune_unreachable(&mut func);
        let keep = |note: Note| match &number {
            None => Some(note),
            Some(number) => number[note.block as usize].map(|b| Note { block: b.0, ..note }),
        };
        let stands_in: FxHashMap<(u32, u32), Value> =
            self.reads.iter().map(|r| ((r.block, r.var), r.value)).collect();
        let written = |((block, var), value): ((Block, Var), Value)| {
            // What was only read is as it was.
            let only_read = stands_in.get(&(block.0, var.0)) == Some(&value);
            (!only_read).then_some(Note { var: var.0, block: block.0, value })
        };
        let writes =
            std::mem::take(&mut self.defs).into_iter().filter_map(written).filter_map(keep).collect();
        let reads = std::mem::take(&mut self.reads).into_iter().filter_map(keep).collect();
        ssa::fill_in(&mut func, reads, writes);
        passes::params::remove_trivial_params(&mut func);
        #[cfg(debug_assertions)]
        if let Err(e) = verify(&func) {
            panic!("builder made an invalid function: {e}\n{func}");
        }
        func
    }
}
