//! Kernels of arbitrary control flow: any graph of blocks, functions that call each other, and values of all types carried through.
//!
//! A [`Program`] is a representation of its own. It is printed as PTX ([`text`]) and run thread by thread by a scalar simulator
//! ([`sim`]) that shares no code with the compiler or the engines; what the simulator leaves in memory is what every engine must leave.
//! The simulator also decides what is legal: [`make`] adds fuel to edges until every thread ends, and takes out barriers, exchanges and
//! warp operations that not all threads of the CTA (the warp) come to.

pub mod fill;
pub mod graph;
pub mod make;
pub mod reduce;
pub mod sim;
pub mod text;

use std::fmt;

/// Set in the seeds of these kernels.
pub const SHAPES: u64 = 1 << 62;

/// A kind of register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bank {
    /// Predicates.
    P,
    /// 16 bits.
    H,
    /// 32 bits.
    R,
    /// 64 bits.
    L,
    /// f32
    F,
    /// f64, always finite.
    D,
    /// 128 bits.
    Q,
}

impl Bank {
    /// All of them.
    pub const ALL: [Bank; 7] = [Bank::P, Bank::H, Bank::R, Bank::L, Bank::F, Bank::D, Bank::Q];

    fn letter(self) -> char {
        ['p', 'h', 'r', 'l', 'f', 'd', 'q'][self as usize]
    }

    /// The type its registers are declared with.
    pub fn ty(self) -> &'static str {
        [".pred", ".b16", ".b32", ".b64", ".f32", ".f64", ".b128"][self as usize]
    }

    /// Bits of a register.
    pub fn bits(self) -> u32 {
        [1, 16, 32, 64, 32, 64, 128][self as usize]
    }
}

/// What a register holds as long as control is uniform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// The same in all lanes.
    Uniform,
    /// Affine in the thread's number.
    Affine,
    /// Anything.
    Varying,
    /// Counts up; what loops are left by.
    Counter,
    /// Iterations left, of edges that need it.
    Fuel,
    /// Results of a function.
    Result,
    /// Parameters of a function.
    Argument,
    /// Where in the input a pointer points to; never looked at itself.
    Pointer,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 8] = [
        Class::Uniform,
        Class::Affine,
        Class::Varying,
        Class::Counter,
        Class::Fuel,
        Class::Result,
        Class::Argument,
        Class::Pointer,
    ];

    fn letter(self) -> char {
        ['u', 'a', 'v', 'c', 'f', 'r', 'x', 'w'][self as usize]
    }
}

/// Registers of one bank and class at most.
pub const MOST: usize = 8;

/// A register of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg {
    /// Its type.
    pub bank: Bank,
    /// What it usually holds.
    pub class: Class,
    /// Which one, below [`MOST`].
    pub n: u8,
}

impl Reg {
    /// A register.
    pub fn new(bank: Bank, class: Class, n: usize) -> Reg {
        Reg { bank, class, n: (n % MOST) as u8 }
    }

    /// A number of its own among all registers of a function.
    pub fn index(self) -> usize {
        (self.bank as usize * Class::ALL.len() + self.class as usize) * MOST + usize::from(self.n)
    }

    /// Above every [`Reg::index`].
    pub const COUNT: usize = Bank::ALL.len() * Class::ALL.len() * MOST;
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}{}", self.bank.letter(), self.class.letter(), self.n)
    }
}

/// What an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// A register.
    Reg(Reg),
    /// These bits.
    Const(u64),
}

/// Arithmetic on two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// By a constant.
    Shl,
    /// By a constant.
    Shr,
    /// Unsigned.
    Min,
    /// Signed.
    Max,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Logic on predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
    /// Of the first alone.
    Not,
}

