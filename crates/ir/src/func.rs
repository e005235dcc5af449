//! Functions, blocks and instructions.

use crate::{BarrierKind, Op, Type};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A value: index into [`Function::types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A block: index into [`Function::blocks`]. Block 0 is the entry and has no parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Block(pub u32);

impl Value {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Block {
    /// The entry block.
    pub const ENTRY: Block = Block(0);
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Its arguments.
    pub args: SmallVec<[Value; 4]>,
    /// The lanes in which it acts; all if `None`. Only on ops that [may be guarded](Op::may_be_guarded).
    pub guard: Option<Value>,
    /// Its result, if it has one.
    pub result: Option<Value>,
    /// Line of the source it comes from; 0 if none.
    pub line: u32,
}

/// Where control goes, and the values handed to the block's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// One value per parameter of that block.
    pub args: SmallVec<[Value; 4]>,
}

impl Target {
    /// A target without arguments.
    pub fn new(block: Block) -> Target {
        Target { block, args: SmallVec::new() }
    }
}

/// Why a kernel stops itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TrapKind {
    /// The `trap` instruction.
    Trap,
    /// The `brkpt` instruction.
    Breakpoint,
    /// Something this kernel reached and Hostwarp does not do yet: index into [`Function::unsupported`].
    Unsupported(u32),
    /// A call through a value that is the address of no function, or of one with another signature.
    BadCall,
    /// A return to where no call was: the lane's stack was overwritten.
    BadReturn,
    /// Calls that were nested too deeply, or `alloca` of too much.
    StackOverflow,
    /// The function `__assertfail` was called.
    Assert,
    /// An instruction that needs every lane of its warp was reached by some only.
    MissingLanes,
}

/// A function of a [`Module`]: index into [`Module::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FuncId(pub u32);

impl FuncId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// This function.
    Direct(FuncId),
    /// The function at this address (i64); a value that is no address of a function with this signature is a fault.
    Indirect(Value),
}

/// A call: how a block ends that goes on at `next` when the callee has returned.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Whom.
    pub callee: Callee,
    /// The first byte of local memory that is free (i32, a multiple of 16).
    pub stack: Value,
    /// One value per parameter.
    pub args: Vec<Value>,
    /// What the callee returns, defined by the call.
    pub results: Vec<Value>,
    /// Where to go on.
    pub next: Target,
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// Go on there.
    Jump(Target),
    /// Go to the first where the value (i1) is true, else to the second.
    Branch(Value, Target, Target),
    /// Go to the target the value (i32) numbers; the last one if there are fewer.
    Switch(Value, Vec<Target>),
    /// The lane is done.
    Exit,
    /// The launch fails here.
    Trap(TrapKind),
    /// Call a function. Linking leaves none of these.
    Call(Box<Call>),
    /// Return these to the caller. Linking leaves none of these.
    Return(Vec<Value>),
    /// Arrive at barrier `id` (i32) of the CTA and go on at `next` as `kind` says. `count` (i32) is the number of threads
    /// expected, all threads of the CTA that have not exited if `None`.
    Barrier {
        #[allow(missing_docs)]
        kind: BarrierKind,
        #[allow(missing_docs)]
        id: Value,
        #[allow(missing_docs)]
        count: Option<Value>,
        #[allow(missing_docs)]
        next: Target,
    },
    /// Wait for all lanes of the warp named in `mask` (i32; exited lanes do not count), then go on together at `next`.
    WarpSync {
        #[allow(missing_docs)]
        mask: Value,
        #[allow(missing_docs)]
        next: Target,
    },
}

impl Term {
    /// The targets, in order.
    pub fn targets(&self) -> SmallVec<[&Target; 2]> {
        match self {
            Term::Jump(t) => [t].into_iter().collect(),
            Term::Branch(_, a, b) => [a, b].into_iter().collect(),
            Term::Switch(_, ts) => ts.iter().collect(),
            Term::Exit | Term::Trap(_) | Term::Return(_) => SmallVec::new(),
            Term::Call(call) => [&call.next].into_iter().collect(),
            Term::Barrier { next, .. } | Term::WarpSync { next, .. } => [next].into_iter().collect(),
        }
    }

    /// The target of a branch or switch all of whose ways are one: it goes nowhere else, whatever it goes by.
    pub fn only(&self) -> Option<&Target> {
        match self {
            Term::Branch(_, a, b) if a == b => Some(a),
            Term::Switch(_, ts) if ts.windows(2).all(|w| w[0] == w[1]) => ts.first(),
            _ => None,
        }
    }

    /// The values it defines.
    pub fn results(&self) -> &[Value] {
        match self {
            Term::Call(call) => &call.results,
            _ => &[],
        }
    }

    /// The targets, in order, to change.
    pub fn targets_mut(&mut self) -> SmallVec<[&mut Target; 2]> {
        match self {
            Term::Jump(t) => [t].into_iter().collect(),
            Term::Branch(_, a, b) => [a, b].into_iter().collect(),
            Term::Switch(_, ts) => ts.iter_mut().collect(),
            Term::Exit | Term::Trap(_) | Term::Return(_) => SmallVec::new(),
            Term::Call(call) => [&mut call.next].into_iter().collect(),
            Term::Barrier { next, .. } | Term::WarpSync { next, .. } => [next].into_iter().collect(),
        }
    }

