//! What a meaning works with: the operands as values, a builder, and the places results go to.

use crate::matching::Match;
use crate::ty::Ty;
use hostwarp_ir::{
    AtomicOp, Block, Builder, Elem, IntBin, IntCmp, Mem, Op, Order, Scope, Space, SystemCall, Target, Term,
    Type, Value, Var,
};

/// Whose bits are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Profile {
    /// What the manual says, by the letter.
    #[default]
    Isa,
    /// What an H200 does with code from ptxas at -O0.
    Sm90,
}

/// An operand as the meaning sees it.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The place is empty, or a destination.
    None,
    /// The bits of a register or constant, in the width of the place's type (`i1` for predicates; complemented already if
    /// it has `!`).
    Value(Value),
    /// The elements of a vector, each in the width of the place's type.
    Vector(Vec<Value>),
    /// A device address in brackets, offset added: i32 or i64, relative to the instruction's state space.
    Address(Value),
    /// A label.
    Label(Block),
}

/// Why an instruction could not be given its meaning: PTX that is not done yet. The text says what.
pub type Outcome = Result<(), String>;

/// The surroundings of a meaning.
pub struct Cx<'a> {
    /// Where core ops go.
    pub b: &'a mut Builder,
    /// What stands where.
    pub m: &'a Match,
    /// For each operand place.
    pub args: Vec<Arg>,
    /// For each operand place its selector, with the dot.
    pub selectors: Vec<Option<&'a str>>,
    /// For each operand place whether it has a minus.
    pub negated: Vec<bool>,
    /// For each operand place how many elements its vector has in the text (1 for a plain register, 0 if the place is empty).
    pub lens: Vec<usize>,
    /// The guard predicate, complemented already if `@!p`. Results are merged under it by the caller; ops with side effects must take it.
    pub guard: Option<Value>,
    /// Whose bits.
    pub profile: Profile,
    /// Where `ret` goes: the caller of a function, `None` in a kernel.
    pub caller: Option<Block>,
    /// The carry flag `CC.CF`.
    pub flag: Var,
    /// The first free byte of the thread's stack in local memory (i32), which `alloca` moves.
    pub stack: Var,
    /// Where results go: operand place, elements.
    pub results: Vec<(usize, Vec<Value>)>,
    /// Whether reliance on what the manual leaves open is looked for: see [`Cx::unspecified`].
    pub strict: bool,
}

/// What the manual leaves open, or undefined, and a strict launch refuses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unspecified {
    /// An integer is divided by zero.
    DivisionByZero,
    /// A shuffle reads a lane that does not take part; the operand is its number.
    ShuffleSource,
    /// A lane takes part in something its own mask does not name it for; the operand is the mask.
    NotInMask,
}

impl Unspecified {
    /// Every one. The number of the probe that tells of it is its index here.
    pub const ALL: [Unspecified; 3] =
        [Unspecified::DivisionByZero, Unspecified::ShuffleSource, Unspecified::NotInMask];
    /// Probes with lower numbers are kept for these and for [`Background`].
    pub const SITES: u64 = 32;
    /// The probe that tells of lanes that are about to synchronise with others, memory included.
    pub const SYNCHRONISES: u64 = 15;
    /// The probe that tells of lanes that have synchronised with others and go on.
    pub const RESUMES: u64 = 14;
}

/// What a strict launch is told of copies that go on in the background. Engines do them where they stand; on a GPU who reads too early sees old data.
/// Places are an address in shared memory (low half of the operand) and a number of bytes (high half); phases an mbarrier and its parity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Background {
    /// (place): `cp.async` writes there.
    Copies,
    /// What this thread has begun is a group.
    Commits,
    /// (groups): the thread waits for all groups but so many, those committed last.
    Waits,
    /// The thread waits for all that it has begun.
    WaitsForAll,
    /// (phase): what this thread has begun is done before that phase ends.
    Follows,
    /// (place): a bulk copy writes there.
    BulkWrites,
    /// (place): a bulk copy reads there.
    BulkReads,
    /// (phase): the bulk copy that the thread has just begun is done before that phase ends.
    Reports,
    /// The bulk copy that the thread has just begun is one of its next group.
    Joins,
    /// As `Commits`, bulk copies.
    BulkCommits,
    /// As `Waits`, bulk copies.
    BulkWaits,
    /// (phase): the thread has seen that it has ended.
    Ended,
}

impl Background {
    const FIRST: u64 = 16;
    const ALL: [Background; 12] = {
        use Background::*;
        [
            Copies,
            Commits,
            Waits,
            WaitsForAll,
            Follows,
            BulkWrites,
            BulkReads,
            Reports,
            Joins,
            BulkCommits,
            BulkWaits,
            Ended,
        ]
    };

    /// What the probe with this number tells of.
    pub fn at(site: u64) -> Option<Background> {
        Background::ALL.get(site.checked_sub(Background::FIRST)? as usize).copied()
    }
}