/// What a thread knows of itself and of the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// `%tid`, by axis.
    Tid(u8),
    /// `%ctaid`, by axis.
    Cta(u8),
    /// `%ntid.x`
    Ntid,
    /// `%laneid`
    Lane,
    /// The thread's number in its CTA.
    Flat,
    /// The thread's number in the grid.
    Global,
    /// The kernel's parameter of that name; in the kernel only.
    Limit,
}

/// Input that nobody writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// One of the first 512 words.
    Table(Src),
    /// The thread's word.
    Own,
    /// A small number, the same for every thread, at an address that differs.
    Same,
}

/// Memory that only this thread uses, in cells of eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Global: this cell of the thread's column.
    Column(u8),
    /// Global: a cell of the thread's row, modulo [`layout::ROW`].
    Row(Src),
    /// Shared: a cell, modulo [`layout::SLOT`].
    Shared(Src),
    /// Local: a cell, modulo [`layout::LOCAL`], of this call.
    Local(Src),
}

/// Operations of all lanes of a warp together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warp {
    /// `shfl.sync.idx`
    Index(u8),
    /// `shfl.sync.bfly`
    Butterfly(u8),
    /// `shfl.sync.up`
    Up(u8),
    /// `shfl.sync.down`
    Down(u8),
    /// `vote.sync.ballot`
    Ballot,
    /// `vote.sync.any`
    Any,
    /// `vote.sync.all`
    All,
    /// `bar.warp.sync`
    Sync,
}

/// What is called.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Callee {
    /// The function, or those that a table holds.
    pub funcs: Vec<usize>,
    /// Through a pointer from the table, by this register modulo its length.
    pub by: Option<Reg>,
    /// Done only if less than [`Program::depth`] calls are under way: for functions that may come back to this one.
    pub bounded: bool,
    /// Says which functions there may be, and not only what they take.
    pub listed: bool,
}

/// What an instruction does. Destinations come first.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    Arith(Arith, Reg, Src, Src),
    /// a · b + c
    Mad(Reg, Src, Src, Src),
    /// f64: a + s32
    Accumulate(Reg, Reg, Src),
    Move(Reg, Src),
    /// a if p, else b.
    Select(Reg, Src, Src, Reg),
    /// Signed if so; by the bank of the first operand.
    Compare(Cmp, bool, Reg, Reg, Src),
    Logic(Logic, Reg, Reg, Reg),
    /// Between types of integers, or from s32 to a float.
    Convert(Reg, Reg, bool),
    /// The same bits in a register of another kind.
    Bits(Reg, Reg),
    Pack(Reg, Reg, Reg),
    Unpack(Reg, Reg, Reg),
    Special(Reg, Special),
    Input(Reg, Data),
    Load(Reg, Place),
    Store(Place, Reg),
    /// A pointer to a word of the input's first half.
    Point(Reg, Src),
    /// Moves a pointer on by so many words, and as many more as a register says, modulo 4.
    Advance(Reg, i8, Option<Reg>),
    /// What a pointer points to.
    Follow(Reg, Reg),
    /// Adds to a cell of all threads.
    Count(u8, Src),
    /// `barrier.sync` of all threads, or `bar.sync`.
    Barrier {
        id: u8,
        aligned: bool,
    },
    /// Through shared memory, between two barriers: the thread so many further on, cyclically. In dynamic shared memory if so.
    Exchange {
        d: Reg,
        s: Reg,
        step: u32,
        dynamic: bool,
    },
    Warp(Warp, Reg, Reg),
    Call {
        callee: Callee,
        args: Vec<Src>,
        results: Vec<Reg>,
    },
    /// Ends the thread, or the function if not `exit`.
    Leave {
        exit: bool,
    },
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// `@p`, or `@!p` if true.
    pub guard: Option<(Reg, bool)>,
    /// What it does.
    pub op: Op,
}

impl From<Op> for Inst {
    fn from(op: Op) -> Inst {
        Inst { guard: None, op }
    }
}

