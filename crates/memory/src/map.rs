//! The address map: where each state space lies among generic 64-bit addresses.
//!
//! ```text
//! 0x0_0000_0000_0000 .. 0x0_0000_0001_0000   never valid: null pointers and small offsets from them
//! 0x0_0200_0000_0000 .. + capacity           global memory, one arena per device
//! 0x1_0000_0000_0000 .. + 16 MiB             shared window: every CTA sees its own shared memory here
//! 0x1_0001_0000_0000 .. + 16 MiB             local window: every thread sees its own local memory here
//! 0x1_0002_0000_0000 .. + 16 MiB             const window: the constant bank of the running module
//! 0x1_0003_0000_0000 .. + 16 MiB             param window: the parameters of the running kernel
//! ```
//!
//! - A window is found by comparing the bits above [`WINDOW_BITS`]; whatever is in no window is global, as the PTX
//!   manual has it, and is then checked against the allocations.
//! - Addresses *in* a windowed space are offsets that begin at 0; converting to generic adds the window's base,
//!   converting back subtracts it. The low 32 bits of every base are 0, so cutting a generic address to 32 bits gives
//!   the same offset.
//! - The windows do not depend on the CTA, the thread or the device, so that pointer bits never depend on scheduling.
//! - The windows lie above 47 bits, where no user-space host pointer can be, and global memory far below where hosts
//!   put their own mappings, so a host pointer passed by mistake is caught.

use std::fmt;

/// First byte of global memory.
pub const GLOBAL_BASE: u64 = 0x0000_0200_0000_0000;
/// Global memory never reaches beyond this address, whatever the capacity.
pub const GLOBAL_LIMIT: u64 = 1 << 46;
/// Accesses below this address are reported as going through a null pointer.
pub const NULL_LIMIT: u64 = 1 << 16;

/// Address bits inside a window; the bits above say which window it is.
pub const WINDOW_BITS: u32 = 24;
/// Bytes reserved for each window: 16 MiB.
pub const WINDOW_SIZE: u64 = 1 << WINDOW_BITS;

/// Generic address of offset 0 in shared memory.
pub const SHARED_BASE: u64 = 0x0001_0000_0000_0000;
/// Generic address of offset 0 in local memory.
pub const LOCAL_BASE: u64 = 0x0001_0001_0000_0000;
/// Generic address of offset 0 in constant memory.
pub const CONST_BASE: u64 = 0x0001_0002_0000_0000;
/// Generic address of offset 0 in the kernel's parameters.
pub const PARAM_BASE: u64 = 0x0001_0003_0000_0000;

/// A state space that an access can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Space {
    /// One for the device; addresses are generic addresses.
    Global,
    /// One for each CTA; addresses are offsets from 0.
    Shared,
    /// One for each thread; addresses are offsets from 0.
    Local,
    /// The module's constant bank, read-only to kernels; addresses are offsets from 0.
    Const,
    /// The kernel's parameters, read-only to kernels; addresses are offsets from 0.
    Param,
    /// Any of the others, told by the address.
    Generic,
}

impl Space {
    /// What is added to an address in this space to make it generic.
    #[inline]
    pub const fn window_base(self) -> u64 {
        match self {
            Space::Global | Space::Generic => 0,
            Space::Shared => SHARED_BASE,
            Space::Local => LOCAL_BASE,
            Space::Const => CONST_BASE,
            Space::Param => PARAM_BASE,
        }
    }

    /// Whether addresses in this space are offsets into a window.
    #[inline]
    pub const fn is_window(self) -> bool {
        matches!(self, Space::Shared | Space::Local | Space::Const | Space::Param)
    }

    /// The generic address of `addr` in this space (`cvta`). Wraps, as the instruction does.
    #[inline]
    pub const fn to_generic(self, addr: u64) -> u64 {
        addr.wrapping_add(self.window_base())
    }

    /// The address in this space of a generic address (`cvta.to`). Wraps, as the instruction does: whether the result
    /// is inside the space is only known when it is used.
    #[inline]
    pub const fn from_generic(self, addr: u64) -> u64 {
        addr.wrapping_sub(self.window_base())
    }

    /// Whether a generic address lies in this space (`isspacep`).
    #[inline]
    pub const fn contains_generic(self, addr: u64) -> bool {
        match self {
            Space::Generic => true,
            Space::Global => matches!(decode(addr).0, Space::Global),
            _ => addr >> WINDOW_BITS == self.window_base() >> WINDOW_BITS,
        }
    }

    /// The name as PTX writes it, without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
            Space::Generic => "generic",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The space a generic address lies in, and the address within that space. Never answers [`Space::Generic`].
#[inline]
pub const fn decode(addr: u64) -> (Space, u64) {
    const SHARED: u64 = SHARED_BASE >> WINDOW_BITS;
    const LOCAL: u64 = LOCAL_BASE >> WINDOW_BITS;
    const CONST: u64 = CONST_BASE >> WINDOW_BITS;
    const PARAM: u64 = PARAM_BASE >> WINDOW_BITS;
    let space = match addr >> WINDOW_BITS {
        SHARED => Space::Shared,
        LOCAL => Space::Local,
        CONST => Space::Const,
        PARAM => Space::Param,
        _ => return (Space::Global, addr),
    };
    (space, addr & (WINDOW_SIZE - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: [Space; 4] = [Space::Shared, Space::Local, Space::Const, Space::Param];

    #[test]
    fn generic_addresses_round_trip() {
        for space in WINDOWS {
            for offset in [0, 4, 48 * 1024, WINDOW_SIZE - 1] {
                let generic = space.to_generic(offset);
                assert_eq!(decode(generic), (space, offset));
                assert_eq!(space.from_generic(generic), offset);
                assert_eq!(generic as u32 as u64, offset, "truncation agrees with cvta.to.{space}");
            }
        }
        assert_eq!(Space::Global.to_generic(GLOBAL_BASE), GLOBAL_BASE);
    }

    #[test]
    fn outside_every_window_is_global() {
        for space in WINDOWS {
            for addr in [space.window_base() - 1, space.window_base() + WINDOW_SIZE] {
                assert_eq!(decode(addr), (Space::Global, addr));
                assert!(!space.contains_generic(addr));
                assert!(Space::Global.contains_generic(addr));
            }
            assert!(!Space::Global.contains_generic(space.window_base()));
            assert!(space.contains_generic(space.window_base()));
        }
        for addr in [0, NULL_LIMIT, GLOBAL_BASE, u64::MAX] {
            assert_eq!(decode(addr), (Space::Global, addr));
        }
    }

    #[test]
    fn spaces_do_not_meet() {
        const { assert!(NULL_LIMIT < GLOBAL_BASE && GLOBAL_BASE < GLOBAL_LIMIT && GLOBAL_LIMIT < SHARED_BASE) };
        for pair in WINDOWS.windows(2) {
            assert!(pair[0].window_base() + WINDOW_SIZE <= pair[1].window_base());
        }
    }
}
