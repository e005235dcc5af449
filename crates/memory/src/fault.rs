//! What can be wrong with an access, and how it is told.

use crate::map::Space;
use std::fmt;

/// What is wrong with an access. Closed: an engine can match on all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The address is null or a small offset from null.
    NullPointer,
    /// The address is not a multiple of `align`.
    Misaligned {
        /// What the address must be a multiple of.
        align: u64,
    },
    /// Not wholly inside one live allocation of global memory.
    OutOfBounds,
    /// Inside an allocation of global memory that has been freed.
    UseAfterFree,
    /// Not wholly inside the CTA's shared memory, the thread's local memory, the constant bank or the parameters.
    OutOfWindow {
        /// Which window.
        space: Space,
        /// How many bytes of the window exist here.
        len: u64,
    },
    /// The instruction names one space, the address lies in another.
    WrongSpace {
        /// Where the address lies.
        actual: Space,
    },
    /// A store or an atomic to constant memory or to the parameters.
    ReadOnly {
        /// The space written to.
        space: Space,
    },
}

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A kernel reads.
    Load,
    /// A kernel writes.
    Store,
    /// A kernel reads and writes in one step.
    Atomic,
    /// The host copies out of device memory.
    HostRead,
    /// The host copies or fills into device memory.
    HostWrite,
}

impl Access {
    /// Whether memory may be changed.
    pub const fn writes(self) -> bool {
        !matches!(self, Access::Load | Access::HostRead)
    }

    fn noun(self) -> &'static str {
        match self {
            Access::Load => "load",
            Access::Store => "store",
            Access::Atomic => "atomic",
            Access::HostRead => "host read",
            Access::HostWrite => "host write",
        }
    }
}

/// Where an access lies relative to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Begins this many bytes before the allocation.
    Before(u64),
    /// Begins and ends inside; this is the offset.
    Inside(u64),
    /// Begins inside and runs this many bytes over the end.
    Over(u64),
    /// Begins this many bytes after the last byte's successor; 0 is directly behind the allocation.
    Past(u64),
}

impl Place {
    /// The place of `[addr, addr + size)` relative to `[base, base + len)`.
    pub(crate) fn of(addr: u64, size: u64, base: u64, len: u64) -> Place {
        if addr < base {
            return Place::Before(base - addr);
        }
        let offset = addr - base;
        if offset >= len {
            Place::Past(offset - len)
        } else if size > len - offset {
            Place::Over(size - (len - offset))
        } else {
            Place::Inside(offset)
        }
    }

    /// Bytes between the access's first byte and the allocation.
    pub(crate) fn distance(self) -> u64 {
        match self {
            Place::Before(n) => n,
            Place::Past(n) => n.saturating_add(1),
            Place::Inside(_) | Place::Over(_) => 0,
        }
    }
}

/// The allocation that a faulting access was probably meant for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nearest {
    /// Its first address.
    pub base: u64,
    /// Its size in bytes, as asked for.
    pub size: u64,
    /// The name it was given, if any.
    pub name: Option<String>,
    /// Whether it has been freed.
    pub freed: bool,
    /// Where the access lies relative to it.
    pub place: Place,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}-byte allocation at {:#x}", self.size, self.base)?;
        if let Some(name) = &self.name {
            write!(f, " (`{name}`)")?;
        }
        if self.freed {
            f.write_str(", which has been freed")?;
        }
        Ok(())
    }
}

/// One faulting access, in full. Made in the cold path; engines add kernel, line, CTA and thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The address as the instruction had it: an offset in a windowed space, else a generic address.
    pub addr: u64,
    /// Bytes accessed.
    pub size: u64,
    /// The space the instruction names.
    pub space: Space,
    /// How memory was touched.
    pub access: Access,
    /// The allocation the access was probably meant for; only for addresses in global memory.
    pub nearest: Option<Nearest>,
}

impl Fault {
    /// Whether the access would have changed memory.
    pub fn write(&self) -> bool {
        self.access.writes()
    }
}

