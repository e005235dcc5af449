//! Which memory an address is in, and how many transactions the accesses of a warp make.

use super::lanes;
use hostwarp_ir::Space;
use std::collections::HashSet;

/// A generic address by where it leads, as the offset there; addresses of other spaces as they are.
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    if space != Space::Generic {
        return (space, address);
    }
    let windows = [Space::Shared, Space::Local, Space::Const, Space::Param];
    let within = |s: &Space| (s.window()..s.window() + (1 << 32)).contains(&address);
    match windows.into_iter().find(within) {
        Some(space) => (space, address - space.window()),
        None => (Space::Global, address),
    }
}

/// Bytes that global and local memory move at once.
const SECTOR: u64 = 32;
/// Banks of shared memory, of a word each.
const BANKS: u64 = 32;
const WORD: u64 = 4;

/// Transactions of lanes that access so many bytes each in one space: sectors of 32 bytes in global and local memory (where the words of 32 lanes lie side by
/// side), passes over the 32 banks of shared memory, different addresses in the others.
pub(super) fn transactions(space: Space, mask: u32, addresses: &[u64; 32], bytes: u32) -> u64 {
    let bytes = u64::from(bytes.max(1));
    let of = |lane: u32| addresses[lane as usize];
    match space {
        Space::Global | Space::Generic => {
            let sectors = |l| of(l) / SECTOR..=of(l).saturating_add(bytes - 1) / SECTOR;
            lanes(mask).flat_map(sectors).collect::<HashSet<_>>().len() as u64
        }
        Space::Local => {
            let words = |l| of(l) / WORD..=of(l).saturating_add(bytes - 1) / WORD;
            let sectors = |l: u32| words(l).map(move |word| (word, u64::from(l) * WORD / SECTOR));
            lanes(mask).flat_map(sectors).collect::<HashSet<_>>().len() as u64
        }
        Space::Shared => {
            // Accesses of 8 bytes are done by half warps, those of 16 by quarters.
            let at_once = (BANKS * WORD / bytes.max(WORD)).max(1) as u32;
            let groups = (0..32).step_by(at_once as usize).map(|first| {
                let group = lanes(mask).filter(move |l| (first..first + at_once).contains(l));
                let words = group.flat_map(|l| of(l) / WORD..=of(l).saturating_add(bytes - 1) / WORD);
                let mut busy = [0u64; BANKS as usize];
                words.collect::<HashSet<_>>().iter().for_each(|w| busy[(w % BANKS) as usize] += 1);
                busy.into_iter().max().unwrap_or(0)
            });
            groups.sum()
        }
        Space::Const | Space::Param => lanes(mask).map(of).collect::<HashSet<_>>().len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(f: impl Fn(u64) -> u64) -> [u64; 32] {
        std::array::from_fn(|lane| f(lane as u64))
    }

    #[test]
    fn global_memory_moves_sectors() {
        let count = |f: &dyn Fn(u64) -> u64, bytes| transactions(Space::Global, u32::MAX, &at(f), bytes);
        assert_eq!(count(&|l| 256 + 4 * l, 4), 4);
        assert_eq!(count(&|l| 256 + 128 * l, 4), 32);
        assert_eq!(count(&|_| 256, 4), 1);
        assert_eq!(count(&|l| 256 + 16 * l, 16), 16);
        assert_eq!(transactions(Space::Global, 1, &at(|l| 4 * l), 4), 1);
    }

    #[test]
    fn shared_memory_passes_over_its_banks() {
        let count = |f: &dyn Fn(u64) -> u64, bytes| transactions(Space::Shared, u32::MAX, &at(f), bytes);
        assert_eq!(count(&|l| 4 * l, 4), 1);
        assert_eq!(count(&|_| 64, 4), 1);
        assert_eq!(count(&|l| 8 * l, 4), 2);
        assert_eq!(count(&|l| 128 * l, 4), 32);
        assert_eq!(count(&|l| 8 * l, 8), 2);
        assert_eq!(count(&|l| 16 * l, 16), 4);
    }

    #[test]
    fn words_of_local_memory_lie_side_by_side() {
        assert_eq!(transactions(Space::Local, u32::MAX, &at(|_| 8), 4), 4);
        assert_eq!(transactions(Space::Local, u32::MAX, &at(|_| 8), 8), 8);
    }

    #[test]
    fn generic_addresses_lead_somewhere() {
        assert_eq!(resolve(Space::Generic, Space::Shared.window() + 12), (Space::Shared, 12));
        assert_eq!(resolve(Space::Generic, Space::Local.window() + 12), (Space::Local, 12));
        assert_eq!(resolve(Space::Generic, 4096), (Space::Global, 4096));
        assert_eq!(resolve(Space::Shared, 4096), (Space::Shared, 4096));
    }
}