impl Op {
    /// Registers it writes.
    pub fn writes(&self) -> Vec<Reg> {
        match self {
            Op::Arith(_, d, ..)
            | Op::Mad(d, ..)
            | Op::Accumulate(d, ..)
            | Op::Move(d, _)
            | Op::Select(d, ..)
            | Op::Compare(_, _, d, ..)
            | Op::Logic(_, d, ..)
            | Op::Convert(d, ..)
            | Op::Bits(d, _)
            | Op::Pack(d, ..)
            | Op::Special(d, _)
            | Op::Input(d, _)
            | Op::Load(d, _)
            | Op::Point(d, _)
            | Op::Advance(d, ..)
            | Op::Follow(d, _)
            | Op::Exchange { d, .. } => vec![*d],
            Op::Warp(Warp::Sync, ..) => vec![],
            Op::Warp(_, d, _) => vec![*d],
            Op::Unpack(a, b, _) => vec![*a, *b],
            Op::Call { results, .. } => results.clone(),
            Op::Store(..) | Op::Count(..) | Op::Barrier { .. } | Op::Leave { .. } => vec![],
        }
    }

    /// What it reads, to look at or to change. Registers that cannot be constants are not among them.
    pub fn sources(&mut self) -> Vec<&mut Src> {
        match self {
            Op::Arith(_, _, a, b) => vec![a, b],
            Op::Mad(_, a, b, c) => vec![a, b, c],
            Op::Accumulate(_, _, s)
            | Op::Move(_, s)
            | Op::Compare(_, _, _, _, s)
            | Op::Input(_, Data::Table(s))
            | Op::Point(_, s)
            | Op::Load(_, Place::Row(s) | Place::Shared(s) | Place::Local(s))
            | Op::Store(Place::Row(s) | Place::Shared(s) | Place::Local(s), _)
            | Op::Count(_, s) => vec![s],
            Op::Select(_, a, b, _) => vec![a, b],
            Op::Call { args, .. } => args.iter_mut().collect(),
            _ => vec![],
        }
    }

    /// Registers it reads.
    pub fn reads(&self) -> Vec<Reg> {
        let mut copy = self.clone();
        let of = |s: &mut Src| match s {
            Src::Reg(r) => Some(*r),
            Src::Const(_) => None,
        };
        let mut out: Vec<Reg> = copy.sources().into_iter().filter_map(of).collect();
        match self {
            Op::Accumulate(_, r, _)
            | Op::Select(_, _, _, r)
            | Op::Compare(_, _, _, r, _)
            | Op::Convert(_, r, _)
            | Op::Bits(_, r)
            | Op::Unpack(_, _, r)
            | Op::Store(_, r)
            | Op::Follow(_, r)
            | Op::Exchange { s: r, .. } => out.push(*r),
            Op::Advance(r, _, by) => out.extend([*r].into_iter().chain(*by)),
            Op::Call { callee, .. } => out.extend(callee.by),
            Op::Warp(w, _, s) if *w != Warp::Sync => out.push(*s),
            Op::Logic(_, _, a, b) | Op::Pack(_, a, b) => out.extend([*a, *b]),
            _ => {}
        }
        out
    }
}

/// Where control goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The block.
    pub to: usize,
    /// A register that is counted down; at 0 control goes to the other block instead.
    pub fuel: Option<(Reg, usize)>,
}

impl From<usize> for Edge {
    fn from(to: usize) -> Edge {
        Edge { to, fuel: None }
    }
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// Goes there.
    Goto(Edge),
    /// To the first if the predicate holds (does not, if the flag is set).
    If(Reg, bool, Edge, Edge),
    /// By a register modulo their number.
    Switch(Reg, Vec<Edge>),
    /// Ends the thread, or the function if not `exit`.
    Leave {
        /// As `exit`.
        exit: bool,
    },
}

impl Term {
    /// Where it may go.
    pub fn edges(&self) -> Vec<&Edge> {
        match self {
            Term::Goto(e) => vec![e],
            Term::If(_, _, a, b) => vec![a, b],
            Term::Switch(_, ways) => ways.iter().collect(),
            Term::Leave { .. } => vec![],
        }
    }

