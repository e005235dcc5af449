//! Building functions: typed helpers for ops, and SSA construction for variables assigned many times.
//!
//! Variables follow Braun et al., "Simple and Efficient Construction of Static Single Assignment Form" (2013), with all
//! block arguments filled in at the end, when every predecessor is known.

use crate::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A variable: something with a type that may be assigned many times (a PTX register).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Var(pub u32);

/// Of a chain of blocks that leave a variable alone, every so many-th remembers what it holds.
const NOTED: usize = 8;

/// Builds a [`Function`] block by block.
pub struct Builder {
    func: Function,
    current: Block,
    line: u32,
    vars: Vec<Type>,
    /// What a variable holds at the end of a block, as far as known.
    defs: FxHashMap<(Block, Var), Value>,
    terminated: Vec<bool>,
    preds: Vec<Vec<Block>>,
    /// The variable behind each parameter of each block.
    param_vars: Vec<Vec<Var>>,
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
            preds: vec![vec![]],
            param_vars: vec![vec![]],
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
        self.preds.push(vec![]);
        self.param_vars.push(vec![]);
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
        for t in term.targets() {
            self.preds[t.block.index()].push(self.current);
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
        self.define_at_top(self.current, var)
    }

    /// Zero in the entry block, elsewhere a parameter that `finish` fills in.
    fn define_at_top(&mut self, block: Block, var: Var) -> Value {
        let v = self.func.new_value(self.vars[var.0 as usize]);
        let data = &mut self.func.blocks[block.index()];
        if block == Block::ENTRY {
            let zero =
                Inst { op: Op::Const(0), args: SmallVec::new(), guard: None, result: Some(v), line: 0 };
            data.insts.insert(0, zero);
        } else {
            data.params.push(v);
            self.param_vars[block.index()].push(var);
        }
        self.defs.insert((block, var), v);
        v
    }

    /// What the variable holds at the end of `block`. A loop, not recursion: a long chain of blocks must not use up the stack.
    fn read_at_end(&mut self, block: Block, var: Var) -> Value {
        let mut chain = vec![];
        let mut at = block;
        let v = loop {
            if let Some(&v) = self.defs.get(&(at, var)) {
                break v;
            }
            match self.preds[at.index()].as_slice() {
                [one] if at != Block::ENTRY && chain.len() < self.preds.len() => {
                    chain.push(at);
                    at = *one;
                }
                _ => break self.define_at_top(at, var),
            }
        };
        // A long way is not to be gone again; noting a short one at every step would cost more than going it.
        for b in chain.into_iter().skip(NOTED - 1).step_by(NOTED) {
            self.defs.insert((b, var), v);
        }
        v
    }

    /// Fills in all block arguments and returns the function, [verified](verify) in debug builds.
    pub fn finish(mut self) -> Function {
        // Reading a predecessor may make parameters there, so go round until no block has any left to fill.
        let mut filled = vec![0; self.func.blocks.len()];
        let mut sources = self.preds.clone();
        for list in &mut sources {
            list.sort_unstable();
            list.dedup();
        }
        loop {
            let mut changed = false;
            for (b, filled) in filled.iter_mut().enumerate() {
                while *filled < self.param_vars[b].len() {
                    let var = self.param_vars[b][*filled];
                    *filled += 1;
                    changed = true;
                    for &pred in &sources[b] {
                        let arg = self.read_at_end(pred, var);
                        for t in self.func.blocks[pred.index()].term.targets_mut() {
                            if t.block.index() == b {
                                t.args.push(arg);
                            }
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut func = self.func;
        opt::prune_unreachable(&mut func);
        opt::remove_trivial_params(&mut func);
        #[cfg(debug_assertions)]
        if let Err(e) = verify(&func) {
            panic!("builder made an invalid function: {e}\n{func}");
        }
        func
    }
}
