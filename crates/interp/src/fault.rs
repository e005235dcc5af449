//! How a kernel can fail while it runs, and how that is told.

use hostwarp_ir::mbarrier;
use hostwarp_ir::{Function, Space, TrapKind};
use hostwarp_memory::Fault;
use hostwarp_system::Exceeded;
use std::fmt;

/// What went wrong. Closed: a front end can match on all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelFaultKind {
    /// An access to memory that is not there, not aligned or not to be written.
    Memory(Fault),
    /// The `trap` instruction.
    Trap,
    /// The `brkpt` instruction.
    Breakpoint,
    /// An `assert` that does not hold: `__assertfail` was called. What it was told, if it could be read.
    Assert(Option<Box<Assertion>>),
    /// `free` of an address that `malloc` did not give, or that is free already.
    BadFree(u64),
    /// Something that cannot be done with an mbarrier.
    Mbarrier {
        /// Its generic address.
        address: u64,
        /// What.
        misuse: mbarrier::Misuse,
    },
    /// A bulk copy of so many bytes, which is no multiple of 16.
    BadCopy(u64),
    /// A call through a register that holds the address of no function, or of one with other parameters.
    BadCall,
    /// The stack, on which a function finds where it returns to, was overwritten.
    BadReturn,
    /// Functions that call each other too deeply, or `alloca` of more than there is.
    StackOverflow,
    /// An instruction that needs every lane of its warp was reached by some only.
    MissingLanes,
    /// Threads wait for each other and none can go on.
    Deadlock {
        /// Who waits for what.
        waiting: Vec<Waiting>,
    },
    /// A barrier that does not exist, or that waits for a number of threads that is no multiple of the warp size.
    BadBarrier {
        /// The barrier's number, 0 to 15 if right.
        id: u32,
        /// The number of threads named, if one was.
        count: Option<u32>,
    },
    /// The instruction budget of the launch is used up.
    OutOfFuel,
    /// The deadline of the launch has passed.
    Timeout,
    /// The host asked the launch to stop.
    Cancelled,
    /// A CTA takes more host memory than is left.
    OutOfMemory(Exceeded),
    /// PTX that Hostwarp does not do yet.
    Unsupported(String),
    /// A launch that was asked to be strict relies on what PTX leaves open.
    Strict(Misuse),
}

/// What a strict launch refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// A register is read that was never written.
    Uninitialised {
        /// Its name.
        register: String,
    },
    /// An integer is divided by zero.
    DivisionByZero,
    /// A shuffle reads a lane that does not take part in it.
    ShuffleSource {
        /// The lane.
        lane: u32,
    },
    /// A lane takes part in an operation of its warp whose mask does not name it.
    NotInMask {
        /// The mask.
        mask: u32,
    },
    /// Two lanes of a warp write different values to the same place in shared memory, with nothing to say which comes last.
    WriteRace {
        /// The offset in shared memory.
        address: u32,
        /// The thread that wrote before.
        other: [u32; 3],
        /// The line it did that in.
        line: u32,
    },
    /// A lane reads what another lane of its warp wrote to shared memory, with nothing to say that it has been written.
    ReadRace {
        /// The offset in shared memory.
        address: u32,
        /// The thread that wrote it.
        other: [u32; 3],
        /// The line it did that in.
        line: u32,
    },
    /// Shared memory is read that nobody has written.
    UninitialisedShared {
        /// The offset.
        address: u32,
    },
    /// Shared memory is accessed that a copy in the background may still write, or written that one may still read.
    UnderWay {
        /// The offset in shared memory.
        address: u32,
        /// Who does what too early.
        access: TooEarly,
        /// The thread that began the copy.
        other: [u32; 3],
        /// The line it did that in.
        line: u32,
        /// Why it is not done.
        wait: Wait,
    },
    /// A thread reads what a copy of another one's brought, which has waited for it but not synchronised with this one since.
    CopyRace {
        /// The offset in shared memory.
        address: u32,
        /// The thread that copied it.
        other: [u32; 3],
        /// The line it did that in.
        line: u32,
    },
}

/// What is done before a copy in the background is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooEarly {
    /// A read of what the copy writes.
    Read,
    /// A write to what the copy writes.
    Write,
    /// A write to what the copy reads.
    Overwrite,
}

