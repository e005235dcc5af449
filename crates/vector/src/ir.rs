//! Kernels in vector form.

use hostwarp_ir::{AtomicOp, Block, Op as CoreOp, Order, Scope, Space, Special, Type};
use hostwarp_plan::Shape;
use std::sync::Arc;

/// A register: defined once, index into [`Kernel::regs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A variable: what lives from block to block, index into [`Kernel::vars`]. All are 0 when a group begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Var(pub u32);

/// A block of the vector kernel: index into [`Kernel::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Label(pub u32);

/// How many of something a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Extent {
    /// One for the group.
    Group,
    /// One for each row of the group.
    Rows,
    /// One for each lane.
    Lanes,
}

/// The type of a register or variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    /// What one lane holds.
    pub of: Type,
    /// How many.
    pub extent: Extent,
}

impl Ty {
    /// One for the group.
    pub const fn narrow(of: Type) -> Ty {
        Ty { of, extent: Extent::Group }
    }

    /// One for each lane.
    pub const fn wide(of: Type) -> Ty {
        Ty { of, extent: Extent::Lanes }
    }

    /// One for each row.
    pub const fn rows(of: Type) -> Ty {
        Ty { of, extent: Extent::Rows }
    }

    /// Whether there is one for each lane.
    pub fn is_wide(self) -> bool {
        self.extent == Extent::Lanes
    }

    /// A condition for each lane.
    pub const MASK: Ty = Ty::wide(Type::I1);
}

/// A constant for each lane.
pub type Offsets = Arc<[i64]>;

/// A value's column in the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// [`hostwarp_plan::Frame::slot`].
    pub slot: u32,
    /// What a lane holds.
    pub ty: Type,
}

/// What is between lanes is loaded with them up to this stride.
pub const MOST_STRIDE: u32 = 4;

/// How lanes with known distances reach memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// Each lane the place after the one before.
    Row,
    /// A row in another order: lane `i` the place number `.0[i]`.
    Permuted(Arc<[u32]>),
    /// Each lane so many places after the one before, 2 to [`MOST_STRIDE`].
    Strided(u32),
    /// Rows of so many lanes each, which begin anywhere.
    Rows(u32),
    /// So many lanes each in one place.
    Splats(u32),
    /// Few runs of places, each by its distance from lane 0's place and its length; some places are those of several lanes.
    Runs {
        /// The runs.
        runs: Vec<(i64, u32)>,
        /// By lane: in which run, and where in it.
        of: Vec<(u32, u32)>,
    },
    /// Anything.
    Gather,
}

/// Where lanes access memory. Addresses are i32 or i64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// All in one place (narrow register).
    Uniform(Reg),
    /// At known distances from lane 0 (narrow register).
    Spread {
        /// Lane 0's address.
        first: Reg,
        /// How far each lane is from lane 0.
        offsets: Offsets,
        /// What that comes to.
        form: Form,
    },
    /// Each lane at a known distance from the first of its row.
    Rows {
        /// The addresses of first lanes, one for each row.
        each: Reg,
        /// How far each lane of a row is from the first.
        offsets: Offsets,
    },
    /// Anywhere (wide register).
    Lanes(Reg),
}

/// An access to memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which memory.
    pub space: Space,
    /// What a lane accesses.
    pub ty: Type,
    /// Not weak: must not be merged with others or removed.
    pub volatile: bool,
    /// Where.
    pub at: At,
    /// The lanes that take part (wide); all if none.
    pub mask: Option<Reg>,
    /// It may well be that none does: then nothing need be there.
    pub guarded: bool,
    /// Where the part of an allocation is remembered that was found last.
    pub window: u32,
    /// Of a check: as many bytes more behind what each lane accesses.
    pub more: u32,
}

impl Access {
    /// Bytes that a lane accesses.
    pub fn size(&self) -> u32 {
        self.ty.bytes() as u32
    }

    /// Bytes of a lane that a check looks at.
    pub fn span(&self) -> u32 {
        self.size() + self.more
    }

    /// The registers it uses.
    pub fn uses(&self) -> Vec<Reg> {
        let at = match self.at {
            At::Uniform(r) | At::Lanes(r) | At::Spread { first: r, .. } | At::Rows { each: r, .. } => r,
        };
        [at].into_iter().chain(self.mask).collect()
    }

