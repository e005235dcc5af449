//! What a launch executed and where it accessed memory.

use super::{lanes, space};
use hostwarp_compile::{Access, Site, SiteKind};
use hostwarp_interp::Observed;
use hostwarp_ir::Space;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a launch executed: see [`LaunchBuilder::stats`](crate::LaunchBuilder::stats).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Every instruction of the module that was executed, by line.
    pub instructions: Vec<InstructionStats>,
    /// The same by opcode, those executed most first.
    pub opcodes: Vec<OpcodeStats>,
    /// Memory by space and kind of access; what was not accessed is not there.
    pub memory: Vec<MemoryStats>,
}

/// How often an instruction was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionStats {
    /// Its line.
    pub line: u32,
    /// Its text, in one line.
    pub text: String,
    /// How often a warp executed it, whatever the guard.
    pub warps: u64,
    /// How often a thread did.
    pub threads: u64,
    /// How often a thread did for which the guard held.
    pub guarded: u64,
}

/// How often the instructions with an opcode were executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpcodeStats {
    /// Opcode and modifiers.
    pub opcode: String,
    /// As in [`InstructionStats`].
    pub warps: u64,
    /// As in [`InstructionStats`].
    pub threads: u64,
    /// As in [`InstructionStats`].
    pub guarded: u64,
}

/// Accesses of one kind to one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryStats {
    /// The space; generic addresses count where they lead.
    pub space: Space,
    /// Loads, stores or atomics.
    pub access: Access,
    /// How often a warp did one.
    pub warps: u64,
    /// How often a thread did.
    pub threads: u64,
    /// Bytes that threads read or wrote.
    pub bytes: u64,
    /// What the memory of a GPU does for that: sectors of 32 bytes of global and local memory, passes over the banks of shared memory (1 for each
    /// warp if there is no conflict), different addresses of constants and parameters.
    pub transactions: u64,
}

impl Stats {
    /// How often a warp executed an instruction.
    pub fn warp_instructions(&self) -> u64 {
        self.instructions.iter().map(|i| i.warps).sum()
    }

    /// How often a thread executed an instruction.
    pub fn thread_instructions(&self) -> u64 {
        self.instructions.iter().map(|i| i.threads).sum()
    }

    /// Threads that execute an instruction of a warp together, on average: 32 if lanes never diverge and warps are full.
    pub fn active_lanes(&self) -> f64 {
        ratio(self.thread_instructions(), self.warp_instructions())
    }
}

impl InstructionStats {
    /// Threads that execute it together, on average.
    pub fn active_lanes(&self) -> f64 {
        ratio(self.threads, self.warps)
    }
}

impl OpcodeStats {
    /// Threads that execute it together, on average.
    pub fn active_lanes(&self) -> f64 {
        ratio(self.threads, self.warps)
    }
}

fn ratio(of: u64, to: u64) -> f64 {
    if to == 0 { 0.0 } else { of as f64 / to as f64 }
}

/// Spaces in the order they are told.
const SPACES: [Space; 5] = [Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param];
const ACCESSES: [Access; 3] = [Access::Load, Access::Store, Access::Atomic];

#[derive(Default)]
struct Count([AtomicU64; 4]);

impl Count {
    fn add(&self, more: [u64; 4]) {
        for (count, more) in self.0.iter().zip(more) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn get(&self) -> [u64; 4] {
        std::array::from_fn(|n| self.0[n].load(Ordering::Relaxed))
    }
}

pub(super) struct Counters {
    /// By site: warps, threads, threads for which the guard held.
    sites: Vec<Count>,
    /// Warps, threads, bytes, transactions.
    memory: [[Count; ACCESSES.len()]; SPACES.len()],
}

impl Counters {
    pub(super) fn new(sites: usize) -> Counters {
        Counters { sites: (0..sites).map(|_| Count::default()).collect(), memory: Default::default() }
    }

    pub(super) fn observe(&self, number: usize, site: &Site, at: &Observed<'_>) {
        match &site.what {
            SiteKind::Instruction { .. } => {
                let guarded = lanes(at.lanes).filter(|l| at.operands[*l as usize] != 0).count() as u64;
                self.sites[number].add([1, at.lanes.count_ones().into(), guarded, 0]);
            }
            SiteKind::Access { access, space: named, bytes, .. } => {
                let mut addresses = [0; 32];
                let mut masks = [0u32; SPACES.len()];
                for lane in lanes(at.lanes) {
                    let (space, address) = space::resolve(*named, at.operands[lane as usize]);
                    addresses[lane as usize] = address;
                    masks[SPACES.iter().position(|s| *s == space).unwrap_or(0)] |= 1 << lane;
                }
                for (n, mask) in masks.into_iter().enumerate().filter(|(_, mask)| *mask != 0) {
                    let threads = u64::from(mask.count_ones());
                    let moved = space::transactions(SPACES[n], mask, &addresses, *bytes);
                    self.memory[n][*access as usize].add([1, threads, threads * u64::from(*bytes), moved]);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self, sites: &[Site]) -> Stats {
        let mut stats = Stats::default();
        let mut opcodes: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
        for (site, count) in sites.iter().zip(&self.sites) {
            let (SiteKind::Instruction { opcode, text }, counts @ [warps, threads, guarded, _]) =
                (&site.what, count.get())
            else {
                continue;
            };
            if warps == 0 {
                continue;
            }
            let all = opcodes.entry(opcode).or_default();
            all.iter_mut().zip(counts).for_each(|(all, n)| *all += n);
            let (line, text) = (site.line, text.clone());
            stats.instructions.push(InstructionStats { line, text, warps, threads, guarded });
        }
        stats.instructions.sort_by_key(|i| i.line);
        let by_opcode = opcodes.into_iter().map(|(opcode, [warps, threads, guarded, _])| OpcodeStats {
            opcode: opcode.to_string(),
            warps,
            threads,
            guarded,
        });
        stats.opcodes.extend(by_opcode);
        stats.opcodes.sort_by_key(|o| std::cmp::Reverse(o.warps));
        for (space, counts) in SPACES.into_iter().zip(&self.memory) {
            for (access, count) in ACCESSES.into_iter().zip(counts) {
                let [warps, threads, bytes, transactions] = count.get();
                if warps != 0 {
                    stats.memory.push(MemoryStats { space, access, warps, threads, bytes, transactions });
                }
            }
        }
        stats
    }
}