    /// Where it may go.
    pub fn edges_mut(&mut self) -> Vec<&mut Edge> {
        match self {
            Term::Goto(e) => vec![e],
            Term::If(_, _, a, b) => vec![a, b],
            Term::Switch(_, ways) => ways.iter_mut().collect(),
            Term::Leave { .. } => vec![],
        }
    }

    /// Every block it may go to.
    pub fn targets(&self) -> Vec<usize> {
        self.edges().into_iter().flat_map(|e| [Some(e.to), e.fuel.map(|f| f.1)]).flatten().collect()
    }
}

/// A block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// What it does.
    pub insts: Vec<Inst>,
    /// Where it goes.
    pub term: Term,
}

/// The kernel, which is the first of a program's, or a function.
#[derive(Clone, PartialEq, Debug)]
pub struct Func {
    /// Types of its parameters.
    pub params: Vec<Bank>,
    /// Types of its results.
    pub results: Vec<Bank>,
    /// Parameters and results are registers.
    pub by_register: bool,
    /// Done once, before the first block.
    pub init: Vec<Inst>,
    /// The first is where it begins, whoever comes back to it.
    pub blocks: Vec<Block>,
    /// The order they are written in.
    pub layout: Vec<usize>,
}

impl Func {
    /// All instructions.
    pub fn insts(&self) -> impl Iterator<Item = &Inst> {
        self.init.iter().chain(self.blocks.iter().flat_map(|b| &b.insts))
    }
}

/// A kernel with its functions and its launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Where it comes from.
    pub seed: u64,
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs.
    pub grid: [u32; 3],
    /// The parameter of that name.
    pub limit: u32,
    /// Calls that may be under way for one that is bounded; one more for odd threads.
    pub depth: u32,
    /// The kernel, then functions, which call only those behind them, if not bounded.
    pub funcs: Vec<Func>,
}

/// Where things lie, in words of eight bytes.
pub mod layout {
    /// Cells of all threads, at first 0.
    pub const CELLS: u64 = 64;
    /// Cells of a thread's column.
    pub const COLUMN: u64 = 8;
    /// Cells of a thread's row.
    pub const ROW: u64 = 8;
    /// Shared cells of a thread.
    pub const SLOT: u64 = 2;
    /// Local cells of a thread.
    pub const LOCAL: u64 = 4;
    /// Words of input for everybody.
    pub const TABLE: u64 = 512;
}

impl Program {
    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// CTAs.
    pub fn ctas(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Threads in all.
    pub fn all_threads(&self) -> u64 {
        u64::from(self.threads()) * u64::from(self.ctas())
    }

    /// Words of input.
    pub fn input_words(&self) -> u64 {
        layout::TABLE + 2 * self.all_threads()
    }

    /// Words of memory it may write.
    pub fn memory_words(&self) -> u64 {
        layout::CELLS + (layout::COLUMN + layout::ROW) * self.all_threads()
    }

    /// All calls.
    pub fn callees(&self) -> impl Iterator<Item = &Callee> {
        self.funcs.iter().flat_map(Func::insts).filter_map(|i| match &i.op {
            Op::Call { callee, .. } => Some(callee),
            _ => None,
        })
    }

    /// Bytes of shared memory that the launch asks for.
    pub fn dynamic_shared(&self) -> u32 {
        if self.exchanges(true) { 4 * self.threads() } else { 0 }
    }

    /// Whether threads exchange words through shared memory that the launch asks for, or through that of the module.
    pub fn exchanges(&self, dynamically: bool) -> bool {
        let is = |i: &Inst| matches!(i.op, Op::Exchange { dynamic, .. } if dynamic == dynamically);
        self.funcs.iter().any(|f| f.insts().any(is))
    }
}