/// How probes access memory: not at all.
const NO_MEMORY: Mem = Mem { space: Space::Global, order: Order::Relaxed, scope: Scope::Cta };

/// Tells who watches the launch that lanes are at the place with this number, with an operand (i64).
pub fn probe(b: &mut Builder, site: u64, operand: Value, guard: Option<Value>) {
    let site = b.iconst(Type::I64, site);
    b.guarded(Op::Atomic(AtomicOp::System(SystemCall::Probe), NO_MEMORY), &[site, operand], guard, Type::I64);
}

impl Match {
    /// Whether the form has a meaning; names it otherwise.
    pub fn has_meaning(&self) -> Outcome {
        if !self.parsed.form.later && self.unclear.is_none() {
            return Ok(());
        }
        if self.unclear.is_some() {
            return Err(format!("this operand of `{}`, which ptxas takes and no manual has,", self.opcode));
        }
        let mods: String = self.mods.iter().flatten().copied().collect();
        Err(format!("the instruction `{}{mods}`", self.opcode))
    }

    /// Builds the meaning; fails where the form has none yet.
    pub fn give_meaning(&self, cx: &mut Cx<'_>) -> Outcome {
        self.has_meaning()?;
        (self.room.meaning)(cx)
    }
}

impl Cx<'_> {
    fn slot(&self, name: &str) -> usize {
        self.m.slot(name).unwrap_or_else(|| panic!("{} has no operand `{name}`", self.m.opcode))
    }

    /// Whether the modifier (with its dot) is there.
    pub fn has(&self, modifier: &str) -> bool {
        self.m.has(modifier)
    }

    /// What stands in the modifier place `name` (with its dot).
    pub fn get(&self, name: &str) -> Option<&'static str> {
        self.m.get(name)
    }

    /// The type in the modifier place `name`.
    pub fn ty(&self, name: &str) -> Ty {
        self.m.ty(name).unwrap_or_else(|| panic!("{} has no type `{name}`", self.m.opcode))
    }

    /// Whether the operand is there.
    pub fn given(&self, name: &str) -> bool {
        self.m.slot(name).is_some_and(|s| self.m.operands[s].is_some())
    }

    /// The bits of a source operand.
    pub fn src(&mut self, name: &str) -> Value {
        let slot = self.slot(name);
        match &self.args[slot] {
            Arg::Value(v) | Arg::Address(v) => *v,
            Arg::Vector(vs) if vs.len() == 1 => vs[0],
            other => panic!("{}: operand `{name}` is {other:?}", self.m.opcode),
        }
    }

    /// The value of a source operand that is a constant; `None` if it is known at run time only.
    pub fn constant(&mut self, name: &str) -> Option<u64> {
        let v = self.src(name);
        let block = self.b.current();
        let insts = &self.b.func().block(block).insts;
        let op = insts.iter().rev().find(|i| i.result == Some(v)).map(|i| i.op);
        if let Some(Op::Const(bits)) = op { Some(bits) } else { None }
    }

    /// The elements of a source operand: one for a plain register.
    pub fn elements(&mut self, name: &str) -> Vec<Value> {
        match &self.args[self.slot(name)] {
            Arg::Vector(vs) => vs.clone(),
            Arg::Value(v) => vec![*v],
            other => panic!("{}: operand `{name}` is {other:?}", self.m.opcode),
        }
    }

    /// How many elements the operand has in the text.
    pub fn len(&self, name: &str) -> usize {
        self.lens[self.slot(name)]
    }

    /// A source operand as arithmetic wants it (`.f32` → f32, `.f16x2` → f16x2, `.s32` → i32).
    pub fn arith(&mut self, name: &str, ty: Ty) -> Value {
        let bits = self.src(name);
        let want = ty.arith();
        if want.is_float() { self.b.from_bits(bits, want) } else { self.b.bitcast(bits, want) }
    }

    /// The block behind a label.
    pub fn label(&self, name: &str) -> Block {
        match self.args[self.slot(name)] {
            Arg::Label(b) => b,
            ref other => panic!("{}: operand `{name}` is {other:?}", self.m.opcode),
        }
    }

    /// Whether the operand has a minus.
    pub fn neg(&self, name: &str) -> bool {
        self.negated[self.slot(name)]
    }

    /// The operand's selector, with the dot.
    pub fn selector(&self, name: &str) -> Option<&str> {
        self.selectors[self.slot(name)]
    }

    /// Names an intermediate value as the manual does, for `eval --trace`.
    pub fn name(&mut self, v: Value, name: &str) -> Value {
        self.b.name(v, name)
    }

    /// Writes a destination: bits, or a float that becomes bits here. The caller widens it to the register where the
    /// instruction allows wider ones.
    pub fn set(&mut self, name: &str, v: Value) {
        let slot = self.slot(name);
        let ty = self.b.ty(v);
        let v = if ty.is_float() {
            self.b.to_bits(v, flat(ty))
        } else {
            self.b.bitcast(v, if ty.elem == Elem::I1 { ty } else { flat(ty) })
        };
        self.results.push((slot, vec![v]));
    }

    /// Writes the elements of a destination vector.
    pub fn set_elements(&mut self, name: &str, vs: Vec<Value>) {
        let slot = self.slot(name);
        self.results.push((slot, vs));
    }

    /// Where `when` (i1) and the guard hold, the instruction relies on what the manual leaves open. Ask [`Cx::strict`] before computing `when`.
    pub fn unspecified(&mut self, what: Unspecified, when: Value, operand: Value) {
        if !self.strict {
            return;
        }
        let when = match self.guard {
            Some(guard) => self.b.and(guard, when),
            None => when,
        };
        let operand = match self.b.ty(operand) {
            Type::I64 => operand,
            _ => self.b.zext(operand, Elem::I64),
        };
        probe(self.b, what as u64, operand, Some(when));
    }

    /// Memory accesses before this are ordered against those of others that wait here, too.
    pub fn synchronises(&mut self) {
        self.tell(Unspecified::SYNCHRONISES, self.guard);
    }

    /// Memory accesses behind this are ordered against those of others before they synchronised, where `when` holds.
    pub fn resumes(&mut self, when: Option<Value>) {
        self.tell(Unspecified::RESUMES, when);
    }

    fn tell(&mut self, site: u64, when: Option<Value>) {
        if self.strict {
            let nothing = self.b.iconst(Type::I64, 0);
            probe(self.b, site, nothing, when);
        }
    }

    /// Tells a strict launch of copies in the background, where `when` holds. The operand is built for it only.
    pub fn background(
        &mut self,
        what: Background,
        when: Option<Value>,
        operand: impl FnOnce(&mut Self) -> Value,
    ) {
        if self.strict {
            let operand = operand(self);
            let operand = self.b.zext(operand, Elem::I64);
            probe(self.b, Background::FIRST + what as u64, operand, when);
        }
    }

    /// Integer division by this: unspecified where it is zero.
    pub fn no_zero_divisor(&mut self, divisor: Value) {
        if self.strict {
            let zero = self.b.cmp_imm(IntCmp::Eq, divisor, 0);
            self.unspecified(Unspecified::DivisionByZero, zero, divisor);
        }
    }

    /// The carry flag.
    pub fn carry(&mut self) -> Value {
        self.b.get(self.flag)
    }

    /// Sets the carry flag where the guard holds.
    pub fn set_carry(&mut self, carry: Value) {
        let carry = match self.guard {
            None => carry,
            Some(guard) => {
                let before = self.carry();
                self.b.select(guard, carry, before)
            }
        };
        self.b.set(self.flag, carry);
    }

    /// Ends the block with `term` where the guard holds; code goes on in `next` otherwise (and behind `term`, where
    /// it has a `next`: the one [`Cx::after`] gave).
    pub fn end(&mut self, next: Block, term: Term) {
        match self.guard {
            None => self.b.terminate(term),
            Some(g) => {
                if let Term::Jump(t) = &term {
                    self.b.terminate(Term::Branch(g, t.clone(), Target::new(next)));
                } else {
                    let act = self.b.new_block();
                    self.b.branch(g, act, next);
                    self.b.switch_to(act);
                    self.b.terminate(term);
                }
            }
        }
        self.b.switch_to(next);
    }

    /// A loop over the bytes below `n`, in steps of so many from 0 on; `body` gets the offset, of `n`'s type. With a guard only where that is on.
    pub fn each_step(
        &mut self,
        n: Value,
        step: u64,
        guard: Option<Value>,
        body: impl FnOnce(&mut Self, Value),
    ) {
        let ty = self.b.ty(n);
        let done = self.b.new_var(ty);
        let zero = self.b.iconst(ty, 0);
        self.b.set(done, zero);
        let (head, inside, after) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        match guard {
            None => self.b.jump(head),
            Some(guard) => self.b.branch(guard, head, after),
        }
        self.b.switch_to(head);
        let offset = self.b.get(done);
        let more = self.b.cmp(IntCmp::LtU, offset, n);
        self.b.branch(more, inside, after);
        self.b.switch_to(inside);
        body(self, offset);
        let next = self.b.int_imm(IntBin::Add, offset, step);
        self.b.set(done, next);
        self.b.jump(head);
        self.b.switch_to(after);
    }

    /// A block for what follows.
    pub fn after(&mut self) -> Block {
        self.b.new_block()
    }
}

/// The plain integer of the same total width.
fn flat(ty: Type) -> Type {
    match ty.bits() {
        1 => Type::I1,
        8 => Type::I8,
        16 => Type::I16,
        32 => Type::I32,
        64 => Type::I64,
        _ => ty.to_int(),
    }
}