    /// From lane 0's address on, the first byte of all lanes and how many bytes there are from there to the last; where rows are apart, of each of them.
    pub fn extent(&self) -> (i64, u64) {
        match &self.at {
            At::Spread { offsets, .. } | At::Rows { offsets, .. } => {
                let (low, high) = offsets.iter().fold((0, 0), |(l, h), o| (l.min(*o), h.max(*o)));
                (low, (high - low) as u64 + u64::from(self.span()))
            }
            _ => (0, self.span().into()),
        }
    }
}

/// Why a group is left to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Some lanes wait at barriers, as told to the engine.
    Parked,
    /// A fault has been recorded.
    Fault,
    /// The budget is used up, or a loop that waits for others has been patient.
    Budget,
    /// The interpreter has to go on.
    Handed,
    /// The interpreter has to go on, with lanes as told to the engine.
    HandedApart,
}

/// An operation. "Lanes" are a [mask](Ty::MASK).
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Op {
    /// () → T: the same bits in every element.
    Const(u64),
    /// () → wide integer: a constant for each lane.
    Each(Offsets),
    /// A pure op of the core IR, on narrow registers or on wide ones.
    Core(CoreOp),
    /// () → narrow: of the group's first lane.
    Special(Special),
    /// () → wide.
    SpecialLanes(Special),
    /// () → narrow: the parameter at this byte, which is there.
    Param(u32),
    /// (narrow) → rows or wide.
    Splat,
    /// (narrow integer) → rows or wide: plus a constant for each row or lane.
    Spread(Offsets),
    /// (rows) → wide: plus a constant for each lane of a row.
    Widen(Offsets),
    /// (wide, lanes if not all) → rows: what the first lane of each row holds, or would, if this is how far lanes of a row are from it.
    Origins(Offsets),
    /// (wide, i32) → narrow: what a lane holds.
    Extract,
    /// (lanes) → i1: whether there are any.
    Any,
    /// (lanes, lanes) → i1: whether they are the same.
    Same,
    /// (lanes) → i32, of a group that is a warp.
    Ballot,
    /// (i32) → lanes, of a group that is a warp.
    Named,
    /// (lanes) → i32: the lowest, or some lane if there is none.
    First,
    /// (lanes) → i32: the highest, or some lane if there is none.
    Last,
    /// (wide i32) → i32: the bits that some lane has.
    AnyBit,
    /// () → lanes the group was started with.
    Active,
    Get(Var),
    Set(Var),
    /// (value, mask): sets a wide variable in some lanes.
    Blend(Var),
    /// (i32 lane) → narrow, () → wide: from the frame.
    FrameGet(Place),
    /// (narrow): to lane 0's place; (wide): to all; (wide, mask): to some.
    FramePut(Place),
    /// (i1): leaves the block unless it is true.
    Test(Label),
    /// Leaves the block unless all lanes that take part find what they access.
    Check(Box<Access>, Label),
    /// Takes so much off the budget, and leaves the block if it is used up, or with `slack` if it is overdrawn by as much as a group gets at once; also when a loop that `waits` has gone round often.
    Fuel {
        cost: u32,
        waits: bool,
        slack: bool,
        exit: Label,
    },
    /// → T, 0 in lanes that do not take part.
    Load(Box<Access>),
    /// (T)
    Store(Box<Access>),
    /// (T, or expected and T; the last may be narrow) → T, if somebody wants it
    Atomic(AtomicOp, Box<Access>),
    /// A fence in front of or behind an access of this order.
    Order {
        order: Order,
        before: bool,
    },
    Fence(Scope),
    /// (wide, wide i32) → wide: what lane (modulo 32) holds; with a mask as third argument one's own where that lane is not in it.
    LaneRead,
    /// (wide) → wide: lane `i` gets what lane `.0[i]` holds.
    Permute(Arc<[u32]>),
    /// () → narrow.
    Clock(Special),
    /// The engine does an access, lane by lane: (data if any, expected if any) → wide data.
    Ask {
        site: u32,
        access: Box<Access>,
    },
    /// Why the group will be left.
    Status(Status),
    /// (lanes): they are at the start of a block of the core function.
    Park(Block),
    /// (lanes, id, count): they arrive at the barrier at the end of a block.
    Arrive(Block),
    /// (lanes, i32 named): they wait at the end of a block.
    WarpSync(Block),
    /// (lanes): they are at the trap at the end of a block.
    Trap(Block),
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// With what, besides what [`Access::uses`] names.
    pub args: Vec<Reg>,
    /// What it defines.
    pub result: Option<Reg>,
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Term {
    Jump(Label),
    /// To the first if the narrow i1 is true.
    Branch {
        condition: Reg,
        yes: Label,
        no: Label,
        likely: bool,
    },
    /// By number; the last if there are fewer.
    Switch(Reg, Vec<Label>),
    /// All lanes of the group have come to the plain barrier at the end of a block and go on at the next.
    Barrier {
        from: Block,
        to: Block,
    },
    /// All lanes of the group have exited.
    Exited,
    /// Back to the engine with the [status](Op::Status) that was set; `from` is the block all lanes are at, if they are.
    Leave {
        from: Option<Block>,
    },
}

impl Term {
    /// Where it may lead.
    pub fn targets(&self) -> Vec<Label> {
        match self {
            Term::Jump(to) => vec![*to],
            Term::Branch { yes, no, .. } => vec![*yes, *no],
            Term::Switch(_, to) => to.clone(),
            _ => vec![],
        }
    }
}

/// A run of instructions, which tests and checks may leave.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockData {
    /// What it is for.
    pub name: String,
    /// The instructions.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub term: Term,
}