    /// The values it uses itself, without those handed to targets.
    pub fn uses(&self) -> SmallVec<[Value; 2]> {
        match self {
            Term::Branch(c, ..) | Term::Switch(c, _) => [*c].into_iter().collect(),
            Term::Barrier { id, count, .. } => [Some(*id), *count].into_iter().flatten().collect(),
            Term::WarpSync { mask, .. } => [*mask].into_iter().collect(),
            Term::Return(values) => values.iter().copied().collect(),
            Term::Call(call) => {
                let pointer = match call.callee {
                    Callee::Indirect(pointer) => Some(pointer),
                    Callee::Direct(_) => None,
                };
                pointer.into_iter().chain([call.stack]).chain(call.args.iter().copied()).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// Calls `f` on every value used, those handed to targets included.
    pub fn for_each_use_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Term::Branch(c, ..) | Term::Switch(c, _) => f(c),
            Term::Barrier { id, count, .. } => {
                f(id);
                count.iter_mut().for_each(&mut f);
            }
            Term::WarpSync { mask, .. } => f(mask),
            Term::Return(values) => values.iter_mut().for_each(&mut f),
            Term::Call(call) => {
                if let Callee::Indirect(pointer) = &mut call.callee {
                    f(pointer);
                }
                f(&mut call.stack);
                call.args.iter_mut().for_each(&mut f);
            }
            _ => {}
        }
        for t in self.targets_mut() {
            t.args.iter_mut().for_each(&mut f);
        }
    }
}

/// A straight run of instructions.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockData {
    /// Values handed over by whoever jumps here.
    pub params: Vec<Value>,
    /// The instructions.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub term: Term,
    /// Line of the source the terminator comes from; 0 if none.
    pub term_line: u32,
}

/// What a launch needs to know of a kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelInfo {
    /// Bytes of the parameter block.
    pub param_bytes: u32,
    /// Where static shared memory ends: [what is reserved](KernelInfo::shared_reserved) and what is declared.
    pub shared_bytes: u32,
    /// Bytes at the beginning of shared memory that the system has; none if nothing in the kernel can reach them.
    pub shared_reserved: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
}

impl KernelInfo {
    /// Bytes of statically declared shared memory.
    pub fn declared_shared(&self) -> u32 {
        self.shared_bytes - self.shared_reserved.min(self.shared_bytes)
    }
}

/// A variable in a function's frame, or in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Bytes.
    pub size: u64,
    /// Alignment, a power of two.
    pub align: u64,
}

/// What a program consists of: kernels and the functions they call.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// The functions; none for one that is only declared, or that has no IR.
    pub functions: Vec<Option<Function>>,
    /// Static variables in shared memory. A kernel gets a place for those that it, or a function it calls, uses.
    pub shared: Vec<Slot>,
    /// The functions whose address is taken. That of the n-th is [`Module::address`].
    pub taken: Vec<FuncId>,
}

impl Module {
    /// Where functions begin; below are no addresses of anything.
    pub const CODE: u64 = 0x7f00_0000_0000_0000;
    /// How far they are apart.
    pub(crate) const STEP: u64 = 16;

    /// The address of the n-th function whose address is taken.
    pub const fn address(n: usize) -> u64 {
        Module::CODE + (n as u64 + 1) * Module::STEP
    }

    /// Notes that the address of a function is taken, and answers it.
    pub fn take_address(&mut self, of: FuncId) -> u64 {
        let n = self.taken.iter().position(|t| *t == of).unwrap_or_else(|| {
            self.taken.push(of);
            self.taken.len() - 1
        });
        Module::address(n)
    }
}

/// A kernel, or a function that kernels call.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is called with; none for a kernel. Defined before the entry block.
    pub params: Vec<Value>,
    /// What it returns.
    pub results: Vec<Type>,
    /// Its variables in local memory.
    pub slots: Vec<Slot>,
    /// What a launch needs to know.
    pub info: KernelInfo,
    /// The blocks; the first is the entry.
    pub blocks: Vec<BlockData>,
    /// The type of each value.
    pub types: Vec<Type>,
    /// Names the meaning of an instruction gave its intermediate values, for `eval --trace`.
    pub names: BTreeMap<Value, String>,
    /// Messages of [`TrapKind::Unsupported`].
    pub unsupported: Vec<String>,
}

impl Function {
    /// A function with an empty entry block.
    pub fn new(name: impl Into<String>) -> Function {
        Function {
            name: name.into(),
            params: vec![],
            results: vec![],
            slots: vec![],
            info: KernelInfo::default(),
            blocks: vec![BlockData { params: vec![], insts: vec![], term: Term::Exit, term_line: 0 }],
            types: vec![],
            names: BTreeMap::new(),
            unsupported: vec![],
        }
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.types[v.index()]
    }

    /// A new value of that type; whoever asks must define it.
    pub fn new_value(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value(self.types.len() as u32 - 1)
    }

    /// A block's content.
    pub fn block(&self, b: Block) -> &BlockData {
        &self.blocks[b.index()]
    }

    /// All blocks by number.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = Block> + use<> {
        (0..self.blocks.len() as u32).map(Block)
    }

    /// Number of instructions, terminators not counted.
    pub fn inst_count(&self) -> usize {
        self.blocks.iter().map(|b| b.insts.len()).sum()
    }
}