/// Why a copy in the background may not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing has waited for it.
    None,
    /// It was in no group when its thread waited, in this line.
    NotCommitted {
        /// The line.
        line: u32,
    },
    /// The wait in this line leaves so many groups under way, and it is in one of them.
    Left {
        /// The line.
        line: u32,
        /// How many.
        groups: u32,
    },
    /// Nobody has seen the end of the phase of the mbarrier at this offset that it reports to.
    Phase {
        /// The offset of the mbarrier in shared memory.
        mbarrier: u32,
    },
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::None => f.write_str("nothing has waited for it since"),
            Wait::NotCommitted { line } => {
                write!(f, "the wait in line {line} is for groups only, and no `commit_group` came between")
            }
            Wait::Left { line, groups } => {
                write!(
                    f,
                    "the wait in line {line} leaves the last {groups} groups under way, and it is in one of them"
                )
            }
            Wait::Phase { mbarrier } => {
                write!(f, "nobody has seen the phase of the mbarrier at {mbarrier:#x} end that it reports to")
            }
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |[x, y, z]: &[u32; 3]| format!("({x}, {y}, {z})");
        match self {
            Misuse::Uninitialised { register } => {
                write!(f, "strict: `{register}` is read and was never written")
            }
            Misuse::DivisionByZero => f.write_str("strict: an integer is divided by zero"),
            Misuse::ShuffleSource { lane } => {
                write!(f, "strict: the shuffle reads lane {lane}, which does not take part in it")
            }
            Misuse::NotInMask { mask } => {
                write!(f, "strict: the mask {mask:#010x} does not name the lane that executes this")
            }
            Misuse::WriteRace { address, other, line } => write!(
                f,
                "strict: race on shared memory at {address:#x}: thread {} of the same warp wrote another value there (line {line}) and has not \
                 synchronised since; put `bar.warp.sync` or a barrier between, or let one thread write",
                show(other)
            ),
            Misuse::ReadRace { address, other, line } => write!(
                f,
                "strict: race on shared memory at {address:#x}: thread {} of the same warp wrote it (line {line}) and has not synchronised since; \
                 put `bar.warp.sync` or a barrier between",
                show(other)
            ),
            Misuse::UninitialisedShared { address } => {
                write!(f, "strict: shared memory at {address:#x} is read and was never written")
            }
            Misuse::UnderWay { address, access, other, line, wait } => {
                let (done, how) = match access {
                    TooEarly::Read => ("read", "write"),
                    TooEarly::Write => ("written", "write"),
                    TooEarly::Overwrite => ("written", "read"),
                };
                write!(
                    f,
                    "strict: shared memory at {address:#x} is {done} while the copy that thread {} began (line {line}) may still {how} it: {wait}",
                    show(other)
                )
            }
            Misuse::CopyRace { address, other, line } => write!(
                f,
                "strict: race on shared memory at {address:#x}: thread {} has copied it (line {line}) and waited, and this thread has not synchronised \
                 with it since; put a barrier between",
                show(other)
            ),
        }
    }
}

/// What an `assert` says that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The condition as written.
    pub message: String,
    /// The source file.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// Threads of a CTA that wait at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What they wait for.
    pub at: WaitingAt,
    /// Line of the source they wait at; 0 if not known.
    pub line: u32,
    /// Their linear thread indices, ascending.
    pub threads: Vec<u32>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitingAt {
    /// A barrier of the CTA.
    Barrier {
        /// Its number; 16 is that of the cluster.
        id: u8,
    },
    /// Other lanes of the warp.
    WarpSync {
        /// The lanes named.
        mask: u32,
    },
    /// The next phase of an mbarrier.
    Mbarrier {
        /// Its generic address.
        address: u64,
    },
}

/// A fault with its place. After it the launch stops; device memory stays usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFault {
    /// What went wrong.
    pub kind: KernelFaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// Line of the source; 0 if not known.
    pub line: u32,
    /// The file, where a module was linked from several.
    pub file: Option<String>,
    /// Index of the CTA.
    pub cta: [u32; 3],
    /// Index of the thread; none if the fault is no single thread's.
    pub thread: Option<[u32; 3]>,
}

/// Linear indices as ranges: `0-31, 40`.
fn ranges(threads: &[u32]) -> String {
    let mut out: Vec<String> = vec![];
    let mut i = 0;
    while i < threads.len() {
        let from = i;
        while i + 1 < threads.len() && threads[i + 1] == threads[i] + 1 {
            i += 1;
        }
        out.push(if from == i {
            threads[from].to_string()
        } else {
            format!("{}-{}", threads[from], threads[i])
        });
        i += 1;
    }
    out.join(", ")
}

/// A generic address as people look for it: the offset in shared memory, if it is there.
struct InShared(u64);

