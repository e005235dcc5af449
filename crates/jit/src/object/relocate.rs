//! What each kind of relocation writes. The names and formulas are those of the processor supplements to the ELF ABI.

use super::LoadError;
use crate::target::Arch;

/// A place to be filled in.
#[derive(Clone, Copy)]
pub(super) struct Site {
    /// P: the address of the place.
    pub(super) address: u64,
    /// S + A: the address it refers to.
    pub(super) value: u64,
}

/// Fills in the place that `bytes` starts with; `bytes` ends with its section.
pub(super) fn apply(arch: Arch, kind: u32, site: Site, bytes: &mut [u8]) -> Result<(), LoadError> {
    match arch {
        Arch::X86_64 => x86_64(kind, site, bytes),
        Arch::Aarch64 => aarch64(kind, site, bytes),
    }
}

fn out_of_reach(kind: u32) -> LoadError {
    LoadError::Refused(format!("a reference that does not reach (relocation {kind})"))
}

fn unknown(kind: u32) -> LoadError {
    LoadError::Refused(format!("a relocation of kind {kind}"))
}

fn place<const N: usize>(bytes: &mut [u8]) -> Result<&mut [u8; N], LoadError> {
    bytes
        .first_chunk_mut::<N>()
        .ok_or_else(|| LoadError::Malformed("a relocation reaches out of its section".into()))
}

fn x86_64(kind: u32, site: Site, bytes: &mut [u8]) -> Result<(), LoadError> {
    const R_64: u32 = 1;
    const R_PC32: u32 = 2;
    const R_PLT32: u32 = 4; // to a symbol of the same image: as PC32
    const R_32: u32 = 10;
    const R_32S: u32 = 11;
    const R_PC64: u32 = 24;
    let distance = site.value.wrapping_sub(site.address);
    match kind {
        R_64 => *place(bytes)? = site.value.to_le_bytes(),
        R_PC64 => *place(bytes)? = distance.to_le_bytes(),
        R_PC32 | R_PLT32 => {
            let distance = i32::try_from(distance as i64).map_err(|_| out_of_reach(kind))?;
            *place(bytes)? = distance.to_le_bytes();
        }
        R_32 => *place(bytes)? = u32::try_from(site.value).map_err(|_| out_of_reach(kind))?.to_le_bytes(),
        R_32S => {
            *place(bytes)? = i32::try_from(site.value as i64).map_err(|_| out_of_reach(kind))?.to_le_bytes()
        }
        _ => return Err(unknown(kind)),
    }
    Ok(())
}

fn aarch64(kind: u32, site: Site, bytes: &mut [u8]) -> Result<(), LoadError> {
    const R_ABS64: u32 = 257;
    const R_PREL64: u32 = 260;
    const R_PREL32: u32 = 261;
    const R_ADR_PREL_PG_HI21: u32 = 275;
    const R_ADD_ABS_LO12_NC: u32 = 277;
    const R_LDST8_ABS_LO12_NC: u32 = 278;
    const R_JUMP26: u32 = 282;
    const R_CALL26: u32 = 283;
    const R_LDST16_ABS_LO12_NC: u32 = 284;
    const R_LDST32_ABS_LO12_NC: u32 = 285;
    const R_LDST64_ABS_LO12_NC: u32 = 286;
    const R_LDST128_ABS_LO12_NC: u32 = 299;
    let distance = site.value.wrapping_sub(site.address) as i64;
    let mut insert = |mask: u32, bits: u32| {
        let word = place::<4>(bytes)?;
        *word = ((u32::from_le_bytes(*word) & !mask) | (bits & mask)).to_le_bytes();
        Ok(())
    };
    // The low twelve bits of the address, scaled by the size of the access.
    let low = |scale: u32| ((site.value as u32 & 0xfff) >> scale) << 10;
    match kind {
        R_ABS64 => *place(bytes)? = site.value.to_le_bytes(),
        R_PREL64 => *place(bytes)? = distance.to_le_bytes(),
        R_PREL32 => *place(bytes)? = i32::try_from(distance).map_err(|_| out_of_reach(kind))?.to_le_bytes(),
        R_ADR_PREL_PG_HI21 => {
            let pages = ((site.value & !0xfff).wrapping_sub(site.address & !0xfff) as i64) >> 12;
            if !(-(1 << 20)..1 << 20).contains(&pages) {
                return Err(out_of_reach(kind));
            }
            let pages = pages as u32;
            insert(0x60ff_ffe0, (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5)?;
        }
        R_ADD_ABS_LO12_NC | R_LDST8_ABS_LO12_NC => insert(0xfff << 10, low(0))?,
        R_LDST16_ABS_LO12_NC => insert(0xfff << 10, low(1))?,
        R_LDST32_ABS_LO12_NC => insert(0xfff << 10, low(2))?,
        R_LDST64_ABS_LO12_NC => insert(0xfff << 10, low(3))?,
        R_LDST128_ABS_LO12_NC => insert(0xfff << 10, low(4))?,
        R_JUMP26 | R_CALL26 => {
            let words = distance >> 2;
            if distance & 3 != 0 || !(-(1 << 25)..1 << 25).contains(&words) {
                return Err(out_of_reach(kind));
            }
            insert(0x03ff_ffff, words as u32)?;
        }
        _ => return Err(unknown(kind)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x86_references_are_relative_and_checked() {
        let mut bytes = [0u8; 8];
        x86_64(2, Site { address: 0x1000, value: 0x0ffc }, &mut bytes).unwrap();
        assert_eq!(bytes[..4], (-4i32).to_le_bytes());
        assert!(x86_64(2, Site { address: 0, value: 1 << 31 }, &mut bytes).is_err());
        assert!(x86_64(2, Site { address: 0, value: 0 }, &mut bytes[..3]).is_err());
        assert!(x86_64(9, Site { address: 0, value: 0 }, &mut bytes).is_err(), "no global offset table");
    }

    #[test]
    fn arm_page_and_offset_make_the_address() {
        // adrp x0, 0 ; ldr q0, [x0]
        let (mut adrp, mut ldr) = (0x9000_0000u32.to_le_bytes(), 0x3dc0_0000u32.to_le_bytes());
        let (address, value) = (0x7000_0123_4000u64, 0x7000_0123_9120u64);
        aarch64(275, Site { address, value }, &mut adrp).unwrap();
        aarch64(299, Site { address: address + 4, value }, &mut ldr).unwrap();
        let (adrp, ldr) = (u32::from_le_bytes(adrp), u32::from_le_bytes(ldr));
        let pages = u64::from(adrp >> 29 & 3 | (adrp >> 5 & 0x7_ffff) << 2);
        let offset = u64::from(ldr >> 10 & 0xfff) * 16;
        assert_eq!((address & !0xfff) + (pages << 12) + offset, value);
    }
}