fn bytes(n: u64) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-byte ", self.size)?;
        // Global and generic addresses speak for themselves; an offset needs its space.
        if self.space.is_window() {
            write!(f, "{} {} at offset {:#x} ", self.space, self.access.noun(), self.addr)?;
        } else {
            write!(f, "{} at {:#x} ", self.access.noun(), self.addr)?;
        }
        match self.kind {
            FaultKind::NullPointer => f.write_str("goes through a null pointer"),
            FaultKind::Misaligned { align } => {
                write!(f, "is misaligned: the address must be a multiple of {align}")?;
                match &self.nearest {
                    Some(nearest) if matches!(nearest.place, Place::Inside(_) | Place::Over(_)) => {
                        write!(f, " (in {nearest})")
                    }
                    _ => Ok(()),
                }
            }
            FaultKind::OutOfBounds | FaultKind::UseAfterFree => match &self.nearest {
                None => f.write_str("is in no allocation"),
                Some(nearest) => match nearest.place {
                    Place::Before(n) => write!(f, "is {} before {nearest}", bytes(n)),
                    Place::Inside(n) => write!(f, "is {} into {nearest}", bytes(n)),
                    Place::Over(n) => write!(f, "runs {} over the end of {nearest}", bytes(n)),
                    Place::Past(0) => write!(f, "is directly past the end of {nearest}"),
                    Place::Past(n) => write!(f, "is {} past the end of {nearest}", bytes(n)),
                },
            },
            FaultKind::OutOfWindow { space, len } => {
                let offset =
                    if self.space == Space::Generic { space.from_generic(self.addr) } else { self.addr };
                let owner = match space {
                    Space::Shared => "the CTA's shared memory",
                    Space::Local => "the thread's local memory",
                    Space::Const => "the constant bank",
                    Space::Param => "the kernel's parameters",
                    Space::Global | Space::Generic => "memory",
                };
                // Offsets are often computed in 32 bits, and a negative one is a likelier mistake than a huge one.
                let signed = u32::try_from(offset).map_or(offset as i64, |low| i64::from(low as i32));
                match Place::of(offset, self.size, 0, len) {
                    _ if signed < 0 => write!(f, "is {} before {owner}", bytes(signed.unsigned_abs())),
                    Place::Over(n) => write!(f, "runs {} over the end of {owner} ({})", bytes(n), bytes(len)),
                    Place::Past(n) if n > 0 => {
                        write!(f, "is {} past the end of {owner} ({})", bytes(n), bytes(len))
                    }
                    _ => write!(f, "is directly past the end of {owner} ({})", bytes(len)),
                }
            }
            FaultKind::WrongSpace { actual } => {
                if self.space.is_window() {
                    write!(
                        f,
                        "is a generic address in {actual} memory, not an offset into {} memory",
                        self.space
                    )
                } else {
                    write!(f, "lies in {actual} memory, not in {} memory", self.space)
                }
            }
            FaultKind::ReadOnly { space } => {
                write!(f, "writes to {space} memory, which kernels can only read")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// What can go wrong when the host asks for something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemoryError {
    /// No free range of device memory is large enough.
    OutOfDeviceMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes not allocated, in all free ranges together.
        free: u64,
        /// Bytes of the device in all.
        capacity: u64,
    },
    /// The operating system refused to reserve memory for the device.
    Reserve {
        /// The least that was tried, in bytes.
        asked: u64,
        /// What the operating system said.
        reason: String,
    },
    /// An alignment that is not a power of two.
    BadAlignment(u64),
    /// A free of something that is not the base of a live allocation.
    InvalidFree {
        /// The address given.
        addr: u64,
        /// The allocation around or closest to the address.
        nearest: Option<Nearest>,
    },
    /// Memory of the host's that cannot be an allocation.
    Foreign {
        /// Its first address.
        addr: u64,
        /// Its size in bytes.
        size: u64,
        /// Why not.
        reason: &'static str,
    },
    /// A host copy or fill outside of an allocation.
    Access(Fault),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::OutOfDeviceMemory { asked, free, capacity } => {
                write!(f, "out of device memory: {asked} bytes asked for, {free} of {capacity} free")?;
                if asked <= free { f.write_str(" but in no single range") } else { Ok(()) }
            }
            MemoryError::Reserve { asked, reason } => {
                write!(f, "cannot reserve {asked} bytes for device memory: {reason}")
            }
            MemoryError::BadAlignment(align) => write!(f, "alignment {align} is not a power of two"),
            MemoryError::InvalidFree { addr, nearest } => match nearest {
                Some(n) if n.freed && n.place == Place::Inside(0) => write!(f, "double free of {n}"),
                Some(n) if matches!(n.place, Place::Inside(_)) => {
                    write!(f, "cannot free {addr:#x}: it is not the start of {n}")
                }
                _ => write!(f, "cannot free {addr:#x}: it is not the start of an allocation"),
            },
            MemoryError::Foreign { addr, size, reason } => {
                write!(f, "the {size} bytes of the host at {addr:#x} cannot be used by kernels: {reason}")
            }
            MemoryError::Access(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for MemoryError {}

impl From<Fault> for MemoryError {
    fn from(fault: Fault) -> Self {
        MemoryError::Access(fault)
    }
}