impl fmt::Display for InShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(Space::Shared.window()) {
            Some(offset) if offset >> 32 == 0 => write!(f, "byte {offset} of shared memory"),
            _ => f.write_str("not in shared memory"),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.threads.len() == 1 { "" } else { "s" };
        write!(f, "thread{s} {} wait{} ", ranges(&self.threads), if s.is_empty() { "s" } else { "" })?;
        match self.at {
            WaitingAt::Barrier { id: 16 } => f.write_str("at the barrier of the cluster")?,
            WaitingAt::Barrier { id } => write!(f, "at barrier {id}")?,
            WaitingAt::WarpSync { mask } => write!(f, "for the lanes {mask:#010x} of the warp")?,
            WaitingAt::Mbarrier { address } => {
                write!(f, "for the mbarrier at {address:#x} ({})", InShared(address))?
            }
        }
        if self.line != 0 {
            write!(f, " (line {})", self.line)?;
        }
        Ok(())
    }
}

impl KernelFaultKind {
    /// What happens where a block of `func` ends in a trap.
    pub fn of_trap(kind: TrapKind, func: &Function) -> KernelFaultKind {
        match kind {
            TrapKind::Trap => KernelFaultKind::Trap,
            TrapKind::Breakpoint => KernelFaultKind::Breakpoint,
            TrapKind::Assert => KernelFaultKind::Assert(None),
            TrapKind::BadCall => KernelFaultKind::BadCall,
            TrapKind::BadReturn => KernelFaultKind::BadReturn,
            TrapKind::StackOverflow => KernelFaultKind::StackOverflow,
            TrapKind::MissingLanes => KernelFaultKind::MissingLanes,
            TrapKind::Unsupported(n) => {
                KernelFaultKind::Unsupported(func.unsupported.get(n as usize).cloned().unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for KernelFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelFaultKind::Memory(fault) => fault.fmt(f),
            KernelFaultKind::Trap => f.write_str("trap"),
            KernelFaultKind::Breakpoint => f.write_str("breakpoint"),
            KernelFaultKind::Assert(None) => f.write_str("an assertion failed"),
            KernelFaultKind::Assert(Some(of)) => {
                let Assertion { message, file, line, function } = &**of;
                write!(f, "{file}:{line}: {function}: assertion `{message}` failed")
            }
            KernelFaultKind::BadFree(at) => {
                write!(
                    f,
                    "`free` of {at:#x}, which is no block that `malloc` gave, or one that is free already"
                )
            }
            KernelFaultKind::Mbarrier { address, misuse } => {
                write!(f, "the mbarrier at {address:#x} ({}) {misuse}", InShared(*address))
            }
            KernelFaultKind::BadCopy(bytes) => {
                write!(f, "a bulk copy of {bytes} bytes, which is no multiple of 16")
            }
            KernelFaultKind::BadCall => f.write_str(
                "a call through a register that holds the address of no function with this prototype",
            ),
            KernelFaultKind::BadReturn => f.write_str(
                "the place to return to was overwritten: something wrote behind its local variables",
            ),
            KernelFaultKind::MissingLanes => f.write_str(
                "lanes are missing: all 32 of a warp must run this instruction together, and some have exited, went another way or were never launched; make the block a multiple of 32 threads and the branches around it the same for a warp",
            ),
            KernelFaultKind::StackOverflow => {
                f.write_str("the stack is full: calls nest too deeply, or `alloca` takes too much")
            }
            KernelFaultKind::Deadlock { waiting } => {
                f.write_str("deadlock: no thread of the CTA can go on")?;
                for w in waiting {
                    write!(f, "\n  {w}")?;
                }
                Ok(())
            }
            KernelFaultKind::BadBarrier { id, count: None } => {
                write!(f, "barrier {id} does not exist; a CTA has barriers 0 to 15")
            }
            KernelFaultKind::BadBarrier { id, count: Some(count) } => {
                if *id > 15 {
                    write!(f, "barrier {id} does not exist; a CTA has barriers 0 to 15")
                } else {
                    write!(f, "barrier {id} waits for {count} threads, which is no positive multiple of 32")
                }
            }
            KernelFaultKind::OutOfFuel => f.write_str("the instruction budget of the launch is used up"),
            KernelFaultKind::Timeout => f.write_str("the launch ran past its time limit"),
            KernelFaultKind::Cancelled => f.write_str("the launch was cancelled"),
            KernelFaultKind::OutOfMemory(exceeded) => write!(f, "the CTA does not fit: {exceeded}"),
            KernelFaultKind::Unsupported(what) => write!(f, "not supported yet: {what}"),
            KernelFaultKind::Strict(misuse) => misuse.fmt(f),
        }
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        if self.line != 0 {
            write!(f, ", line {}", self.line)?;
        }
        if let Some(file) = &self.file {
            write!(f, " of {file}")?;
        }
        let [x, y, z] = self.cta;
        write!(f, ", CTA ({x}, {y}, {z})")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for KernelFault {}