impl Inst {
    /// All registers it uses.
    pub fn uses(&self) -> Vec<Reg> {
        let mut all = self.args.clone();
        match &self.op {
            Op::Check(a, _) | Op::Load(a) | Op::Store(a) | Op::Atomic(_, a) => all.extend(a.uses()),
            Op::Ask { access, .. } => all.extend(access.uses()),
            _ => {}
        }
        all
    }

    /// Where it may leave the block to.
    pub fn exit(&self) -> Option<Label> {
        match self.op {
            Op::Test(to) | Op::Check(_, to) | Op::Fuel { exit: to, .. } => Some(to),
            _ => None,
        }
    }
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Lanes in a group.
    pub width: u32,
    /// Lanes in a row of it.
    pub row: u32,
    /// The types of registers.
    pub regs: Vec<Ty>,
    /// The types of variables.
    pub vars: Vec<Ty>,
    /// The blocks.
    pub blocks: Vec<BlockData>,
    /// Where code can be entered: at the start of these blocks of the core function. The first is the kernel's entry.
    pub entries: Vec<(Block, Label)>,
    /// Whether part of the lanes can enter there.
    pub partial: Vec<bool>,
    /// Memory ops the engine may be asked to do: block and index of the instruction.
    pub sites: Vec<(Block, usize)>,
    /// The windows: bytes from the first to the last lane's end, and the alignment.
    pub windows: Vec<(u64, u32)>,
    /// How values lie in the frame where a group leaves all of its lanes in one place.
    pub shapes: Vec<Shape>,
    /// Of values that are varying there, but at known distances from each other: these, of all lanes of a group or of a row. Code relies on it wherever it is entered.
    pub distances: Vec<Option<Offsets>>,
    /// Where this is the converged version of a kernel: the other one, for groups in which values do not lie so.
    pub general: Option<General>,
}

/// Where the general version of a kernel can be entered, and what it relies on there.
#[derive(Clone, PartialEq, Debug)]
pub struct General {
    /// As [`Kernel::entries`], but for the kernel's entry.
    pub entries: Vec<(Block, Label)>,
    /// As [`Kernel::partial`].
    pub partial: Vec<bool>,
    /// As [`Kernel::shapes`].
    pub shapes: Vec<Shape>,
    /// As [`Kernel::distances`].
    pub distances: Vec<Option<Offsets>>,
}

impl Kernel {
    /// The type of a register.
    pub fn ty(&self, r: Reg) -> Ty {
        self.regs[r.0 as usize]
    }

    /// Number of instructions.
    pub fn inst_count(&self) -> usize {
        self.blocks.iter().map(|b| b.insts.len()).sum()
    }
}
